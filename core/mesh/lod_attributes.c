#include "lod_attributes.h"

enum {
	MIN_POINTS = 1000,
	MANY = 2000,
	STRIDE = 64,
	SHARE = 4,
	MAX_FAN = 24,
	MAX_PULLS = 48,
	PEAKS = 8,
	CLIMBS = 16,
	ROUNDS = 5
};
/* A triangle whose centre differs by this fraction of the largest difference is compared at more points. */
static const double peak_share = 0.5;

/* A surface, with the vertices at its corners. */
typedef struct side {
	const hob_surface *surface;
	const uint32_t *corner; /* [triangle_count][3] */
	hob_surface_seeker seeker;
} side_t;

/* A point of a triangle: the vertices at its corners, and their barycentric weights. */
typedef struct spot {
	uint32_t corner[3];
	double share[3];
} spot_t;

typedef struct apart {
	double uv, color, weight;
} apart_t;

typedef struct peak {
	uint32_t place;
	double above; /* by how much it exceeded the largest difference before it */
} peak_t;

typedef struct comparison {
	const hob_mesh *mesh;
	const uint32_t *mirror;
	double least; /* smallest difference that float positions can represent */
	apart_t most;
	peak_t peaks[PEAKS];
	uint32_t peak_count;
} comparison_t;

static double value_at(const float *values, uint32_t width, uint32_t component, const spot_t *at)
{
	double sum = 0;
	for (int i = 0; i < 3; i++)
		sum += at->share[i] * (double)values[(size_t)width * at->corner[i] + component];
	return sum;
}

static double uv_apart(const hob_mesh *m, const spot_t *a, const spot_t *b)
{
	double most = 0;
	for (int set = 0; set < HOB_UV_SETS; set++) {
		if (!m->uv[set])
			continue;
		double u = value_at(m->uv[set], 2, 0, a) - value_at(m->uv[set], 2, 0, b);
		double v = value_at(m->uv[set], 2, 1, a) - value_at(m->uv[set], 2, 1, b);
		double apart = sqrt(u * u + v * v);
		most = apart > most ? apart : most;
	}
	return most;
}

static double color_apart(const hob_mesh *m, const spot_t *a, const spot_t *b)
{
	double most = 0;
	for (int set = 0; set < HOB_COLOR_SETS; set++)
		for (uint32_t k = 0; m->color[set] && k < 4; k++) {
			double apart = fabs(value_at(m->color[set], 4, k, a) - value_at(m->color[set], 4, k, b));
			most = apart > most ? apart : most;
		}
	return most;
}

typedef struct pulls {
	uint16_t joint[MAX_PULLS];
	double weight[MAX_PULLS];
	uint32_t count;
} pulls_t;

static void add_pulls(pulls_t *p, const hob_mesh *m, const spot_t *at, double sign)
{
	for (int i = 0; i < 3; i++)
		for (uint32_t k = 0; at->share[i] > 0 && k < m->influence_count; k++) {
			size_t from = (size_t)m->influence_count * at->corner[i] + k;
			uint32_t slot = 0;
			if (!(m->weights[from] > 0))
				continue;
			while (slot < p->count && p->joint[slot] != m->joints[from])
				slot++;
			if (slot == MAX_PULLS)
				continue;
			if (slot == p->count) {
				p->joint[slot] = m->joints[from], p->weight[slot] = 0;
				p->count++;
			}
			p->weight[slot] += sign * at->share[i] * (double)m->weights[from];
		}
}

/* MAX_PULLS is enough for two spots of three corners with eight joints each. */
static double weight_apart(const hob_mesh *m, const spot_t *a, const spot_t *b)
{
	pulls_t pulls;
	double sum = 0;
	pulls.count = 0;
	add_pulls(&pulls, m, a, 1);
	add_pulls(&pulls, m, b, -1);
	for (uint32_t i = 0; i < pulls.count; i++)
		sum += fabs(pulls.weight[i]);
	return sum / 2;
}

static bool other_side(const comparison_t *c, const spot_t *spot, spot_t *out)
{
	*out = *spot;
	for (int i = 0; i < 3; i++) {
		if (!c->mirror || c->mirror[spot->corner[i]] == HOB_NONE)
			return false;
		out->corner[i] = c->mirror[spot->corner[i]];
	}
	return true;
}

static void raise(apart_t *most, apart_t by)
{
	most->uv = by.uv > most->uv ? by.uv : most->uv;
	most->color = by.color > most->color ? by.color : most->color;
	most->weight = by.weight > most->weight ? by.weight : most->weight;
}

static apart_t apart_of(const hob_mesh *m, const spot_t *a, const spot_t *b)
{
	return (apart_t){uv_apart(m, a, b), color_apart(m, a, b),
					 m->influence_count > 0 ? weight_apart(m, a, b) : 0};
}

static apart_t both_sides_apart(const comparison_t *c, const spot_t *a, const spot_t *b)
{
	spot_t other, other_b;
	apart_t apart = apart_of(c->mesh, a, b);
	if (other_side(c, a, &other) && other_side(c, b, &other_b))
		raise(&apart, apart_of(c->mesh, &other, &other_b));
	return apart;
}

