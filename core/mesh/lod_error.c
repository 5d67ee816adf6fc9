#include "lod_error.h"
#include "weld.h"

enum { PEAKS = 16, STRIDE = 17, MIN_POINTS = 2000, MAX_CUTS = 16, CLIMBS = 6, MAX_AROUND = 32, FEW = 1000 };
enum { KEPT = 1, LOST, TAKEN };
/* Points that are this much of the farthest away are climbed from: their triangles may have the highest ridge. */
static const double peak_share = 0.7;

/* A point of a triangle by its second and third barycentric coordinate, and how far it is from the other surface. */
typedef struct peak {
	uint32_t corner[3];
	double v, w, distance;
} peak_t;

/* One direction: points of one surface, distances to the other. */
typedef struct sweep {
	const float *positions;
	const hob_surface *to;
	hob_surface_hints hints;
	const uint8_t *state;  /* KEPT or LOST by vertex */
	bool corners_are_near; /* corners of all triangles lie on the other surface */
	double farthest;
	peak_t peaks[PEAKS];
	uint32_t peak_count;
} sweep_t;

static hob_vec3 point_of(const float *positions, const uint32_t corner[3], double v, double w)
{
	hob_vec3 p = hob_vec3_scale(hob_vec3_load(positions + 3 * (size_t)corner[0]), 1 - v - w);
	p = hob_vec3_add(p, hob_vec3_scale(hob_vec3_load(positions + 3 * (size_t)corner[1]), v));
	return hob_vec3_add(p, hob_vec3_scale(hob_vec3_load(positions + 3 * (size_t)corner[2]), w));
}

static void keep_peak(sweep_t *s, const uint32_t corner[3], double v, double w, double distance)
{
	uint32_t at = s->peak_count;
	if (at == PEAKS) {
		at = 0;
		for (uint32_t i = 1; i < PEAKS; i++)
			at = s->peaks[i].distance < s->peaks[at].distance ? i : at;
		if (s->peaks[at].distance >= distance)
			return;
	} else {
		s->peak_count++;
	}
	s->peaks[at] = (peak_t){{corner[0], corner[1], corner[2]}, v, w, distance};
}

static void look(sweep_t *s, const uint32_t corner[3], double v, double w)
{
	hob_vec3 p = point_of(s->positions, corner, v, w);
	double enough = peak_share * s->farthest;
	double distance = hob_surface_distance(s->to, p, enough, &s->hints);
	if (distance <= enough)
		return;
	keep_peak(s, corner, v, w, distance);
	s->farthest = distance > s->farthest ? distance : s->farthest;
}

/* Goes uphill from a point within its triangle, by steps that halve. */
static void climb(sweep_t *s, peak_t peak, double step)
{
	static const double way[6][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}};
	for (int round = 0; round < CLIMBS; round++, step /= 2)
		for (int i = 0; i < 6; i++) {
			double v = peak.v + step * way[i][0], w = peak.w + step * way[i][1];
			if (v < 0 || w < 0 || v + w > 1)
				continue;
			double distance = hob_surface_distance(s->to, point_of(s->positions, peak.corner, v, w),
												   peak.distance, &s->hints);
			if (distance > peak.distance)
				peak.v = v, peak.w = w, peak.distance = distance;
		}
	s->farthest = peak.distance > s->farthest ? peak.distance : s->farthest;
}

static void climb_all(sweep_t *s)
{
	for (uint32_t i = 0; i < s->peak_count; i++)
		if (s->peaks[i].distance > peak_share * s->farthest)
			climb(s, s->peaks[i], 0.25);
}

static double triangle_area(const float *positions, const uint32_t corner[3], double *longest)
{
	hob_vec3 p = hob_vec3_load(positions + 3 * (size_t)corner[0]);
	hob_vec3 e = hob_vec3_sub(hob_vec3_load(positions + 3 * (size_t)corner[1]), p);
	hob_vec3 f = hob_vec3_sub(hob_vec3_load(positions + 3 * (size_t)corner[2]), p);
	hob_vec3 g = hob_vec3_sub(f, e);
	double a = hob_vec3_dot(e, e), b = hob_vec3_dot(f, f), c = hob_vec3_dot(g, g);
	double most = a > b ? a : b;
	*longest = sqrt(most > c ? most : c);
	return hob_vec3_length(hob_vec3_cross(e, f)) / 2;
}

/* Looks from the points that cut each edge of a triangle into as many parts as make them `spacing` apart, and from those between
 * them; corners are not looked from. */
