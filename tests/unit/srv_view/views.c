#include "tests/unit/support.h"

#include "server/view/view.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static srv_view_asset asset_named(const char *full, srv_state state, uint64_t rev)
{
	srv_view_asset a = {
		.full = hob_str_of(full), .state = state, .rev = rev, .source_bytes = 10, .cooked_bytes = 3};
	size_t slash = hob_str_find(a.full, HOB_STR("/"), 0);
	a.root = hob_str_sub(a.full, 0, slash);
	a.path = hob_str_sub(a.full, slash + 1, a.full.len);
	srv_asset_id(a.full, a.id);
	return a;
}

static void put(srv_views *views, const char *full, srv_state state, uint64_t rev)
{
	srv_view_asset a = asset_named(full, state, rev);
	srv_views_put(views, &a);
}

static void changes_are_seen_only_after_publish(void **state)
{
	(void)state;
	srv_views *views = srv_views_new();
	const srv_view *empty = srv_views_take(views);
	assert_int_equal(empty->count, 0);
	assert_false(empty->ready);
	put(views, "art/b.glb", SRV_QUEUED, 1);
	put(views, "art/a.glb", SRV_QUEUED, 1);
	const srv_view *still = srv_views_take(views);
	assert_ptr_equal(still, empty);
	srv_views_publish(views, 1, true);
	const srv_view *first = srv_views_take(views);
	assert_int_equal(first->count, 2);
	assert_true(first->ready);
	assert_int_equal(first->states[SRV_QUEUED], 2);
	assert_int_equal(first->source_bytes, 20);
	assert_true(hob_str_equal(first->assets[0]->full, HOB_STR("art/a.glb")));

	put(views, "art/a.glb", SRV_FAILED, 2);
	put(views, "art/a.glb", SRV_FRESH, 3);
	put(views, "art/c.glb", SRV_QUEUED, 3);
	srv_views_remove(views, HOB_STR("art/b.glb"));
	srv_views_remove(views, HOB_STR("art/nothing.glb"));
	put(views, "art/d.glb", SRV_QUEUED, 3);
	srv_views_remove(views, HOB_STR("art/d.glb"));
	srv_views_publish(views, 3, true);
	const srv_view *second = srv_views_take(views);
	assert_int_equal(second->count, 2);
	assert_int_equal(srv_view_find(second, HOB_STR("art/a.glb"))->rev, 3);
	assert_null(srv_view_find(second, HOB_STR("art/b.glb")));
	assert_int_equal(second->states[SRV_FRESH], 1);
	assert_int_equal(second->states[SRV_QUEUED], 1);
	assert_int_equal(second->states[SRV_FAILED], 0);
	assert_int_equal(second->cooked_bytes, 6);
	/* The older view is unchanged. */
	assert_int_equal(srv_view_find(first, HOB_STR("art/a.glb"))->state, SRV_QUEUED);
	assert_non_null(srv_view_find(first, HOB_STR("art/b.glb")));
	srv_view_drop(second);
	srv_view_drop(empty);
	srv_view_drop(still);
	srv_view_drop(first);
	srv_views_free(views);
}

static void records_are_copied_deeply(void **state)
{
	(void)state;
	srv_views *views = srv_views_new();
	char text[] = "art/duck.glb", stats[] = "{\"meshes\":1}", name[] = "meshes", dep[] = "duck.png",
		 quality[] = "final";
	srv_view_output output = {hob_str_of(name), hob_sha256_of((hob_bytes){0}), 7};
	srv_view_dep need = {.path = hob_str_of(dep), .missing = true};
	srv_view_asset a = asset_named(text, SRV_FRESH, 1);
	a.stats = hob_str_of(stats);
	a.outputs = &output;
	a.output_count = 1;
	a.deps = &need;
	a.dep_count = 1;
	a.quality = quality;
	srv_views_put(views, &a);
	srv_view_root root = {.name = hob_str_of(text),
						  .path = hob_str_of(name),
						  .mode = "inotify",
						  .file_system = "ext4",
						  .probe = "passed",
						  .note = hob_str_of(dep),
						  .files = 5};
	srv_views_set_roots(views, &root, 1);
	memset(text, 'x', sizeof text - 1);
	memset(stats, 'x', sizeof stats - 1);
	memset(name, 'x', sizeof name - 1);
	memset(dep, 'x', sizeof dep - 1);
	memset(quality, 'x', sizeof quality - 1);
	srv_views_publish(views, 1, true);
	const srv_view *view = srv_views_take(views);
	const srv_view_asset *kept = srv_view_find(view, HOB_STR("art/duck.glb"));
	assert_non_null(kept);
	assert_true(hob_str_equal(kept->stats, HOB_STR("{\"meshes\":1}")));
	assert_true(hob_str_equal(kept->outputs[0].name, HOB_STR("meshes")));
	assert_true(hob_str_equal(kept->deps[0].path, HOB_STR("duck.png")));
	assert_string_equal(kept->quality, "final");
	assert_true(hob_str_equal(view->roots[0].note, HOB_STR("duck.png")));
	srv_view_drop(view);
	srv_views_publish(views, 2, true);
	view = srv_views_take(views);
	assert_int_equal(view->root_count, 1);
	srv_view_drop(view);
	srv_views_free(views);
}

