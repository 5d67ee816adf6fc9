#include "maker.h"
#include "touch.h"

/* Consecutive bytes, as written by the reference converter's fwrite calls. */
typedef struct bytes {
	uint8_t data[8192];
	size_t size;
} bytes_t;

static void put(bytes_t *b, const void *data, size_t size)
{
	assert_true(b->size + size <= sizeof b->data);
	memcpy(b->data + b->size, data, size);
	b->size += size;
}

static void put_u32(bytes_t *b, uint32_t value)
{
	put(b, &value, 4);
}

static void put_string(bytes_t *b, const char *text)
{
	put_u32(b, (uint32_t)strlen(text));
	put(b, text, strlen(text) + 1);
}

static hob_rt_blob finish(const bytes_t *b)
{
	void *copy = malloc(b->size);
	memcpy(copy, b->data, b->size);
	return (hob_rt_blob){copy, b->size};
}

static void put_mesh(bytes_t *b, uint32_t lods, uint32_t first_index, uint32_t first_vertex,
					 uint32_t vertices, const uint32_t offsets[9])
{
	put_u32(b, lods);
	put_u32(b, 1);
	put_u32(b, first_index);
	put_u32(b, first_vertex);
	put_u32(b, vertices);
	for (int i = 0; i < 8; i++)
		put_u32(b, offsets[i]);
	/* the eighth level overflows into the next array */
	put_u32(b, lods == 8 ? offsets[8] : first_vertex * 32);
	for (int i = 1; i < 8; i++)
		put_u32(b, 0);
	put_u32(b, 32);
	for (int i = 1; i < 8; i++)
		put_u32(b, 0);
}

/* Two meshes: a quad with two levels, a triangle with eight. */
static hob_rt_blob classic_meshes(void)
{
	bytes_t b = {{0}, 0};
	const uint32_t quad[9] = {0, 6, 9}, triangle[9] = {0, 3, 3, 3, 3, 3, 3, 3, 3};
	const float boxes[2][6] = {{0, 0, 0, 1, 1, 0}, {3.4e38f, 3.4e38f, 3.4e38f, -3.4e38f, -3.4e38f, -3.4e38f}};
	const uint32_t indices[] = {0, 1, 2, 2, 1, 3, 0, 1, 3, 0, 1, 2};
	put_u32(&b, 0x12345678);
	put_u32(&b, 2);
	put_u32(&b, 20 + 2 * 116);
	put_u32(&b, sizeof indices);
	put_u32(&b, 7 * 32);
	put_mesh(&b, 2, 0, 0, 4, quad);
	put_mesh(&b, 8, 9, 4, 4, triangle); /* the repository version stores 1.5 times the vertex count */
	put(&b, boxes, sizeof boxes);
	put(&b, indices, sizeof indices);
	for (int v = 0; v < 7; v++) {
		const float vertex[8] = {(float)(v % 2), (float)(v / 2), 0, 0.25f, 0.25f, 0, 0, 1};
		put(&b, vertex, sizeof vertex);
	}
	return finish(&b);
}

static hob_rt_blob classic_materials(void)
{
	bytes_t b = {{0}, 0};
	put_u32(&b, 2);
	for (int m = 0; m < 2; m++) {
		const float values[15] = {0.5f, 0,	  0, 1, 0.1f,  0.2f,		 0.3f, 0.4f,
								  0.7f, 0.7f, 0, 0, 0.25f, m ? 0 : 0.5f, 1};
		const uint32_t flags = m ? 4 : 3;
		const uint64_t maps[6] = {0xFFFFFFFF, 1, m ? 0xFFFFFFFF : 0, 0xFFFFFFFFFFFFFFFF, 77, 0};
		put(&b, values, sizeof values);
		put(&b, &flags, 4);
		put(&b, maps, sizeof maps);
	}
	put_u32(&b, 2);
	put_string(&b, "textures/a.png");
	put_string(&b, "glow.png");
	return finish(&b);
}

/* `merged`: the nodes of the second scene are children of node 0 but stored after an unrelated subtree, as
 * the reference's mergeScenes leaves them. */
