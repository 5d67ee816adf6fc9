#include "usd_shade.h"

#include <math.h>

enum { HOPS = 32 };

hob_str hob_usd_shader_id(const hob_usd *u, uint32_t prim)
{
	hob_str id = hob_usd_text(hob_usd_still(u, &u->prims[prim], HOB_STR("info:id")));
	return id.len > 0 ? id
					  : hob_usd_text(
							hob_usd_still(u, &u->prims[prim], HOB_STR("info:mdl:sourceAsset:subIdentifier")));
}

const hob_usd_value *hob_usd_constant(const hob_usd_source *source)
{
	if (!source->has_value)
		return NULL;
	return source->value.samples ? &source->value.samples->values[0] : source->value.value;
}

bool hob_usd_follow(hob_usd *u, uint32_t prim, const char *property, hob_usd_source *out, hob_error *err)
{
	hob_str name = hob_str_of(property);
	*out = (hob_usd_source){.shader = HOB_NONE};
	for (int hop = 0; hop < HOPS; hop++) {
		hob_str *targets;
		uint32_t count;
		if (!hob_usd_targets(u, &u->prims[prim], name, HOB_USD_T_connectionPaths, &targets, &count, err))
			return false;
		if (count == 0) {
			/* Ignores values authored on a graph's own output. */
			out->has_value = !hob_str_starts(name, HOB_STR("outputs:")) &&
							 hob_usd_get(u, &u->prims[prim], name, &out->value);
			return true;
		}
		size_t dot = hob_str_find(targets[0], HOB_STR("."), 0);
		uint32_t next =
			hob_usd_prim_at(u, hob_str_sub(targets[0], 0, dot == SIZE_MAX ? targets[0].len : dot));
		if (next == HOB_NONE || dot == SIZE_MAX) {
			out->has_value = hob_usd_get(u, &u->prims[prim], name, &out->value);
			return true;
		}
		prim = next;
		name = hob_str_sub(targets[0], dot + 1, targets[0].len);
		if (hob_str_equal(u->prims[prim].type, HOB_STR("Shader")) &&
			hob_str_starts(name, HOB_STR("outputs:"))) {
			out->shader = prim;
			out->output = hob_str_sub(name, 8, name.len);
			return true;
		}
	}
	hob_usd_note(u, "shader-loop", "prim '%.*s': more than %d connections one behind the other",
				 HOB_FMT(u->prims[prim].path), HOPS);
	return true;
}

/* ---- textures */

static void numbers(const hob_usd_value *value, float out[4])
{
	for (uint32_t i = 0; value && i < 4 && i < value->width; i++)
		out[i] = (float)hob_usd_component(value, i);
}

static bool read_input(hob_usd *u, uint32_t shader, const char *name, float out[4], bool *given,
					   hob_error *err)
{
	hob_usd_source source;
	if (!hob_usd_follow(u, shader, name, &source, err))
		return false;
	const hob_usd_value *value = hob_usd_constant(&source);
	numbers(value, out);
	if (given)
		*given = value != NULL;
	return true;
}

static bool read_word(hob_usd *u, uint32_t shader, const char *name, hob_str *out, hob_error *err)
{
	hob_usd_source source;
	if (!hob_usd_follow(u, shader, name, &source, err))
		return false;
	*out = hob_usd_text(hob_usd_constant(&source));
	return true;
}

static bool set_of(hob_usd_build_t *b, hob_usd_look *look, hob_str name, uint32_t *out, hob_error *err)
{
	for (*out = 0; *out < look->uv_count; (*out)++)
		if (hob_str_equal(look->uv_names[*out], name))
			return true;
	if (look->uv_count == HOB_UV_SETS) {
		hob_usd_note(
			b->u, "uv-sets",
			"a material reads more than %d sets of texture coordinates; '%.*s' is taken from the first",
			HOB_UV_SETS, HOB_FMT(name));
		*out = 0;
		return true;
	}
	look->uv_names[look->uv_count] = hob_arena_str(b->u->scratch, name);
	return look->uv_names[look->uv_count++].data || hob_fail_memory(err, b->u->scratch, "a material");
}

/* Reads a UsdTransform2d: scale, rotation (degrees, counter-clockwise), then translation, from the lower left
 * corner. Hob's origin is the upper left one. */
