#include "maker.h"

/* One node per tested property, in one clip or in several. */
typedef struct stage {
	hob_rt_files files;
	hob_rt_asset *asset;
	hob_rt_pose *pose;
} stage_t;

static const uint32_t flat_parents[] = {HOB_RT_NONE, 0, 0, 0, 0, 0};

static stage_t open_stage(const test_clip *clips, uint32_t count, const hob_pk_trs *trs)
{
	stage_t s = {{{0}, {0}, {0}, {0}}, NULL, NULL};
	s.files.scene = make_scene(flat_parents, 6, trs, NULL);
	s.files.animations = make_clips(clips, count);
	s.asset = open_good(&s.files);
	assert_true(hob_rt_pose_open(s.asset, &s.pose, NULL));
	return s;
}

static void close_stage(stage_t *s)
{
	hob_rt_pose_close(s->pose);
	hob_rt_close(s->asset);
	free_files(&s->files);
}

/* Samples node 1, the only animated one of a clip with a single track. */
static const float *sample_one(const test_track *track, double time, float out[4])
{
	test_clip clip = {"clip", track->times[0], track->times[track->key_count - 1], track, 1};
	stage_t s = open_stage(&clip, 1, NULL);
	assert_int_equal(s.asset->animated_count, 1);
	hob_rt_sample(s.asset, 0, time, NULL, s.pose);
	float *const *rows = track->path == HOB_PK_PATH_TRANSLATION ? s.pose->translation
						 : track->path == HOB_PK_PATH_SCALE		? s.pose->scale
																: s.pose->rotation;
	for (uint32_t i = 0; i < track->components; i++)
		out[i] = rows[i][0];
	close_stage(&s);
	return out;
}

static void lerp_goes_from_the_earlier_key_to_the_later(void **state)
{
	(void)state;
	const float times[] = {1, 3}, values[] = {0, 100, -4, 10, 0, 4};
	const test_track track = {1, HOB_PK_PATH_TRANSLATION, HOB_PK_LINEAR, 3, 2, times, values};
	float v[4];
	sample_one(&track, 1.5, v);
	assert_true(v[0] == 2.5f && v[1] == 75 && v[2] == -2);
}

static void keys_give_their_own_values_and_the_ends_hold(void **state)
{
	(void)state;
	const float times[] = {0.1f, 0.25f, 3.3f};
	float plain[9], cubic[27];
	uint32_t seed = 5;
	for (int i = 0; i < 9; i++)
		plain[i] = random_float(&seed, -9, 9);
	for (int i = 0; i < 27; i++)
		cubic[i] = i / 3 % 3 == 1 ? plain[i / 9 * 3 + i % 3] : 1000;
	for (uint32_t mode = HOB_PK_STEP; mode <= HOB_PK_CUBICSPLINE; mode++) {
		const test_track track = {
			1, HOB_PK_PATH_SCALE, mode, 3, 3, times, mode == HOB_PK_CUBICSPLINE ? cubic : plain};
		float v[4];
		for (int k = 0; k < 3; k++)
			assert_memory_equal(sample_one(&track, times[k], v), plain + k * 3, 3 * sizeof(float));
		assert_memory_equal(sample_one(&track, -50, v), plain, 3 * sizeof(float));
		assert_memory_equal(sample_one(&track, 50, v), plain + 6, 3 * sizeof(float));
	}
}

static void rotation_keys_give_their_own_values_too(void **state)
{
	(void)state;
	const float times[] = {0, 1, 2};
	float keys[12], v[4];
	uint32_t seed = 11;
	for (int k = 0; k < 3; k++)
		random_quat(&seed, keys + k * 4);
	const test_track track = {1, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 3, times, keys};
	for (int k = 0; k < 3; k++)
		assert_memory_equal(sample_one(&track, times[k], v), keys + k * 4, sizeof v);
}

