/* One recipe as a small JSON file:
 *
 *   {"hob_recipe":1,"check":"<SHA-256 of the text after it, up to the last brace>","recipe":{...}}
 *
 * A file that power loss cut or tore fails its check and is not read. */
#include "store_internal.h"

#include <cjson/cJSON.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_NAME = 80, COPY_BYTES_MAX = 64 << 20 };

static const char head[] = "{\"hob_recipe\":1,\"check\":\"", middle[] = "\",\"recipe\":";

/* ---- writing */

static void put_digest(hob_buf *out, const char *name, const hob_sha256 *digest)
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(digest, text);
	hob_buf_printf(out, "\"%s\":\"%s\"", name, text);
}

/* A file name is bytes: what is not UTF-8 is written as hex, so that it comes back the same. */
static void put_bytes(hob_buf *out, const char *name, hob_str value)
{
	if (hob_utf8_valid(value) && !memchr(value.len > 0 ? value.data : "x", 0, value.len)) {
		hob_buf_printf(out, "\"%s\":", name);
		hob_buf_put_json(out, value);
		return;
	}
	hob_buf_printf(out, "\"%s_hex\":\"", name);
	for (size_t i = 0; i < value.len; i++)
		hob_buf_printf(out, "%02x", (uint8_t)value.data[i]);
	hob_buf_put(out, "\"", 1);
}

static void put_body(hob_buf *out, const srv_recipe *recipe)
{
	hob_buf_put(out, "{", 1);
	put_digest(out, "key", &recipe->key);
	hob_buf_put(out, ",", 1);
	put_digest(out, "lookup", &recipe->lookup);
	hob_buf_put(out, ",", 1);
	put_digest(out, "source", &recipe->source);
	hob_buf_put(out, ",", 1);
	put_bytes(out, "file_name", recipe->file_name);
	hob_buf_put(out, ",", 1);
	put_bytes(out, "ingredients", recipe->ingredients);
	hob_buf_put(out, ",", 1);
	put_bytes(out, "stats", recipe->stats);
	hob_buf_put(out, ",", 1);
	put_bytes(out, "error", recipe->error);
	hob_buf_printf(out,
				   ",\"warnings\":%u,\"cook_ns\":\"%llu\",\"peak_bytes\":\"%llu\",\"cooked_at_ms\":\"%llu\"",
				   recipe->warnings, (unsigned long long)recipe->cook_ns,
				   (unsigned long long)recipe->peak_bytes, (unsigned long long)recipe->cooked_at_ms);
	hob_buf_printf(out, ",\"deps\":[");
	for (uint32_t i = 0; i < recipe->dep_count; i++) {
		hob_buf_printf(out, "%s{", i > 0 ? "," : "");
		put_bytes(out, "path", recipe->deps[i].path);
		if (!recipe->deps[i].missing) {
			hob_buf_put(out, ",", 1);
			put_digest(out, "digest", &recipe->deps[i].digest);
		}
		hob_buf_put(out, "}", 1);
	}
	hob_buf_printf(out, "],\"outputs\":[");
	for (uint32_t i = 0; i < recipe->output_count; i++) {
		hob_buf_printf(out, "%s{", i > 0 ? "," : "");
		put_bytes(out, "name", recipe->outputs[i].name);
		hob_buf_put(out, ",", 1);
		put_digest(out, "digest", &recipe->outputs[i].digest);
		hob_buf_printf(out, ",\"size\":\"%llu\"}", (unsigned long long)recipe->outputs[i].size);
	}
	hob_buf_printf(out, "]}");
}

static void copy_name(const hob_sha256 *key, char out[COPY_NAME])
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(key, text);
	snprintf(out, COPY_NAME, "%.2s/%s.json", text, text);
}

