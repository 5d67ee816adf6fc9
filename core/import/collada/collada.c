#include "collada_private.h"
#include "../text.h"
#include "../shape.h"
#include "../importers.h"

#include <stdlib.h>

static bool holds(hob_xml_ptr above, const char *name, const char *attribute, const char *value)
{
	for (hob_xml_ptr e = above->first; e; e = e->next)
		if (hob_xml_is(e, hob_str_of(name)) &&
			(!attribute || hob_str_equal(hob_xml_attr(e, hob_str_of(attribute)), hob_str_of(value))))
			return true;
	return false;
}

static void count_geometry(hob_census *seen, hob_xml_ptr geometry)
{
	hob_xml_ptr mesh = hob_xml_child(geometry, HOB_STR("mesh"));
	bool surface = false, colored = false;
	for (hob_xml_ptr e = mesh ? mesh->first : NULL; e; e = e->next)
		if (hob_collada_is_primitive(e) && hob_xml_child(e, HOB_STR("p"))) {
			surface = true;
			colored = colored || holds(e, "input", "semantic", "COLOR");
		}
	hob_census_add(seen, HOB_CENSUS_SURFACES, surface);
	hob_census_add(seen, HOB_CENSUS_COLORED, colored);
}

static hob_str id_list(hob_xml_ptr source)
{
	return hob_xml_text(hob_xml_child_of(source, HOB_WORDS("Name_array", "IDREF_array")));
}

static void count_joints(hob_collada *c, hob_xml_ptr skin, hob_name_map *names)
{
	hob_xml_ptr joints = hob_xml_child(skin, HOB_STR("joints"));
	hob_str id = {0};
	HOB_XML_EACH (e, joints, "input")
		if (hob_str_equal(hob_xml_attr(e, HOB_STR("semantic")), HOB_STR("JOINT")))
			id = hob_xml_attr(e, HOB_STR("source"));
	HOB_XML_EACH (e, skin, "source") {
		hob_str own = hob_xml_attr(e, HOB_STR("id"));
		if (id.len < 2 || !hob_str_equal(own, hob_str_sub(id, 1, id.len)))
			continue;
		hob_str text = id_list(e), word;
		while ((word = hob_text_word(&text)).len > 0) {
			uint32_t count = names->count;
			hob_name_map_add(names, word, 0);
			hob_census_add(c->request->seen, HOB_CENSUS_JOINTS, names->count - count);
		}
	}
}

/* Ids used by instances of controllers, cameras and lights, and the geometries that are morph targets. */
static void list_used(hob_collada *c, hob_name_map *used)
{
	const char *const *kinds = HOB_WORDS("instance_controller", "instance_camera", "instance_light");
	hob_name_map_init(used, c->request->scratch);
	for (hob_xml_ptr e = c->xml.root; e; e = hob_xml_after(e, c->xml.root)) {
		bool target =
			hob_xml_is(e, HOB_STR("source")) && e->parent && hob_xml_is(e->parent, HOB_STR("morph"));
		hob_str text = target ? id_list(e) : (hob_str){0}, word;
		while ((word = hob_text_word(&text)).len > 0)
			hob_name_map_add(used, word, 0);
		hob_str url = hob_text_is_one_of(e->name, kinds) ? hob_xml_attr(e, HOB_STR("url")) : (hob_str){0};
		if (url.len > 1)
			hob_name_map_add(used, hob_str_sub(url, 1, url.len), 0);
	}
}

static bool is_used(const hob_name_map *used, hob_xml_ptr what)
{
	hob_str id = hob_xml_attr(what, HOB_STR("id"));
	return id.len > 0 && hob_name_map_get(used, id) != HOB_NONE;
}

