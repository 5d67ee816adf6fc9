/* quantize.h - stores numbers in fewer bits. Largest errors are in degrees or units of the range. */
#ifndef HOB_QUANTIZE_H
#define HOB_QUANTIZE_H

#include "../base/base.h"

/* Nearest of 0..max for a value of [0,1]; values outside and NaN are clamped (NaN to 0). */
static inline uint32_t hob_quantize_unorm(double value, uint32_t max)
{
	if (!(value > 0))
		return 0;
	return value >= 1 ? max : (uint32_t)(value * max + 0.5);
}

/* Whether `value` is exactly q / max as computed by float division, like an expanded integer texel. */
static inline bool hob_is_unorm(float value, uint32_t max)
{
	return (float)hob_quantize_unorm((double)value, max) / (float)max == value;
}

/* Unit vector <-> octahedral map in two signed 16-bit numbers (value = max(q / 32767, -1)). A vector of
 * length zero is taken for +Z. Largest error 0.004 degrees; for comparison 2 x 8 bits: 0.95, 2 x 10 bits:
 * 0.23. Source: Meyer et al. 2010, On floating-point normal vectors; Cigolle et al. 2014, survey of
 * encodings. */
void hob_octahedral_encode(const float unit[3], int16_t out[2]);
void hob_octahedral_decode(const int16_t code[2], float unit[3]);

#endif
