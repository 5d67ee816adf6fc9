/* Compares the mip filter of mips.h with one in doubles, written from the header's text alone. */
#include "texture_bench.h"

#include "core/texture/mips.h"

#include <math.h>

enum { SIDE_MAX = 64 };

/* Weight of an invisible pixel, so that invisible areas have a colour. */
static const double least = 1.0 / 4096;

typedef struct level {
	uint32_t width, height;
	double pixels[SIDE_MAX * SIDE_MAX][4]; /* weighted light, weight */
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

/* The length of the overlap of [a, a + 1) with [from, to). */
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

/* `worst`: the largest difference in codes of visible pixels, over all levels. */
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
	hob_mips mips = hob_mips_build(&picture, &options, &arena);
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
		/* Half a code of rounding, plus float errors. */
		if (color > 0.6 || alpha > 0.6)
			fail_msg("%u x %u: colours differ by %g codes, alpha by %g", sizes[i][0], sizes[i][1], color,
					 alpha);
	}
}

enum { PATTERNS = 7 };

static uint8_t alpha_of(int pattern, uint32_t x, uint32_t y)
{
	double dx = (double)(x % 32) - 15.5, dy = (double)(y % 32) - 15.5;
	switch (pattern) {
	case 0: /* every texel of the second level is 1/8 */
		return x % 4 == 0 && y % 2 == 0 ? 255 : 0;
	case 1: /* stripes */
		return x % 8 == 3 ? 255 : 0;
	case 2: /* leaves */
		return dx * dx + 3 * dy * dy < 170 ? 255 : 0;
	case 3: /* hair */
		return (x + 3 * y) % 13 < 2 ? 255 : 0;
	case 4: /* dots */
		return x % 16 == 5 && y % 16 == 9 ? 255 : 0;
	case 5: /* soft edges */
		return (uint8_t)(127.5 + 127.4 * sin(x * 0.37) * cos(y * 0.23));
	default: /* nearly closed */
		return x % 8 == 0 && y % 4 == 0 ? 0 : 255;
	}
}

/* Fraction of a level's pixels that pass, drawn magnified twelve times. */
static double drawn_share(const uint8_t *pixels, uint32_t width, uint32_t height, float cutoff)
{
	enum { GRID = 12 };
	uint32_t above = 0, side = GRID * width, samples = side * GRID * height;
	for (uint32_t i = 0; i < samples; i++) {
		float x = fmaxf(((float)(i % side) + 0.5f) / GRID - 0.5f, 0),
			  y = fmaxf(((float)(i / side) + 0.5f) / GRID - 0.5f, 0);
		uint32_t x0 = (uint32_t)x, y0 = (uint32_t)y, x1 = x0 + (x0 + 1 < width), y1 = y0 + (y0 + 1 < height);
		float fx = x - (float)x0, fy = y - (float)y0;
		float upper = pixels[4 * (y0 * width + x0) + 3] * (1 - fx) + pixels[4 * (y0 * width + x1) + 3] * fx;
		float lower = pixels[4 * (y1 * width + x0) + 3] * (1 - fx) + pixels[4 * (y1 * width + x1) + 3] * fx;
		above += (upper * (1 - fy) + lower * fy) / 255 >= cutoff;
	}
	return (double)above / samples;
}

/* Tolerance: a tenth of the texels that should show, or one texel, down to 8 x 8; a fifth of the drawn
 * area. */
static void cutouts_keep_their_share_of_texels(void **state)
{
	(void)state;
	static const uint32_t sizes[][2] = {{256, 256}, {64, 64}, {100, 60}};
	static hob_srgb srgb;
	hob_srgb_init(&srgb);
	for (int test = 0; test < PATTERNS * 3 * 2; test++) {
		const uint32_t *size = sizes[test / 2 % 3];
		float cutoff = test % 2 ? 0.5f : 0.25f;
		hob_arena arena;
		hob_arena_init(&arena, (size_t)64 << 20);
		hob_picture_info info = {.width = size[0], .height = size[1], .channels = 4, .depth = HOB_DEPTH_8};
		hob_picture picture;
		hob_picture_new(&info, &arena, &picture);
		for (uint32_t i = 0; i < size[0] * size[1]; i++)
			((uint8_t *)picture.pixels)[4 * i + 3] = alpha_of(test / 6, i % size[0], i / size[0]);
		hob_mip_options options = {.use = HOB_USE_COLOR,
								   .alpha_is_opacity = true,
								   .cutoff = cutoff,
								   .width = size[0],
								   .height = size[1],
								   .level_count = hob_level_count(size[0], size[1]),
								   .srgb = &srgb};
		hob_mips mips = hob_mips_build(&picture, &options, &arena);
		double share = 0, drawn = 0;
		for (uint32_t at = 0; at < mips.level_count; at++) {
			uint32_t width = hob_level_side(size[0], at), height = hob_level_side(size[1], at), shown = 0;
			for (uint32_t i = 0; i < width * height; i++)
				shown += (float)((const uint8_t *)mips.levels[at])[4 * i + 3] / 255.0f >= cutoff;
			share = at == 0 ? (double)shown / (width * height) : share;
			double wanted = share * width * height, slack = wanted / 10 > 1 ? wanted / 10 : 1;
			if (width >= 8 && height >= 8 && fabs(shown - wanted) > slack + 1e-6)
				fail_msg("pattern %d, %u x %u, level %u: %u texels, %g should show", test / 6, size[0],
						 size[1], at, shown, wanted);
			double seen = drawn_share(mips.levels[at], width, height, cutoff);
			drawn = at == 0 ? seen : drawn;
			/* Smaller levels are mostly border, where a sampler repeats or clamps. */
			if (width >= 32 && height >= 32 && fabs(seen - drawn) > fmax(drawn / 5, 1.0 / (width * height)))
				fail_msg("pattern %d, cutoff %g, %u x %u, level %u: %g drawn of %g", test / 6, (double)cutoff,
						 size[0], size[1], at, seen, drawn);
		}
		hob_arena_release(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_are_those_of_the_stated_filter),
		cmocka_unit_test(cutouts_keep_their_share_of_texels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
