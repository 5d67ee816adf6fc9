#include "glb.h"

#include "../base/limits.h"
#include "glb_writer.h"

static void put_extensions(glb_writer *w, hob_buf *out)
{
	if (w->lists[GLB_LIST_LIGHTS].count)
		w->extensions |= 1u << GLB_LIGHTS;
	hob_pack_array variants = hob_pack_find(&w->materials, HOB_PK_VARI);
	bool has_variants = w->extensions >> GLB_VARIANTS & 1;
	if (!w->extensions)
		return;
	hob_buf_printf(out, ",\"extensionsUsed\":");
	for (uint32_t e = 0, count = 0; e < GLB_EXTENSION_COUNT; e++)
		if (w->extensions >> e & 1)
			hob_buf_printf(out, "%s\"%s\"", count++ ? "," : "[", hob_glb_extension_names[e]);
	hob_buf_put(out, "]", 1);
	if (!w->lists[GLB_LIST_LIGHTS].count && !has_variants)
		return;
	hob_buf_printf(out, ",\"extensions\":{");
	if (w->lists[GLB_LIST_LIGHTS].count)
		hob_buf_printf(out, "\"%s\":{\"lights\":[%.*s]}", hob_glb_extension_names[GLB_LIGHTS],
					   HOB_FMT(hob_buf_str(&w->lists[GLB_LIST_LIGHTS].text)));
	if (has_variants) {
		hob_buf_printf(out, "%s\"%s\":{\"variants\":[", w->lists[GLB_LIST_LIGHTS].count ? "," : "",
					   hob_glb_extension_names[GLB_VARIANTS]);
		for (uint32_t v = 0; v < variants.count; v++) {
			hob_buf_printf(out, "%s{\"name\":", v ? "," : "");
			hob_buf_put_json(out, hob_pack_string(&w->materials, *HOB_PACK_AT(uint32_t, variants, v)));
			hob_buf_put(out, "}", 1);
		}
		hob_buf_printf(out, "]}");
	}
	hob_buf_put(out, "}", 1);
}

void hob_glb_extras(glb_writer *w, hob_buf *out, uint32_t kind, uint32_t index)
{
	const hob_pk_extra *extra = hob_pack_extra(&w->scene, kind, index);
	if (!extra)
		return;
	hob_str values = hob_pack_string(&w->scene, extra->values);
	if (values.len > 0) {
		hob_buf_put_str(out, HOB_STR(",\"extras\":"));
		hob_buf_put_str(out, values);
	}
	if (extra->extensions)
		hob_info(
			w->notes, "glb.extensions-dropped",
			"extensions that Hob does not know are left out: they may name nodes by the source's numbers");
}

static uint32_t default_scene(const glb_writer *w)
{
	hob_pack_array scenes = hob_pack_find(&w->scene, HOB_PK_SCNS);
	uint32_t at = 0;
	while (!(HOB_PACK_AT(hob_pk_scene, scenes, at)->flags & HOB_PK_SCENE_DEFAULT))
		at++;
	return at;
}

static void put_json(glb_writer *w, hob_buf *out)
{
	/* The last lists are members of others. */
	static const char *const keys[] = {"scenes",   "nodes",		 "meshes",	  "materials",
									   "textures", "images",	 "samplers",  "cameras",
									   "skins",	   "animations", "accessors", "bufferViews"};
	_Static_assert(HOB_COUNT_OF(keys) == GLB_LIST_LIGHTS, "one key a list");
	hob_buf_printf(out, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"Hob\"");
	hob_glb_extras(w, out, HOB_PK_EXTRA_FILE, 0);
	hob_buf_printf(out, "},\"scene\":%u", default_scene(w));
	put_extensions(w, out);
	for (size_t i = 0; i < HOB_COUNT_OF(keys); i++)
		if (w->lists[i].count)
			hob_buf_printf(out, ",\"%s\":[%.*s]", keys[i], HOB_FMT(hob_buf_str(&w->lists[i].text)));
	if (w->bin.size)
		hob_buf_printf(out, ",\"buffers\":[{\"byteLength\":%zu}]", w->bin.size);
	hob_buf_put(out, "}", 1);
}

static void put_u32(hob_buf *out, size_t value)
{
	uint8_t bytes[4];
	hob_store_u32(bytes, (uint32_t)value);
	hob_buf_put(out, bytes, sizeof bytes);
}

static void put_chunk(hob_buf *out, const char type[4], hob_buf *data, char pad)
{
	while (data->size % 4)
		hob_buf_put(data, &pad, 1);
	put_u32(out, data->size);
	hob_buf_put(out, type, 4);
	hob_buf_put(out, data->data, data->size);
}

static bool put_file(glb_writer *w, hob_error *err)
{
	hob_own_buf json = {0};
	put_json(w, &json);
	uint64_t total = 12 + 8 + ((uint64_t)json.size + 3) / 4 * 4 +
					 (w->bin.size ? 8 + ((uint64_t)w->bin.size + 3) / 4 * 4 : 0);
	bool ok =
		total <= UINT32_MAX ||
		hob_fail(err, LIMIT, "a GLB file of %llu bytes; the format ends at 4 GiB", (unsigned long long)total);
	if (ok) {
		hob_buf_put(&w->file, "glTF", 4);
		put_u32(&w->file, 2);
		put_u32(&w->file, (size_t)total);
		put_chunk(&w->file, "JSON", &json, ' ');
		if (w->bin.size)
			put_chunk(&w->file, "BIN\0", &w->bin, 0);
	}
	return ok;
}

static bool open_all(glb_writer *w, hob_error *err)
{
	const hob_pack_set *set = w->set;
	w->has_animations = set->animations.size > 0;
	return hob_pack_open_anywhere(set->meshes, w->arena, &w->meshes, err) &&
		   hob_pack_open_anywhere(set->materials, w->arena, &w->materials, err) &&
		   hob_pack_open_anywhere(set->scene, w->arena, &w->scene, err) &&
		   (!w->has_animations || hob_pack_open_anywhere(set->animations, w->arena, &w->animations, err)) &&
		   hob_pack_geometry_open(&w->meshes, w->arena, &w->geometry, err);
}

static bool write_all(void *context, hob_error *err)
{
	glb_writer *w = context;
	w->err = err;
	bool ok = open_all(w, err) && hob_glb_put_materials(w);
	if (ok) {
		hob_glb_put_scene(w);
		hob_glb_put_animations(w);
		ok = put_file(w, err);
	}
	for (size_t i = 0; i < HOB_COUNT_OF(w->lists); i++)
		hob_buf_release(&w->lists[i].text);
	hob_buf_release(&w->bin);
	return ok;
}

bool hob_glb_from_packed(const hob_pack_set *set, const hob_glb_pictures *pictures, hob_notes *notes,
						 hob_buf *out, hob_error *err)
{
	if (!set->meshes.size || !set->materials.size || !set->scene.size)
		return hob_fail(err, EMPTY, "a GLB file is made from the meshes, the materials and the scene file");
	if (!hob_pack_validate_set(set, err))
		return false;
	hob_own_arena arena;
	hob_arena_init(&arena, (size_t)HOB_LIMIT_COOK_ARENA_BYTES);
	glb_writer w = {.set = set, .pictures = pictures, .notes = notes, .arena = &arena};
	bool ok = hob_guarded(write_all, &w, err);
	if (ok) {
		hob_buf_release(out);
		*out = w.file;
	}
	return ok;
}
