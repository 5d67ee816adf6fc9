#include "bake.h"
#include "../base/arena_drop.h"
#include "clusters.h"
#include "influences.h"
#include "lod_chunks.h"
#include "mesh_bounds.h"
#include "meshlets.h"
#include "normals.h"
#include "split.h"
#include "streams.h"
#include "tangents.h"
#include "triangle_order.h"
#include "vec3.h"
#include "vertex_arrays.h"
#include "weld.h"

#include <assert.h>

typedef struct bake {
	hob_mesh_options options;
	hob_mesh mesh; /* the source as changed so far; arrays borrowed from it or in scratch */
	uint32_t flags;
	hob_arena *result, *scratch;
	hob_arena welded; /* holds the welded indices until place_levels has copied them */
	hob_notes *notes;
} bake_t;

/* ---- influences */

static void reduce_influences(bake_t *b)
{
	hob_mesh *m = &b->mesh;
	if (m->influence_count == 0)
		return;
	if (!m->joints || !m->weights || m->vertex_count == 0) {
		m->influence_count = 0, m->joints = NULL, m->weights = NULL;
		return;
	}
	uint32_t kept = m->influence_count <= 4 ? 4 : b->options.influences;
	uint16_t *joints = hob_arena_array(b->scratch, (size_t)m->vertex_count * kept, 2, 4);
	uint16_t *units = HOB_NEW(b->scratch, uint16_t, (size_t)m->vertex_count * kept);
	float *weights = HOB_NEW(b->scratch, float, (size_t)m->vertex_count *kept);
	uint32_t unbound =
		hob_influences(m->joints, m->weights, m->influence_count, m->vertex_count, kept, joints, units);
	for (size_t i = 0; i < (size_t)m->vertex_count * kept; i++)
		weights[i] = (float)units[i] / 65535.0f;
	m->influence_count = kept, m->joints = joints, m->weights = weights;
	b->flags |= HOB_MESH_SKINNED;
	if (unbound > 0)
		hob_note_add(b->notes, HOB_NOTE_WARNING, "mesh.unbound-vertices",
					 "mesh '%.*s': %u of %u vertices have no joint weight and follow the skin's first joint; "
					 "assign weights to them in the modelling tool",
					 HOB_FMT(m->name), unbound, m->vertex_count);
}

/* ---- normals */

/* Numbers vertices, alike where all of `arrays` are equal. */
static uint32_t *number_vertices(bake_t *b, const hob_vertex_array *arrays, uint32_t array_count)
{
	const hob_mesh *m = &b->mesh;
	uint32_t *group = HOB_NEW(b->scratch, uint32_t, m->vertex_count);
	uint32_t *from = HOB_NEW(b->scratch, uint32_t, m->vertex_count);
	hob_weld(arrays, array_count, m->vertex_count, NULL, 0, group, from, b->scratch);
	return group;
}

static float *smooth_normals(bake_t *b)
{
	const hob_mesh *m = &b->mesh;
	hob_vertex_array place = {m->position, 12, true, 0};
	uint32_t *group = number_vertices(b, &place, 1);
	double *sums = HOB_NEW(b->scratch, double, 3 * (size_t)m->vertex_count);
	float *normal = HOB_NEW(b->scratch, float, 3 * (size_t)m->vertex_count);
	hob_normals_smooth(m->position, m->vertex_count, m->indices, m->index_count, group, normal, sums);
	return normal;
}

/* Splits vertices whose corners have different values; m->indices becomes a copy in scratch. Returns the
 * values per vertex. */
