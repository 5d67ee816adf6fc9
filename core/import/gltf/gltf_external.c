/* glTF 2.1, as branch draft-2.1 of KhronosGroup/glTF has it at 4852109a191f4aa3fda8cf8398b8538d1c0a9290: a
 * node shows the default scene of another file, whose nodes become its last children. */
#include "gltf_private.h"

#include "../../model/model_merge.h"

enum { DEPTH_MAX = 16, PARTS_MAX = 4096 };

typedef struct part {
	hob_model model;
	bool read, shown; /* shown: read, and it has a default scene */
} part_t;

/* ---- files */

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

/* Where files[id] is: *path below the root, or *bytes that live as long as the model. */
static bool find_file(hob_gltf *g, uint32_t id, hob_str *path, hob_bytes *bytes, hob_error *err)
{
	const cJSON *json = g->files.items[id];
	hob_str uri;
	uint32_t view;
	*path = (hob_str){0}, *bytes = (hob_bytes){0};
	if (!hob_gltf_string(json, "uri", &uri, err) ||
		!hob_gltf_id(json, "bufferView", g->views.count, &view, err))
		return hob_fail_in(err, "files[%u]", id);
	if (uri.len > 0 && hob_gltf_aliased(g, uri, path, bytes))
		return true;
	if (hob_gltf_is_data_uri(uri))
		return hob_gltf_data_uri(g->result, uri, bytes, NULL, err) || hob_fail_in(err, "files[%u]", id);
	if (uri.len > 0)
		return hob_gltf_resolve(g, g->result, uri, path, err) || hob_fail_in(err, "files[%u]", id);
	if (view == HOB_NONE)
		return hob_fail(err, CORRUPT, "files[%u] has neither a uri nor a bufferView", id);
	hob_gltf_source source;
	size_t stride;
	if (!hob_gltf_view(g, view, &source, &stride, err))
		return hob_fail_in(err, "files[%u]", id);
	*bytes = source.bytes;
	if (source.borrowed)
		return true;
	uint8_t *copy = hob_arena_alloc(g->result, source.bytes.size, 8);
	if (!copy)
		return hob_fail_memory(err, g->result, "an embedded file");
	memcpy(copy, source.bytes.data, source.bytes.size);
	bytes->data = copy;
	return true;
}

static bool read_aliases(hob_gltf *g, const cJSON *file, hob_gltf *child, hob_error *err)
{
	hob_gltf_list list;
	if (!hob_gltf_list_of(g->scratch, file, "aliases", HOB_LIMIT_SOURCE_FILES, &list, err))
		return false;
	hob_gltf_alias *aliases = HOB_NEW(g->scratch, hob_gltf_alias, list.count);
	if (!aliases)
		return hob_fail_memory(err, g->scratch, "aliases of files");
	for (uint32_t i = 0; i < list.count; i++) {
		uint32_t id;
		if (!hob_gltf_string(list.items[i], "alias", &aliases[i].name, err) ||
			!hob_gltf_need_id(list.items[i], "file", g->files.count, &id, err) ||
			!find_file(g, id, &aliases[i].path, &aliases[i].bytes, err))
			return hob_fail_in(err, "aliases[%u]", i);
	}
	child->aliases = aliases;
	child->alias_count = list.count;
	return true;
}

/* ---- one external asset */

static bool check_place(const hob_gltf *g, hob_str path, hob_error *err)
{
	uint32_t depth = 1;
	for (const hob_gltf *above = g; above; above = above->above, depth++)
		if (path.len > 0 && hob_str_equal(above->request->path, path))
			return hob_fail(err, LIMIT,
							"'%.*s' shows itself through its external assets; take it out of them",
							HOB_FMT(path));
	return depth <= DEPTH_MAX ||
		   hob_fail(err, LIMIT, "external assets in external assets, more than %d deep", DEPTH_MAX);
}

static bool read_part(hob_gltf *g, uint32_t id, part_t *out, hob_error *err)
{
	uint32_t file;
	hob_import_request ask = *g->request;
	hob_str path;
	if (!hob_gltf_need_id(g->external_assets.items[id], "file", g->files.count, &file, err) ||
		!find_file(g, file, &path, &ask.file, err) || !check_place(g, path, err))
		return false;
	if (++*g->parts > PARTS_MAX)
		return hob_fail(err, LIMIT, "more than %d external assets, with those inside them", PARTS_MAX);
	if (path.len > 0 && !ask.io->read(ask.io->user, path, &ask.file, err))
		return false;
	if (path.len > 0)
		ask.path = path;
	hob_gltf child = {.request = &ask,
					  .result = g->result,
					  .scratch = g->scratch,
					  .notes = g->notes,
					  .above = g,
					  .parts = g->parts};
	hob_arena_mark mark = hob_arena_save(g->scratch);
	bool ok = read_aliases(g, g->files.items[file], &child, err) && hob_gltf_import_file(&child, err);
	out->model = child.model;
	out->shown = ok && hob_json_get(child.root, "scene");
	hob_arena_restore(g->scratch, mark);
	if (!ok)
		return path.len > 0 ? hob_fail_in(err, "in '%.*s'", HOB_FMT(path)) : false;
	if (!out->shown)
		hob_gltf_note(g, "external-scene",
					  "externalAssets[%u] '%.*s' names no default scene, so there is nothing of it to show",
					  id, HOB_FMT(path));
	/* Other scenes of it are not shown, and not listed. */
	hob_scene scene = out->model.scenes[out->model.default_scene];
	out->model.scenes = HOB_NEW(g->result, hob_scene, 1);
	if (!out->model.scenes)
		return hob_fail_memory(err, g->result, "scenes");
	out->model.scenes[0] = scene;
	out->model.scene_count = 1;
	out->model.default_scene = 0;
	return true;
}

