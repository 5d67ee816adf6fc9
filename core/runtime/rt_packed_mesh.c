#include "rt_private.h"

#include <string.h>

bool hob_rt_packed_meshes_lay_out(rt_asset *a, rt_memory *memory, hob_rt_error *error)
{
	a->pub.mesh_count = a->mesh_records.count;
	a->pub.morph_count = a->morphs.count;
	a->meshes = RT_TAKE(memory, hob_rt_mesh, a->mesh_records.count);
	a->lods = RT_TAKE(memory, hob_rt_lod, a->lod_records.count);
	a->attributes = RT_TAKE(memory, hob_rt_attribute, a->attribute_records.count);
	a->mesh_skins = RT_TAKE(memory, uint32_t, a->mesh_records.count);
	a->mesh_joint_count = RT_TAKE(memory, uint32_t, a->mesh_records.count);
	a->joint_box_first = RT_TAKE(memory, uint32_t, (uint64_t)a->mesh_records.count + 1);
	/* Numbers are not checked yet: impossible ones get no room and are refused later. */
	uint64_t boxes = 0, vertices = 0;
	for (uint32_t i = 0; i < a->mesh_pack.section_count; i++)
		if (hob_rt_pack_section(&a->mesh_pack, i)->type == HOB_PK_VTX_)
			vertices += hob_rt_pack_section(&a->mesh_pack, i)->count;
	for (uint32_t i = 0; i < a->mesh_records.count; i++) {
		const hob_pk_mesh *record = RT_AT(hob_pk_mesh, a->mesh_records, i);
		uint32_t skin = record->skin < a->skin_records.count ? record->skin : HOB_RT_NONE;
		if (a->mesh_skins)
			a->mesh_skins[i] = skin;
		uint32_t joints = skin != HOB_RT_NONE ? RT_AT(hob_pk_skin, a->skin_records, skin)->joint_count : 0;
		if (record->influence_count == 0 || record->influence_count > 8 || record->vertex_count > vertices ||
			joints > a->joints.count)
			continue;
		/* Each box needs an influence, and the number of influences is limited by the vertices. */
		uint64_t most = (uint64_t)record->vertex_count * record->influence_count;
		vertices -= record->vertex_count;
		boxes += joints < most ? joints : most;
	}
	if (boxes >= HOB_RT_NONE)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "%llu joints move the meshes", (unsigned long long)boxes);
	a->joint_boxes = RT_TAKE(memory, rt_joint_box, boxes);
	return true;
}

static bool fill_attributes(rt_asset *a, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->attribute_records.count; i++) {
		const hob_pk_attribute *from = RT_AT(hob_pk_attribute, a->attribute_records, i);
		hob_rt_attribute *to = &a->attributes[i];
		to->semantic = from->semantic;
		to->set = from->set;
		to->components = from->components;
		to->encoding = from->encoding;
		to->format = from->format;
		to->stream = from->stream;
		to->offset = from->offset;
		if (hob_rt_format_size(from->format) == 0 || from->encoding > HOB_PK_ENCODING_SCALED ||
			from->components == 0 || from->components > 4)
			return hob_rt_fail(error, HOB_RT_UNSUPPORTED, "vertex attribute %u has format %u, encoding %u", i,
							   from->format, from->encoding);
	}
	return true;
}

/* Checks every index of a level against its vertices. `left` limits the sum over all levels by the size of
 * the file, so that levels which share a range cannot make opening slow. */
static bool check_indices(const hob_rt_lod *lod, uint64_t *left, hob_rt_error *error)
{
	if (lod->index_count > *left)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "levels of detail overlap in the index sections");
	*left -= lod->index_count;
	uint32_t largest = 0;
	if (lod->index_bytes == 2) {
		const uint16_t *indices = (const uint16_t *)lod->indices;
		uint16_t most = 0; /* as narrow as the indices: a register holds twice as many */
		for (uint32_t i = 0; i < lod->index_count; i++)
			most = indices[i] > most ? indices[i] : most;
		largest = most;
	} else {
		const uint32_t *indices = (const uint32_t *)lod->indices;
		for (uint32_t i = 0; i < lod->index_count; i++)
			largest = indices[i] > largest ? indices[i] : largest;
	}
	if (lod->index_count > 0 && largest >= lod->vertex_prefix)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "index %u of %u vertices", largest, lod->vertex_prefix);
	return true;
}

static bool check_attribute_error(const rt_asset *a, uint32_t lod)
{
	const hob_pk_lod_attributes *from = RT_AT(hob_pk_lod_attributes, a->lod_attributes, lod);
	const float values[3] = {from->uv, from->color, from->weight};
	return hob_rt_in_range(values, 3);
}

