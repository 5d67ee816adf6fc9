#include "threemf_private.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "importers.h"
#include "shape.h"
#include "text.h"

enum { MEMBER_MAX = 1 << 30, DEPTH_MAX = 256, PARTS_MAX = 65536 };

/* ---- the archive */

bool hob_threemf_member(hob_threemf *t, hob_arena *arena, hob_str path, hob_bytes *out)
{
	hob_zip_member member;
	while (path.len > 0 && path.data[0] == '/')
		path = hob_str_sub(path, 1, path.len);
	hob_str plain;
	hob_error unheard = {0};
	if (path.len == 0)
		return false;
	/* Part names are URIs by the specification; archives as often hold them decoded. */
	bool found = hob_zip_find(&t->archive, path, &member) ||
				 (hob_uri_decode(t->request->scratch, path, &plain, &unheard) &&
				  hob_zip_find(&t->archive, plain, &member)) ||
				 hob_zip_find_suffix(&t->archive, path, &member);
	return found && hob_zip_unpack(arena, &member, MEMBER_MAX, out);
}

/* The part that the package's relationships declare as the model, else the first with the extension. */
static hob_str start_part(hob_threemf *t)
{
	hob_arena *scratch = t->request->scratch;
	hob_bytes relations;
	hob_xml xml;
	hob_error unheard = {0};
	hob_zip_member member;
	if (hob_threemf_member(t, scratch, HOB_STR("_rels/.rels"), &relations) &&
		hob_xml_parse(scratch, relations, NULL, &xml, &unheard))
		for (const hob_xml_element *e = xml.root->first; e; e = e->next) {
			hob_str target = hob_xml_attr(e, HOB_STR("Target"));
			if (hob_str_ends_nocase(hob_xml_attr(e, HOB_STR("Type")), HOB_STR("/3dmodel")) && target.len > 0)
				return target;
		}
	if (!hob_zip_find_suffix(&t->archive, HOB_STR(".model"), &member))
		hob_leave(CORRUPT, "the archive holds no .model part; export the file again");
	return member.name;
}

/* ---- vertices and triangles, taken while parsing */

static hob_threemf_range *range_at(hob_threemf_part *part, const hob_xml_element *mesh)
{
	uint32_t count = HOB_LISTS_COUNT(part->ranges, hob_threemf_range);
	if (count > 0 && HOB_THREEMF_AT(part->ranges, hob_threemf_range, count - 1)->mesh == mesh)
		return HOB_THREEMF_AT(part->ranges, hob_threemf_range, count - 1);
	hob_threemf_range range = {.mesh = mesh,
							   .vertex_first = (uint32_t)(part->vertices.size / (3 * sizeof(float))),
							   .triangle_first = HOB_LISTS_COUNT(part->triangles, hob_threemf_triangle)};
	hob_buf_put(&part->ranges, &range, sizeof range);
	return HOB_THREEMF_AT(part->ranges, hob_threemf_range, count);
}

static void put_vertex(hob_threemf_part *part, const hob_xml_element *e)
{
	const float point[3] = {(float)hob_xml_attr_double(e, HOB_STR("x"), 0),
							(float)hob_xml_attr_double(e, HOB_STR("y"), 0),
							(float)hob_xml_attr_double(e, HOB_STR("z"), 0)};
	hob_buf_put(&part->vertices, point, sizeof point);
}

static void put_triangle(hob_threemf_part *part, const hob_xml_element *e)
{
	static const char *const names[] = {"v1", "v2", "v3", "pid", "p1", "p2", "p3"};
	hob_threemf_triangle triangle;
	uint32_t values[HOB_COUNT_OF(names)];
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		values[i] = hob_xml_attr_u32(e, hob_str_of(names[i]), HOB_NONE);
	memcpy(triangle.vertex, values, sizeof triangle.vertex);
	triangle.group = values[3];
	memcpy(triangle.property, values + 4, sizeof triangle.property);
	part->painted = part->painted || hob_xml_attr(e, HOB_STR("paint_color")).len > 0 ||
					hob_xml_attr(e, HOB_STR("mmu_segmentation")).len > 0;
	hob_buf_put(&part->triangles, &triangle, sizeof triangle);
}

