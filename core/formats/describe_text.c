#include "describe_value.h"
#include "number_text.h"
#include "pack_geometry.h"
#include "pack_validate.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>

typedef struct text_writer {
	hob_buf *out;
	uint32_t max_rows;
	bool color;
} text_writer;

/* Writes foreign text without control characters, which must not reach a terminal. */
static void put_harmless(text_writer *t, hob_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		hob_buf_put(t->out, (uint8_t)c < ' ' || c == 127 ? "?" : &text.data[i], 1);
	}
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

/* Appends text by `format`: %s a text, %q a foreign hob_str in quotes, %w a name of the schema as words, %u a
 * number, %p "s" unless that number was 1, %l 64 bits, %d a signed number, %f a float, %v three floats in an
 * array, %4v four. */
static void say_list(text_writer *t, const char *format, va_list args)
{
	uint64_t number = 0;
	for (; *format; format++) {
		size_t count = 3;
		if (*format != '%') {
			hob_buf_put(t->out, format, 1);
			continue;
		}
		if (format[1] >= '0' && format[1] <= '9')
			count = (size_t)(*++format - '0');
		hob_str name;
		const float *values;
		switch (*++format) {
		case 's':
			hob_buf_put_str(t->out, hob_str_of(va_arg(args, const char *)));
			break;
		case 'q':
			name = va_arg(args, hob_str);
			hob_buf_put(t->out, "'", 1);
			put_harmless(t, name);
			hob_buf_put(t->out, "'", 1);
			break;
		case 'w':
			put_word(t, va_arg(args, const char *));
			break;
		case 'u':
		case 'l':
			number = *format == 'u' ? va_arg(args, uint32_t) : va_arg(args, uint64_t);
			hob_buf_printf(t->out, "%llu", (unsigned long long)number);
			break;
		case 'p':
			hob_buf_put(t->out, "s", number == 1 ? 0 : 1);
			break;
		case 'd':
			hob_buf_printf(t->out, "%d", va_arg(args, int));
			break;
		case 'f':
			hob_put_f32(t->out, (float)va_arg(args, double));
			break;
		default:
			assert(*format == 'v');
			values = va_arg(args, const float *);
			for (size_t i = 0; i < count; i++) {
				hob_buf_put(t->out, " ", i > 0);
				hob_put_f32(t->out, values[i]);
			}
		}
	}
}

static void say(text_writer *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say_list(t, format, args);
	va_end(args);
}

static void text_heading(text_writer *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(t, "%s", t->color ? "\x1b[1m" : "");
	say_list(t, format, args);
	say(t, "%s\n", t->color ? "\x1b[0m" : "");
	va_end(args);
}

static uint32_t text_rows(const text_writer *t, uint32_t count)
{
	return count < t->max_rows ? count : t->max_rows;
}

/* "... and n more" if rows were left out. */
static void text_more(text_writer *t, uint32_t count, const char *indent)
{
	if (count > t->max_rows)
		say(t, "%s... and %u more\n", indent, count - t->max_rows);
}

/* " what {json}" on one line, cut if it is very long. */
static void text_json(text_writer *t, const char *what, hob_str json)
{
	enum { LONGEST = 300 };
	size_t end = json.len > LONGEST ? LONGEST : json.len;
	while (end > 0 && end < json.len && ((uint8_t)json.data[end] & 0xC0) == 0x80)
		end--;
	say(t, "%s ", what);
	put_harmless(t, hob_str_sub(json, 0, end));
	if (end < json.len)
		say(t, "... (%l bytes, --json shows all)", (uint64_t)json.len);
}

/* ", mesh 3" or ", no mesh". */
static void text_id(text_writer *t, const char *what, uint32_t id)
{
	if (id == HOB_PK_NONE)
		say(t, ", no %s", what);
	else
		say(t, ", %s %u", what, id);
}

