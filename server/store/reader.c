#include "reader.h"

#include "../../core/base/array.h"
#include "../fs/clock.h"
#include "store_internal.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>

enum { STEPS_BETWEEN_LOOKS = 10000, WAIT_MS = 500 };

static int look_at_clock(void *user)
{
	const srv_store *reader = user;
	return srv_clock_ms(CLOCK_MONOTONIC) >= reader->deadline_ms;
}

bool srv_reader_open(srv_store *store, srv_store **out, hob_error *err)
{
	assert(!store->writer && "a reader reads a store");
	srv_store *reader = srv_store_blank(NULL);
	(void)err;
	reader->dir = hob_must(strdup(store->dir));
	reader->writer = store;
	*out = reader;
	return true;
}

bool srv_store_db_open_to_read(srv_store *reader, hob_error *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/index.db", reader->dir);
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	if (sqlite3_open_v2(path, &reader->db, flags, NULL) != SQLITE_OK)
		return srv_store_fail_db(reader, err);
	sqlite3_busy_timeout(reader->db, WAIT_MS);
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return srv_store_run_sql(reader, "PRAGMA query_only = ON; PRAGMA cache_size = -2048", err);
}

bool srv_reader_begin(srv_store *reader, uint32_t limit_ms, hob_error *err)
{
	assert(reader->writer && !reader->reading && "begin and end in pairs");
	uint32_t generation = atomic_load(&reader->writer->generation);
	reader->deadline_ms = srv_clock_ms(CLOCK_MONOTONIC) + limit_ms;
	if (generation % 2 == 1)
		return hob_fail(err, CORRUPT, "the index of the cache was damaged and is being rebuilt");
	if (reader->db && reader->generation != generation)
		srv_store_db_close(reader);
	reader->generation = generation;
	if ((!reader->db && !srv_store_db_open_to_read(reader, err)) ||
		!srv_store_run_sql(reader, "BEGIN", err)) {
		srv_store_db_close(reader);
		return false;
	}
	sqlite3_progress_handler(reader->db, STEPS_BETWEEN_LOOKS, look_at_clock, reader);
	reader->reading = true;
	return true;
}

void srv_reader_end(srv_store *reader)
{
	assert(reader->reading && "begin and end in pairs");
	reader->reading = false;
	if (sqlite3_exec(reader->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		srv_store_db_close(reader);
}

void srv_reader_close(srv_store *reader)
{
	if (!reader)
		return;
	assert(!reader->reading && "end before close");
	srv_store_free(reader);
}
