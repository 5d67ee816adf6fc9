#include "../shapes.h"
#include "core/mesh/bake.h"
#include "core/mesh/quantize.h"
#include "core/mesh/vec3.h"

#include "../arenas.h" /* last, because its names are short */

/* Vertex fetch of a format by the Vulkan specification, independent of the encoder. */
static void fetch(uint16_t format, const uint8_t *at, double out[4])
{
	static const struct {
		uint16_t format;
		int components, bits;
		char kind; /* u unorm, s snorm, i integer, f float */
	} table[] = {
		{37, 4, 8, 'u'},  {38, 4, 8, 's'},	{41, 4, 8, 'i'},   {77, 2, 16, 'u'},  {78, 2, 16, 's'},
		{91, 4, 16, 'u'}, {95, 4, 16, 'i'}, {103, 2, 32, 'f'}, {106, 3, 32, 'f'}, {109, 4, 32, 'f'},
	};
	size_t row = 0;
	while (row < HOB_COUNT_OF(table) && table[row].format != format)
		row++;
	assert_true(row < HOB_COUNT_OF(table));
	for (int i = 0; i < 4; i++) {
		out[i] = i == 3;
		if (i >= table[row].components)
			continue;
		if (table[row].bits == 8 && table[row].kind == 's')
			out[i] = fmax((int8_t)at[i] / 127.0, -1);
		else if (table[row].bits == 8)
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
			read_attribute(&b, HOB_SEMANTIC_TANGENT, 0, v, x);
			assert_true(angle(x, b.mesh.tangent + 4 * v) < 0.64);
			assert_true(x[3] == (double)b.mesh.tangent[4 * v + 3]);
			read_attribute(&b, HOB_SEMANTIC_UV, 0, v, x);
			for (uint32_t k = 0; k < 2; k++)
				assert_true(fabs(x[k] - (double)b.mesh.uv[0][2 * v + k]) <=
							range_of(b.mesh.uv[0], b.mesh.vertex_count, 2, k) * uv);
			read_attribute(&b, HOB_SEMANTIC_UV, 1, v, x);
			assert_true(x[0] == (double)b.mesh.uv[1][2 * v]);
			read_attribute(&b, HOB_SEMANTIC_UV, 2, v, x);
			assert_int_equal(find(&b, HOB_SEMANTIC_UV, 2)->format, 77);
			assert_true(fabs(x[0] - (double)b.mesh.uv[2][2 * v]) <= fmax(1.0 / 131070 + 1e-9, 2 * uv));
			assert_true(x[1] == 0);
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

/* Largest error of a position along an axis, and of a coordinate of set 0. */
static void find_errors(const hob_mesh *m, hob_vertices kind, hob_ranges ranges, double *position, double *uv)
{
	hob_mesh_options options = {.vertices = kind, .ranges = ranges};
	hob_baked_mesh b = hob_mesh_bake(m, &options, &arena, &scratch, NULL);
	*position = *uv = 0;
	for (uint32_t v = 0; v < b.mesh.vertex_count; v++) {
		double x[4];
		read_attribute(&b, HOB_SEMANTIC_POSITION, 0, v, x);
		for (uint32_t k = 0; k < 3; k++)
			*position = fmax(*position, fabs(x[k] - (double)b.mesh.position[3 * v + k]));
		read_attribute(&b, HOB_SEMANTIC_UV, 0, v, x);
		for (uint32_t k = 0; k < 2; k++)
			*uv = fmax(*uv, fabs(x[k] - (double)b.mesh.uv[0][2 * v + k]));
	}
}

static void a_small_mesh_beside_a_large_one_has_coarser_steps(void **state)
{
	(void)state;
	uint64_t seed = 7;
	hob_mesh m = shape_grid(&arena, 40, 0, true, true);
	for (uint32_t i = 0; i < 3 * m.vertex_count; i++)
		m.position[i] = shape_random_float(&seed);
	for (uint32_t i = 0; i < 2 * m.vertex_count; i++)
		m.uv[0][i] = fabsf(shape_random_float(&seed)) / 16;
	double side = 0, span = 0, position, uv;
	for (uint32_t k = 0; k < 3; k++)
		side = fmax(side, range_of(m.position, m.vertex_count, 3, k));
	for (uint32_t k = 0; k < 2; k++)
		span = fmax(span, range_of(m.uv[0], m.vertex_count, 2, k));
	for (double times = 1; times < 20; times *= 1.3) {
		hob_ranges ranges = {(float)(times * side), {(float)(times * span), (float)(times * span)}};
		double whole = fmin(times, 8);
		find_errors(&m, HOB_VERTICES_SMALL, ranges, &position, &uv);
		assert_true(position <= 1.0001 * whole * side / 30240 && position > 0.6 * whole * side / 30240);
		assert_true(uv <= 1.0001 * whole * span / 8160 && uv > 0.6 * whole * span / 8160);
		find_errors(&m, HOB_VERTICES_FINE, ranges, &position, &uv);
		assert_true(position <= 1.0001 * side / 131040 && uv <= 1.0001 * span / 131040);
	}
}

static void vertices_that_are_stored_alike_become_one(void **state)
{
	(void)state;
	uint64_t seed = 5;
	hob_mesh grid = shape_grid(&arena, 10, 0, true, true),
			 m = shape_mesh(&arena, grid.index_count, grid.index_count);
	m.normal = shape_alloc(&arena, m.vertex_count, 12);
	for (uint32_t i = 0; i < m.index_count; i++) {
		m.indices[i] = i;
		memcpy(m.position + 3 * (size_t)i, grid.position + 3 * (size_t)grid.indices[i], 12);
		double x = 1e-4 * (double)shape_random_float(&seed), y = 1e-4 * (double)shape_random_float(&seed);
		hob_vec3_store(m.normal + 3 * (size_t)i, hob_vec3_unit((hob_vec3){x, y, 1}));
	}
	assert_int_equal(bake(&m, HOB_VERTICES_EXACT, 4).mesh.vertex_count, m.vertex_count);
	assert_int_equal(bake(&m, HOB_VERTICES_SMALL, 4).mesh.vertex_count, grid.vertex_count);
	uint32_t inner = 0;
	while (grid.indices[inner] != 12)
		inner++;
	memcpy(m.normal + 3 * (size_t)inner, (float[3]){1, 0, 0}, 12);
	assert_int_equal(bake(&m, HOB_VERTICES_SMALL, 4).mesh.vertex_count, grid.vertex_count + 1);
}

/* Tiles of set 0 span 4, a lightmap in set 1 the unit square, and set 2 lies outside of it. */
static void lightmaps_share_the_scale_of_tiles(void **state)
{
	(void)state;
	uint64_t seed = 9;
	hob_mesh m = shape_grid(&arena, 20, 0, true, true);
	m.uv[1] = shape_alloc(&arena, m.vertex_count, 8);
	m.uv[2] = shape_alloc(&arena, m.vertex_count, 8);
	for (uint32_t i = 0; i < 2 * m.vertex_count; i++) {
		m.uv[0][i] = 4 * fabsf(shape_random_float(&seed)) - 1;
		m.uv[1][i] = fabsf(shape_random_float(&seed));
		m.uv[2][i] = 2 * fabsf(shape_random_float(&seed));
	}
	for (int run = 0; run < 2; run++) {
		hob_baked_mesh b = bake(&m, run ? HOB_VERTICES_FINE : HOB_VERTICES_SMALL, 4);
		double error = run ? 1.0 / 131070 : 1.0 / 8160;
		assert_int_equal(find(&b, HOB_SEMANTIC_UV, 1)->encoding,
						 run ? HOB_ENCODING_PLAIN : HOB_ENCODING_SCALED);
		assert_int_equal(find(&b, HOB_SEMANTIC_UV, 2)->format, 103);
		for (uint32_t v = 0; v < b.mesh.vertex_count; v++)
			for (uint32_t s = 0; s < 3; s++) {
				double x[4];
				read_attribute(&b, HOB_SEMANTIC_UV, s, v, x);
				for (uint32_t k = 0; k < 2; k++)
					assert_true(fabs(x[k] - (double)b.mesh.uv[s][2 * v + k]) <=
								(s == 0 && run ? 4.0 / 131040 : error) * 1.0001);
			}
	}
	m.uv[0][0] = -15.5f;
	assert_int_equal(
		find(&(hob_baked_mesh[]){bake(&m, HOB_VERTICES_SMALL, 4)}[0], HOB_SEMANTIC_UV, 1)->encoding,
		HOB_ENCODING_PLAIN);
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
			uint32_t size =
				a->format == 109   ? 16
				: a->format == 106 ? 12
				: a->format == 41 || a->format == 37 || a->format == 38 || a->format == 77 || a->format == 78
					? 4
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
		TEST(a_small_mesh_beside_a_large_one_has_coarser_steps),
		TEST(vertices_that_are_stored_alike_become_one),
		TEST(lightmaps_share_the_scale_of_tiles),
		TEST(weights_of_whole_bytes_take_bytes),
		TEST(simple_fractions_of_a_box_keep_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
