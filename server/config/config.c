#include "config.h"

#include "../../core/base/json_write.h"

#include <stdlib.h>

const srv_config_row srv_config_table[SRV_CONFIG_COUNT] = {
#define CONFIG(field, type, path, environment, option, letter, placeholder, value, doc)                      \
	{SRV_CONFIG_TYPE_##type, path, environment, option, placeholder, value, doc, letter},
#define CONFIG_CHOICE(field, value)
#include "../../schema/config.def"
#undef CONFIG
#undef CONFIG_CHOICE
};

static const struct {
	srv_config_key key;
	const char *value;
} choices[] = {
#define CONFIG(field, type, path, environment, option, letter, placeholder, value, doc)
#define CONFIG_CHOICE(field, value) {SRV_CONFIG_##field, value},
#include "../../schema/config.def"
#undef CONFIG
#undef CONFIG_CHOICE
};

/* ---- parsing */

bool srv_config_parse_size(const char *text, uint64_t *out)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {{"", 1},
				 {"B", 1},
				 {"KB", 1000},
				 {"MB", 1000000},
				 {"GB", 1000000000},
				 {"TB", 1000000000000},
				 {"KiB", 1ull << 10},
				 {"MiB", 1ull << 20},
				 {"GiB", 1ull << 30},
				 {"TiB", 1ull << 40}};
	char *end;
	double number = strtod(text, &end);
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < HOB_COUNT_OF(units); i++)
		if (strcmp(units[i].name, end) == 0 && text[0] >= '0' && text[0] <= '9' && number < 1e18) {
			double bytes = number * (double)units[i].bytes;
			*out = (uint64_t)bytes;
			return bytes < 9e18;
		}
	return false;
}

static void refuse_choice(srv_config_key key, const char *text, const char *where, hob_error *err)
{
	hob_own_buf names = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(choices); i++)
		if (choices[i].key == key)
			hob_buf_printf(&names, "%s%s", names.size ? ", " : "", choices[i].value);
	(void)!hob_fail(err, CONFIG, "%s must be one of %.*s, not '%s'", where, HOB_FMT(hob_buf_str(&names)),
					text);
}

static const char *normal_form(srv_config *config, srv_config_key key, const char *text, const char *where,
							   hob_error *err)
{
	const srv_config_row *row = &srv_config_table[key];
	uint64_t number;
	char *end;
	switch (row->type) {
	case SRV_CONFIG_TYPE_number:
		number = strtoul(text, &end, 10);
		if (text[0] < '0' || text[0] > '9' || *end || number > 1000000) {
			(void)!hob_fail(err, CONFIG, "%s must be a whole number from 0 to 1000000, not '%s'", where,
							text);
			return NULL;
		}
		return hob_arena_printf(&config->arena, "%llu", (unsigned long long)number).data;
	case SRV_CONFIG_TYPE_size:
		if (!srv_config_parse_size(text, &number)) {
			(void)!hob_fail(err, CONFIG,
							"%s must be a size such as \"20 GiB\" or a number of bytes, not '%s'", where,
							text);
			return NULL;
		}
		return hob_arena_printf(&config->arena, "%llu", (unsigned long long)number).data;
	case SRV_CONFIG_TYPE_flag:
		if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
			return "true";
		if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
			return "false";
		(void)!hob_fail(err, CONFIG, "%s must be true or false, not '%s'", where, text);
		return NULL;
	case SRV_CONFIG_TYPE_choice:
		for (size_t i = 0; i < HOB_COUNT_OF(choices); i++)
			if (choices[i].key == key && strcmp(choices[i].value, text) == 0)
				return choices[i].value;
		refuse_choice(key, text, where, err);
		return NULL;
	default:
		return hob_arena_str(&config->arena, hob_str_of(text)).data;
	}
}

bool srv_config_set(srv_config *config, srv_config_key key, const char *text, srv_config_origin origin,
					const char *where, hob_error *err)
{
	const char *normal = normal_form(config, key, text, where, err);
	if (!normal)
		return err->code == HOB_ERR_OK ? hob_fail(err, MEMORY, "no memory left for the configuration")
									   : false;
	if ((key == SRV_CONFIG_timeout && strtoul(normal, NULL, 10) < 1) ||
		(key == SRV_CONFIG_memory && strtoull(normal, NULL, 10) < 64ull << 20))
		return hob_fail(err, CONFIG, "%s must be at least %s", where,
						key == SRV_CONFIG_timeout ? "1" : "64 MiB");
	bool more = srv_config_table[key].type == SRV_CONFIG_TYPE_list && config->origin[key] == origin &&
				config->value[key] && config->value[key][0];
	if (more)
		normal = hob_arena_printf(&config->arena, "%s\n%s", config->value[key], normal).data;
	if (!normal)
		return hob_fail(err, MEMORY, "no memory left for the configuration");
	config->value[key] = normal;
	config->origin[key] = origin;
	return true;
}

