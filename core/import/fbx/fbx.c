#include "fbx_private.h"
#include "../importers.h"

static bool convert(hob_fbx *f, hob_error *err)
{
	bool read = hob_fbx_is_binary(f->file) ? hob_fbx_read_binary(f, err) : hob_fbx_read_ascii(f, err);
	if (!read || !hob_fbx_read_objects(f, err))
		return false;
	hob_fbx_census(f);
	hob_fbx_read_settings(f);
	if (!hob_fbx_read_nodes(f, err) || !hob_fbx_read_stacks(f, err))
		return false;
	hob_fbx_split_scales(f);
	if (!hob_fbx_read_geometries(f, err) || !hob_fbx_read_materials(f, err) || !hob_fbx_emit(f, err) ||
		!hob_fbx_read_clips(f, err))
		return false;
	hob_fbx_say_unread(f);
	hob_model *model = &f->model;
	model->unit = f->request->keep_units ? 0 : (float)f->unit;
	for (int i = 0; i < 4; i++)
		model->space.turn[i] = (float)f->turn[i];
	model->space.material_colors = HOB_COLORS_LINEAR;
	model->space.vertex_colors = HOB_COLORS_SRGB;
	model->generator = hob_fbx_name(f, f->application);
	if (model->node_count == 0)
		hob_fbx_note(f, "empty", "the file holds no model, camera or light: there is nothing to draw");
	return true;
}

static void release(hob_fbx *f)
{
	hob_buf_release(&f->record_buf);
	hob_buf_release(&f->unpacked);
	hob_buf_release(&f->object_buf);
	hob_buf_release(&f->edge_buf);
	hob_buf_release(&f->variants);
	hob_buf_release(&f->meshes);
	hob_buf_release(&f->model_nodes);
	hob_buf_release(&f->mesh_refs);
	hob_buf_release(&f->skins);
	hob_buf_release(&f->samplers);
	hob_image_set_release(&f->images);
}

static bool import_fbx(const hob_import_request *request, hob_model *out, hob_error *err)
{
	hob_fbx f = {.request = request,
				 .result = request->result,
				 .scratch = request->scratch,
				 .notes = request->notes,
				 .file = request->file};
	hob_image_set_init(&f.images, request);
	bool done = convert(&f, err);
	release(&f);
	if (done)
		*out = f.model;
	return done;
}

static const char *const extensions[] = {"fbx", NULL};

const hob_importer hob_fbx_importer = {
	.name = "fbx",
	.version = 12,
	.extensions = extensions,
	.import = import_fbx,
	.reads_name = true,
};
