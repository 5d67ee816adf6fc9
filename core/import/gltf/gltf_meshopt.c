#include "gltf_private.h"

#include <meshoptimizer.h>

typedef enum packing { MODE_ATTRIBUTES, MODE_TRIANGLES, MODE_INDICES, MODE_COUNT } packing_t;

typedef struct stream {
	packing_t mode;
	hob_bytes packed;
	size_t count, stride;
	hob_str filter;
} stream_t;

static bool parse(hob_gltf *g, const cJSON *json, stream_t *s, hob_error *err)
{
	static const hob_str modes[MODE_COUNT] = {{"ATTRIBUTES", 10}, {"TRIANGLES", 9}, {"INDICES", 7}};
	uint32_t buffer;
	size_t offset, size;
	hob_str mode;
	hob_gltf_source source;
	if (!hob_gltf_need_id(json, "buffer", g->buffers.count, &buffer, err) ||
		!hob_gltf_size(json, "byteOffset", 0, &offset, err) ||
		!hob_gltf_size(json, "byteLength", 0, &size, err) ||
		!hob_gltf_size(json, "byteStride", 0, &s->stride, err) ||
		!hob_gltf_size(json, "count", 0, &s->count, err) || !hob_gltf_string(json, "mode", &mode, err) ||
		!hob_gltf_string(json, "filter", &s->filter, err) || !hob_gltf_buffer(g, buffer, &source, err))
		return false;
	if (offset > source.bytes.size || size > source.bytes.size - offset)
		return hob_fail(err, TRUNCATED, "it ends at byte %zu of buffers[%u], which has %zu", offset + size,
						buffer, source.bytes.size);
	s->packed = (hob_bytes){source.bytes.data + offset, size};
	for (s->mode = MODE_ATTRIBUTES; s->mode < MODE_COUNT; s->mode++)
		if (hob_str_equal(mode, modes[s->mode]))
			return true;
	return hob_fail(err, UNSUPPORTED, "mode '%.*s' is unknown", HOB_FMT(mode));
}

/* Bounds by the densest streams: an attribute block takes two bits per 16 equal bytes, a triangle one byte,
 * an index one byte. A larger claim is rejected before allocation. */
static bool check_size(const stream_t *s, hob_error *err)
{
	bool shape = s->mode == MODE_ATTRIBUTES ? s->stride >= 4 && s->stride <= 256 && s->stride % 4 == 0
											: s->stride == 2 || s->stride == 4;
	if (!shape || (s->mode == MODE_TRIANGLES && s->count % 3))
		return hob_fail(err, CORRUPT, "byteStride %zu or count %zu does not fit its mode", s->stride,
						s->count);
	size_t most = s->mode == MODE_ATTRIBUTES  ? s->packed.size * 64 / s->stride + 256
				  : s->mode == MODE_TRIANGLES ? s->packed.size * 3
											  : s->packed.size;
	if (s->count == 0 || s->count > most)
		return hob_fail(err, CORRUPT, "%zu bytes cannot hold %zu elements", s->packed.size, s->count);
	return true;
}

static bool apply_filter(const stream_t *s, void *data, hob_error *err)
{
	if (s->filter.len == 0 || hob_str_equal(s->filter, HOB_STR("NONE")))
		return true;
	bool attributes = s->mode == MODE_ATTRIBUTES;
	if (attributes && hob_str_equal(s->filter, HOB_STR("OCTAHEDRAL")) && (s->stride == 4 || s->stride == 8))
		meshopt_decodeFilterOct(data, s->count, s->stride);
	else if (attributes && hob_str_equal(s->filter, HOB_STR("QUATERNION")) && s->stride == 8)
		meshopt_decodeFilterQuat(data, s->count, s->stride);
	else if (attributes && hob_str_equal(s->filter, HOB_STR("EXPONENTIAL")))
		meshopt_decodeFilterExp(data, s->count, s->stride);
	else
		return hob_fail(err, UNSUPPORTED, "filter '%.*s' with a byteStride of %zu", HOB_FMT(s->filter),
						s->stride);
	return true;
}

bool hob_gltf_meshopt(hob_gltf *g, const cJSON *extension, hob_bytes *out, hob_error *err)
{
	stream_t s;
	if (!parse(g, extension, &s, err) || !check_size(&s, err))
		return hob_fail_in(err, "meshopt compression");
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
		return hob_fail(err, UNSUPPORTED,
						"meshopt compression: vertex codec version 1 (KHR_meshopt_compression) "
						"cannot be read; pack the model with EXT_meshopt_compression");
	if (failed)
		return hob_fail(err, CORRUPT,
						"meshopt compression: the %s stream of %zu bytes is damaged (header %02x)",
						s.mode == MODE_ATTRIBUTES ? "attribute" : "index", s.packed.size, header);
	if (!apply_filter(&s, data, err))
		return hob_fail_in(err, "meshopt compression");
	*out = (hob_bytes){data, s.count * s.stride};
	return true;
}
