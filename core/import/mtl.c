#include "mtl.h"

#include "../base/guard.h"
#include "../base/number.h"
#include "shape.h"
#include "text.h"

#include <math.h>

/* ---- library */

/* Blender writes Ns = (1 - roughness)^2 * range; the range depends on the exporter's version. */
static float blender_range(hob_str text)
{
	hob_str line;
	if (!hob_text_line(&text, &line) || !hob_str_starts(line, HOB_STR("# Blender ")))
		return 0;
	return line.len > 10 && hob_is_digit(line.data[10]) ? 1000 : 900;
}

void hob_mtl_index(hob_mtl_library *library, hob_str dir, hob_str text)
{
	float range = blender_range(text);
	hob_mtl_entry *open = NULL;
	hob_str rest = text, line;
	for (const char *start = rest.data; hob_text_line(&rest, &line); start = rest.data) {
		hob_str word = hob_text_word(&line);
		if (!hob_str_equal_nocase(word, HOB_STR("newmtl")))
			continue;
		if (open)
			open->body.len = (size_t)(start - open->body.data);
		uint32_t id = (uint32_t)(library->entries.size / sizeof *open);
		hob_str name = hob_text_trim(line);
		open = NULL;
		if (hob_name_map_add(&library->by_name, name, id) != id)
			continue;
		open = (hob_mtl_entry *)(void *)hob_buf_grow(&library->entries, sizeof *open);
		*open = (hob_mtl_entry){name, rest, dir, range};
	}
}

const hob_mtl_entry *hob_mtl_find(const hob_mtl_library *library, hob_str name)
{
	uint32_t id = hob_name_map_get(&library->by_name, name);
	return id == HOB_NONE ? NULL : (const hob_mtl_entry *)(const void *)library->entries.data + id;
}

/* ---- one material */

typedef struct mtl_reader {
	const hob_mtl_entry *entry;
	hob_image_set *images;
	hob_material *out;
	uint32_t clamp_sampler;
	bool clamped;
	bool has_d, has_tr, has_ns, has_roughness, has_metal, has_ks, unlit;
	float d, tr, ns, ks[3];
} mtl_reader;

/* Parses a word as a number; *out is unchanged unless the whole word is a finite one. */
static bool number_of(hob_str word, float *out)
{
	const char *end = word.data + word.len;
	float value;
	if (word.len == 0 || hob_number_float(word.data, end, &value) != end || value - value != 0)
		return false;
	*out = value;
	return true;
}

/* CIE XYZ to linear colour with sRGB's primaries; IEC 61966-2-1. */
static void color_of_xyz(float rgb[3])
{
	const float x = rgb[0], y = rgb[1], z = rgb[2];
	rgb[0] = 3.2406f * x - 1.5372f * y - 0.4986f * z;
	rgb[1] = -0.9689f * x + 1.8758f * y + 0.0415f * z;
	rgb[2] = 0.0557f * x - 0.2040f * y + 1.0570f * z;
}

/* One to three numbers, optionally after "xyz"; missing ones repeat the first. */
static bool color_of(hob_str line, float out[3])
{
	float rgb[3];
	hob_str word = hob_text_word(&line);
	bool xyz = hob_str_equal_nocase(word, HOB_STR("xyz"));
	if (!number_of(xyz ? hob_text_word(&line) : word, &rgb[0]))
		return false;
	for (int i = 1; i < 3; i++)
		if (!number_of(hob_text_word(&line), &rgb[i]))
			rgb[i] = rgb[0];
	if (xyz)
		color_of_xyz(rgb);
	for (int i = 0; i < 3; i++)
		out[i] = rgb[i] > 0 ? rgb[i] : 0;
	return true;
}

