/* Clips: interpolation, key formats, targets, names. */
#include "tests/unit/import/gltf_fixture.h"

#include "core/model/properties.h"

static const float two_times[2] = {0.5f, 2};

/* Accessor 0: a triangle; 1: times 0.5 and 2. Tests add accessors from 2 on. */
static gltf_fixture *timed(void)
{
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "SCALAR", 2, two_times, sizeof two_times);
	return f;
}

static const hob_track *track_at(const gltf_fixture *f, uint32_t clip, uint32_t channel)
{
	assert_imported(f);
	assert_true(clip < f->model.clip_count && channel < f->model.clips[clip].channel_count);
	return &f->model.clips[clip].tracks[f->model.clips[clip].channels[channel].track];
}

static bool import_clip(gltf_fixture *f, const char *samplers, const char *channels)
{
	char text[1500];
	snprintf(
		text, sizeof text,
		"'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':0},{'POSITION':0}]}]}],"
		"'nodes':[{'name':'same','children':[1]},{'name':'same','mesh':0}],'animations':[{'name':'walk','"
		"samplers':[%s],"
		"'channels':[%s]}]",
		samplers, channels);
	return fixture_import(f, text);
}

static void step_and_linear_are_kept_apart(void **state)
{
	(void)state;
	static const float moves[6] = {1, 2, 3, 4, 5, 6};
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC3", 2, moves, sizeof moves);
	import_clip(f, "{'input':1,'output':2,'interpolation':'STEP'},{'input':1,'output':2}",
				"{'sampler':0,'target':{'node':0,'path':'translation'}},{'sampler':1,'target':{'node':1,'"
				"path':'scale'}}");
	assert_int_equal(track_at(f, 0, 0)->interpolation, HOB_STEP);
	assert_int_equal(track_at(f, 0, 1)->interpolation, HOB_LINEAR);
	assert_int_equal(f->model.clips[0].channels[1].path, HOB_PATH_SCALE);
	assert_floats(track_at(f, 0, 0)->times, 0, 0.5f, 2);
	assert_floats(track_at(f, 0, 0)->values, 0, 1, 2, 3, 4, 5, 6);
	fixture_free(f);
}

static void cubic_splines_keep_their_tangents(void **state)
{
	(void)state;
	static const float keys[18] = {9, 9, 9, 0, 0, 0, 1, 2, 3, 4, 5, 6, 4, 0, 0, 8, 8, 8};
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC3", 6, keys, sizeof keys);
	import_clip(f, "{'input':1,'output':2,'interpolation':'CUBICSPLINE'}",
				"{'sampler':0,'target':{'node':0,'path':'translation'}}");
	assert_int_equal(track_at(f, 0, 0)->interpolation, HOB_CUBICSPLINE);
	assert_int_equal(track_at(f, 0, 0)->key_count, 2);
	assert_memory_equal(track_at(f, 0, 0)->values, keys, sizeof keys);
	fixture_free(f);
}

static void integer_rotations_become_unit_quaternions(void **state)
{
	(void)state;
	static const int16_t shorts[8] = {0, 0, 0, 32767, 23170, 0, 0, 23170};
	static const int8_t bytes[8] = {0, 0, 0, 127, 90, 0, 0, 90};
	gltf_fixture *f = timed();
	fixture_accessor(f, fixture_view(f, shorts, sizeof shorts, ""), 5122, "VEC4", 2, ",'normalized':true");
	fixture_accessor(f, fixture_view(f, bytes, sizeof bytes, ""), 5120, "VEC4", 2, ",'normalized':true");
	import_clip(f, "{'input':1,'output':2},{'input':1,'output':3}",
				"{'sampler':0,'target':{'node':0,'path':'rotation'}},{'sampler':1,'target':{'node':1,"
				"'path':'rotation'}}");
	for (uint32_t i = 0; i < 2; i++)
		assert_floats(track_at(f, 0, i)->values, 1e-4f, 0, 0, 0, 1, 0.7071068f, 0, 0, 0.7071068f);
	fixture_free(f);
}

