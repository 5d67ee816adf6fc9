#include "config.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 4 << 20, SOURCES_MAX = 256, GLOBS_MAX = 256 };

typedef struct reader {
	srv_config *config;
	const char *file;
	hob_str folder; /* folder of the file: its relative paths start here */
	hob_error *err;
} reader;

static bool fail_memory(hob_error *err)
{
	return hob_fail(err, MEMORY, "no memory left for the configuration");
}

/* ---- finding it */

/* Whether the path is a regular file: opening a pipe would block. */
static bool is_file(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static const char *find_file(srv_config *config)
{
	char here[PATH_MAX], path[PATH_MAX + 16];
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
	if (getcwd(here, sizeof here))
		for (char *end = here + strlen(here); end; end = strrchr(here, '/')) {
			*end = 0;
			snprintf(path, sizeof path, "%s/hob.json", here);
			if (is_file(path))
				return hob_arena_str(&config->arena, hob_str_of(path)).data;
		}
	if (xdg && xdg[0])
		snprintf(path, sizeof path, "%.4000s/hob/hob.json", xdg);
	else
		snprintf(path, sizeof path, "%.4000s/.config/hob/hob.json", home ? home : "");
	return is_file(path) ? hob_arena_str(&config->arena, hob_str_of(path)).data : NULL;
}

/* ---- keys */

static bool fail_key(const reader *r, const char *path)
{
	static const char *const others[] = {"sources", "defaults", "version"};
	static const char *const of_sources[] = {"path",   "name", "include", "exclude", "options",
											 "mirror", "git",  "refs",	  "lfs",	 "lfs_token"};
	hob_str best = {0}, last = hob_str_of(path);
	size_t nearest = HOB_NEAR_EDITS + 1, dot = hob_str_find(last, HOB_STR("."), 0);
	last = dot == SIZE_MAX ? last : hob_str_sub(last, dot + 1, last.len);
	for (size_t i = 0; i < HOB_COUNT_OF(of_sources); i++)
		if (hob_str_equal(last, hob_str_of(of_sources[i])))
			return hob_fail(r->err, CONFIG,
							"%s: '%s' is a key of a source: \"sources\": [{\"path\": \"art\", \"%s\": ...}]",
							r->file, path, of_sources[i]);
	for (int i = 0; i < (int)HOB_COUNT_OF(others) + SRV_CONFIG_COUNT; i++) {
		const char *name = i < SRV_CONFIG_COUNT ? srv_config_table[i].path : others[i - SRV_CONFIG_COUNT];
		size_t distance;
		hob_str near = hob_key_near(hob_str_of(path), hob_str_of(name), &distance);
		if (distance < nearest) {
			nearest = distance;
			best = near;
		}
	}
	hob_str setting = hob_settings_place(last);
	if (nearest > 0 && setting.len > 0)
		return hob_fail(
			r->err, CONFIG,
			"%s: '%s' is a cook setting ('%.*s'); it belongs in \"defaults\", in \"options\" of a source "
			"or in a folder's cook.json",
			r->file, path, HOB_FMT(setting));
	if (best.len > 0)
		return hob_fail(r->err, CONFIG, "%s: unknown key '%s'; did you mean '%.*s'?", r->file, path,
						HOB_FMT(best));
	return hob_fail(r->err, CONFIG,
					"%s: unknown key '%s', and no known key is similar; 'man hob.json' lists the keys",
					r->file, path);
}

static bool is_comment(const cJSON *item)
{
	return strncmp(item->string, "//", 2) == 0;
}

static const char *resolved(const reader *r, const char *path)
{
	if (path[0] == '/' || path[0] == 0)
		return hob_arena_str(&r->config->arena, hob_str_of(path)).data;
	return hob_arena_printf(&r->config->arena, "%.*s/%s", HOB_FMT(r->folder), path).data;
}

static bool set_item(const reader *r, srv_config_key key, const cJSON *item)
{
	char where[PATH_MAX + 64], number[40];
	snprintf(where, sizeof where, "%s: '%s'", r->file, srv_config_table[key].path);
	const char *text = item->valuestring;
	srv_config_type type = srv_config_table[key].type;
	if (cJSON_IsBool(item))
		text = cJSON_IsTrue(item) ? "true" : "false";
	if (cJSON_IsNumber(item)) {
		snprintf(number, sizeof number, "%.17g", item->valuedouble);
		text = number;
	}
	bool wanted = type == SRV_CONFIG_TYPE_flag	   ? cJSON_IsBool(item)
				  : type == SRV_CONFIG_TYPE_number ? cJSON_IsNumber(item)
				  : type == SRV_CONFIG_TYPE_size   ? cJSON_IsNumber(item) || cJSON_IsString(item)
												   : cJSON_IsString(item);
	if (cJSON_IsNull(item))
		return true;
	if (!wanted)
		return hob_fail(r->err, CONFIG, "%s must be %s", where,
						type == SRV_CONFIG_TYPE_flag	 ? "true or false"
						: type == SRV_CONFIG_TYPE_number ? "a number"
						: type == SRV_CONFIG_TYPE_size	 ? "a number of bytes or a text such as \"20 GiB\""
														 : "a text");
	if (type == SRV_CONFIG_TYPE_path)
		text = resolved(r, text);
	return text ? srv_config_set(r->config, key, text, SRV_CONFIG_FILE, where, r->err) : fail_memory(r->err);
}

static bool read_group(const reader *r, const cJSON *group)
{
	for (const cJSON *item = group->child; item; item = item->next) {
		char path[128];
		snprintf(path, sizeof path, "%.50s.%.70s", group->string, item->string);
		if (is_comment(item))
			continue;
		srv_config_key key = 0;
		while (key < SRV_CONFIG_COUNT && strcmp(srv_config_table[key].path, path) != 0)
			key++;
		if (key == SRV_CONFIG_COUNT)
			return fail_key(r, path);
		bool list = cJSON_IsArray(item) &&
					(srv_config_table[key].type == SRV_CONFIG_TYPE_list || key == SRV_CONFIG_listen);
		if (list && key == SRV_CONFIG_listen) {
			hob_own_buf all = {0};
			for (const cJSON *one = item->child; one; one = one->next)
				hob_buf_printf(&all, "%s%s", one == item->child ? "" : ",",
							   one->valuestring ? one->valuestring : "");
			hob_buf_put(&all, "", 1);
			bool ok = !all.failed && srv_config_set(r->config, key, (const char *)all.data, SRV_CONFIG_FILE,
													"server.listen", r->err);
			if (!ok)
				return false;
			continue;
		}
		for (const cJSON *one = list ? item->child : item; one; one = list ? one->next : NULL)
			if (!set_item(r, key, one))
				return false;
	}
	return true;
}

static bool is_group(const char *name)
{
	size_t length = strlen(name);
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++)
		if (strncmp(srv_config_table[key].path, name, length) == 0 &&
			srv_config_table[key].path[length] == '.')
			return true;
	return false;
}

