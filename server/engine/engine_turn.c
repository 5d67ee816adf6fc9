#include "engine_private.h"

#include "../../core/base/array.h"
#include "../log/log.h"

#include <stdlib.h>
#include <time.h>

/* One change may affect the whole tree. Each turn of the loop then does a part: assets that become dirty (`spreads`), jobs
 * that start, views that are out of date, the changes of one rev, events. */

enum {
	FULL_NS = 2000000, /* after this time a turn starts nothing that can wait */
	AT_LEAST = 4,	   /* of each kind in each turn, even in a full one */
	AT_ONCE = 64,	   /* up to this many assets become dirty in the same turn */
	EVENTS_MOST = 1000 /* events that leave in one turn */
};

typedef struct spread {
	uint32_t *assets;
	uint32_t count, next, root;
	srv_priority priority;
	const char *kind; /* static text */
	hob_str path;	  /* the graph's */
	bool gathers;	  /* the assets join the changeset of the root */
} spread;

struct engine_spreads {
	spread *items; /* oldest first */
	uint32_t count, capacity;
};

static uint64_t cpu_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t turn_ns(const srv_engine *engine, uint64_t now, uint64_t idle)
{
	uint64_t took = now - engine->turn_began_ns, slept = idle - engine->turn_idle_ns;
	return engine->turn_began_ns > 0 && took > slept ? took - slept : 0;
}

bool srv_engine_has_time(const srv_engine *engine, uint32_t done)
{
	return done < AT_LEAST || turn_ns(engine, uv_hrtime(), uv_metrics_idle_time(engine->loop)) < FULL_NS;
}

static void on_more(uv_idle_t *more)
{
	srv_engine *engine = more->data;
	uv_idle_stop(more);
	if (engine->closing)
		return;
	srv_engine_step_spreads(engine);
	srv_engine_step_meetings(engine);
	srv_engine_fill(engine);
}

void srv_engine_go_on(srv_engine *engine)
{
	if (!engine->closing)
		uv_idle_start(&engine->more, on_more);
}

/* ---- what one file makes dirty */

static bool add_spread(struct engine_spreads *spreads, const spread *s)
{
	if (!HOB_ROOM(spreads->items, spreads->capacity, spreads->count))
		return false;
	spreads->items[spreads->count++] = *s;
	return true;
}

void srv_engine_dirty_all(srv_engine *engine, const uint32_t *assets, uint32_t count, srv_priority priority,
						  const char *kind, uint32_t file)
{
	const srv_file *f = srv_graph_at(engine->graph, file);
	spread s = {.count = count,
				.root = f->root,
				.priority = priority,
				.kind = kind,
				.path = f->path,
				.gathers = srv_engine_gathers(engine, f->root)};
	if (count > AT_ONCE && engine->ready && (s.assets = malloc(count * sizeof *assets))) {
		memcpy(s.assets, assets, count * sizeof *assets);
		if (add_spread(engine->spreads, &s)) {
			srv_engine_go_on(engine);
			return;
		}
		free(s.assets);
	}
	for (uint32_t i = 0; i < count; i++)
		srv_asset_dirty(engine, assets[i], priority, kind, s.path);
}

void srv_engine_step_spreads(srv_engine *engine)
{
	struct engine_spreads *spreads = engine->spreads;
	while (spreads->count > 0) {
		spread *s = &spreads->items[0];
		if (s->gathers)
			srv_engine_gather_more(engine, s->root);
		for (uint32_t done = 0; s->next < s->count && srv_engine_has_time(engine, done); done++)
			srv_asset_dirty(engine, s->assets[s->next++], s->priority, s->kind, s->path);
		srv_engine_gathered(engine);
		if (s->next < s->count) {
			srv_engine_go_on(engine);
			return;
		}
		free(s->assets);
		memmove(s, s + 1, --spreads->count * sizeof *s);
	}
}

bool srv_engine_spreads(const srv_engine *engine)
{
	return engine->spreads->count > 0;
}

struct engine_spreads *srv_engine_spreads_new(void)
{
	return calloc(1, sizeof(struct engine_spreads));
}

void srv_engine_spreads_free(struct engine_spreads *spreads)
{
	for (uint32_t i = 0; spreads && i < spreads->count; i++)
		free(spreads->items[i].assets);
	free(spreads ? spreads->items : NULL);
	free(spreads);
}

/* ---- the end of a turn */

static void show_some(void *user)
{
	srv_engine_show_some(user);
}

static void end_turn(srv_engine *engine, uint32_t events)
{
	srv_engine_heal_index(engine);
	srv_publish_turn(&engine->publish, show_some, engine, events);
	srv_engine_fold_log(engine);
	if (engine->due_count > 0) {
		engine->publish.view = true;
		srv_engine_go_on(engine);
	}
	if (srv_publish_waits(&engine->publish))
		srv_engine_go_on(engine);
}

void srv_engine_flush(srv_engine *engine)
{
	srv_engine_finish_publishing(engine);
	end_turn(engine, UINT32_MAX);
}

bool srv_engine_is_behind(const srv_engine *engine)
{
	return engine->due_count > 0 || srv_publish_waits(&engine->publish) || srv_engine_spreads(engine);
}

/* The time between two of these calls, without the sleep of the loop. */
static void count_turn(srv_engine *engine)
{
	uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(engine->loop), cpu = cpu_now_ns();
	uint64_t took = turn_ns(engine, now, idle), busy = cpu - engine->turn_began_cpu_ns;
	bool first = engine->turn_began_ns == 0; /* time before it belongs to no turn */
	engine->turn_began_ns = now;
	engine->turn_began_cpu_ns = cpu;
	engine->turn_idle_ns = idle;
	if (!first && busy > engine->counters.turn_busiest_ns)
		engine->counters.turn_busiest_ns = busy;
	engine->counters.turns++;
	engine->counters.turns_slow += took > SRV_ENGINE_TURN_MS * 1000000ull;
	if (took > engine->counters.turn_longest_ns)
		engine->counters.turn_longest_ns = took;
}

/* Once per turn, before the loop sleeps: one view and one transaction for all changes. */
void srv_engine_end_turn(uv_prepare_t *prepare)
{
	srv_engine *engine = prepare->data;
	srv_engine_step_batches(engine);
	if (engine->changeset.open) {
		srv_engine_go_on(engine); /* a part of a rev is never shown */
	} else {
		end_turn(engine, EVENTS_MOST);
		srv_engine_answer_waiters(engine); /* the view comes before the answer */
	}
	count_turn(engine);
}
