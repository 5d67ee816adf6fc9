#include "engine_exchange.h"
#include "engine_turn.h"

#include "../control/answer.h"
#include "../reuse/kept.h"
#include "../store/record.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

/* Exports and imports records of cooks by key, for other machines. */

enum { RECORD_ARENA = 64 << 20 };

void srv_engine_answer_record(srv_engine *engine, srv_control *control)
{
	hob_own_arena arena;
	hob_arena_init(&arena, RECORD_ARENA);
	srv_record record;
	hob_error error = {0};
	hob_own_buf body = {0};
	if (srv_store_record(engine->store, &control->digest, &arena, &record, &error)) {
		srv_record_print(&record, &body);
		control->answer(control, 200, hob_buf_str(&body));
	} else {
		srv_control_refuse(control, 0, &error);
	}
}

/* True for final cooks without an error whose outputs are all in the store. */
static bool is_for_others(srv_engine *engine, const srv_record *record)
{
	if (record->error.len > 0 || record->output_count == 0 ||
		hob_ingredients_profile(record->ingredients) == HOB_PROFILE_PREVIEW)
		return false;
	for (uint32_t i = 0; i < record->output_count; i++)
		if (!srv_blob_known(engine->store, &record->outputs[i].digest))
			return false;
	return true;
}

void srv_engine_answer_records(srv_engine *engine, srv_control *control)
{
	enum { EACH = 16, BODY = 16 << 20 };
	if (hob_str_find(control->tag, hob_str_of(srv_store_epoch(engine->store)), 0) != SIZE_MAX) {
		char text[1024];
		snprintf(text, sizeof text, "caches ask each other in a circle: %.*s, and %s, which is asked, again",
				 (int)(control->tag.len < 800 ? control->tag.len : 800), control->tag.data,
				 srv_store_epoch(engine->store));
		srv_control_answer(control, 508, "http.loop", text);
		return;
	}
	hob_arena arena;
	hob_buf body = {0};
	hob_own_buf unknown = {0};
	hob_arena_init(&arena, RECORD_ARENA);
	for (size_t at = 0; at + sizeof(hob_sha256) <= control->text.len && body.size < BODY;
		 at += sizeof(hob_sha256)) {
		hob_arena_mark mark = hob_arena_save(&arena);
		hob_sha256 lookup;
		srv_record *records;
		uint32_t count = 0, told = 0;
		hob_error ignored;
		memcpy(lookup.bytes, control->text.data + at, sizeof lookup.bytes);
		if (!srv_store_records(engine->store, &lookup, &arena, &records, &count, &ignored))
			count = 0;
		for (uint32_t i = 0; i < count && told < EACH; i++)
			if (is_for_others(engine, &records[i])) {
				srv_record_print(&records[i], &body);
				told++;
			}
		assert(told <= count && told <= EACH);
		if (told == 0)
			hob_buf_put(&unknown, lookup.bytes, sizeof lookup.bytes);
		hob_arena_restore(&arena, mark);
	}
	hob_arena_release(&arena);
	if (unknown.failed)
		unknown.size = 0;
	assert(unknown.size % sizeof(hob_sha256) == 0 && unknown.size <= control->text.len);
	srv_engine_pass_on(engine, control, (const hob_sha256 *)unknown.data,
					   (uint32_t)(unknown.size / sizeof(hob_sha256)), &body);
}

/* ---- taking one */

/* Checks that the key is the one that this daemon computes: a record under another would never be found, or
 * would answer the wrong cook. */
static bool check_key(const srv_record *record, const srv_control *control, hob_arena *arena, hob_error *err)
{
	hob_sha256 key;
	if (!srv_kept_key(arena, record, &key, err))
		return false;
	if (!hob_sha256_equal(&record->key, &control->digest))
		return hob_fail(err, BAD_REQUEST, "'key' is not the key of the path");
	return hob_sha256_equal(&key, &record->key) ||
		   hob_fail(err, BAD_REQUEST, "the key is not the one that lookup, file_name and deps give");
}

static bool read_record(const srv_control *control, hob_arena *arena, srv_record *out, hob_error *err)
{
	if (!srv_record_parse(control->text, arena, out, err) || !check_key(out, control, arena, err))
		return false;
	return (out->output_count > 0 && out->error.len == 0) ||
		   hob_fail(err, BAD_REQUEST, "only the record of a cook that went well is taken");
}

static int take(srv_engine *engine, srv_control *control, hob_arena *arena, hob_error *err)
{
	srv_record record, known;
	hob_error missing;
	if (!read_record(control, arena, &record, err))
		return 400;
	if (srv_store_record(engine->store, &record.key, arena, &known, &missing)) {
		if (srv_record_same(&record, &known))
			return 200;
		(void)hob_fail(
			err, NOT_FOUND,
			"another result is kept under this key; cooks are repeatable, so one of them is wrong");
		return 409;
	}
	for (uint32_t i = 0; i < record.output_count; i++) {
		uint64_t size = 0;
		int fd = srv_blob_open(engine->store, &record.outputs[i].digest, &size);
		if (fd >= 0)
			close(fd);
		if (fd < 0 || size != record.outputs[i].size) {
			(void)hob_fail(err, NOT_FOUND,
						   "the blob of output '%.*s' is not here or of another size: PUT it first",
						   HOB_FMT(record.outputs[i].name));
			return 409;
		}
	}
	if (!srv_store_put_record(engine->store, &record, err))
		return hob_err_http(err->code);
	engine->publish.rows = true;
	srv_engine_flush(engine);
	if (engine->exchange->upstream)
		srv_upstream_give(engine->exchange->upstream, &record.key, &record.lookup);
	return 201;
}

void srv_engine_take_record(srv_engine *engine, srv_control *control)
{
	hob_own_arena arena;
	hob_arena_init(&arena, RECORD_ARENA);
	hob_error error = {0};
	int status = take(engine, control, &arena, &error);
	if (status == 409)
		srv_control_answer(control, status, "http.conflict", error.context);
	else if (status >= 400)
		srv_control_refuse(control, status, &error);
	else
		control->answer(control, status, HOB_STR("{}"));
}
