#include "upstream.h"
#include "carry.h"

#include "../log/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { STALLED_MS = 300 }; /* limit of a request, so that saves do not wait for a slow one */

/* ---- the loop's side */

static void order_free(srv_upstream *u, order *o)
{
	order **at = &u->alive;
	while (*at != o)
		at = &(*at)->next_alive;
	*at = o->next_alive;
	if (o->kind == ORDER_FIND)
		hob_arena_release(&o->arena);
	free(o);
}

static void tell(order *o)
{
	if (o->told)
		return;
	o->told = true;
	if (o->kind == ORDER_FIND)
		o->found(o->user, &o->arena, o->records, o->count, o->reached);
	else if (o->kind == ORDER_CLAIM && o->claimed)
		o->claimed(o->user, o->verdict);
	else if (o->kind != ORDER_CLAIM)
		o->fetched(o->user, o->reached, o->author);
}

static void deliver(srv_upstream *u)
{
	pthread_mutex_lock(&u->lock);
	order *done = u->done.first;
	srv_line_init(&u->done);
	pthread_mutex_unlock(&u->lock);
	while (done) {
		order *o = done;
		done = o->next;
		tell(o);
		order_free(u, o);
	}
}

static void on_wake(uv_async_t *wake)
{
	srv_upstream *u = wake->data;
	deliver(u);
	if (u->options.changed && !u->closed)
		u->options.changed(u->options.user);
}

static void set_timer(srv_upstream *u);

/* Reports late lookups, and drops their answers on arrival. Only the order refers to the arena of its
 * records. */
static void on_timer(uv_timer_t *timer)
{
	srv_upstream *u = timer->data;
	uint64_t now = uv_now(u->loop);
	for (order *o = u->alive, *next; o; o = next) {
		next = o->next_alive;
		if (o->told || o->deadline == 0 || o->deadline > now)
			continue;
		hob_own_arena none = {0};
		o->told = true;
		hob_arena_init(&none, 1);
		o->found(o->user, &none, NULL, 0, false);
	}
	set_timer(u);
}

static void set_timer(srv_upstream *u)
{
	uint64_t first = UINT64_MAX, now = uv_now(u->loop);
	for (const order *o = u->alive; o; o = o->next_alive)
		if (!o->told && o->deadline > 0 && o->deadline < first)
			first = o->deadline;
	if (first == UINT64_MAX)
		uv_timer_stop(&u->timer);
	else
		uv_timer_start(&u->timer, on_timer, first > now ? first - now : 0, 0);
}

static order *order_new(srv_upstream *u, order_kind kind, void *user)
{
	order *o = hob_must(calloc(1, sizeof *o));
	o->kind = kind;
	o->user = user;
	o->next_alive = u->alive;
	u->alive = o;
	return o;
}

/* Whether new orders are accepted. Lock held. */
static bool takes_orders(const srv_upstream *u)
{
	return u->facts.state == SRV_UPSTREAM_UP && !u->closing;
}

static bool push_order(srv_upstream *u, line *l, order *o)
{
	pthread_mutex_lock(&u->lock);
	bool taken = takes_orders(u);
	if (taken)
		srv_line_push(l, o);
	pthread_cond_signal(&u->work);
	pthread_mutex_unlock(&u->lock);
	if (!taken)
		order_free(u, o);
	return taken;
}

static bool is_stalled(srv_upstream *u)
{
	SRV_LOCKED(&u->lock);
	return u->finding && srv_clock_ms(CLOCK_MONOTONIC) - u->finding_since > STALLED_MS;
}

bool srv_upstream_find(srv_upstream *u, const srv_upstream_wish *wish, srv_upstream_found *found, void *user)
{
	if (u->closed || (wish->wait_ms > 0 && is_stalled(u)))
		return false;
	order *o = order_new(u, ORDER_FIND, user);
	hob_arena_init(&o->arena, SRV_WISH_ARENA);
	o->found = found;
	o->lookup = wish->lookup;
	o->source = wish->source;
	o->inputs = hob_arena_str(&o->arena, wish->inputs);
	o->via = wish->via.len > 0 ? hob_arena_str(&o->arena, wish->via) : (hob_str){0};
	o->deadline = wish->wait_ms > 0 ? uv_now(u->loop) + wish->wait_ms : 0;
	if (!push_order(u, &u->finds, o))
		return false;
	if (o->deadline > 0)
		set_timer(u);
	return true;
}

bool srv_upstream_fetch(srv_upstream *u, const srv_record *record, srv_upstream_fetched *fetched, void *user)
{
	order *o = u->closed ? NULL : order_new(u, ORDER_FETCH, user);
	if (!o)
		return false;
	o->fetched = fetched;
	o->record = record;
	return push_order(u, &u->fetches, o);
}

