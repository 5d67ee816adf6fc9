#include "cook_plan.h"
#include "cli.h"
#include "scene_list.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../../core/formats/number_text.h"
#include "../fs/fd.h"
#include "../fs/model_format.h"
#include "../fs/whole_path.h"
#include "../config/ignore.h"
#include "../settings/chain.h"
#include "../settings/sidecar.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 128, SETTINGS_BYTES_MAX = 16 << 20 };

/* ---- the file or option that each setting of a model comes from */

static const struct {
	size_t at, size;
	const char *path;
} fields[] = {
#define SETTING(field, type, path, value, min, max, doc)                                                     \
	{offsetof(hob_settings, field), sizeof((hob_settings *)0)->field, path},
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
};

typedef struct setting_origins {
	bool unasked;
	hob_settings settings; /* settings after the layers added so far */
	const char *names[HOB_COUNT_OF(fields)];
} setting_origins;

/* Adds a layer called `name`: settings that differ from those of the layer before get it as origin. */
static void origins_layer(setting_origins *origins, const hob_settings *after, const char *name)
{
	const char *before = (const char *)&origins->settings, *now = (const char *)after;
	for (size_t i = 0; !origins->unasked && i < HOB_COUNT_OF(fields); i++)
		if (memcmp(before + fields[i].at, now + fields[i].at, fields[i].size) != 0)
			origins->names[i] = name;
	origins->settings = *after;
}

/* {"lods.max":{"value":3,"origin":"props/cook.json"}}, the settings that some layer changed. */
static const char *origins_text(const setting_origins *origins, hob_arena *arena)
{
	hob_own_json *settings = hob_settings_json(&origins->settings), *out = cJSON_CreateObject();
	for (size_t i = 0; i < HOB_COUNT_OF(fields); i++) {
		const cJSON *value = origins->names[i] ? srv_settings_value(settings, fields[i].path) : NULL;
		if (!value)
			continue;
		cJSON *item = cJSON_AddObjectToObject(out, fields[i].path);
		cJSON_AddItemToObject(item, "value", cJSON_Duplicate(value, true));
		cJSON_AddStringToObject(item, "origin", origins->names[i]);
	}
	hob_own char *text = cJSON_PrintUnformatted(out);
	return hob_arena_str(arena, hob_str_of(text)).data;
}

/* ---- settings */

typedef struct overlaying {
	hob_settings *settings;
	setting_origins origins;
	hob_arena *names;
} overlaying;

static bool overlay_layer(void *user, const srv_layer *layer, hob_error *err)
{
	overlaying *o = user;
	if (layer->exists && !hob_settings_overlay(o->settings, layer->text, layer->path, err))
		return false;
	if (layer->exists)
		origins_layer(&o->origins, o->settings, hob_arena_str(o->names, layer->path).data);
	return true;
}

enum { FULL_MAX = PATH_MAX * 2 };

/* The configured source that contains the model, and the model's path below it, in `full`; NULL: none. */
static const cook_plan_source *source_of(const cook_plan *plan, const char *path, char full[FULL_MAX],
										 hob_str *below)
{
	snprintf(full, FULL_MAX, "%s/%s", strcmp(plan->root, "/") == 0 ? "" : plan->root, path);
	for (uint32_t i = 0; i < plan->source_count; i++) {
		const char *rest = srv_path_below(plan->sources[i].root, full);
		if (rest && rest[0]) {
			*below = hob_str_of(rest);
			return &plan->sources[i];
		}
	}
	return NULL;
}

/* NULL: there is no such file, as errno says. */
static const char *real_path(cook_plan *plan, const char *path)
{
	char full[PATH_MAX];
	return realpath(path, full) ? hob_arena_str(&plan->memory, hob_str_of(full)).data : NULL;
}

