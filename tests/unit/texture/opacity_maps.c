#include "texture_bench.h"

enum { SIDE = 16 };

static uint8_t coverage_at(uint32_t i)
{
	return (uint8_t)(i * 37 % 256);
}

static void add_mask(bench *b, const char *path, int kind)
{
	uint8_t pixels[4 * SIDE * SIDE];
	for (uint32_t i = 0; i < SIDE * SIDE; i++) {
		uint8_t v = coverage_at(i);
		uint8_t rgba[4] = {v, v, v, 255};
		if (kind == 2)
			memcpy(rgba, (uint8_t[4]){255, 255, 255, v}, 4);
		memcpy(pixels + 4 * i, rgba, 4);
	}
	add_file(b, path, pixels, SIDE, SIDE, kind == 0);
}

static void expect_alpha(bench *b, uint32_t image, const uint8_t *wanted)
{
	uint32_t width, height;
	const uint8_t *level = level_of(b, image, 0, &width, &height);
	assert_int_equal(width, SIDE);
	for (uint32_t i = 0; i < SIDE * SIDE; i++)
		assert_int_equal(level[4 * i + 3], wanted[i]);
}

/* RGB without alpha, RGB with an alpha of 255, and alpha; grey is tested below. */
static void every_kind_of_mask_gives_the_same_coverage(void **state)
{
	(void)state;
	uint8_t wanted[SIDE * SIDE];
	for (uint32_t i = 0; i < SIDE * SIDE; i++)
		wanted[i] = coverage_at(i);
	for (int kind = 0; kind < 3; kind++) {
		bench *b = open_bench();
		add_flat(b, "props/base.png", SIDE, (uint8_t[4]){200, 100, 50, 255});
		add_mask(b, "props/mask.png", kind);
		b->materials[0].alpha_mode = HOB_ALPHA_BLEND;
		b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = add_image(b, "props/base.png");
		b->materials[0].slots[HOB_SLOT_OPACITY].image = add_image(b, "props/mask.png");
		assert_true(bake(b));
		assert_int_equal(b->count, 1);
		expect_alpha(b, 0, wanted);
		close_bench(b);
	}
}

static void a_grey_png_is_a_mask_like_the_others(void **state)
{
	(void)state;
	bench *b = open_bench();
	char full[512];
	snprintf(full, sizeof full, "%s/pictures/pngsuite/basn0g08.png", HOB_TEST_DATA);
	FILE *f = fopen(full, "rb");
	assert_non_null(f);
	uint8_t *data = malloc(65536);
	size_t size = fread(data, 1, 65536, f);
	fclose(f);
	b->files[b->file_count++] = (memory_file){"props/mask.png", {data, size}};
	b->materials[0].slots[HOB_SLOT_OPACITY].image = add_image(b, "props/mask.png");
	assert_true(bake(b));
	uint32_t width, height, darkest = 255, lightest = 0;
	const uint8_t *level = level_of(b, 0, 0, &width, &height);
	for (uint32_t i = 0; i < width * height; i++) {
		darkest = level[4 * i + 3] < darkest ? level[4 * i + 3] : darkest;
		lightest = level[4 * i + 3] > lightest ? level[4 * i + 3] : lightest;
	}
	assert_int_equal(darkest, 0);
	assert_int_equal(lightest, 255);
	close_bench(b);
}

static void a_coloured_mask_counts_by_its_luminance(void **state)
{
	(void)state;
	bench *b = open_bench();
	add_flat(b, "props/mask.png", SIDE, (uint8_t[4]){255, 0, 0, 255});
	b->materials[0].slots[HOB_SLOT_OPACITY].image = add_image(b, "props/mask.png");
	assert_true(bake(b));
	uint8_t wanted[SIDE * SIDE];
	memset(wanted, 77 * 255 / 256, sizeof wanted);
	expect_alpha(b, 0, wanted);
	close_bench(b);
}

/* Exporters may use one picture for colour and opacity: its alpha counts, and an opaque one stays opaque. */
static void a_picture_that_masks_itself_does_so_by_alpha(void **state)
{
	(void)state;
	bench *b = open_bench();
	uint8_t pixels[4 * SIDE * SIDE];
	for (uint32_t i = 0; i < 4 * SIDE * SIDE; i++)
		pixels[i] = i % 4 == 3 ? 255 : 20;
	add_file(b, "props/a.png", pixels, SIDE, SIDE, false);
	uint32_t a = add_image(b, "props/a.png");
	b->materials[0].slots[HOB_SLOT_BASE_COLOR].image = a;
	b->materials[0].slots[HOB_SLOT_OPACITY].image = a;
	assert_true(bake(b));
	uint8_t wanted[SIDE * SIDE];
	memset(wanted, 255, sizeof wanted);
	expect_alpha(b, 0, wanted);
	close_bench(b);
}

static void the_source_may_choose_the_channel(void **state)
{
	(void)state;
	static const struct {
		hob_channel_choice channel;
		uint8_t alpha;
	} cases[] = {{HOB_CHANNEL_R, 10},
				 {HOB_CHANNEL_G, 60},
				 {HOB_CHANNEL_B, 120},
				 {HOB_CHANNEL_A, 200},
				 {HOB_CHANNEL_LUMINANCE, (77 * 10 + 150 * 60 + 29 * 120) / 256},
				 {HOB_CHANNEL_OF_SLOT, 200}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		bench *b = open_bench();
		add_flat(b, "props/mask.png", SIDE, (uint8_t[4]){10, 60, 120, 200});
		hob_texture_ref *ref = &b->materials[0].slots[HOB_SLOT_OPACITY];
		ref->image = add_image(b, "props/mask.png");
		ref->channel = cases[i].channel;
		assert_true(bake(b));
		uint8_t wanted[SIDE * SIDE];
		memset(wanted, cases[i].alpha, sizeof wanted);
		expect_alpha(b, 0, wanted);
		close_bench(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_mask_gives_the_same_coverage),
		cmocka_unit_test(a_grey_png_is_a_mask_like_the_others),
		cmocka_unit_test(a_coloured_mask_counts_by_its_luminance),
		cmocka_unit_test(a_picture_that_masks_itself_does_so_by_alpha),
		cmocka_unit_test(the_source_may_choose_the_channel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