static void step_holds(void **state)
{
	(void)state;
	const float times[] = {0, 1, 2}, values[] = {1, 1, 1, 2, 2, 2, 3, 3, 3};
	const test_track track = {1, HOB_PK_PATH_TRANSLATION, HOB_PK_STEP, 3, 3, times, values};
	float v[4];
	assert_true(sample_one(&track, 0.999, v)[0] == 1);
	assert_true(sample_one(&track, 1.001, v)[0] == 2);
}

/* A cubic polynomial is its own Hermite interpolant; tangents are per second, which unequal intervals
 * verify. */
static void cubic_follows_its_tangents_scaled_by_the_distance_of_keys(void **state)
{
	(void)state;
	const float times[] = {0, 2, 5};
	float values[27];
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 3; i++) {
			float x = times[k], slope = 3 * x * x - 4 * x;
			values[k * 9 + i] = values[k * 9 + 6 + i] = slope;
			values[k * 9 + 3 + i] = x * x * x - 2 * x * x + (float)i;
		}
	const test_track track = {1, HOB_PK_PATH_TRANSLATION, HOB_PK_CUBICSPLINE, 3, 3, times, values};
	for (float x = 0; x <= 5; x += 0.25f) {
		float v[4];
		sample_one(&track, x, v);
		for (int i = 0; i < 3; i++)
			assert_float_equal(v[i], x * x * x - 2 * x * x + (float)i, 1e-4);
	}
}

static double angle_between(const float a[4], const double b[4])
{
	double dot = 0, an = 0, bn = 0;
	for (int i = 0; i < 4; i++) {
		dot += a[i] * b[i];
		an += (double)a[i] * a[i];
		bn += b[i] * b[i];
	}
	double c = fabs(dot) / sqrt(an * bn);
	return 2 * acos(c < 1 ? c : 1);
}

static void slerp_takes_the_short_way_at_constant_speed(void **state)
{
	(void)state;
	const float times[] = {0, 1};
	const double angles[] = {1e-4, 0.003, 0.1, 1, 2, 3, 3.1};
	for (size_t a = 0; a < sizeof angles / sizeof angles[0]; a++)
		for (int sign = -1; sign <= 1; sign += 2) {
			double half = angles[a] / 2;
			float keys[8] = {
				0, 0, 0, 1, (float)(0.6 * sin(half)), 0, (float)(0.8 * sin(half)), (float)cos(half)};
			for (int i = 4; i < 8; i++)
				keys[i] *= (float)sign;
			const test_track track = {1, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 2, times, keys};
			for (double t = 0; t <= 1; t += 0.125) {
				float v[4], length = 0;
				const double expected[4] = {0.6 * sin(half * t), 0, 0.8 * sin(half * t), cos(half * t)};
				sample_one(&track, t, v);
				for (int i = 0; i < 4; i++)
					length += v[i] * v[i];
				assert_true(fabsf(length - 1) < 1e-6f);
				for (int i = 0; i < 4; i++)
					assert_true(fabs(fabs(v[i]) - fabs(expected[i])) < 4e-7);
				assert_true(angle_between(v, expected) < 1.2e-3); /* acos near 1 is not more accurate */
			}
		}
}

static void cubic_rotations_come_out_normalised(void **state)
{
	(void)state;
	const float times[] = {0, 1};
	const float keys[24] = {0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
	const test_track track = {1, HOB_PK_PATH_ROTATION, HOB_PK_CUBICSPLINE, 4, 2, times, keys};
	float v[4];
	sample_one(&track, 0.5, v);
	assert_float_equal(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3], 1, 1e-6);
	assert_true(v[0] > 0.1f && v[1] > 0.1f);
}

