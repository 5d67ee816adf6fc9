#include "fixture.h"

#include "core/formats/pack_read.h"

static void assert_ok(bool ok, const hob_error *err)
{
	if (!ok)
		fail_msg("%s: %s", hob_err_name(err->code), err->context);
}

static hob_pack open_pack(const hob_buf *file)
{
	hob_pack pack;
	hob_error err = {0};
	assert_ok(hob_pack_open(hob_buf_bytes(file), &pack, &err), &err);
	return pack;
}

/* ---- round trips: written files are valid and read back equal ---- */

static void written_files_are_valid(void **state)
{
	(void)state;
	for (int encode = 0; encode < 2; encode++) {
		packed_fixture packed;
		fixture_pack(&packed, encode ? HOB_PACK_MESHOPT : HOB_PACK_RAW);
		hob_error err = {0};
		for (int kind = 0; kind < 4; kind++)
			assert_ok(hob_pack_validate(hob_buf_bytes(&packed.files[kind]), &err), &err);
		hob_pack_set set = fixture_set(&packed);
		assert_ok(hob_pack_validate_set(&set, &err), &err);
		fixture_release(&packed);
	}
}

static void meshes_read_back(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_pack pack = open_pack(&packed.files[0]);
	hob_pack_array meshes = hob_pack_find(&pack, HOB_PK_MDSC), lods = hob_pack_find(&pack, HOB_PK_LODS);
	assert_int_equal(meshes.count, 4);
	const hob_pk_mesh *quad = HOB_PACK_AT(hob_pk_mesh, meshes, 0),
					  *wire = HOB_PACK_AT(hob_pk_mesh, meshes, 2);
	assert_string_equal(hob_pack_string(&pack, quad->name).data, "quad");
	assert_int_equal(quad->layout, wire->layout);
	assert_int_equal(wire->first_vertex, 4);
	assert_int_equal(HOB_PACK_AT(hob_pk_mesh, meshes, 3)->layout, HOB_PK_NONE);
	const hob_pk_lod *coarse = HOB_PACK_AT(hob_pk_lod, lods, quad->lod_first + 1);
	hob_pack_array indices = hob_pack_array_at(&pack, coarse->index_section);
	assert_int_equal(indices.stride, 2);
	const uint16_t *index = HOB_PACK_AT(uint16_t, indices, coarse->first_index);
	assert_int_equal(index[2], 2);
	const hob_pk_layout *layout = HOB_PACK_AT(hob_pk_layout, hob_pack_find(&pack, HOB_PK_LAYT), quad->layout);
	hob_pack_array positions = hob_pack_array_at(&pack, layout->sections[0]);
	assert_int_equal(positions.count, 6);
	assert_memory_equal(positions.data, quad_positions, sizeof quad_positions);
	assert_memory_equal(positions.data + sizeof quad_positions, wire_positions, sizeof wire_positions);
	fixture_release(&packed);
}

static void morph_deltas_are_sparse(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_pack pack = open_pack(&packed.files[0]);
	hob_pack_array morphs = hob_pack_find(&pack, HOB_PK_MRPH), deltas = hob_pack_find(&pack, HOB_PK_MDLT);
	assert_int_equal(morphs.count, 2);
	assert_int_equal(deltas.count, 4);
	const hob_pk_morph *twist = HOB_PACK_AT(hob_pk_morph, morphs, 1);
	assert_int_equal(twist->attribute_mask, HOB_PK_DELTA_POSITION | HOB_PK_DELTA_NORMAL);
	assert_int_equal(twist->delta_count, 3);
	const hob_pk_delta *second = HOB_PACK_AT(hob_pk_delta, deltas, twist->delta_first + 1);
	assert_int_equal(second->vertex, 1);
	assert_true(second->normal[1] == 0.125f && second->position[0] == 0);
	assert_true(twist->min[2] == -1 && twist->max[0] == 0.25f);
	fixture_release(&packed);
}

