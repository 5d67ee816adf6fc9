#include "blocks.h"

#include "bc6h_tables.h"

enum { MOST_PARTITIONS = 8 };

/* Halves of [0, 65504] times 64/31: the integers between which a block interpolates. They grow roughly with
 * the logarithm of luminance, so an equal error is equally visible in dark and bright regions. */
typedef struct block {
	int32_t c[16][3];
} block;

typedef struct ends {
	float v[4][3];
} ends;

typedef struct trial {
	const bc6h_mode *mode;
	uint32_t partition, code[4][3];
	uint8_t index[16];
	uint64_t error;
} trial;

static block load(const uint16_t pixels[64])
{
	block b;
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 3; k++) {
			uint32_t half = pixels[4 * i + k];
			half = half & 0x8000 ? 0 : half > 0x7BFF ? 0x7BFF : half;
			b.c[i][k] = (int32_t)((half * 64 + 32) / 31);
		}
	return b;
}

/* ---- lines through the pixels of a subset */

typedef struct cloud {
	float mean[3], axis[3];
	float off; /* sum of squared distances from the axis */
} cloud;

static cloud cloud_of(const block *b, uint32_t subsets, uint32_t subset)
{
	cloud c = {{0}, {0}, 0};
	float count = 0, spread[6] = {0};
	for (uint32_t i = 0; i < 16; i++) {
		if ((subsets >> 2 * i & 3) != subset)
			continue;
		count++;
		for (int k = 0; k < 3; k++)
			c.mean[k] += (float)b->c[i][k];
	}
	for (int k = 0; k < 3; k++)
		c.mean[k] /= count;
	for (uint32_t i = 0; i < 16; i++) {
		if ((subsets >> 2 * i & 3) != subset)
			continue;
		float d[3];
		for (int k = 0; k < 3; k++)
			d[k] = (float)b->c[i][k] - c.mean[k];
		spread[0] += d[0] * d[0], spread[1] += d[1] * d[1], spread[2] += d[2] * d[2];
		spread[3] += d[0] * d[1], spread[4] += d[1] * d[2], spread[5] += d[0] * d[2];
	}
	/* Power iteration, starting with the channel of largest variance. */
	const float *s = spread;
	float rows[3][3] = {{s[0], s[3], s[5]}, {s[3], s[1], s[4]}, {s[5], s[4], s[2]}};
	int most = s[0] >= s[1] ? (s[0] >= s[2] ? 0 : 2) : (s[1] >= s[2] ? 1 : 2);
	float axis[3] = {rows[most][0], rows[most][1], rows[most][2]}, length = 0;
	for (int round = 0; round < 8; round++) {
		float next[3], largest = 0;
		for (int k = 0; k < 3; k++) {
			next[k] = rows[k][0] * axis[0] + rows[k][1] * axis[1] + rows[k][2] * axis[2];
			float size = next[k] < 0 ? -next[k] : next[k];
			largest = size > largest ? size : largest;
		}
		if (largest <= 0)
			break;
		for (int k = 0; k < 3; k++)
			axis[k] = next[k] / largest;
		length = largest;
	}
	float square = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2], along = 0;
	for (int k = 0; k < 3 && square > 0; k++)
		along += axis[k] * (rows[k][0] * axis[0] + rows[k][1] * axis[1] + rows[k][2] * axis[2]) / square;
	if (length > 0)
		memcpy(c.axis, axis, sizeof axis);
	c.off = s[0] + s[1] + s[2] - along;
	return c;
}

static void first_ends(const block *b, uint32_t subsets, uint32_t subset, ends *out)
{
	cloud c = cloud_of(b, subsets, subset);
	float square = c.axis[0] * c.axis[0] + c.axis[1] * c.axis[1] + c.axis[2] * c.axis[2], low = 0, high = 0;
	for (uint32_t i = 0; i < 16 && square > 0; i++) {
		if ((subsets >> 2 * i & 3) != subset)
			continue;
		float t = 0;
		for (int k = 0; k < 3; k++)
			t += ((float)b->c[i][k] - c.mean[k]) * c.axis[k];
		t /= square;
		low = t < low ? t : low;
		high = t > high ? t : high;
	}
	for (int k = 0; k < 3; k++) {
		out->v[2 * subset][k] = c.mean[k] + low * c.axis[k];
		out->v[2 * subset + 1][k] = c.mean[k] + high * c.axis[k];
	}
}

/* ---- a mode: its stored ends, and the best index of each pixel */

static uint32_t code_of(float v, uint32_t bits)
{
	int32_t whole = v <= 0 ? 0 : v >= 65535 ? 65535 : (int32_t)(v + 0.5f);
	return (uint32_t)whole >> (16 - bits);
}

