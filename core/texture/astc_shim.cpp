#include "astc.h"

#include <astcenc.h>
#include <new>

struct hob_astc {
	astcenc_context *context;
	astcenc_swizzle swizzle;
	unsigned int threads;
};

extern "C" bool hob_astc_available(void)
{
	return true;
}

extern "C" hob_astc *hob_astc_open(uint32_t side, bool srgb, uint32_t channels, uint32_t quality,
								   uint32_t threads)
{
	static const float efforts[] = {ASTCENC_PRE_FASTEST, ASTCENC_PRE_FAST, ASTCENC_PRE_MEDIUM};
	astcenc_config config;
	hob_astc *astc = new (std::nothrow)
		hob_astc{nullptr, {ASTCENC_SWZ_R, ASTCENC_SWZ_G, ASTCENC_SWZ_B, ASTCENC_SWZ_A}, threads};
	if (!astc)
		return nullptr;
	if (channels == 1)
		astc->swizzle = {ASTCENC_SWZ_R, ASTCENC_SWZ_R, ASTCENC_SWZ_R, ASTCENC_SWZ_1};
	else if ((channels & ~3u) == 0)
		astc->swizzle = {ASTCENC_SWZ_R, ASTCENC_SWZ_G, ASTCENC_SWZ_0, ASTCENC_SWZ_1};
	else if ((channels & 8) == 0)
		astc->swizzle.a = ASTCENC_SWZ_1;
	astcenc_profile profile = srgb ? ASTCENC_PRF_LDR_SRGB : ASTCENC_PRF_LDR;
	if (astcenc_config_init(profile, side, side, 1, efforts[quality], 0, &config) != ASTCENC_SUCCESS ||
		astcenc_context_alloc(&config, threads, &astc->context) != ASTCENC_SUCCESS) {
		delete astc;
		return nullptr;
	}
	return astc;
}

namespace
{
struct job {
	hob_astc *astc;
	astcenc_image image;
	uint8_t *out;
	size_t size;
	bool failed[64];
};

/* Compresses blocks until none is left; any number of threads may call it at the same time. */
void compress(void *context, uint32_t index, uint32_t)
{
	job *j = static_cast<job *>(context);
	j->failed[index] = astcenc_compress_image(j->astc->context, &j->image, &j->astc->swizzle, j->out, j->size,
											  index) != ASTCENC_SUCCESS;
}
} // namespace

extern "C" bool hob_astc_encode(hob_astc *astc, const uint8_t *pixels, uint32_t width, uint32_t height,
								const hob_parallel *parallel, uint8_t *out, size_t size)
{
	void *slice = const_cast<uint8_t *>(pixels);
	job j = {astc, {width, height, 1, ASTCENC_TYPE_U8, &slice}, out, size, {}};
	/* One thread finishes a small level before other threads would have woken. */
	bool alone = !parallel || astc->threads == 1 || size < 16 * 256;
	if (alone)
		compress(&j, 0, 0);
	else
		hob_parallel_for(parallel, astc->threads, compress, &j);
	bool ok = true;
	for (uint32_t i = 0; i < (alone ? 1 : astc->threads); i++)
		ok = ok && !j.failed[i];
	return astcenc_compress_reset(astc->context) == ASTCENC_SUCCESS && ok;
}

extern "C" void hob_astc_close(hob_astc *astc)
{
	if (!astc)
		return;
	astcenc_context_free(astc->context);
	delete astc;
}

extern "C" bool hob_astc_decode(const uint8_t *blocks, size_t size, uint32_t block_width,
								uint32_t block_height, bool srgb, uint32_t width, uint32_t height,
								uint8_t *pixels)
{
	astcenc_config config;
	astcenc_context *context;
	if (astcenc_config_init(srgb ? ASTCENC_PRF_LDR_SRGB : ASTCENC_PRF_LDR, block_width, block_height, 1,
							ASTCENC_PRE_FASTEST, ASTCENC_FLG_DECOMPRESS_ONLY, &config) != ASTCENC_SUCCESS ||
		astcenc_context_alloc(&config, 1, &context) != ASTCENC_SUCCESS)
		return false;
	void *slice = pixels;
	astcenc_image image = {width, height, 1, ASTCENC_TYPE_U8, &slice};
	const astcenc_swizzle swizzle = {ASTCENC_SWZ_R, ASTCENC_SWZ_G, ASTCENC_SWZ_B, ASTCENC_SWZ_A};
	bool ok = astcenc_decompress_image(context, blocks, size, &image, &swizzle, 0) == ASTCENC_SUCCESS;
	astcenc_context_free(context);
	return ok;
}
