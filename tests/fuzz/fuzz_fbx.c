/* The FBX reader on any bytes, binary or ASCII as they begin.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_fbx
 *   build/fuzz/fuzz_fbx -dict=tests/fuzz/fuzz_fbx.dict -max_len=8192 /tmp/found tests/fuzz/corpus/fbx */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(&hob_fbx_importer, (hob_bytes){data, size}, (hob_bytes){0});
	return 0;
}
