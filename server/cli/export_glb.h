/* export_glb.h - writes GLB files. */
#ifndef CLI_EXPORT_GLB_H
#define CLI_EXPORT_GLB_H

#include "../derive/glb_make.h"

#include <limits.h>

/* Whether `out` is one file: it ends in .glb, or is - for stdout. */
bool srv_export_is_one(const char *out);
/* The file for `source` (a path or an asset's name): `out` itself if it is one; otherwise out/source, with
 * .glb added if necessary. Errors: USAGE if it is too long. */
bool srv_export_name(const char *out, const char *source, char path[PATH_MAX], hob_error *err) HOB_MUST_CHECK;
/* Errors: those of srv_glb_make; IO, DISK_FULL. */
bool srv_export_write(const srv_glb_source *source, const char *path, hob_notes *notes, uint64_t *bytes,
					  hob_error *err) HOB_MUST_CHECK;

#endif
