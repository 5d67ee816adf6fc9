#include "rich.h"
#include "touch.h"

static void everything_of_a_model_is_there(void **state)
{
	(void)state;
	hob_rt_files files = rich_files();
	hob_rt_asset *asset = open_good(&files);
	assert_int_equal(asset->node_count, RICH_NODES);
	assert_int_equal(asset->draw_count, 2);
	assert_int_equal(asset->mesh_count, 2);
	assert_int_equal(asset->skin_count, 1);
	assert_int_equal(asset->clip_count, 1);
	assert_int_equal(asset->animated_count, 2);
	const hob_rt_draw *body = &asset->draws[0], *box = &asset->draws[1];
	assert_true(body->node == 2 && body->mesh == 0 && body->material == 1 && body->skin == 0);
	assert_true(box->node == 6 && box->mesh == 1 && box->material == 0 && box->skin == HOB_RT_NONE);
	assert_string_equal(asset->meshes[0].name, "body");
	assert_string_equal(asset->meshes[1].name, "");
	assert_string_equal(hob_rt_material_name(asset, 1), "cloth");
	assert_string_equal(hob_rt_image_name(asset, 0), "cloth.png");
	assert_string_equal(hob_rt_variant_name(asset, 1), "blue");
	assert_int_equal(hob_rt_variant_material(asset, 0, 1), 0);
	assert_int_equal(hob_rt_variant_material(asset, 0, 0), HOB_RT_NONE);
	assert_string_equal(hob_rt_morph_name(asset, 0), "lean");
	assert_string_equal(asset->skins[0].name, "leg");
	assert_int_equal(hob_rt_node_camera(asset, 0), 0);
	assert_int_equal(hob_rt_node_camera(asset, 1), HOB_RT_NONE);
	assert_int_equal(hob_rt_node_light(asset, 7), 0);
	assert_true(isinf(hob_rt_light(asset, 0)->range));
	const char *extensions;
	assert_string_equal(hob_rt_extras(asset, HOB_PK_EXTRA_FILE, 0, NULL), "[1]");
	assert_string_equal(hob_rt_extras(asset, HOB_PK_EXTRA_NODE, 5, &extensions), "{\"health\":10}");
	assert_string_equal(extensions, "{\"EXT_x\":{}}");
	assert_string_equal(hob_rt_extras(asset, HOB_PK_EXTRA_NODE, 4, &extensions), "");
	assert_string_equal(extensions, "");
	uint32_t count;
	assert_int_equal(hob_rt_deltas(asset, 0, &count)[0].vertex, 5);
	assert_int_equal(count, 1);
	hob_rt_close(asset);
	free_files(&files);
}

static void vertices_and_levels_point_into_the_blob(void **state)
{
	(void)state;
	hob_rt_files files = rich_files();
	hob_rt_asset *asset = open_good(&files);
	const hob_rt_mesh *body = &asset->meshes[0], *box = &asset->meshes[1];
	float v[4];
	assert_memory_equal(body->streams[0].data, rich_positions, sizeof rich_positions);
	assert_int_equal(body->lods[0].index_bytes, 2);
	assert_int_equal(((const uint16_t *)body->lods[0].indices)[11], 5);
	assert_int_equal(((const uint32_t *)body->lods[1].indices)[2], 3);
	assert_int_equal(((const uint32_t *)box->lods[0].indices)[5], 6);
	const hob_pk_lod_attributes *errors = hob_rt_lod_attributes(asset, body, 1);
	assert_true(body->lods[1].mean_error == 0.25f && body->lods[0].mean_error == 0);
	assert_true(errors->uv == 0.25f && errors->color == 0.5f && errors->weight == 0.125f);
	assert_true(hob_rt_lod_attributes(asset, body, 0)->uv == 0 &&
				hob_rt_lod_attributes(asset, box, 0)->weight == 0);
	assert_ptr_equal(hob_rt_find_attribute(body, HOB_PK_SEMANTIC_UV, 0), NULL);
	hob_rt_read_vertex(body, hob_rt_find_attribute(body, HOB_PK_SEMANTIC_WEIGHTS, 0), 2, v);
	assert_float_equal(v[0], 127 / 255.0f, 1e-6);
	assert_float_equal(v[1], 128 / 255.0f, 1e-6);
	hob_rt_read_vertex(body, hob_rt_find_attribute(body, HOB_PK_SEMANTIC_JOINTS, 0), 2, v);
	assert_true(v[0] == 0 && v[1] == 1);
	hob_rt_read_vertex(box, hob_rt_find_attribute(box, HOB_PK_SEMANTIC_POSITION, 0), 5, v);
	assert_true(v[0] == 1 && v[1] == -1 && v[2] == 1);
	hob_rt_read_vertex(box, hob_rt_find_attribute(box, HOB_PK_SEMANTIC_UV, 0), 0, v);
	assert_true(v[0] == 3 && v[1] == 0.5f);
	hob_rt_read_vertex(box, hob_rt_find_attribute(box, HOB_PK_SEMANTIC_NORMAL, 0), 1, v);
	assert_true(v[0] == 1 && v[1] == 0 && v[2] == 0);
	hob_rt_read_vertex(box, hob_rt_find_attribute(box, HOB_PK_SEMANTIC_NORMAL, 0), 0, v);
	assert_true(v[0] == 0 && v[1] == -1 && v[2] == 0);
	hob_rt_close(asset);
	free_files(&files);
}

