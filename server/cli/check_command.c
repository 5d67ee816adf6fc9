#include "check_report.h"
#include "cook_run_private.h"
#include "query.h"

#include "../../core/base/array.h"
#include "../../core/settings/rules.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- results of the cooks */

static check_row *add_row(check_report *c, const cook_entry *entry, const check_row *like)
{
	if (!HOB_ROOM(c->rows, c->capacity, c->count)) {
		c->failed = true;
		return NULL;
	}
	check_row *row = &c->rows[c->count++];
	*row = *like;
	row->asset = hob_arena_str(&c->memory, hob_str_of(entry->path));
	row->rule = hob_arena_str(&c->memory, like->rule);
	row->name = hob_arena_str(&c->memory, like->name);
	row->text = hob_arena_str(&c->memory, like->text);
	row->fails = row->level == HOB_LEVEL_ERROR ||
				 (row->level == HOB_LEVEL_WARNING && (c->strict || entry->settings.strict));
	c->failed = c->failed || !row->asset.data || !row->rule.data || !row->name.data || !row->text.data;
	return row;
}

static bool add_findings(check_report *c, const cook_entry *entry, check_row *row, const cJSON *list,
						 hob_str code)
{
	bool found = false;
	const cJSON *item;
	cJSON_ArrayForEach(item, list)
	{
		hob_rule rule = hob_rule_find(hob_str_of(srv_cli_text(item, "rule")));
		if (rule == HOB_RULE_COUNT || !hob_str_equal(code, hob_str_of(hob_rule_table[rule].id)))
			continue;
		found = true;
		row->rule = code;
		row->level = hob_rules_level(&entry->settings, rule);
		row->kind = hob_arena_str(&c->memory, hob_str_of(srv_cli_text(item, "kind")));
		row->name = hob_str_of(srv_cli_text(item, "name"));
		row->value = srv_cli_number(item, "value");
		row->text = (hob_str){0};
		add_row(c, entry, row);
	}
	return found;
}

/* Notes of a rule count as one finding per object, which the text names in quotes; its numbers may change. A
 * budget's object is the model, and as in `hob cook` it fails. */
static void add_note(check_report *c, const cook_entry *entry, check_row *row, const hob_note *note)
{
	hob_rule rule = hob_rules_of_note(note->code);
	bool budget = hob_str_starts(note->code, HOB_STR("budget.")), judged = rule < HOB_RULE_COUNT,
		 error = budget || (judged && hob_rules_level(&entry->settings, rule) == HOB_LEVEL_ERROR);
	if (!judged && note->level != HOB_NOTE_WARNING)
		return;
	row->rule = judged && !budget ? hob_str_of(hob_rule_table[rule].id) : note->code;
	row->level = error							   ? HOB_LEVEL_ERROR
				 : note->level == HOB_NOTE_WARNING ? HOB_LEVEL_WARNING
												   : HOB_LEVEL_INFO;
	row->kind = HOB_STR("model");
	hob_buf name = {0};
	for (size_t i = 0, quotes = 0; i < note->text.len && !budget; i++) {
		char at = note->text.data[i];
		quotes += at == '\'';
		if (quotes % 2 > 0 || at < '0' || at > '9')
			hob_buf_put(&name, &at, 1);
	}
	row->name = hob_buf_str(&name);
	row->value = note->count;
	row->text = note->text;
	check_row *added = add_row(c, entry, row);
	if (added)
		added->is_note = true;
	hob_buf_release(&name);
}

