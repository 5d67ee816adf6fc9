#include "server/store/store_internal.h"
#include "store_support.h"

static void store_keeps_epoch_over_reopen(void **state)
{
	temp_folder *dir = *state;
	srv_store *store = open_store(dir, 0);
	char epoch[17];
	assert_int_equal(strlen(srv_store_epoch(store)), 16);
	strcpy(epoch, srv_store_epoch(store));
	srv_store_close(store);
	store = open_store(dir, 0);
	assert_string_equal(srv_store_epoch(store), epoch);
	srv_store_close(store);
}

static void two_folders_have_two_epochs(void **state)
{
	temp_folder other;
	folder_make(&other);
	srv_store *a = open_store(*state, 0), *b = open_store(&other, 0);
	assert_string_not_equal(srv_store_epoch(a), srv_store_epoch(b));
	srv_store_close(a);
	srv_store_close(b);
	folder_remove(&other);
}

typedef struct seen {
	int count;
	bool as_expected;
} seen;

static const char odd_path[] = "dir/\xFF\xFE new\nline \\\" x.glb";

static void check_file(void *user, const srv_file_row *row)
{
	seen *s = user;
	s->count++;
	s->as_expected = hob_str_equal(row->root, HOB_STR("art")) &&
					 hob_str_equal(row->path, (hob_str){odd_path, sizeof odd_path - 1}) &&
					 row->stat.size == UINT64_MAX && row->stat.inode == 1ull << 63 &&
					 row->stat.mtime_ns == -1 && row->stat.ctime_ns == INT64_MAX &&
					 row->digest.bytes[31] == 7;
}

static void files_come_back_bit_for_bit(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_error err;
	srv_file_row row = {
		HOB_STR("art"), {odd_path, sizeof odd_path - 1}, {UINT64_MAX, 1ull << 63, -1, INT64_MAX}, {{0}}};
	assert_ok(srv_store_put_file(store, &row, &err), &err);
	row.digest.bytes[31] = 7;
	assert_ok(srv_store_put_file(store, &row, &err), &err);
	assert_ok(srv_store_commit(store, &err), &err);
	srv_store_close(store);
	store = open_store(*state, 0);
	seen s = {0};
	assert_ok(srv_store_each_file(store, check_file, &s, &err), &err);
	assert_int_equal(s.count, 1);
	assert_true(s.as_expected);
	assert_ok(srv_store_delete_file(store, row.root, row.path, &err), &err);
	s.count = 0;
	assert_ok(srv_store_each_file(store, check_file, &s, &err), &err);
	assert_int_equal(s.count, 0);
	srv_store_close(store);
}

static void check_asset(void *user, const srv_asset_row *row)
{
	seen *s = user;
	s->count++;
	s->as_expected = hob_str_equal(row->path, (hob_str){odd_path, sizeof odd_path - 1}) &&
					 hob_str_equal(row->state, HOB_STR("failed")) && row->rev == 9 &&
					 row->good.bytes[0] == 1 && row->last.bytes[0] == 2 &&
					 row->cooked_at_ms == 1234567890123 &&
					 hob_str_equal(row->error, HOB_STR("{\"code\":\"x\"}"));
}

static void assets_come_back_after_close_without_commit(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_error err;
	srv_asset_row row = {HOB_STR("art"),
						 {odd_path, sizeof odd_path - 1},
						 HOB_STR("failed"),
						 9,
						 {{1}},
						 {{2}},
						 1234567890123,
						 HOB_STR("{\"code\":\"x\"}"),
						 0,
						 0};
	assert_ok(srv_store_put_asset(store, &row, &err), &err);
	srv_store_close(store);
	store = open_store(*state, 0);
	seen s = {0};
	assert_ok(srv_store_each_asset(store, check_asset, &s, &err), &err);
	assert_int_equal(s.count, 1);
	assert_true(s.as_expected);
	srv_store_close(store);
}

