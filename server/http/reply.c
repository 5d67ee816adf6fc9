#include "inside.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../core/base/json_write.h"

const problem_kind srv_problem_kinds[PROBLEM_COUNT] = {
#define PROBLEM(name, status, slug, title, meaning, hint) {status, slug, title, meaning, hint},
#include "../../schema/problems.def"
#undef PROBLEM
};

/* ---- what a handler borrows */

const srv_view *srv_request_view(request *r)
{
	if (!r->http->view)
		r->http->view = srv_views_take(r->http->sources.views);
	return r->http->view;
}

const cJSON *srv_request_parse(request *r, hob_str json)
{
	cJSON_Delete(r->http->json);
	return r->http->json = cJSON_ParseWithLength(json.data ? json.data : "", json.len);
}

const cJSON *srv_request_json(request *r)
{
	return srv_request_parse(r, hob_buf_str(&r->body));
}

hob_str srv_json_text(const cJSON *object, const char *name)
{
	return hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name)));
}

void srv_request_return(srv_http *http)
{
	if (http->view)
		srv_view_drop(http->view);
	cJSON_Delete(http->json);
	http->view = NULL;
	http->json = NULL;
	hob_arena_restore(&http->scratch, http->scratch_empty);
}

/* ---- origins */

static bool origin_listed(const srv_http *http, hob_str origin)
{
	for (char **allowed = http->cors_origins; origin.len > 0 && *allowed; allowed++)
		if (hob_str_equal_nocase(origin, hob_str_of(*allowed)))
			return true;
	return false;
}

bool srv_origin_is_friend(const request *r)
{
	return origin_listed(r->http, r->head.origin);
}

/* Lets a page of an allowed origin read the answer. */
static void add_cors(const request *r, struct MHD_Response *response)
{
	if (!response || !r->http->cors_origins[0])
		return;
	srv_response_add(response, "Vary", "Origin");
	if (!srv_origin_is_friend(r))
		return;
	srv_response_add(response, "Access-Control-Allow-Origin",
					 srv_print(r, "%.*s", HOB_FMT(r->head.origin)).data);
	srv_response_add(response, "Access-Control-Allow-Credentials", "true");
	srv_response_add(
		response, "Access-Control-Expose-Headers",
		"Accept-Ranges, Content-Location, Content-Range, Cook-Rev, Cook-Standing, Cook-State, ETag, "
		"Link, Location, Retry-After");
}

/* ---- responses */

bool srv_request_accepts(const request *r, const char *type)
{
	hob_str wanted = hob_str_of(type), rest = r->head.accept, piece;
	wanted = hob_str_sub(wanted, 0, hob_str_find(wanted, HOB_STR(";"), 0));
	if (srv_trim(rest).len == 0)
		return true;
	size_t slash = hob_str_find(wanted, HOB_STR("/"), 0);
	while (hob_str_piece(&rest, ',', &piece)) {
		hob_str range = piece, parameters = piece;
		hob_str_piece(&parameters, ';', &range);
		range = srv_trim(range);
		/* Only a weight of zero means refusal. */
		bool refused = false;
		hob_str parameter;
		while (hob_str_piece(&parameters, ';', &parameter)) {
			parameter = srv_trim(parameter);
			if (parameter.len >= 3 && hob_str_equal_nocase(hob_str_sub(parameter, 0, 2), HOB_STR("q="))) {
				refused = true;
				for (size_t i = 2; i < parameter.len; i++)
					refused = refused && (parameter.data[i] == '0' || parameter.data[i] == '.');
			}
		}
		bool any = hob_str_equal(range, HOB_STR("*/*")) || hob_str_equal(range, HOB_STR("*"));
		bool family =
			range.len == slash + 2 && hob_str_ends_nocase(range, HOB_STR("/*")) &&
			hob_str_equal_nocase(hob_str_sub(range, 0, slash + 1), hob_str_sub(wanted, 0, slash + 1));
		if (!refused && (any || family || hob_str_equal_nocase(range, wanted)))
			return true;
	}
	return false;
}

uint64_t srv_http_sum(const srv_http *http, size_t counter_at)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < http->shard_count; i++) {
		counter *c = (counter *)(uintptr_t)((const char *)&http->first[i] + counter_at);
		sum += atomic_load_explicit(c, memory_order_relaxed);
	}
	return sum;
}

void srv_response_add(struct MHD_Response *response, const char *name, const char *value)
{
	if (response && value)
		MHD_add_response_header(response, name, value);
}

