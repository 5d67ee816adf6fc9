/* Damaged packed files: nothing crashes, damage is detected by the digests, and the reader opens everything
 * that the validator accepts. Resealed damage (with corrected digests) tests the checks behind the
 * digests. */
#include "fixture.h"

#include "core/formats/pack_read.h"
#include "core/hash/hash.h"
#include "core/model/properties.h"

static void reseal(uint8_t *file, size_t size)
{
	hob_pk_header h;
	memcpy(&h, file, sizeof h);
	if (h.header_bytes != 64 || h.entry_bytes != 64 || h.section_count > (size - 64) / 64)
		return;
	for (uint32_t i = 0; i < h.section_count; i++) {
		hob_pk_section s;
		memcpy(&s, file + 64 + i * 64, sizeof s);
		if (s.offset > size || s.stored_bytes > size - s.offset)
			continue;
		hob_sha256 sha = hob_sha256_of((hob_bytes){file + s.offset, (size_t)s.stored_bytes});
		memcpy(file + 64 + i * 64 + offsetof(hob_pk_section, digest), sha.bytes, 16);
	}
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	hob_hasher_put(&hasher, file, 48);
	hob_hasher_put(&hasher, file + 64, h.section_count * 64);
	hob_sha256 sha = hob_hasher_finish(&hasher);
	memcpy(file + 48, sha.bytes, 16);
}

static void walk(const hob_pack *pack)
{
	hob_arena arena;
	hob_arena_init(&arena, 1 << 24);
	unsigned sum = 0;
	for (uint32_t i = 0; i < pack->section_count; i++) {
		hob_pack_array array = hob_pack_array_at(pack, i);
		if (!hob_pack_decode(pack, i, &arena, &array, NULL))
			continue;
		for (size_t b = 0; array.data && b < (size_t)array.count * array.stride; b++)
			sum += array.data[b];
	}
	for (uint32_t offset = 0; offset < 300; offset++)
		sum += (unsigned)hob_pack_string(pack, offset).len;
	hob_arena_release(&arena);
	assert_true(sum > 0);
}

static bool opens(const uint8_t *file, size_t size)
{
	hob_pack pack;
	if (!hob_pack_open((hob_bytes){file, size}, &pack, NULL))
		return false;
	walk(&pack);
	return true;
}

static void every_prefix_is_refused(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	for (int kind = 0; kind < 4; kind++)
		for (size_t size = 0; size < packed.files[kind].size; size++) {
			uint8_t *part = malloc(size + 1);
			memcpy(part, packed.files[kind].data, size);
			assert_false(hob_pack_validate((hob_bytes){part, size}, NULL));
			assert_false(opens(part, size));
			free(part);
		}
	fixture_release(&packed);
}

static void every_changed_byte_is_noticed(void **state)
{
	(void)state;
	for (int encode = 0; encode < 2; encode++) {
		packed_fixture packed;
		fixture_pack(&packed, encode ? HOB_PACK_MESHOPT : HOB_PACK_RAW);
		for (int kind = 0; kind < 4; kind++)
			for (size_t at = 0; at < packed.files[kind].size; at++) {
				packed.files[kind].data[at] ^= (uint8_t)(1 + at % 255);
				assert_false(hob_pack_validate(hob_buf_bytes(&packed.files[kind]), NULL));
				opens(packed.files[kind].data, packed.files[kind].size);
				packed.files[kind].data[at] ^= (uint8_t)(1 + at % 255);
			}
		fixture_release(&packed);
	}
}

