#include "describe_value.h"
#include "number_text.h"
#include "pack_geometry.h"
#include "describe.h"
#include "classic.h"
#include "pack_validate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

typedef struct text_writer {
	hob_buf *out;
	uint32_t max_rows;
	bool color;
} text_writer;

static void text_heading(text_writer *t, const char *fmt, ...)
{
	va_list args;
	char line[256];
	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	hob_buf_printf(t->out, "%s%s%s\n", t->color ? "\x1b[1m" : "", line, t->color ? "\x1b[0m" : "");
}

static uint32_t text_rows(const text_writer *t, uint32_t count)
{
	return count < t->max_rows ? count : t->max_rows;
}

/* "... and n more" if rows were left out. */
static void text_more(text_writer *t, uint32_t count, const char *indent)
{
	if (count > t->max_rows)
		hob_buf_printf(t->out, "%s... and %u more\n", indent, count - t->max_rows);
}

static void text_floats(text_writer *t, const float *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		hob_buf_printf(t->out, i ? " " : "");
		hob_put_f32(t->out, values[i]);
	}
}

/* Writes foreign text without control characters, which must not reach a terminal. */
static void put_harmless(text_writer *t, hob_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		hob_buf_put(t->out, (uint8_t)c < ' ' || c == 127 ? "?" : &text.data[i], 1);
	}
}

static void put_name(text_writer *t, hob_str name)
{
	hob_buf_put(t->out, "'", 1);
	put_harmless(t, name);
	hob_buf_put(t->out, "'", 1);
}

/* " what {json}" on one line, cut if it is very long. */
static void text_json(text_writer *t, const char *what, hob_str json)
{
	enum { LONGEST = 300 };
	size_t end = json.len > LONGEST ? LONGEST : json.len;
	while (end > 0 && end < json.len && ((uint8_t)json.data[end] & 0xC0) == 0x80)
		end--;
	hob_buf_printf(t->out, "%s ", what);
	put_harmless(t, hob_str_sub(json, 0, end));
	if (end < json.len)
		hob_buf_printf(t->out, "... (%zu bytes, --json shows all)", json.len);
}

/* ", mesh 3" or ", no mesh". */
static void text_id(text_writer *t, const char *what, uint32_t id)
{
	if (id == HOB_PK_NONE)
		hob_buf_printf(t->out, ", no %s", what);
	else
		hob_buf_printf(t->out, ", %s %u", what, id);
}

/* Writes MESH_HAS_TANGENTS as "has tangents": without the first word, in lower case. */
static void put_word(text_writer *t, const char *name)
{
	const char *from = strchr(name, '_') ? strchr(name, '_') + 1 : name;
	for (const char *at = from; *at; at++) {
		char c = *at == '_' ? ' ' : *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
		hob_buf_put(t->out, &c, 1);
	}
}

/* ", has tangents, lines": the names of the set bits. */
static void text_bits(text_writer *t, const char *group, uint32_t bits)
{
	for (uint32_t bit = 0; bit < 32; bit++) {
		const char *name = bits >> bit & 1 ? hob_format_name_of(group, 1u << bit) : NULL;
		for (const char *at = name ? ", " : ""; *at; at++)
			hob_buf_put(t->out, at, 1);
		if (name)
			put_word(t, name);
	}
}

/* ---- meshes ---- */

