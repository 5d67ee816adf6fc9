/* inside.h - shared by the files of server/http: the server, its connections, and the functions for handlers.
 *
 * A server is an array of shards, each with a thread, libmicrohttpd, connections and prepared responses of
 * its own. `srv_http` is one shard; the handle of http.h is the first of the array. The first one accepts
 * connections and gives each to a shard, where it stays. Shards share views, blobs, events, uploads and the
 * count of wrong tokens. A request takes no lock of another shard unless it asks for sums or uploads.
 *
 * Everything here runs on the thread of the request's shard. Other threads reach it only through the mailbox
 * of asks; the exception is the thread that decodes uploads (route_upload.c).
 *
 *              head complete           handler replied            answer sent
 *   WAITING --------------> BUSY ------------------------> BUSY --------------> WAITING (keep-alive)
 *      | deadline, or room is needed        ^ | park: suspended until an event, an answer or a deadline
 *      v                                    | v
 *   shut down                              PARKED      (after a park, handlers are called from their top)
 */
#ifndef SRV_HTTP_INSIDE_H
#define SRV_HTTP_INSIDE_H

#include "http.h"
#include "../../core/base/array.h"

#include "../../core/base/percent.h"
#include "../../core/base/pieces.h"
#include "../../core/hash/hex.h"
#include "../auth/tokens.h"
#include "../fs/fd.h"
#include "../fs/lock.h"

#include <cjson/cJSON.h>
#include <microhttpd.h>
#include <stdatomic.h>

enum {
	BODY_MAX = 1 << 20,
	PARAMS_MAX = 16,
	ARGS_MAX = 2,
	LISTENERS_MAX = 8,
	SHARDS_MAX = 32,
	ACCEPT_BATCH = 64,
	POOL_BYTES = 10240,		  /* the library clears the whole pool after each request, so it is small */
	FIELD_BYTES = 64,		  /* bytes of the pool per header field */
	ANSWER_HEAD_BYTES = 1280, /* bytes of the pool for the head of an answer */
	BODY_DEADLINE_MS = 30000, /* time limit for a request's body */
	UPLOAD_BYTES_PER_MS = 64, /* an upload gets 1 ms more per this many bytes */
	HEARTBEAT_MS = 10000,	  /* after this silence an event stream sends a comment */
	WAIT_MAX_MS = 60000,	  /* longest "Prefer: wait" and long poll */
	TICK_MS = 250			  /* precision of deadlines */
};

typedef struct request request;
typedef enum MHD_Result (*route_handler)(request *r);

typedef enum route_id {
#define ROUTE(method, pattern, handler, parameters, doc) ROUTE_##handler,
#include "../../schema/routes.def"
#undef ROUTE
	ROUTE_NONE, /* requests refused before or without a route */
	ROUTE_COUNT
} route_id;

#define ROUTE(method, pattern, handler, parameters, doc) enum MHD_Result srv_route_##handler(request *r);
#include "../../schema/routes.def"
#undef ROUTE

typedef enum problem_id {
#define PROBLEM(name, status, slug, title, meaning, hint) PROBLEM_##name,
#include "../../schema/problems.def"
#undef PROBLEM
	PROBLEM_COUNT
} problem_id;

typedef struct problem_kind {
	int status;
	const char *slug, *title, *meaning, *hint;
} problem_kind;

extern const problem_kind srv_problem_kinds[PROBLEM_COUNT];

/* ---- requests ---- */

typedef struct param {
	hob_str name, value; /* value is decoded */
} param;

/* Header fields that this server uses; values as sent, empty when absent. */
typedef struct head {
	hob_str host, origin, fetch_site, authorization, preflight, content_type, content_length,
		content_encoding, content_range, digest_size, accept, accept_encoding, range, if_range, if_match,
		if_none_match, prefer, last_event_id, user_agent, forwarded_proto;
	uint32_t host_count, length_count;
	bool chunked, bad_coding, bad_name, bad_value, bad_line;
	const char *next_line; /* while the head is read: where the next header line must begin */
	uint32_t field_count;
	size_t path_at;	   /* offset of the path in the target: behind scheme and host in absolute form, else 0 */
	bool session_over; /* the request's cookie has an invalid token: the answer clears the cookie */
} head;

