#include "usd_build.h"
#include "usd_skel.h"
#include "../polygon.h"
#include "../shape.h"

#include <math.h>
#include <stdlib.h>

enum { HOB_USD_LEVELS = 4 };

/* ---- Catmull-Clark subdivision of polygons and their attributes
 *
 * Each level makes a quad of every corner. Points follow the rules of Catmull and Clark 1978; creases and
 * corners those of DeRose, Kass and Truong 1998, blended as OpenSubdiv 3 blends them; boundaries are sharp.
 * Values per point follow the same rules; values per corner are linear within each face, so that seams stay
 * in place; values per face are inherited. */

/* Polygons of one level, and the weights that give the next level's points. */
typedef struct hob_usd_level {
	size_t point_count, face_count, corner_count, edge_count;
	const int32_t *counts, *indices;
	uint32_t (*ends)[2], (*sides)[2]; /* [edge_count] the edge's two points; its two faces or HOB_NONE */
	uint32_t *edge_of;				  /* [corner_count] edge from the corner to the next one of its face */
	float *edge_sharp;				  /* [edge_count] 0: smooth; each level subtracts 1; boundary: infinite */
	float *point_sharp;				  /* [point_count] */
} hob_usd_level;

typedef struct hob_usd_subdivision {
	uint32_t level_count;
	hob_usd_level levels[HOB_USD_LEVELS];
	hob_usd_polygons fine;
	uint32_t *face_of; /* [fine.face_count] face of the cage */
} hob_usd_subdivision;

const hob_usd_value *hob_usd_primvar(hob_usd *u, uint32_t prim, hob_str name, uint32_t *owner)
{
	hob_str full = hob_arena_printf(u->scratch, "primvars:%.*s", HOB_FMT(name));
	for (uint32_t p = prim; p != HOB_NONE; p = u->prims[p].parent) {
		const hob_usd_prim *at = &u->prims[p];
		const hob_usd_value *value = hob_usd_still(u, at, full);
		hob_str how = value ? hob_usd_text(hob_usd_meta(u, at, full, HOB_USD_T_interpolation)) : HOB_STR("");
		/* Only constant primvars are inherited. */
		if (value && (p == prim || how.len == 0 || hob_str_equal(how, HOB_STR("constant")))) {
			*owner = p;
			return value;
		}
	}
	*owner = HOB_NONE;
	return NULL;
}

void hob_usd_primvar_one(hob_usd *u, uint32_t prim, hob_str name, uint32_t width, float *out)
{
	uint32_t owner;
	const hob_usd_value *value = hob_usd_primvar(u, prim, name, &owner);
	hob_str indices = hob_arena_printf(u->scratch, "primvars:%.*s:indices", HOB_FMT(name));
	const hob_usd_value *index = value ? hob_usd_still(u, &u->prims[owner], indices) : NULL;
	if (!value || value->width != width || (index ? index->count : value->count) != 1)
		return;
	double at = index ? hob_usd_component(index, 0) : 0;
	for (uint32_t k = 0; at >= 0 && at < (double)value->count && k < width; k++)
		out[k] = (float)hob_usd_component(value, (size_t)at * width + k);
}

static hob_usd_interpolation interpolation_of(hob_str name)
{
	if (hob_str_equal(name, HOB_STR("uniform")))
		return HOB_USD_UNIFORM;
	if (hob_str_equal(name, HOB_STR("vertex")) || hob_str_equal(name, HOB_STR("varying")))
		return HOB_USD_PER_POINT;
	return hob_str_equal(name, HOB_STR("faceVarying")) ? HOB_USD_PER_CORNER : HOB_USD_CONSTANT;
}

/* Finds the interpolation that fits the number of values, for files that omit it. */
static hob_usd_interpolation fitting(size_t count, const hob_usd_polygons *polygons,
									 hob_usd_interpolation said)
{
	if (said != HOB_USD_CONSTANT || count <= 1)
		return said;
	return count == polygons->point_count	 ? HOB_USD_PER_POINT
		   : count == polygons->corner_count ? HOB_USD_PER_CORNER
		   : count == polygons->face_count	 ? HOB_USD_UNIFORM
											 : said;
}

