#include "tests/unit/srv_store/store_support.h"
#include "tests/unit/support.h"

#include "server/query/questions.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A real store, real views and the thread; the test makes the requests. */

enum { ASKED_MAX = 2 * SRV_QUERY_WAITING_MAX + 64, DEADLINE_S = 60 };

typedef struct room {
	temp_folder *dir;
	srv_store *store;
	srv_views *views;
	srv_query *query;
	int folder;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	srv_control controls[ASKED_MAX];
	uint32_t answers[ASKED_MAX], total;
	int status;
	char body[4096]; /* of the newest answer */
} room;

static void on_answer(srv_control *control, int status, hob_str body)
{
	room *r = control->user;
	pthread_mutex_lock(&r->lock);
	r->answers[control - r->controls]++;
	r->total++;
	r->status = status;
	snprintf(r->body, sizeof r->body, "%.*s", HOB_FMT(body));
	pthread_cond_broadcast(&r->answered);
	pthread_mutex_unlock(&r->lock);
}

static srv_control *control_of(room *r, uint32_t index, srv_control_kind kind)
{
	srv_control *control = &r->controls[index];
	*control = (srv_control){.kind = kind, .user = r, .answer = on_answer};
	return control;
}

static void post(room *r, srv_control *control)
{
	srv_control_port port = srv_query_port(r->query);
	port.post(port.user, control);
}

static void await_total(room *r, uint32_t total)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += DEADLINE_S;
	pthread_mutex_lock(&r->lock);
	while (r->total < total)
		assert_int_equal(pthread_cond_timedwait(&r->answered, &r->lock, &until), 0);
	pthread_mutex_unlock(&r->lock);
}

/* Sends a request and waits; the answer is in status and body. */
static int ask(room *r, srv_control_kind kind, const char *asset, uint64_t number)
{
	srv_control *control = control_of(r, 0, kind);
	control->asset = hob_str_of(asset);
	control->number = number;
	uint32_t before = r->total;
	post(r, control);
	await_total(r, before + 1);
	return r->status;
}