static float *split_vertices(bake_t *b, const float *values, uint32_t width, uint32_t corners_per_value)
{
	hob_mesh *m = &b->mesh;
	size_t bound = (size_t)m->vertex_count + m->index_count;
	/* Vertices have numbers of 32 bits; more of them fit no arena. */
	uint32_t *indices = HOB_NEW(b->scratch, uint32_t, m->index_count),
			 *from = HOB_NEW(b->scratch, uint32_t, bound <= UINT32_MAX ? bound : SIZE_MAX);
	float *out = HOB_NEW(b->scratch, float, bound *width);
	memcpy(indices, m->indices, m->index_count * sizeof *indices);
	uint32_t count = hob_split(indices, m->index_count, m->vertex_count, corners_per_value, values, width,
							   from, out, b->scratch);
	m->indices = indices;
	if (count > m->vertex_count)
		hob_mesh_gather(m, from, count, b->scratch, m);
	return out;
}

static float *creased_normals(bake_t *b)
{
	hob_mesh *m = &b->mesh;
	hob_vertex_array place = {m->position, 12, true, 0};
	uint32_t *group = number_vertices(b, &place, 1);
	float *corners = HOB_NEW(b->scratch, float, 3 * (size_t)m->index_count);
	double cosine = cos((double)b->options.smooth_angle * 3.14159265358979323846 / 180);
	hob_normals_creased(m->position, m->vertex_count, m->indices, m->index_count, group, cosine, corners,
						b->scratch);
	return split_vertices(b, corners, 3, 1);
}

static bool changes_normals(const hob_mesh *m)
{
	for (uint32_t t = 0; t < m->target_count; t++)
		if (m->targets[t].normal)
			return true;
	return false;
}

static void make_normals(bake_t *b)
{
	hob_mesh *m = &b->mesh;
	if (m->tangent)
		hob_note_add(b->notes, HOB_NOTE_INFO, "mesh.tangents-ignored",
					 "mesh '%.*s' has tangents but no normals; they are left out, as glTF requires",
					 HOB_FMT(m->name));
	m->tangent = NULL;
	for (uint32_t t = 0; t < m->target_count; t++)
		if (m->targets[t].normal || m->targets[t].tangent)
			hob_note_add(b->notes, HOB_NOTE_INFO, "mesh.morph-normals",
						 "mesh '%.*s' has morph target normals but no normals of its own", HOB_FMT(m->name));
	if (b->options.smooth_by_angle) {
		m->normal = creased_normals(b);
	} else if (!m->flat) {
		m->normal = smooth_normals(b);
	} else if (!b->options.bake_flat_normals && !changes_normals(m)) {
		b->flags |= HOB_MESH_FLAT;
		return;
	} else {
		float *flat = HOB_NEW(b->scratch, float, m->index_count);
		hob_normals_flat(m->position, m->indices, m->index_count / 3, flat);
		float *normal = split_vertices(b, flat, 3, 3);
		m->normal = normal;
	}
	b->flags |= HOB_MESH_GENERATED_NORMALS;
}

static uint32_t count_unusable(const float *vectors, uint32_t stride, uint32_t count)
{
	uint32_t bad = 0;
	for (size_t v = 0; v < count; v++)
		bad += !hob_normal_usable(vectors + stride * v);
	return bad;
}

/* Importers deliver unit normals; this is a last guard that keeps NaN out of files. */
static void repair_normals(bake_t *b)
{
	hob_mesh *m = &b->mesh;
	uint32_t bad = count_unusable(m->normal, 3, m->vertex_count);
	if (bad == 0)
		return;
	float *normal = smooth_normals(b);
	for (size_t v = 0; v < m->vertex_count; v++)
		if (hob_normal_usable(m->normal + 3 * v))
			memcpy(normal + 3 * v, m->normal + 3 * v, 12);
	m->normal = normal;
	hob_note_add(b->notes, HOB_NOTE_WARNING, "mesh.bad-normals",
				 "mesh '%.*s': %u of %u normals have no length and were computed from the triangles",
				 HOB_FMT(m->name), bad, m->vertex_count);
}

/* ---- weld */

static void note_dropped(bake_t *b, uint32_t indices, const char *why)
{
	hob_note_add(b->notes, HOB_NOTE_INFO, "mesh.degenerate-triangles",
				 "mesh '%.*s': %u of %u triangles %s and were dropped", HOB_FMT(b->mesh.name), indices / 3,
				 b->mesh.index_count / 3, why);
}

