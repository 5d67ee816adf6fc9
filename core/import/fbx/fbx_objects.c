#include "fbx_private.h"

#include "../../base/text_order.h"

#include <stdlib.h>

static const struct {
	const char *record;
	hob_fbx_class class;
} classes[] = {
#define CLASS(class, record) {record, HOB_FBX_##class},
	HOB_FBX_CLASSES(CLASS)
#undef CLASS
};

static hob_fbx_class class_of(hob_str record)
{
	for (size_t i = 0; i < HOB_COUNT_OF(classes); i++)
		if (hob_str_equal(hob_str_of(classes[i].record), record))
			return classes[i].class;
	return HOB_FBX_OTHER;
}

uint32_t hob_fbx_add_object(hob_fbx *f, const hob_fbx_object *object)
{
	uint32_t id = (uint32_t)(f->object_buf.size / sizeof *object);
	hob_fbx_object added = *object;
	added.index = HOB_NONE;
	if (id >= HOB_LIMIT_FBX_OBJECTS)
		hob_leave(LIMIT, "more than %llu objects", (unsigned long long)HOB_LIMIT_FBX_OBJECTS);
	hob_buf_put(&f->object_buf, &added, sizeof added);
	f->objects = (hob_fbx_object *)(void *)f->object_buf.data;
	f->object_count = id + 1;
	return id;
}

void hob_fbx_add_edge(hob_fbx *f, uint32_t child, uint32_t parent, hob_str property)
{
	hob_fbx_edge edge = {child, parent, property};
	if (f->edge_buf.size / sizeof edge >= HOB_LIMIT_FBX_OBJECTS * 4)
		hob_leave(LIMIT, "more than %llu connections", (unsigned long long)HOB_LIMIT_FBX_OBJECTS * 4);
	hob_buf_put(&f->edge_buf, &edge, sizeof edge);
}

void hob_fbx_split_name(const hob_fbx *f, hob_str raw, hob_str *class_name, hob_str *name)
{
	size_t at = hob_str_find(raw, f->ascii ? HOB_STR("::") : (hob_str){"\0\1", 2}, 0);
	*class_name = (hob_str){0};
	*name = raw;
	if (at == SIZE_MAX)
		return;
	hob_str first = hob_str_sub(raw, 0, at), second = hob_str_sub(raw, at + 2, raw.len);
	*class_name = f->ascii ? first : second;
	*name = f->ascii ? second : first;
}

/* ---- templates */

typedef struct template_entry {
	hob_str class_name, name;
	uint32_t props;
} template_entry;

typedef struct template_list {
	template_entry *items;
	uint32_t count;
} template_list;

enum { TEMPLATES = 256 };

static template_list read_templates(hob_fbx *f)
{
	template_list list = {HOB_NEW(f->scratch, template_entry, TEMPLATES), 0};
	uint32_t definitions = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("Definitions"));
	HOB_FBX_EACH_CHILD (type, f, definitions, "ObjectType") {
		hob_str class_name = hob_fbx_value_at(f, type, 0).text;
		HOB_FBX_EACH_CHILD (found, f, type, "PropertyTemplate") {
			uint32_t props = hob_fbx_child(f, found, HOB_STR("Properties70"));
			if (props != HOB_NONE && list.count < TEMPLATES)
				list.items[list.count++] =
					(template_entry){class_name, hob_fbx_value_at(f, found, 0).text, props};
		}
	}
	return list;
}

/* A class may have several templates ("FbxCamera", "FbxLight"): picks the one whose name contains the
 * object's kind. The camera template does not apply to lights. */
static uint32_t template_of(const template_list *list, hob_str class_name, hob_str kind)
{
	uint32_t first = HOB_NONE;
	for (uint32_t i = 0; i < list->count; i++) {
		const template_entry *entry = &list->items[i];
		if (!hob_str_equal(entry->class_name, class_name))
			continue;
		if (kind.len > 0 && hob_str_ends_nocase(entry->name, kind))
			return entry->props;
		if (first == HOB_NONE)
			first = entry->props;
	}
	return kind.len > 0 && hob_str_equal(class_name, HOB_STR("NodeAttribute")) ? HOB_NONE : first;
}

static hob_str template_kind(const hob_fbx *f, hob_fbx_class class, hob_str subclass, uint32_t record)
{
	if (class == HOB_FBX_MATERIAL)
		return hob_fbx_child_text(f, record, HOB_STR("ShadingModel"));
	if (hob_str_equal(subclass, HOB_STR("LimbNode")) || hob_str_equal(subclass, HOB_STR("Limb")))
		return HOB_STR("Skeleton");
	return subclass;
}

