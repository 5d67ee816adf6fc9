/* hob_client.h - the client of a Hob daemon for renderers: fetches cooked blobs, verifies and caches them,
 * reports changes.
 *
 * Plain C99 (also C++11) on libc and POSIX sockets. No threads, no globals: everything happens inside
 * hobc_update(), which a program calls once per frame. With 0 it never waits. All callbacks run there, on the
 * caller's thread. A callback may call anything of this header except hobc_update, hobc_get_sync and
 * hobc_close. Nothing from a server is trusted: sizes are limited, contents checked and blobs hashed before a
 * callback gets them.
 *
 *     hobc_options options = {0};                       // http://127.0.0.1:7780, no cache folder
 *     hobc_client *client;
 *     if (hobc_open(&options, &client) != HOBC_OK) ...
 *     hobc_watch(client, "**.glb", on_event, app);
 *     hobc_get(client, "art/props/duck.glb", "meshes", on_blob, app, NULL);
 *     for (;;) { hobc_update(client, 0); draw(); }
 *
 * A reload is a proposal: on_event reports that a newer version exists, and the program decides when to fetch
 * and to swap it.
 *
 * The daemon's interface is in openapi.json: share/doc/hob where Hob is installed, /usr/share/doc/hob-dev
 * from Debian packages, schema in the sources. */
#ifndef HOB_CLIENT_H
#define HOB_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hobc_result {
	HOBC_OK,
	HOBC_ARGUMENT,	/* an invalid parameter: URL, hash or pattern */
	HOBC_MEMORY,	/* options.memory gave NULL */
	HOBC_NET,		/* the daemon cannot be reached, and the cache has no copy */
	HOBC_TIMEOUT,	/* no complete answer within options.timeout_ms */
	HOBC_PROTOCOL,	/* the answer is not HTTP/1.1, contradicts itself or exceeds a limit */
	HOBC_NOT_FOUND, /* 404: no such asset, output or blob */
	HOBC_NOT_READY, /* 202, 503: not cooked yet; ask again after the next event */
	HOBC_FAILED,	/* 422: the cook failed and there is no earlier good one */
	HOBC_HASH,		/* the bytes do not match the hash; they are dropped */
	HOBC_TOO_LARGE, /* more than options.max_blob_bytes */
	HOBC_REFUSED,	/* any other status: see the message */
	HOBC_CANCELLED	/* hobc_close was called while the request was open */
} hobc_result;

const char *hobc_result_text(hobc_result result);

typedef struct hobc_client hobc_client;

/* The transport: NULL members mean plain sockets. For TLS, consoles or tests, provide all five (and `now_ms`
 * if there is no CLOCK_MONOTONIC). `open` starts a connection and does not wait for it. `send` and `recv`
 * return the number of bytes moved, 0 if none can be moved now, -1 if the connection is over. `fd` returns a
 * descriptor for poll, or -1; without descriptors, a waiting hobc_update checks every 5 ms. */
typedef struct hobc_transport {
	void *user;
	hobc_result (*open)(void *user, const char *host, uint16_t port, int tls, void **connection);
	long (*send)(void *user, void *connection, const void *data, size_t size);
	long (*recv)(void *user, void *connection, void *data, size_t room);
	void (*close)(void *user, void *connection);
	int (*fd)(void *user, void *connection);
	int64_t (*now_ms)(void *user);
} hobc_transport;

typedef struct hobc_memory {
	void *(*alloc)(void *user, size_t size); /* aligned to 16 bytes; NULL: malloc */
	void (*release)(void *user, void *memory);
	void *user;
} hobc_memory;

/* All zero is a good default. Strings are copied. */
typedef struct hobc_options {
	/* HOST:PORT, http://HOST[:PORT], unix:/path, or https:// with a transport. NULL: $HOB_URL, else the
	 * daemon whose cache is .hob in the current folder or one above, else 127.0.0.1:7780 */
	const char *url;
	const char *token;		 /* sent as Authorization: Bearer; NULL: none */
	const char *cache_dir;	 /* existing folder for blobs; NULL: no cache. The client never trims it. */
	uint32_t max_in_flight;	 /* connections for requests, 1 to 8; 0 means 4 */
	uint32_t timeout_ms;	 /* limit of an answer without progress; 0 means 15000 */
	uint32_t cook_wait_s;	 /* how long requests by name wait for a running cook; 0: not at all */
	uint64_t max_blob_bytes; /* larger blobs are refused; 0 means 1 GiB */
	hobc_memory memory;
	hobc_transport net;
} hobc_options;

/* The requested bytes; valid until hobc_blob_release, which must come before hobc_close. */
typedef struct hobc_blob {
	const uint8_t *data; /* aligned to 16 bytes */
	size_t size;
	char hash[65];	  /* SHA-256 of the whole blob, 64 hexadecimal digits */
	int verified;	  /* 0 only for a part (offset, size) that does not come from a cached whole */
	int stale;		  /* by name: the source has changed since, or the daemon is not reachable */
	int from_cache;	  /* the answer had no body */
	uint64_t rev;	  /* by name: the change that published it; 0 from the cache */
	uint64_t fetched; /* bytes of bodies that were transferred for it */
} hobc_blob;

