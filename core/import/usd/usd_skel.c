#include "usd_skel.h"

#include "../matrix_double.h"

#include <math.h>

bool hob_usd_inherited_target(hob_usd *u, uint32_t prim, hob_str name, uint32_t *out, hob_error *err)
{
	*out = HOB_NONE;
	for (uint32_t p = prim; p != HOB_NONE; p = u->prims[p].parent) {
		hob_str *targets;
		uint32_t count;
		if (!hob_usd_targets(u, &u->prims[p], name, HOB_USD_T_targetPaths, &targets, &count, err))
			return false;
		if (count > 0) {
			*out = hob_usd_prim_at(u, targets[0]);
			return true;
		}
	}
	return true;
}

/* ---- joints */

static void matrix_at(const hob_usd_value *value, size_t at, double out[16])
{
	hob_usd_identity(out);
	if (!value || value->width != 16 || at >= value->count)
		return;
	for (size_t i = 0; i < 16; i++) {
		double number = hob_usd_component(value, at * 16 + i);
		if (!isfinite(number)) {
			hob_usd_identity(out);
			return;
		}
		out[i] = number;
	}
}

/* Finds the parent of a joint: the joint with the longest path that is a prefix of `path`. */
static uint32_t parent_joint(const hob_usd_skeleton *s, hob_str path)
{
	for (hob_str above = hob_path_dir(path); above.len > 0; above = hob_path_dir(above)) {
		uint32_t found = hob_name_map_get(&s->by_name, above);
		if (found != HOB_NONE)
			return found;
	}
	return HOB_NONE;
}

typedef struct joints {
	hob_usd_build_t *b;
	const hob_usd_skeleton *skeleton;
	const hob_str *names;
	const hob_usd_value *rest;
	uint32_t *first, *next; /* first child and next sibling of each joint */
	hob_error *err;
} joints_t;

/* Local rest matrix of a joint; without a rest pose, from the bind pose. */
static void joint_rest(const joints_t *j, uint32_t joint, double out[16])
{
	const hob_usd_skeleton *s = j->skeleton;
	if (j->rest && j->rest->count == s->joint_count) {
		matrix_at(j->rest, joint, out);
		return;
	}
	uint32_t parent = parent_joint(s, j->names[joint]);
	if (parent == HOB_NONE || !hob_usd_invert(s->bind[parent], out))
		hob_usd_identity(out);
	hob_matrix_multiply_double(out, s->bind[joint], out);
}

static bool emit_joint(const joints_t *j, uint32_t joint, uint32_t parent, uint32_t depth)
{
	double local[16];
	uint32_t node;
	if (depth > HOB_LIMIT_USD_NESTING)
		return hob_fail(j->err, LIMIT, "joints in joints: more than %llu levels", HOB_LIMIT_USD_NESTING);
	if (!hob_usd_add_node(j->b, hob_path_name(j->names[joint]), parent, &node, j->err))
		return false;
	joint_rest(j, joint, local);
	hob_usd_place(&j->b->model.nodes[node], local);
	j->skeleton->nodes[joint] = node;
	for (uint32_t c = j->first[joint]; c != HOB_NONE; c = j->next[c])
		if (!emit_joint(j, c, node, depth + 1))
			return false;
	return true;
}

static bool emit_joints(const joints_t *j, uint32_t count, uint32_t node)
{
	uint32_t *last = HOB_NEW(j->b->u->scratch, uint32_t, count);
	uint32_t *parents = HOB_NEW(j->b->u->scratch, uint32_t, count);
	if (!last || !parents)
		return hob_fail_memory(j->err, j->b->u->scratch, "joints");
	for (uint32_t i = 0; i < count; i++)
		j->first[i] = j->next[i] = HOB_NONE;
	for (uint32_t i = 0; i < count; i++) {
		parents[i] = parent_joint(j->skeleton, j->names[i]);
		if (parents[i] == HOB_NONE)
			continue;
		if (j->first[parents[i]] == HOB_NONE)
			j->first[parents[i]] = i;
		else
			j->next[last[parents[i]]] = i;
		last[parents[i]] = i;
	}
	for (uint32_t i = 0; i < count; i++)
		if (parents[i] == HOB_NONE && !emit_joint(j, i, node, 1))
			return false;
	return true;
}

