#include "../importer.h"
#include "assimp_convert.h"
#include "../zip.h"
#include "../importers.h"
#include "../text.h"

#include <assimp/cfileio.h>
#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/material.h>
#include <assimp/version.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Assimp's file callbacks over hob_io.
 *
 * For Assimp, "/" is the folder of the source, and the source has an internal name (hob_assimp_name), so that
 * the asset's name and place cannot affect the result. Every open and every probe goes to request->io and is
 * recorded there; paths that leave the root are refused with a note; all opens of a file share the io's one
 * copy. Read only; seek, tell and read behave as fseek, ftell and fread on a regular file. */
typedef struct hob_assimp_io {
	struct aiFileIO vtable; /* first member: Assimp returns its address */
	const hob_import_request *request;
	hob_str name;					  /* name of the source for Assimp, without the leading slash */
	struct hob_assimp_file *released; /* closed files, for reuse */
	hob_error failure;				  /* first failure other than a missing file; code OK: none */
} hob_assimp_io;

static bool has_texture(const struct aiMaterial *material, enum aiTextureType a, enum aiTextureType b)
{
	const enum aiTextureType types[] = {a, b};
	for (size_t i = 0; i < HOB_COUNT_OF(types); i++) {
		struct aiString path = {0};
		if (aiGetMaterialString(material, AI_MATKEY_TEXTURE(types[i], 0), &path) == aiReturn_SUCCESS &&
			path.length > 0)
			return true;
	}
	return false;
}

static void count_joints(hob_census *seen, const struct aiMesh *mesh, hob_name_map *names)
{
	for (unsigned i = 0; i < mesh->mNumBones; i++) {
		uint32_t count = names->count;
		if (mesh->mBones[i])
			hob_name_map_add(names, hob_assimp_str(&mesh->mBones[i]->mName), 0);
		hob_census_add(seen, HOB_CENSUS_JOINTS, names->count - count);
	}
}

/* Counts the scene's content into request->seen, except content that Assimp did not read. */
static void assimp_census(hob_assimp_scene *scene)
{
	hob_census *seen = scene->request->seen;
	const struct aiScene *source = scene->source;
	hob_name_map names;
	hob_name_map_init(&names, scene->request->scratch);
	for (unsigned i = 0; seen && i < source->mNumMeshes; i++) {
		const struct aiMesh *mesh = source->mMeshes[i];
		if (!mesh || mesh->mNumFaces == 0)
			continue;
		hob_census_add(seen, HOB_CENSUS_SURFACES, 1);
		hob_census_add(seen, HOB_CENSUS_COLORED, mesh->mColors[0] != NULL);
		hob_census_add(seen, HOB_CENSUS_MORPHED, mesh->mNumAnimMeshes > 0);
		hob_census_add(seen, HOB_CENSUS_SKINNED, mesh->mNumBones > 0);
		count_joints(seen, mesh, &names);
	}
	for (unsigned i = 0; seen && i < source->mNumMaterials; i++) {
		const struct aiMaterial *material = source->mMaterials[i];
		if (!material)
			continue;
		hob_census_add(seen, HOB_CENSUS_COLOR_MAPS,
					   has_texture(material, aiTextureType_DIFFUSE, aiTextureType_BASE_COLOR));
		hob_census_add(seen, HOB_CENSUS_NORMAL_MAPS,
					   has_texture(material, aiTextureType_NORMALS, aiTextureType_HEIGHT));
		hob_census_add(seen, HOB_CENSUS_EMISSIVE_MAPS,
					   has_texture(material, aiTextureType_EMISSIVE, aiTextureType_EMISSION_COLOR));
	}
	hob_census_add(seen, HOB_CENSUS_CLIPS, source->mNumAnimations);
	hob_census_add(seen, HOB_CENSUS_CAMERAS, source->mNumCameras);
	hob_census_add(seen, HOB_CENSUS_LIGHTS, source->mNumLights);
}

typedef struct hob_assimp_file {
	struct aiFile vtable;
	hob_assimp_io *io;
	hob_bytes bytes;
	size_t at;
	struct hob_assimp_file *next;
} file_t;