typedef struct ask {
	srv_control control;
	struct mailbox *box;
	request *owner; /* NULL: the client is gone, the answer is dropped */
	bool answered;
	int status;
	hob_buf body;
	char *texts; /* owns the texts of `control` */
	struct ask *next;
} ask;

typedef enum phase { WAITING, BUSY } phase;

struct request {
	srv_http *http;
	struct MHD_Connection *connection;
	int fd;
	phase phase;
	bool served_before, has_head, closing, corked;
	int64_t gone_ms;  /* when the peer closed its side; 0: not yet */
	int64_t since_ms; /* start of this phase */
	int64_t body_deadline_ms;
	struct request *older, *newer; /* all open connections, longest in its phase first */

	char *target; /* copy of the request target, decoded in place piece by piece */
	size_t target_capacity;
	const char *method;
	route_id route;
	bool begun, checked;
	bool distrusted; /* the message's end is uncertain: close the connection after the answer */
	head head;
	hob_str path; /* as sent */
	hob_str args[ARGS_MAX];
	uint32_t arg_count;
	param params[PARAMS_MAX];
	uint32_t param_count;
	hob_buf body;

	struct upload *upload; /* the blob that is uploaded, while its body arrives */
	bool shown_token;	   /* the request has a token, with this digest: */
	hob_sha256 token;
	hob_str root_only, refs_only; /* a token of references: its root, and its glob; NULL: everything */
	struct stream *stream;		  /* set if this request is an event stream */
	ask *ask;					  /* the newest question to the loop, kept until the request completes */
	uint32_t asked;				  /* number of asks so far */
	bool parked;				  /* suspended by the server */
	uint64_t body_left;			  /* bytes of the body still to come, as announced */
	bool takes_interim;			  /* the client speaks HTTP/1.1 */
	bool whole;					  /* all of it has come, so the next run of the library calls the handler */
	int hidden;					  /* the connection's socket, while the library reads http->silence; or -1 */
	bool polling;				  /* parked for an event, and in http->pollers */
	int64_t deadline_ms;		  /* of the poll; 0 before it starts */
	uint64_t poll_since;
	struct request *next_poller;
	enum MHD_Result result; /* of the answer that srv_refuse sent */
};

/* A handler borrows until it returns: the view, texts that it prints, and the JSON parsed last. */
const srv_view *srv_request_view(request *r);
#define srv_print(r, ...) hob_arena_printf(&(r)->http->scratch, __VA_ARGS__)
const cJSON *srv_request_parse(request *r, hob_str json); /* NULL: it is none */
const cJSON *srv_request_json(request *r);				  /* the body */
hob_str srv_json_text(const cJSON *object, const char *name);
void srv_request_return(srv_http *http); /* returns what was borrowed */

/* First parameter with this name; false if there is none. */
bool srv_request_param(const request *r, const char *name, hob_str *out);
/* Parses a parameter. Like others below, it returns false after sending a problem; the handler then returns
 * r->result. A flag is "1", "true" or empty, or "0" or "false". A number is decimal and in [min,max]. */
bool srv_request_flag(request *r, const char *name, bool fallback, bool *out) HOB_MUST_CHECK;
bool srv_request_number(request *r, const char *name, uint64_t min, uint64_t max, uint64_t fallback,
						uint64_t *out) HOB_MUST_CHECK;
/* "Prefer: wait=N" in milliseconds, limited to WAIT_MAX_MS; 0 if absent. */
uint32_t srv_request_wait_ms(const request *r);
/* Whether the Prefer field contains the word. */
bool srv_request_prefers(const request *r, const char *what);
/* Whether the Accept field allows the type ("application/json"). */
bool srv_request_accepts(const request *r, const char *type);
typedef enum coding { CODING_ZSTD, CODING_GZIP, CODING_COUNT } coding_id;
/* The client's weight for each form, in thousandths; 0: not accepted. */
typedef struct codings {
	uint16_t weight[CODING_COUNT], plain;
} codings;
/* Parses Accept-Encoding. A request without it accepts only the unencoded form. */
void srv_request_codings(const request *r, codings *out);
const char *srv_coding_name(coding_id which);
/* Whether gzip has at least the weight of the unencoded form. */
bool srv_request_takes_gzip(const request *r);
bool srv_parse_decimal(hob_str text, uint64_t *out);
hob_str srv_trim(hob_str text); /* removes blanks at both ends */

