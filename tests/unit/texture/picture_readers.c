/* A complete, separate stb_image is the oracle for our own readers. */
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>

#include "tests/unit/support.h"

#include "core/base/limits.h"
#include "core/texture/astc.h"
#include "core/texture/gpu_format.h"
#include "core/texture/picture.h"
#include "core/texture/png_write.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static hob_bytes read_file(const char *folder, const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/pictures/%s/%s", HOB_TEST_DATA, folder, name);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	uint8_t *data = malloc(1 << 20);
	size_t size = fread(data, 1, 1 << 20, f);
	fclose(f);
	return (hob_bytes){data, size};
}

static void free_file(hob_bytes file)
{
	free((void *)(uintptr_t)file.data);
}

static bool decode(hob_bytes file, hob_arena *arena, hob_picture *out, hob_error *err)
{
	hob_arena_init(arena, 64u << 20);
	return hob_picture_decode(file, arena, out, err);
}

/* Calls `visit` for every file of a folder; returns how many there were. */
static int each_file(const char *folder, void (*visit)(const char *name, hob_bytes file))
{
	char path[512];
	snprintf(path, sizeof path, "%s/pictures/%s", HOB_TEST_DATA, folder);
	DIR *d = opendir(path);
	assert_non_null(d);
	int count = 0;
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		if (e->d_name[0] == '.')
			continue;
		hob_bytes file = read_file(folder, e->d_name);
		visit(e->d_name, file);
		free_file(file);
		count++;
	}
	closedir(d);
	return count;
}

static void compare_png(const char *name, hob_bytes file)
{
	hob_arena arena;
	hob_picture p;
	hob_error err = {0};
	bool ok = decode(file, &arena, &p, &err);
	if (name[0] == 'x') {
		assert_false(ok);
		assert_true(err.context[0] != 0);
		hob_arena_release(&arena);
		return;
	}
	if (!ok)
		fail_msg("%s: %s", name, err.context);
	int w, h, c;
	size_t bytes;
	void *expected;
	if (p.depth == HOB_DEPTH_16) {
		expected = stbi_load_16_from_memory(file.data, (int)file.size, &w, &h, &c, 4);
		bytes = 2;
	} else {
		expected = stbi_load_from_memory(file.data, (int)file.size, &w, &h, &c, 4);
		bytes = 1;
	}
	assert_non_null(expected);
	assert_int_equal(w, p.width);
	assert_int_equal(h, p.height);
	assert_int_equal(stbi_is_16_bit_from_memory(file.data, (int)file.size), p.depth == HOB_DEPTH_16);
	assert_memory_equal(expected, p.pixels, (size_t)w * (size_t)h * 4 * bytes);
	assert_int_equal(p.has_alpha, c == 2 || c == 4);
	stbi_image_free(expected);
	hob_arena_release(&arena);
}

static void every_png_of_the_suite_gives_the_pixels_of_the_oracle(void **state)
{
	(void)state;
	assert_true(each_file("pngsuite", compare_png) > 100);
}

static void compare_gif(const char *name, hob_bytes file)
{
	hob_arena arena;
	hob_picture p;
	hob_error err = {0};
	if (!decode(file, &arena, &p, &err))
		fail_msg("%s: %s", name, err.context);
	int w, h, c;
	uint8_t *expected = stbi_load_from_memory(file.data, (int)file.size, &w, &h, &c, 4);
	if (expected) /* not all: the oracle does not support GIFs of code size 2 */
		assert_memory_equal(expected, p.pixels, (size_t)w * (size_t)h * 4);
	else
		assert_string_equal(name, "triangle-001.gif");
	stbi_image_free(expected);
	hob_arena_release(&arena);
}

static void gifs_give_the_pixels_of_the_oracle(void **state)
{
	(void)state;
	assert_int_equal(each_file("gif", compare_gif), 3);
}

/* Prefixes, and changed bytes: a picture or an error, without leaks or overruns (sanitizers). Each file
 * starts at another byte, so that the files of a kind together cover nearly all positions. */