static bool fill_lods(rt_asset *a, hob_rt_error *error)
{
	const rt_pack *pack = &a->mesh_pack;
	uint64_t left = 0;
	for (uint32_t i = 0; i < pack->section_count; i++)
		if (hob_rt_pack_section(pack, i)->type == HOB_PK_IDX_)
			left += hob_rt_pack_section(pack, i)->count;
	for (uint32_t i = 0; i < a->lod_records.count; i++) {
		const hob_pk_lod *from = RT_AT(hob_pk_lod, a->lod_records, i);
		hob_rt_lod *to = &a->lods[i];
		if (from->index_section >= pack->section_count)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "level %u has its indices in section %u of %u", i,
							   from->index_section, pack->section_count);
		const hob_pk_section *s = hob_rt_pack_section(pack, from->index_section);
		if (s->type != HOB_PK_IDX_ || (s->stride != 2 && s->stride != 4) ||
			!rt_within(from->first_index, from->index_count, s->count))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "level %u has indices %u+%u of %u", i,
							   from->first_index, from->index_count, s->count);
		if (from->meshlet_count > 0 &&
			(!rt_within(from->meshlet_first, from->meshlet_count, a->meshlets.count)))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "level %u has meshlets %u+%u of %u", i,
							   from->meshlet_first, from->meshlet_count, a->meshlets.count);
		to->mean_error = i < a->lod_means.count ? *RT_AT(float, a->lod_means, i) : 0;
		const float errors[2] = {from->error, to->mean_error};
		if (!hob_rt_in_range(errors, 2) || from->error < 0 || to->mean_error < 0)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "the error of level %u is not a distance", i);
		if (i < a->lod_attributes.count && !check_attribute_error(a, i))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "the errors of level %u's attributes are not numbers",
							   i);
		to->indices = hob_rt_pack_data(pack, from->index_section) + (size_t)from->first_index * s->stride;
		to->index_bytes = s->stride;
		to->index_count = from->index_count;
		to->vertex_prefix = from->vertex_prefix;
		to->error = from->error;
		to->meshlet_first = from->meshlet_first;
		to->meshlet_count = from->meshlet_count;
		if (!a->options.trust_indices && !check_indices(to, &left, error))
			return hob_rt_fail_in(error, "level", i);
	}
	return true;
}

static bool check_meshlets(const rt_asset *a, uint32_t first, uint32_t count, uint32_t vertex_prefix,
						   uint64_t *left, hob_rt_error *error)
{
	if (count > *left)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "levels of detail share meshlets");
	*left -= count;
	for (uint32_t i = first; i < first + count; i++) {
		const hob_pk_meshlet *m = RT_AT(hob_pk_meshlet, a->meshlets, i);
		uint32_t bytes = (uint32_t)m->triangle_count * 3;
		if (m->vertex_count == 0 || m->triangle_count == 0 ||
			!rt_within(m->vertex_offset, m->vertex_count, a->meshlet_vertices.count) ||
			!rt_within(m->triangle_offset, bytes, a->meshlet_triangles.count))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "meshlet %u is empty or reaches beyond its arrays", i);
		for (uint32_t k = 0; k < m->vertex_count; k++)
			if (*RT_AT(uint32_t, a->meshlet_vertices, m->vertex_offset + k) >= vertex_prefix)
				return hob_rt_fail(error, HOB_RT_CORRUPT, "meshlet %u names a vertex that is not there", i);
		for (uint32_t k = 0; k < bytes; k++)
			if (a->meshlet_triangles.data[m->triangle_offset + k] >= m->vertex_count)
				return hob_rt_fail(error, HOB_RT_CORRUPT,
								   "a triangle of meshlet %u names a vertex that is not there", i);
	}
	return true;
}

/* Checks every index that a cut follows. Spheres and errors are left to validators: bad ones only spoil the
 * picture. */
static bool check_clusters(const rt_asset *a, uint64_t *meshlets_left, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->cluster_sets.count; i++) {
		const hob_pk_cluster_set *set = RT_AT(hob_pk_cluster_set, a->cluster_sets, i);
		if (set->lod_first >= a->lod_records.count ||
			!rt_within(set->group_first, set->group_count, a->cluster_groups.count) ||
			!rt_within(set->cluster_first, set->cluster_count, a->cluster_sources.count) ||
			!rt_within(set->meshlet_first, set->cluster_count, a->meshlets.count))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "cluster set %u reaches beyond its arrays", i);
		if (a->options.trust_indices)
			continue;
		if (!check_meshlets(a, set->meshlet_first, set->cluster_count, a->lods[set->lod_first].vertex_prefix,
							meshlets_left, error))
			return false;
		uint32_t clusters = 0;
		for (uint32_t g = 0; g < set->group_count; g++) {
			const hob_pk_cluster_group *group =
				RT_AT(hob_pk_cluster_group, a->cluster_groups, set->group_first + g);
			if (group->cluster_first != clusters || group->cluster_count == 0 ||
				group->cluster_count > set->cluster_count - clusters)
				return hob_rt_fail(error, HOB_RT_CORRUPT, "group %u of cluster set %u has clusters %u+%u", g,
								   i, group->cluster_first, group->cluster_count);
			clusters += group->cluster_count;
		}
		for (uint32_t c = 0; c < set->cluster_count; c++) {
			uint32_t source = *RT_AT(uint32_t, a->cluster_sources, set->cluster_first + c);
			if (source != HOB_PK_NONE && source >= set->group_count)
				return hob_rt_fail(error, HOB_RT_CORRUPT, "cluster %u of set %u came out of group %u of %u",
								   c, i, source, set->group_count);
		}
	}
	return true;
}

