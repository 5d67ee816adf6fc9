#include "tests/unit/support.h"

#include "server/events/events.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct seen {
	uint64_t first, last, count;
	char text[256]; /* "kind asset data;" for each */
} seen;

static void note(void *user, const srv_event *event)
{
	seen *s = user;
	if (s->count++ == 0)
		s->first = event->seq;
	else
		assert_int_equal(event->seq, s->last + 1);
	s->last = event->seq;
	size_t used = strlen(s->text);
	snprintf(s->text + used, sizeof s->text - used, "%s %.*s %.*s;", event->kind, HOB_FMT(event->asset),
			 HOB_FMT(event->data));
}

static void events_come_back_in_order_with_their_text(void **state)
{
	(void)state;
	srv_events *events = srv_events_new("7c1e", 41, 8);
	assert_string_equal(srv_events_epoch(events), "7c1e");
	assert_int_equal(srv_events_newest(events), 41);
	assert_int_equal(srv_events_oldest(events), 42);
	assert_int_equal(srv_events_publish(events, "asset", HOB_STR("art/a.glb"), HOB_STR("{1}")), 42);
	assert_int_equal(srv_events_publish(events, "job", (hob_str){0}, HOB_STR("{2}")), 43);
	assert_int_equal(srv_events_publish(events, "log", (hob_str){0}, (hob_str){0}), 44);
	seen s = {0};
	assert_true(srv_events_read(events, 41, 100, note, &s));
	assert_string_equal(s.text, "asset art/a.glb {1};job  {2};log  ;");
	s = (seen){0};
	assert_true(srv_events_read(events, 42, 1, note, &s));
	assert_string_equal(s.text, "job  {2};");
	s = (seen){0};
	assert_true(srv_events_read(events, 44, 100, note, &s));
	assert_int_equal(s.count, 0);
	srv_events_free(events);
}

static void a_reader_behind_the_ring_or_ahead_of_it_must_resync(void **state)
{
	(void)state;
	srv_events *events = srv_events_new("7c1e", 100, 4);
	seen s = {0};
	assert_false(srv_events_read(events, 99, 10, note, &s));
	assert_true(srv_events_read(events, 100, 10, note, &s));
	assert_false(srv_events_read(events, 101, 10, note, &s));
	for (int i = 0; i < 10; i++)
		srv_events_publish(events, "asset", (hob_str){0}, HOB_STR("{}"));
	assert_int_equal(srv_events_newest(events), 110);
	assert_int_equal(srv_events_oldest(events), 107);
	assert_false(srv_events_read(events, 105, 10, note, &s));
	assert_int_equal(s.count, 0);
	assert_true(srv_events_read(events, 106, 10, note, &s));
	assert_int_equal(s.first, 107);
	assert_int_equal(s.last, 110);
	srv_events_free(events);
}

static void the_ring_is_bounded_in_bytes_too(void **state)
{
	(void)state;
	srv_events *events = srv_events_new("7c1e", 0, 1000);
	size_t size = 10 << 20;
	char *big = calloc(1, size);
	assert_non_null(big);
	for (int i = 0; i < 20; i++)
		srv_events_publish(events, "log", (hob_str){0}, (hob_str){big, size});
	assert_int_equal(srv_events_newest(events), 20);
	assert_int_equal(srv_events_oldest(events), 15);
	free(big);
	srv_events_free(events);
}

static void wakers_are_written_once_each_time_they_wait(void **state)
{
	(void)state;
	srv_events *events = srv_events_new("7c1e", 0, 8);
	int a = eventfd(0, EFD_NONBLOCK), b = eventfd(0, EFD_NONBLOCK);
	uint64_t value;
	srv_events_add_waker(events, a);
	srv_events_add_waker(events, b);
	srv_events_publish(events, "job", (hob_str){0}, HOB_STR("{}"));
	assert_int_equal(read(a, &value, 8), -1); /* nobody waits */
	srv_events_await(events, a);
	srv_events_await(events, b);
	for (int i = 0; i < 3; i++)
		srv_events_publish(events, "job", (hob_str){0}, HOB_STR("{}"));
	assert_int_equal(read(a, &value, 8), 8);
	assert_int_equal(value, 1);
	assert_int_equal(read(b, &value, 8), 8);
	srv_events_await(events, a);
	srv_events_await(events, b);
	srv_events_remove_waker(events, a);
	srv_events_publish(events, "job", (hob_str){0}, HOB_STR("{}"));
	assert_int_equal(read(a, &value, 8), -1);
	assert_int_equal(read(b, &value, 8), 8);
	close(a);
	close(b);
	srv_events_free(events);
}

/* ---- threads */

enum { EVENTS = 20000, READERS = 4 };

typedef struct reader {
	srv_events *events;
	int waker;
	uint64_t at, got, lost;
} reader;

static void follow_one(void *user, const srv_event *event)
{
	reader *r = user;
	char expected[32];
	snprintf(expected, sizeof expected, "{\"n\":%llu}", (unsigned long long)event->seq);
	assert_true(hob_str_equal(event->data, hob_str_of(expected)));
	assert_int_equal(event->seq, r->at + 1);
	r->at = event->seq;
	r->got++;
}

static void *follow(void *arg)
{
	reader *r = arg;
	while (r->at < EVENTS) {
		struct pollfd p = {r->waker, POLLIN, 0};
		srv_events_await(r->events, r->waker);
		if (srv_events_newest(r->events) == r->at && poll(&p, 1, 20000) != 1)
			break;
		uint64_t value;
		ssize_t got = read(r->waker, &value, sizeof value);
		(void)got;
		if (!srv_events_read(r->events, r->at, 64, follow_one, r)) {
			uint64_t newest = srv_events_newest(r->events);
			r->lost += newest - r->at;
			r->at = newest;
		}
	}
	return NULL;
}

static void readers_on_other_threads_miss_nothing_unnoticed(void **state)
{
	(void)state;
	srv_events *events = srv_events_new("7c1e", 0, 256);
	reader readers[READERS];
	pthread_t threads[READERS];
	for (int i = 0; i < READERS; i++) {
		readers[i] = (reader){.events = events, .waker = eventfd(0, EFD_NONBLOCK)};
		srv_events_add_waker(events, readers[i].waker);
		assert_int_equal(pthread_create(&threads[i], NULL, follow, &readers[i]), 0);
	}
	for (int i = 1; i <= EVENTS; i++) {
		char data[32];
		int size = snprintf(data, sizeof data, "{\"n\":%d}", i);
		srv_events_publish(events, "asset", HOB_STR("art/a.glb"), (hob_str){data, (size_t)size});
	}
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].at, EVENTS);
		assert_int_equal(readers[i].got + readers[i].lost, EVENTS);
		close(readers[i].waker);
	}
	srv_events_free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_back_in_order_with_their_text),
		cmocka_unit_test(a_reader_behind_the_ring_or_ahead_of_it_must_resync),
		cmocka_unit_test(the_ring_is_bounded_in_bytes_too),
		cmocka_unit_test(wakers_are_written_once_each_time_they_wait),
		cmocka_unit_test(readers_on_other_threads_miss_nothing_unnoticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
