#include "fbx_private.h"
#include "../text.h"
#include "../texture_path.h"

#include <math.h>

enum { CHAIN = 16 };

/* ---- bytes inside the file */

/* "Content" of a video: raw bytes, or base64 in one or several texts. */
static hob_bytes content_of(hob_fbx *f, uint32_t record)
{
	hob_fbx_cursor cursor = hob_fbx_values(f, record);
	hob_fbx_value value;
	hob_bytes out = {0};
	if (!f->ascii) {
		while (hob_fbx_next(f, &cursor, &value))
			if (value.text.len > out.size)
				out = (hob_bytes){(const uint8_t *)value.text.data, value.text.len};
		return out;
	}
	size_t room = 0, len = 0;
	while (hob_fbx_next(f, &cursor, &value))
		room += value.text.len;
	uint8_t *bytes = room > 0 ? HOB_NEW(f->result, uint8_t, room / 4 * 3 + 4) : NULL;
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t value_of[256];
	uint32_t bits = 0, held = 0;
	memset(value_of, 0xFF, sizeof value_of);
	for (uint8_t i = 0; i < 64; i++)
		value_of[(uint8_t)digits[i]] = i;
	cursor = hob_fbx_values(f, record);
	while (hob_fbx_next(f, &cursor, &value))
		for (size_t i = 0; i < value.text.len; i++) {
			uint8_t digit = value_of[(uint8_t)value.text.data[i]];
			if (digit == 0xFF)
				continue;
			bits = bits << 6 | digit;
			held += 6;
			if (held >= 8) {
				held -= 8;
				bytes[len++] = (uint8_t)(bits >> held);
			}
		}
	return (hob_bytes){bytes, len};
}

static hob_str text_of(const hob_fbx *f, uint32_t object, hob_str field)
{
	hob_str text = hob_fbx_child_text(f, f->objects[object].record, field);
	return hob_fbx_plain(f, text.len > 0 ? text : hob_fbx_prop_text(f, object, field));
}

/* Bytes of each Video object, decoded once; and by file name, the Video that embeds that file. */
typedef struct hob_fbx_videos {
	hob_bytes *contents; /* [objects] */
	hob_name_map by_file;
} hob_fbx_videos;

static void add_content(hob_fbx *f, hob_fbx_videos *all, uint32_t video)
{
	static const hob_str fields[] = {{"RelativeFilename", 16}, {"Filename", 8}, {"FileName", 8}};
	hob_bytes *content = &all->contents[video];
	*content = content_of(f, hob_fbx_child(f, f->objects[video].record, HOB_STR("Content")));
	for (size_t i = 0; i < HOB_COUNT_OF(fields) && content->size > 0; i++) {
		hob_str name = text_of(f, video, fields[i]);
		if (name.len > 0)
			hob_name_map_add(&all->by_file, name, video);
	}
}

static hob_fbx_videos *read_videos(hob_fbx *f)
{
	hob_fbx_videos *all = HOB_NEW(f->scratch, hob_fbx_videos, 1);
	all->contents = HOB_NEW(f->scratch, hob_bytes, f->object_count);
	hob_name_map_init(&all->by_file, f->scratch);
	for (uint32_t i = 0; i < f->object_count; i++)
		if (f->objects[i].class == HOB_FBX_VIDEO)
			add_content(f, all, i);
	return all;
}

/* Another video of the same file name may hold the bytes. */
static hob_bytes embedded(hob_fbx *f, uint32_t video, hob_str file_name)
{
	if (!f->videos)
		f->videos = read_videos(f);
	if (video != HOB_NONE && f->videos->contents[video].size > 0)
		return f->videos->contents[video];
	uint32_t other = file_name.len > 0 ? hob_name_map_get(&f->videos->by_file, file_name) : HOB_NONE;
	return other != HOB_NONE ? f->videos->contents[other] : (hob_bytes){0};
}

/* ---- where the picture is */

static bool exists(const hob_fbx *f, hob_str path)
{
	return path.len > 0 && hob_import_exists(f->request, path);
}

/* Looks in the folders into which the FBX SDK unpacks pictures, after the paths tried for every format. */
static hob_str look_in_folder(hob_fbx *f, hob_str name)
{
	hob_str own = hob_path_name(f->request->path);
	hob_str extension = hob_path_extension(own);
	hob_str stem = hob_str_sub(own, 0, own.len - extension.len - (extension.len > 0));
	for (int i = 0; i < 2; i++) {
		hob_str relative = i == 0
							   ? hob_arena_printf(f->scratch, "%.*s.fbm/%.*s", HOB_FMT(stem), HOB_FMT(name))
							   : hob_arena_printf(f->scratch, "Textures/%.*s", HOB_FMT(name));
		hob_str path;
		if (hob_io_join(f->request->io, f->scratch, hob_path_dir(f->request->path), relative, &path, NULL) &&
			exists(f, path))
			return relative;
	}
	return (hob_str){0};
}

