#include "lod_error.h"
#include "weld.h"

#include <stdlib.h>

enum {
	PEAKS = 16,
	STRIDE = 17,
	MIN_POINTS = 2000,
	MIN_LOST = 32768,
	MAX_DEPTH = 4,
	CLIMBS = 6,
	MAX_AROUND = 32,
	FEW = 256,
	MANY = 1000,
	SMALL = 20000,
	SLICED = 1 << 16,
	SLICES = 32,
	SAMPLES = 512,
	FEW_POINTS = 2048,
	LARGE = 2,
	MEAN_POINTS = 96,
	MEAN_MOST = 32768
};
/* Points at this share of the largest distance or more start a climb: their triangles may have the highest
 * ridge. */
static const double peak_share = 0.8;
/* `slope`: assumed growth of the distance between the surfaces per unit of length away from a patch's centre.
 * Below `least_share` of the wanted distance at a centre, the patch's quarters are not measured. */
static const double slope = 0.5, least_share = 0.4;
/* Offset from a corner along a side, as a fraction of its length. */
static const double beside = 1.0 / 16;
/* A mean is good enough if its relative standard error is at most `mean_error`. Points nearer than
 * `mean_near` times the mean are not measured exactly. */
static const double mean_error = 0.06, mean_near = 0.05;
/* A sliver's height is less than this share of its longest side. */
static const double sliver_share = 1.0 / 64;

/* A point of a triangle by its second and third barycentric coordinate, and its distance from the other
 * surface. */
typedef struct peak {
	uint32_t corner[3];
	double v, w, distance;
} peak_t;

/* One direction of the measurement: points of one surface, distances to the other. */
typedef struct sweep {
	const float *positions;
	const hob_surface *to;
	hob_surface_seeker seeker;
	bool corners_are_near; /* corners of all triangles lie on the other surface */
	bool has_slivers;	   /* there are so many that points are placed along them */
	float least_guess;	   /* points with a smaller guess are measured at strides only */
	double farthest;
	peak_t peaks[PEAKS];
	uint32_t peak_count;
} sweep_t;

/* Measures at item i. */
typedef void (*look_fn)(sweep_t *s, const void *context, uint32_t i);

/* A long loop, sliced independently of the number of threads. */
typedef struct sliced {
	const sweep_t *from; /* state at the start of each slice, without its peaks */
	look_fn each;
	const void *context;
	uint32_t count;
	sweep_t slices[SLICES];
} sliced_t;

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

/* Measures the distance of a point; below `enough` the result need not be exact. Keeps points at a large
 * share of the largest distance as peaks. */
static double look(sweep_t *s, const uint32_t corner[3], double v, double w, double enough)
{
	double limit = peak_share * s->farthest;
	s->seeker.worth = s->farthest;
	double distance =
		hob_surface_distance(s->to, point_of(s->positions, corner, v, w), enough, limit, &s->seeker);
	if (distance > limit)
		keep_peak(s, corner, v, w, distance);
	s->farthest = distance > s->farthest ? distance : s->farthest;
	return distance;
}

static void run_slice(void *context, uint32_t index, uint32_t thread)
{
	sliced_t *sliced = context;
	sweep_t *s = &sliced->slices[index];
	(void)thread;
	*s = *sliced->from;
	s->peak_count = 0;
	s->seeker.room /= SLICES, s->seeker.spare /= SLICES;
	uint32_t end = (uint32_t)((uint64_t)sliced->count * (index + 1) / SLICES);
	for (uint32_t i = (uint32_t)((uint64_t)sliced->count * index / SLICES); i < end; i++)
		sliced->each(s, sliced->context, i);
}

