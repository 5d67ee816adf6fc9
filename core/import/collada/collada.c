#include "collada_private.h"

#include "../importers.h"
#include "../text.h"

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
static bool open_archive(hob_collada *c, hob_bytes *document, hob_error *err)
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
			return true;
	}
	return unpack_suffix(&c->archive, scratch, HOB_STR(".dae"), document) ||
		   hob_fail(err, CORRUPT,
					"the archive holds no .dae file that can be unpacked; zip the export again");
}

/* ---- the document */

static void read_unit(hob_collada *c)
{
	double metres = hob_xml_attr_double(hob_xml_find(c->xml.root, "asset/unit"), HOB_STR("meter"), 1);
	if (!(metres > 1e-9 && metres < 1e9)) {
		hob_note_add(c->request->notes, HOB_NOTE_WARNING, "collada.unit",
					 "the file states an impossible unit of length; one unit is taken as a metre");
		metres = 1;
	}
	c->unit = (float)metres;
	c->model->unit = c->unit;
	c->model->space.material_colors = c->model->space.vertex_colors = HOB_COLORS_LINEAR;
}

static bool read_generator(hob_collada *c, hob_error *err)
{
	hob_xml_ptr tool = hob_xml_find(c->xml.root, "asset/contributor/authoring_tool");
	c->model->generator = hob_text_name(c->request->result, hob_xml_text(tool));
	return c->model->generator.data || hob_fail_memory(err, c->request->result, "a name");
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
			hob_note_add(c->request->notes, HOB_NOTE_INFO, "collada.ignored", "%s of the file are left out",
						 kinds[i].what);
	for (hob_xml_ptr l = c->xml.root->first; l; l = l->next) {
		for (hob_xml_ptr e = l->first; e && hob_xml_is(l, HOB_STR("library_visual_scenes")); e = e->next)
			scenes += hob_xml_is(e, HOB_STR("visual_scene"));
		for (hob_xml_ptr e = l->first; e && hob_xml_is(l, HOB_STR("library_geometries")); e = e->next)
			unused += hob_xml_is(e, HOB_STR("geometry")) && c->slot[e->number] == HOB_NONE;
	}
	if (scenes > 1)
		hob_note_add(c->request->notes, HOB_NOTE_WARNING, "collada.scenes",
					 "the file has %u visual scenes; the one that it shows is read", scenes);
	if (unused > 0)
		hob_note_add(c->request->notes, HOB_NOTE_INFO, "collada.unused",
					 "%u geometr%s shown nowhere and left out", unused, unused == 1 ? "y is" : "ies are");
}

static void release(hob_collada *c)
{
	hob_buf *const lists[] = {&c->elements, &c->sources,	  &c->shapes,	&c->parts,
							  &c->placed,	&c->places,		  &c->pending,	&c->effects,
							  &c->variants, &c->work_sources, &c->vertex_at};
	for (size_t i = 0; i < HOB_COUNT_OF(lists); i++)
		hob_buf_release(lists[i]);
	hob_lists_release(&c->lists);
	hob_polygon_release(&c->polygon);
	hob_arena_release(&c->work);
}

static bool read_document(hob_collada *c, hob_error *err)
{
	hob_model *m = c->model;
	if (!hob_xml_is(c->xml.root, HOB_STR("COLLADA")))
		return hob_fail(err, CORRUPT,
						"the first element is <%.*s>, not <COLLADA>; the file bears the wrong extension",
						HOB_FMT(c->xml.root->name));
	read_unit(c);
	hob_name_map_init(&c->embedded, c->request->scratch);
	if (!hob_collada_census(c, err) || !hob_collada_index(c, err) || !read_generator(c, err) ||
		!hob_collada_nodes(c, err) || !hob_collada_skins(c, err) ||
		!hob_lists_take(&c->lists, c->model, err) || !hob_collada_clips(c, err))
		return false;
	note_rest(c);
	if (m->mesh_count == 0 && m->clip_count == 0 && m->camera_count == 0 && m->light_count == 0 &&
		m->node_count < 2)
		return hob_fail(err, EMPTY, "the COLLADA file shows no mesh, animation, camera or light");
	return true;
}

static bool collada_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	hob_model model = {0};
	hob_collada *c = HOB_NEW(request->scratch, hob_collada, 1);
	hob_bytes document = request->file;
	if (!c)
		return hob_fail_memory(err, request->scratch, "the import");
	c->request = request;
	c->model = &model;
	c->zipped = hob_zip_open(request->file, &c->archive);
	if (c->zipped && !open_archive(c, &document, err))
		return false;
	if (!hob_xml_parse(request->scratch, document, NULL, &c->xml, err))
		return false;
	hob_lists_init(&c->lists, request);
	hob_arena_init(&c->work, request->scratch->limit);
	bool done = read_document(c, err);
	release(c);
	if (done)
		*out = model;
	return done;
}

static const char *const extensions[] = {"dae", "zae", NULL};

const hob_importer hob_collada_importer = {
	.name = "collada",
	.version = 7,
	.extensions = extensions,
	.import = collada_import,
	.library_version = hob_xml_version,
};
