#include "server/store/reader.h"
#include "server/store/record.h"
#include "server/store/store_internal.h"
#include "store_support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const char odd[] = "../t\xFF/\"q\"\n.png";

static hob_sha256 key_of(uint32_t number)
{
	hob_sha256 key = {{0}};
	hob_store_u32(key.bytes, number);
	key.bytes[31] = 0x5A;
	return key;
}

static bool same_str(hob_str a, hob_str b)
{
	return hob_str_equal(a, b);
}

static void assert_same_record(const srv_record *a, const srv_record *b)
{
	assert_memory_equal(&a->key, &b->key, sizeof a->key);
	assert_memory_equal(&a->lookup, &b->lookup, sizeof a->lookup);
	assert_memory_equal(&a->source, &b->source, sizeof a->source);
	assert_true(same_str(a->file_name, b->file_name));
	assert_true(same_str(a->ingredients, b->ingredients));
	assert_true(same_str(a->stats, b->stats));
	assert_true(same_str(a->error, b->error));
	assert_int_equal(a->warnings, b->warnings);
	assert_true(a->cook_ns == b->cook_ns && a->peak_bytes == b->peak_bytes &&
				a->cooked_at_ms == b->cooked_at_ms);
	assert_int_equal(a->dep_count, b->dep_count);
	assert_int_equal(a->output_count, b->output_count);
	for (uint32_t i = 0; i < a->dep_count; i++) {
		assert_true(same_str(a->deps[i].path, b->deps[i].path));
		assert_int_equal(a->deps[i].missing, b->deps[i].missing);
		assert_memory_equal(&a->deps[i].digest, &b->deps[i].digest, sizeof a->deps[i].digest);
	}
	for (uint32_t i = 0; i < a->output_count; i++) {
		assert_true(same_str(a->outputs[i].name, b->outputs[i].name));
		assert_true(a->outputs[i].size == b->outputs[i].size);
		assert_memory_equal(&a->outputs[i].digest, &b->outputs[i].digest, sizeof a->outputs[i].digest);
	}
}

typedef struct full_record {
	srv_record record;
	srv_record_dep deps[3];
	srv_record_output outputs[2];
} full_record;

static void make_full(srv_store *store, full_record *out)
{
	hob_sha256 meshes = put_blob(store, "meshes"), scene = put_blob(store, "scene");
	*out = (full_record){
		.record = {.key = key_of(1),
				   .lookup = key_of(2),
				   .source = key_of(3),
				   .file_name = HOB_STR("tor\\e.obj"),
				   .ingredients = HOB_STR("{\"importer\":\"gltf 1\",\"e\":1e400}"),
				   .stats = HOB_STR("{\"meshes\":1}"),
				   .warnings = 3,
				   .cook_ns = UINT64_MAX,
				   .peak_bytes = 9007199254740993u,
				   .cooked_at_ms = 1789012345678,
				   .dep_count = 3,
				   .output_count = 2},
		.deps = {{{odd, sizeof odd - 1}, false, key_of(8)},
				 {HOB_STR("a.bin"), false, key_of(7)},
				 {HOB_STR("b/missing.png"), true, {{0}}}},
		.outputs = {{HOB_STR("meshes"), meshes, 6}, {HOB_STR("scene"), scene, 5}},
	};
	out->record.deps = out->deps;
	out->record.outputs = out->outputs;
}

static void record_comes_back_whole(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_arena arena;
	hob_error err;
	full_record made;
	srv_record found, *list;
	uint32_t count;
	hob_arena_init(&arena, 1 << 20);
	make_full(store, &made);
	assert_ok(srv_store_put_record(store, &made.record, &err), &err);
	assert_ok(srv_store_record(store, &made.record.key, &arena, &found, &err), &err);
	assert_same_record(&found, &made.record);
	srv_store_close(store);
	store = open_store(*state, 0);
	assert_ok(srv_store_records(store, &made.record.lookup, &arena, &list, &count, &err), &err);
	assert_int_equal(count, 1);
	assert_same_record(&list[0], &made.record);
	assert_false(srv_store_record(store, &made.record.lookup, &arena, &found, &err));
	assert_int_equal(err.code, HOB_ERR_NOT_FOUND);
	assert_ok(srv_store_records(store, &made.record.key, &arena, &list, &count, &err), &err);
	assert_int_equal(count, 0);
	hob_arena_release(&arena);
	srv_store_close(store);
}

