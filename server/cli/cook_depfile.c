#include "cook_run_private.h"

#include "../../core/base/json_write.h"
#include "../fs/spelling.h"
#include "../settings/chain.h"
#include "../worker/check.h"

#include <limits.h>
#include <unistd.h>

typedef struct list {
	hob_buf *out;
	const cook_plan *plan;
	char here[PATH_MAX]; /* the current folder, ending in a slash */
	bool json, any;
} list;

/* Writes paths below the current folder relative to it, as build files do. */
static void put(list *l, hob_str path, bool missing)
{
	hob_str here = hob_str_of(l->here);
	path = hob_str_starts(path, here) ? hob_str_sub(path, here.len, path.len) : path;
	if (l->json) {
		hob_json_put(l->out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("path", path));
		hob_buf_put_str(l->out, missing ? HOB_STR(",\"missing\":true}") : HOB_STR("}"));
	} else if (!missing) {
		hob_buf_put(l->out, " ", l->any);
		for (size_t i = 0; i < path.len; i++) {
			hob_buf_put(l->out, "\\", path.data[i] == ' ' || path.data[i] == '#');
			hob_buf_put(l->out, "$", path.data[i] == '$');
			hob_buf_put(l->out, path.data + i, 1);
		}
	}
	l->any = l->any || l->json || !missing;
}

static void put_input(list *l, hob_str below, bool missing)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof path, "%s/%.*s", strcmp(l->plan->root, "/") ? l->plan->root : "",
					   HOB_FMT(below));
	if (len < (int)sizeof path && !srv_spelling_is(below) && !hob_str_starts(below, HOB_STR("..")))
		put(l, hob_str_of(path), missing);
}

static bool put_layer(void *user, const srv_layer *layer, hob_error *err)
{
	(void)err;
	put_input(user, layer->path, !layer->exists);
	return true;
}

static void put_outputs(list *l, const cook_write_options *write, const cook_entry *entry,
						const srv_result *result)
{
	const char *const own[] = {entry->output_mesh, entry->output_materials, entry->output_scene};
	char path[PATH_MAX];
	for (size_t i = 0; entry->output_mesh && i < (l->json ? HOB_COUNT_OF(own) : 1); i++)
		put(l, hob_str_of(own[i]), false);
	for (size_t i = 0; !entry->output_mesh && i <= COOK_PARTS && (l->json || !l->any); i++) {
		const char *ending = srv_cook_endings[i];
		if (srv_find_output(result, i < COOK_PARTS ? ending + 1 : "report").size > 0 &&
			srv_cook_name_output(write->out, entry->name, ending, path, NULL))
			put(l, hob_str_of(path), false);
	}
}

void srv_cook_depfile_add(hob_buf *out, bool json, const cook_write_options *write, const cook_plan *plan,
						  const cook_entry *entry, const srv_result *result)
{
	list l = {.out = out, .plan = plan, .json = json};
	hob_error ignored;
	if (getcwd(l.here, sizeof l.here - 1))
		memcpy(l.here + strlen(l.here), "/", 2);
	hob_buf_put_str(out, !json			 ? (hob_str){0}
						 : out->size > 0 ? HOB_STR(",\n{\"outputs\":[")
										 : HOB_STR("{\"outputs\":["));
	put_outputs(&l, write, entry, result);
	hob_buf_put_str(out, json ? HOB_STR("],\"inputs\":[") : HOB_STR(":"));
	l.any = !json;
	for (uint32_t i = 0; i < result->dep_count; i++)
		put_input(&l, result->deps[i].path, result->deps[i].missing);
	if (!srv_settings_walk(plan->root_fd, hob_str_of(entry->path), put_layer, &l, &ignored))
		out->failed = true;
	hob_buf_put_str(out, json ? HOB_STR("]}") : HOB_STR("\n"));
}

bool srv_cook_depfile_write(const char *path, bool json, const hob_buf *entries, hob_error *err)
{
	uint64_t ignored = 0;
	hob_own_buf whole = {0};
	if (json)
		hob_buf_printf(&whole, "[%.*s]\n", HOB_FMT(hob_buf_str(entries)));
	bool ok = !(entries->failed || whole.failed) || hob_fail(err, MEMORY, "no memory left for '%s'", path);
	return ok && srv_cook_write_file(path, hob_buf_bytes(json ? &whole : entries), &ignored, err);
}
