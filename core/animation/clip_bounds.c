#include "clip_bounds.h"
#include "clip_pose.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef hob_skin_box box_t;
typedef hob_joint_box joint_box_t;
typedef hob_skin_mesh skin_mesh_t;

static const box_t empty_box = {{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}};

static void add_point(box_t *box, const float p[3])
{
	for (int i = 0; i < 3; i++) {
		box->min[i] = p[i] < box->min[i] ? p[i] : box->min[i];
		box->max[i] = p[i] > box->max[i] ? p[i] : box->max[i];
	}
}

static void add_box(box_t *box, const box_t *other)
{
	for (int i = 0; i < 3; i++) {
		box->min[i] = other->min[i] < box->min[i] ? other->min[i] : box->min[i];
		box->max[i] = other->max[i] > box->max[i] ? other->max[i] : box->max[i];
	}
}

static bool is_empty(const box_t *box)
{
	return box->min[0] > box->max[0];
}

/* ---- gathering */

static void box_joints(skin_mesh_t *part, hob_arena *scratch)
{
	const hob_mesh *mesh = part->mesh;
	const hob_skin *skin = part->skin;
	part->joints = HOB_NEW(scratch, joint_box_t, skin->joint_count);
	part->targets = HOB_NEW(scratch, box_t, mesh->target_count);
	for (uint32_t i = 0; i < skin->joint_count; i++)
		part->joints[i] = (joint_box_t){i, empty_box};
	uint32_t n = mesh->influence_count;
	for (size_t v = 0; v < mesh->vertex_count; v++) {
		bool weighted = false;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t joint = mesh->joints[v * n + i];
			if (mesh->weights[v * n + i] > 0 && joint < skin->joint_count) {
				add_point(&part->joints[joint].box, mesh->position + v * 3);
				weighted = true;
			}
		}
		if (!weighted && n > 0 && mesh->joints[v * n] < skin->joint_count)
			add_point(&part->joints[mesh->joints[v * n]].box, mesh->position + v * 3);
	}
	for (uint32_t i = 0; i < skin->joint_count; i++)
		if (!is_empty(&part->joints[i].box))
			part->joints[part->joint_count++] = part->joints[i];
	for (uint32_t t = 0; t < mesh->target_count; t++)
		for (size_t v = 0; mesh->targets[t].position && v < mesh->vertex_count; v++)
			add_point(&part->targets[t], mesh->targets[t].position + v * 3);
}

/* Marks joints and ancestors, then lists them in the model's order, parents first. */
static void list_nodes(hob_skin_boxes *boxes, hob_arena *scratch)
{
	const hob_model *model = boxes->model;
	boxes->place = HOB_NEW(scratch, uint32_t, model->node_count);
	for (uint32_t m = 0; m < boxes->mesh_count; m++) {
		const skin_mesh_t *part = &boxes->meshes[m];
		for (uint32_t j = 0; j < part->joint_count; j++) {
			uint32_t node = part->skin->joints[part->joints[j].joint];
			for (; node != HOB_NONE && !boxes->place[node]; node = model->nodes[node].parent)
				boxes->place[node] = 1;
		}
	}
	for (uint32_t i = 0; i < model->node_count; i++)
		boxes->node_count += boxes->place[i];
	boxes->nodes = HOB_NEW(scratch, uint32_t, boxes->node_count);
	uint32_t count = 0;
	for (uint32_t i = 0; i < model->node_count; i++) {
		bool used = boxes->place[i];
		boxes->place[i] = used ? count : HOB_NONE;
		if (used)
			boxes->nodes[count++] = i;
	}
}

hob_skin_boxes hob_skin_boxes_of(const hob_model *model, hob_arena *scratch)
{
	hob_skin_boxes boxes = {.model = model};
	uint32_t count = 0;
	for (uint32_t i = 0; i < model->node_count; i++)
		count += model->nodes[i].skin != HOB_NONE ? model->nodes[i].mesh_count : 0;
	boxes.meshes = HOB_NEW(scratch, skin_mesh_t, count);
	for (uint32_t i = 0; i < model->node_count; i++) {
		const hob_node *node = &model->nodes[i];
		for (uint32_t k = 0; node->skin != HOB_NONE && k < node->mesh_count; k++) {
			const hob_mesh *mesh = &model->meshes[model->mesh_refs[node->mesh_first + k]];
			if (mesh->influence_count == 0)
				continue;
			skin_mesh_t *part = &boxes.meshes[boxes.mesh_count++];
			*part = (skin_mesh_t){.node = i, .mesh = mesh, .skin = &model->skins[node->skin]};
			box_joints(part, scratch);
		}
	}
	list_nodes(&boxes, scratch);
	return boxes;
}

/* ---- sample times */