static void read_number(mtl_reader *r, hob_str word, hob_str line)
{
	static const struct {
		const char *name;
		size_t offset;
		int ext; /* -1: none */
		bool unit;
	} numbers[] = {
		{"Pr", offsetof(hob_material, roughness), -1, true},
		{"Pm", offsetof(hob_material, metallic), -1, true},
		{"Pc", offsetof(hob_material, clearcoat), HOB_MATERIAL_CLEARCOAT, true},
		{"Pcr", offsetof(hob_material, clearcoat_roughness), HOB_MATERIAL_CLEARCOAT, true},
		{"aniso", offsetof(hob_material, anisotropy), HOB_MATERIAL_ANISOTROPY, true},
		{"anisor", offsetof(hob_material, anisotropy_rotation), HOB_MATERIAL_ANISOTROPY, false},
	};
	float value;
	hob_str first = line;
	if (!number_of(hob_text_word(&first), &value))
		return;
	for (size_t i = 0; i < HOB_COUNT_OF(numbers); i++)
		if (hob_str_equal_nocase(word, hob_str_of(numbers[i].name))) {
			/* A value of 0 does not turn the extension on: exporters write it for unused statements. */
			if (numbers[i].ext >= 0 && value > 0)
				r->out->ext_mask |= 1u << numbers[i].ext;
			*(float *)(void *)((char *)r->out + numbers[i].offset) =
				numbers[i].unit ? hob_shape_clamp01(value) : value * 6.28318531f;
			r->has_roughness = r->has_roughness || i == 0;
			r->has_metal = r->has_metal || i == 1;
		}
	if (hob_str_equal_nocase(word, HOB_STR("Ns")))
		r->has_ns = true, r->ns = value;
	else if (hob_str_equal_nocase(word, HOB_STR("Tr")))
		r->has_tr = true, r->tr = hob_shape_clamp01(value);
	else if (hob_str_equal_nocase(word, HOB_STR("illum")))
		r->unlit = value >= 0 && value < 1;
	else if (hob_str_equal_nocase(word, HOB_STR("Ni")) && value > 1 && value < 10) {
		r->out->ior = value;
		r->out->ext_mask |= 1u << HOB_MATERIAL_IOR;
	} else if (hob_str_equal_nocase(word, HOB_STR("Ps")) && value > 0) {
		for (int i = 0; i < 3; i++)
			r->out->sheen_color[i] = hob_shape_clamp01(value);
		r->out->ext_mask |= 1u << HOB_MATERIAL_SHEEN;
	}
}

static void say_ignored(const mtl_reader *r, hob_str what)
{
	hob_warn(r->images->request->notes, "mtl.ignored", "material '%.*s': %.*s is left out",
			 HOB_FMT(r->entry->name), HOB_FMT(what));
}

/* Whether a statement is ignored with a note: spectral colours, and filters of transmitted light except
 * white, which passes everything, and black, which exporters write for opaque. */
static bool is_ignored(hob_str word, hob_str line)
{
	float color[3];
	if (word.len == 2 && word.data[0] == 'K' &&
		hob_str_equal_nocase(hob_text_word(&line), HOB_STR("spectral")))
		return true;
	if (!hob_str_equal_nocase(word, HOB_STR("Tf")) || !color_of(line, color))
		return false;
	float sum = color[0] + color[1] + color[2];
	return sum > 0 && sum < 2.999f;
}

static void read_value(mtl_reader *r, hob_str word, hob_str line)
{
	float color[3];
	if (is_ignored(word, line))
		say_ignored(r, word);
	if (hob_str_equal_nocase(word, HOB_STR("Kd")) && color_of(line, color)) {
		memcpy(r->out->base_color, color, sizeof color);
	} else if (hob_str_equal_nocase(word, HOB_STR("Ke")) && color_of(line, color)) {
		memcpy(r->out->emissive, color, sizeof color);
	} else if (hob_str_equal_nocase(word, HOB_STR("Ks")) && color_of(line, color)) {
		memcpy(r->ks, color, sizeof color);
		r->has_ks = true;
	} else if (hob_str_equal_nocase(word, HOB_STR("d"))) {
		hob_str first = hob_text_word(&line);
		if (hob_str_equal_nocase(first, HOB_STR("-halo")))
			first = hob_text_word(&line);
		if (number_of(first, &r->d))
			r->has_d = true;
	} else {
		read_number(r, word, line);
	}
}

/* ---- maps */

typedef struct map_options {
	float scale[2], offset[2], bump;
	bool clamp;
	hob_str ignored; /* an unsupported option that changes the picture */
	hob_channel_choice channel;
} map_options;

static bool next_is_number(hob_str line, float *out)
{
	return number_of(hob_text_word(&line), out);
}

/* -imfchan: the channel to read. m is the matte, l the luminance; z does not exist in a picture. */
static hob_channel_choice channel_of(hob_str word)
{
	static const struct {
		const char *name;
		hob_channel_choice channel;
	} known[] = {{"r", HOB_CHANNEL_R},
				 {"g", HOB_CHANNEL_G},
				 {"b", HOB_CHANNEL_B},
				 {"m", HOB_CHANNEL_A},
				 {"l", HOB_CHANNEL_LUMINANCE}};
	for (size_t i = 0; i < HOB_COUNT_OF(known); i++)
		if (hob_str_equal_nocase(word, hob_str_of(known[i].name)))
			return known[i].channel;
	return HOB_CHANNEL_OF_SLOT;
}