static void look_at_each(sweep_t *s, look_fn each, const void *context, uint32_t count,
						 const hob_parallel *parallel)
{
	if (count < SLICED) {
		for (uint32_t i = 0; i < count; i++)
			each(s, context, i);
		return;
	}
	sliced_t sliced = {.from = s, .each = each, .context = context, .count = count};
	hob_parallel_for(parallel, SLICES, run_slice, &sliced);
	s->seeker.room = 0;
	for (uint32_t i = 0; i < SLICES; i++) {
		const sweep_t *slice = &sliced.slices[i];
		s->seeker.room += slice->seeker.room;
		for (uint32_t k = 0; k < slice->peak_count; k++)
			keep_peak(s, slice->peaks[k].corner, slice->peaks[k].v, slice->peaks[k].w,
					  slice->peaks[k].distance);
		s->farthest = slice->farthest > s->farthest ? slice->farthest : s->farthest;
	}
}

/* Climbs from a point within its triangle by halving steps. */
static void climb(sweep_t *s, peak_t peak, double step)
{
	static const double way[6][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}};
	for (int round = 0; round < CLIMBS; round++, step /= 2)
		for (int i = 0; i < 6; i++) {
			double v = peak.v + step * way[i][0], w = peak.w + step * way[i][1];
			if (v < 0 || w < 0 || v + w > 1)
				continue;
			double distance = hob_surface_distance(s->to, point_of(s->positions, peak.corner, v, w),
												   peak.distance, peak.distance, &s->seeker);
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

/* A similar triangle within a triangle: its corners are centre + scale * (corner - centroid); scale < 0
 * rotates it by half a turn. */
typedef struct patch {
	double v, w, scale;
	double radius; /* largest distance of its points from the centre */
} patch_t;

static double most_beside(const sweep_t *s, double radius)
{
	double wanted = peak_share * s->farthest, most = wanted - slope * radius;
	return most > least_share * wanted ? most : least_share * wanted;
}

/* Measures at the centre of a patch, and in its quarters if the distance leaves room for a larger one there.
 * depth    most levels of quarters
 * least    levels that are quartered whatever the distance
 * centre   the distance at the centre; below 0: not measured yet */
static void look_within(sweep_t *s, const uint32_t corner[3], patch_t patch, uint32_t depth, uint32_t least,
						double centre)
{
	if (centre < 0)
		centre = look(s, corner, patch.v, patch.w,
					  least > 0 ? peak_share * s->farthest : most_beside(s, patch.radius));
	if (depth == 0 || (least == 0 && centre <= most_beside(s, patch.radius)))
		return;
	least = least > 0 ? least - 1 : 0;
	double half = patch.scale / 2, third = half / 3;
	const double way[3][2] = {{-third, -third}, {2 * third, -third}, {-third, 2 * third}};
	for (int i = 0; i < 3; i++)
		look_within(s, corner, (patch_t){patch.v + way[i][0], patch.w + way[i][1], half, patch.radius / 2},
					depth - 1, least, -1);
	look_within(s, corner, (patch_t){patch.v, patch.w, -half, patch.radius / 2}, depth - 1, least,
				least > 0 ? -1 : centre);
}

/* Number of times to quarter a triangle for points `spacing` apart. */
static uint32_t depth_of(double area, double longest, double spacing)
{
	double size = sqrt(2 * area) > longest / 2 ? sqrt(2 * area) : longest / 2;
	double cuts = spacing > 0 ? size / spacing : 0;
	uint32_t depth = 0;
	for (double reach = 1.5; depth < MAX_DEPTH && cuts >= reach; reach *= 2)
		depth++;
	return depth;
}

/* Measures in the middles of a triangle's sides: where two triangles of a level meet there can be a ridge
 * that no centre is near. */
static void look_from_sides(sweep_t *s, const uint32_t corner[3])
{
	for (int i = 0; i < 3; i++)
		look(s, corner, i == 0 ? 0 : 0.5, i == 1 ? 0 : 0.5, peak_share * s->farthest);
}

/* A sliver: its longest side, and the position of the third corner along it. */
typedef struct sliver {
	const uint32_t *corner;
	uint32_t from, to, tip; /* numbers of the corners */
	double foot, length;
} sliver_t;

static sliver_t sliver_of(const float *positions, const uint32_t corner[3])
{
	sliver_t out = {.corner = corner, .length = -1};
	for (uint32_t k = 0; k < 3; k++) {
		uint32_t next = k == 2 ? 0 : k + 1, tip = k == 0 ? 2 : k - 1;
		hob_vec3 at = hob_vec3_load(positions + 3 * (size_t)corner[k]);
		hob_vec3 way = hob_vec3_sub(hob_vec3_load(positions + 3 * (size_t)corner[next]), at);
		hob_vec3 to_tip = hob_vec3_sub(hob_vec3_load(positions + 3 * (size_t)corner[tip]), at);
		double length = hob_vec3_length(way);
		if (length > out.length)
			out = (sliver_t){corner, k, next, tip, hob_vec3_dot(way, to_tip) / (length * length), length};
	}
	return out;
}

/* Measures in the middle of a sliver, at the share `along` of its length. */
static double look_across(sweep_t *s, const sliver_t *sliver, double along, double enough)
{
	double share[3], high = along < sliver->foot ? along / sliver->foot : (1 - along) / (1 - sliver->foot);
	share[sliver->tip] = high / 2;
	share[sliver->to] = along - sliver->foot * high / 2;
	share[sliver->from] = 1 - share[sliver->tip] - share[sliver->to];
	return look(s, sliver->corner, share[1], share[2], enough);
}

/* Like look_within, but halves instead of quarters. */
static void look_along(sweep_t *s, const sliver_t *sliver, double along, double reach, uint32_t depth,
					   uint32_t least)
{
	double radius = reach * sliver->length;
	double centre =
		look_across(s, sliver, along, least > 0 ? peak_share * s->farthest : most_beside(s, radius));
	if (depth == 0 || (least == 0 && centre <= most_beside(s, radius)))
		return;
	least = least > 0 ? least - 1 : 0;
	look_along(s, sliver, along - reach / 2, reach / 2, depth - 1, least);
	look_along(s, sliver, along + reach / 2, reach / 2, depth - 1, least);
}

/* Returns the distance of the centre, HUGE_VAL if it was not measured. A triangle much larger than `typical`,
 * of a level or of the full mesh, may be near at its first points and far elsewhere. */
static double look_from_triangle(sweep_t *s, const uint32_t corner[3], double spacing, double typical,
								 uint32_t least)
{
	double longest, area = triangle_area(s->positions, corner, &longest);
	/* No point of a triangle is farther from its nearest corner than it could be in an equilateral triangle
	 * of the same longest side. */
	if (s->corners_are_near && longest * 0.5774 <= peak_share * s->farthest)
		return HUGE_VAL;
	uint32_t depth = depth_of(area, longest, spacing), always = depth_of(area, longest, typical);
	always = always > least ? always : least;
	depth = depth > always ? depth : always;
	double radius = longest * 0.6667, enough = most_beside(s, radius);
	double centre = look(s, corner, 1.0 / 3, 1.0 / 3, enough);
	if (least > 0 || centre > enough)
		look_from_sides(s, corner);
	if (s->has_slivers && 2 * area < longest * longest * sliver_share) {
		sliver_t sliver = sliver_of(s->positions, corner);
		look_along(s, &sliver, 0.5, 0.5, depth > 0 ? depth : 1, always);
	} else {
		look_within(s, corner, (patch_t){1.0 / 3, 1.0 / 3, 1, radius}, depth > 0 ? depth : 1, always, centre);
	}
	return centre;
}

static double area_of(const hob_surface *surface)
{
	double longest, area = 0;
	for (size_t t = 0; t < surface->triangle_count; t++)
		area += triangle_area(surface->positions, surface->corners + 3 * t, &longest);
	return area;
}

/* Starts the search at a place, if the other surface has it: a level may use places that only invisible
 * triangles of the full mesh have. */
static void begin_at(sweep_t *s, uint32_t vertex)
{
	if (hob_surface_has(s->to, vertex))
		s->seeker.hint = s->to->fan[s->to->fan_first[vertex]];
}

/* Starts at the first corner, or at the corner with the fewest triangles if the first has very many. */
static void begin_at_corners(sweep_t *s, const uint32_t corner[3])
{
	uint32_t best = corner[0], fewest = HOB_NONE;
	for (uint32_t k = 0; k < 3 && hob_surface_is_crowded(s->to, corner[0]); k++) {
		uint32_t count = s->to->fan_first[corner[k] + 1] - s->to->fan_first[corner[k]];
		if (count > 0 && count < fewest)
			best = corner[k], fewest = count;
	}
	begin_at(s, best);
}

/* By place, an estimate of the distance between the surfaces; NULL: none. */
typedef struct guess {
	const float *by_vertex;
	const uint32_t *vertex; /* by place */
} guess_t;

static float guess_at(const guess_t *g, const uint32_t *places, uint32_t count)
{
	float most = 0;
	for (uint32_t k = 0; k < count; k++) {
		float at = g->by_vertex[g->vertex[places[k]]];
		most = at > most ? at : most;
	}
	return most;
}

static int by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

/* The guess that about `most` of `count` items exceed, and at most a quarter of them, estimated from samples.
 * 0: no guesses or few items.
 * places   [count][width] of each item; NULL: item i is at place i */
static float least_guess(const guess_t *g, const uint32_t *places, uint32_t width, uint32_t count,
						 uint32_t most)
{
	float samples[SAMPLES];
	if (!g->by_vertex || count < FEW_POINTS)
		return 0;
	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint32_t item = (uint32_t)((uint64_t)count * i / SAMPLES);
		samples[i] = guess_at(g, places ? places + (size_t)width * item : &item, width);
	}
	qsort(samples, SAMPLES, sizeof *samples, by_size);
	uint32_t left = (uint32_t)((uint64_t)SAMPLES * most / count);
	return samples[SAMPLES - (left < 1 ? 1 : left > SAMPLES / 4 ? SAMPLES / 4 : left)];
}

