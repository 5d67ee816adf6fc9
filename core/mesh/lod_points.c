#include "lod_points.h"

enum {
	MIN_POINTS = 1000,
	MANY = 2000,
	MANY_POSED = 20000,
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

/* Kinds of differences: the distance in a pose, and those of attributes. */
enum { POSE, UV, COLOR, WEIGHT, KINDS };

typedef struct apart {
	double by[KINDS];
} apart_t;

/* One direction of the measurement: points of one surface, the nearest triangles of the other. */
typedef struct walk {
	const hob_mesh *mesh;
	const hob_lod_posed *posed;
	const uint32_t *mirror;
	double least; /* smallest difference that float positions can represent */
	const hob_lod_surface *from, *to;
	hob_surface_seeker seeker;
	apart_t most;
} walk_t;

/* A point of a triangle: the places and vertices at its corners, and their barycentric weights. */
typedef struct spot {
	uint32_t place[3], corner[3];
	double share[3];
} spot_t;

/* ---- attributes */

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
		most = fmax(most, sqrt(u * u + v * v));
	}
	return most;
}

static double color_apart(const hob_mesh *m, const spot_t *a, const spot_t *b)
{
	double most = 0;
	for (int set = 0; set < HOB_COLOR_SETS; set++)
		for (uint32_t k = 0; m->color[set] && k < 4; k++)
			most = fmax(most, fabs(value_at(m->color[set], 4, k, a) - value_at(m->color[set], 4, k, b)));
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

static apart_t apart_of(const hob_mesh *m, const spot_t *a, const spot_t *b)
{
	return (apart_t){{[UV] = uv_apart(m, a, b),
					  [COLOR] = color_apart(m, a, b),
					  [WEIGHT] = m->influence_count > 0 ? weight_apart(m, a, b) : 0}};
}

static bool other_side(const walk_t *w, spot_t *spot)
{
	for (int i = 0; i < 3; i++) {
		if (!w->mirror || w->mirror[spot->corner[i]] == HOB_NONE)
			return false;
		spot->corner[i] = w->mirror[spot->corner[i]];
	}
	return true;
}

static void raise(apart_t *most, const apart_t *by)
{
	for (int k = 0; k < KINDS; k++)
		most->by[k] = fmax(most->by[k], by->by[k]);
}

/* Whether a difference is larger than `share` of the largest so far. */
static bool exceeds(const walk_t *w, const apart_t *apart, double share)
{
	bool any = false;
	for (int k = 0; k < KINDS; k++)
		any = any || apart->by[k] > share * w->most.by[k];
	return any;
}

/* The point of a triangle of the other surface that is nearest to `p`. Returns the squared distance. */
static double spot_on(const walk_t *w, uint32_t triangle, hob_vec3 p, spot_t *out)
{
	memcpy(out->place, w->to->surface.corners + 3 * (size_t)triangle, sizeof out->place);
	memcpy(out->corner, w->to->corner + 3 * (size_t)triangle, sizeof out->corner);
	return hob_surface_nearest(&w->to->surface, triangle, p, out->share);
}

static apart_t both_sides_apart(const walk_t *w, spot_t a, spot_t b)
{
	apart_t apart = apart_of(w->mesh, &a, &b);
	if (other_side(w, &a) && other_side(w, &b)) {
		apart_t other = apart_of(w->mesh, &a, &b);
		raise(&apart, &other);
	}
	return apart;
}

/* ---- poses */

static hob_vec3 point_of(const float *positions, const spot_t *spot)
{
	hob_vec3 p = {0, 0, 0};
	for (int i = 0; i < 3; i++)
		if (spot->share[i] > 0)
			p = hob_vec3_add(
				p, hob_vec3_scale(hob_vec3_load(positions + 3 * (size_t)spot->place[i]), spot->share[i]));
	return p;
}

/* Walks from neighbour to neighbour only: the tree's boxes hold for the bind pose. */
static double distance_in(const walk_t *w, const float *positions, const spot_t *spot, uint32_t hint)
{
	hob_surface to = w->to->surface;
	to.positions = positions;
	hob_surface_seeker seeker = {.hint = hint};
	return hob_surface_distance(&to, point_of(positions, spot), w->most.by[POSE], HUGE_VAL, &seeker);
}

/* The largest distance in a pose; a bound if it is not larger than any before. The point that is nearest in
 * the bind pose mostly is near enough; if it is not, walks begin at the `hints`. */
static double pose_apart(const walk_t *w, const spot_t *spot, const spot_t *near, const uint32_t *hints,
						 uint32_t hint_count)
{
	double most = 0;
	for (uint32_t pose = 0; pose < w->posed->count; pose++) {
		const float *positions = w->posed->positions[pose];
		double apart = hob_vec3_length(hob_vec3_sub(point_of(positions, spot), point_of(positions, near)));
		for (uint32_t k = 0; k < hint_count && apart > w->most.by[POSE]; k++)
			apart = fmin(apart, distance_in(w, positions, spot, hints[k]));
		most = fmax(most, apart);
	}
	return most;
}

/* ---- measuring */

/* Compares at a point. Returns whether a difference is the largest so far; *high: whether one is so large
 * that a nearby point may have the largest. The exact search is only made if a walk finds a larger one. */
static bool look(walk_t *w, const spot_t *spot, bool *high)
{
	const hob_surface *s = &w->to->surface;
	hob_vec3 p = point_of(w->from->surface.positions, spot);
	spot_t near;
	hob_surface_distance(s, p, 0, HUGE_VAL, &w->seeker);
	uint32_t hints[2] = {w->seeker.hint, 0};
	spot_on(w, w->seeker.hint / 3, p, &near);
	apart_t best = both_sides_apart(w, *spot, near);
	best.by[POSE] = pose_apart(w, spot, &near, hints, 1);
	*high = exceeds(w, &best, peak_share);
	if (!exceeds(w, &best, 1))
		return false;
	const apart_t walked = best;
	double limit = 1.001 * hob_surface_distance(s, p, 0, 0, &w->seeker) + 4 * w->least;
	uint32_t nearest = w->seeker.hint / 3;
	hints[1] = w->seeker.hint;
	double posed = pose_apart(w, spot, &near, hints, 2);
	spot_on(w, nearest, p, &near);
	best = both_sides_apart(w, *spot, near);
	best.by[POSE] = posed;
	for (uint32_t k = 0; k < 3; k++) {
		uint32_t v = s->corners[3 * (size_t)nearest + k], first = s->fan_first[v], end = s->fan_first[v + 1];
		end = end - first > MAX_FAN ? first + MAX_FAN : end;
		for (uint32_t f = first; f < end && exceeds(w, &best, 1); f++) {
			double square = spot_on(w, s->fan[f] / 3, p, &near);
			if (square > limit * limit)
				continue;
			apart_t other = both_sides_apart(w, *spot, near);
			for (int i = UV; i < KINDS; i++)
				best.by[i] = fmin(best.by[i], other.by[i]);
		}
	}
	if (hob_surface_gives_up(&w->seeker))
		raise(&best, &walked);
	bool more = exceeds(w, &best, 1);
	raise(&w->most, &best);
	return more;
}

/* Looks at a place of the full mesh, beginning beside a neighbour that both surfaces have. */
static bool look_at_place(walk_t *w, uint32_t place)
{
	const hob_surface *s = &w->from->surface, *to = &w->to->surface;
	bool high;
	if (!hob_surface_has(s, place) || hob_surface_has(to, place))
		return false;
	for (uint32_t f = s->fan_first[place]; f < s->fan_first[place + 1]; f++)
		if (hob_surface_has(to, s->ring[f])) {
			w->seeker.hint = to->fan[to->fan_first[s->ring[f]]];
			break;
		}
	uint32_t vertex = w->from->corner[s->fan[s->fan_first[place]]];
	const spot_t spot = {{place, place, place}, {vertex, vertex, vertex}, {1, 0, 0}};
	return look(w, &spot, &high);
}

/* Climbs from neighbour to neighbour, as long as a difference grows. */
static void climb(walk_t *w, uint32_t place)
{
	const hob_surface *s = &w->from->surface;
	for (uint32_t step = 0, next = place; step < CLIMBS; step++, place = next) {
		uint32_t first = s->fan_first[place], end = s->fan_first[place + 1];
		end = end - first > MAX_FAN ? first + MAX_FAN : end;
		for (uint32_t f = first; f < end; f++)
			if (look_at_place(w, s->ring[f]))
				next = s->ring[f];
		if (next == place)
			return;
	}
}

static uint32_t points_of(uint32_t count)
{
	uint32_t points = count / STRIDE > MIN_POINTS ? count / STRIDE : MIN_POINTS;
	return points < count ? points : count;
}

static void look_at_lost(walk_t *w, uint32_t count, uint8_t *lost)
{
	uint32_t old = count / points_of(count), peaks[PEAKS], found = 0;
	uint32_t fresh = count < (w->posed->count > 0 ? MANY_POSED : MANY) ? 1 : SHARE;
	for (uint32_t place = 0; place < count; place++) {
		if (hob_surface_has(&w->to->surface, place) || place % (lost[place] ? old : fresh) != 0)
			continue;
		lost[place] = 1;
		if (look_at_place(w, place))
			peaks[found++ % PEAKS] = place;
	}
	for (uint32_t i = 0; i < PEAKS && i < found; i++)
		climb(w, peaks[i]);
}

static bool look_within(walk_t *w, uint32_t triangle, double v, double u, bool *high)
{
	spot_t spot = {.share = {1 - v - u, v, u}};
	memcpy(spot.place, w->from->surface.corners + 3 * (size_t)triangle, sizeof spot.place);
	memcpy(spot.corner, w->from->corner + 3 * (size_t)triangle, sizeof spot.corner);
	return look(w, &spot, high);
}

/* Climbs within a triangle by halving steps, as long as a difference grows. */
static void climb_within(walk_t *w, uint32_t triangle, double v, double u)
{
	static const double way[6][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}};
	double step = 0.25;
	bool high;
	for (int round = 0; round < ROUNDS; round++, step /= 2)
		for (int i = 0; i < 6; i++) {
			double next_v = v + step * way[i][0], next_u = u + step * way[i][1];
			if (next_v >= 0 && next_u >= 0 && next_v + next_u <= 1 &&
				look_within(w, triangle, next_v, next_u, &high))
				v = next_v, u = next_u;
		}
}

