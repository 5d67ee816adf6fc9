/* The COLLADA reader, its archive and the XML below it, on any bytes.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_collada
 *   build/fuzz/fuzz_collada -dict=tests/fuzz/fuzz_collada.dict -max_len=8192 /tmp/found
 *   tests/fuzz/corpus/collada */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(&hob_collada_importer, (hob_bytes){data, size}, (hob_bytes){0});
	return 0;
}
