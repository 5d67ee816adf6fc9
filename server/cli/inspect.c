#include "cook_run.h"

#include "../../core/formats/classic.h"
#include "../../core/formats/describe.h"
#include "../../core/formats/pack_read.h"
#include "../../core/formats/pack_validate.h"
#include "../../core/texture/ktx2.h"
#include "../fs/remove_tree.h"
#include "../log/log.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_ktx2(hob_bytes file)
{
	return file.size >= 4 && memcmp(file.data, "\xABKTX", 4) == 0;
}

static bool validate(hob_bytes file, hob_error *err)
{
	if (is_ktx2(file))
		return hob_ktx2_check(file, true, NULL, err);
	if (hob_pack_is(file))
		return hob_pack_validate(file, err);
	hob_classic_kind kind = hob_classic_sniff(file);
	if (kind == HOB_CLASSIC_NOTHING)
		return hob_fail(err, CORRUPT, "this is not a cooked file");
	return hob_classic_validate(file, kind, err);
}

static bool describe_ktx2(hob_bytes file, bool json, hob_buf *out, hob_error *err)
{
	hob_ktx2_facts facts;
	if (!hob_ktx2_check(file, false, &facts, err))
		return false;
	if (json)
		hob_buf_printf(
			out,
			"{\"format\":\"ktx2\",\"bytes\":%zu,\"width\":%u,\"height\":%u,\"faces\":%u,\"levels\":%u,"
			"\"vk_format\":%u,\"supercompression\":%u}",
			file.size, facts.width, facts.height, facts.faces, facts.levels, facts.vk_format,
			facts.supercompression);
	else
		hob_buf_printf(out, "KTX2 %s, %zu bytes: %u x %u, %u levels, VkFormat %u, supercompression %u\n",
					   facts.faces == 6 ? "cube" : "texture", file.size, facts.width, facts.height,
					   facts.levels, facts.vk_format, facts.supercompression);
	return true;
}

typedef struct inspection {
	bool json, only_validate;
	uint32_t rows;
	int code;
} inspection;

/* Prints or validates one file. `name` is shown in the heading; NULL: the path, without a heading. */
static bool inspect_one(const inspection *how, const char *path, const char *name, hob_error *err)
{
	hob_bytes file;
	hob_own_buf out = {0};
	if (!srv_map_file(path, &file, err))
		return false;
	bool ok;
	if (how->only_validate) {
		ok = validate(file, err);
		if (ok)
			hob_buf_printf(&out, "%s: valid\n", name ? name : path);
	} else {
		hob_describe_options options = {.max_rows = how->rows, .color = !how->json && srv_color_wanted(1)};
		if (name && !how->json)
			hob_buf_printf(&out, "%s\n", name);
		ok = is_ktx2(file) ? describe_ktx2(file, how->json, &out, err)
			 : how->json   ? hob_describe_json(file, &options, &out, err)
						   : hob_describe_text(file, &options, &out, err);
		if (ok)
			hob_buf_put(&out, "\n", how->json || name ? 1 : 0);
	}
	if (!ok)
		hob_fail_in(err, "%s", name ? name : path);
	/* JSON for another program is printed byte for byte. */
	if (out.size > 0 && how->json && !isatty(1))
		fwrite(out.data, 1, out.size, stdout);
	else if (out.size > 0)
		srv_cli_print_lines(hob_buf_str(&out));
	srv_unmap_file(&file);
	return ok;
}

static void look(inspection *how, const char *path, const char *name)
{
	hob_error error = {0};
	if (!inspect_one(how, path, name, &error))
		how->code = srv_cli_fail(
			"hob inspect", &error,
			access(path, F_OK) != 0 || error.code == HOB_ERR_NOT_FOUND ? EXIT_USAGE : EXIT_ASSETS_FAILED);
}

/* Decided by the extension; a file without one that is not a cooked file may be a model. */
static bool is_model(const char *path)
{
	static const char *const cooked[] = {"", "meshes", "materials", "scene", "animations", "ktx2", "json"};
	hob_str extension = hob_path_extension(hob_str_of(path));
	hob_bytes file = {0};
	hob_error error;
	for (size_t i = 0; i < HOB_COUNT_OF(cooked); i++)
		if (hob_str_equal(extension, hob_str_of(cooked[i])))
			return false;
	bool model = srv_map_file(path, &file, &error) && !is_ktx2(file) && !hob_pack_is(file) &&
				 hob_classic_sniff(file) == HOB_CLASSIC_NOTHING;
	srv_unmap_file(&file);
	return model;
}

