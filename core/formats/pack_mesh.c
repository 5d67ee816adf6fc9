#include "pack_build.h"

#include "../base/limits.h"

#include <assert.h>

_Static_assert(HOB_PK_SEMANTIC_WEIGHTS == (int)HOB_SEMANTIC_WEIGHTS, "tables and baked.h disagree");
_Static_assert(HOB_PK_ENCODING_SCALED == (int)HOB_ENCODING_SCALED, "tables and baked.h disagree");
_Static_assert(HOB_PK_MESH_FLAT == (int)HOB_MESH_FLAT, "tables and baked.h disagree");
_Static_assert(HOB_PK_TOPOLOGY_POINTS == (int)HOB_POINTS, "tables and model.h disagree");
_Static_assert(sizeof(hob_baked_attribute) == 12, "compared by memcmp");
_Static_assert(HOB_MAX_STREAMS <= 4, "a layout record has room for four streams");

/* Index 65535 restarts primitives in WebGL 2, and glTF forbids it. */
enum { NARROW_VERTICES = 65535 };

typedef struct mesh_writer {
	pack_builder *b;
	const hob_baked_mesh *meshes;
	uint32_t count;
	hob_pk_mesh *records;
	hob_pk_lod *lods;
	hob_pk_layout *layouts;
	uint32_t *layout_mesh; /* [layout_count] first mesh of the layout */
	uint32_t layout_count, layout_room;
	hob_pk_morph *morphs;
	hob_pk_delta *deltas;
	hob_pk_variant_map *variants;
	hob_pk_meshlet *meshlets;
	hob_pk_cluster_set *sets;
	bool attribute_errors, mean_errors; /* some level has such errors */
	uint64_t set_count, group_count, cluster_count;
	uint64_t lod_count, attribute_count, morph_count, delta_count, variant_count, meshlet_count;
	uint64_t meshlet_vertex_count, meshlet_triangle_bytes;
} mesh_writer;

/* ---- layouts ---- */

static bool same_layout(const hob_baked_mesh *a, const hob_baked_mesh *b)
{
	if (a->attribute_count != b->attribute_count || a->stream_count != b->stream_count)
		return false;
	for (uint32_t s = 0; s < a->stream_count; s++)
		if (a->streams[s].stride != b->streams[s].stride)
			return false;
	return memcmp(a->attributes, b->attributes, a->attribute_count * sizeof a->attributes[0]) == 0;
}

static uint32_t layout_of(mesh_writer *w, uint32_t mesh)
{
	for (uint32_t l = 0; l < w->layout_count; l++)
		if (same_layout(&w->meshes[w->layout_mesh[l]], &w->meshes[mesh]))
			return l;
	if (w->layout_count == w->layout_room) {
		uint32_t room = w->layout_room ? w->layout_room * 2 : 16;
		hob_pk_layout *layouts = PACK_NEW(w->b, hob_pk_layout, room);
		uint32_t *first = PACK_NEW(w->b, uint32_t, room);
		if (w->layout_count) {
			memcpy(layouts, w->layouts, w->layout_count * sizeof *layouts);
			memcpy(first, w->layout_mesh, w->layout_count * sizeof *first);
		}
		w->layouts = layouts;
		w->layout_mesh = first;
		w->layout_room = room;
	}
	const hob_baked_mesh *m = &w->meshes[mesh];
	hob_pk_layout *layout = &w->layouts[w->layout_count];
	w->layout_mesh[w->layout_count] = mesh;
	layout->attribute_first = (uint32_t)w->attribute_count;
	layout->attribute_count = m->attribute_count;
	layout->stream_count = m->stream_count;
	for (uint32_t s = 0; s < 4; s++)
		layout->sections[s] = HOB_PK_NONE;
	w->attribute_count += m->attribute_count;
	return w->layout_count++;
}

