/* exchange.h - requests of one thread to another cache: find records, fetch blobs, give records.
 *
 * All received data is checked. A blob is hashed on arrival and stored only if the digest matches. A record
 * must be canonical, have its own key, and be for the requested source and settings. Outputs must pass the
 * same validators as those of a cook process.
 *
 * Each call blocks its thread, never longer than the limits below. A kept connection that the other side has
 * closed is reopened once. */
#ifndef SRV_EXCHANGE_H
#define SRV_EXCHANGE_H

#include "../client/connection.h"
#include "../../core/hash/hex.h"
#include "../farm/farm.h"
#include "../fs/lock.h"
#include "../store/store.h"

enum {
	SRV_EXCHANGE_CONNECT_MS = 2000,
	SRV_EXCHANGE_SILENCE_MS = 4000,
	SRV_EXCHANGE_SLOWEST = 128 << 10, /* minimum bytes per second of a body, on average */
	SRV_EXCHANGE_RECORDS_MAX = 64 << 20,
	SRV_EXCHANGE_BLOBS_MAX_GIB = 4 /* of one record */
};

typedef enum srv_exchange_end {
	SRV_EXCHANGE_OK,
	SRV_EXCHANGE_NONE,		/* not found there */
	SRV_EXCHANGE_DOWN,		/* no answer, a late one, or 5xx: retry later */
	SRV_EXCHANGE_FULL,		/* no space left there: retry later */
	SRV_EXCHANGE_BARRED,	/* the token is not accepted */
	SRV_EXCHANGE_READ_ONLY, /* the token may not write */
	SRV_EXCHANGE_LOOP,		/* caches ask each other in a circle */
	SRV_EXCHANGE_REFUSED,	/* invalid data was received, or given data was refused */
	SRV_EXCHANGE_LATE,		/* another machine has the lease: retry later */
	SRV_EXCHANGE_CONFLICT,	/* the key has another result there */
	SRV_EXCHANGE_HERE		/* failure of this machine's own disk or memory */
} srv_exchange_end;

typedef struct srv_exchange srv_exchange;

/* The other side: a Hob (exchange_http.c) or a farm (exchange_farm.c). Each function does what the one of its
 * name below says. */
typedef struct srv_exchange_way {
	void (*release)(srv_exchange *exchange);
	void (*cut)(srv_exchange *exchange); /* lock held */
	srv_exchange_end (*find)(srv_exchange *exchange, const hob_sha256 *lookups, uint32_t count, hob_str via,
							 hob_buf *out);
	srv_exchange_end (*fetch_blob)(srv_exchange *exchange, const hob_sha256 *digest, uint64_t size);
	srv_exchange_end (*give_blob)(srv_exchange *exchange, const srv_record_output *output);
	srv_exchange_end (*give_record)(srv_exchange *exchange, const srv_record *record);
	srv_exchange_end (*probe)(srv_exchange *exchange);
} srv_exchange_way;

/* Times of fetches. Small blobs give the latency of a request, large ones the throughput after it. */
typedef struct srv_exchange_times {
	uint32_t small, large;
	uint64_t large_bytes;
	double small_ms, large_ms;
} srv_exchange_times;

struct srv_exchange {
	const srv_exchange_way *way;
	srv_store *store;
	/* a Hob */
	srv_peer peer;
	const char *epoch; /* of our own cache */
	srv_connection *connection;
	/* a farm */
	srv_farm *farm;
	void *blobs;
	pthread_mutex_t lock; /* guards `closing`, and opening and closing of the connection */
	bool closing;
	hob_error error;		  /* error of the last call that ended neither OK nor NONE */
	uint64_t bytes;			  /* bytes transferred by the last call */
	srv_exchange_times times; /* of the last call */
	hob_sha256 lookup;		  /* lookup of the last given record */
};

srv_exchange_end srv_exchange_end_of(srv_farm_end end, const srv_farm_why *why, hob_error *error);
/* A farm has no epochs and no cycles of caches, and ignores `via`. Errors: CONFIG. */
bool srv_exchange_init_farm(srv_exchange *exchange, srv_farm *farm, srv_store *store,
							hob_error *err) HOB_MUST_CHECK;
void srv_exchange_init(srv_exchange *exchange, const char *url, const char *token, srv_store *store,
					   const char *epoch);
void srv_exchange_release(srv_exchange *exchange);
/* Called from another thread: work in progress ends soon, and no new work starts. */
void srv_exchange_cut(srv_exchange *exchange);

/* Asks for records. `via`: epochs before our own, separated by ','. Appends the lines of the records to
 * *out. */
srv_exchange_end srv_exchange_find(srv_exchange *exchange, const hob_sha256 *lookups, uint32_t count,
								   hob_str via, hob_buf *out);
/* Fetches every missing output of the record into the store, and validates all outputs. Skips classic files.
 * A failure has no outputs. */
srv_exchange_end srv_exchange_fetch(srv_exchange *exchange, const srv_record *record);
/* Fetches one blob, which must have `size` bytes. UINT64_MAX: any size up to the limit. */
srv_exchange_end srv_exchange_fetch_blob(srv_exchange *exchange, const hob_sha256 *digest, uint64_t size);
/* Gives the missing blobs of our own record `key`, then the record. NONE: the record is no longer in this
 * cache. */
srv_exchange_end srv_exchange_give(srv_exchange *exchange, const hob_sha256 *key);
/* The lookup of our own record `key`. False: the record is no longer in this cache. */
bool srv_exchange_lookup(srv_exchange *exchange, const hob_sha256 *key, hob_sha256 *lookup);
/* Whether the other side answers and this cache may use it. */
srv_exchange_end srv_exchange_probe(srv_exchange *exchange);

#endif
