#include "cli.h"
#include "cook_write.h"
#include "scene_list.h"

#include "../../core/formats/number_text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* hob init: writes a first hob.json, either minimal or from the reference converter's list of scenes. */

static bool write_new(const char *path, hob_str text, hob_error *err)
{
	FILE *file = fopen(path, "wxe");
	if (!file)
		return hob_fail(err, USAGE,
						errno == EEXIST ? "'%s' is there already%s%s" : "'%s' cannot be written: %s%s", path,
						errno == EEXIST ? "" : strerror(errno), "");
	bool ok = fwrite(text.data, 1, text.len, file) == text.len;
	ok = fclose(file) == 0 && ok;
	return ok || hob_fail(err, IO, "'%s' cannot be written: %s", path, strerror(errno));
}

/* ---- models of a list */

enum { MODELS_MAX = 200 }; /* maximum number of patterns of one source */

typedef struct model {
	char path[PATH_MAX]; /* absolute */
	const scene_entry *scene;
} model;

typedef struct conversion {
	hob_arena memory;
	scene_list list;
	model *models;
	char folder[PATH_MAX]; /* absolute; contains every model */
	char shown[PATH_MAX];  /* `folder` as hob.json names it */
	hob_buf sidecars;	   /* other files that were written, for the message */
} conversion;

/* Resolves the path of a model. The model need not exist yet, but its folder must. */
static bool place(const char *input, char out[PATH_MAX], hob_error *err)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input;
	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - input) + 1 : 1, slash ? input : ".");
	if (realpath(input, out))
		return true;
	char *folder = realpath(dir, NULL);
	int length = folder ? snprintf(out, PATH_MAX, "%s/%s", folder, name) : PATH_MAX;
	if (folder)
		fprintf(stderr, "hob init: '%s' is not there now; it is watched for\n", input);
	free(folder);
	return length < PATH_MAX || hob_fail(err, USAGE, "the folder of '%s' is not there", input);
}

static void keep_common(char *folder, const char *path)
{
	size_t same = 0;
	for (size_t i = 0; folder[i] && folder[i] == path[i]; i++)
		if (folder[i] == '/')
			same = i + 1;
	folder[same] = 0; /* ends with '/' */
}

static bool find_models(conversion *c, hob_error *err)
{
	char here[PATH_MAX];
	c->models = HOB_NEW(&c->memory, model, (size_t)c->list.count + 1);
	if (!c->models || !getcwd(here, sizeof here))
		return hob_fail(err, MEMORY, "no memory left for the list of models");
	for (uint32_t i = 0; i < c->list.count; i++) {
		c->models[i].scene = &c->list.entries[i];
		if (!c->list.entries[i].input)
			return hob_fail(
				err, USAGE,
				"entry %u is a 'merge': write its models into a .merge file, {\"scenes\": [...]}, and name "
				"that as 'input_scene'",
				i);
		if (!place(c->list.entries[i].input, c->models[i].path, err))
			return false;
		if (i == 0)
			memcpy(c->folder, c->models[i].path, sizeof c->folder);
		keep_common(c->folder, c->models[i].path);
	}
	size_t length = strlen(here);
	bool below = strncmp(c->folder, here, length) == 0 && c->folder[length] == '/';
	snprintf(c->shown, sizeof c->shown, "%s", below ? c->folder + length + 1 : c->folder);
	length = strlen(c->shown);
	if (length > 1)
		c->shown[length - 1] = 0;
	if (!c->shown[0])
		strcpy(c->shown, ".");
	return true;
}

static bool same_settings(const scene_entry *a, const scene_entry *b)
{
	return a->scale == b->scale && a->lods == b->lods && a->merge_instances == b->merge_instances &&
		   a->merge_materials == b->merge_materials && a->name_rules == b->name_rules;
}

static void put_settings(hob_buf *out, const scene_entry *scene)
{
	hob_buf_put_str(out, HOB_STR("{ \"scale\": "));
	hob_put_f32(out, scene->scale);
	hob_buf_printf(out,
				   ", \"units\": \"source\", \"calculate_LODs\": %s, \"merge_instances\": %s, "
				   "\"merge_materials\": %s, \"name_rules\": %s",
				   scene->lods ? "true" : "false", scene->merge_instances ? "true" : "false",
				   scene->merge_materials ? "true" : "false", scene->name_rules ? "true" : "false");
}

