#include "model.h"
#include "properties.h"

#include "../base/limits.h"

#include <math.h>

void hob_material_init(hob_material *material)
{
	*material = (hob_material){
		.base_color = {1, 1, 1, 1},
		.metallic = 1,
		.roughness = 1,
		.emissive_strength = 1,
		.normal_scale = 1,
		.occlusion_strength = 1,
		.alpha_cutoff = 0.5f,
		.ior = 1.5f,
		.specular = 1,
		.specular_color = {1, 1, 1},
		.clearcoat_normal_scale = 1,
		.attenuation_distance = INFINITY,
		.attenuation_color = {1, 1, 1},
		.iridescence_ior = 1.3f,
		.iridescence_min = 100,
		.iridescence_max = 400,
		.diffuse_transmission_color = {1, 1, 1},
	};
	for (int slot = 0; slot < HOB_SLOT_COUNT; slot++) {
		hob_texture_ref *ref = &material->slots[slot];
		ref->image = ref->sampler = HOB_NONE;
		ref->scale[0] = ref->scale[1] = 1;
	}
}

static bool all_finite(const float *values, size_t count)
{
	const uint32_t exponent = 0x7F800000;
	uint32_t bad = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, &values[i], sizeof bits);
		bad |= (bits & exponent) == exponent;
	}
	return !bad;
}

static bool check_floats(const float *values, size_t count, const char *what, hob_error *err)
{
	if (!values || all_finite(values, count))
		return true;
	size_t at = 0;
	while (isfinite(values[at]))
		at++;
	return hob_fail(err, CORRUPT, "%s holds infinity or NaN at value %zu of %zu", what, at, count);
}

static bool check_reach(const float *positions, size_t count, hob_error *err)
{
	const float most = (float)HOB_LIMIT_REACH;
	uint32_t bad = 0;
	for (size_t i = 0; i < count; i++)
		bad |= !(fabsf(positions[i]) <= most);
	if (!bad)
		return true;
	size_t at = 0;
	while (fabsf(positions[at]) <= most)
		at++;
	return hob_fail(err, CORRUPT,
					"vertex %zu lies %.3g metres from the origin: the file or its unit of length is damaged",
					at / 3, (double)fabsf(positions[at]));
}

/* Checks that `id` is below `count`, or HOB_NONE. */
static bool check_id(uint32_t id, uint32_t count, const char *what, hob_error *err)
{
	if (id == HOB_NONE || id < count)
		return true;
	return hob_fail(err, CORRUPT, "%s %u of %u", what, id, count);
}

static bool check_range(uint32_t first, uint32_t range, uint32_t count, const char *what, hob_error *err)
{
	if (first <= count && range <= count - first)
		return true;
	return hob_fail(err, CORRUPT, "%s %u+%u of %u", what, first, range, count);
}

static bool check_array(const void *array, uint32_t count, const char *what, hob_error *err)
{
	return array || count == 0 || hob_fail(err, CORRUPT, "%s: count %u without an array", what, count);
}

/* ---- meshes */

static bool check_indices(const hob_mesh *mesh, hob_error *err)
{
	static const uint32_t corners[] = {[HOB_TRIANGLES] = 3, [HOB_LINES] = 2, [HOB_POINTS] = 1};
	if ((unsigned)mesh->topology > HOB_POINTS)
		return hob_fail(err, CORRUPT, "topology %u", (unsigned)mesh->topology);
	if (!check_array(mesh->indices, mesh->index_count, "indices", err))
		return false;
	if (mesh->index_count % corners[mesh->topology])
		return hob_fail(err, CORRUPT, "%u indices are not a multiple of %u", mesh->index_count,
						corners[mesh->topology]);
	uint32_t beyond = 0;
	for (uint32_t i = 0; i < mesh->index_count; i++)
		beyond |= mesh->indices[i] >= mesh->vertex_count;
	if (!beyond)
		return true;
	uint32_t at = 0;
	while (mesh->indices[at] < mesh->vertex_count)
		at++;
	return hob_fail(err, CORRUPT, "index %u >= vertex_count %u", mesh->indices[at], mesh->vertex_count);
}