static bool take(void *user, const hob_xml_element *parent, const hob_xml_element *element)
{
	hob_threemf_part *part = user;
	bool vertex = hob_xml_is(element, HOB_STR("vertex")) && hob_xml_is(parent, HOB_STR("vertices"));
	bool triangle = hob_xml_is(element, HOB_STR("triangle")) && hob_xml_is(parent, HOB_STR("triangles"));
	if ((!vertex && !triangle) || !parent->parent)
		return false;
	hob_threemf_range *range = range_at(part, parent->parent);
	if (vertex) {
		put_vertex(part, element);
		range->vertex_count++;
	} else {
		put_triangle(part, element);
		range->triangle_count++;
	}
	if (range->vertex_count > HOB_LIMIT_VERTICES || range->triangle_count > HOB_LIMIT_INDICES / 3)
		hob_leave(LIMIT, "line %u: more than %llu vertices or %llu triangles", element->line,
				  HOB_LIMIT_VERTICES, HOB_LIMIT_INDICES / 3);
	return true;
}

/* ---- parts */

static float unit_of(hob_threemf *t, const hob_xml_element *root)
{
	static const struct {
		const char *name;
		float metres;
	} units[] = {{"millimeter", 0.001f}, {"micron", 1e-6f}, {"centimeter", 0.01f},
				 {"meter", 1},			 {"inch", 0.0254f}, {"foot", 0.3048f}};
	hob_str name = hob_text_trim(hob_xml_attr(root, HOB_STR("unit")));
	for (size_t i = 0; i < HOB_COUNT_OF(units); i++)
		if (hob_str_equal_nocase(name, hob_str_of(units[i].name)))
			return units[i].metres;
	if (name.len > 0)
		hob_warn(t->request->notes, "3mf.unit",
				 "'%.*s' is not a unit of 3MF; lengths are read as millimetres", HOB_FMT(name));
	return 0.001f;
}

/* Notes the extensions that a part requires, unless they do not change shape or look. */
static void note_extensions(hob_threemf *t, const hob_xml_element *root)
{
	static const char *const known[] = {"/material/", "/production/", "/slice/", "/beamlattice/",
										"/trianglesets/"};
	hob_str list = hob_xml_attr(root, HOB_STR("requiredextensions")), prefix;
	while ((prefix = hob_text_word(&list)).len > 0) {
		hob_str key = hob_arena_printf(t->request->scratch, "xmlns:%.*s", HOB_FMT(prefix));
		hob_str url = hob_xml_attr(root, key);
		bool read = url.len == 0;
		for (size_t i = 0; i < HOB_COUNT_OF(known) && !read; i++)
			read = hob_str_find(url, hob_str_of(known[i]), 0) < url.len;
		if (!read)
			hob_warn(t->request->notes, "3mf.extension",
					 "the file requires the extension '%.*s', which is not read; export it without",
					 HOB_FMT(url));
	}
}

static void list_items(hob_threemf *t, hob_threemf_resource *resource)
{
	hob_arena *scratch = t->request->scratch;
	for (const hob_xml_element *e = resource->element->first; e; e = e->next)
		resource->item_count++;
	resource->items = HOB_NEW(scratch, const hob_xml_element *, resource->item_count);
	resource->materials = HOB_NEW(scratch, uint32_t, resource->item_count);
	memset(resource->materials, 0xFF, resource->item_count * sizeof *resource->materials);
	uint32_t at = 0;
	for (const hob_xml_element *e = resource->element->first; e; e = e->next)
		resource->items[at++] = e;
}

void hob_threemf_keep(hob_threemf *t, hob_name_map *ids, uint32_t first, uint32_t second, uint32_t index)
{
	uint32_t pair[2] = {first, second};
	hob_str key = hob_arena_str(t->request->scratch, (hob_str){(const char *)pair, sizeof pair});
	hob_name_map_add(ids, key, index);
}

uint32_t hob_threemf_kept(const hob_name_map *ids, uint32_t first, uint32_t second)
{
	uint32_t pair[2] = {first, second};
	return hob_name_map_get(ids, (hob_str){(const char *)pair, sizeof pair});
}

static void index_resources(hob_threemf *t, uint32_t part)
{
	const hob_xml_element *root = HOB_THREEMF_AT(t->parts, hob_threemf_part, part)->xml.root;
	const hob_xml_element *list = hob_xml_child(root, HOB_STR("resources"));
	for (const hob_xml_element *e = list ? list->first : NULL; e; e = e->next) {
		hob_threemf_resource resource = {.element = e,
										 .part = part,
										 .id = hob_xml_attr_u32(e, HOB_STR("id"), HOB_NONE),
										 .material = HOB_NONE};
		if (resource.id == HOB_NONE)
			continue;
		if (!hob_xml_is(e, HOB_STR("object")))
			list_items(t, &resource);
		t->layered = t->layered || hob_xml_is(e, HOB_STR("multiproperties"));
		hob_threemf_keep(t, &t->resource_ids, part, resource.id,
						 HOB_LISTS_COUNT(t->resources, hob_threemf_resource));
		hob_buf_put(&t->resources, &resource, sizeof resource);
	}
}

