/* Members of zip archives, and the unit of 3MF that is read from one. */
#include "tests/unit/import/reader_fixture.h"

#include "core/import/zip.h"

#include <libdeflate.h>

typedef struct member {
	const char *name, *text;
} member;

static void put_u16(hob_buf *buf, uint32_t value)
{
	hob_buf_put(buf, (const uint8_t[2]){(uint8_t)value, (uint8_t)(value >> 8)}, 2);
}

static void put_u32(hob_buf *buf, uint32_t value)
{
	put_u16(buf, value & 0xFFFF);
	put_u16(buf, value >> 16);
}

static void put_sizes(hob_buf *buf, bool deflate, uint32_t crc, size_t packed, size_t size, size_t name)
{
	put_u16(buf, 20);
	put_u16(buf, 0);
	put_u16(buf, deflate ? 8 : 0);
	put_u32(buf, 0);
	put_u32(buf, crc);
	put_u32(buf, (uint32_t)packed);
	put_u32(buf, (uint32_t)size);
	put_u16(buf, (uint32_t)name);
	put_u16(buf, 0);
}

static hob_buf make_zip(const member *members, uint32_t count, bool deflate)
{
	hob_buf zip = {0}, directory = {0};
	for (uint32_t i = 0; i < count; i++) {
		size_t size = strlen(members[i].text), packed = size, name = strlen(members[i].name);
		uint32_t crc = libdeflate_crc32(0, members[i].text, size);
		uint8_t data[4096];
		memcpy(data, members[i].text, size);
		if (deflate) {
			struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(6);
			packed = libdeflate_deflate_compress(deflater, members[i].text, size, data, sizeof data);
			libdeflate_free_compressor(deflater);
		}
		uint32_t at = (uint32_t)zip.size;
		hob_buf_put(&zip, "PK\003\004", 4);
		put_sizes(&zip, deflate, crc, packed, size, name);
		hob_buf_put(&zip, members[i].name, name);
		hob_buf_put(&zip, data, packed);
		hob_buf_put(&directory, "PK\001\002\024\000", 6);
		put_sizes(&directory, deflate, crc, packed, size, name);
		put_u16(&directory, 0);
		put_u16(&directory, 0);
		put_u16(&directory, 0);
		put_u32(&directory, 0);
		put_u32(&directory, at);
		hob_buf_put(&directory, members[i].name, name);
	}
	uint32_t at = (uint32_t)zip.size;
	hob_buf_put(&zip, directory.data, directory.size);
	hob_buf_put(&zip, "PK\005\006\0\0\0\0", 8);
	put_u16(&zip, count);
	put_u16(&zip, count);
	put_u32(&zip, (uint32_t)directory.size);
	put_u32(&zip, at);
	put_u16(&zip, 0);
	hob_buf_release(&directory);
	return zip;
}

static bool zip_member(hob_arena *arena, hob_bytes file, hob_str suffix, size_t most, hob_bytes *out)
{
	hob_zip zip;
	hob_zip_member found;
	return hob_zip_open(file, &zip) && hob_zip_find_suffix(&zip, suffix, &found) &&
		   hob_zip_unpack(arena, &found, most, out);
}

static const member some[] = {{"a.txt", "first"}, {"3D/3dModel.MODEL", "second second second second"}};

static void members_are_found_stored_and_deflated(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	for (int deflate = 0; deflate < 2; deflate++) {
		hob_buf zip = make_zip(some, 2, deflate);
		hob_bytes out;
		assert_true(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("3dmodel.model"), 100, &out));
		assert_int_equal(out.size, strlen(some[1].text));
		assert_memory_equal(out.data, some[1].text, out.size);
		assert_false(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("3dmodel.model"), 10, &out));
		assert_false(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("none"), 100, &out));
		hob_buf_put(&zip, "a comment", 9);
		assert_true(zip_member(&arena, hob_buf_bytes(&zip), HOB_STR("a.txt"), 100, &out));
		hob_buf_release(&zip);
	}
	hob_arena_release(&arena);
}