/* Whether other triangles probably have a larger distance. For large triangles the estimate says little. */
static bool may_skip(const sweep_t *s, const guess_t *guess, const uint32_t corner[3], double typical)
{
	double longest;
	if (!(s->least_guess > 0) || guess_at(guess, corner, 3) >= s->least_guess)
		return false;
	triangle_area(s->positions, corner, &longest);
	return longest <= LARGE * typical;
}

/* Parameters of a loop over triangles or vertices. A first loop measures one in STRIDE of them, which says
 * how large the distance is; a second the others, most of which need no exact distance then. */
typedef struct plan {
	const hob_lod_full *full;
	const hob_surface *level;
	const guess_t *guess;
	double spacing, typical;
	uint32_t least;
	bool strided;
} plan_t;

static void look_from_level_triangle(sweep_t *s, const void *context, uint32_t t)
{
	const plan_t *p = context;
	const uint32_t *corner = p->level->corners + 3 * (size_t)t;
	if ((t % STRIDE == 0) != p->strided || (!p->strided && may_skip(s, p->guess, corner, p->typical)))
		return;
	begin_at_corners(s, corner);
	look_from_triangle(s, corner, p->spacing, p->typical, p->least);
}

static void look_from_wide(sweep_t *s, const void *context, uint32_t i)
{
	const plan_t *p = context;
	const hob_lod_full *full = p->full;
	const uint32_t *corner = full->surface.corners + 3 * (size_t)full->wide[i];
	if (i % STRIDE != 0 && may_skip(s, p->guess, corner, full->spacing))
		return;
	/* Collapses change only triangles around a lost vertex. */
	if (!hob_surface_has(s->to, corner[0]) || !hob_surface_has(s->to, corner[1]) ||
		!hob_surface_has(s->to, corner[2]))
		look_from_triangle(s, corner, full->spacing, full->spacing, 0);
}

