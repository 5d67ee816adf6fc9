#include "glb_writer.h"

typedef struct primitive {
	glb_writer *w;
	const hob_pk_mesh *mesh;
	const hob_pk_lod *lod;
	hob_buf *json;
	uint32_t attributes;
	bool has_normal, has_tangent;
} primitive;

/* The JSON of vertices and indices, shared by all meshes that have the same vertices and indices. */
typedef struct glb_shared {
	hob_str attributes; /* the JSON, empty = not written yet */
	uint32_t attribute_count, indices;
	bool has_normal, has_tangent;
} glb_shared;

bool hob_glb_drawable(const glb_writer *w, uint32_t mesh)
{
	const hob_pk_mesh *m = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, mesh);
	return m->vertex_count && m->lod_count &&
		   HOB_PACK_AT(hob_pk_lod, w->geometry.lods, m->lod_first)->index_count;
}

static void put_key(primitive *p, const char *name, uint32_t set, bool numbered, uint32_t accessor)
{
	hob_buf_printf(p->json, "%s\"%s", p->attributes++ ? "," : "", name);
	if (numbered)
		hob_buf_printf(p->json, "_%u", set);
	hob_buf_printf(p->json, "\":%u", accessor);
}

/* ---- attributes ---- */

static void put_floats(primitive *p, const hob_pack_attribute *a, uint32_t components, const char *name,
					   bool numbered)
{
	static const char *const types[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};
	uint32_t count = p->mesh->vertex_count;
	hob_arena_mark mark = hob_arena_save(p->w->arena);
	float *values = (float *)hob_arena_array(p->w->arena, count, components * sizeof(float), 16);
	for (uint32_t v = 0; v < count; v++) {
		float value[4];
		hob_pack_attribute_get(a, v, value);
		for (uint32_t k = 0; k < components; k++) {
			bool outside = a->semantic == HOB_PK_SEMANTIC_COLOR && !(value[k] >= 0 && value[k] <= 1);
			values[(size_t)v * components + k] = outside ? (value[k] > 1 ? 1.0f : 0.0f) : value[k];
		}
	}
	put_key(p, name, a->set, numbered,
			hob_glb_float_accessor(p->w, values, count, components, types[components - 1], GLB_VERTICES,
								   a->semantic == HOB_PK_SEMANTIC_POSITION));
	hob_arena_restore(p->w->arena, mark);
}

/* Joints, and weights stored as integers, are copied unchanged. */
static void put_integers(primitive *p, const hob_pack_attribute *a, const char *name, bool normalized)
{
	uint32_t view, count = p->mesh->vertex_count, bytes = a->format->bytes;
	uint8_t *at = hob_glb_view(p->w, (size_t)count * bytes, GLB_VERTICES, &view);
	for (uint32_t v = 0; v < count; v++)
		memcpy(at + (size_t)v * bytes, a->data + (size_t)v * a->stride, bytes);
	put_key(p, name, a->set, true,
			hob_glb_accessor(p->w, view, bytes == 4 ? GLB_BYTE : GLB_SHORT, count, "VEC4",
							 normalized ? ",\"normalized\":true" : ""));
}

static void put_attribute(primitive *p, const hob_pack_attribute *a)
{
	static const struct {
		const char *name;
		uint32_t components;
		bool numbered;
	} kinds[] = {
		[HOB_PK_SEMANTIC_POSITION] = {"POSITION", 3, false}, [HOB_PK_SEMANTIC_NORMAL] = {"NORMAL", 3, false},
		[HOB_PK_SEMANTIC_TANGENT] = {"TANGENT", 4, false},	 [HOB_PK_SEMANTIC_UV] = {"TEXCOORD", 2, true},
		[HOB_PK_SEMANTIC_COLOR] = {"COLOR", 4, true},		 [HOB_PK_SEMANTIC_JOINTS] = {"JOINTS", 4, true},
		[HOB_PK_SEMANTIC_WEIGHTS] = {"WEIGHTS", 4, true}};
	bool joints = a->semantic == HOB_PK_SEMANTIC_JOINTS, weights = a->semantic == HOB_PK_SEMANTIC_WEIGHTS;
	p->has_normal = p->has_normal || a->semantic == HOB_PK_SEMANTIC_NORMAL;
	p->has_tangent = p->has_tangent || a->semantic == HOB_PK_SEMANTIC_TANGENT;
	if (joints || (weights && a->format->kind == 'u'))
		put_integers(p, a, kinds[a->semantic].name, weights);
	else
		put_floats(p, a, kinds[a->semantic].components, kinds[a->semantic].name, kinds[a->semantic].numbered);
}

