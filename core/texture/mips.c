#include "mips.h"

#include <assert.h>
#include <math.h>

typedef float float4 __attribute__((vector_size(16)));

/* Minimum weight of a transparent pixel's colour: a fully transparent area keeps its mean colour instead of
 * black. */
static const float least_weight = 1.0f / 4096.0f;

enum { BAND = 16 }; /* rows per task */

/* ---- weights along one axis: output i is the sum of weight[i][k] * input[first[i] + k] */

typedef struct axis {
	uint32_t out, in, widest;
	uint32_t *first, *count;
	float *weights; /* [out][widest] */
} axis;

static void area_weights(axis *a, uint32_t i)
{
	/* In units of which an input pixel has `out`, output pixel i covers [i*in, (i+1)*in): exact in
	 * integers. */
	uint64_t begin = (uint64_t)i * a->in, end = begin + a->in;
	a->first[i] = (uint32_t)(begin / a->out);
	a->count[i] = (uint32_t)((end + a->out - 1) / a->out) - a->first[i];
	for (uint32_t k = 0; k < a->count[i]; k++) {
		uint64_t left = (uint64_t)(a->first[i] + k) * a->out, right = left + a->out;
		uint64_t from = left > begin ? left : begin, to = right < end ? right : end;
		a->weights[(size_t)i * a->widest + k] = (float)((double)(to - from) / (double)a->in);
	}
}

static void linear_weights(axis *a, uint32_t i)
{
	double centre = ((double)i + 0.5) * a->in / a->out - 0.5;
	if (centre < 0.0)
		centre = 0.0;
	uint32_t left = (uint32_t)centre;
	if (left + 1 >= a->in) {
		a->first[i] = a->in - 1;
		a->count[i] = 1;
		a->weights[(size_t)i * a->widest] = 1.0f;
		return;
	}
	float share = (float)(centre - left);
	a->first[i] = left;
	a->count[i] = 2;
	a->weights[(size_t)i * a->widest] = 1.0f - share;
	a->weights[(size_t)i * a->widest + 1] = share;
}

static axis make_axis(uint32_t in, uint32_t out, hob_arena *arena)
{
	uint32_t widest = in / out + 2;
	axis a = {out,
			  in,
			  widest,
			  HOB_NEW(arena, uint32_t, out),
			  HOB_NEW(arena, uint32_t, out),
			  HOB_NEW(arena, float, (size_t)out *widest)};
	for (uint32_t i = 0; i < out; i++) {
		if (out <= in)
			area_weights(&a, i);
		else
			linear_weights(&a, i);
	}
	return a;
}

/* ---- one step: from a picture or a float level to the next float level */

typedef struct step {
	const hob_picture *picture; /* source of the first step, else NULL */
	const float4 *from;
	const hob_mip_options *options;
	const float *wide_linear; /* [65536] for 16-bit sRGB, else NULL */
	axis across, down;
	float4 *to;
	float4 *rows; /* [threads][2][across.in] */
} step;

static inline float4 weigh(float4 color)
{
	float weight = color[3] + least_weight;
	color *= weight;
	color[3] = weight;
	return color;
}

static inline float4 plain_narrow(const uint8_t *in)
{
	return (float4){(float)in[0], (float)in[1], (float)in[2], (float)in[3]} * (1.0f / 255.0f);
}

static void load_narrow(const step *s, const uint8_t *in, uint32_t width, float4 *out)
{
	const float *linear = s->options->srgb->linear;
	if (s->options->use == HOB_USE_NORMAL)
		for (uint32_t x = 0; x < width; x++)
			out[x] = plain_narrow(in + 4 * (size_t)x) * 2.0f - (float4){1, 1, 1, 0};
	else if (s->options->use == HOB_USE_DATA)
		for (uint32_t x = 0; x < width; x++)
			out[x] = plain_narrow(in + 4 * (size_t)x);
	else if (s->options->alpha_is_opacity)
		for (uint32_t x = 0; x < width; x++, in += 4)
			out[x] =
				weigh((float4){linear[in[0]], linear[in[1]], linear[in[2]], (float)in[3] * (1.0f / 255.0f)});
	else
		for (uint32_t x = 0; x < width; x++, in += 4)
			out[x] = (float4){linear[in[0]], linear[in[1]], linear[in[2]], (float)in[3] * (1.0f / 255.0f)};
}