static void resealed_damage_is_survived(void **state)
{
	(void)state;
	static const uint8_t masks[] = {0x01, 0x80, 0xFF};
	for (int encode = 0; encode < 2; encode++) {
		packed_fixture packed;
		fixture_pack(&packed, encode ? HOB_PACK_MESHOPT : HOB_PACK_RAW);
		for (int kind = 0; kind < 4; kind++) {
			size_t size = packed.files[kind].size, accepted = 0;
			uint8_t *file = malloc(size);
			for (size_t at = 0; at < size; at++)
				for (size_t m = 0; m < sizeof masks; m++) {
					memcpy(file, packed.files[kind].data, size);
					file[at] ^= masks[m];
					reseal(file, size);
					bool good = hob_pack_validate((hob_bytes){file, size}, NULL);
					bool open = opens(file, size);
					assert_true(open || !good);
					accepted += good;
					hob_pack_set set = fixture_set(&packed);
					hob_bytes *members[] = {&set.meshes, &set.materials, &set.scene, &set.animations};
					*members[kind] = (hob_bytes){file, size};
					assert_true(good || !hob_pack_validate_set(&set, NULL));
				}
			/* Values may differ; structure may not. */
			assert_true(accepted > 0 && accepted < size * 2);
			free(file);
		}
		fixture_release(&packed);
	}
}

/* ---- each rule: a change of one field, with corrected digests, is refused with its reason ---- */

typedef struct breakage {
	int kind;
	uint32_t section, record;
	size_t offset;
	uint32_t value;
	const char *reason;
} breakage;

#define AT(struct, field) offsetof(hob_pk_##struct, field)

