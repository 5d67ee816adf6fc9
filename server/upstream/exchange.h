/* exchange.h - what one thread says to another cache: ask for records, fetch blobs, give records.
 *
 * Nothing that comes is believed: blobs are hashed as they come and have no name before that, a record must be the canonical text
 * of its own key, for the source and the settings that were asked for, and outputs pass the validators that a cook process's do.
 *
 * Each call blocks its thread, never longer than the limits below say. A kept connection that the other side has closed meanwhile is
 * opened once more. */
#ifndef SRV_EXCHANGE_H
#define SRV_EXCHANGE_H

#include "../client/connection.h"
#include "../farm/farm.h"
#include "../store/store.h"

#include <pthread.h>

enum {
	SRV_EXCHANGE_CONNECT_MS = 2000,
	SRV_EXCHANGE_SILENCE_MS = 4000,
	SRV_EXCHANGE_SLOWEST = 128 << 10, /* bytes a second that a body must bring in the long run */
	SRV_EXCHANGE_RECORDS_MAX = 64 << 20,
	SRV_EXCHANGE_BLOBS_MAX_GIB = 4 /* of one record */
};

typedef enum srv_exchange_end {
	SRV_EXCHANGE_OK,
	SRV_EXCHANGE_NONE,	   /* it has not got that */
	SRV_EXCHANGE_DOWN,	   /* nobody answers, or not in time, or with 5xx: later */
	SRV_EXCHANGE_FULL,	   /* it has no room: later */
	SRV_EXCHANGE_BARRED,   /* the token may not do that */
	SRV_EXCHANGE_LOOP,	   /* caches ask each other in a circle */
	SRV_EXCHANGE_REFUSED,  /* what came is not what it says, or what was given was not taken */
	SRV_EXCHANGE_LATE,	   /* another machine has the lease by now: later */
	SRV_EXCHANGE_CONFLICT, /* another result is kept there under this key */
	SRV_EXCHANGE_HERE	   /* this machine's own disk or memory */
} srv_exchange_end;

typedef struct srv_exchange srv_exchange;

/* The other side is a Hob (exchange_http.c) or a farm (exchange_farm.c). Each function as the one of its name below. */
typedef struct srv_exchange_way {
	void (*release)(srv_exchange *exchange);
	void (*cut)(srv_exchange *exchange); /* under the lock */
	srv_exchange_end (*find)(srv_exchange *exchange, const hob_sha256 *lookups, uint32_t count, hob_str via,
							 hob_buf *out);
	srv_exchange_end (*fetch_blob)(srv_exchange *exchange, const hob_sha256 *digest, uint64_t size);
	srv_exchange_end (*give_blob)(srv_exchange *exchange, const srv_recipe_output *output);
	srv_exchange_end (*give_record)(srv_exchange *exchange, const srv_recipe *record);
	srv_exchange_end (*probe)(srv_exchange *exchange);
} srv_exchange_way;

struct srv_exchange {
	const srv_exchange_way *way;
	srv_store *store;
	/* a Hob */
	srv_peer peer;
	const char *epoch; /* of the own cache */
	srv_connection *connection;
	/* a farm */
	srv_farm *farm;
	void *blobs;
	pthread_mutex_t lock; /* of `closing`, and of a connection that is made or taken down */
	bool closing;
	hob_error error;   /* of the newest call that did not end with OK or NONE */
	uint64_t bytes;	   /* that the newest call moved */
	hob_sha256 lookup; /* of the record that was given last */
};

/* A farm has no epochs and no circle of caches: `via` is not asked about. Errors: CONFIG. */
bool srv_exchange_init_farm(srv_exchange *exchange, srv_farm *farm, srv_store *store,
							hob_error *err) HOB_MUST_CHECK;
void srv_exchange_init(srv_exchange *exchange, const char *url, const char *token, srv_store *store,
					   const char *epoch);
void srv_exchange_release(srv_exchange *exchange);
/* Another thread: work in progress ends soon, and nothing new begins. */
void srv_exchange_cut(srv_exchange *exchange);

/* Asks for records. via: epochs before the own one, separated by ','. Appends the lines of records to *out. */
srv_exchange_end srv_exchange_find(srv_exchange *exchange, const hob_sha256 *lookups, uint32_t count,
								   hob_str via, hob_buf *out);
/* Brings every output of the record that is not here into the store, and validates all of them. Classic files are left out. A
 * failure has none. */
srv_exchange_end srv_exchange_fetch(srv_exchange *exchange, const srv_recipe *record);
/* One blob, which must have `size` bytes; UINT64_MAX: as many as it has, up to the limit. */
srv_exchange_end srv_exchange_fetch_blob(srv_exchange *exchange, const hob_sha256 *digest, uint64_t size);
/* Gives the blobs of the own record `key` that are missing there, then the record. NONE: it is no longer here. */
srv_exchange_end srv_exchange_give(srv_exchange *exchange, const hob_sha256 *key);
/* Does it answer, and may this cache ask? */
srv_exchange_end srv_exchange_probe(srv_exchange *exchange);

#endif
