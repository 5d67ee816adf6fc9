/* influences.h - reduces joints and weights for the GPU: few per vertex, largest first, with an exact sum of
 * one. */
#ifndef HOB_INFLUENCES_H
#define HOB_INFLUENCES_H

#include "../base/base.h"

/* Reduces the influences of each vertex to the `kept` largest.
 *
 * Weights that are not positive numbers count as none; a joint named twice gets the sum. Of equal weights the
 * smaller joint comes first, so the result does not depend on the source's order. The kept weights are scaled
 * to sum 1 and rounded to multiples of 1/65535 by largest remainders, so that the 16-bit weights of a vertex
 * sum to 65535 exactly.
 *
 * joints, weights  [vertex_count][source_count]
 * kept             4 or 8
 * out_joints       [vertex_count][kept] out; 0 where out_weights is 0
 * out_weights      [vertex_count][kept] out, 0..65535
 * Returns          number of vertices that had no weight at all: they follow joint 0 alone. */
uint32_t hob_influences(const uint16_t *joints, const float *weights, uint32_t source_count,
						uint32_t vertex_count, uint32_t kept, uint16_t *out_joints, uint16_t *out_weights);

/* Rounds one vertex's 16-bit weights, which sum to 65535, to 8 bits that sum to 255. */
void hob_weights_to_u8(const uint16_t *weights, uint32_t count, uint8_t *out);

#endif
