#include "../models.h"
#include "core/scene/affine.h"
#include "core/scene/model_edit.h"
#include "core/scene/mesh_join.h"
#include "core/model/model_merge.h"
#include "core/model/model_scale.h"

#include "../arenas.h" /* last, because its names are short */

static void same_moments(const double a[4], const double b[4])
{
	for (int k = 0; k < 4; k++)
		assert_true(fabs(a[k] - b[k]) < 1e-4 * (1 + fabs(a[k])));
}

/* Ten tiles in a tree: helper parents, a mirrored one, an animated branch with two, one with a camera. */
static hob_model tiles(void)
{
	hob_model m = model_new(&arena);
	model_material(&m, "tile");
	model_material(&m, "other");
	uint32_t tile = model_mesh(&m, shape_grid(&arena, 2, 0.1f, true, true), 0);
	uint32_t other = model_mesh(&m, shape_grid(&arena, 1, 0, true, true), 1);
	uint32_t root = model_node(&m, "root", HOB_NONE);
	model_place(&m, root, 0, 7, 0);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t helper = model_node(&m, "helper", root);
		model_place(&m, helper, (float)(3 * i), 0, 0);
		uint32_t leaf = model_node(&m, "leaf", helper);
		model_place(&m, leaf, 0, 0, (float)i);
		m.nodes[leaf].scale[0] = i == 2 ? -2.0f : 1.5f;
		model_show(&m, leaf, tile);
	}
	uint32_t moving = model_node(&m, "moving", root);
	model_animate(&m, &arena, moving, HOB_PATH_ROTATION);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t leaf = model_node(&m, "rider", moving);
		model_place(&m, leaf, 0, 0, (float)(9 + i));
		model_show(&m, leaf, tile);
	}
	uint32_t filming = model_node(&m, "filming", root);
	m.camera_count = 1;
	m.cameras[0] = (hob_camera){.yfov_or_ymag = 1, .znear = 0.1f, .zfar = INFINITY};
	m.nodes[filming].camera = 0;
	model_show(&m, filming, tile);
	model_show(&m, filming, other);
	return m;
}

enum { INSTANCES, MATERIAL, DELETE, MERGE };

typedef struct attempt {
	int which;
	hob_model *model;
	uint32_t material;
	const bool *doomed;
	const hob_model *before;
} attempt_t;

static bool edit(void *context, hob_error *err)
{
	attempt_t *a = context;
	const hob_model *both[] = {a->before, a->before};
	hob_model merged;
	if (a->which == INSTANCES)
		hob_model_merge_instances(a->model, &arena, &scratch, NULL);
	else if (a->which == MATERIAL)
		hob_model_merge_material(a->model, a->material, &arena, &scratch);
	else
		hob_model_delete_nodes(a->model, a->doomed, &arena, &scratch);
	return a->which != MERGE || hob_model_merge(both, 2, &arena, &scratch, &merged, err);
}

static bool edited(attempt_t attempt, hob_error *err)
{
	return hob_guarded(edit, &attempt, err);
}

static void merging_instances_keeps_the_picture(void **state)
{
	(void)state;
	hob_model m = tiles();
	double before[4], after[4];
	model_moments(&m, before);
	hob_error err = {0};
	assert_true(edited((attempt_t){.which = INSTANCES, .model = &m}, &err));
	model_check(&m);
	model_moments(&m, after);
	same_moments(before, after);
	/* Five leaves became one, two children of the moving node one; the camera's node stays, and so does its
	 * mesh. */
	assert_int_equal(m.node_count, 15 - 4 - 1);
	assert_int_equal(m.mesh_count, 4);
	uint32_t of_five = 0, of_two = 0;
	for (uint32_t i = 0; i < m.mesh_count; i++) {
		of_five += m.meshes[i].index_count == 5 * 24;
		of_two += m.meshes[i].index_count == 2 * 24;
	}
	assert_int_equal(of_five, 1);
	assert_int_equal(of_two, 1);
	assert_int_equal(m.clips[0].channel_count, 1);
	assert_true(hob_str_equal(m.nodes[m.clips[0].channels[0].node].name, HOB_STR("moving")));
}

static void unshown_originals_are_deleted(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	uint32_t tile = model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	for (uint32_t i = 0; i < 3; i++)
		model_show(&m, model_node(&m, "tile", HOB_NONE), tile);
	hob_error err = {0};
	assert_true(edited((attempt_t){.which = INSTANCES, .model = &m}, &err));
	model_check(&m);
	assert_int_equal(m.mesh_count, 1);
	assert_int_equal(m.node_count, 1);
	assert_int_equal(m.scenes[0].root_count, 1);
	assert_int_equal(m.meshes[0].index_count, 18);
}

