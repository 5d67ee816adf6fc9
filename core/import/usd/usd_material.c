#include "usd_build.h"
#include "../shape.h"
#include "../../model/spec_gloss.h"

#include <math.h>

/* End of a chain of connections: a shader's output, or a value (on the shader or on an enclosing
 * interface). */
typedef struct hob_usd_source {
	uint32_t shader; /* prim; HOB_NONE: a value only */
	hob_str output;	 /* "rgb", "r", "result" */
	hob_usd_attribute value;
	bool has_value;
} hob_usd_source;

/* A picture, its placement, and the operations on its values. */
typedef struct hob_usd_texture {
	hob_texture_ref ref; /* image HOB_NONE: none */
	char channel;		 /* 'r' 'g' 'b' 'a', or 0 for all */
	float scale[4], bias[4], fallback[4];
	bool has_fallback;
	bool raw;		 /* colours are linear, not sRGB */
	hob_str primvar; /* point colours instead of a picture; else empty */
} hob_usd_texture;

typedef struct hob_usd_surface {
	hob_usd_build_t *b;
	uint32_t shader;
	hob_material *to;
	hob_usd_look *look;
} hob_usd_surface;

enum { HOPS = 32 };

/* A shader's "info:id", or its name in its MDL module. */
static hob_str usd_shader_id(const hob_usd *u, uint32_t prim)
{
	hob_str id = hob_usd_text(hob_usd_still(u, &u->prims[prim], HOB_STR("info:id")));
	return id.len > 0 ? id
					  : hob_usd_text(
							hob_usd_still(u, &u->prims[prim], HOB_STR("info:mdl:sourceAsset:subIdentifier")));
}

/* The value of an unconnected input, or NULL. */
static const hob_usd_value *usd_constant(const hob_usd_source *source)
{
	if (!source->has_value)
		return NULL;
	return source->value.samples ? &source->value.samples->values[0] : source->value.value;
}

/* Follows a property of a prim: "inputs:diffuseColor", "outputs:surface". */
static hob_usd_source usd_follow(hob_usd *u, uint32_t prim, const char *property)
{
	hob_str name = hob_str_of(property);
	hob_usd_source found = {.shader = HOB_NONE};
	for (int hop = 0; hop < HOPS; hop++) {
		uint32_t count;
		const hob_str *targets = hob_usd_targets(u, &u->prims[prim], name, HOB_USD_T_connectionPaths, &count);
		if (count == 0) {
			/* Ignores values authored on a graph's own output. */
			found.has_value = !hob_str_starts(name, HOB_STR("outputs:")) &&
							  hob_usd_get(u, &u->prims[prim], name, &found.value);
			return found;
		}
		size_t dot = hob_str_find(targets[0], HOB_STR("."), 0);
		uint32_t next =
			hob_usd_prim_at(u, hob_str_sub(targets[0], 0, dot == SIZE_MAX ? targets[0].len : dot));
		if (next == HOB_NONE || dot == SIZE_MAX) {
			found.has_value = hob_usd_get(u, &u->prims[prim], name, &found.value);
			return found;
		}
		prim = next;
		name = hob_str_sub(targets[0], dot + 1, targets[0].len);
		if (hob_str_equal(u->prims[prim].type, HOB_STR("Shader")) &&
			hob_str_starts(name, HOB_STR("outputs:"))) {
			found.shader = prim;
			found.output = hob_str_sub(name, 8, name.len);
			return found;
		}
	}
	hob_usd_note(u, "shader-loop", "prim '%.*s': more than %d connections one behind the other",
				 HOB_FMT(u->prims[prim].path), HOPS);
	return found;
}

/* ---- textures */

static void numbers(const hob_usd_value *value, float out[4])
{
	for (uint32_t i = 0; value && i < 4 && i < value->width; i++)
		out[i] = (float)hob_usd_component(value, i);
}

static void read_input(hob_usd *u, uint32_t shader, const char *name, float out[4], bool *given)
{
	hob_usd_source source = usd_follow(u, shader, name);
	const hob_usd_value *value = usd_constant(&source);
	numbers(value, out);
	if (given)
		*given = value != NULL;
}

static hob_str read_word(hob_usd *u, uint32_t shader, const char *name)
{
	hob_usd_source source = usd_follow(u, shader, name);
	return hob_usd_text(usd_constant(&source));
}

static uint32_t set_of(hob_usd_build_t *b, hob_usd_look *look, hob_str name)
{
	for (uint32_t i = 0; i < look->uv_count; i++)
		if (hob_str_equal(look->uv_names[i], name))
			return i;
	if (look->uv_count == HOB_UV_SETS) {
		hob_usd_note(
			b->u, "uv-sets",
			"a material reads more than %d sets of texture coordinates; '%.*s' is taken from the first",
			HOB_UV_SETS, HOB_FMT(name));
		return 0;
	}
	look->uv_names[look->uv_count] = hob_arena_str(b->u->scratch, name);
	return look->uv_count++;
}

/* Reads a UsdTransform2d: scale, rotation (degrees, counter-clockwise), then translation, from the lower left
 * corner. Hob's origin is the upper left one. */
static void read_transform(hob_usd *u, uint32_t shader, hob_texture_ref *ref)
{
	float rotation[4] = {0}, scale[4] = {1, 1}, translation[4] = {0};
	read_input(u, shader, "inputs:rotation", rotation, NULL);
	read_input(u, shader, "inputs:scale", scale, NULL);
	read_input(u, shader, "inputs:translation", translation, NULL);
	double angle = (double)rotation[0] * (3.14159265358979323846 / 180), c = cos(angle), s = sin(angle);
	ref->rotation = (float)angle;
	ref->scale[0] = scale[0], ref->scale[1] = scale[1];
	ref->offset[0] = (float)((double)translation[0] - s * (double)scale[1]);
	ref->offset[1] = (float)(1 - c * (double)scale[1] - (double)translation[1]);
}

