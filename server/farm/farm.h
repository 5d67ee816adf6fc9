/* farm.h - a database and a blob store that many machines share: who cooks what, what was cooked, and its bytes.
 *
 * The database holds records by key and leases by lookup (schema/farm.sql and farm_2.sql tell each table and function); the blob store holds
 * blobs under "blobs/ab/<sha256>". A blob is there before a row names it. Nothing here knows the store, records or assets of this
 * daemon: texts and digests only.
 *
 * A farm has two sessions with the database: one for statements, which any thread may use and which are said one after another,
 * and one of the keeper thread, which waits for notifications. Each thread that moves blobs has a handle of its own
 * (srv_farm_blobs_open). Every call has a deadline (driver.h). */
#ifndef SRV_FARM_H
#define SRV_FARM_H

#include "../../core/hash/hash.h"
#include "driver.h"

enum { SRV_FARM_SCHEMA = 2, SRV_FARM_BLOB_NAME = 80 };

typedef struct srv_farm_options {
	const char *metadata;		 /* postgresql://HOST/DATABASE */
	const char *blobs;			 /* file:///PATH, s3+http://HOST[:PORT]/BUCKET, s3+https://... */
	const char *password;		 /* of the database; NULL: none, or as libpq finds it (PGPASSFILE) */
	const char *access, *secret; /* of the blob store; NULL: none */
	const char *node;			 /* this machine's name, for people */
	uint32_t lease_s;			 /* 0 = 30 */
} srv_farm_options;

typedef struct srv_farm srv_farm;

/* Loads the drivers; reaches nobody yet. owner: who holds the leases: the same after a restart. Errors: CONFIG (an address of no
 * known kind, a driver that is not installed, a password in an address), MEMORY. */
bool srv_farm_open(const srv_farm_options *options, const char *owner, srv_farm **out,
				   hob_error *err) HOB_MUST_CHECK;
void srv_farm_close(srv_farm *farm); /* NULL is fine */
void srv_farm_cut(srv_farm *farm);	 /* any thread: every call fails soon, from now on */
uint32_t srv_farm_lease_ms(const srv_farm *farm);
/* The drivers' libraries, for people; static text. */
const char *srv_farm_library(const srv_farm *farm, bool blobs);

/* ---- the database; any thread but where it says otherwise */

/* Appends the records of these lookups, a line each; those of failures last. REFUSED: the schema is not one for this program. */
srv_farm_end srv_farm_find(srv_farm *farm, const hob_sha256 *lookups, uint32_t count, hob_buf *out,
						   srv_farm_why *why);

typedef enum srv_farm_verdict {
	SRV_FARM_MINE,	/* cook it; until srv_farm_give or srv_farm_leave, or the lease runs out */
	SRV_FARM_AGAIN, /* there are other records than were seen: look again */
	SRV_FARM_HELD	/* somebody cooks it, for at most `left_ms` more without a word */
} srv_farm_verdict;

typedef struct srv_farm_claim {
	hob_sha256 lookup;
	uint32_t seen;	  /* records of this lookup that did not hold */
	const char *what; /* asset, for people */
	/* out: */
	srv_farm_verdict verdict;
	uint32_t attempt, left_ms;
} srv_farm_claim;

srv_farm_end srv_farm_ask_claims(srv_farm *farm, srv_farm_claim *claims, uint32_t count, srv_farm_why *why);
/* Ends leases without a result. */
srv_farm_end srv_farm_leave(srv_farm *farm, const hob_sha256 *lookups, uint32_t count, srv_farm_why *why);
/* Moves the ends of leases that are held; `lost` is called for each that somebody else holds by now. state: JSON of this node. */
srv_farm_end srv_farm_heartbeat(srv_farm *farm, const hob_sha256 *lookups, uint32_t count, const char *role,
								const char *state, void (*lost)(void *user, const hob_sha256 *lookup),
								void *user, srv_farm_why *why);

typedef struct srv_farm_result {
	hob_sha256 key, lookup, result;
	hob_str record;
	bool failed; /* the record of a failure: without result, bytes and cook_ms */
	uint64_t bytes, cook_ms;
} srv_farm_result;

typedef enum srv_farm_taken {
	SRV_FARM_GIVEN,
	SRV_FARM_KNOWN,	   /* the same is there */
	SRV_FARM_CONFLICT, /* another result is there */
	SRV_FARM_LATE	   /* somebody else holds the lease: later */
} srv_farm_taken;

srv_farm_end srv_farm_give(srv_farm *farm, const srv_farm_result *result, srv_farm_taken *taken,
						   srv_farm_why *why);
/* Records that are not believed: they go, and their authors are written down. */
srv_farm_end srv_farm_refuse(srv_farm *farm, const hob_sha256 *keys, uint32_t count, const char *reason,
							 srv_farm_why *why);
/* It was of use today. */
srv_farm_end srv_farm_used(srv_farm *farm, const hob_sha256 *key, srv_farm_why *why);
/* Any statement without what a user wrote in it; for commands. */
srv_farm_end srv_farm_query(srv_farm *farm, const char *sql, const char *const *params, int count,
							srv_farm_row *each, void *user, srv_farm_why *why);
/* Runs the steps of the schema that the database has not got, each in one transaction. made: there were such. */
srv_farm_end srv_farm_init(srv_farm *farm, bool *made, srv_farm_why *why);
/* The schema is there and for this program. */
srv_farm_end srv_farm_probe(srv_farm *farm, srv_farm_why *why);

/* The keeper's thread alone: waits for results of others. */
srv_farm_end srv_farm_listen(srv_farm *farm, int ms, void (*heard)(void *user, const hob_sha256 *lookup),
							 void *user, srv_farm_why *why);

/* ---- blobs; a handle is of one thread */

void *srv_farm_blobs_open(srv_farm *farm, srv_farm_why *why);
const srv_farm_blobs *srv_farm_blobs_of(const srv_farm *farm);
void srv_farm_blob_name(const hob_sha256 *digest, char out[SRV_FARM_BLOB_NAME]);

/* farm_load.c: the module hob-farm-<name>.so beside this program or in ../lib/hob; NULL: see err. */
const srv_farm_module *srv_farm_load(const char *name, hob_error *err);
extern const srv_farm_blobs srv_farm_folder; /* blob_folder.c */

#endif
