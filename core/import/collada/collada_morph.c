#include "collada_private.h"

#include "../../base/limits.h"
#include "../text.h"

enum { INPUTS_MAX = 16 };

static float *deltas(hob_collada *c, const float *from, const float *base, size_t count, hob_error *err)
{
	float *out = HOB_NEW(c->request->result, float, count);
	if (!out) {
		hob_error_memory(err, c->request->result, "morph targets");
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		out[i] = base ? from[i] - base[i] : from[i];
	return out;
}

/* Where the vertices of `part` are in the target: the corner that made each of them, in the part at the same
 * place. False when the target is built otherwise. */
static bool match(const hob_collada *c, const hob_collada_part *part, const hob_collada_shape *target,
				  uint32_t index, float *position, float *normal)
{
	if (index >= target->part_count)
		return false;
	const hob_collada_part *other = HOB_LISTS_AT(c->parts, hob_collada_part, target->part_first + index);
	uint32_t at = 0;
	/* Corners rise from vertex to vertex in both. */
	for (uint32_t v = 0; v < part->mesh.vertex_count; v++) {
		while (at < other->mesh.vertex_count && other->corner[at] < part->corner[v])
			at++;
		if (at >= other->mesh.vertex_count || other->corner[at] != part->corner[v] ||
			other->point[at] != part->point[v])
			return false;
		memcpy(position + (size_t)v * 3, other->mesh.position + (size_t)at * 3, 3 * sizeof(float));
		if (normal && other->mesh.normal)
			memcpy(normal + (size_t)v * 3, other->mesh.normal + (size_t)at * 3, 3 * sizeof(float));
	}
	return true;
}

/* Positions of the target straight from its source: right whenever the points are numbered as those of the
 * base. */
static bool by_points(hob_collada *c, const hob_collada_part *part, hob_xml_ptr geometry, float *position,
					  hob_error *err)
{
	hob_collada_input inputs[INPUTS_MAX];
	const hob_collada_source *source = NULL;
	hob_xml_ptr vertices = hob_xml_find(geometry, "mesh/vertices");
	uint32_t count = vertices ? hob_collada_inputs(c, vertices, inputs, INPUTS_MAX) : 0;
	for (uint32_t i = 0; i < count; i++)
		if (hob_str_equal(inputs[i].semantic, HOB_STR("POSITION")) &&
			!hob_collada_floats(c, inputs[i].source, &source, err))
			return false;
	for (uint32_t v = 0; v < part->mesh.vertex_count; v++) {
		float *to = position + (size_t)v * 3;
		memcpy(to, part->mesh.position + (size_t)v * 3, 3 * sizeof(float));
		if (source && part->point[v] < source->count) {
			hob_collada_item(source, part->point[v], to, 3);
			for (int i = 0; i < 3; i++)
				to[i] *= c->unit;
		}
	}
	return true;
}

static bool add_target(hob_collada *c, hob_xml_ptr geometry, bool relative, uint32_t part_index,
					   uint32_t index, hob_morph_target *target, hob_error *err)
{
	uint32_t shape = HOB_NONE;
	hob_arena *scratch = c->request->scratch;
	if (!hob_collada_shape_of(c, geometry, &shape, err))
		return false;
	const hob_collada_part *part = HOB_LISTS_AT(c->parts, hob_collada_part, part_index);
	size_t count = (size_t)part->mesh.vertex_count * 3;
	float *position = HOB_NEW(scratch, float, count);
	float *normal = part->mesh.normal && !relative ? HOB_NEW(scratch, float, count) : NULL;
	if (!position || (part->mesh.normal && !relative && !normal))
		return hob_fail_memory(err, scratch, "morph targets");
	if (normal)
		memcpy(normal, part->mesh.normal, count * sizeof *normal);
	const hob_collada_shape *made =
		shape == HOB_NONE ? NULL : HOB_LISTS_AT(c->shapes, hob_collada_shape, shape);
	bool matched = made && match(c, part, made, index, position, normal);
	if (!matched && !by_points(c, part, geometry, position, err))
		return false;
	target->position = deltas(c, position, relative ? NULL : part->mesh.position, count, err);
	if (target->position && matched && normal)
		target->normal = deltas(c, normal, part->mesh.normal, count, err);
	return target->position && (!matched || !normal || target->normal);
}

bool hob_collada_morph(hob_collada *c, hob_xml_ptr morph, uint32_t part_first, uint32_t part_count,
					   hob_error *err)
{
	hob_collada_input inputs[INPUTS_MAX];
	hob_xml_ptr targets = hob_xml_child(morph, HOB_STR("targets")), names = NULL, weights = NULL;
	uint32_t count = targets ? hob_collada_inputs(c, targets, inputs, INPUTS_MAX) : 0;
	const hob_collada_source *values = NULL;
	bool relative = hob_str_equal(hob_xml_attr(morph, HOB_STR("method")), HOB_STR("RELATIVE")), are_ids;
	for (uint32_t i = 0; i < count; i++) {
		if (hob_str_equal(inputs[i].semantic, HOB_STR("MORPH_TARGET")))
			names = inputs[i].source;
		if (hob_str_equal(inputs[i].semantic, HOB_STR("MORPH_WEIGHT")))
			weights = inputs[i].source;
	}
	hob_str list = hob_collada_names(names, &are_ids);
	uint32_t total = hob_text_count_words(list);
	if (total > HOB_LIMIT_TARGETS)
		return hob_fail(err, LIMIT, "line %u: %u morph targets, at most %llu are allowed", morph->line, total,
						HOB_LIMIT_TARGETS);
	if (!hob_collada_floats(c, weights, &values, err))
		return false;
	const hob_collada_source held = values ? *values : (hob_collada_source){0};
	for (uint32_t p = 0; p < part_count && total > 0; p++) {
		hob_morph_target *out = HOB_NEW(c->request->result, hob_morph_target, total);
		hob_str rest = list, word;
		if (!out)
			return hob_fail_memory(err, c->request->result, "morph targets");
		for (uint32_t t = 0; (word = hob_text_word(&rest)).len > 0; t++) {
			hob_xml_ptr geometry = hob_collada_by_id(c, morph, "geometry", word);
			hob_collada_item(&held, t, &out[t].weight, 1);
			if (!geometry || !hob_xml_is(geometry, HOB_STR("geometry"))) {
				hob_note_add(c->request->notes, HOB_NOTE_WARNING, "collada.missing-id",
							 "no geometry bears the id '%.*s', which is a morph target; it changes nothing",
							 HOB_FMT(word));
				continue;
			}
			if (!hob_collada_name(c, geometry, &out[t].name, err) ||
				!add_target(c, geometry, relative, part_first + p, p, &out[t], err))
				return false;
		}
		hob_mesh *mesh = &HOB_LISTS_AT(c->parts, hob_collada_part, part_first + p)->mesh;
		mesh->targets = out;
		mesh->target_count = total;
	}
	return true;
}