/* Prepares a pixel for sums; colours are linear. */
static inline float4 prepared(const step *s, float4 value)
{
	if (s->options->use == HOB_USE_NORMAL)
		return value * 2.0f - (float4){1, 1, 1, 0};
	return s->options->use == HOB_USE_COLOR && s->options->alpha_is_opacity ? weigh(value) : value;
}

static void load_wide(const step *s, const uint16_t *in, uint32_t width, float4 *out)
{
	const float *linear = s->wide_linear;
	const float part = 1.0f / 65535.0f;
	for (uint32_t x = 0; x < width; x++, in += 4) {
		float4 value = (float4){(float)in[0], (float)in[1], (float)in[2], (float)in[3]} * part;
		if (linear)
			value = (float4){linear[in[0]], linear[in[1]], linear[in[2]], value[3]};
		out[x] = prepared(s, value);
	}
}

static void load_float(const step *s, const float *in, uint32_t width, float4 *out)
{
	for (uint32_t x = 0; x < width; x++, in += 4)
		out[x] = prepared(s, (float4){in[0], in[1], in[2], in[3]});
}

/* Pixels [x, x + count) of a row; `room` is used if they must be converted. */
static const float4 *load_pixels(const step *s, uint32_t y, uint32_t x, uint32_t count, float4 *room)
{
	size_t at = (size_t)y * s->across.in + x;
	if (!s->picture)
		return s->from + at;
	if (s->picture->depth == HOB_DEPTH_8)
		load_narrow(s, (const uint8_t *)s->picture->pixels + 4 * at, count, room);
	else if (s->picture->depth == HOB_DEPTH_16)
		load_wide(s, (const uint16_t *)s->picture->pixels + 4 * at, count, room);
	else
		load_float(s, (const float *)s->picture->pixels + 4 * at, count, room);
	return room;
}

/* Halves even sides, by far the most frequent case, in pieces that fit into the first-level cache. */
static void halve_band(const step *s, uint32_t first, uint32_t end)
{
	enum { PIECE = 256 };
	float4 room[2][PIECE];
	for (uint32_t y = first; y < end; y++)
		for (uint32_t x = 0; x < s->across.in; x += PIECE) {
			uint32_t count = s->across.in - x < PIECE ? s->across.in - x : PIECE;
			const float4 *upper = load_pixels(s, 2 * y, x, count, room[0]);
			const float4 *lower = load_pixels(s, 2 * y + 1, x, count, room[1]);
			float4 *out = s->to + (size_t)y * s->across.out + x / 2;
			for (uint32_t i = 0; i < count / 2; i++)
				out[i] = ((upper[2 * i] + upper[2 * i + 1]) + (lower[2 * i] + lower[2 * i + 1])) * 0.25f;
		}
}

static void reduce_band(void *context, uint32_t index, uint32_t thread)
{
	const step *s = context;
	uint32_t in_width = s->across.in,
			 end = (index + 1) * BAND < s->down.out ? (index + 1) * BAND : s->down.out;
	if (in_width == 2 * s->across.out && s->down.in == 2 * s->down.out) {
		halve_band(s, index * BAND, end);
		return;
	}
	float4 *loaded = s->rows + (size_t)thread * 2 * in_width, *sum = loaded + in_width;
	for (uint32_t y = index * BAND; y < end; y++) {
		const float *weights = s->down.weights + (size_t)y * s->down.widest;
		for (uint32_t k = 0; k < s->down.count[y]; k++) {
			const float4 *row = load_pixels(s, s->down.first[y] + k, 0, in_width, loaded);
			float weight = weights[k];
			if (k == 0)
				for (uint32_t x = 0; x < in_width; x++)
					sum[x] = row[x] * weight;
			else
				for (uint32_t x = 0; x < in_width; x++)
					sum[x] += row[x] * weight;
		}
		float4 *out = s->to + (size_t)y * s->across.out;
		for (uint32_t x = 0; x < s->across.out; x++) {
			const float *share = s->across.weights + (size_t)x * s->across.widest;
			const float4 *in = sum + s->across.first[x];
			float4 value = in[0] * share[0];
			for (uint32_t k = 1; k < s->across.count[x]; k++)
				value += in[k] * share[k];
			out[x] = value;
		}
	}
}

