/* Materials, textures, images, samplers and the extensions that change them. */
#include "tests/unit/import/gltf_fixture.h"

static const hob_material *import_material(gltf_fixture *f, const char *material)
{
	char text[1500];
	snprintf(text, sizeof text,
			 "'images':[{'uri':'a.png'},{'uri':'b.png'}],'samplers':[{},{'wrapS':33071,'wrapT':33648,"
			 "'magFilter':9728,'minFilter':9986}],'textures':[{'source':1,'sampler':1},{'source':0},"
			 "{'source':1}],'materials':[%s]",
			 material);
	fixture_import(f, text);
	assert_imported(f);
	assert_int_equal(f->model.material_count, 1);
	return &f->model.materials[0];
}

static void defaults_are_those_of_the_format(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	hob_material wanted;
	hob_material_init(&wanted);
	assert_memory_equal(import_material(f, "{}"), &wanted, sizeof wanted);
	assert_floats(wanted.base_color, 0, 1, 1, 1, 1);
	assert_floats(&wanted.metallic, 0, 1, 1);
	fixture_free(f);
}

static void the_core_material_is_read(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	const hob_material *m = import_material(
		f, "{'name':'brass','alphaMode':'MASK','alphaCutoff':0.25,'doubleSided':true,"
		   "'emissiveFactor':[0.1,0.2,0.3],'pbrMetallicRoughness':{'baseColorFactor':[0.1,0.2,0.3,0.4],"
		   "'metallicFactor':0.5,'roughnessFactor':0.75,'baseColorTexture':{'index':0,'texCoord':1},"
		   "'metallicRoughnessTexture':{'index':1}},'normalTexture':{'index':2,'scale':-2},"
		   "'occlusionTexture':{'index':1,'strength':0.5},'emissiveTexture':{'index':0}}");
	assert_text(m->name, "brass");
	assert_int_equal(m->alpha_mode, HOB_ALPHA_MASK);
	assert_true(m->double_sided);
	assert_floats(&m->alpha_cutoff, 0, 0.25f);
	assert_floats(m->base_color, 0, 0.1f, 0.2f, 0.3f, 0.4f);
	assert_floats(m->emissive, 0, 0.1f, 0.2f, 0.3f);
	assert_floats(&m->metallic, 0, 0.5f, 0.75f);
	assert_floats(&m->normal_scale, 0, -2, 0.5f);
	/* Slots name textures, textures name pictures: texture 0 uses picture 1. */
	assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].image, 1);
	assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].sampler, 1);
	assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].uv_set, 1);
	assert_int_equal(m->slots[HOB_SLOT_METAL_ROUGH].image, 0);
	assert_int_equal(m->slots[HOB_SLOT_METAL_ROUGH].sampler, HOB_NONE);
	assert_int_equal(m->slots[HOB_SLOT_OCCLUSION].image, 0);
	assert_int_equal(m->slots[HOB_SLOT_EMISSIVE].image, 1);
	const hob_sampler *s = &f->model.samplers[1];
	assert_int_equal(s->wrap_u, HOB_WRAP_CLAMP);
	assert_int_equal(s->wrap_v, HOB_WRAP_MIRROR);
	assert_int_equal(s->mag, HOB_FILTER_NEAREST);
	assert_int_equal(s->min, HOB_FILTER_NEAREST_MIP_LINEAR);
	assert_int_equal(f->model.samplers[0].wrap_u, HOB_WRAP_REPEAT);
	assert_int_equal(f->model.samplers[0].min, HOB_FILTER_DEFAULT);
	fixture_free(f);
}

