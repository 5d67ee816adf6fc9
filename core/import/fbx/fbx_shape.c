#include "fbx_private.h"
#include "../shape.h"

#include <math.h>
#include <stdlib.h>

typedef struct list {
	hob_fbx *f;
	hob_fbx_geometry *geometry;
	hob_buf channels, shapes;
} list;

/* ---- reading */

static void read_arrays(list *l, uint32_t record, hob_fbx_shape *shape)
{
	hob_fbx *f = l->f;
	uint32_t index_count, delta_count, normal_count;
	int32_t *indexes = hob_fbx_ints(f, hob_fbx_child(f, record, HOB_STR("Indexes")), &index_count);
	shape->deltas = hob_fbx_doubles(f, hob_fbx_child(f, record, HOB_STR("Vertices")), &delta_count);
	double *normals = hob_fbx_doubles(f, hob_fbx_child(f, record, HOB_STR("Normals")), &normal_count);
	shape->count = index_count < delta_count / 3 ? index_count : delta_count / 3;
	shape->normals = normal_count / 3 >= shape->count && normal_count > 0 ? normals : NULL;
	shape->points = HOB_NEW(f->scratch, uint32_t, shape->count);
	uint32_t bad = 0;
	for (uint32_t i = 0; i < shape->count; i++) {
		bool good = indexes[i] >= 0 && (uint32_t)indexes[i] < l->geometry->point_count;
		for (int k = 0; k < 3; k++)
			good = good && isfinite(shape->deltas[(size_t)i * 3 + (size_t)k]);
		shape->points[i] = good ? (uint32_t)indexes[i] : HOB_NONE;
		bad += !good;
	}
	if (bad > 0)
		hob_fbx_note(f, "shape",
					 "shape '%.*s': %u of its vertices do not exist or lie nowhere; they stay where they are",
					 HOB_FMT(shape->name), bad);
}

/* Scales a shape's deltas: Blender writes weights per vertex where the format has the full weight. */
static bool scale_by_vertex(hob_fbx_shape *shape, const double *weights, uint32_t count)
{
	if (count != shape->count || count < 2)
		return false;
	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < 3; k++) {
			shape->deltas[(size_t)i * 3 + (size_t)k] *= weights[i] / 100;
			if (shape->normals)
				shape->normals[(size_t)i * 3 + (size_t)k] *= weights[i] / 100;
		}
	return true;
}

static int by_weight(const void *a, const void *b)
{
	const hob_fbx_shape *x = a, *y = b;
	return (x->full_weight > y->full_weight) - (x->full_weight < y->full_weight);
}

static void read_channel(list *l, uint32_t object)
{
	hob_fbx *f = l->f;
	const hob_fbx_object *o = &f->objects[object];
	uint32_t weight_count, first = (uint32_t)(l->shapes.size / sizeof(hob_fbx_shape)), count = 0;
	hob_fbx_cursor own;
	double percent = hob_fbx_prop_real(f, object, HOB_STR("DeformPercent"), 0);
	if (!hob_fbx_own_prop(f, object, HOB_STR("DeformPercent"), &own)) /* Blender writes a record instead */
		percent = hob_fbx_child_real(f, o->record, HOB_STR("DeformPercent"), percent);
	hob_fbx_channel channel = {
		.object = object, .property = HOB_STR("DeformPercent"), .percent = percent, .shape_first = first};
	const double *weights =
		hob_fbx_doubles(f, hob_fbx_child(f, o->record, HOB_STR("FullWeights")), &weight_count);
	HOB_FBX_EACH_BELOW (edge, f, object, GEOMETRY, "Shape") {
		hob_fbx_shape shape = {.name = f->objects[edge->child].name, .full_weight = 100};
		read_arrays(l, f->objects[edge->child].record, &shape);
		if (count < weight_count && isfinite(weights[count]) && (weights[count] > 0 || weights[count] < 0))
			shape.full_weight = weights[count];
		hob_buf_put(&l->shapes, &shape, sizeof shape);
		count++;
	}
	if (count == 0)
		return;
	hob_fbx_shape *shapes = (hob_fbx_shape *)(void *)l->shapes.data + first;
	if (count == 1) {
		if (scale_by_vertex(shapes, weights, weight_count))
			shapes->full_weight = 100;
		shapes->name = o->name.len > 0 ? o->name : shapes->name;
	}
	if (count > 1)
		qsort(shapes, count, sizeof *shapes, by_weight);
	channel.shape_count = count;
	hob_buf_put(&l->channels, &channel, sizeof channel);
}

