/* Damage: every prefix and many changes of every byte of a document that uses everything, as .gltf and as
 * .glb, and every allocation failing once. Accepted documents must satisfy hob_model_check (fixture_run
 * asserts it); the sanitizers check the rest. */
#include "tests/unit/import/gltf_fixture.h"

static const char everything[] =
	"'scene':0,'extensionsUsed':['KHR_lights_punctual','KHR_materials_variants','KHR_texture_transform',"
	"'X'],'extensions':{'KHR_lights_punctual':{'lights':[{'type':'spot','spot':{'outerConeAngle':1}}]},"
	"'KHR_materials_variants':{'variants':[{'name':'v'}]}},'scenes':[{'name':'s','nodes':[0,3]},"
	"{'nodes':[0]}],'nodes':[{'children':[1,2],'matrix':[1,0,0,0,1,1,0,0,0,0,1,0,0,0,0,1]},{'name':'n',"
	"'mesh':0,'skin':0,'weights':[1],'translation':[1,2,3]},{'camera':0,'rotation':[0,0,0,1],"
	"'extensions':{'KHR_lights_punctual':{'light':0}}},{'mesh':1,"
	"'extensions':{'EXT_mesh_gpu_instancing':{'attributes':{'TRANSLATION':0}}}}],"
	"'cameras':[{'type':'perspective','perspective':{'yfov':1,'znear':0.1}}],'skins':[{'joints':[1,0],"
	"'inverseBindMatrices':6,'skeleton':0}],'images':[{'uri':'a%20b.png','name':'\\u00e4\\u0000'},"
	"{'bufferView':0,'mimeType':'image/png'},{'uri':'data:;base64,aGk='},{'uri':'../../x'}],"
	"'samplers':[{'wrapS':33071,'minFilter':9987}],'textures':[{'source':1,'sampler':0},"
	"{'extensions':{'EXT_texture_webp':{'source':0}}}],'materials':[{'name':'m','alphaMode':'MASK',"
	"'pbrMetallicRoughness':{'baseColorFactor':[1,0.5,2,1],'baseColorTexture':{'index':0,"
	"'extensions':{'KHR_texture_transform':{'offset':[1,2],'texCoord':1}}}},'normalTexture':{'index':1,"
	"'scale':2},'extensions':{'KHR_materials_volume':{'thicknessFactor':1}}},"
	"{'extensions':{'KHR_materials_pbrSpecularGlossiness':{'diffuseFactor':[1,0,0,1]}}}],"
	"'meshes':[{'weights':[0.5],'extras':{'targetNames':['t']},'primitives':[{'material':0,'indices':1,"
	"'attributes':{'POSITION':0,'NORMAL':2,'TEXCOORD_1':3,'COLOR_0':2,'JOINTS_0':4,'WEIGHTS_0':5,'_X':0},"
	"'targets':[{'POSITION':7,'NORMAL':0}],"
	"'extensions':{'KHR_materials_variants':{'mappings':[{'material':1,'variants':[0]}]}}}]},"
	"{'primitives':[{'mode':5,'attributes':{'POSITION':0}},{'mode':2,'indices':1,"
	"'attributes':{'POSITION':7}}]}],'animations':[{'name':'a','samplers':[{'input':8,'output':9,"
	"'interpolation':'CUBICSPLINE'},{'input':8,'output':10},{'input':8,'output':8,"
	"'interpolation':'STEP'}],'channels':[{'sampler':0,'target':{'node':2,'path':'translation'}},"
	"{'sampler':1,'target':{'node':2,'path':'rotation'}},{'sampler':2,'target':{'node':1,"
	"'path':'weights'}},{'sampler':0,'target':{'path':'pointer'}}]},{'name':'a','samplers':[{'input':8,"
	"'output':9}],'channels':[{'sampler':0,'target':{'node':2,'path':'scale'}}]},{}]";

static gltf_fixture *full(void)
{
	static const float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, normals[9] = {0, 0, 1, 0, 2, 0, 0, 0, 0};
	static const float weights[12] = {1, 0, 0, 0, 0.5f, 0.5f, 0, 0, 1}, times[2] = {0, 1},
					   moved[3] = {0, 0, 1};
	static const float keys[18] = {1, 2, 3};
	static const uint16_t indices[3] = {0, 1, 2}, uvs[6] = {0, 65535, 7}, at = 1;
	static const uint8_t joints[12] = {0, 0, 0, 0, 1, 0};
	static const int16_t turns[8] = {0, 0, 0, 32767, 32767};
	static float matrices[32];
	for (int i = 0; i < 32; i++)
		matrices[i] = i % 16 % 5 == 0;
	gltf_fixture *f = fixture_new();
	fixture_floats(f, "VEC3", 3, positions, sizeof positions);
	fixture_accessor(f, fixture_view(f, indices, sizeof indices, ""), 5123, "SCALAR", 3, "");
	fixture_floats(f, "VEC3", 3, normals, sizeof normals);
	fixture_accessor(f, fixture_view(f, uvs, sizeof uvs, ",'byteStride':4"), 5123, "VEC2", 3,
					 ",'normalized':true");
	fixture_accessor(f, fixture_view(f, joints, sizeof joints, ""), 5121, "VEC4", 3, "");
	fixture_floats(f, "VEC4", 3, weights, sizeof weights);
	fixture_floats(f, "MAT4", 2, matrices, sizeof matrices);
	uint32_t place = fixture_view(f, &at, sizeof at, ""), value = fixture_view(f, moved, sizeof moved, "");
	char sparse[160];
	snprintf(
		sparse, sizeof sparse,
		",'sparse':{'count':1,'indices':{'bufferView':%u,'componentType':5123},'values':{'bufferView':%u}}",
		place, value);
	fixture_accessor(f, 0, 5126, "VEC3", 3, sparse);
	fixture_floats(f, "SCALAR", 2, times, sizeof times);
	fixture_floats(f, "VEC3", 6, keys, sizeof keys);
	fixture_accessor(f, fixture_view(f, turns, sizeof turns, ""), 5122, "VEC4", 2, ",'normalized':true");
	return f;
}