static bool read_transform(hob_usd *u, uint32_t shader, hob_texture_ref *ref, hob_error *err)
{
	float rotation[4] = {0}, scale[4] = {1, 1}, translation[4] = {0};
	if (!read_input(u, shader, "inputs:rotation", rotation, NULL, err) ||
		!read_input(u, shader, "inputs:scale", scale, NULL, err) ||
		!read_input(u, shader, "inputs:translation", translation, NULL, err))
		return false;
	double angle = (double)rotation[0] * (3.14159265358979323846 / 180), c = cos(angle), s = sin(angle);
	ref->rotation = (float)angle;
	ref->scale[0] = scale[0], ref->scale[1] = scale[1];
	ref->offset[0] = (float)((double)translation[0] - s * (double)scale[1]);
	ref->offset[1] = (float)(1 - c * (double)scale[1] - (double)translation[1]);
	return true;
}

static bool read_coordinates(hob_usd_build_t *b, uint32_t shader, const char *input, hob_usd_look *look,
							 hob_texture_ref *ref, hob_error *err)
{
	hob_usd *u = b->u;
	hob_usd_source source;
	hob_str name = HOB_STR("st"), found;
	if (!hob_usd_follow(u, shader, input, &source, err))
		return false;
	if (source.shader != HOB_NONE &&
		hob_str_equal(hob_usd_shader_id(u, source.shader), HOB_STR("UsdTransform2d"))) {
		uint32_t transform = source.shader;
		if (!read_transform(u, transform, ref, err) ||
			!hob_usd_follow(u, transform, "inputs:in", &source, err))
			return false;
	}
	hob_str reader = source.shader != HOB_NONE ? hob_usd_shader_id(u, source.shader) : HOB_STR("");
	if (hob_str_starts(reader, HOB_STR("UsdPrimvarReader")) ||
		hob_str_starts(reader, HOB_STR("ND_UsdPrimvarReader")) ||
		hob_str_starts(reader, HOB_STR("ND_geompropvalue"))) {
		if (!read_word(u, source.shader, reader.data[3] == 'g' ? "inputs:geomprop" : "inputs:varname", &found,
					   err))
			return false;
		name = found.len > 0 ? found : name;
	}
	return set_of(b, look, name, &ref->uv_set, err);
}

static hob_wrap wrap_of(hob_str name)
{
	if (hob_str_equal(name, HOB_STR("clamp")) || hob_str_equal(name, HOB_STR("black")) ||
		hob_str_equal(name, HOB_STR("constant")))
		return HOB_WRAP_CLAMP;
	return hob_str_equal(name, HOB_STR("mirror")) ? HOB_WRAP_MIRROR : HOB_WRAP_REPEAT;
}

static bool read_sampler(hob_usd_build_t *b, uint32_t shader, const char *const inputs[2], uint32_t *out,
						 hob_error *err)
{
	hob_str wrap_s, wrap_t;
	hob_model *m = &b->model;
	if (!read_word(b->u, shader, inputs[0], &wrap_s, err) ||
		!read_word(b->u, shader, inputs[1], &wrap_t, err))
		return false;
	hob_sampler sampler = {.wrap_u = wrap_of(wrap_s), .wrap_v = wrap_of(wrap_t)};
	*out = HOB_NONE;
	if (sampler.wrap_u == HOB_WRAP_REPEAT && sampler.wrap_v == HOB_WRAP_REPEAT)
		return true;
	for (*out = 0; *out < m->sampler_count; (*out)++)
		if (m->samplers[*out].wrap_u == sampler.wrap_u && m->samplers[*out].wrap_v == sampler.wrap_v)
			return true;
	m->samplers = (hob_sampler *)hob_usd_more(b->u->scratch, m->samplers, m->sampler_count, &b->sampler_room,
											  sizeof *m->samplers);
	if (!m->samplers)
		return hob_fail_memory(err, b->u->scratch, "samplers");
	m->samplers[m->sampler_count++] = sampler;
	return true;
}

