#include "texture_stages.h"

#include <math.h>

enum { CHECKER_SIDE = 64, CHECKER_CELL = 8 };

/* How steep a bump map is: a step from black to white over one pixel, as a slope. */
static const float bump_slope = 2.0f;

typedef struct input {
	hob_picture picture;
	uint32_t source; /* HOB_NONE: not loaded */
	bool missing;
} input;

static bool make_placeholder(hob_use use, bool is_color, hob_arena *arena, hob_picture *out, hob_error *err)
{
	hob_picture_info info = {
		.width = CHECKER_SIDE, .height = CHECKER_SIDE, .channels = 3, .depth = HOB_DEPTH_8};
	if (!hob_picture_new(&info, arena, out, err))
		return false;
	uint8_t *pixel = out->pixels;
	for (uint32_t i = 0; i < CHECKER_SIDE * CHECKER_SIDE; i++, pixel += 4) {
		bool odd = ((i % CHECKER_SIDE / CHECKER_CELL) ^ (i / CHECKER_SIDE / CHECKER_CELL)) & 1;
		uint8_t flat = use == HOB_USE_NORMAL ? 128 : 255;
		pixel[0] = is_color ? (odd ? 255 : 32) : flat;
		pixel[1] = is_color ? (odd ? 0 : 32) : flat;
		pixel[2] = is_color ? (odd ? 255 : 32) : 255;
		pixel[3] = 255;
	}
	return true;
}

static bool load(const hob_texture_source *source, hob_arena *arena, hob_picture *out, hob_error *err)
{
	if (source->info.format != HOB_PICTURE_RAW)
		return hob_picture_decode(source->file, arena, out, err);
	if (!hob_picture_new(&source->info, arena, out, err))
		return false;
	memcpy(out->pixels, source->file.data, source->file.size);
	return true;
}

/* Decodes each source of the recipe once. A source that cannot be had leaves `missing`. */
static bool load_inputs(const hob_texture_recipe *recipe, const hob_texture_source *sources, hob_arena *arena,
						input inputs[4], uint32_t *count, hob_compose_result *out, hob_error *err)
{
	*count = 0;
	for (int k = 0; k < 4; k++) {
		uint32_t source = recipe->in[k].source;
		bool known = source == HOB_NONE;
		for (uint32_t i = 0; i < *count; i++)
			known |= inputs[i].source == source;
		if (known)
			continue;
		input *in = &inputs[(*count)++];
		*in = (input){.source = source, .missing = !sources[source].usable};
		if (in->missing)
			continue;
		hob_error why = {0};
		if (load(&sources[source], arena, &in->picture, &why))
			continue;
		if (why.code == HOB_ERR_MEMORY) {
			if (err)
				*err = why;
			return hob_fail_in(err, "picture '%.*s'", HOB_FMT(sources[source].label));
		}
		in->missing = true;
		out->bad_source = source;
		out->bad_reason = why;
	}
	return true;
}

static const input *input_of(const input inputs[4], uint32_t count, uint32_t source)
{
	for (uint32_t i = 0; i < count; i++)
		if (inputs[i].source == source)
			return &inputs[i];
	return NULL;
}

static bool resize(hob_picture *picture, hob_use use, uint32_t width, uint32_t height, const hob_srgb *srgb,
				   const hob_parallel *parallel, hob_arena *arena, hob_error *err)
{
	if (picture->width == width && picture->height == height)
		return true;
	hob_mip_options options = {
		.use = use, .width = width, .height = height, .level_count = 1, .srgb = srgb, .parallel = parallel};
	hob_picture narrow = *picture;
	hob_mips scaled;
	if (!hob_mips_build(&narrow, &options, arena, &scaled, err))
		return false;
	picture->width = width;
	picture->height = height;
	picture->depth = scaled.is_float ? HOB_DEPTH_FLOAT : HOB_DEPTH_8;
	picture->pixels = scaled.levels[0];
	return true;
}

/* Value of a channel as eight bits. */
static uint8_t byte_of(const hob_picture *picture, size_t at)
{
	if (picture->depth == HOB_DEPTH_8)
		return ((const uint8_t *)picture->pixels)[at];
	if (picture->depth == HOB_DEPTH_16)
		return (uint8_t)(((uint32_t)((const uint16_t *)picture->pixels)[at] * 255 + 32895) >> 16);
	float v = ((const float *)picture->pixels)[at] * 255.0f + 0.5f;
	return v >= 255.0f ? 255 : v > 0.0f ? (uint8_t)v : 0;
}

/* Several pictures, or channels out of their places, into one of eight bits. */
static bool mix(const hob_texture_recipe *recipe, input inputs[4], uint32_t count, const hob_srgb *srgb,
				const hob_parallel *parallel, hob_arena *arena, hob_picture *out, hob_error *err)
{
	uint32_t width = 1, height = 1;
	for (uint32_t i = 0; i < count; i++)
		if (!inputs[i].missing) {
			width = inputs[i].picture.width > width ? inputs[i].picture.width : width;
			height = inputs[i].picture.height > height ? inputs[i].picture.height : height;
		}
	if (width == 1 && height == 1 && count > 0 && inputs[0].missing)
		width = height = CHECKER_SIDE;
	for (uint32_t i = 0; i < count; i++) {
		input *in = &inputs[i];
		bool is_color = recipe->use == HOB_USE_COLOR && recipe->in[0].source == in->source;
		if (in->missing && !make_placeholder(recipe->use, is_color, arena, &in->picture, err))
			return false;
		/* Only what is read as colour is light; a mask that becomes alpha is a number. */
		hob_use use = is_color ? HOB_USE_COLOR : HOB_USE_DATA;
		if (in->picture.depth == HOB_DEPTH_FLOAT)
			use = HOB_USE_DATA;
		if (!resize(&in->picture, use, width, height, srgb, parallel, arena, err))
			return false;
	}
	hob_picture_info info = {.width = width, .height = height, .channels = 4, .depth = HOB_DEPTH_8};
	if (!hob_picture_new(&info, arena, out, err))
		return false;
	for (uint32_t k = 0; k < 4; k++) {
		uint8_t *to = (uint8_t *)out->pixels + k;
		size_t pixels = (size_t)width * height;
		const input *in = input_of(inputs, count, recipe->in[k].source);
		hob_texture_from from = recipe->in[k].from;
		if (from == HOB_FROM_ONE || !in) {
			for (size_t i = 0; i < pixels; i++)
				to[4 * i] = 255;
			continue;
		}
		size_t channel =
			from == HOB_FROM_OPACITY ? (in->picture.has_alpha ? 3 : 0) : (size_t)(from - HOB_FROM_R);
		for (size_t i = 0; i < pixels; i++)
			to[4 * i] = byte_of(&in->picture, 4 * i + channel);
	}
	return true;
}

