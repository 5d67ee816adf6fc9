/* The mip filter that mips.h states, against one in doubles that is written from that statement alone. */
#include "texture_bench.h"

#include "core/texture/mips.h"

#include <math.h>

enum { SIDE_MAX = 64 };

/* What a pixel that is not seen weighs, so that there is a colour where none is. */
static const double least = 1.0 / 4096;

typedef struct level {
	uint32_t width, height;
	double pixels[SIDE_MAX * SIDE_MAX][4]; /* light times weight, weight */
} level;

static double light_of(uint8_t code)
{
	double v = code / 255.0;
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double code_of(double light)
{
	double v = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055;
	return 255 * v;
}

/* The length of [a, a + 1) that lies in [from, to). */
static double overlap(uint32_t a, double from, double to)
{
	double first = a > from ? a : from, last = a + 1 < to ? a + 1 : to;
	return last > first ? last - first : 0;
}

static void shrink(const level *in, level *out)
{
	out->width = in->width > 1 ? in->width / 2 : 1;
	out->height = in->height > 1 ? in->height / 2 : 1;
	double across = (double)in->width / out->width, down = (double)in->height / out->height;
	for (uint32_t y = 0; y < out->height; y++)
		for (uint32_t x = 0; x < out->width; x++) {
			double sum[4] = {0};
			for (uint32_t v = 0; v < in->height; v++)
				for (uint32_t u = 0; u < in->width; u++) {
					double part =
						overlap(u, x * across, (x + 1) * across) * overlap(v, y * down, (y + 1) * down);
					for (int k = 0; k < 4; k++)
						sum[k] += part * in->pixels[v * in->width + u][k];
				}
			for (int k = 0; k < 4; k++)
				out->pixels[y * out->width + x][k] = sum[k] / (across * down);
		}
}

static uint8_t random_byte(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint8_t)(*seed >> 24);
}

/* `worst`: the largest difference in codes of what can be seen, over all levels. */
static void compare(uint32_t width, uint32_t height, double *worst_color, double *worst_alpha)
{
	uint8_t codes[4 * SIDE_MAX * SIDE_MAX];
	uint32_t seed = width * 977 + height;
	level *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
	a->width = width;
	a->height = height;
	for (uint32_t i = 0; i < width * height; i++) {
		for (int k = 0; k < 4; k++)
			codes[4 * i + (uint32_t)k] = random_byte(&seed);
		if (i % 3 == 0)
			codes[4 * i + 3] = i % 2 ? 255 : 0;
		double alpha = codes[4 * i + 3] / 255.0;
		for (int k = 0; k < 3; k++)
			a->pixels[i][k] = light_of(codes[4 * i + (uint32_t)k]) * (alpha + least);
		a->pixels[i][3] = alpha + least;
	}
	hob_arena arena;
	hob_srgb *srgb = calloc(1, sizeof *srgb);
	hob_srgb_init(srgb);
	hob_arena_init(&arena, 16 << 20);
	hob_picture picture = {
		.width = width, .height = height, .has_alpha = true, .depth = HOB_DEPTH_8, .pixels = codes};
	hob_mip_options options = {.use = HOB_USE_COLOR,
							   .alpha_is_opacity = true,
							   .width = width,
							   .height = height,
							   .level_count = hob_level_count(width, height),
							   .srgb = srgb};
	hob_mips mips;
	hob_error err = {0};
	assert_true(hob_mips_build(&picture, &options, &arena, &mips, &err));
	for (uint32_t n = 1; n < mips.level_count; n++) {
		level *swap = a;
		shrink(a, b);
		a = b;
		b = swap;
		const uint8_t *got = mips.levels[n];
		for (uint32_t i = 0; i < a->width * a->height; i++) {
			double weight = a->pixels[i][3];
			*worst_alpha = fmax(*worst_alpha, fabs(got[4 * i + 3] - 255 * (weight - least)));
			for (uint32_t k = 0; k < 3; k++)
				*worst_color = fmax(*worst_color, fabs(got[4 * i + k] - code_of(a->pixels[i][k] / weight)));
		}
	}
	hob_arena_release(&arena);
	free(srgb);
	free(a);
	free(b);
}

static void levels_are_those_of_the_stated_filter(void **state)
{
	(void)state;
	static const uint32_t sizes[][2] = {{64, 64}, {32, 8}, {63, 31}, {7, 64}, {1, 33}, {48, 20}};
	for (size_t i = 0; i < HOB_COUNT_OF(sizes); i++) {
		double color = 0, alpha = 0;
		compare(sizes[i][0], sizes[i][1], &color, &alpha);
		/* Half a code of rounding, and what floats add. */
		if (color > 0.6 || alpha > 0.6)
			fail_msg("%u x %u: colours differ by %g codes, alpha by %g", sizes[i][0], sizes[i][1], color,
					 alpha);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_are_those_of_the_stated_filter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
