#include "fbx_smooth.h"

#include <math.h>

enum { AROUND = 256 }; /* maximum corners at a control point; beyond, they stay flat */

typedef struct smoother {
	const hob_fbx_surface *s;
	uint32_t *face_of;		/* [corners] */
	uint32_t *first, *list; /* corners of each control point */
	double *area;			/* [faces][3] normal with length twice the area */
	const int32_t *groups;	/* [faces] or NULL */
	const uint8_t *hard;	/* [corners] or NULL: whether the edge from this corner to the next is hard */
	uint32_t group[AROUND]; /* union-find over the corners of a point */
} smoother;

static uint32_t next_corner(const smoother *m, uint32_t corner)
{
	uint32_t face = m->face_of[corner];
	return corner + 1 < m->s->face_first[face + 1] ? corner + 1 : m->s->face_first[face];
}

static uint32_t previous_corner(const smoother *m, uint32_t corner)
{
	uint32_t face = m->face_of[corner];
	return corner > m->s->face_first[face] ? corner - 1 : m->s->face_first[face + 1] - 1;
}

static void face_areas(smoother *m)
{
	const hob_fbx_surface *s = m->s;
	for (uint32_t face = 0; face < s->counts.faces; face++) {
		double *n = m->area + (size_t)face * 3;
		for (uint32_t i = s->face_first[face]; i < s->face_first[face + 1]; i++) {
			m->face_of[i] = face;
			uint32_t next = i + 1 < s->face_first[face + 1] ? i + 1 : s->face_first[face];
			if (s->corners[i] >= s->counts.points || s->corners[next] >= s->counts.points)
				continue;
			const float *o = s->position + (size_t)s->corners[s->face_first[face]] * 3;
			const float *p = s->position + (size_t)s->corners[i] * 3,
						*q = s->position + (size_t)s->corners[next] * 3;
			if (s->corners[s->face_first[face]] >= s->counts.points)
				continue;
			double a[3], b[3];
			for (int k = 0; k < 3; k++)
				a[k] = (double)p[k] - (double)o[k], b[k] = (double)q[k] - (double)o[k];
			n[0] += a[1] * b[2] - a[2] * b[1];
			n[1] += a[2] * b[0] - a[0] * b[2];
			n[2] += a[0] * b[1] - a[1] * b[0];
		}
		for (int k = 0; k < 3 && s->flip; k++)
			n[k] = -n[k];
	}
}

static void list_corners(smoother *m)
{
	const hob_fbx_surface *s = m->s;
	for (uint32_t i = 0; i < s->counts.corners; i++)
		if (s->corners[i] < s->counts.points)
			m->first[s->corners[i] + 1]++;
	for (uint32_t p = 0; p < s->counts.points; p++)
		m->first[p + 1] += m->first[p];
	m->first[s->counts.points + 1] = m->first[s->counts.points];
	for (uint32_t i = s->counts.corners; i > 0; i--)
		if (s->corners[i - 1] < s->counts.points)
			m->list[--m->first[s->corners[i - 1] + 1]] = i - 1;
}

static uint32_t root(uint32_t *group, uint32_t i)
{
	while (group[i] != i)
		i = group[i] = group[group[i]];
	return i;
}

/* Whether corners i and j of a control point lie in faces that share a smooth edge, or a smoothing group. */
static bool joined(const smoother *m, uint32_t i, uint32_t j)
{
	const uint32_t *corners = m->s->corners;
	if (m->groups)
		return (m->groups[m->face_of[i]] & m->groups[m->face_of[j]]) != 0;
	uint32_t in = next_corner(m, i), ip = previous_corner(m, i), jn = next_corner(m, j),
			 jp = previous_corner(m, j);
	if (corners[in] == corners[jp])
		return !m->hard[i] && !m->hard[jp];
	if (corners[ip] == corners[jn])
		return !m->hard[ip] && !m->hard[j];
	if (corners[in] == corners[jn])
		return !m->hard[i] && !m->hard[j];
	return corners[ip] == corners[jp] && !m->hard[ip] && !m->hard[jp];
}

