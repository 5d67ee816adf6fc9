#include "engine_derive.h"

#include "../../core/compare/compare.h"
#include "../../core/formats/pack_cut.h"
#include "../../core/formats/pack_validate.h"
#include "../control/answer.h"
#include "../log/log.h"
#include "../query/version.h"
#include "../thumbnail/thumbnail.h"
#include "engine_changeset.h"
#include "engine_publish.h"
#include "engine_requests.h"
#include "encode.h"
#include "glb_make.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Outputs derived from blobs on request, in libuv's pool, a few at a time; a request for one in progress gets the
 * same answer.
 *
 *   asked --- in the store --------------------> 200 with its digest
 *     `--- WAITING --- RUNNING --- stored as a part --> 200 to everybody who asked meanwhile
 *             `-----------`-- everybody has gone ----> 503, and nothing is stored
 *
 * Clients take turns: the n-th thing that a client waits for comes after the (n-1)-th of every other one, and what nobody waits
 * for after all of them. */

enum { RUNNING_MAX = 2, WAITING_MAX = 4096, GLB_PARTS = 4 };
static const char *const glb_parts[GLB_PARTS] = {"meshes", "materials", "scene", "animations"};

typedef struct asker {
	srv_control *control;
	struct asker *next;
} asker;

struct derivation {
	srv_engine *engine;
	uv_work_t work;
	bool running;
	atomic_bool unwanted;
	uint64_t client, turn; /* client 0: no client waits */
	srv_derived kind;
	uint32_t level;
	hob_sha256 key, of, blob;
	hob_sha256 outputs[2][GLB_PARTS]; /* of a GLB; of two cooks */
	srv_thumbnail_input *pair;		  /* of a picture; owned */
	char *clip;						  /* of a picture: in whose pose; owned; NULL: at rest */
	hob_error error;
	asker *askers;
	derivation *next;
};

/* ---- in the pool */

static bool cut(derivation *d, hob_bytes from, hob_buf *out)
{
	hob_pack pack;
	if (!hob_pack_open(from, &pack, &d->error))
		return false;
	/* hob_pack_cut refuses a level that does not exist before it reads the rest. */
	bool sound = d->level >= hob_pack_level_count(&pack) || hob_pack_validate(from, &d->error);
	return sound && hob_pack_cut(from, d->level, NULL, out, &d->error) &&
		   hob_pack_validate(hob_buf_bytes(out), &d->error);
}

typedef struct stored_pictures {
	derivation *of;
	hob_bytes mapped;
} stored_pictures;

uint64_t srv_engine_derived_limit(const srv_engine *engine)
{
	return engine->options.derived_limit > 0 ? engine->options.derived_limit : UINT64_MAX;
}

static uint64_t most_bytes(const derivation *d)
{
	return srv_engine_derived_limit(d->engine);
}

static void unmap(hob_bytes *mapped)
{
	if (mapped->data)
		munmap((void *)(uintptr_t)mapped->data, mapped->size);
	*mapped = (hob_bytes){0};
}

static bool find_picture(void *user, const uint8_t sha256[32], hob_bytes *out, hob_error *err)
{
	stored_pictures *pictures = user;
	hob_sha256 digest;
	memcpy(digest.bytes, sha256, sizeof digest.bytes);
	unmap(&pictures->mapped);
	if (atomic_load(&pictures->of->unwanted))
		return hob_fail(err, CANCELLED, "no client is waiting for it");
	pictures->mapped =
		srv_engine_read_blob(pictures->of->engine->store, &digest, most_bytes(pictures->of), err);
	*out = pictures->mapped;
	return out->data != NULL;
}

static bool make_glb(derivation *d, hob_buf *out)
{
	hob_bytes parts[GLB_PARTS] = {{0}};
	stored_pictures pictures = {.of = d};
	uint64_t bytes = 0;
	bool ok = true;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_notes notes = {.arena = &arena};
	for (int i = 0; i < GLB_PARTS && ok; i++) {
		if (hob_sha256_equal(&d->outputs[0][i], &(hob_sha256){{0}}))
			continue;
		parts[i] =
			srv_engine_read_blob(d->engine->store, &d->outputs[0][i], most_bytes(d) - bytes, &d->error);
		bytes += parts[i].size;
		ok = parts[i].data != NULL;
	}
	srv_glb_source source = {{parts[0], parts[1], parts[2], parts[3]}, &pictures, find_picture};
	ok = ok && srv_glb_make(&source, &notes, out, &d->error);
	for (int i = 0; i < GLB_PARTS; i++)
		unmap(&parts[i]);
	unmap(&pictures.mapped);
	hob_arena_release(&arena);
	return ok;
}

static bool make_comparison(derivation *d, hob_buf *out)
{
	hob_bytes parts[2][GLB_PARTS] = {{{0}}};
	uint64_t bytes = 0;
	bool ok = true;
	for (int i = 0; i < 2 * GLB_PARTS && ok; i++) {
		const hob_sha256 *digest = &d->outputs[i / GLB_PARTS][i % GLB_PARTS];
		hob_bytes *part = &parts[i / GLB_PARTS][i % GLB_PARTS];
		if (hob_sha256_equal(digest, &(hob_sha256){{0}}))
			continue;
		*part = srv_engine_read_blob(d->engine->store, digest, most_bytes(d) - bytes, &d->error);
		bytes += part->size;
		ok = part->data != NULL;
	}
	const hob_compare_side before = {parts[0][0], parts[0][1], parts[0][2], parts[0][3]};
	const hob_compare_side after = {parts[1][0], parts[1][1], parts[1][2], parts[1][3]};
	ok = ok && hob_compare(&before, &after, out, &d->error);
	for (int i = 0; i < 2 * GLB_PARTS; i++)
		unmap(&parts[i / GLB_PARTS][i % GLB_PARTS]);
	return ok;
}

static bool make_picture(derivation *d, hob_buf *out)
{
	char program[4096];
	if (!srv_thumbnail_find(program))
		return hob_fail(&d->error, NOT_FOUND, "hob-thumbnail, which draws pictures, is not installed here");
	return srv_thumbnail_draw_pair(program, d->engine->options.sandbox, d->engine->store, d->pair,
								   srv_thumbnail_view_at(d->level >> 16), d->clip ? d->clip : "",
								   &d->engine->closing, out, &d->error);
}

static bool is_of_one_blob(srv_derived kind)
{
	return kind == SRV_DERIVED_ZSTD || kind == SRV_DERIVED_GZIP || kind == SRV_DERIVED_LOD;
}

static void make(derivation *d, hob_bytes from, hob_buf *out)
{
	bool ok = d->kind == SRV_DERIVED_ZSTD	   ? srv_encode_zstd(from, out, &d->error)
			  : d->kind == SRV_DERIVED_GZIP	   ? srv_encode_gzip(from, out, &d->error)
			  : d->kind == SRV_DERIVED_LOD	   ? cut(d, from, out)
			  : d->kind == SRV_DERIVED_GLB	   ? make_glb(d, out)
			  : d->kind == SRV_DERIVED_COMPARE ? make_comparison(d, out)
											   : make_picture(d, out);
	if (ok && atomic_load(&d->unwanted))
		ok = hob_fail(&d->error, CANCELLED, "no client is waiting for it");
	if (ok && srv_blob_put(d->engine->store, hob_buf_bytes(out), &d->blob, &d->error))
		d->error.code = HOB_ERR_OK;
}

static void derive_run(uv_work_t *work)
{
	derivation *d = work->data;
	hob_buf out = {0};
	hob_bytes from = {0};
	if (is_of_one_blob(d->kind))
		from = srv_engine_read_blob(d->engine->store, &d->of, most_bytes(d), &d->error);
	if (!is_of_one_blob(d->kind) || from.data)
		make(d, from, &out);
	unmap(&from);
	hob_buf_release(&out);
}

/* ---- on the loop */

static void answer_made(srv_control *control, const hob_sha256 *blob)
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(blob, text);
	control->answer(control, 200, hob_str_of(text));
}

static void answer_all(derivation *d, const hob_error *error)
{
	while (d->askers) {
		asker *first = d->askers;
		d->askers = first->next;
		if (d->engine->closing)
			srv_control_answer(first->control, 503, "http.draining", "Hob is stopping");
		else if (error->code == HOB_ERR_CANCELLED)
			srv_control_answer(first->control, 503, "http.unavailable", error->context);
		else if (error->code != HOB_ERR_OK)
			srv_control_refuse(first->control, 0, error);
		else
			answer_made(first->control, &d->blob);
		free(first);
	}
}

/* What a derivation owns. */
static void release(const derivation *d)
{
	free(d->pair);
	free(d->clip);
}

static void free_one(derivation *d)
{
	release(d);
	free(d);
}

static void remove_one(srv_engine *engine, derivation *d)
{
	derivation **at = &engine->derive->derivations;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	engine->derive->derivation_count--;
}

static void start_some(srv_engine *engine);

/* True if all clients that waited have left. A job without a client is wanted by later requests. */
static bool is_abandoned(const derivation *d)
{
	for (const asker *one = d->askers; one; one = one->next)
		if (!atomic_load(&one->control->abandoned))
			return false;
	return true;
}

static void tell(const derivation *d, const char *what)
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(&d->of, text);
	srv_log(SRV_LOG_DEBUG, "derived", "%s of %.16s: %s", srv_derived_name(d->kind), text, what);
}

static void derive_done(uv_work_t *work, int status)
{
	(void)status;
	derivation *d = work->data;
	srv_engine *engine = d->engine;
	hob_error error = d->error;
	if (error.code == HOB_ERR_CANCELLED && !engine->closing && !is_abandoned(d)) {
		/* A client asked for it while it was being cancelled. */
		d->running = false;
		atomic_store(&d->unwanted, false);
		start_some(engine);
		srv_engine_work_over(engine);
		return;
	}
	atomic_ullong *counts = engine->counters.derived[d->kind];
	bool made = error.code == HOB_ERR_OK && !engine->closing;
	int result = made ? srv_derived_useless(&d->blob) ? SRV_DERIVE_USELESS : SRV_DERIVE_MADE
				 : error.code == HOB_ERR_CANCELLED ? SRV_DERIVE_CANCELLED
												   : SRV_DERIVE_FAILED;
	/* Counted before the first client gets it. */
	atomic_fetch_add(&counts[result], 1);
	if (made && !srv_store_put_part(engine->store, &d->key, &d->blob, &error)) {
		atomic_fetch_sub(&counts[result], 1);
		atomic_fetch_add(&counts[result = SRV_DERIVE_FAILED], 1);
	}
	engine->publish.rows = engine->publish.rows || made;
	if (!engine->closing)
		tell(d, result >= SRV_DERIVE_FAILED ? error.context : "made");
	remove_one(engine, d);
	answer_all(d, &error);
	free_one(d);
	start_some(engine);
	srv_engine_work_over(engine);
}

static void drop(derivation *d)
{
	srv_engine *engine = d->engine;
	if (!engine->closing) {
		(void)hob_fail(&d->error, CANCELLED, "no client is waiting for it");
		atomic_fetch_add(&engine->counters.derived[d->kind][SRV_DERIVE_CANCELLED], 1);
		tell(d, d->error.context);
	}
	remove_one(engine, d);
	answer_all(d, &d->error);
	free_one(d);
}

void srv_engine_derive_less(srv_engine *engine)
{
	for (derivation *d = engine->derive->derivations, *next; d; d = next) {
		next = d->next;
		if (!is_abandoned(d))
			continue;
		if (d->running)
			atomic_store(&d->unwanted, true);
		else
			drop(d);
	}
}

/* The waiting item with the lowest turn; of equal turns the oldest. */
static derivation *next_waiting(srv_engine *engine)
{
	derivation *best = NULL;
	for (derivation *d = engine->derive->derivations; d; d = d->next) {
		if (d->running)
			continue;
		bool sooner = best && (best->client > 0) == (d->client > 0) ? d->turn < best->turn : d->client > 0;
		if (!best || sooner)
			best = d;
	}
	return best;
}

static void start_some(srv_engine *engine)
{
	uint32_t running = 0;
	for (derivation *d = engine->derive->derivations, *next; d; d = next) {
		next = d->next;
		if (!d->running && engine->closing)
			drop(d);
		else
			running += d->running;
	}
	for (derivation *d; running < RUNNING_MAX && (d = next_waiting(engine)); running++) {
		d->running = true;
		d->work.data = d;
		engine->derive->derive_turn = d->client > 0 ? d->turn : engine->derive->derive_turn;
		srv_engine_work(engine, &d->work, derive_run, derive_done);
	}
}

static void take_turn(srv_engine *engine, derivation *d, uint64_t client)
{
	if (d->client > 0 || client == 0)
		return;
	d->turn = engine->derive->derive_turn;
	for (const derivation *other = engine->derive->derivations; other; other = other->next)
		if (other->client == client && other->turn >= d->turn)
			d->turn = other->turn + 1;
	d->client = client;
}

/* Takes ownership of what `wanted` holds. */
static derivation *find_or_add(srv_engine *engine, const derivation *wanted)
{
	derivation **at = &engine->derive->derivations;
	while (*at && !hob_sha256_equal(&(*at)->key, &wanted->key))
		at = &(*at)->next;
	if (!*at && engine->derive->derivation_count < WAITING_MAX) {
		*at = malloc(sizeof **at);
		if (*at) {
			**at = *wanted;
			engine->derive->derivation_count++;
			return *at;
		}
	}
	release(wanted);
	return *at;
}

/* Finds the parts of a model among the outputs. False if a required part is missing. */
static bool take_parts(const srv_recipe *recipe, hob_sha256 out[GLB_PARTS])
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < recipe->output_count; i++)
		for (uint32_t p = 0; p < GLB_PARTS; p++)
			if (hob_str_equal(recipe->outputs[i].name, hob_str_of(glb_parts[p]))) {
				out[p] = recipe->outputs[i].digest;
				found |= 1u << p;
			}
	return (found & 7) == 7;
}

/* False if the asset does not exist or has no model; the request is then already answered. */
static bool find_outputs(srv_engine *engine, srv_control *control, derivation *wanted)
{
	asset *a = srv_engine_asked_asset(engine, control);
	if (!a)
		return false;
	srv_engine_leave(engine, a->id);
	hob_arena arena;
	hob_error error;
	srv_recipe recipe;
	hob_arena_init(&arena, 16 << 20);
	bool has = a->life.has_good && srv_store_recipe(engine->store, &a->shown.good, &arena, &recipe, &error) &&
			   take_parts(&recipe, wanted->outputs[0]);
	hob_arena_release(&arena);
	wanted->of = srv_derived_set(wanted->outputs[0]);
	if (!has)
		srv_control_answer(control, 404, "http.not-found",
						   "this asset has no cooked outputs to make a GLB from");
	return has;
}

/* The inputs of a picture of one cook. */
static void take_picture_input(const srv_recipe *recipe, const hob_sha256 parts[GLB_PARTS], uint32_t size,
							   srv_thumbnail_input *out)
{
	*out = (srv_thumbnail_input){
		.meshes = parts[0], .materials = parts[1], .scene = parts[2], .animations = parts[3], .size = size};
	out->has_animations = !hob_sha256_equal(&parts[3], &(hob_sha256){{0}});
	for (uint32_t i = 0; i < recipe->output_count; i++)
		if (hob_str_starts(recipe->outputs[i].name, HOB_STR("textures/")) &&
			out->texture_count < SRV_THUMBNAIL_TEXTURES)
			out->textures[out->texture_count++] = recipe->outputs[i].digest;
}

/* The same for one of two cooks. Returns 0, or the HTTP status of the error. */
static int find_version(srv_engine *engine, const asset *a, hob_str which, derivation *wanted, int side,
						hob_error *err)
{
	hob_arena arena;
	srv_recipe recipe;
	srv_version_of of = {engine->store, engine->publishing->rev, hob_str_of(a->full),
						 a->shown.any ? &a->shown.served : NULL};
	hob_arena_init(&arena, 64 << 20);
	int refused = srv_version_find(&of, which, &arena, &recipe, err);
	if (refused == 0 && !take_parts(&recipe, wanted->outputs[side])) {
		refused = 404;
		(void)hob_fail(err, NOT_FOUND, "one of these cooks of '%s' made no model", a->full);
	}
	if (refused == 0 && wanted->pair)
		take_picture_input(&recipe, wanted->outputs[side], wanted->level & 0xFFFF, &wanted->pair[side]);
	hob_arena_release(&arena);
	return refused;
}

/* The same for two cooks. */
static bool find_versions(srv_engine *engine, srv_control *control, derivation *wanted)
{
	const asset *a = srv_engine_asked_asset(engine, control);
	hob_error error;
	if (!a)
		return false;
	if (wanted->kind == SRV_DERIVED_PICTURE)
		wanted->pair = calloc(2, sizeof *wanted->pair);
	bool posed = control->file.len > 0;
	if (posed)
		wanted->clip = strndup(control->file.data, control->file.len);
	int refused =
		wanted->kind == SRV_DERIVED_PICTURE && (!wanted->pair || (posed && !wanted->clip)) ? 503 : 0;
	if (refused > 0)
		(void)hob_fail(&error, MEMORY, "no memory left for a picture");
	for (int side = 0; side < 2 && refused == 0; side++)
		refused = find_version(engine, a, side == 0 ? control->text : control->tag, wanted, side, &error);
	const hob_sha256 sets[4] = {
		srv_derived_set(wanted->outputs[0]), srv_derived_set(wanted->outputs[1]),
		posed ? hob_sha256_of((hob_bytes){(const uint8_t *)control->file.data, control->file.len})
			  : (hob_sha256){{0}}};
	wanted->of = srv_derived_set(sets);
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

void srv_engine_derive(srv_engine *engine, srv_control *control)
{
	derivation wanted = {.engine = engine,
						 .kind = (srv_derived)control->number,
						 .level = (uint32_t)control->number2,
						 .of = control->digest};
	if (wanted.kind == SRV_DERIVED_GLB && !find_outputs(engine, control, &wanted))
		return;
	if ((wanted.kind == SRV_DERIVED_COMPARE || wanted.kind == SRV_DERIVED_PICTURE) &&
		!find_versions(engine, control, &wanted))
		return;
	wanted.key = srv_derived_key(wanted.kind, wanted.level, &wanted.of);
	if (srv_store_part(engine->store, &wanted.key, &wanted.blob)) {
		answer_made(control, &wanted.blob);
		release(&wanted);
		return;
	}
	if (atomic_load(&control->abandoned)) {
		srv_control_answer(control, 503, "http.unavailable", "no client is waiting for it");
		release(&wanted);
		return;
	}
	asker *one = malloc(sizeof *one);
	derivation *d = one ? find_or_add(engine, &wanted) : NULL;
	if (!d) {
		if (!one)
			release(&wanted);
		free(one);
		srv_control_answer(control, 503, "http.unavailable", "too much is being encoded or cut; try again");
		return;
	}
	*one = (asker){control, d->askers};
	d->askers = one;
	atomic_store(&d->unwanted, false);
	take_turn(engine, d, control->client);
	tell(d, control->client > 0 ? "waited for" : "ordered");
	start_some(engine);
}

struct engine_derive *srv_engine_derive_new(void)
{
	struct engine_derive *derive = calloc(1, sizeof *derive);
	if (derive)
		derive->thumbnails = srv_engine_thumbnails_new();
	return derive;
}

void srv_engine_derive_free(struct engine_derive *derive)
{
	if (derive)
		free(derive->thumbnails);
	free(derive);
}
