/* blocks.h - BC block compression: encoders for BC1, BC3, BC4, BC5, BC6H, BC7, and decoders for all but
 * signed BC6H.
 *
 * An encoder takes one 4x4 block of pixels, RGBA8 or for BC6H four half floats, row by row, and writes 8 or
 * 16 bytes. It is a pure function: integer arithmetic and floats without reassociation give the same bytes on
 * every machine. */
#ifndef HOB_BLOCKS_H
#define HOB_BLOCKS_H

#include "gpu_format.h"

/* The 128 bits of a block, lowest first. */
typedef struct hob_block_bits {
	uint64_t low, high;
	uint32_t at; /* of writing */
} hob_block_bits;

static inline hob_block_bits hob_block_load(const uint8_t block[16])
{
	return (hob_block_bits){hob_load_u64(block), hob_load_u64(block + 8), 0};
}

/* Takes the next `count` bits, at most 31. */
static inline uint32_t hob_block_take(hob_block_bits *b, uint32_t count)
{
	uint32_t value = (uint32_t)(b->low & ((1u << count) - 1));
	if (count > 0) {
		b->low = b->low >> count | b->high << (64 - count);
		b->high >>= count;
	}
	return value;
}

static inline void hob_block_put(hob_block_bits *b, uint32_t value, uint32_t count)
{
	if (count == 0)
		return;
	if (b->at < 64) {
		b->low |= (uint64_t)value << b->at;
		if (b->at + count > 64)
			b->high |= (uint64_t)value >> (64 - b->at);
	} else {
		b->high |= (uint64_t)value << (b->at - 64);
	}
	b->at += count;
}

static inline void hob_block_store(const hob_block_bits *b, uint8_t out[16])
{
	hob_store_u64(out, b->low);
	hob_store_u64(out + 8, b->high);
}

/* Copies decoded pixels [4][4] of `size` bytes to x, y of a picture, as far as they are in it. */
static inline void hob_block_place(const void *block, size_t size, uint32_t x, uint32_t y, uint32_t width,
								   uint32_t height, void *pixels)
{
	uint32_t across = width - x < 4 ? width - x : 4;
	for (uint32_t row = 0; row < 4 && y + row < height; row++)
		memcpy((uint8_t *)pixels + size * ((size_t)(y + row) * width + x),
			   (const uint8_t *)block + 4 * size * row, size * across);
}

/* Widens 5, 6 and 5 bits to eight. */
static inline void hob_expand_565(uint32_t c, int32_t out[3])
{
	int32_t r = (int32_t)(c >> 11), g = (int32_t)(c >> 5 & 63), b = (int32_t)(c & 31);
	out[0] = r << 3 | r >> 2;
	out[1] = g << 2 | g >> 4;
	out[2] = b << 3 | b >> 2;
}

typedef enum hob_bc_quality {
	/* BC7: mode 6; if its error is large also modes 1, or 7 and 5. BC6H: one subset. BC4: the solved ends */
	HOB_BC_FAST,
	/* BC7: modes 6 and 1 (opaque) or 6, 5 and 7 (alpha), the most promising partition, polished. BC4: ends
	 * moved by up to one step */
	HOB_BC_GOOD,
	HOB_BC_BEST /* BC7: more modes and partitions, polished until it converges */
} hob_bc_quality;

/* pixels [16][4]. BC1 ignores alpha and uses the four-colour mode, so that RGB and RGBA formats decode
 * alike. */
void hob_bc1_encode(const uint8_t pixels[64], uint8_t out[8]);
/* One channel of the pixels; BC3 and BC5 hold such a block of alpha, of R and of G. */
void hob_bc4_encode(const uint8_t pixels[64], int channel, hob_bc_quality quality, uint8_t out[8]);
void hob_bc7_encode(const uint8_t pixels[64], hob_bc_quality quality, uint8_t out[16]);
/* pixels [16][4] half floats; unsigned format. Alpha is ignored, negative values become 0. Minimises the
 * error of the halves as integers, which approximates that of the logarithm of luminance. */
void hob_bc6h_encode(const uint16_t pixels[64], hob_bc_quality quality, uint8_t out[16]);

/* Encodes rows of blocks [row_first, row_end) of a picture, RGBA8 or for BC6H four half floats a pixel;
 * pixels beyond the right and lower edge repeat the last ones. `out` is the whole level. BC4 uses R. */
void hob_bc_encode_rows(uint32_t vk_format, const void *pixels, uint32_t width, uint32_t height,
						uint32_t row_first, uint32_t row_end, hob_bc_quality quality, uint8_t *out);

/* Decodes a whole level into RGBA8 [height][width][4]. BC4 gives grey; BC5 gives B = 0; signed formats map to
 * 0..255 with 128 for 0. vk_format is BC1 to BC5 or BC7. A reserved BC7 mode gives transparent black. */
void hob_bc_decode(uint32_t vk_format, const uint8_t *blocks, uint32_t width, uint32_t height,
				   uint8_t *pixels);
/* Decodes one block of unsigned BC6H; out [16][4] half floats, alpha 1. A reserved mode decodes to black. */
void hob_bc6h_decode(const uint8_t block[16], uint16_t out[64]);

#endif
