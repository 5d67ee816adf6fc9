#include "basis.h"

enum {
	GLOBAL_HEAD = 20,
	IMAGE_BYTES = 20,
	P_FRAME = 2,
	LENGTHS_MAX = 16384,
	CODE_MAX = 16,
	PRED_REPEAT = 256,
	PRED_REPEAT_MIN = 3,
	RUN_MIN = 3,
	RUN_LONG = 63
};

/* ---- bits and Huffman codes, lowest bit first */

typedef struct bits {
	const uint8_t *data;
	size_t size, at; /* `at`: in bits */
	bool ended;
} bits;

static uint32_t take_bit(bits *b)
{
	if (b->at >= 8 * b->size) {
		b->ended = true;
		return 0;
	}
	uint32_t bit = b->data[b->at >> 3] >> (b->at & 7) & 1;
	b->at++;
	return bit;
}

static uint32_t take(bits *b, uint32_t count)
{
	uint32_t value = 0;
	for (uint32_t i = 0; i < count; i++)
		value |= take_bit(b) << i;
	return value;
}

/* Canonical code: the number of codes of each length, and the symbols in code order. */
typedef struct code {
	uint16_t count[CODE_MAX + 1];
	uint16_t *symbols;
} code;

static bool make_code(const uint8_t *lengths, uint32_t symbol_count, code *out)
{
	uint32_t start[CODE_MAX + 2] = {0}, room = 1;
	memset(out->count, 0, sizeof out->count);
	for (uint32_t i = 0; i < symbol_count; i++)
		out->count[lengths[i]]++;
	out->count[0] = 0;
	for (uint32_t n = 1; n <= CODE_MAX; n++) {
		room = 2 * room;
		if (out->count[n] > room)
			return false;
		room -= out->count[n];
		start[n + 1] = start[n] + out->count[n];
	}
	for (uint32_t i = 0; i < symbol_count; i++)
		if (lengths[i])
			out->symbols[start[lengths[i]]++] = (uint16_t)i;
	return true;
}

/* Reads a symbol; an unassigned code marks the stream as ended. */
static uint32_t take_symbol(bits *b, const code *c)
{
	uint32_t value = 0, first = 0, index = 0;
	for (uint32_t n = 1; n <= CODE_MAX; n++) {
		value |= take_bit(b);
		uint32_t count = c->count[n];
		if (value - first < count)
			return b->ended ? 0 : c->symbols[index + (value - first)];
		index += count;
		first = (first + count) << 1;
		value <<= 1;
	}
	b->ended = true;
	return 0;
}

/* Reads code lengths, coded as in Deflate's dynamic blocks, with symbols 17 to 20 for runs. */
static bool read_lengths(bits *b, const code *c, uint8_t *lengths, uint32_t count)
{
	static const struct {
		uint8_t bits, least;
	} runs[4] = {{3, 3}, {7, 11}, {2, 3}, {7, 7}};
	uint32_t at = 0;
	while (at < count && !b->ended) {
		uint32_t symbol = take_symbol(b, c);
		if (symbol <= CODE_MAX) {
			lengths[at++] = (uint8_t)symbol;
			continue;
		}
		uint32_t run = runs[symbol - 17].least + take(b, runs[symbol - 17].bits);
		uint8_t value = symbol >= 19 && at > 0 ? lengths[at - 1] : 0;
		if (run > count - at || (symbol >= 19 && value == 0))
			return false;
		memset(lengths + at, value, run);
		at += run;
	}
	return !b->ended;
}

