#include "astc.h"

#ifndef HOB_ASTC
bool hob_astc_available(void)
{
	return false;
}

hob_astc *hob_astc_open(uint32_t side, bool srgb, uint32_t channels, uint32_t quality, uint32_t threads)
{
	(void)side, (void)srgb, (void)channels, (void)quality, (void)threads;
	return NULL;
}

bool hob_astc_encode(hob_astc *astc, const uint8_t *pixels, uint32_t width, uint32_t height,
					 const hob_parallel *parallel, uint8_t *out, size_t size)
{
	(void)astc, (void)pixels, (void)width, (void)height, (void)parallel, (void)out, (void)size;
	return false;
}

void hob_astc_close(hob_astc *astc)
{
	(void)astc;
}

bool hob_astc_decode(const uint8_t *blocks, size_t size, uint32_t block_width, uint32_t block_height,
					 bool srgb, uint32_t width, uint32_t height, uint8_t *pixels)
{
	(void)blocks, (void)size, (void)block_width, (void)block_height, (void)srgb, (void)width, (void)height;
	(void)pixels;
	return false;
}
#endif