static void match(const block *b, trial *t)
{
	const bc6h_mode *m = t->mode;
	uint32_t bits = m->subsets == 2 ? 3 : 4, steps = 1u << bits;
	int32_t palette[2][16][3];
	for (uint32_t s = 0; s < m->subsets; s++)
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t low = bc6h_widened(t->code[2 * s][k], m->bits),
					 high = bc6h_widened(t->code[2 * s + 1][k], m->bits);
			for (uint32_t i = 0; i < steps; i++) {
				uint32_t weight = bc7_weights[bits][i];
				palette[s][i][k] = (int32_t)((low * (64 - weight) + high * weight + 32) >> 6);
			}
		}
	t->error = 0;
	for (uint32_t i = 0; i < 16; i++) {
		const int32_t(*p)[3] = (const int32_t(*)[3])palette[bc6h_subset(m, t->partition, i)];
		uint64_t least = UINT64_MAX;
		for (uint32_t j = 0; j < steps; j++) {
			int64_t r = b->c[i][0] - p[j][0], g = b->c[i][1] - p[j][1], bl = b->c[i][2] - p[j][2];
			uint64_t error = (uint64_t)(r * r + g * g + bl * bl);
			if (error < least) {
				least = error;
				t->index[i] = (uint8_t)j;
			}
		}
		t->error += least;
	}
}

/* Least-squares ends for the given indices. */
static void solve(const block *b, const trial *t, ends *out)
{
	uint32_t bits = t->mode->subsets == 2 ? 3 : 4;
	for (uint32_t s = 0; s < t->mode->subsets; s++) {
		float aa = 0, ab = 0, bb = 0, a[3] = {0}, z[3] = {0};
		for (uint32_t i = 0; i < 16; i++) {
			if (bc6h_subset(t->mode, t->partition, i) != s)
				continue;
			float far = (float)bc7_weights[bits][t->index[i]] / 64.0f, near = 1.0f - far;
			aa += near * near, ab += near * far, bb += far * far;
			for (int k = 0; k < 3; k++) {
				a[k] += near * (float)b->c[i][k];
				z[k] += far * (float)b->c[i][k];
			}
		}
		float determinant = aa * bb - ab * ab;
		if (determinant < 1e-4f)
			continue;
		for (int k = 0; k < 3; k++) {
			out->v[2 * s][k] = (a[k] * bb - z[k] * ab) / determinant;
			out->v[2 * s + 1][k] = (z[k] * aa - a[k] * ab) / determinant;
		}
	}
}

/* Swaps the ends of a subset if the highest bit of the anchor index, which is not stored, would be set. */
static void turn(trial *t)
{
	uint32_t last = t->mode->subsets == 2 ? 7 : 15;
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t s = bc6h_subset(t->mode, t->partition, i);
		if (!bc6h_is_anchor(t->mode, t->partition, i) || t->index[i] <= last / 2)
			continue;
		for (uint32_t j = 0; j < 16; j++)
			if (bc6h_subset(t->mode, t->partition, j) == s)
				t->index[j] = (uint8_t)(last - t->index[j]);
		for (int k = 0; k < 3; k++) {
			uint32_t other = t->code[2 * s][k];
			t->code[2 * s][k] = t->code[2 * s + 1][k];
			t->code[2 * s + 1][k] = other;
		}
	}
}

static bool differences_fit(const trial *t)
{
	for (uint32_t e = 1; e < 2u * t->mode->subsets; e++)
		for (int k = 0; k < 3; k++) {
			int32_t delta = (int32_t)t->code[e][k] - (int32_t)t->code[0][k];
			int32_t reach = t->mode->delta[k] ? 1 << (t->mode->delta[k] - 1) : 0;
			if (reach > 0 && (delta < -reach || delta >= reach))
				return false;
		}
	return true;
}

/* Alternates between better indices and better ends. False when the mode cannot represent the ends. */
static bool try_mode(const block *b, const bc6h_mode *m, uint32_t partition, ends from, int rounds,
					 trial *best)
{
	bool fits = false;
	for (int round = 0; round <= rounds; round++) {
		trial t = {.mode = m, .partition = partition};
		for (uint32_t e = 0; e < 2u * m->subsets; e++)
			for (int k = 0; k < 3; k++)
				t.code[e][k] = code_of(from.v[e][k], m->bits);
		match(b, &t);
		solve(b, &t, &from);
		turn(&t);
		if (!differences_fit(&t))
			continue;
		fits = true;
		if (t.error < best->error)
			*best = t;
	}
	return fits;
}

/* ---- partitions: those whose two lines leave the smallest residual */

static void choose(const block *b, uint32_t count, uint8_t out[MOST_PARTITIONS])
{
	float left[32];
	for (uint32_t p = 0; p < 32; p++)
		left[p] = cloud_of(b, bc7_partitions2[p], 0).off + cloud_of(b, bc7_partitions2[p], 1).off;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t least = 0;
		for (uint32_t p = 1; p < 32; p++)
			if (left[p] < left[least])
				least = p;
		out[i] = (uint8_t)least;
		left[least] = 3.4e38f;
	}
}

