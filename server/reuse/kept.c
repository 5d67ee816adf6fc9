#include "kept.h"

#include "../../core/base/json_write.h"
#include "../../core/base/number.h"
#include "../../core/settings/content.h"
#include "../../core/settings/rules.h"
#include "../cook/inputs.h"

#include <cjson/cJSON.h>
#include <stdatomic.h>

srv_record_dep *srv_kept_deps(hob_arena *arena, hob_str model, const srv_result *result, uint32_t *count)
{
	hob_str dir = hob_path_dir(model);
	srv_record_dep *deps = HOB_NEW(arena, srv_record_dep, result->dep_count);
	*count = 0;
	for (uint32_t i = 0; deps && i < result->dep_count; i++) {
		const srv_dep *dep = &result->deps[i];
		if (!hob_str_equal(dep->path, model))
			deps[(*count)++] =
				(srv_record_dep){hob_path_relative(arena, dir, dep->path), dep->missing, dep->digest};
	}
	return deps;
}

void srv_kept_stats(const srv_result *result, hob_buf *out)
{
	const hob_cook_stats *s = &result->stats;
#define COUNT(name) HOB_JSON(#name, s->name),
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_COOK_COUNTS(COUNT) HOB_JSON_OPEN("over_budget", '['));
#undef COUNT
	hob_str budget = HOB_STR("budget.");
	for (uint32_t i = 0; i < result->note_count; i++) {
		hob_str code = result->notes[i].code;
		if (hob_str_starts(code, budget))
			hob_json_str(out, hob_str_sub(code, budget.len, code.len));
	}
	hob_json_close(out, ']');
	hob_rules_print_counts(result->notes, result->note_count, out);
	if (s->short_mib > 0)
		hob_json_put_u64(out, "short_mib", s->short_mib);
	for (uint32_t i = 0; i < result->output_count; i++)
		if (hob_str_equal(result->outputs[i].name, HOB_STR("report"))) {
			hob_bytes report = result->outputs[i].bytes;
			hob_buf_put_str(
				out, hob_content_in((hob_str){(const char *)report.data, report.size}, HOB_STR("}\n")));
		}
	hob_json_close(out, '}');
}

uint32_t srv_kept_short_mib(const srv_record *record)
{
	uint64_t mib = hob_number_behind(record->stats, HOB_STR("\"short_mib\":"));
	return mib <= UINT32_MAX ? (uint32_t)mib : UINT32_MAX;
}

bool srv_kept_key(hob_arena *arena, const srv_record *record, hob_sha256 *key, hob_error *err)
{
	hob_dependency *deps = HOB_NEW(arena, hob_dependency, record->dep_count);
	if (!deps)
		return hob_fail_memory(err, arena, "the key of a cook");
	for (uint32_t i = 0; i < record->dep_count; i++)
		deps[i] = (hob_dependency){record->deps[i].path, record->deps[i].missing, record->deps[i].digest};
	*key = hob_cook_key(&record->lookup, record->file_name, deps, record->dep_count);
	return true;
}

bool srv_kept_record(hob_arena *arena, hob_str model, const srv_result *result, srv_record *record,
					 hob_error *err)
{
	hob_own_buf stats = {0};
	srv_kept_stats(result, &stats);
	record->stats = hob_arena_str(arena, hob_buf_str(&stats));
	record->warnings = result->stats.warnings;
	record->file_name = result->uses_name ? hob_path_name(model) : (hob_str){0};
	record->deps = srv_kept_deps(arena, model, result, &record->dep_count);
	if (!record->deps || !record->stats.data)
		return hob_fail_memory(err, arena, "the record of a cook");
	return srv_kept_key(arena, record, &record->key, err);
}

bool srv_kept_store(srv_store *store, const srv_result *result, const _Atomic bool *stop,
					srv_record_output *outputs, uint32_t *count, hob_error *err)
{
	for (*count = 0; *count < result->output_count && !(stop && atomic_load(stop)); ++*count) {
		const hob_cook_output *output = &result->outputs[*count];
		outputs[*count] = (srv_record_output){.name = output->name, .size = output->bytes.size};
		if (!srv_blob_put(store, output->bytes, &outputs[*count].digest, err))
			return false;
	}
	return true;
}

static hob_str text_of(const cJSON *object, const char *name, hob_arena *arena)
{
	return hob_arena_str(arena,
						 hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name))));
}

bool srv_kept_notes(hob_bytes report, hob_arena *arena, hob_note **notes, uint32_t *count)
{
	hob_own_json *json = cJSON_ParseWithLength((const char *)report.data, report.size);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "notes"), *item;
	*notes = HOB_NEW(arena, hob_note, (size_t)cJSON_GetArraySize(list) + 1);
	*count = 0;
	bool ok = cJSON_IsArray(list) && *notes;
	for (item = ok ? list->child : NULL; item; item = item->next) {
		hob_note *note = &(*notes)[(*count)++];
		*note = (hob_note){.code = text_of(item, "code", arena), .text = text_of(item, "text", arena)};
		if (hob_str_equal(text_of(item, "level", arena), HOB_STR("warning")))
			note->level = HOB_NOTE_WARNING;
		const cJSON *times = cJSON_GetObjectItemCaseSensitive(item, "count");
		note->count = cJSON_IsNumber(times) && times->valuedouble > 0 ? (uint32_t)times->valueint : 1;
		ok = ok && note->code.data && note->text.data;
	}
	return ok;
}

/* Number of leading ".." parts of a kept path. *only: there are no other parts, so the path covers everything
 * above the root. */
static size_t count_ups(hob_str path, bool *only)
{
	size_t ups = 0;
	while (hob_str_starts(hob_str_sub(path, ups * 3, path.len), HOB_STR("..")) &&
		   (path.len == ups * 3 + 2 || path.data[ups * 3 + 2] == '/'))
		ups++;
	*only = ups > 0 && path.len == ups * 3 - 1;
	return ups;
}

static size_t count_folders(hob_str model)
{
	size_t depth = 0;
	for (size_t i = 0; i < model.len; i++)
		depth += model.data[i] == '/';
	return depth;
}

bool srv_kept_holds(const srv_record *record, hob_str model, srv_input_fn *look, void *user)
{
	hob_str name = hob_path_name(model);
	if (!srv_name_holds(record->file_name, name))
		return false;
	size_t folders = count_folders(model);
	for (uint32_t i = 0; i < record->dep_count; i++) {
		const srv_record_dep *dep = &record->deps[i];
		hob_sha256 digest;
		bool above;
		bool leaves = count_ups(dep->path, &above) > folders;
		/* The other file of then is the model itself now. */
		if ((above && !leaves) || hob_str_equal(dep->path, name))
			return false;
		srv_input_state state = leaves ? SRV_INPUT_MISSING : look(user, dep->path, &digest);
		bool present = state == SRV_INPUT_PRESENT;
		if (state == SRV_INPUT_UNKNOWN || !srv_input_holds((srv_input_then){dep->missing, &dep->digest},
														   (srv_input_now){present, present, &digest}))
			return false;
	}
	return true;
}

hob_ingredients srv_kept_ingredients(const srv_pool_importer *importer, hob_str path,
									 const hob_settings *settings)
{
	return (hob_ingredients){.importer = importer->name,
							 .importer_version = importer->version,
							 .library = importer->library,
							 .extension = hob_path_extension(path),
							 .profile = HOB_PROFILE_FINAL,
							 .settings = *settings};
}
