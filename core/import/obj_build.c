#include "obj_data.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "polygon.h"
#include "shape.h"
#include "text.h"

/* A mesh to build: the runs of one object, material and kind, as a chain in file order. */
typedef struct slot {
	uint32_t object; /* index in builder.objects */
	uint32_t material;
	hob_obj_kind kind;
	uint32_t first_run, last_run;
} slot;

typedef struct object {
	uint32_t name;					 /* id in data->objects or data->groups; HOB_NONE: unnamed */
	uint32_t slot_count, slot_first; /* of `order` */
} object;

/* A vertex of the current mesh, in a chain of those at the same position. */
typedef struct vertex {
	hob_obj_corner corner;
	uint32_t next;
} vertex;

typedef struct builder {
	const hob_import_request *request;
	const hob_obj_data *data;
	const uint32_t *material_ids;
	hob_model *model;
	bool by_object; /* objects come from "o" statements */
	hob_buf slots, objects;
	uint32_t *next_run; /* per run: the next run of its slot */
	uint32_t *order;	/* slots, grouped by object */
	uint32_t *head;		/* per position: its first vertex in the current mesh; all HOB_NONE between meshes */
	hob_buf vertices, ids, cut;
	hob_polygon polygon;
} builder;

/* ---- which runs make which mesh */

static uint32_t object_name(const builder *b, const hob_obj_run *run)
{
	return b->by_object ? run->object : run->group;
}

typedef struct slot_key {
	uint32_t object, material, kind;
} slot_key;

static uint32_t index_of(hob_name_map *map, const void *key, size_t size, uint32_t next)
{
	return hob_name_map_add(map, hob_arena_str(map->arena, (hob_str){key, size}), next);
}

static uint32_t object_of(builder *b, hob_name_map *map, uint32_t name)
{
	uint32_t next = HOB_LISTS_COUNT(b->objects, object), index = index_of(map, &name, sizeof name, next);
	if (index == next)
		hob_buf_put(&b->objects, &(object){.name = name}, sizeof(object));
	return index;
}

static slot *slot_of(builder *b, hob_name_map *map, slot_key key)
{
	uint32_t next = HOB_LISTS_COUNT(b->slots, slot), index = index_of(map, &key, sizeof key, next);
	if (index == next) {
		slot added = {key.object, key.material, (hob_obj_kind)key.kind, HOB_NONE, HOB_NONE};
		hob_buf_put(&b->slots, &added, sizeof added);
		HOB_OBJ_ARRAY(b->objects, object)[key.object].slot_count++;
	}
	return &HOB_OBJ_ARRAY(b->slots, slot)[index];
}

static void sort_runs(builder *b)
{
	const hob_obj_run *runs = HOB_OBJ_ARRAY(b->data->runs, hob_obj_run);
	uint32_t run_count = HOB_LISTS_COUNT(b->data->runs, hob_obj_run);
	hob_name_map object_map, slot_map;
	hob_name_map_init(&object_map, b->request->scratch);
	hob_name_map_init(&slot_map, b->request->scratch);
	b->next_run = HOB_NEW(b->request->scratch, uint32_t, run_count);
	for (uint32_t r = 0; r < run_count; r++)
		if (runs[r].count > 0 && runs[r].object != HOB_NONE)
			b->by_object = true;
	for (uint32_t r = 0; r < run_count; r++) {
		b->next_run[r] = HOB_NONE;
		if (runs[r].count == 0)
			continue;
		uint32_t of = object_of(b, &object_map, object_name(b, &runs[r]));
		slot *s = slot_of(b, &slot_map, (slot_key){of, runs[r].material, runs[r].kind});
		if (s->first_run == HOB_NONE)
			s->first_run = r;
		else
			b->next_run[s->last_run] = r;
		s->last_run = r;
	}
	uint32_t slot_count = HOB_LISTS_COUNT(b->slots, slot);
	if (slot_count > HOB_LIMIT_MESHES)
		hob_leave(LIMIT, "%u meshes (objects times materials), at most %llu are allowed", slot_count,
				  HOB_LIMIT_MESHES);
}

