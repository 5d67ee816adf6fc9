/* block_vectors.h - four floats at once, for the encoders of blocks. */
#ifndef HOB_BLOCK_VECTORS_H
#define HOB_BLOCK_VECTORS_H

#include <stdint.h>

typedef float four __attribute__((vector_size(16)));
typedef int32_t four_whole __attribute__((vector_size(16)));

/* `a` where the mask is set, else `b`. */
static inline four choose_four(four_whole mask, four a, four b)
{
	return (four)(((four_whole)a & mask) | ((four_whole)b & ~mask));
}

static inline four clamp_four(four v, float low, float high)
{
	four least = {low, low, low, low}, most = {high, high, high, high};
	v = choose_four(v < least, least, v);
	return choose_four(v > most, most, v);
}

static inline four truncate_four(four v)
{
	return __builtin_convertvector(__builtin_convertvector(v, four_whole), four);
}

#endif
