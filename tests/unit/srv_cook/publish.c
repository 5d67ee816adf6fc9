#include "tests/unit/support.h"

#include "server/cook/publish.h"

#include <stdio.h>
#include <stdlib.h>

/* Log of calls, in order: "c" a commit, "v" the view, "e" an event. */
static char trace[256];
static bool commit_fails;
static srv_events *events;
static uint64_t sent_before;

static void note_events(void)
{
	for (uint64_t newest = srv_events_newest(events); sent_before < newest; sent_before++)
		strcat(trace, "e");
}

/* Replaces the store's. */
bool srv_store_commit(srv_store *store, hob_error *err)
{
	(void)store;
	note_events();
	strcat(trace, "c");
	return !commit_fails || hob_fail(err, IO, "no room");
}

static void show(void *user)
{
	(void)user;
	note_events();
	strcat(trace, "v");
}

static int begin(void **state)
{
	srv_publish *p = calloc(1, sizeof *p);
	events = srv_events_new("epoch", 10, 128);
	sent_before = srv_events_newest(events);
	p->events = events;
	trace[0] = 0;
	commit_fails = false;
	*state = p;
	return p && events ? 0 : -1;
}

static int end(void **state)
{
	srv_publish_release(*state);
	srv_events_free(events);
	free(*state);
	return 0;
}

static void take(void *user, const srv_event *event)
{
	hob_buf *out = user;
	hob_buf_printf(out, "%s %.*s %.*s;", event->kind, HOB_FMT(event->asset), HOB_FMT(event->data));
}

static void rows_then_view_then_events(void **state)
{
	srv_publish *p = *state;
	srv_publish_event(p, "job", HOB_STR("art/a.obj"), HOB_STR("1"));
	p->rows = p->view = true;
	srv_publish_event(p, "asset", HOB_STR("art/a.obj"), HOB_STR("2"));
	note_events();
	assert_string_equal(trace, ""); /* nothing is sent before the end */
	assert_true(srv_publish_turn(p, show, NULL, UINT32_MAX));
	note_events();
	assert_string_equal(trace, "cvee");
	hob_buf seen = {0};
	assert_true(srv_events_read(events, 10, 100, take, &seen));
	assert_true(hob_str_equal(hob_buf_str(&seen), HOB_STR("job art/a.obj 1;asset art/a.obj 2;")));
	hob_buf_release(&seen);
	assert_false(p->rows || p->view);
}

static void what_did_not_change_is_not_done(void **state)
{
	srv_publish *p = *state;
	assert_false(srv_publish_turn(p, show, NULL, UINT32_MAX));
	assert_string_equal(trace, "");
	srv_publish_event(p, "job", (hob_str){0}, HOB_STR("{}"));
	assert_false(srv_publish_turn(p, show, NULL, UINT32_MAX));
	note_events();
	assert_string_equal(trace, "e");
}

static void a_failed_commit_hides_nothing(void **state)
{
	srv_publish *p = *state;
	commit_fails = p->rows = p->view = true;
	srv_publish_event(p, "asset", HOB_STR("a"), HOB_STR("{}"));
	assert_true(srv_publish_turn(p, show, NULL, UINT32_MAX));
	note_events();
	assert_string_equal(trace, "cve");
}

static void many_events_keep_their_order(void **state)
{
	srv_publish *p = *state;
	char text[16];
	for (int round = 0; round < 2; round++) {
		uint64_t since = srv_events_newest(events);
		hob_buf seen = {0}, expected = {0};
		for (int i = 0; i < 100; i++) {
			snprintf(text, sizeof text, "%d", i * 37);
			srv_publish_event(p, "job", hob_str_of(text), hob_str_of(text));
			hob_buf_printf(&expected, "job %s %s;", text, text);
		}
		srv_publish_turn(p, show, NULL, UINT32_MAX);
		assert_true(srv_events_read(events, since, 1000, take, &seen));
		assert_true(hob_str_equal(hob_buf_str(&seen), hob_buf_str(&expected)));
		hob_buf_release(&seen);
		hob_buf_release(&expected);
	}
}

static void events_of_several_turns_keep_their_order(void **state)
{
	srv_publish *p = *state;
	uint64_t since = srv_events_newest(events);
	hob_buf seen = {0};
	for (int i = 0; i < 3; i++)
		srv_publish_event(p, "job", HOB_STR("a"), hob_str_of((const char *[]){"1", "2", "3"}[i]));
	p->view = true;
	assert_true(srv_publish_turn(p, show, NULL, 2));
	assert_true(srv_publish_waits(p));
	srv_publish_event(p, "job", HOB_STR("a"), HOB_STR("4"));
	assert_false(srv_publish_turn(p, show, NULL, 2));
	note_events();
	assert_string_equal(trace, "veeee");
	assert_false(srv_publish_waits(p));
	assert_true(srv_events_read(events, since, 100, take, &seen));
	assert_true(hob_str_equal(hob_buf_str(&seen), HOB_STR("job a 1;job a 2;job a 3;job a 4;")));
	hob_buf_release(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_then_view_then_events, begin, end),
		cmocka_unit_test_setup_teardown(what_did_not_change_is_not_done, begin, end),
		cmocka_unit_test_setup_teardown(a_failed_commit_hides_nothing, begin, end),
		cmocka_unit_test_setup_teardown(many_events_keep_their_order, begin, end),
		cmocka_unit_test_setup_teardown(events_of_several_turns_keep_their_order, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
