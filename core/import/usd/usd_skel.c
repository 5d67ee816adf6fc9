#include "usd_skel.h"
#include "../text.h"
#include "../matrix_double.h"

#include <math.h>

/* Reads an "inbetweens:NAME" of a shape. False for another property, or one without a weight. */
static bool read_one(const hob_usd *u, const hob_usd_prim *shape, hob_str property, hob_usd_inbetween *out)
{
	hob_str name = hob_str_sub(property, sizeof "inbetweens:" - 1, property.len);
	if (hob_str_find(name, HOB_STR(":"), 0) != SIZE_MAX)
		return false;
	const hob_usd_value *weight = hob_usd_meta(u, shape, property, HOB_USD_T_weight);
	*out = (hob_usd_inbetween){property, hob_usd_number(weight, NAN)};
	return isfinite(out->weight) && fabs(out->weight) > 1e-6 && fabs(out->weight - 1) > 1e-6 &&
		   hob_usd_still(u, shape, property) != NULL;
}

/* In-between shapes of a BlendShape prim, in scratch memory. */
static hob_usd_inbetween *usd_inbetweens(hob_usd *u, const hob_usd_prim *shape, uint32_t *count)
{
	uint32_t found;
	const hob_str *names = hob_usd_properties(u, shape, HOB_STR("inbetweens:"), &found);
	hob_usd_inbetween *out = HOB_NEW(u->scratch, hob_usd_inbetween, found);
	*count = 0;
	for (uint32_t i = 0; i < found; i++)
		*count += read_one(u, shape, names[i], &out[*count]);
	return out;
}

static const hob_usd_knot *knot_of(const hob_usd_build_t *b, const hob_morph_target *target)
{
	for (uint32_t i = 0; i < b->knot_count; i++)
		if (b->knots[i].target == target->name.data)
			return &b->knots[i];
	return NULL;
}

static void usd_knot_add(hob_usd_build_t *b, const hob_morph_target *target, hob_str shape, double weight)
{
	HOB_USD_PUT(b->u->scratch, b->knots, b->knot_count, (hob_usd_knot){target->name.data, shape, weight});
}

/* The shape of a target: the target's own name, except for an in-between. */
static hob_str usd_shape_of(const hob_usd_build_t *b, const hob_morph_target *target)
{
	const hob_usd_knot *knot = knot_of(b, target);
	return knot ? knot->shape : target->name;
}

static double place_of(const hob_usd_build_t *b, const hob_morph_target *target)
{
	const hob_usd_knot *knot = knot_of(b, target);
	return knot ? knot->weight : 1;
}

/* Weight of a target for the shape weight `weight`: linear between knots, with the rest pose as knot at 0;
 * beyond the last knot the last segment extrapolates. Source: UsdSkelBlendShapeQuery,
 * ComputeSubShapeWeights. */
static double usd_target_weight(const hob_usd_build_t *b, const hob_mesh *mesh, uint32_t target,
								double weight)
{
	hob_str shape = usd_shape_of(b, &mesh->targets[target]);
	double own = place_of(b, &mesh->targets[target]), below = own > 0 ? 0 : -INFINITY,
		   above = own < 0 ? 0 : INFINITY;
	double least = 0, most = 0;
	for (uint32_t t = 0; t < mesh->target_count; t++) {
		if (!hob_str_equal(usd_shape_of(b, &mesh->targets[t]), shape))
			continue;
		double at = place_of(b, &mesh->targets[t]);
		below = at < own && at > below ? at : below;
		above = at > own && at < above ? at : above;
		least = at < least ? at : least;
		most = at > most ? at : most;
	}
	/* Beyond the last knot: its weight exceeds 1 and its neighbour's is negative. */
	if (weight > most)
		return own == most						  ? (isfinite(below) ? (weight - below) / (own - below) : 1)
			   : above == most && isfinite(above) ? (above - weight) / (above - own)
												  : 0;
	if (weight < least)
		return own == least						   ? (isfinite(above) ? (above - weight) / (above - own) : 1)
			   : below == least && isfinite(below) ? (weight - below) / (own - below)
												   : 0;
	if (weight <= own)
		return weight > below ? (weight - below) / (own - below) : weight >= own ? 1 : 0;
	return weight < above && isfinite(above) ? (above - weight) / (above - own) : 0;
}