static void morph_weights_come_by_target(void **state)
{
	(void)state;
	static const float keys[4] = {0, 1, -0.5f, 2};
	static const uint8_t bytes[12] = {0, 0, 0, 255, 0, 0, 0, 0, 51, 0, 0, 0};
	gltf_fixture *f = timed();
	fixture_floats(f, "SCALAR", 4, keys, sizeof keys);
	fixture_accessor(f, fixture_view(f, bytes, sizeof bytes, ""), 5121, "SCALAR", 12, ",'normalized':true");
	import_clip(f, "{'input':1,'output':2}", "{'sampler':0,'target':{'node':1,'path':'weights'}}");
	assert_int_equal(track_at(f, 0, 0)->components, 2);
	assert_floats(track_at(f, 0, 0)->values, 0, 0, 1, -0.5f, 2);
	import_clip(f, "{'input':1,'output':3,'interpolation':'CUBICSPLINE'}",
				"{'sampler':0,'target':{'node':1,'path':'weights'}}");
	assert_floats(track_at(f, 0, 0)->values, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.2f, 0, 0, 0);
	fixture_free(f);
}

static void channels_go_by_node_not_by_name(void **state)
{
	(void)state;
	static const float a[6] = {1, 1, 1, 1, 1, 1}, b[6] = {2, 2, 2, 2, 2, 2};
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC3", 2, a, sizeof a);
	fixture_floats(f, "VEC3", 2, b, sizeof b);
	import_clip(f, "{'input':1,'output':2},{'input':1,'output':3}",
				"{'sampler':1,'target':{'node':1,'path':'translation'}},{'sampler':0,'target':{'node':0,'"
				"path':'translation'}}");
	assert_floats(track_at(f, 0, 0)->values, 0, 2, 2, 2);
	assert_int_equal(f->model.clips[0].channels[0].node, 1);
	assert_int_equal(f->model.clips[0].channels[1].node, 0);
	fixture_free(f);
}

static void channels_follow_a_node_that_moves_up_in_the_order(void **state)
{
	(void)state;
	static const float a[6] = {1, 1, 1, 1, 1, 1};
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC3", 2, a, sizeof a);
	fixture_import(f, "'nodes':[{'name':'child'},{'name':'parent','children':[0]}],"
					  "'animations':[{'samplers':[{'input':1,'output':2}],'channels':[{'sampler':0,"
					  "'target':{'node':0,'path':'scale'}}]}]");
	assert_imported(f);
	assert_text(f->model.nodes[f->model.clips[0].channels[0].node].name, "child");
	assert_int_equal(f->model.clips[0].channels[0].node, 1);
	fixture_free(f);
}

static void splines_of_rotations_become_unit_at_their_keys_only(void **state)
{
	(void)state;
	static const float keys[24] = {1, 2, 3, 4, 0, 0, 2, 0, 5, 6, 7, 8, 8, 7, 6, 5, 0, 3, 0, 0, 4, 3, 2, 1};
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC4", 6, keys, sizeof keys);
	import_clip(f, "{'input':1,'output':2,'interpolation':'CUBICSPLINE'}",
				"{'sampler':0,'target':{'node':0,'path':'rotation'}}");
	float expected[24];
	memcpy(expected, keys, sizeof keys);
	expected[6] = expected[17] = 1;
	assert_memory_equal(track_at(f, 0, 0)->values, expected, sizeof expected);
	fixture_free(f);
}

static void keys_before_zero_keep_their_times(void **state)
{
	(void)state;
	static const float times[2] = {-1.5f, -0.5f}, a[6] = {1, 1, 1, 2, 2, 2};
	gltf_fixture *f = fixture_new();
	fixture_triangle(f);
	fixture_floats(f, "SCALAR", 2, times, sizeof times);
	fixture_floats(f, "VEC3", 2, a, sizeof a);
	import_clip(f, "{'input':1,'output':2}", "{'sampler':0,'target':{'node':0,'path':'translation'}}");
	assert_int_equal(track_at(f, 0, 0)->key_count, 2);
	assert_floats(track_at(f, 0, 0)->times, 0, -1.5f, -0.5f);
	assert_true(has_note(f, "gltf.time-negative"));
	fixture_free(f);
}

