/* The 3MF reader on any bytes.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_threemf
 *   build/fuzz/fuzz_threemf -dict=tests/fuzz/fuzz_threemf.dict -max_len=8192 /tmp/found
 *   tests/fuzz/corpus/threemf */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(&hob_threemf_importer, (hob_bytes){data, size}, (hob_bytes){0});
	return 0;
}