static bool check_streams(const hob_mesh *mesh, hob_error *err)
{
	size_t vertices = mesh->vertex_count;
	if (!check_array(mesh->position, mesh->vertex_count, "positions", err) ||
		!check_floats(mesh->position, vertices * 3, "position", err) ||
		!check_reach(mesh->position, vertices * 3, err) ||
		!check_floats(mesh->normal, vertices * 3, "normal", err) ||
		!check_floats(mesh->tangent, vertices * 4, "tangent", err))
		return false;
	for (int set = 0; set < HOB_UV_SETS; set++) {
		if (set > 0 && mesh->uv[set] && !mesh->uv[set - 1])
			return hob_fail(err, CORRUPT, "uv set %d without uv set %d", set, set - 1);
		if (!check_floats(mesh->uv[set], vertices * 2, "uv", err))
			return false;
	}
	for (int set = 0; set < HOB_COLOR_SETS; set++)
		if (!check_floats(mesh->color[set], vertices * 4, "color", err))
			return false;
	if (mesh->influence_count % 4 || mesh->influence_count > 256)
		return hob_fail(err, CORRUPT, "%u joint influences", mesh->influence_count);
	if (mesh->influence_count > 0 && vertices > 0 && (!mesh->joints || !mesh->weights))
		return hob_fail(err, CORRUPT, "%u joint influences without arrays", mesh->influence_count);
	return check_floats(mesh->influence_count ? mesh->weights : NULL, vertices * mesh->influence_count,
						"weights", err);
}

static bool check_targets(const hob_mesh *mesh, hob_error *err)
{
	if (!check_array(mesh->targets, mesh->target_count, "morph targets", err))
		return false;
	for (uint32_t i = 0; i < mesh->target_count; i++) {
		const hob_morph_target *target = &mesh->targets[i];
		size_t count = (size_t)mesh->vertex_count * 3;
		if (!check_floats(&target->weight, 1, "weight", err) ||
			!check_floats(target->position, count, "position deltas", err) ||
			!check_floats(target->normal, count, "normal deltas", err) ||
			!check_floats(target->tangent, count, "tangent deltas", err))
			return hob_fail_in(err, "morph target %u", i);
	}
	return true;
}

static bool check_mesh(const hob_model *model, const hob_mesh *mesh, hob_error *err)
{
	if (!check_id(mesh->material, model->material_count, "material", err) || !check_streams(mesh, err) ||
		!check_indices(mesh, err) || !check_targets(mesh, err) ||
		!check_array(mesh->mappings, mesh->mapping_count, "variant mappings", err))
		return false;
	for (uint32_t i = 0; i < mesh->mapping_count; i++)
		if (mesh->mappings[i].variant >= model->variant_count ||
			!check_id(mesh->mappings[i].material, model->material_count, "material", err))
			return hob_fail(err, CORRUPT, "variant mapping %u names variant %u of %u, material %u of %u", i,
							mesh->mappings[i].variant, model->variant_count, mesh->mappings[i].material,
							model->material_count);
	return true;
}

/* ---- materials and images */

