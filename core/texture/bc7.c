#include "bc7_fit.h"

typedef struct candidate {
	uint32_t mode, partition, rotation, swap;
	line subsets[3];
	uint32_t masks[3]; /* bit mask of the pixels of each subset */
	line alpha;		   /* modes 4 and 5 */
	float error;
} candidate;

/* ---- selection of promising partitions */

/* Approximate fraction of the variance along a line that 2-bit steps keep: tuned by measuring, with alpha.
 * Opaque blocks do better without it: many come from compressed pictures and lie exactly on a partition's
 * lines. */
#define COARSE_STEPS (1.0f - 1.0f / 18)

typedef struct statistics {
	lanes count[GROUPS], sum[4][GROUPS], product[4][4][GROUPS]; /* product: [k][j], j <= k */
} statistics;

/* Computes sums over the second subset, for several partitions at once. */
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
			count += choose_four(member, spread(1.0f), spread(0.0f));
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

/* Variance left after removing the best line: trace minus largest eigenvalue. The root of the sum of squares
 * of all eigenvalues approximates the largest, exactly if it is the only one. Quantised steps also leave a
 * part of the variance along the line: `taken` is the fraction removed. */
INLINE lanes residual(lanes count, const lanes sum[4], const lanes product[10], uint32_t channels,
					  float taken)
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
	return trace - root * spread(taken);
}

/* The partitions of the `wanted` smallest estimates, smallest first. */
static void smallest(const float estimate[PARTITIONS], uint32_t wanted, uint8_t out[PARTITIONS])
{
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

INLINE void rank_partitions(const statistics *s, const moments *all, uint32_t channels, float taken,
							uint32_t wanted, uint8_t out[PARTITIONS])
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
		lanes left = residual(spread(16.0f) - s->count[g], sum[0], product[0], channels, taken) +
					 residual(s->count[g], sum[1], product[1], channels, taken);
		memcpy(estimate + LANES * g, &left, sizeof left);
	}
	smallest(estimate, wanted, out);
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

static void take_masks(uint32_t partition, uint32_t masks[3])
{
	masks[0] = masks[1] = masks[2] = 0;
	for (uint32_t i = 0; i < 16; i++)
		masks[partition >> 2 * i & 3] |= 1u << i;
}

/* `m`: of each subset */
INLINE void try_subsets(const block *b, uint32_t mode, uint32_t partition, const moments m[3],
						uint32_t rounds, candidate *best)
{
	candidate c = {.mode = mode, .partition = partition};
	precision q = precision_of(mode, false);
	points p;
	uint32_t subsets = bc7_modes[mode].subsets;
	take_masks((subsets == 2 ? bc7_partitions2 : bc7_partitions3)[partition], c.masks);
	for (uint32_t s = 0; s < subsets; s++) {
		take_points(b->pixels, c.masks[s], &p);
		fit_line(&p, &m[s], &q, rounds, &c.subsets[s]);
		if (rounds > 1 && c.subsets[s].error > 0.0f && is_constant(&p, q.channels))
			search_constant(&p, &q, &c.subsets[s]);
		c.error += c.subsets[s].error;
		if (c.error >= best->error)
			return;
	}
	*best = c;
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

/* ---- modes 0 and 2: three subsets, opaque */

static void subset_moments(const block *b, uint32_t mask, moments *out)
{
	*out = (moments){0};
	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t k = 0; mask >> i & 1 && k < 4; k++) {
			out->count += k == 3;
			out->sum[k] += b->pixels[k][i];
			for (uint32_t j = 0; k < 3 && j < 3; j++)
				out->product[k][j] += b->pixels[k][i] * b->pixels[j][i];
		}
}

static void rank_partitions3(const block *b, uint8_t out[PARTITIONS])
{
	float estimate[PARTITIONS];
	for (uint32_t p = 0; p < PARTITIONS; p++) {
		uint32_t masks[3];
		lanes left = {0}, count = spread(1.0f), sum[4] = {{0}}, product[10] = {{0}};
		take_masks(bc7_partitions3[p], masks);
		for (int s = 0; s < 3; s++) {
			moments m;
			uint32_t at = 0;
			subset_moments(b, masks[s], &m);
			count[s] = m.count;
			for (uint32_t k = 0; k < 3; k++) {
				sum[k][s] = m.sum[k];
				for (uint32_t j = 0; j <= k; j++)
					product[at++][s] = m.product[k][j];
			}
		}
		left = residual(count, sum, product, 3, 1.0f);
		estimate[p] = left[0] + left[1] + left[2];
	}
	smallest(estimate, PARTITIONS, out);
}