static void channels_of_one_sampler_share_a_track(void **state)
{
	(void)state;
	static const float a[6] = {1, 1, 1, 1, 1, 1};
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC3", 2, a, sizeof a);
	import_clip(f, "{'input':1,'output':2},{'input':1,'output':2}",
				"{'sampler':0,'target':{'node':1,'path':'translation'}},{'sampler':0,'target':{'node':1,'"
				"path':'scale'}}");
	assert_imported(f);
	assert_int_equal(f->model.clips[0].track_count, 1);
	fixture_free(f);
}

static void repeated_times_keep_the_later_value(void **state)
{
	(void)state;
	static const float times[4] = {0, 1, 1, 2}, values[12] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3};
	gltf_fixture *f = timed();
	fixture_floats(f, "SCALAR", 4, times, sizeof times);
	fixture_floats(f, "VEC3", 4, values, sizeof values);
	import_clip(f, "{'input':2,'output':3}", "{'sampler':0,'target':{'node':0,'path':'translation'}}");
	assert_int_equal(track_at(f, 0, 0)->key_count, 3);
	assert_floats(track_at(f, 0, 0)->times, 0, 0, 1, 2);
	assert_floats(track_at(f, 0, 0)->values, 0, 0, 0, 0, 2, 2, 2, 3, 3, 3);
	assert_true(has_note(f, "gltf.keys-repeated"));
	assert_false(has_note(f, "gltf.time-negative"));
	fixture_free(f);
}

/* Materials 0 and 1, cameras 0 and 1, light 0, a mesh with two targets on node 1. */
static bool import_pointer(gltf_fixture *f, const char *pointer)
{
	char text[2000];
	snprintf(
		text, sizeof text,
		"'extensionsRequired':['KHR_animation_pointer'],"
		"'extensions':{'KHR_lights_punctual':{'lights':[{'type':'spot','spot':{}}]}},"
		"'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':0},{'POSITION':0}]}]}],"
		"'nodes':[{'children':[1]},{'mesh':0},{'mesh':0,'weights':[0,1]}],"
		"'images':[{'uri':'a.png'}],'textures':[{'source':0}],"
		"'materials':[{},{'extensions':{'KHR_materials_clearcoat':{}},'pbrMetallicRoughness':{'"
		"baseColorTexture':"
		"{'index':0}}}],"
		"'cameras':[{'type':'perspective','perspective':{'yfov':1,'znear':1}},{'type':'orthographic',"
		"'orthographic':{'xmag':1,'ymag':1,'znear':0,'zfar':1}}],"
		"'animations':[{'samplers':[{'input':1,'output':%c},{'input':1,'output':4}],'channels':["
		"{'sampler':0,'target':{'path':'pointer','extensions':{'KHR_animation_pointer':{'pointer':'%s'}}}},"
		"{'sampler':1,'target':{'path':'pointer','extensions':{'KHR_animation_pointer':{'pointer':"
		"'/nodes/0/rotation'}}}}]}]",
		strstr(pointer, "baseColor") && strstr(pointer, "Factor") ? '4'
		: strstr(pointer, "offset")								  ? '3'
																  : '2',
		pointer);
	return fixture_import(f, text);
}