hob_threemf_resource *hob_threemf_find(hob_threemf *t, uint32_t part, uint32_t id)
{
	uint32_t index = hob_threemf_kept(&t->resource_ids, part, id);
	return index == HOB_NONE ? NULL : HOB_THREEMF_AT(t->resources, hob_threemf_resource, index);
}

/* Reads a part, once; returns its index. */
static uint32_t open_part(hob_threemf *t, hob_str path)
{
	hob_bytes bytes;
	while (path.len > 0 && path.data[0] == '/')
		path = hob_str_sub(path, 1, path.len);
	uint32_t index = hob_name_map_get(&t->part_ids, path);
	if (index != HOB_NONE)
		return index;
	index = HOB_LISTS_COUNT(t->parts, hob_threemf_part);
	if (index >= PARTS_MAX)
		hob_leave(LIMIT, "more than %d parts", PARTS_MAX);
	if (!hob_threemf_member(t, t->request->scratch, path, &bytes))
		hob_leave(CORRUPT,
				  "the part '%.*s' is not in the package or cannot be unpacked; export the file again",
				  HOB_FMT(path));
	hob_threemf_part part = {.path = path};
	hob_xml_taker taker = {&part, take};
	HOB_PLACE("part '@'", 0, path);
	hob_xml_read(t->request->scratch, bytes, &taker, &part.xml);
	part.unit = unit_of(t, part.xml.root);
	note_extensions(t, part.xml.root);
	float *values = (float *)(void *)part.vertices.data;
	for (size_t i = 0; i < part.vertices.size / sizeof(float); i++)
		values[i] *= part.unit;
	hob_buf_put(&t->parts, &part, sizeof part);
	if (part.painted)
		hob_info(t->request->notes, "3mf.painted",
				 "colours that a slicer painted on triangles are its own and left out");
	hob_name_map_add(&t->part_ids, path, index);
	index_resources(t, index);
	return index;
}

/* ---- nodes */

/* Twelve numbers: the rows of a matrix for row vectors, which are the columns of ours. */
static void set_transform(hob_node *node, hob_str text, float unit)
{
	float n[12];
	if (hob_xml_floats(text, n, 12) != 12)
		return;
	for (int i = 0; i < 12; i++)
		if (!(n[i] > -1e15f && n[i] < 1e15f))
			return;
	for (int column = 0; column < 4; column++)
		for (int row = 0; row < 4; row++)
			node->matrix[column * 4 + row] =
				row == 3 ? (float)(column == 3) : n[column * 3 + row] * (column == 3 ? unit : 1);
	node->has_matrix = !hob_matrix_decompose(node->matrix, node->translation, node->rotation, node->scale);
}

