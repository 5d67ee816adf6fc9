#include "gltf_private.h"

#include <math.h>

/* ---- scenes */

/* The root above each node, and the last scene that lists each root. */
typedef struct roots {
	uint32_t *of, *listed;
} roots_t;

static roots_t find_roots(hob_gltf *g)
{
	const hob_model *model = &g->model;
	roots_t out = {HOB_NEW(g->scratch, uint32_t, model->node_count),
				   HOB_NEW(g->scratch, uint32_t, model->node_count)};
	for (uint32_t i = 0; i < model->node_count; i++) {
		uint32_t parent = model->nodes[i].parent;
		out.of[i] = parent == HOB_NONE ? i : out.of[parent];
		out.listed[i] = HOB_NONE;
	}
	return out;
}

/* Only roots may be listed, but exporters list the child of a helper node; its root is taken instead. */
static uint32_t read_roots(hob_gltf *g, uint32_t scene, const uint32_t *ids, uint32_t count,
						   const roots_t *known, uint32_t *roots)
{
	uint32_t size = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = g->node_ids[ids[i]], root = known->of[node];
		if (node != root)
			hob_gltf_note(g, "scene-root",
						  "scenes[%u] lists nodes[%u] '%s', which is a child; its root nodes[%u] is shown",
						  scene, ids[i], hob_gltf_label(g->nodes.items[ids[i]]), g->model.nodes[root].source);
		if (known->listed[root] != scene)
			roots[size++] = root;
		known->listed[root] = scene;
	}
	return size;
}

void hob_gltf_import_scenes(hob_gltf *g)
{
	hob_model *model = &g->model;
	uint32_t first_scene = hob_gltf_id(g->root, "scene", g->scenes.count);
	if (g->scenes.count == 0) {
		hob_model_one_scene(model, g->result); /* a library: one scene of everything */
		return;
	}
	uint32_t **ids = HOB_NEW(g->scratch, uint32_t *, g->scenes.count);
	model->scenes = HOB_NEW(g->result, hob_scene, g->scenes.count);
	roots_t known = find_roots(g);
	uint64_t total = 0;
	for (uint32_t i = 0; i < g->scenes.count; i++) {
		hob_scene *scene = &model->scenes[i];
		hob_gltf_extras(g, g->scenes.items[i], &scene->extras);
		HOB_GLTF_PLACE("scenes[#] '@'", i, g->scenes);
		scene->name = hob_gltf_name(g, g->scenes.items[i]);
		ids[i] = hob_gltf_ids(g->scratch, g->scenes.items[i], "nodes", g->nodes.count, &scene->root_count);
		total += scene->root_count;
	}
	if (total > HOB_LIMIT_NODES)
		hob_leave(LIMIT, "scenes list %llu nodes, the limit is %llu", (unsigned long long)total,
				  HOB_LIMIT_NODES);
	model->scene_roots = HOB_NEW(g->result, uint32_t, total);
	for (uint32_t i = 0; i < g->scenes.count; i++) {
		hob_scene *scene = &model->scenes[i];
		scene->root_first = model->scene_root_count;
		scene->root_count =
			read_roots(g, i, ids[i], scene->root_count, &known, model->scene_roots + scene->root_first);
		model->scene_root_count += scene->root_count;
	}
	model->scene_count = g->scenes.count;
	model->default_scene = first_scene == HOB_NONE ? 0 : first_scene;
}

/* ---- cameras */

static void read_perspective(const cJSON *json, hob_camera *out)
{
	out->type = HOB_CAMERA_PERSPECTIVE;
	out->zfar = INFINITY;
	hob_gltf_float(json, "yfov", &out->yfov_or_ymag);
	hob_gltf_float(json, "aspectRatio", &out->aspect_or_xmag);
	hob_gltf_float(json, "znear", &out->znear);
	hob_gltf_float(json, "zfar", &out->zfar);
	if (!(out->yfov_or_ymag > 0) || !isfinite(out->yfov_or_ymag) || !(out->aspect_or_xmag >= 0) ||
		!isfinite(out->aspect_or_xmag))
		hob_leave(CORRUPT, "yfov and aspectRatio must be positive");
	if (!(out->znear > 0) || !(out->zfar > out->znear))
		hob_leave(CORRUPT, "it needs 0 < znear < zfar");
}