static void put_layouts(text_writer *t, const hob_pack *pack)
{
	hob_pack_array layouts = hob_pack_find(pack, HOB_PK_LAYT), attributes = hob_pack_find(pack, HOB_PK_ATTR);
	text_heading(t, "%u vertex layout%s", layouts.count, HOB_PLURAL(layouts.count));
	for (uint32_t l = 0; l < text_rows(t, layouts.count); l++) {
		const hob_pk_layout *layout = HOB_PACK_AT(hob_pk_layout, layouts, l);
		hob_buf_printf(t->out, "  %u: %u vertices, streams of", l, layout->vertex_count);
		for (uint32_t s = 0; s < layout->stream_count; s++)
			hob_buf_printf(t->out, " %u", hob_pack_section(pack, layout->sections[s])->stride);
		hob_buf_printf(t->out, " bytes\n");
		for (uint32_t i = 0; i < layout->attribute_count; i++) {
			const hob_pk_attribute *a =
				HOB_PACK_AT(hob_pk_attribute, attributes, layout->attribute_first + i);
			const char *semantic = hob_format_name_of("semantic", a->semantic),
					   *encoding = hob_format_name_of("encoding", a->encoding);
			hob_buf_printf(t->out, "     ");
			put_word(t, semantic);
			hob_buf_printf(t->out, " %u: %s, ", a->set, hob_vertex_format_of(a->format)->name);
			put_word(t, encoding);
			hob_buf_printf(t->out, ", stream %u at %u\n", a->stream, a->offset);
		}
	}
	text_more(t, layouts.count, "  ");
}

static void put_attribute_error(text_writer *t, const hob_pack *pack, uint32_t level)
{
	hob_pack_array errors = hob_pack_find(pack, HOB_PK_LODA);
	if (level >= errors.count)
		return;
	const hob_pk_lod_attributes *error = HOB_PACK_AT(hob_pk_lod_attributes, errors, level);
	const char *const names[] = {"uv", "colour", "weight"};
	const float values[] = {error->uv, error->color, error->weight};
	for (size_t i = 0; i < HOB_COUNT_OF(values); i++)
		if (values[i] > 0) {
			hob_buf_printf(t->out, ", %s ", names[i]);
			text_floats(t, &values[i], 1);
		}
}

static void put_levels(text_writer *t, const hob_pack *pack, const hob_pk_mesh *mesh)
{
	static const char *const shapes[] = {"triangle", "line", "point"};
	static const uint32_t corners[] = {3, 2, 1};
	hob_pack_array lods = hob_pack_find(pack, HOB_PK_LODS);
	for (uint32_t l = 0; l < mesh->lod_count; l++) {
		const hob_pk_lod *lod = HOB_PACK_AT(hob_pk_lod, lods, mesh->lod_first + l);
		uint32_t count = lod->index_count / corners[mesh->topology];
		float mean = hob_pack_lod_mean(pack, mesh->lod_first + l);
		hob_buf_printf(t->out, "     level %u: %u %s%s, vertices 0..%u, error ", l, count,
					   shapes[mesh->topology], HOB_PLURAL(count), lod->vertex_prefix);
		text_floats(t, &lod->error, 1);
		if (mean > 0) {
			hob_buf_printf(t->out, ", on average ");
			text_floats(t, &mean, 1);
		}
		put_attribute_error(t, pack, mesh->lod_first + l);
		hob_buf_printf(t->out, ", %u-bit indices", hob_pack_section(pack, lod->index_section)->stride * 8);
		if (lod->meshlet_count)
			hob_buf_printf(t->out, ", %u meshlet%s", lod->meshlet_count, HOB_PLURAL(lod->meshlet_count));
		hob_buf_put(t->out, "\n", 1);
	}
}

static void put_clusters(text_writer *t, const hob_pack *pack, const hob_pk_mesh *mesh)
{
	hob_pack_array sets = hob_pack_find(pack, HOB_PK_CLST);
	for (uint32_t i = 0; i < sets.count; i++) {
		const hob_pk_cluster_set *set = HOB_PACK_AT(hob_pk_cluster_set, sets, i);
		if (set->lod_first == mesh->lod_first && mesh->lod_count > 0)
			hob_buf_printf(t->out, "     hierarchy: %u cluster%s in %u group%s\n", set->cluster_count,
						   HOB_PLURAL(set->cluster_count), set->group_count, HOB_PLURAL(set->group_count));
	}
}