/* Times at which target weights need keys, rising, in scratch memory: those of the samples, and where a shape
 * crosses an in-between. column: [target_count] each target's shape in the samples, or SIZE_MAX. */
static hob_usd_times usd_weight_times(hob_usd_build_t *b, const hob_mesh *mesh, const hob_usd_samples *s,
									  const size_t *column)
{
	hob_usd_times out = {0};
	hob_usd_add_times(b->u, &(hob_usd_attribute){.samples = s, .scale = 1}, &out);
	for (uint32_t t = 0; t < mesh->target_count; t++) {
		const hob_usd_knot *knot = knot_of(b, &mesh->targets[t]);
		for (size_t i = 0; knot && column[t] != SIZE_MAX && i + 1 < s->count; i++) {
			double from = hob_usd_component(&s->values[i], column[t]),
				   to = hob_usd_component(&s->values[i + 1], column[t]);
			const double passed[2] = {knot->weight, 0};
			for (int k = 0; k < 2; k++) {
				double part = (passed[k] - from) / (to - from);
				if (part > 1e-6 && part < 1 - 1e-6)
					hob_usd_add_time(b->u, &out, s->times[i] + (s->times[i + 1] - s->times[i]) * part);
			}
		}
	}
	hob_usd_sort_times(&out);
	return out;
}

/* Adds a shape's offsets to the vertices made from its points. */
static void put_offsets(const hob_usd_value *offsets, const hob_usd_value *indices, const uint32_t *points,
						uint32_t vertex_count, const uint32_t *place, size_t point_count, float *out)
{
	for (uint32_t v = 0; v < vertex_count; v++) {
		size_t at = points[v];
		if (indices)
			at = points[v] < point_count && place[points[v]] != HOB_NONE ? place[points[v]] : SIZE_MAX;
		if (at >= offsets->count)
			continue;
		for (size_t k = 0; k < 3; k++) {
			double number = hob_usd_component(offsets, at * 3 + k);
			out[(size_t)v * 3 + k] = isfinite(number) ? (float)number : 0;
		}
	}
}

/* offset_name, normal_name: properties with the offsets. */
static void put_target(hob_usd_build_t *b, const hob_usd_prim *shape, hob_str offset_name,
					   hob_str normal_name, const uint32_t *points, hob_mesh *mesh, hob_morph_target *to)
{
	hob_usd *u = b->u;
	const hob_usd_value *offsets = hob_usd_still(u, shape, offset_name),
						*normals = hob_usd_still(u, shape, normal_name);
	const hob_usd_value *indices = hob_usd_still(u, shape, HOB_STR("pointIndices"));
	size_t point_count = 0;
	uint32_t *place = NULL;
	for (uint32_t v = 0; v < mesh->vertex_count; v++)
		point_count = points[v] >= point_count ? (size_t)points[v] + 1 : point_count;
	if (indices) {
		place = HOB_NEW(u->scratch, uint32_t, point_count);
		memset(place, 0xFF, point_count * sizeof *place);
		for (uint32_t i = 0; i < indices->count; i++) {
			double at = hob_usd_component(indices, i);
			if (at >= 0 && at < (double)point_count)
				place[(size_t)at] = i;
		}
	}
	if (offsets && offsets->width == 3)
		put_offsets(offsets, indices, points, mesh->vertex_count, place, point_count, to->position);
	if (!normals || normals->width != 3 || !mesh->normal)
		return;
	to->normal = HOB_NEW(u->result, float, (size_t)mesh->vertex_count * 3);
	put_offsets(normals, indices, points, mesh->vertex_count, place, point_count, to->normal);
}