static void files_that_were_not_given_leave_their_things_empty(void **state)
{
	(void)state;
	for (int without = 1; without < 16; without++) {
		hob_rt_files files = rich_files(), some = files;
		const hob_rt_blob none = {NULL, 0};
		if (without & 1)
			some.meshes = none;
		if (without & 2)
			some.materials = none;
		if (without & 4)
			some.animations = none;
		if (without & 8)
			some.scene = none;
		hob_rt_asset *asset;
		hob_rt_error error;
		bool opened = hob_rt_open(&some, NULL, &asset, &error);
		assert_true(opened == !(without & 8));
		if (opened) {
			assert_int_equal(asset->draw_count, without & 1 ? 0 : 2);
			assert_true((asset->material_count == 0) == ((without & 2) != 0));
			for (uint32_t i = 0; i < asset->draw_count; i++) {
				assert_true(!(without & 2) || asset->draws[i].material == HOB_RT_NONE);
				assert_true(!(without & 4) || asset->draws[i].skin == HOB_RT_NONE);
			}
			touch_asset(asset);
			hob_rt_close(asset);
		} else {
			assert_int_equal(error.code, HOB_RT_TRUNCATED);
		}
		free_files(&files);
	}
}

static void refusals_say_why(void **state)
{
	(void)state;
	const struct {
		size_t offset; /* in the scene file */
		uint32_t value;
		hob_rt_code code;
	} cases[] = {
		{0, 0, HOB_RT_CORRUPT},		 {8, 0x04030201, HOB_RT_CORRUPT}, {12, 2, HOB_RT_NEWER},
		{16, 1, HOB_RT_CORRUPT},	 {32, 1 << 20, HOB_RT_TRUNCATED}, {32, 64, HOB_RT_CORRUPT},
		{24, 99999, HOB_RT_CORRUPT},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		hob_rt_files files = rich_files();
		hob_rt_asset *asset = NULL;
		hob_rt_error error = {HOB_RT_OK, ""};
		memcpy((uint8_t *)(uintptr_t)files.scene.data + cases[i].offset, &cases[i].value, 4);
		if (cases[i].offset == 0) {
			/* Without the magic it is read as a classic scene: any error will do. */
			assert_false(hob_rt_open(&files, NULL, &asset, &error));
		} else {
			assert_false(hob_rt_open(&files, NULL, &asset, &error));
			assert_int_equal(error.code, cases[i].code);
		}
		assert_null(asset);
		assert_true(strlen(error.text) > 10);
		free_files(&files);
	}
	hob_rt_files files = rich_files();
	hob_rt_blob whole = files.scene;
	uint8_t *moved = malloc(whole.size + 16);
	memcpy(moved + 4, whole.data, whole.size);
	files.scene.data = moved + 4;
	hob_rt_asset *asset;
	hob_rt_error error;
	assert_false(hob_rt_open(&files, NULL, &asset, &error));
	assert_int_equal(error.code, HOB_RT_MISALIGNED);
	assert_false(hob_rt_open(&files, NULL, &asset, NULL));
	free(moved);
	files.scene = whole;
	free_files(&files);
}