static void damage(const char *name, hob_bytes file)
{
	if (file.size > 3000 || name[0] == 'x')
		return;
	size_t step = 1 + file.size / 60;
	uint8_t *copy = malloc(file.size + 1);
	static size_t files;
	for (size_t cut = files++ % step; cut < file.size; cut += step) {
		hob_arena arena;
		hob_picture p;
		hob_error err = {0};
		/* An exact allocation, so that reading past it is detected. */
		uint8_t *exact = malloc(cut + (cut == 0));
		memcpy(exact, file.data, cut);
		if (!decode((hob_bytes){exact, cut}, &arena, &p, &err))
			assert_true(err.code != HOB_ERR_OK && err.context[0] != 0);
		hob_arena_release(&arena);
		free(exact);
		memcpy(copy, file.data, file.size);
		for (int change = 1; change < 256; change = change * 5 + 2) {
			copy[cut] = (uint8_t)(file.data[cut] ^ change);
			if (!decode((hob_bytes){copy, file.size}, &arena, &p, &err))
				assert_true(err.code != HOB_ERR_OK);
			hob_arena_release(&arena);
		}
	}
	free(copy);
}

static void damaged_files_are_pictures_or_errors(void **state)
{
	(void)state;
	for (const char *const *name =
			 (const char *const[]){"basi0g01.png", "basn3p04.png", "tbbn3p08.png", "basn6a16.png",
								   "s05i3p02.png", "oi4n0g16.png", NULL};
		 *name; name++) {
		hob_bytes file = read_file("pngsuite", *name);
		damage(*name, file);
		free_file(file);
	}
	each_file("gif", damage);
	each_file("ktx2", damage);
}

static void put_big(uint8_t *p, uint32_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

static void damaged_bmp_tga_and_jpeg(void **state)
{
	(void)state;
	static const char *const names[] = {"a.bmp", "rle.tga", "map.tga", "raw.tga", "cyan.jpg"};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
		hob_bytes file = read_file("../../fuzz/corpus/image", names[i]);
		hob_arena arena;
		hob_picture p;
		hob_error err = {0};
		if (!decode(file, &arena, &p, &err))
			fail_msg("%s: %s", names[i], err.context);
		hob_arena_release(&arena);
		damage(names[i], file);
		free_file(file);
	}
}

static void sizes_over_the_limits_cost_nothing(void **state)
{
	(void)state;
	hob_bytes valid = read_file("pngsuite", "basn2c08.png");
	uint8_t tga[18] = {[2] = 2, [12] = 0xFF, [13] = 0xFF, [14] = 0xFF, [15] = 0xFF, [16] = 32};
	uint8_t psd[64] = "8BPS\0\1";
	put_big(psd + 12, 3, 2), put_big(psd + 14, 30000, 4), put_big(psd + 18, 30000, 4);
	put_big(psd + 22, 8, 2), put_big(psd + 24, 3, 2);
	uint8_t gif[40] = "GIF89a\xFF\xFF\xFF\xFF\x80\0\0\0\0\0\xFF\xFF\xFF,\0\0\0\0\xFF\xFF\xFF\xFF\0\2";
	uint8_t jpeg[] = {0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8, 0xFF, 0xDC, 0xFF, 0xDC,
					  3,	1,	  17,	0,	  2, 17, 1, 3,	  17,	1};
	const char *pnm = "P6 100000 100000 255\n";
	const struct {
		const void *data;
		size_t size;
	} cases[] = {
		{tga, sizeof tga}, {psd, sizeof psd}, {gif, sizeof gif}, {jpeg, sizeof jpeg}, {pnm, strlen(pnm)}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_arena arena;
		hob_picture p;
		hob_error err = {0};
		assert_false(decode((hob_bytes){cases[i].data, cases[i].size}, &arena, &p, &err));
		assert_int_equal(err.code, HOB_ERR_LIMIT);
		assert_int_equal(arena.used, 0);
		assert_non_null(strstr(err.context, "16384"));
		hob_arena_release(&arena);
	}
	/* Within the limits, but more than the bytes can hold. */
	hob_arena arena;
	hob_picture p;
	hob_error err = {0};
	uint8_t small[18] = {[2] = 10, [12] = 0, [13] = 0x20, [14] = 0, [15] = 0x20, [16] = 32};
	assert_false(decode((hob_bytes){small, sizeof small}, &arena, &p, &err));
	assert_int_equal(err.code, HOB_ERR_TRUNCATED);
	assert_int_equal(arena.used, 0);
	hob_arena_release(&arena);
	free_file(valid);
}

