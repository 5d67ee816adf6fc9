#include "gltf_private.h"

#include <assert.h>

/* ---- description */

static size_t component_size(hob_gltf_component component)
{
	switch (component) {
	case HOB_GLTF_I8:
	case HOB_GLTF_U8:
		return 1;
	case HOB_GLTF_I16:
	case HOB_GLTF_U16:
		return 2;
	case HOB_GLTF_U32:
	case HOB_GLTF_F32:
		return 4;
	}
	return 0;
}

static hob_gltf_component parse_component(const cJSON *json)
{
	size_t value = hob_gltf_size(json, "componentType", 0);
	hob_gltf_component component = (hob_gltf_component)(value <= HOB_GLTF_F32 ? value : 0);
	if (component_size(component) == 0)
		hob_leave(CORRUPT, "componentType is %zu; 5120 to 5123, 5125 and 5126 are allowed", value);
	return component;
}

static void parse_type(const cJSON *json, hob_gltf_accessor *a)
{
	static const struct {
		const char *name;
		uint8_t rows, columns;
	} types[] = {{"SCALAR", 1, 1}, {"VEC2", 2, 1}, {"VEC3", 3, 1}, {"VEC4", 4, 1},
				 {"MAT2", 2, 2},   {"MAT3", 3, 3}, {"MAT4", 4, 4}};
	hob_str type;
	type = hob_gltf_string(json, "type");
	for (size_t i = 0; i < HOB_COUNT_OF(types); i++) {
		if (!hob_str_equal(type, hob_str_of(types[i].name)))
			continue;
		size_t column = types[i].rows * component_size(a->component);
		a->matrix = types[i].columns > 1;
		a->width = (uint32_t)types[i].rows * types[i].columns;
		/* Matrix columns are aligned to four bytes. */
		a->element_size = a->matrix ? (column + 3) / 4 * 4 * types[i].columns : column;
		return;
	}
	hob_leave(CORRUPT, "type is '%.*s'; SCALAR, VEC2, VEC3, VEC4, MAT2, MAT3 and MAT4 are allowed",
			  HOB_FMT(type));
}

/* `count` elements of `size` bytes, `stride` apart, at `offset` of a view. */
static void check_extent(const hob_gltf_source *view, uint32_t view_id, size_t offset, size_t count,
						 size_t stride, size_t size)
{
	size_t end;
	if (!hob_mul(count - 1, stride, &end) || !hob_add(end, size, &end) || !hob_add(end, offset, &end))
		hob_leave(CORRUPT, "%zu elements from byte %zu overflow every size", count, offset);
	if (end > view->bytes.size)
		hob_leave(TRUNCATED, "its %zu elements end at byte %zu of bufferViews[%u], which has %zu", count, end,
				  view_id, view->bytes.size);
}

static void open_base(hob_gltf *g, const cJSON *json, hob_gltf_accessor *a)
{
	uint32_t id = hob_gltf_id(json, "bufferView", g->views.count);
	size_t offset = hob_gltf_size(json, "byteOffset", 0), stride;
	if (id == HOB_NONE)
		return;
	hob_gltf_source view = hob_gltf_view(g, id, &stride);
	if (stride != 0 && stride < a->element_size)
		hob_leave(CORRUPT, "byteStride %zu of bufferViews[%u] is less than the element's %zu bytes", stride,
				  id, a->element_size);
	a->stride = stride ? stride : a->element_size;
	check_extent(&view, id, offset, a->count, a->stride, a->element_size);
	a->data = view.bytes.data + offset;
}

static const uint8_t *open_sparse_part(hob_gltf *g, const cJSON *json, size_t count, size_t size)
{
	uint32_t id = hob_gltf_need_id(json, "bufferView", g->views.count);
	size_t offset = hob_gltf_size(json, "byteOffset", 0), stride;
	hob_gltf_source view = hob_gltf_view(g, id, &stride);
	check_extent(&view, id, offset, count, size, size);
	return view.bytes.data + offset;
}

