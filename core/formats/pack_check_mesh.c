#include "pack_check.h"

typedef struct mesh_checker {
	const check_file *file;
	check_section meshes, lods, lod_attributes, lod_means, layouts, attributes, morphs, variants, meshlets,
		meshlet_vertices, meshlet_triangles, deltas, cluster_sets;
	uint32_t lod, morph, variant, delta; /* cursors */
	uint64_t meshlet_total;
	uint32_t *lod_owner;	 /* [LODS] mesh whose first level it is, otherwise HOB_PK_NONE */
	uint32_t *layout_cursor; /* [layouts] vertices used so far */
	uint32_t *index_cursor;	 /* [sections] indices used so far */
} mesh_checker;

typedef enum number_kind { FLOAT, HALF, UNORM, SNORM, UINT } number_kind;

typedef struct vertex_format {
	uint16_t number;
	uint8_t bytes, components, component_bytes;
	number_kind kind;
} vertex_format;

static const vertex_format formats[] = {
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind)                                \
	{number, bytes, components, component_bytes, kind},
#include "../../schema/formats/packed.def"
};

static const vertex_format *format_of(uint16_t number)
{
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++)
		if (formats[i].number == number)
			return &formats[i];
	return NULL;
}

/* ---- layouts ---- */

static bool check_attribute(const mesh_checker *c, const hob_pk_layout *layout, const hob_pk_attribute *a)
{
	const vertex_format *format = format_of(a->format);
	CHECK(c->file, a->semantic <= HOB_PK_SEMANTIC_WEIGHTS, "semantic %u", a->semantic);
	CHECK(c->file, a->encoding <= HOB_PK_ENCODING_SCALED, "encoding %u", a->encoding);
	CHECK(c->file, format, "vertex format %u", a->format);
	CHECK(c->file, a->components >= 1 && a->components <= format->components, "%u components in format %u",
		  a->components, a->format);
	CHECK(c->file, a->stream < layout->stream_count, "stream %u of %u", a->stream, layout->stream_count);
	CHECK(c->file, a->semantic != HOB_PK_SEMANTIC_POSITION || a->stream == 0, "positions in stream %u",
		  a->stream);
	uint32_t stride = c->file->sections[layout->sections[a->stream]].entry.stride;
	CHECK(c->file, a->offset <= stride && format->bytes <= stride - a->offset,
		  "%u bytes at offset %u of a vertex of %u", format->bytes, a->offset, stride);
	CHECK(c->file, a->offset % (format->component_bytes ? format->component_bytes : 4) == 0, "offset %u",
		  a->offset);
	CHECK(c->file, a->semantic != HOB_PK_SEMANTIC_JOINTS || (format->kind == UINT && a->components == 4),
		  "joints in format %u", a->format);
	CHECK(c->file, a->semantic == HOB_PK_SEMANTIC_JOINTS || format->kind != UINT, "format %u", a->format);
	CHECK(c->file, a->reserved == 0, "reserved field is not zero");
	return true;
}

static bool check_float_values(const mesh_checker *c, const hob_pk_layout *layout, const hob_pk_attribute *a)
{
	const vertex_format *format = format_of(a->format);
	if (format->kind != FLOAT && format->kind != HALF)
		return true;
	const check_section *section = &c->file->sections[layout->sections[a->stream]];
	for (uint32_t v = 0; v < layout->vertex_count; v++) {
		const uint8_t *at = section->data + (size_t)v * section->entry.stride + a->offset;
		for (uint32_t i = 0; i < format->components; i++) {
			bool finite;
			if (format->kind == FLOAT) {
				float value = hob_load_f32(at + (size_t)i * 4);
				finite = hob_check_finite(&value, 1);
			} else {
				finite = (hob_load_u16(at + (size_t)i * 2) & 0x7C00) != 0x7C00;
			}
			CHECK(c->file, finite, "attribute %u of vertex %u is not finite", a->semantic, v);
		}
	}
	return true;
}

