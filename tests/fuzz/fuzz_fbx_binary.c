/* Records of a binary FBX file: the first two bytes choose version and byte order, the rest follows the
 * header.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_fbx_binary
 *   build/fuzz/fuzz_fbx_binary -max_len=8192 /tmp/found tests/fuzz/corpus/fbx_binary */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = {7400, 7500, 6100, 5000, 3000, 8000, 7000, 7700};
	enum { HEADER = 27 };
	if (size < 2)
		return 0;
	uint8_t *file = malloc(HEADER + size - 2);
	if (!file)
		return 0;
	uint32_t version = versions[data[0] % HOB_COUNT_OF(versions)];
	memcpy(file, "Kaydara FBX Binary  \0\x1a", 22);
	file[22] = data[1] & 1;
	for (uint32_t i = 0; i < 4; i++)
		file[23 + i] = (uint8_t)(version >> 8 * (file[22] ? 3 - i : i));
	memcpy(file + HEADER, data + 2, size - 2);
	fuzz_reader(&hob_fbx_importer, (hob_bytes){file, HEADER + size - 2}, (hob_bytes){0});
	free(file);
	return 0;
}