/* Splits and decodes the target, and finds the route.  False after sending a problem. */
bool srv_request_route(request *r) HOB_MUST_CHECK;
route_handler srv_route_handler_of(route_id route);
const char *srv_route_pattern(route_id route);
/* Reads the header fields into r->head; `version` is the last word of the request line. */
void srv_request_read_head(request *r, const char *version);
/* False if the head leaves no room in the library's pool for the head of an answer. */
bool srv_request_head_fits(const request *r);
bool srv_request_has_body(const request *r); /* according to the head */
/* Checks the head. False after sending a problem. */
bool srv_request_check_head(request *r) HOB_MUST_CHECK;
/* Checks the size and media type of the body against the route. */
bool srv_request_check_body(request *r) HOB_MUST_CHECK;
/* Whether a browser sent the request for a page of another web site (Origin, Sec-Fetch-Site). */
bool srv_request_is_foreign(const request *r);
/* Decodes in place; false on a bad escape, NUL, or (unless raw) a control byte or invalid UTF-8. */
bool srv_decode_percent(hob_str *text, bool plus_is_space, bool raw);
/* The client's number in srv_uses; srv_request_uses notes that the client requested the asset or folder. */
hob_bytes srv_request_peer(const request *r); /* 4 or 16 bytes; empty for a Unix socket */
uint64_t srv_request_client(const request *r);
void srv_request_uses(const request *r, hob_str name);

/* ---- access ---- */

typedef struct access_list access_list;
/* Reads the token file, for one shard; NULL with *err set. The lists of a server share the count of wrong
 * tokens of the first list (`first`; NULL for that one), which is freed last. */
access_list *srv_access_new(const char *path, access_list *first, hob_error *err);
void srv_access_free(access_list *access);
uint32_t srv_access_count(const access_list *access);
/* Reads the token file again if it has changed. Returns the number of readings; 0 without tokens. */
uint32_t srv_access_readings(srv_http *http);
/* srv_access_goes_on: false if the token of an answer in progress has been revoked. srv_access_check, after
 * r->route is known: whether the token allows the method; false after sending a problem. */
bool srv_access_goes_on(const request *r);
bool srv_access_check(request *r) HOB_MUST_CHECK;
/* Counts an invalid token. True if its sender has used up the guesses of this minute: srv_reply_guesses. */
bool srv_access_guessed(request *r);
enum MHD_Result srv_reply_guesses(request *r);
/* Counts an invalid token and answers 401, or 429 after many of them. */
enum MHD_Result srv_reply_wrong_token(request *r);
/* The folder below the mirror root {root} to which the request's token is limited; "": the whole root. */
hob_str srv_access_mirror_folder(const request *r);
/* The scope of a token, and of the session in the request's cookie; WRITE if the server has no tokens. */
srv_scope srv_session_scope(request *r, hob_str token);
srv_scope srv_session_now(request *r);
/* Sets the session's cookie to this token; an empty one ends the session. */
void srv_session_put(request *r, struct MHD_Response *response, hob_str token);
/* Whether the request comes from a page of an allowed origin. */
bool srv_origin_is_friend(const request *r);
/* Answers a preflight of an allowed origin; false if the request is none. */
bool srv_answer_preflight(request *r) HOB_MUST_CHECK;

/* ---- replies ---- */

/* Makes a response that owns the buffer's memory. NULL without memory. */
struct MHD_Response *srv_response_of(hob_buf *body, const char *content_type);
void srv_response_add(struct MHD_Response *response, const char *name, const char *value);
/* Adds the type, which browsers must not guess, and keeps the bytes from other pages. */
void srv_response_type(struct MHD_Response *response, const char *type);
/* Queues, counts and releases the response (NULL: closes the connection). `bytes`: size of its body. */
enum MHD_Result srv_reply(request *r, int status, struct MHD_Response *response, uint64_t bytes);
/* Queues a response that the caller keeps. */
enum MHD_Result srv_reply_shared(request *r, int status, struct MHD_Response *response, uint64_t bytes);
/* Sends the body, which it takes, with header fields: "name", "value", ..., NULL. One without a value is left
 * out. */