static uint32_t load_index(const uint8_t *p, hob_gltf_component component)
{
	return component == HOB_GLTF_U8 ? *p : component == HOB_GLTF_U16 ? hob_load_u16(p) : hob_load_u32(p);
}

static bool is_unsigned(hob_gltf_component component)
{
	return component == HOB_GLTF_U8 || component == HOB_GLTF_U16 || component == HOB_GLTF_U32;
}

static void open_sparse(hob_gltf *g, const cJSON *sparse, hob_gltf_accessor *a)
{
	size_t count = hob_gltf_size(sparse, "count", 0);
	const cJSON *indices = hob_gltf_object(sparse, "indices"), *values = hob_gltf_object(sparse, "values");
	if (count == 0 || count > a->count)
		hob_leave(CORRUPT, "sparse count is %zu of %u elements", count, a->count);
	hob_gltf_component component = parse_component(indices);
	const uint8_t *packed = open_sparse_part(g, indices, count, component_size(component));
	a->sparse_values = open_sparse_part(g, values, count, a->element_size);
	if (!is_unsigned(component))
		hob_leave(CORRUPT, "sparse indices have componentType %d", (int)component);
	uint32_t *list = HOB_NEW(g->scratch, uint32_t, count);
	for (size_t i = 0; i < count; i++) {
		list[i] = load_index(packed + i * component_size(component), component);
		if (list[i] >= a->count)
			hob_leave(CORRUPT, "sparse index %u of %u elements", list[i], a->count);
		if (i > 0 && list[i] <= list[i - 1])
			hob_leave(CORRUPT, "sparse indices do not rise: %u after %u", list[i], list[i - 1]);
	}
	a->sparse_indices = list;
	a->sparse_count = (uint32_t)count;
}

static void open_accessor(hob_gltf *g, hob_gltf_accessor *a)
{
	const cJSON *json = g->accessors.items[a->id];
	HOB_PLACE("accessor #", a->id, {0});
	a->component = parse_component(json);
	parse_type(json, a);
	size_t count = hob_gltf_size(json, "count", 0);
	hob_gltf_bool(json, "normalized", &a->normalized);
	const cJSON *sparse = hob_gltf_object(json, "sparse");
	if (count > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "%zu elements, the limit is %llu", count, HOB_LIMIT_INDICES);
	if (count == 0)
		hob_leave(CORRUPT, "it has no elements");
	a->count = (uint32_t)count;
	const hob_gltf_unpacked *unpacked = g->unpacked ? &g->unpacked[a->id] : NULL;
	if (!unpacked || !unpacked->data) {
		open_base(g, json, a);
		if (sparse)
			open_sparse(g, sparse, a);
		return;
	}
	a->data = unpacked->data;
	a->component = unpacked->component;
	a->stride = a->element_size = component_size(a->component) * a->width;
}

hob_gltf_accessor hob_gltf_accessor_open(hob_gltf *g, uint32_t id, uint32_t width)
{
	hob_gltf_accessor a = {.id = id};
	open_accessor(g, &a);
	if (width != 0 && (a.width != width || a.matrix != (width == 16)))
		hob_leave(CORRUPT, "it has %u components, %u are needed; accessor %u", a.width, width, id);
	return a;
}

void hob_gltf_claim(hob_gltf *g, const hob_gltf_accessor *accessor)
{
	if (accessor->data)
		return;
	g->unbacked += (size_t)accessor->count * accessor->width * sizeof(float);
	if (g->unbacked > HOB_LIMIT_UNBACKED_BYTES)
		hob_leave(LIMIT, "accessors without data ask for more than %llu MiB; accessor %u",
				  HOB_LIMIT_UNBACKED_BYTES >> 20, accessor->id);
}

/* ---- packing: one dense run of raw elements from any accessor */

typedef struct run {
	const uint8_t *data; /* NULL: zeros */
	size_t stride;
} run_t;

