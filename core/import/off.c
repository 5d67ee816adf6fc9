#include "importers.h"

#include "../base/limits.h"
#include "lists.h"
#include "../base/number.h"
#include "polygon.h"
#include "shape.h"
#include "text.h"

/* OFF, by lines: "[ST][C][N][4]OFF", counts, vertices (position, normal, colour, texture coordinate), faces
 * (count, indices, colour). Many files have colours that the header word does not announce.
 *
 * Source: the OFF page of Geomview's manual. */

enum { WORDS_MAX = 16 };

typedef struct off {
	const hob_import_request *request;
	hob_str rest;
	uint32_t line;
	bool has_uv, has_color, has_normal, homogeneous;
	uint32_t vertex_count, face_count;
	float *position, *normal, *uv, *color; /* per vertex; NULL if absent */
	bool any_vertex_color, any_face_color;
	float largest;		 /* largest component of any colour */
	hob_buf corners;	 /* u32 */
	hob_buf sizes;		 /* u32 per face */
	hob_buf face_colors; /* f32[4] per face; red < 0: no colour */
	uint32_t mapped;	 /* faces whose colour is an index into a table outside the file */
	uint32_t bad;
} off_file;

/* ---- lines */

/* The next non-empty line, without its comment. False at the end. */
static bool next_line(off_file *o, hob_str *line)
{
	while (hob_text_line(&o->rest, line)) {
		o->line++;
		size_t comment = hob_str_find(*line, HOB_STR("#"), 0);
		*line = hob_text_trim(hob_str_sub(*line, 0, comment < line->len ? comment : line->len));
		if (line->len > 0)
			return true;
	}
	return false;
}

static uint32_t numbers(hob_str line, float *out)
{
	uint32_t count = 0;
	hob_str word;
	while (count < WORDS_MAX && (word = hob_text_word(&line)).len > 0) {
		const char *end = word.data + word.len;
		if (hob_number_float(word.data, end, &out[count]) == NULL)
			break;
		count++;
	}
	return count;
}

/* ---- header */

/* With 'n' in the header, a line gives the number of coordinates per point. */
static bool read_dimension(off_file *o, hob_str *rest, hob_error *err)
{
	if (rest->len == 0 && !next_line(o, rest))
		return hob_fail(err, TRUNCATED, "the file ends behind its first word");
	hob_str word = hob_text_word(rest);
	int64_t dimension = 0;
	(void)hob_number_int(word.data, word.data + word.len, &dimension);
	*rest = hob_text_trim(*rest);
	return dimension == 3 ||
		   hob_fail(err, UNSUPPORTED, "line %u: the OFF file has points of %lld dimensions; export three",
					o->line, (long long)dimension);
}

static bool read_header(off_file *o, hob_str *counts, hob_error *err)
{
	hob_str line;
	if (!next_line(o, &line))
		return hob_fail(err, EMPTY, "the OFF file holds nothing");
	hob_str rest = line, word = hob_text_word(&rest);
	bool any_dimension = false;
	/* "OFF490 518 0": the counts may follow without a space. */
	size_t glued = hob_str_find(word, HOB_STR("OFF"), 0);
	if (glued != SIZE_MAX && glued + 3 < word.len && hob_is_digit(word.data[glued + 3])) {
		word = hob_str_sub(word, 0, glued + 3);
		rest = (hob_str){word.data + word.len, (size_t)(line.data + line.len - word.data) - word.len};
	}
	if (!hob_str_ends_nocase(word, HOB_STR("OFF"))) {
		/* The header word is optional. */
		*counts = line;
		return word.data[0] >= '0' && word.data[0] <= '9'
				   ? true
				   : hob_fail(err, CORRUPT, "line %u: 'OFF' is expected, not '%.*s'; is this an OFF file?",
							  o->line, word.len < 20 ? (int)word.len : 20, word.data);
	}
	for (size_t i = 0; i + 3 < word.len; i++) {
		char c = word.data[i];
		o->has_uv = o->has_uv || (c == 'S' && word.data[i + 1] == 'T');
		o->has_color = o->has_color || c == 'C';
		o->has_normal = o->has_normal || c == 'N';
		o->homogeneous = o->homogeneous || c == '4';
		any_dimension = any_dimension || c == 'n';
	}
	rest = hob_text_trim(rest);
	if (any_dimension && !read_dimension(o, &rest, err))
		return false;
	if (hob_str_starts(rest, HOB_STR("BINARY")))
		return hob_fail(err, UNSUPPORTED, "the OFF file is binary; export it as text, or as glTF");
	*counts = rest;
	return rest.len > 0 || next_line(o, counts) ||
		   hob_fail(err, TRUNCATED, "the file ends behind its first word");
}

