#include "importers.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "../base/number.h"
#include "plain_census.h"
#include "shape.h"
#include "text.h"

enum { HEADER_SIZE = 80, FACETS_AT = 84, FACET_SIZE = 50 };

/* ---- model of one node per solid */

typedef struct solid {
	hob_str name;
	uint32_t facet_first, facet_count;
} solid;

typedef struct stl_data {
	const hob_import_request *request;
	uint32_t facet_count;
	float *position; /* [facet_count][3][3], in the result arena */
	float *normal;	 /* [facet_count][3] as stored in the file, in scratch */
	float *color;	 /* [facet_count][3][4] or NULL */
	const solid *solids;
	uint32_t solid_count;
} stl_data;

/* Notes stored normals that point against their facets. The normal of the corners counts, also for culling:
 * exporters get the stored one wrong or leave it zero. */
static void compare_normals(const stl_data *data, const float *normals, const hob_mesh *to)
{
	uint32_t against = 0, facets = to->vertex_count / 3;
	for (size_t i = 0; i < facets; i++) {
		const float *corner = to->position + i * 9, *normal = normals + i * 3;
		float made[3];
		hob_shape_face_normal(corner, corner + 3, corner + 6, made);
		against += normal[0] * made[0] + normal[1] * made[1] + normal[2] * made[2] < 0;
	}
	if (against > facets / 10)
		hob_info(data->request->notes, "stl.normals",
				 "%u of %u facet normals point against their facets; the order of the corners is taken",
				 against, facets);
}

static void make_mesh(const stl_data *data, const solid *from, uint32_t index, hob_mesh *to)
{
	uint32_t corners = from->facet_count * 3;
	size_t first = (size_t)from->facet_first * 3;
	*to = (hob_mesh){.name = from->name,
					 .material = 0,
					 .source_mesh = index,
					 .vertex_count = corners,
					 .index_count = corners,
					 .position = data->position + first * 3,
					 .flat = true};
	if (data->color)
		to->color[0] = data->color + first * 4;
	to->indices = HOB_NEW(data->request->result, uint32_t, corners);
	for (uint32_t i = 0; i < corners; i++)
		to->indices[i] = i;
	hob_shape_fix_positions(to, data->request->notes);
	compare_normals(data, data->normal + first, to);
}

static void make_model(const stl_data *data, hob_model *model)
{
	hob_arena *arena = data->request->result;
	uint32_t count = data->solid_count;
	model->meshes = HOB_NEW(arena, hob_mesh, count);
	model->nodes = HOB_NEW(arena, hob_node, count);
	model->mesh_refs = HOB_NEW(arena, uint32_t, count);
	model->materials = HOB_NEW(arena, hob_material, 1);
	for (uint32_t i = 0; i < count; i++) {
		make_mesh(data, &data->solids[i], i, &model->meshes[i]);
		model->nodes[i] = hob_shape_plain_node(data->solids[i].name);
		model->nodes[i].source = model->nodes[i].mesh_first = i;
		model->nodes[i].mesh_count = 1;
		model->mesh_refs[i] = i;
	}
	model->mesh_count = model->node_count = model->mesh_ref_count = count;
	hob_model_one_scene(model, arena);
	hob_shape_plain_material(&model->materials[0], HOB_STR(""));
	model->material_count = 1;
	model->space.vertex_colors = HOB_COLORS_SRGB;
}

static void check_count(uint64_t facets)
{
	if (facets * 3 > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "%llu facets have more than %llu vertices; split the mesh",
				  (unsigned long long)facets, HOB_LIMIT_VERTICES);
}

/* ---- binary */

/* Colour of a facet, 15 bits, in two conventions. With "COLOR=" in the header (Materialise Magics): red in
 * the low bits, and bit 15 clear means "own colour". Without it (VisCAM, SolidView): blue in the low bits,
 * and bit 15 set means "own colour". */
static void facet_color(uint16_t bits, bool magics, const uint8_t *common, float out[4])
{
	bool own = magics ? !(bits & 0x8000) : bits & 0x8000;
	uint32_t low = bits & 31u, middle = bits >> 5 & 31u, high = bits >> 10 & 31u;
	const uint32_t fives[3] = {magics ? low : high, middle, magics ? high : low};
	out[3] = 1;
	for (int i = 0; i < 3; i++)
		out[i] = own ? hob_shape_linear((float)fives[i] / 31) : 1;
	for (int i = 0; common && !own && i < 3; i++)
		out[i] = hob_shape_linear((float)common[i] / 255);
}

