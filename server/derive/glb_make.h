/* glb_make.h - makes one GLB file from packed files and pictures. */
#ifndef SRV_GLB_MAKE_H
#define SRV_GLB_MAKE_H

#include "../../core/formats/pack_validate.h"

typedef struct srv_glb_source {
	hob_pack_set set;
	void *user;
	/* Finds the blob `name`, valid until the next call or the end of srv_glb_make. Leaves *out unchanged if
	 * there is none. */
	bool (*blob)(void *user, const uint8_t sha256[32], hob_bytes *out, hob_error *err);
} srv_glb_source;

/* Writes the file to *out, which must be empty. Pictures become PNG; JPEG stays JPEG. A picture that cannot
 * be decoded is left out with a note. Any thread. Errors: those of hob_glb_from_packed and
 * hob_picture_export. */
bool srv_glb_make(const srv_glb_source *source, hob_notes *notes, hob_buf *out,
				  hob_error *err) HOB_MUST_CHECK;

#endif
