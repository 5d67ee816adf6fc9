#include "usd_private.h"

#include "../text.h"
#include "../texture_path.h"

enum { FAILED = 0xFFFFFFFE };

/* A file, or a member of a package. */
typedef struct place {
	uint32_t package; /* HOB_NONE: a file */
	hob_str path;
} place_t;

static bool is_final(hob_err_code code)
{
	return code == HOB_ERR_MEMORY || code == HOB_ERR_LIMIT;
}

static bool fail_as(const hob_error *why, hob_error *err)
{
	if (err)
		*err = *why;
	return false;
}

/* ---- packages */

static bool member_bytes(hob_usd *u, place_t place, hob_arena *arena, hob_bytes *out, hob_error *err)
{
	const hob_usd_package *package = &u->packages[place.package];
	hob_zip_member member;
	if (!hob_zip_find(&package->zip, place.path, &member))
		return hob_fail(err, MISSING_FILE, "'%.*s' is not in '%.*s'", HOB_FMT(place.path),
						HOB_FMT(package->id));
	size_t most = package->zip.bytes.size;
	if (!member.stored) {
		hob_usd_note(u, "deflated",
					 "'%.*s' in '%.*s' is compressed; some viewers cannot open that: store it as it is",
					 HOB_FMT(place.path), HOB_FMT(package->id));
		most = (size_t)HOB_LIMIT_SOURCE_BYTES;
	}
	return hob_zip_unpack(arena, &member, most, out) ||
		   hob_fail(err, CORRUPT, "'%.*s' in '%.*s' is damaged or empty", HOB_FMT(place.path),
					HOB_FMT(package->id));
}

static bool place_bytes(hob_usd *u, place_t place, hob_bytes *out, hob_error *err)
{
	if (place.package != HOB_NONE)
		return member_bytes(u, place, u->scratch, out, err);
	if (hob_str_equal(place.path, u->request->path)) {
		*out = u->request->file;
		return true;
	}
	return u->request->io->read(u->request->io->user, place.path, out, err);
}

static hob_str place_id(hob_usd *u, place_t place)
{
	if (place.package == HOB_NONE)
		return place.path;
	return hob_arena_printf(u->scratch, "%.*s[%.*s]", HOB_FMT(u->packages[place.package].id),
							HOB_FMT(place.path));
}

static bool open_package(hob_usd *u, place_t place, hob_bytes bytes, uint32_t *out, hob_error *err)
{
	hob_str id = place_id(u, place);
	if (!id.data)
		return hob_fail_memory(err, u->scratch, "a package");
	*out = hob_name_map_get(&u->package_map, id);
	if (*out != HOB_NONE)
		return true;
	uint32_t depth = 1;
	for (uint32_t p = place.package; p != HOB_NONE; p = u->packages[p].outer)
		if (++depth > 4)
			return hob_fail(err, LIMIT, "'%.*s': packages in packages, more than 4 levels", HOB_FMT(id));
	hob_usd_package package = {.id = id, .path = place.path, .outer = place.package};
	if (!hob_zip_open(bytes, &package.zip))
		return hob_fail(err, CORRUPT, "'%.*s' begins as a package but has no list of its members",
						HOB_FMT(id));
	hob_usd_package *packages = (hob_usd_package *)hob_usd_more(u->scratch, u->packages, u->package_count,
																&u->package_capacity, sizeof *packages);
	if (!packages || !hob_name_map_add(&u->package_map, id, u->package_count, NULL))
		return hob_fail_memory(err, u->scratch, "a package");
	u->packages = packages;
	packages[u->package_count] = package;
	*out = u->package_count++;
	return true;
}

static bool is_layer_name(hob_str name)
{
	hob_str extension = hob_path_extension(name);
	return hob_str_starts(extension, HOB_STR("usd"));
}

/* The root layer of a package: its first member, as the format requires. */
static bool first_layer(hob_usd *u, uint32_t package, hob_str *out, hob_error *err)
{
	const hob_zip *zip = &u->packages[package].zip;
	hob_zip_member member;
	size_t at = 0;
	while (hob_zip_next(zip, &at, &member))
		if (is_layer_name(member.name)) {
			*out = member.name;
			return true;
		}
	return hob_fail(err, EMPTY, "the package '%.*s' holds no USD file", HOB_FMT(u->packages[package].id));
}

/* ---- resolution of asset paths */

static bool starts_with_dot(hob_str asset)
{
	return asset.len > 1 && asset.data[0] == '.' &&
		   (asset.data[1] == '/' || asset.data[1] == '\\' || (asset.data[1] == '.' && asset.len > 2));
}

/* Lists the places of an asset, in order: relative to the layer (for "./x" only this), to the root layer's
 * folder, to the watched root. */
