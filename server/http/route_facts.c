#include "inside.h"

#include "../../core/base/json_write.h"

/* Small resources about the whole daemon. */

enum MHD_Result srv_route_api(request *r)
{
	srv_http *http = r->http;
	const srv_view *view = srv_request_view(r);
	hob_buf body = {0};
	hob_json_object(
		&body, HOB_JSON("name", "hob"), HOB_JSON("version", http->sources.version), HOB_JSON("api", 1),
		HOB_JSON("epoch", srv_events_epoch(http->sources.events)), HOB_JSON("rev", view->rev),
		HOB_JSON("seq", srv_events_newest(http->sources.events)), HOB_JSON_BOOL("ready", view->ready),
		HOB_JSON_RAW("capabilities",
					 HOB_STR("[\"events\",\"changes\",\"ranges\",\"classic\",\"sync\",\"wait\",\"batch\","
							 "\"put\",\"records\",\"manifest\",\"settings\"]")),
		HOB_JSON_OPEN("limits", '{'), HOB_JSON("body_bytes", BODY_MAX), HOB_JSON("page_items", 1000),
		HOB_JSON("wait_seconds", WAIT_MAX_MS / 1000),
		HOB_JSON("connections", http->max_connections * http->shard_count),
		HOB_JSON("listeners", http->max_events), HOB_JSON_CLOSE('}'),
		HOB_JSON_RAW("links", HOB_STR("{\"assets\":\"/api/v1/assets\",\"events\":\"/api/v1/events\","
									  "\"errors\":\"/api/v1/errors\",\"openapi\":\"/openapi.json\"}")));
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

/* Sums over all assets, on request only: a blob that two assets share counts twice. */
static void put_outputs(const srv_view *view, hob_buf *out)
{
	enum { KINDS_MAX = 32 };
	struct {
		hob_str name;
		uint64_t count, bytes;
	} kinds[KINDS_MAX];
	uint32_t count = 0;
	for (uint32_t a = 0; a < view->count; a++)
		for (uint32_t o = 0; o < view->assets[a]->output_count; o++) {
			const srv_view_output *output = &view->assets[a]->outputs[o];
			size_t end = 0;
			while (end < output->name.len && output->name.data[end] != '/' && output->name.data[end] != '.')
				end++;
			hob_str name = hob_str_sub(output->name, 0, end);
			uint32_t k = 0;
			while (k < count && !hob_str_equal(kinds[k].name, name))
				k++;
			if (k == KINDS_MAX)
				continue;
			if (k == count) {
				kinds[count].name = name;
				kinds[count].count = kinds[count].bytes = 0;
				count++;
			}
			kinds[k].count++;
			kinds[k].bytes += output->size;
		}
	hob_json_put(out, HOB_JSON_OPEN("by_output", '['));
	for (uint32_t k = 0; k < count; k++) {
		hob_json_object(out, HOB_JSON("name", kinds[k].name), HOB_JSON("count", kinds[k].count),
						HOB_JSON("bytes", kinds[k].bytes));
	}
	hob_json_close(out, ']');
}

enum MHD_Result srv_route_stats(request *r)
{
	srv_http *http = r->http;
	bool outputs;
	if (!srv_request_flag(r, "outputs", false, &outputs))
		return r->result;
	const srv_view *view = srv_request_view(r);
	hob_buf body = {0};
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("rev", view->rev),
				 HOB_JSON_BOOL("ready", view->ready), HOB_JSON_OPEN("assets", '{'),
				 HOB_JSON("total", view->count));
	for (uint32_t i = 0; i < SRV_STATE_COUNT; i++)
		hob_json_put_u64(&body, srv_state_name((srv_state)i), view->states[i]);
	hob_json_put(&body, HOB_JSON_CLOSE('}'), HOB_JSON_OPEN("standings", '{'));
	for (uint32_t i = 0; i < SRV_STANDINGS_LISTED; i++)
		hob_json_put_u64(&body, srv_standing_name((srv_standing)i), view->standings[i]);
	hob_json_close(&body, '}');
	uint64_t errors = 0;
	hob_json_put(&body, HOB_JSON_OPEN("problems", '{'));
	for (uint32_t i = 0; i < SRV_STATE_COUNT; i++) {
		hob_json_put_u64(&body, srv_state_name((srv_state)i), view->problems[i]);
		errors += view->problems[i];
	}
	hob_json_close(&body, '}');
	hob_json_put(&body, HOB_JSON("errors", errors), HOB_JSON("nondeterministic", 0u),
				 HOB_JSON("outputs", view->outputs), HOB_JSON("warnings", view->warnings),
				 HOB_JSON("warned", view->warned), HOB_JSON_OPEN("bytes", '{'),
				 HOB_JSON("source", view->source_bytes));
	if (http->sources.input_bytes)
		hob_json_put_u64(&body, "inputs", http->sources.input_bytes(http->sources.user));
	hob_json_put(&body, HOB_JSON("cooked", view->cooked_bytes), HOB_JSON_CLOSE('}'),
				 HOB_JSON_OPEN("http", '{'), HOB_JSON("connections", srv_http_connections(http)),
				 HOB_JSON("listeners", srv_http_sum(http, offsetof(srv_http, stream_count))),
				 HOB_JSON("response_bytes", srv_http_sum(http, offsetof(srv_http, response_bytes))),
				 HOB_JSON_CLOSE('}'), HOB_JSON("uptime_ms", (uint64_t)(http->now_ms - http->start_ms)));
	if (http->sources.stats)
		http->sources.stats(http->sources.user, &body);
	if (outputs)
		put_outputs(view, &body);
	hob_json_close(&body, '}');
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

enum MHD_Result srv_route_roots(request *r)
{
	const srv_view *view = srv_request_view(r);
	hob_buf body = {0};
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("items", '['));
	for (uint32_t i = 0; i < view->root_count; i++) {
		const srv_view_root *root = &view->roots[i];
		hob_json_object(
			&body, HOB_JSON("name", root->name), HOB_JSON("path", root->path), HOB_JSON("mode", root->mode),
			HOB_JSON("note", root->note), HOB_JSON("file_system", root->file_system),
			HOB_JSON("probe", root->probe), HOB_JSON("poll_ms", root->poll_ms),
			HOB_JSON("files", root->files), HOB_JSON("skipped", root->skipped),
			HOB_JSON_RAW("skipped_files", root->skipped_files.len > 0 ? root->skipped_files : HOB_STR("[]")),
			HOB_JSON_TIME("missing_since", root->missing_since_ms));
	}
	hob_json_put(&body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

enum MHD_Result srv_route_clients(request *r)
{
	srv_http *http = r->http;
	hob_buf body = {0};
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("items", '['));
	srv_streams_put(http, &body);
	hob_json_put(&body, HOB_JSON_CLOSE(']'),
				 HOB_JSON("count", srv_http_sum(http, offsetof(srv_http, stream_count))),
				 HOB_JSON("connections", srv_http_connections(http)),
				 HOB_JSON("seq", srv_events_newest(http->sources.events)), HOB_JSON_CLOSE('}'));
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

enum MHD_Result srv_route_config(request *r)
{
	srv_http *http = r->http;
	hob_buf body = {0};
	hob_json_open(&body, '{');
	if (http->sources.config)
		http->sources.config(http->sources.config_user, &body);
	hob_json_close(&body, '}');
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

/* Sends a JSON Schema, for editors that complete and validate: "$schema" in a file names it. */
enum MHD_Result srv_route_schema(request *r)
{
	srv_http *http = r->http;
	hob_buf body = {0};
	if (!http->sources.schema || !http->sources.schema(r->args[0], &body))
		return srv_reply_problem(r, PROBLEM_NOT_FOUND, "there are: settings.json, config.json",
								 "there is no schema '%.*s'", HOB_FMT(r->args[0]));
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}

/* ---- health */

typedef struct check {
	const char *name;
	bool fine;
	const char *why;
} check;

/* known_to_all: pages of any site may see whether there is a daemon, but nothing else. A client can then
 * distinguish a daemon that does not trust its page from one that is not running. */
static enum MHD_Result reply_checks(request *r, const check *checks, size_t count, hob_str notes,
									bool known_to_all)
{
	hob_str ignored;
	bool fine = true, verbose = srv_request_param(r, "verbose", &ignored);
	hob_buf body = {0};
	for (size_t i = 0; i < count; i++) {
		fine = fine && checks[i].fine;
		if (verbose || !checks[i].fine)
			hob_buf_printf(&body, "%s %s%s%s\n", checks[i].fine ? "ok" : "not", checks[i].name,
						   checks[i].fine ? "" : ": ", checks[i].fine ? "" : checks[i].why);
	}
	hob_buf_put_str(&body, notes);
	hob_buf_put_str(&body, fine ? HOB_STR("ok\n") : HOB_STR("not ready\n"));
	size_t size = body.size;
	struct MHD_Response *response = srv_response_of(&body, "text/plain; charset=utf-8");
	srv_response_add(response, "Cache-Control", "no-store");
	if (known_to_all && response) {
		MHD_del_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
		srv_response_add(response, "Cross-Origin-Resource-Policy", "cross-origin");
	}
	if (!fine)
		srv_response_add(response, "Retry-After", "1");
	return srv_reply(r, fine ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, response, size);
}

enum MHD_Result srv_route_livez(request *r)
{
	const check checks[] = {{"http", true, ""}};
	return reply_checks(r, checks, HOB_COUNT_OF(checks), HOB_STR(""), true);
}

enum MHD_Result srv_route_healthz(request *r)
{
	return srv_route_livez(r);
}

/* The check's error as a C string. */
static void health_error(const srv_http_sources *sources, void (*append)(void *, hob_buf *), hob_buf *out)
{
	if (append)
		append(sources->user, out);
	hob_buf_put(out, "", 1);
}

enum MHD_Result srv_route_readyz(request *r)
{
	bool ready = srv_request_view(r)->ready;
	const srv_http_sources *sources = &r->http->sources;
	hob_own_buf workers = {0}, index = {0}, disk = {0}, notes = {0};
	health_error(sources, sources->workers_error, &workers);
	health_error(sources, sources->index_error, &index);
	health_error(sources, sources->disk_error, &disk);
	if (sources->notes)
		sources->notes(sources->user, &notes);
	const check checks[] = {
		{"http", true, ""},
		{"scan", ready, "the first scan of the roots is not done"},
		{"workers", workers.size <= 1, (const char *)workers.data},
		{"index", index.size <= 1, (const char *)index.data},
		{"disk", disk.size <= 1, (const char *)disk.data},
		{"serving", !atomic_load(&r->http->draining), "the daemon is stopping"},
	};
	return reply_checks(r, checks, HOB_COUNT_OF(checks), hob_buf_str(&notes), false);
}

enum MHD_Result srv_route_problem(request *r)
{
	for (int i = 0; i < PROBLEM_COUNT; i++) {
		const problem_kind *kind = &srv_problem_kinds[i];
		if (!hob_str_equal(r->args[0], hob_str_of(kind->slug)))
			continue;
		hob_buf body = {0};
		hob_buf_printf(&body, "%s (%d): %s\n", kind->title, kind->status, kind->meaning);
		return srv_reply_body(r, MHD_HTTP_OK, &body, "text/plain; charset=utf-8", NULL);
	}
	return srv_reply_problem(r, PROBLEM_NOT_FOUND, "see the 'type' of a problem",
							 "there is no problem '%.*s'", HOB_FMT(r->args[0]));
}

enum MHD_Result srv_route_farm(request *r)
{
	const srv_http_sources *from = &r->http->sources;
	hob_buf body = {0};
	hob_json_open(&body, '{');
	if (from->farm)
		from->farm(from->user, &body);
	hob_json_close(&body, '}');
	return srv_reply_json(r, MHD_HTTP_OK, &body);
}
