#include "x3d_private.h"

void hob_x3d_shape_release(hob_x3d_shape *shape)
{
	hob_buf_release(&shape->corners);
	hob_buf_release(&shape->sizes);
}

bool hob_x3d_corner_add(hob_x3d_shape *shape, uint32_t point, uint32_t normal, uint32_t color, uint32_t uv)
{
	hob_x3d_corner corner = {point, normal, color, uv};
	hob_buf_put(&shape->corners, &corner, sizeof corner);
	return !shape->corners.failed;
}

bool hob_x3d_face_end(hob_x3d_shape *shape, uint32_t corners)
{
	hob_buf_put(&shape->sizes, &corners, sizeof corners);
	return !shape->sizes.failed;
}

static bool no_memory(hob_error *err)
{
	return hob_fail(err, MEMORY, "no memory left for faces");
}

/* ---- the arrays of a geometry */

static bool read_colors(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, hob_error *err)
{
	static const char *const types[] = {"Color", "ColorRGBA", NULL};
	hob_x3d_ptr color = hob_x3d_child(x, e, types);
	uint32_t count, width = color && hob_x3d_is(color, "ColorRGBA") ? 4 : 3;
	float *values;
	if (!hob_x3d_floats(x, color, "color", &values, &count, err))
		return false;
	out->color_count = count / width;
	if (out->color_count == 0)
		return true;
	if (!HOB_MAKE(x->request->scratch, &out->colors, (size_t)out->color_count * 4, "colours", err))
		return false;
	for (size_t i = 0; i < out->color_count; i++)
		for (size_t k = 0; k < 4; k++) {
			float value = k < width ? values[i * width + k] : 1;
			out->colors[i * 4 + k] = value > 0 ? value < 1 ? value : 1 : 0;
		}
	return true;
}

static bool read_arrays(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, hob_error *err)
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
	if (!hob_x3d_floats(x, hob_x3d_child(x, e, points), "point", &out->points, &count, err))
		return false;
	out->point_count = count / 3;
	if (!hob_x3d_floats(x, hob_x3d_child(x, e, normals), "vector", &out->normals, &count, err))
		return false;
	out->normal_count = count / 3;
	if (!hob_x3d_floats(x, uv, "point", &out->uvs, &count, err))
		return false;
	out->uv_count = count / 2;
	out->clockwise = !hob_x3d_bool(e, "ccw", true);
	out->both_sides = !hob_x3d_bool(e, "solid", true);
	return read_colors(x, e, out, err);
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

static bool read_indexed(hob_x3d *x, hob_x3d_ptr e, indexed *out, hob_error *err)
{
	out->normals.per_vertex = hob_x3d_bool(e, "normalPerVertex", true);
	out->colors.per_vertex = hob_x3d_bool(e, "colorPerVertex", true);
	out->uvs.per_vertex = true;
	return hob_x3d_ints(x, e, "coordIndex", &out->points.at, &out->points.count, err) &&
		   hob_x3d_ints(x, e, "normalIndex", &out->normals.at, &out->normals.count, err) &&
		   hob_x3d_ints(x, e, "colorIndex", &out->colors.at, &out->colors.count, err) &&
		   hob_x3d_ints(x, e, "texCoordIndex", &out->uvs.at, &out->uvs.count, err);
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

static bool corner_of(const indexed *i, uint32_t place, uint32_t face, hob_x3d_shape *out)
{
	uint32_t point = i->points.at[place] < 0 ? HOB_NONE : (uint32_t)i->points.at[place];
	return hob_x3d_corner_add(out, point, entry(&i->normals, place, point, face),
							  entry(&i->colors, place, point, face), entry(&i->uvs, place, point, face));
}

static bool face_set(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, hob_error *err)
{
	indexed i;
	uint32_t face = 0, first = 0;
	if (!read_indexed(x, e, &i, err))
		return false;
	out->crease = hob_x3d_float(e, "creaseAngle", 0);
	out->map_box = out->uvs == NULL;
	for (uint32_t place = 0; place <= i.points.count; place++) {
		if (place < i.points.count && i.points.at[place] >= 0) {
			if (!corner_of(&i, place, face, out))
				return no_memory(err);
			continue;
		}
		if (place > first && !hob_x3d_face_end(out, place - first))
			return no_memory(err);
		face += place > first;
		first = place + 1;
	}
	return true;
}

static bool line_set(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, hob_error *err)
{
	indexed i;
	uint32_t line = 0, first = 0;
	if (!read_indexed(x, e, &i, err))
		return false;
	out->topology = HOB_LINES;
	for (uint32_t place = 0; place <= i.points.count; place++) {
		if (place == i.points.count || i.points.at[place] < 0) {
			line += place > first;
			first = place + 1;
		} else if (place > first &&
				   (!corner_of(&i, place - 1, line, out) || !corner_of(&i, place, line, out))) {
			return no_memory(err);
		}
	}
	return true;
}

static bool same(hob_x3d_shape *out, uint32_t point)
{
	return hob_x3d_corner_add(out, point, point, point, point);
}

static bool point_set(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, hob_error *err)
{
	(void)x, (void)e;
	out->topology = HOB_POINTS;
	for (uint32_t i = 0; i < out->point_count; i++)
		if (!same(out, i))
			return no_memory(err);
	return true;
}

static bool plain_lines(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, hob_error *err)
{
	int32_t *counts;
	uint32_t count, first = 0;
	out->topology = HOB_LINES;
	if (!hob_x3d_ints(x, e, "vertexCount", &counts, &count, err))
		return false;
	for (uint32_t line = 0; line < count; line++) {
		if (counts[line] < 0 || (uint32_t)counts[line] > out->point_count - first)
			break;
		for (uint32_t k = 1; k < (uint32_t)counts[line]; k++)
			if (!same(out, first + k - 1) || !same(out, first + k))
				return no_memory(err);
		first += (uint32_t)counts[line];
	}
	return true;
}

/* ---- sets of triangles and quads: one index for all arrays */

static bool polygon(hob_x3d_shape *out, const uint32_t *corners, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!same(out, corners[i]))
			return false;
	return hob_x3d_face_end(out, count);
}

