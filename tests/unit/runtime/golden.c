#include "maker.h"
#include "touch.h"

/* Uses the committed files of core/formats' tests: the runtime must read the output of the cook. */
static hob_rt_blob load(const char *name)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/formats/%s", HOB_TEST_DATA, name);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size_t size = (size_t)ftell(file);
	rewind(file);
	void *data = malloc(size);
	assert_int_equal(fread(data, 1, size, file), size);
	fclose(file);
	return (hob_rt_blob){data, size};
}

static const void *section(hob_rt_blob blob, uint32_t type)
{
	const hob_pk_header *header = blob.data;
	const uint8_t *bytes = blob.data;
	for (uint32_t i = 0; i < header->section_count; i++) {
		const hob_pk_section *s =
			(const void *)(bytes + header->header_bytes + (size_t)i * header->entry_bytes);
		if (s->type == type)
			return bytes + s->offset;
	}
	return NULL;
}

static void packed_files_of_the_cook_open_and_agree_on_world_transforms(void **state)
{
	(void)state;
	hob_rt_files files = {load("raw.meshes"), load("raw.materials"), load("raw.scene"),
						  load("raw.animations")};
	hob_rt_asset *asset = open_good(&files);
	hob_rt_instance *instance;
	assert_true(hob_rt_instance_open(asset, &instance, NULL));
	const hob_pk_mat4 *global = section(files.scene, HOB_PK_GLOB);
	for (uint32_t i = 0; i < asset->node_count; i++) {
		double expected[16];
		for (int k = 0; k < 16; k++)
			expected[k] = global[i].m[k];
		assert_matrix(hob_rt_global(instance, i), expected, 1e-5);
	}
	assert_true(asset->draw_count > 0 && asset->clip_count > 0 && asset->skin_count > 0 &&
				asset->weight_count > 0);
	touch_asset(asset);
	hob_rt_instance_close(instance);
	hob_rt_close(asset);
	free_files(&files);
}

static void classic_files_of_the_cook_open(void **state)
{
	(void)state;
	hob_rt_files files = {
		load("classic.meshes"), load("classic.materials"), load("classic.scene"), {NULL, 0}};
	hob_rt_asset *asset = open_good(&files);
	assert_true(asset->classic && asset->draw_count > 0 && asset->material_count > 0);
	touch_asset(asset);
	hob_rt_close(asset);
	free_files(&files);
}

static void encoded_files_need_a_decoder(void **state)
{
	(void)state;
	hob_rt_files files = {load("encoded.meshes"), {NULL, 0}, load("raw.scene"), {NULL, 0}};
	hob_rt_asset *asset;
	hob_rt_error error;
	assert_false(hob_rt_open(&files, NULL, &asset, &error));
	assert_int_equal(error.code, HOB_RT_UNSUPPORTED);
	free_files(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_files_of_the_cook_open_and_agree_on_world_transforms),
		cmocka_unit_test(classic_files_of_the_cook_open),
		cmocka_unit_test(encoded_files_need_a_decoder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