static void see(void *user, srv_pool *pool, const cook_entry *entry, const srv_outcome *outcome,
				const hob_error *error)
{
	(void)pool;
	check_report *c = user;
	check_row row = {.level = HOB_LEVEL_ERROR, .kind = HOB_STR("model"), .value = 1};
	if (error && error->code == HOB_ERR_SKIPPED && !entry->named)
		return;
	check_asset *asset =
		HOB_ROOM(c->assets, c->asset_capacity, c->asset_count) ? &c->assets[c->asset_count++] : NULL;
	if (asset)
		*asset = (check_asset){.path = hob_arena_str(&c->memory, hob_str_of(entry->path))};
	if (!asset || !asset->path.data) {
		c->failed = true;
		return;
	}
	if (error) {
		c->uncooked++;
		asset->uncooked = true;
		row.rule = hob_str_of(hob_err_name(error->code));
		row.kind = (hob_str){0}; /* excluded from baselines */
		row.text = hob_str_of(error->context);
		add_row(c, entry, &row);
		return;
	}
	const srv_result *result = &outcome->result;
	c->cached += entry->cached;
	char digest[HOB_SHA256_TEXT + 1] = "";
	if (entry->look || result->dep_count > 0)
		hob_sha256_text(entry->look ? &entry->look->look.source : &result->deps[0].digest, digest);
	asset->source = hob_arena_printf(&c->memory, "%.16s", digest);
	hob_bytes report = {0};
	for (uint32_t i = 0; i < result->output_count; i++)
		if (hob_str_equal(result->outputs[i].name, HOB_STR("report")))
			report = result->outputs[i].bytes;
	hob_str text = {(const char *)report.data, report.size};
	bool says = result->note_count > 0 || hob_str_find(text, HOB_STR("\"unchecked\""), 0) != SIZE_MAX;
	cJSON *json = says ? cJSON_ParseWithLength(text.data, text.len) : NULL;
	const cJSON *rule;
	asset->objects = hob_arena_str(&c->memory, hob_str_of(srv_cli_text(json, "objects")));
	for (uint32_t i = 0; i < result->note_count; i++)
		if (!add_findings(c, entry, &row, srv_cli_member(json, "findings"), result->notes[i].code))
			add_note(c, entry, &row, &result->notes[i]);
	cJSON_ArrayForEach(rule, srv_cli_member(json, "unchecked"))
	{
		hob_rule which = hob_rule_find(hob_str_of(cJSON_GetStringValue(rule)));
		if (which < HOB_RULE_COUNT)
			c->unchecked[which]++;
	}
	cJSON_Delete(json);
}

/* ---- the command */

static int explain(const char *id)
{
	hob_rule rule = hob_rule_find(hob_str_of(id));
	if (rule == HOB_RULE_COUNT && strcmp(id, "all") != 0) {
		hob_str near = hob_rule_near(hob_str_of(id));
		fprintf(stderr, "hob check: there is no rule '%s'%s%.*s%s\n", id,
				near.len > 0 ? "; did you mean '" : "", HOB_FMT(near),
				near.len > 0 ? "'?" : "; --explain all lists them");
		return EXIT_USAGE;
	}
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		const hob_rule_info *info = &hob_rule_table[i];
		if (rule == HOB_RULE_COUNT)
			printf("%-22s %s\n", info->id, info->meaning);
		if (i != (uint32_t)rule)
			continue;
		printf("%s: %s.\nTo mend it: %s.\nDefault: %s\n", info->id, info->meaning, info->mend,
			   hob_rule_levels[info->level]);
		for (uint32_t p = 0; p < 2 && info->parameters[p][0]; p++)
			if (i < HOB_RULE_PATTERNS)
				printf("Parameter: %s, a pattern\n", info->parameters[p]);
			else
				printf("Parameter: %s, default %.9g\n", info->parameters[p], (double)info->values[p]);
		if (info->blind[0])
			printf("Not checked in: %s\n", info->blind);
	}
	return EXIT_GOOD;
}

