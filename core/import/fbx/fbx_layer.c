#include "fbx_layer.h"

#include "../shape.h"

static bool starts(hob_str text, const char *word)
{
	return hob_str_starts(text, hob_str_of(word));
}

/* The mapping as stored; when it is missing or does not fit, the number of entries decides. */
static hob_fbx_mapping mapping_of(const hob_fbx *f, uint32_t record, uint32_t entries,
								  const hob_fbx_counts *counts)
{
	hob_str text = hob_fbx_child_text(f, record, HOB_STR("MappingInformationType"));
	if (starts(text, "ByPolygonVertex"))
		return HOB_FBX_BY_CORNER;
	if (starts(text, "ByVert"))
		return HOB_FBX_BY_POINT;
	if (starts(text, "ByPolygon"))
		/* Old exporters write "ByPolygon" for corners. */
		return entries == counts->corners && entries != counts->faces ? HOB_FBX_BY_CORNER : HOB_FBX_BY_FACE;
	if (starts(text, "ByEdge"))
		return HOB_FBX_BY_EDGE;
	if (starts(text, "AllSame"))
		return HOB_FBX_ALL_SAME;
	if (entries == counts->corners)
		return HOB_FBX_BY_CORNER;
	if (entries == counts->points)
		return HOB_FBX_BY_POINT;
	return entries == counts->faces ? HOB_FBX_BY_FACE : HOB_FBX_ALL_SAME;
}

bool hob_fbx_read_layer(hob_fbx *f, uint32_t record, hob_str values, hob_str index, uint32_t width,
						const hob_fbx_counts *counts, hob_fbx_layer *out, hob_error *err)
{
	uint32_t count;
	*out = (hob_fbx_layer){.width = width,
						   .name = hob_fbx_child_text(f, record, HOB_STR("Name")),
						   .number = hob_fbx_value_at(f, record, 0).integer};
	if (!hob_fbx_floats(f, hob_fbx_child(f, record, values), &out->values, &count, err))
		return false;
	out->value_count = count / width;
	if (out->value_count == 0 || !hob_shape_finite(out->values, count)) {
		out->values = NULL;
		return true;
	}
	hob_str reference = hob_fbx_child_text(f, record, HOB_STR("ReferenceInformationType"));
	uint32_t list = hob_fbx_child(f, record, index);
	if (!starts(reference, "Direct") && list != HOB_NONE &&
		!hob_fbx_ints(f, list, &out->index, &out->index_count, err))
		return false;
	if (out->index_count == 0)
		out->index = NULL;
	out->mapping = mapping_of(f, record, out->index ? out->index_count : out->value_count, counts);
	return true;
}

bool hob_fbx_read_numbers(hob_fbx *f, uint32_t record, hob_str values, const hob_fbx_counts *counts,
						  int32_t **out, uint32_t *count, hob_fbx_mapping *mapping, hob_error *err)
{
	if (!hob_fbx_ints(f, hob_fbx_child(f, record, values), out, count, err))
		return false;
	*mapping = mapping_of(f, record, *count, counts);
	return true;
}

const float *hob_fbx_layer_value(const hob_fbx_layer *layer, uint32_t corner, uint32_t point, uint32_t face)
{
	uint32_t at = 0;
	switch (layer->mapping) {
	case HOB_FBX_BY_CORNER:
		at = corner;
		break;
	case HOB_FBX_BY_POINT:
		at = point;
		break;
	case HOB_FBX_BY_FACE:
		at = face;
		break;
	case HOB_FBX_BY_EDGE:
		return NULL;
	case HOB_FBX_ALL_SAME:
		break;
	}
	if (layer->index) {
		if (at >= layer->index_count || layer->index[at] < 0)
			return NULL;
		at = (uint32_t)layer->index[at];
	}
	return at < layer->value_count ? layer->values + (size_t)at * layer->width : NULL;
}
