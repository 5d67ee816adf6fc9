/* Rows that wait because the index cannot be written now. */
#include "../../core/base/array.h"
#include "../fs/clock.h"
#include "store_internal.h"

enum { BUSY_MS = 250, AGAIN_MS = 200, TELL_MS = 2000, ROWS_BYTES = 256 << 20 };

void srv_store_owe(srv_store *store)
{
	store->debt.kept = true;
	hob_arena_init(&store->debt.arena, ROWS_BYTES);
	hob_must(hob_arena_alloc(&store->debt.arena, 1, 1)); /* the arena keeps its first block */
	store->debt.empty = hob_arena_save(&store->debt.arena);
	sqlite3_busy_timeout(store->db, BUSY_MS);
}

bool srv_store_owes(srv_store *store, hob_error *why)
{
	const store_debt *debt = &store->debt;
	bool long_enough =
		atomic_load(&debt->waiting) > 0 && srv_clock_ms(CLOCK_MONOTONIC) - debt->since_ms >= TELL_MS;
	if (long_enough)
		(void)hob_fail(why, IO, "%s; %u rows wait in memory until it can be written", debt->why.context,
					   atomic_load(&debt->waiting));
	return long_enough;
}

bool srv_store_is_whole(const srv_store *store, hob_error *err)
{
	const srv_store *written = store->writer ? store->writer : store;
	return atomic_load(&written->debt.waiting) == 0 ||
		   hob_fail(err, IO, "index.db cannot be written now, and its newest rows wait; try again");
}

void srv_store_debt_clear(srv_store *store)
{
	store_debt *debt = &store->debt;
	if (!debt->kept)
		return;
	atomic_store(&debt->waiting, 0);
	if (store->db)
		sqlite3_busy_timeout(store->db, BUSY_MS);
	hob_arena_restore(&debt->arena, debt->empty);
	debt->first = debt->last = NULL;
	debt->count = 0;
}

bool srv_store_debt_note(srv_store *store, store_statement which, const sql_value *values)
{
	store_debt *debt = &store->debt;
	if (!debt->kept || store->rebuilding)
		return true;
	size_t count = 0;
	while (values[count].kind)
		count++;
	struct owed_row *row = HOB_NEW(&debt->arena, struct owed_row, 1);
	sql_value *copy = row ? HOB_NEW(&debt->arena, sql_value, count + 1) : NULL;
	bool ok = copy;
	for (size_t i = 0; ok && i < count; i++) {
		copy[i] = values[i];
		hob_str text =
			values[i].digest ? (hob_str){(const char *)values[i].digest, sizeof(hob_sha256)} : values[i].text;
		hob_str kept = hob_arena_str(&debt->arena, text);
		ok = kept.data;
		if (values[i].digest)
			copy[i].digest = (const hob_sha256 *)(const void *)kept.data;
		else
			copy[i].text = kept;
	}
	if (!ok)
		return false;
	*row = (struct owed_row){.which = which, .values = copy};
	*(debt->last ? &debt->last->next : &debt->first) = row;
	debt->last = row;
	debt->count++;
	if (atomic_load(&debt->waiting) > 0)
		atomic_store(&debt->waiting, debt->count);
	return true;
}

bool srv_store_debt_rests(const srv_store *store, hob_error *err)
{
	const store_debt *debt = &store->debt;
	if (atomic_load(&debt->waiting) == 0 || srv_clock_ms(CLOCK_MONOTONIC) >= debt->again_ms)
		return false;
	*err = debt->why;
	return true;
}

bool srv_store_debt_begin(srv_store *store, const hob_error *why)
{
	store_debt *debt = &store->debt;
	if (!debt->kept || store->rebuilding || !store->db || why->code == HOB_ERR_CORRUPT)
		return false;
	if (store->writing && !sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	store->writing = store->rows_lost = false;
	if (atomic_load(&debt->waiting) == 0) {
		debt->since_ms = srv_clock_ms(CLOCK_MONOTONIC);
		debt->told = false;
		sqlite3_busy_timeout(store->db, 0);
	}
	debt->why = *why;
	debt->again_ms = srv_clock_ms(CLOCK_MONOTONIC) + AGAIN_MS;
	atomic_store(&debt->waiting, debt->count > 0 ? debt->count : 1);
	return true;
}

bool srv_store_debt_is_quiet(srv_store *store, hob_error *err)
{
	hob_error why;
	if (store->debt.told || !srv_store_owes(store, &why))
		return true;
	store->debt.told = true;
	*err = why;
	return false;
}
