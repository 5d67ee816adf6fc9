#include "model_check.h"
#include "deep_faults.h"

#include "../base/json_text.h"
#include "../base/text_order.h"
#include "../mesh/vec3.h"
#include "../settings/pattern.h"

#include <math.h>
#include <stdlib.h>

typedef struct check {
	const hob_check_subject *of;
	const hob_model *model;
	const hob_setting_rules *rules;
	hob_arena *scratch;
	hob_findings *out;
	hob_str *names; /* of the meshes: one without a name has the path of its first node. NULL: no memory */
} check;

/* Whether the rule is checked here; the others judge notes (core/settings/rules.c). */
static bool is_measured(hob_rule rule)
{
	return rule != HOB_RULE_texture_missing && rule != HOB_RULE_file_portability &&
		   rule != HOB_RULE_source_shrunk && rule != HOB_RULE_import_lost &&
		   rule != HOB_RULE_texture_downscaled && rule != HOB_RULE_reference_missing &&
		   rule != HOB_RULE_mesh_lods && rule != HOB_RULE_source_newer;
}

static bool is_on(const check *c, hob_rule rule)
{
	return c->rules->level[rule] != HOB_LEVEL_OFF && !hob_rule_is_blind(rule, c->of->extension);
}

bool hob_check_wanted(const hob_settings *settings)
{
	bool wanted = false;
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		wanted = wanted || (is_measured((hob_rule)i) && settings->rules.level[i] != HOB_LEVEL_OFF);
	return wanted;
}

/* ---- findings */

static hob_finding *add(const check *c, hob_rule rule, const char *kind, hob_str name, double value)
{
	hob_findings *out = c->out;
	out->sum[rule] += value;
	hob_finding *last = out->count > 0 ? &out->items[out->count - 1] : NULL;
	if (last && last->rule == rule && last->name.len > 0 && hob_str_equal(last->name, name)) {
		/* another part of the same mesh: one finding for both */
		last->value = hob_rule_together(hob_rule_side(c->rules, rule, last->value), last->value, value);
		return last;
	}
	bool full = out->found[rule] >= HOB_FINDINGS_OF_RULE;
	if (out->found[rule]++ > HOB_FINDINGS_OF_RULE && out->count > 0) {
		out->items[out->rest[rule]].value += value;
		return NULL;
	}
	if (out->count == out->capacity) {
		uint32_t capacity = out->capacity * 2 + 16;
		hob_finding *items = HOB_NEW(out->arena, hob_finding, capacity);
		if (!items)
			return NULL;
		if (out->count > 0)
			memcpy(items, out->items, out->count * sizeof *items);
		out->items = items;
		out->capacity = capacity;
	}
	out->rest[rule] = out->count;
	out->items[out->count] = (hob_finding){rule, kind, full ? (hob_str){0} : name, value, 0, NULL};
	return &out->items[out->count++];
}

static void add_fault_of(const check *c, hob_rule rule, hob_str name, double value, const hob_fault *fault)
{
	if (!is_on(c, rule) || fault->count == 0)
		return;
	hob_finding *finding = add(c, rule, "mesh", name, value);
	if (finding && !finding->places && c->out->found[rule] <= HOB_FAULT_PLACES &&
		(finding->places = hob_arena_array(c->out->arena, fault->place_count, sizeof *finding->places, 4))) {
		memcpy(finding->places, fault->places, fault->place_count * sizeof *finding->places);
		finding->place_count = fault->place_count;
	}
}

static void add_fault(const check *c, hob_rule rule, hob_str name, const hob_fault *fault)
{
	add_fault_of(c, rule, name, fault->count, fault);
}

/* Checks a value against a rule with the parameter max, or min and max. */
static void limit(const check *c, hob_rule rule, const char *kind, hob_str name, double value)
{
	bool has_least = strcmp(hob_rule_table[rule].parameters[0], "min") == 0;
	const float *given = c->rules->value[rule];
	if (is_on(c, rule) && (value > (double)given[has_least] || (has_least && value < (double)given[0])))
		add(c, rule, kind, name, value);
}

static void forbid(const check *c, bool broken, hob_rule rule, const char *kind, hob_str name)
{
	if (broken && is_on(c, rule))
		add(c, rule, kind, name, 1);
}

/* ---- names */

static hob_str path_of(const check *c, uint32_t node)
{
	const hob_node *nodes = c->model->nodes;
	hob_str path = nodes[node].name;
	for (uint32_t up = nodes[node].parent; up != HOB_NONE && path.len < 1024; up = nodes[up].parent) {
		bool inner = path.len > 0 && nodes[up].name.len > 0;
		hob_str longer = hob_arena_printf(c->out->arena, "%.*s%s%.*s", HOB_FMT(nodes[up].name),
										  inner ? "/" : "", HOB_FMT(path));
		path = longer.data ? longer : path;
	}
	return path;
}

static hob_str *name_meshes(const check *c)
{
	const hob_model *m = c->model;
	hob_str *names = HOB_NEW(c->scratch, hob_str, m->mesh_count + 1);
	for (uint32_t i = 0; names && i < m->mesh_count; i++)
		names[i] = m->meshes[i].name;
	for (uint32_t i = 0; names && i < m->node_count; i++)
		for (uint32_t k = 0; k < m->nodes[i].mesh_count; k++) {
			hob_str *name = &names[m->mesh_refs[m->nodes[i].mesh_first + k]];
			*name = name->len > 0 ? *name : path_of(c, i);
		}
	return names;
}

