/* Exports the fixture as GLB. tests/gltf runs the Khronos validator on the committed files. */
#include "fixture.h"

#include "core/formats/glb.h"
#include "core/model/properties.h"

#include <cjson/cJSON.h>

/* A grey pixel. */
static const uint8_t png[] = {
	0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48, 0x44, 0x52, 0x00,
	0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3A, 0x7E, 0x9B, 0x55, 0x00,
	0x00, 0x00, 0x0A, 0x49, 0x44, 0x41, 0x54, 0x78, 0xDA, 0x63, 0x68, 0x00, 0x00, 0x00, 0x82, 0x00, 0x81,
	0xDA, 0x45, 0x08, 0x3B, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82};

static bool give_png(void *user, uint32_t index, const hob_pk_image *image, hob_bytes *out, hob_error *err)
{
	(void)err;
	assert_memory_equal(image->cooked_sha256, fixture_images[index].cooked_sha256, 32);
	*out = index == *(const uint32_t *)user ? (hob_bytes){png, sizeof png} : (hob_bytes){0};
	return true;
}

typedef struct glb_fixture {
	packed_fixture packed;
	hob_buf file;
	cJSON *json;
	hob_arena arena;
	hob_notes notes;
} glb_fixture;

static uint32_t picture_index = 1;

static void make_from(glb_fixture *g, const fixture *f, bool with_pictures)
{
	memset(g, 0, sizeof *g);
	hob_arena_init(&g->arena, 1 << 20);
	g->notes.arena = &g->arena;
	hob_pack_options options = {0};
	hob_error err = {0};
	for (int kind = 0; kind < 4; kind++)
		if (!fixture_pack_one(f, kind, &options, &g->packed.files[kind], &err))
			fail_msg("%s", err.context);
	hob_pack_set set = fixture_set(&g->packed);
	hob_glb_pictures pictures = {&picture_index, give_png};
	if (!hob_glb_from_packed(&set, with_pictures ? &pictures : NULL, &g->notes, &g->file, &err))
		fail_msg("%s", err.context);
	g->json = cJSON_ParseWithLength((const char *)g->file.data + 20, hob_load_u32(g->file.data + 12));
	assert_non_null(g->json);
}

static void make(glb_fixture *g)
{
	fixture f;
	fixture_init(&f);
	make_from(g, &f, true);
}

static void release(glb_fixture *g)
{
	cJSON_Delete(g->json);
	hob_buf_release(&g->file);
	fixture_release(&g->packed);
	hob_arena_release(&g->arena);
}

static const cJSON *at(const cJSON *from, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
	if (!item)
		fail_msg("no member %s", key);
	return item;
}

static const cJSON *nth(const cJSON *from, const char *key, int index)
{
	const cJSON *item = cJSON_GetArrayItem(at(from, key), index);
	assert_non_null(item);
	return item;
}

static int number(const cJSON *from, const char *key)
{
	return at(from, key)->valueint;
}

static const uint8_t *accessor_data(const glb_fixture *g, int index)
{
	const cJSON *view = nth(g->json, "bufferViews", number(nth(g->json, "accessors", index), "bufferView"));
	return g->file.data + 20 + hob_load_u32(g->file.data + 12) + 8 + number(view, "byteOffset");
}

static void compare(const char *name, const hob_buf *file)
{
	char path[512];
	snprintf(path, sizeof path, "%s/formats/%s", HOB_TEST_DATA, name);
	const char *mode = getenv("HOB_GOLDEN");
	FILE *f = fopen(path, mode ? "wb" : "rb");
	assert_non_null(f);
	if (mode) {
		assert_int_equal(fwrite(file->data, 1, file->size, f), file->size);
	} else {
		uint8_t *want = malloc(file->size + 1);
		assert_int_equal(fread(want, 1, file->size + 1, f), file->size);
		assert_memory_equal(want, file->data, file->size);
		free(want);
	}
	fclose(f);
}

static void chunks_are_well_formed(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	assert_memory_equal(g.file.data, "glTF\2\0\0\0", 8);
	assert_int_equal(hob_load_u32(g.file.data + 8), g.file.size);
	uint32_t json = hob_load_u32(g.file.data + 12);
	assert_int_equal(json % 4, 0);
	assert_int_equal(hob_load_u32(g.file.data + 20 + json) + 28 + json, g.file.size);
	assert_memory_equal(g.file.data + 24 + json, "BIN", 4);
	compare("folded.glb", &g.file);
	release(&g);
}

static void mesh_children_go_back_into_their_nodes(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	/* world, body, shoulder, eye, cable: the three mesh children are folded. */
	assert_int_equal(cJSON_GetArraySize(at(g.json, "nodes")), 6);
	const cJSON *body = nth(g.json, "nodes", 1);
	assert_string_equal(at(body, "name")->valuestring, "body");
	assert_int_equal(number(body, "mesh"), 0);
	assert_int_equal(nth(body, "translation", 0)->valueint, 10);
	release(&g);
}