static void materials_read_back(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_pack pack = open_pack(&packed.files[1]);
	hob_pack_array materials = hob_pack_find(&pack, HOB_PK_MATL), refs = hob_pack_find(&pack, HOB_PK_TEXR);
	const hob_pk_material *brick = HOB_PACK_AT(hob_pk_material, materials, 0);
	const hob_pk_material *glass = HOB_PACK_AT(hob_pk_material, materials, 1);
	assert_int_equal(refs.count, 2);
	assert_int_equal(brick->textures[HOB_PK_SLOT_NORMAL], HOB_PK_NONE);
	const hob_pk_texref *ref = HOB_PACK_AT(hob_pk_texref, refs, brick->textures[HOB_PK_SLOT_METAL_ROUGH]);
	assert_int_equal(ref->image, 1);
	assert_true(ref->scale[0] == 2 && ref->rotation == 0.25f);
	assert_true(brick->aniso_roughness[0] == 0.75f && brick->aniso_roughness[2] == 0);
	assert_true(brick->transparency == 0 && glass->transparency == 0.75f);
	assert_int_equal(glass->flags, HOB_PK_MATERIAL_CAST_SHADOW | HOB_PK_MATERIAL_RECEIVE_SHADOW |
									   HOB_PK_MATERIAL_TRANSPARENT | HOB_PK_MATERIAL_BLEND |
									   HOB_PK_MATERIAL_DOUBLE_SIDED | HOB_PK_MATERIAL_IS_UNLIT);
	const hob_pk_image *image = HOB_PACK_AT(hob_pk_image, hob_pack_find(&pack, HOB_PK_IMGS), 1);
	assert_string_equal(hob_pack_string(&pack, image->name).data, "textures/br\xC3\xA4un.png");
	assert_memory_equal(image->cooked_sha256, fixture_images[1].cooked_sha256, 32);
	fixture_release(&packed);
}

static void name_rules_reach_the_reference_fields(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	hob_material *bottle = &f.materials.materials[1];
	bottle->base_color[3] = 0.6f;
	bottle->alpha_cutoff = 0.54f;
	hob_pack_options options = {0};
	hob_buf out = {0};
	hob_error err = {0};
	assert_ok(fixture_pack_one(&f, 1, &options, &out, &err), &err);
	hob_pack pack = open_pack(&out);
	const hob_pk_material *m = HOB_PACK_AT(hob_pk_material, hob_pack_find(&pack, HOB_PK_MATL), 1);
	assert_true(m->alpha_test == 0.54f && fabsf(m->transparency - 0.4f) < 1e-6f);
	bottle->base_color[3] = 0.96f;
	hob_buf_clear(&out);
	assert_ok(fixture_pack_one(&f, 1, &options, &out, &err), &err);
	pack = open_pack(&out);
	assert_true(HOB_PACK_AT(hob_pk_material, hob_pack_find(&pack, HOB_PK_MATL), 1)->transparency == 0);
	hob_buf_release(&out);
}

static void scene_links_are_found_by_node(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_pack pack = open_pack(&packed.files[2]);
	hob_pack_array links = hob_pack_find(&pack, HOB_PK_LMSH);
	assert_int_equal(hob_pack_link(links, 4), 1);
	assert_int_equal(hob_pack_link(links, 7), 2);
	assert_int_equal(hob_pack_link(links, 3), HOB_PK_NONE);
	assert_int_equal(hob_pack_link((hob_pack_array){0}, 3), HOB_PK_NONE);
	const hob_pk_box *empty = HOB_PACK_AT(hob_pk_box, hob_pack_find(&pack, HOB_PK_AABB), 5);
	assert_true(empty->min[0] == FLT_MAX && empty->max[2] == -FLT_MAX);
	fixture_release(&packed);
}

static void samplers_share_equal_times(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_pack pack = open_pack(&packed.files[3]);
	hob_pack_array samplers = hob_pack_find(&pack, HOB_PK_SMPL);
	assert_int_equal(hob_pack_find(&pack, HOB_PK_TIME).count, 4);
	assert_int_equal(HOB_PACK_AT(hob_pk_sampler, samplers, 1)->time_first, 0);
	assert_int_equal(HOB_PACK_AT(hob_pk_sampler, samplers, 2)->time_first, 3);
	assert_int_equal(HOB_PACK_AT(hob_pk_sampler, samplers, 2)->value_first, 9 + 36);
	fixture_release(&packed);
}

/* ---- properties of the container ---- */

static void same_input_gives_same_bytes(void **state)
{
	(void)state;
	packed_fixture a, b;
	fixture_pack(&a, HOB_PACK_MESHOPT);
	fixture_pack(&b, HOB_PACK_MESHOPT);
	for (int kind = 0; kind < 4; kind++) {
		assert_int_equal(a.files[kind].size, b.files[kind].size);
		assert_memory_equal(a.files[kind].data, b.files[kind].data, a.files[kind].size);
	}
	fixture_release(&a);
	fixture_release(&b);
}