static void ids_are_stable_and_distinct(void **state)
{
	(void)state;
	char a[SRV_ASSET_ID + 1], b[SRV_ASSET_ID + 1];
	srv_asset_id(HOB_STR("art/props/duck.glb"), a);
	assert_string_equal(a, "jaamyy42av8c");
	srv_asset_id(HOB_STR("art/props/duck.gltf"), b);
	assert_string_not_equal(a, b);
}

static void states_have_names_both_ways(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SRV_STATE_COUNT; i++) {
		srv_state parsed;
		assert_true(srv_state_parse(hob_str_of(srv_state_name((srv_state)i)), &parsed));
		assert_int_equal(parsed, i);
	}
	srv_state none;
	assert_false(srv_state_parse(HOB_STR("freshly"), &none));
}

/* ---- against a naive model: an array of flags */

enum { NAMES = 300 };

static void any_sequence_of_changes_gives_the_picture_of_a_plain_list(void **state)
{
	(void)state;
	srv_views *views = srv_views_new();
	uint64_t model[NAMES] = {0}; /* rev, 0: absent */
	uint32_t random = 7;
	const srv_view *kept = srv_views_take(views);
	for (uint64_t rev = 1; rev <= 400; rev++) {
		uint32_t changes = rev % 7 == 0 ? 0 : 1 + (random >> 8) % (rev % 50 == 0 ? 200 : 6);
		for (uint32_t i = 0; i < changes; i++) {
			random = random * 1664525u + 1013904223u;
			uint32_t n = (random >> 10) % NAMES;
			char full[32];
			snprintf(full, sizeof full, "r%u/%u", n % 3, n);
			if ((random >> 24) % 3 == 0) {
				srv_views_remove(views, hob_str_of(full));
				model[n] = 0;
			} else {
				put(views, full, (srv_state)(n % SRV_STATE_COUNT), rev);
				model[n] = rev;
			}
			if (rev % 3 == 0 && i % (1 + rev % 4) == 0)
				srv_views_sort(views);
		}
		srv_views_publish(views, rev, true);
		/* Some readers are slow: they hold a view during many publications. */
		if (rev % 13 == 0) {
			srv_view_drop(kept);
			kept = srv_views_take(views);
		}
		const srv_view *view = srv_views_take(views);
		uint32_t count = 0, states[SRV_STATE_COUNT] = {0};
		for (uint32_t n = 0; n < NAMES; n++) {
			char full[32], id[SRV_ASSET_ID + 1];
			snprintf(full, sizeof full, "r%u/%u", n % 3, n);
			srv_asset_id(hob_str_of(full), id);
			const srv_view_asset *a = srv_view_find(view, hob_str_of(full));
			assert_ptr_equal(a, srv_view_find_id(view, hob_str_of(id)));
			assert_int_equal(a ? a->rev : 0, model[n]);
			count += model[n] > 0;
			states[n % SRV_STATE_COUNT] += model[n] > 0;
		}
		assert_int_equal(view->count, count);
		assert_memory_equal(view->states, states, sizeof states);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(srv_view_after(view, view->assets[i]->full), i + 1);
		srv_view_drop(view);
	}
	srv_view_drop(kept);
	srv_views_free(views);
}

static void former_names_are_added_and_taken_out(void **state)
{
	(void)state;
	srv_views *views = srv_views_new();
	put(views, "art/now", SRV_FRESH, 1);
	srv_view_former names[] = {{HOB_STR("art/c"), ""}, {HOB_STR("art/a"), ""}, {HOB_STR("art/b"), ""}};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		srv_asset_id(HOB_STR("art/now"), names[i].id);
	srv_views_add_former(views, names, 2);
	srv_views_publish(views, 1, true);
	const srv_view *first = srv_views_take(views);
	names[1].id[0] = 0;
	srv_views_add_former(views, names + 1, 2); /* removes a, adds b */
	assert_false(srv_views_is_former(views, HOB_STR("art/a")));
	assert_true(srv_views_is_former(views, HOB_STR("art/b")));
	srv_views_add_former(views, names + 1, 1);
	srv_views_publish(views, 2, true);
	const srv_view *second = srv_views_take(views);
	assert_non_null(srv_view_find_moved(first, HOB_STR("art/a")));
	assert_null(srv_view_find_moved(first, HOB_STR("art/b")));
	assert_null(srv_view_find_moved(second, HOB_STR("art/a")));
	assert_non_null(srv_view_find_moved(second, HOB_STR("art/b")));
	assert_non_null(srv_view_find_moved(second, HOB_STR("art/c")));
	srv_view_drop(first);
	srv_view_drop(second);
	srv_views_free(views);
}