static void put_morphs(text_writer *t, const hob_pack *pack, const hob_pk_mesh *mesh)
{
	hob_pack_array morphs = hob_pack_find(pack, HOB_PK_MRPH);
	for (uint32_t i = 0; i < text_rows(t, mesh->morph_count); i++) {
		const hob_pk_morph *morph = HOB_PACK_AT(hob_pk_morph, morphs, mesh->morph_first + i);
		hob_buf_printf(t->out, "     morph target ");
		put_name(t, hob_pack_string(pack, morph->name));
		hob_buf_printf(t->out, ": %u %s, weight ", morph->delta_count,
					   morph->delta_count == 1 ? "vertex" : "vertices");
		text_floats(t, &morph->weight, 1);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, mesh->morph_count, "     ");
}

/* The tables of one kind of a valid packed file. */
static void text_meshes(text_writer *t, const hob_pack *pack)
{
	hob_pack_array meshes = hob_pack_find(pack, HOB_PK_MDSC);
	text_heading(t, "%u mesh%s", meshes.count, meshes.count == 1 ? "" : "es");
	for (uint32_t i = 0; i < text_rows(t, meshes.count); i++) {
		const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, meshes, i);
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, mesh->name));
		hob_buf_printf(t->out, ", %u vertices", mesh->vertex_count);
		text_id(t, "layout", mesh->layout);
		text_id(t, "material", mesh->material);
		if (mesh->skin != HOB_PK_NONE)
			text_id(t, "skin", mesh->skin);
		text_bits(t, "mesh_flag", mesh->flags);
		hob_buf_printf(t->out, "\n     box (");
		text_floats(t, mesh->aabb_min, 3);
		hob_buf_printf(t->out, ") to (");
		text_floats(t, mesh->aabb_max, 3);
		hob_buf_printf(t->out, ")\n");
		put_levels(t, pack, mesh);
		put_clusters(t, pack, mesh);
		put_morphs(t, pack, mesh);
	}
	text_more(t, meshes.count, "  ");
	put_layouts(t, pack);
}

/* ---- materials ---- */

/* Values of the default material, which are not described. */
static const hob_pk_material plain_material = {
	.base_color = {1, 1, 1, 1},
	.emissive_strength = 1,
	.metallic = 1,
	.roughness = 1,
	.normal_scale = 1,
	.occlusion_strength = 1,
	.alpha_cutoff = 0.5f,
	.ior = 1.5f,
	.specular_color = {1, 1, 1},
	.specular = 1,
	.clearcoat_normal_scale = 1,
	.attenuation_color = {1, 1, 1},
	.attenuation_distance = INFINITY,
	.iridescence_ior = 1.3f,
	.iridescence_min = 100,
	.iridescence_max = 400,
	.diffuse_transmission_color = {1, 1, 1},
};

static void put_set_fields(text_writer *t, const hob_pk_material *material)
{
	uint32_t count;
	const format_field *fields = hob_format_record("material", &count);
	for (uint32_t f = 0; f < count; f++) {
		uint32_t values = fields[f].count ? fields[f].count : 1;
		const uint8_t *at = (const uint8_t *)material + fields[f].offset;
		const uint8_t *plain = (const uint8_t *)&plain_material + fields[f].offset;
		if (fields[f].type != FORMAT_f32 || memcmp(at, plain, (size_t)values * 4) == 0 ||
			fields[f].offset == offsetof(hob_pk_material, aniso_roughness))
			continue;
		hob_buf_printf(t->out, ", %s ", fields[f].name);
		for (uint32_t i = 0; i < values; i++) {
			float value = hob_load_f32(at + (size_t)i * 4);
			hob_buf_printf(t->out, i ? " " : "");
			text_floats(t, &value, 1);
		}
	}
}

