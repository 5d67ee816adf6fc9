#include "rich.h"

#include <float.h>

typedef struct stage {
	hob_rt_files files;
	hob_rt_asset *asset;
	hob_rt_instance *instance;
	hob_rt_pose *pose;
} stage_t;

static void open_stage(stage_t *s)
{
	s->files = rich_files();
	s->asset = open_good(&s->files);
	assert_true(hob_rt_instance_open(s->asset, &s->instance, NULL));
	assert_true(hob_rt_pose_open(s->asset, &s->pose, NULL));
}

static void close_stage(stage_t *s)
{
	hob_rt_pose_close(s->pose);
	hob_rt_instance_close(s->instance);
	hob_rt_close(s->asset);
	free_files(&s->files);
}

static void play(stage_t *s, double time)
{
	hob_rt_sample(s->asset, 0, time, NULL, s->pose);
	hob_rt_apply(s->pose, s->instance);
	hob_rt_update(s->instance);
}

static void palettes_are_global_times_inverse_bind(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	for (double time = 0; time <= 1; time += 0.25) {
		float palette[2][16], normals[2][12];
		play(&s, time);
		hob_rt_palette(s.instance, 0, palette[0], normals[0]);
		for (uint32_t j = 0; j < 2; j++) {
			double global[16], bind[16], expected[16];
			for (int i = 0; i < 16; i++) {
				global[i] = hob_rt_global(s.instance, s.asset->skins[0].joints[j])[i];
				bind[i] = hob_rt_inverse_bind(s.asset, 0, j)[i];
			}
			exact_multiply(global, bind, expected);
			assert_matrix(palette[j], expected, 1e-6);
			/* normals^T * palette's 3x3 is the identity */
			for (int a = 0; a < 3; a++)
				for (int b = 0; b < 3; b++) {
					float dot = 0, expected_dot = a == b ? 1.0f : 0.0f;
					for (int k = 0; k < 3; k++)
						dot += normals[j][a * 4 + k] * palette[j][b * 4 + k];
					assert_float_equal(dot, expected_dot, 1e-5);
				}
		}
	}
	close_stage(&s);
}

/* Two meshes with one skeleton: each skin has its own joint list and order, and its own matrices. */
static void skins_over_the_same_joints_have_matrices_of_their_own(void **state)
{
	(void)state;
	const uint32_t parents[] = {HOB_RT_NONE, 0, 1}, joints[] = {0, 1, 2, 2, 1};
	const hob_pk_skin skins[] = {{.joint_first = 0, .joint_count = 3}, {.joint_first = 3, .joint_count = 2}};
	hob_pk_mat4 binds[5];
	hob_pk_trs trs[3];
	memset(binds, 0, sizeof binds);
	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 4; k++)
			binds[i].m[k * 5] = 1;
		binds[i].m[12] = (float)(i + 1);
	}
	for (int i = 0; i < 3; i++) {
		trs[i] = rest_trs();
		trs[i].t[1] = 1;
	}
	maker *m = maker_new();
	maker_add(m, HOB_PK_SKIN, skins, 2, sizeof skins[0]);
	maker_add(m, HOB_PK_JNTS, joints, 5, 4);
	maker_add(m, HOB_PK_IBMS, binds, 5, sizeof binds[0]);
	hob_rt_files files = {
		.scene = make_scene(parents, 3, trs, NULL),
		.animations = maker_finish(m, HOB_PK_KIND_ANIM),
	};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *instance;
	assert_true(hob_rt_instance_open(asset, &instance, NULL));
	float first[3][16], second[2][16];
	hob_rt_palette(instance, 0, first[0], NULL);
	hob_rt_palette(instance, 1, second[0], NULL);
	for (int i = 0; i < 3; i++)
		assert_true(first[i][12] == (float)(i + 1) && first[i][13] == (float)(i + 1));
	assert_true(second[0][12] == 4 && second[0][13] == 3);
	assert_true(second[1][12] == 5 && second[1][13] == 2);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free_files(&files);
}

static void bind_pose_leaves_vertices_where_they_are(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	float palette[2][16];
	hob_rt_palette(s.instance, 0, palette[0], NULL);
	const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	assert_matrix(palette[0], identity, 1e-6);
	assert_matrix(palette[1], identity, 1e-6);
	close_stage(&s);
}

