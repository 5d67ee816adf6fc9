/* farm.h - a database and a blob store that many machines share: who cooks what, what was cooked, and its
 * bytes.
 *
 * The database holds records by key and leases by lookup (schema/farm*.sql describe each table and function);
 * the blob store holds blobs under "blobs/ab/<sha256>". A blob exists before a row names it. This module does
 * not know the store, records or assets of this daemon, only texts and digests.
 *
 * A farm has two sessions with the database: one for statements, which any thread may use and which runs them
 * one by one, and one for the keeper thread, which waits for notifications. Each thread that transfers blobs
 * has its own handle (srv_farm_blobs_open). Every call has a deadline (driver.h). */
#ifndef SRV_FARM_H
#define SRV_FARM_H

#include "../../core/hash/hash.h"
#include "driver.h"

enum {
	SRV_FARM_SCHEMA = 4,
	SRV_FARM_NAME = 264, /* room for a machine's name */
	SRV_FARM_BLOB_NAME = 80,
	SRV_FARM_RECORD_MAX = 8 << 20 /* bytes; a longer text in the database is ignored */
};

typedef struct srv_farm_options {
	const char *metadata;		 /* postgresql://HOST/DATABASE */
	const char *blobs;			 /* file:///PATH, s3+http://HOST[:PORT]/BUCKET, s3+https://... */
	const char *password;		 /* of the database; NULL: none, or the one that libpq finds (PGPASSFILE) */
	const char *access, *secret; /* of the blob store; NULL: none */
	const char *node;			 /* this machine's name, for people */
	uint32_t lease_s;			 /* 0 = 30 */
} srv_farm_options;

typedef struct srv_farm srv_farm;

/* Loads the drivers; connects to nobody yet. owner: the holder of leases, the same after a restart. Errors:
 * CONFIG (an address of an unknown kind, a driver that is not installed, a password in an address), MEMORY. A
 * machine that is a copy of another, with its cache, is recognised by its name. */
bool srv_farm_open(const srv_farm_options *options, const char *owner, srv_farm **out,
				   hob_error *err) HOB_MUST_CHECK;
void srv_farm_close(srv_farm *farm); /* NULL is allowed */
void srv_farm_cut(srv_farm *farm);	 /* any thread: every call fails soon, from now on */
uint32_t srv_farm_lease_ms(const srv_farm *farm);
/* Versions of the drivers' libraries, for people; static text. */
const char *srv_farm_library(const srv_farm *farm, bool blobs);

/* ---- the database; any thread unless stated otherwise */

/* Appends the records of these lookups, one per line, failures last. REFUSED: this program cannot use the
 * schema. */
srv_farm_end srv_farm_find(srv_farm *farm, const hob_sha256 *lookups, uint32_t count, hob_buf *out,
						   srv_farm_why *why);

typedef enum srv_farm_verdict {
	SRV_FARM_MINE,	/* cook it; until srv_farm_give or srv_farm_leave, or until the lease expires */
	SRV_FARM_AGAIN, /* there are other records than `seen`: look again */
	SRV_FARM_HELD	/* another machine cooks it, and must renew its lease within `left_ms` */
} srv_farm_verdict;

typedef struct srv_farm_claim {
	hob_sha256 lookup;
	uint32_t seen;	  /* number of known records of this lookup that are not valid for the model */
	const char *what; /* asset, for people */
	/* out: */
	srv_farm_verdict verdict;
	uint32_t attempt, left_ms;
} srv_farm_claim;

srv_farm_end srv_farm_ask_claims(srv_farm *farm, srv_farm_claim *claims, uint32_t count, srv_farm_why *why);
/* Gives up leases without a result. */
srv_farm_end srv_farm_leave(srv_farm *farm, const hob_sha256 *lookups, uint32_t count, srv_farm_why *why);
typedef struct srv_farm_told {
	void (*lost)(void *user, const hob_sha256 *lookup); /* another machine has taken it over */
	void (*share)(void *user, uint32_t nodes,
				  uint32_t place); /* machines that live, and which of them this is */
	void *user;
} srv_farm_told;

/* Renews the leases that this machine holds. state: JSON of this node. within_s: machines that were seen so
 * long ago live; 0: as long as a lease. */
srv_farm_end srv_farm_heartbeat(srv_farm *farm, const hob_sha256 *lookups, uint32_t count, const char *role,
								const char *state, uint32_t within_s, srv_farm_told *told, srv_farm_why *why);

typedef struct srv_farm_result {
	hob_sha256 key, lookup, result;
	hob_str record;
	bool failed; /* the record of a failure: without result, bytes and cook_ms */
	uint64_t bytes, cook_ms;
} srv_farm_result;

typedef enum srv_farm_taken {
	SRV_FARM_GIVEN,
	SRV_FARM_KNOWN,	   /* the same record exists */
	SRV_FARM_CONFLICT, /* a record with another result exists */
	SRV_FARM_LATE	   /* another machine has the lease: later */
} srv_farm_taken;

srv_farm_end srv_farm_give(srv_farm *farm, const srv_farm_result *result, srv_farm_taken *taken,
						   srv_farm_why *why);