static hob_str name_of(const check *c, const hob_mesh *mesh)
{
	return c->names ? c->names[mesh - c->model->meshes] : mesh->name;
}

/* Whether the node lacks a name, but not by fault: importers add such nodes to convert an axis, or for faces
 * before the first object of an OBJ file. */
static bool is_unnamed(const check *c, const hob_node *node)
{
	return node->name.len == 0 &&
		   (node->source == HOB_NONE || hob_str_equal_nocase(c->of->extension, HOB_STR("obj")));
}

/* Whether an importer added the material, for parts without one: outside glTF, materials have names. */
static bool is_added(const check *c, const hob_material *material)
{
	return material->name.len == 0 && !hob_str_equal_nocase(c->of->extension, HOB_STR("gltf")) &&
		   !hob_str_equal_nocase(c->of->extension, HOB_STR("glb")) &&
		   !hob_str_equal_nocase(c->of->extension, HOB_STR("vrm"));
}

static void match(const check *c, hob_rule rule, const char *kind, hob_str name, uint32_t node)
{
	if (is_on(c, rule) && !hob_pattern_match(hob_str_of(c->rules->match[rule]), name))
		add(c, rule, kind, node == HOB_NONE ? name : path_of(c, node), 1);
}

static int by_name(const void *a, const void *b)
{
	return hob_str_compare(*(const hob_str *)a, *(const hob_str *)b);
}

static void find_twice(const check *c, hob_str *names, uint32_t count, const char *kind)
{
	if (count > 1)
		qsort(names, count, sizeof *names, by_name);
	for (uint32_t i = 1; i < count; i++)
		if (names[i].len > 0 && hob_str_equal(names[i], names[i - 1]))
			add(c, HOB_RULE_name_duplicate, kind, names[i], 1);
}

static void check_names(const check *c)
{
	const hob_model *m = c->model;
	uint32_t count = 0;
	for (uint32_t i = 0; i < m->node_count; i++)
		if (!is_unnamed(c, &m->nodes[i]))
			match(c, HOB_RULE_name_node, "node", m->nodes[i].name, i);
	for (uint32_t i = 0; i < m->material_count; i++)
		if (!is_added(c, &m->materials[i]))
			match(c, HOB_RULE_name_material, "material", m->materials[i].name, HOB_NONE);
	for (uint32_t i = 0; i < m->clip_count; i++)
		match(c, HOB_RULE_name_clip, "clip", m->clips[i].name, HOB_NONE);
	hob_str *names = is_on(c, HOB_RULE_name_duplicate)
						 ? HOB_NEW(c->scratch, hob_str, m->node_count + m->material_count)
						 : NULL;
	if (!names)
		return;
	for (uint32_t i = 0; i < m->node_count; i++)
		if (!is_unnamed(c, &m->nodes[i]))
			names[count++] = m->nodes[i].name;
	find_twice(c, names, count, "node");
	for (uint32_t i = 0; i < m->material_count; i++)
		names[i] = m->materials[i].name;
	find_twice(c, names, m->material_count, "material");
}

static uint32_t object_hash(hob_str name, uint32_t within)
{
	uint64_t hash[2];
	hob_fast_hash((hob_bytes){(const uint8_t *)name.data, name.len}, hash);
	return (uint32_t)((hash[0] ^ within) * 0x9E3779B97F4A7C15u >> 40);
}

static int by_hash(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void list_objects(const check *c)
{
	enum { NODES = 1, MESHES, MATERIALS };
	const hob_model *m = c->model;
	hob_findings *out = c->out;
	uint32_t *paths = HOB_NEW(c->scratch, uint32_t, m->node_count + 1), count = 0;
	uint32_t *all = HOB_NEW(c->scratch, uint32_t, m->node_count + m->mesh_count + m->material_count + 1);
	for (uint32_t i = 0; paths && all && i < m->node_count; i++) {
		const hob_node *node = &m->nodes[i];
		paths[i] = node->parent == HOB_NONE ? NODES : paths[node->parent];
		if (node->name.len > 0 && !is_unnamed(c, node))
			all[count++] = paths[i] = object_hash(node->name, paths[i]);
	}
	for (uint32_t i = 0; all && i < m->mesh_count; i++)
		if (m->meshes[i].name.len > 0)
			all[count++] = object_hash(m->meshes[i].name, MESHES);
	for (uint32_t i = 0; all && i < m->material_count; i++)
		if (m->materials[i].name.len > 0)
			all[count++] = object_hash(m->materials[i].name, MATERIALS);
	if (count > 1)
		qsort(all, count, sizeof *all, by_hash);
	for (uint32_t i = 0; i < count && out->object_count < HOB_RULE_OBJECTS; i++)
		if (i == 0 || all[i] != all[i - 1])
			out->objects[out->object_count++] = all[i];
}

/* ---- meshes */

/* Checks the parts of each mesh together: they share edges. */
static void check_surfaces(const check *c)
{
	static const struct {
		hob_rule rule;
		size_t fault;
		bool needs_edges;
	} rows[] = {
		{HOB_RULE_mesh_degenerate, offsetof(hob_mesh_faults, degenerate), false},
		{HOB_RULE_mesh_duplicate_faces, offsetof(hob_mesh_faults, duplicate), false},
		{HOB_RULE_mesh_open, offsetof(hob_mesh_faults, open), true},
		{HOB_RULE_mesh_non_manifold, offsetof(hob_mesh_faults, non_manifold), true},
		{HOB_RULE_mesh_inside_out, offsetof(hob_mesh_faults, inside_out), true},
	};
	const hob_mesh *meshes = c->model->meshes;
	bool wanted = false, crossings = c->rules->deep && is_on(c, HOB_RULE_mesh_interpenetrating), looked;
	hob_mesh_faults *found = HOB_NEW(c->scratch, hob_mesh_faults, 1);
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++)
		wanted = wanted || is_on(c, rows[i].rule);
	for (uint32_t i = 0, end; found && (wanted || crossings) && i < c->model->mesh_count; i = end) {
		for (end = i + 1; end < c->model->mesh_count && meshes[end].source_mesh == meshes[i].source_mesh;)
			end++;
		hob_arena_mark mark = hob_arena_save(c->scratch);
		looked =
			!wanted || hob_find_mesh_faults(meshes + i, end - i,
											c->rules->deep ? HOB_DEEP_EDGE_TRIANGLES : HOB_EDGE_TRIANGLES,
											c->scratch, found);
		for (size_t r = 0; wanted && r < HOB_COUNT_OF(rows); r++) {
			c->out->unchecked[rows[r].rule] |=
				is_on(c, rows[r].rule) && (!looked || (rows[r].needs_edges && !found->has_edges));
			add_fault(c, rows[r].rule, name_of(c, &meshes[i]),
					  (const hob_fault *)(const void *)((const uint8_t *)found + rows[r].fault));
		}
		hob_arena_restore(c->scratch, mark);
		found->open = (hob_fault){0};
		if (crossings && hob_find_crossings(meshes + i, end - i, c->scratch, &found->open))
			add_fault(c, HOB_RULE_mesh_interpenetrating, name_of(c, &meshes[i]), &found->open);
		else
			c->out->unchecked[HOB_RULE_mesh_interpenetrating] |= crossings;
		hob_arena_restore(c->scratch, mark);
	}
}

