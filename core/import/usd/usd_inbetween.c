#include "usd_skel.h"

#include <math.h>
#include <stdlib.h>

/* Reads an "inbetweens:NAME" of a shape. False for another property, or one without a weight. */
static bool read_one(const hob_usd *u, const hob_usd_prim *shape, hob_str property, hob_usd_inbetween *out)
{
	hob_str name = hob_str_sub(property, sizeof "inbetweens:" - 1, property.len);
	if (hob_str_find(name, HOB_STR(":"), 0) != SIZE_MAX)
		return false;
	const hob_usd_value *weight = hob_usd_meta(u, shape, property, HOB_USD_T_weight);
	*out = (hob_usd_inbetween){property, hob_usd_number(weight, NAN)};
	return isfinite(out->weight) && fabs(out->weight) > 1e-6 && fabs(out->weight - 1) > 1e-6 &&
		   hob_usd_still(u, shape, property) != NULL;
}

bool hob_usd_inbetweens(hob_usd *u, const hob_usd_prim *shape, hob_usd_inbetween **out, uint32_t *count,
						hob_error *err)
{
	hob_str *names;
	uint32_t found;
	*count = 0;
	if (!hob_usd_properties(u, shape, HOB_STR("inbetweens:"), &names, &found, err))
		return false;
	*out = HOB_NEW(u->scratch, hob_usd_inbetween, found);
	if (!*out)
		return hob_fail_memory(err, u->scratch, "a blend shape");
	for (uint32_t i = 0; i < found; i++)
		*count += read_one(u, shape, names[i], &(*out)[*count]);
	return true;
}

static const hob_usd_knot *knot_of(const hob_usd_build_t *b, const hob_morph_target *target)
{
	for (uint32_t i = 0; i < b->knot_count; i++)
		if (b->knots[i].target == target->name.data)
			return &b->knots[i];
	return NULL;
}

bool hob_usd_knot_add(hob_usd_build_t *b, const hob_morph_target *target, hob_str shape, double weight,
					  hob_error *err)
{
	b->knots =
		(hob_usd_knot *)hob_usd_more(b->u->scratch, b->knots, b->knot_count, &b->knot_room, sizeof *b->knots);
	if (!b->knots)
		return hob_fail_memory(err, b->u->scratch, "a blend shape");
	b->knots[b->knot_count++] = (hob_usd_knot){target->name.data, shape, weight};
	return true;
}

hob_str hob_usd_shape_of(const hob_usd_build_t *b, const hob_morph_target *target)
{
	const hob_usd_knot *knot = knot_of(b, target);
	return knot ? knot->shape : target->name;
}

static double place_of(const hob_usd_build_t *b, const hob_morph_target *target)
{
	const hob_usd_knot *knot = knot_of(b, target);
	return knot ? knot->weight : 1;
}

/* Weight of a target: linear between knots, with the rest pose as knot at 0; beyond the last knot the last
 * segment extrapolates. Source: UsdSkelBlendShapeQuery, ComputeSubShapeWeights. */
double hob_usd_target_weight(const hob_usd_build_t *b, const hob_mesh *mesh, uint32_t target, double weight)
{
	hob_str shape = hob_usd_shape_of(b, &mesh->targets[target]);
	double own = place_of(b, &mesh->targets[target]), below = own > 0 ? 0 : -INFINITY,
		   above = own < 0 ? 0 : INFINITY;
	double least = 0, most = 0;
	for (uint32_t t = 0; t < mesh->target_count; t++) {
		if (!hob_str_equal(hob_usd_shape_of(b, &mesh->targets[t]), shape))
			continue;
		double at = place_of(b, &mesh->targets[t]);
		below = at < own && at > below ? at : below;
		above = at > own && at < above ? at : above;
		least = at < least ? at : least;
		most = at > most ? at : most;
	}
	/* Beyond the last knot: its weight exceeds 1 and its neighbour's is negative. */
	if (weight > most)
		return own == most						  ? (isfinite(below) ? (weight - below) / (own - below) : 1)
			   : above == most && isfinite(above) ? (above - weight) / (above - own)
												  : 0;
	if (weight < least)
		return own == least						   ? (isfinite(above) ? (above - weight) / (above - own) : 1)
			   : below == least && isfinite(below) ? (weight - below) / (own - below)
												   : 0;
	if (weight <= own)
		return weight > below ? (weight - below) / (own - below) : weight >= own ? 1 : 0;
	return weight < above && isfinite(above) ? (above - weight) / (above - own) : 0;
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Adds to the sample times those at which a shape's weight crosses a knot: target weights have a corner
 * there. */
bool hob_usd_weight_times(hob_usd_build_t *b, const hob_mesh *mesh, const hob_usd_samples *s,
						  const size_t *column, double **out, size_t *count, hob_error *err)
{
	size_t room = s->count;
	for (uint32_t t = 0; t < mesh->target_count; t++)
		room += knot_of(b, &mesh->targets[t]) ? 2 * s->count : 0;
	*out = HOB_NEW(b->u->scratch, double, room);
	if (!*out)
		return hob_fail_memory(err, b->u->scratch, "keys");
	*count = 0;
	for (size_t i = 0; i < s->count; i++)
		(*out)[(*count)++] = s->times[i];
	for (uint32_t t = 0; t < mesh->target_count; t++) {
		const hob_usd_knot *knot = knot_of(b, &mesh->targets[t]);
		for (size_t i = 0; knot && column[t] != SIZE_MAX && i + 1 < s->count; i++) {
			double from = hob_usd_component(&s->values[i], column[t]),
				   to = hob_usd_component(&s->values[i + 1], column[t]);
			const double passed[2] = {knot->weight, 0};
			for (int k = 0; k < 2; k++) {
				double part = (passed[k] - from) / (to - from);
				if (part > 1e-6 && part < 1 - 1e-6)
					(*out)[(*count)++] = s->times[i] + (s->times[i + 1] - s->times[i]) * part;
			}
		}
	}
	qsort(*out, *count, sizeof **out, compare_times);
	size_t kept = 0;
	for (size_t i = 0; i < *count; i++)
		if (kept == 0 || (*out)[i] > (*out)[kept - 1])
			(*out)[kept++] = (*out)[i];
	*count = kept;
	return true;
}