static void every_filter_has_its_name(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(
		f, "'samplers':[{'minFilter':9728},{'minFilter':9729},{'minFilter':9984},{'minFilter':9985},"
		   "{'minFilter':9986},{'minFilter':9987},{'minFilter':9988},{'magFilter':9729},{'magFilter':1},"
		   "{'wrapS':1}],'materials':[{}]");
	static const hob_filter wanted[] = {HOB_FILTER_NEAREST,
										HOB_FILTER_LINEAR,
										HOB_FILTER_NEAREST_MIP_NEAREST,
										HOB_FILTER_LINEAR_MIP_NEAREST,
										HOB_FILTER_NEAREST_MIP_LINEAR,
										HOB_FILTER_LINEAR_MIP_LINEAR,
										HOB_FILTER_DEFAULT};
	assert_imported(f);
	for (size_t i = 0; i < HOB_COUNT_OF(wanted); i++)
		assert_int_equal(f->model.samplers[i].min, wanted[i]);
	assert_int_equal(f->model.samplers[7].mag, HOB_FILTER_LINEAR);
	assert_int_equal(f->model.samplers[8].mag, HOB_FILTER_DEFAULT);
	assert_int_equal(f->notes.count, 3);
	fixture_free(f);
}

static void material_extensions_are_read(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	const hob_material *m = import_material(
		f, "{'extensions':{'KHR_materials_specular':{'specularFactor':0.5,'specularColorFactor':[1,2,3],"
		   "'specularTexture':{'index':0},'specularColorTexture':{'index':1}},"
		   "'KHR_materials_ior':{'ior':1.25},'KHR_materials_emissive_strength':{'emissiveStrength':7},"
		   "'KHR_materials_clearcoat':{'clearcoatFactor':0.125,'clearcoatRoughnessFactor':0.375,"
		   "'clearcoatTexture':{'index':0},'clearcoatRoughnessTexture':{'index':1},"
		   "'clearcoatNormalTexture':{'index':2,'scale':3}},'KHR_materials_sheen':{'sheenColorFactor':[0.5,"
		   "0.25,0.125],'sheenRoughnessFactor':0.625,'sheenColorTexture':{'index':0},"
		   "'sheenRoughnessTexture':{'index':1}},'KHR_materials_transmission':{'transmissionFactor':0.875,"
		   "'transmissionTexture':{'index':0}}}}");
	assert_int_equal(m->ext_mask, 1u << HOB_MATERIAL_SPECULAR | 1u << HOB_MATERIAL_IOR |
									  1u << HOB_MATERIAL_EMISSIVE_STRENGTH | 1u << HOB_MATERIAL_CLEARCOAT |
									  1u << HOB_MATERIAL_SHEEN | 1u << HOB_MATERIAL_TRANSMISSION);
	assert_floats(&m->specular, 0, 0.5f, 1, 2, 3);
	assert_floats(&m->ior, 0, 1.25f);
	assert_floats(&m->emissive_strength, 0, 7);
	assert_floats(&m->clearcoat, 0, 0.125f, 0.375f, 3);
	assert_floats(m->sheen_color, 0, 0.5f, 0.25f, 0.125f, 0.625f);
	assert_floats(&m->transmission, 0, 0.875f);
	static const hob_slot used[] = {HOB_SLOT_SPECULAR, HOB_SLOT_CLEARCOAT, HOB_SLOT_CLEARCOAT_NORMAL,
									HOB_SLOT_SHEEN_COLOR, HOB_SLOT_TRANSMISSION};
	for (size_t i = 0; i < HOB_COUNT_OF(used); i++)
		assert_int_equal(m->slots[used[i]].image, 1);
	assert_int_equal(m->slots[HOB_SLOT_SPECULAR_COLOR].image, 0);
	assert_int_equal(m->slots[HOB_SLOT_CLEARCOAT_ROUGH].image, 0);
	assert_int_equal(m->slots[HOB_SLOT_SHEEN_ROUGH].image, 0);
	assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].image, HOB_NONE);
	m = import_material(f, "{'extensions':{'KHR_materials_volume':{'thicknessFactor':0.5,'"
						   "attenuationDistance':4,'attenuationColor':"
						   "[0.5,0.25,0.125],'thicknessTexture':{'index':0}},'KHR_materials_iridescence':{'"
						   "iridescenceFactor':0.5,"
						   "'iridescenceIor':1.5,'iridescenceThicknessMinimum':200,'"
						   "iridescenceThicknessMaximum':500,'iridescenceTexture':"
						   "{'index':0},'iridescenceThicknessTexture':{'index':1}},'KHR_materials_anisotropy'"
						   ":{'anisotropyStrength':0.5,"
						   "'anisotropyRotation':-1,'anisotropyTexture':{'index':0}},'KHR_materials_"
						   "dispersion':{'dispersion':0.25},"
						   "'KHR_materials_diffuse_transmission':{'diffuseTransmissionFactor':0.5,'"
						   "diffuseTransmissionColorFactor':"
						   "[0.5,0.25,0.125],'diffuseTransmissionTexture':{'index':0},'"
						   "diffuseTransmissionColorTexture':{'index':1}},"
						   "'KHR_materials_unlit':{}}}");
	assert_int_equal(m->ext_mask, 1u << HOB_MATERIAL_VOLUME | 1u << HOB_MATERIAL_IRIDESCENCE |
									  1u << HOB_MATERIAL_ANISOTROPY | 1u << HOB_MATERIAL_DISPERSION |
									  1u << HOB_MATERIAL_DIFFUSE_TRANSMISSION | 1u << HOB_MATERIAL_UNLIT);
	assert_floats(&m->thickness, 0, 0.5f, 4, 0.5f, 0.25f, 0.125f);
	assert_floats(&m->iridescence, 0, 0.5f, 1.5f, 200, 500);
	assert_floats(&m->anisotropy, 0, 0.5f, -1);
	assert_floats(&m->dispersion, 0, 0.25f);
	assert_floats(&m->diffuse_transmission, 0, 0.5f, 0.5f, 0.25f, 0.125f);
	assert_int_equal(m->slots[HOB_SLOT_THICKNESS].image, 1);
	assert_int_equal(m->slots[HOB_SLOT_ANISOTROPY].image, 1);
	assert_int_equal(m->slots[HOB_SLOT_IRIDESCENCE].image, 1);
	assert_int_equal(m->slots[HOB_SLOT_IRIDESCENCE_THICKNESS].image, 0);
	assert_int_equal(m->slots[HOB_SLOT_DIFFUSE_TRANSMISSION].image, 1);
	assert_int_equal(m->slots[HOB_SLOT_DIFFUSE_TRANSMISSION_COLOR].image, 0);
	fixture_free(f);
}