/* Starts the search at a remaining neighbour of a lost vertex, at or near the place of its collapse. */
static void begin_beside(sweep_t *s, const hob_surface *full, uint32_t vertex)
{
	for (uint32_t f = full->fan_first[vertex]; f < full->fan_first[vertex + 1]; f++)
		if (hob_surface_has(s->to, full->ring[f])) {
			begin_at(s, full->ring[f]);
			if (!hob_surface_is_crowded(s->to, full->ring[f]))
				return;
		}
}

static void look_from_lost_vertex(sweep_t *s, const void *context, uint32_t v)
{
	const plan_t *p = context;
	if ((v % STRIDE == 0) != p->strided || hob_surface_has(s->to, v) ||
		(!p->strided && s->least_guess > 0 && guess_at(p->guess, &v, 1) < s->least_guess))
		return;
	const uint32_t alone[3] = {v, v, v};
	begin_beside(s, &p->full->surface, v);
	look(s, alone, 0, 0, peak_share * s->farthest);
}

static void look_at_all(sweep_t *s, look_fn each, plan_t plan, uint32_t count, const hob_parallel *parallel)
{
	plan.strided = true;
	for (uint32_t i = 0; i < count; i += STRIDE)
		each(s, &plan, i);
	plan.strided = false;
	look_at_each(s, each, &plan, count, parallel);
}

