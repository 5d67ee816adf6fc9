#include "carry.h"

#include "../log/log.h"
#include "../reuse/kept.h"
#include "../store/record.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <time.h>

enum {
	TOGETHER_MAX = 256,
	BACKOFF_FIRST_MS = 1000,
	BACKOFF_MAX_MS = 60000,
	AWAKE_MS = 2000, /* time for a returning machine to announce its cooks */
	LATE_MS = 100,	 /* wait before asking again, if another machine has the lease */
	FULL_MS = 30000, /* longest pause before the next attempt to store in a full cache */
	PATIENCE_LEASES = 4,
	RECENT = 40, /* number of last answers that count: FAILING when a tenth of them failed */
	STEADY = 20	 /* good probes in a row that end FAILING */
};

typedef enum outcome { PROBED, STEADILY, NO_ANSWER, OFTEN, REFUSED } outcome;

void srv_line_init(line *l)
{
	*l = (line){NULL, &l->first};
}

void srv_line_push(line *l, order *o)
{
	o->next = NULL;
	*l->last = o;
	l->last = &o->next;
}

order *srv_line_pop(line *l)
{
	order *o = l->first;
	if (o && !(l->first = o->next))
		l->last = &l->first;
	return o;
}

/* ---- state; lock held */

void srv_carry_fail_all(srv_upstream *u, line *l)
{
	for (order *o; (o = srv_line_pop(l));) {
		o->verdict = o->held ? SRV_UPSTREAM_HELD : SRV_UPSTREAM_ALONE;
		srv_line_push(&u->done, o);
	}
}

static void set_state(srv_upstream *u, outcome end, const char *reason)
{
	enum {
		UP = SRV_UPSTREAM_UP,
		DOWN = SRV_UPSTREAM_DEGRADED,
		FAILING = SRV_UPSTREAM_FAILING,
		BARRED = SRV_UPSTREAM_BARRED
	};
	static const uint8_t next[][REFUSED + 1] = {[UP] = {UP, UP, DOWN, FAILING, BARRED},
												[DOWN] = {UP, UP, DOWN, DOWN, BARRED},
												[FAILING] = {FAILING, UP, FAILING, FAILING, BARRED},
												[BARRED] = {UP, UP, DOWN, DOWN, BARRED}};
	srv_upstream_state old = u->facts.state, state = (srv_upstream_state)next[old][end];
	int64_t now = srv_clock_ms(CLOCK_REALTIME);
	u->facts.state = state;
	if (old != state || state != SRV_UPSTREAM_FAILING)
		snprintf(u->facts.reason, sizeof u->facts.reason, "%s%s",
				 state == SRV_UPSTREAM_FAILING ? "a tenth of its answers are failures, such as: " : "",
				 reason);
	if (old == state)
		return;
	u->facts.since_ms = now;
	if (old == SRV_UPSTREAM_UP)
		u->away_at = now;
	if (state == SRV_UPSTREAM_UP) {
		/* After FAILING, nothing was left to other machines. */
		u->away_ms = old == SRV_UPSTREAM_FAILING ? 0 : now - u->away_at;
		u->recent = old == SRV_UPSTREAM_FAILING ? 0 : u->recent;
		srv_carry_announce(u);
		srv_log(SRV_LOG_INFO, "upstream", "%s answers again", u->url);
	} else {
		srv_log(SRV_LOG_WARNING, "upstream", "%s; until it is back, everything is cooked here",
				u->facts.reason);
	}
	if (state == SRV_UPSTREAM_FAILING)
		srv_carry_leave_given(u);
	pthread_cond_broadcast(&u->work); /* idle threads then retry in time */
}

static bool is_answer(srv_exchange_end end)
{
	return end != SRV_EXCHANGE_DOWN && end != SRV_EXCHANGE_LOOP && end != SRV_EXCHANGE_BARRED;
}

