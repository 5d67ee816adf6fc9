/* The KTX2 validator and the reader, which share no code, on any bytes: the reader must open what the
 * validator accepts completely, and levels must have the size that follows from the format.
 *
 * Links: hob_texture
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_ktx2
 *   build/fuzz/fuzz_ktx2 -max_len=4096 /tmp/found tests/fuzz/corpus/ktx2 */
#include "core/texture/ktx2.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct reading {
	const hob_gpu_texture *texture;
	uint32_t level;
	hob_arena arena;
	hob_bytes raw;
	hob_picture picture;
} reading;

static bool read_level(void *context, hob_error *error)
{
	reading *r = context;
	return hob_gpu_level(r->texture, r->level, &r->arena, &r->raw, error);
}

static bool decode(void *context, hob_error *error)
{
	reading *r = context;
	return hob_gpu_decode(r->texture, &r->arena, &r->picture, error);
}

static void read_levels(const hob_gpu_texture *t, bool valid)
{
	reading r = {.texture = t};
	hob_error error = {0};
	hob_arena_init(&r.arena, 64 << 20);
	for (r.level = 0; r.level < t->level_count; r.level++) {
		bool read = t->raw_bytes[r.level] < 32 << 20 && hob_guarded(read_level, &r, &error);
		if (valid && !t->basis && !read && error.code != HOB_ERR_MEMORY && error.code != HOB_ERR_OK)
			abort();
	}
	/* Errors in BasisLZ and UASTC data show only when it is decoded. */
	if (hob_gpu_decodable(t) && !hob_guarded(decode, &r, &error) && valid && !t->basis &&
		error.code != HOB_ERR_MEMORY)
		abort();
	hob_arena_release(&r.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hob_bytes file = {data, size};
	hob_gpu_texture t;
	hob_error error = {0};
	/* Decompressing a large level of zeros takes long and finds nothing. */
	bool small = size >= 28 && hob_load_u32(data + 20) <= 2048 && hob_load_u32(data + 24) <= 2048;
	bool valid = small && hob_ktx2_check(file, true, NULL, &error);
	bool opened = hob_ktx2_open(file, &t, &error);
	if (valid && !opened)
		abort();
	if (opened && small)
		read_levels(&t, valid);
	return 0;
}