/* Looks at the centres of triangles; if the level has few, also at points around them. */
static void look_at_triangles(walk_t *w)
{
	static const double points[7][2] = {{1.0 / 3, 1.0 / 3}, {0.5, 0},			{0, 0.5},		   {0.5, 0.5},
										{1.0 / 6, 1.0 / 6}, {2.0 / 3, 1.0 / 6}, {1.0 / 6, 2.0 / 3}};
	const hob_surface *s = &w->from->surface, *to = &w->to->surface;
	uint32_t all = s->triangle_count, count = points_of(all), farthest = HOB_NONE, at = 0,
			 each = 7 * all < 4 * MIN_POINTS ? 7
					: all < MANY			 ? 4
											 : 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t t = (uint32_t)((uint64_t)all * i / count), place = s->corners[3 * (size_t)t];
		if (hob_surface_has(to, place))
			w->seeker.hint = to->fan[to->fan_first[place]];
		bool high = true;
		for (uint32_t k = 0; k < each && (high || each == 7); k++)
			if (look_within(w, t, points[k][0], points[k][1], &high))
				farthest = t, at = k;
	}
	if (farthest != HOB_NONE)
		climb_within(w, farthest, points[at][0], points[at][1]);
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
	return met < 1e-6 ? before : fmaxf(before, (float)(HOB_LOD_ATTRIBUTE_MARGIN * met));
}

