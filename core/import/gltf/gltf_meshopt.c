#include "gltf_private.h"

#include <meshoptimizer.h>

typedef enum packing { MODE_ATTRIBUTES, MODE_TRIANGLES, MODE_INDICES, MODE_COUNT } packing_t;

typedef struct stream {
	packing_t mode;
	hob_bytes packed;
	size_t count, stride;
	hob_str filter;
} stream_t;

/* Bounds by the densest streams: an attribute block takes two bits per 16 equal bytes, a triangle one byte,
 * an index one byte. A larger claim is rejected before allocation. */
static void check_size(const stream_t *s)
{
	bool shape = s->mode == MODE_ATTRIBUTES ? s->stride >= 4 && s->stride <= 256 && s->stride % 4 == 0
											: s->stride == 2 || s->stride == 4;
	if (!shape || (s->mode == MODE_TRIANGLES && s->count % 3))
		hob_leave(CORRUPT, "byteStride %zu or count %zu does not fit its mode", s->stride, s->count);
	size_t most = s->mode == MODE_ATTRIBUTES  ? s->packed.size * 64 / s->stride + 256
				  : s->mode == MODE_TRIANGLES ? s->packed.size * 3
											  : s->packed.size;
	if (s->count == 0 || s->count > most)
		hob_leave(CORRUPT, "%zu bytes cannot hold %zu elements", s->packed.size, s->count);
}

static void parse(hob_gltf *g, const cJSON *json, stream_t *s)
{
	static const hob_str modes[MODE_COUNT] = {{"ATTRIBUTES", 10}, {"TRIANGLES", 9}, {"INDICES", 7}};
	HOB_PLACE("meshopt compression", 0, {0});
	uint32_t buffer = hob_gltf_need_id(json, "buffer", g->buffers.count);
	size_t offset = hob_gltf_size(json, "byteOffset", 0), size = hob_gltf_size(json, "byteLength", 0);
	s->stride = hob_gltf_size(json, "byteStride", 0);
	s->count = hob_gltf_size(json, "count", 0);
	hob_str mode = hob_gltf_string(json, "mode");
	s->filter = hob_gltf_string(json, "filter");
	hob_gltf_source source = hob_gltf_buffer(g, buffer);
	if (offset > source.bytes.size || size > source.bytes.size - offset)
		hob_leave(TRUNCATED, "it ends at byte %zu of buffers[%u], which has %zu", offset + size, buffer,
				  source.bytes.size);
	s->packed = (hob_bytes){source.bytes.data + offset, size};
	s->mode = MODE_ATTRIBUTES;
	while (s->mode < MODE_COUNT && !hob_str_equal(mode, modes[s->mode]))
		s->mode++;
	if (s->mode == MODE_COUNT)
		hob_leave(UNSUPPORTED, "mode '%.*s' is unknown", HOB_FMT(mode));
	check_size(s);
}

static void apply_filter(const stream_t *s, void *data)
{
	HOB_PLACE("meshopt compression", 0, {0});
	if (s->filter.len == 0 || hob_str_equal(s->filter, HOB_STR("NONE")))
		return;
	bool attributes = s->mode == MODE_ATTRIBUTES;
	if (attributes && hob_str_equal(s->filter, HOB_STR("OCTAHEDRAL")) && (s->stride == 4 || s->stride == 8))
		meshopt_decodeFilterOct(data, s->count, s->stride);
	else if (attributes && hob_str_equal(s->filter, HOB_STR("QUATERNION")) && s->stride == 8)
		meshopt_decodeFilterQuat(data, s->count, s->stride);
	else if (attributes && hob_str_equal(s->filter, HOB_STR("EXPONENTIAL")))
		meshopt_decodeFilterExp(data, s->count, s->stride);
	else
		hob_leave(UNSUPPORTED, "filter '%.*s' with a byteStride of %zu", HOB_FMT(s->filter), s->stride);
}

hob_bytes hob_gltf_meshopt(hob_gltf *g, const cJSON *extension)
{
	stream_t s;
	parse(g, extension, &s);
	/* The vertex decoder works on groups of 16, the filters on groups of 4; both stay within count *
	 * stride. */
	void *data = hob_arena_array(g->scratch, s.count, s.stride, 16);
	int failed = s.mode == MODE_ATTRIBUTES
					 ? meshopt_decodeVertexBuffer(data, s.count, s.stride, s.packed.data, s.packed.size)
				 : s.mode == MODE_TRIANGLES
					 ? meshopt_decodeIndexBuffer(data, s.count, s.stride, s.packed.data, s.packed.size)
					 : meshopt_decodeIndexSequence(data, s.count, s.stride, s.packed.data, s.packed.size);
	uint8_t header = s.packed.size > 0 ? s.packed.data[0] : 0;
	if (failed == -1 && header == 0xA1 && s.mode == MODE_ATTRIBUTES)
		hob_leave(UNSUPPORTED, "meshopt compression: vertex codec version 1 (KHR_meshopt_compression) "
							   "cannot be read; pack the model with EXT_meshopt_compression");
	if (failed)
		hob_leave(CORRUPT, "meshopt compression: the %s stream of %zu bytes is damaged (header %02x)",
				  s.mode == MODE_ATTRIBUTES ? "attribute" : "index", s.packed.size, header);
	apply_filter(&s, data);
	return (hob_bytes){data, s.count * s.stride};
}
