#include "../shapes.h"
#include "core/mesh/bake.h"
#include "core/mesh/quantize.h"

#include "../arenas.h" /* last, because its names are short */

/* Vertex fetch of a format by the Vulkan specification, independent of the encoder. */
static void fetch(uint16_t format, const uint8_t *at, double out[4])
{
	static const struct {
		uint16_t format;
		int components, bits;
		char kind; /* u unorm, s snorm, i integer, f float */
	} table[] = {
		{37, 4, 8, 'u'},  {41, 4, 8, 'i'},	{77, 2, 16, 'u'},  {78, 2, 16, 's'},  {91, 4, 16, 'u'},
		{92, 4, 16, 's'}, {95, 4, 16, 'i'}, {103, 2, 32, 'f'}, {106, 3, 32, 'f'}, {109, 4, 32, 'f'},
	};
	size_t row = 0;
	while (row < HOB_COUNT_OF(table) && table[row].format != format)
		row++;
	assert_true(row < HOB_COUNT_OF(table));
	for (int i = 0; i < 4; i++) {
		out[i] = i == 3;
		if (i >= table[row].components)
			continue;
		if (table[row].bits == 8)
			out[i] = table[row].kind == 'u' ? at[i] / 255.0 : at[i];
		else if (table[row].bits == 16 && table[row].kind == 's')
			out[i] = fmax((int16_t)hob_load_u16(at + 2 * i) / 32767.0, -1);
		else if (table[row].bits == 16)
			out[i] = hob_load_u16(at + 2 * i) / (table[row].kind == 'u' ? 65535.0 : 1);
		else
			out[i] = (double)hob_load_f32(at + 4 * i);
	}
}

static const hob_baked_attribute *find(const hob_baked_mesh *b, hob_semantic semantic, uint32_t set)
{
	for (uint32_t i = 0; i < b->attribute_count; i++)
		if (b->attributes[i].semantic == semantic && b->attributes[i].set == set)
			return &b->attributes[i];
	return NULL;
}

static bool read_attribute(const hob_baked_mesh *b, hob_semantic semantic, uint32_t set, uint32_t vertex,
						   double out[4])
{
	const hob_baked_attribute *a = find(b, semantic, set);
	if (!a)
		return false;
	const hob_baked_stream *s = &b->streams[a->stream];
	fetch(a->format, s->data + (size_t)vertex * s->stride + a->offset, out);
	if (a->encoding == HOB_ENCODING_SCALED)
		for (int k = 0; k < 3; k++)
			out[k] = semantic == HOB_SEMANTIC_POSITION
						 ? out[k] * (double)b->pos_scale + (double)b->pos_offset[k]
					 : k < 2 ? out[k] * (double)b->uv_scale[k] + (double)b->uv_offset[k]
							 : 0;
	if (a->encoding == HOB_ENCODING_OCTAHEDRAL) {
		double z = 1 - fabs(out[0]) - fabs(out[1]), x = out[0], y = out[1];
		if (z < 0) {
			out[0] = (1 - fabs(y)) * (x < 0 ? -1 : 1);
			out[1] = (1 - fabs(x)) * (y < 0 ? -1 : 1);
		}
		double length = sqrt(out[0] * out[0] + out[1] * out[1] + z * z);
		out[0] /= length, out[1] /= length, out[2] = z / length;
	}
	return true;
}

static hob_mesh rich_mesh(uint32_t influences, uint16_t joint_offset)
{
	hob_mesh m = shape_ball(&arena, 24, 16);
	uint64_t seed = 3;
	uint32_t n = m.vertex_count;
	m.tangent = shape_alloc(&arena, n, 16);
	m.uv[1] = shape_alloc(&arena, n, 8);
	m.uv[2] = shape_alloc(&arena, n, 8);
	for (int s = 0; s < 3; s++)
		m.color[s] = shape_alloc(&arena, n, 16);
	m.influence_count = influences;
	m.joints = shape_alloc(&arena, n, 2 * influences);
	m.weights = shape_alloc(&arena, n, 4 * influences);
	for (uint32_t v = 0; v < n; v++) {
		for (uint32_t k = 0; k < 3; k++)
			m.position[3 * v + k] = m.position[3 * v + k] * (float)(k + 1) * 7 - 3;
		hob_octahedral_decode((int16_t[2]){(int16_t)(v * 97 % 32767), (int16_t)(v * 31 % 32767)},
							  m.tangent + 4 * v);
		m.tangent[4 * v + 3] = v % 3 ? 1.0f : -1.0f;
		m.uv[1][2 * v] = 40 * shape_random_float(&seed);
		m.uv[2][2 * v] = (float)(v % 97) / 96;
		for (uint32_t k = 0; k < 4; k++) {
			m.color[0][4 * v + k] = (float)(shape_random(&seed) % 256) / 255.0f;
			m.color[1][4 * v + k] = (float)(shape_random(&seed) % 65536) / 65535.0f;
			m.color[2][4 * v + k] = 0.5f + 0.5f * shape_random_float(&seed);
		}
		for (uint32_t i = 0; i < influences; i++) {
			m.joints[v * influences + i] = (uint16_t)(joint_offset + shape_random(&seed) % 200);
			m.weights[v * influences + i] = fabsf(shape_random_float(&seed));
		}
	}
	return m;
}