static bool lists(hob_x3d_shape *out, const uint32_t *at, uint32_t count, uint32_t size)
{
	for (uint32_t i = 0; i + size <= count; i += size)
		if (!polygon(out, at + i, size))
			return false;
	return true;
}

static bool strip_or_fan(hob_x3d_shape *out, const uint32_t *at, uint32_t count, bool fan)
{
	for (uint32_t i = 2; i < count; i++) {
		const uint32_t corners[3] = {fan ? at[0] : at[i - 2 + (i & 1)], fan ? at[i - 1] : at[i - 1 - (i & 1)],
									 at[i]};
		if (!polygon(out, corners, 3))
			return false;
	}
	return true;
}

typedef enum set_kind { TRIANGLES, QUADS, STRIPS, FANS } set_kind;

/* Runs of an indexed set end at -1; `count_field` gives the lengths of a plain one. */
static bool runs(hob_x3d *x, hob_x3d_ptr e, bool is_indexed, const char *count_field, set_kind kind,
				 hob_x3d_shape *out, hob_error *err)
{
	int32_t *list;
	uint32_t count, first = 0, *at, used = 0;
	if (!hob_x3d_ints(x, e, is_indexed ? "index" : count_field, &list, &count, err))
		return false;
	uint32_t room = is_indexed ? count : out->point_count;
	if (!HOB_MAKE(x->request->scratch, &at, room, "indices", err))
		return false;
	for (uint32_t i = 0; i < room; i++)
		at[i] = is_indexed ? (uint32_t)list[i] : i;
	if (kind == TRIANGLES || kind == QUADS) {
		for (uint32_t i = 0; i < room; i++)
			if (at[i] != HOB_NONE)
				at[used++] = at[i];
		return lists(out, at, used, kind == QUADS ? 4 : 3) || no_memory(err);
	}
	for (uint32_t i = 0; i < (is_indexed ? count + 1 : count); i++) {
		bool end = is_indexed && (i == count || list[i] < 0);
		uint32_t length = is_indexed ? i - first : list[i] > 0 ? (uint32_t)list[i] : 0;
		if (is_indexed && !end)
			continue;
		if (length > room - first)
			break;
		if (!strip_or_fan(out, at + first, length, kind == FANS))
			return no_memory(err);
		first += length + is_indexed;
		if (first > room)
			break;
	}
	return true;
}

static bool triangle_set(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, hob_error *err)
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
			return runs(x, e, sets[i].indexed, sets[i].count_field, sets[i].kind, out, err);
	return true;
}

/* ---- ElevationGrid */

static bool grid_points(hob_x3d *x, hob_x3d_ptr e, uint32_t columns, uint32_t rows, hob_x3d_shape *out,
						hob_error *err)
{
	float *heights, dx = hob_x3d_float(e, "xSpacing", 1), dz = hob_x3d_float(e, "zSpacing", 1);
	uint32_t count, points = columns * rows;
	bool own = out->uvs != NULL;
	if (!hob_x3d_floats(x, e, "height", &heights, &count, err))
		return false;
	out->points = HOB_NEW(x->request->scratch, float, (size_t)points * 3);
	if (!own)
		out->uvs = HOB_NEW(x->request->scratch, float, (size_t)points * 2);
	if (!out->points || !out->uvs)
		return hob_fail_memory(err, x->request->scratch, "a grid");
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
	return true;
}

static bool grid(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, hob_error *err)
{
	float wide = hob_x3d_float(e, "xDimension", 0), deep = hob_x3d_float(e, "zDimension", 0);
	bool smooth = hob_x3d_bool(e, "normalPerVertex", true), mixed = hob_x3d_bool(e, "colorPerVertex", true);
	size_t text = hob_xml_attr(e, HOB_STR("height")).len;
	/* A height takes at least two bytes of the file. */
	if (!(wide >= 2 && deep >= 2 && wide < 65536 && deep < 65536 &&
		  (double)wide * (double)deep <= (double)text))
		return true;
	uint32_t columns = (uint32_t)wide, rows = (uint32_t)deep, quad = 0;
	if (!grid_points(x, e, columns, rows, out, err))
		return false;
	out->crease = hob_x3d_float(e, "creaseAngle", 0);
	for (uint32_t row = 0; row + 1 < rows; row++)
		for (uint32_t column = 0; column + 1 < columns; column++, quad++) {
			uint32_t a = row * columns + column;
			const uint32_t corners[4] = {a, a + columns, a + columns + 1, a + 1};
			for (int k = 0; k < 4; k++)
				if (!hob_x3d_corner_add(out, corners[k], smooth ? corners[k] : quad,
										mixed ? corners[k] : quad, corners[k]))
					return no_memory(err);
			if (!hob_x3d_face_end(out, 4))
				return no_memory(err);
		}
	return true;
}

/* ---- all */

bool hob_x3d_geometry(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, bool *known, hob_error *err)
{
	static const struct {
		const char *type;
		bool (*read)(hob_x3d *, hob_x3d_ptr, hob_x3d_shape *, hob_error *);
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
			*known = true;
			return read_arrays(x, e, out, err) && readers[i].read(x, e, out, err);
		}
	return true;
}
