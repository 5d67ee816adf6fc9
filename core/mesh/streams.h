/* streams.h - vertex data as the GPU reads it: attributes, their formats and streams.
 *
 * Up to three streams, so that depth and shadow passes fetch only the first: positions; then normal, tangent,
 * texture coordinates and colours interleaved; then joints and weights. A stream without attributes is left
 * out and the following ones move up: each attribute has the number of its stream.
 *
 * Quantized streams have one layout for both kinds; the smaller kind fills fewer of its bits, and encoding
 * drops the rest. Errors of the smaller and of the finer kind:
 *
 * position    float32: R32G32B32_SFLOAT. Quantized: R16G16B16A16_UNORM, scaled (w is 0); 1/30,240 and
 *             1/131,040 of the box's longest side an axis, almost none at simple fractions of it.
 * normal      float32: R32G32B32_SFLOAT. Quantized: R16G16_SNORM, octahedral, the smaller kind in multiples
 *             of 256; 0.64 and 0.004 degrees.
 * tangent     float32: R32G32B32A32_SFLOAT. Quantized: R16G16B16A16_SNORM, x and y octahedral in multiples of
 *             256, z is 0, w is +1 or -1; 0.64 degrees.
 * uv set 0    float32: R32G32_SFLOAT. Quantized: R16G16_UNORM, scaled; 1/8,160 and 1/131,040 of the axis's
 *             range; float where it spans more than 16.
 * uv set 1-7  float32: R32G32_SFLOAT. Quantized: R16G16_UNORM, 1/131070, where all of it is in [0, 1], as
 *             lightmaps are.
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

/* Fills attributes, streams, pos_offset, pos_scale, uv_offset and uv_scale of *baked from baked->mesh, whose
 * influence_count is 0, 4 or 8 with weights that are multiples of 1/65535 summing to 1. Sets
 * HOB_MESH_QUANTIZED when positions are (they stay float when the box is too large for a float scale). Data
 * belongs to `result`. Large positions are given back to `spent`, the arena that they are in, as soon as
 * their stream is filled; NULL: they stay. */
void hob_streams_build(hob_baked_mesh *baked, hob_vertices kind, hob_arena *result, hob_arena *spent);

#endif
