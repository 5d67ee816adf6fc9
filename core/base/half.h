/* half.h - half floats (IEEE 754 binary16) as floats. */
#ifndef HOB_HALF_H
#define HOB_HALF_H

#include <stdint.h>
#include <string.h>

static inline float hob_half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
	float value = (float)fraction * (1.0f / 16777216.0f);
	if (exponent == 0)
		return sign ? -value : value;
	uint32_t bits = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13;
	memcpy(&value, &bits, sizeof value);
	return value;
}

#endif
