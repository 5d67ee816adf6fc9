#include "core/base/guard.h"
#include "tests/unit/support.h"

#include <pthread.h>

enum { LIMIT = 1 << 20, PIECE = 1000 };

typedef struct work {
	hob_arena *outer;
	hob_buf *kept;
	const hob_parallel *parallel;
	int depth;
	bool inner_failed;
	uint32_t left[8]; /* tasks: those that were not left */
} work;

static bool fill(void *context, hob_error *err)
{
	(void)err;
	work *w = context;
	hob_arena own;
	hob_buf text = {0};
	hob_arena_init(&own, LIMIT);
	assert_non_null(HOB_NEW(&own, uint8_t, PIECE));
	hob_buf_printf(&text, "more than nothing");
	while (HOB_NEW(w->outer, uint8_t, PIECE))
		;
	fail_msg("an arena answered NULL");
	return true;
}

static bool add_block(void *arena, hob_error *err)
{
	(void)err;
	HOB_NEW((hob_arena *)arena, uint8_t, LIMIT / 2);
	return true;
}

static bool fill_within(void *context, hob_error *err)
{
	work *w = context;
	hob_buf text = {0};
	hob_buf_put(&text, "a", 1);
	hob_error inner = {0};
	hob_arena between;
	hob_arena_init(&between, LIMIT);
	assert_true(hob_guarded(add_block, &between, NULL)); /* a block of this guard, not of the inner one */
	w->inner_failed = !hob_guarded(fill, w, &inner) && inner.code == HOB_ERR_MEMORY;
	hob_arena more;
	hob_arena_init(&more, PIECE / 2);
	HOB_NEW(&more, uint8_t, PIECE / 4);
	return HOB_NEW(&more, uint8_t, PIECE) && !err;
}

static void the_body_is_left(void **state)
{
	(void)state;
	hob_arena arena;
	hob_error err = {0};
	hob_arena_init(&arena, LIMIT);
	uint8_t *first = HOB_NEW(&arena, uint8_t, 1);
	*first = 7;
	work w = {.outer = &arena};
	assert_false(hob_guarded(fill, &w, &err));
	assert_int_equal(err.code, HOB_ERR_MEMORY);
	assert_int_equal(*first, 7);
	assert_true(arena.used > LIMIT - 2 * PIECE);
	assert_null(HOB_NEW(&arena, uint8_t, LIMIT)); /* as before a guard */
	hob_arena_release(&arena);
}

static void guards_within_guards(void **state)
{
	(void)state;
	hob_arena arena;
	hob_error err = {0};
	hob_arena_init(&arena, LIMIT);
	work w = {.outer = &arena};
	assert_false(hob_guarded(fill_within, &w, &err));
	assert_true(w.inner_failed);
	assert_int_equal(err.code, HOB_ERR_MEMORY);
	hob_arena_release(&arena);
}

static bool keep_text(void *context, hob_error *err)
{
	(void)err;
	work *w = context;
	hob_buf_printf(w->kept, "%s", "kept");
	hob_arena_init(w->outer, LIMIT);
	HOB_NEW(w->outer, uint8_t, PIECE);
	return true;
}

/* A buffer and an arena that a body fills for its caller. */
static void a_result_stays(void **state)
{
	(void)state;
	hob_arena arena;
	hob_buf text = {0};
	work w = {.outer = &arena, .kept = &text};
	hob_error err = {0};
	assert_true(hob_guarded(keep_text, &w, &err));
	for (int i = 0; i < 1000; i++)
		hob_buf_put(&text, "text", 4);
	hob_buf_release(&text);
	assert_non_null(HOB_NEW(&arena, uint8_t, PIECE));
	hob_arena_release(&arena);
}

static bool suspended(void *context, hob_error *err)
{
	(void)context;
	hob_arena small;
	hob_arena_init(&small, 1);
	struct hob_guard *guard = hob_guard_suspend();
	void *none = HOB_NEW(&small, uint8_t, 2);
	hob_guard_resume(guard);
	return !none && hob_fail(err, EMPTY, "reached");
}

static void a_library_is_not_left(void **state)
{
	(void)state;
	hob_error err = {0};
	assert_false(hob_guarded(suspended, NULL, &err));
	assert_int_equal(err.code, HOB_ERR_EMPTY);
}

/* ---- errors from any depth */

static bool leave_inside(void *context, hob_error *err)
{
	(void)err;
	const hob_error *returned = context;
	hob_place clip = {.kind = "clip", .name = HOB_STR("walk")}, left = clip;
	hob_place element = {.name = HOB_STR("box"), .line = 7}, mesh = {.kind = "mesh", .line = 9};
	hob_place_enter(&clip);
	hob_place_enter(&left);
	hob_place_exit(&left);
	hob_place_enter(&mesh);
	hob_place_enter(&element);
	if (returned)
		hob_leave_with(returned);
	hob_leave(LIMIT, "more than %d", 3);
}

