#include "blocks.h"

#include "bc7_tables.h"

/* Vectors pass between functions of this file only: how a library would pass them does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* Pixels or partitions side by side. Every sum across lanes is of whole numbers, or of multiples of 1/4096, that a
 * float holds exactly: the number of lanes does not show in the result. */
#define LANES 4
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t whole __attribute__((vector_size(4 * LANES)));
/* The channels of a colour. */
typedef float four __attribute__((vector_size(16)));
typedef int32_t four_whole __attribute__((vector_size(16)));

enum { PARTITIONS = 64, GROUPS = PARTITIONS / LANES, POINT_GROUPS = 16 / LANES, SETTLE = 3 };

#define INLINE static inline __attribute__((always_inline))

/* Pixels of a subset, channel by channel. Lanes past `count` repeat the first pixel and weigh nothing. */
typedef struct points {
	uint32_t count, groups;
	lanes c[4][POINT_GROUPS], weight[POINT_GROUPS];
	uint8_t at[16];
} points;

/* What an endpoint of a mode can be; both colour and alpha have `bits`. */
typedef struct precision {
	uint32_t channels, bits, index_bits;
	bool own_p, shared_p;
	bool opaque; /* the alpha that comes out has to be 255 */
} precision;

typedef struct line {
	four_whole code[2]; /* as stored */
	four end[2];		/* as decoded */
	uint32_t p[2];
	whole index[POINT_GROUPS]; /* by order in `points` */
	float error;
} line;

typedef struct candidate {
	uint32_t mode, partition, rotation, swap;
	line subsets[2];
	uint32_t mask; /* pixels of the second subset */
	line alpha;	   /* modes 4 and 5 */
	float error;
} candidate;

/* Sums over the pixels of a subset. */
typedef struct moments {
	float count, sum[4], product[4][4];
} moments;

/* ---- small vector things */

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

INLINE lanes choose(whole mask, lanes a, lanes b)
{
	return (lanes)(((whole)a & mask) | ((whole)b & ~mask));
}

INLINE lanes clamp_lanes(lanes v, float low, float high)
{
	v = choose(v < spread(low), spread(low), v);
	return choose(v > spread(high), spread(high), v);
}

INLINE lanes truncate(lanes v)
{
	return __builtin_convertvector(__builtin_convertvector(v, whole), lanes);
}

INLINE four clamp_four(four v, float low, float high)
{
	four least = {low, low, low, low}, most = {high, high, high, high};
	four_whole under = v<least, over = v> most;
	v = (four)(((four_whole)least & under) | ((four_whole)v & ~under));
	return (four)(((four_whole)most & over) | ((four_whole)v & ~over));
}

INLINE float dot(four a, four b)
{
	four p = a * b;
	return (p[0] + p[2]) + (p[1] + p[3]);
}

static void take_points(const float pixels[4][16], uint32_t mask, points *out)
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

/* Codes of one end for a given p-bit; returns the squared distance from what was wanted. */
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

/* Index of each point along the line, and the error of what is decoded. */
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
		whole index = __builtin_convertvector(clamp_lanes(t, 0.0f, steps), whole);
		lanes weight = truncate(__builtin_convertvector(index, lanes) * spread(64.0f / steps) + spread(0.5f));
		weight *= spread(1.0f / 64.0f);
		lanes error = spread(0.0f);
		for (uint32_t k = first; k < channels; k++) {
			/* Exact: all are multiples of 1/64 below 256. */
			lanes decoded = spread(l->end[0][k] + 0.5f) + spread(l->end[1][k] - l->end[0][k]) * weight;
			lanes miss = truncate(decoded) - p->c[k][g];
			error += miss * miss;
		}
		total += error * p->weight[g];
		weights[g] = weight;
		l->index[g] = index;
	}
	l->error = sum_of(total);
}

/* Ends that fit the chosen weights best: two equations in two unknowns for each channel. */
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

/* The ends of the points along the direction of greatest spread, by power iteration. */
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

/* As many rounds of solving as help. Inlined for each mode, so that the numbers of the mode are constants. */
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

/* Alpha alone, for modes 4 and 5. */
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

/* ---- which partitions are promising */

typedef struct statistics {
	lanes count[GROUPS], sum[4][GROUPS], product[4][4][GROUPS]; /* product: [k][j], j <= k */
} statistics;

