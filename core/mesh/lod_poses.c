#include "lod_poses.h"

enum {
	PEAKS = 8,
	CLIMBS = 8,
	MAX_FAN = 24,
	MANY = 20000,
	SHARE = 4,
	MIN_POINTS = 250,
	STRIDE = 64,
	FEW = 1000
};
enum { MOST_PLACES = 4 << 20 }; /* in all poses together */

/* ---- the mesh in poses */

static hob_vec3 morphed(const hob_mesh *m, const float *weights, uint32_t count, uint32_t v)
{
	hob_vec3 p = hob_vec3_load(m->position + 3 * (size_t)v);
	for (uint32_t t = 0; t < count && t < m->target_count; t++)
		if (m->targets[t].position)
			p = hob_vec3_add(
				p, hob_vec3_scale(hob_vec3_load(m->targets[t].position + 3 * (size_t)v), (double)weights[t]));
	return p;
}

/* Joints beyond the skin's count are ignored, as in the runtime. */
static hob_vec3 skinned(const hob_mesh *m, const float *matrices, uint32_t joint_count, uint32_t v,
						hob_vec3 p)
{
	double blend[12] = {0};
	for (uint32_t k = 0; k < m->influence_count; k++) {
		size_t at = (size_t)m->influence_count * v + k;
		if (!(m->weights[at] > 0) || m->joints[at] >= joint_count)
			continue;
		const float *matrix = matrices + 16 * (size_t)m->joints[at];
		double weight = (double)m->weights[at];
		for (int column = 0; column < 4; column++)
			for (int row = 0; row < 3; row++)
				blend[3 * column + row] += weight * (double)matrix[4 * column + row];
	}
	return (hob_vec3){blend[0] * p.x + blend[3] * p.y + blend[6] * p.z + blend[9],
					  blend[1] * p.x + blend[4] * p.y + blend[7] * p.z + blend[10],
					  blend[2] * p.x + blend[5] * p.y + blend[8] * p.z + blend[11]};
}

/* Moves `count` vertices; false if one leaves the range of float. */
static bool pose(const hob_mesh *mesh, const hob_mesh_poses *poses, uint32_t index, const uint32_t *vertex,
				 uint32_t count, float *out)
{
	const float *matrices = poses->matrices + 16 * (size_t)poses->joint_count * index;
	const float *weights = poses->weights + (size_t)poses->target_count * index;
	bool finite = true;
	for (uint32_t i = 0; i < count; i++) {
		hob_vec3 p = morphed(mesh, weights, poses->target_count, vertex[i]);
		float *to = out + 3 * (size_t)i;
		hob_vec3_store(to, skinned(mesh, matrices, poses->joint_count, vertex[i], p));
		finite = finite && isfinite(to[0]) && isfinite(to[1]) && isfinite(to[2]);
	}
	return finite;
}

static bool shrinks(const float *from, const float *to, const uint32_t *indices, uint32_t index_count)
{
	uint32_t small = 0;
	for (uint32_t i = 0; i < index_count; i += 3) {
		double before = 0, after = 0;
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t a = indices[i + k], b = indices[i + (k == 2 ? 0 : k + 1)];
			before += hob_vec3_between(from + 3 * (size_t)a, from + 3 * (size_t)b);
			after += hob_vec3_between(to + 3 * (size_t)a, to + 3 * (size_t)b);
		}
		small += after < before / 4;
	}
	return small > index_count / 3 / 100;
}

bool hob_lod_poses_shape(const hob_mesh *mesh, const hob_mesh_poses *poses, const uint32_t *first,
						 const uint32_t *indices, uint32_t index_count, hob_arena *arena, const float **shape,
						 hob_error *err)
{
	*shape = mesh->position;
	if (!poses || poses->count == 0 || mesh->influence_count == 0)
		return true;
	float *positions = HOB_NEW(arena, float, 3 * (size_t)mesh->vertex_count);
	if (!positions)
		return hob_fail_memory(err, arena, "levels of detail in poses");
	for (uint32_t i = 0; i < poses->count; i++)
		if (pose(mesh, poses, i, first, mesh->vertex_count, positions) &&
			!shrinks(mesh->position, positions, indices, index_count)) {
			*shape = positions;
			break;
		}
	return true;
}