static void put_attributes(mesh_writer *w)
{
	hob_pk_attribute *attributes =
		PACK_TABLE(w->b, HOB_PK_ATTR, hob_pk_attribute, (size_t)w->attribute_count);
	for (uint32_t l = 0; l < w->layout_count; l++) {
		const hob_baked_mesh *m = &w->meshes[w->layout_mesh[l]];
		for (uint32_t a = 0; a < m->attribute_count; a++) {
			const hob_baked_attribute *from = &m->attributes[a];
			attributes[w->layouts[l].attribute_first + a] = (hob_pk_attribute){
				.semantic = from->semantic,
				.set = from->set,
				.components = from->components,
				.encoding = from->encoding,
				.format = from->format,
				.stream = from->stream,
				.offset = from->offset,
			};
		}
	}
}

/* ---- morph targets ---- */

static bool moves(const hob_morph_target *t, uint32_t v)
{
	const float *parts[] = {t->position, t->normal, t->tangent};
	for (size_t p = 0; p < HOB_COUNT_OF(parts); p++)
		for (size_t i = 0; parts[p] && i < 3; i++)
			if (parts[p][(size_t)v * 3 + i] < 0 || parts[p][(size_t)v * 3 + i] > 0)
				return true;
	return false;
}

static void put_deltas(mesh_writer *w, hob_pk_morph *morph, const hob_morph_target *t, uint32_t vertex_count)
{
	morph->delta_first = (uint32_t)w->delta_count;
	morph->attribute_mask = (t->position ? HOB_PK_DELTA_POSITION : 0u) |
							(t->normal ? HOB_PK_DELTA_NORMAL : 0u) | (t->tangent ? HOB_PK_DELTA_TANGENT : 0u);
	for (uint32_t v = 0; v < vertex_count; v++) {
		if (!moves(t, v))
			continue;
		hob_pk_delta *d = &w->deltas[w->delta_count++];
		d->vertex = v;
		if (t->position)
			memcpy(d->position, t->position + (size_t)v * 3, sizeof d->position);
		if (t->normal)
			memcpy(d->normal, t->normal + (size_t)v * 3, sizeof d->normal);
		if (t->tangent)
			memcpy(d->tangent, t->tangent + (size_t)v * 3, sizeof d->tangent);
		for (size_t i = 0; i < 3; i++) {
			morph->min[i] = d->position[i] < morph->min[i] ? d->position[i] : morph->min[i];
			morph->max[i] = d->position[i] > morph->max[i] ? d->position[i] : morph->max[i];
		}
	}
	morph->delta_count = (uint32_t)w->delta_count - morph->delta_first;
}

static void put_morphs(mesh_writer *w)
{
	w->morphs = PACK_NEW(w->b, hob_pk_morph, (size_t)w->morph_count);
	w->deltas = PACK_NEW(w->b, hob_pk_delta, (size_t)w->delta_count);
	w->delta_count = 0;
	hob_pk_morph *morph = w->morphs;
	for (uint32_t m = 0; m < w->count; m++) {
		const hob_mesh *mesh = &w->meshes[m].mesh;
		w->records[m].morph_first = (uint32_t)(morph - w->morphs);
		w->records[m].morph_count = mesh->target_count;
		for (uint32_t t = 0; t < mesh->target_count; t++, morph++) {
			morph->mesh = m;
			morph->name = hob_pack_add_string(w->b, mesh->targets[t].name);
			morph->weight = mesh->targets[t].weight;
			put_deltas(w, morph, &mesh->targets[t], mesh->vertex_count);
		}
	}
}

/* ---- material variants ---- */

static uint32_t put_mappings(hob_pk_variant_map *out, const hob_mesh *mesh, uint32_t id)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < mesh->mapping_count; i++) {
		uint32_t variant = mesh->mappings[i].variant, at = count;
		while (at > 0 && out[at - 1].variant > variant)
			at--;
		if (at > 0 && out[at - 1].variant == variant)
			continue;
		memmove(out + at + 1, out + at, (count - at) * sizeof *out);
		out[at] = (hob_pk_variant_map){id, variant, mesh->mappings[i].material};
		count++;
	}
	return count;
}

