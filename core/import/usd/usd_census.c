#include "usd_build.h"

static bool is_concrete(const hob_usd *u, uint32_t prim)
{
	for (; prim != 0; prim = u->prims[prim].parent)
		if (!u->prims[prim].defined || u->prims[prim].abstract)
			return false;
	return true;
}

/* Prototypes are drawn once per instance, possibly never. */
static bool is_prototype(const hob_usd *u, uint32_t prim)
{
	for (prim = u->prims[prim].parent; prim != 0; prim = u->prims[prim].parent)
		if (hob_str_equal(u->prims[prim].type, HOB_STR("PointInstancer")))
			return true;
	return false;
}

static bool has(const hob_usd *u, const hob_usd_prim *prim, hob_str name)
{
	hob_usd_attribute attribute;
	return hob_usd_get(u, prim, name, &attribute) && (attribute.value || attribute.samples);
}

void hob_usd_census(hob_usd *u)
{
	hob_census *seen = u->request->seen;
	for (uint32_t i = 1; seen && i < u->prim_count; i++) {
		const hob_usd_prim *prim = &u->prims[i];
		bool light = hob_str_ends_nocase(prim->type, HOB_STR("Light"));
		bool camera = hob_str_equal(prim->type, HOB_STR("Camera"));
		bool mesh = hob_str_equal(prim->type, HOB_STR("Mesh"));
		if ((!mesh && !camera && !light) || !is_concrete(u, i) || is_prototype(u, i))
			continue;
		/* Instances share equal meshes. */
		hob_census_add(seen, HOB_CENSUS_SURFACES,
					   mesh && !prim->instance && has(u, prim, HOB_STR("faceVertexCounts")) &&
						   seen->count[HOB_CENSUS_SURFACES] == 0);
		hob_census_add(seen, HOB_CENSUS_CAMERAS, camera);
		hob_census_add(seen, HOB_CENSUS_LIGHTS, light);
	}
}
