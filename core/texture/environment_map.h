/* environment_map.h - converts an environment picture to lighting data: a cube map whose levels are
 * prefiltered for GGX surfaces of increasing roughness, and the irradiance as spherical harmonics.
 *
 * The picture is equirectangular, twice as wide as high, in linear light. Its middle is +X, +Y is up, and
 * columns further to the right turn towards +Z (as in three.js). Faces are +X, -X, +Y, -Y, +Z, -Z as OpenGL
 * and Vulkan sample them: a lookup by a world direction gives the light from there.
 *
 * Level i of n is for roughness r = 1 - sqrt(1 - i / (n - 1)), a = r * r, so that the lookup for roughness r
 * takes level (n - 1) r (2 - r), and a lobe is a few texels of its level wide (the spacing of three.js):
 *
 *   level(R) = integral of L(l) D(h) (R.l) dl / integral of D(h) (R.l) dl,
 *   h = normalize(R + l), D = GGX with a
 *
 * This is the first factor of the split sum with N = V = R (Karis 2013, "Real Shading in Unreal Engine 4").
 * Level 0 is the picture itself. The integral uses a fixed set of directions, the same for every texel and
 * every machine; each sample reads a blurred copy whose texels match the sample's solid angle (Krivanek and
 * Colbert 2008, "Real-time shading with filtered importance sampling").
 *
 * Irradiance: E(n) = sum of irradiance[k] Y_k(n), Y real and orthonormal in the order 1, y, z, x, xy, yz, 3zz
 * - 1, xz, xx - yy (Ramamoorthi and Hanrahan 2001). It is summed over the picture's pixels, each with its
 * exact solid angle. */
#ifndef HOB_ENVIRONMENT_MAP_H
#define HOB_ENVIRONMENT_MAP_H

#include "gpu_format.h"

enum {
	HOB_ENVIRONMENT_LEAST = 16,
	HOB_ENVIRONMENT_MOST = 1024,
	HOB_ENVIRONMENT_LAST = 8,
	HOB_ENVIRONMENT_TERMS = 9
};

typedef struct hob_environment {
	uint32_t size, level_count;					/* levels go down to 8 x 8 */
	uint16_t *levels[HOB_GPU_LEVELS];			/* [6][side][side][4] half floats, alpha 1 */
	float irradiance[HOB_ENVIRONMENT_TERMS][3]; /* R, G, B */
	uint64_t clipped;							/* pixels beyond the range of half floats: clipped to 65504 */
} hob_environment;

/* picture  HOB_DEPTH_FLOAT, width = 2 * height (asserted). Negative values and NaN count as 0.
 * size     of a face at level 0: a power of two, HOB_ENVIRONMENT_LEAST to _MOST (asserted)
 * arena    holds the levels; temporary memory is released
 * Called within hob_guarded. Cost: about 2 s of one core for a face of 256. Memory: 150 bytes per texel of
 * level 0. */
hob_environment hob_environment_make(const hob_picture *picture, uint32_t size, const hob_parallel *parallel,
									 hob_arena *arena);

/* Direction of a point of a face, not normalised. s, t: -1 to 1; t points downwards. */
void hob_environment_direction(uint32_t face, float s, float t, float out[3]);

#endif
