#include "lists.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "shape.h"
#include "text.h"

#include <assert.h>

void hob_lists_init(hob_lists *lists, const hob_import_request *request)
{
	*lists = (hob_lists){.request = request};
	hob_image_set_init(&lists->images, request);
}

void hob_lists_free(hob_buf *const *lists)
{
	while (*lists)
		hob_buf_release(*lists++);
}

static uint32_t add(hob_buf *list, const void *item, size_t size, uint64_t limit, const char *what)
{
	uint32_t id = (uint32_t)(list->size / size);
	if (id >= limit)
		hob_leave(LIMIT, "more than %llu %s", (unsigned long long)limit, what);
	hob_buf_put(list, item, size);
	return id;
}

static hob_node new_node(const hob_lists *lists, hob_str name, uint32_t parent)
{
	hob_node node = hob_shape_plain_node(hob_text_name(lists->request->result, name));
	node.parent = parent;
	node.source = HOB_NONE;
	node.mesh_first = HOB_LISTS_COUNT(lists->mesh_refs, uint32_t);
	return node;
}

uint32_t hob_lists_node(hob_lists *lists, hob_str name, uint32_t parent)
{
	hob_node node = new_node(lists, name, parent);
	return add(&lists->nodes, &node, sizeof node, HOB_LIMIT_NODES, "nodes");
}

uint32_t hob_lists_z_up(hob_lists *lists, hob_model *model)
{
	hob_node root = new_node(lists, HOB_STR(""), HOB_NONE);
	assert(lists->nodes.size == 0);
	hob_up_axis_turn(HOB_UP_Z, root.rotation);
	memcpy(model->space.turn, root.rotation, sizeof root.rotation);
	hob_buf_put(&lists->nodes, &root, sizeof root);
	return 0;
}

void hob_lists_place(hob_lists *lists, uint32_t node, const float matrix[16])
{
	hob_node *to = HOB_LISTS_AT(lists->nodes, hob_node, node);
	for (int i = 0; i < 16; i++)
		if (!(matrix[i] > -1e15f && matrix[i] < 1e15f))
			return;
	memcpy(to->matrix, matrix, sizeof to->matrix);
	to->has_matrix = !hob_matrix_decompose(matrix, to->translation, to->rotation, to->scale);
}

uint32_t hob_lists_mesh(hob_lists *lists, const hob_mesh *mesh)
{
	return add(&lists->meshes, mesh, sizeof *mesh, HOB_LIMIT_MESHES, "meshes");
}

void hob_lists_show(hob_lists *lists, uint32_t mesh)
{
	add(&lists->mesh_refs, &mesh, sizeof mesh, HOB_LIMIT_NODES, "uses of meshes");
	HOB_LISTS_AT(lists->nodes, hob_node, HOB_LISTS_COUNT(lists->nodes, hob_node) - 1)->mesh_count++;
}

uint32_t hob_lists_material(hob_lists *lists, const hob_material *material)
{
	return add(&lists->materials, material, sizeof *material, HOB_LIMIT_MATERIALS, "materials");
}

uint32_t hob_lists_sampler(hob_lists *lists, hob_sampler sampler)
{
	uint32_t count = HOB_LISTS_COUNT(lists->samplers, hob_sampler);
	for (uint32_t id = 0; id < count; id++)
		if (memcmp(HOB_LISTS_AT(lists->samplers, hob_sampler, id), &sampler, sizeof sampler) == 0)
			return id;
	return add(&lists->samplers, &sampler, sizeof sampler, HOB_LIMIT_IMAGES, "samplers");
}

void *hob_lists_array(hob_arena *arena, const hob_buf *list, size_t size, uint32_t *count)
{
	void *out = hob_arena_alloc(arena, list->size, 16);
	*count = (uint32_t)(list->size / size);
	if (list->size > 0)
		memcpy(out, list->data, list->size);
	return out;
}

void hob_lists_take(hob_lists *l, hob_model *m)
{
	hob_arena *arena = l->request->result;
	m->meshes = hob_lists_array(arena, &l->meshes, sizeof(hob_mesh), &m->mesh_count);
	m->materials = hob_lists_array(arena, &l->materials, sizeof(hob_material), &m->material_count);
	m->samplers = hob_lists_array(arena, &l->samplers, sizeof(hob_sampler), &m->sampler_count);
	m->nodes = hob_lists_array(arena, &l->nodes, sizeof(hob_node), &m->node_count);
	m->mesh_refs = hob_lists_array(arena, &l->mesh_refs, sizeof(uint32_t), &m->mesh_ref_count);
	m->cameras = hob_lists_array(arena, &l->cameras, sizeof(hob_camera), &m->camera_count);
	m->lights = hob_lists_array(arena, &l->lights, sizeof(hob_light), &m->light_count);
	m->skins = hob_lists_array(arena, &l->skins, sizeof(hob_skin), &m->skin_count);
	hob_image_set_take(&l->images, m);
	hob_model_one_scene(m, arena);
}
