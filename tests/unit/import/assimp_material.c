/* Materials and pictures from aiScene to hob_model, on hand-made scenes. */
#include "tests/unit/import/assimp_fixture.h"

#include <assimp/material.h>

/* ---- materials */

static void add_property(made *m, struct aiMaterial *material, const char *key, unsigned semantic,
						 enum aiPropertyTypeInfo type, const void *data, size_t size)
{
	struct aiMaterialProperty *property = MAKE(m, struct aiMaterialProperty, 1);
	set_name(&property->mKey, key);
	property->mSemantic = semantic;
	property->mType = type;
	property->mDataLength = (unsigned)size;
	property->mData = MAKE(m, char, size);
	memcpy(property->mData, data, size);
	if (!material->mProperties)
		material->mProperties = MAKE(m, struct aiMaterialProperty *, 32);
	material->mProperties[material->mNumProperties++] = property;
}

static void add_floats(made *m, struct aiMaterial *material, const char *key, unsigned count,
					   const float *values)
{
	add_property(m, material, key, 0, aiPTI_Float, values, count * sizeof *values);
}

static void add_string(made *m, struct aiMaterial *material, const char *key, unsigned semantic,
					   const char *text)
{
	char data[256];
	uint32_t length = (uint32_t)strlen(text);
	memcpy(data, &length, 4);
	memcpy(data + 4, text, length + 1);
	add_property(m, material, key, semantic, aiPTI_String, data, length + 5);
}

static struct aiMaterial *one_material(made *m)
{
	struct aiMaterial *material = MAKE(m, struct aiMaterial, 1);
	m->scene.mRootNode = make_node(m, "root", NULL, 0);
	m->scene.mMaterials = MAKE(m, struct aiMaterial *, 1);
	m->scene.mMaterials[0] = material;
	m->scene.mNumMaterials = 1;
	return material;
}

static void colours_and_factors_are_taken_over(void **state)
{
	(void)state;
	made *m = made_new("x");
	struct aiMaterial *material = one_material(m);
	add_string(m, material, "?mat.name", 0, "paint");
	add_floats(m, material, "$clr.diffuse", 3, (const float[]){0.5f, -1, 2});
	add_floats(m, material, "$clr.emissive", 3, (const float[]){1, 0, 0});
	add_floats(m, material, "$clr.ambient", 3, (const float[]){9, 9, 9});
	add_floats(m, material, "$mat.shininess", 1, (const float[]){30});
	add_floats(m, material, "$mat.opacity", 1, (const float[]){0.25f});
	add_property(m, material, "$mat.twosided", 0, aiPTI_Integer, (const int[]){1}, sizeof(int));
	const hob_material *to = &model_of(m)->materials[0];
	assert_name(to->name, "paint");
	assert_vector(to->base_color, 0.5f, 0, 2);
	assert_near(to->base_color[3], 0.25f);
	assert_vector(to->emissive, 1, 0, 0);
	assert_near(to->roughness, 0.5f);
	assert_near(to->metallic, 0);
	assert_int_equal(to->alpha_mode, HOB_ALPHA_BLEND);
	assert_true(to->double_sided);
	made_free(m);
}