/* Reads the shapes inside the mesh's record, as in 6.x and some 7.1 files. */
static void read_inline(list *l)
{
	hob_fbx *f = l->f;
	const hob_fbx_object *o = &f->objects[l->geometry->object];
	uint32_t owner = l->geometry->object;
	HOB_FBX_EACH_ABOVE (edge, f, l->geometry->object, MODEL, "")
		owner = edge->parent;
	HOB_FBX_EACH_CHILD (record, f, o->record, "Shape") {
		hob_str raw = hob_fbx_value_at(f, record, 0).text, class_name, name;
		hob_fbx_split_name(f, raw, &class_name, &name);
		hob_fbx_shape shape = {.name = name, .full_weight = 100};
		read_arrays(l, record, &shape);
		hob_fbx_cursor own;
		bool inside = hob_fbx_prop(f, l->geometry->object, name, &own);
		for (uint32_t i = 0; i < o->below_count && !inside; i++)
			inside = hob_str_equal(f->edges[o->below_first + i].property, name);
		uint32_t object = inside ? l->geometry->object : owner;
		hob_fbx_channel channel = {.object = object,
								   .property = name,
								   .percent = hob_fbx_prop_real(f, object, name, 0),
								   .shape_first = (uint32_t)(l->shapes.size / sizeof shape),
								   .shape_count = 1};
		hob_buf_put(&l->shapes, &shape, sizeof shape);
		hob_buf_put(&l->channels, &channel, sizeof channel);
	}
}

void hob_fbx_read_shapes(hob_fbx *f, hob_fbx_geometry *geometry)
{
	list l = {.f = f, .geometry = geometry};
	read_inline(&l);
	HOB_FBX_EACH_BELOW (deformer, f, geometry->object, DEFORMER, "BlendShape")
		HOB_FBX_EACH_BELOW (channel, f, deformer->child, DEFORMER, "BlendShapeChannel")
			read_channel(&l, channel->child);
	geometry->shapes = hob_lists_array(f->result, &l.shapes, sizeof(hob_fbx_shape), &geometry->shape_count);
	geometry->channels =
		hob_lists_array(f->result, &l.channels, sizeof(hob_fbx_channel), &geometry->channel_count);
	HOB_LISTS_FREE(&l.shapes, &l.channels);
	if (geometry->shape_count > HOB_LIMIT_TARGETS)
		hob_leave(LIMIT, "%u shapes, at most %llu are allowed", geometry->shape_count, HOB_LIMIT_TARGETS);
}

/* ---- weights */

/* Sets the weights at `percent` of the shapes whose full weights are on one side of zero: shapes[at[i]],
 * nearest to zero first. A `percent` on the other side of zero extrapolates the first shape. */
static void side_weights(const hob_fbx_shape *shapes, const uint32_t *at, uint32_t count, double percent,
						 float *out)
{
	double before = 0;
	for (uint32_t i = 0; i < count; i++) {
		double full = shapes[at[i]].full_weight;
		bool last = i + 1 == count;
		if (!last && (full < 0 ? percent < full : percent > full)) {
			before = full;
			continue;
		}
		double t = fabs(full - before) > 1e-12 ? (percent - before) / (full - before) : 1;
		out[at[i]] = (float)t;
		if (i > 0)
			out[at[i - 1]] = (float)(1 - t);
		return;
	}
}

