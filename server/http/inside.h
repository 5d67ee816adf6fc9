/* inside.h - what the files of server/http share: the server, its connections, and what a handler has at
 * hand.
 *
 * Everything here runs on the HTTP thread; the mailbox of asks is the only door for other threads, except for
 * the one that decodes uploads (route_upload.c).
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

#include "../auth/tokens.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
	BODY_MAX = 1 << 20,
	PARAMS_MAX = 16,
	ARGS_MAX = 2,
	LISTENERS_MAX = 8,
	ACCEPT_BATCH = 64,
	POOL_BYTES = 10240,		  /* the library clears the whole pool after each request: small is fast */
	FIELD_BYTES = 64,		  /* of the pool, for each header field */
	ANSWER_HEAD_BYTES = 1280, /* of the pool, for the head of an answer */
	BODY_DEADLINE_MS = 30000, /* a request's body must be complete within */
	UPLOAD_BYTES_PER_MS = 64, /* an upload has this deadline and the time that its bytes take at this speed */
	HEARTBEAT_MS = 10000,	  /* silence of an event stream after which a comment is sent */
	WAIT_MAX_MS = 60000,	  /* longest Prefer: wait and long poll */
	TICK_MS = 250			  /* how exact deadlines are */
};

typedef struct request request;
typedef enum MHD_Result (*route_handler)(request *r);

