#include "importers.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "../model/model_scale.h"
#include "lists.h"
#include "../base/number.h"
#include "shape.h"
#include "text.h"
#include "xml.h"
#include "zip.h"

#include <math.h>

/* Additive Manufacturing File: objects of volumes, placed by constellations. Each volume becomes a mesh. Z is
 * up; lengths are millimetres unless the file states a unit; colours are sRGB. A corner takes the first
 * colour that is given, in the order triangle, vertex, volume, object, material.
 *
 * Source: ISO/ASTM 52915. */

enum { MEMBER_MAX = 1 << 30, DEPTH_MAX = 64 };

typedef const hob_xml_element *xml_ptr;

typedef struct amf {
	const hob_import_request *request;
	hob_model *model;
	hob_lists lists;
	hob_xml xml;
	hob_name_map objects, constellations; /* id -> index in `elements` */
	hob_name_map materials;				  /* id -> in lists.materials */
	hob_buf elements;					  /* xml_ptr */
	hob_buf ranges;						  /* meshes of each element, once built */
	uint32_t plain;						  /* material of volumes without one */
	uint32_t formulas, textures, edges, composites;
} amf;

typedef struct range {
	uint32_t first, count;
	bool made;
} range;

/* ---- colours */

static float number_of(xml_ptr above, const char *name, float otherwise)
{
	float value;
	hob_str text = hob_xml_text(hob_xml_child(above, hob_str_of(name)));
	return hob_xml_floats(text, &value, 1) == 1 && value > -1e30f && value < 1e30f ? value : otherwise;
}

static bool is_formula(hob_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!hob_is_digit(text.data[i]) && !strchr("+-.,eE", text.data[i]))
			return true;
	return text.len == 0;
}

/* The owner's colour; false without one, or when it is a formula of the position, which is not evaluated. */
static bool color_of(amf *a, xml_ptr owner, float out[4])
{
	static const char *const names[] = {"r", "g", "b", "a"};
	xml_ptr color = hob_xml_child(owner, HOB_STR("color"));
	if (!color)
		return false;
	for (int k = 0; k < 4; k++) {
		xml_ptr part = hob_xml_child(color, hob_str_of(names[k]));
		float value = 1;
		if (part && (is_formula(hob_xml_text(part)) || hob_xml_floats(hob_xml_text(part), &value, 1) != 1)) {
			a->formulas++;
			return false;
		}
		value = value > 0 ? value < 1 ? value : 1 : 0;
		out[k] = k < 3 ? hob_shape_linear(value) : value;
	}
	return true;
}

static hob_str metadata(xml_ptr owner, const char *type)
{
	HOB_XML_EACH (e, owner, "metadata")
		if (hob_str_equal_nocase(hob_xml_attr(e, HOB_STR("type")), hob_str_of(type)))
			return hob_xml_text(e);
	return (hob_str){0};
}

static void read_materials(amf *a)
{
	hob_material material;
	hob_shape_plain_material(&material, HOB_STR(""));
	a->plain = hob_lists_material(&a->lists, &material);
	for (xml_ptr e = a->xml.root->first; e; e = e->next) {
		a->textures += hob_xml_is(e, HOB_STR("texture"));
		if (!hob_xml_is(e, HOB_STR("material")))
			continue;
		hob_shape_plain_material(&material, hob_text_name(a->request->result, metadata(e, "name")));
		if (color_of(a, e, material.base_color) && material.base_color[3] < 1)
			material.alpha_mode = HOB_ALPHA_BLEND;
		a->composites += !hob_xml_child(e, HOB_STR("color")) && hob_xml_child(e, HOB_STR("composite"));
		hob_name_map_add(&a->materials, hob_xml_attr(e, HOB_STR("id")),
						 hob_lists_material(&a->lists, &material));
	}
}

/* ---- vertices */

typedef struct point_list {
	float *position; /* [count][3] */
	float *color;	 /* [count][4] linear; red < 0: the vertex has no colour */
	uint32_t count;
	bool colored;
} point_list;

