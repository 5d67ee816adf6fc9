#include "importers.h"

#include <stdio.h>
#include <string.h>
#include <zstd.h>

/* Whether Blender 3.0 or later wrote the file: compressed with zstd, or "BLENDER-v304" uncompressed. */
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

/* Decompresses the first bytes of a zstd stream; returns how many. */
static size_t unpack_head(hob_str file, char *head, size_t size)
{
	ZSTD_DCtx *decoder = ZSTD_createDCtx();
	if (!decoder)
		return 0;
	ZSTD_inBuffer in = {file.data, file.len, 0};
	ZSTD_outBuffer out = {head, size, 0};
	while (out.pos < size && in.pos < in.size && !ZSTD_isError(ZSTD_decompressStream(decoder, &out, &in)))
		;
	ZSTD_freeDCtx(decoder);
	return out.pos;
}

/* "BLENDER-v405" is 4.5, "BLENDER17-01v0500" is 5.0; 0 if the file has no version. */
static unsigned saved_by(hob_str file)
{
	char head[18] = "";
	if (hob_str_starts(file, HOB_STR("\x28\xB5\x2F\xFD")))
		(void)unpack_head(file, head, sizeof head - 1);
	else
		memcpy(head, file.data, file.len < sizeof head - 1 ? file.len : sizeof head - 1);
	unsigned version = 0;
	if (sscanf(head, "BLENDER%*[-_]%*[vV]%3u", &version) != 1 &&
		sscanf(head, "BLENDER%*2u-%*2uv%4u", &version) != 1)
		return 0;
	return version;
}

static bool fail_with_version(hob_str file, hob_error *err)
{
	unsigned version = saved_by(file);
	size_t used = strlen(err->context);
	if (version >= 300)
		snprintf(err->context + used, sizeof err->context - used,
				 "; Blender %u.%u saved the file: an older one may not read it", version / 100,
				 version % 100);
	return false;
}

/* The export is looked up even when absent, so that one which appears later replaces the .blend. */
static bool refuse_beside_export(const hob_import_request *request, hob_error *err)
{
	static const char *const exports[] = {"glb", "gltf", "fbx"};
	hob_str stem = {request->path.data, request->path.len - hob_path_extension(request->path).len};
	hob_str found = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(exports); i++) {
		hob_bytes bytes;
		hob_error missing;
		hob_str path = hob_arena_printf(request->scratch, "%.*s%s", HOB_FMT(stem), exports[i]);
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
	hob_warn(request->notes, "blender.none",
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
	if (!request->editor->export_glb(request->editor->user, &ask, &exported.file, err))
		return fail_with_version(head, err);
	return hob_gltf_importer.import(&exported, out, err);
}

static const char *library_version(void)
{
	return hob_gltf_importer.library_version();
}

static const char *const extensions[] = {"blend", NULL};

const hob_importer hob_blend_importer = {
	.name = "blend",
	.version = 4,
	.extensions = extensions,
	.import = import_blend,
	.library_version = library_version,
	.reads_name = true,
};