/* Lists the arrays by which vertices differ once they are quantized: exact places, so that no triangle
 * collapses, and the streams. Returns their number, at most hob_vertex_arrays_count(). */
static uint32_t list_streams(bake_t *b, hob_vertex_array *arrays, hob_arena *passing)
{
	const hob_mesh *m = &b->mesh;
	hob_baked_mesh stored = {.mesh = *m};
	hob_mesh bare = {.position = m->position, .targets = m->targets, .target_count = m->target_count};
	uint32_t count = hob_vertex_arrays_count(&bare);
	hob_streams_build(&stored, b->options.vertices, b->options.ranges, passing, NULL);
	hob_vertex_arrays_list(&bare, arrays);
	for (uint32_t s = 1; s < stored.stream_count; s++)
		arrays[count++] = (hob_vertex_array){stored.streams[s].data, stored.streams[s].stride, false, 0};
	return count;
}

/* Joins vertices that are equal or, if `stored`, that will be stored alike. m->indices becomes a copy in
 * b->welded; if `stored`, it already is a copy. */
static void weld(bake_t *b, bool stored)
{
	hob_mesh *m = &b->mesh;
	hob_arena passing;
	hob_arena_init(&passing, b->scratch->limit);
	uint32_t array_count = hob_vertex_arrays_count(m);
	hob_vertex_array *arrays = HOB_NEW(&passing, hob_vertex_array, array_count);
	uint32_t *remap = HOB_NEW(&passing, uint32_t, m->vertex_count),
			 *from = HOB_NEW(&passing, uint32_t, m->vertex_count);
	uint32_t *indices =
		stored ? (uint32_t *)(uintptr_t)m->indices : HOB_NEW(&b->welded, uint32_t, m->index_count);
	hob_vertex_arrays_list(m, arrays);
	if (stored)
		array_count = list_streams(b, arrays, &passing);
	uint32_t kept =
		hob_weld(arrays, array_count, m->vertex_count, m->indices, m->index_count, remap, from, &passing);
	uint32_t index_count = m->index_count;
	if (m->topology == HOB_TRIANGLES) {
		index_count = hob_weld_triangles(m->indices, m->index_count, remap, indices, NULL);
	} else {
		for (uint32_t i = 0; i < m->index_count; i++)
			indices[i] = remap[m->indices[i]];
	}
	if (index_count < m->index_count)
		note_dropped(b, m->index_count - index_count, "name a vertex twice");
	m->indices = indices;
	m->index_count = index_count;
	if (kept < m->vertex_count)
		hob_mesh_gather(m, from, kept, b->scratch, m);
	hob_arena_release(&passing);
}

/* ---- tangents */

/* The texture coordinates that tangents follow; mapped without the offset, which does not affect tangents. */
static const float *tangent_coordinates(bake_t *b)
{
	const hob_mesh *m = &b->mesh;
	const float *row = b->options.tangent_mapping, *uv = m->uv[b->options.tangent_uv_set];
	uv = uv ? uv : m->uv[0];
	if (row[0] == 0 && row[1] == 0 && row[2] == 0 && row[3] == 0)
		return uv;
	float *mapped = HOB_NEW(b->scratch, float, 2 * (size_t)m->vertex_count);
	for (size_t v = 0; v < m->vertex_count; v++) {
		mapped[2 * v] = row[0] * uv[2 * v] + row[1] * uv[2 * v + 1];
		mapped[2 * v + 1] = row[2] * uv[2 * v] + row[3] * uv[2 * v + 1];
	}
	return mapped;
}

static void make_tangents(bake_t *b)
{
	hob_mesh *m = &b->mesh;
	const float *uv = tangent_coordinates(b);
	hob_vertex_array arrays[3] = {{m->position, 12, true, 0}, {m->normal, 12, true, 0}, {uv, 8, true, 0}};
	uint32_t *group = number_vertices(b, arrays, 3);
	float *corners = HOB_NEW(b->scratch, float, 4 * (size_t)m->index_count);
	hob_tangents(m->position, m->normal, uv, m->vertex_count, m->indices, m->index_count, group, corners,
				 b->scratch);
	float *tangent = split_vertices(b, corners, 4, 1);
	m->tangent = tangent;
	b->flags |= HOB_MESH_GENERATED_TANGENTS;
}

