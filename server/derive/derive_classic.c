#include "../../core/formats/classic.h"
#include "../control/answer.h"
#include "../log/log.h"
#include "derive_inside.h"

#include <stdlib.h>

/* Converts the packed files to the classic layout, and adds the files as outputs to the same record. */

typedef struct classic_work {
	srv_derive *derive;
	srv_control *control;
	uv_work_t work;
	uint32_t asset;
	hob_sha256 record;
	hob_sha256 inputs[3];
	srv_record_output outputs[3];
	hob_error error;
} classic_work;

static const char *const packed_names[3] = {"meshes", "materials", "scene"};
static const char *const classic_names[3] = {"classic.meshes", "classic.materials", "classic.scene"};

static void classic_run(uv_work_t *work)
{
	classic_work *job = work->data;
	hob_bytes packed[3] = {0};
	hob_classic_files classic = {0};
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_notes notes = {.arena = &arena};
	bool ok = true;
	uint64_t room = job->derive->host.most_bytes;
	for (int i = 0; i < 3 && ok; i++) {
		packed[i] = srv_derive_read_blob(job->derive->host.store, &job->inputs[i], room, &job->error);
		ok = packed[i].data != NULL;
		room -= packed[i].size;
	}
	hob_pack_set set = {.meshes = packed[0], .materials = packed[1], .scene = packed[2]};
	ok = ok && hob_classic_from_packed(&set, &notes, &classic, &job->error);
	hob_buf *made[3] = {&classic.meshes, &classic.materials, &classic.scene};
	for (int i = 0; i < 3 && ok; i++) {
		job->outputs[i].name = hob_str_of(classic_names[i]);
		job->outputs[i].size = made[i]->size;
		ok = srv_blob_put(job->derive->host.store, hob_buf_bytes(made[i]), &job->outputs[i].digest,
						  &job->error);
	}
	for (uint32_t i = 0; ok && i < notes.count; i++)
		srv_log(SRV_LOG_INFO, "classic", "%.*s: %.*s", HOB_FMT(job->control->asset),
				HOB_FMT(notes.items[i].text));
	hob_arena_release(&arena);
	hob_classic_files_release(&classic);
	for (int i = 0; i < 3; i++)
		srv_derive_unmap(&packed[i]);
}

static void classic_done(uv_work_t *work, int status)
{
	(void)status;
	hob_own classic_work *job = work->data;
	const srv_derive_host *host = &job->derive->host;
	hob_error error = job->error;
	if (error.code == HOB_ERR_OK &&
		srv_store_add_outputs(host->store, &job->record, job->outputs, 3, &error)) {
		host->publish->rows = true;
		host->added(host->user, job->asset, &job->record);
		job->control->answer(job->control, 200, HOB_STR("{}"));
	} else {
		srv_control_refuse(job->control, 0, &error);
	}
	host->over(host->user);
}

void srv_derive_classic(srv_derive *derive, srv_control *control)
{
	const srv_derive_host *host = &derive->host;
	srv_derive_asset a;
	if (!srv_derive_find(derive, control, true, &a))
		return;
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_record record;
	hob_error error = {0};
	hob_sha256 inputs[3];
	uint32_t found = 0, made = 0;
	bool has = a.good && srv_store_record(host->store, a.good, &arena, &record, &error);
	for (uint32_t i = 0; has && i < record.output_count; i++)
		for (int n = 0; n < 3; n++) {
			const srv_record_output *output = &record.outputs[i];
			made += hob_str_equal(output->name, hob_str_of(classic_names[n])) &&
					srv_blob_exists(host->store, &output->digest);
			if (hob_str_equal(output->name, hob_str_of(packed_names[n]))) {
				inputs[n] = output->digest;
				found++;
			}
		}
	hob_arena_release(&arena);
	if (made == 3) {
		control->answer(control, 200, HOB_STR("{}"));
	} else if (error.code == HOB_ERR_IO) {
		srv_control_refuse(control, 0, &error);
	} else if (found != 3) {
		srv_control_answer(control, 404, "http.not-found",
						   "this asset has no cooked outputs to make the classic layout from");
	} else {
		classic_work *job = hob_must(malloc(sizeof *job));
		*job = (classic_work){.derive = derive, .control = control, .asset = a.number, .record = *a.good};
		memcpy(job->inputs, inputs, sizeof inputs);
		job->work.data = job;
		host->work(host->user, &job->work, classic_run, classic_done);
	}
}
