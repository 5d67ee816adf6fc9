#include "blocks.h"

#include <assert.h>

typedef float float4 __attribute__((vector_size(16)));

enum { REFINEMENTS = 3, AXIS_STEPS = 4 };

static float dot3(float4 a, float4 b)
{
	float4 p = a * b;
	return p[0] + p[1] + p[2];
}

/* Direction of greatest spread by power iteration on the covariance. */
static float4 main_axis(const float4 p[16], float4 mean)
{
	float4 rows[3] = {{0}, {0}, {0}};
	for (int i = 0; i < 16; i++) {
		float4 d = p[i] - mean;
		rows[0] += d * d[0];
		rows[1] += d * d[1];
		rows[2] += d * d[2];
	}
	float4 axis = rows[0][0] >= rows[1][1] && rows[0][0] >= rows[2][2] ? rows[0]
				  : rows[1][1] >= rows[2][2]						   ? rows[1]
																	   : rows[2];
	for (int step = 0; step < AXIS_STEPS; step++) {
		float4 next = rows[0] * axis[0] + rows[1] * axis[1] + rows[2] * axis[2];
		float x = next[0] < 0 ? -next[0] : next[0], y = next[1] < 0 ? -next[1] : next[1];
		float z = next[2] < 0 ? -next[2] : next[2], largest = x > y ? x : y;
		largest = z > largest ? z : largest;
		if (largest < 1e-9f)
			break;
		axis = next / largest;
	}
	return axis;
}

static uint32_t quantize(float v, int most)
{
	float scaled = v * ((float)most / 255.0f) + 0.5f;
	return scaled <= 0.0f ? 0 : scaled >= (float)most ? (uint32_t)most : (uint32_t)scaled;
}

static uint32_t pack_565(float4 c)
{
	return quantize(c[0], 31) << 11 | quantize(c[1], 63) << 5 | quantize(c[2], 31);
}

static void unpack_565(uint32_t c, int out[3])
{
	int r = (int)(c >> 11), g = (int)(c >> 5 & 63), b = (int)(c & 31);
	out[0] = r << 3 | r >> 2;
	out[1] = g << 2 | g >> 4;
	out[2] = b << 3 | b >> 2;
}

typedef struct fit {
	uint32_t c0, c1, bits, error; /* c0 > c1, or bits == 0 */
} fit;

/* Nearest of the four colours for each pixel. Colours stand on a line, so a dot product with its direction and three
 * thresholds would do as well; the full search is as fast with 16 pixels in vectors. */
static void match_colors(const uint8_t pixels[64], fit *f)
{
	int colors[4][3];
	unpack_565(f->c0, colors[0]);
	unpack_565(f->c1, colors[1]);
	for (int k = 0; k < 3; k++) {
		colors[2][k] = (2 * colors[0][k] + colors[1][k]) / 3;
		colors[3][k] = (colors[0][k] + 2 * colors[1][k]) / 3;
	}
	uint32_t error[16], index[16];
	for (int i = 0; i < 16; i++) {
		error[i] = UINT32_MAX;
		index[i] = 0;
	}
	for (uint32_t c = 0; c < 4; c++)
		for (int i = 0; i < 16; i++) {
			int r = pixels[4 * i] - colors[c][0], g = pixels[4 * i + 1] - colors[c][1],
				b = pixels[4 * i + 2] - colors[c][2];
			uint32_t e = (uint32_t)(r * r + g * g + b * b);
			bool better = e < error[i];
			error[i] = better ? e : error[i];
			index[i] = better ? c : index[i];
		}
	f->bits = 0;
	f->error = 0;
	for (int i = 0; i < 16; i++) {
		f->bits |= index[i] << 2 * i;
		f->error += error[i];
	}
}

static void try_ends(const uint8_t pixels[64], float4 a, float4 b, fit *best)
{
	fit f = {.c0 = pack_565(a), .c1 = pack_565(b)};
	if (f.c0 < f.c1) {
		uint32_t other = f.c0;
		f.c0 = f.c1;
		f.c1 = other;
	}
	match_colors(pixels, &f);
	if (f.c0 == f.c1)
		f.bits = 0;
	if (f.error < best->error)
		*best = f;
}

