#include "export_glb.h"

#include "cook_write.h"

#include <stdio.h>

bool srv_export_is_one(const char *out)
{
	return strcmp(out, "-") == 0 || hob_str_ends_nocase(hob_str_of(out), HOB_STR(".glb"));
}

bool srv_export_name(const char *out, const char *source, char path[PATH_MAX], hob_error *err)
{
	if (!srv_export_is_one(out))
		return srv_cook_name_output(
			out, source, hob_str_ends_nocase(hob_str_of(source), HOB_STR(".glb")) ? "" : ".glb", path, err);
	return snprintf(path, PATH_MAX, "%s", strcmp(out, "-") == 0 ? "/dev/stdout" : out) < PATH_MAX ||
		   hob_fail(err, USAGE, "the path '%.80s...' is too long", path);
}

bool srv_export_write(const srv_glb_source *source, const char *path, hob_notes *notes, uint64_t *bytes,
					  hob_error *err)
{
	hob_buf out = {0};
	bool ok =
		srv_glb_make(source, notes, &out, err) && srv_cook_write_file(path, hob_buf_bytes(&out), bytes, err);
	hob_buf_release(&out);
	return ok;
}
