/* Members of zip archives. */
#include "tests/unit/import/zip_fixture.h"

#include "core/import/zip.h"

static bool zip_member(hob_arena *arena, hob_bytes file, hob_str suffix, size_t most, hob_bytes *out)
{
	hob_zip zip;
	hob_zip_member found;
	return hob_zip_open(file, &zip) && hob_zip_find_suffix(&zip, suffix, &found) &&
		   hob_zip_unpack(arena, &found, most, out);
}

static const member some[] = {{"a.txt", "first"}, {"3D/3dModel.MODEL", "second second second second"}};

static void members_are_found_stored_and_deflated(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	for (int deflate = 0; deflate < 2; deflate++) {
		hob_buf zip = make_zip(some, 2, deflate);
		hob_bytes out;
		assert_true(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("3dmodel.model"), 100, &out));
		assert_int_equal(out.size, strlen(some[1].text));
		assert_memory_equal(out.data, some[1].text, out.size);
		assert_false(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("3dmodel.model"), 10, &out));
		assert_false(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("none"), 100, &out));
		hob_buf_put(&zip, "a comment", 9);
		assert_true(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("a.txt"), 100, &out));
		hob_buf_release(&zip);
	}
	hob_arena_release(&arena);
}

static void members_are_walked_and_found_by_their_whole_name(void **state)
{
	(void)state;
	hob_buf file = make_zip(some, 2, false);
	hob_zip zip;
	hob_zip_member found;
	size_t at = 0;
	assert_true(hob_zip_open(hob_buf_bytes(&file), &zip));
	for (size_t i = 0; i < 2; i++) {
		assert_true(hob_zip_next(&zip, &at, &found));
		assert_true(hob_str_equal(found.name, hob_str_of(some[i].name)));
	}
	assert_false(hob_zip_next(&zip, &at, &found));
	assert_true(hob_zip_find(&zip, HOB_STR("a.txt"), &found));
	assert_false(hob_zip_find(&zip, HOB_STR(".txt"), &found));
	/* The first entry is marked as encrypted. */
	file.data[zip.directory + 8] = 1;
	assert_false(hob_zip_find(&zip, HOB_STR("a.txt"), &found));
	hob_buf_release(&file);
}

static void put_u64(hob_buf *buf, uint64_t value)
{
	put_u32(buf, (uint32_t)value);
	put_u32(buf, (uint32_t)(value >> 32));
}

/* A zip as lib3mf writes it: every size and offset in 64 bits, after another extra field. */
static hob_buf make_wide_zip(void)
{
	static const char name[] = "a.model", text[] = "what it holds";
	const size_t length = sizeof name - 1, size = sizeof text - 1;
	hob_buf zip = {0};
	hob_buf_put(&zip, "PK\003\004\055\000\000\000\000\000\000\000\000\000\000\000\000\000", 18);
	put_u32(&zip, 0xFFFFFFFF);
	put_u32(&zip, 0xFFFFFFFF);
	put_u16(&zip, (uint32_t)length);
	put_u16(&zip, 20);
	hob_buf_put(&zip, name, length);
	put_u16(&zip, 1);
	put_u16(&zip, 16);
	put_u64(&zip, size);
	put_u64(&zip, size);
	hob_buf_put(&zip, text, size);
	size_t directory = zip.size;
	hob_buf_put(&zip, "PK\001\002\055\000\055\000\000\000\000\000\000\000\000\000\000\000\000\000", 20);
	put_u32(&zip, 0xFFFFFFFF);
	put_u32(&zip, 0xFFFFFFFF);
	put_u16(&zip, (uint32_t)length);
	put_u16(&zip, 5 + 28);
	put_u16(&zip, 0);
	put_u32(&zip, 0);
	put_u32(&zip, 0);
	put_u32(&zip, 0xFFFFFFFF);
	hob_buf_put(&zip, name, length);
	hob_buf_put(&zip, "\x55\x54\001\000\000", 5);
	put_u16(&zip, 1);
	put_u16(&zip, 24);
	put_u64(&zip, size);
	put_u64(&zip, size);
	put_u64(&zip, 0);
	size_t end = zip.size;
	hob_buf_put(&zip, "PK\006\006", 4);
	put_u64(&zip, 44);
	put_u32(&zip, 0x002D002D);
	put_u64(&zip, 0);
	put_u64(&zip, 1);
	put_u64(&zip, 1);
	put_u64(&zip, end - directory);
	put_u64(&zip, directory);
	hob_buf_put(&zip, "PK\006\007\000\000\000\000", 8);
	put_u64(&zip, end);
	put_u32(&zip, 1);
	hob_buf_put(&zip, "PK\005\006\000\000\000\000\001\000\001\000", 12);
	put_u32(&zip, (uint32_t)(end - directory));
	put_u32(&zip, 0xFFFFFFFF);
	put_u16(&zip, 0);
	return zip;
}

static void numbers_of_64_bits_are_read(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_buf zip = make_wide_zip();
	hob_bytes out;
	assert_true(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("a.model"), 100, &out));
	assert_int_equal(out.size, 13);
	assert_memory_equal(out.data, "what it holds", 13);
	/* Whichever byte is wrong, nothing outside is read. */
	for (size_t i = 0; i < zip.size; i++)
		for (int bit = 0; bit < 8; bit++) {
			zip.data[i] ^= (uint8_t)(1 << bit);
			if (zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("a.model"), 100, &out))
				assert_true(out.data >= zip.data && out.data + out.size <= zip.data + zip.size);
			zip.data[i] ^= (uint8_t)(1 << bit);
		}
	hob_buf_release(&zip);
	hob_arena_release(&arena);
}

static void damaged_archives_do_no_harm(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_buf zip = make_zip(some, 2, true);
	hob_bytes out;
	for (size_t size = 0; size < zip.size; size++) {
		uint8_t *cut = malloc(size ? size : 1);
		memcpy(cut, zip.data, size);
		assert_false(zip_member(&arena, (hob_bytes){cut, size}, HOB_STR("model"), 4096, &out));
		free(cut);
	}
	uint8_t *copy = malloc(zip.size);
	for (size_t i = 0; i < zip.size; i++)
		for (int flip = 1; flip < 256; flip *= 2) {
			memcpy(copy, zip.data, zip.size);
			copy[i] ^= (uint8_t)flip;
			if (zip_member(&arena, (hob_bytes){copy, zip.size}, HOB_STR("model"), 4096, &out))
				assert_true(out.size <= 4096);
		}
	free(copy);
	hob_buf_release(&zip);
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_found_stored_and_deflated),
		cmocka_unit_test(members_are_walked_and_found_by_their_whole_name),
		cmocka_unit_test(numbers_of_64_bits_are_read),
		cmocka_unit_test(damaged_archives_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