static int run_check(int argc, char **argv)
{
	const char *root = NULL, *settings = NULL, *file = NULL, *cache = NULL, *format = "text", *rule = NULL;
	check_report c = {0};
	bool update = false, deep = false;
	const cli_option options[] = {
		{"--format", 0, CLI_TEXT, &format, "FORM", "text (default), json, sarif, junit or github"},
		{"--strict", 0, CLI_FLAG, &c.strict, NULL, "warnings fail, too"},
		{"--deep", 0, CLI_FLAG, &deep, NULL,
		 "check rules that cost much, too, if they are on: uv.overlap, mesh.interpenetrating"},
		{"--baseline", 0, CLI_TEXT, &c.baseline, "FILE",
		 "only findings that are not in FILE, or have grown, fail"},
		{"--update-baseline", 0, CLI_FLAG, &update, NULL, "write the findings of today to the --baseline"},
		{"--explain", 0, CLI_TEXT, &rule, "RULE", "say what a rule asks for; 'all' lists the rules"},
		{"--root", 0, CLI_TEXT, &root, "DIR",
		 "models may refer to files below DIR (default: current folder, or the model's)"},
		{"--settings", 0, CLI_TEXT, &settings, "JSON|FILE",
		 "settings for all models, overriding cook.json: '{\"rules\":{\"profile\":\"game\"}}'"},
		{"--config", 0, CLI_TEXT, &file, "FILE", "the configuration file (hob.json here or in a parent)"},
		{"--cache", 0, CLI_TEXT, &cache, "DIR", "folder of kept results (.hob, if it exists)"},
	};
	static char here[] = ".";
	char *nothing[] = {here}, *over = NULL;
	int operands = srv_cli_parse(&srv_cli_check, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return srv_cli_parse_exit(operands);
	if (rule)
		return explain(rule);
	check_format form = srv_check_format_of(format);
	if (form == CHECK_FORMATS)
		return srv_cli_usage_error(&srv_cli_check, "--format is text, json, sarif, junit or github, not '%s'",
								   format);
	if (update && !c.baseline)
		return srv_cli_usage_error(&srv_cli_check, "--update-baseline needs a --baseline FILE to write");
	hob_error error = {0};
	srv_config config;
	serve_upstream upstream;
	cook_plan_options ask = {.root = root, .config = &config, .plain = true};
	cook_plan plan;
	hob_arena_init(&c.memory, SIZE_MAX);
	bool ok = srv_config_load(&config, file, &error) &&
			  srv_serve_upstream_options(&config, &upstream, &error) &&
			  (!settings || srv_cook_plan_read_settings(settings, &over, &ask.over_origin, &error)) &&
			  (!c.baseline || srv_check_baseline_read(&c, update, &error));
	ask.settings = config.defaults;
	ask.over = over;
	if (!ok || !srv_cook_plan_make(&plan, &ask, operands > 0 ? argv + 1 : nothing,
								   operands > 0 ? (uint32_t)operands : 1, &error)) {
		srv_cli_print_error("hob check", &error);
		free(over);
		srv_check_release(&c);
		srv_config_release(&config);
		return EXIT_USAGE;
	}
	free(over);
	for (uint32_t i = 0; deep && i < plan.count; i++)
		plan.entries[i].settings.rules.deep = true;
	if (!cache && (config.origin[SRV_CONFIG_cache] != SRV_CONFIG_DEFAULT ||
				   access(srv_config_text(&config, SRV_CONFIG_cache), F_OK) == 0))
		cache = srv_config_text(&config, SRV_CONFIG_cache);
	char folder[PATH_MAX];
	srv_cook_folder_from_here(plan.root, folder);
	c.folder = hob_str_of(folder);
	cook_run_options how = {.who = "hob check",
							.write = {.nothing = true},
							.config = &config,
							.cache = cache,
							.upstream = &upstream,
							.quiet = true,
							.wait_s = COOK_WAIT_WRITER_S,
							.only_report = true,
							.see = see,
							.user = &c};
	int code = srv_cook_run(&plan, &how);
	if (code == EXIT_GOOD && !srv_check_tell(&c, form, update, &error)) {
		srv_cli_print_error("hob check", &error);
		code = EXIT_INTERNAL;
	} else if (code == EXIT_GOOD) {
		code = c.uncooked > 0 ? EXIT_ASSETS_FAILED : c.fresh > 0 && !update ? EXIT_OVER_BUDGET : EXIT_GOOD;
	}
	srv_check_release(&c);
	srv_config_release(&config);
	return code;
}

const cli_command srv_cli_check = {
	"check", "[PATH...]", "hold models against their rules",
	"Holds every model below PATH (default: this folder) against the rules of its settings, and lists what "
	"breaks them. Nothing is written but the cache; a model that the cache has is not cooked again.\n"
	"\n"
	"Rules are in cook.json, by folder: {\"rules\": {\"profile\": \"game\", \"mesh.open\": \"error\"}}.\n"
	"\n"
	"With --baseline, findings that FILE lists are known: only new ones fail, and those whose number has "
	"grown. A finding is known by its rule, its object and its model. A model under a new name is known by "
	"its bytes, or by its objects if it shares 80 % of them with one that is gone. FILE has a line for each "
	"model and each finding, sorted; a reason and an author added to a finding's line, as its last elements, "
	"allow it to grow. Models that are not checked keep their lines.\n"
	"\n"
	"Exit codes: 0 no finding fails; 1 a model cannot be cooked; 2 usage or configuration; 4 a finding of "
	"the level error, a model over its budget, or with --strict a warning.\n"
	"\n"
	"Examples:\n"
	"  hob check art/\n"
	"  hob check art/ --baseline art/known.txt --update-baseline\n"
	"  hob check art/ --baseline art/known.txt --format github\n"
	"  hob check art/ --deep --strict\n"
	"  hob check --explain mesh.open\n",
	run_check};