static void usd_stream_open(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *polygons, hob_str name,
							uint32_t width, hob_usd_stream *out)
{
	hob_usd *u = b->u;
	uint32_t owner;
	*out = (hob_usd_stream){.width = width};
	const hob_usd_value *value = hob_usd_primvar(u, prim, name, &owner);
	hob_str full = hob_arena_printf(u->scratch, "primvars:%.*s", HOB_FMT(name));
	bool is_normal = hob_str_equal(name, HOB_STR("normals"));
	hob_usd_interpolation fallback = HOB_USD_CONSTANT;
	if (!value && is_normal) {
		/* The plain attribute, used before there were primvars, is per point by default. */
		owner = prim;
		full = name;
		fallback = HOB_USD_PER_POINT;
		value = hob_usd_still(u, &u->prims[prim], name);
	}
	if (!value)
		return;
	/* Drops a surplus component, as in three-component texture coordinates. */
	uint32_t stored = value->width;
	if (stored == width + 1 && width >= 2) {
		const float *wide = hob_usd_floats(u, value, stored, &out->item_count);
		float *narrow = HOB_NEW(u->scratch, float, out->item_count *width);
		for (size_t i = 0; i < out->item_count; i++)
			memcpy(narrow + i * width, wide + i * stored, width * sizeof *narrow);
		out->items = narrow;
	} else {
		out->items = hob_usd_floats(u, value, width, &out->item_count);
	}
	hob_str indices = hob_arena_printf(u->scratch, "%.*s:indices", HOB_FMT(full));
	const hob_usd_value *index = hob_usd_still(u, &u->prims[owner], indices);
	if (index && index->kind == HOB_USD_I32 && index->width == 1) {
		out->indices = (const int32_t *)index->data;
		out->index_count = index->count;
	}
	hob_str how = hob_usd_text(hob_usd_meta(u, &u->prims[owner], full, HOB_USD_T_interpolation));
	out->interpolation = how.len > 0 ? interpolation_of(how) : fallback;
	size_t said = out->indices ? out->index_count : out->item_count;
	out->interpolation = fitting(said, polygons, out->interpolation);
	const size_t needed[] = {1, polygons->face_count, polygons->point_count, polygons->corner_count};
	if (said > 1 && said < needed[out->interpolation]) {
		hob_usd_note(u, "primvar-short",
					 "'%.*s' of prim '%.*s' has %zu values for %zu places; it is left out, as in OpenUSD",
					 HOB_FMT(full), HOB_FMT(u->prims[prim].path), said, needed[out->interpolation]);
		*out = (hob_usd_stream){.width = width};
	}
}

/* The value at a corner; NULL when the file has none there. */
static const float *usd_stream_at(const hob_usd_stream *stream, size_t face, size_t point, size_t corner)
{
	const size_t places[] = {0, face, point, corner};
	size_t at = places[stream->interpolation];
	if (stream->indices) {
		if (at >= stream->index_count || stream->indices[at] < 0)
			return NULL;
		at = (size_t)stream->indices[at];
	}
	return at < stream->item_count ? stream->items + at * stream->width : NULL;
}

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

static void find_edges(hob_arena *arena, hob_usd_level *l, const creases_t *creases)
{
	half_t *halves = HOB_NEW(arena, half_t, l->corner_count);
	l->ends = (uint32_t(*)[2])HOB_NEW(arena, uint32_t, l->corner_count * 2);
	l->sides = (uint32_t(*)[2])HOB_NEW(arena, uint32_t, l->corner_count * 2);
	l->edge_of = HOB_NEW(arena, uint32_t, l->corner_count);
	l->edge_sharp = HOB_NEW(arena, float, l->corner_count);
	l->point_sharp = HOB_NEW(arena, float, l->point_count);
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
static void moved_points(hob_arena *arena, const hob_usd_level *l, const float *from, const float *faces,
						 uint32_t width, float *to)
{
	around_t *around = HOB_NEW(arena, around_t, l->point_count);
	float *sums = HOB_NEW(arena, float, l->point_count *width * 4);
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
}

static float *refine_points(hob_arena *arena, const hob_usd_level *l, const float *from, uint32_t width)
{
	size_t count = l->point_count + l->edge_count + l->face_count;
	float *to = HOB_NEW(arena, float, count *width);
	float *edges = place_of(to, l->point_count, width),
		  *faces = place_of(to, l->point_count + l->edge_count, width);
	face_points(l, from, width, faces);
	edge_points(l, from, faces, width, edges);
	moved_points(arena, l, from, faces, width, to);
	return to;
}

/* ---- levels */

/* Makes a quad for each corner: the corner, its edge's midpoint, the face point, the midpoint of the edge
 * before it. */
static void refine_faces(hob_arena *arena, const hob_usd_level *l, hob_usd_level *next, uint32_t **face_of)
{
	int32_t *counts = HOB_NEW(arena, int32_t, l->corner_count),
			*indices = HOB_NEW(arena, int32_t, l->corner_count * 4);
	uint32_t *faces = HOB_NEW(arena, uint32_t, l->corner_count);
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
}

/* Makes two creases from the halves of each, with a sharpness lower by one. */
static void refine_creases(hob_arena *arena, const hob_usd_level *l, creases_t *c)
{
	creases_t next = {.room = c->count * 2 + 1};
	next.items = HOB_NEW(arena, crease_t, next.room);
	next.points = HOB_NEW(arena, float, l->point_count + l->edge_count + l->face_count);
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
}

static double number_at(const hob_usd_value *value, size_t i)
{
	return value && i < value->count ? hob_usd_component(value, i) : 0;
}

static void read_creases(hob_usd_build_t *b, const hob_usd_prim *prim, size_t point_count, creases_t *out)
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
}