/* ---- memory */

typedef struct counter {
	int allocations, releases, fail_at;
} counter_t;

static void *count_allocate(void *user, size_t size)
{
	counter_t *c = user;
	return ++c->allocations == c->fail_at ? NULL : malloc(size);
}

static void count_release(void *user, void *memory)
{
	counter_t *c = user;
	c->releases++;
	free(memory);
}

static void memory_is_taken_on_opening_only_and_all_given_back(void **state)
{
	(void)state;
	hob_rt_files files = rich_files();
	counter_t counter = {0, 0, 0};
	hob_rt_options options = {count_allocate, count_release, NULL, &counter, false};
	hob_rt_asset *asset;
	hob_rt_instance *instance;
	hob_rt_player *player;
	assert_true(hob_rt_open(&files, &options, &asset, NULL));
	assert_int_equal(counter.allocations - counter.releases, 1);
	assert_true(hob_rt_instance_open(asset, &instance, NULL));
	assert_true(hob_rt_player_open(asset, 4, &player, NULL));
	int before = counter.allocations;
	hob_rt_player_play(player, 0, 0.5f, 1, true);
	for (int i = 0; i < 100; i++) {
		hob_rt_player_advance(player, 0.1, instance);
		hob_rt_update(instance);
	}
	assert_int_equal(counter.allocations, before);
	hob_rt_player_close(player);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	assert_int_equal(counter.allocations, counter.releases);
	for (int n = 1; n <= 2; n++) {
		hob_rt_error error;
		counter = (counter_t){0, 0, n};
		assert_false(hob_rt_open(&files, &options, &asset, &error));
		assert_int_equal(error.code, HOB_RT_MEMORY);
		assert_int_equal(counter.allocations - 1, counter.releases);
	}
	free_files(&files);
}

static void opening_objects_reports_missing_memory(void **state)
{
	(void)state;
	hob_rt_files files = rich_files();
	counter_t counter = {0, 0, 0};
	hob_rt_options options = {count_allocate, count_release, NULL, &counter, false};
	hob_rt_asset *asset;
	hob_rt_instance *instance;
	hob_rt_pose *pose;
	hob_rt_player *player;
	hob_rt_error error;
	assert_true(hob_rt_open(&files, &options, &asset, NULL));
	for (int which = 0; which < 3; which++) {
		counter.fail_at = counter.allocations + 1;
		error.code = HOB_RT_OK;
		if (which == 0)
			assert_false(hob_rt_instance_open(asset, &instance, &error));
		else if (which == 1)
			assert_false(hob_rt_pose_open(asset, &pose, &error));
		else
			assert_false(hob_rt_player_open(asset, 2, &player, &error));
		assert_int_equal(error.code, HOB_RT_MEMORY);
	}
	hob_rt_close(asset);
	free_files(&files);
}

/* ---- later versions */

static void longer_records_and_unknown_sections_are_read_past(void **state)
{
	(void)state;
	const uint32_t parents[] = {HOB_RT_NONE, 0};
	maker *m = maker_new();
	add_nodes(m, parents, 2, NULL, NULL);
	const uint8_t anything[5] = {1, 2, 3, 4, 5};
	uint32_t unknown = maker_add(m, 0x3F3F3F3F, anything, 5, 1);
	/* Hierarchy records of 28 bytes: a later minor version appended two fields. */
	maker_section *hier = &m->sections[0];
	uint8_t *longer = calloc(2, 28);
	memcpy(longer, hier->data, 20);
	memcpy(longer + 28, hier->data + 20, 20);
	free(hier->data);
	hier->data = longer;
	hier->stride = 28;
	hob_rt_files files = {.scene = maker_finish(m, HOB_PK_KIND_SCNE)};
	hob_rt_asset *asset = open_good(&files);
	assert_int_equal(hob_rt_parent(asset, 1), 0);
	touch_asset(asset);
	hob_rt_close(asset);
	uint8_t *bytes = (uint8_t *)(uintptr_t)files.scene.data;
	hob_pk_section *section = (hob_pk_section *)(void *)(bytes + 64 + unknown * 64);
	section->flags = HOB_PK_SECTION_MUST_UNDERSTAND;
	hob_rt_error error;
	assert_false(hob_rt_open(&files, NULL, &asset, &error));
	assert_int_equal(error.code, HOB_RT_UNSUPPORTED);
	free_files(&files);
}

