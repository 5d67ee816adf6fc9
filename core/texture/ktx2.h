/* ktx2.h - KTX2 files: writer, reader of sources, and an independent validator.
 *
 * Hob writes one flat 2D texture or one cube per file: the mip chain, smallest level first, a basic data
 * format descriptor, the keys KTXorientation "rd" and KTXwriter "hob", and on request each level as a zstd
 * frame. The same input gives the same bytes.
 *
 * A cube is an environment map (environment_map.h); the key HobIrradiance holds its irradiance: 27 floats, R,
 * G and B of each of the nine terms, little-endian.
 *
 * Source   KTX File Format Specification 2.0 (revision 4: bytesPlane keeps its value under supercompression),
 *          Khronos Data Format Specification 1.3. */
#ifndef HOB_KTX2_H
#define HOB_KTX2_H

#include "gpu_format.h"

typedef struct hob_ktx2_source {
	uint32_t vk_format; /* a format of gpu_format.h that Hob writes */
	uint32_t width, height, level_count;
	const float *irradiance;		  /* [27]: a cube, each level being six consecutive faces; NULL: flat */
	hob_bytes levels[HOB_GPU_LEVELS]; /* raw, largest first, sizes by hob_gpu_level_bytes() (asserted) */
	int zstd_level;					  /* 0: levels are stored raw */
	const hob_parallel *parallel;	  /* compresses levels in parallel; may be NULL */
} hob_ktx2_source;

/* Appends the file to `out`. Called within hob_guarded. */
void hob_ktx2_write(const hob_ktx2_source *source, hob_buf *out);

/* Opens a foreign KTX2 file as a picture: flat 2D textures, uncompressed, zstd or BasisLZ. */
bool hob_ktx2_open(hob_bytes file, hob_gpu_texture *out, hob_error *err) HOB_MUST_CHECK;

typedef struct hob_ktx2_facts {
	uint32_t vk_format, width, height, faces, levels, supercompression;
} hob_ktx2_facts;

/* Checks every rule of the format for a flat 2D texture or a cube: identifier, sizes, index, order, alignment
 * and gaps of the levels, descriptor against format, keys sorted and terminated. With `deep`, unpacks each
 * zstd level and compares its size (cost: 1 ns per byte, memory: the largest level). Basis Universal files
 * are not written by Hob: checks only the parts that a transcoder needs. Shares no code with the writer or
 * the reader. `out` may be NULL. Errors: TRUNCATED, CORRUPT, UNSUPPORTED, MEMORY. */
bool hob_ktx2_check(hob_bytes file, bool deep, hob_ktx2_facts *out, hob_error *err) HOB_MUST_CHECK;

#endif