/* Refines `cage`, all of whose point indices must be valid, `levels` times (1 to HOB_USD_LEVELS), fewer if
 * the result would be too large. Creases come from the prim. All memory is from the scratch arena. */
static void usd_subdivide(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *cage, uint32_t levels,
						  hob_usd_subdivision *out)
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
	read_creases(b, &b->u->prims[prim], cage->point_count, &creases);
	while (out->level_count < levels && now.corner_count <= HOB_LIMIT_INDICES / 32) {
		hob_usd_level *l = &out->levels[out->level_count++], next;
		*l = now;
		find_edges(arena, l, &creases);
		points = refine_points(arena, l, points, 3);
		refine_faces(arena, l, &next, &out->face_of);
		refine_creases(arena, l, &creases);
		now = next;
	}
	out->fine.points = points;
	out->fine.point_count = now.point_count;
	out->fine.counts = now.counts;
	out->fine.indices = now.indices;
	out->fine.face_count = now.face_count;
	out->fine.corner_count = now.corner_count;
}

/* ---- values */

static float *spread(hob_arena *arena, const hob_usd_stream *stream, size_t count)
{
	float *out = HOB_NEW(arena, float, count * stream->width);
	for (size_t i = 0; i < count; i++) {
		const float *from = usd_stream_at(stream, i, i, i);
		if (from)
			memcpy(out + i * stream->width, from, stream->width * sizeof *out);
	}
	return out;
}

static float *refine_corners(hob_arena *arena, const hob_usd_level *l, const float *from, uint32_t width)
{
	float *to = HOB_NEW(arena, float, l->corner_count * 4 * width);
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
	return to;
}

/* Refines a stream of the cage to the fine polygons. */
static void usd_subdivide_stream(hob_usd_build_t *b, const hob_usd_subdivision *s, hob_usd_stream *stream)
{
	hob_arena *arena = b->u->scratch;
	if (!stream->items || stream->interpolation == HOB_USD_CONSTANT || s->level_count == 0)
		return;
	const hob_usd_level *cage = &s->levels[0];
	bool faces = stream->interpolation == HOB_USD_UNIFORM,
		 points = stream->interpolation == HOB_USD_PER_POINT;
	float *values = spread(arena, stream,
						   faces	? cage->face_count
						   : points ? cage->point_count
									: cage->corner_count);
	for (uint32_t i = 0; i < s->level_count && !faces; i++)
		values = (points ? refine_points : refine_corners)(arena, &s->levels[i], values, stream->width);
	*stream = (hob_usd_stream){values, cage->face_count, stream->width, NULL, 0, stream->interpolation};
	stream->item_count = faces ? cage->face_count : points ? s->fine.point_count : s->fine.corner_count;
	if (faces) {
		stream->indices = (const int32_t *)(const void *)s->face_of;
		stream->index_count = s->fine.face_count;
	}
}

/* ---- reserving */

hob_mesh *hob_usd_add_mesh(hob_usd_build_t *b, uint32_t node)
{
	hob_model *m = &b->model;
	hob_arena *arena = b->u->scratch;
	if (m->mesh_count >= HOB_LIMIT_MESHES)
		hob_leave(LIMIT, "more than %llu meshes", HOB_LIMIT_MESHES);
	hob_node *owner = &m->nodes[node];
	if (owner->mesh_count == 0)
		owner->mesh_first = m->mesh_ref_count;
	HOB_USD_PUT(arena, m->mesh_refs, m->mesh_ref_count, m->mesh_count);
	hob_mesh mesh = {
		.name = owner->name, .source_mesh = b->source_meshes, .source_primitive = owner->mesh_count++};
	uint32_t id = HOB_USD_PUT(arena, m->meshes, m->mesh_count, mesh);
	return &m->meshes[id];
}

