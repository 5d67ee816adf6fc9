#include "maker.h"

/* Two nodes; clips "a" and "b" have constant poses, "c" moves, so that expected values are constants. */
static const float still[] = {0, 2};
static const float a_move[] = {1, 0, 0, 1, 0, 0}, b_move[] = {0, 4, 0, 0, 4, 0};
static const float a_turn[] = {0, 0, 0, 1, 0, 0, 0, 1};
static const float b_turn[] = {0, 0, 0.70710678f, 0.70710678f, 0, 0, 0.70710678f, 0.70710678f};
static const float c_move[] = {2, 2, 2, 4, 2, 2};
static const float c_turn[] = {0, 0, 0, 1, 0, 0, 0.70710678f, 0.70710678f};
static const float c_scale[] = {2, 2, 0, 4, 2, 5};
static const test_track a_tracks[] = {{1, HOB_PK_PATH_TRANSLATION, HOB_PK_LINEAR, 3, 2, still, a_move},
									  {1, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 2, still, a_turn}};
static const test_track b_tracks[] = {{1, HOB_PK_PATH_TRANSLATION, HOB_PK_LINEAR, 3, 2, still, b_move},
									  {1, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 2, still, b_turn}};
static const test_track c_tracks[] = {{1, HOB_PK_PATH_TRANSLATION, HOB_PK_LINEAR, 3, 2, still, c_move},
									  {1, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 2, still, c_turn},
									  {1, HOB_PK_PATH_SCALE, HOB_PK_LINEAR, 3, 2, still, c_scale}};
static const test_clip clips[] = {
	{"a", 0, 2, a_tracks, 2}, {"b", 0, 2, b_tracks, 2}, {"c", 0, 2, c_tracks, 3}};

typedef struct stage {
	hob_rt_files files;
	hob_rt_asset *asset;
	hob_rt_pose *poses[4];
	hob_rt_instance *instance;
} stage_t;

static void open_stage(stage_t *s)
{
	const uint32_t parents[] = {HOB_RT_NONE, 0};
	hob_pk_trs trs[2] = {rest_trs(), rest_trs()};
	trs[1].t[2] = 8;
	*s = (stage_t){0};
	s->files.scene = make_scene(parents, 2, trs, NULL);
	s->files.animations = make_clips(clips, 3);
	s->asset = open_good(&s->files);
	for (int i = 0; i < 4; i++)
		assert_true(hob_rt_pose_open(s->asset, &s->poses[i], NULL));
	assert_true(hob_rt_instance_open(s->asset, &s->instance, NULL));
}

static void close_stage(stage_t *s)
{
	for (int i = 0; i < 4; i++)
		hob_rt_pose_close(s->poses[i]);
	hob_rt_instance_close(s->instance);
	hob_rt_close(s->asset);
	free_files(&s->files);
}

static void expect_translation(const hob_rt_pose *pose, float x, float y, float z)
{
	assert_float_equal(pose->translation[0][0], x, 1e-5);
	assert_float_equal(pose->translation[1][0], y, 1e-5);
	assert_float_equal(pose->translation[2][0], z, 1e-5);
}

static double turn_of(const hob_rt_pose *pose)
{
	return 2 * atan2(pose->rotation[2][0], pose->rotation[3][0]) * 180 / 3.14159265358979;
}

static void mix(stage_t *s, float a, float b)
{
	hob_rt_sample(s->asset, 0, 0, NULL, s->poses[0]);
	hob_rt_sample(s->asset, 1, 0, NULL, s->poses[1]);
	hob_rt_blend_begin(s->poses[2]);
	hob_rt_blend_add(s->poses[2], s->poses[0], a);
	hob_rt_blend_add(s->poses[2], s->poses[1], b);
	hob_rt_blend_end(s->poses[2]);
}