static bool write_copy(srv_store *store, const hob_sha256 *key, const hob_buf *text, hob_error *err)
{
	char name[COPY_NAME], temporary[32];
	copy_name(key, name);
	int fd = store_temporary(store, temporary);
	bool ok = fd >= 0 && store_write_all(fd, text->data, text->size);
	if (ok && renameat(store->tmp_fd, temporary, store->recipes_fd, name) != 0) {
		char folder[3] = {name[0], name[1], 0};
		ok = errno == ENOENT && (mkdirat(store->recipes_fd, folder, 0777) == 0 || errno == EEXIST) &&
			 renameat(store->tmp_fd, temporary, store->recipes_fd, name) == 0;
	}
	if (!ok) {
		store_fail_errno(err, errno, "write the recipe", name);
		if (fd >= 0)
			unlinkat(store->tmp_fd, temporary, 0);
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

bool store_copy_put(srv_store *store, const srv_recipe *recipe, hob_error *err)
{
	hob_buf body = {0}, text = {0};
	put_body(&body, recipe);
	hob_sha256 check = hob_sha256_of(hob_buf_bytes(&body));
	char digits[HOB_SHA256_TEXT + 1];
	hob_sha256_text(&check, digits);
	hob_buf_printf(&text, "%s%s%s", head, digits, middle);
	hob_buf_put(&text, body.data, body.size);
	hob_buf_printf(&text, "}\n");
	bool ok = body.failed || text.failed
				  ? hob_fail(err, MEMORY, "no memory left for a recipe of %zu bytes", body.size)
				  : write_copy(store, &recipe->key, &text, err);
	hob_buf_release(&body);
	hob_buf_release(&text);
	return ok;
}

void store_copy_remove(srv_store *store, const hob_sha256 *key)
{
	char name[COPY_NAME];
	copy_name(key, name);
	unlinkat(store->recipes_fd, name, 0);
}

/* ---- reading */

static const char *text_of(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static bool get_digest(const cJSON *object, const char *name, hob_sha256 *out)
{
	return hob_sha256_parse(hob_str_of(text_of(object, name)), out);
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool get_bytes(const cJSON *object, const char *name, hob_arena *arena, hob_str *out)
{
	char other[32];
	const char *text = text_of(object, name);
	if (text) {
		*out = hob_arena_str(arena, hob_str_of(text));
		return out->data;
	}
	snprintf(other, sizeof other, "%s_hex", name);
	hob_str digits = hob_str_of(text_of(object, other));
	char *bytes = digits.data && digits.len % 2 == 0 ? HOB_NEW(arena, char, digits.len / 2 + 1) : NULL;
	if (!bytes)
		return false;
	for (size_t i = 0; i < digits.len; i += 2) {
		int high = hex(digits.data[i]), low = hex(digits.data[i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i / 2] = (char)(high * 16 + low);
	}
	*out = (hob_str){bytes, digits.len / 2};
	return true;
}

/* Decimal text, because a JSON reader keeps 53 bits only. */
static bool get_u64(const cJSON *object, const char *name, uint64_t *out)
{
	const char *text = text_of(object, name);
	uint64_t value = 0;
	if (!text || !*text)
		return false;
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	*out = value;
	return true;
}

static bool get_deps(const cJSON *list, hob_arena *arena, srv_recipe *out)
{
	const cJSON *item;
	out->deps = HOB_NEW(arena, srv_recipe_dep, (size_t)cJSON_GetArraySize(list));
	if (!cJSON_IsArray(list) || !out->deps)
		return false;
	cJSON_ArrayForEach(item, list)
	{
		srv_recipe_dep *dep = &out->deps[out->dep_count++];
		dep->missing = !cJSON_HasObjectItem(item, "digest");
		if (!get_bytes(item, "path", arena, &dep->path) ||
			(!dep->missing && !get_digest(item, "digest", &dep->digest)))
			return false;
	}
	return true;
}

static bool get_outputs(const cJSON *list, hob_arena *arena, srv_recipe *out)
{
	const cJSON *item;
	out->outputs = HOB_NEW(arena, srv_recipe_output, (size_t)cJSON_GetArraySize(list));
	if (!cJSON_IsArray(list) || !out->outputs)
		return false;
	cJSON_ArrayForEach(item, list)
	{
		srv_recipe_output *output = &out->outputs[out->output_count++];
		if (!get_bytes(item, "name", arena, &output->name) || !get_digest(item, "digest", &output->digest) ||
			!get_u64(item, "size", &output->size))
			return false;
	}
	return true;
}

static bool get_recipe(const cJSON *body, hob_arena *arena, srv_recipe *out)
{
	uint64_t cooked_at;
	const cJSON *warnings = cJSON_GetObjectItemCaseSensitive(body, "warnings");
	if (!cJSON_IsNumber(warnings) || !get_u64(body, "cooked_at_ms", &cooked_at))
		return false;
	out->warnings = (uint32_t)warnings->valuedouble;
	out->cooked_at_ms = (int64_t)cooked_at;
	return get_digest(body, "key", &out->key) && get_digest(body, "lookup", &out->lookup) &&
		   get_digest(body, "source", &out->source) && get_bytes(body, "file_name", arena, &out->file_name) &&
		   get_bytes(body, "ingredients", arena, &out->ingredients) &&
		   get_bytes(body, "stats", arena, &out->stats) && get_bytes(body, "error", arena, &out->error) &&
		   get_u64(body, "cook_ns", &out->cook_ns) && get_u64(body, "peak_bytes", &out->peak_bytes) &&
		   get_deps(cJSON_GetObjectItemCaseSensitive(body, "deps"), arena, out) &&
		   get_outputs(cJSON_GetObjectItemCaseSensitive(body, "outputs"), arena, out);
}

bool store_copy_parse(hob_str text, hob_arena *arena, srv_recipe *out)
{
	size_t before = sizeof head - 1, after = before + HOB_SHA256_TEXT + sizeof middle - 1;
	hob_sha256 said, is;
	if (text.len < after + 4 || !hob_str_starts(text, (hob_str){head, before}) ||
		memcmp(text.data + before + HOB_SHA256_TEXT, middle, sizeof middle - 1) != 0 ||
		memcmp(text.data + text.len - 2, "}\n", 2) != 0 ||
		!hob_sha256_parse(hob_str_sub(text, before, before + HOB_SHA256_TEXT), &said))
		return false;
	hob_str body = hob_str_sub(text, after, text.len - 2);
	is = hob_sha256_of((hob_bytes){(const uint8_t *)body.data, body.len});
	if (!hob_sha256_equal(&said, &is))
		return false;
	cJSON *json = cJSON_ParseWithLength(body.data, body.len);
	srv_recipe recipe = {0};
	bool ok = json && get_recipe(json, arena, &recipe);
	cJSON_Delete(json);
	if (ok)
		*out = recipe;
	return ok;
}

static bool read_file(int folder_fd, const char *name, hob_arena *arena, hob_str *out)
{
	struct stat info;
	int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool ok = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= COPY_BYTES_MAX;
	char *data = ok ? hob_arena_alloc(arena, (size_t)info.st_size, 1) : NULL;
	ssize_t size = data ? read(fd, data, (size_t)info.st_size) : -1;
	if (fd >= 0)
		close(fd);
	*out = (hob_str){data, size > 0 ? (size_t)size : 0};
	return size > 0;
}

/* False only when the index cannot be written. */
static bool read_copy(srv_store *store, int folder_fd, const char *name, hob_error *err)
{
	hob_arena arena;
	hob_str text;
	srv_recipe recipe;
	bool ok = true;
	hob_arena_init(&arena, 4ul * COPY_BYTES_MAX);
	bool whole = read_file(folder_fd, name, &arena, &text) && store_copy_parse(text, &arena, &recipe);
	const hob_sha256 *digests = whole && recipe.output_count > 0 ? &recipe.outputs[0].digest : NULL;
	if (whole && store_blobs_name(store, digests, sizeof *recipe.outputs, recipe.output_count, NULL))
		ok = store_recipe_put_rows(store, &recipe, err);
	else
		unlinkat(folder_fd, name, 0);
	hob_arena_release(&arena);
	return ok;
}

bool store_copies_read(srv_store *store, hob_error *err)
{
	bool ok = true;
	for (int i = 0; i < 256 && ok; i++) {
		char name[3];
		snprintf(name, sizeof name, "%02x", (unsigned)i);
		int fd = openat(store->recipes_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
		if (!folder) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		for (struct dirent *file = readdir(folder); file && ok; file = readdir(folder))
			if (file->d_name[0] != '.')
				ok = read_copy(store, fd, file->d_name, err);
		closedir(folder);
	}
	return ok;
}
