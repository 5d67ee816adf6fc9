#include "describe_value.h"
#include "pack_validate.h"

static uint32_t rows_of(uint32_t count, const hob_describe_options *options)
{
	return options && options->max_rows && options->max_rows < count ? options->max_rows : count;
}

static void put_validity(hob_buf *out, bool valid, const hob_error *why)
{
	hob_buf_printf(out, ",\"valid\":%s", valid ? "true" : "false");
	if (!valid) {
		hob_buf_printf(out, ",\"error\":");
		hob_buf_put_json(out, hob_str_of(why->context));
	}
}

/* ---- packed files ---- */

static void put_section(hob_buf *out, const hob_pk_section *s)
{
	hob_buf_printf(out,
				   "{\"type\":\"%s\",\"flags\":%u,\"count\":%u,\"stride\":%u,\"offset\":%llu,\"stored\":%llu,"
				   "\"raw\":%llu,\"codec\":%u,\"part\":%u,\"owner\":%u,\"digest\":\"",
				   hob_fourcc_text(s->type).text, s->flags, s->count, s->stride,
				   (unsigned long long)s->offset, (unsigned long long)s->stored_bytes,
				   (unsigned long long)s->raw_bytes, s->codec, s->part, s->owner);
	hob_describe_hex(out, s->digest, sizeof s->digest);
	hob_buf_printf(out, "\"}");
}

static void put_records(hob_buf *out, const hob_pack *pack, const hob_describe_options *options)
{
	bool first = true;
	hob_buf_printf(out, ",\"records\":{");
	for (uint32_t i = 0; i < pack->section_count; i++) {
		const format_section *section = hob_format_section_of(hob_pack_section(pack, i)->type);
		if (!section || section->gpu || section->type == HOB_PK_STRS)
			continue;
		hob_pack_array array = hob_pack_array_at(pack, i);
		hob_buf_printf(out, "%s\"%s\":[", first ? "" : ",", hob_fourcc_text(section->type).text);
		for (uint32_t row = 0; row < rows_of(array.count, options); row++) {
			if (row)
				hob_buf_put(out, ",", 1);
			hob_describe_element(out, section, HOB_PACK_AT(uint8_t, array, row), pack);
		}
		hob_buf_put(out, "]", 1);
		first = false;
	}
	hob_buf_put(out, "}", 1);
}

static void put_packed(const hob_describer *d, hob_buf *out, const hob_pack *pack)
{
	const hob_pk_header *h = pack->header;
	hob_error why = {0};
	bool valid = hob_pack_validate(pack->file, &why);
	hob_buf_printf(
		out,
		"{\"format\":\"packed\",\"kind\":\"%s\",\"version\":\"%u.%u\",\"bytes\":%llu,\"prefix_bytes\":%llu,"
		"\"digest\":\"",
		hob_fourcc_text(h->kind).text, h->ver_major, h->ver_minor, (unsigned long long)h->file_bytes,
		(unsigned long long)h->prefix_bytes);
	hob_describe_hex(out, h->digest, sizeof h->digest);
	hob_buf_printf(out, "\",\"flags\":%u", h->flags);
	put_validity(out, valid, &why);
	hob_buf_printf(out, ",\"sections\":[");
	for (uint32_t i = 0; i < rows_of(pack->section_count, d->options); i++) {
		if (i)
			hob_buf_put(out, ",", 1);
		put_section(out, hob_pack_section(pack, i));
	}
	hob_buf_put(out, "]", 1);
	if (valid)
		put_records(out, pack, d->options);
	hob_buf_put(out, "}", 1);
}

/* ---- classic files ---- */

static void put_table(hob_buf *out, const char *key, const char *record, const uint8_t *data, uint32_t count,
					  size_t size, const hob_describe_options *options)
{
	hob_buf_printf(out, ",\"%s\":[", key);
	for (uint32_t i = 0; i < rows_of(count, options); i++) {
		if (i)
			hob_buf_put(out, ",", 1);
		hob_describe_record(out, record, data + i * size, NULL);
	}
	hob_buf_put(out, "]", 1);
}