bool hob_lod_poses_begin(const hob_lod_full *full, const hob_mesh *mesh, const hob_mesh_poses *poses,
						 hob_arena *arena, hob_lod_posed *out, hob_error *err)
{
	*out = (hob_lod_posed){0};
	if (!poses || poses->count == 0 || full->surface.triangle_count == 0 || mesh->influence_count == 0)
		return true;
	uint32_t most = MOST_PLACES / full->place_count;
	most = most > poses->count ? poses->count : most > 1 ? most : 1;
	out->positions = HOB_NEW(arena, float *, most);
	out->lost = HOB_NEW(arena, uint8_t, full->place_count);
	if (!out->positions || !out->lost)
		return hob_fail_memory(err, arena, "levels of detail in poses");
	for (uint32_t i = 0; i < most; i++) {
		float *positions = HOB_NEW(arena, float, 3 * (size_t)full->place_count);
		if (!positions)
			return hob_fail_memory(err, arena, "levels of detail in poses");
		if (pose(mesh, poses, i, full->vertex, full->place_count, positions))
			out->positions[out->count++] = positions;
	}
	return true;
}

/* ---- measuring */

/* One direction of the measurement: points of `from`, the nearest triangles of `to`. */
typedef struct track {
	const hob_lod_posed *posed;
	const hob_surface *from, *to;
	hob_surface_seeker seeker;
	double farthest;
} track_t;

/* A point of a triangle: the places at its corners, and their barycentric weights. */
typedef struct spot {
	uint32_t place[3];
	double share[3];
} spot_t;

typedef struct peak {
	uint32_t place, pose, hint;
} peak_t;

static hob_vec3 point_of(const float *positions, const spot_t *spot)
{
	hob_vec3 p = hob_vec3_scale(hob_vec3_load(positions + 3 * (size_t)spot->place[0]), spot->share[0]);
	for (int i = 1; i < 3; i++)
		if (spot->share[i] > 0)
			p = hob_vec3_add(
				p, hob_vec3_scale(hob_vec3_load(positions + 3 * (size_t)spot->place[i]), spot->share[i]));
	return p;
}

/* Walks from neighbour to neighbour only: the tree's boxes hold for the bind pose. */
static double distance_in(const track_t *t, uint32_t pose, const spot_t *spot, uint32_t *hint)
{
	hob_surface to = *t->to;
	to.positions = t->posed->positions[pose];
	hob_surface_seeker seeker = {.hint = *hint};
	double distance = hob_surface_distance(&to, point_of(to.positions, spot), t->farthest, HUGE_VAL, &seeker);
	*hint = seeker.hint;
	return distance;
}

/* The squared distance between two points in a pose, rounded up slightly, because a search rounds
 * differently. */
static double square_between(const float *positions, const spot_t *a, const spot_t *b)
{
	hob_vec3 way = hob_vec3_sub(point_of(positions, a), point_of(positions, b));
	return 1.000001 * hob_vec3_dot(way, way);
}

/* Returns whether the point has the largest distance so far in some pose, which then becomes the peak. The
 * point that was nearest in the bind pose, or one close to it, mostly is near enough; if a short search finds
 * none, the distance is that to the triangle nearest in the bind pose. */
static bool follow(track_t *t, const spot_t *spot, peak_t *peak)
{
	hob_vec3 bound = point_of(t->from->positions, spot);
	bool sure = false, found = false;
	spot_t near;
	hob_surface_distance(t->to, bound, 0, HUGE_VAL, &t->seeker);
	memcpy(near.place, t->to->corners + t->seeker.hint, sizeof near.place);
	hob_surface_nearest(t->to, t->seeker.hint / 3, bound, near.share);
	for (uint32_t pose = 0; pose < t->posed->count; pose++) {
		if (square_between(t->posed->positions[pose], spot, &near) <= t->farthest * t->farthest)
			continue;
		uint32_t hint = t->seeker.hint;
		double distance = distance_in(t, pose, spot, &hint);
		if (distance > t->farthest && !sure) {
			sure = true;
			hob_surface_distance(t->to, bound, 0, 0, &t->seeker);
			uint32_t other = t->seeker.hint;
			double nearer = distance_in(t, pose, spot, &other);
			if (nearer < distance)
				distance = nearer, hint = other;
		}
		if (distance > t->farthest) {
			t->farthest = distance;
			*peak = (peak_t){spot->place[0], pose, hint};
			found = true;
		}
	}
	return found;
}

static spot_t at_place(uint32_t place)
{
	return (spot_t){{place, place, place}, {1, 0, 0}};
}

/* Starts beside a neighbour that both surfaces have. */
static void begin_beside(track_t *t, uint32_t place)
{
	for (uint32_t f = t->from->fan_first[place]; f < t->from->fan_first[place + 1]; f++)
		if (hob_surface_has(t->to, t->from->ring[f])) {
			t->seeker.hint = t->to->fan[t->to->fan_first[t->from->ring[f]]];
			return;
		}
}