typedef struct walk {
	uint32_t met;
	srv_record want[5];
} walk;

static void check_walked(void *user, const srv_record *record)
{
	walk *w = user;
	assert_true(w->met < HOB_COUNT_OF(w->want));
	assert_same_record(record, &w->want[w->met++]);
}

/* Some have no dependencies, some no outputs, one in the middle is missing. */
static void every_record_is_walked_whole(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_error err;
	full_record made;
	walk w = {0};
	make_full(store, &made);
	for (uint32_t i = 0; i < 6; i++) {
		srv_record record = made.record;
		record.key = key_of(50 - i);
		record.warnings = i;
		record.dep_count = i % 4 < 3 ? i % 4 : 0;
		record.output_count = i == 2 ? 0 : 1 + i % 2;
		assert_ok(srv_store_put_record(store, &record, &err), &err);
		if (i != 3)
			w.want[w.met++] = record;
	}
	hob_sha256 gone = key_of(50 - 3);
	assert_ok(srv_store_delete_record(store, &gone, &err), &err);
	for (int round = 0; round < 2; round++) {
		w.met = 0;
		assert_ok(srv_store_each_record(store, check_walked, &w, &err), &err);
		assert_int_equal(w.met, 5);
	}
	srv_store_close(store);
}

static void records_of_a_lookup_are_newest_first(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_arena arena;
	hob_error err;
	srv_record *list;
	uint32_t count;
	hob_arena_init(&arena, 1 << 22);
	for (uint32_t i = 0; i < 300; i++) {
		srv_record record = {.key = key_of(i),
							 .lookup = key_of(1000),
							 .cooked_at_ms = 5000 + (i * 7) % 300,
							 .error = HOB_STR("{}")};
		assert_ok(srv_store_put_record(store, &record, &err), &err);
	}
	assert_ok(srv_store_records(store, &(hob_sha256){{0}}, &arena, &list, &count, &err), &err);
	assert_int_equal(count, 0);
	hob_sha256 lookup = key_of(1000);
	assert_ok(srv_store_records(store, &lookup, &arena, &list, &count, &err), &err);
	assert_int_equal(count, 256);
	assert_int_equal(list[0].cooked_at_ms, 5299);
	for (uint32_t i = 1; i < count; i++)
		assert_true(list[i - 1].cooked_at_ms > list[i].cooked_at_ms);
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	assert_int_equal(usage.record_count, 300);
	hob_arena_release(&arena);
	srv_store_close(store);
}

static void record_that_names_an_absent_blob_is_refused(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_arena arena;
	hob_error err;
	full_record made;
	srv_record found;
	hob_arena_init(&arena, 1 << 20);
	make_full(store, &made);
	made.outputs[1].digest = key_of(99);
	assert_false(srv_store_put_record(store, &made.record, &err));
	assert_int_equal(err.code, HOB_ERR_NOT_FOUND);
	assert_false(srv_store_record(store, &made.record.key, &arena, &found, &err));
	hob_arena_release(&arena);
	srv_store_close(store);
}

