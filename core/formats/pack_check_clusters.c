#include "pack_check.h"

#include <float.h>
#include <math.h>

typedef struct cluster_checker {
	const check_file *file;
	check_section sets, groups, sources;
	hob_pk_cluster_set set;
	uint8_t *is_source; /* by group of the set: some cluster was made from it */
} cluster_checker;

static hob_pk_cluster_group read_group(const cluster_checker *c, uint32_t id)
{
	READ(cluster_group, group, c->groups, c->set.group_first + id);
	return group;
}

/* Checks a source of a group: a cut with the group includes the source, too, so the source's error must not
 * exceed the group's from any viewpoint. */
static bool check_source(const cluster_checker *c, const hob_pk_cluster_group *group, uint32_t id,
						 uint32_t source)
{
	CHECK(c->file, source > id && source < c->set.group_count, "came out of group %u of %u", source,
		  c->set.group_count);
	hob_pk_cluster_group finer = read_group(c, source);
	double square = 0;
	for (int k = 0; k < 3; k++) {
		double d = (double)group->sphere[k] - (double)finer.sphere[k];
		square += d * d;
	}
	CHECK(c->file, group->error > finer.error || (group->error <= 0 && finer.error <= 0),
		  "error %g is not above %g of source %u", (double)group->error, (double)finer.error, source);
	CHECK(c->file, sqrt(square) + (double)finer.sphere[3] <= (double)group->sphere[3],
		  "the sphere of source %u is not inside", source);
	c->is_source[source] = 1;
	return true;
}

static bool check_group(const cluster_checker *c, uint32_t id, uint32_t *cluster)
{
	hob_pk_cluster_group group = read_group(c, id);
	CHECK(c->file,
		  hob_check_finite(group.sphere, 4) && group.sphere[3] >= 0 && group.error >= 0 &&
			  hob_check_finite(&group.error, 1),
		  "its sphere or its error is no such thing");
	CHECK(c->file, id > 0 || group.error >= FLT_MAX, "the first group has error %g", (double)group.error);
	CHECK(c->file, id == 0 || c->is_source[id], "nothing came out of it");
	CHECK(c->file, group.reserved == 0 && group.cluster_count > 0, "%u clusters, reserved %u",
		  group.cluster_count, group.reserved);
	if (!hob_check_run(c->file, group.cluster_first, group.cluster_count, cluster, c->set.cluster_count,
					   "cluster"))
		return false;
	for (uint32_t i = 0; i < group.cluster_count; i++) {
		uint32_t source = hob_check_u32(&c->sources, c->set.cluster_first + group.cluster_first + i);
		if (source != HOB_PK_NONE && !check_source(c, &group, id, source))
			return hob_fail_in(c->file->err, "cluster %u", group.cluster_first + i);
	}
	return true;
}

static bool check_set(cluster_checker *c)
{
	uint32_t cluster = 0;
	hob_arena_mark mark = hob_arena_save(c->file->arena);
	if (!HOB_MAKE(c->file->arena, &c->is_source, c->set.group_count, "validation", c->file->err))
		return false;
	memset(c->is_source, 0, c->set.group_count);
	for (uint32_t g = 0; g < c->set.group_count; g++)
		if (!check_group(c, g, &cluster))
			return hob_fail_in(c->file->err, "group %u", g);
	hob_arena_restore(c->file->arena, mark);
	CHECK(c->file, cluster == c->set.cluster_count, "%u of %u clusters belong to groups", cluster,
		  c->set.cluster_count);
	return true;
}

bool hob_check_clusters(const check_file *file)
{
	uint32_t group = 0, cluster = 0;
	int64_t level = -1;
	cluster_checker c = {.file = file,
						 .sets = hob_check_find(file, HOB_PK_CLST),
						 .groups = hob_check_find(file, HOB_PK_CLGR),
						 .sources = hob_check_find(file, HOB_PK_CLUS)};
	for (uint32_t i = 0; i < c.sets.entry.count; i++) {
		hob_check_read(&c.sets, i, &c.set, sizeof c.set);
		CHECK(file, (int64_t)c.set.lod_first > level, "cluster set %u: level %u after %lld", i,
			  c.set.lod_first, (long long)level);
		level = c.set.lod_first;
		CHECK(file,
			  c.set.group_count > 0 && c.set.cluster_count > 0 && !(c.set.reserved[0] | c.set.reserved[1]),
			  "cluster set %u: %u groups, %u clusters or reserved fields", i, c.set.group_count,
			  c.set.cluster_count);
		if (!hob_check_run(file, c.set.group_first, c.set.group_count, &group, c.groups.entry.count,
						   "group") ||
			!hob_check_run(file, c.set.cluster_first, c.set.cluster_count, &cluster, c.sources.entry.count,
						   "cluster") ||
			!check_set(&c))
			return hob_fail_in(file->err, "cluster set %u", i);
	}
	CHECK(file, group == c.groups.entry.count && cluster == c.sources.entry.count,
		  "groups or clusters without a set");
	return true;
}
