/* mips.h - scaling and mip chains, each kind of picture filtered as what it holds.
 *
 *   colour   sRGB codes are taken to linear light, averaged, and taken back. Where alpha is opacity, a pixel
 *            weighs as much as it is opaque and 1/4096 more, so that what cannot be seen does not bleed in
 *            but has a colour where nothing can; where alpha is something else, it is averaged for itself.
 *            Float pictures are linear already and stay float.
 *   normal   vectors are averaged unnormalised down the whole chain and normalised when a level is written; R
 *            and G hold x and y, B the z that completes them.
 *   data     averaged as it is.
 *
 * The filter is the exact area under a smaller pixel: the 2x2 box for even sides, the three weighted pixels
 * of odd ones, and the fitting weights for any other ratio; enlarging is linear. Sums are 32-bit floats in a
 * fixed order.
 *
 * Cut-outs (alpha mode MASK): the alpha of each level is scaled until the share of it that reaches the cutoff
 * is that of level 0, sampled between pixels as the GPU will, so that leaves and fences do not thin out with
 * distance (Castano 2010, "Computing alpha mipmaps"). Where no factor does, as in patterns that turn to one
 * grey, as many texels of each level as of level 0 are made to reach the cutoff.
 *
 * Odd sides: Guthe and Heckbert 2005, "Non-power-of-two mipmapping". Cost: 4 ns a pixel of level 0. */
#ifndef HOB_MIPS_H
#define HOB_MIPS_H

#include "gpu_format.h"
#include "srgb.h"

typedef enum hob_use { HOB_USE_COLOR, HOB_USE_NORMAL, HOB_USE_DATA } hob_use;

typedef struct hob_mip_options {
	hob_use use;
	bool alpha_is_opacity;	/* colour: alpha weighs the colours */
	float cutoff;			/* colour with opacity: > 0 keeps the coverage at this alpha on every level */
	uint32_t width, height; /* of level 0; other than the picture's: it is scaled first */
	uint32_t level_count;	/* 1 .. hob_level_count() */
	bool narrow;			/* float pictures become 8-bit codes too, clipped at 1 */
	const hob_srgb *srgb;
	const hob_parallel *parallel; /* over rows; may be NULL */
} hob_mip_options;

typedef struct hob_mips {
	uint32_t width, height, level_count;
	bool is_float;				  /* levels hold four half floats a pixel, else four bytes */
	bool opaque;				  /* every alpha of every level is the greatest value */
	void *levels[HOB_GPU_LEVELS]; /* [height][width][4]; levels[0] may be picture->pixels */
} hob_mips;

/* Everything lives in `arena`. Errors: MEMORY. */
bool hob_mips_build(const hob_picture *picture, const hob_mip_options *options, hob_arena *arena,
					hob_mips *out, hob_error *err) HOB_MUST_CHECK;

/* Largest size with the same proportions whose longer side is at most `cap`; each side at least 1. */
void hob_fit_size(uint32_t width, uint32_t height, uint32_t cap, uint32_t *out_width, uint32_t *out_height);

/* IEEE half, nearest even; what is over 65504 becomes 65504 (a picture has no use for infinity), NaN becomes
 * 0. */
uint16_t hob_half_of(float value);

#endif
