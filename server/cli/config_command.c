#include "config_check.h"
#include "query.h"

#include "../config/config.h"

#include <stdio.h>

/* A size as a person would write it: "20 GiB", "500 MB", "4097". */
static const char *exact_size(uint64_t bytes, char out[32])
{
	static const struct {
		const char *name;
		uint64_t size;
	} units[] = {{"GiB", 1u << 30}, {"GB", 1000000000}, {"MiB", 1u << 20},
				 {"MB", 1000000},	{"KiB", 1u << 10},	{"KB", 1000}};
	snprintf(out, 32, "%llu", (unsigned long long)bytes);
	for (size_t i = 0; i < HOB_COUNT_OF(units); i++)
		if (bytes >= units[i].size && bytes % units[i].size == 0) {
			snprintf(out, 32, "%llu %s", (unsigned long long)(bytes / units[i].size), units[i].name);
			break;
		}
	return out;
}

static void print_row(const char *name, const char *value, const char *origin)
{
	printf("  %-32s %-21s %s%s%s\n", name, value, srv_cli_dim(), origin, srv_cli_color_off());
}

/* Values that differ from `base` get `origin`; the others `otherwise`, or are left out if that is NULL. */
static void print_settings(const cJSON *settings, const cJSON *base, const char *group, const char *origin,
						   const char *otherwise)
{
	for (const cJSON *item = settings->child; item; item = item->next) {
		const cJSON *other = cJSON_GetObjectItemCaseSensitive(base, item->string);
		char name[64], value[64];
		snprintf(name, sizeof name, "%s%s%s", group, group[0] ? "." : "", item->string);
		bool same = cJSON_Compare(item, other, true);
		if (cJSON_IsObject(item)) {
			print_settings(item, other, name, origin, otherwise);
			continue;
		}
		if (cJSON_IsNumber(item))
			snprintf(value, sizeof value, "%.10g", item->valuedouble);
		else
			snprintf(value, sizeof value, "%s",
					 cJSON_IsString(item) ? item->valuestring
					 : cJSON_IsTrue(item) ? "true"
										  : "false");
		if (!same || otherwise)
			print_row(name, value, same ? otherwise : origin);
	}
}

static void print_cook_settings(const srv_config *config)
{
	hob_settings initial;
	hob_settings_init(&initial);
	cJSON *built_in = hob_settings_json(&initial), *defaults = hob_settings_json(&config->defaults);
	printf("\n%sCook settings; cook.json of a folder and MODEL.cook.json overlay them%s\n", srv_cli_dim(),
		   srv_cli_color_off());
	if (built_in && defaults)
		print_settings(defaults, built_in, "", "hob.json", "default");
	for (uint32_t i = 0; i < config->source_count; i++) {
		const srv_config_source *source = &config->sources[i];
		cJSON *own = hob_settings_json(&source->settings);
		printf("\n%sSource %s%s%s%s\n", srv_cli_dim(), source->path, source->name[0] ? ", named " : "",
			   source->name, srv_cli_color_off());
		if (own && defaults && cJSON_Compare(own, defaults, true))
			printf("  no settings of its own\n");
		else if (own && defaults)
			print_settings(own, defaults, "", "its options", NULL);
		cJSON_Delete(own);
	}
	cJSON_Delete(built_in);
	cJSON_Delete(defaults);
}

static void print_people(const srv_config *config)
{
	printf("%sConfiguration: %s%s\n", srv_cli_dim(),
		   config->file ? config->file : "no hob.json found; defaults", srv_cli_color_off());
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		char size[32];
		const char *text = srv_config_text(config, key);
		if (srv_config_table[key].type == SRV_CONFIG_TYPE_size && text)
			text = exact_size(srv_config_number(config, key), size);
		print_row(srv_config_table[key].path, text ? text : "-",
				  config->origin[key] == SRV_CONFIG_FILE ? "hob.json" : srv_config_origin_name(config, key));
	}
	print_cook_settings(config);
}

static int run_config(int argc, char **argv)
{
	const char *file = NULL, *check = NULL;
	bool json = false, schema = false;
	cli_option options[] = {
		{"--config", 0, CLI_TEXT, &file, "FILE", "use this file instead of the hob.json here or in a parent"},
		{"--check", 0, CLI_TEXT, &check, "FILE",
		 "check whether 'hob serve' accepts FILE: keys, folders, addresses, HOB_ variables"},
		{"--schema", 0, CLI_FLAG, &schema, NULL, "print the JSON Schema of hob.json"},
		{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"}};
	int operands = srv_cli_parse(&srv_cli_config, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return srv_cli_parse_exit(operands);
	hob_buf out = {0};
	hob_error error = {0};
	srv_config config = {0};
	if (schema) {
		(void)srv_config_schema(HOB_STR("config.json"), &out);
	} else {
		if (!srv_config_load(&config, check ? check : file, &error)) {
			srv_cli_print_error("hob config", &error);
			return EXIT_USAGE;
		}
		if (check && srv_cli_config_check(&config) > 0) {
			srv_config_release(&config);
			return EXIT_USAGE;
		}
		if (check)
			printf("%s: no mistakes found\n", check);
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

const cli_command srv_cli_config = {
	"config", "", "show each setting and where its value comes from",
	"Later sources win: default, hob.json, environment, option of 'hob serve'. Hob looks for hob.json in the "
	"current folder, its parents and ~/.config/hob. The service of the Debian package reads\n"
	"/etc/hob/hob.json: 'hob config --config /etc/hob/hob.json' shows it.\n"
	"\n"
	"Examples:\n"
	"  hob config\n"
	"  hob config --check hob.json\n"
	"  hob config --schema > hob.schema.json     for completion in an editor\n",
	run_config};
