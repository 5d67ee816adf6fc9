/* IQM and MD2: joints, clips and frames of generated small files. */
#include "tests/unit/import/reader_fixture.h"

typedef struct writer {
	uint8_t data[4096];
	size_t size;
} writer;

static void put(writer *w, uint32_t value)
{
	hob_store_u32(w->data + w->size, value);
	w->size += 4;
}

static void put_float(writer *w, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	put(w, bits);
}

static void put_floats(writer *w, const float *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_float(w, values[i]);
}

static void put_u16(writer *w, uint32_t value)
{
	w->data[w->size++] = (uint8_t)value;
	w->data[w->size++] = (uint8_t)(value >> 8);
}

static void header(writer *w, size_t at, uint32_t count)
{
	hob_store_u32(w->data + at, count);
	hob_store_u32(w->data + at + 4, (uint32_t)w->size);
}

/* A triangle of two joints; the second, 2 above the first, rotates about Z and moves in a clip of three
 * frames. */
static void write_iqm(writer *w)
{
	static const char text[] = "\0body\0skin.png\0root\0arm\0wave";
	static const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
	static const float joints[2][10] = {{0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 2, 0, 0, 0.6f, 0.8f, 2, 2, 2}};
	memset(w, 0, sizeof *w);
	w->size = 124;
	memcpy(w->data, "INTERQUAKEMODEL", 16);
	hob_store_u32(w->data + 16, 2);
	header(w, 28, sizeof text);
	memcpy(w->data + w->size, text, sizeof text);
	w->size += (sizeof text + 3) / 4 * 4;
	header(w, 36, 1);
	const uint32_t mesh[] = {1, 6, 0, 3, 0, 1};
	for (size_t i = 0; i < 6; i++)
		put(w, mesh[i]);
	size_t arrays = w->size;
	hob_store_u32(w->data + 44, 3);
	hob_store_u32(w->data + 48, 3);
	hob_store_u32(w->data + 52, (uint32_t)arrays);
	const uint32_t kinds[3][5] = {{0, 0, 7, 3, (uint32_t)arrays + 60},
								  {4, 0, 1, 4, (uint32_t)arrays + 96},
								  {5, 0, 1, 4, (uint32_t)arrays + 108}};
	for (size_t i = 0; i < 15; i++)
		put(w, kinds[i / 5][i % 5]);
	put_floats(w, positions, 9);
	for (uint32_t v = 0; v < 3; v++)
		put(w, v == 2 ? 1 : 0); /* joint 1 for the last one */
	for (uint32_t v = 0; v < 3; v++)
		put(w, 255);
	header(w, 56, 1);
	put(w, 0), put(w, 1), put(w, 2);
	header(w, 68, 2);
	for (uint32_t j = 0; j < 2; j++) {
		put(w, j == 0 ? 15 : 20);
		put(w, j == 0 ? HOB_NONE : 0);
		put_floats(w, joints[j], 10);
	}
	header(w, 76, 2);
	for (uint32_t j = 0; j < 2; j++) {
		static const float scales[10] = {0.5f};
		put(w, j == 0 ? HOB_NONE : 0);
		put(w, j == 1 ? 1 : 0); /* X of the second moves */
		put_floats(w, joints[j], 10);
		put_floats(w, scales, 10);
	}
	header(w, 84, 1);
	put(w, 24), put(w, 0), put(w, 3), put_float(w, 10), put(w, 0);
	hob_store_u32(w->data + 92, 3);
	hob_store_u32(w->data + 96, 1);
	hob_store_u32(w->data + 100, (uint32_t)w->size);
	put_u16(w, 0), put_u16(w, 4), put_u16(w, 8);
}

static reader *read_iqm(const writer *w)
{
	reader *r = reader_new(&hob_iqm_importer);
	reader_add_bytes(r, "a.iqm", w->data, w->size);
	return r;
}

static void joints_and_clips_of_iqm(void **state)
{
	(void)state;
	static writer w;
	write_iqm(&w);
	reader *r = read_iqm(&w);
	const hob_model *m = reader_model(r);
	assert_int_equal(m->mesh_count, 1);
	assert_name(m->meshes[0].name, "body");
	assert_name(m->images[0].uri, "skin.png");
	/* Clockwise in the file. */
	assert_int_equal(m->meshes[0].indices[0], 2);
	assert_int_equal(m->skin_count, 1);
	assert_int_equal(m->skins[0].joint_count, 2);
	assert_int_equal(m->meshes[0].joints[8], 1);
	assert_near(m->meshes[0].weights[8], 1);
	const hob_node *arm = &m->nodes[m->skins[0].joints[1]];
	assert_name(arm->name, "arm");
	assert_int_equal(arm->parent, m->skins[0].joints[0]);
	assert_vector(arm->translation, 0, 0, 2);
	/* World times inverse bind is the identity, below the node that rotates Z up. */
	float world[16], inverse[16], product[16];
	hob_node_local_matrix(&m->nodes[m->skins[0].joints[0]], world);
	hob_node_local_matrix(arm, inverse);
	hob_matrix_multiply(world, inverse, world);
	hob_matrix_multiply(world, m->skins[0].inverse_bind + 16, product);
	for (int i = 0; i < 16; i++)
		assert_true(fabsf(product[i] - (i % 5 == 0)) < 1e-5f);
	assert_int_equal(m->clip_count, 1);
	assert_name(m->clips[0].name, "wave");
	const hob_track *track = &m->clips[0].tracks[3];
	assert_int_equal(track->key_count, 3);
	assert_near(track->times[2], 0.2f);
	assert_vector(track->values + 6, 4, 0, 2);
	/* A constant track keeps only its ends. */
	assert_int_equal(m->clips[0].tracks[0].key_count, 2);
	assert_near(m->clips[0].tracks[0].times[1], 0.2f);
	assert_vector(m->clips[0].tracks[0].values + 3, 0, 0, 1);
	reader_starve(r);
	reader_damage(r, 3);
	reader_free(r);
}

