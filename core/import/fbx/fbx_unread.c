#include "fbx_private.h"

/* Unsupported kinds of objects; each gives one note with its count. */
static const struct {
	hob_fbx_class class;
	hob_str subclass; /* empty: any */
	const char *code, *what;
} kinds[] = {
	{HOB_FBX_GEOMETRY, {"NurbsSurface", 12}, "fbx.nurbs", "NURBS surfaces are"},
	{HOB_FBX_GEOMETRY, {"TrimNurbsSurface", 16}, "fbx.nurbs", "trimmed NURBS surfaces are"},
	{HOB_FBX_GEOMETRY, {"Nurb", 4}, "fbx.nurbs", "NURBS are"},
	{HOB_FBX_GEOMETRY, {"NurbsCurve", 10}, "fbx.nurbs", "NURBS curves are"},
	{HOB_FBX_GEOMETRY, {"Boundary", 8}, "fbx.nurbs", "boundaries are"},
	{HOB_FBX_GEOMETRY, {"Patch", 5}, "fbx.nurbs", "patches are"},
	{HOB_FBX_DEFORMER, {"VertexCacheDeformer", 19}, "fbx.cache", "vertex caches are"},
	{HOB_FBX_CONSTRAINT, {0}, "fbx.constraints", "constraints are"},
};

void hob_fbx_say_unread(hob_fbx *f)
{
	uint32_t unused = 0;
	for (uint32_t i = 0; i < f->geometry_count; i++)
		unused += !f->geometries[i].used;
	if (unused > 0)
		hob_fbx_note(f, "unused", "%u geometr%s on no model and %s left out", unused,
					 unused == 1 ? "y hangs" : "ies hang", unused == 1 ? "is" : "are");
	for (size_t k = 0; k < HOB_COUNT_OF(kinds); k++) {
		uint32_t count = 0;
		for (uint32_t i = 0; i < f->object_count; i++)
			count += hob_fbx_is(f, i, kinds[k].class, kinds[k].subclass);
		if (count > 0)
			hob_warn(f->notes, kinds[k].code, "%u %s not read and left out", count, kinds[k].what);
	}
}
