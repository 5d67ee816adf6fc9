#include "inside.h"

#include "../../core/base/json_write.h"

/* A profile is a separate root with the same folder and its own settings: "mobile" of the root "art" is
 * called "art@mobile". */

bool srv_is_profile(hob_str profile)
{
	return profile.len > 0 && !hob_str_equal(profile, HOB_STR("default"));
}

hob_str srv_profile_root(request *r, hob_str root, hob_str profile)
{
	return srv_is_profile(profile) ? srv_print(r, "%.*s@%.*s", HOB_FMT(root), HOB_FMT(profile)) : root;
}

const srv_view_root *srv_find_root(request *r, hob_str name)
{
	const srv_view *view = srv_request_view(r);
	for (uint32_t i = 0; i < view->root_count; i++)
		if (hob_str_equal(view->roots[i].name, name))
			return &view->roots[i];
	return NULL;
}

enum MHD_Result srv_reply_no_profile(request *r, hob_str root, hob_str profile)
{
	const srv_view *view = srv_request_view(r);
	hob_own_buf hint = {0}, members = {0};
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
		.detail = srv_print(r, "the folder '%.*s' has no profile '%.*s'", HOB_FMT(root), HOB_FMT(profile)),
		.hint = hob_buf_str(&hint),
		.members = hob_buf_str(&members)};
	return srv_reply_problem_text(r, PROBLEM_NOT_FOUND, &text);
}
