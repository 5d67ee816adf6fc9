#include "collada_private.h"

#include "../shape.h"
#include "../text.h"

enum { INPUTS_MAX = 64, STRIDE_MAX = 256 };

/* State for building a primitive's vertices. */
typedef struct part_builder {
	hob_collada *c;
	hob_collada_faces faces;
	hob_collada_input inputs[INPUTS_MAX];
	uint32_t input_count;
	uint32_t used[INPUTS_MAX], used_count; /* offsets in use within a tuple, the position's first */
	const hob_collada_source *position;
	uint32_t *vertex_of; /* [corner_count] */
} part_builder;

const hob_collada_input *hob_collada_input_of(const hob_collada_input *inputs, uint32_t count,
											  hob_str semantic)
{
	for (uint32_t i = 0; i < count; i++)
		if (hob_str_equal(inputs[i].semantic, semantic) && inputs[i].source)
			return &inputs[i];
	return NULL;
}

static const hob_collada_input *find(const part_builder *b, hob_str semantic)
{
	return hob_collada_input_of(b->inputs, b->input_count, semantic);
}

/* ---- inputs */

static uint32_t add_inputs(hob_collada *c, hob_xml_ptr element, const hob_collada_input *vertex,
						   hob_collada_input *out, uint32_t count, uint32_t most)
{
	for (hob_xml_ptr e = hob_xml_child(element, HOB_STR("input")); e && count < most;
		 e = hob_xml_next(e, HOB_STR("input"))) {
		hob_str semantic = hob_text_trim(hob_xml_attr(e, HOB_STR("semantic")));
		bool is_vertex = hob_str_equal(semantic, HOB_STR("VERTEX"));
		hob_collada_input input = {
			.semantic = semantic,
			.source = hob_collada_target(c, e, is_vertex ? "vertices" : "source", "source"),
			.offset = vertex ? vertex->offset : hob_xml_attr_u32(e, HOB_STR("offset"), 0),
			.set = hob_xml_attr_u32(e, HOB_STR("set"), 0),
			.of_vertex = vertex != NULL,
		};
		if (!vertex && is_vertex) {
			if (input.source)
				count = add_inputs(c, input.source, &input, out, count, most);
			continue;
		}
		out[count++] = input;
	}
	return count;
}

uint32_t hob_collada_inputs(hob_collada *c, hob_xml_ptr element, hob_collada_input *out, uint32_t most)
{
	return add_inputs(c, element, NULL, out, 0, most);
}

static uint32_t stride_of(hob_xml_ptr primitive)
{
	uint32_t most = 0;
	HOB_XML_EACH (e, primitive, "input") {
		uint32_t offset = hob_xml_attr_u32(e, HOB_STR("offset"), 0);
		most = offset > most ? offset : most;
	}
	return most < STRIDE_MAX ? most + 1 : 0;
}

/* Inputs of the primitive override those of <vertices>. */
static void drop_doubles(part_builder *b)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < b->input_count; i++) {
		bool hidden = b->inputs[i].source == NULL;
		for (uint32_t k = 0; k < b->input_count && b->inputs[i].of_vertex; k++)
			hidden = hidden || (!b->inputs[k].of_vertex && b->inputs[k].set == b->inputs[i].set &&
								hob_str_equal(b->inputs[k].semantic, b->inputs[i].semantic));
		if (!hidden)
			b->inputs[kept++] = b->inputs[i];
	}
	b->input_count = kept;
}

/* ---- vertices: one per distinct tuple of used offsets */

static void use_offset(part_builder *b, uint32_t offset)
{
	for (uint32_t i = 0; i < b->used_count; i++)
		if (b->used[i] == offset)
			return;
	b->used[b->used_count++] = offset;
}

static bool same_tuple(const part_builder *b, const uint32_t *x, const uint32_t *y)
{
	for (uint32_t i = 1; i < b->used_count; i++)
		if (x[b->used[i]] != y[b->used[i]])
			return false;
	return true;
}

