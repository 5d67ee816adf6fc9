#include "threemf_private.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "shape.h"
#include "text.h"

/* Triangles with one look. */
typedef struct bucket {
	hob_threemf_look look;
	uint32_t count;
} bucket;

typedef struct mesh_builder {
	hob_threemf *t;
	hob_threemf_resource *object;
	const hob_threemf_range *range;
	const float *position;
	const hob_threemf_triangle *triangles;
	uint32_t *bucket_of; /* [triangle_count] */
	uint32_t *head;		 /* [vertex_count] HOB_NONE between buckets */
	hob_buf buckets;
	hob_buf source, property, next; /* u32 per vertex of the current mesh */
	hob_name_map known;
	hob_str name;
	uint32_t default_group, default_property;
} mesh_builder;

static void property_of(const mesh_builder *b, const hob_threemf_triangle *from, uint32_t *group,
						uint32_t property[3])
{
	bool own = from->property[0] != HOB_NONE;
	*group = from->group != HOB_NONE ? from->group : b->default_group;
	for (int i = 0; i < 3; i++)
		property[i] = own && from->property[i] != HOB_NONE ? from->property[i]
					  : own								   ? from->property[0]
														   : b->default_property;
	if (b->t->layered && *group != HOB_NONE)
		hob_threemf_layer(b->t, b->object->part, group, property);
}

static void sort_triangles(mesh_builder *b)
{
	hob_arena *scratch = b->t->request->scratch;
	uint32_t last_group = HOB_NONE, last_property = HOB_NONE, last = HOB_NONE;
	memset(b->bucket_of, 0, b->range->triangle_count * sizeof *b->bucket_of);
	if (b->object->part == 0)
		hob_threemf_helper_triangles(b->t, b->object->id, b->bucket_of, b->range->triangle_count);
	for (uint32_t i = 0; i < b->range->triangle_count; i++) {
		uint32_t group, property[3], id = last;
		if (b->bucket_of[i] == HOB_NONE)
			continue;
		property_of(b, &b->triangles[i], &group, property);
		if (last == HOB_NONE || group != last_group || property[0] != last_property) {
			hob_threemf_look look = hob_threemf_look_of(b->t, b->object->part, group, property[0]);
			if (look.material == HOB_NONE)
				look.material = b->object->material;
			hob_str key =
				hob_arena_printf(scratch, "%u %u", look.material, look.colored || look.textured ? group : 0);
			id = hob_name_map_add(&b->known, key, HOB_LISTS_COUNT(b->buckets, bucket));
			if (id == HOB_LISTS_COUNT(b->buckets, bucket)) {
				bucket added = {look, 0};
				hob_buf_put(&b->buckets, &added, sizeof added);
			}
			last = id, last_group = group, last_property = property[0];
		}
		b->bucket_of[i] = id;
		HOB_THREEMF_AT(b->buckets, bucket, id)->count++;
	}
}

static uint32_t vertex_for(mesh_builder *b, uint32_t source, uint32_t property)
{
	const uint32_t *properties = (const uint32_t *)(const void *)b->property.data;
	const uint32_t *next = (const uint32_t *)(const void *)b->next.data;
	uint32_t v = b->head[source];
	while (v != HOB_NONE && properties[v] != property)
		v = next[v];
	if (v != HOB_NONE)
		return v;
	v = HOB_LISTS_COUNT(b->source, uint32_t);
	hob_buf_put(&b->source, &source, sizeof source);
	hob_buf_put(&b->property, &property, sizeof property);
	hob_buf_put(&b->next, &b->head[source], sizeof v);
	b->head[source] = v;
	return v;
}

static void fill_vertices(mesh_builder *b, const hob_threemf_look *look, hob_mesh *mesh)
{
	size_t count = HOB_LISTS_COUNT(b->source, uint32_t);
	hob_shape_allocate(mesh, count, false, look->colored, look->textured, b->t->request->result);
	for (size_t v = 0; v < count; v++) {
		uint32_t source = *HOB_THREEMF_AT(b->source, uint32_t, v),
				 property = *HOB_THREEMF_AT(b->property, uint32_t, v);
		memcpy(mesh->position + v * 3, b->position + (size_t)source * 3, 3 * sizeof(float));
		if (look->colored)
			hob_threemf_color(look->group, property, mesh->color[0] + v * 4);
		if (look->textured)
			hob_threemf_uv(look->group, property, mesh->uv[0] + v * 2);
		b->head[source] = HOB_NONE;
	}
}

