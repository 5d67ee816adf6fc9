#include "inside.h"

#include "../control/derived.h"

#include <time.h>

/* Resources that the loop or the query thread answers: jobs and sync. */

enum {
	JOBS_DEFAULT = 100,
	JOBS_MAX = 1000,
	TRACE_DEFAULT = 2000,
	TRACE_MAX = 20000,
	SYNC_DEFAULT_MS = 30000,
	SYNC_MAX_MS = 600000,
	COMPARE_MS = 1000 /* after this time the rest of a history comes without comparisons */
};

/* "2026-11-20T18:31:29Z", optionally with fractions of a second; or milliseconds since 1970. */
static bool parse_time(hob_str text, int64_t *out)
{
	char copy[40];
	struct tm t = {0};
	uint64_t number;
	if (srv_parse_decimal(text, &number) && number < INT64_MAX) {
		*out = (int64_t)number;
		return true;
	}
	if (text.len == 0 || text.len >= sizeof copy)
		return false;
	memcpy(copy, text.data, text.len);
	copy[text.len] = 0;
	const char *rest = strptime(copy, "%Y-%m-%dT%H:%M:%S", &t);
	uint64_t ms = 0, unit = 100;
	if (rest && *rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
			ms += (uint64_t)(*rest - '0') * unit;
	if (!rest || strcmp(rest, "Z") != 0)
		return false;
	*out = (int64_t)timegm(&t) * 1000 + (int64_t)ms;
	return true;
}

static bool known_words(hob_str list)
{
	static const char *const words[] = {"queued", "checking", "cooking", "storing",	  "running", "done",
										"cooked", "hit",	  "failed",	 "cancelled", "fetched", "skipped"};
	bool known = true;
	for (hob_str rest = list, word; known && list.len > 0 && hob_str_piece(&rest, ',', &word);) {
		known = false;
		for (size_t w = 0; w < HOB_COUNT_OF(words); w++)
			known = known || hob_str_equal(word, hob_str_of(words[w]));
	}
	return known;
}

/* Asks for queued and running jobs first, then for finished ones: a job that ends in between appears in both
 * answers rather than in none. */
static enum MHD_Result ask_for_jobs(request *r, hob_str asset, srv_control *page)
{
	if (!r->ask && page->number == 0)
		return srv_ask(r, SRV_CONTROL_JOBS_LIVE, asset, page);
	hob_own_buf live = {0};
	if (r->ask) {
		live = r->ask->body;
		r->ask->body = (hob_buf){0};
	}
	page->tag = hob_buf_str(&live);
	return srv_ask(r, SRV_CONTROL_JOBS, asset, page);
}

static bool read_since(request *r, int64_t *since_ms)
{
	hob_str since = {0};
	return !srv_request_param(r, "since", &since) || parse_time(since, since_ms) ||
		   srv_refuse(r, PROBLEM_BAD_REQUEST, "since=2026-11-20T18:31:29Z", "'%.*s' is not a time",
					  HOB_FMT(since));
}

/* The name of the asset whose name or id the parameter has; empty without it. */
static hob_str named_asset(request *r)
{
	hob_str asset = {0};
	srv_request_param(r, "asset", &asset);
	const srv_view_asset *known = srv_view_find_id(srv_request_view(r), asset);
	return known ? known->full : asset;
}

enum MHD_Result srv_route_jobs(request *r)
{
	uint64_t limit, before;
	int64_t since_ms = 0;
	if (r->ask && (r->ask->control.kind == SRV_CONTROL_JOBS || r->ask->status >= 400))
		return srv_reply_answer(r, "application/json");
	hob_str state = {0};
	srv_request_param(r, "state", &state);
	if (!srv_request_number(r, "limit", 1, JOBS_MAX, JOBS_DEFAULT, &limit) ||
		!srv_request_number(r, "cursor", 0, UINT64_MAX, 0, &before) || !read_since(r, &since_ms))
		return r->result;
	if (!known_words(state))
		return srv_reply_problem(
			r, PROBLEM_BAD_REQUEST,
			"states are: queued checking cooking storing running done; results of done ones: cooked hit "
			"fetched failed cancelled",
			"'state=%.*s' has an unknown state", HOB_FMT(state));
	srv_control page = {.number = before, .number2 = limit, .text = state, .since_ms = since_ms};
	return ask_for_jobs(r, named_asset(r), &page);
}

enum MHD_Result srv_route_trace(request *r)
{
	uint64_t limit;
	int64_t since_ms = 0;
	if (r->ask)
		return srv_reply_answer(r, "application/json");
	if (!srv_request_number(r, "limit", 1, TRACE_MAX, TRACE_DEFAULT, &limit) || !read_since(r, &since_ms))
		return r->result;
	return srv_ask(r, SRV_CONTROL_TRACE, named_asset(r),
				   &(srv_control){.number2 = limit, .since_ms = since_ms});
}

/* Requests the comparison that the answer "JOB FROM TO ASSET" names. */
static enum MHD_Result compare(request *r)
{
	hob_own_buf wanted = r->ask->body; /* taken over, as srv_ask releases the previous answer */
	r->ask->body = (hob_buf){0};
	hob_str asset = hob_buf_str(&wanted), id, from, to;
	bool ok = hob_str_piece(&asset, ' ', &id) && hob_str_piece(&asset, ' ', &from) &&
			  hob_str_piece(&asset, ' ', &to) && srv_parse_decimal(id, &r->poll_since);
	return ok ? srv_ask(r, SRV_CONTROL_DERIVE, asset,
						&(srv_control){.number = SRV_DERIVED_COMPARE, .text = from, .tag = to})
			  : MHD_NO;
}

enum MHD_Result srv_route_history(request *r)
{
	srv_control page = {.below = UINT64_MAX};
	bool committed;
	const srv_control *last = r->ask ? &r->ask->control : NULL;
	if (last && last->kind == SRV_CONTROL_CHANGES)
		return r->ask->status == MHD_HTTP_ACCEPTED ? compare(r) : srv_reply_answer(r, "application/json");
	if (!srv_request_number(r, "limit", 1, JOBS_MAX, JOBS_DEFAULT, &page.number2) ||
		!srv_request_number(r, "cursor", 0, UINT64_MAX, 0, &page.number) ||
		!srv_request_flag(r, "worse", false, &page.force) ||
		!srv_request_flag(r, "commit", false, &committed) || !read_since(r, &page.since_ms))
		return r->result;
	page.tag = committed ? HOB_STR("commit") : (hob_str){0};
	if (!last)
		r->deadline_ms = r->http->now_ms + COMPARE_MS;
	else
		page.below = r->http->now_ms < r->deadline_ms ? r->poll_since : 0;
	return srv_ask(r, SRV_CONTROL_CHANGES, (hob_str){0}, &page);
}

enum MHD_Result srv_route_what_if(request *r)
{
	hob_str file = {0};
	if (r->ask)
		return srv_reply_answer(r, "application/json");
	if (!srv_request_param(r, "file", &file) || file.len == 0)
		return srv_reply_problem(r, PROBLEM_BAD_REQUEST, "/api/v1/what-if?file=art/textures/wood.png",
								 "the parameter 'file' is missing: ROOT/PATH of a file");
	return srv_ask(r, SRV_CONTROL_WHAT_IF, (hob_str){0}, &(srv_control){.text = file});
}

static enum MHD_Result ask_about_job(request *r, srv_control_kind kind)
{
	uint64_t id;
	if (!srv_parse_decimal(r->args[0], &id) || id == 0)
		return srv_reply_problem(r, PROBLEM_NOT_FOUND, "GET /api/v1/jobs lists jobs with their ids",
								 "there is no job '%.*s'", HOB_FMT(r->args[0]));
	return srv_ask(r, kind, (hob_str){0}, &(srv_control){.number = id});
}

enum MHD_Result srv_route_job(request *r)
{
	bool over =
		r->ask && r->ask->control.kind == SRV_CONTROL_JOB_LIVE && r->ask->status == MHD_HTTP_NOT_FOUND;
	if (r->ask && !over)
		return srv_reply_answer(r, "application/json");
	return ask_about_job(r, over ? SRV_CONTROL_JOB : SRV_CONTROL_JOB_LIVE);
}

enum MHD_Result srv_route_job_cancel(request *r)
{
	return r->ask ? srv_reply_answer(r, "application/json") : ask_about_job(r, SRV_CONTROL_CANCEL);
}

enum MHD_Result srv_route_job_log(request *r)
{
	return r->ask ? srv_reply_answer(r, "text/plain; charset=utf-8") : ask_about_job(r, SRV_CONTROL_LOG);
}

/* ---- bundles: made as blobs that nothing refers to, and removed after a while */

static enum MHD_Result refuse_bundle(request *r)
{
	return srv_reply_problem(r, PROBLEM_SOURCES, NULL, "this daemon was started with --no-sources");
}

enum MHD_Result srv_route_job_bundle(request *r)
{
	if (r->http->hide_sources)
		return refuse_bundle(r);
	return r->ask ? srv_reply_made(r, "application/x-tar", "the bundle")
				  : ask_about_job(r, SRV_CONTROL_BUNDLE);
}

enum MHD_Result srv_route_asset_bundle(request *r)
{
	if (r->http->hide_sources)
		return refuse_bundle(r);
	if (r->ask)
		return srv_reply_made(r, "application/x-tar", "the bundle");
	const srv_view_asset *asset = srv_request_asset(r);
	return asset ? srv_ask(r, SRV_CONTROL_BUNDLE, asset->full, NULL) : r->result;
}

/* Reads names to a list separated by '/'. False for an invalid list; a name is NULL if it is not text. */
static bool read_roots(request *r, const cJSON *list, hob_buf *names, const char **wrong)
{
	const cJSON *item;
	*wrong = NULL;
	if (list && (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0))
		return false;
	cJSON_ArrayForEach(item, list)
	{
		*wrong = cJSON_GetStringValue(item);
		if (!*wrong || !srv_find_root(r, hob_str_of(*wrong)))
			return false;
		hob_buf_printf(names, names->size ? "/%s" : "%s", *wrong);
	}
	return true;
}

static enum MHD_Result refuse_root(request *r, const char *wrong)
{
	const char *hint = "GET /api/v1/roots tells their names; without \"roots\" all are waited for";
	return wrong ? srv_reply_problem(r, PROBLEM_BAD_REQUEST, hint, "there is no root '%s'", wrong)
				 : srv_reply_problem(r, PROBLEM_BAD_REQUEST, hint, "'roots' is not a list of names of roots");
}

enum MHD_Result srv_route_sync(request *r)
{
	if (r->ask)
		return srv_reply_answer(r, "application/json");
	double timeout = SYNC_DEFAULT_MS;
	const char *wrong;
	hob_own_buf roots = {0};
	const cJSON *object = srv_request_json(r);
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "timeout_ms");
	const cJSON *scan = cJSON_GetObjectItemCaseSensitive(object, "scan");
	bool fine = r->body.size == 0 || (cJSON_IsObject(object) && (!value || cJSON_IsNumber(value)) &&
									  (!scan || cJSON_IsBool(scan)));
	bool force = cJSON_IsTrue(scan);
	if (fine && value)
		timeout = value->valuedouble;
	enum MHD_Result result;
	if (!fine || !(timeout >= 0 && timeout <= SYNC_MAX_MS))
		result = srv_reply_problem(r, PROBLEM_BAD_REQUEST, "send {\"timeout_ms\":30000} or nothing",
								   "the body is not a JSON object whose 'timeout_ms' is from 0 to %d and "
								   "whose 'scan' is true or false",
								   SYNC_MAX_MS);
	else if (!read_roots(r, cJSON_GetObjectItemCaseSensitive(object, "roots"), &roots, &wrong))
		result = refuse_root(r, wrong);
	else
		result = srv_ask(
			r, SRV_CONTROL_SYNC, (hob_str){0},
			&(srv_control){.timeout_ms = (uint32_t)timeout, .force = force, .text = hob_buf_str(&roots)});
	return result;
}