static double find_outside(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *fault)
{
	static const float slack = 1e-4f;
	(void)limit, (void)scratch;
	for (uint32_t i = 0; i < mesh->vertex_count; i++) {
		const float *uv = mesh->uv[0] + 2 * (size_t)i;
		if (!(uv[0] >= -slack && uv[0] <= 1 + slack && uv[1] >= -slack && uv[1] <= 1 + slack))
			hob_fault_add(fault, mesh->position + 3 * (size_t)i);
	}
	return fault->count;
}

static double find_flipped(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *fault)
{
	(void)limit, (void)scratch;
	for (uint32_t i = 0; i + 2 < mesh->index_count; i += 3) {
		const uint32_t *at = mesh->indices + i;
		const float *p = mesh->uv[0] + 2 * (size_t)at[0], *q = mesh->uv[0] + 2 * (size_t)at[1],
					*r = mesh->uv[0] + 2 * (size_t)at[2];
		double area = ((double)q[0] - (double)p[0]) * ((double)r[1] - (double)p[1]) -
					  ((double)r[0] - (double)p[0]) * ((double)q[1] - (double)p[1]);
		if (area > 1e-12) /* positive area where v points down */
			hob_fault_add(fault, mesh->position + 3 * (size_t)at[0]);
	}
	return fault->count;
}

static double find_stretched(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *fault)
{
	(void)scratch;
	for (uint32_t i = 0; i + 2 < mesh->index_count; i += 3)
		if (hob_find_stretch(mesh, mesh->indices + i) > limit)
			hob_fault_add(fault, mesh->position + 3 * (size_t)mesh->indices[i]);
	return fault->count;
}

static double find_loose(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *fault)
{
	uint8_t *used = HOB_NEW(scratch, uint8_t, mesh->vertex_count);
	(void)limit;
	for (uint32_t i = 0; used && i < mesh->index_count; i++)
		used[mesh->indices[i]] = 1;
	for (uint32_t i = 0; used && i < mesh->vertex_count; i++)
		if (!used[i])
			hob_fault_add(fault, mesh->position + 3 * (size_t)i);
	return used ? (double)fault->count : -1;
}

static uint32_t joints_of(const hob_mesh *mesh, uint32_t vertex)
{
	uint32_t joints = 0;
	for (uint32_t k = 0; k < mesh->influence_count; k++)
		joints += mesh->weights[(size_t)vertex * mesh->influence_count + k] > 0;
	return joints;
}

static double find_unweighted(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *fault)
{
	(void)limit, (void)scratch;
	for (uint32_t i = 0; i < mesh->vertex_count; i++)
		if (joints_of(mesh, i) == 0)
			hob_fault_add(fault, mesh->position + 3 * (size_t)i);
	return fault->count;
}

