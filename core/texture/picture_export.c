#include "picture_export.h"

#include "../model/baked.h"
#include "ktx2.h"
#include "mips.h"
#include "normal_map.h"
#include "png_write.h"

static bool starts(hob_bytes blob, const char *magic, size_t size)
{
	return blob.size > size && memcmp(blob.data, magic, size) == 0;
}

static void narrow(hob_picture *picture, hob_arena *arena)
{
	hob_srgb *srgb = HOB_NEW(arena, hob_srgb, 1);
	hob_srgb_init(srgb);
	hob_mip_options options = {.use = HOB_USE_COLOR,
							   .width = picture->width,
							   .height = picture->height,
							   .level_count = 1,
							   .narrow = true,
							   .srgb = srgb};
	picture->pixels = hob_mips_build(picture, &options, arena).levels[0];
	picture->depth = HOB_DEPTH_8;
}

typedef struct export
{
	hob_bytes blob;
	uint32_t flags;
	hob_arena *arena;
	hob_buf *out;
}
export;

static bool write_pixels(void *context, hob_error *err)
{
	const export *e = context;
	hob_gpu_texture texture;
	hob_picture picture;
	if (!hob_ktx2_open(e->blob, &texture, err) || !hob_gpu_decode(&texture, e->arena, &picture, err))
		return false;
	size_t count = 4 * (size_t)picture.width * picture.height;
	if (picture.depth == HOB_DEPTH_FLOAT)
		narrow(&picture, e->arena);
	if (picture.depth == HOB_DEPTH_16) {
		uint8_t *bytes = hob_arena_alloc(e->arena, count, 16);
		for (size_t i = 0; i < count; i++)
			bytes[i] = hob_picture_byte(&picture, i);
		picture.pixels = bytes;
		picture.depth = HOB_DEPTH_8;
	}
	if (e->flags & HOB_IMAGE_NORMAL_XY)
		hob_normals_complete(&picture);
	const uint8_t *pixels = picture.pixels;
	bool opaque = true;
	for (size_t i = 3; i < count && opaque; i += 4)
		opaque = pixels[i] == 255;
	hob_png_write(pixels, picture.width, picture.height, opaque, e->out);
	return true;
}

bool hob_picture_export(hob_bytes blob, uint32_t flags, hob_arena *scratch, hob_buf *out, hob_error *err)
{
	if (starts(blob, "\x89PNG", 4) || starts(blob, "\xFF\xD8\xFF", 3)) {
		hob_buf_put(out, blob.data, blob.size);
		return !out->failed || hob_fail(err, MEMORY, "no memory left for a picture of %zu bytes", blob.size);
	}
	if (!starts(blob, "\xABKTX 20", 7))
		return hob_fail(err, UNSUPPORTED,
						"the texture was kept as a file that is neither PNG nor JPEG; cook it with another "
						"texture.encoding than 'source'");
	hob_arena_mark mark = hob_arena_save(scratch);
	bool ok = hob_guarded(write_pixels, &(export){blob, flags, scratch, out}, err);
	hob_arena_restore(scratch, mark);
	return ok;
}
