/* bc7_fit.h - for bc7.c only: fits a line of colours to pixels, with its ends in a mode's stored precision.
 *
 * take_points() selects the pixels of a subset, fit_line() finds ends and indices, fit_alpha() those of a
 * separate channel, fit_constant() those of a single colour; polish_line() moves the ends in single steps
 * while the error falls. search_alpha() and search_one_color() vary both alpha ends together. */
#ifndef HOB_BC7_FIT_H
#define HOB_BC7_FIT_H

#include "block_vectors.h"
#include "blocks.h"

#include "bc7_tables.h"

/* Vectors are only passed between functions of this file, so the calling convention does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* Pixels or partitions in parallel. Sums across lanes are of integers or multiples of 1/4096 that a float
 * holds exactly, so the result does not depend on the number of lanes. */
#define LANES 4
typedef four lanes;
typedef four_whole whole;

enum { PARTITIONS = 64, GROUPS = PARTITIONS / LANES, POINT_GROUPS = 16 / LANES, SETTLE = 3 };

#define INLINE static inline __attribute__((always_inline))

/* Pixels of a subset, by channel. Lanes past `count` repeat the first pixel with weight 0. */
typedef struct points {
	uint32_t count, groups;
	lanes c[4][POINT_GROUPS], weight[POINT_GROUPS];
	uint8_t at[16];
} points;

/* Precision of a mode's endpoints; colour and alpha both have `bits`. */
typedef struct precision {
	uint32_t channels, bits, index_bits;
	bool own_p, shared_p;
	bool opaque; /* the decoded alpha must be 255 */
} precision;

typedef struct line {
	four_whole code[2]; /* as stored */
	four end[2];		/* as decoded */
	uint32_t p[2];
	whole index[POINT_GROUPS]; /* in the order of `points` */
	float error;
} line;

/* Sums over the pixels of a subset. */
typedef struct moments {
	float count, sum[4], product[4][4];
} moments;

/* ---- helpers */

/* Widens a code to the eight bits that it decodes to. */
INLINE uint32_t widened(uint32_t code, uint32_t bits)
{
	uint32_t wide = code << (8 - bits);
	return wide | wide >> bits;
}

INLINE float sum_of(lanes v)
{
	float total = v[0];
	for (int i = 1; i < LANES; i++)
		total += v[i];
	return total;
}

INLINE lanes spread(float v)
{
	return v - (lanes){0};
}

INLINE float dot(four a, four b)
{
	four p = a * b;
	return (p[0] + p[2]) + (p[1] + p[3]);
}

INLINE void take_points(const float pixels[4][16], uint32_t mask, points *out)
{
	uint32_t count = 0;
	float c[4][16], weight[16];
	for (uint32_t i = 0; i < 16; i++)
		if (mask >> i & 1)
			out->at[count++] = (uint8_t)i;
	out->count = count;
	out->groups = (count + LANES - 1) / LANES;
	for (uint32_t i = 0; i < LANES * out->groups; i++) {
		uint32_t from = out->at[i < count ? i : 0];
		weight[i] = i < count ? 1.0f : 0.0f;
		for (int k = 0; k < 4; k++)
			c[k][i] = pixels[k][from];
	}
	for (uint32_t g = 0; g < out->groups; g++) {
		memcpy(&out->weight[g], weight + LANES * g, sizeof(lanes));
		for (int k = 0; k < 4; k++)
			memcpy(&out->c[k][g], c[k] + LANES * g, sizeof(lanes));
	}
}

/* ---- endpoints */