static void smooth_point(smoother *m, const uint32_t *around, uint32_t count, float *out)
{
	for (uint32_t i = 0; i < count; i++)
		m->group[i] = i;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = i + 1; j < count; j++)
			if (!m->groups && joined(m, around[i], around[j]))
				m->group[root(m->group, i)] = root(m->group, j);
	for (uint32_t i = 0; i < count; i++) {
		double sum[3] = {0, 0, 0};
		for (uint32_t j = 0; j < count; j++) {
			bool together = m->groups ? i == j || joined(m, around[i], around[j])
									  : root(m->group, i) == root(m->group, j);
			const double *area = m->area + (size_t)m->face_of[around[j]] * 3;
			for (int k = 0; k < 3 && together; k++)
				sum[k] += area[k];
		}
		double length = sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
		for (int k = 0; k < 3; k++)
			out[(size_t)around[i] * 3 + (size_t)k] = length > 1e-300 ? (float)(sum[k] / length) : 0;
	}
}

/* `Edges[i]` is the corner at which edge i begins. */
static bool read_hard(smoother *m, const int32_t *numbers, uint32_t count, hob_error *err)
{
	const hob_fbx_surface *s = m->s;
	int32_t *edges;
	uint32_t edge_count;
	uint8_t *hard = HOB_NEW(s->f->scratch, uint8_t, s->counts.corners);
	if (!hard)
		return hob_fail_memory(err, s->f->scratch, "edges");
	m->hard = hard;
	if (!hob_fbx_ints(s->f, hob_fbx_child(s->f, s->record, HOB_STR("Edges")), &edges, &edge_count, err))
		return false;
	for (uint32_t i = 0; i < edge_count && i < count; i++)
		if (edges[i] >= 0 && (uint32_t)edges[i] < s->counts.corners)
			hard[edges[i]] = numbers[i] == 0;
	return true;
}

bool hob_fbx_smooth_normals(const hob_fbx_surface *s, float **out, hob_error *err)
{
	hob_fbx *f = s->f;
	int32_t *numbers;
	uint32_t count;
	hob_fbx_mapping mapping;
	uint32_t record = hob_fbx_child(f, s->record, HOB_STR("LayerElementSmoothing"));
	*out = NULL;
	if (record == HOB_NONE)
		return true;
	if (!hob_fbx_read_numbers(f, record, HOB_STR("Smoothing"), &s->counts, &numbers, &count, &mapping, err))
		return false;
	if (count == 0 || (mapping == HOB_FBX_BY_FACE && count < s->counts.faces) ||
		(mapping != HOB_FBX_BY_FACE && mapping != HOB_FBX_BY_EDGE))
		return true;
	smoother *m = HOB_NEW(f->scratch, smoother, 1);
	if (!m)
		return hob_fail_memory(err, f->scratch, "normals");
	m->s = s;
	m->face_of = HOB_NEW(f->scratch, uint32_t, s->counts.corners);
	m->first = HOB_NEW(f->scratch, uint32_t, (size_t)s->counts.points + 2);
	m->list = HOB_NEW(f->scratch, uint32_t, s->counts.corners);
	m->area = HOB_NEW(f->scratch, double, (size_t)s->counts.faces * 3);
	float *normals = HOB_NEW(f->scratch, float, (size_t)s->counts.corners * 3);
	if (!m->face_of || !m->first || !m->list || !m->area || !normals)
		return hob_fail_memory(err, f->scratch, "normals");
	m->groups = mapping == HOB_FBX_BY_FACE ? numbers : NULL;
	face_areas(m);
	list_corners(m);
	if (!m->groups && !read_hard(m, numbers, count, err))
		return false;
	for (uint32_t p = 0; p < s->counts.points; p++) {
		uint32_t end = m->first[p + 2];
		for (uint32_t at = m->first[p + 1]; at < end; at += AROUND)
			smooth_point(m, m->list + at, end - at < AROUND ? end - at : AROUND, normals);
	}
	*out = normals;
	return true;
}
