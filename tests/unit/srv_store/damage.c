/* Kills, power cuts, damaged and foreign files, full disks, second daemons. */
#include "server/store/store_internal.h"
#include "store_support.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ITEMS = 40 };

static hob_sha256 key_of(uint32_t number)
{
	hob_sha256 key = {{0}};
	hob_store_u32(key.bytes, number);
	key.bytes[31] = 0xA5;
	return key;
}

static size_t text_of(uint32_t number, char *out)
{
	size_t size = 100 + number * 37 % 5000;
	make_noise(number, out, size);
	return size;
}

static bool put_item(srv_store *store, uint32_t number, hob_error *err)
{
	static char text[8192];
	size_t size = text_of(number, text);
	srv_record_output output = {HOB_STR("meshes"), {{0}}, size};
	srv_record_dep dep = {HOB_STR("a.bin"), false, key_of(number + 1)};
	srv_record record = {.key = key_of(number),
						 .lookup = key_of(number),
						 .ingredients = HOB_STR("{}"),
						 .dep_count = 1,
						 .deps = &dep,
						 .output_count = 1,
						 .outputs = &output};
	srv_asset_row asset = {.root = HOB_STR("art"), .state = HOB_STR("fresh"), .rev = number};
	char path[32];
	asset.path = (hob_str){path, (size_t)snprintf(path, sizeof path, "f%u.glb", number)};
	asset.good = asset.last = record.key;
	hob_sha256 part = key_of(number + 1000000);
	return srv_blob_put(store, (hob_bytes){(uint8_t *)text, size}, &output.digest, err) &&
		   srv_store_put_record(store, &record, err) &&
		   srv_store_put_part(store, &part, &output.digest, err) && srv_store_put_asset(store, &asset, err);
}

static void put_items(srv_store *store)
{
	hob_error err;
	for (uint32_t i = 0; i < ITEMS; i++)
		assert_ok(put_item(store, i, &err), &err);
	assert_ok(srv_store_commit(store, &err), &err);
}

/* 1: the item exists and is correct, 0: it is missing. Wrong bytes fail the test. */
static int check_item(srv_store *store, uint32_t number)
{
	hob_arena arena;
	hob_error err;
	srv_record record;
	hob_sha256 key = key_of(number);
	static char text[8192], found[8192];
	int there = 0;
	hob_arena_init(&arena, 1 << 20);
	if (srv_store_record(store, &key, &arena, &record, &err)) {
		uint64_t size = 0;
		size_t want = text_of(number, text);
		assert_int_equal(record.output_count, 1);
		assert_int_equal(record.dep_count, 1);
		int fd = srv_blob_open(store, &record.outputs[0].digest, &size);
		if (fd >= 0) {
			assert_int_equal(size, want);
			assert_int_equal(read(fd, found, sizeof found), want);
			assert_memory_equal(found, text, want);
			close(fd);
			there = 1;
		}
	} else {
		assert_true(err.code == HOB_ERR_NOT_FOUND || err.code == HOB_ERR_CORRUPT);
	}
	hob_arena_release(&arena);
	return there;
}

static uint32_t count_items(srv_store *store, uint32_t upto)
{
	uint32_t there = 0;
	for (uint32_t i = 0; i < upto; i++)
		there += (uint32_t)check_item(store, i);
	return there;
}

static void write_marker(void *dir, const char *boot)
{
	FILE *marker = fopen(folder_at(dir, "cache/running"), "w");
	assert_non_null(marker);
	fputs(boot, marker);
	fclose(marker);
}

/* ---- the lock */

static void second_opener_is_refused_with_the_first_ones_pid(void **state)
{
	srv_store *store = open_store(*state, 0), *second = NULL;
	hob_error err = {0};
	char pid[32];
	assert_false(srv_store_open(folder_at(*state, "cache"), NULL, &second, NULL, &err));
	assert_int_equal(err.code, HOB_ERR_LOCKED);
	snprintf(pid, sizeof pid, "pid %ld", (long)getpid());
	assert_non_null(strstr(err.context, pid));
	assert_non_null(strstr(err.context, "--cache"));
	put_items(store);
	srv_store_close(store);
	/* A lock file left by a dead process does not lock. */
	store = open_store(*state, 0);
	assert_int_equal(count_items(store, ITEMS), ITEMS);
	srv_store_close(store);
}

