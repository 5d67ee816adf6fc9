#include "normal_map.h"

#include <math.h>

/* Slope of a step from black to white over one pixel. */
static const float bump_slope = 2.0f;

bool hob_normals_likely(const hob_picture *picture)
{
	size_t count = (size_t)picture->width * picture->height, colored = 0, up = 0;
	if (picture->channels < 3)
		return false;
	for (size_t i = 0; i < count; i++) {
		int r = hob_picture_byte(picture, 4 * i), g = hob_picture_byte(picture, 4 * i + 1),
			b = hob_picture_byte(picture, 4 * i + 2);
		colored += b > r + 24 && b > g + 24;
		up += b >= 128;
	}
	return colored >= count / 2 && up >= count - count / 16;
}

static void slopes_at(const hob_picture *picture, size_t x, size_t y, float out[2])
{
	size_t at = 4 * (y * picture->width + x);
	float u = (float)hob_picture_byte(picture, at) / 127.5f - 1,
		  v = (float)hob_picture_byte(picture, at + 1) / 127.5f - 1;
	float z = sqrtf(fmaxf(1 - u * u - v * v, 0.04f));
	out[0] = u / z;
	out[1] = v / z;
}

bool hob_normals_flipped(const hob_picture *picture)
{
	enum { LOOKED_AT = 1 << 20 };
	static const double least = 1e-4, agree = 0.25;
	size_t width = picture->width, height = picture->height, count = 0;
	size_t step = 1 + width * height / LOOKED_AT;
	double both = 0, all = 0;
	if (!hob_normals_likely(picture))
		return false;
	for (size_t y = 1; y + 1 < height; y += step)
		for (size_t x = 1; x + 1 < width; x++, count++) {
			float left[2], right[2], above[2], below[2];
			slopes_at(picture, x - 1, y, left);
			slopes_at(picture, x + 1, y, right);
			slopes_at(picture, x, y - 1, above);
			slopes_at(picture, x, y + 1, below);
			double down = (double)(below[0] - above[0]), across = (double)(right[1] - left[1]);
			both += down * across;
			all += (down * down + across * across) / 2;
		}
	return count > 0 && all > least * (double)count && both > agree * all;
}

static float height_at(const hob_picture *picture, size_t x, size_t y)
{
	size_t at = 4 * (y * picture->width + x);
	if (picture->depth == HOB_DEPTH_8)
		return (float)((const uint8_t *)picture->pixels)[at] / 255.0f;
	if (picture->depth == HOB_DEPTH_16)
		return (float)((const uint16_t *)picture->pixels)[at] / 65535.0f;
	return ((const float *)picture->pixels)[at];
}

static size_t neighbour(size_t at, int step, size_t size, bool clamp)
{
	if (step < 0)
		return at > 0 ? at - 1 : clamp ? 0 : size - 1;
	return at + 1 < size ? at + 1 : clamp ? size - 1 : 0;
}

static uint16_t wide_of(float value)
{
	return (uint16_t)((value * 0.5f + 0.5f) * 65535.0f + 0.5f);
}

/* In a normal map y points up, but rows are stored from the top down. */
void hob_normals_from_heights(const hob_picture *heights, bool clamp_u, bool clamp_v, hob_arena *arena,
							  hob_picture *out)
{
	size_t width = heights->width, height = heights->height;
	hob_picture_info info = {
		.width = heights->width, .height = heights->height, .channels = 3, .depth = HOB_DEPTH_16};
	hob_picture_new(&info, arena, out);
	uint16_t *to = out->pixels;
	for (size_t y = 0; y < height; y++) {
		size_t above = neighbour(y, -1, height, clamp_v), below = neighbour(y, 1, height, clamp_v);
		for (size_t x = 0; x < width; x++, to += 4) {
			size_t left = neighbour(x, -1, width, clamp_u), right = neighbour(x, 1, width, clamp_u);
			float slope_x = (height_at(heights, right, y) - height_at(heights, left, y)) * 0.5f * bump_slope;
			float slope_y = (height_at(heights, x, above) - height_at(heights, x, below)) * 0.5f * bump_slope;
			float length = sqrtf(slope_x * slope_x + slope_y * slope_y + 1.0f);
			to[0] = wide_of(-slope_x / length);
			to[1] = wide_of(-slope_y / length);
			to[2] = wide_of(1.0f / length);
			to[3] = 65535;
		}
	}
}

void hob_normals_complete(hob_picture *picture)
{
	uint8_t *pixels = picture->pixels;
	for (size_t i = 0, count = (size_t)picture->width * picture->height; i < count; i++) {
		float x = (float)pixels[4 * i] / 127.5f - 1.0f, y = (float)pixels[4 * i + 1] / 127.5f - 1.0f;
		float rest = 1.0f - x * x - y * y;
		pixels[4 * i + 2] = (uint8_t)((rest > 0.0f ? sqrtf(rest) : 0.0f) * 127.5f + 128.0f);
	}
}