static hob_morph_target *new_target(hob_usd_build_t *b, hob_mesh *mesh, hob_str name)
{
	hob_morph_target *to = &mesh->targets[mesh->target_count++];
	to->name = hob_text_name(b->u->result, name);
	to->position = HOB_NEW(b->u->result, float, (size_t)mesh->vertex_count * 3);
	return to;
}

/* Adds the targets of a shape and of its in-betweens. */
static void put_shape(hob_usd_build_t *b, hob_str name, uint32_t id, const hob_usd_inbetween *between,
					  uint32_t count, const uint32_t *points, hob_mesh *mesh)
{
	hob_usd *u = b->u;
	hob_morph_target *whole = new_target(b, mesh, name);
	if (id == HOB_NONE)
		return;
	put_target(b, &u->prims[id], HOB_STR("offsets"), HOB_STR("normalOffsets"), points, mesh, whole);
	for (uint32_t i = 0; i < count; i++) {
		hob_str property = between[i].property;
		hob_str own = hob_arena_printf(u->scratch, "%.*s%.*s", HOB_FMT(name),
									   (int)(property.len - strlen("inbetweens")),
									   property.data + strlen("inbetweens"));
		hob_str normals = hob_arena_printf(u->scratch, "%.*s:normalOffsets", HOB_FMT(property));
		hob_morph_target *to = new_target(b, mesh, own);
		put_target(b, &u->prims[id], property, normals, points, mesh, to);
		usd_knot_add(b, to, whole->name, between[i].weight);
	}
}

typedef struct found_shape {
	uint32_t prim, count;
	hob_usd_inbetween *between;
} found_shape;

static found_shape *find_shapes(hob_usd *u, const hob_str *targets, uint32_t count, uint64_t *total)
{
	found_shape *out = HOB_NEW(u->scratch, found_shape, count);
	*total = count;
	for (uint32_t i = 0; i < count; i++) {
		out[i].prim = hob_usd_prim_at(u, targets[i]);
		if (out[i].prim != HOB_NONE)
			out[i].between = usd_inbetweens(u, &u->prims[out[i].prim], &out[i].count);
		*total += out[i].count;
	}
	if (*total > HOB_LIMIT_TARGETS)
		hob_leave(LIMIT, "%llu blend shapes, at most %llu are allowed", (unsigned long long)*total,
				  HOB_LIMIT_TARGETS);
	return out;
}

void hob_usd_put_shapes(hob_usd_build_t *b, uint32_t id, const uint32_t *points, hob_mesh *mesh)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	const hob_usd_value *names = hob_usd_still(u, prim, HOB_STR("skel:blendShapes"));
	if (!names || names->kind != HOB_USD_TEXT || !hob_usd_below_skel_root(u, id))
		return;
	uint32_t count;
	const hob_str *targets =
		hob_usd_targets(u, prim, HOB_STR("skel:blendShapeTargets"), HOB_USD_T_targetPaths, &count);
	count = names->count < count ? (uint32_t)names->count : count;
	uint64_t total;
	const found_shape *shapes = find_shapes(u, targets, count, &total);
	mesh->targets = HOB_NEW(u->result, hob_morph_target, total);
	for (uint32_t i = 0; i < count; i++)
		put_shape(b, ((const hob_str *)names->data)[i], shapes[i].prim, shapes[i].between, shapes[i].count,
				  points, mesh);
}