bool srv_upstream_fetch_blob(srv_upstream *u, const hob_sha256 *digest, srv_upstream_fetched *fetched,
							 void *user)
{
	order *o = u->closed ? NULL : order_new(u, ORDER_BLOB, user);
	if (!o)
		return false;
	o->fetched = fetched;
	o->lookup = *digest;
	return push_order(u, &u->fetches, o);
}

bool srv_upstream_claim(srv_upstream *u, const hob_sha256 *lookup, uint32_t seen, const char *what,
						srv_upstream_claimed *claimed, void *user)
{
	bool fresh;
	if (!u->farm || u->closed || !u->options.give)
		return false;
	order *o = order_new(u, ORDER_CLAIM, user);
	o->lookup = *lookup;
	o->seen = seen;
	o->claimed = claimed;
	snprintf(o->what, sizeof o->what, "%s", what);
	pthread_mutex_lock(&u->lock);
	bool taken = takes_orders(u) && !u->facts.read_only;
	bool waits = taken && claimed && srv_digest_map_find(&u->leases, lookup);
	lease *l = taken && !waits ? srv_digest_map_put(&u->leases, lookup, &fresh) : NULL;
	if (waits) {
		srv_line_push(&u->parked, o);
	} else if (l) {
		*l = (lease){.asked = true};
		srv_line_push(&u->claims, o);
	}
	pthread_cond_signal(&u->work);
	pthread_mutex_unlock(&u->lock);
	if (!l && !waits)
		order_free(u, o);
	return l || waits;
}

bool srv_upstream_unclaim(srv_upstream *u, const void *user)
{
	for (order *o = u->alive; o; o = o->next_alive)
		if (o->kind == ORDER_CLAIM && o->user == user && o->claimed && !o->told) {
			pthread_mutex_lock(&u->lock);
			o->told = true;
			pthread_mutex_unlock(&u->lock);
			o->claimed(o->user, SRV_UPSTREAM_ALONE);
			return true;
		}
	return false;
}

void srv_upstream_leave(srv_upstream *u, const hob_sha256 *lookup)
{
	SRV_LOCKED(&u->lock);
	lease *l = srv_digest_map_find(&u->leases, lookup);
	if (l)
		l->left = true;
	u->leaving = u->leaving || l;
	pthread_cond_signal(&u->work);
}

bool srv_upstream_is_worth(srv_upstream *u, const srv_record *record)
{
	enum { ALWAYS_MS = 2000 };
	uint64_t bytes = 0;
	uint32_t blobs = 0;
	for (uint32_t i = 0; i < record->output_count; i++)
		if (!srv_blob_known(u->store, &record->outputs[i].digest)) {
			bytes += record->outputs[i].size;
			blobs++;
		}
	SRV_LOCKED(&u->lock);
	double ms = blobs * u->blob_ms + (u->bytes_per_ms > 0 ? (double)bytes / u->bytes_per_ms : 0);
	bool worth = ms <= ALWAYS_MS || ms * 1e6 <= 2 * (double)record->cook_ns;
	if (!worth) {
		/* Otherwise an upstream that was slow once would never be tried again. */
		u->facts.slower++;
		u->blob_ms *= 0.9;
		u->bytes_per_ms *= 1.1;
	}
	return worth;
}

void srv_upstream_give(srv_upstream *u, const hob_sha256 *key, const hob_sha256 *lookup)
{
	if (!u->options.give)
		return;
	SRV_LOCKED(&u->lock);
	if (!u->facts.read_only)
		srv_outbox_add(&u->outbox, key);
	lease *l = srv_digest_map_find(&u->leases, lookup);
	if (l)
		l->given = true;
	srv_carry_stays_full(u);
	pthread_cond_signal(&u->work);
}

bool srv_upstream_holds(srv_upstream *u, const hob_sha256 *key)
{
	SRV_LOCKED(&u->lock);
	return srv_digest_map_find(&u->outbox.keys, key) != NULL;
}

srv_farm *srv_upstream_farm(const srv_upstream *u)
{
	return u->farm;
}

void srv_upstream_look(srv_upstream *u, srv_upstream_facts *out)
{
	SRV_LOCKED(&u->lock);
	*out = u->facts;
	out->outbox = u->outbox.keys.count;
	out->leases = u->leases.count;
	out->apart = srv_carry_is_apart(u);
	for (const order *o = u->parked.first; o; o = o->next)
		out->waits++;
}

int64_t srv_upstream_machines(srv_upstream *u, hob_buf *out)
{
	enum { OLD_MS = 5000 };
	SRV_LOCKED(&u->lock);
	int64_t age = u->machines.size > 0 ? srv_clock_ms(CLOCK_MONOTONIC) - u->machines_at : -1;
	u->machines_wanted = u->machines_wanted || age < 0 || age > OLD_MS;
	hob_buf_put_str(out, hob_buf_str(&u->machines));
	return age;
}