static void metadata_comes_before_gpu_data_and_coarse_before_fine(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	hob_pack pack = open_pack(&packed.files[0]);
	uint64_t end = 0;
	uint8_t level = 255;
	for (uint32_t i = 0; i < pack.section_count; i++) {
		const hob_pk_section *s = hob_pack_section(&pack, i);
		assert_true(s->offset >= end);
		assert_int_equal(s->offset % (s->flags & HOB_PK_SECTION_GPU ? 256 : 16), 0);
		assert_int_equal(s->offset >= pack.header->prefix_bytes, (s->flags & HOB_PK_SECTION_GPU) != 0);
		end = s->offset + s->stored_bytes;
		if (s->type == HOB_PK_IDX_) {
			assert_true(s->part <= level);
			level = s->part;
		}
	}
	assert_int_equal(end, packed.files[0].size);
	fixture_release(&packed);
}

static void records_are_read_by_their_stride(void **state)
{
	(void)state;
	/* A newer minor version that appends 8 bytes to hob_pk_link. */
	_Alignas(8) uint8_t file[512] = {0};
	hob_pk_header h = {.endian = HOB_PK_ENDIAN,
					   .ver_major = 1,
					   .ver_minor = 7,
					   .kind = HOB_PK_KIND_SCNE,
					   .section_count = 1,
					   .header_bytes = 64,
					   .entry_bytes = 80,
					   .file_bytes = 192,
					   .prefix_bytes = 192};
	memcpy(h.magic, HOB_PK_MAGIC, 8);
	hob_pk_section s = {.type = HOB_PK_LMSH,
						.offset = 144,
						.stored_bytes = 48,
						.raw_bytes = 48,
						.count = 3,
						.stride = 16,
						.align_log2 = 4};
	memcpy(file, &h, sizeof h);
	memcpy(file + 64, &s, sizeof s);
	for (uint32_t i = 0; i < 3; i++)
		memcpy(file + 144 + i * 16, (uint32_t[]){i * 5, i + 100, 1, 2}, 16);
	hob_pack pack;
	hob_error err = {0};
	assert_ok(hob_pack_open((hob_bytes){file, 192}, &pack, &err), &err);
	assert_int_equal(hob_pack_link(hob_pack_find(&pack, HOB_PK_LMSH), 10), 102);
}

static void newer_major_version_is_refused(void **state)
{
	(void)state;
	packed_fixture packed;
	fixture_pack(&packed, HOB_PACK_RAW);
	packed.files[0].data[12] = 2;
	hob_pack pack;
	hob_error err = {0};
	assert_false(hob_pack_open(hob_buf_bytes(&packed.files[0]), &pack, &err));
	assert_int_equal(err.code, HOB_ERR_NEWER);
	fixture_release(&packed);
}

static void broken_names_become_valid_utf8(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	f.meshes[0].mesh.name = (hob_str){"a\xFFz\0b", 5};
	hob_pack_options options = {0};
	hob_buf out = {0};
	hob_error err = {0};
	assert_ok(fixture_pack_one(&f, 0, &options, &out, &err), &err);
	assert_ok(hob_pack_validate(hob_buf_bytes(&out), &err), &err);
	hob_pack pack = open_pack(&out);
	const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, hob_pack_find(&pack, HOB_PK_MDSC), 0);
	assert_string_equal(hob_pack_string(&pack, mesh->name).data, "a\xEF\xBF\xBDz\xEF\xBF\xBD"
																 "b");
	hob_buf_release(&out);
}

/* ---- encoding ---- */

enum { GRID = 270 }; /* 72900 vertices: 32-bit indices */

typedef struct grid {
	float (*positions)[3];
	uint32_t *indices;
	hob_baked_mesh mesh;
} grid;

static void grid_init(grid *g, uint32_t side)
{
	uint32_t cells = (side - 1) * (side - 1);
	g->positions = malloc((size_t)side * side * 12);
	g->indices = malloc((size_t)cells * 24);
	for (uint32_t v = 0; v < side * side; v++) {
		float x = (float)(v % side), y = (float)(v / side);
		memcpy(g->positions[v], (float[]){x, y, x * y / 128}, 12);
	}
	for (uint32_t c = 0; c < cells; c++) {
		uint32_t v = c / (side - 1) * side + c % (side - 1);
		memcpy(g->indices + (size_t)c * 6, (uint32_t[]){v, v + 1, v + side, v + side, v + 1, v + side + 1},
			   24);
	}
	g->mesh = (hob_baked_mesh){.mesh = {.name = HOB_STR("grid"),
										.material = HOB_NONE,
										.vertex_count = side * side,
										.index_count = cells * 6},
							   .skin = HOB_NONE,
							   .attribute_count = 1,
							   .stream_count = 1,
							   .lod_count = 1,
							   .index_count = cells * 6,
							   .indices = g->indices,
							   .pos_scale = 1,
							   .uv_scale = {1, 1}};
	g->mesh.attributes[0] = (hob_baked_attribute){HOB_SEMANTIC_POSITION, 0, 3, HOB_ENCODING_PLAIN, 106, 0, 0};
	g->mesh.streams[0] = (hob_baked_stream){12, (uint8_t *)g->positions};
	g->mesh.lods[0] = (hob_baked_lod){0, cells * 6, side * side, 0, 0, 0, 0, {0, 0, 0}};
	memcpy(g->mesh.aabb_max, (float[]){(float)side, (float)side, (float)side * (float)side / 128}, 12);
}