static void weights_make_a_mean(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	mix(&s, 0.25f, 0.75f);
	expect_translation(s.poses[2], 0.25f, 3, 0);
	mix(&s, 0.5f, 0.5f);
	assert_float_equal(turn_of(s.poses[2]), 45, 1e-4);
	mix(&s, 3, 1);
	expect_translation(s.poses[2], 0.75f, 1, 0);
	mix(&s, 1, 0);
	expect_translation(s.poses[2], 1, 0, 0);
	mix(&s, -5, 1);
	expect_translation(s.poses[2], 0, 4, 0);
	assert_float_equal(turn_of(s.poses[2]), 90, 1e-4);
	close_stage(&s);
}

static void missing_weight_is_the_rest_pose(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	mix(&s, 0.25f, 0.25f);
	expect_translation(s.poses[2], 0.25f, 1, 4);
	mix(&s, 0, 0);
	expect_translation(s.poses[2], 0, 0, 8);
	assert_float_equal(turn_of(s.poses[2]), 0, 1e-4);
	mix(&s, NAN, NAN);
	expect_translation(s.poses[2], 0, 0, 8);
	close_stage(&s);
}

static void opposite_signs_of_one_rotation_do_not_cancel(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	hob_rt_sample(s.asset, 1, 0, NULL, s.poses[0]);
	hob_rt_pose_copy(s.poses[1], s.poses[0]);
	for (int i = 0; i < 4; i++)
		s.poses[1]->rotation[i][0] = -s.poses[1]->rotation[i][0];
	hob_rt_blend_begin(s.poses[2]);
	hob_rt_blend_add(s.poses[2], s.poses[0], 0.5f);
	hob_rt_blend_add(s.poses[2], s.poses[1], 0.5f);
	hob_rt_blend_end(s.poses[2]);
	assert_float_equal(turn_of(s.poses[2]), 90, 1e-4);
	close_stage(&s);
}

static void additive_adds_the_way_from_the_reference(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	for (float weight = 0; weight <= 1; weight += 0.25f) {
		hob_rt_sample(s.asset, 1, 0, NULL, s.poses[0]);
		hob_rt_sample(s.asset, 2, 2, NULL, s.poses[1]);
		hob_rt_sample(s.asset, 2, 0, NULL, s.poses[2]);
		hob_rt_blend_additive(s.poses[0], s.poses[1], s.poses[2], weight);
		expect_translation(s.poses[0], 2 * weight, 4, 0);
		assert_float_equal(turn_of(s.poses[0]), 90 + 90 * weight, 1e-3);
		assert_float_equal(s.poses[0]->scale[0][0], 1 + weight, 1e-5);
		assert_float_equal(s.poses[0]->scale[2][0], 1, 1e-5); /* the reference's scale is 0 there */
	}
	close_stage(&s);
}

/* A rotation of 270 degrees between reference and pose is added as 90 degrees in reverse. */
static void additive_turns_the_short_way(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	hob_rt_sample(s.asset, 2, 2, NULL, s.poses[1]);
	hob_rt_sample(s.asset, 2, 0, NULL, s.poses[2]);
	for (int i = 0; i < 4; i++)
		s.poses[1]->rotation[i][0] = -s.poses[1]->rotation[i][0];
	hob_rt_pose_rest(s.poses[0]);
	hob_rt_blend_additive(s.poses[0], s.poses[1], s.poses[2], 0.5f);
	assert_float_equal(turn_of(s.poses[0]), 45, 1e-3);
	hob_rt_blend_additive(s.poses[0], s.poses[1], s.poses[2], NAN);
	assert_float_equal(turn_of(s.poses[0]), 45, 1e-3);
	close_stage(&s);
}

static float x_of(const stage_t *s)
{
	hob_rt_update(s->instance);
	return hob_rt_global(s->instance, 1)[12];
}

