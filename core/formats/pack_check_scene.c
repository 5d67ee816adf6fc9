#include "pack_check.h"

#include "../base/limits.h"

#include <float.h>

typedef struct scene_checker {
	const check_file *file;
	check_section hierarchy, subtree, trs, local, global, boxes, names;
	uint32_t node_count;
} scene_checker;

static hob_pk_hierarchy node_at(const scene_checker *c, uint32_t node)
{
	READ(hierarchy, h, c->hierarchy, node);
	return h;
}

/* ---- the tree ---- */

/* The children of a node must match its subtree range: first_child is the next node, each next_sibling
 * follows the subtree of the previous one, and the first child stores the last. */
static bool check_children(const scene_checker *c, uint32_t node)
{
	hob_pk_hierarchy h = node_at(c, node);
	uint32_t end = node + hob_check_u32(&c->subtree, node);
	if (node + 1 == end) {
		CHECK(c->file, h.first_child == -1, "a leaf with first_child %d", h.first_child);
		return true;
	}
	CHECK(c->file, h.first_child == (int32_t)node + 1, "first_child %d, want %u", h.first_child, node + 1);
	uint32_t child = node + 1, last = child;
	while (child < end) {
		hob_pk_hierarchy at = node_at(c, child);
		uint32_t next = child + hob_check_u32(&c->subtree, child);
		CHECK(c->file, at.parent == (int32_t)node && at.level == h.level + 1,
			  "child %u has parent %d, level %d", child, at.parent, at.level);
		CHECK(c->file, next <= end, "the subtree of child %u ends at %u, behind %u", child, next, end);
		CHECK(c->file, at.next_sibling == (next < end ? (int32_t)next : -1), "next_sibling %d of child %u",
			  at.next_sibling, child);
		CHECK(c->file, child == node + 1 || at.last_sibling == -1, "last_sibling %d of child %u",
			  at.last_sibling, child);
		last = child;
		child = next;
	}
	int32_t cached = node_at(c, node + 1).last_sibling;
	CHECK(c->file, cached == (int32_t)last, "last_sibling %d of the first child, want %u", cached, last);
	return true;
}

static bool check_roots(const scene_checker *c)
{
	for (uint32_t node = 0; node < c->node_count; node += hob_check_u32(&c->subtree, node)) {
		hob_pk_hierarchy h = node_at(c, node);
		CHECK(c->file, h.parent == -1 && h.level == 0 && h.next_sibling == -1 && h.last_sibling == -1,
			  "node %u is not a root: parent %d, level %d, next_sibling %d, last_sibling %d", node, h.parent,
			  h.level, h.next_sibling, h.last_sibling);
	}
	return true;
}

static bool check_tree(const scene_checker *c)
{
	CHECK(c->file, c->node_count <= INT32_MAX, "%u nodes", c->node_count);
	for (uint32_t node = 0; node < c->node_count; node++) {
		uint32_t size = hob_check_u32(&c->subtree, node);
		CHECK(c->file, size >= 1 && size <= c->node_count - node, "subtree of node %u has %u nodes", node,
			  size);
	}
	if (!check_roots(c))
		return false;
	for (uint32_t node = 0; node < c->node_count; node++)
		if (!check_children(c, node))
			return hob_fail_in(c->file->err, "node %u", node);
	return true;
}

/* ---- per-node numbers ---- */

static bool check_transform(const scene_checker *c, uint32_t node)
{
	READ(trs, t, c->trs, node);
	CHECK(c->file, hob_check_finite(t.t, 3) && hob_check_finite(t.r, 4) && hob_check_finite(t.s, 3),
		  "not finite");
	CHECK(c->file, (t.flags < 16 || c->file->header.ver_minor > HOB_PK_VERSION_MINOR) && t.reserved == 0,
		  "flags %x", t.flags);
	float length = t.r[0] * t.r[0] + t.r[1] * t.r[1] + t.r[2] * t.r[2] + t.r[3] * t.r[3];
	CHECK(c->file, length > 0.99f && length < 1.01f, "rotation is not of unit length");
	return true;
}