static void other_files_are_named(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
		const char *said;
	} cases[] = {
		{"<!DOCTYPE html><html></html>", 28, "HTML"},
		{"hello, this is no picture at all", 32, "save it as PNG"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_picture_info info;
		hob_error err = {0};
		assert_false(
			hob_picture_probe((hob_bytes){(const uint8_t *)cases[i].bytes, cases[i].size}, &info, &err));
		assert_int_equal(err.code, HOB_ERR_UNSUPPORTED);
		assert_non_null(strstr(err.context, cases[i].said));
	}
}

static void pnm_of_every_kind(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
		hob_depth depth;
		uint32_t first[3], last[3];
	} cases[] = {
		{"P1 2 1\n# dark, then light\n1 0", 29, HOB_DEPTH_8, {0, 0, 0}, {255, 255, 255}},
		{"P2 2 1 10\n0 5", 13, HOB_DEPTH_8, {0, 0, 0}, {128, 128, 128}},
		{"P3 2 1 255\n1 2 3 4 5 6", 22, HOB_DEPTH_8, {1, 2, 3}, {4, 5, 6}},
		{"P4 2 1\n\x80", 8, HOB_DEPTH_8, {0, 0, 0}, {255, 255, 255}},
		{"P5 2 1 255\n\x07\x09", 13, HOB_DEPTH_8, {7, 7, 7}, {9, 9, 9}},
		{"P5 2 1 65535\n\x01\x02\x03\x04", 17, HOB_DEPTH_16, {258, 258, 258}, {772, 772, 772}},
		{"P6 2 1 255\n\x01\x02\x03\x04\x05\x06", 17, HOB_DEPTH_8, {1, 2, 3}, {4, 5, 6}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_arena arena;
		hob_picture p;
		hob_error err = {0};
		if (!decode((hob_bytes){(const uint8_t *)cases[i].bytes, cases[i].size}, &arena, &p, &err))
			fail_msg("%zu: %s", i, err.context);
		assert_int_equal(p.depth, cases[i].depth);
		for (int k = 0; k < 3; k++) {
			bool wide = p.depth == HOB_DEPTH_16;
			uint32_t first = wide ? ((uint16_t *)p.pixels)[k] : ((uint8_t *)p.pixels)[k];
			uint32_t last = wide ? ((uint16_t *)p.pixels)[4 + k] : ((uint8_t *)p.pixels)[4 + k];
			assert_int_equal(first, cases[i].first[k]);
			assert_int_equal(last, cases[i].last[k]);
		}
		hob_arena_release(&arena);
	}
}

/* A PSD of 3 x 2 with an alpha channel, plain or packed. */
static size_t make_psd(uint8_t *out, bool packed, bool blended)
{
	memset(out, 0, 512);
	memcpy(out, "8BPS\0\1", 6);
	put_big(out + 12, 4, 2), put_big(out + 14, 2, 4), put_big(out + 18, 3, 4);
	put_big(out + 22, 8, 2), put_big(out + 24, 3, 2);
	size_t at = 26 + 8; /* empty colour table and resources */
	if (blended) {
		put_big(out + at, 6, 4), put_big(out + at + 4, 2, 4), put_big(out + at + 8, 0xFFFF, 2);
		at += 10;
	} else {
		at += 4;
	}
	put_big(out + at, packed ? 1 : 0, 2);
	at += 2;
	size_t sizes = at;
	if (packed)
		at += 16;
	for (uint32_t plane = 0; plane < 4; plane++)
		for (uint32_t y = 0; y < 2; y++) {
			uint8_t v = (uint8_t)(plane == 3 ? 128 : 150 + 10 * plane + y);
			size_t begin = at;
			if (packed && y == 0) {
				out[at++] = 254; /* run: the next byte three times */
				out[at++] = v;
			} else {
				if (packed)
					out[at++] = 2;
				out[at++] = v, out[at++] = v, out[at++] = v;
			}
			if (packed)
				put_big(out + sizes + 2 * (2 * (size_t)plane + y), (uint32_t)(at - begin), 2);
		}
	return at;
}