static void read_coordinates(hob_usd_build_t *b, uint32_t shader, const char *input, hob_usd_look *look,
							 hob_texture_ref *ref)
{
	hob_usd *u = b->u;
	hob_str name = HOB_STR("st"), found;
	hob_usd_source source = usd_follow(u, shader, input);
	if (source.shader != HOB_NONE &&
		hob_str_equal(usd_shader_id(u, source.shader), HOB_STR("UsdTransform2d"))) {
		uint32_t transform = source.shader;
		read_transform(u, transform, ref);
		source = usd_follow(u, transform, "inputs:in");
	}
	hob_str reader = source.shader != HOB_NONE ? usd_shader_id(u, source.shader) : HOB_STR("");
	if (hob_str_starts(reader, HOB_STR("UsdPrimvarReader")) ||
		hob_str_starts(reader, HOB_STR("ND_UsdPrimvarReader")) ||
		hob_str_starts(reader, HOB_STR("ND_geompropvalue"))) {
		found = read_word(u, source.shader, reader.data[3] == 'g' ? "inputs:geomprop" : "inputs:varname");
		name = found.len > 0 ? found : name;
	}
	ref->uv_set = set_of(b, look, name);
}

static hob_wrap wrap_of(hob_str name)
{
	if (hob_text_is_one_of(name, HOB_WORDS("clamp", "black", "constant")))
		return HOB_WRAP_CLAMP;
	return hob_str_equal(name, HOB_STR("mirror")) ? HOB_WRAP_MIRROR : HOB_WRAP_REPEAT;
}

static uint32_t read_sampler(hob_usd_build_t *b, uint32_t shader, const char *const inputs[2])
{
	hob_model *m = &b->model;
	hob_sampler sampler = {.wrap_u = wrap_of(read_word(b->u, shader, inputs[0])),
						   .wrap_v = wrap_of(read_word(b->u, shader, inputs[1]))};
	if (sampler.wrap_u == HOB_WRAP_REPEAT && sampler.wrap_v == HOB_WRAP_REPEAT)
		return HOB_NONE;
	for (uint32_t i = 0; i < m->sampler_count; i++)
		if (m->samplers[i].wrap_u == sampler.wrap_u && m->samplers[i].wrap_v == sampler.wrap_v)
			return i;
	return HOB_USD_PUT(b->u->scratch, m->samplers, m->sampler_count, sampler);
}

