#include "gltf_private.h"

static bool has_attribute(const cJSON *primitive, const char *name)
{
	return hob_json_get(hob_json_get(primitive, "attributes"), name) != NULL;
}

static void count_mesh(hob_census *seen, const cJSON *mesh)
{
	bool surface = false, colored = false, morphed = false, skinned = false;
	const cJSON *list = hob_json_get(mesh, "primitives");
	for (const cJSON *p = list ? list->child : NULL; p; p = p->next) {
		bool drawn = has_attribute(p, "POSITION");
		const cJSON *targets = hob_json_get(p, "targets");
		surface = surface || drawn;
		colored = colored || (drawn && has_attribute(p, "COLOR_0"));
		skinned = skinned || (drawn && has_attribute(p, "JOINTS_0"));
		morphed = morphed || (drawn && targets && targets->child);
	}
	hob_census_add(seen, HOB_CENSUS_SURFACES, surface);
	hob_census_add(seen, HOB_CENSUS_COLORED, colored);
	hob_census_add(seen, HOB_CENSUS_MORPHED, morphed);
	hob_census_add(seen, HOB_CENSUS_SKINNED, skinned);
}

static void count_material(hob_census *seen, const cJSON *material)
{
	const cJSON *gloss =
		hob_json_get(hob_json_get(material, "extensions"), "KHR_materials_pbrSpecularGlossiness");
	const cJSON *pbr = hob_json_get(material, "pbrMetallicRoughness");
	hob_census_add(seen, HOB_CENSUS_COLOR_MAPS,
				   hob_json_get(gloss ? gloss : pbr, gloss ? "diffuseTexture" : "baseColorTexture") != NULL);
	hob_census_add(seen, HOB_CENSUS_NORMAL_MAPS, hob_json_get(material, "normalTexture") != NULL);
	hob_census_add(seen, HOB_CENSUS_EMISSIVE_MAPS, hob_json_get(material, "emissiveTexture") != NULL);
}

static void count_joints(hob_gltf *g, hob_census *seen)
{
	bool *known = HOB_NEW(g->scratch, bool, g->nodes.count);
	for (uint32_t s = 0; s < g->skins.count; s++) {
		const cJSON *joints = hob_json_get(g->skins.items[s], "joints");
		for (const cJSON *j = joints ? joints->child : NULL; j; j = j->next) {
			double id = cJSON_IsNumber(j) ? j->valuedouble : -1;
			if (id >= 0 && id < g->nodes.count && !known[(uint32_t)id]) {
				known[(uint32_t)id] = true;
				hob_census_add(seen, HOB_CENSUS_JOINTS, 1);
			}
		}
	}
}

void hob_gltf_census(hob_gltf *g)
{
	hob_census *seen = g->request->seen;
	if (!seen)
		return;
	for (uint32_t i = 0; i < g->meshes.count; i++)
		count_mesh(seen, g->meshes.items[i]);
	for (uint32_t i = 0; i < g->materials.count; i++)
		count_material(seen, g->materials.items[i]);
	hob_census_add(seen, HOB_CENSUS_CLIPS, g->animations.count);
	hob_census_add(seen, HOB_CENSUS_CAMERAS, g->cameras.count);
	hob_census_add(seen, HOB_CENSUS_LIGHTS, g->lights.count);
	count_joints(g, seen);
}
