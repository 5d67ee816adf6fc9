#include "srgb.h"

/* Fifth root of x in (0,2] by Newton's method; 40 steps are ample for convergence. */
static double fifth_root(double x)
{
	double y = 1.0;
	for (int i = 0; i < 40; i++) {
		double y2 = y * y;
		y = (4.0 * y + x / (y2 * y2)) / 5.0;
	}
	return y;
}

double hob_srgb_to_linear(double code)
{
	if (code <= 0.04045)
		return code / 12.92;
	double base = (code + 0.055) / 1.055;
	/* base^2.4 = base^2 * (base^2)^(1/5) */
	double square = base * base;
	return square * fifth_root(square);
}

void hob_srgb_init(hob_srgb *tables)
{
	for (int i = 0; i < 256; i++) {
		tables->linear[i] = (float)hob_srgb_to_linear(i / 255.0);
		tables->from[i] = i == 0 ? 0.0f : (float)hob_srgb_to_linear((i - 0.5) / 255.0);
	}
	tables->from[256] = 1e30f;
	int code = 0;
	for (int i = 0; i < HOB_SRGB_GUESSES; i++) {
		float lower = (float)i / (float)HOB_SRGB_GUESSES;
		while (lower >= tables->from[code + 1])
			code++;
		tables->guess[i] = (uint8_t)code;
	}
}