static void put_variants(mesh_writer *w)
{
	w->variants = PACK_NEW(w->b, hob_pk_variant_map, (size_t)w->variant_count);
	w->variant_count = 0;
	for (uint32_t m = 0; m < w->count; m++) {
		w->records[m].variant_first = (uint32_t)w->variant_count;
		w->records[m].variant_count = put_mappings(w->variants + w->variant_count, &w->meshes[m].mesh, m);
		w->variant_count += w->records[m].variant_count;
	}
}

/* ---- GPU sections ---- */

static void put_vertices(mesh_writer *w)
{
	for (uint32_t l = 0; l < w->layout_count; l++) {
		const hob_baked_mesh *sample = &w->meshes[w->layout_mesh[l]];
		for (uint32_t s = 0; s < sample->stream_count; s++) {
			uint32_t users = 0;
			for (uint32_t m = 0; m < w->count; m++)
				users += w->records[m].layout == l && !w->meshes[m].is_copy;
			hob_bytes *pieces = PACK_NEW(w->b, hob_bytes, users);
			users = 0;
			for (uint32_t m = 0; m < w->count; m++) {
				const hob_baked_stream *stream = &w->meshes[m].streams[s];
				if (w->records[m].layout == l && !w->meshes[m].is_copy)
					pieces[users++] =
						(hob_bytes){stream->data, (size_t)w->meshes[m].mesh.vertex_count * stream->stride};
			}
			w->layouts[l].sections[s] = w->b->section_count;
			pack_section *section =
				hob_pack_add_gpu(w->b, HOB_PK_VTX_, pieces, users, w->layouts[l].vertex_count,
								 sample->streams[s].stride, HOB_PK_CODEC_MESHOPT_VERTEX);
			section->entry.part = (uint8_t)s;
			section->entry.owner = l;
		}
	}
}

static bool is_narrow(const hob_baked_mesh *m)
{
	return m->mesh.vertex_count <= NARROW_VERTICES;
}

/* Whether the mesh has such a level of its own: copies use the records of another mesh. */
static bool has_level(const hob_baked_mesh *m, uint32_t level, bool narrow)
{
	return !m->is_copy && m->lod_count > level && is_narrow(m) == narrow;
}

static const uint8_t *index_bytes(mesh_writer *w, const hob_baked_mesh *m, const hob_baked_lod *lod)
{
	if (!is_narrow(m))
		return (const uint8_t *)(m->indices + lod->index_first);
	uint16_t *narrow = PACK_NEW(w->b, uint16_t, lod->index_count);
	for (uint32_t i = 0; i < lod->index_count; i++)
		narrow[i] = (uint16_t)m->indices[lod->index_first + i];
	return (const uint8_t *)narrow;
}

static void put_index_section(mesh_writer *w, uint32_t level, bool narrow)
{
	uint32_t users = 0;
	for (uint32_t m = 0; m < w->count; m++)
		users += has_level(&w->meshes[m], level, narrow);
	if (!users)
		return;
	hob_bytes *pieces = PACK_NEW(w->b, hob_bytes, users);
	uint64_t total = 0;
	uint16_t codec = HOB_PK_CODEC_MESHOPT_INDEX;
	users = 0;
	for (uint32_t m = 0; m < w->count; m++) {
		const hob_baked_mesh *mesh = &w->meshes[m];
		if (!has_level(mesh, level, narrow))
			continue;
		const hob_baked_lod *lod = &mesh->lods[level];
		hob_pk_lod *record = &w->lods[w->records[m].lod_first + level];
		record->first_index = (uint32_t)total;
		record->index_section = w->b->section_count;
		pieces[users++] = (hob_bytes){index_bytes(w, mesh, lod), (size_t)lod->index_count * (narrow ? 2 : 4)};
		total += lod->index_count;
		if (mesh->mesh.topology != HOB_TRIANGLES)
			codec = HOB_PK_CODEC_MESHOPT_SEQUENCE;
	}
	hob_pack_add_gpu(w->b, HOB_PK_IDX_, pieces, users, (size_t)total, narrow ? 2 : 4, codec)->entry.part =
		(uint8_t)level;
}

