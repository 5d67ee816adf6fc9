#include "x3d_private.h"

#include "../importers.h"
#include "../../model/model_scale.h"
#include "../zip.h"

enum { TEXT_MAX = 1 << 30 };

/* ---- DEF and USE */

typedef struct definitions {
	hob_x3d *x;
	hob_name_map names; /* -> index in `elements` */
	hob_buf elements;	/* hob_x3d_ptr: current owner of the name */
	uint32_t missing;
} definitions;

static void define(definitions *d, hob_x3d_ptr e, hob_str name)
{
	uint32_t index = HOB_LISTS_COUNT(d->elements, hob_x3d_ptr);
	uint32_t known = hob_name_map_add(&d->names, name, index);
	if (known != index)
		*HOB_LISTS_AT(d->elements, hob_x3d_ptr, known) = e;
	else
		hob_buf_put(&d->elements, &e, sizeof e);
}

/* Walks in file order: a name may be redefined, and USE refers to the last definition before it. */
static void walk(definitions *d)
{
	for (hob_x3d_ptr e = d->x->xml.root; e; e = hob_xml_after(e, d->x->xml.root)) {
		hob_str use = hob_xml_attr(e, HOB_STR("USE")), name = hob_xml_attr(e, HOB_STR("DEF"));
		hob_x3d_ptr *to = &d->x->target[e->number];
		*to = e;
		if (use.len > 0) {
			uint32_t index = hob_name_map_get(&d->names, use);
			*to = index == HOB_NONE ? NULL : *HOB_LISTS_AT(d->elements, hob_x3d_ptr, index);
			d->missing += *to == NULL;
		} else if (name.len > 0) {
			define(d, e, name);
		}
	}
}

static void resolve(hob_x3d *x)
{
	definitions d = {.x = x};
	x->target = HOB_NEW(x->request->scratch, hob_x3d_ptr, x->xml.element_count);
	hob_name_map_init(&d.names, x->request->scratch);
	walk(&d);
	if (d.missing > 0)
		hob_warn(x->request->notes, "x3d.missing-use", "%u USE name%s nothing defined before; left out",
				 d.missing, d.missing == 1 ? "s" : "");
}

/* ---- which encoding */

static void read_tree(hob_x3d *x)
{
	const hob_import_request *request = x->request;
	hob_bytes file = request->file;
	if (file.size > 1 && file.data[0] == 0x1F && file.data[1] == 0x8B &&
		!hob_gzip_unpack(request->scratch, request->file, TEXT_MAX, &file))
		hob_leave(CORRUPT, "the file is compressed with gzip and cannot be unpacked; export it again");
	hob_str text = hob_text_decode(request->scratch, file);
	if (hob_str_starts(text, HOB_STR("#VRML V1")))
		hob_leave(UNSUPPORTED, "this is VRML 1.0; convert it to VRML97, or export glTF");
	if (hob_str_starts(text, HOB_STR("#VRML")) || hob_str_starts(text, HOB_STR("#X3D"))) {
		hob_x3d_read_text(request, text, &x->xml);
		return;
	}
	if (hob_text_trim(text).len == 0 || hob_text_trim(text).data[0] != '<')
		hob_leave(CORRUPT, "the file begins neither with '#VRML V2.0 utf8' nor as XML; it is damaged or "
						   "bears the wrong extension");
	hob_xml_read(request->scratch, file, NULL, &x->xml);
	if (!hob_x3d_is(x->xml.root, "X3D"))
		hob_leave(CORRUPT, "the first element is <%.*s>, not <X3D>; the file bears the wrong extension",
				  HOB_FMT(x->xml.root->name));
}

/* ---- head: generator, unit */

static void read_head(hob_x3d *x)
{
	hob_x3d_ptr head = hob_xml_child(x->xml.root, HOB_STR("head"));
	x->unit = hob_x3d_float(x->xml.root, "unit", 1);
	for (hob_x3d_ptr e = head ? head->first : NULL; e; e = e->next) {
		if (hob_x3d_is(e, "unit") && hob_str_equal(hob_xml_attr(e, HOB_STR("category")), HOB_STR("length")))
			x->unit = hob_x3d_float(e, "conversionFactor", 1);
		hob_str name = hob_xml_attr(e, HOB_STR("name"));
		bool tool = hob_str_equal(name, HOB_STR("generator")),
			 right = hob_str_equal(name, HOB_STR("license")) || hob_str_equal(name, HOB_STR("rights"));
		if (!hob_x3d_is(e, "meta") || !(tool || right))
			continue;
		hob_str *out = tool ? &x->model->generator : &x->model->licence;
		*out = hob_text_name(x->request->result, hob_xml_attr(e, HOB_STR("content")));
	}
	if (x->request->keep_units)
		x->unit = 1;
	if (!(x->unit > 1e-9f && x->unit < 1e9f)) {
		hob_warn(x->request->notes, "x3d.unit",
				 "the file's unit of length is not a usable number; lengths are read as metres");
		x->unit = 1;
	}
}

/* ---- what the file holds */

static void count(hob_x3d *x)
{
	hob_census *seen = x->request->seen;
	for (hob_x3d_ptr e = seen ? x->xml.root : NULL; e; e = hob_xml_after(e, x->xml.root)) {
		static const char *const textures[] = {"ImageTexture", "PixelTexture", "MultiTexture", NULL};
		hob_census_add(seen, HOB_CENSUS_COLOR_MAPS,
					   hob_x3d_is(e, "Appearance") && hob_x3d_child(x, e, textures) &&
						   seen->count[HOB_CENSUS_COLOR_MAPS] == 0);
		hob_census_add(seen, HOB_CENSUS_SURFACES,
					   hob_x3d_is(e, "Shape") && e->first && seen->count[HOB_CENSUS_SURFACES] == 0);
		hob_census_add(seen, HOB_CENSUS_CAMERAS, hob_x3d_is(e, "Viewpoint") && !hob_x3d_has(e, "USE"));
		hob_census_add(
			seen, HOB_CENSUS_LIGHTS,
			hob_text_is_one_of(e->name, HOB_WORDS("DirectionalLight", "PointLight", "SpotLight")) &&
				!hob_x3d_has(e, "USE"));
	}
}

/* ---- the importer */

static bool x3d_import(const hob_import_request *request, hob_model *m, hob_error *err)
{
	hob_x3d x = {.request = request, .model = m};
	hob_lists_init(&x.lists, request);
	hob_name_map_init(&x.materials, request->scratch);
	hob_name_map_init(&x.meshes, request->scratch);
	read_tree(&x);
	resolve(&x);
	read_head(&x);
	count(&x);
	hob_x3d_nodes(&x);
	hob_lists_take(&x.lists, m);
	if (x.unit != 1)
		hob_need(hob_model_scale(m, x.unit, request->result, err), err);
	m->unit = x.unit == 1 ? 0 : x.unit;
	m->space.material_colors = m->space.vertex_colors = HOB_COLORS_LINEAR;
	if (m->mesh_count == 0 && m->camera_count == 0 && m->light_count == 0 && m->node_count < 2)
		hob_leave(EMPTY, "the file shows no shape, viewpoint or light");
	return true;
}

static const char *const extensions[] = {"x3d", "x3dv", "wrl", "vrml", NULL};

const hob_importer hob_x3d_importer = {
	.name = "x3d",
	.version = 1,
	.extensions = extensions,
	.import = x3d_import,
	.library_version = hob_xml_version,
};