static hob_rt_blob classic_scene(bool names, bool merged)
{
	bytes_t b = {{0}, 0};
	const int32_t apart[5] = {-1, 0, 1, 0, -1}, mixed[5] = {-1, 0, 0, 1, 2};
	const int32_t *parents = merged ? mixed : apart;
	put_u32(&b, 5);
	for (int i = 0; i < 5; i++) {
		const float local[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, (float)(i + 1), 0, 0, 1};
		put(&b, local, sizeof local);
	}
	for (int i = 0; i < 5 * 16; i++)
		put_u32(&b, 0x7FC00000); /* world matrices are recomputed */
	for (int i = 0; i < 5; i++) {
		const int32_t record[5] = {parents[i], -1, -1, -1, 0};
		put(&b, record, sizeof record);
	}
	put_u32(&b, 4); /* materials: two pairs in hash order */
	put_u32(&b, 3), put_u32(&b, 1), put_u32(&b, 2), put_u32(&b, 0);
	put_u32(&b, 4);
	put_u32(&b, 3), put_u32(&b, 0), put_u32(&b, 2), put_u32(&b, 1);
	if (names) {
		put_u32(&b, 6);
		put_u32(&b, 4), put_u32(&b, 0), put_u32(&b, 0), put_u32(&b, 2), put_u32(&b, 3), put_u32(&b, 1);
		put_u32(&b, 3);
		put_string(&b, "sun");
		put_string(&b, "wheel");
		put_string(&b, "car");
		put_u32(&b, 2);
		put_string(&b, "rubber");
		put_string(&b, "glass");
	}
	return finish(&b);
}

static hob_rt_files classic_files(bool names, bool merged)
{
	hob_rt_files files = {classic_meshes(), classic_materials(), classic_scene(names, merged), {NULL, 0}};
	return files;
}

static void a_classic_triple_opens_as_a_model(void **state)
{
	(void)state;
	hob_rt_files files = classic_files(true, false);
	hob_rt_asset *asset = open_good(&files);
	assert_true(asset->classic);
	assert_int_equal(asset->node_count, 5);
	assert_int_equal(asset->draw_count, 2);
	assert_true(asset->draws[0].node == 2 && asset->draws[0].mesh == 1 && asset->draws[0].material == 0);
	assert_true(asset->draws[1].node == 3 && asset->draws[1].mesh == 0 && asset->draws[1].material == 1);
	assert_int_equal(hob_rt_find_node(asset, "wheel"), 3);
	assert_string_equal(hob_rt_node_name(asset, 1), "");
	assert_string_equal(hob_rt_material_name(asset, 1), "glass");
	uint32_t count;
	const uint32_t *roots = hob_rt_scene_roots(asset, 0, &count);
	assert_true(count == 2 && roots[0] == 0 && roots[1] == 4);
	touch_asset(asset);
	hob_rt_close(asset);
	free_files(&files);
}

static void classic_meshes_have_levels_boxes_and_vertices(void **state)
{
	(void)state;
	hob_rt_files files = classic_files(false, false);
	hob_rt_asset *asset = open_good(&files);
	const hob_rt_mesh *quad = &asset->meshes[0], *triangle = &asset->meshes[1];
	float v[4];
	assert_int_equal(quad->lod_count, 2);
	assert_int_equal(quad->lods[1].index_count, 3);
	assert_int_equal(((const uint32_t *)quad->lods[1].indices)[2], 3);
	assert_true(quad->aabb_max[0] == 1 && quad->sphere[0] == 0.5f);
	assert_float_equal(quad->sphere[3], 0.70710678f, 1e-6);
	assert_true(quad->lods[0].error == 0 && quad->lods[1].error > 0);
	assert_int_equal(triangle->lod_count, 8);
	assert_int_equal(triangle->lods[7].index_count, 0);
	assert_int_equal(triangle->vertex_count, 3);
	assert_true(triangle->aabb_max[0] == 0);
	assert_int_equal(triangle->streams[0].first, 4);
	hob_rt_read_vertex(triangle, hob_rt_find_attribute(triangle, HOB_PK_SEMANTIC_POSITION, 0), 1, v);
	assert_true(v[0] == 1 && v[1] == 2);
	hob_rt_read_vertex(quad, hob_rt_find_attribute(quad, HOB_PK_SEMANTIC_UV, 0), 0, v);
	assert_true(v[0] == 0.25f && v[1] == 0.75f); /* stored 1 - v */
	hob_rt_read_vertex(quad, hob_rt_find_attribute(quad, HOB_PK_SEMANTIC_NORMAL, 0), 0, v);
	assert_true(v[2] == 1);
	hob_rt_close(asset);
	free_files(&files);
}

