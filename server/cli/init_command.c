#include "cli.h"

#include "../config/config.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* hob init: writes a first hob.json. */

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

static void put_file(hob_buf *out, char **folders, int count)
{
	hob_buf_put_str(
		out,
		HOB_STR("{\n  \"$schema\": \"http://127.0.0.1:7780/api/v1/schema/config.json\",\n  \"version\": 1,\n"
				"  \"// sources\": \"folders to watch, relative to this file\",\n"
				"  \"sources\": [\n"));
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
	const char *path = "hob.json";
	cli_option options[] = {{"--out", 'o', CLI_TEXT, &path, "FILE", "the file to write (hob.json)"}};
	int operands = srv_cli_parse(&srv_cli_init, options, HOB_COUNT_OF(options), argc, argv);
	if (access(path, F_OK) == 0)
		return srv_cli_usage_error(&srv_cli_init, "'%s' is there already", path);
	hob_own_buf text = {0};
	hob_error error = {0};
	srv_config config;
	put_file(&text, argv + 1, operands);
	bool ok = write_new(path, hob_buf_str(&text), &error) && srv_config_load(&config, path, &error);
	if (!ok)
		return srv_cli_fail("hob init", &error, EXIT_USAGE);
	srv_config_release(&config);
	for (int i = 1; i <= operands; i++)
		if (access(argv[i], F_OK) != 0)
			fprintf(stderr, "hob init: the folder '%s' is not there yet; make it before 'hob serve'\n",
					argv[i]);
	printf("%s is written; 'hob serve' in this folder uses it, 'hob config' shows it.\n"
		   "  Its values are the defaults, except cache.max_size: 20 GiB keeps the cache from filling the "
		   "disk.\n",
		   path);
	return EXIT_GOOD;
}

const cli_command srv_cli_init = {
	"init", "[DIR...]", "write a commented hob.json",
	"Writes hob.json with the folders DIR (default: the current one) as sources. Keys that begin with // are "
	"comments. An existing file is never overwritten.\n"
	"\n"
	"Examples:\n"
	"  hob init art/ shared/\n",
	run_init};
