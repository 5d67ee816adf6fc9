/* streams.h - vertex data as the GPU reads it: attributes, their formats and streams.
 *
 * Up to three streams, so that depth and shadow passes fetch only the first: positions; then normal, tangent,
 * texture coordinates and colours interleaved; then joints and weights. A stream without attributes is left
 * out and the following ones move up: each attribute has the number of its stream.
 *
 * Errors of the smaller and of the finer kind of quantized streams; the smaller one's also depend on other
 * meshes of the file (hob_ranges):
 *
 * position    float32: R32G32B32_SFLOAT. Quantized: R16G16B16A16_UNORM, scaled (w is 0); 1/30,240 and
 *             1/131,040 of the box's longest side an axis, almost none at simple fractions of it. The smaller
 *             kind: of the longest side of an object in the file, but at most 1/3,780 of the mesh's own.
 * normal      float32: R32G32B32_SFLOAT. Quantized: octahedral; R8G8B8A8_SNORM (z and w are 0), 0.64 degrees,
 *             and R16G16_SNORM, 0.004.
 * tangent     float32: R32G32B32A32_SFLOAT. Quantized: R8G8B8A8_SNORM, x and y octahedral, z is 0, w is +1 or
 *             -1; 0.64 degrees.
 * uv set 0    float32: R32G32_SFLOAT. Quantized: R16G16_UNORM, scaled; 1/8,160 and 1/131,040 of the axis's
 *             range; float where it spans more than 16. The smaller kind: of the range that the material
 *             has in the file, if that is at most 1, but at most 1/1,020 of the mesh's own.
 * uv set 1-7  float32: R32G32_SFLOAT. Quantized: R16G16_UNORM where all of it is in [0, 1], as lightmaps are;
 *             1/131,070, or, of the smaller kind, scaled like set 0 where that is: the range of the errors is
 *             that of all these sets, but at most 1.
 * colour      R8G8B8A8_UNORM or R16G16B16A16_UNORM when that is exact, else R32G32B32A32_SFLOAT. Quantized:
 *             R8G8B8A8_UNORM, 1/510; float when a value is outside [0, 1].
 * joints      R8G8B8A8_UINT, or R16G16B16A16_UINT when a joint is above 255.
 * weights     R16G16B16A16_UNORM, sum 65535, 1/65535. The smaller kind, and the finer one if that is exact:
 *             R8G8B8A8_UNORM, sum 255, 1/255.
 *
 * Eight influences are two attributes each of joints and weights, set 0 with the four largest. Position scale
 * and offset are chosen per mesh: meshes that share an edge may show a gap of one step when quantized. */
#ifndef HOB_STREAMS_H
#define HOB_STREAMS_H

#include "../model/baked.h"

typedef enum hob_vertices {
	HOB_VERTICES_EXACT, /* float32 */
	HOB_VERTICES_SMALL, /* quantized */
	HOB_VERTICES_FINE	/* quantized to 16 bits */
} hob_vertices;

/* Ranges that the smaller kind's steps divide: a small mesh beside a large one needs no finer steps. */
typedef struct hob_ranges {
	float side;	 /* the longest side of an object in the file; 0: the mesh's own */
	float uv[2]; /* the widest range of set 0 of the mesh's material, at most 1; 0: the mesh's own */
} hob_ranges;

/* Fills attributes, streams, pos_offset, pos_scale, uv_offset and uv_scale of *baked from baked->mesh, whose
 * influence_count is 0, 4 or 8 with weights that are multiples of 1/65535 summing to 1. Sets
 * HOB_MESH_QUANTIZED when positions are (they stay float when the box is too large for a float scale). Data
 * belongs to `result`. Large positions are given back to `spent`, the arena that they are in, as soon as
 * their stream is filled; NULL: they stay. */
void hob_streams_build(hob_baked_mesh *baked, hob_vertices kind, hob_ranges ranges, hob_arena *result,
					   hob_arena *spent);

#endif
