#include "texture_stages.h"

#include "../base/limits.h"

static hob_str label_of(const hob_image *image, uint32_t index, hob_arena *arena)
{
	if (image->uri.len > 0 && !hob_str_starts(image->uri, HOB_STR("data:")))
		return image->uri;
	if (image->path.len > 0)
		return image->path;
	if (image->name.len > 0)
		return image->name;
	return hob_arena_printf(arena, "embedded picture %u", index);
}

/* The part after the last slash of either kind. */
static hob_str last_part(hob_str reference)
{
	size_t at = reference.len;
	while (at > 0 && reference.data[at - 1] != '/' && reference.data[at - 1] != '\\' &&
		   reference.data[at - 1] != ':')
		at--;
	return hob_str_sub(reference, at, reference.len);
}

typedef enum found { FOUND_NOT, FOUND, FOUND_BAD } found;

/* Tries a path, then the same path ignoring case. Sets *path to the one read. */
static found try_path(const hob_io *io, hob_str *path, hob_bytes *out, hob_error *err)
{
	if (io->read(io->user, *path, out, err))
		return FOUND;
	if (!err || err->code != HOB_ERR_MISSING_FILE)
		return FOUND_BAD;
	hob_str other;
	if (!io->find_nocase || !io->find_nocase(io->user, *path, &other) || hob_str_equal(other, *path))
		return FOUND_NOT;
	*path = other;
	return io->read(io->user, other, out, err) ? FOUND
		   : err->code == HOB_ERR_MISSING_FILE ? FOUND_NOT
											   : FOUND_BAD;
}

static found try_beside_model(const hob_texture_request *request, const hob_image *image, hob_arena *arena,
							  hob_str *path, hob_bytes *out, hob_error *err)
{
	static const char *const folders[] = {"", "textures/", "Textures/", "tex/"};
	hob_str name = last_part(image->path.len > 0 ? image->path : image->uri);
	for (size_t i = 0; i < HOB_COUNT_OF(folders) && name.len > 0; i++) {
		hob_str relative = hob_arena_printf(arena, "%s%.*s", folders[i], HOB_FMT(name)), candidate;
		if (!hob_path_join(arena, request->folder, relative, &candidate, err))
			return FOUND_NOT;
		if (hob_str_equal(candidate, image->path))
			continue;
		found result = try_path(request->io, &candidate, out, err);
		if (result == FOUND_NOT)
			continue;
		*path = candidate;
		return result;
	}
	return FOUND_NOT;
}

static bool fatal(hob_err_code code)
{
	return code == HOB_ERR_IO || code == HOB_ERR_CHANGED || code == HOB_ERR_MEMORY ||
		   code == HOB_ERR_INTERNAL;
}