static void repair_tangents(bake_t *b)
{
	hob_mesh *m = &b->mesh;
	if (count_unusable(m->tangent, 4, m->vertex_count) == 0)
		return;
	float *tangent = HOB_NEW(b->scratch, float, 4 * (size_t)m->vertex_count);
	memcpy(tangent, m->tangent, 4 * (size_t)m->vertex_count * sizeof *tangent);
	for (size_t v = 0; v < m->vertex_count; v++)
		if (!hob_normal_usable(tangent + 4 * v))
			hob_vec3_store(tangent + 4 * v, hob_vec3_perpendicular(hob_vec3_load(m->normal + 3 * v)));
	m->tangent = tangent;
}

static void complete_attributes(bake_t *b)
{
	hob_mesh *m = &b->mesh;
	reduce_influences(b);
	bool triangles = m->topology == HOB_TRIANGLES;
	if (triangles && m->index_count > 0 && !m->normal)
		make_normals(b);
	if (m->normal && !(b->flags & HOB_MESH_GENERATED_NORMALS))
		repair_normals(b);
	if (m->tangent && m->normal)
		repair_tangents(b);
	if (m->index_count == 0)
		return;
	weld(b, false);
	if (triangles && m->index_count > 0 && b->options.need_tangents && !m->tangent && m->normal && m->uv[0])
		make_tangents(b);
	if (triangles && m->index_count > 0 && b->options.vertices != HOB_VERTICES_EXACT)
		weld(b, true);
}

/* ---- order and levels */

/* Notes why a chain of levels is short, or why its last level misses 'lods.ratio'. */
static void note_end(bake_t *b, hob_lod_end end, const hob_lod_level *levels, uint32_t level_count)
{
	static const struct {
		const char *code, *why;
	} notes[] = {
		[HOB_LOD_END_ERROR] = {"mesh.lods-error",
							   "a coarser one would be farther off than 'lods.error' allows"},
		[HOB_LOD_END_STUCK] = {"mesh.lods-stuck", "hard edges, texture seams or topology hold the rest"},
		[HOB_LOD_END_PIECES] = {"mesh.lods-pieces",
								"a coarser one would lose whole pieces (leaves, cards, loose triangles)"}};
	uint32_t all = levels[0].index_count / 3, left = levels[level_count - 1].index_count / 3;
	double before = level_count > 1 ? levels[level_count - 2].index_count / 3 : 0;
	bool off = left > HOB_LOD_NEAR * fmax(HOB_LOD_SMALL, before * (double)b->options.lod_ratio);
	if (end < HOB_LOD_END_ERROR || (end == HOB_LOD_END_ERROR && all < HOB_LOD_WORTH) ||
		!(off || HOB_LOD_SHORT(left, all)))
		return;
	hob_note_add(b->notes, HOB_NOTE_INFO, notes[end].code,
				 "mesh '%.*s': %u levels of detail, the coarsest has %u of %u triangles: %s",
				 HOB_FMT(b->mesh.name), level_count, left, all, notes[end].why);
}