/* Counts an answered probe. Only these end an outage: an older call may have reached a part that answers. */
static void note_probe(srv_upstream *u, srv_exchange_end end)
{
	if (!is_answer(end) || u->facts.state == SRV_UPSTREAM_UP)
		return;
	u->backoff_ms = 0;
	u->retry_at = srv_clock_ms(CLOCK_MONOTONIC) + BACKOFF_FIRST_MS;
	set_state(u, ++u->steady < STEADY ? PROBED : STEADILY, "");
}

void srv_carry_note_answer(srv_upstream *u)
{
	if (srv_carry_is_up(u))
		u->recent <<= 1;
}

/* Records a failure. True: a tenth of the last answers failed. */
static bool count_failure(srv_upstream *u)
{
	u->recent = (u->recent << 1 | 1) & ((1ull << RECENT) - 1);
	return __builtin_popcountll(u->recent) >= RECENT / 10;
}

static void note_failure(srv_upstream *u, outcome end, const char *reason)
{
	if (end == NO_ANSWER && srv_carry_is_up(u) && count_failure(u))
		end = OFTEN;
	u->steady = 0;
	uint32_t next = u->backoff_ms ? u->backoff_ms * 2 : BACKOFF_FIRST_MS;
	if (u->facts.state != SRV_UPSTREAM_UP && srv_clock_ms(CLOCK_MONOTONIC) < u->retry_at)
		next = u->backoff_ms; /* another thread saw the same failure */
	u->backoff_ms = next > BACKOFF_MAX_MS || end == REFUSED ? BACKOFF_MAX_MS : next;
	u->chance = u->chance * 1103515245u + 12345u;
	u->retry_at = srv_clock_ms(CLOCK_MONOTONIC) + u->backoff_ms + (u->chance >> 16) % (u->backoff_ms / 4 + 1);
	set_state(u, end, reason);
	srv_carry_fail_all(u, &u->finds);
	srv_carry_fail_all(u, &u->fetches);
	srv_carry_fail_all(u, &u->claims);
	srv_carry_fail_all(u, &u->parked);
	srv_carry_forget_claims(u);
}

bool srv_carry_is_up(const srv_upstream *u)
{
	return u->facts.state == SRV_UPSTREAM_UP;
}

/* Longest time for which other machines wait for this one. */
static int64_t patience(const srv_upstream *u)
{
	return (int64_t)PATIENCE_LEASES * u->facts.lease_ms;
}

bool srv_carry_is_apart(const srv_upstream *u)
{
	enum { LAST_MS = BACKOFF_MAX_MS + BACKOFF_MAX_MS / 4 + AWAKE_MS };
	int64_t since = srv_clock_ms(CLOCK_REALTIME) - u->facts.since_ms, most = patience(u);
	if (u->facts.nodes <= 1 || u->facts.state >= SRV_UPSTREAM_FAILING || since < 0)
		return false;
	/* Retry intervals grow with the outage, so all machines are back once the same time has passed again. */
	if (u->facts.state == SRV_UPSTREAM_UP) {
		most = u->away_ms + u->away_ms / 4 + AWAKE_MS;
		most = u->away_ms == 0 ? 0 : most < LAST_MS ? most : LAST_MS;
	}
	return since < most;
}

void srv_carry_note(srv_upstream *u, const hob_error *error, srv_exchange_end end)
{
	switch (end) {
	case SRV_EXCHANGE_DOWN:
		if (!u->closing)
			note_failure(u, NO_ANSWER, error->context);
		break;
	case SRV_EXCHANGE_LOOP:
	case SRV_EXCHANGE_BARRED:
		note_failure(u, REFUSED, error->context);
		break;
	case SRV_EXCHANGE_HERE:
		srv_log(SRV_LOG_WARNING, "upstream", "%s", error->context);
		break;
	default:
		if (srv_carry_is_up(u))
			u->backoff_ms = 0;
		srv_carry_note_answer(u);
	}
}

static void note_refused(srv_upstream *u, const hob_sha256 *key, const char *why)
{
	u->facts.refused++;
	srv_log(SRV_LOG_WARNING, "upstream", "a result of %s was refused%s%s: %s", u->url, key ? ", key " : "",
			key ? hob_sha256_hex(key).text : "", why);
}

