#include "normal_map.h"
#include "texture_stages.h"

enum { CHECKER_SIDE = 64, CHECKER_CELL = 8 };

typedef struct input {
	hob_picture picture;
	uint32_t source;			/* HOB_NONE: not loaded */
	bool missing, sees_through; /* `sees_through`: some alpha is below 1 */
} input;

static void make_placeholder(hob_use use, bool is_color, hob_arena *arena, hob_picture *out)
{
	hob_picture_info info = {
		.width = CHECKER_SIDE, .height = CHECKER_SIDE, .channels = 3, .depth = HOB_DEPTH_8};
	hob_picture_new(&info, arena, out);
	uint8_t *pixel = out->pixels;
	for (uint32_t i = 0; i < CHECKER_SIDE * CHECKER_SIDE; i++, pixel += 4) {
		bool odd = ((i % CHECKER_SIDE / CHECKER_CELL) ^ (i / CHECKER_SIDE / CHECKER_CELL)) & 1;
		uint8_t flat = use == HOB_USE_NORMAL ? 128 : 255;
		pixel[0] = is_color ? (odd ? 255 : 32) : flat;
		pixel[1] = is_color ? (odd ? 0 : 32) : flat;
		pixel[2] = is_color ? (odd ? 255 : 32) : 255;
		pixel[3] = 255;
	}
}

/* Decodes each source of the recipe once. An unavailable source sets `missing`. */
static uint32_t load_inputs(const hob_texture_recipe *recipe, const hob_texture_source *sources,
							const hob_srgb *srgb, const hob_parallel *parallel, hob_arena *arena,
							input inputs[4], hob_compose_result *out)
{
	uint32_t count = 0;
	for (int k = 0; k < 4; k++) {
		uint32_t source = recipe->in[k].source;
		bool known = source == HOB_NONE;
		for (uint32_t i = 0; i < count; i++)
			known |= inputs[i].source == source;
		if (known)
			continue;
		input *in = &inputs[count++];
		*in = (input){.source = source, .missing = !sources[source].usable};
		if (in->missing)
			continue;
		hob_error why = {0};
		if (hob_texture_load(&sources[source], srgb, parallel, arena, &in->picture, &why))
			continue;
		in->missing = true;
		out->bad_source = source;
		out->bad_reason = why;
	}
	return count;
}

static const input *input_of(const input inputs[4], uint32_t count, uint32_t source)
{
	for (uint32_t i = 0; i < count; i++)
		if (inputs[i].source == source)
			return &inputs[i];
	return NULL;
}

/* Combines several pictures, or moved channels, into one of eight bits. */
static void mix(const hob_texture_recipe *recipe, input inputs[4], uint32_t count, const hob_srgb *srgb,
				const hob_parallel *parallel, hob_arena *arena, hob_picture *out)
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
		if (in->missing)
			make_placeholder(recipe->use, is_color, arena, &in->picture);
		in->sees_through = hob_picture_sees_through(&in->picture);
		/* Only colour channels are light; a mask packed into alpha is a number. */
		hob_use use = is_color ? HOB_USE_COLOR : HOB_USE_DATA;
		if (in->picture.depth == HOB_DEPTH_FLOAT)
			use = HOB_USE_DATA;
		hob_texture_resize(&in->picture, use, width, height, srgb, parallel, arena);
	}
	hob_picture_info info = {.width = width, .height = height, .channels = 4, .depth = HOB_DEPTH_8};
	hob_picture_new(&info, arena, out);
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
		if (from == HOB_FROM_LUMINANCE || (from == HOB_FROM_OPACITY && !in->sees_through)) {
			for (size_t i = 0; i < pixels; i++)
				to[4 * i] = hob_picture_luminance(&in->picture, 4 * i);
			continue;
		}
		size_t channel = from == HOB_FROM_OPACITY ? 3 : (size_t)(from - HOB_FROM_R);
		for (size_t i = 0; i < pixels; i++)
			to[4 * i] = hob_picture_byte(&in->picture, 4 * i + channel);
	}
}

/* Whether a normal map has only x and y: its blue is 0, and as z would point into the surface. */
static bool lacks_z(const hob_picture *picture)
{
	if (picture->depth != HOB_DEPTH_8)
		return false;
	const uint8_t *pixels = picture->pixels;
	for (size_t i = 0, count = (size_t)picture->width * picture->height; i < count; i++)
		if (pixels[4 * i + 2] > 2)
			return false;
	return true;
}

/* Whether unit vectors point into the surface; ignores black areas without triangles. */
static bool points_down(const hob_picture *picture)
{
	size_t count = (size_t)picture->width * picture->height, down = 0;
	for (size_t i = 0; i < count && picture->channels >= 3; i++) {
		float squares = 0, z = 0;
		int most = 0;
		for (size_t k = 0; k < 3; k++) {
			int code = hob_picture_byte(picture, 4 * i + k);
			z = (float)code / 127.5f - 1.0f;
			squares += z * z;
			most = code > most ? code : most;
		}
		down += z < -0.1f && squares > 0.6f && most > 16;
	}
	return down > count / 1000;
}

hob_compose_result hob_texture_compose(const hob_texture_recipe *recipe, const hob_texture_source *sources,
									   const hob_srgb *srgb, const hob_parallel *parallel, hob_arena *arena)
{
	input inputs[4];
	hob_compose_result result = {.bad_source = HOB_NONE};
	uint32_t count = load_inputs(recipe, sources, srgb, parallel, arena, inputs, &result);
	for (uint32_t i = 0; i < count; i++)
		if (inputs[i].missing)
			result.warnings |= HOB_TEXTURE_WARNING_PLACEHOLDER;
		else if (inputs[i].picture.empty_alpha)
			result.warnings |= HOB_TEXTURE_WARNING_EMPTY_ALPHA;
	bool whole = hob_texture_plain_source(recipe) != HOB_NONE || recipe->bump;
	if (!whole || inputs[0].missing) {
		mix(recipe, inputs, count, srgb, parallel, arena, &result.picture);
	} else if (recipe->bump && !hob_normals_likely(&inputs[0].picture)) {
		hob_normals_from_heights(&inputs[0].picture, recipe->clamp_u, recipe->clamp_v, arena,
								 &result.picture);
	} else {
		result.picture = inputs[0].picture;
		if (recipe->bump)
			result.warnings |= HOB_TEXTURE_WARNING_BUMP_IS_NORMAL;
		if (recipe->in[3].from == HOB_FROM_ONE && result.picture.has_alpha)
			hob_picture_fill_alpha(&result.picture);
		if (recipe->use == HOB_USE_NORMAL && lacks_z(&result.picture))
			hob_normals_complete(&result.picture);
		else if (recipe->use == HOB_USE_NORMAL && points_down(&result.picture))
			result.warnings |= HOB_TEXTURE_WARNING_BELOW;
	}
	return result;
}
