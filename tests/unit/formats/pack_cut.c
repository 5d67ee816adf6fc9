#include "fixture.h"

#include "core/formats/pack_cut.h"
#include "core/formats/pack_geometry.h"
#include "core/hash/hash.h"

/* Meshes files with their finest levels removed. */

typedef struct opened {
	hob_arena arena;
	hob_pack pack;
	hob_pack_geometry geometry;
} opened;

static void open_file(opened *o, const hob_buf *file)
{
	hob_error err = {0};
	hob_arena_init(&o->arena, 1 << 24);
	if (!hob_pack_validate(hob_buf_bytes(file), &err) ||
		!hob_pack_open(hob_buf_bytes(file), &o->pack, &err) ||
		!hob_pack_geometry_open(&o->pack, &o->arena, &o->geometry, &err))
		fail_msg("%s", err.context);
}

static void write_file(const fixture *f, hob_pack_encode encode, hob_buf *out)
{
	hob_error err = {0};
	hob_pack_options options = {.encode = encode};
	if (!hob_pack_meshes(f->meshes, HOB_COUNT_OF(f->meshes), &options, out, &err))
		fail_msg("%s", err.context);
}

static void cut_file(const hob_buf *file, uint32_t level, hob_buf *out)
{
	hob_error err = {0};
	if (!hob_pack_cut(hob_buf_bytes(file), level, NULL, out, &err))
		fail_msg("%s", err.context);
}

static const hob_pk_mesh *mesh_at(const opened *o, uint32_t m)
{
	return HOB_PACK_AT(hob_pk_mesh, o->geometry.meshes, m);
}

static const hob_pk_lod *level_at(const opened *o, uint32_t m, uint32_t level)
{
	return HOB_PACK_AT(hob_pk_lod, o->geometry.lods, mesh_at(o, m)->lod_first + level);
}

static void nothing_cut_is_the_same_file(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	for (int encode = HOB_PACK_RAW; encode <= HOB_PACK_MESHOPT; encode++) {
		hob_buf file = {0}, same = {0};
		write_file(&f, (hob_pack_encode)encode, &file);
		cut_file(&file, 0, &same);
		assert_int_equal(same.size, file.size);
		assert_memory_equal(same.data, file.data, file.size);
		hob_buf_release(&file);
		hob_buf_release(&same);
	}
}

/* Asserts that level `level` of the whole file equals level `kept` of the cut file, in every attribute of
 * every corner. */
static void same_level(const opened *whole, const opened *part, uint32_t m, uint32_t level, uint32_t kept)
{
	const hob_pk_lod *a = level_at(whole, m, level), *b = level_at(part, m, kept);
	assert_int_equal(a->index_count, b->index_count);
	assert_int_equal(a->vertex_prefix, b->vertex_prefix);
	assert_int_equal(a->meshlet_count, b->meshlet_count);
	assert_memory_equal(&a->error, &b->error, sizeof a->error);
	for (uint32_t semantic = HOB_PK_SEMANTIC_POSITION; semantic <= HOB_PK_SEMANTIC_WEIGHTS; semantic++) {
		hob_pack_attribute x, y;
		bool has = hob_pack_attribute_find(&whole->geometry, mesh_at(whole, m), semantic, 0, &x);
		assert_int_equal(hob_pack_attribute_find(&part->geometry, mesh_at(part, m), semantic, 0, &y), has);
		for (uint32_t i = 0; has && i < a->index_count; i++) {
			float p[4], q[4];
			hob_pack_attribute_get(&x, hob_pack_index(&whole->geometry, a, i), p);
			hob_pack_attribute_get(&y, hob_pack_index(&part->geometry, b, i), q);
			assert_memory_equal(p, q, sizeof p);
		}
	}
}

