#include "blocks.h"

enum { ROUNDS = 2 };

typedef struct fit {
	int a, b; /* a > b: eight values, else six, 0 and 255 */
	uint64_t bits;
	uint32_t error;
} fit;

static void match_values(const uint8_t values[16], fit *f)
{
	int steps[8] = {f->a, f->b};
	for (int i = 2; i < 8; i++) {
		if (f->a > f->b)
			steps[i] = ((8 - i) * f->a + (i - 1) * f->b) / 7;
		else
			steps[i] = i < 6 ? ((6 - i) * f->a + (i - 1) * f->b) / 5 : i == 6 ? 0 : 255;
	}
	int error[16], index[16];
	for (int i = 0; i < 16; i++) {
		error[i] = 1 << 20;
		index[i] = 0;
	}
	for (int s = 0; s < 8; s++)
		for (int i = 0; i < 16; i++) {
			int d = values[i] - steps[s], e = d * d;
			index[i] = e < error[i] ? s : index[i];
			error[i] = e < error[i] ? e : error[i];
		}
	f->bits = 0;
	f->error = 0;
	for (int i = 0; i < 16; i++) {
		f->bits |= (uint64_t)index[i] << 3 * i;
		f->error += (uint32_t)error[i];
	}
}

static void try_ends(const uint8_t values[16], int a, int b, fit *best)
{
	if (a < 0 || a > 255 || b < 0 || b > 255)
		return;
	fit f = {.a = a, .b = b};
	match_values(values, &f);
	if (f.error < best->error)
		*best = f;
}

/* Real-valued ends for the chosen indices, then the whole numbers around them. */
static void refine(const uint8_t values[16], fit *best)
{
	int parts = best->a > best->b ? 7 : 5, aa = 0, bb = 0, ab = 0, av = 0, bv = 0;
	for (int i = 0; i < 16; i++) {
		int index = (int)(best->bits >> 3 * i & 7);
		if (parts == 5 && index > 5)
			continue;
		int t = index == 0 ? 0 : index == 1 ? parts : index - 1, s = parts - t;
		aa += s * s;
		bb += t * t;
		ab += s * t;
		av += s * values[i];
		bv += t * values[i];
	}
	int det = aa * bb - ab * ab;
	if (det == 0)
		return;
	int64_t a = ((int64_t)av * bb - (int64_t)bv * ab) * parts,
			b = ((int64_t)bv * aa - (int64_t)av * ab) * parts;
	int base_a = (int)(a / det), base_b = (int)(b / det);
	bool eight = parts == 7;
	for (int i = -1; i < 3; i++)
		for (int j = -1; j < 3; j++)
			if ((base_a + i > base_b + j) == eight)
				try_ends(values, base_a + i, base_b + j, best);
}

void hob_bc4_encode(const uint8_t values[16], uint8_t out[8])
{
	int low = 255, high = 0, inner_low = 255, inner_high = 0;
	for (int i = 0; i < 16; i++) {
		int v = values[i];
		low = v < low ? v : low;
		high = v > high ? v : high;
		if (v != 0 && v != 255) {
			inner_low = v < inner_low ? v : inner_low;
			inner_high = v > inner_high ? v : inner_high;
		}
	}
	fit best = {.error = UINT32_MAX};
	if (low == high) {
		best = (fit){.a = low, .b = low};
	} else {
		try_ends(values, high, low, &best);
		for (int i = 0; i < ROUNDS && best.error > 0; i++)
			refine(values, &best);
		if ((low == 0 || high == 255) && best.error > 0) {
			fit six = {.error = UINT32_MAX};
			if (inner_low <= inner_high)
				try_ends(values, inner_low, inner_high, &six);
			else
				try_ends(values, 0, 255, &six);
			if (inner_low < inner_high)
				refine(values, &six);
			if (six.error < best.error)
				best = six;
		}
	}
	out[0] = (uint8_t)best.a;
	out[1] = (uint8_t)best.b;
	for (int i = 0; i < 6; i++)
		out[2 + i] = (uint8_t)(best.bits >> 8 * i);
}

static void take_channel(const uint8_t pixels[64], int channel, uint8_t out[16])
{
	for (int i = 0; i < 16; i++)
		out[i] = pixels[4 * i + channel];
}

void hob_bc3_encode(const uint8_t pixels[64], uint8_t out[16])
{
	uint8_t alpha[16];
	take_channel(pixels, 3, alpha);
	hob_bc4_encode(alpha, out);
	hob_bc1_encode(pixels, out + 8);
}

void hob_bc5_encode(const uint8_t pixels[64], uint8_t out[16])
{
	uint8_t values[16];
	take_channel(pixels, 0, values);
	hob_bc4_encode(values, out);
	take_channel(pixels, 1, values);
	hob_bc4_encode(values, out + 8);
}
