#include "usd_skel.h"

#include <math.h>

typedef struct animation {
	hob_usd_build_t *b;
	const hob_usd_prim *prim;
	const hob_usd_value *joints;
	const hob_usd_skeleton *skeleton;
	hob_error *err;
} animation_t;

/* Sets the node's rest value. */
static void set_rest(hob_node *node, hob_path path, const float *value)
{
	float *to = path == HOB_PATH_TRANSLATION ? node->translation
				: path == HOB_PATH_ROTATION	 ? node->rotation
											 : node->scale;
	memcpy(to, value, (path == HOB_PATH_ROTATION ? 4 : 3) * sizeof *value);
	hob_node plain = *node;
	plain.has_matrix = false;
	hob_node_local_matrix(&plain, node->matrix);
	node->has_matrix = false;
}

static bool read_joint(const hob_usd_value *value, uint32_t width, size_t joint, float *out)
{
	double length = 0;
	if (!value || value->width != width || joint >= value->count)
		return false;
	for (uint32_t k = 0; k < width; k++) {
		out[k] = (float)hob_usd_component(value, joint * width + k);
		if (!isfinite(out[k]))
			return false;
		length += (double)out[k] * (double)out[k];
	}
	for (uint32_t k = 0; width == 4 && k < 4; k++)
		out[k] = length > 0 ? (float)((double)out[k] / sqrt(length)) : (float)(k == 3);
	return true;
}

/* Makes the track of one joint from samples that contain the values of all joints. */
static bool joint_track(const animation_t *a, const hob_usd_attribute *attribute, hob_path path, size_t at,
						uint32_t node)
{
	const hob_usd_samples *s = attribute->samples;
	uint32_t width = path == HOB_PATH_ROTATION ? 4 : 3, kept = 0;
	hob_track *track;
	float value[4];
	hob_node *to = &a->b->model.nodes[node];
	if (!s) {
		if (read_joint(attribute->value, width, at, value))
			set_rest(to, path, value);
		return true;
	}
	if (!hob_usd_add_channel(a->b, node, path, width, s->count, &track, a->err))
		return false;
	for (size_t k = 0; k < s->count; k++) {
		/* The layer's time may run backwards. */
		size_t i = attribute->scale < 0 ? s->count - 1 - k : k;
		if (!read_joint(&s->values[i], width, at, value))
			continue;
		track->times[kept] = hob_usd_seconds(a->b->u, attribute->offset + attribute->scale * s->times[i]);
		memcpy(track->values + (size_t)kept++ * width, value, width * sizeof *value);
	}
	track->key_count = kept;
	const float *rest = path == HOB_PATH_TRANSLATION ? to->translation
						: path == HOB_PATH_ROTATION	 ? to->rotation
													 : to->scale;
	hob_usd_drop_still(a->b, rest);
	return true;
}

static bool move_joints(const animation_t *a)
{
	static const char *const names[] = {"translations", "rotations", "scales"};
	for (uint32_t path = 0; path < 3; path++) {
		hob_usd_attribute attribute;
		if (!hob_usd_get(a->b->u, a->prim, hob_str_of(names[path]), &attribute))
			continue;
		for (size_t i = 0; i < a->joints->count; i++) {
			uint32_t joint = hob_name_map_get(&a->skeleton->by_name, ((const hob_str *)a->joints->data)[i]);
			if (joint != HOB_NONE &&
				!joint_track(a, &attribute, (hob_path)path, i, a->skeleton->nodes[joint]))
				return false;
		}
	}
	return true;
}

/* ---- blend shapes */

static size_t shape_in(const hob_usd_value *names, hob_str name)
{
	for (size_t i = 0; i < names->count; i++)
		if (hob_str_equal(((const hob_str *)names->data)[i], name))
			return i;
	return SIZE_MAX;
}

/* Sets the rest weights of the mesh: the only sample, or the first in time. */
static bool rest_weights(const animation_t *a, const hob_usd_value *names, uint32_t node)
{
	hob_usd_build_t *b = a->b;
	hob_model *m = &b->model;
	const hob_mesh *mesh = &m->meshes[m->mesh_refs[m->nodes[node].mesh_first]];
	const hob_usd_value *weights = hob_usd_still(b->u, a->prim, HOB_STR("blendShapeWeights"));
	uint32_t first = m->weight_count;
	bool any = false;
	for (uint32_t t = 0; weights && t < mesh->target_count; t++) {
		size_t at = shape_in(names, hob_usd_shape_of(b, &mesh->targets[t]));
		double weight =
			at < weights->count ? hob_usd_target_weight(b, mesh, t, hob_usd_component(weights, at)) : 0;
		m->weights = (float *)hob_usd_more(b->u->scratch, m->weights, m->weight_count, &b->weight_room,
										   sizeof *m->weights);
		if (!m->weights)
			return hob_fail_memory(a->err, b->u->scratch, "blend shapes");
		m->weights[m->weight_count++] = isfinite(weight) ? (float)weight : 0;
		any = any || m->weights[m->weight_count - 1] != 0;
	}
	if (any) {
		m->nodes[node].weight_first = first;
		m->nodes[node].weight_count = mesh->target_count;
	} else {
		m->weight_count = first;
	}
	return true;
}

