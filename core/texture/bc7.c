#include "blocks.h"

#include "bc7_tables.h"

/* Vectors pass between functions of this file only: how a library would pass them does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* Eight floats at once; the compiler splits them where the machine has four. */
typedef float lanes __attribute__((vector_size(32)));
typedef int32_t whole __attribute__((vector_size(32)));

enum { PARTITIONS = 64, STATISTICS = 14, SETTLE = 3 };

/* Pixels of a subset, channel by channel. Lanes past `count` repeat the first pixel and weigh nothing. */
typedef struct points {
	uint32_t count, groups;
	lanes c[4][2], weight[2];
	uint8_t at[16];
} points;

/* What an endpoint of a mode can be. */
typedef struct precision {
	uint32_t channels, color_bits, alpha_bits;
	bool own_p, shared_p;
	bool opaque; /* the alpha that comes out has to be 255 */
	uint32_t index_bits;
} precision;

typedef struct line {
	uint32_t code[2][4], p[2]; /* as stored */
	float end[2][4];		   /* as decoded */
	uint8_t index[16];		   /* by order in `points` */
	float error;
} line;

typedef struct candidate {
	uint32_t mode, partition, rotation, swap;
	line subsets[3];
	points parts[3];
	line alpha; /* modes 4 and 5 */
	float error;
} candidate;

/* ---- small vector things */

