#include "pack_cut.h"

#include "pack_geometry.h"
#include "pack_write.h"

#include "../base/limits.h"

typedef struct cutter {
	hob_arena *arena;
	hob_pack pack;
	hob_pack_geometry geometry;
	hob_pack_array morphs, deltas, variants, meshlets, meshlet_vertices, meshlet_triangles;
	hob_pack_array sets, groups, sources, attribute_errors;
	uint32_t *owner; /* [LODS] first mesh that begins with this level, HOB_NONE: none */
	uint32_t level;
	hob_bytes file;
	const hob_parallel *parallel;
	hob_buf *out;
	hob_error *err;
} cutter;

uint32_t hob_pack_level_count(const hob_pack *pack)
{
	hob_pack_array meshes = hob_pack_find(pack, HOB_PK_MDSC);
	uint32_t most = 0;
	for (uint32_t m = 0; m < meshes.count; m++) {
		uint32_t count = HOB_PACK_AT(hob_pk_mesh, meshes, m)->lod_count;
		most = count > most ? count : most;
	}
	return most;
}

#define CUT_NEW(c, type, count) ((type *)hob_arena_array((c)->arena, (count), sizeof(type), 16))

static hob_pack_array decoded(const cutter *c, uint32_t type)
{
	for (uint32_t i = 0; i < c->pack.section_count; i++)
		if (hob_pack_section(&c->pack, i)->type == type)
			return c->geometry.sections[i];
	return (hob_pack_array){0};
}

static bool put_streams(cutter *c, const hob_pk_mesh *from, hob_baked_mesh *to)
{
	if (from->layout == HOB_PK_NONE)
		return true;
	const hob_pk_layout *layout = HOB_PACK_AT(hob_pk_layout, c->geometry.layouts, from->layout);
	if (layout->stream_count > HOB_MAX_STREAMS || layout->attribute_count > HOB_MAX_ATTRIBUTES)
		return hob_fail(c->err, UNSUPPORTED, "a vertex layout of %u streams and %u attributes cannot be cut",
						layout->stream_count, layout->attribute_count);
	to->stream_count = layout->stream_count;
	for (uint32_t s = 0; s < layout->stream_count; s++) {
		hob_pack_array vertices = c->geometry.sections[layout->sections[s]];
		const uint8_t *first = vertices.data + (size_t)from->first_vertex * vertices.stride;
		to->streams[s] = (hob_baked_stream){vertices.stride, (uint8_t *)(uintptr_t)first};
	}
	to->attribute_count = layout->attribute_count;
	for (uint32_t a = 0; a < layout->attribute_count; a++) {
		const hob_pk_attribute *attribute =
			HOB_PACK_AT(hob_pk_attribute, c->geometry.attributes, layout->attribute_first + a);
		to->attributes[a] = (hob_baked_attribute){
			attribute->semantic, attribute->set,	attribute->components, attribute->encoding,
			attribute->format,	 attribute->stream, attribute->offset};
	}
	return true;
}

/* ---- levels */

static void put_meshlet(cutter *c, uint32_t id, hob_baked_mesh *to)
{
	const hob_pk_meshlet *from = HOB_PACK_AT(hob_pk_meshlet, c->meshlets, id);
	hob_baked_meshlet *meshlet = &to->meshlets[to->meshlet_count++];
	*meshlet = (hob_baked_meshlet){.radius = from->radius,
								   .cone_cutoff = from->cone_cutoff,
								   .vertex_offset = to->meshlet_vertex_count,
								   .triangle_offset = to->meshlet_triangle_bytes,
								   .vertex_count = from->vertex_count,
								   .triangle_count = from->triangle_count};
	memcpy(meshlet->center, from->center, sizeof meshlet->center);
	memcpy(meshlet->cone_axis, from->cone_axis, sizeof meshlet->cone_axis);
	for (uint32_t v = 0; v < from->vertex_count; v++)
		to->meshlet_vertices[to->meshlet_vertex_count++] =
			hob_load_u32(c->meshlet_vertices.data + (size_t)(from->vertex_offset + v) * 4);
	uint32_t bytes = from->triangle_count * 3u;
	memcpy(to->meshlet_triangles + to->meshlet_triangle_bytes,
		   c->meshlet_triangles.data + from->triangle_offset, bytes);
	to->meshlet_triangle_bytes += (bytes + 3) / 4 * 4;
}

