#include "inside.h"

#include "../../core/base/pieces.h"
#include "../fs/beneath.h"
#include "../log/log.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Identity of a caller: tokens for programs (Bearer, or Basic with the token as password), sessions of the
 * dashboard (the token in a cookie that scripts cannot read), and the origins of other web pages that the
 * owner allows. */

enum {
	LOOK_AGAIN_MS = 200,
	GUESSES_MAX = 10,
	GUESS_WINDOW_MS = 60000,
	GUESSERS = 256,
	SESSION_SECONDS = 30 * 24 * 3600
};

/* ---- the token file: read again when it changes */

typedef struct guesser {
	uint64_t network;
	int64_t since_ms;
	uint32_t failures;
} guesser;

/* Counts of wrong tokens by sender; shared by all shards of a server. */
typedef struct guesses {
	pthread_mutex_t lock;
	guesser guessers[GUESSERS];
	srv_stat told; /* the version of the file that the log names */
} guesses;

struct access_list {
	char *path;
	srv_tokens tokens;
	srv_stat seen;
	int64_t looked_ms;
	uint32_t readings; /* how often the file was read */
	guesses *guesses;
	bool owns_guesses;
};

static srv_stat look_at(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 ? srv_stat_of(&info) : (srv_stat){0};
}

access_list *srv_access_new(const char *path, access_list *first, hob_error *err)
{
	access_list *access = hob_must(calloc(1, sizeof *access));
	access->path = hob_must(strdup(path));
	access->owns_guesses = !first;
	access->guesses = first ? first->guesses : hob_must(calloc(1, sizeof *access->guesses));
	if (!first)
		pthread_mutex_init(&access->guesses->lock, NULL);
	/* stat before reading: a change in between is noticed at the next look. */
	access->seen = look_at(path);
	if (access->owns_guesses)
		access->guesses->told = access->seen;
	if (!srv_tokens_read(path, &access->tokens, err)) {
		srv_access_free(access);
		return NULL;
	}
	return access;
}

void srv_access_free(access_list *access)
{
	if (!access)
		return;
	srv_tokens_release(&access->tokens);
	if (access->owns_guesses) {
		pthread_mutex_destroy(&access->guesses->lock);
		free(access->guesses);
	}
	free(access->path);
	free(access);
}

uint32_t srv_access_count(const access_list *access)
{
	return access ? access->tokens.count : 0;
}

/* True once for each version of the file, in the first shard that asks. */
static bool is_news(guesses *shared, const srv_stat *file)
{
	SRV_LOCKED(&shared->lock);
	bool news = !srv_stat_equal(&shared->told, file);
	shared->told = *file;
	return news;
}

/* Reads a changed token file. If it is missing or invalid, all tokens are refused: one may have been
 * revoked. */
static void look_again(access_list *access, int64_t now_ms)
{
	if (now_ms - access->looked_ms < LOOK_AGAIN_MS)
		return;
	access->looked_ms = now_ms;
	srv_stat now = look_at(access->path);
	if (srv_stat_equal(&now, &access->seen))
		return;
	access->seen = now;
	access->readings++;
	srv_tokens_release(&access->tokens);
	hob_error error = {0};
	bool read = srv_tokens_read(access->path, &access->tokens, &error);
	if (!is_news(access->guesses, &now))
		return;
	if (read)
		srv_log(SRV_LOG_INFO, "tokens", "read again: %u", access->tokens.count);
	else
		srv_log(SRV_LOG_ERROR, "tokens", "all access is refused: %s", error.context);
}

uint32_t srv_access_readings(srv_http *http)
{
	if (!http->access)
		return 0;
	look_again(http->access, http->now_ms);
	return http->access->readings;
}

static srv_scope scope_of(request *r, hob_str token)
{
	r->shown_token = true;
	r->token = hob_sha256_of((hob_bytes){(const uint8_t *)token.data, token.len});
	return srv_tokens_scope_of(&r->http->access->tokens, &r->token);
}

bool srv_access_goes_on(const request *r)
{
	return !r->shown_token || srv_tokens_scope_of(&r->http->access->tokens, &r->token) != SRV_SCOPE_NONE;
}

/* ---- sessions */

/* Browsers send a host's cookies to all its ports, so the cookie's name contains the port. */
static void session_cookie(const request *r, char name[16])
{
	hob_str host = r->head.host;
	size_t at = host.len;
	while (at > 0 && host.data[at - 1] >= '0' && host.data[at - 1] <= '9')
		at--;
	bool has_port = at > 1 && at < host.len && host.len - at <= 5 && host.data[at - 1] == ':';
	snprintf(name, 16, "hob_%.*s", has_port ? (int)(host.len - at) : 0, host.data + at);
}

static hob_str session_token(const request *r)
{
	char name[16];
	session_cookie(r, name);
	return hob_str_of(MHD_lookup_connection_value(r->connection, MHD_COOKIE_KIND, name));
}