/* Places the object that an item or component names. owner: the start part's object with that component. */
static void place(hob_threemf *t, uint32_t part, const hob_xml_element *use, uint32_t owner, uint32_t parent,
				  uint32_t depth)
{
	hob_str path = hob_xml_attr(use, HOB_STR("path"));
	if (depth > DEPTH_MAX)
		hob_leave(LIMIT, "line %u: components are nested deeper than %d, or an object holds itself",
				  use->line, DEPTH_MAX);
	uint32_t target = path.len > 0 ? open_part(t, path) : part;
	uint32_t id = hob_xml_attr_u32(use, HOB_STR("objectid"), HOB_NONE);
	hob_threemf_resource *object = hob_threemf_find(t, target, id);
	if (!object || !hob_xml_is(object->element, HOB_STR("object"))) {
		hob_warn(t->request->notes, "3mf.missing-object", "line %u: object %u does not exist; it is left out",
				 use->line, id);
		return;
	}
	bool start = owner != HOB_NONE || target == 0;
	uint32_t whole = owner != HOB_NONE ? owner : id, component = owner != HOB_NONE ? id : HOB_NONE;
	const hob_threemf_setting *setting = start ? hob_threemf_setting_of(t, whole, component) : NULL;
	if ((owner != HOB_NONE && setting && setting->helper) || hob_threemf_steers(t, object->element))
		return;
	hob_str name = hob_xml_attr(object->element, HOB_STR("name"));
	if (name.len == 0 && setting)
		name = setting->name;
	uint32_t extruder = start ? hob_threemf_extruder(t, whole, component) : 0;
	uint32_t node = hob_lists_node(&t->lists, name, parent);
	if (!object->made)
		object->material = hob_threemf_filament(t, extruder);
	hob_threemf_meshes(t, object);
	hob_node *to = HOB_THREEMF_AT(t->lists.nodes, hob_node, node);
	set_transform(to, hob_xml_attr(use, HOB_STR("transform")),
				  HOB_THREEMF_AT(t->parts, hob_threemf_part, part)->unit);
	to->mesh_count = object->mesh_count;
	for (uint32_t i = 0; i < object->mesh_count; i++) {
		uint32_t mesh = object->mesh_first + i;
		hob_buf_put(&t->lists.mesh_refs, &mesh, sizeof mesh);
	}
	if (HOB_LISTS_COUNT(t->lists.mesh_refs, uint32_t) > HOB_LIMIT_NODES)
		hob_leave(LIMIT, "more than %llu uses of meshes", HOB_LIMIT_NODES);
	const hob_xml_element *components = hob_xml_child(object->element, HOB_STR("components"));
	HOB_XML_EACH (e, components, "component")
		place(t, target, e, target == 0 ? id : HOB_NONE, node, depth + 1);
}

static void build(hob_threemf *t, uint32_t part)
{
	const hob_xml_element *list =
		hob_xml_child(HOB_THREEMF_AT(t->parts, hob_threemf_part, part)->xml.root, HOB_STR("build"));
	uint32_t root = hob_lists_z_up(&t->lists, t->model), items = 0;
	t->model->unit = HOB_THREEMF_AT(t->parts, hob_threemf_part, part)->unit;
	for (const hob_xml_element *e = hob_xml_child(list, HOB_STR("item")); e;
		 e = hob_xml_next(e, HOB_STR("item")), items++)
		place(t, part, e, HOB_NONE, root, 1);
	if (items <= 0)
		hob_leave(EMPTY, "the file says to build nothing; place an object on the plate and export it again");
}

static void read_package(hob_threemf *t)
{
	hob_str path = start_part(t);
	uint32_t part = open_part(t, path);
	if (!hob_xml_is(HOB_THREEMF_AT(t->parts, hob_threemf_part, part)->xml.root, HOB_STR("model")))
		hob_leave(CORRUPT, "the part '%.*s' is no 3MF model", HOB_FMT(path));
	for (const hob_xml_element *e = HOB_THREEMF_AT(t->parts, hob_threemf_part, part)->xml.root->first; e;
		 e = e->next) {
		hob_str name = hob_xml_attr(e, HOB_STR("name"));
		bool tool = hob_str_equal(name, HOB_STR("Application")),
			 right =
				 hob_str_equal(name, HOB_STR("Copyright")) || hob_str_equal(name, HOB_STR("LicenseTerms"));
		if (!hob_xml_is(e, HOB_STR("metadata")) || !(tool || right) || e->text.len == 0)
			continue;
		hob_str *out = tool ? &t->model->generator : &t->model->licence;
		*out = hob_text_name(t->request->result, e->text);
	}
	hob_threemf_settings(t);
	build(t, part);
	if (t->lists.meshes.size == 0)
		hob_leave(EMPTY, "no object that the file builds has a triangle");
	hob_lists_take(&t->lists, t->model);
}

static bool threemf_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	hob_threemf *t = HOB_NEW(request->scratch, hob_threemf, 1);
	t->request = request;
	t->model = out;
	if (!hob_zip_open(request->file, &t->archive))
		hob_leave(CORRUPT, "a .3mf file is a zip archive, but this file is not; copy or export it again");
	hob_name_map_init(&t->part_ids, request->scratch);
	hob_name_map_init(&t->resource_ids, request->scratch);
	hob_name_map_init(&t->pictures, request->scratch);
	hob_lists_init(&t->lists, request);
	read_package(t);
	return true;
}

static const char *const extensions[] = {"3mf", NULL};

const hob_importer hob_threemf_importer = {
	.name = "3mf",
	.version = 5,
	.extensions = extensions,
	.import = threemf_import,
	.library_version = hob_xml_version,
};