static void no_input_gives_a_number_that_is_none(void **state)
{
	(void)state;
	const float times[] = {0, 1, 2},
				huge[] = {1e15f, -1e15f, 1e15f, -1e15f, 1e15f, -1e15f, 1e15f, 1e15f, 1e15f};
	const float zeros[12] = {0};
	float wild[36];
	for (int i = 0; i < 36; i++)
		wild[i] = i % 3 ? 1e15f : -1e15f;
	const test_track tracks[] = {
		{1, HOB_PK_PATH_TRANSLATION, HOB_PK_LINEAR, 3, 3, times, huge},
		{2, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 3, times, zeros},
		{3, HOB_PK_PATH_ROTATION, HOB_PK_STEP, 4, 3, times, zeros},
		{4, HOB_PK_PATH_ROTATION, HOB_PK_CUBICSPLINE, 4, 3, times, wild},
		{5, HOB_PK_PATH_SCALE, HOB_PK_CUBICSPLINE, 3, 3, times, wild},
	};
	const test_clip clip = {"wild", 0, 2, tracks, 5};
	stage_t s = open_stage(&clip, 1, NULL);
	const double moments[] = {-1, 0, 0.3, 1, 1.7, 2, 3, NAN, INFINITY, -INFINITY, 1e308};
	for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
		hob_rt_sample(s.asset, 0, moments[i], NULL, s.pose);
		for (uint32_t slot = 0; slot < s.asset->animated_count; slot++) {
			float length = 0;
			for (int k = 0; k < 3; k++)
				assert_true(isfinite(s.pose->translation[k][slot]) && isfinite(s.pose->scale[k][slot]));
			for (int k = 0; k < 4; k++)
				length += s.pose->rotation[k][slot] * s.pose->rotation[k][slot];
			assert_true(fabsf(length - 1) < 1e-5f);
		}
	}
	close_stage(&s);
}

static void missing_tracks_take_the_rest_pose(void **state)
{
	(void)state;
	const float times[] = {0, 1}, ones[] = {1, 1, 1, 2, 2, 2}, turned[] = {0, 0, 1, 0, 0, 0, 1, 0};
	const test_track a[] = {{1, HOB_PK_PATH_TRANSLATION, HOB_PK_LINEAR, 3, 2, times, ones}};
	const test_track b[] = {{1, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 2, times, turned},
							{4, HOB_PK_PATH_SCALE, HOB_PK_LINEAR, 3, 2, times, ones}};
	const test_clip clips[] = {{"a", 0, 1, a, 1}, {"b", 0, 1, b, 2}};
	hob_pk_trs trs[6];
	for (int i = 0; i < 6; i++) {
		trs[i] = rest_trs();
		trs[i].t[0] = (float)(i * 10);
		trs[i].s[1] = 3;
	}
	stage_t s = open_stage(clips, 2, trs);
	hob_rt_instance *instance;
	assert_true(hob_rt_instance_open(s.asset, &instance, NULL));
	assert_int_equal(s.asset->animated_count, 2);
	assert_true(s.asset->animated[0] == 1 && s.asset->animated[1] == 4);
	const float mine[3] = {5, 5, 5};
	hob_rt_set_trs(instance, 4, mine, NULL, NULL);
	hob_rt_sample(s.asset, 1, 0, NULL, s.pose);
	hob_rt_apply(s.pose, instance);
	float t[3], r[4], scale[3];
	hob_rt_get_trs(instance, 1, t, r, scale);
	assert_true(t[0] == 10 && r[2] == 1 && scale[1] == 3);
	hob_rt_get_trs(instance, 4, t, r, scale);
	assert_true(scale[1] == 1 && t[0] == 5); /* not animated: keeps the caller's translation */
	hob_rt_sample(s.asset, 0, 1, NULL, s.pose);
	hob_rt_apply(s.pose, instance);
	hob_rt_get_trs(instance, 1, t, r, scale);
	assert_true(t[0] == 2 && r[3] == 1);
	hob_rt_get_trs(instance, 4, t, r, scale);
	assert_true(scale[1] == 3); /* clip b's scale ends with clip b */
	hob_rt_update(instance);
	hob_rt_apply(s.pose, instance);
	assert_int_equal(hob_rt_update(instance), 0); /* the same pose again moves nothing */
	hob_rt_instance_close(instance);
	close_stage(&s);
}