/* Tries modes 0 and 2 with three subsets. Mode 0 has only the first 16 partitions. */
static void try_three(const block *b, uint32_t wanted, uint32_t rounds, candidate *best)
{
	uint8_t order[PARTITIONS];
	uint32_t fine = 0;
	rank_partitions3(b, order);
	for (uint32_t i = 0; i < PARTITIONS && (i < wanted || fine < wanted / 2); i++) {
		uint32_t masks[3];
		moments m[3];
		take_masks(bc7_partitions3[order[i]], masks);
		for (int s = 0; s < 3; s++)
			subset_moments(b, masks[s], &m[s]);
		if (i < wanted)
			try_subsets(b, 2, order[i], m, rounds, best);
		if (order[i] < 16 && fine++ < wanted / 2)
			try_subsets(b, 0, order[i], m, rounds, best);
	}
}

static void turn(const float pixels[4][16], uint32_t rotation, float out[4][16])
{
	memcpy(out, pixels, sizeof(float[4][16]));
	if (rotation > 0) {
		memcpy(out[3], pixels[rotation - 1], sizeof out[3]);
		memcpy(out[rotation - 1], pixels[3], sizeof out[3]);
	}
}

/* Tries mode 4 or 5: channel `rotation - 1` is swapped with alpha and has separate indices. */
static void try_separate(const block *b, uint32_t mode, uint32_t rotation, uint32_t swap, uint32_t rounds,
						 candidate *best)
{
	candidate c = {.mode = mode, .rotation = rotation, .swap = swap};
	const bc7_mode *m = &bc7_modes[mode];
	float turned[4][16];
	points p;
	moments around;
	turn(b->pixels, rotation, turned);
	take_points(turned, 0xFFFF, &p);
	fit_alpha(&p, m->alpha, swap ? m->index : m->index2, rounds, &c.alpha);
	if (c.alpha.error >= best->error)
		return;
	precision q = {.channels = 3, .bits = m->color, .index_bits = swap ? m->index2 : m->index};
	if (is_constant(&p, 3)) {
		fit_constant(&p, &q, &c.subsets[0]);
	} else {
		sum_moments(turned, &around);
		fit_line(&p, &around, &q, rounds, &c.subsets[0]);
	}
	c.error = c.alpha.error + c.subsets[0].error;
	keep_better(&c, best);
}

/* ---- refinement of the best result of a block */

static void polish(const block *b, uint32_t passes, int32_t reach, candidate *c)
{
	const bc7_mode *m = &bc7_modes[c->mode];
	points p;
	if (m->index2) {
		float turned[4][16];
		turn(b->pixels, c->rotation, turned);
		take_points(turned, 0xFFFF, &p);
		precision alpha = {.channels = 4, .bits = m->alpha, .index_bits = c->swap ? m->index : m->index2};
		precision color = {.channels = 3, .bits = m->color, .index_bits = c->swap ? m->index2 : m->index};
		if (c->alpha.error > 0.0f)
			search_alpha(&p, 3, &alpha, reach, &c->alpha);
		polish_line(&p, 3, &alpha, passes, &c->alpha);
		polish_line(&p, 0, &color, passes, &c->subsets[0]);
		return;
	}
	precision q = precision_of(c->mode, b->opaque);
	for (uint32_t s = 0; s < m->subsets; s++) {
		take_points(b->pixels, m->subsets == 1 ? 0xFFFF : c->masks[s], &p);
		if (reach > 0 && !b->opaque && c->subsets[s].error > 0.0f && is_constant(&p, 3))
			search_one_color(&p, &q, reach, &c->subsets[s]);
		polish_line(&p, 0, &q, passes, &c->subsets[s]);
	}
}

/* ---- writing */

/* Puts the indices of a line's pixels into block order. The anchor's highest bit is not stored and must be 0;
 * otherwise the line is reversed. */
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

static void put_ends(hob_block_bits *w, const bc7_mode *m, const candidate *c)
{
	for (uint32_t k = 0; k < 3; k++)
		for (uint32_t s = 0; s < m->subsets; s++)
			for (int e = 0; e < 2; e++)
				hob_block_put(w, (uint32_t)c->subsets[s].code[e][k], m->color);
	for (uint32_t s = 0; s < m->subsets; s++)
		for (int e = 0; e < 2; e++)
			hob_block_put(w, (uint32_t)(m->index2 ? c->alpha.code[e][3] : c->subsets[s].code[e][3]),
						  m->alpha);
	for (uint32_t s = 0; s < m->subsets; s++) {
		if (m->own_p || m->shared_p)
			hob_block_put(w, c->subsets[s].p[0], 1);
		if (m->own_p)
			hob_block_put(w, c->subsets[s].p[1], 1);
	}
}

