/* farm.h - a database and a blob store shared by many machines: leases of cooks, records, and blobs.
 *
 * The database holds records by key and leases by lookup (schema/farm*.sql describe each table and function);
 * the blob store holds blobs under "blobs/ab/<sha256>". A blob exists before a row names it. This module does
 * not know the store, records or assets of this daemon, only texts and digests.
 *
 * A farm has two sessions with the database: one for statements, usable from any thread and run one by one,
 * and one for the keeper thread, which waits for notifications. Each thread that transfers blobs has its own
 * handle (srv_farm_blobs_open). Every call has a deadline (driver.h). */
#ifndef SRV_FARM_H
#define SRV_FARM_H

#include "../../core/hash/hex.h"
#include "driver.h"

enum {
	SRV_FARM_SCHEMA = 4,
	SRV_FARM_NAME = 264, /* room for a machine's name */
	SRV_FARM_BLOB_NAME = 80,
	SRV_FARM_RECORD_MAX = 8 << 20 /* bytes; longer texts in the database are ignored */
};

typedef struct srv_farm_options {
	const char *metadata; /* postgresql://HOST/DATABASE */
	const char *blobs;	  /* file:///PATH, s3+http://HOST[:PORT]/BUCKET, s3+https://... */
	/* password of the database; NULL: none, or the one that libpq finds (PGPASSFILE) */
	const char *password;
	const char *access, *secret; /* credentials of the blob store; NULL: none */
	const char *node;			 /* this machine's name, for people */
	uint32_t lease_s;			 /* 0 means 30 */
} srv_farm_options;

typedef struct srv_farm srv_farm;

/* Loads the drivers; does not connect yet. owner: the holder of leases, the same after a restart. A copied
 * machine with a copied cache is recognised by its name. Errors: CONFIG (an address of an unknown kind, a
 * driver that is not installed, a password in an address), MEMORY. */
bool srv_farm_open(const srv_farm_options *options, const char *owner, srv_farm **out,
				   hob_error *err) HOB_MUST_CHECK;
void srv_farm_close(srv_farm *farm); /* NULL is allowed */
void srv_farm_cut(srv_farm *farm);	 /* any thread: from now on every call fails soon */
uint32_t srv_farm_lease_ms(const srv_farm *farm);
/* Versions of the drivers' libraries, for people; static text. */
const char *srv_farm_library(const srv_farm *farm, bool blobs);

/* ---- the database; any thread unless stated otherwise */

/* Appends the records of these lookups, one per line, failures last. REFUSED: this program cannot use the
 * schema. */
srv_farm_end srv_farm_find(srv_farm *farm, const hob_sha256 *lookups, uint32_t count, hob_buf *out,
						   srv_farm_why *why);

typedef enum srv_farm_verdict {
	SRV_FARM_MINE,	/* cook it; held until srv_farm_give or srv_farm_leave, or until the lease expires */
	SRV_FARM_AGAIN, /* there are records other than `seen`: look again */
	SRV_FARM_HELD	/* another machine cooks it, and must renew its lease within `left_ms` */
} srv_farm_verdict;

typedef struct srv_farm_claim {
	hob_sha256 lookup;
	uint32_t seen;	  /* number of known records of this lookup that do not apply to the model */
	const char *what; /* asset, for people */
	/* out: */
	srv_farm_verdict verdict;
	uint32_t attempt, left_ms;
} srv_farm_claim;

srv_farm_end srv_farm_ask_claims(srv_farm *farm, srv_farm_claim *claims, uint32_t count, srv_farm_why *why);
/* Releases leases without a result. */
srv_farm_end srv_farm_leave(srv_farm *farm, const hob_sha256 *lookups, uint32_t count, srv_farm_why *why);
typedef struct srv_farm_told {
	void (*lost)(void *user, const hob_sha256 *lookup); /* another machine has taken it over */
	void (*share)(void *user, uint32_t nodes,
				  uint32_t place); /* number of live machines, and the index of this one */
	void *user;
} srv_farm_told;

/* Renews the leases of this machine. state: JSON of this node. within_s: machines seen within this time count
 * as live; 0: the lease time. */
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
	SRV_FARM_KNOWN,	   /* the store has the same record already */
	SRV_FARM_CONFLICT, /* a record with another result exists */
	SRV_FARM_LATE	   /* another machine has the lease: retry later */
} srv_farm_taken;

srv_farm_end srv_farm_give(srv_farm *farm, const srv_farm_result *result, srv_farm_taken *taken,
						   srv_farm_why *why);
/* Deletes invalid records and stores the names of their authors. */
srv_farm_end srv_farm_refuse(srv_farm *farm, const hob_sha256 *keys, uint32_t count, const char *reason,
							 srv_farm_why *why);

