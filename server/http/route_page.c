#include "inside.h"
#include "embed.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fs/transfer.h"
#include "web.h"

EMBED(hob_icon_svg, "server/http/icon.svg");
EMBED(hob_openapi, "schema/openapi.json");

/* The decoders of compressed models are WebAssembly, which three.js loads from a data: address. */
static const char page_policy[] =
	"default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data: blob:; "
	"connect-src 'self' data: blob:; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/* The worker that unpacks Basis Universal compiles functions from text, and has no network access. */
static const char basis_policy[] = "default-src 'none'; script-src 'unsafe-eval' 'wasm-unsafe-eval'";

static enum MHD_Result reply_response(request *r, struct MHD_Response *response, hob_bytes bytes,
									  const char *type, const char *policy, bool for_ever)
{
	char etag[40];
	uint64_t hash[2];
	hob_fast_hash(bytes, hash);
	snprintf(etag, sizeof etag, "\"%016llx\"", (unsigned long long)hash[0]);
	srv_response_type(response, type);
	srv_response_add(response, "Cache-Control",
					 for_ever ? "public, max-age=31536000, immutable" : "no-cache");
	srv_response_add(response, "ETag", etag);
	srv_response_add(response, "Content-Security-Policy", policy);
	srv_response_add(response, "Referrer-Policy", "no-referrer");
	bool unchanged = r->head.if_none_match.data && srv_etag_in_list(r->head.if_none_match, hob_str_of(etag));
	return srv_reply(r, unchanged ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response, bytes.size);
}

static struct MHD_Response *response_of_program(hob_bytes bytes)
{
	return MHD_create_response_from_buffer(bytes.size, (void *)(uintptr_t)bytes.data, MHD_RESPMEM_PERSISTENT);
}

enum MHD_Result srv_reply_file(request *r, const char *begin, const char *end, const char *type)
{
	hob_bytes bytes = {(const uint8_t *)begin, (size_t)(end - begin)};
	return reply_response(r, response_of_program(bytes), bytes, type, page_policy, false);
}

/* ---- the dashboard */

static const srv_web_file *find_web_file(hob_str name)
{
	for (const srv_web_file *file = srv_web_files; file->name; file++)
		if (hob_str_equal(name, hob_str_of(file->name)))
			return file;
	return NULL;
}

static const char *type_of(hob_str name)
{
	static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
										   {".js", "text/javascript; charset=utf-8"},
										   {".css", "text/css; charset=utf-8"},
										   {".svg", "image/svg+xml"},
										   {".wasm", "application/wasm"}};
	for (size_t i = 0; i < HOB_COUNT_OF(types); i++)
		if (hob_str_ends_nocase(name, hob_str_of(types[i][0])))
			return types[i][1];
	return "application/octet-stream";
}

/* --web-root: reads the file from disk. A name has no slash, so it cannot leave the folder. */
static bool read_web_file(const srv_http *http, hob_str name, hob_buf *out)
{
	hob_own_buf path = {0};
	hob_buf_printf(&path, "%s/%.*s", http->web_root, HOB_FMT(name));
	hob_buf_put(&path, "", 1);
	bool plain = name.len > 0 && name.data[0] != '.' && !memchr(name.data, '/', name.len) && !path.failed;
	srv_own_fd fd = plain ? open((const char *)path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat info;
	bool file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
	uint8_t *room = file ? hob_buf_grow(out, (size_t)info.st_size) : NULL;
	return file && (room || info.st_size == 0) && srv_read_all(fd, room, (size_t)info.st_size);
}

static enum MHD_Result reply_web(request *r, hob_str name, bool for_ever)
{
	const char *policy = hob_str_starts(name, HOB_STR("basis-")) ? basis_policy : page_policy;
	const srv_web_file *file = find_web_file(name);
	if (r->http->web_root) {
		hob_buf body = {0};
		bool found = read_web_file(r->http, name, &body);
		hob_bytes bytes = {body.data, body.size};
		if (found)
			return reply_response(
				r, MHD_create_response_from_buffer_with_free_callback(bytes.size, body.data, hob_buf_free),
				bytes, type_of(name), policy, false);
		hob_buf_release(&body);
		file = NULL;
	}
	if (!file)
		return srv_reply_problem(r, PROBLEM_NOT_FOUND,
								 "load the page again; the program may have been updated",
								 "the dashboard has no file '%.*s'", HOB_FMT(name));
	bool packed = !file->plain || srv_request_takes_gzip(r);
	const char *begin = packed ? file->packed : file->plain,
			   *end = packed ? file->packed_end : file->plain_end;
	hob_bytes bytes = {(const uint8_t *)begin, (size_t)(end - begin)};
	struct MHD_Response *response = response_of_program(bytes);
	srv_response_add(response, "Vary", "Accept-Encoding");
	if (packed)
		srv_response_add(response, "Content-Encoding", "gzip");
	return reply_response(r, response, bytes, file->type, policy, for_ever);
}

enum MHD_Result srv_route_web_file(request *r)
{
	return reply_web(r, r->args[0], true);
}

static bool has_dashboard(const srv_http *http)
{
	return http->web_root || srv_web_files[0].name;
}

enum MHD_Result srv_route_page(request *r)
{
	if (has_dashboard(r->http))
		return reply_web(r, HOB_STR("index.html"), false);
	static const char note[] =
		"<!doctype html><title>Hob</title><p>Hob runs here, built without its dashboard (see web/README.md). "
		"The commands of <code>hob help</code> and <a href=\"/openapi.json\">its API</a> show everything.\n";
	return srv_reply_file(r, note, note + sizeof note - 1, "text/html; charset=utf-8");
}

enum MHD_Result srv_route_page_home(request *r)
{
	return srv_route_page(r);
}

enum MHD_Result srv_route_page_index(request *r)
{
	return srv_route_page(r);
}

/* Sends the page of an address below /ui. The unfiltered list, on a server without tokens, has a page that
 * requests its first rows at once. */
enum MHD_Result srv_route_page_below(request *r)
{
	bool list = hob_str_equal(r->args[0], HOB_STR("assets")) && r->param_count == 0 && !r->http->access;
	return list && has_dashboard(r->http) ? reply_web(r, HOB_STR("assets.html"), false) : srv_route_page(r);
}

/* ---- files that every build has */

enum MHD_Result srv_route_page_icon(request *r)
{
	return srv_reply_file(r, hob_icon_svg_begin, hob_icon_svg_end, "image/svg+xml");
}

enum MHD_Result srv_route_openapi(request *r)
{
	return srv_reply_file(r, hob_openapi_begin, hob_openapi_end, "application/json");
}
