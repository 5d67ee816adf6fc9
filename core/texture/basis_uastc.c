#include "basis.h"
#include "bc7_tables.h"
#include "blocks.h"

enum { RGB, RGBA, GREY_ALPHA, VALUES_MAX = 18, SOLID = 8, MODES = 19 };

/* Per mode: bits of the mode's code and of the transcoding hints, which are skipped; bits of an endpoint
 * value, and whether endpoints share a trit (3) or quint (5); bits of a weight; planes, subsets, kind of
 * endpoints. */
static const struct {
	uint8_t code_bits, hint_bits, bits, digit, weight_bits, planes, subsets, kind;
} modes[MODES] = {
	{4, 15, 6, 3, 4, 1, 1, RGB},		{6, 15, 8, 0, 2, 1, 1, RGB},
	{5, 15, 4, 0, 3, 1, 2, RGB},		{5, 15, 2, 3, 2, 1, 3, RGB},
	{5, 15, 3, 5, 2, 1, 2, RGB},		{5, 15, 8, 0, 3, 1, 1, RGB},
	{5, 15, 5, 5, 2, 2, 1, RGB},		{5, 15, 3, 5, 2, 1, 2, RGB},
	{5, 0, 0, 0, 0, 0, 0, RGBA},		{5, 23, 4, 0, 2, 1, 2, RGBA},
	{3, 17, 4, 3, 4, 1, 1, RGBA},		{2, 17, 4, 3, 2, 2, 1, RGBA},
	{3, 17, 6, 3, 3, 1, 1, RGBA},		{5, 23, 8, 0, 1, 2, 1, RGBA},
	{5, 23, 8, 0, 2, 1, 1, RGBA},		{7, 23, 8, 0, 4, 1, 1, GREY_ALPHA},
	{6, 23, 8, 0, 2, 1, 2, GREY_ALPHA}, {6, 23, 8, 0, 2, 2, 1, GREY_ALPHA},
	{4, 15, 5, 0, 5, 1, 1, RGB},
};

/* Finds the mode from the low bits of a block: prefix codes of two to seven bits, shorter codes first. */
static uint32_t mode_of(uint32_t low)
{
	static const uint8_t by_five[32] = {
		11, 0, 10, 3, 11, 99, 12, 7, 11, 18, 10, 5, 11, 14, 12, 9,
		11, 0, 10, 4, 11, 98, 12, 8, 11, 18, 10, 6, 11, 2,	12, 13,
	};
	uint32_t mode = by_five[low & 31];
	if (mode == 98)
		return low & 32 ? 1 : 16;
	if (mode == 99)
		return low & 32 ? 17 : low & 64 ? MODES : 15;
	return mode;
}

/* ---- patterns shared by BC7 and ASTC, by their BC7 number, with the mapping of subsets */

static const struct {
	uint8_t bc7, invert;
} patterns2[30] = {
	{0, 0},	 {1, 0},  {2, 1},  {3, 0},	{4, 1},	 {5, 0},  {6, 1},  {7, 1},	{8, 0},	 {9, 1},
	{10, 0}, {11, 1}, {12, 1}, {13, 1}, {14, 0}, {15, 1}, {17, 1}, {18, 1}, {19, 0}, {20, 0},
	{21, 0}, {22, 1}, {23, 1}, {24, 0}, {25, 1}, {26, 0}, {29, 1}, {32, 1}, {33, 1}, {52, 1},
};

/* subset[i] replaces BC7's subset i. */
static const struct {
	uint8_t bc7, subset[3];
} patterns3[11] = {{4, {0, 1, 2}},	{8, {1, 0, 2}},	 {9, {1, 0, 2}},  {10, {1, 2, 0}},
				   {11, {1, 2, 0}}, {12, {0, 1, 2}}, {13, {0, 2, 1}}, {20, {2, 0, 1}},
				   {35, {2, 0, 1}}, {36, {1, 0, 2}}, {57, {0, 1, 2}}},
  patterns7[19] = {{10, {0, 1, 0}}, {11, {0, 1, 0}}, {0, {1, 0, 0}},  {2, {0, 1, 0}},  {8, {1, 0, 1}},
				   {13, {0, 1, 0}}, {1, {0, 1, 1}},	 {33, {0, 1, 1}}, {40, {1, 0, 0}}, {20, {0, 1, 0}},
				   {21, {0, 0, 1}}, {58, {1, 0, 0}}, {3, {0, 0, 1}},  {32, {0, 1, 1}}, {59, {1, 1, 0}},
				   {34, {1, 0, 0}}, {20, {1, 1, 0}}, {14, {0, 1, 0}}, {31, {1, 0, 0}}};

static bool pattern_of(uint32_t mode, uint32_t number, uint8_t subsets[16])
{
	bool three = modes[mode].subsets == 3, seven = mode == 7;
	if (number >= (three   ? HOB_COUNT_OF(patterns3)
				   : seven ? HOB_COUNT_OF(patterns7)
						   : HOB_COUNT_OF(patterns2)))
		return false;
	for (uint32_t i = 0; i < 16; i++) {
		if (three)
			subsets[i] = patterns3[number].subset[bc7_partitions3[patterns3[number].bc7] >> 2 * i & 3];
		else if (seven)
			subsets[i] = patterns7[number].subset[bc7_partitions3[patterns7[number].bc7] >> 2 * i & 3];
		else
			subsets[i] =
				(uint8_t)((bc7_partitions2[patterns2[number].bc7] >> 2 * i & 3) ^ patterns2[number].invert);
	}
	return true;
}

/* ---- bits */