static bool check_material(const hob_model *model, const hob_material *m, hob_error *err)
{
	const float factors[] = {
		m->metallic,
		m->roughness,
		m->emissive_strength,
		m->normal_scale,
		m->occlusion_strength,
		m->alpha_cutoff,
		m->ior,
		m->dispersion,
		m->specular,
		m->clearcoat,
		m->clearcoat_roughness,
		m->clearcoat_normal_scale,
		m->sheen_roughness,
		m->transmission,
		m->thickness,
		m->anisotropy,
		m->anisotropy_rotation,
		m->iridescence,
		m->iridescence_ior,
		m->iridescence_min,
		m->iridescence_max,
		m->diffuse_transmission,
	};
	if (!check_floats(factors, HOB_COUNT_OF(factors), "factor", err) ||
		!check_floats(m->base_color, 4, "base color", err) ||
		!check_floats(m->emissive, 3, "emissive", err) ||
		!check_floats(m->specular_color, 3, "specular color", err) ||
		!check_floats(m->sheen_color, 3, "sheen color", err) ||
		!check_floats(m->attenuation_color, 3, "attenuation color", err) ||
		!check_floats(m->diffuse_transmission_color, 3, "diffuse transmission color", err))
		return false;
	if (!(m->attenuation_distance > 0))
		return hob_fail(err, CORRUPT, "attenuation distance is not positive");
	if ((unsigned)m->alpha_mode > HOB_ALPHA_BLEND)
		return hob_fail(err, CORRUPT, "alpha mode %u", (unsigned)m->alpha_mode);
	for (int slot = 0; slot < HOB_SLOT_COUNT; slot++) {
		const hob_texture_ref *ref = &m->slots[slot];
		float transform[] = {ref->offset[0], ref->offset[1], ref->scale[0], ref->scale[1], ref->rotation};
		if (!check_id(ref->image, model->image_count, "image", err) ||
			!check_id(ref->sampler, model->sampler_count, "sampler", err) ||
			!check_floats(transform, HOB_COUNT_OF(transform), "texture transform", err))
			return hob_fail_in(err, "texture slot %d", slot);
		if (ref->uv_set >= HOB_UV_SETS)
			return hob_fail(err, CORRUPT, "texture slot %d uses uv set %u of %d", slot, ref->uv_set,
							HOB_UV_SETS);
	}
	return true;
}

static bool check_image(const hob_image *image, hob_error *err)
{
	if (image->path.len > 0 && image->bytes.size > 0)
		return hob_fail(err, CORRUPT, "both a path and bytes");
	if (image->made && (image->path.len > 0 || image->bytes.size > 0 || image->made->diffuse.made ||
						image->made->specular.made))
		return hob_fail(err, CORRUPT, "made from pictures, and more than that");
	size_t raw = (size_t)image->raw_width * image->raw_height;
	if (image->raw_width > 0 && (raw > SIZE_MAX / 4 || image->bytes.size != raw * 4))
		return hob_fail(err, CORRUPT, "%zu bytes for %ux%u raw pixels", image->bytes.size, image->raw_width,
						image->raw_height);
	return true;
}

/* ---- scene */

/* The parent of node i must be node i-1 or one of its ancestors. Each step up leaves a subtree for good, so
 * the walk costs O(node_count). */
static bool check_pre_order(const hob_model *model, hob_error *err)
{
	for (uint32_t i = 0; i < model->node_count; i++) {
		uint32_t parent = model->nodes[i].parent;
		if (parent == HOB_NONE)
			continue;
		uint32_t open = i > 0 ? i - 1 : HOB_NONE;
		while (open != HOB_NONE && open != parent && parent < i)
			open = model->nodes[open].parent;
		if (parent >= i || open != parent)
			return hob_fail(err, CORRUPT, "node %u with parent %u breaks the depth-first order", i, parent);
	}
	return true;
}

/* Checks the text and adds its size to *total. */
static bool check_extras(const hob_extras *extras, uint64_t *total, hob_error *err)
{
	const hob_str texts[] = {extras->values, extras->extensions};
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		*total += texts[i].len;
		if (texts[i].len > 0 && !hob_json_valid(texts[i], (uint32_t)HOB_LIMIT_JSON_DEPTH))
			return hob_fail(err, CORRUPT, "extras are not JSON: '%.*s'",
							(int)(texts[i].len < 40 ? texts[i].len : 40), texts[i].data);
	}
	if (extras->extensions.len > 0 && extras->extensions.data[0] != '{')
		return hob_fail(err, CORRUPT, "the extensions in extras are not an object");
	return *total <= HOB_LIMIT_EXTRAS_BYTES ||
		   hob_fail(err, LIMIT, "extras of more than %llu bytes", HOB_LIMIT_EXTRAS_BYTES);
}