/* Compares attributes at `p` and at the triangle's nearest point; false if that is farther than `limit`. */
static bool try_triangle(const comparison_t *c, const side_t *to, uint32_t triangle, const spot_t *from,
						 hob_vec3 p, double limit, apart_t *out)
{
	spot_t spot;
	memcpy(spot.corner, to->corner + 3 * (size_t)triangle, sizeof spot.corner);
	double square = hob_surface_nearest(to->surface, triangle, p, spot.share);
	if (square > limit * limit)
		return false;
	*out = both_sides_apart(c, from, &spot);
	return true;
}

static double above(const comparison_t *c, apart_t apart)
{
	double uv = apart.uv - c->most.uv, color = apart.color - c->most.color,
		   weight = apart.weight - c->most.weight;
	double most = uv > color ? uv : color;
	return most > weight ? most : weight;
}

static void fit_better(apart_t *best, apart_t other)
{
	best->uv = other.uv < best->uv ? other.uv : best->uv;
	best->color = other.color < best->color ? other.color : best->color;
	best->weight = other.weight < best->weight ? other.weight : best->weight;
}

/* Whether the difference is so large that a nearby point may have the largest. */
static bool is_high(const comparison_t *c, apart_t apart)
{
	return apart.uv > peak_share * c->most.uv || apart.color > peak_share * c->most.color ||
		   apart.weight > peak_share * c->most.weight;
}

/* Returns by how much the difference exceeds the largest so far; 0: not at all, but is_high; -1: not high.
 * The exact search is only made if a walk finds a larger difference. */
static double compare(comparison_t *c, side_t *to, const spot_t *from, hob_vec3 p)
{
	const hob_surface *s = to->surface;
	apart_t best, other;
	hob_surface_distance(s, p, 0, HUGE_VAL, &to->seeker);
	try_triangle(c, to, to->seeker.hint / 3, from, p, HUGE_VAL, &best);
	if (above(c, best) <= 0)
		return is_high(c, best) ? 0 : -1;
	const apart_t walked = best;
	double limit = 1.001 * hob_surface_distance(s, p, 0, 0, &to->seeker) + 4 * c->least;
	uint32_t nearest = to->seeker.hint / 3;
	try_triangle(c, to, nearest, from, p, HUGE_VAL, &best);
	for (uint32_t k = 0; k < 3 && above(c, best) > 0; k++) {
		uint32_t v = s->corners[3 * (size_t)nearest + k], first = s->fan_first[v], end = s->fan_first[v + 1];
		end = end - first > MAX_FAN ? first + MAX_FAN : end;
		for (uint32_t f = first; f < end; f++)
			if (try_triangle(c, to, s->fan[f] / 3, from, p, limit, &other))
				fit_better(&best, other);
	}
	if (hob_surface_gives_up(&to->seeker))
		raise(&best, walked);
	double by = above(c, best);
	raise(&c->most, best);
	return by;
}

/* Compares one vertex at a place of the full mesh. */
static double compare_place(comparison_t *c, const side_t *full, side_t *to, uint32_t place)
{
	const hob_surface *s = full->surface;
	uint32_t begin = s->fan_first[place], end = s->fan_first[place + 1];
	if (begin == end || hob_surface_has(to->surface, place))
		return 0;
	for (uint32_t f = begin; f < end; f++)
		if (hob_surface_has(to->surface, s->ring[f])) {
			to->seeker.hint = to->surface->fan[to->surface->fan_first[s->ring[f]]];
			break;
		}
	uint32_t vertex = full->corner[s->fan[begin]];
	const spot_t spot = {{vertex, vertex, vertex}, {1, 0, 0}};
	return compare(c, to, &spot, hob_vec3_load(s->positions + 3 * (size_t)place));
}

static void keep_peak(comparison_t *c, uint32_t place, double by)
{
	uint32_t least = 0;
	if (c->peak_count < PEAKS) {
		c->peaks[c->peak_count++] = (peak_t){place, by};
		return;
	}
	for (uint32_t i = 1; i < PEAKS; i++)
		least = c->peaks[i].above < c->peaks[least].above ? i : least;
	c->peaks[least] = (peak_t){place, by};
}

/* Climbs from neighbour to neighbour, as long as the difference grows. */
static void climb(comparison_t *c, const side_t *full, side_t *to, uint32_t place)
{
	const hob_surface *s = full->surface;
	for (uint32_t step = 0; step < CLIMBS; step++) {
		uint32_t next = place, end = s->fan_first[place + 1], first = s->fan_first[place];
		end = end - first > MAX_FAN ? first + MAX_FAN : end;
		for (uint32_t f = first; f < end; f++)
			if (compare_place(c, full, to, s->ring[f]) > 0)
				next = s->ring[f];
		if (next == place)
			return;
		place = next;
	}
}

static uint32_t points_of(uint32_t count)
{
	uint32_t points = count / STRIDE;
	points = points > MIN_POINTS ? points : MIN_POINTS;
	return points < count ? points : count;
}

