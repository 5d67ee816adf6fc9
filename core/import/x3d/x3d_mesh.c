#include "x3d_private.h"

#include "../../base/limits.h"
#include "../shape.h"

#include <math.h>

/* A point with more faces is smooth throughout: comparing all pairs would take too long. */
enum { FACES_MAX = 1024 };

typedef struct builder {
	hob_x3d *x;
	hob_x3d_shape *shape;
	hob_mesh *mesh;
	hob_arena *result, *scratch;
	const hob_x3d_corner *corners;
	const uint32_t *sizes;
	uint32_t corner_count, face_count;
	uint32_t *points; /* [corner_count] as indices, for triangulation */
	bool *usable;	  /* [face_count] */
} builder;

/* ---- faces -> indices */

static void judge_faces(builder *b)
{
	uint32_t first = 0, bad = 0;
	for (uint32_t f = 0; f < b->face_count; first += b->sizes[f++]) {
		b->usable[f] = b->sizes[f] >= 3;
		for (uint32_t k = 0; k < b->sizes[f]; k++) {
			uint32_t point = b->corners[first + k].point;
			if (point >= b->shape->point_count ||
				!hob_shape_in_reach(b->shape->points + (size_t)point * 3, 3))
				b->usable[f] = false;
			else
				b->points[first + k] = point;
		}
		bad += !b->usable[f];
	}
	if (bad > 0)
		hob_note_add(
			b->x->request->notes, HOB_NOTE_WARNING, "mesh.bad-faces",
			"%u faces have fewer than three corners or use a point that does not exist; they are left out",
			bad);
}

static bool cut_faces(builder *b, hob_error *err)
{
	uint64_t indices = 0;
	uint32_t first = 0, most = 0;
	for (uint32_t f = 0; f < b->face_count; f++) {
		indices += b->usable[f] ? ((uint64_t)b->sizes[f] - 2) * 3 : 0;
		most = b->sizes[f] > most ? b->sizes[f] : most;
	}
	if (indices > HOB_LIMIT_INDICES)
		return hob_fail(err, LIMIT, "more than %llu indices; split the shape", HOB_LIMIT_INDICES);
	b->mesh->indices = HOB_NEW(b->result, uint32_t, indices);
	uint32_t *triangles = HOB_NEW(b->scratch, uint32_t, (size_t)most * 3);
	if (!b->mesh->indices || !triangles)
		return hob_fail_memory(err, b->result, "indices");
	for (uint32_t f = 0; f < b->face_count; first += b->sizes[f++]) {
		if (!b->usable[f])
			continue;
		if (!hob_polygon_triangulate(&b->x->polygon, b->shape->points, b->points + first, b->sizes[f],
									 triangles))
			return hob_fail(err, MEMORY, "no memory left for faces");
		for (uint32_t i = 0; i < (b->sizes[f] - 2) * 3; i++) {
			uint32_t turn = b->shape->clockwise ? 2 - i % 3 + i / 3 * 3 : i;
			b->mesh->indices[b->mesh->index_count++] = first + triangles[turn];
		}
	}
	return true;
}

/* ---- smooth normals from a crease angle */

typedef struct smoothing {
	float *face;	 /* [face_count][3] Newell's normal, its length twice the area */
	uint32_t *first; /* [point_count + 1] into `faces` */
	uint32_t *faces;
} smoothing;

static void face_normals(const builder *b, smoothing *s)
{
	uint32_t first = 0;
	for (uint32_t f = 0; f < b->face_count; first += b->sizes[f++])
		for (uint32_t k = 0; b->usable[f] && k < b->sizes[f]; k++) {
			const float *p = b->shape->points + (size_t)b->points[first + k] * 3;
			const float *q = b->shape->points + (size_t)b->points[first + (k + 1) % b->sizes[f]] * 3;
			float *n = s->face + (size_t)f * 3;
			for (int i = 0; i < 3; i++)
				n[i] += (p[(i + 1) % 3] - q[(i + 1) % 3]) * (p[(i + 2) % 3] + q[(i + 2) % 3]);
		}
}