#define CHECK_EXTRAS(count, array, what)                                                                     \
	for (uint32_t i = 0; i < model->count; i++)                                                              \
		if (!check_extras(&model->array[i].extras, &total, err))                                             \
	return hob_fail_in(err, what " %u", i)

static bool check_all_extras(const hob_model *model, hob_error *err)
{
	uint64_t total = 0;
	if (!check_extras(&model->extras, &total, err))
		return hob_fail_in(err, "extras of the file");
	CHECK_EXTRAS(scene_count, scenes, "scene");
	CHECK_EXTRAS(node_count, nodes, "node");
	CHECK_EXTRAS(material_count, materials, "material");
	CHECK_EXTRAS(mesh_count, meshes, "mesh");
	CHECK_EXTRAS(camera_count, cameras, "camera");
	CHECK_EXTRAS(light_count, lights, "light");
	CHECK_EXTRAS(skin_count, skins, "skin");
	CHECK_EXTRAS(clip_count, clips, "clip");
	return true;
}

static bool check_node(const hob_model *model, const hob_node *node, hob_error *err)
{
	if (!check_floats(node->translation, 3, "translation", err) ||
		!check_floats(node->rotation, 4, "rotation", err) || !check_floats(node->scale, 3, "scale", err) ||
		!check_floats(node->has_matrix ? node->matrix : NULL, 16, "matrix", err) ||
		!check_range(node->mesh_first, node->mesh_count, model->mesh_ref_count, "mesh range", err) ||
		!check_range(node->weight_first, node->weight_count, model->weight_count, "weight range", err) ||
		!check_id(node->skin, model->skin_count, "skin", err) ||
		!check_id(node->camera, model->camera_count, "camera", err) ||
		!check_id(node->light, model->light_count, "light", err))
		return false;
	return true;
}

static bool check_scenes(const hob_model *model, hob_error *err)
{
	if (model->scene_count == 0)
		return hob_fail(err, CORRUPT, "no scene");
	if (!model->scenes || model->default_scene >= model->scene_count)
		return hob_fail(err, CORRUPT, "default scene %u of %u", model->default_scene, model->scene_count);
	for (uint32_t i = 0; i < model->scene_count; i++)
		if (!check_range(model->scenes[i].root_first, model->scenes[i].root_count, model->scene_root_count,
						 "root range", err))
			return hob_fail_in(err, "scene %u", i);
	for (uint32_t i = 0; i < model->scene_root_count; i++) {
		uint32_t root = model->scene_roots[i];
		if (root >= model->node_count)
			return hob_fail(err, CORRUPT, "scene root %u is node %u of %u", i, root, model->node_count);
		if (model->nodes[root].parent != HOB_NONE)
			return hob_fail(err, CORRUPT, "scene root %u is node %u, which has a parent", i, root);
	}
	return true;
}

static bool check_camera(const hob_camera *camera, hob_error *err)
{
	if ((unsigned)camera->type > HOB_CAMERA_ORTHOGRAPHIC)
		return hob_fail(err, CORRUPT, "camera type %u", (unsigned)camera->type);
	if (isnan(camera->zfar) || !check_floats(&camera->yfov_or_ymag, 1, "yfov or ymag", err) ||
		!check_floats(&camera->aspect_or_xmag, 1, "aspect or xmag", err) ||
		!check_floats(&camera->znear, 1, "znear", err))
		return hob_fail(err, CORRUPT, "camera has a value that is not a number");
	return true;
}