static bool read_picture(hob_usd_build_t *b, const hob_usd_source *file, uint32_t *out, hob_error *err)
{
	hob_str asset = hob_usd_text(hob_usd_constant(file));
	*out = HOB_NONE;
	if (asset.len == 0)
		return true;
	if (!hob_usd_expression(b->u, b->u->stacks[file->value.site->stack].variables, asset, &asset, err))
		return false;
	if (asset.len == 0)
		return true;
	hob_str key = hob_arena_printf(b->u->scratch, "?%u?%.*s", file->value.layer, HOB_FMT(asset));
	if (!key.data)
		return hob_fail_memory(err, b->u->scratch, "a picture");
	*out = hob_name_map_get(&b->images.by_path, key);
	if (*out != HOB_NONE)
		return true;
	hob_image picture, *image;
	if (!hob_usd_picture(b->u, file->value.layer, asset, &picture, err))
		return false;
	if (picture.path.len > 0)
		*out = hob_name_map_get(&b->images.by_path, picture.path);
	if (*out == HOB_NONE) {
		if (!hob_image_set_add(&b->images, &image, out, err))
			return false;
		*image = picture;
	}
	if (!hob_name_map_add(&b->images.by_path, key, *out, NULL) ||
		(picture.path.len > 0 && !hob_name_map_add(&b->images.by_path, picture.path, *out, NULL)))
		return hob_fail_memory(err, b->u->scratch, "a picture");
	return true;
}

bool hob_usd_asset_input(hob_usd_surface *s, const char *name, hob_texture_ref *out)
{
	hob_usd_source file;
	char property[64] = "inputs:";
	memcpy(property + 7, name, strlen(name) + 1);
	*out = (hob_texture_ref){.image = HOB_NONE, .sampler = HOB_NONE, .scale = {1, 1}};
	return hob_usd_follow(s->b->u, s->shader, property, &file, s->err) &&
		   read_picture(s->b, &file, &out->image, s->err) &&
		   (out->image == HOB_NONE || set_of(s->b, s->look, HOB_STR("st"), &out->uv_set, s->err));
}

/* ---- MaterialX: pictures, and the nodes between them and a surface */

/* Pass-through nodes, with the input that is followed. */
static const struct {
	const char *id, *input;
} passing[] = {{"ND_normalmap", "inputs:in"}, {"ND_separate", "inputs:in"}, {"ND_extract", "inputs:in"},
			   {"ND_convert", "inputs:in"},	  {"ND_swizzle", "inputs:in"},	{"ND_dot", "inputs:in"}};

static char channel_of(hob_str output, char before)
{
	/* "outg", "outy", "g" */
	static const char names[] = "rgbaxyzw", channels[] = "rgbargba";
	char last = output.len > 0 ? output.data[output.len - 1] : 0;
	const char *at = last && (output.len == 1 || (output.len == 4 && hob_str_starts(output, HOB_STR("out"))))
						 ? strchr(names, last)
						 : NULL;
	return at ? channels[at - names] : before;
}

static bool pass_on(hob_usd *u, hob_usd_source *source, hob_usd_texture *out, hob_error *err)
{
	for (int hop = 0; hop < HOPS && source->shader != HOB_NONE; hop++) {
		hob_str id = hob_usd_shader_id(u, source->shader);
		const char *input = NULL;
		for (size_t i = 0; i < HOB_COUNT_OF(passing) && !input; i++)
			input = hob_str_starts(id, hob_str_of(passing[i].id)) ? passing[i].input : NULL;
		if (!input)
			return true;
		out->channel = channel_of(source->output, out->channel);
		if (hob_str_starts(id, HOB_STR("ND_extract"))) {
			float index[4] = {0};
			if (!read_input(u, source->shader, "inputs:index", index, NULL, err))
				return false;
			out->channel = index[0] >= 0 && index[0] < 4 ? "rgba"[(int)index[0]] : 'r';
		}
		if (!hob_usd_follow(u, source->shader, input, source, err))
			return false;
	}
	return true;
}

static bool is_picture(hob_str id)
{
	return hob_str_starts(id, HOB_STR("ND_image_")) || hob_str_starts(id, HOB_STR("ND_tiledimage_")) ||
		   hob_str_starts(id, HOB_STR("ND_gltf_image")) ||
		   hob_str_starts(id, HOB_STR("ND_gltf_colorimage")) ||
		   hob_str_starts(id, HOB_STR("ND_gltf_normalmap")) ||
		   hob_str_starts(id, HOB_STR("ND_RealityKitTexture2D"));
}

static bool read_tiles(hob_usd *u, uint32_t shader, hob_texture_ref *ref, hob_error *err)
{
	float tiling[4] = {1, 1}, offset[4] = {0};
	if (!read_input(u, shader, "inputs:uvtiling", tiling, NULL, err) ||
		!read_input(u, shader, "inputs:uvoffset", offset, NULL, err))
		return false;
	if (tiling[0] == 1 && tiling[1] == 1 && offset[0] == 0 && offset[1] == 0)
		return true;
	ref->scale[0] = tiling[0], ref->scale[1] = tiling[1];
	ref->offset[0] = -offset[0];
	ref->offset[1] = 1 - tiling[1] + offset[1];
	return true;
}