static uint32_t add_embedded(hob_fbx *f, hob_str key, hob_str name, hob_bytes bytes)
{
	uint32_t id = hob_name_map_get(&f->lists.images.by_path, key);
	if (id != HOB_NONE)
		return id;
	hob_image *image = hob_image_set_add(&f->lists.images, &id);
	image->name = hob_text_name(f->result, hob_text_last_part(name));
	image->bytes = bytes;
	return hob_name_map_add(&f->lists.images.by_path, key, id);
}

static bool is_absolute(hob_str path)
{
	return path.len > 0 &&
		   (path.data[0] == '/' || path.data[0] == '\\' || (path.len > 1 && path.data[1] == ':'));
}

/* Shader textures of 3ds Max name their file in a property of the shader: "3dsMax|OSLBitmap3|Filename". */
static hob_str shader_file(const hob_fbx *f, uint32_t texture)
{
	static const hob_str ends[] = {{"|filename", 9}, {"|bitmap", 7}};
	uint32_t props = f->objects[texture].props;
	uint32_t record = props == HOB_NONE ? HOB_NONE : f->records[props].child;
	for (; record != HOB_NONE; record = f->records[record].next) {
		hob_str name = hob_fbx_value_at(f, record, 0).text;
		for (size_t i = 0; i < HOB_COUNT_OF(ends); i++)
			if (hob_str_ends_nocase(name, ends[i]) && hob_fbx_prop_text(f, texture, name).len > 0)
				return hob_fbx_plain(f, hob_fbx_prop_text(f, texture, name));
	}
	return (hob_str){0};
}

/* Precedence: an existing file, embedded bytes, a missing file. */
static uint32_t picture_of(hob_fbx *f, uint32_t texture)
{
	uint32_t video = hob_fbx_below(f, texture, HOB_FBX_VIDEO, (hob_str){0});
	hob_str relative = text_of(f, texture, HOB_STR("RelativeFilename")),
			absolute = text_of(f, texture, HOB_STR("FileName"));
	if (absolute.len == 0)
		absolute = text_of(f, texture, HOB_STR("Filename"));
	if (video != HOB_NONE && relative.len == 0)
		relative = text_of(f, video, HOB_STR("RelativeFilename"));
	if (video != HOB_NONE && absolute.len == 0)
		absolute = text_of(f, video, HOB_STR("Filename"));
	if (relative.len == 0 && absolute.len == 0)
		absolute = shader_file(f, texture);
	hob_str wanted = relative.len > 0 && !is_absolute(relative) ? relative
					 : absolute.len > 0							? absolute
																: relative;
	hob_bytes bytes = embedded(f, video, relative.len > 0 ? relative : absolute);
	if (wanted.len == 0 && bytes.size == 0)
		return HOB_NONE;
	hob_str path = {0};
	if (wanted.len > 0)
		path = hob_import_texture_path(f->request, hob_path_dir(f->request->path), wanted);
	if (wanted.len > 0 && !exists(f, path)) {
		hob_str found = look_in_folder(f, hob_text_last_part(wanted));
		if (found.len > 0)
			return hob_image_set_file(&f->lists.images, found);
		if (absolute.len > 0 && !hob_str_equal(absolute, wanted) &&
			!hob_str_equal(hob_text_last_part(absolute), hob_text_last_part(wanted)) && bytes.size == 0) {
			path = hob_import_texture_path(f->request, hob_path_dir(f->request->path), absolute);
			if (exists(f, path))
				return hob_image_set_file(&f->lists.images, absolute);
		}
		if (bytes.size > 0)
			wanted = relative.len > 0 ? relative : absolute;
	}
	if (bytes.size > 0 && (wanted.len == 0 || !exists(f, path))) {
		hob_str key = hob_arena_printf(f->scratch, "*%u*%.*s", wanted.len > 0 ? 0 : texture, HOB_FMT(wanted));
		return add_embedded(f, key, wanted, bytes);
	}
	return hob_image_set_file(&f->lists.images, wanted);
}

/* ---- a texture */

/* The UV set of that name in a geometry that uses the texture's material; the first if there is none. */
static uint32_t uv_set_of(const hob_fbx *f, hob_str name)
{
	if (name.len == 0 || hob_str_equal(name, HOB_STR("default")))
		return 0;
	for (uint32_t g = 0; g < f->geometry_count; g++)
		for (uint32_t set = 0; set < HOB_UV_SETS; set++)
			if (f->geometries[g].used && f->geometries[g].uv_names[set].data &&
				hob_str_equal(f->geometries[g].uv_names[set], name))
				return set;
	return 0;
}

/* M = T R S, around the pivots, applies to V pointing up; F M F with F(u, v) = (u, 1 - v) to Hob's V, which
 * points down. Maya's repeat and Max's tiling are S itself. Blender's exporter writes the inverse of its own
 * scale and rotation, the latter in radians. */
