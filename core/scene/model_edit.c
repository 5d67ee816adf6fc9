#include "model_edit.h"
#include "../base/arena_drop.h"
#include "../base/guard.h"
#include "../model/properties.h"

static uint32_t through(const uint32_t *to, uint32_t id)
{
	return id == HOB_NONE ? HOB_NONE : to[id];
}

/* to[old] = new id, or HOB_NONE for deleted nodes. Parents come first, so one pass reaches all
 * descendants. */
static uint32_t number_nodes(const hob_model *model, const bool *doomed, uint32_t *to)
{
	uint32_t kept = 0;
	for (uint32_t n = 0; n < model->node_count; n++) {
		uint32_t parent = model->nodes[n].parent;
		bool gone = doomed[n] || (parent != HOB_NONE && to[parent] == HOB_NONE);
		to[n] = gone ? HOB_NONE : kept++;
	}
	return kept;
}

static void check_skins(const hob_model *model, const uint32_t *to)
{
	for (uint32_t n = 0; n < model->node_count; n++) {
		uint32_t id = model->nodes[n].skin;
		if (to[n] == HOB_NONE || id == HOB_NONE)
			continue;
		const hob_skin *skin = &model->skins[id];
		for (uint32_t j = 0; j < skin->joint_count; j++)
			if (to[skin->joints[j]] == HOB_NONE)
				hob_leave(CONFIG, "node '%.*s' is a joint of skin '%.*s', which node '%.*s' uses",
						  HOB_FMT(model->nodes[skin->joints[j]].name), HOB_FMT(skin->name),
						  HOB_FMT(model->nodes[n].name));
	}
}

typedef struct edit {
	hob_node *nodes;
	hob_scene *scenes;
	uint32_t *roots, root_count;
	hob_skin *skins;
	hob_clip *clips;
} edit_t;

static void edit_nodes(const hob_model *m, const uint32_t *to, edit_t *e)
{
	for (uint32_t n = 0; n < m->node_count; n++) {
		if (to[n] == HOB_NONE)
			continue;
		e->nodes[to[n]] = m->nodes[n];
		e->nodes[to[n]].parent = through(to, m->nodes[n].parent);
	}
	for (uint32_t s = 0; s < m->scene_count; s++) {
		hob_scene scene = m->scenes[s];
		uint32_t first = e->root_count;
		for (uint32_t r = 0; r < scene.root_count; r++) {
			uint32_t root = to[m->scene_roots[scene.root_first + r]];
			if (root != HOB_NONE)
				e->roots[e->root_count++] = root;
		}
		e->scenes[s] = (hob_scene){scene.name, first, e->root_count - first, scene.extras};
	}
}

/* Renumbers joints. An unused skin that lost joints keeps its id, with no joints. */
static void edit_skins(const hob_model *m, const uint32_t *to, hob_arena *arena, edit_t *e)
{
	for (uint32_t s = 0; s < m->skin_count; s++) {
		hob_skin *skin = &e->skins[s];
		*skin = m->skins[s];
		skin->root = through(to, skin->root);
		skin->joints = HOB_NEW(arena, uint32_t, skin->joint_count);
		bool whole = true;
		for (uint32_t j = 0; j < skin->joint_count; j++) {
			skin->joints[j] = to[m->skins[s].joints[j]];
			whole = whole && skin->joints[j] != HOB_NONE;
		}
		skin->joint_count = whole ? skin->joint_count : 0;
	}
}

static void edit_clips(const hob_model *m, const uint32_t *to, hob_arena *arena, edit_t *e)
{
	for (uint32_t i = 0; i < m->clip_count; i++) {
		hob_clip *clip = &e->clips[i];
		*clip = m->clips[i];
		clip->channels = HOB_NEW(arena, hob_channel, clip->channel_count);
		clip->properties = HOB_NEW(arena, hob_property_channel, clip->property_count);
		uint32_t kept = 0;
		for (uint32_t c = 0; c < clip->channel_count; c++) {
			hob_channel channel = m->clips[i].channels[c];
			channel.node = to[channel.node];
			if (channel.node != HOB_NONE)
				clip->channels[kept++] = channel;
		}
		clip->channel_count = kept;
		kept = 0;
		for (uint32_t c = 0; c < clip->property_count; c++) {
			hob_property_channel channel = m->clips[i].properties[c];
			if (channel.property == HOB_PROPERTY_NODE_VISIBLE)
				channel.index = to[channel.index];
			if (channel.index != HOB_NONE)
				clip->properties[kept++] = channel;
		}
		clip->property_count = kept;
	}
}

