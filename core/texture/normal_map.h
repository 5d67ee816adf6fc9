/* normal_map.h - normal maps: x in R to the right, y in G up, z in B out of the surface. */
#ifndef HOB_NORMAL_MAP_H
#define HOB_NORMAL_MAP_H

#include "picture.h"

/* True for pixels of a normal map: not grey, and mostly pointing up. */
bool hob_normals_likely(const hob_picture *picture);

/* True for a normal map whose y points down. Red and green are slopes of one surface, whose change of the
 * first slope along y equals that of the second along x; inverted green turns the sign. False if the pixels
 * do not tell. */
bool hob_normals_flipped(const hob_picture *picture);

/* Normals of 16 bits from the heights in R by central differences; a step from black to white over one pixel
 * is a slope of 2. The picture wraps around at an edge, or with `clamp_*` repeats the edge. Called
 * within hob_guarded. */
void hob_normals_from_heights(const hob_picture *heights, bool clamp_u, bool clamp_v, hob_arena *arena,
							  hob_picture *out);

/* Sets B of an 8-bit picture to the z that makes x y z a unit vector. */
void hob_normals_complete(hob_picture *picture);

#endif