static void read_orthographic(const cJSON *json, hob_camera *out)
{
	out->type = HOB_CAMERA_ORTHOGRAPHIC;
	hob_gltf_float(json, "ymag", &out->yfov_or_ymag);
	hob_gltf_float(json, "xmag", &out->aspect_or_xmag);
	hob_gltf_float(json, "znear", &out->znear);
	hob_gltf_float(json, "zfar", &out->zfar);
	if (out->yfov_or_ymag == 0 || out->aspect_or_xmag == 0 || !isfinite(out->yfov_or_ymag) ||
		!isfinite(out->aspect_or_xmag))
		hob_leave(CORRUPT, "xmag and ymag must not be 0");
	if (!(out->znear >= 0) || !(out->zfar > out->znear))
		hob_leave(CORRUPT, "it needs 0 <= znear < zfar");
}

static void read_camera(hob_gltf *g, uint32_t id, void *to)
{
	const cJSON *json = g->cameras.items[id];
	hob_camera *out = to;
	hob_gltf_extras(g, json, &out->extras);
	out->name = hob_gltf_name(g, json);
	hob_str type = hob_gltf_string(json, "type");
	const cJSON *perspective = hob_gltf_object(json, "perspective");
	const cJSON *orthographic = hob_gltf_object(json, "orthographic");
	if (perspective && hob_str_equal(type, HOB_STR("perspective")))
		read_perspective(perspective, out);
	else if (orthographic && hob_str_equal(type, HOB_STR("orthographic")))
		read_orthographic(orthographic, out);
	else
		hob_leave(CORRUPT, "its type '%.*s' comes without its values", HOB_FMT(type));
}

void hob_gltf_import_cameras(hob_gltf *g)
{
	hob_model *model = &g->model;
	model->cameras = HOB_NEW(g->result, hob_camera, g->cameras.count);
	for (uint32_t i = 0; i < g->cameras.count; i++) {
		hob_error why = {0};
		if (hob_gltf_try(g, read_camera, i, &model->cameras[i], &why))
			continue;
		hob_gltf_drop(&why, false);
		model->cameras[i] = (hob_camera){
			.name = model->cameras[i].name, .yfov_or_ymag = 0.8f, .znear = 0.1f, .zfar = INFINITY};
		hob_gltf_note(g, "camera-broken", "cameras[%u] '%s' is replaced by a usual one: %s", i,
					  hob_gltf_label(g->cameras.items[i]), why.context);
	}
	model->camera_count = g->cameras.count;
}

/* ---- lights */

static void read_light(hob_gltf *g, uint32_t id, void *to)
{
	const cJSON *json = g->lights.items[id];
	hob_light *out = to;
	static const struct {
		hob_str name;
		hob_light_type type;
	} types[] = {{{"directional", 11}, HOB_LIGHT_DIRECTIONAL},
				 {{"point", 5}, HOB_LIGHT_POINT},
				 {{"spot", 4}, HOB_LIGHT_SPOT}};
	*out = (hob_light){.color = {1, 1, 1}, .intensity = 1, .range = INFINITY, .outer_cone = 0.78539816f};
	hob_gltf_extras(g, json, &out->extras);
	out->name = hob_gltf_name(g, json);
	hob_str type = hob_gltf_string(json, "type");
	const cJSON *spot = hob_gltf_object(json, "spot");
	hob_gltf_floats(json, "color", 3, out->color);
	hob_gltf_float(json, "intensity", &out->intensity);
	hob_gltf_float(json, "range", &out->range);
	hob_gltf_float(spot, "innerConeAngle", &out->inner_cone);
	hob_gltf_float(spot, "outerConeAngle", &out->outer_cone);
	size_t i = 0;
	while (i < HOB_COUNT_OF(types) && !hob_str_equal(type, types[i].name))
		i++;
	if (i == HOB_COUNT_OF(types))
		hob_leave(CORRUPT, "its type is '%.*s'; directional, point and spot are allowed", HOB_FMT(type));
	out->type = types[i].type;
	bool finite = isfinite(out->intensity) && isfinite(out->inner_cone) && isfinite(out->outer_cone) &&
				  isfinite(out->color[0]) && isfinite(out->color[1]) && isfinite(out->color[2]);
	if (!finite)
		hob_leave(CORRUPT, "it holds a number beyond every range");
	if (!(out->range > 0)) {
		out->range = INFINITY;
		hob_gltf_note(g, "light-range", "light '%.*s': a range that is not positive means no limit",
					  HOB_FMT(out->name));
	}
}

void hob_gltf_import_lights(hob_gltf *g)
{
	hob_model *model = &g->model;
	model->lights = HOB_NEW(g->result, hob_light, g->lights.count);
	for (uint32_t i = 0; i < g->lights.count; i++) {
		hob_error why = {0};
		if (hob_gltf_try(g, read_light, i, &model->lights[i], &why))
			continue;
		hob_gltf_drop(&why, false);
		model->lights[i] = (hob_light){.name = model->lights[i].name,
									   .type = HOB_LIGHT_POINT,
									   .range = INFINITY,
									   .outer_cone = 0.78539816f};
		hob_gltf_note(g, "light-broken", "KHR_lights_punctual lights[%u] '%s' gives no light: %s", i,
					  hob_gltf_label(g->lights.items[i]), why.context);
	}
	model->light_count = g->lights.count;
}

