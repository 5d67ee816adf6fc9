#include "usd_subdivide.h"

#include <math.h>
#include <stdlib.h>

/* ---- edges */

typedef struct half {
	uint64_t key; /* both points, the lower first */
	uint32_t corner, face;
} half_t;

static uint64_t key_of(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static int compare_halves(const void *a, const void *b)
{
	const half_t *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->corner > y->corner) - (x->corner < y->corner);
}

/* Creased edges, sorted by key. */
typedef struct crease {
	uint64_t key;
	float sharpness;
} crease_t;

typedef struct creases {
	crease_t *items;
	uint32_t count, room;
	float *points; /* [point_count] sharpness of the level's points */
} creases_t;

static int compare_creases(const void *a, const void *b)
{
	const crease_t *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

static float sharpness_of(const creases_t *c, uint64_t key)
{
	uint32_t first = 0, end = c->count;
	while (first < end) {
		uint32_t middle = first + (end - first) / 2;
		if (c->items[middle].key < key)
			first = middle + 1;
		else
			end = middle;
	}
	return first < c->count && c->items[first].key == key ? c->items[first].sharpness : 0;
}

static float within(float sharpness)
{
	return sharpness > 0 ? sharpness < 1 ? sharpness : 1 : 0;
}

static bool find_edges(hob_arena *arena, hob_usd_level *l, const creases_t *creases, hob_error *err)
{
	half_t *halves = HOB_NEW(arena, half_t, l->corner_count);
	l->ends = (uint32_t(*)[2])HOB_NEW(arena, uint32_t, l->corner_count * 2);
	l->sides = (uint32_t(*)[2])HOB_NEW(arena, uint32_t, l->corner_count * 2);
	l->edge_of = HOB_NEW(arena, uint32_t, l->corner_count);
	l->edge_sharp = HOB_NEW(arena, float, l->corner_count);
	l->point_sharp = HOB_NEW(arena, float, l->point_count);
	if (!halves || !l->ends || !l->sides || !l->edge_of || !l->edge_sharp || !l->point_sharp)
		return hob_fail_memory(err, arena, "subdivision");
	size_t corner = 0;
	for (size_t f = 0; f < l->face_count; f++) {
		size_t count = (size_t)l->counts[f];
		for (size_t i = 0; i < count; i++) {
			uint32_t a = (uint32_t)l->indices[corner + i], b = (uint32_t)l->indices[corner + (i + 1) % count];
			halves[corner + i] = (half_t){key_of(a, b), (uint32_t)(corner + i), (uint32_t)f};
		}
		corner += count;
	}
	qsort(halves, l->corner_count, sizeof *halves, compare_halves);
	for (size_t i = 0; i < l->corner_count;) {
		size_t edge = l->edge_count++, begin = i;
		l->ends[edge][0] = (uint32_t)(halves[i].key >> 32);
		l->ends[edge][1] = (uint32_t)halves[i].key;
		l->sides[edge][0] = halves[i].face;
		l->sides[edge][1] = HOB_NONE;
		for (; i < l->corner_count && halves[i].key == halves[begin].key; i++) {
			l->edge_of[halves[i].corner] = (uint32_t)edge;
			l->sides[edge][1] = i > begin ? halves[i].face : HOB_NONE;
		}
		/* Boundary edges, and edges of three or more faces, are sharp. */
		l->edge_sharp[edge] = i - begin == 2 ? sharpness_of(creases, halves[begin].key) : (float)INFINITY;
	}
	for (size_t p = 0; p < l->point_count; p++)
		l->point_sharp[p] = creases->points[p];
	return true;
}

/* ---- one level: the points, then one point per edge, then one per face */

static float *place_of(float *values, size_t at, uint32_t width)
{
	return values + at * width;
}

static void face_points(const hob_usd_level *l, const float *from, uint32_t width, float *to)
{
	size_t corner = 0;
	for (size_t f = 0; f < l->face_count; f++) {
		size_t count = (size_t)l->counts[f];
		for (size_t i = 0; i < count; i++, corner++)
			for (uint32_t k = 0; k < width; k++)
				to[f * width + k] += from[(size_t)l->indices[corner] * width + k] / (float)count;
	}
}

static void edge_points(const hob_usd_level *l, const float *from, const float *faces, uint32_t width,
						float *to)
{
	for (size_t e = 0; e < l->edge_count; e++)
		for (uint32_t k = 0; k < width; k++) {
			float middle =
				(from[(size_t)l->ends[e][0] * width + k] + from[(size_t)l->ends[e][1] * width + k]) / 2;
			float smooth = middle, sharp = within(l->edge_sharp[e]);
			if (l->sides[e][1] != HOB_NONE)
				smooth = (middle + (faces[(size_t)l->sides[e][0] * width + k] +
									faces[(size_t)l->sides[e][1] * width + k]) /
									   2) /
						 2;
			to[e * width + k] = sharp * middle + (1 - sharp) * smooth;
		}
}

/* Neighbourhood of a point; creases[1] counts only those that remain creases in the next level. */
typedef struct around {
	uint32_t edges, faces, creases[2], ending;
	float ends; /* sum of the sharpnesses that reach 0 in this level */
} around_t;

typedef enum rule { SMOOTH, CREASE, CORNER } rule_t;

/* Finds the rule of a point. A corner of the surface stays in place: the default of interpolateBoundary. */
static rule_t rule_of(const around_t *a, float sharpness, int later)
{
	if (sharpness > (float)later || a->creases[later] > 2 || a->faces <= 1)
		return CORNER;
	return a->creases[later] == 2 ? CREASE : SMOOTH;
}

/* `sum`: [4] over neighbours, faces, neighbours by creases, neighbours by remaining creases. */
static float by_rule(rule_t rule, const around_t *a, float own, const float *sum, uint32_t width, int later)
{
	float n = (float)a->edges;
	if (rule == CORNER || a->edges < 2)
		return own;
	if (rule == CREASE)
		return own * 0.75f + sum[(size_t)(2 + later) * width] / 8;
	return own * (n - 2) / n + (sum[0] + sum[width] * n / (float)a->faces) / (n * n);
}

static void look_around(const hob_usd_level *l, const float *from, const float *faces, uint32_t width,
						around_t *around, float *sums)
{
	for (size_t e = 0; e < l->edge_count; e++)
		for (int end = 0; end < 2; end++) {
			size_t at = l->ends[e][end], other = l->ends[e][1 - end];
			float sharp = l->edge_sharp[e];
			around_t *a = &around[at];
			a->edges++;
			a->creases[0] += sharp > 0;
			a->creases[1] += sharp > 1;
			a->ending += sharp > 0 && sharp <= 1;
			a->ends += sharp <= 1 ? sharp : 0;
			for (uint32_t k = 0; k < width; k++) {
				float *sum = &sums[at * width * 4 + k], value = from[other * width + k];
				sum[0] += value;
				sum[(size_t)2 * width] += sharp > 0 ? value : 0;
				sum[(size_t)3 * width] += sharp > 1 ? value : 0;
			}
		}
	for (size_t f = 0, corner = 0; f < l->face_count; f++)
		for (int32_t i = 0; i < l->counts[f]; i++, corner++) {
			size_t at = (size_t)l->indices[corner];
			around[at].faces++;
			for (uint32_t k = 0; k < width; k++)
				sums[at * width * 4 + width + k] += faces[f * width + k];
		}
}

/* If the rule changes at the next level, blends both; the current rule is weighted by the sharpness that runs
 * out. */
static bool moved_points(hob_arena *arena, const hob_usd_level *l, const float *from, const float *faces,
						 uint32_t width, float *to, hob_error *err)
{
	around_t *around = HOB_NEW(arena, around_t, l->point_count);
	float *sums = HOB_NEW(arena, float, l->point_count *width * 4);
	if (!around || !sums)
		return hob_fail_memory(err, arena, "subdivision");
	look_around(l, from, faces, width, around, sums);
	for (size_t p = 0; p < l->point_count; p++) {
		const around_t *a = &around[p];
		float sharp = l->point_sharp[p], weight = 1;
		rule_t now = rule_of(a, sharp, 0), later = rule_of(a, sharp, 1);
		bool ends = sharp > 0 && sharp <= 1;
		if (now != later)
			weight = within((a->ends + (ends ? sharp : 0)) / (float)(a->ending + ends));
		for (uint32_t k = 0; k < width; k++) {
			float own = from[p * width + k];
			const float *sum = &sums[p * width * 4 + k];
			to[p * width + k] = weight * by_rule(now, a, own, sum, width, 0) +
								(1 - weight) * by_rule(later, a, own, sum, width, 1);
		}
	}
	return true;
}

static bool refine_points(hob_arena *arena, const hob_usd_level *l, const float *from, uint32_t width,
						  float **out, hob_error *err)
{
	size_t count = l->point_count + l->edge_count + l->face_count;
	float *to = HOB_NEW(arena, float, count *width);
	*out = to;
	if (!to)
		return hob_fail_memory(err, arena, "subdivision");
	float *edges = place_of(to, l->point_count, width),
		  *faces = place_of(to, l->point_count + l->edge_count, width);
	face_points(l, from, width, faces);
	edge_points(l, from, faces, width, edges);
	return moved_points(arena, l, from, faces, width, to, err);
}

/* ---- levels */

/* Makes a quad for each corner: the corner, its edge's midpoint, the face point, the midpoint of the edge
 * before it. */
static bool refine_faces(hob_arena *arena, const hob_usd_level *l, hob_usd_level *next, uint32_t **face_of,
						 hob_error *err)
{
	int32_t *counts = HOB_NEW(arena, int32_t, l->corner_count),
			*indices = HOB_NEW(arena, int32_t, l->corner_count * 4);
	uint32_t *faces = HOB_NEW(arena, uint32_t, l->corner_count);
	if (!counts || !indices || !faces)
		return hob_fail_memory(err, arena, "subdivision");
	for (size_t f = 0, first = 0; f < l->face_count; first += (size_t)l->counts[f++]) {
		size_t count = (size_t)l->counts[f];
		for (size_t i = 0; i < count; i++) {
			size_t at = first + i, before = first + (i + count - 1) % count;
			counts[at] = 4;
			faces[at] = *face_of ? (*face_of)[f] : (uint32_t)f;
			indices[at * 4] = l->indices[at];
			indices[at * 4 + 1] = (int32_t)(l->point_count + l->edge_of[at]);
			indices[at * 4 + 2] = (int32_t)(l->point_count + l->edge_count + f);
			indices[at * 4 + 3] = (int32_t)(l->point_count + l->edge_of[before]);
		}
	}
	*face_of = faces;
	*next = (hob_usd_level){.point_count = l->point_count + l->edge_count + l->face_count,
							.face_count = l->corner_count,
							.corner_count = l->corner_count * 4,
							.counts = counts,
							.indices = indices};
	return true;
}

/* Makes two creases from the halves of each, with a sharpness lower by one. */
static bool refine_creases(hob_arena *arena, const hob_usd_level *l, creases_t *c, hob_error *err)
{
	creases_t next = {.room = c->count * 2 + 1};
	next.items = HOB_NEW(arena, crease_t, next.room);
	next.points = HOB_NEW(arena, float, l->point_count + l->edge_count + l->face_count);
	if (!next.items || !next.points)
		return hob_fail_memory(err, arena, "subdivision");
	for (size_t e = 0; e < l->edge_count && c->count > 0; e++) {
		float sharpness = sharpness_of(c, key_of(l->ends[e][0], l->ends[e][1])) - 1;
		for (int end = 0; end < 2 && sharpness > 0; end++)
			next.items[next.count++] =
				(crease_t){key_of(l->ends[e][end], (uint32_t)(l->point_count + e)), sharpness};
	}
	for (size_t p = 0; p < l->point_count; p++)
		next.points[p] = c->points[p] > 1 ? c->points[p] - 1 : 0;
	if (next.count > 0)
		qsort(next.items, next.count, sizeof *next.items, compare_creases);
	*c = next;
	return true;
}

static double number_at(const hob_usd_value *value, size_t i)
{
	return value && i < value->count ? hob_usd_component(value, i) : 0;
}

static bool read_creases(hob_usd_build_t *b, const hob_usd_prim *prim, size_t point_count, creases_t *out,
						 hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_value *indices = hob_usd_still(u, prim, HOB_STR("creaseIndices"));
	const hob_usd_value *lengths = hob_usd_still(u, prim, HOB_STR("creaseLengths"));
	const hob_usd_value *sharp = hob_usd_still(u, prim, HOB_STR("creaseSharpnesses"));
	const hob_usd_value *corners = hob_usd_still(u, prim, HOB_STR("cornerIndices"));
	const hob_usd_value *corner_sharp = hob_usd_still(u, prim, HOB_STR("cornerSharpnesses"));
	*out = (creases_t){.room = indices ? (uint32_t)indices->count + 1 : 1};
	out->items = HOB_NEW(u->scratch, crease_t, out->room);
	out->points = HOB_NEW(u->scratch, float, point_count);
	if (!out->items || !out->points)
		return hob_fail_memory(err, u->scratch, "subdivision");
	size_t at = 0, edge = 0;
	for (size_t c = 0; indices && lengths && sharp && c < lengths->count; c++) {
		double length = hob_usd_component(lengths, c);
		bool each = sharp->count != lengths->count;
		for (size_t i = 1; length >= 2 && i < (size_t)length && at + i < indices->count; i++, edge++) {
			double a = hob_usd_component(indices, at + i - 1), z = hob_usd_component(indices, at + i);
			if (a >= 0 && z >= 0 && a < (double)point_count && z < (double)point_count &&
				out->count < out->room)
				out->items[out->count++] =
					(crease_t){key_of((uint32_t)a, (uint32_t)z), (float)number_at(sharp, each ? edge : c)};
		}
		at += length > 0 && length < (double)indices->count ? (size_t)length : indices->count;
	}
	for (size_t i = 0; corners && i < corners->count; i++) {
		double p = hob_usd_component(corners, i);
		if (p >= 0 && p < (double)point_count)
			out->points[(size_t)p] = (float)number_at(corner_sharp, i);
	}
	if (out->count > 0)
		qsort(out->items, out->count, sizeof *out->items, compare_creases);
	return true;
}

bool hob_usd_subdivide(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *cage, uint32_t levels,
					   hob_usd_subdivision *out, hob_error *err)
{
	hob_arena *arena = b->u->scratch;
	creases_t creases;
	const float *points = cage->points;
	*out = (hob_usd_subdivision){.fine = *cage};
	hob_usd_level now = {.point_count = cage->point_count,
						 .face_count = cage->face_count,
						 .counts = cage->counts,
						 .indices = cage->indices};
	for (size_t f = 0; f < cage->face_count; f++)
		now.corner_count += (size_t)cage->counts[f];
	if (!read_creases(b, &b->u->prims[prim], cage->point_count, &creases, err))
		return false;
	while (out->level_count < levels && now.corner_count <= HOB_LIMIT_INDICES / 32) {
		hob_usd_level *l = &out->levels[out->level_count++], next;
		float *moved;
		*l = now;
		if (!find_edges(arena, l, &creases, err) || !refine_points(arena, l, points, 3, &moved, err) ||
			!refine_faces(arena, l, &next, &out->face_of, err) || !refine_creases(arena, l, &creases, err))
			return false;
		points = moved;
		now = next;
	}
	out->fine.points = points;
	out->fine.point_count = now.point_count;
	out->fine.counts = now.counts;
	out->fine.indices = now.indices;
	out->fine.face_count = now.face_count;
	out->fine.corner_count = now.corner_count;
	return true;
}

/* ---- values */

static bool spread(hob_arena *arena, const hob_usd_stream *stream, size_t count, float **out, hob_error *err)
{
	*out = HOB_NEW(arena, float, count * stream->width);
	if (!*out)
		return hob_fail_memory(err, arena, "subdivision");
	for (size_t i = 0; i < count; i++) {
		const float *from = hob_usd_stream_at(stream, i, i, i);
		if (from)
			memcpy(*out + i * stream->width, from, stream->width * sizeof **out);
	}
	return true;
}

static bool refine_corners(hob_arena *arena, const hob_usd_level *l, const float *from, uint32_t width,
						   float **out, hob_error *err)
{
	float *to = HOB_NEW(arena, float, l->corner_count * 4 * width);
	*out = to;
	if (!to)
		return hob_fail_memory(err, arena, "subdivision");
	for (size_t f = 0, first = 0; f < l->face_count; first += (size_t)l->counts[f++]) {
		size_t count = (size_t)l->counts[f];
		for (uint32_t k = 0; k < width; k++) {
			float middle = 0;
			for (size_t i = 0; i < count; i++)
				middle += from[(first + i) * width + k] / (float)count;
			for (size_t i = 0; i < count; i++) {
				float own = from[(first + i) * width + k], next = from[(first + (i + 1) % count) * width + k];
				float before = from[(first + (i + count - 1) % count) * width + k];
				float *quad = to + (first + i) * 4 * width + k;
				quad[0] = own;
				quad[width] = (own + next) / 2;
				quad[2 * width] = middle;
				quad[3 * width] = (before + own) / 2;
			}
		}
	}
	return true;
}

bool hob_usd_subdivide_stream(hob_usd_build_t *b, const hob_usd_subdivision *s, hob_usd_stream *stream,
							  hob_error *err)
{
	hob_arena *arena = b->u->scratch;
	if (!stream->items || stream->interpolation == HOB_USD_CONSTANT || s->level_count == 0)
		return true;
	const hob_usd_level *cage = &s->levels[0];
	bool faces = stream->interpolation == HOB_USD_UNIFORM,
		 points = stream->interpolation == HOB_USD_PER_POINT;
	float *values;
	if (!spread(arena, stream,
				faces	 ? cage->face_count
				: points ? cage->point_count
						 : cage->corner_count,
				&values, err))
		return false;
	for (uint32_t i = 0; i < s->level_count && !faces; i++)
		if (!(points ? refine_points : refine_corners)(arena, &s->levels[i], values, stream->width, &values,
													   err))
			return false;
	*stream = (hob_usd_stream){values, cage->face_count, stream->width, NULL, 0, stream->interpolation};
	stream->item_count = faces ? cage->face_count : points ? s->fine.point_count : s->fine.corner_count;
	if (faces) {
		stream->indices = (const int32_t *)(const void *)s->face_of;
		stream->index_count = s->fine.face_count;
	}
	return true;
}
