#include "gltf_private.h"

#include "../importers.h"

#include <meshoptimizer.h>

/* ---- extensions */

/* Features that this importer reads. */
static const char *const supported[] = {
	"EXT_mesh_gpu_instancing",
	"EXT_meshopt_compression",
	"EXT_texture_avif",
	"EXT_texture_webp",
	"KHR_animation_pointer",
	"KHR_lights_punctual",
	"KHR_materials_anisotropy",
	"KHR_materials_clearcoat",
	"KHR_materials_diffuse_transmission",
	"KHR_materials_dispersion",
	"KHR_materials_emissive_strength",
	"KHR_materials_ior",
	"KHR_materials_iridescence",
	"KHR_materials_pbrSpecularGlossiness",
	"KHR_materials_sheen",
	"KHR_materials_specular",
	"KHR_materials_transmission",
	"KHR_materials_unlit",
	"KHR_materials_variants",
	"KHR_materials_volume",
	"KHR_mesh_quantization",
	"KHR_meshopt_compression",
	"KHR_node_visibility",
	"KHR_texture_basisu",
	"KHR_texture_transform",
	"MSFT_texture_dds",
#ifdef HOB_DRACO
	"KHR_draco_mesh_compression",
#endif
};

/* Ways out for extensions that files require and Hob does not read. */
static const struct {
	const char *extension, *remedy;
} remedies[] = {
	{"KHR_draco_mesh_compression", "this build has no Draco decoder: export without Draco, or use meshopt"},
	{"KHR_techniques_webgl", "export with metallic-roughness materials"},
	{"KHR_technique_webgl", "export with metallic-roughness materials"},
};

bool hob_gltf_knows(const char *extension)
{
	for (size_t i = 0; i < HOB_COUNT_OF(supported); i++)
		if (strcmp(extension, supported[i]) == 0)
			return true;
	return false;
}

static bool check_extensions(hob_gltf *g, hob_error *err)
{
	const cJSON *required = hob_json_get(g->root, "extensionsRequired");
	const cJSON *used = hob_json_get(g->root, "extensionsUsed");
	if ((required && !cJSON_IsArray(required)) || (used && !cJSON_IsArray(used)))
		return hob_fail(err, CORRUPT, "extensionsRequired and extensionsUsed must be arrays of names");
	for (const cJSON *item = required ? required->child : NULL; item; item = item->next) {
		if (!cJSON_IsString(item))
			return hob_fail(err, CORRUPT, "extensionsRequired must hold names");
		if (strstr(item->valuestring, "_meshopt_compression"))
			g->meshopt_required = true;
		if (hob_gltf_knows(item->valuestring))
			continue;
		const char *remedy = "export without it";
		for (size_t i = 0; i < HOB_COUNT_OF(remedies); i++)
			if (strcmp(item->valuestring, remedies[i].extension) == 0)
				remedy = remedies[i].remedy;
		return hob_fail(err, UNSUPPORTED,
						"the file requires the extension '%.64s', which Hob does not read; %s",
						item->valuestring, remedy);
	}
	for (const cJSON *item = used ? used->child : NULL; item; item = item->next)
		if (cJSON_IsString(item) && !hob_gltf_knows(item->valuestring))
			hob_gltf_note(g, "extension-ignored",
						  "the extension '%.64s' is not supported; it is kept as JSON on nodes, materials, "
						  "scenes and the "
						  "file, and draws nothing",
						  item->valuestring);
	return true;
}

/* ---- asset */

/* "2.0" -> major 2; false when it is no version. */
static bool parse_version(hob_str text, uint32_t *major, uint32_t *minor)
{
	uint32_t parts[2] = {0};
	size_t i = 0;
	for (int part = 0; part < 2; part++) {
		size_t first = i;
		for (; i < text.len && i - first < 4 && text.data[i] >= '0' && text.data[i] <= '9'; i++)
			parts[part] = parts[part] * 10 + (uint32_t)(text.data[i] - '0');
		if (i == first || (part == 0 && (i == text.len || text.data[i++] != '.')))
			return false;
	}
	*major = parts[0], *minor = parts[1];
	return i == text.len;
}