static void check_measures(const check *c)
{
	enum { TRIANGLES = 1, UVS = 2, NORMALS = 4, WEIGHTS = 8, DEEP = 16 };
	static const struct {
		hob_rule rule;
		hob_measure *find;
		unsigned needs;
	} rows[] = {
		{HOB_RULE_mesh_loose, find_loose, 0},
		{HOB_RULE_mesh_split_normals, hob_find_split_normals, TRIANGLES | NORMALS},
		{HOB_RULE_uv_outside, find_outside, TRIANGLES | UVS},
		{HOB_RULE_uv_flipped, find_flipped, TRIANGLES | UVS},
		{HOB_RULE_uv_stretch, find_stretched, TRIANGLES | UVS},
		{HOB_RULE_uv_overlap, hob_find_uv_overlap, TRIANGLES | UVS | DEEP},
		{HOB_RULE_uv_margin, hob_find_uv_margin, TRIANGLES | UVS | DEEP},
		{HOB_RULE_skin_unweighted, find_unweighted, WEIGHTS},
	};
	hob_fault *fault = HOB_NEW(c->scratch, hob_fault, 1);
	for (size_t r = 0; r < HOB_COUNT_OF(rows); r++) {
		hob_rule rule = rows[r].rule;
		bool deep = rows[r].needs & DEEP && !c->rules->deep;
		c->out->unchecked[rule] |= is_on(c, rule) && (deep || !fault);
		for (uint32_t i = 0; fault && is_on(c, rule) && !deep && i < c->model->mesh_count; i++) {
			const hob_mesh *mesh = &c->model->meshes[i];
			unsigned has = (mesh->topology == HOB_TRIANGLES ? TRIANGLES : 0) | (mesh->uv[0] ? UVS : 0) |
						   (mesh->normal ? NORMALS : 0) | (mesh->influence_count > 0 ? WEIGHTS : 0) | DEEP;
			if (rows[r].needs & ~has)
				continue;
			hob_arena_mark mark = hob_arena_save(c->scratch);
			*fault = (hob_fault){0};
			double value = rows[r].find(mesh, (double)c->rules->value[rule][0], c->scratch, fault);
			hob_arena_restore(c->scratch, mark);
			c->out->unchecked[rule] |= value < 0;
			if (value >= 0)
				add_fault_of(c, rule, name_of(c, mesh), value, fault);
		}
	}
}

static void check_meshes(const check *c)
{
	uint64_t drawn = 0;
	bool skins = is_on(c, HOB_RULE_skin_influences);
	c->out->unchecked[HOB_RULE_mesh_interpenetrating] |=
		!c->rules->deep && is_on(c, HOB_RULE_mesh_interpenetrating);
	for (uint32_t i = 0; i < c->model->mesh_count; i++) {
		const hob_mesh *mesh = &c->model->meshes[i];
		uint32_t most = 0;
		drawn += mesh->index_count;
		limit(c, HOB_RULE_morph_count, "mesh", name_of(c, mesh), mesh->target_count);
		for (uint32_t k = 0; skins && mesh->influence_count > 0 && k < mesh->vertex_count; k++)
			most = joints_of(mesh, k) > most ? joints_of(mesh, k) : most;
		limit(c, HOB_RULE_skin_influences, "mesh", name_of(c, mesh), most);
		if (mesh->topology != HOB_TRIANGLES)
			continue;
		forbid(c, !mesh->normal, HOB_RULE_mesh_no_normals, "mesh", name_of(c, mesh));
		forbid(c, !mesh->uv[0], HOB_RULE_uv_missing, "mesh", name_of(c, mesh));
	}
	forbid(c, drawn == 0, HOB_RULE_scene_empty, "model", (hob_str){0});
}

/* ---- scene, materials, skins, clips */

static void check_bounds(const check *c)
{
	const hob_baked_scene *scene = c->of->scene;
	double least[3] = {INFINITY, INFINITY, INFINITY}, most[3] = {-INFINITY, -INFINITY, -INFINITY};
	double side = 0, away = 0;
	for (uint32_t i = 0; i < scene->node_count; i++)
		for (int k = 0; scene->hierarchy[i].parent < 0 && k < 3; k++) {
			least[k] = fmin(least[k], (double)scene->aabb[6 * (size_t)i + (size_t)k]);
			most[k] = fmax(most[k], (double)scene->aabb[6 * (size_t)i + 3 + (size_t)k]);
		}
	if (!(least[0] <= most[0]))
		return;
	for (int k = 0; k < 3; k++) {
		double off = fmax(0, fmax(least[k], -most[k]));
		side = fmax(side, most[k] - least[k]);
		away += off * off;
	}
	limit(c, HOB_RULE_scene_size, "model", (hob_str){0}, side);
	/* A model that rests on the ground may be off by the rounding of its transforms. */
	limit(c, HOB_RULE_scene_origin, "model", (hob_str){0}, sqrt(away) > 1e-5 * side ? sqrt(away) : 0);
}

/* The upper 3 x 3 of a node's world matrix. */
static void world_axes(const check *c, uint32_t node, hob_vec3 out[3])
{
	const float *m = c->of->scene->global + 16 * (size_t)c->of->scene->node_of_model[node];
	for (int i = 0; i < 3; i++)
		out[i] = hob_vec3_load(m + 4 * (size_t)i);
}

static bool is_sheared(const check *c, uint32_t node)
{
	hob_vec3 axes[3];
	bool sheared = false;
	world_axes(c, node, axes);
	for (int i = 0; i < 3; i++) {
		hob_vec3 a = axes[i], b = axes[(i + 1) % 3];
		sheared = sheared || fabs(hob_vec3_dot(a, b)) > 1e-3 * hob_vec3_length(a) * hob_vec3_length(b);
	}
	return sheared;
}

static void check_nodes(const check *c)
{
	const hob_model *m = c->model;
	uint32_t *depth = HOB_NEW(c->scratch, uint32_t, m->node_count), deepest = 0;
	for (uint32_t i = 0; depth && i < m->node_count; i++) {
		const hob_node *node = &m->nodes[i];
		const float *s = node->scale;
		depth[i] = node->parent == HOB_NONE ? 1 : depth[node->parent] + 1;
		deepest = depth[i] > deepest ? depth[i] : deepest;
		bool scaled = false;
		for (int k = 0; k < 3; k++)
			scaled = scaled || !(fabsf(fabsf(s[k]) - 1) <= 1e-4f);
		const struct {
			hob_rule rule;
			bool broken;
		} rows[] = {
			{HOB_RULE_scene_scale, scaled},
			{HOB_RULE_scene_negative_scale, s[0] * s[1] * s[2] < 0},
			{HOB_RULE_scene_hidden, node->hidden},
			{HOB_RULE_scene_shear, is_on(c, HOB_RULE_scene_shear) && is_sheared(c, i) &&
									   (node->parent == HOB_NONE || !is_sheared(c, node->parent))},
		};
		for (size_t r = 0; r < HOB_COUNT_OF(rows) && !is_unnamed(c, node); r++)
			if (rows[r].broken && is_on(c, rows[r].rule))
				add(c, rows[r].rule, "node", path_of(c, i), 1);
	}
	limit(c, HOB_RULE_scene_depth, "model", (hob_str){0}, deepest);
}