static void read_colors(stl_data *data)
{
	const uint8_t *file = data->request->file.data;
	size_t color_at = hob_str_find((hob_str){(const char *)file, HEADER_SIZE}, HOB_STR("COLOR="), 0);
	bool magics = color_at != SIZE_MAX;
	const uint8_t *common = magics && color_at + 10 <= HEADER_SIZE ? file + color_at + 6 : NULL;
	bool any = magics;
	for (uint32_t i = 0; i < data->facet_count && !any; i++)
		any = hob_load_u16(file + FACETS_AT + (size_t)i * FACET_SIZE + 48) & 0x8000;
	if (!any)
		return;
	data->color = HOB_NEW(data->request->result, float, (size_t)data->facet_count * 12);
	for (size_t i = 0; i < data->facet_count; i++) {
		uint16_t bits = hob_load_u16(file + FACETS_AT + i * FACET_SIZE + 48);
		for (size_t k = 0; k < 3; k++)
			facet_color(bits, magics, common, data->color + (i * 3 + k) * 4);
	}
	hob_info(data->request->notes, "stl.colors", "the facets' attribute bytes are read as colours (%s)",
			 magics ? "Materialise Magics" : "VisCAM, SolidView");
}

static void read_binary(const hob_import_request *request, hob_model *model)
{
	hob_bytes file = request->file;
	if (file.size < FACETS_AT)
		hob_leave(TRUNCATED, "%zu bytes are too few for an STL file; a binary one has at least %d", file.size,
				  FACETS_AT);
	uint32_t count = hob_load_u32(file.data + HEADER_SIZE);
	uint64_t room = (file.size - FACETS_AT) / FACET_SIZE;
	if (count > room)
		hob_leave(TRUNCATED, "the header announces %u facets, the file ends after %llu; copy it again", count,
				  (unsigned long long)room);
	if (count == 0)
		hob_leave(EMPTY, "the STL file holds no facet");
	check_count(count);
	if (file.size - FACETS_AT > (size_t)count * FACET_SIZE)
		hob_warn(request->notes, "stl.trailing-bytes", "%zu bytes behind the last of %u facets are ignored",
				 file.size - FACETS_AT - (size_t)count * FACET_SIZE, count);
	solid whole = {HOB_STR(""), 0, count};
	stl_data data = {.request = request, .facet_count = count, .solids = &whole, .solid_count = 1};
	data.position = HOB_NEW(request->result, float, (size_t)count * 9);
	data.normal = HOB_NEW(request->scratch, float, (size_t)count * 3);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *facet = file.data + FACETS_AT + i * FACET_SIZE;
		for (size_t k = 0; k < 3; k++)
			data.normal[i * 3 + k] = hob_load_f32(facet + k * 4);
		for (size_t k = 0; k < 9; k++)
			data.position[i * 9 + k] = hob_load_f32(facet + 12 + k * 4);
	}
	read_colors(&data);
	make_model(&data, model);
}

/* ---- text */

typedef struct text_reader {
	const hob_import_request *request;
	hob_buf position, normal, solids; /* as in stl_data */
	uint32_t facet_count, line;
	uint32_t corner; /* of the current facet */
	bool in_facet, in_solid;
	float facet_normal[3];
	float corners[2][3]; /* first and last corner of the current facet, to make a fan of more than three */
} text_reader;

static void read_triple(text_reader *r, hob_str line, float out[3])
{
	const char *at = line.data, *end = line.data + line.len;
	for (int i = 0; i < 3; i++) {
		while (at < end && (uint8_t)*at <= ' ')
			at++;
		at = hob_number_float(at, end, &out[i]);
		if (!at)
			hob_leave(CORRUPT, "line %u: three numbers are expected", r->line);
	}
}

static void count_facet(text_reader *r)
{
	hob_buf_put(&r->normal, r->facet_normal, sizeof r->facet_normal);
	r->facet_count++;
}

static void put_corner(text_reader *r, const float *corner)
{
	hob_buf_put(&r->position, corner, 3 * sizeof(float));
}

static void read_vertex(text_reader *r, hob_str line)
{
	float corner[3];
	if (!r->in_facet)
		hob_leave(CORRUPT, "line %u: a vertex outside of a facet", r->line);
	read_triple(r, line, corner);
	if (r->corner >= 3) {
		put_corner(r, r->corners[0]);
		put_corner(r, r->corners[1]);
		count_facet(r);
	}
	put_corner(r, corner);
	memcpy(r->corners[r->corner > 0], corner, sizeof corner);
	r->corner++;
}

