#include "importer.h"
#include "importers.h"
#include "motion.h"

#include "../base/guard.h"
#include "../model/properties.h"

const hob_importer *const hob_importers[] = {
	&hob_gltf_importer,	   &hob_fbx_importer, &hob_obj_importer,   &hob_stl_importer,
	&hob_ply_importer,	   &hob_usd_importer, &hob_merge_importer, &hob_collada_importer,
	&hob_threemf_importer, &hob_x3d_importer, &hob_off_importer,   &hob_amf_importer,
	&hob_iqm_importer,	   &hob_md2_importer, &hob_blend_importer, &hob_environment_importer,
	&hob_assimp_importer,
};
const uint32_t hob_importer_count = HOB_COUNT_OF(hob_importers);

const hob_importer *hob_importer_for(hob_str path)
{
	hob_str extension = hob_path_extension(path);
	for (uint32_t i = 0; i < hob_importer_count; i++)
		for (const char *const *known = hob_importers[i]->extensions; *known; known++)
			if (hob_str_equal_nocase(extension, hob_str_of(*known)))
				return hob_importers[i];
	return NULL;
}

const hob_importer *hob_importer_for_old(const hob_importer *importer)
{
	return importer == &hob_gltf_importer || importer == &hob_blend_importer ? &hob_assimp_importer : NULL;
}

/* Notes the parts of a model that are never drawn. */
static void note_hidden(const hob_import_request *request, const hob_model *model)
{
	hob_arena_mark mark = hob_arena_save(request->scratch);
	bool *unseen = HOB_NEW(request->scratch, bool, model->node_count);
	uint32_t nodes = hob_model_unseen_nodes(model, unseen);
	uint64_t triangles = 0;
	for (uint32_t n = 0; nodes > 0 && n < model->node_count; n++)
		for (uint32_t i = 0; unseen[n] && i < model->nodes[n].mesh_count; i++) {
			const hob_mesh *mesh = &model->meshes[model->mesh_refs[model->nodes[n].mesh_first + i]];
			triangles += mesh->topology == HOB_TRIANGLES ? mesh->index_count / 3 : 0;
		}
	hob_arena_restore(request->scratch, mark);
	if (nodes > 0)
		hob_info(request->notes, "import.hidden",
				 "%u node%s hidden, with %llu triangles: kept in the scene and not drawn", nodes,
				 nodes == 1 ? " is" : "s are", (unsigned long long)triangles);
}

typedef struct import_call {
	const hob_importer *importer;
	const hob_import_request *request;
	hob_model *out;
} import_call;

static bool run_importer(void *context, hob_error *err)
{
	const import_call *call = context;
	*call->out = (hob_model){0};
	return call->importer->import(call->request, call->out, err);
}

bool hob_import_by(const hob_importer *importer, const hob_import_request *request, hob_model *out,
				   hob_error *err)
{
	return hob_guarded_whole(run_importer, &(import_call){importer, request, out}, err);
}

static bool import_and_check(void *context, hob_error *err)
{
	import_call *call = context;
	hob_census seen = {{0}}, held;
	hob_import_request request = *call->request;
	hob_model model = {0};
	request.seen = &seen;
	bool ok = call->importer->import(&request, &model, err);
	if (!ok && err->code == HOB_ERR_OLD_VERSION && hob_importer_for_old(call->importer)) {
		call->importer = hob_importer_for_old(call->importer);
		seen = (hob_census){{0}};
		model = (hob_model){0};
		ok = call->importer->import(&request, &model, err);
	}
	if (!ok)
		return false;
	if (!hob_model_check(&model, err))
		return hob_fail_in(err, "the %s importer gave a model that breaks the rules", call->importer->name);
	hob_census_of_model(&model, request.scratch, &held);
	hob_census_compare(&seen, &held, request.notes);
	note_hidden(&request, &model);
	hob_check_motion(&model, request.scratch, request.notes);
	if (!hob_model_override_space(&model, request.space, request.result, err))
		return false;
	*call->out = model;
	return true;
}

bool hob_import(const hob_import_request *request, const hob_importer **used, hob_model *out, hob_error *err)
{
	import_call call = {hob_importer_for(request->path), request, out};
	if (!call.importer)
		return hob_fail(err, UNSUPPORTED,
						"no importer reads '.%.*s' files; 'hob formats' lists those that are read",
						HOB_FMT(hob_path_extension(request->path)));
	bool done = hob_guarded_whole(import_and_check, &call, err);
	*used = call.importer;
	return done;
}