/* Checks that weights stored as integers add up to exactly one, over all sets of a vertex. */
static bool check_weight_sums(const mesh_checker *c, const hob_pk_layout *layout)
{
	for (uint32_t v = 0; v < layout->vertex_count; v++) {
		uint32_t sum = 0, one = 0;
		for (uint32_t i = 0; i < layout->attribute_count; i++) {
			READ(attribute, a, c->attributes, layout->attribute_first + i);
			const vertex_format *format = format_of(a.format);
			if (a.semantic != HOB_PK_SEMANTIC_WEIGHTS || format->kind != UNORM)
				continue;
			const check_section *section = &c->file->sections[layout->sections[a.stream]];
			const uint8_t *at = section->data + (size_t)v * section->entry.stride + a.offset;
			for (uint32_t k = 0; k < a.components; k++)
				sum += format->component_bytes == 1 ? at[k] : hob_load_u16(at + (size_t)k * 2);
			one = format->component_bytes == 1 ? 255 : 65535;
		}
		CHECK(c->file, sum == one, "weights of vertex %u sum to %u, not %u", v, sum, one);
	}
	return true;
}

static bool check_streams(const mesh_checker *c, const hob_pk_layout *layout, uint32_t l)
{
	CHECK(c->file, layout->stream_count >= 1 && layout->stream_count <= 4, "%u streams",
		  layout->stream_count);
	for (uint32_t s = 0; s < 4; s++) {
		if (s >= layout->stream_count) {
			CHECK(c->file, layout->sections[s] == HOB_PK_NONE, "section of unused stream %u", s);
			continue;
		}
		CHECK(c->file, layout->sections[s] < c->file->header.section_count, "section %u",
			  layout->sections[s]);
		const hob_pk_section *e = &c->file->sections[layout->sections[s]].entry;
		CHECK(c->file, e->type == HOB_PK_VTX_ && e->owner == l && e->part == s,
			  "section %u is not stream %u of this layout", layout->sections[s], s);
		CHECK(c->file, e->count == layout->vertex_count, "%u vertices, section %u has %u",
			  layout->vertex_count, layout->sections[s], e->count);
	}
	return true;
}

static bool check_layout(const mesh_checker *c, uint32_t l, uint32_t *cursor)
{
	READ(layout, layout, c->layouts, l);
	if (!hob_check_run(c->file, layout.attribute_first, layout.attribute_count, cursor,
					   c->attributes.entry.count, "attribute") ||
		!check_streams(c, &layout, l))
		return false;
	uint32_t positions = 0, seen[7] = {0};
	for (uint32_t i = 0; i < layout.attribute_count; i++) {
		READ(attribute, a, c->attributes, layout.attribute_first + i);
		if (!check_attribute(c, &layout, &a) || !check_float_values(c, &layout, &a))
			return hob_fail_in(c->file->err, "attribute %u", i);
		CHECK(c->file, a.set < 32 && !(seen[a.semantic] >> a.set & 1), "attribute %u, set %u twice",
			  a.semantic, a.set);
		seen[a.semantic] |= 1u << a.set;
		positions += a.semantic == HOB_PK_SEMANTIC_POSITION;
	}
	CHECK(c->file, positions == 1, "%u position attributes", positions);
	CHECK(c->file, seen[HOB_PK_SEMANTIC_JOINTS] == seen[HOB_PK_SEMANTIC_WEIGHTS], "joints without weights");
	return !seen[HOB_PK_SEMANTIC_WEIGHTS] || check_weight_sums(c, &layout);
}

