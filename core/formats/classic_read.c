#include "classic.h"

typedef struct cursor {
	const uint8_t *at;
	size_t left;
	hob_error *err;
} cursor;

/* Moves past `count` elements of `size` bytes, if the file has them. */
static bool take(cursor *c, uint64_t count, size_t size, const char *what, const uint8_t **out)
{
	if (count > c->left / size)
		return hob_fail(c->err, TRUNCATED, "%llu %s of %zu bytes, %zu bytes are left",
						(unsigned long long)count, what, size, c->left);
	*out = c->at;
	c->at += count * size;
	c->left -= (size_t)count * size;
	return true;
}

static bool take_u32(cursor *c, const char *what, uint32_t *out)
{
	const uint8_t *at;
	if (!take(c, 1, 4, what, &at))
		return false;
	*out = hob_load_u32(at);
	return true;
}

static bool at_end(const cursor *c)
{
	return c->left == 0 ? true : hob_fail(c->err, CORRUPT, "%zu bytes behind the end", c->left);
}

bool hob_classic_strings_next(hob_classic_strings *s, hob_str *out)
{
	if (!s->count)
		return false;
	uint32_t len = hob_load_u32(s->data);
	*out = (hob_str){(const char *)s->data + 4, len};
	s->data += (size_t)len + 5;
	s->size -= (size_t)len + 5;
	s->count--;
	return true;
}

static bool take_strings(cursor *c, const char *what, hob_classic_strings *out)
{
	const uint8_t *text;
	if (!take_u32(c, what, &out->count))
		return false;
	out->data = c->at;
	for (uint32_t i = 0; i < out->count; i++) {
		uint32_t len;
		if (!take_u32(c, what, &len) || !take(c, (uint64_t)len + 1, 1, what, &text))
			return hob_fail_in(c->err, "string %u of %u", i, out->count);
		if (text[len])
			return hob_fail(c->err, CORRUPT, "string %u of %u is not ended; %s", i, out->count, what);
	}
	out->size = (size_t)(c->at - out->data);
	return true;
}

static bool take_map(cursor *c, const char *what, hob_classic_map *out)
{
	uint32_t words;
	if (!take_u32(c, what, &words))
		return false;
	if (words % 2)
		return hob_fail(c->err, CORRUPT, "%u words do not make pairs; %s", words, what);
	out->count = words / 2;
	return take(c, out->count, 8, what, &out->pairs);
}

bool hob_classic_open_meshes(hob_bytes file, hob_classic_meshes *out, hob_error *err)
{
	cursor c = {file.data, file.size, err};
	hob_classic_meshes m;
	const uint8_t *header;
	if (!take(&c, 1, sizeof m.header, "header", &header))
		return false;
	memcpy(&m.header, header, sizeof m.header);
	if (m.header.magicValue != HOB_CLASSIC_MAGIC)
		return hob_fail(err, CORRUPT, "magic %08x, want %08x", m.header.magicValue, HOB_CLASSIC_MAGIC);
	if (m.header.indexDataSize % 4 || m.header.vertexDataSize % HOB_CLASSIC_VERTEX_BYTES)
		return hob_fail(err, CORRUPT, "%u bytes of indices, %u of vertices", m.header.indexDataSize,
						m.header.vertexDataSize);
	m.mesh_count = m.header.meshCount;
	m.index_count = m.header.indexDataSize / 4;
	m.vertex_count = m.header.vertexDataSize / HOB_CLASSIC_VERTEX_BYTES;
	if (!take(&c, m.mesh_count, sizeof(hob_classic_mesh), "meshes", &m.meshes) ||
		!take(&c, m.mesh_count, sizeof(hob_classic_box), "boxes", &m.boxes) ||
		!take(&c, m.index_count, 4, "indices", &m.indices) ||
		!take(&c, m.vertex_count, HOB_CLASSIC_VERTEX_BYTES, "vertices", &m.vertices) || !at_end(&c))
		return false;
	*out = m;
	return true;
}

bool hob_classic_open_materials(hob_bytes file, hob_classic_materials *out, hob_error *err)
{
	cursor c = {file.data, file.size, err};
	hob_classic_materials m;
	if (!take_u32(&c, "material count", &m.material_count) ||
		!take(&c, m.material_count, sizeof(hob_classic_material), "materials", &m.materials) ||
		!take_strings(&c, "texture files", &m.files) || !at_end(&c))
		return false;
	*out = m;
	return true;
}

bool hob_classic_open_scene(hob_bytes file, hob_classic_scene *out, hob_error *err)
{
	cursor c = {file.data, file.size, err};
	hob_classic_scene s = {0};
	if (!take_u32(&c, "node count", &s.node_count) ||
		!take(&c, s.node_count, 64, "local matrices", &s.local) ||
		!take(&c, s.node_count, 64, "world matrices", &s.global) ||
		!take(&c, s.node_count, sizeof(hob_classic_hierarchy), "nodes", &s.hierarchy) ||
		!take_map(&c, "material map", &s.materials) || !take_map(&c, "mesh map", &s.meshes))
		return false;
	s.has_names = c.left > 0;
	if (s.has_names &&
		(!take_map(&c, "name map", &s.names) || !take_strings(&c, "node names", &s.node_names) ||
		 !take_strings(&c, "material names", &s.material_names) || !at_end(&c)))
		return false;
	*out = s;
	return true;
}

hob_classic_mesh hob_classic_mesh_at(const hob_classic_meshes *meshes, uint32_t index)
{
	hob_classic_mesh record;
	memcpy(&record, meshes->meshes + (size_t)index * sizeof record, sizeof record);
	return record;
}

hob_classic_material hob_classic_material_at(const hob_classic_materials *materials, uint32_t index)
{
	hob_classic_material record;
	memcpy(&record, materials->materials + (size_t)index * sizeof record, sizeof record);
	return record;
}

hob_classic_hierarchy hob_classic_node_at(const hob_classic_scene *scene, uint32_t index)
{
	hob_classic_hierarchy record;
	memcpy(&record, scene->hierarchy + (size_t)index * sizeof record, sizeof record);
	return record;
}

hob_classic_kind hob_classic_sniff(hob_bytes file)
{
	hob_classic_meshes meshes;
	hob_classic_materials materials;
	hob_classic_scene scene;
	if (hob_classic_open_meshes(file, &meshes, NULL))
		return HOB_CLASSIC_MESHES;
	if (hob_classic_open_materials(file, &materials, NULL))
		return HOB_CLASSIC_MATERIALS;
	return hob_classic_open_scene(file, &scene, NULL) ? HOB_CLASSIC_SCENE : HOB_CLASSIC_NOTHING;
}
