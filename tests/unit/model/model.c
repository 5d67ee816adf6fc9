/* hob_model_check: a valid model passes, and a violation of each rule is found. */
#include "tests/unit/support.h"

#include "core/model/model.h"

#include <math.h>

/* A model that uses everything, in static storage so that a case may damage it; rebuilt for each. */
static struct world {
	hob_model model;
	hob_mesh mesh;
	hob_morph_target target;
	hob_variant_mapping mapping;
	hob_material material;
	hob_image image;
	hob_sampler sampler;
	hob_node nodes[5];
	hob_scene scene;
	hob_camera camera;
	hob_light light;
	hob_skin skin;
	hob_clip clip;
	hob_channel channel;
	hob_track track;
	hob_str variant;
	uint32_t indices[3], refs[1], roots[2], joints[2];
	float position[9], normal[9], tangent[12], uv[6], color[12], weights[12], deltas[9], node_weights[1],
		binds[32], times[2], values[6];
	uint16_t joint_ids[12];
	uint8_t bytes[16];
} w;

static void make_world(void)
{
	memset(&w, 0, sizeof w);
	for (uint32_t i = 0; i < 3; i++)
		w.indices[i] = i;
	hob_material_init(&w.material);
	w.target = (hob_morph_target){.position = w.deltas};
	w.mapping = (hob_variant_mapping){0, 0};
	w.mesh = (hob_mesh){.vertex_count = 3,
						.index_count = 3,
						.indices = w.indices,
						.position = w.position,
						.normal = w.normal,
						.tangent = w.tangent,
						.uv = {w.uv},
						.color = {w.color},
						.influence_count = 4,
						.joints = w.joint_ids,
						.weights = w.weights,
						.target_count = 1,
						.targets = &w.target,
						.mappings = &w.mapping,
						.mapping_count = 1};
	w.image = (hob_image){.bytes = {w.bytes, 16}, .raw_width = 2, .raw_height = 2};
	static const uint32_t parents[5] = {HOB_NONE, 0, 1, 0, HOB_NONE};
	for (int i = 0; i < 5; i++)
		w.nodes[i] = (hob_node){.parent = parents[i],
								.rotation = {0, 0, 0, 1},
								.scale = {1, 1, 1},
								.skin = HOB_NONE,
								.camera = HOB_NONE,
								.light = HOB_NONE};
	w.nodes[1].mesh_count = 1;
	w.nodes[1].weight_count = 1;
	w.nodes[1].skin = 0;
	w.scene = (hob_scene){.root_count = 2};
	w.roots[1] = 4;
	w.camera = (hob_camera){.yfov_or_ymag = 1, .znear = 0.1f, .zfar = INFINITY};
	w.light = (hob_light){.range = INFINITY};
	w.joints[1] = 2;
	w.skin = (hob_skin){.root = HOB_NONE, .joint_count = 2, .joints = w.joints, .inverse_bind = w.binds};
	w.times[1] = 1;
	w.track = (hob_track){.components = 3, .key_count = 2, .times = w.times, .values = w.values};
	w.channel = (hob_channel){.node = 2};
	w.clip = (hob_clip){.channel_count = 1, .track_count = 1, .channels = &w.channel, .tracks = &w.track};
	w.model = (hob_model){.mesh_count = 1,
						  .material_count = 1,
						  .image_count = 1,
						  .sampler_count = 1,
						  .meshes = &w.mesh,
						  .materials = &w.material,
						  .images = &w.image,
						  .samplers = &w.sampler,
						  .node_count = 5,
						  .mesh_ref_count = 1,
						  .weight_count = 1,
						  .scene_count = 1,
						  .scene_root_count = 2,
						  .nodes = w.nodes,
						  .mesh_refs = w.refs,
						  .weights = w.node_weights,
						  .scenes = &w.scene,
						  .scene_roots = w.roots,
						  .camera_count = 1,
						  .light_count = 1,
						  .skin_count = 1,
						  .clip_count = 1,
						  .variant_count = 1,
						  .cameras = &w.camera,
						  .lights = &w.light,
						  .skins = &w.skin,
						  .clips = &w.clip,
						  .variants = &w.variant};
}

