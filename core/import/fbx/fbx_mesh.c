#include "fbx_private.h"
#include "../shape.h"
#include "../polygon.h"

#include <math.h>

typedef enum hob_fbx_mapping {
	HOB_FBX_BY_CORNER,
	HOB_FBX_BY_POINT,
	HOB_FBX_BY_FACE,
	HOB_FBX_BY_EDGE,
	HOB_FBX_ALL_SAME
} hob_fbx_mapping;

typedef struct hob_fbx_layer {
	hob_fbx_mapping mapping;
	uint32_t width, value_count; /* value_count in values of `width` floats */
	float *values;				 /* NULL: no such layer */
	int32_t *index;				 /* NULL: direct */
	uint32_t index_count;
	hob_str name;
	int64_t number; /* "LayerElementUV: 1" */
} hob_fbx_layer;

/* Element counts of the geometry. */
typedef struct hob_fbx_counts {
	uint32_t corners, points, faces, edges;
} hob_fbx_counts;

enum {
	SLOTS = 65536, /* maximum materials of one geometry */
	CHAIN = 64,	   /* maximum vertices of a control point to compare; beyond, equal ones are not merged */
	ROW_MAX = 3 + 4 + 2 * HOB_UV_SETS + 4 * HOB_COLOR_SETS,
};

/* maximum of a colour component; far above it, the linear value is infinite */
static const float brightest = 1e6f;

typedef struct builder {
	hob_fbx *f;
	hob_fbx_geometry *geometry;
	uint32_t record;
	hob_fbx_counts counts;
	float *position;	  /* [points][3] metres */
	uint32_t *corners;	  /* [counts.corners] control points */
	uint32_t *face_first; /* [counts.faces + 1] */
	uint32_t *slots;	  /* [counts.faces] */
	hob_fbx_layer normal, tangent, binormal, uv[HOB_UV_SETS], color[HOB_COLOR_SETS];
	uint32_t uv_count, color_count;
	float *corner_normals; /* [corners][3] made from smoothing groups, or NULL */
	bool flip;
	uint32_t stride; /* floats per vertex beside its position */
	/* of the current part */
	hob_buf rows, points, next; /* [vertices] */
	uint32_t *head; /* [points] last vertex made for each; stale when that vertex has another point */
	hob_buf indices, cut, ids;
	hob_polygon polygon;
	uint64_t small, bad;
} builder;

static bool starts(hob_str text, const char *word)
{
	return hob_str_starts(text, hob_str_of(word));
}

/* The mapping as stored; when it is missing or does not fit, the number of entries decides. */
static hob_fbx_mapping mapping_of(const hob_fbx *f, uint32_t record, uint32_t entries,
								  const hob_fbx_counts *counts)
{
	hob_str text = hob_fbx_child_text(f, record, HOB_STR("MappingInformationType"));
	if (starts(text, "ByPolygonVertex"))
		return HOB_FBX_BY_CORNER;
	if (starts(text, "ByVert"))
		return HOB_FBX_BY_POINT;
	if (starts(text, "ByPolygon"))
		/* Old exporters write "ByPolygon" for corners. */
		return entries == counts->corners && entries != counts->faces ? HOB_FBX_BY_CORNER : HOB_FBX_BY_FACE;
	if (starts(text, "ByEdge"))
		return HOB_FBX_BY_EDGE;
	if (starts(text, "AllSame"))
		return HOB_FBX_ALL_SAME;
	if (entries == counts->corners)
		return HOB_FBX_BY_CORNER;
	if (entries == counts->points)
		return HOB_FBX_BY_POINT;
	return entries == counts->faces ? HOB_FBX_BY_FACE : HOB_FBX_ALL_SAME;
}

/* Reads a record LayerElement...; `values` and `index` are the names of its arrays. An index below 0 or
 * beyond the values means "no value". A layer without values, or with numbers that are not finite, gets
 * values NULL. */