/* passing  holds the levels until place_levels has copied them */
static uint32_t build_levels(bake_t *b, hob_arena *passing, hob_lod_level *levels)
{
	hob_mesh *m = &b->mesh;
	const hob_mesh_options *o = &b->options;
	uint32_t level_count = 1;
	levels[0] = (hob_lod_level){.indices = m->indices, .index_count = m->index_count};
	if (m->topology != HOB_TRIANGLES)
		return level_count;
	hob_order_effort effort = o->preview ? HOB_ORDER_FAST : o->encoded ? HOB_ORDER_SMALL : HOB_ORDER_BEST;
	/* Ordering takes a fifth of a preview's time, but makes encoded meshes much smaller. */
	if (!o->keep_order && (!o->preview || o->encoded))
		hob_order_in_chunks(levels[0].indices, m->index_count, m->position, m->vertex_count, effort,
							HOB_LOD_CHUNK, passing);
	hob_lod_options lod = {.max = o->preview ? 1 : o->lod_max,
						   .ratio = o->lod_ratio,
						   .error = o->lod_error,
						   .lock_border = o->lod_lock_border,
						   .encoded = o->encoded,
						   .poses = o->poses,
						   .parallel = o->parallel};
	hob_lod_end end = hob_lod_chunks_build(m, &lod, HOB_LOD_CHUNK, levels, &level_count, passing);
	uint32_t before = levels[0].index_count;
	hob_weld_drop_collapsed(m, levels[0].indices, &levels[0].index_count, b->scratch);
	if (levels[0].index_count < before)
		note_dropped(b, before - levels[0].index_count, "have two corners at one place");
	note_end(b, end, levels, level_count);
	return level_count;
}

static bool needs_vertices(const bake_t *b)
{
	return !b->options.only_streams || b->mesh.influence_count > 0 || b->mesh.target_count > 0;
}

static void drop_vertices(hob_mesh *m)
{
	m->position = m->normal = m->tangent = NULL;
	memset(m->uv, 0, sizeof m->uv);
	memset(m->color, 0, sizeof m->color);
}

/* Copies the levels to `result`, and releases `passing` and b->welded as soon as their indices are copied. */
static void place_levels(bake_t *b, const hob_lod_level *levels, uint32_t level_count, hob_arena *passing,
						 hob_baked_mesh *out)
{
	uint64_t total = 0;
	uint32_t *lists[HOB_MAX_LODS], counts[HOB_MAX_LODS], prefixes[HOB_MAX_LODS];
	for (uint32_t l = 0; l < level_count; l++)
		total += levels[l].index_count;
	/* Indices are counted in 32 bits; more of them fit no arena. */
	uint32_t *indices = HOB_NEW(b->result, uint32_t, total <= UINT32_MAX ? total : SIZE_MAX);
	uint32_t *remap = HOB_NEW(b->scratch, uint32_t, b->mesh.vertex_count);
	uint32_t *order = HOB_NEW(b->scratch, uint32_t, b->mesh.vertex_count);
	uint32_t at = 0;
	for (uint32_t l = 0; l < level_count; l++) {
		lists[l] = indices + at, counts[l] = levels[l].index_count;
		if (counts[l] > 0)
			memcpy(lists[l], levels[l].indices, counts[l] * sizeof *indices);
		out->lods[l] = (hob_baked_lod){.index_first = at,
									   .index_count = counts[l],
									   .error = levels[l].error,
									   .mean_error = levels[l].mean_error,
									   .attributes = levels[l].attributes};
		at += counts[l];
		if (l == 0)
			hob_arena_release(&b->welded);
	}
	b->mesh.indices = NULL;
	hob_arena_release(passing);
	uint32_t used =
		hob_order_vertices(lists, counts, level_count, b->mesh.vertex_count, remap, order, prefixes);
	hob_arena_drop(b->scratch, remap);
	if (total == 0)
		for (used = 0; used < b->mesh.vertex_count; used++)
			order[used] = used;
	for (uint32_t l = 0; l < level_count; l++)
		out->lods[l].vertex_prefix = prefixes[l];
	out->lods[0].vertex_prefix = used;
	hob_mesh_gather(&b->mesh, order, used, needs_vertices(b) ? b->result : b->scratch, &out->mesh);
	hob_arena_drop(b->scratch, order);
	out->lod_count = level_count;
	out->indices = indices;
	out->index_count = at;
	out->mesh.indices = indices;
	out->mesh.index_count = counts[0];
}

/* ---- the rest */

