#include "../models.h"
#include "core/scene/flatten.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "../arenas.h" /* last, because its names are short */

static hob_baked_scene bake(const hob_model *m, const hob_baked_mesh *meshes)
{
	hob_baked_scene s;
	hob_error err = {0};
	model_check(m);
	size_t before = scratch.used;
	assert_true(hob_scene_bake(m, meshes, &arena, &scratch, &s, &err));
	assert_int_equal(scratch.used, before);
	return s;
}

/* A naive recursive implementation of the reference converter's traversal. */
typedef struct reference {
	hob_baked_hierarchy nodes[4096];
	int32_t count;
	char names[4096][40];
} reference_t;

static int32_t reference_add(reference_t *r, int32_t parent, int32_t level)
{
	int32_t node = r->count++;
	r->nodes[node] = (hob_baked_hierarchy){parent, -1, -1, -1, level};
	if (parent < 0)
		return node;
	int32_t first = r->nodes[parent].first_child;
	if (first == -1) {
		r->nodes[parent].first_child = node;
		r->nodes[node].last_sibling = node;
		return node;
	}
	int32_t last = first;
	while (r->nodes[last].next_sibling != -1)
		last = r->nodes[last].next_sibling;
	r->nodes[last].next_sibling = node;
	r->nodes[first].last_sibling = node;
	return node;
}

static void reference_traverse(reference_t *r, const hob_model *m, uint32_t n, int32_t parent, int32_t level)
{
	int32_t node = reference_add(r, parent, level);
	snprintf(r->names[node], sizeof r->names[node], "%.*s", HOB_FMT(m->nodes[n].name));
	for (uint32_t i = 0; i < m->nodes[n].mesh_count; i++) {
		int32_t child = reference_add(r, node, level + 1);
		snprintf(r->names[child], sizeof r->names[child], "%.*s_Mesh_%u", HOB_FMT(m->nodes[n].name), i);
	}
	for (uint32_t c = n + 1; c < m->node_count; c++)
		if (m->nodes[c].parent == n)
			reference_traverse(r, m, c, node, level + 1);
}

static hob_model random_model(uint64_t seed, uint32_t nodes)
{
	hob_model m = model_new(&arena);
	for (uint32_t i = 0; i < 3; i++)
		model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	for (uint32_t n = 0; n < nodes; n++) {
		/* A random ancestor of the previous node keeps the order depth-first. */
		uint32_t parent = n == 0 ? HOB_NONE : n - 1;
		while (n > 0 && parent != HOB_NONE && shape_random(&seed) % 3 == 0)
			parent = m.nodes[parent].parent;
		hob_str name = hob_arena_printf(&arena, "n%u", n);
		model_node(&m, name.data, parent);
		model_place(&m, n, shape_random_float(&seed), shape_random_float(&seed), shape_random_float(&seed));
		for (uint32_t i = shape_random(&seed) % 3; i > 0 && m.mesh_ref_count < MODEL_ROOM; i--)
			model_show(&m, n, i);
	}
	return m;
}

static void records_are_the_reference_converters(void **state)
{
	(void)state;
	static reference_t r;
	for (uint64_t seed = 1; seed < 60; seed++) {
		hob_model m = random_model(seed, (uint32_t)(seed % 40) + 1);
		memset(&r, 0, sizeof r);
		for (uint32_t n = 0; n < m.node_count; n++)
			if (m.nodes[n].parent == HOB_NONE)
				reference_traverse(&r, &m, n, -1, 0);
		hob_baked_scene s = bake(&m, NULL);
		assert_int_equal(s.node_count, r.count);
		assert_memory_equal(s.hierarchy, r.nodes, s.node_count * sizeof *s.hierarchy);
		for (uint32_t i = 0; i < s.node_count; i++)
			assert_true(hob_str_equal(s.names[i], hob_str_of(r.names[i])));
	}
}

static void subtrees_are_contiguous(void **state)
{
	(void)state;
	hob_model m = random_model(5, 50);
	hob_baked_scene s = bake(&m, NULL);
	for (uint32_t i = 0; i < s.node_count; i++)
		for (uint32_t j = 0; j < s.node_count; j++) {
			bool inside = false;
			for (int32_t up = (int32_t)j; up >= 0; up = s.hierarchy[up].parent)
				inside = inside || up == (int32_t)i;
			assert_int_equal(inside, j >= i && j < i + s.subtree[i]);
		}
}