static bool check_layouts(const mesh_checker *c)
{
	uint32_t attribute = 0, streams = 0, sections = 0;
	for (uint32_t l = 0; l < c->layouts.entry.count; l++) {
		if (!check_layout(c, l, &attribute))
			return hob_fail_in(c->file->err, "layout %u", l);
		READ(layout, layout, c->layouts, l);
		streams += layout.stream_count;
	}
	for (uint32_t i = 0; i < c->file->header.section_count; i++) {
		const hob_pk_section *e = &c->file->sections[i].entry;
		if (e->type != HOB_PK_VTX_)
			continue;
		sections++;
		CHECK(c->file, e->stride % 4 == 0 && e->stride <= 256, "vertices of %u bytes in section %u",
			  e->stride, i);
	}
	CHECK(c->file, attribute == c->attributes.entry.count, "%u of %u attributes belong to layouts", attribute,
		  c->attributes.entry.count);
	CHECK(c->file, streams == sections, "%u vertex sections, %u streams", sections, streams);
	return true;
}

/* ---- levels of detail ---- */

static bool check_indices(const mesh_checker *c, const hob_pk_lod *lod, const check_section *section)
{
	bool narrow = section->entry.stride == 2;
	for (uint32_t i = 0; i < lod->index_count; i++) {
		const uint8_t *at = section->data + (size_t)(lod->first_index + i) * section->entry.stride;
		uint32_t index = narrow ? hob_load_u16(at) : hob_load_u32(at);
		CHECK(c->file, index < lod->vertex_prefix, "index %u at %u is not below vertex_prefix %u", index, i,
			  lod->vertex_prefix);
	}
	return true;
}

static bool check_meshlet(const mesh_checker *c, uint32_t id, uint32_t vertex_prefix)
{
	READ(meshlet, m, c->meshlets, id);
	CHECK(c->file, hob_check_finite(m.center, 3) && hob_check_finite(&m.radius, 1) && m.radius >= 0,
		  "bounds are not finite");
	CHECK(c->file, m.vertex_count > 0 && m.triangle_count > 0 && m.group == 0,
		  "%u vertices, %u triangles, group %u", m.vertex_count, m.triangle_count, m.group);
	uint32_t vertices = c->meshlet_vertices.entry.count, bytes = c->meshlet_triangles.entry.count;
	CHECK(c->file, m.vertex_offset <= vertices && m.vertex_count <= vertices - m.vertex_offset,
		  "vertices %u..+%u of %u", m.vertex_offset, m.vertex_count, vertices);
	CHECK(c->file,
		  m.triangle_offset % 4 == 0 && m.triangle_offset <= bytes &&
			  m.triangle_count * 3u <= bytes - m.triangle_offset,
		  "%u triangles at %u of %u bytes", m.triangle_count, m.triangle_offset, bytes);
	for (uint32_t i = 0; i < m.vertex_count; i++) {
		uint32_t vertex = hob_check_u32(&c->meshlet_vertices, m.vertex_offset + i);
		CHECK(c->file, vertex < vertex_prefix, "vertex %u is not below %u", vertex, vertex_prefix);
	}
	for (uint32_t i = 0; i < m.triangle_count * 3u; i++) {
		uint8_t corner = c->meshlet_triangles.data[m.triangle_offset + i];
		CHECK(c->file, corner < m.vertex_count, "corner %u of %u vertices", corner, m.vertex_count);
	}
	return true;
}

static bool check_lod_meshlets(mesh_checker *c, const hob_pk_lod *lod)
{
	uint32_t count = c->meshlets.entry.count;
	CHECK(c->file, lod->meshlet_first <= count && lod->meshlet_count <= count - lod->meshlet_first,
		  "meshlets %u..+%u of %u", lod->meshlet_first, lod->meshlet_count, count);
	/* Levels do not share meshlets, which also limits the work. */
	c->meshlet_total += lod->meshlet_count;
	CHECK(c->file, c->meshlet_total <= count, "levels share meshlets");
	for (uint32_t i = 0; i < lod->meshlet_count; i++)
		if (!check_meshlet(c, lod->meshlet_first + i, lod->vertex_prefix))
			return hob_fail_in(c->file->err, "meshlet %u", lod->meshlet_first + i);
	return true;
}

