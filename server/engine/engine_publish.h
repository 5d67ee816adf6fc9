/* engine_publish.h - output to clients: rows, views, events, and the rows of finished jobs. */
#ifndef ENGINE_PUBLISH_H
#define ENGINE_PUBLISH_H

#include "../log/causes.h"
#include "engine_jobs.h"

struct engine_publishing {
	uint64_t rev;
	srv_causes causes;
	/* Assets removed in this second, not logged yet because they may have moved. */
	struct {
		uint32_t *ids;
		uint32_t count, capacity;
	} gone;
	/* Assets whose view is made just before the next publication, because most change again before. */
	uint32_t *due;
	uint32_t due_count, due_capacity;
	bool unread; /* some view was made without its record, whose row waited: its `served` is zero */
	struct {
		bool open;
		uint32_t count; /* number of changes so far; the rev is that of the first */
		hob_buf all;	/* their JSON, one per line; the store has the first part of a long one */
	} open_rev;
};

typedef struct engine_change {
	asset *a;
	srv_state state;		  /* as in its JSON */
	hob_str tail;			  /* its JSON after the rev and the move */
	const srv_record *record; /* the record `good`, or NULL if the caller does not have it */
	bool calm;				  /* of a job in the background */
} engine_change;

void srv_engine_publishing_free(struct engine_publishing *publishing);
/* Publishes a change as a rev, or as a part of the open one; row and view come before the event. */
void srv_publish_one(srv_engine *engine, const engine_change *change);
/* Publishes several changes as one rev, over several turns. Nothing is visible before the end. Other changes
 * of these turns join the rev. */
void srv_publish_begin(srv_engine *engine);
void srv_publish_end(srv_engine *engine);
/* Whether the rules in the job's settings allow this version, by the notes of the cook just finished, or of
 * the stored report. Errors: RULE, BUDGET; IO if the notes cannot be read. */
bool srv_publish_allows(engine_job *job, const srv_record *record, hob_error *err);
/* Publishes a version, or why it is refused (false, with *err). A refused preview is not published. */
bool srv_publish_good(engine_job *job, const srv_record *record, bool hit, hob_error *err);
void srv_publish_bad(engine_job *job, const srv_record *record, const hob_error *error);
/* Cancelled by a user. `job`: NULL for a queued asset, whose `next` is then passed. */
void srv_publish_cancelled(srv_engine *engine, asset *a, engine_job *job, srv_asset_next *next);
/* The record is already the current one: publishes only view and job event. */
void srv_publish_same(engine_job *job, const srv_record *record);
void srv_publish_removed(srv_engine *engine, asset *a);
void srv_publish_log_second(srv_engine *engine); /* logs what waited for others with the same cause */
/* Publishes assets of which only the state changed. */
void srv_publish_states(srv_engine *engine, const uint32_t *ids, uint32_t count, const char *kind);
void srv_engine_store_asset(srv_engine *engine, asset *a); /* writes its row */

/* engine_view.c */
/* Takes the facts of `good` from the served view if that has outputs, otherwise from the index. Outputs added
 * to a record later are missing there: use srv_publish_view_of. */
void srv_publish_view(srv_engine *engine, asset *a);
bool srv_publish_take_unread(srv_engine *engine); /* whether a view lacks its record; once */
/* Like srv_publish_view, with the record `good`; an empty record if there is none. */
void srv_publish_view_of(srv_engine *engine, asset *a, const srv_record *record);
void srv_publish_view_later(srv_engine *engine, uint32_t id); /* at the end of this turn, or of a later one */
/* Findings of the newest version: of a refused one those of its record, else those in `stats`. */
uint32_t srv_asset_findings(srv_engine *engine, const asset *a, hob_str stats, const hob_settings *settings,
							hob_rule_count out[HOB_RULE_COUNT]);
void srv_engine_show(srv_engine *engine);	   /* publishes the views now */
const char *srv_asset_quality(const asset *a); /* "preview", "final"; empty without outputs */
void srv_engine_show_some(void *engine);	   /* as many as this turn has time for, newest first */
/* Makes due views while this turn has time. True: all are made. */
bool srv_engine_make_views(srv_engine *engine);

/* engine_feed.c: events and rows of jobs */
void srv_publish_job(engine_job *job, const char *state);
/* state "failed" without an error: the failure is from the cache, and the asset has its text. */
void srv_record_job(engine_job *job, const char *result, const hob_sha256 *record, const hob_error *error);
/* The row of a job that was cancelled before it began. */
void srv_record_cancelled(srv_engine *engine, const asset *a, const srv_asset_next *order);
bool srv_engine_is_behind(const srv_engine *engine); /* later turns have work left */

#endif