static size_t file_read(struct aiFile *vtable, char *out, size_t size, size_t count)
{
	file_t *file = (file_t *)(void *)vtable;
	size_t left = file->at < file->bytes.size ? file->bytes.size - file->at : 0;
	size_t wanted;
	if (size == 0 || count == 0)
		return 0;
	if (!hob_mul(size, count, &wanted) || wanted > left)
		wanted = left;
	if (wanted > 0)
		memcpy(out, file->bytes.data + file->at, wanted);
	file->at += wanted;
	return wanted / size;
}

static size_t file_write(struct aiFile *vtable, const char *data, size_t size, size_t count)
{
	(void)vtable, (void)data, (void)size, (void)count;
	return 0;
}

static size_t file_tell(struct aiFile *vtable)
{
	return ((file_t *)(void *)vtable)->at;
}

static size_t file_size(struct aiFile *vtable)
{
	return ((file_t *)(void *)vtable)->bytes.size;
}

static enum aiReturn file_seek(struct aiFile *vtable, size_t offset, enum aiOrigin origin)
{
	file_t *file = (file_t *)(void *)vtable;
	/* As in fseek, the offset may be negative; it is passed as size_t, and the addition wraps. */
	size_t base = origin == aiOrigin_SET ? 0 : origin == aiOrigin_CUR ? file->at : file->bytes.size;
	size_t target = base + offset;
	if (target > (size_t)LONG_MAX)
		return aiReturn_FAILURE;
	file->at = target;
	return aiReturn_SUCCESS;
}

static void file_flush(struct aiFile *vtable)
{
	(void)vtable;
}

static bool is_reading(const char *mode)
{
	return !mode || (!strchr(mode, 'w') && !strchr(mode, 'a') && !strchr(mode, '+'));
}

static bool load(hob_assimp_io *io, hob_str path, hob_bytes *bytes)
{
	const hob_import_request *request = io->request;
	while (path.len > 0 && (path.data[0] == '/' || path.data[0] == '\\'))
		path = hob_str_sub(path, 1, path.len);
	if (hob_str_equal(path, io->name)) {
		*bytes = request->file;
		return true;
	}
	hob_str joined, other;
	hob_error why = {0};
	if (!hob_io_join(request->io, request->scratch, hob_path_dir(request->path), path, &joined, &why)) {
		if (why.code == HOB_ERR_OUTSIDE)
			hob_warn(request->notes, "assimp.file-refused",
					 "the model asks for '%.*s', which is not below the watched root; "
					 "move it beside the model",
					 HOB_FMT(path));
		return false;
	}
	const hob_io *source = request->io;
	if (source->read(source->user, joined, bytes, &why))
		return true;
	if (why.code == HOB_ERR_MISSING_FILE && source->find_nocase &&
		source->find_nocase(source->user, joined, &other) && source->read(source->user, other, bytes, &why)) {
		hob_warn(request->notes, "file.case",
				 "'%.*s' does not exist; '%.*s' is used. Correct the spelling: other tools will not find it",
				 HOB_FMT(joined), HOB_FMT(other));
		return true;
	}
	if (why.code != HOB_ERR_MISSING_FILE && why.code != HOB_ERR_OUTSIDE && io->failure.code == HOB_ERR_OK)
		io->failure = why;
	return false;
}

static struct aiFile *io_open(struct aiFileIO *vtable, const char *path, const char *mode)
{
	hob_assimp_io *io = (hob_assimp_io *)(void *)vtable->UserData;
	hob_bytes bytes;
	if (!is_reading(mode) || !load(io, hob_str_of(path), &bytes))
		return NULL;
	file_t *file = io->released;
	if (file)
		io->released = file->next;
	else
		file = HOB_NEW(io->request->scratch, file_t, 1);
	if (!file) {
		hob_fail_memory(&io->failure, io->request->scratch, "an open file");
		return NULL;
	}
	*file = (file_t){
		.vtable = {file_read, file_write, file_tell, file_size, file_seek, file_flush, NULL},
		.io = io,
		.bytes = bytes,
	};
	return &file->vtable;
}