/* ---- one part of a surface: faces of one material */

typedef struct corner {
	uint32_t face, point, corner;
} corner_t;

typedef struct part {
	hob_usd_build_t *b;
	uint32_t prim;
	/* cage: the authored mesh; the same as polygons without subdivision */
	const hob_usd_polygons *polygons, *cage;
	const hob_usd_subdivision *refined; /* NULL: no subdivision */
	hob_usd_stream normals, colors, opacities, uvs[HOB_UV_SETS];
	uint32_t uv_count;
	bool by_corner;
	uint32_t *place; /* [points or corners] vertex of each; HOB_NONE between two parts */
	corner_t *vertices;
	uint32_t vertex_count, index_count;
	uint32_t *indices, cut_room, *cut;
	hob_polygon polygon;
} part_t;

static void add_corner(part_t *p, corner_t corner, uint32_t *out)
{
	hob_arena *arena = &p->b->u->passing;
	uint32_t *slot = &p->place[p->by_corner ? corner.corner : corner.point];
	if (*slot == HOB_NONE)
		*slot = HOB_USD_PUT(arena, p->vertices, p->vertex_count, corner);
	*out = *slot;
}

static void add_face(part_t *p, uint32_t face, uint32_t first, uint32_t count)
{
	const hob_usd_polygons *g = p->polygons;
	hob_arena *arena = &p->b->u->passing;
	if (count * 3 > p->cut_room) {
		p->cut_room = count * 6;
		p->cut = HOB_NEW(arena, uint32_t, p->cut_room);
	}
	uint32_t triangles = (count - 2) * 3;
	hob_polygon_triangulate(&p->polygon, g->points, (const uint32_t *)(const void *)(g->indices + first),
							count, p->cut);
	for (uint32_t i = 0; i < triangles; i++) {
		/* Left-handed faces are reversed. */
		uint32_t k = g->left_handed ? i - i % 3 + 2 - i % 3 : i, at = first + p->cut[k];
		HOB_USD_ROOM(arena, p->indices, p->index_count);
		add_corner(p, (corner_t){face, (uint32_t)g->indices[at], at}, &p->indices[p->index_count]);
		p->index_count++;
	}
}

static bool by_corner(const hob_usd_stream *s)
{
	return s->items && (s->interpolation == HOB_USD_UNIFORM || s->interpolation == HOB_USD_PER_CORNER);
}

static void open_stream(part_t *p, hob_str name, uint32_t width, hob_usd_stream *out)
{
	usd_stream_open(p->b, p->prim, p->cage, name, width, out);
	if (p->refined)
		usd_subdivide_stream(p->b, p->refined, out);
}

/* As open_stream, but a stream of a single value is copied to `one`, a factor of the material. */
static void open_shown(part_t *p, const char *name, uint32_t width, hob_usd_stream *out, float *one)
{
	usd_stream_open(p->b, p->prim, p->cage, hob_str_of(name), width, out);
	if (out->interpolation == HOB_USD_CONSTANT || (out->indices ? out->index_count : out->item_count) == 1) {
		const float *first = usd_stream_at(out, 0, 0, 0);
		if (first)
			memcpy(one, first, width * sizeof *one);
		out->items = NULL;
	}
	if (p->refined)
		usd_subdivide_stream(p->b, p->refined, out);
}

static void open_streams(part_t *p, uint32_t material, bool bound)
{
	const hob_usd_polygons *g = p->polygons;
	const hob_usd_look *look = &p->b->looks[material];
	static const char *const usual[] = {"st", "UVMap", "st0", "st_0", "map1", "uv", "Texture_uv"};
	if (g->corner_normals)
		p->normals = (hob_usd_stream){g->corner_normals, g->corner_count, 3, NULL, 0, HOB_USD_PER_CORNER};
	else if (!g->smooth)
		open_stream(p, HOB_STR("normals"), 3, &p->normals);
	if (bound && look->color_name.len > 0)
		open_stream(p, look->color_name, 3, &p->colors);
	p->uv_count = look->uv_count;
	for (uint32_t i = 0; i < look->uv_count; i++)
		open_stream(p, look->uv_names[i], 2, &p->uvs[i]);
	for (size_t i = 0; look->uv_count == 0 && i < HOB_COUNT_OF(usual) && p->uv_count == 0; i++) {
		open_stream(p, hob_str_of(usual[i]), 2, &p->uvs[0]);
		p->uv_count = p->uvs[0].items != NULL;
	}
	p->by_corner = by_corner(&p->normals) || by_corner(&p->colors) || by_corner(&p->opacities);
	for (uint32_t i = 0; i < p->uv_count; i++)
		p->by_corner = p->by_corner || by_corner(&p->uvs[i]);
}

