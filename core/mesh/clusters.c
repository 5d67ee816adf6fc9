#include "clusters.h"
#include "cluster_groups.h"
#include "lod_error.h"
#include "meshopt_shim.h"
#include "simplify.h"
#include "visible.h"
#include "weld.h"

#include <assert.h>
#include <float.h>

#define SHARED (HOB_NONE - 1)

enum { LEFT_PERCENT = 95 };

/* Stated errors and radii are slightly larger than computed, so that rounding in a renderer cannot reverse
 * the order of a group and its sources. */
#define ROUNDING 1e-5

typedef struct cluster {
	uint32_t corner_first, corner_count; /* in build.corners */
	uint32_t source, group;				 /* index of the group, in the order of making; HOB_NONE: none */
} cluster_t;

typedef struct build {
	const hob_mesh *mesh;
	const float *positions;
	uint32_t vertex_count;
	float *attributes; /* [vertex_count][attribute_count] as lengths (visible.h) */
	uint32_t attribute_count;
	bool split;		 /* triangles share few vertices: cluster by place */
	uint32_t *place; /* [vertex_count] first vertex at the same position */
	uint32_t *owner; /* by place: the group that uses it, SHARED or HOB_NONE */
	uint32_t *local; /* by vertex, and by place: number within a group; HOB_NONE between groups */
	uint32_t *at;
	hob_buf corners;  /* uint32_t */
	hob_buf clusters; /* cluster_t */
	hob_buf groups;	  /* hob_baked_cluster_group, in the order of making */
	hob_buf active;	  /* uint32_t: clusters that are in no group yet */
	hob_arena *scratch, measuring;
} build_t;

static cluster_t *cluster_at(const build_t *b, uint32_t id)
{
	return (cluster_t *)(void *)b->clusters.data + id;
}

static uint32_t cluster_total(const build_t *b)
{
	return (uint32_t)(b->clusters.size / sizeof(cluster_t));
}

static const uint32_t *corners_of(const build_t *b, const cluster_t *c)
{
	return (const uint32_t *)(const void *)b->corners.data + c->corner_first;
}

static hob_baked_cluster_group *group_at(const build_t *b, uint32_t id)
{
	return (hob_baked_cluster_group *)(void *)b->groups.data + id;
}

static uint32_t group_total(const build_t *b)
{
	return (uint32_t)(b->groups.size / sizeof(hob_baked_cluster_group));
}

/* ---- clusters of a list of triangles */

static void grow_box(float low[3], float high[3], const float center[3], float radius)
{
	for (int k = 0; k < 3; k++) {
		low[k] = center[k] - radius < low[k] ? center[k] - radius : low[k];
		high[k] = center[k] + radius > high[k] ? center[k] + radius : high[k];
	}
}

/* Cuts triangles into active clusters, and reorders `indices`. `from` gives each vertex's index in the mesh;
 * NULL: it is the same. */
static void cut(build_t *b, uint32_t *indices, uint32_t index_count, const float *positions,
				uint32_t vertex_count, const uint32_t *from, uint32_t source)
{
	hob_arena_mark mark = hob_arena_save(b->scratch);
	hob_meshlet_cut pieces =
		hob_meshlets_cut(indices, index_count, positions, vertex_count, b->split, b->scratch);
	for (uint32_t i = 0; i < pieces.count; i++) {
		const struct meshopt_Meshlet *piece = &pieces.meshlets[i];
		cluster_t cluster = {.corner_first = (uint32_t)(b->corners.size / sizeof(uint32_t)),
							 .corner_count = piece->triangle_count * 3,
							 .source = source,
							 .group = HOB_NONE};
		uint32_t id = cluster_total(b), corners[HOB_MESHLET_TRIANGLES * 3];
		for (uint32_t k = 0; k < cluster.corner_count; k++) {
			uint32_t v = pieces.vertices[piece->vertex_offset + pieces.triangles[piece->triangle_offset + k]];
			corners[k] = from ? from[v] : v;
		}
		hob_buf_put(&b->corners, corners, cluster.corner_count * sizeof *corners);
		hob_buf_put(&b->clusters, &cluster, sizeof cluster);
		hob_buf_put(&b->active, &id, sizeof id);
	}
	hob_arena_restore(b->scratch, mark);
}

