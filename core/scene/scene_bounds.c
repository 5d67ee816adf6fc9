#include "flatten.h"

#include "../model/properties.h"

#include <float.h>

static void clear(float box[6])
{
	for (int k = 0; k < 3; k++)
		box[k] = FLT_MAX, box[3 + k] = -FLT_MAX;
}

static void add(float box[6], const float other[6])
{
	for (int k = 0; k < 3; k++) {
		box[k] = other[k] < box[k] ? other[k] : box[k];
		box[3 + k] = other[3 + k] > box[3 + k] ? other[3 + k] : box[3 + k];
	}
}

static float to_float(double value)
{
	return value > (double)FLT_MAX ? FLT_MAX : value < -(double)FLT_MAX ? -FLT_MAX : (float)value;
}

void hob_box_transform(const float box[6], const float matrix[16], float out[6])
{
	clear(out);
	if (box[0] > box[3])
		return;
	for (int row = 0; row < 3; row++) {
		double low = (double)matrix[12 + row], high = low, size = low < 0 ? -low : low;
		for (int column = 0; column < 3; column++) {
			double a = (double)matrix[4 * column + row] * (double)box[column];
			double b = (double)matrix[4 * column + row] * (double)box[3 + column];
			low += a < b ? a : b;
			high += a < b ? b : a;
			size += (a < 0 ? -a : a) + (b < 0 ? -b : b);
		}
		/* Largest error of a vertex that a reader transforms in float. */
		double slack = size * 2 * (double)FLT_EPSILON;
		out[row] = to_float(low - slack);
		out[3 + row] = to_float(high + slack);
	}
}

static bool holds_vertices(const hob_baked_mesh *mesh)
{
	return mesh->mesh.vertex_count > 0;
}

/* A joint maps the bounds of its vertices to a box; a blended vertex lies in the union of all. */
static void skinned_box(const hob_baked_mesh *baked, const hob_skin *skin, const hob_baked_scene *scene,
						float out[6], hob_arena *scratch)
{
	const hob_mesh *mesh = &baked->mesh;
	float(*boxes)[6] = hob_arena_array(scratch, skin->joint_count, sizeof *boxes, 4);
	for (uint32_t j = 0; j < skin->joint_count; j++)
		clear(boxes[j]);
	for (size_t v = 0; v < mesh->vertex_count; v++) {
		const float *p = mesh->position + 3 * v;
		float point[6] = {p[0], p[1], p[2], p[0], p[1], p[2]};
		for (uint32_t i = 0; i < mesh->influence_count; i++) {
			uint16_t joint = mesh->joints[v * mesh->influence_count + i];
			if (mesh->weights[v * mesh->influence_count + i] > 0 && joint < skin->joint_count)
				add(boxes[joint], point);
		}
	}
	clear(out);
	for (uint32_t j = 0; j < skin->joint_count; j++) {
		float pose[16], box[6];
		const float *global = scene->global + 16 * (size_t)scene->node_of_model[skin->joints[j]];
		hob_matrix_multiply(global, skin->inverse_bind + 16 * (size_t)j, pose);
		hob_box_transform(boxes[j], pose, box);
		add(out, box);
	}
}

static uint32_t skin_at(const hob_baked_scene *scene, uint32_t node, uint32_t *cursor)
{
	const hob_baked_links *links = &scene->skin_links;
	while (*cursor < links->count && links->items[*cursor].node < node)
		++*cursor;
	return *cursor < links->count && links->items[*cursor].node == node ? links->items[*cursor].value
																		: HOB_NONE;
}

/* Marks the baked nodes that are never drawn: [scene->node_count]. */
static bool *find_unseen(const hob_model *model, const hob_baked_scene *scene, hob_arena *scratch)
{
	bool *unseen = HOB_NEW(scratch, bool, model->node_count),
		 *baked = HOB_NEW(scratch, bool, scene->node_count);
	hob_model_unseen_nodes(model, unseen);
	for (uint32_t n = 0; n < model->node_count; n++)
		memset(baked + scene->node_of_model[n], unseen[n], 1 + (size_t)model->nodes[n].mesh_count);
	return baked;
}

static void mesh_boxes(const hob_model *model, const hob_baked_mesh *meshes, hob_baked_scene *scene,
					   hob_arena *scratch)
{
	uint32_t cursor = 0;
	const bool *unseen = find_unseen(model, scene, scratch);
	for (uint32_t i = 0; i < scene->mesh_links.count; i++) {
		hob_baked_link link = scene->mesh_links.items[i];
		const hob_baked_mesh *mesh = &meshes[link.value];
		float *box = scene->aabb + 6 * (size_t)link.node;
		if (!holds_vertices(mesh) || unseen[link.node])
			continue;
		uint32_t skin = skin_at(scene, (uint32_t)scene->hierarchy[link.node].parent, &cursor);
		if (skin != HOB_NONE && mesh->mesh.influence_count > 0) {
			hob_arena_mark mark = hob_arena_save(scratch);
			skinned_box(mesh, &model->skins[skin], scene, box, scratch);
			hob_arena_restore(scratch, mark);
			continue;
		}
		float local[6];
		memcpy(local, mesh->aabb_min, 12);
		memcpy(local + 3, mesh->aabb_max, 12);
		hob_box_transform(local, scene->global + 16 * (size_t)link.node, box);
	}
}

void hob_scene_bounds(const hob_model *model, const hob_baked_mesh *meshes, hob_baked_scene *scene,
					  hob_arena *scratch)
{
	for (size_t i = 0; i < scene->node_count; i++)
		clear(scene->aabb + 6 * i);
	hob_arena_mark mark = hob_arena_save(scratch);
	if (meshes)
		mesh_boxes(model, meshes, scene, scratch);
	hob_arena_restore(scratch, mark);
	/* Children come after their parent, so one pass from the end collects whole subtrees. */
	for (uint32_t i = scene->node_count; i-- > 0;)
		if (scene->hierarchy[i].parent >= 0)
			add(scene->aabb + 6 * (size_t)scene->hierarchy[i].parent, scene->aabb + 6 * (size_t)i);
}
