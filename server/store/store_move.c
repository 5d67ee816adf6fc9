#include "store_internal.h"

static srv_move_row row_of(sqlite3_stmt *rows)
{
	return (srv_move_row){.number = srv_store_column_u64(rows, 0),
						  .rev = srv_store_column_u64(rows, 1),
						  .id = srv_store_column_str(rows, 2),
						  .earlier = srv_store_column_str(rows, 3),
						  .name = srv_store_column_str(rows, 4)};
}

bool srv_store_put_move(srv_store *store, const srv_move_row *row, hob_error *err)
{
	if (!srv_store_put_row(store, SQL_PUT_MOVE, err, BIND(row->number), BIND(row->rev), BIND(row->id),
						   BIND(row->earlier), BIND(row->name)))
		return false;
	return srv_store_put_row(store, SQL_RENAME_JOBS, err, BIND(row->earlier), BIND(row->name));
}

bool srv_store_each_move(srv_store *store, void (*each)(void *user, const srv_move_row *row), void *user,
						 hob_error *err)
{
	sqlite3_stmt *rows = srv_store_read(store, SQL_EACH_MOVE, err);
	bool ok = true;
	while (srv_store_step(store, rows, &ok, err)) {
		srv_move_row row = row_of(rows);
		each(user, &row);
	}
	return ok;
}

static bool find_earlier(srv_store *store, hob_str *full, uint64_t rev, uint64_t *before, hob_arena *arena)
{
	hob_error error;
	sqlite3_stmt *rows = srv_store_select(store, SQL_MOVE_TO, &error, BIND(*full), BIND(rev), BIND(*before));
	bool ok = true, found = false;
	while (srv_store_step(store, rows, &ok, &error)) {
		srv_move_row row = row_of(rows);
		*before = row.number;
		*full = hob_arena_str(arena, row.earlier);
		found = true;
	}
	return ok && found;
}

hob_str srv_store_name_at(srv_store *store, hob_str full, uint64_t rev, hob_arena *arena)
{
	uint64_t before = INT64_MAX;
	while (full.data && find_earlier(store, &full, rev, &before, arena))
		;
	return full;
}
