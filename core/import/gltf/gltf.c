#include "gltf_private.h"

#include "../../model/model_merge.h"
#include "../importers.h"

#include <meshoptimizer.h>

/* ---- extensions */

/* Extensions that this importer reads. */
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

/* Remedies for required extensions that Hob does not read. */
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

static void check_extensions(hob_gltf *g)
{
	enum { USES_MAX = 4096 };
	const cJSON *required = hob_json_get(g->root, "extensionsRequired");
	const cJSON *used = hob_json_get(g->root, "extensionsUsed");
	if ((required && !cJSON_IsArray(required)) || (used && !cJSON_IsArray(used)))
		hob_leave(CORRUPT, "extensionsRequired and extensionsUsed must be arrays of names");
	for (const cJSON *item = required ? required->child : NULL; item; item = item->next) {
		if (!cJSON_IsString(item))
			hob_leave(CORRUPT, "extensionsRequired must hold names");
		if (strstr(item->valuestring, "_meshopt_compression"))
			g->meshopt_required = true;
		if (hob_gltf_knows(item->valuestring))
			continue;
		const char *remedy = "export without it";
		for (size_t i = 0; i < HOB_COUNT_OF(remedies); i++)
			if (strcmp(item->valuestring, remedies[i].extension) == 0)
				remedy = remedies[i].remedy;
		hob_leave(UNSUPPORTED, "the file requires the extension '%.64s', which Hob does not read; %s",
				  item->valuestring, remedy);
	}
	for (const cJSON *item = used ? used->child : NULL; item; item = item->next) {
		if (!cJSON_IsString(item))
			continue;
		hob_str uses = g->model.uses;
		if (uses.len < USES_MAX)
			g->model.uses = hob_arena_printf(g->result, "%.*s%.64s ", HOB_FMT(uses), item->valuestring);
		if (!hob_gltf_knows(item->valuestring))
			hob_gltf_note(g, "extension-ignored",
						  "the extension '%.64s' is not supported; it is kept as JSON on nodes, materials, "
						  "scenes and the "
						  "file, and draws nothing",
						  item->valuestring);
	}
}

/* ---- asset */

/* "2.0" -> major 2; false for anything else. */
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

static void check_asset(hob_gltf *g)
{
	uint32_t major, minor;
	if (!cJSON_IsObject(g->root))
		hob_leave(CORRUPT, "the JSON is not an object");
	const cJSON *asset = hob_gltf_object(g->root, "asset");
	/* glTF 1.0 has a numeric version and objects as lists, and some files have no asset. */
	if (cJSON_IsNumber(hob_json_get(asset, "version")) || cJSON_IsObject(hob_json_get(g->root, "buffers")) ||
		cJSON_IsObject(hob_json_get(g->root, "meshes")))
		hob_leave(OLD_VERSION, "glTF version 1; this reader reads 2.0, so export it again or convert it");
	hob_str version = hob_gltf_string(asset, "version"), least = hob_gltf_string(asset, "minVersion");
	hob_str generator = hob_gltf_string(asset, "generator");
	if (!parse_version(version, &major, &minor))
		hob_leave(CORRUPT, "asset.version is missing or wrong ('%.*s'); is this a glTF file?",
				  HOB_FMT(version));
	if (major == 1)
		hob_leave(OLD_VERSION, "glTF version %.*s; this reader reads 2.0, so export it again or convert it",
				  HOB_FMT(version));
	if (major != 2)
		hob_leave(UNSUPPORTED, "glTF version %.*s; Hob reads 2.0, so export it again or convert it",
				  HOB_FMT(version));
	uint32_t draft = minor;
	if (least.len > 0 && (!parse_version(least, &major, &minor) || major != 2 || minor > 1))
		hob_leave(UNSUPPORTED, "it needs a reader of glTF %.*s; Hob reads 2.0 and the draft of 2.1",
				  HOB_FMT(least));
	if (draft > 0 || g->glb_version == 3 || hob_json_get(g->root, "externalAssets"))
		hob_gltf_info(
			g, "draft",
			"the file uses glTF 2.1, which is a draft; it is read as KhronosGroup/glTF has it on branch "
			"draft-2.1 at 4852109a");
	hob_str licence = hob_str_of(cJSON_GetStringValue(hob_json_get(asset, "copyright")));
	if (generator.len > 0)
		g->model.generator = hob_gltf_copy_text(g, generator);
	if (licence.len > 0)
		g->model.licence = hob_gltf_copy_text(g, licence);
}

/* ---- lists */

static void read_lists(hob_gltf *g)
{
	const cJSON *lights = hob_gltf_extension(g->root, "KHR_lights_punctual");
	const cJSON *variants = hob_gltf_extension(g->root, "KHR_materials_variants");
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
		*lists[i].list = hob_gltf_list_of(g->scratch, lists[i].object, lists[i].key, lists[i].limit);
	g->buffer_sources = HOB_NEW(g->scratch, hob_gltf_source, g->buffers.count);
	g->view_sources = HOB_NEW(g->scratch, hob_gltf_source, g->views.count);
}