static bool check_light(const hob_light *light, hob_error *err)
{
	if ((unsigned)light->type > HOB_LIGHT_SPOT)
		return hob_fail(err, CORRUPT, "light type %u", (unsigned)light->type);
	const float cones[] = {light->intensity, light->inner_cone, light->outer_cone};
	if (!(light->range > 0))
		return hob_fail(err, CORRUPT, "light range is not positive");
	return check_floats(light->color, 3, "color", err) &&
		   check_floats(cones, HOB_COUNT_OF(cones), "intensity or cones", err);
}

static bool check_skin(const hob_model *model, const hob_skin *skin, hob_error *err)
{
	if (!check_id(skin->root, model->node_count, "skeleton root", err) ||
		!check_array(skin->joints, skin->joint_count, "joints", err) ||
		!check_array(skin->inverse_bind, skin->joint_count, "inverse bind matrices", err) ||
		!check_floats(skin->inverse_bind, (size_t)skin->joint_count * 16, "inverse bind matrices", err))
		return false;
	for (uint32_t i = 0; i < skin->joint_count; i++)
		if (skin->joints[i] >= model->node_count)
			return hob_fail(err, CORRUPT, "joint %u is node %u of %u", i, skin->joints[i], model->node_count);
	return true;
}

/* ---- clips */

static bool check_track(const hob_track *track, hob_error *err)
{
	if ((unsigned)track->interpolation > HOB_CUBICSPLINE)
		return hob_fail(err, CORRUPT, "interpolation %u", (unsigned)track->interpolation);
	if (track->key_count == 0 || track->components == 0 || !track->times || !track->values)
		return hob_fail(err, CORRUPT, "%u keys of %u components", track->key_count, track->components);
	size_t per_key = (size_t)track->components * (track->interpolation == HOB_CUBICSPLINE ? 3 : 1);
	if (!check_floats(track->times, track->key_count, "times", err) ||
		!check_floats(track->values, track->key_count * per_key, "values", err))
		return false;
	for (uint32_t i = 1; i < track->key_count; i++)
		if (!(track->times[i - 1] < track->times[i]))
			return hob_fail(err, CORRUPT, "time of key %u is not after the one before", i);
	return true;
}

static bool check_property(const hob_model *model, const hob_clip *clip, const hob_property_channel *channel,
						   hob_error *err)
{
	const uint32_t counts[] = {[HOB_DRIVEN_MATERIAL] = model->material_count,
							   [HOB_DRIVEN_TEXREF] = model->material_count,
							   [HOB_DRIVEN_CAMERA] = model->camera_count,
							   [HOB_DRIVEN_LIGHT] = model->light_count,
							   [HOB_DRIVEN_NODE] = model->node_count};
	if (channel->property >= HOB_PROPERTY_COUNT || channel->track >= clip->track_count ||
		channel->slot >= HOB_SLOT_COUNT)
		return hob_fail(err, CORRUPT, "property %u, slot %u, track %u of %u", channel->property,
						channel->slot, channel->track, clip->track_count);
	const hob_property_info *info = hob_property_of(channel->property);
	uint32_t components = clip->tracks[channel->track].components;
	if (channel->index >= counts[info->driven] || components != info->components)
		return hob_fail(err, CORRUPT, "thing %u of %u, %u components where the property has %u",
						channel->index, counts[info->driven], components, info->components);
	return true;
}