static uint32_t thread_count(const hob_parallel *parallel)
{
	return parallel && parallel->threads > 1 ? parallel->threads : 1;
}

static void reduce(step *s, uint32_t in_width, uint32_t in_height, uint32_t width, uint32_t height,
				   hob_arena *arena)
{
	hob_arena_mark mark = hob_arena_save(arena);
	size_t room = (size_t)thread_count(s->options->parallel) * 2 * in_width;
	s->rows = hob_arena_array(arena, room, sizeof(float4), 16);
	s->across = make_axis(in_width, width, arena);
	s->down = make_axis(in_height, height, arena);
	hob_parallel_for(s->options->parallel, (height + BAND - 1) / BAND, reduce_band, s);
	hob_arena_restore(arena, mark);
}

/* ---- floats to pixels */

typedef struct finish {
	const float4 *from;
	const hob_mip_options *options;
	uint32_t width, height;
	float alpha_scale;
	bool is_float;
	void *to;
} finish;

uint16_t hob_half_of(float value)
{
	if (!(value == value))
		return 0;
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	uint32_t sign = bits >> 16 & 0x8000;
	float size = fabsf(value);
	if (size >= 65504.0f)
		return (uint16_t)(sign | 0x7BFF);
	if (size < 6.103515625e-5f)
		/* Below the smallest normal half the step is 2^-24; the float unit rounds to even. */
		return (uint16_t)(sign | (uint32_t)lrintf(size * 16777216.0f));
	bits = (bits & 0x7FFFFFFF) - (112u << 23);
	return (uint16_t)(sign | (bits + 0xFFF + (bits >> 13 & 1)) >> 13);
}

typedef int32_t whole4 __attribute__((vector_size(16)));

static inline void store_bytes(float4 v, uint8_t out[4])
{
	v = v * 255.0f + 0.5f;
	whole4 keep = v > (float4){0};
	v = (float4)((whole4)v & keep);
	const float4 most = {255, 255, 255, 255};
	whole4 under = v < most;
	v = (float4)(((whole4)v & under) | ((whole4)most & ~under));
	whole4 bytes = __builtin_convertvector(v, whole4);
	for (int k = 0; k < 4; k++)
		out[k] = (uint8_t)bytes[k];
}

static inline void store_normal(float4 v, uint8_t *out)
{
	float4 squares = v * v;
	float length = sqrtf(squares[0] + squares[1] + squares[2]);
	/* If opposite normals cancel out, the result points straight up. */
	v = length > 1e-6f ? v * (0.5f / length) : (float4){0, 0, 0.5f, 0};
	store_bytes(v + (float4){0.5f, 0.5f, 0.5f, 1.0f}, out);
}

static float4 color_of(const finish *f, float4 v)
{
	if (f->options->use == HOB_USE_COLOR && f->options->alpha_is_opacity) {
		float weight = v[3];
		v /= weight;
		v[3] = (weight - least_weight) * f->alpha_scale;
	}
	return v;
}

static void finish_band(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	const finish *f = context;
	uint32_t end = (index + 1) * BAND < f->height ? (index + 1) * BAND : f->height;
	for (size_t i = (size_t)index * BAND * f->width; i < (size_t)end * f->width; i++) {
		if (f->is_float) {
			float4 v = color_of(f, f->from[i]);
			for (size_t k = 0; k < 4; k++)
				((uint16_t *)f->to)[4 * i + k] = hob_half_of(v[k]);
			continue;
		}
		uint8_t *out = (uint8_t *)f->to + 4 * i;
		if (f->options->use == HOB_USE_NORMAL) {
			store_normal(f->from[i], out);
			continue;
		}
		float4 v = color_of(f, f->from[i]);
		store_bytes(v, out);
		for (int k = 0; f->options->use == HOB_USE_COLOR && k < 3; k++)
			out[k] = hob_srgb_code(f->options->srgb, v[k]);
	}
}