static void members_are_walked_and_found_by_their_whole_name(void **state)
{
	(void)state;
	hob_buf file = make_zip(some, 2, false);
	hob_zip zip;
	hob_zip_member found;
	size_t at = 0;
	assert_true(hob_zip_open(hob_buf_bytes(&file), &zip));
	for (size_t i = 0; i < 2; i++) {
		assert_true(hob_zip_next(&zip, &at, &found));
		assert_true(hob_str_equal(found.name, hob_str_of(some[i].name)));
	}
	assert_false(hob_zip_next(&zip, &at, &found));
	assert_true(hob_zip_find(&zip, HOB_STR("a.txt"), &found));
	assert_false(hob_zip_find(&zip, HOB_STR(".txt"), &found));
	/* The first entry says that it is encrypted. */
	file.data[zip.directory + 8] = 1;
	assert_false(hob_zip_find(&zip, HOB_STR("a.txt"), &found));
	hob_buf_release(&file);
}

static void damaged_archives_do_no_harm(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_buf zip = make_zip(some, 2, true);
	hob_bytes out;
	for (size_t size = 0; size < zip.size; size++) {
		uint8_t *cut = malloc(size ? size : 1);
		memcpy(cut, zip.data, size);
		assert_false(zip_member(&arena, (hob_bytes){cut, size}, HOB_STR("model"), 4096, &out));
		free(cut);
	}
	uint8_t *copy = malloc(zip.size);
	for (size_t i = 0; i < zip.size; i++)
		for (int flip = 1; flip < 256; flip *= 2) {
			memcpy(copy, zip.data, zip.size);
			copy[i] ^= (uint8_t)flip;
			if (zip_member(&arena, (hob_bytes){copy, zip.size}, HOB_STR("model"), 4096, &out))
				assert_true(out.size <= 4096);
		}
	free(copy);
	hob_buf_release(&zip);
	hob_arena_release(&arena);
}

static void lengths_of_3mf_are_metres(void **state)
{
	(void)state;
	static const struct {
		const char *attribute;
		float x;
	} cases[] = {{"", 0.1f},
				 {" unit=\"millimeter\"", 0.1f},
				 {" unit=\"inch\"", 2.54f},
				 {" unit=\"meter\"", 100},
				 {" unit=\"centimeter\"", 1},
				 {" unit=\"foot\"", 30.48f},
				 {" unit=\"micron\"", 1e-4f}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		char model[1024];
		snprintf(
			model, sizeof model,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model%s "
			"xmlns=\"http://schemas.microsoft.com/3dmanufacturing/core/2015/02\"><resources><object id=\"1\" "
			"type=\"model\"><mesh><vertices><vertex x=\"0\" y=\"0\" z=\"0\"/><vertex x=\"100\" y=\"0\" "
			"z=\"0\"/><vertex x=\"0\" y=\"100\" z=\"0\"/></vertices><triangles><triangle v1=\"0\" v2=\"1\" "
			"v3=\"2\"/></triangles></mesh></object></resources><build><item objectid=\"1\"/></build></model>",
			cases[i].attribute);
		const member members[] = {
			{"[Content_Types].xml", "<?xml version=\"1.0\"?><Types/>"},
			{"_rels/.rels",
			 "<?xml version=\"1.0\"?><Relationships "
			 "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship "
			 "Target=\"/3D/3dmodel.model\" Id=\"r\" "
			 "Type=\"http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel\"/></Relationships>"},
			{"3D/3dmodel.model", model},
		};
		hob_buf zip = make_zip(members, 3, i % 2);
		reader *r = reader_new(&hob_assimp_importer);
		reader_add_bytes(r, "part.3mf", zip.data, zip.size);
		const hob_model *out = reader_model(r);
		assert_near(out->meshes[0].position[3], cases[i].x);
		/* Prints lie on their side until Z is up. */
		float root[16];
		hob_node_local_matrix(&out->nodes[0], root);
		assert_vector(root + 8, 0, 1, 0);
		reader_free(r);
		hob_buf_release(&zip);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_found_stored_and_deflated),
		cmocka_unit_test(members_are_walked_and_found_by_their_whole_name),
		cmocka_unit_test(damaged_archives_do_no_harm),
		cmocka_unit_test(lengths_of_3mf_are_metres),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
