#include "tests/unit/support.h"

#include "server/cook/forecast.h"

#include <stdio.h>
#include <stdlib.h>

enum { MS = 1000000 };

static double ms(srv_forecast *f, uint64_t size)
{
	return (double)srv_forecast_ns(f, 0, size) / MS;
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
	assert_int_equal(srv_forecast_ns(&f, 0, 1000), 0);
}

static void known_sizes_have_their_mean(void **state)
{
	(void)state;
	static srv_forecast f;
	for (int i = 0; i < 100; i++) {
		srv_forecast_note(&f, 0, 1 << 20, (i % 2 ? 700 : 100) * (uint64_t)MS);
		srv_forecast_note(&f, 0, 1 << 12, 20 * MS);
		srv_forecast_note(&f, 0, 1 << 8, 40 * MS);
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
	srv_forecast_note(&few, 0, 1 << 20, 1000 * (uint64_t)MS);
	assert_true(ms(&few, 1 << 10) < 4);
	for (int log = 14; log < 26; log++)
		for (int i = 0; i < 400; i++) {
			srv_forecast_note(&linear, 0, 1u << log, (1ull << log) * 100);
			srv_forecast_note(&flat, 0, 1u << log, 30 * MS);
		}
	assert_about((1 << 12) * 100.0 / MS, ms(&linear, 1 << 12));
	assert_about(30, ms(&flat, 1 << 12));
}

typedef struct cook {
	uint32_t format;
	uint64_t size, ns;
} cook;

/* Cooks one after another: from a tenth of the work on, and while more than a twelfth is left, the forecast
 * for those to come is right within a factor of 1.5. */
static void foretell(const cook *cooks, uint32_t count, const char *what)
{
	uint64_t all = 0, done = 0;
	uint32_t judged = 0;
	srv_forecast *f = calloc(1, sizeof *f);
	for (uint32_t i = 0; i < count; i++)
		all += cooks[i].ns;
	for (uint32_t i = 0; i < count; i++) {
		srv_forecast_note(f, cooks[i].format, cooks[i].size, cooks[i].ns);
		done += cooks[i].ns;
		if (i % 5 > 0 || done < all / 10 || all - done <= all / 12)
			continue;
		uint64_t said = 0;
		for (uint32_t k = i + 1; k < count; k++)
			said += srv_forecast_ns(f, cooks[k].format, cooks[k].size);
		double share = (double)said / (double)(all - done);
		if (share < 1 / 1.5 || share > 1.5)
			fail_msg("%s: after %u of %u cooks %g of what was left", what, i + 1, count, share);
		judged++;
	}
	assert_in_range(judged, 10, count);
	free(f);
}

/* A first cook of 817 models, recorded: format, bytes, bytes beside it, microseconds of processor time; in
 * the order of the queue, largest file first. */
static void a_recorded_first_cook_is_foretold(void **state)
{
	(void)state;
	enum { MOST = 1000 };
	static cook cooks[MOST], part[MOST];
	uint32_t count = 0;
	FILE *file = fopen(HOB_TEST_DATA "/first_cook.tsv", "r");
	assert_non_null(file);
	for (unsigned long long source, beside, us; count < MOST; count++) {
		if (fscanf(file, "%u %llu %llu %llu", &cooks[count].format, &source, &beside, &us) != 4)
			break;
		cooks[count].size = srv_forecast_size(source, beside);
		cooks[count].ns = us * 1000;
	}
	fclose(file);
	assert_int_equal(count, 817);
	foretell(cooks, count, "all");
	for (uint32_t each = 0; each < 6; each++) { /* five of six: 681 models */
		uint32_t kept = 0;
		for (uint32_t i = 0; i < count; i++)
			if (i % 6 != each)
				part[kept++] = cooks[i];
		foretell(part, kept, "five of six");
	}
}

static void equal_models_are_foretold(void **state)
{
	(void)state;
	enum { COUNT = 5000 };
	static cook cooks[COUNT];
	for (uint32_t i = 0; i < COUNT; i++)
		cooks[i] = (cook){4, 62000, 70 * (uint64_t)MS};
	foretell(cooks, COUNT, "equal");
}

/* 20 million triangles, 5 microseconds each, of which nothing but the file's size is known. */
static void one_giant_among_small_ones_is_foretold(void **state)
{
	(void)state;
	srv_forecast *f = calloc(1, sizeof *f);
	for (uint32_t i = 0; i < 500; i++)
		srv_forecast_note(f, 4, 33, 30000);
	assert_about(100000, (double)srv_forecast_ns(f, 4, 666810992) / MS);
	free(f);
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
		cmocka_unit_test(a_recorded_first_cook_is_foretold),
		cmocka_unit_test(equal_models_are_foretold),
		cmocka_unit_test(one_giant_among_small_ones_is_foretold),
		cmocka_unit_test(files_beside_a_model_count),
		cmocka_unit_test(the_speed_is_that_of_the_last_seconds),
		cmocka_unit_test(a_cook_that_is_late_is_not_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
