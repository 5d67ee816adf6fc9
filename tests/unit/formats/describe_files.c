#include "fixture.h"

#include "core/formats/classic.h"
#include "core/formats/describe.h"

#include <cjson/cJSON.h>

typedef bool (*describer)(hob_bytes file, const hob_describe_options *options, hob_buf *out, hob_error *err);

static char *described(describer describe, hob_bytes file, const hob_describe_options *options)
{
	hob_buf out = {0};
	hob_error err = {0};
	if (!describe(file, options, &out, &err))
		fail_msg("%s", err.context);
	hob_buf_put(&out, "", 1);
	return (char *)out.data;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void text_names_what_is_in_the_files(void **state)
{
	(void)state;
	static const char *const parts[4][8] = {
		{"packed MESH file, version 1.7", "valid", "4 meshes", "0: 'quad', 4 vertices, layout 0, material 0",
		 "level 1: 1 triangle, vertices 0..3, error 0.125, on average 0.0625, 16-bit indices, 1 meshlet",
		 "morph target 'twist': 3 vertices, weight 0", "normal 0: R16G16_SNORM, octahedral, stream 1 at 0",
		 "2: 'wire', 2 vertices, layout 0, no material, lines"},
		{"2 materials",
		 "0: 'brick', cast shadow, receive shadow, base_color 0.5 1 1 1, metallic 0, roughness 0.75\n",
		 "base color: image 0 'textures/brick.png'", "transparent, blend, double sided, is unlit",
		 "2 variants", "64x32, 7 levels, ktx2, VkFormat 43, 11000 bytes, srgb, blob 000306090c0f1215",
		 "metal rough: image 1", "'night'"},
		{"2 scenes", "0: 'main', 1 root, default", "8 nodes", "    1: 'body', at 10 0 0\n",
		 "      2: 'body_Mesh_0', mesh 0, material 0\n", "5: 'eye', camera 0, light 1",
		 "perspective, yfov 0.75, aspect 0, near 0.125, far inf",
		 "'lamp', spot, colour 1 0.5 0.25, intensity 100, range 8"},
		{"2 clips", "0: 'walk', 0 to 2 s, 3 channels, 1 translation, 1 rotation, 1 weights, 7 keys", "1 skin",
		 "0: 'rig', 2 joints, root node 3", "CLIP", "IBMS", "sections", "first"},
	};
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	for (int kind = 0; kind < 4; kind++) {
		char *text = described(hob_describe_text, hob_buf_bytes(&packed.files[kind]), NULL);
		for (size_t i = 0; i < 8; i++)
			assert_has(text, parts[kind][i]);
		hob_buf_free(text);
	}
	fixture_release(&packed);
}

static void errors_of_attributes_are_described(void **state)
{
	(void)state;
	fixture f;
	hob_buf file = {0};
	hob_error err = {0};
	hob_pack_options options = {.encode = HOB_PACK_RAW};
	fixture_init(&f);
	f.meshes[0].lods[1].attributes = (hob_attribute_error){0.25f, 0, 0.5f};
	assert_true(hob_pack_meshes(f.meshes, HOB_COUNT_OF(f.meshes), &options, &file, &err));
	char *text = described(hob_describe_text, hob_buf_bytes(&file), NULL);
	assert_has(text, "packed MESH file, version 1.7");
	assert_has(text, "error 0.125, on average 0.0625, uv 0.25, weight 0.5, 16-bit indices");
	hob_buf_free(text);
	hob_buf_release(&file);
}

static void rows_are_bounded(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_describe_options options = {.max_rows = 3, .color = true};
	char *text = described(hob_describe_text, hob_buf_bytes(&packed.files[2]), &options);
	assert_has(text, "... and 5 more");
	assert_has(text, "\x1b[1m8 nodes\x1b[0m");
	assert_null(strstr(text, "shoulder_Mesh_0"));
	hob_buf_free(text);
	text = described(hob_describe_json, hob_buf_bytes(&packed.files[2]), &options);
	cJSON *json = cJSON_Parse(text);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "records"), "NAMS")),
					 3);
	cJSON_Delete(json);
	hob_buf_free(text);
	fixture_release(&packed);
}

static void json_holds_every_field(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	char *text = described(hob_describe_json, hob_buf_bytes(&packed.files[1]), NULL);
	cJSON *json = cJSON_Parse(text);
	assert_non_null(json);
	assert_string_equal(cJSON_GetObjectItem(json, "kind")->valuestring, "MATL");
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(json, "valid")));
	const cJSON *records = cJSON_GetObjectItem(json, "records");
	const cJSON *glass = cJSON_GetArrayItem(cJSON_GetObjectItem(records, "MATL"), 1);
	assert_string_equal(cJSON_GetObjectItem(glass, "name")->valuestring, "glass");
	assert_string_equal(cJSON_GetObjectItem(glass, "attenuation_distance")->valuestring, "inf");
	assert_true(cJSON_GetObjectItem(glass, "transparency")->valuedouble == 0.75);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(glass, "textures")), 24);
	const cJSON *image = cJSON_GetArrayItem(cJSON_GetObjectItem(records, "IMGS"), 0);
	assert_int_equal(strlen(cJSON_GetObjectItem(image, "cooked_sha256")->valuestring), 64);
	assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(records, "VARI"), 1)->valuestring, "night");
	cJSON_Delete(json);
	hob_buf_free(text);
	fixture_release(&packed);
}