/* ---- housekeeping */

static enum MHD_Result start_task(request *r, srv_control_kind kind)
{
	bool dry_run;
	if (!r->ask) {
		if (!srv_request_flag(r, "dry_run", false, &dry_run))
			return r->result;
		const cJSON *object = srv_request_json(r);
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "dry_run");
		const cJSON *most = cJSON_GetObjectItemCaseSensitive(object, "max_bytes");
		bool sized = cJSON_IsNumber(most) && most->valuedouble >= 1 && most->valuedouble < 9e15;
		bool fine = r->body.size == 0 ||
					(cJSON_IsObject(object) && (!value || cJSON_IsBool(value)) && (!most || sized));
		uint64_t bytes = sized ? (uint64_t)most->valuedouble : 0;
		dry_run = dry_run || cJSON_IsTrue(value);
		if (!fine)
			return srv_reply_problem(
				r, PROBLEM_BAD_REQUEST, "send {\"dry_run\":true} or nothing",
				"the body is not a JSON object with a boolean 'dry_run' and, for gc, 'max_bytes' from 1");
		return srv_ask(r, kind, (hob_str){0}, &(srv_control){.force = dry_run, .number = bytes});
	}
	if (r->ask->status != MHD_HTTP_ACCEPTED)
		return srv_reply_answer(r, "application/json");
	return srv_reply_accepted(r, "/api/v1/jobs");
}