typedef enum route_id {
#define ROUTE(method, pattern, handler, parameters, doc) ROUTE_##handler,
#include "../../schema/routes.def"
#undef ROUTE
	ROUTE_NONE, /* refused before or without a route */
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

/* Header fields that anything here looks at; values as sent, empty when absent. */
typedef struct head {
	hob_str host, origin, fetch_site, authorization, preflight, content_type, content_length,
		content_encoding, content_range, digest_size, accept, accept_encoding, range, if_range, if_match,
		if_none_match, prefer, last_event_id, user_agent, forwarded_proto;
	uint32_t host_count, length_count;
	bool chunked, bad_coding, bad_name, bad_value, bad_line;
	const char *next_line; /* where the next one of its lines begins, while it is read */
	uint32_t field_count;
	size_t path_at;	   /* of the request's target: behind the scheme and host of the absolute form, else 0 */
	bool session_over; /* it holds a cookie with an invalid token: the answer clears it */
} head;

typedef struct ask {
	srv_control control;
	struct mailbox *box;
	request *owner; /* NULL: the client has gone, the answer is dropped */
	bool answered;
	int status;
	hob_buf body;
	char *texts; /* of the control */
	struct ask *next;
} ask;

typedef enum phase { WAITING, BUSY } phase;

struct request {
	srv_http *http;
	struct MHD_Connection *connection;
	int fd;
	phase phase;
	bool served_before, has_head, closing, corked;
	int64_t gone_ms;  /* when the peer closed its side; 0 = open */
	int64_t since_ms; /* of this phase */
	int64_t body_deadline_ms;
	struct request *older, *newer; /* all open connections, longest in its phase first */

	char *target; /* copy of the request target, decoded in place piece by piece */
	size_t target_capacity;
	const char *method;
	route_id route;
	bool begun, checked;
	bool distrusted; /* where its message ends is not certain: the connection ends with the answer */
	head head;
	hob_str path; /* as sent */
	hob_str args[ARGS_MAX];
	uint32_t arg_count;
	param params[PARAMS_MAX];
	uint32_t param_count;
	hob_buf body;

	struct upload *upload; /* of a blob, while its body comes */
	bool shown_token;	   /* with a token, whose digest is: */
	hob_sha256 token;
	struct stream *stream; /* the event stream that it is, or NULL */
	ask *ask;			   /* of this request; kept until it completes */
	uint32_t asked;		   /* how many asks were made */
	bool parked;		   /* suspended by us */
	bool polling;		   /* parked for an event: in http->pollers */
	int64_t deadline_ms;   /* of the poll; 0 before it began */
	uint64_t poll_since;
	struct request *next_poller;
};

/* First parameter of that name; false when there is none. */
bool srv_request_param(const request *r, const char *name, hob_str *out);
/* These and others below return false when they have sent a problem; *result is what the handler returns
 * then. A flag is "1", "true" or empty, or "0" or "false". A number is decimal and in [min,max]. */
bool srv_request_flag(request *r, const char *name, bool fallback, enum MHD_Result *result,
					  bool *out) HOB_MUST_CHECK;
bool srv_request_number(request *r, const char *name, uint64_t min, uint64_t max, uint64_t fallback,
						enum MHD_Result *result, uint64_t *out) HOB_MUST_CHECK;
/* Seconds of "Prefer: wait=N" as milliseconds, bounded; 0 without one. */
uint32_t srv_request_wait_ms(const request *r);
/* The Prefer field has that word. */
bool srv_request_prefers(const request *r, const char *what);
/* True when the Accept field allows the type ("application/json"). */
bool srv_request_accepts(const request *r, const char *type);
typedef enum coding { CODING_ZSTD, CODING_GZIP, CODING_COUNT } coding_id;
/* How much the client wants each form, in thousandths; 0: not at all. */
typedef struct codings {
	uint16_t weight[CODING_COUNT], plain;
} codings;
/* Codings of the field Accept-Encoding; without one only the plain form is wanted. */
void srv_request_codings(const request *r, codings *out);
const char *srv_coding_name(coding_id which);
/* gzip is at least as welcome as the plain form. */
bool srv_request_takes_gzip(const request *r);
bool srv_parse_decimal(hob_str text, uint64_t *out);
/* Takes the piece before the next mark off the front; false when nothing is left. */
bool srv_next_piece(hob_str *rest, char mark, hob_str *piece);
hob_str srv_trim(hob_str text); /* without blanks around it */

/* Splits and decodes the target, finds the route. False when a problem was sent (*result is what to
 * return). */
bool srv_request_route(request *r, enum MHD_Result *result) HOB_MUST_CHECK;
route_handler srv_route_handler_of(route_id route);
const char *srv_route_pattern(route_id route);
/* Reads the header fields into r->head; `version` is the last word of the request line. */
void srv_request_read_head(request *r, const char *version);
/* False when the head leaves no room in the library's pool for the head of an answer. */
bool srv_request_head_fits(const request *r);
bool srv_request_has_body(const request *r); /* by what the head says */
/* Checks what was read. False when a problem was sent. */
bool srv_request_check_head(request *r, enum MHD_Result *result) HOB_MUST_CHECK;
/* Size and media type of a body, by its route. */
bool srv_request_check_body(request *r, enum MHD_Result *result) HOB_MUST_CHECK;
/* A browser sent it for a page of another web site (Origin, Sec-Fetch-Site). */
bool srv_request_is_foreign(const request *r);
/* In place; false on a bad escape, NUL, or (unless raw) a control byte or invalid UTF-8. */
bool srv_decode_percent(hob_str *text, bool plus_is_space, bool raw);
/* The client of srv_uses that asks; and it asked for this asset, or this folder of them. */
uint64_t srv_request_client(const request *r);
void srv_request_uses(const request *r, hob_str name);
/* Appends s with everything but unreserved characters and '/' escaped. */
void srv_put_percent(hob_buf *out, hob_str s);

/* ---- who asks ---- */

typedef struct access_list access_list;
/* Reads the token file; NULL with *err set. */
access_list *srv_access_new(const char *path, hob_error *err);
void srv_access_free(access_list *access);
uint32_t srv_access_count(const access_list *access);
/* The request's token allows its method (r->route is known). False when a problem was sent. */
/* How often the token file was read, after a look whether it is another; 0 without tokens. */
uint32_t srv_access_readings(srv_http *http);
/* False when the token of an answer that still goes on has been revoked. */
bool srv_access_goes_on(const request *r);
bool srv_access_check(request *r, enum MHD_Result *result) HOB_MUST_CHECK;
/* Counts an invalid token. True when its sender has used up its guesses of this minute: srv_reply_guesses. */
bool srv_access_guessed(request *r);
enum MHD_Result srv_reply_guesses(request *r);
/* Counts it and answers 401, or 429 after many of them. */
enum MHD_Result srv_reply_wrong_token(request *r);
/* The folder below the request's mirror root ({root}) that the token is for; "" = all of it. */
hob_str srv_access_mirror_folder(const request *r);
/* Scope of a token, and of the session whose cookie the request holds; WRITE where no tokens are asked
 * for. */
srv_scope srv_session_scope(request *r, hob_str token);
srv_scope srv_session_now(request *r);
/* Adds the cookie of a session with this token; an empty one ends it. */
void srv_session_put(const request *r, struct MHD_Response *response, hob_str token);
/* It comes from a page of an origin that is allowed. */
bool srv_origin_is_friend(const request *r);
/* Adds what lets such a page read the answer. */
void srv_add_cors(const request *r, struct MHD_Response *response);
/* True when it was a friend's preflight and was answered. */
bool srv_answer_preflight(request *r, enum MHD_Result *result) HOB_MUST_CHECK;

/* ---- replies ---- */

/* A response of our own making; takes the buffer's memory. NULL when memory was short. */
struct MHD_Response *srv_response_of(hob_buf *body, const char *content_type);
void srv_response_add(struct MHD_Response *response, const char *name, const char *value);
/* Adds "name: value" of any bytes that a header may hold. */
void srv_response_add_str(struct MHD_Response *response, const char *name, hob_str value);
/* Queues, counts and gives up the response (NULL: the connection is closed). `bytes`: the size of its
 * body. */
enum MHD_Result srv_reply(request *r, int status, struct MHD_Response *response, uint64_t bytes);
/* Queues a response that the caller keeps. */
enum MHD_Result srv_reply_shared(request *r, int status, struct MHD_Response *response, uint64_t bytes);
/* 200 with JSON; 406 when not acceptable. Takes the buffer. */
enum MHD_Result srv_reply_json(request *r, int status, hob_buf *body);

/* A problem. `members` is appended to the JSON object when not NULL: ",\"outputs\":[...]". */
enum MHD_Result srv_reply_problem(request *r, problem_id id, const char *hint, const char *detail, ...)
	HOB_PRINTF(4, 5);
typedef struct problem_text {
	hob_str code, detail, hint, asset, instance;
	hob_str members;   /* more members as JSON, beginning with a comma */
	const char *allow; /* Allow, NULL = none */
	uint32_t retry_after_s;
	bool has_size; /* Content-Range: bytes * / size */
	uint64_t size;
	uint64_t held; /* Upload-Offset, unless 0 */
} problem_text;
enum MHD_Result srv_reply_problem_text(request *r, problem_id id, const problem_text *text);
/* Appends a problem's JSON. */
void srv_put_problem(hob_buf *out, problem_id id, const problem_text *text);
void srv_count_reply(request *r, int status, uint64_t bytes);
/* The loop's answer in r->ask as it is; from status 400 on as a problem with the code, detail and hint in its
 * body. */
enum MHD_Result srv_reply_answer(request *r, const char *content_type);
/* A file that is part of the program, from begin up to end: ETag, no-cache. */
enum MHD_Result srv_reply_file(request *r, const char *begin, const char *end, const char *type);
/* The program, or --web-root, holds the dashboard. */
bool srv_has_dashboard(const srv_http *http);
/* 202 with the loop's answer and, as Location, `folder` and the number of the job that it names. */
enum MHD_Result srv_reply_accepted(request *r, const char *folder);

/* ---- refusing where the library would close without an answer, or answer twice ---- */

/* Sends a problem past the library, as the last bytes of the connection; nothing over TLS. What the library
 * sends then is lost. */
void srv_refuse_raw(request *r, problem_id id, const char *hint, const char *detail);
/* The head is complete and fills the library's pool: 414 or 431. */
void srv_refuse_head(request *r);
/* The library reports an invalid Content-Length. */
void srv_refuse_length(srv_http *http);
/* While the library is about to answer `status` in HTML to a head that it cannot read, and does not say
 * whose: answers in its place where only one connection can be meant. */
void srv_refuse_unread(srv_http *http, unsigned status);

/* ---- asking the loop ---- */

typedef struct mailbox mailbox;
mailbox *srv_mailbox_new(int wake_fd);
void srv_mailbox_drop(mailbox *box);
/* Answered asks since the last call, as a list; those without an owner are freed already. */
ask *srv_mailbox_take(mailbox *box);

/* Posts and parks; the handler is called again when r->ask->answered. `asset` and the texts of `rest` are
 * copied. */
enum MHD_Result srv_ask(request *r, srv_control_kind kind, hob_str asset, const srv_control *rest);
void srv_ask_forget(request *r);
/* The peer has closed its side: what is still to be made for it alone need not be. */
void srv_ask_abandon(request *r);
/* Posts, and nobody waits for the answer. `rest` has no texts. */
void srv_ask_aside(srv_http *http, srv_control_kind kind, const srv_control *rest);

/* Opens every address of a list "127.0.0.1:7780,[::1]:7780,unix:/run/hob.sock"; "localhost:7780" is both
 * loopbacks. Errors: CONFIG, IO. What was opened stays in http->listeners. */
bool srv_listeners_open(srv_http *http, const char *list, hob_error *err) HOB_MUST_CHECK;
/* Takes sockets that listen already. */
bool srv_listeners_take(srv_http *http, const int *fds, uint32_t count, hob_error *err) HOB_MUST_CHECK;

/* ---- parking ---- */

/* Suspends the connection; on_request runs the handler again after unpark. */
void srv_request_park(request *r);
void srv_request_unpark(request *r);
/* Lets the head and a body that the library sends by itself leave in the same packets; undone when the answer
 * is sent. */
void srv_request_cork(request *r);
bool srv_speaks_tls(const request *r); /* guard.c */
/* Parks until an event newer than r->poll_since or r->deadline_ms. */
void srv_request_park_for_event(request *r);

/* ---- event streams ---- */

typedef struct stream stream;
/* After events were published or a tick: wakes those with something to send. */
void srv_streams_wake(srv_http *http);
void srv_streams_tick(srv_http *http);
/* Items of a list: who listens, since when, to what, and how far it has read. */
void srv_streams_put(srv_http *http, hob_buf *out);
/* The peer of a stream has closed: ends it. */
void srv_stream_hang_up(stream *s);

enum { FILTER_KINDS = 8, FILTER_GLOBS = 8 };
typedef struct event_filter {
	char *globs[FILTER_GLOBS]; /* owned */
	char *kinds[FILTER_KINDS];
	uint32_t glob_count, kind_count;
} event_filter;
/* From the parameters asset= (may repeat) and kinds=. False when a problem was sent. */
bool srv_event_filter_init(event_filter *filter, request *r, enum MHD_Result *result) HOB_MUST_CHECK;
void srv_event_filter_release(event_filter *filter);
bool srv_event_filter_passes(const event_filter *filter, const srv_event *event);

typedef enum since_kind { SINCE_NOW, SINCE_SEQ, SINCE_LOST } since_kind;
/* Last-Event-ID, else the parameter since: "<epoch>.<seq>" or "<seq>". LOST: it is of another epoch or not
 * readable. */
since_kind srv_event_since(request *r, uint64_t *seq);

/* ---- blobs ---- */

typedef struct blob blob;
typedef struct blob_cache blob_cache;
blob_cache *srv_blob_cache_new(srv_store *store, uint32_t max_entries);
void srv_blob_cache_free(blob_cache *cache);
void srv_blob_cache_tick(blob_cache *cache,
						 int64_t now_ms); /* lets go of what was not asked for in a minute */
uint32_t srv_blob_cache_count(const blob_cache *cache);
/* NULL when the store has no such blob or it cannot be read. Valid until the next call of a cache
 * function. */
blob *srv_blob_find(blob_cache *cache, const hob_sha256 *digest, int64_t now_ms);
/* Answers conditional and range requests for the blob by name (its own headers) or, with extra == NULL, by
 * hash, in the form that Accept-Encoding asks for: an encoded one that is not there yet is ordered and the
 * plain one sent, unless the client would rather wait ("Prefer: encoded") or refuses the plain one; the
 * handler is called again then. */
typedef struct blob_headers {
	hob_str location, state, standing,
		quality;	  /* Content-Location, Cook-State, Cook-Standing, Cook-Quality */
	uint64_t rev;	  /* Cook-Rev */
	const char *type; /* Content-Type; NULL: just bytes */
	bool as_it_is;	  /* never encoded: it is compressed, or somebody else's file */
} blob_headers;
enum MHD_Result srv_reply_blob(request *r, blob *b, const blob_headers *extra);
/* The blob whose digest the loop answered, or the loop's problem. what: for the message when it is gone
 * again. */
enum MHD_Result srv_reply_made(request *r, const char *type, const char *what);
/* Answers GET /blobs/{sha256}; type: Content-Type, NULL: just bytes. */
enum MHD_Result srv_reply_named_blob(request *r, const hob_sha256 *digest, const char *type);

/* A blob that a client sends; its bytes go to the store as they come. begin: false when a problem was
 * sent. */
typedef struct upload upload;
typedef struct upload_decoders upload_decoders;
bool srv_upload_begin(request *r, enum MHD_Result *result) HOB_MUST_CHECK;
/* Parks the request of an encoded blob until the bytes are decoded. */
void srv_upload_put(upload *u, hob_bytes bytes);
void srv_uploads_decoded(srv_http *http); /* unparks requests: after a wake */
/* Keeps what has arrived of a plain blob for a client that continues it; drops everything else. NULL is
 * fine. */
void srv_upload_free(upload *u);
/* How many bytes of the blob are held since an upload was cut. */
uint64_t srv_upload_held(const srv_http *http, const hob_sha256 *digest);
void srv_uploads_drop(srv_http *http);

typedef enum range_result { RANGE_WHOLE, RANGE_PART, RANGE_NOWHERE } range_result;
/* RFC 9110 14: one byte range gives PART with *first <= *last < size; several ranges, other units and
 * malformed ones give WHOLE; a range without a byte of the blob gives NOWHERE. */
range_result srv_range_parse(hob_str field, uint64_t size, uint64_t *first, uint64_t *last);
/* Weak comparison of an If-None-Match list with the tag (with its quotes). */
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
	X(links) X(source) X(record) X(reason) X(settings) X(outputs) X(deps) X(reproducibility) X(moved_from)

typedef enum asset_field {
#define X(name) FIELD_##name,
	ASSET_FIELDS(X)
#undef X
		FIELD_COUNT
} asset_field;

enum { FIELDS_LIST = (1 << (FIELD_links + 1)) - 1, FIELDS_ALL = (1 << FIELD_COUNT) - 1 };

void srv_put_asset(hob_buf *out, const srv_view_asset *asset, uint32_t fields);
uint64_t srv_http_texture_bytes(const srv_view_asset *asset); /* of its cooked bytes */
/* fields=id,path,state -> bits, those of expand=outputs,deps added; false when a problem was sent. */
bool srv_request_fields(request *r, uint32_t fallback, uint32_t *out, enum MHD_Result *result) HOB_MUST_CHECK;
/* The asset of {id}; on false a 404 was sent and the view dropped. */
bool srv_request_asset(request *r, const srv_view **view, const srv_view_asset **asset,
					   enum MHD_Result *result) HOB_MUST_CHECK;
/* 422 with the asset's error. */
enum MHD_Result srv_reply_cook_failed(request *r, const srv_view_asset *asset);
/* True when outputs of an earlier or the present cook are there. */
bool srv_asset_has_good(const srv_view_asset *asset);

/* ---- profiles: the same folder cooked with other options ---- */

bool srv_is_profile(hob_str profile); /* not "" or "default", which are the root itself */
/* Appends the name of the root that holds the profile. */
void srv_put_profile_root(hob_buf *out, hob_str root, hob_str profile);
bool srv_profile_exists(const srv_view *view, hob_str root, hob_str profile);
/* 404 with the profiles that there are, and how to have this one. */
enum MHD_Result srv_reply_no_profile(request *r, const srv_view *view, hob_str root, hob_str profile);

/* Checks the user of live models. False with a 400 in `result`: nobody can be called `user`, see
 * server/live/live.h. */
bool srv_check_live_user(request *r, hob_str user, enum MHD_Result *result);

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
int64_t srv_library_timeout_ms(const srv_http *http); /* -1: none */
void srv_library_stop(srv_http *http);

/* ---- the server ---- */

enum { STATUS_SLOTS = 24 };

typedef struct route_counts {
	uint16_t status[STATUS_SLOTS];
	uint64_t count[STATUS_SLOTS];
} route_counts;

struct srv_http {
	srv_http_sources sources;
	bool hide_sources;
	uint32_t max_connections, head_deadline_ms, idle_ms, max_events;
	char **allowed_hosts, **cors_origins;
	access_list *access;	   /* NULL: no tokens */
	uint32_t streams_readings; /* srv_access_readings when the streams were last held against it */
	int listeners[LISTENERS_MAX];
	bool is_unix[LISTENERS_MAX];
	uint32_t listener_count;
	char *unix_path; /* to be unlinked at the end */
	char addresses[LISTENERS_MAX][128], urls[LISTENERS_MAX][144], url[144];
	char exposed[128];	  /* the first address that other machines reach */
	const char *web_root; /* the dashboard's files are read from there instead; NULL = those in the program */

	pthread_t thread;
	bool started;
	atomic_bool stop, draining;
	atomic_uint busy; /* requests in BUSY that are no stream; written by the HTTP thread */
	int epoll_fd, wake_fd;
	struct MHD_Daemon *daemons[LIBRARY_COUNT];
	char library_message[160];

	/* All below: HTTP thread only. */
	bool stopping, accept_paused;
	int64_t now_ms, next_tick_ms, start_ms;
	request *oldest, *newest; /* connections in the order in which they entered their phase */
	uint32_t connection_count;
	request *pollers;
	stream *streams;
	uint32_t stream_count;
	mailbox *box;
	blob_cache *blobs;
	route_counts requests[ROUTE_COUNT];
	uint64_t response_bytes, refused_full, refused_token, closed_late, closed_for_room;
	struct upload_decoders *decoders; /* of blobs that come encoded; NULL before the first */
	upload *cut;					  /* uploads that may be continued, newest first */
	uint64_t encoded[CODING_COUNT], encoded_saved_bytes; /* blobs sent so, and what that saved */
};

#endif