/* The reference's player stopped after the first applied channel. */
static void every_channel_is_applied(void **state)
{
	(void)state;
	enum { NODES = 40 };
	uint32_t parents[NODES], seed = 1;
	float times[2] = {0, 1}, *quats = calloc(NODES * 8, sizeof *quats);
	test_track tracks[NODES];
	for (uint32_t i = 0; i < NODES; i++) {
		parents[i] = HOB_RT_NONE;
		random_quat(&seed, quats + i * 8);
		random_quat(&seed, quats + i * 8 + 4);
		tracks[i] = (test_track){i, HOB_PK_PATH_ROTATION, HOB_PK_LINEAR, 4, 2, times, quats + i * 8};
	}
	const test_clip clip = {"all", 0, 1, tracks, NODES};
	hob_rt_files files = {.scene = make_scene(parents, NODES, NULL, NULL),
						  .animations = make_clips(&clip, 1)};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_pose *pose;
	assert_true(hob_rt_pose_open(asset, &pose, NULL));
	hob_rt_sample(asset, 0, 0.25, NULL, pose);
	for (uint32_t i = 0; i < NODES; i++) {
		const float *a = quats + i * 8, *b = a + 4;
		double dot = 0, expected[4];
		for (int k = 0; k < 4; k++)
			dot += (double)a[k] * b[k];
		double angle = acos(fabs(dot)), sign = dot < 0 ? -1 : 1;
		for (int k = 0; k < 4; k++)
			expected[k] = (sin(0.75 * angle) * a[k] + sign * sin(0.25 * angle) * b[k]) / sin(angle);
		for (int k = 0; k < 4; k++)
			assert_float_equal(pose->rotation[k][i], expected[k], 1e-6);
	}
	hob_rt_pose_close(pose);
	hob_rt_close(asset);
	free_files(&files);
	free(quats);
}

static void cursors_never_change_the_result(void **state)
{
	(void)state;
	enum { KEYS = 100 };
	float times[KEYS], values[KEYS * 3];
	uint32_t seed = 9;
	for (int k = 0; k < KEYS; k++)
		times[k] = (float)k * 0.1f + random_float(&seed, 0, 0.05f);
	for (int i = 0; i < KEYS * 3; i++)
		values[i] = random_float(&seed, -1, 1);
	const test_track track = {1, HOB_PK_PATH_TRANSLATION, HOB_PK_LINEAR, 3, KEYS, times, values};
	const test_clip clip = {"clip", times[0], times[KEYS - 1], &track, 1};
	stage_t s = open_stage(&clip, 1, NULL);
	hob_rt_pose *other;
	assert_true(hob_rt_pose_open(s.asset, &other, NULL));
	uint32_t cursor = 0;
	double time = 0;
	for (int i = 0; i < 5000; i++) {
		uint32_t kind = next_random(&seed) % 8;
		time = kind == 0   ? random_float(&seed, -1, 12)
			   : kind == 1 ? times[next_random(&seed) % KEYS]
			   : kind == 2 ? time - 0.07
						   : time + 0.03;
		if (kind == 3)
			cursor = next_random(&seed);
		hob_rt_sample(s.asset, 0, time, &cursor, s.pose);
		hob_rt_sample(s.asset, 0, time, NULL, other);
		for (int k = 0; k < 3; k++)
			assert_true(s.pose->translation[k][0] == other->translation[k][0]);
	}
	hob_rt_pose_close(other);
	close_stage(&s);
}