/* Counts the file's content into request->seen. */
static void collada_census(hob_collada *c)
{
	hob_census *seen = c->request->seen;
	hob_name_map names, used;
	bool moves = false;
	uint32_t clips = 0;
	if (!seen)
		return;
	hob_name_map_init(&names, c->request->scratch);
	list_used(c, &used);
	for (hob_xml_ptr e = c->xml.root; e; e = hob_xml_after(e, c->xml.root)) {
		hob_xml_ptr above = e->parent;
		if (hob_xml_is(e, HOB_STR("geometry")) && !is_used(&used, e))
			count_geometry(seen, e);
		else if (hob_xml_is(e, HOB_STR("skin")) && above && hob_xml_is(above, HOB_STR("controller")) &&
				 is_used(&used, above))
			count_joints(c, e, &names);
		else if (hob_xml_is(e, HOB_STR("channel")))
			moves = true;
		else if (hob_xml_is(e, HOB_STR("animation_clip")))
			clips++;
		else if (hob_xml_is(e, HOB_STR("camera")) && is_used(&used, e))
			hob_census_add(seen, HOB_CENSUS_CAMERAS, 1);
		else if (hob_xml_is(e, HOB_STR("light")) && is_used(&used, e))
			hob_census_add(seen, HOB_CENSUS_LIGHTS, 1);
	}
	hob_census_add(seen, HOB_CENSUS_CLIPS, moves ? clips > 0 ? clips : 1 : 0);
}

/* ---- ids */

enum { TWINS_MAX = 64 }; /* maximum elements with the same id to examine in a scope */

static int compare_ids(const void *a, const void *b)
{
	const hob_collada_id *x = a, *y = b;
	uint32_t m = x->id != y->id ? x->id : x->element->number, n = x->id != y->id ? y->id : y->element->number;
	return m < n ? -1 : m > n;
}

/* Indexes all ids. */
static void collada_index(hob_collada *c)
{
	hob_arena *scratch = c->request->scratch;
	hob_xml_ptr first = NULL;
	uint32_t twins = 0;
	c->slot = HOB_NEW(scratch, uint32_t, c->xml.element_count);
	memset(c->slot, 0xFF, c->xml.element_count * sizeof *c->slot);
	hob_name_map_init(&c->ids, scratch);
	for (hob_xml_ptr e = c->xml.root; e; e = hob_xml_after(e, c->xml.root)) {
		hob_str id = hob_xml_attr(e, HOB_STR("id"));
		c->has_controllers = c->has_controllers || hob_xml_is(e, HOB_STR("controller"));
		if (id.len > 0) {
			hob_collada_id known = {.element = e};
			uint32_t count = HOB_LISTS_COUNT(c->elements, hob_collada_id);
			known.id = hob_name_map_add(&c->ids, id, count);
			if (known.id != count && ++twins == 1)
				first = e;
			hob_buf_put(&c->elements, &known, sizeof known);
		}
	}
	if (twins > 0) {
		qsort(c->elements.data, c->elements.size / sizeof(hob_collada_id), sizeof(hob_collada_id),
			  compare_ids);
		hob_warn(c->request->notes, "collada.same-id",
				 "line %u: '%.*s' is not the first element with this id%s; a reference takes the nearest "
				 "element of its kind",
				 first->line, HOB_FMT(hob_xml_attr(first, HOB_STR("id"))),
				 twins > 1 ? ", nor are others of the file" : "");
	}
}