static bool candidates(hob_usd *u, uint32_t from, hob_str asset, place_t out[3], uint32_t *count,
					   hob_error *err)
{
	hob_str dirs[3] = {HOB_STR("")};
	uint32_t package = HOB_NONE, wanted = 1;
	*count = 0;
	if (from == HOB_NONE) {
		out[(*count)++] = (place_t){HOB_NONE, u->request->path};
		return true;
	}
	package = u->layers[from].package;
	dirs[0] = hob_path_dir(u->layers[from].path);
	if (!starts_with_dot(asset)) {
		dirs[1] = package == HOB_NONE ? hob_path_dir(u->layers[0].path) : HOB_STR("");
		wanted = package == HOB_NONE ? 3 : 2;
	}
	for (uint32_t i = 0; i < wanted; i++) {
		hob_error why = {0};
		place_t place = {.package = package};
		bool joined = package == HOB_NONE
						  ? hob_io_join(u->request->io, u->scratch, dirs[i], asset, &place.path, &why)
						  : hob_path_join(u->scratch, dirs[i], asset, &place.path, &why);
		if (!joined) {
			if (is_final(why.code))
				return fail_as(&why, err);
			continue;
		}
		bool known = false;
		for (uint32_t k = 0; k < *count; k++)
			known = known || hob_str_equal(out[k].path, place.path);
		if (!known)
			out[(*count)++] = place;
	}
	return true;
}

/* The first readable candidate; *found is false, with *why, when there is none. */
static bool find_file(hob_usd *u, uint32_t from, hob_str asset, place_t *place, hob_bytes *bytes, bool *found,
					  hob_error *why, hob_error *err)
{
	place_t places[3];
	uint32_t count;
	*found = false;
	if (!candidates(u, from, asset, places, &count, err))
		return false;
	hob_error_set(why, HOB_ERR_OUTSIDE, __FILE__, __LINE__,
				  "it is not a relative path below the watched root; keep the parts of a stage below it");
	for (uint32_t i = 0; i < count; i++) {
		*place = places[i];
		if (place_bytes(u, *place, bytes, why)) {
			*found = true;
			return true;
		}
		if (is_final(why->code))
			return fail_as(why, err);
	}
	return true;
}

/* Splits "a.usdz[b.usdz[c.png]]" into "a.usdz" and "b.usdz[c.png]". */
static bool split_package(hob_str asset, hob_str *outer, hob_str *inner)
{
	size_t open = hob_str_find(asset, HOB_STR("["), 0);
	if (open == SIZE_MAX || asset.data[asset.len - 1] != ']')
		return false;
	*outer = hob_str_sub(asset, 0, open);
	*inner = hob_str_sub(asset, open + 1, asset.len - 1);
	return true;
}

static bool locate(hob_usd *u, uint32_t from, hob_str asset, place_t *place, hob_bytes *bytes, bool *found,
				   hob_error *why, hob_error *err)
{
	hob_str outer, inner;
	if (!split_package(asset, &outer, &inner))
		return find_file(u, from, asset, place, bytes, found, why, err);
	if (!find_file(u, from, outer, place, bytes, found, why, err))
		return false;
	if (!*found)
		return true;
	for (;;) {
		hob_str name = inner, deeper = {0};
		bool more = split_package(inner, &name, &deeper);
		uint32_t package;
		if (!open_package(u, *place, *bytes, &package, why) ||
			!hob_path_join(u->scratch, HOB_STR(""), name, &place->path, why) ||
			!place_bytes(u, (place_t){package, place->path}, bytes, why)) {
			*found = false;
			return is_final(why->code) ? fail_as(why, err) : true;
		}
		place->package = package;
		if (!more)
			return true;
		inner = deeper;
	}
}

/* ---- layers */

static bool read_layer(hob_usd *u, place_t place, hob_bytes bytes, hob_usd_layer *layer, hob_error *err)
{
	layer->path = place.path;
	layer->package = place.package;
	if (bytes.size >= 8 && memcmp(bytes.data, "PXR-USDC", 8) == 0)
		return hob_usd_crate_read(u, bytes, layer, err);
	if (bytes.size >= 5 && (memcmp(bytes.data, "#usda", 5) == 0 || memcmp(bytes.data, "#sdf ", 5) == 0))
		return hob_usd_text_read(u, (hob_str){(const char *)bytes.data, bytes.size}, layer, err);
	if (hob_str_ends_nocase(place.path, HOB_STR(".mtlx")))
		return hob_usd_mtlx_read(u, bytes, layer, err);
	return hob_fail(err, UNSUPPORTED,
					"'%.*s' is no USD file: it begins neither with '#usda' nor with 'PXR-USDC'",
					HOB_FMT(place.path));
}

static bool keep_layer(hob_usd *u, const hob_usd_layer *layer, uint32_t *out, hob_error *err)
{
	if (u->layer_count >= HOB_LIMIT_USD_LAYERS)
		return hob_fail(err, LIMIT, "more than %llu layers", HOB_LIMIT_USD_LAYERS);
	hob_usd_layer *layers = (hob_usd_layer *)hob_usd_more(u->scratch, u->layers, u->layer_count,
														  &u->layer_capacity, sizeof *layers);
	if (!layers || !hob_name_map_add(&u->layer_map, layer->id, u->layer_count, NULL))
		return hob_fail_memory(err, u->scratch, "layers");
	u->layers = layers;
	layers[u->layer_count] = *layer;
	*out = u->layer_count++;
	return true;
}

