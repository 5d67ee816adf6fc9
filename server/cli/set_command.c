#include "query.h"

#include <stdio.h>

/* hob set: asks the daemon to change the settings of one asset or folder. */

/* Sets the value at "lods.max" of the patch. A value that is not JSON is a text; a word without a value
 * removes the key. */
static bool put(cJSON *patch, const char *word)
{
	char path[128];
	const char *equals = strchr(word, '=');
	if (!equals || equals == word || (size_t)(equals - word) >= sizeof path)
		return false;
	snprintf(path, sizeof path, "%.*s", (int)(equals - word), word);
	char *name = path;
	for (char *dot; (dot = strchr(name, '.')); name = dot + 1) {
		*dot = 0;
		cJSON *group = cJSON_GetObjectItemCaseSensitive(patch, name);
		patch = cJSON_IsObject(group) ? group : cJSON_AddObjectToObject(patch, name);
	}
	const char *text = equals + 1, *end = NULL;
	cJSON *value = text[0] ? cJSON_ParseWithOpts(text, &end, true) : cJSON_CreateNull();
	if (!value)
		value = cJSON_CreateString(text);
	return name[0] && cJSON_AddItemToObject(patch, name, value);
}

static void print_settings(const cJSON *patch, const char *prefix)
{
	for (const cJSON *item = patch->child; item; item = item->next) {
		char name[160];
		snprintf(name, sizeof name, "%.80s%s%.70s", prefix, prefix[0] ? "." : "", item->string);
		if (cJSON_IsObject(item)) {
			print_settings(item, name);
			continue;
		}
		hob_own char *text = cJSON_IsNull(item) ? NULL : cJSON_PrintUnformatted(item);
		printf("  %s %s%s\n", name, text ? "= " : "is no longer set here", text ? text : "");
	}
}

/* The id of some model below "root/folder/". */
static bool find_below(const char *url, const char *folder, char id[32], int *code)
{
	hob_own_json *page =
		srv_cli_ask_about("hob set", url, "/api/v1/assets?limit=1000&fields=id,name&q=", folder, false, code);
	const cJSON *item;
	id[0] = 0;
	cJSON_ArrayForEach(item, srv_cli_member(page, "items"))
	{
		if (strncmp(srv_cli_text(item, "name"), folder, strlen(folder)) == 0)
			snprintf(id, 32, "%s", srv_cli_text(item, "id"));
	}
	if (page && !id[0])
		*code = srv_cli_usage_error(&srv_cli_set, "no model of the daemon is below '%s'; write ROOT/FOLDER/",
									folder);
	return id[0] != 0;
}

static bool is_folder(const char *name)
{
	size_t length = strlen(name);
	return length > 0 && name[length - 1] == '/';
}

static int change(const char *url, const char *asset, const cJSON *patch)
{
	char id[32], match[112];
	int code = EXIT_GOOD;
	if (!(is_folder(asset) ? find_below(url, asset, id, &code)
						   : srv_cli_find_id("hob set", url, asset, id, &code)))
		return code;
	srv_own_response now = {0}, answer = {0};
	hob_error error = {0};
	hob_own_buf where = {0};
	hob_buf_printf(&where, "/api/v1/assets/%s/settings", id);
	if (is_folder(asset)) {
		hob_buf_put_str(&where, HOB_STR("?file="));
		hob_buf_put_percent(&where, hob_str_of(strchr(asset, '/') + 1));
		hob_buf_put_str(&where, HOB_STR("cook.json"));
	}
	const char *target = srv_cli_ended(&where);
	hob_own char *body = cJSON_PrintUnformatted(patch);
	bool asked = srv_cli_request(url, "GET", target, NULL, (hob_str){0}, &now, &error);
	bool good = asked && now.status == 200;
	snprintf(match, sizeof match, "If-Match: \"%s\"", now.hash);
	if (good)
		asked = srv_cli_request(url, "PATCH", target, match, hob_str_of(body ? body : "{}"), &answer, &error);
	if (!asked) {
		code = srv_cli_fail("hob set", &error, EXIT_UNREACHABLE);
	} else if (!good || answer.status >= 300) {
		/* An invalid setting is a usage error, since no asset failed. */
		srv_cli_print_problem("hob set", good ? &answer : &now);
		code = EXIT_USAGE;
	}
	return code;
}

static int run_set(int argc, char **argv)
{
	const char *url = srv_cli_default_url();
	bool json = false;
	cli_option options[] = {{"--json", 0, CLI_FLAG, &json, NULL, "what was set as JSON"},
							CLI_URL_OPTION(url)};
	int operands = srv_cli_parse(&srv_cli_set, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 2)
		return srv_cli_usage_error(&srv_cli_set, "name an asset and what to set, as in lods.max=3");
	hob_own_json *patch = cJSON_CreateObject();
	int code = patch ? EXIT_GOOD : EXIT_INTERNAL;
	for (int i = 2; i <= operands && code == EXIT_GOOD; i++)
		if (!put(patch, argv[i]))
			code = srv_cli_usage_error(&srv_cli_set, "'%s' is not KEY=VALUE, as in lods.max=3", argv[i]);
	if (code == EXIT_GOOD)
		code = change(url, argv[1], patch);
	if (code == EXIT_GOOD && json) {
		srv_cli_print_json(patch);
	} else if (code == EXIT_GOOD) {
		printf("%s%scook.json\n", argv[1], is_folder(argv[1]) ? "" : ".");
		print_settings(patch, "");
	}
	return code;
}

const cli_command srv_cli_set = {
	"set", "ASSET|FOLDER/ KEY=VALUE...", "change how an asset, or a folder, is cooked",
	"The daemon writes MODEL.cook.json beside the model, or the cook.json of ROOT/FOLDER/, and cooks again "
	"what it applies to. 'man hob.json' lists the keys. An empty VALUE removes the key, so that the folder's "
	"cook.json applies again. Exit code 2 if a key or a value is invalid.\n"
	"\n"
	"Examples:\n"
	"  hob set art/duck.glb lods.max=3 texture.encoding=bc\n"
	"  hob set art/duck.glb lods.max=\n"
	"  hob set art/props/ vertices=quantized\n",
	run_set};