static void put_indices(mesh_writer *w)
{
	for (uint32_t level = HOB_MAX_LODS; level-- > 0;) {
		put_index_section(w, level, true);
		put_index_section(w, level, false);
	}
}

static void put_meshlets(mesh_writer *w)
{
	if (!w->meshlet_count)
		return;
	hob_pk_meshlet *out = PACK_NEW(w->b, hob_pk_meshlet, (size_t)w->meshlet_count);
	hob_bytes *vertices = PACK_NEW(w->b, hob_bytes, w->count), *table = PACK_NEW(w->b, hob_bytes, w->count),
			  *triangles = PACK_NEW(w->b, hob_bytes, w->count);
	uint32_t count = 0, vertex_base = 0, triangle_base = 0;
	for (uint32_t m = 0; m < w->count; m++) {
		const hob_baked_mesh *mesh = &w->meshes[m];
		if (mesh->is_copy)
			continue;
		table[m] = (hob_bytes){(const uint8_t *)(out + count), mesh->meshlet_count * sizeof *out};
		for (uint32_t i = 0; i < mesh->meshlet_count; i++) {
			const hob_baked_meshlet *from = &mesh->meshlets[i];
			hob_pk_meshlet *to = &out[count++];
			memcpy(to->center, from->center, sizeof to->center);
			memcpy(to->cone_axis, from->cone_axis, sizeof to->cone_axis);
			to->radius = from->radius;
			to->cone_cutoff = from->cone_cutoff;
			to->vertex_offset = vertex_base + from->vertex_offset;
			to->triangle_offset = triangle_base + from->triangle_offset;
			to->vertex_count = from->vertex_count;
			to->triangle_count = from->triangle_count;
		}
		vertices[m] =
			(hob_bytes){(const uint8_t *)mesh->meshlet_vertices, (size_t)mesh->meshlet_vertex_count * 4};
		triangles[m] = (hob_bytes){mesh->meshlet_triangles, mesh->meshlet_triangle_bytes};
		assert(mesh->meshlet_triangle_bytes % 4 == 0);
		vertex_base += mesh->meshlet_vertex_count;
		triangle_base += mesh->meshlet_triangle_bytes;
	}
	hob_pack_add_gpu(w->b, HOB_PK_MLET, table, w->count, count, sizeof *out, HOB_PK_CODEC_MESHOPT_VERTEX);
	hob_pack_add_gpu(w->b, HOB_PK_MLVT, vertices, w->count, vertex_base, 4, HOB_PK_CODEC_MESHOPT_SEQUENCE);
	hob_pack_add_gpu(w->b, HOB_PK_MLTR, triangles, w->count, triangle_base, 1, HOB_PK_CODEC_RAW);
}

/* ---- hierarchies of clusters */

static bool has_clusters(const hob_baked_mesh *m)
{
	return !m->is_copy && m->group_count > 0;
}

static void put_set(mesh_writer *w, const hob_baked_mesh *mesh, uint32_t lod_first, uint32_t meshlet_end)
{
	w->sets[w->set_count++] = (hob_pk_cluster_set){.lod_first = lod_first,
												   .group_first = (uint32_t)w->group_count,
												   .group_count = mesh->group_count,
												   .cluster_first = (uint32_t)w->cluster_count,
												   .cluster_count = mesh->cluster_count,
												   .meshlet_first = meshlet_end - mesh->cluster_count};
	w->group_count += mesh->group_count;
	w->cluster_count += mesh->cluster_count;
}

static void put_groups(hob_pk_cluster_group *out, const hob_baked_mesh *mesh)
{
	for (uint32_t g = 0; g < mesh->group_count; g++) {
		const hob_baked_cluster_group *from = &mesh->groups[g];
		out[g] = (hob_pk_cluster_group){
			.error = from->error, .cluster_first = from->cluster_first, .cluster_count = from->cluster_count};
		memcpy(out[g].sphere, from->sphere, sizeof out[g].sphere);
	}
}