static void psd_plain_and_packed(void **state)
{
	(void)state;
	uint8_t file[512];
	for (int i = 0; i < 4; i++) {
		size_t size = make_psd(file, i & 1, i & 2);
		hob_arena arena;
		hob_picture p;
		hob_error err = {0};
		if (!decode((hob_bytes){file, size}, &arena, &p, &err))
			fail_msg("%d: %s", i, err.context);
		uint8_t last[4] = {151, 161, 171, 128};
		/* Blended with white: 151 of 255 at half coverage is 47 (151 - 127 = 24, times 255 / 128). */
		if (i & 2)
			last[0] = 47, last[1] = 67, last[2] = 87;
		assert_int_equal(p.width, 3);
		assert_int_equal(p.height, 2);
		assert_memory_equal((uint8_t *)p.pixels + 4 * 5, last, 4);
		hob_arena_release(&arena);
		damage("psd", (hob_bytes){file, size});
	}
}

static void hdr_plain_and_packed(void **state)
{
	(void)state;
	static const char head[] = "#?RADIANCE\n# by hand\nFORMAT=32-bit_rle_rgbe\nEXPOSURE=1\n\n-Y 2 +X 9\n";
	uint8_t packed[256], plain[256];
	size_t start = sizeof head - 1, at = start, in = start;
	memcpy(packed, head, start);
	memcpy(plain, head, start);
	for (uint8_t y = 0; y < 2; y++) {
		memcpy(packed + at, ((uint8_t[4]){2, 2, 0, 9}), 4);
		at += 4;
		for (uint8_t k = 0; k < 4; k++) {
			/* A run of seven and two literals. */
			uint8_t v = (uint8_t)(k == 3 ? 130 : 100 + 20 * k + y);
			memcpy(packed + at, ((uint8_t[5]){128 + 7, v, 2, v, (uint8_t)(k == 3 ? 0 : v)}), 5);
			at += 5;
		}
		for (int x = 0; x < 9; x++, in += 4)
			memcpy(plain + in, ((uint8_t[4]){100 + y, 120 + y, 140 + y, x < 8 ? 130 : 0}), 4);
	}
	for (int i = 0; i < 2; i++) {
		hob_bytes file = i ? (hob_bytes){plain, in} : (hob_bytes){packed, at};
		hob_arena arena;
		hob_picture p;
		hob_error err = {0};
		if (!decode(file, &arena, &p, &err))
			fail_msg("%s", err.context);
		int w, h, c;
		float *expected = stbi_loadf_from_memory(file.data, (int)file.size, &w, &h, &c, 4);
		assert_int_equal(p.depth, HOB_DEPTH_FLOAT);
		assert_int_equal(w, p.width);
		assert_memory_equal(expected, p.pixels, 4 * sizeof(float) * 18);
		/* 101 / 64 in the second row. */
		assert_true(((float *)p.pixels)[4 * 9] == 101.0f / 64.0f);
		assert_true(((float *)p.pixels)[4 * 17] == 0.0f);
		stbi_image_free(expected);
		hob_arena_release(&arena);
		damage("hdr", file);
	}
}

static void huffman_tables_that_are_too_long_are_refused(void **state)
{
	(void)state;
	uint8_t jpeg[700] = {0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0, 0xFF, 0xC4, 1, 45};
	/* 272 codes of eight bits: the packaged stb_image writes past its table. */
	memset(jpeg + 20, 17, 16);
	hob_arena arena;
	hob_picture p;
	hob_error err = {0};
	assert_false(decode((hob_bytes){jpeg, sizeof jpeg}, &arena, &p, &err));
	assert_non_null(strstr(err.context, "256 codes"));
	hob_arena_release(&arena);
	/* The same table between two scans, after fill bytes and a stuffed zero. */
	hob_bytes whole = read_file("../../fuzz/corpus/image", "cyan.jpg");
	uint8_t copy[2000];
	assert_true(whole.size + sizeof jpeg < sizeof copy);
	memcpy(copy, whole.data, whole.size);
	assert_int_equal(copy[whole.size - 1], 0xD9);
	memcpy(copy + whole.size - 2, ((uint8_t[5]){0xFF, 0xFF, 0, 1, 44}), 5);
	memcpy(copy + whole.size + 3, jpeg + 15, sizeof jpeg - 15);
	assert_false(decode((hob_bytes){copy, whole.size + sizeof jpeg - 12}, &arena, &p, &err));
	assert_non_null(strstr(err.context, "256 codes"));
	hob_arena_release(&arena);
	/* The same table after the end marker is part of an appended video and is ignored. */
	memcpy(copy + whole.size - 2, whole.data + whole.size - 2, 2);
	memcpy(copy + whole.size, jpeg + 15, sizeof jpeg - 15);
	assert_true(decode((hob_bytes){copy, whole.size + sizeof jpeg - 15}, &arena, &p, &err));
	hob_arena_release(&arena);
	free_file(whole);
}