static void classic_files_are_described(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_pack_set set = fixture_set(&packed);
	hob_classic_files files = {0};
	hob_error err = {0};
	assert_true(hob_classic_from_packed(&set, NULL, &files, &err));
	const hob_buf *bytes[] = {&files.meshes, &files.materials, &files.scene};
	static const char *const parts[3][2] = {
		{"classic meshes file", "0: 4 vertices, triangles 2 1, box (0 0 0) to (2 1 0)"},
		{"1: albedo 1 1 1 0.25", "'out_textures/000306090c0f"},
		{"8 nodes, 2 with a mesh", "'shoulder_Mesh_0'"},
	};
	static const char *const tables[] = {"boxes", "files", "materialNames"};
	for (size_t kind = 0; kind < 3; kind++) {
		char *text = described(hob_describe_text, hob_buf_bytes(bytes[kind]), NULL);
		assert_has(text, parts[kind][0]);
		assert_has(text, parts[kind][1]);
		hob_buf_free(text);
		text = described(hob_describe_json, hob_buf_bytes(bytes[kind]), NULL);
		cJSON *json = cJSON_Parse(text);
		assert_non_null(json);
		assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(json, tables[kind])) > 1);
		assert_true(cJSON_IsTrue(cJSON_GetObjectItem(json, "valid")));
		cJSON_Delete(json);
		hob_buf_free(text);
	}
	hob_classic_files_release(&files);
	fixture_release(&packed);
}

static void damaged_files_are_described_as_far_as_is_safe(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	for (int kind = 0; kind < 4; kind++) {
		hob_buf *file = &packed.files[kind];
		for (size_t at = 0; at < file->size; at += 3) {
			file->data[at] ^= 0x55;
			hob_buf out = {0};
			hob_error err = {0};
			if (hob_describe_json(hob_buf_bytes(file), NULL, &out, &err)) {
				cJSON *json = cJSON_ParseWithLength((const char *)out.data, out.size);
				assert_non_null(json);
				assert_true(cJSON_IsFalse(cJSON_GetObjectItem(json, "valid")));
				assert_true(strlen(cJSON_GetObjectItem(json, "error")->valuestring) > 0);
				cJSON_Delete(json);
				assert_true(hob_describe_text(hob_buf_bytes(file), NULL, &out, &err));
			} else {
				assert_int_equal(out.size, 0);
				assert_int_not_equal(err.code, HOB_ERR_OK);
			}
			hob_buf_release(&out);
			file->data[at] ^= 0x55;
		}
	}
	hob_buf out = {0};
	hob_error err = {0};
	assert_false(hob_describe_text((hob_bytes){(const uint8_t *)"glTF", 4}, NULL, &out, &err));
	hob_buf_release(&out);
	fixture_release(&packed);
}

static void unaligned_bytes_are_fine(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	uint8_t *shifted = malloc(packed.files[0].size + 1);
	memcpy(shifted + 1, packed.files[0].data, packed.files[0].size);
	char *text = described(hob_describe_text, (hob_bytes){shifted + 1, packed.files[0].size}, NULL);
	assert_has(text, "'quad'");
	hob_buf_free(text);
	free(shifted);
	fixture_release(&packed);
}

static void diff_names_the_fields_that_changed(void **state)
{
	(void)state;
	packed_fixture before, after;
	fixture_pack(&before, HOB_PACK_RAW);
	fixture_clips[1].name = HOB_STR("idle");
	fixture_names[3] = HOB_STR("elbow");
	quad_positions[2][0] = 3;
	fixture_pack(&after, HOB_PACK_RAW);
	fixture_clips[1].name = HOB_STR("rest");
	fixture_names[3] = HOB_STR("shoulder");
	quad_positions[2][0] = 2;
	static const char *const parts[4] = {"VTX_: 6 elements, 72 bytes -> 72", "",
										 "3: \"shoulder\" -> \"elbow\"", "1: name \"rest\" -> \"idle\""};
	for (int kind = 0; kind < 4; kind++) {
		hob_buf out = {0};
		hob_error err = {0};
		bool equal;
		assert_true(hob_diff_text(hob_buf_bytes(&before.files[kind]), hob_buf_bytes(&after.files[kind]), NULL,
								  &equal, &out, &err));
		assert_int_equal(equal, kind == 1);
		assert_int_equal(out.size == 0, kind == 1);
		hob_buf_put(&out, "", 1);
		assert_has((const char *)out.data, parts[kind]);
		hob_buf_release(&out);
	}
	hob_buf out = {0};
	hob_error err = {0};
	assert_false(hob_diff_text(hob_buf_bytes(&before.files[0]), hob_buf_bytes(&before.files[1]), NULL, NULL,
							   &out, &err));
	assert_has(err.context, "a MESH file and a MATL file");
	hob_buf_release(&out);
	fixture_release(&before);
	fixture_release(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_names_what_is_in_the_files),
		cmocka_unit_test(errors_of_attributes_are_described),
		cmocka_unit_test(rows_are_bounded),
		cmocka_unit_test(json_holds_every_field),
		cmocka_unit_test(classic_files_are_described),
		cmocka_unit_test(damaged_files_are_described_as_far_as_is_safe),
		cmocka_unit_test(unaligned_bytes_are_fine),
		cmocka_unit_test(diff_names_the_fields_that_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
