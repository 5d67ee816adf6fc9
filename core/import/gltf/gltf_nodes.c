#include "gltf_private.h"
#include "../shape.h"

#include <math.h>

/* ---- hierarchy: source order -> depth-first pre-order, without recursion */

typedef struct tree {
	uint32_t count;
	uint32_t *parent;	   /* [count] HOB_NONE for roots */
	uint32_t *first_child; /* [count + 1] into children */
	uint32_t *children;
	uint32_t *instances; /* [count] copies by EXT_mesh_gpu_instancing, 0: none */
} tree_t;

static void adopt(const hob_gltf *g, tree_t *tree, uint32_t parent, uint32_t child)
{
	if (child == parent)
		hob_leave(CORRUPT, "nodes[%u] '%s' is its own child", child, hob_gltf_label(g->nodes.items[child]));
	if (tree->parent[child] != HOB_NONE)
		hob_leave(CORRUPT, "nodes[%u] '%s' is a child of nodes[%u] and of nodes[%u]", child,
				  hob_gltf_label(g->nodes.items[child]), tree->parent[child], parent);
	tree->parent[child] = parent;
}

static uint32_t *child_ids(hob_gltf *g, uint32_t id, uint32_t *count)
{
	HOB_GLTF_PLACE("nodes[#] '@'", id, g->nodes);
	return hob_gltf_ids(g->scratch, g->nodes.items[id], "children", g->nodes.count, count);
}

static void read_tree(hob_gltf *g, tree_t *tree)
{
	uint32_t count = g->nodes.count;
	*tree = (tree_t){.count = count,
					 .parent = HOB_NEW(g->scratch, uint32_t, count),
					 .first_child = HOB_NEW(g->scratch, uint32_t, (size_t)count + 1),
					 .children = HOB_NEW(g->scratch, uint32_t, count),
					 .instances = HOB_NEW(g->scratch, uint32_t, count)};
	memset(tree->parent, 0xFF, count * sizeof(uint32_t));
	uint32_t used = 0;
	for (uint32_t i = 0; i < count; i++) {
		tree->first_child[i] = used;
		if (!hob_json_get(g->nodes.items[i], "children"))
			continue;
		uint32_t id_count;
		hob_arena_mark mark = hob_arena_save(g->scratch);
		const uint32_t *ids = child_ids(g, i, &id_count);
		/* Each child has one parent, so `children` cannot overflow. */
		for (uint32_t k = 0; k < id_count; k++) {
			adopt(g, tree, i, ids[k]);
			tree->children[used++] = ids[k];
		}
		hob_arena_restore(g->scratch, mark);
	}
	tree->first_child[count] = used;
}

/* Writes the source nodes below `root` in pre-order, root first. `stack` has room for all nodes. */
static uint32_t walk(const tree_t *tree, uint32_t root, uint32_t *stack, uint32_t *order)
{
	uint32_t depth = 1, size = 0;
	stack[0] = root;
	while (depth > 0) {
		uint32_t node = stack[--depth];
		order[size++] = node;
		for (uint32_t k = tree->first_child[node + 1]; k > tree->first_child[node]; k--)
			stack[depth++] = tree->children[k - 1];
	}
	return size;
}

static uint32_t *order_nodes(hob_gltf *g, const tree_t *tree)
{
	uint32_t *order = HOB_NEW(g->scratch, uint32_t, tree->count);
	uint32_t *stack = HOB_NEW(g->scratch, uint32_t, tree->count);
	uint32_t size = 0;
	for (uint32_t i = 0; i < tree->count; i++)
		if (tree->parent[i] == HOB_NONE)
			size += walk(tree, i, stack, order + size);
	if (size < tree->count) {
		/* An unreached node has an unreached parent: a cycle. */
		uint8_t *reached = HOB_NEW(g->scratch, uint8_t, tree->count);
		for (uint32_t i = 0; i < size; i++)
			reached[order[i]] = 1;
		uint32_t lost = 0;
		while (reached[lost])
			lost++;
		hob_leave(CORRUPT, "nodes[%u] '%s' is in or below a cycle of children", lost,
				  hob_gltf_label(g->nodes.items[lost]));
	}
	return order;
}