static void put_clusters(mesh_writer *w)
{
	if (!w->set_count)
		return;
	w->sets = PACK_TABLE(w->b, HOB_PK_CLST, hob_pk_cluster_set, (size_t)w->set_count);
	hob_pk_cluster_group *group = PACK_TABLE(w->b, HOB_PK_CLGR, hob_pk_cluster_group, (size_t)w->group_count);
	uint32_t *sources = PACK_TABLE(w->b, HOB_PK_CLUS, uint32_t, (size_t)w->cluster_count), meshlet_end = 0;
	w->set_count = w->group_count = w->cluster_count = 0;
	for (uint32_t m = 0; m < w->count; m++) {
		const hob_baked_mesh *mesh = &w->meshes[m];
		meshlet_end += mesh->is_copy ? 0 : mesh->meshlet_count;
		if (!has_clusters(mesh))
			continue;
		put_groups(group + w->group_count, mesh);
		memcpy(sources + w->cluster_count, mesh->cluster_sources, mesh->cluster_count * sizeof *sources);
		put_set(w, mesh, w->records[m].lod_first, meshlet_end);
	}
}

static void put_delta_section(mesh_writer *w)
{
	if (!w->delta_count)
		return;
	hob_bytes *piece = PACK_NEW(w->b, hob_bytes, 1);
	*piece = (hob_bytes){(const uint8_t *)w->deltas, (size_t)w->delta_count * sizeof *w->deltas};
	hob_pack_add_gpu(w->b, HOB_PK_MDLT, piece, 1, (size_t)w->delta_count, sizeof *w->deltas,
					 HOB_PK_CODEC_MESHOPT_VERTEX);
}

/* ---- the file ---- */

static void count_all(mesh_writer *w)
{
	for (uint32_t m = 0; m < w->count; m++) {
		const hob_baked_mesh *mesh = &w->meshes[m];
		assert(!mesh->is_copy || (mesh->copy_of < m && !w->meshes[mesh->copy_of].is_copy));
		w->lod_count += mesh->is_copy ? 0 : mesh->lod_count;
		w->morph_count += mesh->mesh.target_count;
		w->variant_count += mesh->mesh.mapping_count;
		w->meshlet_count += mesh->is_copy ? 0 : mesh->meshlet_count;
		w->meshlet_vertex_count += mesh->is_copy ? 0 : mesh->meshlet_vertex_count;
		w->meshlet_triangle_bytes += mesh->is_copy ? 0 : mesh->meshlet_triangle_bytes;
		if (has_clusters(mesh)) {
			w->set_count++;
			w->group_count += mesh->group_count;
			w->cluster_count += mesh->cluster_count;
		}
		for (uint32_t t = 0; t < mesh->mesh.target_count; t++)
			for (uint32_t v = 0; v < mesh->mesh.vertex_count; v++)
				w->delta_count += moves(&mesh->mesh.targets[t], v);
	}
	const uint64_t counts[] = {w->lod_count,	 w->morph_count,		  w->variant_count,
							   w->meshlet_count, w->meshlet_vertex_count, w->meshlet_triangle_bytes,
							   w->delta_count,	 w->group_count};
	for (size_t i = 0; i < HOB_COUNT_OF(counts); i++)
		if (counts[i] >= HOB_PK_NONE)
			hob_pack_refuse(w->b, "%llu levels, morph targets, deltas or meshlet parts do not fit one file",
							(unsigned long long)counts[i]);
}

