#include "derive.h"

#include "../control/answer.h"
#include "../log/log.h"
#include "../query/version.h"
#include "derive_inside.h"

#include <assert.h>
#include <stdlib.h>

/* Few derivations run at a time; a request for one in progress gets the same answer.
 *
 *   asked --- in the store --------------------> 200 with its digest
 *     `--- WAITING --- RUNNING --- stored as a part --> 200 to all who asked meanwhile
 *             `-----------`-- all of them are gone ---> 503, and nothing is stored
 *
 * Clients take turns: the n-th item that a client waits for comes after the (n-1)-th of every other client,
 * and items that nobody waits for come last. */

enum { RUNNING_MAX = 2, COMPARING_MAX = 1, WAITING_MAX = 4096 };

typedef struct asker {
	srv_control *control;
	struct asker *next;
} asker;

void srv_derive_answer(srv_control *control, const hob_sha256 *blob)
{
	control->answer(control, 200, hob_str_of(hob_sha256_hex(blob).text));
}

static void answer_all(derivation *d, const hob_error *error)
{
	while (d->askers) {
		hob_own asker *first = d->askers;
		d->askers = first->next;
		if (*d->derive->host.closing)
			srv_control_answer(first->control, 503, "http.draining", "Hob is stopping");
		else if (error->code == HOB_ERR_CANCELLED)
			srv_control_answer(first->control, 503, "http.unavailable", error->context);
		else if (error->code != HOB_ERR_OK)
			srv_control_refuse(first->control, 0, error);
		else
			srv_derive_answer(first->control, &d->blob);
	}
}

/* Frees what a derivation owns. */
static void release(const derivation *d)
{
	free(d->pair);
	free(d->clip);
	free(d->stats[0]);
	free(d->stats[1]);
}

static void free_one(derivation *d)
{
	release(d);
	free(d);
}

static void remove_one(srv_derive *derive, derivation *d)
{
	derivation **at = &derive->derivations;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	derive->derivation_count--;
}

static void start_some(srv_derive *derive);

/* Whether all clients that waited have left. A request that no client waits for never counts as left. */
static bool is_abandoned(const derivation *d)
{
	for (const asker *one = d->askers; one; one = one->next)
		if (!atomic_load(&one->control->abandoned))
			return false;
	return true;
}

static void tell(const derivation *d, const char *what)
{
	srv_log(SRV_LOG_DEBUG, "derived", "%s of %.16s: %s", srv_derived_name(d->kind),
			hob_sha256_hex(&d->of).text, what);
}

static void derive_done(uv_work_t *work, int status)
{
	(void)status;
	derivation *d = work->data;
	srv_derive *derive = d->derive;
	hob_error error = d->error;
	if (error.code == HOB_ERR_CANCELLED && !*derive->host.closing && !is_abandoned(d)) {
		/* A client asked for it after it was cancelled: starts it again. */
		d->running = false;
		atomic_store(&d->unwanted, false);
		start_some(derive);
		derive->host.over(derive->host.user);
		return;
	}
	atomic_ullong *counts = derive->counts.derived[d->kind];
	bool made = error.code == HOB_ERR_OK && !*derive->host.closing;
	int result = made ? srv_derived_useless(&d->blob) ? SRV_DERIVE_USELESS : SRV_DERIVE_MADE
				 : error.code == HOB_ERR_CANCELLED ? SRV_DERIVE_CANCELLED
												   : SRV_DERIVE_FAILED;
	/* Counted before the first client gets the answer. */
	atomic_fetch_add(&counts[result], 1);
	if (made && !srv_store_put_part(derive->host.store, &d->key, &d->blob, &error)) {
		atomic_fetch_sub(&counts[result], 1);
		atomic_fetch_add(&counts[result = SRV_DERIVE_FAILED], 1);
	}
	if (made)
		derive->host.publish->rows = true;
	if (!*derive->host.closing)
		tell(d, result >= SRV_DERIVE_FAILED ? error.context : "made");
	remove_one(derive, d);
	answer_all(d, &error);
	free_one(d);
	start_some(derive);
	derive->host.over(derive->host.user);
}

static void drop(derivation *d)
{
	srv_derive *derive = d->derive;
	if (!*derive->host.closing) {
		(void)hob_fail(&d->error, CANCELLED, "no client is waiting for it");
		atomic_fetch_add(&derive->counts.derived[d->kind][SRV_DERIVE_CANCELLED], 1);
		tell(d, d->error.context);
	}
	remove_one(derive, d);
	answer_all(d, &d->error);
	free_one(d);
}