static const breakage breakages[] = {
	{0, HOB_PK_MDSC, 0, AT(mesh, name), 2, "not the start of a string"},
	{0, HOB_PK_MDSC, 0, AT(mesh, layout), 2, "layout 2 of 2"},
	{0, HOB_PK_MDSC, 2, AT(mesh, first_vertex), 3, "first vertex"},
	{0, HOB_PK_MDSC, 0, AT(mesh, vertex_count), 9, "vertex 0..+9"},
	{0, HOB_PK_MDSC, 0, AT(mesh, lod_first), 1, "first level"},
	{0, HOB_PK_MDSC, 0, AT(mesh, lod_count), 200, "level 0..+200"},
	{0, HOB_PK_MDSC, 0, AT(mesh, aabb_min), 0x7FC00000, "not finite"},
	{0, HOB_PK_MDSC, 0, AT(mesh, aabb_min), 0x7F000000, "inside out"},
	{0, HOB_PK_MDSC, 0, AT(mesh, topology), 3, "topology 3"},
	{0, HOB_PK_MDSC, 1, AT(mesh, influence_count), 8, "8 influences"},
	{0, HOB_PK_MDSC, 1, AT(mesh, morph_count), 3, "morph target 0..+3"},
	{0, HOB_PK_LODS, 0, AT(lod, vertex_prefix), 3, "index 3 at 5 is not below"},
	{0, HOB_PK_LODS, 1, AT(lod, vertex_prefix), 5, "not coarser"},
	{0, HOB_PK_LODS, 1, AT(lod, error), 0xBF800000, "error or flags"},
	{0, HOB_PK_LODS, 0, AT(lod, index_section), 0, "does not hold indices"},
	{0, HOB_PK_LODS, 0, AT(lod, index_section), 99, "section 99"},
	{0, HOB_PK_LODS, 0, AT(lod, meshlet_first), 2, "meshlets 2..+1"},
	{0, HOB_PK_LAYT, 0, AT(layout, stream_count), 5, "5 streams"},
	{0, HOB_PK_LAYT, 0, AT(layout, sections), 1, "is not stream"},
	{0, HOB_PK_LAYT, 0, AT(layout, vertex_count), 7, "7 vertices"},
	{0, HOB_PK_ATTR, 0, AT(attribute, offset), 4, "of a vertex of 12"},
	{0, HOB_PK_ATTR, 1, AT(attribute, semantic), 0x00030000, "positions in stream 1"},
	{0, HOB_PK_IDX_, 0, 0, 0x00000007, "is not below"},
	{0, HOB_PK_VTX_, 0, 4, 0x7F800000, "not finite"},
	{0, HOB_PK_MLET, 0, AT(meshlet, vertex_offset), 6, "vertices 6..+4"},
	{0, HOB_PK_MLET, 1, AT(meshlet, triangle_offset), 12, "of 12 bytes"},
	{0, HOB_PK_MLVT, 3, 0, 4, "vertex 4 is not below"},
	{0, HOB_PK_MLTR, 0, 0, 0x09020100, "corner 9"},
	{0, HOB_PK_MRPH, 0, AT(morph, mesh), 0, "belongs to mesh 0"},
	{0, HOB_PK_MRPH, 1, AT(morph, delta_first), 0, "first delta"},
	{0, HOB_PK_MDLT, 2, AT(delta, vertex), 0, "delta 1 of vertex 0"},
	{0, HOB_PK_VMAP, 1, AT(variant_map, variant), 0, "variant map 1"},
	{1, HOB_PK_MATL, 0, AT(material, textures), 1, "texture reference 1"},
	{1, HOB_PK_MATL, 0, AT(material, roughness), 0x7F800000, "not finite"},
	{1, HOB_PK_MATL, 0, AT(material, flags), 24, "both MASK and BLEND"},
	{1, HOB_PK_TEXR, 0, AT(texref, image), 2, "image 2 of 2"},
	{1, HOB_PK_TEXR, 0, AT(texref, sampler), 1, "sampler 1 of 1"},
	{1, HOB_PK_IMGS, 0, AT(image, container), 3, "container 3"},
	{1, HOB_PK_TSMP, 0, 0, 0x06020103, "sampler 0"},
	{1, HOB_PK_VARI, 0, 0, 2, "not the start"},
	{2, HOB_PK_HIER, 3, AT(hierarchy, parent), 1, "parent 1"},
	{2, HOB_PK_HIER, 1, AT(hierarchy, next_sibling), 4, "next_sibling 4"},
	{2, HOB_PK_HIER, 1, AT(hierarchy, last_sibling), 3, "last_sibling 3"},
	{2, HOB_PK_HIER, 5, AT(hierarchy, first_child), 6, "a leaf"},
	{2, HOB_PK_HIER, 6, AT(hierarchy, level), 1, "not a root"},
	{2, HOB_PK_SUBT, 1, 0, 9, "9 nodes"},
	{2, HOB_PK_SUBT, 1, 0, 3, "child"},
	{2, HOB_PK_TRS_, 0, AT(trs, r) + 12, 0, "unit length"},
	{2, HOB_PK_LOCL, 0, 0, 0x7F800000, "local matrix 0"},
	{2, HOB_PK_AABB, 5, 0, 0x40000000, "box of node 5"},
	{2, HOB_PK_LMSH, 1, AT(link, node), 2, "node 2, want 3"},
	{2, HOB_PK_LMSH, 2, AT(link, node), 8, "node 8"},
	{2, HOB_PK_LCAM, 0, AT(link, value), 1, "camera link 0: 1 of 1"},
	{2, HOB_PK_CAMS, 0, AT(camera, zfar), 0, "bad numbers"},
	{2, HOB_PK_XTRA, 3, AT(extra, kind), 9, "extra 3 has kind 9"},
	{2, HOB_PK_XTRA, 3, AT(extra, kind), 0, "extra 3 is out of order"},
	{2, HOB_PK_XTRA, 2, AT(extra, index), 8, "extra 2: index 8 of 8"},
	{2, HOB_PK_XTRA, 1, AT(extra, index), 2, "extra 1: index 2 of 2"},
	{2, HOB_PK_XTRA, 2, AT(extra, values), 1, "not JSON: 'world'"},
	{2, HOB_PK_TRS_, 1, AT(trs, flags), 16, "flags 10"},
	{2, HOB_PK_SCNS, 1, AT(scene, flags), 1, "2 of 2 scenes"},
	{2, HOB_PK_ROOT, 2, 0, 8, "node 8 of 8"},
	{3, HOB_PK_CLIP, 0, AT(clip, channel_count), 4, "channel 0..+4"},
	{3, HOB_PK_CLIP, 1, AT(clip, name), 1, "two clips"},
	{3, HOB_PK_CHAN, 0, AT(channel, path), 1, "path 1 has 3"},
	{3, HOB_PK_CHAN, 0, AT(channel, sampler), 3, "sampler 3 of 3"},
	{3, HOB_PK_SMPL, 0, AT(sampler, key_count), 4, "do not rise"},
	{3, HOB_PK_SMPL, 2, AT(sampler, value_first), 46, "values 46"},
	{3, HOB_PK_TIME, 1, 0, 0x40400000, "do not rise"},
	{3, HOB_PK_VALS, 1, 0, 0xFF800000, "not finite"},
	{3, HOB_PK_SKIN, 0, AT(skin, joint_count), 3, "joint 0..+3"},
	{3, HOB_PK_PROP, 0, AT(property_channel, clip), 1, "clip 0 of 2 after clip 1"},
	{3, HOB_PK_PROP, 1, AT(property_channel, clip), 2, "clip 2 of 2"},
	{3, HOB_PK_PROP, 0, AT(property_channel, sampler), 3, "sampler 3 of 3"},
	{3, HOB_PK_PROP, 0, AT(property_channel, property), HOB_PROPERTY_METALLIC, "3 components"},
	{3, HOB_PK_PROP, 0, AT(property_channel, property), HOB_PROPERTY_COUNT, "property 42"},
	{3, HOB_PK_PROP, 0, AT(property_channel, property), HOB_PROPERTY_EMISSIVE | 1 << 16, "slot 1"},
	{3, HOB_PK_PROP, 1, AT(property_channel, property), HOB_PROPERTY_TEXTURE_SCALE | 23 << 16, "slot 23"},
};