/* ---- transforms */

static void identity(hob_node *node)
{
	node->rotation[3] = 1;
	for (int i = 0; i < 3; i++)
		node->scale[i] = 1;
}

static void keep_or_reset(hob_gltf *g, uint32_t id, float *values, size_t count, const char *what,
						  const float *reset)
{
	if (hob_shape_finite(values, count))
		return;
	memcpy(values, reset, count * sizeof *values);
	hob_gltf_note(g, "transform-not-finite", "nodes[%u]: its %s is beyond every range and was reset", id,
				  what);
}

static void normalise_rotation(hob_gltf *g, uint32_t id, float q[4])
{
	double squared = 0;
	for (int i = 0; i < 4; i++)
		squared += (double)q[i] * q[i];
	if (fabs(squared - 1) <= 1e-5)
		return;
	double length = sqrt(squared);
	for (int i = 0; i < 4; i++)
		q[i] = length > 1e-12 ? (float)(q[i] / length) : i == 3;
	if (fabs(squared - 1) > 0.01)
		hob_gltf_note(g, "rotation-not-unit",
					  "nodes[%u]: its rotation is not a unit quaternion and was normalised", id);
}

static void read_transform(hob_gltf *g, uint32_t id, const cJSON *json, hob_node *node)
{
	static const float zero[3] = {0}, one[3] = {1, 1, 1}, unit[4] = {0, 0, 0, 1};
	identity(node);
	bool given = hob_gltf_floats(json, "matrix", 16, node->matrix);
	if (given && hob_shape_finite(node->matrix, 16)) {
		node->has_matrix =
			!hob_matrix_decompose(node->matrix, node->translation, node->rotation, node->scale);
		if (node->has_matrix)
			hob_gltf_info(g, "matrix-kept", "nodes[%u] has a matrix with shear, which is kept as a matrix",
						  id);
		return;
	}
	if (given)
		hob_gltf_note(g, "transform-not-finite", "nodes[%u]: its matrix is beyond every range and was reset",
					  id);
	hob_gltf_floats(json, "translation", 3, node->translation);
	hob_gltf_floats(json, "rotation", 4, node->rotation);
	hob_gltf_floats(json, "scale", 3, node->scale);
	keep_or_reset(g, id, node->translation, 3, "translation", zero);
	keep_or_reset(g, id, node->rotation, 4, "rotation", unit);
	keep_or_reset(g, id, node->scale, 3, "scale", one);
	normalise_rotation(g, id, node->rotation);
}

/* ---- contents of a node */

static void read_weights(hob_gltf *g, uint32_t id, const cJSON *json, uint32_t targets, hob_node *node)
{
	const cJSON *array = hob_json_get(json, "weights");
	uint32_t count = cJSON_IsArray(array) ? (uint32_t)cJSON_GetArraySize(array) : 0;
	if (!array)
		return;
	if (count != targets) {
		hob_gltf_note(g, "node-weights", "nodes[%u] has %u weights for %u morph targets; they were dropped",
					  id, count, targets);
		return;
	}
	hob_model *model = &g->model;
	float *weights = model->weights + model->weight_count;
	hob_gltf_floats(json, "weights", count, weights);
	hob_gltf_make_finite(g, weights, count, 0, "node weights", node->name);
	node->weight_first = model->weight_count;
	node->weight_count = count;
	model->weight_count += count;
}