static void fill(const part_t *p, const hob_usd_stream *stream, float *to, uint32_t stride)
{
	for (uint32_t v = 0; v < p->vertex_count; v++) {
		const corner_t *c = &p->vertices[v];
		const float *from = usd_stream_at(stream, c->face, c->point, c->corner);
		for (uint32_t k = 0; from && k < stream->width; k++)
			to[(size_t)v * stride + k] = from[k];
	}
}

static void put_vertices(part_t *p, hob_mesh *mesh)
{
	hob_arena *arena = p->b->u->result;
	size_t count = p->vertex_count;
	mesh->vertex_count = p->vertex_count;
	mesh->index_count = p->index_count;
	mesh->indices = HOB_NEW(arena, uint32_t, p->index_count);
	mesh->position = HOB_NEW(arena, float, count * 3);
	mesh->normal = p->normals.items ? HOB_NEW(arena, float, count * 3) : NULL;
	bool colored = p->colors.items || p->opacities.items;
	mesh->color[0] = colored ? HOB_NEW(arena, float, count * 4) : NULL;
	memcpy(mesh->indices, p->indices, p->index_count * sizeof *p->indices);
	for (size_t v = 0; v < count; v++)
		memcpy(mesh->position + v * 3, p->polygons->points + (size_t)p->vertices[v].point * 3,
			   3 * sizeof(float));
	if (mesh->normal)
		fill(p, &p->normals, mesh->normal, 3);
	for (size_t i = 0; mesh->color[0] && i < count * 4; i++)
		mesh->color[0][i] = p->colors.items && i % 4 < 3 ? 0 : 1;
	if (mesh->color[0]) {
		if (p->colors.items)
			fill(p, &p->colors, mesh->color[0], 4);
		if (p->opacities.items)
			fill(p, &p->opacities, mesh->color[0] + 3, 4);
		hob_shape_fix_floats(mesh->color[0], count * 4, 1);
	}
	for (uint32_t i = 0; i < p->uv_count; i++) {
		mesh->uv[i] = HOB_NEW(arena, float, count * 2);
		if (p->uvs[i].items)
			fill(p, &p->uvs[i], mesh->uv[i], 2);
		hob_shape_fix_floats(mesh->uv[i], count * 2, 0);
		for (size_t v = 0; v < count; v++)
			mesh->uv[i][v * 2 + 1] = 1 - mesh->uv[i][v * 2 + 1];
	}
}

static void build_part(part_t *p, uint32_t node, const uint32_t *part_of, uint32_t wanted, uint32_t material)
{
	const hob_usd_polygons *g = p->polygons;
	uint32_t first = 0;
	p->vertex_count = p->index_count = 0;
	for (uint32_t f = 0; f < g->face_count; f++) {
		uint32_t count = (uint32_t)g->counts[f];
		if (part_of[f] == wanted)
			add_face(p, f, first, count);
		first += count;
	}
	for (uint32_t v = 0; v < p->vertex_count; v++)
		p->place[p->by_corner ? p->vertices[v].corner : p->vertices[v].point] = HOB_NONE;
	if (p->index_count == 0)
		return;
	hob_mesh *mesh = hob_usd_add_mesh(p->b, node);
	mesh->material = material;
	mesh->topology = HOB_TRIANGLES;
	mesh->flat = !g->smooth;
	uint32_t *points = HOB_NEW(&p->b->u->passing, uint32_t, p->vertex_count);
	for (uint32_t v = 0; v < p->vertex_count; v++)
		points[v] = p->vertices[v].point;
	put_vertices(p, mesh);
	hob_usd_put_influences(p->b, p->prim, points, mesh);
	hob_usd_put_shapes(p->b, p->prim, points, mesh);
	hob_usd_put_cache(p->b, p->prim, points, mesh);
	hob_shape_fix_positions(mesh, p->b->u->notes);
	if (mesh->normal)
		hob_shape_fix_floats(mesh->normal, (size_t)mesh->vertex_count * 3, 0);
	hob_mesh_repair_directions(mesh);
}