static void finish_level(finish *f)
{
	hob_parallel_for(f->options->parallel, (f->height + BAND - 1) / BAND, finish_band, f);
}

/* ---- coverage: the fraction of a level at or above the cutoff, sampled between pixels too */

enum { BINS = 4096 };

typedef struct alphas {
	const uint8_t *pixels; /* of level 0, else NULL */
	const float4 *level;
	uint32_t width, height;
	uint32_t grid; /* samples along a pixel's side */
} alphas;

static uint32_t bin_of(float alpha)
{
	float scaled = alpha * (BINS - 1) + 0.5f;
	return scaled >= BINS - 1 ? BINS - 1 : scaled > 0.0f ? (uint32_t)scaled : 0;
}

static void alpha_row(const alphas *a, uint32_t y, float *out)
{
	size_t at = (size_t)y * a->width;
	for (uint32_t x = 0; x < a->width; x++)
		out[x] = a->pixels ? (float)a->pixels[4 * (at + x) + 3] * (1.0f / 255.0f)
						   : a->level[at + x][3] - least_weight;
}

/* turns / 2^32, from 0 to 1, rounded down to 24 bits. */
static float fraction(uint32_t turns)
{
	return (float)(turns >> 8) * (1.0f / 16777216.0f);
}

/* Counts bilinear samples into bins; `rows` has room for three rows. Each grid cell is sampled at a different
 * position (multiples of irrational numbers, as in Roberts' R2 sequence): in a regular pattern, all samples
 * of a kind or none would reach the cutoff. */
static uint64_t count_samples(const alphas *a, float *rows, uint32_t bins[BINS + 1])
{
	float *upper = rows, *lower = rows + a->width, *between = rows + 2 * (size_t)a->width;
	uint32_t grid = a->grid;
	memset(bins, 0, (BINS + 1) * sizeof *bins);
	for (uint32_t y = 0; y < a->height; y++) {
		alpha_row(a, y, upper);
		alpha_row(a, y + 1 < a->height ? y + 1 : y, lower);
		for (uint32_t i = 0; i < grid; i++) {
			uint32_t row = y * grid + i;
			float down = ((float)i + fraction(row * 2654435769u)) / (float)grid;
			for (uint32_t x = 0; x < a->width; x++)
				between[x] = upper[x] + (lower[x] - upper[x]) * down;
			for (uint32_t x = 0; x < a->width; x++) {
				float left = between[x], rise = (between[x + 1 < a->width ? x + 1 : x] - left) / (float)grid;
				float at = fraction(x * 3242174889u + row * 2447445414u);
				for (uint32_t j = 0; j < grid; j++)
					bins[bin_of(left + rise * ((float)j + at))]++;
			}
		}
	}
	return (uint64_t)a->width * a->height * grid * grid;
}

static double share_above(const uint32_t bins[BINS + 1], uint64_t samples, float cutoff)
{
	uint64_t above = 0;
	for (uint32_t b = bin_of(cutoff); b < BINS; b++)
		above += bins[b];
	return (double)above / (double)samples;
}

/* The factor nearest to 1 that puts the fraction `coverage` of the samples at or above the cutoff. */
static float scale_for(const uint32_t bins[BINS + 1], uint64_t samples, float cutoff, double coverage)
{
	double wanted = coverage * (double)samples, best_miss = wanted;
	uint64_t above = 0;
	uint32_t best = BINS; /* the lowest bin that must reach the cutoff */
	for (uint32_t b = BINS - 1; b > 0; b--) {
		above += bins[b];
		double miss = fabs((double)above - wanted);
		if (bins[b] > 0 && miss < best_miss) {
			best_miss = miss;
			best = b;
		}
	}
	uint32_t below = best - 1;
	while (below > 0 && bins[below] == 0)
		below--;
	/* Any threshold above bin `below` and at most `best` works. */
	float lowest = ((float)below + 0.6f) / (BINS - 1), highest = ((float)best - 0.5f) / (BINS - 1);
	float threshold = cutoff < lowest ? lowest : cutoff > highest ? highest : cutoff;
	return cutoff / threshold;
}