/* First vertex of each point, HOB_NONE at first. */
static uint32_t *vertices_at(hob_collada *c, uint32_t points)
{
	uint32_t have = HOB_LISTS_COUNT(c->vertex_at, uint32_t);
	size_t more = points > have ? (points - have) * sizeof(uint32_t) : 0;
	if (more > 0)
		memset(hob_buf_grow(&c->vertex_at, more), 0xFF, more);
	return (uint32_t *)(void *)c->vertex_at.data;
}

static void unify(part_builder *b, hob_collada_part *part)
{
	hob_arena *work = &b->c->work, *keep = b->c->has_controllers ? b->c->request->scratch : work;
	const hob_collada_faces *f = &b->faces;
	const uint32_t *tuples = (const uint32_t *)(const void *)f->tuples.data;
	uint32_t points = b->position->count, count = 0;
	b->vertex_of = HOB_NEW(work, uint32_t, f->corner_count);
	uint32_t *corner = HOB_NEW(work, uint32_t, f->corner_count);
	uint32_t *next = HOB_NEW(work, uint32_t, f->corner_count);
	uint32_t *head = vertices_at(b->c, points);
	for (uint32_t i = 0; i < f->corner_count; i++) {
		const uint32_t *tuple = tuples + (size_t)i * f->stride;
		uint32_t point = tuple[b->used[0]];
		b->vertex_of[i] = HOB_NONE;
		if (point >= points)
			continue;
		uint32_t v = head[point];
		while (v != HOB_NONE && !same_tuple(b, tuples + (size_t)corner[v] * f->stride, tuple))
			v = next[v];
		if (v == HOB_NONE) {
			v = count++;
			corner[v] = i;
			next[v] = head[point];
			head[point] = v;
		}
		b->vertex_of[i] = v;
	}
	part->mesh.vertex_count = count;
	part->corner = HOB_NEW(keep, uint32_t, count);
	part->point = HOB_NEW(keep, uint32_t, count);
	for (uint32_t v = 0; v < count; v++) {
		uint32_t point = tuples[(size_t)corner[v] * f->stride + b->used[0]];
		head[point] = HOB_NONE;
		part->corner[v] = corner[v];
		part->point[v] = point;
	}
}

/* ---- attributes */

static float *fill(part_builder *b, const hob_collada_part *part, const hob_collada_input *input,
				   uint32_t width, float last)
{
	const hob_collada_source *source = hob_collada_floats(b->c, input->source);
	uint32_t count = part->mesh.vertex_count;
	float *out = HOB_NEW(b->c->request->result, float, (size_t)count *width);
	const uint32_t *tuples = (const uint32_t *)(const void *)b->faces.tuples.data;
	uint32_t missing = 0;
	for (uint32_t v = 0; v < count; v++) {
		uint32_t index = tuples[(size_t)part->corner[v] * b->faces.stride + input->offset];
		float *to = out + (size_t)v * width;
		to[width - 1] = last;
		if (source && index < source->count)
			hob_collada_item(source, index, to, width);
		else
			missing++;
	}
	if (missing > 0)
		hob_warn(b->c->request->notes, "collada.missing-item",
				 "line %u: %u vertices ask for a %.*s that the source does not hold; they have zeros",
				 part->primitive->line, missing, HOB_FMT(input->semantic));
	return out;
}

/* The bitangent gives the direction of the file's V, which points up. */
static void fill_tangents(part_builder *b, hob_collada_part *part)
{
	const hob_collada_input *t = find(b, HOB_STR("TEXTANGENT")), *s = find(b, HOB_STR("TEXBINORMAL"));
	if (!t)
		t = find(b, HOB_STR("TANGENT")), s = find(b, HOB_STR("BINORMAL"));
	if (!t || !s || !part->mesh.normal || part->uv_count == 0)
		return;
	float *tangent = fill(b, part, t, 4, 1), *bitangent = fill(b, part, s, 3, 0);
	for (size_t v = 0; v < part->mesh.vertex_count; v++) {
		const float *n = part->mesh.normal + v * 3, *y = bitangent + v * 3;
		float *x = tangent + v * 4;
		float side = (n[1] * x[2] - n[2] * x[1]) * y[0] + (n[2] * x[0] - n[0] * x[2]) * y[1] +
					 (n[0] * x[1] - n[1] * x[0]) * y[2];
		x[3] = side < 0 ? -1.0f : 1.0f;
	}
	part->mesh.tangent = tangent;
}