/* Sets source->file, or leaves it empty with a note. False only for errors that end the cook. */
static bool read_file(const hob_texture_request *request, const hob_image *image, hob_arena *arena,
					  hob_notes *notes, hob_texture_source *source, hob_error *err)
{
	hob_error why = {0};
	hob_str path = image->path;
	found result = path.len > 0 ? try_path(request->io, &path, &source->file, &why) : FOUND_NOT;
	/* Some exporters do not encode names: then "a%20b.png" is the file name. */
	hob_str literal = {0};
	if (result == FOUND_NOT && hob_str_find(image->uri, HOB_STR("%"), 0) != SIZE_MAX &&
		hob_path_join(arena, request->folder, image->uri, &literal, &why) && !hob_str_equal(literal, path)) {
		path = literal;
		result = try_path(request->io, &path, &source->file, &why);
	}
	if (result == FOUND_NOT)
		result = try_beside_model(request, image, arena, &path, &source->file, &why);
	if (result == FOUND_BAD) {
		source->file = (hob_bytes){0};
		if (fatal(why.code)) {
			if (err)
				*err = why;
			return hob_fail_in(err, "picture '%.*s'", HOB_FMT(source->label));
		}
		hob_note_add(notes, HOB_NOTE_WARNING, "texture.unreadable",
					 "picture '%.*s' cannot be used: %s; a placeholder is used", HOB_FMT(source->label),
					 why.context);
		return true;
	}
	if (result == FOUND_NOT) {
		source->file = (hob_bytes){0};
		if (image->path.len > 0)
			hob_note_add(
				notes, HOB_NOTE_WARNING, "texture.missing",
				"picture '%.*s' does not exist at '%.*s', nor by its name beside the model; a placeholder "
				"stands in. Add the file or correct the reference",
				HOB_FMT(source->label), HOB_FMT(image->path));
		else
			hob_note_add(
				notes, HOB_NOTE_WARNING, "texture.missing",
				"picture '%.*s' cannot be reached from the watched folder, nor is there one of its name "
				"beside the model; a placeholder is used. Copy the picture beside the model",
				HOB_FMT(source->label));
		return true;
	}
	source->path = path;
	if (hob_str_find(image->uri, HOB_STR("\\"), 0) != SIZE_MAX)
		hob_note_add(notes, HOB_NOTE_WARNING, "texture.backslash",
					 "picture '%.*s' is named with backslashes, which only Windows reads; write '%.*s'",
					 HOB_FMT(image->uri), HOB_FMT(path));
	if (!hob_str_equal(path, image->path) && !hob_str_equal(path, literal)) {
		bool only_case = hob_str_equal_nocase(path, image->path);
		bool beside = hob_str_equal(hob_path_dir(path), hob_path_dir(image->path));
		hob_note_add(
			notes, HOB_NOTE_WARNING, only_case || beside ? "texture.case" : "texture.elsewhere",
			only_case
				? "picture '%.*s' is spelt '%.*s' on disk; that file is used. Correct the spelling: other "
				  "tools will not find it"
			: beside
				? "picture '%.*s' is spelt '%.*s' on disk, with letters of another Unicode form or case; "
				  "that file is used. Correct the spelling: other tools will not find it"
				: "picture '%.*s' was found as '%.*s'; that file is used. Correct the reference",
			HOB_FMT(source->label), HOB_FMT(path));
	}
	return true;
}

/* False only without memory; the picture's properties stay unknown then. */
static bool probe(const hob_image *image, hob_notes *notes, hob_texture_source *source, hob_error *err)
{
	if (image->raw_width > 0) {
		uint64_t need = (uint64_t)image->raw_width * image->raw_height * 4;
		source->usable = image->raw_width <= HOB_LIMIT_IMAGE_SIDE &&
						 image->raw_height <= HOB_LIMIT_IMAGE_SIDE && need > 0 &&
						 need <= 4 * HOB_LIMIT_IMAGE_PIXELS && source->file.size >= need;
		source->info = (hob_picture_info){.format = HOB_PICTURE_RAW,
										  .width = image->raw_width,
										  .height = image->raw_height,
										  .channels = 4,
										  .mips = 1};
		if (source->usable)
			source->file.size = (size_t)need;
		else
			hob_note_add(notes, HOB_NOTE_WARNING, "texture.unreadable",
						 "picture '%.*s': %u x %u raw pixels in %zu bytes are over the limits or cut off;"
						 " a placeholder stands in",
						 HOB_FMT(source->label), image->raw_width, image->raw_height, source->file.size);
		return true;
	}
	hob_error why = {0};
	source->usable = hob_picture_probe(source->file, &source->info, &why);
	if (why.code == HOB_ERR_MEMORY) {
		if (err)
			*err = why;
		return hob_fail_in(err, "picture '%.*s'", HOB_FMT(source->label));
	}
	if (source->usable && source->info.has_profile)
		hob_note_add(
			notes, HOB_NOTE_INFO, "texture.profile",
			"picture '%.*s' says that its colours are not sRGB (colour profile, gamma or HDR transfer); they "
			"are taken as sRGB; convert it to sRGB where that is not meant",
			HOB_FMT(source->label));
	if (source->usable && source->info.turn)
		hob_note_add(
			notes, HOB_NOTE_INFO, "texture.exif-turn",
			"picture '%.*s' asks in its EXIF data (orientation %u) to be turned or mirrored; it is used "
			"as it is stored, as in glTF and Blender",
			HOB_FMT(source->label), source->info.turn);
	if (!source->usable)
		hob_note_add(notes, HOB_NOTE_WARNING, "texture.unreadable",
					 "picture '%.*s' cannot be used: %s; a placeholder is used", HOB_FMT(source->label),
					 why.context);
	return true;
}