static void texture_transforms_override_the_uv_set(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	const hob_material *m = import_material(
		f, "{'pbrMetallicRoughness':{'baseColorTexture':{'index':0,'texCoord':1,"
		   "'extensions':{'KHR_texture_transform':{'offset':[0.5,0.25],'scale':[2,3],'rotation':1.5,"
		   "'texCoord':2}}}},'normalTexture':{'index':0,'texCoord':1,"
		   "'extensions':{'KHR_texture_transform':{'scale':[4,4]}}},'emissiveTexture':{'index':0,"
		   "'texCoord':99},'occlusionTexture':{'index':0,"
		   "'extensions':{'KHR_texture_transform':{'offset':[1e39,0]}}}}");
	const hob_texture_ref *base = &m->slots[HOB_SLOT_BASE_COLOR], *normal = &m->slots[HOB_SLOT_NORMAL];
	assert_floats(base->offset, 0, 0.5f, 0.25f, 2, 3, 1.5f);
	assert_int_equal(base->uv_set, 2);
	assert_floats(normal->offset, 0, 0, 0, 4, 4, 0);
	assert_int_equal(normal->uv_set, 1);
	assert_int_equal(m->slots[HOB_SLOT_EMISSIVE].uv_set, 0);
	assert_true(has_note(f, "gltf.uv-set"));
	assert_floats(m->slots[HOB_SLOT_OCCLUSION].offset, 0, 0, 0, 1, 1, 0);
	assert_true(has_note(f, "gltf.texture-transform"));
	fixture_free(f);
}

