#include "x3d_private.h"

#include <math.h>

enum { ROUND = 32 }; /* sides of round solids */

static const double pi = 3.14159265358979323846;

/* Points with their normals and texture coordinates. */
typedef struct solid {
	hob_x3d_shape *out;
	hob_arena *arena;
	uint32_t room;
} solid;

static bool reserve(solid *s, uint32_t count, bool with_normals, hob_error *err)
{
	hob_x3d_shape *out = s->out;
	s->room = count;
	out->points = HOB_NEW(s->arena, float, (size_t)count * 3);
	out->uvs = HOB_NEW(s->arena, float, (size_t)count * 2);
	out->normals = with_normals ? HOB_NEW(s->arena, float, (size_t)count * 3) : NULL;
	return (out->points && out->uvs && (out->normals || !with_normals)) ||
		   hob_fail_memory(err, s->arena, "a solid");
}

static void put(solid *s, double x, double y, double z, double nx, double ny, double nz, double u, double v)
{
	hob_x3d_shape *out = s->out;
	size_t at = out->point_count;
	if (at >= s->room)
		return;
	const float point[3] = {(float)x, (float)y, (float)z}, normal[3] = {(float)nx, (float)ny, (float)nz};
	memcpy(out->points + at * 3, point, sizeof point);
	if (out->normals)
		memcpy(out->normals + at * 3, normal, sizeof normal);
	out->uvs[at * 2] = (float)u;
	out->uvs[at * 2 + 1] = (float)v;
	out->uv_count = ++out->point_count;
	out->normal_count = out->normals ? out->point_count : 0;
}

static bool face(solid *s, const uint32_t *corners, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!hob_x3d_corner_add(s->out, corners[i], corners[i], HOB_NONE, corners[i]))
			return false;
	return hob_x3d_face_end(s->out, count);
}

/* Rings of ROUND + 1 points each, from the top down. */
static bool rings(solid *s, uint32_t first, uint32_t count)
{
	for (uint32_t ring = 0; ring + 1 < count; ring++)
		for (uint32_t i = 0; i < ROUND; i++) {
			uint32_t a = first + ring * (ROUND + 1) + i, b = a + ROUND + 1;
			const uint32_t corners[4] = {a, b, b + 1, a + 1};
			if (!face(s, corners, 4))
				return false;
		}
	return true;
}

/* A disk at height y that faces up or down. */
static bool disk(solid *s, double radius, double y, bool up)
{
	uint32_t corners[ROUND];
	for (uint32_t i = 0; i < ROUND; i++) {
		double angle = 2 * pi * i / ROUND, c = cos(angle), sn = sin(angle);
		corners[up ? i : ROUND - 1 - i] = s->out->point_count;
		put(s, radius * sn, y, radius * c, 0, up ? 1 : -1, 0, 0.5 + sn / 2, up ? 0.5 - c / 2 : 0.5 + c / 2);
	}
	return face(s, corners, ROUND);
}

/* Seen from outside, angles grow to the right; the seam is at the back. */
static void side_ring(solid *s, double radius, double y, double normal_y, double v)
{
	double across = sqrt(1 - normal_y * normal_y);
	for (uint32_t i = 0; i <= ROUND; i++) {
		double angle = 2 * pi * i / ROUND + pi;
		put(s, radius * sin(angle), y, radius * cos(angle), sin(angle) * across, normal_y,
			cos(angle) * across, (double)i / ROUND, v);
	}
}

static double size_of(hob_x3d_ptr e, const char *field, float otherwise)
{
	float value = hob_x3d_float(e, field, otherwise);
	return value >= 0 && value < 1e15f ? (double)value : (double)otherwise;
}