/* ---- vertex formats */

static void vertex_formats_decode_as_vulkan_defines_them(void **state)
{
	(void)state;
	const struct {
		uint16_t format;
		uint8_t bytes[16];
		float expected[4];
	} cases[] = {
		{16, {255, 51}, {1, 0.2f, 0, 1}},
		{17, {0x81, 0x80}, {-1, -1, 0, 1}},
		{37, {0, 255, 51, 102}, {0, 1, 0.2f, 0.4f}},
		{41, {0, 7, 255, 1}, {0, 7, 255, 1}},
		{65, {0xFF, 0x05, 0x08, 0x40}, {1, -1, 0, 1}},
		{77, {0xFF, 0xFF, 0x33, 0x33}, {1, 0.2f, 0, 1}},
		{78, {0x01, 0x80, 0x00, 0x80}, {-1, -1, 0, 1}},
		{83, {0x00, 0x3C, 0x00, 0xC0}, {1, -2, 0, 1}},
		{97, {0x01, 0x00, 0xFF, 0x7B, 0x00, 0x7C, 0x00, 0x7E}, {5.9604645e-8f, 65504, 65504, 0}},
		{95, {0x34, 0x12, 0, 0, 0xFF, 0xFF, 1, 0}, {4660, 0, 65535, 1}},
		{100, {0, 0, 0x20, 0x41}, {10, 0, 0, 1}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const hob_rt_attribute attribute = {HOB_PK_SEMANTIC_COLOR, 0, 4, HOB_PK_ENCODING_PLAIN,
											cases[i].format,	   0, 0};
		hob_rt_mesh mesh = {.vertex_count = 1, .stream_count = 1};
		mesh.streams[0].data = cases[i].bytes;
		mesh.streams[0].stride = 16;
		float value[4];
		hob_rt_read_vertex(&mesh, &attribute, 0, value);
		for (int k = 0; k < 4; k++)
			if (fabsf(value[k] - cases[i].expected[k]) > 1e-6f * (1 + fabsf(cases[i].expected[k])))
				fail_msg("format %u component %d is %g", cases[i].format, k, (double)value[k]);
	}
}

/* ---- encoded sections */

static bool unscramble(void *user, uint32_t codec, uint32_t count, uint32_t stride, const void *stored,
					   size_t stored_size, void *out)
{
	(void)user;
	if (codec != HOB_PK_CODEC_MESHOPT_INDEX || stored_size != (size_t)count * stride)
		return false;
	for (size_t i = 0; i < stored_size; i++)
		((uint8_t *)out)[i] = ((const uint8_t *)stored)[i] ^ 0xAA;
	return true;
}

static void encoded_sections_go_through_the_callers_decoder(void **state)
{
	(void)state;
	hob_rt_files files = rich_files();
	uint8_t *bytes = (uint8_t *)(uintptr_t)files.meshes.data;
	hob_pk_section *section = (hob_pk_section *)(void *)(bytes + 64); /* indices of the fine level */
	section->codec = HOB_PK_CODEC_MESHOPT_INDEX;
	section->flags |= HOB_PK_SECTION_GPU;
	for (uint64_t i = 0; i < section->stored_bytes; i++)
		bytes[section->offset + i] ^= 0xAA;
	hob_rt_asset *asset;
	hob_rt_error error;
	hob_rt_options options = {NULL, NULL, unscramble, NULL, false};
	assert_false(hob_rt_open(&files, NULL, &asset, &error));
	assert_int_equal(error.code, HOB_RT_UNSUPPORTED);
	assert_true(hob_rt_open(&files, &options, &asset, &error));
	assert_int_equal(((const uint16_t *)asset->meshes[0].lods[0].indices)[11], 5);
	touch_asset(asset);
	hob_rt_close(asset);
	section->codec = HOB_PK_CODEC_MESHOPT_SEQUENCE;
	assert_false(hob_rt_open(&files, &options, &asset, &error));
	assert_int_equal(error.code, HOB_RT_CORRUPT);
	free_files(&files);
}

/* ---- damage: any opened asset must be safe to use */

static hob_rt_blob *blob_of(hob_rt_files *files, int which)
{
	hob_rt_blob *blobs[] = {&files->meshes, &files->materials, &files->scene, &files->animations};
	return blobs[which];
}

static bool try_open(const hob_rt_files *files)
{
	hob_rt_asset *asset;
	hob_rt_error error = {HOB_RT_OK, ""};
	if (!hob_rt_open(files, NULL, &asset, &error)) {
		assert_true(error.code != HOB_RT_OK && error.text[0] != 0);
		return false;
	}
	touch_asset(asset);
	hob_rt_close(asset);
	return true;
}

static void every_prefix_is_refused(void **state)
{
	(void)state;
	hob_rt_files files = rich_files();
	for (int which = 0; which < 4; which++) {
		hob_rt_blob *blob = blob_of(&files, which), whole = *blob;
		for (size_t size = 1; size < whole.size; size += size < 256 ? 1 : 13) {
			blob->data = malloc(size);
			blob->size = size;
			memcpy((void *)(uintptr_t)blob->data, whole.data, size);
			assert_false(try_open(&files));
			free_blob(*blob);
		}
		*blob = whole;
	}
	free_files(&files);
}

static void every_changed_byte_is_refused_or_harmless(void **state)
{
	(void)state;
	hob_rt_files files = rich_files();
	const uint8_t changes[] = {1, 0x80, 0xFF, 0x7F};
	uint32_t refused = 0, opened = 0;
	for (int which = 0; which < 4; which++) {
		hob_rt_blob *blob = blob_of(&files, which);
		uint8_t *bytes = (uint8_t *)(uintptr_t)blob->data;
		for (size_t i = 0; i < blob->size; i++)
			for (size_t c = 0; c < sizeof changes; c++) {
				bytes[i] ^= changes[c];
				if (try_open(&files))
					opened++;
				else
					refused++;
				bytes[i] ^= changes[c];
			}
	}
	assert_true(refused > 2000 && opened > 2000);
	assert_true(try_open(&files));
	free_files(&files);
}

static void every_field_survives_extreme_values(void **state)
{
	(void)state;
	const uint32_t values[] = {0,		   1,		   0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
							   0xFFFFFFFE, 0x7F800000, 0x7FC00000, 0x10000};
	hob_rt_files files = rich_files();
	for (int which = 0; which < 4; which++) {
		hob_rt_blob *blob = blob_of(&files, which);
		uint8_t *bytes = (uint8_t *)(uintptr_t)blob->data;
		for (size_t i = 8; i + 4 <= blob->size; i += 4)
			for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
				uint32_t kept;
				memcpy(&kept, bytes + i, 4);
				memcpy(bytes + i, &values[v], 4);
				try_open(&files);
				memcpy(bytes + i, &kept, 4);
			}
	}
	free_files(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_of_a_model_is_there),
		cmocka_unit_test(vertices_and_levels_point_into_the_blob),
		cmocka_unit_test(files_that_were_not_given_leave_their_things_empty),
		cmocka_unit_test(refusals_say_why),
		cmocka_unit_test(memory_is_taken_on_opening_only_and_all_given_back),
		cmocka_unit_test(opening_objects_reports_missing_memory),
		cmocka_unit_test(longer_records_and_unknown_sections_are_read_past),
		cmocka_unit_test(vertex_formats_decode_as_vulkan_defines_them),
		cmocka_unit_test(encoded_sections_go_through_the_callers_decoder),
		cmocka_unit_test(every_prefix_is_refused),
		cmocka_unit_test(every_changed_byte_is_refused_or_harmless),
		cmocka_unit_test(every_field_survives_extreme_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