static void read_mesh_use(hob_gltf *g, uint32_t id, const cJSON *json, hob_node *node)
{
	uint32_t mesh;
	mesh = hob_gltf_id(json, "mesh", g->meshes.count);
	node->skin = hob_gltf_id(json, "skin", g->skins.count);
	if (mesh == HOB_NONE) {
		node->skin = HOB_NONE;
		return;
	}
	node->mesh_first = g->mesh_first[mesh];
	node->mesh_count = g->mesh_first[mesh + 1] - g->mesh_first[mesh];
	if (node->skin != HOB_NONE && g->mesh_joints[mesh] == 0) {
		hob_gltf_note(g, "skin-unused", "nodes[%u] has skins[%u], but meshes[%u] has no joint weights", id,
					  node->skin, mesh);
		node->skin = HOB_NONE;
	}
	if (node->skin != HOB_NONE && g->mesh_joints[mesh] > g->skin_joints[node->skin])
		hob_leave(CORRUPT, "meshes[%u] uses joint %u, skins[%u] has %u", mesh, g->mesh_joints[mesh] - 1,
				  node->skin, g->skin_joints[node->skin]);
	read_weights(g, id, json, g->mesh_targets[mesh], node);
}

static void read_node(hob_gltf *g, uint32_t id, hob_node *node)
{
	HOB_GLTF_PLACE("nodes[#] '@'", id, g->nodes);
	const cJSON *json = g->nodes.items[id];
	bool visible = true;
	node->source = id;
	node->light = HOB_NONE;
	hob_gltf_bool(hob_gltf_extension(json, "KHR_node_visibility"), "visible", &visible);
	node->hidden = !visible;
	node->name = hob_gltf_name(g, json);
	hob_gltf_extras(g, json, &node->extras);
	read_transform(g, id, json, node);
	read_mesh_use(g, id, json, node);
	node->camera = hob_gltf_id(json, "camera", g->cameras.count);
	node->light = hob_gltf_id(hob_gltf_extension(json, "KHR_lights_punctual"), "light", g->lights.count);
}

/* ---- EXT_mesh_gpu_instancing: one child node per copy */

static const struct {
	const char *key;
	uint32_t width;
} instance_attributes[3] = {{"TRANSLATION", 3}, {"ROTATION", 4}, {"SCALE", 3}};

static const cJSON *instancing(const cJSON *node)
{
	return hob_gltf_object(hob_gltf_extension(node, "EXT_mesh_gpu_instancing"), "attributes");
}

/* The number of instances of a node; `counted` by its other attributes, 0: none. */
static uint32_t count_of(hob_gltf *g, uint32_t node, const cJSON *attributes, size_t which, uint32_t counted)
{
	uint32_t id;
	hob_gltf_accessor a;
	{
		HOB_PLACE("EXT_mesh_gpu_instancing; nodes[#]", node, {0});
		id = hob_gltf_id(attributes, instance_attributes[which].key, g->accessors.count);
		if (id == HOB_NONE)
			return counted;
		a = hob_gltf_accessor_open(g, id, instance_attributes[which].width);
		hob_gltf_claim(g, &a);
	}
	if (counted != 0 && counted != a.count)
		hob_leave(CORRUPT, "EXT_mesh_gpu_instancing: accessor %u has %u elements, others have %u; nodes[%u]",
				  id, a.count, counted, node);
	return a.count;
}

static const cJSON *instancing_of(const hob_gltf *g, uint32_t node)
{
	HOB_PLACE("nodes[#]", node, {0});
	return instancing(g->nodes.items[node]);
}

static uint64_t count_instances(hob_gltf *g, tree_t *tree)
{
	uint64_t total = 0;
	for (uint32_t i = 0; i < tree->count; i++) {
		const cJSON *attributes = instancing_of(g, i);
		if (!attributes || !hob_json_get(g->nodes.items[i], "mesh"))
			continue;
		for (size_t k = 0; k < HOB_COUNT_OF(instance_attributes); k++)
			tree->instances[i] = count_of(g, i, attributes, k, tree->instances[i]);
		total += tree->instances[i];
	}
	return total;
}