void srv_session_put(request *r, struct MHD_Response *response, hob_str token)
{
	char name[16];
	session_cookie(r, name);
	hob_str text =
		srv_print(r, "%s=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s", name, HOB_FMT(token),
				  token.len > 0 ? SESSION_SECONDS : 0, r->http->daemons[LIBRARY_TLS] ? "; Secure" : "");
	srv_response_add(response, "Set-Cookie", text.data);
}

srv_scope srv_session_scope(request *r, hob_str token)
{
	access_list *access = r->http->access;
	if (!access)
		return SRV_SCOPE_WRITE;
	look_again(access, r->http->now_ms);
	return token.len > 0 ? scope_of(r, token) : SRV_SCOPE_NONE;
}

srv_scope srv_session_now(request *r)
{
	hob_str token = session_token(r);
	srv_scope scope = srv_session_scope(r, token);
	r->head.session_over = scope == SRV_SCOPE_NONE && token.len > 0;
	return scope;
}

/* ---- tokens of requests */

static srv_scope shown_scope(request *r, bool *shown)
{
	hob_str field = r->head.authorization;
	if (field.len == 0) {
		srv_scope scope = srv_session_now(r);
		*shown = r->head.session_over;
		return scope;
	}
	*shown = true;
	if (field.len > 7 && hob_str_equal_nocase(hob_str_sub(field, 0, 7), HOB_STR("Bearer "))) {
		hob_str token = hob_str_sub(field, 7, field.len);
		while (token.len > 0 && token.data[0] == ' ')
			token = hob_str_sub(token, 1, token.len);
		return scope_of(r, token);
	}
	if (field.len < 6 || !hob_str_equal_nocase(hob_str_sub(field, 0, 6), HOB_STR("Basic ")))
		return SRV_SCOPE_NONE;
	char *password = NULL;
	char *name = MHD_basic_auth_get_username_password(r->connection, &password);
	srv_scope scope = password ? scope_of(r, hob_str_of(password)) : SRV_SCOPE_NONE;
	MHD_free(name);
	MHD_free(password);
	return scope;
}

/* The peer's /32 or /64 network; 0 for a Unix socket. */
static uint64_t peer_network(const request *r)
{
	hob_bytes peer = srv_request_peer(r);
	return peer.size > 4 ? hob_load_u64(peer.data) : peer.size > 0 ? hob_load_u32(peer.data) | 1ull << 32 : 0;
}

bool srv_access_guessed(request *r)
{
	uint64_t network = peer_network(r);
	guesses *shared = r->http->access->guesses;
	guesser *g = &shared->guessers[(network * 0x9E3779B97F4A7C15u) >> 56];
	pthread_mutex_lock(&shared->lock);
	if (g->network != network || r->http->now_ms - g->since_ms >= GUESS_WINDOW_MS)
		*g = (guesser){.network = network, .since_ms = r->http->now_ms};
	uint32_t failures = ++g->failures;
	pthread_mutex_unlock(&shared->lock);
	srv_count(&r->http->refused_token, 1);
	if (failures == GUESSES_MAX + 1)
		srv_log(SRV_LOG_WARNING, "tokens", "one address sends many wrong tokens; slowed down for a minute");
	return failures > GUESSES_MAX;
}

/* Requests that a token for a mirror root allows: uploading blobs, and reporting that root's files. */
static bool feeds_mirror(const request *r)
{
	static const route_id feeders[] = {ROUTE_blob_put, ROUTE_mirror_session, ROUTE_mirror_have,
									   ROUTE_mirror_changes, ROUTE_mirror_manifest};
	for (size_t i = 0; i < HOB_COUNT_OF(feeders); i++)
		if (r->route == feeders[i])
			return true;
	return false;
}

static hob_str place_of(const request *r)
{
	return r->shown_token ? srv_tokens_place(&r->http->access->tokens, &r->token) : (hob_str){0};
}

hob_str srv_access_mirror_folder(const request *r)
{
	hob_str mirror = place_of(r);
	size_t slash = hob_str_find(mirror, HOB_STR("/"), 0);
	return slash == SIZE_MAX ? (hob_str){0} : hob_str_sub(mirror, slash + 1, mirror.len);
}

/* Whether the route changes nothing, whatever the method. */
static bool only_reads(const request *r)
{
	static const char *const readers[] = {"/api/v1/sync", "/blobs:batch", "/records:batch",
										  "/api/v1/commits/{id}/cook"};
	bool reads = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
	for (size_t i = 0; i < HOB_COUNT_OF(readers); i++)
		reads = reads || strcmp(srv_route_pattern(r->route), readers[i]) == 0;
	return reads;
}

/* Whether a token of `root` allows the request as far as its address tells. The thread of the repository
 * looks whether a reference of the glob leads to the commit. */
