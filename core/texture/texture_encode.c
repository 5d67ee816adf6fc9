#include "texture_stages.h"

#include "astc.h"
#include "png_write.h"

#include <assert.h>
#include <math.h>

bool hob_texture_wants_blocks(const hob_texture_request *request, const hob_texture_recipe *recipe,
							  bool is_float, uint32_t width, uint32_t height)
{
	uint32_t encoding = request->settings.texture_encoding;
	if (request->png || request->soonest || (encoding != HOB_TEXTURE_BC && encoding != HOB_TEXTURE_ASTC))
		return false;
	bool light = is_float && recipe->use == HOB_USE_COLOR;
	if (encoding == HOB_TEXTURE_ASTC && (light || !hob_astc_available()))
		return false;
	if (light && (recipe->channels & 8))
		return false;
	/* A strip or a dot of a few pixels is probably a palette. */
	return !recipe->nearest && width >= 4 && height >= 4;
}

static uint32_t bc_format(hob_use use, uint32_t channels, bool opaque, bool small)
{
	if (use == HOB_USE_NORMAL)
		return channels == 3 ? HOB_VK_BC5_UNORM : HOB_VK_BC7_UNORM;
	if (use == HOB_USE_COLOR)
		return !small ? HOB_VK_BC7_SRGB : opaque ? HOB_VK_BC1_RGB_SRGB : HOB_VK_BC3_SRGB;
	if (channels == 1)
		return HOB_VK_BC4_UNORM;
	if ((channels & ~3u) == 0)
		return HOB_VK_BC5_UNORM;
	return !small ? HOB_VK_BC7_UNORM : opaque ? HOB_VK_BC1_RGB_UNORM : HOB_VK_BC3_UNORM;
}

uint32_t hob_texture_format(const hob_texture_request *request, hob_use use, uint32_t channels, bool opaque,
							bool is_float, bool blocks)
{
	if (request->png)
		return 0;
	if (is_float)
		return blocks ? HOB_VK_BC6H_UFLOAT : HOB_VK_R16G16B16A16_SFLOAT;
	if (blocks && request->settings.texture_encoding == HOB_TEXTURE_BC)
		return bc_format(use, channels, opaque, request->settings.texture_quality == HOB_QUALITY_SMALL);
	if (blocks && use == HOB_USE_NORMAL)
		return HOB_VK_ASTC_4X4_UNORM;
	if (blocks)
		return use == HOB_USE_COLOR ? HOB_VK_ASTC_6X6_SRGB : HOB_VK_ASTC_6X6_UNORM;
	if (use == HOB_USE_COLOR)
		return HOB_VK_R8G8B8A8_SRGB;
	return channels == 1		   ? HOB_VK_R8_UNORM
		   : (channels & ~3u) == 0 ? HOB_VK_R8G8_UNORM
								   : HOB_VK_R8G8B8A8_UNORM;
}

/* `small` selects other formats, at the effort of `good`. */
hob_bc_quality hob_texture_effort(const hob_texture_request *request)
{
	static const hob_bc_quality efforts[] = {[HOB_QUALITY_FAST] = HOB_BC_FAST,
											 [HOB_QUALITY_GOOD] = HOB_BC_GOOD,
											 [HOB_QUALITY_BEST] = HOB_BC_BEST,
											 [HOB_QUALITY_SMALL] = HOB_BC_GOOD};
	return efforts[request->settings.texture_quality];
}

/* ---- one level */

typedef struct level_job {
	const void *pixels;
	uint32_t width, height, vk_format;
	hob_bc_quality quality;
	uint8_t *out;
} level_job;

enum { BLOCK_ROWS = 4 }; /* rows of blocks per task */

static void encode_rows(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	const level_job *job = context;
	uint32_t rows = (job->height + 3) / 4, first = index * BLOCK_ROWS;
	uint32_t end = first + BLOCK_ROWS < rows ? first + BLOCK_ROWS : rows;
	hob_bc_encode_rows(job->vk_format, job->pixels, job->width, job->height, first, end, job->quality,
					   job->out);
}

static void pick_channels(const uint8_t *pixels, size_t count, uint32_t channels, uint8_t *out)
{
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < channels; k++)
			out[i * channels + k] = pixels[4 * i + k];
}

/* Where the level's bytes go: those of the chain itself if the format is theirs. */
static hob_bytes room_of(const hob_mips *mips, uint32_t level, const hob_gpu_format *format, hob_arena *arena)
{
	uint32_t width = hob_level_side(mips->width, level), height = hob_level_side(mips->height, level);
	size_t size = hob_gpu_level_bytes(format, width, height);
	bool own = format->codec == HOB_GPU_PLAIN && format->channels == 4;
	return (hob_bytes){own ? mips->levels[level] : hob_arena_alloc(arena, size, 16), size};
}

static void encode_level(const hob_texture_request *request, const hob_mips *mips, uint32_t level,
						 const hob_gpu_format *format, const hob_parallel *parallel, hob_bytes out)
{
	uint32_t width = hob_level_side(mips->width, level), height = hob_level_side(mips->height, level);
	uint8_t *data = (uint8_t *)(uintptr_t)out.data;
	level_job job = {mips->levels[level], width, height, format->vk, hob_texture_effort(request), data};
	if (format->codec != HOB_GPU_PLAIN)
		hob_parallel_for(parallel, ((height + 3) / 4 + BLOCK_ROWS - 1) / BLOCK_ROWS, encode_rows, &job);
	else if (format->channels < 4)
		pick_channels(mips->levels[level], (size_t)width * height, format->channels, data);
}