static void make_mesh(mesh_builder *b, uint32_t index, uint32_t *bad)
{
	const bucket *from = HOB_THREEMF_AT(b->buckets, bucket, index);
	hob_mesh mesh = {.name = b->name,
					 .material = from->look.material,
					 .source_mesh = b->object->id,
					 .source_primitive = index,
					 .topology = HOB_TRIANGLES,
					 .flat = true};
	hob_buf_clear(&b->source);
	hob_buf_clear(&b->property);
	hob_buf_clear(&b->next);
	mesh.indices = HOB_NEW(b->t->request->result, uint32_t, (size_t)from->count * 3);
	bool corners = from->look.colored || from->look.textured;
	for (uint32_t i = 0; i < b->range->triangle_count; i++) {
		const hob_threemf_triangle *triangle = &b->triangles[i];
		uint32_t group, property[3], vertices = b->range->vertex_count;
		if (b->bucket_of[i] != index)
			continue;
		if (triangle->vertex[0] >= vertices || triangle->vertex[1] >= vertices ||
			triangle->vertex[2] >= vertices) {
			++*bad;
			continue;
		}
		property_of(b, triangle, &group, property);
		for (int k = 0; k < 3; k++)
			mesh.indices[mesh.index_count++] = vertex_for(b, triangle->vertex[k], corners ? property[k] : 0);
	}
	fill_vertices(b, &from->look, &mesh);
	hob_shape_fix_positions(&mesh, b->t->request->notes);
	if (mesh.index_count == 0)
		return;
	hob_lists_mesh(&b->t->lists, &mesh);
	b->object->mesh_count++;
}

static void build(mesh_builder *b)
{
	hob_arena *scratch = b->t->request->scratch;
	uint32_t bad = 0;
	b->bucket_of = HOB_NEW(scratch, uint32_t, b->range->triangle_count);
	b->head = HOB_NEW(scratch, uint32_t, b->range->vertex_count);
	memset(b->head, 0xFF, b->range->vertex_count * sizeof *b->head);
	hob_name_map_init(&b->known, scratch);
	sort_triangles(b);
	uint32_t buckets = HOB_LISTS_COUNT(b->buckets, bucket);
	/* Every bucket visits all triangles: limits the product of both. */
	if ((uint64_t)buckets * b->range->triangle_count > HOB_LIMIT_INDICES * 4)
		hob_leave(LIMIT, "an object of %u triangles in %u materials", b->range->triangle_count, buckets);
	for (uint32_t i = 0; i < buckets; i++)
		make_mesh(b, i, &bad);
	if (bad > 0)
		hob_warn(b->t->request->notes, "mesh.bad-faces",
				 "object '%.*s': %u faces use a vertex that does not exist; they are left out",
				 HOB_FMT(b->name), bad);
}

static const hob_threemf_range *range_of(const hob_threemf_part *part, const hob_xml_element *mesh)
{
	for (uint32_t i = 0; i < HOB_LISTS_COUNT(part->ranges, hob_threemf_range); i++)
		if (HOB_THREEMF_AT(part->ranges, hob_threemf_range, i)->mesh == mesh)
			return HOB_THREEMF_AT(part->ranges, hob_threemf_range, i);
	return NULL;
}

static void note_lost(hob_threemf *t, const hob_xml_element *mesh)
{
	static const char *const lost[] = {"beamlattice", "beamset", "booleans"};
	for (size_t i = 0; i < HOB_COUNT_OF(lost); i++)
		if (hob_xml_child(mesh, hob_str_of(lost[i])))
			hob_warn(t->request->notes, "3mf.extension",
					 "line %u: <%s> of an object is left out; export it as triangles", mesh->line, lost[i]);
}

/* The object's <mesh> or <displacementmesh>; NULL without one. Notes content that is not read. */
static const hob_xml_element *shape_of(hob_threemf *t, const hob_xml_element *object)
{
	const hob_xml_element *mesh = hob_xml_child(object, HOB_STR("mesh"));
	for (const hob_xml_element *e = object->first; e && !mesh; e = e->next) {
		/* A displaced mesh is read as a plain mesh. */
		if (hob_xml_is(e, HOB_STR("displacementmesh")))
			mesh = e;
		if (!hob_text_is_one_of(e->name, HOB_WORDS("mesh", "components", "metadatagroup")))
			hob_warn(t->request->notes, "3mf.extension",
					 "line %u: <%.*s> of an object is %s; export it as triangles", e->line, HOB_FMT(e->name),
					 mesh ? "read without its displacement" : "left out");
	}
	return mesh;
}

void hob_threemf_meshes(hob_threemf *t, hob_threemf_resource *object)
{
	const hob_xml_element *mesh = shape_of(t, object->element);
	const hob_threemf_part *part = HOB_THREEMF_AT(t->parts, hob_threemf_part, object->part);
	mesh_builder b = {.t = t, .object = object};
	if (object->made)
		return;
	object->made = true;
	object->mesh_first = HOB_LISTS_COUNT(t->lists.meshes, hob_mesh);
	b.range = mesh ? range_of(part, mesh) : NULL;
	if (mesh)
		note_lost(t, mesh);
	if (!b.range)
		return;
	b.position = HOB_THREEMF_AT(part->vertices, float, (size_t)b.range->vertex_first * 3);
	b.triangles = HOB_THREEMF_AT(part->triangles, hob_threemf_triangle, b.range->triangle_first);
	b.default_group = hob_xml_attr_u32(object->element, HOB_STR("pid"), HOB_NONE);
	b.default_property =
		hob_xml_attr_u32(object->element, HOB_STR("pindex"), b.default_group == HOB_NONE ? HOB_NONE : 0);
	b.name = hob_text_name(t->request->result, hob_xml_attr(object->element, HOB_STR("name")));
	build(&b);
	HOB_LISTS_FREE(&b.buckets, &b.source, &b.property, &b.next);
}
