#include "classic.h"

/* The checker reads records only by the offsets in classic.def. */
typedef struct checker {
	hob_bytes file;
	uint64_t at;
	hob_error *err;
} checker;

#define CHECK(c, condition, ...)                                                                             \
	do {                                                                                                     \
		if (!(condition))                                                                                    \
			return hob_fail((c)->err, CORRUPT, __VA_ARGS__);                                                 \
	} while (0)

static uint32_t u32_at(const checker *c, uint64_t offset)
{
	return hob_load_u32(c->file.data + offset);
}

static bool room(const checker *c, uint64_t bytes, const char *what)
{
	if (bytes > c->file.size - c->at)
		return hob_fail(c->err, TRUNCATED, "%s: %llu bytes at %llu of %zu", what, (unsigned long long)bytes,
						(unsigned long long)c->at, c->file.size);
	return true;
}

static bool finite_floats(const checker *c, uint64_t offset, uint64_t count, const char *what)
{
	for (uint64_t i = 0; i < count; i++)
		CHECK(c, (u32_at(c, offset + i * 4) & 0x7F800000u) != 0x7F800000u, "%s: float %llu is not finite",
			  what, (unsigned long long)i);
	return true;
}

static float f32_at(const checker *c, uint64_t offset)
{
	return hob_load_f32(c->file.data + offset);
}

static bool check_end(const checker *c)
{
	CHECK(c, c->at == c->file.size, "%llu bytes behind the end", (unsigned long long)(c->file.size - c->at));
	return true;
}

/* ---- .meshes ---- */

typedef struct mesh_totals {
	uint64_t records, boxes, indices, vertices;
	uint64_t next_index, next_vertex, index_count, vertex_count;
} mesh_totals;

static bool check_unused(const checker *c, uint64_t record, uint32_t from, uint32_t offset)
{
	for (uint32_t i = from; i < 8; i++)
		CHECK(c, u32_at(c, record + offset + i * 4) == 0, "entry %u of the array at %u is not zero", i,
			  offset);
	return true;
}

static bool check_mesh(const checker *c, mesh_totals *t, uint32_t mesh)
{
	uint64_t r = t->records + (uint64_t)mesh * 116, box = t->boxes + (uint64_t)mesh * 24;
	uint32_t lods = u32_at(c, r), vertices = u32_at(c, r + 16);
	CHECK(c, lods >= 1 && lods <= 7, "%u levels, a record holds 1 to 7", lods);
	CHECK(c, u32_at(c, r + 4) == 1, "%u streams", u32_at(c, r + 4));
	CHECK(c, u32_at(c, r + 8) == t->next_index, "indexOffset %u, want %llu", u32_at(c, r + 8),
		  (unsigned long long)t->next_index);
	CHECK(c, u32_at(c, r + 12) == t->next_vertex, "vertexOffset %u, want %llu", u32_at(c, r + 12),
		  (unsigned long long)t->next_vertex);
	CHECK(c, vertices <= t->vertex_count - t->next_vertex, "%u vertices, %llu are left", vertices,
		  (unsigned long long)(t->vertex_count - t->next_vertex));
	CHECK(c, u32_at(c, r + 20) == 0, "lodOffset[0] is %u", u32_at(c, r + 20));
	for (uint32_t l = 0; l < lods; l++) {
		uint32_t from = u32_at(c, r + 20 + l * 4), to = u32_at(c, r + 24 + l * 4);
		CHECK(c, from <= to && (to - from) % 3 == 0, "level %u has indices %u to %u", l, from, to);
	}
	uint32_t indices = u32_at(c, r + 20 + lods * 4);
	CHECK(c, indices <= t->index_count - t->next_index, "%u indices, %llu are left", indices,
		  (unsigned long long)(t->index_count - t->next_index));
	CHECK(c, u32_at(c, r + 52) == (uint32_t)(t->next_vertex * 32) && u32_at(c, r + 84) == 32,
		  "streamOffset[0] %u, streamElementSize[0] %u", u32_at(c, r + 52), u32_at(c, r + 84));
	if (!check_unused(c, r, lods + 1, 20) || !check_unused(c, r, 1, 52) || !check_unused(c, r, 1, 84) ||
		!finite_floats(c, box, 6, "box"))
		return false;
	for (uint32_t i = 0; i < 3; i++)
		CHECK(c, f32_at(c, box + i * 4) <= f32_at(c, box + 12 + i * 4), "box is inside out on axis %u", i);
	for (uint64_t i = 0; i < indices; i++) {
		uint32_t index = u32_at(c, t->indices + (t->next_index + i) * 4);
		CHECK(c, index < vertices, "index %u of %u vertices", index, vertices);
	}
	t->next_index += indices;
	t->next_vertex += vertices;
	return true;
}