static void put_textures(text_writer *t, const hob_pack *pack, const hob_pk_material *material)
{
	hob_pack_array refs = hob_pack_find(pack, HOB_PK_TEXR), images = hob_pack_find(pack, HOB_PK_IMGS);
	for (uint32_t s = 0; s < HOB_COUNT_OF(material->textures); s++) {
		if (material->textures[s] == HOB_PK_NONE)
			continue;
		const hob_pk_texref *ref = HOB_PACK_AT(hob_pk_texref, refs, material->textures[s]);
		hob_buf_printf(t->out, "     ");
		put_word(t, hob_format_name_of("slot", s));
		hob_buf_printf(t->out, ": image %u ", ref->image);
		put_name(t, hob_pack_string(pack, HOB_PACK_AT(hob_pk_image, images, ref->image)->name));
		hob_buf_printf(t->out, ref->uv_set ? ", uv set %u\n" : "\n", ref->uv_set);
	}
}

static void put_images(text_writer *t, const hob_pack *pack)
{
	hob_pack_array images = hob_pack_find(pack, HOB_PK_IMGS);
	text_heading(t, "%u image%s", images.count, HOB_PLURAL(images.count));
	for (uint32_t i = 0; i < text_rows(t, images.count); i++) {
		const hob_pk_image *image = HOB_PACK_AT(hob_pk_image, images, i);
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, image->name));
		hob_buf_printf(t->out, ", %ux%u, %u level%s, ", image->width, image->height, image->mips,
					   HOB_PLURAL(image->mips));
		put_word(t, hob_format_name_of("image_container", image->container));
		hob_buf_printf(t->out, ", VkFormat %u, %llu bytes", image->vk_format,
					   (unsigned long long)image->bytes);
		text_bits(t, "image_flag", image->flags);
		hob_buf_printf(t->out, ", blob ");
		hob_describe_hex(t->out, image->cooked_sha256, 8);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, images.count, "  ");
}

static void text_materials(text_writer *t, const hob_pack *pack)
{
	hob_pack_array materials = hob_pack_find(pack, HOB_PK_MATL), variants = hob_pack_find(pack, HOB_PK_VARI);
	text_heading(t, "%u material%s", materials.count, HOB_PLURAL(materials.count));
	for (uint32_t i = 0; i < text_rows(t, materials.count); i++) {
		const hob_pk_material *material = HOB_PACK_AT(hob_pk_material, materials, i);
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, material->name));
		text_bits(t, "material_flag", material->flags);
		put_set_fields(t, material);
		hob_buf_put(t->out, "\n", 1);
		put_textures(t, pack, material);
	}
	text_more(t, materials.count, "  ");
	put_images(t, pack);
	if (variants.count)
		text_heading(t, "%u variant%s", variants.count, HOB_PLURAL(variants.count));
	for (uint32_t i = 0; i < text_rows(t, variants.count); i++) {
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, *HOB_PACK_AT(uint32_t, variants, i)));
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, variants.count, "  ");
}

/* ---- scene ---- */

static void put_node(text_writer *t, const hob_pack *pack, uint32_t node)
{
	static const struct {
		uint32_t type;
		const char *what;
	} links[] = {{HOB_PK_LMSH, "mesh"},
				 {HOB_PK_LMAT, "material"},
				 {HOB_PK_LCAM, "camera"},
				 {HOB_PK_LLGT, "light"},
				 {HOB_PK_LSKN, "skin"}};
	const hob_pk_hierarchy *h = HOB_PACK_AT(hob_pk_hierarchy, hob_pack_find(pack, HOB_PK_HIER), node);
	const hob_pk_trs *trs = HOB_PACK_AT(hob_pk_trs, hob_pack_find(pack, HOB_PK_TRS_), node);
	hob_buf_printf(t->out, "  %*s%u: ", h->level < 40 ? h->level * 2 : 80, "", node);
	put_name(t, hob_pack_string(pack, *HOB_PACK_AT(uint32_t, hob_pack_find(pack, HOB_PK_NAMS), node)));
	for (size_t i = 0; i < HOB_COUNT_OF(links); i++) {
		uint32_t value = hob_pack_link(hob_pack_find(pack, links[i].type), node);
		if (value != HOB_PK_NONE)
			text_id(t, links[i].what, value);
	}
	if (trs->t[0] != 0 || trs->t[1] != 0 || trs->t[2] != 0) {
		hob_buf_printf(t->out, ", at ");
		text_floats(t, trs->t, 3);
	}
	text_bits(t, "node_flag", trs->flags);
	hob_buf_put(t->out, "\n", 1);
}