typedef struct room {
	size_t meshlets, vertices, bytes;
} room_t;

static void add_room(const cutter *c, uint32_t first, uint32_t count, room_t *room)
{
	for (uint32_t i = 0; i < count; i++) {
		const hob_pk_meshlet *m = HOB_PACK_AT(hob_pk_meshlet, c->meshlets, first + i);
		room->meshlets++;
		room->vertices += m->vertex_count;
		room->bytes += (m->triangle_count * 3u + 3) / 4 * 4;
	}
}

static void put_clusters(cutter *c, const hob_pk_cluster_set *set, hob_baked_mesh *to)
{
	to->cluster_sources = CUT_NEW(c, uint32_t, set->cluster_count);
	to->groups = CUT_NEW(c, hob_baked_cluster_group, set->group_count);
	to->cluster_count = set->cluster_count;
	to->group_count = set->group_count;
	for (uint32_t i = 0; i < set->cluster_count; i++) {
		to->cluster_sources[i] = hob_load_u32(c->sources.data + (size_t)(set->cluster_first + i) * 4);
		put_meshlet(c, set->meshlet_first + i, to);
	}
	for (uint32_t g = 0; g < set->group_count; g++) {
		const hob_pk_cluster_group *from = HOB_PACK_AT(hob_pk_cluster_group, c->groups, set->group_first + g);
		to->groups[g] = (hob_baked_cluster_group){
			.error = from->error, .cluster_first = from->cluster_first, .cluster_count = from->cluster_count};
		memcpy(to->groups[g].sphere, from->sphere, sizeof to->groups[g].sphere);
	}
}

/* Finds the hierarchy of clusters of a mesh that begins with this level. */
static const hob_pk_cluster_set *set_of(const cutter *c, uint32_t lod_first)
{
	for (uint32_t i = 0; i < c->sets.count; i++)
		if (HOB_PACK_AT(hob_pk_cluster_set, c->sets, i)->lod_first == lod_first)
			return HOB_PACK_AT(hob_pk_cluster_set, c->sets, i);
	return NULL;
}

/* Puts meshlets. `set`: the hierarchy of clusters; NULL without one, or if the finest level is cut off. */
static void put_meshlets(cutter *c, const hob_pk_lod *const *levels, uint32_t count,
						 const hob_pk_cluster_set *set, hob_baked_mesh *to)
{
	room_t room = {0, 0, 0};
	for (uint32_t l = 0; l < count; l++)
		add_room(c, levels[l]->meshlet_first, levels[l]->meshlet_count, &room);
	if (set)
		add_room(c, set->meshlet_first, set->cluster_count, &room);
	to->meshlets = CUT_NEW(c, hob_baked_meshlet, room.meshlets);
	to->meshlet_vertices = CUT_NEW(c, uint32_t, room.vertices);
	to->meshlet_triangles = CUT_NEW(c, uint8_t, room.bytes);
	for (uint32_t l = 0; l < count; l++) {
		to->lods[l].meshlet_first = to->meshlet_count;
		to->lods[l].meshlet_count = levels[l]->meshlet_count;
		for (uint32_t i = 0; i < levels[l]->meshlet_count; i++)
			put_meshlet(c, levels[l]->meshlet_first + i, to);
	}
	if (set)
		put_clusters(c, set, to);
}

static hob_attribute_error attribute_error(const cutter *c, uint32_t level)
{
	if (level >= c->attribute_errors.count)
		return (hob_attribute_error){0};
	const hob_pk_lod_attributes *from = HOB_PACK_AT(hob_pk_lod_attributes, c->attribute_errors, level);
	return (hob_attribute_error){from->uv, from->color, from->weight};
}