/* Writes a sidecar with its settings for each model whose entry differs from the first one's. */
static bool write_sidecars(conversion *c, hob_error *err)
{
	for (uint32_t i = 1; i < c->list.count; i++) {
		const model *m = &c->models[i];
		if (same_settings(m->scene, c->models[0].scene))
			continue;
		hob_buf name = {0}, text = {0};
		hob_buf_printf(&name, "%s.cook.json", m->path);
		put_settings(&text, m->scene);
		hob_buf_put_str(&text, HOB_STR(" }\n"));
		bool ok = write_new(srv_cli_ended(&name), hob_buf_str(&text), err);
		hob_buf_printf(&c->sidecars, "  %s%s%s.cook.json is written: its scene has its own settings\n",
					   strcmp(c->shown, ".") == 0 ? "" : c->shown, strcmp(c->shown, ".") == 0 ? "" : "/",
					   m->path + strlen(c->folder));
		hob_buf_release(&name);
		hob_buf_release(&text);
		if (!ok)
			return false;
	}
	return true;
}

/* A pattern that matches this name and hardly any other: special characters become '?'. */
static void put_pattern(hob_buf *out, const char *path)
{
	hob_buf plain = {0};
	for (const char *p = path; *p; p++)
		hob_buf_put(&plain, strchr("*?[]{},\\", *p) ? "?" : p, 1);
	hob_buf_put_json(out, hob_buf_str(&plain));
	hob_buf_release(&plain);
}

static void put_converted(hob_buf *out, const conversion *c)
{
	hob_buf_put_str(out, HOB_STR("    { \"path\": "));
	hob_buf_put_json(out, hob_str_of(c->shown));
	hob_buf_put_str(out, HOB_STR(",\n      \"include\": ["));
	for (uint32_t i = 0; i < c->list.count; i++) {
		hob_buf_put_str(out, i > 0 ? HOB_STR(",\n                  ") : HOB_STR(""));
		put_pattern(out, c->models[i].path + strlen(c->folder));
	}
	hob_buf_put_str(out,
					HOB_STR("],\n      \"// options\": \"as the reference converter cooks; without 'texture' "
							"they stay larger, in KTX2\",\n      \"options\": "));
	put_settings(out, c->models[0].scene);
	hob_buf_put_str(
		out,
		HOB_STR(",\n                   \"texture\": { \"encoding\": \"png\", \"max_size\": 512 } } }\n"));
}

static bool convert(conversion *c, const char *path, hob_error *err)
{
	hob_arena_init(&c->memory, SIZE_MAX);
	if (!srv_scene_list_read(&c->memory, path, &c->list, err))
		return false;
	if (c->list.count > MODELS_MAX)
		return hob_fail(err, USAGE,
						"%s: a list of at most %d scenes can be converted; name its folders instead", path,
						MODELS_MAX);
	return find_models(c, err) && write_sidecars(c, err);
}

static void release(conversion *c)
{
	hob_arena_release(&c->memory);
	hob_buf_release(&c->sidecars);
}

static void tell(const conversion *c)
{
	const char *slash = strrchr(c->folder, '/'), *name = c->folder;
	for (const char *p = c->folder; p < slash; p++)
		if (*p == '/')
			name = p + 1;
	fwrite(c->sidecars.data, 1, c->sidecars.size, stdout);
	printf("  The daemon has the first scene's files at /a/%s%s?output=classic.meshes, classic.scene and\n"
		   "  classic.materials; 'hob cook' with the list still writes them where the list says.\n",
		   name, c->models[0].path + strlen(c->folder));
}

/* ---- the file */

static void put_sources(hob_buf *out, char **folders, int count)
{
	for (int i = 0; i < count || i == 0; i++) {
		hob_buf_put_str(out, HOB_STR("    { \"path\": "));
		hob_buf_put_json(out, hob_str_of(count > 0 ? folders[i] : "."));
		hob_buf_put_str(
			out,
			i == 0
				? HOB_STR(", \"// exclude\": \"patterns below it, such as **/wip/**\", \"exclude\": [],\n"
						  "      \"// options\": \"cook settings for this folder alone\", \"options\": {} }")
				: HOB_STR(" }"));
		hob_buf_put_str(out, i + 1 < count ? HOB_STR(",\n") : HOB_STR("\n"));
	}
}