/* Found by fuzzing: frames without animated channels take no room in the file. */
static void frames_without_numbers_cost_nothing(void **state)
{
	(void)state;
	enum { FRAMES = 400000000 };
	static writer w;
	write_iqm(&w);
	hob_store_u32(w.data + hob_load_u32(w.data + 80) + 88 + 4, 0);
	hob_store_u32(w.data + hob_load_u32(w.data + 88) + 8, FRAMES);
	hob_store_u32(w.data + 92, FRAMES);
	hob_store_u32(w.data + 96, 0);
	reader *r = read_iqm(&w);
	const hob_model *m = reader_model(r);
	assert_int_equal(m->clips[0].tracks[3].key_count, 2);
	assert_near(m->clips[0].tracks[3].times[1], (float)(FRAMES / 10));
	reader_free(r);
}

static void clips_without_joints_are_skipped_and_ruins_refused(void **state)
{
	(void)state;
	static writer w;
	write_iqm(&w);
	hob_store_u32(w.data + 36, 0);
	hob_store_u32(w.data + 68, 0);
	reader *r = read_iqm(&w);
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_SKIPPED);
	reader_free(r);
	static const struct {
		size_t at;
		uint32_t value;
		const char *words;
	} ruins[] = {
		{16, 1, "version 1"},			{48, 4000000000u, "vertex array 0"},
		{56, 0x20000000, "triangles"},	{68, 0x10000000, "joints"},
		{92, 0xFFFFFFFF, "frames"},		{96, 0, "frames hold 0"},
		{28, 0xFFFFFFFF, "of text at"}, {0, 0, "does not begin"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(ruins); i++) {
		write_iqm(&w);
		hob_store_u32(w.data + ruins[i].at, ruins[i].value);
		r = read_iqm(&w);
		if (reader_run(r) || !strstr(r->error.context, ruins[i].words))
			fail_msg("ruin %zu: %s", i, r->error.context);
		reader_free(r);
	}
}

/* Two triangles over four points; frames a1 a2 b1, the last point moves. */
static void write_md2(writer *w)
{
	memset(w, 0, sizeof *w);
	const uint32_t points = 4, frame = 40 + points * 4;
	const uint32_t head[17] = {0x32504449, 8, 64, 32, frame, 1, points, 3, 2, 0, 3, 68, 132, 144, 168, 0, 0};
	for (size_t i = 0; i < 17; i++)
		put(w, head[i]);
	memcpy(w->data + 68, "skins/a.pcx", 11);
	w->size = 132;
	static const uint8_t uvs[] = {0, 0, 0, 0, 32, 0, 0, 0, 64, 0, 32, 0};
	memcpy(w->data + w->size, uvs, sizeof uvs);
	w->size += sizeof uvs;
	static const uint8_t triangles[2][6] = {{0, 1, 2, 0, 1, 2}, {1, 3, 2, 1, 2, 2}};
	for (size_t t = 0; t < 2; t++)
		for (size_t k = 0; k < 6; k++)
			put_u16(w, triangles[t][k]);
	static const char *const names[] = {"a1", "a2", "b101"};
	static const float place[6] = {0.5f, 1, 1, 0, 0, 10};
	for (uint32_t f = 0; f < 3; f++) {
		put_floats(w, place, 6);
		memcpy(w->data + w->size, names[f], strlen(names[f]));
		w->size += 16;
		for (uint32_t p = 0; p < 4; p++) {
			w->data[w->size] = (uint8_t)(p * 2);
			w->data[w->size + 1] = (uint8_t)(p == 2);
			w->data[w->size + 2] = (uint8_t)(p == 3 ? f * 5 : 0);
			w->size += 4;
		}
	}
}

static void frames_of_md2_are_targets_and_clips(void **state)
{
	(void)state;
	static writer w;
	write_md2(&w);
	reader *r = reader_new(&hob_md2_importer);
	reader_add_bytes(r, "a.md2", w.data, w.size);
	const hob_model *m = reader_model(r);
	const hob_mesh *mesh = &m->meshes[0];
	assert_int_equal(mesh->index_count, 6);
	assert_int_equal(mesh->vertex_count, 4);
	assert_int_equal(mesh->target_count, 2);
	assert_name(mesh->targets[1].name, "b101");
	bool moved = false;
	for (uint32_t v = 0; v < 4; v++)
		if (mesh->position[v * 3] > 2.9f) {
			assert_vector(mesh->position + v * 3, 3, 0, 10);
			assert_vector(mesh->targets[0].position + v * 3, 0, 0, 5);
			assert_vector(mesh->targets[1].position + v * 3, 0, 0, 10);
			moved = true;
		}
	assert_true(moved);
	assert_int_equal(m->clip_count, 2);
	assert_name(m->clips[0].name, "a");
	assert_name(m->clips[1].name, "b1");
	const hob_track *track = &m->clips[0].tracks[0];
	assert_int_equal(track->key_count, 2);
	assert_near(track->times[1], 0.1f);
	assert_near(track->values[0], 0);
	assert_near(track->values[2], 1);
	assert_near(m->clips[1].tracks[0].values[1], 1);
	assert_name(m->images[0].uri, "skins/a.pcx");
	reader_starve(r);
	reader_damage(r, 1);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joints_and_clips_of_iqm),
		cmocka_unit_test(frames_without_numbers_cost_nothing),
		cmocka_unit_test(clips_without_joints_are_skipped_and_ruins_refused),
		cmocka_unit_test(frames_of_md2_are_targets_and_clips),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