static void a_named_mesh_child_stays_a_node(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	/* shoulder_Mesh_0 is a joint of the rig: it keeps its node, with the skin and weights of its parent. */
	const cJSON *child = nth(g.json, "nodes", 3);
	assert_string_equal(at(child, "name")->valuestring, "shoulder_Mesh_0");
	assert_int_equal(number(child, "skin"), 0);
	assert_true(nth(child, "weights", 1)->valuedouble == 0.75);
	const cJSON *walk = nth(g.json, "animations", 0);
	assert_int_equal(number(at(nth(walk, "channels", 2), "target"), "node"), 3);
	release(&g);
}

static void vertices_are_dequantised_and_skinning_kept(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	const cJSON *arm = nth(nth(g.json, "meshes", 1), "primitives", 0), *attributes = at(arm, "attributes");
	const uint8_t *positions = accessor_data(&g, number(attributes, "POSITION"));
	assert_true(hob_load_f32(positions + 12) == 3);
	const uint8_t *normals = accessor_data(&g, number(attributes, "NORMAL"));
	assert_true(hob_load_f32(normals + 12) == 1 && hob_load_f32(normals + 8) == 1);
	int weights = number(attributes, "WEIGHTS_0");
	assert_true(cJSON_IsTrue(at(nth(g.json, "accessors", weights), "normalized")));
	assert_memory_equal(accessor_data(&g, weights) + 4, arm_skin[1].weights, 4);
	const cJSON *twist = nth(arm, "targets", 1);
	const cJSON *sparse = at(nth(g.json, "accessors", number(twist, "NORMAL")), "sparse");
	assert_int_equal(number(sparse, "count"), 3);
	assert_string_equal(nth(at(nth(g.json, "meshes", 1), "extras"), "targetNames", 1)->valuestring, "twist");
	release(&g);
}

static void lines_keep_their_mode_and_empty_meshes_are_left_out(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	assert_int_equal(cJSON_GetArraySize(at(g.json, "meshes")), 3);
	assert_int_equal(number(nth(nth(g.json, "meshes", 2), "primitives", 0), "mode"), 1);
	release(&g);
}

static void textures_without_a_picture_are_left_out_and_noted(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	const cJSON *pbr = at(nth(g.json, "materials", 0), "pbrMetallicRoughness");
	assert_null(cJSON_GetObjectItem(pbr, "baseColorTexture"));
	const cJSON *packed = at(pbr, "metallicRoughnessTexture");
	assert_true(nth(at(at(packed, "extensions"), "KHR_texture_transform"), "scale", 0)->valueint == 2);
	assert_int_equal(cJSON_GetArraySize(at(g.json, "images")), 1);
	assert_true(hob_str_equal(g.notes.items[0].code, HOB_STR("glb.image-dropped")));
	release(&g);
}

static void extensions_that_are_used_are_declared(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	static const char *const want[] = {"KHR_texture_transform", "KHR_lights_punctual",
									   "KHR_materials_variants", "KHR_materials_unlit",
									   "KHR_materials_transmission"};
	assert_int_equal(cJSON_GetArraySize(at(g.json, "extensionsUsed")), HOB_COUNT_OF(want));
	for (int i = 0; i < (int)HOB_COUNT_OF(want); i++)
		assert_string_equal(nth(g.json, "extensionsUsed", i)->valuestring, want[i]);
	const cJSON *glass = nth(g.json, "materials", 1);
	assert_string_equal(at(glass, "alphaMode")->valuestring, "BLEND");
	assert_true(cJSON_IsTrue(at(glass, "doubleSided")));
	release(&g);
}

static void extras_are_kept(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	const cJSON *node = NULL;
	cJSON_ArrayForEach(node, at(g.json, "nodes"))
	{
		const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(node, "name"));
		assert_int_equal(cJSON_HasObjectItem(node, "extras"), name && strcmp(name, "shoulder") == 0);
		if (cJSON_HasObjectItem(node, "extras"))
			assert_true(at(at(node, "extras"), "health")->valuedouble == 10);
		assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(node, "extensions"), "EXT_x"));
	}
	assert_string_equal(at(nth(g.json, "scenes", 1), "extras")->valuestring, "all of it");
	assert_true(at(at(nth(g.json, "materials", 1), "extras"), "health")->valuedouble == 10);
	assert_string_equal(at(at(at(g.json, "asset"), "extras"), "author")->valuestring, "somebody");
	release(&g);
}

