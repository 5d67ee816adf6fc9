#include "tests/unit/support.h"

#include "core/texture/environment_map.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 128, HEIGHT = 64, SIZE = 32 };
static const double pi = 3.14159265358979323846;

static float half_value(uint16_t half)
{
	int exponent = half >> 10 & 31;
	float mantissa = (float)(half & 1023) / 1024;
	return exponent == 0 ? ldexpf(mantissa, -14) : ldexpf(1 + mantissa, exponent - 15);
}

typedef struct scene {
	hob_arena arena;
	float pixels[HEIGHT][WIDTH][4];
	hob_picture picture;
	hob_environment made;
} scene;

static scene *begin(void)
{
	scene *s = calloc(1, sizeof *s);
	hob_arena_init(&s->arena, 64 << 20);
	s->picture = (hob_picture){
		.width = WIDTH, .height = HEIGHT, .channels = 3, .depth = HOB_DEPTH_FLOAT, .pixels = s->pixels};
	return s;
}

static void make(scene *s)
{
	s->made = hob_environment_make(&s->picture, SIZE, NULL, &s->arena);
}

static void end(scene *s)
{
	hob_arena_release(&s->arena);
	free(s);
}

static void direction_of_pixel(int x, int y, double d[3])
{
	double turn = ((x + 0.5) / WIDTH - 0.5) * 2 * pi, down = (y + 0.5) / HEIGHT * pi;
	d[0] = cos(turn) * sin(down);
	d[1] = cos(down);
	d[2] = sin(turn) * sin(down);
}

static double dot(const double a[3], const double b[3])
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* A sky, a dark ground, a window and a sun. */
/* `light` gives the colour by direction. */
static void paint(scene *s, void (*light)(const double d[3], float rgb[4]))
{
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			double d[3];
			direction_of_pixel(x, y, d);
			light(d, s->pixels[y][x]);
		}
}

static void outdoors(const double d[3], float rgb[4])
{
	const double sun[3] = {0.36, 0.8, 0.48}, window[3] = {-0.8, 0, 0.6};
	double light = dot(d, sun) > 0.985 ? 60 : dot(d, window) > 0.9 ? 4 : 0;
	rgb[0] = (float)(0.4 + 0.3 * d[1] + light);
	rgb[1] = (float)(0.5 + 0.2 * d[0] + light * 0.9);
	rgb[2] = (float)((d[1] > 0 ? 1.0 : 0.1) + light * 0.7);
	rgb[3] = 1;
}

/* The header's integrals, over the picture's pixels. */
static void integral(const scene *s, double roughness, const double n[3], double out[3])
{
	double a2 = pow(roughness, 4), total = 0, sum[3] = {0};
	for (int y = 0; y < HEIGHT; y++) {
		double angle = cos(pi * y / HEIGHT) - cos(pi * (y + 1) / HEIGHT);
		for (int x = 0; x < WIDTH; x++) {
			double l[3];
			direction_of_pixel(x, y, l);
			double nl = dot(n, l);
			if (nl <= 0)
				continue;
			double c2 = (1 + nl) / 2; /* squared cosine at the half vector of n and l */
			double d = c2 * (a2 - 1) + 1, weight = a2 / (d * d) * nl * angle;
			total += weight;
			for (int k = 0; k < 3; k++)
				sum[k] += weight * (double)s->pixels[y][x][k];
		}
	}
	for (int k = 0; k < 3; k++)
		out[k] = sum[k] / total;
}

static void levels_are_the_integral_at_64_directions(void **state)
{
	(void)state;
	scene *s = begin();
	paint(s, outdoors);
	make(s);
	assert_int_equal(s->made.level_count, 3);
	uint32_t seed = 7;
	double sum = 0, worst = 0;
	/* Level 1 and up: the picture's pixels are too coarse for an integral over a narrower lobe. */
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t level = 1 + i % 2, side = SIZE >> level;
		seed = seed * 1664525 + 1013904223;
		uint32_t face = i % 6, x = (seed >> 8) % side, y = (seed >> 16) % side;
		float place[3];
		hob_environment_direction(face, (2 * (float)x + 1) / (float)side - 1,
								  (2 * (float)y + 1) / (float)side - 1, place);
		double n[3] = {(double)place[0], (double)place[1], (double)place[2]}, wanted[3];
		double length = sqrt(dot(n, n));
		for (int k = 0; k < 3; k++)
			n[k] /= length;
		integral(s, 1 - sqrt(1 - level / 2.0), n, wanted);
		const uint16_t *got = s->made.levels[level] + 4 * (((size_t)face * side + y) * side + x);
		for (int k = 0; k < 3; k++) {
			double off = fabs((double)half_value(got[k]) - wanted[k]) / wanted[k];
			sum += off;
			worst = off > worst ? off : worst;
		}
		assert_int_equal(got[3], 0x3C00);
	}
	if (getenv("HOB_SAY"))
		print_message("mean %g, worst %g\n", sum / 192, worst);
	if (sum / 192 > 0.02 || worst > 0.12)
		fail_msg("off by %g on average, %g at most", sum / 192, worst);
	end(s);
}