/* Adds zeros for texture coordinate sets that the material uses and the mesh lacks, as glTF requires them. */
static void put_missing_uvs(primitive *p)
{
	if (p->mesh->material == HOB_PK_NONE)
		return;
	hob_pack_array materials = hob_pack_find(&p->w->materials, HOB_PK_MATL),
				   refs = hob_pack_find(&p->w->materials, HOB_PK_TEXR);
	const hob_pk_material *m = HOB_PACK_AT(hob_pk_material, materials, p->mesh->material);
	uint32_t top = 0;
	for (uint32_t s = 0; s < HOB_COUNT_OF(m->textures); s++)
		if (m->textures[s] != HOB_PK_NONE && p->w->texture_place[m->textures[s]] != HOB_NONE) {
			uint32_t need = HOB_PACK_AT(hob_pk_texref, refs, m->textures[s])->uv_set + 1u;
			top = need > top ? need : top;
		}
	for (uint32_t set = 0; set < top; set++) {
		hob_pack_attribute a;
		if (hob_pack_attribute_find(&p->w->geometry, p->mesh, HOB_PK_SEMANTIC_UV, set, &a))
			continue;
		put_key(p, "TEXCOORD", set, true, p->w->lists[GLB_LIST_ACCESSORS].count);
		hob_buf_printf(hob_glb_next(p->w, GLB_LIST_ACCESSORS),
					   "{\"componentType\":%d,\"count\":%u,\"type\":\"VEC2\"}", GLB_FLOAT,
					   p->mesh->vertex_count);
	}
}

static void put_attributes(primitive *p)
{
	const hob_pk_layout *layout = HOB_PACK_AT(hob_pk_layout, p->w->geometry.layouts, p->mesh->layout);
	glb_shared *shared = &p->w->shared[p->mesh->lod_first];
	hob_buf_printf(p->json, "{\"attributes\":{");
	if (shared->attributes.len > 0) {
		hob_buf_put_str(p->json, shared->attributes);
		p->attributes = shared->attribute_count;
		p->has_normal = shared->has_normal, p->has_tangent = shared->has_tangent;
		put_missing_uvs(p);
		hob_buf_put(p->json, "}", 1);
		return;
	}
	size_t begin = p->json->size;
	for (uint32_t i = 0; i < layout->attribute_count; i++) {
		const hob_pk_attribute *record =
			HOB_PACK_AT(hob_pk_attribute, p->w->geometry.attributes, layout->attribute_first + i);
		hob_pack_attribute a;
		bool points = p->mesh->topology == HOB_PK_TOPOLOGY_POINTS;
		if (points && record->semantic == HOB_PK_SEMANTIC_TANGENT)
			continue;
		if (hob_pack_attribute_find(&p->w->geometry, p->mesh, record->semantic, record->set, &a))
			put_attribute(p, &a);
	}
	shared->attributes = hob_arena_printf(p->w->arena, "%.*s", (int)(p->json->size - begin),
										  (const char *)p->json->data + begin);
	shared->attribute_count = p->attributes;
	shared->has_normal = p->has_normal, shared->has_tangent = p->has_tangent;
	shared->indices = HOB_NONE;
	put_missing_uvs(p);
	hob_buf_put(p->json, "}", 1);
}

static void put_indices(primitive *p)
{
	static const uint32_t modes[] = {4, 1, 0};
	uint32_t view, count = p->lod->index_count;
	glb_shared *shared = &p->w->shared[p->mesh->lod_first];
	if (shared->indices == HOB_NONE) {
		size_t width = p->mesh->vertex_count <= 65535 ? 2 : 4;
		uint8_t *at = hob_glb_view(p->w, count * width, GLB_INDICES, &view);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t index = hob_pack_index(&p->w->geometry, p->lod, i);
			memcpy(at + i * width, &index, width);
		}
		shared->indices = hob_glb_accessor(p->w, view, width == 2 ? GLB_SHORT : GLB_INT, count, "SCALAR", "");
	}
	hob_buf_printf(p->json, ",\"indices\":%u,\"mode\":%u", shared->indices, modes[p->mesh->topology]);
}

/* ---- morph targets ---- */

