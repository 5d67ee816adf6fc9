/* client_private.h - shared by the sources of the client. */
#ifndef HOBC_PRIVATE_H
#define HOBC_PRIVATE_H

#include "client_parse.h"
#include "hob_client.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SLOTS_MAX = 9,
	WATCHES_MAX = 8,
	PATH_ROOM = 1024,
	REQUEST_ROOM = 16384,
	RECV_BYTES = 65536,
	MESSAGE_ROOM = 512
};

typedef enum hobc_delta_phase { DELTA_NONE, DELTA_TABLE, DELTA_RANGES, DELTA_PARTS } hobc_delta_phase;

typedef struct hobc_need {
	uint64_t first, end;
} hobc_need;

/* A file that may have some of the wanted bytes. */
typedef struct hobc_older {
	const uint8_t *data;
	size_t size;
} hobc_older;

typedef struct hobc_request {
	struct hobc_request *next;
	uint64_t id;
	hobc_blob_fn fn;
	void *user;
	char *target;
	char hash[65]; /* the expected hash; empty: the one in the ETag */
	char name[65]; /* key of the asset and output in the cache; empty: requested by hash */
	char have[65]; /* the cached copy that If-None-Match names */
	int by_range, retried;
	uint64_t first, last; /* of the current exchange */
	uint64_t fetched;
	uint8_t *data; /* the body so far */
	size_t used, room;
	/* delta: `whole` is assembled from older files and from ranges */
	hobc_delta_phase phase;
	hobc_older older[HOBC_OLDER_MAX];
	size_t older_count;
	uint8_t *whole;
	uint64_t whole_size;
	size_t came; /* bytes of `whole` from its start that came with the table */
	int table_asked;
	/* bytes of `whole` that are still to be fetched, ascending; those before need_at have arrived */
	hobc_need *needs;
	size_t need_count, need_at;
} hobc_request;

typedef struct hobc_slot {
	hobc_client *client;
	void *connection;
	hobc_request *request; /* NULL: idle */
	int fresh, answering;
	int64_t moved_ms;
	char *out;
	size_t out_size, out_sent;
	hobc_http http;
} hobc_slot;

typedef struct hobc_watcher {
	char glob[256];
	hobc_event_fn fn;
	void *user;
} hobc_watcher;

struct hobc_client {
	hobc_options options;
	char host[256], authority[280], token[512], cache_dir[PATH_ROOM - 160];
	uint16_t port;
	int tls, away, told_away;
	int64_t retry_ms, wait_ms;
	uint64_t last_id, temp_count;
	hobc_request *queue, **queue_end;
	hobc_slot slots[SLOTS_MAX]; /* 0 is the event stream */
	hobc_watcher watchers[WATCHES_MAX];
	size_t watcher_count;
	int stream_wanted;
	hobc_sse sse;
	int64_t stream_retry_ms, stream_wait_ms;
	uint8_t *recv_buffer;
};

/* memory and text */
void *hobc_alloc(hobc_client *client, size_t size);
void hobc_free(hobc_client *client, void *memory);
/* Appends, escaping all but letters, digits and those in `kept`; NULL if there is no room. */
char *hobc_put_escaped(char *at, const char *end, const char *text, const char *kept);
/* Finds the daemon's address: $HOB_URL, "" if too long; else that in .hob/daemon.json of this folder or one
 * above; else the default. */
void hobc_url_here(char *out, size_t room);
void hobc_net_default(hobc_client *client, hobc_transport *net);

void hobc_request_free(hobc_client *client, hobc_request *request);
void hobc_slot_hang_up(hobc_slot *slot);

/* the cache folder; without one, each of these functions does nothing and returns 0 */
int hobc_cache_read(hobc_client *client, const char *hash, uint8_t **data, size_t *size); /* verified */
void hobc_cache_write(hobc_client *client, const char *hash, const uint8_t *data, size_t size);
int hobc_cache_find_name(hobc_client *client, const char *name, char hash[65]);
void hobc_cache_keep_name(hobc_client *client, const char *name, const char *hash);

/* delta: call it when the exchange's bytes are in request->data. 1: continue with first..last; 0: whole is
 * complete; -1: give up */
int hobc_delta_step(hobc_client *client, hobc_request *request, uint64_t total);

#ifdef __cplusplus
}
#endif
#endif