static void compare_lost(comparison_t *c, uint32_t count, const side_t *full, side_t *to, uint8_t *lost)
{
	uint32_t old = count / points_of(count), stride = count < MANY ? 1 : SHARE;
	for (uint32_t place = 0; place < count; place++) {
		if (hob_surface_has(to->surface, place) || place % (lost[place] ? old : stride) != 0)
			continue;
		lost[place] = 1;
		double by = compare_place(c, full, to, place);
		if (by > 0)
			keep_peak(c, place, by);
	}
	for (uint32_t i = 0; i < c->peak_count; i++)
		climb(c, full, to, c->peaks[i].place);
}

/* Compares a point of a level's triangle. */
static double compare_point(comparison_t *c, const side_t *level, side_t *to, uint32_t triangle, double v,
							double w)
{
	const uint32_t *place = level->surface->corners + 3 * (size_t)triangle;
	spot_t spot = {{0, 0, 0}, {1 - v - w, v, w}};
	memcpy(spot.corner, level->corner + 3 * (size_t)triangle, sizeof spot.corner);
	hob_vec3 p = {0, 0, 0};
	for (int i = 0; i < 3; i++)
		p = hob_vec3_add(p, hob_vec3_scale(hob_vec3_load(level->surface->positions + 3 * (size_t)place[i]),
										   spot.share[i]));
	return compare(c, to, &spot, p);
}

/* Climbs within a triangle by halving steps, as long as the difference grows. */
static void climb_within(comparison_t *c, const side_t *level, side_t *to, uint32_t triangle, double v,
						 double w)
{
	static const double way[6][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}};
	double step = 0.25;
	for (int round = 0; round < ROUNDS; round++, step /= 2)
		for (int i = 0; i < 6; i++) {
			double next_v = v + step * way[i][0], next_w = w + step * way[i][1];
			if (next_v >= 0 && next_w >= 0 && next_v + next_w <= 1 &&
				compare_point(c, level, to, triangle, next_v, next_w) > 0)
				v = next_v, w = next_w;
		}
}

/* Compares at the centres of triangles; if the level has few, also at points around them. */
static void compare_within(comparison_t *c, const side_t *level, side_t *to)
{
	static const double points[7][2] = {{1.0 / 3, 1.0 / 3}, {0.5, 0},			{0, 0.5},		   {0.5, 0.5},
										{1.0 / 6, 1.0 / 6}, {2.0 / 3, 1.0 / 6}, {1.0 / 6, 2.0 / 3}};
	const hob_surface *s = level->surface;
	uint32_t count = points_of(s->triangle_count), per_triangle = 7 * s->triangle_count < 4 * MIN_POINTS ? 7
																  : s->triangle_count < MANY			 ? 4
																										 : 1;
	uint32_t farthest = HOB_NONE, at = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t t = (uint32_t)((uint64_t)s->triangle_count * i / count);
		uint32_t place = s->corners[3 * (size_t)t];
		if (hob_surface_has(to->surface, place))
			to->seeker.hint = to->surface->fan[to->surface->fan_first[place]];
		bool high = true;
		for (uint32_t k = 0; k < per_triangle && high; k++) {
			double by = compare_point(c, level, to, t, points[k][0], points[k][1]);
			if (by > 0)
				farthest = t, at = k;
			high = by >= 0 || per_triangle == 7;
		}
	}
	if (farthest != HOB_NONE)
		climb_within(c, level, to, farthest, points[at][0], points[at][1]);
}

bool hob_lod_has_attributes(const hob_mesh *mesh)
{
	bool has = mesh->influence_count > 0;
	for (int set = 0; set < HOB_UV_SETS; set++)
		has = has || mesh->uv[set];
	for (int set = 0; set < HOB_COLOR_SETS; set++)
		has = has || mesh->color[set];
	return has;
}

/* Differences by rounding alone do not count. */
static float stated(float before, double met)
{
	if (met < 1e-6)
		return before;
	float now = (float)(HOB_LOD_ATTRIBUTE_MARGIN * met);
	return now > before ? now : before;
}

void hob_lod_attributes_measure(const hob_lod_full *full, const hob_lod_surface *level, const hob_mesh *mesh,
								const uint32_t *mirror, uint8_t *lost, hob_attribute_error *most)
{
	if (level->surface.triangle_count == 0 || !level->corner)
		return;
	comparison_t c = {.mesh = mesh,
					  .mirror = mirror,
					  .least = full->least,
					  .most = {(double)most->uv / HOB_LOD_ATTRIBUTE_MARGIN,
							   (double)most->color / HOB_LOD_ATTRIBUTE_MARGIN,
							   (double)most->weight / HOB_LOD_ATTRIBUTE_MARGIN}};
	hob_surface_seeker seeker = hob_surface_seek(&full->surface, &level->surface);
	side_t fine = {&full->surface, full->corner, seeker}, coarse = {&level->surface, level->corner, seeker};
	compare_lost(&c, full->seen_count, &fine, &coarse, lost);
	compare_within(&c, &coarse, &fine);
	most->uv = stated(most->uv, c.most.uv);
	most->color = stated(most->color, c.most.color);
	most->weight = stated(most->weight, fmin(c.most.weight, 1 / HOB_LOD_ATTRIBUTE_MARGIN));
}