static hob_fbx_layer fbx_read_layer(hob_fbx *f, uint32_t record, hob_str values, hob_str index,
									uint32_t width, const hob_fbx_counts *counts)
{
	uint32_t count;
	hob_fbx_layer out = {.width = width,
						 .values = hob_fbx_floats(f, hob_fbx_child(f, record, values), &count),
						 .name = hob_fbx_child_text(f, record, HOB_STR("Name")),
						 .number = hob_fbx_value_at(f, record, 0).integer};
	out.value_count = count / width;
	if (out.value_count == 0 || !hob_shape_finite(out.values, count)) {
		out.values = NULL;
		return out;
	}
	hob_str reference = hob_fbx_child_text(f, record, HOB_STR("ReferenceInformationType"));
	if (!starts(reference, "Direct"))
		out.index = hob_fbx_ints(f, hob_fbx_child(f, record, index), &out.index_count);
	if (out.index_count == 0)
		out.index = NULL;
	out.mapping = mapping_of(f, record, out.index ? out.index_count : out.value_count, counts);
	return out;
}

/* Integers per face: LayerElementMaterial, LayerElementSmoothing. [*count]; *mapping is their mapping. */
static int32_t *fbx_read_numbers(hob_fbx *f, uint32_t record, hob_str values, const hob_fbx_counts *counts,
								 uint32_t *count, hob_fbx_mapping *mapping)
{
	int32_t *numbers = hob_fbx_ints(f, hob_fbx_child(f, record, values), count);
	*mapping = mapping_of(f, record, *count, counts);
	return numbers;
}

/* The value at a corner, or NULL. */
static const float *fbx_layer_value(const hob_fbx_layer *layer, uint32_t corner, uint32_t point,
									uint32_t face)
{
	uint32_t at = 0;
	switch (layer->mapping) {
	case HOB_FBX_BY_CORNER:
		at = corner;
		break;
	case HOB_FBX_BY_POINT:
		at = point;
		break;
	case HOB_FBX_BY_FACE:
		at = face;
		break;
	case HOB_FBX_BY_EDGE:
		return NULL;
	case HOB_FBX_ALL_SAME:
		break;
	}
	if (layer->index) {
		if (at >= layer->index_count || layer->index[at] < 0)
			return NULL;
		at = (uint32_t)layer->index[at];
	}
	return at < layer->value_count ? layer->values + (size_t)at * layer->width : NULL;
}

enum { AROUND = 256 }; /* maximum corners at a control point; beyond, they stay flat */