static void globals_are_products_down_the_path(void **state)
{
	(void)state;
	hob_model m = random_model(9, 50);
	hob_baked_scene s = bake(&m, NULL);
	for (uint32_t i = 0; i < s.node_count; i++) {
		float t[3] = {0, 0, 0};
		for (int32_t up = (int32_t)i; up >= 0; up = s.hierarchy[up].parent)
			for (int k = 0; k < 3; k++)
				t[k] += s.local[16 * up + 12 + k];
		for (int k = 0; k < 3; k++)
			assert_true(fabsf(t[k] - s.global[16 * i + 12 + (uint32_t)k]) < 1e-5f);
	}
}

static void nodes_keep_their_rest_pose(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	model_node(&m, "parent", HOB_NONE);
	model_node(&m, "child", 0);
	const float turn[4] = {0, 0, 0.6f, 0.8f};
	memcpy(m.nodes[0].rotation, turn, sizeof turn);
	for (int i = 0; i < 3; i++)
		m.nodes[0].scale[i] = 2;
	model_place(&m, 1, 1, 0, 0);
	model_show(&m, 1, 0);
	hob_baked_scene s = bake(&m, NULL);
	const float one[4] = {0, 0, 0, 1};
	assert_memory_equal(s.trs[0].r, turn, sizeof turn);
	assert_true(s.trs[0].s[0] == 2 && s.trs[0].s[1] == 2 && s.trs[0].s[2] == 2);
	assert_memory_equal(s.trs[1].r, one, sizeof one);
	assert_memory_equal(s.trs[2].r, one, sizeof one);
	assert_true(s.trs[2].s[0] == 1 && s.trs[2].s[1] == 1 && s.trs[2].s[2] == 1);
	/* The parent rotates and scales the child's translation. */
	assert_float_equal(s.global[16 + 12], 2 * 0.28f, 1e-5);
	assert_float_equal(s.global[16 + 13], 2 * 0.96f, 1e-5);
}

static void a_mesh_has_the_skin_of_its_first_node(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	for (uint32_t n = 0; n < 3; n++) {
		model_node(&m, "n", HOB_NONE);
		model_show(&m, n, 0);
	}
	m.nodes[1].skin = 4;
	m.nodes[2].skin = 3;
	uint32_t skin = 7;
	hob_scene_mesh_skins(&m, &skin);
	assert_int_equal(skin, 4);
}

static void depth_has_no_limit(void **state)
{
	(void)state;
	enum { DEPTH = 200000 };
	hob_model m = model_new(&arena);
	m.nodes = shape_alloc(&arena, DEPTH, sizeof *m.nodes);
	for (uint32_t n = 0; n < DEPTH; n++)
		m.nodes[n] = (hob_node){.parent = n == 0 ? HOB_NONE : n - 1,
								.rotation = {0, 0, 0, 1},
								.scale = {1, 1, 1},
								.skin = HOB_NONE,
								.camera = HOB_NONE,
								.light = HOB_NONE};
	m.node_count = DEPTH;
	m.scene_root_count = m.scenes[0].root_count = 1;
	hob_baked_scene s = bake(&m, NULL);
	assert_int_equal(s.hierarchy[DEPTH - 1].level, DEPTH - 1);
	assert_int_equal(s.subtree[0], DEPTH);
}

static void overflowing_transform_is_an_error(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	for (uint32_t n = 0; n < 3; n++) {
		model_node(&m, "big", n == 0 ? HOB_NONE : n - 1);
		m.nodes[n].scale[0] = 1e20f;
	}
	hob_baked_scene s;
	hob_error err = {0};
	assert_false(hob_scene_bake(&m, NULL, &arena, &scratch, &s, &err));
	assert_int_equal(err.code, HOB_ERR_CORRUPT);
}

static void every_scene_keeps_its_roots(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	uint32_t grid = model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	uint32_t a = model_node(&m, "a", HOB_NONE);
	model_show(&m, a, grid);
	model_node(&m, "b", HOB_NONE);
	m.scenes[1] = (hob_scene){.name = HOB_STR("second"), .root_first = 1, .root_count = 1};
	m.scene_count = 2;
	m.default_scene = 1;
	hob_baked_scene s = bake(&m, NULL);
	assert_int_equal(s.scene_count, 2);
	assert_int_equal(s.default_scene, 1);
	assert_int_equal(s.scene_roots[0], 0);
	assert_int_equal(s.scene_roots[1], 2);
	assert_int_equal(s.node_of_model[1], 2);
}

