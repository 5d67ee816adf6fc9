/* rt_pose.h - inside of a pose: ten rows of slot_stride floats, then the weights, in one block. */
#ifndef HOB_RT_POSE_H
#define HOB_RT_POSE_H

#include "rt_private.h"

enum { RT_POSE_ROWS = 10, RT_ROW_ROTATION = 3, RT_ROW_SCALE = 7 };

/* All rows, one after the other. */
static inline float *rt_pose_rows(const hob_rt_pose *pose)
{
	return pose->translation[0];
}

hob_rt_pose *hob_rt_take_pose(rt_memory *memory,
							  const rt_asset *asset); /* the rest pose; NULL while measuring */

#endif
