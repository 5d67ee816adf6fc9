#include "compare_parts.h"

#include <math.h>

static const hob_str none;

/* A pair of nodes whose children are still to be matched; HOB_NONE: the roots. */
typedef struct step {
	uint32_t a, b;
} step;

static const hob_pk_hierarchy *place_of(const compare_files *f, uint32_t node)
{
	return HOB_PACK_AT(hob_pk_hierarchy, f->hier, node);
}

static hob_str name_of(const compare_files *f, uint32_t node)
{
	return hob_pack_string(&f->scene, *HOB_PACK_AT(uint32_t, f->node_names, node));
}

static uint32_t mesh_at(const compare_files *f, uint32_t node)
{
	return hob_pack_link(f->mesh_links, node);
}

static hob_str mesh_name(const compare_files *f, uint32_t node)
{
	uint32_t mesh = mesh_at(f, node);
	return mesh < f->mesh.count ? hob_pack_string(&f->meshes, HOB_PACK_AT(hob_pk_mesh, f->mesh, mesh)->name)
								: none;
}

static const hob_pk_trs *trs_of(const compare_files *f, uint32_t node)
{
	return HOB_PACK_AT(hob_pk_trs, f->trs, node);
}

static bool alike_nodes(const comparison *c, uint32_t a, uint32_t b)
{
	return hob_str_equal(mesh_name(&c->a, a), mesh_name(&c->b, b)) &&
		   (mesh_at(&c->a, a) == HOB_PK_NONE) == (mesh_at(&c->b, b) == HOB_PK_NONE) &&
		   memcmp(trs_of(&c->a, a)->t, trs_of(&c->b, b)->t, 12) == 0 &&
		   memcmp(trs_of(&c->a, a)->r, trs_of(&c->b, b)->r, 16) == 0;
}

/* The ids of the nodes below `parent`. */
static uint32_t *children_of(comparison *c, const compare_files *f, uint32_t parent, compare_list *list)
{
	list->count = 0;
	if (parent == HOB_NONE) {
		for (uint32_t i = 0; i < f->hier.count; i++)
			list->count += place_of(f, i)->parent < 0;
	} else {
		for (int32_t i = place_of(f, parent)->first_child; i >= 0; i = place_of(f, (uint32_t)i)->next_sibling)
			list->count++;
	}
	list->names = HOB_NEW(&c->arena, hob_str, list->count);
	uint32_t at = 0, *ids = HOB_NEW(&c->arena, uint32_t, list->count);
	int32_t next = parent == HOB_NONE ? 0 : place_of(f, parent)->first_child;
	while (at < list->count) {
		uint32_t node = (uint32_t)next;
		if (parent != HOB_NONE || place_of(f, node)->parent < 0) {
			ids[at] = node;
			list->names[at++] = name_of(f, node);
		}
		next = parent == HOB_NONE ? next + 1 : place_of(f, node)->next_sibling;
	}
	return ids;
}

static void moved(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	const hob_pk_trs *one = trs_of(&c->a, a), *other = trs_of(&c->b, b);
	double way = 0, size = 0, dot = 0;
	bool scaled = false;
	for (int k = 0; k < 3; k++) {
		double apart = (double)other->t[k] - (double)one->t[k];
		way += apart * apart;
		size += fabs((double)one->t[k]) + fabs((double)other->t[k]);
		scaled =
			scaled || fabs((double)other->s[k] - (double)one->s[k]) > 1e-4 * (fabs((double)one->s[k]) + 1e-6);
	}
	for (int k = 0; k < 4; k++)
		dot += (double)one->r[k] * (double)other->r[k];
	way = sqrt(way);
	double angle = 2 * acos(fmin(1, fabs(dot))) * 57.29577951;
	if (way > 1e-5 + 1e-5 * size) {
		hob_compare_differs(c, TONE_NOTE, "node", name, "%s is moved by %.3g m", called, way);
		c->tally.move = fmax(c->tally.move, way);
	}
	if (angle > 0.1) {
		hob_compare_differs(c, TONE_NOTE, "node", name, "%s is turned by %.3g degrees", called, angle);
		c->tally.turn = fmax(c->tally.turn, angle);
	}
	if (scaled)
		hob_compare_differs(c, TONE_NOTE, "node", name, "%s is scaled by %.4g %.4g %.4g, was %.4g %.4g %.4g",
							called, (double)other->s[0], (double)other->s[1], (double)other->s[2],
							(double)one->s[0], (double)one->s[1], (double)one->s[2]);
}

