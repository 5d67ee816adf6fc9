/* http.h - the HTTP server: libmicrohttpd on a thread of its own. It reads views, blobs and the change log
 * itself, and asks the loop for everything else.
 *
 * External epoll mode (the library's own thread stalls when a whole batch of connections is ready at once),
 * SIGPIPE ignored by the application (else sendfile is off), 10 KiB pools, one cached response per blob, no
 * unescaping by the library: paths are decoded once, strictly, here. Routes come from schema/routes.def. */
#ifndef SRV_HTTP_H
#define SRV_HTTP_H

#include "../control/control.h"
#include "../view/view.h"
#include "../events/events.h"
#include "../live/live.h"
#include "../store/store.h"

typedef struct srv_http_options {
	/* "127.0.0.1:7780", "[::1]:7780", "localhost:7780" (both), "unix:/run/hob.sock", or several separated by
	 * commas; port 0 = any free one */
	const char *listen;
	/* Listening sockets from a service manager: if there are any, they replace `listen`, and the server
	 * closes them. Addresses that other machines can reach need tokens here, too. */
	const int *sockets;
	uint32_t socket_count;
	/* allowed besides localhost, *.localhost and IP literals; NULL-terminated, may be NULL */
	const char *const *allowed_hosts;
	const char *const
		*cors_origins; /* other sites whose pages have full access: "https://tools.example:8080" */
	/* File of access tokens (server/auth). NULL = no tokens are required; an address that other machines can
	 * reach then fails to start, unless `trust_network`. The file is read again when it changes. */
	const char *token_file;
	bool trust_network;
	const char *tls_cert, *tls_key; /* PEM files: every TCP address then speaks TLS; Unix sockets never do */
	bool hide_sources;				/* do not serve source files of assets */
	uint32_t threads;				/* 0 means 1; a new connection goes to the thread with fewest */
	uint32_t max_connections;		/* of all threads; 0 means 16384; at most srv_http_room */
	uint32_t head_deadline_ms;		/* time limit for a request's head; 0 means 10000 */
	uint32_t idle_ms;				/* keep-alive idle time; 0 means 60000 */
	uint32_t max_events;			/* SSE listeners; 0 means 10000; at most max_connections */
	const char *web_root; /* the dashboard's files are served from this folder; NULL: the built-in ones */
} srv_http_options;

/* Connections for which a limit of open files has room. blobs: files of blobs that each thread keeps open. */
uint32_t srv_http_room(uint64_t files, uint32_t threads, uint32_t *blobs);

typedef struct srv_http_sources {
	srv_views *views;
	srv_events *events;
	srv_store *store;
	srv_live *live;			  /* NULL: live models are not accepted */
	srv_control_port control; /* the loop */
	srv_control_port query;	  /* for kinds from SRV_CONTROL_FIRST_QUESTION on */
	srv_control_port gits;	  /* for SRV_CONTROL_GIT; no git repositories if its `post` is NULL */
	srv_control_port mirrors; /* for SRV_CONTROL_MIRROR; no mirror roots if its `post` is NULL */
	/* Append to `out` what the routes of these names say about the engine (`user`). Called on the HTTP
	 * thread: may only read atomics and views. Members of an object are appended with json_write.h or as text
	 * ",\"queue\":{...}". Each may be NULL. */
	void *user;
	void (*metrics)(void *user, hob_buf *out); /* Prometheus metrics of everything but HTTP */
	void (*stats)(void *user, hob_buf *out);   /* members of /api/v1/stats */
	void (*farm)(void *user, hob_buf *out);	   /* members of /api/v1/farm */
	uint64_t (*input_bytes)(void *user);	   /* total size of the files that assets depend on */
	/* for /readyz: the problem of the workers, the index, or the cache's disk; nothing if there is none */
	void (*workers_error)(void *user, hob_buf *out);
	void (*index_error)(void *user, hob_buf *out);
	void (*disk_error)(void *user, hob_buf *out);
	void (*notes)(void *user, hob_buf *out); /* whole lines; the daemon is ready nevertheless */
	/* Appends the members of /api/v1/config. Called like those above; may be NULL. */
	void (*config)(void *config_user, hob_buf *out);
	void *config_user;
	/* Appends the JSON Schema called `file` ("settings.json"); false: there is none. May be NULL. */
	bool (*schema)(hob_str file, hob_buf *out);
	const char *version; /* static text */
	bool pulls;			 /* ask the upstream for missing blobs: SRV_CONTROL_PULL */
} srv_http_sources;

typedef struct srv_http srv_http;

/* Binds and starts the threads. Options and sources are copied; what they point to must outlive the server.
 * The process must ignore SIGPIPE. Errors: LOCKED ("'127.0.0.1:7780' is in use by another program; use
 * --listen with another port"), IO (it cannot be bound), CONFIG (an invalid address, an address that other
 * machines can reach without tokens, an invalid token file or certificate). */
bool srv_http_start(const srv_http_options *options, const srv_http_sources *sources, srv_http **out,
					hob_error *err) HOB_MUST_CHECK;
/* Checks one address of `listen` as srv_http_start does, without binding it. *exposed: other machines can
 * reach it. Errors: CONFIG. */
bool srv_http_check_address(hob_str text, bool *exposed, hob_error *err) HOB_MUST_CHECK;
/* The first bound address: "127.0.0.1:7780". */
const char *srv_http_address(const srv_http *http);
/* The URL for a browser on this machine: the first TCP address, with "http://127.0.0.1:7780" for 0.0.0.0;
 * without one, "unix:/run/hob.sock". */
const char *srv_http_url(const srv_http *http);
/* Each bound address, in order: "http://0.0.0.0:7780", "unix:/run/hob.sock"; NULL after the last. */
const char *srv_http_url_at(const srv_http *http, uint32_t index);
/* New requests get 503 with Retry-After and readyz fails; running answers continue. Any thread. */
void srv_http_drain(srv_http *http);
/* Ends every stream, closes every connection, joins the threads. NULL is allowed. */
void srv_http_stop(srv_http *http);

#endif
