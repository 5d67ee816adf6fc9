#include "obj_data.h"

#include <math.h>

/* A normal being summed, in a chain of those at the same position. */
typedef struct sum {
	double normal[3];
	uint32_t smoothing, next;
} sum;

typedef struct smoother {
	hob_obj_data *data;
	const float *positions;
	uint32_t *head; /* per position: its first sum, or HOB_NONE */
	hob_buf sums;
	uint32_t first_id; /* id of the first generated normal */
} smoother;

static void difference(const float *a, const float *b, double out[3])
{
	for (int k = 0; k < 3; k++)
		out[k] = (double)a[k] - b[k];
}

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Newell's normal, of unit length; false for a face without area. */
static bool face_normal(const smoother *s, const hob_obj_corner *corners, uint32_t count, double out[3])
{
	double normal[3] = {0, 0, 0}, a[3], b[3];
	const float *origin = s->positions + (size_t)corners[0].v * 3;
	difference(s->positions + (size_t)corners[1].v * 3, origin, a);
	for (uint32_t i = 2; i < count; i++) {
		difference(s->positions + (size_t)corners[i].v * 3, origin, b);
		normal[0] += a[1] * b[2] - a[2] * b[1];
		normal[1] += a[2] * b[0] - a[0] * b[2];
		normal[2] += a[0] * b[1] - a[1] * b[0];
		memcpy(a, b, sizeof a);
	}
	double length = sqrt(dot(normal, normal));
	if (!(length > 0) || !isfinite(length))
		return false;
	for (int k = 0; k < 3; k++)
		out[k] = normal[k] / length;
	return true;
}

static double corner_angle(const smoother *s, const hob_obj_corner *corners, uint32_t count, uint32_t at)
{
	const float *here = s->positions + (size_t)corners[at].v * 3;
	double a[3], b[3];
	difference(s->positions + (size_t)corners[at > 0 ? at - 1 : count - 1].v * 3, here, a);
	difference(s->positions + (size_t)corners[at + 1 < count ? at + 1 : 0].v * 3, here, b);
	double length = sqrt(dot(a, a) * dot(b, b));
	double cosine = length > 0 ? dot(a, b) / length : 1;
	return acos(cosine < -1 ? -1 : cosine > 1 ? 1 : cosine);
}

static uint32_t new_sum(smoother *s, uint32_t smoothing, uint32_t next)
{
	uint32_t id = HOB_LISTS_COUNT(s->sums, sum);
	hob_buf_put(&s->sums, &(sum){{0, 0, 0}, smoothing, next}, sizeof(sum));
	return id;
}

static uint32_t sum_for(smoother *s, uint32_t position, uint32_t smoothing)
{
	const sum *sums = HOB_OBJ_ARRAY(s->sums, sum);
	for (uint32_t i = s->head[position]; i != HOB_NONE; i = sums[i].next)
		if (sums[i].smoothing == smoothing)
			return i;
	return s->head[position] = new_sum(s, smoothing, s->head[position]);
}

static void smooth_face(smoother *s, hob_obj_corner *corners, uint32_t count, uint32_t smoothing)
{
	double normal[3] = {0, 0, 0};
	bool has_area = face_normal(s, corners, count, normal);
	uint32_t flat = HOB_NONE;
	for (uint32_t i = 0; i < count; i++) {
		if (corners[i].vn != HOB_NONE)
			continue;
		if (smoothing == 0 && flat == HOB_NONE)
			flat = new_sum(s, 0, HOB_NONE);
		uint32_t id = smoothing == 0 ? flat : sum_for(s, corners[i].v, smoothing);
		double weight = smoothing == 0 ? 1 : has_area ? corner_angle(s, corners, count, i) : 0;
		double *to = HOB_OBJ_ARRAY(s->sums, sum)[id].normal;
		for (int k = 0; k < 3; k++)
			to[k] += normal[k] * weight;
		corners[i].vn = s->first_id + id;
	}
}