static void read_points(amf *a, xml_ptr mesh, point_list *out)
{
	xml_ptr list = hob_xml_child(mesh, HOB_STR("vertices"));
	HOB_XML_EACH (e, list, "vertex")
		out->count++;
	out->position = HOB_NEW(a->request->scratch, float, (size_t)out->count * 3);
	out->color = HOB_NEW(a->request->scratch, float, (size_t)out->count * 4);
	size_t v = 0;
	for (xml_ptr e = hob_xml_child(list, HOB_STR("vertex")); e; e = hob_xml_next(e, HOB_STR("vertex")), v++) {
		static const char *const names[] = {"x", "y", "z"};
		xml_ptr place = hob_xml_child(e, HOB_STR("coordinates"));
		for (size_t k = 0; k < 3; k++)
			out->position[v * 3 + k] = number_of(place, names[k], 0);
		if (color_of(a, e, out->color + v * 4))
			out->colored = true;
		else
			out->color[v * 4] = -1;
	}
	HOB_XML_EACH (e, list, "edge")
		a->edges++;
}

/* ---- a volume: a mesh */

typedef struct volume {
	amf *a;
	xml_ptr element;
	const point_list *points;
	float common[4];		  /* colour of the volume, else of the object */
	bool has_common, corners; /* `corners`: triangles have colours, so each corner becomes a vertex */
} volume;

static uint32_t corner(xml_ptr triangle, const char *name)
{
	hob_str text = hob_xml_text(hob_xml_child(triangle, hob_str_of(name)));
	double value = -1;
	return hob_xml_doubles(text, &value, 1) == 1 && value >= 0 && value < 4e9 ? (uint32_t)value : HOB_NONE;
}

static uint32_t scan(volume *v)
{
	uint32_t count = 0;
	HOB_XML_EACH (t, v->element, "triangle") {
		v->corners = v->corners || hob_xml_child(t, HOB_STR("color"));
		count++;
	}
	return count;
}

static void room(volume *v, hob_mesh *m, uint32_t triangles, bool colored)
{
	hob_arena *arena = v->a->request->result;
	size_t vertices = v->corners ? (size_t)triangles * 3 : v->points->count;
	if (vertices > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "more than %llu vertices; split the volume", HOB_LIMIT_VERTICES);
	hob_shape_allocate(m, vertices, false, colored, false, arena);
	m->indices = HOB_NEW(arena, uint32_t, (size_t)triangles * 3);
}

static void corner_color(const volume *v, uint32_t point, const float *own, float *to)
{
	static const float white[4] = {1, 1, 1, 1};
	const float *of_point = v->points->color + (size_t)point * 4;
	memcpy(to, own ? own : of_point[0] >= 0 ? of_point : v->has_common ? v->common : white, sizeof white);
}

static uint32_t put_triangles(volume *v, hob_mesh *m)
{
	uint32_t at = 0, bad = 0;
	HOB_XML_EACH (t, v->element, "triangle") {
		const uint32_t points[3] = {corner(t, "v1"), corner(t, "v2"), corner(t, "v3")};
		float own[4];
		bool has_own = v->corners && color_of(v->a, t, own);
		if (points[0] >= v->points->count || points[1] >= v->points->count || points[2] >= v->points->count) {
			bad++;
			continue;
		}
		for (int k = 0; k < 3; k++) {
			uint32_t vertex = v->corners ? at++ : points[k];
			memcpy(m->position + (size_t)vertex * 3, v->points->position + (size_t)points[k] * 3,
				   3 * sizeof(float));
			if (m->color[0])
				corner_color(v, points[k], has_own ? own : NULL, m->color[0] + (size_t)vertex * 4);
			m->indices[m->index_count++] = vertex;
		}
	}
	if (v->corners)
		m->vertex_count = at;
	return bad;
}

static void read_volume(amf *a, xml_ptr object, xml_ptr element, const point_list *list, uint32_t index)
{
	volume v = {.a = a, .element = element, .points = list};
	hob_mesh mesh = {.source_mesh = object->number, .source_primitive = index, .flat = true};
	uint32_t triangles = scan(&v);
	v.has_common = color_of(a, element, v.common) || color_of(a, object, v.common);
	mesh.material = hob_name_map_get(&a->materials, hob_xml_attr(element, HOB_STR("materialid")));
	if (mesh.material == HOB_NONE)
		mesh.material = a->plain;
	if (hob_str_equal(hob_xml_attr(element, HOB_STR("type")), HOB_STR("support"))) {
		hob_info(a->request->notes, "amf.support", "volumes that only support others are left out");
		return;
	}
	bool colored = v.corners || list->colored || v.has_common;
	mesh.name = hob_text_name(a->request->result, metadata(element, "name"));
	room(&v, &mesh, triangles, colored);
	/* Vertex colours replace the material. */
	if (colored)
		mesh.material = a->plain;
	uint32_t bad = put_triangles(&v, &mesh);
	if (bad > 0)
		hob_warn(a->request->notes, "mesh.bad-faces",
				 "line %u: %u faces use a vertex that does not exist; they are left out", element->line, bad);
	hob_shape_fix_positions(&mesh, a->request->notes);
	if (mesh.index_count > 0)
		hob_lists_mesh(&a->lists, &mesh);
}

