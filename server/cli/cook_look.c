#include "cook_run_private.h"

#include <stdlib.h>

/* Searches for a model's result before the model is cooked: in the cache, then in the upstream. On a farm it
 * then asks for the lease, and a worker fetches the model's files.
 *
 *   hash -> find -> match -> ask -> match -> fetch -> match -> claim -> bring -> the run continues
 *                             ^------------------------------- again */

enum { CLAIMS_MAX = 3, ROUNDS_MAX = 12 };

static void go_on(look_job *job);

/* ---- kept results */

static void hash_source(uv_work_t *work)
{
	look_job *job = work->data;
	job->readable = srv_cook_look_source(job->r->cache, &job->look);
}

static void match_kept(uv_work_t *work)
{
	look_job *job = work->data;
	srv_cook_look_match(job->r->cache, &job->look);
}

static void matched(uv_work_t *work, int status);

static void match(look_job *job)
{
	uv_queue_work(&job->r->loop, &job->work, match_kept, matched);
}

static void on_fetched(void *user, bool ok, const char *author)
{
	look_job *job = user;
	hob_error ignored; /* the model is cooked then */
	(void)author;
	job->entry->fetched =
		ok && srv_cook_look_adopt(job->r->cache, &job->look, &ignored) && srv_cook_run_goes_on(job->r);
	if (job->entry->fetched)
		match(job);
	else
		go_on(job);
}

static void matched(uv_work_t *work, int status)
{
	look_job *job = work->data;
	const srv_record *match = job->look.match;
	(void)status;
	bool fetch = job->look.foreign && match;
	job->elsewhere = fetch && job->r->offered;
	if (!fetch || job->elsewhere || !srv_upstream_is_worth(job->r->upstream, match) ||
		!srv_upstream_fetch(job->r->upstream, match, on_fetched, job))
		go_on(job);
}

static void source_hashed(uv_work_t *work, int status)
{
	look_job *job = work->data;
	run *r = job->r;
	cook_look *look = &job->look;
	(void)status;
	if (job->readable && srv_cook_run_goes_on(r))
		srv_cook_look_find(r->cache, look, srv_pool_importer_for(r->pool, hob_str_of(job->entry->path)));
	/* Another lookup: the offer was made by another version of Hob. */
	job->elsewhere = r->offered && !hob_sha256_equal(&look->lookup, &job->entry->offered);
	if (look->kept_count > 0 && !job->elsewhere)
		match(job);
	else
		go_on(job);
}

bool srv_cook_look_begin(run *r, cook_entry *entry)
{
	look_job *job = calloc(1, sizeof *job);
	entry->look = job;
	if (!job)
		return false;
	*job = (look_job){.r = r, .entry = entry, .work.data = job};
	srv_cook_look_init(&job->look, r->plan.root_fd, entry->path, &entry->settings);
	job->look.only_report = r->options->only_report;
	job->look.force = r->options->force;
	r->looks_pending++;
	uv_queue_work(&r->loop, &job->work, hash_source, source_hashed);
	return true;
}

void srv_cook_look_end(cook_entry *entry)
{
	look_job *job = entry->look;
	if (job && job->claimed && !job->r->closing)
		srv_upstream_leave(job->r->upstream, &job->look.lookup);
	if (job)
		srv_cook_look_release(&job->look);
	free(job);
	entry->look = NULL;
}

/* ---- the upstream */

static void on_found(void *user, hob_arena *arena, srv_record *records, uint32_t count, bool reached)
{
	look_job *job = user;
	(void)reached;
	job->seen = count;
	if (count == 0) {
		go_on(job);
		return;
	}
	hob_arena_release(&job->look.found);
	job->look.found = *arena;
	hob_arena_init(arena, 1);
	job->look.kept = records;
	job->look.kept_count = count;
	job->look.foreign = true;
	match(job);
}