static bool fill_streams(const rt_asset *a, const hob_pk_mesh *from, hob_rt_mesh *to, hob_rt_error *error)
{
	if (from->layout == HOB_PK_NONE && from->vertex_count == 0)
		return true;
	if (from->layout >= a->layouts.count)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "layout %u of %u", from->layout, a->layouts.count);
	const hob_pk_layout *layout = RT_AT(hob_pk_layout, a->layouts, from->layout);
	if (layout->stream_count > HOB_RT_STREAMS ||
		!rt_within(layout->attribute_first, layout->attribute_count, a->attribute_records.count))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "layout %u has %u streams, attributes %u+%u of %u",
						   from->layout, layout->stream_count, layout->attribute_first,
						   layout->attribute_count, a->attribute_records.count);
	to->stream_count = layout->stream_count;
	for (uint32_t i = 0; i < layout->stream_count; i++) {
		uint32_t section = layout->sections[i];
		const hob_pk_section *s =
			section < a->mesh_pack.section_count ? hob_rt_pack_section(&a->mesh_pack, section) : NULL;
		if (!s || s->type != HOB_PK_VTX_ || s->stride % 4 != 0 ||
			!rt_within(from->first_vertex, from->vertex_count, s->count))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "vertices %u+%u are not in stream %u of layout %u",
							   from->first_vertex, from->vertex_count, i, from->layout);
		to->streams[i].data =
			hob_rt_pack_data(&a->mesh_pack, section) + (size_t)from->first_vertex * s->stride;
		to->streams[i].stride = s->stride;
		to->streams[i].buffer = section;
		to->streams[i].first = from->first_vertex;
	}
	to->attributes = a->attributes + layout->attribute_first;
	to->attribute_count = layout->attribute_count;
	for (uint32_t i = 0; i < to->attribute_count; i++) {
		const hob_rt_attribute *attribute = &to->attributes[i];
		if (attribute->stream >= to->stream_count ||
			attribute->offset > to->streams[attribute->stream].stride ||
			hob_rt_format_size(attribute->format) > to->streams[attribute->stream].stride - attribute->offset)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "attribute %u is not within its vertex", i);
	}
	return true;
}

/* Checks every record, used by a mesh or not: callers may request any. */
static bool check_morphs(const rt_asset *a, hob_rt_error *error)
{
	uint64_t left = a->deltas.count;
	for (uint32_t i = 0; i < a->morphs.count; i++) {
		const hob_pk_morph *morph = RT_AT(hob_pk_morph, a->morphs, i);
		if (morph->mesh >= a->mesh_records.count ||
			!rt_within(morph->delta_first, morph->delta_count, a->deltas.count) || morph->delta_count > left)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "morph target %u of mesh %u has deltas %u+%u of %u", i,
							   morph->mesh, morph->delta_first, morph->delta_count, a->deltas.count);
		left -= morph->delta_count;
		if (!hob_rt_in_range(&morph->weight, 1) || !hob_rt_in_range(morph->min, 3) ||
			!hob_rt_in_range(morph->max, 3) || (morph->name != 0 && morph->name >= a->mesh_text.size))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "morph target %u has no finite bounds or no name", i);
		uint32_t vertices = RT_AT(hob_pk_mesh, a->mesh_records, morph->mesh)->vertex_count;
		for (uint32_t k = 0; k < morph->delta_count; k++)
			if (RT_AT(hob_pk_delta, a->deltas, morph->delta_first + k)->vertex >= vertices)
				return hob_rt_fail(error, HOB_RT_CORRUPT,
								   "morph target %u moves a vertex beyond the %u of its mesh", i, vertices);
	}
	return true;
}

