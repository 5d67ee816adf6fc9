#include "past_job.h"

#include "../../core/base/json_write.h"
#include "../../core/base/pieces.h"

bool srv_past_was_known(const srv_job_row *row)
{
	static const hob_sha256 none;
	bool failed = hob_str_equal(row->result, HOB_STR("failed"));
	return hob_str_equal(row->result, HOB_STR("hit")) || hob_str_equal(row->result, HOB_STR("fetched")) ||
		   (failed && row->cook_ns == 0 && !hob_sha256_equal(&row->record, &none));
}

void srv_past_put_stages(hob_str text, hob_buf *out)
{
	hob_json_key(out, "stages");
	hob_json_open(out, '[');
	while (text.len > 0) {
		hob_str stage = hob_str_next(&text, ' '), ms = hob_str_next(&text, ' ');
		hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("stage", stage),
					 HOB_JSON_RAW("ms", ms.len > 0 ? ms : HOB_STR("0")), HOB_JSON_CLOSE('}'));
	}
	hob_json_close(out, ']');
}

void srv_past_put_job(const srv_job_row *row, hob_buf *out)
{
	hob_json_put(
		out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("id", row->id), HOB_JSON("kind", "cook"),
		HOB_JSON("asset", row->asset), HOB_JSON("state", "done"), HOB_JSON("result", row->result),
		HOB_JSON_BOOL("cached", srv_past_was_known(row)), HOB_JSON_TIME("queued_at", row->queued_at_ms),
		HOB_JSON_TIME("started_at", row->started_at_ms), HOB_JSON_TIME("finished_at", row->finished_at_ms),
		HOB_JSON_MS("cook_ms", row->cook_ns), HOB_JSON("peak_bytes", row->peak_bytes),
		HOB_JSON_RAW("reason", row->reason.len > 0 ? row->reason : HOB_STR("[]")),
		HOB_JSON_RAW("error", row->error));
	srv_past_put_stages(row->stages, out);
	hob_json_close(out, '}');
}

/* Ids increase and the newest rows come first, so a job is found as a page of one row, just above its id. */
bool srv_past_find_job(srv_store *store, uint64_t id, hob_str asset, hob_arena *arena, srv_job_row *out,
					   hob_error *err)
{
	srv_job_row *rows;
	uint32_t count;
	if (!srv_store_jobs(store, id > 0 ? (hob_str){0} : asset, id > 0 ? id + 1 : 0, 1, arena, &rows, &count,
						err))
		return false;
	bool found = count > 0 && (id == 0 || rows[0].id == id);
	if (!found && !srv_store_is_whole(store, err))
		return false;
	if (!found)
		return hob_fail(err, NOT_FOUND, "%s",
						id > 0 ? "no such job has finished" : "no job of this asset has finished yet");
	*out = rows[0];
	return true;
}