static bool check_box(const scene_checker *c, uint32_t node)
{
	READ(box, box, c->boxes, node);
	bool empty = box.min[0] > box.max[0];
	for (size_t i = 0; i < 3; i++)
		CHECK(c->file,
			  empty ? box.min[i] >= FLT_MAX && box.max[i] <= -FLT_MAX && hob_check_finite(&box.min[i], 1) &&
						  hob_check_finite(&box.max[i], 1)
					: box.min[i] <= box.max[i] && hob_check_finite(&box.min[i], 1) &&
						  hob_check_finite(&box.max[i], 1),
			  "box of node %u on axis %zu", node, i);
	return true;
}

static bool check_nodes(const scene_checker *c)
{
	const check_section *sections[] = {&c->subtree, &c->trs, &c->local, &c->global, &c->boxes, &c->names};
	for (size_t i = 0; i < HOB_COUNT_OF(sections); i++)
		CHECK(c->file, sections[i]->entry.count == c->node_count, "%u nodes, a section has %u", c->node_count,
			  sections[i]->entry.count);
	for (uint32_t node = 0; node < c->node_count; node++) {
		if (!check_transform(c, node) || !hob_check_name(c->file, hob_check_u32(&c->names, node)))
			return hob_fail_in(c->file->err, "node %u", node);
		if (!check_box(c, node))
			return false;
	}
	return hob_check_all_finite(c->file, &c->local, "local matrix") &&
		   hob_check_all_finite(c->file, &c->global, "world matrix");
}

/* ---- links of nodes ---- */

static bool check_links(const scene_checker *c, uint32_t type, uint32_t count, const char *what)
{
	check_section links = hob_check_find(c->file, type);
	for (uint32_t i = 0, next = 0; i < links.entry.count; i++) {
		READ(link, link, links, i);
		CHECK(c->file, link.node >= next && link.node < c->node_count, "%s link %u: node %u, want %u..%u",
			  what, i, link.node, next, c->node_count);
		CHECK(c->file, link.value < count, "%s link %u: %u of %u", what, i, link.value, count);
		next = link.node + 1;
	}
	return true;
}

static bool check_cameras(const scene_checker *c, const check_section *cameras)
{
	for (uint32_t i = 0; i < cameras->entry.count; i++) {
		READ(camera, camera, *cameras, i);
		CHECK(c->file,
			  camera.type <= HOB_PK_CAMERA_ORTHOGRAPHIC && !(camera.reserved[0] | camera.reserved[1]),
			  "camera %u has type %u", i, camera.type);
		CHECK(c->file,
			  hob_check_finite(&camera.yfov_or_ymag, 1) && hob_check_finite(&camera.aspect_or_xmag, 1) &&
				  hob_check_finite(&camera.znear, 1) && camera.zfar > camera.znear,
			  "camera %u has bad numbers", i);
		if (!hob_check_name(c->file, camera.name))
			return hob_fail_in(c->file->err, "camera %u", i);
	}
	return true;
}

static bool check_lights(const scene_checker *c, const check_section *lights)
{
	for (uint32_t i = 0; i < lights->entry.count; i++) {
		READ(light, light, *lights, i);
		CHECK(c->file,
			  light.type <= HOB_PK_LIGHT_SPOT && !(light.reserved[0] | light.reserved[1] | light.reserved[2]),
			  "light %u has type %u", i, light.type);
		CHECK(c->file,
			  hob_check_finite(light.color, 3) && hob_check_finite(&light.intensity, 1) && light.range > 0 &&
				  hob_check_finite(&light.inner_cone, 1) && hob_check_finite(&light.outer_cone, 1),
			  "light %u has bad numbers", i);
		if (!hob_check_name(c->file, light.name))
			return hob_fail_in(c->file->err, "light %u", i);
	}
	return true;
}

static bool check_scenes(const scene_checker *c)
{
	check_section scenes = hob_check_find(c->file, HOB_PK_SCNS), roots = hob_check_find(c->file, HOB_PK_ROOT);
	uint32_t cursor = 0, defaults = 0;
	for (uint32_t i = 0; i < scenes.entry.count; i++) {
		READ(scene, scene, scenes, i);
		CHECK(c->file, scene.flags <= HOB_PK_SCENE_DEFAULT, "scene %u has flags %x", i, scene.flags);
		defaults += scene.flags & HOB_PK_SCENE_DEFAULT;
		if (!hob_check_name(c->file, scene.name) ||
			!hob_check_run(c->file, scene.root_first, scene.root_count, &cursor, roots.entry.count, "root"))
			return hob_fail_in(c->file->err, "scene %u", i);
	}
	CHECK(c->file, defaults == 1, "%u of %u scenes are the default", defaults, scenes.entry.count);
	CHECK(c->file, cursor == roots.entry.count, "roots without a scene");
	for (uint32_t i = 0; i < roots.entry.count; i++)
		CHECK(c->file, hob_check_u32(&roots, i) < c->node_count, "root %u is node %u of %u", i,
			  hob_check_u32(&roots, i), c->node_count);
	return true;
}

