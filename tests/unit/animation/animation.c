#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "core/animation/animation.h"
#include "core/animation/clip_bounds.h"
#include "core/animation/curve.h"

#include <float.h>
#include <math.h>

/* An arm of two joints, each one metre long, bent by clips; a bar of vertices around it is skinned to it. The
 * baked scene shifts ids by ten so that a forgotten mapping is noticed. */
typedef struct fixture {
	hob_arena result, scratch, note_memory;
	hob_notes notes;
	hob_model model;
	hob_baked_scene scene;
	hob_node nodes[3];
	uint32_t mesh_refs[1], joints[2], node_of_model[3];
	hob_mesh mesh;
	float position[6 * 3], weights[6 * 4], inverse_bind[2 * 16];
	uint16_t influences[6 * 4];
	hob_skin skin;
	hob_clip clips[4];
	hob_channel channels[8];
	hob_track tracks[8];
	hob_baked_hierarchy hierarchy[1];
	float aabb[6];
} fixture_t;

static hob_node identity_node(uint32_t parent)
{
	return (hob_node){.parent = parent,
					  .rotation = {0, 0, 0, 1},
					  .scale = {1, 1, 1},
					  .skin = HOB_NONE,
					  .camera = HOB_NONE,
					  .light = HOB_NONE};
}

static void set_up(fixture_t *f)
{
	*f = (fixture_t){0};
	hob_arena_init(&f->result, 1 << 24);
	hob_arena_init(&f->scratch, 1 << 24);
	hob_arena_init(&f->note_memory, 1 << 20);
	f->notes.arena = &f->note_memory;
	f->nodes[0] = identity_node(HOB_NONE);
	f->nodes[1] = identity_node(0);
	f->nodes[2] = identity_node(HOB_NONE);
	f->nodes[1].translation[1] = 1;
	f->nodes[2].skin = 0;
	f->nodes[2].mesh_count = 1;
	f->nodes[2].translation[0] = 500; /* a skinned mesh does not follow its own node */
	for (int v = 0; v < 6; v++) {
		f->position[v * 3] = v % 2 ? 0.1f : -0.1f;
		f->position[v * 3 + 1] = (float)(v / 2);
		f->influences[v * 4] = v >= 2;
		f->weights[v * 4] = 2; /* weights are normalised by their sum */
	}
	f->mesh = (hob_mesh){.material = HOB_NONE,
						 .vertex_count = 6,
						 .position = f->position,
						 .influence_count = 4,
						 .joints = f->influences,
						 .weights = f->weights};
	f->joints[1] = 1;
	for (int j = 0; j < 2; j++) {
		for (int i = 0; i < 4; i++)
			f->inverse_bind[j * 16 + i * 5] = 1;
		f->inverse_bind[j * 16 + 13] = (float)-j;
	}
	f->skin = (hob_skin){
		.name = HOB_STR("arm"), .joint_count = 2, .joints = f->joints, .inverse_bind = f->inverse_bind};
	for (uint32_t i = 0; i < 3; i++)
		f->node_of_model[i] = 10 + i;
	f->hierarchy[0].parent = -1;
	memcpy(f->aabb, (float[6]){0, 0, 0, 2, 0, 0}, sizeof f->aabb);
	f->scene = (hob_baked_scene){
		.node_count = 1, .hierarchy = f->hierarchy, .aabb = f->aabb, .node_of_model = f->node_of_model};
	f->model = (hob_model){.mesh_count = 1,
						   .meshes = &f->mesh,
						   .node_count = 3,
						   .nodes = f->nodes,
						   .mesh_ref_count = 1,
						   .mesh_refs = f->mesh_refs,
						   .skin_count = 1,
						   .skins = &f->skin,
						   .clips = f->clips};
}

static void tear_down(fixture_t *f)
{
	hob_arena_release(&f->result);
	hob_arena_release(&f->scratch);
	hob_arena_release(&f->note_memory);
}

static hob_baked_animations bake(fixture_t *f, float error)
{
	hob_animation_options options = {error};
	size_t used = f->scratch.used;
	hob_baked_animations out =
		hob_animations_bake(&f->model, &f->scene, &options, &f->result, &f->scratch, &f->notes);
	assert_int_equal(f->scratch.used, used);
	return out;
}

static const float rest_rotation[] = {0, 0, 0, 1, 0, 0, 0, 1};
static const float two_times[] = {0.5f, 2};

static hob_track track_of(hob_interpolation mode, uint32_t components, uint32_t keys, const float *times,
						  const float *values)
{
	hob_track track = {mode, components, keys, NULL, NULL};
	memcpy(&track.times, &times, sizeof times);
	memcpy(&track.values, &values, sizeof values);
	return track;
}