static void factors_outside_their_range_are_clamped(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	const hob_material *m =
		import_material(f, "{'alphaMode':'GLOW','pbrMetallicRoughness':{'baseColorFactor':[2,-1,0.5,1],'"
						   "metallicFactor':-3,'roughnessFactor':1e39},"
						   "'extensions':{'KHR_materials_volume':{'attenuationDistance':0}}}");
	assert_floats(m->base_color, 0, 1, 0, 0.5f, 1);
	assert_floats(&m->metallic, 0, 0, 1);
	assert_true(isinf(m->attenuation_distance));
	assert_int_equal(m->alpha_mode, HOB_ALPHA_OPAQUE);
	assert_true(has_note(f, "gltf.factor-range") && has_note(f, "gltf.alpha-mode"));
	fixture_free(f);
}

/* ---- specular-glossiness */

static void spec_gloss_plastic_and_metal_convert(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	const hob_material *m =
		import_material(f, "{'extensions':{'KHR_materials_pbrSpecularGlossiness':{'diffuseFactor':[0.8,0.4,0."
						   "2,0.5],'specularFactor':"
						   "[0.04,0.04,0.04],'glossinessFactor':0.75,'diffuseTexture':{'index':1}}}}");
	assert_floats(m->base_color, 1e-3f, 0.8f, 0.4f, 0.2f, 0.5f);
	assert_floats(&m->metallic, 1e-3f, 0, 0.25f);
	assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].image, 0);
	assert_true(m->ext_mask & 1u << HOB_MATERIAL_SPEC_GLOSS);
	assert_false(has_note(f, "gltf.spec-gloss"));
	m = import_material(f, "{'extensions':{'KHR_materials_pbrSpecularGlossiness':{'diffuseFactor':[0,0,0,1],"
						   "'specularFactor':[1,0.75,0.25],'glossinessFactor':1}}}");
	assert_floats(m->base_color, 0.02f, 1, 0.75f, 0.25f, 1);
	assert_floats(&m->metallic, 0.02f, 1, 0);
	assert_false(has_note(f, "gltf.spec-gloss"));
	fixture_free(f);
}

/* The extension replaces its fallback: Microsoft's exporters write an empty one, others one with pictures. */
static void spec_gloss_counts_beside_any_metal_rough(void **state)
{
	(void)state;
	static const char *const fallbacks[] = {
		"{}", "{'metallicFactor':0.5,'baseColorFactor':[0,0,1,1]}",
		"{'baseColorTexture':{'index':0,'texCoord':1},'metallicRoughnessTexture':{'index':1}}"};
	for (size_t i = 0; i < HOB_COUNT_OF(fallbacks); i++) {
		gltf_fixture *f = fixture_new();
		char text[400];
		snprintf(text, sizeof text,
				 "{'pbrMetallicRoughness':%s,'extensions':{'KHR_materials_pbrSpecularGlossiness':{"
				 "'diffuseFactor':[1,0,0,1],'specularFactor':[0,0,0],'glossinessFactor':0.25}}}",
				 fallbacks[i]);
		const hob_material *m = import_material(f, text);
		assert_floats(m->base_color, 0.01f, 1, 0, 0, 1);
		assert_floats(&m->metallic, 0, 0, 0.75f);
		assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].image, HOB_NONE);
		assert_int_equal(m->slots[HOB_SLOT_METAL_ROUGH].image, HOB_NONE);
		fixture_free(f);
	}
	gltf_fixture *f = fixture_new();
	const hob_material *m = import_material(
		f, "{'pbrMetallicRoughness':{'baseColorTexture':{'index':0}},'extensions':{'KHR_materials_"
		   "pbrSpecularGlossiness':{'diffuseTexture':{'index':1}}}}");
	assert_true(f->model.images[m->slots[HOB_SLOT_BASE_COLOR].image].made->has_diffuse);
	fixture_free(f);
}