static bool put_levels(cutter *c, const hob_pk_mesh *from, hob_baked_mesh *to)
{
	const hob_pk_lod *levels[HOB_MAX_LODS];
	if (from->lod_count == 0)
		return true;
	uint32_t first = c->level < from->lod_count ? c->level : from->lod_count - 1;
	uint32_t count = from->lod_count - first;
	if (count > HOB_MAX_LODS)
		return hob_fail(c->err, UNSUPPORTED, "%u levels of one mesh cannot be cut", count);
	size_t indices = 0;
	for (uint32_t l = 0; l < count; l++) {
		levels[l] = HOB_PACK_AT(hob_pk_lod, c->geometry.lods, from->lod_first + first + l);
		indices += levels[l]->index_count;
	}
	to->indices = CUT_NEW(c, uint32_t, indices);
	to->lod_count = count;
	for (uint32_t l = 0; l < count; l++) {
		to->lods[l] =
			(hob_baked_lod){.index_first = to->index_count,
							.index_count = levels[l]->index_count,
							.vertex_prefix = levels[l]->vertex_prefix,
							.error = levels[l]->error,
							.mean_error = hob_pack_lod_mean(c->geometry.pack, from->lod_first + first + l),
							.attributes = attribute_error(c, from->lod_first + first + l)};
		for (uint32_t i = 0; i < levels[l]->index_count; i++)
			to->indices[to->index_count++] = hob_pack_index(&c->geometry, levels[l], i);
	}
	if (first > 0)
		to->mesh.vertex_count = levels[0]->vertex_prefix;
	put_meshlets(c, levels, count, first == 0 ? set_of(c, from->lod_first) : NULL, to);
	return true;
}

/* ---- morph targets and variants */

static void put_target(cutter *c, const hob_pk_morph *from, uint32_t vertices, hob_morph_target *to)
{
	static const uint32_t bits[] = {HOB_PK_DELTA_POSITION, HOB_PK_DELTA_NORMAL, HOB_PK_DELTA_TANGENT};
	float **parts[] = {&to->position, &to->normal, &to->tangent};
	*to = (hob_morph_target){.name = hob_pack_string(&c->pack, from->name), .weight = from->weight};
	for (size_t p = 0; p < HOB_COUNT_OF(parts); p++)
		if (from->attribute_mask & bits[p])
			*parts[p] = CUT_NEW(c, float, (size_t)vertices * 3);
	for (uint32_t d = 0; d < from->delta_count; d++) {
		const hob_pk_delta *delta = HOB_PACK_AT(hob_pk_delta, c->deltas, from->delta_first + d);
		const float *values[] = {delta->position, delta->normal, delta->tangent};
		for (size_t p = 0; p < HOB_COUNT_OF(parts) && delta->vertex < vertices; p++)
			if (*parts[p])
				memcpy(*parts[p] + (size_t)delta->vertex * 3, values[p], 3 * sizeof(float));
	}
}

static void put_extras(cutter *c, const hob_pk_mesh *from, hob_baked_mesh *to)
{
	hob_mesh *mesh = &to->mesh;
	mesh->targets = CUT_NEW(c, hob_morph_target, from->morph_count);
	mesh->mappings = CUT_NEW(c, hob_variant_mapping, from->variant_count);
	mesh->target_count = from->morph_count;
	mesh->mapping_count = from->variant_count;
	for (uint32_t t = 0; t < from->morph_count; t++)
		put_target(c, HOB_PACK_AT(hob_pk_morph, c->morphs, from->morph_first + t), mesh->vertex_count,
				   &mesh->targets[t]);
	for (uint32_t v = 0; v < from->variant_count; v++) {
		const hob_pk_variant_map *map = HOB_PACK_AT(hob_pk_variant_map, c->variants, from->variant_first + v);
		mesh->mappings[v] = (hob_variant_mapping){map->variant, map->material};
	}
}

/* ---- the file */