static void pack(const trial *t, uint8_t out[16])
{
	const bc6h_mode *m = t->mode;
	hob_block_bits bits = {0};
	hob_block_put(&bits, m->code, m->code_bits);
	const char *layout = bc6h_layouts[m - bc6h_modes];
	for (bc6h_field f; bc6h_next(&layout, &f);) {
		uint32_t code = t->code[f.end][f.channel];
		if (f.end > 0 && m->delta[f.channel])
			code -= t->code[0][f.channel];
		int step = f.last < f.first ? -1 : 1;
		for (int bit = f.first; bit != f.last + step; bit += step)
			hob_block_put(&bits, code >> bit & 1, 1);
	}
	hob_block_put(&bits, t->partition, m->subsets == 2 ? 5 : 0);
	uint32_t index_bits = m->subsets == 2 ? 3 : 4;
	for (uint32_t i = 0; i < 16; i++)
		hob_block_put(&bits, t->index[i], index_bits - bc6h_is_anchor(m, t->partition, i));
	hob_block_store(&bits, out);
}

/* Modes by precision of their ends, highest first: a block that fits a mode is seldom better in a later
 * mode. */
static const uint8_t finest_first[2][10] = {{13, 12, 11, 10}, {2, 3, 4, 0, 5, 6, 7, 8, 1, 9}};

static void try_modes(const block *b, uint32_t partition, const ends *from, int rounds, int fits, trial *best)
{
	bool two = partition != HOB_NONE;
	for (uint32_t i = 0; i < (two ? 10u : 4u) && fits > 0; i++)
		fits -= try_mode(b, &bc6h_modes[finest_first[two][i]], two ? partition : 0, *from, rounds, best);
}

void hob_bc6h_encode(const uint16_t pixels[64], hob_bc_quality quality, uint8_t out[16])
{
	static const struct {
		uint32_t partitions;
		int rounds, fits;
	} efforts[] = {[HOB_BC_FAST] = {0, 1, 1}, [HOB_BC_GOOD] = {2, 2, 2}, [HOB_BC_BEST] = {8, 4, 10}};
	block b = load(pixels);
	trial best = {.error = UINT64_MAX};
	ends from = {{{0}}};
	uint8_t partitions[MOST_PARTITIONS];
	first_ends(&b, 0, 0, &from);
	try_modes(&b, HOB_NONE, &from, efforts[quality].rounds, efforts[quality].fits, &best);
	uint32_t count = best.error > 0 ? efforts[quality].partitions : 0;
	if (count > 0)
		choose(&b, count, partitions);
	for (uint32_t p = 0; p < count; p++) {
		for (uint32_t s = 0; s < 2; s++)
			first_ends(&b, bc7_partitions2[partitions[p]], s, &from);
		try_modes(&b, partitions[p], &from, efforts[quality].rounds, efforts[quality].fits, &best);
	}
	pack(&best, out);
}

/* ---- decoding */

static const bc6h_mode *mode_of(const uint8_t *bytes)
{
	uint32_t code = bytes[0] & 31u;
	if ((code & 3) < 2)
		code &= 3;
	for (size_t i = 0; i < HOB_COUNT_OF(bc6h_modes); i++)
		if (bc6h_modes[i].code == code)
			return &bc6h_modes[i];
	return NULL;
}

static void add_base(const bc6h_mode *m, uint32_t codes[4][3])
{
	for (uint32_t k = 0; k < 3 && m->delta[k]; k++)
		for (uint32_t e = 1; e < 2u * m->subsets; e++) {
			uint32_t sign = 1u << (m->delta[k] - 1);
			uint32_t delta = (codes[e][k] ^ sign) - sign;
			codes[e][k] = (codes[0][k] + delta) & ((1u << m->bits) - 1);
		}
}

void hob_bc6h_decode(const uint8_t bytes[16], uint16_t out[64])
{
	const bc6h_mode *m = mode_of(bytes);
	for (uint32_t i = 0; i < 16; i++) {
		out[4 * i] = out[4 * i + 1] = out[4 * i + 2] = 0;
		out[4 * i + 3] = 0x3C00;
	}
	if (!m)
		return;
	uint32_t codes[4][3] = {{0}};
	hob_block_bits bits = hob_block_load(bytes);
	hob_block_take(&bits, m->code_bits);
	const char *layout = bc6h_layouts[m - bc6h_modes];
	for (bc6h_field f; bc6h_next(&layout, &f);) {
		int step = f.last < f.first ? -1 : 1;
		for (int bit = f.first; bit != f.last + step; bit += step)
			codes[f.end][f.channel] |= hob_block_take(&bits, 1) << bit;
	}
	uint32_t partition = hob_block_take(&bits, m->subsets == 2 ? 5 : 0);
	add_base(m, codes);
	uint32_t index_bits = m->subsets == 2 ? 3 : 4;
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t index = hob_block_take(&bits, index_bits - bc6h_is_anchor(m, partition, i));
		uint32_t e = 2 * bc6h_subset(m, partition, i), weight = bc7_weights[index_bits][index];
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t a = bc6h_widened(codes[e][k], m->bits), b = bc6h_widened(codes[e + 1][k], m->bits);
			out[4 * i + k] = (uint16_t)(((a * (64 - weight) + b * weight + 32) >> 6) * 31 >> 6);
		}
	}
}
