#include "git_inside.h"

#include "../../core/base/json_write.h"

#include <stdio.h>

commit_state *srv_git_state(git_root *root, const srv_git_id *id)
{
	if (root->has_tip && srv_git_id_equal(&root->tip.id, id))
		return &root->tip;
	for (uint32_t i = 0; i < root->commit_count; i++)
		if (srv_git_id_equal(&root->commits[i].id, id))
			return &root->commits[i];
	return NULL;
}

git_counts srv_git_count(const git_root *root, const commit_state *state)
{
	git_counts counts = {0};
	hob_buf prefix = {0};
	if (state == &root->tip)
		hob_buf_printf(&prefix, "%s/", root->name);
	else
		hob_buf_printf(&prefix, "%s/%s/", root->commits_name, srv_git_id_text(&state->id).text);
	if (!root->gits->views)
		return counts;
	const srv_view *view = srv_views_take(root->gits->views);
	for (uint32_t i = srv_view_after(view, hob_buf_str(&prefix));
		 i < view->count && hob_str_starts(view->assets[i]->full, hob_buf_str(&prefix)); i++) {
		const srv_view_asset *asset = view->assets[i];
		if (asset->state == SRV_REMOVED)
			continue;
		counts.assets++;
		counts.failed += srv_view_is_problem(asset);
		counts.busy += asset->standing == SRV_STANDING_UPDATING || asset->standing == SRV_STANDING_WAITING;
	}
	srv_view_drop(view);
	hob_buf_release(&prefix);
	return counts;
}

bool srv_git_is_cooking(const git_root *root, const commit_state *state)
{
	return state->fetching || state->settled_ms == 0 || srv_git_count(root, state).busy > 0;
}

/* The value of the first line that begins with `key`; *rest: what follows it. */
static hob_str value_of(hob_str facts, const char *key, hob_str *rest)
{
	size_t len = strlen(key);
	while (facts.len > 0) {
		hob_str line = hob_str_next(&facts, '\n');
		if (line.len > len && memcmp(line.data, key, len) == 0 && line.data[len] == ' ') {
			if (rest)
				*rest = facts;
			return hob_str_sub(line, len + 1, line.len);
		}
	}
	return (hob_str){0};
}

static void put_notes(const commit_state *state, hob_buf *out)
{
	hob_json_put(out, HOB_JSON_OPEN("notes", '['));
	for (uint32_t i = 0; state && i < state->note_count; i++)
		hob_json_object(out, HOB_JSON("path", state->notes[i].path), HOB_JSON("text", state->notes[i].text));
	hob_json_close(out, ']');
}

void srv_git_put_commit(git_root *root, hob_str facts, bool whole, hob_buf *out)
{
	srv_git_id id;
	hob_str name = value_of(facts, "id", NULL), parent, rest = facts, time = value_of(facts, "time", NULL);
	if (!srv_git_id_parse(name, &id))
		return;
	const commit_state *state = srv_git_state(root, &id);
	git_counts counts = state ? srv_git_count(root, state) : (git_counts){0};
	counts.busy += state && state->fetching ? srv_git_large_pending(root) : 0;
	const char *word = !state									   ? "cold"
					   : state->settled_ms == 0 || counts.busy > 0 ? "cooking"
					   : counts.failed > 0						   ? "broken"
																   : "warm";
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("id", name), HOB_JSON("root", root->name),
				 HOB_JSON("state", word), HOB_JSON("assets", counts.assets),
				 HOB_JSON("failed", counts.failed), HOB_JSON("waiting", counts.busy),
				 HOB_JSON_TIME("warm_since", state ? state->settled_ms : 0),
				 HOB_JSON("subject", value_of(facts, "subject", NULL)),
				 HOB_JSON("author", value_of(facts, "author", NULL)),
				 HOB_JSON_TIME("time", time.len > 0 ? strtoll(time.data, NULL, 10) * 1000 : 0),
				 HOB_JSON_OPEN("parents", '['));
	while ((parent = value_of(rest, "parent", &rest)).len > 0)
		hob_json_str(out, parent);
	hob_json_close(out, ']');
	if (whole) {
		bool is_tip = state == &root->tip;
		hob_buf prefix = {0};
		hob_buf_printf(&prefix, "%s%s%.*s", is_tip ? root->name : root->commits_name, is_tip ? "" : "/",
					   is_tip ? 0 : (int)name.len, name.data);
		hob_json_put(out, HOB_JSON_SOME("assets_below", state ? hob_buf_str(&prefix) : (hob_str){0}));
		put_notes(state, out);
		hob_buf_release(&prefix);
	}
	hob_json_close(out, '}');
}

bool srv_git_make_folder(git_root *root, hob_str name, bool *later, hob_buf *out, hob_error *err)
{
	srv_git_id id;
	if (!srv_git_resolve(root, name, &id, err) || !srv_git_make(root, &id, true, err))
		return false;
	const commit_state *state = srv_git_state(root, &id);
	*later = state && state != &root->tip && state->fetching;
	hob_json_object(out, HOB_JSON("id", srv_git_id_text(&id).text));
	return true;
}