static bool same_material(const hob_material *a, const hob_material *b)
{
	size_t from = offsetof(hob_material, alpha_mode), to = offsetof(hob_material, extras);
	return memcmp((const uint8_t *)a + from, (const uint8_t *)b + from, to - from) == 0;
}

/* Texels a metre of each mesh where a node has it. */
static void check_density(const check *c)
{
	const hob_model *m = c->model;
	const hob_baked_materials *baked = c->of->materials;
	for (uint32_t i = 0; is_on(c, HOB_RULE_texture_density) && i < m->node_count; i++) {
		hob_vec3 axes[3];
		world_axes(c, i, axes);
		double volume = fabs(hob_vec3_dot(axes[0], hob_vec3_cross(axes[1], axes[2])));
		for (uint32_t k = 0; k < m->nodes[i].mesh_count; k++) {
			uint32_t mesh = m->mesh_refs[m->nodes[i].mesh_first + k], material = m->meshes[mesh].material;
			double most = 0;
			for (int s = 0; material < baked->material_count && s < HOB_SLOT_COUNT; s++) {
				const hob_texture_ref *ref = &baked->materials[material].slots[s];
				if (ref->image >= baked->image_count || ref->uv_set > 0)
					continue;
				const hob_baked_image *image = &baked->images[ref->image];
				double repeat = sqrt(fabs((double)ref->scale[0] * (double)ref->scale[1]));
				most = fmax(most, repeat * (image->width > image->height ? image->width : image->height));
			}
			double density = most * (double)c->of->meshes[mesh].uv_density / cbrt(volume);
			if (density > 0 && isfinite(density))
				limit(c, HOB_RULE_texture_density, "mesh", name_of(c, &m->meshes[mesh]), density);
		}
	}
}

static hob_str picture_name(const hob_image *image)
{
	return image->uri.len > 0 ? image->uri : image->name;
}

/* Slots with colours; the slots of the second mask read only alpha, which goes with either. */
static const uint32_t color_slots = 1u << HOB_SLOT_BASE_COLOR | 1u << HOB_SLOT_EMISSIVE |
									1u << HOB_SLOT_SPECULAR_COLOR | 1u << HOB_SLOT_SHEEN_COLOR |
									1u << HOB_SLOT_DIFFUSE_TRANSMISSION_COLOR;
static const uint32_t alpha_slots = 1u << HOB_SLOT_OPACITY | 1u << HOB_SLOT_SPECULAR |
									1u << HOB_SLOT_SHEEN_ROUGH | 1u << HOB_SLOT_DIFFUSE_TRANSMISSION;

/* Marks the materials that a mesh or a variant uses. */
static bool *find_used(const check *c)
{
	const hob_model *m = c->model;
	bool *used = HOB_NEW(c->scratch, bool, m->material_count);
	for (uint32_t i = 0; used && i < m->mesh_count; i++) {
		if (m->meshes[i].material != HOB_NONE)
			used[m->meshes[i].material] = true;
		for (uint32_t k = 0; k < m->meshes[i].mapping_count; k++)
			used[m->meshes[i].mappings[k].material] = true;
	}
	return used;
}

static bool reads_alpha(const hob_material *material, uint32_t slot)
{
	hob_channel_choice channel = material->slots[slot].channel;
	if (slot == HOB_SLOT_BASE_COLOR)
		return material->alpha_mode != HOB_ALPHA_OPAQUE;
	return alpha_slots >> slot & 1 ? channel == HOB_CHANNEL_OF_SLOT || channel == HOB_CHANNEL_A
								   : channel == HOB_CHANNEL_A;
}

typedef struct picture {
	const hob_image *image;
	bool shown, alpha; /* by a material that is used; its alpha is read */
} picture;

static int by_uri(const void *a, const void *b)
{
	return hob_str_compare((*(picture *const *)a)->image->uri, (*(picture *const *)b)->image->uri);
}

/* If several pictures have one file, all are shown if one is. */
static void share_files(const check *c, picture *pictures, uint32_t count)
{
	picture **sorted = HOB_NEW(c->scratch, picture *, count);
	for (uint32_t i = 0; sorted && i < count; i++)
		sorted[i] = &pictures[i];
	if (sorted && count > 1)
		qsort(sorted, count, sizeof(picture *), by_uri);
	for (uint32_t i = 0, first = 0; sorted && i < count; i++) {
		first = by_uri(&sorted[first], &sorted[i]) == 0 ? first : i;
		if (sorted[i]->shown && sorted[i]->image->uri.len > 0)
			for (uint32_t k = first; k < count && by_uri(&sorted[first], &sorted[k]) == 0; k++)
				sorted[k]->shown = true;
	}
}