typedef struct smoother {
	const builder *s;
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
	const builder *s = m->s;
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
	const builder *s = m->s;
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
static const uint8_t *read_hard(const builder *s, const int32_t *numbers, uint32_t count)
{
	uint32_t edge_count;
	uint8_t *hard = HOB_NEW(s->f->scratch, uint8_t, s->counts.corners);
	const int32_t *edges = hob_fbx_ints(s->f, hob_fbx_child(s->f, s->record, HOB_STR("Edges")), &edge_count);
	for (uint32_t i = 0; i < edge_count && i < count; i++)
		if (edges[i] >= 0 && (uint32_t)edges[i] < s->counts.corners)
			hard[edges[i]] = numbers[i] == 0;
	return hard;
}

/* [corners][3] in scratch memory, or NULL when the geometry has no smoothing data: normals are then
 * generated later. Two faces at a control point are smooth if a chain of faces at that point over smooth
 * edges joins them (ByEdge: 0 is hard) or they share a group (ByPolygon: 32 bits). Weighted by area. */
static float *fbx_smooth_normals(const builder *s)
{
	hob_fbx *f = s->f;
	uint32_t count;
	hob_fbx_mapping mapping;
	uint32_t record = hob_fbx_child(f, s->record, HOB_STR("LayerElementSmoothing"));
	if (record == HOB_NONE)
		return NULL;
	const int32_t *numbers = fbx_read_numbers(f, record, HOB_STR("Smoothing"), &s->counts, &count, &mapping);
	if (count == 0 || (mapping == HOB_FBX_BY_FACE && count < s->counts.faces) ||
		(mapping != HOB_FBX_BY_FACE && mapping != HOB_FBX_BY_EDGE))
		return NULL;
	smoother *m = HOB_NEW(f->scratch, smoother, 1);
	m->s = s;
	m->face_of = HOB_NEW(f->scratch, uint32_t, s->counts.corners);
	m->first = HOB_NEW(f->scratch, uint32_t, (size_t)s->counts.points + 2);
	m->list = HOB_NEW(f->scratch, uint32_t, s->counts.corners);
	m->area = HOB_NEW(f->scratch, double, (size_t)s->counts.faces * 3);
	float *normals = HOB_NEW(f->scratch, float, (size_t)s->counts.corners * 3);
	m->groups = mapping == HOB_FBX_BY_FACE ? numbers : NULL;
	face_areas(m);
	list_corners(m);
	if (!m->groups)
		m->hard = read_hard(s, numbers, count);
	for (uint32_t p = 0; p < s->counts.points; p++) {
		uint32_t end = m->first[p + 2];
		for (uint32_t at = m->first[p + 1]; at < end; at += AROUND)
			smooth_point(m, m->list + at, end - at < AROUND ? end - at : AROUND, normals);
	}
	return normals;
}

/* ---- arrays of the geometry */

static void geometry_matrix(const hob_fbx *f, const hob_fbx_geometry *geometry, double out[16])
{
	hob_fbx_trs none = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
	bool baked = geometry->has_geometric && !geometry->geometric_differs;
	hob_fbx_trs_matrix(baked ? &geometry->geometric : &none, out);
	for (int k = 0; f->mirrored && k < 4; k++)
		out[k * 4] = -out[k * 4];
}

static void read_positions(builder *b, hob_str name, const double m[16])
{
	hob_fbx *f = b->f;
	uint32_t count;
	const double *values = hob_fbx_doubles(f, hob_fbx_child(f, b->record, name), &count);
	if (count % 3 != 0)
		hob_fbx_note(f, "vertices",
					 "geometry '%.*s' has %u coordinates, no multiple of 3; the rest is left out",
					 HOB_FMT(f->objects[b->geometry->object].name), count);
	b->counts.points = b->geometry->point_count = count / 3;
	if (b->counts.points > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "%u vertices, at most %llu are allowed", b->counts.points, HOB_LIMIT_VERTICES);
	b->position = HOB_NEW(f->scratch, float, (size_t)b->counts.points * 3);
	for (size_t i = 0; i < b->counts.points; i++)
		for (size_t k = 0; k < 3; k++) {
			const double *v = values + i * 3;
			double at = m[k] * v[0] + m[4 + k] * v[1] + m[8 + k] * v[2] + m[12 + k];
			at *= f->unit;
			b->position[i * 3 + k] = fabs(at) < 1e38 ? (float)at : NAN;
		}
}

/* A face ends with ~index; the end of the list closes an unfinished face. */
static void read_faces(builder *b, hob_str name)
{
	hob_fbx *f = b->f;
	uint32_t count, face = 0;
	const int32_t *list = hob_fbx_ints(f, hob_fbx_child(f, b->record, name), &count);
	if (count > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "%u corners, at most %llu are allowed", count, HOB_LIMIT_INDICES);
	for (uint32_t i = 0; i < count; i++)
		b->counts.faces += list[i] < 0 || i + 1 == count;
	b->counts.corners = count;
	b->corners = HOB_NEW(f->scratch, uint32_t, count);
	b->face_first = HOB_NEW(f->scratch, uint32_t, (size_t)b->counts.faces + 1);
	for (uint32_t i = 0; i < count; i++) {
		b->corners[i] = (uint32_t)(list[i] < 0 ? ~list[i] : list[i]);
		if (list[i] < 0 || i + 1 == count)
			b->face_first[++face] = i + 1;
	}
}

/* Before 6000: one layer of each kind, in separate records. */
static void read_old_layers(builder *b)
{
	hob_fbx *f = b->f;
	uint32_t uv = hob_fbx_child(f, b->record, HOB_STR("GeometryUVInfo"));
	b->normal = fbx_read_layer(f, b->record, HOB_STR("Normals"), HOB_STR(""), 3, &b->counts);
	/* A closed mesh may have as many corners as points: version 5000 then means points. */
	if (f->version <= 5000 && b->normal.value_count == b->counts.points)
		b->normal.mapping = HOB_FBX_BY_POINT;
	if (uv == HOB_NONE)
		return;
	b->uv[0] = fbx_read_layer(f, uv, HOB_STR("TextureUV"), HOB_STR("TextureUVVerticeIndex"), 2, &b->counts);
	b->uv_count = b->uv[0].values != NULL;
}

/* Files may store sets in an order other than their numbers. */
static void sort_sets(hob_fbx_layer *sets, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = i; k > 0 && sets[k - 1].number > sets[k].number; k--) {
			hob_fbx_layer swap = sets[k];
			sets[k] = sets[k - 1];
			sets[k - 1] = swap;
		}
}

