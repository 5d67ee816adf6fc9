/* glb_make.h - one GLB file of packed files, wherever those and their pictures come from. */
#ifndef ENGINE_GLB_MAKE_H
#define ENGINE_GLB_MAKE_H

#include "../../core/formats/pack_validate.h"

typedef struct srv_glb_source {
	hob_pack_set set;
	void *user;
	/* The blob of that name, valid until the next call or the end of srv_glb_make; *out untouched when there is none. */
	bool (*blob)(void *user, const uint8_t sha256[32], hob_bytes *out, hob_error *err);
} srv_glb_source;

/* Appends the file to *out, which must be empty. Pictures become PNG, or stay the JPEG that they are; one that cannot be
 * unpacked is left out with a note. Any thread. Errors: as hob_glb_from_packed and hob_picture_export. */
bool srv_glb_make(const srv_glb_source *source, hob_notes *notes, hob_buf *out,
				  hob_error *err) HOB_MUST_CHECK;

#endif
