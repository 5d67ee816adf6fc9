#include "assimp_convert.h"
#include "assimp_io.h"
#include "../importers.h"
#include "../text.h"

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/version.h>

#include <stdio.h>
#include <stdlib.h>

/* ---- errors */

/* Assimp's messages contain our internal file names, control characters and sometimes parts of the file. */
static void clean_message(const char *message, char out[160])
{
	size_t len = 0;
	for (const char *p = message ? message : ""; *p && len < 150; p++) {
		unsigned char c = (unsigned char)*p;
		if (c < ' ' || c > '~')
			c = ' ';
		if (c == ' ' && (len == 0 || out[len - 1] == ' '))
			continue;
		out[len++] = (char)c;
	}
	while (len > 0 && (out[len - 1] == ' ' || out[len - 1] == '.'))
		len--;
	out[len] = 0;
	char *name;
	while ((name = strstr(out, HOB_ASSIMP_STEM)) != NULL) {
		char *from = name > out && name[-1] == '/' ? name - 1 : name;
		memmove(from, name + strlen(HOB_ASSIMP_STEM), strlen(name + strlen(HOB_ASSIMP_STEM)) + 1);
	}
}

static bool says(const char *message, const char *word)
{
	return strstr(message, word) != NULL;
}

static bool import_failed(const hob_assimp_io *io, const hob_assimp_format *format, hob_error *err)
{
	if (io->failure.code != HOB_ERR_OK) {
		if (err)
			*err = io->failure;
		return false;
	}
	char message[160];
	clean_message(aiGetErrorString(), message);
	if (says(message, "bad_alloc") || says(message, "out of memory"))
		return hob_fail(err, MEMORY, "Assimp ran out of memory on this %s file", format->name);
	if (says(message, "nsupported") || says(message, "not supported") || says(message, "old format"))
		return hob_fail(err, UNSUPPORTED,
						"Assimp cannot read this %s file: %s; export it again, best as glTF", format->name,
						message);
	return hob_fail(err, CORRUPT, "Assimp refuses this %s file: %s", format->name,
					message[0] ? message : "no reason given");
}

/* ---- the import */

/* Runs Assimp. NULL when it rejects the file, or with io->failure set. */
static const struct aiScene *run_assimp(hob_assimp_io *io, const hob_import_request *request)
{
	hob_str path = hob_arena_printf(request->scratch, "/%.*s", HOB_FMT(io->name));
	struct aiPropertyStore *properties = path.data ? aiCreatePropertyStore() : NULL;
	if (!properties) {
		hob_fail_memory(&io->failure, request->scratch, "a file name");
		return NULL;
	}
	/* Without this, skeletons get dummy meshes. */
	aiSetImportPropertyInteger(properties, AI_CONFIG_IMPORT_NO_SKELETON_MESHES, 1);
	/* No post-processing: triangulation there is quadratic, and Hob does the rest. */
	const struct aiScene *scene = aiImportFileExWithProperties(path.data, 0, &io->vtable, properties);
	aiReleasePropertyStore(properties);
	return scene;
}

static bool generator_of(hob_assimp_scene *scene, hob_error *err)
{
	const struct aiMetadata *metadata = scene->source->mMetaData;
	for (unsigned i = 0; metadata && i < metadata->mNumProperties; i++)
		if (metadata->mValues[i].mType == AI_AISTRING && metadata->mValues[i].mData &&
			hob_str_equal(hob_assimp_str(&metadata->mKeys[i]), HOB_STR("SourceAsset_Generator")))
			return hob_assimp_name(scene, (const struct aiString *)metadata->mValues[i].mData,
								   &scene->model->generator, err);
	return true;
}