enum MHD_Result srv_reply_body(request *r, int status, hob_buf *body, const char *type, ...)
	__attribute__((sentinel));
/* Sends JSON with this status; 406 if the client does not accept it. Takes the buffer. */
enum MHD_Result srv_reply_json(request *r, int status, hob_buf *body);

/* Sends a problem. `detail` is a printf format; `hint` may be NULL. */
enum MHD_Result srv_reply_problem(request *r, problem_id id, const char *hint, const char *detail, ...)
	HOB_PRINTF(4, 5);
typedef struct problem_text {
	hob_str code, detail, hint, asset, instance;
	hob_str members;   /* additional JSON members, beginning with a comma */
	const char *allow; /* Allow, NULL: none */
	uint32_t retry_after_s;
	bool has_size; /* sends Content-Range: bytes * / size */
	uint64_t size;
	uint64_t held; /* Upload-Offset, unless 0 */
} problem_text;
enum MHD_Result srv_reply_problem_text(request *r, problem_id id, const problem_text *text);
/* The same for a check: they send the problem to r->result, and are false. */
#define srv_refuse(r, ...)		((r)->result = srv_reply_problem((r), __VA_ARGS__), false)
#define srv_refuse_text(r, ...) ((r)->result = srv_reply_problem_text((r), __VA_ARGS__), false)
/* Appends a problem's JSON. */
void srv_put_problem(hob_buf *out, problem_id id, const problem_text *text);
void srv_count_reply(request *r, int status, uint64_t bytes);
/* Sends the loop's answer in r->ask; from status 400 on as a problem with the code, detail and hint in its
 * body. */
enum MHD_Result srv_reply_answer(request *r, const char *content_type);
/* Sends an embedded file, with an ETag and no-cache. */
enum MHD_Result srv_reply_file(request *r, const char *begin, const char *end, const char *type);
/* Sends 202 with the loop's answer; Location is `folder` and the job's number in that answer. */
enum MHD_Result srv_reply_accepted(request *r, const char *folder);

/* ---- refusals where the library would close without an answer, or answer twice ---- */

/* Refuses a complete head that fills the library's pool: 414 or 431. */
void srv_refuse_head(request *r);
/* Called when the library reports an invalid Content-Length. */
void srv_refuse_length(srv_http *http);
/* Called when the library is about to answer `status` in HTML to a head that it cannot parse. It does not say
 * on which connection: if only one comes into question, sends a problem there instead. */
void srv_refuse_unread(srv_http *http, unsigned status);

/* ---- asking the loop ---- */

typedef struct mailbox mailbox;
mailbox *srv_mailbox_new(int wake_fd);
void srv_mailbox_drop(mailbox *box);
/* Returns the asks answered since the last call, as a list; asks without an owner are already freed. */
ask *srv_mailbox_take(mailbox *box);

/* Posts a copy of the question and parks; the handler runs again once r->ask->answered. */
enum MHD_Result srv_ask(request *r, srv_control_kind kind, hob_str asset, const srv_control *rest);
void srv_ask_forget(request *r);
/* The peer has closed its side, or both (`whole`): tells the loop that work for this request alone can be
 * dropped, unless the peer may still read the answer. */
void srv_ask_abandon(request *r, bool whole);
/* Posts a question without waiting for the answer. `rest` has no texts. */
void srv_ask_aside(srv_http *http, srv_control_kind kind, const srv_control *rest);

/* Opens every address of a list "127.0.0.1:7780,[::1]:7780,unix:/run/hob.sock"; "localhost:7780" is both
 * loopback addresses. Errors: CONFIG, IO. Sockets opened before an error stay in http->listeners. */
bool srv_listeners_open(srv_http *http, const char *list, hob_error *err) HOB_MUST_CHECK;
/* Takes over sockets that already listen. */
bool srv_listeners_take(srv_http *http, const int *fds, uint32_t count, hob_error *err) HOB_MUST_CHECK;
/* Nobody connects to the own listeners any more; who waits there can still be accepted. */
void srv_listeners_shut(srv_http *http);

