#include "tests/unit/support.h"

#include "server/queue/queue.h"

static void classes_come_first_then_the_cost_then_the_oldest(void **state)
{
	(void)state;
	srv_queue *queue = srv_queue_new();
	assert_int_equal(srv_queue_most_urgent(queue), SRV_PRIORITY_COUNT);
	static const struct {
		srv_priority priority;
		uint64_t cost;
	} in[] = {{SRV_PRIORITY_BACKGROUND, 1}, {SRV_PRIORITY_CHANGED, 9},	 {SRV_PRIORITY_IN_USE, 900},
			  {SRV_PRIORITY_CHANGED, 5},	{SRV_PRIORITY_IN_USE, 800},	 {SRV_PRIORITY_INTERACTIVE, 7000},
			  {SRV_PRIORITY_CHANGED, 5},	{SRV_PRIORITY_BACKGROUND, 3}};
	static const uint32_t out[] = {5, 4, 2, 3, 6, 1, 7, 0};
	for (uint32_t i = 0; i < HOB_COUNT_OF(in); i++)
		assert_true(srv_queue_push(queue, i, in[i].priority, in[i].cost));
	assert_int_equal(srv_queue_count_of(queue, SRV_PRIORITY_CHANGED), 3);
	assert_int_equal(srv_queue_count_of(queue, SRV_PRIORITY_IN_USE), 2);
	uint32_t peeked[HOB_COUNT_OF(out)];
	assert_int_equal(srv_queue_peek(queue, peeked, HOB_COUNT_OF(out)), HOB_COUNT_OF(out));
	assert_memory_equal(peeked, out, sizeof out);
	for (uint32_t i = 0; i < HOB_COUNT_OF(out); i++) {
		srv_priority priority;
		assert_int_equal(srv_queue_most_urgent(queue), in[out[i]].priority);
		assert_int_equal(srv_queue_pop(queue, &priority), out[i]);
		assert_int_equal(priority, in[out[i]].priority);
	}
	for (int i = 0; i < SRV_PRIORITY_COUNT; i++)
		assert_int_equal(srv_queue_count_of(queue, (srv_priority)i), 0);
	assert_int_equal(srv_queue_pop(queue, NULL), HOB_NONE);
	srv_queue_free(queue);
}

static void a_class_is_raised_and_never_lowered(void **state)
{
	(void)state;
	srv_queue *queue = srv_queue_new();
	for (uint32_t i = 0; i < 20; i++)
		assert_true(srv_queue_push(queue, i, SRV_PRIORITY_CHANGED, 10 + i));
	assert_true(srv_queue_push(queue, 17, SRV_PRIORITY_IN_USE, 0));
	assert_true(srv_queue_push(queue, 17, SRV_PRIORITY_BACKGROUND, 0));
	assert_int_equal(srv_queue_priority(queue, 17), SRV_PRIORITY_IN_USE);
	assert_int_equal(srv_queue_count_of(queue, SRV_PRIORITY_IN_USE), 1);
	assert_int_equal(srv_queue_count_of(queue, SRV_PRIORITY_CHANGED), 19);
	assert_true(srv_queue_remove(queue, 3));
	assert_int_equal(srv_queue_count_of(queue, SRV_PRIORITY_CHANGED), 18);
	assert_int_equal(srv_queue_pop(queue, NULL), 17);
	assert_int_equal(srv_queue_count_of(queue, SRV_PRIORITY_IN_USE), 0);
	srv_queue_free(queue);
}

static void nothing_starves_behind_a_class_that_never_ends(void **state)
{
	(void)state;
	srv_queue *queue = srv_queue_new();
	assert_true(srv_queue_push(queue, 0, SRV_PRIORITY_BACKGROUND, 1000));
	uint32_t turns = 0, got;
	for (got = 1; got != 0 && turns < 1000; turns++) {
		assert_true(srv_queue_push(queue, 1 + turns, SRV_PRIORITY_IN_USE, 0));
		got = srv_queue_pop(queue, NULL);
	}
	assert_int_equal(got, 0);
	assert_int_equal(turns, 64);
	srv_queue_free(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_come_first_then_the_cost_then_the_oldest),
		cmocka_unit_test(a_class_is_raised_and_never_lowered),
		cmocka_unit_test(nothing_starves_behind_a_class_that_never_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