static inline float sum_of(lanes v)
{
	return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

static inline lanes spread(float v)
{
	return (lanes){v, v, v, v, v, v, v, v};
}

static inline lanes choose(whole mask, lanes a, lanes b)
{
	return (lanes)(((whole)a & mask) | ((whole)b & ~mask));
}

static inline lanes clamp_lanes(lanes v, float low, float high)
{
	v = choose(v < spread(low), spread(low), v);
	return choose(v > spread(high), spread(high), v);
}

static inline lanes truncate(lanes v)
{
	return __builtin_convertvector(__builtin_convertvector(v, whole), lanes);
}

static void take_points(const float pixels[4][16], uint32_t mask, points *out)
{
	uint32_t count = 0;
	float c[4][16], weight[16];
	for (uint32_t i = 0; i < 16; i++)
		if (mask >> i & 1)
			out->at[count++] = (uint8_t)i;
	out->count = count;
	out->groups = count > 8 ? 2 : 1;
	for (uint32_t i = 0; i < 8 * out->groups; i++) {
		uint32_t from = out->at[i < count ? i : 0];
		weight[i] = i < count ? 1.0f : 0.0f;
		for (int k = 0; k < 4; k++)
			c[k][i] = pixels[k][from];
	}
	for (uint32_t g = 0; g < out->groups; g++) {
		memcpy(&out->weight[g], weight + 8 * g, sizeof(lanes));
		for (int k = 0; k < 4; k++)
			memcpy(&out->c[k][g], c[k] + 8 * g, sizeof(lanes));
	}
}

/* ---- endpoints */

static float widen(uint32_t code, uint32_t bits)
{
	code <<= 8 - bits;
	return (float)(code | code >> bits);
}

static uint32_t nearest_code(float v, uint32_t bits, uint32_t p, bool has_p)
{
	uint32_t all = has_p ? bits + 1 : bits;
	float scaled = v * ((float)((1u << all) - 1) / 255.0f);
	if (has_p)
		scaled = (scaled - (float)p) * 0.5f;
	float most = (float)((1u << bits) - 1);
	scaled += 0.5f;
	return scaled <= 0.0f ? 0 : scaled >= most ? (uint32_t)most : (uint32_t)scaled;
}

/* Codes of one end for a given p-bit; returns the squared distance from what was wanted. */
static float quantize_end(const float want[4], const precision *q, uint32_t p, uint32_t code[4], float end[4])
{
	bool has_p = q->own_p || q->shared_p;
	float error = 0.0f;
	for (uint32_t k = 0; k < 4; k++) {
		uint32_t bits = k < 3 ? q->color_bits : q->alpha_bits;
		if (k >= q->channels || bits == 0) {
			code[k] = 0;
			end[k] = 255.0f;
			continue;
		}
		code[k] = nearest_code(want[k], bits, p, has_p);
		end[k] = has_p ? widen(code[k] << 1 | p, bits + 1) : widen(code[k], bits);
		error += (end[k] - want[k]) * (end[k] - want[k]);
	}
	return error;
}

static void quantize_line(const float want[2][4], const precision *q, line *out)
{
	uint32_t code[2][2][4];
	float end[2][2][4], error[2][2]; /* [end][p] */
	bool has_p = q->own_p || q->shared_p;
	for (int e = 0; e < 2; e++)
		for (uint32_t p = 0; p < (has_p ? 2u : 1u); p++)
			error[e][p] = quantize_end(want[e], q, p, code[e][p], end[e][p]);
	uint32_t chosen[2] = {0, 0};
	if (q->opaque && q->channels == 4 && has_p)
		chosen[0] = chosen[1] = 1;
	else if (q->shared_p)
		chosen[0] = chosen[1] = error[0][1] + error[1][1] < error[0][0] + error[1][0];
	else if (q->own_p)
		for (int e = 0; e < 2; e++)
			chosen[e] = error[e][1] < error[e][0];
	for (int e = 0; e < 2; e++) {
		out->p[e] = chosen[e];
		memcpy(out->code[e], code[e][chosen[e]], sizeof code[e][0]);
		memcpy(out->end[e], end[e][chosen[e]], sizeof end[e][0]);
	}
}

/* Index of each point along the line, and the error of what is decoded. */
static void match_points(const points *p, uint32_t first, uint32_t channels, uint32_t index_bits, line *l,
						 lanes weights[2])
{
	float direction[4], length = 0.0f, steps = (float)((1u << index_bits) - 1);
	for (uint32_t k = first; k < channels; k++) {
		direction[k] = l->end[1][k] - l->end[0][k];
		length += direction[k] * direction[k];
	}
	float scale = length > 0.0f ? steps / length : 0.0f;
	lanes total = spread(0.0f);
	for (uint32_t g = 0; g < p->groups; g++) {
		lanes t = spread(0.0f);
		for (uint32_t k = first; k < channels; k++)
			t += (p->c[k][g] - spread(l->end[0][k])) * spread(direction[k]);
		lanes index = truncate(clamp_lanes(t * spread(scale), 0.0f, steps) + spread(0.5f));
		lanes weight = truncate(index * spread(64.0f / steps) + spread(0.5f));
		lanes error = spread(0.0f);
		for (uint32_t k = first; k < channels; k++) {
			lanes decoded = spread(l->end[0][k]) * (spread(64.0f) - weight) + spread(l->end[1][k]) * weight;
			decoded = truncate((decoded + spread(32.0f)) * spread(1.0f / 64.0f));
			lanes miss = decoded - p->c[k][g];
			error += miss * miss;
		}
		total += error * p->weight[g];
		weights[g] = weight * spread(1.0f / 64.0f);
		whole numbers = __builtin_convertvector(index, whole);
		for (uint32_t i = 0; i < 8; i++)
			l->index[8 * g + i] = (uint8_t)numbers[i];
	}
	l->error = sum_of(total);
}

/* Ends that fit the chosen weights best: two equations in two unknowns for each channel. */
static bool solve_ends(const points *p, uint32_t first, uint32_t channels, const lanes weights[2],
					   float out[2][4])
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
	for (uint32_t k = first; k < channels; k++) {
		float ap = sum_of(vap[k]), bp = sum_of(vbp[k]);
		float a = (ap * bb - bp * ab) / det, b = (bp * aa - ap * ab) / det;
		out[0][k] = a < 0 ? 0 : a > 255 ? 255 : a;
		out[1][k] = b < 0 ? 0 : b > 255 ? 255 : b;
	}
	return true;
}

