#include "importers.h"

/* Blender 3.0 began to compress with zstd; what it and later ones save without has their number:
 * "BLENDER-v304". */
static bool is_new(hob_str head)
{
	enum { MAGIC = 7, NUMBER_AT = 9 };
	if (hob_str_starts(head, HOB_STR("\x28\xB5\x2F\xFD")))
		return true;
	if (!hob_str_starts(head, HOB_STR("BLENDER")) || head.len < NUMBER_AT + 3)
		return false;
	/* 5.0 writes "BLENDER17-01v0500": two digits in place of the pointer size. */
	char mark = head.data[MAGIC], first = head.data[NUMBER_AT];
	return (mark != '_' && mark != '-') || (first >= '3' && first <= '9');
}

static bool is_blend(hob_str head)
{
	return hob_str_starts(head, HOB_STR("BLENDER")) || hob_str_starts(head, HOB_STR("\x1F\x8B")) ||
		   is_new(head);
}

/* Looked for even where there is none: one that appears takes the place of the .blend. */
static bool refuse_beside_export(const hob_import_request *request, hob_error *err)
{
	static const char *const exports[] = {"glb", "gltf", "fbx"};
	hob_str stem = {request->path.data, request->path.len - hob_path_extension(request->path).len};
	hob_str found = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(exports); i++) {
		hob_bytes bytes;
		hob_error missing;
		hob_str path = hob_arena_printf(request->scratch, "%.*s%s", HOB_FMT(stem), exports[i]);
		if (!path.data)
			return hob_fail_memory(err, request->scratch, "a file name");
		if (request->io->read(request->io->user, path, &bytes, &missing) && !found.data)
			found = path;
	}
	return !found.data ||
		   hob_fail(err, SKIPPED,
					"'%.*s' beside it is its export, and is the asset; the setting blender.beside: blend "
					"cooks the .blend as well",
					HOB_FMT(hob_path_name(found)));
}

static bool without_blender(const hob_import_request *request, hob_str head, hob_error *err)
{
	if (is_new(head))
		return hob_fail(
			err, SKIPPED,
			"only Blender reads it: install Blender (Debian: blender python3-numpy), name it in the "
			"setting blender.program, or export glTF");
	hob_note_add(
		request->notes, HOB_NOTE_WARNING, "blender.none",
		"read without Blender: clips, skins, shape keys, modifiers and shader nodes are lost, hidden "
		"objects show; install Blender, or export glTF");
	return hob_fail(err, OLD_VERSION, "a file of a Blender before 3.0");
}

static bool import_blend(const hob_import_request *request, hob_model *out, hob_error *err)
{
	hob_str head = {(const char *)request->file.data, request->file.size};
	if (!is_blend(head))
		return hob_fail(
			err, CORRUPT,
			"a .blend file should hold Blender data, but these %zu bytes do not look like it; the "
			"file is damaged or bears the wrong extension",
			request->file.size);
	if (!request->blend.beside_export && !refuse_beside_export(request, err))
		return false;
	if (!request->editor)
		return without_blender(request, head, err);
	hob_editor_ask ask = {.path = request->path,
						  .apply_modifiers = request->blend.apply_modifiers,
						  .actions = request->blend.actions,
						  .collection = request->blend.collection,
						  .scratch = request->scratch,
						  .notes = request->notes};
	hob_import_request exported = *request;
	return request->editor->export_glb(request->editor->user, &ask, &exported.file, err) &&
		   hob_gltf_importer.import(&exported, out, err);
}

static const char *library_version(void)
{
	return hob_gltf_importer.library_version();
}

static const char *const extensions[] = {"blend", NULL};

const hob_importer hob_blend_importer = {
	.name = "blend",
	.version = 2,
	.extensions = extensions,
	.import = import_blend,
	.library_version = library_version,
	.reads_name = true,
};