/* ---- one group */

/* The triangles of a group, with vertices of its own. */
typedef struct part {
	uint32_t *indices, index_count;
	uint32_t *from;	   /* [vertex_count] the mesh's vertices */
	uint32_t *first;   /* [vertex_count] the first vertex at the same place */
	float *positions;  /* [vertex_count][3] */
	float *attributes; /* [vertex_count][attribute_count] */
	float *uv[HOB_SIMPLIFY_UVS];
	uint8_t *locked; /* [vertex_count] the place also belongs to other groups */
	uint32_t vertex_count;
} part_t;

/* Collects the indices of clusters. */
static uint32_t *gather(build_t *b, const uint32_t *members, uint32_t member_count, uint32_t *count)
{
	*count = 0;
	for (uint32_t i = 0; i < member_count; i++)
		*count += cluster_at(b, members[i])->corner_count;
	uint32_t *corners = HOB_NEW(b->scratch, uint32_t, *count), to = 0;
	for (uint32_t i = 0; i < member_count; i++) {
		const cluster_t *c = cluster_at(b, members[i]);
		memcpy(corners + to, corners_of(b, c), c->corner_count * sizeof *corners);
		to += c->corner_count;
	}
	return corners;
}

static part_t take_part(build_t *b, const uint32_t *corners, uint32_t count)
{
	part_t part = {.indices = HOB_NEW(b->scratch, uint32_t, count),
				   .index_count = count,
				   .from = HOB_NEW(b->scratch, uint32_t, count),
				   .first = HOB_NEW(b->scratch, uint32_t, count),
				   .locked = HOB_NEW(b->scratch, uint8_t, count),
				   .positions = HOB_NEW(b->scratch, float, 3 * (size_t)count)};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t v = corners[i];
		if (b->local[v] == HOB_NONE) {
			uint32_t *at = &b->at[b->place[v]];
			b->local[v] = part.vertex_count++;
			*at = *at == HOB_NONE ? b->local[v] : *at;
			part.from[b->local[v]] = v;
			part.first[b->local[v]] = *at;
		}
		part.indices[i] = b->local[v];
	}
	for (uint32_t v = 0; v < part.vertex_count; v++) {
		uint32_t from = part.from[v];
		memcpy(part.positions + 3 * (size_t)v, b->positions + 3 * (size_t)from, 12);
		part.locked[v] = b->owner[b->place[from]] == SHARED;
		b->local[from] = b->at[b->place[from]] = HOB_NONE;
	}
	return part;
}

static void take_attributes(build_t *b, part_t *part)
{
	size_t size = b->attribute_count * sizeof(float);
	part->attributes = hob_arena_array(b->scratch, part->vertex_count, size, 4);
	for (uint32_t v = 0; v < part->vertex_count && size > 0; v++)
		memcpy((uint8_t *)part->attributes + size * v, (const uint8_t *)b->attributes + size * part->from[v],
			   size);
	for (uint32_t set = 0; set < HOB_SIMPLIFY_UVS && b->mesh->uv[set]; set++) {
		part->uv[set] = HOB_NEW(b->scratch, float, 2 * (size_t)part->vertex_count);
		for (uint32_t v = 0; v < part->vertex_count; v++)
			memcpy(part->uv[set] + 2 * (size_t)v, b->mesh->uv[set] + 2 * (size_t)part->from[v], 8);
	}
}

/* Simplifies a group; its index_count is 0 if too little is saved. */
static hob_simplify_level simplify(build_t *b, part_t *part)
{
	uint32_t reached = 1;
	take_attributes(b, part);
	hob_simplify_level level = {.target = part->index_count / 6};
	hob_simplify_input input = {.positions = part->positions,
								.vertex_count = part->vertex_count,
								.first = part->first,
								.attributes = part->attributes,
								.attribute_count = b->attribute_count,
								.uv = {part->uv[0], part->uv[1]},
								.locked = part->locked,
								.keep_pieces = true,
								.indices = part->indices,
								.index_count = part->index_count,
								.limit = HUGE_VAL};
	hob_simplify(&input, &level, &reached, b->scratch);
	if (reached == 0 || level.index_count * 100ull > part->index_count * 85ull)
		level.index_count = 0;
	return level;
}

