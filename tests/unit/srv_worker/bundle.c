/* Several models in one message to a worker (rogue_worker.c): who is blamed, and who is given back. */
#include "tests/unit/support.h"

#include "server/worker/pool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct scene {
	uv_loop_t loop;
	srv_pool *pool;
	int root;
	const char *const *models;
	const char *cancels; /* once another one is given back */
	bool sent;
	uint32_t count, over;
	char said[SRV_BUNDLE][100];
} scene;

static void on_closed(void *user)
{
	(void)user;
}

static void on_ready(void *user)
{
	(void)user;
}

static void on_idle(void *user)
{
	scene *s = user;
	void *jobs[SRV_BUNDLE];
	srv_pool_job orders[SRV_BUNDLE];
	if (s->sent)
		return;
	s->sent = true;
	for (uint32_t i = 0; i < s->count; i++) {
		orders[i] = (srv_pool_job){.path = hob_str_of(s->models[i]), .threads = 1};
		hob_settings_init(&orders[i].settings);
		jobs[i] = s->said[i];
	}
	assert_true(srv_pool_start(s->pool, s->count, jobs, orders));
	assert_int_equal(srv_pool_idle(s->pool), 0);
}

static void on_done(void *user, void *job, srv_outcome *outcome)
{
	scene *s = user;
	assert_string_equal((char *)job, "");
	snprintf(job, sizeof s->said[0], "%s",
			 outcome->ok		  ? "ok"
			 : outcome->unbegun	  ? "given back"
			 : outcome->cancelled ? "cancelled"
								  : outcome->error.context);
	const char *cancels = outcome->unbegun ? s->cancels : NULL;
	s->cancels = cancels ? NULL : s->cancels;
	for (uint32_t i = 0; cancels && i < s->count; i++)
		if (strcmp(s->models[i], cancels) == 0)
			assert_true(srv_pool_cancel(s->pool, s->said[i]));
	if (++s->over == s->count)
		srv_pool_close(s->pool, on_closed, s);
	srv_outcome_free(outcome);
}

static void on_degraded(void *user, const hob_error *why)
{
	(void)user;
	assert_null(why);
}

/* Sends the models in one message, and compares what is said of each. */
static void check(const char *cancels, uint32_t count, const char *const *models, const char *const *said)
{
	static scene s;
	hob_error err;
	s = (scene){
		.models = models, .count = count, .cancels = cancels, .root = open("/tmp", O_RDONLY | O_DIRECTORY)};
	uv_loop_init(&s.loop);
	srv_pool_options options = {.worker_path = ROGUE_WORKER,
								.workers = 1,
								.root_fds = &s.root,
								.root_count = 1,
								.blender = "none",
								.timeout_ms = 20000};
	srv_pool_callbacks callbacks = {
		.user = &s, .ready = on_ready, .idle = on_idle, .done = on_done, .degraded = on_degraded};
	assert_true(srv_pool_new(&s.loop, &options, &callbacks, &s.pool, &err));
	uv_run(&s.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s.loop), 0);
	close(s.root);
	for (uint32_t i = 0; i < count; i++)
		assert_string_equal(s.said[i], said[i]);
}

static void all_are_answered(void **state)
{
	(void)state;
	check(NULL, 8,
		  (const char *const[]){"fine1", "fine2", "fine3", "fine4", "fine5", "fine6", "fine7", "fine8"},
		  (const char *const[]){"ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"});
}

static void the_one_that_dies_is_blamed(void **state)
{
	(void)state;
	check(NULL, 5, (const char *const[]){"fine1", "fine2", "exits", "fine3", "fine4"},
		  (const char *const[]){"ok", "ok", "the cook process exited with code 20", "given back",
								"given back"});
}

static void one_that_is_done_is_not_blamed(void **state)
{
	(void)state;
	check(NULL, 4, (const char *const[]){"fine1", "quiet", "exits", "fine2"},
		  (const char *const[]){"ok", "given back", "the cook process exited with code 20", "given back"});
}

static void behind_one_that_fails_all_are_given_back(void **state)
{
	(void)state;
	check(NULL, 3, (const char *const[]){"good", "exits", "fine"},
		  (const char *const[]){"as it says", "given back", "given back"});
}

static void nobody_waits_long_for_another(void **state)
{
	(void)state;
	check("hang", 4, (const char *const[]){"fine1", "hang", "fine2", "fine3"},
		  (const char *const[]){"ok", "cancelled", "given back", "given back"});
}

static void a_result_that_is_cut_is_refused(void **state)
{
	(void)state;
	check(NULL, 3, (const char *const[]){"fine", "short", "fine"},
		  (const char *const[]){"ok", "the cook process broke its protocol", "given back"});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_answered),
		cmocka_unit_test(the_one_that_dies_is_blamed),
		cmocka_unit_test(one_that_is_done_is_not_blamed),
		cmocka_unit_test(behind_one_that_fails_all_are_given_back),
		cmocka_unit_test(nobody_waits_long_for_another),
		cmocka_unit_test(a_result_that_is_cut_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