static void digest_one(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	hob_texture_source *source = &((hob_texture_source *)context)[index];
	if (!source->usable)
		return;
	if (source->info.format != HOB_PICTURE_RAW) {
		source->digest = hob_sha256_of(source->file);
		return;
	}
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob raw picture");
	hob_key_u64(&keyer, "width", source->info.width);
	hob_key_bytes(&keyer, "pixels", source->file);
	source->digest = hob_keyer_finish(&keyer);
}

/* ---- pictures made from other pictures */

static void digest_made(hob_texture_source *source)
{
	const hob_made_image *made = source->made;
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob picture from specular-glossiness");
	hob_key_u64(&keyer, "metallic-roughness", made->is_metal_rough);
	for (int k = 0; k < 3; k++) {
		hob_key_f32(&keyer, "diffuse", made->diffuse_factor[k]);
		hob_key_f32(&keyer, "specular", made->specular_factor[k]);
	}
	hob_key_f32(&keyer, "glossiness", made->glossiness);
	if (source->diffuse)
		hob_key_digest(&keyer, "diffuse picture", &source->diffuse->digest);
	if (source->specular)
		hob_key_digest(&keyer, "specular picture", &source->specular->digest);
	source->digest = hob_keyer_finish(&keyer);
}

/* Uses the larger of the two sizes. A part that cannot be read or decoded makes the source unusable. */
static void join_parts(hob_texture_source *source, hob_notes *notes)
{
	const hob_texture_source *parts[2] = {source->diffuse, source->specular};
	hob_picture_info info = {.format = HOB_PICTURE_RAW, .channels = 3, .mips = 1};
	source->usable = true;
	for (int i = 0; i < 2; i++) {
		const hob_texture_source *part = parts[i];
		if (!part)
			continue;
		source->usable = source->usable && part->usable && !part->info.opaque_codec;
		info.width = part->info.width > info.width ? part->info.width : info.width;
		info.height = part->info.height > info.height ? part->info.height : info.height;
		if (part->usable && part->info.opaque_codec)
			hob_note_add(notes, HOB_NOTE_WARNING, "texture.unreadable",
						 "picture '%.*s' is compressed in a way that cannot be converted from "
						 "specular-glossiness; a placeholder is used. Save it as PNG or JPEG",
						 HOB_FMT(part->label));
	}
	if (source->diffuse && source->diffuse->info.channels % 2 == 0 && !source->made->is_metal_rough)
		info.channels = 4;
	source->info = info;
	if (source->usable)
		digest_made(source);
}

static bool read_source(const hob_texture_request *request, const hob_image *image, uint32_t index,
						hob_arena *arena, hob_notes *notes, hob_texture_source *source, hob_error *err)
{
	source->label = label_of(image, index, arena);
	source->file = image->bytes;
	bool embedded = image->bytes.size > 0 || (image->path.len == 0 && image->uri.len == 0);
	if (!embedded && !read_file(request, image, arena, notes, source, err))
		return false;
	if (!embedded && !source->file.data)
		return true;
	if (!probe(image, notes, source, err))
		return false;
	bool kept = request->settings.texture_encoding == HOB_TEXTURE_SOURCE && !request->png;
	if (source->usable && source->info.depth == HOB_DEPTH_16 && !kept)
		hob_note_add(
			notes, HOB_NOTE_INFO, "texture.depth",
			"picture '%.*s' has 16 bits a channel; 8 are kept, rounded after filtering. Set "
			"texture.encoding to source to keep the file, or use EXR or HDR, which become half floats",
			HOB_FMT(source->label));
	return true;
}