static void first_ends(const points *p, uint32_t channels, float out[2][4])
{
	float mean[4], covariance[4][4], axis[4], inverse = 1.0f / (float)p->count;
	lanes d[4][2];
	for (uint32_t k = 0; k < channels; k++) {
		lanes total = p->c[k][0] * p->weight[0];
		if (p->groups == 2)
			total += p->c[k][1] * p->weight[1];
		mean[k] = sum_of(total) * inverse;
		for (uint32_t g = 0; g < p->groups; g++)
			d[k][g] = p->c[k][g] - spread(mean[k]);
	}
	for (uint32_t i = 0; i < channels; i++)
		for (uint32_t j = 0; j <= i; j++) {
			lanes total = d[i][0] * d[j][0] * p->weight[0];
			if (p->groups == 2)
				total += d[i][1] * d[j][1] * p->weight[1];
			covariance[i][j] = covariance[j][i] = sum_of(total);
		}
	uint32_t widest = 0;
	for (uint32_t k = 1; k < channels; k++)
		if (covariance[k][k] > covariance[widest][widest])
			widest = k;
	for (uint32_t k = 0; k < channels; k++)
		axis[k] = covariance[widest][k];
	for (int step = 0; step < SETTLE; step++) {
		float next[4], largest = 1e-9f;
		for (uint32_t i = 0; i < channels; i++) {
			next[i] = 0.0f;
			for (uint32_t j = 0; j < channels; j++)
				next[i] += covariance[i][j] * axis[j];
			float size = next[i] < 0 ? -next[i] : next[i];
			largest = size > largest ? size : largest;
		}
		for (uint32_t i = 0; i < channels; i++)
			axis[i] = next[i] / largest;
	}
	float length = 0.0f, low = 0.0f, high = 0.0f;
	for (uint32_t k = 0; k < channels; k++)
		length += axis[k] * axis[k];
	for (uint32_t g = 0; g < p->groups; g++) {
		lanes t = spread(0.0f);
		for (uint32_t k = 0; k < channels; k++)
			t += d[k][g] * spread(axis[k]);
		for (int i = 0; i < 8; i++) {
			low = t[i] < low ? t[i] : low;
			high = t[i] > high ? t[i] : high;
		}
	}
	float scale = length > 0.0f ? 1.0f / length : 0.0f;
	for (uint32_t k = 0; k < channels; k++) {
		float a = mean[k] + axis[k] * low * scale, b = mean[k] + axis[k] * high * scale;
		out[0][k] = a < 0 ? 0 : a > 255 ? 255 : a;
		out[1][k] = b < 0 ? 0 : b > 255 ? 255 : b;
	}
}

