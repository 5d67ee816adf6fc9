/* The MD2 reader on any bytes.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_md2
 *   build/fuzz/fuzz_md2 -max_len=8192 /tmp/found tests/fuzz/corpus/md2 */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(&hob_md2_importer, (hob_bytes){data, size}, (hob_bytes){0});
	return 0;
}