static void mirrored_and_flattened_joints_have_normal_matrices_without_surprises(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	const float mirror[3] = {-2, 1, 1}, flat[3] = {1, 0, 1};
	float palette[2][16], normals[2][12];
	hob_rt_set_trs(s.instance, 3, NULL, NULL, mirror);
	hob_rt_update(s.instance);
	hob_rt_palette(s.instance, 0, palette[0], normals[0]);
	assert_float_equal(normals[0][0], -0.5f, 1e-6);
	assert_float_equal(normals[0][5], 1, 1e-6);
	hob_rt_set_trs(s.instance, 3, NULL, NULL, flat);
	hob_rt_update(s.instance);
	hob_rt_palette(s.instance, 0, palette[0], normals[0]);
	assert_true(normals[0][5] > 0.5f); /* a flattened surface faces along the collapsed axis */
	for (int i = 0; i < 24; i++)
		assert_true(isfinite(normals[i / 12][i % 12]));
	close_stage(&s);
}

/* Position of a vertex, from the definition. */
static void skin_vertex(const stage_t *s, uint32_t vertex, double out[3])
{
	float palette[2][16], p[3], lean = hob_rt_weights(s->instance)[s->asset->draws[0].weight_first];
	hob_rt_palette(s->instance, 0, palette[0], NULL);
	memcpy(p, rich_positions[vertex], sizeof p);
	p[2] += vertex == 5 ? 4 * lean : 0;
	out[0] = out[1] = out[2] = 0;
	for (int k = 0; k < 4; k++)
		for (int row = 0; row < 3; row++) {
			const float *m = palette[rich_joints[vertex][k]];
			out[row] +=
				rich_weights[vertex][k] / 255.0 *
				((double)m[row] * p[0] + (double)m[4 + row] * p[1] + (double)m[8 + row] * p[2] + m[12 + row]);
		}
}

static void skinned_bounds_hold_every_vertex_and_are_not_loose(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	for (double time = 0; time <= 1; time += 0.0625) {
		float min[3], max[3];
		double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
		play(&s, time);
		assert_true(hob_rt_draw_bounds(s.instance, 0, min, max));
		for (uint32_t v = 0; v < RICH_SKINNED_VERTICES; v++) {
			double p[3];
			skin_vertex(&s, v, p);
			for (int i = 0; i < 3; i++) {
				assert_true(p[i] >= min[i] - 1e-5 && p[i] <= max[i] + 1e-5);
				low[i] = p[i] < low[i] ? p[i] : low[i];
				high[i] = p[i] > high[i] ? p[i] : high[i];
			}
		}
		assert_true(max[0] - min[0] < high[0] - low[0] + 1e-5);
	}
	float min[3], max[3];
	play(&s, 0);
	assert_true(hob_rt_draw_bounds(s.instance, 0, min, max));
	assert_float_equal(min[1], 0, 1e-6);
	assert_float_equal(max[1], 2, 1e-6);
	close_stage(&s);
}

static void morph_weights_come_from_the_node_the_clip_and_the_caller(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	uint32_t first = s.asset->draws[0].weight_first;
	assert_int_equal(s.asset->draws[0].weight_count, 1);
	assert_int_equal(s.asset->draws[1].weight_count, 0);
	assert_float_equal(hob_rt_weights(s.instance)[first], 0.25, 0); /* the node's, not the mesh's 0.125 */
	play(&s, 0.75);
	assert_float_equal(hob_rt_weights(s.instance)[first], 0.75, 1e-6);
	hob_rt_weights(s.instance)[first] = 0.5f;
	assert_float_equal(hob_rt_weights(s.instance)[first], 0.5, 0);
	hob_rt_pose_rest(s.pose);
	assert_float_equal(s.pose->weights[first], 0.25, 0);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(palettes_are_global_times_inverse_bind),
		cmocka_unit_test(skins_over_the_same_joints_have_matrices_of_their_own),
		cmocka_unit_test(bind_pose_leaves_vertices_where_they_are),
		cmocka_unit_test(mirrored_and_flattened_joints_have_normal_matrices_without_surprises),
		cmocka_unit_test(skinned_bounds_hold_every_vertex_and_are_not_loose),
		cmocka_unit_test(morph_weights_come_from_the_node_the_clip_and_the_caller),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
