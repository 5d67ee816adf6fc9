#include "editor.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_SIZE = 8, FACTS_MAX = 16 << 20 };

static bool parse(hob_bytes result, cJSON **facts, hob_bytes *model, hob_error *err)
{
	uint32_t size = result.size >= HEAD_SIZE ? hob_load_u32(result.data + 4) : 0;
	if (result.size < HEAD_SIZE || memcmp(result.data, "HOBX", 4) != 0 || size > FACTS_MAX ||
		size > result.size - HEAD_SIZE)
		return hob_fail(err, CORRUPT, "what came from Blender is damaged");
	*facts = cJSON_ParseWithLength((const char *)result.data + HEAD_SIZE, size);
	*model = (hob_bytes){result.data + HEAD_SIZE + size, result.size - HEAD_SIZE - size};
	return cJSON_IsObject(*facts) || hob_fail(err, CORRUPT, "what came from Blender is damaged");
}

static void take_notes(const cJSON *facts, hob_notes *notes)
{
	const cJSON *note;
	cJSON_ArrayForEach(note, cJSON_GetObjectItemCaseSensitive(facts, "notes"))
	{
		const char *code = cJSON_GetStringValue(cJSON_GetArrayItem(note, 0));
		const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(note, 1));
		bool known = code && strncmp(code, "blender.", 8) == 0 && strlen(code) < 32;
		if (known && text)
			hob_note_add(notes, cJSON_GetArraySize(note) > 2 ? HOB_NOTE_INFO : HOB_NOTE_WARNING, code,
						 "%.400s", text);
	}
}

static bool number_is(const cJSON *list, int index, uint64_t value)
{
	/* cJSON stores numbers as doubles: both compared times lose their last 8 bits alike. */
	const cJSON *item = cJSON_GetArrayItem(list, index);
	double other = (double)value, apart = cJSON_IsNumber(item) ? item->valuedouble - other : 1e9;
	return apart > -1024 && apart < 1024;
}

static bool is_version(const cJSON *seen, const srv_dep *dep)
{
	return cJSON_IsArray(seen)
			   ? !dep->missing && number_is(seen, 0, dep->size) && number_is(seen, 1, dep->inode) &&
					 number_is(seen, 2, (uint64_t)dep->mtime_ns) &&
					 number_is(seen, 3, (uint64_t)dep->ctime_ns)
			   : dep->missing;
}

static bool same_versions(srv_editor *editor, const cJSON *files, hob_arena *arena, hob_error *err)
{
	hob_io io = srv_root_io_table(editor->io);
	const cJSON *file;
	hob_bytes bytes;
	hob_str path;
	cJSON_ArrayForEach(file, files)
	{
		hob_error missing;
		const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(file, 0));
		if (!name)
			return hob_fail(err, CORRUPT, "what came from Blender is damaged");
		if (!hob_path_join(arena, (hob_str){0}, hob_str_of(name), &path, err))
			return false;
		(void)io.read(io.user, path, &bytes, &missing);
	}
	uint32_t count;
	const srv_dep *deps = srv_root_io_deps(editor->io, &count);
	cJSON_ArrayForEach(file, files)
	{
		const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(file, 0));
		for (uint32_t i = 0; i < count; i++)
			if (hob_str_equal(deps[i].path, hob_str_of(name)) &&
				!is_version(cJSON_GetArrayItem(file, 1), &deps[i]))
				return hob_fail(err, CHANGED, "'%s' changed while Blender read it", name);
	}
	return true;
}

static bool export_glb(void *user, const hob_editor_ask *what, hob_bytes *out, hob_error *err)
{
	srv_editor *editor = user;
	static const char *const actions[] = {"all", "active", "none"};
	srv_exporter_ask ask = {.apply_modifiers = what->apply_modifiers};
	if (what->path.len >= sizeof ask.path)
		return hob_fail(err, LIMIT, "the path is too long for Blender");
	memcpy(ask.path, what->path.data, what->path.len);
	snprintf(ask.actions, sizeof ask.actions, "%s", actions[what->actions]);
	snprintf(ask.collection, sizeof ask.collection, "%.*s", HOB_FMT(what->collection));
	hob_bytes result;
	if (!editor->ask(editor->user, &ask, &result, err))
		return false;
	hob_own_json *facts = NULL;
	bool ok = parse(result, &facts, out, err);
	if (ok) {
		take_notes(facts, what->notes);
		const char *error = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(facts, "error"));
		ok = same_versions(editor, cJSON_GetObjectItemCaseSensitive(facts, "files"), what->scratch, err) &&
			 (!error || hob_fail(err, CORRUPT, "Blender: %.180s", error));
	}
	return ok;
}

hob_editor srv_editor_table(srv_editor *editor)
{
	return (hob_editor){editor, export_glb};
}