/* Reads trits (five in 8 bits) or quints (three in 7); a partial group takes as few bits as possible. */
static void take_digits(hob_block_bits *b, uint32_t base, uint32_t count, uint8_t *digits)
{
	static const uint8_t trit_bits[6] = {0, 2, 4, 5, 7, 8}, quint_bits[4] = {0, 3, 5, 7};
	uint32_t group = base == 3 ? 5 : 3;
	for (uint32_t i = 0; i < count; i += group) {
		uint32_t here = count - i < group ? count - i : group;
		uint32_t value = hob_block_take(b, base == 3 ? trit_bits[here] : quint_bits[here]);
		for (uint32_t k = 0; k < here; k++, value /= base)
			digits[i + k] = (uint8_t)(value % base);
	}
}

/* Unquantises a colour as ASTC does: without trits or quints bits are replicated; otherwise the digit scales
 * C, the lowest bit mirrors, the others form B. */
static uint8_t unquantise(uint32_t mode, uint32_t digit, uint32_t value)
{
	uint32_t count = modes[mode].bits, high = value >> 1, b = 0, c = 0;
	if (modes[mode].digit == 0)
		return (uint8_t)(count == 8 ? value : count == 5 ? value << 3 | value >> 2 : value << 4 | value);
	if (modes[mode].digit == 3) {
		static const uint8_t scale[7] = {0, 204, 93, 44, 22, 11, 5};
		c = scale[count];
		b = count == 2	 ? high << 8 | high << 4 | high << 2 | high << 1
			: count == 4 ? high << 6 | high
						 : high << 4 | high >> 4;
	} else {
		static const uint8_t scale[6] = {0, 113, 54, 26, 13, 6};
		c = scale[count];
		b = count == 3 ? high << 7 | high << 1 | high >> 1 : high << 5 | high >> 3;
	}
	uint32_t a = value & 1 ? 0x1FF : 0, t = (digit * c + b) ^ a;
	return (uint8_t)((a & 0x80) | t >> 2);
}

static const uint8_t weights[6][32] = {
	[1] = {0, 64},
	[2] = {0, 21, 43, 64},
	[3] = {0, 9, 18, 27, 37, 46, 55, 64},
	[4] = {0, 4, 8, 12, 17, 21, 25, 29, 35, 39, 43, 47, 52, 56, 60, 64},
	[5] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
		   34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64},
};

static uint8_t mix(uint32_t low, uint32_t high, uint32_t weight)
{
	return (uint8_t)((low * 257 * (64 - weight) + high * 257 * weight + 32) >> 14);
}

static void read_ends(hob_block_bits *b, uint32_t mode, uint8_t ends[3][2][4])
{
	static const uint8_t components[] = {[RGB] = 3, [RGBA] = 4, [GREY_ALPHA] = 2};
	uint32_t each = components[modes[mode].kind], count = 2 * each * modes[mode].subsets;
	uint8_t digits[VALUES_MAX] = {0};
	if (modes[mode].digit)
		take_digits(b, modes[mode].digit, count, digits);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t value = unquantise(mode, digits[i], hob_block_take(b, modes[mode].bits));
		uint8_t *end = ends[i / (2 * each)][i & 1];
		uint32_t k = i / 2 % each;
		if (modes[mode].kind != GREY_ALPHA)
			end[k] = value;
		else if (k == 0)
			end[0] = end[1] = end[2] = value;
		else
			end[3] = value;
		if (modes[mode].kind == RGB)
			end[3] = 255;
	}
}

/* Reads weights and sets the pixels. The highest weight bit of a subset's first pixel is 0 and not stored. */
static void read_pixels(hob_block_bits *b, uint32_t mode, uint32_t second, const uint8_t subsets[16],
						uint8_t ends[3][2][4], uint8_t out[64])
{
	uint32_t seen = 0, planes = modes[mode].planes;
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t subset = subsets[i], count = modes[mode].weight_bits - (seen >> subset & 1 ? 0u : 1u);
		uint32_t weight[2];
		seen |= 1u << subset;
		for (uint32_t plane = 0; plane < planes; plane++)
			weight[plane] = weights[modes[mode].weight_bits][hob_block_take(b, count)];
		for (uint32_t k = 0; k < 4; k++)
			out[4 * i + k] =
				mix(ends[subset][0][k], ends[subset][1][k], weight[planes == 2 && k == second ? 1 : 0]);
	}
}

bool hob_uastc_decode_block(const uint8_t block[16], uint8_t out[64])
{
	static const uint8_t wrong[4] = {255, 0, 255, 255};
	uint32_t mode = mode_of(block[0]), second = 3;
	uint8_t subsets[16] = {0}, ends[3][2][4], solid[4];
	hob_block_bits b = hob_block_load(block);
	bool ok = mode < MODES;
	if (ok)
		hob_block_take(&b, modes[mode].code_bits);
	if (ok && mode == SOLID) {
		for (int k = 0; k < 4; k++)
			solid[k] = (uint8_t)hob_block_take(&b, 8);
		for (int i = 0; i < 16; i++)
			memcpy(out + 4 * i, solid, 4);
		return true;
	}
	if (ok) {
		hob_block_take(&b, modes[mode].hint_bits);
		if (modes[mode].subsets > 1)
			ok = pattern_of(mode, hob_block_take(&b, modes[mode].subsets == 3 ? 4 : 5), subsets);
		if (modes[mode].planes == 2 && modes[mode].kind != GREY_ALPHA)
			second = hob_block_take(&b, 2);
	}
	if (ok) {
		read_ends(&b, mode, ends);
		read_pixels(&b, mode, second, subsets, ends, out);
	}
	for (int i = 0; i < 16 && !ok; i++)
		memcpy(out + 4 * i, wrong, 4);
	return ok;
}