/* ---- a model: its settings, and what it cooks to */

static void look_at(inspection *how, const char *folder, const char *entry, const char *path)
{
	static const char *const kinds[] = {".meshes", ".materials", ".scene", ".animations"};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++) {
		char file[PATH_MAX];
		hob_own_buf name = {0};
		hob_error error;
		if (!srv_cook_name_output(folder, entry, kinds[i], file, &error) || access(file, F_OK) != 0)
			continue;
		hob_buf_printf(&name, "%s: %s", path, kinds[i] + 1);
		look(how, file, srv_cli_ended(&name));
	}
}

static void print_settings(const cook_entry *entry)
{
	hob_own_json *settings = entry->origins ? cJSON_Parse(entry->origins) : NULL;
	const cJSON *item;
	cJSON_ArrayForEach(item, settings)
	{
		hob_own char *value = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(item, "value"));
		const char *origin = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "origin"));
		printf("setting  %-24s %s  (%s)\n", item->string, value ? value : "", origin ? origin : "");
	}
}

static int inspect_model(inspection *to, char *path)
{
	char folder[300], entry[PATH_MAX], *paths[] = {path};
	hob_error error = {0};
	srv_config config = {0};
	cook_plan plan;
	cook_plan_options how = {.config = &config};
	int code;
	if (srv_config_load(&config, NULL, &error) && srv_cook_plan_make(&plan, &how, paths, 1, &error) &&
		plan.count == 1 && srv_make_temporary("hob-inspect", folder, &error)) {
		snprintf(entry, sizeof entry, "%s", plan.entries[0].name);
		if (!to->json && !to->only_validate)
			print_settings(&plan.entries[0]);
		cook_run_options run = {.who = "hob inspect",
								.write = {.out = folder},
								.config = &config,
								.quiet = true,
								.wait_s = COOK_WAIT_WRITER_S};
		code = srv_cook_run(&plan, &run);
		if (code == EXIT_GOOD || code == EXIT_OVER_BUDGET) {
			look_at(to, folder, entry, path);
			code = EXIT_GOOD;
		}
		srv_remove_tree(folder);
	} else {
		code = srv_cli_fail("hob inspect", &error, EXIT_USAGE);
	}
	srv_config_release(&config);
	return code;
}

/* ---- the command */

static int run_inspect(int argc, char **argv)
{
	inspection how = {0};
	cli_option options[] = {{"--json", 0, CLI_FLAG, &how.json, NULL,
							 "as JSON, with every record; for a model, one object per output"},
							{"--validate", 0, CLI_FLAG, &how.only_validate, NULL,
							 "only check that the files follow every rule of their format"},
							{"--rows", 0, CLI_NUMBER, &how.rows, "N", "most rows of each table (20)"}};
	int operands = srv_cli_parse(&srv_cli_inspect, options, HOB_COUNT_OF(options), argc, argv);
	if (operands == 0)
		return srv_cli_usage_error(&srv_cli_inspect, "name at least one file");
	for (int i = 1; i <= operands; i++) {
		int code = EXIT_GOOD;
		if (is_model(argv[i]))
			code = inspect_model(&how, argv[i]);
		else
			look(&how, argv[i], NULL);
		how.code = code != EXIT_GOOD ? code : how.code;
	}
	return how.code;
}

const cli_command srv_cli_inspect = {
	"inspect", "FILE...", "show what a cooked file holds, or what a model cooks to",
	"FILE is a packed file (.meshes .materials .scene .animations), a classic file or a KTX2 texture, "
	"recognised by its content; or a model, which is cooked first, inside the sandbox, without keeping the "
	"results.\n"
	"\n"
	"Examples:\n"
	"  hob inspect duck.meshes\n"
	"  hob inspect duck.glb\n"
	"  hob inspect --json duck.scene | jq .records.HIER\n"
	"  hob inspect --validate build/*.meshes\n",
	run_inspect};