static void overlay(const hob_gltf_accessor *a, const hob_gltf_selection *s, uint8_t *packed)
{
	size_t size = a->element_size;
	for (uint32_t i = 0; i < a->sparse_count; i++) {
		uint32_t element = a->sparse_indices[i];
		uint32_t place = s->list ? s->place[element] : element - s->first;
		if (place < s->count)
			memcpy(packed + place * size, a->sparse_values + i * size, size);
	}
}

static run_t pack(hob_gltf *g, const hob_gltf_accessor *a, const hob_gltf_selection *s)
{
	if (!a->sparse_count && (!s->list || !a->data))
		return (run_t){a->data ? a->data + s->first * a->stride : NULL, a->stride};
	size_t size = a->element_size;
	uint8_t *packed = hob_arena_array(g->scratch, s->count, size, 8);
	for (uint32_t i = 0; a->data && i < s->count; i++)
		memcpy(packed + i * size, a->data + (s->list ? s->list[i] : s->first + i) * a->stride, size);
	overlay(a, s, packed);
	return (run_t){packed, size};
}

/* ---- conversion: one tight loop per component type */

/* `width` is a constant in each call below, so that the compiler unrolls and vectorises. */
#define CONVERT_ELEMENTS(type, expression, width)                                                            \
	for (uint32_t i = 0; i < count; i++, src += stride, out += out_stride)                                   \
		for (uint32_t k = 0; k < (width); k++) {                                                             \
			type v;                                                                                          \
			memcpy(&v, src + k * sizeof v, sizeof v);                                                        \
			out[k] = (expression);                                                                           \
		}

#define CONVERTER(name, to, type, expression)                                                                \
	static void name(const uint8_t *src, size_t stride, uint32_t count, uint32_t width, to *out,             \
					 uint32_t out_stride)                                                                    \
	{                                                                                                        \
		if (stride == width * sizeof(type) && out_stride == width) {                                         \
			/* Dense on both sides: handled as one long row. */                                              \
			for (size_t i = 0; i < (size_t)count * width; i++) {                                             \
				type v;                                                                                      \
				memcpy(&v, src + i * sizeof v, sizeof v);                                                    \
				out[i] = (expression);                                                                       \
			}                                                                                                \
			return;                                                                                          \
		}                                                                                                    \
		switch (width) {                                                                                     \
		case 2:                                                                                              \
			CONVERT_ELEMENTS(type, expression, 2)                                                            \
			break;                                                                                           \
		case 3:                                                                                              \
			CONVERT_ELEMENTS(type, expression, 3)                                                            \
			break;                                                                                           \
		case 4:                                                                                              \
			CONVERT_ELEMENTS(type, expression, 4)                                                            \
			break;                                                                                           \
		default:                                                                                             \
			CONVERT_ELEMENTS(type, expression, width)                                                        \
		}                                                                                                    \
	}

CONVERTER(i8_float, float, int8_t, (float)v)
CONVERTER(u8_float, float, uint8_t, (float)v)
CONVERTER(i16_float, float, int16_t, (float)v)
CONVERTER(u16_float, float, uint16_t, (float)v)
CONVERTER(u32_float, float, uint32_t, (float)v)
CONVERTER(f32_float, float, float, v)
CONVERTER(i8_unit, float, int8_t, v == -128 ? -1.0f : (float)v / 127.0f)
CONVERTER(u8_unit, float, uint8_t, (float)v / 255.0f)
CONVERTER(i16_unit, float, int16_t, v == -32768 ? -1.0f : (float)v / 32767.0f)
CONVERTER(u16_unit, float, uint16_t, (float)v / 65535.0f)
CONVERTER(u8_u32, uint32_t, uint8_t, v)
CONVERTER(u16_u32, uint32_t, uint16_t, v)
CONVERTER(u32_u32, uint32_t, uint32_t, v)
CONVERTER(u8_u16, uint16_t, uint8_t, v)
CONVERTER(u16_u16, uint16_t, uint16_t, v)

