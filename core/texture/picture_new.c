#include "picture.h"

#include "../base/guard.h"

size_t hob_depth_size(hob_depth depth)
{
	return depth == HOB_DEPTH_8 ? 1 : depth == HOB_DEPTH_16 ? 2 : 4;
}

void hob_picture_new(const hob_picture_info *info, hob_arena *arena, hob_picture *out)
{
	size_t size = (size_t)info->width * info->height * 4 * hob_depth_size(info->depth);
	*out = (hob_picture){.width = info->width,
						 .height = info->height,
						 .channels = info->channels,
						 .depth = info->depth,
						 .has_alpha = info->channels % 2 == 0,
						 .pixels = hob_arena_alloc(arena, size, 64)};
	out->after = hob_arena_save(arena);
}

void hob_picture_starve(const char *what)
{
	hob_error why;
	hob_fail(&why, MEMORY, "no memory left for %s", what);
	hob_guard_raise(&why);
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

uint8_t hob_picture_luminance(const hob_picture *picture, size_t at)
{
	return (uint8_t)((77u * hob_picture_byte(picture, at) + 150u * hob_picture_byte(picture, at + 1) +
					  29u * hob_picture_byte(picture, at + 2)) >>
					 8);
}

bool hob_picture_sees_through(const hob_picture *picture)
{
	size_t count = picture->has_alpha ? 4 * (size_t)picture->width * picture->height : 0;
	for (size_t i = 3; i < count; i += 4)
		if (hob_picture_byte(picture, i) < 255)
			return true;
	return false;
}

void hob_picture_fill_alpha(hob_picture *picture)
{
	for (size_t i = 3, n = 4 * (size_t)picture->width * picture->height; i < n; i += 4)
		if (picture->depth == HOB_DEPTH_FLOAT)
			((float *)picture->pixels)[i] = 1.0f;
		else
			hob_picture_put(picture, i, 0xFFFF);
}

bool hob_picture_drop_empty_alpha(hob_picture *picture)
{
	for (size_t i = 3, n = 4 * (size_t)picture->width * picture->height; i < n; i += 4)
		if (!picture->has_alpha || ((const uint8_t *)picture->pixels)[i] != 0)
			return false;
	hob_picture_fill_alpha(picture);
	picture->has_alpha = false;
	return true;
}

uint8_t hob_masked_byte(uint32_t pixel, uint32_t mask, uint8_t missing)
{
	if (mask == 0)
		return missing;
	uint32_t shift = (uint32_t)__builtin_ctz(mask);
	return (uint8_t)((uint64_t)((pixel & mask) >> shift) * 255 / (mask >> shift));
}
