#include "texture_bench.h"

#include "core/hash/hash.h"
#include "core/texture/basis.h"

enum { BLOCK = 16, ROW = BLOCK + 64 };

static hob_bytes read_data(const char *name)
{
	char full[512];
	snprintf(full, sizeof full, "%s/pictures/%s", HOB_TEST_DATA, name);
	FILE *f = fopen(full, "rb");
	assert_non_null(f);
	uint8_t *data = malloc(65536);
	size_t size = fread(data, 1, 65536, f);
	fclose(f);
	return (hob_bytes){data, size};
}

static void free_data(hob_bytes data)
{
	free((void *)(uintptr_t)data.data);
}

/* Random blocks of every mode and pattern, each followed by the 16 pixels decoded by the reference transcoder
 * of three.js's package: tests/oracle/basis_blocks.mjs. */
static void uastc_blocks_are_those_of_the_reference(void **state)
{
	(void)state;
	hob_bytes rows = read_data("uastc_blocks.bin");
	assert_true(rows.size >= 200 * ROW && rows.size % ROW == 0);
	for (size_t at = 0; at < rows.size; at += ROW) {
		uint8_t out[64];
		if (!hob_uastc_decode_block(rows.data + at, out) ||
			memcmp(out, rows.data + at + BLOCK, sizeof out) != 0)
			fail_msg("block %zu differs", at / ROW);
	}
	free_data(rows);
}

/* The reserved mode, and patterns beyond the last one. */
static void uastc_blocks_that_break_the_format_are_told(void **state)
{
	(void)state;
	static const uint8_t magenta[4] = {255, 0, 255, 255};
	uint8_t out[64], reserved[BLOCK] = {0x45}, pattern[BLOCK] = {0x15, 0xFF, 0xFF, 0xFF, 0xFF};
	assert_false(hob_uastc_decode_block(reserved, out));
	assert_memory_equal(out + 60, magenta, 4);
	assert_false(hob_uastc_decode_block(pattern, out));
}

/* Digests of the reference transcoder's RGBA32. */
static void pictures_are_those_of_the_reference(void **state)
{
	(void)state;
	static const struct {
		const char *name, *digest;
	} cases[] = {
		{"ktx2/2d_etc1s.ktx2", "b492daacc6737893324398334075c09a481bfff432240a718fc615ca0cd625ec"},
		{"ktx2/2d_uastc.ktx2", "fd9d51898dce01c2cdfd4ece339a4e5d5a5f198b80d124485af5874d62bba5ad"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_bytes file = read_data(cases[i].name);
		hob_gpu_texture t;
		hob_picture picture;
		hob_arena arena;
		hob_error err = {0};
		char text[HOB_SHA256_TEXT + 1];
		hob_arena_init(&arena, 1 << 20);
		assert_true(hob_ktx2_open(file, &t, &err));
		assert_true(hob_gpu_decodable(&t));
		if (!hob_gpu_decode(&t, &arena, &picture, &err))
			fail_msg("%s", err.context);
		assert_int_equal(picture.width, 40);
		hob_sha256 digest = hob_sha256_of((hob_bytes){picture.pixels, 4 * 40 * 40});
		hob_sha256_text(&digest, text);
		assert_string_equal(text, cases[i].digest);
		hob_arena_release(&arena);
		free_data(file);
	}
}

/* Flips every eighth bit, and cuts at every prefix: a result or an error with a message, within the arena. */
static void damage_is_an_error_in_words(void **state)
{
	(void)state;
	hob_bytes file = read_data("ktx2/2d_etc1s.ktx2");
	uint8_t *bytes = malloc(file.size);
	uint32_t refused = 0, read = 0;
	for (size_t i = 0; i < 2 * file.size; i++) {
		size_t size = i < file.size ? file.size : i - file.size;
		hob_gpu_texture t;
		hob_picture picture;
		hob_arena arena;
		hob_error err = {0};
		memcpy(bytes, file.data, file.size);
		if (i < file.size)
			bytes[i] ^= (uint8_t)(1 << i % 8);
		hob_arena_init(&arena, 4 << 20);
		bool ok = hob_ktx2_open((hob_bytes){bytes, size}, &t, &err) && t.width <= 64 && t.height <= 64 &&
				  hob_gpu_decodable(&t) && hob_gpu_decode(&t, &arena, &picture, &err);
		read += ok;
		refused += !ok && err.context[0] != 0;
		hob_arena_release(&arena);
	}
	assert_true(read > 0 && refused > file.size);
	free(bytes);
	free_data(file);
}

typedef struct decoding {
	hob_gpu_texture texture;
	hob_arena arena;
	hob_picture picture;
} decoding;

static bool decode(void *context, hob_error *err)
{
	decoding *d = context;
	return hob_gpu_decode(&d->texture, &d->arena, &d->picture, err);
}

static void short_memory_is_an_error(void **state)
{
	(void)state;
	hob_bytes file = read_data("ktx2/2d_etc1s.ktx2");
	bool failed = false, worked = false;
	for (size_t room = 1000; !worked; room += 1000) {
		decoding d;
		hob_error err = {0};
		hob_arena_init(&d.arena, room);
		assert_true(hob_ktx2_open(file, &d.texture, &err));
		worked = hob_guarded(decode, &d, &err);
		failed = failed || !worked;
		assert_true(worked || err.code == HOB_ERR_MEMORY);
		hob_arena_release(&d.arena);
	}
	assert_true(failed);
	free_data(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uastc_blocks_are_those_of_the_reference),
		cmocka_unit_test(uastc_blocks_that_break_the_format_are_told),
		cmocka_unit_test(pictures_are_those_of_the_reference),
		cmocka_unit_test(damage_is_an_error_in_words),
		cmocka_unit_test(short_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
