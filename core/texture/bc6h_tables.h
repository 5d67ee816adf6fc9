/* bc6h_tables.h - the fields of BC6H, from the BPTC chapter of the Khronos Data Format Specification.
 *
 * A block begins with its mode. The layout lists the following fields: channel r, g or b; end w and x of the
 * first subset, y and z of the second; its range of bits, the last named first. Two subsets are followed by
 * five bits for the partition, one of the first 32 of BC7. Indices fill the rest: three bits with two
 * subsets, four with one. */
#ifndef HOB_BC6H_TABLES_H
#define HOB_BC6H_TABLES_H

#include "bc7_tables.h"

typedef struct bc6h_mode {
	uint8_t code, code_bits, subsets;
	uint8_t bits;	  /* of an end */
	uint8_t delta[3]; /* bits of x, y and z as differences from w, for r, g and b; 0: stored like w */
} bc6h_mode;

static const bc6h_mode bc6h_modes[14] = {
	{0x00, 2, 2, 10, {5, 5, 5}}, {0x01, 2, 2, 7, {6, 6, 6}},  {0x02, 5, 2, 11, {5, 4, 4}},
	{0x06, 5, 2, 11, {4, 5, 4}}, {0x0A, 5, 2, 11, {4, 4, 5}}, {0x0E, 5, 2, 9, {5, 5, 5}},
	{0x12, 5, 2, 8, {6, 5, 5}},	 {0x16, 5, 2, 8, {5, 6, 5}},  {0x1A, 5, 2, 8, {5, 5, 6}},
	{0x1E, 5, 2, 6, {0, 0, 0}},	 {0x03, 5, 1, 10, {0, 0, 0}}, {0x07, 5, 1, 11, {9, 9, 9}},
	{0x0B, 5, 1, 12, {8, 8, 8}}, {0x0F, 5, 1, 16, {4, 4, 4}},
};

#define BC6H_RGB "rw9:0 gw9:0 bw9:0 "

static const char *const bc6h_layouts[14] = {
	"gy4 by4 bz4 " BC6H_RGB "rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 rz4:0 bz3",
	"gy5 gz4 gz5 rw6:0 bz0 bz1 by4 gw6:0 by5 bz2 gy4 bw6:0 bz3 bz5 bz4 rx5:0 gy3:0 gx5:0 gz3:0 bx5:0 "
	"by3:0 ry5:0 rz5:0",
	BC6H_RGB "rx4:0 rw10 gy3:0 gx3:0 gw10 bz0 gz3:0 bx3:0 bw10 bz1 by3:0 ry4:0 bz2 rz4:0 bz3",
	BC6H_RGB "rx3:0 rw10 gz4 gy3:0 gx4:0 gw10 gz3:0 bx3:0 bw10 bz1 by3:0 ry3:0 bz0 bz2 rz3:0 gy4 bz3",
	BC6H_RGB "rx3:0 rw10 by4 gy3:0 gx3:0 gw10 bz0 gz3:0 bx4:0 bw10 by3:0 ry3:0 bz1 bz2 rz3:0 bz4 bz3",
	"rw8:0 by4 gw8:0 gy4 bw8:0 bz4 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 rz4:0 bz3",
	"rw7:0 gz4 by4 gw7:0 bz2 gy4 bw7:0 bz3 bz4 rx5:0 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry5:0 rz5:0",
	"rw7:0 bz0 by4 gw7:0 gy5 gy4 bw7:0 gz5 bz4 rx4:0 gz4 gy3:0 gx5:0 gz3:0 bx4:0 bz1 "
	"by3:0 ry4:0 bz2 rz4:0 bz3",
	"rw7:0 bz1 by4 gw7:0 by5 gy4 bw7:0 bz5 bz4 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx5:0 "
	"by3:0 ry4:0 bz2 rz4:0 bz3",
	"rw5:0 gz4 bz0 bz1 by4 gw5:0 gy5 by5 bz2 gy4 bw5:0 gz5 bz3 bz5 bz4 rx5:0 gy3:0 gx5:0 gz3:0 bx5:0 "
	"by3:0 ry5:0 rz5:0",
	BC6H_RGB "rx9:0 gx9:0 bx9:0",
	BC6H_RGB "rx8:0 rw10 gx8:0 gw10 bx8:0 bw10",
	BC6H_RGB "rx7:0 rw10:11 gx7:0 gw10:11 bx7:0 bw10:11",
	BC6H_RGB "rx3:0 rw10:15 gx3:0 gw10:15 bx3:0 bw10:15",
};

/* A field of a layout: bits `first` to `last`, `first` being stored first. */
typedef struct bc6h_field {
	uint32_t channel, end;
	int first, last;
} bc6h_field;

/* False at the end of the layout. */
static inline bool bc6h_next(const char **at, bc6h_field *out)
{
	const char *p = *at;
	while (*p == ' ')
		p++;
	if (*p == '\0')
		return false;
	out->channel = *p == 'r' ? 0 : *p == 'g' ? 1 : 2;
	out->end = (uint32_t)(p[1] - 'w');
	int number[2] = {0, 0}, count = 0;
	for (p += 2; *p != '\0' && *p != ' '; p++) {
		if (*p == ':')
			count++;
		else
			number[count] = 10 * number[count] + (*p - '0');
	}
	out->last = number[0];
	out->first = count > 0 ? number[1] : number[0];
	*at = p;
	return true;
}

/* An end as the 16 bits that are interpolated. */
static inline uint32_t bc6h_widened(uint32_t code, uint32_t bits)
{
	if (bits >= 15 || code == 0)
		return code;
	return code == (1u << bits) - 1 ? 0xFFFF : ((code << 16) + 0x8000) >> bits;
}

/* Subset of pixel i, and whether it is an anchor: its index has one bit less. */
static inline uint32_t bc6h_subset(const bc6h_mode *m, uint32_t partition, uint32_t i)
{
	return m->subsets == 2 ? bc7_partitions2[partition] >> 2 * i & 3 : 0;
}

static inline bool bc6h_is_anchor(const bc6h_mode *m, uint32_t partition, uint32_t i)
{
	return i == 0 || (m->subsets == 2 && i == bc7_anchors2[partition]);
}

#endif