static void put_groups(hob_buf *out)
{
	const char *group = "";
	size_t group_len = 0;
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		const srv_config_row *row = &srv_config_table[key];
		bool wanted = key == SRV_CONFIG_listen || key == SRV_CONFIG_cache || key == SRV_CONFIG_max_size ||
					  key == SRV_CONFIG_jobs || key == SRV_CONFIG_memory;
		size_t dot = hob_str_find(hob_str_of(row->path), HOB_STR("."), 0);
		if (!wanted)
			continue;
		if (key == SRV_CONFIG_listen || dot != group_len || strncmp(group, row->path, dot) != 0) {
			hob_buf_printf(out, "%s\n  \"%.*s\": {", key == SRV_CONFIG_listen ? "," : "\n  },", (int)dot,
						   row->path);
			group = row->path;
			group_len = dot;
		} else {
			hob_buf_put_str(out, HOB_STR(","));
		}
		hob_buf_printf(out, "\n    \"// %s\": ", row->path + dot + 1);
		hob_buf_put_json(out, hob_str_of(row->doc));
		const char *value = key == SRV_CONFIG_max_size ? "20 GiB" : row->initial;
		hob_buf_printf(out,
					   row->type == SRV_CONFIG_TYPE_number ? ",\n    \"%s\": %s" : ",\n    \"%s\": \"%s\"",
					   row->path + dot + 1, value);
	}
	hob_buf_put_str(out, HOB_STR("\n  }\n}\n"));
}

static void put_file(hob_buf *out, const conversion *c, char **folders, int count)
{
	hob_buf_put_str(
		out, HOB_STR("{\n  \"version\": 1,\n  \"// sources\": \"folders to watch, relative to this file\",\n"
					 "  \"sources\": [\n"));
	if (c->list.count > 0)
		put_converted(out, c);
	else
		put_sources(out, folders, count);
	hob_buf_put_str(
		out,
		HOB_STR("  ],\n  \"// defaults\": [\"cook settings for everything; cook.json and MODEL.cook.json "
				"overlay them, such as\",\n                  \"{ 'lods': { 'max': 4 }, 'texture': { "
				"'encoding': 'bc' } }: four levels of detail,\",\n                  \"textures that take a "
				"quarter of the memory and longer to cook\"],\n  \"defaults\": {}"));
	put_groups(out);
}

static int run_init(int argc, char **argv)
{
	const char *path = "hob.json", *from = NULL;
	cli_option options[] = {
		{"--from", 0, CLI_TEXT, &from, "LIST", "use the models and settings of this scene list"},
		{"--out", 'o', CLI_TEXT, &path, "FILE", "the file to write (hob.json)"}};
	int operands = srv_cli_parse(&srv_cli_init, options, HOB_COUNT_OF(options), argc, argv);
	if (from && operands > 0)
		return srv_cli_usage_error(&srv_cli_init, "--from finds the folders in the list; name none");
	if (from && strchr(path, '/'))
		return srv_cli_usage_error(&srv_cli_init,
								   "--from writes hob.json in the current folder: paths in it are relative");
	if (access(path, F_OK) == 0)
		return srv_cli_usage_error(&srv_cli_init, "'%s' is there already", path);
	conversion c = {0};
	hob_buf text = {0};
	hob_error error = {0};
	srv_config config;
	bool ok = !from || convert(&c, from, &error);
	if (ok)
		put_file(&text, &c, argv + 1, operands);
	ok = ok && write_new(path, hob_buf_str(&text), &error) && srv_config_load(&config, path, &error);
	hob_buf_release(&text);
	if (!ok) {
		release(&c);
		return srv_cli_fail("hob init", &error, EXIT_USAGE);
	}
	srv_config_release(&config);
	for (int i = 1; i <= operands; i++)
		if (access(argv[i], F_OK) != 0)
			fprintf(stderr, "hob init: the folder '%s' is not there yet; make it before 'hob serve'\n",
					argv[i]);
	printf("%s is written; 'hob serve' in this folder uses it, 'hob config' shows it.\n"
		   "  Its values are the defaults, except cache.max_size: 20 GiB keeps the cache from filling the "
		   "disk.\n",
		   path);
	if (from)
		tell(&c);
	release(&c);
	return EXIT_GOOD;
}

const cli_command srv_cli_init = {
	"init", "[DIR...]", "write a commented hob.json",
	"Writes hob.json with the folders DIR (default: the current one) as sources, or with the models of a "
	"scene list. Keys that begin with // are comments. An existing file is never overwritten.\n"
	"\n"
	"Examples:\n"
	"  hob init art/ shared/\n"
	"  hob init --from data/sceneconverter.json\n",
	run_init};