static void pointers_name_what_a_clip_drives(void **state)
{
	(void)state;
	static const struct {
		const char *pointer;
		uint32_t property, index, slot; /* property HOB_NONE: dropped */
	} cases[] = {
		{"/materials/1/pbrMetallicRoughness/roughnessFactor", HOB_PROPERTY_ROUGHNESS, 1, 0},
		{"/materials/0/pbrMetallicRoughness/baseColorFactor", HOB_PROPERTY_BASE_COLOR, 0, 0},
		{"/materials/1/extensions/KHR_materials_clearcoat/clearcoatFactor", HOB_PROPERTY_CLEARCOAT, 1, 0},
		{"/materials/0/extensions/KHR_materials_clearcoat/clearcoatFactor", HOB_NONE, 0, 0},
		{"/materials/1/pbrMetallicRoughness/baseColorTexture/extensions/KHR_texture_transform/offset",
		 HOB_PROPERTY_TEXTURE_OFFSET, 1, HOB_SLOT_BASE_COLOR},
		{"/materials/0/pbrMetallicRoughness/baseColorTexture/extensions/KHR_texture_transform/offset",
		 HOB_NONE, 0, 0},
		{"/materials/2/pbrMetallicRoughness/roughnessFactor", HOB_NONE, 0, 0},
		{"/materials/-1/alphaCutoff", HOB_NONE, 0, 0},
		{"/materials/4294967296/alphaCutoff", HOB_NONE, 0, 0},
		{"/materials//alphaCutoff", HOB_NONE, 0, 0},
		{"/materials/0/alphaCutof", HOB_NONE, 0, 0},
		{"/materials/0", HOB_NONE, 0, 0},
		{"materials/0/alphaCutoff", HOB_NONE, 0, 0},
		{"", HOB_NONE, 0, 0},
		{"/", HOB_NONE, 0, 0},
		{"/cameras/0/perspective/yfov", HOB_PROPERTY_CAMERA_Y, 0, 0},
		{"/cameras/1/perspective/yfov", HOB_NONE, 0, 0},
		{"/cameras/1/orthographic/ymag", HOB_PROPERTY_CAMERA_Y, 1, 0},
		{"/extensions/KHR_lights_punctual/lights/0/spot/outerConeAngle", HOB_PROPERTY_LIGHT_OUTER_CONE, 0, 0},
		{"/extensions/KHR_lights_punctual/lights/1/intensity", HOB_NONE, 0, 0},
		{"/nodes/1/extensions/KHR_node_visibility/visible", HOB_PROPERTY_NODE_VISIBLE, 1, 0},
		{"/nodes/3/extensions/KHR_node_visibility/visible", HOB_NONE, 0, 0},
		{"/nodes/1/extensions/KHR_node_visibility/visibl", HOB_NONE, 0, 0},
		{"/nodes/1/weights/2", HOB_NONE, 0, 0},
		{"/nodes/1/weights/0/1", HOB_NONE, 0, 0},
		{"/nodes/1/weights/", HOB_NONE, 0, 0},
		{"/nodes/0/weights/0", HOB_NONE, 0, 0},
		{"/meshes/0/weights/2", HOB_NONE, 0, 0},
	};
	static const float one[2] = {1, 2}, two[4] = {1, 2, 3, 4}, four[8] = {0, 0, 0, 2, 0, 0, 0, 2};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = timed();
		fixture_floats(f, "SCALAR", 2, one, sizeof one);
		fixture_floats(f, "VEC2", 2, two, sizeof two);
		fixture_floats(f, "VEC4", 2, four, sizeof four);
		import_pointer(f, cases[i].pointer);
		assert_imported(f);
		const hob_clip *clip = &f->model.clips[0];
		assert_int_equal(clip->channel_count, 1); /* the rotation */
		assert_floats(track_at(f, 0, 0)->values, 0, 0, 0, 0, 1, 0, 0, 0, 1);
		assert_int_equal(has_note(f, "gltf.channel-dropped"), cases[i].property == HOB_NONE);
		assert_int_equal(clip->property_count, cases[i].property != HOB_NONE);
		if (clip->property_count > 0) {
			assert_int_equal(clip->properties[0].property, cases[i].property);
			assert_int_equal(clip->properties[0].index, cases[i].index);
			assert_int_equal(clip->properties[0].slot, cases[i].slot);
			/* A factor that shares the rotation's sampler keeps its numbers. */
			const hob_track *track = &clip->tracks[clip->properties[0].track];
			assert_true(track->components != 4 || track->values[3] == 2);
		}
		fixture_free(f);
	}
}

static void weights_of_a_mesh_drive_its_nodes_without_own_weights(void **state)
{
	(void)state;
	static const float one[4] = {1, 2, 3, 4}, two[4] = {1, 2, 3, 4}, four[8] = {0, 0, 0, 2, 0, 0, 0, 2};
	gltf_fixture *f = timed();
	fixture_floats(f, "SCALAR", 4, one, sizeof one);
	fixture_floats(f, "VEC2", 2, two, sizeof two);
	fixture_floats(f, "VEC4", 2, four, sizeof four);
	import_pointer(f, "/meshes/0/weights");
	assert_imported(f);
	const hob_clip *clip = &f->model.clips[0];
	assert_int_equal(clip->channel_count, 2);
	assert_int_equal(clip->channels[0].path, HOB_PATH_WEIGHTS);
	assert_int_equal(f->model.nodes[clip->channels[0].node].source, 1);
	fixture_free(f);
}

