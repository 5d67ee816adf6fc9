/* fbx_smooth.h - normals of a geometry that has none, from its smoothing groups or hard edges. */
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

/* *out [corners][3] in scratch memory, or NULL when the geometry says nothing about smoothing: normals are
 * made later then. Two faces at a control point are smooth when they are joined by a chain of faces at that
 * point over smooth edges (ByEdge: 0 is hard) or share a group (ByPolygon: 32 bits). Weighted by area. */
bool hob_fbx_smooth_normals(const hob_fbx_surface *surface, float **out, hob_error *err) HOB_MUST_CHECK;

#endif