/* ---- skins */

static void set_identity(float matrix[16])
{
	for (int i = 0; i < 16; i++)
		matrix[i] = i % 5 == 0;
}

static void read_inverse_bind(hob_gltf *g, const cJSON *json, hob_skin *out)
{
	uint32_t id = hob_gltf_id(json, "inverseBindMatrices", g->accessors.count);
	if (id == HOB_NONE) {
		out->inverse_bind = HOB_NEW(g->result, float, (size_t)out->joint_count * 16);
		for (uint32_t i = 0; i < out->joint_count; i++)
			set_identity(out->inverse_bind + (size_t)i * 16);
		return;
	}
	uint32_t count = 0;
	{
		HOB_PLACE("inverseBindMatrices", 0, {0});
		out->inverse_bind = hob_gltf_load_floats(g, id, 16, g->result, &count);
	}
	if (count < out->joint_count)
		hob_leave(CORRUPT, "inverseBindMatrices (accessor %u) has %u matrices for %u joints", id, count,
				  out->joint_count);
	for (uint32_t i = 0; i < out->joint_count; i++) {
		float *matrix = out->inverse_bind + (size_t)i * 16;
		bool finite = true;
		for (int k = 0; k < 16; k++)
			finite = finite && isfinite(matrix[k]);
		if (finite)
			continue;
		set_identity(matrix);
		hob_gltf_note(g, "bind-not-finite", "skin '%.*s': inverse bind matrix %u is not finite and was reset",
					  HOB_FMT(out->name), i);
	}
}

static void read_skin(hob_gltf *g, uint32_t id, void *to)
{
	const cJSON *json = g->skins.items[id];
	hob_skin *out = to;
	hob_gltf_extras(g, json, &out->extras);
	out->name = hob_gltf_name(g, json);
	out->joints = hob_gltf_ids(g->result, json, "joints", g->nodes.count, &out->joint_count);
	out->root = hob_gltf_id(json, "skeleton", g->nodes.count);
	if (out->joint_count == 0)
		hob_leave(CORRUPT, "it has no joints");
	if (out->joint_count > HOB_LIMIT_JOINTS)
		hob_leave(LIMIT, "%u joints, the limit is %llu", out->joint_count, HOB_LIMIT_JOINTS);
	for (uint32_t i = 0; i < out->joint_count; i++) {
		uint32_t node = out->joints[i];
		if (g->joint_of[node] == id)
			hob_leave(CORRUPT, "nodes[%u] '%s' is listed as a joint twice", node,
					  hob_gltf_label(g->nodes.items[node]));
		g->joint_of[node] = id;
		out->joints[i] = g->node_ids[node];
	}
	out->root = out->root == HOB_NONE ? HOB_NONE : g->node_ids[out->root];
	read_inverse_bind(g, json, out);
}

void hob_gltf_import_skins(hob_gltf *g)
{
	hob_model *model = &g->model;
	g->joint_of = HOB_NEW(g->scratch, uint32_t, g->nodes.count);
	model->skins = HOB_NEW(g->result, hob_skin, g->skins.count);
	memset(g->joint_of, 0xFF, g->nodes.count * sizeof *g->joint_of);
	bool *used = HOB_NEW(g->scratch, bool, g->skins.count);
	uint32_t *ids = HOB_NEW(g->scratch, uint32_t, g->skins.count);
	for (uint32_t i = 0; i < model->node_count; i++)
		if (model->nodes[i].skin != HOB_NONE)
			used[model->nodes[i].skin] = true;
	for (uint32_t i = 0; i < g->skins.count; i++) {
		hob_error why = {0};
		ids[i] = model->skin_count;
		HOB_GLTF_PLACE("skins[#] '@'", i, g->skins);
		if (hob_gltf_try(g, read_skin, i, &model->skins[model->skin_count], &why)) {
			model->skin_count++;
			continue;
		}
		hob_gltf_drop(&why, used[i] || g->meshes.count == 0);
		hob_gltf_note(g, "unused-broken", "skins[%u] '%s', which no node uses, is left out: %s", i,
					  hob_gltf_label(g->skins.items[i]), why.context);
	}
	for (uint32_t i = 0; i < model->node_count; i++)
		if (model->nodes[i].skin != HOB_NONE)
			model->nodes[i].skin = ids[model->nodes[i].skin];
}