static bool check_asset(hob_gltf *g, hob_error *err)
{
	const cJSON *asset;
	hob_str version, least, generator;
	uint32_t major, minor;
	if (!cJSON_IsObject(g->root))
		return hob_fail(err, CORRUPT, "the JSON is not an object");
	if (!hob_gltf_object(g->root, "asset", &asset, err))
		return false;
	/* glTF 1.0 wrote the version as a number, kept its lists as objects, and some files have no asset. */
	if (cJSON_IsNumber(hob_json_get(asset, "version")) || cJSON_IsObject(hob_json_get(g->root, "buffers")) ||
		cJSON_IsObject(hob_json_get(g->root, "meshes")))
		return hob_fail(err, OLD_VERSION,
						"glTF version 1; this reader reads 2.0, so export it again or convert it");
	if (!hob_gltf_string(asset, "version", &version, err) ||
		!hob_gltf_string(asset, "minVersion", &least, err) ||
		!hob_gltf_string(asset, "generator", &generator, err))
		return false;
	if (!parse_version(version, &major, &minor))
		return hob_fail(err, CORRUPT, "asset.version is missing or wrong ('%.*s'); is this a glTF file?",
						HOB_FMT(version));
	if (major == 1)
		return hob_fail(err, OLD_VERSION,
						"glTF version %.*s; this reader reads 2.0, so export it again or convert it",
						HOB_FMT(version));
	if (major != 2)
		return hob_fail(err, UNSUPPORTED,
						"glTF version %.*s; Hob reads 2.0, so export it again or convert it",
						HOB_FMT(version));
	uint32_t draft = minor;
	if (least.len > 0 && (!parse_version(least, &major, &minor) || major != 2 || minor > 1))
		return hob_fail(err, UNSUPPORTED,
						"it needs a reader of glTF %.*s; Hob reads 2.0 and the draft of 2.1", HOB_FMT(least));
	if (draft > 0 || g->glb_version == 3 || hob_json_get(g->root, "externalAssets"))
		hob_gltf_info(
			g, "draft",
			"the file uses glTF 2.1, which is a draft; it is read as KhronosGroup/glTF has it on branch "
			"draft-2.1 at 4852109a");
	return generator.len == 0 || hob_gltf_copy_text(g, generator, &g->model.generator, err);
}

/* ---- lists */

static bool read_lists(hob_gltf *g, hob_error *err)
{
	const cJSON *lights, *variants;
	if (!hob_gltf_extension(g->root, "KHR_lights_punctual", &lights, err) ||
		!hob_gltf_extension(g->root, "KHR_materials_variants", &variants, err))
		return false;
	const struct {
		const cJSON *object;
		const char *key;
		uint64_t limit;
		hob_gltf_list *list;
	} lists[] = {
		{g->root, "files", HOB_LIMIT_SOURCE_FILES * 16, &g->files},
		{g->root, "externalAssets", HOB_LIMIT_NODES, &g->external_assets},
		{g->root, "accessors", HOB_LIMIT_NODES * 4, &g->accessors},
		{g->root, "bufferViews", HOB_LIMIT_NODES * 4, &g->views},
		{g->root, "buffers", HOB_LIMIT_SOURCE_FILES * 16, &g->buffers},
		{g->root, "images", HOB_LIMIT_IMAGES, &g->images},
		{g->root, "textures", HOB_LIMIT_IMAGES * 16, &g->textures},
		{g->root, "samplers", HOB_LIMIT_IMAGES * 16, &g->samplers},
		{g->root, "materials", HOB_LIMIT_MATERIALS, &g->materials},
		{g->root, "meshes", HOB_LIMIT_MESHES, &g->meshes},
		{g->root, "nodes", HOB_LIMIT_NODES, &g->nodes},
		{g->root, "scenes", HOB_LIMIT_NODES, &g->scenes},
		{g->root, "skins", HOB_LIMIT_NODES, &g->skins},
		{g->root, "cameras", HOB_LIMIT_NODES, &g->cameras},
		{g->root, "animations", HOB_LIMIT_CLIPS, &g->animations},
		{lights, "lights", HOB_LIMIT_NODES, &g->lights},
		{variants, "variants", HOB_LIMIT_MATERIALS, &g->variants},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(lists); i++)
		if (!hob_gltf_list_of(g->scratch, lists[i].object, lists[i].key, lists[i].limit, lists[i].list, err))
			return false;
	g->buffer_sources = HOB_NEW(g->scratch, hob_gltf_source, g->buffers.count);
	g->view_sources = HOB_NEW(g->scratch, hob_gltf_source, g->views.count);
	return (g->buffer_sources && g->view_sources) ||
		   hob_fail_memory(err, g->scratch, "the lists of the file");
}