/* Offers cooks to workers, listed in the blob `list`. Valid while this machine's heartbeats arrive. */
srv_farm_end srv_farm_offer(srv_farm *farm, const hob_sha256 *list, uint32_t models, srv_farm_why *why);
srv_farm_end srv_farm_withdraw(srv_farm *farm, srv_farm_why *why); /* all offers of this machine */
/* The oldest valid offer after number *id; sets *id. NONE: there is none. */
srv_farm_end srv_farm_next_offer(srv_farm *farm, uint64_t *id, hob_sha256 *list, srv_farm_why *why);

/* Appends a JSON array of the machines seen last, at most 100: name, version, role ("cook", "worker"), here
 * (it is this machine), seen_seconds_ago, and the counts of its last heartbeat: cooking, cooked, fetched,
 * outbox. */
srv_farm_end srv_farm_machines(srv_farm *farm, hob_buf *out, srv_farm_why *why);

/* `author` becomes the machine that stored this record, "" if there is none. `mark`: also marks the record as
 * used today. */
srv_farm_end srv_farm_used(srv_farm *farm, const hob_sha256 *key, bool mark, char author[SRV_FARM_NAME],
						   srv_farm_why *why);
/* Runs any statement that contains no user input; for commands. */
srv_farm_end srv_farm_query(srv_farm *farm, const char *sql, const char *const *params, int count,
							srv_farm_row *each, void *user, srv_farm_why *why);
/* Runs the schema steps missing in the database, each in one transaction. `made`: there were some. */
srv_farm_end srv_farm_init(srv_farm *farm, bool *made, srv_farm_why *why);
/* Whether the schema exists and this program can use it. */
srv_farm_end srv_farm_probe(srv_farm *farm, srv_farm_why *why);

/* farm_sets.c: for commands, which process millions of rows in constant memory. Their data is in temporary
 * tables of this session; if the session is lost, the command ends with an error. */
/* All records and failures whose text begins as the record of its row. hob_action holds the records, under a
 * name that older programs of the farm use. */
#define SRV_FARM_RECORDS "(select key, record from hob_action union all select key, record from hob_failure)"
#define SRV_FARM_BEGINS_RIGHT                                                                                \
	"octet_length(record) <= 8388608 and starts_with(record, '{\"hob_result\":1,\"key\":\"' || encode(key, " \
	"'hex') || '\"')"
/* Changes many rows in steps, so that no lock lasts. chosen: a query, whose rows are stored in the table
 * hob_step with a number n from 1. change: a statement that processes rows $1 to $2 of it and returns how
 * many it changed, with params as $3 and $4; params: {NULL} = none. changed: in total. */
srv_farm_end srv_farm_in_steps(srv_farm *farm, const char *chosen, const char *change,
							   const char *const params[2], uint64_t *changed, srv_farm_why *why);
/* Collects the names of all blobs in texts that begin as records; once. */
srv_farm_end srv_farm_names_make(srv_farm *farm, uint64_t *count, srv_farm_why *why);
/* `named` [count]: whether each was collected. */
srv_farm_end srv_farm_names_have(srv_farm *farm, const hob_sha256 *digests, uint32_t count, bool *named,
								 srv_farm_why *why);
/* Hex digits with commas, and a zero byte. */
void srv_farm_put_list(hob_buf *out, const hob_sha256 *digests, uint32_t count);

/* Keeper thread only: waits for results of other machines. */
srv_farm_end srv_farm_listen(srv_farm *farm, int ms, void (*heard)(void *user, const hob_sha256 *lookup),
							 void *user, srv_farm_why *why);

/* ---- blobs; only one thread may use a handle */

void *srv_farm_blobs_open(srv_farm *farm, srv_farm_why *why);

srv_farm_end srv_farm_id(srv_farm *farm, char out[HOB_SHA256_TEXT + 1], srv_farm_why *why);
/* farm_mark.c: a blob store contains the id of its farm, as the object "blobs/.farm". Only a program with the
 * database of that id may delete blobs that no record names. blobs: of srv_farm_blobs_open. */
/* REFUSED: the store contains another id; NONE: it has none. */
srv_farm_end srv_farm_owns(srv_farm *farm, void *blobs, srv_farm_why *why);
/* Writes the id of this farm into an empty store. `adopt`: into any. Returns as srv_farm_owns. */
srv_farm_end srv_farm_own(srv_farm *farm, void *blobs, bool adopt, srv_farm_why *why);
const srv_farm_blobs *srv_farm_blobs_of(const srv_farm *farm);
void srv_farm_blob_name(const hob_sha256 *digest, char out[SRV_FARM_BLOB_NAME]);

/* farm_load.c: loads the module hob-farm-<name>.so from this program's folder or from ../lib/hob; NULL: see
 * err. */
const srv_farm_module *srv_farm_load(const char *name, hob_error *err);
extern const srv_farm_blobs srv_farm_folder; /* blob_folder.c */

#endif
