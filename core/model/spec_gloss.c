#include "spec_gloss.h"

#include <math.h>

static const float f0 = 0.04f;

static float perceived(const float rgb[3])
{
	return sqrtf(0.299f * rgb[0] * rgb[0] + 0.587f * rgb[1] * rgb[1] + 0.114f * rgb[2] * rgb[2]);
}

/* The positive root of the quadratic for metallic, from diffuse = base (1 - F0)(1 - metallic) and specular =
 * lerp(F0, base, metallic). */
static float solve_metallic(float diffuse, float specular, float one_minus_specular)
{
	if (specular < f0)
		return 0;
	float b = diffuse * one_minus_specular / (1 - f0) + specular - 2 * f0;
	float c = f0 - specular;
	float root = sqrtf(fmaxf(b * b - 4 * f0 * c, 0));
	return fminf(fmaxf((-b + root) / (2 * f0), 0), 1);
}

float hob_spec_gloss_convert(const float diffuse[3], const float specular[3], float base[3])
{
	const float tiny = 1e-6f;
	float strongest = fmaxf(specular[0], fmaxf(specular[1], specular[2]));
	float metallic = solve_metallic(perceived(diffuse), perceived(specular), 1 - strongest);
	for (int i = 0; i < 3; i++) {
		float from_diffuse = diffuse[i] * (1 - strongest) / (1 - f0) / fmaxf(1 - metallic, tiny);
		float from_specular = (specular[i] - f0 * (1 - metallic)) / fmaxf(metallic, tiny);
		float color = from_diffuse + (from_specular - from_diffuse) * metallic * metallic;
		base[i] = fminf(fmaxf(color, 0), 1);
	}
	return metallic;
}

bool hob_spec_gloss_has_metal(const float specular[3])
{
	return perceived(specular) > f0 + 1e-4f;
}