static void order_slots(builder *b)
{
	object *objects = HOB_OBJ_ARRAY(b->objects, object);
	const slot *slots = HOB_OBJ_ARRAY(b->slots, slot);
	uint32_t object_count = HOB_LISTS_COUNT(b->objects, object), slot_count = HOB_LISTS_COUNT(b->slots, slot);
	b->order = HOB_NEW(b->request->scratch, uint32_t, slot_count);
	uint32_t *at = HOB_NEW(b->request->scratch, uint32_t, object_count);
	uint32_t first = 0;
	for (uint32_t o = 0; o < object_count; o++) {
		objects[o].slot_first = at[o] = first;
		first += objects[o].slot_count;
	}
	for (uint32_t s = 0; s < slot_count; s++)
		b->order[at[slots[s].object]++] = s;
}

/* ---- vertices of a mesh */

static uint32_t vertex_for(builder *b, const hob_obj_corner *corner)
{
	const vertex *vertices = HOB_OBJ_ARRAY(b->vertices, vertex);
	for (uint32_t i = b->head[corner->v]; i != HOB_NONE; i = vertices[i].next)
		if (vertices[i].corner.vt == corner->vt && vertices[i].corner.vn == corner->vn)
			return i;
	uint32_t id = HOB_LISTS_COUNT(b->vertices, vertex);
	hob_buf_put(&b->vertices, &(vertex){*corner, b->head[corner->v]}, sizeof(vertex));
	b->head[corner->v] = id;
	return id;
}

static const uint32_t *corner_ids(builder *b, const hob_obj_corner *corners, uint32_t count)
{
	hob_buf_clear(&b->ids);
	uint32_t *ids = (uint32_t *)(void *)hob_buf_grow(&b->ids, count * sizeof *ids);
	for (uint32_t i = 0; i < count; i++)
		ids[i] = vertex_for(b, &corners[i]);
	return ids;
}

/* ---- elements */

static void put_polygon(builder *b, hob_mesh *to, const hob_obj_corner *corners, const uint32_t *ids,
						uint32_t count)
{
	hob_buf_clear(&b->cut);
	uint32_t triangles = (count - 2) * 3;
	uint32_t *positions =
		(uint32_t *)(void *)hob_buf_grow(&b->cut, ((size_t)count + triangles) * sizeof(uint32_t));
	uint32_t *cut = positions + count;
	for (uint32_t i = 0; i < count; i++)
		positions[i] = corners[i].v;
	hob_polygon_triangulate(&b->polygon, HOB_OBJ_ARRAY(b->data->positions, float), positions, count, cut);
	for (uint32_t i = 0; i < triangles; i++)
		to->indices[to->index_count++] = ids[cut[i]];
}

static void put_element(builder *b, hob_mesh *to, const hob_obj_corner *corners, uint32_t count)
{
	if (to->topology == HOB_TRIANGLES && count == 3) {
		for (uint32_t i = 0; i < 3; i++)
			to->indices[to->index_count++] = vertex_for(b, &corners[i]);
		return;
	}
	const uint32_t *ids = corner_ids(b, corners, count);
	if (to->topology == HOB_TRIANGLES)
		put_polygon(b, to, corners, ids, count);
	else if (to->topology == HOB_POINTS)
		for (uint32_t i = 0; i < count; i++)
			to->indices[to->index_count++] = ids[i];
	else
		for (uint32_t i = 0; i + 1 < count; i++) {
			to->indices[to->index_count++] = ids[i];
			to->indices[to->index_count++] = ids[i + 1];
		}
}

static uint64_t index_total(const builder *b, const slot *s)
{
	const hob_obj_run *runs = HOB_OBJ_ARRAY(b->data->runs, hob_obj_run);
	uint64_t total = 0;
	for (uint32_t r = s->first_run; r != HOB_NONE; r = b->next_run[r])
		for (uint32_t e = 0; e < runs[r].count; e++) {
			uint64_t size = HOB_OBJ_ARRAY(b->data->sizes, uint32_t)[runs[r].first + e];
			total += s->kind == HOB_OBJ_FACES	? (size - 2) * 3
					 : s->kind == HOB_OBJ_LINES ? (size - 1) * 2
												: size;
		}
	return total;
}