static bool convert(hob_assimp_scene *scene, hob_error *err)
{
	const struct aiScene *source = scene->source;
	hob_model *model = scene->model;
	if (!source->mRootNode)
		return hob_fail(err, EMPTY, "the %s file holds no scene", scene->format->name);
	hob_assimp_space(scene);
	if (!hob_assimp_census(scene, err) || !generator_of(scene, err) || !hob_assimp_materials(scene, err) ||
		!hob_assimp_meshes(scene, err) || !hob_assimp_nodes(scene, err) || !hob_assimp_skins(scene, err) ||
		!hob_assimp_clips(scene, err) || !hob_model_one_scene(model, scene->request->result, err))
		return false;
	if (model->mesh_count == 0 && model->clip_count == 0 && model->camera_count == 0 &&
		model->light_count == 0 && model->node_count < 2)
		return hob_fail(err, EMPTY, "the %s file holds no mesh, animation, camera or light",
						scene->format->name);
	return true;
}

static int compare_addresses(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
	return (x > y) - (x < y);
}

/* Whether the list contains duplicates. Sorts it. */
static bool holds_twice(void *list, unsigned count)
{
	void **items = list;
	if (items && count > 1)
		qsort(items, count, sizeof *items, compare_addresses);
	for (unsigned i = 1; items && i < count; i++)
		if (items[i] && items[i] == items[i - 1])
			return true;
	return false;
}

/* Some importers (3MF with shared objects) list one object twice, and aiReleaseImport would free it twice.
 * Such a scene is leaked; workers are short-lived. */
static bool is_safe_to_release(const hob_assimp_format *format, const struct aiScene *scene)
{
	if ((format->flags & HOB_ASSIMP_FREED_TEXTURES) && scene->mNumTextures > 0)
		return false;
	if (holds_twice(scene->mMeshes, scene->mNumMeshes) ||
		holds_twice(scene->mMaterials, scene->mNumMaterials) ||
		holds_twice(scene->mTextures, scene->mNumTextures))
		return false;
	for (unsigned m = 0; m < scene->mNumMeshes; m++)
		if (scene->mMeshes[m] && holds_twice(scene->mMeshes[m]->mBones, scene->mMeshes[m]->mNumBones))
			return false;
	return true;
}

static bool assimp_import(const hob_import_request *asked, hob_model *out, hob_error *err)
{
	const hob_assimp_format *format = hob_assimp_format_of(hob_path_extension(asked->path));
	if (!format)
		return hob_fail(err, UNSUPPORTED, "no importer for '.%.*s' files",
						HOB_FMT(hob_path_extension(asked->path)));
	/* Assimp's own readers mishandle byte order marks and UTF-16. */
	hob_import_request request = *asked;
	hob_str text = format->marks[0] ? hob_text_decode(request.scratch, request.file)
									: (hob_str){(const char *)request.file.data, request.file.size};
	if (!text.data && request.file.size > 0)
		return hob_fail_memory(err, request.scratch, "the text");
	request.file = (hob_bytes){(const uint8_t *)text.data, text.len};
	hob_assimp_io io;
	if (!hob_assimp_format_check(format, request.file, err) ||
		!hob_assimp_io_init(&io, &request, format->flags & HOB_ASSIMP_BY_NAME, err))
		return false;
	const struct aiScene *source = run_assimp(&io, &request);
	if (!source)
		return import_failed(&io, format, err);
	hob_model model = {0};
	hob_assimp_scene scene = {
		.request = &request, .format = format, .source = source, .model = &model, .unit = 1};
	bool converted = convert(&scene, err);
	if (is_safe_to_release(format, source))
		aiReleaseImport(source);
	if (converted)
		*out = model;
	return converted;
}

/* Version of the library at run time, not of its headers: a package update changes the cook key. Every call
 * writes the same bytes. */
static const char *library_version(void)
{
	static char text[64];
	snprintf(text, sizeof text, "assimp %u.%u.%u %x", aiGetVersionMajor(), aiGetVersionMinor(),
			 aiGetVersionPatch(), aiGetVersionRevision());
	return text;
}

const hob_importer hob_assimp_importer = {
	.name = "assimp",
	.version = 2,
	.extensions = hob_assimp_extensions,
	.import = assimp_import,
	.library_version = library_version,
	.reads_name = true,
};
