#include "server/store/store_internal.h"
#include "store_support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything that a start reads, as text: must be equal with and without the copy. */
static void file_text(void *user, const srv_file_row *row)
{
	hob_buf_printf(user, "file %.*s %.*s %llu %llu %lld %lld %d\n", HOB_FMT(row->root), HOB_FMT(row->path),
				   (unsigned long long)row->stat.size, (unsigned long long)row->stat.inode,
				   (long long)row->stat.mtime_ns, (long long)row->stat.ctime_ns, row->digest.bytes[31]);
}

static void record_text(void *user, const srv_record *r)
{
	hob_buf_printf(user, "record %d %d %d %.*s %.*s %.*s %.*s %u %llu %llu %lld\n", r->key.bytes[0],
				   r->lookup.bytes[0], r->source.bytes[0], HOB_FMT(r->file_name), HOB_FMT(r->ingredients),
				   HOB_FMT(r->stats), HOB_FMT(r->error), r->warnings, (unsigned long long)r->cook_ns,
				   (unsigned long long)r->peak_bytes, (long long)r->cooked_at_ms);
	for (uint32_t i = 0; i < r->dep_count; i++)
		hob_buf_printf(user, " dep %.*s %d %d\n", HOB_FMT(r->deps[i].path), r->deps[i].missing,
					   r->deps[i].digest.bytes[0]);
	for (uint32_t i = 0; i < r->output_count; i++)
		hob_buf_printf(user, " output %.*s %d %llu\n", HOB_FMT(r->outputs[i].name),
					   r->outputs[i].digest.bytes[0], (unsigned long long)r->outputs[i].size);
}

typedef struct assets_text {
	srv_store *store;
	hob_buf *out, records;
	hob_sha256 keys[64];
	uint32_t count;
} assets_text;

static void asset_text(void *user, const srv_asset_row *row)
{
	assets_text *all = user;
	hob_arena arena;
	hob_error err;
	srv_record record;
	bool whole;
	hob_buf_printf(all->out, "asset %.*s %.*s %.*s %llu %d %d %lld %.*s\n", HOB_FMT(row->root),
				   HOB_FMT(row->path), HOB_FMT(row->state), (unsigned long long)row->rev, row->good.bytes[0],
				   row->last.bytes[0], (long long)row->cooked_at_ms, HOB_FMT(row->error));
	assert_int_equal(row->good_place > 0, srv_store_has_start(all->store));
	assert_true(all->count < HOB_COUNT_OF(all->keys));
	all->keys[all->count++] = row->good;
	if (row->good_place == 0)
		return;
	hob_arena_init(&arena, SIZE_MAX);
	assert_ok(srv_store_record_at(all->store, row->good_place, &arena, &record, &whole, &err), &err);
	record_text(&all->records, &record);
	hob_arena_release(&arena);
}

/* Appends the records that assets name. */
static void read_assets(srv_store *store, hob_buf *out)
{
	assets_text all = {.store = store, .out = out};
	hob_error err;
	bool placed = srv_store_has_start(store);
	assert_ok(srv_store_each_asset(store, asset_text, &all, &err), &err);
	for (uint32_t i = 0; i < all.count && !placed; i++) {
		hob_arena arena;
		srv_record record;
		hob_arena_init(&arena, SIZE_MAX);
		assert_ok(srv_store_record(store, &all.keys[i], &arena, &record, &err), &err);
		record_text(&all.records, &record);
		hob_arena_release(&arena);
	}
	hob_buf_put_str(out, hob_buf_str(&all.records));
	hob_buf_release(&all.records);
}

static void read_all(srv_store *store, hob_buf *out)
{
	hob_error err;
	srv_store_usage usage;
	hob_sha256 part = {{9}}, blob = {{0}};
	srv_store_measure(store, &usage);
	srv_store_part(store, &part, &blob);
	hob_buf_printf(out, "%s job %llu rev %llu, blobs %llu of %llu bytes, records %llu, parts %llu %d\n",
				   srv_store_epoch(store), (unsigned long long)srv_store_last_job(store),
				   (unsigned long long)srv_store_last_rev(store), (unsigned long long)usage.blob_count,
				   (unsigned long long)usage.blob_bytes, (unsigned long long)usage.record_count,
				   (unsigned long long)usage.part_count, blob.bytes[0]);
	srv_store_read_begin(store);
	assert_ok(srv_store_each_file(store, file_text, out, &err), &err);
	read_assets(store, out);
	srv_store_read_end(store);
	assert_false(srv_store_has_start(store));
	assert_false(out->failed);
}

