#include "usd_build.h"
#include "usd_skel.h"
#include "../importers.h"
#include "../shape.h"
#include "../../model/model_scale.h"
#include "../space.h"

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

/* Counts the prims into request->seen. */
static void usd_census(hob_usd *u)
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

void *hob_usd_kept(hob_arena *arena, const void *items, size_t count, size_t size)
{
	void *kept = hob_arena_array(arena, count, size, 16);
	if (count > 0)
		memcpy(kept, items, count * size);
	return kept;
}

/* Copies the model and its arrays, which were built in scratch memory, to the result. */
static void finish(hob_usd_build_t *b, hob_model *out)
{
	hob_model *m = &b->model;
	hob_arena *arena = b->u->result;
	hob_error why;
	m->scenes = HOB_NEW(arena, hob_scene, 1);
	HOB_USD_KEEP(arena, m->meshes, m->mesh_count);
	HOB_USD_KEEP(arena, m->materials, m->material_count);
	HOB_USD_KEEP(arena, m->samplers, m->sampler_count);
	HOB_USD_KEEP(arena, m->nodes, m->node_count);
	HOB_USD_KEEP(arena, m->mesh_refs, m->mesh_ref_count);
	HOB_USD_KEEP(arena, m->scene_roots, m->scene_root_count);
	HOB_USD_KEEP(arena, m->cameras, m->camera_count);
	HOB_USD_KEEP(arena, m->lights, m->light_count);
	HOB_USD_KEEP(arena, m->skins, m->skin_count);
	HOB_USD_KEEP(arena, m->weights, m->weight_count);
	m->scenes[0] = (hob_scene){.name = HOB_STR(""), .root_count = m->scene_root_count};
	m->scene_count = 1;
	hob_image_set_take(&b->images, m);
	hob_need(hob_model_scale(m, (float)b->u->meters, arena, &why), &why);
	/* Coordinates within HOB_LIMIT_REACH in the stage's unit may exceed it in metres. */
	for (uint32_t i = 0; i < m->mesh_count && b->u->meters > 1; i++)
		hob_shape_fix_positions(&m->meshes[i], b->u->notes);
	m->unit = (float)b->u->meters;
	hob_up_axis_turn(b->u->z_up ? HOB_UP_Z : HOB_UP_Y, m->space.turn);
	*out = *m;
}

/* The note of the first missing layer or prim; NULL when none is missing. */
static const hob_note *find_missing(const hob_usd *u)
{
	for (uint32_t i = 0; i < u->notes->count; i++)
		if (hob_text_is_one_of(u->notes->items[i].code, HOB_WORDS("usd.layer-missing", "usd.prim-missing")))
			return &u->notes->items[i];
	return NULL;
}

/* Whether the file only holds materials, classes or overrides for other stages. */
static bool is_part(const hob_usd *u)
{
	bool part = false;
	for (uint32_t i = 1; i < u->prim_count; i++) {
		const hob_usd_prim *prim = &u->prims[i];
		bool plain = hob_str_equal(prim->type, HOB_STR("Material"));
		for (uint32_t p = i; p != 0 && !plain; p = u->prims[p].parent)
			plain = !u->prims[p].defined || u->prims[p].abstract;
		part = part || plain;
		if (!plain && !hob_text_is_one_of(prim->type, HOB_WORDS("", "Xform", "Scope", "Shader", "NodeGraph")))
			return false;
	}
	return part;
}

static void fail_empty(const hob_usd *u)
{
	const hob_note *missing = find_missing(u);
	if (missing)
		hob_leave(EMPTY, "the stage draws nothing: %.*s", HOB_FMT(missing->text));
	hob_guard_leave(
		is_part(u) ? HOB_ERR_SKIPPED : HOB_ERR_EMPTY, __FILE__, __LINE__,
		"the stage draws nothing: it holds %u prims, but no visible surface, curve or point; a layer of "
		"materials or overrides is cooked with the stage that uses it",
		u->prim_count - 1);
}

static void note_unseen(const hob_usd_build_t *b)
{
	if (b->unseen > 0)
		hob_usd_info(b->u, "purpose", "%u prim%s for guides or as proxies and not drawn", b->unseen,
					 b->unseen == 1 ? " is" : "s are");
}

static void build(hob_usd_build_t *b)
{
	hob_usd_context context = {.node = HOB_NONE};
	usd_census(b->u);
	if (b->u->z_up) {
		double turn[16] = {1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1};
		context.node = hob_usd_add_node(b, HOB_STR(""), HOB_NONE);
		hob_usd_place(&b->model.nodes[0], turn);
	}
	hob_usd_build_children(b, 0, context);
	hob_usd_build_late(b);
	if (b->model.mesh_count == 0)
		fail_empty(b->u);
	if (b->subdivided > 0)
		hob_usd_info(b->u, "subdivision",
					 "%u meshes are subdivision surfaces; their cages are drawn, with smooth normals "
					 "(setting subdivision)",
					 b->subdivided);
	note_unseen(b);
	hob_usd_build_skins(b);
	hob_usd_build_clips(b);
}

static bool usd_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	hob_usd *u = HOB_NEW(request->scratch, hob_usd, 1);
	hob_usd_start(u, request);
	hob_usd_build_t b = {.u = u};
	hob_image_set_init(&b.images, request);
	hob_name_map_init(&b.material_map, request->scratch);
	hob_name_map_init(&b.mesh_map, request->scratch);
	hob_usd_stage_compose(u, hob_usd_layer_open(u, HOB_NONE, request->path));
	build(&b);
	finish(&b, out);
	hob_arena_release(&u->passing);
	return true;
}

static const char *const extensions[] = {"usda", "usdc", "usd", "usdz", NULL};

const hob_importer hob_usd_importer = {
	.name = "usd",
	.version = 22,
	.extensions = extensions,
	.import = usd_import,
};