static void classic_materials_keep_factors_flags_and_textures(void **state)
{
	(void)state;
	hob_rt_files files = classic_files(true, false);
	hob_rt_asset *asset = open_good(&files);
	const hob_pk_material *first = hob_rt_material(asset, 0), *second = hob_rt_material(asset, 1);
	assert_true(first->emissive[0] == 0.5f && first->base_color[2] == 0.3f && first->base_color[3] == 0.4f);
	assert_true(first->roughness == 0.7f && first->metallic == 1 && first->transparency == 0.25f);
	assert_int_equal(first->flags,
					 HOB_PK_MATERIAL_CAST_SHADOW | HOB_PK_MATERIAL_RECEIVE_SHADOW | HOB_PK_MATERIAL_MASK);
	assert_int_equal(second->flags, HOB_PK_MATERIAL_TRANSPARENT | HOB_PK_MATERIAL_BLEND);
	uint32_t albedo = first->textures[HOB_PK_SLOT_BASE_COLOR], glow = first->textures[HOB_PK_SLOT_EMISSIVE];
	assert_string_equal(hob_rt_image_name(asset, hob_rt_texref(asset, albedo)->image), "textures/a.png");
	assert_string_equal(hob_rt_image_name(asset, hob_rt_texref(asset, glow)->image), "glow.png");
	assert_int_equal(first->textures[HOB_PK_SLOT_NORMAL], HOB_RT_NONE); /* image 77 of 2 */
	/* dangling slots become HOB_RT_NONE, see the notes on the classic format */
	assert_int_equal(first->textures[HOB_PK_SLOT_OPACITY], HOB_RT_NONE);
	assert_int_equal(second->textures[HOB_PK_SLOT_BASE_COLOR], HOB_RT_NONE);
	hob_rt_close(asset);
	free_files(&files);
}

static void world_transforms_are_computed_in_either_order_of_nodes(void **state)
{
	(void)state;
	for (int merged = 0; merged < 2; merged++) {
		hob_rt_files files = classic_files(true, merged);
		hob_rt_asset *asset = open_good(&files);
		hob_rt_instance *instance;
		assert_true(hob_rt_instance_open(asset, &instance, NULL));
		const float apart[5] = {1, 3, 6, 5, 5}, mixed[5] = {1, 3, 4, 7, 9};
		for (uint32_t i = 0; i < 5; i++)
			assert_true(hob_rt_global(instance, i)[12] == (merged ? mixed : apart)[i]);
		const float up[3] = {2, 1, 0};
		hob_rt_set_trs(instance, 1, up, NULL, NULL);
		assert_int_equal(hob_rt_update(instance), 2);
		uint32_t below = merged ? 3 : 2, beside = merged ? 4 : 3, count;
		assert_true(hob_rt_global(instance, below)[13] == 1);
		assert_true(hob_rt_global(instance, beside)[13] == 0);
		const hob_rt_range *ranges = hob_rt_changed(instance, &count);
		assert_int_equal(count, merged ? 2 : 1);
		assert_int_equal(ranges[0].first, 1);
		assert_int_equal(ranges[count - 1].first + ranges[count - 1].count, below + 1);
		assert_int_equal(hob_rt_update(instance), 0);
		hob_rt_instance_close(instance);
		hob_rt_close(asset);
		free_files(&files);
	}
}

static void damage_is_refused_or_harmless(void **state)
{
	(void)state;
	const uint32_t values[] = {0,		   1,		   2,		   0x7FFFFFFF, 0x80000000,
							   0xFFFFFFFF, 0xFFFFFFFE, 0x7F800000, 0x7FC00000};
	hob_rt_files files = classic_files(true, true);
	hob_rt_blob *blobs[] = {&files.meshes, &files.materials, &files.scene};
	hob_rt_asset *asset;
	uint32_t refused = 0;
	for (int which = 0; which < 3; which++) {
		hob_rt_blob *blob = blobs[which], whole = *blob;
		uint8_t *bytes = (uint8_t *)(uintptr_t)whole.data;
		for (size_t i = 0; i + 4 <= whole.size; i++)
			for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
				uint32_t kept;
				memcpy(&kept, bytes + i, 4);
				memcpy(bytes + i, &values[v], 4);
				if (hob_rt_open(&files, NULL, &asset, NULL)) {
					touch_asset(asset);
					hob_rt_close(asset);
				} else {
					refused++;
				}
				memcpy(bytes + i, &kept, 4);
			}
		for (size_t size = 1; size < whole.size; size++) {
			blob->data = malloc(size);
			blob->size = size;
			memcpy((void *)(uintptr_t)blob->data, whole.data, size);
			/* A scene may end before its names. */
			if (hob_rt_open(&files, NULL, &asset, NULL)) {
				assert_int_equal(which, 2);
				touch_asset(asset);
				hob_rt_close(asset);
			}
			free_blob(*blob);
		}
		*blob = whole;
	}
	assert_true(refused > 1000);
	free_files(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_classic_triple_opens_as_a_model),
		cmocka_unit_test(classic_meshes_have_levels_boxes_and_vertices),
		cmocka_unit_test(classic_materials_keep_factors_flags_and_textures),
		cmocka_unit_test(world_transforms_are_computed_in_either_order_of_nodes),
		cmocka_unit_test(damage_is_refused_or_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