static void fit_line(const points *p, const precision *q, uint32_t rounds, line *best)
{
	float want[2][4];
	lanes weights[2];
	first_ends(p, q->channels, want);
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

/* One channel alone (k of the points), for modes 4 and 5. */
static void fit_scalar(const points *p, uint32_t k, uint32_t bits, uint32_t index_bits, uint32_t rounds,
					   line *best)
{
	float low = 255.0f, high = 0.0f, want[2][4];
	lanes weights[2];
	for (uint32_t g = 0; g < p->groups; g++)
		for (int i = 0; i < 8; i++) {
			low = p->c[k][g][i] < low ? p->c[k][g][i] : low;
			high = p->c[k][g][i] > high ? p->c[k][g][i] : high;
		}
	want[0][k] = low;
	want[1][k] = high;
	best->error = 1e30f;
	for (uint32_t round = 0; round <= rounds; round++) {
		line next = {0};
		for (int e = 0; e < 2; e++) {
			next.code[e][k] = nearest_code(want[e][k], bits, 0, false);
			next.end[e][k] = widen(next.code[e][k], bits);
		}
		match_points(p, k, k + 1, index_bits, &next, weights);
		if (next.error >= best->error)
			return;
		*best = next;
		if (next.error <= 0.0f || !solve_ends(p, k, k + 1, weights, want))
			return;
	}
}

/* ---- which partitions are promising */

/* Sums over the second subset for every partition at once: count, channels, products. */
static void gather_statistics(const float pixels[4][16], uint32_t channels,
							  float out[STATISTICS + 1][PARTITIONS])
{
	memset(out, 0, (STATISTICS + 1) * PARTITIONS * sizeof(float));
	for (uint32_t i = 0; i < 16; i++) {
		float member[PARTITIONS], value[STATISTICS];
		uint32_t count = 0;
		for (uint32_t p = 0; p < PARTITIONS; p++)
			member[p] = (float)(bc7_partitions2[p] >> 2 * i & 1);
		for (uint32_t k = 0; k < channels; k++)
			value[count++] = pixels[k][i];
		for (uint32_t k = 0; k < channels; k++)
			for (uint32_t j = 0; j <= k; j++)
				value[count++] = pixels[k][i] * pixels[j][i];
		for (uint32_t p = 0; p < PARTITIONS; p++)
			out[0][p] += member[p];
		for (uint32_t s = 0; s < count; s++)
			for (uint32_t p = 0; p < PARTITIONS; p++)
				out[1 + s][p] += member[p] * value[s];
	}
}

/* Adds to estimate[] what is left of a subset's variance when the best line is taken out. */
static void add_residuals(float statistics[STATISTICS + 1][PARTITIONS], uint32_t channels,
						  float estimate[PARTITIONS])
{
	float cov[4][4][PARTITIONS], axis[4][PARTITIONS], next[4][PARTITIONS], gain[PARTITIONS];
	uint32_t at = 1 + channels;
	for (uint32_t k = 0; k < channels; k++)
		for (uint32_t j = 0; j <= k; j++, at++)
			for (uint32_t p = 0; p < PARTITIONS; p++)
				cov[k][j][p] = cov[j][k][p] =
					statistics[at][p] - statistics[1 + k][p] * statistics[1 + j][p] / statistics[0][p];
	for (uint32_t p = 0; p < PARTITIONS; p++) {
		float trace = 1e-6f;
		for (uint32_t k = 0; k < channels; k++)
			trace += cov[k][k][p];
		estimate[p] += trace;
		/* A start that is not across the axis: the row sums, and a little of each. */
		for (uint32_t k = 0; k < channels; k++) {
			float row = trace * 1e-3f;
			for (uint32_t j = 0; j < channels; j++)
				row += cov[k][j][p];
			axis[k][p] = row;
		}
	}
	for (int step = 0; step < SETTLE; step++) {
		for (uint32_t k = 0; k < channels; k++)
			for (uint32_t p = 0; p < PARTITIONS; p++) {
				float v = 0.0f;
				for (uint32_t j = 0; j < channels; j++)
					v += cov[k][j][p] * axis[j][p];
				next[k][p] = v;
			}
		for (uint32_t p = 0; p < PARTITIONS; p++) {
			float along = 0.0f, before = 1e-20f, after = 1e-20f;
			for (uint32_t k = 0; k < channels; k++) {
				along += next[k][p] * axis[k][p];
				before += axis[k][p] * axis[k][p];
				after += next[k][p] * next[k][p];
			}
			gain[p] = along / before;
			float scale = 1.0f / (after > before ? after : before);
			for (uint32_t k = 0; k < channels; k++)
				axis[k][p] = next[k][p] * scale;
		}
	}
	for (uint32_t p = 0; p < PARTITIONS; p++)
		estimate[p] -= gain[p];
}

static void rank_partitions(const float pixels[4][16], uint32_t channels, uint32_t wanted,
							uint8_t out[PARTITIONS])
{
	float inner[STATISTICS + 1][PARTITIONS], estimate[PARTITIONS] = {0}, total[STATISTICS + 1] = {16.0f};
	uint32_t count = channels + channels * (channels + 1) / 2;
	gather_statistics(pixels, channels, inner);
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t at = 1;
		for (uint32_t k = 0; k < channels; k++)
			total[at++] += pixels[k][i];
		for (uint32_t k = 0; k < channels; k++)
			for (uint32_t j = 0; j <= k; j++)
				total[at++] += pixels[k][i] * pixels[j][i];
	}
	add_residuals(inner, channels, estimate);
	for (uint32_t s = 0; s <= count; s++)
		for (uint32_t p = 0; p < PARTITIONS; p++)
			inner[s][p] = total[s] - inner[s][p];
	add_residuals(inner, channels, estimate);
	for (uint32_t i = 0; i < wanted; i++) {
		uint32_t best = 0;
		for (uint32_t p = 1; p < PARTITIONS; p++)
			if (estimate[p] < estimate[best])
				best = p;
		out[i] = (uint8_t)best;
		estimate[best] = 1e30f;
	}
}

