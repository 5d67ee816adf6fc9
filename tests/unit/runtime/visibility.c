#include "rich.h"

/* OpenGL's perspective projection; depth -w..w. */
static void perspective(float yfov, float aspect, float near, float far, float out[16])
{
	float f = 1 / tanf(yfov / 2);
	memset(out, 0, 16 * sizeof *out);
	out[0] = f / aspect;
	out[5] = f;
	out[10] = (far + near) / (near - far);
	out[11] = -1;
	out[14] = 2 * far * near / (near - far);
}

static bool is_visible(const float m[16], const float p[3])
{
	double clip[4];
	for (int row = 0; row < 4; row++)
		clip[row] =
			(double)m[row] * p[0] + (double)m[4 + row] * p[1] + (double)m[8 + row] * p[2] + m[12 + row];
	for (int i = 0; i < 3; i++)
		if (fabs(clip[i]) > clip[3])
			return false;
	return true;
}

/* Compares with the definition of clip space, for boxes small enough to be points. */
static void a_point_is_inside_when_its_clip_coordinates_are(void **state)
{
	(void)state;
	float m[16];
	hob_rt_frustum frustum;
	uint32_t seed = 2, inside = 0;
	perspective(1, 1.5f, 0.5f, 50, m);
	hob_rt_frustum_init(&frustum, m);
	for (int i = 0; i < 20000; i++) {
		float p[4] = {random_float(&seed, -40, 40), random_float(&seed, -40, 40),
					  random_float(&seed, -60, 10), 0};
		bool visible = is_visible(m, p);
		inside += visible;
		assert_true((hob_rt_frustum_box(&frustum, p, p) != HOB_RT_OUTSIDE) == visible);
		assert_true((hob_rt_frustum_sphere(&frustum, p) != HOB_RT_OUTSIDE) == visible);
	}
	assert_true(inside > 500);
}

static void sides_tell_whole_boxes_from_cut_ones(void **state)
{
	(void)state;
	float m[16];
	hob_rt_frustum frustum;
	perspective(1, 1, 0.1f, 100, m);
	hob_rt_frustum_init(&frustum, m);
	const float in_min[3] = {-1, -1, -11}, in_max[3] = {1, 1, -9}, out_min[3] = {-1, -1, 9},
				out_max[3] = {1, 1, 11};
	const float big_min[3] = {-500, -500, -500}, big_max[3] = {500, 500, 500};
	assert_int_equal(hob_rt_frustum_box(&frustum, in_min, in_max), HOB_RT_INSIDE);
	assert_int_equal(hob_rt_frustum_box(&frustum, out_min, out_max), HOB_RT_OUTSIDE);
	assert_int_equal(hob_rt_frustum_box(&frustum, big_min, big_max), HOB_RT_CROSSING);
	const float whole[4] = {0, 0, -10, 1}, cut[4] = {0, 0, 0, 1}, behind[4] = {0, 0, 5, 1};
	assert_int_equal(hob_rt_frustum_sphere(&frustum, whole), HOB_RT_INSIDE);
	assert_int_equal(hob_rt_frustum_sphere(&frustum, cut), HOB_RT_CROSSING);
	assert_int_equal(hob_rt_frustum_sphere(&frustum, behind), HOB_RT_OUTSIDE);
}

static void an_infinite_far_plane_hides_nothing(void **state)
{
	(void)state;
	float m[16];
	hob_rt_frustum frustum;
	perspective(1, 1, 0.1f, 100, m);
	m[10] = -1;
	m[14] = -0.2f;
	hob_rt_frustum_init(&frustum, m);
	const float far_away[4] = {0, 0, -1e7f, 1};
	assert_int_equal(hob_rt_frustum_sphere(&frustum, far_away), HOB_RT_INSIDE);
	/* Reversed depth 0..w with infinite far plane: z = near, w = -z. */
	m[10] = 0;
	m[14] = 0.1f;
	hob_rt_frustum_init(&frustum, m);
	assert_int_equal(hob_rt_frustum_sphere(&frustum, far_away), HOB_RT_INSIDE);
	const float behind[4] = {0, 0, 5, 1};
	assert_int_equal(hob_rt_frustum_sphere(&frustum, behind), HOB_RT_OUTSIDE);
}

static void transformed_boxes_hold_their_corners_tightly(void **state)
{
	(void)state;
	uint32_t seed = 4;
	for (int round = 0; round < 200; round++) {
		float m[16], min[3], max[3], low[3], high[3], got_min[3], got_max[3];
		for (int i = 0; i < 16; i++)
			m[i] = i % 4 == 3 ? i == 15 : random_float(&seed, -2, 2);
		for (int i = 0; i < 3; i++) {
			min[i] = random_float(&seed, -2, 1);
			max[i] = min[i] + random_float(&seed, 0, 2);
			low[i] = 1e9f;
			high[i] = -1e9f;
		}
		for (int corner = 0; corner < 8; corner++)
			for (int row = 0; row < 3; row++) {
				float sum = m[12 + row];
				for (int i = 0; i < 3; i++)
					sum += m[i * 4 + row] * (corner >> i & 1 ? max[i] : min[i]);
				low[row] = sum < low[row] ? sum : low[row];
				high[row] = sum > high[row] ? sum : high[row];
			}
		hob_rt_transform_box(m, min, max, got_min, got_max);
		for (int i = 0; i < 3; i++) {
			assert_float_equal(got_min[i], low[i], 1e-5);
			assert_float_equal(got_max[i], high[i], 1e-5);
		}
	}
}