static bool cut_mesh(cutter *c, const hob_pk_mesh *from, hob_baked_mesh *to)
{
	*to = (hob_baked_mesh){.mesh = {.name = hob_pack_string(&c->pack, from->name),
									.material = from->material,
									.source_mesh = from->source_mesh,
									.source_primitive = from->source_primitive,
									.topology = (hob_topology)from->topology,
									.vertex_count = from->vertex_count},
						   .flags = from->flags,
						   .skin = from->skin,
						   .pos_scale = from->pos_scale,
						   .uv_density = from->uv_density};
	memcpy(to->aabb_min, from->aabb_min, sizeof to->aabb_min);
	memcpy(to->aabb_max, from->aabb_max, sizeof to->aabb_max);
	memcpy(to->sphere, from->sphere, sizeof to->sphere);
	memcpy(to->pos_offset, from->pos_offset, sizeof to->pos_offset);
	memcpy(to->uv_scale, from->uv_scale, sizeof to->uv_scale);
	memcpy(to->uv_offset, from->uv_offset, sizeof to->uv_offset);
	if (!put_streams(c, from, to) || !put_levels(c, from, to))
		return false;
	put_extras(c, from, to);
	return true;
}

static void mark_copy(cutter *c, const hob_pk_mesh *from, uint32_t id, hob_baked_mesh *to)
{
	if (from->lod_count == 0)
		return;
	uint32_t *owner = &c->owner[from->lod_first];
	to->is_copy = *owner != HOB_NONE;
	if (to->is_copy)
		to->copy_of = *owner;
	else
		*owner = id;
}

static bool cut_open(cutter *c)
{
	if (!hob_pack_open(c->file, &c->pack, c->err))
		return false;
	if (c->pack.kind != HOB_PK_KIND_MESH)
		return hob_fail(c->err, UNSUPPORTED, "only a meshes file has levels of detail; this is of kind %s",
						hob_fourcc_text(c->pack.kind).text);
	uint32_t levels = hob_pack_level_count(&c->pack);
	if (c->level >= levels && levels < 2)
		return hob_fail(c->err, NOT_FOUND, "there is no level %u: these meshes have no levels of detail",
						c->level);
	if (c->level >= levels)
		return hob_fail(c->err, NOT_FOUND, "there is no level %u: these meshes have levels 0 to %u", c->level,
						levels - 1);
	if (!hob_pack_geometry_open(&c->pack, c->arena, &c->geometry, c->err))
		return false;
	c->owner = CUT_NEW(c, uint32_t, c->geometry.lods.count);
	memset(c->owner, 0xFF, c->geometry.lods.count * sizeof *c->owner);
	c->morphs = decoded(c, HOB_PK_MRPH);
	c->deltas = decoded(c, HOB_PK_MDLT);
	c->variants = decoded(c, HOB_PK_VMAP);
	c->meshlets = decoded(c, HOB_PK_MLET);
	c->meshlet_vertices = decoded(c, HOB_PK_MLVT);
	c->meshlet_triangles = decoded(c, HOB_PK_MLTR);
	c->attribute_errors = decoded(c, HOB_PK_LODA);
	c->sets = decoded(c, HOB_PK_CLST);
	c->groups = decoded(c, HOB_PK_CLGR);
	c->sources = decoded(c, HOB_PK_CLUS);
	return true;
}

static bool cut(void *context, hob_error *err)
{
	cutter *c = context;
	c->err = err;
	if (!cut_open(c))
		return false;
	uint32_t count = c->geometry.meshes.count;
	hob_baked_mesh *meshes = CUT_NEW(c, hob_baked_mesh, count);
	for (uint32_t m = 0; m < count; m++) {
		const hob_pk_mesh *from = HOB_PACK_AT(hob_pk_mesh, c->geometry.meshes, m);
		if (!cut_mesh(c, from, &meshes[m]))
			return hob_fail_in(err, "mesh %u", m);
		mark_copy(c, from, m, &meshes[m]);
	}
	bool raw = c->pack.header->flags & HOB_PK_FILE_RAW;
	hob_pack_options options = {.encode = raw ? HOB_PACK_RAW : HOB_PACK_MESHOPT, .parallel = c->parallel};
	return hob_pack_meshes(meshes, count, &options, c->out, err);
}

bool hob_pack_cut(hob_bytes file, uint32_t level, const hob_parallel *parallel, hob_buf *out, hob_error *err)
{
	hob_own_arena arena;
	hob_arena_init(&arena, HOB_LIMIT_COOK_ARENA_BYTES);
	cutter c = {.arena = &arena, .level = level, .file = file, .parallel = parallel, .out = out};
	return hob_guarded(cut, &c, err);
}