/* ---- execution; on a carrier's thread, without the lock */

/* Deletes a record that this machine found invalid from the farm, and stores the name of its author. */
static void tell_refused(srv_upstream *u, const hob_sha256 *key, const char *reason)
{
	srv_farm_why why;
	if (u->farm && u->options.give)
		(void)srv_farm_refuse(u->farm, key, 1, reason, &why);
}

/* Whether this is the right store: in a wrong bucket or folder, no blob is found, and nothing may be
 * deleted. */
static bool is_certain(carrier *c)
{
	srv_upstream *u = c->upstream;
	srv_farm_why why;
	SRV_LOCKED(&u->lock);
	bool proved = u->proved || c->exchange.error.code != HOB_ERR_NOT_FOUND;
	return proved || (u->farm && srv_farm_owns(u->farm, c->exchange.blobs, &why) == SRV_FARM_OK);
}

/* A failure that every machine would have; the error as in the API, written by server/engine. */
static bool is_shared_failure(const srv_upstream *u, const srv_record *record)
{
	hob_own_json *error = cJSON_ParseWithLength(record->error.data, record->error.len);
	bool told = cJSON_IsString(cJSON_GetObjectItemCaseSensitive(error, "code")) &&
				cJSON_IsString(cJSON_GetObjectItemCaseSensitive(error, "message"));
	return told && u->farm && record->output_count == 0 && record->stats.len == 0;
}

/* Returns why the record does not answer the request; NULL: it does. */
static const char *find_fault(const srv_upstream *u, const order *o, const srv_record *record,
							  hob_arena *scratch)
{
	hob_sha256 key;
	hob_error ignored;
	if (record->error.len > 0 ? !is_shared_failure(u, record) : record->output_count == 0)
		return "it holds no outputs";
	if (!srv_kept_key(scratch, record, &key, &ignored) || !hob_sha256_equal(&key, &record->key))
		return "its key is not the one that lookup, file_name and deps give";
	if (o->via.len == 0 &&
		(!hob_sha256_equal(&record->source, &o->source) || !hob_str_equal(record->ingredients, o->inputs)))
		return "it is a record of another source or of other settings";
	return NULL;
}

static bool take_record(srv_upstream *u, order *o, hob_str text)
{
	enum { EACH = 64 };
	hob_error error;
	srv_record record;
	if (o->count == EACH || !srv_record_parse(text, &o->arena, &record, &error))
		return false;
	const char *fault = find_fault(u, o, &record, &o->arena);
	if (!o->records)
		o->records = HOB_NEW(&o->arena, srv_record, EACH);
	if (fault) {
		pthread_mutex_lock(&u->lock);
		note_refused(u, &record.key, fault);
		pthread_mutex_unlock(&u->lock);
		tell_refused(u, &record.key, fault);
	} else if (o->records) {
		uint32_t kept = 0;
		for (uint32_t i = 0; i < record.output_count; i++)
			if (!hob_str_starts(record.outputs[i].name, HOB_STR("classic.")))
				record.outputs[kept++] = record.outputs[i];
		record.output_count = kept;
		o->records[o->count++] = record;
	}
	return true;
}

/* Passes each line to every request for its lookup. Refuses a line that was not requested, or is not a
 * record. */