/* Called once for each request. On success the callee must release `blob`. Otherwise it is NULL, and
 * `message` describes what happened (with the daemon's hint if there is one); it is valid during the call. */
typedef void (*hobc_blob_fn)(void *user, uint64_t id, hobc_result result, const char *message,
							 hobc_blob *blob);

typedef enum hobc_event_kind {
	HOBC_EVENT_HELLO, /* the stream is connected (again) */
	HOBC_EVENT_ASSET, /* an asset has changed state */
	HOBC_EVENT_RESET  /* events were lost: fetch again everything on screen */
} hobc_event_kind;

/* Valid during the callback. Strings are "" if the daemon did not send them. */
typedef struct hobc_event {
	hobc_event_kind kind;
	const char *asset;	/* root/path */
	const char *change; /* cooked, recovered, previewed, failed, removed ...: openapi.json, AssetEvent */
	const char *state;	/* fresh, stale, failed, ... */
	uint64_t rev;
	/* 1: outputs were published, as after every cook, recovery, preview and return of a file: fetch those
	 * whose hash differs from what is shown. 0: the outputs are unchanged, and only the state differs. */
	int bytes_changed;
	const char *json; /* the whole event, NUL-terminated */
	size_t json_size;
} hobc_event;

typedef void (*hobc_event_fn)(void *user, const hobc_event *event);

/* The hash of one output ("meshes", "scene", "textures/0") in an event; 0 if the event does not name it. */
int hobc_event_output(const hobc_event *event, const char *output, char hash[65], uint64_t *size);

/* Sends nothing yet; an unreachable daemon is not an error here. Errors: ARGUMENT, MEMORY. */
hobc_result hobc_open(const hobc_options *options, hobc_client **out);
/* Open requests end with HOBC_CANCELLED. NULL is allowed. */
void hobc_close(hobc_client *client);

/* Sends, receives and calls back; waits up to wait_ms for something to do. Returns HOBC_NET once when the
 * daemon becomes unreachable. Requests are then answered from the cache, and the connection is tried again
 * after 250 ms, doubling to 8 s. */
hobc_result hobc_update(hobc_client *client, int wait_ms);
/* Descriptors for the caller's own poll; returns their number. */
size_t hobc_pollfds(const hobc_client *client, int *fds, size_t max);

/* The current output of an asset by name ("root/path"). With a cache folder, a copy that is still current is
 * not sent again; if the daemon is unreachable, the last copy is returned, marked as stale. `id` may be
 * NULL. */
hobc_result hobc_get(hobc_client *client, const char *asset, const char *output, hobc_blob_fn fn, void *user,
					 uint64_t *id);
/* A blob by hash, from the cache if it is there. size 0 with offset 0: all of it; otherwise size 0: to the
 * end. */
hobc_result hobc_get_blob(hobc_client *client, const char *hash, uint64_t offset, uint64_t size,
						  hobc_blob_fn fn, void *user, uint64_t *id);
/* A blob by hash, as a difference to an older one of the same kind. Reads the container's table and its
 * digests of ranges (each mesh's part of each section), then only bytes that the older blob does not have
 * anywhere. The whole result is verified. Fetches everything if one of them is not a packed container;
 * encoded sections are fetched whole if they changed. `older` must stay valid until the callback. */
hobc_result hobc_get_delta(hobc_client *client, const char *hash, const hobc_blob *older, hobc_blob_fn fn,
						   void *user, uint64_t *id);
/* The same, given several older blobs; the first that has some bytes provides them. Use the last one shown
 * and the last final one, because a preview and a final cook of the same model have little in common. NULLs
 * are skipped; at least one must be a blob, and at most HOBC_OLDER_MAX are used. */
enum { HOBC_OLDER_MAX = 4 };
hobc_result hobc_get_delta_of(hobc_client *client, const char *hash, const hobc_blob *const *older,
							  size_t count, hobc_blob_fn fn, void *user, uint64_t *id);
/* hobc_get and hobc_update until it is answered; other callbacks run meanwhile. */
hobc_result hobc_get_sync(hobc_client *client, const char *asset, const char *output, hobc_blob **out);

/* Events of assets that match: '?' one byte, '*' any bytes without '/', '**' any bytes; compared with
 * root/path and path. Up to 8 patterns share one stream, which reconnects and resumes by itself. Errors:
 * ARGUMENT, MEMORY. */
hobc_result hobc_watch(hobc_client *client, const char *glob, hobc_event_fn fn, void *user);

/* The callback will not be called. Unknown ids are allowed. */
void hobc_cancel(hobc_client *client, uint64_t id);
void hobc_blob_release(hobc_client *client, hobc_blob *blob);

#ifdef __cplusplus
}
#endif
#endif
