#include "chain.h"

#include "../fs/beneath.h"
#include "../fs/fd.h"

#include <limits.h>
#include <stdlib.h>

static const char file_name[] = "cook.json", sidecar_end[] = ".cook.json";

/* ---- one file */

static bool fail_read(const char *path, int why, hob_error *err)
{
	return srv_is_passing(why) ? hob_fail(err, IO, "%s cannot be read: %s", path, strerror(why))
							   : hob_fail(err, CONFIG, "%s cannot be read: %s", path, strerror(why));
}

static bool read_open_file(int fd, const char *path, hob_buf *text, hob_error *err)
{
	enum { CHUNK = 16 << 10 };
	for (size_t size = 0; size <= SRV_SETTINGS_FILE_MAX;) {
		uint8_t *room = hob_buf_grow(text, CHUNK);
		if (!room)
			return hob_fail(err, MEMORY, "no memory left to read settings");
		ssize_t got = read(fd, room, CHUNK);
		text->size -= CHUNK - (got > 0 ? (size_t)got : 0);
		if (got == 0)
			return true;
		if (got < 0)
			return fail_read(path, errno, err);
		size += (size_t)got;
	}
	return hob_fail(err, CONFIG, "%s is larger than 1 MiB", path);
}

bool srv_settings_read(int root_fd, const char *path, hob_buf *text, bool *exists, hob_error *err)
{
	struct stat info;
	*exists = false;
	srv_own_fd fd = srv_open_beneath(root_fd, path, O_RDONLY, true);
	if (fd < 0) {
		int why = errno;
		/* ENXIO: a socket, or a pipe that nobody reads. */
		if (why == ENOENT || why == ENOTDIR || why == EXDEV || why == ELOOP || why == ENAMETOOLONG ||
			why == ENXIO)
			return true;
		return fail_read(path, why, err);
	}
	bool ok = true;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
		*exists = true;
		ok = read_open_file(fd, path, text, err);
	}
	return ok;
}

/* ---- the walk */

static bool walk_layer(int root_fd, hob_str path, bool sidecar, srv_layer_fn *each, void *user,
					   hob_error *err)
{
	hob_own_buf text = {0};
	srv_layer layer = {.path = path, .sidecar = sidecar};
	bool ok = srv_settings_read(root_fd, path.data, &text, &layer.exists, err);
	layer.text = hob_buf_str(&text);
	return ok && each(user, &layer, err);
}

/* Walks the folders of `asset` below its first `from` bytes; `from` HOB_NONE: the root and all folders. */
static bool walk_folders(int root_fd, hob_str asset, size_t from, srv_layer_fn *each, void *user,
						 hob_error *err)
{
	char path[PATH_MAX + sizeof file_name];
	for (size_t i = from == HOB_NONE ? 0 : from + 1; i < asset.len; i++) {
		bool top = i == 0 && from == HOB_NONE;
		if (!top && asset.data[i] != '/')
			continue;
		size_t at = top ? 0 : i + 1;
		memcpy(path, asset.data, at);
		memcpy(path + at, file_name, sizeof file_name);
		if (!walk_layer(root_fd, (hob_str){path, at + sizeof file_name - 1}, false, each, user, err))
			return false;
	}
	return true;
}

static bool walk_sidecar(int root_fd, hob_str asset, srv_layer_fn *each, void *user, hob_error *err)
{
	char path[PATH_MAX + sizeof sidecar_end];
	memcpy(path, asset.data, asset.len);
	memcpy(path + asset.len, sidecar_end, sizeof sidecar_end);
	return walk_layer(root_fd, (hob_str){path, asset.len + sizeof sidecar_end - 1}, true, each, user, err);
}

static bool is_walkable(hob_str asset, hob_error *err)
{
	return (asset.len > 0 && asset.len < PATH_MAX && !memchr(asset.data, 0, asset.len)) ||
		   hob_fail(err, CONFIG, "the model's path is empty or longer than %d bytes", PATH_MAX);
}

bool srv_settings_walk(int root_fd, hob_str asset, srv_layer_fn *each, void *user, hob_error *err)
{
	return is_walkable(asset, err) && walk_folders(root_fd, asset, HOB_NONE, each, user, err) &&
		   walk_sidecar(root_fd, asset, each, user, err);
}

bool srv_settings_reaches(hob_str file, hob_str asset)
{
	hob_str dir = hob_path_dir(file), one = srv_settings_sidecar_of(file);
	if (hob_str_equal(hob_path_name(file), hob_str_of(file_name)))
		return dir.len == 0 ||
			   (hob_str_starts(asset, dir) && asset.len > dir.len && asset.data[dir.len] == '/');
	return one.len > 0 && hob_str_equal(one, asset);
}

hob_str srv_settings_sidecar_of(hob_str file)
{
	hob_str end = hob_str_of(sidecar_end);
	size_t rest = file.len > end.len ? file.len - end.len : 0;
	return rest > 0 && hob_str_equal(hob_str_sub(file, rest, file.len), end) ? hob_str_sub(file, 0, rest)
																			 : (hob_str){0};
}

/* ---- the cache */

typedef struct folder {
	hob_str path;
	const hob_settings *settings; /* NULL: `error` is the result */
	const hob_error *error;
} folder;

struct srv_settings_cache {
	hob_arena arena;
	folder *items;
	uint32_t *table; /* index in items + 1; 0: free */
	uint32_t count, capacity, slots;
};