static void coarse_levels_stay_as_they_were(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	for (int encode = HOB_PACK_RAW; encode <= HOB_PACK_MESHOPT; encode++) {
		hob_buf file = {0}, cut = {0};
		opened whole, part;
		write_file(&f, (hob_pack_encode)encode, &file);
		cut_file(&file, 1, &cut);
		open_file(&whole, &file);
		open_file(&part, &cut);
		assert_true(cut.size < file.size || encode == HOB_PACK_MESHOPT);
		assert_true(part.pack.header->flags & HOB_PK_FILE_CUT);
		assert_int_equal(hob_pack_level_count(&whole.pack), 2);
		assert_int_equal(hob_pack_level_count(&part.pack), 1);
		assert_int_equal(part.geometry.meshes.count, whole.geometry.meshes.count);
		for (uint32_t m = 0; m < whole.geometry.meshes.count; m++) {
			const hob_pk_mesh *a = mesh_at(&whole, m), *b = mesh_at(&part, m);
			uint32_t first = a->lod_count > 1 ? 1 : 0;
			assert_int_equal(b->lod_count, a->lod_count - first);
			assert_int_equal(b->vertex_count,
							 first ? level_at(&whole, m, first)->vertex_prefix : a->vertex_count);
			assert_int_equal(b->material, a->material);
			assert_int_equal(b->flags, a->flags);
			assert_int_equal(b->morph_count, a->morph_count);
			assert_int_equal(b->variant_count, a->variant_count);
			assert_string_equal(hob_pack_string(&part.pack, b->name).data,
								hob_pack_string(&whole.pack, a->name).data);
			for (uint32_t l = first; l < a->lod_count; l++)
				same_level(&whole, &part, m, l, l - first);
		}
		hob_arena_release(&whole.arena);
		hob_arena_release(&part.arena);
		hob_buf_release(&file);
		hob_buf_release(&cut);
	}
}

static void a_cut_file_can_be_cut_again(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	hob_buf file = {0}, once = {0}, twice = {0};
	write_file(&f, HOB_PACK_RAW, &file);
	cut_file(&file, 1, &once);
	cut_file(&once, 0, &twice);
	assert_int_equal(once.size, twice.size);
	assert_memory_equal(once.data, twice.data, once.size);
	hob_buf_release(&file);
	hob_buf_release(&once);
	hob_buf_release(&twice);
}

static void levels_that_are_not_there_are_refused(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	hob_buf file = {0}, out = {0}, flat = {0}, scene = {0};
	hob_error err = {0};
	write_file(&f, HOB_PACK_RAW, &file);
	assert_false(hob_pack_cut(hob_buf_bytes(&file), 2, NULL, &out, &err));
	assert_int_equal(err.code, HOB_ERR_NOT_FOUND);
	assert_non_null(strstr(err.context, "levels 0 to 1"));
	f.meshes[0].lod_count = 1;
	f.meshes[0].index_count = 6;
	f.meshes[0].meshlet_count = 1;
	f.meshes[0].meshlet_vertex_count = 4;
	f.meshes[0].meshlet_triangle_bytes = 8;
	write_file(&f, HOB_PACK_RAW, &flat);
	err = (hob_error){0};
	assert_false(hob_pack_cut(hob_buf_bytes(&flat), 1, NULL, &out, &err));
	assert_int_equal(err.code, HOB_ERR_NOT_FOUND);
	assert_non_null(strstr(err.context, "no levels of detail"));
	hob_pack_options options = {0};
	assert_true(hob_pack_scene(&f.scene, &options, &scene, &err));
	assert_false(hob_pack_cut(hob_buf_bytes(&scene), 1, NULL, &out, &err));
	assert_int_equal(err.code, HOB_ERR_UNSUPPORTED);
	assert_int_equal(out.size, 0);
	hob_buf_release(&file);
	hob_buf_release(&flat);
	hob_buf_release(&scene);
	hob_buf_release(&out);
}

static void sign(hob_buf *file, uint32_t flags)
{
	hob_pk_header header;
	memcpy(&header, file->data, sizeof header);
	header.flags = flags;
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	hob_hasher_put(&hasher, &header, 48);
	hob_hasher_put(&hasher, file->data + header.header_bytes,
				   (size_t)header.section_count * header.entry_bytes);
	hob_sha256 digest = hob_hasher_finish(&hasher);
	memcpy(header.digest, digest.bytes, sizeof header.digest);
	memcpy(file->data, &header, sizeof header);
}

/* A first level with an error is invalid unless the file is marked as cut. */
static void only_cut_files_begin_with_an_error(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	hob_buf file = {0}, cut = {0};
	hob_error err = {0};
	write_file(&f, HOB_PACK_RAW, &file);
	cut_file(&file, 1, &cut);
	sign(&cut, HOB_PK_FILE_RAW | HOB_PK_FILE_QUANTIZED | HOB_PK_FILE_CUT);
	assert_true(hob_pack_validate(hob_buf_bytes(&cut), &err));
	sign(&cut, HOB_PK_FILE_RAW | HOB_PK_FILE_QUANTIZED);
	assert_false(hob_pack_validate(hob_buf_bytes(&cut), &err));
	assert_non_null(strstr(err.context, "error or vertex_prefix"));
	hob_buf_release(&file);
	hob_buf_release(&cut);
}