static bool check_attribute_error(const mesh_checker *c, uint32_t id, uint32_t level)
{
	hob_pk_lod_attributes own, finer = {0};
	if (c->lod_attributes.entry.count == 0)
		return true;
	hob_check_read(&c->lod_attributes, id, &own, sizeof own);
	if (level > 0)
		hob_check_read(&c->lod_attributes, id - 1, &finer, sizeof finer);
	const float values[3] = {own.uv, own.color, own.weight};
	CHECK(c->file,
		  hob_check_finite(values, 3) && own.uv >= finer.uv && own.color >= finer.color &&
			  own.weight >= finer.weight && own.weight <= 1 && own.reserved == 0,
		  "errors of attributes %g, %g, %g or reserved field", (double)own.uv, (double)own.color,
		  (double)own.weight);
	CHECK(c->file,
		  level > 0 || c->file->header.flags & HOB_PK_FILE_CUT ||
			  !(own.uv > 0 || own.color > 0 || own.weight > 0),
		  "errors of attributes of the full mesh");
	return true;
}

static bool check_mean_error(const mesh_checker *c, uint32_t id, uint32_t level, float most)
{
	float own, finer = 0;
	if (c->lod_means.entry.count == 0)
		return true;
	hob_check_read(&c->lod_means, id, &own, sizeof own);
	if (level > 0)
		hob_check_read(&c->lod_means, id - 1, &finer, sizeof finer);
	CHECK(c->file, hob_check_finite(&own, 1) && own >= finer && own <= most, "mean error %g of at most %g",
		  (double)own, (double)most);
	return true;
}

static bool check_lod(mesh_checker *c, const hob_pk_mesh *mesh, uint32_t level, hob_pk_lod *finer)
{
	static const uint32_t corners[] = {3, 2, 1};
	READ(lod, lod, c->lods, mesh->lod_first + level);
	CHECK(c->file, lod.index_section < c->file->header.section_count, "section %u", lod.index_section);
	const check_section *section = &c->file->sections[lod.index_section];
	CHECK(c->file, section->entry.type == HOB_PK_IDX_ && section->entry.part == level,
		  "section %u does not hold indices of this level", lod.index_section);
	CHECK(c->file, section->entry.stride == 4 || mesh->vertex_count <= 65535,
		  "16-bit indices for %u vertices", mesh->vertex_count);
	CHECK(c->file, lod.index_count % corners[mesh->topology] == 0, "%u indices", lod.index_count);
	if (!hob_check_run(c->file, lod.first_index, lod.index_count, &c->index_cursor[lod.index_section],
					   section->entry.count, "index"))
		return false;
	CHECK(c->file, hob_check_finite(&lod.error, 1) && lod.error >= 0 && lod.flags == 0, "error or flags");
	if (level == 0) {
		bool cut = c->file->header.flags & HOB_PK_FILE_CUT;
		CHECK(c->file, (cut || !(lod.error > 0)) && lod.vertex_prefix <= mesh->vertex_count,
			  "error or vertex_prefix %u of %u", lod.vertex_prefix, mesh->vertex_count);
	} else {
		CHECK(c->file,
			  lod.error >= finer->error && lod.vertex_prefix <= finer->vertex_prefix &&
				  lod.index_count <= finer->index_count,
			  "not coarser than the level before: %u indices after %u, vertex prefix %u after %u",
			  lod.index_count, finer->index_count, lod.vertex_prefix, finer->vertex_prefix);
	}
	*finer = lod;
	return check_attribute_error(c, mesh->lod_first + level, level) &&
		   check_mean_error(c, mesh->lod_first + level, level, lod.error) &&
		   check_indices(c, &lod, section) && check_lod_meshlets(c, &lod);
}

/* ---- morph targets and variants ---- */

