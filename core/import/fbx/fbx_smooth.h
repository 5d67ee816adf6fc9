/* fbx_smooth.h - generates normals of a geometry without any, from its smoothing groups or hard edges. */
#ifndef HOB_FBX_SMOOTH_H
#define HOB_FBX_SMOOTH_H

#include "fbx_layer.h"

typedef struct hob_fbx_surface {
	hob_fbx *f;
	uint32_t record;
	hob_fbx_counts counts;
	const float *position;
	const uint32_t *corners, *face_first;
	bool flip;
} hob_fbx_surface;

/* *out [corners][3] in scratch memory, or NULL when the geometry has no smoothing data: normals are then
 * generated later. Two faces at a control point are smooth if a chain of faces at that point over smooth
 * edges joins them (ByEdge: 0 is hard) or they share a group (ByPolygon: 32 bits). Weighted by area. */
bool hob_fbx_smooth_normals(const hob_fbx_surface *surface, float **out, hob_error *err) HOB_MUST_CHECK;

#endif