/* Options that change a picture's look: base and gain, turbulence. */
static bool changes_picture(hob_str option, hob_str arguments)
{
	float first = 0, second = 1, base = hob_str_equal_nocase(option, HOB_STR("-mm")) ? 1.0f : 0.0f;
	if (base == 0 && !hob_str_equal_nocase(option, HOB_STR("-t")))
		return false;
	(void)number_of(hob_text_word(&arguments), &first);
	(void)number_of(hob_text_word(&arguments), &second);
	return first != 0 || (base > 0 && second != 1);
}

/* Removes the options from the line; the file name remains. */
static void take_options(hob_str *line, map_options *options)
{
	static const struct {
		const char *name;
		int words; /* number of arguments; -1: one to three numbers */
	} known[] = {
		{"-blendu", 1},	 {"-blendv", 1}, {"-boost", 1},	 {"-mm", 2},		 {"-o", -1},
		{"-s", -1},		 {"-t", -1},	 {"-texres", 1}, {"-clamp", 1},		 {"-bm", 1},
		{"-imfchan", 1}, {"-type", 1},	 {"-cc", 1},	 {"-colorspace", 1},
	};
	for (;;) {
		hob_str ahead = *line;
		hob_str word = hob_text_word(&ahead);
		size_t i = 0;
		while (i < HOB_COUNT_OF(known) && !hob_str_equal_nocase(word, hob_str_of(known[i].name)))
			i++;
		if (i == HOB_COUNT_OF(known))
			return;
		hob_str first = ahead;
		float values[3] = {0, 0, 0}, value;
		int count = 0;
		if (known[i].words < 0)
			for (; count < 3 && next_is_number(ahead, &value); values[count++] = value)
				hob_text_word(&ahead);
		for (int w = 0; w < known[i].words; w++)
			hob_text_word(&ahead);
		options->ignored = changes_picture(word, first) ? word : options->ignored;
		hob_str argument = hob_text_word(&first);
		if (hob_str_equal(word, HOB_STR("-clamp")))
			options->clamp = hob_str_equal_nocase(argument, HOB_STR("on"));
		else if (hob_str_equal(word, HOB_STR("-bm")) && number_of(argument, &value))
			options->bump = value;
		else if (hob_str_equal_nocase(word, HOB_STR("-imfchan")))
			options->channel = channel_of(argument);
		float *pair = word.data[1] == 'o' ? options->offset : word.data[1] == 's' ? options->scale : NULL;
		for (int k = 0; pair && word.len == 2 && k < 2 && k < count; k++)
			pair[k] = values[k];
		*line = ahead;
	}
}

/* Some exporters write options after the name: "a.png -bm 0.5". */
static void take_late_options(hob_str *file, map_options *options)
{
	for (size_t i = 1; i + 1 < file->len; i++) {
		if (file->data[i] != '-' || !hob_is_blank(file->data[i - 1]))
			continue;
		hob_str behind = hob_str_sub(*file, i, file->len);
		map_options with = *options;
		take_options(&behind, &with);
		if (hob_text_trim(behind).len > 0)
			continue;
		*options = with;
		*file = hob_text_trim(hob_str_sub(*file, 0, i));
		return;
	}
}