static hob_baked_mesh bake(const hob_mesh *m, hob_vertices kind, uint32_t influences)
{
	hob_mesh_options options = {.vertices = kind, .influences = influences};
	hob_baked_mesh b;
	b = hob_mesh_bake(m, &options, &arena, &scratch, NULL);
	return b;
}

static double angle(const double a[4], const float *b)
{
	double sum = 0;
	for (int k = 0; k < 3; k++)
		sum += (a[k] - (double)b[k]) * (a[k] - (double)b[k]);
	return 2 * asin(fmin(1, sqrt(sum) / 2)) * 57.29577951;
}

static void check_skinning(const hob_baked_mesh *b, uint32_t v, double whole, double tolerance)
{
	const hob_mesh *m = &b->mesh;
	double sum = 0;
	for (uint32_t i = 0; i < m->influence_count; i++) {
		double joints[4], weights[4];
		assert_true(read_attribute(b, HOB_SEMANTIC_JOINTS, i / 4, v, joints));
		assert_true(read_attribute(b, HOB_SEMANTIC_WEIGHTS, i / 4, v, weights));
		assert_true(joints[i % 4] == m->joints[v * m->influence_count + i]);
		assert_true(fabs(weights[i % 4] - (double)m->weights[v * m->influence_count + i]) <= tolerance);
		sum += round(weights[i % 4] * whole);
	}
	assert_true(sum == whole);
}

static void float_streams_hold_the_mesh_exactly(void **state)
{
	(void)state;
	hob_mesh m = rich_mesh(4, 0);
	hob_baked_mesh b = bake(&m, HOB_VERTICES_EXACT, 4);
	double x[4];
	assert_int_equal(b.stream_count, 3);
	assert_int_equal(b.streams[0].stride, 12);
	assert_true(b.pos_scale == 1 && b.uv_scale[0] == 1);
	const uint16_t colors[3] = {37, 91, 109};
	for (uint32_t s = 0; s < 3; s++)
		assert_int_equal(find(&b, HOB_SEMANTIC_COLOR, s)->format, colors[s]);
	for (uint32_t v = 0; v < b.mesh.vertex_count; v++) {
		assert_true(read_attribute(&b, HOB_SEMANTIC_POSITION, 0, v, x));
		for (uint32_t k = 0; k < 3; k++)
			assert_true(x[k] == (double)b.mesh.position[3 * v + k]);
		assert_true(read_attribute(&b, HOB_SEMANTIC_NORMAL, 0, v, x));
		for (uint32_t k = 0; k < 3; k++)
			assert_true(x[k] == (double)b.mesh.normal[3 * v + k]);
		assert_true(read_attribute(&b, HOB_SEMANTIC_TANGENT, 0, v, x));
		for (uint32_t k = 0; k < 4; k++)
			assert_true(x[k] == (double)b.mesh.tangent[4 * v + k]);
		for (uint32_t s = 0; s < 2; s++) {
			assert_true(read_attribute(&b, HOB_SEMANTIC_UV, s, v, x));
			assert_true(x[0] == (double)b.mesh.uv[s][2 * v] && x[1] == (double)b.mesh.uv[s][2 * v + 1]);
		}
		for (uint32_t s = 0; s < 3; s++) {
			assert_true(read_attribute(&b, HOB_SEMANTIC_COLOR, s, v, x));
			for (uint32_t k = 0; k < 4; k++)
				assert_true((float)x[k] == b.mesh.color[s][4 * v + k]);
		}
		check_skinning(&b, v, 65535, 1e-7);
	}
}

static void check_coarse(const hob_baked_mesh *b, hob_semantic semantic, uint32_t v)
{
	const hob_baked_attribute *a = find(b, semantic, 0);
	const hob_baked_stream *s = &b->streams[a->stream];
	for (size_t k = 0; k < 2; k++) {
		int16_t code;
		memcpy(&code, s->data + (size_t)v * s->stride + a->offset + 2 * k, 2);
		assert_true(code % 256 == 0 || code == 32767 || code == -32767);
	}
}