static bool check_morph(mesh_checker *c, const hob_pk_mesh *mesh, uint32_t mesh_id, uint32_t id)
{
	READ(morph, m, c->morphs, id);
	CHECK(c->file, m.mesh == mesh_id, "belongs to mesh %u", m.mesh);
	CHECK(c->file, hob_check_finite(&m.weight, 1) && hob_check_finite(m.min, 3) && hob_check_finite(m.max, 3),
		  "not finite");
	CHECK(c->file, m.attribute_mask <= 7 && !(m.reserved[0] | m.reserved[1] | m.reserved[2] | m.reserved[3]),
		  "mask %x or reserved fields", m.attribute_mask);
	if (!hob_check_name(c->file, m.name) ||
		!hob_check_run(c->file, m.delta_first, m.delta_count, &c->delta, c->deltas.entry.count, "delta"))
		return false;
	for (uint32_t i = 0, next = 0; i < m.delta_count; i++) {
		uint32_t vertex = hob_check_u32(&c->deltas, m.delta_first + i);
		CHECK(c->file, vertex >= next && vertex < mesh->vertex_count, "delta %u of vertex %u, want %u..%u", i,
			  vertex, next, mesh->vertex_count);
		next = vertex + 1;
	}
	return true;
}

static bool check_deltas(const mesh_checker *c)
{
	for (uint32_t i = 0; i < c->deltas.entry.count; i++) {
		READ(delta, d, c->deltas, i);
		CHECK(c->file,
			  hob_check_finite(d.position, 3) && hob_check_finite(d.normal, 3) &&
				  hob_check_finite(d.tangent, 3),
			  "delta %u is not finite", i);
	}
	return true;
}

static bool check_variants(const mesh_checker *c, const hob_pk_mesh *mesh, uint32_t id)
{
	uint32_t next = 0;
	for (uint32_t i = 0; i < mesh->variant_count; i++) {
		READ(variant_map, map, c->variants, mesh->variant_first + i);
		CHECK(c->file, map.mesh == id && map.variant >= next && map.variant != HOB_PK_NONE,
			  "variant map %u names mesh %u, variant %u", i, map.mesh, map.variant);
		next = map.variant + 1;
	}
	return true;
}

/* ---- meshes ---- */

static bool check_shape(const mesh_checker *c, const hob_pk_mesh *m)
{
	const float *numbers[] = {m->aabb_min, m->aabb_max, m->pos_offset};
	for (size_t i = 0; i < HOB_COUNT_OF(numbers); i++)
		CHECK(c->file, hob_check_finite(numbers[i], 3), "bounds or scale are not finite");
	CHECK(c->file,
		  hob_check_finite(m->sphere, 4) && hob_check_finite(m->uv_scale, 2) &&
			  hob_check_finite(m->uv_offset, 2) && hob_check_finite(&m->pos_scale, 1) &&
			  hob_check_finite(&m->uv_density, 1),
		  "sphere, scales or density are not finite");
	for (size_t i = 0; i < 3; i++)
		CHECK(c->file, m->aabb_min[i] <= m->aabb_max[i], "bounds are inside out on axis %zu", i);
	CHECK(c->file, m->sphere[3] >= 0 && m->pos_scale >= 0 && m->uv_density >= 0,
		  "negative radius, scale or density");
	CHECK(c->file, m->topology <= HOB_PK_TOPOLOGY_POINTS, "topology %u", m->topology);
	CHECK(c->file, m->flags < 1024 || c->file->header.ver_minor > HOB_PK_VERSION_MINOR, "flags %x", m->flags);
	uint32_t topology = m->flags & (HOB_PK_MESH_LINES | HOB_PK_MESH_POINTS);
	static const uint32_t topology_flags[] = {0, HOB_PK_MESH_LINES, HOB_PK_MESH_POINTS};
	CHECK(c->file, topology == topology_flags[m->topology], "flags %x with topology %u", m->flags,
		  m->topology);
	CHECK(c->file,
		  !(m->flags & HOB_PK_MESH_FLAT) ||
			  (topology == 0 && !(m->flags & (HOB_PK_MESH_GENERATED_NORMALS | HOB_PK_MESH_HAS_TANGENTS))),
		  "flags %x of a flat mesh", m->flags);
	return true;
}

