/* engine_changeset.h - publishes changes that belong together as one revision (rev). */
#ifndef ENGINE_CHANGESET_H
#define ENGINE_CHANGESET_H

#include "engine_jobs.h"

struct engine_changesets *
srv_engine_changesets_new(const srv_engine_options *options); /* NULL without memory */
void srv_engine_changesets_free(struct engine_changesets *changesets);
void srv_engine_start_changesets(srv_engine *engine);
/* Call it repeatedly: a root may become a working copy at any time. */
void srv_engine_changeset_find(srv_engine *engine, uint32_t root);
/* Around a delivery of the watch: decides whether its changes join the changeset. */
void srv_engine_gather(srv_engine *engine, uint32_t root, const hob_str *paths, size_t count);
void srv_engine_gather_scan(srv_engine *engine, uint32_t root);
void srv_engine_gathered(srv_engine *engine);
bool srv_engine_gathers(const srv_engine *engine, uint32_t root);
void srv_engine_gather_more(srv_engine *engine, uint32_t root); /* during a delivery */
/* The asset becomes dirty or, `gone`, is removed: it joins, or leaves because it was saved again. */
void srv_engine_join_or_leave(srv_engine *engine, uint32_t id, bool gone, bool saved);
/* Publishes the asset's held change now, and its later changes individually: a client waits for the
 * asset, or its source was saved again. */
void srv_engine_leave(srv_engine *engine, uint32_t id);
/* Holds a change and takes its JSON (without the rev). False: the caller publishes it now. */
bool srv_engine_hold(srv_engine *engine, asset *a, const engine_job *job, srv_state state, hob_buf *tail);
/* The watch has delivered everything written before its mark `number`. */
void srv_engine_changeset_passed(srv_engine *engine, uint32_t root, uint64_t number);
void srv_engine_step_changesets(srv_engine *engine);   /* once per turn: publishes complete changesets */
void srv_engine_finish_publishing(srv_engine *engine); /* continues an unfinished publication */
void srv_engine_publish_held(srv_engine *engine);	   /* publishes now, without the missing results */
/* True if some changes of the root are, or may be, held. */
bool srv_engine_in_changeset(const srv_engine *engine, uint32_t root);

#endif