/* Every other bit of v, to visit texels along a Z curve, so that chosen texels of equal alpha do not line
 * up. */
static uint32_t even_bits(uint32_t v)
{
	v &= 0x55555555u;
	v = (v | v >> 1) & 0x33333333u;
	v = (v | v >> 2) & 0x0F0F0F0Fu;
	v = (v | v >> 4) & 0x00FF00FFu;
	return (v | v >> 8) & 0x0000FFFFu;
}

static uint32_t count_at_least(const uint32_t counts[256], uint32_t code)
{
	uint32_t sum = 0;
	for (uint32_t c = code; c < 256; c++)
		sum += counts[c];
	return sum;
}

static void count_codes(const uint8_t *pixels, size_t count, uint32_t counts[256])
{
	memset(counts, 0, 256 * sizeof *counts);
	for (size_t i = 0; i < count; i++)
		counts[pixels[4 * i + 3]]++;
}

/* Raises the `wanted` most opaque texels to `reach`, the code of the cutoff, and lowers all others below
 * it. */
static void choose_texels(uint8_t *pixels, uint32_t width, uint32_t height, uint32_t reach, uint32_t wanted)
{
	uint32_t counts[256], edge = 255, above = 0;
	count_codes(pixels, (size_t)width * height, counts);
	while (edge > 0 && above + counts[edge] < wanted)
		above += counts[edge--];
	uint64_t chosen = wanted - above, equal = counts[edge], sum = 0;
	uint32_t side = 1;
	while (side < width || side < height)
		side *= 2;
	for (uint64_t i = 0; i < (uint64_t)side * side; i++) {
		uint32_t x = even_bits((uint32_t)i), y = even_bits((uint32_t)(i >> 1));
		if (x >= width || y >= height)
			continue;
		uint8_t *alpha = &pixels[4 * ((size_t)y * width + x) + 3];
		bool shown = *alpha > edge;
		if (*alpha == edge && (sum += chosen) >= equal) {
			sum -= equal;
			shown = chosen > 0;
		}
		/* Texels on both sides of the edge get different alphas, between which spread_alpha moves it. */
		if (*alpha == edge)
			*alpha = shown ? 255 : 0;
		else if (shown ? *alpha < reach : *alpha >= reach)
			*alpha = (uint8_t)(shown ? reach : reach - 1);
	}
}

/* Moves alphas without crossing the cutoff: towards transparent for spread -1 to 0, towards opaque for 0 to
 * 1. */
static uint8_t spread_alpha(uint8_t alpha, uint32_t reach, float spread)
{
	float least = alpha >= reach ? (float)reach : 0, most = alpha >= reach ? 255 : (float)reach - 1;
	float end = spread < 0 ? least : most;
	return (uint8_t)((float)alpha + (end - (float)alpha) * fabsf(spread) + 0.5f);
}

/* The coverage of level 0 that every level keeps, and buffers to measure it. */
typedef struct cutout {
	float cutoff;
	uint32_t reach;	 /* code of the cutoff; 256: no alpha reaches it */
	double coverage; /* sampled coverage; below 0: not measured */
	double shown;	 /* fraction of texels */
	uint32_t *bins;	 /* BINS + 1 */
	float *rows;	 /* three rows of level 0 */
	uint8_t *ranked; /* alphas of one level */
} cutout;

static void measure(cutout *c, const uint8_t *pixels, uint32_t width, uint32_t height)
{
	alphas whole = {pixels, NULL, width, height, 2};
	uint64_t samples = count_samples(&whole, c->rows, c->bins);
	c->coverage = share_above(c->bins, samples, c->cutoff);
	uint32_t counts[256];
	count_codes(pixels, (size_t)width * height, counts);
	c->shown = (double)count_at_least(counts, c->reach) / ((double)width * height);
}

static double drawn_share(const cutout *c, const alphas *level)
{
	uint64_t samples = count_samples(level, c->rows, c->bins);
	return share_above(c->bins, samples, c->cutoff);
}