const char *srv_upstream_state_name(srv_upstream_state state)
{
	static const char *const names[] = {"up", "degraded", "degraded", "barred"};
	return names[state];
}

/* ---- life */

void srv_upstream_free(srv_upstream *u)
{
	if (!u)
		return;
	srv_outbox_release(&u->outbox);
	hob_buf_release(&u->machines);
	srv_farm_close(u->farm);
	srv_digest_map_release(&u->leases);
	pthread_mutex_destroy(&u->lock);
	pthread_cond_destroy(&u->work);
	free(u->url);
	free(u->token);
	free(u);
}

static void on_handle_closed(uv_handle_t *handle)
{
	srv_upstream *u = handle->data;
	if (--u->handles == 0)
		u->closed(u->closed_user);
}

bool srv_upstream_new(uv_loop_t *loop, const srv_upstream_options *options, srv_store *store,
					  srv_upstream **out, hob_error *err)
{
	srv_upstream *u = hob_must(calloc(1, sizeof *u));
	u->options = *options;
	u->store = store;
	u->loop = loop;
	u->url = hob_must(strdup(options->url));
	u->token = options->token ? hob_must(strdup(options->token)) : NULL;
	snprintf(u->epoch, sizeof u->epoch, "%s", srv_store_epoch(store));
	snprintf(u->facts.url, sizeof u->facts.url, "%s", options->url);
	u->facts.gives = options->give;
	u->facts.farm = options->farm != NULL;
	u->chance = (unsigned)srv_clock_ms(CLOCK_REALTIME);
	pthread_mutex_init(&u->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&u->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	srv_line_init(&u->finds);
	srv_line_init(&u->fetches);
	srv_line_init(&u->done);
	srv_line_init(&u->claims);
	srv_line_init(&u->parked);
	srv_digest_map_init(&u->leases, sizeof(lease));
	bool opened = srv_outbox_open(&u->outbox, options->cache, err) &&
				  (!options->farm || srv_farm_open(options->farm, u->epoch, &u->farm, err));
	if (!opened) {
		srv_upstream_free(u);
		return false;
	}
	u->facts.lease_ms = u->farm ? srv_farm_lease_ms(u->farm) : 0;
	srv_carry_announce(u);
	uv_async_init(loop, &u->wake, on_wake);
	uv_timer_init(loop, &u->timer);
	u->wake.data = u->timer.data = u;
	u->handles = 2;
	for (; u->thread_count < SRV_CARRIERS; u->thread_count++) {
		carrier *c = &u->carriers[u->thread_count];
		c->upstream = u;
		hob_error ignored;
		if (!u->farm)
			srv_exchange_init(&c->exchange, u->url, u->token, store, u->epoch);
		else if (!srv_exchange_init_farm(&c->exchange, u->farm, store, &ignored))
			break;
		if (pthread_create(&c->thread, NULL, srv_carry, c) != 0) {
			srv_exchange_release(&c->exchange);
			break;
		}
	}
	if (u->thread_count == 0) {
		srv_log(SRV_LOG_WARNING, "upstream", "no thread for it can be started; it is not asked");
		u->closing = true;
	}
	u->has_keeper = u->farm && !u->closing && pthread_create(&u->keeper, NULL, srv_carry_keep, u) == 0;
	*out = u;
	return true;
}

void srv_upstream_close(srv_upstream *u, void (*closed)(void *user), void *user)
{
	assert(!u->closed && closed);
	u->closed = closed;
	u->closed_user = user;
	pthread_mutex_lock(&u->lock);
	u->closing = true;
	pthread_cond_broadcast(&u->work);
	pthread_mutex_unlock(&u->lock);
	if (u->farm)
		srv_farm_cut(u->farm);
	for (uint32_t i = 0; i < u->thread_count; i++)
		srv_exchange_cut(&u->carriers[i].exchange);
	if (u->has_keeper)
		pthread_join(u->keeper, NULL);
	for (uint32_t i = 0; i < u->thread_count; i++) {
		pthread_join(u->carriers[i].thread, NULL);
		srv_exchange_release(&u->carriers[i].exchange);
	}
	srv_carry_fail_all(u, &u->finds);
	srv_carry_fail_all(u, &u->fetches);
	srv_carry_fail_all(u, &u->claims);
	srv_carry_fail_all(u, &u->parked);
	deliver(u);
	assert(!u->alive);
	uv_close((uv_handle_t *)&u->wake, on_handle_closed);
	uv_close((uv_handle_t *)&u->timer, on_handle_closed);
}
