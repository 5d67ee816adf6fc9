#include "lists.h"

#include "../base/limits.h"
#include "shape.h"
#include "text.h"

#include <assert.h>

void hob_lists_init(hob_lists *lists, const hob_import_request *request)
{
	*lists = (hob_lists){.request = request};
	hob_image_set_init(&lists->images, request);
}

void hob_lists_release(hob_lists *l)
{
	hob_buf *const all[] = {&l->meshes,	   &l->materials, &l->samplers, &l->nodes,
							&l->mesh_refs, &l->cameras,	  &l->lights,	&l->skins};
	for (size_t i = 0; i < HOB_COUNT_OF(all); i++)
		hob_buf_release(all[i]);
	hob_image_set_release(&l->images);
}

static bool add(hob_buf *list, const void *item, size_t size, uint64_t limit, const char *what, uint32_t *id,
				hob_error *err)
{
	*id = (uint32_t)(list->size / size);
	if (*id >= limit)
		return hob_fail(err, LIMIT, "more than %llu %s", (unsigned long long)limit, what);
	hob_buf_put(list, item, size);
	return true;
}

static hob_node new_node(const hob_lists *lists, hob_str name, uint32_t parent)
{
	hob_node node = hob_shape_plain_node(hob_text_name(lists->request->result, name));
	node.parent = parent;
	node.source = HOB_NONE;
	node.mesh_first = HOB_LISTS_COUNT(lists->mesh_refs, uint32_t);
	return node;
}

bool hob_lists_node(hob_lists *lists, hob_str name, uint32_t parent, uint32_t *id, hob_error *err)
{
	hob_node node = new_node(lists, name, parent);
	return add(&lists->nodes, &node, sizeof node, HOB_LIMIT_NODES, "nodes", id, err);
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

bool hob_lists_mesh(hob_lists *lists, const hob_mesh *mesh, uint32_t *id, hob_error *err)
{
	return add(&lists->meshes, mesh, sizeof *mesh, HOB_LIMIT_MESHES, "meshes", id, err);
}

bool hob_lists_show(hob_lists *lists, uint32_t mesh, hob_error *err)
{
	uint32_t ignored, nodes = HOB_LISTS_COUNT(lists->nodes, hob_node);
	if (!add(&lists->mesh_refs, &mesh, sizeof mesh, HOB_LIMIT_NODES, "uses of meshes", &ignored, err))
		return false;
	HOB_LISTS_AT(lists->nodes, hob_node, nodes - 1)->mesh_count++;
	return true;
}

bool hob_lists_material(hob_lists *lists, const hob_material *material, uint32_t *id, hob_error *err)
{
	return add(&lists->materials, material, sizeof *material, HOB_LIMIT_MATERIALS, "materials", id, err);
}

bool hob_lists_sampler(hob_lists *lists, hob_wrap u, hob_wrap v, uint32_t *id, hob_error *err)
{
	hob_sampler sampler = {u, v, HOB_FILTER_LINEAR, HOB_FILTER_LINEAR_MIP_LINEAR};
	for (*id = 0; *id < HOB_LISTS_COUNT(lists->samplers, hob_sampler); ++*id) {
		const hob_sampler *known = HOB_LISTS_AT(lists->samplers, hob_sampler, *id);
		if (known->wrap_u == u && known->wrap_v == v)
			return true;
	}
	return add(&lists->samplers, &sampler, sizeof sampler, HOB_LIMIT_IMAGES, "samplers", id, err);
}

void hob_lists_take(hob_lists *l, hob_model *m)
{
	hob_arena *arena = l->request->result;
	const struct {
		const hob_buf *from;
		size_t size;
		void **to;
		uint32_t *count;
	} lists[] = {
		{&l->meshes, sizeof(hob_mesh), (void **)&m->meshes, &m->mesh_count},
		{&l->materials, sizeof(hob_material), (void **)&m->materials, &m->material_count},
		{&l->samplers, sizeof(hob_sampler), (void **)&m->samplers, &m->sampler_count},
		{&l->nodes, sizeof(hob_node), (void **)&m->nodes, &m->node_count},
		{&l->mesh_refs, sizeof(uint32_t), (void **)&m->mesh_refs, &m->mesh_ref_count},
		{&l->cameras, sizeof(hob_camera), (void **)&m->cameras, &m->camera_count},
		{&l->lights, sizeof(hob_light), (void **)&m->lights, &m->light_count},
		{&l->skins, sizeof(hob_skin), (void **)&m->skins, &m->skin_count},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(lists); i++) {
		const hob_buf *from = lists[i].from;
		*lists[i].count = (uint32_t)(from->size / lists[i].size);
		*lists[i].to = hob_arena_alloc(arena, from->size, 16);
		if (from->size > 0)
			memcpy(*lists[i].to, from->data, from->size);
	}
	hob_image_set_take(&l->images, m);
	hob_model_one_scene(m, arena);
}
