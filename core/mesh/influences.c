#include "influences.h"

#include <assert.h>

enum { LARGEST = 8 };

typedef struct influence {
	uint16_t joint;
	double weight;
} influence_t;

static bool before(influence_t a, influence_t b)
{
	return a.weight > b.weight || (a.weight == b.weight && a.joint < b.joint);
}

static double weight_of(float weight)
{
	return weight > 0 && weight < 3.0e38f ? (double)weight : 0;
}

/* A joint's total over all its entries; 0 if an earlier entry has already counted it. */
static influence_t total(const uint16_t *joints, const float *weights, uint32_t count, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (joints[i] == joints[at])
			return (influence_t){joints[at], 0};
	influence_t sum = {joints[at], 0};
	for (uint32_t i = at; i < count; i++)
		if (joints[i] == joints[at])
			sum.weight += weight_of(weights[i]);
	return sum;
}

static uint32_t largest(const uint16_t *joints, const float *weights, uint32_t count, uint32_t kept,
						influence_t *out)
{
	uint32_t filled = 0;
	for (uint32_t i = 0; i < count; i++) {
		influence_t one = total(joints, weights, count, i);
		if (one.weight <= 0 || (filled == kept && !before(one, out[kept - 1])))
			continue;
		uint32_t at = filled < kept ? filled++ : kept - 1;
		for (; at > 0 && before(one, out[at - 1]); at--)
			out[at] = out[at - 1];
		out[at] = one;
	}
	return filled;
}

/* Shares `whole` units among the parts: each its floor, the rest one by one to the largest remainders. */
static void apportion(const double *parts, uint32_t count, double sum, uint32_t whole, uint32_t *out)
{
	double remainder[LARGEST];
	uint32_t used = 0;
	for (uint32_t i = 0; i < count; i++) {
		double exact = parts[i] / sum * whole;
		out[i] = (uint32_t)exact;
		remainder[i] = exact - out[i];
		used += out[i];
	}
	for (; used < whole; used++) {
		uint32_t best = 0;
		for (uint32_t i = 1; i < count; i++)
			if (remainder[i] > remainder[best])
				best = i;
		out[best]++;
		remainder[best] = -1;
	}
}

uint32_t hob_influences(const uint16_t *joints, const float *weights, uint32_t source_count,
						uint32_t vertex_count, uint32_t kept, uint16_t *out_joints, uint16_t *out_weights)
{
	assert(kept == 4 || kept == 8);
	uint32_t unbound = 0;
	for (size_t v = 0; v < vertex_count; v++) {
		influence_t found[LARGEST];
		uint32_t count =
			largest(joints + v * source_count, weights + v * source_count, source_count, kept, found);
		if (count == 0) {
			found[count++] = (influence_t){0, 1};
			unbound++;
		}
		double parts[LARGEST], sum = 0;
		uint32_t units[LARGEST];
		for (uint32_t i = 0; i < count; i++)
			sum += parts[i] = found[i].weight;
		apportion(parts, count, sum, 65535, units);
		for (uint32_t i = 0; i < kept; i++) {
			bool bound = i < count && units[i] > 0;
			out_joints[v * kept + i] = bound ? found[i].joint : 0;
			out_weights[v * kept + i] = bound ? (uint16_t)units[i] : 0;
		}
	}
	return unbound;
}

void hob_weights_to_u8(const uint16_t *weights, uint32_t count, uint8_t *out)
{
	assert(count <= LARGEST);
	double parts[LARGEST] = {0};
	uint32_t units[LARGEST] = {0};
	for (uint32_t i = 0; i < count; i++)
		parts[i] = weights[i];
	apportion(parts, count, 65535, 255, units);
	for (uint32_t i = 0; i < count; i++)
		out[i] = (uint8_t)units[i];
}
