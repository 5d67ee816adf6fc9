/* fbx_layer.h - one LayerElement of a geometry: values per corner, control point, face or mesh, direct or by
 * index. */
#ifndef HOB_FBX_LAYER_H
#define HOB_FBX_LAYER_H

#include "fbx_private.h"

typedef enum hob_fbx_mapping {
	HOB_FBX_BY_CORNER,
	HOB_FBX_BY_POINT,
	HOB_FBX_BY_FACE,
	HOB_FBX_BY_EDGE,
	HOB_FBX_ALL_SAME
} hob_fbx_mapping;

typedef struct hob_fbx_layer {
	hob_fbx_mapping mapping;
	uint32_t width, value_count; /* value_count in values of `width` floats */
	float *values;				 /* NULL: no such layer */
	int32_t *index;				 /* NULL: direct */
	uint32_t index_count;
	hob_str name;
	int64_t number; /* "LayerElementUV: 1" */
} hob_fbx_layer;

/* Element counts of the geometry. */
typedef struct hob_fbx_counts {
	uint32_t corners, points, faces, edges;
} hob_fbx_counts;

/* Reads a record LayerElement...; `values` and `index` are the names of its arrays. An index below 0 or
 * beyond the values means "no value". A layer without values, or with numbers that are not finite, gets
 * values NULL. */
bool hob_fbx_read_layer(hob_fbx *f, uint32_t record, hob_str values, hob_str index, uint32_t width,
						const hob_fbx_counts *counts, hob_fbx_layer *out, hob_error *err) HOB_MUST_CHECK;
/* Integers per face: LayerElementMaterial, LayerElementSmoothing. out[*count]; *mapping is their mapping. */
bool hob_fbx_read_numbers(hob_fbx *f, uint32_t record, hob_str values, const hob_fbx_counts *counts,
						  int32_t **out, uint32_t *count, hob_fbx_mapping *mapping,
						  hob_error *err) HOB_MUST_CHECK;
/* The value at a corner, or NULL. */
const float *hob_fbx_layer_value(const hob_fbx_layer *layer, uint32_t corner, uint32_t point, uint32_t face);

#endif