/* ---- SIGKILL */

/* Writes items and reports the number of each completed commit; killed by the parent. */
static void write_until_killed(const char *dir, int out, uint32_t from)
{
	hob_error err;
	srv_store *store;
	if (!srv_store_open(dir, NULL, &store, NULL, &err))
		_exit(3);
	for (uint32_t i = from;; i++) {
		if (!put_item(store, i, &err))
			_exit(4);
		if (i % 3 == 0) {
			if (!srv_store_commit(store, &err))
				_exit(5);
			if (write(out, &i, sizeof i) != sizeof i)
				_exit(6);
		}
		if (i % 16 == 0)
			assert_true(srv_store_sync(store, NULL));
	}
}

static void kill_while_writing_loses_nothing_committed(void **state)
{
	uint32_t from = 0;
	for (int round = 0; round < 12; round++) {
		int ends[2];
		char dir[4096];
		strcpy(dir, folder_at(*state, "cache"));
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		pid_t child = fork();
		if (child == 0)
			write_until_killed(dir, ends[1], from);
		close(ends[1]);
		/* Killed when it reports its n-th commit: at a different point each time. */
		uint32_t last = 0;
		for (int i = 0; i <= round * 3; i++)
			assert_int_equal(read(ends[0], &last, sizeof last), sizeof last);
		assert_int_equal(kill(child, SIGKILL), 0);
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		while (read(ends[0], &last, sizeof last) == sizeof last)
			continue;
		close(ends[0]);
		assert_int_equal(access(folder_at(*state, "cache/running"), F_OK), 0);

		bool rebuilt;
		hob_error err;
		srv_store *store;
		assert_ok(srv_store_open(dir, NULL, &store, &rebuilt, &err), &err);
		assert_false(rebuilt);
		assert_int_equal(count_items(store, last + 1), last + 1);
		hob_sha256 none;
		assert_int_equal(srv_store_take_damaged(store, &none, 1), 0);
		from = last + 1;
		srv_store_close(store);
		assert_int_equal(access(folder_at(*state, "cache/running"), F_OK), -1);
	}
}

/* ---- newer and foreign files */

static void run_sql(const char *path, const char *sql, bool keep_wal)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep_wal, NULL);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static hob_sha256 digest_of(const char *path)
{
	hob_sha256 none = {{0}};
	FILE *file = fopen(path, "rb");
	if (!file)
		return none;
	static uint8_t bytes[4 << 20];
	size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	return hob_sha256_of((hob_bytes){bytes, size});
}

static void newer_index_is_refused_untouched(void **state)
{
	for (int in_wal = 0; in_wal < 2; in_wal++) {
		srv_store *store = open_store(*state, 0);
		hob_error err = {0};
		put_items(store);
		srv_store_close(store);
		run_sql(folder_at(*state, "cache/index.db"), "PRAGMA user_version = 99", in_wal);
		hob_sha256 before = digest_of(folder_at(*state, "cache/index.db"));
		hob_sha256 wal_before = digest_of(folder_at(*state, "cache/index.db-wal"));
		assert_false(srv_store_open(folder_at(*state, "cache"), NULL, &store, NULL, &err));
		assert_int_equal(err.code, HOB_ERR_NEWER);
		assert_non_null(strstr(err.context, "99"));
		hob_sha256 after = digest_of(folder_at(*state, "cache/index.db"));
		hob_sha256 wal_after = digest_of(folder_at(*state, "cache/index.db-wal"));
		assert_memory_equal(&before, &after, sizeof before);
		assert_memory_equal(&wal_before, &wal_after, sizeof before);
		run_sql(folder_at(*state, "cache/index.db"), "PRAGMA user_version = 1", false);
		store = open_store(*state, 0);
		assert_int_equal(count_items(store, ITEMS), ITEMS);
		srv_store_close(store);
	}
}