/* UV and colour sets in order of their numbers. */
static void fill_sets(part_builder *b, hob_collada_part *part)
{
	uint32_t colors = 0, left_out = 0;
	static const char *const names[] = {"TEXCOORD", "UV", "COLOR"};
	bool done[INPUTS_MAX] = {false};
	for (size_t kind = 0; kind < HOB_COUNT_OF(names); kind++)
		for (;;) {
			uint32_t best = HOB_NONE;
			for (uint32_t i = 0; i < b->input_count; i++)
				if (!done[i] && hob_str_equal(b->inputs[i].semantic, hob_str_of(names[kind])) &&
					(best == HOB_NONE || b->inputs[i].set < b->inputs[best].set))
					best = i;
			if (best == HOB_NONE)
				break;
			done[best] = true;
			bool color = kind == 2;
			if (color ? colors >= HOB_COLOR_SETS : part->uv_count >= HOB_UV_SETS) {
				left_out++;
				continue;
			}
			float *values = fill(b, part, &b->inputs[best], color ? 4 : 2, color ? 1 : 0);
			for (size_t v = 0; v < part->mesh.vertex_count && !color; v++)
				values[v * 2 + 1] = 1 - values[v * 2 + 1];
			if (color) {
				part->mesh.color[colors++] = values;
			} else {
				part->uv_set[part->uv_count] = b->inputs[best].set;
				part->mesh.uv[part->uv_count++] = values;
			}
		}
	if (left_out > 0)
		hob_warn(
			b->c->request->notes, "collada.many-sets",
			"line %u: %u sets of texture coordinates or colours are left out: %d and %d are kept at most",
			part->primitive->line, left_out, HOB_UV_SETS, HOB_COLOR_SETS);
}

static void fill_attributes(part_builder *b, hob_collada_part *part)
{
	hob_mesh *mesh = &part->mesh;
	const hob_collada_input *position = find(b, HOB_STR("POSITION")), *normal = find(b, HOB_STR("NORMAL"));
	mesh->position = fill(b, part, position, 3, 0);
	for (size_t i = 0; i < (size_t)mesh->vertex_count * 3; i++)
		mesh->position[i] *= b->c->unit;
	mesh->normal = normal ? fill(b, part, normal, 3, 0) : NULL;
	fill_sets(b, part);
	fill_tangents(b, part);
}

/* ---- faces */

static bool whole(const uint32_t *corners, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (corners[i] == HOB_NONE)
			return false;
	return true;
}

/* One polygon of `count` corners; the first `rings[0]` are its rim. */
static void put_polygon(part_builder *b, const hob_mesh *mesh, const uint32_t *corners, uint32_t count,
						const uint32_t *rings, uint32_t ring_count, hob_buf *work, hob_buf *out)
{
	size_t room = (size_t)count + 2 * (size_t)ring_count;
	hob_buf_clear(work);
	uint32_t *memory = (uint32_t *)(void *)hob_buf_grow(work, room * 5 * sizeof(uint32_t));
	uint32_t *ring = memory, *vertices = memory + room, *triangles = memory + room * 2;
	uint32_t length = count;
	if (ring_count > 1) {
		length = hob_polygon_join_holes(&b->c->polygon, mesh->position, corners, rings, ring_count, ring);
		for (uint32_t i = 0; i < length; i++)
			vertices[i] = corners[ring[i]];
	} else {
		memcpy(vertices, corners, count * sizeof *corners);
	}
	hob_polygon_triangulate(&b->c->polygon, mesh->position, vertices, length, triangles);
	uint32_t *to = (uint32_t *)(void *)hob_buf_grow(out, (size_t)(length - 2) * 3 * sizeof *to);
	for (size_t i = 0; i < (size_t)(length - 2) * 3; i++)
		to[i] = vertices[triangles[i]];
}