static void drop_abandoned(srv_derive *derive)
{
	for (derivation *d = derive->derivations, *next; d; d = next) {
		next = d->next;
		if (!is_abandoned(d))
			continue;
		if (d->running)
			atomic_store(&d->unwanted, true);
		else
			drop(d);
	}
}

/* The waiting item with the lowest turn; of equal turns the oldest. `full`: only comparisons, which are
 * quick. */
static derivation *next_waiting(srv_derive *derive, bool full)
{
	derivation *best = NULL;
	for (derivation *d = derive->derivations; d; d = d->next) {
		if (d->running || (full && d->kind != SRV_DERIVED_COMPARE))
			continue;
		bool sooner = best && (best->client > 0) == (d->client > 0) ? d->turn < best->turn : d->client > 0;
		if (!best || sooner)
			best = d;
	}
	return best;
}

static void start_some(srv_derive *derive)
{
	uint32_t running = 0;
	for (derivation *d = derive->derivations, *next; d; d = next) {
		next = d->next;
		if (!d->running && *derive->host.closing)
			drop(d);
		else
			running += d->running;
	}
	for (derivation *d;
		 running < RUNNING_MAX + COMPARING_MAX && (d = next_waiting(derive, running >= RUNNING_MAX));
		 running++) {
		d->running = true;
		d->work.data = d;
		derive->turn = d->client > 0 ? d->turn : derive->turn;
		derive->host.work(derive->host.user, &d->work, srv_derive_run, derive_done);
	}
}

static void take_turn(srv_derive *derive, derivation *d, uint64_t client)
{
	if (d->client > 0 || client == 0)
		return;
	d->turn = derive->turn;
	for (const derivation *other = derive->derivations; other; other = other->next)
		if (other->client == client && other->turn >= d->turn)
			d->turn = other->turn + 1;
	d->client = client;
}

/* Returns the derivation with this key, or a new one; takes ownership of the contents of `wanted`. */
static derivation *find_or_add(srv_derive *derive, const derivation *wanted)
{
	derivation **at = &derive->derivations;
	while (*at && !hob_sha256_equal(&(*at)->key, &wanted->key))
		at = &(*at)->next;
	if (!*at && derive->derivation_count < WAITING_MAX) {
		*at = hob_must(malloc(sizeof **at));
		**at = *wanted;
		derive->derivation_count++;
		return *at;
	}
	release(wanted);
	return *at;
}

/* Sets the GLB's outputs. False if the asset does not exist or has no model; the request is answered then. */
static bool find_outputs(srv_derive *derive, srv_control *control, derivation *wanted)
{
	srv_derive_asset a;
	if (!srv_derive_find(derive, control, true, &a))
		return false;
	hob_arena arena;
	hob_error error = {0};
	srv_record record;
	hob_arena_init(&arena, 16 << 20);
	bool has = a.good && srv_store_record(derive->host.store, a.good, &arena, &record, &error) &&
			   srv_record_model(&record, wanted->outputs[0]);
	hob_arena_release(&arena);
	wanted->of = srv_derived_set(wanted->outputs[0]);
	if (!has && error.code == HOB_ERR_IO)
		srv_control_refuse(control, 0, &error);
	else if (!has)
		srv_control_answer(control, 404, "http.not-found",
						   "this asset has no cooked outputs to make a GLB from");
	return has;
}

/* Sets the outputs of one of two cooks. Returns 0, or the HTTP status of the error. */
static int find_version(srv_derive *derive, const srv_derive_asset *a, hob_str which, derivation *wanted,
						int side, hob_error *err)
{
	hob_own_arena arena;
	srv_record record;
	srv_version_of of = {derive->host.store, derive->host.rev(derive->host.user), hob_str_of(a->full),
						 a->served};
	hob_arena_init(&arena, 64 << 20);
	int refused = srv_version_find(&of, which, &arena, &record, err);
	if (refused == 0 && !srv_record_model(&record, wanted->outputs[side])) {
		refused = 404;
		(void)hob_fail(err, NOT_FOUND, "one of these cooks of '%s' made no model", a->full);
	}
	if (refused == 0 && wanted->pair)
		srv_derive_picture_of(&record, wanted->outputs[side], wanted->level & 0xFFFF, &wanted->pair[side]);
	else if (refused == 0 && record.stats.len > 0)
		wanted->stats[side] = hob_must(strndup(record.stats.data, record.stats.len));
	return refused;
}