/* Codes of one end for a given p-bit; returns the squared quantisation error. */
INLINE float quantize_end(four want, const precision *q, uint32_t p, four_whole *code, four *end)
{
	uint32_t p_bits = q->own_p || q->shared_p, all = q->bits + p_bits;
	float scale = (float)((1u << all) - 1) / 255.0f;
	four scaled = want * scale;
	if (p_bits)
		scaled = (scaled - (float)p) * 0.5f;
	scaled = clamp_four(scaled + 0.5f, 0.0f, (float)((1u << q->bits) - 1));
	*code = __builtin_convertvector(scaled, four_whole);
	four_whole wide = p_bits ? *code * 2 + (int32_t)p : *code;
	wide = wide << (8 - all);
	wide |= wide >> all;
	*end = __builtin_convertvector(wide, four);
	if (q->channels == 3) {
		(*code)[3] = 0;
		(*end)[3] = 255.0f;
		want[3] = 255.0f;
	}
	return dot(*end - want, *end - want);
}

INLINE void quantize_line(const four want[2], const precision *q, line *out)
{
	four_whole code[2][2];
	four end[2][2];
	float error[2][2] = {{0}}; /* [end][p] */
	uint32_t chosen[2] = {0, 0};
	bool fixed = q->opaque && q->channels == 4;
	for (int e = 0; e < 2; e++)
		for (uint32_t p = 0; p < (q->own_p || q->shared_p ? 2u : 1u); p++)
			if (!fixed || p == 1)
				error[e][p] = quantize_end(want[e], q, p, &code[e][p], &end[e][p]);
	if (fixed)
		chosen[0] = chosen[1] = 1;
	else if (q->shared_p)
		chosen[0] = chosen[1] = error[0][1] + error[1][1] < error[0][0] + error[1][0];
	else if (q->own_p)
		for (int e = 0; e < 2; e++)
			chosen[e] = error[e][1] < error[e][0];
	for (int e = 0; e < 2; e++) {
		out->p[e] = chosen[e];
		out->code[e] = code[e][chosen[e]];
		out->end[e] = end[e][chosen[e]];
	}
}

/* Index of each point along the line, and the error after decoding. */
INLINE void match_points(const points *p, uint32_t first, uint32_t channels, uint32_t index_bits, line *l,
						 lanes weights[POINT_GROUPS])
{
	four direction = l->end[1] - l->end[0];
	float length = 0.0f, steps = (float)((1u << index_bits) - 1);
	for (uint32_t k = first; k < channels; k++)
		length += direction[k] * direction[k];
	direction *= length > 0.0f ? steps / length : 0.0f;
	lanes total = spread(0.0f);
	for (uint32_t g = 0; g < p->groups; g++) {
		lanes t = spread(0.5f);
		for (uint32_t k = first; k < channels; k++)
			t += (p->c[k][g] - spread(l->end[0][k])) * spread(direction[k]);
		whole index = __builtin_convertvector(clamp_four(t, 0.0f, steps), whole);
		lanes weight =
			truncate_four(__builtin_convertvector(index, lanes) * spread(64.0f / steps) + spread(0.5f));
		weight *= spread(1.0f / 64.0f);
		lanes error = spread(0.0f);
		for (uint32_t k = first; k < channels; k++) {
			/* This is exact: all terms are multiples of 1/64 below 256. */
			lanes decoded = spread(l->end[0][k] + 0.5f) + spread(l->end[1][k] - l->end[0][k]) * weight;
			lanes miss = truncate_four(decoded) - p->c[k][g];
			error += miss * miss;
		}
		total += error * p->weight[g];
		weights[g] = weight;
		l->index[g] = index;
	}
	l->error = sum_of(total);
}

