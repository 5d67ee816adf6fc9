#include "block_vectors.h"
#include "blocks.h"

enum { ROUNDS = 2 };

/* Offsets of the ends to try around the best pair, until none is better: values between the ends are rounded
 * down, so a small change of an end moves all of them. */
static const struct {
	int climbs, reach;
} efforts[] = {[HOB_BC_FAST] = {0, 0}, [HOB_BC_GOOD] = {1, 1}, [HOB_BC_BEST] = {4, 2}};

/* Sixteen values, as floats. */
typedef struct values {
	four v[4];
} values;

typedef struct fit {
	int a, b;			 /* ends: eight steps if a > b; otherwise six, and the values 0 and 255 */
	four_whole share[4]; /* position between a and b in sevenths or fifths; -1 is 0, -2 is 255 */
	float error;
} fit;

/* Steps are ((parts - i) * a + i * b) / parts, rounded down; the nearest one is found by rounding, and its
 * error is exact. */
static void match_values(const values *in, fit *f)
{
	bool eight = f->a > f->b;
	float parts = eight ? 7.0f : 5.0f, span = (float)(f->b - f->a), start = (float)f->a;
	float scale = f->a != f->b ? parts / span : 0.0f, part = 1.0f / parts;
	four total = {0};
	for (int g = 0; g < 4; g++) {
		four v = in->v[g];
		four share = truncate_four(clamp_four((v - start) * scale + 0.5f, 0.0f, parts));
		/* Adding a hundredth keeps integral quotients exact. */
		four step = truncate_four((start * parts + share * span) * part + 0.01f);
		four error = (v - step) * (v - step);
		f->share[g] = __builtin_convertvector(share, four_whole);
		if (!eight) {
			four white = (v - 255.0f) * (v - 255.0f);
			four_whole black_better = v * v < error;
			error = choose_four(black_better, v * v, error);
			four_whole white_better = white < error;
			error = choose_four(white_better, white, error);
			f->share[g] = (f->share[g] & ~black_better) | black_better;
			f->share[g] = (f->share[g] & ~white_better) | (white_better & -2);
		}
		total += error;
	}
	f->error = total[0] + total[1] + total[2] + total[3];
}

static void try_ends(const values *in, int a, int b, fit *best)
{
	if (a < 0 || a > 255 || b < 0 || b > 255)
		return;
	fit f = {.a = a, .b = b};
	match_values(in, &f);
	if (f.error < best->error)
		*best = f;
}

/* Solves for real-valued ends for the chosen steps, then tries integers around them. */
static void refine(const values *in, fit *best)
{
	bool eight = best->a > best->b;
	float parts = eight ? 7.0f : 5.0f;
	four vaa = {0}, vbb = {0}, vab = {0}, vav = {0}, vbv = {0};
	for (int g = 0; g < 4; g++) {
		four_whole on_line = best->share[g] >= 0;
		four b = __builtin_convertvector(best->share[g], four), a = parts - b;
		a = (four)((four_whole)a & on_line);
		b = (four)((four_whole)b & on_line);
		vaa += a * a;
		vbb += b * b;
		vab += a * b;
		vav += a * in->v[g];
		vbv += b * in->v[g];
	}
	float aa = vaa[0] + vaa[1] + vaa[2] + vaa[3], bb = vbb[0] + vbb[1] + vbb[2] + vbb[3];
	float ab = vab[0] + vab[1] + vab[2] + vab[3], av = vav[0] + vav[1] + vav[2] + vav[3];
	float bv = vbv[0] + vbv[1] + vbv[2] + vbv[3], det = aa * bb - ab * ab;
	if (det < 0.5f)
		return;
	float a = (av * bb - bv * ab) / det * parts, b = (bv * aa - av * ab) / det * parts;
	int base_a = (int)a, base_b = (int)b;
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++)
			if ((base_a + i > base_b + j) == eight)
				try_ends(in, base_a + i, base_b + j, best);
}

static void climb(const values *in, hob_bc_quality quality, fit *best)
{
	bool eight = best->a > best->b;
	int reach = efforts[quality].reach;
	for (int round = 0; round < efforts[quality].climbs && best->error > 0.0f; round++) {
		int a = best->a, b = best->b;
		for (int i = -reach; i <= reach; i++)
			for (int j = -reach; j <= reach; j++)
				if ((a + i > b + j) == eight)
					try_ends(in, a + i, b + j, best);
		if (best->a == a && best->b == b)
			return;
	}
}

static void store(const fit *f, uint8_t out[8])
{
	bool eight = f->a > f->b;
	int last = eight ? 7 : 5;
	uint64_t bits = 0;
	for (int i = 0; i < 16; i++) {
		int share = f->share[i / 4][i % 4];
		int index = share == 0 ? 0 : share == last ? 1 : share == -1 ? 6 : share == -2 ? 7 : share + 1;
		bits |= (uint64_t)index << 3 * i;
	}
	out[0] = (uint8_t)f->a;
	out[1] = (uint8_t)f->b;
	for (int i = 0; i < 6; i++)
		out[2 + i] = (uint8_t)(bits >> 8 * i);
}

void hob_bc4_encode(const uint8_t pixels[64], int channel, hob_bc_quality quality, uint8_t out[8])
{
	values in;
	int low = 255, high = 0, inner_low = 255, inner_high = 0;
	for (int i = 0; i < 16; i++) {
		int v = pixels[4 * i + channel];
		in.v[i / 4][i % 4] = (float)v;
		low = v < low ? v : low;
		high = v > high ? v : high;
		if (v != 0 && v != 255) {
			inner_low = v < inner_low ? v : inner_low;
			inner_high = v > inner_high ? v : inner_high;
		}
	}
	fit best = {.a = low, .b = low, .error = low == high ? 0.0f : 1e30f};
	if (low < high) {
		try_ends(&in, high, low, &best);
		for (int i = 0; i < ROUNDS && best.error > 0.0f; i++)
			refine(&in, &best);
		climb(&in, quality, &best);
	}
	if (best.error > 0.0f && (low == 0 || high == 255)) {
		fit six = {.error = 1e30f};
		bool inner = inner_low <= inner_high;
		try_ends(&in, inner ? inner_low : 0, inner ? inner_high : 255, &six);
		if (inner_low < inner_high)
			refine(&in, &six);
		climb(&in, quality, &six);
		if (six.error < best.error)
			best = six;
	}
	store(&best, out);
}