bool hob_usd_build_skeleton(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	const hob_usd_value *names = hob_usd_still(u, prim, HOB_STR("joints")),
						*bind = hob_usd_still(u, prim, HOB_STR("bindTransforms"));
	if (!names || names->kind != HOB_USD_TEXT || names->count == 0)
		return true;
	if (names->count > HOB_LIMIT_JOINTS)
		return hob_fail(err, LIMIT, "%zu joints, at most %llu are allowed", names->count, HOB_LIMIT_JOINTS);
	uint32_t count = (uint32_t)names->count;
	hob_usd_skeleton s = {.prim = id, .node = node, .joint_count = count};
	s.nodes = HOB_NEW(u->scratch, uint32_t, count);
	s.bind = (double(*)[16])hob_arena_array(u->scratch, count, sizeof *s.bind, 16);
	joints_t j = {b,
				  &s,
				  (const hob_str *)names->data,
				  hob_usd_still(u, prim, HOB_STR("restTransforms")),
				  HOB_NEW(u->scratch, uint32_t, count),
				  HOB_NEW(u->scratch, uint32_t, count),
				  err};
	if (!s.nodes || !s.bind || !j.first || !j.next)
		return hob_fail_memory(err, u->scratch, "joints");
	hob_name_map_init(&s.by_name, u->scratch);
	for (uint32_t i = 0; i < count; i++) {
		matrix_at(bind, i, s.bind[i]);
		if (!hob_name_map_add(&s.by_name, j.names[i], i, NULL))
			return hob_fail_memory(err, u->scratch, "joints");
	}
	if (!bind || bind->count != names->count)
		hob_usd_note(u, "bind-pose", "skeleton '%.*s' has %u joints but not as many bind transforms",
					 HOB_FMT(prim->path), count);
	if (!emit_joints(&j, count, node))
		return false;
	b->skeletons = (hob_usd_skeleton *)hob_usd_more(u->scratch, b->skeletons, b->skeleton_count,
													&b->skeleton_room, sizeof *b->skeletons);
	if (!b->skeletons)
		return hob_fail_memory(err, u->scratch, "skeletons");
	b->skeletons[b->skeleton_count++] = s;
	return true;
}

/* ---- influences */

bool hob_usd_put_influences(hob_usd_build_t *b, uint32_t id, const uint32_t *points, hob_mesh *mesh,
							hob_error *err)
{
	hob_usd *u = b->u;
	uint32_t owner, weight_owner;
	const hob_usd_value *indices = hob_usd_primvar(u, id, HOB_STR("skel:jointIndices"), &owner);
	const hob_usd_value *weights = hob_usd_primvar(u, id, HOB_STR("skel:jointWeights"), &weight_owner);
	if (!indices || !weights || indices->kind != HOB_USD_I32 || indices->count != weights->count ||
		indices->count == 0 || !hob_usd_below_skel_root(u, id))
		return true;
	hob_str name = HOB_STR("primvars:skel:jointIndices");
	double stated = hob_usd_number(hob_usd_meta(u, &u->prims[owner], name, HOB_USD_T_elementSize), 1);
	bool rigid = hob_str_equal(hob_usd_text(hob_usd_meta(u, &u->prims[owner], name, HOB_USD_T_interpolation)),
							   HOB_STR("constant"));
	if (!(stated >= 1) || stated > 256 || stated > (double)indices->count)
		return true;
	size_t size = (size_t)stated, elements = indices->count / size;
	mesh->influence_count = (uint32_t)(size + 3) / 4 * 4;
	size_t total = (size_t)mesh->vertex_count * mesh->influence_count;
	mesh->joints = HOB_NEW(u->result, uint16_t, total);
	mesh->weights = HOB_NEW(u->result, float, total);
	if (!mesh->joints || !mesh->weights)
		return hob_fail_memory(err, u->result, "joint weights");
	for (size_t v = 0; v < mesh->vertex_count; v++) {
		size_t element = rigid ? 0 : points[v];
		for (size_t k = 0; element < elements && k < size; k++) {
			double joint = hob_usd_component(indices, element * size + k),
				   weight = hob_usd_component(weights, element * size + k);
			if (!(joint >= 0) || joint >= (double)HOB_LIMIT_JOINTS || !(weight > 0) || !isfinite(weight))
				continue;
			mesh->joints[v * mesh->influence_count + k] = (uint16_t)joint;
			mesh->weights[v * mesh->influence_count + k] = (float)weight;
		}
	}
	return true;
}

bool hob_usd_below_skel_root(const hob_usd *u, uint32_t prim)
{
	for (; prim != HOB_NONE; prim = u->prims[prim].parent)
		if (hob_str_equal(u->prims[prim].type, HOB_STR("SkelRoot")))
			return true;
	return false;
}

bool hob_usd_skin_later(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err)
{
	if (!hob_usd_below_skel_root(b->u, prim))
		return true;
	b->skinned = (hob_usd_skinned *)hob_usd_more(b->u->scratch, b->skinned, b->skinned_count,
												 &b->skinned_room, sizeof *b->skinned);
	if (!b->skinned)
		return hob_fail_memory(err, b->u->scratch, "skins");
	b->skinned[b->skinned_count++] = (hob_usd_skinned){prim, node};
	return true;
}

/* ---- skins */

static const hob_usd_skeleton *skeleton_of(const hob_usd_build_t *b, uint32_t prim)
{
	for (uint32_t i = 0; i < b->skeleton_count; i++)
		if (b->skeletons[i].prim == prim)
			return &b->skeletons[i];
	return NULL;
}

