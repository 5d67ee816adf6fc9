#include "cli.h"

#include "../config/config.h"
#include "../log/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- hob config */

static void print_people(const srv_config *config)
{
	bool color = srv_color_wanted(1);
	const char *dim = color ? "\x1b[2m" : "", *off = color ? "\x1b[0m" : "";
	printf("%sConfiguration: %s%s\n", dim, config->file ? config->file : "no hob.json found; defaults", off);
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		char size[32];
		const char *text = srv_config_text(config, key);
		if (srv_config_table[key].type == SRV_CONFIG_TYPE_size && text)
			text = srv_text_bytes(srv_config_number(config, key), size);
		printf("  %-24s %-28s %s%s%s\n", srv_config_table[key].path, text ? text : "-", dim,
			   srv_config_origin_name(config, key), off);
	}
	for (uint32_t i = 0; i < config->source_count; i++)
		printf("  %-24s %s %s%s%s\n", "source", config->sources[i].path, dim, config->sources[i].name, off);
	hob_buf cook = {0};
	hob_settings_print(&config->defaults, &cook);
	printf("  %-24s %.*s\n", "cook settings", (int)cook.size, (const char *)cook.data);
	hob_buf_release(&cook);
}

static int run_config(int argc, char **argv)
{
	const char *file = NULL, *check = NULL;
	bool json = false, schema = false;
	cli_option options[] = {
		{"--config", 0, CLI_TEXT, &file, "FILE", "this file instead of the hob.json here or above"},
		{"--check", 0, CLI_TEXT, &check, "FILE", "only tell whether FILE is right"},
		{"--schema", 0, CLI_FLAG, &schema, NULL, "print the JSON Schema of hob.json"},
		{"--json", 0, CLI_FLAG, &json, NULL, "for machines"}};
	int operands = cli_parse(&cli_config, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	hob_buf out = {0};
	hob_error error = {0};
	srv_config config = {0};
	if (schema) {
		(void)srv_config_schema(HOB_STR("config.json"), &out);
	} else {
		if (!srv_config_load(&config, check ? check : file, &error)) {
			cli_print_error("hob config", &error);
			return EXIT_USAGE;
		}
		if (check)
			printf("%s is right\n", check);
		else if (json) {
			hob_buf_put(&out, "{", 1);
			srv_config_print(&config, &out);
			hob_buf_put(&out, "}", 1);
		}
		if (!check && !json)
			print_people(&config);
	}
	if (out.size > 0)
		printf("%.*s\n", (int)out.size, (const char *)out.data);
	hob_buf_release(&out);
	srv_config_release(&config);
	return EXIT_GOOD;
}

const cli_command cli_config = {"config", "", "the effective configuration, and where each value comes from",
								"Later sources win: default, hob.json, environment, option of 'hob serve'. "
								"hob.json is looked for in the current\n"
								"folder, in those above it, in ~/.config/hob and in /etc/hob.\n"
								"\n"
								"Examples:\n"
								"  hob config\n"
								"  hob config --check hob.json\n"
								"  hob config --schema > hob.schema.json     for editors that complete\n",
								run_config};

/* ---- hob init */

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

static void put_initial(hob_buf *out, char **folders, int count)
{
	hob_buf_put_str(
		out, HOB_STR("{\n  \"version\": 1,\n  \"// sources\": \"folders to watch, relative to this file\",\n"
					 "  \"sources\": [\n"));
	for (int i = 0; i < count || i == 0; i++) {
		hob_buf_put_str(out, HOB_STR("    { \"path\": "));
		hob_buf_put_json(out, hob_str_of(count > 0 ? folders[i] : "."));
		hob_buf_put_str(out,
						i + 1 < count
							? HOB_STR(" },\n")
							: HOB_STR(", \"exclude\": [\"**/wip/**\", \"build/**\"], \"options\": {} }\n"));
	}
	hob_buf_put_str(
		out,
		HOB_STR("  ],\n  \"// defaults\": \"cook settings for everything; cook.json and MODEL.cook.json "
				"overlay them\",\n  \"defaults\": { \"lods\": { \"max\": 7, \"ratio\": 0.5 }, \"texture\": "
				"{ \"encoding\": \"bc\", \"max_size\": 2048 } }"));
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

static int run_init(int argc, char **argv)
{
	const char *path = "hob.json";
	cli_option options[] = {{"--out", 'o', CLI_TEXT, &path, "FILE", "where it goes (hob.json)"}};
	int operands = cli_parse(&cli_init, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return cli_parse_exit(operands);
	hob_buf text = {0};
	hob_error error = {0};
	srv_config config;
	put_initial(&text, argv + 1, operands);
	bool ok = write_new(path, hob_buf_str(&text), &error) && srv_config_load(&config, path, &error);
	hob_buf_release(&text);
	if (!ok) {
		cli_print_error("hob init", &error);
		return EXIT_USAGE;
	}
	srv_config_release(&config);
	printf("%s is written; 'hob serve' in this folder uses it, 'hob config' shows it\n", path);
	return EXIT_GOOD;
}

const cli_command cli_init = {
	"init", "[DIR...]", "write a commented hob.json",
	"Writes hob.json with the folders DIR (default: this one) as sources. Keys that begin with "
	"// are comments.\n"
	"\n"
	"Examples:\n"
	"  hob init art/ shared/\n",
	run_init};