/* ---- extras of the file: of `asset`, where exporters write them, or else of the top level */

static void keep_file_extras(hob_gltf *g)
{
	hob_extras of_asset = {0}, *out = &g->model.extras;
	hob_gltf_extras(g, g->root, out);
	hob_gltf_extras(g, hob_json_get(g->root, "asset"), &of_asset);
	if (out->values.len > 0 && of_asset.values.len > 0)
		hob_gltf_info(g, "extras-twice",
					  "the top level and 'asset' both have extras; those of 'asset' are kept");
	if (of_asset.values.len > 0)
		out->values = of_asset.values;
}

/* ---- external assets
 *
 * glTF 2.1, as in branch draft-2.1 of KhronosGroup/glTF at 4852109a191f4aa3fda8cf8398b8538d1c0a9290: a node
 * instantiates the default scene of another file, whose nodes become its last children. */

enum { DEPTH_MAX = 16, PARTS_MAX = 4096 };

typedef struct part {
	hob_model model;
	bool read, shown; /* `shown`: loaded, and has a default scene */
} part_t;

bool hob_gltf_aliased(const hob_gltf *g, hob_str uri, hob_str *path, hob_bytes *bytes)
{
	for (uint32_t i = 0; i < g->alias_count; i++)
		if (hob_str_equal(g->aliases[i].name, uri)) {
			*path = g->aliases[i].path;
			*bytes = g->aliases[i].bytes;
			return true;
		}
	return false;
}

/* Location of files[id]: *path below the root, or *bytes that live as long as the model. */
static void find_file(hob_gltf *g, uint32_t id, hob_str *path, hob_bytes *bytes)
{
	const cJSON *json = g->files.items[id];
	*path = (hob_str){0}, *bytes = (hob_bytes){0};
	{
		HOB_PLACE("files[#]", id, {0});
		hob_str uri = hob_gltf_string(json, "uri");
		uint32_t view = hob_gltf_id(json, "bufferView", g->views.count);
		if (uri.len > 0 && hob_gltf_aliased(g, uri, path, bytes))
			return;
		if (hob_gltf_is_data_uri(uri))
			*bytes = hob_gltf_data_uri(g->result, uri, NULL);
		else if (uri.len > 0)
			*path = hob_gltf_resolve(g, g->result, uri);
		else if (view != HOB_NONE)
			*bytes = hob_gltf_keep_view(g, view);
		if (uri.len > 0 || view != HOB_NONE)
			return;
	}
	hob_leave(CORRUPT, "files[%u] has neither a uri nor a bufferView", id);
}

static void read_aliases(hob_gltf *g, const cJSON *file, hob_gltf *child)
{
	hob_gltf_list list = hob_gltf_list_of(g->scratch, file, "aliases", HOB_LIMIT_SOURCE_FILES);
	hob_gltf_alias *aliases = HOB_NEW(g->scratch, hob_gltf_alias, list.count);
	for (uint32_t i = 0; i < list.count; i++) {
		HOB_PLACE("aliases[#]", i, {0});
		aliases[i].name = hob_gltf_string(list.items[i], "alias");
		uint32_t id = hob_gltf_need_id(list.items[i], "file", g->files.count);
		find_file(g, id, &aliases[i].path, &aliases[i].bytes);
	}
	child->aliases = aliases;
	child->alias_count = list.count;
}

/* ---- one external asset */

static void check_place(const hob_gltf *g, hob_str path)
{
	uint32_t depth = 1;
	for (const hob_gltf *above = g; above; above = above->above, depth++)
		if (path.len > 0 && hob_str_equal(above->request->path, path))
			hob_leave(LIMIT, "'%.*s' shows itself through its external assets; take it out of them",
					  HOB_FMT(path));
	if (depth > DEPTH_MAX)
		hob_leave(LIMIT, "external assets in external assets, more than %d deep", DEPTH_MAX);
}

static void read_child(hob_gltf *child, uint32_t file, void *to)
{
	hob_gltf *g = to;
	read_aliases(g, g->files.items[file], child);
	hob_gltf_import_file(child);
}