static void outputs_are_added_and_replaced_by_name(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_arena arena;
	hob_error err;
	full_record made;
	srv_record found;
	hob_arena_init(&arena, 1 << 20);
	make_full(store, &made);
	assert_ok(srv_store_put_record(store, &made.record, &err), &err);
	srv_record_output more[2] = {{HOB_STR("classic.scene"), put_blob(store, "classic"), 7},
								 {HOB_STR("scene"), put_blob(store, "other scene"), 11}};
	assert_ok(srv_store_add_outputs(store, &made.record.key, more, 2, &err), &err);
	assert_ok(srv_store_record(store, &made.record.key, &arena, &found, &err), &err);
	assert_int_equal(found.output_count, 3);
	assert_int_equal(found.dep_count, 3);
	assert_true(same_str(found.outputs[0].name, HOB_STR("meshes")));
	assert_int_equal(found.outputs[1].size, 11);
	assert_true(same_str(found.outputs[2].name, HOB_STR("classic.scene")));
	hob_sha256 unknown = key_of(77);
	assert_false(srv_store_add_outputs(store, &unknown, more, 1, &err));
	assert_int_equal(err.code, HOB_ERR_NOT_FOUND);
	assert_ok(srv_store_delete_record(store, &made.record.key, &err), &err);
	assert_false(srv_store_record(store, &made.record.key, &arena, &found, &err));
	assert_ok(srv_store_delete_record(store, &made.record.key, &err), &err);
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	assert_int_equal(usage.record_count, 0);
	hob_arena_release(&arena);
	srv_store_close(store);
}

/* The index is deleted; cook results survive. */
static void lost_index_is_rebuilt_from_the_copies(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_arena arena;
	hob_error err;
	full_record made;
	srv_record found;
	char epoch[17];
	bool rebuilt = false;
	uint64_t size;
	hob_arena_init(&arena, 1 << 20);
	strcpy(epoch, srv_store_epoch(store));
	make_full(store, &made);
	assert_ok(srv_store_put_record(store, &made.record, &err), &err);
	/* A record whose only blob is missing must not come back. */
	srv_record_output output = {HOB_STR("x"), put_blob(store, "vanishes"), 8};
	srv_record other = {.key = key_of(50), .output_count = 1, .outputs = &output};
	assert_ok(srv_store_put_record(store, &other, &err), &err);
	/* The record of a failed cook has no blobs. */
	srv_record failed = {.key = key_of(51), .error = HOB_STR("{\"code\":\"import.corrupt\"}")};
	assert_ok(srv_store_put_record(store, &failed, &err), &err);
	srv_store_close(store);
	lose_blob(*state, &output.digest);
	assert_int_equal(unlink(folder_at(*state, "cache/index.db")), 0);

	assert_ok(srv_store_open(folder_at(*state, "cache"), NULL, &store, &rebuilt, &err), &err);
	assert_true(rebuilt);
	assert_string_not_equal(srv_store_epoch(store), epoch);
	assert_ok(srv_store_record(store, &made.record.key, &arena, &found, &err), &err);
	assert_same_record(&found, &made.record);
	assert_false(srv_store_record(store, &other.key, &arena, &found, &err));
	assert_ok(srv_store_record(store, &failed.key, &arena, &found, &err), &err);
	assert_same_record(&found, &failed);
	int fd = srv_blob_open(store, &made.outputs[0].digest, &size);
	assert_true(fd >= 0);
	close(fd);
	hob_arena_release(&arena);
	srv_store_close(store);
	assert_ok(srv_store_open(folder_at(*state, "cache"), NULL, &store, &rebuilt, &err), &err);
	assert_false(rebuilt);
	srv_store_close(store);
}

/* Any truncation and any flipped byte invalidates a copy. */
static void damaged_copy_is_never_read(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_arena arena;
	hob_error err;
	full_record made;
	srv_record found;
	hob_buf text = {0};
	hob_arena_init(&arena, 1 << 26);
	make_full(store, &made);
	assert_ok(srv_store_put_record(store, &made.record, &err), &err);
	srv_store_read_record(store, &made.record.key, &text);
	size_t size = text.size;
	char *copy = (char *)text.data;
	assert_ok(srv_record_parse((hob_str){copy, size}, &arena, &found, &err), &err);
	assert_same_record(&found, &made.record);
	for (size_t cut = 0; cut < size; cut++)
		assert_false(srv_record_parse((hob_str){copy, cut}, &arena, &found, &err));
	for (size_t at = 0; at < size; at++)
		for (int bit = 0; bit < 8; bit++) {
			copy[at] = (char)(copy[at] ^ 1 << bit);
			assert_false(srv_record_parse((hob_str){copy, size}, &arena, &found, &err));
			copy[at] = (char)(copy[at] ^ 1 << bit);
		}
	hob_buf_release(&text);
	hob_arena_release(&arena);
	srv_store_close(store);
}

