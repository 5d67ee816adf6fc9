/* upstream.h - another cache that Hob asks before a cook, and to which it gives results.
 *
 *            find -> records of a lookup        fetch -> blobs of one record        give <- outbox
 *
 * The loop's thread makes orders; a few threads of this module execute them, each on its own connection.
 * Requests that wait while another is in progress are sent together. All received data is checked: see
 * exchange.h, and srv_upstream_find below.
 *
 * If the upstream does not answer, nothing waits: the first failure ends all orders in progress, and new ones
 * are refused at once. It is tried again after a second, later after up to a minute, plus a random quarter.
 * Results wait in the outbox meanwhile. A request may have its own limit, so that a save does not wait for a
 * slow network.
 *
 *              good probe   20 in a row   no answer   a tenth failed   refused
 *   UP         -            -             DEGRADED    FAILING          BARRED
 *   DEGRADED   UP           UP            DEGRADED    DEGRADED         BARRED
 *   FAILING    FAILING      UP            FAILING     FAILING          BARRED
 *   BARRED     UP           UP            DEGRADED    DEGRADED         BARRED
 *
 * FAILING: 4 of the last 40 answers failed. It is probed each second, by giving it a result if one waits, and
 * nothing is left to other machines. If it answers reads but fails to take a result, only giving pauses (1 to
 * 30 s), and the failure counts among the 40.
 * BARRED: the token, or a cycle of caches; tried again each minute.
 *
 * Loop thread, unless stated otherwise. Callbacks run on the loop, never within the ordering call. */
#ifndef SRV_UPSTREAM_H
#define SRV_UPSTREAM_H

#include "../farm/farm.h"
#include "../store/store.h"

#include <uv.h>

typedef struct srv_upstream srv_upstream;

typedef struct srv_upstream_options {
	const char *url;   /* in the form of client/connection.h */
	const char *token; /* NULL: none */
	/* NULL: none; otherwise it replaces the other Hob, and `url` is only shown to people */
	const srv_farm_options *farm;
	const char *cache;			 /* folder of our own cache */
	bool give;					 /* give results to it, if the token may write */
	void (*changed)(void *user); /* called when a result was given, or when the state changed; may be NULL */
	void *user;
} srv_upstream_options;

/* Copies the texts. Errors: IO (the outbox), CONFIG (an invalid farm), MEMORY. */
bool srv_upstream_new(uv_loop_t *loop, const srv_upstream_options *options, srv_store *store,
					  srv_upstream **out, hob_error *err) HOB_MUST_CHECK;
/* Ends work in progress, answers every order with nothing, then calls closed(user). Undelivered results stay
 * in the outbox. */
void srv_upstream_close(srv_upstream *upstream, void (*closed)(void *user), void *user);
/* Call it after `closed`, or after srv_upstream_new failed; until then other threads may read. NULL is
 * allowed. */
void srv_upstream_free(srv_upstream *upstream);

/* The conditions for a record, and how to ask for it. */
typedef struct srv_upstream_wish {
	hob_sha256 lookup, source;
	hob_str inputs; /* as hob_ingredients_print writes them */
	/* epochs that a request from another cache has passed; source and inputs are not compared then */
	hob_str via;
	uint32_t wait_ms; /* 0: no limit; otherwise the answer is dropped after this time */
} srv_upstream_wish;

/* records: the valid ones: canonical, of this lookup, source and inputs, with the right key, successful, with
 * outputs (except classic files, which are made here on request); newest first. A farm also returns failures
 * common to all machines, last. They live in *arena, which the callee may take over. reached: the upstream
 * answered. */
typedef void srv_upstream_found(void *user, hob_arena *arena, srv_record *records, uint32_t count,
								bool reached);
/* False: the upstream is not asked now, and `found` is not called. */
bool srv_upstream_find(srv_upstream *upstream, const srv_upstream_wish *wish, srv_upstream_found *found,
					   void *user);

/* `ok`: every output is in the store and valid. `author`, valid during the call: the machine of a farm that
 * cooked it, or "". */
typedef void srv_upstream_fetched(void *user, bool ok, const char *author);
/* `record` must stay valid until the callback. */
bool srv_upstream_fetch(srv_upstream *upstream, const srv_record *record, srv_upstream_fetched *fetched,
						void *user);
/* One blob, for a client of this daemon. */
bool srv_upstream_fetch_blob(srv_upstream *upstream, const hob_sha256 *digest, srv_upstream_fetched *fetched,
							 void *user);