/* ---- assignment of faces to parts */

enum { NO_PART = 0xFFFFFFFF };

/* Faces that cannot be drawn, and holes, belong to no part. */
static uint32_t *sort_faces(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *g)
{
	hob_usd *u = b->u;
	uint32_t *part_of = HOB_NEW(&u->passing, uint32_t, g->face_count), first = 0, bad = 0;
	for (uint32_t f = 0; f < g->face_count; f++) {
		uint32_t count = (uint32_t)g->counts[f];
		bool good = count >= 3;
		for (uint32_t i = 0; i < count; i++)
			good = good && g->indices[first + i] >= 0 && (size_t)g->indices[first + i] < g->point_count;
		bad += !good;
		part_of[f] = good ? 0 : NO_PART;
		first += count;
	}
	if (bad > 0)
		hob_usd_note(u, "bad-faces",
					 "mesh '%.*s': %u faces have fewer than three corners or use a point that does not exist",
					 HOB_FMT(u->prims[prim].path), bad);
	const hob_usd_value *holes = hob_usd_still(u, &u->prims[prim], HOB_STR("holeIndices"));
	for (size_t i = 0; holes && i < holes->count; i++) {
		double at = hob_usd_component(holes, i);
		if (at >= 0 && at < (double)g->face_count)
			part_of[(size_t)at] = NO_PART;
	}
	return part_of;
}

typedef struct subset {
	hob_str binding;
	uint32_t part;
} subset_t;

static bool is_face_subset(const hob_usd *u, const hob_usd_prim *prim)
{
	if (!hob_str_equal(prim->type, HOB_STR("GeomSubset")) || !prim->defined)
		return false;
	hob_str element = hob_usd_text(hob_usd_still(u, prim, HOB_STR("elementType")));
	hob_str family = hob_usd_text(hob_usd_still(u, prim, HOB_STR("familyName")));
	return (element.len == 0 || hob_str_equal(element, HOB_STR("face"))) &&
		   (family.len == 0 || hob_str_equal(family, HOB_STR("materialBind")));
}

/* Marks each subset's faces with its number. *bindings [*count]: materials of the mesh and its subsets. */
static void find_subsets(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *g, uint32_t *part_of,
						 hob_str **bindings, uint32_t *count)
{
	hob_usd *u = b->u;
	*bindings = NULL;
	*count = 0;
	HOB_USD_PUT(u->scratch, *bindings, *count, hob_usd_binding(u, prim));
	for (uint32_t c = u->prims[prim].first_child; c != HOB_NONE; c = u->prims[c].next) {
		if (!is_face_subset(u, &u->prims[c]))
			continue;
		const hob_usd_value *faces = hob_usd_still(u, &u->prims[c], HOB_STR("indices"));
		for (size_t i = 0; faces && i < faces->count; i++) {
			double at = hob_usd_component(faces, i);
			if (at >= 0 && at < (double)g->face_count && part_of[(size_t)at] == 0)
				part_of[(size_t)at] = *count;
		}
		HOB_USD_PUT(u->scratch, *bindings, *count, hob_usd_binding(u, c));
	}
}

static void build_parts(part_t *p, uint32_t node, const uint32_t *part_of, const hob_str *bindings,
						uint32_t count)
{
	hob_usd *u = p->b->u;
	const hob_usd_polygons *g = p->polygons;
	size_t places = g->corner_count > g->point_count ? g->corner_count : g->point_count;
	p->place = HOB_NEW(&u->passing, uint32_t, places);
	memset(p->place, 0xFF, places * sizeof *p->place);
	for (uint32_t i = 0; i < count; i++) {
		float color[4] = {1, 1, 1, 1};
		bool bound = bindings[i].len > 0;
		p->normals = p->colors = p->opacities = (hob_usd_stream){0};
		memset(p->uvs, 0, sizeof p->uvs);
		if (!bound) {
			open_shown(p, "displayColor", 3, &p->colors, color);
			open_shown(p, "displayOpacity", 1, &p->opacities, color + 3);
		}
		bool sheer = p->opacities.items != NULL;
		uint32_t material = hob_usd_material(p->b, bindings[i], g->double_sided, color, sheer);
		open_streams(p, material, bound);
		build_part(p, node, part_of, i, material);
	}
}

