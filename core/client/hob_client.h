/* hob_client.h - a renderer's side of a Hob daemon: fetch cooked blobs, verify and keep them, hear of changes.
 *
 * Plain C99 (also C++11) on libc and POSIX sockets. No threads, no globals: everything happens inside
 * hobc_update(), which a program calls once a frame and which never waits when told 0. All callbacks run there, on the
 * caller's thread. A callback may call anything of this header except hobc_update, hobc_get_sync and hobc_close.
 * Whatever a server sends is foreign: it is bounded, checked and, for blobs, hashed before anybody sees it.
 *
 *     hobc_options options = {0};                       // http://127.0.0.1:7780, no cache folder
 *     hobc_client *client;
 *     if (hobc_open(&options, &client) != HOBC_OK) ...
 *     hobc_watch(client, "**.glb", on_event, app);
 *     hobc_get(client, "art/props/duck.glb", "meshes", on_blob, app, NULL);
 *     for (;;) { hobc_update(client, 0); draw(); }
 *
 * A reload is a proposal: on_event says that there is something newer; when to fetch and to swap is the program's choice. */
#ifndef HOB_CLIENT_H
#define HOB_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hobc_result {
	HOBC_OK,
	HOBC_ARGUMENT,	/* a parameter that cannot be: bad URL, hash or pattern */
	HOBC_MEMORY,	/* options.memory gave NULL */
	HOBC_NET,		/* the daemon cannot be reached, and the cache has no copy */
	HOBC_TIMEOUT,	/* no complete answer within options.timeout_ms */
	HOBC_PROTOCOL,	/* the answer is not HTTP/1.1, contradicts itself or breaks a bound */
	HOBC_NOT_FOUND, /* 404: no such asset, output or blob */
	HOBC_NOT_READY, /* 202, 503: not cooked yet; ask again after the next event */
	HOBC_FAILED,	/* 422: the cook failed and there is no earlier good one */
	HOBC_HASH,		/* the bytes are not those that the hash names; they are thrown away */
	HOBC_TOO_LARGE, /* more than options.max_blob_bytes */
	HOBC_REFUSED,	/* any other status: see the message */
	HOBC_CANCELLED	/* by hobc_close with the request still open */
} hobc_result;

const char *hobc_result_text(hobc_result result);

typedef struct hobc_client hobc_client;

/* How bytes travel: NULL members mean plain sockets. For TLS, consoles or tests give all five (and `now_ms` if there is
 * no CLOCK_MONOTONIC). `open` starts a connection and does not wait for it. `send` and `recv` return how many bytes
 * were moved, 0 when none can be now, -1 when the connection is over. `fd` returns a descriptor for poll, or -1;
 * without descriptors hobc_update with a wait looks every 5 ms. */
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

/* All zero is a good choice. Strings are copied. */
typedef struct hobc_options {
	const char *
		url; /* HOST:PORT, http://HOST[:PORT], unix:/path, or https:// with a transport; NULL: 127.0.0.1:7780 */
	const char *token;		 /* sent as Authorization: Bearer; NULL: none */
	const char *cache_dir;	 /* existing folder for blobs; NULL: nothing is kept. Never trimmed here. */
	uint32_t max_in_flight;	 /* connections for requests, 1..8; 0: 4 */
	uint32_t timeout_ms;	 /* for one answer to make no progress; 0: 15000 */
	uint32_t cook_wait_s;	 /* by-name requests wait so long for a cook under way; 0: not */
	uint64_t max_blob_bytes; /* 0: 1 GiB */
	hobc_memory memory;
	hobc_transport net;
} hobc_options;

/* Bytes that were asked for; they stay until hobc_blob_release, which must come before hobc_close. */
typedef struct hobc_blob {
	const uint8_t *data; /* aligned to 16 bytes */
	size_t size;
	char hash[65];	  /* SHA-256 of the whole blob, 64 hexadecimal digits */
	int verified;	  /* 0 only for a part (offset, size) that was not cut from a cached whole */
	int stale;		  /* by name: the source has changed since, or the daemon is away */
	int from_cache;	  /* no body was fetched */
	uint64_t rev;	  /* by name: the change that published it; 0 from the cache */
	uint64_t fetched; /* bytes of bodies that came over the network for it */
} hobc_blob;

/* Called once for each request. On success `blob` is the callee's to release; otherwise it is NULL and `message` says
 * in words what happened (with the daemon's hint when it sent one); `message` is valid during the call. */