/* Sets the outputs of both cooks to compare. False: it has answered. */
static bool find_versions(srv_derive *derive, srv_control *control, derivation *wanted)
{
	srv_derive_asset a;
	hob_error error;
	if (!srv_derive_find(derive, control, false, &a))
		return false;
	if (wanted->kind == SRV_DERIVED_PICTURE)
		wanted->pair = hob_must(calloc(2, sizeof *wanted->pair));
	bool posed = control->file.len > 0;
	int refused = 0;
	if (posed)
		wanted->clip = hob_must(strndup(control->file.data, control->file.len));
	for (int side = 0; side < 2 && refused == 0; side++)
		refused = find_version(derive, &a, side == 0 ? control->text : control->tag, wanted, side, &error);
	const hob_str texts[2] = {posed ? control->file : hob_str_of(wanted->stats[0]),
							  hob_str_of(wanted->stats[1])};
	wanted->of = srv_derived_pair(wanted->outputs[0], wanted->outputs[1], texts);
	if (refused == 0)
		return true;
	release(wanted);
	srv_control_answer(control, refused,
					   refused == 410	? "http.gone"
					   : refused == 400 ? "http.bad-request"
					   : refused == 503 ? "http.unavailable"
										: "http.not-found",
					   error.context);
	return false;
}

static void ask(srv_derive *derive, srv_control *control)
{
	derivation wanted = {.derive = derive,
						 .kind = (srv_derived)control->number,
						 .level = (uint32_t)control->number2,
						 .of = control->digest};
	if (wanted.kind == SRV_DERIVED_GLB && !find_outputs(derive, control, &wanted))
		return;
	if ((wanted.kind == SRV_DERIVED_COMPARE || wanted.kind == SRV_DERIVED_PICTURE) &&
		!find_versions(derive, control, &wanted))
		return;
	wanted.key = srv_derived_key(wanted.kind, wanted.level, &wanted.of);
	if (srv_store_part(derive->host.store, &wanted.key, &wanted.blob)) {
		srv_derive_answer(control, &wanted.blob);
		release(&wanted);
		return;
	}
	if (atomic_load(&control->abandoned)) {
		srv_control_answer(control, 503, "http.unavailable", "no client is waiting for it");
		release(&wanted);
		return;
	}
	derivation *d = find_or_add(derive, &wanted);
	if (!d) {
		srv_control_answer(control, 503, "http.unavailable", "too much is being encoded or cut; try again");
		return;
	}
	asker *one = hob_must(malloc(sizeof *one));
	*one = (asker){control, d->askers};
	d->askers = one;
	atomic_store(&d->unwanted, false);
	take_turn(derive, d, control->client);
	tell(d, control->client > 0 ? "waited for" : "ordered");
	start_some(derive);
}

/* ---- requests */

bool srv_derive_find(srv_derive *derive, srv_control *control, bool wanted, srv_derive_asset *out)
{
	if (derive->host.find(derive->host.user, control->asset, wanted, out))
		return true;
	srv_control_answer(control, 404, "http.not-found", "no such asset");
	return false;
}

bool srv_derive_take(srv_derive *derive, srv_control *control)
{
	switch (control->kind) {
	case SRV_CONTROL_CLASSIC:
		srv_derive_classic(derive, control);
		return true;
	case SRV_CONTROL_BUNDLE:
		srv_derive_bundle(derive, control);
		return true;
	case SRV_CONTROL_THUMBNAIL:
		srv_derive_thumbnail(derive, control);
		return true;
	case SRV_CONTROL_DERIVE:
		ask(derive, control);
		return true;
	case SRV_CONTROL_ABANDONED:
		control->answer(control, 204, (hob_str){0});
		drop_abandoned(derive);
		return true;
	default:
		return false;
	}
}

srv_derive *srv_derive_new(const srv_derive_host *host)
{
	srv_derive *derive = hob_must(calloc(1, sizeof *derive));
	derive->host = *host;
	derive->thumbnails = srv_derive_thumbnails_new();
	return derive;
}

void srv_derive_free(srv_derive *derive)
{
	if (!derive)
		return;
	assert(!derive->derivations);
	free(derive->thumbnails);
	free(derive);
}

const srv_derive_counts *srv_derive_count(const srv_derive *derive)
{
	return &derive->counts;
}