static void put_lods(mesh_writer *w, uint32_t m, uint32_t *next_lod, uint32_t *next_meshlet)
{
	const hob_baked_mesh *mesh = &w->meshes[m];
	w->records[m].lod_first = mesh->is_copy ? w->records[mesh->copy_of].lod_first : *next_lod;
	w->records[m].lod_count = mesh->lod_count;
	if (mesh->is_copy)
		return;
	for (uint32_t l = 0; l < mesh->lod_count; l++)
		w->lods[(*next_lod)++] = (hob_pk_lod){
			.index_count = mesh->lods[l].index_count,
			.vertex_prefix = mesh->lods[l].vertex_prefix,
			.error = mesh->lods[l].error,
			.meshlet_first = mesh->lods[l].meshlet_count ? *next_meshlet + mesh->lods[l].meshlet_first : 0,
			.meshlet_count = mesh->lods[l].meshlet_count,
		};
	*next_meshlet += mesh->meshlet_count;
}

/* Adds the sections of attribute errors and of mean errors, each unless all are 0. */
static void put_errors(mesh_writer *w)
{
	hob_pk_lod_attributes *attributes = PACK_NEW(w->b, hob_pk_lod_attributes, (size_t)w->lod_count);
	float *means = PACK_NEW(w->b, float, (size_t)w->lod_count);
	for (uint32_t m = 0; m < w->count; m++)
		for (uint32_t l = 0; l < w->meshes[m].lod_count && !w->meshes[m].is_copy; l++) {
			const hob_baked_lod *lod = &w->meshes[m].lods[l];
			uint32_t at = w->records[m].lod_first + l;
			attributes[at] = (hob_pk_lod_attributes){
				.uv = lod->attributes.uv, .color = lod->attributes.color, .weight = lod->attributes.weight};
			means[at] = lod->mean_error;
			w->attribute_errors = w->attribute_errors || lod->attributes.uv > 0 ||
								  lod->attributes.color > 0 || lod->attributes.weight > 0;
			w->mean_errors = w->mean_errors || lod->mean_error > 0;
		}
	if (w->attribute_errors)
		hob_pack_add(w->b, HOB_PK_LODA, attributes, (size_t)w->lod_count, sizeof *attributes);
	if (w->mean_errors)
		hob_pack_add(w->b, HOB_PK_LODM, means, (size_t)w->lod_count, sizeof *means);
}

static void put_record(mesh_writer *w, uint32_t m)
{
	const hob_baked_mesh *mesh = &w->meshes[m];
	hob_pk_mesh *r = &w->records[m];
	r->name = hob_pack_add_string(w->b, mesh->mesh.name);
	r->material = mesh->mesh.material;
	r->flags = mesh->flags;
	r->vertex_count = mesh->mesh.vertex_count;
	r->skin = mesh->skin;
	r->source_mesh = mesh->mesh.source_mesh;
	r->source_primitive = mesh->mesh.source_primitive;
	r->topology = mesh->mesh.topology;
	r->pos_scale = mesh->pos_scale;
	r->uv_density = mesh->uv_density;
	memcpy(r->aabb_min, mesh->aabb_min, sizeof r->aabb_min);
	memcpy(r->aabb_max, mesh->aabb_max, sizeof r->aabb_max);
	memcpy(r->sphere, mesh->sphere, sizeof r->sphere);
	memcpy(r->pos_offset, mesh->pos_offset, sizeof r->pos_offset);
	memcpy(r->uv_scale, mesh->uv_scale, sizeof r->uv_scale);
	memcpy(r->uv_offset, mesh->uv_offset, sizeof r->uv_offset);
	for (uint32_t a = 0; a < mesh->attribute_count; a++)
		r->influence_count += mesh->attributes[a].semantic == HOB_SEMANTIC_JOINTS ? 4 : 0;
	r->layout = HOB_PK_NONE;
	if (!mesh->mesh.vertex_count)
		return;
	if (mesh->is_copy) {
		r->layout = w->records[mesh->copy_of].layout;
		r->first_vertex = w->records[mesh->copy_of].first_vertex;
		return;
	}
	r->layout = layout_of(w, m);
	hob_pk_layout *layout = &w->layouts[r->layout];
	r->first_vertex = layout->vertex_count;
	if (__builtin_add_overflow(layout->vertex_count, r->vertex_count, &layout->vertex_count))
		hob_pack_refuse(w->b, "meshes of one vertex layout have more than 2^32 vertices");
}

