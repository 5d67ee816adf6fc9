#include "environment_map.h"

#include "mips.h"

#include <assert.h>
#include <math.h>

static const float pi = 3.14159265358979f;
static const float brightest = 65504;

/* ---- faces */

void hob_environment_direction(uint32_t face, float s, float t, float out[3])
{
	const float d[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
	memcpy(out, d[face], sizeof d[face]);
}

static void place_of(const float d[3], uint32_t *face, float *s, float *t)
{
	float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
	if (x >= y && x >= z) {
		*face = d[0] > 0 ? 0 : 1;
		*s = (d[0] > 0 ? -d[2] : d[2]) / x;
		*t = -d[1] / x;
	} else if (y >= z) {
		*face = d[1] > 0 ? 2 : 3;
		*s = d[0] / y;
		*t = (d[1] > 0 ? d[2] : -d[2]) / y;
	} else {
		*face = d[2] > 0 ? 4 : 5;
		*s = (d[2] > 0 ? d[0] : -d[0]) / z;
		*t = -d[1] / z;
	}
}

static void normalize(float v[3])
{
	float scale = 1 / sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
	for (int k = 0; k < 3; k++)
		v[k] *= scale;
}

/* ---- the picture */

static float light_of(float value)
{
	return !(value > 0) ? 0 : value > brightest ? brightest : value;
}

/* Samples the picture with interpolation; columns wrap around, rows end at the poles. */
static void look_up(const hob_picture *p, const float d[3], float out[3])
{
	float across = (atan2f(d[2], d[0]) / (2 * pi) + 0.5f) * (float)p->width - 0.5f;
	float down = acosf(d[1] > 1 ? 1 : d[1] < -1 ? -1 : d[1]) / pi * (float)p->height - 0.5f;
	float left = floorf(across), top = floorf(down), fx = across - left, fy = down - top;
	uint32_t x[2], y[2];
	for (int i = 0; i < 2; i++) {
		int64_t column = (int64_t)left + i, row = (int64_t)top + i;
		x[i] = (uint32_t)((column + p->width) % p->width);
		y[i] = row < 0 ? 0 : row >= p->height ? p->height - 1 : (uint32_t)row;
	}
	const float weights[4] = {(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy};
	out[0] = out[1] = out[2] = 0;
	for (int i = 0; i < 4; i++) {
		const float *pixel = (const float *)p->pixels + 4 * ((size_t)y[i / 2] * p->width + x[i % 2]);
		for (int k = 0; k < 3; k++)
			out[k] += weights[i] * light_of(pixel[k]);
	}
}

/* ---- a pyramid of cubes; each face is bordered by its neighbours' texels */

typedef struct cube {
	uint32_t size;
	float *texels; /* [6][size + 2][size + 2][3] */
} cube;

typedef struct maker {
	const hob_picture *picture;
	uint32_t cube_count;
	cube cubes[HOB_GPU_LEVELS];
	uint32_t level; /* index of the level being made */
	uint32_t taps;	/* level 0: samples per side of a texel */
	struct direction *directions;
	uint32_t direction_count;
	uint16_t *out;
	double (*sums)[HOB_ENVIRONMENT_TERMS][3]; /* by row of the picture */
	uint64_t *clipped;						  /* by row */
} maker;

/* x and y include the border: 1 is the first texel of the face. */
static float *texel(const cube *c, uint32_t face, uint32_t x, uint32_t y)
{
	size_t stride = c->size + 2;
	return c->texels + 3 * ((face * stride + y) * stride + x);
}

static float middle(uint32_t at, uint32_t size)
{
	return (2 * (float)at + 1) / (float)size - 1;
}

/* Fills one row of a face of level 0. */
static void fill_row(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	const maker *m = context;
	const cube *c = &m->cubes[0];
	uint32_t face = index / c->size, y = index % c->size, fine = c->size * m->taps;
	for (uint32_t x = 0; x < c->size; x++) {
		float sum[3] = {0}, weight = 0;
		for (uint32_t i = 0; i < m->taps * m->taps; i++) {
			float s = middle(x * m->taps + i % m->taps, fine), t = middle(y * m->taps + i / m->taps, fine);
			float d[3], light[3], angle = 1 / ((1 + s * s + t * t) * sqrtf(1 + s * s + t * t));
			hob_environment_direction(face, s, t, d);
			normalize(d);
			look_up(m->picture, d, light);
			weight += angle;
			for (int k = 0; k < 3; k++)
				sum[k] += angle * light[k];
		}
		for (int k = 0; k < 3; k++)
			texel(c, face, x + 1, y + 1)[k] = sum[k] / weight;
	}
}

static void shrink(const cube *from, const cube *to)
{
	for (uint32_t face = 0; face < 6; face++)
		for (uint32_t y = 0; y < to->size; y++)
			for (uint32_t x = 0; x < to->size; x++)
				for (int k = 0; k < 3; k++)
					texel(to, face, x + 1, y + 1)[k] = 0.25f * (texel(from, face, 2 * x + 1, 2 * y + 1)[k] +
																texel(from, face, 2 * x + 2, 2 * y + 1)[k] +
																texel(from, face, 2 * x + 1, 2 * y + 2)[k] +
																texel(from, face, 2 * x + 2, 2 * y + 2)[k]);
}

static uint32_t nearest(float place, uint32_t size)
{
	float at = (place + 1) / 2 * (float)size;
	return at < 0 ? 0 : at >= (float)size ? size - 1 : (uint32_t)at;
}

static void copy_edge(const cube *c, uint32_t face, uint32_t x, uint32_t y)
{
	float d[3], s, t;
	uint32_t other;
	hob_environment_direction(face, (2 * (float)x - 1) / (float)c->size - 1,
							  (2 * (float)y - 1) / (float)c->size - 1, d);
	place_of(d, &other, &s, &t);
	memcpy(texel(c, face, x, y), texel(c, other, nearest(s, c->size) + 1, nearest(t, c->size) + 1),
		   3 * sizeof(float));
}

static void copy_edges(const cube *c)
{
	uint32_t last = c->size + 1;
	for (uint32_t face = 0; face < 6; face++)
		for (uint32_t i = 0; i <= last; i++) {
			copy_edge(c, face, i, 0);
			copy_edge(c, face, i, last);
			copy_edge(c, face, 0, i);
			copy_edge(c, face, last, i);
		}
}

static void add_from(const cube *c, uint32_t face, float s, float t, float weight, float sum[3])
{
	float x = (s + 1) / 2 * (float)c->size + 0.5f, y = (t + 1) / 2 * (float)c->size + 0.5f;
	uint32_t left = (uint32_t)x, top = (uint32_t)y;
	left = left > c->size ? c->size : left;
	top = top > c->size ? c->size : top;
	float fx = x - (float)left, fy = y - (float)top;
	const float *upper = texel(c, face, left, top), *lower = texel(c, face, left, top + 1);
	for (int k = 0; k < 3; k++) {
		float high = upper[k] + fx * (upper[3 + k] - upper[k]),
			  low = lower[k] + fx * (lower[3 + k] - lower[k]);
		sum[k] += weight * (high + fy * (low - high));
	}
}

/* ---- blur */

typedef struct direction {
	float l[3]; /* direction, with the lobe around Z */
	float weight;
	uint32_t cube; /* pyramid level to sample, and the weight of the next smaller one */
	float share;
} direction;

static float reversed_bits(uint32_t i)
{
	uint32_t bits = 0;
	for (int k = 0; k < 32; k++)
		bits |= (i >> k & 1) << (31 - k);
	return (float)bits * 0x1p-32f;
}

/* Makes Hammersley points with the density of the lobe; drops those below the horizon. */
static void set_directions(maker *m, float roughness, uint32_t count)
{
	float a2 = roughness * roughness * roughness * roughness, total = 0;
	float texel_angle = 4 * pi / (6 * (float)m->cubes[0].size * (float)m->cubes[0].size);
	m->direction_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		float u = ((float)i + 0.5f) / (float)count, turn = 2 * pi * reversed_bits(i);
		float c2 = (1 - u) / (1 + (a2 - 1) * u), c = sqrtf(c2), s = sqrtf(1 - c2);
		float up = 2 * c2 - 1;
		if (up <= 0)
			continue;
		float d = (a2 - 1) * c2 + 1, density = a2 / (pi * d * d) / 4;
		float level = 0.5f * log2f(1 / ((float)count * density) / texel_angle);
		float last = (float)(m->cube_count - 1);
		level = level < 0 ? 0 : level > last ? last : level;
		direction *to = &m->directions[m->direction_count++];
		*to = (direction){{2 * c * s * cosf(turn), 2 * c * s * sinf(turn), up}, up, (uint32_t)level, 0};
		to->share = level - (float)to->cube;
		total += up;
	}
	for (uint32_t i = 0; i < m->direction_count; i++)
		m->directions[i].weight /= total;
}

static void set_frame(const float n[3], float across[3], float along[3])
{
	const float up[3] = {fabsf(n[2]) < 0.9f ? 0.0f : 1.0f, 0.0f, fabsf(n[2]) < 0.9f ? 1.0f : 0.0f};
	for (int k = 0; k < 3; k++)
		across[k] = up[(k + 1) % 3] * n[(k + 2) % 3] - up[(k + 2) % 3] * n[(k + 1) % 3];
	normalize(across);
	for (int k = 0; k < 3; k++)
		along[k] = n[(k + 1) % 3] * across[(k + 2) % 3] - n[(k + 2) % 3] * across[(k + 1) % 3];
}

static void blur(const maker *m, const float n[3], float sum[3])
{
	float across[3], along[3];
	set_frame(n, across, along);
	sum[0] = sum[1] = sum[2] = 0;
	for (uint32_t i = 0; i < m->direction_count; i++) {
		const direction *from = &m->directions[i];
		float d[3], s, t;
		uint32_t face;
		for (int k = 0; k < 3; k++)
			d[k] = from->l[0] * across[k] + from->l[1] * along[k] + from->l[2] * n[k];
		place_of(d, &face, &s, &t);
		add_from(&m->cubes[from->cube], face, s, t, from->weight * (1 - from->share), sum);
		if (from->share > 0)
			add_from(&m->cubes[from->cube + 1], face, s, t, from->weight * from->share, sum);
	}
}

static void put_row(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	const maker *m = context;
	uint32_t side = m->cubes[0].size >> m->level, face = index / side, y = index % side;
	for (uint32_t x = 0; x < side; x++) {
		float n[3], light[3];
		uint16_t *to = m->out + 4 * ((size_t)index * side + x);
		hob_environment_direction(face, middle(x, side), middle(y, side), n);
		normalize(n);
		if (m->level == 0)
			memcpy(light, texel(&m->cubes[0], face, x + 1, y + 1), sizeof light);
		else
			blur(m, n, light);
		for (int k = 0; k < 3; k++)
			to[k] = hob_half_of(light[k]);
		to[3] = 0x3C00;
	}
}

/* ---- irradiance */

static void harmonics(const double d[3], double out[HOB_ENVIRONMENT_TERMS])
{
	double x = d[0], y = d[1], z = d[2];
	const double y0 = 0.28209479177387814, y1 = 0.4886025119029199, y2 = 1.0925484305920792;
	const double all[HOB_ENVIRONMENT_TERMS] = {y0,
											   y1 * y,
											   y1 * z,
											   y1 * x,
											   y2 * x * y,
											   y2 * y * z,
											   0.31539156525252005 * (3 * z * z - 1),
											   y2 * x * z,
											   y2 / 2 * (x * x - y * y)};
	memcpy(out, all, sizeof all);
}

static void sum_row(void *context, uint32_t row, uint32_t thread)
{
	(void)thread;
	const maker *m = context;
	const hob_picture *p = m->picture;
	const double step = 3.14159265358979323846 / p->height, upper = step * row, half = upper + step / 2;
	const double angle = 2 * 3.14159265358979323846 / p->width * (cos(upper) - cos(upper + step));
	for (uint32_t x = 0; x < p->width; x++) {
		const float *pixel = (const float *)p->pixels + 4 * ((size_t)row * p->width + x);
		double turn = ((x + 0.5) / p->width - 0.5) * 2 * 3.14159265358979323846, y[HOB_ENVIRONMENT_TERMS];
		m->clipped[row] += pixel[0] > brightest || pixel[1] > brightest || pixel[2] > brightest;
		harmonics((const double[3]){cos(turn) * sin(half), cos(half), sin(turn) * sin(half)}, y);
		for (int i = 0; i < HOB_ENVIRONMENT_TERMS; i++)
			for (int k = 0; k < 3; k++)
				m->sums[row][i][k] += angle * y[i] * (double)light_of(pixel[k]);
	}
}

static void sum_irradiance(maker *m, const hob_parallel *parallel, hob_arena *arena, hob_environment *out)
{
	/* Attenuation of each band by a cosine lobe. */
	const double pi_exact = 3.14159265358979323846, bands[3] = {pi_exact, 2 * pi_exact / 3, pi_exact / 4};
	uint32_t rows = m->picture->height;
	m->sums = hob_arena_alloc(arena, rows * sizeof *m->sums, 16);
	m->clipped = HOB_NEW(arena, uint64_t, rows);
	hob_parallel_for(parallel, rows, sum_row, m);
	for (int i = 0; i < HOB_ENVIRONMENT_TERMS; i++)
		for (int k = 0; k < 3; k++) {
			double sum = 0;
			for (uint32_t row = 0; row < rows; row++)
				sum += m->sums[row][i][k];
			out->irradiance[i][k] = (float)(sum * bands[i == 0 ? 0 : i < 4 ? 1 : 2]);
		}
	for (uint32_t row = 0; row < rows; row++)
		out->clipped += m->clipped[row];
}

/* ---- all of it */

static void make_cubes(maker *m, uint32_t size, const hob_parallel *parallel, hob_arena *arena)
{
	enum { MOST_TAPS = 16 };
	uint32_t taps = (m->picture->width / 4 + size - 1) / size;
	m->taps = taps < 2 ? 2 : taps > MOST_TAPS ? MOST_TAPS : taps;
	for (uint32_t side = size; side >= 1; side /= 2) {
		cube *c = &m->cubes[m->cube_count++];
		*c =
			(cube){side, hob_arena_alloc(arena, (size_t)6 * 3 * (side + 2) * (side + 2) * sizeof(float), 16)};
		if (side == size)
			hob_parallel_for(parallel, 6 * size, fill_row, m);
		else
			shrink(c - 1, c);
		copy_edges(c);
	}
}

hob_environment hob_environment_make(const hob_picture *picture, uint32_t size, const hob_parallel *parallel,
									 hob_arena *arena)
{
	enum { MOST_DIRECTIONS = 2048 };
	static const uint32_t counts[] = {0, 256, 512, 1024};
	assert(picture->depth == HOB_DEPTH_FLOAT && picture->width == 2 * picture->height);
	assert(size >= HOB_ENVIRONMENT_LEAST && size <= HOB_ENVIRONMENT_MOST && (size & (size - 1)) == 0);
	hob_environment made = {.size = size};
	for (uint32_t side = size; side >= HOB_ENVIRONMENT_LAST; side /= 2, made.level_count++)
		made.levels[made.level_count] = hob_arena_alloc(arena, (size_t)6 * side * side * 8, 16);
	hob_arena_mark mark = hob_arena_save(arena);
	maker m = {.picture = picture, .directions = HOB_NEW(arena, direction, MOST_DIRECTIONS)};
	sum_irradiance(&m, parallel, arena, &made);
	make_cubes(&m, size, parallel, arena);
	for (m.level = 0; m.level < made.level_count; m.level++) {
		uint32_t count = m.level < HOB_COUNT_OF(counts) ? counts[m.level] : MOST_DIRECTIONS;
		set_directions(&m, 1 - sqrtf(1 - (float)m.level / (float)(made.level_count - 1)), count);
		m.out = made.levels[m.level];
		hob_parallel_for(parallel, 6 * (size >> m.level), put_row, &m);
	}
	hob_arena_restore(arena, mark);
	return made;
}
