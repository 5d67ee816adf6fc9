/* Material libraries of any bytes; a triangle uses every material called "m".
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_mtl
 *   build/fuzz/fuzz_mtl -dict=tests/fuzz/fuzz_mtl.dict -max_len=4096 /tmp/found tests/fuzz/corpus/mtl */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char object[] = "mtllib m.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
	fuzz_reader(&hob_obj_importer, (hob_bytes){(const uint8_t *)object, sizeof object - 1},
				(hob_bytes){data, size});
	return 0;
}