/* Step 7 has another index of lookups; all rows stay, and none is read individually to find a lookup. */
static void an_index_of_step_6_is_brought_up(void **state)
{
	srv_store *store = open_store(*state, 0);
	put_items(store);
	char epoch[sizeof store->epoch];
	memcpy(epoch, store->epoch, sizeof epoch);
	srv_store_close(store);
	run_sql(
		folder_at(*state, "cache/index.db"),
		"ALTER TABLE job DROP COLUMN stages; DROP INDEX record_lookup; ALTER TABLE record RENAME TO recipe;"
		"CREATE TABLE audit (recipe BLOB PRIMARY KEY); ALTER TABLE job RENAME COLUMN record TO recipe;"
		"CREATE INDEX recipe_lookup ON recipe (lookup, cooked_at_ms); PRAGMA user_version = 6",
		false);
	store = open_store(*state, 0);
	assert_string_equal(store->epoch, epoch);
	assert_int_equal(count_items(store, ITEMS), ITEMS);
	for (uint32_t i = 0; i < ITEMS; i++) {
		hob_arena arena;
		hob_error err;
		srv_record *found;
		uint32_t count;
		hob_sha256 lookup = key_of(i);
		hob_arena_init(&arena, 1 << 20);
		assert_ok(srv_store_records(store, &lookup, &arena, &found, &count, &err), &err);
		assert_int_equal(count, 1);
		assert_memory_equal(&found[0].key, &lookup, sizeof lookup);
		lookup.bytes[20] ^= 1;
		assert_ok(srv_store_records(store, &lookup, &arena, &found, &count, &err), &err);
		assert_int_equal(count, 0);
		hob_arena_release(&arena);
	}
	sqlite3_stmt *plan;
	char sql[2000];
	snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", sqlite3_sql(store->statements[SQL_RECORDS]));
	assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &plan, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(plan), SQLITE_ROW);
	assert_non_null(strstr((const char *)sqlite3_column_text(plan, 3), "USING INDEX record_lookup"));
	sqlite3_finalize(plan);
	srv_store_close(store);
}

static void foreign_database_is_refused_untouched(void **state)
{
	hob_error err = {0};
	srv_store *store;
	assert_int_equal(mkdir(folder_at(*state, "cache"), 0755), 0);
	run_sql(folder_at(*state, "cache/index.db"), "PRAGMA application_id = 1234; CREATE TABLE precious (x)",
			false);
	hob_sha256 before = digest_of(folder_at(*state, "cache/index.db"));
	assert_false(srv_store_open(folder_at(*state, "cache"), NULL, &store, NULL, &err));
	assert_int_equal(err.code, HOB_ERR_IO);
	assert_non_null(strstr(err.context, "another program"));
	hob_sha256 after = digest_of(folder_at(*state, "cache/index.db"));
	assert_memory_equal(&before, &after, sizeof before);
}