/* Judges which pictures are shown, and the facts in `of->pictures`. */
static void check_pixels(const check *c)
{
	const hob_model *m = c->model;
	const uint8_t *facts = c->of->pictures;
	const bool *used = find_used(c);
	uint32_t count = used ? m->image_count + m->unused_image_count : 0;
	picture *pictures = HOB_NEW(c->scratch, picture, count);
	count = pictures ? count : 0;
	for (uint32_t i = 0; i < count; i++)
		pictures[i].image = i < m->image_count ? &m->images[i] : &m->unused_images[i - m->image_count];
	for (uint32_t i = 0; count > 0 && i < m->material_count; i++)
		for (uint32_t s = 0, image; s < HOB_SLOT_COUNT; s++)
			if ((image = m->materials[i].slots[s].image) != HOB_NONE) {
				pictures[image].shown |= used[i];
				pictures[image].alpha |= reads_alpha(&m->materials[i], s);
			}
	share_files(c, pictures, count);
	for (uint32_t i = 0; i < count; i++) {
		const picture *p = &pictures[i];
		uint8_t fact = facts && i < m->image_count ? facts[i] : 0;
		hob_str name = picture_name(p->image);
		forbid(c, !p->shown, HOB_RULE_texture_unused, "texture", name);
		forbid(c, fact & HOB_PICTURE_ALPHA && !(p->alpha && fact & HOB_PICTURE_CLEAR),
			   HOB_RULE_texture_alpha_unused, "texture", name);
		forbid(c, fact & HOB_PICTURE_FLIPPED, HOB_RULE_normal_map_flipped, "texture", name);
	}
	for (size_t i = 0; i < 2; i++) {
		hob_rule rule = i == 0 ? HOB_RULE_texture_alpha_unused : HOB_RULE_normal_map_flipped;
		c->out->unchecked[rule] |= m->image_count > 0 && !facts && is_on(c, rule);
	}
}

/* Pictures with the same bytes are baked once: two of the model that became one of the slot are equal. */
static void check_pictures(const check *c)
{
	static const uint32_t packed = 1u << HOB_SLOT_METAL_ROUGH | 1u << HOB_SLOT_OCCLUSION | alpha_slots;
	const hob_model *m = c->model;
	const hob_baked_materials *baked = c->of->materials;
	uint32_t *slots = HOB_NEW(c->scratch, uint32_t, m->image_count);
	uint32_t *first = HOB_NEW(c->scratch, uint32_t, baked->image_count);
	bool *listed = HOB_NEW(c->scratch, bool, m->image_count);
	for (uint32_t s = 0; slots && first && listed && s < HOB_SLOT_COUNT; s++) {
		memset(first, 0, baked->image_count * sizeof *first);
		for (uint32_t i = 0; i < m->material_count && i < baked->material_count; i++) {
			uint32_t own = m->materials[i].slots[s].image, became = baked->materials[i].slots[s].image;
			if (own == HOB_NONE)
				continue;
			slots[own] |= 1u << s;
			if (became == HOB_NONE || packed >> s & 1 || baked->images[became].flags & HOB_IMAGE_PLACEHOLDER)
				continue;
			forbid(c, first[became] > 0 && first[became] != own + 1 && !listed[own],
				   HOB_RULE_texture_duplicate, "texture", picture_name(&m->images[own]));
			listed[own] = listed[own] || (first[became] > 0 && first[became] != own + 1);
			first[became] = first[became] > 0 ? first[became] : own + 1;
		}
	}
	for (uint32_t i = 0; slots && i < m->image_count; i++)
		forbid(c, slots[i] & color_slots && slots[i] & ~(color_slots | alpha_slots),
			   HOB_RULE_texture_color_space, "texture", picture_name(&m->images[i]));
}

static void check_materials(const check *c)
{
	enum { COMPARED = 2048 };
	const hob_model *m = c->model;
	const bool *used = find_used(c);
	uint32_t blended = 0, count = 0;
	bool compares = is_on(c, HOB_RULE_material_duplicate) && m->material_count <= COMPARED;
	c->out->unchecked[HOB_RULE_material_duplicate] |= m->material_count > COMPARED && !compares;
	for (uint32_t i = 0; used && i < m->material_count; i++) {
		const hob_material *material = &m->materials[i];
		uint32_t twin = 0;
		if (!used[i] && is_added(c, material))
			continue;
		count++;
		blended += material->alpha_mode == HOB_ALPHA_BLEND;
		forbid(c, material->ext_mask >> HOB_MATERIAL_UNLIT & 1, HOB_RULE_material_unlit, "material",
			   material->name);
		forbid(c,
			   material->metallic > 0.01f && material->metallic < 0.99f &&
				   material->slots[HOB_SLOT_METAL_ROUGH].image == HOB_NONE &&
				   material->slots[HOB_SLOT_METALLIC].image == HOB_NONE,
			   HOB_RULE_material_metal_range, "material", material->name);
		forbid(c, !used[i], HOB_RULE_material_unused, "material", material->name);
		while (compares && twin < i && !same_material(&m->materials[twin], material))
			twin++;
		forbid(c, compares && twin < i, HOB_RULE_material_duplicate, "material", material->name);
	}
	limit(c, HOB_RULE_material_count, "model", (hob_str){0}, count);
	limit(c, HOB_RULE_material_blend_count, "model", (hob_str){0}, blended);
}

static bool is_still(const hob_track *track)
{
	uint32_t parts = track->interpolation == HOB_CUBICSPLINE ? 3 : 1, wide = track->components;
	for (uint32_t k = 0; k < track->key_count; k++)
		for (uint32_t p = 0; p < parts; p++)
			for (uint32_t i = 0; i < wide; i++) {
				float value = track->values[((size_t)k * parts + p) * wide + i];
				float still = parts == 3 && p != 1 ? 0 : track->values[(size_t)p * wide + i];
				if (value < still || value > still)
					return false;
			}
	return true;
}