static void put_cameras_and_lights(text_writer *t, const hob_pack *pack)
{
	hob_pack_array cameras = hob_pack_find(pack, HOB_PK_CAMS), lights = hob_pack_find(pack, HOB_PK_LGTS);
	if (cameras.count)
		text_heading(t, "%u camera%s", cameras.count, HOB_PLURAL(cameras.count));
	for (uint32_t i = 0; i < text_rows(t, cameras.count); i++) {
		const hob_pk_camera *camera = HOB_PACK_AT(hob_pk_camera, cameras, i);
		bool perspective = camera->type == HOB_PK_CAMERA_PERSPECTIVE;
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, camera->name));
		hob_buf_printf(t->out, perspective ? ", perspective, yfov " : ", orthographic, half height ");
		text_floats(t, &camera->yfov_or_ymag, 1);
		hob_buf_printf(t->out, perspective ? ", aspect " : ", half width ");
		text_floats(t, &camera->aspect_or_xmag, 1);
		hob_buf_printf(t->out, ", near ");
		text_floats(t, &camera->znear, 1);
		hob_buf_printf(t->out, ", far ");
		text_floats(t, &camera->zfar, 1);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, cameras.count, "  ");
	if (lights.count)
		text_heading(t, "%u light%s", lights.count, HOB_PLURAL(lights.count));
	for (uint32_t i = 0; i < text_rows(t, lights.count); i++) {
		const hob_pk_light *light = HOB_PACK_AT(hob_pk_light, lights, i);
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, light->name));
		hob_buf_printf(t->out, ", ");
		put_word(t, hob_format_name_of("light_type", light->type));
		hob_buf_printf(t->out, ", colour ");
		text_floats(t, light->color, 3);
		hob_buf_printf(t->out, ", intensity ");
		text_floats(t, &light->intensity, 1);
		hob_buf_printf(t->out, ", range ");
		text_floats(t, &light->range, 1);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, lights.count, "  ");
}

static void put_extras(text_writer *t, const hob_pack *pack)
{
	static const struct {
		const char *what;
		uint32_t names; /* section of their names, 0: none */
	} kinds[] = {{"file", 0},	{"scene", 0}, {"node", HOB_PK_NAMS}, {"material", 0}, {"mesh", 0},
				 {"camera", 0}, {"light", 0}, {"skin", 0},			 {"clip", 0}};
	hob_pack_array extras = hob_pack_find(pack, HOB_PK_XTRA);
	if (extras.count)
		text_heading(t, "%u of extras: custom properties of the source", extras.count);
	for (uint32_t i = 0; i < text_rows(t, extras.count); i++) {
		const hob_pk_extra *extra = HOB_PACK_AT(hob_pk_extra, extras, i);
		hob_str values = hob_pack_string(pack, extra->values);
		hob_str extensions = hob_pack_string(pack, extra->extensions);
		hob_buf_printf(t->out, "  %s", kinds[extra->kind].what);
		if (extra->kind != HOB_PK_EXTRA_FILE)
			hob_buf_printf(t->out, " %u", extra->index);
		if (kinds[extra->kind].names) {
			hob_pack_array names = hob_pack_find(pack, kinds[extra->kind].names);
			hob_buf_put(t->out, " ", 1);
			put_name(t, hob_pack_string(pack, *HOB_PACK_AT(uint32_t, names, extra->index)));
		}
		hob_buf_put(t->out, ":", 1);
		if (values.len > 0)
			text_json(t, "", values);
		if (extensions.len > 0)
			text_json(t, values.len > 0 ? ", extensions" : " extensions", extensions);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, extras.count, "  ");
}