/* ---- sources and cook settings */

static bool overlay(const reader *r, const cJSON *object, const char *what, hob_settings *settings)
{
	hob_own char *text = cJSON_PrintUnformatted(object);
	char where[PATH_MAX + 64];
	snprintf(where, sizeof where, "%s: %s", r->file, what);
	return text ? hob_settings_overlay(settings, hob_str_of(text), hob_str_of(where), r->err)
				: fail_memory(r->err);
}

/* Expands braces: "a/{b,c}.x" gives "a/b.x" and "a/c.x". */
static bool add_globs(const reader *r, hob_str pattern, const char **out, uint32_t *count)
{
	size_t open = hob_str_find(pattern, HOB_STR("{"), 0);
	size_t close = open == SIZE_MAX ? SIZE_MAX : hob_str_find(pattern, HOB_STR("}"), open);
	if (close == SIZE_MAX) {
		if (*count == GLOBS_MAX)
			return hob_fail(r->err, CONFIG, "%s: a source has more than %d patterns", r->file, GLOBS_MAX);
		out[*count] = hob_arena_str(&r->config->arena, pattern).data;
		return out[(*count)++] || fail_memory(r->err);
	}
	hob_str before = hob_str_sub(pattern, 0, open), after = hob_str_sub(pattern, close + 1, pattern.len);
	for (size_t at = open + 1; at <= close;) {
		size_t end = hob_str_find(pattern, HOB_STR(","), at);
		if (end == SIZE_MAX || end > close)
			end = close;
		hob_str one = hob_arena_printf(&r->config->arena, "%.*s%.*s%.*s", HOB_FMT(before), (int)(end - at),
									   pattern.data + at, HOB_FMT(after));
		if (!one.data)
			return fail_memory(r->err);
		if (!add_globs(r, one, out, count))
			return false;
		at = end + 1;
	}
	return true;
}