/* ---- extras of the file: of `asset`, where exporters put them, or else of the top level */

static bool keep_file_extras(hob_gltf *g, hob_error *err)
{
	hob_extras of_asset = {0}, *out = &g->model.extras;
	if (!hob_gltf_extras(g, g->root, out, err) ||
		!hob_gltf_extras(g, hob_json_get(g->root, "asset"), &of_asset, err))
		return false;
	if (out->values.len > 0 && of_asset.values.len > 0)
		hob_gltf_info(g, "extras-twice",
					  "the top level and 'asset' both have extras; those of 'asset' are kept");
	if (of_asset.values.len > 0)
		out->values = of_asset.values;
	return true;
}

/* ---- the trunk */

static bool import_document(hob_gltf *g, hob_error *err)
{
	if (!check_asset(g, err) || !check_extensions(g, err) || !read_lists(g, err) || !hob_gltf_census(g, err))
		return false;
	if (g->meshes.count + g->nodes.count + g->materials.count + g->images.count + g->animations.count == 0)
		return hob_fail(err, EMPTY, "the file holds no meshes, nodes, materials, images or animations");
	return hob_gltf_import_images(g, err) && hob_gltf_import_materials(g, err) &&
		   hob_gltf_import_meshes(g, err) && hob_gltf_import_cameras(g, err) &&
		   hob_gltf_import_lights(g, err) && hob_gltf_import_nodes(g, err) &&
		   hob_gltf_import_scenes(g, err) && hob_gltf_import_skins(g, err) && hob_gltf_import_clips(g, err) &&
		   keep_file_extras(g, err) && hob_gltf_import_external(g, err);
}

bool hob_gltf_import_file(hob_gltf *g, hob_error *err)
{
	hob_str text = {0};
	bool repaired = false;
	if (!hob_gltf_container(g, &text, err) || !hob_json_parse(g->scratch, text, &g->root, &repaired, err))
		return false;
	if (repaired)
		hob_gltf_note(g, "name-repaired",
					  "the JSON holds \\u0000 or halves of characters, which became U+FFFD");
	return import_document(g, err);
}

static bool import_gltf(const hob_import_request *request, hob_model *out, hob_error *err)
{
	hob_gltf g = {
		.request = request, .result = request->result, .scratch = request->scratch, .notes = request->notes};
	if (!hob_gltf_import_file(&g, err))
		return false;
	*out = g.model;
	return true;
}

#define TEXT(x)	  #x
#define EXPAND(x) TEXT(x)
#ifdef HOB_DRACO
#define DRACO_VERSION ", draco " HOB_DRACO
#else
#define DRACO_VERSION ""
#endif

/* The decoders: what they make of a stream is part of the output. */
static const char *library_version(void)
{
	return "meshoptimizer " EXPAND(MESHOPTIMIZER_VERSION) DRACO_VERSION;
}

static const char *const extensions[] = {"gltf", "glb", "vrm", NULL};

const hob_importer hob_gltf_importer = {
	.name = "gltf",
	.version = 8,
	.extensions = extensions,
	.import = import_gltf,
	.library_version = library_version,
	.copies = true,
};