/* ", bounds (0 0 0) to (1 1 1)" of everything in the scene, in metres. */
static void put_scene_box(text_writer *t, const hob_pack *pack, const hob_pk_scene *scene)
{
	hob_pack_array roots = hob_pack_find(pack, HOB_PK_ROOT), boxes = hob_pack_find(pack, HOB_PK_AABB);
	hob_pk_box all = {{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}};
	for (uint32_t i = 0; i < scene->root_count; i++) {
		uint32_t root = *HOB_PACK_AT(uint32_t, roots, scene->root_first + i);
		const hob_pk_box *box = HOB_PACK_AT(hob_pk_box, boxes, root);
		for (size_t k = 0; k < 3; k++) {
			all.min[k] = box->min[k] < all.min[k] ? box->min[k] : all.min[k];
			all.max[k] = box->max[k] > all.max[k] ? box->max[k] : all.max[k];
		}
	}
	if (all.min[0] > all.max[0])
		return;
	hob_buf_printf(t->out, ", bounds (");
	text_floats(t, all.min, 3);
	hob_buf_printf(t->out, ") to (");
	text_floats(t, all.max, 3);
	hob_buf_put(t->out, ")", 1);
}

static void text_scene(text_writer *t, const hob_pack *pack)
{
	hob_pack_array scenes = hob_pack_find(pack, HOB_PK_SCNS), nodes = hob_pack_find(pack, HOB_PK_HIER);
	text_heading(t, "%u scene%s", scenes.count, HOB_PLURAL(scenes.count));
	for (uint32_t i = 0; i < text_rows(t, scenes.count); i++) {
		const hob_pk_scene *scene = HOB_PACK_AT(hob_pk_scene, scenes, i);
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, scene->name));
		hob_buf_printf(t->out, ", %u root%s%s", scene->root_count, HOB_PLURAL(scene->root_count),
					   scene->flags & HOB_PK_SCENE_DEFAULT ? ", default" : "");
		put_scene_box(t, pack, scene);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, scenes.count, "  ");
	text_heading(t, "%u node%s", nodes.count, HOB_PLURAL(nodes.count));
	for (uint32_t i = 0; i < text_rows(t, nodes.count); i++)
		put_node(t, pack, i);
	text_more(t, nodes.count, "  ");
	put_cameras_and_lights(t, pack);
	put_extras(t, pack);
}

/* ---- animations ---- */