/* Matches both the number of texels at the cutoff and the sampled coverage. A factor matches only the second,
 * and neither where many texels share an alpha. */
static void fit_texels(const cutout *c, uint8_t *pixels, uint32_t width, uint32_t height)
{
	enum { HALVINGS = 8, FINE = 256 * 256 };
	size_t count = (size_t)width * height;
	alphas level = {pixels, NULL, width, height, count > FINE ? 4 : 8};
	uint32_t counts[256];
	count_codes(pixels, count, counts);
	double wanted = c->shown * (double)count;
	if (fabs(count_at_least(counts, c->reach) - wanted) <= fmax(wanted / 12, 1) &&
		fabs(drawn_share(c, &level) - c->coverage) <= fmax(c->coverage / 12, 1.0 / (double)count))
		return;
	choose_texels(pixels, width, height, c->reach, (uint32_t)(wanted + 0.5));
	for (size_t i = 0; i < count; i++)
		c->ranked[i] = pixels[4 * i + 3];
	/* Equal texels cross the cutoff together, so the coverage jumps: keeps the nearest value. */
	float low = -1, high = 1, spread = 0, best = 0;
	double least = 2;
	for (int halving = 0; halving <= HALVINGS; halving++) {
		for (size_t i = 0; i < count; i++)
			pixels[4 * i + 3] = spread_alpha(c->ranked[i], c->reach, halving < HALVINGS ? spread : best);
		double over = drawn_share(c, &level) - c->coverage;
		if (fabs(over) < least) {
			least = fabs(over);
			best = spread;
		}
		*(over < 0 ? &low : &high) = spread;
		spread = (low + high) / 2;
	}
}

/* ---- the chain */

static void round_wide(const hob_picture *picture, uint8_t *out)
{
	const uint16_t *in = picture->pixels;
	for (size_t i = 0, n = 4 * (size_t)picture->width * picture->height; i < n; i++)
		out[i] = (uint8_t)(((uint32_t)in[i] * 255 + 32895) >> 16);
}

/* Makes level 0 at the picture's size. */
static void copy_level(const hob_picture *picture, const hob_mip_options *o, hob_arena *arena, hob_mips *m)
{
	if (o->use != HOB_USE_NORMAL && picture->depth == HOB_DEPTH_16) {
		round_wide(picture, m->levels[0]);
		return;
	}
	if (m->is_float) {
		for (size_t i = 0, n = 4 * (size_t)picture->width * picture->height; i < n; i++)
			((uint16_t *)m->levels[0])[i] = hob_half_of(((const float *)picture->pixels)[i]);
		return;
	}
	float4 *row = hob_arena_array(arena, picture->width, sizeof(float4), 16);
	step s = {.picture = picture, .options = o, .across = {.in = picture->width}};
	for (uint32_t y = 0; y < picture->height; y++) {
		load_pixels(&s, y, 0, picture->width, row);
		finish f = {
			row, o, picture->width, 1, 1.0f, false, (uint8_t *)m->levels[0] + 4 * (size_t)y * picture->width};
		finish_band(&f, 0, 0);
	}
}

/* Light by code of 16 bits; NULL: not needed. */
static const float *wide_table(const hob_picture *picture, const hob_mip_options *o, hob_arena *arena)
{
	if (picture->depth != HOB_DEPTH_16 || o->use != HOB_USE_COLOR)
		return NULL;
	float *table = HOB_NEW(arena, float, 65536);
	for (uint32_t i = 0; i < 65536; i++)
		table[i] = (float)hob_srgb_to_linear(i / 65535.0);
	return table;
}

static bool is_opaque(const hob_mips *m)
{
	for (uint32_t level = 0; level < m->level_count; level++) {
		size_t count = (size_t)hob_level_side(m->width, level) * hob_level_side(m->height, level);
		for (size_t i = 0; i < count; i++)
			if (m->is_float ? ((const uint16_t *)m->levels[level])[4 * i + 3] != 0x3C00
							: ((const uint8_t *)m->levels[level])[4 * i + 3] != 255)
				return false;
	}
	return true;
}

