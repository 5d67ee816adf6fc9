/* The reader of X3D and VRML97 on any bytes.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_x3d
 *   build/fuzz/fuzz_x3d -dict=tests/fuzz/fuzz_x3d.dict -max_len=8192 /tmp/found tests/fuzz/corpus/x3d */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(&hob_x3d_importer, (hob_bytes){data, size}, (hob_bytes){0});
	return 0;
}