/* Maps by statement; a picture that feeds several channels has one row for each. */
static const struct {
	const char *name;
	int slot, ext; /* ext -1: none */
	hob_channel_choice channel;
} maps[] = {
	{"map_Kd", HOB_SLOT_BASE_COLOR, -1, 0},
	{"map_Ks", HOB_SLOT_SPECULAR_COLOR, HOB_MATERIAL_SPECULAR, 0},
	{"map_Ke", HOB_SLOT_EMISSIVE, -1, 0},
	{"map_emissive", HOB_SLOT_EMISSIVE, -1, 0},
	{"map_d", HOB_SLOT_OPACITY, -1, 0},
	{"map_opacity", HOB_SLOT_OPACITY, -1, 0},
	{"map_bump", HOB_SLOT_BUMP, -1, 0},
	{"bump", HOB_SLOT_BUMP, -1, 0},
	{"norm", HOB_SLOT_NORMAL, -1, 0},
	{"map_Kn", HOB_SLOT_NORMAL, -1, 0},
	{"map_norm", HOB_SLOT_NORMAL, -1, 0},
	{"map_normal", HOB_SLOT_NORMAL, -1, 0},
	{"map_Pr", HOB_SLOT_ROUGHNESS, -1, 0},
	{"map_roughness", HOB_SLOT_ROUGHNESS, -1, 0},
	{"map_Pm", HOB_SLOT_METALLIC, -1, 0},
	{"map_metallic", HOB_SLOT_METALLIC, -1, 0},
	{"map_Pc", HOB_SLOT_CLEARCOAT, HOB_MATERIAL_CLEARCOAT, 0},
	{"map_Pcr", HOB_SLOT_CLEARCOAT_ROUGH, HOB_MATERIAL_CLEARCOAT, 0},
	{"map_Ps", HOB_SLOT_SHEEN_COLOR, HOB_MATERIAL_SHEEN, 0},
	{"map_ao", HOB_SLOT_OCCLUSION, -1, 0},
	{"map_ORM", HOB_SLOT_OCCLUSION, -1, 0},
	{"map_ORM", HOB_SLOT_METAL_ROUGH, -1, 0},
	{"map_RMA", HOB_SLOT_ROUGHNESS, -1, HOB_CHANNEL_R},
	{"map_RMA", HOB_SLOT_METALLIC, -1, HOB_CHANNEL_G},
	{"map_RMA", HOB_SLOT_OCCLUSION, -1, HOB_CHANNEL_B},
};

static bool is_unread_map(hob_str word)
{
	static const char *const others[] = {"refl", "disp", "decal"};
	for (size_t i = 0; i < HOB_COUNT_OF(others); i++)
		if (hob_str_equal_nocase(word, hob_str_of(others[i])))
			return true;
	/* Ignored: ambient colour does not light a surface, and antialiasing belongs to the renderer. */
	return word.len > 4 && hob_str_equal_nocase(hob_str_sub(word, 0, 4), HOB_STR("map_")) &&
		   !hob_str_equal_nocase(word, HOB_STR("map_aat")) && !hob_str_equal_nocase(word, HOB_STR("map_Ka"));
}

/* Exporters often name normal maps in "bump", which means a height map. */
static bool is_normal_map(const mtl_reader *r, hob_str file)
{
	static const char *const signs[] = {"normal", "_nrm", "_nor.", "_n.", "-n.", "_nm."};
	if (r->entry->ns_range > 0)
		return true;
	for (size_t s = 0; s < HOB_COUNT_OF(signs); s++) {
		hob_str sign = hob_str_of(signs[s]);
		for (size_t i = 0; i + sign.len <= file.len; i++)
			if (hob_str_equal_nocase(hob_str_sub(file, i, i + sign.len), sign))
				return true;
	}
	return false;
}

static void put_map(mtl_reader *r, hob_slot slot, hob_str file, const map_options *options)
{
	if (slot == HOB_SLOT_BUMP && is_normal_map(r, file))
		slot = HOB_SLOT_NORMAL;
	hob_texture_ref *ref = &r->out->slots[slot];
	ref->image = hob_image_set_file(r->images, file);
	/* Options apply to V pointing up: v' = s v + o becomes s v + (1 - s - o). */
	ref->scale[0] = options->scale[0];
	ref->scale[1] = options->scale[1];
	ref->offset[0] = options->offset[0];
	ref->offset[1] = 1 - options->scale[1] - options->offset[1];
	if (options->channel != HOB_CHANNEL_OF_SLOT)
		ref->channel = options->channel;
	if (options->clamp) {
		ref->sampler = r->clamp_sampler;
		r->clamped = true;
	}
	if (slot == HOB_SLOT_BUMP || slot == HOB_SLOT_NORMAL)
		r->out->normal_scale = options->bump;
}

static void read_map(mtl_reader *r, hob_str word, hob_str line)
{
	map_options options = {.scale = {1, 1}, .bump = 1};
	take_options(&line, &options);
	hob_str file = hob_text_trim(line);
	take_late_options(&file, &options);
	if (file.len >= 2 && file.data[0] == '"' && file.data[file.len - 1] == '"')
		file = hob_str_sub(file, 1, file.len - 1);
	if (file.len == 0)
		return;
	bool known = false;
	for (size_t i = 0; i < HOB_COUNT_OF(maps); i++) {
		if (!hob_str_equal_nocase(word, hob_str_of(maps[i].name)))
			continue;
		known = true;
		if (maps[i].ext >= 0)
			r->out->ext_mask |= 1u << maps[i].ext;
		r->out->slots[maps[i].slot].channel = maps[i].channel;
		put_map(r, (hob_slot)maps[i].slot, file, &options);
	}
	if (known && options.ignored.len > 0)
		say_ignored(r, options.ignored);
	if (!known)
		hob_warn(r->images->request->notes, "mtl.map-ignored", "material '%.*s': %.*s is left out",
				 HOB_FMT(r->entry->name), HOB_FMT(word));
}

