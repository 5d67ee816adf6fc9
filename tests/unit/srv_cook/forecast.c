#include "tests/unit/support.h"

#include "server/cook/forecast.h"

enum { MS = 1000000 };

static double ms(const srv_forecast *f, uint64_t size)
{
	return (double)srv_forecast_ns(f, size) / MS;
}

static void assert_about(double wanted, double found)
{
	if (found < wanted / 1.5 || found > wanted * 1.5)
		fail_msg("%g, about %g was wanted", found, wanted);
}

static void nothing_is_known_at_first(void **state)
{
	(void)state;
	static srv_forecast f;
	assert_int_equal(srv_forecast_ns(&f, 1000), 0);
	srv_forecast_note(&f, 1000, 0);
	assert_int_equal(srv_forecast_ns(&f, 1000), 0);
}

static void known_sizes_have_their_mean(void **state)
{
	(void)state;
	static srv_forecast f;
	for (int i = 0; i < 100; i++) {
		srv_forecast_note(&f, 1 << 20, (i % 2 ? 700 : 100) * (uint64_t)MS);
		srv_forecast_note(&f, 1 << 12, 20 * MS);
		srv_forecast_note(&f, 1 << 8, 40 * MS);
	}
	assert_about(400, ms(&f, 1 << 20));
	assert_about(20, ms(&f, 1 << 12));
	assert_about(40, ms(&f, 1 << 8));
}

/* Large models are cooked first, so that forecasts for small ones are extrapolated from the large ones. */
static void unknown_sizes_follow_the_known_ones(void **state)
{
	(void)state;
	static srv_forecast few, linear, flat;
	srv_forecast_note(&few, 1 << 20, 1000 * (uint64_t)MS);
	assert_true(ms(&few, 1 << 10) < 4);
	for (int log = 14; log < 26; log++)
		for (int i = 0; i < 20; i++) {
			srv_forecast_note(&linear, 1u << log, (1ull << log) * 100);
			srv_forecast_note(&flat, 1u << log, 30 * MS);
		}
	assert_about((1 << 12) * 100.0 / MS, ms(&linear, 1 << 12));
	assert_about(30, ms(&flat, 1 << 12));
}

static void files_beside_a_model_count(void **state)
{
	(void)state;
	assert_int_equal(srv_forecast_size(100, 0), 100);
	assert_int_equal(srv_forecast_size(100, 1000), 600);
}

static void the_speed_is_that_of_the_last_seconds(void **state)
{
	(void)state;
	enum { SECONDS = 40 };
	static const struct {
		uint64_t left, longest;
		int first, last; /* tenths of a second of work done per second, in the first and in the second half */
		uint32_t workers;
		double seconds;
	} cases[] = {
		{60, 1, 20, 20, 2, 30}, {60, 1, 10, 10, 2, 60}, {60, 1, 90, 90, 2, 30}, {60, 50, 20, 20, 2, 50},
		{60, 1, 20, 5, 2, 120}, {60, 1, 5, 20, 2, 30},	{0, 0, 20, 20, 2, 0},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		const uint64_t second = 1000 * (uint64_t)MS;
		srv_forecast_work work = {.workers = cases[i].workers};
		srv_forecast_speed speed = {0};
		uint64_t worked = 0;
		for (uint64_t s = 1; s <= SECONDS; s++) {
			srv_forecast_tick(&speed, worked, s * second);
			worked += (uint64_t)(s < SECONDS / 2 ? cases[i].first : cases[i].last) * second / 10;
		}
		srv_forecast_add(&work, cases[i].longest * second);
		for (uint64_t left = cases[i].longest; left < cases[i].left; left++)
			srv_forecast_add(&work, second);
		double found = (double)srv_forecast_left_ns(&work, &speed) / (double)second;
		if (found > 0 || cases[i].seconds > 0)
			assert_about(cases[i].seconds, found);
	}
}

static void a_cook_that_is_late_is_not_over(void **state)
{
	(void)state;
	assert_int_equal(srv_forecast_rest_ns(100, 40), 60);
	assert_int_equal(srv_forecast_rest_ns(100, 400), 100);
	assert_int_equal(srv_forecast_rest_ns(0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_at_first),
		cmocka_unit_test(known_sizes_have_their_mean),
		cmocka_unit_test(unknown_sizes_follow_the_known_ones),
		cmocka_unit_test(files_beside_a_model_count),
		cmocka_unit_test(the_speed_is_that_of_the_last_seconds),
		cmocka_unit_test(a_cook_that_is_late_is_not_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