static void delta_range(const glb_writer *w, const primitive *p, const hob_pk_morph *morph, size_t offset,
						hob_buf *json)
{
	float min[3] = {0}, max[3] = {0};
	for (uint32_t i = 0; i < morph->delta_count; i++) {
		float value[3];
		const uint8_t *delta =
			(const uint8_t *)HOB_PACK_AT(uint8_t, w->geometry.deltas, morph->delta_first + i);
		memcpy(value, delta + offset, sizeof value);
		bool first = i == 0 && morph->delta_count == p->mesh->vertex_count;
		for (size_t k = 0; k < 3; k++) {
			min[k] = first || value[k] < min[k] ? value[k] : min[k];
			max[k] = first || value[k] > max[k] ? value[k] : max[k];
		}
	}
	hob_glb_floats(json, "min", min, 3);
	hob_glb_floats(json, "max", max, 3);
}

static void put_delta_accessor(primitive *p, const hob_pk_morph *morph, size_t offset)
{
	glb_writer *w = p->w;
	uint32_t count = morph->delta_count, indices = 0, values = 0;
	if (count) {
		uint8_t *at = hob_glb_view(w, (size_t)count * 4, 0, &indices);
		for (uint32_t i = 0; i < count; i++)
			memcpy(at + (size_t)i * 4, HOB_PACK_AT(uint8_t, w->geometry.deltas, morph->delta_first + i), 4);
		at = hob_glb_view(w, (size_t)count * 12, 0, &values);
		for (uint32_t i = 0; i < count; i++)
			memcpy(at + (size_t)i * 12,
				   HOB_PACK_AT(uint8_t, w->geometry.deltas, morph->delta_first + i) + offset, 12);
	}
	hob_buf *json = hob_glb_next(w, GLB_LIST_ACCESSORS);
	hob_buf_printf(json, "{\"componentType\":%d,\"count\":%u,\"type\":\"VEC3\"", GLB_FLOAT,
				   p->mesh->vertex_count);
	if (count)
		hob_buf_printf(
			json,
			",\"sparse\":{\"count\":%u,\"indices\":{\"bufferView\":%u,\"componentType\":%d},\"values\":{"
			"\"bufferView\":%u}}",
			count, indices, GLB_INT, values);
	delta_range(w, p, morph, offset, json);
	hob_buf_put(json, "}", 1);
}

static void put_targets(primitive *p)
{
	hob_pack_array morphs = hob_pack_find(&p->w->meshes, HOB_PK_MRPH);
	for (uint32_t t = 0; t < p->mesh->morph_count; t++) {
		const hob_pk_morph *morph = HOB_PACK_AT(hob_pk_morph, morphs, p->mesh->morph_first + t);
		hob_buf_printf(p->json, t ? ",{" : ",\"targets\":[{");
		p->attributes = 0;
		bool normal = p->has_normal && morph->attribute_mask & HOB_PK_DELTA_NORMAL;
		bool tangent = p->has_tangent && morph->attribute_mask & HOB_PK_DELTA_TANGENT;
		if (morph->attribute_mask & HOB_PK_DELTA_POSITION || (!normal && !tangent)) {
			put_key(p, "POSITION", 0, false, p->w->lists[GLB_LIST_ACCESSORS].count);
			put_delta_accessor(p, morph, offsetof(hob_pk_delta, position));
		}
		if (normal) {
			put_key(p, "NORMAL", 0, false, p->w->lists[GLB_LIST_ACCESSORS].count);
			put_delta_accessor(p, morph, offsetof(hob_pk_delta, normal));
		}
		if (tangent) {
			put_key(p, "TANGENT", 0, false, p->w->lists[GLB_LIST_ACCESSORS].count);
			put_delta_accessor(p, morph, offsetof(hob_pk_delta, tangent));
		}
		hob_buf_put(p->json, "}", 1);
	}
	if (p->mesh->morph_count)
		hob_buf_put(p->json, "]", 1);
}

/* ---- primitives and meshes ---- */

static void put_variants(primitive *p)
{
	hob_pack_array maps = hob_pack_find(&p->w->meshes, HOB_PK_VMAP);
	uint32_t count = 0;
	for (uint32_t i = 0; i < p->mesh->variant_count; i++) {
		const hob_pk_variant_map *map = HOB_PACK_AT(hob_pk_variant_map, maps, p->mesh->variant_first + i);
		if (map->material == HOB_PK_NONE)
			continue;
		if (!count++)
			hob_buf_printf(p->json, ",\"extensions\":{\"%s\":{\"mappings\":[",
						   hob_glb_extension_names[GLB_VARIANTS]);
		hob_buf_printf(p->json, "%s{\"material\":%u,\"variants\":[%u]}", count > 1 ? "," : "", map->material,
					   map->variant);
	}
	if (!count)
		return;
	hob_buf_printf(p->json, "]}}");
	p->w->extensions |= 1u << GLB_VARIANTS;
}

