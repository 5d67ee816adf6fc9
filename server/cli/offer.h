/* offer.h - cooks that one machine offers to the workers of its farm.
 *
 * The offer is a blob of the farm: a JSON object with `files` below its root ([path, size, sha256], all
 * stored in the farm), `settings` (the distinct ones) and `models` (path, lookup, index into the settings). A
 * row of hob_offer names it. cook_run_offer.c makes it. It is not trusted: a worker accepts only paths that
 * stay below the root, checks all bytes, and cooks a model only if it computes the same lookup.
 *
 * A worker makes a folder with all files of the list, empty at first. A cook that reads an empty one is not
 * kept: the files that it read are fetched, and it is repeated. So a worker fetches only files that its cooks
 * read, and resolves names as the owner does. */
#ifndef CLI_OFFER_H
#define CLI_OFFER_H

#include "../upstream/upstream.h"
#include "../engine/engine_batch.h"
#include "cook_plan.h"

typedef struct offer offer;

/* Fetches the offer and makes the folder. Errors: IO, CORRUPT, MEMORY. */
bool srv_offer_open(srv_farm *farm, const hob_sha256 *list, offer **out, hob_error *err) HOB_MUST_CHECK;
void srv_offer_close(offer *offer); /* removes the folder; NULL is allowed */
/* Plans the offered models, in the folder; the entries get their lookup. Errors: MEMORY. */
bool srv_offer_plan(offer *offer, cook_plan *out, hob_error *err) HOB_MUST_CHECK;
/* Sets the digests of all listed files, so that none is read for a look-up. */
bool srv_offer_tell(const offer *offer, srv_engine *engine);
/* Whether this cook read a listed file that was still empty. */
bool srv_offer_lacks(const offer *offer, const srv_outcome *outcome);
/* Any thread: fetches the files that this cook lacked; before the first cook (outcome NULL), the model's own
 * file and files beside it that differ only in their extension. False: a file is no longer in the farm. */
bool srv_offer_bring(offer *offer, const char *model, const srv_outcome *outcome);

#endif