/* ---- eviction */

enum { RECORDS = 20, BLOB_SIZE = 10000 };

static hob_sha256 put_numbered(srv_store *store, uint32_t number)
{
	static char text[BLOB_SIZE];
	memset(text, (int)('a' + number % 26), sizeof text);
	hob_store_u32(text, number);
	return put_bytes_blob(store, text, sizeof text);
}

static void put_numbered_record(srv_store *store, uint32_t number)
{
	hob_error err;
	srv_record_output output = {HOB_STR("meshes"), put_numbered(store, number), BLOB_SIZE};
	srv_record record = {
		.key = key_of(number), .lookup = key_of(number), .output_count = 1, .outputs = &output};
	assert_ok(srv_store_put_record(store, &record, &err), &err);
}

static bool is_even(void *user, const hob_sha256 *key)
{
	(void)user;
	return hob_load_u32(key->bytes) % 2 == 0;
}

static bool has(srv_store *store, uint32_t number)
{
	hob_arena arena;
	srv_record record;
	hob_error err;
	hob_sha256 key = key_of(number);
	hob_arena_init(&arena, 1 << 20);
	bool found = srv_store_record(store, &key, &arena, &record, &err);
	if (found) {
		assert_true(srv_blob_exists(store, &record.outputs[0].digest));
		assert_true(srv_blob_verify(store, &record.outputs[0].digest));
	}
	hob_arena_release(&arena);
	return found;
}

static void pass_seconds(srv_store *store, uint32_t seconds)
{
	atomic_fetch_add(&store->time_shift_s, seconds);
}

static void eviction_takes_the_oldest_and_never_what_is_live(void **state)
{
	srv_store *store = open_store(*state, 100000);
	for (uint32_t i = 0; i < RECORDS; i++) {
		put_numbered_record(store, i);
		pass_seconds(store, 100);
	}
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	assert_int_equal(usage.blob_bytes, 200000);
	uint64_t would = srv_store_would_trim(store, is_even, NULL);
	assert_true(would > 0);
	assert_int_equal(srv_store_would_trim(store, is_even, NULL), would);
	uint64_t freed = srv_store_trim(store, is_even, NULL);
	assert_int_equal(would, freed);
	srv_store_measure(store, &usage);
	/* The limit is 90,000; the ten live ones alone are 100,000. */
	assert_int_equal(usage.blob_bytes, 100000);
	assert_int_equal(freed, 100000);
	assert_int_equal(usage.evicted_bytes, 100000);
	assert_int_equal(usage.record_count, 10);
	for (uint32_t i = 0; i < RECORDS; i++)
		assert_int_equal(has(store, i), i % 2 == 0);
	srv_store_close(store);
	store = open_store(*state, 0);
	srv_store_measure(store, &usage);
	assert_int_equal(usage.blob_bytes, 100000);
	assert_int_equal(usage.blob_count, 10);
	srv_store_close(store);
}