void hob_fbx_channel_weights(const hob_fbx_geometry *geometry, const hob_fbx_channel *channel, double percent,
							 float *out)
{
	const hob_fbx_shape *shapes = geometry->shapes + channel->shape_first;
	uint32_t count = channel->shape_count, negative = 0;
	memset(out, 0, count * sizeof *out);
	while (negative < count && shapes[negative].full_weight < 0)
		negative++;
	bool down = negative > 0 && (percent < 0 || negative == count);
	/* Order away from zero: ascending positive ones, descending negative ones. */
	uint32_t at[64], total = down ? negative : count - negative;
	for (uint32_t i = 0; i < total && i < 64; i++)
		at[i] = down ? negative - 1 - i : negative + i;
	side_weights(shapes, at, total < 64 ? total : 64, percent, out);
}

/* ---- targets */

static void turn_delta(const hob_fbx *f, const hob_fbx_geometry *g, const double *in, bool normal, float *out)
{
	double v[3] = {in[0], in[1], in[2]};
	if (g->has_geometric && !g->geometric_differs) {
		for (int k = 0; k < 3; k++)
			v[k] = !normal							 ? v[k] * g->geometric.s[k]
				   : fabs(g->geometric.s[k]) > 1e-30 ? v[k] / g->geometric.s[k]
													 : v[k];
		hob_fbx_quat_rotate(g->geometric.q, v, v);
	}
	for (int k = 0; k < 3; k++) {
		double value = v[k] * (normal ? 1 : f->unit) * (k == 0 && f->mirrored ? -1 : 1);
		out[k] = fabs(value) < 1e15 ? (float)value : 0;
	}
}

static void make_target(hob_fbx *f, const hob_fbx_geometry *g, const hob_fbx_part *part,
						const hob_fbx_shape *shape, uint32_t *entry_of, hob_morph_target *target)
{
	size_t count = part->mesh.vertex_count;
	target->name = hob_fbx_name(f, shape->name);
	target->position = HOB_NEW(f->result, float, count * 3);
	bool normals = shape->normals && part->mesh.normal;
	target->normal = normals ? HOB_NEW(f->result, float, count * 3) : NULL;
	for (uint32_t i = 0; i < shape->count; i++)
		if (shape->points[i] != HOB_NONE)
			entry_of[shape->points[i]] = i + 1;
	for (size_t v = 0; v < count; v++) {
		uint32_t entry = entry_of[part->points[v]];
		if (entry == 0)
			continue;
		turn_delta(f, g, shape->deltas + (size_t)(entry - 1) * 3, false, target->position + v * 3);
		if (normals)
			turn_delta(f, g, shape->normals + (size_t)(entry - 1) * 3, true, target->normal + v * 3);
	}
	for (uint32_t i = 0; i < shape->count; i++)
		if (shape->points[i] != HOB_NONE)
			entry_of[shape->points[i]] = 0;
}

void hob_fbx_make_targets(hob_fbx *f, hob_fbx_geometry *geometry, hob_fbx_part *part)
{
	hob_mesh *mesh = &part->mesh;
	if (geometry->shape_count == 0)
		return;
	uint32_t *entry_of = HOB_NEW(f->scratch, uint32_t, geometry->point_count);
	float *weights = HOB_NEW(f->scratch, float, geometry->shape_count);
	mesh->targets = HOB_NEW(f->result, hob_morph_target, geometry->shape_count);
	mesh->target_count = geometry->shape_count;
	for (uint32_t c = 0; c < geometry->channel_count; c++) {
		const hob_fbx_channel *channel = &geometry->channels[c];
		hob_fbx_channel_weights(geometry, channel, channel->percent, weights + channel->shape_first);
	}
	for (uint32_t s = 0; s < geometry->shape_count; s++) {
		mesh->targets[s].weight = weights[s];
		make_target(f, geometry, part, &geometry->shapes[s], entry_of, &mesh->targets[s]);
	}
}
