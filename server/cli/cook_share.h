/* cook_share.h - the upstream of a run of `hob cook`: it is asked for results that the run's own cache does
 * not have, and gets the results. Loop thread. A run without a cache of its own uses a temporary folder
 * meanwhile. */
#ifndef CLI_COOK_SHARE_H
#define CLI_COOK_SHARE_H

#include "../upstream/upstream.h"
#include "cook_cache.h"
#include "serve_config.h"

typedef struct cook_share {
	srv_upstream *upstream; /* NULL: none */
	char folder[300];		/* the temporary cache; empty: none */
	uv_loop_t *loop;
	cook_cache *cache;
	bool farm;
	bool elsewhere;			   /* a result that the upstream has is not fetched: look->elsewhere */
	struct cook_claim *claims; /* that wait for an answer */
} cook_share;

/* Makes a folder for a cache that lasts as long as the run. Errors: IO. */
bool srv_cook_share_folder(cook_share *share, hob_error *err) HOB_MUST_CHECK;
/* changed: something was given, or cannot be given now. */
bool srv_cook_share_open(cook_share *share, uv_loop_t *loop, const serve_upstream *options,
						 const char *folder, cook_cache *cache, void (*changed)(void *user), void *user,
						 hob_error *err) HOB_MUST_CHECK;
/* Asks for the result of this look-up and brings it into the cache. Then calls done(user, there): if `there`,
 * srv_cook_look_match finds it. False: the upstream is not asked. */
bool srv_cook_share_ask(cook_share *share, cook_look *look, void (*done)(void *user, bool there), void *user);
/* A farm decides who cooks: done(user, again) is called when this machine is to cook, or when there is
 * something to ask for again. While another machine cooks it, it is not called. False: cook it now. */
bool srv_cook_share_claim(cook_share *share, cook_look *look, void (*done)(void *user, bool again),
						  void *user);
void srv_cook_share_unclaim(
	cook_share *share); /* answers all that wait for another machine: done(user, false), now */
void srv_cook_share_leave(cook_share *share,
						  cook_look *look); /* it was claimed, and there will be no result */
/* Looks that wait for cooks of other machines. */
uint32_t srv_cook_share_waits(const cook_share *share);
bool srv_cook_share_is_farm(const cook_share *share);
void srv_cook_share_give(cook_share *share, const hob_sha256 *key, const cook_look *look);
/* Something waits to be given, and can be. */
bool srv_cook_share_is_giving(const cook_share *share);
/* For people, at the end: appends nothing if all is well. */
void srv_cook_share_tell(const cook_share *share, hob_buf *out);
bool srv_cook_share_holds(void *share, const hob_sha256 *key); /* as srv_cook_cache_close asks */
/* Call it after the cache was closed. {0} is allowed. */
void srv_cook_share_release(cook_share *share);

#endif
