#include "collada_private.h"

#include "../text.h"

static bool holds(hob_xml_ptr above, const char *name, const char *attribute, const char *value)
{
	for (hob_xml_ptr e = above->first; e; e = e->next)
		if (hob_xml_is(e, hob_str_of(name)) &&
			(!attribute || hob_str_equal(hob_xml_attr(e, hob_str_of(attribute)), hob_str_of(value))))
			return true;
	return false;
}

static void count_geometry(hob_census *seen, hob_xml_ptr geometry)
{
	static const char *const kinds[] = {"triangles", "polylist", "polygons",  "lines",
										"tristrips", "trifans",	 "linestrips"};
	hob_xml_ptr mesh = hob_xml_child(geometry, HOB_STR("mesh"));
	bool surface = false, colored = false;
	for (hob_xml_ptr e = mesh ? mesh->first : NULL; e; e = e->next)
		for (size_t k = 0; k < HOB_COUNT_OF(kinds); k++)
			if (hob_xml_is(e, hob_str_of(kinds[k])) && hob_xml_child(e, HOB_STR("p"))) {
				surface = true;
				colored = colored || holds(e, "input", "semantic", "COLOR");
			}
	hob_census_add(seen, HOB_CENSUS_SURFACES, surface);
	hob_census_add(seen, HOB_CENSUS_COLORED, colored);
}

static hob_str id_list(hob_xml_ptr source)
{
	hob_xml_ptr list = hob_xml_child(source, HOB_STR("Name_array"));
	return hob_xml_text(list ? list : hob_xml_child(source, HOB_STR("IDREF_array")));
}

static bool count_joints(hob_collada *c, hob_xml_ptr skin, hob_name_map *names)
{
	hob_xml_ptr joints = hob_xml_child(skin, HOB_STR("joints"));
	hob_str id = {0};
	for (hob_xml_ptr e = hob_xml_child(joints, HOB_STR("input")); e; e = hob_xml_next(e, HOB_STR("input")))
		if (hob_str_equal(hob_xml_attr(e, HOB_STR("semantic")), HOB_STR("JOINT")))
			id = hob_xml_attr(e, HOB_STR("source"));
	for (hob_xml_ptr e = hob_xml_child(skin, HOB_STR("source")); e; e = hob_xml_next(e, HOB_STR("source"))) {
		hob_str own = hob_xml_attr(e, HOB_STR("id"));
		if (id.len < 2 || !hob_str_equal(own, hob_str_sub(id, 1, id.len)))
			continue;
		hob_str text = id_list(e), word;
		while ((word = hob_text_word(&text)).len > 0) {
			uint32_t count = names->count;
			if (!hob_name_map_add(names, word, 0, NULL))
				return false;
			hob_census_add(c->request->seen, HOB_CENSUS_JOINTS, names->count - count);
		}
	}
	return true;
}

/* Ids used by instances of controllers, cameras and lights, and the geometries that are morph targets. */
static bool list_used(hob_collada *c, hob_name_map *used)
{
	static const char *const kinds[] = {"instance_controller", "instance_camera", "instance_light"};
	hob_name_map_init(used, c->request->scratch);
	for (hob_xml_ptr e = c->xml.root; e; e = hob_xml_after(e, c->xml.root)) {
		bool target =
			hob_xml_is(e, HOB_STR("source")) && e->parent && hob_xml_is(e->parent, HOB_STR("morph"));
		hob_str text = target ? id_list(e) : (hob_str){0}, word;
		while ((word = hob_text_word(&text)).len > 0)
			if (!hob_name_map_add(used, word, 0, NULL))
				return false;
		for (size_t k = 0; k < HOB_COUNT_OF(kinds); k++) {
			hob_str url =
				hob_xml_is(e, hob_str_of(kinds[k])) ? hob_xml_attr(e, HOB_STR("url")) : (hob_str){0};
			if (url.len > 1 && !hob_name_map_add(used, hob_str_sub(url, 1, url.len), 0, NULL))
				return false;
		}
	}
	return true;
}

static bool is_used(const hob_name_map *used, hob_xml_ptr what)
{
	hob_str id = hob_xml_attr(what, HOB_STR("id"));
	return id.len > 0 && hob_name_map_get(used, id) != HOB_NONE;
}

bool hob_collada_census(hob_collada *c, hob_error *err)
{
	hob_census *seen = c->request->seen;
	hob_name_map names, used;
	bool moves = false, done = true;
	uint32_t clips = 0;
	hob_name_map_init(&names, c->request->scratch);
	if (seen && !list_used(c, &used))
		return hob_fail_memory(err, c->request->scratch, "the census");
	for (hob_xml_ptr e = seen ? c->xml.root : NULL; e && done; e = hob_xml_after(e, c->xml.root)) {
		hob_xml_ptr above = e->parent;
		if (hob_xml_is(e, HOB_STR("geometry")) && !is_used(&used, e))
			count_geometry(seen, e);
		else if (hob_xml_is(e, HOB_STR("skin")) && above && hob_xml_is(above, HOB_STR("controller")) &&
				 is_used(&used, above))
			done = count_joints(c, e, &names);
		else if (hob_xml_is(e, HOB_STR("channel")))
			moves = true;
		else if (hob_xml_is(e, HOB_STR("animation_clip")))
			clips++;
		else if (hob_xml_is(e, HOB_STR("camera")) && is_used(&used, e))
			hob_census_add(seen, HOB_CENSUS_CAMERAS, 1);
		else if (hob_xml_is(e, HOB_STR("light")) && is_used(&used, e))
			hob_census_add(seen, HOB_CENSUS_LIGHTS, 1);
	}
	hob_census_add(seen, HOB_CENSUS_CLIPS, moves ? clips > 0 ? clips : 1 : 0);
	return done || hob_fail_memory(err, c->request->scratch, "the count of joints");
}