static void uv_transform(const hob_fbx *f, uint32_t texture, hob_texture_ref *ref)
{
	double t[3] = {0}, r[3] = {0}, s[3] = {1, 1, 1}, rp[3] = {0}, sp[3] = {0}, m[16];
	bool any = hob_fbx_prop_vector(f, texture, HOB_STR("Translation"), t);
	any = hob_fbx_prop_vector(f, texture, HOB_STR("Rotation"), r) || any;
	any = hob_fbx_prop_vector(f, texture, HOB_STR("Scaling"), s) || any;
	hob_fbx_prop_vector(f, texture, HOB_STR("TextureRotationPivot"), rp);
	hob_fbx_prop_vector(f, texture, HOB_STR("TextureScalingPivot"), sp);
	bool swap = hob_fbx_prop_integer(f, texture, HOB_STR("UVSwap"), 0) != 0;
	if ((!any && !swap) || fabs(s[0]) < 1e-9 || fabs(s[1]) < 1e-9)
		return;
	if (f->is_blender_new) {
		s[0] = 1 / s[0], s[1] = 1 / s[1];
		r[2] *= -180 / 3.14159265358979323846;
	}
	hob_fbx_rig rig = {.pre = {0, 0, 0, 1}, .post_inverse = {0, 0, 0, 1}};
	memcpy(rig.rotation_pivot, rp, sizeof rp);
	memcpy(rig.scaling_pivot, sp, sizeof sp);
	hob_fbx_trs place;
	s[2] = 1;
	hob_fbx_place(&rig, t, r, s, &place);
	hob_fbx_trs_matrix(&place, m);
	double a = m[0], b = -m[4], c = -m[1], d = m[5], x = m[12] + m[4], y = 1 - m[13] - m[5];
	if (swap) {
		const double u[3] = {a, b, x};
		a = -c, b = -d, x = 1 - y;
		c = -u[0], d = -u[1], y = 1 - u[2];
	}
	double length = sqrt(a * a + c * c), determinant = a * d - b * c;
	if (!(length > 1e-12) || !isfinite(length) || !isfinite(determinant) || fabs(x) > 1e6 || fabs(y) > 1e6)
		return;
	ref->offset[0] = (float)x + 0.0f;
	ref->offset[1] = (float)y + 0.0f;
	ref->scale[0] = (float)length;
	ref->scale[1] = (float)(determinant / length);
	ref->rotation = (float)atan2(-c, a) + 0.0f;
}

/* The file texture below layers and shader textures: the top layer, which hides the others. */
static uint32_t file_texture(hob_fbx *f, uint32_t texture)
{
	for (int hops = 0; hops < CHAIN; hops++) {
		const hob_fbx_object *o = &f->objects[texture];
		bool names = text_of(f, texture, HOB_STR("RelativeFilename")).len > 0 ||
					 text_of(f, texture, HOB_STR("FileName")).len > 0 ||
					 hob_fbx_below(f, texture, HOB_FBX_VIDEO, (hob_str){0}) != HOB_NONE;
		if (o->class == HOB_FBX_TEXTURE && (names || shader_file(f, texture).len > 0))
			return texture;
		uint32_t next = HOB_NONE, layers = 0;
		HOB_FBX_EACH_BELOW (edge, f, texture, OTHER, "") {
			hob_fbx_class class = f->objects[edge->child].class;
			if (class != HOB_FBX_TEXTURE && class != HOB_FBX_LAYERED_TEXTURE)
				continue;
			next = layers++ == 0 ? edge->child : next;
		}
		if (next == HOB_NONE)
			return HOB_NONE;
		if (layers > 1)
			hob_fbx_note(f, "layers", "texture '%.*s' has %u layers; only one is read", HOB_FMT(o->name),
						 layers);
		texture = next;
	}
	return HOB_NONE;
}

static hob_wrap wrap_of(const hob_fbx *f, uint32_t texture, hob_str mode)
{
	return hob_fbx_prop_integer(f, texture, mode, 0) == 1 ? HOB_WRAP_CLAMP : HOB_WRAP_REPEAT;
}

bool hob_fbx_read_texture(hob_fbx *f, uint32_t asked, hob_texture_ref *ref)
{
	uint32_t texture = file_texture(f, asked);
	ref->image = texture != HOB_NONE ? picture_of(f, texture) : HOB_NONE;
	if (ref->image == HOB_NONE) {
		hob_fbx_note(f, "no-picture",
					 "texture '%.*s' names no picture (the program that wrote the file computes it); "
					 "bake it into one",
					 HOB_FMT(f->objects[asked].name));
		return false;
	}
	hob_sampler sampler = {.wrap_u = wrap_of(f, texture, HOB_STR("WrapModeU")),
						   .wrap_v = wrap_of(f, texture, HOB_STR("WrapModeV"))};
	ref->uv_set = uv_set_of(f, hob_fbx_prop_text(f, texture, HOB_STR("UVSet")));
	uv_transform(f, texture, ref);
	if (sampler.wrap_u != HOB_WRAP_REPEAT || sampler.wrap_v != HOB_WRAP_REPEAT)
		ref->sampler = hob_lists_sampler(&f->lists, sampler);
	return true;
}

void hob_fbx_list_unused(hob_fbx *f, uint32_t object)
{
	static const char *const fields[] = {"RelativeFilename", "FileName", "Filename"};
	hob_str file = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(fields) && file.len == 0; i++)
		file = text_of(f, object, hob_str_of(fields[i]));
	hob_image_set_unused(&f->lists.images, file);
}
