#include "motion.h"

#include <math.h>
#include <stdlib.h>

/* ---- for readers of keys */

static int compare_times(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

uint32_t hob_times_sort(double *times, uint32_t count)
{
	bool sorted = true;
	uint32_t kept = 0;
	for (uint32_t i = 1; i < count; i++)
		sorted = sorted && times[i - 1] <= times[i];
	if (!sorted)
		qsort(times, count, sizeof *times, compare_times);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || times[i] > times[kept - 1])
			times[kept++] = times[i];
	return kept;
}

bool hob_track_rests(const hob_track *track, const float *rest, bool rotation, float share)
{
	size_t n = track->components, parts = track->interpolation == HOB_CUBICSPLINE ? 3 : 1;
	for (uint32_t k = 0; k < track->key_count; k++) {
		const float *value = track->values + (k * parts + (parts == 3)) * n;
		float same = 0, opposite = 0;
		for (size_t i = 0; i < n; i++) {
			float room = fmaxf(1e-6f, fabsf(rest[i]) * share);
			same = fmaxf(same, fabsf(value[i] - rest[i]) / room);
			opposite = fmaxf(opposite, fabsf(value[i] + rest[i]) / room);
			if (parts == 3 && (fabsf((value - n)[i]) > 1e-6f || fabsf((value + n)[i]) > 1e-6f))
				return false;
		}
		if (!(same <= 1 || (rotation && opposite <= 1)))
			return false;
	}
	return true;
}

/* ---- the check */

static const double too_far = 1e6;

/* Maximum translation length and scale factor of each node, without its ancestors. */
typedef struct reach {
	double *moves, *scales; /* [node_count] */
	double *radius;			/* [node_count] radius of the node's meshes */
	double *stretch;		/* [node_count] longest delta of these meshes' morph targets */
	double *grows;			/* [node_count] length that morph targets add to the radius */
	double *out, *factor;	/* [node_count] scratch: distance from the origin, accumulated scale */
} reach_t;

static double length_of(const float *v, uint32_t components)
{
	double square = 0;
	for (uint32_t i = 0; i < components; i++)
		square += (double)v[i] * (double)v[i];
	return sqrt(square);
}

static double largest_of(const float *v, uint32_t components)
{
	double largest = 0;
	for (uint32_t i = 0; i < components; i++)
		largest = fmax(largest, fabs((double)v[i]));
	return largest;
}

/* Length of the longest of `count` vectors; `values` may be NULL. */
static double longest(const float *values, uint32_t count)
{
	double most = 0;
	for (size_t v = 0; values && v < count; v++)
		most = fmax(most, length_of(values + v * 3, 3));
	return most;
}

/* Upper bound of a track's values: a spline lies within the control points of its Bezier form. */
static double most_of(const hob_track *t, double (*measure)(const float *, uint32_t))
{
	uint32_t w = t->components, stride = t->interpolation == HOB_CUBICSPLINE ? 3 * w : w;
	double most = 0;
	for (uint32_t k = 0; k < t->key_count; k++) {
		const float *at = t->values + (size_t)k * stride;
		if (t->interpolation != HOB_CUBICSPLINE) {
			most = fmax(most, measure(at, w));
			continue;
		}
		double before = k > 0 ? (double)t->times[k] - (double)t->times[k - 1] : 0;
		double behind = k + 1 < t->key_count ? (double)t->times[k + 1] - (double)t->times[k] : 0;
		most = fmax(most, measure(at + w, w) +
							  fmax(before * measure(at, w), behind * measure(at + 2 * (size_t)w, w)) / 3);
	}
	return most;
}

static void rest_reach(const hob_model *m, reach_t *r)
{
	for (uint32_t n = 0; n < m->node_count; n++) {
		r->moves[n] = length_of(m->nodes[n].translation, 3);
		r->scales[n] = largest_of(m->nodes[n].scale, 3);
		r->grows[n] = 0;
	}
}