static void instances_of_different_scenes_stay_apart(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	uint32_t tile = model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	for (uint32_t i = 0; i < 4; i++)
		model_show(&m, model_node(&m, "tile", HOB_NONE), tile);
	m.scenes[0].root_count = 2;
	m.scenes[1] = (hob_scene){.name = HOB_STR("b"), .root_first = 2, .root_count = 2};
	m.scene_count = 2;
	hob_error err = {0};
	assert_true(edited((attempt_t){.which = INSTANCES, .model = &m}, &err));
	model_check(&m);
	assert_int_equal(m.node_count, 2);
	assert_int_equal(m.scenes[0].root_count, 1);
	assert_int_equal(m.scenes[1].root_count, 1);
}

static void skinned_and_morphed_nodes_are_left_alone(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	hob_mesh grid = shape_grid(&arena, 1, 0, true, true), morphed = grid;
	morphed.target_count = 1;
	morphed.targets = shape_alloc(&arena, 1, sizeof *morphed.targets);
	uint32_t meshes[2] = {model_mesh(&m, grid, HOB_NONE), model_mesh(&m, morphed, HOB_NONE)};
	uint32_t joint = model_node(&m, "joint", HOB_NONE);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t node = model_node(&m, "x", HOB_NONE);
		model_show(&m, node, meshes[i % 2]);
		m.nodes[node].skin = i % 2 == 0 ? 0 : HOB_NONE;
	}
	float identity[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1};
	m.skin_count = 1;
	m.skins[0] = (hob_skin){.root = HOB_NONE, .joint_count = 1, .joints = &joint, .inverse_bind = identity};
	hob_model before = m;
	hob_error err = {0};
	assert_true(edited((attempt_t){.which = INSTANCES, .model = &m}, &err));
	assert_memory_equal(&before, &m, sizeof m);
}

static void merging_a_material_keeps_the_picture(void **state)
{
	(void)state;
	hob_model m = tiles();
	double before[4], after[4];
	model_moments(&m, before);
	hob_error err = {0};
	assert_true(edited((attempt_t){.which = MATERIAL, .model = &m, .material = 0}, &err));
	model_check(&m);
	model_moments(&m, after);
	same_moments(before, after);
	/* Six static ones in one new root, two on the moving node; helpers and leaves are gone. */
	uint32_t shown = 0;
	for (uint32_t n = 0; n < m.node_count; n++)
		for (uint32_t i = 0; i < m.nodes[n].mesh_count; i++)
			shown += m.meshes[m.mesh_refs[m.nodes[n].mesh_first + i]].material == 0;
	assert_int_equal(shown, 2);
	assert_int_equal(m.node_count, 4);
	assert_int_equal(m.scenes[0].root_count, 2);
	assert_true(hob_str_equal(m.nodes[3].name, HOB_STR("tile")));
	assert_int_equal(m.nodes[2].mesh_count, 1);
	assert_int_equal(m.nodes[2].camera, 0);
}

static void unknown_material_is_an_error(void **state)
{
	(void)state;
	hob_model m = tiles();
	hob_error err = {0};
	assert_false(edited((attempt_t){.which = MATERIAL, .model = &m, .material = 2}, &err));
	assert_int_equal(err.code, HOB_ERR_CONFIG);
}

static void meshes_of_other_kinds_are_not_mixed(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	model_material(&m, "one");
	uint32_t with = model_mesh(&m, shape_grid(&arena, 1, 0, true, true), 0);
	uint32_t without = model_mesh(&m, shape_grid(&arena, 1, 0, true, false), 0);
	for (uint32_t i = 0; i < 4; i++)
		model_show(&m, model_node(&m, "n", HOB_NONE), i < 2 ? with : without);
	hob_error err = {0};
	assert_true(edited((attempt_t){.which = MATERIAL, .model = &m, .material = 0}, &err));
	model_check(&m);
	assert_int_equal(m.mesh_count, 2);
	assert_int_equal(!m.meshes[0].uv[0], !!m.meshes[1].uv[0]);
}

static void mirrored_copies_keep_their_fronts(void **state)
{
	(void)state;
	hob_mesh grid = shape_grid(&arena, 2, 0, true, true), out;
	grid.tangent = shape_alloc(&arena, grid.vertex_count, 16);
	for (uint32_t v = 0; v < grid.vertex_count; v++)
		grid.tangent[4 * v] = 1, grid.tangent[4 * v + 3] = 1;
	hob_placed_mesh parts[2] = {{&grid, hob_affine_identity()}, {&grid, hob_affine_identity()}};
	parts[1].place.m[0] = -3; /* mirrored and stretched along x */
	parts[1].place.m[9] = 20;
	out = hob_meshes_join(parts, 2, &arena);
	for (uint32_t i = 0; i < out.index_count; i += 3) {
		const float *p[3];
		for (uint32_t k = 0; k < 3; k++)
			p[k] = out.position + 3 * (size_t)out.indices[i + k];
		float y = (p[1][2] - p[0][2]) * (p[2][0] - p[0][0]) - (p[1][0] - p[0][0]) * (p[2][2] - p[0][2]);
		assert_true(y > 0);
		assert_true(out.normal[3 * (size_t)out.indices[i] + 1] > 0.999f);
	}
	const float *t = out.tangent + 4 * (size_t)grid.vertex_count;
	assert_true(t[0] == -1 && t[3] == -1);
}