static void measure(bake_t *b, hob_baked_mesh *out)
{
	const hob_mesh *m = &out->mesh;
	hob_bounds_box(m->position, m->vertex_count, out->aabb_min, out->aabb_max);
	hob_bounds_sphere(m->position, m->vertex_count, out->sphere);
	if (m->topology != HOB_TRIANGLES || !m->uv[0])
		return;
	float *samples = HOB_NEW(b->scratch, float, HOB_UV_DENSITY_SAMPLES);
	out->uv_density = hob_uv_density(m->position, m->uv[0], m->indices, m->index_count, samples);
}

/* Adds the meshlets of levels and, after them, clusters. Meshes that deform get no clusters, since spheres
 * and errors would not hold; nor do meshes that keep their order. */
static void add_meshlets(bake_t *b, hob_baked_mesh *out)
{
	const hob_mesh *m = &out->mesh;
	const hob_mesh_options *o = &b->options;
	hob_clusters all = {0};
	if (m->topology != HOB_TRIANGLES)
		return;
	if (o->meshlets)
		all.meshlets = hob_meshlets_build(out->indices, m->position, m->vertex_count, out->lods,
										  out->lod_count, b->result, b->scratch);
	uint32_t count = all.meshlets.count;
	if (o->clusters && !o->preview && !o->keep_order && m->influence_count == 0 && m->target_count == 0 &&
		out->lods[0].index_count >= HOB_CLUSTERS_LEAST * 3)
		hob_clusters_build(m, out->indices, out->lods[0].index_count, b->result, b->scratch, &all);
	out->meshlet_count = all.meshlets.count;
	out->meshlets = all.meshlets.items;
	out->meshlet_vertex_count = all.meshlets.vertex_count;
	out->meshlet_vertices = all.meshlets.vertices;
	out->meshlet_triangle_bytes = all.meshlets.triangle_bytes;
	out->meshlet_triangles = all.meshlets.triangles;
	out->cluster_count = all.meshlets.count - count;
	out->cluster_sources = all.sources;
	out->group_count = all.group_count;
	out->groups = all.groups;
}

static uint32_t final_flags(const bake_t *b, const hob_mesh *m)
{
	uint32_t flags = b->flags;
	flags |= m->target_count > 0 ? HOB_MESH_MORPHED : 0u;
	flags |= m->tangent ? HOB_MESH_HAS_TANGENTS : 0u;
	flags |= m->color[0] ? HOB_MESH_HAS_COLORS : 0u;
	flags |= m->topology == HOB_LINES ? HOB_MESH_LINES : 0u;
	flags |= m->topology == HOB_POINTS ? HOB_MESH_POINTS : 0u;
	return flags;
}

hob_baked_mesh hob_mesh_bake(const hob_mesh *source, const hob_mesh_options *options, hob_arena *result,
							 hob_arena *scratch, hob_notes *notes)
{
	bake_t b = {.options = *options, .mesh = *source, .result = result, .scratch = scratch, .notes = notes};
	hob_baked_mesh out = {.skin = HOB_NONE};
	hob_lod_level levels[HOB_MAX_LODS];
	hob_arena passing;
	assert(options->lod_max <= HOB_MAX_LODS);
	if (b.options.lod_ratio <= 0)
		b.options.lod_ratio = 0.5f;
	if (b.options.influences == 0)
		b.options.influences = 4;
	hob_arena_mark mark = hob_arena_save(scratch);
	hob_arena_init(&passing, scratch->limit);
	hob_arena_init(&b.welded, scratch->limit);
	complete_attributes(&b);
	uint32_t level_count = build_levels(&b, &passing, levels);
	place_levels(&b, levels, level_count, &passing, &out);
	out.flags = final_flags(&b, &out.mesh);
	add_meshlets(&b, &out);
	measure(&b, &out);
	hob_streams_build(&out, b.options.vertices, b.options.ranges, result,
					  needs_vertices(&b) ? NULL : scratch);
	if (!needs_vertices(&b))
		drop_vertices(&out.mesh);
	hob_arena_restore(scratch, mark);
	return out;
}