/* Records one day apart; those used on the last day stay, though they are the oldest. */
static void use_makes_young_again(void **state)
{
	enum { DAY_S = 86400 };
	srv_store *store = open_store(*state, 150000);
	hob_error err;
	hob_sha256 part = key_of(700), blob;
	uint64_t size;
	hob_sha256 parts_blob = put_numbered(store, 700);
	assert_ok(srv_store_put_part(store, &part, &parts_blob, &err), &err);
	for (uint32_t i = 0; i < RECORDS - 1; i++) {
		put_numbered_record(store, i);
		pass_seconds(store, DAY_S);
	}
	assert_ok(srv_store_commit(store, &err), &err);
	srv_record record, *list;
	uint32_t count;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_sha256 looked_up = key_of(0), served = put_numbered(store, 1), found = key_of(2);
	assert_ok(srv_store_record(store, &looked_up, &arena, &record, &err), &err);
	int fd = srv_blob_open(store, &served, &size);
	close(fd);
	assert_ok(srv_store_records(store, &found, &arena, &list, &count, &err), &err);
	assert_true(srv_store_part(store, &part, &blob));
	hob_arena_release(&arena);
	srv_store_close(store);
	/* The times of use survive a restart. */
	store = open_store(*state, 150000);
	pass_seconds(store, 100 * DAY_S);
	srv_store_trim(store, NULL, NULL);
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	assert_int_equal(usage.blob_bytes, 130000);
	assert_true(srv_store_part(store, &part, &blob));
	for (uint32_t i = 0; i < RECORDS - 1; i++)
		assert_int_equal(has(store, i), i < 3 || i >= 10);
	srv_store_close(store);
}

/* Readers answer requests: asking why something was cooked does not protect it from eviction. */
static void a_look_by_a_reader_is_no_use(void **state)
{
	enum { DAY_S = 86400 };
	srv_store *store = open_store(*state, 150000), *reader;
	hob_error err;
	for (uint32_t i = 0; i < RECORDS; i++) {
		put_numbered_record(store, i);
		pass_seconds(store, DAY_S);
	}
	assert_ok(srv_store_commit(store, &err), &err);
	hob_sha256 asked = key_of(0), used = key_of(1);
	srv_record record;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	assert_ok(srv_reader_open(store, &reader, &err), &err);
	assert_ok(srv_reader_begin(reader, 60000, &err), &err);
	assert_ok(srv_store_record(reader, &asked, &arena, &record, &err), &err);
	srv_reader_end(reader);
	srv_reader_close(reader);
	assert_ok(srv_store_record(store, &used, &arena, &record, &err), &err);
	hob_arena_release(&arena);
	srv_store_trim(store, NULL, NULL);
	assert_false(has(store, 0));
	assert_true(has(store, 1));
	srv_store_close(store);
}

static void shared_blob_stays_until_its_last_name_goes(void **state)
{
	srv_store *store = open_store(*state, 15000);
	hob_error err;
	hob_sha256 part_key = key_of(500), twin_key = key_of(501), found;
	put_numbered_record(store, 1);
	hob_sha256 shared = put_numbered(store, 1);
	srv_record_output output = {HOB_STR("meshes"), shared, BLOB_SIZE};
	srv_record second = {.key = key_of(2), .output_count = 1, .outputs = &output};
	assert_ok(srv_store_put_part(store, &part_key, &shared, &err), &err);
	assert_ok(srv_store_put_part(store, &twin_key, &shared, &err), &err);
	pass_seconds(store, 100);
	assert_ok(srv_store_put_record(store, &second, &err), &err);
	pass_seconds(store, 100);
	put_numbered_record(store, 3);
	pass_seconds(store, 100);
	/* 20,000 bytes; only dropping record 1, both parts and record 2 frees the shared blob. */
	srv_store_trim(store, NULL, NULL);
	assert_false(has(store, 1));
	assert_false(has(store, 2));
	assert_true(has(store, 3));
	assert_false(srv_store_part(store, &part_key, &found));
	assert_false(srv_store_part(store, &twin_key, &found));
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	assert_int_equal(usage.blob_bytes, 10000);
	assert_int_equal(usage.part_count, 0);
	srv_store_close(store);
}