static bool ask(look_job *job)
{
	hob_buf inputs = {0};
	if (!job->r->upstream || job->asked || job->look.force)
		return false;
	hob_ingredients_print(&job->look.ingredients, &inputs);
	srv_upstream_wish wish = {
		.lookup = job->look.lookup, .source = job->look.source, .inputs = hob_buf_str(&inputs)};
	job->asked = true;
	bool asked = !inputs.failed && srv_upstream_find(job->r->upstream, &wish, on_found, job);
	hob_buf_release(&inputs);
	return asked;
}

static void on_claimed(void *user, srv_upstream_verdict verdict)
{
	look_job *job = user;
	bool more = job->seen > job->claim_seen; /* the upstream's last answer had more records */
	bool again = verdict == SRV_UPSTREAM_AGAIN && (more || job->claims < CLAIMS_MAX);
	job->claim_seen = job->seen;
	job->claiming = false;
	job->claimed = job->asked = !again;
	go_on(job);
}

static bool claim(look_job *job)
{
	if (!job->r->farm || job->look.force || job->claimed)
		return false;
	job->claims++;
	job->claiming =
		srv_upstream_claim(job->r->upstream, &job->look.lookup, job->seen, job->look.path, on_claimed, job);
	return job->claiming;
}

uint32_t srv_cook_look_waits(const run *r)
{
	srv_upstream_facts facts = {0};
	if (r->farm)
		srv_upstream_look(r->upstream, &facts);
	return (uint32_t)facts.waits;
}

void srv_cook_look_give_up(run *r)
{
	for (uint32_t i = 0; i < r->plan.count; i++)
		if (r->plan.entries[i].look && r->plan.entries[i].look->claiming)
			(void)srv_upstream_unclaim(r->upstream, r->plan.entries[i].look);
}

void srv_cook_look_give(look_job *job, const hob_sha256 *key)
{
	if (job->r->upstream)
		srv_upstream_give(job->r->upstream, key, &job->look.lookup);
	job->claimed = false;
}

bool srv_cook_look_is_giving(const run *r)
{
	srv_upstream_facts facts;
	if (!r->upstream)
		return false;
	srv_upstream_look(r->upstream, &facts);
	return facts.outbox > 0 && facts.state == SRV_UPSTREAM_UP && facts.gives && !facts.read_only &&
		   !facts.full;
}

/* ---- files of an offered model */

static void bring(uv_work_t *work)
{
	look_job *job = work->data;
	job->brought = srv_offer_bring(job->r->offered, job->entry->path, job->lacking);
}

static void brought(uv_work_t *work, int status)
{
	look_job *job = work->data;
	(void)status;
	job->elsewhere = !job->brought || (job->lacking && !srv_cook_run_goes_on(job->r));
	srv_outcome_free(job->lacking);
	job->lacking = NULL;
	go_on(job);
}

static void begin_bringing(look_job *job, srv_outcome *lacking)
{
	job->lacking = lacking;
	job->brought = true;
	uv_queue_work(&job->r->loop, &job->work, bring, brought);
}

bool srv_cook_look_lacks(run *r, cook_entry *entry, srv_outcome *outcome)
{
	if (!entry->look || !srv_offer_lacks(r->offered, outcome))
		return false;
	r->looks_pending++;
	if (entry->rounds++ < ROUNDS_MAX) {
		begin_bringing(entry->look, outcome);
		srv_cook_run_feed(r);
		return true;
	}
	srv_outcome_free(outcome);
	srv_cook_run_leave(r, entry);
	return true;
}

/* ---- the next step */

static void go_on(look_job *job)
{
	run *r = job->r;
	srv_outcome *hit = job->look.hit;
	bool misses = !hit && srv_cook_run_goes_on(r);
	if (job->elsewhere) {
		srv_cook_run_leave(r, job->entry);
		return;
	}
	if (misses && job->readable && (ask(job) || claim(job)))
		return;
	if (misses && r->offered && !job->brought) {
		begin_bringing(job, NULL);
		return;
	}
	job->entry->fetched = job->entry->fetched && hit;
	job->look.hit = NULL;
	srv_cook_run_looked(r, job->entry, hit);
}