/* ---- objects */

static uint32_t properties_of(const hob_fbx *f, uint32_t record)
{
	uint32_t props = hob_fbx_child(f, record, HOB_STR("Properties70"));
	return props != HOB_NONE ? props : hob_fbx_child(f, record, HOB_STR("Properties60"));
}

/* In 6.x the model record contains geometry, light, camera and limb data. */
static void add_inline_parts(hob_fbx *f, uint32_t model)
{
	hob_fbx_object part = f->objects[model];
	bool mesh = hob_fbx_child(f, part.record, HOB_STR("Vertices")) != HOB_NONE;
	bool other = hob_str_equal(part.subclass, HOB_STR("NurbsSurface")) ||
				 hob_str_equal(part.subclass, HOB_STR("NurbsCurve")) ||
				 hob_str_equal(part.subclass, HOB_STR("Nurb")) ||
				 hob_str_equal(part.subclass, HOB_STR("Line")) ||
				 hob_fbx_child(f, part.record, HOB_STR("Points")) != HOB_NONE;
	part.class = mesh || other ? HOB_FBX_GEOMETRY : HOB_FBX_ATTRIBUTE;
	if (mesh)
		part.subclass = HOB_STR("Mesh");
	hob_fbx_add_edge(f, hob_fbx_add_object(f, &part), model, (hob_str){0});
}

static void add_record_object(hob_fbx *f, const template_list *templates, uint32_t record, bool named)
{
	hob_str record_name = hob_fbx_record_name(f, record), class_name;
	hob_fbx_value first = hob_fbx_value_at(f, record, 0);
	hob_fbx_object object = {.class = class_of(record_name), .record = record};
	if (hob_str_equal(record_name, HOB_STR("GlobalSettings"))) {
		object.props = properties_of(f, record);
		object.template_props = template_of(templates, record_name, (hob_str){0});
		f->settings = hob_fbx_add_object(f, &object);
		return;
	}
	if (first.type == HOB_FBX_NOTHING ||
		(!named && first.type != HOB_FBX_INTEGER && first.type != HOB_FBX_REAL))
		return;
	object.id = named ? (int64_t)f->object_count : first.integer;
	hob_str raw = named ? first.text : hob_fbx_value_at(f, record, 1).text;
	hob_fbx_split_name(f, raw, &class_name, &object.name);
	object.subclass = hob_fbx_value_at(f, record, named ? 1 : 2).text;
	if (object.subclass.len > 3 && hob_str_starts(object.subclass, HOB_STR("Fbx")))
		object.subclass =
			hob_str_sub(object.subclass, 3, object.subclass.len); /* some exporters write "FbxMesh" */
	object.props = properties_of(f, record);
	object.template_props =
		template_of(templates, record_name, template_kind(f, object.class, object.subclass, record));
	uint32_t id = hob_fbx_add_object(f, &object);
	if (!named)
		return;
	hob_name_map_add(&f->by_key, hob_fbx_plain(f, raw), id);
	if (object.class == HOB_FBX_MODEL)
		add_inline_parts(f, id);
}

/* ---- edges of 7.x */

typedef struct id_entry {
	int64_t id;
	uint32_t object;
} id_entry;

static int compare_ids(const void *a, const void *b)
{
	const id_entry *x = a, *y = b;
	return x->id != y->id ? (x->id > y->id) - (x->id < y->id)
						  : (x->object > y->object) - (x->object < y->object);
}

