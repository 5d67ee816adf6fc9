#include "x3d_private.h"

void hob_x3d_corner_add(hob_x3d_shape *shape, uint32_t point, uint32_t normal, uint32_t color, uint32_t uv)
{
	hob_x3d_corner corner = {point, normal, color, uv};
	hob_buf_put(&shape->corners, &corner, sizeof corner);
}

void hob_x3d_face_end(hob_x3d_shape *shape, uint32_t corners)
{
	hob_buf_put(&shape->sizes, &corners, sizeof corners);
}

/* ---- the arrays of a geometry */

static void read_colors(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	static const char *const types[] = {"Color", "ColorRGBA", NULL};
	hob_x3d_ptr color = hob_x3d_child(x, e, types);
	uint32_t count, width = color && hob_x3d_is(color, "ColorRGBA") ? 4 : 3;
	const float *values = hob_x3d_floats(x, color, "color", &count);
	out->color_count = count / width;
	if (out->color_count == 0)
		return;
	out->colors = HOB_NEW(x->request->scratch, float, (size_t)out->color_count * 4);
	for (size_t i = 0; i < out->color_count; i++)
		for (size_t k = 0; k < 4; k++) {
			float value = k < width ? values[i * width + k] : 1;
			out->colors[i * 4 + k] = value > 0 ? value < 1 ? value : 1 : 0;
		}
}

static void read_arrays(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	static const char *const points[] = {"Coordinate", "CoordinateDouble", NULL};
	static const char *const normals[] = {"Normal", NULL};
	static const char *const uvs[] = {"TextureCoordinate", "MultiTextureCoordinate", NULL};
	hob_x3d_ptr uv = hob_x3d_child(x, e, uvs);
	uint32_t count;
	static const char *const unread[] = {"TextureCoordinateGenerator",
										 "TextureCoordinate3D",
										 "TextureCoordinate4D",
										 "FloatVertexAttribute",
										 "Matrix3VertexAttribute",
										 "Matrix4VertexAttribute",
										 NULL};
	if (hob_x3d_child(x, e, unread))
		hob_x3d_unread(x, hob_x3d_child(x, e, unread));
	if (uv && hob_x3d_is(uv, "MultiTextureCoordinate"))
		uv = hob_x3d_child(x, uv, uvs);
	out->points = hob_x3d_floats(x, hob_x3d_child(x, e, points), "point", &count);
	out->point_count = count / 3;
	out->normals = hob_x3d_floats(x, hob_x3d_child(x, e, normals), "vector", &count);
	out->normal_count = count / 3;
	out->uvs = hob_x3d_floats(x, uv, "point", &count);
	out->uv_count = count / 2;
	out->clockwise = !hob_x3d_bool(e, "ccw", true);
	out->both_sides = !hob_x3d_bool(e, "solid", true);
	read_colors(x, e, out);
}

/* ---- IndexedFaceSet and IndexedLineSet: lists cut by -1 */

typedef struct index_list {
	int32_t *at;
	uint32_t count;
	bool per_vertex;
} index_list;

typedef struct indexed {
	index_list points, normals, colors, uvs;
} indexed;

static void read_indexed(hob_x3d *x, hob_x3d_ptr e, indexed *out)
{
	out->normals.per_vertex = hob_x3d_bool(e, "normalPerVertex", true);
	out->colors.per_vertex = hob_x3d_bool(e, "colorPerVertex", true);
	out->uvs.per_vertex = true;
	out->points.at = hob_x3d_ints(x, e, "coordIndex", &out->points.count);
	out->normals.at = hob_x3d_ints(x, e, "normalIndex", &out->normals.count);
	out->colors.at = hob_x3d_ints(x, e, "colorIndex", &out->colors.count);
	out->uvs.at = hob_x3d_ints(x, e, "texCoordIndex", &out->uvs.count);
}

/* Entry of a list for a corner: entry `place` of coordIndex, which is `point`, of face `face`. A list without
 * indices has one entry per point, or per face. */
static uint32_t entry(const index_list *list, uint32_t place, uint32_t point, uint32_t face)
{
	uint32_t at = list->per_vertex ? place : face;
	if (list->count == 0)
		return list->per_vertex ? point : face;
	return at < list->count && list->at[at] >= 0 ? (uint32_t)list->at[at] : HOB_NONE;
}

static void corner_of(const indexed *i, uint32_t place, uint32_t face, hob_x3d_shape *out)
{
	uint32_t point = i->points.at[place] < 0 ? HOB_NONE : (uint32_t)i->points.at[place];
	hob_x3d_corner_add(out, point, entry(&i->normals, place, point, face),
					   entry(&i->colors, place, point, face), entry(&i->uvs, place, point, face));
}

