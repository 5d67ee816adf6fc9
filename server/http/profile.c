#include "inside.h"

#include "../../core/base/json_write.h"

/* A profile is a separate root with the same folder and its own settings: "mobile" of the root "art" is
 * called "art@mobile". */

bool srv_is_profile(hob_str profile)
{
	return profile.len > 0 && !hob_str_equal(profile, HOB_STR("default"));
}

void srv_put_profile_root(hob_buf *out, hob_str root, hob_str profile)
{
	hob_buf_put_str(out, root);
	if (!srv_is_profile(profile))
		return;
	hob_buf_put(out, "@", 1);
	hob_buf_put_str(out, profile);
}

bool srv_profile_exists(const srv_view *view, hob_str root, hob_str profile)
{
	hob_buf name = {0};
	srv_put_profile_root(&name, root, profile);
	bool found = false;
	for (uint32_t i = 0; i < view->root_count; i++)
		found = found || hob_str_equal(view->roots[i].name, hob_buf_str(&name));
	hob_buf_release(&name);
	return found;
}

enum MHD_Result srv_reply_no_profile(request *r, const srv_view *view, hob_str root, hob_str profile)
{
	hob_buf detail = {0}, hint = {0}, members = {0};
	hob_buf_printf(&detail, "the folder '%.*s' has no profile '%.*s'", HOB_FMT(root), HOB_FMT(profile));
	hob_buf_printf(&hint, "profiles of this folder: default");
	hob_buf_put_str(&members, HOB_STR(",\"profiles\":[\"default\""));
	for (uint32_t i = 0; i < view->root_count; i++) {
		hob_str name = view->roots[i].name;
		if (name.len <= root.len + 1 || !hob_str_starts(name, root) || name.data[root.len] != '@')
			continue;
		hob_str other = hob_str_sub(name, root.len + 1, name.len);
		hob_buf_printf(&hint, " %.*s", HOB_FMT(other));
		hob_json_str(&members, other);
	}
	hob_buf_put_str(&members, HOB_STR("]"));
	hob_buf_printf(&hint, "; to add this one, add a source '%.*s@%.*s' with the same path to hob.json",
				   HOB_FMT(root), HOB_FMT(profile));
	problem_text text = {
		.detail = hob_buf_str(&detail), .hint = hob_buf_str(&hint), .members = hob_buf_str(&members)};
	enum MHD_Result result = srv_reply_problem_text(r, PROBLEM_NOT_FOUND, &text);
	hob_buf_release(&detail);
	hob_buf_release(&hint);
	hob_buf_release(&members);
	return result;
}