static void put_elements(builder *b, hob_mesh *to, const slot *s)
{
	const hob_obj_run *runs = HOB_OBJ_ARRAY(b->data->runs, hob_obj_run);
	for (uint32_t r = s->first_run; r != HOB_NONE; r = b->next_run[r]) {
		const hob_obj_corner *corners =
			HOB_OBJ_ARRAY(b->data->corners, hob_obj_corner) + runs[r].corner_first;
		const uint32_t *sizes = HOB_OBJ_ARRAY(b->data->sizes, uint32_t) + runs[r].first;
		for (uint32_t e = 0; e < runs[r].count; e++) {
			put_element(b, to, corners, sizes[e]);
			corners += sizes[e];
		}
	}
}

/* ---- streams */

/* Display (sRGB) values; some exporters write 0..255. */
static void convert_colors(float *colors, uint32_t count)
{
	float largest = 0;
	for (size_t i = 0; i < (size_t)count * 4; i++)
		largest = i % 4 != 3 && colors[i] > largest ? colors[i] : largest;
	float scale = largest > 1 ? 1.0f / 255 : 1;
	for (size_t i = 0; i < (size_t)count * 4; i++)
		if (i % 4 != 3)
			colors[i] = hob_shape_linear(colors[i] * scale < 1 ? colors[i] * scale : 1);
}

static void put_streams(builder *b, hob_mesh *to)
{
	const hob_obj_data *d = b->data;
	const vertex *vertices = HOB_OBJ_ARRAY(b->vertices, vertex);
	size_t count = HOB_LISTS_COUNT(b->vertices, vertex);
	bool uvs = false, normals = false, colors = d->colors.size > 0;
	for (size_t i = 0; i < count; i++) {
		uvs = uvs || vertices[i].corner.vt != HOB_NONE;
		normals = normals || vertices[i].corner.vn != HOB_NONE;
	}
	hob_shape_allocate(to, count, normals, colors, uvs, b->request->result);
	const float *positions = HOB_OBJ_ARRAY(d->positions, float), *uv_source = HOB_OBJ_ARRAY(d->uvs, float);
	const float *normal_source = HOB_OBJ_ARRAY(d->normals, float);
	const float *color_source = HOB_OBJ_ARRAY(d->colors, float);
	for (size_t i = 0; i < count; i++) {
		hob_obj_corner c = vertices[i].corner;
		memcpy(to->position + i * 3, positions + (size_t)c.v * 3, 3 * sizeof(float));
		/* A missing normal stays zero: the repair replaces it by a face's. */
		if (c.vn != HOB_NONE)
			memcpy(to->normal + i * 3, normal_source + (size_t)c.vn * 3, 3 * sizeof(float));
		if (c.vt != HOB_NONE) {
			to->uv[0][i * 2] = uv_source[(size_t)c.vt * 2];
			to->uv[0][i * 2 + 1] = 1 - uv_source[(size_t)c.vt * 2 + 1];
		}
		if (colors) {
			memcpy(to->color[0] + i * 4, color_source + (size_t)c.v * 3, 3 * sizeof(float));
			to->color[0][i * 4 + 3] = 1;
		}
		b->head[c.v] = HOB_NONE;
	}
	hob_shape_fix_floats(to->color[0], count * 4, 1);
	if (colors)
		convert_colors(to->color[0], to->vertex_count);
	hob_shape_fix_positions(to, b->request->notes);
	hob_shape_fix_floats(to->normal, count * 3, 0);
	hob_mesh_repair_directions(to);
	hob_shape_fix_floats(to->uv[0], count * 2, 0);
}

/* ---- meshes */

static hob_str name_of(const builder *b, uint32_t id)
{
	const hob_buf *names = b->by_object ? &b->data->objects : &b->data->groups;
	return id == HOB_NONE ? HOB_STR("")
						  : hob_text_name(b->request->result, HOB_OBJ_ARRAY(*names, hob_str)[id]);
}

