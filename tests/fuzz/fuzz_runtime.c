/* The runtime on any bytes: an asset that it opens must be safe to play, skin, cull and read, and if it is
 * reported as finite, computing world transforms must not trap.
 *
 * Links: hob_runtime
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_runtime
 *   build/fuzz/fuzz_runtime -max_len=65536 /tmp/found tests/fuzz/corpus/runtime
 *
 * An input is four u32 sizes (meshes, materials, scene, animations) and the files one behind the other. So
 * that inputs get past the first checks, magic, byte order, version, kind and file size of packed files are
 * corrected before opening. Seeds are made from cooked files by tests/fuzz/runtime_seed.py. */
#include "tests/unit/runtime/touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void repair(uint8_t *file, size_t size, uint32_t kind)
{
	if (size < sizeof(hob_pk_header) || memcmp(file, HOB_PK_MAGIC, 4) != 0)
		return;
	hob_pk_header *header = (hob_pk_header *)(void *)file;
	memcpy(header->magic, HOB_PK_MAGIC, sizeof header->magic);
	header->endian = HOB_PK_ENDIAN;
	header->ver_major = HOB_PK_VERSION_MAJOR;
	header->kind = kind;
	header->file_bytes = size;
}

/* Limits memory: counts in the file that need more must have been refused, or the allocation fails as an
 * error. */
static void *allocate(void *user, size_t size)
{
	(void)user;
	return size > 256u << 20 ? NULL : malloc(size);
}

static void release(void *user, void *memory)
{
	(void)user;
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t kinds[4] = {HOB_PK_KIND_MESH, HOB_PK_KIND_MATL, HOB_PK_KIND_SCNE, HOB_PK_KIND_ANIM};
	uint32_t sizes[4];
	uint8_t *copies[4];
	hob_rt_blob blobs[4];
	if (size < sizeof sizes)
		return 0;
	memcpy(sizes, data, sizeof sizes);
	size_t at = sizeof sizes;
	for (int i = 0; i < 4; i++) {
		size_t part = sizes[i] < size - at ? sizes[i] : size - at;
		copies[i] = malloc(part + 1); /* exact but for one byte: malloc(0) may be NULL */
		memcpy(copies[i], data + at, part);
		repair(copies[i], part, kinds[i]);
		blobs[i].data = copies[i];
		blobs[i].size = part;
		at += part;
	}
	const hob_rt_files files = {blobs[0], blobs[1], blobs[2], blobs[3]};
	const hob_rt_options options = {allocate, release, NULL, NULL, false};
	hob_rt_asset *asset;
	hob_rt_error error = {HOB_RT_OK, ""};
	if (hob_rt_open(&files, &options, &asset, &error)) {
		touch_asset(asset);
		hob_rt_close(asset);
	} else if (error.code == HOB_RT_OK || error.text[0] == 0) {
		abort();
	}
	for (int i = 0; i < 4; i++)
		free(copies[i]);
	return 0;
}
