#include "../base/json_text.h"
#include "importers.h"
#include "../base/limits.h"
#include "../model/model_merge.h"
#include "../model/model_scale.h"

#include <assert.h>
#include <stdio.h>

static const double least_scale = 1e-9, largest_scale = 1e9;

typedef struct list {
	const hob_import_request *request;
	hob_str folder;
	hob_model *models;
	hob_import_chain chain; /* the request's chain with this list in front */
	hob_error *err;
} list_t;

/* An item of "scenes": a path, or an object that contains one. */
typedef struct entry {
	const char *file;
	float scale;
} entry_t;

static bool read_entry(const cJSON *json, uint32_t index, entry_t *out, hob_error *err)
{
	*out = (entry_t){json->valuestring, 1};
	if (cJSON_IsString(json))
		return true;
	if (!cJSON_IsObject(json))
		return hob_fail(err, CORRUPT,
						"scenes[%u] is not the name of a file, nor {\"file\": NAME, \"scale\": NUMBER}",
						index);
	for (const cJSON *item = json->child; item; item = item->next) {
		if (strcmp(item->string, "file") == 0 && cJSON_IsString(item)) {
			out->file = item->valuestring;
		} else if (strcmp(item->string, "scale") == 0) {
			if (!cJSON_IsNumber(item) || !(item->valuedouble >= least_scale) ||
				!(item->valuedouble <= largest_scale))
				return hob_fail(err, CORRUPT, "scenes[%u]: 'scale' is a number from 1e-9 to 1e9", index);
			out->scale = (float)item->valuedouble;
		} else if (strncmp(item->string, "//", 2) != 0) {
			return hob_fail(err, CORRUPT, "scenes[%u]: '%.60s' is not \"file\": NAME or \"scale\": NUMBER",
							index, item->string);
		}
	}
	return out->file || hob_fail(err, CORRUPT, "scenes[%u] has no \"file\": NAME", index);
}

static bool is_inside(const list_t *l, hob_str path)
{
	for (const hob_import_chain *c = &l->chain; c; c = c->above)
		if (hob_str_equal(c->path, path))
			return true;
	return false;
}

/* Imports one model of the list. Adds the model's name to its errors, in another form than to errors of the
 * list; server/cook/error_json.c parses it. */
static bool import_one(list_t *l, uint32_t index, hob_str name, hob_model *out)
{
	const hob_import_request *request = l->request;
	hob_import_request ask = *request;
	if (!hob_io_join(request->io, request->scratch, l->folder, name, &ask.path, l->err))
		return hob_fail_in(l->err, "scenes[%u] '%.*s'", index, HOB_FMT(name));
	const hob_importer *importer = hob_importer_for(ask.path);
	if (!importer)
		return hob_fail(l->err, UNSUPPORTED,
						"a merged scene is a model, not a '.%.*s' file; scenes[%u] '%.*s'",
						HOB_FMT(hob_path_extension(ask.path)), index, HOB_FMT(name));
	if (is_inside(l, ask.path))
		return hob_fail(l->err, CORRUPT, "'%.*s' merges itself: take it off this list; scenes[%u] '%.*s'",
						HOB_FMT(ask.path), index, HOB_FMT(name));
	ask.chain = &l->chain;
	if (!request->io->read(request->io->user, ask.path, &ask.file, l->err))
		return hob_fail_in(l->err, "scenes[%u] '%.*s'", index, HOB_FMT(name));
	return hob_import(&ask, &importer, out, l->err) ||
		   hob_fail_in(l->err, "in '%.*s', scenes[%u]", HOB_FMT(name), index);
}

/* The common unit, for the setting `units`; 0 if the models differ. */
static float common_unit(const hob_model *models, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (models[i].unit < models[0].unit || models[i].unit > models[0].unit)
			return 0;
	return models[0].unit;
}

static bool import_scenes(list_t *l, const cJSON *scenes, uint32_t count, hob_model *out)
{
	const hob_import_request *request = l->request;
	const hob_model **all = HOB_NEW(request->scratch, const hob_model *, count);
	l->models = HOB_NEW(request->scratch, hob_model, count);
	uint32_t i = 0;
	for (const cJSON *scene = scenes->child; scene; scene = scene->next, i++) {
		entry_t entry;
		if (!read_entry(scene, i, &entry, l->err))
			return false;
		hob_arena_mark mark = hob_arena_save(request->scratch);
		if (!import_one(l, i, hob_str_of(entry.file), &l->models[i]))
			return false;
		hob_arena_restore(request->scratch, mark);
		float unit = request->keep_units && l->models[i].unit > 0 ? l->models[i].unit : 1;
		if (!hob_model_scale(&l->models[i], entry.scale / unit, request->result, l->err))
			return hob_fail_in(l->err, "scenes[%u] '%s'", i, entry.file);
		all[i] = &l->models[i];
	}
	if (!hob_model_merge(all, count, request->result, request->scratch, out, l->err))
		return false;
	out->unit = request->keep_units ? 0 : common_unit(l->models, count);
	out->space.settled = true;
	return true;
}

static bool check_keys(const cJSON *root, hob_str path, hob_error *err)
{
	for (const cJSON *item = root->child; item; item = item->next)
		if (strcmp(item->string, "scenes") != 0 && strncmp(item->string, "//", 2) != 0)
			return hob_fail(err, CORRUPT,
							"a merge has no '%.60s'; settings stand in '%.*s.cook.json' beside it",
							item->string, HOB_FMT(hob_path_name(path)));
	return true;
}

static bool import_merge(const hob_import_request *request, hob_model *out, hob_error *err)
{
	uint32_t own = 0;
	list_t l = {.request = request,
				.folder = hob_path_dir(request->path),
				.chain = {request->path, request->chain ? request->chain->scenes : &own, request->chain},
				.err = err};
	const cJSON *root;
	bool repaired;
	hob_str text = {(const char *)request->file.data, request->file.size};
	if (!hob_json_parse(request->scratch, text, &root, &repaired, err))
		return false;
	const cJSON *scenes = hob_json_get(root, "scenes");
	uint32_t count = cJSON_IsArray(scenes) ? (uint32_t)cJSON_GetArraySize(scenes) : 0;
	if (count == 0)
		return hob_fail(err, CORRUPT,
						"a merge names the files of its scenes: {\"scenes\": [\"a.gltf\", \"b.obj\"]}");
	*l.chain.scenes += count;
	if (*l.chain.scenes > HOB_LIMIT_MERGED_SCENES)
		return hob_fail(err, LIMIT, "%u scenes to merge; the limit is %llu", *l.chain.scenes,
						(unsigned long long)HOB_LIMIT_MERGED_SCENES);
	return check_keys(root, request->path, err) && import_scenes(&l, scenes, count, out);
}

/* Versions of all other importers: the output depends on them. Every call writes the same bytes. */
static const char *library_version(void)
{
	static char text[1024];
	size_t at = 0;
	for (uint32_t i = 0; i < hob_importer_count && at < sizeof text; i++) {
		const hob_importer *other = hob_importers[i];
		if (other == &hob_merge_importer)
			continue;
		const char *library = other->library_version ? other->library_version() : "";
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %u%s%s", at > 0 ? ", " : "", other->name,
							   other->version, *library ? " with " : "", library);
	}
	assert(at < sizeof text);
	return text;
}

static const char *const extensions[] = {"merge", NULL};

const hob_importer hob_merge_importer = {
	.name = "merge",
	.version = 3,
	.extensions = extensions,
	.import = import_merge,
	.library_version = library_version,
};