static void put(hob_buf *file, const breakage *b)
{
	hob_pack pack;
	assert_true(hob_pack_open(hob_buf_bytes(file), &pack, NULL));
	for (uint32_t i = 0; i < pack.section_count; i++) {
		const hob_pk_section *s = hob_pack_section(&pack, i);
		if (s->type != b->section)
			continue;
		hob_store_u32(file->data + s->offset + (size_t)b->record * s->stride + b->offset, b->value);
		reseal(file->data, file->size);
		return;
	}
	fail();
}

static void each_rule_is_enforced(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOB_COUNT_OF(breakages); i++) {
		packed_fixture packed;
		fixture_pack(&packed, HOB_PACK_RAW);
		hob_error err = {0};
		put(&packed.files[breakages[i].kind], &breakages[i]);
		assert_false(hob_pack_validate(hob_buf_bytes(&packed.files[breakages[i].kind]), &err));
		if (!strstr(err.context, breakages[i].reason))
			fail_msg("breakage %zu: '%s' without '%s'", i, err.context, breakages[i].reason);
		fixture_release(&packed);
	}
}

static const breakage crossings[] = {
	{0, HOB_PK_MDSC, 0, AT(mesh, material), 2, "material 2 of 2"},
	{0, HOB_PK_MDSC, 1, AT(mesh, skin), 1, "skin 1 of 1"},
	{0, HOB_PK_VMAP, 1, AT(variant_map, variant), 2, "variant 2 of 2"},
	{0, HOB_PK_VTX_, 0, 0, 0, NULL}, /* semantically unchanged */
	{2, HOB_PK_LMSH, 2, AT(link, value), 4, "mesh link 4 of 4"},
	{2, HOB_PK_LMAT, 0, AT(link, value), 2, "material link 2 of 2"},
	{2, HOB_PK_LSKN, 0, AT(link, value), 1, "skin link 1 of 1"},
	{3, HOB_PK_CHAN, 0, AT(channel, node), 8, "channel node 8 of 8"},
	{3, HOB_PK_JNTS, 0, 0, 8, "joint node 8 of 8"},
	{3, HOB_PK_SKIN, 0, AT(skin, root), 8, "skeleton root 8 of 8"},
	{3, HOB_PK_PROP, 0, AT(property_channel, index), 2, "driven thing 2 of 2"},
};