/* The first object with that id. */
static uint32_t find_id(const id_entry *ids, uint32_t count, int64_t id)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (ids[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && ids[low].id == id ? ids[low].object : HOB_NONE;
}

static uint32_t object_of(const hob_fbx *f, const id_entry *ids, const hob_fbx_value *value)
{
	if (value->type == HOB_FBX_TEXT)
		return hob_name_map_get(&f->by_key, hob_fbx_plain(f, value->text));
	return find_id(ids, f->object_count, value->integer);
}

/* The parent that an edge of a 6.x file means: deformers and shapes are connected to the model there, and
 * belong to the geometry that its record contains. */
static uint32_t meant(const hob_fbx *f, uint32_t child, uint32_t parent)
{
	bool for_mesh =
		f->objects[child].class == HOB_FBX_DEFORMER || f->objects[child].class == HOB_FBX_GEOMETRY;
	if (f->objects[parent].class != HOB_FBX_MODEL || !for_mesh || parent + 1 >= f->object_count)
		return parent;
	const hob_fbx_object *part = &f->objects[parent + 1];
	return part->class == HOB_FBX_GEOMETRY && part->record == f->objects[parent].record ? parent + 1 : parent;
}

static void read_edge(hob_fbx *f, const id_entry *ids, uint32_t record)
{
	hob_fbx_cursor cursor = hob_fbx_values(f, record);
	hob_fbx_value type, child, parent, property;
	if (!hob_fbx_next(f, &cursor, &type) || !hob_fbx_next(f, &cursor, &child))
		return;
	if (type.text.len > 0 && type.text.data[0] == 'P' && !hob_fbx_next(f, &cursor, &property))
		return;
	if (!hob_fbx_next(f, &cursor, &parent))
		return;
	if (!hob_fbx_next(f, &cursor, &property))
		property.text = (hob_str){0};
	uint32_t from = object_of(f, ids, &child), to = object_of(f, ids, &parent);
	if (from == HOB_NONE || to == HOB_NONE || from == to)
		return;
	hob_fbx_add_edge(f, from, meant(f, from, to), property.text);
}

static void read_edges(hob_fbx *f)
{
	id_entry *ids = HOB_NEW(f->scratch, id_entry, f->object_count);
	for (uint32_t i = 0; i < f->object_count; i++)
		ids[i] = (id_entry){f->objects[i].id, i};
	if (f->object_count > 1)
		qsort(ids, f->object_count, sizeof *ids, compare_ids);
	uint32_t list = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("Connections"));
	uint32_t record = list == HOB_NONE ? HOB_NONE : f->records[list].child;
	for (; record != HOB_NONE; record = f->records[record].next)
		read_edge(f, ids, record);
}

/* ---- sorting */

typedef struct sortable {
	hob_fbx_edge edge;
	uint32_t order;
} sortable;

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int by_ends(const void *a, const void *b)
{
	const sortable *x = a, *y = b;
	int order = compare_numbers(x->edge.parent, y->edge.parent);
	order = order != 0 ? order : compare_numbers(x->edge.child, y->edge.child);
	order = order != 0 ? order : hob_str_compare(x->edge.property, y->edge.property);
	return order != 0 ? order : compare_numbers(x->order, y->order);
}

static int by_parent(const void *a, const void *b)
{
	const sortable *x = a, *y = b;
	int order = compare_numbers(x->edge.parent, y->edge.parent);
	return order != 0 ? order : compare_numbers(x->order, y->order);
}

static int by_child(const void *a, const void *b)
{
	const sortable *x = a, *y = b;
	int order = compare_numbers(x->edge.child, y->edge.child);
	return order != 0 ? order : compare_numbers(x->order, y->order);
}

static void sort_edges(hob_fbx *f)
{
	uint32_t count = (uint32_t)(f->edge_buf.size / sizeof(hob_fbx_edge)), kept = 0;
	const hob_fbx_edge *all = (const hob_fbx_edge *)(const void *)f->edge_buf.data;
	f->edges = HOB_NEW(f->scratch, hob_fbx_edge, count);
	f->edges_up = HOB_NEW(f->scratch, hob_fbx_edge, count);
	hob_arena_mark mark = hob_arena_save(f->scratch);
	sortable *sorted = HOB_NEW(f->scratch, sortable, count);
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (sortable){all[i], i};
	if (count > 1)
		qsort(sorted, count, sizeof *sorted, by_ends);
	for (uint32_t i = 0; i < count; i++) {
		bool again = kept > 0 && sorted[kept - 1].edge.parent == sorted[i].edge.parent &&
					 sorted[kept - 1].edge.child == sorted[i].edge.child &&
					 hob_str_equal(sorted[kept - 1].edge.property, sorted[i].edge.property);
		if (!again)
			sorted[kept++] = sorted[i];
	}
	if (kept > 1)
		qsort(sorted, kept, sizeof *sorted, by_parent);
	for (uint32_t i = 0; i < kept; i++) {
		hob_fbx_object *parent = &f->objects[sorted[i].edge.parent];
		f->edges[i] = sorted[i].edge;
		if (parent->below_count++ == 0)
			parent->below_first = i;
	}
	if (kept > 1)
		qsort(sorted, kept, sizeof *sorted, by_child);
	for (uint32_t i = 0; i < kept; i++) {
		hob_fbx_object *child = &f->objects[sorted[i].edge.child];
		f->edges_up[i] = sorted[i].edge;
		if (child->above_count++ == 0)
			child->above_first = i;
	}
	f->edge_count = kept;
	hob_arena_restore(f->scratch, mark);
}