/* Mesh 2 is mesh 0 with another material: it adds only a record and a name to the file. */
static void copies_are_held_once_and_stay_so(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	f.meshes[2] = f.meshes[0];
	f.meshes[2].mesh.material = 1;
	f.meshes[2].mesh.mapping_count = 0;
	hob_buf apart = {0}, shared = {0}, cut = {0};
	write_file(&f, HOB_PACK_RAW, &apart);
	f.meshes[2].is_copy = true;
	write_file(&f, HOB_PACK_RAW, &shared);
	assert_true(shared.size <= apart.size);
	cut_file(&shared, 1, &cut);
	const hob_buf *files[] = {&shared, &cut};
	for (size_t i = 0; i < 2; i++) {
		opened o;
		open_file(&o, files[i]);
		const hob_pk_mesh *quad = mesh_at(&o, 0), *copy = mesh_at(&o, 2);
		assert_int_equal(copy->lod_first, quad->lod_first);
		assert_int_equal(copy->first_vertex, quad->first_vertex);
		assert_int_equal(copy->material, 1);
		/* before the cut two levels of the quad and one of the arm; after it one of each */
		assert_int_equal(hob_pack_find(&o.pack, HOB_PK_LODS).count, 3 - i);
		hob_arena_release(&o.arena);
	}
	hob_buf_release(&apart);
	hob_buf_release(&shared);
	hob_buf_release(&cut);
}

static void refused(const fixture *f, const char *reason)
{
	hob_buf file = {0};
	hob_error err = {0};
	write_file(f, HOB_PACK_RAW, &file);
	assert_false(hob_pack_validate(hob_buf_bytes(&file), &err));
	assert_non_null(strstr(err.context, reason));
	hob_buf_release(&file);
}

static void errors_of_attributes_stay(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	f.meshes[0].lods[1].mean_error = 0.25f;
	refused(&f, "mean error 0.25 of at most 0.125");
	f.meshes[0].lods[1].mean_error = 0.0625f;
	hob_buf file = {0}, same = {0}, cut = {0};
	opened o;
	f.meshes[0].lods[1].attributes = (hob_attribute_error){0.25f, 0.5f, 0.125f};
	write_file(&f, HOB_PACK_RAW, &file);
	open_file(&o, &file);
	assert_int_equal(o.pack.header->ver_minor, 7);
	hob_pack_array errors = hob_pack_find(&o.pack, HOB_PK_LODA);
	assert_int_equal(errors.count, o.geometry.lods.count);
	const hob_pk_lod_attributes *coarse = HOB_PACK_AT(hob_pk_lod_attributes, errors, 1);
	assert_true(coarse->uv == 0.25f && coarse->color == 0.5f && coarse->weight == 0.125f);
	hob_arena_release(&o.arena);
	cut_file(&file, 0, &same);
	assert_int_equal(same.size, file.size);
	assert_memory_equal(same.data, file.data, file.size);
	cut_file(&file, 1, &cut);
	open_file(&o, &cut);
	coarse = HOB_PACK_AT(hob_pk_lod_attributes, hob_pack_find(&o.pack, HOB_PK_LODA), 0);
	assert_true(hob_pack_lod_mean(&o.pack, 0) == 0.0625f);
	assert_true(coarse->uv == 0.25f && coarse->color == 0.5f && coarse->weight == 0.125f);
	hob_arena_release(&o.arena);
	f.meshes[0].lods[1].attributes.weight = 1.5f;
	refused(&f, "errors of attributes");
	f.meshes[0].lods[1].attributes.weight = NAN;
	refused(&f, "errors of attributes");
	f.meshes[0].lods[1].attributes = (hob_attribute_error){0};
	f.meshes[0].lods[0].attributes.uv = 0.5f;
	refused(&f, "errors of attributes of the full mesh");
	hob_buf_release(&file);
	hob_buf_release(&same);
	hob_buf_release(&cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_cut_is_the_same_file),
		cmocka_unit_test(coarse_levels_stay_as_they_were),
		cmocka_unit_test(a_cut_file_can_be_cut_again),
		cmocka_unit_test(levels_that_are_not_there_are_refused),
		cmocka_unit_test(copies_are_held_once_and_stay_so),
		cmocka_unit_test(errors_of_attributes_stay),
		cmocka_unit_test(only_cut_files_begin_with_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