static bool check_clip(const hob_model *model, const hob_clip *clip, hob_error *err)
{
	if (!check_array(clip->tracks, clip->track_count, "tracks", err) ||
		!check_array(clip->channels, clip->channel_count, "channels", err) ||
		!check_array(clip->properties, clip->property_count, "property channels", err))
		return false;
	for (uint32_t i = 0; i < clip->track_count; i++)
		if (!check_track(&clip->tracks[i], err))
			return hob_fail_in(err, "track %u", i);
	for (uint32_t i = 0; i < clip->channel_count; i++) {
		const hob_channel *channel = &clip->channels[i];
		if (channel->node >= model->node_count || channel->track >= clip->track_count ||
			(unsigned)channel->path > HOB_PATH_WEIGHTS)
			return hob_fail(err, CORRUPT, "channel %u: node %u of %u, track %u of %u, path %u", i,
							channel->node, model->node_count, channel->track, clip->track_count,
							(unsigned)channel->path);
		uint32_t components = clip->tracks[channel->track].components;
		uint32_t wanted = channel->path == HOB_PATH_ROTATION ? 4 : 3;
		if (channel->path != HOB_PATH_WEIGHTS && components != wanted)
			return hob_fail(err, CORRUPT, "channel %u: %u components, path needs %u", i, components, wanted);
	}
	for (uint32_t i = 0; i < clip->property_count; i++)
		if (!check_property(model, clip, &clip->properties[i], err))
			return hob_fail_in(err, "property channel %u", i);
	return true;
}

/* ---- the whole */

#define CHECK_EACH(count, array, what, check)                                                                \
	do {                                                                                                     \
		if (!check_array((array), (count), what, err))                                                       \
			return false;                                                                                    \
		for (uint32_t i = 0; i < (count); i++)                                                               \
			if (!(check))                                                                                    \
				return hob_fail_in(err, what " %u '%.*s'", i, HOB_FMT((array)[i].name));                     \
	} while (0)

bool hob_model_check(const hob_model *model, hob_error *err)
{
	if (!check_array(model->samplers, model->sampler_count, "samplers", err) ||
		!check_array(model->mesh_refs, model->mesh_ref_count, "mesh references", err) ||
		!check_array(model->weights, model->weight_count, "weights", err) ||
		!check_array(model->scene_roots, model->scene_root_count, "scene roots", err) ||
		!check_array(model->variants, model->variant_count, "variants", err) ||
		!check_floats(model->weights, model->weight_count, "node weights", err))
		return false;
	CHECK_EACH(model->mesh_count, model->meshes, "mesh", check_mesh(model, &model->meshes[i], err));
	CHECK_EACH(model->material_count, model->materials, "material",
			   check_material(model, &model->materials[i], err));
	CHECK_EACH(model->image_count, model->images, "image", check_image(&model->images[i], err));
	CHECK_EACH(model->node_count, model->nodes, "node", check_node(model, &model->nodes[i], err));
	CHECK_EACH(model->camera_count, model->cameras, "camera", check_camera(&model->cameras[i], err));
	CHECK_EACH(model->light_count, model->lights, "light", check_light(&model->lights[i], err));
	CHECK_EACH(model->skin_count, model->skins, "skin", check_skin(model, &model->skins[i], err));
	CHECK_EACH(model->clip_count, model->clips, "clip", check_clip(model, &model->clips[i], err));
	for (uint32_t i = 0; i < model->mesh_ref_count; i++)
		if (model->mesh_refs[i] >= model->mesh_count)
			return hob_fail(err, CORRUPT, "mesh reference %u is mesh %u of %u", i, model->mesh_refs[i],
							model->mesh_count);
	return check_pre_order(model, err) && check_scenes(model, err) && check_all_extras(model, err);
}

void hob_model_one_scene(hob_model *model, hob_arena *arena)
{
	uint32_t roots = 0;
	for (uint32_t i = 0; i < model->node_count; i++)
		roots += model->nodes[i].parent == HOB_NONE;
	model->scenes = HOB_NEW(arena, hob_scene, 1);
	model->scene_roots = HOB_NEW(arena, uint32_t, roots);
	for (uint32_t i = 0; i < model->node_count; i++)
		if (model->nodes[i].parent == HOB_NONE)
			model->scene_roots[model->scene_root_count++] = i;
	model->scenes[0] = (hob_scene){.name = HOB_STR(""), .root_count = roots};
	model->scene_count = 1;
}