static bool box(solid *s, hob_x3d_ptr e, hob_error *err)
{
	float size[3] = {2, 2, 2};
	hob_x3d_vector(e, "size", size, 3);
	if (!reserve(s, 24, true, err))
		return false;
	for (int axis = 0; axis < 3; axis++)
		for (int side = -1; side <= 1; side += 2) {
			uint32_t corners[4];
			for (int k = 0; k < 4; k++) {
				/* Counter-clockwise seen from outside. */
				int a = k == 1 || k == 2 ? 1 : -1, b = k >= 2 ? 1 : -1;
				double p[3], n[3] = {0};
				/* Right and up of the picture on each side: ISO/IEC 14772-1, 6.7. */
				int right = axis == 0 ? 2 : 0, up = axis == 1 ? 2 : 1;
				int right_sign = axis == 0 ? -side : axis == 1 ? 1 : side, up_sign = axis == 1 ? -side : 1;
				p[axis] = side * (double)size[axis] / 2;
				p[right] = a * right_sign * (double)size[right] / 2;
				p[up] = b * up_sign * (double)size[up] / 2;
				n[axis] = side;
				corners[k] = s->out->point_count;
				put(s, p[0], p[1], p[2], n[0], n[1], n[2], a > 0, b > 0);
			}
			if (!face(s, corners, 4))
				return hob_fail(err, MEMORY, "no memory left for faces");
		}
	return true;
}

static bool sphere(solid *s, hob_x3d_ptr e, hob_error *err)
{
	double radius = size_of(e, "radius", 1);
	uint32_t count = ROUND / 2 + 1;
	if (!reserve(s, count * (ROUND + 1), true, err))
		return false;
	for (uint32_t ring = 0; ring < count; ring++) {
		double angle = pi * ring / (count - 1), y = cos(angle);
		side_ring(s, radius * sin(angle), radius * y,
				  ring == 0			  ? 1
				  : ring == count - 1 ? -1
									  : y,
				  1 - (double)ring / (count - 1));
	}
	return rings(s, 0, count) || hob_fail(err, MEMORY, "no memory left for faces");
}

static bool cylinder(solid *s, hob_x3d_ptr e, hob_error *err)
{
	double radius = size_of(e, "radius", 1), half = size_of(e, "height", 2) / 2;
	bool done = reserve(s, 4 * (ROUND + 1), true, err);
	if (!done)
		return false;
	if (hob_x3d_bool(e, "side", true)) {
		side_ring(s, radius, half, 0, 1);
		side_ring(s, radius, -half, 0, 0);
		done = rings(s, 0, 2);
	}
	done = done && (!hob_x3d_bool(e, "top", true) || disk(s, radius, half, true)) &&
		   (!hob_x3d_bool(e, "bottom", true) || disk(s, radius, -half, false));
	return done || hob_fail(err, MEMORY, "no memory left for faces");
}

static bool cone(solid *s, hob_x3d_ptr e, hob_error *err)
{
	double radius = size_of(e, "bottomRadius", 1), height = size_of(e, "height", 2);
	double slope = hypot(radius, height), lean = slope > 0 ? radius / slope : 0;
	bool done = reserve(s, 4 * (ROUND + 1), true, err);
	if (!done)
		return false;
	if (hob_x3d_bool(e, "side", true)) {
		side_ring(s, 0, height / 2, lean, 1);
		side_ring(s, radius, -height / 2, lean, 0);
		done = rings(s, 0, 2);
	}
	done = done && (!hob_x3d_bool(e, "bottom", true) || disk(s, radius, -height / 2, false));
	return done || hob_fail(err, MEMORY, "no memory left for faces");
}

/* ---- Extrusion: a cross-section along a spine; ISO/IEC 14772-1, 6.18 */

typedef struct extrusion {
	float *spine, *section, *scale, *orientation;
	uint32_t spine_count, section_count, scale_count, orientation_count;
	bool closed;		  /* the spine's ends coincide */
	double (*axes)[3][3]; /* [spine_count] x y z axes of the plane of each section */
} extrusion;