static bool is_of_reference(request *r, hob_str root, hob_str glob)
{
	hob_str asked = r->route == ROUTE_asset_data ? r->args[0] : root, at;
	bool reads =
		r->route == ROUTE_commit || (r->route == ROUTE_asset_data && srv_request_param(r, "at", &at));
	if (r->route == ROUTE_commit)
		srv_request_param(r, "root", &asked);
	r->root_only = srv_print(r, "%.*s", HOB_FMT(root));
	r->refs_only = srv_print(r, "%.*s", HOB_FMT(glob));
	return reads && hob_str_equal(asked, root);
}

/* Routes that reveal nothing about assets: health, the dashboard's own files, and the sign-in. */
static bool is_open(const request *r)
{
	static const route_id open[] = {ROUTE_livez,		ROUTE_healthz,		 ROUTE_readyz,	 ROUTE_session,
									ROUTE_session_open, ROUTE_session_close, ROUTE_page,	 ROUTE_page_home,
									ROUTE_page_index,	ROUTE_page_below,	 ROUTE_web_file, ROUTE_page_icon};
	for (size_t i = 0; i < HOB_COUNT_OF(open); i++)
		if (r->route == open[i])
			return true;
	return false;
}

enum MHD_Result srv_reply_guesses(request *r)
{
	return srv_reply_problem_text(
		r, PROBLEM_GUESSES,
		&(problem_text){.detail = HOB_STR("too many wrong tokens from this address"),
						.hint = HOB_STR("a right token is let in at any time"),
						.retry_after_s = GUESS_WINDOW_MS / 1000});
}

enum MHD_Result srv_reply_wrong_token(request *r)
{
	if (srv_access_guessed(r))
		return srv_reply_guesses(r);
	return srv_reply_problem(r, PROBLEM_TOKEN, "hob token create NAME --token-file FILE makes one",
							 "this token is not valid here");
}

bool srv_access_check(request *r)
{
	access_list *access = r->http->access;
	if (!access || is_open(r))
		return true;
	bool shown;
	look_again(access, r->http->now_ms);
	srv_scope scope = shown_scope(r, &shown);
	srv_scope needed = only_reads(r) ? SRV_SCOPE_READ : feeds_mirror(r) ? SRV_SCOPE_MIRROR : SRV_SCOPE_WRITE;
	hob_str place = place_of(r), root = hob_str_next(&place, '/');
	if (scope == SRV_SCOPE_REF)
		return is_of_reference(r, root, place) ||
			   srv_refuse(r, PROBLEM_SCOPE, "ask for a token that may read: hob token create NAME",
						  "this token may only read commits: /a/%.*s/...?at=COMMIT, and "
						  "GET /api/v1/commits/COMMIT",
						  HOB_FMT(root));
	bool elsewhere = scope == SRV_SCOPE_MIRROR && needed == SRV_SCOPE_MIRROR && r->route != ROUTE_blob_put &&
					 !hob_str_equal(root, r->args[0]);
	if (scope >= needed && !elsewhere)
		return true;
	if (elsewhere)
		return srv_refuse(
			r, PROBLEM_SCOPE, "ask for a token of this root: hob token create NAME --mirror ROOT",
			"this token may feed the mirror root '%.*s', and not '%.*s'", HOB_FMT(root), HOB_FMT(r->args[0]));
	const char *write = "ask for a token that may write: hob token create NAME --write";
	if (scope == SRV_SCOPE_MIRROR)
		return srv_refuse(r, PROBLEM_SCOPE, write, "this token may read, and feed the mirror root '%.*s'",
						  HOB_FMT(root));
	if (scope != SRV_SCOPE_NONE)
		return srv_refuse(r, PROBLEM_SCOPE,
						  needed == SRV_SCOPE_MIRROR
							  ? "ask for a token of a mirror root: hob token create NAME --mirror ROOT"
							  : write,
						  "this token may read and not write");
	if (!shown)
		return srv_refuse(r, PROBLEM_TOKEN, "send Authorization: Bearer TOKEN; people sign in at /",
						  "this daemon asks for a token");
	r->result = srv_reply_wrong_token(r);
	return false;
}

/* ---- origins */

bool srv_answer_preflight(request *r)
{
	if (strcmp(r->method, "OPTIONS") != 0 || r->head.preflight.len == 0 || !srv_origin_is_friend(r))
		return false;
	struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	srv_response_add(response, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
	srv_response_add(
		response, "Access-Control-Allow-Headers",
		"Authorization, Content-Range, Content-Type, Content-Encoding, If-Match, If-None-Match, If-Range, "
		"Last-Event-ID, "
		"Prefer, Range, X-Digest-SizeBytes");
	srv_response_add(response, "Access-Control-Max-Age", "600");
	r->result = srv_reply(r, MHD_HTTP_NO_CONTENT, response, 0);
	return true;
}
