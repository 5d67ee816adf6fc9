#include "usd_skel.h"

#include "../shape.h"

#include <math.h>

enum { AROUND = 32, ALONG = 16, EDGES = 2 * ALONG + 4, CURVE_STEPS = 8 };

/* A segment of a profile that is revolved around an axis: both ends' distance from it, height and normal. */
typedef struct edge {
	double r[2], z[2], nr[2], nz[2];
} edge_t;

/* Sizes of a shape; each kind uses some of them. */
typedef enum size { RADIUS, HEIGHT, SIZE, WIDTH, LENGTH, SIZES } size_kind;

typedef struct sizes {
	double of[SIZES];
} sizes_t;

typedef struct size_name {
	const char *type, *name;
	size_kind kind;
	double usual;
} size_name;

static const size_name size_names[] = {
	{"Cube", "size", SIZE, 2},			{"Sphere", "radius", RADIUS, 1},  {"Cylinder", "radius", RADIUS, 1},
	{"Cylinder", "height", HEIGHT, 2},	{"Cone", "radius", RADIUS, 1},	  {"Cone", "height", HEIGHT, 2},
	{"Capsule", "radius", RADIUS, 0.5}, {"Capsule", "height", HEIGHT, 1}, {"Plane", "width", WIDTH, 2},
	{"Plane", "length", LENGTH, 2},
};

/* A size must be a double, as in the schema; OpenUSD ignores other types and draws the default. */
static bool size_attribute(const hob_usd *u, const hob_usd_prim *prim, const size_name *n,
						   hob_usd_attribute *a)
{
	if (!hob_str_equal(prim->type, hob_str_of(n->type)) || !hob_usd_get(u, prim, hob_str_of(n->name), a))
		return false;
	const hob_usd_value *value = a->samples ? &a->samples->values[0] : a->value;
	return value && value->kind == HOB_USD_F64;
}

/* Sizes at a stage time; NaN: at rest. */
static sizes_t sizes_at(const hob_usd *u, const hob_usd_prim *prim, double time)
{
	sizes_t sizes = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(size_names); i++) {
		const size_name *n = &size_names[i];
		double *to = &sizes.of[n->kind];
		hob_usd_attribute a;
		if (!hob_str_equal(prim->type, hob_str_of(n->type)))
			continue;
		*to = n->usual;
		if (size_attribute(u, prim, n, &a)) {
			if (!hob_usd_sample(u, &a, time, 1, false, to))
				*to = n->usual;
		} else if (isnan(time) && hob_usd_still(u, prim, hob_str_of(n->name))) {
			hob_usd_note(u, "type", "'%s' of prim '%.*s' is no double; as in OpenUSD, %g is taken", n->name,
						 HOB_FMT(prim->path), n->usual);
		}
	}
	return sizes;
}

/* Unsorted times of all size samples; none if the size is not animated. */
static hob_usd_times size_times(hob_usd *u, const hob_usd_prim *prim)
{
	hob_usd_times times = {0};
	hob_usd_attribute a;
	for (size_t i = 0; i < HOB_COUNT_OF(size_names); i++)
		if (size_attribute(u, prim, &size_names[i], &a) && a.samples && a.samples->count > 1)
			hob_usd_add_times(u, &a, &times);
	if (times.count > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "%u samples, at most %llu are allowed", times.count, HOB_LIMIT_KEYS);
	return times;
}

/* Sizes of the base mesh that the node scales: the maximum over all times, or 1 where all are 0. */
static sizes_t base_sizes(const hob_usd *u, const hob_usd_prim *prim, const hob_usd_times *times)
{
	sizes_t base = {0};
	for (uint32_t i = 0; i < times->count; i++) {
		sizes_t at = sizes_at(u, prim, times->items[i]);
		for (int k = 0; k < SIZES; k++)
			base.of[k] = fmax(fabs(base.of[k]), fabs(at.of[k]));
	}
	for (int k = 0; k < SIZES; k++)
		if (!(base.of[k] > 0))
			base.of[k] = 1;
	return base;
}

static hob_str word_at(const hob_usd *u, const hob_usd_prim *prim, const char *name)
{
	return hob_usd_text(hob_usd_still(u, prim, hob_str_of(name)));
}

/* ---- outlines */