static int compare_times(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

typedef struct instants {
	float *at;
	uint32_t count;
} instants_t;

static instants_t even_instants(float start, float end, uint32_t count, hob_arena *scratch)
{
	instants_t out = {HOB_NEW(scratch, float, count), count};
	for (uint32_t i = 0; i < count; i++)
		out.at[i] = (float)(start + ((double)end - start) * i / (count > 1 ? count - 1 : 1));
	return out;
}

/* Gathers every key time, and for STEP tracks the time just before it, which still has the older value. */
static uint32_t gather_keys(const hob_clip *clip, float *at)
{
	uint32_t count = 0;
	for (uint32_t t = 0; t < clip->track_count; t++) {
		const hob_track *track = &clip->tracks[t];
		for (uint32_t k = 0; k < track->key_count; k++) {
			if (at)
				at[count] = track->times[k];
			count++;
			if (track->interpolation == HOB_STEP && k > 0) {
				if (at)
					at[count] = nextafterf(track->times[k], -FLT_MAX);
				count++;
			}
		}
	}
	if (!at)
		return count;
	qsort(at, count, sizeof *at, compare_times);
	uint32_t unique = 0;
	for (uint32_t i = 0; i < count; i++)
		if (unique == 0 || at[i] != at[unique - 1])
			at[unique++] = at[i];
	return unique;
}

static uint32_t pieces(float from, float to)
{
	double wanted = ceil(((double)to - from) * 30);
	return wanted > HOB_CLIP_SAMPLES ? HOB_CLIP_SAMPLES : wanted > 1 ? (uint32_t)wanted : 1;
}

static instants_t choose_instants(const hob_clip *clip, float start, float end, hob_arena *scratch)
{
	enum { GATHER_LIMIT = 65536 };
	uint64_t keys = 0;
	for (uint32_t t = 0; t < clip->track_count; t++)
		keys += (uint64_t)clip->tracks[t].key_count * 2;
	if (keys > GATHER_LIMIT)
		return even_instants(start, end, HOB_CLIP_SAMPLES, scratch);
	float *at = HOB_NEW(scratch, float, keys);
	uint32_t count = gather_keys(clip, at);
	uint64_t total = 1;
	for (uint32_t i = 1; i < count; i++)
		total += pieces(at[i - 1], at[i]);
	if (total > HOB_CLIP_SAMPLES)
		return even_instants(start, end, HOB_CLIP_SAMPLES, scratch);
	instants_t out = {HOB_NEW(scratch, float, total), 0};
	for (uint32_t i = 1; i < count; i++) {
		uint32_t n = pieces(at[i - 1], at[i]);
		for (uint32_t k = 0; k < n; k++)
			out.at[out.count++] = (float)(at[i - 1] + ((double)at[i] - at[i - 1]) * k / n);
	}
	out.at[out.count++] = count > 0 ? at[count - 1] : start;
	return out;
}

/* ---- sampling */

static box_t morph_box(hob_clip_pose *pose, const skin_mesh_t *part, float time)
{
	uint32_t count = part->mesh->target_count;
	hob_clip_pose_weights(pose, part->node, part->mesh, time);
	box_t sum = {{0}, {0}};
	for (uint32_t t = 0; t < count; t++)
		for (int i = 0; i < 3; i++) {
			float a = pose->weights[t] * part->targets[t].min[i],
				  b = pose->weights[t] * part->targets[t].max[i];
			sum.min[i] += a < b ? a : b;
			sum.max[i] += a < b ? b : a;
		}
	return sum;
}

static void add_moved_box(box_t *out, const float matrix[16], const box_t *box)
{
	box_t moved;
	for (int row = 0; row < 3; row++) {
		float low = matrix[12 + row], high = low;
		for (int column = 0; column < 3; column++) {
			float a = matrix[column * 4 + row] * box->min[column];
			float b = matrix[column * 4 + row] * box->max[column];
			low += a < b ? a : b;
			high += a < b ? b : a;
		}
		moved.min[row] = low;
		moved.max[row] = high;
	}
	add_box(out, &moved);
}

static box_t box_at(hob_clip_pose *pose, float time)
{
	const hob_skin_boxes *boxes = pose->boxes;
	box_t all = empty_box;
	hob_clip_pose_at(pose, time);
	for (uint32_t m = 0; m < boxes->mesh_count; m++) {
		const skin_mesh_t *part = &boxes->meshes[m];
		box_t morph = morph_box(pose, part, time);
		for (uint32_t j = 0; j < part->joint_count; j++) {
			const joint_box_t *joint = &part->joints[j];
			box_t box = joint->box;
			for (int i = 0; i < 3; i++) {
				box.min[i] += morph.min[i];
				box.max[i] += morph.max[i];
			}
			float matrix[16];
			uint32_t place = boxes->place[part->skin->joints[joint->joint]];
			hob_matrix_multiply(pose->global + (size_t)place * 16,
								part->skin->inverse_bind + (size_t)joint->joint * 16, matrix);
			add_moved_box(&all, matrix, &box);
		}
	}
	return all;
}

static box_t bounds_over(hob_clip_pose *pose, float start, float end, hob_arena *scratch)
{
	instants_t instants = choose_instants(pose->clip, start, end, scratch);
	float pad[6] = {0};
	box_t before = box_at(pose, instants.at[0]), all = before;
	for (uint32_t i = 1; i < instants.count; i++) {
		box_t middle = box_at(pose, (instants.at[i - 1] + instants.at[i]) / 2);
		box_t after = box_at(pose, instants.at[i]);
		for (int k = 0; k < 3; k++) {
			float low = before.min[k] + after.min[k] - 2 * middle.min[k];
			float high = 2 * middle.max[k] - before.max[k] - after.max[k];
			pad[k] = low > pad[k] ? low : pad[k];
			pad[3 + k] = high > pad[3 + k] ? high : pad[3 + k];
		}
		add_box(&all, &middle);
		add_box(&all, &after);
		before = after;
	}
	for (int k = 0; k < 3 && !is_empty(&all); k++) {
		all.min[k] -= pad[k] / 4;
		all.max[k] += pad[3 + k] / 4;
	}
	return all;
}

void hob_clip_bounds(const hob_skin_boxes *boxes, const hob_clip *clip, float start, float end,
					 hob_arena *scratch, float out[6])
{
	box_t all = empty_box;
	if (boxes->mesh_count > 0) {
		hob_arena_mark mark = hob_arena_save(scratch);
		hob_clip_pose pose = hob_clip_pose_of(boxes, clip, scratch);
		all = bounds_over(&pose, start, end, scratch);
		hob_arena_restore(scratch, mark);
	}
	memcpy(out, all.min, sizeof all.min);
	memcpy(out + 3, all.max, sizeof all.max);
}