enum MHD_Result srv_route_gc(request *r)
{
	return start_task(r, SRV_CONTROL_GC);
}

enum MHD_Result srv_route_verify(request *r)
{
	return start_task(r, SRV_CONTROL_VERIFY);
}

/* ---- a whole scene at one revision, and records of cooks */

enum MHD_Result srv_route_manifest(request *r)
{
	uint64_t rev = 0;
	hob_str root = {0};
	bool records;
	if (r->ask)
		return srv_reply_answer(r, "application/json");
	if (!srv_request_flag(r, "records", false, &records))
		return r->result;
	srv_request_param(r, "root", &root);
	srv_request_uses(r, root);
	bool latest = hob_str_equal(r->args[0], HOB_STR("latest"));
	if (!latest && (!srv_parse_decimal(r->args[0], &rev) || rev == 0))
		return srv_reply_problem(r, PROBLEM_NOT_FOUND, "GET /api/v1 shows the newest rev; 'latest' names it",
								 "'%.*s' is not a rev", HOB_FMT(r->args[0]));
	return srv_ask(r, SRV_CONTROL_MANIFEST, root, &(srv_control){.number = rev, .force = records});
}

static enum MHD_Result ask_about_record(request *r, srv_control_kind kind)
{
	srv_control rest = {.text = hob_buf_str(&r->body)};
	if (r->ask)
		return srv_reply_answer(r, "application/json");
	if (!hob_sha256_parse(r->args[0], &rest.digest))
		return srv_reply_problem(r, PROBLEM_BAD_REQUEST, "a cook key is 64 lower-case hexadecimal digits",
								 "'%.*s' is not a cook key", HOB_FMT(r->args[0]));
	return srv_ask(r, kind, (hob_str){0}, &rest);
}

enum MHD_Result srv_route_record(request *r)
{
	return ask_about_record(r, SRV_CONTROL_RECORD);
}

enum MHD_Result srv_route_record_put(request *r)
{
	return ask_about_record(r, SRV_CONTROL_RECORD_PUT);
}
