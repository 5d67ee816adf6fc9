#include "upstream.h"
#include "exchange.h"
#include "outbox.h"

#include "../log/log.h"
#include "../reuse/kept.h"
#include "../store/record.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

enum {
	THREADS = 4,
	TOGETHER_MAX = 256,
	WISH_ARENA = 64 << 20,
	BACKOFF_FIRST_MS = 1000,
	BACKOFF_MAX_MS = 60000,
	STALLED_MS = 300, /* a question that takes longer: saves do not wait for the next one */
	FULL_MS = 30000	  /* before something is given again to a cache without room */
};

typedef enum order_kind { ORDER_FIND, ORDER_FETCH, ORDER_BLOB } order_kind;

typedef struct order {
	struct order *next;		  /* waiting, or done */
	struct order *next_alive; /* the loop's list */
	order_kind kind;
	void *user;
	uint64_t deadline; /* uv_now; 0 = none */
	bool told;		   /* its callback was called: only to be freed */
	bool reached;
	/* find */
	srv_upstream_found *found;
	hob_sha256 lookup, source;
	hob_arena arena;
	hob_str inputs, via;
	srv_recipe *records;
	uint32_t count;
	/* fetch */
	srv_upstream_fetched *fetched;
	const srv_recipe *record;
} order;

typedef struct line {
	order *first, **last;
} line;

typedef struct carrier {
	srv_upstream *upstream;
	pthread_t thread;
	srv_exchange exchange;
} carrier;

struct srv_upstream {
	srv_upstream_options options;
	char *url, *token;
	char epoch[32];
	srv_store *store;
	uv_loop_t *loop;
	uv_async_t wake;
	uv_timer_t timer;
	uint32_t handles, thread_count;
	order *alive; /* loop only: all that are not freed */
	void (*closed)(void *user);
	void *closed_user;
	carrier carriers[THREADS];
	/* under the lock: */
	pthread_mutex_t lock;
	pthread_cond_t work;
	line finds, fetches, done;
	srv_outbox outbox;
	srv_upstream_facts facts;
	bool closing, finding, giving, probing;
	int64_t finding_since, retry_at, give_at; /* monotonic ms */
	uint32_t backoff_ms;
	double bytes_per_ms; /* of fetches; 0 = not known */
	unsigned chance;
};