static void encode_astc(const hob_texture_request *request, const hob_mips *mips,
						const hob_gpu_format *format, uint32_t channels, const hob_parallel *parallel,
						uint32_t first, const hob_bytes *levels)
{
	uint32_t threads = parallel && parallel->threads > 1 ? parallel->threads : 1;
	hob_astc *astc =
		hob_astc_open(format->block_width, format->srgb, channels, hob_texture_effort(request), threads);
	bool ok = astc != NULL;
	for (uint32_t level = first; ok && level < mips->level_count; level++)
		ok = hob_astc_encode(astc, mips->levels[level], hob_level_side(mips->width, level),
							 hob_level_side(mips->height, level), parallel,
							 (uint8_t *)(uintptr_t)levels[level].data, levels[level].size);
	hob_astc_close(astc);
	if (!ok)
		hob_picture_starve("the ASTC compressor");
}

/* The direction that a shader takes from a texel of three channels, or of two and an implied Z. */
static void direction(const uint8_t *texel, bool two, float out[3])
{
	float squares = 0;
	for (int k = 0; k < 3; k++) {
		out[k] = (float)texel[k] / 127.5f - 1.0f;
		if (two && k == 2)
			out[k] = squares < 1.0f ? sqrtf(1.0f - squares) : 0.0f;
		squares += out[k] * out[k];
	}
	for (int k = 0; k < 3 && squares > 0.0f; k++)
		out[k] /= sqrtf(squares);
}

/* Root mean square of the differences, in codes; of normals those of the directions out of the surface. */
static float error_of(const uint8_t *pixels, const uint8_t *decoded, size_t count, uint32_t channels,
					  bool normal)
{
	double sum = 0;
	uint32_t used = 0;
	for (uint32_t k = 0; k < 4; k++)
		used += channels >> k & 1;
	for (size_t i = 0; i < 4 * count; i += 4) {
		float wanted[3], found[3];
		if (normal) {
			direction(pixels + i, false, wanted);
			direction(decoded + i, channels == 3, found);
			if (wanted[2] < 0 && channels == 3)
				continue;
		}
		for (size_t k = 0; k < (normal ? 3 : 4); k++) {
			float off =
				normal ? 127.5f * (wanted[k] - found[k]) : (float)pixels[i + k] - (float)decoded[i + k];
			sum += normal || channels >> k & 1 ? off * off : 0.0f;
		}
	}
	return (float)sqrt(sum / (double)count / (normal ? 1 : used));
}

hob_bytes hob_texture_try_blocks(const hob_texture_request *request, const hob_mips *mips, hob_use use,
								 uint32_t vk_format, uint32_t channels, const hob_parallel *parallel,
								 hob_arena *arena, bool *off)
{
	enum { FEW = 256 * 256 };
	const float most_off = 1.0f;
	size_t count = (size_t)mips->width * mips->height;
	hob_gpu_format format;
	if (count > FEW || request->settings.texture_quality == HOB_QUALITY_SMALL ||
		!hob_gpu_format_find(vk_format, &format) || format.codec != HOB_GPU_BC || mips->is_float)
		return (hob_bytes){0};
	uint8_t *decoded = hob_arena_alloc(arena, 4 * count, 16);
	hob_bytes level0 = room_of(mips, 0, &format, arena);
	encode_level(request, mips, 0, &format, parallel, level0);
	hob_bc_decode(vk_format, level0.data, mips->width, mips->height, decoded);
	*off = error_of(mips->levels[0], decoded, count, channels, use == HOB_USE_NORMAL) > most_off;
	return *off ? (hob_bytes){0} : level0;
}

void hob_texture_encode(const hob_texture_request *request, const hob_mips *mips, uint32_t vk_format,
						uint32_t channels, hob_bytes level0, const hob_parallel *parallel, hob_arena *arena,
						hob_buf *out)
{
	if (vk_format == 0) {
		hob_png_write(mips->levels[0], mips->width, mips->height, mips->opaque, out);
		return;
	}
	hob_gpu_format format;
	bool known = hob_gpu_format_find(vk_format, &format);
	assert(known);
	hob_ktx2_source file = {.vk_format = vk_format,
							.width = mips->width,
							.height = mips->height,
							.level_count = mips->level_count,
							.zstd_level = hob_texture_zstd_level(request),
							.parallel = parallel};
	uint32_t first = level0.size > 0;
	file.levels[0] = level0;
	for (uint32_t level = first; level < mips->level_count; level++)
		file.levels[level] = room_of(mips, level, &format, arena);
	if (format.codec == HOB_GPU_ASTC)
		encode_astc(request, mips, &format, channels, parallel, first, file.levels);
	for (uint32_t level = first; format.codec != HOB_GPU_ASTC && level < mips->level_count; level++)
		encode_level(request, mips, level, &format, parallel, file.levels[level]);
	hob_ktx2_write(&file, out);
}

int hob_texture_zstd_level(const hob_texture_request *request)
{
	static const int levels[] = {[HOB_BC_FAST] = 1, [HOB_BC_GOOD] = 3, [HOB_BC_BEST] = 15};
	return request->settings.texture_zstd && !request->soonest ? levels[hob_texture_effort(request)] : 0;
}