/* ---- modes */

static precision precision_of(uint32_t mode, bool opaque)
{
	const bc7_mode *m = &bc7_modes[mode];
	return (precision){m->alpha ? 4 : 3, m->color, m->alpha, m->own_p, m->shared_p, opaque, m->index};
}

static void keep_better(const candidate *c, candidate *best)
{
	if (c->error < best->error)
		*best = *c;
}

static void try_mode6(const points *all, bool opaque, uint32_t rounds, candidate *best)
{
	candidate c = {.mode = 6};
	precision q = precision_of(6, opaque);
	c.parts[0] = *all;
	fit_line(all, &q, rounds, &c.subsets[0]);
	c.error = c.subsets[0].error;
	keep_better(&c, best);
}

static void try_two_subsets(const float pixels[4][16], uint32_t mode, uint32_t partition, uint32_t rounds,
							candidate *best)
{
	candidate c = {.mode = mode, .partition = partition};
	precision q = precision_of(mode, false);
	uint32_t mask = 0;
	for (uint32_t i = 0; i < 16; i++)
		mask |= (bc7_partitions2[partition] >> 2 * i & 1) << i;
	for (uint32_t s = 0; s < 2; s++) {
		take_points(pixels, s ? mask : ~mask & 0xFFFF, &c.parts[s]);
		fit_line(&c.parts[s], &q, rounds, &c.subsets[s]);
		c.error += c.subsets[s].error;
		if (c.error >= best->error)
			return;
	}
	keep_better(&c, best);
}