static bool check_vertices(mesh_checker *c, const hob_pk_mesh *m)
{
	if (!m->vertex_count) {
		CHECK(c->file, m->layout == HOB_PK_NONE && m->first_vertex == 0 && m->influence_count == 0,
			  "layout %u of an empty mesh", m->layout);
		return true;
	}
	CHECK(c->file, m->layout < c->layouts.entry.count, "layout %u of %u", m->layout, c->layouts.entry.count);
	READ(layout, layout, c->layouts, m->layout);
	uint32_t influences = 0;
	for (uint32_t i = 0; i < layout.attribute_count; i++) {
		READ(attribute, a, c->attributes, layout.attribute_first + i);
		influences += a.semantic == HOB_PK_SEMANTIC_JOINTS ? 4 : 0;
		bool directed = a.semantic == HOB_PK_SEMANTIC_NORMAL || a.semantic == HOB_PK_SEMANTIC_TANGENT;
		CHECK(c->file, !directed || !(m->flags & HOB_PK_MESH_FLAT), "flags %x with normals or tangents",
			  m->flags);
	}
	CHECK(c->file, m->influence_count == influences, "%u influences, the layout has %u", m->influence_count,
		  influences);
	return true;
}

/* A mesh whose levels come before the next free one must be equal to the mesh that they belong to, except for
 * its own fields. */
static bool check_copy(const mesh_checker *c, const hob_pk_mesh *m)
{
	uint32_t owner = m->lod_first < c->lods.entry.count ? c->lod_owner[m->lod_first] : HOB_PK_NONE;
	CHECK(c->file, owner != HOB_PK_NONE, "levels %u..+%u do not begin at the first level of a mesh",
		  m->lod_first, m->lod_count);
	hob_pk_mesh o, same = *m;
	hob_check_read(&c->meshes, owner, &o, sizeof o);
	same.name = o.name;
	same.material = o.material;
	same.skin = o.skin;
	same.morph_first = o.morph_first;
	same.source_primitive = o.source_primitive;
	same.source_mesh = o.source_mesh;
	same.variant_first = o.variant_first;
	same.variant_count = o.variant_count;
	CHECK(c->file, memcmp(&same, &o, sizeof o) == 0, "has the levels of mesh %u but differs from it", owner);
	CHECK(c->file, m->influence_count == 0, "shares the skinned vertices of mesh %u", owner);
	return true;
}

/* A mesh's own ranges come after those of the meshes before it. */
static bool check_ranges(mesh_checker *c, const hob_pk_mesh *m, uint32_t id)
{
	if (m->lod_count > 0 && m->lod_first < c->lod)
		return check_copy(c, m);
	if (m->vertex_count > 0) {
		READ(layout, layout, c->layouts, m->layout);
		if (!hob_check_run(c->file, m->first_vertex, m->vertex_count, &c->layout_cursor[m->layout],
						   layout.vertex_count, "vertex"))
			return false;
	}
	if (!hob_check_run(c->file, m->lod_first, m->lod_count, &c->lod, c->lods.entry.count, "level"))
		return false;
	CHECK(c->file, m->lod_count <= 255, "%u levels", m->lod_count);
	if (m->lod_count > 0)
		c->lod_owner[m->lod_first] = id;
	hob_pk_lod finer = {0};
	for (uint32_t l = 0; l < m->lod_count; l++)
		if (!check_lod(c, m, l, &finer))
			return hob_fail_in(c->file->err, "level %u", l);
	return true;
}