/* ", has tangents, lines": the names of the set bits. */
static void text_bits(text_writer *t, const char *group, uint32_t bits)
{
	for (uint32_t bit = 0; bit < 32; bit++) {
		const char *name = bits >> bit & 1 ? hob_format_name_of(group, 1u << bit) : NULL;
		if (name)
			say(t, ", %w", name);
	}
}

/* ---- rows of packed tables ---- */

/* The name of row i in a table of names. */
static hob_str name_in(const hob_pack *pack, uint32_t section, uint32_t i)
{
	return hob_pack_string(pack, *HOB_PACK_AT(uint32_t, hob_pack_find(pack, section), i));
}

static void put_layout(text_writer *t, const hob_pack *pack, uint32_t i)
{
	hob_pack_array attributes = hob_pack_find(pack, HOB_PK_ATTR);
	const hob_pk_layout *layout = HOB_PACK_AT(hob_pk_layout, hob_pack_find(pack, HOB_PK_LAYT), i);
	say(t, "  %u: %u vertices, streams of", i, layout->vertex_count);
	for (uint32_t s = 0; s < layout->stream_count; s++)
		say(t, " %u", hob_pack_section(pack, layout->sections[s])->stride);
	say(t, " bytes\n");
	for (uint32_t k = 0; k < layout->attribute_count; k++) {
		const hob_pk_attribute *a = HOB_PACK_AT(hob_pk_attribute, attributes, layout->attribute_first + k);
		say(t, "     %w %u: %s, %w, stream %u at %u\n", hob_format_name_of("semantic", a->semantic), a->set,
			hob_vertex_format_of(a->format)->name, hob_format_name_of("encoding", a->encoding), a->stream,
			a->offset);
	}
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
		if (values[i] > 0)
			say(t, ", %s %f", names[i], (double)values[i]);
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
		say(t, "     level %u: %u %s", l, count, shapes[mesh->topology]);
		say(t, "%s, vertices 0..%u, error %f", HOB_PLURAL(count), lod->vertex_prefix, (double)lod->error);
		if (mean > 0)
			say(t, ", on average %f", (double)mean);
		put_attribute_error(t, pack, mesh->lod_first + l);
		say(t, ", %u-bit indices", hob_pack_section(pack, lod->index_section)->stride * 8);
		if (lod->meshlet_count)
			say(t, ", %u meshlet%p", lod->meshlet_count);
		say(t, "\n");
	}
}

static void put_clusters(text_writer *t, const hob_pack *pack, const hob_pk_mesh *mesh)
{
	hob_pack_array sets = hob_pack_find(pack, HOB_PK_CLST);
	for (uint32_t i = 0; i < sets.count; i++) {
		const hob_pk_cluster_set *set = HOB_PACK_AT(hob_pk_cluster_set, sets, i);
		if (set->lod_first == mesh->lod_first && mesh->lod_count > 0)
			say(t, "     hierarchy: %u cluster%p in %u group%p\n", set->cluster_count, set->group_count);
	}
}

static void put_mesh(text_writer *t, const hob_pack *pack, uint32_t i)
{
	const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, hob_pack_find(pack, HOB_PK_MDSC), i);
	say(t, "  %u: %q, %u vertices", i, hob_pack_string(pack, mesh->name), mesh->vertex_count);
	text_id(t, "layout", mesh->layout);
	text_id(t, "material", mesh->material);
	if (mesh->skin != HOB_PK_NONE)
		text_id(t, "skin", mesh->skin);
	text_bits(t, "mesh_flag", mesh->flags);
	say(t, "\n     box (%v) to (%v)\n", mesh->aabb_min, mesh->aabb_max);
	put_levels(t, pack, mesh);
	put_clusters(t, pack, mesh);
	for (uint32_t k = 0; k < text_rows(t, mesh->morph_count); k++) {
		const hob_pk_morph *morph =
			HOB_PACK_AT(hob_pk_morph, hob_pack_find(pack, HOB_PK_MRPH), mesh->morph_first + k);
		say(t, "     morph target %q: %u %s, weight %f\n", hob_pack_string(pack, morph->name),
			morph->delta_count, morph->delta_count == 1 ? "vertex" : "vertices", (double)morph->weight);
	}
	text_more(t, mesh->morph_count, "     ");
}

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
		say(t, ", %s", fields[f].name);
		for (uint32_t i = 0; i < values; i++)
			say(t, " %f", (double)hob_load_f32(at + (size_t)i * 4));
	}
}