/* ---- parking ---- */

/* Suspends the connection; on_request runs the handler again after unpark. */
void srv_request_park(request *r);
void srv_request_unpark(request *r);
/* Holds back the head until the body follows, so that both share packets; undone when the answer is sent. */
void srv_request_cork(request *r, int on);
bool srv_speaks_tls(const request *r); /* guard.c */
/* Parks until there is an event newer than r->poll_since, or until r->deadline_ms. */
void srv_request_park_for_event(request *r);

/* ---- event streams ---- */

typedef struct stream stream;
/* After events were published, and at ticks: wakes streams that have something to send. */
void srv_streams_wake(srv_http *http);
void srv_streams_tick(srv_http *http);
/* Appends a list item per stream of all shards: client, start, filter, and last event sent. */
void srv_streams_put(srv_http *http, hob_buf *out);
/* Ends a stream whose peer has closed. */
void srv_stream_hang_up(stream *s);

enum { FILTER_KINDS = 8, FILTER_GLOBS = 8 };
typedef struct event_filter {
	char *globs[FILTER_GLOBS]; /* owned */
	char *kinds[FILTER_KINDS];
	uint32_t glob_count, kind_count;
} event_filter;
/* From the parameters asset= (repeatable) and kinds=. False after sending a problem. */
bool srv_event_filter_init(event_filter *filter, request *r) HOB_MUST_CHECK;
void srv_event_filter_release(event_filter *filter);
bool srv_event_filter_passes(const event_filter *filter, const srv_event *event);

typedef enum since_kind { SINCE_NOW, SINCE_SEQ, SINCE_LOST } since_kind;
/* Last-Event-ID, else the parameter since: "<epoch>.<seq>" or "<seq>". LOST: it has another epoch or cannot
 * be parsed. */
since_kind srv_event_since(request *r, uint64_t *seq);

/* ---- blobs ---- */

typedef struct blob blob;
typedef struct blob_cache blob_cache;
blob_cache *srv_blob_cache_new(srv_store *store, uint32_t max_entries);
void srv_blob_cache_free(blob_cache *cache);
void srv_blob_cache_tick(blob_cache *cache, int64_t now_ms); /* drops entries not used for a minute */
uint32_t srv_blob_cache_count(const blob_cache *cache);
/* NULL if the store does not have the blob or cannot read it. Valid until the next call of a cache
 * function. */
blob *srv_blob_find(blob_cache *cache, const hob_sha256 *digest, int64_t now_ms);
blob *srv_blob_made(request *r); /* the one whose digest is the answer of the loop; NULL: there is none */
/* Answers conditional and range requests, for a blob by name (with headers of its own) or, with extra ==
 * NULL, by hash. Accept-Encoding chooses the form: if the encoding has not been made yet, it is ordered and
 * the unencoded blob sent; a client that prefers to wait ("Prefer: encoded") or refuses the unencoded form is
 * parked until it is made, and the handler called again. */
typedef struct blob_headers {
	/* Content-Location, Cook-State, Cook-Standing, Cook-Quality, Cook-Rev; NULL: without */
	const char *location, *state, *standing, *quality, *rev;
	const char *type; /* Content-Type; NULL: generic bytes */
	bool as_it_is;	  /* never encode: it is compressed, or a foreign file */
} blob_headers;
enum MHD_Result srv_reply_blob(request *r, blob *b, const blob_headers *extra);
/* Sends the blob whose digest is the loop's answer, or the loop's problem. what: for the message if the blob
 * has disappeared. */
enum MHD_Result srv_reply_made(request *r, const char *type, const char *what);
/* Answers GET /blobs/{sha256}; `type`: Content-Type, NULL: generic bytes. */
enum MHD_Result srv_reply_named_blob(request *r, const hob_sha256 *digest, const char *type);

/* The upload of a blob; its bytes go to the store as they arrive. begin: false after sending a problem. */
typedef struct upload upload;
typedef struct uploads uploads;
uploads *srv_uploads_new(void);
/* Drops interrupted uploads and ends the decoding thread, after all shards. NULL is allowed. */
void srv_uploads_free(uploads *all);
bool srv_upload_begin(request *r) HOB_MUST_CHECK;
/* Writes the next bytes; parks the request of an encoded blob until they are decoded. */
void srv_upload_put(upload *u, hob_bytes bytes);
void srv_uploads_decoded(srv_http *http); /* called after a wake: unparks requests */
/* Ends an upload. The bytes of an interrupted unencoded upload are kept for a client that resumes; all else
 * is dropped. NULL is allowed. */
