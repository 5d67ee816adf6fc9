#include "query.h"

#include "../config/config.h"
#include "../http/http.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

HOB_PRINTF(3, 4) static void say(uint32_t *count, const char *where, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	fprintf(stderr, "%s: ", where);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	++*count;
}

static void check_sources(const srv_config *config, const char *where, uint32_t *count)
{
	char **paths = calloc(config->source_count + 1, sizeof *paths);
	for (uint32_t i = 0; paths && i < config->source_count; i++) {
		const srv_config_source *one = &config->sources[i];
		struct stat info;
		const char *path = one->git ? one->git : one->path;
		paths[i] = realpath(path, NULL);
		if (!paths[i] && !one->mirror)
			say(count, where, "the folder '%s' of 'sources' cannot be opened: %s; make it, or correct '%s'",
				path, strerror(errno), one->git ? "git" : "path");
		else if (paths[i] && stat(paths[i], &info) == 0 && !S_ISDIR(info.st_mode))
			say(count, where, "'%s' of 'sources' is not a folder; name the folder that it is in", path);
		for (uint32_t j = 0; j < i && paths[i] && !one->git; j++) {
			if (paths[j] && strcmp(paths[i], paths[j]) == 0 &&
				!srv_config_are_profiles(srv_config_source_name(&config->sources[j], paths[i]),
										 srv_config_source_name(one, paths[i])))
				say(count, where,
					"the folder '%s' is in 'sources' twice; leave one out, or name them art and art@mobile",
					paths[i]);
		}
	}
	for (uint32_t i = 0; paths && i < config->source_count; i++)
		free(paths[i]);
	free(paths);
}

static void check_addresses(const srv_config *config, uint32_t *count)
{
	const char *listen = srv_config_text(config, SRV_CONFIG_listen);
	const char *where = srv_config_origin_name(config, SRV_CONFIG_listen);
	hob_str rest = hob_str_of(listen ? listen : "");
	for (bool more = rest.len > 0; more;) {
		size_t comma = hob_str_find(rest, HOB_STR(","), 0);
		hob_str one = hob_str_sub(rest, 0, comma);
		bool exposed = false;
		hob_error error;
		if (!srv_http_check_address(one, &exposed, &error))
			say(count, where, "server.listen: %s", error.context);
		else if (exposed && !srv_config_text(config, SRV_CONFIG_token_file) &&
				 !srv_config_flag(config, SRV_CONFIG_trust_network))
			say(count, where,
				"server.listen: other machines reach '%.*s', so 'hob serve' requires server.token_file (see "
				"'hob help token') or server.trust_network",
				HOB_FMT(one));
		more = comma != SIZE_MAX;
		rest = more ? hob_str_sub(rest, comma + 1, rest.len) : rest;
	}
	bool cert = srv_config_text(config, SRV_CONFIG_tls_cert),
		 key = srv_config_text(config, SRV_CONFIG_tls_key);
	if (cert != key)
		say(count, srv_config_origin_name(config, cert ? SRV_CONFIG_tls_cert : SRV_CONFIG_tls_key),
			"server.%s also needs server.%s", cert ? "tls_cert" : "tls_key", cert ? "tls_key" : "tls_cert");
	static const srv_config_key files[] = {SRV_CONFIG_token_file, SRV_CONFIG_tls_cert, SRV_CONFIG_tls_key};
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++) {
		const char *path = srv_config_text(config, files[i]);
		if (path && access(path, R_OK) != 0)
			say(count, srv_config_origin_name(config, files[i]), "%s: '%s' cannot be read: %s",
				srv_config_table[files[i]].path, path, strerror(errno));
	}
}

static void check_environment(uint32_t *count)
{
	static const char *const others[] = {
		"HOB_URL",	 "HOB_TOKEN", "HOB_CACERT", "HOB_CONFIG", "HOB_UPSTREAM_TOKEN",
		"HOB_ASSET", "HOB_STATE", "HOB_KIND",	"HOB_ID",	  "HOB_REV"};
	const char *known[SRV_CONFIG_COUNT + HOB_COUNT_OF(others)];
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++)
		known[key] = srv_config_table[key].environment;
	memcpy(known + SRV_CONFIG_COUNT, others, sizeof others);
	for (char **at = environ; *at; at++) {
		hob_str name = hob_str_sub(hob_str_of(*at), 0, strcspn(*at, "="));
		if (!hob_str_starts(name, HOB_STR("HOB_")))
			continue;
		const char *near = srv_cli_nearest(name, known, HOB_COUNT_OF(known));
		if (near && hob_str_equal(name, hob_str_of(near)))
			continue;
		say(count, "environment", "Hob does not use %.*s%s%s%s", HOB_FMT(name), near ? "; did you mean " : "",
			near ? near : "", near ? "?" : "; 'hob help environment' lists its variables");
	}
}

/* Prints a line on stderr for each problem: folders that are missing or given twice, addresses and options
 * that `hob serve` refuses, variables HOB_... that nothing reads. Returns their number. */
static uint32_t check_all(const srv_config *config)
{
	uint32_t count = 0;
	const char *where = config->file ? config->file : "hob.json";
	check_sources(config, where, &count);
	check_addresses(config, &count);
	check_environment(&count);
	return count;
}

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
	hob_own_json *built_in = hob_settings_json(&initial), *defaults = hob_settings_json(&config->defaults);
	printf("\n%sCook settings; cook.json of a folder and MODEL.cook.json overlay them%s\n", srv_cli_dim(),
		   srv_cli_color_off());
	if (built_in && defaults)
		print_settings(defaults, built_in, "", "hob.json", "default");
	for (uint32_t i = 0; i < config->source_count; i++) {
		const srv_config_source *source = &config->sources[i];
		hob_own_json *own = hob_settings_json(&source->settings);
		printf("\n%sSource %s%s%s%s\n", srv_cli_dim(), source->path, source->name[0] ? ", named " : "",
			   source->name, srv_cli_color_off());
		if (own && defaults && cJSON_Compare(own, defaults, true))
			printf("  no settings of its own\n");
		else if (own && defaults)
			print_settings(own, defaults, "", "its options", NULL);
	}
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
	srv_cli_parse(&srv_cli_config, options, HOB_COUNT_OF(options), argc, argv);
	hob_buf out = {0};
	hob_error error = {0};
	srv_config config = {0};
	if (schema) {
		(void)srv_config_schema(HOB_STR("config.json"), &out);
	} else {
		if (!srv_config_load(&config, check ? check : file, &error))
			return srv_cli_fail("hob config", &error, EXIT_USAGE);
		if (check && check_all(&config) > 0) {
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