static void index_says_who_owns_it_and_how_it_is_kept(void **state)
{
	srv_store *store = open_store(*state, 0);
	static const struct {
		const char *sql, *value;
	} checks[] = {{"PRAGMA application_id", "1215259209"},
				  {"PRAGMA user_version", "10"},
				  {"PRAGMA journal_mode", "wal"},
				  {"PRAGMA synchronous", "1"},
				  {"PRAGMA foreign_keys", "1"},
				  {"PRAGMA secure_delete", "0"},
				  {"PRAGMA trusted_schema", "0"},
				  {"PRAGMA busy_timeout", "5000"},
				  {"PRAGMA integrity_check", "ok"}};
	put_items(store);
	for (size_t i = 0; i < HOB_COUNT_OF(checks); i++) {
		sqlite3_stmt *statement;
		assert_int_equal(sqlite3_prepare_v2(store->db, checks[i].sql, -1, &statement, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(statement, 0), checks[i].value);
		sqlite3_finalize(statement);
	}
	srv_store_close(store);
	assert_int_equal(access(folder_at(*state, "cache/index.db-wal"), F_OK), -1);
}

static void steps_of_the_schema_run_once_and_in_order(void **state)
{
	static const char script[] = "-- @step 1\nCREATE TABLE a (x);\nINSERT INTO a VALUES (1);\n"
								 "-- @step 2\nALTER TABLE a ADD COLUMN y DEFAULT 7;\n"
								 "-- @step 3\nCREATE TABLE b AS SELECT x + y AS z FROM a;\n";
	static const char broken[] =
		"-- @step 1\n-- @step 2\n-- @step 3\n-- @step 4\nCREATE TABLE c (x);\nnonsense;\n";
	sqlite3 *db;
	hob_error err;
	int version = 0;
	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(srv_store_db_steps(script), 3);
	char *first_two = strdup(script);
	*strstr(first_two, "-- @step 3") = 0;
	assert_ok(srv_store_db_upgrade(db, first_two, &version, &err), &err);
	assert_int_equal(version, 2);
	assert_ok(srv_store_db_upgrade(db, script, &version, &err), &err);
	assert_int_equal(version, 3);
	assert_ok(srv_store_db_upgrade(db, script, &version, &err), &err);
	sqlite3_stmt *statement;
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT z, (SELECT count(*) FROM a) FROM b", -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(statement, 0), 8);
	assert_int_equal(sqlite3_column_int(statement, 1), 1);
	sqlite3_finalize(statement);
	/* A failed step leaves nothing behind. */
	assert_false(srv_store_db_upgrade(db, broken, &version, &err));
	assert_int_equal(version, 3);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM c", -1, &statement, NULL), SQLITE_ERROR);
	sqlite3_close(db);
	free(first_two);
}

/* ---- a damaged index */

/* Damages pages that opening does not read, so that only an integrity check finds it. */
static void spoil_pages_with(int fd, const char *text)
{
	char page[4096];
	int spoiled = 0;
	for (off_t at = 4096; pread(fd, page, sizeof page, at) == sizeof page; at += 4096)
		if (memmem(page, sizeof page, text, strlen(text))) {
			memset(page, 0xDB, 16);
			assert_int_equal(pwrite(fd, page, 16, at), 16);
			spoiled++;
		}
	assert_true(spoiled > 0);
}

static void damaged_index_is_moved_aside_and_rebuilt(void **state)
{
	static const char *const hurts[] = {"header", "cut", "page", "middle", "empty", "unread"};
	for (size_t hurt = 0; hurt < HOB_COUNT_OF(hurts); hurt++) {
		srv_store *store = open_store(*state, 0);
		hob_error err;
		bool rebuilt = false;
		char epoch[17];
		put_items(store);
		strcpy(epoch, srv_store_epoch(store));
		srv_store_close(store);
		const char *path = folder_at(*state, "cache/index.db");
		struct stat info;
		char junk[4096];
		memset(junk, 0xDB, sizeof junk);
		assert_int_equal(stat(path, &info), 0);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		if (hurt == 0)
			assert_int_equal(pwrite(fd, junk, 60, 0), 60);
		else if (hurt == 1)
			assert_int_equal(ftruncate(fd, info.st_size / 2), 0);
		else if (hurt == 2)
			assert_int_equal(pwrite(fd, junk, sizeof junk, 4096), sizeof junk);
		else if (hurt == 3)
			for (off_t at = 3 * 4096 + 1; at < info.st_size; at += 4096)
				assert_int_equal(pwrite(fd, junk, 64, at), 64);
		else if (hurt == 4)
			assert_int_equal(ftruncate(fd, 0), 0);
		else
			spoil_pages_with(fd, "a.bin");
		close(fd);
		write_marker(*state, "another boot");
		assert_ok(srv_store_open(folder_at(*state, "cache"), NULL, &store, &rebuilt, &err), &err);
		assert_true(rebuilt);
		assert_string_not_equal(srv_store_epoch(store), epoch);
		assert_int_equal(count_items(store, ITEMS), ITEMS);
		/* And it continues to work. */
		assert_ok(put_item(store, ITEMS + (uint32_t)hurt, &err), &err);
		assert_ok(srv_store_commit(store, &err), &err);
		srv_store_close(store);
		assert_ok(srv_store_open(folder_at(*state, "cache"), NULL, &store, &rebuilt, &err), &err);
		assert_false(rebuilt);
		assert_int_equal(count_items(store, ITEMS + (uint32_t)hurt + 1), ITEMS + hurt + 1);
		srv_store_close(store);
	}
	/* An empty file is not kept for examination. */
	for (int i = 1; i <= 5; i++)
		assert_int_equal(access(folder_at(*state, "cache/index.db.damaged-%d", i), F_OK), 0);
	assert_int_equal(access(folder_at(*state, "cache/index.db.damaged-6"), F_OK), -1);
}

/* Runs all reads; false when the store reported a damaged index. */
static bool read_everything(srv_store *store, uint32_t *there)
{
	*there = count_items(store, ITEMS);
	return !store->index_wrong;
}

/* Random bytes after a clean stop, so that nothing is checked at open: each answer must be right, absent, or
 * an error, and detected damage must be repaired, at once or at the next open. */
static void random_damage_never_gives_a_wrong_blob(void **state)
{
	uint32_t seed = 12345;
	for (int round = 0; round < 24; round++) {
		srv_store *store = open_store(*state, 0);
		hob_error err;
		put_items(store);
		srv_store_close(store);
		int fd = open(folder_at(*state, "cache/index.db"), O_RDWR | O_CLOEXEC);
		struct stat info;
		assert_int_equal(fstat(fd, &info), 0);
		for (int i = 0; i < 1 << (round % 6); i++) {
			seed = seed * 1664525u + 1013904223u;
			uint8_t byte = (uint8_t)(seed >> 24);
			off_t at = (off_t)((uint64_t)seed * (uint64_t)info.st_size >> 32);
			/* Version and application id decide whether the file is ours. */
			if (at >= 60 && at < 72)
				continue;
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
		close(fd);
		bool rebuilt = false;
		uint32_t there;
		assert_ok(srv_store_open(folder_at(*state, "cache"), NULL, &store, &rebuilt, &err), &err);
		if (!read_everything(store, &there)) {
			if (round % 2 == 0) {
				assert_ok(srv_store_rebuild(store, &err), &err);
			} else {
				srv_store_close(store);
				assert_ok(srv_store_open(folder_at(*state, "cache"), NULL, &store, &rebuilt, &err), &err);
				assert_true(rebuilt);
			}
			assert_false(srv_store_is_damaged(store));
			assert_true(read_everything(store, &there));
			assert_int_equal(there, ITEMS);
		}
		srv_store_close(store);
		/* A new index for each round: undetected damage must not affect the next one. */
		unlink(folder_at(*state, "cache/index.db"));
		unlink(folder_at(*state, "cache/index.db-wal"));
		unlink(folder_at(*state, "cache/index.db-shm"));
	}
}

/* The index cannot be rebuilt: nothing crashes, blobs still work, and a later try succeeds. */
static void rebuild_that_fails_can_be_tried_again(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_error err = {0};
	uint32_t there;
	put_items(store);
	store->last_rev = 41;
	char epoch[17];
	strcpy(epoch, srv_store_epoch(store));
	srv_store_mark_damaged(store);
	assert_true(srv_store_is_damaged(store));
	/* A folder is in the place of the write-ahead log. */
	srv_store_db_close(store);
	unlink(folder_at(*state, "cache/index.db-wal"));
	assert_int_equal(mkdir(folder_at(*state, "cache/index.db-wal"), 0755), 0);
	for (int i = 0; i < 2; i++) {
		assert_false(srv_store_rebuild(store, &err));
		assert_true(srv_store_is_damaged(store));
		assert_false(put_item(store, 1, &err));
		assert_int_equal(err.code, HOB_ERR_CORRUPT);
		hob_sha256 digest;
		assert_ok(srv_blob_put(store, (hob_bytes){(const uint8_t *)"more", 4}, &digest, &err), &err);
		assert_true(srv_blob_verify(store, &digest));
	}
	assert_int_equal(rmdir(folder_at(*state, "cache/index.db-wal")), 0);
	assert_ok(srv_store_rebuild(store, &err), &err);
	assert_string_equal(srv_store_epoch(store), epoch);
	assert_true(read_everything(store, &there));
	assert_int_equal(there, ITEMS);
	assert_ok(put_item(store, ITEMS, &err), &err);
	srv_store_close(store);
	store = open_store(*state, 0);
	assert_int_equal(srv_store_last_rev(store), 41);
	assert_int_equal(count_items(store, ITEMS + 1), ITEMS + 1);
	srv_store_close(store);
}

/* ---- a full disk: a tmpfs of one MiB, if mounting is allowed */

static bool make_ballast(const char *dir)
{
	static char bytes[256 << 10];
	char name[4200];
	snprintf(name, sizeof name, "%s/ballast", dir);
	FILE *file = fopen(name, "w");
	return file && fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes && fclose(file) == 0;
}

static int on_small_disk(const char *dir)
{
	hob_error err = {0};
	srv_store *store;
	uint32_t made = 0;
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", dir, "tmpfs", 0, "size=2m") != 0)
		return 77;
	if (!srv_store_open(dir, NULL, &store, NULL, &err) || !make_ballast(dir))
		return 10;
	while (made < 2000 && put_item(store, made, &err) && srv_store_commit(store, &err))
		made++;
	if (made < 10 || made == 2000 || err.code != HOB_ERR_DISK_FULL)
		return 11;
	/* Everything committed is still served while the disk is full. */
	if (count_items(store, made) != made)
		return 12;
	/* With room again it continues, and once more after a restart. */
	char name[4200];
	snprintf(name, sizeof name, "%s/ballast", dir);
	unlink(name);
	if (!put_item(store, 5000, &err) || !srv_store_commit(store, &err) || check_item(store, 5000) != 1)
		return 13;
	srv_store_close(store);
	bool rebuilt;
	if (!srv_store_open(dir, &(srv_store_options){.max_bytes = 50 << 10}, &store, &rebuilt, &err))
		return 14;
	if (rebuilt || count_items(store, made) != made || check_item(store, 5000) != 1)
		return 15;
	atomic_fetch_add(&store->time_shift_s, 10000);
	if (srv_store_trim(store, NULL, NULL) == 0)
		return 16;
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	if (usage.blob_bytes > 50 << 10)
		return 17;
	srv_store_close(store);
	return 0;
}

static void full_disk_is_said_and_survived(void **state)
{
	char dir[4096];
	strcpy(dir, folder_at(*state, "disk"));
	assert_int_equal(mkdir(dir, 0755), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(on_small_disk(dir));
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* not allowed to mount */
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void unusable_folder_is_said_with_its_name(void **state)
{
	hob_error err = {0};
	srv_store *store;
	FILE *file = fopen(folder_at(*state, "file"), "w");
	fclose(file);
	assert_false(srv_store_open(folder_at(*state, "file/cache"), NULL, &store, NULL, &err));
	assert_int_equal(err.code, HOB_ERR_IO);
	assert_non_null(strstr(err.context, "file/cache"));
	assert_false(srv_store_open("", NULL, &store, NULL, &err));
	assert_int_equal(err.code, HOB_ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(second_opener_is_refused_with_the_first_ones_pid),
		store_test(kill_while_writing_loses_nothing_committed),
		store_test(newer_index_is_refused_untouched),
		store_test(foreign_database_is_refused_untouched),
		store_test(index_says_who_owns_it_and_how_it_is_kept),
		store_test(an_index_of_step_6_is_brought_up),
		store_test(steps_of_the_schema_run_once_and_in_order),
		store_test(damaged_index_is_moved_aside_and_rebuilt),
		store_test(random_damage_never_gives_a_wrong_blob),
		store_test(rebuild_that_fails_can_be_tried_again),
		store_test(full_disk_is_said_and_survived),
		store_test(unusable_folder_is_said_with_its_name),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_pack_max = 4096;
	return failed + cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