static void put_channel_kinds(text_writer *t, const hob_pack *pack, const hob_pk_clip *clip, uint32_t id)
{
	static const char *const kinds[] = {"translation", "rotation", "scale", "weights"};
	hob_pack_array channels = hob_pack_find(pack, HOB_PK_CHAN), samplers = hob_pack_find(pack, HOB_PK_SMPL);
	uint32_t by_path[4] = {0};
	uint64_t keys = 0;
	for (uint32_t i = 0; i < clip->channel_count; i++) {
		const hob_pk_channel *channel = HOB_PACK_AT(hob_pk_channel, channels, clip->channel_first + i);
		by_path[channel->path]++;
		keys += HOB_PACK_AT(hob_pk_sampler, samplers, channel->sampler)->key_count;
	}
	hob_pack_array properties = hob_pack_find(pack, HOB_PK_PROP);
	uint32_t driven = 0;
	for (uint32_t i = 0; i < properties.count; i++) {
		const hob_pk_property_channel *channel = HOB_PACK_AT(hob_pk_property_channel, properties, i);
		driven += channel->clip == id;
		keys += channel->clip == id ? HOB_PACK_AT(hob_pk_sampler, samplers, channel->sampler)->key_count : 0;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (by_path[i])
			hob_buf_printf(t->out, ", %u %s", by_path[i], kinds[i]);
	if (driven)
		hob_buf_printf(t->out, ", %u propert%s", driven, driven == 1 ? "y" : "ies");
	hob_buf_printf(t->out, ", %llu key%s\n", (unsigned long long)keys, HOB_PLURAL(keys));
}

static void text_animations(text_writer *t, const hob_pack *pack)
{
	hob_pack_array clips = hob_pack_find(pack, HOB_PK_CLIP), skins = hob_pack_find(pack, HOB_PK_SKIN);
	text_heading(t, "%u clip%s", clips.count, HOB_PLURAL(clips.count));
	for (uint32_t i = 0; i < text_rows(t, clips.count); i++) {
		const hob_pk_clip *clip = HOB_PACK_AT(hob_pk_clip, clips, i);
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, clip->name));
		hob_buf_printf(t->out, ", ");
		text_floats(t, &clip->start, 1);
		hob_buf_printf(t->out, " to ");
		text_floats(t, &clip->end, 1);
		hob_buf_printf(t->out, " s, %u channel%s", clip->channel_count, HOB_PLURAL(clip->channel_count));
		put_channel_kinds(t, pack, clip, i);
	}
	text_more(t, clips.count, "  ");
	text_heading(t, "%u skin%s", skins.count, HOB_PLURAL(skins.count));
	for (uint32_t i = 0; i < text_rows(t, skins.count); i++) {
		const hob_pk_skin *skin = HOB_PACK_AT(hob_pk_skin, skins, i);
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, hob_pack_string(pack, skin->name));
		hob_buf_printf(t->out, ", %u joint%s", skin->joint_count, HOB_PLURAL(skin->joint_count));
		text_id(t, "root node", skin->root);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, skins.count, "  ");
}

/* ---- packed: container ---- */

static void put_sections(text_writer *t, const hob_pack *pack)
{
	static const char *const codecs[] = {"raw", "meshopt vertex", "meshopt index", "meshopt sequence"};
	text_heading(t, "sections");
	hob_buf_printf(t->out, "    #  type part      count stride       bytes      stored      offset  codec\n");
	for (uint32_t i = 0; i < text_rows(t, pack->section_count); i++) {
		const hob_pk_section *s = hob_pack_section(pack, i);
		hob_buf_printf(t->out, "  %3u  %s %4u %10u %6u %11llu %11llu %11llu  %s\n", i,
					   hob_fourcc_text(s->type).text, s->part, s->count, s->stride,
					   (unsigned long long)s->raw_bytes, (unsigned long long)s->stored_bytes,
					   (unsigned long long)s->offset,
					   s->codec < HOB_COUNT_OF(codecs) ? codecs[s->codec] : "unknown");
	}
	text_more(t, pack->section_count, "  ");
}