static void links_are_sorted_and_default_material_has_none(void **state)
{
	(void)state;
	hob_model m = random_model(3, 40);
	model_material(&m, "red");
	m.meshes[1].material = 0;
	m.camera_count = 1;
	m.nodes[7].camera = 0;
	m.nodes[3].camera = 0;
	hob_baked_scene s = bake(&m, NULL);
	const hob_baked_links *all[] = {&s.mesh_links, &s.material_links, &s.camera_links};
	for (int l = 0; l < 3; l++)
		for (uint32_t i = 1; i < all[l]->count; i++)
			assert_true(all[l]->items[i - 1].node < all[l]->items[i].node);
	assert_int_equal(s.camera_links.count, 2);
	assert_int_equal(s.mesh_links.count, m.mesh_ref_count);
	uint32_t red = 0;
	for (uint32_t i = 0; i < m.mesh_ref_count; i++)
		red += m.mesh_refs[i] == 1;
	assert_int_equal(s.material_links.count, red);
	assert_true(hob_str_equal(s.material_names[0], HOB_STR("red")));
}

static void morph_weights_of_a_node_are_linked_to_it(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	model_node(&m, "plain", HOB_NONE);
	model_node(&m, "smiling", 0);
	model_node(&m, "frowning", 0);
	float weights[] = {0.25f, 0.5f, 0.75f};
	m.weights = weights;
	m.weight_count = 3;
	m.nodes[1].weight_count = 1;
	m.nodes[2].weight_first = 1;
	m.nodes[2].weight_count = 2;
	hob_baked_scene s = bake(&m, NULL);
	assert_int_equal(s.morph_weight_count, 3);
	assert_memory_equal(s.morph_weights, weights, sizeof weights);
	assert_int_equal(s.weight_links.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(s.weight_links.items[i].node, s.node_of_model[1 + i]);
		assert_int_equal(s.weight_links.items[i].value, i);
	}
}

static void mirrored_means_the_whole_path(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	model_node(&m, "flip", HOB_NONE);
	m.nodes[0].scale[0] = -1;
	model_node(&m, "child", 0);
	model_node(&m, "back", 1);
	m.nodes[2].scale[2] = -1;
	hob_baked_scene s = bake(&m, NULL);
	assert_true(s.trs[0].flags & HOB_NODE_MIRRORED);
	assert_true(s.trs[1].flags & HOB_NODE_MIRRORED);
	assert_false(s.trs[2].flags & HOB_NODE_MIRRORED);
}

static void shear_is_flagged(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	float matrix[16] = {1, 0, 0, 0, 0.5f, 1, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1};
	model_node(&m, "sheared", HOB_NONE);
	m.nodes[0].has_matrix = true;
	memcpy(m.nodes[0].matrix, matrix, sizeof matrix);
	hob_baked_scene s = bake(&m, NULL);
	assert_int_equal(s.trs[0].flags, HOB_NODE_FROM_MATRIX | HOB_NODE_SHEAR);
	assert_memory_equal(s.local, matrix, sizeof matrix);
}

static hob_baked_mesh unit_box(void)
{
	hob_baked_mesh b = {.skin = HOB_NONE};
	b.mesh.vertex_count = 8;
	b.mesh.position = shape_alloc(&arena, 8, 12);
	for (uint32_t v = 0; v < 8; v++)
		for (uint32_t k = 0; k < 3; k++)
			b.mesh.position[3 * v + k] = (float)(v >> k & 1);
	for (int k = 0; k < 3; k++)
		b.aabb_max[k] = 1;
	return b;
}

static void boxes_hold_their_subtree_in_the_world(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	uint32_t mesh = model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	hob_baked_mesh box = unit_box();
	model_node(&m, "root", HOB_NONE);
	model_place(&m, model_node(&m, "left", 0), -10, 0, 0);
	model_show(&m, 1, mesh);
	model_place(&m, model_node(&m, "right", 0), 10, 0, 0);
	m.nodes[2].rotation[1] = m.nodes[2].rotation[3] = sqrtf(0.5f); /* quarter turn about Y */
	model_show(&m, 2, mesh);
	model_node(&m, "empty", HOB_NONE);
	hob_baked_scene s = bake(&m, &box);
	const float expected[6] = {-10, 0, -1, 11, 1, 1};
	for (int k = 0; k < 6; k++)
		assert_true(fabsf(s.aabb[k] - expected[k]) < 1e-4f);
	assert_true(s.aabb[0] <= -10 && s.aabb[3] >= 11);
	const float *empty = s.aabb + 6 * (size_t)s.node_of_model[3];
	assert_true(empty[0] == FLT_MAX && empty[3] == -FLT_MAX);
}