static void spec_gloss_textures_are_made_into_two(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	const hob_material *m = import_material(
		f, "{'extensions':{'KHR_materials_pbrSpecularGlossiness':{'diffuseFactor':[0.5,1,1,0.25],"
		   "'specularFactor':[1,0.5,1],'glossinessFactor':0.75,'diffuseTexture':{'index':1},"
		   "'specularGlossinessTexture':{'index':2}}}}");
	assert_floats(m->base_color, 0, 1, 1, 1, 0.25f);
	assert_floats(&m->metallic, 0, 1, 1);
	assert_true(has_note(f, "gltf.spec-gloss"));
	for (int i = 0; i < 2; i++) {
		uint32_t image = m->slots[i ? HOB_SLOT_METAL_ROUGH : HOB_SLOT_BASE_COLOR].image;
		const hob_made_image *made = f->model.images[image].made;
		assert_non_null(made);
		assert_int_equal(made->is_metal_rough, i);
		assert_true(made->has_diffuse && made->has_specular);
		assert_floats(made->diffuse_factor, 0, 0.5f, 1, 1);
		assert_floats(made->specular_factor, 0, 1, 0.5f, 1, 0.75f);
	}
	/* A constant specular colour above that of dielectrics beside a picture: metallic differs between
	 * texels. */
	m = import_material(
		f, "{'extensions':{'KHR_materials_pbrSpecularGlossiness':{'specularFactor':[0.2,0.2,0.2],"
		   "'diffuseTexture':{'index':1}}}}");
	assert_non_null(f->model.images[m->slots[HOB_SLOT_METAL_ROUGH].image].made);
	assert_false(f->model.images[m->slots[HOB_SLOT_METAL_ROUGH].image].made->has_specular);
	fixture_free(f);
}

static void spec_gloss_textures_in_two_places_keep_the_diffuse_one(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	const hob_material *m = import_material(
		f, "{'extensions':{'KHR_materials_pbrSpecularGlossiness':{'diffuseTexture':{'index':1},"
		   "'specularGlossinessTexture':{'index':0,'texCoord':1}}}}");
	assert_floats(&m->metallic, 0, 0, 0.5f);
	assert_null(f->model.images[m->slots[HOB_SLOT_BASE_COLOR].image].made);
	assert_int_equal(m->slots[HOB_SLOT_METAL_ROUGH].image, HOB_NONE);
	assert_true(has_note(f, "gltf.spec-gloss-apart"));
	fixture_free(f);
}

/* ---- images and textures */

static void pictures_come_from_files_views_and_data_uris(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_view(f, "PNGDATA", 7, "");
	fixture_import(
		f, "'images':[{'uri':'tex/my%20wood%2B.png','name':'wood'},{'bufferView':0,'mimeType':'image/png'},"
		   "{'uri':'data:image/jpeg;base64,aGVsbG8='},{'uri':'../shared/./x.png'}]");
	assert_imported(f);
	const hob_image *i = f->model.images;
	assert_text(i[0].path, "models/tex/my wood+.png");
	assert_text(i[0].uri, "tex/my%20wood%2B.png");
	assert_text(i[0].name, "wood");
	assert_int_equal(i[1].bytes.size, 7);
	assert_memory_equal(i[1].bytes.data, "PNGDATA", 7);
	assert_text(i[1].mime, "image/png");
	assert_int_equal(i[1].path.len, 0);
	assert_int_equal(i[2].bytes.size, 5);
	assert_memory_equal(i[2].bytes.data, "hello", 5);
	assert_text(i[2].mime, "image/jpeg");
	assert_text(i[3].path, "shared/x.png");
	/* The importer does not read external pictures; texturing does. */
	for (size_t k = 0; k < f->io.logged; k++)
		assert_null(strstr(f->io.log[k], "png"));
	fixture_free(f);
}

static void a_picture_in_a_decoded_buffer_outlives_the_scratch_memory(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import_raw(
		f, "{'asset':{'version':'2.0'},'buffers':[{'byteLength':5,'uri':'data:;base64,aGVsbG8='}],"
		   "'bufferViews':[{'buffer':0,'byteOffset':1,'byteLength':4}],'images':[{'bufferView':0}]}");
	assert_imported(f);
	hob_arena_release(&f->scratch);
	assert_int_equal(f->model.images[0].bytes.size, 4);
	assert_memory_equal(f->model.images[0].bytes.data, "ello", 4);
	fixture_free(f);
}