/* Upper bound of the distance of any point of the model from the origin. */
static double spread(const hob_model *m, reach_t *r, uint32_t *farthest)
{
	double most = 0;
	for (uint32_t n = 0; n < m->node_count; n++) {
		uint32_t parent = m->nodes[n].parent;
		double factor = parent == HOB_NONE ? 1 : r->factor[parent];
		r->out[n] = (parent == HOB_NONE ? 0 : r->out[parent]) + factor * r->moves[n];
		r->factor[n] = factor * r->scales[n];
		double here = r->out[n] + r->factor[n] * (r->radius[n] + r->grows[n]);
		if (here > most)
			most = here, *farthest = n;
	}
	return most;
}

static void check_clip(const hob_model *m, const hob_clip *clip, reach_t *r, double size, hob_notes *notes)
{
	uint32_t farthest = 0;
	double weight = 0;
	rest_reach(m, r);
	for (uint32_t c = 0; c < clip->channel_count; c++) {
		const hob_channel *channel = &clip->channels[c];
		const hob_track *track = &clip->tracks[channel->track];
		if (channel->path == HOB_PATH_TRANSLATION)
			r->moves[channel->node] = most_of(track, length_of);
		else if (channel->path == HOB_PATH_SCALE)
			r->scales[channel->node] = most_of(track, largest_of);
		else if (channel->path == HOB_PATH_WEIGHTS) {
			double most = most_of(track, largest_of);
			weight = fmax(weight, most);
			r->grows[channel->node] = most * r->stretch[channel->node];
		}
	}
	double most = spread(m, r, &farthest);
	if (most > size * too_far)
		hob_warn(notes, "import.motion",
				 "clip '%.*s' takes node '%.*s' up to %.3g m away, %.0g times the size of the model: its "
				 "keys or tangents are damaged or were exported wrongly",
				 HOB_FMT(clip->name), HOB_FMT(m->nodes[farthest].name), most, most / size);
	else if (weight > too_far)
		hob_warn(notes, "import.motion",
				 "clip '%.*s' weighs a morph target %.3g times: its keys or tangents are damaged or were "
				 "exported wrongly",
				 HOB_FMT(clip->name), weight);
}

void hob_check_motion(const hob_model *m, hob_arena *scratch, hob_notes *notes)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	double *mesh_radius = HOB_NEW(scratch, double, m->mesh_count),
		   *deltas = HOB_NEW(scratch, double, m->mesh_count),
		   *all = HOB_NEW(scratch, double, (size_t)m->node_count * 7);
	size_t nodes = m->node_count;
	reach_t r = {all,
				 all + nodes,
				 all + 2 * nodes,
				 all + 3 * nodes,
				 all + 4 * nodes,
				 all + 5 * nodes,
				 all + 6 * nodes};
	for (uint32_t i = 0; i < m->mesh_count && m->clip_count > 0; i++) {
		const hob_mesh *mesh = &m->meshes[i];
		mesh_radius[i] = longest(mesh->position, mesh->vertex_count);
		for (uint32_t t = 0; t < mesh->target_count; t++)
			deltas[i] = fmax(deltas[i], longest(mesh->targets[t].position, mesh->vertex_count));
	}
	for (uint32_t n = 0; n < m->node_count; n++)
		for (uint32_t i = 0; i < m->nodes[n].mesh_count; i++) {
			uint32_t mesh = m->mesh_refs[m->nodes[n].mesh_first + i];
			r.radius[n] = fmax(r.radius[n], mesh_radius[mesh]);
			r.stretch[n] = fmax(r.stretch[n], deltas[mesh]);
		}
	rest_reach(m, &r);
	uint32_t farthest = 0;
	double size = spread(m, &r, &farthest);
	for (uint32_t c = 0; c < m->clip_count; c++)
		check_clip(m, &m->clips[c], &r, size > 0 ? size : 1, notes);
	hob_arena_restore(scratch, mark);
}