void srv_response_type(struct MHD_Response *response, const char *type)
{
	srv_response_add(response, "Content-Type", type);
	srv_response_add(response, "X-Content-Type-Options", "nosniff");
	srv_response_add(response, "Cross-Origin-Resource-Policy", "same-origin");
}

struct MHD_Response *srv_response_of(hob_buf *body, const char *content_type)
{
	struct MHD_Response *response =
		body->failed
			? NULL
			: MHD_create_response_from_buffer_with_free_callback(body->size, body->data, hob_buf_free);
	if (!response)
		hob_buf_release(body);
	*body = (hob_buf){0};
	srv_response_type(response, content_type);
	return response;
}

enum MHD_Result srv_reply_body(request *r, int status, hob_buf *body, const char *type, ...)
{
	size_t size = body->size;
	struct MHD_Response *response = srv_response_of(body, type);
	va_list fields;
	va_start(fields, type);
	for (const char *name; (name = va_arg(fields, const char *));)
		srv_response_add(response, name, va_arg(fields, const char *));
	va_end(fields);
	return srv_reply(r, status, response, size);
}

void srv_count_reply(request *r, int status, uint64_t bytes)
{
	route_counts *counts = &r->http->requests[r->route];
	srv_count(&r->http->response_bytes, bytes);
	for (uint32_t i = 0; i < STATUS_SLOTS; i++) {
		if (atomic_load_explicit(&counts->status[i], memory_order_relaxed) == 0)
			atomic_store_explicit(&counts->status[i], (uint16_t)status, memory_order_relaxed);
		if (atomic_load_explicit(&counts->status[i], memory_order_relaxed) == status) {
			srv_count(&counts->count[i], 1);
			return;
		}
	}
}

enum MHD_Result srv_reply_shared(request *r, int status, struct MHD_Response *response, uint64_t bytes)
{
	bool bodyless = status == 304 || status == 204 || strcmp(r->method, "HEAD") == 0;
	srv_count_reply(r, status, bodyless ? 0 : bytes);
	return MHD_queue_response(r->connection, (unsigned)status, response);
}

enum MHD_Result srv_reply(request *r, int status, struct MHD_Response *response, uint64_t bytes)
{
	if (!response)
		return MHD_NO;
	add_cors(r, response);
	enum MHD_Result result = srv_reply_shared(r, status, response, bytes);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result srv_reply_json(request *r, int status, hob_buf *body)
{
	if (!srv_request_accepts(r, "application/json")) {
		hob_buf_release(body);
		return srv_reply_problem(r, PROBLEM_ACCEPT, "send Accept: application/json",
								 "this resource is application/json");
	}
	hob_buf_put(body, "\n", 1);
	return srv_reply_body(r, status, body, "application/json", "Cache-Control", "no-cache", NULL);
}

/* Whether the dashboard sent the request. The dashboard has its own page to sign in; after a challenge, the
 * browser would show its dialog on top. */
static bool asked_by_page(const request *r)
{
	return hob_str_starts(r->head.user_agent, HOB_STR("Mozilla/")) &&
		   hob_str_find(r->head.accept, HOB_STR("text/html"), 0) == SIZE_MAX;
}

void srv_put_problem(hob_buf *out, problem_id id, const problem_text *text)
{
	const problem_kind *kind = &srv_problem_kinds[id];
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_KEY("type"));
	hob_buf_printf(out, "\"/problems/%s\"", kind->slug);
	hob_json_put(out, HOB_JSON("title", kind->title), HOB_JSON("status", (uint64_t)kind->status));
	if (text->code.len > 0) {
		hob_json_put_str(out, "code", text->code);
	} else {
		hob_json_key(out, "code");
		hob_buf_printf(out, "\"http.%s\"", kind->slug);
	}
	hob_json_put(out, HOB_JSON("detail", text->detail),
				 HOB_JSON("hint", text->hint.len > 0 ? text->hint : hob_str_of(kind->hint)));
	if (text->asset.len > 0)
		hob_json_put_str(out, "asset", text->asset);
	if (text->instance.len > 0)
		hob_json_put_str(out, "instance", text->instance);
	hob_buf_put_str(out, text->members);
	hob_json_close(out, '}');
	hob_buf_put(out, "\n", 1);
}