static void io_close(struct aiFileIO *vtable, struct aiFile *closed)
{
	hob_assimp_io *io = (hob_assimp_io *)(void *)vtable->UserData;
	file_t *file = (file_t *)(void *)closed;
	if (!file)
		return;
	file->next = io->released;
	io->released = file;
}

/* `by_name`: Assimp derives companion names from the source's name ("walk.md5mesh" -> "walk.md5anim"), so it
 * gets the real one. */
static void assimp_io_init(hob_assimp_io *io, const hob_import_request *request, bool by_name)
{
	hob_str extension = hob_path_extension(request->path);
	hob_str name = by_name ? hob_arena_str(request->scratch, hob_path_name(request->path))
						   : hob_arena_printf(request->scratch, HOB_ASSIMP_STEM ".%.*s", HOB_FMT(extension));
	*io = (hob_assimp_io){.vtable = {io_open, io_close, NULL}, .request = request, .name = name};
	io->vtable.UserData = (char *)io;
}

enum { MODEL_PART_MAX = 256 << 20 };

static float xml_unit(hob_str text)
{
	static const struct {
		const char *name;
		float metres;
	} units[] = {
		{"meter", 1},	   {"millimeters", 0.001f}, {"millimeter", 0.001f}, {"centimeter", 0.01f},
		{"inch", 0.0254f}, {"feet", 0.3048f},		{"foot", 0.3048f},		{"micron", 1e-6f},
	};
	hob_str attribute = HOB_STR("unit=");
	size_t at = hob_str_find(hob_str_sub(text, 0, 65536), attribute, 0);
	if (at == SIZE_MAX)
		return 0.001f;
	hob_str value = hob_str_sub(text, at + attribute.len + 1, at + attribute.len + 16);
	for (size_t i = 0; i < HOB_COUNT_OF(units); i++) {
		hob_str name = hob_str_of(units[i].name);
		if (hob_str_equal_nocase(hob_str_sub(value, 0, name.len), name))
			return units[i].metres;
	}
	return 0.001f;
}

static float zipped_unit(const hob_assimp_scene *scene)
{
	hob_bytes model;
	hob_arena_mark mark = hob_arena_save(scene->request->scratch);
	hob_zip zip;
	hob_zip_member part;
	bool found = hob_zip_open(scene->request->file, &zip) &&
				 hob_zip_find_suffix(&zip, HOB_STR("3dmodel.model"), &part) &&
				 hob_zip_unpack(scene->request->scratch, &part, MODEL_PART_MAX, &model);
	float unit = found ? xml_unit((hob_str){(const char *)model.data, model.size}) : 0.001f;
	hob_arena_restore(scene->request->scratch, mark);
	return unit;
}

/* Assimp's COLLADA importer applies the file's unit as a uniform scale of the root node. */
static float root_unit(const struct aiScene *source)
{
	const struct aiMatrix4x4 *m = &source->mRootNode->mTransformation;
	float columns[3] = {
		sqrtf(m->a1 * m->a1 + m->b1 * m->b1 + m->c1 * m->c1),
		sqrtf(m->a2 * m->a2 + m->b2 * m->b2 + m->c2 * m->c2),
		sqrtf(m->a3 * m->a3 + m->b3 * m->b3 + m->c3 * m->c3),
	};
	bool uniform = fabsf(columns[0] - columns[1]) <= columns[0] * 1e-5f &&
				   fabsf(columns[0] - columns[2]) <= columns[0] * 1e-5f;
	return uniform ? columns[0] : 1;
}

static float unit_of(const hob_assimp_scene *scene)
{
	switch (scene->format->unit) {
	case HOB_ASSIMP_UNIT_ROOT:
		return root_unit(scene->source);
	case HOB_ASSIMP_UNIT_3MF:
		return zipped_unit(scene);
	case HOB_ASSIMP_UNIT_NONE:
		break;
	}
	return 1;
}

