#include "block_vectors.h"
#include "blocks.h"

/* NEARLY_FLAT: squared error of a block below which the quantisation of 565 dominates. */
enum { REFINEMENTS = 3, AXIS_STEPS = 4, NEARLY_FLAT = 16 * 24 };

/* The sixteen pixels, channel by channel. */
typedef struct pixels {
	four c[3][4];
} pixels;

typedef struct fit {
	uint32_t c0, c1; /* stored ends: c0 > c1, or all indices are 0 */
	four_whole index[4];
	float error;
} fit;

static float sum_of(four v)
{
	return (v[0] + v[2]) + (v[1] + v[3]);
}

static four sum_groups(const four v[4])
{
	return (v[0] + v[1]) + (v[2] + v[3]);
}

/* Ends of the line through the mean along the principal axis, by power iteration. */
static void first_ends(const pixels *p, const float mean[3], float ends[2][3])
{
	float cov[3][3], axis[3];
	four d[3][4];
	for (int k = 0; k < 3; k++)
		for (int g = 0; g < 4; g++)
			d[k][g] = p->c[k][g] - mean[k];
	for (int k = 0; k < 3; k++)
		for (int j = 0; j <= k; j++) {
			four products[4];
			for (int g = 0; g < 4; g++)
				products[g] = d[k][g] * d[j][g];
			cov[k][j] = cov[j][k] = sum_of(sum_groups(products));
		}
	int widest = cov[0][0] >= cov[1][1] && cov[0][0] >= cov[2][2] ? 0 : cov[1][1] >= cov[2][2] ? 1 : 2;
	memcpy(axis, cov[widest], sizeof axis);
	for (int step = 0; step < AXIS_STEPS; step++) {
		float size = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2];
		if (size < 1e-12f)
			break;
		float scale = 1.0f / __builtin_sqrtf(size), x = axis[0] * scale, y = axis[1] * scale,
			  z = axis[2] * scale;
		for (int k = 0; k < 3; k++)
			axis[k] = cov[k][0] * x + cov[k][1] * y + cov[k][2] * z;
	}
	float length = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2], low = 0, high = 0;
	for (int g = 0; g < 4; g++) {
		four t = d[0][g] * axis[0] + d[1][g] * axis[1] + d[2][g] * axis[2];
		for (int i = 0; i < 4; i++) {
			low = t[i] < low ? t[i] : low;
			high = t[i] > high ? t[i] : high;
		}
	}
	float scale = length > 0 ? 1.0f / length : 0.0f;
	for (int k = 0; k < 3; k++) {
		ends[0][k] = mean[k] + axis[k] * (high * scale);
		ends[1][k] = mean[k] + axis[k] * (low * scale);
	}
}

static uint32_t quantize(float v, int most)
{
	float scaled = v * ((float)most / 255.0f) + 0.5f;
	return scaled <= 0.0f ? 0 : scaled >= (float)most ? (uint32_t)most : (uint32_t)scaled;
}

static uint32_t pack_565(const float c[3])
{
	return quantize(c[0], 31) << 11 | quantize(c[1], 63) << 5 | quantize(c[2], 31);
}

/* Finds the nearest of the four colours for each pixel. */
static void match_colors(const pixels *p, fit *f)
{
	int colors[4][3];
	hob_expand_565(f->c0, colors[0]);
	hob_expand_565(f->c1, colors[1]);
	for (int k = 0; k < 3; k++) {
		colors[2][k] = (2 * colors[0][k] + colors[1][k]) / 3;
		colors[3][k] = (colors[0][k] + 2 * colors[1][k]) / 3;
	}
	four least[4];
	for (int g = 0; g < 4; g++) {
		least[g] = (four){1e9f, 1e9f, 1e9f, 1e9f};
		f->index[g] = (four_whole){0};
	}
	for (int i = 0; i < 4; i++)
		for (int g = 0; g < 4; g++) {
			four r = p->c[0][g] - (float)colors[i][0], b = p->c[1][g] - (float)colors[i][1];
			four c = p->c[2][g] - (float)colors[i][2], error = r * r + b * b + c * c;
			four_whole better = error < least[g];
			least[g] = choose_four(better, error, least[g]);
			f->index[g] = (better & i) | (f->index[g] & ~better);
		}
	f->error = sum_of(sum_groups(least));
	if (f->c0 == f->c1)
		memset(f->index, 0, sizeof f->index);
}