/* Radiance of spherical harmonics up to degree 2, so the irradiance is exact: E(n) = pi + pi / 3 n.y in red,
 * pi + 2 pi / 3 n.x in green, pi + pi / 4 n.y n.z in blue. */
static void two_bands(const double d[3], float rgb[4])
{
	rgb[0] = (float)(1 + 0.5 * d[1]);
	rgb[1] = (float)(1 + d[0]);
	rgb[2] = (float)(1 + d[1] * d[2]);
}

static void irradiance_is_that_of_the_picture(void **state)
{
	(void)state;
	scene *s = begin();
	paint(s, two_bands);
	make(s);
	const double wanted[9][3] = {
		{pi / 0.28209479, pi / 0.28209479, pi / 0.28209479}, /* the coefficient times Y gives pi */
		{pi / 3 / 0.48860251, 0, 0},
		{0},
		{0, 2 * pi / 3 / 0.48860251, 0},
		{0},
		{0, 0, pi / 4 / 1.09254843},
	};
	for (int i = 0; i < 9; i++)
		for (int k = 0; k < 3; k++) {
			double is = (double)s->made.irradiance[i][k];
			if (fabs(is - wanted[i][k]) > 0.004)
				fail_msg("term %d, channel %d: %g, not %g", i, k, is, wanted[i][k]);
		}
	end(s);
}

static void direction_as_color(const double d[3], float rgb[4])
{
	for (int k = 0; k < 3; k++)
		rgb[k] = (float)(d[k] + 1);
}

static void faces_look_where_the_picture_is(void **state)
{
	(void)state;
	scene *s = begin();
	paint(s, direction_as_color);
	make(s);
	for (uint32_t face = 0; face < 6; face++)
		for (uint32_t y = 0; y < SIZE; y++)
			for (uint32_t x = 0; x < SIZE; x++) {
				float d[3];
				hob_environment_direction(face, (2 * (float)x + 1) / SIZE - 1, (2 * (float)y + 1) / SIZE - 1,
										  d);
				float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
				const uint16_t *got = s->made.levels[0] + 4 * (((size_t)face * SIZE + y) * SIZE + x);
				for (int k = 0; k < 3; k++)
					assert_true(fabsf(half_value(got[k]) - 1 - d[k] / length) < 0.02f);
			}
	end(s);
}

static void light_that_is_none_counts_as_none(void **state)
{
	(void)state;
	scene *s = begin();
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			s->pixels[y][x][0] = 1e9f;
			s->pixels[y][x][1] = -1;
			s->pixels[y][x][2] = NAN;
		}
	make(s);
	assert_int_equal(s->made.clipped, WIDTH * HEIGHT);
	for (uint32_t level = 0; level < s->made.level_count; level++)
		for (size_t i = 0; i < (size_t)6 * (SIZE >> level) * (SIZE >> level); i++) {
			const uint16_t *got = s->made.levels[level] + 4 * i;
			assert_true(half_value(got[0]) > 65000 && got[1] == 0 && got[2] == 0);
		}
	end(s);
}

static bool make_again(void *context, hob_error *err)
{
	scene *s = context;
	(void)err;
	s->made = hob_environment_make(&s->picture, SIZE, NULL, &s->arena);
	return true;
}

static void too_little_memory_is_said(void **state)
{
	(void)state;
	scene *s = begin();
	for (size_t limit = 1 << 12; limit <= 1 << 20; limit *= 2) {
		hob_error err;
		hob_arena_release(&s->arena);
		hob_arena_init(&s->arena, limit);
		if (!hob_guarded(make_again, s, &err))
			assert_int_equal(err.code, HOB_ERR_MEMORY);
	}
	end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_are_the_integral_at_64_directions),
		cmocka_unit_test(irradiance_is_that_of_the_picture),
		cmocka_unit_test(faces_look_where_the_picture_is),
		cmocka_unit_test(light_that_is_none_counts_as_none),
		cmocka_unit_test(too_little_memory_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