#define POINT(sampler, pointer)                                                                              \
	"{'sampler':" sampler                                                                                    \
	",'target':{'path':'pointer','extensions':{'KHR_animation_pointer':{'pointer':'" pointer "'}}}}"

/* Accessors 1 and 2: times; 3: values. Three targets; the third is at rest at 0.5. */
static bool import_weights(gltf_fixture *f, const char *first, const char *second, const char *channels)
{
	char text[2000];
	snprintf(text, sizeof text,
			 "'extensionsRequired':['KHR_animation_pointer'],"
			 "'meshes':[{'weights':[0,0,0.5],'primitives':[{'attributes':{'POSITION':0},"
			 "'targets':[{'POSITION':0},{'POSITION':0},{'POSITION':0}]}]}],'nodes':[{'mesh':0}],"
			 "'animations':[{'samplers':[{'input':1,'output':3,'interpolation':'%s'},"
			 "{'input':2,'output':3,'interpolation':'%s'}],'channels':[%s]}]",
			 first, second, channels);
	return fixture_import(f, text);
}

static void single_weights_become_one_track_of_the_same_curves(void **state)
{
	(void)state;
	static const float late[2] = {1, 3}, values[2] = {2, 4};
	for (int mesh = 0; mesh < 2; mesh++) {
		gltf_fixture *f = timed();
		fixture_floats(f, "SCALAR", 2, late, sizeof late);
		fixture_floats(f, "SCALAR", 2, values, sizeof values);
		import_weights(f, "LINEAR", "LINEAR",
					   mesh ? POINT("0", "/meshes/0/weights/1") "," POINT("1", "/meshes/0/weights/0")
							: POINT("0", "/nodes/0/weights/1") "," POINT("1", "/nodes/0/weights/0"));
		assert_imported(f);
		const hob_clip *clip = &f->model.clips[0];
		assert_int_equal(clip->channel_count, 1);
		assert_int_equal(clip->track_count, 1);
		assert_int_equal(clip->channels[0].path, HOB_PATH_WEIGHTS);
		const hob_track *track = track_at(f, 0, 0);
		assert_int_equal(track->components, 3);
		assert_int_equal(track->key_count, 4);
		assert_floats(track->times, 0, 0.5f, 1, 2, 3);
		/* 0: from 2 at 1 to 4 at 3; 1: from 2 at 0.5 to 4 at 2 */
		assert_floats(track->values, 1e-6f, 2, 2, 0.5f, 2, 2 + 2.0f * (0.5f / 1.5f), 0.5f, 3, 4, 0.5f, 4, 4,
					  0.5f);
		assert_false(has_note(f, "gltf.channel-dropped"));
		fixture_free(f);
	}
}

static void single_weights_that_do_not_go_together_are_dropped_with_a_note(void **state)
{
	(void)state;
	static const float late[2] = {1, 3}, values[6] = {2, 4, 2, 4, 2, 4};
	static const char *const kinds[][2] = {{"LINEAR", "STEP"}, {"CUBICSPLINE", "CUBICSPLINE"}};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++) {
		gltf_fixture *f = timed();
		fixture_floats(f, "SCALAR", 2, late, sizeof late);
		fixture_floats(f, "SCALAR", 6, values, sizeof values);
		import_weights(f, kinds[i][0], kinds[i][1],
					   POINT("0", "/nodes/0/weights/1") "," POINT("1", "/nodes/0/weights/0"));
		assert_imported(f);
		assert_int_equal(f->model.clip_count == 0 ? 0 : f->model.clips[0].channel_count, 0);
		assert_true(has_note(f, "gltf.channel-dropped"));
		fixture_free(f);
	}
	gltf_fixture *f = timed();
	fixture_floats(f, "SCALAR", 2, late, sizeof late);
	fixture_floats(f, "SCALAR", 6, values, sizeof values);
	assert_false(import_weights(f, "LINEAR", "LINEAR",
								POINT("0", "/nodes/0/weights/1") "," POINT("1", "/nodes/0/weights/1")));
	fixture_free(f);
	/* Splines with the same keys are interleaved. */
	f = timed();
	fixture_floats(f, "SCALAR", 2, late, sizeof late);
	fixture_floats(f, "SCALAR", 6, values, sizeof values);
	import_weights(f, "CUBICSPLINE", "LINEAR",
				   POINT("0", "/nodes/0/weights/1") "," POINT("0", "/nodes/0/weights/0"));
	assert_imported(f);
	assert_floats(track_at(f, 0, 0)->values, 0, 2, 2, 0, 4, 4, 0.5f, 2, 2, 0, 4, 4, 0, 2, 2, 0.5f, 4, 4, 0);
	fixture_free(f);
}