static void textures_fill_slots_and_samplers(void **state)
{
	(void)state;
	made *m = made_new("dae");
	struct aiMaterial *material = one_material(m);
	add_floats(m, material, "$clr.diffuse", 3, (const float[]){0.2f, 0.2f, 0.2f});
	add_string(m, material, "$tex.file", aiTextureType_DIFFUSE, "maps\\wood.png");
	add_string(m, material, "$tex.file", aiTextureType_NORMALS, "maps/bumps.png");
	add_string(m, material, "$tex.file", aiTextureType_OPACITY, "maps/wood.png");
	add_string(m, material, "$tex.file", aiTextureType_METALNESS, "metal.png");
	add_string(m, material, "$tex.file", aiTextureType_SHININESS, "gloss.png");
	add_property(m, material, "$tex.uvwsrc", aiTextureType_DIFFUSE, aiPTI_Integer, (const int[]){1}, 4);
	add_property(m, material, "$tex.mapmodeu", aiTextureType_DIFFUSE, aiPTI_Integer,
				 (const int[]){aiTextureMapMode_Clamp}, 4);
	add_property(m, material, "$tex.mapmodev", aiTextureType_DIFFUSE, aiPTI_Integer,
				 (const int[]){aiTextureMapMode_Mirror}, 4);
	const hob_model *model = model_of(m);
	const hob_material *to = &model->materials[0];
	const hob_texture_ref *color = &to->slots[HOB_SLOT_BASE_COLOR];
	assert_int_equal(model->image_count, 3);
	assert_name(model->images[color->image].path, "dir/maps/wood.png");
	assert_int_equal(color->uv_set, 1);
	assert_int_equal(model->samplers[color->sampler].wrap_u, HOB_WRAP_CLAMP);
	assert_int_equal(model->samplers[color->sampler].wrap_v, HOB_WRAP_MIRROR);
	assert_int_equal(to->slots[HOB_SLOT_OPACITY].image, color->image);
	assert_int_equal(to->slots[HOB_SLOT_NORMAL].sampler, HOB_NONE);
	assert_near(to->metallic, 1);
	assert_int_equal(to->alpha_mode, HOB_ALPHA_OPAQUE);
	/* In COLLADA a map replaces the colour. */
	assert_vector(to->base_color, 1, 1, 1);
	assert_true(noted(m, "texture.ignored"));
	made_free(m);
}

static void textures_of_one_type_go_by_their_index(void **state)
{
	(void)state;
	made *m = made_new("dae");
	struct aiMaterial *material = one_material(m);
	static const char *const files[] = {"coat.png", "coat_rough.png", "coat_normal.png"};
	for (unsigned i = 0; i < 3; i++) {
		add_string(m, material, "$tex.file", aiTextureType_CLEARCOAT, files[i]);
		material->mProperties[material->mNumProperties - 1]->mIndex = i;
	}
	const hob_model *model = model_of(m);
	const hob_texture_ref *slots = model->materials[0].slots;
	assert_name(model->images[slots[HOB_SLOT_CLEARCOAT].image].path, "dir/coat.png");
	assert_name(model->images[slots[HOB_SLOT_CLEARCOAT_ROUGH].image].path, "dir/coat_rough.png");
	assert_name(model->images[slots[HOB_SLOT_CLEARCOAT_NORMAL].image].path, "dir/coat_normal.png");
	made_free(m);
}

/* Applying Assimp's texture transform to a point, by its own definition, equals applying ours to the flipped
 * point. */
static void texture_transforms_are_equivalent(void **state)
{
	(void)state;
	static const float cases[][5] = {{0, 0, 1, 1, 0},		  {0.25f, 0.5f, 2, 4, 0},
									 {0, 0, 1, 1, 0.5f},	  {0.1f, 0.2f, 3, 3, 0.7f},
									 {0.1f, -0.2f, -1, 1, 0}, {-3, 2, 0.5f, 0.5f, -1.2f}};
	static const char *const extensions[] = {"dae", "3ds"};
	for (size_t e = 0; e < 2; e++)
		for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
			made *m = made_new(extensions[e]);
			struct aiMaterial *material = one_material(m);
			add_string(m, material, "$tex.file", aiTextureType_DIFFUSE, "a.png");
			add_property(m, material, "$tex.uvtrafo", aiTextureType_DIFFUSE, aiPTI_Float, cases[i],
						 sizeof cases[i]);
			const hob_texture_ref *ref = &model_of(m)->materials[0].slots[HOB_SLOT_BASE_COLOR];
			for (int p = 0; p < 3; p++) {
				float u = (float)p * 0.3f, v = 0.9f - (float)p * 0.2f;
				float c = cosf(cases[i][4]), s = sinf(cases[i][4]), x, y;
				if (e == 1) {
					float tu = u + cases[i][0] - 0.5f, tv = v + cases[i][1] - 0.5f;
					x = cases[i][2] * (c * tu - s * tv) + 0.5f;
					y = cases[i][3] * (s * tu + c * tv) + 0.5f;
				} else {
					float su = u * cases[i][2], sv = v * cases[i][3];
					x = c * su - s * sv + cases[i][0];
					y = s * su + c * sv + cases[i][1];
				}
				float rc = cosf(ref->rotation), rs = sinf(ref->rotation);
				float mu = u * ref->scale[0], mv = (1 - v) * ref->scale[1];
				assert_near(rc * mu + rs * mv + ref->offset[0], x);
				assert_near(rc * mv - rs * mu + ref->offset[1], 1 - y);
			}
			made_free(m);
		}
}