static void sort_records(srv_upstream *u, order *const *orders, uint32_t count, hob_str lines)
{
	enum { KEY_AT = sizeof "{\"hob_result\":1,\"key\":\"" - 1 };
	uint32_t odd = 0;
	for (size_t at = 0, end; at < lines.len; at = end + 1) {
		hob_arena scratch;
		hob_error error = {0};
		srv_record record;
		bool taken = false;
		end = hob_str_find(lines, HOB_STR("\n"), at);
		hob_str text = hob_str_sub(lines, at, end == SIZE_MAX ? lines.len : end + 1);
		end = end == SIZE_MAX ? lines.len : end;
		hob_arena_init(&scratch, SRV_WISH_ARENA);
		if (srv_record_parse(text, &scratch, &record, &error))
			for (uint32_t i = 0; i < count; i++)
				if (hob_sha256_equal(&orders[i]->lookup, &record.lookup))
					taken = take_record(u, orders[i], text) || taken;
		hob_arena_release(&scratch);
		hob_sha256 key;
		if (!taken && hob_sha256_parse(hob_str_sub(text, KEY_AT, KEY_AT + HOB_SHA256_TEXT), &key))
			tell_refused(u, &key, "this is not a record, or it belongs to another key");
		odd += !taken;
	}
	if (odd == 0)
		return;
	SRV_LOCKED(&u->lock);
	u->facts.refused += odd - 1;
	note_refused(u, NULL, "this is not a record, or nobody asked for it");
}

static void find(carrier *c, order *const *orders, uint32_t count)
{
	srv_upstream *u = c->upstream;
	hob_sha256 lookups[TOGETHER_MAX];
	hob_own_buf lines = {0};
	for (uint32_t i = 0; i < count; i++)
		lookups[i] = orders[i]->lookup;
	srv_exchange_end end = srv_exchange_find(&c->exchange, lookups, count, orders[0]->via, &lines);
	if (end == SRV_EXCHANGE_OK)
		sort_records(u, orders, count, hob_buf_str(&lines));
	SRV_LOCKED(&u->lock);
	srv_carry_note(u, &c->exchange.error, end);
	if (end == SRV_EXCHANGE_REFUSED)
		note_refused(u, NULL, c->exchange.error.context);
	u->facts.asked += end == SRV_EXCHANGE_OK ? count : 0;
	for (uint32_t i = 0; i < count; i++) {
		orders[i]->reached = end == SRV_EXCHANGE_OK;
		u->facts.found += orders[i]->count > 0;
		srv_line_push(&u->done, orders[i]);
	}
}

static double mix(double old, double now)
{
	return old > 0 ? 0.8 * old + 0.2 * now : now;
}

/* Updates the averages of fetches. Lock held. */
static void note_times(srv_upstream *u, const srv_exchange_times *times)
{
	u->proved = u->proved || times->small + times->large > 0;
	if (times->small > 0)
		u->blob_ms = mix(u->blob_ms, times->small_ms / times->small);
	if (times->large == 0)
		return;
	double rest = times->large_ms - times->large * u->blob_ms, least = times->large_ms / 10 + 1e-3;
	u->bytes_per_ms = mix(u->bytes_per_ms, (double)times->large_bytes / (rest > least ? rest : least));
}

static void fetch(carrier *c, order *o)
{
	srv_upstream *u = c->upstream;
	c->exchange.bytes = 0;
	srv_exchange_end end = o->kind == ORDER_FETCH
							   ? srv_exchange_fetch(&c->exchange, o->record)
							   : srv_exchange_fetch_blob(&c->exchange, &o->lookup, UINT64_MAX);
	srv_farm_why why;
	if (end == SRV_EXCHANGE_REFUSED && o->kind == ORDER_FETCH && is_certain(c))
		tell_refused(u, &o->record->key, c->exchange.error.context);
	else if (end == SRV_EXCHANGE_OK && o->kind == ORDER_FETCH && u->farm)
		(void)srv_farm_used(u->farm, &o->record->key, u->options.give, o->author, &why);
	SRV_LOCKED(&u->lock);
	srv_carry_note(u, &c->exchange.error, end);
	if (end == SRV_EXCHANGE_REFUSED)
		note_refused(u, o->kind == ORDER_FETCH ? &o->record->key : &o->lookup, c->exchange.error.context);
	o->reached = end == SRV_EXCHANGE_OK;
	u->facts.fetched += o->reached;
	u->facts.fetched_bytes += c->exchange.bytes;
	if (o->reached)
		note_times(u, &c->exchange.times);
	srv_line_push(&u->done, o);
}