/* Measures beside a corner of a triangle, along its next side: there may be a ridge at a lost corner. */
static void look_beside(sweep_t *s, const uint32_t *corners, uint32_t at)
{
	const uint32_t *triangle = corners + at / 3 * 3, k = at % 3;
	const uint32_t turned[3] = {triangle[k], triangle[(k + 1) % 3], triangle[(k + 2) % 3]};
	look(s, turned, beside, 0, peak_share * s->farthest);
}

/* If a whole limb is lost, its farthest point is somewhere inside the triangles around the farthest
 * vertices. */
static void look_around_lost_vertices(sweep_t *s, const hob_surface *full)
{
	uint32_t count = s->peak_count, vertices[PEAKS];
	for (uint32_t i = 0; i < count; i++)
		vertices[i] = s->peaks[i].distance > peak_share * s->farthest ? s->peaks[i].corner[0] : HOB_NONE;
	s->peak_count = 0;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t f = 0; vertices[i] != HOB_NONE && f < MAX_AROUND; f++) {
			uint32_t at = full->fan_first[vertices[i]] + f;
			if (at >= full->fan_first[vertices[i] + 1])
				break;
			look_from_triangle(s, full->corners + full->fan[at] / 3 * 3, 0, 0, 1);
			look_beside(s, full->corners, full->fan[at]);
		}
}

/* The spacing of `points` points spread over `area`. */
static double spacing_of(double area, uint32_t points)
{
	return sqrt(2 * area / (points > MIN_POINTS ? points : MIN_POINTS));
}

/* Sets the spacing of points, and finds the triangles that are larger. */
static void spread_points(hob_lod_full *full, hob_arena *arena)
{
	float largest = 0;
	const hob_surface *surface = &full->surface;
	for (size_t i = 0; i < 3 * (size_t)full->seen_count; i++)
		largest = fabsf(surface->positions[i]) > largest ? fabsf(surface->positions[i]) : largest;
	full->least = (double)largest / (1 << 22);
	full->spacing = spacing_of(area_of(surface), surface->triangle_count / 4 * 3);
	full->wide = HOB_NEW(arena, uint32_t, surface->triangle_count);
	for (uint32_t t = 0; t < surface->triangle_count; t++) {
		double longest, area = triangle_area(surface->positions, surface->corners + 3 * (size_t)t, &longest);
		if (surface->triangle_count < SMALL || depth_of(area, longest, full->spacing) > 0)
			full->wide[full->wide_count++] = t;
	}
}

/* Numbers places in the order of their first use by visible triangles, then the others.
 * first    [vertex_count] first vertex at the same place */
