#include "fbx_track.h"

#include <math.h>
#include <stdlib.h>

static void add_time(hob_fbx_tracker *k, double time)
{
	if (time > k->from->begin && time < k->from->end)
		hob_buf_put(&k->times, &time, sizeof time);
}

/* Curves of one node mostly share their key times, which then need no second entry. */
static bool same_times(const hob_fbx_tracker *k, const hob_fbx_curve *curve)
{
	const double *times = (const double *)(const void *)k->times.data;
	size_t count = k->times.size / sizeof *times, at = 0;
	for (uint32_t i = 0; i < curve->count; i++) {
		double time = curve->keys[i].time;
		if (!(time > k->from->begin && time < k->from->end))
			continue;
		if (at == count || times[at] < time || times[at] > time)
			return false;
		at++;
	}
	return true;
}

/* Keys recur in each repetition. */
static void add_repeated_times(hob_fbx_tracker *k, const hob_fbx_curve *curve, bool early)
{
	const hob_fbx_beyond *beyond = early ? &curve->before : &curve->behind;
	double first = curve->keys[0].time, last = curve->keys[curve->count - 1].time, length = last - first;
	double begin = k->from->begin, end = k->from->end, gap = early ? first - begin : end - last;
	if (!(length > 0) || beyond->type == 'K' || gap / length * curve->count > FRAMES)
		return;
	for (int64_t turn = 1; (double)(turn - 1) * length < gap; turn++) {
		if (beyond->repetition > 0 && turn > beyond->repetition)
			break;
		for (uint32_t i = 0; i < curve->count; i++) {
			double at = curve->keys[i].time;
			if (beyond->type == 'M' && turn % 2 == 1)
				at = first + last - at;
			add_time(k, early ? at - (double)turn * length : at + (double)turn * length);
		}
	}
}

static void survey_curve(hob_fbx_tracker *k, const hob_fbx_curve *curve, hob_fbx_survey *out)
{
	double begin = k->from->begin, end = k->from->end;
	bool moves = false, known = same_times(k, curve);
	for (uint32_t i = 0; i < curve->count; i++) {
		const hob_fbx_key *key = &curve->keys[i], *next = i + 1 < curve->count ? key + 1 : NULL;
		if (!known)
			add_time(k, key->time);
		if (!next || next->time <= begin || key->time >= end)
			continue;
		bool still = !(next->value > key->value) && !(next->value < key->value);
		moves = moves || !still ||
				(key->kind >= HOB_FBX_CUBIC &&
				 (key->slope_out < 0 || key->slope_out > 0 || key->slope_in < 0 || key->slope_in > 0));
		out->steps = out->steps || key->kind == HOB_FBX_STEPPED;
		out->lines = out->lines || key->kind == HOB_FBX_LINEAR;
		out->cubics = out->cubics || key->kind == HOB_FBX_CUBIC;
		out->others = out->others || key->kind == HOB_FBX_WEIGHTED;
	}
	const hob_fbx_key *last = &curve->keys[curve->count - 1];
	out->first = fmin(out->first, curve->keys[0].time);
	out->last = fmax(out->last, last->time);
	bool before = curve->keys[0].time > begin && curve->before.type != 'C' && curve->before.repetition != 0;
	bool behind = last->time < end && curve->behind.type != 'C' && curve->behind.repetition != 0;
	if ((before || behind) && (curve->count > 1 || last->slope_out > 0 || last->slope_out < 0)) {
		out->others = out->beyond = true;
		moves = true;
		if (before)
			add_repeated_times(k, curve, true);
		if (behind)
			add_repeated_times(k, curve, false);
		out->first = before ? begin : out->first;
		out->last = behind ? end : out->last;
	}
	out->moving += moves;
}

void hob_fbx_survey_motions(hob_fbx_tracker *k, hob_fbx_motions motions, hob_fbx_survey *out)
{
	for (uint32_t m = 0; m < motions.count; m++) {
		const hob_fbx_layer_state *layer = &k->f->anim->layers[motions.first[m].layer];
		for (int i = 0; i < 3; i++)
			if (motions.first[m].curves[i])
				survey_curve(k, motions.first[m].curves[i], out);
		if (layer->weight_curve)
			survey_curve(k, layer->weight_curve, out);
	}
	out->others = out->others || !hob_fbx_is_plain(k->f, motions);
}

static int compare_times(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

uint32_t hob_fbx_sort_times(hob_fbx_tracker *k)
{
	double begin = k->from->begin, end = k->from->end;
	if (end > begin)
		hob_buf_put(&k->times, &end, sizeof end);
	hob_buf_put(&k->times, &begin, sizeof begin);
	if (k->times.failed)
		return 0;
	double *times = (double *)(void *)k->times.data;
	uint32_t count = (uint32_t)(k->times.size / sizeof *times), kept = 1;
	bool sorted = true;
	memmove(times + 1, times, (count - 1) * sizeof *times);
	times[0] = begin;
	for (uint32_t i = 2; i < count; i++)
		sorted = sorted && times[i - 1] <= times[i];
	if (!sorted)
		qsort(times, count, sizeof *times, compare_times);
	for (uint32_t i = 1; i < count; i++)
		if (times[i] > times[kept - 1])
			times[kept++] = times[i];
	k->times.size = kept * sizeof *times;
	return kept;
}

void hob_fbx_add_crossings(hob_fbx_tracker *k, const hob_fbx_channel *channel, const hob_fbx_curve *curve)
{
	for (uint32_t i = 0; i + 1 < curve->count; i++)
		for (uint32_t s = 0; s <= channel->shape_count; s++) {
			double full =
				s < channel->shape_count ? k->geometry->shapes[channel->shape_first + s].full_weight : 0;
			double low = curve->keys[i].time, high = curve->keys[i + 1].time;
			bool rises = curve->keys[i].value < full;
			if (curve->keys[i].kind == HOB_FBX_STEPPED || rises != (curve->keys[i + 1].value > full))
				continue;
			for (int step = 0; step < 48; step++) {
				double middle = low + (high - low) / 2;
				bool below = hob_fbx_curve_at(curve, middle, 1).value < full;
				*(below == rises ? &low : &high) = middle;
			}
			add_time(k, low);
		}
}
