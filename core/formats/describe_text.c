#include "describe.h"

#include "classic.h"
#include "describe_text.h"
#include "pack_validate.h"

/* ---- packed: container ---- */

static void put_sections(text_writer *t, const hob_pack *pack)
{
	static const char *const codecs[] = {"raw", "meshopt vertex", "meshopt index", "meshopt sequence"};
	hob_text_heading(t, "sections");
	hob_buf_printf(t->out, "    #  type part      count stride       bytes      stored      offset  codec\n");
	for (uint32_t i = 0; i < hob_text_rows(t, pack->section_count); i++) {
		const hob_pk_section *s = hob_pack_section(pack, i);
		hob_buf_printf(t->out, "  %3u  %s %4u %10u %6u %11llu %11llu %11llu  %s\n", i,
					   hob_fourcc_text(s->type).text, s->part, s->count, s->stride,
					   (unsigned long long)s->raw_bytes, (unsigned long long)s->stored_bytes,
					   (unsigned long long)s->offset,
					   s->codec < HOB_COUNT_OF(codecs) ? codecs[s->codec] : "unknown");
	}
	hob_text_more(t, pack->section_count, "  ");
}

static bool put_packed(text_writer *t, const hob_pack *pack, hob_error *err)
{
	const hob_pk_header *h = pack->header;
	hob_error why = {0};
	bool valid = hob_pack_validate(pack->file, &why);
	if (why.code == HOB_ERR_MEMORY)
		return hob_fail(err, MEMORY, "%s", why.context);
	hob_text_heading(t, "packed %s file, version %u.%u", hob_fourcc_text(h->kind).text, h->ver_major,
					 h->ver_minor);
	hob_buf_printf(t->out, "  %llu bytes, the first %llu are metadata; digest ",
				   (unsigned long long)h->file_bytes, (unsigned long long)h->prefix_bytes);
	hob_describe_hex(t->out, h->digest, sizeof h->digest);
	hob_buf_printf(t->out, "\n  %s%s%s%s\n", !valid && t->color ? "\x1b[31m" : "",
				   valid ? "valid" : "damaged: ", valid ? "" : why.context,
				   !valid && t->color ? "\x1b[0m" : "");
	put_sections(t, pack);
	if (!valid)
		return true;
	if (h->kind == HOB_PK_KIND_MESH)
		hob_text_meshes(t, pack);
	else if (h->kind == HOB_PK_KIND_MATL)
		hob_text_materials(t, pack);
	else if (h->kind == HOB_PK_KIND_SCNE)
		hob_text_scene(t, pack);
	else
		hob_text_animations(t, pack);
	return true;
}

/* ---- classic ---- */

static void put_classic_meshes(text_writer *t, hob_bytes file)
{
	hob_classic_meshes m;
	if (!hob_classic_open_meshes(file, &m, NULL))
		return;
	hob_text_heading(t, "%u mesh%s, %u indices, %u vertices", m.mesh_count, m.mesh_count == 1 ? "" : "es",
					 m.index_count, m.vertex_count);
	for (uint32_t i = 0; i < hob_text_rows(t, m.mesh_count); i++) {
		hob_classic_mesh mesh = hob_classic_mesh_at(&m, i);
		float box[6];
		memcpy(box, m.boxes + i * sizeof(hob_classic_box), sizeof box);
		hob_buf_printf(t->out, "  %u: %u vertices, triangles", i, mesh.vertexCount);
		for (uint32_t l = 0; l < mesh.lodCount && l < HOB_CLASSIC_MAX_LODS; l++)
			hob_buf_printf(t->out, " %u", (mesh.lodOffset[l + 1] - mesh.lodOffset[l]) / 3);
		hob_buf_printf(t->out, ", box (");
		hob_text_floats(t, box, 3);
		hob_buf_printf(t->out, ") to (");
		hob_text_floats(t, box + 3, 3);
		hob_buf_printf(t->out, ")\n");
	}
	hob_text_more(t, m.mesh_count, "  ");
}

static void put_strings(text_writer *t, const char *what, hob_classic_strings strings)
{
	hob_str text;
	hob_text_heading(t, "%u %s%s", strings.count, what, HOB_PLURAL(strings.count));
	uint32_t count = strings.count;
	for (uint32_t i = 0; i < hob_text_rows(t, count) && hob_classic_strings_next(&strings, &text); i++) {
		hob_buf_printf(t->out, "  %u: ", i);
		hob_text_name(t, text);
		hob_buf_put(t->out, "\n", 1);
	}
	hob_text_more(t, count, "  ");
}

