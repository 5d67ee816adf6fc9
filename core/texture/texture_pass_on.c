#include "texture_stages.h"

/* What a container may be passed on as, instead of being unpacked and packed again. */
static bool fits(const hob_texture_request *request, const hob_texture_recipe *r, const hob_gpu_texture *t,
				 const hob_gpu_format *format)
{
	if (!hob_gpu_decodable(t))
		return true;
	if (request->settings.texture_encoding != HOB_TEXTURE_BC || format->codec != HOB_GPU_BC)
		return false;
	if (r->cutoff > 0.0f && t->level_count == 1)
		return false;
	if (request->settings.texture_mipmaps && t->level_count < hob_level_count(t->width, t->height) &&
		t->level_count == 1)
		return false;
	if (r->use == HOB_USE_NORMAL)
		return t->vk_format == HOB_VK_BC5_UNORM;
	/* An alpha that nobody wants would be filtered, and blended by who does not look at the material. */
	bool alpha = format->channels == 4;
	return !alpha || (r->channels & 8) || r->use == HOB_USE_DATA;
}

/* UNORM and SRGB of the same blocks follow each other, and only in the formats that have both. */
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

static bool pass_basis(const hob_texture_source *source, const hob_gpu_texture *t, hob_texture_facts *facts,
					   hob_buf *out, hob_error *err)
{
	*facts = (hob_texture_facts){t->width, t->height, t->level_count, 0, 0, HOB_IMAGE_KTX2, 0};
	hob_buf_put(out, source->file.data, source->file.size);
	return !out->failed || hob_fail(err, MEMORY, "no memory left for a texture");
}

bool hob_texture_pass_on(const hob_texture_request *request, const hob_texture_recipe *r,
						 const hob_texture_source *source, const hob_parallel *parallel, hob_arena *arena,
						 hob_texture_facts *facts, hob_buf *out, bool *done, hob_error *err)
{
	hob_gpu_texture t;
	hob_gpu_format format;
	bool opened = source->info.format == HOB_PICTURE_DDS ? hob_dds_open(source->file, &t, NULL)
														 : hob_ktx2_open(source->file, &t, NULL);
	*done = false;
	if (!opened)
		return true;
	if (t.basis) {
		*done = true;
		return pass_basis(source, &t, facts, out, err)
				   ? (facts->flags = r->use == HOB_USE_COLOR ? HOB_IMAGE_SRGB : 0, true)
				   : false;
	}
	if (!hob_gpu_format_find(t.vk_format, &format) || !fits(request, r, &t, &format))
		return true;
	uint32_t skip = 0, cap = request->settings.texture_max_size;
	while (skip + 1 < t.level_count &&
		   (hob_level_side(t.width, skip) > cap || hob_level_side(t.height, skip) > cap))
		skip++;
	uint32_t wide = hob_level_side(t.width, skip), high = hob_level_side(t.height, skip);
	/* Levels are those of the whole picture only while its sides halve evenly. */
	bool over = wide > cap || high > cap,
		 uneven = (t.width >> skip) << skip != t.width || (t.height >> skip) << skip != t.height;
	if (hob_gpu_decodable(&t) && (over || uneven || wide % 4 != 0 || high % 4 != 0))
		return true;
	hob_ktx2_source file = {.vk_format = with_transfer(t.vk_format, r->use),
							.width = wide,
							.height = high,
							.level_count = request->settings.texture_mipmaps ? t.level_count - skip : 1,
							.zstd_level = hob_texture_zstd_level(request),
							.parallel = parallel};
	for (uint32_t i = 0; i < file.level_count; i++) {
		hob_error ignored = {0};
		if (!hob_gpu_level(&t, skip + i, arena, &file.levels[i], &ignored))
			return ignored.code != HOB_ERR_MEMORY || hob_fail_memory(err, arena, "a texture level");
	}
	*facts = (hob_texture_facts){wide, high, file.level_count, file.vk_format, 0, HOB_IMAGE_KTX2, 0};
	facts->flags = r->flags | (r->use == HOB_USE_COLOR && !format.is_float ? HOB_IMAGE_SRGB : 0u) |
				   (r->use == HOB_USE_NORMAL && format.channels == 2 ? HOB_IMAGE_NORMAL_XY : 0u);
	*done = true;
	return hob_ktx2_write(&file, out, err);
}