static void ids_across_files_are_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOB_COUNT_OF(crossings); i++) {
		packed_fixture packed;
		fixture_pack(&packed, HOB_PACK_RAW);
		hob_error err = {0};
		put(&packed.files[crossings[i].kind], &crossings[i]);
		hob_pack_set set = fixture_set(&packed);
		assert_true(hob_pack_validate(hob_buf_bytes(&packed.files[crossings[i].kind]), &err));
		bool good = hob_pack_validate_set(&set, &err);
		assert_int_equal(good, crossings[i].reason == NULL);
		if (crossings[i].reason && !strstr(err.context, crossings[i].reason))
			fail_msg("crossing %zu: '%s' without '%s'", i, err.context, crossings[i].reason);
		fixture_release(&packed);
	}
}

static void a_joint_beyond_its_skin_is_refused(void **state)
{
	(void)state;
	arm_skin[2].joints[1] = 2;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	arm_skin[2].joints[1] = 0;
	hob_pack_set set = fixture_set(&packed);
	hob_error err = {0};
	assert_false(hob_pack_validate_set(&set, &err));
	assert_non_null(strstr(err.context, "mesh 1 uses joint 2 of 2"));
	fixture_release(&packed);
}

static void weights_that_do_not_make_one_are_refused(void **state)
{
	(void)state;
	arm_skin[1].weights[1] = 56;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	arm_skin[1].weights[1] = 55;
	hob_error err = {0};
	assert_false(hob_pack_validate(hob_buf_bytes(&packed.files[0]), &err));
	assert_non_null(strstr(err.context, "weights of vertex 1 sum to 256"));
	fixture_release(&packed);
}

static void a_claim_of_huge_data_takes_no_memory(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	uint8_t *file = packed.files[0].data;
	hob_pack pack;
	assert_true(hob_pack_open(hob_buf_bytes(&packed.files[0]), &pack, NULL));
	for (uint32_t i = 0; i < pack.section_count; i++) {
		hob_pk_section s = *hob_pack_section(&pack, i);
		if (s.type != HOB_PK_VTX_)
			continue;
		s.count = 0x7FFFFFFF;
		s.raw_bytes = (uint64_t)s.count * s.stride;
		s.codec = HOB_PK_CODEC_MESHOPT_VERTEX;
		memcpy(file + 64 + i * 64, &s, sizeof s);
		reseal(file, packed.files[0].size);
		hob_error err = {0};
		assert_false(hob_pack_validate(hob_buf_bytes(&packed.files[0]), &err));
		assert_int_equal(err.code, HOB_ERR_CORRUPT);
		hob_arena arena;
		hob_arena_init(&arena, 1 << 20);
		hob_pack_array out;
		assert_false(hob_pack_decode(&pack, i, &arena, &out, &err));
		assert_int_equal(err.code, HOB_ERR_CORRUPT);
		hob_arena_release(&arena);
		break;
	}
	fixture_release(&packed);
}

/* A clip that also animates materials. */
static hob_property_channel properties[2] = {{HOB_PROPERTY_EMISSIVE, 1, 0, 0},
											 {HOB_PROPERTY_TEXTURE_SCALE, 0, HOB_SLOT_NORMAL, 2}};

int main(void)
{
	fixture_clips[0].properties = properties;
	fixture_clips[0].property_count = 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_prefix_is_refused),
		cmocka_unit_test(every_changed_byte_is_noticed),
		cmocka_unit_test(resealed_damage_is_survived),
		cmocka_unit_test(each_rule_is_enforced),
		cmocka_unit_test(ids_across_files_are_checked),
		cmocka_unit_test(a_joint_beyond_its_skin_is_refused),
		cmocka_unit_test(weights_that_do_not_make_one_are_refused),
		cmocka_unit_test(a_claim_of_huge_data_takes_no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