/* ---- threads */

typedef struct shared {
	srv_views *views;
	atomic_bool stop;
} shared;

static void *read_views(void *arg)
{
	shared *s = arg;
	uint64_t last = 0;
	while (!atomic_load(&s->stop)) {
		const srv_view *view = srv_views_take(s->views);
		assert_true(view->rev >= last);
		last = view->rev;
		for (uint32_t i = 0; i < view->count; i++)
			assert_true(view->assets[i]->rev <= view->rev);
		srv_view_drop(view);
	}
	return NULL;
}

static void readers_on_other_threads_always_see_one_whole_picture(void **state)
{
	(void)state;
	shared s = {.views = srv_views_new()};
	pthread_t threads[3];
	for (size_t i = 0; i < HOB_COUNT_OF(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_views, &s), 0);
	for (uint64_t rev = 1; rev < 3000; rev++) {
		char full[32];
		snprintf(full, sizeof full, "art/%u", (unsigned)(rev * 7919 % 50));
		if (rev % 5 == 0)
			srv_views_remove(s.views, hob_str_of(full));
		else
			put(s.views, full, SRV_FRESH, rev);
		srv_views_publish(s.views, rev, true);
	}
	atomic_store(&s.stop, true);
	for (size_t i = 0; i < HOB_COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	srv_views_free(s.views);
}

/* Rows: newest job's result. Cells: standing at rest and while busy, without and with a good version. */
static void every_standing_is_as_the_table_says(void **unused)
{
	(void)unused;
	enum { F = SRV_STANDING_FRESH, U = SRV_STANDING_UPDATING, W = SRV_STANDING_WAITING };
	enum { BR = SRV_STANDING_BROKEN, BL = SRV_STANDING_BLOCKED, IN = SRV_STANDING_INTERRUPTED };
	static const struct {
		int newest, rest[2], busy[2];
	} grid[] = {{F, {W, F}, {W, U}}, {BR, {BR, BR}, {W, U}}, {BL, {BL, BL}, {W, U}}, {IN, {IN, IN}, {W, U}}};
	for (size_t row = 0; row < HOB_COUNT_OF(grid); row++)
		for (int good = 0; good < 2; good++) {
			srv_standing_facts f = {
				.alive = true, .has_good = good, .newest = (srv_standing)grid[row].newest};
			assert_int_equal(srv_standing_of(&f), grid[row].rest[good]);
			f.busy = true;
			assert_int_equal(srv_standing_of(&f), grid[row].busy[good]);
			f.away = true;
			assert_int_equal(srv_standing_of(&f), SRV_STANDING_MISSING);
			f = (srv_standing_facts){
				.alive = true, .skipped = true, .busy = good, .newest = (srv_standing)grid[row].newest};
			assert_int_equal(srv_standing_of(&f), SRV_STANDING_SKIPPED);
			f = (srv_standing_facts){.skipped = true, .newest = (srv_standing)grid[row].newest, .busy = good};
			assert_int_equal(srv_standing_of(&f), SRV_STANDING_REMOVED);
		}
	static const char problem[SRV_STANDINGS][2] = {
		[BR] = {1, 1}, [BL] = {1, 1}, [IN] = {1, 1}, [U] = {0, 1}, [W] = {0, 1}};
	for (int i = 0; i < SRV_STANDINGS; i++) {
		assert_int_equal(srv_standing_is_problem((srv_standing)i, false), problem[i][0]);
		assert_int_equal(srv_standing_is_problem((srv_standing)i, true), problem[i][1]);
		assert_true(srv_standing_name((srv_standing)i)[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_seen_only_after_publish),
		cmocka_unit_test(records_are_copied_deeply),
		cmocka_unit_test(ids_are_stable_and_distinct),
		cmocka_unit_test(every_standing_is_as_the_table_says),
		cmocka_unit_test(states_have_names_both_ways),
		cmocka_unit_test(any_sequence_of_changes_gives_the_picture_of_a_plain_list),
		cmocka_unit_test(former_names_are_added_and_taken_out),
		cmocka_unit_test(readers_on_other_threads_always_see_one_whole_picture),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