static void build_mesh(builder *b, const slot *s, hob_mesh *to)
{
	static const hob_topology topologies[] = {HOB_TRIANGLES, HOB_LINES, HOB_POINTS};
	uint64_t total = index_total(b, s);
	if (total > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "%llu indices, at most %llu are allowed", (unsigned long long)total,
				  HOB_LIMIT_INDICES);
	to->topology = topologies[s->kind];
	uint32_t names = HOB_LISTS_COUNT(b->data->materials, hob_str);
	to->material = b->material_ids[s->material == HOB_NONE ? names : s->material];
	to->indices = HOB_NEW(b->request->result, uint32_t, total);
	hob_buf_clear(&b->vertices);
	put_elements(b, to, s);
	put_streams(b, to);
}

static void build_object(builder *b, uint32_t index)
{
	hob_model *model = b->model;
	const object *o = &HOB_OBJ_ARRAY(b->objects, object)[index];
	hob_node *node = &model->nodes[index];
	*node = hob_shape_plain_node(name_of(b, o->name));
	HOB_PLACE("object '@'", 0, node->name);
	node->source = index;
	node->mesh_first = model->mesh_count;
	node->mesh_count = o->slot_count;
	for (uint32_t i = 0; i < o->slot_count; i++) {
		const slot *s = &HOB_OBJ_ARRAY(b->slots, slot)[b->order[o->slot_first + i]];
		model->mesh_refs[model->mesh_count] = model->mesh_count;
		hob_mesh *to = &model->meshes[model->mesh_count++];
		*to = (hob_mesh){
			.name = node->name, .source_mesh = index, .source_primitive = i, .flat = b->data->flat};
		build_mesh(b, s, to);
	}
	model->node_count++;
}

static void allocate(builder *b, uint32_t objects, uint32_t meshes)
{
	hob_arena *arena = b->request->result;
	hob_model *model = b->model;
	uint32_t positions = HOB_LISTS_COUNT(b->data->positions, float[3]);
	b->head = HOB_NEW(b->request->scratch, uint32_t, positions);
	memset(b->head, 0xFF, positions * sizeof *b->head);
	model->meshes = HOB_NEW(arena, hob_mesh, meshes);
	model->mesh_refs = HOB_NEW(arena, uint32_t, meshes);
	model->nodes = HOB_NEW(arena, hob_node, objects);
}

static void build_all(builder *b)
{
	sort_runs(b);
	order_slots(b);
	uint32_t objects = HOB_LISTS_COUNT(b->objects, object);
	allocate(b, objects, HOB_LISTS_COUNT(b->slots, slot));
	for (uint32_t o = 0; o < objects; o++)
		build_object(b, o);
	b->model->mesh_ref_count = b->model->mesh_count;
	if (b->polygon.careless > 0)
		hob_warn(b->request->notes, "mesh.large-polygons",
				 "%llu large polygons that are not convex were cut without care; "
				 "triangulate them before export",
				 (unsigned long long)b->polygon.careless);
}

/* ---- a cloud of points */

static void build_cloud(builder *b)
{
	const hob_obj_data *d = b->data;
	uint32_t count = HOB_LISTS_COUNT(d->positions, float[3]);
	allocate(b, 1, 1);
	hob_mesh *to = &b->model->meshes[0];
	*to = (hob_mesh){.name = HOB_STR(""), .topology = HOB_POINTS, .index_count = count};
	to->material = b->material_ids[HOB_LISTS_COUNT(d->materials, hob_str)];
	to->indices = HOB_NEW(b->request->result, uint32_t, count);
	for (uint32_t i = 0; i < count; i++)
		to->indices[i] = vertex_for(b, &(hob_obj_corner){i, HOB_NONE, HOB_NONE});
	put_streams(b, to);
	b->model->nodes[0] = hob_shape_plain_node(HOB_STR(""));
	b->model->nodes[0].mesh_count = 1;
	b->model->mesh_count = b->model->mesh_ref_count = b->model->node_count = 1;
}

void hob_obj_build(const hob_import_request *request, const hob_obj_data *data, const uint32_t *material_ids,
				   hob_model *model)
{
	builder b = {.request = request, .data = data, .material_ids = material_ids, .model = model};
	model->space.material_colors = HOB_COLORS_LINEAR;
	model->space.vertex_colors = HOB_COLORS_SRGB;
	if (data->has_elements)
		build_all(&b);
	else
		build_cloud(&b);
	hob_model_one_scene(model, request->result);
}
