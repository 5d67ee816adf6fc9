/* export_glb.h - one GLB file of packed files, wherever those and their pictures come from. */
#ifndef CLI_EXPORT_GLB_H
#define CLI_EXPORT_GLB_H

#include "../../core/formats/pack_validate.h"

#include <limits.h>

typedef struct export_source {
	hob_pack_set set;
	void *user;
	/* The blob of that name, valid until the export ends; *out untouched when there is none. */
	bool (*blob)(void *user, const uint8_t sha256[32], hob_bytes *out, hob_error *err);
} export_source;

/* Where `source` (a path or an asset's name) goes: `out` itself when that ends in .glb, else out/source, with .glb
 * behind it unless it has that. Errors: USAGE when it is too long. */
bool export_name(const char *out, const char *source, char path[PATH_MAX], hob_error *err) HOB_MUST_CHECK;
/* Errors: as hob_glb_from_packed; IO, DISK_FULL. */
bool export_write(const export_source *source, const char *path, hob_notes *notes, uint64_t *bytes,
				  hob_error *err) HOB_MUST_CHECK;

#endif