/* The first entry of an id at or after an element. */
static uint32_t find_entry(const hob_collada *c, uint32_t id, uint32_t number)
{
	uint32_t low = 0, high = HOB_LISTS_COUNT(c->elements, hob_collada_id);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const hob_collada_id *e = HOB_LISTS_AT(c->elements, hob_collada_id, middle);
		if (e->id < id || (e->id == id && e->element->number < number))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

hob_xml_ptr hob_collada_by_id(const hob_collada *c, hob_xml_ptr from, const char *kind, hob_str name)
{
	uint32_t id = hob_name_map_get(&c->ids, name), count = HOB_LISTS_COUNT(c->elements, hob_collada_id);
	if (id == HOB_NONE)
		return NULL;
	const hob_collada_id *all = HOB_LISTS_AT(c->elements, hob_collada_id, 0);
	uint32_t first = find_entry(c, id, 0);
	if (first + 1 == count || all[first + 1].id != id)
		return all[first].element;
	for (hob_xml_ptr scope = from; scope; scope = scope->parent) {
		uint32_t i = find_entry(c, id, scope->number), most = count - i < TWINS_MAX ? count : i + TWINS_MAX;
		hob_xml_ptr end = scope;
		while (end && !end->next)
			end = end->parent;
		for (; i < most && all[i].id == id && (!end || all[i].element->number < end->next->number); i++)
			if (hob_xml_is(all[i].element, hob_str_of(kind)))
				return all[i].element;
	}
	return all[first].element;
}

hob_xml_ptr hob_collada_next(const hob_collada *c, hob_str library, hob_str element, hob_xml_ptr after)
{
	hob_xml_ptr list = after ? after->parent : hob_xml_child(c->xml.root, library);
	hob_xml_ptr e = after ? hob_xml_next(after, element) : hob_xml_child(list, element);
	while (!e && list && (list = hob_xml_next(list, library)) != NULL)
		e = hob_xml_child(list, element);
	return e;
}

hob_xml_ptr hob_collada_target(hob_collada *c, hob_xml_ptr from, const char *kind, const char *attribute)
{
	hob_str url = attribute ? hob_text_trim(hob_xml_attr(from, hob_str_of(attribute))) : hob_xml_text(from);
	if (url.len == 0)
		return NULL;
	if (url.data[0] != '#') {
		/* Some exporters omit the #. */
		hob_xml_ptr found = hob_collada_by_id(c, from, kind, url);
		if (!found)
			hob_warn(c->request->notes, "collada.other-file",
					 "'%.*s' lies in another file, which is not read; export one file", HOB_FMT(url));
		return found;
	}
	hob_str id = hob_str_sub(url, 1, url.len), decoded;
	hob_xml_ptr found = hob_collada_by_id(c, from, kind, id);
	if (!found && hob_uri_decode(c->request->scratch, id, &decoded, NULL))
		found = hob_collada_by_id(c, from, kind, decoded);
	if (!found)
		hob_warn(c->request->notes, "collada.missing-id",
				 "nothing bears the id '%.*s' that the file refers to", HOB_FMT(id));
	return found;
}

hob_xml_ptr hob_collada_by_sid(hob_xml_ptr root, hob_str sid)
{
	hob_xml_ptr best = NULL;
	uint32_t best_depth = HOB_NONE, depth = 0;
	for (hob_xml_ptr e = root; e;) {
		if (depth < best_depth && hob_str_equal(hob_xml_attr(e, HOB_STR("sid")), sid)) {
			best = e;
			best_depth = depth;
		}
		if (e->first && depth + 1 < best_depth) {
			e = e->first;
			depth++;
			continue;
		}
		while (e != root && !e->next) {
			e = e->parent;
			depth--;
		}
		e = e == root ? NULL : e->next;
	}
	return best;
}

hob_str hob_collada_name(hob_collada *c, hob_xml_ptr element)
{
	hob_str name = hob_xml_attr(element, HOB_STR("name"));
	if (name.len == 0)
		name = hob_xml_attr(element, HOB_STR("id"));
	if (name.len == 0)
		name = hob_xml_attr(element, HOB_STR("sid"));
	return hob_text_name(c->request->result, name);
}

hob_xml_ptr hob_collada_extra(hob_xml_ptr element, hob_str name)
{
	HOB_XML_EACH (extra, element, "extra")
		HOB_XML_EACH (t, extra, "technique") {
			hob_xml_ptr found = hob_xml_child(t, name);
			if (found)
				return found;
		}
	return NULL;
}

/* ---- sources */

/* The array of a source: its own <float_array> or <int_array>, else that of the source its accessor names. */
static hob_xml_ptr array_of(const hob_collada *c, hob_xml_ptr source)
{
	const char *const *kinds = HOB_WORDS("float_array", "int_array");
	hob_xml_ptr array = hob_xml_child_of(source, kinds);
	if (array)
		return array;
	hob_xml_ptr accessor = hob_xml_find(source, "technique_common/accessor");
	hob_str url = accessor ? hob_text_trim(hob_xml_attr(accessor, HOB_STR("source"))) : (hob_str){0};
	hob_xml_ptr other =
		url.len > 1 ? hob_collada_by_id(c, accessor, "float_array", hob_str_sub(url, 1, url.len)) : NULL;
	return other && hob_text_is_one_of(other->name, kinds) ? other : NULL;
}

static void read_accessor(hob_collada_source *s, hob_xml_ptr accessor)
{
	uint32_t named = 0, all = 0;
	uint32_t places[16];
	for (hob_xml_ptr p = hob_xml_child(accessor, HOB_STR("param")); p && all < 16;
		 p = hob_xml_next(p, HOB_STR("param")), all++)
		if (hob_xml_attr(p, HOB_STR("name")).len > 0)
			places[named++] = all;
	uint32_t stride = hob_xml_attr_u32(accessor, HOB_STR("stride"), all > 0 ? all : 1);
	s->stride = stride > 0 ? stride : 1;
	s->offset = hob_xml_attr_u32(accessor, HOB_STR("offset"), 0);
	/* Without a named parameter, all parameters apply. */
	s->width = named > 0 ? named : s->stride < 16 ? s->stride : 16;
	bool is_matrix = s->stride == 16 && named <= 1;
	if (is_matrix)
		s->width = 16;
	for (uint32_t i = 0; i < s->width; i++)
		s->component[i] = named > 0 && !is_matrix ? places[i] : i;
	uint64_t room = s->value_count > s->offset ? s->value_count - s->offset : 0;
	uint64_t fits = (room + s->stride - 1) / s->stride;
	uint32_t count = hob_xml_attr_u32(accessor, HOB_STR("count"), HOB_NONE);
	s->count = count < fits ? count : (uint32_t)fits;
}

/* Number of values that a source declares: the larger of its array's count and accessor's extent; 0: none. */
static uint64_t promised(uint32_t count, hob_xml_ptr accessor)
{
	if (!accessor)
		return count;
	uint64_t needs = (uint64_t)hob_xml_attr_u32(accessor, HOB_STR("count"), 0) *
						 hob_xml_attr_u32(accessor, HOB_STR("stride"), 1) +
					 hob_xml_attr_u32(accessor, HOB_STR("offset"), 0);
	return needs > count ? needs : count;
}

void hob_collada_pass(hob_collada *c)
{
	c->passing = true;
}

void hob_collada_passed(hob_collada *c)
{
	uint32_t count = HOB_LISTS_COUNT(c->work_sources, uint32_t);
	for (uint32_t i = 0; i < count; i++)
		HOB_LISTS_AT(c->sources, hob_collada_source, *HOB_LISTS_AT(c->work_sources, uint32_t, i))->values =
			NULL;
	hob_buf_clear(&c->work_sources);
	hob_arena_release(&c->work);
	c->passing = false;
}

static size_t read_values(hob_arena *arena, hob_xml_ptr array, hob_xml_ptr accessor, hob_collada_source *s)
{
	/* Each number takes at least a digit and a blank. */
	size_t room = array->text.len / 2 + 1;
	uint32_t count = hob_xml_attr_u32(array, HOB_STR("count"), 0);
	uint64_t needs = promised(count, accessor);
	if (count > 0 && needs < room)
		room = needs;
	if (room > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "a source of %zu numbers, at most %llu are allowed", room, HOB_LIMIT_INDICES);
	float *values = HOB_NEW(arena, float, room);
	s->value_count = hob_xml_floats(array->text, values, (uint32_t)room);
	s->values = values;
	return hob_shape_fix_floats(values, s->value_count, 0);
}

static void note_source(hob_collada *c, hob_xml_ptr source, hob_xml_ptr array, uint32_t held, size_t bad)
{
	uint32_t count = hob_xml_attr_u32(array, HOB_STR("count"), 0);
	if (count > 0 && held != count)
		hob_warn(c->request->notes, "collada.short-source",
				 "line %u: the source '%.*s' promises %u numbers and holds %u", array->line,
				 HOB_FMT(hob_xml_attr(source, HOB_STR("id"))), count, held);
	if (bad > 0)
		hob_warn(c->request->notes, "collada.bad-number",
				 "line %u: %zu numbers of the source '%.*s' are infinite or no numbers; they are read as 0",
				 array->line, bad, HOB_FMT(hob_xml_attr(source, HOB_STR("id"))));
}

const hob_collada_source *hob_collada_floats(hob_collada *c, hob_xml_ptr source)
{
	hob_xml_ptr array = source ? array_of(c, source) : NULL;
	if (!array)
		return NULL;
	uint32_t *slot = &c->slot[source->number];
	bool known = *slot != HOB_NONE;
	hob_collada_source s =
		known ? *HOB_LISTS_AT(c->sources, hob_collada_source, *slot) : (hob_collada_source){0};
	if (!s.values) {
		hob_xml_ptr accessor = hob_xml_find(source, "technique_common/accessor");
		bool passes = c->passing && !known;
		size_t bad = read_values(passes ? &c->work : c->request->scratch, array, accessor, &s);
		if (known) {
			HOB_LISTS_AT(c->sources, hob_collada_source, *slot)->values = s.values;
		} else {
			note_source(c, source, array, s.value_count, bad);
			if (accessor) {
				read_accessor(&s, accessor);
			} else {
				s.stride = s.width = 1, s.count = s.value_count;
				hob_warn(c->request->notes, "collada.no-accessor",
						 "line %u: the source '%.*s' has no <accessor>; its numbers are read one by one",
						 source->line, HOB_FMT(hob_xml_attr(source, HOB_STR("id"))));
			}
			*slot = HOB_LISTS_COUNT(c->sources, hob_collada_source);
			hob_buf_put(&c->sources, &s, sizeof s);
		}
		if (passes)
			hob_buf_put(&c->work_sources, slot, sizeof *slot);
	}
	return HOB_LISTS_AT(c->sources, hob_collada_source, *slot);
}

hob_str hob_collada_names(hob_xml_ptr source, bool *are_ids)
{
	for (hob_xml_ptr e = source ? source->first : NULL; e; e = e->next) {
		bool ids = hob_xml_is(e, HOB_STR("IDREF_array"));
		if (are_ids)
			*are_ids = ids;
		if (ids || hob_xml_is(e, HOB_STR("Name_array")) || hob_xml_is(e, HOB_STR("SIDREF_array")))
			return e->text;
	}
	return (hob_str){0};
}

void hob_collada_item(const hob_collada_source *source, uint32_t index, float *out, uint32_t width)
{
	if (index >= source->count)
		return;
	size_t at = source->offset + (size_t)index * source->stride;
	for (uint32_t i = 0; i < width && i < source->width; i++)
		if (at + source->component[i] < source->value_count)
			out[i] = source->values[at + source->component[i]];
}

enum { MEMBER_MAX = 1 << 30 };

/* ---- the archive */

static bool unpack_suffix(const hob_zip *zip, hob_arena *arena, hob_str suffix, hob_bytes *out)
{
	hob_zip_member member;
	return hob_zip_find_suffix(zip, suffix, &member) && hob_zip_unpack(arena, &member, MEMBER_MAX, out);
}

bool hob_collada_member(hob_collada *c, hob_str name, hob_bytes *out)
{
	return c->zipped && unpack_suffix(&c->archive, c->request->result, name, out);
}

/* The document named by manifest.xml, else the first .dae. */
static void open_archive(hob_collada *c, hob_bytes *document)
{
	hob_arena *scratch = c->request->scratch;
	hob_bytes manifest;
	hob_xml xml;
	hob_error unheard = {0};
	if (unpack_suffix(&c->archive, scratch, HOB_STR("manifest.xml"), &manifest) &&
		hob_xml_parse(scratch, manifest, NULL, &xml, &unheard)) {
		hob_xml_ptr inner = hob_xml_child(xml.root, HOB_STR("dae_root"));
		hob_str root = hob_text_last_part(hob_xml_text(inner ? inner : xml.root));
		root = hob_str_sub(root, 0, hob_str_find(root, HOB_STR("#"), 0));
		if (root.len > 0 && unpack_suffix(&c->archive, scratch, root, document))
			return;
	}
	if (!unpack_suffix(&c->archive, scratch, HOB_STR(".dae"), document))
		hob_leave(CORRUPT, "the archive holds no .dae file that can be unpacked; zip the export again");
}

/* ---- the document */

static void read_unit(hob_collada *c)
{
	double metres = hob_xml_attr_double(hob_xml_find(c->xml.root, "asset/unit"), HOB_STR("meter"), 1);
	if (!(metres > 1e-9 && metres < 1e9)) {
		hob_warn(c->request->notes, "collada.unit",
				 "the file states an impossible unit of length; one unit is taken as a metre");
		metres = 1;
	}
	c->unit = (float)metres;
	c->model->unit = c->unit;
	c->model->space.material_colors = c->model->space.vertex_colors = HOB_COLORS_LINEAR;
}

static void read_generator(hob_collada *c)
{
	hob_xml_ptr tool = hob_xml_find(c->xml.root, "asset/contributor/authoring_tool");
	c->model->generator = hob_text_name(c->request->result, hob_xml_text(tool));
	hob_xml_ptr rights = hob_xml_find(c->xml.root, "asset/contributor/copyright");
	c->model->licence = hob_text_name(c->request->result, hob_xml_text(rights));
}

/* Notes unsupported elements, and the number of scenes and geometries that are not shown. */
static void note_rest(hob_collada *c)
{
	static const struct {
		const char *library, *element, *what;
	} kinds[] = {
		{"library_physics_scenes", "physics_scene", "physics"},
		{"library_kinematics_scenes", "kinematics_scene", "kinematics"},
		{"library_articulated_systems", "articulated_system", "articulated systems"},
		{"library_force_fields", "force_field", "force fields"},
	};
	uint32_t scenes = 0, unused = 0;
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (hob_xml_child(hob_xml_child(c->xml.root, hob_str_of(kinds[i].library)),
						  hob_str_of(kinds[i].element)))
			hob_info(c->request->notes, "collada.ignored", "%s of the file are left out", kinds[i].what);
	HOB_COLLADA_EACH (e, c, "library_visual_scenes", "visual_scene")
		scenes++;
	HOB_COLLADA_EACH (e, c, "library_geometries", "geometry")
		unused += c->slot[e->number] == HOB_NONE;
	if (scenes > 1)
		hob_warn(c->request->notes, "collada.scenes",
				 "the file has %u visual scenes; the one that it shows is read", scenes);
	if (unused > 0)
		hob_info(c->request->notes, "collada.unused", "%u geometr%s shown nowhere and left out", unused,
				 unused == 1 ? "y is" : "ies are");
}

static void read_document(hob_collada *c)
{
	hob_model *m = c->model;
	if (!hob_xml_is(c->xml.root, HOB_STR("COLLADA")))
		hob_leave(CORRUPT, "the first element is <%.*s>, not <COLLADA>; the file bears the wrong extension",
				  HOB_FMT(c->xml.root->name));
	read_unit(c);
	hob_name_map_init(&c->embedded, c->request->scratch);
	collada_census(c);
	collada_index(c);
	read_generator(c);
	hob_collada_nodes(c);
	hob_collada_skins(c);
	HOB_COLLADA_EACH (i, c, "library_images", "image")
		if (c->slot[i->number] == HOB_NONE)
			hob_image_set_unused(&c->lists.images, hob_collada_image_file(i));
	hob_lists_take(&c->lists, c->model);
	hob_collada_clips(c);
	note_rest(c);
	if (m->mesh_count == 0 && m->clip_count == 0 && m->camera_count == 0 && m->light_count == 0 &&
		m->node_count < 2)
		hob_leave(EMPTY, "the COLLADA file shows no mesh, animation, camera or light");
}

static bool collada_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	hob_collada *c = HOB_NEW(request->scratch, hob_collada, 1);
	hob_bytes document = request->file;
	c->request = request;
	c->model = out;
	c->zipped = hob_zip_open(request->file, &c->archive);
	if (c->zipped)
		open_archive(c, &document);
	hob_xml_read(request->scratch, document, NULL, &c->xml);
	hob_lists_init(&c->lists, request);
	hob_arena_init(&c->work, request->scratch->limit);
	read_document(c);
	return true;
}

static const char *const extensions[] = {"dae", "zae", NULL};

const hob_importer hob_collada_importer = {
	.name = "collada",
	.version = 7,
	.extensions = extensions,
	.import = collada_import,
	.library_version = hob_xml_version,
};