static void put_all(mesh_writer *w)
{
	w->records = PACK_NEW(w->b, hob_pk_mesh, w->count);
	w->lods = PACK_NEW(w->b, hob_pk_lod, (size_t)w->lod_count);
	uint32_t next_lod = 0, next_meshlet = 0;
	for (uint32_t m = 0; m < w->count; m++) {
		put_record(w, m);
		put_lods(w, m, &next_lod, &next_meshlet);
	}
	put_morphs(w);
	put_variants(w);
	hob_pack_add_ranges(w->b);
	hob_pack_add(w->b, HOB_PK_MDSC, w->records, w->count, sizeof *w->records);
	hob_pack_add(w->b, HOB_PK_LODS, w->lods, (size_t)w->lod_count, sizeof *w->lods);
	put_errors(w);
	hob_pack_add(w->b, HOB_PK_LAYT, w->layouts, w->layout_count, sizeof *w->layouts);
	put_attributes(w);
	hob_pack_add(w->b, HOB_PK_MRPH, w->morphs, (size_t)w->morph_count, sizeof *w->morphs);
	hob_pack_add(w->b, HOB_PK_VMAP, w->variants, (size_t)w->variant_count, sizeof *w->variants);
	put_clusters(w);
	put_vertices(w);
	put_indices(w);
	put_meshlets(w);
	put_delta_section(w);
}

static void put_file(pack_builder *b, const void *from)
{
	mesh_writer w = *(const mesh_writer *)from;
	w.b = b;
	count_all(&w);
	if (!b->failed)
		put_all(&w);
	bool scaled = false;
	for (uint32_t m = 0; m < w.count; m++) {
		const hob_baked_mesh *mesh = &w.meshes[m];
		for (uint32_t i = 0; i < mesh->attribute_count; i++)
			scaled = scaled ||
					 (mesh->attributes[i].set > 0 && mesh->attributes[i].encoding == HOB_ENCODING_SCALED);
		if (mesh->flags & HOB_MESH_FLAT || mesh->is_copy)
			b->ver_minor = 2;
		b->flags |= mesh->flags & HOB_MESH_QUANTIZED ? HOB_PK_FILE_QUANTIZED : 0u;
		b->flags |= mesh->lod_count > 0 && mesh->lods[0].error > 0 ? HOB_PK_FILE_CUT : 0u;
	}
	if (w.set_count > 0)
		b->ver_minor = 4;
	if (w.attribute_errors)
		b->ver_minor = 5;
	if (w.mean_errors)
		b->ver_minor = 7;
	if (scaled)
		b->ver_minor = 8;
}

bool hob_pack_meshes(const hob_baked_mesh *meshes, uint32_t count, const hob_pack_options *options,
					 hob_buf *out, hob_error *err)
{
	return hob_pack_write(HOB_PK_KIND_MESH, put_file, &(mesh_writer){.meshes = meshes, .count = count},
						  options, out, err);
}

uint64_t hob_pack_meshes_memory(const hob_baked_mesh *meshes, uint32_t count, hob_pack_encode encode)
{
	uint64_t file = 0, copied = 0;
	for (uint32_t m = 0; m < count; m++) {
		const hob_baked_mesh *mesh = &meshes[m];
		if (mesh->is_copy)
			continue;
		uint64_t indices = mesh->index_count, streams = 0, narrow = is_narrow(mesh) ? 2 * indices : 0;
		for (uint32_t s = 0; s < mesh->stream_count; s++)
			streams += (uint64_t)mesh->streams[s].stride * mesh->mesh.vertex_count;
		uint64_t raw = streams + (narrow > 0 ? narrow : 4 * indices);
		file += raw;
		copied += narrow;
		/* The encoders' bounds, their 32-bit indices, and a buffer that joins sections of several meshes. */
		if (encode == HOB_PACK_MESHOPT)
			copied += streams + streams / 16 + 5 * indices + 2 * narrow + (count > 1 ? raw : 0);
	}
	return file + copied;
}