static void deleting_a_node_takes_its_subtree_and_channels(void **state)
{
	(void)state;
	hob_model m = tiles();
	bool doomed[MODEL_ROOM] = {false};
	doomed[11] = true;
	assert_true(hob_str_equal(m.nodes[11].name, HOB_STR("moving")));
	hob_error err = {0};
	assert_true(edited((attempt_t){.which = DELETE, .model = &m, .doomed = doomed}, &err));
	model_check(&m);
	assert_int_equal(m.node_count, 12);
	assert_true(hob_str_equal(m.nodes[11].name, HOB_STR("filming")));
	assert_int_equal(m.clips[0].channel_count, 0);
}

static void deleting_a_needed_joint_is_refused(void **state)
{
	(void)state;
	hob_model m = model_new(&arena);
	uint32_t mesh = model_mesh(&m, shape_grid(&arena, 1, 0, true, true), HOB_NONE);
	uint32_t joint = model_node(&m, "hip", HOB_NONE);
	uint32_t body = model_node(&m, "body", HOB_NONE);
	model_show(&m, body, mesh);
	m.nodes[body].skin = 0;
	float identity[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1};
	m.skin_count = 1;
	m.skins[0] = (hob_skin){.root = HOB_NONE, .joint_count = 1, .joints = &joint, .inverse_bind = identity};
	bool doomed[2] = {true, false};
	hob_model before = m;
	hob_error err = {0};
	assert_false(edited((attempt_t){.which = DELETE, .model = &m, .doomed = doomed}, &err));
	assert_int_equal(err.code, HOB_ERR_CONFIG);
	assert_memory_equal(&before, &m, sizeof m);
	doomed[1] = true;
	assert_true(edited((attempt_t){.which = DELETE, .model = &m, .doomed = doomed}, &err));
	model_check(&m);
}

static void merged_models_stand_side_by_side(void **state)
{
	(void)state;
	hob_model a = tiles(), b = tiles(), out;
	b.scenes[1] = (hob_scene){.name = HOB_STR("extra"), .root_count = 1};
	b.scene_count = 2;
	const hob_model *both[] = {&a, &b};
	hob_error err = {0};
	double one[4], two[4];
	assert_true(hob_model_merge(both, 2, &arena, &scratch, &out, &err));
	model_check(&out);
	model_moments(&a, one);
	model_moments(&out, two);
	for (int k = 0; k < 4; k++)
		one[k] *= 2;
	same_moments(one, two);
	assert_int_equal(out.scene_count, 2);
	assert_int_equal(out.scenes[0].root_count, 2);
	assert_int_equal(out.scenes[1].root_count, 1);
	assert_int_equal(out.scene_roots[2], a.node_count);
	assert_true(hob_str_equal(out.clips[1].name, HOB_STR("clip1_2")));
	assert_int_equal(out.clips[1].channels[0].node, a.clips[0].channels[0].node + a.node_count);
	assert_int_equal(out.meshes[a.mesh_count].material, a.material_count);
}