static bool read_code(bits *b, hob_arena *arena, code *out, hob_error *err)
{
	static const uint8_t order[21] = {17, 18, 19, 20, 0,  8, 7,	 9, 6,	10, 5,
									  11, 4,  12, 3,  13, 2, 14, 1, 15, 16};
	uint32_t count = take(b, 14), codes = take(b, 5);
	uint8_t small[21] = {0}, lengths[LENGTHS_MAX];
	uint16_t symbols[21];
	code of_lengths = {.symbols = symbols};
	out->symbols = HOB_NEW(arena, uint16_t, count + 1);
	if (codes > HOB_COUNT_OF(order))
		return hob_fail(err, CORRUPT, "a Huffman table of BasisLZ with %u lengths", codes);
	for (uint32_t i = 0; i < codes; i++)
		small[order[i]] = (uint8_t)take(b, 3);
	return (make_code(small, HOB_COUNT_OF(small), &of_lengths) &&
			read_lengths(b, &of_lengths, lengths, count) && make_code(lengths, count, out)) ||
		   hob_fail(err, CORRUPT, "a Huffman table of BasisLZ is damaged");
}

/* ---- the codebooks shared by all levels */

typedef struct endpoint {
	uint8_t color[3], table;
} endpoint;

typedef struct codebooks {
	uint32_t endpoint_count, selector_count, history_size;
	endpoint *endpoints;
	uint32_t *selectors; /* two bits per pixel */
	code predictors, deltas, selector_code, runs;
} codebooks;

static bool read_endpoints(bits b, hob_arena *arena, codebooks *out, hob_error *err)
{
	code color[3], table;
	for (int i = 0; i < 3; i++)
		if (!read_code(&b, arena, &color[i], err))
			return false;
	if (!read_code(&b, arena, &table, err))
		return false;
	uint32_t channels = take(&b, 1) ? 1 : 3;
	endpoint last = {{16, 16, 16}, 0};
	for (uint32_t i = 0; i < out->endpoint_count && !b.ended; i++) {
		last.table = (last.table + take_symbol(&b, &table)) & 7;
		for (uint32_t k = 0; k < channels; k++) {
			uint32_t model = last.color[k] <= 9 ? 0 : last.color[k] <= 21 ? 1 : 2;
			last.color[k] = (last.color[k] + take_symbol(&b, &color[model])) & 31;
		}
		if (channels == 1)
			last.color[1] = last.color[2] = last.color[0];
		out->endpoints[i] = last;
	}
	return !b.ended || hob_fail(err, TRUNCATED, "the endpoints of BasisLZ end too soon");
}

static bool read_selectors(bits b, hob_arena *arena, codebooks *out, hob_error *err)
{
	code delta = {{0}, NULL};
	if (take(&b, 2) != 0)
		return hob_fail(err, CORRUPT, "reserved bits of BasisLZ's selectors are set");
	bool raw = take(&b, 1);
	if (!raw && !read_code(&b, arena, &delta, err))
		return false;
	for (uint32_t i = 0; i < out->selector_count && !b.ended; i++) {
		uint32_t value = 0;
		for (uint32_t row = 0; row < 4; row++)
			value |= (raw || i == 0 ? take(&b, 8) : take_symbol(&b, &delta) & 255) << 8 * row;
		out->selectors[i] = raw || i == 0 ? value : value ^ out->selectors[i - 1];
	}
	return !b.ended || hob_fail(err, TRUNCATED, "the selectors of BasisLZ end too soon");
}

static bool read_books(const hob_gpu_texture *t, hob_arena *arena, codebooks *out, hob_error *err)
{
	const uint8_t *p = t->basis_global.data;
	size_t size = t->basis_global.size, images = (size_t)t->level_count * IMAGE_BYTES;
	if (size < GLOBAL_HEAD + images)
		return hob_fail(err, TRUNCATED, "%zu bytes of global data, %u levels need %zu", size, t->level_count,
						GLOBAL_HEAD + images);
	uint64_t endpoints = hob_load_u32(p + 4), selectors = hob_load_u32(p + 8), tables = hob_load_u32(p + 12);
	if (endpoints + selectors + tables > size - GLOBAL_HEAD - images)
		return hob_fail(err, TRUNCATED, "the codebooks go past the end of the global data");
	out->endpoint_count = hob_load_u16(p);
	out->selector_count = hob_load_u16(p + 2);
	out->endpoints = HOB_NEW(arena, endpoint, (size_t)out->endpoint_count + 1);
	out->selectors = HOB_NEW(arena, uint32_t, (size_t)out->selector_count + 1);
	const uint8_t *at = p + GLOBAL_HEAD + images;
	bits b = {at + endpoints + selectors, (size_t)tables, 0, false};
	if (!read_endpoints((bits){at, (size_t)endpoints, 0, false}, arena, out, err) ||
		!read_selectors((bits){at + endpoints, (size_t)selectors, 0, false}, arena, out, err) ||
		!read_code(&b, arena, &out->predictors, err) || !read_code(&b, arena, &out->deltas, err) ||
		!read_code(&b, arena, &out->selector_code, err) || !read_code(&b, arena, &out->runs, err))
		return false;
	out->history_size = take(&b, 13);
	return !b.ended || hob_fail(err, TRUNCATED, "the tables of BasisLZ end too soon");
}

