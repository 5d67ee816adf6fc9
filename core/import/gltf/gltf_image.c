#include "gltf_private.h"

/* ---- samplers */

typedef struct setting {
	const char *key;
	size_t value;
} setting_t;

static void read_setting(hob_gltf *g, uint32_t id, void *to)
{
	setting_t *setting = to;
	setting->value = hob_gltf_size(g->samplers.items[id], setting->key, setting->value);
}

/* A value that is not a number, or unknown, gives the default. */
static size_t setting(hob_gltf *g, uint32_t id, const char *key, size_t fallback)
{
	setting_t setting = {key, fallback};
	hob_error why = {0};
	if (!hob_gltf_try(g, read_setting, id, &setting, &why))
		hob_gltf_note(g, "sampler", "samplers[%u]: %s, the default is used", id, why.context);
	return setting.value;
}

static void read_sampler(hob_gltf *g, uint32_t id, hob_sampler *out)
{
	size_t wrap[2] = {setting(g, id, "wrapS", 10497), setting(g, id, "wrapT", 10497)},
		   mag = setting(g, id, "magFilter", 0), min = setting(g, id, "minFilter", 0);
	hob_wrap modes[2];
	for (int i = 0; i < 2; i++) {
		modes[i] = wrap[i] == 33071 ? HOB_WRAP_CLAMP : wrap[i] == 33648 ? HOB_WRAP_MIRROR : HOB_WRAP_REPEAT;
		if (modes[i] == HOB_WRAP_REPEAT && wrap[i] != 10497)
			hob_gltf_note(g, "sampler", "samplers[%u]: wrap mode %zu is unknown, repeat is used", id,
						  wrap[i]);
	}
	static const hob_filter mips[] = {HOB_FILTER_NEAREST_MIP_NEAREST, HOB_FILTER_LINEAR_MIP_NEAREST,
									  HOB_FILTER_NEAREST_MIP_LINEAR, HOB_FILTER_LINEAR_MIP_LINEAR};
	*out = (hob_sampler){.wrap_u = modes[0], .wrap_v = modes[1]};
	if (mag == 9728 || mag == 9729)
		out->mag = mag == 9728 ? HOB_FILTER_NEAREST : HOB_FILTER_LINEAR;
	else if (mag != 0)
		hob_gltf_note(g, "sampler", "samplers[%u]: magFilter %zu is unknown, the default is used", id, mag);
	if (min == 9728 || min == 9729)
		out->min = min == 9728 ? HOB_FILTER_NEAREST : HOB_FILTER_LINEAR;
	else if (min >= 9984 && min <= 9987)
		out->min = mips[min - 9984];
	else if (min != 0)
		hob_gltf_note(g, "sampler", "samplers[%u]: minFilter %zu is unknown, the default is used", id, min);
}

/* ---- images */

static void image_by_uri(hob_gltf *g, uint32_t id, void *to)
{
	hob_str uri = hob_gltf_string(g->images.items[id], "uri"), mime = {0};
	hob_image *out = to;
	if (hob_gltf_is_data_uri(uri)) {
		out->bytes = hob_gltf_data_uri(g->result, uri, &mime);
		if (out->mime.len == 0 && mime.len > 0)
			out->mime = hob_gltf_copy_text(g, mime);
		if (out->bytes.size == 0)
			hob_leave(TRUNCATED, "its data URI is empty");
	} else {
		out->uri = hob_gltf_copy_text(g, uri);
		if (!hob_gltf_aliased(g, uri, &out->path, &out->bytes))
			out->path = hob_gltf_resolve(g, g->result, uri);
	}
}

static void image_in_view(hob_gltf *g, uint32_t view, void *to)
{
	((hob_image *)to)->bytes = hob_gltf_keep_view(g, view);
}

static hob_image read_image(hob_gltf *g, uint32_t id)
{
	HOB_GLTF_PLACE("images[#] '@'", id, g->images);
	const cJSON *json = g->images.items[id];
	hob_image image = {.name = hob_gltf_name(g, json)};
	hob_str uri = hob_gltf_string(json, "uri"), mime = hob_gltf_string(json, "mimeType");
	uint32_t view = hob_gltf_id(json, "bufferView", g->views.count);
	hob_error why = {0};
	if (mime.len > 0)
		image.mime = hob_gltf_copy_text(g, mime);
	if (view == HOB_NONE && uri.len == 0) {
		hob_gltf_note(g, "image-unavailable", "images[%u] '%.*s' has neither a uri nor a bufferView", id,
					  HOB_FMT(image.name));
		return image;
	}
	if (view != HOB_NONE ? hob_gltf_try(g, image_in_view, view, &image, &why)
						 : hob_gltf_try(g, image_by_uri, id, &image, &why))
		return image;
	if (view != HOB_NONE)
		hob_gltf_drop(&why, false);
	image.bytes = (hob_bytes){0};
	hob_gltf_note(g, "image-unavailable", "images[%u] '%.*s' cannot be used: %s", id, HOB_FMT(image.name),
				  why.context);
	return image;
}

