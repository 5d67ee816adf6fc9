#include "x3d_private.h"

#include "../../base/guard.h"
#include "../../base/limits.h"
#include "../shape.h"

#include <math.h>

enum { ROUND = 32 }; /* sides of round solids */

static const double pi = 3.14159265358979323846;

/* Points with their normals and texture coordinates. */
typedef struct solid {
	hob_x3d_shape *out;
	hob_arena *arena;
	uint32_t room;
} solid;

static void reserve(solid *s, uint32_t count, bool with_normals)
{
	hob_x3d_shape *out = s->out;
	s->room = count;
	out->points = HOB_NEW(s->arena, float, (size_t)count * 3);
	out->uvs = HOB_NEW(s->arena, float, (size_t)count * 2);
	out->normals = with_normals ? HOB_NEW(s->arena, float, (size_t)count * 3) : NULL;
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

static void face(solid *s, const uint32_t *corners, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		hob_x3d_corner_add(s->out, corners[i], corners[i], HOB_NONE, corners[i]);
	hob_x3d_face_end(s->out, count);
}

/* Rings of ROUND + 1 points each, from the top down. */
static void rings(solid *s, uint32_t first, uint32_t count)
{
	for (uint32_t ring = 0; ring + 1 < count; ring++)
		for (uint32_t i = 0; i < ROUND; i++) {
			uint32_t a = first + ring * (ROUND + 1) + i, b = a + ROUND + 1;
			const uint32_t corners[4] = {a, b, b + 1, a + 1};
			face(s, corners, 4);
		}
}

/* A disk at height y that faces up or down. */
static void disk(solid *s, double radius, double y, bool up)
{
	uint32_t corners[ROUND];
	for (uint32_t i = 0; i < ROUND; i++) {
		double angle = 2 * pi * i / ROUND, c = cos(angle), sn = sin(angle);
		corners[up ? i : ROUND - 1 - i] = s->out->point_count;
		put(s, radius * sn, y, radius * c, 0, up ? 1 : -1, 0, 0.5 + sn / 2, up ? 0.5 - c / 2 : 0.5 + c / 2);
	}
	face(s, corners, ROUND);
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

static void box(solid *s, hob_x3d_ptr e)
{
	float size[3] = {2, 2, 2};
	hob_x3d_vector(e, "size", size, 3);
	reserve(s, 24, true);
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
			face(s, corners, 4);
		}
}

static void sphere(solid *s, hob_x3d_ptr e)
{
	double radius = size_of(e, "radius", 1);
	uint32_t count = ROUND / 2 + 1;
	reserve(s, count * (ROUND + 1), true);
	for (uint32_t ring = 0; ring < count; ring++) {
		double angle = pi * ring / (count - 1), y = cos(angle);
		side_ring(s, radius * sin(angle), radius * y,
				  ring == 0			  ? 1
				  : ring == count - 1 ? -1
									  : y,
				  1 - (double)ring / (count - 1));
	}
	rings(s, 0, count);
}

static void cylinder(solid *s, hob_x3d_ptr e)
{
	double radius = size_of(e, "radius", 1), half = size_of(e, "height", 2) / 2;
	reserve(s, 4 * (ROUND + 1), true);
	if (hob_x3d_bool(e, "side", true)) {
		side_ring(s, radius, half, 0, 1);
		side_ring(s, radius, -half, 0, 0);
		rings(s, 0, 2);
	}
	if (hob_x3d_bool(e, "top", true))
		disk(s, radius, half, true);
	if (hob_x3d_bool(e, "bottom", true))
		disk(s, radius, -half, false);
}

static void cone(solid *s, hob_x3d_ptr e)
{
	double radius = size_of(e, "bottomRadius", 1), height = size_of(e, "height", 2);
	double slope = hypot(radius, height), lean = slope > 0 ? radius / slope : 0;
	reserve(s, 4 * (ROUND + 1), true);
	if (hob_x3d_bool(e, "side", true)) {
		side_ring(s, 0, height / 2, lean, 1);
		side_ring(s, radius, -height / 2, lean, 0);
		rings(s, 0, 2);
	}
	if (hob_x3d_bool(e, "bottom", true))
		disk(s, radius, -height / 2, false);
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

static void cap(solid *s, const extrusion *e, uint32_t first, bool reversed)
{
	uint32_t n = e->section_count;
	bool round = memcmp(e->section, e->section + ((size_t)n - 1) * 2, 2 * sizeof(float)) == 0;
	n -= round;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t corner = first + (reversed ? n - 1 - i : i);
		hob_x3d_corner_add(s->out, corner, HOB_NONE, HOB_NONE, corner);
	}
	hob_x3d_face_end(s->out, n);
}

static void sweep(solid *s, hob_x3d_ptr from, extrusion *e)
{
	uint32_t m = e->section_count, n = e->spine_count;
	e->axes = (double(*)[3][3])hob_arena_array(s->arena, n, sizeof *e->axes, 8);
	reserve(s, m * n, false);
	make_axes(e);
	for (uint32_t i = 0; i < n; i++)
		section_at(s, e, i);
	for (uint32_t i = 0; i + 1 < n; i++)
		for (uint32_t k = 0; k + 1 < m; k++) {
			const uint32_t corners[4] = {i * m + k, i * m + k + 1, (i + 1) * m + k + 1, (i + 1) * m + k};
			face(s, corners, 4);
		}
	bool open = !e->closed && m > 2;
	if (open && hob_x3d_bool(from, "beginCap", true))
		cap(s, e, 0, true);
	if (open && hob_x3d_bool(from, "endCap", true))
		cap(s, e, (n - 1) * m, false);
	s->out->crease = hob_x3d_float(from, "creaseAngle", 0);
	s->out->clockwise = !hob_x3d_bool(from, "ccw", true);
}

static void extrude(hob_x3d *x, solid *s, hob_x3d_ptr from)
{
	static float spine[] = {0, 0, 0, 0, 1, 0}, section[] = {1, 1, 1, -1, -1, -1, -1, 1, 1, 1},
				 scale[] = {1, 1}, orientation[] = {0, 0, 1, 0};
	extrusion e;
	e.spine = hob_x3d_floats(x, from, "spine", &e.spine_count);
	e.section = hob_x3d_floats(x, from, "crossSection", &e.section_count);
	e.scale = hob_x3d_floats(x, from, "scale", &e.scale_count);
	e.orientation = hob_x3d_floats(x, from, "orientation", &e.orientation_count);
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
		return;
	if ((uint64_t)e.spine_count * e.section_count > 1u << 24)
		hob_leave(LIMIT, "an extrusion of %u by %u points", e.spine_count, e.section_count);
	e.closed = e.spine_count > 3 &&
			   memcmp(e.spine, e.spine + ((size_t)e.spine_count - 1) * 3, 3 * sizeof(float)) == 0;
	sweep(s, from, &e);
}

/* False for the types that are no solid. */
static bool x3d_solid(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	static const struct {
		const char *type;
		void (*make)(solid *, hob_x3d_ptr);
	} makers[] = {{"Box", box}, {"Sphere", sphere}, {"Cylinder", cylinder}, {"Cone", cone}};
	solid s = {.out = out, .arena = x->request->scratch};
	out->both_sides = !hob_x3d_bool(e, "solid", true);
	for (size_t i = 0; i < HOB_COUNT_OF(makers); i++)
		if (hob_x3d_is(e, makers[i].type)) {
			makers[i].make(&s, e);
			return true;
		}
	if (!hob_x3d_is(e, "Extrusion"))
		return false;
	extrude(x, &s, e);
	return true;
}

/* A point with more faces is smooth throughout: comparing all pairs would take too long. */
enum { FACES_MAX = 1024 };

typedef struct builder {
	hob_x3d *x;
	hob_x3d_shape *shape;
	hob_mesh *mesh;
	hob_arena *result, *scratch;
	const hob_x3d_corner *corners;
	const uint32_t *sizes;
	uint32_t corner_count, face_count;
	uint32_t *points; /* [corner_count] as indices, for triangulation */
	bool *usable;	  /* [face_count] */
} builder;

/* ---- faces -> indices */

static void judge_faces(builder *b)
{
	uint32_t first = 0, bad = 0;
	for (uint32_t f = 0; f < b->face_count; first += b->sizes[f++]) {
		b->usable[f] = b->sizes[f] >= 3;
		for (uint32_t k = 0; k < b->sizes[f]; k++) {
			uint32_t point = b->corners[first + k].point;
			if (point >= b->shape->point_count ||
				!hob_shape_in_reach(b->shape->points + (size_t)point * 3, 3))
				b->usable[f] = false;
			else
				b->points[first + k] = point;
		}
		bad += !b->usable[f];
	}
	if (bad > 0)
		hob_warn(
			b->x->request->notes, "mesh.bad-faces",
			"%u faces have fewer than three corners or use a point that does not exist; they are left out",
			bad);
}

static void cut_faces(builder *b)
{
	uint64_t indices = 0;
	uint32_t first = 0, most = 0;
	for (uint32_t f = 0; f < b->face_count; f++) {
		indices += b->usable[f] ? ((uint64_t)b->sizes[f] - 2) * 3 : 0;
		most = b->sizes[f] > most ? b->sizes[f] : most;
	}
	if (indices > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "more than %llu indices; split the shape", HOB_LIMIT_INDICES);
	b->mesh->indices = HOB_NEW(b->result, uint32_t, indices);
	uint32_t *triangles = HOB_NEW(b->scratch, uint32_t, (size_t)most * 3);
	for (uint32_t f = 0; f < b->face_count; first += b->sizes[f++]) {
		if (!b->usable[f])
			continue;
		hob_polygon_triangulate(&b->x->polygon, b->shape->points, b->points + first, b->sizes[f], triangles);
		for (uint32_t i = 0; i < (b->sizes[f] - 2) * 3; i++) {
			uint32_t turn = b->shape->clockwise ? 2 - i % 3 + i / 3 * 3 : i;
			b->mesh->indices[b->mesh->index_count++] = first + triangles[turn];
		}
	}
}

/* ---- smooth normals from a crease angle */

typedef struct smoothing {
	float *face;	 /* [face_count][3] Newell's normal, its length twice the area */
	uint32_t *first; /* [point_count + 1] into `faces` */
	uint32_t *faces;
} smoothing;

static void face_normals(const builder *b, smoothing *s)
{
	uint32_t first = 0;
	for (uint32_t f = 0; f < b->face_count; first += b->sizes[f++])
		for (uint32_t k = 0; b->usable[f] && k < b->sizes[f]; k++) {
			const float *p = b->shape->points + (size_t)b->points[first + k] * 3;
			const float *q = b->shape->points + (size_t)b->points[first + (k + 1) % b->sizes[f]] * 3;
			float *n = s->face + (size_t)f * 3;
			for (int i = 0; i < 3; i++)
				n[i] += (p[(i + 1) % 3] - q[(i + 1) % 3]) * (p[(i + 2) % 3] + q[(i + 2) % 3]);
		}
}

static void index_faces(const builder *b, smoothing *s)
{
	s->face = HOB_NEW(b->scratch, float, (size_t)b->face_count * 3);
	s->first = HOB_NEW(b->scratch, uint32_t, (size_t)b->shape->point_count + 1);
	s->faces = HOB_NEW(b->scratch, uint32_t, b->corner_count);
	/* Counting sort: counts, prefix sums, then fills each list from its end. */
	for (uint32_t f = 0, first = 0; f < b->face_count; first += b->sizes[f++])
		for (uint32_t k = 0; b->usable[f] && k < b->sizes[f]; k++)
			s->first[b->points[first + k]]++;
	for (uint32_t p = 1; p <= b->shape->point_count; p++)
		s->first[p] += s->first[p - 1];
	for (uint32_t f = 0, first = 0; f < b->face_count; first += b->sizes[f++])
		for (uint32_t k = 0; b->usable[f] && k < b->sizes[f]; k++)
			s->faces[--s->first[b->points[first + k]]] = f;
}

static float length_of(const float *n)
{
	return sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

static void corner_normal(const builder *b, const smoothing *s, uint32_t f, uint32_t point, float out[3])
{
	const float *own = s->face + (size_t)f * 3;
	uint32_t from = s->first[point], to = s->first[point + 1];
	float limit = b->shape->crease < 3.14159f ? cosf(b->shape->crease) : -2, size = length_of(own);
	bool all = to - from > FACES_MAX;
	memset(out, 0, 3 * sizeof *out);
	for (uint32_t i = from; i < to; i++) {
		const float *other = s->face + (size_t)s->faces[i] * 3;
		float d = own[0] * other[0] + own[1] * other[1] + own[2] * other[2];
		for (int k = 0; k < 3 && (all || d >= limit * size * length_of(other) || s->faces[i] == f); k++)
			out[k] += other[k];
	}
	float length = length_of(out), sign = b->shape->clockwise ? -1 : 1;
	for (int k = 0; k < 3; k++)
		out[k] = length > 0 ? out[k] / length * sign : k == 1;
}

static void smooth(builder *b)
{
	smoothing s;
	uint32_t first = 0;
	index_faces(b, &s);
	face_normals(b, &s);
	for (uint32_t f = 0; f < b->face_count; first += b->sizes[f++])
		for (uint32_t k = 0; b->usable[f] && k < b->sizes[f]; k++)
			corner_normal(b, &s, f, b->points[first + k], b->mesh->normal + (size_t)(first + k) * 3);
}

/* ---- vertices: one per corner; the cook merges equal ones */

static void take(const float *from, uint32_t count, uint32_t index, uint32_t width, float *to)
{
	if (index < count)
		memcpy(to, from + (size_t)index * width, width * sizeof *to);
}

/* Default texture coordinates from the bounding box: S along its longest side, T along the next; ISO/IEC
 * 14772-1, 6.23. */
static void map_box(const builder *b, float *uv)
{
	float low[3], high[3], size[3];
	int s = 0, t;
	for (int k = 0; k < 3; k++)
		low[k] = high[k] = b->mesh->position[k];
	for (size_t i = 0; i < b->corner_count; i++)
		for (size_t k = 0; k < 3; k++) {
			float at = b->mesh->position[i * 3 + k];
			low[k] = at < low[k] ? at : low[k];
			high[k] = at > high[k] ? at : high[k];
		}
	for (int k = 0; k < 3; k++)
		size[k] = high[k] - low[k];
	for (int k = 1; k < 3; k++)
		s = size[k] > size[s] ? k : s;
	t = s == 0 ? 1 : 0;
	for (int k = t + 1; k < 3; k++)
		t = k != s && size[k] > size[t] ? k : t;
	for (size_t i = 0; i < b->corner_count && size[s] > 0; i++) {
		uv[i * 2] = (b->mesh->position[i * 3 + (size_t)s] - low[s]) / size[s];
		uv[i * 2 + 1] = 1 - (b->mesh->position[i * 3 + (size_t)t] - low[t]) / size[s];
	}
}

static void fill(builder *b)
{
	hob_x3d_shape *shape = b->shape;
	hob_mesh *m = b->mesh;
	size_t count = b->corner_count;
	bool surface = shape->topology == HOB_TRIANGLES;
	bool smooths = surface && !shape->normals && shape->crease > 0;
	hob_shape_allocate(m, count, surface && (shape->normals || smooths), shape->colors,
					   shape->uvs || shape->map_box, b->result);
	for (size_t i = 0; i < count; i++) {
		const hob_x3d_corner *corner = &b->corners[i];
		take(shape->points, shape->point_count, corner->point, 3, m->position + i * 3);
		if (m->normal)
			take(shape->normals, shape->normal_count, corner->normal, 3, m->normal + i * 3);
		if (m->color[0]) {
			m->color[0][i * 4] = m->color[0][i * 4 + 1] = m->color[0][i * 4 + 2] = m->color[0][i * 4 + 3] = 1;
			take(shape->colors, shape->color_count, corner->color, 4, m->color[0] + i * 4);
		}
		if (m->uv[0]) {
			take(shape->uvs, shape->uv_count, corner->uv, 2, m->uv[0] + i * 2);
			m->uv[0][i * 2 + 1] = 1 - m->uv[0][i * 2 + 1];
		}
	}
	if (m->uv[0] && shape->map_box)
		map_box(b, m->uv[0]);
	hob_shape_fix_floats(m->uv[0], count * 2, 0);
	if (smooths)
		smooth(b);
}

static void plain_indices(builder *b)
{
	b->mesh->indices = HOB_NEW(b->result, uint32_t, b->corner_count);
	uint32_t step = b->shape->topology == HOB_LINES ? 2 : 1;
	for (uint32_t i = 0; i + step <= b->corner_count; i += step) {
		bool good = true;
		for (uint32_t k = 0; k < step; k++)
			good = good && b->corners[i + k].point < b->shape->point_count;
		for (uint32_t k = 0; good && k < step; k++)
			b->mesh->indices[b->mesh->index_count++] = i + k;
	}
}

/* False when the mesh is empty. */
static bool x3d_mesh(hob_x3d *x, hob_x3d_shape *shape, hob_mesh *out)
{
	builder b = {.x = x,
				 .shape = shape,
				 .mesh = out,
				 .result = x->request->result,
				 .scratch = x->request->scratch,
				 .corners = (const hob_x3d_corner *)(const void *)shape->corners.data,
				 .sizes = (const uint32_t *)(const void *)shape->sizes.data,
				 .corner_count = HOB_LISTS_COUNT(shape->corners, hob_x3d_corner),
				 .face_count = HOB_LISTS_COUNT(shape->sizes, uint32_t)};
	out->topology = shape->topology;
	if (b.corner_count == 0)
		return false;
	if (b.corner_count > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "more than %llu corners; split the shape", HOB_LIMIT_VERTICES);
	b.points = HOB_NEW(b.scratch, uint32_t, b.corner_count);
	b.usable = HOB_NEW(b.scratch, bool, b.face_count);
	if (shape->topology == HOB_TRIANGLES) {
		judge_faces(&b);
		cut_faces(&b);
	} else {
		plain_indices(&b);
	}
	fill(&b);
	out->flat = out->normal == NULL;
	hob_shape_fix_positions(out, x->request->notes);
	hob_mesh_repair_directions(out);
	return out->index_count > 0;
}

enum { DEPTH_MAX = 256 };

static void visit(hob_x3d *x, hob_x3d_ptr e, uint32_t parent, uint32_t depth);

/* ---- transforms */

static void identity(float m[16])
{
	memset(m, 0, 16 * sizeof *m);
	m[0] = m[5] = m[10] = m[15] = 1;
}

static void shift(float m[16], const float v[3], float sign)
{
	float by[16];
	identity(by);
	for (int i = 0; i < 3; i++)
		by[12 + i] = v[i] * sign;
	hob_matrix_multiply(m, by, m);
}

/* Axis and angle -> x y z w. A zero axis gives the identity. */
static void quaternion(const float turn[4], float sign, float q[4])
{
	double length = sqrt((double)turn[0] * (double)turn[0] + (double)turn[1] * (double)turn[1] +
						 (double)turn[2] * (double)turn[2]);
	double half = (double)turn[3] * (double)sign / 2, s = length > 1e-12 ? sin(half) / length : 0;
	for (int i = 0; i < 3; i++)
		q[i] = (float)((double)turn[i] * s);
	q[3] = length > 1e-12 ? (float)cos(half) : 1;
}

static void turn_by(float m[16], const float turn[4], float sign)
{
	hob_node node = hob_shape_plain_node((hob_str){0});
	float by[16];
	quaternion(turn, sign, node.rotation);
	hob_node_local_matrix(&node, by);
	hob_matrix_multiply(m, by, m);
}

/* The transform T * C * R * SR * S * -SR * -C of ISO/IEC 19775-1, 10.4.4. */
static void place(hob_x3d *x, hob_x3d_ptr e, uint32_t node)
{
	float t[3] = {0}, c[3] = {0}, r[4] = {0, 0, 1, 0}, s[3] = {1, 1, 1}, so[4] = {0, 0, 1, 0}, m[16], by[16];
	hob_x3d_vector(e, "translation", t, 3);
	hob_x3d_vector(e, "center", c, 3);
	hob_x3d_vector(e, "rotation", r, 4);
	hob_x3d_vector(e, "scale", s, 3);
	hob_x3d_vector(e, "scaleOrientation", so, 4);
	identity(m);
	shift(m, t, 1);
	shift(m, c, 1);
	turn_by(m, r, 1);
	turn_by(m, so, 1);
	identity(by);
	for (int i = 0; i < 3; i++)
		by[i * 5] = s[i];
	hob_matrix_multiply(m, by, m);
	turn_by(m, so, -1);
	shift(m, c, -1);
	hob_lists_place(&x->lists, node, m);
}

/* ---- shapes */

static const char *const appearances[] = {"Appearance", NULL};

static bool is_metadata(hob_x3d_ptr e)
{
	return hob_str_starts(e->name, HOB_STR("Metadata"));
}

static hob_x3d_ptr geometry_of(const hob_x3d *x, hob_x3d_ptr shape)
{
	for (hob_x3d_ptr c = shape->first; c; c = c->next) {
		hob_x3d_ptr real = hob_x3d_real(x, c);
		if (real && !hob_x3d_is(real, "Appearance") && !is_metadata(real))
			return real;
	}
	return NULL;
}

/* Returns HOB_NONE for an empty mesh. */
static uint32_t make_mesh(hob_x3d *x, hob_x3d_ptr geometry, hob_x3d_ptr appearance, hob_x3d_shape *shape)
{
	hob_mesh mesh = {.source_mesh = geometry->number};
	float matrix[6];
	shape->map_box = shape->map_box && hob_x3d_has_texture(x, appearance);
	hob_x3d_use use = {shape->topology == HOB_TRIANGLES, shape->colors != NULL, shape->both_sides};
	mesh.name = hob_text_name(x->request->result, hob_xml_attr(geometry, HOB_STR("DEF")));
	if (!x3d_mesh(x, shape, &mesh))
		return HOB_NONE;
	mesh.material = hob_x3d_material(x, appearance, use);
	/* The texture transform moves the coordinates: the model's own transforms rotate about another point. */
	bool moved = use.surface && hob_x3d_texture_matrix(x, appearance, matrix);
	for (size_t v = 0; moved && mesh.uv[0] && v < mesh.vertex_count; v++) {
		float *uv = mesh.uv[0] + v * 2, from[2] = {uv[0], 1 - uv[1]};
		uv[0] = matrix[0] * from[0] + matrix[2] * from[1] + matrix[4];
		uv[1] = 1 - (matrix[1] * from[0] + matrix[3] * from[1] + matrix[5]);
	}
	return hob_lists_mesh(&x->lists, &mesh);
}

static void read_shape(hob_x3d *x, hob_x3d_ptr e)
{
	hob_x3d_ptr geometry = geometry_of(x, e), appearance = hob_x3d_child(x, e, appearances);
	if (!geometry)
		return;
	uint32_t parts[2] = {geometry->number, appearance ? appearance->number : HOB_NONE};
	hob_str key = hob_arena_str(x->request->scratch, (hob_str){(const char *)parts, sizeof parts});
	uint32_t mesh = hob_name_map_get(&x->meshes, key);
	if (mesh == HOB_NONE) {
		hob_x3d_shape shape = {.topology = HOB_TRIANGLES};
		hob_place place = {.name = geometry->name, .line = geometry->line};
		hob_place_enter(&place);
		if (hob_x3d_geometry(x, geometry, &shape) || x3d_solid(x, geometry, &shape))
			mesh = make_mesh(x, geometry, appearance, &shape);
		else
			hob_x3d_unread(x, geometry);
		hob_place_exit(&place);
		hob_buf_release(&shape.corners);
		hob_buf_release(&shape.sizes);
		if (mesh != HOB_NONE)
			hob_name_map_add(&x->meshes, key, mesh);
	}
	if (mesh != HOB_NONE)
		hob_lists_show(&x->lists, mesh);
}

/* ---- lights and viewpoints */

/* The rotation from -Z to `direction`. */
static void aim(const float direction[3], float q[4])
{
	double d[3], length = 0;
	for (int i = 0; i < 3; i++)
		length += (double)direction[i] * (double)direction[i];
	length = sqrt(length);
	for (int i = 0; i < 3; i++)
		d[i] = length > 1e-12 ? (double)direction[i] / length : i == 2 ? -1 : 0;
	/* Half-way quaternion between (0, 0, -1) and d. */
	double w = 1 - d[2], v[3] = {d[1], -d[0], 0};
	if (w < 1e-9)
		v[1] = 1, v[0] = w = 0;
	length = sqrt(w * w + v[0] * v[0] + v[1] * v[1]);
	for (int i = 0; i < 3; i++)
		q[i] = (float)(v[i] / length);
	q[3] = (float)(w / length);
}

static void read_light(hob_x3d *x, hob_x3d_ptr e, uint32_t node)
{
	bool spot = hob_x3d_is(e, "SpotLight"), directional = hob_x3d_is(e, "DirectionalLight");
	hob_light light = {.type = spot			 ? HOB_LIGHT_SPOT
							   : directional ? HOB_LIGHT_DIRECTIONAL
											 : HOB_LIGHT_POINT,
					   .color = {1, 1, 1},
					   .range = INFINITY};
	float direction[3] = {0, 0, -1};
	hob_x3d_vector(e, "color", light.color, 3);
	for (int i = 0; i < 3; i++)
		light.color[i] = light.color[i] > 0 ? light.color[i] : 0;
	light.intensity = hob_x3d_float(e, "intensity", 1);
	light.intensity = light.intensity > 0 && light.intensity < 1e15f ? light.intensity : 0;
	float cut = hob_x3d_float(e, "cutOffAngle", 0.7853982f), beam = hob_x3d_float(e, "beamWidth", 1.570796f);
	light.outer_cone = cut > 0 && cut <= 1.5707963f ? cut : 0.7853982f;
	light.inner_cone = beam >= 0 && beam < light.outer_cone ? beam : light.outer_cone * 0.999f;
	light.name = hob_text_name(x->request->result, hob_xml_attr(e, HOB_STR("DEF")));
	if (!hob_x3d_bool(e, "on", true)) {
		hob_info(x->request->notes, "x3d.light-off", "lights that are switched off are left out");
		return;
	}
	hob_node *to = HOB_LISTS_AT(x->lists.nodes, hob_node, node);
	hob_x3d_vector(e, "direction", direction, 3);
	if (spot || directional)
		aim(direction, to->rotation);
	if (!directional)
		hob_x3d_vector(e, "location", to->translation, 3);
	to->light = HOB_LISTS_COUNT(x->lists.lights, hob_light);
	hob_buf_put(&x->lists.lights, &light, sizeof light);
}

static void read_camera(hob_x3d *x, hob_x3d_ptr e, uint32_t node)
{
	hob_camera camera = {.type = HOB_CAMERA_PERSPECTIVE, .znear = 0.01f, .zfar = INFINITY};
	hob_node *to = HOB_LISTS_AT(x->lists.nodes, hob_node, node);
	float turn[4] = {0, 0, 1, 0}, window[4] = {-1, -1, 1, 1};
	to->translation[2] = 10;
	hob_x3d_vector(e, "position", to->translation, 3);
	hob_x3d_vector(e, "orientation", turn, 4);
	quaternion(turn, 1, to->rotation);
	camera.yfov_or_ymag = hob_x3d_float(e, "fieldOfView", 0.7853982f);
	if (hob_x3d_is(e, "OrthoViewpoint")) {
		hob_x3d_vector(e, "fieldOfView", window, 4);
		camera.type = HOB_CAMERA_ORTHOGRAPHIC;
		camera.aspect_or_xmag = (window[2] - window[0]) / 2;
		camera.yfov_or_ymag = (window[3] - window[1]) / 2;
		camera.zfar = 10000;
		if (!(camera.aspect_or_xmag > 0 && camera.yfov_or_ymag > 0))
			camera.aspect_or_xmag = camera.yfov_or_ymag = 1;
	} else if (!(camera.yfov_or_ymag > 0.001f && camera.yfov_or_ymag < 3.14159f)) {
		camera.yfov_or_ymag = 0.7853982f;
	}
	hob_str label = hob_xml_attr(e, HOB_STR("description")), word;
	camera.name = hob_text_name(x->request->result,
								hob_x3d_word(&label, &word) ? word : hob_xml_attr(e, HOB_STR("DEF")));
	to->camera = HOB_LISTS_COUNT(x->lists.cameras, hob_camera);
	hob_buf_put(&x->lists.cameras, &camera, sizeof camera);
}

/* ---- groups */

static void children(hob_x3d *x, hob_x3d_ptr e, uint32_t node, uint32_t depth)
{
	for (hob_x3d_ptr c = e->first; c; c = c->next)
		/* A Collision's proxy is not drawn. */
		if (!hob_str_equal(hob_xml_attr(c, HOB_STR("containerField")), HOB_STR("proxy")))
			visit(x, c, node, depth + 1);
}

/* Builds only child number `wanted`, metadata not counted. */
static void one_child(hob_x3d *x, hob_x3d_ptr e, int64_t wanted, uint32_t node, uint32_t depth)
{
	for (hob_x3d_ptr c = e->first; c; c = c->next)
		if (!is_metadata(c) && wanted-- == 0)
			visit(x, c, node, depth + 1);
}

static void read_switch(hob_x3d *x, hob_x3d_ptr e, uint32_t node, uint32_t depth)
{
	float choice = hob_x3d_float(e, "whichChoice", -1);
	if (e->first)
		hob_info(x->request->notes, "x3d.switch", "of the children of a Switch only the chosen one is read");
	if (choice >= 0 && choice < 1e6f)
		one_child(x, e, (int64_t)choice, node, depth);
}

static void read_levels(hob_x3d *x, hob_x3d_ptr e, uint32_t node, uint32_t depth)
{
	if (e->first && e->first->next)
		hob_info(x->request->notes, "x3d.levels",
				 "of levels of detail only the finest is read; Hob makes its own");
	one_child(x, e, 0, node, depth);
}

typedef enum kind { IGNORED, SILENT, GROUP, TRANSFORM, SWITCH, LOD, SHAPE, LIGHT, CAMERA } kind_t;

static kind_t kind_of(hob_x3d_ptr e)
{
	static const struct {
		const char *type;
		kind_t kind;
	} kinds[] = {
		{"Transform", TRANSFORM},
		{"Group", GROUP},
		{"Shape", SHAPE},
		{"Switch", SWITCH},
		{"LOD", LOD},
		{"Scene", GROUP},
		{"StaticGroup", GROUP},
		{"Anchor", GROUP},
		{"Collision", GROUP},
		{"Billboard", GROUP},
		{"CADAssembly", GROUP},
		{"CADLayer", GROUP},
		{"CADPart", TRANSFORM},
		{"CADFace", GROUP},
		{"HAnimHumanoid", TRANSFORM},
		{"HAnimJoint", TRANSFORM},
		{"HAnimSegment", GROUP},
		{"HAnimSite", TRANSFORM},
		{"DirectionalLight", LIGHT},
		{"PointLight", LIGHT},
		{"SpotLight", LIGHT},
		{"Viewpoint", CAMERA},
		{"OrthoViewpoint", CAMERA},
		{"ViewpointGroup", GROUP},
		{"WorldInfo", SILENT},
		{"NavigationInfo", SILENT},
		{"ROUTE", SILENT},
		{"Background", SILENT},
		{"TextureBackground", SILENT},
		{"Fog", SILENT},
		{"Layer", GROUP},
		{"LayerSet", GROUP},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (hob_x3d_is(e, kinds[i].type))
			return kinds[i].kind;
	return is_metadata(e) ? SILENT : IGNORED;
}

static void visit(hob_x3d *x, hob_x3d_ptr e, uint32_t parent, uint32_t depth)
{
	hob_x3d_ptr real = hob_x3d_real(x, e);
	if (!real)
		return;
	if (depth > DEPTH_MAX)
		hob_leave(LIMIT, "line %u: nodes are nested deeper than %d, or a node holds itself", e->line,
				  DEPTH_MAX);
	kind_t kind = kind_of(real);
	if (kind == IGNORED)
		hob_x3d_unread(x, real);
	if (kind == IGNORED || kind == SILENT)
		return;
	uint32_t node = hob_lists_node(&x->lists, hob_xml_attr(real, HOB_STR("DEF")), parent);
	if (kind == TRANSFORM)
		place(x, real, node);
	if (kind == SHAPE)
		read_shape(x, real);
	else if (kind == LIGHT)
		read_light(x, real, node);
	else if (kind == CAMERA)
		read_camera(x, real, node);
	else if (kind == SWITCH)
		read_switch(x, real, node, depth);
	else if (kind == LOD)
		read_levels(x, real, node, depth);
	else
		children(x, real, node, depth);
}

void hob_x3d_nodes(hob_x3d *x)
{
	hob_x3d_ptr scene =
		hob_x3d_is(x->xml.root, "Scene") ? x->xml.root : hob_xml_child(x->xml.root, HOB_STR("Scene"));
	if (!scene)
		hob_leave(EMPTY, "the file holds no <Scene>");
	for (hob_x3d_ptr c = scene->first; c; c = c->next)
		visit(x, c, HOB_NONE, 1);
}