/* Deletes records that are invalid, and keeps the names of their authors. */
srv_farm_end srv_farm_refuse(srv_farm *farm, const hob_sha256 *keys, uint32_t count, const char *reason,
							 srv_farm_why *why);

/* Offers cooks to workers: the blob `list` names them. It is good as long as this machine's heartbeats
 * come. */
srv_farm_end srv_farm_offer(srv_farm *farm, const hob_sha256 *list, uint32_t models, srv_farm_why *why);
srv_farm_end srv_farm_withdraw(srv_farm *farm, srv_farm_why *why); /* all offers of this machine */
/* The oldest good offer after number *id, which becomes its own. NONE: there is none. */
srv_farm_end srv_farm_next_offer(srv_farm *farm, uint64_t *id, hob_sha256 *list, srv_farm_why *why);

/* Appends a JSON array of the machines that were seen last, at most 100: name, version, role ("cook",
 * "worker"), here (it is this machine), seen_seconds_ago, and the counts of its own last heartbeat: cooking,
 * cooked, fetched, outbox. */
srv_farm_end srv_farm_machines(srv_farm *farm, hob_buf *out, srv_farm_why *why);

/* author: the machine that gave this record, "" if there is none. mark: also marks the record as used
 * today. */
srv_farm_end srv_farm_used(srv_farm *farm, const hob_sha256 *key, bool mark, char author[SRV_FARM_NAME],
						   srv_farm_why *why);
/* Any statement without user input in it; for commands. */
srv_farm_end srv_farm_query(srv_farm *farm, const char *sql, const char *const *params, int count,
							srv_farm_row *each, void *user, srv_farm_why *why);
/* Runs the steps of the schema that the database does not have, each in one transaction. made: there were
 * some. */
srv_farm_end srv_farm_init(srv_farm *farm, bool *made, srv_farm_why *why);
/* The schema exists and this program can use it. */
srv_farm_end srv_farm_probe(srv_farm *farm, srv_farm_why *why);

/* farm_sets.c: for commands, which walk millions of rows in constant memory. The database keeps what they
 * need in tables of this session; if the session is lost, the command ends with an error. */
/* All records and failures, and what begins as the record of its row: the rest is no record. hob_action holds
 * the records: older programs that share the farm know it by that name. */
#define SRV_FARM_RECORDS "(select key, record from hob_action union all select key, record from hob_failure)"
#define SRV_FARM_BEGINS_RIGHT                                                                                \
	"octet_length(record) <= 8388608 and starts_with(record, '{\"hob_result\":1,\"key\":\"' || encode(key, " \
	"'hex') || '\"')"
/* Changes many rows in steps, so that no lock lasts. chosen: a query, whose rows are kept in the table
 * hob_step with a number n from 1. change: a statement for the rows $1 to $2 of it that returns how many it
 * changed, with params as $3 and $4; params:
 * {NULL} = none. changed: in total. */
srv_farm_end srv_farm_in_steps(srv_farm *farm, const char *chosen, const char *change,
							   const char *const params[2], uint64_t *changed, srv_farm_why *why);
/* Collects the names of all blobs that rows name which begin as records; once. */
srv_farm_end srv_farm_names_make(srv_farm *farm, uint64_t *count, srv_farm_why *why);
/* named: [count] whether each is among them. */
srv_farm_end srv_farm_names_have(srv_farm *farm, const hob_sha256 *digests, uint32_t count, bool *named,
								 srv_farm_why *why);
/* Hex digits with commas, and a zero byte. */
void srv_farm_put_list(hob_buf *out, const hob_sha256 *digests, uint32_t count);

/* Only for the keeper's thread: waits for results of other machines. */
srv_farm_end srv_farm_listen(srv_farm *farm, int ms, void (*heard)(void *user, const hob_sha256 *lookup),
							 void *user, srv_farm_why *why);

/* ---- blobs; only one thread may use a handle */

void *srv_farm_blobs_open(srv_farm *farm, srv_farm_why *why);

/* farm_mark.c: a blob store carries the id of the farm that it belongs to, as the object "blobs/.farm". Only
 * a program with the database of that id may delete blobs because no record names them. blobs: of
 * srv_farm_blobs_open. */
/* REFUSED: it carries another id; NONE: it carries none. */
srv_farm_end srv_farm_owns(srv_farm *farm, void *blobs, srv_farm_why *why);
/* Writes the id of this farm into an empty store. adopt: into any. Ends as srv_farm_owns. */
srv_farm_end srv_farm_own(srv_farm *farm, void *blobs, bool adopt, srv_farm_why *why);
const srv_farm_blobs *srv_farm_blobs_of(const srv_farm *farm);
void srv_farm_blob_name(const hob_sha256 *digest, char out[SRV_FARM_BLOB_NAME]);

/* farm_load.c: loads the module hob-farm-<name>.so from beside this program or from ../lib/hob; NULL: see
 * err. */
const srv_farm_module *srv_farm_load(const char *name, hob_error *err);
extern const srv_farm_blobs srv_farm_folder; /* blob_folder.c */

#endif
