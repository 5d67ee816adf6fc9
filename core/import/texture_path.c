#include "texture_path.h"

#include "text.h"

bool hob_import_exists(const hob_import_request *request, hob_str path)
{
	hob_bytes bytes;
	hob_error why = {0};
	return request->io->read(request->io->user, path, &bytes, &why) ||
		   (why.code != HOB_ERR_MISSING_FILE && why.code != HOB_ERR_OUTSIDE);
}

/* Looks for dir/relative, first as spelt, then in any case. The result is empty if no such file exists;
 * *joined is empty for an illegal path. */
static hob_str look(const hob_import_request *request, hob_str dir, hob_str relative, hob_str *joined)
{
	const hob_io *io = request->io;
	hob_str other;
	*joined = (hob_str){0};
	if (!hob_io_join(io, request->scratch, dir, relative, joined, NULL))
		return *joined = (hob_str){0};
	if (hob_import_exists(request, *joined))
		return *joined;
	if (io->find_nocase && io->find_nocase(io->user, *joined, &other) && hob_import_exists(request, other))
		return other;
	return (hob_str){0};
}

hob_str hob_import_texture_path(const hob_import_request *request, hob_str dir, hob_str reference)
{
	hob_str written = reference;
	if (hob_str_starts(written, HOB_STR("file://")))
		written = hob_str_sub(written, 7, written.len);
	hob_str as_written, joined, found = look(request, dir, written, &as_written);
	static const char *const folders[] = {"", "textures/"};
	hob_str name = hob_text_last_part(written);
	for (size_t i = 0; i < HOB_COUNT_OF(folders) && found.len == 0 && name.len > 0; i++) {
		hob_str relative = hob_arena_printf(request->scratch, "%s%.*s", folders[i], HOB_FMT(name));
		found = look(request, dir, relative, &joined);
	}
	if (found.len > 0 && !hob_str_equal(found, as_written))
		hob_warn(request->notes, "texture.path-guessed",
				 "texture '%.*s' was not found as written; '%.*s' is used", HOB_FMT(reference),
				 HOB_FMT(found));
	hob_str chosen = found.len > 0 ? found : as_written;
	return chosen.len > 0 ? hob_arena_str(request->result, chosen) : (hob_str){0};
}