static uint32_t arc(edge_t *to, double radius, double height, double from, double until)
{
	const double pi = 3.14159265358979323846;
	for (int i = 0; i < ALONG; i++)
		for (int k = 0; k < 2; k++) {
			int step = i + k;
			double angle = (from + (until - from) * step / ALONG) * pi, c = cos(angle), s = sin(angle);
			bool pole = fabs(fabs(s) - 1) < 1e-9;
			to[i].nr[k] = pole ? 0 : c;
			to[i].nz[k] = s;
			to[i].r[k] = to[i].nr[k] * radius;
			to[i].z[k] = s * radius + height;
		}
	return ALONG;
}

static edge_t straight(double r0, double z0, double r1, double z1)
{
	double nr = z1 - z0, nz = r0 - r1, length = sqrt(nr * nr + nz * nz);
	length = length > 0 ? length : 1;
	return (edge_t){{r0, r1}, {z0, z1}, {nr / length, nr / length}, {nz / length, nz / length}};
}

static uint32_t outline(const hob_usd_prim *prim, const sizes_t *sizes, edge_t *to)
{
	uint32_t count = 0;
	double radius = sizes->of[RADIUS], half = sizes->of[HEIGHT] / 2;
	if (hob_str_equal(prim->type, HOB_STR("Sphere")))
		return arc(to, radius, 0, -0.5, 0.5);
	if (hob_str_equal(prim->type, HOB_STR("Capsule"))) {
		count = arc(to, radius, -half, -0.5, 0);
		to[count++] = straight(radius, -half, radius, half);
		return count + arc(to + count, radius, half, 0, 0.5);
	}
	to[count++] = straight(0, -half, radius, -half);
	if (hob_str_equal(prim->type, HOB_STR("Cone"))) {
		to[count++] = straight(radius, -half, 0, half);
		return count;
	}
	to[count++] = straight(radius, -half, radius, half);
	to[count++] = straight(radius, half, 0, half);
	return count;
}

/* ---- solids of revolution */

typedef struct surface {
	float *points, *normals;
	int32_t *counts, *indices;
	uint32_t point_count, face_count, corner_count;
	int axis; /* coordinate along the height */
} surface_t;

static void allocate(hob_usd *u, uint32_t faces, surface_t *s)
{
	size_t corners = (size_t)faces * 4;
	s->points = HOB_NEW(&u->passing, float, corners * 3);
	s->normals = HOB_NEW(&u->passing, float, corners * 3);
	s->counts = HOB_NEW(&u->passing, int32_t, faces);
	s->indices = HOB_NEW(&u->passing, int32_t, corners);
}

static void put_corner(surface_t *s, const double point[3], const double normal[3])
{
	for (int i = 0; i < 3; i++) {
		int to = (s->axis + 1 + i) % 3;
		s->points[s->point_count * 3 + (uint32_t)to] = (float)point[i];
		s->normals[s->corner_count * 3 + (uint32_t)to] = (float)normal[i];
	}
	s->indices[s->corner_count++] = (int32_t)s->point_count++;
}

static void put_ring(surface_t *s, const edge_t *e)
{
	const double turn = 2 * 3.14159265358979323846 / AROUND;
	for (int i = 0; i < AROUND; i++) {
		uint32_t before = s->corner_count;
		/* Corners of the quad, counter-clockwise from outside; at the axis two of them coincide. */
		static const struct {
			int end, side;
		} order[] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}};
		for (size_t k = 0; k < HOB_COUNT_OF(order); k++) {
			int end = order[k].end, step = (i + order[k].side) % AROUND;
			if (e->r[end] == 0 && order[k].side == 1)
				continue;
			double c = cos(turn * step), q = sin(turn * step);
			put_corner(s, (double[3]){e->r[end] * c, e->r[end] * q, e->z[end]},
					   (double[3]){e->nr[end] * c, e->nr[end] * q, e->nz[end]});
		}
		s->counts[s->face_count++] = (int32_t)(s->corner_count - before);
	}
}