static void look_from_triangle(sweep_t *s, const uint32_t corner[3], double spacing, uint32_t least)
{
	/* Collapses change the triangles around a lost vertex and no others. */
	if (!s->corners_are_near && s->state[corner[0]] == KEPT && s->state[corner[1]] == KEPT &&
		s->state[corner[2]] == KEPT)
		return;
	double longest, area = triangle_area(s->positions, corner, &longest);
	/* No point of a triangle is farther from its nearest corner than from the centre of an equilateral one that holds it. */
	if (s->corners_are_near && longest * 0.5774 <= peak_share * s->farthest)
		return;
	double size = sqrt(2 * area) > longest / 2 ? sqrt(2 * area) : longest / 2;
	double wanted = spacing > 0 ? size / spacing : 0;
	uint32_t cuts = wanted < MAX_CUTS ? (uint32_t)(wanted + 0.5) : MAX_CUTS;
	cuts = cuts < least ? least : cuts;
	if (cuts < 2)
		return;
	if (cuts == 2)
		look(s, corner, 1.0 / 3, 1.0 / 3);
	for (uint32_t i = 0; i <= cuts; i++)
		for (uint32_t j = 0; i + j <= cuts; j++)
			if (i < cuts && j < cuts && i + j > 0)
				look(s, corner, (double)i / cuts, (double)j / cuts);
}

static void look_from_triangles(sweep_t *s, const hob_surface *from, double spacing, uint32_t least)
{
	uint32_t count = from->triangle_count;
	for (uint32_t t = 0; t < count; t += STRIDE)
		look_from_triangle(s, from->corners + 3 * (size_t)t, spacing, least);
	for (uint32_t t = 0; t < count; t++)
		if (t % STRIDE != 0)
			look_from_triangle(s, from->corners + 3 * (size_t)t, spacing, least);
}

/* done [vertex_count] what the level still has, by place */
static void look_from_lost_vertices(sweep_t *s, const hob_lod_full *full, uint8_t *done)
{
	for (uint32_t stride = STRIDE; stride > 0; stride = stride > 1 ? 1 : 0)
		for (uint64_t i = 0; i < 3 * (uint64_t)full->surface.triangle_count; i += stride) {
			uint32_t vertex = full->surface.corners[i];
			if (done[vertex])
				continue;
			done[vertex] = LOST;
			hob_vec3 p = hob_vec3_load(s->positions + 3 * (size_t)vertex);
			double enough = peak_share * s->farthest;
			double distance = hob_surface_distance(s->to, p, enough, &s->hints);
			if (distance <= enough)
				continue;
			const uint32_t alone[3] = {vertex, vertex, vertex};
			keep_peak(s, alone, 0, 0, distance);
			s->farthest = distance > s->farthest ? distance : s->farthest;
		}
}

/* Where a whole limb is gone, it is farthest away somewhere inside the triangles around the farthest vertices. */
static void look_around_lost_vertices(sweep_t *s, const hob_surface *full)
{
	uint32_t count = s->peak_count, vertices[PEAKS];
	for (uint32_t i = 0; i < count; i++)
		vertices[i] = s->peaks[i].distance > peak_share * s->farthest ? s->peaks[i].corner[0] : HOB_NONE;
	s->peak_count = 0;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t f = 0; vertices[i] != HOB_NONE && f < MAX_AROUND; f++) {
			uint32_t at = full->fan_first[vertices[i]] + f;
			if (at < full->fan_first[vertices[i] + 1])
				look_from_triangle(s, full->corners + 3 * (size_t)full->fan[at], 0, 4);
		}
}

/* The distance between points when `points` of them are spread over `area`. */
static double spacing_of(double area, uint32_t points)
{
	return sqrt(2 * area / (points > MIN_POINTS ? points : MIN_POINTS));
}

static void measure_extent(hob_lod_full *full)
{
	double longest, largest = 0;
	const uint32_t *corners = full->surface.corners;
	for (size_t t = 0; t < full->surface.triangle_count; t++)
		full->area += triangle_area(full->positions, corners + 3 * t, &longest);
	for (size_t i = 0; i < 3 * (size_t)full->surface.triangle_count; i++)
		for (uint32_t k = 0; k < 3; k++) {
			double x = fabs((double)full->positions[3 * (size_t)corners[i] + k]);
			largest = x > largest ? x : largest;
		}
	full->least = largest / (1 << 22);
}

bool hob_lod_error_begin(const float *positions, uint32_t vertex_count, const uint32_t *indices,
						 uint32_t index_count, hob_arena *arena, hob_lod_full *out, hob_error *err)
{
	hob_lod_full full = {.positions = positions,
						 .vertex_count = vertex_count,
						 .place = HOB_NEW(arena, uint32_t, vertex_count)};
	uint32_t *from = HOB_NEW(arena, uint32_t, vertex_count), *seen = HOB_NEW(arena, uint32_t, index_count);
	void *memory = hob_arena_alloc(arena, hob_weld_scratch_size(vertex_count), 8);
	if (!full.place || !seen || !from || !memory)
		return hob_fail_memory(err, arena, "the error of levels of detail");
	const hob_vertex_array array = {positions, 12, true};
	hob_weld(&array, 1, vertex_count, NULL, 0, full.place, from, memory);
	for (uint32_t v = 0; v < vertex_count; v++)
		full.place[v] = from[full.place[v]];
	uint32_t count = hob_weld_triangles(indices, index_count, full.place, seen);
	if (count > 0 && !hob_surface_build(positions, vertex_count, seen, count, arena, &full.surface, err))
		return false;
	measure_extent(&full);
	*out = full;
	return true;
}

