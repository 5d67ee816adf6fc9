#include "fbx_private.h"
#include "../importers.h"

static void convert(hob_fbx *f)
{
	if (hob_fbx_is_binary(f->file))
		hob_fbx_read_binary(f);
	else
		hob_fbx_read_ascii(f);
	hob_fbx_read_objects(f);
	hob_fbx_census(f);
	hob_fbx_read_settings(f);
	hob_fbx_read_nodes(f);
	hob_fbx_read_stacks(f);
	hob_fbx_split_scales(f);
	hob_fbx_read_geometries(f);
	hob_fbx_read_materials(f);
	hob_fbx_emit(f);
	hob_fbx_read_clips(f);
	hob_fbx_say_unread(f);
	hob_model *model = f->model;
	model->unit = f->request->keep_units ? 0 : (float)f->unit;
	for (int i = 0; i < 4; i++)
		model->space.turn[i] = (float)f->turn[i];
	model->space.material_colors = HOB_COLORS_LINEAR;
	model->space.vertex_colors = HOB_COLORS_SRGB;
	model->generator = hob_fbx_name(f, f->application);
	if (model->node_count == 0)
		hob_fbx_note(f, "empty", "the file holds no model, camera or light: there is nothing to draw");
}

static bool import_fbx(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	hob_fbx f = {.request = request,
				 .result = request->result,
				 .scratch = request->scratch,
				 .notes = request->notes,
				 .file = request->file,
				 .model = out};
	hob_lists_init(&f.lists, request);
	convert(&f);
	return true;
}

static const char *const extensions[] = {"fbx", NULL};

const hob_importer hob_fbx_importer = {
	.name = "fbx",
	.version = 12,
	.extensions = extensions,
	.import = import_fbx,
	.reads_name = true,
};