static void a_whole_model_passes(void **state)
{
	(void)state;
	hob_error err = {0};
	make_world();
	if (!hob_model_check(&w.model, &err))
		fail_msg("%s", err.context);
}

static void an_empty_model_needs_a_scene(void **state)
{
	(void)state;
	hob_error err = {0};
	hob_model model = {0};
	assert_false(hob_model_check(&model, &err));
	assert_string_equal(err.context, "no scene");
	hob_scene scene = {0};
	model.scenes = &scene;
	model.scene_count = 1;
	assert_true(hob_model_check(&model, &err));
}

/* Each line breaks one rule; the message must contain the words. */
#define BREAKAGES                                                                                            \
	X(w.nodes[2].extras.values = HOB_STR("{a:1}"), "extras are not JSON: '{a:1}'; node 2")                   \
	X(w.material.extras.values = HOB_STR("[1,]"), "extras are not JSON: '[1,]'; material 0")                 \
	X(w.scene.extras.extensions = HOB_STR("[]"), "not an object; scene 0")                                   \
	X(w.indices[1] = 3, "index 3 >= vertex_count 3; mesh 0")                                                 \
	X(w.mesh.index_count = 2, "not a multiple of 3")                                                         \
	X((w.mesh.topology = HOB_LINES), "not a multiple of 2")                                                  \
	X(w.mesh.topology = (hob_topology)7, "topology 7")                                                       \
	X(w.mesh.indices = NULL, "indices: count 3 without an array")                                            \
	X(w.mesh.position = NULL, "positions: count 3 without an array")                                         \
	X(w.position[5] = NAN, "position holds infinity or NaN at value 5 of 9; mesh 0")                         \
	X(w.position[5] = -1e16f, "vertex 1 lies 1e+16 metres from the origin")                                  \
	X(w.normal[0] = INFINITY, "normal holds")                                                                \
	X(w.tangent[11] = -INFINITY, "tangent holds")                                                            \
	X(w.uv[5] = NAN, "uv holds")                                                                             \
	X(w.color[11] = NAN, "color holds")                                                                      \
	X((w.mesh.uv[0] = NULL, w.mesh.uv[1] = w.uv), "uv set 1 without uv set 0")                               \
	X(w.weights[11] = NAN, "weights holds")                                                                  \
	X(w.mesh.influence_count = 3, "3 joint influences")                                                      \
	X(w.mesh.joints = NULL, "without arrays")                                                                \
	X(w.mesh.targets = NULL, "morph targets: count 1 without an array")                                      \
	X(w.deltas[8] = NAN, "position deltas holds infinity or NaN at value 8 of 9; morph target 0; mesh 0")    \
	X(w.target.weight = NAN, "weight holds")                                                                 \
	X(w.mesh.material = 1, "material 1 of 1; mesh 0")                                                        \
	X(w.mapping.variant = 1, "variant mapping 0 names variant 1 of 1")                                       \
	X(w.mapping.material = 9, "variant mapping 0")                                                           \
	X(w.material.metallic = NAN, "factor holds")                                                             \
	X(w.material.base_color[3] = NAN, "base color holds")                                                    \
	X(w.material.attenuation_distance = 0, "attenuation distance")                                           \
	X(w.material.alpha_mode = (hob_alpha_mode)3, "alpha mode 3")                                             \
	X(w.material.slots[4].image = 1, "image 1 of 1; texture slot 4; material 0")                             \
	X(w.material.slots[4].sampler = 1, "sampler 1 of 1")                                                     \
	X(w.material.slots[4].uv_set = 8, "uses uv set 8 of 8")                                                  \
	X(w.material.slots[4].scale[1] = NAN, "texture transform")                                               \
	X(w.image.path = HOB_STR("x"), "both a path and bytes")                                                  \
	X(w.image.raw_width = 3, "16 bytes for 3x2 raw pixels")                                                  \
	X(w.nodes[0].parent = 0, "node 0 with parent 0 breaks")                                                  \
	X(w.nodes[2].parent = 3, "node 2 with parent 3 breaks")                                                  \
	X(w.nodes[4].parent = 2, "node 4 with parent 2 breaks")                                                  \
	X(w.nodes[3].parent = 99, "node 3 with parent 99 breaks")                                                \
	X(w.nodes[3].translation[0] = NAN, "translation holds infinity or NaN at value 0 of 3; node 3")          \
	X((w.nodes[3].has_matrix = true, w.nodes[3].matrix[7] = NAN), "matrix holds")                            \
	X(w.nodes[3].mesh_first = 2, "mesh range 2+0 of 1")                                                      \
	X(w.nodes[3].mesh_count = 0xFFFFFFFF, "mesh range 0+4294967295 of 1")                                    \
	X(w.nodes[3].weight_count = 2, "weight range 0+2 of 1")                                                  \
	X(w.nodes[3].skin = 1, "skin 1 of 1; node 3")                                                            \
	X(w.nodes[3].camera = 1, "camera 1 of 1")                                                                \
	X(w.nodes[3].light = 1, "light 1 of 1")                                                                  \
	X(w.refs[0] = 1, "mesh reference 0 is mesh 1 of 1")                                                      \
	X(w.node_weights[0] = NAN, "node weights")                                                               \
	X(w.model.default_scene = 1, "default scene 1 of 1")                                                     \
	X(w.scene.root_count = 3, "root range 0+3 of 2; scene 0")                                                \
	X(w.roots[1] = 5, "scene root 1 is node 5 of 5")                                                         \
	X(w.roots[1] = 3, "scene root 1 is node 3, which has a parent")                                          \
	X(w.camera.zfar = NAN, "camera")                                                                         \
	X(w.camera.znear = INFINITY, "camera")                                                                   \
	X(w.camera.type = (hob_camera_type)2, "camera type 2")                                                   \
	X(w.light.range = 0, "light range")                                                                      \
	X(w.light.intensity = NAN, "light 0")                                                                    \
	X(w.light.type = (hob_light_type)3, "light type 3")                                                      \
	X(w.skin.root = 5, "skeleton root 5 of 5; skin 0")                                                       \
	X(w.joints[1] = 5, "joint 1 is node 5 of 5")                                                             \
	X(w.skin.inverse_bind = NULL, "inverse bind matrices: count 2 without an array")                         \
	X(w.binds[31] = NAN, "inverse bind matrices holds")                                                      \
	X(w.times[1] = 0, "time of key 1 is not after the one before; track 0; clip 0")                          \
	X(w.times[0] = NAN, "times holds")                                                                       \
	X(w.values[5] = NAN, "values holds")                                                                     \
	X(w.track.key_count = 0, "0 keys of 3 components")                                                       \
	X(w.track.interpolation = (hob_interpolation)3, "interpolation 3")                                       \
	X(w.track.components = 2, "2 components, path needs 3")                                                  \
	X((w.channel.path = HOB_PATH_ROTATION), "3 components, path needs 4")                                    \
	X(w.channel.node = 5, "channel 0: node 5 of 5")                                                          \
	X(w.channel.track = 1, "track 1 of 1")                                                                   \
	X(w.channel.path = (hob_path)4, "path 4")                                                                \
	X(w.model.nodes = NULL, "node: count 5 without an array")                                                \
	X(w.model.samplers = NULL, "samplers: count 1 without an array")

static void every_broken_rule_is_found(void **state)
{
	(void)state;
	int cases = 0;
	hob_error err;
#define X(breakage, words)                                                                                   \
	make_world();                                                                                            \
	breakage;                                                                                                \
	err = (hob_error){0};                                                                                    \
	if (hob_model_check(&w.model, &err))                                                                     \
		fail_msg("accepted: " #breakage);                                                                    \
	if (!strstr(err.context, words))                                                                         \
		fail_msg(#breakage ": %s", err.context);                                                             \
	assert_int_equal(err.code, HOB_ERR_CORRUPT);                                                             \
	cases++;
	BREAKAGES
#undef X
	assert_true(cases > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_model_passes),
		cmocka_unit_test(an_empty_model_needs_a_scene),
		cmocka_unit_test(every_broken_rule_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