/* ---- bump maps */

/* True for pixels of a normal map: not grey, and mostly pointing up. */
static bool looks_like_normals(const hob_picture *picture)
{
	size_t count = (size_t)picture->width * picture->height, colored = 0, up = 0;
	if (picture->channels < 3)
		return false;
	for (size_t i = 0; i < count; i++) {
		int r = byte_of(picture, 4 * i), g = byte_of(picture, 4 * i + 1), b = byte_of(picture, 4 * i + 2);
		colored += b > r + 24 && b > g + 24;
		up += b >= 128;
	}
	return colored >= count / 2 && up >= count - count / 16;
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

/* Central differences; y points up in a normal map, rows go down. */
static bool normals_from_heights(const hob_texture_recipe *recipe, const hob_picture *heights,
								 hob_arena *arena, hob_picture *out, hob_error *err)
{
	size_t width = heights->width, height = heights->height;
	hob_picture_info info = {
		.width = heights->width, .height = heights->height, .channels = 3, .depth = HOB_DEPTH_16};
	if (!hob_picture_new(&info, arena, out, err))
		return false;
	uint16_t *to = out->pixels;
	for (size_t y = 0; y < height; y++) {
		size_t above = neighbour(y, -1, height, recipe->clamp_v),
			   below = neighbour(y, 1, height, recipe->clamp_v);
		for (size_t x = 0; x < width; x++, to += 4) {
			size_t left = neighbour(x, -1, width, recipe->clamp_u),
				   right = neighbour(x, 1, width, recipe->clamp_u);
			float slope_x = (height_at(heights, right, y) - height_at(heights, left, y)) * 0.5f * bump_slope;
			float slope_y = (height_at(heights, x, above) - height_at(heights, x, below)) * 0.5f * bump_slope;
			float length = sqrtf(slope_x * slope_x + slope_y * slope_y + 1.0f);
			to[0] = wide_of(-slope_x / length);
			to[1] = wide_of(-slope_y / length);
			to[2] = wide_of(1.0f / length);
			to[3] = 65535;
		}
	}
	return true;
}

/* A map of x and y alone has a constant blue, which read as z would point down. */
static void complete_normals(hob_picture *picture)
{
	if (picture->depth != HOB_DEPTH_8)
		return;
	uint8_t *pixels = picture->pixels;
	size_t count = (size_t)picture->width * picture->height;
	for (size_t i = 0; i < count; i++)
		if (pixels[4 * i + 2] > 2)
			return;
	for (size_t i = 0; i < count; i++) {
		float x = (float)pixels[4 * i] / 127.5f - 1.0f, y = (float)pixels[4 * i + 1] / 127.5f - 1.0f;
		float rest = 1.0f - x * x - y * y;
		pixels[4 * i + 2] = (uint8_t)((rest > 0.0f ? sqrtf(rest) : 0.0f) * 127.5f + 128.0f);
	}
}

bool hob_texture_compose(const hob_texture_recipe *recipe, const hob_texture_source *sources,
						 const hob_srgb *srgb, const hob_parallel *parallel, hob_arena *arena,
						 hob_compose_result *out, hob_error *err)
{
	input inputs[4];
	uint32_t count;
	hob_compose_result result = {.use = recipe->use, .bad_source = HOB_NONE};
	if (!load_inputs(recipe, sources, arena, inputs, &count, &result, err))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (inputs[i].missing)
			result.trouble |= HOB_TROUBLE_PLACEHOLDER;
	bool whole = hob_texture_plain_source(recipe) != HOB_NONE || recipe->bump;
	if (!whole || inputs[0].missing) {
		if (!mix(recipe, inputs, count, srgb, parallel, arena, &result.picture, err))
			return false;
	} else if (recipe->bump && !looks_like_normals(&inputs[0].picture)) {
		if (!normals_from_heights(recipe, &inputs[0].picture, arena, &result.picture, err))
			return false;
	} else {
		result.picture = inputs[0].picture;
		if (recipe->bump)
			result.trouble |= HOB_TROUBLE_BUMP_IS_NORMAL;
		if (recipe->in[3].from == HOB_FROM_ONE && result.picture.has_alpha) {
			hob_picture *p = &result.picture;
			for (size_t i = 3, n = 4 * (size_t)p->width * p->height; i < n; i += 4) {
				if (p->depth == HOB_DEPTH_8)
					((uint8_t *)p->pixels)[i] = 255;
				else if (p->depth == HOB_DEPTH_16)
					((uint16_t *)p->pixels)[i] = 65535;
				else
					((float *)p->pixels)[i] = 1.0f;
			}
		}
		if (recipe->use == HOB_USE_NORMAL)
			complete_normals(&result.picture);
	}
	*out = result;
	return true;
}
