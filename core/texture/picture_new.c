#include "picture.h"

size_t hob_depth_size(hob_depth depth)
{
	return depth == HOB_DEPTH_8 ? 1 : depth == HOB_DEPTH_16 ? 2 : 4;
}

bool hob_picture_new(const hob_picture_info *info, hob_arena *arena, hob_picture *out, hob_error *err)
{
	size_t size = (size_t)info->width * info->height * 4 * hob_depth_size(info->depth);
	void *pixels = hob_arena_alloc(arena, size, 64);
	if (!pixels)
		return hob_fail_memory(err, arena, "a picture's pixels");
	*out = (hob_picture){info->width, info->height, info->channels, info->depth, info->channels % 2 == 0,
						 pixels,	  false};
	return true;
}

uint8_t hob_picture_byte(const hob_picture *picture, size_t at)
{
	if (picture->depth == HOB_DEPTH_8)
		return ((const uint8_t *)picture->pixels)[at];
	if (picture->depth == HOB_DEPTH_16)
		return (uint8_t)(((uint32_t)((const uint16_t *)picture->pixels)[at] * 255 + 32895) >> 16);
	float v = ((const float *)picture->pixels)[at] * 255.0f + 0.5f;
	return v >= 255.0f ? 255 : v > 0.0f ? (uint8_t)v : 0;
}