static void embedded_pictures_are_copied(void **state)
{
	(void)state;
	made *m = made_new("dae");
	struct aiMaterial *material = one_material(m);
	struct aiTexture *textures = MAKE(m, struct aiTexture, 2);
	m->scene.mTextures = MAKE(m, struct aiTexture *, 2);
	m->scene.mTextures[0] = &textures[0];
	m->scene.mTextures[1] = &textures[1];
	m->scene.mNumTextures = 2;
	static struct aiTexel texels[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
	textures[0].mWidth = 2;
	textures[0].mHeight = 1;
	textures[0].pcData = texels;
	static char png[] = "PNG data";
	textures[1].mWidth = sizeof png;
	textures[1].pcData = (struct aiTexel *)(void *)png;
	memcpy(textures[1].achFormatHint, "jpg", 3);
	set_name(&textures[1].mFilename, "C:\\art\\skin.jpg");
	add_string(m, material, "$tex.file", aiTextureType_DIFFUSE, "*0");
	add_string(m, material, "$tex.file", aiTextureType_NORMALS, "textures/skin.jpg");
	add_string(m, material, "$tex.file", aiTextureType_EMISSIVE, "*9");
	const hob_model *model = model_of(m);
	const hob_image *raw = &model->images[model->materials[0].slots[HOB_SLOT_BASE_COLOR].image];
	static const uint8_t expected[] = {3, 2, 1, 4, 7, 6, 5, 8};
	assert_int_equal(raw->raw_width, 2);
	assert_int_equal(raw->bytes.size, 8);
	assert_memory_equal(raw->bytes.data, expected, 8);
	const hob_image *file = &model->images[model->materials[0].slots[HOB_SLOT_NORMAL].image];
	assert_int_equal(file->bytes.size, sizeof png);
	assert_name(file->mime, "image/jpeg");
	/* The number of a missing embedded picture is treated as a missing file. */
	const hob_image *none = &model->images[model->materials[0].slots[HOB_SLOT_EMISSIVE].image];
	assert_int_equal(none->bytes.size, 0);
	made_free(m);
}

static void materials_that_assimp_made_up_and_nobody_uses_are_dropped(void **state)
{
	(void)state;
	made *m = made_new("off");
	struct aiMaterial *material = one_material(m);
	add_string(m, material, "?mat.name", 0, AI_DEFAULT_MATERIAL_NAME);
	assert_int_equal(model_of(m)->material_count, 0);
	struct aiMesh *mesh = triangle_mesh(m);
	mesh->mMaterialIndex = 0;
	set_meshes(m, m->scene.mRootNode, 1, &mesh);
	assert_int_equal(model_of(m)->material_count, 1);
	assert_int_equal(m->model.meshes[0].material, 0);
	made_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colours_and_factors_are_taken_over),
		cmocka_unit_test(textures_fill_slots_and_samplers),
		cmocka_unit_test(textures_of_one_type_go_by_their_index),
		cmocka_unit_test(texture_transforms_are_equivalent),
		cmocka_unit_test(embedded_pictures_are_copied),
		cmocka_unit_test(materials_that_assimp_made_up_and_nobody_uses_are_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