static bool add_layer(hob_usd *u, place_t place, hob_bytes bytes, uint32_t *out, hob_error *why)
{
	hob_usd_layer layer = {.package = HOB_NONE};
	if (bytes.size >= 4 && memcmp(bytes.data, "PK\003\004", 4) == 0) {
		uint32_t package;
		if (!open_package(u, place, bytes, &package, why))
			return false;
		place.package = package;
		if (!first_layer(u, package, &place.path, why) || !place_bytes(u, place, &bytes, why))
			return false;
	}
	hob_str id = place_id(u, place);
	if (!id.data)
		return hob_fail_memory(why, u->scratch, "a layer");
	*out = hob_name_map_get(&u->layer_map, id);
	if (*out != HOB_NONE)
		return true;
	if (!read_layer(u, place, bytes, &layer, why))
		return hob_fail_in(why, "layer '%.*s'", HOB_FMT(id));
	layer.id = id;
	return keep_layer(u, &layer, out, why);
}

bool hob_usd_layer_new(hob_usd *u, hob_str id, hob_str path, uint32_t package, uint32_t *out, hob_error *err)
{
	hob_usd_layer layer = {.id = id, .path = path, .package = package};
	return hob_usd_layer_init(u, &layer, err) && keep_layer(u, &layer, out, err);
}

bool hob_usd_layer_open(hob_usd *u, uint32_t from, hob_str asset, uint32_t *out, hob_error *err)
{
	place_t place = {0};
	hob_bytes bytes = {0};
	bool found = false;
	hob_error why = {0};
	hob_str key = hob_arena_printf(u->scratch, "?%u?%.*s", from, HOB_FMT(asset));
	if (!key.data)
		return hob_fail_memory(err, u->scratch, "a layer");
	*out = hob_name_map_get(&u->layer_map, key);
	if (*out == HOB_NONE) {
		if (!locate(u, from, asset, &place, &bytes, &found, &why, err))
			return false;
		*out = FAILED;
		if (!found || !add_layer(u, place, bytes, out, &why)) {
			if (from == HOB_NONE || is_final(why.code))
				return fail_as(&why, err);
			*out = FAILED;
			hob_usd_note(u, "layer-missing", "'%.*s', which '%.*s' names, is left out: %s", HOB_FMT(asset),
						 HOB_FMT(u->layers[from].id), why.context);
		}
		if (!hob_name_map_add(&u->layer_map, key, *out, NULL))
			return hob_fail_memory(err, u->scratch, "layers");
	}
	if (*out == FAILED)
		*out = HOB_NONE;
	return true;
}

/* ---- pictures */

/* The asset of a tiled picture's (UDIM) first tile, which is used for all tiles. */
static bool first_tile(hob_usd *u, hob_str asset, hob_str *out, hob_error *err)
{
	static const hob_str mark = {"<UDIM>", 6};
	size_t at = hob_str_find(asset, mark, 0);
	*out = asset;
	if (at == SIZE_MAX)
		return true;
	hob_str before = hob_str_sub(asset, 0, at), behind = hob_str_sub(asset, at + mark.len, asset.len);
	*out = hob_arena_printf(u->scratch, "%.*s1001%.*s", HOB_FMT(before), HOB_FMT(behind));
	hob_usd_note(u, "tiles", "picture '%.*s' is made of tiles; only the first, 1001, is drawn",
				 HOB_FMT(asset));
	return out->data || hob_fail_memory(err, u->scratch, "a picture's name");
}

bool hob_usd_picture(hob_usd *u, uint32_t from, hob_str asset, hob_image *out, hob_error *err)
{
	hob_str name;
	hob_error why = {0};
	bool found = false;
	place_t place = {0};
	hob_bytes bytes = {0};
	*out = (hob_image){.uri = hob_text_name(u->result, asset),
					   .name = hob_text_name(u->result, hob_text_last_part(asset))};
	if (!out->uri.data || !out->name.data)
		return hob_fail_memory(err, u->result, "a picture's name");
	if (!first_tile(u, asset, &name, err))
		return false;
	bool packed = u->layers[from].package != HOB_NONE || hob_str_find(name, HOB_STR("["), 0) != SIZE_MAX;
	if (!packed)
		return hob_import_texture_path(u->request, hob_path_dir(u->layers[from].path), name, &out->path, err);
	if (!locate(u, from, name, &place, &bytes, &found, &why, err))
		return false;
	if (!found || place.package == HOB_NONE) {
		hob_usd_note(u, "picture-missing", "picture '%.*s' cannot be had: %s", HOB_FMT(asset), why.context);
		return true;
	}
	return member_bytes(u, place, u->result, &out->bytes, err);
}