/* Sums over the second subset, for some partitions at once. */
INLINE void gather(const float pixels[4][16], const float products[10][16], uint32_t channels,
				   statistics *out)
{
	for (uint32_t g = 0; g < GROUPS; g++) {
		whole bits;
		memcpy(&bits, bc7_partitions2 + LANES * g, sizeof bits);
		lanes count = spread(0.0f), sum[4] = {{0}}, product[10] = {{0}};
		for (uint32_t i = 0; i < 16; i++) {
			whole member = bits << (int32_t)(31 - 2 * i) < 0;
			uint32_t at = 0;
			count += choose(member, spread(1.0f), spread(0.0f));
			for (uint32_t k = 0; k < channels; k++) {
				sum[k] += (lanes)((whole)spread(pixels[k][i]) & member);
				for (uint32_t j = 0; j <= k; j++, at++)
					product[at] += (lanes)((whole)spread(products[at][i]) & member);
			}
		}
		uint32_t at = 0;
		out->count[g] = count;
		for (uint32_t k = 0; k < channels; k++) {
			out->sum[k][g] = sum[k];
			for (uint32_t j = 0; j <= k; j++, at++)
				out->product[k][j][g] = product[at];
		}
	}
}

/* What is left of the variance when the best line is taken out: trace less largest eigenvalue. The root of the sum of
 * the squares of all eigenvalues stands for the largest; where one is much larger than the others they agree. */
INLINE lanes residual(lanes count, const lanes sum[4], const lanes product[10], uint32_t channels)
{
	lanes inverse = spread(1.0f) / count, trace = spread(0.0f), squares = spread(0.0f);
	uint32_t at = 0;
	for (uint32_t k = 0; k < channels; k++)
		for (uint32_t j = 0; j <= k; j++, at++) {
			lanes c = product[at] - sum[k] * sum[j] * inverse;
			trace += j == k ? c : spread(0.0f);
			squares += c * c * spread(j == k ? 1.0f : 2.0f);
		}
	lanes root;
	for (int i = 0; i < LANES; i++)
		root[i] = __builtin_sqrtf(squares[i]);
	return trace - root;
}

INLINE void rank_partitions(const statistics *s, const moments *all, uint32_t channels, uint32_t wanted,
							uint8_t out[PARTITIONS])
{
	float estimate[PARTITIONS];
	for (uint32_t g = 0; g < GROUPS; g++) {
		lanes sum[2][4], product[2][10];
		uint32_t at = 0;
		for (uint32_t k = 0; k < channels; k++) {
			sum[1][k] = s->sum[k][g];
			sum[0][k] = spread(all->sum[k]) - sum[1][k];
			for (uint32_t j = 0; j <= k; j++, at++) {
				product[1][at] = s->product[k][j][g];
				product[0][at] = spread(all->product[k][j]) - product[1][at];
			}
		}
		lanes left = residual(spread(16.0f) - s->count[g], sum[0], product[0], channels) +
					 residual(s->count[g], sum[1], product[1], channels);
		memcpy(estimate + LANES * g, &left, sizeof left);
	}
	uint32_t count = 0;
	for (uint32_t p = 0; p < PARTITIONS; p++) {
		if (count == wanted && estimate[p] >= estimate[out[wanted - 1]])
			continue;
		uint32_t at = count < wanted ? count++ : wanted - 1;
		for (; at > 0 && estimate[p] < estimate[out[at - 1]]; at--)
			out[at] = out[at - 1];
		out[at] = (uint8_t)p;
	}
}

/* Moments of both subsets of a partition. */
INLINE void split_moments(const statistics *s, const moments *all, uint32_t partition, uint32_t channels,
						  moments out[2])
{
	uint32_t g = partition / LANES, i = partition % LANES;
	out[1].count = s->count[g][i];
	out[0].count = 16.0f - out[1].count;
	for (uint32_t k = 0; k < channels; k++) {
		out[1].sum[k] = s->sum[k][g][i];
		out[0].sum[k] = all->sum[k] - out[1].sum[k];
		for (uint32_t j = 0; j <= k; j++) {
			out[1].product[k][j] = out[1].product[j][k] = s->product[k][j][g][i];
			out[0].product[k][j] = out[0].product[j][k] = all->product[k][j] - out[1].product[k][j];
		}
	}
}

/* ---- modes */

typedef struct block {
	float pixels[4][16], products[10][16];
	bool opaque;
	points all;
	moments moments;
	statistics statistics;
} block;

INLINE precision precision_of(uint32_t mode, bool opaque)
{
	const bc7_mode *m = &bc7_modes[mode];
	return (precision){m->alpha ? 4 : 3, m->color, m->index, m->own_p, m->shared_p, opaque};
}

static void keep_better(const candidate *c, candidate *best)
{
	if (c->error < best->error)
		*best = *c;
}

static void try_mode6(const block *b, uint32_t rounds, candidate *best)
{
	candidate c = {.mode = 6};
	precision q = precision_of(6, b->opaque);
	fit_line(&b->all, &b->moments, &q, rounds, &c.subsets[0]);
	c.error = c.subsets[0].error;
	keep_better(&c, best);
}