/* Interpolates between sample `at` and the next. */
static double weight_at(const hob_usd_samples *s, size_t at, size_t column, double time)
{
	double from = hob_usd_component(&s->values[at], column);
	if (at + 1 >= s->count || !(s->times[at + 1] > s->times[at]))
		return from;
	double part = (time - s->times[at]) / (s->times[at + 1] - s->times[at]);
	return from + (hob_usd_component(&s->values[at + 1], column) - from) * (part < 0   ? 0
																			: part > 1 ? 1
																					   : part);
}

static bool weight_track(const animation_t *a, const hob_usd_value *names, const hob_usd_attribute *weights,
						 uint32_t node)
{
	hob_model *m = &a->b->model;
	hob_mesh *mesh = &m->meshes[m->mesh_refs[m->nodes[node].mesh_first]];
	const hob_usd_samples *s = weights->samples;
	hob_track *track;
	if (mesh->target_count == 0)
		return true;
	if (!rest_weights(a, names, node))
		return false;
	if (!s)
		return true;
	double *times;
	size_t count, *column = HOB_NEW(a->b->u->scratch, size_t, mesh->target_count);
	if (!column)
		return hob_fail_memory(a->err, a->b->u->scratch, "keys");
	for (uint32_t t = 0; t < mesh->target_count; t++)
		column[t] = shape_in(names, hob_usd_shape_of(a->b, &mesh->targets[t]));
	if (!hob_usd_weight_times(a->b, mesh, s, column, &times, &count, a->err) ||
		!hob_usd_add_channel(a->b, node, HOB_PATH_WEIGHTS, mesh->target_count, count, &track, a->err))
		return false;
	for (size_t i = 0, at = 0; i < count; i++) {
		while (at + 2 < s->count && s->times[at + 1] <= times[i])
			at++;
		size_t to = weights->scale < 0 ? count - 1 - i : i;
		track->times[to] = hob_usd_seconds(a->b->u, weights->offset + weights->scale * times[i]);
		for (uint32_t t = 0; t < mesh->target_count; t++) {
			double raw = column[t] == SIZE_MAX ? 0 : weight_at(s, at, column[t], times[i]);
			double weight = hob_usd_target_weight(a->b, mesh, t, raw);
			track->values[to * mesh->target_count + t] = isfinite(weight) ? (float)weight : 0;
		}
	}
	const hob_node *at_rest = &m->nodes[node];
	hob_usd_drop_still(a->b, at_rest->weight_count > 0 ? m->weights + at_rest->weight_first : NULL);
	return true;
}

static bool move_shapes(const animation_t *a)
{
	hob_usd *u = a->b->u;
	hob_usd_attribute weights;
	const hob_usd_value *names = hob_usd_still(u, a->prim, HOB_STR("blendShapes"));
	if (!names || names->kind != HOB_USD_TEXT ||
		!hob_usd_get(u, a->prim, HOB_STR("blendShapeWeights"), &weights))
		return true;
	for (uint32_t i = 0; i < a->b->skinned_count; i++) {
		uint32_t bound, node = a->b->skinned[i].node;
		if (!hob_usd_inherited_target(u, a->b->skinned[i].prim, HOB_STR("skel:skeleton"), &bound, a->err))
			return false;
		if (bound == a->skeleton->prim && a->b->model.nodes[node].mesh_count > 0 &&
			!weight_track(a, names, &weights, node))
			return false;
	}
	return true;
}

bool hob_usd_skeleton_clips(hob_usd_build_t *b, hob_error *err)
{
	hob_usd *u = b->u;
	for (uint32_t i = 0; i < b->skeleton_count; i++) {
		uint32_t source;
		if (!hob_usd_inherited_target(u, b->skeletons[i].prim, HOB_STR("skel:animationSource"), &source, err))
			return false;
		if (source == HOB_NONE)
			continue;
		animation_t a = {b, &u->prims[source], hob_usd_still(u, &u->prims[source], HOB_STR("joints")),
						 &b->skeletons[i], err};
		if (a.joints && a.joints->kind == HOB_USD_TEXT && !move_joints(&a))
			return false;
		if (!move_shapes(&a))
			return false;
	}
	return true;
}
