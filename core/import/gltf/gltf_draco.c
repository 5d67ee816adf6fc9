#include "gltf_private.h"

#ifdef HOB_DRACO
#include "draco_shim.h"

static bool keep(hob_gltf *g, uint32_t accessor, const void *data, hob_gltf_component component)
{
	g->unpacked[accessor] = (hob_gltf_unpacked){data, component};
	return true;
}

static bool take_indices(hob_gltf *g, const hob_draco *mesh, uint32_t accessor, hob_error *err)
{
	uint32_t count = hob_draco_face_count(mesh) * 3;
	uint32_t *indices = HOB_NEW(g->scratch, uint32_t, count);
	size_t declared;
	if (!indices)
		return hob_fail_memory(err, g->scratch, "indices");
	if (!hob_gltf_size(g->accessors.items[accessor], "count", 0, &declared, err))
		return false;
	if (declared != count)
		return hob_fail(err, CORRUPT, "accessor %u has %zu indices, the stream has %u", accessor, declared,
						count);
	hob_draco_indices(mesh, indices);
	return keep(g, accessor, indices, HOB_GLTF_U32);
}

static bool take_attribute(hob_gltf *g, const hob_draco *mesh, uint32_t accessor, uint32_t unique_id,
						   hob_error *err)
{
	static const hob_draco_type types[] = {
		[HOB_GLTF_I8 - HOB_GLTF_I8] = HOB_DRACO_I8,	  [HOB_GLTF_U8 - HOB_GLTF_I8] = HOB_DRACO_U8,
		[HOB_GLTF_I16 - HOB_GLTF_I8] = HOB_DRACO_I16, [HOB_GLTF_U16 - HOB_GLTF_I8] = HOB_DRACO_U16,
		[HOB_GLTF_U32 - HOB_GLTF_I8] = HOB_DRACO_U32, [HOB_GLTF_F32 - HOB_GLTF_I8] = HOB_DRACO_F32,
	};
	hob_gltf_accessor a;
	g->unpacked[accessor].data = NULL;
	if (!hob_gltf_accessor_open(g, accessor, 0, &a, err))
		return false;
	uint32_t points = hob_draco_point_count(mesh);
	if (a.count != points)
		return hob_fail(err, CORRUPT, "accessor %u has %u elements, the stream has %u points", accessor,
						a.count, points);
	void *values = hob_arena_array(g->scratch, points, a.element_size, 8);
	if (!values)
		return hob_fail_memory(err, g->scratch, "a vertex attribute");
	if (!hob_draco_attribute(mesh, unique_id, types[a.component - HOB_GLTF_I8], a.width, values))
		return hob_fail(err, CORRUPT, "the stream has no attribute %u for accessor %u", unique_id, accessor);
	return keep(g, accessor, values, a.component);
}

static bool take_all(hob_gltf *g, const hob_draco *mesh, const cJSON *primitive, const cJSON *ids,
					 hob_error *err)
{
	uint32_t indices;
	const cJSON *attributes = hob_json_get(primitive, "attributes");
	if (!hob_gltf_id(primitive, "indices", g->accessors.count, &indices, err) ||
		(indices != HOB_NONE && !take_indices(g, mesh, indices, err)))
		return false;
	for (const cJSON *item = ids ? ids->child : NULL; item; item = item->next) {
		uint32_t unique_id, accessor;
		if (!hob_gltf_id_of(item, item->string, HOB_NONE, &unique_id, err) ||
			!hob_gltf_need_id(attributes, item->string, g->accessors.count, &accessor, err) ||
			!take_attribute(g, mesh, accessor, unique_id, err))
			return hob_fail_in(err, "%.64s", item->string);
	}
	return true;
}

static bool unpack(hob_gltf *g, const cJSON *primitive, const cJSON *extension, hob_error *err)
{
	uint32_t view;
	size_t stride;
	hob_gltf_source source;
	const cJSON *ids;
	char why[120] = "";
	if (!hob_gltf_need_id(extension, "bufferView", g->views.count, &view, err) ||
		!hob_gltf_object(extension, "attributes", &ids, err) ||
		!hob_gltf_view(g, view, &source, &stride, err))
		return false;
	if (!g->unpacked)
		g->unpacked = HOB_NEW(g->scratch, hob_gltf_unpacked, g->accessors.count);
	if (!g->unpacked)
		return hob_fail_memory(err, g->scratch, "Draco attributes");
	hob_draco *mesh = hob_draco_decode(source.bytes.data, source.bytes.size, why, sizeof why);
	if (!mesh)
		return hob_fail(err, CORRUPT, "the stream in bufferViews[%u] is damaged: %s", view, why);
	bool ok = take_all(g, mesh, primitive, ids, err);
	hob_draco_free(mesh);
	return ok;
}
#else
static bool unpack(hob_gltf *g, const cJSON *primitive, const cJSON *extension, hob_error *err)
{
	(void)g, (void)primitive, (void)extension;
	return hob_fail(err, UNSUPPORTED,
					"this build has no Draco decoder: export without Draco, or use meshopt");
}
#endif

bool hob_gltf_draco(hob_gltf *g, const cJSON *primitive, hob_error *err)
{
	const cJSON *extension;
	uint32_t position = HOB_NONE;
	if (!hob_gltf_extension(primitive, "KHR_draco_mesh_compression", &extension, err))
		return false;
	if (!extension)
		return true;
	if (!hob_gltf_id(hob_json_get(primitive, "attributes"), "POSITION", g->accessors.count, &position, err))
		return false;
	/* An uncompressed copy is exact and needs no decoding. */
	if (position != HOB_NONE && hob_json_get(g->accessors.items[position], "bufferView"))
		return true;
	return unpack(g, primitive, extension, err) || hob_fail_in(err, "KHR_draco_mesh_compression");
}