static size_t make_dds(uint8_t *out, const char *code, uint32_t bits, const uint32_t masks[4])
{
	memset(out, 0, 256);
	memcpy(out, "DDS ", 4);
	hob_store_u32(out + 4, 124);
	hob_store_u32(out + 12, 4), hob_store_u32(out + 16, 4), hob_store_u32(out + 28, 1);
	hob_store_u32(out + 76, 32);
	hob_store_u32(out + 80, code ? 4 : 0x41);
	if (code)
		memcpy(out + 84, code, 4);
	hob_store_u32(out + 88, bits);
	for (int k = 0; k < 4; k++)
		hob_store_u32(out + 92 + 4 * k, masks[k]);
	return 128;
}

static void dds_of_blocks_and_of_masks(void **state)
{
	(void)state;
	uint8_t file[256];
	hob_arena arena;
	hob_picture p;
	hob_error err = {0};
	static const uint32_t none[4] = {0}, bgra[4] = {0xFF0000, 0xFF00, 0xFF, 0xFF000000},
						  r5g6b5[4] = {0xF800, 0x7E0, 0x1F, 0};
	size_t at = make_dds(file, "DXT1", 0, none);
	/* Red and blue, indices 0 1 2 3 in the first row. */
	memcpy(file + at, ((uint8_t[8]){0x00, 0xF8, 0x1F, 0x00, 0xE4, 0, 0, 0}), 8);
	assert_true(decode((hob_bytes){file, at + 8}, &arena, &p, &err));
	assert_memory_equal(
		p.pixels, ((uint8_t[16]){255, 0, 0, 255, 0, 0, 255, 255, 170, 0, 85, 255, 85, 0, 170, 255}), 16);
	hob_arena_release(&arena);
	at = make_dds(file, NULL, 32, bgra);
	memcpy(file + at, ((uint8_t[4]){1, 2, 3, 4}), 4);
	assert_true(decode((hob_bytes){file, at + 64}, &arena, &p, &err));
	assert_memory_equal(p.pixels, ((uint8_t[4]){3, 2, 1, 4}), 4);
	hob_arena_release(&arena);
	at = make_dds(file, NULL, 16, r5g6b5);
	memcpy(file + at, ((uint8_t[2]){0xFF, 0xFF}), 2);
	assert_true(decode((hob_bytes){file, at + 32}, &arena, &p, &err));
	assert_memory_equal(p.pixels, ((uint8_t[4]){255, 255, 255, 255}), 4);
	hob_arena_release(&arena);
	assert_false(decode((hob_bytes){file, at + 31}, &arena, &p, &err));
	assert_int_equal(err.code, HOB_ERR_TRUNCATED);
	hob_arena_release(&arena);
}

/* The text BC1 or BC7 is white on orange, ASTC on blue: the blocks were made by other encoders. */
static void blocks_of_other_encoders_decode(void **state)
{
	(void)state;
	static const char *const names[] = {"2d_bc1.ktx2", "2d_bc7.ktx2", "2d_astc4x4.ktx2"};
	for (int i = 0; i < (hob_astc_available() ? 3 : 2); i++) {
		hob_bytes file = read_file("ktx2", names[i]);
		hob_arena arena;
		hob_picture p;
		hob_error err = {0};
		assert_true(decode(file, &arena, &p, &err));
		assert_int_equal(p.width, 40);
		const uint8_t *pixels = p.pixels;
		int ground = 0, white = 0;
		for (int k = 0; k < 1600; k++) {
			const uint8_t *c = pixels + 4 * k;
			bool orange = c[0] > 240 && c[1] > 90 && c[1] < 150 && c[2] < 40 && c[3] == 255;
			bool blue = abs(c[0] - 55) < 4 && abs(c[1] - 126) < 4 && abs(c[2] - 184) < 4 && c[3] == 255;
			ground += i < 2 ? orange : blue;
			white += c[0] > 220 && c[1] > 220 && c[2] > 220;
		}
		assert_true(ground > 1300);
		assert_true(white > 20);
		hob_arena_release(&arena);
		free_file(file);
	}
}