static void other_things(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	bool had = mesh_at(&c->a, a) != HOB_PK_NONE, has = mesh_at(&c->b, b) != HOB_PK_NONE;
	if (had && !has)
		hob_compare_differs(c, TONE_BAD, "node", name, "%s has lost its mesh '%.*s'", called,
							HOB_FMT(mesh_name(&c->a, a)));
	if (!had || !has)
		return;
	hob_str was = hob_compare_material_name(&c->a, hob_pack_link(c->a.material_links, a));
	hob_str now = hob_compare_material_name(&c->b, hob_pack_link(c->b.material_links, b));
	hob_str mesh_was =
		hob_compare_material_name(&c->a, HOB_PACK_AT(hob_pk_mesh, c->a.mesh, mesh_at(&c->a, a))->material);
	if (!hob_str_equal(was, now) && !hob_str_equal(was, mesh_was))
		hob_compare_differs(c, TONE_NOTE, "node", name, "%s has the material '%.*s', was '%.*s'", called,
							HOB_FMT(now), HOB_FMT(was));
}

static uint32_t below(const compare_files *f, uint32_t node)
{
	hob_pack_array subtree = hob_pack_find(&f->scene, HOB_PK_SUBT);
	return node < subtree.count ? *HOB_PACK_AT(uint32_t, subtree, node) - 1 : 0;
}

static void one_sided(comparison *c, bool gone, const compare_files *f, uint32_t node)
{
	hob_str name = name_of(f, node);
	const char *called = hob_compare_called(c, "node", name, node);
	uint32_t more = below(f, node);
	if (more > 0)
		hob_compare_say(c, gone ? TONE_WARN : TONE_NOTE, "node", gone ? "gone" : "added", name, none,
						"%s is %s, with %u node%s below it", called, gone ? "gone" : "new", more,
						HOB_PLURAL(more));
	else
		hob_compare_say(c, gone ? TONE_WARN : TONE_NOTE, "node", gone ? "gone" : "added", name, none,
						"%s is %s", called, gone ? "gone" : "new");
}

/* Reports changes of a pair's children, and puts the pairs among them on the stack. */
static void compare_children(comparison *c, step at, step *stack, uint32_t *depth)
{
	compare_list a, b;
	uint32_t *a_ids = children_of(c, &c->a, at.a, &a), *b_ids = children_of(c, &c->b, at.b, &b);
	compare_pairs pairs = hob_compare_pair(c, &a, &b, a_ids, b_ids, alike_nodes);
	for (uint32_t i = 0; i < a.count; i++) {
		if (pairs.b_of[i] == HOB_NONE) {
			one_sided(c, true, &c->a, a_ids[i]);
			continue;
		}
		uint32_t one = a_ids[i], other = b_ids[pairs.b_of[i]];
		hob_str name = name_of(&c->b, other), was = name_of(&c->a, one);
		bool renamed = !hob_str_equal(name, was);
		if (renamed)
			hob_compare_say(c, TONE_WARN, "node", "renamed", name, was, "%s is called %s now",
							hob_compare_called(c, "node", was, one),
							hob_compare_called(c, "node", name, other));
		const char *called = hob_compare_called(c, "node", name, other);
		c->tally.renamed += renamed;
		uint32_t said = hob_compare_said(c);
		moved(c, one, other, called, name);
		other_things(c, one, other, called, name);
		c->tally.nodes += hob_compare_said(c) > said;
		if (place_of(&c->a, one)->first_child >= 0 || place_of(&c->b, other)->first_child >= 0)
			stack[(*depth)++] = (step){one, other};
	}
	for (uint32_t k = 0; k < b.count; k++)
		if (pairs.a_of[k] == HOB_NONE)
			one_sided(c, false, &c->b, b_ids[k]);
}

/* ---- cameras and lights */

static void changed_camera(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	hob_compare_fields(c, "camera", HOB_PACK_AT(uint8_t, c->a.cameras, a),
					   HOB_PACK_AT(uint8_t, c->b.cameras, b), called, name);
}

static void changed_light(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	hob_compare_fields(c, "light", HOB_PACK_AT(uint8_t, c->a.lights, a), HOB_PACK_AT(uint8_t, c->b.lights, b),
					   called, name);
}

void hob_compare_nodes(comparison *c)
{
	static const compare_kind kinds[] = {{COMPARE_KIND("camera", cameras, scene, hob_pk_camera), TONE_WARN,
										  NULL, changed_camera, offsetof(compare_tally, cameras)},
										 {COMPARE_KIND("light", lights, scene, hob_pk_light), TONE_WARN, NULL,
										  changed_light, offsetof(compare_tally, lights)}};
	uint32_t depth = 0;
	step *stack = HOB_NEW(&c->arena, step, (size_t)c->a.hier.count + 1);
	stack[depth++] = (step){HOB_NONE, HOB_NONE};
	while (depth > 0) {
		depth--;
		compare_children(c, stack[depth], stack, &depth);
	}
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		hob_compare_kind(c, &kinds[i]);
}