static double measure(const hob_lod_full *full, const hob_surface *coarse, double known, uint8_t *done)
{
	for (size_t i = 0; i < 3 * (size_t)coarse->triangle_count; i++)
		done[coarse->corners[i]] = KEPT;
	double spacing = spacing_of(full->area, full->surface.triangle_count / 4 * 3);
	sweep_t from_full = {.positions = full->positions,
						 .to = coarse,
						 .state = done,
						 .farthest = known > full->least ? known : full->least};
	look_from_lost_vertices(&from_full, full, done);
	look_around_lost_vertices(&from_full, &full->surface);
	look_from_triangles(&from_full, &full->surface, spacing, 0);
	climb_all(&from_full);
	sweep_t from_level = {.positions = full->positions,
						  .to = &full->surface,
						  .corners_are_near = true,
						  .farthest = from_full.farthest};
	look_from_triangles(&from_level, coarse, spacing, coarse->triangle_count < FEW ? 3 : 2);
	climb_all(&from_level);
	return from_level.farthest;
}

/* The triangles of a level that are seen, as a surface; triangle_count 0: none is. Memory stays in `arena`. */
static bool build_level(const hob_lod_full *full, const uint32_t *indices, uint32_t index_count,
						hob_arena *arena, hob_surface *out, hob_error *err)
{
	uint32_t *seen = HOB_NEW(arena, uint32_t, index_count);
	if (!seen)
		return hob_fail_memory(err, arena, "the error of a level of detail");
	uint32_t count = hob_weld_triangles(indices, index_count, full->place, seen);
	*out = (hob_surface){0};
	return count == 0 || hob_surface_build(full->positions, full->vertex_count, seen, count, arena, out, err);
}

bool hob_lod_error_measure(const hob_lod_full *full, const uint32_t *indices, uint32_t index_count,
						   double known, hob_arena *arena, double *distance, hob_error *err)
{
	if (full->surface.triangle_count == 0) {
		*distance = known;
		return true;
	}
	hob_arena_mark mark = hob_arena_save(arena);
	uint8_t *done = HOB_NEW(arena, uint8_t, full->vertex_count);
	hob_surface coarse;
	bool ok = done ? build_level(full, indices, index_count, arena, &coarse, err)
				   : hob_fail_memory(err, arena, "the error of a level of detail");
	double farthest = HUGE_VAL;
	if (ok && coarse.triangle_count > 0)
		farthest = measure(full, &coarse, known, done);
	hob_arena_restore(arena, mark);
	if (ok)
		*distance = farthest;
	return ok;
}

static void add_place(uint32_t place, uint8_t *state, uint32_t *places, uint32_t room, uint32_t *count)
{
	if (state[place] == TAKEN || *count > room)
		return;
	state[place] = TAKEN;
	if (*count < room)
		places[*count] = place;
	++*count;
}

bool hob_lod_error_lost(const hob_lod_full *full, const uint32_t *indices, uint32_t index_count, double limit,
						uint32_t *places, uint32_t room, uint32_t *count, hob_arena *arena, hob_error *err)
{
	hob_arena_mark mark = hob_arena_save(arena);
	uint8_t *state = HOB_NEW(arena, uint8_t, full->vertex_count);
	hob_surface coarse;
	bool ok = state ? build_level(full, indices, index_count, arena, &coarse, err)
					: hob_fail_memory(err, arena, "the error of a level of detail");
	*count = 0;
	for (size_t i = 0; ok && i < 3 * (size_t)coarse.triangle_count; i++)
		state[coarse.corners[i]] = KEPT;
	hob_surface_hints hints = {0}, back = {0};
	const uint32_t *corners = full->surface.corners;
	for (size_t i = 0; ok && coarse.triangle_count > 0 && i < 3 * (size_t)full->surface.triangle_count; i++) {
		if (state[corners[i]] != 0)
			continue;
		state[corners[i]] = LOST;
		hob_vec3 p = hob_vec3_load(full->positions + 3 * (size_t)corners[i]);
		if (hob_surface_distance(&coarse, p, limit, &hints) > limit)
			add_place(corners[i], state, places, room, count);
	}
	for (uint32_t t = 0; ok && t < coarse.triangle_count; t++) {
		hob_vec3 p = point_of(full->positions, coarse.corners + 3 * (size_t)t, 1.0 / 3, 1.0 / 3);
		bool far = hob_surface_distance(&full->surface, p, limit, &back) > limit;
		for (uint32_t k = 0; far && k < 3; k++)
			add_place(corners[3 * (size_t)back.triangle[0] + k], state, places, room, count);
	}
	hob_arena_restore(arena, mark);
	return ok;
}