static bool read_mtlx_picture(hob_usd_build_t *b, const hob_usd_source *source, hob_usd_look *look,
							  hob_usd_texture *out, hob_error *err)
{
	static const char *const wraps[] = {"inputs:uaddressmode", "inputs:vaddressmode"};
	hob_usd *u = b->u;
	hob_usd_source file;
	out->channel = channel_of(source->output, out->channel);
	return hob_usd_follow(u, source->shader, "inputs:file", &file, err) &&
		   read_picture(b, &file, &out->ref.image, err) &&
		   (out->ref.image == HOB_NONE ||
			(read_coordinates(b, source->shader, "inputs:texcoord", look, &out->ref, err) &&
			 read_tiles(u, source->shader, &out->ref, err) &&
			 read_sampler(b, source->shader, wraps, &out->ref.sampler, err)));
}

bool hob_usd_read_texture(hob_usd_build_t *b, const hob_usd_source *from, hob_usd_look *look,
						  hob_usd_texture *out, hob_error *err)
{
	static const char *const wraps[] = {"inputs:wrapS", "inputs:wrapT"};
	hob_usd_source passed = *from, *source = &passed;
	hob_usd *u = b->u;
	hob_usd_source file;
	hob_str space = HOB_STR("");
	*out = (hob_usd_texture){
		.ref = {.image = HOB_NONE, .sampler = HOB_NONE, .scale = {1, 1}},
		.scale = {1, 1, 1, 1},
		.fallback = {0, 0, 0, 1},
	};
	if (!pass_on(u, source, out, err))
		return false;
	if (source->shader == HOB_NONE)
		return true;
	hob_str id = hob_usd_shader_id(u, source->shader);
	if (is_picture(id))
		return read_mtlx_picture(b, source, look, out, err);
	if (hob_str_starts(id, HOB_STR("UsdPrimvarReader_float3")) ||
		hob_str_starts(id, HOB_STR("UsdPrimvarReader_float4")))
		return read_word(u, source->shader, "inputs:varname", &out->primvar, err);
	if (hob_str_starts(id, HOB_STR("ND_geompropvalue_color")))
		return read_word(u, source->shader, "inputs:geomprop", &out->primvar, err);
	if (!hob_str_equal(id, HOB_STR("UsdUVTexture")) && !hob_str_starts(id, HOB_STR("ND_UsdUVTexture"))) {
		if (!hob_str_starts(id, HOB_STR("UsdPrimvarReader")))
			hob_usd_note(u, "shader-unknown",
						 "shader '%.*s' of type '%.*s' is not read; its input keeps its own value",
						 HOB_FMT(u->prims[source->shader].path), HOB_FMT(id));
		return true;
	}
	if (source->output.len == 1 && strchr("rgba", source->output.data[0]))
		out->channel = source->output.data[0];
	if (!hob_usd_follow(u, source->shader, "inputs:file", &file, err) ||
		!read_input(u, source->shader, "inputs:scale", out->scale, NULL, err) ||
		!read_input(u, source->shader, "inputs:bias", out->bias, NULL, err) ||
		!read_input(u, source->shader, "inputs:fallback", out->fallback, &out->has_fallback, err) ||
		!read_word(u, source->shader, "inputs:sourceColorSpace", &space, err) ||
		!read_picture(b, &file, &out->ref.image, err))
		return false;
	out->raw = hob_str_equal(space, HOB_STR("raw"));
	return out->ref.image == HOB_NONE ||
		   (read_coordinates(b, source->shader, "inputs:st", look, &out->ref, err) &&
			read_sampler(b, source->shader, wraps, &out->ref.sampler, err));
}

hob_texture_ref hob_usd_scalar(const hob_usd_texture *texture)
{
	static const char names[] = "rgba";
	static const hob_channel_choice choices[] = {HOB_CHANNEL_R, HOB_CHANNEL_G, HOB_CHANNEL_B, HOB_CHANNEL_A};
	const char *at = texture->channel ? strchr(names, texture->channel) : NULL;
	hob_texture_ref ref = texture->ref;
	ref.channel = at ? choices[at - names] : HOB_CHANNEL_OF_SLOT;
	return ref;
}