static bool leave_twice(void *context, hob_error *err)
{
	hob_place file = {.kind = "file", .name = HOB_STR("a")};
	hob_place_enter(&file);
	if (!hob_guarded(leave_inside, context, err))
		hob_leave_with(err);
	return true;
}

static bool leave_forms(void *context, hob_error *err)
{
	HOB_PLACE("meshes[#] '@'", 3, HOB_STR("hull"));
	{
		HOB_PLACE("left", 0, {0});
	}
	hob_error why = {.code = context ? HOB_ERR_MEMORY : HOB_ERR_CORRUPT, .context = "bad"};
	for (uint32_t i = 0; i < 9; i++) {
		HOB_PLACE("primitive #", i, {0});
		hob_need(i < 8, &why);
	}
	return err != NULL;
}

static void forms_of_places(void **state)
{
	(void)state;
	hob_error err = {0};
	assert_false(hob_guarded(leave_forms, NULL, &err));
	assert_string_equal(err.context, "bad; primitive 8; meshes[3] 'hull'");
	assert_false(hob_guarded(leave_forms, &err, &err));
	assert_string_equal(err.context, "bad");
}

static void an_error_names_its_places(void **state)
{
	(void)state;
	hob_error err = {0}, missing = {.code = HOB_ERR_MISSING_FILE, .context = "no 'b'"};
	assert_false(hob_guarded(leave_inside, NULL, &err));
	assert_int_equal(err.code, HOB_ERR_LIMIT);
	assert_non_null(strstr(err.file, "guard.c"));
	assert_string_equal(err.context, "more than 3; line 7, <box>; line 9, mesh ''; clip 'walk'");
	assert_false(hob_guarded(leave_twice, NULL, &err));
	assert_string_equal(err.context, "more than 3; line 7, <box>; line 9, mesh ''; clip 'walk'; file 'a'");
	assert_false(hob_guarded(leave_inside, &missing, &err));
	assert_string_equal(err.context, "no 'b'");
}

/* ---- tasks */

enum { THREADS = 4, TASKS = 8 };

typedef struct thread_t {
	pthread_t id;
	uint32_t number;
	hob_task task;
	void *context;
} thread_t;

static void *run_thread(void *arg)
{
	thread_t *thread = arg;
	for (uint32_t i = thread->number; i < TASKS; i += THREADS)
		thread->task(thread->context, i, thread->number);
	return NULL;
}

static void run_all(void *user, uint32_t count, hob_task task, void *context)
{
	(void)user;
	assert_int_equal(count, TASKS);
	thread_t threads[THREADS];
	for (uint32_t i = 0; i < THREADS; i++) {
		threads[i] = (thread_t){.number = i, .task = task, .context = context};
		assert_int_equal(pthread_create(&threads[i].id, NULL, run_thread, &threads[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
}

static void small_task(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	work *w = context;
	hob_arena arena;
	hob_arena_init(&arena, index == 5 ? PIECE : LIMIT);
	HOB_NEW(&arena, uint8_t, PIECE / 2);
	HOB_NEW(&arena, uint8_t, PIECE);
	w->left[index] = 1;
	hob_arena_release(&arena);
}

static bool run_tasks(void *context, hob_error *err)
{
	work *w = context;
	hob_parallel_for(w->parallel, TASKS, small_task, w);
	return hob_fail(err, EMPTY, "not reached");
}

static void a_task_is_left(void **state)
{
	(void)state;
	hob_parallel parallel = {NULL, THREADS, run_all};
	const hob_parallel *ways[] = {&parallel, NULL};
	for (size_t i = 0; i < HOB_COUNT_OF(ways); i++) {
		work w = {.parallel = ways[i]};
		hob_error err = {0};
		assert_false(hob_guarded(run_tasks, &w, &err));
		assert_int_equal(err.code, HOB_ERR_MEMORY);
		assert_int_equal(w.left[5], 0);
		if (!ways[i]) /* with threads, task 5 may be the first */
			assert_int_equal(w.left[0], 1);
	}
}

static bool forget(void *context, hob_error *err)
{
	(void)err;
	hob_buf forgotten = {0};
	hob_buf_put((hob_buf *)context, "kept", 4);
	hob_buf_put(&forgotten, "forgotten", 9);
	return true;
}

/* The sanitizer would report the buffer as a leak. */
static void a_whole_body_keeps_no_buffer(void **state)
{
	(void)state;
	hob_buf older = {0};
	hob_error err = {0};
	hob_buf_put(&older, "older, ", 7);
	assert_true(hob_guarded_whole(forget, &older, &err));
	assert_true(hob_str_equal(hob_buf_str(&older), HOB_STR("older, kept")));
	hob_buf_release(&older);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_body_is_left), cmocka_unit_test(guards_within_guards),
		cmocka_unit_test(a_result_stays),	cmocka_unit_test(a_library_is_not_left),
		cmocka_unit_test(a_task_is_left),	cmocka_unit_test(an_error_names_its_places),
		cmocka_unit_test(forms_of_places),	cmocka_unit_test(a_whole_body_keeps_no_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
