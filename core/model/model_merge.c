#include "model_merge.h"
#include "properties.h"
#include "../base/limits.h"

#include <assert.h>

static uint32_t shift(uint32_t id, uint32_t base)
{
	return id == HOB_NONE ? HOB_NONE : id + base;
}

/* ---- the lists of a model whose items are copied, LIST(count, items, type, words for the limit, limit) */

#define LISTS(LIST)                                                                                          \
	LIST(node_count, nodes, hob_node, "nodes", HOB_LIMIT_NODES)                                              \
	LIST(mesh_count, meshes, hob_mesh, "meshes", HOB_LIMIT_MESHES)                                           \
	LIST(material_count, materials, hob_material, "materials", HOB_LIMIT_MATERIALS)                          \
	LIST(image_count, images, hob_image, "pictures", HOB_LIMIT_IMAGES)                                       \
	LIST(clip_count, clips, hob_clip, "clips", HOB_LIMIT_CLIPS)                                              \
	LIST(mesh_ref_count, mesh_refs, uint32_t, "mesh references", UINT32_MAX / 2)                             \
	LIST(weight_count, weights, float, "morph weights", UINT32_MAX / 2)                                      \
	LIST(sampler_count, samplers, hob_sampler, "samplers", UINT32_MAX)                                       \
	LIST(camera_count, cameras, hob_camera, "cameras", UINT32_MAX)                                           \
	LIST(light_count, lights, hob_light, "lights", UINT32_MAX)                                               \
	LIST(skin_count, skins, hob_skin, "skins", UINT32_MAX)

static bool check_limit(uint64_t count, uint64_t limit, const char *what, hob_error *err)
{
	return count <= limit || hob_fail(err, LIMIT, "the merged models have %llu %s, the limit is %llu",
									  (unsigned long long)count, what, (unsigned long long)limit);
}

/* Room for the items of all models. */
static bool allocate(const hob_model *const *models, uint32_t model_count, hob_arena *arena, hob_model *m,
					 hob_error *err)
{
	uint64_t scenes = 1, roots = 0, variants = 0;
#define LIST(count, items, type, what, limit)                                                                \
	uint64_t count = 0;                                                                                      \
	for (uint32_t i = 0; i < model_count; i++)                                                               \
		count += models[i]->count;                                                                           \
	if (!check_limit(count, limit, what, err))                                                               \
		return false;
	LISTS(LIST)
#undef LIST
	for (uint32_t i = 0; i < model_count; i++) {
		scenes += models[i]->scene_count - 1;
		variants += models[i]->variant_count;
		/* Scenes of one model may share roots, so room for roots is counted per scene. */
		for (uint32_t s = 0; s < models[i]->scene_count; s++)
			roots += models[i]->scenes[s].root_count;
	}
	if (!check_limit(roots, UINT32_MAX / 2, "scene roots", err))
		return false;
#define LIST(count, items, type, what, limit) m->items = HOB_NEW(arena, type, count);
	LISTS(LIST)
#undef LIST
	m->scenes = HOB_NEW(arena, hob_scene, scenes);
	m->scene_roots = HOB_NEW(arena, uint32_t, roots);
	m->variants = HOB_NEW(arena, hob_str, variants);
	return true;
}

/* ---- appending one model: its items are copied, and their ids moved by the counts that `m` had before */

static void append_materials(hob_model *m, const hob_model *in)
{
	for (uint32_t i = 0; i < in->material_count; i++) {
		hob_material *material = &m->materials[m->material_count + i];
		for (int s = 0; s < HOB_SLOT_COUNT; s++) {
			material->slots[s].image = shift(material->slots[s].image, m->image_count);
			material->slots[s].sampler = shift(material->slots[s].sampler, m->sampler_count);
		}
	}
}

static uint32_t find_or_add_variant(hob_model *m, hob_str name)
{
	for (uint32_t i = 0; i < m->variant_count; i++)
		if (hob_str_equal(m->variants[i], name))
			return i;
	m->variants[m->variant_count] = name;
	return m->variant_count++;
}

static void append_meshes(hob_model *m, const hob_model *in, hob_arena *arena, hob_arena *scratch)
{
	uint32_t *variant = HOB_NEW(scratch, uint32_t, in->variant_count);
	/* Continues the numbering: no source mesh is shared with the models before. */
	uint32_t first_source = m->mesh_count > 0 ? m->meshes[m->mesh_count - 1].source_mesh + 1 : 0;
	for (uint32_t i = 0; i < in->variant_count; i++)
		variant[i] = find_or_add_variant(m, in->variants[i]);
	for (uint32_t i = 0; i < in->mesh_count; i++) {
		hob_mesh *mesh = &m->meshes[m->mesh_count + i];
		mesh->source_mesh += first_source;
		mesh->material = shift(mesh->material, m->material_count);
		mesh->mappings = HOB_NEW(arena, hob_variant_mapping, mesh->mapping_count);
		for (uint32_t k = 0; k < mesh->mapping_count; k++)
			mesh->mappings[k] =
				(hob_variant_mapping){variant[in->meshes[i].mappings[k].variant],
									  shift(in->meshes[i].mappings[k].material, m->material_count)};
	}
}

