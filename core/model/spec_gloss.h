/* spec_gloss.h - converts the specular-glossiness model of KHR_materials_pbrSpecularGlossiness to metal and
 * roughness. */
#ifndef HOB_SPEC_GLOSS_H
#define HOB_SPEC_GLOSS_H

#include "model.h"

/* Finds the base colour and the metallic value whose diffuse and specular reflection are closest to the given
 * ones.
 *
 * diffuse, specular   linear light, 0..1
 * base                out: linear, 0..1
 * Returns             metallic, 0..1; 0 for a specular below 0.04, the reflection of any dielectric.
 *                     Glossiness has no influence: roughness is 1 - glossiness.
 * Source              the conversion published with the extension: metallic follows from equal brightness of
 *                     the sum of both reflections, and the base colour is blended by its square from those of
 *                     either. */
float hob_spec_gloss_convert(const float diffuse[3], const float specular[3], float base[3]);

/* Whether some diffuse colour combined with this specular one gives a metallic value above 0. */
bool hob_spec_gloss_has_metal(const float specular[3]);

#endif