static void read_part(hob_gltf *g, uint32_t id, void *to)
{
	part_t *out = to;
	hob_import_request ask = *g->request;
	hob_str path;
	hob_error why;
	uint32_t file = hob_gltf_need_id(g->external_assets.items[id], "file", g->files.count);
	find_file(g, file, &path, &ask.file);
	check_place(g, path);
	if (++*g->parts > PARTS_MAX)
		hob_leave(LIMIT, "more than %d external assets, with those inside them", PARTS_MAX);
	if (path.len > 0) {
		hob_need(ask.io->read(ask.io->user, path, &ask.file, &why), &why);
		ask.path = path;
	}
	hob_gltf child = {.request = &ask,
					  .result = g->result,
					  .scratch = g->scratch,
					  .notes = g->notes,
					  .above = g,
					  .parts = g->parts};
	hob_arena_mark mark = hob_arena_save(g->scratch);
	bool done = hob_gltf_try(&child, read_child, file, g, &why);
	out->model = child.model;
	out->shown = done && hob_json_get(child.root, "scene");
	hob_arena_restore(g->scratch, mark);
	if (!done && path.len > 0)
		hob_fail_in(&why, "in '%.*s'", HOB_FMT(path));
	hob_need(done, &why);
	if (!out->shown)
		hob_gltf_note(g, "external-scene",
					  "externalAssets[%u] '%.*s' names no default scene, so there is nothing of it to show",
					  id, HOB_FMT(path));
	/* Keeps only the default scene. */
	hob_scene scene = out->model.scenes[out->model.default_scene];
	out->model.scenes = HOB_NEW(g->result, hob_scene, 1);
	out->model.scenes[0] = scene;
	out->model.scene_count = 1;
	out->model.default_scene = 0;
}

/* Reads each file once, however many nodes use it. */
static void read_parts(hob_gltf *g, const uint32_t *wanted, part_t *parts)
{
	for (uint32_t n = 0; n < g->nodes.count; n++) {
		uint32_t id = wanted[n];
		hob_error why = {0};
		if (id == HOB_NONE || parts[id].read)
			continue;
		parts[id].read = true;
		HOB_PLACE("externalAssets[#]", id, {0});
		if (hob_gltf_try(g, read_part, id, &parts[id], &why))
			continue;
		if (why.code != HOB_ERR_EMPTY && why.code != HOB_ERR_OLD_VERSION)
			hob_gltf_drop(&why, false);
		hob_gltf_note(g, "external-missing", "externalAssets[%u] cannot be shown: %s", id, why.context);
	}
}

/* ---- merging all files into one tree */

typedef struct links {
	uint32_t *first, *next, *place;
} links_t;

/* New index of each node, depth-first, with children in their old order. */
static uint32_t *order(hob_gltf *g, const hob_model *m)
{
	uint32_t count = m->node_count, *last = HOB_NEW(g->scratch, uint32_t, (size_t)count + 1),
			 *stack = HOB_NEW(g->scratch, uint32_t, (size_t)count + 1);
	links_t l = {HOB_NEW(g->scratch, uint32_t, (size_t)count + 1),
				 HOB_NEW(g->scratch, uint32_t, (size_t)count + 1),
				 HOB_NEW(g->scratch, uint32_t, (size_t)count + 1)};
	memset(l.first, 0xFF, ((size_t)count + 1) * sizeof *l.first);
	memset(l.next, 0xFF, ((size_t)count + 1) * sizeof *l.next);
	/* Entry `count` lists nodes without a parent. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t parent = m->nodes[i].parent == HOB_NONE ? count : m->nodes[i].parent;
		if (l.first[parent] == HOB_NONE)
			l.first[parent] = i;
		else
			l.next[last[parent]] = i;
		last[parent] = i;
	}
	uint32_t depth = 0, at = 0;
	if (count > 0)
		stack[depth++] = l.first[count];
	while (depth > 0) {
		uint32_t node = stack[--depth];
		l.place[node] = at++;
		if (l.next[node] != HOB_NONE)
			stack[depth++] = l.next[node];
		if (l.first[node] != HOB_NONE)
			stack[depth++] = l.first[node];
	}
	return l.place;
}

static void move_nodes(hob_model *m, const uint32_t *place, hob_node *nodes)
{
	for (uint32_t i = 0; i < m->node_count; i++) {
		hob_node *to = &nodes[place[i]];
		*to = m->nodes[i];
		to->parent = to->parent == HOB_NONE ? HOB_NONE : place[to->parent];
	}
	m->nodes = nodes;
	for (uint32_t i = 0; i < m->scene_root_count; i++)
		m->scene_roots[i] = place[m->scene_roots[i]];
	for (uint32_t s = 0; s < m->skin_count; s++) {
		hob_skin *skin = &m->skins[s];
		skin->root = skin->root == HOB_NONE ? HOB_NONE : place[skin->root];
		for (uint32_t j = 0; j < skin->joint_count; j++)
			skin->joints[j] = place[skin->joints[j]];
	}
	for (uint32_t c = 0; c < m->clip_count; c++)
		for (uint32_t k = 0; k < m->clips[c].channel_count; k++)
			m->clips[c].channels[k].node = place[m->clips[c].channels[k].node];
}

static void join(hob_gltf *g, const uint32_t *wanted, const part_t *parts)
{
	const hob_model **models = HOB_NEW(g->scratch, const hob_model *, (size_t)g->nodes.count + 1);
	uint32_t *below = HOB_NEW(g->scratch, uint32_t, (size_t)g->nodes.count + 1), count = 1;
	hob_model merged;
	hob_error why;
	models[0] = &g->model;
	for (uint32_t n = 0; n < g->nodes.count; n++) {
		if (wanted[n] == HOB_NONE || !parts[wanted[n]].shown)
			continue;
		below[count] = g->node_ids[n];
		models[count++] = &parts[wanted[n]].model;
	}
	if (count == 1)
		return;
	hob_need(hob_model_merge(models, count, g->result, g->scratch, &merged, &why), &why);
	uint32_t base = g->model.node_count;
	for (uint32_t i = 1; i < count; base += models[i++]->node_count)
		for (uint32_t r = 0; r < models[i]->scene_root_count; r++) {
			const hob_scene *scene = &models[i]->scenes[0];
			if (r >= scene->root_first && r < scene->root_first + scene->root_count)
				merged.nodes[base + models[i]->scene_roots[r]].parent = below[i];
		}
	/* The parts' roots come after the file's own, and are now children. */
	merged.scenes[0].root_count = g->model.scenes[g->model.default_scene].root_count;
	merged.scene_root_count = 0;
	for (uint32_t s = 0; s < merged.scene_count; s++) {
		hob_scene *scene = &merged.scenes[s];
		memmove(merged.scene_roots + merged.scene_root_count, merged.scene_roots + scene->root_first,
				scene->root_count * sizeof *merged.scene_roots);
		scene->root_first = merged.scene_root_count;
		merged.scene_root_count += scene->root_count;
	}
	move_nodes(&merged, order(g, &merged), HOB_NEW(g->result, hob_node, merged.node_count));
	g->model = merged;
}

