#include "model_merge.h"
#include "properties.h"
#include "../base/limits.h"

#include <assert.h>

static uint32_t shift(uint32_t id, uint32_t base)
{
	return id == HOB_NONE ? HOB_NONE : id + base;
}

/* ---- room for everything */

typedef struct totals {
	uint64_t meshes, materials, images, samplers, nodes, mesh_refs, weights, scenes, roots, cameras, lights,
		skins, clips, variants;
} totals_t;

static totals_t count(const hob_model *const *models, uint32_t model_count)
{
	totals_t t = {.scenes = 1};
	for (uint32_t i = 0; i < model_count; i++) {
		const hob_model *m = models[i];
		t.meshes += m->mesh_count;
		t.materials += m->material_count;
		t.images += m->image_count;
		t.samplers += m->sampler_count;
		t.nodes += m->node_count;
		t.mesh_refs += m->mesh_ref_count;
		t.weights += m->weight_count;
		t.scenes += m->scene_count - 1;
		t.cameras += m->camera_count;
		t.lights += m->light_count;
		t.skins += m->skin_count;
		t.clips += m->clip_count;
		t.variants += m->variant_count;
	}
	return t;
}

static bool check_limits(const totals_t *t, hob_error *err)
{
	const struct {
		const char *what;
		uint64_t count, limit;
	} rules[] = {
		{"nodes", t->nodes, HOB_LIMIT_NODES},
		{"meshes", t->meshes, HOB_LIMIT_MESHES},
		{"materials", t->materials, HOB_LIMIT_MATERIALS},
		{"pictures", t->images, HOB_LIMIT_IMAGES},
		{"clips", t->clips, HOB_LIMIT_CLIPS},
		{"mesh references", t->mesh_refs, UINT32_MAX / 2},
		{"morph weights", t->weights, UINT32_MAX / 2},
		{"scene roots", t->roots, UINT32_MAX / 2},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rules); i++)
		if (rules[i].count > rules[i].limit)
			return hob_fail(err, LIMIT, "the merged models have %llu %s, the limit is %llu",
							(unsigned long long)rules[i].count, rules[i].what,
							(unsigned long long)rules[i].limit);
	return true;
}

static void allocate(const totals_t *t, hob_arena *arena, hob_model *m)
{
	m->meshes = HOB_NEW(arena, hob_mesh, t->meshes);
	m->materials = HOB_NEW(arena, hob_material, t->materials);
	m->images = HOB_NEW(arena, hob_image, t->images);
	m->samplers = HOB_NEW(arena, hob_sampler, t->samplers);
	m->nodes = HOB_NEW(arena, hob_node, t->nodes);
	m->mesh_refs = HOB_NEW(arena, uint32_t, t->mesh_refs);
	m->weights = HOB_NEW(arena, float, t->weights);
	m->scenes = HOB_NEW(arena, hob_scene, t->scenes);
	m->scene_roots = HOB_NEW(arena, uint32_t, t->roots);
	m->cameras = HOB_NEW(arena, hob_camera, t->cameras);
	m->lights = HOB_NEW(arena, hob_light, t->lights);
	m->skins = HOB_NEW(arena, hob_skin, t->skins);
	m->clips = HOB_NEW(arena, hob_clip, t->clips);
	m->variants = HOB_NEW(arena, hob_str, t->variants);
}

/* ---- appending one model; ids move by the counts that `m` had before */

static void append_materials(hob_model *m, const hob_model *in)
{
	for (uint32_t i = 0; i < in->material_count; i++) {
		hob_material *material = &m->materials[m->material_count + i];
		*material = in->materials[i];
		for (int s = 0; s < HOB_SLOT_COUNT; s++) {
			material->slots[s].image = shift(material->slots[s].image, m->image_count);
			material->slots[s].sampler = shift(material->slots[s].sampler, m->sampler_count);
		}
	}
	for (uint32_t i = 0; i < in->image_count; i++)
		m->images[m->image_count + i] = in->images[i];
	for (uint32_t i = 0; i < in->sampler_count; i++)
		m->samplers[m->sampler_count + i] = in->samplers[i];
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
		*mesh = in->meshes[i];
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
		*node = in->nodes[i];
		node->parent = shift(node->parent, m->node_count);
		node->mesh_first += m->mesh_ref_count;
		node->weight_first += m->weight_count;
		node->skin = shift(node->skin, m->skin_count);
		node->camera = shift(node->camera, m->camera_count);
		node->light = shift(node->light, m->light_count);
	}
	for (uint32_t i = 0; i < in->mesh_ref_count; i++)
		m->mesh_refs[m->mesh_ref_count + i] = in->mesh_refs[i] + m->mesh_count;
	for (uint32_t i = 0; i < in->weight_count; i++)
		m->weights[m->weight_count + i] = in->weights[i];
	for (uint32_t i = 0; i < in->camera_count; i++)
		m->cameras[m->camera_count + i] = in->cameras[i];
	for (uint32_t i = 0; i < in->light_count; i++)
		m->lights[m->light_count + i] = in->lights[i];
}

static void append_skins(hob_model *m, const hob_model *in, hob_arena *arena)
{
	for (uint32_t i = 0; i < in->skin_count; i++) {
		hob_skin *skin = &m->skins[m->skin_count + i];
		*skin = in->skins[i];
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
		*clip = in->clips[i];
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
	append_materials(m, in);
	append_nodes(m, in);
	append_meshes(m, in, arena, scratch);
	append_skins(m, in, arena);
	append_clips(m, in, arena);
	m->mesh_count += in->mesh_count;
	m->material_count += in->material_count;
	m->image_count += in->image_count;
	m->sampler_count += in->sampler_count;
	m->node_count += in->node_count;
	m->mesh_ref_count += in->mesh_ref_count;
	m->weight_count += in->weight_count;
	m->camera_count += in->camera_count;
	m->light_count += in->light_count;
	m->skin_count += in->skin_count;
	m->clip_count += in->clip_count;
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

/* Scenes of one model may share roots, so room for roots is counted per scene. */
static uint64_t count_roots(const hob_model *const *models, uint32_t model_count)
{
	uint64_t roots = 0;
	for (uint32_t i = 0; i < model_count; i++)
		for (uint32_t s = 0; s < models[i]->scene_count; s++)
			roots += models[i]->scenes[s].root_count;
	return roots;
}

bool hob_model_merge(const hob_model *const *models, uint32_t model_count, hob_arena *arena,
					 hob_arena *scratch, hob_model *out, hob_error *err)
{
	assert(model_count > 0);
	totals_t totals = count(models, model_count);
	totals.roots = count_roots(models, model_count);
	hob_model merged = {.generator = models[0]->generator, .extras = models[0]->extras};
	if (!check_limits(&totals, err))
		return false;
	allocate(&totals, arena, &merged);
	hob_arena_mark mark = hob_arena_save(scratch);
	for (uint32_t i = 0; i < model_count; i++)
		append(&merged, models[i], arena, scratch);
	hob_arena_restore(scratch, mark);
	join_scenes(&merged, models, model_count);
	*out = merged;
	return true;
}