/* Climbs from neighbour to neighbour, as long as the distance grows. */
static void climb(track_t *t, peak_t peak)
{
	for (uint32_t step = 0; step < CLIMBS; step++) {
		uint32_t first = t->from->fan_first[peak.place], end = t->from->fan_first[peak.place + 1];
		peak_t next = peak;
		end = end - first > MAX_FAN ? first + MAX_FAN : end;
		for (uint32_t f = first; f < end; f++) {
			spot_t spot = at_place(t->from->ring[f]);
			uint32_t hint = peak.hint;
			if (hob_surface_has(t->to, spot.place[0]))
				continue;
			double distance = distance_in(t, peak.pose, &spot, &hint);
			if (distance > t->farthest) {
				t->farthest = distance;
				next = (peak_t){spot.place[0], peak.pose, hint};
			}
		}
		if (next.place == peak.place)
			return;
		peak = next;
	}
}

static uint32_t points_of(uint32_t count)
{
	uint32_t points = count / STRIDE > MIN_POINTS ? count / STRIDE : MIN_POINTS;
	return points < count ? points : count;
}

static void follow_lost(track_t *t, uint32_t count)
{
	uint32_t old = count / points_of(count), fresh = count < MANY ? 1 : SHARE, found = 0;
	peak_t peaks[PEAKS];
	for (uint32_t place = 0; place < count; place++) {
		if (hob_surface_has(t->to, place) || !hob_surface_has(t->from, place) ||
			place % (t->posed->lost[place] ? old : fresh) != 0)
			continue;
		t->posed->lost[place] = 1;
		begin_beside(t, place);
		spot_t spot = at_place(place);
		if (follow(t, &spot, &peaks[found % PEAKS]))
			found++;
	}
	for (uint32_t i = 0; i < PEAKS && i < found; i++)
		climb(t, peaks[i]);
}

/* Climbs within a triangle by halving steps. */
static void climb_within(track_t *t, spot_t spot, peak_t peak)
{
	static const int way[6][2] = {{0, 1}, {1, 0}, {1, 2}, {2, 1}, {0, 2}, {2, 0}};
	double step = 0.25;
	for (uint32_t round = 0; round < CLIMBS; round++, step /= 2)
		for (int i = 0; i < 6; i++) {
			spot_t next = spot;
			uint32_t hint = peak.hint;
			double part = step < spot.share[way[i][0]] ? step : spot.share[way[i][0]];
			next.share[way[i][0]] -= part, next.share[way[i][1]] += part;
			double distance = distance_in(t, peak.pose, &next, &hint);
			if (distance > t->farthest) {
				t->farthest = distance;
				spot = next, peak.hint = hint;
			}
		}
}

static void follow_level(track_t *t)
{
	static const double shares[4][3] = {
		{1.0 / 3, 1.0 / 3, 1.0 / 3}, {0.5, 0.5, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}};
	const hob_surface *level = t->from;
	uint32_t all = level->triangle_count, count = all < FEW ? all : points_of(all), each = all < FEW ? 4 : 1;
	spot_t farthest;
	peak_t peak;
	bool found = false;
	for (uint32_t i = 0; i < count; i++) {
		spot_t spot;
		memcpy(spot.place, level->corners + 3 * (size_t)((uint64_t)all * i / count), sizeof spot.place);
		if (hob_surface_has(t->to, spot.place[0]))
			t->seeker.hint = t->to->fan[t->to->fan_first[spot.place[0]]];
		for (uint32_t k = 0; k < each; k++) {
			memcpy(spot.share, shares[k], sizeof spot.share);
			if (follow(t, &spot, &peak))
				farthest = spot, found = true;
		}
	}
	if (found)
		climb_within(t, farthest, peak);
}

double hob_lod_poses_measure(const hob_lod_full *full, hob_lod_posed *posed, const hob_surface *level,
							 double distance)
{
	if (posed->count == 0 || level->triangle_count == 0)
		return distance;
	track_t there = {.posed = posed,
					 .from = &full->surface,
					 .to = level,
					 .farthest = distance / HOB_LOD_POSE_MARGIN,
					 .seeker = hob_surface_seek(&full->surface, level)};
	follow_lost(&there, full->seen_count);
	track_t back = {.posed = posed,
					.from = level,
					.to = &full->surface,
					.farthest = there.farthest,
					.seeker = there.seeker};
	back.seeker.hint = 0;
	follow_level(&back);
	return fmax(distance, HOB_LOD_POSE_MARGIN * back.farthest);
}