static void face_set(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	indexed i;
	uint32_t face = 0, first = 0;
	read_indexed(x, e, &i);
	out->crease = hob_x3d_float(e, "creaseAngle", 0);
	out->map_box = out->uvs == NULL;
	for (uint32_t place = 0; place <= i.points.count; place++) {
		if (place < i.points.count && i.points.at[place] >= 0) {
			corner_of(&i, place, face, out);
			continue;
		}
		if (place > first)
			hob_x3d_face_end(out, place - first);
		face += place > first;
		first = place + 1;
	}
}

static void line_set(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	indexed i;
	uint32_t line = 0, first = 0;
	read_indexed(x, e, &i);
	out->topology = HOB_LINES;
	for (uint32_t place = 0; place <= i.points.count; place++) {
		if (place == i.points.count || i.points.at[place] < 0) {
			line += place > first;
			first = place + 1;
		} else if (place > first) {
			corner_of(&i, place - 1, line, out);
			corner_of(&i, place, line, out);
		}
	}
}

static void same(hob_x3d_shape *out, uint32_t point)
{
	hob_x3d_corner_add(out, point, point, point, point);
}

static void point_set(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	(void)x, (void)e;
	out->topology = HOB_POINTS;
	for (uint32_t i = 0; i < out->point_count; i++)
		same(out, i);
}

static void plain_lines(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	uint32_t count, first = 0;
	const int32_t *counts = hob_x3d_ints(x, e, "vertexCount", &count);
	out->topology = HOB_LINES;
	for (uint32_t line = 0; line < count; line++) {
		if (counts[line] < 0 || (uint32_t)counts[line] > out->point_count - first)
			break;
		for (uint32_t k = 1; k < (uint32_t)counts[line]; k++) {
			same(out, first + k - 1);
			same(out, first + k);
		}
		first += (uint32_t)counts[line];
	}
}

/* ---- sets of triangles and quads: one index for all arrays */

static void polygon(hob_x3d_shape *out, const uint32_t *corners, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		same(out, corners[i]);
	hob_x3d_face_end(out, count);
}

static void lists(hob_x3d_shape *out, const uint32_t *at, uint32_t count, uint32_t size)
{
	for (uint32_t i = 0; i + size <= count; i += size)
		polygon(out, at + i, size);
}

static void strip_or_fan(hob_x3d_shape *out, const uint32_t *at, uint32_t count, bool fan)
{
	for (uint32_t i = 2; i < count; i++) {
		const uint32_t corners[3] = {fan ? at[0] : at[i - 2 + (i & 1)], fan ? at[i - 1] : at[i - 1 - (i & 1)],
									 at[i]};
		polygon(out, corners, 3);
	}
}

typedef enum set_kind { TRIANGLES, QUADS, STRIPS, FANS } set_kind;

/* Runs of an indexed set end at -1; `count_field` gives the lengths of a plain one. */
static void runs(hob_x3d *x, hob_x3d_ptr e, bool is_indexed, const char *count_field, set_kind kind,
				 hob_x3d_shape *out)
{
	uint32_t count, first = 0, used = 0;
	const int32_t *list = hob_x3d_ints(x, e, is_indexed ? "index" : count_field, &count);
	uint32_t room = is_indexed ? count : out->point_count;
	uint32_t *at = HOB_NEW(x->request->scratch, uint32_t, room);
	for (uint32_t i = 0; i < room; i++)
		at[i] = is_indexed ? (uint32_t)list[i] : i;
	if (kind == TRIANGLES || kind == QUADS) {
		for (uint32_t i = 0; i < room; i++)
			if (at[i] != HOB_NONE)
				at[used++] = at[i];
		lists(out, at, used, kind == QUADS ? 4 : 3);
		return;
	}
	for (uint32_t i = 0; i < (is_indexed ? count + 1 : count); i++) {
		bool end = is_indexed && (i == count || list[i] < 0);
		uint32_t length = is_indexed ? i - first : list[i] > 0 ? (uint32_t)list[i] : 0;
		if (is_indexed && !end)
			continue;
		if (length > room - first)
			break;
		strip_or_fan(out, at + first, length, kind == FANS);
		first += length + is_indexed;
		if (first > room)
			break;
	}
}