static void joints_and_channels_name_baked_nodes(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	const float moves[] = {0, 1, 0, 3, 1, 0};
	f.tracks[0] = track_of(HOB_LINEAR, 3, 2, two_times, moves);
	f.channels[0] = (hob_channel){1, HOB_PATH_TRANSLATION, 0};
	f.clips[0] = (hob_clip){.name = HOB_STR("move"),
							.channel_count = 1,
							.track_count = 1,
							.channels = f.channels,
							.tracks = f.tracks};
	f.model.clip_count = 1;
	hob_baked_animations out = bake(&f, 0);
	assert_int_equal(out.skin_count, 1);
	assert_int_equal(out.skins[0].root, 10);
	assert_int_equal(out.skins[0].joints[1], 11);
	assert_memory_equal(out.skins[0].inverse_bind, f.inverse_bind, sizeof f.inverse_bind);
	assert_int_equal(out.clips[0].channel_count, 1);
	assert_int_equal(out.clips[0].channels[0].node, 11);
	assert_int_equal(out.clips[0].tracks[0].key_count, 2);
	assert_memory_equal(out.clips[0].tracks[0].values, moves, sizeof moves);
	assert_true(out.ranges[0] == 0.5f && out.ranges[1] == 2);
	tear_down(&f);
}

static void a_channel_that_repeats_the_rest_pose_goes_but_the_clip_keeps_its_length(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	const float away[] = {0, 1, 7, 0, 1, 7}; /* differs from rest only in its last component */
	f.tracks[0] = track_of(HOB_LINEAR, 4, 2, two_times, rest_rotation);
	f.tracks[1] = track_of(HOB_LINEAR, 3, 2, two_times, away);
	f.channels[0] = (hob_channel){0, HOB_PATH_ROTATION, 0};
	f.channels[1] = (hob_channel){1, HOB_PATH_TRANSLATION, 1};
	f.clips[0] = (hob_clip){.name = HOB_STR("still"),
							.channel_count = 2,
							.track_count = 2,
							.channels = f.channels,
							.tracks = f.tracks};
	f.model.clip_count = 1;
	hob_baked_animations out = bake(&f, 0);
	assert_int_equal(out.clips[0].channel_count, 1);
	assert_int_equal(out.clips[0].channels[0].node, 11);
	assert_int_equal(out.clips[0].tracks[0].key_count, 1);
	assert_true(out.clips[0].tracks[0].values[2] == 7);
	assert_true(out.ranges[0] == 0.5f && out.ranges[1] == 2);
	f.nodes[0].has_matrix = true; /* no track can represent a sheared matrix */
	assert_int_equal(bake(&f, 0).clips[0].channel_count, 2);
	tear_down(&f);
}

/* Start and end are those of the keys, even if far from zero; rest values have no influence. */
static void a_clip_may_lie_before_zero_or_begin_late(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	static const float before[] = {-3, -1}, late[] = {7, 9}, moved[] = {1, 0, 0, 2, 0, 0};
	for (int i = 0; i < 2; i++) {
		f.tracks[0] = track_of(HOB_LINEAR, 3, 2, i ? late : before, moved);
		f.channels[0] = (hob_channel){1, HOB_PATH_TRANSLATION, 0};
		f.clips[0] = (hob_clip){.name = HOB_STR("early"),
								.channel_count = 1,
								.track_count = 1,
								.channels = f.channels,
								.tracks = f.tracks};
		f.model.clip_count = 1;
		hob_baked_animations out = bake(&f, 0);
		assert_true(out.ranges[0] == (i ? 7.0f : -3.0f) && out.ranges[1] == (i ? 9.0f : -1.0f));
	}
	tear_down(&f);
}

static void equal_tracks_are_stored_once(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	const float a[] = {0, 1, 0, 3, 1, 0}, b[] = {0, 1, 0, 3, 1, 0};
	f.tracks[0] = track_of(HOB_LINEAR, 3, 2, two_times, a);
	f.tracks[1] = track_of(HOB_LINEAR, 3, 2, two_times, b);
	f.tracks[2] = track_of(HOB_STEP, 3, 2, two_times, b);
	for (uint32_t i = 0; i < 3; i++)
		f.channels[i] = (hob_channel){i, HOB_PATH_TRANSLATION, i};
	f.clips[0] = (hob_clip){.name = HOB_STR("twins"),
							.channel_count = 3,
							.track_count = 3,
							.channels = f.channels,
							.tracks = f.tracks};
	f.model.clip_count = 1;
	hob_clip clip = bake(&f, 0).clips[0];
	assert_int_equal(clip.track_count, 2);
	assert_int_equal(clip.channels[0].track, clip.channels[1].track);
	assert_int_not_equal(clip.channels[0].track, clip.channels[2].track);
	tear_down(&f);
}