static void read_object(amf *a, xml_ptr object, range *out)
{
	HOB_PLACE("object '@'", 0, hob_xml_attr(object, HOB_STR("id")));
	out->made = true;
	out->first = HOB_LISTS_COUNT(a->lists.meshes, hob_mesh);
	HOB_XML_EACH (mesh, object, "mesh") {
		point_list list = {0};
		uint32_t index = 0;
		read_points(a, mesh, &list);
		HOB_XML_EACH (v, mesh, "volume")
			read_volume(a, object, v, &list, index++);
	}
	out->count = HOB_LISTS_COUNT(a->lists.meshes, hob_mesh) - out->first;
}

/* ---- nodes */

static void place_object(amf *a, uint32_t index)
{
	range *meshes = HOB_LISTS_AT(a->ranges, range, index);
	xml_ptr object = *HOB_LISTS_AT(a->elements, xml_ptr, index);
	if (!meshes->made)
		read_object(a, object, meshes);
	for (uint32_t i = 0; i < meshes->count; i++)
		hob_lists_show(&a->lists, meshes->first + i);
}

/* Rotates about x, then y, then z of the parent, in degrees; then translates. */
static void place(amf *a, xml_ptr instance, uint32_t node)
{
	static const char *const turns[] = {"rx", "ry", "rz"}, *const moves[] = {"deltax", "deltay", "deltaz"};
	hob_node *to = HOB_LISTS_AT(a->lists.nodes, hob_node, node), part = hob_shape_plain_node((hob_str){0});
	float m[16], by[16];
	hob_node_local_matrix(&part, m);
	for (int k = 0; k < 3; k++) {
		float half = number_of(instance, turns[k], 0) * 0.00872664626f;
		memset(part.rotation, 0, sizeof part.rotation);
		part.rotation[k] = sinf(half);
		part.rotation[3] = cosf(half);
		hob_node_local_matrix(&part, by);
		hob_matrix_multiply(by, m, m);
	}
	hob_matrix_decompose(m, to->translation, to->rotation, to->scale);
	for (int k = 0; k < 3; k++)
		to->translation[k] = number_of(instance, moves[k], 0);
}

static void show(amf *a, hob_str id, xml_ptr instance, uint32_t parent, uint32_t depth)
{
	uint32_t index = hob_name_map_get(&a->objects, id);
	bool group = index == HOB_NONE;
	if (depth > DEPTH_MAX)
		hob_leave(LIMIT, "constellations are nested deeper than %d, or one holds itself", DEPTH_MAX);
	if (group)
		index = hob_name_map_get(&a->constellations, id);
	if (index == HOB_NONE) {
		hob_warn(a->request->notes, "amf.missing-object", "object '%.*s' does not exist; it is left out",
				 HOB_FMT(id));
		return;
	}
	xml_ptr element = *HOB_LISTS_AT(a->elements, xml_ptr, index);
	uint32_t node = hob_lists_node(&a->lists, metadata(element, "name"), parent);
	if (instance)
		place(a, instance, node);
	if (!group) {
		place_object(a, index);
		return;
	}
	HOB_XML_EACH (e, element, "instance")
		show(a, hob_xml_attr(e, HOB_STR("objectid")), e, node, depth + 1);
}

static void index_elements(amf *a)
{
	range none = {0};
	for (xml_ptr e = a->xml.root->first; e; e = e->next) {
		bool object = hob_xml_is(e, HOB_STR("object")), group = hob_xml_is(e, HOB_STR("constellation"));
		if (!object && !group)
			continue;
		uint32_t index = HOB_LISTS_COUNT(a->elements, xml_ptr);
		hob_name_map_add(object ? &a->objects : &a->constellations, hob_xml_attr(e, HOB_STR("id")), index);
		hob_buf_put(&a->elements, &e, sizeof e);
		hob_buf_put(&a->ranges, &none, sizeof none);
		hob_census_add(a->request->seen, HOB_CENSUS_SURFACES,
					   object && hob_xml_find(e, "mesh/volume/triangle") != NULL);
	}
}