static bool same_triangle(const uint32_t *a, const uint32_t *b)
{
	for (int turn = 0; turn < 3; turn++)
		if (a[0] == b[turn] && a[1] == b[(turn + 1) % 3] && a[2] == b[(turn + 2) % 3])
			return true;
	return false;
}

static void encoded_sections_decode_to_what_was_written(void **state)
{
	(void)state;
	const uint32_t sides[] = {20, GRID};
	for (size_t n = 0; n < 2; n++) {
		grid g;
		grid_init(&g, sides[n]);
		hob_pack_options options = {.encode = HOB_PACK_MESHOPT};
		hob_buf out = {0};
		hob_error err = {0};
		assert_ok(hob_pack_meshes(&g.mesh, 1, &options, &out, &err), &err);
		assert_ok(hob_pack_validate(hob_buf_bytes(&out), &err), &err);
		hob_pack pack = open_pack(&out);
		assert_false(pack.header->flags & HOB_PK_FILE_RAW);
		hob_arena arena;
		hob_arena_init(&arena, 1 << 26);
		hob_pack_array indices = {0}, vertices = {0};
		for (uint32_t i = 0; i < pack.section_count; i++) {
			const hob_pk_section *s = hob_pack_section(&pack, i);
			if (s->type != HOB_PK_IDX_ && s->type != HOB_PK_VTX_)
				continue;
			assert_int_not_equal(s->codec, HOB_PK_CODEC_RAW);
			assert_null(hob_pack_array_at(&pack, i).data);
			assert_ok(hob_pack_decode(&pack, i, &arena, s->type == HOB_PK_IDX_ ? &indices : &vertices, &err),
					  &err);
		}
		assert_memory_equal(vertices.data, g.positions, (size_t)g.mesh.mesh.vertex_count * 12);
		assert_int_equal(indices.stride, n == 0 ? 2 : 4);
		for (uint32_t i = 0; i < indices.count; i += 3) {
			uint32_t corner[3];
			for (uint32_t c = 0; c < 3; c++)
				corner[c] =
					n == 0 ? *HOB_PACK_AT(uint16_t, indices, i + c) : *HOB_PACK_AT(uint32_t, indices, i + c);
			assert_true(same_triangle(corner, g.indices + i));
		}
		assert_true(out.size * 2 <
					(size_t)g.mesh.index_count * indices.stride + (size_t)g.mesh.mesh.vertex_count * 12);
		hob_arena_release(&arena);
		hob_buf_release(&out);
		free(g.positions);
		free(g.indices);
	}
}

/* ---- failures ---- */

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	fixture f;
	fixture_init(&f);
	for (int kind = 0; kind < 4; kind++)
		for (int encode = 0; encode < 2; encode++) {
			uint64_t n = 1;
			for (;; n++) {
				hob_arena arena;
				hob_arena_init(&arena, 1 << 24);
				arena.fail_at = n;
				hob_pack_options options = {.scratch = &arena,
											.encode = encode ? HOB_PACK_MESHOPT : HOB_PACK_RAW};
				hob_buf out = {0};
				hob_error err = {0};
				bool ok = fixture_pack_one(&f, kind, &options, &out, &err);
				assert_int_equal(err.code, ok ? HOB_ERR_OK : HOB_ERR_MEMORY);
				assert_true(ok || out.size == 0);
				hob_buf_release(&out);
				hob_arena_release(&arena);
				if (ok)
					break;
			}
			assert_true(n > 5);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_files_are_valid),
		cmocka_unit_test(meshes_read_back),
		cmocka_unit_test(morph_deltas_are_sparse),
		cmocka_unit_test(materials_read_back),
		cmocka_unit_test(name_rules_reach_the_reference_fields),
		cmocka_unit_test(scene_links_are_found_by_node),
		cmocka_unit_test(samplers_share_equal_times),
		cmocka_unit_test(same_input_gives_same_bytes),
		cmocka_unit_test(metadata_comes_before_gpu_data_and_coarse_before_fine),
		cmocka_unit_test(records_are_read_by_their_stride),
		cmocka_unit_test(newer_major_version_is_refused),
		cmocka_unit_test(broken_names_become_valid_utf8),
		cmocka_unit_test(encoded_sections_decode_to_what_was_written),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