static void the_undamaged_document_is_whole(void **state)
{
	(void)state;
	for (int glb = 0; glb < 2; glb++) {
		gltf_fixture *f = full();
		glb ? fixture_import_glb(f, everything) : fixture_import(f, everything);
		assert_imported(f);
		assert_int_equal(f->model.mesh_count, 3);
		assert_int_equal(f->model.node_count, 7);
		assert_int_equal(f->model.clip_count, 2);
		assert_int_equal(f->model.clips[0].channel_count, 3);
		assert_int_equal(f->model.skin_count, 1);
		fixture_free(f);
	}
}

/* ---- damage to an input buffer */

static void every_prefix(gltf_fixture *f, memory_file *file)
{
	hob_bytes whole = file->bytes;
	for (size_t size = 0; size < whole.size; size++) {
		/* A separate block for each length, so that the sanitizer detects reads past the end. */
		uint8_t *exact = malloc(size + (size == 0));
		memcpy(exact, whole.data, size);
		file->bytes = (hob_bytes){exact, size};
		fixture_run(f);
		free(exact);
	}
	file->bytes = whole;
}

static void every_byte_changed(gltf_fixture *f, uint8_t *data, size_t size)
{
	static const uint8_t masks[] = {0x01, 0x04, 0x10, 0x80, 0xFF};
	for (size_t i = 0; i < size; i++) {
		uint8_t was = data[i];
		for (size_t k = 0; k < sizeof masks; k++) {
			data[i] = was ^ masks[k];
			fixture_run(f);
		}
		data[i] = '9';
		fixture_run(f);
		data[i] = was;
	}
}

static void prefixes_of_a_gltf_are_survived(void **state)
{
	(void)state;
	gltf_fixture *f = full();
	fixture_import(f, everything);
	every_prefix(f, &f->files[0]);
	fixture_free(f);
}

static void prefixes_of_a_glb_are_survived(void **state)
{
	(void)state;
	gltf_fixture *f = full();
	fixture_import_glb(f, everything);
	every_prefix(f, &f->files[0]);
	fixture_free(f);
}

static void changed_bytes_of_a_gltf_are_survived(void **state)
{
	(void)state;
	gltf_fixture *f = full();
	fixture_import(f, everything);
	every_byte_changed(f, f->document.data, f->document.size);
	fixture_free(f);
}

static void changed_bytes_of_a_glb_are_survived(void **state)
{
	(void)state;
	gltf_fixture *f = full();
	fixture_import_glb(f, everything);
	every_byte_changed(f, f->glb.data, 20);
	size_t bin = 20 + f->document.size;
	every_byte_changed(f, f->glb.data + bin, f->glb.size - bin);
	fixture_free(f);
}

static void prefixes_of_a_buffer_are_survived(void **state)
{
	(void)state;
	gltf_fixture *f = full();
	fixture_import(f, everything);
	size_t whole = f->bin.size;
	for (f->bin.size = 0; f->bin.size < whole; f->bin.size++) {
		fixture_run(f);
		assert_refused(f, TRUNCATED, "buffers[0]");
	}
	fixture_free(f);
}

/* ---- memory */

static void every_failing_allocation_is_an_error(void **state)
{
	(void)state;
	for (int which = 0; which < 2; which++) {
		gltf_fixture *f = full();
		bool reached = true;
		for (uint64_t n = 1; reached; n++) {
			f->fail_result = which == 0 ? n : 0;
			f->fail_scratch = which == 1 ? n : 0;
			fixture_import(f, everything);
			reached = (which == 0 ? f->result.fail_at : f->scratch.fail_at) == 0;
			if (reached && f->ok && f->notes.dropped == 0)
				fail_msg("allocation %llu failed unnoticed", (unsigned long long)n);
			if (!f->ok && f->error.code != HOB_ERR_MEMORY)
				fail_msg("allocation %llu: %s: %s", (unsigned long long)n, hob_err_name(f->error.code),
						 f->error.context);
			assert_true(n < 5000);
		}
		assert_imported(f);
		fixture_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_undamaged_document_is_whole),
		cmocka_unit_test(prefixes_of_a_gltf_are_survived),
		cmocka_unit_test(prefixes_of_a_glb_are_survived),
		cmocka_unit_test(changed_bytes_of_a_gltf_are_survived),
		cmocka_unit_test(changed_bytes_of_a_glb_are_survived),
		cmocka_unit_test(prefixes_of_a_buffer_are_survived),
		cmocka_unit_test(every_failing_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