/* Whether an instance refers to the id. */
static bool is_placed(const amf *a, hob_str id)
{
	HOB_XML_EACH (e, a->xml.root, "constellation")
		HOB_XML_EACH (i, e, "instance")
			if (hob_str_equal(hob_xml_attr(i, HOB_STR("objectid")), id))
				return true;
	return false;
}

/* Builds all nodes. Objects that no constellation names keep their modelled position. */
static void build(amf *a)
{
	uint32_t root = hob_lists_z_up(&a->lists, a->model);
	for (xml_ptr e = a->xml.root->first; e; e = e->next) {
		hob_str id = hob_xml_attr(e, HOB_STR("id"));
		bool shown = hob_xml_is(e, HOB_STR("object")) || hob_xml_is(e, HOB_STR("constellation"));
		if (shown && !is_placed(a, id))
			show(a, id, NULL, root, 1);
	}
	if (a->lists.meshes.size <= 0)
		hob_leave(EMPTY, "the AMF file holds no usable triangle");
}

/* ---- the importer */

static float unit_of(amf *a)
{
	static const struct {
		const char *name;
		float metres;
	} units[] = {
		{"millimeter", 0.001f}, {"inch", 0.0254f}, {"feet", 0.3048f}, {"meter", 1}, {"micron", 1e-6f}};
	hob_str name = hob_text_trim(hob_xml_attr(a->xml.root, HOB_STR("unit")));
	for (size_t i = 0; i < HOB_COUNT_OF(units); i++)
		if (hob_str_equal_nocase(name, hob_str_of(units[i].name)))
			return units[i].metres;
	if (name.len > 0)
		hob_warn(a->request->notes, "amf.unit",
				 "'%.*s' is not a unit of AMF; lengths are read as millimetres", HOB_FMT(name));
	return 0.001f;
}

static void say(const amf *a)
{
	hob_notes *notes = a->request->notes;
	if (a->formulas > 0)
		hob_warn(notes, "amf.formula", "%u colours are formulas, which are not evaluated", a->formulas);
	if (a->textures > 0)
		hob_warn(notes, "amf.textures", "%u textures are not read; export 3MF or glTF to keep them",
				 a->textures);
	if (a->composites > 0)
		hob_warn(notes, "amf.composite",
				 "%u materials are mixtures of others without a colour of their own; they are white",
				 a->composites);
	if (a->edges > 0)
		hob_warn(notes, "amf.curves", "%u curved edges are drawn straight", a->edges);
}

static void read_document(amf *a, hob_bytes document)
{
	hob_error why;
	hob_xml_read(a->request->scratch, document, NULL, &a->xml);
	if (!hob_str_equal_nocase(a->xml.root->name, HOB_STR("amf")))
		hob_leave(CORRUPT, "the first element is <%.*s>, not <amf>; the file bears the wrong extension",
				  HOB_FMT(a->xml.root->name));
	bool keep = a->request->keep_units;
	float unit = keep ? 1 : unit_of(a);
	hob_str copyright = metadata(a->xml.root, "copyright"), terms = metadata(a->xml.root, "license");
	a->model->licence = hob_text_name(a->request->result, copyright.len > 0 ? copyright : terms);
	index_elements(a);
	read_materials(a);
	build(a);
	hob_lists_take(&a->lists, a->model);
	if (!hob_model_scale(a->model, unit, a->request->result, &why))
		hob_leave_with(&why);
	say(a);
	a->model->unit = keep ? 0 : unit;
	a->model->space.material_colors = a->model->space.vertex_colors = HOB_COLORS_SRGB;
}

static bool amf_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	amf a = {.request = request, .model = out};
	hob_bytes document = request->file;
	hob_zip zip;
	hob_zip_member member;
	if (hob_zip_open(request->file, &zip) &&
		(!hob_zip_find_suffix(&zip, HOB_STR(".amf"), &member) ||
		 !hob_zip_unpack(request->scratch, &member, MEMBER_MAX, &document)))
		hob_leave(CORRUPT, "the archive holds no .amf file that can be unpacked; export it again");
	hob_lists_init(&a.lists, request);
	hob_name_map_init(&a.objects, request->scratch);
	hob_name_map_init(&a.constellations, request->scratch);
	hob_name_map_init(&a.materials, request->scratch);
	read_document(&a, document);
	return true;
}

static const char *const extensions[] = {"amf", NULL};

const hob_importer hob_amf_importer = {
	.name = "amf",
	.version = 2,
	.extensions = extensions,
	.import = amf_import,
	.library_version = hob_xml_version,
};