static void of_twin_channels_the_last_one_counts(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	const float a[] = {0, 1, 0, 3, 1, 0}, b[] = {0, 1, 0, 9, 1, 0};
	f.tracks[0] = track_of(HOB_LINEAR, 3, 2, two_times, a);
	f.tracks[1] = track_of(HOB_LINEAR, 3, 2, two_times, b);
	f.channels[0] = (hob_channel){1, HOB_PATH_TRANSLATION, 0};
	f.channels[1] = (hob_channel){1, HOB_PATH_TRANSLATION, 1};
	f.clips[0] = (hob_clip){.name = HOB_STR("twice"),
							.channel_count = 2,
							.track_count = 2,
							.channels = f.channels,
							.tracks = f.tracks};
	f.model.clip_count = 1;
	hob_clip clip = bake(&f, 0).clips[0];
	assert_int_equal(clip.channel_count, 1);
	assert_true(clip.tracks[0].values[3] == 9);
	assert_int_equal(f.notes.count, 1);
	tear_down(&f);
}

static void clip_names_stay_whole_and_become_unique(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	const char *names[] = {"rig|walk", "run", "rig|walk", "rig|walk_2"};
	for (int i = 0; i < 4; i++)
		f.clips[i].name = hob_str_of(names[i]);
	f.model.clip_count = 4;
	hob_baked_animations out = bake(&f, 0);
	assert_true(hob_str_equal(out.clips[0].name, HOB_STR("rig|walk")));
	assert_true(hob_str_equal(out.clips[1].name, HOB_STR("run")));
	assert_true(hob_str_equal(out.clips[2].name, HOB_STR("rig|walk_3")));
	assert_true(hob_str_equal(out.clips[3].name, HOB_STR("rig|walk_2")));
	assert_true(out.ranges[0] == 0 && out.ranges[1] == 0);
	tear_down(&f);
}

static void weights_that_do_not_fit_the_mesh_are_left_out_with_a_note(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	const float values[] = {0, 1};
	f.tracks[0] = track_of(HOB_LINEAR, 1, 2, two_times, values);
	f.channels[0] = (hob_channel){2, HOB_PATH_WEIGHTS, 0};
	f.clips[0] = (hob_clip){.name = HOB_STR("smile"),
							.channel_count = 1,
							.track_count = 1,
							.channels = f.channels,
							.tracks = f.tracks};
	f.model.clip_count = 1;
	assert_int_equal(bake(&f, 0).clips[0].channel_count, 0);
	assert_int_equal(f.notes.count, 1);
	hob_morph_target target = {.weight = 0.5f};
	f.mesh.target_count = 1;
	f.mesh.targets = &target;
	assert_int_equal(bake(&f, 0).clips[0].channel_count, 1);
	const float resting[] = {0.5f, 0.5f};
	f.tracks[0] = track_of(HOB_LINEAR, 1, 2, two_times, resting);
	assert_int_equal(bake(&f, 0).clips[0].channel_count, 0);
	/* A node's own weights precede the mesh's. */
	float own[] = {0.25f};
	f.model.weights = own;
	f.model.weight_count = f.nodes[2].weight_count = 1;
	assert_int_equal(bake(&f, 0).clips[0].channel_count, 1);
	own[0] = 0.5f;
	target.weight = 0.25f;
	assert_int_equal(bake(&f, 0).clips[0].channel_count, 0);
	tear_down(&f);
}

static void translation_error_is_a_fraction_of_the_scene(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	const float times[] = {0, 1, 2}, bump[] = {0, 0, 0, 1, 0.15f, 0, 2, 0, 0};
	f.tracks[0] = track_of(HOB_LINEAR, 3, 3, times, bump);
	f.channels[0] = (hob_channel){0, HOB_PATH_TRANSLATION, 0};
	f.clips[0] = (hob_clip){.name = HOB_STR("bump"),
							.channel_count = 1,
							.track_count = 1,
							.channels = f.channels,
							.tracks = f.tracks};
	f.model.clip_count = 1;
	/* the scene is 2 wide, so 0.2 is allowed */
	assert_int_equal(bake(&f, 0.1f).clips[0].tracks[0].key_count, 2);
	assert_int_equal(bake(&f, 0.05f).clips[0].tracks[0].key_count, 3);
	assert_int_equal(bake(&f, 0).clips[0].tracks[0].key_count, 3);
	tear_down(&f);
}

/* ---- bounds */