/* Marks the nodes at the top of the scene, also below nodes that only hold one other, and of skeletons. */
static bool *find_tops(const check *c)
{
	const hob_model *m = c->model;
	uint32_t *children = HOB_NEW(c->scratch, uint32_t, m->node_count + 1);
	bool *joint = HOB_NEW(c->scratch, bool, m->node_count + 1);
	bool *top = HOB_NEW(c->scratch, bool, m->node_count + 1);
	if (!children || !joint || !top)
		return NULL;
	for (uint32_t i = 0; i < m->skin_count; i++)
		for (uint32_t k = 0; k < m->skins[i].joint_count; k++)
			joint[m->skins[i].joints[k]] = true;
	for (uint32_t i = 0; i < m->node_count; i++)
		if (m->nodes[i].parent != HOB_NONE)
			children[m->nodes[i].parent]++;
	for (uint32_t i = 0; i < m->node_count; i++) {
		uint32_t up = m->nodes[i].parent;
		top[i] = up == HOB_NONE || (top[up] && children[up] == 1 && m->nodes[up].mesh_count == 0) ||
				 (joint[i] && !joint[up]);
	}
	return top;
}

static void check_motion(const check *c)
{
	const hob_model *m = c->model;
	const hob_baked_animations *baked = c->of->animations;
	const bool *tops = is_on(c, HOB_RULE_clip_root_motion) ? find_tops(c) : NULL;
	for (uint32_t i = 0; i < m->skin_count; i++)
		limit(c, HOB_RULE_skin_joints, "skin", m->skins[i].name, m->skins[i].joint_count);
	for (uint32_t i = 0; i < m->clip_count; i++) {
		const hob_clip *clip = &m->clips[i];
		bool still = true;
		for (uint32_t t = 0; is_on(c, HOB_RULE_clip_constant) && still && t < clip->track_count; t++)
			still = is_still(&clip->tracks[t]);
		forbid(c, still, HOB_RULE_clip_constant, "clip", clip->name);
		double rate = 0;
		for (uint32_t t = 0; is_on(c, HOB_RULE_clip_rate) && t < clip->track_count; t++) {
			const hob_track *track = &clip->tracks[t];
			double keys = (double)track->key_count - 1;
			if (keys > 0)
				rate =
					fmax(rate, keys / ((double)track->times[track->key_count - 1] - (double)track->times[0]));
		}
		limit(c, HOB_RULE_clip_rate, "clip", clip->name, round(rate * 100) / 100);
		bool moves = false;
		for (uint32_t k = 0; tops && k < clip->channel_count; k++)
			moves =
				moves || (tops[clip->channels[k].node] && clip->channels[k].path == HOB_PATH_TRANSLATION &&
						  !is_still(&clip->tracks[clip->channels[k].track]));
		forbid(c, moves, HOB_RULE_clip_root_motion, "clip", clip->name);
	}
	for (uint32_t i = 0; i < baked->clip_count; i++)
		limit(c, HOB_RULE_clip_length, "clip", baked->clips[i].name,
			  (double)baked->ranges[2 * (size_t)i + 1] - (double)baked->ranges[2 * (size_t)i]);
	limit(c, HOB_RULE_clip_count, "model", (hob_str){0}, m->clip_count);
}

/* Whether a member of the tree that has a text is named after a licence: "licenseUrl" of VRM, "dc:rights". */
static bool has_licence_member(const cJSON *tree)
{
	static const char *const words[] = {"icense", "icence", "opyright", "rights", "Rights"};
	for (const cJSON *item = tree ? tree->child : NULL; item; item = item->next) {
		for (size_t i = 0;
			 item->string && item->valuestring && item->valuestring[0] && i < HOB_COUNT_OF(words); i++)
			if (strstr(item->string, words[i]))
				return true;
		if (has_licence_member(item))
			return true;
	}
	return false;
}

static void check_licence(const check *c)
{
	const hob_str texts[] = {c->model->extras.values, c->model->extras.extensions};
	bool stated = c->of->licensed || c->model->licence.len > 0, repaired;
	for (size_t i = 0; i < HOB_COUNT_OF(texts) && !stated && is_on(c, HOB_RULE_licence_missing); i++) {
		const cJSON *tree;
		hob_error why = {0};
		stated = texts[i].len > 0 && hob_json_parse(c->scratch, texts[i], &tree, &repaired, &why) &&
				 has_licence_member(tree);
	}
	forbid(c, !stated, HOB_RULE_licence_missing, "model", (hob_str){0});
}

void hob_check_model(const hob_check_subject *subject, hob_arena *scratch, hob_findings *out)
{
	check c = {subject, subject->model, &subject->settings->rules, scratch, out, NULL};
	hob_arena_mark mark = hob_arena_save(scratch);
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		out->unchecked[i] |= c.rules->level[i] != hob_rule_table[i].level &&
							 c.rules->level[i] != HOB_LEVEL_OFF &&
							 hob_rule_is_blind((hob_rule)i, subject->extension);
	c.names = name_meshes(&c);
	list_objects(&c);
	check_names(&c);
	check_surfaces(&c);
	check_meshes(&c);
	check_measures(&c);
	check_bounds(&c);
	check_nodes(&c);
	check_density(&c);
	check_pixels(&c);
	check_pictures(&c);
	check_materials(&c);
	check_motion(&c);
	check_licence(&c);
	hob_arena_restore(scratch, mark);
}