/* Whether all faces are valid, which subdivision requires. */
static bool is_whole(const hob_usd_polygons *g)
{
	bool whole = true;
	for (size_t f = 0, first = 0; f < g->face_count && whole; first += (size_t)g->counts[f++]) {
		whole = g->counts[f] >= 3;
		for (size_t i = 0; whole && i < (size_t)g->counts[f]; i++)
			whole = g->indices[first + i] >= 0 && (size_t)g->indices[first + i] < g->point_count;
	}
	return whole && hob_shape_in_reach(g->points, g->point_count * 3);
}

static uint32_t *inherit_parts(hob_usd_build_t *b, const hob_usd_subdivision *refined,
							   const uint32_t *part_of)
{
	uint32_t *fine = HOB_NEW(&b->u->passing, uint32_t, refined->fine.face_count);
	for (size_t f = 0; f < refined->fine.face_count; f++)
		fine[f] = part_of[refined->level_count > 0 ? refined->face_of[f] : f];
	return fine;
}

static void build_polygons(hob_usd_build_t *b, uint32_t prim, uint32_t node, const hob_usd_polygons *polygons)
{
	uint32_t *part_of = sort_faces(b, prim, polygons), count;
	hob_str *bindings;
	find_subsets(b, prim, polygons, part_of, &bindings, &count);
	hob_usd_subdivision refined;
	part_t p = {.b = b, .prim = prim, .polygons = polygons, .cage = polygons};
	if (polygons->levels > 0 && is_whole(polygons)) {
		usd_subdivide(b, prim, polygons, polygons->levels, &refined);
		part_of = inherit_parts(b, &refined, part_of);
		p.refined = &refined;
		p.polygons = &refined.fine;
	}
	build_parts(&p, node, part_of, bindings, count);
	if (p.polygon.careless > 0)
		hob_warn(b->u->notes, "mesh.large-polygons",
				 "mesh '%.*s': %llu large polygons that are not convex were cut without care; "
				 "triangulate them before export",
				 HOB_FMT(b->u->prims[prim].path), (unsigned long long)p.polygon.careless);
	hob_polygon_release(&p.polygon);
	b->source_meshes++;
}

void hob_usd_polygons_build(hob_usd_build_t *b, uint32_t prim, uint32_t node,
							const hob_usd_polygons *polygons)
{
	hob_arena_mark mark = hob_arena_save(&b->u->passing);
	build_polygons(b, prim, node, polygons);
	hob_arena_restore(&b->u->passing, mark);
}

/* ---- a Mesh prim */

static bool int_array(const hob_usd_value *value, const int32_t **out, size_t *count)
{
	bool good = value && value->kind == HOB_USD_I32 && value->width == 1;
	*out = good ? (const int32_t *)value->data : NULL;
	*count = good ? value->count : 0;
	return good;
}

/* Key of a mesh that instances share: the specs with opinions about it, and everything it inherits. */
static void mesh_key(hob_usd_build_t *b, uint32_t id, hob_buf *key)
{
	const hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	static const char *const inherited[] = {"displayColor", "displayOpacity", "st"};
	for (uint32_t c = id; c != HOB_NONE; c = c == id ? prim->first_child : u->prims[c].next) {
		const hob_usd_prim *p = &u->prims[c];
		for (uint32_t i = 0; i < p->order_count; i++) {
			const hob_usd_site *site = &p->sites[p->order[i]];
			for (uint32_t k = 0; k < u->stacks[site->stack].layer_count; k++)
				if (site->specs[k] != HOB_NONE) {
					hob_buf_put(key, &u->stacks[site->stack].layers[k], sizeof(uint32_t));
					hob_buf_put(key, &site->specs[k], sizeof(uint32_t));
				}
		}
		hob_str binding = hob_usd_binding(b->u, c);
		hob_buf_put(key, "|", 1);
		hob_buf_put_str(key, binding);
		if (c == id && prim->first_child == HOB_NONE)
			break;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(inherited); i++) {
		uint32_t owner;
		const hob_usd_value *value = hob_usd_primvar(b->u, id, hob_str_of(inherited[i]), &owner);
		hob_buf_put(key, &value, sizeof value);
	}
}

static void share_mesh(hob_usd_build_t *b, uint32_t node, uint32_t made)
{
	hob_model *m = &b->model;
	const uint32_t *range = (const uint32_t *)(const void *)b->shared.data + (size_t)made * 2;
	hob_node *owner = &m->nodes[node];
	owner->mesh_first = m->mesh_ref_count;
	owner->mesh_count = range[1];
	for (uint32_t i = 0; i < range[1]; i++)
		HOB_USD_PUT(b->u->scratch, m->mesh_refs, m->mesh_ref_count, range[0] + i);
}