/* Each is read once, however many nodes show it. */
static bool read_parts(hob_gltf *g, const uint32_t *wanted, part_t *parts, hob_error *err)
{
	for (uint32_t n = 0; n < g->nodes.count; n++) {
		uint32_t id = wanted[n];
		hob_error why = {0};
		if (id == HOB_NONE || parts[id].read)
			continue;
		parts[id].read = true;
		if (read_part(g, id, &parts[id], &why))
			continue;
		parts[id].shown = false;
		if (!hob_gltf_can_drop(why.code) && why.code != HOB_ERR_EMPTY && why.code != HOB_ERR_OLD_VERSION) {
			if (err)
				*err = why;
			return hob_fail_in(err, "externalAssets[%u]", id);
		}
		hob_gltf_note(g, "external-missing", "externalAssets[%u] cannot be shown: %s", id, why.context);
	}
	return true;
}

/* ---- all of them in one tree */

typedef struct links {
	uint32_t *first, *next, *place;
} links_t;

/* New places of the nodes: depth-first, children in the order of their ids. */
static uint32_t *order(hob_gltf *g, const hob_model *m)
{
	uint32_t count = m->node_count, *last = HOB_NEW(g->scratch, uint32_t, (size_t)count + 1),
			 *stack = HOB_NEW(g->scratch, uint32_t, (size_t)count + 1);
	links_t l = {HOB_NEW(g->scratch, uint32_t, (size_t)count + 1),
				 HOB_NEW(g->scratch, uint32_t, (size_t)count + 1),
				 HOB_NEW(g->scratch, uint32_t, (size_t)count + 1)};
	if (!last || !stack || !l.first || !l.next || !l.place)
		return NULL;
	memset(l.first, 0xFF, ((size_t)count + 1) * sizeof *l.first);
	memset(l.next, 0xFF, ((size_t)count + 1) * sizeof *l.next);
	/* Entry `count` lists the nodes without a parent. */
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

static bool join(hob_gltf *g, const uint32_t *wanted, const part_t *parts, hob_error *err)
{
	const hob_model **models = HOB_NEW(g->scratch, const hob_model *, (size_t)g->nodes.count + 1);
	uint32_t *below = HOB_NEW(g->scratch, uint32_t, (size_t)g->nodes.count + 1), count = 1;
	hob_model merged;
	if (!models || !below)
		return hob_fail_memory(err, g->scratch, "external assets");
	models[0] = &g->model;
	for (uint32_t n = 0; n < g->nodes.count; n++) {
		if (wanted[n] == HOB_NONE || !parts[wanted[n]].shown)
			continue;
		below[count] = g->node_ids[n];
		models[count++] = &parts[wanted[n]].model;
	}
	if (count == 1)
		return true;
	if (!hob_model_merge(models, count, g->result, g->scratch, &merged, err))
		return false;
	uint32_t base = g->model.node_count;
	for (uint32_t i = 1; i < count; base += models[i++]->node_count)
		for (uint32_t r = 0; r < models[i]->scene_root_count; r++) {
			const hob_scene *scene = &models[i]->scenes[0];
			if (r >= scene->root_first && r < scene->root_first + scene->root_count)
				merged.nodes[base + models[i]->scene_roots[r]].parent = below[i];
		}
	/* The roots of the parts follow the file's own, and are roots no longer. */
	merged.scenes[0].root_count = g->model.scenes[g->model.default_scene].root_count;
	merged.scene_root_count = 0;
	for (uint32_t s = 0; s < merged.scene_count; s++) {
		hob_scene *scene = &merged.scenes[s];
		memmove(merged.scene_roots + merged.scene_root_count, merged.scene_roots + scene->root_first,
				scene->root_count * sizeof *merged.scene_roots);
		scene->root_first = merged.scene_root_count;
		merged.scene_root_count += scene->root_count;
	}
	const uint32_t *place = order(g, &merged);
	hob_node *nodes = HOB_NEW(g->result, hob_node, merged.node_count);
	if (!place || !nodes)
		return hob_fail_memory(err, g->result, "nodes");
	move_nodes(&merged, place, nodes);
	g->model = merged;
	return true;
}

bool hob_gltf_import_external(hob_gltf *g, hob_error *err)
{
	uint32_t own_parts = 0, used = 0;
	g->parts = g->parts ? g->parts : &own_parts;
	uint32_t *wanted = HOB_NEW(g->scratch, uint32_t, g->nodes.count);
	part_t *parts = HOB_NEW(g->scratch, part_t, g->external_assets.count);
	if (!wanted || !parts)
		return hob_fail_memory(err, g->scratch, "external assets");
	uint32_t volumes = 0;
	for (uint32_t n = 0; n < g->nodes.count; n++) {
		if (!hob_gltf_id(g->nodes.items[n], "externalAsset", g->external_assets.count, &wanted[n], err))
			return hob_fail_in(err, "nodes[%u] '%s'", n, hob_gltf_label(g->nodes.items[n]));
		used += wanted[n] != HOB_NONE;
		volumes += hob_json_get(g->nodes.items[n], "boundingVolume") != NULL;
	}
	if (volumes > 0)
		hob_gltf_info(g, "bounding-volumes",
					  "bounding volumes of %u node%s are not kept: boxes are computed from the meshes",
					  volumes, HOB_PLURAL(volumes));
	return used == 0 || (read_parts(g, wanted, parts, err) && join(g, wanted, parts, err));
}