/* ---- textures: picture and sampler together */

/* Extensions with an alternative picture of a texture, by preference when there is no standard one. */
static const char *const source_extensions[] = {"KHR_texture_basisu", "EXT_texture_webp", "EXT_texture_avif",
												"MSFT_texture_dds"};
static bool is_required(const hob_gltf *g, const char *extension)
{
	const cJSON *required = hob_json_get(g->root, "extensionsRequired");
	for (const cJSON *item = cJSON_IsArray(required) ? required->child : NULL; item; item = item->next)
		if (cJSON_IsString(item) && strcmp(item->valuestring, extension) == 0)
			return true;
	return false;
}

static void read_sources(hob_gltf *g, uint32_t id, void *to)
{
	hob_texture_ref *ref = to;
	ref->image = hob_gltf_id(g->textures.items[id], "source", g->images.count);
	ref->sampler = hob_gltf_id(g->textures.items[id], "sampler", g->samplers.count);
}

void hob_gltf_texture(hob_gltf *g, uint32_t id, hob_texture_ref *ref)
{
	HOB_PLACE("textures[#]", id, {0});
	const cJSON *json = g->textures.items[id];
	hob_error why = {0};
	ref->image = ref->sampler = HOB_NONE;
	if (!hob_gltf_try(g, read_sources, id, ref, &why))
		hob_gltf_note(g, "texture-reference", "textures[%u]: %s; it is taken as not given", id, why.context);
	/* A standard PNG or JPEG is preferred, as every decoder reads it, unless the alternative is required. */
	bool only = ref->image == HOB_NONE, chosen = false;
	for (size_t i = 0; !chosen && i < HOB_COUNT_OF(source_extensions); i++) {
		if (!only && !is_required(g, source_extensions[i]))
			continue;
		const cJSON *extension = hob_gltf_extension(json, source_extensions[i]);
		if (extension) {
			HOB_PLACE("@", 0, hob_str_of(source_extensions[i]));
			ref->image = hob_gltf_id(extension, "source", g->images.count);
		}
		chosen = extension && ref->image != HOB_NONE;
		if (chosen && only)
			hob_gltf_info(g, "texture-source", "textures[%u] has only a %s picture, images[%u]", id,
						  source_extensions[i], ref->image);
	}
	if (ref->image == HOB_NONE)
		hob_gltf_note(g, "texture-empty", "textures[%u] names no picture and is not used", id);
}

/* Whether an extension is used that Hob does not know, which may show any picture. */
static bool has_unknown_extension(const hob_gltf *g)
{
	const cJSON *used = hob_json_get(g->root, "extensionsUsed"), *item;
	for (item = cJSON_IsArray(used) ? used->child : NULL; item; item = item->next)
		if (cJSON_IsString(item) && !hob_gltf_knows(item->valuestring))
			return true;
	return false;
}

/* Sets `marks` of each number that a member `key` below `tree` has: an index of a texture, a source. */
static void mark_numbers(const cJSON *tree, const char *key, uint32_t count, bool *marks)
{
	for (const cJSON *item = tree ? tree->child : NULL; item; item = item->next) {
		if (item->string && cJSON_IsNumber(item) && strcmp(item->string, key) == 0 &&
			item->valuedouble >= 0 && item->valuedouble < count)
			marks[(uint32_t)item->valuedouble] = true;
		mark_numbers(item, key, count, marks);
	}
}

static void find_spare(const hob_gltf *g, hob_image *images)
{
	bool *textures = HOB_NEW(g->scratch, bool, g->textures.count),
		 *shown = HOB_NEW(g->scratch, bool, g->images.count);
	for (const cJSON *list = g->root->child; list && g->images.count > 0; list = list->next)
		if (!list->string || strcmp(list->string, "accessors") != 0)
			mark_numbers(list, "index", g->textures.count, textures);
	for (uint32_t i = 0; i < g->textures.count; i++)
		if (textures[i])
			mark_numbers(g->textures.items[i], "source", g->images.count, shown);
	for (uint32_t i = 0; i < g->images.count && !has_unknown_extension(g); i++)
		images[i].spare = !shown[i];
}

void hob_gltf_import_images(hob_gltf *g)
{
	hob_model *model = &g->model;
	/* Converting specular-glossiness may add two images per material. */
	model->samplers = HOB_NEW(g->result, hob_sampler, g->samplers.count);
	model->images = HOB_NEW(g->result, hob_image, (size_t)g->images.count + 2 * (size_t)g->materials.count);
	for (uint32_t i = 0; i < g->samplers.count; i++)
		read_sampler(g, i, &model->samplers[i]);
	for (uint32_t i = 0; i < g->images.count; i++)
		model->images[i] = read_image(g, i);
	model->sampler_count = g->samplers.count;
	model->image_count = g->images.count;
	find_spare(g, model->images);
}