static void a_picture_in_a_glb_is_not_copied(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_view(f, "PNGDATA", 7, "");
	fixture_import_glb(f, "'images':[{'bufferView':0,'mimeType':'image/png'}]");
	assert_imported(f);
	const uint8_t *bytes = f->model.images[0].bytes.data;
	assert_true(bytes >= f->glb.data && bytes < f->glb.data + f->glb.size);
	assert_memory_equal(bytes, "PNGDATA", 7);
	fixture_free(f);
}

static void pictures_outside_the_root_are_kept_without_a_path(void **state)
{
	(void)state;
	static const char *const uris[] = {"../../etc/passwd",	 "/etc/passwd", "file:///etc/passwd",
									   "http://127.0.0.1/x", "C:/x.png",	"%2e%2e/%2e%2e/x.png",
									   "..\\\\..\\\\x.png",	 "a%00.png",	"data:image/png;base64,!!"};
	for (size_t i = 0; i < HOB_COUNT_OF(uris); i++) {
		gltf_fixture *f = fixture_new();
		char text[200];
		snprintf(text, sizeof text, "'images':[{'name':'wood','uri':'%s'}]", uris[i]);
		fixture_import(f, text);
		assert_imported(f);
		assert_int_equal(f->model.images[0].path.len, 0);
		assert_int_equal(f->model.images[0].bytes.size, 0);
		assert_true(has_note(f, "gltf.image-unavailable"));
		fixture_free(f);
	}
}

static void the_most_readable_picture_of_a_texture_is_taken(void **state)
{
	(void)state;
	gltf_fixture *f = fixture_new();
	fixture_import(
		f, "'images':[{'uri':'a.png'},{'uri':'a.webp'},{'uri':'a.ktx2'}],'textures':[{'source':0,"
		   "'extensions':{'EXT_texture_webp':{'source':1}}},{'extensions':{'EXT_texture_webp':{'source':1},"
		   "'KHR_texture_basisu':{'source':2}}},{'extensions':{'EXT_texture_webp':{'source':1}}},{}],"
		   "'materials':[{'pbrMetallicRoughness':{'baseColorTexture':{'index':0},"
		   "'metallicRoughnessTexture':{'index':1}},'normalTexture':{'index':2},"
		   "'emissiveTexture':{'index':3}}]");
	assert_imported(f);
	const hob_material *m = &f->model.materials[0];
	assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].image, 0);
	assert_int_equal(m->slots[HOB_SLOT_METAL_ROUGH].image, 2);
	assert_int_equal(m->slots[HOB_SLOT_NORMAL].image, 1);
	assert_int_equal(m->slots[HOB_SLOT_EMISSIVE].image, HOB_NONE);
	assert_true(has_note(f, "gltf.texture-source") && has_note(f, "gltf.texture-empty"));
	fixture_free(f);
}

static void a_required_picture_is_preferred_to_its_fallback(void **state)
{
	(void)state;
	static const char *const extensions[] = {"EXT_texture_webp", "EXT_texture_avif", "KHR_texture_basisu",
											 "MSFT_texture_dds"};
	for (size_t i = 0; i < HOB_COUNT_OF(extensions); i++) {
		gltf_fixture *f = fixture_new();
		char text[512];
		snprintf(text, sizeof text,
				 "'extensionsUsed':['%s'],'extensionsRequired':['%s'],"
				 "'images':[{'uri':'a.png'},{'uri':'a.other'}],'textures':[{'source':0,'extensions':"
				 "{'%s':{'source':1}}},{'source':0}],'materials':[{'pbrMetallicRoughness':"
				 "{'baseColorTexture':{'index':0},'metallicRoughnessTexture':{'index':1}}}]",
				 extensions[i], extensions[i], extensions[i]);
		fixture_import(f, text);
		assert_imported(f);
		const hob_material *m = &f->model.materials[0];
		assert_int_equal(m->slots[HOB_SLOT_BASE_COLOR].image, 1);
		assert_int_equal(m->slots[HOB_SLOT_METAL_ROUGH].image, 0);
		fixture_free(f);
	}
}