INLINE void try_two_subsets(const block *b, uint32_t mode, uint32_t partition, uint32_t rounds,
							candidate *best)
{
	candidate c = {.mode = mode, .partition = partition};
	precision q = precision_of(mode, false);
	moments m[2];
	points p;
	for (uint32_t i = 0; i < 16; i++)
		c.mask |= (bc7_partitions2[partition] >> 2 * i & 1) << i;
	split_moments(&b->statistics, &b->moments, partition, q.channels, m);
	for (uint32_t s = 0; s < 2; s++) {
		take_points(b->pixels, s ? c.mask : ~c.mask & 0xFFFF, &p);
		fit_line(&p, &m[s], &q, rounds, &c.subsets[s]);
		c.error += c.subsets[s].error;
		if (c.error >= best->error)
			return;
	}
	*best = c;
}

static void try_mode1(const block *b, uint32_t partition, uint32_t rounds, candidate *best)
{
	try_two_subsets(b, 1, partition, rounds, best);
}

static void try_mode3(const block *b, uint32_t partition, uint32_t rounds, candidate *best)
{
	try_two_subsets(b, 3, partition, rounds, best);
}

static void try_mode7(const block *b, uint32_t partition, uint32_t rounds, candidate *best)
{
	try_two_subsets(b, 7, partition, rounds, best);
}

static void sum_moments(const float pixels[4][16], moments *out)
{
	four sum = {0}, product[4] = {{0}};
	for (uint32_t i = 0; i < 16; i++) {
		four v = {pixels[0][i], pixels[1][i], pixels[2][i], pixels[3][i]};
		sum += v;
		for (uint32_t k = 0; k < 4; k++)
			product[k] += v * v[k];
	}
	out->count = 16.0f;
	memcpy(out->sum, &sum, sizeof sum);
	memcpy(out->product, product, sizeof product);
}

/* Modes 4 and 5: channel `rotation - 1` changes places with alpha and has indices of its own. */
static void try_separate(const block *b, uint32_t mode, uint32_t rotation, uint32_t swap, uint32_t rounds,
						 candidate *best)
{
	candidate c = {.mode = mode, .rotation = rotation, .swap = swap};
	const bc7_mode *m = &bc7_modes[mode];
	float turned[4][16];
	points p;
	moments around;
	memcpy(turned, b->pixels, sizeof turned);
	if (rotation > 0) {
		memcpy(turned[3], b->pixels[rotation - 1], sizeof turned[3]);
		memcpy(turned[rotation - 1], b->pixels[3], sizeof turned[3]);
	}
	take_points(turned, 0xFFFF, &p);
	fit_alpha(&p, m->alpha, swap ? m->index : m->index2, rounds, &c.alpha);
	if (c.alpha.error >= best->error)
		return;
	precision q = {.channels = 3, .bits = m->color, .index_bits = swap ? m->index2 : m->index};
	sum_moments(turned, &around);
	fit_line(&p, &around, &q, rounds, &c.subsets[0]);
	c.error = c.alpha.error + c.subsets[0].error;
	keep_better(&c, best);
}

/* ---- writing */

typedef struct writer {
	uint64_t low, high;
	uint32_t at;
} writer;

static void put(writer *w, uint32_t value, uint32_t bits)
{
	if (bits == 0)
		return;
	if (w->at < 64) {
		w->low |= (uint64_t)value << w->at;
		if (w->at + bits > 64)
			w->high |= (uint64_t)value >> (64 - w->at);
	} else {
		w->high |= (uint64_t)value << (w->at - 64);
	}
	w->at += bits;
}

/* Indices of a line's pixels in block order. The anchor's highest bit is not stored, so it has to be 0: the line is
 * turned around when it is not. */
static void place_indices(line *l, uint32_t mask, uint32_t anchor, uint32_t index_bits, uint8_t index[16])
{
	int32_t own[16], most = (1 << index_bits) - 1;
	uint32_t next = 0, first = 0;
	memcpy(own, l->index, sizeof own);
	for (uint32_t i = 0; i < 16; i++)
		if (mask >> i & 1) {
			first = i == anchor ? next : first;
			next++;
		}
	bool turn = own[first] > most / 2;
	if (turn) {
		four_whole code = l->code[0];
		l->code[0] = l->code[1];
		l->code[1] = code;
		uint32_t p = l->p[0];
		l->p[0] = l->p[1];
		l->p[1] = p;
	}
	next = 0;
	for (uint32_t i = 0; i < 16; i++)
		if (mask >> i & 1) {
			index[i] = (uint8_t)(turn ? most - own[next] : own[next]);
			next++;
		}
}

