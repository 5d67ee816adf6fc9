#include "inspect_model.h"
#include "cook_run.h"

#include "../fs/remove_tree.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void look_at(const char *folder, const char *entry, const char *path,
					void (*look)(void *user, const char *file, const char *name), void *user)
{
	static const char *const kinds[] = {".meshes", ".materials", ".scene", ".animations"};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++) {
		char file[PATH_MAX];
		hob_buf name = {0};
		hob_error error;
		if (!srv_cook_name_output(folder, entry, kinds[i], file, &error) || access(file, F_OK) != 0)
			continue;
		hob_buf_printf(&name, "%s: %s", path, kinds[i] + 1);
		look(user, file, srv_cli_ended(&name));
		hob_buf_release(&name);
	}
}

static void print_settings(const cook_entry *entry)
{
	cJSON *settings = entry->origins ? cJSON_Parse(entry->origins) : NULL;
	const cJSON *item;
	cJSON_ArrayForEach(item, settings)
	{
		char *value = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(item, "value"));
		const char *origin = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "origin"));
		printf("setting  %-24s %s  (%s)\n", item->string, value ? value : "", origin ? origin : "");
		cJSON_free(value);
	}
	cJSON_Delete(settings);
}

int srv_inspect_model(const char *path, bool json,
					  void (*look)(void *user, const char *file, const char *name), void *user)
{
	char folder[300], *paths[] = {strdup(path)}, *entry = NULL;
	hob_error error = {0};
	srv_config config = {0};
	cook_plan plan;
	int code = EXIT_USAGE;
	if (!paths[0] || !srv_config_load(&config, NULL, &error)) {
		free(paths[0]);
		srv_cli_print_error("hob inspect", &error);
		return EXIT_USAGE;
	}
	cook_plan_options how = {.config = &config, .settings = config.defaults};
	if (srv_cook_plan_make(&plan, &how, paths, 1, &error) && plan.count == 1 &&
		srv_make_temporary("hob-inspect", folder, &error)) {
		entry = strdup(plan.entries[0].name);
		if (!json)
			print_settings(&plan.entries[0]);
		cook_run_options run = {.who = "hob inspect",
								.write = {.out = folder},
								.config = &config,
								.quiet = true,
								.wait_s = COOK_WAIT_WRITER_S};
		code = srv_cook_run(&plan, &run);
		if (entry && (code == EXIT_GOOD || code == EXIT_OVER_BUDGET)) {
			look_at(folder, entry, path, look, user);
			code = EXIT_GOOD;
		}
		srv_remove_tree(folder);
	} else {
		srv_cli_print_error("hob inspect", &error);
	}
	free(entry);
	free(paths[0]);
	srv_config_release(&config);
	return code;
}
