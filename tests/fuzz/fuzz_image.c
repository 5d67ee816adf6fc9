/* Every reader of pictures on any bytes; what is accepted has all its pixels, within the limits.
 *
 * Links: hob_texture
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_image
 *   build/fuzz/fuzz_image -dict=tests/fuzz/fuzz_image.dict -max_len=4096 /tmp/found
 *   tests/fuzz/corpus/image */
#include "core/base/limits.h"
#include "core/texture/picture.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct decoding {
	hob_bytes file;
	hob_arena arena;
	hob_picture picture;
} decoding;

static bool decode(void *context, hob_error *error)
{
	decoding *d = context;
	return hob_picture_decode(d->file, &d->arena, &d->picture, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decoding d = {.file = {data, size}};
	hob_error error = {0};
	hob_arena_init(&d.arena, 64 << 20);
	if (hob_guarded(decode, &d, &error)) {
		hob_picture picture = d.picture;
		uint64_t pixels = (uint64_t)picture.width * picture.height;
		if (picture.width == 0 || picture.height == 0 || picture.width > HOB_LIMIT_IMAGE_SIDE ||
			picture.height > HOB_LIMIT_IMAGE_SIDE || pixels > HOB_LIMIT_IMAGE_PIXELS)
			abort();
		/* Reading each byte lets the sanitizer find missing memory. */
		const uint8_t *bytes = picture.pixels;
		volatile uint8_t sum = 0;
		for (uint64_t i = 0; i < pixels * 4 * hob_depth_size(picture.depth); i++)
			sum = (uint8_t)(sum + bytes[i]);
	} else if (error.code == HOB_ERR_OK || error.context[0] == 0) {
		abort();
	}
	hob_arena_release(&d.arena);
	return 0;
}