static void time_loops_with_its_remainder_in_both_directions(void **state)
{
	(void)state;
	hob_rt_clip clip = {"", 2, 5, 0, 0, {0}, {0}};
	assert_float_equal(hob_rt_clip_time(&clip, 5.5, true), 2.5, 1e-12);
	assert_float_equal(hob_rt_clip_time(&clip, 12.25, true), 3.25, 1e-12);
	assert_float_equal(hob_rt_clip_time(&clip, 1.5, true), 4.5, 1e-12);
	assert_float_equal(hob_rt_clip_time(&clip, -100, true), 2, 1e-12);
	assert_float_equal(hob_rt_clip_time(&clip, 5, true), 2, 0);
	assert_float_equal(hob_rt_clip_time(&clip, 5.5, false), 5, 0);
	assert_float_equal(hob_rt_clip_time(&clip, 1, false), 2, 0);
	assert_float_equal(hob_rt_clip_time(&clip, 3, false), 3, 0);
	assert_float_equal(hob_rt_clip_time(&clip, NAN, true), 2, 0);
	assert_float_equal(hob_rt_clip_time(&clip, -INFINITY, false), 2, 0);
	hob_rt_clip point = {"", 3, 3, 0, 0, {0}, {0}}, backwards = {"", 3, 1, 0, 0, {0}, {0}};
	assert_float_equal(hob_rt_clip_time(&point, 7, true), 3, 0);
	assert_float_equal(hob_rt_clip_time(&point, 7, false), 3, 0);
	assert_float_equal(hob_rt_clip_time(&backwards, 2, true), 3, 0);
	hob_rt_clip early = {"", -3, -1, 0, 0, {0}, {0}};
	assert_float_equal(hob_rt_clip_time(&early, 0, true), -2, 1e-12);
	assert_float_equal(hob_rt_clip_time(&early, 0, false), -1, 0);
	for (double t = -20; t < 20; t += 0.37) {
		double wrapped = hob_rt_clip_time(&clip, t, true);
		assert_true(wrapped >= 2 && wrapped < 5 && fabs(remainder(wrapped - t, 3)) < 1e-9);
	}
}

static void clips_are_found_by_their_whole_name(void **state)
{
	(void)state;
	const float times[] = {0}, values[] = {1, 2, 3};
	const test_track track = {1, HOB_PK_PATH_SCALE, HOB_PK_LINEAR, 3, 1, times, values};
	const test_clip clips[] = {
		{"rig|walk", 0, 0, &track, 1}, {"walk", 0, 0, &track, 1}, {"empty", 0, 0, NULL, 0}};
	stage_t s = open_stage(clips, 3, NULL);
	assert_int_equal(hob_rt_find_clip(s.asset, "walk"), 1);
	assert_int_equal(hob_rt_find_clip(s.asset, "rig|walk"), 0);
	assert_int_equal(hob_rt_find_clip(s.asset, "rig"), HOB_RT_NONE);
	hob_rt_sample(s.asset, 0, 9, NULL, s.pose);
	assert_true(s.pose->scale[2][0] == 3);
	hob_rt_sample(s.asset, 2, 9, NULL, s.pose);
	assert_true(s.pose->scale[2][0] == 1);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lerp_goes_from_the_earlier_key_to_the_later),
		cmocka_unit_test(keys_give_their_own_values_and_the_ends_hold),
		cmocka_unit_test(rotation_keys_give_their_own_values_too),
		cmocka_unit_test(step_holds),
		cmocka_unit_test(cubic_follows_its_tangents_scaled_by_the_distance_of_keys),
		cmocka_unit_test(slerp_takes_the_short_way_at_constant_speed),
		cmocka_unit_test(cubic_rotations_come_out_normalised),
		cmocka_unit_test(no_input_gives_a_number_that_is_none),
		cmocka_unit_test(missing_tracks_take_the_rest_pose),
		cmocka_unit_test(every_channel_is_applied),
		cmocka_unit_test(cursors_never_change_the_result),
		cmocka_unit_test(time_loops_with_its_remainder_in_both_directions),
		cmocka_unit_test(clips_are_found_by_their_whole_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