static void put_job(srv_store *store, uint64_t id, hob_str asset)
{
	hob_error err;
	srv_job_row row = {.id = id,
					   .asset = asset,
					   .reason = HOB_STR("[\"changed\"]"),
					   .result = HOB_STR("cooked"),
					   .queued_at_ms = 1,
					   .started_at_ms = 2,
					   .finished_at_ms = 3,
					   .cook_ns = 4,
					   .peak_bytes = 5,
					   .log = {"a\0b\xFF", 4}};
	assert_ok(srv_store_put_job(store, &row, &err), &err);
}

static void jobs_are_listed_newest_first_by_asset_and_page(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_arena arena;
	hob_error err;
	srv_job_row *jobs;
	uint32_t count;
	hob_arena_init(&arena, 1 << 20);
	for (uint64_t id = 1; id <= 10; id++)
		put_job(store, id, id % 2 ? HOB_STR("art/odd.glb") : HOB_STR("art/even.glb"));
	assert_int_equal(srv_store_last_job(store), 10);
	assert_ok(srv_store_jobs(store, (hob_str){0}, 0, 3, &arena, &jobs, &count, &err), &err);
	assert_int_equal(count, 3);
	assert_int_equal(jobs[0].id, 10);
	assert_int_equal(jobs[2].id, 8);
	assert_int_equal(jobs[0].log.len, 4);
	assert_memory_equal(jobs[0].log.data, "a\0b\xFF", 4);
	assert_ok(srv_store_jobs(store, HOB_STR("art/odd.glb"), 8, 100, &arena, &jobs, &count, &err), &err);
	assert_int_equal(count, 4);
	assert_int_equal(jobs[0].id, 7);
	assert_int_equal(jobs[3].id, 1);
	hob_arena_release(&arena);
	srv_store_close(store);
	store = open_store(*state, 0);
	assert_int_equal(srv_store_last_job(store), 10);
	srv_store_close(store);
}

typedef struct seen_changes {
	uint32_t count;
	uint64_t first_rev, last_rev;
	bool as_put;
} seen_changes;

static bool see_change(void *user, const srv_change_row *row)
{
	seen_changes *got = user;
	got->first_rev = got->count++ == 0 ? row->rev : got->first_rev;
	got->last_rev = row->rev;
	got->as_put =
		hob_str_equal(row->event, HOB_STR("asset")) && hob_str_equal(row->data, HOB_STR("{\"id\":\"x\"}"));
	return true;
}

static seen_changes changes_from(srv_store *store, uint64_t first)
{
	seen_changes got = {0};
	hob_error err;
	assert_ok(srv_store_each_change(store, first, UINT64_MAX, false, see_change, &got, &err), &err);
	return got;
}

static void changes_are_listed_oldest_first_and_trimmed(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_error err;
	assert_int_equal(srv_store_last_rev(store), 0);
	for (uint64_t rev = 1; rev <= 103000; rev++) {
		srv_change_row row = {rev, HOB_STR("asset"), HOB_STR("{\"id\":\"x\"}")};
		assert_ok(srv_store_put_change(store, &row, &err), &err);
	}
	assert_int_equal(srv_store_last_rev(store), 103000);
	seen_changes got = changes_from(store, 0);
	assert_int_equal(got.count, 100000);
	assert_int_equal(got.first_rev, 3001);
	assert_int_equal(got.last_rev, 103000);
	got = changes_from(store, 103000);
	assert_int_equal(got.count, 1);
	assert_true(got.as_put);
	assert_int_equal(changes_from(store, UINT64_MAX).count, 0);
	/* The beginning of a change that was put in advance precedes the next put, and only that one. */
	assert_true(srv_store_put_change_part(store, HOB_STR("{\"id\":\"x\"}\n{\"id\":")));
	srv_change_row rest = {103001, HOB_STR("asset"), HOB_STR("\"x\"}\n{\"id\":\"x\"}")};
	assert_ok(srv_store_put_change(store, &rest, &err), &err);
	rest = (srv_change_row){103002, HOB_STR("asset"), HOB_STR("{\"id\":\"x\"}")};
	assert_ok(srv_store_put_change(store, &rest, &err), &err);
	got = changes_from(store, 103001);
	assert_int_equal(got.count, 4);
	assert_int_equal(got.last_rev, 103002);
	assert_true(got.as_put);
	/* Change numbers may have gaps, as when several changes share a rev. */
	srv_change_row late = {250003, HOB_STR("asset"), HOB_STR("{}")};
	assert_ok(srv_store_put_change(store, &late, &err), &err);
	got = changes_from(store, 0);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.first_rev, 250003);
	srv_store_close(store);
}