/* Least-squares ends for the chosen weights: two equations in two unknowns per channel. */
INLINE bool solve_ends(const points *p, uint32_t first, uint32_t channels, const lanes weights[POINT_GROUPS],
					   four out[2])
{
	lanes vaa = spread(0), vbb = spread(0), vab = spread(0), vap[4] = {{0}}, vbp[4] = {{0}};
	for (uint32_t g = 0; g < p->groups; g++) {
		lanes b = weights[g], a = spread(1.0f) - b, wa = a * p->weight[g], wb = b * p->weight[g];
		vaa += a * wa;
		vbb += b * wb;
		vab += a * wb;
		for (uint32_t k = first; k < channels; k++) {
			vap[k] += p->c[k][g] * wa;
			vbp[k] += p->c[k][g] * wb;
		}
	}
	float aa = sum_of(vaa), bb = sum_of(vbb), ab = sum_of(vab), det = aa * bb - ab * ab;
	if (det < 1e-4f)
		return false;
	four ap = {0}, bp = {0};
	for (uint32_t k = first; k < channels; k++) {
		ap[k] = sum_of(vap[k]);
		bp[k] = sum_of(vbp[k]);
	}
	float inverse = 1.0f / det;
	out[0] = clamp_four((ap * bb - bp * ab) * inverse, 0.0f, 255.0f);
	out[1] = clamp_four((bp * aa - ap * ab) * inverse, 0.0f, 255.0f);
	return true;
}

/* Ends of the points along the principal axis, by power iteration. */
INLINE void first_ends(const points *p, const moments *m, uint32_t channels, four out[2])
{
	four mean = {0}, rows[4] = {{0}}, axis = {0};
	float inverse = 1.0f / m->count;
	for (uint32_t k = 0; k < channels; k++)
		mean[k] = m->sum[k] * inverse;
	uint32_t widest = 0;
	for (uint32_t i = 0; i < channels; i++) {
		for (uint32_t j = 0; j < channels; j++)
			rows[i][j] = m->product[i][j] - m->sum[i] * mean[j];
		if (rows[i][i] > rows[widest][widest])
			widest = i;
	}
	axis = rows[widest];
	for (int step = 0; step < SETTLE; step++) {
		float size = dot(axis, axis);
		if (size < 1e-12f)
			break;
		axis *= 1.0f / __builtin_sqrtf(size);
		four next = rows[0] * axis[0];
		for (uint32_t k = 1; k < channels; k++)
			next += rows[k] * axis[k];
		axis = next;
	}
	float length = dot(axis, axis), low = 0.0f, high = 0.0f;
	for (uint32_t g = 0; g < p->groups; g++) {
		lanes t = spread(0.0f);
		for (uint32_t k = 0; k < channels; k++)
			t += (p->c[k][g] - spread(mean[k])) * spread(axis[k]);
		for (int i = 0; i < LANES; i++) {
			low = t[i] < low ? t[i] : low;
			high = t[i] > high ? t[i] : high;
		}
	}
	four unit = axis * (length > 0.0f ? 1.0f / length : 0.0f);
	out[0] = clamp_four(mean + unit * low, 0.0f, 255.0f);
	out[1] = clamp_four(mean + unit * high, 0.0f, 255.0f);
}

/* Fits a line: solves for the ends while the error falls. Inlined per mode, so that the mode's numbers are
 * constants. */
INLINE void fit_line(const points *p, const moments *m, const precision *q, uint32_t rounds, line *best)
{
	four want[2];
	lanes weights[POINT_GROUPS];
	first_ends(p, m, q->channels, want);
	quantize_line(want, q, best);
	match_points(p, 0, q->channels, q->index_bits, best, weights);
	for (uint32_t i = 0; i < rounds && best->error > 0.0f; i++) {
		line next;
		if (!solve_ends(p, 0, q->channels, weights, want))
			return;
		quantize_line(want, q, &next);
		match_points(p, 0, q->channels, q->index_bits, &next, weights);
		if (next.error >= best->error)
			return;
		*best = next;
	}
}

/* Fits the separate alpha channel of modes 4 and 5. */
INLINE void fit_alpha(const points *p, uint32_t bits, uint32_t index_bits, uint32_t rounds, line *best)
{
	precision q = {.channels = 4, .bits = bits, .index_bits = index_bits};
	float low = 255.0f, high = 0.0f;
	lanes weights[POINT_GROUPS];
	for (uint32_t g = 0; g < p->groups; g++)
		for (int i = 0; i < LANES; i++) {
			low = p->c[3][g][i] < low ? p->c[3][g][i] : low;
			high = p->c[3][g][i] > high ? p->c[3][g][i] : high;
		}
	four want[2] = {{0, 0, 0, low}, {0, 0, 0, high}};
	best->error = 1e30f;
	for (uint32_t round = 0; round <= rounds; round++) {
		line next;
		quantize_line(want, &q, &next);
		match_points(p, 3, 4, index_bits, &next, weights);
		if (next.error >= best->error)
			return;
		*best = next;
		if (next.error <= 0.0f || !solve_ends(p, 3, 4, weights, want))
			return;
	}
}