void hob_assimp_space(hob_assimp_scene *scene)
{
	static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	static const float z_up[16] = {1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1};
	memcpy(scene->axes, identity, sizeof identity);
	if (scene->format->flags & HOB_ASSIMP_Z_UP)
		memcpy(scene->axes, z_up, sizeof z_up);
	scene->turned = memcmp(scene->axes, identity, sizeof identity) != 0;
	float unit = unit_of(scene);
	scene->unit = unit > 0 && unit < 1e6f && !scene->request->keep_units ? unit : 1;
	scene->model->unit = scene->unit;
	hob_source_space *space = &scene->model->space;
	float turned[16], translation[3], scale[3];
	memcpy(turned, scene->axes, sizeof turned);
	/* Assimp's COLLADA importer rotates the root node itself. */
	if (scene->format->unit == HOB_ASSIMP_UNIT_ROOT)
		(void)hob_assimp_matrix(&scene->source->mRootNode->mTransformation, 1, turned);
	(void)hob_matrix_decompose(turned, translation, space->turn, scale);
	space->material_colors = HOB_COLORS_LINEAR;
	space->vertex_colors = HOB_COLORS_LINEAR;
}

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
	struct aiPropertyStore *properties = aiCreatePropertyStore();
	/* Without this, skeletons get dummy meshes. */
	aiSetImportPropertyInteger(properties, AI_CONFIG_IMPORT_NO_SKELETON_MESHES, 1);
	/* No post-processing: triangulation there is quadratic, and Hob does the rest. */
	struct hob_guard *guard = hob_guard_suspend(); /* C++ frames call io->vtable */
	const struct aiScene *scene = aiImportFileExWithProperties(path.data, 0, &io->vtable, properties);
	hob_guard_resume(guard);
	aiReleasePropertyStore(properties);
	return scene;
}

static hob_str generator_of(hob_assimp_scene *scene)
{
	const struct aiMetadata *metadata = scene->source->mMetaData;
	for (unsigned i = 0; metadata && i < metadata->mNumProperties; i++)
		if (metadata->mValues[i].mType == AI_AISTRING && metadata->mValues[i].mData &&
			hob_str_equal(hob_assimp_str(&metadata->mKeys[i]), HOB_STR("SourceAsset_Generator")))
			return hob_assimp_name(scene, (const struct aiString *)metadata->mValues[i].mData);
	return (hob_str){0};
}

static bool convert(void *context, hob_error *err)
{
	(void)err;
	hob_assimp_scene *scene = context;
	const struct aiScene *source = scene->source;
	hob_model *model = scene->model;
	if (!source->mRootNode)
		hob_leave(EMPTY, "the %s file holds no scene", scene->format->name);
	hob_assimp_space(scene);
	assimp_census(scene);
	model->generator = generator_of(scene);
	hob_assimp_materials(scene);
	hob_assimp_meshes(scene);
	hob_assimp_nodes(scene);
	hob_assimp_skins(scene);
	hob_assimp_clips(scene);
	hob_model_one_scene(model, scene->request->result);
	if (model->mesh_count == 0 && model->clip_count == 0 && model->camera_count == 0 &&
		model->light_count == 0 && model->node_count < 2)
		hob_leave(EMPTY, "the %s file holds no mesh, animation, camera or light", scene->format->name);
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
	request.file = (hob_bytes){(const uint8_t *)text.data, text.len};
	if (!hob_assimp_format_check(format, request.file, err))
		return false;
	hob_assimp_io io;
	assimp_io_init(&io, &request, format->flags & HOB_ASSIMP_BY_NAME);
	const struct aiScene *source = run_assimp(&io, &request);
	if (!source)
		return import_failed(&io, format, err);
	hob_assimp_scene scene = {
		.request = &request, .format = format, .source = source, .model = out, .unit = 1};
	bool converted = hob_guarded_whole(convert, &scene, err);
	if (is_safe_to_release(format, source))
		aiReleaseImport(source);
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
	.version = HOB_ASSIMP_READER,
	.extensions = hob_assimp_extensions,
	.import = assimp_import,
	.library_version = library_version,
	.reads_name = true,
};