static void end_facet(text_reader *r)
{
	if (!r->in_facet || r->corner < 3)
		hob_leave(CORRUPT, "line %u: a facet of %u vertices ends", r->line, r->corner);
	r->in_facet = false;
	count_facet(r);
	check_count(r->facet_count);
}

static void begin_solid(text_reader *r, hob_str name)
{
	solid next = {hob_text_name(r->request->result, name), r->facet_count, 0};
	hob_buf_put(&r->solids, &next, sizeof next);
	if (r->solids.size / sizeof(solid) > HOB_LIMIT_MESHES)
		hob_leave(LIMIT, "more than %llu solids", HOB_LIMIT_MESHES);
	r->in_solid = true;
}

static void read_line(text_reader *r, hob_str line)
{
	hob_str word = hob_text_word(&line);
	if (hob_str_equal_nocase(word, HOB_STR("vertex"))) {
		read_vertex(r, line);
	} else if (hob_str_equal_nocase(word, HOB_STR("facet"))) {
		if (!r->in_solid)
			begin_solid(r, HOB_STR(""));
		if (r->in_facet)
			hob_leave(CORRUPT, "line %u: a facet begins inside of another", r->line);
		r->in_facet = true;
		r->corner = 0;
		memset(r->facet_normal, 0, sizeof r->facet_normal);
		hob_str keyword = hob_text_word(&line);
		if (hob_str_equal_nocase(keyword, HOB_STR("normal")))
			read_triple(r, line, r->facet_normal);
	} else if (hob_str_equal_nocase(word, HOB_STR("endfacet"))) {
		end_facet(r);
	} else if (hob_str_equal_nocase(word, HOB_STR("solid"))) {
		begin_solid(r, line);
	} else if (hob_str_equal_nocase(word, HOB_STR("endsolid"))) {
		r->in_solid = false;
	}
}

static void read_lines(text_reader *r, hob_str text)
{
	hob_str line;
	while (hob_text_line(&text, &line)) {
		r->line++;
		read_line(r, line);
	}
	if (r->in_facet)
		hob_leave(TRUNCATED, "the file ends inside of a facet at line %u; copy it again", r->line);
	if (r->in_solid)
		hob_leave(TRUNCATED, "the file ends without 'endsolid' at line %u; copy it again", r->line);
	if (r->facet_count == 0)
		hob_leave(EMPTY, "the STL file holds no facet");
}

/* Sets the solids' counts and drops solids without a facet. */
static uint32_t close_solids(solid *solids, uint32_t count, uint32_t facet_count)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t end = i + 1 < count ? solids[i + 1].facet_first : facet_count;
		solids[i].facet_count = end - solids[i].facet_first;
		if (solids[i].facet_count > 0)
			solids[kept++] = solids[i];
	}
	return kept;
}

static void read_text(const hob_import_request *request, hob_str text, hob_model *model)
{
	text_reader r = {.request = request};
	read_lines(&r, text);
	solid *solids = (solid *)(void *)r.solids.data;
	stl_data data = {.request = request, .facet_count = r.facet_count, .solids = solids};
	data.solid_count = close_solids(solids, (uint32_t)(r.solids.size / sizeof(solid)), r.facet_count);
	data.position = HOB_NEW(request->result, float, (size_t)r.facet_count * 9);
	memcpy(data.position, r.position.data, r.position.size);
	data.normal = (float *)(void *)r.normal.data;
	make_model(&data, model);
}

/* Whether the file is text. Binary files may begin with "solid", too, so a file of exactly the size that its
 * facet count gives is binary. */
static bool is_text(hob_bytes file, hob_str text)
{
	bool fits = file.size >= FACETS_AT && (file.size - FACETS_AT) % FACET_SIZE == 0 &&
				hob_load_u32(file.data + HEADER_SIZE) == (file.size - FACETS_AT) / FACET_SIZE;
	if (fits)
		return false;
	hob_str head = hob_str_sub(text, 0, 1024);
	if (head.len == 0 || memchr(head.data, 0, head.len))
		return false;
	for (size_t i = 0; i + 5 <= head.len; i++)
		if (hob_str_equal_nocase(hob_str_sub(head, i, i + 5), HOB_STR("solid")))
			return true;
	return false;
}

static bool stl_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	hob_str text = hob_text_decode(request->scratch, request->file);
	hob_census_of_stl(request->seen, request->file);
	if (is_text(request->file, text))
		read_text(request, text, out);
	else
		read_binary(request, out);
	return true;
}

static const char *const extensions[] = {"stl", NULL};

const hob_importer hob_stl_importer = {
	.name = "stl",
	.version = 3,
	.extensions = extensions,
	.import = stl_import,
	.copies = true,
};