srv_settings_cache *srv_settings_cache_new(void)
{
	srv_settings_cache *cache = calloc(1, sizeof *cache);
	if (cache)
		hob_arena_init(&cache->arena, 256 << 20);
	return cache;
}

void srv_settings_cache_free(srv_settings_cache *cache)
{
	if (!cache)
		return;
	hob_arena_release(&cache->arena);
	free(cache->items);
	free(cache->table);
	free(cache);
}

void srv_settings_forget(srv_settings_cache *cache)
{
	if (cache->count == 0)
		return;
	hob_arena_release(&cache->arena);
	hob_arena_init(&cache->arena, 256 << 20);
	memset(cache->table, 0, cache->slots * sizeof *cache->table);
	cache->count = 0;
}

static uint32_t *slot_of(const srv_settings_cache *cache, hob_str path)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
	for (size_t i = 0; i < path.len; i++)
		hash = (hash ^ (uint8_t)path.data[i]) * 0x100000001b3;
	uint32_t at = (uint32_t)(hash ^ hash >> 32) & (cache->slots - 1);
	while (cache->table[at] != 0 && !hob_str_equal(cache->items[cache->table[at] - 1].path, path))
		at = (at + 1) & (cache->slots - 1);
	return &cache->table[at];
}

static const folder *find_folder(const srv_settings_cache *cache, hob_str path)
{
	uint32_t place = cache->slots > 0 ? *slot_of(cache, path) : 0;
	return place > 0 ? &cache->items[place - 1] : NULL;
}

static bool grow(srv_settings_cache *cache)
{
	if (cache->count < cache->capacity)
		return true;
	uint32_t capacity = cache->capacity ? cache->capacity * 2 : 64, slots = capacity * 2;
	uint32_t *table = calloc(slots, sizeof *table);
	folder *items = table ? realloc(cache->items, capacity * sizeof *items) : NULL;
	if (!items) {
		free(table);
		return false;
	}
	free(cache->table);
	cache->items = items;
	cache->table = table;
	cache->capacity = capacity;
	cache->slots = slots;
	for (uint32_t i = 0; i < cache->count; i++)
		*slot_of(cache, items[i].path) = i + 1;
	return true;
}

static bool keep_folder(srv_settings_cache *cache, folder item, hob_error *err)
{
	item.path = hob_arena_str(&cache->arena, item.path);
	if (!item.path.data || !grow(cache))
		return hob_fail(err, MEMORY, "no memory left for the settings of folders");
	cache->items[cache->count] = item;
	*slot_of(cache, item.path) = ++cache->count;
	return true;
}

typedef struct resolving {
	srv_settings_cache *cache;
	folder at; /* settings of the folder above */
} resolving;

static const void *keep_copy(srv_settings_cache *cache, const void *data, size_t size)
{
	void *copy = hob_arena_alloc(&cache->arena, size, _Alignof(max_align_t));
	if (copy)
		memcpy(copy, data, size);
	return copy;
}

static bool resolve_folder(void *user, const srv_layer *layer, hob_error *err)
{
	resolving *r = user;
	folder next = r->at;
	next.path = hob_path_dir(layer->path);
	if (layer->exists && next.settings) {
		hob_error wrong = {0};
		hob_settings settings = *next.settings;
		bool ok = hob_settings_overlay(&settings, layer->text, layer->path, &wrong);
		if (!ok && wrong.code != HOB_ERR_CONFIG) {
			*err = wrong;
			return false;
		}
		next.settings = ok ? keep_copy(r->cache, &settings, sizeof settings) : NULL;
		next.error = ok ? NULL : keep_copy(r->cache, &wrong, sizeof wrong);
		if (!next.settings && !next.error)
			return hob_fail(err, MEMORY, "no memory left for the settings of folders");
	}
	r->at = next;
	return keep_folder(r->cache, next, err);
}

static bool overlay_sidecar(void *user, const srv_layer *layer, hob_error *err)
{
	return !layer->exists || hob_settings_overlay(user, layer->text, layer->path, err);
}

/* Finds the nearest cached folder above `asset`; returns its length, HOB_NONE if there is none. */
static size_t nearest_known(const srv_settings_cache *cache, hob_str asset, folder *out)
{
	for (hob_str path = hob_path_dir(asset);; path = hob_path_dir(path)) {
		const folder *known = find_folder(cache, path);
		if (known) {
			*out = *known;
			return path.len;
		}
		if (path.len == 0)
			return HOB_NONE;
	}
}

bool srv_settings_resolve(srv_settings_cache *cache, int root_fd, const hob_settings *own, hob_str asset,
						  int sidecar_fd, hob_str sidecar_of, hob_settings *out, hob_error *err)
{
	resolving r = {.cache = cache, .at.settings = own};
	if (!is_walkable(asset, err))
		return false;
	size_t from = nearest_known(cache, asset, &r.at);
	if (from == HOB_NONE && !(r.at.settings = keep_copy(cache, own, sizeof *own)))
		return hob_fail(err, MEMORY, "no memory left for the settings of folders");
	if (!walk_folders(root_fd, asset, from, resolve_folder, &r, err))
		return false;
	if (!r.at.settings) {
		*err = *r.at.error;
		return false;
	}
	hob_settings settings = *r.at.settings;
	if (sidecar_of.len > 0 && !walk_sidecar(sidecar_fd, sidecar_of, overlay_sidecar, &settings, err))
		return false;
	*out = settings;
	return true;
}
