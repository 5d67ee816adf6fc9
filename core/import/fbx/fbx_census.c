#include "fbx_private.h"

static bool is_above(const hob_fbx *f, uint32_t object, hob_fbx_class class)
{
	return hob_fbx_next_edge(f, object, true, class, (hob_str){0}, NULL) != NULL;
}

static bool is_empty(const hob_fbx *f, uint32_t record)
{
	hob_fbx_value value = hob_fbx_value_at(f, record, 0);
	return value.type == HOB_FBX_NOTHING || (value.type == HOB_FBX_ARRAY && value.count == 0);
}

/* MotionBuilder's built-in views are not counted (fbx_attribute.c). */
static bool is_placed(const hob_fbx *f, uint32_t attribute)
{
	HOB_FBX_EACH_ABOVE (edge, f, attribute, MODEL, "")
		if (!hob_str_starts(f->objects[edge->parent].name, HOB_STR("Producer ")))
			return true;
	return false;
}

static void count_geometry(hob_fbx *f, hob_census *seen, uint32_t object)
{
	uint32_t record = f->objects[object].record;
	uint32_t corners = hob_fbx_child(f, record, HOB_STR("PolygonVertexIndex"));
	if (corners == HOB_NONE || is_empty(f, corners) || !is_above(f, object, HOB_FBX_MODEL))
		return;
	uint32_t colors = hob_fbx_child(f, record, HOB_STR("LayerElementColor"));
	uint32_t skin = hob_fbx_below(f, object, HOB_FBX_DEFORMER, HOB_STR("Skin"));
	hob_census_add(seen, HOB_CENSUS_SURFACES, 1);
	hob_census_add(seen, HOB_CENSUS_COLORED,
				   colors != HOB_NONE && hob_fbx_child(f, colors, HOB_STR("Colors")) != HOB_NONE);
	hob_census_add(seen, HOB_CENSUS_SKINNED,
				   skin != HOB_NONE &&
					   hob_fbx_below(f, skin, HOB_FBX_DEFORMER, HOB_STR("Cluster")) != HOB_NONE);
	uint32_t morph = hob_fbx_below(f, object, HOB_FBX_DEFORMER, HOB_STR("BlendShape"));
	hob_census_add(seen, HOB_CENSUS_MORPHED,
				   morph != HOB_NONE &&
					   hob_fbx_below(f, morph, HOB_FBX_DEFORMER, HOB_STR("BlendShapeChannel")) != HOB_NONE);
}

static void count_material(hob_fbx *f, hob_census *seen, uint32_t object)
{
	static const struct {
		hob_census_kind kind;
		const char *property;
	} maps[] = {
		{HOB_CENSUS_COLOR_MAPS, "DiffuseColor"},
		{HOB_CENSUS_NORMAL_MAPS, "NormalMap"},
		{HOB_CENSUS_EMISSIVE_MAPS, "EmissiveColor"},
	};
	if (!is_above(f, object, HOB_FBX_MODEL))
		return;
	for (size_t k = 0; k < HOB_COUNT_OF(maps); k++) {
		bool has = false;
		HOB_FBX_EACH_BELOW (edge, f, object, TEXTURE, "")
			has = has || hob_str_equal(edge->property, hob_str_of(maps[k].property));
		hob_census_add(seen, maps[k].kind, has);
	}
}

static void count_attribute(hob_fbx *f, hob_census *seen, uint32_t object)
{
	if (!is_placed(f, object))
		return;
	hob_census_add(seen, HOB_CENSUS_CAMERAS, hob_str_equal(f->objects[object].subclass, HOB_STR("Camera")));
	hob_census_add(seen, HOB_CENSUS_LIGHTS, hob_str_equal(f->objects[object].subclass, HOB_STR("Light")));
}

static bool is_joint(const hob_fbx *f, uint32_t object)
{
	HOB_FBX_EACH_ABOVE (edge, f, object, DEFORMER, "Cluster")
		if (is_above(f, edge->parent, HOB_FBX_DEFORMER))
			return true;
	return false;
}

static bool has_curves(const hob_fbx *f, uint32_t stack)
{
	HOB_FBX_EACH_BELOW (edge, f, stack, LAYER, "") {
		uint32_t node = hob_fbx_below(f, edge->child, HOB_FBX_CURVE_NODE, (hob_str){0});
		if (node != HOB_NONE && hob_fbx_below(f, node, HOB_FBX_CURVE, (hob_str){0}) != HOB_NONE)
			return true;
	}
	return false;
}

void hob_fbx_census(hob_fbx *f)
{
	hob_census *seen = f->request->seen;
	for (uint32_t i = 0; seen && i < f->object_count; i++)
		switch (f->objects[i].class) {
		case HOB_FBX_GEOMETRY:
			count_geometry(f, seen, i);
			break;
		case HOB_FBX_MATERIAL:
			count_material(f, seen, i);
			break;
		case HOB_FBX_ATTRIBUTE:
			count_attribute(f, seen, i);
			break;
		case HOB_FBX_MODEL:
			hob_census_add(seen, HOB_CENSUS_JOINTS, is_joint(f, i));
			break;
		case HOB_FBX_STACK:
			hob_census_add(seen, HOB_CENSUS_CLIPS, has_curves(f, i));
			break;
		default:
			break;
		}
}