static void put_material(text_writer *t, const hob_pack *pack, uint32_t i)
{
	hob_pack_array refs = hob_pack_find(pack, HOB_PK_TEXR), images = hob_pack_find(pack, HOB_PK_IMGS);
	const hob_pk_material *material = HOB_PACK_AT(hob_pk_material, hob_pack_find(pack, HOB_PK_MATL), i);
	say(t, "  %u: %q", i, hob_pack_string(pack, material->name));
	text_bits(t, "material_flag", material->flags);
	put_set_fields(t, material);
	say(t, "\n");
	for (uint32_t s = 0; s < HOB_COUNT_OF(material->textures); s++) {
		if (material->textures[s] == HOB_PK_NONE)
			continue;
		const hob_pk_texref *ref = HOB_PACK_AT(hob_pk_texref, refs, material->textures[s]);
		say(t, "     %w: image %u %q", hob_format_name_of("slot", s), ref->image,
			hob_pack_string(pack, HOB_PACK_AT(hob_pk_image, images, ref->image)->name));
		say(t, ref->uv_set ? ", uv set %u\n" : "\n", ref->uv_set);
	}
}

static void put_image(text_writer *t, const hob_pack *pack, uint32_t i)
{
	const hob_pk_image *image = HOB_PACK_AT(hob_pk_image, hob_pack_find(pack, HOB_PK_IMGS), i);
	say(t, "  %u: %q, %ux%u, %u level%p, %w, VkFormat %u, %l bytes", i, hob_pack_string(pack, image->name),
		image->width, image->height, image->mips, hob_format_name_of("image_container", image->container),
		image->vk_format, image->bytes);
	text_bits(t, "image_flag", image->flags);
	say(t, ", blob ");
	hob_describe_hex(t->out, image->cooked_sha256, 8);
	say(t, "\n");
}

static void put_variant(text_writer *t, const hob_pack *pack, uint32_t i)
{
	say(t, "  %u: %q\n", i, name_in(pack, HOB_PK_VARI, i));
}

/* Appends ", bounds (0 0 0) to (1 1 1)" of everything in the scene, in metres. */
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
	if (all.min[0] <= all.max[0])
		say(t, ", bounds (%v) to (%v)", all.min, all.max);
}

static void put_scene(text_writer *t, const hob_pack *pack, uint32_t i)
{
	const hob_pk_scene *scene = HOB_PACK_AT(hob_pk_scene, hob_pack_find(pack, HOB_PK_SCNS), i);
	say(t, "  %u: %q, %u root%p%s", i, hob_pack_string(pack, scene->name), scene->root_count,
		scene->flags & HOB_PK_SCENE_DEFAULT ? ", default" : "");
	put_scene_box(t, pack, scene);
	say(t, "\n");
}

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
	hob_buf_printf(t->out, "  %*s", h->level < 40 ? h->level * 2 : 80, "");
	say(t, "%u: %q", node, name_in(pack, HOB_PK_NAMS, node));
	for (size_t i = 0; i < HOB_COUNT_OF(links); i++) {
		uint32_t value = hob_pack_link(hob_pack_find(pack, links[i].type), node);
		if (value != HOB_PK_NONE)
			text_id(t, links[i].what, value);
	}
	if (trs->t[0] != 0 || trs->t[1] != 0 || trs->t[2] != 0)
		say(t, ", at %v", trs->t);
	text_bits(t, "node_flag", trs->flags);
	say(t, "\n");
}

