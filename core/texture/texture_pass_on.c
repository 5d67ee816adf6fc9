#include "texture_stages.h"

/* Whether the format of a container's blocks suits the use. */
static bool suits(const hob_texture_request *request, const hob_texture_recipe *r, const hob_gpu_texture *t,
				  const hob_gpu_format *format)
{
	hob_gpu_codec asked = request->settings.texture_encoding == HOB_TEXTURE_BC	   ? HOB_GPU_BC
						  : request->settings.texture_encoding == HOB_TEXTURE_ASTC ? HOB_GPU_ASTC
																				   : HOB_GPU_PLAIN;
	if (asked == HOB_GPU_PLAIN || format->codec != asked || format->is_signed)
		return false;
	if (r->use == HOB_USE_NORMAL)
		return t->vk_format == HOB_VK_BC5_UNORM;
	if (r->use == HOB_USE_COLOR && format->channels < 3)
		return false;
	/* Renderers would filter an unused alpha, and those that ignore the material would blend. */
	bool alpha = format->channels == 4 && format->block_bytes == 16;
	uint32_t held = (1u << format->channels) - 1;
	return (r->channels & ~held) == 0 && (!alpha || (r->channels & 8) || r->use == HOB_USE_DATA);
}

/* The UNORM or SRGB variant of a format, which have consecutive numbers. */
static uint32_t with_transfer(uint32_t vk, hob_use use)
{
	hob_gpu_format own, next;
	bool srgb = use == HOB_USE_COLOR;
	if (!hob_gpu_format_find(vk, &own) || own.srgb == srgb || own.codec == HOB_GPU_PLAIN)
		return vk;
	uint32_t other = srgb ? vk + 1 : vk - 1;
	bool pair = hob_gpu_format_find(other, &next) && next.srgb == srgb &&
				next.block_bytes == own.block_bytes && next.channels == own.channels;
	return pair ? other : vk;
}

/* BC1 with and without its alpha bit differ only in name for users that ignore alpha. */
static uint32_t final_format(uint32_t vk, const hob_texture_recipe *r)
{
	vk = with_transfer(vk, r->use);
	bool punch = vk == HOB_VK_BC1_RGBA_UNORM || vk == HOB_VK_BC1_RGBA_SRGB;
	return punch && (r->channels & 8) == 0 ? vk - (HOB_VK_BC1_RGBA_UNORM - HOB_VK_BC1_RGB_UNORM) : vk;
}

static bool is_container(const hob_texture_source *source)
{
	return source->info.format == HOB_PICTURE_KTX2 || source->info.format == HOB_PICTURE_DDS;
}

bool hob_texture_own_blocks(const hob_texture_request *request, const hob_texture_recipe *r,
							const hob_texture_source *source, uint32_t width, uint32_t height,
							hob_arena *arena, uint32_t *vk_format, hob_bytes *level0)
{
	hob_gpu_texture t;
	hob_gpu_format format;
	if (!is_container(source) || !hob_gpu_open(source->file, &t, NULL) || t.basis ||
		!hob_gpu_format_find(t.vk_format, &format) || !suits(request, r, &t, &format))
		return false;
	uint32_t vk = final_format(t.vk_format, r);
	bool encoder = format.codec == HOB_GPU_ASTC
					   ? format.block_width == format.block_height && format.block_width <= 6
					   : vk != HOB_VK_BC1_RGBA_UNORM && vk != HOB_VK_BC1_RGBA_SRGB &&
							 vk != HOB_VK_BC2_UNORM && vk != HOB_VK_BC2_SRGB;
	if (!encoder || t.width != width || t.height != height || !hob_gpu_level(&t, 0, arena, level0, NULL))
		return false;
	*vk_format = vk;
	return true;
}

bool hob_texture_pass_on(const hob_texture_request *request, const hob_texture_recipe *r,
						 const hob_texture_source *source, const hob_parallel *parallel, hob_arena *arena,
						 hob_texture_facts *facts, hob_buf *out)
{
	hob_gpu_texture t;
	hob_gpu_format format;
	if (!is_container(source) || !hob_gpu_open(source->file, &t, NULL))
		return false;
	if (t.basis) {
		bool keep = request->settings.texture_basis == HOB_BASIS_KEEP || !hob_gpu_decodable(&t);
		if (!keep || !hob_ktx2_check(source->file, false, NULL, NULL))
			return false;
		uint32_t flags = r->use == HOB_USE_COLOR ? HOB_IMAGE_SRGB : 0;
		*facts = (hob_texture_facts){t.width, t.height, t.level_count, 0, flags, HOB_IMAGE_KTX2, 0};
		hob_buf_put(out, source->file.data, source->file.size);
		return true;
	}
	if (!hob_gpu_format_find(t.vk_format, &format) ||
		(hob_gpu_decodable(&t) && !suits(request, r, &t, &format)))
		return false;
	/* A single level is not passed on: it needs a mip chain. */
	if (hob_gpu_decodable(&t) && t.level_count == 1 && request->settings.texture_mipmaps && t.width > 1 &&
		t.height > 1)
		return false;
	uint32_t skip = 0, cap = request->settings.texture_max_size;
	while (skip + 1 < t.level_count &&
		   (hob_level_side(t.width, skip) > cap || hob_level_side(t.height, skip) > cap))
		skip++;
	uint32_t wide = hob_level_side(t.width, skip), high = hob_level_side(t.height, skip);
	/* Levels represent the whole picture only while its sides are even. */
	bool over = wide > cap || high > cap,
		 uneven = (t.width >> skip) << skip != t.width || (t.height >> skip) << skip != t.height;
	bool ragged = request->settings.texture_sides == HOB_SIDES_FOURS && format.codec == HOB_GPU_BC &&
				  (wide % 4 != 0 || high % 4 != 0);
	if (hob_gpu_decodable(&t) && (over || uneven || ragged))
		return false;
	hob_ktx2_source file = {.vk_format = final_format(t.vk_format, r),
							.width = wide,
							.height = high,
							.level_count = request->settings.texture_mipmaps ? t.level_count - skip : 1,
							.zstd_level = hob_texture_zstd_level(request),
							.parallel = parallel};
	for (uint32_t i = 0; i < file.level_count; i++)
		if (!hob_gpu_level(&t, skip + i, arena, &file.levels[i], NULL))
			return false;
	*facts = (hob_texture_facts){wide, high, file.level_count, file.vk_format, 0, HOB_IMAGE_KTX2, 0};
	facts->flags = r->flags | (r->use == HOB_USE_COLOR && !format.is_float ? HOB_IMAGE_SRGB : 0u) |
				   (r->use == HOB_USE_NORMAL && format.channels == 2 ? HOB_IMAGE_NORMAL_XY : 0u);
	hob_ktx2_write(&file, out);
	return true;
}