/* ---- one slice */

typedef struct slice {
	const codebooks *books;
	bits bits;
	uint32_t wide, high;
	uint16_t *above;   /* [wide] endpoints of the previous row, replaced by those of the current one */
	uint8_t *below;	   /* [(wide + 1) / 2] predictors of odd rows */
	uint32_t *history; /* recent selectors; an approximate move-to-front list */
	uint32_t rover, run, repeat, last_predictors, endpoint;
} slice;

static uint32_t take_chunks(bits *b, uint32_t each)
{
	uint32_t value = 0;
	for (uint32_t shift = 0; shift < 32; shift += each) {
		uint32_t chunk = take(b, each + 1);
		value |= (chunk & ((1u << each) - 1)) << shift;
		if (!(chunk >> each))
			break;
	}
	return value;
}

static uint32_t take_predictors(slice *s)
{
	if (s->repeat > 0) {
		s->repeat--;
		return s->last_predictors;
	}
	uint32_t symbol = take_symbol(&s->bits, &s->books->predictors);
	if (symbol == PRED_REPEAT)
		s->repeat = take_chunks(&s->bits, 4) + PRED_REPEAT_MIN - 1;
	else
		s->last_predictors = symbol;
	return s->last_predictors;
}

/* Reads a block's endpoint, mostly predicted from a neighbour; false if that is missing. corner: endpoint of
 * the block above left. */
static bool take_endpoint(slice *s, uint32_t x, uint32_t y, uint32_t predictor, uint32_t corner)
{
	if ((predictor == 0 && x == 0) || (predictor == 1 && y == 0) || (predictor == 2 && (x == 0 || y == 0)))
		return false;
	if (predictor == 1)
		s->endpoint = s->above[x];
	else if (predictor == 2)
		s->endpoint = corner;
	else if (predictor == 3)
		s->endpoint += take_symbol(&s->bits, &s->books->deltas);
	if (s->endpoint >= s->books->endpoint_count)
		s->endpoint -= s->books->endpoint_count;
	return s->endpoint < s->books->endpoint_count;
}

static bool take_selector(slice *s, uint32_t *out)
{
	uint32_t count = s->books->selector_count, size = s->books->history_size, symbol = count;
	if (s->run > 0) {
		s->run--;
	} else {
		symbol = take_symbol(&s->bits, &s->books->selector_code);
		if (symbol == count + size) {
			uint32_t length = take_symbol(&s->bits, &s->books->runs);
			s->run = (length == RUN_LONG ? take_chunks(&s->bits, 7) : length) + RUN_MIN - 1;
			symbol = count;
		}
	}
	if (symbol < count) {
		*out = symbol;
		if (size > 0) {
			s->history[s->rover++] = symbol;
			s->rover = s->rover == size ? size / 2 : s->rover;
		}
		return true;
	}
	uint32_t at = symbol - count;
	if (at >= size)
		return false;
	*out = s->history[at];
	if (at > 0) {
		s->history[at] = s->history[at / 2];
		s->history[at / 2] = *out;
	}
	return *out < count;
}