static bool put_packed(text_writer *t, const hob_pack *pack, hob_error *err)
{
	const hob_pk_header *h = pack->header;
	hob_error why = {0};
	bool valid = hob_pack_validate(pack->file, &why);
	if (why.code == HOB_ERR_MEMORY)
		return hob_fail(err, MEMORY, "%s", why.context);
	text_heading(t, "packed %s file, version %u.%u", hob_fourcc_text(h->kind).text, h->ver_major,
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
		text_meshes(t, pack);
	else if (h->kind == HOB_PK_KIND_MATL)
		text_materials(t, pack);
	else if (h->kind == HOB_PK_KIND_SCNE)
		text_scene(t, pack);
	else
		text_animations(t, pack);
	return true;
}

/* ---- classic ---- */

static void put_classic_meshes(text_writer *t, hob_bytes file)
{
	hob_classic_meshes m;
	if (!hob_classic_open_meshes(file, &m, NULL))
		return;
	text_heading(t, "%u mesh%s, %u indices, %u vertices", m.mesh_count, m.mesh_count == 1 ? "" : "es",
				 m.index_count, m.vertex_count);
	for (uint32_t i = 0; i < text_rows(t, m.mesh_count); i++) {
		hob_classic_mesh mesh = hob_classic_mesh_at(&m, i);
		float box[6];
		memcpy(box, m.boxes + i * sizeof(hob_classic_box), sizeof box);
		hob_buf_printf(t->out, "  %u: %u vertices, triangles", i, mesh.vertexCount);
		for (uint32_t l = 0; l < mesh.lodCount && l < HOB_CLASSIC_MAX_LODS; l++)
			hob_buf_printf(t->out, " %u", (mesh.lodOffset[l + 1] - mesh.lodOffset[l]) / 3);
		hob_buf_printf(t->out, ", box (");
		text_floats(t, box, 3);
		hob_buf_printf(t->out, ") to (");
		text_floats(t, box + 3, 3);
		hob_buf_printf(t->out, ")\n");
	}
	text_more(t, m.mesh_count, "  ");
}

static void put_strings(text_writer *t, const char *what, hob_classic_strings strings)
{
	hob_str text;
	text_heading(t, "%u %s%s", strings.count, what, HOB_PLURAL(strings.count));
	uint32_t count = strings.count;
	for (uint32_t i = 0; i < text_rows(t, count) && hob_classic_strings_next(&strings, &text); i++) {
		hob_buf_printf(t->out, "  %u: ", i);
		put_name(t, text);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, count, "  ");
}

static void put_classic_materials(text_writer *t, hob_bytes file)
{
	hob_classic_materials m;
	if (!hob_classic_open_materials(file, &m, NULL))
		return;
	text_heading(t, "%u material%s", m.material_count, HOB_PLURAL(m.material_count));
	for (uint32_t i = 0; i < text_rows(t, m.material_count); i++) {
		hob_classic_material r = hob_classic_material_at(&m, i);
		const uint64_t maps[] = {r.ambientOcclusionMap,	 r.emissiveMap, r.albedoMap,
								 r.metallicRoughnessMap, r.normalMap,	r.opacityMap};
		static const char *const names[] = {"occlusion",		  "emissive", "albedo",
											"metallic-roughness", "normal",	  "opacity"};
		hob_buf_printf(t->out, "  %u: albedo ", i);
		text_floats(t, r.albedoColor, 4);
		hob_buf_printf(t->out, ", metallic ");
		text_floats(t, &r.metallicFactor, 1);
		hob_buf_printf(t->out, ", roughness ");
		text_floats(t, r.roughness, 2);
		hob_buf_printf(t->out, ", transparency ");
		text_floats(t, &r.transparencyFactor, 1);
		hob_buf_printf(t->out, ", alpha test ");
		text_floats(t, &r.alphaTest, 1);
		hob_buf_printf(t->out, ", flags %u", r.flags);
		for (size_t k = 0; k < HOB_COUNT_OF(maps); k++)
			if (maps[k] != HOB_CLASSIC_INVALID_TEXTURE)
				hob_buf_printf(t->out, ", %s %llu", names[k], (unsigned long long)maps[k]);
		hob_buf_put(t->out, "\n", 1);
	}
	text_more(t, m.material_count, "  ");
	put_strings(t, "texture file", m.files);
}

static void put_classic_scene(text_writer *t, hob_bytes file)
{
	hob_classic_scene s;
	if (!hob_classic_open_scene(file, &s, NULL))
		return;
	text_heading(t, "%u node%s, %u with a mesh, %u with a material", s.node_count, HOB_PLURAL(s.node_count),
				 s.meshes.count, s.materials.count);
	for (uint32_t i = 0; i < text_rows(t, s.node_count); i++) {
		hob_classic_hierarchy h = hob_classic_node_at(&s, i);
		hob_buf_printf(t->out, "  %u: parent %d, level %d, first child %d, next sibling %d\n", i, h.parent,
					   h.level, h.firstChild, h.nextSibling);
	}
	text_more(t, s.node_count, "  ");
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
	text_heading(t, "classic %s file", kinds[kind]);
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