static void put_faces(part_builder *b, hob_collada_part *part, hob_buf *work, hob_buf *out, uint32_t *bad)
{
	const hob_collada_faces *f = &b->faces;
	const uint32_t *sizes = f->sizes.size > 0 ? (const uint32_t *)(const void *)f->sizes.data : NULL;
	const uint32_t *rings = f->rings.size > 0 ? (const uint32_t *)(const void *)f->rings.data : NULL;
	const uint32_t *holes = (const uint32_t *)(const void *)f->holes.data;
	const uint32_t *corners = b->vertex_of;
	for (uint32_t i = 0; i < f->face_count; i++) {
		uint32_t size = sizes ? sizes[i] : f->size;
		uint32_t ring_count = rings ? rings[i] : 1;
		bool good = size >= f->size && whole(corners, size);
		if (good && size == f->size && ring_count == 1)
			hob_buf_put(out, corners, size * sizeof *corners);
		else if (good)
			put_polygon(b, &part->mesh, corners, size, holes, ring_count, work, out);
		*bad += !good;
		corners += size;
		holes = rings ? holes + ring_count : holes;
	}
}

static void make_indices(part_builder *b, hob_collada_part *part)
{
	hob_buf work = {0}, out = {0};
	uint32_t bad = b->faces.dropped;
	put_faces(b, part, &work, &out, &bad);
	size_t count = out.size / sizeof(uint32_t);
	if (count > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "%zu indices, at most %llu are allowed", count, HOB_LIMIT_INDICES);
	part->mesh.indices =
		hob_lists_array(b->c->request->result, &out, sizeof(uint32_t), &part->mesh.index_count);
	HOB_LISTS_FREE(&work, &out);
	if (bad > 0)
		hob_warn(
			b->c->request->notes, "mesh.bad-faces",
			"line %u: %u faces have too few corners or use a position that does not exist; they are left out",
			part->primitive->line, bad);
}

/* ---- parts */

static void build_part(part_builder *b, hob_xml_ptr primitive, hob_collada_part *part)
{
	hob_collada *c = b->c;
	uint32_t stride = stride_of(primitive);
	if (stride == 0)
		hob_leave(CORRUPT, "line %u: a corner of more than %d indices", primitive->line, STRIDE_MAX);
	b->input_count = hob_collada_inputs(c, primitive, b->inputs, INPUTS_MAX);
	drop_doubles(b);
	const hob_collada_input *position = find(b, HOB_STR("POSITION"));
	if (!position)
		return;
	b->position = hob_collada_floats(c, position->source);
	if (!b->position) {
		hob_warn(c->request->notes, "collada.no-positions",
				 "line %u: a primitive without positions is left out", primitive->line);
		return;
	}
	const hob_collada_source held = *b->position;
	b->position = &held;
	hob_collada_read_faces(primitive, stride, &b->faces);
	if (b->faces.corner_count > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "%u corners, at most %llu are allowed", b->faces.corner_count, HOB_LIMIT_VERTICES);
	b->used_count = 0;
	use_offset(b, position->offset);
	for (uint32_t i = 0; i < b->input_count; i++)
		use_offset(b, b->inputs[i].offset);
	part->primitive = primitive;
	part->symbol = hob_xml_attr(primitive, HOB_STR("material"));
	part->mesh.material = HOB_NONE;
	part->mesh.topology = b->faces.size == 2 ? HOB_LINES : HOB_TRIANGLES;
	unify(b, part);
	fill_attributes(b, part);
	make_indices(b, part);
	hob_shape_fix_positions(&part->mesh, c->request->notes);
	hob_mesh_repair_directions(&part->mesh);
}