/* Whether a fetch takes at most twice as long as another cook, or two seconds, as far as known; otherwise it
 * is counted as slower. */
bool srv_upstream_is_worth(srv_upstream *upstream, const srv_record *record);

/* ---- for a farm: leases. Without a farm nothing is claimed. */

typedef enum srv_upstream_verdict {
	SRV_UPSTREAM_ALONE, /* the farm has not answered: cook it */
	SRV_UPSTREAM_HELD,	/* likewise, cook it; but another machine had the lease when last asked */
	SRV_UPSTREAM_MINE,	/* this machine has the lease: cook it, then give the result or leave the claim */
	SRV_UPSTREAM_AGAIN	/* another machine has cooked something with this lookup: find it */
} srv_upstream_verdict;

/* Asks the farm for the lease of a lookup and calls `claimed` with the verdict, also if the farm does not
 * answer. The claim waits while another machine cooks the lookup, and while this machine has the lease for
 * another model with the same lookup, until that result is given. seen: records of the lookup that were found
 * invalid. what: shown to users. claimed NULL: this machine cooks anyway; the others are informed. False: the
 * farm is not asked now. */
typedef void srv_upstream_claimed(void *user, srv_upstream_verdict verdict);
bool srv_upstream_claim(srv_upstream *upstream, const hob_sha256 *lookup, uint32_t seen, const char *what,
						srv_upstream_claimed *claimed, void *user);
/* Gives up the claim with this `user`: its callback is called now, with ALONE. False: there is none. */
bool srv_upstream_unclaim(srv_upstream *upstream, const void *user);
/* Gives up a claim without a result. */
void srv_upstream_leave(srv_upstream *upstream, const hob_sha256 *lookup);

/* Valid until srv_upstream_close; NULL: not a farm. */
srv_farm *srv_upstream_farm(const srv_upstream *upstream);

/* Gives a result that was cooked here and is in the store. `lookup`: its lease ends with that. */
void srv_upstream_give(srv_upstream *upstream, const hob_sha256 *key, const hob_sha256 *lookup);
/* Whether the record waits in the outbox, and so must not be evicted. */
bool srv_upstream_holds(srv_upstream *upstream, const hob_sha256 *key);

typedef enum srv_upstream_state {
	SRV_UPSTREAM_UP,
	SRV_UPSTREAM_DEGRADED,
	SRV_UPSTREAM_FAILING,
	SRV_UPSTREAM_BARRED
} srv_upstream_state;

typedef struct srv_upstream_facts {
	char url[256];
	srv_upstream_state state;
	int64_t since_ms;	   /* Unix time of the last change of state; 0: the start */
	char reason[264];	   /* reason why the upstream is not UP */
	bool gives, read_only; /* `read_only`: the token has no write access */
	bool full;			   /* the upstream was full at the last attempt to give */
	uint64_t asked, found; /* lookups, and those that found records */
	uint64_t fetched, fetched_bytes, given, given_bytes;
	uint64_t slower;	/* results that were not fetched because cooking is quicker here */
	uint64_t refused;	/* records and blobs that were invalid */
	uint64_t conflicts; /* results that differ from those kept there */
	uint64_t outbox;
	/* a farm */
	bool farm;
	uint64_t claimed;	 /* leases granted to this machine */
	uint64_t waits;		 /* cooks of other machines that this one waits for */
	uint64_t leases;	 /* held now */
	uint64_t taken_over; /* expired leases of other machines that this one took over */
	uint64_t lost;		 /* expired leases of this machine */
	uint64_t late;		 /* results kept back because another machine had the lease */
	uint32_t nodes;		 /* live machines at the last heartbeat, including this one; 0: unknown */
	uint32_t place;		 /* index of this machine among them, from 0 */
	uint32_t lease_ms;
	bool apart; /* the farm's machines cannot coordinate: each keeps to its share */
} srv_upstream_facts;

/* Any thread. */
void srv_upstream_look(srv_upstream *upstream, srv_upstream_facts *out);
/* Any thread: appends the newest list of the farm's machines (srv_farm_machines), and requests a new one if
 * it is older than a few seconds. Returns its age in ms; -1: there is none yet, and nothing is appended. */
int64_t srv_upstream_machines(srv_upstream *upstream, hob_buf *out);
const char *srv_upstream_state_name(srv_upstream_state state); /* "up", "degraded" (also FAILING), "barred" */

#endif
