#include "texture_path.h"

#include "text.h"

bool hob_import_exists(const hob_import_request *request, hob_str path)
{
	hob_bytes bytes;
	hob_error why = {0};
	return request->io->read(request->io->user, path, &bytes, &why) ||
		   (why.code != HOB_ERR_MISSING_FILE && why.code != HOB_ERR_OUTSIDE);
}

/* Looks for dir/relative, first as spelt, then in any case. False only when memory is short. *joined is empty
 * for an illegal path, *found is empty if no such file exists. */
static bool look(const hob_import_request *request, hob_str dir, hob_str relative, hob_str *joined,
				 hob_str *found, hob_error *err)
{
	hob_error why = {0};
	*joined = *found = (hob_str){0};
	if (!hob_io_join(request->io, request->scratch, dir, relative, joined, &why)) {
		*joined = (hob_str){0};
		if (why.code == HOB_ERR_MEMORY && err)
			*err = why;
		return why.code != HOB_ERR_MEMORY;
	}
	const hob_io *io = request->io;
	hob_str other;
	if (hob_import_exists(request, *joined))
		*found = *joined;
	else if (io->find_nocase && io->find_nocase(io->user, *joined, &other) &&
			 hob_import_exists(request, other))
		*found = other;
	return true;
}

bool hob_import_texture_path(const hob_import_request *request, hob_str dir, hob_str reference, hob_str *path,
							 hob_error *err)
{
	hob_str written = reference;
	if (hob_str_starts(written, HOB_STR("file://")))
		written = hob_str_sub(written, 7, written.len);
	hob_str as_written, joined, found;
	if (!look(request, dir, written, &as_written, &found, err))
		return false;
	static const char *const folders[] = {"", "textures/"};
	hob_str name = hob_text_last_part(written);
	for (size_t i = 0; i < HOB_COUNT_OF(folders) && found.len == 0 && name.len > 0; i++) {
		hob_str relative = hob_arena_printf(request->scratch, "%s%.*s", folders[i], HOB_FMT(name));
		if (!relative.data)
			return hob_fail_memory(err, request->scratch, "a texture path");
		if (!look(request, dir, relative, &joined, &found, err))
			return false;
	}
	if (found.len > 0 && !hob_str_equal(found, as_written))
		hob_warn(request->notes, "texture.path-guessed",
				 "texture '%.*s' was not found as written; '%.*s' is used", HOB_FMT(reference),
				 HOB_FMT(found));
	hob_str chosen = found.len > 0 ? found : as_written;
	*path = (hob_str){0};
	if (chosen.len == 0)
		return true;
	*path = hob_arena_str(request->result, chosen);
	return path->data || hob_fail_memory(err, request->result, "a texture path");
}