static bool check_meshes(checker *c, uint32_t *mesh_count)
{
	if (!room(c, 20, "header"))
		return false;
	uint64_t count = u32_at(c, 4), index_bytes = u32_at(c, 12), vertex_bytes = u32_at(c, 16);
	CHECK(c, u32_at(c, 0) == 0x12345678u, "magic %08x", u32_at(c, 0));
	CHECK(c, u32_at(c, 8) == 20 + 116 * count, "dataBlockStartOffset %u for %llu meshes", u32_at(c, 8),
		  (unsigned long long)count);
	CHECK(c, index_bytes % 4 == 0 && vertex_bytes % 32 == 0, "%llu index bytes, %llu vertex bytes",
		  (unsigned long long)index_bytes, (unsigned long long)vertex_bytes);
	if (!room(c, 20 + 140 * count + index_bytes + vertex_bytes, "tables and data"))
		return false;
	mesh_totals t = {.records = 20,
					 .boxes = 20 + 116 * count,
					 .indices = 20 + 140 * count,
					 .index_count = index_bytes / 4,
					 .vertex_count = vertex_bytes / 32};
	t.vertices = t.indices + index_bytes;
	c->at = t.vertices + vertex_bytes;
	for (uint32_t m = 0; m < count; m++)
		if (!check_mesh(c, &t, m))
			return hob_fail_in(c->err, "mesh %u", m);
	CHECK(c, t.next_index == t.index_count && t.next_vertex == t.vertex_count,
		  "indices or vertices without a mesh");
	*mesh_count = (uint32_t)count;
	return finite_floats(c, t.vertices, vertex_bytes / 4, "vertices") && check_end(c);
}

/* ---- .materials ---- */

static bool check_strings(checker *c, const char *what, uint32_t *count)
{
	if (!room(c, 4, what))
		return false;
	*count = u32_at(c, c->at);
	c->at += 4;
	for (uint32_t i = 0; i < *count; i++) {
		if (!room(c, 4, what))
			return false;
		uint32_t length = u32_at(c, c->at);
		c->at += 4;
		if (!room(c, (uint64_t)length + 1, what))
			return false;
		hob_str text = {(const char *)c->file.data + c->at, length};
		CHECK(c, text.data[length] == 0 && !memchr(text.data, 0, length),
			  "%s: NUL in or none behind string %u", what, i);
		CHECK(c, hob_utf8_valid(text), "%s: string %u is not UTF-8", what, i);
		c->at += (uint64_t)length + 1;
	}
	return true;
}

static bool check_material(const checker *c, uint64_t record, uint32_t files)
{
	if (!finite_floats(c, record, 15, "material"))
		return false;
	CHECK(c, u32_at(c, record + 60) < 8, "flags %x", u32_at(c, record + 60));
	CHECK(c, f32_at(c, record + 48) >= 0 && f32_at(c, record + 48) <= 1,
		  "transparencyFactor is not within 0 and 1");
	for (uint32_t map = 0; map < 6; map++) {
		uint64_t id = hob_load_u64(c->file.data + record + 64 + map * 8);
		CHECK(c, id == 0xFFFFFFFFu || id < files, "texture %llu of %u in map %u", (unsigned long long)id,
			  files, map);
	}
	return true;
}

static bool check_materials(checker *c, uint32_t *material_count)
{
	if (!room(c, 4, "material count"))
		return false;
	uint32_t count = u32_at(c, 0), files;
	c->at = 4;
	if (!room(c, (uint64_t)count * 112, "materials"))
		return false;
	c->at += (uint64_t)count * 112;
	if (!check_strings(c, "texture files", &files))
		return false;
	for (uint32_t m = 0; m < count; m++)
		if (!check_material(c, 4 + (uint64_t)m * 112, files))
			return hob_fail_in(c->err, "material %u", m);
	*material_count = count;
	return check_end(c);
}

/* ---- .scene ---- */

typedef struct node_fields {
	int32_t parent, first_child, next_sibling, last_sibling, level;
} node_fields;

static node_fields node_at(const checker *c, uint32_t n, int64_t node)
{
	uint64_t at = 4 + (uint64_t)n * 128 + (uint64_t)node * 20;
	return (node_fields){(int32_t)u32_at(c, at), (int32_t)u32_at(c, at + 4), (int32_t)u32_at(c, at + 8),
						 (int32_t)u32_at(c, at + 12), (int32_t)u32_at(c, at + 16)};
}

static bool id_or_none(int32_t id, int64_t above, uint32_t n)
{
	return id == -1 || ((int64_t)id > above && (int64_t)id < (int64_t)n);
}

static bool check_node(const checker *c, uint32_t n, int64_t node)
{
	node_fields f = node_at(c, n, node);
	CHECK(c, f.parent >= -1 && f.parent < node, "parent %d", f.parent);
	int32_t level = f.parent < 0 ? 0 : node_at(c, n, f.parent).level + 1;
	CHECK(c, f.level == level, "level %d, want %d", f.level, level);
	CHECK(c, id_or_none(f.first_child, node, n) && id_or_none(f.next_sibling, node, n),
		  "firstChild %d, nextSibling %d", f.first_child, f.next_sibling);
	CHECK(c, f.first_child < 0 || node_at(c, n, f.first_child).parent == (int32_t)node,
		  "firstChild %d has another parent", f.first_child);
	CHECK(c, f.next_sibling < 0 || node_at(c, n, f.next_sibling).parent == f.parent,
		  "nextSibling %d has another parent", f.next_sibling);
	CHECK(c,
		  f.last_sibling == -1 || (f.last_sibling >= node && (int64_t)f.last_sibling < (int64_t)n &&
								   node_at(c, n, f.last_sibling).parent == f.parent &&
								   node_at(c, n, f.last_sibling).next_sibling == -1),
		  "lastSibling %d", f.last_sibling);
	return true;
}