/* ---- asking */

const char *srv_config_text(const srv_config *config, srv_config_key key)
{
	return config->value[key] && config->value[key][0] ? config->value[key] : NULL;
}

uint64_t srv_config_number(const srv_config *config, srv_config_key key)
{
	return strtoull(config->value[key], NULL, 10);
}

bool srv_config_flag(const srv_config *config, srv_config_key key)
{
	return strcmp(config->value[key], "true") == 0;
}

/* The next line of a list's value. False: there is none. */
static bool next_item(hob_str *rest, hob_str *item)
{
	size_t end = hob_str_find(*rest, HOB_STR("\n"), 0);
	bool more = rest->len > 0;
	*item = hob_str_sub(*rest, 0, end == SIZE_MAX ? rest->len : end);
	*rest = end == SIZE_MAX ? (hob_str){0} : hob_str_sub(*rest, end + 1, rest->len);
	return more;
}

const char *const *srv_config_list(srv_config *config, srv_config_key key)
{
	hob_str rest = hob_str_of(config->value[key]), item;
	uint32_t count = 0, room = 2;
	for (size_t i = 0; i < rest.len; i++)
		room += rest.data[i] == '\n';
	const char **out = HOB_NEW(&config->arena, const char *, room);
	while (out && next_item(&rest, &item))
		out[count++] = hob_arena_str(&config->arena, item).data;
	return out;
}

const char *srv_config_origin_name(const srv_config *config, srv_config_key key)
{
	switch (config->origin[key]) {
	case SRV_CONFIG_FILE:
		return config->file;
	case SRV_CONFIG_ENVIRONMENT:
		return srv_config_table[key].environment;
	case SRV_CONFIG_OPTION:
		return srv_config_table[key].option;
	default:
		return "default";
	}
}

void srv_config_release(srv_config *config)
{
	hob_arena_release(&config->arena);
	*config = (srv_config){0};
}

/* ---- printing */

static void print_value(const srv_config *config, srv_config_key key, hob_buf *out)
{
	hob_str text = hob_str_of(config->value[key]);
	switch (srv_config_table[key].type) {
	case SRV_CONFIG_TYPE_number:
	case SRV_CONFIG_TYPE_size:
	case SRV_CONFIG_TYPE_flag:
		hob_json_put(out, HOB_JSON_RAW("value", text));
		break;
	case SRV_CONFIG_TYPE_list:
		hob_json_put(out, HOB_JSON_OPEN("value", '['));
		for (hob_str item; next_item(&text, &item);)
			hob_json_str(out, item);
		hob_json_close(out, ']');
		break;
	default:
		hob_json_put(out, HOB_JSON_SOME("value", text));
	}
}

static void print_globs(const char *name, const char *const *globs, hob_buf *out)
{
	hob_json_put(out, HOB_JSON_OPEN(name, '['));
	for (uint32_t i = 0; globs && globs[i]; i++)
		hob_json_str(out, hob_str_of(globs[i]));
	hob_json_close(out, ']');
}

void srv_config_print(const srv_config *config, hob_buf *out)
{
	hob_json_put(out, HOB_JSON_SOME("file", hob_str_of(config->file ? config->file : "")),
				 HOB_JSON_OPEN("values", '['));
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("key", srv_config_table[key].path));
		print_value(config, key, out);
		hob_json_put(out, HOB_JSON("origin", srv_config_origin_name(config, key)), HOB_JSON_CLOSE('}'));
	}
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_OPEN("sources", '['));
	for (uint32_t i = 0; i < config->source_count; i++) {
		const srv_config_source *source = &config->sources[i];
		hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("name", source->name),
					 HOB_JSON("path", source->path));
		if (source->mirror)
			hob_json_put(out, HOB_JSON_BOOL("mirror", true));
		if (source->git) {
			hob_json_put(out, HOB_JSON("git", source->git));
			print_globs("refs", source->refs, out);
			hob_json_put(out, HOB_JSON_SOME("lfs", hob_str_of(source->lfs)),
						 HOB_JSON_SOME("lfs_token", hob_str_of(source->lfs_token)));
		}
		print_globs("include", source->include, out);
		print_globs("exclude", source->exclude, out);
		hob_json_key(out, "settings");
		hob_settings_print(&source->settings, out);
		hob_json_close(out, '}');
	}
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_KEY("defaults"));
	hob_settings_print(&config->defaults, out);
}

