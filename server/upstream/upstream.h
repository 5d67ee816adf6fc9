/* upstream.h - another cache that is asked before something is cooked, and given what was cooked here.
 *
 *            find -> records of a lookup        fetch -> blobs of one record        give <- outbox
 *
 * The loop's thread orders; a few threads of its own carry out, each on one kept connection. Questions that wait while another
 * one is under way go together. Nothing that comes is believed: exchange.h, and srv_upstream_find below.
 *
 * When nobody answers, nothing waits: the first failure ends all that is under way, orders are turned down at once, and the
 * upstream is tried again after a second, later after up to a minute (a quarter of chance on top). What was cooked meanwhile waits in the
 * outbox. A question may have a limit of its own, so that a save does not wait for a slow network.
 *
 *   UP <-> DEGRADED (nobody answers: tried again)       UP <-> BARRED (the token, or a circle of caches: tried again each minute)
 *
 * Loop thread, but where it says otherwise. Callbacks come on the loop, never from within the call that orders. */
#ifndef SRV_UPSTREAM_H
#define SRV_UPSTREAM_H

#include "../farm/farm.h"
#include "../store/store.h"

#include <uv.h>

typedef struct srv_upstream srv_upstream;

typedef struct srv_upstream_options {
	const char *url;   /* as client/connection.h takes it */
	const char *token; /* NULL: none */
	const srv_farm_options
		*farm; /* NULL: none; else this takes the place of a Hob, and `url` is what people are shown */
	const char *cache;			 /* folder of the own cache */
	bool give;					 /* what is cooked here goes there, if the token may write */
	void (*changed)(void *user); /* something was given, or the state is another one; may be NULL */
	void *user;
} srv_upstream_options;

/* Texts are copied. Errors: IO (the outbox), CONFIG (a farm that cannot be), MEMORY. */
bool srv_upstream_new(uv_loop_t *loop, const srv_upstream_options *options, srv_store *store,
					  srv_upstream **out, hob_error *err) HOB_MUST_CHECK;
/* Cuts what is under way, answers every order with nothing, then closed(user). What was not given stays in the outbox. */
void srv_upstream_close(srv_upstream *upstream, void (*closed)(void *user), void *user);
/* After closed, or a failure of srv_upstream_new; until then other threads may look. NULL is fine. */
void srv_upstream_free(srv_upstream *upstream);

/* What it must be a record of: */
typedef struct srv_upstream_wish {
	hob_sha256 lookup, source;
	hob_str inputs; /* as hob_ingredients_print writes them */
	hob_str
		via; /* of a question that came from another cache: epochs on its way; then source and inputs are not compared */
	uint32_t wait_ms; /* 0: as long as it takes; else nothing is answered after that */
} srv_upstream_wish;

/* records: those that passed: canonical, of this lookup, source and inputs, their key right, made well, with outputs (but
 * for classic files, which are made here on request); newest first. Of a farm also failures that every machine has, last.
 * They live in *arena, which the callee may move out. reached: somebody answered. */
typedef void srv_upstream_found(void *user, hob_arena *arena, srv_recipe *records, uint32_t count,
								bool reached);
/* False: it is not asked now, and `found` is not called. */
bool srv_upstream_find(srv_upstream *upstream, const srv_upstream_wish *wish, srv_upstream_found *found,
					   void *user);

/* ok: every output is in the store and valid. `record` lives until then. */
typedef void srv_upstream_fetched(void *user, bool ok);
bool srv_upstream_fetch(srv_upstream *upstream, const srv_recipe *record, srv_upstream_fetched *fetched,
						void *user);
/* One blob, for a client of this daemon. */
bool srv_upstream_fetch_blob(srv_upstream *upstream, const hob_sha256 *digest, srv_upstream_fetched *fetched,
							 void *user);
/* Whether fetching costs less than cooking again, as far as that is known. */
bool srv_upstream_is_worth(srv_upstream *upstream, const srv_recipe *record);

/* ---- of a farm: who cooks what. Without one, nothing is claimed. */

typedef enum srv_upstream_verdict {
	SRV_UPSTREAM_ALONE, /* the farm has not answered: cook it */
	SRV_UPSTREAM_MINE,	/* the lease is this machine's: cook it, and give it, or leave it */
	SRV_UPSTREAM_AGAIN	/* another machine has cooked something with this lookup: find it */
} srv_upstream_verdict;

/* Calls `claimed` when it is this machine's turn, or no machine has the lease: while another machine cooks that lookup, nothing is
 * said. seen: records of the lookup that were found and did not hold. what: for people. claimed NULL: the others learn that it is cooked
 * here, whatever they do. False: it is not asked now. */
typedef void srv_upstream_claimed(void *user, srv_upstream_verdict verdict);
bool srv_upstream_claim(srv_upstream *upstream, const hob_sha256 *lookup, uint32_t seen, const char *what,
						srv_upstream_claimed *claimed, void *user);
/* Gives up that claim: its callback comes now, as ALONE. False: there is no such claim. */
bool srv_upstream_unclaim(srv_upstream *upstream, const void *user);
/* What was claimed will not be given. */
void srv_upstream_leave(srv_upstream *upstream, const hob_sha256 *lookup);

/* A result that was cooked here and is in the store. lookup: its lease ends with that. */
void srv_upstream_give(srv_upstream *upstream, const hob_sha256 *key, const hob_sha256 *lookup);
/* It waits in the outbox, and must not be evicted. */
bool srv_upstream_holds(srv_upstream *upstream, const hob_sha256 *key);

typedef enum srv_upstream_state {
	SRV_UPSTREAM_UP,
	SRV_UPSTREAM_DEGRADED,
	SRV_UPSTREAM_BARRED
} srv_upstream_state;

typedef struct srv_upstream_facts {
	char url[256];
	srv_upstream_state state;
	int64_t since_ms;	   /* Unix time of the state; 0 = since the start */
	char reason[232];	   /* why it is not UP */
	bool gives, read_only; /* read_only: it was found that the token may not write */
	bool full;			   /* it had no room when something was given last */
	uint64_t asked, found; /* lookups, and those that brought records */
	uint64_t fetched, fetched_bytes, given, given_bytes;
	uint64_t refused;	/* what came and was not believed */
	uint64_t conflicts; /* results that are kept there in another form */
	uint64_t outbox;
	/* a farm */
	bool farm;
	uint64_t claimed;	 /* leases that were got */
	uint64_t waits;		 /* for another machine's cook, now */
	uint64_t leases;	 /* now */
	uint64_t taken_over; /* leases that another machine had let run out */
	uint64_t lost;		 /* leases of this machine that ran out */
	uint64_t late;		 /* results that were held back because another machine had the lease */
} srv_upstream_facts;

/* Any thread. */
void srv_upstream_look(srv_upstream *upstream, srv_upstream_facts *out);
const char *srv_upstream_state_name(srv_upstream_state state); /* "up", "degraded", "barred" */

#endif