static void read_layers(builder *b)
{
	static const struct {
		hob_str record, values, index;
		uint32_t width;
	} kinds[] = {
		{{"LayerElementNormal", 18}, {"Normals", 7}, {"NormalsIndex", 12}, 3},
		{{"LayerElementTangent", 19}, {"Tangents", 8}, {"TangentsIndex", 13}, 3},
		{{"LayerElementBinormal", 20}, {"Binormals", 9}, {"BinormalsIndex", 14}, 3},
		{{"LayerElementUV", 14}, {"UV", 2}, {"UVIndex", 7}, 2},
		{{"LayerElementColor", 17}, {"Colors", 6}, {"ColorIndex", 10}, 4},
	};
	hob_fbx *f = b->f;
	uint32_t record = f->records[b->record].child;
	for (; record != HOB_NONE; record = f->records[record].next) {
		if (f->records[record].name_len < 14 || f->file.data[f->records[record].name] != 'L')
			continue;
		for (size_t k = 0; k < HOB_COUNT_OF(kinds); k++) {
			if (!hob_fbx_record_is(f, record, kinds[k].record))
				continue;
			hob_fbx_layer *to = k == 0 ? &b->normal : k == 1 ? &b->tangent : k == 2 ? &b->binormal : NULL;
			if ((to && to->values) || (k == 3 && b->uv_count == HOB_UV_SETS) ||
				(k == 4 && b->color_count == HOB_COLOR_SETS)) {
				if (k >= 3)
					hob_fbx_note(f, "sets", "geometry '%.*s' has more %s than fit; the rest is left out",
								 HOB_FMT(f->objects[b->geometry->object].name),
								 k == 3 ? "texture coordinates" : "colours");
				continue;
			}
			hob_fbx_layer layer =
				fbx_read_layer(f, record, kinds[k].values, kinds[k].index, kinds[k].width, &b->counts);
			if (!layer.values || layer.mapping == HOB_FBX_BY_EDGE) {
				if (k != 3)
					continue;
				layer.values = NULL; /* keeps the set's number */
			}
			*(to ? to : k == 3 ? &b->uv[b->uv_count++] : &b->color[b->color_count++]) = layer;
		}
	}
	sort_sets(b->uv, b->uv_count);
	sort_sets(b->color, b->color_count);
	while (b->uv_count > 0 && !b->uv[b->uv_count - 1].values)
		b->uv_count--;
	for (uint32_t set = 0; set < b->uv_count; set++)
		b->geometry->uv_names[set] = b->uv[set].name;
	if (f->version > 0 && f->version < 6000)
		read_old_layers(b);
}

static void read_old_slots(builder *b)
{
	uint32_t count;
	const int32_t *numbers = hob_fbx_ints(b->f, hob_fbx_child(b->f, b->record, HOB_STR("Materials")), &count);
	hob_str mode = hob_fbx_child_text(b->f, b->record, HOB_STR("MaterialAssignation"));
	bool by_face = hob_str_equal(mode, HOB_STR("ByPolygon"));
	for (uint32_t face = 0; face < b->counts.faces && count > 0; face++) {
		int32_t slot = numbers[!by_face ? 0 : face < count ? face : count - 1];
		b->slots[face] = slot < 0 || slot >= SLOTS ? HOB_NONE : (uint32_t)slot;
	}
}

