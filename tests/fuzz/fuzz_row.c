/* Damaged values of rows in index.db: an accepted value is written back equal, and no byte outside it is
 * read.
 *
 * Links: srv_store
 * Run:   fuzz_row tests/fuzz/corpus/row
 *
 * The first byte: 0 a short text, 1 the lists of a record, 2 any text that is shortened. */
#include "server/store/row.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_short(hob_str bytes, bool is_text)
{
	hob_arena arena;
	hob_buf again = {0};
	hob_str text = bytes, twice;
	hob_arena_init(&arena, 256 << 20);
	if (is_text || srv_row_take_short(bytes, &arena, &text)) {
		srv_row_put_short(text, &again);
		if (!srv_row_take_short(hob_buf_str(&again), &arena, &twice) || !hob_str_equal(text, twice))
			abort();
	}
	hob_buf_release(&again);
	hob_arena_release(&arena);
}

static void try_lists(hob_str bytes)
{
	hob_arena arena;
	hob_buf again = {0}, third = {0};
	srv_record record = {0}, twice = {0};
	hob_arena_init(&arena, 64 << 20);
	if (srv_row_take_lists(bytes, &arena, &record)) {
		srv_row_put_lists(&record, &again);
		if (!srv_row_take_lists(hob_buf_str(&again), &arena, &twice))
			abort();
		srv_row_put_lists(&twice, &third);
		if (!hob_str_equal(hob_buf_str(&again), hob_buf_str(&third)))
			abort();
	}
	hob_buf_release(&again);
	hob_buf_release(&third);
	hob_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hob_str bytes = {(const char *)data + 1, size - 1};
	if (size == 0)
		return 0;
	if (data[0] == 1)
		try_lists(bytes);
	else if (data[0] == 0 || data[0] == 2)
		try_short(bytes, data[0] == 2);
	return 0;
}