static void triangle_set(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	static const struct {
		const char *type, *count_field;
		set_kind kind;
		bool indexed;
	} sets[] = {
		{"TriangleSet", "", TRIANGLES, false},
		{"QuadSet", "", QUADS, false},
		{"TriangleStripSet", "stripCount", STRIPS, false},
		{"TriangleFanSet", "fanCount", FANS, false},
		{"IndexedTriangleSet", "", TRIANGLES, true},
		{"IndexedQuadSet", "", QUADS, true},
		{"IndexedTriangleStripSet", "", STRIPS, true},
		{"IndexedTriangleFanSet", "", FANS, true},
	};
	/* Without normals, normalPerVertex decides whether faces are smooth. */
	out->crease = hob_x3d_bool(e, "normalPerVertex", true) ? 3.15f : 0;
	for (size_t i = 0; i < HOB_COUNT_OF(sets); i++)
		if (hob_x3d_is(e, sets[i].type))
			runs(x, e, sets[i].indexed, sets[i].count_field, sets[i].kind, out);
}

/* ---- ElevationGrid */

static void grid_points(hob_x3d *x, hob_x3d_ptr e, uint32_t columns, uint32_t rows, hob_x3d_shape *out)
{
	float dx = hob_x3d_float(e, "xSpacing", 1), dz = hob_x3d_float(e, "zSpacing", 1);
	uint32_t count, points = columns * rows;
	bool own = out->uvs != NULL;
	const float *heights = hob_x3d_floats(x, e, "height", &count);
	out->points = HOB_NEW(x->request->scratch, float, (size_t)points * 3);
	if (!own)
		out->uvs = HOB_NEW(x->request->scratch, float, (size_t)points * 2);
	for (uint32_t i = 0; i < points; i++) {
		uint32_t column = i % columns, row = i / columns;
		out->points[(size_t)i * 3] = dx * (float)column;
		out->points[(size_t)i * 3 + 1] = i < count ? heights[i] : 0;
		out->points[(size_t)i * 3 + 2] = dz * (float)row;
		if (!own) {
			out->uvs[(size_t)i * 2] = (float)column / (float)(columns - 1);
			out->uvs[(size_t)i * 2 + 1] = (float)row / (float)(rows - 1);
		}
	}
	out->point_count = points;
	out->uv_count = own ? out->uv_count : points;
}

static void grid(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	float wide = hob_x3d_float(e, "xDimension", 0), deep = hob_x3d_float(e, "zDimension", 0);
	bool smooth = hob_x3d_bool(e, "normalPerVertex", true), mixed = hob_x3d_bool(e, "colorPerVertex", true);
	size_t text = hob_xml_attr(e, HOB_STR("height")).len;
	/* A height takes at least two bytes of the file. */
	if (!(wide >= 2 && deep >= 2 && wide < 65536 && deep < 65536 &&
		  (double)wide * (double)deep <= (double)text))
		return;
	uint32_t columns = (uint32_t)wide, rows = (uint32_t)deep, quad = 0;
	grid_points(x, e, columns, rows, out);
	out->crease = hob_x3d_float(e, "creaseAngle", 0);
	for (uint32_t row = 0; row + 1 < rows; row++)
		for (uint32_t column = 0; column + 1 < columns; column++, quad++) {
			uint32_t a = row * columns + column;
			const uint32_t corners[4] = {a, a + columns, a + columns + 1, a + 1};
			for (int k = 0; k < 4; k++)
				hob_x3d_corner_add(out, corners[k], smooth ? corners[k] : quad, mixed ? corners[k] : quad,
								   corners[k]);
			hob_x3d_face_end(out, 4);
		}
}

/* ---- all */

bool hob_x3d_geometry(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out)
{
	static const struct {
		const char *type;
		void (*read)(hob_x3d *, hob_x3d_ptr, hob_x3d_shape *);
	} readers[] = {
		{"IndexedFaceSet", face_set},
		{"IndexedLineSet", line_set},
		{"PointSet", point_set},
		{"LineSet", plain_lines},
		{"ElevationGrid", grid},
		{"TriangleSet", triangle_set},
		{"TriangleStripSet", triangle_set},
		{"TriangleFanSet", triangle_set},
		{"IndexedTriangleSet", triangle_set},
		{"IndexedTriangleStripSet", triangle_set},
		{"IndexedTriangleFanSet", triangle_set},
		{"QuadSet", triangle_set},
		{"IndexedQuadSet", triangle_set},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(readers); i++)
		if (hob_x3d_is(e, readers[i].type)) {
			read_arrays(x, e, out);
			readers[i].read(x, e, out);
			return true;
		}
	return false;
}