static void put_box_side(surface_t *s, int axis, double sign, const double half[3])
{
	static const double around[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
	double normal[3] = {0};
	normal[axis] = sign;
	for (int k = 0; k < 4; k++) {
		const double *at = around[sign > 0 ? k : 3 - k];
		double point[3];
		point[axis] = sign * half[axis];
		point[(axis + 1) % 3] = at[0] * half[(axis + 1) % 3];
		point[(axis + 2) % 3] = at[1] * half[(axis + 2) % 3];
		put_corner(s, point, normal);
	}
	s->counts[s->face_count++] = 4;
}

static int axis_of(const hob_usd *u, const hob_usd_prim *prim)
{
	hob_str axis = word_at(u, prim, "axis");
	return axis.len == 1 && axis.data[0] >= 'X' && axis.data[0] <= 'Z' ? axis.data[0] - 'X' : 2;
}

/* Scale that gives a solid of size `base` its size at `time`. The ends of a capsule do not stay round. */
static void scale_of(const hob_usd *u, const hob_usd_prim *prim, const sizes_t *base, double time,
					 float out[3])
{
	sizes_t at = sizes_at(u, prim, time);
	double across = 1, along = 1, deep = 1; /* across and along: across the axis; deep: along it */
	if (hob_str_equal(prim->type, HOB_STR("Cube"))) {
		across = along = deep = at.of[SIZE] / base->of[SIZE];
	} else if (hob_str_equal(prim->type, HOB_STR("Plane"))) {
		across = at.of[WIDTH] / base->of[WIDTH], along = at.of[LENGTH] / base->of[LENGTH];
	} else {
		bool capsule = hob_str_equal(prim->type, HOB_STR("Capsule"));
		across = along = at.of[RADIUS] / base->of[RADIUS];
		deep = hob_str_equal(prim->type, HOB_STR("Sphere")) ? across
			   : capsule ? (at.of[HEIGHT] + 2 * at.of[RADIUS]) / (base->of[HEIGHT] + 2 * base->of[RADIUS])
						 : at.of[HEIGHT] / base->of[HEIGHT];
	}
	int axis = hob_str_equal(prim->type, HOB_STR("Cube")) ? 2 : axis_of(u, prim);
	const double parts[3] = {across, along, deep};
	for (int i = 0; i < 3; i++)
		out[(axis + 1 + i) % 3] = isfinite((float)parts[i]) ? (float)parts[i] : 1;
}

static void build_surface(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	surface_t s = {.axis = 2};
	hob_str type = prim->type;
	edge_t edges[EDGES];
	hob_usd_times times = size_times(u, prim);
	sizes_t sizes = times.count > 0 ? base_sizes(u, prim, &times) : sizes_at(u, prim, NAN);
	bool is_cube = hob_str_equal(type, HOB_STR("Cube")), is_plane = hob_str_equal(type, HOB_STR("Plane"));
	uint32_t count = is_cube || is_plane ? 0 : outline(prim, &sizes, edges);
	allocate(u, is_cube ? 6 : is_plane ? 1 : AROUND * count, &s);
	if (is_cube) {
		double half = sizes.of[SIZE] / 2;
		for (int side = 0; side < 6; side++)
			put_box_side(&s, side / 2, side % 2 ? -1 : 1, (double[3]){half, half, half});
	} else if (is_plane) {
		s.axis = axis_of(u, prim);
		put_box_side(&s, 2, 1, (double[3]){sizes.of[WIDTH] / 2, sizes.of[LENGTH] / 2, 0});
	} else {
		s.axis = axis_of(u, prim);
		for (uint32_t i = 0; i < count; i++)
			put_ring(&s, &edges[i]);
	}
	hob_usd_polygons g = {.points = s.points,
						  .point_count = s.point_count,
						  .counts = s.counts,
						  .indices = s.indices,
						  .face_count = s.face_count,
						  .corner_count = s.corner_count,
						  .corner_normals = s.normals};
	g.left_handed = hob_str_equal(word_at(u, prim, "orientation"), HOB_STR("leftHanded"));
	g.double_sided = hob_usd_number(hob_usd_still(u, prim, HOB_STR("doubleSided")), is_plane) != 0;
	hob_usd_polygons_build(b, id, node, &g);
}

/* With animated size, an inner node scales the mesh. */
static void build_solid(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	hob_usd_times times = size_times(u, prim);
	if (times.count > 0) {
		sizes_t base = base_sizes(u, prim, &times);
		node = hob_usd_add_node(b, u->tokens[prim->name], node);
		HOB_USD_PUT(u->scratch, b->sized, b->sized_count, (hob_usd_follower){id, node, NAN});
		scale_of(u, prim, &base, NAN, b->model.nodes[node].scale);
	}
	hob_arena_mark mark = hob_arena_save(&u->passing);
	hob_usd_build_shared(b, id, node, build_surface);
	hob_arena_restore(&u->passing, mark);
}

void hob_usd_size_clips(hob_usd_build_t *b)
{
	hob_usd *u = b->u;
	for (uint32_t i = 0; i < b->sized_count; i++) {
		const hob_usd_prim *prim = &u->prims[b->sized[i].prim];
		hob_usd_times times = size_times(u, prim);
		sizes_t base = base_sizes(u, prim, &times);
		hob_usd_sort_times(&times);
		hob_usd_cut_range(u, &times);
		hob_track *track = hob_usd_add_channel(b, b->sized[i].node, HOB_PATH_SCALE, 3, times.count);
		for (size_t k = 0; k < times.count; k++) {
			track->times[k] = hob_usd_seconds(u, times.items[k]);
			scale_of(u, prim, &base, times.items[k], track->values + k * 3);
		}
		hob_usd_drop_still(b, b->model.nodes[b->sized[i].node].scale);
		if (hob_str_equal(prim->type, HOB_STR("Capsule")))
			hob_usd_note(u, "samples", "capsule '%.*s' changes its size; its ends are scaled with it",
						 HOB_FMT(prim->path));
	}
}

/* ---- points and curves */

static void thin_mesh(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_topology topology, float *points,
					  uint32_t point_count, uint32_t *indices, uint32_t index_count)
{
	float color[4] = {1, 1, 1, 1};
	hob_usd_primvar_one(b->u, id, HOB_STR("displayColor"), 3, color);
	hob_str binding = hob_usd_binding(b->u, id);
	uint32_t material = hob_usd_material(b, binding, false, color, false);
	hob_mesh *mesh = hob_usd_add_mesh(b, node);
	b->source_meshes++;
	mesh->material = material;
	mesh->topology = topology;
	mesh->position = points;
	mesh->vertex_count = point_count;
	mesh->indices = indices;
	mesh->index_count = index_count;
	hob_shape_fix_positions(mesh, b->u->notes);
}

static void build_points(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	size_t count;
	hob_usd *u = b->u;
	const float *points = hob_usd_floats(u, hob_usd_still(u, &u->prims[id], HOB_STR("points")), 3, &count);
	if (count == 0)
		return;
	if (count > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "%zu points, at most %llu are allowed", count, HOB_LIMIT_VERTICES);
	float *kept = HOB_NEW(u->result, float, count * 3);
	uint32_t *indices = HOB_NEW(u->result, uint32_t, count);
	memcpy(kept, points, count * 3 * sizeof *kept);
	for (uint32_t i = 0; i < count; i++)
		indices[i] = i;
	thin_mesh(b, id, node, HOB_POINTS, kept, (uint32_t)count, indices, (uint32_t)count);
}

typedef enum basis { LINEAR, BEZIER, BSPLINE, CATMULL } basis_t;

static void weights_at(basis_t basis, double t, double w[4])
{
	double r = 1 - t, t2 = t * t, t3 = t2 * t;
	if (basis == BEZIER) {
		w[0] = r * r * r, w[1] = 3 * t * r * r, w[2] = 3 * t2 * r, w[3] = t3;
	} else if (basis == BSPLINE) {
		w[0] = r * r * r / 6, w[1] = (3 * t3 - 6 * t2 + 4) / 6, w[2] = (-3 * t3 + 3 * t2 + 3 * t + 1) / 6,
		w[3] = t3 / 6;
	} else {
		w[0] = (-t3 + 2 * t2 - t) / 2, w[1] = (3 * t3 - 5 * t2 + 2) / 2, w[2] = (-3 * t3 + 4 * t2 + t) / 2,
		w[3] = (t3 - t2) / 2;
	}
}

typedef struct curves {
	const float *points;
	float *out;
	uint32_t *lines, vertices, indices;
	basis_t basis;
	bool periodic, pinned;
} curves_t;

static uint32_t segments_of(const curves_t *c, uint32_t count)
{
	if (c->basis == LINEAR)
		return count < 2 ? 0 : c->periodic ? count : count - 1;
	if (c->basis == BEZIER)
		return c->periodic ? count / 3 : count < 4 ? 0 : (count - 1) / 3;
	return count < 2 ? 0 : c->periodic ? count : c->pinned ? count - 1 : count < 4 ? 0 : count - 3;
}

/* Control point `at` of a curve; may lie before its start or beyond its end. */
static void control(const curves_t *c, const float *points, uint32_t count, int64_t at, double out[3])
{
	const float *end = points + (at < 0 ? 0 : (size_t)(count - 1) * 3),
				*inner = points + (at < 0 ? 1 : (size_t)count - 2) * 3;
	bool outside = at < 0 || at >= count;
	for (int k = 0; k < 3; k++)
		out[k] = !outside	   ? (double)points[at * 3 + k]
				 : c->periodic ? (double)points[((at + count) % count) * 3 + k]
							   : 2 * (double)end[k] - (double)inner[k];
}

static void put_curve(curves_t *c, const float *points, uint32_t count)
{
	uint32_t segments = segments_of(c, count), steps = c->basis == LINEAR ? 1 : CURVE_STEPS,
			 first = c->vertices;
	for (uint32_t s = 0; s <= segments * steps && segments > 0; s++) {
		uint32_t segment = s / steps < segments ? s / steps : segments - 1;
		double w[4] = {0, 0, 0, 0}, t = (double)(s - segment * steps) / steps, p[3], sum[3] = {0};
		int64_t from =
			c->basis == BEZIER ? (int64_t)segment * 3 : (int64_t)segment - (c->pinned || c->periodic);
		if (c->basis == LINEAR)
			from = segment, w[0] = 1 - t, w[1] = t;
		else
			weights_at(c->basis, t, w);
		for (int i = 0; i < 4; i++) {
			if (w[i] == 0)
				continue;
			control(c, points, count, from + i, p);
			for (int k = 0; k < 3; k++)
				sum[k] += w[i] * p[k];
		}
		for (int k = 0; k < 3; k++)
			c->out[(size_t)c->vertices * 3 + (size_t)k] = (float)sum[k];
		if (c->vertices++ > first) {
			c->lines[c->indices++] = c->vertices - 2;
			c->lines[c->indices++] = c->vertices - 1;
		}
	}
}

static void build_curves(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	size_t point_count, at = 0;
	curves_t c = {.basis = LINEAR};
	c.points = hob_usd_floats(u, hob_usd_still(u, prim, HOB_STR("points")), 3, &point_count);
	const hob_usd_value *counts = hob_usd_still(u, prim, HOB_STR("curveVertexCounts"));
	hob_str basis = word_at(u, prim, "basis"), wrap = word_at(u, prim, "wrap");
	if (hob_str_equal(prim->type, HOB_STR("BasisCurves")) &&
		!hob_str_equal(word_at(u, prim, "type"), HOB_STR("linear")))
		c.basis = hob_str_equal(basis, HOB_STR("bspline"))		? BSPLINE
				  : hob_str_equal(basis, HOB_STR("catmullRom")) ? CATMULL
																: BEZIER;
	c.periodic = hob_str_equal(wrap, HOB_STR("periodic"));
	c.pinned = hob_str_equal(wrap, HOB_STR("pinned")) && c.basis != BEZIER;
	if (point_count > HOB_LIMIT_VERTICES / (CURVE_STEPS + 2))
		hob_leave(LIMIT, "%zu control points", point_count);
	size_t room = point_count * (CURVE_STEPS + 1) + 1;
	c.out = HOB_NEW(u->result, float, room * 3);
	c.lines = HOB_NEW(u->result, uint32_t, room * 2);
	for (size_t i = 0; counts && i < counts->count; i++) {
		double count = hob_usd_component(counts, i);
		if (!(count >= 0) || count > (double)(point_count - at))
			break;
		if (count >= 2)
			put_curve(&c, c.points + at * 3, (uint32_t)count);
		at += (size_t)count;
	}
	if (c.indices != 0)
		thin_mesh(b, id, node, HOB_LINES, c.out, c.vertices, c.lines, c.indices);
}

void hob_usd_build_shape(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	static const struct {
		const char *type;
		hob_usd_builder *build; /* NULL: left out */
	} types[] = {{"Cube", build_solid},
				 {"Sphere", build_solid},
				 {"Cylinder", build_solid},
				 {"Capsule", build_solid},
				 {"Cone", build_solid},
				 {"Plane", build_solid},
				 {"Points", build_points},
				 {"BasisCurves", build_curves},
				 {"NurbsCurves", build_curves},
				 {"NurbsPatch", NULL},
				 {"Volume", NULL},
				 {"HermiteCurves", NULL},
				 {"Cylinder_1", NULL},
				 {"Capsule_1", NULL}};
	const hob_usd_prim *prim = &b->u->prims[id];
	size_t i = 0;
	while (i < HOB_COUNT_OF(types) && !hob_str_equal(prim->type, hob_str_of(types[i].type)))
		i++;
	if (i == HOB_COUNT_OF(types))
		return;
	if (types[i].build)
		types[i].build(b, id, node);
	else
		hob_usd_note(b->u, "type", "prim '%.*s' of type '%.*s' is left out", HOB_FMT(prim->path),
					 HOB_FMT(prim->type));
}