static void import_external(hob_gltf *g)
{
	uint32_t own_parts = 0, used = 0;
	g->parts = g->parts ? g->parts : &own_parts;
	uint32_t *wanted = HOB_NEW(g->scratch, uint32_t, g->nodes.count);
	part_t *parts = HOB_NEW(g->scratch, part_t, g->external_assets.count);
	uint32_t volumes = 0;
	for (uint32_t n = 0; n < g->nodes.count; n++) {
		HOB_GLTF_PLACE("nodes[#] '@'", n, g->nodes);
		wanted[n] = hob_gltf_id(g->nodes.items[n], "externalAsset", g->external_assets.count);
		used += wanted[n] != HOB_NONE;
		volumes += hob_json_get(g->nodes.items[n], "boundingVolume") != NULL;
	}
	if (volumes > 0)
		hob_gltf_info(g, "bounding-volumes",
					  "bounding volumes of %u node%s are not kept: boxes are computed from the meshes",
					  volumes, HOB_PLURAL(volumes));
	if (used == 0)
		return;
	read_parts(g, wanted, parts);
	join(g, wanted, parts);
}

/* ---- the importer */

static void import_document(hob_gltf *g)
{
	check_asset(g);
	check_extensions(g);
	read_lists(g);
	hob_gltf_census(g);
	if (g->meshes.count + g->nodes.count + g->materials.count + g->images.count + g->animations.count == 0)
		hob_leave(EMPTY, "the file holds no meshes, nodes, materials, images or animations");
	hob_gltf_import_images(g);
	hob_gltf_import_materials(g);
	hob_gltf_import_meshes(g);
	hob_gltf_import_cameras(g);
	hob_gltf_import_lights(g);
	hob_gltf_import_nodes(g);
	hob_gltf_import_scenes(g);
	hob_gltf_import_skins(g);
	hob_gltf_import_clips(g);
	keep_file_extras(g);
	import_external(g);
}

void hob_gltf_import_file(hob_gltf *g)
{
	hob_str text = hob_gltf_container(g);
	bool repaired = false;
	hob_error why;
	hob_need(hob_json_parse(g->scratch, text, &g->root, &repaired, &why), &why);
	if (repaired)
		hob_gltf_note(g, "name-repaired",
					  "the JSON holds \\u0000 or halves of characters, which became U+FFFD");
	import_document(g);
}

static bool read_all(void *context, hob_error *err)
{
	(void)err;
	hob_gltf_import_file(context);
	return true;
}

/* Errors come back, as OLD_VERSION has another importer try. */
static bool import_gltf(const hob_import_request *request, hob_model *out, hob_error *err)
{
	hob_gltf g = {
		.request = request, .result = request->result, .scratch = request->scratch, .notes = request->notes};
	if (!hob_guarded(read_all, &g, err))
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

/* Decoder versions: their results are part of the output. */
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