static void clips_without_channels_are_left_out_and_times_are_shared(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	assert_int_equal(cJSON_GetArraySize(at(g.json, "animations")), 1);
	const cJSON *walk = nth(g.json, "animations", 0);
	assert_int_equal(number(nth(walk, "samplers", 0), "input"), number(nth(walk, "samplers", 1), "input"));
	assert_string_equal(at(nth(walk, "samplers", 1), "interpolation")->valuestring, "CUBICSPLINE");
	release(&g);
}

static const float *key_values(const glb_fixture *g, const cJSON *sampler, const char *which)
{
	return (const float *)(const void *)accessor_data(g, number(sampler, which));
}

static double clip_end(const glb_fixture *g, const cJSON *sampler)
{
	return nth(nth(g->json, "accessors", number(sampler, "input")), "max", 0)->valuedouble;
}

/* In glTF only the last key marks the end of a clip. */
static void a_clip_that_ends_standing_still_keeps_its_length(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	fixture_ranges[1] = 3;
	glb_fixture g;
	make_from(&g, &f, false);
	const cJSON *moves = nth(nth(g.json, "animations", 0), "samplers", 0),
				*turns = nth(nth(g.json, "animations", 0), "samplers", 1);
	assert_true(clip_end(&g, moves) == 3);
	assert_true(clip_end(&g, turns) == 2); /* the longest track alone gives the clip's length */
	assert_int_equal(number(nth(g.json, "accessors", number(moves, "output")), "count"), 4);
	const float *values = key_values(&g, moves, "output");
	assert_memory_equal(values + 9, values + 6, 12);
	release(&g);

	fixture_clips[0].channels = fixture_channels + 1;
	fixture_clips[0].channel_count = 2;
	fixture_spline[2 * 12 + 8] = 5; /* the tangent after the last key */
	make_from(&g, &f, false);
	turns = nth(nth(g.json, "animations", 0), "samplers", 0);
	assert_true(clip_end(&g, turns) == 3);
	const float *last = key_values(&g, turns, "output") + 2 * 12, still[4] = {0};
	assert_memory_equal(last + 8, still, 16);
	assert_memory_equal(last + 12, still, 16);
	assert_memory_equal(last + 16, last + 4, 16);
	assert_memory_equal(last + 20, still, 16);
	release(&g);
	fixture_clips[0].channels = fixture_channels;
	fixture_clips[0].channel_count = 3;
	fixture_spline[2 * 12 + 8] = 0;
	fixture_ranges[1] = 2;
}

/* Exports a hidden node and one with animated visibility: as KHR_node_visibility with a pointer channel, and
 * as scale 0 for readers without the extension. */
static void hidden_nodes_are_exported(void **state)
{
	(void)state;
	static float times[3] = {0, 1, 2}, shown[3] = {0, 1, 0};
	hob_track tracks[8];
	hob_property_channel channel = {HOB_PROPERTY_NODE_VISIBLE, 1, 0, fixture_clips[0].track_count};
	fixture f;
	fixture_init(&f);
	hob_clip before = fixture_clips[0];
	memcpy(tracks, before.tracks, before.track_count * sizeof *tracks);
	tracks[before.track_count] = (hob_track){HOB_STEP, 1, 3, times, shown};
	fixture_clips[0].tracks = tracks;
	fixture_clips[0].track_count++;
	fixture_clips[0].properties = &channel;
	fixture_clips[0].property_count = 1;
	f.scene.trs[6].flags |= HOB_NODE_HIDDEN;
	glb_fixture g;
	make_from(&g, &f, false);
	uint32_t hidden = 0, stated = 0;
	const cJSON *node = NULL;
	cJSON_ArrayForEach(node, at(g.json, "nodes"))
	{
		const cJSON *v = cJSON_GetObjectItem(cJSON_GetObjectItem(node, "extensions"), "KHR_node_visibility");
		stated += v != NULL;
		hidden += v && cJSON_IsFalse(at(v, "visible"));
	}
	assert_int_equal(stated, 2);
	assert_int_equal(hidden, 1);
	const cJSON *walk = nth(g.json, "animations", 0), *one = NULL;
	bool pointed = false, scaled = false;
	cJSON_ArrayForEach(one, at(walk, "channels"))
	{
		const cJSON *target = at(one, "target"), *sampler = nth(walk, "samplers", number(one, "sampler"));
		const char *path = at(target, "path")->valuestring;
		if (strcmp(path, "pointer") == 0) {
			const cJSON *output = nth(g.json, "accessors", number(sampler, "output"));
			assert_string_equal(
				at(at(at(target, "extensions"), "KHR_animation_pointer"), "pointer")->valuestring,
				"/nodes/1/extensions/KHR_node_visibility/visible");
			assert_int_equal(number(output, "componentType"), 5121);
			assert_memory_equal(accessor_data(&g, number(sampler, "output")), "\0\1\0", 3);
			pointed = true;
		}
		if (strcmp(path, "scale") == 0 && number(target, "node") == 1) {
			const float *scales = key_values(&g, sampler, "output");
			assert_true(scales[0] == 0 && scales[3] == fixture_trs[1].s[0] && scales[6] == 0);
			assert_string_equal(at(sampler, "interpolation")->valuestring, "STEP");
			scaled = true;
		}
	}
	assert_true(pointed);
	assert_true(scaled);
	compare("hidden.glb", &g.file);
	release(&g);
	fixture_clips[0] = before;
	f.scene.trs[6].flags &= ~(uint32_t)HOB_NODE_HIDDEN;
}