/* The existing entry of the part, or the next free one; NULL when there is no picture. */
static hob_texture_source *part_of(const hob_image *image, bool has, hob_texture_source *first,
								   uint32_t *count, const hob_image **images, bool *is_new)
{
	*is_new = false;
	if (!has)
		return NULL;
	for (uint32_t i = 0; i < *count; i++)
		if (hob_str_equal(images[i]->path, image->path) && hob_str_equal(images[i]->uri, image->uri) &&
			images[i]->bytes.data == image->bytes.data && images[i]->bytes.size == image->bytes.size)
			return &first[i];
	*is_new = true;
	images[*count] = image;
	return &first[(*count)++];
}

/* Merges equal pictures, in an open-addressing table by the digests' first words. */
static void find_same(hob_texture_source *sources, uint32_t count, hob_arena *arena)
{
	size_t slots = 16;
	while (slots < 2 * (size_t)count)
		slots *= 2;
	uint32_t *table = HOB_NEW(arena, uint32_t, slots);
	for (uint32_t i = 0; i < count; i++) {
		sources[i].same_as = i;
		if (!sources[i].usable)
			continue;
		size_t at = hob_load_u32(sources[i].digest.bytes) & (slots - 1);
		while (table[at] != 0 && !hob_sha256_equal(&sources[table[at] - 1].digest, &sources[i].digest))
			at = (at + 1) & (slots - 1);
		if (table[at] == 0)
			table[at] = i + 1;
		else
			sources[i].same_as = table[at] - 1;
	}
}

/* Reads the parts of made pictures, once each, after the `image_count` sources of the model. */
static bool read_parts(const hob_texture_request *request, hob_texture_source *sources, uint32_t *part_count,
					   hob_arena *arena, hob_notes *notes, hob_error *err)
{
	const hob_image **images = HOB_NEW(arena, const hob_image *, 2 * (size_t)*part_count);
	hob_texture_source *first = sources + request->image_count;
	*part_count = 0;
	for (uint32_t i = 0; i < request->image_count; i++) {
		const hob_made_image *made = request->images[i].made;
		if (!made || !sources[i].used)
			continue;
		sources[i].made = made;
		for (int k = 0; k < 2; k++) {
			const hob_image *image = k ? &made->specular : &made->diffuse;
			bool is_new;
			hob_texture_source *part = part_of(image, k ? made->has_specular : made->has_diffuse, first,
											   part_count, images, &is_new);
			if (is_new && !read_source(request, image, request->image_count, arena, notes, part, err))
				return false;
			*(k ? &sources[i].specular : &sources[i].diffuse) = part;
		}
	}
	return true;
}

bool hob_texture_sources(const hob_texture_request *request, hob_arena *arena, hob_notes *notes,
						 hob_texture_source **out, hob_error *err)
{
	uint32_t part_count = 0;
	for (uint32_t i = 0; i < request->image_count; i++)
		part_count += request->images[i].made != NULL;
	hob_texture_source *sources =
		HOB_NEW(arena, hob_texture_source, request->image_count + 2 * (size_t)part_count);
	for (uint32_t m = 0; m < request->material_count; m++)
		for (uint32_t slot = 0; slot < HOB_SLOT_COUNT; slot++)
			if (request->materials[m].slots[slot].image != HOB_NONE)
				sources[request->materials[m].slots[slot].image].used = true;
	for (uint32_t i = 0; i < request->image_count; i++) {
		if (!sources[i].used)
			continue;
		if (request->images[i].made)
			sources[i].label = label_of(&request->images[i], i, arena);
		else if (!read_source(request, &request->images[i], i, arena, notes, &sources[i], err))
			return false;
	}
	if (part_count > 0 && !read_parts(request, sources, &part_count, arena, notes, err))
		return false;
	hob_parallel_for(request->parallel, request->image_count + part_count, digest_one, sources);
	for (uint32_t i = 0; i < request->image_count; i++)
		if (sources[i].made)
			join_parts(&sources[i], notes);
	find_same(sources, request->image_count, arena);
	*out = sources;
	return true;
}