enum MHD_Result srv_reply_problem_text(request *r, problem_id id, const problem_text *text)
{
	const problem_kind *kind = &srv_problem_kinds[id];
	hob_buf body = {0};
	srv_put_problem(&body, id, text);
	size_t size = body.size;
	struct MHD_Response *response = srv_response_of(&body, "application/problem+json");
	srv_response_add(response, "Cache-Control", "no-store");
	srv_response_add(response, "Content-Security-Policy", "default-src 'none'");
	if (kind->status == 401) {
		srv_response_add(response, "WWW-Authenticate", "Bearer realm=\"hob\"");
		if (!asked_by_page(r))
			srv_response_add(response, "WWW-Authenticate", "Basic realm=\"hob\", charset=\"UTF-8\"");
	}
	if (r->head.session_over)
		srv_session_put(r, response, (hob_str){0});
	if (r->distrusted)
		srv_response_add(response, "Connection", "close");
	srv_response_add(response, "Allow", text->allow);
	if (text->retry_after_s > 0)
		srv_response_add(response, "Retry-After", srv_print(r, "%u", text->retry_after_s).data);
	if (text->held > 0)
		srv_response_add(response, "Upload-Offset", srv_print(r, "%" PRIu64, text->held).data);
	if (text->has_size)
		srv_response_add(response, "Content-Range", srv_print(r, "bytes */%" PRIu64, text->size).data);
	return srv_reply(r, kind->status, response, size);
}

enum MHD_Result srv_reply_problem(request *r, problem_id id, const char *hint, const char *detail, ...)
{
	char text[1024];
	va_list args;
	va_start(args, detail);
	vsnprintf(text, sizeof text, detail, args);
	va_end(args);
	return srv_reply_problem_text(r, id,
								  &(problem_text){.detail = hob_str_of(text), .hint = hob_str_of(hint)});
}

/* Finds the problem for an answer of the loop: 422 is a failed cook, invalid settings, or a derived output
 * that is too large. */
static problem_id problem_of(const ask *a, hob_str code)
{
	int status = a->status;
	bool form = a->control.kind == SRV_CONTROL_DERIVE || a->control.kind == SRV_CONTROL_CLASSIC;
	if (status == 422 && hob_str_equal(code, HOB_STR("config.invalid")))
		return PROBLEM_SETTINGS;
	if (status == 422 && form && hob_str_equal(code, HOB_STR("cook.limit")))
		return PROBLEM_DERIVED;
	for (int i = 0; i < PROBLEM_COUNT; i++)
		if (srv_problem_kinds[i].status == status)
			return (problem_id)i;
	return PROBLEM_INTERNAL;
}

static enum MHD_Result reply_failed(request *r)
{
	const ask *a = r->ask;
	hob_str body = hob_buf_str(&a->body);
	const cJSON *object = srv_request_parse(r, body);
	problem_id id = problem_of(a, srv_json_text(object, "code"));
	problem_text text = {
		.code = srv_json_text(object, "code"),
		.detail = srv_json_text(object, "detail"),
		.hint = srv_json_text(object, "hint"),
		.asset = a->control.asset,
		.retry_after_s = a->status == 503 || a->status == 429 ? 1 : 0,
	};
	if (text.detail.len == 0)
		text.detail = object ? srv_json_text(object, "message") : body;
	if (text.detail.len == 0)
		text.detail = hob_str_of(srv_problem_kinds[id].meaning);
	const cJSON *failed = cJSON_GetObjectItemCaseSensitive(object, "failed");
	if (cJSON_IsArray(failed)) {
		hob_own char *list = cJSON_PrintUnformatted(failed);
		text.members = srv_print(r, ",\"failed\":%s", list ? list : "[]");
	}
	return srv_reply_problem_text(r, id, &text);
}

enum MHD_Result srv_reply_answer(request *r, const char *content_type)
{
	ask *a = r->ask;
	if (a->status >= 400)
		return reply_failed(r);
	if (!srv_request_accepts(r, content_type))
		return srv_reply_problem(r, PROBLEM_ACCEPT, "send Accept: */*", "this resource is %s", content_type);
	return srv_reply_body(r, a->status, &a->body, content_type, "Cache-Control", "no-cache", "ETag",
						  a->control.etag[0] ? a->control.etag : NULL, NULL);
}

enum MHD_Result srv_reply_accepted(request *r, const char *folder)
{
	hob_buf *body = &r->ask->body;
	const cJSON *job = cJSON_GetObjectItemCaseSensitive(srv_request_parse(r, hob_buf_str(body)), "job");
	const char *place = cJSON_IsNumber(job)
							? srv_print(r, "%s/%llu", folder, (unsigned long long)job->valuedouble).data
							: folder;
	return srv_reply_body(r, MHD_HTTP_ACCEPTED, body, "application/json", "Location", place, "Retry-After",
						  "1", "Cache-Control", "no-store", NULL);
}