static bool read_counts(off_file *o, hob_str line, hob_error *err)
{
	float n[WORDS_MAX];
	if (numbers(line, n) < 2 || !(n[0] >= 0 && n[1] >= 0 && n[0] < 4e9f && n[1] < 4e9f))
		return hob_fail(err, CORRUPT, "line %u: the numbers of vertices and faces are expected", o->line);
	/* A float has only 24 bits of precision, so the counts are parsed again as integers. */
	int64_t counts[2] = {0};
	for (int i = 0; i < 2; i++) {
		hob_str word = hob_text_word(&line);
		(void)hob_number_int(word.data, word.data + word.len, &counts[i]);
	}
	/* A vertex takes more than five bytes of the file, a face more than two. */
	if ((uint64_t)counts[0] > HOB_LIMIT_VERTICES || (uint64_t)counts[0] > o->rest.len / 5 + 1 ||
		(uint64_t)counts[1] > o->rest.len / 2 + 1)
		return hob_fail(err, TRUNCATED,
						"line %u: %lld vertices and %lld faces are announced, more than the file holds",
						o->line, (long long)counts[0], (long long)counts[1]);
	o->vertex_count = (uint32_t)counts[0];
	o->face_count = (uint32_t)counts[1];
	return true;
}

/* ---- vertices and faces */

static bool read_vertex(off_file *o, uint32_t v, hob_error *err)
{
	hob_str line;
	float n[WORDS_MAX];
	if (!next_line(o, &line))
		return hob_fail(err, TRUNCATED, "the file ends at vertex %u of %u; copy it again", v,
						o->vertex_count);
	uint32_t count = numbers(line, n), at = o->homogeneous ? 4 : 3;
	if (count < at)
		return hob_fail(err, CORRUPT, "line %u: a vertex of %u numbers", o->line, count);
	float w = o->homogeneous && n[3] != 0 ? n[3] : 1;
	for (int k = 0; k < 3; k++)
		o->position[(size_t)v * 3 + (size_t)k] = n[k] / w;
	if (o->has_normal && count >= at + 3) {
		memcpy(o->normal + (size_t)v * 3, n + at, 3 * sizeof *n);
		at += 3;
	}
	uint32_t colors = count - at - (o->has_uv && count >= at + 2 ? 2 : 0);
	if (colors == 3 || colors == 4) {
		float *to = o->color + (size_t)v * 4;
		to[3] = -1; /* opaque, in either colour scale */
		for (uint32_t k = 0; k < colors; k++) {
			to[k] = n[at + k];
			o->largest = to[k] > o->largest ? to[k] : o->largest;
		}
		o->any_vertex_color = true;
	} else {
		o->color[(size_t)v * 4] = -1;
	}
	if (o->has_uv && count >= at + colors + 2)
		memcpy(o->uv + (size_t)v * 2, n + count - 2, 2 * sizeof *n);
	return true;
}

static bool read_face(off_file *o, uint32_t f, hob_error *err)
{
	hob_str line, word;
	int64_t count, index;
	float color[WORDS_MAX] = {-1, 0, 0, 0};
	if (!next_line(o, &line))
		return hob_fail(err, TRUNCATED, "the file ends at face %u of %u; copy it again", f, o->face_count);
	word = hob_text_word(&line);
	if (!hob_number_int(word.data, word.data + word.len, &count) || count < 0)
		return hob_fail(err, CORRUPT, "line %u: a face begins with the number of its corners", o->line);
	uint32_t first = HOB_LISTS_COUNT(o->corners, uint32_t), good = 0;
	for (int64_t i = 0; i < count; i++) {
		word = hob_text_word(&line);
		if (word.len == 0 && o->rest.len == 0 && (uint8_t)o->rest.data[-1] > ' ')
			return hob_fail(err, TRUNCATED, "the file ends inside of face %u of %u; copy it again", f,
							o->face_count);
		if (word.len == 0 || !hob_number_int(word.data, word.data + word.len, &index)) {
			o->bad++;
			o->corners.size = (size_t)first * sizeof(uint32_t);
			return true;
		}
		uint32_t corner = (uint32_t)index;
		good +=
			index >= 0 && index < o->vertex_count && hob_shape_in_reach(o->position + (size_t)corner * 3, 3);
		hob_buf_put(&o->corners, &corner, sizeof corner);
	}
	uint32_t colors = numbers(line, color), size = (uint32_t)count;
	if (colors == 3 || colors == 4) {
		color[3] = colors == 4 ? color[3] : -1;
		for (uint32_t k = 0; k < colors; k++)
			o->largest = color[k] > o->largest ? color[k] : o->largest;
		o->any_face_color = true;
	} else {
		o->mapped += colors == 1;
		color[0] = -1;
	}
	if (size < 2 || good != size) {
		o->bad++;
		o->corners.size = (size_t)first * sizeof(uint32_t);
		return true;
	}
	hob_buf_put(&o->sizes, &size, sizeof size);
	hob_buf_put(&o->face_colors, color, 4 * sizeof *color);
	return true;
}