static void scale_reaches_everything_with_a_length(void **state)
{
	(void)state;
	hob_model m = tiles();
	m.camera_count = 2;
	m.cameras[1] = (hob_camera){
		.type = HOB_CAMERA_ORTHOGRAPHIC, .yfov_or_ymag = 4, .aspect_or_xmag = 6, .znear = 1, .zfar = 9};
	m.light_count = 1;
	m.lights[0] = (hob_light){.range = INFINITY, .intensity = 5};
	/* One track shared by a translation and a scale channel. */
	hob_clip *clip = &m.clips[0];
	clip->tracks[0].components = 3;
	clip->channel_count = 2;
	clip->channels = shape_alloc(&arena, 2, sizeof *clip->channels);
	clip->channels[0] = (hob_channel){1, HOB_PATH_SCALE, 0};
	clip->channels[1] = (hob_channel){1, HOB_PATH_TRANSLATION, 0};
	/* Two meshes that share one position array must not be scaled twice. */
	m.meshes[1] = m.meshes[0];
	float bind[32] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 2, 4, 6, 1,
					  1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 8, 0, 0, 1};
	uint32_t joints[2] = {0, 1};
	hob_skin skin = {.root = HOB_NONE, .joint_count = 2, .joints = joints, .inverse_bind = bind};
	m.skins[0] = skin;
	m.skin_count = 1;
	float x = m.meshes[0].position[3 * 8];
	double before[4], after[4];
	model_moments(&m, before);
	hob_error err = {0};
	assert_true(hob_model_scale(&m, 0.5f, &arena, &err));
	model_check(&m);
	model_moments(&m, after);
	assert_true(fabs(after[0] * 4 - before[0]) < 1e-4 * before[0]);
	for (int k = 1; k < 4; k++)
		assert_true(fabs(after[k] * 8 - before[k]) < 1e-4 * fabs(before[k]));
	assert_true(m.meshes[1].position[3 * 8] == x * 0.5f);
	assert_true(m.nodes[0].translation[1] == 3.5f);
	assert_true(m.cameras[0].yfov_or_ymag == 1 && m.cameras[0].zfar == INFINITY);
	assert_true(m.cameras[1].yfov_or_ymag == 2 && m.cameras[1].zfar == 4.5f);
	assert_true(m.lights[0].range == INFINITY && m.lights[0].intensity == 5);
	const float *scaled = m.skins[0].inverse_bind;
	assert_true(scaled[0] == 1 && scaled[12] == 1 && scaled[13] == 2 && scaled[14] == 3 && scaled[15] == 1);
	assert_true(scaled[16 + 12] == 4 && bind[12] == 2);
	assert_true(clip->tracks[clip->channels[0].track].values[0] == 1);
	assert_true(clip->tracks[clip->channels[1].track].values[0] == 0.5f);
}

static void bad_scales_are_refused(void **state)
{
	(void)state;
	const float bad[] = {0, -1, NAN, INFINITY};
	for (size_t i = 0; i < HOB_COUNT_OF(bad); i++) {
		hob_model m = tiles();
		hob_error err = {0};
		assert_false(hob_model_scale(&m, bad[i], &arena, &err));
		assert_int_equal(err.code, HOB_ERR_CONFIG);
	}
	hob_model m = tiles();
	hob_error err = {0};
	assert_false(hob_model_scale(&m, 1e38f, &arena, &err));
	assert_int_equal(err.code, HOB_ERR_CONFIG);
}

static void inverse_undoes(void **state)
{
	(void)state;
	uint64_t seed = 5;
	for (int round = 0; round < 1000; round++) {
		hob_affine a, inverse = {0};
		for (int i = 0; i < 12; i++)
			a.m[i] = (double)shape_random_float(&seed);
		if (fabs(hob_affine_determinant(&a)) < 1e-3)
			continue;
		assert_true(hob_affine_invert(&a, &inverse));
		hob_affine product = hob_affine_multiply(&a, &inverse), identity = hob_affine_identity();
		for (int i = 0; i < 12; i++)
			assert_true(fabs(product.m[i] - identity.m[i]) < 1e-9);
	}
	hob_affine flat = hob_affine_identity(), out;
	flat.m[4] = 0;
	assert_false(hob_affine_invert(&flat, &out));
}

static void every_failed_allocation_leaves_the_model(void **state)
{
	(void)state;
	for (int which = 0; which < 6; which++)
		for (uint32_t n = 1;; n++) {
			hob_model m = tiles(), before = m;
			hob_error err = {0};
			hob_arena *failing = which % 2 ? &scratch : &arena;
			failing->fail_at = n;
			bool doomed[MODEL_ROOM] = {false, true};
			int whole[] = {INSTANCES, MATERIAL, MERGE};
			attempt_t a = {.which = whole[which / 2], .model = &m, .doomed = doomed, .before = &before};
			bool ok = edited(a, &err);
			bool fired = failing->fail_at == 0;
			failing->fail_at = 0;
			if (ok && !fired)
				break;
			assert_false(ok);
			assert_int_equal(err.code, HOB_ERR_MEMORY);
			if (which < 4)
				assert_memory_equal(&m, &before, sizeof m);
			model_check(&m);
		}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(merging_instances_keeps_the_picture),
		TEST(unshown_originals_are_deleted),
		TEST(instances_of_different_scenes_stay_apart),
		TEST(skinned_and_morphed_nodes_are_left_alone),
		TEST(merging_a_material_keeps_the_picture),
		TEST(unknown_material_is_an_error),
		TEST(meshes_of_other_kinds_are_not_mixed),
		TEST(mirrored_copies_keep_their_fronts),
		TEST(deleting_a_node_takes_its_subtree_and_channels),
		TEST(deleting_a_needed_joint_is_refused),
		TEST(merged_models_stand_side_by_side),
		TEST(scale_reaches_everything_with_a_length),
		TEST(bad_scales_are_refused),
		TEST(inverse_undoes),
		TEST(every_failed_allocation_leaves_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