static void broken_references_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"'materials':[{'normalTexture':[]}]", "'normalTexture' is an array, not an object"},
		{"'materials':[{'pbrMetallicRoughness':{'baseColorFactor':[1,1,1]}}]",
		 "'baseColorFactor' has 3 numbers instead of 4"},
		{"'materials':[{'doubleSided':1}]", "'doubleSided' is a number, not a boolean"},
		{"'materials':[{'extensions':{'KHR_materials_sheen':'no'}}]",
		 "'KHR_materials_sheen' is a string, not an object"},
		{"'images':[{'bufferView':3}]", "'bufferView' is 3, but there are none; images[0] ''"},
		{"'images':[{'uri':7}]", "'uri' is a number"},
		{"'images':[7]", "images[0] is a number"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_import(f, cases[i].text);
		if (f->ok || !strstr(f->error.context, cases[i].words))
			fail_msg("%s: %s", cases[i].text, f->ok ? "accepted" : f->error.context);
		fixture_free(f);
	}
}

/* A missing picture, sampler or texture does not fail the model. */
static void dangling_textures_are_left_out(void **state)
{
	(void)state;
	static const struct {
		const char *text, *code;
	} cases[] = {
		{"'materials':[{'normalTexture':{'index':5}}]", "gltf.texture-reference"},
		{"'materials':[{'normalTexture':{}}]", "gltf.texture-reference"},
		{"'textures':[{'source':1}],'materials':[{'normalTexture':{'index':0}}]", "gltf.texture-reference"},
		{"'images':[{'uri':'a.png'}],'textures':[{'source':0,'sampler':4}],"
		 "'materials':[{'normalTexture':{'index':0}}]",
		 "gltf.texture-reference"},
		{"'samplers':[{'wrapS':'REPEAT','minFilter':-1}],'materials':[{}]", "gltf.sampler"},
		{"'bufferViews':[{'buffer':0,'byteLength':4}],'buffers':[{'uri':'gone.bin','byteLength':4}],"
		 "'images':[{'bufferView':0}],'materials':[{}]",
		 "gltf.image-unavailable"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		gltf_fixture *f = fixture_new();
		fixture_import(f, cases[i].text);
		assert_imported(f);
		if (!has_note(f, cases[i].code))
			fail_msg("%s: no %s", cases[i].text, cases[i].code);
		fixture_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_format),
		cmocka_unit_test(the_core_material_is_read),
		cmocka_unit_test(every_filter_has_its_name),
		cmocka_unit_test(material_extensions_are_read),
		cmocka_unit_test(texture_transforms_override_the_uv_set),
		cmocka_unit_test(factors_outside_their_range_are_clamped),
		cmocka_unit_test(spec_gloss_plastic_and_metal_convert),
		cmocka_unit_test(spec_gloss_counts_beside_any_metal_rough),
		cmocka_unit_test(spec_gloss_textures_are_made_into_two),
		cmocka_unit_test(spec_gloss_textures_in_two_places_keep_the_diffuse_one),
		cmocka_unit_test(pictures_come_from_files_views_and_data_uris),
		cmocka_unit_test(a_picture_in_a_decoded_buffer_outlives_the_scratch_memory),
		cmocka_unit_test(a_picture_in_a_glb_is_not_copied),
		cmocka_unit_test(pictures_outside_the_root_are_kept_without_a_path),
		cmocka_unit_test(the_most_readable_picture_of_a_texture_is_taken),
		cmocka_unit_test(a_required_picture_is_preferred_to_its_fallback),
		cmocka_unit_test(broken_references_are_refused),
		cmocka_unit_test(dangling_textures_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