/* Two codes between which index 1 decodes to `value`, or as near as possible: covers more values than single
 * codes. */
static inline void straddle(int32_t value, uint32_t bits, uint32_t index_bits, int32_t code[2])
{
	int32_t weight = bc7_weights[index_bits][1], count = 1 << bits, nearest = value >> (8 - bits),
			least = 256;
	for (int32_t i = 0; i < count && least > 0; i++) {
		int32_t a = (nearest + i) % count, end = (int32_t)widened((uint32_t)a, bits);
		int32_t b = (64 * value - (64 - weight) * end) / weight >> (8 - bits);
		for (int32_t c = b > 0 ? b - 1 : 0; c <= b + 1 && c < count; c++) {
			int32_t made = ((64 - weight) * end + weight * (int32_t)widened((uint32_t)c, bits) + 32) >> 6;
			int32_t miss = made < value ? value - made : made - value;
			if (miss < least) {
				least = miss;
				code[0] = a;
				code[1] = c;
			}
		}
	}
}

static inline bool is_constant(const points *p, uint32_t channels)
{
	whole differs = {0};
	for (uint32_t k = 0; k < channels; k++)
		for (uint32_t g = 0; g < p->groups; g++)
			differs |= p->c[k][g] != spread(p->c[k][0][0]);
	return !(differs[0] | differs[1] | differs[2] | differs[3]);
}

static inline void fit_constant(const points *p, const precision *q, line *out)
{
	*out = (line){.error = 0};
	for (int k = 0; k < 3; k++) {
		int32_t code[2] = {0, 0}, value = (int32_t)p->c[k][0][0];
		straddle(value, q->bits, q->index_bits, code);
		for (int e = 0; e < 2; e++) {
			out->code[e][k] = code[e];
			out->end[e][k] = (float)widened((uint32_t)code[e], q->bits);
		}
		int32_t weight = bc7_weights[q->index_bits][1];
		int32_t made = ((64 - weight) * (int32_t)out->end[0][k] + weight * (int32_t)out->end[1][k] + 32) >> 6;
		out->error += 16.0f * (float)((made - value) * (made - value));
	}
	for (uint32_t g = 0; g < POINT_GROUPS; g++)
		out->index[g] = (whole){1, 1, 1, 1};
}

/* ---- single steps of the stored ends while the error falls */

static inline four decode_end(four_whole code, uint32_t p, const precision *q)
{
	uint32_t p_bits = q->own_p || q->shared_p, all = q->bits + p_bits;
	four_whole wide = p_bits ? code * 2 + (int32_t)p : code;
	wide = wide << (8 - all);
	wide |= wide >> all;
	four end = __builtin_convertvector(wide, four);
	if (q->channels == 3)
		end[3] = 255.0f;
	return end;
}

static inline bool try_step(const points *p, uint32_t first, const precision *q, const line *next, line *best)
{
	line l = *next;
	lanes weights[POINT_GROUPS];
	for (int e = 0; e < 2; e++)
		l.end[e] = decode_end(l.code[e], l.p[e], q);
	if (first == 3)
		match_points(p, 3, 4, q->index_bits, &l, weights);
	else if (q->channels == 3)
		match_points(p, 0, 3, q->index_bits, &l, weights);
	else
		match_points(p, 0, 4, q->index_bits, &l, weights);
	if (l.error >= best->error)
		return false;
	*best = l;
	return true;
}