static void culling_keeps_what_the_camera_sees(void **state)
{
	(void)state;
	hob_rt_files files = rich_files();
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *instance;
	assert_true(hob_rt_instance_open(asset, &instance, NULL));
	assert_int_equal(asset->draw_count, 2);
	float m[16];
	hob_rt_frustum frustum;
	uint32_t draws[2];
	/* Looks along -Z from the origin: the box is at z = -5; the body encloses the eye at z = 0, behind the
	 * near plane. */
	perspective(0.5f, 1, 2.5f, 100, m);
	hob_rt_frustum_init(&frustum, m);
	assert_int_equal(hob_rt_cull(instance, &frustum, draws), 1);
	assert_int_equal(draws[0], 1);
	const float aside[3] = {50, 0, -5}, ahead[3] = {0, 0, -20};
	hob_rt_set_trs(instance, 5, aside, NULL, NULL);
	hob_rt_set_trs(instance, 3, ahead, NULL, NULL); /* the hip carries the skinned body */
	hob_rt_update(instance);
	assert_int_equal(hob_rt_cull(instance, &frustum, draws), 1);
	assert_int_equal(draws[0], 0);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free_files(&files);
}

/* The box of rich.h below a node that is hidden, and then shown by a clip from 0.5 s on. */
static void hidden_nodes_are_not_drawn(void **state)
{
	(void)state;
	static const double times[] = {0, 0.4, 0.5, 1};
	float m[16];
	hob_rt_frustum frustum;
	uint32_t draws[2];
	perspective(0.5f, 1, 2.5f, 100, m);
	hob_rt_frustum_init(&frustum, m);
	rich_box_flags = HOB_PK_NODE_HIDDEN;
	for (int appears = 0; appears < 2; appears++) {
		rich_box_appears = appears;
		hob_rt_files files = rich_files();
		hob_rt_asset *asset = open_good(&files);
		hob_rt_instance *instance;
		hob_rt_pose *pose, *rest;
		assert_true(hob_rt_instance_open(asset, &instance, NULL));
		assert_true(hob_rt_pose_open(asset, &pose, NULL));
		assert_true(hob_rt_pose_open(asset, &rest, NULL));
		assert_int_equal(hob_rt_cull(instance, &frustum, draws), 0);
		assert_false(hob_rt_is_visible(instance, 5) || hob_rt_is_visible(instance, 6));
		assert_true(hob_rt_is_visible(instance, 2));
		for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
			hob_rt_sample(asset, 0, times[i], NULL, pose);
			hob_rt_apply(pose, instance);
			assert_int_equal(hob_rt_is_visible(instance, 6), appears && times[i] >= 0.5);
		}
		/* A blend has the visibility of the poses with at least half of the weight. */
		for (int share = 1; share < 4; share++) {
			hob_rt_pose *mean;
			assert_true(hob_rt_pose_open(asset, &mean, NULL));
			hob_rt_blend_begin(mean);
			hob_rt_blend_add(mean, pose, (float)share / 4);
			hob_rt_blend_add(mean, rest, 1 - (float)share / 4);
			hob_rt_blend_end(mean);
			hob_rt_apply(mean, instance);
			assert_int_equal(hob_rt_is_visible(instance, 5), appears && share >= 2);
			hob_rt_pose_close(mean);
		}
		hob_rt_pose_close(pose);
		hob_rt_pose_close(rest);
		hob_rt_instance_close(instance);
		hob_rt_close(asset);
		free_files(&files);
	}
	rich_box_flags = rich_box_appears = 0;
}

static void levels_follow_the_projected_error(void **state)
{
	(void)state;
	const hob_rt_lod lods[4] = {{.error = 0}, {.error = 0.01f}, {.error = 0.1f}, {.error = 1}};
	hob_rt_mesh mesh = {.lods = lods, .lod_count = 4, .sphere = {0, 0, 0, 1}};
	const float one[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	const float three[16] = {1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	const float ppr = 1000;
	/* error * 1000 <= 1 pixel * distance to the sphere, that is the distance from the centre minus 1 */
	const struct {
		float distance;
		uint32_t lod;
	} cases[] = {{0, 0},	  {0.5f, 0}, {10.9f, 0},   {11.1f, 1}, {100, 1},
				 {101.1f, 2}, {1000, 2}, {1001.1f, 3}, {1e9f, 3}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const float eye[3] = {0, cases[i].distance, 0};
		assert_int_equal(hob_rt_choose_lod(&mesh, one, eye, ppr, 1), cases[i].lod);
	}
	const float eye[3] = {0, 0, 32};
	assert_int_equal(hob_rt_choose_lod(&mesh, one, eye, ppr, 1), 1);
	assert_int_equal(hob_rt_choose_lod(&mesh, three, eye, ppr, 1), 0);
	assert_int_equal(hob_rt_choose_lod(&mesh, three, eye, ppr, 1.5f), 1);
	mesh.lod_count = 0;
	assert_int_equal(hob_rt_choose_lod(&mesh, one, eye, ppr, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_point_is_inside_when_its_clip_coordinates_are),
		cmocka_unit_test(sides_tell_whole_boxes_from_cut_ones),
		cmocka_unit_test(an_infinite_far_plane_hides_nothing),
		cmocka_unit_test(transformed_boxes_hold_their_corners_tightly),
		cmocka_unit_test(culling_keeps_what_the_camera_sees),
		cmocka_unit_test(hidden_nodes_are_not_drawn),
		cmocka_unit_test(levels_follow_the_projected_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