static void fill(srv_store *store)
{
	hob_error err;
	char text[64];
	hob_sha256 part = {{9}}, texture = put_blob(store, "texture");
	assert_ok(srv_store_put_part(store, &part, &texture, &err), &err);
	for (uint8_t i = 1; i <= 40; i++) {
		snprintf(text, sizeof text, "set%d/m.obj", i);
		srv_file_row file = {HOB_STR("art"), hob_str_of(text), {i, 1ull << 63, -i, INT64_MAX}, {{0}}};
		file.digest.bytes[31] = i;
		assert_ok(srv_store_put_file(store, &file, &err), &err);
		srv_record_dep deps[] = {{HOB_STR("look.mtl"), false, {{i}}}, {HOB_STR("gone.png"), true, {{0}}}};
		srv_record_output outputs[] = {{HOB_STR("meshes"), put_blob(store, text), strlen(text)},
									   {HOB_STR("scene"), texture, 7}};
		srv_record record = {.key = {{i}},
							 .lookup = {{1, i}},
							 .source = {{i, i}},
							 .file_name = i % 3 ? HOB_STR("") : HOB_STR("m.obj"),
							 .ingredients = i < 20 ? HOB_STR("{\"importer\":\"obj\"}") : HOB_STR("{}"),
							 .stats = HOB_STR("{\"meshes\":1}"),
							 .warnings = i,
							 .cook_ns = UINT64_MAX,
							 .cooked_at_ms = 1789012345678 + i,
							 .dep_count = i % 3,
							 .output_count = i % 5 ? 2 : 0,
							 .deps = deps,
							 .outputs = outputs,
							 .error = i % 5 ? HOB_STR("") : HOB_STR("{\"code\":\"x\"}")};
		assert_ok(srv_store_put_record(store, &record, &err), &err);
		srv_asset_row asset = {HOB_STR("art"),
							   hob_str_of(text),
							   HOB_STR("fresh"),
							   i,
							   {{i}},
							   {{i}},
							   -i,
							   i % 7 ? HOB_STR("") : HOB_STR("{}"),
							   0,
							   0};
		assert_ok(srv_store_put_asset(store, &asset, &err), &err);
	}
	srv_job_row job = {.id = 77, .asset = HOB_STR("art/a"), .result = HOB_STR("cooked")};
	srv_change_row change = {88, HOB_STR("asset"), HOB_STR("{}")};
	assert_ok(srv_store_put_job(store, &job, &err), &err);
	assert_ok(srv_store_put_change(store, &change, &err), &err);
}

/* Opens and reads, with or without the copy as expected; returns the text. */
static void reopen(temp_folder *dir, bool by_copy, hob_buf *out)
{
	srv_store *store = open_store(dir, 0);
	assert_int_equal(srv_store_has_start(store), by_copy);
	hob_buf_clear(out);
	read_all(store, out);
	srv_store_close(store);
}

static void assert_same_text(const hob_buf *a, const hob_buf *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->data, b->data, a->size);
}

static void copy_holds_what_the_index_holds(void **state)
{
	hob_buf by_copy = {0}, by_index = {0};
	srv_store *store = open_store(*state, 0);
	fill(store);
	srv_store_close(store);
	reopen(*state, true, &by_copy);
	/* A run without changes keeps the copy. */
	reopen(*state, true, &by_copy);
	assert_int_equal(unlink(folder_at(*state, "cache/index.start")), 0);
	reopen(*state, false, &by_index);
	assert_same_text(&by_copy, &by_index);
	/* And a run without a copy makes one. */
	reopen(*state, true, &by_copy);
	assert_same_text(&by_copy, &by_index);
	hob_buf_release(&by_copy);
	hob_buf_release(&by_index);
}

typedef struct placed {
	srv_store *store;
	uint32_t rows;
} placed;

static void check_place(void *user, const srv_asset_row *row)
{
	placed *p = user;
	hob_arena arena;
	hob_error err;
	srv_record record;
	bool whole;
	uint8_t i = row->good.bytes[0];
	hob_arena_init(&arena, SIZE_MAX);
	assert_int_equal(row->good_place, row->last_place);
	assert_ok(srv_store_record_at(p->store, row->good_place, &arena, &record, &whole, &err), &err);
	assert_true(hob_sha256_equal(&record.key, &row->good));
	assert_int_equal(record.dep_count, i % 3);
	assert_int_equal(record.output_count, i % 5 ? 2 : 0);
	/* The blob of one is missing. */
	assert_int_equal(whole, i != 7);
	hob_arena_release(&arena);
	p->rows++;
}

static void rows_of_the_copy_say_where_their_records_are(void **state)
{
	hob_error err;
	uint64_t size;
	srv_store *store = open_store(*state, 0);
	fill(store);
	hob_sha256 blob = put_blob(store, "set7/m.obj");
	lose_blob(*state, &blob);
	assert_int_equal(srv_blob_open(store, &blob, &size), -1);
	srv_store_close(store);
	placed p = {.store = open_store(*state, 0)};
	srv_store_read_begin(p.store);
	assert_true(srv_store_has_start(p.store));
	assert_ok(srv_store_each_asset(p.store, check_place, &p, &err), &err);
	srv_store_read_end(p.store);
	assert_int_equal(p.rows, 40);
	srv_store_close(p.store);
}