static bool check_mesh(mesh_checker *c, uint32_t id)
{
	READ(mesh, mesh, c->meshes, id);
	if (!hob_check_name(c->file, mesh.name) || !check_shape(c, &mesh) || !check_vertices(c, &mesh) ||
		!check_ranges(c, &mesh, id) ||
		!hob_check_run(c->file, mesh.morph_first, mesh.morph_count, &c->morph, c->morphs.entry.count,
					   "morph target") ||
		!hob_check_run(c->file, mesh.variant_first, mesh.variant_count, &c->variant, c->variants.entry.count,
					   "variant map") ||
		!check_variants(c, &mesh, id))
		return false;
	for (uint32_t t = 0; t < mesh.morph_count; t++)
		if (!check_morph(c, &mesh, id, mesh.morph_first + t))
			return hob_fail_in(c->file->err, "morph target %u", t);
	return true;
}

/* ---- hierarchies of clusters: meshlets that belong to no level */

static bool check_cluster_set(mesh_checker *c, uint32_t id)
{
	hob_pk_cluster_set set;
	hob_pk_lod lod;
	uint32_t meshlets = c->meshlets.entry.count;
	hob_check_read(&c->cluster_sets, id, &set, sizeof set);
	CHECK(c->file, set.lod_first < c->lods.entry.count && c->lod_owner[set.lod_first] != HOB_PK_NONE,
		  "level %u is not the first of a mesh", set.lod_first);
	CHECK(c->file, set.meshlet_first <= meshlets && set.cluster_count <= meshlets - set.meshlet_first,
		  "meshlets %u..+%u of %u", set.meshlet_first, set.cluster_count, meshlets);
	c->meshlet_total += set.cluster_count;
	CHECK(c->file, c->meshlet_total <= meshlets, "shares meshlets");
	hob_check_read(&c->lods, set.lod_first, &lod, sizeof lod);
	for (uint32_t i = 0; i < set.cluster_count; i++)
		if (!check_meshlet(c, set.meshlet_first + i, lod.vertex_prefix))
			return hob_fail_in(c->file->err, "meshlet %u", set.meshlet_first + i);
	return true;
}

static bool check_cluster_sets(mesh_checker *c)
{
	if (!hob_check_clusters(c->file))
		return false;
	for (uint32_t i = 0; i < c->cluster_sets.entry.count; i++)
		if (!check_cluster_set(c, i))
			return hob_fail_in(c->file->err, "cluster set %u", i);
	return true;
}

static bool check_all_used(const mesh_checker *c)
{
	CHECK(c->file, c->lod == c->lods.entry.count, "%u of %u levels belong to meshes", c->lod,
		  c->lods.entry.count);
	CHECK(c->file, c->morph == c->morphs.entry.count, "morph targets without a mesh");
	CHECK(c->file, c->delta == c->deltas.entry.count, "deltas without a morph target");
	CHECK(c->file, c->variant == c->variants.entry.count, "variant maps without a mesh");
	CHECK(c->file, c->meshlet_total == c->meshlets.entry.count, "meshlets without a level or a cluster set");
	uint32_t level = 255;
	for (uint32_t i = 0; i < c->file->header.section_count; i++) {
		const hob_pk_section *e = &c->file->sections[i].entry;
		if (e->type != HOB_PK_IDX_)
			continue;
		CHECK(c->file, c->index_cursor[i] == e->count, "%u of %u indices of section %u belong to meshes",
			  c->index_cursor[i], e->count, i);
		CHECK(c->file, e->part <= level, "level %u comes after level %u", e->part, level);
		level = e->part;
	}
	for (uint32_t l = 0; l < c->layouts.entry.count; l++) {
		READ(layout, layout, c->layouts, l);
		CHECK(c->file, c->layout_cursor[l] == layout.vertex_count,
			  "%u of %u vertices of layout %u belong to meshes", c->layout_cursor[l], layout.vertex_count, l);
	}
	return true;
}