static void to_floats(const hob_gltf_accessor *a, run_t run, uint32_t count, float *out, uint32_t out_stride)
{
	uint32_t width = a->width;
	switch (a->component) {
	case HOB_GLTF_I8:
		(a->normalized ? i8_unit : i8_float)(run.data, run.stride, count, width, out, out_stride);
		break;
	case HOB_GLTF_U8:
		(a->normalized ? u8_unit : u8_float)(run.data, run.stride, count, width, out, out_stride);
		break;
	case HOB_GLTF_I16:
		(a->normalized ? i16_unit : i16_float)(run.data, run.stride, count, width, out, out_stride);
		break;
	case HOB_GLTF_U16:
		(a->normalized ? u16_unit : u16_float)(run.data, run.stride, count, width, out, out_stride);
		break;
	case HOB_GLTF_U32:
		u32_float(run.data, run.stride, count, width, out, out_stride);
		break;
	case HOB_GLTF_F32:
		f32_float(run.data, run.stride, count, width, out, out_stride);
		break;
	}
}

void hob_gltf_read_floats(hob_gltf *g, const hob_gltf_accessor *accessor, const hob_gltf_selection *selection,
						  float *out, uint32_t out_stride)
{
	hob_arena_mark mark = hob_arena_save(g->scratch);
	run_t run = pack(g, accessor, selection);
	if (run.data)
		to_floats(accessor, run, selection->count, out, out_stride);
	else
		for (uint32_t i = 0; i < selection->count; i++)
			memset(out + (size_t)i * out_stride, 0, accessor->width * sizeof *out);
	hob_arena_restore(g->scratch, mark);
}

void hob_gltf_read_u32(hob_gltf *g, const hob_gltf_accessor *accessor, const hob_gltf_selection *selection,
					   uint32_t *out)
{
	assert(is_unsigned(accessor->component));
	hob_arena_mark mark = hob_arena_save(g->scratch);
	run_t run = pack(g, accessor, selection);
	uint32_t count = selection->count, width = accessor->width;
	if (!run.data)
		memset(out, 0, (size_t)count * width * sizeof *out);
	else if (accessor->component == HOB_GLTF_U8)
		u8_u32(run.data, run.stride, count, width, out, width);
	else if (accessor->component == HOB_GLTF_U16)
		u16_u32(run.data, run.stride, count, width, out, width);
	else
		u32_u32(run.data, run.stride, count, width, out, width);
	hob_arena_restore(g->scratch, mark);
}

void hob_gltf_read_u16(hob_gltf *g, const hob_gltf_accessor *accessor, const hob_gltf_selection *selection,
					   uint16_t *out, uint32_t out_stride)
{
	assert(accessor->component == HOB_GLTF_U8 || accessor->component == HOB_GLTF_U16);
	hob_arena_mark mark = hob_arena_save(g->scratch);
	run_t run = pack(g, accessor, selection);
	uint32_t count = selection->count, width = accessor->width;
	if (!run.data)
		for (uint32_t i = 0; i < count; i++)
			memset(out + (size_t)i * out_stride, 0, width * sizeof *out);
	else if (accessor->component == HOB_GLTF_U8)
		u8_u16(run.data, run.stride, count, width, out, out_stride);
	else
		u16_u16(run.data, run.stride, count, width, out, out_stride);
	hob_arena_restore(g->scratch, mark);
}

float *hob_gltf_load_floats(hob_gltf *g, uint32_t id, uint32_t width, hob_arena *arena, uint32_t *count)
{
	hob_gltf_accessor a = hob_gltf_accessor_open(g, id, width);
	hob_gltf_claim(g, &a);
	float *out = hob_arena_array(arena, a.count, a.width * sizeof(float), _Alignof(float));
	hob_gltf_selection all = {.count = a.count};
	hob_gltf_read_floats(g, &a, &all, out, a.width);
	*count = a.count;
	return out;
}
