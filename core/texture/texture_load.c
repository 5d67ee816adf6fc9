#include "texture_stages.h"

#include "../model/spec_gloss.h"

void hob_texture_resize(hob_picture *picture, hob_use use, uint32_t width, uint32_t height,
						const hob_srgb *srgb, const hob_parallel *parallel, hob_arena *arena)
{
	if (picture->width == width && picture->height == height)
		return;
	hob_mip_options options = {
		.use = use, .width = width, .height = height, .level_count = 1, .srgb = srgb, .parallel = parallel};
	hob_mips scaled = hob_mips_build(picture, &options, arena);
	picture->width = width;
	picture->height = height;
	picture->depth = scaled.is_float ? HOB_DEPTH_FLOAT : HOB_DEPTH_8;
	picture->pixels = scaled.levels[0];
}

static bool read_pixels(const hob_texture_source *source, hob_arena *arena, hob_picture *out, hob_error *err)
{
	if (source->info.format != HOB_PICTURE_RAW)
		return hob_picture_decode(source->file, arena, out, err);
	hob_picture_new(&source->info, arena, out);
	memcpy(out->pixels, source->file.data, source->file.size);
	return true;
}

/* ---- pictures made from a diffuse and a specular-glossiness picture */

static bool read_part(const hob_texture_source *part, const hob_picture_info *size, const hob_srgb *srgb,
					  const hob_parallel *parallel, hob_arena *arena, hob_picture *out, hob_error *err)
{
	if (!part)
		return true;
	if (!read_pixels(part, arena, out, err))
		return hob_fail_in(err, "picture '%.*s'", HOB_FMT(part->label));
	hob_use use = out->depth == HOB_DEPTH_FLOAT ? HOB_USE_DATA : HOB_USE_COLOR;
	hob_texture_resize(out, use, size->width, size->height, srgb, parallel, arena);
	return true;
}

/* Writes RGB in linear light, times `factor`; returns alpha as eight bits. */
static uint8_t light_of(const hob_picture *picture, size_t pixel, const float factor[3], const hob_srgb *srgb,
						float out[3])
{
	for (size_t k = 0; k < 3; k++)
		out[k] = factor[k] * (picture->pixels ? srgb->linear[hob_picture_byte(picture, 4 * pixel + k)] : 1);
	return picture->pixels ? hob_picture_byte(picture, 4 * pixel + 3) : 255;
}

static uint8_t unit_code(float value)
{
	return (uint8_t)(value * 255.0f + 0.5f);
}

typedef struct conversion {
	const hob_made_image *how;
	const hob_srgb *srgb;
	hob_picture diffuse, specular; /* no pixels: white */
	hob_picture *out;
} conversion;

static void convert_row(void *context, uint32_t row, uint32_t thread)
{
	(void)thread;
	const conversion *c = context;
	size_t width = c->out->width, first = row * width;
	for (size_t i = first; i < first + width; i++) {
		uint8_t *to = (uint8_t *)c->out->pixels + 4 * i;
		float diffuse[3], specular[3], base[3];
		uint8_t alpha = light_of(&c->diffuse, i, c->how->diffuse_factor, c->srgb, diffuse);
		uint8_t gloss = light_of(&c->specular, i, c->how->specular_factor, c->srgb, specular);
		float metallic = hob_spec_gloss_convert(diffuse, specular, base);
		if (c->how->is_metal_rough) {
			to[0] = to[3] = 255;
			to[1] = unit_code(1 - c->how->glossiness * (float)gloss / 255.0f);
			to[2] = unit_code(metallic);
		} else {
			for (int k = 0; k < 3; k++)
				to[k] = hob_srgb_code(c->srgb, base[k]);
			to[3] = alpha;
		}
	}
}

static bool make_pixels(const hob_texture_source *source, const hob_srgb *srgb, const hob_parallel *parallel,
						hob_arena *arena, hob_picture *out, hob_error *err)
{
	conversion c = {.how = source->made, .srgb = srgb, .out = out};
	if (!read_part(source->diffuse, &source->info, srgb, parallel, arena, &c.diffuse, err) ||
		!read_part(source->specular, &source->info, srgb, parallel, arena, &c.specular, err))
		return false;
	hob_picture_new(&source->info, arena, out);
	hob_parallel_for(parallel, out->height, convert_row, &c);
	return true;
}

bool hob_texture_load(const hob_texture_source *source, const hob_srgb *srgb, const hob_parallel *parallel,
					  hob_arena *arena, hob_picture *out, hob_error *err)
{
	return source->made ? make_pixels(source, srgb, parallel, arena, out, err)
						: read_pixels(source, arena, out, err);
}