/* The first target of a relationship of the prim or of the nearest ancestor that has one; or HOB_NONE. */
static uint32_t usd_inherited_target(hob_usd *u, uint32_t prim, hob_str name)
{
	for (uint32_t p = prim; p != HOB_NONE; p = u->prims[p].parent) {
		uint32_t count;
		const hob_str *targets = hob_usd_targets(u, &u->prims[p], name, HOB_USD_T_targetPaths, &count);
		if (count > 0)
			return hob_usd_prim_at(u, targets[0]);
	}
	return HOB_NONE;
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

static void emit_joint(const joints_t *j, uint32_t joint, uint32_t parent, uint32_t depth)
{
	double local[16];
	if (depth > HOB_LIMIT_USD_NESTING)
		hob_leave(LIMIT, "joints in joints: more than %llu levels", HOB_LIMIT_USD_NESTING);
	uint32_t node = hob_usd_add_node(j->b, hob_path_name(j->names[joint]), parent);
	joint_rest(j, joint, local);
	hob_usd_place(&j->b->model.nodes[node], local);
	j->skeleton->nodes[joint] = node;
	for (uint32_t c = j->first[joint]; c != HOB_NONE; c = j->next[c])
		emit_joint(j, c, node, depth + 1);
}

static void emit_joints(const joints_t *j, uint32_t count, uint32_t node)
{
	uint32_t *last = HOB_NEW(j->b->u->scratch, uint32_t, count);
	uint32_t *parents = HOB_NEW(j->b->u->scratch, uint32_t, count);
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
	for (uint32_t i = 0; i < count; i++) {
		if (parents[i] == HOB_NONE)
			emit_joint(j, i, node, 1);
	}
}

void hob_usd_build_skeleton(hob_usd_build_t *b, uint32_t id, uint32_t node)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	const hob_usd_value *names = hob_usd_still(u, prim, HOB_STR("joints")),
						*bind = hob_usd_still(u, prim, HOB_STR("bindTransforms"));
	if (!names || names->kind != HOB_USD_TEXT || names->count == 0)
		return;
	if (names->count > HOB_LIMIT_JOINTS)
		hob_leave(LIMIT, "%zu joints, at most %llu are allowed", names->count, HOB_LIMIT_JOINTS);
	uint32_t count = (uint32_t)names->count;
	hob_usd_skeleton s = {.prim = id, .node = node, .joint_count = count};
	s.nodes = HOB_NEW(u->scratch, uint32_t, count);
	s.bind = (double(*)[16])hob_arena_array(u->scratch, count, sizeof *s.bind, 16);
	joints_t j = {b,
				  &s,
				  (const hob_str *)names->data,
				  hob_usd_still(u, prim, HOB_STR("restTransforms")),
				  HOB_NEW(u->scratch, uint32_t, count),
				  HOB_NEW(u->scratch, uint32_t, count)};
	hob_name_map_init(&s.by_name, u->scratch);
	for (uint32_t i = 0; i < count; i++) {
		matrix_at(bind, i, s.bind[i]);
		hob_name_map_add(&s.by_name, j.names[i], i);
	}
	if (!bind || bind->count != names->count)
		hob_usd_note(u, "bind-pose", "skeleton '%.*s' has %u joints but not as many bind transforms",
					 HOB_FMT(prim->path), count);
	emit_joints(&j, count, node);
	HOB_USD_PUT(u->scratch, b->skeletons, b->skeleton_count, s);
}

/* ---- influences */

void hob_usd_put_influences(hob_usd_build_t *b, uint32_t id, const uint32_t *points, hob_mesh *mesh)
{
	hob_usd *u = b->u;
	uint32_t owner, weight_owner;
	const hob_usd_value *indices = hob_usd_primvar(u, id, HOB_STR("skel:jointIndices"), &owner);
	const hob_usd_value *weights = hob_usd_primvar(u, id, HOB_STR("skel:jointWeights"), &weight_owner);
	if (!indices || !weights || indices->kind != HOB_USD_I32 || indices->count != weights->count ||
		indices->count == 0 || !hob_usd_below_skel_root(u, id))
		return;
	hob_str name = HOB_STR("primvars:skel:jointIndices");
	double stated = hob_usd_number(hob_usd_meta(u, &u->prims[owner], name, HOB_USD_T_elementSize), 1);
	bool rigid = hob_str_equal(hob_usd_text(hob_usd_meta(u, &u->prims[owner], name, HOB_USD_T_interpolation)),
							   HOB_STR("constant"));
	if (!(stated >= 1) || stated > 256 || stated > (double)indices->count)
		return;
	size_t size = (size_t)stated, elements = indices->count / size;
	mesh->influence_count = (uint32_t)(size + 3) / 4 * 4;
	size_t total = (size_t)mesh->vertex_count * mesh->influence_count;
	mesh->joints = HOB_NEW(u->result, uint16_t, total);
	mesh->weights = HOB_NEW(u->result, float, total);
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
}