/* Modes 4 and 5: channel `rotation - 1` changes places with alpha and has indices of its own. */
static void try_separate(const float pixels[4][16], uint32_t mode, uint32_t rotation, uint32_t swap,
						 uint32_t rounds, candidate *best)
{
	candidate c = {.mode = mode, .rotation = rotation, .swap = swap};
	const bc7_mode *m = &bc7_modes[mode];
	float turned[4][16];
	memcpy(turned, pixels, sizeof turned);
	if (rotation > 0) {
		memcpy(turned[3], pixels[rotation - 1], sizeof turned[3]);
		memcpy(turned[rotation - 1], pixels[3], sizeof turned[3]);
	}
	precision q = {3, m->color, 0, false, false, false, swap ? m->index2 : m->index};
	take_points(turned, 0xFFFF, &c.parts[0]);
	fit_scalar(&c.parts[0], 3, m->alpha, swap ? m->index : m->index2, rounds, &c.alpha);
	if (c.alpha.error >= best->error)
		return;
	fit_line(&c.parts[0], &q, rounds, &c.subsets[0]);
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

/* The anchor's highest bit is not stored, so it has to be 0: turn the line around when it is not. */
static void settle_anchor(line *l, uint32_t anchor, uint32_t index_bits, uint32_t count)
{
	uint32_t most = (1u << index_bits) - 1;
	if (l->index[anchor] <= most / 2)
		return;
	for (uint32_t k = 0; k < 4; k++) {
		uint32_t code = l->code[0][k];
		l->code[0][k] = l->code[1][k];
		l->code[1][k] = code;
	}
	uint32_t p = l->p[0];
	l->p[0] = l->p[1];
	l->p[1] = p;
	for (uint32_t i = 0; i < count; i++)
		l->index[i] = (uint8_t)(most - l->index[i]);
}

static void put_ends(writer *w, const bc7_mode *m, const candidate *c)
{
	for (uint32_t k = 0; k < 3; k++)
		for (uint32_t s = 0; s < m->subsets; s++)
			for (int e = 0; e < 2; e++)
				put(w, c->subsets[s].code[e][k], m->color);
	for (uint32_t s = 0; s < m->subsets; s++)
		for (int e = 0; e < 2; e++)
			put(w, m->index2 ? c->alpha.code[e][3] : c->subsets[s].code[e][3], m->alpha);
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
	uint32_t color_bits = c->swap ? m->index2 : m->index, anchors[2] = {0, 0};
	uint8_t index[2][16];
	if (m->subsets == 2)
		anchors[1] = bc7_anchors2[c->partition];
	for (uint32_t s = 0; s < m->subsets; s++) {
		points *p = &c->parts[s];
		for (uint32_t i = 0; i < p->count; i++)
			if (p->at[i] == anchors[s])
				settle_anchor(&c->subsets[s], i, color_bits, p->count);
		for (uint32_t i = 0; i < p->count; i++)
			index[0][p->at[i]] = c->subsets[s].index[i];
	}
	if (m->index2) {
		settle_anchor(&c->alpha, 0, c->swap ? m->index : m->index2, 16);
		memcpy(index[1], c->alpha.index, 16);
	}
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
			put(&w, from[i], i == 0 || (m->subsets == 2 && i == anchors[1]) ? bits - 1 : bits);
	}
	hob_store_u64(out, w.low);
	hob_store_u64(out + 8, w.high);
}

/* How much of each is tried. */
typedef struct effort {
	uint32_t rounds, partitions;
	bool more_modes;
	float good_enough; /* error of a block that needs no other mode */
} effort;

static const effort efforts[] = {
	[HOB_BC_FAST] = {1, 0, false, 0.0f},
	[HOB_BC_GOOD] = {2, 4, false, 24.0f},
	[HOB_BC_BEST] = {4, 16, true, 0.0f},
};

void hob_bc7_encode(const uint8_t pixels[64], hob_bc_quality quality, uint8_t out[16])
{
	const effort *e = &efforts[quality];
	float channels[4][16];
	bool opaque = true;
	for (uint32_t i = 0; i < 16; i++) {
		for (uint32_t k = 0; k < 4; k++)
			channels[k][i] = pixels[4 * i + k];
		opaque &= pixels[4 * i + 3] == 255;
	}
	points all;
	take_points(channels, 0xFFFF, &all);
	candidate best = {.error = 1e30f};
	try_mode6(&all, opaque, e->rounds, &best);
	if (e->partitions > 0 && best.error > e->good_enough) {
		uint8_t order[PARTITIONS];
		rank_partitions(channels, opaque ? 3 : 4, e->partitions, order);
		for (uint32_t i = 0; i < e->partitions; i++) {
			try_two_subsets(channels, opaque ? 1 : 7, order[i], e->rounds, &best);
			if (opaque && e->more_modes)
				try_two_subsets(channels, 3, order[i], e->rounds, &best);
		}
		for (uint32_t rotation = 0; rotation < 4; rotation++) {
			if (e->more_modes || rotation == 0)
				try_separate(channels, 5, rotation, 0, e->rounds, &best);
			for (uint32_t swap = 0; swap < 2 && e->more_modes; swap++)
				try_separate(channels, 4, rotation, swap, e->rounds, &best);
		}
	}
	write_block(&best, out);
}