static void append_nodes(hob_model *m, const hob_model *in)
{
	for (uint32_t i = 0; i < in->node_count; i++) {
		hob_node *node = &m->nodes[m->node_count + i];
		node->parent = shift(node->parent, m->node_count);
		node->mesh_first += m->mesh_ref_count;
		node->weight_first += m->weight_count;
		node->skin = shift(node->skin, m->skin_count);
		node->camera = shift(node->camera, m->camera_count);
		node->light = shift(node->light, m->light_count);
	}
	for (uint32_t i = 0; i < in->mesh_ref_count; i++)
		m->mesh_refs[m->mesh_ref_count + i] += m->mesh_count;
}

static void append_skins(hob_model *m, const hob_model *in, hob_arena *arena)
{
	for (uint32_t i = 0; i < in->skin_count; i++) {
		hob_skin *skin = &m->skins[m->skin_count + i];
		skin->root = shift(skin->root, m->node_count);
		skin->joints = HOB_NEW(arena, uint32_t, skin->joint_count);
		for (uint32_t j = 0; j < skin->joint_count; j++)
			skin->joints[j] = in->skins[i].joints[j] + m->node_count;
	}
}

static void append_clips(hob_model *m, const hob_model *in, hob_arena *arena)
{
	for (uint32_t i = 0; i < in->clip_count; i++) {
		uint32_t at = m->clip_count + i;
		hob_clip *clip = &m->clips[at];
		hob_model_name_clip(m, at, clip->name, arena);
		clip->channels = HOB_NEW(arena, hob_channel, clip->channel_count);
		for (uint32_t c = 0; c < clip->channel_count; c++) {
			clip->channels[c] = in->clips[i].channels[c];
			clip->channels[c].node += m->node_count;
		}
		clip->properties = HOB_NEW(arena, hob_property_channel, clip->property_count);
		for (uint32_t c = 0; c < clip->property_count; c++) {
			hob_driven driven = hob_property_of(in->clips[i].properties[c].property)->driven;
			clip->properties[c] = in->clips[i].properties[c];
			clip->properties[c].index += driven == HOB_DRIVEN_CAMERA  ? m->camera_count
										 : driven == HOB_DRIVEN_LIGHT ? m->light_count
										 : driven == HOB_DRIVEN_NODE  ? m->node_count
																	  : m->material_count;
		}
	}
}

static void append(hob_model *m, const hob_model *in, hob_arena *arena, hob_arena *scratch)
{
#define LIST(count, items, type, what, limit)                                                                \
	if (in->count > 0)                                                                                       \
		memcpy(&m->items[m->count], in->items, in->count * sizeof(type));
	LISTS(LIST)
#undef LIST
	append_materials(m, in);
	append_nodes(m, in);
	append_meshes(m, in, arena, scratch);
	append_skins(m, in, arena);
	append_clips(m, in, arena);
#define LIST(count, items, type, what, limit) m->count += in->count;
	LISTS(LIST)
#undef LIST
}

/* ---- scenes */

static void append_roots(hob_model *m, const hob_model *in, const hob_scene *scene, uint32_t node_base)
{
	for (uint32_t r = 0; r < scene->root_count; r++)
		m->scene_roots[m->scene_root_count++] = in->scene_roots[scene->root_first + r] + node_base;
}

static void join_scenes(hob_model *m, const hob_model *const *models, uint32_t model_count)
{
	uint32_t base = 0;
	m->scenes[0].name = models[0]->scenes[models[0]->default_scene].name;
	m->scenes[0].extras = models[0]->scenes[models[0]->default_scene].extras;
	for (uint32_t i = 0; i < model_count; base += models[i++]->node_count)
		append_roots(m, models[i], &models[i]->scenes[models[i]->default_scene], base);
	m->scenes[0].root_count = m->scene_root_count;
	m->scene_count = 1;
	base = 0;
	for (uint32_t i = 0; i < model_count; base += models[i++]->node_count)
		for (uint32_t s = 0; s < models[i]->scene_count; s++) {
			const hob_scene *scene = &models[i]->scenes[s];
			if (s == models[i]->default_scene)
				continue;
			m->scenes[m->scene_count++] =
				(hob_scene){scene->name, m->scene_root_count, scene->root_count, scene->extras};
			append_roots(m, models[i], scene, base);
		}
}

bool hob_model_merge(const hob_model *const *models, uint32_t model_count, hob_arena *arena,
					 hob_arena *scratch, hob_model *out, hob_error *err)
{
	assert(model_count > 0);
	hob_model merged = {.generator = models[0]->generator, .extras = models[0]->extras};
	if (!allocate(models, model_count, arena, &merged, err))
		return false;
	hob_arena_mark mark = hob_arena_save(scratch);
	for (uint32_t i = 0; i < model_count; i++)
		append(&merged, models[i], arena, scratch);
	hob_arena_restore(scratch, mark);
	join_scenes(&merged, models, model_count);
	*out = merged;
	return true;
}