static uint32_t read_picture(hob_usd_build_t *b, const hob_usd_source *file)
{
	hob_str asset = hob_usd_text(usd_constant(file));
	if (asset.len > 0)
		asset = hob_usd_expression(b->u, b->u->stacks[file->value.site->stack].variables, asset);
	if (asset.len == 0)
		return HOB_NONE;
	hob_str key = hob_arena_printf(b->u->scratch, "?%u?%.*s", file->value.layer, HOB_FMT(asset));
	uint32_t id = hob_name_map_get(&b->images.by_path, key);
	if (id != HOB_NONE)
		return id;
	hob_image picture = hob_usd_picture(b->u, file->value.layer, asset);
	if (picture.path.len > 0)
		id = hob_name_map_get(&b->images.by_path, picture.path);
	if (id == HOB_NONE)
		*hob_image_set_add(&b->images, &id) = picture;
	hob_name_map_add(&b->images.by_path, key, id);
	if (picture.path.len > 0)
		hob_name_map_add(&b->images.by_path, picture.path, id);
	return id;
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

static void pass_on(hob_usd *u, hob_usd_source *source, hob_usd_texture *out)
{
	for (int hop = 0; hop < HOPS && source->shader != HOB_NONE; hop++) {
		hob_str id = usd_shader_id(u, source->shader);
		const char *input = NULL;
		for (size_t i = 0; i < HOB_COUNT_OF(passing) && !input; i++)
			input = hob_str_starts(id, hob_str_of(passing[i].id)) ? passing[i].input : NULL;
		if (!input)
			return;
		out->channel = channel_of(source->output, out->channel);
		if (hob_str_starts(id, HOB_STR("ND_extract"))) {
			float index[4] = {0};
			read_input(u, source->shader, "inputs:index", index, NULL);
			out->channel = index[0] >= 0 && index[0] < 4 ? "rgba"[(int)index[0]] : 'r';
		}
		*source = usd_follow(u, source->shader, input);
	}
}

static bool is_picture(hob_str id)
{
	return hob_str_starts(id, HOB_STR("ND_image_")) || hob_str_starts(id, HOB_STR("ND_tiledimage_")) ||
		   hob_str_starts(id, HOB_STR("ND_gltf_image")) ||
		   hob_str_starts(id, HOB_STR("ND_gltf_colorimage")) ||
		   hob_str_starts(id, HOB_STR("ND_gltf_normalmap")) ||
		   hob_str_starts(id, HOB_STR("ND_RealityKitTexture2D"));
}

static void read_tiles(hob_usd *u, uint32_t shader, hob_texture_ref *ref)
{
	float tiling[4] = {1, 1}, offset[4] = {0};
	read_input(u, shader, "inputs:uvtiling", tiling, NULL);
	read_input(u, shader, "inputs:uvoffset", offset, NULL);
	if (tiling[0] == 1 && tiling[1] == 1 && offset[0] == 0 && offset[1] == 0)
		return;
	ref->scale[0] = tiling[0], ref->scale[1] = tiling[1];
	ref->offset[0] = -offset[0];
	ref->offset[1] = 1 - tiling[1] + offset[1];
}

static void read_mtlx_picture(hob_usd_build_t *b, const hob_usd_source *source, hob_usd_look *look,
							  hob_usd_texture *out)
{
	static const char *const wraps[] = {"inputs:uaddressmode", "inputs:vaddressmode"};
	hob_usd *u = b->u;
	out->channel = channel_of(source->output, out->channel);
	hob_usd_source file = usd_follow(u, source->shader, "inputs:file");
	out->ref.image = read_picture(b, &file);
	if (out->ref.image == HOB_NONE)
		return;
	read_coordinates(b, source->shader, "inputs:texcoord", look, &out->ref);
	read_tiles(u, source->shader, &out->ref);
	out->ref.sampler = read_sampler(b, source->shader, wraps);
}

/* The texture that is an input's source; ref.image == HOB_NONE if the source is something else. Records in
 * `look` the primvar that it reads. */
static void usd_read_texture(hob_usd_build_t *b, const hob_usd_source *from, hob_usd_look *look,
							 hob_usd_texture *out)
{
	static const char *const wraps[] = {"inputs:wrapS", "inputs:wrapT"};
	hob_usd_source passed = *from, *source = &passed;
	hob_usd *u = b->u;
	*out = (hob_usd_texture){
		.ref = {.image = HOB_NONE, .sampler = HOB_NONE, .scale = {1, 1}},
		.scale = {1, 1, 1, 1},
		.fallback = {0, 0, 0, 1},
	};
	pass_on(u, source, out);
	if (source->shader == HOB_NONE)
		return;
	hob_str id = usd_shader_id(u, source->shader);
	if (is_picture(id)) {
		read_mtlx_picture(b, source, look, out);
		return;
	}
	if (hob_str_starts(id, HOB_STR("UsdPrimvarReader_float3")) ||
		hob_str_starts(id, HOB_STR("UsdPrimvarReader_float4"))) {
		out->primvar = read_word(u, source->shader, "inputs:varname");
		return;
	}
	if (hob_str_starts(id, HOB_STR("ND_geompropvalue_color"))) {
		out->primvar = read_word(u, source->shader, "inputs:geomprop");
		return;
	}
	if (!hob_str_equal(id, HOB_STR("UsdUVTexture")) && !hob_str_starts(id, HOB_STR("ND_UsdUVTexture"))) {
		if (!hob_str_starts(id, HOB_STR("UsdPrimvarReader")))
			hob_usd_note(u, "shader-unknown",
						 "shader '%.*s' of type '%.*s' is not read; its input keeps its own value",
						 HOB_FMT(u->prims[source->shader].path), HOB_FMT(id));
		return;
	}
	if (source->output.len == 1 && strchr("rgba", source->output.data[0]))
		out->channel = source->output.data[0];
	hob_usd_source file = usd_follow(u, source->shader, "inputs:file");
	read_input(u, source->shader, "inputs:scale", out->scale, NULL);
	read_input(u, source->shader, "inputs:bias", out->bias, NULL);
	read_input(u, source->shader, "inputs:fallback", out->fallback, &out->has_fallback);
	hob_str space = read_word(u, source->shader, "inputs:sourceColorSpace");
	out->ref.image = read_picture(b, &file);
	out->raw = hob_str_equal(space, HOB_STR("raw"));
	if (out->ref.image == HOB_NONE)
		return;
	read_coordinates(b, source->shader, "inputs:st", look, &out->ref);
	out->ref.sampler = read_sampler(b, source->shader, wraps);
}

/* Texture of a scalar, with its channel. */
static hob_texture_ref usd_scalar(const hob_usd_texture *texture)
{
	static const char names[] = "rgba";
	static const hob_channel_choice choices[] = {HOB_CHANNEL_R, HOB_CHANNEL_G, HOB_CHANNEL_B, HOB_CHANNEL_A};
	const char *at = texture->channel ? strchr(names, texture->channel) : NULL;
	hob_texture_ref ref = texture->ref;
	ref.channel = at ? choices[at - names] : HOB_CHANNEL_OF_SLOT;
	return ref;
}

/* ---- which material */

enum { COLLECTIONS_MAX = 16 };

static hob_str binding_at(hob_usd *u, const hob_usd_prim *prim, hob_str name, uint32_t wanted, bool *stronger)
{
	uint32_t count;
	const hob_str *targets = hob_usd_targets(u, prim, name, HOB_USD_T_targetPaths, &count);
	/* A binding must have exactly one target. */
	uint32_t bound = count == wanted + 1 ? hob_usd_prim_at(u, targets[wanted]) : HOB_NONE;
	*stronger = hob_str_equal(hob_usd_text(hob_usd_meta(u, prim, name, HOB_USD_T_bindMaterialAs)),
							  HOB_STR("strongerThanDescendants"));
	bool found = bound != HOB_NONE && hob_str_equal(u->prims[bound].type, HOB_STR("Material"));
	return found ? targets[wanted] : HOB_STR("");
}

/* Length of the longest path that contains `path` in a collection's includes or excludes; 0: none. */
static size_t named_by(hob_usd *u, const hob_usd_prim *owner, hob_str name, const char *what,
					   bool only_itself, hob_str path)
{
	hob_str property = hob_arena_printf(u->scratch, "%.*s:%s", HOB_FMT(name), what);
	uint32_t count;
	size_t longest = 0;
	const hob_str *targets = hob_usd_targets(u, owner, property, HOB_USD_T_targetPaths, &count);
	for (uint32_t i = 0; i < count; i++) {
		bool fits = only_itself ? hob_str_equal(path, targets[i]) : hob_usd_path_below(path, targets[i]);
		longest = fits && targets[i].len > longest ? targets[i].len : longest;
	}
	return longest;
}

/* Whether a collection, "/R.collection:NAME", contains the prim; nested collections are followed. */
static bool holds(hob_usd *u, hob_str collection, hob_str path, uint32_t depth)
{
	size_t dot = hob_str_find(collection, HOB_STR("."), 0);
	uint32_t id = dot == SIZE_MAX ? HOB_NONE : hob_usd_prim_at(u, hob_str_sub(collection, 0, dot));
	if (id == HOB_NONE || depth > COLLECTIONS_MAX)
		return false;
	const hob_usd_prim *owner = &u->prims[id];
	hob_str name = hob_str_sub(collection, dot + 1, collection.len);
	hob_str rule = hob_arena_printf(u->scratch, "%.*s:expansionRule", HOB_FMT(name));
	hob_str root = hob_arena_printf(u->scratch, "%.*s:includeRoot", HOB_FMT(name));
	hob_str list = hob_arena_printf(u->scratch, "%.*s:includes", HOB_FMT(name));
	uint32_t count;
	bool only = hob_str_equal(hob_usd_text(hob_usd_still(u, owner, rule)), HOB_STR("explicitOnly"));
	size_t included = named_by(u, owner, name, "includes", only, path);
	size_t excluded = named_by(u, owner, name, "excludes", false, path);
	bool all = hob_usd_number(hob_usd_still(u, owner, root), 0) > 0;
	if (included > excluded || (all && excluded == 0))
		return true;
	if (excluded > 0)
		return false;
	const hob_str *targets = hob_usd_targets(u, owner, list, HOB_USD_T_targetPaths, &count);
	for (uint32_t i = 0; i < count; i++)
		if (hob_str_find(targets[i], HOB_STR(".collection:"), 0) != SIZE_MAX &&
			holds(u, targets[i], path, depth + 1))
			return true;
	return false;
}

/* The material of the prim's first collection that contains `path`. `purpose`: "", or "preview:" or
 * "full:". */
static hob_str collection_binding(hob_usd *u, const hob_usd_prim *prim, const char *purpose, hob_str path,
								  bool *stronger)
{
	char prefix[64] = "material:binding:collection:";
	hob_str found = HOB_STR("");
	uint32_t count, target_count;
	memcpy(prefix + strlen(prefix), purpose, strlen(purpose) + 1);
	const hob_str *names = hob_usd_properties(u, prim, hob_str_of(prefix), &count);
	for (uint32_t i = 0; i < count && found.len == 0; i++) {
		/* Without a purpose, the prefix is followed by a name only. */
		if (hob_str_find(names[i], HOB_STR(":"), strlen(prefix)) != SIZE_MAX)
			continue;
		const hob_str *targets = hob_usd_targets(u, prim, names[i], HOB_USD_T_targetPaths, &target_count);
		if (target_count == 2 && holds(u, targets[0], path, 0))
			found = binding_at(u, prim, names[i], 1, stronger);
	}
	return found;
}

/* The nearest binding counts, unless an ancestor's is marked as stronger; a collection precedes the prim's
 * own binding. Source: UsdShadeMaterialBindingAPI. */
hob_str hob_usd_binding(hob_usd *u, uint32_t prim)
{
	static const struct {
		const char *name, *purpose;
	} kinds[] = {{"material:binding:preview", "preview:"},
				 {"material:binding", ""},
				 {"material:binding:full", "full:"}};
	hob_str binding = HOB_STR("");
	for (size_t i = 0; i < HOB_COUNT_OF(kinds) && binding.len == 0; i++)
		for (uint32_t p = prim; p != HOB_NONE; p = u->prims[p].parent) {
			bool stronger = false;
			hob_str found =
				collection_binding(u, &u->prims[p], kinds[i].purpose, u->prims[prim].path, &stronger);
			if (found.len == 0)
				found = binding_at(u, &u->prims[p], hob_str_of(kinds[i].name), 0, &stronger);
			if (found.len > 0 && (binding.len == 0 || stronger))
				binding = found;
		}
	return binding;
}

/* ---- UsdPreviewSurface */

static hob_usd_source open_input(hob_usd_surface *s, const char *name)
{
	char property[64] = "inputs:";
	memcpy(property + 7, name, strlen(name) + 1);
	return usd_follow(s->b->u, s->shader, property);
}

/* An input, unless `name` is NULL: its number(s) in `out`, and its texture, for which the number is a
 * multiplier, 1 by default. */
static hob_usd_texture input(hob_usd_surface *s, const char *name, float *out, uint32_t width)
{
	hob_usd_texture texture = {.ref.image = HOB_NONE};
	if (!name)
		return texture;
	hob_usd_source source = open_input(s, name);
	usd_read_texture(s->b, &source, s->look, &texture);
	const hob_usd_value *value = usd_constant(&source);
	for (uint32_t i = 0; value && i < width && i < value->width; i++) {
		double number = hob_usd_component(value, i);
		if (isfinite(number))
			out[i] = (float)number;
	}
	if (source.shader == HOB_NONE || texture.ref.image != HOB_NONE)
		return texture;
	static const char channels[] = "rgba";
	const char *one = width == 1 && texture.channel ? strchr(channels, texture.channel) : NULL;
	for (uint32_t i = 0; texture.has_fallback && i < width; i++)
		out[i] = texture.fallback[one ? (uint32_t)(one - channels) : i];
	return texture;
}

/* If the base colour is a primvar of the points, stores its name in the look and sets `out` to white. */
static void usd_surface_colors(hob_usd_surface *s, const hob_usd_texture *color, float *out)
{
	if (color->primvar.len == 0)
		return;
	s->look->color_name = hob_arena_str(s->b->u->scratch, color->primvar);
	out[0] = out[1] = out[2] = 1;
}

static void note_bias(hob_usd_surface *s, const char *what, const hob_usd_texture *t)
{
	for (int i = 0; i < 4; i++)
		if (fabsf(t->bias[i]) > 1e-6f) {
			hob_usd_note(s->b->u, "bias", "material '%.*s': the bias of its %s texture is left out",
						 HOB_FMT(s->to->name), what);
			return;
		}
}

static void note_color(hob_usd_surface *s, const char *what, const hob_usd_texture *t)
{
	note_bias(s, what, t);
	if (t->raw)
		hob_usd_note(s->b->u, "color-space", "material '%.*s': its %s texture says 'raw'; it is read as sRGB",
					 HOB_FMT(s->to->name), what);
}

/* Clamps to 0..1; NaN becomes 0. */
static float usd_unit(float value)
{
	return value > 0 ? value < 1 ? value : 1 : 0;
}

static float scale_of(const hob_usd_texture *t)
{
	return usd_unit(t->scale[t->channel == 'g' ? 1 : t->channel == 'b' ? 2 : t->channel == 'a' ? 3 : 0]);
}

static void read_base(hob_usd_surface *s, bool specular_workflow)
{
	hob_material *m = s->to;
	float diffuse[3] = {0.18f, 0.18f, 0.18f}, alpha = 1, threshold[1] = {0}, specular[3] = {0};
	hob_usd_texture color = input(s, "diffuseColor", diffuse, 3);
	hob_usd_texture opacity = input(s, "opacity", &alpha, 1);
	input(s, "opacityThreshold", threshold, 1);
	bool textured = color.ref.image != HOB_NONE, masks = opacity.ref.image != HOB_NONE;
	usd_surface_colors(s, &color, diffuse);
	if (textured) {
		memcpy(diffuse, color.scale, sizeof diffuse);
		m->slots[HOB_SLOT_BASE_COLOR] = color.ref;
		note_color(s, "diffuse", &color);
	}
	if (masks) {
		alpha = scale_of(&opacity);
		if (!textured || opacity.ref.image != color.ref.image || opacity.channel != 'a')
			m->slots[HOB_SLOT_OPACITY] = usd_scalar(&opacity);
	}
	for (int i = 0; i < 3; i++)
		m->base_color[i] = usd_unit(diffuse[i]);
	m->base_color[3] = usd_unit(alpha);
	if (threshold[0] > 0) {
		m->alpha_mode = HOB_ALPHA_MASK;
		m->alpha_cutoff = usd_unit(threshold[0]);
	} else if (masks || alpha < 1) {
		m->alpha_mode = HOB_ALPHA_BLEND;
	}
	if (!specular_workflow)
		return;
	hob_usd_texture shine = input(s, "specularColor", specular, 3);
	if (textured || shine.ref.image != HOB_NONE) {
		hob_usd_note(s->b->u, "specular", "material '%.*s': the specular part of its textures is left out",
					 HOB_FMT(m->name));
		return;
	}
	float base[3];
	m->metallic = hob_spec_gloss_convert(m->base_color, specular, base);
	memcpy(m->base_color, base, sizeof base);
}

static bool same_picture(const hob_texture_ref *a, const hob_texture_ref *b)
{
	return a->image == b->image && a->sampler == b->sampler && a->uv_set == b->uv_set &&
		   a->offset[0] == b->offset[0] && a->offset[1] == b->offset[1] && a->scale[0] == b->scale[0] &&
		   a->scale[1] == b->scale[1] && a->rotation == b->rotation;
}

static void one_channel(hob_usd_surface *s, const char *what, const hob_usd_texture *t, hob_slot slot)
{
	bool any = slot == HOB_SLOT_ROUGHNESS || slot == HOB_SLOT_METALLIC;
	if (!any && t->channel != 0 && t->channel != 'r')
		hob_usd_info(s->b->u, "channel",
					 "material '%.*s': its %s texture is read from the channel 'r', not '%c'",
					 HOB_FMT(s->to->name), what, t->channel);
	s->to->slots[slot] = any ? usd_scalar(t) : t->ref;
	note_bias(s, what, t);
}

static void read_rough_metal(hob_usd_surface *s, bool specular_workflow)
{
	hob_material *m = s->to;
	float roughness = 0.5f, metallic = 0;
	hob_usd_texture rough = input(s, "roughness", &roughness, 1);
	hob_usd_texture metal = input(s, "metallic", &metallic, 1);
	bool has_rough = rough.ref.image != HOB_NONE,
		 has_metal = metal.ref.image != HOB_NONE && !specular_workflow;
	m->roughness = has_rough ? scale_of(&rough) : usd_unit(roughness);
	if (!specular_workflow)
		m->metallic = has_metal ? scale_of(&metal) : usd_unit(metallic);
	bool packed =
		has_rough && rough.channel == 'g' &&
		(has_metal ? metal.channel == 'b' && same_picture(&rough.ref, &metal.ref) : m->metallic == 0);
	if (packed) {
		m->slots[HOB_SLOT_METAL_ROUGH] = rough.ref;
		return;
	}
	if (has_rough)
		one_channel(s, "roughness", &rough, HOB_SLOT_ROUGHNESS);
	if (has_metal)
		one_channel(s, "metallic", &metal, HOB_SLOT_METALLIC);
}

static void read_normal(hob_usd_surface *s)
{
	float unused[3] = {0};
	hob_usd_texture t = input(s, "normal", unused, 3);
	if (t.ref.image == HOB_NONE)
		return;
	s->to->slots[HOB_SLOT_NORMAL] = t.ref;
	bool stated = t.scale[0] != 1 || t.bias[0] != 0;
	if (stated && t.scale[0] > 0)
		s->to->normal_scale = t.scale[0] / 2;
	if (stated && t.scale[1] < 0)
		hob_usd_note(s->b->u, "normal-flipped",
					 "material '%.*s': the green of its normal map points down; it is read as if up",
					 HOB_FMT(s->to->name));
}

static void read_rest(hob_usd_surface *s)
{
	hob_material *m = s->to;
	float occlusion = 1, displacement = 0, rough = 0.01f;
	m->ior = 1.5f;
	hob_usd_texture t = input(s, "emissiveColor", m->emissive, 3);
	if (t.ref.image != HOB_NONE) {
		m->slots[HOB_SLOT_EMISSIVE] = t.ref;
		memcpy(m->emissive, t.scale, sizeof m->emissive);
		note_color(s, "emissive", &t);
	}
	for (int i = 0; i < 3; i++)
		m->emissive[i] = m->emissive[i] > 0 ? m->emissive[i] : 0;
	t = input(s, "occlusion", &occlusion, 1);
	if (t.ref.image != HOB_NONE)
		one_channel(s, "occlusion", &t, HOB_SLOT_OCCLUSION);
	input(s, "ior", &m->ior, 1);
	hob_usd_texture coat = input(s, "clearcoat", &m->clearcoat, 1);
	hob_usd_texture coat_rough = input(s, "clearcoatRoughness", &rough, 1);
	t = input(s, "displacement", &displacement, 1);
	m->ior = m->ior >= 1 && m->ior < 100 ? m->ior : 1.5f;
	if (m->ior != 1.5f)
		m->ext_mask |= 1u << HOB_MATERIAL_IOR;
	if (coat.ref.image != HOB_NONE) {
		m->slots[HOB_SLOT_CLEARCOAT] = coat.ref;
		m->clearcoat = scale_of(&coat);
	}
	m->clearcoat = usd_unit(m->clearcoat);
	if (m->clearcoat > 0) {
		m->ext_mask |= 1u << HOB_MATERIAL_CLEARCOAT;
		m->clearcoat_roughness = usd_unit(rough);
		if (coat_rough.ref.image != HOB_NONE) {
			m->slots[HOB_SLOT_CLEARCOAT_ROUGH] = coat_rough.ref;
			m->clearcoat_roughness = 1;
		}
	} else {
		m->slots[HOB_SLOT_CLEARCOAT].image = HOB_NONE;
	}
	if (displacement != 0 || t.ref.image != HOB_NONE)
		hob_usd_note(s->b->u, "displacement", "material '%.*s': its displacement is left out",
					 HOB_FMT(m->name));
}

static void read_surface(hob_usd_surface *s)
{
	float workflow = 0;
	input(s, "useSpecularWorkflow", &workflow, 1);
	/* Roughness and metal first: the specular workflow computes metal itself. */
	read_rough_metal(s, workflow != 0);
	read_base(s, workflow != 0);
	read_normal(s);
	read_rest(s);
}

/* ---- NVIDIA's OmniPBR, with pictures as inputs of the surface itself */

/* Puts the picture that an input names into a slot, with the texture coordinates "st". False without one. */
static bool picture(hob_usd_surface *s, const char *name, hob_slot slot)
{
	hob_usd_source file = open_input(s, name);
	hob_texture_ref ref = {.image = read_picture(s->b, &file), .sampler = HOB_NONE, .scale = {1, 1}};
	if (ref.image == HOB_NONE)
		return false;
	ref.uv_set = set_of(s->b, s->look, HOB_STR("st"));
	s->to->slots[slot] = ref;
	return true;
}

static void read_color(hob_usd_surface *s)
{
	float color[3] = {0.2f, 0.2f, 0.2f}, tint[3] = {1, 1, 1};
	input(s, "diffuse_color_constant", color, 3);
	input(s, "diffuse_tint", tint, 3);
	bool textured = picture(s, "diffuse_texture", HOB_SLOT_BASE_COLOR);
	for (int i = 0; i < 3; i++)
		s->to->base_color[i] = usd_unit((textured ? 1 : color[i]) * tint[i]);
}

/* An input with a constant, a texture and the texture's influence. Hob cannot blend the two: from an
 * influence of 0.5 on the texture is used, below it the constant. */
static void read_one(hob_usd_surface *s, const char *constant, const char *influence, const char *texture,
					 hob_slot slot, float *out)
{
	float share = 0;
	input(s, constant, out, 1);
	input(s, influence, &share, 1);
	*out = share >= 0.5f && picture(s, texture, slot) ? 1 : usd_unit(*out);
}

static void read_mdl_rough_metal(hob_usd_surface *s)
{
	hob_material *m = s->to;
	float packed = 0;
	m->roughness = 0.5f;
	m->metallic = 0;
	input(s, "enable_ORM_texture", &packed, 1);
	if (packed != 0 && picture(s, "ORM_texture", HOB_SLOT_METAL_ROUGH)) {
		m->roughness = m->metallic = 1;
		m->slots[HOB_SLOT_OCCLUSION] = m->slots[HOB_SLOT_METAL_ROUGH];
		return;
	}
	read_one(s, "reflection_roughness_constant", "reflection_roughness_texture_influence",
			 "reflectionroughness_texture", HOB_SLOT_ROUGHNESS, &m->roughness);
	read_one(s, "metallic_constant", "metallic_texture_influence", "metallic_texture", HOB_SLOT_METALLIC,
			 &m->metallic);
	picture(s, "ao_texture", HOB_SLOT_OCCLUSION);
}

static void read_mdl_emission(hob_usd_surface *s)
{
	/* As in MaterialX: the luminance of a display's white. */
	const float nits = 1000;
	float enabled = 0, color[3] = {1, 0.1f, 0.1f}, intensity = 40;
	input(s, "enable_emission", &enabled, 1);
	if (enabled == 0)
		return;
	input(s, "emissive_color", color, 3);
	input(s, "emissive_intensity", &intensity, 1);
	picture(s, "emissive_color_texture", HOB_SLOT_EMISSIVE);
	for (int i = 0; i < 3; i++) {
		float light = color[i] * intensity / nits;
		s->to->emissive[i] = light > 0 && isfinite(light) ? light : 0;
	}
}

static void read_mdl_opacity(hob_usd_surface *s)
{
	hob_material *m = s->to;
	float enabled = 0, opacity = 1, textured = 0, threshold = 0;
	input(s, "enable_opacity", &enabled, 1);
	if (enabled == 0)
		return;
	input(s, "opacity_constant", &opacity, 1);
	input(s, "enable_opacity_texture", &textured, 1);
	input(s, "opacity_threshold", &threshold, 1);
	bool found = textured != 0 && picture(s, "opacity_texture", HOB_SLOT_OPACITY);
	m->base_color[3] = found ? 1 : usd_unit(opacity);
	if (threshold > 0) {
		m->alpha_mode = HOB_ALPHA_MASK;
		m->alpha_cutoff = usd_unit(threshold);
	} else if (found || m->base_color[3] < 1) {
		m->alpha_mode = HOB_ALPHA_BLEND;
	}
}

/* Fills the material if `id` is OmniPBR's. */
static bool usd_mdl_surface(hob_usd_surface *s, hob_str id)
{
	if (!hob_str_starts(id, HOB_STR("OmniPBR")))
		return false;
	read_color(s);
	read_mdl_rough_metal(s);
	read_mdl_emission(s);
	read_mdl_opacity(s);
	picture(s, "normalmap_texture", HOB_SLOT_NORMAL);
	return true;
}

typedef enum opacity_kind { OPACITY_NONE, OPACITY_NUMBER, OPACITY_COLOR } opacity_kind;

/* ---- MaterialX: standard_surface, open_pbr_surface, gltf_pbr, disney_principled, RealityKit's */

/* Names of inputs, NULL where a model has none, and defaults. Source: MaterialX 1.38.10, libraries/bxdf;
 * RealityKit's are those of Reality Composer Pro. */
typedef struct shading {
	const char *id, *weight, *base, *metal, *rough, *emission, *emission_color, *opacity, *coat, *coat_rough,
		*ior;
	float base_value, metal_value, rough_value, emission_value, emission_color_value, coat_rough_value;
	opacity_kind opacity_kind;
	bool emission_in_nits;
} shading_t;

static const shading_t shadings[] = {
	{"ND_standard_surface", "base", "base_color", "metalness", "specular_roughness", "emission",
	 "emission_color", "opacity", "coat", "coat_roughness", "specular_IOR", 0.8f, 0, 0.2f, 0, 1, 0.1f,
	 OPACITY_COLOR, false},
	{"ND_open_pbr_surface", "base_weight", "base_color", "base_metalness", "specular_roughness",
	 "emission_luminance", "emission_color", "geometry_opacity", "coat_weight", "coat_roughness",
	 "specular_ior", 0.8f, 0, 0.3f, 0, 1, 0, OPACITY_NUMBER, true},
	{"ND_gltf_pbr", NULL, "base_color", "metallic", "roughness", "emissive_strength", "emissive", "alpha",
	 "clearcoat", "clearcoat_roughness", "ior", 1, 1, 1, 1, 0, 0, OPACITY_NUMBER, false},
	{"ND_disney_principled", NULL, "baseColor", "metallic", "roughness", NULL, NULL, NULL, "clearcoat", NULL,
	 "ior", 0.16f, 0, 0.5f, 0, 0, 0, OPACITY_NONE, false},
	{"ND_realitykit_pbr", NULL, "baseColor", "metallic", "roughness", NULL, "emissiveColor", "opacity",
	 "clearcoat", "clearcoatRoughness", NULL, 1, 0, 0.5f, 1, 0, 0, OPACITY_NUMBER, false},
	{"ND_realitykit_unlit", NULL, "color", NULL, NULL, NULL, NULL, "opacity", NULL, NULL, NULL, 1, 0, 1, 0, 0,
	 0, OPACITY_NUMBER, false},
};

/* Puts the picture of a colour or number into its slot; the picture's scale becomes the factor. */
static void put_picture(hob_usd_surface *s, const hob_usd_texture *t, hob_slot slot, float *factor,
						uint32_t width)
{
	if (t->ref.image == HOB_NONE)
		return;
	s->to->slots[slot] = width == 1 && slot != HOB_SLOT_METAL_ROUGH ? usd_scalar(t) : t->ref;
	for (uint32_t i = 0; i < width; i++)
		factor[i] = t->scale[i];
}

static void read_emission(hob_usd_surface *s, const shading_t *with)
{
	/* 1,000 nits is the luminance of a display's white in open_pbr's own examples. */
	const float nits = 1000;
	float strength = with->emission_value;
	float color[3] = {with->emission_color_value, with->emission_color_value, with->emission_color_value};
	input(s, with->emission, &strength, 1);
	hob_usd_texture t = input(s, with->emission_color, color, 3);
	strength = isfinite(strength) && strength > 0 ? strength / (with->emission_in_nits ? nits : 1) : 0;
	if (strength > 0)
		put_picture(s, &t, HOB_SLOT_EMISSIVE, color, 3);
	for (int i = 0; i < 3; i++)
		s->to->emissive[i] = color[i] > 0 ? color[i] * strength : 0;
}

static void read_coat(hob_usd_surface *s, const shading_t *with)
{
	hob_material *m = s->to;
	float coat = 0, rough = with->coat_rough_value, ior = 1.5f;
	input(s, with->coat, &coat, 1);
	input(s, with->coat_rough, &rough, 1);
	input(s, with->ior, &ior, 1);
	m->ior = ior >= 1 && ior < 100 ? ior : 1.5f;
	if (m->ior != 1.5f)
		m->ext_mask |= 1u << HOB_MATERIAL_IOR;
	m->clearcoat = usd_unit(coat);
	m->clearcoat_roughness = usd_unit(rough);
	if (m->clearcoat > 0)
		m->ext_mask |= 1u << HOB_MATERIAL_CLEARCOAT;
	else
		m->clearcoat_roughness = 0;
}

static void read_opacity(hob_usd_surface *s, const shading_t *with)
{
	hob_material *m = s->to;
	float opacity[3] = {1, 1, 1}, mode = 2, cutoff = 0.5f;
	hob_usd_texture t = input(s, with->opacity, opacity, with->opacity_kind == OPACITY_COLOR ? 3 : 1);
	float alpha =
		with->opacity_kind == OPACITY_COLOR ? (opacity[0] + opacity[1] + opacity[2]) / 3 : opacity[0];
	m->base_color[3] = usd_unit(alpha);
	if (t.ref.image != HOB_NONE) {
		m->slots[HOB_SLOT_OPACITY] = usd_scalar(&t);
		m->base_color[3] = 1;
	}
	if (m->base_color[3] < 1 || t.ref.image != HOB_NONE)
		m->alpha_mode = HOB_ALPHA_BLEND;
	if (!hob_str_starts(hob_str_of(with->id), HOB_STR("ND_gltf")) || m->alpha_mode != HOB_ALPHA_BLEND)
		return;
	input(s, "alpha_mode", &mode, 1);
	input(s, "alpha_cutoff", &cutoff, 1);
	m->alpha_mode = mode < 0.5f ? HOB_ALPHA_OPAQUE : mode < 1.5f ? HOB_ALPHA_MASK : HOB_ALPHA_BLEND;
	m->alpha_cutoff = usd_unit(cutoff);
}

static void read_all(hob_usd_surface *s, const shading_t *with)
{
	hob_material *m = s->to;
	float base[3] = {with->base_value, with->base_value, with->base_value}, weight = 1, unused[3] = {0};
	m->metallic = with->metal_value;
	m->roughness = with->rough_value;
	input(s, with->weight, &weight, 1);
	hob_usd_texture color = input(s, with->base, base, 3);
	hob_usd_texture metal = input(s, with->metal, &m->metallic, 1);
	hob_usd_texture rough = input(s, with->rough, &m->roughness, 1);
	hob_usd_texture normal = input(s, "normal", unused, 3);
	usd_surface_colors(s, &color, base);
	put_picture(s, &color, HOB_SLOT_BASE_COLOR, base, 3);
	for (int i = 0; i < 3; i++)
		m->base_color[i] = usd_unit(base[i] * weight);
	bool packed = rough.ref.image != HOB_NONE && rough.ref.image == metal.ref.image && rough.channel == 'g' &&
				  metal.channel == 'b';
	put_picture(s, &rough, packed ? HOB_SLOT_METAL_ROUGH : HOB_SLOT_ROUGHNESS, &m->roughness, 1);
	if (packed)
		m->metallic = 1;
	else
		put_picture(s, &metal, HOB_SLOT_METALLIC, &m->metallic, 1);
	m->metallic = usd_unit(m->metallic);
	m->roughness = usd_unit(m->roughness);
	put_picture(s, &normal, HOB_SLOT_NORMAL, unused, 3);
	read_opacity(s, with);
	read_emission(s, with);
	read_coat(s, with);
}

/* Fills the material if `id` ("ND_standard_surface_surfaceshader") is supported. */
static bool usd_mtlx_surface(hob_usd_surface *s, hob_str id)
{
	for (size_t i = 0; i < HOB_COUNT_OF(shadings); i++)
		if (hob_str_starts(id, hob_str_of(shadings[i].id))) {
			if (hob_str_starts(id, HOB_STR("ND_realitykit_unlit")))
				s->to->ext_mask |= 1u << HOB_MATERIAL_UNLIT;
			read_all(s, &shadings[i]);
			return true;
		}
	return false;
}

/* ---- the material */

static uint32_t find_surface(hob_usd *u, uint32_t material)
{
	static const char *const outputs[] = {"outputs:surface", "outputs:mtlx:surface", "outputs:mdl:surface"};
	hob_usd_source source = {.shader = HOB_NONE};
	for (size_t i = 0; i < HOB_COUNT_OF(outputs) && source.shader == HOB_NONE; i++)
		source = usd_follow(u, material, outputs[i]);
	return source.shader;
}

static void read_material(hob_usd_build_t *b, uint32_t prim, hob_material *to, hob_usd_look *look)
{
	hob_usd *u = b->u;
	hob_usd_surface s = {.b = b, .to = to, .look = look, .shader = find_surface(u, prim)};
	if (s.shader == HOB_NONE) {
		hob_usd_note(u, "no-surface", "material '%.*s' has no surface shader; it stays plain",
					 HOB_FMT(u->prims[prim].path));
		return;
	}
	hob_str id = usd_shader_id(u, s.shader);
	if (hob_str_equal(id, HOB_STR("UsdPreviewSurface")) ||
		hob_str_starts(id, HOB_STR("ND_UsdPreviewSurface")))
		read_surface(&s);
	else if (!usd_mtlx_surface(&s, id) && !usd_mdl_surface(&s, id))
		hob_usd_note(u, "shader-unknown", "material '%.*s': its surface '%.*s' is not read; it stays plain",
					 HOB_FMT(u->prims[prim].path), HOB_FMT(id));
}

static void add_material(hob_usd_build_t *b, hob_str name, hob_material **out, hob_usd_look **look,
						 uint32_t *id)
{
	hob_model *m = &b->model;
	hob_arena *arena = b->u->scratch;
	if (m->material_count >= HOB_LIMIT_MATERIALS)
		hob_leave(LIMIT, "more than %llu materials", HOB_LIMIT_MATERIALS);
	HOB_USD_ROOM(arena, m->materials, m->material_count);
	*id = HOB_USD_PUT(arena, b->looks, m->material_count, (hob_usd_look){0});
	*out = &m->materials[*id];
	*look = &b->looks[*id];
	hob_shape_plain_material(*out, hob_text_name(b->u->result, name));
}

uint32_t hob_usd_material(hob_usd_build_t *b, hob_str path, bool double_sided, const float *color, bool sheer)
{
	uint32_t prim = path.len > 0 ? hob_usd_prim_at(b->u, path) : HOB_NONE;
	float shown[4] = {1, 1, 1, 1};
	for (int i = 0; color && i < 4; i++)
		shown[i] = isfinite(color[i]) ? usd_unit(color[i]) : 1;
	hob_str key = prim != HOB_NONE ? hob_arena_printf(b->u->scratch, "%d%.*s", double_sided, HOB_FMT(path))
								   : hob_arena_printf(b->u->scratch, "%d%d %a %a %a %a", double_sided, sheer,
													  (double)shown[0], (double)shown[1], (double)shown[2],
													  (double)shown[3]);
	uint32_t id = hob_name_map_get(&b->material_map, key);
	if (id != HOB_NONE)
		return id;
	hob_material *material;
	hob_usd_look *look;
	hob_str name = prim != HOB_NONE ? b->u->tokens[b->u->prims[prim].name] : HOB_STR("");
	add_material(b, name, &material, &look, &id);
	material->double_sided = double_sided;
	if (prim == HOB_NONE) {
		memcpy(material->base_color, shown, sizeof shown);
		material->alpha_mode = sheer || shown[3] < 1 ? HOB_ALPHA_BLEND : HOB_ALPHA_OPAQUE;
	} else {
		HOB_PLACE("material '@'", 0, path);
		read_material(b, prim, material, look);
	}
	hob_name_map_add(&b->material_map, key, id);
	return id;
}