void srv_carry_is_full(srv_upstream *u, const char *reason)
{
	int64_t now = srv_clock_ms(CLOCK_MONOTONIC);
	if (!u->facts.full) {
		srv_log(SRV_LOG_WARNING, "upstream", "%s", reason);
		u->full_at = now;
		u->full_ms = BACKOFF_FIRST_MS / 2;
	}
	u->full_ms = u->full_ms * 2 < FULL_MS ? u->full_ms * 2 : FULL_MS;
	u->give_at = now + u->full_ms;
	u->facts.full = true;
	srv_carry_stays_full(u);
}

void srv_carry_stays_full(srv_upstream *u)
{
	if (u->facts.full && srv_clock_ms(CLOCK_MONOTONIC) - u->full_at >= patience(u))
		srv_carry_leave_given(u);
}

/* Counts the result of giving `key`. Lock held. */
static void note_given(srv_upstream *u, const srv_exchange *x, const hob_sha256 *key, srv_exchange_end end)
{
	switch (end) {
	case SRV_EXCHANGE_OK:
		u->facts.given++;
		u->facts.full = false;
		break;
	case SRV_EXCHANGE_CONFLICT:
		u->facts.conflicts++;
		srv_log(SRV_LOG_WARNING, "upstream", "%s", x->error.context);
		break;
	case SRV_EXCHANGE_REFUSED:
		note_refused(u, key, x->error.context);
		break;
	case SRV_EXCHANGE_READ_ONLY:
		u->facts.read_only = true;
		srv_outbox_clear(&u->outbox);
		srv_carry_leave_given(u);
		srv_log(SRV_LOG_INFO, "upstream", "%s; nothing is given to it", x->error.context);
		break;
	case SRV_EXCHANGE_FULL:
		srv_carry_is_full(u, x->error.context);
		return;
	case SRV_EXCHANGE_LATE:
		u->facts.late++;
		u->give_at = srv_clock_ms(CLOCK_MONOTONIC) + LATE_MS;
		return;
	case SRV_EXCHANGE_DOWN:
	case SRV_EXCHANGE_BARRED:
	case SRV_EXCHANGE_LOOP:
		return;
	default:
		break;
	}
	srv_outbox_remove(&u->outbox, key);
}

static srv_exchange_end give(carrier *c, const hob_sha256 *key)
{
	srv_upstream *u = c->upstream;
	srv_exchange *x = &c->exchange;
	srv_exchange_end end = srv_exchange_give(x, key);
	hob_error error = x->error;
	bool reads = end == SRV_EXCHANGE_DOWN && srv_exchange_probe(x) == SRV_EXCHANGE_OK;
	x->error = error;
	SRV_LOCKED(&u->lock);
	u->facts.given_bytes += x->bytes;
	if (reads && srv_carry_is_up(u) && !count_failure(u))
		end = SRV_EXCHANGE_FULL; /* pauses only giving */
	else
		srv_carry_note(u, &x->error, end);
	note_given(u, x, key, end);
	/* A result that waits for room keeps its lease: no other machine cooks it meanwhile. */
	if (u->farm && end != SRV_EXCHANGE_DOWN && end != SRV_EXCHANGE_LOOP && end != SRV_EXCHANGE_FULL)
		srv_carry_given(u, &c->exchange.lookup, end == SRV_EXCHANGE_OK || end == SRV_EXCHANGE_CONFLICT);
	u->giving = false;
	return end;
}

/* Probes the upstream, then gives it the result `key` unless that is NULL. */
static void probe(carrier *c, const hob_sha256 *key)
{
	srv_upstream *u = c->upstream;
	srv_exchange_end end = srv_exchange_probe(&c->exchange);
	bool gives = key && is_answer(end);
	if (gives)
		end = give(c, key);
	SRV_LOCKED(&u->lock);
	if (!gives)
		srv_carry_note(u, &c->exchange.error, end);
	note_probe(u, end);
	u->giving = u->giving && !key;
	u->probing = false;
}

/* ---- scheduling; lock held */

