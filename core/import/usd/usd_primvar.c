#include "usd_build.h"

const hob_usd_value *hob_usd_primvar(hob_usd *u, uint32_t prim, hob_str name, uint32_t *owner)
{
	hob_str full = hob_arena_printf(u->scratch, "primvars:%.*s", HOB_FMT(name));
	for (uint32_t p = prim; full.data && p != HOB_NONE; p = u->prims[p].parent) {
		const hob_usd_prim *at = &u->prims[p];
		const hob_usd_value *value = hob_usd_still(u, at, full);
		hob_str how = value ? hob_usd_text(hob_usd_meta(u, at, full, HOB_USD_T_interpolation)) : HOB_STR("");
		/* Only constant primvars are inherited. */
		if (value && (p == prim || how.len == 0 || hob_str_equal(how, HOB_STR("constant")))) {
			*owner = p;
			return value;
		}
	}
	*owner = HOB_NONE;
	return NULL;
}

void hob_usd_primvar_one(hob_usd *u, uint32_t prim, hob_str name, uint32_t width, float *out)
{
	uint32_t owner;
	const hob_usd_value *value = hob_usd_primvar(u, prim, name, &owner);
	hob_str indices = hob_arena_printf(u->scratch, "primvars:%.*s:indices", HOB_FMT(name));
	const hob_usd_value *index = value && indices.data ? hob_usd_still(u, &u->prims[owner], indices) : NULL;
	if (!value || value->width != width || (index ? index->count : value->count) != 1)
		return;
	double at = index ? hob_usd_component(index, 0) : 0;
	for (uint32_t k = 0; at >= 0 && at < (double)value->count && k < width; k++)
		out[k] = (float)hob_usd_component(value, (size_t)at * width + k);
}

static hob_usd_interpolation interpolation_of(hob_str name)
{
	if (hob_str_equal(name, HOB_STR("uniform")))
		return HOB_USD_UNIFORM;
	if (hob_str_equal(name, HOB_STR("vertex")) || hob_str_equal(name, HOB_STR("varying")))
		return HOB_USD_PER_POINT;
	return hob_str_equal(name, HOB_STR("faceVarying")) ? HOB_USD_PER_CORNER : HOB_USD_CONSTANT;
}

/* Finds the interpolation that fits the number of values, for files that omit it. */
static hob_usd_interpolation fitting(size_t count, const hob_usd_polygons *polygons,
									 hob_usd_interpolation said)
{
	if (said != HOB_USD_CONSTANT || count <= 1)
		return said;
	return count == polygons->point_count	 ? HOB_USD_PER_POINT
		   : count == polygons->corner_count ? HOB_USD_PER_CORNER
		   : count == polygons->face_count	 ? HOB_USD_UNIFORM
											 : said;
}

bool hob_usd_stream_open(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *polygons, hob_str name,
						 uint32_t width, hob_usd_stream *out, hob_error *err)
{
	hob_usd *u = b->u;
	uint32_t owner;
	*out = (hob_usd_stream){.width = width};
	const hob_usd_value *value = hob_usd_primvar(u, prim, name, &owner);
	hob_str full = hob_arena_printf(u->scratch, "primvars:%.*s", HOB_FMT(name));
	bool is_normal = hob_str_equal(name, HOB_STR("normals"));
	hob_usd_interpolation fallback = HOB_USD_CONSTANT;
	if (!value && is_normal) {
		/* The plain attribute, used before there were primvars, is per point by default. */
		owner = prim;
		full = name;
		fallback = HOB_USD_PER_POINT;
		value = hob_usd_still(u, &u->prims[prim], name);
	}
	if (!value)
		return true;
	/* Drops a surplus component, as in three-component texture coordinates. */
	uint32_t stored = value->width;
	if (stored == width + 1 && width >= 2) {
		const float *wide;
		if (!hob_usd_floats(u, value, stored, &wide, &out->item_count, err))
			return false;
		float *narrow = HOB_NEW(u->scratch, float, out->item_count *width);
		if (!narrow)
			return hob_fail_memory(err, u->scratch, "a primvar");
		for (size_t i = 0; i < out->item_count; i++)
			memcpy(narrow + i * width, wide + i * stored, width * sizeof *narrow);
		out->items = narrow;
	} else if (!hob_usd_floats(u, value, width, &out->items, &out->item_count, err)) {
		return false;
	}
	hob_str indices = hob_arena_printf(u->scratch, "%.*s:indices", HOB_FMT(full));
	if (!indices.data)
		return hob_fail_memory(err, u->scratch, "a primvar");
	const hob_usd_value *index = hob_usd_still(u, &u->prims[owner], indices);
	if (index && index->kind == HOB_USD_I32 && index->width == 1) {
		out->indices = (const int32_t *)index->data;
		out->index_count = index->count;
	}
	hob_str how = hob_usd_text(hob_usd_meta(u, &u->prims[owner], full, HOB_USD_T_interpolation));
	out->interpolation = how.len > 0 ? interpolation_of(how) : fallback;
	size_t said = out->indices ? out->index_count : out->item_count;
	out->interpolation = fitting(said, polygons, out->interpolation);
	const size_t needed[] = {1, polygons->face_count, polygons->point_count, polygons->corner_count};
	if (said > 1 && said < needed[out->interpolation]) {
		hob_usd_note(u, "primvar-short",
					 "'%.*s' of prim '%.*s' has %zu values for %zu places; it is left out, as in OpenUSD",
					 HOB_FMT(full), HOB_FMT(u->prims[prim].path), said, needed[out->interpolation]);
		*out = (hob_usd_stream){.width = width};
	}
	return true;
}

const float *hob_usd_stream_at(const hob_usd_stream *stream, size_t face, size_t point, size_t corner)
{
	const size_t places[] = {0, face, point, corner};
	size_t at = places[stream->interpolation];
	if (stream->indices) {
		if (at >= stream->index_count || stream->indices[at] < 0)
			return NULL;
		at = (size_t)stream->indices[at];
	}
	return at < stream->item_count ? stream->items + at * stream->width : NULL;
}