/* The surface triangles that the prim stores for its tetrahedra. */
static void surface_of_tetrahedra(hob_usd *u, const hob_usd_prim *prim, hob_usd_polygons *g)
{
	const hob_usd_value *value = hob_usd_still(u, prim, HOB_STR("surfaceFaceVertexIndices"));
	if (!value || value->kind != HOB_USD_I32 || value->width != 3) {
		hob_usd_note(u, "type", "prim '%.*s' of type 'TetMesh' states no surface; it is left out",
					 HOB_FMT(prim->path));
		return;
	}
	int32_t *counts = HOB_NEW(u->scratch, int32_t, value->count);
	for (size_t f = 0; f < value->count; f++)
		counts[f] = 3;
	g->counts = counts;
	g->face_count = value->count;
	g->indices = (const int32_t *)value->data;
	g->corner_count = value->count * 3;
}

static void read_mesh(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	hob_usd_polygons g = {0};
	uint64_t corners = 0;
	g.points = hob_usd_floats(u, hob_usd_still(u, prim, HOB_STR("points")), 3, &g.point_count);
	bool solid = hob_str_equal(prim->type, HOB_STR("TetMesh"));
	if (solid) {
		surface_of_tetrahedra(u, prim, &g);
	} else {
		int_array(hob_usd_still(u, prim, HOB_STR("faceVertexCounts")), &g.counts, &g.face_count);
		int_array(hob_usd_still(u, prim, HOB_STR("faceVertexIndices")), &g.indices, &g.corner_count);
	}
	if (g.point_count == 0 || g.face_count == 0)
		return;
	if (g.corner_count > HOB_LIMIT_INDICES / 3 || g.point_count > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "%zu corners and %zu points", g.corner_count, g.point_count);
	for (size_t f = 0; f < g.face_count; f++)
		corners += g.counts[f] > 0 ? (uint64_t)g.counts[f] : g.counts[f] < 0 ? g.corner_count + 1 : 0;
	if (corners > g.corner_count) {
		hob_usd_note(u, "mesh-broken", "mesh '%.*s' states more corners than it lists; it is left out",
					 HOB_FMT(prim->path));
		return;
	}
	hob_str scheme = hob_usd_text(hob_usd_still(u, prim, HOB_STR("subdivisionScheme")));
	g.smooth = !solid && !hob_str_equal(scheme, HOB_STR("none"));
	bool deforms = hob_usd_still(u, prim, HOB_STR("primvars:skel:jointIndices")) ||
				   hob_usd_still(u, prim, HOB_STR("skel:blendShapes")) || hob_usd_has_cache(u, prim);
	bool refines = u->request->subdivision > 0 && !deforms &&
				   (scheme.len == 0 || hob_str_equal(scheme, HOB_STR("catmullClark")));
	g.levels = g.smooth && refines ? u->request->subdivision : 0;
	b->subdivided += g.smooth && scheme.len > 0 && !refines;
	g.left_handed =
		hob_str_equal(hob_usd_text(hob_usd_still(u, prim, HOB_STR("orientation"))), HOB_STR("leftHanded"));
	g.double_sided = hob_usd_number(hob_usd_still(u, prim, HOB_STR("doubleSided")), 0) != 0;
	hob_usd_polygons_build(b, id, node, &g);
}

void hob_usd_build_shared(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_usd_builder *build)
{
	hob_buf key = {0};
	mesh_key(b, id, &key);
	hob_str kept = hob_arena_str(b->u->scratch, hob_buf_str(&key));
	hob_buf_release(&key);
	uint32_t made = hob_name_map_get(&b->mesh_map, kept);
	if (made != HOB_NONE) {
		share_mesh(b, node, made);
		return;
	}
	uint32_t range[2] = {b->model.mesh_count, 0};
	build(b, id, node);
	range[1] = b->model.mesh_count - range[0];
	made = (uint32_t)(b->shared.size / sizeof range);
	hob_buf_put(&b->shared, range, sizeof range);
	hob_name_map_add(&b->mesh_map, kept, made);
}

void hob_usd_build_mesh(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	if (hob_usd_has_cache(b->u, &b->u->prims[id]))
		HOB_USD_PUT(b->u->scratch, b->cached, b->cached_count, (hob_usd_follower){id, node, NAN});
	hob_usd_build_shared(b, id, node, read_mesh);
}