static void what_cannot_be_played_is_dropped_with_a_note(void **state)
{
	(void)state;
	static const float a[6] = {1, 1, 1, 1, 1, 1}, q[8] = {0, 0, 0, 0, 0, 0, 0, 2};
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC3", 2, a, sizeof a);
	fixture_floats(f, "VEC4", 2, q, sizeof q);
	import_clip(
		f, "{'input':1,'output':2},{'input':1,'output':3}",
		"{'sampler':0,'target':{'path':'pointer',"
		"'extensions':{'KHR_animation_pointer':{'pointer':'/materials/0'}}}},{'sampler':0,"
		"'target':{'path':'translation'}},{'sampler':0,'target':{'node':0,'path':'colour'}},{'sampler':0,"
		"'target':{'node':0,'path':'weights'}},{'sampler':1,'target':{'node':0,'path':'rotation'}}");
	assert_imported(f);
	assert_int_equal(f->model.clips[0].channel_count, 1);
	assert_floats(track_at(f, 0, 0)->values, 0, 0, 0, 0, 1, 0, 0, 0, 1);
	uint32_t dropped = 0;
	for (uint32_t i = 0; i < f->notes.count; i++)
		dropped += hob_str_equal(f->notes.items[i].code, HOB_STR("gltf.channel-dropped"));
	assert_int_equal(dropped, 4);
	assert_true(has_note(f, "gltf.rotation-zero"));
	import_clip(f, "", "");
	assert_imported(f);
	assert_int_equal(f->model.clip_count, 0);
	assert_true(has_note(f, "gltf.clip-empty"));
	fixture_free(f);
}

static void clip_names_are_unique(void **state)
{
	(void)state;
	static const float a[6] = {1, 1, 1, 1, 1, 1};
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC3", 2, a, sizeof a);
	static const char *const names[] = {"'name':'run',",   "'name':'run',", "",
										"'name':'run_2',", "'name':'run',", "",
										"'name':'run_4',", "'name':'run',"};
	hob_buf text = {0};
	hob_buf_put_str(&text, HOB_STR("'nodes':[{}],'animations':["));
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		hob_buf_printf(&text,
					   "%s{%s'samplers':[{'input':1,'output':2}],'channels':[{'sampler':0,'target':{'node':0,"
					   "'path':'scale'}}]}",
					   i ? "," : "", names[i]);
	hob_buf_put(&text, "]", 2);
	fixture_import(f, (const char *)text.data);
	assert_imported(f);
	static const char *const wanted[] = {"run",	  "run_2",	"clip_0", "run_2_2",
										 "run_3", "clip_1", "run_4",  "run_5"};
	for (uint32_t i = 0; i < HOB_COUNT_OF(wanted); i++)
		assert_text(f->model.clips[i].name, wanted[i]);
	hob_buf_release(&text);
	fixture_free(f);
}

/* A channel with a bad sampler is dropped alone. */
static bool drops_channel(gltf_fixture *f, const char *words)
{
	bool found = false;
	assert_imported(f);
	for (uint32_t i = 0; i < f->notes.count; i++)
		found = found || (hob_str_equal(f->notes.items[i].code, HOB_STR("gltf.channel-dropped")) &&
						  hob_str_find(f->notes.items[i].text, hob_str_of(words), 0) != SIZE_MAX);
	return found;
}