static void put_primitive(glb_writer *w, hob_buf *json, uint32_t mesh)
{
	primitive p = {.w = w, .json = json, .mesh = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, mesh)};
	p.lod = HOB_PACK_AT(hob_pk_lod, w->geometry.lods, p.mesh->lod_first);
	put_attributes(&p);
	put_indices(&p);
	if (p.mesh->material != HOB_PK_NONE)
		hob_buf_printf(json, ",\"material\":%u", p.mesh->material);
	put_targets(&p);
	put_variants(&p);
	hob_buf_put(json, "}", 1);
}

/* Writes the names of morph targets to the extras, too, by a convention of exporters, unless the source's
 * extras have them. */
static void put_target_names(glb_writer *w, hob_buf *json, const hob_pk_mesh *mesh, uint32_t first)
{
	const hob_pk_extra *extra = hob_pack_extra(&w->scene, HOB_PK_EXTRA_MESH, first);
	hob_str own = extra ? hob_pack_string(&w->scene, extra->values) : (hob_str){0};
	bool has_names = hob_str_find(own, HOB_STR("\"targetNames\":"), 0) != SIZE_MAX;
	hob_pack_array morphs = hob_pack_find(&w->meshes, HOB_PK_MRPH);
	hob_buf_printf(json, ",\"weights\":");
	for (uint32_t t = 0; t < mesh->morph_count; t++) {
		hob_buf_put(json, t ? "," : "[", 1);
		hob_put_f32(json, HOB_PACK_AT(hob_pk_morph, morphs, mesh->morph_first + t)->weight);
	}
	hob_buf_put(json, "]", 1);
	if (has_names || (own.len > 0 && own.data[0] != '{')) {
		hob_glb_extras(w, json, HOB_PK_EXTRA_MESH, first);
		return;
	}
	hob_buf_printf(json, ",\"extras\":{\"targetNames\":");
	for (uint32_t t = 0; t < mesh->morph_count; t++) {
		hob_buf_put(json, t ? "," : "[", 1);
		hob_buf_put_json(
			json,
			hob_pack_string(&w->meshes, HOB_PACK_AT(hob_pk_morph, morphs, mesh->morph_first + t)->name));
	}
	hob_buf_put(json, "]", 1);
	if (own.len > 2)
		hob_buf_printf(json, ",%.*s", (int)own.len - 2, own.data + 1);
	hob_buf_put(json, "}", 1);
}

static void put_mesh(glb_writer *w, uint32_t first, uint32_t count)
{
	hob_buf *json = hob_glb_next(w, GLB_LIST_MESHES);
	hob_buf_printf(json, "{\"primitives\":[");
	const hob_pk_mesh *any = NULL;
	for (uint32_t m = first; m < first + count; m++) {
		if (!hob_glb_drawable(w, m))
			continue;
		if (any)
			hob_buf_put(json, ",", 1);
		any = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, m);
		put_primitive(w, json, m);
	}
	hob_buf_put(json, "]", 1);
	hob_glb_name(json, hob_pack_string(&w->meshes, any->name));
	if (any->morph_count)
		put_target_names(w, json, any, first);
	else
		hob_glb_extras(w, json, HOB_PK_EXTRA_MESH, first);
	hob_buf_put(json, "}", 1);
}

uint32_t hob_glb_mesh_of(glb_writer *w, uint32_t first, uint32_t count)
{
	if (!w->mesh_place) {
		/* A packed mesh is the first of at most two glTF meshes: one with several primitives and one of its
		 * own. */
		w->mesh_place = HOB_NEW(w->arena, uint32_t, (size_t)w->geometry.meshes.count * 2);
		w->shared = HOB_NEW(w->arena, glb_shared, w->geometry.lods.count);
	}
	bool any = false;
	for (uint32_t m = first; m < first + count; m++)
		any = any || hob_glb_drawable(w, m);
	if (!any)
		return HOB_NONE;
	uint32_t *place = &w->mesh_place[(size_t)first * 2 + (count > 1)];
	if (!*place) {
		*place = w->lists[GLB_LIST_MESHES].count + 1;
		put_mesh(w, first, count);
	}
	return *place - 1;
}