static int64_t clock_ms(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void line_init(line *l)
{
	*l = (line){NULL, &l->first};
}

static void line_push(line *l, order *o)
{
	o->next = NULL;
	*l->last = o;
	l->last = &o->next;
}

static order *line_pop(line *l)
{
	order *o = l->first;
	if (o && !(l->first = o->next))
		l->last = &l->first;
	return o;
}

/* ---- the state; under the lock */

static void fail_all(srv_upstream *u, line *l)
{
	for (order *o; (o = line_pop(l));)
		line_push(&u->done, o);
}

static void set_state(srv_upstream *u, srv_upstream_state state, const char *reason)
{
	bool same = u->facts.state == state;
	if (!same)
		u->facts.since_ms = clock_ms(CLOCK_REALTIME);
	u->facts.state = state;
	snprintf(u->facts.reason, sizeof u->facts.reason, "%s", reason);
	if (!same && state == SRV_UPSTREAM_UP)
		srv_log(SRV_LOG_INFO, "upstream", "%s answers again", u->url);
	else if (!same)
		srv_log(SRV_LOG_WARNING, "upstream", "%s; until it is back, everything is cooked here", reason);
}

static void note_success(srv_upstream *u)
{
	u->backoff_ms = 0;
	if (u->facts.state != SRV_UPSTREAM_UP)
		set_state(u, SRV_UPSTREAM_UP, "");
}

static void note_failure(srv_upstream *u, srv_upstream_state state, const char *reason)
{
	uint32_t next = u->backoff_ms ? u->backoff_ms * 2 : BACKOFF_FIRST_MS;
	if (u->facts.state != SRV_UPSTREAM_UP && clock_ms(CLOCK_MONOTONIC) < u->retry_at)
		next = u->backoff_ms; /* the same failure, seen by another thread */
	u->backoff_ms = next > BACKOFF_MAX_MS || state == SRV_UPSTREAM_BARRED ? BACKOFF_MAX_MS : next;
	u->chance = u->chance * 1103515245u + 12345u;
	u->retry_at = clock_ms(CLOCK_MONOTONIC) + u->backoff_ms + (u->chance >> 16) % (u->backoff_ms / 4 + 1);
	set_state(u, state, reason);
	fail_all(u, &u->finds);
	fail_all(u, &u->fetches);
}

static void note_end(srv_upstream *u, const srv_exchange *x, srv_exchange_end end)
{
	switch (end) {
	case SRV_EXCHANGE_DOWN:
		if (!u->closing)
			note_failure(u, SRV_UPSTREAM_DEGRADED, x->error.context);
		break;
	case SRV_EXCHANGE_LOOP:
	case SRV_EXCHANGE_BARRED:
		note_failure(u, SRV_UPSTREAM_BARRED, x->error.context);
		break;
	case SRV_EXCHANGE_HERE:
		srv_log(SRV_LOG_WARNING, "upstream", "%s", x->error.context);
		break;
	default:
		note_success(u);
	}
}

static void note_refused(srv_upstream *u, const hob_sha256 *key, const char *why)
{
	char text[HOB_SHA256_TEXT + 1] = "";
	if (key)
		hob_sha256_text(key, text);
	u->facts.refused++;
	srv_log(SRV_LOG_WARNING, "upstream", "a result of %s was refused%s%s: %s", u->url, key ? ", key " : "", text, why);
}

/* ---- carrying out; on a carrier's thread, without the lock */

/* Whether the record is one of those wished for. */
static const char *find_fault(const order *o, const srv_recipe *record, hob_arena *scratch)
{
	hob_sha256 key;
	hob_error ignored;
	if (record->error.len > 0 || record->output_count == 0)
		return "it holds no outputs";
	if (!srv_kept_key(scratch, record, &key, &ignored) || !hob_sha256_equal(&key, &record->key))
		return "its key is not the one that lookup, file_name and deps give";
	if (o->via.len == 0 && (!hob_sha256_equal(&record->source, &o->source) || !hob_str_equal(record->ingredients, o->inputs)))
		return "it is a record of another source or of other settings";
	return NULL;
}

static bool take_record(srv_upstream *u, order *o, hob_str text)
{
	enum { EACH = 64 };
	hob_error error;
	srv_recipe record;
	if (o->count == EACH || !srv_record_parse(text, &o->arena, &record, &error))
		return false;
	const char *fault = find_fault(o, &record, &o->arena);
	if (!o->records)
		o->records = HOB_NEW(&o->arena, srv_recipe, EACH);
	if (fault) {
		pthread_mutex_lock(&u->lock);
		note_refused(u, &record.key, fault);
		pthread_mutex_unlock(&u->lock);
	} else if (o->records) {
		o->records[o->count++] = record;
	}
	return true;
}

/* Each line goes to every wish for its lookup. What nobody wished for, or is no record, is refused. */
static void sort_records(srv_upstream *u, order *const *orders, uint32_t count, hob_str lines)
{
	uint32_t odd = 0;
	for (size_t at = 0, end; at < lines.len; at = end + 1) {
		hob_arena scratch;
		hob_error error = {0};
		srv_recipe record;
		bool taken = false;
		end = hob_str_find(lines, HOB_STR("\n"), at);
		hob_str text = hob_str_sub(lines, at, end == SIZE_MAX ? lines.len : end + 1);
		end = end == SIZE_MAX ? lines.len : end;
		hob_arena_init(&scratch, WISH_ARENA);
		if (srv_record_parse(text, &scratch, &record, &error))
			for (uint32_t i = 0; i < count; i++)
				if (hob_sha256_equal(&orders[i]->lookup, &record.lookup))
					taken = take_record(u, orders[i], text) || taken;
		hob_arena_release(&scratch);
		odd += !taken;
	}
	if (odd == 0)
		return;
	pthread_mutex_lock(&u->lock);
	u->facts.refused += odd - 1;
	note_refused(u, NULL, "it is no record, or one that nobody asked for");
	pthread_mutex_unlock(&u->lock);
}

static void find(carrier *c, order *const *orders, uint32_t count)
{
	srv_upstream *u = c->upstream;
	hob_sha256 lookups[TOGETHER_MAX];
	hob_buf lines = {0};
	for (uint32_t i = 0; i < count; i++)
		lookups[i] = orders[i]->lookup;
	srv_exchange_end end = srv_exchange_find(&c->exchange, lookups, count, orders[0]->via, &lines);
	if (end == SRV_EXCHANGE_OK)
		sort_records(u, orders, count, hob_buf_str(&lines));
	hob_buf_release(&lines);
	pthread_mutex_lock(&u->lock);
	note_end(u, &c->exchange, end);
	if (end == SRV_EXCHANGE_REFUSED)
		note_refused(u, NULL, c->exchange.error.context);
	u->facts.asked += end == SRV_EXCHANGE_OK ? count : 0;
	for (uint32_t i = 0; i < count; i++) {
		orders[i]->reached = end == SRV_EXCHANGE_OK;
		u->facts.found += orders[i]->count > 0;
		line_push(&u->done, orders[i]);
	}
	pthread_mutex_unlock(&u->lock);
}

static void fetch(carrier *c, order *o)
{
	srv_upstream *u = c->upstream;
	int64_t began = clock_ms(CLOCK_MONOTONIC);
	c->exchange.bytes = 0;
	srv_exchange_end end = o->kind == ORDER_FETCH ? srv_exchange_fetch(&c->exchange, o->record)
												  : srv_exchange_fetch_blob(&c->exchange, &o->lookup, UINT64_MAX);
	int64_t took = clock_ms(CLOCK_MONOTONIC) - began;
	pthread_mutex_lock(&u->lock);
	note_end(u, &c->exchange, end);
	if (end == SRV_EXCHANGE_REFUSED)
		note_refused(u, o->kind == ORDER_FETCH ? &o->record->key : &o->lookup, c->exchange.error.context);
	o->reached = end == SRV_EXCHANGE_OK;
	u->facts.fetched += o->reached;
	u->facts.fetched_bytes += c->exchange.bytes;
	if (o->reached && c->exchange.bytes >= 256 << 10) {
		double speed = (double)c->exchange.bytes / (double)(took > 0 ? took : 1);
		u->bytes_per_ms = u->bytes_per_ms > 0 ? 0.8 * u->bytes_per_ms + 0.2 * speed : speed;
	}
	line_push(&u->done, o);
	pthread_mutex_unlock(&u->lock);
}

/* Under the lock. */
static void note_given(srv_upstream *u, const srv_exchange *x, const hob_sha256 *key, srv_exchange_end end)
{
	switch (end) {
	case SRV_EXCHANGE_OK:
		u->facts.given++;
		break;
	case SRV_EXCHANGE_CONFLICT:
		u->facts.conflicts++;
		srv_log(SRV_LOG_WARNING, "upstream", "%s", x->error.context);
		break;
	case SRV_EXCHANGE_REFUSED:
		note_refused(u, key, x->error.context);
		break;
	case SRV_EXCHANGE_BARRED:
		u->facts.read_only = true;
		srv_outbox_clear(&u->outbox);
		srv_log(SRV_LOG_INFO, "upstream", "%s; nothing is given to it", x->error.context);
		break;
	case SRV_EXCHANGE_FULL:
		u->give_at = clock_ms(CLOCK_MONOTONIC) + FULL_MS;
		srv_log(SRV_LOG_WARNING, "upstream", "%s", x->error.context);
		return;
	case SRV_EXCHANGE_DOWN:
	case SRV_EXCHANGE_LOOP:
		return;
	default:
		break;
	}
	srv_outbox_remove(&u->outbox, key);
}

static void give(carrier *c, const hob_sha256 *key)
{
	srv_upstream *u = c->upstream;
	srv_exchange_end end = srv_exchange_give(&c->exchange, key);
	pthread_mutex_lock(&u->lock);
	u->facts.given_bytes += c->exchange.bytes;
	/* A token that may not write says nothing about reading. */
	if (end == SRV_EXCHANGE_BARRED)
		note_success(u);
	else
		note_end(u, &c->exchange, end);
	note_given(u, &c->exchange, key, end);
	u->giving = false;
	pthread_mutex_unlock(&u->lock);
}

static void probe(carrier *c)
{
	srv_upstream *u = c->upstream;
	srv_exchange_end end = srv_exchange_probe(&c->exchange);
	pthread_mutex_lock(&u->lock);
	note_end(u, &c->exchange, end);
	u->probing = false;
	pthread_mutex_unlock(&u->lock);
}

/* ---- who does what next; under the lock */

/* Questions that came on the same way go together. */
static uint32_t take_finds(srv_upstream *u, order *out[TOGETHER_MAX])
{
	uint32_t count = 0;
	line rest;
	line_init(&rest);
	for (order *o; (o = line_pop(&u->finds));) {
		if (count < TOGETHER_MAX && (count == 0 || hob_str_equal(o->via, out[0]->via)))
			out[count++] = o;
		else
			line_push(&rest, o);
	}
	for (order *o; (o = line_pop(&rest));)
		line_push(&u->finds, o);
	return count;
}

static bool may_give(const srv_upstream *u, int64_t now)
{
	return u->outbox.keys.count > 0 && !u->giving && !u->facts.read_only && u->options.give && now >= u->give_at;
}

static void sleep_until(srv_upstream *u, int64_t at)
{
	if (at == INT64_MAX)
		pthread_cond_wait(&u->work, &u->lock);
	else
		pthread_cond_timedwait(&u->work, &u->lock, &(struct timespec){.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000});
}

static void find_waiting(carrier *c)
{
	srv_upstream *u = c->upstream;
	order *orders[TOGETHER_MAX];
	uint32_t count = take_finds(u, orders);
	u->finding = true;
	u->finding_since = clock_ms(CLOCK_MONOTONIC);
	pthread_mutex_unlock(&u->lock);
	find(c, orders, count);
	pthread_mutex_lock(&u->lock);
	u->finding = false;
}

/* One step; false: there is nothing to do. Takes and gives back the lock. */
static bool step(carrier *c)
{
	srv_upstream *u = c->upstream;
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	bool up = u->facts.state == SRV_UPSTREAM_UP;
	hob_sha256 key;
	size_t at = 0;
	if (up && u->finds.first && !u->finding) {
		find_waiting(c);
	} else if (up && u->fetches.first) {
		order *o = line_pop(&u->fetches);
		pthread_mutex_unlock(&u->lock);
		fetch(c, o);
		pthread_mutex_lock(&u->lock);
	} else if (up && may_give(u, now) && digest_map_next(&u->outbox.keys, &at, &key)) {
		u->giving = true;
		pthread_mutex_unlock(&u->lock);
		give(c, &key);
		pthread_mutex_lock(&u->lock);
	} else if (!up && now >= u->retry_at && !u->probing) {
		u->probing = true;
		pthread_mutex_unlock(&u->lock);
		probe(c);
		pthread_mutex_lock(&u->lock);
	} else {
		return false;
	}
	return true;
}

static void *carry(void *user)
{
	carrier *c = user;
	srv_upstream *u = c->upstream;
	pthread_mutex_lock(&u->lock);
	while (!u->closing) {
		if (step(c)) {
			pthread_cond_broadcast(&u->work);
			uv_async_send(&u->wake);
			continue;
		}
		bool up = u->facts.state == SRV_UPSTREAM_UP;
		sleep_until(u, !up && !u->probing ? u->retry_at : up && u->outbox.keys.count > 0 && u->give_at > 0 ? u->give_at : INT64_MAX);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

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
	else
		o->fetched(o->user, o->reached);
}

static void deliver(srv_upstream *u)
{
	pthread_mutex_lock(&u->lock);
	order *done = u->done.first;
	line_init(&u->done);
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

/* A find that is late is told so, and its answer dropped when it comes. Its records live in an arena that only its order has. */
static void on_timer(uv_timer_t *timer)
{
	srv_upstream *u = timer->data;
	uint64_t now = uv_now(u->loop);
	for (order *o = u->alive, *next; o; o = next) {
		next = o->next_alive;
		if (o->told || o->deadline == 0 || o->deadline > now)
			continue;
		hob_arena none = {0};
		o->told = true;
		hob_arena_init(&none, 1);
		o->found(o->user, &none, NULL, 0, false);
		hob_arena_release(&none);
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
	order *o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	o->kind = kind;
	o->user = user;
	o->next_alive = u->alive;
	u->alive = o;
	return o;
}

/* Under the lock. */
static bool takes_orders(const srv_upstream *u)
{
	return u->facts.state == SRV_UPSTREAM_UP && !u->closing;
}

static bool push_order(srv_upstream *u, line *l, order *o)
{
	pthread_mutex_lock(&u->lock);
	bool taken = takes_orders(u);
	if (taken)
		line_push(l, o);
	pthread_cond_signal(&u->work);
	pthread_mutex_unlock(&u->lock);
	if (!taken)
		order_free(u, o);
	return taken;
}

static bool is_stalled(srv_upstream *u)
{
	pthread_mutex_lock(&u->lock);
	bool stalled = u->finding && clock_ms(CLOCK_MONOTONIC) - u->finding_since > STALLED_MS;
	pthread_mutex_unlock(&u->lock);
	return stalled;
}

bool srv_upstream_find(srv_upstream *u, const srv_upstream_wish *wish, srv_upstream_found *found, void *user)
{
	if (u->closed || (wish->wait_ms > 0 && is_stalled(u)))
		return false;
	order *o = order_new(u, ORDER_FIND, user);
	if (!o)
		return false;
	hob_arena_init(&o->arena, WISH_ARENA);
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

bool srv_upstream_fetch(srv_upstream *u, const srv_recipe *record, srv_upstream_fetched *fetched, void *user)
{
	order *o = u->closed ? NULL : order_new(u, ORDER_FETCH, user);
	if (!o)
		return false;
	o->fetched = fetched;
	o->record = record;
	return push_order(u, &u->fetches, o);
}

bool srv_upstream_fetch_blob(srv_upstream *u, const hob_sha256 *digest, srv_upstream_fetched *fetched, void *user)
{
	order *o = u->closed ? NULL : order_new(u, ORDER_BLOB, user);
	if (!o)
		return false;
	o->fetched = fetched;
	o->lookup = *digest;
	return push_order(u, &u->fetches, o);
}

bool srv_upstream_is_worth(srv_upstream *u, const srv_recipe *record)
{
	enum { ALWAYS_MS = 2000 };
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < record->output_count; i++)
		if (!srv_blob_known(u->store, &record->outputs[i].digest))
			bytes += record->outputs[i].size;
	pthread_mutex_lock(&u->lock);
	double ms = u->bytes_per_ms > 0 ? (double)bytes / u->bytes_per_ms : 0;
	pthread_mutex_unlock(&u->lock);
	return ms <= ALWAYS_MS || ms * 1e6 <= 2 * (double)record->cook_ns;
}

void srv_upstream_give(srv_upstream *u, const hob_sha256 *key)
{
	if (!u->options.give)
		return;
	pthread_mutex_lock(&u->lock);
	if (!u->facts.read_only)
		srv_outbox_add(&u->outbox, key);
	pthread_cond_signal(&u->work);
	pthread_mutex_unlock(&u->lock);
}

bool srv_upstream_holds(srv_upstream *u, const hob_sha256 *key)
{
	pthread_mutex_lock(&u->lock);
	bool holds = digest_map_find(&u->outbox.keys, key) != NULL;
	pthread_mutex_unlock(&u->lock);
	return holds;
}

void srv_upstream_look(srv_upstream *u, srv_upstream_facts *out)
{
	pthread_mutex_lock(&u->lock);
	*out = u->facts;
	out->outbox = u->outbox.keys.count;
	pthread_mutex_unlock(&u->lock);
}

const char *srv_upstream_state_name(srv_upstream_state state)
{
	static const char *const names[] = {"up", "degraded", "barred"};
	return names[state];
}

/* ---- life */

void srv_upstream_free(srv_upstream *u)
{
	if (!u)
		return;
	srv_outbox_release(&u->outbox);
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

bool srv_upstream_new(uv_loop_t *loop, const srv_upstream_options *options, srv_store *store, srv_upstream **out,
					  hob_error *err)
{
	srv_upstream *u = calloc(1, sizeof *u);
	if (!u)
		return hob_fail(err, MEMORY, "no memory left for the upstream");
	u->options = *options;
	u->store = store;
	u->loop = loop;
	u->url = strdup(options->url);
	u->token = options->token ? strdup(options->token) : NULL;
	snprintf(u->epoch, sizeof u->epoch, "%s", srv_store_epoch(store));
	snprintf(u->facts.url, sizeof u->facts.url, "%s", options->url);
	u->facts.gives = options->give;
	u->chance = (unsigned)clock_ms(CLOCK_REALTIME);
	pthread_mutex_init(&u->lock, NULL);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&u->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	line_init(&u->finds);
	line_init(&u->fetches);
	line_init(&u->done);
	bool opened = srv_outbox_open(&u->outbox, options->cache, err);
	if (opened && (!u->url || (options->token && !u->token)))
		opened = hob_fail(err, MEMORY, "no memory left for the upstream");
	if (!opened) {
		srv_upstream_free(u);
		return false;
	}
	uv_async_init(loop, &u->wake, on_wake);
	uv_timer_init(loop, &u->timer);
	u->wake.data = u->timer.data = u;
	u->handles = 2;
	for (; u->thread_count < THREADS; u->thread_count++) {
		carrier *c = &u->carriers[u->thread_count];
		c->upstream = u;
		srv_exchange_init(&c->exchange, u->url, u->token, store, u->epoch);
		if (pthread_create(&c->thread, NULL, carry, c) != 0) {
			srv_exchange_release(&c->exchange);
			break;
		}
	}
	if (u->thread_count == 0)
		srv_log(SRV_LOG_WARNING, "upstream", "no thread for it can be started; it is not asked");
	u->closing = u->thread_count == 0;
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
	for (uint32_t i = 0; i < u->thread_count; i++)
		srv_exchange_cut(&u->carriers[i].exchange);
	for (uint32_t i = 0; i < u->thread_count; i++) {
		pthread_join(u->carriers[i].thread, NULL);
		srv_exchange_release(&u->carriers[i].exchange);
	}
	fail_all(u, &u->finds);
	fail_all(u, &u->fetches);
	deliver(u);
	assert(!u->alive);
	uv_close((uv_handle_t *)&u->wake, on_handle_closed);
	uv_close((uv_handle_t *)&u->timer, on_handle_closed);
}
