/* glb.h - exports packed files as one binary glTF 2.0 file, for tools that do not read Hob's formats.
 *
 * Everything that glTF can express is kept: level 0 of the meshes with all attributes (dequantised to floats;
 * joints and weights as they are), morph targets (sparse), materials with the ratified extensions, textures,
 * samplers, variants, the tree of nodes, cameras, punctual lights, all scenes, skins and clips. Coarser
 * levels and meshlets are left out. The child nodes that a cook makes for meshes are folded back into their
 * parents. */
#ifndef HOB_GLB_H
#define HOB_GLB_H

#include "../base/base.h"
#include "pack_layout.h"
#include "pack_validate.h"

typedef struct hob_glb_pictures {
	void *user;
	/* Returns the image as a PNG or JPEG file, which is valid until the next call; *out of size 0 leaves out
	 * the image and its textures. `image` is the record of the materials file; its blob is
	 * image->cooked_sha256. */
	bool (*get)(void *user, uint32_t index, const hob_pk_image *image, hob_bytes *out, hob_error *err);
} hob_glb_pictures;

/* Appends a GLB file to *out, which must be empty; untouched on failure.
 *
 * set        meshes, materials and scene are needed, animations may be absent; validated first
 * pictures   NULL leaves all textures out
 * notes      data that glTF cannot hold, codes "glb.*"; may be NULL
 * Errors     as hob_pack_validate_set and pictures->get; EMPTY; LIMIT when the file would pass 4 GiB;
 *            MEMORY */
bool hob_glb_from_packed(const hob_pack_set *set, const hob_glb_pictures *pictures, hob_notes *notes,
						 hob_buf *out, hob_error *err) HOB_MUST_CHECK;

#endif