static bool read_all(off_file *o, hob_error *err)
{
	hob_arena *scratch = o->request->scratch;
	hob_str line;
	if (!read_header(o, &line, err) || !read_counts(o, line, err))
		return false;
	size_t count = o->vertex_count;
	o->position = HOB_NEW(scratch, float, count * 3);
	o->color = HOB_NEW(scratch, float, count * 4);
	o->normal = HOB_NEW(scratch, float, o->has_normal ? count * 3 : 0);
	o->uv = HOB_NEW(scratch, float, o->has_uv ? count * 2 : 0);
	for (uint32_t v = 0; v < o->vertex_count; v++)
		if (!read_vertex(o, v, err))
			return false;
	for (uint32_t f = 0; f < o->face_count; f++)
		if (!read_face(o, f, err))
			return false;
	return !next_line(o, &line) ||
		   hob_fail(err, CORRUPT,
					"line %u follows the last of %u faces: the rows do not match the counts; export it again",
					o->line, o->face_count);
}

/* ---- the mesh: a vertex for each corner when faces have colours */

/* Integer colours have the maximum 255, unless no component is above 1. */
static void set_color(const off_file *o, const float from[4], float to[4])
{
	float scale = o->largest > 1 ? 1.0f / 255 : 1;
	for (int k = 0; k < 3; k++) {
		float value = from[k] * scale;
		to[k] = hob_shape_linear(value > 0 ? value < 1 ? value : 1 : 0);
	}
	to[3] = from[3] < 0 ? 1 : from[3] * scale < 1 ? from[3] * scale : 1;
}

static void vertices(off_file *o, hob_mesh *m)
{
	const uint32_t *corners = (const uint32_t *)(const void *)o->corners.data;
	bool apart = o->any_face_color, colored = apart || o->any_vertex_color;
	size_t count = apart ? HOB_LISTS_COUNT(o->corners, uint32_t) : o->vertex_count;
	hob_shape_allocate(m, count, o->has_normal, colored, o->has_uv, o->request->result);
	static const float white[4] = {1, 1, 1, 1};
	for (size_t i = 0; i < count; i++) {
		size_t v = apart ? corners[i] : i;
		memcpy(m->position + i * 3, o->position + v * 3, 3 * sizeof(float));
		if (m->normal)
			memcpy(m->normal + i * 3, o->normal + v * 3, 3 * sizeof(float));
		if (m->uv[0]) {
			m->uv[0][i * 2] = o->uv[v * 2];
			m->uv[0][i * 2 + 1] = 1 - o->uv[v * 2 + 1];
		}
		if (colored)
			memcpy(m->color[0] + i * 4, white, sizeof white);
		if (o->any_vertex_color && o->color[v * 4] >= 0)
			set_color(o, o->color + v * 4, m->color[0] + i * 4);
	}
	for (size_t f = 0, first = 0; apart && f < o->sizes.size / sizeof(uint32_t); f++) {
		const float *color = (const float *)(const void *)o->face_colors.data + f * 4;
		uint32_t size = ((const uint32_t *)(const void *)o->sizes.data)[f];
		for (uint32_t k = 0; k < size && color[0] >= 0; k++)
			set_color(o, color, m->color[0] + (first + k) * 4);
		first += size;
	}
}