void hob_lod_points_measure(const hob_lod_full *full, const hob_lod_surface *level, const hob_mesh *mesh,
							const hob_lod_posed *posed, const uint32_t *mirror, uint8_t *lost,
							double *distance, hob_attribute_error *most)
{
	if (level->surface.triangle_count == 0 || !level->corner)
		return;
	const hob_lod_surface fine = {full->surface, full->corner};
	walk_t w = {.mesh = mesh,
				.posed = posed,
				.mirror = mirror,
				.least = full->least,
				.from = &fine,
				.to = level,
				.seeker = hob_surface_seek(&full->surface, &level->surface),
				.most = {{*distance / HOB_LOD_POSE_MARGIN, (double)most->uv / HOB_LOD_ATTRIBUTE_MARGIN,
						  (double)most->color / HOB_LOD_ATTRIBUTE_MARGIN,
						  (double)most->weight / HOB_LOD_ATTRIBUTE_MARGIN}}};
	look_at_lost(&w, full->seen_count, lost);
	w.from = level, w.to = &fine, w.seeker.hint = 0;
	look_at_triangles(&w);
	*distance = fmax(*distance, HOB_LOD_POSE_MARGIN * w.most.by[POSE]);
	most->uv = stated(most->uv, w.most.by[UV]);
	most->color = stated(most->color, w.most.by[COLOR]);
	most->weight = stated(most->weight, fmin(w.most.by[WEIGHT], 1 / HOB_LOD_ATTRIBUTE_MARGIN));
}