static void transformed_box_holds_every_transformed_point(void **state)
{
	(void)state;
	uint64_t seed = 11;
	for (int round = 0; round < 2000; round++) {
		float matrix[16] = {[15] = 1}, box[6], out[6];
		for (int column = 0; column < 4; column++)
			for (int row = 0; row < 3; row++)
				matrix[4 * column + row] = 100 * shape_random_float(&seed);
		for (int k = 0; k < 3; k++) {
			float a = 1000 * shape_random_float(&seed), b = 1000 * shape_random_float(&seed);
			box[k] = fminf(a, b), box[3 + k] = fmaxf(a, b);
		}
		hob_box_transform(box, matrix, out);
		for (uint32_t corner = 0; corner < 8; corner++)
			for (uint32_t row = 0; row < 3; row++) {
				float p = 0;
				for (uint32_t k = 0; k < 3; k++)
					p += matrix[4 * k + row] * box[k + 3 * (corner >> k & 1)];
				p += matrix[12 + row];
				assert_true(p >= out[row] && p <= out[3 + row]);
			}
	}
}

static void skinned_box_follows_the_joints_not_the_node(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	uint32_t mesh = model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	hob_baked_mesh box = unit_box();
	box.mesh.influence_count = 4;
	box.mesh.joints = shape_alloc(&arena, 8, 8);
	box.mesh.weights = shape_alloc(&arena, 8, 16);
	for (int v = 0; v < 8; v++)
		box.mesh.weights[4 * v] = 1;
	model_place(&m, model_node(&m, "mesh", HOB_NONE), 1000, 0, 0);
	model_show(&m, 0, mesh);
	m.nodes[0].skin = 0;
	model_place(&m, model_node(&m, "joint", HOB_NONE), 5, 0, 0);
	m.skin_count = 1;
	uint32_t joint = 1;
	float bind[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1, [12] = -2};
	m.skins[0] = (hob_skin){.root = HOB_NONE, .joint_count = 1, .joints = &joint, .inverse_bind = bind};
	hob_baked_scene s = bake(&m, &box);
	assert_true(fabsf(s.aabb[0] - 3) < 1e-4f && fabsf(s.aabb[3] - 4) < 1e-4f);
	assert_int_equal(s.skin_links.count, 1);
	assert_int_equal(s.skin_links.items[0].node, 0);
	assert_int_equal(s.skin_links.items[0].value, 0);
	uint32_t skin;
	hob_scene_mesh_skins(&m, &skin);
	assert_int_equal(skin, 0);
}

static bool bake_within(void *model, hob_error *err)
{
	hob_baked_mesh boxes[3] = {unit_box(), unit_box(), unit_box()};
	hob_baked_scene s;
	return hob_scene_bake(model, boxes, &arena, &scratch, &s, err);
}

static void every_failed_allocation_is_an_error(void **state)
{
	(void)state;
	hob_model m = random_model(3, 10);
	for (uint32_t n = 1;; n++) {
		hob_error err = {0};
		arena.fail_at = n;
		bool ok = hob_guarded(bake_within, &m, &err);
		bool fired = arena.fail_at == 0;
		arena.fail_at = 0;
		if (ok && !fired)
			break;
		assert_false(ok);
		assert_int_equal(err.code, HOB_ERR_MEMORY);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(records_are_the_reference_converters),
		TEST(subtrees_are_contiguous),
		TEST(globals_are_products_down_the_path),
		TEST(nodes_keep_their_rest_pose),
		TEST(a_mesh_has_the_skin_of_its_first_node),
		TEST(depth_has_no_limit),
		TEST(overflowing_transform_is_an_error),
		TEST(every_scene_keeps_its_roots),
		TEST(links_are_sorted_and_default_material_has_none),
		TEST(morph_weights_of_a_node_are_linked_to_it),
		TEST(mirrored_means_the_whole_path),
		TEST(shear_is_flagged),
		TEST(boxes_hold_their_subtree_in_the_world),
		TEST(transformed_box_holds_every_transformed_point),
		TEST(skinned_box_follows_the_joints_not_the_node),
		TEST(every_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