static bool read_globs(const reader *r, const cJSON *list, const char *const **out)
{
	const char **globs = HOB_NEW(&r->config->arena, const char *, GLOBS_MAX + 1);
	uint32_t count = 0;
	if (!globs)
		return fail_memory(r->err);
	if (!cJSON_IsArray(list))
		return hob_fail(r->err, CONFIG, "%s: '%s' of a source must be a list of patterns", r->file,
						list->string);
	for (const cJSON *item = list->child; item; item = item->next)
		if (!cJSON_IsString(item))
			return hob_fail(r->err, CONFIG, "%s: a pattern in '%s' is not a text", r->file, list->string);
		else if (!add_globs(r, hob_str_of(item->valuestring), globs, &count))
			return false;
	*out = globs;
	return true;
}

static bool fail_source_key(const reader *r, const char *key)
{
	static const char *const keys[] = {"name", "path", "include", "exclude", "options", "mirror"};
	hob_str setting = hob_settings_place(hob_str_of(key));
	if (setting.len > 0)
		return hob_fail(r->err, CONFIG,
						"%s: '%s' is a cook setting ('%.*s'); it belongs in \"options\" of the source",
						r->file, key, HOB_FMT(setting));
	const char *best = NULL;
	size_t nearest = HOB_NEAR_EDITS + 1;
	for (size_t i = 0; i < HOB_COUNT_OF(keys); i++) {
		size_t distance = hob_str_distance(hob_str_of(key), hob_str_of(keys[i]));
		if (distance < nearest) {
			nearest = distance;
			best = keys[i];
		}
	}
	return hob_fail(r->err, CONFIG,
					"%s: unknown key '%s' of a source%s%s%s There are name, path, include, exclude, options, "
					"mirror, git, refs, lfs, lfs_token",
					r->file, key, best ? "; did you mean '" : ".", best ? best : "", best ? "'?" : "");
}

static bool is_address(const char *text)
{
	return text && strlen(text) < 2048 && strcspn(text, " @\"\r\n\t") == strlen(text) &&
		   (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0);
}