static void parts_are_found_again_while_their_blob_is_there(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_error err;
	hob_sha256 key = {{1, 2, 3}}, blob = {{4}}, found;
	assert_false(srv_store_part(store, &key, &found));
	assert_false(srv_store_put_part(store, &key, &blob, &err));
	assert_int_equal(err.code, HOB_ERR_NOT_FOUND);
	blob = put_blob(store, "texture");
	assert_ok(srv_store_put_part(store, &key, &blob, &err), &err);
	srv_store_close(store);
	store = open_store(*state, 0);
	assert_true(srv_store_part(store, &key, &found));
	assert_memory_equal(&found, &blob, sizeof blob);
	lose_blob(*state, &blob);
	uint64_t size;
	assert_int_equal(srv_blob_open(store, &blob, &size), -1);
	assert_false(srv_store_part(store, &key, &found));
	srv_store_close(store);
}

static void note_asset(void *user, const srv_asset_row *row)
{
	(void)row;
	++*(int *)user;
}

/* These texts are sent to clients verbatim. */
static void a_row_whose_json_is_spoiled_is_damage(void **state)
{
	static const char *const spoil[] = {"UPDATE asset SET error = x'01ff'", "UPDATE job SET reason = x'5b'",
										"UPDATE job SET error = x'7b7d7d'"};
	for (size_t i = 0; i < HOB_COUNT_OF(spoil); i++) {
		srv_store *store = open_store(*state, 0);
		hob_error err;
		srv_asset_row asset = {.root = HOB_STR("art"), .path = HOB_STR("a.obj"), .state = HOB_STR("fresh")};
		srv_job_row job = {
			.id = 7 + i, .asset = HOB_STR("art/a.obj"), .reason = HOB_STR("[]"), .result = HOB_STR("hit")};
		hob_arena arena;
		srv_job_row *jobs;
		uint32_t count;
		int assets = 0;
		hob_arena_init(&arena, 1 << 20);
		assert_ok(srv_store_put_asset(store, &asset, &err), &err);
		assert_ok(srv_store_put_job(store, &job, &err), &err);
		assert_ok(srv_store_each_asset(store, note_asset, &assets, &err), &err);
		assert_ok(srv_store_jobs(store, (hob_str){0}, 0, 10, &arena, &jobs, &count, &err), &err);
		assert_true(assets == 1 && count > 0);
		assert_ok(srv_store_run_sql(store, spoil[i], &err), &err);
		assert_false(srv_store_each_asset(store, note_asset, &assets, &err) &&
					 srv_store_jobs(store, (hob_str){0}, 0, 10, &arena, &jobs, &count, &err));
		assert_int_equal(err.code, HOB_ERR_CORRUPT);
		assert_true(srv_store_is_damaged(store));
		hob_arena_release(&arena);
		srv_store_close(store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(store_keeps_epoch_over_reopen),
		store_test(two_folders_have_two_epochs),
		store_test(files_come_back_bit_for_bit),
		store_test(assets_come_back_after_close_without_commit),
		store_test(jobs_are_listed_newest_first_by_asset_and_page),
		store_test(a_row_whose_json_is_spoiled_is_damage),
		store_test(changes_are_listed_oldest_first_and_trimmed),
		store_test(parts_are_found_again_while_their_blob_is_there),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_pack_max = 4096;
	return failed + cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