static void minus(const float *a, const float *b, double out[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = (double)a[i] - (double)b[i];
}

static void cross(const double a[3], const double b[3], double out[3])
{
	for (int i = 0; i < 3; i++)
		out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static bool normalize(double v[3])
{
	double length = sqrt(dot(v, v));
	for (int i = 0; i < 3 && length > 1e-12; i++)
		v[i] /= length;
	return length > 1e-12;
}

/* The z axis of a section on a straight spine of direction `y`: +Z, turned by the rotation of +Y to `y`. */
static void any_across(const double y[3], double z[3])
{
	const double up[3] = {0, 1, 0}, front[3] = {0, 0, 1};
	double axis[3], c = dot(up, y), parts[3];
	cross(up, y, axis);
	double s = sqrt(dot(axis, axis));
	memcpy(z, front, sizeof front);
	if (!normalize(axis))
		return;
	cross(axis, front, parts);
	for (int i = 0; i < 3; i++)
		z[i] = front[i] * c + parts[i] * s + axis[i] * dot(axis, front) * (1 - c);
}

static void make_axes(extrusion *e)
{
	uint32_t n = e->spine_count, last = e->closed ? n - 2 : n - 1;
	bool any = false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t before = i > 0		  ? i - 1
						  : e->closed ? last
									  : 0,
				 behind = i + 1 < n	  ? i + 1
						  : e->closed ? 1
									  : n - 1;
		const float *at = e->spine + (size_t)i * 3;
		double forth[3], back[3], *y = e->axes[i][1], *z = e->axes[i][2];
		minus(e->spine + (size_t)behind * 3, e->spine + (size_t)before * 3, y);
		if (!normalize(y))
			memcpy(y, i > 0 ? e->axes[i - 1][1] : (const double[3]){0, 1, 0}, 3 * sizeof *y);
		minus(e->spine + (size_t)behind * 3, at, forth);
		minus(e->spine + (size_t)before * 3, at, back);
		cross(forth, back, z);
		if (!normalize(z))
			memset(z, 0, 3 * sizeof *z);
		any = any || dot(z, z) > 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		double *z = e->axes[i][2];
		/* A straight section takes the previous one's axis; at the start, the first defined one. */
		for (uint32_t k = 0; any && i == 0 && k < n && !(dot(z, z) > 0); k++)
			memcpy(z, e->axes[k][2], 3 * sizeof *z);
		if (!any)
			any_across(e->axes[i][1], z);
		else if (!(dot(z, z) > 0))
			memcpy(z, e->axes[i - 1][2], 3 * sizeof *z);
		if (i > 0 && dot(z, e->axes[i - 1][2]) < 0)
			for (int k = 0; k < 3; k++)
				z[k] = -z[k];
		cross(e->axes[i][1], z, e->axes[i][0]);
	}
}

static void turned(const float *turn, double p[3])
{
	double axis[3] = {(double)turn[0], (double)turn[1], (double)turn[2]}, parts[3];
	double c = cos((double)turn[3]), s = sin((double)turn[3]);
	if (!normalize(axis))
		return;
	cross(axis, p, parts);
	double along = dot(axis, p) * (1 - c);
	for (int i = 0; i < 3; i++)
		p[i] = p[i] * c + parts[i] * s + axis[i] * along;
}

static void section_at(solid *s, const extrusion *e, uint32_t i)
{
	const float *scale = e->scale + (size_t)(i < e->scale_count ? i : e->scale_count - 1) * 2;
	const float *turn =
		e->orientation + (size_t)(i < e->orientation_count ? i : e->orientation_count - 1) * 4;
	for (uint32_t k = 0; k < e->section_count; k++) {
		double p[3] = {(double)e->section[(size_t)k * 2] * (double)scale[0], 0,
					   (double)e->section[(size_t)k * 2 + 1] * (double)scale[1]},
			   at[3];
		turned(turn, p);
		for (int c = 0; c < 3; c++)
			at[c] = (double)e->spine[(size_t)i * 3 + (size_t)c] + p[0] * e->axes[i][0][c] +
					p[1] * e->axes[i][1][c] + p[2] * e->axes[i][2][c];
		put(s, at[0], at[1], at[2], 0, 0, 0, (double)k / (e->section_count - 1),
			(double)i / (e->spine_count - 1));
	}
}

static bool cap(solid *s, const extrusion *e, uint32_t first, bool reversed)
{
	uint32_t n = e->section_count;
	bool round = memcmp(e->section, e->section + ((size_t)n - 1) * 2, 2 * sizeof(float)) == 0;
	n -= round;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t corner = first + (reversed ? n - 1 - i : i);
		if (!hob_x3d_corner_add(s->out, corner, HOB_NONE, HOB_NONE, corner))
			return false;
	}
	return hob_x3d_face_end(s->out, n);
}