/* The two float buffers alternate between levels; the first level is the largest. */
static void make_levels(const hob_picture *picture, const hob_mip_options *o, uint32_t first,
						hob_arena *arena, hob_mips *m)
{
	if (first == o->level_count)
		return;
	size_t largest = (size_t)hob_level_side(o->width, first) * hob_level_side(o->height, first);
	size_t second = (size_t)hob_level_side(o->width, first + 1) * hob_level_side(o->height, first + 1);
	float4 *turns[2] = {hob_arena_array(arena, largest, sizeof(float4), 16),
						hob_arena_array(arena, second, sizeof(float4), 16)};
	step s = {.picture = picture, .options = o, .wide_linear = wide_table(picture, o, arena)};
	uint32_t in_width = picture->width, in_height = picture->height;
	bool keeps = o->cutoff > 0.0f && o->alpha_is_opacity && !m->is_float && o->level_count > 1;
	cutout c = {.cutoff = o->cutoff,
				.reach = keeps && o->cutoff < 1 ? (uint32_t)ceilf(o->cutoff * 255.0f) : 256,
				.coverage = -1};
	if (keeps) {
		c.bins = HOB_NEW(arena, uint32_t, BINS + 1);
		c.rows = HOB_NEW(arena, float, 3 * (size_t)o->width);
		c.ranked = HOB_NEW(arena, uint8_t, largest);
	}
	for (uint32_t level = first; level < o->level_count; level++) {
		uint32_t width = hob_level_side(o->width, level), height = hob_level_side(o->height, level);
		s.to = turns[(level - first) % 2];
		reduce(&s, in_width, in_height, width, height, arena);
		finish f = {s.to, o, width, height, 1.0f, m->is_float, m->levels[level]};
		if (keeps && level > 0) {
			if (c.coverage < 0)
				measure(&c, m->levels[0], o->width, o->height);
			alphas here = {NULL, s.to, width, height, 4};
			uint64_t samples = count_samples(&here, c.rows, c.bins);
			f.alpha_scale = scale_for(c.bins, samples, o->cutoff, c.coverage);
		}
		finish_level(&f);
		if (keeps && level > 0 && c.reach < 256)
			fit_texels(&c, m->levels[level], width, height);
		s.picture = NULL;
		s.from = s.to;
		in_width = width;
		in_height = height;
	}
}

hob_mips hob_mips_build(const hob_picture *picture, const hob_mip_options *o, hob_arena *arena)
{
	assert(o->level_count >= 1 && o->level_count <= hob_level_count(o->width, o->height));
	hob_mips m = {.width = o->width, .height = o->height, .level_count = o->level_count};
	m.is_float = picture->depth == HOB_DEPTH_FLOAT && o->use == HOB_USE_COLOR && !o->narrow;
	bool same_size = picture->width == o->width && picture->height == o->height;
	bool as_is = same_size && picture->depth == HOB_DEPTH_8 && o->use != HOB_USE_NORMAL;
	for (uint32_t level = 0; level < o->level_count; level++) {
		size_t count = (size_t)hob_level_side(o->width, level) * hob_level_side(o->height, level);
		bool borrowed = level == 0 && as_is;
		m.levels[level] = borrowed ? picture->pixels : hob_arena_array(arena, count, m.is_float ? 8 : 4, 64);
	}
	hob_arena_mark mark = hob_arena_save(arena);
	if (same_size && !as_is)
		copy_level(picture, o, arena, &m);
	make_levels(picture, o, same_size ? 1 : 0, arena, &m);
	hob_arena_restore(arena, mark);
	m.opaque = is_opaque(&m);
	return m;
}

void hob_fit_size(uint32_t width, uint32_t height, uint32_t cap, uint32_t *out_width, uint32_t *out_height)
{
	uint32_t longest = width > height ? width : height;
	if (longest > cap) {
		width = (uint32_t)(((uint64_t)width * cap + longest / 2) / longest);
		height = (uint32_t)(((uint64_t)height * cap + longest / 2) / longest);
	}
	*out_width = width > 0 ? width : 1;
	*out_height = height > 0 ? height : 1;
}