/* Checks that each node except roots is reached once: a parent has one chain of children with rising ids, all
 * naming that parent. */
static bool check_reach(const checker *c, uint32_t n)
{
	uint64_t reached = 0, children = 0;
	for (int64_t node = 0; node < n; node++) {
		node_fields f = node_at(c, n, node);
		children += f.parent >= 0;
		int32_t last = -1;
		for (int32_t child = f.first_child; child >= 0; child = node_at(c, n, child).next_sibling) {
			reached++;
			last = child;
		}
		CHECK(c, last < 0 || node_at(c, n, f.first_child).last_sibling == last,
			  "lastSibling of child %d, want %d", f.first_child, last);
	}
	CHECK(c, reached == children, "%llu nodes have a parent, %llu are reached from one",
		  (unsigned long long)children, (unsigned long long)reached);
	return true;
}

static bool check_map(checker *c, uint32_t nodes, uint32_t values, const char *what)
{
	if (!room(c, 4, what))
		return false;
	uint32_t words = u32_at(c, c->at);
	c->at += 4;
	CHECK(c, words % 2 == 0, "%s has %u words", what, words);
	if (!room(c, (uint64_t)words * 4, what))
		return false;
	for (uint32_t i = 0, next = 0; i < words / 2; i++) {
		uint32_t key = u32_at(c, c->at + (uint64_t)i * 8), value = u32_at(c, c->at + (uint64_t)i * 8 + 4);
		CHECK(c, key >= next && key < nodes, "%s: node %u, want %u..%u", what, key, next, nodes);
		CHECK(c, value < values, "%s: %u of %u", what, value, values);
		next = key + 1;
	}
	c->at += (uint64_t)words * 4;
	return true;
}

static bool check_names(checker *c, uint32_t nodes, uint32_t materials)
{
	uint64_t map = c->at;
	uint32_t names, material_names;
	if (!check_map(c, nodes, UINT32_MAX, "nameForNode") || !check_strings(c, "names", &names) ||
		!check_strings(c, "material names", &material_names))
		return false;
	uint64_t end = c->at;
	c->at = map;
	if (!check_map(c, nodes, names, "nameForNode"))
		return false;
	c->at = end;
	CHECK(c, materials == UINT32_MAX || material_names == materials, "%u material names, %u materials",
		  material_names, materials);
	return true;
}

static bool check_scene(checker *c, uint32_t meshes, uint32_t materials)
{
	if (!room(c, 4, "node count"))
		return false;
	uint32_t n = u32_at(c, 0);
	c->at = 4;
	CHECK(c, n <= INT32_MAX, "%u nodes", n);
	if (!room(c, (uint64_t)n * 148, "nodes") || !finite_floats(c, 4, (uint64_t)n * 32, "matrices"))
		return false;
	c->at += (uint64_t)n * 148;
	for (int64_t node = 0; node < n; node++)
		if (!check_node(c, n, node))
			return hob_fail_in(c->err, "node %lld", (long long)node);
	if (!check_reach(c, n) || !check_map(c, n, materials, "materialForNode") ||
		!check_map(c, n, meshes, "meshes"))
		return false;
	if (c->at < c->file.size && !check_names(c, n, materials))
		return false;
	return check_end(c);
}

bool hob_classic_validate(hob_bytes file, hob_classic_kind kind, hob_error *err)
{
	checker c = {.file = file, .err = err};
	uint32_t count;
	switch (kind) {
	case HOB_CLASSIC_MESHES:
		return check_meshes(&c, &count);
	case HOB_CLASSIC_MATERIALS:
		return check_materials(&c, &count);
	case HOB_CLASSIC_SCENE:
		return check_scene(&c, UINT32_MAX, UINT32_MAX);
	default:
		return hob_fail(err, CORRUPT, "not a classic file");
	}
}

bool hob_classic_validate_set(hob_bytes meshes, hob_bytes materials, hob_bytes scene, hob_error *err)
{
	checker m = {.file = meshes, .err = err}, t = {.file = materials, .err = err},
			s = {.file = scene, .err = err};
	uint32_t mesh_count, material_count;
	if (!check_meshes(&m, &mesh_count))
		return hob_fail_in(err, "classic meshes");
	if (!check_materials(&t, &material_count))
		return hob_fail_in(err, "classic materials");
	if (!check_scene(&s, mesh_count, material_count))
		return hob_fail_in(err, "classic scene");
	return true;
}