bool hob_usd_below_skel_root(const hob_usd *u, uint32_t prim)
{
	for (; prim != HOB_NONE; prim = u->prims[prim].parent)
		if (hob_str_equal(u->prims[prim].type, HOB_STR("SkelRoot")))
			return true;
	return false;
}

void hob_usd_skin_later(hob_usd_build_t *b, uint32_t prim, uint32_t node)
{
	if (!hob_usd_below_skel_root(b->u, prim))
		return;
	HOB_USD_PUT(b->u->scratch, b->skinned, b->skinned_count, (hob_usd_skinned){prim, node});
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

static void fill_skin(hob_usd_build_t *b, uint32_t prim, const hob_usd_skeleton *s, hob_skin *skin)
{
	hob_usd *u = b->u;
	const hob_usd_value *order = joint_order(u, prim);
	uint32_t owner, missing = 0;
	double geometry[16], inverse[16];
	matrix_at(hob_usd_primvar(u, prim, HOB_STR("skel:geomBindTransform"), &owner), 0, geometry);
	size_t count = order ? order->count : s->joint_count;
	if (count > HOB_LIMIT_JOINTS)
		hob_leave(LIMIT, "%zu joints, at most %llu are allowed", count, HOB_LIMIT_JOINTS);
	*skin = (hob_skin){.name = b->model.nodes[s->node].name, .root = s->node, .joint_count = (uint32_t)count};
	skin->joints = HOB_NEW(u->result, uint32_t, count);
	skin->inverse_bind = HOB_NEW(u->result, float, count * 16);
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

static void skin_node(hob_usd_build_t *b, uint32_t prim, uint32_t node)
{
	hob_usd *u = b->u;
	hob_model *m = &b->model;
	uint32_t skin_count = m->skin_count;
	bool bends = false;
	for (uint32_t r = 0; r < m->nodes[node].mesh_count; r++)
		bends = bends || m->meshes[m->mesh_refs[m->nodes[node].mesh_first + r]].influence_count > 0;
	if (!bends)
		return;
	uint32_t target = usd_inherited_target(u, prim, HOB_STR("skel:skeleton"));
	const hob_usd_skeleton *skeleton = target != HOB_NONE ? skeleton_of(b, target) : NULL;
	if (!skeleton) {
		hob_usd_note(u, "no-skeleton",
					 "mesh '%.*s' has joint weights but no skeleton that is drawn; it stays stiff",
					 HOB_FMT(u->prims[prim].path));
		return;
	}
	HOB_USD_ROOM(u->scratch, m->skins, skin_count);
	fill_skin(b, prim, skeleton, &m->skins[skin_count]);
	uint32_t id = 0;
	while (id < skin_count && !same_skin(&m->skins[id], &m->skins[skin_count]))
		id++;
	m->skin_count += id == skin_count;
	m->nodes[node].skin = id;
	for (uint32_t r = 0; r < m->nodes[node].mesh_count; r++)
		fix_joints(&m->meshes[m->mesh_refs[m->nodes[node].mesh_first + r]], m->skins[id].joint_count);
}

void hob_usd_build_skins(hob_usd_build_t *b)
{
	for (uint32_t i = 0; i < b->skinned_count; i++)
		skin_node(b, b->skinned[i].prim, b->skinned[i].node);
}

typedef struct animation {
	hob_usd_build_t *b;
	const hob_usd_prim *prim;
	const hob_usd_value *joints;
	const hob_usd_skeleton *skeleton;
} animation_t;

/* Sets the node's rest value. */
static void set_rest(hob_node *node, hob_path path, const float *value)
{
	float *to = path == HOB_PATH_TRANSLATION ? node->translation
				: path == HOB_PATH_ROTATION	 ? node->rotation
											 : node->scale;
	memcpy(to, value, (path == HOB_PATH_ROTATION ? 4 : 3) * sizeof *value);
	hob_node plain = *node;
	plain.has_matrix = false;
	hob_node_local_matrix(&plain, node->matrix);
	node->has_matrix = false;
}

static bool read_joint(const hob_usd_value *value, uint32_t width, size_t joint, float *out)
{
	double length = 0;
	if (!value || value->width != width || joint >= value->count)
		return false;
	for (uint32_t k = 0; k < width; k++) {
		out[k] = (float)hob_usd_component(value, joint * width + k);
		if (!isfinite(out[k]))
			return false;
		length += (double)out[k] * (double)out[k];
	}
	for (uint32_t k = 0; width == 4 && k < 4; k++)
		out[k] = length > 0 ? (float)((double)out[k] / sqrt(length)) : (float)(k == 3);
	return true;
}

/* Makes the track of one joint from samples that contain the values of all joints. */
static void joint_track(const animation_t *a, const hob_usd_attribute *attribute, hob_path path, size_t at,
						uint32_t node)
{
	const hob_usd_samples *s = attribute->samples;
	uint32_t width = path == HOB_PATH_ROTATION ? 4 : 3, kept = 0;
	float value[4];
	hob_node *to = &a->b->model.nodes[node];
	if (!s) {
		if (read_joint(attribute->value, width, at, value))
			set_rest(to, path, value);
		return;
	}
	hob_track *track = hob_usd_add_channel(a->b, node, path, width, s->count);
	for (size_t k = 0; k < s->count; k++) {
		/* The layer's time may run backwards. */
		size_t i = attribute->scale < 0 ? s->count - 1 - k : k;
		if (!read_joint(&s->values[i], width, at, value))
			continue;
		track->times[kept] = hob_usd_seconds(a->b->u, attribute->offset + attribute->scale * s->times[i]);
		memcpy(track->values + (size_t)kept++ * width, value, width * sizeof *value);
	}
	track->key_count = kept;
	const float *rest = path == HOB_PATH_TRANSLATION ? to->translation
						: path == HOB_PATH_ROTATION	 ? to->rotation
													 : to->scale;
	hob_usd_drop_still(a->b, rest);
}

static void move_joints(const animation_t *a)
{
	static const char *const names[] = {"translations", "rotations", "scales"};
	for (uint32_t path = 0; path < 3; path++) {
		hob_usd_attribute attribute;
		if (!hob_usd_get(a->b->u, a->prim, hob_str_of(names[path]), &attribute))
			continue;
		for (size_t i = 0; i < a->joints->count; i++) {
			uint32_t joint = hob_name_map_get(&a->skeleton->by_name, ((const hob_str *)a->joints->data)[i]);
			if (joint != HOB_NONE)
				joint_track(a, &attribute, (hob_path)path, i, a->skeleton->nodes[joint]);
		}
	}
}

/* ---- blend shapes */

static size_t shape_in(const hob_usd_value *names, hob_str name)
{
	for (size_t i = 0; i < names->count; i++)
		if (hob_str_equal(((const hob_str *)names->data)[i], name))
			return i;
	return SIZE_MAX;
}

/* Sets the rest weights of the mesh: the only sample, or the first in time. */
static void rest_weights(const animation_t *a, const hob_usd_value *names, uint32_t node)
{
	hob_usd_build_t *b = a->b;
	hob_model *m = &b->model;
	const hob_mesh *mesh = &m->meshes[m->mesh_refs[m->nodes[node].mesh_first]];
	const hob_usd_value *weights = hob_usd_still(b->u, a->prim, HOB_STR("blendShapeWeights"));
	uint32_t first = m->weight_count;
	bool any = false;
	for (uint32_t t = 0; weights && t < mesh->target_count; t++) {
		size_t at = shape_in(names, usd_shape_of(b, &mesh->targets[t]));
		double weight =
			at < weights->count ? usd_target_weight(b, mesh, t, hob_usd_component(weights, at)) : 0;
		HOB_USD_PUT(b->u->scratch, m->weights, m->weight_count, isfinite(weight) ? (float)weight : 0);
		any = any || m->weights[m->weight_count - 1] != 0;
	}
	if (any) {
		m->nodes[node].weight_first = first;
		m->nodes[node].weight_count = mesh->target_count;
	} else {
		m->weight_count = first;
	}
}

/* Interpolates between sample `at` and the next. */
static double weight_at(const hob_usd_samples *s, size_t at, size_t column, double time)
{
	double from = hob_usd_component(&s->values[at], column);
	if (at + 1 >= s->count || !(s->times[at + 1] > s->times[at]))
		return from;
	double part = (time - s->times[at]) / (s->times[at + 1] - s->times[at]);
	return from + (hob_usd_component(&s->values[at + 1], column) - from) * (part < 0   ? 0
																			: part > 1 ? 1
																					   : part);
}

static void weight_track(const animation_t *a, const hob_usd_value *names, const hob_usd_attribute *weights,
						 uint32_t node)
{
	hob_model *m = &a->b->model;
	hob_mesh *mesh = &m->meshes[m->mesh_refs[m->nodes[node].mesh_first]];
	const hob_usd_samples *s = weights->samples;
	if (mesh->target_count == 0)
		return;
	rest_weights(a, names, node);
	if (!s)
		return;
	size_t *column = HOB_NEW(a->b->u->scratch, size_t, mesh->target_count);
	for (uint32_t t = 0; t < mesh->target_count; t++)
		column[t] = shape_in(names, usd_shape_of(a->b, &mesh->targets[t]));
	hob_usd_times found = usd_weight_times(a->b, mesh, s, column);
	const double *times = found.items;
	size_t count = found.count;
	hob_track *track = hob_usd_add_channel(a->b, node, HOB_PATH_WEIGHTS, mesh->target_count, count);
	for (size_t i = 0, at = 0; i < count; i++) {
		while (at + 2 < s->count && s->times[at + 1] <= times[i])
			at++;
		size_t to = weights->scale < 0 ? count - 1 - i : i;
		track->times[to] = hob_usd_seconds(a->b->u, weights->offset + weights->scale * times[i]);
		for (uint32_t t = 0; t < mesh->target_count; t++) {
			double raw = column[t] == SIZE_MAX ? 0 : weight_at(s, at, column[t], times[i]);
			double weight = usd_target_weight(a->b, mesh, t, raw);
			track->values[to * mesh->target_count + t] = isfinite(weight) ? (float)weight : 0;
		}
	}
	const hob_node *at_rest = &m->nodes[node];
	hob_usd_drop_still(a->b, at_rest->weight_count > 0 ? m->weights + at_rest->weight_first : NULL);
}

static void move_shapes(const animation_t *a)
{
	hob_usd *u = a->b->u;
	hob_usd_attribute weights;
	const hob_usd_value *names = hob_usd_still(u, a->prim, HOB_STR("blendShapes"));
	if (!names || names->kind != HOB_USD_TEXT ||
		!hob_usd_get(u, a->prim, HOB_STR("blendShapeWeights"), &weights))
		return;
	for (uint32_t i = 0; i < a->b->skinned_count; i++) {
		uint32_t node = a->b->skinned[i].node;
		uint32_t bound = usd_inherited_target(u, a->b->skinned[i].prim, HOB_STR("skel:skeleton"));
		if (bound == a->skeleton->prim && a->b->model.nodes[node].mesh_count > 0)
			weight_track(a, names, &weights, node);
	}
}

void hob_usd_skeleton_clips(hob_usd_build_t *b)
{
	hob_usd *u = b->u;
	for (uint32_t i = 0; i < b->skeleton_count; i++) {
		uint32_t source = usd_inherited_target(u, b->skeletons[i].prim, HOB_STR("skel:animationSource"));
		if (source == HOB_NONE)
			continue;
		animation_t a = {b, &u->prims[source], hob_usd_still(u, &u->prims[source], HOB_STR("joints")),
						 &b->skeletons[i]};
		if (a.joints && a.joints->kind == HOB_USD_TEXT)
			move_joints(&a);
		move_shapes(&a);
	}
}