static bool check_targets(const rt_asset *a, uint32_t mesh, hob_rt_error *error)
{
	const hob_pk_mesh *from = RT_AT(hob_pk_mesh, a->mesh_records, mesh);
	if (!rt_within(from->morph_first, from->morph_count, a->morphs.count))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "morph targets %u+%u of %u", from->morph_first,
						   from->morph_count, a->morphs.count);
	for (uint32_t i = 0; i < from->morph_count; i++)
		if (RT_AT(hob_pk_morph, a->morphs, from->morph_first + i)->mesh != mesh)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "morph target %u belongs to another mesh",
							   from->morph_first + i);
	return true;
}

static bool fill_mesh(rt_asset *a, uint32_t index, hob_rt_error *error)
{
	const hob_pk_mesh *from = RT_AT(hob_pk_mesh, a->mesh_records, index);
	hob_rt_mesh *to = &a->meshes[index];
	if (from->name != 0 && from->name >= a->mesh_text.size)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "a name at %u in %u bytes of strings", from->name,
						   a->mesh_text.size);
	if (from->topology > HOB_PK_TOPOLOGY_POINTS ||
		!rt_within(from->lod_first, from->lod_count, a->lod_records.count))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "topology %u, levels %u+%u of %u", from->topology,
						   from->lod_first, from->lod_count, a->lod_records.count);
	if (from->material != HOB_PK_NONE && a->material_pack.file && from->material >= a->materials.count)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "material %u of %u", from->material, a->materials.count);
	if (!hob_rt_in_range(from->aabb_min, 3) || !hob_rt_in_range(from->aabb_max, 3) ||
		!hob_rt_in_range(from->sphere, 4) || !hob_rt_in_range(from->pos_offset, 3) ||
		!hob_rt_in_range(&from->pos_scale, 1) || !hob_rt_in_range(from->uv_scale, 2) ||
		!hob_rt_in_range(from->uv_offset, 2))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "bounds or scales are not finite");
	to->name = hob_rt_string(a->mesh_text, from->name);
	to->material = from->material;
	to->flags = from->flags;
	to->topology = from->topology;
	to->vertex_count = from->vertex_count;
	to->influence_count = from->influence_count;
	to->lods = a->lods + from->lod_first;
	to->lod_count = from->lod_count;
	to->morph_first = from->morph_first;
	to->morph_count = from->morph_count;
	memcpy(to->aabb_min, from->aabb_min, sizeof to->aabb_min);
	memcpy(to->aabb_max, from->aabb_max, sizeof to->aabb_max);
	memcpy(to->sphere, from->sphere, sizeof to->sphere);
	memcpy(to->pos_offset, from->pos_offset, sizeof to->pos_offset);
	to->pos_scale = from->pos_scale;
	memcpy(to->uv_offset, from->uv_offset, sizeof to->uv_offset);
	memcpy(to->uv_scale, from->uv_scale, sizeof to->uv_scale);
	to->uv_density = from->uv_density;
	for (uint32_t i = 0; i < to->lod_count; i++) {
		if (to->lods[i].vertex_prefix > to->vertex_count)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "level %u uses %u of %u vertices", i,
							   to->lods[i].vertex_prefix, to->vertex_count);
	}
	return fill_streams(a, from, to, error) && check_targets(a, index, error);
}

bool hob_rt_packed_meshes_fill(rt_asset *a, hob_rt_error *error)
{
	uint64_t meshlets_left = a->meshlets.count;
	if (!fill_attributes(a, error) || !fill_lods(a, error) || !check_morphs(a, error))
		return false;
	/* Number of records, not of meshes: meshes can share records. */
	for (uint32_t i = 0; i < a->lod_records.count && !a->options.trust_indices; i++)
		if (!check_meshlets(a, a->lods[i].meshlet_first, a->lods[i].meshlet_count, a->lods[i].vertex_prefix,
							&meshlets_left, error))
			return hob_rt_fail_in(error, "level of detail", i);
	if (!check_clusters(a, &meshlets_left, error))
		return false;
	for (uint32_t i = 0; i < a->variant_maps.count; i++) {
		const hob_pk_variant_map *map = RT_AT(hob_pk_variant_map, a->variant_maps, i);
		if (map->mesh >= a->mesh_records.count ||
			(a->material_pack.file && map->material != HOB_PK_NONE && map->material >= a->materials.count))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "variant mapping %u names mesh %u, material %u", i,
							   map->mesh, map->material);
	}
	for (uint32_t i = 0; i < a->mesh_records.count; i++) {
		const hob_pk_mesh *record = RT_AT(hob_pk_mesh, a->mesh_records, i);
		if (!rt_within(record->variant_first, record->variant_count, a->variant_maps.count))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "mesh %u has variants %u+%u of %u", i,
							   record->variant_first, record->variant_count, a->variant_maps.count);
		if (!fill_mesh(a, i, error))
			return hob_rt_fail_in(error, "mesh", i);
	}
	return true;
}