static void put_instances(hob_gltf *g, uint32_t parent, uint32_t count)
{
	hob_model *model = &g->model;
	hob_node *owner = &model->nodes[parent];
	float *values[3] = {0};
	HOB_PLACE("nodes[#]", owner->source, {0});
	const cJSON *attributes = instancing(g->nodes.items[owner->source]);
	for (int k = 0; k < 3; k++) {
		uint32_t id = hob_gltf_id(attributes, instance_attributes[k].key, g->accessors.count), read;
		if (id != HOB_NONE)
			values[k] = hob_gltf_load_floats(g, id, instance_attributes[k].width, g->scratch, &read);
	}
	for (uint32_t i = 0; i < count; i++) {
		hob_node *node = &model->nodes[model->node_count++];
		*node = (hob_node){.name = owner->name,
						   .parent = parent,
						   .source = HOB_NONE,
						   .mesh_first = owner->mesh_first,
						   .mesh_count = owner->mesh_count,
						   .skin = HOB_NONE,
						   .camera = HOB_NONE,
						   .light = HOB_NONE,
						   .weight_first = owner->weight_first,
						   .weight_count = owner->weight_count};
		identity(node);
		if (values[0] && hob_shape_finite(values[0] + (size_t)i * 3, 3))
			memcpy(node->translation, values[0] + (size_t)i * 3, sizeof node->translation);
		if (values[1] && hob_shape_finite(values[1] + (size_t)i * 4, 4))
			memcpy(node->rotation, values[1] + (size_t)i * 4, sizeof node->rotation);
		if (values[2] && hob_shape_finite(values[2] + (size_t)i * 3, 3))
			memcpy(node->scale, values[2] + (size_t)i * 3, sizeof node->scale);
		normalise_rotation(g, owner->source, node->rotation);
	}
	owner->mesh_first = owner->mesh_count = owner->weight_first = owner->weight_count = 0;
	owner->skin = HOB_NONE;
	hob_gltf_info(g, "instances", "nodes[%u] '%.*s' draws %u instances, which became child nodes",
				  owner->source, HOB_FMT(owner->name), count);
}

/* ---- all nodes */

static void count_joints(hob_gltf *g)
{
	g->skin_joints = HOB_NEW(g->scratch, uint32_t, g->skins.count);
	for (uint32_t i = 0; i < g->skins.count; i++) {
		const cJSON *joints = hob_json_get(g->skins.items[i], "joints");
		g->skin_joints[i] = cJSON_IsArray(joints) ? (uint32_t)cJSON_GetArraySize(joints) : 0;
	}
}

/* Allocates the weights of all nodes; the arrays are in the JSON text, whose size bounds the sum. */
static void reserve_weights(hob_gltf *g)
{
	size_t total = 0;
	for (uint32_t i = 0; i < g->nodes.count; i++) {
		const cJSON *weights = hob_json_get(g->nodes.items[i], "weights");
		total += cJSON_IsArray(weights) ? (size_t)cJSON_GetArraySize(weights) : 0;
	}
	g->model.weights = HOB_NEW(g->result, float, total);
}

void hob_gltf_import_nodes(hob_gltf *g)
{
	tree_t tree;
	read_tree(g, &tree);
	const uint32_t *order = order_nodes(g, &tree);
	uint64_t copies = count_instances(g, &tree);
	count_joints(g);
	reserve_weights(g);
	if (tree.count + copies > HOB_LIMIT_NODES)
		hob_leave(LIMIT, "%llu nodes with instances, the limit is %llu",
				  (unsigned long long)(tree.count + copies), HOB_LIMIT_NODES);
	hob_model *model = &g->model;
	model->nodes = HOB_NEW(g->result, hob_node, tree.count + copies);
	g->node_ids = HOB_NEW(g->scratch, uint32_t, tree.count);
	for (uint32_t i = 0; i < tree.count; i++) {
		uint32_t source = order[i], id = model->node_count++;
		hob_node *node = &model->nodes[id];
		g->node_ids[source] = id;
		read_node(g, source, node);
		node->parent = tree.parent[source] == HOB_NONE ? HOB_NONE : g->node_ids[tree.parent[source]];
		if (tree.instances[source] > 0)
			put_instances(g, id, tree.instances[source]);
	}
}