static bool read_source(const reader *r, const cJSON *object, srv_config_source *source)
{
	*source = (srv_config_source){.name = "", .settings = r->config->defaults};
	if (!cJSON_IsObject(object))
		return hob_fail(r->err, CONFIG, "%s: an entry of 'sources' is not an object", r->file);
	const char *git = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "git"));
	for (const cJSON *item = object->child; item; item = item->next) {
		if (is_comment(item))
			continue;
		if (strcmp(item->string, "path") == 0 && cJSON_IsString(item))
			source->path = git ? hob_arena_str(&r->config->arena, hob_str_of(item->valuestring)).data
							   : resolved(r, item->valuestring);
		else if (strcmp(item->string, "git") == 0 && git && git[0])
			source->git = resolved(r, git);
		else if (strcmp(item->string, "name") == 0 && cJSON_IsString(item) && item->valuestring[0] &&
				 !strchr(item->valuestring, '/'))
			source->name = hob_arena_str(&r->config->arena, hob_str_of(item->valuestring)).data;
		else if (strcmp(item->string, "name") == 0 || strcmp(item->string, "path") == 0)
			return hob_fail(r->err, CONFIG, "%s: '%s' of a source must be a text%s", r->file, item->string,
							item->string[0] == 'n' ? " without '/'" : "");
		else if (strcmp(item->string, "lfs") == 0 && git && is_address(item->valuestring))
			source->lfs = hob_arena_str(&r->config->arena, hob_str_of(item->valuestring)).data;
		else if (strcmp(item->string, "lfs_token") == 0 && git && cJSON_IsString(item))
			source->lfs_token = resolved(r, item->valuestring);
		else if (strcmp(item->string, "lfs") == 0 || strcmp(item->string, "lfs_token") == 0)
			return hob_fail(r->err, CONFIG, "%s: '%s' of a source must be %s, and belongs to 'git'", r->file,
							item->string,
							item->string[3] ? "the path of a file" : "an http:// or https:// address");
		else if (strcmp(item->string, "git") == 0)
			return hob_fail(r->err, CONFIG, "%s: 'git' of a source must be the path of a repository",
							r->file);
		else if (strcmp(item->string, "include") == 0 || strcmp(item->string, "exclude") == 0 ||
				 strcmp(item->string, "refs") == 0) {
			if (!read_globs(r, item,
							item->string[0] == 'i'	 ? &source->include
							: item->string[0] == 'e' ? &source->exclude
													 : &source->refs))
				return false;
		} else if (strcmp(item->string, "mirror") == 0) {
			source->mirror = cJSON_IsTrue(item);
			if (!cJSON_IsBool(item))
				return hob_fail(r->err, CONFIG, "%s: 'mirror' of a source must be true or false", r->file);
		} else if (strcmp(item->string, "options") == 0) {
			if (!overlay(r, item, "options of a source", &source->settings))
				return false;
		} else {
			return fail_source_key(r, item->string);
		}
	}
	if (source->refs && (!source->git || (source->refs[0] && strpbrk(source->refs[0], "*?"))))
		return hob_fail(r->err, CONFIG, "%s: %s", r->file,
						source->git ? "the first of 'refs' is the branch that the root shows, and no pattern"
									: "'refs' of a source belongs to 'git'");
	if (source->git && source->mirror)
		return hob_fail(r->err, CONFIG, "%s: a git repository is no mirror", r->file);
	return source->path || source->git || hob_fail(r->err, CONFIG, "%s: a source has no 'path'", r->file);
}

static bool read_sources(const reader *r, const cJSON *list)
{
	int count = cJSON_GetArraySize(list);
	srv_config_source *sources = HOB_NEW(&r->config->arena, srv_config_source, (size_t)count);
	if (!cJSON_IsArray(list) || count > SOURCES_MAX)
		return hob_fail(r->err, CONFIG, "%s: 'sources' must be a list of at most %d folders", r->file,
						SOURCES_MAX);
	if (!sources)
		return fail_memory(r->err);
	for (const cJSON *item = list->child; item; item = item->next)
		if (!read_source(r, item, &sources[r->config->source_count++]))
			return false;
	r->config->sources = sources;
	return true;
}

/* ---- the file */

