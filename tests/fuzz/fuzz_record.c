/* Records of cooks from other machines: a record that is read prints as the same text, and its error can be
 * shown.
 *
 * Links: srv_store srv_cook
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_record
 *   build/fuzz/fuzz_record -max_len=4096 /tmp/found tests/fuzz/corpus/record */
#include "server/cook/error_json.h"
#include "server/store/record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hob_arena arena;
	hob_error err;
	srv_record record;
	hob_str text = {(const char *)data, size};
	hob_arena_init(&arena, 64 << 20);
	if (srv_record_parse(text, &arena, &record, &err)) {
		hob_buf again = {0};
		srv_record_print(&record, &again);
		if (!hob_str_equal(hob_buf_str(&again), text))
			abort();
		hob_buf_release(&again);
		if (record.error.len > 0) {
			srv_error_of_asset(record.error, HOB_STR("town/all.merge"), &again);
			srv_error_of_asset(record.error, HOB_STR("town/duck.glb"), &again);
		}
		hob_buf_release(&again);
	}
	hob_arena_release(&arena);
	return 0;
}