static void try_codes(const pixels *p, uint32_t c0, uint32_t c1, fit *best)
{
	fit f = {.c0 = c0 > c1 ? c0 : c1, .c1 = c0 > c1 ? c1 : c0};
	match_colors(p, &f);
	if (f.error < best->error)
		*best = f;
}

/* Least-squares ends for the chosen indices: two equations in two unknowns per channel. */
static bool solve_ends(const pixels *p, const fit *f, float ends[2][3])
{
	four aa[4], bb[4], ab[4], ap[3][4], bp[3][4];
	for (int g = 0; g < 4; g++) {
		/* Weight of the first end in thirds: index 0 is 3, 1 is 0, 2 is 2, 3 is 1. */
		four_whole index = f->index[g], thirds = (3 & (index == 0)) | (2 & (index == 2)) | (1 & (index == 3));
		four a = __builtin_convertvector(thirds, four), b = 3.0f - a;
		aa[g] = a * a;
		bb[g] = b * b;
		ab[g] = a * b;
		for (int k = 0; k < 3; k++) {
			ap[k][g] = p->c[k][g] * a;
			bp[k][g] = p->c[k][g] * b;
		}
	}
	float saa = sum_of(sum_groups(aa)), sbb = sum_of(sum_groups(bb)), sab = sum_of(sum_groups(ab));
	float det = saa * sbb - sab * sab;
	if (det < 0.5f)
		return false;
	float scale = 3.0f / det;
	for (int k = 0; k < 3; k++) {
		float sap = sum_of(sum_groups(ap[k])), sbp = sum_of(sum_groups(bp[k]));
		ends[0][k] = (sap * sbb - sbp * sab) * scale;
		ends[1][k] = (sbp * saa - sap * sab) * scale;
	}
	return true;
}

static int widen(int code, int bits)
{
	return bits == 5 ? code << 3 | code >> 2 : code << 2 | code >> 4;
}

/* The pair of 5- or 6-bit ends whose value at two thirds is nearest to v. */
static void split_value(int v, int bits, uint32_t *first, uint32_t *second)
{
	int most = (1 << bits) - 1, near = (v * most + 127) / 255, least = 1 << 30;
	for (int a = near > 2 ? near - 2 : 0; a <= near + 2 && a <= most; a++) {
		int rest = 3 * v - 2 * widen(a, bits), guess = rest <= 0 ? 0 : rest * most / 255;
		for (int b = guess; b <= guess + 1 && b <= most; b++) {
			int miss = (2 * widen(a, bits) + widen(b, bits)) / 3 - v, cost = miss < 0 ? -miss : miss;
			if (cost < least) {
				least = cost;
				*first = (uint32_t)a;
				*second = (uint32_t)b;
			}
		}
	}
}

/* For nearly flat blocks: ends whose inner colours are nearest to the mean. */
static void try_mean(const pixels *p, const float mean[3], fit *best)
{
	uint32_t first[3] = {0}, second[3] = {0};
	for (int k = 0; k < 3; k++)
		split_value((int)(mean[k] + 0.5f), k == 1 ? 6 : 5, &first[k], &second[k]);
	try_codes(p, first[0] << 11 | first[1] << 5 | first[2], second[0] << 11 | second[1] << 5 | second[2],
			  best);
}

void hob_bc1_encode(const uint8_t in[64], uint8_t out[8])
{
	pixels p;
	float mean[3], ends[2][3];
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 16; i++)
			p.c[k][i / 4][i % 4] = in[4 * i + k];
		mean[k] = sum_of(sum_groups(p.c[k])) * (1.0f / 16.0f);
	}
	fit best = {.error = 1e30f};
	first_ends(&p, mean, ends);
	try_codes(&p, pack_565(ends[0]), pack_565(ends[1]), &best);
	if (best.c0 == best.c1 || best.error < NEARLY_FLAT)
		try_mean(&p, mean, &best);
	for (int i = 0; i < REFINEMENTS; i++) {
		float before = best.error;
		if (before <= 0.0f || !solve_ends(&p, &best, ends))
			break;
		try_codes(&p, pack_565(ends[0]), pack_565(ends[1]), &best);
		if (best.error >= before)
			break;
	}
	uint32_t bits = 0;
	for (int i = 0; i < 16; i++)
		bits |= (uint32_t)best.index[i / 4][i % 4] << 2 * i;
	hob_store_u32(out, best.c0 | best.c1 << 16);
	hob_store_u32(out + 4, bits);
}