/* Faces of two corners are lines. */
static bool indices(off_file *o, hob_topology topology, hob_mesh *m, hob_error *err)
{
	const uint32_t *corners = (const uint32_t *)(const void *)o->corners.data;
	const uint32_t *sizes = (const uint32_t *)(const void *)o->sizes.data;
	uint32_t faces = HOB_LISTS_COUNT(o->sizes, uint32_t), first = 0, most = 2;
	uint64_t count = 0;
	bool apart = o->any_face_color, lines = topology == HOB_LINES;
	for (uint32_t f = 0; f < faces; f++) {
		most = sizes[f] > most ? sizes[f] : most;
		count += lines ? (sizes[f] == 2 ? 2 : 0) : sizes[f] > 2 ? ((uint64_t)sizes[f] - 2) * 3 : 0;
	}
	if (count > HOB_LIMIT_INDICES)
		return hob_fail(err, LIMIT, "more than %llu indices; split the mesh", HOB_LIMIT_INDICES);
	hob_polygon polygon = {0};
	uint32_t *cut = HOB_NEW(o->request->scratch, uint32_t, (size_t)most * 3);
	m->indices = HOB_NEW(o->request->result, uint32_t, count);
	for (uint32_t f = 0; f < faces; first += sizes[f++]) {
		if ((sizes[f] == 2) != lines)
			continue;
		if (!lines)
			hob_polygon_triangulate(&polygon, o->position, corners + first, sizes[f], cut);
		for (uint32_t i = 0; i < (lines ? 2 : (sizes[f] - 2) * 3); i++) {
			uint32_t corner = first + (lines ? i : cut[i]);
			m->indices[m->index_count++] = apart ? corner : corners[corner];
		}
	}
	hob_polygon_release(&polygon);
	return true;
}

static void cloud(off_file *o, hob_mesh *m)
{
	m->topology = HOB_POINTS;
	m->indices = HOB_NEW(o->request->result, uint32_t, m->vertex_count);
	for (uint32_t i = 0; i < m->vertex_count; i++)
		m->indices[m->index_count++] = i;
}

static bool make_model(off_file *o, hob_lists *lists, hob_error *err)
{
	static const hob_topology topologies[] = {HOB_TRIANGLES, HOB_LINES};
	hob_mesh shared = {.name = HOB_STR(""), .source_mesh = 0};
	hob_material material;
	hob_shape_plain_material(&material, HOB_STR(""));
	shared.material = hob_lists_material(lists, &material);
	hob_lists_node(lists, HOB_STR(""), HOB_NONE);
	vertices(o, &shared);
	for (size_t t = 0; t < HOB_COUNT_OF(topologies); t++) {
		hob_mesh mesh = shared;
		mesh.topology = topologies[t];
		if (o->face_count == 0 && t == 0)
			cloud(o, &mesh);
		else if (!indices(o, topologies[t], &mesh, err))
			return false;
		if (mesh.index_count == 0)
			continue;
		hob_shape_fix_positions(&mesh, o->request->notes);
		hob_mesh_repair_directions(&mesh);
		hob_shape_fix_floats(mesh.uv[0], (size_t)mesh.vertex_count * 2, 0);
		hob_lists_show(lists, hob_lists_mesh(lists, &mesh));
	}
	return lists->meshes.size > 0 || hob_fail(err, EMPTY, "the OFF file holds no usable face");
}

static void say(const off_file *o)
{
	hob_notes *notes = o->request->notes;
	hob_census *seen = o->request->seen;
	if (o->bad > 0)
		hob_warn(notes, "mesh.bad-faces",
				 "%u faces have fewer corners than they say, or use a vertex that does not exist; they "
				 "are left out",
				 o->bad);
	if (o->mapped > 0)
		hob_warn(notes, "off.color-map",
				 "%u faces name a colour of a table that is not in the file; they are white", o->mapped);
	hob_census_add(seen, HOB_CENSUS_SURFACES, o->face_count > 0);
	hob_census_add(seen, HOB_CENSUS_COLORED, o->any_face_color || o->any_vertex_color);
}

static bool off_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	hob_lists lists;
	off_file o = {.request = request, .rest = hob_text_decode(request->scratch, request->file)};
	hob_lists_init(&lists, request);
	bool done = read_all(&o, err) && make_model(&o, &lists, err);
	hob_lists_take(&lists, out);
	say(&o);
	out->space.vertex_colors = HOB_COLORS_SRGB;
	return done;
}

static const char *const extensions[] = {"off", NULL};

const hob_importer hob_off_importer = {
	.name = "off",
	.version = 4,
	.extensions = extensions,
	.import = off_import,
};