static bool read_root(const reader *r, const cJSON *root)
{
	if (cJSON_IsArray(root))
		return hob_fail(r->err, CONFIG, "%s is a list of scenes: cook it with 'hob cook %s'", r->file,
						r->file);
	if (!cJSON_IsObject(root))
		return hob_fail(r->err, CONFIG, "%s must be a JSON object", r->file);
	const cJSON *defaults = cJSON_GetObjectItemCaseSensitive(root, "defaults");
	if (defaults && !overlay(r, defaults, "defaults", &r->config->defaults))
		return false;
	for (const cJSON *item = root->child; item; item = item->next) {
		const char *name = item->string;
		bool ok = true;
		if (is_comment(item) || strcmp(name, "$schema") == 0 || strcmp(name, "defaults") == 0)
			continue;
		if (strcmp(name, "version") == 0)
			ok = (cJSON_IsNumber(item) && item->valuedouble == 1) ||
				 hob_fail(r->err, CONFIG, "%s: 'version' is not 1: it was written for another Hob", r->file);
		else if (strcmp(name, "sources") == 0)
			ok = read_sources(r, item);
		else if (is_group(name) && cJSON_IsObject(item))
			ok = read_group(r, item);
		else
			ok = is_group(name) ? hob_fail(r->err, CONFIG, "%s: '%s' must be an object", r->file, name)
								: fail_key(r, name);
		if (!ok)
			return false;
	}
	return true;
}

static bool read_file(srv_config *config, hob_error *err)
{
	FILE *file = fopen(config->file, "re");
	hob_own char *text = malloc(FILE_BYTES_MAX);
	size_t size = file && text ? fread(text, 1, FILE_BYTES_MAX, file) : 0;
	bool ok = file && text && !ferror(file) && size < FILE_BYTES_MAX;
	if (!ok)
		(void)!hob_fail(err, IO, "the configuration '%s' cannot be read: %s", config->file,
						size == FILE_BYTES_MAX ? "it is larger than 4 MiB" : strerror(errno));
	if (file)
		fclose(file);
	const char *end = text;
	hob_own_json *root = ok ? cJSON_ParseWithLengthOpts(text, size, &end, false) : NULL;
	if (ok && !root) {
		size_t line, column;
		hob_text_place((hob_str){text, size}, end, &line, &column);
		ok =
			hob_fail(err, CONFIG, "%s: not valid JSON near line %zu, column %zu", config->file, line, column);
	}
	const char *slash = strrchr(config->file, '/');
	reader r = {
		config, config->file,
		slash ? hob_str_sub(hob_str_of(config->file), 0, (size_t)(slash - config->file)) : HOB_STR("."), err};
	return ok && read_root(&r, root);
}

static bool read_environment(srv_config *config, hob_error *err)
{
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		const srv_config_row *row = &srv_config_table[key];
		const char *text = getenv(row->environment);
		if (!text || !text[0])
			continue;
		hob_str rest = hob_str_of(text);
		while (row->type == SRV_CONFIG_TYPE_list && hob_str_find(rest, HOB_STR(","), 0) != SIZE_MAX) {
			size_t comma = hob_str_find(rest, HOB_STR(","), 0);
			hob_str item = hob_arena_str(&config->arena, hob_str_sub(rest, 0, comma));
			if (!item.data ||
				!srv_config_set(config, key, item.data, SRV_CONFIG_ENVIRONMENT, row->environment, err))
				return false;
			rest = hob_str_sub(rest, comma + 1, rest.len);
		}
		if (!srv_config_set(config, key, rest.data, SRV_CONFIG_ENVIRONMENT, row->environment, err))
			return false;
	}
	return true;
}

bool srv_config_load(srv_config *config, const char *file, hob_error *err)
{
	*config = (srv_config){0};
	*err = (hob_error){0};
	hob_arena_init(&config->arena, 64 << 20);
	hob_settings_init(&config->defaults);
	bool ok = true;
	for (srv_config_key key = 0; ok && key < SRV_CONFIG_COUNT; key++)
		ok = srv_config_set(config, key, srv_config_table[key].initial, SRV_CONFIG_DEFAULT,
							srv_config_table[key].path, err);
	const char *named = file ? file : getenv("HOB_CONFIG");
	config->file =
		named && named[0] ? hob_arena_str(&config->arena, hob_str_of(named)).data : find_file(config);
	ok = ok && (!config->file || read_file(config, err)) && read_environment(config, err);
	if (!ok)
		srv_config_release(config);
	return ok;
}