static int make_room(void **state)
{
	hob_error err;
	room *r = calloc(1, sizeof *r);
	r->dir = calloc(1, sizeof *r->dir);
	folder_make(r->dir);
	r->store = open_store(r->dir, 0);
	r->views = srv_views_new();
	r->folder = open(folder_at(r->dir, "."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->answered, NULL);
	assert_ok(srv_query_new(r->store, r->views, &r->query, &err), &err);
	*state = r;
	return 0;
}

static int remove_room(void **state)
{
	room *r = *state;
	srv_query_close(r->query);
	srv_views_free(r->views);
	srv_store_close(r->store);
	close(r->folder);
	folder_remove(r->dir);
	free(r->dir);
	free(r);
	return 0;
}

static void put_root(room *r)
{
	srv_view_root root = {
		.name = HOB_STR("art"), .path = HOB_STR("/art"), .mode = "inotify", .folder = r->folder};
	hob_settings_init(&root.settings);
	srv_views_set_roots(r->views, &root, 1);
}

static void put_asset(room *r, const char *full, uint64_t rev, const srv_view_dep *deps, uint32_t count)
{
	srv_view_asset a = {.full = hob_str_of(full),
						.state = SRV_FRESH,
						.rev = rev,
						.deps = deps,
						.dep_count = count,
						.expected_ns = 2000000};
	a.root = hob_str_sub(a.full, 0, 3);
	a.path = hob_str_sub(a.full, 4, a.full.len);
	a.last.bytes[0] = 1;
	srv_asset_id(a.full, a.id);
	srv_views_put(r->views, &a);
}

static void put_job(room *r, uint64_t id, const char *asset)
{
	hob_error err;
	srv_job_row row = {.id = id,
					   .asset = hob_str_of(asset),
					   .reason = HOB_STR("[]"),
					   .result = HOB_STR("cooked"),
					   .finished_at_ms = 1000,
					   .log = HOB_STR("printed")};
	assert_ok(srv_store_put_job(r->store, &row, &err), &err);
	assert_ok(srv_store_commit(r->store, &err), &err);
}

static void what_is_committed_before_the_question_is_found(void **state)
{
	room *r = *state;
	enum { TIMES = 2000 };
	for (uint64_t i = 1; i <= TIMES; i++) {
		put_job(r, i, "art/a.obj");
		assert_int_equal(ask(r, SRV_CONTROL_JOB, "", i), 200);
	}
	assert_int_equal(ask(r, SRV_CONTROL_JOB, "", TIMES + 1), 404);
	assert_int_equal(ask(r, SRV_CONTROL_LOG, "art/a.obj", 0), 200);
	assert_string_equal(r->body, "printed");
}

static void rows_that_are_not_committed_are_not_seen(void **state)
{
	room *r = *state;
	hob_error err;
	srv_job_row row = {.id = 7, .asset = HOB_STR("art/a.obj"), .result = HOB_STR("cooked")};
	put_job(r, 6, "art/a.obj");
	assert_ok(srv_store_put_job(r->store, &row, &err), &err);
	assert_int_equal(ask(r, SRV_CONTROL_JOB, "", 7), 404);
	assert_ok(srv_store_commit(r->store, &err), &err);
	assert_int_equal(ask(r, SRV_CONTROL_JOB, "", 7), 200);
}

/* An answer that blocks until the test releases it, with the thread inside. */
typedef struct gate {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool entered, open;
} gate;

static void on_gate(srv_control *control, int status, hob_str body)
{
	gate *g = control->user;
	(void)status;
	(void)body;
	pthread_mutex_lock(&g->lock);
	g->entered = true;
	pthread_cond_broadcast(&g->moved);
	while (!g->open)
		pthread_cond_wait(&g->moved, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void hold_thread(room *r, gate *g, srv_control *control)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += DEADLINE_S;
	*control = (srv_control){.kind = SRV_CONTROL_JOBS, .user = g, .answer = on_gate};
	post(r, control);
	pthread_mutex_lock(&g->lock);
	while (!g->entered)
		assert_int_equal(pthread_cond_timedwait(&g->moved, &g->lock, &until), 0);
	pthread_mutex_unlock(&g->lock);
}

static void open_gate(gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->moved);
	pthread_mutex_unlock(&g->lock);
}

static void more_than_fit_are_refused_and_the_rest_is_answered_once(void **state)
{
	room *r = *state;
	static gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
	static srv_control first;
	hold_thread(r, &g, &first);
	for (uint32_t i = 0; i < SRV_QUERY_WAITING_MAX; i++)
		post(r, control_of(r, i, SRV_CONTROL_JOBS));
	assert_int_equal(r->total, 0);
	post(r, control_of(r, SRV_QUERY_WAITING_MAX, SRV_CONTROL_JOBS));
	assert_int_equal(r->total, 1);
	assert_int_equal(r->status, 503);
	open_gate(&g);
	await_total(r, SRV_QUERY_WAITING_MAX + 1);
	for (uint32_t i = 0; i <= SRV_QUERY_WAITING_MAX; i++)
		assert_int_equal(r->answers[i], 1);
}

static void *open_later(void *g)
{
	open_gate(g);
	return NULL;
}

static void closing_answers_what_waits(void **state)
{
	room *r = *state;
	enum { ASKED = 300 };
	static gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
	static srv_control first;
	pthread_t opener;
	hold_thread(r, &g, &first);
	for (uint32_t i = 0; i < ASKED; i++)
		post(r, control_of(r, i, SRV_CONTROL_JOBS));
	assert_int_equal(pthread_create(&opener, NULL, open_later, &g), 0);
	srv_query_close(r->query);
	r->query = NULL;
	pthread_join(opener, NULL);
	assert_int_equal(r->total, ASKED);
	for (uint32_t i = 0; i < ASKED; i++)
		assert_int_equal(r->answers[i], 1);
}

static void an_index_that_was_made_anew_is_opened_again(void **state)
{
	room *r = *state;
	hob_error err;
	put_job(r, 1, "art/a.obj");
	assert_int_equal(ask(r, SRV_CONTROL_JOB, "", 1), 200);
	assert_ok(srv_store_rebuild(r->store, &err), &err);
	assert_int_equal(ask(r, SRV_CONTROL_JOB, "", 1), 404); /* past jobs are lost with the index */
	put_job(r, 2, "art/a.obj");
	assert_int_equal(ask(r, SRV_CONTROL_JOB, "", 2), 200);
	assert_false(srv_store_is_damaged(r->store));
}

static void what_the_loop_listed_is_not_listed_twice(void **state)
{
	room *r = *state;
	put_job(r, 1, "art/a.obj");
	put_job(r, 2, "art/a.obj");
	srv_control *control = control_of(r, 0, SRV_CONTROL_JOBS);
	control->tag = HOB_STR("{\"id\":2,\"state\":\"cooking\"},{\"id\":12,\"state\":\"queued\"}");
	post(r, control);
	await_total(r, 1);
	assert_int_equal(r->status, 200);
	assert_non_null(strstr(r->body, "\"state\":\"cooking\"},{\"id\":12,\"state\":\"queued\"},{\"id\":1,"));
	assert_null(strstr(strstr(r->body, "{\"id\":2,") + 1, "{\"id\":2,"));
	control = control_of(r, 1, SRV_CONTROL_JOBS);
	control->tag = HOB_STR("{\"id\":9,\"state\":\"queued\"}");
	control->number2 = 2;
	post(r, control);
	await_total(r, 2);
	assert_non_null(strstr(r->body, "\"next\":\"2\""));
}

static void what_if_follows_parts_and_settings(void **state)
{
	room *r = *state;
	const srv_view_dep on_picture = {.path = HOB_STR("t/wood.png")}, on_part = {.path = HOB_STR("a.obj")};
	const srv_view_dep both[2] = {on_part, on_picture};
	put_root(r);
	put_asset(r, "art/a.obj", 1, &on_picture, 1);
	put_asset(r, "art/all.merge", 1, both, 2);
	put_asset(r, "art/t/b.obj", 1, NULL, 0);
	srv_views_set_extensions(r->views, HOB_STR("\nobj\nmerge\n"));
	srv_views_publish(r->views, 1, true);
	srv_control *control = control_of(r, 0, SRV_CONTROL_WHAT_IF);
	control->text = HOB_STR("art/t/wood.png");
	post(r, control);
	await_total(r, 1);
	assert_int_equal(r->status, 200);
	assert_non_null(strstr(r->body, "\"count\":2,\"shared\":true,\"expected_ms\":4.000"));
	assert_non_null(strstr(r->body, "\"chain\":[\"art/t/wood.png\",\"art/a.obj\",\"art/all.merge\"]"));
	control = control_of(r, 1, SRV_CONTROL_WHAT_IF);
	control->text = HOB_STR("art/t/cook.json");
	post(r, control);
	await_total(r, 2);
	assert_non_null(strstr(r->body, "\"count\":1,"));
	assert_non_null(strstr(r->body, "\"use\":\"settings\""));
	control = control_of(r, 2, SRV_CONTROL_WHAT_IF);
	control->text = HOB_STR("art/new.OBJ");
	post(r, control);
	await_total(r, 3);
	assert_non_null(strstr(r->body, "a file of this name would be a new asset"));
}

static void settings_of_a_missing_root_are_refused(void **state)
{
	room *r = *state;
	srv_view_root root = {.name = HOB_STR("art"),
						  .path = HOB_STR("/art"),
						  .mode = "missing",
						  .note = HOB_STR("the disk is away"),
						  .missing_since_ms = 5,
						  .folder = r->folder};
	hob_settings_init(&root.settings);
	srv_views_set_roots(r->views, &root, 1);
	put_asset(r, "art/a.obj", 1, NULL, 0);
	srv_views_publish(r->views, 1, true);
	assert_int_equal(ask(r, SRV_CONTROL_SETTINGS, "art/a.obj", 0), 409);
	assert_non_null(strstr(r->body, "the disk is away"));
	put_root(r);
	srv_views_publish(r->views, 2, true);
	assert_int_equal(ask(r, SRV_CONTROL_SETTINGS, "art/a.obj", 0), 200);
	assert_int_equal(ask(r, SRV_CONTROL_SETTINGS, "art/none.obj", 0), 404);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_committed_before_the_question_is_found, make_room,
										remove_room),
		cmocka_unit_test_setup_teardown(rows_that_are_not_committed_are_not_seen, make_room, remove_room),
		cmocka_unit_test_setup_teardown(more_than_fit_are_refused_and_the_rest_is_answered_once, make_room,
										remove_room),
		cmocka_unit_test_setup_teardown(closing_answers_what_waits, make_room, remove_room),
		cmocka_unit_test_setup_teardown(an_index_that_was_made_anew_is_opened_again, make_room, remove_room),
		cmocka_unit_test_setup_teardown(what_the_loop_listed_is_not_listed_twice, make_room, remove_room),
		cmocka_unit_test_setup_teardown(what_if_follows_parts_and_settings, make_room, remove_room),
		cmocka_unit_test_setup_teardown(settings_of_a_missing_root_are_refused, make_room, remove_room),
	};
	return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
