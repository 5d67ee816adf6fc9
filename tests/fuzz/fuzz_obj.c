/* The OBJ reader on any bytes, which are also the content of every material library.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_obj
 *   build/fuzz/fuzz_obj -dict=tests/fuzz/fuzz_obj.dict -max_len=4096 /tmp/found tests/fuzz/corpus/obj */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(&hob_obj_importer, (hob_bytes){data, size}, (hob_bytes){data, size});
	return 0;
}