static void broken_channels_are_dropped(void **state)
{
	(void)state;
	static const struct {
		const char *samplers, *channels, *words;
	} cases[] = {
		{"{'input':2,'output':6}", "'path':'scale'", "time of key 1 is before that of key 0; accessor 2"},
		{"{'input':3,'output':6}", "'path':'scale'", "time of key 1 is NaN or infinite; accessor 3"},
		{"{'input':4,'output':6,'interpolation':'CUBICSPLINE'}", "'path':'scale'",
		 "CUBICSPLINE needs two keys"},
		{"{'input':1,'output':5}", "'path':'scale'", "2 keys need 6 values, the output has 3"},
		{"{'input':1,'output':6,'interpolation':'CUBICSPLINE'}", "'path':'scale'", "2 keys need 18 values"},
		{"{'input':1,'output':6}", "'path':'rotation'", "output has 3 components, its path needs 4"},
		{"{'input':1,'output':6,'interpolation':'SMOOTH'}", "'path':'scale'", "interpolation is 'SMOOTH'"},
		{"{'input':1}", "'path':'scale'", "'output' is missing"},
		{"{'input':99,'output':6}", "'path':'scale'", "'input' is 99"},
		{"{'input':6,'output':6}", "'path':'scale'", "3 components, 1 are needed"},
	};
	static const float falling[2] = {1, 0}, nan[2] = {0, NAN}, one = 1, values[6] = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = timed();
		fixture_floats(f, "SCALAR", 2, falling, sizeof falling);
		fixture_floats(f, "SCALAR", 2, nan, sizeof nan);
		fixture_floats(f, "SCALAR", 1, &one, sizeof one);
		fixture_floats(f, "VEC3", 1, values, sizeof values / 2);
		fixture_floats(f, "VEC3", 2, values, sizeof values);
		char channel[100];
		snprintf(channel, sizeof channel, "{'sampler':0,'target':{'node':0,%s}}", cases[i].channels);
		import_clip(f, cases[i].samplers, channel);
		if (!drops_channel(f, cases[i].words) || f->model.clip_count != 0)
			fail_msg("%s: %s", cases[i].samplers, cases[i].words);
		char samplers[200], channels[300];
		snprintf(samplers, sizeof samplers, "%s,{'input':1,'output':6}", cases[i].samplers);
		snprintf(channels, sizeof channels, "%s,{'sampler':1,'target':{'node':0,'path':'translation'}}",
				 channel);
		import_clip(f, samplers, channels);
		assert_true(drops_channel(f, cases[i].words));
		assert_int_equal(f->model.clips[0].channel_count, 1);
		fixture_free(f);
	}
	gltf_fixture *f = timed();
	fixture_floats(f, "VEC3", 2, values, sizeof values);
	import_clip(
		f, "{'input':1,'output':2}",
		"{'sampler':0,'target':{'node':0,'path':'scale'}},{'sampler':0,'target':{'node':0,'path':'scale'}}");
	assert_true(drops_channel(f, "already have a channel"));
	assert_int_equal(f->model.clips[0].channel_count, 1);
	import_clip(f, "{'input':1,'output':2}", "{'sampler':1,'target':{'node':0,'path':'scale'}}");
	assert_true(drops_channel(f, "'sampler' is 1"));
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_and_linear_are_kept_apart),
		cmocka_unit_test(cubic_splines_keep_their_tangents),
		cmocka_unit_test(integer_rotations_become_unit_quaternions),
		cmocka_unit_test(morph_weights_come_by_target),
		cmocka_unit_test(channels_go_by_node_not_by_name),
		cmocka_unit_test(channels_follow_a_node_that_moves_up_in_the_order),
		cmocka_unit_test(splines_of_rotations_become_unit_at_their_keys_only),
		cmocka_unit_test(keys_before_zero_keep_their_times),
		cmocka_unit_test(channels_of_one_sampler_share_a_track),
		cmocka_unit_test(repeated_times_keep_the_later_value),
		cmocka_unit_test(pointers_name_what_a_clip_drives),
		cmocka_unit_test(weights_of_a_mesh_drive_its_nodes_without_own_weights),
		cmocka_unit_test(single_weights_become_one_track_of_the_same_curves),
		cmocka_unit_test(single_weights_that_do_not_go_together_are_dropped_with_a_note),
		cmocka_unit_test(what_cannot_be_played_is_dropped_with_a_note),
		cmocka_unit_test(clip_names_are_unique),
		cmocka_unit_test(broken_channels_are_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