static double measure(build_t *b, const part_t *part, const hob_simplify_level *level)
{
	hob_arena_mark mark = hob_arena_save(&b->measuring);
	hob_lod_full full = hob_lod_error_begin(part->positions, part->vertex_count, part->first, part->indices,
											part->index_count, false, &b->measuring);
	hob_lod_surface surface = hob_lod_error_surface(&full, level->indices, level->index_count, &b->measuring);
	double distance = hob_lod_error_measure(&full, &surface.surface, level->mean, level->change, NULL);
	hob_arena_restore(&b->measuring, mark);
	return distance;
}

/* Simplifies a group. Returns its triangles as a part of their own; none if too little is saved. */
static part_t shrink(build_t *b, const uint32_t *corners, uint32_t count, double *distance)
{
	part_t part = take_part(b, corners, count);
	hob_simplify_level level = simplify(b, &part);
	if (level.index_count > 0)
		*distance = measure(b, &part, &level);
	if (level.index_count == 0 || *distance > (double)FLT_MAX)
		return (part_t){0};
	for (uint32_t i = 0; i < level.index_count; i++)
		level.indices[i] = part.from[level.indices[i]];
	return take_part(b, level.indices, level.index_count);
}

/* A sphere around clusters, or around the spheres of their sources, which contain the clusters' own. */
static void enclose(const build_t *b, const uint32_t *members, uint32_t member_count, float sphere[4])
{
	float low[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, high[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
	double radius = 0, size = 0;
	for (uint32_t i = 0; i < member_count; i++) {
		const cluster_t *c = cluster_at(b, members[i]);
		const float *inner = c->source != HOB_NONE ? group_at(b, c->source)->sphere : NULL;
		if (inner)
			grow_box(low, high, inner, inner[3]);
		for (uint32_t k = 0; !inner && k < c->corner_count; k++)
			grow_box(low, high, b->positions + 3 * (size_t)corners_of(b, c)[k], 0);
	}
	for (int k = 0; k < 3; k++) {
		sphere[k] = low[k] / 2 + high[k] / 2;
		size = fmax(size, fabs((double)sphere[k]));
	}
	for (uint32_t i = 0; i < member_count; i++) {
		const cluster_t *c = cluster_at(b, members[i]);
		const float *inner = c->source != HOB_NONE ? group_at(b, c->source)->sphere : NULL;
		if (inner)
			radius = fmax(radius, hob_vec3_between(inner, sphere) + (double)inner[3]);
		for (uint32_t k = 0; !inner && k < c->corner_count; k++)
			radius = fmax(radius, hob_vec3_between(b->positions + 3 * (size_t)corners_of(b, c)[k], sphere));
	}
	sphere[3] = (float)(radius * (1 + ROUNDING) + size * 1e-6);
}

/* Makes a group, or leaves its clusters active if they do not shrink. */
static void make_group(build_t *b, const uint32_t *members, uint32_t member_count)
{
	uint32_t count;
	double distance = 0, before = 0;
	uint32_t *corners = gather(b, members, member_count, &count);
	part_t part = shrink(b, corners, count, &distance);
	if (part.index_count == 0) {
		hob_buf_put(&b->active, members, member_count * sizeof *members);
		return;
	}
	hob_baked_cluster_group group = {.cluster_count = member_count};
	for (uint32_t i = 0; i < member_count; i++) {
		uint32_t source = cluster_at(b, members[i])->source;
		before = source != HOB_NONE ? fmax(before, (double)group_at(b, source)->error) : before;
	}
	group.error = (float)((before + HOB_LOD_ERROR_MARGIN * distance) * (1 + ROUNDING));
	enclose(b, members, member_count, group.sphere);
	uint32_t id = group_total(b);
	for (uint32_t i = 0; i < member_count; i++)
		cluster_at(b, members[i])->group = id;
	hob_buf_put(&b->groups, &group, sizeof group);
	cut(b, part.indices, part.index_count, part.positions, part.vertex_count, part.from, id);
}

/* ---- one round: every active cluster into a group */

/* Lists the places of each cluster, each once; places [first[count]]. */
static void list_places(build_t *b, const uint32_t *active, uint32_t count, uint32_t *first, uint32_t *places)
{
	uint32_t total = 0;
	for (uint32_t i = 0; i < count; i++) {
		const cluster_t *c = cluster_at(b, active[i]);
		first[i] = total;
		for (uint32_t k = 0; k < c->corner_count; k++) {
			uint32_t place = b->place[corners_of(b, c)[k]];
			if (b->at[place] == HOB_NONE) {
				b->at[place] = 0;
				places[total++] = place;
			}
		}
		for (uint32_t k = first[i]; k < total; k++)
			b->at[places[k]] = HOB_NONE;
	}
	first[count] = total;
}

static void find_owners(build_t *b, const uint32_t *first, const uint32_t *places, uint32_t count,
						const uint32_t *group)
{
	memset(b->owner, 0xFF, b->vertex_count * sizeof *b->owner);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = first[i]; k < first[i + 1]; k++) {
			uint32_t *owner = &b->owner[places[k]];
			*owner = *owner == HOB_NONE || *owner == group[i] ? group[i] : SHARED;
		}
}

static void make_groups(build_t *b, const uint32_t *active, uint32_t count)
{
	uint32_t *first = HOB_NEW(b->scratch, uint32_t, (size_t)count + 1);
	uint32_t *places = HOB_NEW(b->scratch, uint32_t, (size_t)count * HOB_MESHLET_VERTICES);
	uint32_t *group = HOB_NEW(b->scratch, uint32_t, count), *members = HOB_NEW(b->scratch, uint32_t, count);
	uint32_t *member_first = HOB_NEW(b->scratch, uint32_t, (size_t)count + 1);
	list_places(b, active, count, first, places);
	uint32_t group_count = hob_cluster_groups(first, places, count, b->vertex_count, group, b->scratch);
	find_owners(b, first, places, count, group);
	hob_list_by_key(group, count, group_count, member_first, members);
	for (uint32_t i = 0; i < count; i++)
		members[i] = active[members[i]];
	for (uint32_t g = 0; g < group_count; g++) {
		hob_arena_mark mark = hob_arena_save(b->scratch);
		make_group(b, members + member_first[g], member_first[g + 1] - member_first[g]);
		hob_arena_restore(b->scratch, mark);
	}
}

static uint64_t active_corners(const build_t *b)
{
	uint64_t total = 0;
	for (size_t i = 0; i < b->active.size / sizeof(uint32_t); i++)
		total += cluster_at(b, ((const uint32_t *)(const void *)b->active.data)[i])->corner_count;
	return total;
}

/* Puts the active clusters into groups. Returns whether another round is worthwhile. */
static bool make_round(build_t *b)
{
	hob_arena_mark mark = hob_arena_save(b->scratch);
	uint32_t count = (uint32_t)(b->active.size / sizeof(uint32_t));
	uint32_t *active = HOB_NEW(b->scratch, uint32_t, count);
	uint64_t before = active_corners(b);
	memcpy(active, b->active.data, b->active.size);
	hob_buf_clear(&b->active);
	make_groups(b, active, count);
	hob_arena_restore(b->scratch, mark);
	return active_corners(b) * 100 <= before * LEFT_PERCENT;
}

/* ---- the result: coarsest group first */

static void describe(const build_t *b, const cluster_t *cluster, hob_meshlets *out)
{
	uint32_t vertices[HOB_MESHLET_VERTICES], count = 0;
	uint8_t triangles[3 * HOB_MESHLET_TRIANGLES];
	for (uint32_t k = 0; k < cluster->corner_count; k++) {
		uint32_t v = corners_of(b, cluster)[k];
		if (b->local[v] == HOB_NONE)
			vertices[count] = v, b->local[v] = count++;
		triangles[k] = (uint8_t)b->local[v];
	}
	for (uint32_t v = 0; v < count; v++)
		b->local[vertices[v]] = HOB_NONE;
	hob_meshlets_add(out, vertices, count, triangles, cluster->corner_count / 3, b->positions,
					 b->vertex_count);
}

static void reserve(build_t *b, hob_arena *result, hob_clusters *out)
{
	uint32_t count = cluster_total(b);
	uint64_t vertices = 0, bytes = 0;
	for (uint32_t i = 0; i < count; i++) {
		const cluster_t *c = cluster_at(b, i);
		vertices += c->corner_count < HOB_MESHLET_VERTICES ? c->corner_count : HOB_MESHLET_VERTICES;
		bytes += (c->corner_count + 3) & ~3u;
	}
	out->sources = HOB_NEW(result, uint32_t, count);
	out->group_count = group_total(b) + 1;
	out->groups = HOB_NEW(result, hob_baked_cluster_group, (size_t)out->group_count);
	hob_meshlets_reserve(&out->meshlets, count, vertices, bytes, result);
}

static void make_root(build_t *b, hob_baked_cluster_group *root)
{
	uint32_t count = (uint32_t)(b->active.size / sizeof(uint32_t));
	const uint32_t *active = (const uint32_t *)(const void *)b->active.data;
	*root = (hob_baked_cluster_group){.error = FLT_MAX, .cluster_count = count};
	enclose(b, active, count, root->sphere);
	for (uint32_t i = 0; i < count; i++)
		cluster_at(b, active[i])->group = group_total(b);
}

static void finish(build_t *b, hob_arena *result, hob_clusters *out)
{
	hob_clusters all = *out;
	uint32_t made = group_total(b), count = cluster_total(b);
	uint32_t *order = HOB_NEW(b->scratch, uint32_t, count);
	reserve(b, result, &all);
	make_root(b, &all.groups[0]);
	for (uint32_t g = 0; g < made; g++)
		all.groups[made - g] = *group_at(b, g);
	for (uint32_t g = 0, at = 0; g <= made; g++) {
		all.groups[g].cluster_first = at;
		at += all.groups[g].cluster_count;
		all.groups[g].cluster_count = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		hob_baked_cluster_group *group = &all.groups[made - cluster_at(b, i)->group];
		order[group->cluster_first + group->cluster_count++] = i;
	}
	for (uint32_t i = 0; i < count; i++) {
		const cluster_t *c = cluster_at(b, order[i]);
		all.sources[i] = c->source == HOB_NONE ? HOB_NONE : made - c->source;
		describe(b, c, &all.meshlets);
	}
	*out = all;
}

/* ---- the whole */

static void begin(build_t *b, const uint32_t *indices, uint32_t index_count)
{
	uint32_t *copy = HOB_NEW(b->scratch, uint32_t, index_count);
	b->place = HOB_NEW(b->scratch, uint32_t, b->vertex_count);
	b->owner = HOB_NEW(b->scratch, uint32_t, b->vertex_count);
	b->local = HOB_NEW(b->scratch, uint32_t, b->vertex_count);
	b->at = HOB_NEW(b->scratch, uint32_t, b->vertex_count);
	hob_weld_places(b->positions, b->vertex_count, b->scratch, b->place);
	uint32_t places = 0;
	for (uint32_t v = 0; v < b->vertex_count; v++)
		places += b->place[v] == v;
	b->split = places < b->vertex_count / 2;
	double size = (double)meshopt_simplifyScale(b->positions, b->vertex_count, 12);
	b->attributes =
		hob_visible_attributes(b->mesh, indices, index_count, size, b->scratch, &b->attribute_count);
	memset(b->local, 0xFF, b->vertex_count * sizeof *b->local);
	memset(b->at, 0xFF, b->vertex_count * sizeof *b->at);
	memcpy(copy, indices, index_count * sizeof *copy);
	cut(b, copy, index_count, b->positions, b->vertex_count, NULL, HOB_NONE);
}

void hob_clusters_build(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count,
						hob_arena *result, hob_arena *scratch, hob_clusters *out)
{
	assert(index_count >= 3 && index_count % 3 == 0);
	build_t b = {
		.mesh = mesh, .positions = mesh->position, .vertex_count = mesh->vertex_count, .scratch = scratch};
	hob_arena_mark mark = hob_arena_save(scratch);
	hob_arena_init(&b.measuring, scratch->limit);
	begin(&b, indices, index_count);
	while (b.active.size > sizeof(uint32_t) && make_round(&b))
		;
	hob_arena_release(&b.measuring);
	finish(&b, result, out);
	hob_buf_release(&b.corners);
	hob_buf_release(&b.clusters);
	hob_buf_release(&b.groups);
	hob_buf_release(&b.active);
	hob_arena_restore(scratch, mark);
}
