#include "inside.h"

#include "json.h"

/* GET /api/v1/schema/settings.json: a JSON Schema of cook.json and MODEL.cook.json, made from schema/settings.def, for
 * editors that complete and check ("$schema" in the file names it). */

typedef enum setting_type { TYPE_f32, TYPE_u32, TYPE_flag, TYPE_choice } setting_type;

static const struct setting {
	const char *field, *path;
	setting_type type;
	double value, min, max;
	const char *doc;
} settings[] = {
#define SETTING(field, type, path, value, min, max, doc) {#field, path, TYPE_##type, value, min, max, doc},
#define SETTING_CHOICE(field, index, name)
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
};

static const struct {
	const char *field;
	uint32_t index;
	const char *name;
} choices[] = {
#define SETTING(field, type, path, value, min, max, doc)
#define SETTING_CHOICE(field, index, name) {#field, index, name},
#include "../../schema/settings.def"
#undef SETTING
#undef SETTING_CHOICE
};

static void put_number(hob_buf *out, const char *name, double value)
{
	json_key(out, name);
	hob_buf_printf(out, "%.10g", value);
}

static void put_choices(hob_buf *out, const struct setting *s)
{
	json_key(out, "enum");
	json_open(out, '[');
	for (size_t i = 0; i < HOB_COUNT_OF(choices); i++)
		if (strcmp(choices[i].field, s->field) == 0)
			json_str(out, hob_str_of(choices[i].name));
	json_close(out, ']');
	for (size_t i = 0; i < HOB_COUNT_OF(choices); i++)
		if (strcmp(choices[i].field, s->field) == 0 && (double)choices[i].index == s->value)
			json_put_str(out, "default", hob_str_of(choices[i].name));
}

static void put_setting(hob_buf *out, const char *name, const struct setting *s)
{
	static const char *const types[] = {"number", "integer", "boolean", "string"};
	json_key(out, name);
	json_open(out, '{');
	json_put_str(out, "type", hob_str_of(types[s->type]));
	json_put_str(out, "description", hob_str_of(s->doc));
	if (s->type == TYPE_choice) {
		put_choices(out, s);
	} else if (s->type == TYPE_flag) {
		json_key(out, "default");
		json_bool(out, s->value != 0);
	} else {
		put_number(out, "default", s->value);
		put_number(out, "minimum", s->min);
		put_number(out, "maximum", s->max);
	}
	json_close(out, '}');
}

static void open_object(hob_buf *out)
{
	json_put_str(out, "type", HOB_STR("object"));
	json_key(out, "additionalProperties");
	json_bool(out, false);
	json_key(out, "patternProperties");
	json_raw(out, HOB_STR("{\"^//\":{}}"));
	json_key(out, "properties");
	json_open(out, '{');
}

/* Groups are one level deep and stand together in the table. */
static void put_settings(hob_buf *out)
{
	hob_str open = {0};
	json_open(out, '{');
	json_put_str(out, "$schema", HOB_STR("https://json-schema.org/draft/2020-12/schema"));
	json_put_str(out, "title", HOB_STR("Cook settings of Hob"));
	open_object(out);
	json_key(out, "$schema");
	json_raw(out, HOB_STR("{\"type\":\"string\"}"));
	json_key(out, "calculate_LODs");
	json_raw(
		out,
		HOB_STR(
			"{\"type\":\"boolean\",\"description\":\"the reference converter's word: lods.max of 7 or 1\"}"));
	for (size_t i = 0; i < HOB_COUNT_OF(settings); i++) {
		hob_str path = hob_str_of(settings[i].path);
		size_t dot = hob_str_find(path, HOB_STR("."), 0);
		hob_str group = dot == SIZE_MAX ? (hob_str){0} : hob_str_sub(path, 0, dot);
		if (open.len > 0 && !hob_str_equal(open, group))
			hob_buf_put_str(out, HOB_STR("}}"));
		if (group.len > 0 && !hob_str_equal(open, group)) {
			hob_buf_printf(out, ",\"%.*s\":{", HOB_FMT(group));
			open_object(out);
		}
		open = group;
		put_setting(out, settings[i].path + (dot == SIZE_MAX ? 0 : dot + 1), &settings[i]);
	}
	hob_buf_put_str(out, open.len > 0 ? HOB_STR("}}}}") : HOB_STR("}}"));
}

enum MHD_Result srv_route_schema(request *r)
{
	if (!hob_str_equal(r->args[0], HOB_STR("settings.json")))
		return reply_problem(r, PROBLEM_NOT_FOUND, "there is: settings.json", "there is no schema '%.*s'",
							 HOB_FMT(r->args[0]));
	hob_buf body = {0};
	put_settings(&body);
	return reply_json(r, MHD_HTTP_OK, &body);
}