void srv_upload_free(upload *u);
/* Number of bytes kept from an interrupted upload of the blob. */
uint64_t srv_upload_held(const srv_http *http, const hob_sha256 *digest);

typedef enum range_result { RANGE_WHOLE, RANGE_PART, RANGE_NOWHERE } range_result;
/* RFC 9110 14: one byte range gives PART with *first <= *last < size; several ranges, other units and
 * malformed ones give WHOLE; a range without a byte of the blob gives NOWHERE. */
range_result srv_range_parse(hob_str field, uint64_t size, uint64_t *first, uint64_t *last);
/* Weak comparison of an If-None-Match list with the tag, which includes its quotes. */
bool srv_etag_in_list(hob_str list, hob_str tag);

/* ---- JSON of assets ---- */

#define ASSET_FIELDS(X)                                                                                      \
	X(id)                                                                                                    \
	X(name)                                                                                                  \
	X(path)                                                                                                  \
	X(root)                                                                                                  \
	X(kind)                                                                                                  \
	X(state)                                                                                                 \
	X(standing)                                                                                              \
	X(quality)                                                                                               \
	X(rev)                                                                                                   \
	X(cooked_at)                                                                                             \
	X(cook_ms)                                                                                               \
	X(bytes)                                                                                                 \
	X(stats)                                                                                                 \
	X(warnings)                                                                                              \
	X(findings)                                                                                              \
	X(error)                                                                                                 \
	X(links)                                                                                                 \
	X(source)                                                                                                \
	X(record) X(reason) X(settings) X(outputs) X(deps) X(reproducibility) X(moved_from) X(report) X(content)

typedef enum asset_field {
#define X(name) FIELD_##name,
	ASSET_FIELDS(X)
#undef X
		FIELD_COUNT
} asset_field;

enum { FIELDS_LIST = (1 << (FIELD_links + 1)) - 1, FIELDS_ALL = (1 << FIELD_COUNT) - 1 };

void srv_put_asset(hob_buf *out, const srv_view_asset *asset, uint32_t fields);
uint64_t srv_http_texture_bytes(const srv_view_asset *asset); /* size of its cooked textures */
/* Parses fields=id,path,state and expand=outputs,deps to bits; false after sending a problem. */
bool srv_request_fields(request *r, uint32_t fallback, uint32_t *out) HOB_MUST_CHECK;
/* The asset of {id}; NULL: a 404 was sent. */
const srv_view_asset *srv_request_asset(request *r);
/* Sends 422 with the error of the asset; `more`: added to its hint. */
enum MHD_Result srv_reply_cook_failed(request *r, const srv_view_asset *asset, hob_str more);
/* Whether outputs exist, of this cook or an earlier one. */
bool srv_asset_has_good(const srv_view_asset *asset);

/* ---- profiles: the same folder cooked with other settings ---- */

bool srv_is_profile(hob_str profile); /* false for "" and "default", which are the root itself */
/* The name of the root for the profile. */
hob_str srv_profile_root(request *r, hob_str root, hob_str profile);
const srv_view_root *srv_find_root(request *r, hob_str name);
/* Sends 404, with the existing profiles and how to add this one. */
enum MHD_Result srv_reply_no_profile(request *r, hob_str root, hob_str profile);

/* Checks the name of a user of live models (server/live/live.h). False: 400 for an invalid name. */
bool srv_check_live_user(request *r, hob_str user);

/* The name in *full of the asset of the path {path...} in a commit of a git repository. False: r->result is a
 * redirect to the commit's id, a refusal, or the request waits for the commit's folder. */
bool srv_find_at_commit(request *r, hob_str root, hob_str at, hob_str *full);

/* ---- the library ---- */

typedef enum library_kind { LIBRARY_PLAIN, LIBRARY_TLS, LIBRARY_COUNT } library_kind;

