/* cook_cache.h - the cache of `hob cook`: finds results of earlier runs, and of the daemon, by the bytes of
 * their inputs.
 *
 * A look-up has three steps, because only the loop's thread uses the index, and other threads read files:
 *   srv_cook_look_source (any thread) -> srv_cook_look_find (loop) -> srv_cook_look_match (any thread).
 * File times and locations do not matter: every input is hashed, once per run. Failures are neither kept nor
 * reused. */
#ifndef CLI_COOK_CACHE_H
#define CLI_COOK_CACHE_H

#include "../../core/settings/cook_key.h"
#include "../store/store.h"
#include "../worker/pool.h"

typedef struct cook_cache cook_cache;

/* Errors: those of srv_store_open; LOCKED: a daemon or another run uses it. */
bool srv_cook_cache_open(const char *dir, const srv_store_options *options, cook_cache **out,
						 hob_error *err) HOB_MUST_CHECK;
/* Opens a LOCKED cache for reading; nothing is kept in it. Errors: those of srv_guest_open. */
bool srv_cook_cache_open_guest(const char *dir, cook_cache **out, hob_error *err) HOB_MUST_CHECK;
/* Commits, and trims the cache to max_bytes. Results that an asset of a daemon names or that `held` accepts
 * (NULL: none) are not trimmed. `cache` may be NULL. */
void srv_cook_cache_close(cook_cache *cache, bool (*held)(void *user, const hob_sha256 *key), void *user);
srv_store *srv_cook_cache_store_of(cook_cache *cache);

typedef struct cook_look {
	hob_arena arena;
	int root_fd;
	const char *path; /* below the root; owned by the caller */
	hob_ingredients ingredients;
	hob_sha256 source, lookup;
	bool force;		  /* skip the search for kept results */
	srv_record *kept; /* [kept_count] results with this lookup */
	uint32_t kept_count;
	bool only_report;  /* only the output `report` of `hit` is needed */
	bool foreign;	   /* `kept` comes from another cache, which has the outputs */
	hob_arena found;   /* owns `kept` if `foreign` */
	srv_record *match; /* member of `kept` whose inputs are unchanged; NULL: none */
	srv_outcome *hit;  /* `match` as the outcome of a cook; owned until taken */
} cook_look;

/* Sets the digest of a file below the root, so that the file is not read for it. False without memory. */
bool srv_cook_cache_tell(cook_cache *cache, const char *path, const hob_sha256 *digest);
/* Drops the digests of this cook's inputs: they are hashed again. */
void srv_cook_cache_forget(cook_cache *cache, const srv_result *result);

void srv_cook_look_init(cook_look *look, int root_fd, const char *path, const hob_settings *settings);
void srv_cook_look_release(cook_look *look);
/* Hashes the source. False: it cannot be read, and the cook will report why. */
bool srv_cook_look_source(cook_cache *cache, cook_look *look);
/* Sets look->lookup for this importer; any thread. */
void srv_cook_look_name(cook_look *look, const srv_pool_importer *importer);
/* Finds kept results for these bytes, settings and importer. Finding none is not an error. */
void srv_cook_look_find(cook_cache *cache, cook_look *look, const srv_pool_importer *importer);
/* Sets `match` if every input of a kept result is unchanged, and then `hit` if all its outputs exist; `hit`
 * stays NULL for a foreign result. */
void srv_cook_look_match(cook_cache *cache, cook_look *look);
/* Loop: stores the foreign `match`, whose outputs have been copied to the store. It becomes the only result
 * that srv_cook_look_match considers. */
bool srv_cook_look_adopt(cook_cache *cache, cook_look *look, hob_error *err) HOB_MUST_CHECK;

/* Any thread: stores the outputs of a cook, which the caller has checked; pass them to srv_cook_cache_keep.
 * NULL on failure, with *err, or if the cache is read-only. */
srv_record_output *srv_cook_cache_store(cook_cache *cache, const srv_result *result, hob_arena *arena,
										hob_error *err);
/* Loop: keeps the result under the digests that the worker read, and returns its key. *kept: whether it was
 * kept, which requires that the worker read the source as it was hashed here. */
bool srv_cook_cache_keep(cook_cache *cache, const cook_look *look, srv_outcome *outcome,
						 srv_record_output *outputs, hob_sha256 *key, bool *kept,
						 hob_error *err) HOB_MUST_CHECK;

/* Parts (textures) of cooks; loop thread. Contract as for the pool's callbacks. Put: false if not kept. */
int srv_cook_cache_part_get(cook_cache *cache, const uint8_t key[32]);
bool srv_cook_cache_part_put(cook_cache *cache, const uint8_t key[32], hob_bytes bytes);

#endif