static void what_cannot_be_unpacked_is_said_and_kept(void **state)
{
	(void)state;
	if (hob_astc_available())
		skip();
	hob_bytes file = read_file("ktx2", "2d_astc4x4.ktx2");
	hob_picture_info info;
	hob_arena arena;
	hob_picture p;
	hob_error err = {0};
	assert_true(hob_picture_probe(file, &info, &err));
	assert_true(info.opaque_codec);
	assert_int_equal(info.width, 40);
	assert_int_equal(info.mips, 6);
	assert_false(decode(file, &arena, &p, &err));
	assert_int_equal(err.code, HOB_ERR_UNSUPPORTED);
	hob_arena_release(&arena);
	free_file(file);
}

static void written_pngs_are_read_by_the_oracle(void **state)
{
	(void)state;
	uint32_t seed = 7;
	for (uint32_t round = 0; round < 8; round++) {
		uint32_t width = 1 + round * 5, height = 3 + round;
		bool opaque = round % 2;
		uint8_t *pixels = malloc(4 * (size_t)width * height);
		for (uint32_t i = 0; i < 4 * width * height; i++) {
			seed = seed * 1664525 + 1013904223;
			pixels[i] = opaque && i % 4 == 3 ? 255 : (uint8_t)(round < 4 ? i * 3 + (seed >> 30) : seed >> 24);
		}
		hob_buf file = {0};
		hob_png_write(pixels, width, height, opaque, &file);
		int w, h, c;
		uint8_t *back = stbi_load_from_memory(file.data, (int)file.size, &w, &h, &c, 4);
		assert_non_null(back);
		assert_int_equal(c, opaque ? 3 : 4);
		assert_memory_equal(back, pixels, 4 * (size_t)width * height);
		stbi_image_free(back);
		hob_buf_release(&file);
		free(pixels);
	}
}

typedef struct decoding {
	hob_bytes file;
	hob_arena arena;
	hob_picture picture;
} decoding;

static bool decode_once(void *context, hob_error *err)
{
	decoding *d = context;
	return hob_picture_decode(d->file, &d->arena, &d->picture, err);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	static const char *const names[] = {"basi3p04.png", "basn6a16.png"};
	for (int i = 0; i < 2; i++) {
		hob_bytes file = read_file("pngsuite", names[i]);
		for (uint64_t n = 1; n < 10; n++) {
			decoding d = {.file = file};
			hob_arena_init(&d.arena, 1 << 20);
			d.arena.fail_at = n;
			hob_error err = {0};
			bool ok = hob_guarded(decode_once, &d, &err);
			assert_true(ok == (d.arena.fail_at > 0));
			if (!ok)
				assert_int_equal(err.code, HOB_ERR_MEMORY);
			hob_arena_release(&d.arena);
		}
		free_file(file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_png_of_the_suite_gives_the_pixels_of_the_oracle),
		cmocka_unit_test(gifs_give_the_pixels_of_the_oracle),
		cmocka_unit_test(damaged_files_are_pictures_or_errors),
		cmocka_unit_test(damaged_bmp_tga_and_jpeg),
		cmocka_unit_test(sizes_over_the_limits_cost_nothing),
		cmocka_unit_test(other_files_are_named),
		cmocka_unit_test(pnm_of_every_kind),
		cmocka_unit_test(psd_plain_and_packed),
		cmocka_unit_test(hdr_plain_and_packed),
		cmocka_unit_test(huffman_tables_that_are_too_long_are_refused),
		cmocka_unit_test(dds_of_blocks_and_of_masks),
		cmocka_unit_test(blocks_of_other_encoders_decode),
		cmocka_unit_test(what_cannot_be_unpacked_is_said_and_kept),
		cmocka_unit_test(written_pngs_are_read_by_the_oracle),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
