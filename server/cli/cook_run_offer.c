#include "cook_run_private.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

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
	srv_farm *farm = srv_upstream_farm(o->r->upstream);
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
		fprintf(stderr, "%s: nothing is offered to workers: %s\n", r->options->who, o->error.context);
	else if (o->made && !r->options->quiet)
		fprintf(stderr, "%s: offered to the workers of the farm\n", r->options->who);
	srv_cook_run_finish_if_over(r);
}

void srv_cook_run_offer(run *r)
{
	const cook_run_options *options = r->options;
	if (!options->offer || !r->farm || r->plan.count == 0)
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
	o->without = realpath(r->options->write.out, NULL);
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
		(void)srv_farm_withdraw(srv_upstream_farm(r->upstream), &why); /* or it ends with our heartbeats */
	free(o->lookups);
	free(o->without);
	free(o);
	r->offering = NULL;
	return true;
}