static void what_versions_have_in_common_keeps_none(void **state)
{
	srv_store *store = open_store(*state, 40000);
	hob_error err;
	hob_sha256 common = put_blob(store, "the materials of every version");
	for (uint32_t i = 1; i <= 6; i++) {
		srv_record_output outputs[] = {{HOB_STR("materials"), common, 30},
									   {HOB_STR("meshes"), put_numbered(store, i), BLOB_SIZE}};
		srv_record version = {.key = key_of(i), .output_count = 2, .outputs = outputs};
		assert_ok(srv_store_put_record(store, &version, &err), &err);
		pass_seconds(store, 100);
	}
	uint64_t size;
	close(srv_blob_open(store, &common, &size));
	srv_store_trim(store, NULL, NULL);
	for (uint32_t i = 1; i <= 6; i++)
		assert_int_equal(has(store, i), i > 3);
	assert_true(srv_blob_exists(store, &common));
	srv_store_close(store);
}

static void unnamed_blob_goes_after_ten_minutes(void **state)
{
	srv_store *store = open_store(*state, 0);
	put_numbered_record(store, 1);
	hob_sha256 orphan = put_blob(store, "its cook died");
	srv_store_trim(store, NULL, NULL);
	assert_true(srv_blob_exists(store, &orphan));
	pass_seconds(store, 590);
	srv_store_trim(store, NULL, NULL);
	assert_true(srv_blob_exists(store, &orphan));
	pass_seconds(store, 700);
	assert_int_equal(srv_store_trim(store, NULL, NULL), 13);
	assert_false(srv_blob_exists(store, &orphan));
	assert_true(has(store, 1));
	srv_store_close(store);
}

static void orphans_are_found_beside_the_loop(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_error err;
	put_numbered_record(store, 1);
	hob_sha256 orphan = put_blob(store, "its cook died"), late = put_numbered(store, 2),
			   drawn = put_blob(store, "picture");
	hob_sha256 key = key_of(500), *found;
	uint32_t count;
	assert_ok(srv_store_put_part(store, &key, &drawn, &err), &err);
	assert_ok(srv_store_commit(store, &err), &err);
	pass_seconds(store, 700);
	assert_true(srv_store_sweep_is_due(store));
	assert_false(srv_store_sweep_is_due(store));
	assert_ok(srv_store_find_orphans(store, &found, &count, &err), &err);
	assert_int_equal(count, 2);
	srv_record_output output = {HOB_STR("meshes"), late, BLOB_SIZE};
	srv_record record = {.key = key_of(2), .output_count = 1, .outputs = &output};
	assert_ok(srv_store_put_record(store, &record, &err), &err); /* `late` is no longer an orphan */
	assert_int_equal(srv_store_drop_orphans(store, found, count), 13);
	assert_false(srv_blob_exists(store, &orphan));
	assert_true(srv_blob_exists(store, &late));
	assert_true(srv_blob_exists(store, &drawn));
	assert_true(has(store, 1) && has(store, 2));
	free(found);
	srv_store_close(store);
}

static void fresh_blob_survives_a_full_store(void **state)
{
	srv_store *store = open_store(*state, 5000);
	put_numbered_record(store, 1);
	hob_sha256 waiting = put_numbered(store, 2);
	assert_int_equal(srv_store_trim(store, NULL, NULL), 0);
	assert_true(srv_blob_exists(store, &waiting));
	assert_true(has(store, 1));
	srv_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(record_comes_back_whole),
		store_test(every_record_is_walked_whole),
		store_test(records_of_a_lookup_are_newest_first),
		store_test(record_that_names_an_absent_blob_is_refused),
		store_test(outputs_are_added_and_replaced_by_name),
		store_test(lost_index_is_rebuilt_from_the_copies),
		store_test(damaged_copy_is_never_read),
		store_test(eviction_takes_the_oldest_and_never_what_is_live),
		store_test(use_makes_young_again),
		store_test(a_look_by_a_reader_is_no_use),
		store_test(shared_blob_stays_until_its_last_name_goes),
		store_test(what_versions_have_in_common_keeps_none),
		store_test(unnamed_blob_goes_after_ten_minutes),
		store_test(orphans_are_found_beside_the_loop),
		store_test(fresh_blob_survives_a_full_store),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_pack_max = 4096;
	return failed + cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