static void copy_counts_for_that_index_only(void **state)
{
	hob_buf first = {0}, then = {0};
	srv_store *store = open_store(*state, 0);
	struct timespec times[2] = {{0, UTIME_OMIT}, {1, 0}};
	struct stat before;
	fill(store);
	srv_store_close(store);
	reopen(*state, true, &first);
	assert_int_equal(stat(folder_at(*state, "cache/index.db"), &before), 0);
	/* Modified, even with the time restored: the change time reveals it. */
	assert_int_equal(utimensat(AT_FDCWD, folder_at(*state, "cache/index.db"), times, 0), 0);
	times[1] = before.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, folder_at(*state, "cache/index.db"), times, 0), 0);
	reopen(*state, false, &then);
	assert_same_text(&first, &then);
	/* A copy with any byte changed, or of another length, is not used. */
	struct stat info;
	assert_int_equal(stat(folder_at(*state, "cache/index.start"), &info), 0);
	for (off_t at = 0; at < info.st_size; at += at < 200 ? 1 : 97) {
		int fd = open(folder_at(*state, "cache/index.start"), O_RDWR | O_CLOEXEC);
		uint8_t byte;
		if (fd < 0) {
			assert_int_equal(chmod(folder_at(*state, "cache/index.start"), 0644), 0);
			fd = open(folder_at(*state, "cache/index.start"), O_RDWR | O_CLOEXEC);
		}
		assert_true(fd >= 0);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		store = open_store(*state, 0);
		assert_false(srv_store_has_start(store));
		srv_store_close(store); /* closing writes a new copy */
	}
	assert_int_equal(truncate(folder_at(*state, "cache/index.start"), info.st_size - 1), 0);
	reopen(*state, false, &then);
	assert_same_text(&first, &then);
	hob_buf_release(&first);
	hob_buf_release(&then);
}

static void what_is_written_ends_the_copy(void **state)
{
	hob_error err;
	hob_buf out = {0};
	srv_store *store = open_store(*state, 0);
	fill(store);
	srv_store_close(store);
	store = open_store(*state, 0);
	assert_true(srv_store_has_start(store));
	srv_file_row file = {HOB_STR("art"), HOB_STR("new.obj"), {1, 2, 3, 4}, {{0}}};
	assert_ok(srv_store_put_file(store, &file, &err), &err);
	assert_false(srv_store_has_start(store));
	assert_ok(srv_store_each_file(store, file_text, &out, &err), &err);
	assert_true(hob_str_find(hob_buf_str(&out), HOB_STR("new.obj"), 0) != SIZE_MAX);
	srv_store_close(store);
	reopen(*state, true, &out);
	assert_true(hob_str_find(hob_buf_str(&out), HOB_STR("new.obj"), 0) != SIZE_MAX);
	hob_buf_release(&out);
}

/* The marker still exists, as after SIGKILL. */
static void copy_does_not_count_after_a_kill(void **state)
{
	hob_buf out = {0};
	srv_store *store = open_store(*state, 0);
	fill(store);
	srv_store_close(store);
	int fd = open(folder_at(*state, "cache/running"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	reopen(*state, false, &out);
	reopen(*state, true, &out);
	hob_buf_release(&out);
}

static void count_row(void *user, const srv_asset_row *row)
{
	uint32_t *places = user;
	*places += (uint32_t)(row->good_place > 0) + (uint32_t)(row->last_place > 0);
}

/* Few assets, many records of the past, and assets that have only one record, or none. */
static void few_assets_among_old_records(void **state)
{
	hob_error err;
	srv_store *store = open_store(*state, 0);
	fill(store);
	for (uint8_t i = 1; i <= 40; i++) {
		char text[64];
		snprintf(text, sizeof text, "set%d/m.obj", i);
		srv_asset_row row = {.root = HOB_STR("art"), .path = hob_str_of(text), .state = HOB_STR("fresh")};
		row.good.bytes[0] = i == 1 || i == 3 ? i : 0;
		row.last.bytes[0] = i == 2 || i == 3 ? i : i == 4 ? 250 : 0;
		if (i <= 5)
			assert_ok(srv_store_put_asset(store, &row, &err), &err);
		else
			assert_ok(srv_store_delete_asset(store, row.root, row.path, &err), &err);
	}
	assert_ok(srv_store_commit(store, &err), &err);
	uint32_t places = 0;
	assert_ok(srv_store_read_rows(store, &err), &err);
	assert_ok(srv_store_each_asset(store, count_row, &places, &err), &err);
	srv_store_read_end(store);
	assert_int_equal(places, 4);
	srv_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(copy_holds_what_the_index_holds),
		store_test(rows_of_the_copy_say_where_their_records_are),
		store_test(copy_counts_for_that_index_only),
		store_test(what_is_written_ends_the_copy),
		store_test(copy_does_not_count_after_a_kill),
		store_test(few_assets_among_old_records),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_pack_max = 4096;
	return failed + cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
