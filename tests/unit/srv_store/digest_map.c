#include "server/store/digest_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DIGESTS = 400, CHANGES = 20000 };

/* Few home slots, so that entries collide and runs wrap around the end. */
static hob_sha256 digest_of(uint32_t number)
{
	hob_sha256 digest = {{0}};
	hob_store_u32(digest.bytes, 0xFFFFFFF0u + number % 7);
	hob_store_u32(digest.bytes + 8, number);
	return digest;
}

static void assert_holds(const digest_map *map, const uint32_t *values)
{
	uint32_t count = 0, found = 0;
	hob_sha256 digest;
	for (uint32_t n = 0; n < DIGESTS; n++) {
		digest = digest_of(n);
		const uint32_t *value = srv_digest_map_find(map, &digest);
		assert_int_equal(value ? *value : 0, values[n]);
		count += values[n] != 0;
	}
	assert_int_equal(map->count, count);
	const uint32_t *value;
	for (size_t at = 0; (value = srv_digest_map_next(map, &at, &digest)); found++)
		assert_int_equal(*value, values[hob_load_u32(digest.bytes + 8)]);
	assert_int_equal(found, count);
}

static void entries_come_and_go(void **state)
{
	(void)state;
	digest_map map;
	uint32_t values[DIGESTS] = {0}, random = 1;
	srv_digest_map_init(&map, sizeof *values);
	for (uint32_t i = 1; i <= CHANGES; i++) {
		random = random * 1664525 + 1013904223;
		uint32_t n = (random >> 8) % DIGESTS;
		hob_sha256 digest = digest_of(n);
		/* Sometimes full, sometimes nearly empty. */
		bool put = (random >> 24) % 100 < (i / 2000 % 2 ? 20 : 80), fresh;
		if (put) {
			uint32_t *value = srv_digest_map_put(&map, &digest, &fresh);
			assert_int_equal(fresh, values[n] == 0);
			assert_true(!fresh || *value == 0);
			*value = values[n] = i;
		} else {
			assert_int_equal(srv_digest_map_remove(&map, &digest), values[n] != 0);
			values[n] = 0;
		}
		if (i % 97 == 0)
			assert_holds(&map, values);
	}
	srv_digest_map_clear(&map);
	assert_holds(&map, (uint32_t[DIGESTS]){0});
	srv_digest_map_release(&map);
}

static void reserved_maps_do_not_move(void **state)
{
	(void)state;
	digest_map map;
	bool fresh;
	srv_digest_map_init(&map, sizeof(uint32_t));
	srv_digest_map_reserve(&map, DIGESTS);
	const uint8_t *entries = map.entries;
	for (uint32_t n = 0; n < map.capacity / 4 * 3; n++) {
		hob_sha256 digest = digest_of(n);
		assert_non_null(srv_digest_map_put(&map, &digest, &fresh));
	}
	assert_ptr_equal(map.entries, entries);
	srv_digest_map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_and_go),
		cmocka_unit_test(reserved_maps_do_not_move),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
