/* offer.h - cooks that one machine offers to the workers of its farm: the list of its models, and of the
 * files below its root.
 *
 * The offer is a blob of the farm: a JSON object with `files` ([path, size, sha256], all of them in the
 * farm), `settings` (all different ones) and `models` (path, lookup, place of the settings). A row of
 * hob_offer names it. cook_run_offer.c makes it. Nothing of it is believed: a worker takes paths that stay
 * below the root, checks all bytes, and cooks a model only if it has the lookup itself.
 *
 * A worker has a folder with all files of the list, which are empty until a cook has read them. Such a cook
 * is not kept: what it read is fetched, and it is repeated. So a worker fetches only what its cooks read, and
 * finds names as the owner does. */
#ifndef CLI_OFFER_H
#define CLI_OFFER_H

#include "../upstream/upstream.h"
#include "cook_cache.h"
#include "cook_plan.h"

typedef struct offer offer;

/* Fetches the offer and makes the folder. Errors: IO, CORRUPT, MEMORY. */
bool srv_offer_open(srv_farm *farm, const hob_sha256 *list, offer **out, hob_error *err) HOB_MUST_CHECK;
void srv_offer_close(offer *offer); /* removes the folder; NULL is allowed */
/* Models of the offer, in its folder; the entries know their lookup. Errors: MEMORY. */
bool srv_offer_plan(offer *offer, cook_plan *out, hob_error *err) HOB_MUST_CHECK;
/* The digests of all files of the list, so that none is read for a look-up. */
bool srv_offer_tell(const offer *offer, cook_cache *cache);
/* Whether this cook read an empty file in place of one of the list. */
bool srv_offer_lacks(const offer *offer, const srv_outcome *outcome);
/* Any thread: fetches the files that this cook lacked; or, before the first cook, the model's own and those
 * beside it with the same name but for the extension. False: one is no longer there. */
bool srv_offer_bring(offer *offer, const char *model, const srv_outcome *outcome);

#endif