static bool open_sources(cook_plan *plan, const srv_config *config, hob_error *err)
{
	plan->sources = HOB_NEW(&plan->memory, cook_plan_source, config->source_count + 1);
	bool ok = plan->sources || hob_fail(err, MEMORY, "no memory left for the sources");
	for (uint32_t i = 0; i < config->source_count && ok; i++) {
		cook_plan_source *source = &plan->sources[plan->source_count];
		*source = (cook_plan_source){
			.of = &config->sources[i], .root = real_path(plan, config->sources[i].path), .root_fd = -1};
		if (source->root)
			source->root_fd = open(source->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		plan->source_count += source->root_fd >= 0;
		ok = !source->root ||
			 srv_ignore_read(&plan->memory, source->root, source->of->exclude, &source->exclude, err);
	}
	return ok;
}

/* The command line overrides all else. Its budget comes last, so that no settings file can switch it off. */
static bool overlay_command_line(const cook_plan_options *options, cook_entry *entry,
								 setting_origins *origins, hob_error *err)
{
	const cook_layer *layers[] = {&options->over, &options->budget};
	for (size_t i = 0; i < HOB_COUNT_OF(layers); i++) {
		if (layers[i]->text && !hob_settings_overlay(&entry->settings, hob_str_of(layers[i]->text),
													 hob_str_of(layers[i]->origin), err))
			return false;
		origins_layer(origins, &entry->settings, layers[i]->origin);
	}
	entry->settings.strict |= options->strict;
	origins_layer(origins, &entry->settings, "--strict");
	return true;
}

/* Resolves settings without their origins; reads each folder's cook.json once. */
static bool resolve(cook_plan *plan, int root_fd, const hob_settings *base, hob_str below, cook_entry *entry)
{
	if (!plan->folders)
		plan->folders = hob_must(srv_settings_cache_new());
	else if (plan->folders_of != root_fd)
		srv_settings_forget(plan->folders);
	plan->folders_of = root_fd;
	return srv_settings_resolve(plan->folders, root_fd, base, below, root_fd,
								entry->bare ? (hob_str){0} : below, &entry->settings, &entry->settings_error);
}

static bool settle(cook_plan *plan, const cook_plan_options *options, const scene_entry *scene,
				   const char *list, cook_entry *entry, hob_error *err)
{
	char full[FULL_MAX];
	hob_str below = hob_str_of(entry->path);
	const cook_plan_source *source = source_of(plan, entry->path, full, &below);
	const hob_settings *base = source ? &source->of->settings : &options->config->defaults;
	int root_fd = source ? source->root_fd : plan->root_fd;
	overlaying over = {
		.settings = &entry->settings, .origins.unasked = options->plain, .names = &plan->memory};
	hob_settings_init(&over.origins.settings);
	entry->settings = *base;
	origins_layer(&over.origins, base, options->config->file ? options->config->file : "hob.json");
	if (options->plain ? !resolve(plan, root_fd, base, below, entry)
					   : !srv_settings_walk(root_fd, below, overlay_layer, &over, &entry->settings_error))
		entry->settings = *base;
	if (scene) {
		srv_scene_list_settings(scene, &entry->settings);
		origins_layer(&over.origins, &entry->settings, list);
	}
	bool ok = overlay_command_line(options, entry, &over.origins, err);
	entry->origins = ok && !options->plain ? origins_text(&over.origins, &plan->memory) : NULL;
	return ok;
}

static char *wrap_budget(const char *file, const char *text, hob_error *err)
{
	hob_own_json *root = cJSON_ParseWithOpts(text, NULL, true), *whole = cJSON_CreateObject();
	const cJSON *inner = cJSON_GetObjectItemCaseSensitive(root, "budget"), *limits = inner ? inner : root;
	char *out = NULL;
	if (!cJSON_IsObject(limits) || !limits->child)
		hob_fail(err, CONFIG,
				 "%s: a budget file holds a JSON object such as {\"triangles\": 20000, \"bytes\": 4000000}",
				 file);
	else if (!cJSON_AddItemToObject(whole, "budget", cJSON_Duplicate(limits, true)) ||
			 !(out = cJSON_PrintUnformatted(whole)))
		hob_fail(err, MEMORY, "no memory left for the budgets");
	return out;
}

bool srv_cook_plan_read(const char *given, const char *option, cook_layer *out, hob_error *err)
{
	hob_settings trial;
	size_t size = 0;
	bool object = given && given[strspn(given, " \t\r\n")] == '{';
	*out = (cook_layer){.origin = object ? option : given};
	if (!given)
		return true;
	char *text = object ? strdup(given) : srv_file_text(given, SETTINGS_BYTES_MAX, &size);
	if (!text)
		return hob_fail(err, USAGE, "%s takes a JSON object or a file with one; '%s' cannot be read: %s",
						option, given, strerror(errno));
	bool budget = strcmp(option, "--budget") == 0;
	out->text = budget ? wrap_budget(out->origin, text, err) : text;
	if (budget)
		free(text);
	hob_settings_init(&trial);
	if (out->text && hob_settings_overlay(&trial, hob_str_of(out->text), hob_str_of(out->origin), err))
		return true;
	free(out->text);
	out->text = NULL;
	return false;
}

/* ---- entries */

cook_entry *srv_cook_plan_add(cook_plan *plan, const char *path, hob_error *err)
{
	const char *copy = hob_arena_str(&plan->memory, hob_str_of(path)).data;
	if (!copy || !HOB_ROOM(plan->entries, plan->capacity, plan->count)) {
		hob_fail(err, MEMORY, "no memory left for the list of models");
		return NULL;
	}
	plan->entries[plan->count] = (cook_entry){.path = copy, .name = copy};
	return &plan->entries[plan->count++];
}

static cook_entry *add_entry(cook_plan *plan, const cook_plan_options *options, const char *path,
							 const scene_entry *scene, const char *list, hob_error *err)
{
	cook_entry *entry = srv_cook_plan_add(plan, path, err);
	return entry && settle(plan, options, scene, list, entry, err) ? entry : NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Whether .hobignore or the file's source leaves it out, as in the daemon. */
static bool is_left_out(const cook_plan *plan, const char *path)
{
	char full[FULL_MAX];
	hob_str below;
	const cook_plan_source *source = source_of(plan, path, full, &below);
	hob_str named = hob_str_of(path + plan->ignored_from);
	return hob_glob_match_any(plan->ignored, named) ||
		   (source && ((source->of->include && !hob_glob_match_any(source->of->include, below)) ||
					   hob_glob_match_any(source->exclude, below)));
}

/* Reports a settings file that has no effect, since its author expects one. */
static void tell_stray(const cook_plan *plan, const char *path, const char *name)
{
	char folder[PATH_MAX * 2], model[NAME_MAX + 1];
	if (srv_settings_sidecar_of(hob_str_of(name)).len == 0)
		return;
	snprintf(folder, sizeof folder, "%s/%s", plan->root, path);
	srv_own_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && srv_sidecar_stray(fd, name, model))
		fprintf(stderr, "warning  %s%s%s has no effect; for %s, name it %s.cook.json\n", path,
				path[0] ? "/" : "", name, model, model);
}

static bool add_listed(cook_plan *plan, const cook_plan_options *options, const char *path, uint64_t size,
					   bool bare, hob_error *err)
{
	cook_entry *entry = srv_cook_plan_add(plan, path, err);
	if (!entry)
		return false;
	entry->size = size;
	entry->bare = bare;
	return settle(plan, options, NULL, NULL, entry, err);
}

static bool add_folder(cook_plan *plan, const cook_plan_options *options, const char *path, int depth,
					   hob_error *err)
{
	char full[PATH_MAX * 2];
	struct dirent **list;
	snprintf(full, sizeof full, "%s/%s", plan->root, path);
	int count = scandir(full, &list, visible, by_name);
	if (count < 0)
		return hob_fail(err, USAGE, "the folder '%s' cannot be read: %s", full, strerror(errno));
	bool ok = true, bare = true;
	for (int i = 0; i < count && bare; i++)
		bare = !strcasestr(list[i]->d_name, ".cook.json");
	for (int i = 0; i < count; i++) {
		char child[PATH_MAX];
		struct stat info;
		int length = snprintf(child, sizeof child, "%s%s%s", path, path[0] ? "/" : "", list[i]->d_name);
		snprintf(full, sizeof full, "%s/%s", plan->root, child);
		tell_stray(plan, path, list[i]->d_name);
		if (ok && length < (int)sizeof child && lstat(full, &info) == 0) {
			if (S_ISDIR(info.st_mode) && depth < DEPTH_MAX)
				ok = add_folder(plan, options, child, depth + 1, err);
			else if ((S_ISREG(info.st_mode) ||
					  (S_ISLNK(info.st_mode) && stat(full, &info) == 0 && S_ISREG(info.st_mode))) &&
					 !is_left_out(plan, child))
				ok = add_listed(plan, options, child, (uint64_t)info.st_size, bare, err);
		}
		free(list[i]);
	}
	free(list);
	return ok;
}

/* ---- scene lists */

static bool below_root(const cook_plan *plan, const char *path, char out[PATH_MAX], hob_error *err)
{
	char full[PATH_MAX];
	if (!realpath(path, full))
		return hob_fail(err, USAGE, "'%s' cannot be opened: %s", path, strerror(errno));
	const char *rest = srv_path_below(plan->root, full);
	if (!rest)
		return hob_fail(err, USAGE, "'%s' is not below '%s'; name a common folder with --root", path,
						plan->root);
	snprintf(out, PATH_MAX, "%s", rest);
	return true;
}

/* Makes the text of a .merge file for the parts, with names relative to the root. */
static bool merge_text(cook_plan *plan, const scene_entry *scene, const char **out, hob_error *err)
{
	char path[PATH_MAX];
	hob_own_buf text = {0};
	bool ok = true;
	hob_json_put(&text, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("scenes", '['));
	for (uint32_t i = 0; i < scene->part_count && ok; i++) {
		ok = below_root(plan, scene->parts[i].file, path, err);
		hob_json_put(&text, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("file", ok ? path : ""),
					 HOB_JSON_KEY("scale"));
		hob_put_f32(&text, scene->parts[i].scale);
		hob_json_close(&text, '}');
	}
	hob_json_put(&text, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	*out = ok && !text.failed ? hob_arena_str(&plan->memory, hob_buf_str(&text)).data : NULL;
	return !ok || *out ? ok : hob_fail(err, MEMORY, "no memory left for the list of models");
}

/* The path of a merge: "bistro" for "data/bistro.scene", at the root, where names of parts begin. */
static void merge_path(const scene_entry *scene, char path[PATH_MAX])
{
	hob_str name = hob_path_name(hob_str_of(scene->output_scene)), ending = hob_path_extension(name);
	snprintf(path, PATH_MAX, "%.*s.merge", (int)(name.len - (ending.len > 0 ? ending.len + 1 : 0)),
			 name.data);
}

/* Adds an entry; a missing input fails only that entry. */
static bool add_scene(cook_plan *plan, const cook_plan_options *options, const scene_entry *scene,
					  const char *list, hob_error *err)
{
	char path[PATH_MAX];
	hob_error absent = {0};
	const char *text = NULL;
	bool there = scene->input ? below_root(plan, scene->input, path, &absent)
							  : merge_text(plan, scene, &text, &absent);
	if (!scene->input)
		merge_path(scene, path);
	cook_entry *entry =
		add_entry(plan, options, there || !scene->input ? path : scene->input, scene, list, err);
	if (!entry)
		return false;
	entry->text = text;
	if (!there) {
		(void)hob_fail_in(&absent, "named in %s", list);
		entry->settings_error = absent;
	}
	entry->output_mesh = scene->output_mesh;
	entry->output_scene = scene->output_scene;
	entry->output_materials = scene->output_materials;
	return true;
}

static bool add_list(cook_plan *plan, const cook_plan_options *options, const char *path, hob_error *err)
{
	scene_list list;
	bool ok = srv_scene_list_read(&plan->memory, path, &list, err);
	for (uint32_t i = 0; ok && i < list.count; i++)
		ok = add_scene(plan, options, &list.entries[i], path, err);
	return ok;
}

/* ---- the plan */

static bool is_list(const char *path)
{
	return hob_str_equal_nocase(hob_path_extension(hob_str_of(path)), HOB_STR("json"));
}

/* The source that contains all paths; NULL: none, or a scene list is among them. */
static const cook_plan_source *common_source(const cook_plan *plan, char **paths, uint32_t count)
{
	for (uint32_t s = 0; s < plan->source_count; s++) {
		bool all = true;
		for (uint32_t i = 0; i < count && all; i++) {
			char full[PATH_MAX];
			all =
				!is_list(paths[i]) && realpath(paths[i], full) && srv_path_below(plan->sources[s].root, full);
		}
		if (all)
			return &plan->sources[s];
	}
	return NULL;
}

static bool choose_root(cook_plan *plan, const cook_plan_options *options, char **paths, uint32_t count,
						hob_error *err)
{
	char full[PATH_MAX], here[PATH_MAX];
	if (options->root) {
		plan->root = real_path(plan, options->root);
		return plan->root ||
			   hob_fail(err, USAGE, "the root '%s' cannot be opened: %s", options->root, strerror(errno));
	}
	const cook_plan_source *source = common_source(plan, paths, count);
	if (source) {
		plan->root = source->root;
		return true;
	}
	if (!getcwd(here, sizeof here))
		return hob_fail(err, USAGE, "the current folder cannot be found: %s", strerror(errno));
	bool inside = true;
	for (uint32_t i = 0; i < count && inside; i++) {
		if (!realpath(paths[i], full))
			return hob_fail(err, USAGE, "'%s' cannot be opened: %s%s", paths[i], strerror(errno),
							errno == ENOENT && i > 0 ? "; the folder for results is named with -o" : "");
		inside = srv_path_below(here, full);
	}
	struct stat info;
	if (count == 1 && realpath(paths[0], full) && stat(full, &info) == 0 && S_ISDIR(info.st_mode)) {
		inside = false;
	} else if (!inside && count == 1) {
		char *slash = strrchr(full, '/');
		slash[slash == full] = 0;
	} else if (!inside) {
		return hob_fail(err, USAGE,
						"the paths have no common folder below the current one; name it with --root");
	}
	plan->root = hob_arena_str(&plan->memory, hob_str_of(inside ? here : full)).data;
	return plan->root != NULL || hob_fail(err, MEMORY, "no memory left");
}

static int by_output(const void *a, const void *b)
{
	const cook_entry *const *one = a, *const *other = b;
	int order = strcmp((*one)->name, (*other)->name);
	return order ? order : strcmp((*one)->path, (*other)->path);
}

/* A model named twice is cooked once; two models with one output name are an error. */
static bool check_names(cook_plan *plan, hob_error *err)
{
	bool ok = true;
	uint32_t count = 0;
	const cook_entry **sorted = HOB_NEW(&plan->memory, const cook_entry *, plan->count + 1);
	if (!sorted)
		return hob_fail(err, MEMORY, "no memory left for the list of models");
	for (uint32_t i = 0; i < plan->count; i++)
		if (!plan->entries[i].output_mesh)
			sorted[count++] = &plan->entries[i];
	qsort(sorted, count, sizeof(const cook_entry *), by_output);
	for (uint32_t i = 1; i < count && ok; i++)
		if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0 &&
			strcmp(sorted[i]->path, sorted[i - 1]->path) != 0)
			ok = hob_fail(
				err, USAGE,
				"'%.90s' and '%.90s' would be written to one place; name their common folder with --root",
				sorted[i - 1]->path, sorted[i]->path);
	return ok;
}

bool srv_cook_plan_make(cook_plan *plan, const cook_plan_options *options, char **paths, uint32_t count,
						hob_error *err)
{
	*plan = (cook_plan){.root_fd = -1};
	hob_arena_init(&plan->memory, SIZE_MAX);
	bool ok = open_sources(plan, options->config, err) && choose_root(plan, options, paths, count, err);
	if (ok) {
		plan->root_fd = open(plan->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ok = plan->root_fd >= 0 ||
			 hob_fail(err, USAGE, "'%s' cannot be opened: %s", plan->root, strerror(errno));
	}
	for (uint32_t i = 0; ok && i < count; i++) {
		char path[PATH_MAX];
		struct stat info;
		if (is_list(paths[i])) {
			ok = add_list(plan, options, paths[i], err);
			continue;
		}
		ok = below_root(plan, paths[i], path, err);
		if (ok && stat(paths[i], &info) == 0 && S_ISDIR(info.st_mode)) {
			uint32_t first = plan->count;
			char full[PATH_MAX * 2];
			snprintf(full, sizeof full, "%s/%s", plan->root, path);
			plan->ignored_from = path[0] ? strlen(path) + 1 : 0;
			ok = srv_ignore_read(&plan->memory, full, NULL, &plan->ignored, err) &&
				 add_folder(plan, options, path, 0, err);
			plan->ignored = NULL;
			plan->ignored_from = 0;
			if (!options->root && !common_source(plan, paths, count) && path[0])
				for (uint32_t e = first; e < plan->count; e++)
					plan->entries[e].name = plan->entries[e].path + strlen(path) + 1;
		} else if (ok) {
			cook_entry *entry = add_entry(plan, options, path, NULL, NULL, err);
			ok = entry != NULL;
			if (entry)
				entry->named = true;
		}
	}
	ok = ok && check_names(plan, err);
	if (!ok)
		srv_cook_plan_release(plan);
	return ok;
}

void srv_cook_plan_keep_known(cook_plan *plan, const srv_pool *pool)
{
	uint32_t kept = 0;
	plan->skipped = HOB_NEW(&plan->memory, const char *, (size_t)plan->count + 1);
	for (uint32_t i = 0; i < plan->count; i++) {
		const cook_entry *entry = &plan->entries[i];
		hob_str path = hob_str_of(entry->path);
		if (entry->named || entry->output_mesh || srv_pool_importer_for(pool, path))
			plan->entries[kept++] = *entry;
		else if (plan->skipped && srv_model_format_of(path))
			plan->skipped[plan->skipped_count++] = entry->path;
	}
	plan->count = kept;
}

void srv_cook_plan_release(cook_plan *plan)
{
	srv_settings_cache_free(plan->folders);
	for (uint32_t i = 0; i < plan->source_count; i++)
		close(plan->sources[i].root_fd);
	free(plan->entries);
	hob_arena_release(&plan->memory);
	srv_close(plan->root_fd);
	*plan = (cook_plan){.root_fd = -1};
}

/* Adds an extension once, although several importers can accept it. */
static void put_once(hob_buf *names, hob_str extension)
{
	char word[48];
	snprintf(word, sizeof word, " .%.*s ", HOB_FMT(extension));
	if (hob_str_find(hob_buf_str(names), hob_str_of(word), 0) != SIZE_MAX)
		return;
	if (names->size > 0)
		names->size--;
	hob_buf_put_str(names, hob_str_of(word));
}

void srv_cook_plan_say_nothing(srv_pool *pool, const char *root, hob_error *err)
{
	hob_own_buf names = {0};
	uint32_t count;
	const srv_pool_importer *importers = srv_pool_importers(pool, &count);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < importers[i].extension_count; n++)
			put_once(&names, importers[i].extensions[n]);
	enum { SHOWN = 200 };
	hob_str list = hob_buf_str(&names);
	if (list.len > SHOWN)
		for (list.len = SHOWN; list.data[list.len] != ' ';)
			list.len--;
	(void)hob_fail(err, USAGE, "no model was found in '%.40s'; their names end in%.*s%s", root, HOB_FMT(list),
				   list.len < names.size ? " and others: 'hob formats' lists them" : "");
}