void hob_check_limits(const hob_check_subject *subject, uint64_t triangles, uint32_t draws, uint64_t bytes,
					  hob_findings *out)
{
	check c = {subject, subject->model, &subject->settings->rules, NULL, out, NULL};
	limit(&c, HOB_RULE_mesh_triangles, "model", (hob_str){0}, (double)triangles);
	limit(&c, HOB_RULE_mesh_draws, "model", (hob_str){0}, draws);
	limit(&c, HOB_RULE_model_bytes, "model", (hob_str){0}, (double)bytes);
	out->unchecked[HOB_RULE_model_bytes] |= bytes == 0 && is_on(&c, HOB_RULE_model_bytes);
	for (uint32_t i = 0; i < subject->materials->image_count; i++) {
		const hob_baked_image *image = &subject->materials->images[i];
		uint32_t w = image->width, h = image->height;
		double side = w > h ? w : h;
		bool power = (w & (w - 1)) == 0 && (h & (h - 1)) == 0;
		if (c.rules->value[HOB_RULE_texture_size][1] > 0 && !power && is_on(&c, HOB_RULE_texture_size))
			add(&c, HOB_RULE_texture_size, "texture", image->name, side);
		else
			limit(&c, HOB_RULE_texture_size, "texture", image->name, side);
	}
}

/* ---- messages */

/* "open edges: 12 in mesh 'hull', 'deck' and 2 more; fill the holes" */
static void put_summary(const hob_setting_rules *rules, const hob_findings *f, uint32_t rule, hob_buf *out)
{
	enum { SHOWN = 3 };
	const hob_rule_info *info = &hob_rule_table[rule];
	bool most = strcmp(info->parameters[0], "max") == 0, least = strcmp(info->parameters[0], "min") == 0;
	uint32_t shown = 0;
	for (uint32_t i = 0; i < f->count && shown < SHOWN; i++) {
		const hob_finding *finding = &f->items[i];
		if ((uint32_t)finding->rule != rule)
			continue;
		if (shown++ == 0)
			hob_buf_printf(out, "%s: %.9g", info->fault, most || least ? finding->value : f->sum[rule]);
		if (shown == 1 && least && info->parameters[1][0])
			hob_buf_printf(out, ", not from %.9g to %.9g", (double)rules->value[rule][0],
						   (double)rules->value[rule][1]);
		else if (shown == 1 && least)
			hob_buf_printf(out, ", less than %.9g", (double)rules->value[rule][0]);
		if (shown == 1 && most)
			hob_buf_printf(out, ", more than %.9g", (double)rules->value[rule][0]);
		if (finding->name.len > 0)
			hob_buf_printf(out, "%s%s '%.*s'", shown == 1 ? " in " : ",", shown == 1 ? finding->kind : "",
						   HOB_FMT(finding->name));
	}
	if (f->found[rule] > shown)
		hob_buf_printf(out, " and %u more", f->found[rule] - shown);
	hob_buf_printf(out, "; %s", info->mend);
}

void hob_check_notes(const hob_settings *settings, const hob_findings *findings, hob_notes *notes)
{
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		hob_own_buf text = {0};
		if (findings->found[i] == 0)
			continue;
		put_summary(&settings->rules, findings, i, &text);
		hob_note_add(notes, settings->rules.level[i] >= HOB_LEVEL_WARNING ? HOB_NOTE_WARNING : HOB_NOTE_INFO,
					 hob_rule_table[i].id, "%.*s", HOB_FMT(hob_buf_str(&text)));
		hob_note *last = notes->count > 0 ? &notes->items[notes->count - 1] : NULL;
		if (last && hob_str_equal(last->code, hob_str_of(hob_rule_table[i].id)))
			last->count = findings->found[i];
	}
}

void hob_check_print(const hob_findings *findings, hob_buf *out)
{
	uint32_t listed = 0;
	for (uint32_t i = 0; i < findings->count; i++) {
		const hob_finding *f = &findings->items[i];
		hob_buf_printf(out, "%s{\"rule\":\"%s\",\"kind\":\"%s\",\"name\":", i > 0 ? "," : ",\"findings\":[",
					   hob_rule_table[f->rule].id, f->kind);
		hob_buf_put_json(out, f->name);
		hob_buf_put_str(out, HOB_STR(",\"value\":"));
		hob_buf_put_double(out, f->value);
		for (uint32_t p = 0; p < f->place_count; p++)
			hob_buf_printf(out, "%s[%.7g,%.7g,%.7g]", p > 0 ? "," : ",\"places\":[", (double)f->places[p][0],
						   (double)f->places[p][1], (double)f->places[p][2]);
		hob_buf_put_str(out, f->place_count > 0 ? HOB_STR("]}") : HOB_STR("}"));
	}
	hob_buf_put_str(out, findings->count > 0 ? HOB_STR("]") : (hob_str){0});
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		if (findings->unchecked[i])
			hob_buf_printf(out, "%s\"%s\"", listed++ > 0 ? "," : ",\"unchecked\":[", hob_rule_table[i].id);
	hob_buf_put_str(out, listed > 0 ? HOB_STR("]") : (hob_str){0});
	for (uint32_t i = 0; i < findings->object_count; i++)
		hob_buf_printf(out, i > 0 ? "%06x" : ",\"objects\":\"%06x", findings->objects[i]);
	hob_buf_put_str(out, findings->object_count > 0 ? HOB_STR("\"") : (hob_str){0});
}