static void smooth_runs(smoother *s)
{
	hob_obj_data *d = s->data;
	const hob_obj_run *runs = HOB_OBJ_ARRAY(d->runs, hob_obj_run);
	for (uint32_t r = 0; r < HOB_LISTS_COUNT(d->runs, hob_obj_run); r++) {
		if (runs[r].kind != HOB_OBJ_FACES)
			continue;
		hob_obj_corner *corners = HOB_OBJ_ARRAY(d->corners, hob_obj_corner) + runs[r].corner_first;
		for (uint32_t e = 0; e < runs[r].count; e++) {
			uint32_t count = HOB_OBJ_ARRAY(d->sizes, uint32_t)[runs[r].first + e];
			smooth_face(s, corners, count, runs[r].smoothing);
			corners += count;
		}
	}
}

static void append_normals(smoother *s)
{
	const sum *sums = HOB_OBJ_ARRAY(s->sums, sum);
	uint32_t count = HOB_LISTS_COUNT(s->sums, sum);
	float *to = (float *)(void *)hob_buf_grow(&s->data->normals, (size_t)count * 3 * sizeof(float));
	for (size_t i = 0; i < count; i++) {
		double length = sqrt(dot(sums[i].normal, sums[i].normal));
		for (size_t k = 0; k < 3; k++)
			to[i * 3 + k] = length > 0 ? (float)(sums[i].normal[k] / length) : 0;
	}
}

/* Whether there are faces, none of which has a normal or a smoothing group. */
static bool is_flat(const hob_obj_data *d)
{
	const hob_obj_run *runs = HOB_OBJ_ARRAY(d->runs, hob_obj_run);
	const hob_obj_corner *corners = HOB_OBJ_ARRAY(d->corners, hob_obj_corner);
	bool any = false;
	for (uint32_t r = 0; r < HOB_LISTS_COUNT(d->runs, hob_obj_run); r++) {
		if (runs[r].kind != HOB_OBJ_FACES)
			continue;
		any = true;
		if (runs[r].smoothing != 0)
			return false;
	}
	for (uint32_t i = 0; any && i < HOB_LISTS_COUNT(d->corners, hob_obj_corner); i++)
		if (corners[i].vn != HOB_NONE)
			return false;
	return any;
}

static bool is_needed(const hob_obj_data *d)
{
	const hob_obj_run *runs = HOB_OBJ_ARRAY(d->runs, hob_obj_run);
	for (uint32_t r = 0; r < HOB_LISTS_COUNT(d->runs, hob_obj_run); r++) {
		const hob_obj_corner *corners = HOB_OBJ_ARRAY(d->corners, hob_obj_corner) + runs[r].corner_first;
		const uint32_t *sizes = HOB_OBJ_ARRAY(d->sizes, uint32_t) + runs[r].first;
		for (uint32_t e = 0; runs[r].kind == HOB_OBJ_FACES && e < runs[r].count; e++)
			for (uint32_t i = 0; i < sizes[e]; i++)
				if ((corners++)->vn == HOB_NONE)
					return true;
	}
	return false;
}

void hob_obj_smooth(hob_arena *scratch, hob_obj_data *data)
{
	data->flat = is_flat(data);
	if (data->flat || !is_needed(data))
		return;
	uint32_t positions = HOB_LISTS_COUNT(data->positions, float[3]);
	smoother s = {.data = data,
				  .positions = HOB_OBJ_ARRAY(data->positions, float),
				  .first_id = HOB_LISTS_COUNT(data->normals, float[3])};
	hob_arena_mark mark = hob_arena_save(scratch);
	s.head = HOB_NEW(scratch, uint32_t, positions);
	memset(s.head, 0xFF, positions * sizeof *s.head);
	smooth_runs(&s);
	append_normals(&s);
	hob_buf_release(&s.sums);
	hob_arena_restore(scratch, mark);
}