static void number_places(hob_lod_full *full, const float *positions, uint32_t vertex_count,
						  const uint32_t *first, uint32_t *seen, uint32_t count, hob_arena *arena)
{
	uint32_t places = 0;
	for (uint32_t v = 0; v < vertex_count; v++)
		places += first[v] == v;
	full->vertex = HOB_NEW(arena, uint32_t, places);
	full->positions = HOB_NEW(arena, float, 3 * (size_t)places);
	memset(full->place, 0xFF, vertex_count * sizeof *full->place);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t v = seen[i];
		if (full->place[v] == HOB_NONE) {
			full->vertex[full->seen_count] = v;
			full->place[v] = full->seen_count++;
		}
		seen[i] = full->place[v];
	}
	full->place_count = full->seen_count;
	for (uint32_t v = 0; v < vertex_count; v++)
		if (first[v] != v) {
			full->place[v] = full->place[first[v]];
		} else if (full->place[v] == HOB_NONE) {
			full->vertex[full->place_count] = v;
			full->place[v] = full->place_count++;
		}
	for (uint32_t p = 0; p < places; p++)
		memcpy(full->positions + 3 * (size_t)p, positions + 3 * (size_t)full->vertex[p], 12);
}

hob_lod_full hob_lod_error_begin(const float *positions, uint32_t vertex_count, const uint32_t *first,
								 const uint32_t *indices, uint32_t index_count, bool corners,
								 hob_arena *arena)
{
	hob_lod_full full = {.place = HOB_NEW(arena, uint32_t, vertex_count),
						 .corner = corners ? HOB_NEW(arena, uint32_t, index_count) : NULL};
	uint32_t *seen = HOB_NEW(arena, uint32_t, index_count);
	uint32_t count = hob_weld_triangles(indices, index_count, first, seen, full.corner);
	number_places(&full, positions, vertex_count, first, seen, count, arena);
	if (count > 0) {
		full.surface = hob_surface_build(full.positions, full.place_count, seen, count, arena);
		spread_points(&full, arena);
	}
	return full;
}

hob_lod_surface hob_lod_error_surface(const hob_lod_full *full, const uint32_t *indices, uint32_t index_count,
									  hob_arena *arena)
{
	uint32_t *seen = HOB_NEW(arena, uint32_t, index_count);
	hob_lod_surface out = {.corner = full->corner ? HOB_NEW(arena, uint32_t, index_count) : NULL};
	uint32_t count = hob_weld_triangles(indices, index_count, full->place, seen, out.corner);
	if (count > 0)
		out.surface = hob_surface_build(full->positions, full->place_count, seen, count, arena);
	if (count > 0 && full->surface.capsules)
		hob_surface_add_capsules(&out.surface, arena);
	return out;
}

double hob_lod_error_measure(const hob_lod_full *full, const hob_surface *level, double known,
							 const float *guess, const hob_parallel *parallel)
{
	if (full->surface.triangle_count == 0)
		return known;
	if (level->triangle_count == 0)
		return HUGE_VAL;
	const guess_t by_place = {guess, full->vertex};
	uint32_t count = level->triangle_count, most = 2 * count > MIN_LOST ? 2 * count : MIN_LOST;
	plan_t plan = {.full = full,
				   .level = level,
				   .guess = &by_place,
				   .spacing = full->spacing,
				   .typical = sqrt(2 * area_of(level) / count),
				   .least = count < FEW	   ? 2
							: count < MANY ? 1
										   : 0};
	sweep_t s = {.positions = full->positions,
				 .to = level,
				 .has_slivers = full->surface.capsules,
				 .farthest = known > full->least ? known : full->least,
				 .seeker = hob_surface_seek(level, &full->surface)};
	/* A lost limb is found at the first level without it. Of the lost vertices, it is therefore enough to
	 * measure those with the largest guesses, about two for each triangle. */
	s.least_guess = least_guess(&by_place, NULL, 1, full->seen_count, most);
	look_at_all(&s, look_from_lost_vertex, plan, full->seen_count, parallel);
	look_around_lost_vertices(&s, &full->surface);
	look_at_each(&s, look_from_wide, &plan, full->wide_count, parallel);
	climb_all(&s);
	s = (sweep_t){.positions = level->positions,
				  .to = &full->surface,
				  .corners_are_near = true,
				  .has_slivers = full->surface.capsules,
				  .farthest = s.farthest,
				  .seeker = hob_surface_seek(level, &full->surface)};
	s.least_guess = least_guess(&by_place, level->corners, 3, count, count);
	look_at_all(&s, look_from_level_triangle, plan, count, parallel);
	climb_all(&s);
	return s.farthest;
}

