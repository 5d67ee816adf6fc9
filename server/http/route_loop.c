#include "inside.h"

#include <cjson/cJSON.h>

/* Resources that the loop answers: jobs and sync. */

enum { JOBS_DEFAULT = 100, JOBS_MAX = 1000, SYNC_DEFAULT_MS = 30000, SYNC_MAX_MS = 600000 };

enum MHD_Result srv_route_jobs(request *r)
{
	enum MHD_Result result;
	uint64_t limit, before;
	if (r->ask)
		return reply_answer(r, "application/json");
	hob_str asset = {0};
	request_param(r, "asset", &asset);
	if (!request_number(r, "limit", 1, JOBS_MAX, JOBS_DEFAULT, &result, &limit) ||
		!request_number(r, "cursor", 0, UINT64_MAX, 0, &result, &before))
		return result;
	return ask_loop(r, SRV_CONTROL_JOBS, asset, &(srv_control){.number = before, .number2 = limit});
}

static enum MHD_Result ask_about_job(request *r, srv_control_kind kind)
{
	uint64_t id;
	if (!parse_decimal(r->args[0], &id) || id == 0)
		return reply_problem(r, PROBLEM_NOT_FOUND, "GET /api/v1/jobs lists jobs with their ids",
							 "there is no job '%.*s'", HOB_FMT(r->args[0]));
	return ask_loop(r, kind, (hob_str){0}, &(srv_control){.number = id});
}

enum MHD_Result srv_route_job(request *r)
{
	return r->ask ? reply_answer(r, "application/json") : ask_about_job(r, SRV_CONTROL_JOB);
}

enum MHD_Result srv_route_job_log(request *r)
{
	return r->ask ? reply_answer(r, "text/plain; charset=utf-8") : ask_about_job(r, SRV_CONTROL_LOG);
}

enum MHD_Result srv_route_sync(request *r)
{
	if (r->ask)
		return reply_answer(r, "application/json");
	double timeout = SYNC_DEFAULT_MS;
	bool fine = true;
	if (r->body.size > 0) {
		cJSON *object = cJSON_ParseWithLength((const char *)r->body.data, r->body.size);
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "timeout_ms");
		fine = cJSON_IsObject(object) && (!value || cJSON_IsNumber(value));
		if (cJSON_IsNumber(value))
			timeout = value->valuedouble;
		cJSON_Delete(object);
	}
	if (!fine || !(timeout >= 0 && timeout <= SYNC_MAX_MS))
		return reply_problem(r, PROBLEM_BAD_REQUEST, "send {\"timeout_ms\":30000} or nothing",
							 "the body is not a JSON object whose 'timeout_ms' is from 0 to %d", SYNC_MAX_MS);
	return ask_loop(r, SRV_CONTROL_SYNC, (hob_str){0}, &(srv_control){.timeout_ms = (uint32_t)timeout});
}
