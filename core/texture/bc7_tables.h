/* bc7_tables.h - the numbers of BC7, from the BPTC chapter of the Khronos Data Format Specification. */
#ifndef HOB_BC7_TABLES_H
#define HOB_BC7_TABLES_H

#include <stdint.h>

/* Fields of a block by mode: subsets; bits of partition, rotation, index selection, colour and alpha of an
 * endpoint; p-bits per endpoint or shared by a subset's two; bits of an index and of the second index. */
typedef struct bc7_mode {
	uint8_t subsets, partition, rotation, selection, color, alpha, own_p, shared_p, index, index2;
} bc7_mode;

static const bc7_mode bc7_modes[8] = {
	{3, 4, 0, 0, 4, 0, 1, 0, 3, 0}, {2, 6, 0, 0, 6, 0, 0, 1, 3, 0}, {3, 6, 0, 0, 5, 0, 0, 0, 2, 0},
	{2, 6, 0, 0, 7, 0, 1, 0, 2, 0}, {1, 0, 2, 1, 5, 6, 0, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 0, 2, 2},
	{1, 0, 0, 0, 7, 7, 1, 0, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 0, 2, 0},
};

/* Weight of the second endpoint in 64ths, by index: [bits][index]. */
static const uint8_t bc7_weights[5][16] = {
	[2] = {0, 21, 43, 64},
	[3] = {0, 9, 18, 27, 37, 46, 55, 64},
	[4] = {0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64},
};

/* Subset of pixel i in bits 2i and 2i + 1. */
static const uint32_t bc7_partitions2[64] = {
	0x50505050, 0x40404040, 0x54545454, 0x54505040, 0x50404000, 0x55545450, 0x55545040, 0x54504000,
	0x50400000, 0x55555450, 0x55544000, 0x54400000, 0x55555440, 0x55550000, 0x55555500, 0x55000000,
	0x55150100, 0x00004054, 0x15010000, 0x00405054, 0x00004050, 0x15050100, 0x05010000, 0x40505054,
	0x00404050, 0x05010100, 0x14141414, 0x05141450, 0x01155440, 0x00555500, 0x15014054, 0x05414150,
	0x44444444, 0x55005500, 0x11441144, 0x05055050, 0x05500550, 0x11114444, 0x41144114, 0x44111144,
	0x15055054, 0x01055040, 0x05041050, 0x05455150, 0x14414114, 0x50050550, 0x41411414, 0x00141400,
	0x00041504, 0x00105410, 0x10541000, 0x04150400, 0x50410514, 0x41051450, 0x05415014, 0x14054150,
	0x41050514, 0x41505014, 0x40011554, 0x54150140, 0x50505500, 0x00555050, 0x15151010, 0x54540404,
};

static const uint32_t bc7_partitions3[64] = {
	0xAA685050, 0x6A5A5040, 0x5A5A4200, 0x5450A0A8, 0xA5A50000, 0xA0A05050, 0x5555A0A0, 0x5A5A5050,
	0xAA550000, 0xAA555500, 0xAAAA5500, 0x90909090, 0x94949494, 0xA4A4A4A4, 0xA9A59450, 0x2A0A4250,
	0xA5945040, 0x0A425054, 0xA5A5A500, 0x55A0A0A0, 0xA8A85454, 0x6A6A4040, 0xA4A45000, 0x1A1A0500,
	0x0050A4A4, 0xAAA59090, 0x14696914, 0x69691400, 0xA08585A0, 0xAA821414, 0x50A4A450, 0x6A5A0200,
	0xA9A58000, 0x5090A0A8, 0xA8A09050, 0x24242424, 0x00AA5500, 0x24924924, 0x24499224, 0x50A50A50,
	0x500AA550, 0xAAAA4444, 0x66660000, 0xA5A0A5A0, 0x50A050A0, 0x69286928, 0x44AAAA44, 0x66666600,
	0xAA444444, 0x54A854A8, 0x95809580, 0x96969600, 0xA85454A8, 0x80959580, 0xAA141414, 0x96960000,
	0xAAAA1414, 0xA05050A0, 0xA0A5A5A0, 0x96000000, 0x40804080, 0xA9A8A9A8, 0xAAAAAA44, 0x2A4A5254,
};

/* Anchor pixel of a subset, whose index lacks its highest bit; that of subset 0 is pixel 0. */
static const uint8_t bc7_anchors2[64] = {
	15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2,	8, 2,  2, 8,
	8,	15, 2,	8,	2,	2,	8,	8,	2,	2,	15, 15, 6,	8,	2,	8,	15, 15, 2, 8,  2, 2,
	2,	15, 15, 6,	6,	2,	6,	8,	15, 15, 2,	2,	15, 15, 15, 15, 15, 2,	2, 15,
};

static const uint8_t bc7_anchors3[2][64] = {
	{3,	 3,	 15, 15, 8, 3,	15, 15, 8,	8,	6, 6,  6, 5,  3, 3,	 3,	 3,	 8,	 15, 3,	 3,
	 6,	 10, 5,	 8,	 8, 6,	8,	5,	15, 15, 8, 15, 3, 5,  6, 10, 8,	 15, 15, 3,	 15, 5,
	 15, 15, 15, 15, 3, 15, 5,	5,	5,	8,	5, 10, 5, 10, 8, 13, 15, 12, 3,	 3},
	{15, 8, 8, 3,  15, 15, 3,  8,  15, 15, 15, 15, 15, 15, 15, 8,  15, 8,  15, 3,  15, 8,
	 15, 8, 3, 15, 6,  10, 15, 15, 10, 8,  15, 3,  15, 10, 10, 8,  9,  10, 6,  15, 8,  15,
	 3,	 6, 6, 8,  15, 3,  15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3,  15, 15, 8},
};

#endif
