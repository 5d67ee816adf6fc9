/* The IQM reader on any bytes.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_iqm
 *   build/fuzz/fuzz_iqm -max_len=8192 /tmp/found tests/fuzz/corpus/iqm */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(&hob_iqm_importer, (hob_bytes){data, size}, (hob_bytes){0});
	return 0;
}