static void put_camera(text_writer *t, const hob_pack *pack, uint32_t i)
{
	const hob_pk_camera *c = HOB_PACK_AT(hob_pk_camera, hob_pack_find(pack, HOB_PK_CAMS), i);
	say(t, "  %u: %q", i, hob_pack_string(pack, c->name));
	say(t,
		c->type == HOB_PK_CAMERA_PERSPECTIVE ? ", perspective, yfov %f, aspect %f"
											 : ", orthographic, half height %f, half width %f",
		(double)c->yfov_or_ymag, (double)c->aspect_or_xmag);
	say(t, ", near %f, far %f\n", (double)c->znear, (double)c->zfar);
}

static void put_light(text_writer *t, const hob_pack *pack, uint32_t i)
{
	const hob_pk_light *light = HOB_PACK_AT(hob_pk_light, hob_pack_find(pack, HOB_PK_LGTS), i);
	say(t, "  %u: %q, %w, colour %v, intensity %f, range %f\n", i, hob_pack_string(pack, light->name),
		hob_format_name_of("light_type", light->type), light->color, (double)light->intensity,
		(double)light->range);
}

static void put_extra(text_writer *t, const hob_pack *pack, uint32_t i)
{
	static const char *const kinds[] = {"file",	  "scene", "node", "material", "mesh",
										"camera", "light", "skin", "clip"};
	const hob_pk_extra *extra = HOB_PACK_AT(hob_pk_extra, hob_pack_find(pack, HOB_PK_XTRA), i);
	hob_str values = hob_pack_string(pack, extra->values);
	hob_str extensions = hob_pack_string(pack, extra->extensions);
	say(t, extra->kind == HOB_PK_EXTRA_FILE ? "  %s" : "  %s %u", kinds[extra->kind], extra->index);
	if (extra->kind == HOB_PK_EXTRA_NODE)
		say(t, " %q", name_in(pack, HOB_PK_NAMS, extra->index));
	say(t, ":");
	if (values.len > 0)
		text_json(t, "", values);
	if (extensions.len > 0)
		text_json(t, values.len > 0 ? ", extensions" : " extensions", extensions);
	say(t, "\n");
}