typedef void (*hobc_blob_fn)(void *user, uint64_t id, hobc_result result, const char *message,
							 hobc_blob *blob);

typedef enum hobc_event_kind {
	HOBC_EVENT_HELLO, /* the stream is up (again) */
	HOBC_EVENT_ASSET, /* an asset has changed state */
	HOBC_EVENT_RESET  /* events were lost: fetch again whatever is on screen */
} hobc_event_kind;

/* Valid during the callback. Strings are "" when the daemon did not say. */
typedef struct hobc_event {
	hobc_event_kind kind;
	const char *asset; /* root/path */
	const char
		*change; /* cooked, recovered, previewed, failed, removed ...: schema/openapi.json, AssetEvent */
	const char *state; /* fresh, stale, failed, ... */
	uint64_t rev;
	/* 1: outputs were published, as after every cook, recovery, preview and return of a file: fetch those whose hash is not the
	 * one that is shown. 0: what is shown is still right, and only the state is another. */
	int bytes_changed;
	const char *json; /* all that was sent, NUL-terminated */
	size_t json_size;
} hobc_event;

typedef void (*hobc_event_fn)(void *user, const hobc_event *event);

/* The hash of one output ("meshes", "scene", "textures/0") that an event names; 0 when it names no such output. */
int hobc_event_output(const hobc_event *event, const char *output, char hash[65], uint64_t *size);

/* Nothing is sent yet; a daemon that is away is no error here. Errors: ARGUMENT, MEMORY. */
hobc_result hobc_open(const hobc_options *options, hobc_client **out);
/* Open requests end with HOBC_CANCELLED. NULL is fine. */
void hobc_close(hobc_client *client);

/* Sends, receives and calls back; waits up to wait_ms for something to do. HOBC_NET once when the daemon went
 * away: requests are then answered from the cache, and the connection is tried again after 250 ms, doubling to 8 s. */
hobc_result hobc_update(hobc_client *client, int wait_ms);
/* Descriptors for a poll of one's own; returns how many there are. */
size_t hobc_pollfds(const hobc_client *client, int *fds, size_t max);

/* The current output of an asset by name ("root/path"). With a cache folder a copy that is still current is
 * not sent again, and the last copy is given, marked stale, while the daemon is away. `id` may be NULL. */
hobc_result hobc_get(hobc_client *client, const char *asset, const char *output, hobc_blob_fn fn, void *user,
					 uint64_t *id);
/* A blob by hash, from the cache if it is there. size 0 with offset 0: all of it; size 0: to the end. */
hobc_result hobc_get_blob(hobc_client *client, const char *hash, uint64_t offset, uint64_t size,
						  hobc_blob_fn fn, void *user, uint64_t *id);
/* A blob by hash, given an older one of the same kind: reads the container's table and its digests of ranges (each mesh's
 * part of each section), then only bytes that the older blob does not have, wherever they lay in it. The result is
 * verified whole. Falls back to fetching everything when either is no packed container; sections that are stored encoded
 * come whole when they changed. `older` must stay until the callback. */
hobc_result hobc_get_delta(hobc_client *client, const char *hash, const hobc_blob *older, hobc_blob_fn fn,
						   void *user, uint64_t *id);
/* The same, given several older ones, of which the first that has some bytes gives them: what was shown last and the last
 * final one, because a preview and a final cook of the same model have little in common. NULLs are passed over; at least
 * one must be a blob, at most HOBC_OLDER_MAX are looked at. */
enum { HOBC_OLDER_MAX = 4 };
hobc_result hobc_get_delta_of(hobc_client *client, const char *hash, const hobc_blob *const *older,
							  size_t count, hobc_blob_fn fn, void *user, uint64_t *id);
/* hobc_get and hobc_update until it is answered; other callbacks run meanwhile. */
hobc_result hobc_get_sync(hobc_client *client, const char *asset, const char *output, hobc_blob **out);

/* Events of assets that match: '?' one byte, '*' a run without '/', '**' any run; against root/path and path. Up to 8
 * patterns share one stream, which reconnects and resumes by itself. Errors: ARGUMENT, MEMORY. */
hobc_result hobc_watch(hobc_client *client, const char *glob, hobc_event_fn fn, void *user);

/* The callback will not come. Unknown ids are fine. */
void hobc_cancel(hobc_client *client, uint64_t id);
void hobc_blob_release(hobc_client *client, hobc_blob *blob);

#ifdef __cplusplus
}
#endif
#endif