static double range_of(const float *values, uint32_t count, uint32_t width, uint32_t component)
{
	double low = (double)values[component], high = low;
	for (uint32_t v = 0; v < count; v++) {
		double x = (double)values[v * width + component];
		low = fmin(low, x), high = fmax(high, x);
	}
	return high - low;
}

/* Errors of the header, as fractions of the box's longest side, of the range of texture coordinates, in
 * degrees, and of weights. */
static void check_errors(hob_vertices kind, double position, double uv, double degrees, double weight)
{
	for (uint32_t influences = 4; influences <= 8; influences += 4) {
		hob_mesh m = rich_mesh(influences, influences == 8 ? 300 : 0);
		hob_baked_mesh b = bake(&m, kind, influences);
		double x[4], longest = 0, whole = kind == HOB_VERTICES_SMALL ? 255 : 65535;
		for (uint32_t k = 0; k < 3; k++)
			longest = fmax(longest, range_of(b.mesh.position, b.mesh.vertex_count, 3, k));
		assert_true(b.flags & HOB_MESH_QUANTIZED);
		assert_int_equal(b.mesh.influence_count, influences);
		for (uint32_t v = 0; v < b.mesh.vertex_count; v++) {
			read_attribute(&b, HOB_SEMANTIC_POSITION, 0, v, x);
			for (uint32_t k = 0; k < 3; k++)
				assert_true(fabs(x[k] - (double)b.mesh.position[3 * v + k]) <= longest * position);
			read_attribute(&b, HOB_SEMANTIC_NORMAL, 0, v, x);
			assert_true(angle(x, b.mesh.normal + 3 * v) < degrees);
			if (kind == HOB_VERTICES_SMALL)
				check_coarse(&b, HOB_SEMANTIC_NORMAL, v);
			read_attribute(&b, HOB_SEMANTIC_TANGENT, 0, v, x);
			assert_true(angle(x, b.mesh.tangent + 4 * v) < 0.64);
			assert_true(x[3] == (double)b.mesh.tangent[4 * v + 3]);
			check_coarse(&b, HOB_SEMANTIC_TANGENT, v);
			read_attribute(&b, HOB_SEMANTIC_UV, 0, v, x);
			for (uint32_t k = 0; k < 2; k++)
				assert_true(fabs(x[k] - (double)b.mesh.uv[0][2 * v + k]) <=
							range_of(b.mesh.uv[0], b.mesh.vertex_count, 2, k) * uv);
			read_attribute(&b, HOB_SEMANTIC_UV, 1, v, x);
			assert_true(x[0] == (double)b.mesh.uv[1][2 * v]);
			read_attribute(&b, HOB_SEMANTIC_UV, 2, v, x);
			assert_int_equal(find(&b, HOB_SEMANTIC_UV, 2)->format, 77);
			assert_true(fabs(x[0] - (double)b.mesh.uv[2][2 * v]) <= 1.0 / 131070 + 1e-9 && x[1] == 0);
			for (uint32_t s = 0; s < 3; s++) {
				read_attribute(&b, HOB_SEMANTIC_COLOR, s, v, x);
				for (uint32_t k = 0; k < 4; k++)
					assert_true(fabs(x[k] - (double)b.mesh.color[s][4 * v + k]) <= 1.0 / 510 + 1e-6);
			}
			check_skinning(&b, v, whole, weight);
		}
	}
}

static void quantized_streams_stay_within_the_stated_errors(void **state)
{
	(void)state;
	check_errors(HOB_VERTICES_SMALL, 1.0001 / 30240, 1.0001 / 8160, 0.64, 1.0 / 255);
	check_errors(HOB_VERTICES_FINE, 1.0001 / 131040, 1.0001 / 131040, 0.004, 1e-7);
}

static void weights_of_whole_bytes_take_bytes(void **state)
{
	(void)state;
	hob_mesh m = rich_mesh(4, 0);
	for (uint32_t v = 0; v < m.vertex_count; v++) {
		const float weights[4] = {(float)(255 - v % 100) / 255, (float)(v % 100) / 255};
		memcpy(m.weights + 4 * v, weights, sizeof weights);
	}
	for (int q = 0; q < 2; q++) {
		hob_baked_mesh b = bake(&m, q ? HOB_VERTICES_FINE : HOB_VERTICES_EXACT, 4);
		assert_int_equal(find(&b, HOB_SEMANTIC_WEIGHTS, 0)->format, q ? 37 : 91);
		for (uint32_t v = 0; v < b.mesh.vertex_count; v++)
			check_skinning(&b, v, q ? 255 : 65535, 1e-7);
	}
}

/* Model corners often lie at halves, thirds or tenths of the box. 7, 9, 13 and 14 do not divide the steps of
 * texture coordinates, 13 not those of positions, of the smaller kind. */