static bool check_json(const scene_checker *c, uint32_t string, bool object)
{
	if (!hob_check_name(c->file, string))
		return false;
	hob_str text = hob_str_of(string ? (const char *)c->file->strings + string : "");
	CHECK(c->file, text.len == 0 || hob_json_valid(text, (uint32_t)HOB_LIMIT_JSON_DEPTH), "not JSON: '%.40s'",
		  text.data);
	CHECK(c->file, !object || text.len == 0 || text.data[0] == '{', "no JSON object: '%.40s'", text.data);
	return true;
}

static bool check_extras(const scene_checker *c, uint32_t scene_count)
{
	check_section extras = hob_check_find(c->file, HOB_PK_XTRA);
	const uint32_t cameras = hob_check_find(c->file, HOB_PK_CAMS).entry.count,
				   lights = hob_check_find(c->file, HOB_PK_LGTS).entry.count;
	/* Indices into other files cannot be checked here, so any value is accepted. */
	const uint32_t limits[] = {1,		scene_count, c->node_count, HOB_PK_NONE, HOB_PK_NONE,
							   cameras, lights,		 HOB_PK_NONE,	HOB_PK_NONE};
	uint32_t kind = 0, next = 0;
	for (uint32_t i = 0; i < extras.entry.count; i++) {
		READ(extra, extra, extras, i);
		CHECK(c->file, extra.kind < HOB_COUNT_OF(limits), "extra %u has kind %u", i, extra.kind);
		CHECK(c->file, extra.kind > kind || (extra.kind == kind && extra.index >= next),
			  "extra %u is out of order", i);
		CHECK(c->file, extra.index < limits[extra.kind], "extra %u: index %u of %u", i, extra.index,
			  limits[extra.kind]);
		if (!check_json(c, extra.values, false) || !check_json(c, extra.extensions, true))
			return hob_fail_in(c->file->err, "extra %u", i);
		kind = extra.kind;
		next = extra.index + 1;
	}
	return true;
}

bool hob_check_scene(const check_file *file)
{
	scene_checker c = {
		.file = file,
		.hierarchy = hob_check_find(file, HOB_PK_HIER),
		.subtree = hob_check_find(file, HOB_PK_SUBT),
		.trs = hob_check_find(file, HOB_PK_TRS_),
		.local = hob_check_find(file, HOB_PK_LOCL),
		.global = hob_check_find(file, HOB_PK_GLOB),
		.boxes = hob_check_find(file, HOB_PK_AABB),
		.names = hob_check_find(file, HOB_PK_NAMS),
	};
	c.node_count = c.hierarchy.entry.count;
	check_section cameras = hob_check_find(file, HOB_PK_CAMS), lights = hob_check_find(file, HOB_PK_LGTS);
	check_section weights = hob_check_find(file, HOB_PK_WGTS);
	return check_nodes(&c) && check_tree(&c) && check_links(&c, HOB_PK_LMSH, HOB_PK_NONE, "mesh") &&
		   check_links(&c, HOB_PK_LMAT, HOB_PK_NONE, "material") &&
		   check_links(&c, HOB_PK_LCAM, cameras.entry.count, "camera") &&
		   check_links(&c, HOB_PK_LLGT, lights.entry.count, "light") &&
		   check_links(&c, HOB_PK_LSKN, HOB_PK_NONE, "skin") &&
		   check_links(&c, HOB_PK_LWGT, weights.entry.count, "weight") &&
		   hob_check_all_finite(file, &weights, "weight") && check_cameras(&c, &cameras) &&
		   check_lights(&c, &lights) && check_scenes(&c) &&
		   check_extras(&c, hob_check_find(file, HOB_PK_SCNS).entry.count);
}
