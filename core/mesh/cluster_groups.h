/* cluster_groups.h - chooses which clusters are simplified together. */
#ifndef HOB_CLUSTER_GROUPS_H
#define HOB_CLUSTER_GROUPS_H

#include "../base/base.h"

enum { HOB_GROUP_CLUSTERS = 16, HOB_GROUP_MOST = 24 };

/* Puts clusters into groups of about HOB_GROUP_CLUSTERS, at most HOB_GROUP_MOST, that share many places;
 * clusters that touch no other join their neighbours in the list.
 *
 * cluster_count    at least 1
 * first            [cluster_count + 1] the places of cluster c are places[first[c]] to before places[first[c
 *                  + 1]], each once
 * place_count      every place is less than this
 * group            [cluster_count] out: its group; numbered from 0 without gaps
 * scratch          restored
 * Returns          the number of groups.
 * Cost             linear: about 2 microseconds a cluster. A place that more than 64 clusters share is
 *                  ignored. */
uint32_t hob_cluster_groups(const uint32_t *first, const uint32_t *places, uint32_t cluster_count,
							uint32_t place_count, uint32_t *group, hob_arena *scratch);

#endif