static bool index_faces(const builder *b, smoothing *s, hob_error *err)
{
	s->face = HOB_NEW(b->scratch, float, (size_t)b->face_count * 3);
	s->first = HOB_NEW(b->scratch, uint32_t, (size_t)b->shape->point_count + 1);
	s->faces = HOB_NEW(b->scratch, uint32_t, b->corner_count);
	if (!s->face || !s->first || !s->faces)
		return hob_fail_memory(err, b->scratch, "normals");
	/* Counting sort: counts, prefix sums, then fills each list from its end. */
	for (uint32_t f = 0, first = 0; f < b->face_count; first += b->sizes[f++])
		for (uint32_t k = 0; b->usable[f] && k < b->sizes[f]; k++)
			s->first[b->points[first + k]]++;
	for (uint32_t p = 1; p <= b->shape->point_count; p++)
		s->first[p] += s->first[p - 1];
	for (uint32_t f = 0, first = 0; f < b->face_count; first += b->sizes[f++])
		for (uint32_t k = 0; b->usable[f] && k < b->sizes[f]; k++)
			s->faces[--s->first[b->points[first + k]]] = f;
	return true;
}

static float length_of(const float *n)
{
	return sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

static void corner_normal(const builder *b, const smoothing *s, uint32_t f, uint32_t point, float out[3])
{
	const float *own = s->face + (size_t)f * 3;
	uint32_t from = s->first[point], to = s->first[point + 1];
	float limit = b->shape->crease < 3.14159f ? cosf(b->shape->crease) : -2, size = length_of(own);
	bool all = to - from > FACES_MAX;
	memset(out, 0, 3 * sizeof *out);
	for (uint32_t i = from; i < to; i++) {
		const float *other = s->face + (size_t)s->faces[i] * 3;
		float d = own[0] * other[0] + own[1] * other[1] + own[2] * other[2];
		for (int k = 0; k < 3 && (all || d >= limit * size * length_of(other) || s->faces[i] == f); k++)
			out[k] += other[k];
	}
	float length = length_of(out), sign = b->shape->clockwise ? -1 : 1;
	for (int k = 0; k < 3; k++)
		out[k] = length > 0 ? out[k] / length * sign : k == 1;
}

static bool smooth(builder *b, hob_error *err)
{
	smoothing s;
	uint32_t first = 0;
	if (!index_faces(b, &s, err))
		return false;
	face_normals(b, &s);
	for (uint32_t f = 0; f < b->face_count; first += b->sizes[f++])
		for (uint32_t k = 0; b->usable[f] && k < b->sizes[f]; k++)
			corner_normal(b, &s, f, b->points[first + k], b->mesh->normal + (size_t)(first + k) * 3);
	return true;
}

/* ---- vertices: one per corner; the cook merges equal ones */

static void take(const float *from, uint32_t count, uint32_t index, uint32_t width, float *to)
{
	if (index < count)
		memcpy(to, from + (size_t)index * width, width * sizeof *to);
}

/* Default texture coordinates from the bounding box: S along its longest side, T along the next; ISO/IEC
 * 14772-1, 6.23. */
static void map_box(const builder *b, float *uv)
{
	float low[3], high[3], size[3];
	int s = 0, t;
	for (int k = 0; k < 3; k++)
		low[k] = high[k] = b->mesh->position[k];
	for (size_t i = 0; i < b->corner_count; i++)
		for (size_t k = 0; k < 3; k++) {
			float at = b->mesh->position[i * 3 + k];
			low[k] = at < low[k] ? at : low[k];
			high[k] = at > high[k] ? at : high[k];
		}
	for (int k = 0; k < 3; k++)
		size[k] = high[k] - low[k];
	for (int k = 1; k < 3; k++)
		s = size[k] > size[s] ? k : s;
	t = s == 0 ? 1 : 0;
	for (int k = t + 1; k < 3; k++)
		t = k != s && size[k] > size[t] ? k : t;
	for (size_t i = 0; i < b->corner_count && size[s] > 0; i++) {
		uv[i * 2] = (b->mesh->position[i * 3 + (size_t)s] - low[s]) / size[s];
		uv[i * 2 + 1] = 1 - (b->mesh->position[i * 3 + (size_t)t] - low[t]) / size[s];
	}
}

static bool fill(builder *b, hob_error *err)
{
	hob_x3d_shape *shape = b->shape;
	hob_mesh *m = b->mesh;
	size_t count = m->vertex_count = b->corner_count;
	bool surface = shape->topology == HOB_TRIANGLES;
	bool smooths = surface && !shape->normals && shape->crease > 0;
	m->position = HOB_NEW(b->result, float, count * 3);
	m->normal = surface && (shape->normals || smooths) ? HOB_NEW(b->result, float, count * 3) : NULL;
	m->color[0] = shape->colors ? HOB_NEW(b->result, float, count * 4) : NULL;
	m->uv[0] = shape->uvs || shape->map_box ? HOB_NEW(b->result, float, count * 2) : NULL;
	if (!m->position || (surface && (shape->normals || smooths) && !m->normal) ||
		(shape->colors && !m->color[0]) || ((shape->uvs || shape->map_box) && !m->uv[0]))
		return hob_fail_memory(err, b->result, "vertices");
	for (size_t i = 0; i < count; i++) {
		const hob_x3d_corner *corner = &b->corners[i];
		take(shape->points, shape->point_count, corner->point, 3, m->position + i * 3);
		if (m->normal)
			take(shape->normals, shape->normal_count, corner->normal, 3, m->normal + i * 3);
		if (m->color[0]) {
			m->color[0][i * 4] = m->color[0][i * 4 + 1] = m->color[0][i * 4 + 2] = m->color[0][i * 4 + 3] = 1;
			take(shape->colors, shape->color_count, corner->color, 4, m->color[0] + i * 4);
		}
		if (m->uv[0]) {
			take(shape->uvs, shape->uv_count, corner->uv, 2, m->uv[0] + i * 2);
			m->uv[0][i * 2 + 1] = 1 - m->uv[0][i * 2 + 1];
		}
	}
	if (m->uv[0] && shape->map_box)
		map_box(b, m->uv[0]);
	if (m->uv[0])
		hob_shape_fix_floats(m->uv[0], count * 2, 0);
	return !smooths || smooth(b, err);
}

static bool plain_indices(builder *b, hob_error *err)
{
	b->mesh->indices = HOB_NEW(b->result, uint32_t, b->corner_count);
	if (!b->mesh->indices)
		return hob_fail_memory(err, b->result, "indices");
	uint32_t step = b->shape->topology == HOB_LINES ? 2 : 1;
	for (uint32_t i = 0; i + step <= b->corner_count; i += step) {
		bool good = true;
		for (uint32_t k = 0; k < step; k++)
			good = good && b->corners[i + k].point < b->shape->point_count;
		for (uint32_t k = 0; good && k < step; k++)
			b->mesh->indices[b->mesh->index_count++] = i + k;
	}
	return true;
}

bool hob_x3d_mesh(hob_x3d *x, hob_x3d_shape *shape, hob_mesh *out, bool *made, hob_error *err)
{
	builder b = {.x = x,
				 .shape = shape,
				 .mesh = out,
				 .result = x->request->result,
				 .scratch = x->request->scratch,
				 .corners = (const hob_x3d_corner *)(const void *)shape->corners.data,
				 .sizes = (const uint32_t *)(const void *)shape->sizes.data,
				 .corner_count = HOB_LISTS_COUNT(shape->corners, hob_x3d_corner),
				 .face_count = HOB_LISTS_COUNT(shape->sizes, uint32_t)};
	*made = false;
	out->topology = shape->topology;
	if (b.corner_count == 0)
		return true;
	if (b.corner_count > HOB_LIMIT_VERTICES)
		return hob_fail(err, LIMIT, "more than %llu corners; split the shape", HOB_LIMIT_VERTICES);
	b.points = HOB_NEW(b.scratch, uint32_t, b.corner_count);
	b.usable = HOB_NEW(b.scratch, bool, b.face_count);
	if (!b.points || !b.usable)
		return hob_fail_memory(err, b.scratch, "faces");
	if (shape->topology == HOB_TRIANGLES) {
		judge_faces(&b);
		if (!cut_faces(&b, err))
			return false;
	} else if (!plain_indices(&b, err)) {
		return false;
	}
	if (!fill(&b, err))
		return false;
	out->flat = out->normal == NULL;
	hob_shape_fix_positions(out, x->request->notes);
	if (out->normal)
		hob_mesh_repair_directions(out);
	*made = out->index_count > 0;
	return true;
}