/* Ends that fit the chosen indices best: two equations in two unknowns for each channel. */
static bool solve_ends(const float4 p[16], uint32_t bits, float4 *a, float4 *b)
{
	static const float shares[4] = {1.0f, 0.0f, 2.0f / 3.0f, 1.0f / 3.0f};
	float aa = 0, bb = 0, ab = 0;
	float4 ap = {0}, bp = {0};
	for (int i = 0; i < 16; i++) {
		float s = shares[bits >> 2 * i & 3], t = 1.0f - s;
		aa += s * s;
		bb += t * t;
		ab += s * t;
		ap += p[i] * s;
		bp += p[i] * t;
	}
	float det = aa * bb - ab * ab;
	if (det < 1e-6f)
		return false;
	*a = (ap * bb - bp * ab) / det;
	*b = (bp * aa - ap * ab) / det;
	return true;
}

/* The pair of 5- or 6-bit ends whose value two thirds of the way is nearest to v. */
static void split_value(int v, int bits, uint32_t *first, uint32_t *second)
{
	int most = (1 << bits) - 1, near = (v * most + 127) / 255, least = 1 << 30;
	for (int a = near - 2; a <= near + 2; a++)
		for (int b = near - 2; b <= near + 2; b++) {
			if (a < 0 || b < 0 || a > most || b > most)
				continue;
			int wide_a = bits == 5 ? a << 3 | a >> 2 : a << 2 | a >> 4;
			int wide_b = bits == 5 ? b << 3 | b >> 2 : b << 2 | b >> 4;
			int miss = (2 * wide_a + wide_b) / 3 - v, spread = a > b ? a - b : b - a;
			int cost = (miss < 0 ? -miss : miss) * 16 + spread;
			if (cost < least) {
				least = cost;
				*first = (uint32_t)a;
				*second = (uint32_t)b;
			}
		}
}

static void encode_flat(const uint8_t color[3], fit *f)
{
	uint32_t first[3], second[3];
	split_value(color[0], 5, &first[0], &second[0]);
	split_value(color[1], 6, &first[1], &second[1]);
	split_value(color[2], 5, &first[2], &second[2]);
	f->c0 = first[0] << 11 | first[1] << 5 | first[2];
	f->c1 = second[0] << 11 | second[1] << 5 | second[2];
	f->bits = 0xAAAAAAAA;
	if (f->c0 < f->c1) {
		uint32_t other = f->c0;
		f->c0 = f->c1;
		f->c1 = other;
		f->bits = 0xFFFFFFFF;
	}
	if (f->c0 == f->c1)
		f->bits = 0;
}

static void store(const fit *f, uint8_t out[8])
{
	hob_store_u32(out, f->c0 | f->c1 << 16);
	hob_store_u32(out + 4, f->bits);
}

void hob_bc1_encode(const uint8_t pixels[64], uint8_t out[8])
{
	float4 p[16], mean = {0};
	bool flat = true;
	for (int i = 0; i < 16; i++) {
		p[i] = (float4){pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2], 0.0f};
		mean += p[i];
		flat &= memcmp(pixels, pixels + 4 * i, 3) == 0;
	}
	fit best = {.error = UINT32_MAX};
	if (flat) {
		encode_flat(pixels, &best);
		store(&best, out);
		return;
	}
	mean /= 16.0f;
	float4 axis = main_axis(p, mean);
	float length = dot3(axis, axis), low = 0, high = 0;
	for (int i = 0; i < 16; i++) {
		float t = dot3(p[i] - mean, axis);
		low = t < low ? t : low;
		high = t > high ? t : high;
	}
	try_ends(pixels, mean + axis * (high / length), mean + axis * (low / length), &best);
	for (int i = 0; i < REFINEMENTS; i++) {
		float4 a, b;
		uint32_t before = best.error;
		if (!solve_ends(p, best.bits, &a, &b))
			break;
		try_ends(pixels, a, b, &best);
		if (best.error == before)
			break;
	}
	store(&best, out);
}