static void turning_clip(fixture_t *f, float *values, float radians)
{
	const float q[] = {0, 0, 0, 1, 0, 0, (float)sin(radians / 2), (float)cos(radians / 2)};
	memcpy(values, q, sizeof q);
	f->tracks[0] = track_of(HOB_LINEAR, 4, 2, two_times, values);
	f->channels[0] = (hob_channel){0, HOB_PATH_ROTATION, 0};
	f->clips[0] = (hob_clip){.name = HOB_STR("turn"),
							 .channel_count = 1,
							 .track_count = 1,
							 .channels = f->channels,
							 .tracks = f->tracks};
	f->model.clip_count = 1;
}

static void bounds_hold_every_vertex_at_every_time(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	float values[8];
	turning_clip(&f, values, 3);
	const float *box = bake(&f, 0).skin_bounds;
	float exact[6] = {FLT_MAX, FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
	for (float angle = 0; angle <= 3; angle += 0.001f)
		for (int v = 0; v < 6; v++) {
			float x = f.position[v * 3], y = f.position[v * 3 + 1];
			float p[3] = {x * cosf(angle) - y * sinf(angle), x * sinf(angle) + y * cosf(angle), 0};
			for (int i = 0; i < 3; i++) {
				assert_true(p[i] >= box[i] - 1e-5f && p[i] <= box[3 + i] + 1e-5f);
				exact[i] = fminf(exact[i], p[i]);
				exact[3 + i] = fmaxf(exact[3 + i], p[i]);
			}
		}
	for (int i = 0; i < 6; i++)
		assert_true(fabsf(exact[i] - box[i]) < 0.15f);
	tear_down(&f);
}

static void bounds_follow_morph_weights(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	float deltas[18] = {0}, values[8];
	deltas[17] = 2;
	hob_morph_target target = {.position = deltas};
	f.mesh.target_count = 1;
	f.mesh.targets = &target;
	turning_clip(&f, values, 0);
	const float open[] = {0, 1.5f};
	f.tracks[1] = track_of(HOB_LINEAR, 1, 2, two_times, open);
	f.channels[1] = (hob_channel){2, HOB_PATH_WEIGHTS, 1};
	f.clips[0].channel_count = f.clips[0].track_count = 2;
	assert_float_equal(bake(&f, 0).skin_bounds[5], 3, 1e-5);
	tear_down(&f);
}

static void bounds_are_empty_without_skinned_meshes(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	float values[8];
	turning_clip(&f, values, 1);
	f.nodes[2].skin = HOB_NONE;
	hob_baked_animations out = bake(&f, 0);
	assert_true(out.skin_bounds[0] == FLT_MAX && out.skin_bounds[3] == -FLT_MAX);
	tear_down(&f);
}

static void joints_beyond_the_skin_are_ignored(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	float values[8];
	turning_clip(&f, values, 1);
	for (int i = 0; i < 24; i++)
		f.influences[i] = 65535;
	hob_baked_animations out = bake(&f, 0);
	assert_true(out.skin_bounds[0] > out.skin_bounds[3]);
	tear_down(&f);
}

static bool bake_within(void *context, hob_error *err)
{
	(void)err;
	fixture_t *f = context;
	hob_animation_options options = {0.01f};
	hob_animations_bake(&f->model, &f->scene, &options, &f->result, &f->scratch, NULL);
	return true;
}

static void every_failed_allocation_is_an_error(void **state)
{
	(void)state;
	fixture_t f;
	set_up(&f);
	float values[8];
	turning_clip(&f, values, 1);
	for (int arena = 0; arena < 2; arena++) {
		hob_arena *failing = arena ? &f.scratch : &f.result;
		for (uint64_t n = 1;; n++) {
			hob_error err = {0};
			failing->fail_at = n;
			bool done = hob_guarded(bake_within, &f, &err);
			bool reached = failing->fail_at == 0;
			failing->fail_at = 0;
			if (done) {
				assert_false(reached);
				assert_true(n > 5);
				break;
			}
			assert_int_equal(err.code, HOB_ERR_MEMORY);
		}
	}
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joints_and_channels_name_baked_nodes),
		cmocka_unit_test(a_channel_that_repeats_the_rest_pose_goes_but_the_clip_keeps_its_length),
		cmocka_unit_test(a_clip_may_lie_before_zero_or_begin_late),
		cmocka_unit_test(equal_tracks_are_stored_once),
		cmocka_unit_test(of_twin_channels_the_last_one_counts),
		cmocka_unit_test(clip_names_stay_whole_and_become_unique),
		cmocka_unit_test(weights_that_do_not_fit_the_mesh_are_left_out_with_a_note),
		cmocka_unit_test(translation_error_is_a_fraction_of_the_scene),
		cmocka_unit_test(bounds_hold_every_vertex_at_every_time),
		cmocka_unit_test(bounds_follow_morph_weights),
		cmocka_unit_test(bounds_are_empty_without_skinned_meshes),
		cmocka_unit_test(joints_beyond_the_skin_are_ignored),
		cmocka_unit_test(every_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