typedef struct library_callbacks {
	MHD_AccessHandlerCallback request;
	void *(*target)(void *, const char *, struct MHD_Connection *);
	size_t (*unescape)(void *, struct MHD_Connection *, char *);
	MHD_NotifyConnectionCallback connection;
	MHD_RequestCompletedCallback completed;
} library_callbacks;

/* Starts a daemon for plain connections and, with a certificate, one for TLS. Errors: CONFIG, IO. */
bool srv_library_start(srv_http *http, const library_callbacks *callbacks, const char *certificate,
					   const char *key, hob_error *err) HOB_MUST_CHECK;
int srv_library_epoll_fd(const srv_http *http, library_kind kind);
void srv_library_run(srv_http *http);
void srv_library_show_end(request *r); /* of the peer's bytes: hidden since the request was unparked */
int64_t srv_library_timeout_ms(const srv_http *http); /* -1: none */
void srv_library_stop(srv_http *http);

/* ---- the server ---- */

enum { STATUS_SLOTS = 24 };

/* The shard's thread adds, any thread reads. */
typedef _Atomic uint64_t counter;
static inline void srv_count(counter *c, uint64_t more)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + more, memory_order_relaxed);
}

typedef struct route_counts {
	_Atomic uint16_t status[STATUS_SLOTS];
	counter count[STATUS_SLOTS];
} route_counts;

/* An accepted connection on its way to a shard. */
typedef struct arrival {
	int fd;
	bool tls;
	socklen_t length;
	struct sockaddr_storage address;
} arrival;

struct srv_http {
	srv_http *first; /* the array of shards */
	uint32_t shard_count;

	/* Equal in all shards; the first shard owns what they point to. */
	srv_http_sources sources;
	bool hide_sources;
	uint32_t max_connections; /* of this shard */
	uint32_t head_deadline_ms, idle_ms, max_events;
	char **allowed_hosts, **cors_origins;
	const char *web_root; /* folder of the dashboard's files; NULL: the built-in ones */
	uploads *uploads;

	/* In the first shard only, which accepts the connections of all. */
	int listeners[LISTENERS_MAX];
	bool is_unix[LISTENERS_MAX];
	uint32_t listener_count;
	bool inherited;	 /* from a service manager, which keeps them open */
	char *unix_path; /* unlinked at the end */
	char addresses[LISTENERS_MAX][128], urls[LISTENERS_MAX][144], url[144];
	char exposed[128]; /* the first address that other machines can reach */

	access_list *access;	   /* NULL: no tokens */
	uint32_t streams_readings; /* srv_access_readings when the streams' tokens were last checked */
	pthread_t thread;
	bool started;
	atomic_bool stop, draining;
	pthread_mutex_t lock; /* of the arrivals and of the list of streams */
	arrival arrivals[ACCEPT_BATCH];
	_Atomic uint32_t arrival_count, connection_count; /* `connection_count`: the shard's thread writes */
	int epoll_fd, wake_fd;
	int silence; /* a socket without a peer: reading it gives EAGAIN */
	struct MHD_Daemon *daemons[LIBRARY_COUNT];
	char library_message[160];

	counter response_bytes, refused_full, refused_token, closed_late, closed_for_room;
	/* number of blobs sent encoded, and bytes saved thereby */
	counter encoded[CODING_COUNT], encoded_saved_bytes;
	counter stream_count;
	route_counts requests[ROUTE_COUNT];

	/* The following fields are used only by the shard's thread. */
	bool stopping, accept_paused;
	int64_t now_ms, next_tick_ms, start_ms;
	request *oldest, *newest; /* connections in the order in which they entered their phase */
	request *pollers;
	bool awaits_event; /* the next one writes to wake_fd */
	stream *streams;
	mailbox *box;
	blob_cache *blobs;
	/* borrowed by the handler that runs */
	const srv_view *view;
	cJSON *json;
	hob_arena scratch;
	hob_arena_mark scratch_empty;
};

/* The sum of a counter over all shards: srv_http_sum(http, offsetof(srv_http, refused_full)). */
uint64_t srv_http_sum(const srv_http *http, size_t counter_at);
uint64_t srv_http_connections(const srv_http *http); /* of all shards */

#endif