bool hob_check_meshes(const check_file *file)
{
	mesh_checker c = {
		.file = file,
		.meshes = hob_check_find(file, HOB_PK_MDSC),
		.lods = hob_check_find(file, HOB_PK_LODS),
		.lod_attributes = hob_check_find(file, HOB_PK_LODA),
		.lod_means = hob_check_find(file, HOB_PK_LODM),
		.layouts = hob_check_find(file, HOB_PK_LAYT),
		.attributes = hob_check_find(file, HOB_PK_ATTR),
		.morphs = hob_check_find(file, HOB_PK_MRPH),
		.variants = hob_check_find(file, HOB_PK_VMAP),
		.meshlets = hob_check_find(file, HOB_PK_MLET),
		.meshlet_vertices = hob_check_find(file, HOB_PK_MLVT),
		.meshlet_triangles = hob_check_find(file, HOB_PK_MLTR),
		.deltas = hob_check_find(file, HOB_PK_MDLT),
		.cluster_sets = hob_check_find(file, HOB_PK_CLST),
	};
	if (!HOB_MAKE(file->arena, &c.layout_cursor, c.layouts.entry.count, "validation", file->err) ||
		!HOB_MAKE(file->arena, &c.index_cursor, file->header.section_count, "validation", file->err) ||
		!HOB_MAKE(file->arena, &c.lod_owner, c.lods.entry.count, "validation", file->err))
		return false;
	memset(c.lod_owner, 0xFF, c.lods.entry.count * sizeof *c.lod_owner);
	for (uint32_t i = 0; i < file->header.section_count; i++)
		CHECK(file,
			  file->sections[i].entry.type != HOB_PK_IDX_ || file->sections[i].entry.stride == 2 ||
				  file->sections[i].entry.stride == 4,
			  "indices of %u bytes in section %u", file->sections[i].entry.stride, i);
	CHECK(file, c.lod_attributes.entry.count == 0 || c.lod_attributes.entry.count == c.lods.entry.count,
		  "errors of the attributes of %u levels for %u", c.lod_attributes.entry.count, c.lods.entry.count);
	CHECK(file, c.lod_means.entry.count == 0 || c.lod_means.entry.count == c.lods.entry.count,
		  "mean errors of %u levels for %u", c.lod_means.entry.count, c.lods.entry.count);
	if (!check_layouts(&c) || !check_deltas(&c))
		return false;
	for (uint32_t m = 0; m < c.meshes.entry.count; m++)
		if (!check_mesh(&c, m))
			return hob_fail_in(file->err, "mesh %u", m);
	return check_cluster_sets(&c) && check_all_used(&c);
}

int64_t hob_check_top_joint(const check_file *file, uint32_t id)
{
	check_section meshes = hob_check_find(file, HOB_PK_MDSC), layouts = hob_check_find(file, HOB_PK_LAYT);
	check_section attributes = hob_check_find(file, HOB_PK_ATTR);
	READ(mesh, mesh, meshes, id);
	int64_t top = -1;
	if (!mesh.vertex_count)
		return top;
	READ(layout, layout, layouts, mesh.layout);
	for (uint32_t i = 0; i < layout.attribute_count; i++) {
		READ(attribute, a, attributes, layout.attribute_first + i);
		if (a.semantic != HOB_PK_SEMANTIC_JOINTS)
			continue;
		const check_section *stream = &file->sections[layout.sections[a.stream]];
		uint32_t bytes = format_of(a.format)->component_bytes;
		for (uint32_t v = 0; v < mesh.vertex_count; v++) {
			const uint8_t *at =
				stream->data + (size_t)(mesh.first_vertex + v) * stream->entry.stride + a.offset;
			for (uint32_t j = 0; j < 4; j++) {
				uint32_t joint = bytes == 1 ? at[j] : hob_load_u16(at + (size_t)j * 2);
				top = joint > top ? joint : top;
			}
		}
	}
	return top;
}