bool hob_collada_is_primitive(hob_xml_ptr e)
{
	return hob_text_is_one_of(e->name, HOB_WORDS("triangles", "polylist", "polygons", "tristrips", "trifans",
												 "lines", "linestrips"));
}

static void add_part(hob_collada *c, hob_xml_ptr primitive, hob_str name, hob_collada_shape *shape)
{
	part_builder *b = HOB_NEW(&c->work, part_builder, 1);
	hob_collada_part part = {0};
	b->c = c;
	part.mesh.name = name;
	part.mesh.source_mesh = shape->element->number;
	part.mesh.source_primitive = shape->part_count;
	HOB_PLACE("line #, geometry '@'", primitive->line, name);
	build_part(b, primitive, &part);
	HOB_LISTS_FREE(&b->faces.tuples, &b->faces.sizes, &b->faces.holes, &b->faces.rings);
	if (part.mesh.index_count == 0)
		return;
	if (!c->has_controllers)
		part.corner = part.point = NULL;
	hob_buf_put(&c->parts, &part, sizeof part);
	shape->part_count++;
}

static void shape_of_geometry(hob_collada *c, hob_xml_ptr geometry, hob_collada_shape *shape)
{
	hob_xml_ptr mesh = hob_xml_child_of(geometry, HOB_WORDS("mesh", "convex_mesh"));
	if (!mesh) {
		hob_warn(c->request->notes, "collada.no-mesh",
				 "line %u: geometry '%.*s' is not a mesh (a curve or a solid body) and is left out; export "
				 "it as a mesh",
				 geometry->line, HOB_FMT(hob_xml_attr(geometry, HOB_STR("id"))));
		return;
	}
	if (hob_xml_attr(mesh, HOB_STR("convex_hull_of")).len > 0)
		hob_warn(c->request->notes, "collada.no-mesh",
				 "line %u: geometry '%.*s' is the convex hull of another, which is not "
				 "made; export it as a mesh",
				 geometry->line, HOB_FMT(hob_xml_attr(geometry, HOB_STR("id"))));
	hob_str name = hob_collada_name(c, geometry);
	shape->part_first = HOB_LISTS_COUNT(c->parts, hob_collada_part);
	for (hob_xml_ptr e = mesh->first; e; e = e->next)
		if (hob_collada_is_primitive(e))
			add_part(c, e, name, shape);
	hob_collada_input inputs[INPUTS_MAX];
	uint32_t count = hob_collada_inputs(c, hob_xml_child(mesh, HOB_STR("vertices")), inputs, INPUTS_MAX);
	for (uint32_t i = 0; i < count; i++)
		if (hob_str_equal(inputs[i].semantic, HOB_STR("POSITION"))) {
			const hob_collada_source *source = hob_collada_floats(c, inputs[i].source);
			shape->point_count = source ? source->count : 0;
		}
}

/* ---- controllers */

static void copy_parts(hob_collada *c, const hob_collada_shape *from, hob_collada_shape *to)
{
	to->part_first = HOB_LISTS_COUNT(c->parts, hob_collada_part);
	to->part_count = from->part_count;
	to->point_count = from->point_count;
	for (uint32_t i = 0; i < from->part_count; i++) {
		hob_collada_part part = *HOB_LISTS_AT(c->parts, hob_collada_part, from->part_first + i);
		hob_buf_put(&c->parts, &part, sizeof part);
	}
}

/* ---- controllers -> morph targets */

static float *deltas(hob_collada *c, const float *from, const float *base, size_t count)
{
	float *out = HOB_NEW(c->request->result, float, count);
	for (size_t i = 0; i < count; i++)
		out[i] = base ? from[i] - base[i] : from[i];
	return out;
}

/* Copies to `position` and `normal` the target's vertices that come from the same corners as the vertices of
 * `part`, which is number `index` of its shape. False if the target has another structure. */
