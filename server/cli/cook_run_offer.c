#include "cook_run_private.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the owner of the models */

typedef struct offering {
	run *r;
	uv_work_t work;
	hob_sha256 *lookups; /* of the plan's models */
	char *without;
	uint64_t most;
	_Atomic bool stop;
	bool made, done;
	hob_error error;
} offering;

static void make(uv_work_t *work)
{
	offering *o = work->data;
	cook_plan *plan = &o->r->plan;
	hob_sha256 list;
	uint32_t models = 0;
	for (uint32_t i = 0; i < plan->count && !atomic_load(&o->stop); i++) {
		const cook_entry *entry = &plan->entries[i];
		const srv_pool_importer *importer = srv_pool_importer_for(o->r->pool, hob_str_of(entry->path));
		cook_look look;
		if (entry->text || entry->settings_error.code != HOB_ERR_OK || !importer)
			continue;
		srv_cook_look_init(&look, plan->root_fd, entry->path, &entry->settings);
		if (srv_cook_look_source(o->r->cache, &look)) {
			srv_cook_look_name(&look, importer);
			o->lookups[i] = look.lookup;
			models++;
		}
		srv_cook_look_release(&look);
	}
	srv_farm *farm = srv_upstream_farm(o->r->share.upstream);
	srv_farm_why why = {""};
	if (!srv_offer_make(plan, o->lookups, o->without, o->most, farm, &o->stop, &list, &o->error))
		return;
	o->made = srv_farm_offer(farm, &list, models, &why) == SRV_FARM_OK;
	if (!o->made)
		(void)hob_fail(&o->error, IO, "%s", why.text);
}

static void made(uv_work_t *work, int status)
{
	(void)status;
	offering *o = work->data;
	run *r = o->r;
	o->done = true;
	if (!o->made && o->error.code != HOB_ERR_CANCELLED)
		fprintf(stderr, "%s: nothing is offered to workers: %s\n", r->who, o->error.context);
	else if (o->made && !r->quiet)
		fprintf(stderr, "%s: offered to the workers of the farm\n", r->who);
	srv_cook_run_finish_if_over(r);
}

void srv_cook_run_offer(run *r, const cook_run_options *options)
{
	if (!options->offer || !srv_cook_share_is_farm(&r->share) || r->plan.count == 0)
		return;
	offering *o = calloc(1, sizeof *o);
	hob_sha256 *lookups = calloc(r->plan.count, sizeof *lookups);
	if (!o || !lookups) {
		free(o);
		free(lookups);
		return;
	}
	o->r = r;
	o->work.data = o;
	o->lookups = lookups;
	o->without = realpath(r->write.out, NULL);
	o->most = srv_config_number(options->config, SRV_CONFIG_source_limit);
	r->offering = o;
	uv_queue_work(&r->loop, &o->work, make, made);
}

bool srv_cook_run_end_offer(run *r)
{
	offering *o = r->offering;
	if (!o)
		return true;
	atomic_store(&o->stop, true);
	if (!o->done)
		return false;
	srv_farm_why why = {""};
	if (o->made)
		(void)srv_farm_withdraw(srv_upstream_farm(r->share.upstream),
								&why); /* or it ends with our heartbeats */
	free(o->lookups);
	free(o->without);
	free(o);
	r->offering = NULL;
	return true;
}

/* ---- a worker */

enum { ROUNDS_MAX = 12 };

typedef struct bringing {
	run *r;
	uv_work_t work;
	cook_entry *entry;
	look_job *job;		  /* before the first cook, or: */
	srv_outcome *outcome; /* of a cook that lacked files */
	bool ok;
} bringing;

static void bring(uv_work_t *work)
{
	bringing *b = work->data;
	b->ok = srv_offer_bring(b->r->offered, b->entry->path, b->outcome);
}

static void brought(uv_work_t *work, int status)
{
	(void)status;
	bringing *b = work->data;
	run *r = b->r;
	bool goes_on = b->ok && srv_cook_run_goes_on(r);
	r->looks_pending--;
	srv_outcome_free(b->outcome);
	if (b->job) {
		b->entry->look->elsewhere = !b->ok;
		srv_cook_run_look_ended(b->job);
	} else if (goes_on) {
		r->queue[--r->next] = b->entry; /* the place that it came from, or that of one which began earlier */
		srv_cook_run_feed(r);
	} else {
		srv_cook_run_leave(r, b->entry);
	}
	free(b);
}

static bool begin(run *r, cook_entry *entry, look_job *job, srv_outcome *outcome)
{
	bringing *b = calloc(1, sizeof *b);
	if (!b)
		return false;
	*b = (bringing){.r = r, .entry = entry, .job = job, .outcome = outcome};
	b->work.data = b;
	r->looks_pending++;
	uv_queue_work(&r->loop, &b->work, bring, brought);
	return true;
}

bool srv_cook_run_bring(look_job *job)
{
	if (job->brought || !begin(job->r, job->entry, job, NULL))
		return false;
	job->brought = true;
	return true;
}

bool srv_cook_run_bring_lacking(run *r, cook_entry *entry, srv_outcome *outcome)
{
	if (!entry->look || !srv_offer_lacks(r->offered, outcome))
		return false;
	if (entry->rounds++ < ROUNDS_MAX && begin(r, entry, NULL, outcome)) {
		srv_cook_run_feed(r);
		return true;
	}
	srv_outcome_free(outcome);
	srv_cook_run_leave(r, entry);
	return true;
}