static bool sweep(solid *s, hob_x3d_ptr from, extrusion *e, hob_error *err)
{
	uint32_t m = e->section_count, n = e->spine_count;
	bool done = true;
	e->axes = (double(*)[3][3])hob_arena_array(s->arena, n, sizeof *e->axes, 8);
	if (!e->axes)
		return hob_fail_memory(err, s->arena, "a solid");
	if (!reserve(s, m * n, false, err))
		return false;
	make_axes(e);
	for (uint32_t i = 0; i < n; i++)
		section_at(s, e, i);
	for (uint32_t i = 0; i + 1 < n; i++)
		for (uint32_t k = 0; k + 1 < m && done; k++) {
			const uint32_t corners[4] = {i * m + k, i * m + k + 1, (i + 1) * m + k + 1, (i + 1) * m + k};
			done = face(s, corners, 4);
		}
	if (!e->closed && m > 2)
		done = done && (!hob_x3d_bool(from, "beginCap", true) || cap(s, e, 0, true)) &&
			   (!hob_x3d_bool(from, "endCap", true) || cap(s, e, (n - 1) * m, false));
	s->out->crease = hob_x3d_float(from, "creaseAngle", 0);
	s->out->clockwise = !hob_x3d_bool(from, "ccw", true);
	return done || hob_fail(err, MEMORY, "no memory left for faces");
}

static bool extrude(hob_x3d *x, solid *s, hob_x3d_ptr from, hob_error *err)
{
	static float spine[] = {0, 0, 0, 0, 1, 0}, section[] = {1, 1, 1, -1, -1, -1, -1, 1, 1, 1},
				 scale[] = {1, 1}, orientation[] = {0, 0, 1, 0};
	extrusion e;
	if (!hob_x3d_floats(x, from, "spine", &e.spine, &e.spine_count, err) ||
		!hob_x3d_floats(x, from, "crossSection", &e.section, &e.section_count, err) ||
		!hob_x3d_floats(x, from, "scale", &e.scale, &e.scale_count, err) ||
		!hob_x3d_floats(x, from, "orientation", &e.orientation, &e.orientation_count, err))
		return false;
	e.spine_count /= 3, e.section_count /= 2, e.scale_count /= 2, e.orientation_count /= 4;
	if (!hob_x3d_has(from, "spine"))
		e.spine = spine, e.spine_count = 2;
	if (!hob_x3d_has(from, "crossSection"))
		e.section = section, e.section_count = 5;
	if (e.scale_count == 0)
		e.scale = scale, e.scale_count = 1;
	if (e.orientation_count == 0)
		e.orientation = orientation, e.orientation_count = 1;
	if (e.spine_count < 2 || e.section_count < 2)
		return true;
	if ((uint64_t)e.spine_count * e.section_count > 1u << 24)
		return hob_fail(err, LIMIT, "an extrusion of %u by %u points", e.spine_count, e.section_count);
	e.closed = e.spine_count > 3 &&
			   memcmp(e.spine, e.spine + ((size_t)e.spine_count - 1) * 3, 3 * sizeof(float)) == 0;
	return sweep(s, from, &e, err);
}

bool hob_x3d_solid(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, bool *known, hob_error *err)
{
	static const struct {
		const char *type;
		bool (*make)(solid *, hob_x3d_ptr, hob_error *);
	} makers[] = {{"Box", box}, {"Sphere", sphere}, {"Cylinder", cylinder}, {"Cone", cone}};
	solid s = {.out = out, .arena = x->request->scratch};
	out->both_sides = !hob_x3d_bool(e, "solid", true);
	for (size_t i = 0; i < HOB_COUNT_OF(makers); i++)
		if (hob_x3d_is(e, makers[i].type)) {
			*known = true;
			return makers[i].make(&s, e, err);
		}
	*known = hob_x3d_is(e, "Extrusion");
	return !*known || extrude(x, &s, e, err);
}