static uint8_t clamp(int value)
{
	return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Writes a block: red, green and blue from the colour slice, or alpha from the second slice, whose channels
 * are equal. */
static void put_block(const hob_gpu_texture *t, const endpoint *e, uint32_t selector, uint32_t x, uint32_t y,
					  bool second, uint8_t *pixels)
{
	static const int16_t steps[8][4] = {{-8, -2, 2, 8},		  {-17, -5, 5, 17},	   {-29, -9, 9, 29},
										{-42, -13, 13, 42},	  {-60, -18, 18, 60},  {-80, -24, 24, 80},
										{-106, -33, 33, 106}, {-183, -47, 47, 183}};
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t px = 4 * x + i % 4, py = 4 * y + i / 4;
		if (px >= t->width || py >= t->height)
			continue;
		int step = steps[e->table][selector >> 2 * i & 3];
		uint8_t *to = pixels + 4 * ((size_t)py * t->width + px);
		for (uint32_t k = 0; k < 3 && !second; k++)
			to[k] = clamp((e->color[k] << 3 | e->color[k] >> 2) + step);
		if (second)
			to[3] = clamp((e->color[1] << 3 | e->color[1] >> 2) + step);
	}
}

static bool decode_slice(const hob_gpu_texture *t, const codebooks *books, hob_bytes data, bool second,
						 hob_arena *arena, uint8_t *pixels, hob_error *err)
{
	slice s = {.books = books,
			   .bits = {data.data, data.size, 0, false},
			   .wide = (t->width + 3) / 4,
			   .high = (t->height + 3) / 4,
			   .rover = books->history_size / 2};
	s.above = HOB_NEW(arena, uint16_t, s.wide);
	s.below = HOB_NEW(arena, uint8_t, (s.wide + 1) / 2);
	s.history = HOB_NEW(arena, uint32_t, (size_t)books->history_size + 1);
	for (uint32_t y = 0; y < s.high; y++) {
		uint32_t predictors = 0, corner = 0;
		for (uint32_t x = 0; x < s.wide; x++) {
			if (x % 2 == 0 && y % 2 == 0) {
				predictors = take_predictors(&s);
				s.below[x / 2] = (uint8_t)(predictors >> 4);
			} else if (x % 2 == 0) {
				predictors = s.below[x / 2];
			}
			uint32_t next_corner = s.above[x], selector = 0;
			if (!take_endpoint(&s, x, y, predictors & 3, corner) || !take_selector(&s, &selector) ||
				s.bits.ended)
				return s.bits.ended
						   ? hob_fail(err, TRUNCATED, "BasisLZ is cut off in block %u of row %u", x, y)
						   : hob_fail(err, CORRUPT,
									  "block %u of row %u of BasisLZ refers to what is not there", x, y);
			predictors >>= 2;
			corner = next_corner;
			s.above[x] = (uint16_t)s.endpoint;
			put_block(t, &books->endpoints[s.endpoint], books->selectors[selector], x, y, second, pixels);
		}
	}
	return true;
}

bool hob_etc1s_decode(const hob_gpu_texture *t, hob_bytes level, hob_arena *arena, uint8_t *pixels,
					  hob_error *err)
{
	codebooks books = {0};
	if (!read_books(t, arena, &books, err))
		return false;
	const uint8_t *image = t->basis_global.data + GLOBAL_HEAD;
	if (hob_load_u32(image) & P_FRAME)
		return hob_fail(err, UNSUPPORTED, "a frame of a video that needs the one before");
	for (uint32_t k = 0; k < 2; k++) {
		uint64_t at = hob_load_u32(image + 4 + 8 * k), size = hob_load_u32(image + 8 + 8 * k);
		if (at + size > level.size)
			return hob_fail(err, TRUNCATED,
							"a slice at byte %llu with %llu bytes goes past the end of its level",
							(unsigned long long)at, (unsigned long long)size);
		if (k == 1 && size == 0)
			for (size_t i = 0, count = (size_t)t->width * t->height; i < count; i++)
				pixels[4 * i + 3] = 255;
		else if (!decode_slice(t, &books, (hob_bytes){level.data + at, (size_t)size}, k == 1, arena, pixels,
							   err))
			return false;
	}
	return true;
}