static void simple_fractions_of_a_box_keep_their_place(void **state)
{
	(void)state;
	static const uint32_t parts[] = {2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 7, 9, 14, 13};
	for (size_t run = 0; run < 2 * HOB_COUNT_OF(parts); run++) {
		size_t i = run / 2;
		hob_vertices kind = run % 2 ? HOB_VERTICES_SMALL : HOB_VERTICES_FINE;
		hob_mesh m = shape_grid(&arena, parts[i], 0, true, true);
		for (uint32_t v = 0; v < m.vertex_count; v++) {
			m.uv[0][2 * v] = (float)(v % (parts[i] + 1)) / (float)parts[i] * 2;
			for (uint32_t k = 0; k < 3; k++)
				m.position[3 * v + k] = m.position[3 * v + k] * 3 - 7;
		}
		hob_baked_mesh b = bake(&m, kind, 4);
		double x[4], extent = range_of(b.mesh.position, b.mesh.vertex_count, 3, 0);
		for (uint32_t v = 0; v < b.mesh.vertex_count; v++) {
			read_attribute(&b, HOB_SEMANTIC_POSITION, 0, v, x);
			for (uint32_t k = 0; k < 3 && (kind == HOB_VERTICES_FINE || i < 15); k++)
				assert_true(fabs(x[k] - (double)b.mesh.position[3 * v + k]) <= extent * 3e-7);
			read_attribute(&b, HOB_SEMANTIC_UV, 0, v, x);
			if (kind == HOB_VERTICES_FINE || i < 12)
				assert_true(fabs(x[0] - (double)b.mesh.uv[0][2 * v]) <= 3e-7 * 2);
		}
	}
}

static void wide_uvs_and_bright_colours_stay_float(void **state)
{
	(void)state;
	hob_mesh m = rich_mesh(4, 0);
	m.uv[0][0] = 17;
	m.color[0][5] = 1.5f;
	hob_baked_mesh b = bake(&m, HOB_VERTICES_SMALL, 4);
	assert_int_equal(find(&b, HOB_SEMANTIC_UV, 0)->format, 103);
	assert_int_equal(find(&b, HOB_SEMANTIC_COLOR, 0)->format, 109);
	assert_true(b.uv_scale[0] == 1 && b.uv_offset[0] == 0);
}

static void attributes_lie_side_by_side_without_overlap(void **state)
{
	(void)state;
	for (int q = 0; q < 2; q++) {
		hob_mesh m = rich_mesh(8, 0);
		hob_baked_mesh b = bake(&m, q ? HOB_VERTICES_SMALL : HOB_VERTICES_EXACT, 8);
		uint32_t at[HOB_MAX_STREAMS] = {0};
		for (uint32_t i = 0; i < b.attribute_count; i++) {
			const hob_baked_attribute *a = &b.attributes[i];
			assert_int_equal(a->offset, at[a->stream]);
			assert_int_equal(a->offset % 4, 0);
			uint32_t size = a->format == 109														   ? 16
							: a->format == 106														   ? 12
							: a->format == 41 || a->format == 37 || a->format == 77 || a->format == 78 ? 4
																									   : 8;
			at[a->stream] += size;
		}
		for (uint32_t s = 0; s < b.stream_count; s++)
			assert_int_equal(at[s], b.streams[s].stride);
	}
}

static void bare_positions_need_one_stream(void **state)
{
	(void)state;
	hob_mesh m = shape_grid(&arena, 3, 0, false, false);
	m.topology = HOB_POINTS;
	hob_baked_mesh b = bake(&m, HOB_VERTICES_SMALL, 4);
	assert_int_equal(b.stream_count, 1);
	assert_int_equal(b.attribute_count, 1);
	m = shape_mesh(&arena, 1, 1);
	m.topology = HOB_POINTS;
	m.position[0] = 5;
	b = bake(&m, HOB_VERTICES_SMALL, 4);
	assert_true(b.pos_scale == 1 && b.pos_offset[0] == 5);
	m.influence_count = 4;
	m.joints = shape_alloc(&arena, 1, 8);
	m.weights = shape_alloc(&arena, 1, 16);
	b = bake(&m, HOB_VERTICES_EXACT, 4);
	assert_int_equal(b.stream_count, 2);
	assert_int_equal(find(&b, HOB_SEMANTIC_JOINTS, 0)->stream, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(float_streams_hold_the_mesh_exactly),
		TEST(quantized_streams_stay_within_the_stated_errors),
		TEST(wide_uvs_and_bright_colours_stay_float),
		TEST(attributes_lie_side_by_side_without_overlap),
		TEST(bare_positions_need_one_stream),
		TEST(weights_of_whole_bytes_take_bytes),
		TEST(simple_fractions_of_a_box_keep_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
