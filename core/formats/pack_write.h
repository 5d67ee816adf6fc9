/* pack_write.h - the packed files of a cooked model.
 *
 * Each function appends one whole file to *out; the bytes depend only on the arguments. On failure *out is
 * unchanged. Errors: MEMORY; LIMIT when counts do not fit 32 bits or the file is over HOB_LIMIT_OUTPUT_BYTES.
 *
 * Input is trusted (it comes from core's own modules); hob_pack_validate() checks the result. Cost: linear,
 * one copy of the data; with HOB_PACK_MESHOPT also the encoders, one section per task of `parallel`. */
#ifndef HOB_PACK_WRITE_H
#define HOB_PACK_WRITE_H

#include "../model/baked.h"

typedef enum hob_pack_encode {
	HOB_PACK_RAW,	 /* every section can be mapped and used in place */
	HOB_PACK_MESHOPT /* GPU sections are compressed with the meshopt codecs if that makes them smaller */
} hob_pack_encode;

typedef struct hob_pack_options {
	hob_pack_encode encode;
	const hob_parallel *parallel; /* NULL: the calling thread */
	hob_arena *scratch;			  /* restored on return; NULL: a temporary one */
} hob_pack_options;

/* Writes the meshes file. Mesh ids are the positions in `meshes`. Meshes of at most 65535 vertices get 16-bit
 * indices. */
bool hob_pack_meshes(const hob_baked_mesh *meshes, uint32_t count, const hob_pack_options *options,
					 hob_buf *out, hob_error *err) HOB_MUST_CHECK;
/* Approximate memory that hob_pack_meshes needs: vertices and indices of the file, and temporary copies. */
uint64_t hob_pack_meshes_memory(const hob_baked_mesh *meshes, uint32_t count, hob_pack_encode encode);
bool hob_pack_materials(const hob_baked_materials *materials, const hob_pack_options *options, hob_buf *out,
						hob_error *err) HOB_MUST_CHECK;
bool hob_pack_scene(const hob_baked_scene *scene, const hob_pack_options *options, hob_buf *out,
					hob_error *err) HOB_MUST_CHECK;
bool hob_pack_animations(const hob_baked_animations *animations, const hob_pack_options *options,
						 hob_buf *out, hob_error *err) HOB_MUST_CHECK;

#endif