/* Takes waiting requests that came by the same caches (`via`), to send them together. */
static uint32_t take_finds(srv_upstream *u, order *out[TOGETHER_MAX])
{
	uint32_t count = 0;
	line rest;
	srv_line_init(&rest);
	for (order *o; (o = srv_line_pop(&u->finds));) {
		if (count < TOGETHER_MAX && (count == 0 || hob_str_equal(o->via, out[0]->via)))
			out[count++] = o;
		else
			srv_line_push(&rest, o);
	}
	for (order *o; (o = srv_line_pop(&rest));)
		srv_line_push(&u->finds, o);
	return count;
}

static bool may_give(const srv_upstream *u, int64_t now)
{
	return u->outbox.keys.count > 0 && !u->giving && !u->announcing && !u->facts.read_only &&
		   u->options.give && now >= u->give_at;
}

/* Takes the results of the outbox in turn. */
static bool next_given(srv_upstream *u, hob_sha256 *key)
{
	bool found = srv_digest_map_next(&u->outbox.keys, &u->give_cursor, key);
	if (!found) {
		u->give_cursor = 0;
		found = srv_digest_map_next(&u->outbox.keys, &u->give_cursor, key);
	}
	return found;
}

static void sleep_until(srv_upstream *u, int64_t at)
{
	if (at == INT64_MAX)
		pthread_cond_wait(&u->work, &u->lock);
	else
		pthread_cond_timedwait(&u->work, &u->lock,
							   &(struct timespec){.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000});
}

static void find_waiting(carrier *c)
{
	srv_upstream *u = c->upstream;
	order *orders[TOGETHER_MAX];
	uint32_t count = take_finds(u, orders);
	u->finding = true;
	u->finding_since = srv_clock_ms(CLOCK_MONOTONIC);
	pthread_mutex_unlock(&u->lock);
	find(c, orders, count);
	pthread_mutex_lock(&u->lock);
	u->finding = false;
}

/* One step; false: idle. Releases and retakes the lock. */
static bool step(carrier *c)
{
	srv_upstream *u = c->upstream;
	int64_t now = srv_clock_ms(CLOCK_MONOTONIC);
	bool up = u->facts.state == SRV_UPSTREAM_UP;
	bool leaves = u->leaving && u->facts.state == SRV_UPSTREAM_FAILING;
	hob_sha256 key;
	if (up && u->finds.first && !u->finding) {
		find_waiting(c);
	} else if ((up || leaves) && srv_carry_claims(c)) {
	} else if (up && u->fetches.first) {
		order *o = srv_line_pop(&u->fetches);
		pthread_mutex_unlock(&u->lock);
		fetch(c, o);
		pthread_mutex_lock(&u->lock);
	} else if (up && may_give(u, now) && next_given(u, &key)) {
		u->giving = true;
		pthread_mutex_unlock(&u->lock);
		give(c, &key);
		pthread_mutex_lock(&u->lock);
	} else if (!up && now >= u->retry_at && !u->probing) {
		/* The probe also puts: a store that fails only to put must stay FAILING. */
		bool gives = u->facts.state == SRV_UPSTREAM_FAILING && may_give(u, INT64_MAX) && next_given(u, &key);
		u->probing = true;
		u->giving = u->giving || gives;
		pthread_mutex_unlock(&u->lock);
		probe(c, gives ? &key : NULL);
		pthread_mutex_lock(&u->lock);
	} else {
		return false;
	}
	return true;
}

void *srv_carry(void *user)
{
	carrier *c = user;
	srv_upstream *u = c->upstream;
	SRV_LOCKED(&u->lock);
	while (!u->closing) {
		if (step(c)) {
			pthread_cond_broadcast(&u->work);
			uv_async_send(&u->wake);
			continue;
		}
		bool up = srv_carry_is_up(u);
		bool gives_later = up && u->outbox.keys.count > 0 && u->give_at > srv_clock_ms(CLOCK_MONOTONIC);
		sleep_until(u, !up && !u->probing ? u->retry_at : gives_later ? u->give_at : INT64_MAX);
	}
	return NULL;
}