/* ---- all */

static void read_application(hob_fbx *f)
{
	uint32_t header = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("FBXHeaderExtension"));
	hob_str creator = hob_fbx_child_text(f, HOB_FBX_ROOT, HOB_STR("Creator"));
	if (creator.len == 0)
		creator = hob_fbx_child_text(f, header, HOB_STR("Creator"));
	f->application = creator;
	hob_str blender = HOB_STR("Blender (stable FBX IO) - ");
	f->is_blender = hob_str_starts(creator, HOB_STR("Blender")) ||
					hob_str_starts(creator, HOB_STR("FBX SDK/FBX Plugins build 20070228"));
	/* "Blender (stable FBX IO) - 2.83.4 - 4.21.3": the last is the plug-in's version. */
	if (!hob_str_starts(creator, blender))
		return;
	size_t at = hob_str_find(creator, HOB_STR(" - "), blender.len);
	unsigned numbers[2] = {0, 0}, n = 0;
	for (size_t i = at == SIZE_MAX ? creator.len : at + 3; i < creator.len && n < 2; i++) {
		if (creator.data[i] == '.')
			n++;
		else if (creator.data[i] >= '0' && creator.data[i] <= '9' && numbers[n] < 1000)
			numbers[n] = numbers[n] * 10 + (unsigned)(creator.data[i] - '0');
	}
	f->is_blender_new = numbers[0] > 4 || (numbers[0] == 4 && numbers[1] >= 12);
}

static bool uses_names(const hob_fbx *f, uint32_t objects)
{
	uint32_t record = f->records[objects].child;
	for (; record != HOB_NONE; record = f->records[record].next)
		if (class_of(hob_fbx_record_name(f, record)) != HOB_FBX_OTHER)
			return hob_fbx_value_at(f, record, 0).type == HOB_FBX_TEXT;
	return f->version > 0 && f->version < 7000;
}

void hob_fbx_read_objects(hob_fbx *f)
{
	f->settings = f->takes = HOB_NONE;
	hob_name_map_init(&f->by_key, f->scratch);
	read_application(f);
	f->takes = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("Takes"));
	uint32_t objects = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("Objects"));
	if (objects == HOB_NONE || (f->version > 0 && f->version < 6000)) {
		hob_fbx_read_legacy_objects(f);
		sort_edges(f);
		return;
	}
	template_list templates = read_templates(f);
	uint32_t document =
		hob_fbx_child(f, hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("Documents")), HOB_STR("Document"));
	f->root_id = hob_fbx_child_integer(f, document, HOB_STR("RootNode"), 0);
	uint32_t settings = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("GlobalSettings"));
	if (settings != HOB_NONE)
		add_record_object(f, &templates, settings, false);
	bool named = uses_names(f, objects);
	for (uint32_t list = objects; list != HOB_NONE; list = hob_fbx_sibling(f, list, HOB_STR("Objects")))
		for (uint32_t record = f->records[list].child; record != HOB_NONE; record = f->records[record].next)
			add_record_object(f, &templates, record, named);
	read_edges(f);
	sort_edges(f);
}

bool hob_fbx_is(const hob_fbx *f, uint32_t object, hob_fbx_class class, hob_str subclass)
{
	const hob_fbx_object *o = &f->objects[object];
	return o->class == class && (subclass.len == 0 || hob_str_equal(o->subclass, subclass));
}

const hob_fbx_edge *hob_fbx_next_edge(const hob_fbx *f, uint32_t object, bool above, hob_fbx_class class,
									  hob_str subclass, const hob_fbx_edge *after)
{
	const hob_fbx_object *o = &f->objects[object];
	const hob_fbx_edge *first = above ? f->edges_up + o->above_first : f->edges + o->below_first;
	const hob_fbx_edge *end = first + (above ? o->above_count : o->below_count);
	for (const hob_fbx_edge *edge = after ? after + 1 : first; edge < end; edge++)
		if (class == HOB_FBX_OTHER || hob_fbx_is(f, above ? edge->parent : edge->child, class, subclass))
			return edge;
	return NULL;
}

uint32_t hob_fbx_below(const hob_fbx *f, uint32_t object, hob_fbx_class class, hob_str subclass)
{
	const hob_fbx_edge *edge = hob_fbx_next_edge(f, object, false, class, subclass, NULL);
	return edge ? edge->child : HOB_NONE;
}
