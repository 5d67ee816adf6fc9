/* mips.h - scaling and mip chains, filtered by the kind of picture.
 *
 *   colour   averaged in linear light. Where alpha is opacity, the weight of a pixel is its opacity plus
 *            1/4096: transparent pixels do not bleed in, but fully transparent areas keep a colour. Any other
 *            alpha is averaged on its own. Float pictures are linear already and stay float.
 *   normal   vectors are averaged unnormalised down the whole chain and normalised when a level is written; R
 *            and G hold x and y, B the resulting z.
 *   data     averaged unchanged.
 *
 * The filter weighs source pixels by the exact area that a smaller pixel covers: the 2x2 box for even sides,
 * three weighted pixels for odd ones, area weights for any other ratio; enlarging is linear. Sums are 32-bit
 * floats in a fixed order.
 *
 * Cut-outs (alpha mode MASK): the alpha of each level is scaled so that its coverage, the fraction at or
 * above the cutoff when sampled between pixels as on the GPU, equals that of level 0; leaves and fences do
 * not thin out with distance (Castano 2010, "Computing alpha mipmaps"). Where no factor achieves this, as in
 * patterns that average to one grey, the same fraction of texels as in level 0 is raised to the cutoff.
 *
 * Odd sides: Guthe and Heckbert 2005, "Non-power-of-two mipmapping". Cost: 4 ns per pixel of level 0. */
#ifndef HOB_MIPS_H
#define HOB_MIPS_H

#include "gpu_format.h"
#include "srgb.h"

typedef enum hob_use { HOB_USE_COLOR, HOB_USE_NORMAL, HOB_USE_DATA } hob_use;

typedef struct hob_mip_options {
	hob_use use;
	bool alpha_is_opacity;	/* colour: alpha weighs the colours */
	float cutoff;			/* colour with opacity: > 0 preserves the coverage at this alpha on every level */
	uint32_t width, height; /* of level 0; the picture is scaled first if it has another size */
	uint32_t level_count;	/* 1 .. hob_level_count() */
	bool narrow;			/* converts float pictures to 8-bit codes, clipped at 1 */
	const hob_srgb *srgb;
	const hob_parallel *parallel; /* over rows; may be NULL */
} hob_mip_options;

typedef struct hob_mips {
	uint32_t width, height, level_count;
	bool is_float;				  /* levels hold four half floats a pixel, else four bytes */
	bool opaque;				  /* every alpha of every level has the maximum value */
	void *levels[HOB_GPU_LEVELS]; /* [height][width][4]; levels[0] may be picture->pixels */
} hob_mips;

/* All results are in `arena`. Called within hob_guarded. */
hob_mips hob_mips_build(const hob_picture *picture, const hob_mip_options *options, hob_arena *arena);

/* Largest size with the same proportions whose longer side is at most `cap`; each side at least 1. */
void hob_fit_size(uint32_t width, uint32_t height, uint32_t cap, uint32_t *out_width, uint32_t *out_height);

/* IEEE half, round to nearest even; values above 65504 become 65504 (pictures have no use for infinity), NaN
 * becomes 0. */
uint16_t hob_half_of(float value);

#endif
