/* The STL reader on any bytes.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_stl
 *   build/fuzz/fuzz_stl -dict=tests/fuzz/fuzz_stl.dict -max_len=4096 /tmp/found tests/fuzz/corpus/stl */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(&hob_stl_importer, (hob_bytes){data, size}, (hob_bytes){0});
	return 0;
}