static void put_ends(writer *w, const bc7_mode *m, const candidate *c)
{
	for (uint32_t k = 0; k < 3; k++)
		for (uint32_t s = 0; s < m->subsets; s++)
			for (int e = 0; e < 2; e++)
				put(w, (uint32_t)c->subsets[s].code[e][k], m->color);
	for (uint32_t s = 0; s < m->subsets; s++)
		for (int e = 0; e < 2; e++)
			put(w, (uint32_t)(m->index2 ? c->alpha.code[e][3] : c->subsets[s].code[e][3]), m->alpha);
	for (uint32_t s = 0; s < m->subsets; s++) {
		if (m->own_p || m->shared_p)
			put(w, c->subsets[s].p[0], 1);
		if (m->own_p)
			put(w, c->subsets[s].p[1], 1);
	}
}

static void write_block(candidate *c, uint8_t out[16])
{
	const bc7_mode *m = &bc7_modes[c->mode];
	uint32_t color_bits = c->swap ? m->index2 : m->index,
			 anchor = m->subsets == 2 ? bc7_anchors2[c->partition] : 0;
	uint8_t index[2][16];
	place_indices(&c->subsets[0], m->subsets == 2 ? ~c->mask & 0xFFFF : 0xFFFF, 0, color_bits, index[0]);
	if (m->subsets == 2)
		place_indices(&c->subsets[1], c->mask, anchor, color_bits, index[0]);
	if (m->index2)
		place_indices(&c->alpha, 0xFFFF, 0, c->swap ? m->index : m->index2, index[1]);
	writer w = {0};
	put(&w, 1u << c->mode, c->mode + 1);
	put(&w, c->partition, m->partition);
	put(&w, c->rotation, m->rotation);
	put(&w, c->swap, m->selection);
	put_ends(&w, m, c);
	for (uint32_t set = 0; set < (m->index2 ? 2u : 1u); set++) {
		uint32_t bits = set ? m->index2 : m->index;
		const uint8_t *from = index[c->swap ? 1 - set : set];
		for (uint32_t i = 0; i < 16; i++)
			put(&w, from[i], i == 0 || (anchor > 0 && i == anchor) ? bits - 1 : bits);
	}
	hob_store_u64(out, w.low);
	hob_store_u64(out + 8, w.high);
}

/* How much of each is tried. */
typedef struct effort {
	uint32_t rounds;
	uint32_t partitions, sharp_partitions; /* of modes 1 or 7, and 3 */
	uint32_t rotations, small_rotations;   /* of modes 5 and 4 */
	float good_enough;					   /* error of a block that needs no other mode */
} effort;

static const effort efforts[] = {
	[HOB_BC_FAST] = {1, 0, 0, 0, 0, 0.0f},
	[HOB_BC_GOOD] = {2, 4, 1, 4, 0, 24.0f},
	[HOB_BC_BEST] = {3, 8, 4, 4, 4, 4.0f},
};

static void try_partitions(block *b, const effort *e, candidate *best)
{
	uint8_t order[PARTITIONS];
	uint32_t at = 0, channels = b->opaque ? 3 : 4;
	for (uint32_t k = 0; k < channels; k++)
		for (uint32_t j = 0; j <= k; j++, at++)
			for (uint32_t i = 0; i < 16; i++)
				b->products[at][i] = b->pixels[k][i] * b->pixels[j][i];
	if (b->opaque) {
		gather(b->pixels, b->products, 3, &b->statistics);
		rank_partitions(&b->statistics, &b->moments, 3, e->partitions, order);
	} else {
		gather(b->pixels, b->products, 4, &b->statistics);
		rank_partitions(&b->statistics, &b->moments, 4, e->partitions, order);
	}
	for (uint32_t i = 0; i < e->partitions; i++) {
		if (!b->opaque) {
			try_mode7(b, order[i], e->rounds, best);
			continue;
		}
		try_mode1(b, order[i], e->rounds, best);
		if (i < e->sharp_partitions)
			try_mode3(b, order[i], e->rounds, best);
	}
}

void hob_bc7_encode(const uint8_t pixels[64], hob_bc_quality quality, uint8_t out[16])
{
	const effort *e = &efforts[quality];
	block b;
	b.opaque = true;
	for (uint32_t i = 0; i < 16; i++) {
		for (uint32_t k = 0; k < 4; k++)
			b.pixels[k][i] = pixels[4 * i + k];
		b.opaque &= pixels[4 * i + 3] == 255;
	}
	take_points(b.pixels, 0xFFFF, &b.all);
	sum_moments(b.pixels, &b.moments);
	candidate best = {.error = 1e30f};
	try_mode6(&b, e->rounds, &best);
	if (e->partitions > 0 && best.error > e->good_enough) {
		for (uint32_t rotation = 0; rotation < e->rotations; rotation++)
			try_separate(&b, 5, rotation, 0, e->rounds, &best);
		try_partitions(&b, e, &best);
		for (uint32_t i = 0; i < 2 * e->small_rotations; i++)
			try_separate(&b, 4, i / 2, i % 2, e->rounds, &best);
	}
	write_block(&best, out);
}