static void put_classic_materials(text_writer *t, hob_bytes file)
{
	hob_classic_materials m;
	if (!hob_classic_open_materials(file, &m, NULL))
		return;
	hob_text_heading(t, "%u material%s", m.material_count, HOB_PLURAL(m.material_count));
	for (uint32_t i = 0; i < hob_text_rows(t, m.material_count); i++) {
		hob_classic_material r = hob_classic_material_at(&m, i);
		const uint64_t maps[] = {r.ambientOcclusionMap,	 r.emissiveMap, r.albedoMap,
								 r.metallicRoughnessMap, r.normalMap,	r.opacityMap};
		static const char *const names[] = {"occlusion",		  "emissive", "albedo",
											"metallic-roughness", "normal",	  "opacity"};
		hob_buf_printf(t->out, "  %u: albedo ", i);
		hob_text_floats(t, r.albedoColor, 4);
		hob_buf_printf(t->out, ", metallic ");
		hob_text_floats(t, &r.metallicFactor, 1);
		hob_buf_printf(t->out, ", roughness ");
		hob_text_floats(t, r.roughness, 2);
		hob_buf_printf(t->out, ", transparency ");
		hob_text_floats(t, &r.transparencyFactor, 1);
		hob_buf_printf(t->out, ", alpha test ");
		hob_text_floats(t, &r.alphaTest, 1);
		hob_buf_printf(t->out, ", flags %u", r.flags);
		for (size_t k = 0; k < HOB_COUNT_OF(maps); k++)
			if (maps[k] != HOB_CLASSIC_INVALID_TEXTURE)
				hob_buf_printf(t->out, ", %s %llu", names[k], (unsigned long long)maps[k]);
		hob_buf_put(t->out, "\n", 1);
	}
	hob_text_more(t, m.material_count, "  ");
	put_strings(t, "texture file", m.files);
}

static void put_classic_scene(text_writer *t, hob_bytes file)
{
	hob_classic_scene s;
	if (!hob_classic_open_scene(file, &s, NULL))
		return;
	hob_text_heading(t, "%u node%s, %u with a mesh, %u with a material", s.node_count,
					 HOB_PLURAL(s.node_count), s.meshes.count, s.materials.count);
	for (uint32_t i = 0; i < hob_text_rows(t, s.node_count); i++) {
		hob_classic_hierarchy h = hob_classic_node_at(&s, i);
		hob_buf_printf(t->out, "  %u: parent %d, level %d, first child %d, next sibling %d\n", i, h.parent,
					   h.level, h.firstChild, h.nextSibling);
	}
	hob_text_more(t, s.node_count, "  ");
	if (!s.has_names)
		return;
	put_strings(t, "node name", s.node_names);
	put_strings(t, "material name", s.material_names);
}

static void put_classic(text_writer *t, hob_bytes file, hob_classic_kind kind)
{
	static const char *const kinds[] = {"", "meshes", "materials", "scene"};
	hob_error why = {0};
	bool valid = hob_classic_validate(file, kind, &why);
	hob_text_heading(t, "classic %s file", kinds[kind]);
	hob_buf_printf(t->out, "  %zu bytes\n  %s%s\n", file.size,
				   valid ? "valid" : "damaged: ", valid ? "" : why.context);
	put_classic_meshes(t, kind == HOB_CLASSIC_MESHES ? file : (hob_bytes){0});
	put_classic_materials(t, kind == HOB_CLASSIC_MATERIALS ? file : (hob_bytes){0});
	put_classic_scene(t, kind == HOB_CLASSIC_SCENE ? file : (hob_bytes){0});
}

bool hob_describe_text(hob_bytes file, const hob_describe_options *options, hob_buf *out, hob_error *err)
{
	text_writer t = {.out = out,
					 .max_rows = options && options->max_rows ? options->max_rows : 20,
					 .color = options && options->color};
	hob_classic_kind classic = HOB_CLASSIC_NOTHING;
	hob_buf copy = {0};
	size_t start = out->size;
	bool ok = true;
	if (hob_pack_is(file)) {
		hob_pack pack;
		ok = hob_describe_open(file, &copy, &pack, err) && put_packed(&t, &pack, err);
	} else if ((classic = hob_classic_sniff(file)) != HOB_CLASSIC_NOTHING) {
		put_classic(&t, file, classic);
	} else {
		ok = hob_fail(err, CORRUPT, "neither a packed nor a classic Hob file");
	}
	hob_buf_release(&copy);
	if (ok && out->failed)
		ok = hob_fail(err, MEMORY, "no memory for the description");
	if (!ok)
		out->size = start;
	return ok;
}