/* Two draws of one source mesh whose nodes cannot fold: each child keeps its node, skin and weight
 * channel. */
static void unfolded_children_are_exported_too(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	fixture_trs[2].t[1] = 1;
	f.meshes[2].mesh.source_mesh = 1;
	glb_fixture g;
	make_from(&g, &f, false);
	const cJSON *child = nth(g.json, "nodes", 2);
	assert_string_equal(at(child, "name")->valuestring, "body_Mesh_0");
	assert_int_equal(nth(child, "translation", 1)->valueint, 1);
	assert_null(cJSON_GetObjectItem(g.json, "images"));
	compare("unfolded.glb", &g.file);
	release(&g);
}

static void primitives_of_one_source_become_one_mesh(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	/* quad and arm are two primitives of one mesh; the arm loses its distinguishing data. */
	f.meshes[1].mesh.source_mesh = 0;
	f.meshes[1].mesh.target_count = 0;
	f.meshes[1].attribute_count = 3;
	f.meshes[1].stream_count = 2;
	f.meshes[1].skin = HOB_NONE;
	fixture_hierarchy[1] = (hob_baked_hierarchy){0, 2, 5, 5, 1};
	fixture_hierarchy[2] = (hob_baked_hierarchy){1, -1, 3, 3, 2};
	fixture_hierarchy[3] = (hob_baked_hierarchy){1, -1, -1, -1, 2};
	fixture_subtree[1] = 3;
	fixture_subtree[3] = 1;
	fixture_hierarchy[4] = (hob_baked_hierarchy){-1, -1, -1, -1, 0};
	fixture_hierarchy[5] = (hob_baked_hierarchy){-1, -1, -1, -1, 0};
	fixture_hierarchy[0] = (hob_baked_hierarchy){-1, 1, -1, -1, 0};
	fixture_hierarchy[1].next_sibling = -1;
	fixture_hierarchy[1].last_sibling = 1;
	fixture_subtree[0] = 4;
	fixture_mesh_links[1].node = fixture_material_links[1].node = 3;
	f.scene.skin_links.count = f.scene.weight_links.count = 0;
	fixture_clips[0].channel_count = 1;
	f.animations.skin_count = 0;
	glb_fixture g;
	make_from(&g, &f, false);
	assert_int_equal(cJSON_GetArraySize(at(nth(g.json, "meshes", 0), "primitives")), 2);
	assert_null(cJSON_GetObjectItem(nth(g.json, "nodes", 1), "children"));
	release(&g);
}

static void failures_leave_no_bytes(void **state)
{
	(void)state;
	glb_fixture g;
	make(&g);
	hob_pack_set set = fixture_set(&g.packed);
	hob_buf out = {0};
	hob_error err = {0};
	set.materials = (hob_bytes){0};
	assert_false(hob_glb_from_packed(&set, NULL, NULL, &out, &err));
	assert_int_equal(err.code, HOB_ERR_EMPTY);
	set = fixture_set(&g.packed);
	g.packed.files[2].data[200] ^= 1;
	assert_false(hob_glb_from_packed(&set, NULL, NULL, &out, &err));
	assert_int_equal(err.code, HOB_ERR_CORRUPT);
	assert_int_equal(out.size, 0);
	hob_buf_release(&out);
	release(&g);
}

int main(void)
{
	/* The last tests change the fixture's static tables. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_well_formed),
		cmocka_unit_test(extras_are_kept),
		cmocka_unit_test(mesh_children_go_back_into_their_nodes),
		cmocka_unit_test(a_named_mesh_child_stays_a_node),
		cmocka_unit_test(vertices_are_dequantised_and_skinning_kept),
		cmocka_unit_test(lines_keep_their_mode_and_empty_meshes_are_left_out),
		cmocka_unit_test(textures_without_a_picture_are_left_out_and_noted),
		cmocka_unit_test(extensions_that_are_used_are_declared),
		cmocka_unit_test(clips_without_channels_are_left_out_and_times_are_shared),
		cmocka_unit_test(a_clip_that_ends_standing_still_keeps_its_length),
		cmocka_unit_test(failures_leave_no_bytes),
		cmocka_unit_test(hidden_nodes_are_exported),
		cmocka_unit_test(unfolded_children_are_exported_too),
		cmocka_unit_test(primitives_of_one_source_become_one_mesh),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
