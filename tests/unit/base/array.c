#include "tests/unit/support.h"

#include "core/base/array.h"

#include <stdlib.h>

typedef struct pair {
	uint64_t index;
	uint8_t rest[9];
} pair;

static void every_item_is_kept(void **state)
{
	(void)state;
	pair *items = NULL;
	uint32_t capacity = 0, count = 0, grown = 0;
	while (count < 1000) {
		uint32_t before = capacity;
		assert_true(HOB_ROOM(items, capacity, count));
		assert_true(capacity > count);
		grown += capacity != before;
		items[count] = (pair){.index = count, .rest = {(uint8_t)count}};
		count++;
	}
	assert_int_equal(capacity, 1024);
	assert_int_equal(grown, 9);
	for (uint32_t i = 0; i < count; i++)
		assert_true(items[i].index == i && items[i].rest[0] == (uint8_t)i);
	free(items);
}

static void what_cannot_grow_stays_as_it_is(void **state)
{
	(void)state;
	char *items = NULL;
	uint32_t capacity = 1u << 31;
	assert_false(hob_array_room(&items, &capacity, capacity, 1));
	assert_true(capacity == 1u << 31 && !items);
	capacity = 1 << 20;
	assert_false(hob_array_room(&items, &capacity, capacity, SIZE_MAX >> 20));
	assert_true(capacity == 1 << 20 && !items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_item_is_kept),
		cmocka_unit_test(what_cannot_grow_stays_as_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