static void put_clip(text_writer *t, const hob_pack *pack, uint32_t id)
{
	static const char *const kinds[] = {"translation", "rotation", "scale", "weights"};
	const hob_pk_clip *clip = HOB_PACK_AT(hob_pk_clip, hob_pack_find(pack, HOB_PK_CLIP), id);
	hob_pack_array channels = hob_pack_find(pack, HOB_PK_CHAN), samplers = hob_pack_find(pack, HOB_PK_SMPL);
	hob_pack_array properties = hob_pack_find(pack, HOB_PK_PROP);
	uint32_t by_path[4] = {0}, driven = 0;
	uint64_t keys = 0;
	say(t, "  %u: %q, %f to %f s, %u channel%p", id, hob_pack_string(pack, clip->name), (double)clip->start,
		(double)clip->end, clip->channel_count);
	for (uint32_t i = 0; i < clip->channel_count; i++) {
		const hob_pk_channel *channel = HOB_PACK_AT(hob_pk_channel, channels, clip->channel_first + i);
		by_path[channel->path]++;
		keys += HOB_PACK_AT(hob_pk_sampler, samplers, channel->sampler)->key_count;
	}
	for (uint32_t i = 0; i < properties.count; i++) {
		const hob_pk_property_channel *channel = HOB_PACK_AT(hob_pk_property_channel, properties, i);
		driven += channel->clip == id;
		keys += channel->clip == id ? HOB_PACK_AT(hob_pk_sampler, samplers, channel->sampler)->key_count : 0;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (by_path[i])
			say(t, ", %u %s", by_path[i], kinds[i]);
	if (driven)
		say(t, ", %u propert%s", driven, driven == 1 ? "y" : "ies");
	say(t, ", %l key%p\n", keys);
}

static void put_skin(text_writer *t, const hob_pack *pack, uint32_t i)
{
	const hob_pk_skin *skin = HOB_PACK_AT(hob_pk_skin, hob_pack_find(pack, HOB_PK_SKIN), i);
	say(t, "  %u: %q, %u joint%p", i, hob_pack_string(pack, skin->name), skin->joint_count);
	text_id(t, "root node", skin->root);
	say(t, "\n");
}

/* ---- packed ---- */

static void put_sections(text_writer *t, const hob_pack *pack)
{
	static const char *const codecs[] = {"raw", "meshopt vertex", "meshopt index", "meshopt sequence"};
	text_heading(t, "sections");
	say(t, "    #  type part      count stride       bytes      stored      offset  codec\n");
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

static text_writer writer_of(const hob_describer *d, hob_buf *out)
{
	const hob_describe_options *o = d->options;
	return (text_writer){out, o && o->max_rows ? o->max_rows : 20, o && o->color};
}

static void put_packed(const hob_describer *d, hob_buf *out, const hob_pack *pack)
{
	text_writer writer = writer_of(d, out), *t = &writer;
	/* The tables that are shown of each kind of file. */
	static const struct {
		uint32_t kind, section;
		const char *one, *many;
		bool only_filled; /* an empty one has no heading */
		void (*put)(text_writer *t, const hob_pack *pack, uint32_t row);
	} tables[] = {{HOB_PK_KIND_MESH, HOB_PK_MDSC, "mesh", "meshes", false, put_mesh},
				  {HOB_PK_KIND_MESH, HOB_PK_LAYT, "vertex layout", "vertex layouts", false, put_layout},
				  {HOB_PK_KIND_MATL, HOB_PK_MATL, "material", "materials", false, put_material},
				  {HOB_PK_KIND_MATL, HOB_PK_IMGS, "image", "images", false, put_image},
				  {HOB_PK_KIND_MATL, HOB_PK_VARI, "variant", "variants", true, put_variant},
				  {HOB_PK_KIND_SCNE, HOB_PK_SCNS, "scene", "scenes", false, put_scene},
				  {HOB_PK_KIND_SCNE, HOB_PK_HIER, "node", "nodes", false, put_node},
				  {HOB_PK_KIND_SCNE, HOB_PK_CAMS, "camera", "cameras", true, put_camera},
				  {HOB_PK_KIND_SCNE, HOB_PK_LGTS, "light", "lights", true, put_light},
				  {HOB_PK_KIND_SCNE, HOB_PK_XTRA, "of extras: custom properties of the source",
				   "of extras: custom properties of the source", true, put_extra},
				  {HOB_PK_KIND_ANIM, HOB_PK_CLIP, "clip", "clips", false, put_clip},
				  {HOB_PK_KIND_ANIM, HOB_PK_SKIN, "skin", "skins", false, put_skin}};
	const hob_pk_header *h = pack->header;
	hob_error why = {0};
	bool valid = hob_pack_validate(pack->file, &why);
	text_heading(t, "packed %s file, version %u.%u", hob_fourcc_text(h->kind).text, h->ver_major,
				 h->ver_minor);
	say(t, "  %l bytes, the first %l are metadata; digest ", h->file_bytes, h->prefix_bytes);
	hob_describe_hex(t->out, h->digest, sizeof h->digest);
	say(t, "\n  %s%s%s%s\n", !valid && t->color ? "\x1b[31m" : "",
		valid ? "valid" : "damaged: ", valid ? "" : why.context, !valid && t->color ? "\x1b[0m" : "");
	put_sections(t, pack);
	for (size_t i = 0; i < HOB_COUNT_OF(tables) && valid; i++) {
		uint32_t count = hob_pack_find(pack, tables[i].section).count;
		if (tables[i].kind != h->kind || (count == 0 && tables[i].only_filled))
			continue;
		text_heading(t, "%u %s", count, count == 1 ? tables[i].one : tables[i].many);
		for (uint32_t row = 0; row < text_rows(t, count); row++)
			tables[i].put(t, pack, row);
		text_more(t, count, "  ");
	}
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
		say(t, "  %u: %u vertices, triangles", i, mesh.vertexCount);
		for (uint32_t l = 0; l < mesh.lodCount && l < HOB_CLASSIC_MAX_LODS; l++)
			say(t, " %u", (mesh.lodOffset[l + 1] - mesh.lodOffset[l]) / 3);
		say(t, ", box (%v) to (%v)\n", box, box + 3);
	}
	text_more(t, m.mesh_count, "  ");
}

static void put_strings(text_writer *t, const char *what, hob_classic_strings strings)
{
	hob_str text;
	uint32_t count = strings.count;
	text_heading(t, "%u %s%s", count, what, HOB_PLURAL(count));
	for (uint32_t i = 0; i < text_rows(t, count) && hob_classic_strings_next(&strings, &text); i++)
		say(t, "  %u: %q\n", i, text);
	text_more(t, count, "  ");
}

static void put_classic_materials(text_writer *t, hob_bytes file)
{
	hob_classic_materials m;
	if (!hob_classic_open_materials(file, &m, NULL))
		return;
	text_heading(t, "%u material%p", m.material_count);
	for (uint32_t i = 0; i < text_rows(t, m.material_count); i++) {
		hob_classic_material r = hob_classic_material_at(&m, i);
		const uint64_t maps[] = {r.ambientOcclusionMap,	 r.emissiveMap, r.albedoMap,
								 r.metallicRoughnessMap, r.normalMap,	r.opacityMap};
		static const char *const names[] = {"occlusion",		  "emissive", "albedo",
											"metallic-roughness", "normal",	  "opacity"};
		say(t, "  %u: albedo %4v, metallic %f, roughness %2v, transparency %f, alpha test %f, flags %u", i,
			r.albedoColor, (double)r.metallicFactor, r.roughness, (double)r.transparencyFactor,
			(double)r.alphaTest, r.flags);
		for (size_t k = 0; k < HOB_COUNT_OF(maps); k++)
			if (maps[k] != HOB_CLASSIC_INVALID_TEXTURE)
				say(t, ", %s %l", names[k], maps[k]);
		say(t, "\n");
	}
	text_more(t, m.material_count, "  ");
	put_strings(t, "texture file", m.files);
}

static void put_classic_scene(text_writer *t, hob_bytes file)
{
	hob_classic_scene s;
	if (!hob_classic_open_scene(file, &s, NULL))
		return;
	text_heading(t, "%u node%p, %u with a mesh, %u with a material", s.node_count, s.meshes.count,
				 s.materials.count);
	for (uint32_t i = 0; i < text_rows(t, s.node_count); i++) {
		hob_classic_hierarchy h = hob_classic_node_at(&s, i);
		say(t, "  %u: parent %d, level %d, first child %d, next sibling %d\n", i, h.parent, h.level,
			h.firstChild, h.nextSibling);
	}
	text_more(t, s.node_count, "  ");
	if (!s.has_names)
		return;
	put_strings(t, "node name", s.node_names);
	put_strings(t, "material name", s.material_names);
}

static void put_classic(const hob_describer *d, hob_buf *out, hob_classic_kind kind)
{
	static const char *const kinds[] = {"", "meshes", "materials", "scene"};
	text_writer writer = writer_of(d, out), *t = &writer;
	hob_error why = {0};
	bool valid = hob_classic_validate(d->file, kind, &why);
	text_heading(t, "classic %s file", kinds[kind]);
	say(t, "  %l bytes\n  %s%s\n", (uint64_t)d->file.size,
		valid ? "valid" : "damaged: ", valid ? "" : why.context);
	if (kind == HOB_CLASSIC_MESHES)
		put_classic_meshes(t, d->file);
	else if (kind == HOB_CLASSIC_MATERIALS)
		put_classic_materials(t, d->file);
	else
		put_classic_scene(t, d->file);
}

bool hob_describe_text(hob_bytes file, const hob_describe_options *options, hob_buf *out, hob_error *err)
{
	return hob_describe_by(&(hob_describer){file, options, put_packed, put_classic, out}, err);
}