static void read_slots(builder *b)
{
	hob_fbx *f = b->f;
	uint32_t count;
	hob_fbx_mapping mapping;
	uint32_t record = hob_fbx_child(f, b->record, HOB_STR("LayerElementMaterial"));
	b->slots = HOB_NEW(f->scratch, uint32_t, b->counts.faces);
	if (record == HOB_NONE) {
		if (f->version > 0 && f->version < 6000)
			read_old_slots(b);
		return;
	}
	const int32_t *numbers = fbx_read_numbers(f, record, HOB_STR("Materials"), &b->counts, &count, &mapping);
	for (uint32_t face = 0; face < b->counts.faces; face++) {
		uint32_t at = mapping == HOB_FBX_BY_FACE ? face : 0;
		int32_t slot = at < count ? numbers[at] : count > 0 ? numbers[count - 1] : 0;
		b->slots[face] = slot < 0 || slot >= SLOTS ? HOB_NONE : (uint32_t)slot;
	}
}

/* ---- vertices */

static void turn_direction(const builder *b, const float *v, float *out)
{
	double q[3] = {(double)v[0], (double)v[1], (double)v[2]};
	const hob_fbx_geometry *g = b->geometry;
	if (g->has_geometric && !g->geometric_differs) {
		for (int k = 0; k < 3; k++)
			q[k] /= fabs(g->geometric.s[k]) > 1e-30 ? g->geometric.s[k] : 1;
		hob_fbx_quat_rotate(g->geometric.q, q, q);
	}
	double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
	if (b->f->mirrored)
		q[0] = -q[0];
	for (int k = 0; k < 3; k++)
		out[k] = length > 1e-30 ? (float)(q[k] / length) : 0;
}

static void put_tangent(const builder *b, const float *n, const float *t, const float *bi, float *out)
{
	float bitangent[3] = {0, 0, 0};
	turn_direction(b, t, out);
	if (bi)
		turn_direction(b, bi, bitangent);
	float along = out[0] * n[0] + out[1] * n[1] + out[2] * n[2];
	float v[3] = {out[0] - n[0] * along, out[1] - n[1] * along, out[2] - n[2] * along};
	float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
	for (int k = 0; k < 3; k++)
		out[k] = length > 1e-6f ? v[k] / length : 0;
	float cross[3] = {n[1] * out[2] - n[2] * out[1], n[2] * out[0] - n[0] * out[2],
					  n[0] * out[1] - n[1] * out[0]};
	out[3] = cross[0] * bitangent[0] + cross[1] * bitangent[1] + cross[2] * bitangent[2] < 0 ? -1 : 1;
}

static void fill_row(builder *b, uint32_t corner, uint32_t point, uint32_t face, float *row)
{
	const float *v;
	float *normal = NULL;
	if (b->normal.values || b->corner_normals) {
		normal = row;
		v = b->normal.values ? fbx_layer_value(&b->normal, corner, point, face) : NULL;
		if (b->corner_normals)
			memcpy(row, b->corner_normals + (size_t)corner * 3, 3 * sizeof *row);
		else if (v)
			turn_direction(b, v, row);
		row += 3;
	}
	if (b->tangent.values) {
		const float *bi = b->binormal.values ? fbx_layer_value(&b->binormal, corner, point, face) : NULL;
		v = fbx_layer_value(&b->tangent, corner, point, face);
		row[3] = 1;
		if (v)
			put_tangent(b, normal, v, bi, row);
		row += 4;
	}
	for (uint32_t set = 0; set < b->uv_count; set++, row += 2) {
		v = b->uv[set].values ? fbx_layer_value(&b->uv[set], corner, point, face) : NULL;
		if (v)
			row[0] = v[0], row[1] = 1 - v[1];
	}
	for (uint32_t set = 0; set < b->color_count; set++, row += 4) {
		v = fbx_layer_value(&b->color[set], corner, point, face);
		for (int k = 0; k < 4; k++)
			row[k] = !v ? 1 : v[k];
	}
}

/* Returns an equal vertex of the corner's control point, or adds one. */
static uint32_t vertex_of(builder *b, uint32_t corner, uint32_t face)
{
	float row[ROW_MAX] = {0};
	uint32_t point = b->corners[corner], count = (uint32_t)(b->points.size / sizeof point);
	const uint32_t *points = (const uint32_t *)(const void *)b->points.data;
	const uint32_t *next = (const uint32_t *)(const void *)b->next.data;
	const float *rows = (const float *)(const void *)b->rows.data;
	size_t bytes = b->stride * sizeof *row;
	fill_row(b, corner, point, face, row);
	uint32_t first = b->head[point];
	if (first >= count || points[first] != point)
		first = HOB_NONE;
	int looked = 0;
	for (uint32_t v = first; v != HOB_NONE && looked < CHAIN; v = next[v], looked++)
		if (bytes == 0 || memcmp(rows + (size_t)v * b->stride, row, bytes) == 0)
			return v;
	hob_buf_put(&b->points, &point, sizeof point);
	hob_buf_put(&b->next, &first, sizeof first);
	hob_buf_put(&b->rows, row, bytes);
	b->head[point] = count;
	return count;
}