static bool match(const hob_collada *c, const hob_collada_part *part, const hob_collada_shape *target,
				  uint32_t index, float *position, float *normal)
{
	if (index >= target->part_count)
		return false;
	const hob_collada_part *other = HOB_LISTS_AT(c->parts, hob_collada_part, target->part_first + index);
	uint32_t at = 0;
	/* In both parts the vertices are in the order of the corners that made them. */
	for (uint32_t v = 0; v < part->mesh.vertex_count; v++) {
		while (at < other->mesh.vertex_count && other->corner[at] < part->corner[v])
			at++;
		if (at >= other->mesh.vertex_count || other->corner[at] != part->corner[v] ||
			other->point[at] != part->point[v])
			return false;
		memcpy(position + (size_t)v * 3, other->mesh.position + (size_t)at * 3, 3 * sizeof(float));
		if (normal && other->mesh.normal)
			memcpy(normal + (size_t)v * 3, other->mesh.normal + (size_t)at * 3, 3 * sizeof(float));
	}
	return true;
}

/* Reads positions from the target's source by the base's points: valid if both number their points alike. */
static void by_points(hob_collada *c, const hob_collada_part *part, hob_xml_ptr geometry, float *position)
{
	hob_collada_input inputs[INPUTS_MAX];
	const hob_collada_source *source = NULL;
	uint32_t count = hob_collada_inputs(c, hob_xml_find(geometry, "mesh/vertices"), inputs, INPUTS_MAX);
	for (uint32_t i = 0; i < count; i++)
		if (hob_str_equal(inputs[i].semantic, HOB_STR("POSITION")))
			source = hob_collada_floats(c, inputs[i].source);
	for (uint32_t v = 0; v < part->mesh.vertex_count; v++) {
		float *to = position + (size_t)v * 3;
		memcpy(to, part->mesh.position + (size_t)v * 3, 3 * sizeof(float));
		if (source && part->point[v] < source->count) {
			hob_collada_item(source, part->point[v], to, 3);
			for (int i = 0; i < 3; i++)
				to[i] *= c->unit;
		}
	}
}

static void add_target(hob_collada *c, hob_xml_ptr geometry, bool relative, uint32_t part_index,
					   uint32_t index, hob_morph_target *target)
{
	hob_arena *scratch = c->request->scratch;
	uint32_t shape = hob_collada_shape_of(c, geometry);
	const hob_collada_part *part = HOB_LISTS_AT(c->parts, hob_collada_part, part_index);
	size_t count = (size_t)part->mesh.vertex_count * 3;
	float *position = HOB_NEW(scratch, float, count);
	float *normal = part->mesh.normal && !relative ? HOB_NEW(scratch, float, count) : NULL;
	if (normal)
		memcpy(normal, part->mesh.normal, count * sizeof *normal);
	const hob_collada_shape *made =
		shape == HOB_NONE ? NULL : HOB_LISTS_AT(c->shapes, hob_collada_shape, shape);
	bool matched = made && match(c, part, made, index, position, normal);
	if (!matched)
		by_points(c, part, geometry, position);
	target->position = deltas(c, position, relative ? NULL : part->mesh.position, count);
	if (matched && normal)
		target->normal = deltas(c, normal, part->mesh.normal, count);
}