static void write_block(candidate *c, uint8_t out[16])
{
	const bc7_mode *m = &bc7_modes[c->mode];
	uint32_t color_bits = c->swap ? m->index2 : m->index, anchors[3] = {0};
	uint8_t index[2][16];
	if (m->subsets == 2)
		anchors[1] = bc7_anchors2[c->partition];
	for (uint32_t s = 1; m->subsets == 3 && s < 3; s++)
		anchors[s] = bc7_anchors3[s - 1][c->partition];
	for (uint32_t s = 0; s < m->subsets; s++)
		place_indices(&c->subsets[s], m->subsets == 1 ? 0xFFFF : c->masks[s], anchors[s], color_bits,
					  index[0]);
	if (m->index2)
		place_indices(&c->alpha, 0xFFFF, 0, c->swap ? m->index : m->index2, index[1]);
	hob_block_bits w = {0};
	hob_block_put(&w, 1u << c->mode, c->mode + 1);
	hob_block_put(&w, c->partition, m->partition);
	hob_block_put(&w, c->rotation, m->rotation);
	hob_block_put(&w, c->swap, m->selection);
	put_ends(&w, m, c);
	for (uint32_t set = 0; set < (m->index2 ? 2u : 1u); set++) {
		uint32_t bits = set ? m->index2 : m->index;
		const uint8_t *from = index[c->swap ? 1 - set : set];
		for (uint32_t i = 0; i < 16; i++)
			hob_block_put(&w, from[i], i == 0 || i == anchors[1] || i == anchors[2] ? bits - 1 : bits);
	}
	hob_block_store(&w, out);
}

/* Search limits of a quality level. */
typedef struct effort {
	uint32_t rounds;
	uint32_t partitions, sharp_partitions; /* number of partitions for modes 1 or 7, and for 3 */
	uint32_t rotations, small_rotations;   /* number of rotations for modes 5 and 4 */
	uint32_t three;						   /* partitions for mode 2; half as many for mode 0 */
	uint32_t passes;					   /* rounds of polish() */
	int32_t reach;						   /* distance of the joint search for both alpha ends */
	float good_enough;					   /* error below which no other mode is tried */
	float taken;						   /* see residual() */
} effort;

static const effort efforts[][2] = {
	/* limits for blocks with alpha, and for opaque ones */
	[HOB_BC_FAST] = {{1, 1, 0, 1, 0, 0, 0, 0, 800.0f, 1}, {1, 1, 0, 0, 0, 0, 0, 0, 600.0f, 1}},
	[HOB_BC_GOOD] = {{1, 3, 0, 1, 1, 0, 1, 0, 24.0f, COARSE_STEPS}, {1, 1, 0, 1, 0, 0, 1, 0, 24.0f, 1}},
	[HOB_BC_BEST] = {{3, 16, 0, 4, 4, 0, 4, 6, 0.0f, COARSE_STEPS}, {3, 16, 4, 4, 4, 4, 4, 0, 0.0f, 1}},
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
		rank_partitions(&b->statistics, &b->moments, 3, e->taken, e->partitions, order);
	} else {
		gather(b->pixels, b->products, 4, &b->statistics);
		rank_partitions(&b->statistics, &b->moments, 4, e->taken, e->partitions, order);
	}
	for (uint32_t i = 0; i < e->partitions; i++) {
		moments m[3];
		split_moments(&b->statistics, &b->moments, order[i], channels, m);
		if (!b->opaque)
			try_subsets(b, 7, order[i], m, e->rounds, best);
		else
			try_subsets(b, 1, order[i], m, e->rounds, best);
		if (b->opaque && i < e->sharp_partitions)
			try_subsets(b, 3, order[i], m, e->rounds, best);
	}
}

static bool is_solid(const uint8_t pixels[64])
{
	return memcmp(pixels, pixels + 4, 60) == 0;
}

void hob_bc7_encode(const uint8_t pixels[64], hob_bc_quality quality, uint8_t out[16])
{
	block b;
	b.opaque = true;
	for (uint32_t i = 0; i < 16; i++) {
		for (uint32_t k = 0; k < 4; k++)
			b.pixels[k][i] = pixels[4 * i + k];
		b.opaque &= pixels[4 * i + 3] == 255;
	}
	const effort *e = &efforts[quality][b.opaque];
	candidate best = {.error = 1e30f};
	if (is_solid(pixels)) {
		try_separate(&b, 5, 0, 0, 0, &best);
		write_block(&best, out);
		return;
	}
	take_points(b.pixels, 0xFFFF, &b.all);
	sum_moments(b.pixels, &b.moments);
	try_mode6(&b, e->rounds, &best);
	if (e->partitions > 0 && best.error > e->good_enough) {
		for (uint32_t rotation = b.opaque; rotation < e->rotations; rotation++)
			try_separate(&b, 5, rotation, 0, e->rounds, &best);
		try_partitions(&b, e, &best);
		for (uint32_t i = 0; i < 2 * e->small_rotations; i++)
			try_separate(&b, 4, i / 2, i % 2, e->rounds, &best);
	}
	if (e->three > 0 && best.error > e->good_enough)
		try_three(&b, e->three, e->rounds, &best);
	if (best.error > 0.0f)
		polish(&b, e->passes, e->reach, &best);
	write_block(&best, out);
}