/* ---- the mean */

/* Points of one surface for the mean, spread evenly over its area. */
typedef struct spread {
	const hob_surface *from;
	const double *until;
	sweep_t to;
	double area;
	double sum, rough, met; /* sums of distances and of squared steps between successive ones; points */
} spread_t;

double *hob_lod_error_areas(const hob_lod_full *full, const hob_lod_surface *of, const uint32_t *mirror,
							hob_arena *arena)
{
	const hob_surface *s = &of->surface;
	double longest, sum = 0, *until = HOB_NEW(arena, double, s->triangle_count);
	for (uint32_t t = 0; t < s->triangle_count; t++) {
		const uint32_t *corner = s->corners + 3 * (size_t)t;
		uint32_t vertex = of->corner ? of->corner[3 * (size_t)t] : full->vertex[corner[0]];
		double sides = mirror && mirror[vertex] != HOB_NONE ? 2 : 1;
		until[t] = sum += sides * triangle_area(s->positions, corner, &longest);
	}
	return until;
}

static void begin_near(spread_t *s, const uint32_t corner[3])
{
	for (uint32_t k = 0; k < 3; k++)
		if (hob_surface_has(s->to.to, corner[k])) {
			begin_at(&s->to, corner[k]);
			return;
		}
	begin_beside(&s->to, s->from, corner[0]);
}

/* Adds the distances of about `points` more points. Within triangles they follow Roberts' sequence. */
static void add_up(spread_t *s, uint32_t points)
{
	double step = s->area / points, next = step * 0.6180339887, last = -1;
	next = s->met > 0 ? next : step / 2;
	for (uint32_t t = 0; t < s->from->triangle_count; t++) {
		const uint32_t *corner = s->from->corners + 3 * (size_t)t;
		for (; next < s->until[t]; next += step, s->met++) {
			double v = s->met * 0.7548776662466927, w = s->met * 0.5698402909980532,
				   near = mean_near * s->sum;
			v -= floor(v), w -= floor(w);
			if (v + w > 1)
				v = 1 - v, w = 1 - w;
			begin_near(s, corner);
			near = s->met > 0 ? near / s->met : 0;
			double d = hob_surface_distance(s->to.to, point_of(s->from->positions, corner, v, w), near, near,
											&s->to.seeker);
			s->sum += d, s->rough += last < 0 ? 0 : (d - last) * (d - last);
			last = d;
		}
	}
}

static spread_t spread_of(const hob_surface *from, const double *until, const hob_surface *to)
{
	return (spread_t){.from = from,
					  .until = until,
					  .area = until[from->triangle_count - 1],
					  .to = {.to = to, .seeker = hob_surface_seek(from, to)}};
}

double hob_lod_error_mean(const hob_lod_full *full, const hob_lod_surface *level, const uint32_t *mirror,
						  double farthest, hob_arena *arena)
{
	if (full->surface.triangle_count == 0)
		return 0;
	if (level->surface.triangle_count == 0)
		return HUGE_VAL;
	spread_t fine = spread_of(&full->surface, full->until, &level->surface);
	spread_t coarse =
		spread_of(&level->surface, hob_lod_error_areas(full, level, mirror, arena), &full->surface);
	double area = fine.area + coarse.area, mean = 0, off = HUGE_VAL;
	for (uint32_t all = 0, more = MEAN_POINTS; area > 0 && off > mean_error * mean && all < MEAN_MOST;
		 more = all) {
		add_up(&fine, more), add_up(&coarse, more);
		all += more;
		double a = fine.area / fmax(fine.met, 1), b = coarse.area / fmax(coarse.met, 1);
		mean = (a * fine.sum + b * coarse.sum) / area;
		off = fmax(sqrt((a * a * fine.rough + b * b * coarse.rough) / 2) / area, farthest / all / 2);
	}
	return mean;
}