static void add_morph(hob_collada *c, hob_xml_ptr morph, uint32_t part_first, uint32_t part_count)
{
	hob_collada_input inputs[INPUTS_MAX];
	hob_xml_ptr names = NULL, weights = NULL;
	uint32_t count = hob_collada_inputs(c, hob_xml_child(morph, HOB_STR("targets")), inputs, INPUTS_MAX);
	bool relative = hob_str_equal(hob_xml_attr(morph, HOB_STR("method")), HOB_STR("RELATIVE"));
	for (uint32_t i = 0; i < count; i++) {
		if (hob_str_equal(inputs[i].semantic, HOB_STR("MORPH_TARGET")))
			names = inputs[i].source;
		if (hob_str_equal(inputs[i].semantic, HOB_STR("MORPH_WEIGHT")))
			weights = inputs[i].source;
	}
	hob_str list = hob_collada_names(names, NULL);
	uint32_t total = hob_text_count_words(list);
	if (total > HOB_LIMIT_TARGETS)
		hob_leave(LIMIT, "line %u: %u morph targets, at most %llu are allowed", morph->line, total,
				  HOB_LIMIT_TARGETS);
	const hob_collada_source *values = hob_collada_floats(c, weights);
	const hob_collada_source held = values ? *values : (hob_collada_source){0};
	for (uint32_t p = 0; p < part_count && total > 0; p++) {
		hob_morph_target *out = HOB_NEW(c->request->result, hob_morph_target, total);
		hob_str rest = list, word;
		for (uint32_t t = 0; (word = hob_text_word(&rest)).len > 0; t++) {
			hob_xml_ptr geometry = hob_collada_by_id(c, morph, "geometry", word);
			hob_collada_item(&held, t, &out[t].weight, 1);
			if (!geometry || !hob_xml_is(geometry, HOB_STR("geometry"))) {
				hob_warn(c->request->notes, "collada.missing-id",
						 "no geometry bears the id '%.*s', which is a morph target; it changes nothing",
						 HOB_FMT(word));
				continue;
			}
			out[t].name = hob_collada_name(c, geometry);
			add_target(c, geometry, relative, part_first + p, p, &out[t]);
		}
		hob_mesh *mesh = &HOB_LISTS_AT(c->parts, hob_collada_part, part_first + p)->mesh;
		mesh->targets = out;
		mesh->target_count = total;
	}
}

static void shape_of_controller(hob_collada *c, hob_xml_ptr controller, hob_collada_shape *shape)
{
	hob_xml_ptr skin = hob_xml_child(controller, HOB_STR("skin"));
	hob_xml_ptr morph = hob_xml_child(controller, HOB_STR("morph"));
	hob_xml_ptr deformer = skin ? skin : morph;
	hob_xml_ptr source = hob_collada_target(c, deformer, "geometry", "source");
	uint32_t base = source ? hob_collada_shape_of(c, source) : HOB_NONE;
	if (base == HOB_NONE)
		return;
	const hob_collada_shape from = *HOB_LISTS_AT(c->shapes, hob_collada_shape, base);
	copy_parts(c, &from, shape);
	shape->skin = skin ? skin : from.skin;
	if (shape->part_count == 0)
		return;
	if (!skin) {
		add_morph(c, morph, shape->part_first, shape->part_count);
		return;
	}
	hob_collada_pass(c);
	hob_collada_weigh(c, skin, HOB_LISTS_AT(c->parts, hob_collada_part, shape->part_first), shape->part_count,
					  shape->point_count);
	hob_collada_passed(c);
}

uint32_t hob_collada_shape_of(hob_collada *c, hob_xml_ptr element)
{
	uint32_t *slot = &c->slot[element->number];
	bool geometry = hob_xml_is(element, HOB_STR("geometry")),
		 controller = hob_xml_is(element, HOB_STR("controller"));
	if (!geometry && !controller)
		return HOB_NONE;
	if (*slot == HOB_NONE) {
		*slot = HOB_LISTS_COUNT(c->shapes, hob_collada_shape);
		hob_collada_shape shape = {.element = element, .placed = HOB_NONE, .failed = true};
		hob_buf_put(&c->shapes, &shape, sizeof shape);
		if (geometry) {
			hob_collada_pass(c);
			shape_of_geometry(c, element, &shape);
			hob_collada_passed(c);
		} else {
			shape_of_controller(c, element, &shape);
		}
		shape.failed = false;
		*HOB_LISTS_AT(c->shapes, hob_collada_shape, *slot) = shape;
	}
	if (HOB_LISTS_AT(c->shapes, hob_collada_shape, *slot)->failed)
		hob_leave(CORRUPT, "line %u: a controller deforms itself", element->line);
	return *slot;
}