/* The mesh's own joint order, or an ancestor's; NULL: that of the skeleton. */
static const hob_usd_value *joint_order(hob_usd *u, uint32_t prim)
{
	for (uint32_t p = prim; p != HOB_NONE; p = u->prims[p].parent) {
		const hob_usd_value *value = hob_usd_still(u, &u->prims[p], HOB_STR("skel:joints"));
		if (value && value->kind == HOB_USD_TEXT)
			return value;
	}
	return NULL;
}

static bool fill_skin(hob_usd_build_t *b, uint32_t prim, const hob_usd_skeleton *s, hob_skin *skin,
					  hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_value *order = joint_order(u, prim);
	uint32_t owner, missing = 0;
	double geometry[16], inverse[16];
	matrix_at(hob_usd_primvar(u, prim, HOB_STR("skel:geomBindTransform"), &owner), 0, geometry);
	size_t count = order ? order->count : s->joint_count;
	if (count > HOB_LIMIT_JOINTS)
		return hob_fail(err, LIMIT, "%zu joints, at most %llu are allowed", count, HOB_LIMIT_JOINTS);
	*skin = (hob_skin){.name = b->model.nodes[s->node].name, .root = s->node, .joint_count = (uint32_t)count};
	skin->joints = HOB_NEW(u->result, uint32_t, count);
	skin->inverse_bind = HOB_NEW(u->result, float, count * 16);
	if (!skin->joints || !skin->inverse_bind)
		return hob_fail_memory(err, u->result, "a skin");
	for (size_t i = 0; i < count; i++) {
		uint32_t joint =
			order ? hob_name_map_get(&s->by_name, ((const hob_str *)order->data)[i]) : (uint32_t)i;
		missing += joint == HOB_NONE;
		joint = joint == HOB_NONE ? 0 : joint;
		if (!hob_usd_invert(s->bind[joint], inverse))
			hob_usd_identity(inverse);
		hob_matrix_multiply_double(inverse, geometry, inverse);
		skin->joints[i] = s->nodes[joint];
		for (size_t k = 0; k < 16; k++)
			skin->inverse_bind[i * 16 + k] =
				isfinite((float)inverse[k]) ? (float)inverse[k] : (float)(k % 5 == 0);
	}
	if (missing > 0)
		hob_usd_note(u, "joints", "mesh '%.*s' names %u joints that its skeleton does not have",
					 HOB_FMT(u->prims[prim].path), missing);
	return true;
}

static bool same_skin(const hob_skin *a, const hob_skin *b)
{
	return a->joint_count == b->joint_count && a->root == b->root &&
		   memcmp(a->joints, b->joints, a->joint_count * sizeof *a->joints) == 0 &&
		   memcmp(a->inverse_bind, b->inverse_bind, a->joint_count * 16 * sizeof *a->inverse_bind) == 0;
}

static void fix_joints(hob_mesh *mesh, uint32_t joint_count)
{
	for (size_t i = 0; i < (size_t)mesh->vertex_count * mesh->influence_count; i++)
		if (mesh->joints[i] >= joint_count) {
			mesh->joints[i] = 0;
			mesh->weights[i] = 0;
		}
}

static bool skin_node(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err)
{
	hob_usd *u = b->u;
	hob_model *m = &b->model;
	uint32_t target, skin_count = m->skin_count;
	bool bends = false;
	for (uint32_t r = 0; r < m->nodes[node].mesh_count; r++)
		bends = bends || m->meshes[m->mesh_refs[m->nodes[node].mesh_first + r]].influence_count > 0;
	if (!bends)
		return true;
	if (!hob_usd_inherited_target(u, prim, HOB_STR("skel:skeleton"), &target, err))
		return false;
	const hob_usd_skeleton *skeleton = target != HOB_NONE ? skeleton_of(b, target) : NULL;
	if (!skeleton) {
		hob_usd_note(u, "no-skeleton",
					 "mesh '%.*s' has joint weights but no skeleton that is drawn; it stays stiff",
					 HOB_FMT(u->prims[prim].path));
		return true;
	}
	m->skins = (hob_skin *)hob_usd_more(u->scratch, m->skins, skin_count, &b->skin_room, sizeof *m->skins);
	if (!m->skins)
		return hob_fail_memory(err, u->scratch, "skins");
	if (!fill_skin(b, prim, skeleton, &m->skins[skin_count], err))
		return false;
	uint32_t id = 0;
	while (id < skin_count && !same_skin(&m->skins[id], &m->skins[skin_count]))
		id++;
	m->skin_count += id == skin_count;
	m->nodes[node].skin = id;
	for (uint32_t r = 0; r < m->nodes[node].mesh_count; r++)
		fix_joints(&m->meshes[m->mesh_refs[m->nodes[node].mesh_first + r]], m->skins[id].joint_count);
	return true;
}

bool hob_usd_build_skins(hob_usd_build_t *b, hob_error *err)
{
	for (uint32_t i = 0; i < b->skinned_count; i++)
		if (!skin_node(b, b->skinned[i].prim, b->skinned[i].node, err))
			return false;
	return true;
}