static hob_str group_of(srv_config_key key, hob_str *name)
{
	hob_str path = hob_str_of(srv_config_table[key].path);
	size_t dot = hob_str_find(path, HOB_STR("."), 0);
	*name = hob_str_sub(path, dot + 1, path.len);
	return hob_str_sub(path, 0, dot);
}

#define SCHEMA_HEAD "\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","

static void schema_of(srv_config_key key, hob_buf *out)
{
	static const char *const types[] = {"{\"type\":\"string\"",
										"{\"type\":\"string\"",
										"{\"type\":\"array\",\"items\":{\"type\":\"string\"}",
										"{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000000",
										"{\"type\":[\"integer\",\"string\"],\"minimum\":0",
										"{\"type\":\"boolean\"",
										"{\"type\":\"string\",\"enum\":["};
	const srv_config_row *row = &srv_config_table[key];
	hob_buf_put_str(out, hob_str_of(types[row->type]));
	for (size_t i = 0; i < HOB_COUNT_OF(choices); i++)
		if (choices[i].key == key)
			hob_json_str(out, hob_str_of(choices[i].value));
	if (row->type == SRV_CONFIG_TYPE_choice)
		hob_json_close(out, ']');
	hob_json_put(out, HOB_JSON("description", row->doc), HOB_JSON_CLOSE('}'));
}

static void put_config_schema(hob_buf *out)
{
	hob_str open = {0}, name;
	hob_buf_put_str(
		out, HOB_STR("{" SCHEMA_HEAD "\"title\":\"hob.json\","
					 "\"description\":\"Configuration of the Hob daemon\",\"type\":\"object\","
					 "\"additionalProperties\":false,\"patternProperties\":{\"^//\":{}},\"properties\":{"
					 "\"$schema\":{\"type\":\"string\"},\"version\":{\"const\":1}"));
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++) {
		hob_str group = group_of(key, &name);
		bool same = hob_str_equal(group, open);
		if (!same && open.len > 0)
			hob_json_put(out, HOB_JSON_CLOSE('}'), HOB_JSON_CLOSE('}'));
		if (!same) {
			hob_json_str(out, group);
			hob_buf_put_str(out, HOB_STR(":{\"type\":\"object\",\"additionalProperties\":false,"
										 "\"patternProperties\":{\"^//\":{}},\"properties\":{"));
		}
		open = group;
		hob_json_str(out, name);
		hob_buf_put_str(out, HOB_STR(":"));
		schema_of(key, out);
	}
	hob_buf_put_str(
		out,
		HOB_STR("}},\"sources\":{\"type\":\"array\",\"maxItems\":256,\"items\":{\"type\":\"object\","
				"\"anyOf\":[{\"required\":[\"path\"]},{\"required\":[\"git\"]}],"
				"\"additionalProperties\":false,\"patternProperties\":{\"^//\":{}},"
				"\"properties\":{\"name\":{\"type\":\"string\"},\"path\":{\"type\":\"string\"},"
				"\"include\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
				"\"exclude\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
				"\"mirror\":{\"type\":\"boolean\",\"description\":\"only agents write this folder\"},"
				"\"git\":{\"type\":\"string\",\"description\":\"a git repository; path is a folder in it\"},"
				"\"lfs\":{\"type\":\"string\",\"description\":\"its server of Git LFS\"},"
				"\"lfs_token\":{\"type\":\"string\",\"description\":\"a file: USER:PASSWORD or a token\"},"
				"\"refs\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
				"\"options\":{\"$ref\":\"#/$defs/settings\"}}}},"
				"\"defaults\":{\"$ref\":\"#/$defs/settings\"}},\"$defs\":{\"settings\":"));
	hob_settings_schema(out);
	hob_buf_put_str(out, HOB_STR("}}"));
}

bool srv_config_schema(hob_str file, hob_buf *out)
{
	if (hob_str_equal(file, HOB_STR("config.json"))) {
		put_config_schema(out);
	} else if (hob_str_equal(file, HOB_STR("settings.json"))) {
		hob_buf_put_str(out, HOB_STR("{" SCHEMA_HEAD "\"title\":\"Cook settings of Hob\","
									 "\"$ref\":\"#/$defs/settings\",\"$defs\":{\"settings\":"));
		hob_settings_schema(out);
		hob_buf_put_str(out, HOB_STR("}}"));
	} else {
		return false;
	}
	return true;
}

const char *srv_config_source_name(const srv_config_source *source, const char *path)
{
	const char *slash = strrchr(path, '/');
	return source->name[0] ? source->name : slash && slash[1] ? slash + 1 : "root";
}

bool srv_config_are_profiles(const char *name, const char *other)
{
	size_t length = strcspn(name, "@");
	return strcmp(name, other) != 0 && length == strcspn(other, "@") && strncmp(name, other, length) == 0;
}