static void put_strings(hob_buf *out, const char *key, hob_classic_strings strings,
						const hob_describe_options *options)
{
	hob_str text;
	uint32_t rows = rows_of(strings.count, options);
	hob_buf_printf(out, ",\"%s\":[", key);
	for (uint32_t i = 0; i < rows && hob_classic_strings_next(&strings, &text); i++) {
		if (i)
			hob_buf_put(out, ",", 1);
		hob_buf_put_json(out, text);
	}
	hob_buf_put(out, "]", 1);
}

static void put_map(hob_buf *out, const char *key, hob_classic_map map, const hob_describe_options *options)
{
	hob_buf_printf(out, ",\"%s\":[", key);
	for (uint32_t i = 0; i < rows_of(map.count, options); i++)
		hob_buf_printf(out, "%s[%u,%u]", i ? "," : "", hob_load_u32(map.pairs + (size_t)i * 8),
					   hob_load_u32(map.pairs + (size_t)i * 8 + 4));
	hob_buf_put(out, "]", 1);
}

static void put_matrices(hob_buf *out, const char *key, const uint8_t *data, uint32_t count,
						 const hob_describe_options *options)
{
	uint32_t fields;
	const format_field *matrix = hob_format_record("mat4", &fields);
	hob_buf_printf(out, ",\"%s\":[", key);
	for (uint32_t i = 0; i < rows_of(count, options); i++) {
		if (i)
			hob_buf_put(out, ",", 1);
		hob_describe_field(out, matrix, data + (size_t)i * 64, NULL);
	}
	hob_buf_put(out, "]", 1);
}

static void put_classic_tables(hob_buf *out, hob_bytes file, hob_classic_kind kind,
							   const hob_describe_options *options)
{
	hob_classic_meshes meshes;
	hob_classic_materials materials;
	hob_classic_scene scene;
	if (kind == HOB_CLASSIC_MESHES && hob_classic_open_meshes(file, &meshes, NULL)) {
		hob_buf_printf(out, ",\"index_count\":%u,\"vertex_count\":%u", meshes.index_count,
					   meshes.vertex_count);
		put_table(out, "meshes", "classic_mesh", meshes.meshes, meshes.mesh_count, sizeof(hob_classic_mesh),
				  options);
		put_table(out, "boxes", "classic_box", meshes.boxes, meshes.mesh_count, sizeof(hob_classic_box),
				  options);
	} else if (kind == HOB_CLASSIC_MATERIALS && hob_classic_open_materials(file, &materials, NULL)) {
		put_table(out, "materials", "classic_material", materials.materials, materials.material_count,
				  sizeof(hob_classic_material), options);
		put_strings(out, "files", materials.files, options);
	} else if (kind == HOB_CLASSIC_SCENE && hob_classic_open_scene(file, &scene, NULL)) {
		put_matrices(out, "local", scene.local, scene.node_count, options);
		put_matrices(out, "global", scene.global, scene.node_count, options);
		put_table(out, "hierarchy", "classic_hierarchy", scene.hierarchy, scene.node_count,
				  sizeof(hob_classic_hierarchy), options);
		put_map(out, "materialForNode", scene.materials, options);
		put_map(out, "meshes", scene.meshes, options);
		if (scene.has_names) {
			put_map(out, "nameForNode", scene.names, options);
			put_strings(out, "names", scene.node_names, options);
			put_strings(out, "materialNames", scene.material_names, options);
		}
	}
}

static void put_classic(const hob_describer *d, hob_buf *out, hob_classic_kind kind)
{
	static const char *const kinds[] = {"", "meshes", "materials", "scene"};
	hob_error why = {0};
	bool valid = hob_classic_validate(d->file, kind, &why);
	hob_buf_printf(out, "{\"format\":\"classic\",\"kind\":\"%s\",\"bytes\":%zu", kinds[kind], d->file.size);
	put_validity(out, valid, &why);
	put_classic_tables(out, d->file, kind, d->options);
	hob_buf_put(out, "}", 1);
}

bool hob_describe_json(hob_bytes file, const hob_describe_options *options, hob_buf *out, hob_error *err)
{
	return hob_describe_by(&(hob_describer){file, options, put_packed, put_classic, out}, err);
}
