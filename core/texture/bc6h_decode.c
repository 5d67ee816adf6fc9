#include "blocks.h"

#include "bc6h_tables.h"

static const bc6h_mode *mode_of(const uint8_t *block)
{
	uint32_t code = block[0] & 31u;
	if ((code & 3) < 2)
		code &= 3;
	for (size_t i = 0; i < HOB_COUNT_OF(bc6h_modes); i++)
		if (bc6h_modes[i].code == code)
			return &bc6h_modes[i];
	return NULL;
}

static void add_base(const bc6h_mode *m, uint32_t ends[4][3])
{
	for (uint32_t k = 0; k < 3 && m->delta[k]; k++)
		for (uint32_t e = 1; e < 2u * m->subsets; e++) {
			uint32_t sign = 1u << (m->delta[k] - 1);
			uint32_t delta = (ends[e][k] ^ sign) - sign;
			ends[e][k] = (ends[0][k] + delta) & ((1u << m->bits) - 1);
		}
}

void hob_bc6h_decode(const uint8_t block[16], uint16_t out[64])
{
	const bc6h_mode *m = mode_of(block);
	for (uint32_t i = 0; i < 16; i++) {
		out[4 * i] = out[4 * i + 1] = out[4 * i + 2] = 0;
		out[4 * i + 3] = 0x3C00;
	}
	if (!m)
		return;
	uint32_t ends[4][3] = {{0}};
	hob_block_bits bits = hob_block_load(block);
	hob_block_take(&bits, m->code_bits);
	const char *layout = bc6h_layouts[m - bc6h_modes];
	for (bc6h_field f; bc6h_next(&layout, &f);) {
		int step = f.last < f.first ? -1 : 1;
		for (int bit = f.first; bit != f.last + step; bit += step)
			ends[f.end][f.channel] |= hob_block_take(&bits, 1) << bit;
	}
	uint32_t partition = hob_block_take(&bits, m->subsets == 2 ? 5 : 0);
	add_base(m, ends);
	uint32_t index_bits = m->subsets == 2 ? 3 : 4;
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t index = hob_block_take(&bits, index_bits - bc6h_is_anchor(m, partition, i));
		uint32_t e = 2 * bc6h_subset(m, partition, i), weight = bc7_weights[index_bits][index];
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t a = bc6h_widened(ends[e][k], m->bits), b = bc6h_widened(ends[e + 1][k], m->bits);
			out[4 * i + k] = (uint16_t)(((a * (64 - weight) + b * weight + 32) >> 6) * 31 >> 6);
		}
	}
}