static void a_cross_fade_passes_smoothly_from_one_clip_to_the_next(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	hob_rt_player *player;
	uint32_t count;
	assert_true(hob_rt_player_open(s.asset, 3, &player, NULL));
	hob_rt_layer *layers = hob_rt_player_layers(player, &count);
	assert_int_equal(count, 3);
	uint32_t first = hob_rt_player_play(player, 0, 0, 1, true);
	hob_rt_player_advance(player, 0.1, s.instance);
	assert_float_equal(x_of(&s), 1, 1e-5);
	uint32_t second = hob_rt_player_play(player, 1, 1, 1, true);
	assert_true(first != second);
	for (int i = 1; i <= 4; i++) {
		hob_rt_player_advance(player, 0.25, s.instance);
		assert_float_equal(x_of(&s), 1 - 0.25f * (float)i, 1e-5);
		assert_float_equal(hob_rt_global(s.instance, 1)[13], (float)i, 1e-4);
	}
	assert_int_equal(layers[first].clip, HOB_RT_NONE);
	assert_float_equal(layers[second].weight, 1, 0);
	hob_rt_player_stop(player, second, 0.5f);
	hob_rt_player_advance(player, 5, s.instance);
	assert_int_equal(layers[second].clip, HOB_RT_NONE);
	assert_float_equal(hob_rt_global(s.instance, 1)[12], 0, 1);
	hob_rt_update(s.instance);
	assert_float_equal(hob_rt_global(s.instance, 1)[14], 8, 1e-5); /* rest */
	hob_rt_player_close(player);
	close_stage(&s);
}

static void players_loop_clamp_and_run_backwards(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	hob_rt_player *player;
	uint32_t count;
	assert_true(hob_rt_player_open(s.asset, 1, &player, NULL));
	hob_rt_layer *layers = hob_rt_player_layers(player, &count);
	hob_rt_player_play(player, 2, 0, 1, true);
	hob_rt_player_advance(player, 2.5, s.instance);
	assert_float_equal(layers[0].time, 0.5, 1e-6);
	assert_float_equal(x_of(&s), 2.5f, 1e-5);
	hob_rt_player_advance(player, -1, s.instance);
	assert_float_equal(layers[0].time, 1.5, 1e-6);
	hob_rt_player_advance(player, NAN, s.instance);
	assert_float_equal(layers[0].time, 1.5, 1e-6);
	hob_rt_player_play(player, 2, 0, -2, false);
	assert_float_equal(layers[0].time, 2, 0);
	hob_rt_player_advance(player, 0.5, s.instance);
	assert_float_equal(layers[0].time, 1, 1e-6);
	hob_rt_player_advance(player, 50, s.instance);
	assert_float_equal(layers[0].time, 0, 0);
	assert_float_equal(x_of(&s), 2, 1e-5);
	hob_rt_player_close(player);
	close_stage(&s);
}

static void additive_layers_ride_on_the_others(void **state)
{
	(void)state;
	stage_t s;
	open_stage(&s);
	hob_rt_player *player;
	assert_true(hob_rt_player_open(s.asset, 4, &player, NULL));
	hob_rt_player_play(player, 1, 0, 1, true);
	hob_rt_player_add(player, 2, 1, 0, 1, false);
	hob_rt_player_advance(player, 1, s.instance);
	assert_float_equal(x_of(&s), 1, 1e-5);
	assert_float_equal(hob_rt_global(s.instance, 1)[13], 4, 1e-5);
	hob_rt_player_play(player, 0, 0, 1, true); /* replaces b, leaves the additive layer */
	hob_rt_player_advance(player, 1, s.instance);
	assert_float_equal(x_of(&s), 3, 1e-5);
	hob_rt_player_close(player);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_make_a_mean),
		cmocka_unit_test(missing_weight_is_the_rest_pose),
		cmocka_unit_test(opposite_signs_of_one_rotation_do_not_cancel),
		cmocka_unit_test(additive_adds_the_way_from_the_reference),
		cmocka_unit_test(additive_turns_the_short_way),
		cmocka_unit_test(a_cross_fade_passes_smoothly_from_one_clip_to_the_next),
		cmocka_unit_test(players_loop_clamp_and_run_backwards),
		cmocka_unit_test(additive_layers_ride_on_the_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
