/* srgb.h - sRGB codes to linear light and back, by tables computed with plain arithmetic, so that they are
 * the same on every machine and with every libm. */
#ifndef HOB_SRGB_H
#define HOB_SRGB_H

#include <stdint.h>

enum { HOB_SRGB_GUESSES = 4096 };

typedef struct hob_srgb {
	float linear[256]; /* of an 8-bit code */
	float from[257];   /* [code] smallest linear value that rounds to the code; [0] = 0, [256] = huge */
	/* code at the lower end of each interval of linear values: never too high */
	uint8_t guess[HOB_SRGB_GUESSES];
} hob_srgb;

/* Fills the tables in about 0.2 ms. */
void hob_srgb_init(hob_srgb *tables);

/* Linear value of a code in [0,1]: the piecewise function of IEC 61966-2-1. */
double hob_srgb_to_linear(double code);

/* Nearest code, with halves of a code rounded up; the argument is clamped to [0,1], NaN gives 0. Exact. */
static inline uint8_t hob_srgb_code(const hob_srgb *tables, float linear)
{
	if (!(linear > 0.0f))
		return 0;
	if (linear >= 1.0f)
		return 255;
	uint32_t code = tables->guess[(uint32_t)(linear * (float)HOB_SRGB_GUESSES)];
	while (linear >= tables->from[code + 1])
		code++;
	return (uint8_t)code;
}

#endif