/* Codes near the value between which index 1 decodes best. */
static inline void straddle_channel(int32_t value, const precision *q, const uint32_t p[2], uint32_t k,
									line *l)
{
	uint32_t p_bits = q->own_p || q->shared_p, all = q->bits + p_bits;
	int32_t weight = bc7_weights[q->index_bits][1], least = 256, most = (1 << q->bits) - 1;
	int32_t near = value >> (8 - q->bits);
	for (int32_t a = near > 2 ? near - 2 : 0; a <= near + 2 && a <= most; a++)
		for (int32_t b = near > 4 ? near - 4 : 0; b <= near + 4 && b <= most && least > 0; b++) {
			int32_t ends[2] = {(int32_t)widened(((uint32_t)a << p_bits) | p[0], all),
							   (int32_t)widened(((uint32_t)b << p_bits) | p[1], all)};
			int32_t made = ((64 - weight) * ends[0] + weight * ends[1] + 32) >> 6;
			int32_t miss = made < value ? value - made : made - value;
			if (miss < least) {
				least = miss;
				l->code[0][k] = a;
				l->code[1][k] = b;
			}
		}
}

/* Improves the line of pixels with one colour that no single code represents. */
static inline void search_constant(const points *p, const precision *q, line *best)
{
	uint32_t choices = q->own_p ? 4 : q->shared_p ? 2 : 1;
	for (uint32_t i = 0; i < choices && best->error > 0.0f; i++) {
		line next = {.p = {i & 1, q->own_p ? i >> 1 : i & 1}};
		for (uint32_t k = 0; k < q->channels; k++)
			straddle_channel((int32_t)p->c[k][0][0], q, next.p, k, &next);
		try_step(p, 0, q, &next, best);
	}
}

/* Varies both alpha ends together, by up to `reach` codes. */
static inline void search_alpha(const points *p, uint32_t first, const precision *q, int32_t reach,
								line *best)
{
	int32_t most = (1 << q->bits) - 1;
	line from = *best;
	for (int32_t a = from.code[0][3] - reach; a <= from.code[0][3] + reach; a++)
		for (int32_t z = from.code[1][3] - reach; z <= from.code[1][3] + reach && best->error > 0.0f; z++) {
			line next = from;
			next.code[0][3] = a;
			next.code[1][3] = z;
			if (a >= 0 && z >= 0 && a <= most && z <= most)
				try_step(p, first, q, &next, best);
		}
}

/* For pixels of one colour: tries every choice of p-bits, which colour and alpha share. */
static inline void search_one_color(const points *p, const precision *q, int32_t reach, line *best)
{
	line start = *best;
	for (uint32_t k = 0; k < (q->own_p ? 4u : 1u); k++) {
		line base = start, found;
		for (uint32_t e = 0; e < 2; e++) {
			four want = {p->c[0][0][0], p->c[1][0][0], p->c[2][0][0], start.end[e][3]};
			base.p[e] = q->own_p ? k >> e & 1 : 0;
			quantize_end(want, q, base.p[e], &base.code[e], &base.end[e]);
		}
		found = base;
		found.error = 1e30f;
		try_step(p, 0, q, &base, &found);
		search_alpha(p, 0, q, reach, &found);
		if (found.error < best->error)
			*best = found;
	}
}

static inline void polish_line(const points *p, uint32_t first, const precision *q, uint32_t passes,
							   line *best)
{
	uint32_t end = q->opaque && q->channels == 4 ? 3 : q->channels;
	int32_t most = (1 << q->bits) - 1;
	bool better = true;
	for (uint32_t pass = 0; pass < passes && better && best->error > 0.0f; pass++) {
		better = false;
		for (int e = 0; e < 2; e++)
			for (uint32_t k = first; k < end; k++)
				for (int32_t step = -1; step <= 1; step += 2) {
					line next = *best;
					next.code[e][k] += step;
					if (next.code[e][k] >= 0 && next.code[e][k] <= most)
						better |= try_step(p, first, q, &next, best);
				}
	}
}

#endif