static bool is_map(hob_str word)
{
	for (size_t i = 0; i < HOB_COUNT_OF(maps); i++)
		if (hob_str_equal_nocase(word, hob_str_of(maps[i].name)))
			return true;
	return is_unread_map(word);
}

static void read_statement(mtl_reader *r, hob_str line)
{
	hob_str word = hob_text_word(&line);
	if (is_map(word))
		read_map(r, word, line);
	else
		read_value(r, word, line);
}

/* ---- conclusions from the whole material */

static bool has_map(const hob_material *m, hob_slot slot)
{
	return m->slots[slot].image != HOB_NONE;
}

static bool is_black(const float *color)
{
	return color[0] <= 0 && color[1] <= 0 && color[2] <= 0;
}

static void conclude_surface(mtl_reader *r)
{
	hob_material *m = r->out;
	bool packed = has_map(m, HOB_SLOT_METAL_ROUGH);
	if (!r->has_metal)
		m->metallic = has_map(m, HOB_SLOT_METALLIC) || packed;
	if (!r->has_roughness && !has_map(m, HOB_SLOT_ROUGHNESS) && !packed && r->has_ns && r->ns > 0) {
		float range = r->entry->ns_range;
		m->roughness =
			range > 0 ? hob_shape_clamp01(1 - sqrtf(r->ns / range)) : sqrtf(sqrtf(2 / (r->ns + 2)));
	}
	if (r->has_ks && is_black(r->ks) && !r->has_metal && !has_map(m, HOB_SLOT_SPECULAR_COLOR)) {
		m->specular = 0;
		m->ext_mask |= 1u << HOB_MATERIAL_SPECULAR;
	}
	if (r->unlit)
		m->ext_mask |= 1u << HOB_MATERIAL_UNLIT;
	/* A map multiplies its colour, so the black that exporters write beside a map becomes white. */
	if (has_map(m, HOB_SLOT_BASE_COLOR) && is_black(m->base_color))
		m->base_color[0] = m->base_color[1] = m->base_color[2] = 1;
	if (has_map(m, HOB_SLOT_EMISSIVE) && is_black(m->emissive))
		m->emissive[0] = m->emissive[1] = m->emissive[2] = 1;
	if (has_map(m, HOB_SLOT_CLEARCOAT) && m->clearcoat <= 0)
		m->clearcoat = 1;
	if (has_map(m, HOB_SLOT_CLEARCOAT_ROUGH) && m->clearcoat_roughness <= 0)
		m->clearcoat_roughness = 1;
	if (has_map(m, HOB_SLOT_SHEEN_COLOR) && is_black(m->sheen_color))
		m->sheen_color[0] = m->sheen_color[1] = m->sheen_color[2] = 1;
}

static void conclude_opacity(mtl_reader *r)
{
	hob_material *m = r->out;
	hob_notes *notes = r->images->request->notes;
	float opacity = r->has_d ? hob_shape_clamp01(r->d) : r->has_tr ? 1 - r->tr : 1;
	if (!r->has_d && r->has_tr && opacity <= 0) {
		/* Some exporters write Tr as a synonym of d. */
		hob_warn(notes, "mtl.tr", "material '%.*s': Tr 1 without d is read as opaque",
				 HOB_FMT(r->entry->name));
		opacity = 1;
	}
	m->base_color[3] = opacity;
	if (opacity < 1)
		m->alpha_mode = HOB_ALPHA_BLEND;
	if (opacity <= 0)
		hob_warn(notes, "material.invisible", "material '%.*s' has opacity 0 and is invisible",
				 HOB_FMT(r->entry->name));
}

void hob_mtl_read(const hob_mtl_entry *entry, hob_image_set *images, uint32_t clamp_sampler, bool *clamped,
				  hob_material *out)
{
	mtl_reader r = {.entry = entry, .images = images, .out = out, .clamp_sampler = clamp_sampler};
	hob_material_init(out);
	images->dir = entry->dir;
	out->name = hob_text_name(images->request->result, entry->name);
	hob_str rest = entry->body, line;
	HOB_PLACE("material '@'", 0, entry->name);
	while (hob_text_line(&rest, &line))
		read_statement(&r, line);
	conclude_surface(&r);
	conclude_opacity(&r);
	*clamped = *clamped || r.clamped;
}