void hob_model_delete_nodes(hob_model *model, const bool *doomed, hob_arena *arena, hob_arena *scratch)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	uint32_t *to = HOB_NEW(scratch, uint32_t, model->node_count);
	uint32_t kept = number_nodes(model, doomed, to);
	check_skins(model, to);
	edit_t e = {.nodes = HOB_NEW(arena, hob_node, kept),
				.scenes = HOB_NEW(arena, hob_scene, model->scene_count),
				.roots = HOB_NEW(arena, uint32_t, model->scene_root_count),
				.skins = HOB_NEW(arena, hob_skin, model->skin_count),
				.clips = HOB_NEW(arena, hob_clip, model->clip_count)};
	edit_skins(model, to, arena, &e);
	edit_clips(model, to, arena, &e);
	edit_nodes(model, to, &e);
	model->nodes = e.nodes, model->node_count = kept;
	model->scenes = e.scenes;
	model->scene_roots = e.roots, model->scene_root_count = e.root_count;
	model->skins = e.skins;
	model->clips = e.clips;
	hob_arena_restore(scratch, mark);
}

void hob_model_delete_meshes(hob_model *model, const bool *doomed, hob_arena *arena, hob_arena *scratch)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	bool *used = HOB_NEW(scratch, bool, model->mesh_count);
	uint32_t *to = HOB_NEW(scratch, uint32_t, model->mesh_count), kept = 0;
	hob_mesh *meshes = HOB_NEW(arena, hob_mesh, model->mesh_count);
	uint32_t *refs = HOB_NEW(arena, uint32_t, model->mesh_ref_count);
	for (uint32_t r = 0; r < model->mesh_ref_count; r++)
		used[model->mesh_refs[r]] = true;
	for (uint32_t m = 0; m < model->mesh_count; m++) {
		to[m] = doomed[m] && !used[m] ? HOB_NONE : kept;
		if (to[m] != HOB_NONE)
			meshes[kept++] = model->meshes[m];
	}
	for (uint32_t r = 0; r < model->mesh_ref_count; r++)
		refs[r] = to[model->mesh_refs[r]];
	model->meshes = meshes, model->mesh_count = kept;
	model->mesh_refs = refs;
	hob_arena_restore(scratch, mark);
}

static uint32_t uv_sets_used(const hob_model *model, uint32_t material)
{
	uint32_t sets = 0;
	for (uint32_t s = 0; material != HOB_NONE && s < HOB_SLOT_COUNT; s++) {
		const hob_texture_ref *ref = &model->materials[material].slots[s];
		if (ref->image != HOB_NONE && ref->uv_set >= sets)
			sets = ref->uv_set + 1;
	}
	return sets;
}

void hob_model_drop_unused_uvs(hob_model *model)
{
	for (uint32_t i = 0; i < model->mesh_count; i++) {
		hob_mesh *mesh = &model->meshes[i];
		uint32_t keep = uv_sets_used(model, mesh->material);
		for (uint32_t m = 0; m < mesh->mapping_count; m++) {
			uint32_t other = uv_sets_used(model, mesh->mappings[m].material);
			keep = other > keep ? other : keep;
		}
		for (uint32_t set = keep; set < HOB_UV_SETS; set++)
			mesh->uv[set] = NULL;
	}
}

static bool keeps_geometry(const hob_model *model)
{
	for (uint32_t i = 0; i < model->mesh_count; i++)
		if (model->meshes[i].influence_count > 0 || model->meshes[i].target_count > 0)
			return true;
	return false;
}

static size_t at_least(size_t size, const void *array, size_t least)
{
	return array && size >= least ? size : 0;
}

size_t hob_model_geometry_size(const hob_model *model, size_t least)
{
	size_t size = 0;
	for (uint32_t i = 0; i < model->mesh_count && !keeps_geometry(model); i++) {
		const hob_mesh *mesh = &model->meshes[i];
		size_t count = mesh->vertex_count;
		size += at_least(12 * count, mesh->position, least) + at_least(12 * count, mesh->normal, least) +
				at_least(16 * count, mesh->tangent, least) +
				at_least(4 * (size_t)mesh->index_count, mesh->indices, least);
		for (int set = 0; set < HOB_UV_SETS; set++)
			size += at_least(8 * count, mesh->uv[set], least);
		for (int set = 0; set < HOB_COLOR_SETS; set++)
			size += at_least(16 * count, mesh->color[set], least);
	}
	return size;
}

size_t hob_model_drop_geometry(hob_model *model, hob_arena *arena)
{
	size_t dropped = 0;
	if (keeps_geometry(model))
		return 0;
	for (uint32_t i = 0; i < model->mesh_count; i++) {
		hob_mesh *mesh = &model->meshes[i];
		dropped += hob_arena_drop(arena, mesh->position) + hob_arena_drop(arena, mesh->normal) +
				   hob_arena_drop(arena, mesh->tangent) + hob_arena_drop(arena, mesh->indices);
		for (int set = 0; set < HOB_UV_SETS; set++)
			dropped += hob_arena_drop(arena, mesh->uv[set]);
		for (int set = 0; set < HOB_COLOR_SETS; set++)
			dropped += hob_arena_drop(arena, mesh->color[set]);
		mesh->position = mesh->normal = mesh->tangent = NULL;
		mesh->indices = NULL;
		mesh->vertex_count = mesh->index_count = 0;
		memset(mesh->uv, 0, sizeof mesh->uv);
		memset(mesh->color, 0, sizeof mesh->color);
	}
	return dropped;
}