static void put_face(builder *b, uint32_t face)
{
	uint32_t first = b->face_first[face], count = b->face_first[face + 1] - first;
	if (count < 3) {
		b->small++;
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		if (b->corners[first + i] >= b->counts.points ||
			!hob_shape_in_reach(b->position + (size_t)b->corners[first + i] * 3, 3)) {
			b->bad++;
			return;
		}
	hob_buf_clear(&b->cut);
	hob_buf_clear(&b->ids);
	uint32_t total = (count - 2) * 3;
	uint32_t *cut = (uint32_t *)(void *)hob_buf_grow(&b->cut, total * sizeof *cut);
	uint32_t *ids = (uint32_t *)(void *)hob_buf_grow(&b->ids, count * sizeof *ids);
	uint32_t *out = (uint32_t *)(void *)hob_buf_grow(&b->indices, total * sizeof *out);
	hob_polygon_triangulate(&b->polygon, b->position, b->corners + first, count, cut);
	for (uint32_t i = 0; i < count; i++)
		ids[i] = vertex_of(b, first + i, face);
	for (uint32_t i = 0; i < total; i += 3) {
		out[i] = ids[cut[i]];
		out[i + 1] = ids[cut[i + (b->flip ? 2 : 1)]];
		out[i + 2] = ids[cut[i + (b->flip ? 1 : 2)]];
	}
}

/* ---- a part */

static float *take_column(builder *b, uint32_t count, uint32_t at, uint32_t width)
{
	float *out = HOB_NEW(b->f->result, float, (size_t)count *width);
	const float *rows = (const float *)(const void *)b->rows.data;
	for (size_t v = 0; v < count; v++)
		memcpy(out + v * width, rows + v * b->stride + at, width * sizeof *out);
	return out;
}

static void take_columns(builder *b, hob_mesh *mesh)
{
	uint32_t at = 0, count = mesh->vertex_count;
	if (b->normal.values || b->corner_normals) {
		mesh->normal = take_column(b, count, at, 3);
		at += 3;
	}
	if (b->tangent.values) {
		mesh->tangent = take_column(b, count, at, 4);
		at += 4;
	}
	for (uint32_t set = 0; set < b->uv_count; set++, at += 2)
		mesh->uv[set] = take_column(b, count, at, 2);
	for (uint32_t set = 0; set < b->color_count; set++, at += 4) {
		mesh->color[set] = take_column(b, count, at, 4);
		for (size_t i = 0; i < (size_t)count * 4; i++)
			if (i % 4 < 3)
				mesh->color[set][i] = hob_shape_linear(fminf(mesh->color[set][i], brightest));
	}
}

static void finish_part(builder *b, hob_fbx_part *part)
{
	hob_fbx *f = b->f;
	hob_mesh *mesh = &part->mesh;
	part->points = hob_lists_array(f->scratch, &b->points, sizeof(uint32_t), &mesh->vertex_count);
	mesh->indices = hob_lists_array(f->result, &b->indices, sizeof(uint32_t), &mesh->index_count);
	mesh->position = HOB_NEW(f->result, float, (size_t)mesh->vertex_count * 3);
	take_columns(b, mesh);
	for (size_t v = 0; v < mesh->vertex_count; v++)
		memcpy(mesh->position + v * 3, b->position + (size_t)part->points[v] * 3, 3 * sizeof(float));
	hob_mesh_repair_directions(mesh);
	if (!mesh->normal)
		mesh->tangent = NULL;
}

static void start_part(builder *b)
{
	hob_buf_clear(&b->rows);
	hob_buf_clear(&b->points);
	hob_buf_clear(&b->next);
	hob_buf_clear(&b->indices);
}

/* Returns the faces in the order of their slots: a counting sort. */
static uint32_t *sort_faces(builder *b, uint32_t *parts, uint32_t **starts, uint32_t **slot_of)
{
	uint32_t most = 0, count = b->counts.faces;
	for (uint32_t i = 0; i < count; i++)
		if (b->slots[i] != HOB_NONE && b->slots[i] > most)
			most = b->slots[i];
	/* The slot "no material" comes last. */
	uint32_t *first = HOB_NEW(b->f->scratch, uint32_t, (size_t)most + 3);
	uint32_t *sorted = HOB_NEW(b->f->scratch, uint32_t, count);
	*starts = HOB_NEW(b->f->scratch, uint32_t, (size_t)most + 3);
	*slot_of = HOB_NEW(b->f->scratch, uint32_t, (size_t)most + 2);
	for (uint32_t i = 0; i < count; i++)
		first[(b->slots[i] == HOB_NONE ? most + 1 : b->slots[i]) + 1]++;
	*parts = 0;
	for (uint32_t s = 0; s <= most + 1; s++) {
		if (first[s + 1] > 0) {
			(*starts)[*parts] = first[s];
			(*slot_of)[(*parts)++] = s == most + 1 ? HOB_NONE : s;
		}
		first[s + 1] += first[s];
	}
	(*starts)[*parts] = count;
	for (uint32_t i = 0; i < count; i++)
		sorted[first[b->slots[i] == HOB_NONE ? most + 1 : b->slots[i]]++] = i;
	return sorted;
}

static void make_parts(builder *b)
{
	hob_fbx *f = b->f;
	hob_fbx_geometry *g = b->geometry;
	uint32_t count = 0, *starts, *slot_of;
	uint32_t *sorted = sort_faces(b, &count, &starts, &slot_of);
	b->head = HOB_NEW(f->scratch, uint32_t, b->counts.points);
	g->parts = HOB_NEW(f->result, hob_fbx_part, count);
	for (uint32_t p = 0; p < count; p++) {
		hob_fbx_part *part = &g->parts[g->part_count];
		start_part(b);
		for (uint32_t i = starts[p]; i < starts[p + 1]; i++)
			put_face(b, sorted[i]);
		if (b->indices.size == 0)
			continue;
		part->slot = slot_of[p];
		part->mesh.source_primitive = p;
		finish_part(b, part);
		g->part_count++;
	}
}

static void say_dropped(const builder *b, hob_str name)
{
	if (b->bad > 0)
		hob_fbx_note(
			b->f, "faces",
			"geometry '%.*s': %llu faces use a vertex that does not exist or lies nowhere; they are left out",
			HOB_FMT(name), (unsigned long long)b->bad);
	if (b->small > 0)
		hob_fbx_info(b->f, "small-faces",
					 "geometry '%.*s': %llu faces of less than three corners are left out", HOB_FMT(name),
					 (unsigned long long)b->small);
	if (b->polygon.careless > 0)
		hob_fbx_note(
			b->f, "large-polygons",
			"geometry '%.*s': large polygons that are not convex were cut without care; triangulate them "
			"before export",
			HOB_FMT(name));
}

static void build(builder *b)
{
	hob_fbx *f = b->f;
	double m[16];
	geometry_matrix(f, b->geometry, m);
	double determinant = m[0] * (m[5] * m[10] - m[9] * m[6]) - m[4] * (m[1] * m[10] - m[9] * m[2]) +
						 m[8] * (m[1] * m[6] - m[5] * m[2]);
	b->flip = determinant < 0;
	read_positions(b, HOB_STR("Vertices"), m);
	read_faces(b, HOB_STR("PolygonVertexIndex"));
	read_slots(b);
	read_layers(b);
	if (!b->normal.values)
		b->corner_normals = fbx_smooth_normals(b);
	if (!b->normal.values && !b->corner_normals)
		b->tangent.values = NULL;
	b->stride = (b->normal.values || b->corner_normals ? 3u : 0) + (b->tangent.values ? 4u : 0) +
				b->uv_count * 2 + b->color_count * 4;
	make_parts(b);
	say_dropped(b, f->objects[b->geometry->object].name);
}

/* ---- lines */

static void build_lines(builder *b)
{
	hob_fbx *f = b->f;
	double m[16];
	geometry_matrix(f, b->geometry, m);
	read_positions(b, HOB_STR("Points"), m);
	read_faces(b, HOB_STR("PointsIndex"));
	start_part(b);
	b->head = HOB_NEW(f->scratch, uint32_t, b->counts.points);
	b->geometry->parts = HOB_NEW(f->result, hob_fbx_part, 1);
	for (uint32_t face = 0; face < b->counts.faces; face++)
		for (uint32_t i = b->face_first[face]; i + 1 < b->face_first[face + 1]; i++) {
			if (b->corners[i] >= b->counts.points || b->corners[i + 1] >= b->counts.points)
				continue;
			for (uint32_t end = 0; end < 2; end++) {
				uint32_t vertex = vertex_of(b, i + end, face);
				hob_buf_put(&b->indices, &vertex, sizeof vertex);
			}
		}
	if (b->indices.size == 0)
		return;
	hob_fbx_part *part = b->geometry->parts;
	*part = (hob_fbx_part){.slot = 0, .mesh = {.topology = HOB_LINES}};
	b->geometry->part_count = 1;
	finish_part(b, part);
	hob_shape_fix_positions(&part->mesh, f->notes);
}

/* ---- all */

static void read_geometry(builder *b)
{
	hob_fbx *f = b->f;
	hob_fbx_geometry *g = b->geometry;
	if (hob_fbx_child(f, b->record, HOB_STR("Vertices")) == HOB_NONE) {
		if (hob_fbx_child(f, b->record, HOB_STR("Points")) != HOB_NONE &&
			hob_fbx_child(f, b->record, HOB_STR("PointsIndex")) != HOB_NONE)
			build_lines(b);
		return;
	}
	build(b);
	hob_fbx_read_shapes(f, g);
	hob_fbx_read_skin(f, g);
	for (uint32_t p = 0; p < g->part_count; p++)
		hob_fbx_make_targets(f, g, &g->parts[p]);
}

/* Determines whether the users of a geometry agree on its geometric transform. */
static void mark_users(hob_fbx *f)
{
	for (uint32_t id = 0; id < f->node_count; id++) {
		hob_fbx_node *node = &f->nodes[id];
		HOB_FBX_EACH_BELOW (edge, f, node->object, GEOMETRY, "") {
			uint32_t geometry = f->objects[edge->child].index;
			if (geometry == HOB_NONE)
				continue;
			hob_fbx_geometry *g = &f->geometries[geometry];
			if (g->used && memcmp(&g->geometric, &node->geometric, sizeof g->geometric) != 0)
				g->geometric_differs = true;
			g->has_geometric = g->has_geometric || node->has_geometric;
			g->geometric = node->geometric;
			g->used = true;
			if (node->geometry == HOB_NONE)
				node->geometry = geometry;
		}
	}
}

void hob_fbx_read_geometries(hob_fbx *f)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < f->object_count; i++)
		count += f->objects[i].class == HOB_FBX_GEOMETRY;
	f->geometries = HOB_NEW(f->result, hob_fbx_geometry, count);
	for (uint32_t i = 0; i < f->object_count; i++)
		if (f->objects[i].class == HOB_FBX_GEOMETRY &&
			!hob_str_equal(f->objects[i].subclass, HOB_STR("Shape"))) {
			f->geometries[f->geometry_count] = (hob_fbx_geometry){.object = i, .variant_first = HOB_NONE};
			f->objects[i].index = f->geometry_count++;
		}
	mark_users(f);
	for (uint32_t i = 0; i < f->geometry_count; i++) {
		hob_fbx_geometry *g = &f->geometries[i];
		if (!g->used)
			continue;
		builder b = {.f = f, .geometry = g, .record = f->objects[g->object].record};
		hob_arena_mark mark = hob_arena_save(f->scratch);
		HOB_PLACE("geometry '@'", 0, f->objects[g->object].name);
		read_geometry(&b);
		HOB_LISTS_FREE(&b.rows, &b.points, &b.next, &b.indices, &b.cut, &b.ids, &b.polygon.memory);
		hob_arena_restore(f->scratch, mark);
	}
}
