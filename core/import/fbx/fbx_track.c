#include "fbx_anim.h"
#include "../../model/properties.h"
#include "../motion.h"

#include <math.h>
#include <stdlib.h>

enum { FRAMES = 100000 }; /* maximum frames of a track; beyond, steps are longer */
enum { SCALERS = 64 };	  /* maximum ancestors whose scales are multiplied, see hob_fbx_next_scaler */

/* State of the conversion of one clip. */
typedef struct hob_fbx_tracker {
	hob_fbx *f;
	uint32_t clip_id;
	const hob_fbx_clip *from;
	hob_clip *clip;
	hob_buf tracks, channels, properties;
	hob_buf times;				   /* double: key times of the current curves, and the ends of the clip */
	hob_buf frames;				   /* double: frame times to merge into `times` */
	hob_buf samples;			   /* double: values of the track at `times` */
	hob_buf out_times, out_values; /* double, float */
	/* Current input: */
	uint32_t node;
	hob_path path;
	uint32_t width;
	const hob_fbx_geometry *geometry;
	hob_fbx_motions t, r, s, *weights;
	hob_fbx_motions rig[HOB_FBX_RIG_PARTS]; /* if the node's rig_moves */
	bool top, beside;
	bool bends; /* the current curves are not only lines */
	double tolerance;
	double *a, *b, *middle; /* [width] samples for refinement, one set per depth */
	double *ends;
} hob_fbx_tracker;

/* Summary of the curves of one track. */
typedef struct hob_fbx_survey {
	bool steps, lines, cubics, others; /* kinds of segments inside the clip; others: weighted, extrapolated */
	bool beyond;					   /* some curve is extrapolated */
	double first, last;
	uint32_t moving; /* components that are not constant */
} hob_fbx_survey;

static bool fbx_is_plain(const hob_fbx *f, hob_fbx_motions motions)
{
	if (motions.count != 1)
		return motions.count == 0;
	const hob_fbx_layer_state *layer = &f->anim->layers[motions.first->layer];
	return layer->mode == 1 && !layer->silent;
}

static double weight_at(const hob_fbx_layer_state *layer, double time)
{
	double weight =
		layer->weight_curve ? hob_fbx_curve_at(layer->weight_curve, time, 1).value / 100 : layer->weight;
	return weight > 0 ? weight < 1 ? weight : 1 : 0;
}

static double value_of(const hob_fbx_motion *motion, int k, double rest, double time, int side)
{
	if (motion->curves[k])
		return hob_fbx_curve_at(motion->curves[k], time, side).value;
	return isfinite(motion->otherwise[k]) ? motion->otherwise[k] : rest;
}

/* Power of the magnitude, keeping the sign: a mirrored scale stays mirrored. */
static double power(double value, double exponent)
{
	if (fabs(value - 1) < 1e-15 || fabs(exponent - 1) < 1e-15)
		return value;
	return value < 0 ? -pow(-value, exponent) : pow(value, exponent);
}

static void fbx_motion_vector(const hob_fbx *f, hob_fbx_motions motions, const double rest[3], bool scale,
							  double time, int side, double out[3])
{
	double result[3] = {rest[0], rest[1], rest[2]};
	for (uint32_t m = 0; m < motions.count; m++) {
		const hob_fbx_motion *motion = &motions.first[m];
		const hob_fbx_layer_state *layer = &f->anim->layers[motion->layer];
		double weight = layer->mode == 1 ? 1 : weight_at(layer, time);
		for (int k = 0; k < 3 && !layer->silent; k++) {
			double neutral = layer->mode == 0 && scale && !layer->scale_adds ? 1 : 0;
			double value = value_of(motion, k, layer->mode == 0 ? neutral : rest[k], time, side);
			if (layer->mode == 1)
				result[k] = value;
			else if (scale && !layer->scale_adds)
				result[k] = power(result[k], layer->mode == 2 ? 1 - weight : 1) * power(value, weight);
			else if (layer->mode == 2)
				result[k] += (value - result[k]) * weight;
			else
				result[k] += value * weight;
		}
	}
	memcpy(out, result, sizeof result);
}

static void part_of_turn(const double q[4], double weight, double out[4])
{
	double sign = q[3] < 0 ? -1 : 1;
	double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
	double half = atan2(length, q[3] * sign) * weight;
	double share = length > 1e-12 ? sin(half) / length * sign : 0;
	for (int k = 0; k < 3; k++)
		out[k] = q[k] * share;
	out[3] = cos(half);
}

static void mix_turns(const double a[4], const double b[4], double weight, double out[4])
{
	double back[4] = {-a[0], -a[1], -a[2], a[3]}, between[4];
	hob_quat_multiply_double(back, b, between);
	part_of_turn(between, weight, between);
	hob_quat_multiply_double(a, between, out);
}

/* Inverse of hob_fbx_quat_of_euler. */
static void euler_of(const double q[4], uint32_t order, double out[3])
{
	static const uint8_t turns[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
	const uint8_t *t = turns[order < 6 ? order : 0];
	double sign = (t[0] + 1) % 3 == t[1] ? 1 : -1, x = q[t[0]], y = q[t[1]], z = sign * q[t[2]], w = q[3];
	double sine = 2 * (w * y - x * z);
	const double degrees = 180 / 3.14159265358979323846;
	if (fabs(sine) > 0.999999999) {
		out[t[0]] = 2 * atan2(x, w) * degrees;
		out[t[1]] = sine < 0 ? -90 : 90;
		out[t[2]] = 0;
		return;
	}
	out[t[0]] = atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) * degrees;
	out[t[1]] = asin(sine) * degrees;
	out[t[2]] = sign * atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) * degrees;
}

static void fbx_motion_turn(const hob_fbx *f, hob_fbx_motions motions, const double rest[3], uint32_t order,
							double time, int side, double out[4])
{
	double euler[3] = {rest[0], rest[1], rest[2]}, q[4];
	bool turned = false; /* true: the accumulated result is in q */
	for (uint32_t m = 0; m < motions.count; m++) {
		const hob_fbx_motion *motion = &motions.first[m];
		const hob_fbx_layer_state *layer = &f->anim->layers[motion->layer];
		double weight = layer->mode == 1 ? 1 : weight_at(layer, time), value[3], other[4];
		if (layer->silent)
			continue;
		for (int k = 0; k < 3; k++)
			value[k] = value_of(motion, k, layer->mode == 0 ? 0 : rest[k], time, side);
		if (layer->mode == 1) {
			memcpy(euler, value, sizeof euler);
			turned = false;
		} else if (layer->by_channel) {
			if (turned)
				euler_of(q, order, euler);
			turned = false;
			for (int k = 0; k < 3; k++)
				euler[k] += layer->mode == 2 ? (value[k] - euler[k]) * weight : value[k] * weight;
		} else {
			if (!turned)
				hob_fbx_quat_of_euler(euler, order, q);
			turned = true;
			hob_fbx_quat_of_euler(value, order, other);
			if (layer->mode == 2) {
				mix_turns(q, other, weight, q);
			} else {
				part_of_turn(other, weight, other);
				hob_quat_multiply_double(q, other, q);
			}
		}
	}
	if (!turned)
		hob_fbx_quat_of_euler(euler, order, q);
	memcpy(out, q, sizeof q);
}

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

/* Adds to hob_fbx_tracker.times the key times inside the clip, including those repeated by extrapolation. */
static void fbx_survey_motions(hob_fbx_tracker *k, hob_fbx_motions motions, hob_fbx_survey *out)
{
	for (uint32_t m = 0; m < motions.count; m++) {
		const hob_fbx_layer_state *layer = &k->f->anim->layers[motions.first[m].layer];
		for (int i = 0; i < 3; i++)
			if (motions.first[m].curves[i])
				survey_curve(k, motions.first[m].curves[i], out);
		if (layer->weight_curve)
			survey_curve(k, layer->weight_curve, out);
	}
	out->others = out->others || !fbx_is_plain(k->f, motions);
}

/* Adds the clip's begin and end, sorts the times, removes duplicates. Returns how many. */
static uint32_t fbx_sort_times(hob_fbx_tracker *k)
{
	double begin = k->from->begin, end = k->from->end;
	if (end > begin)
		hob_buf_put(&k->times, &end, sizeof end);
	hob_buf_put(&k->times, &begin, sizeof begin);
	double *times = (double *)(void *)k->times.data;
	uint32_t count = HOB_LISTS_COUNT(k->times, double);
	memmove(times + 1, times, (count - 1) * sizeof *times);
	times[0] = begin;
	uint32_t kept = hob_times_sort(times, count);
	k->times.size = kept * sizeof *times;
	return kept;
}

/* Adds the times at which a channel crosses a shape's full weight: there the shape weights have a corner. */
static void fbx_add_crossings(hob_fbx_tracker *k, const hob_fbx_channel *channel, const hob_fbx_curve *curve)
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

static void scale_at(const hob_fbx_tracker *k, uint32_t id, double time, int side, double out[3])
{
	const hob_fbx *f = k->f;
	uint32_t at = id, from = id;
	double factor[3];
	out[0] = out[1] = out[2] = 1;
	for (int i = 0; i < SCALERS && from != HOB_NONE; i++, from = hob_fbx_next_scaler(f, &at)) {
		const hob_fbx_node *node = &f->nodes[from];
		hob_fbx_motions motions = k->s;
		if (from != k->node)
			motions = hob_fbx_motions_of(f, k->clip_id, node->object, hob_fbx_lcl[2]);
		fbx_motion_vector(f, motions, node->scaling, true, time, side, factor);
		for (int c = 0; c < 3; c++)
			out[c] *= factor[c];
	}
}

static void move_rig(const hob_fbx_tracker *k, double time, int side, hob_fbx_rig *rig)
{
	const hob_fbx *f = k->f;
	uint32_t object = f->nodes[k->node].object;
	double *parts[4] = {rig->rotation_offset, rig->rotation_pivot, rig->scaling_offset, rig->scaling_pivot};
	for (int i = 0; i < 4; i++)
		fbx_motion_vector(f, k->rig[i], parts[i], false, time, side, parts[i]);
	for (int i = 4; i < HOB_FBX_RIG_PARTS && rig->active; i++) {
		double turn[3] = {0, 0, 0}, *q = i == 4 ? rig->pre : rig->post_inverse;
		hob_fbx_prop_vector(f, object, hob_fbx_rig_parts[i], turn);
		fbx_motion_vector(f, k->rig[i], turn, false, time, side, turn);
		hob_fbx_quat_of_euler(turn, 0, q);
		for (int c = 0; c < 3 && i == 5; c++)
			q[c] = -q[c];
	}
	rig->pivoted = true;
}

static void pose_at(hob_fbx_tracker *k, double time, int side, double *out)
{
	hob_fbx *f = k->f;
	const hob_fbx_node *node = &f->nodes[k->node];
	hob_fbx_trs place;
	double t[3], s[3], none[3] = {0, 0, 0}, q[4], above[3] = {1, 1, 1};
	if (k->path == HOB_PATH_SCALE) {
		scale_at(k, k->node, time, side, out);
		return;
	}
	bool turns = k->path == HOB_PATH_ROTATION;
	hob_fbx_rig rig = node->rig;
	if (node->rig_moves)
		move_rig(k, time, side, &rig);
	if (turns || rig.pivoted) {
		fbx_motion_turn(f, k->r, node->rotation, rig.order, time, side, q);
		hob_quat_multiply_double(rig.pre, q, rig.pre);
		rig.order = 0;
	}
	/* Evaluates only the inputs of the path: a translation depends on rotation and scale only with pivots. */
	memcpy(t, node->translation, sizeof t);
	memcpy(s, node->scaling, sizeof s);
	if (!turns)
		fbx_motion_vector(f, k->t, node->translation, false, time, side, t);
	if (!turns && rig.pivoted)
		fbx_motion_vector(f, k->s, node->scaling, true, time, side, s);
	hob_fbx_place(&rig, t, none, s, &place);
	if (k->beside && !turns)
		scale_at(k, node->parent, time, side, above);
	for (int i = 0; i < 3; i++)
		place.t[i] *= above[i];
	if (f->mirrored) {
		place.t[0] = -place.t[0];
		place.q[1] = -place.q[1];
		place.q[2] = -place.q[2];
	}
	if (k->top && f->turned) {
		hob_fbx_quat_rotate(f->turn, place.t, place.t);
		hob_quat_multiply_double(f->turn, place.q, place.q);
	}
	for (uint32_t i = 0; i < k->width; i++)
		out[i] = turns ? place.q[i] : place.t[i] * f->unit;
}

static void weights_at(hob_fbx_tracker *k, double time, int side, double *out)
{
	const hob_fbx_geometry *g = k->geometry;
	float *shape = (float *)(void *)(k->ends + k->width);
	for (uint32_t c = 0; c < g->channel_count; c++) {
		const hob_fbx_channel *channel = &g->channels[c];
		double rest[3] = {channel->percent, 0, 0}, value[3];
		fbx_motion_vector(k->f, k->weights[c], rest, false, time, side, value);
		hob_fbx_channel_weights(g, channel, value[0], shape);
		for (uint32_t i = 0; i < channel->shape_count; i++)
			out[channel->shape_first + i] = (double)shape[i];
	}
}

/* Samples the tracked node or geometry at a file time: hob_fbx_tracker.width numbers of hob_fbx_tracker.path,
 * in the model's unit and axes. `side` as in hob_fbx_curve_at. */
static void hob_fbx_sample(hob_fbx_tracker *k, double time, int side, double *out)
{
	if (k->path == HOB_PATH_WEIGHTS)
		weights_at(k, time, side, out);
	else
		pose_at(k, time, side, out);
}

enum {
	PIECES = 5,	  /* maximum halvings of the interval between two keys */
	WIDTH = 4096, /* maximum morph weights of a node */
};

static const double largest_turn = 0.005 * 3.14159265358979323846 / 180, largest_part = 1e-5;

/* ---- keys out */

static void put_key(hob_fbx_tracker *k, double time, const double *values, uint32_t count)
{
	hob_buf_put(&k->out_times, &time, sizeof time);
	float *to = (float *)(void *)hob_buf_grow(&k->out_values, count * sizeof *to);
	for (uint32_t i = 0; i < count; i++)
		to[i] = fabs(values[i]) < 1e30 ? (float)values[i] : 0;
}

/* Differs by more than the allowed error. */
static bool apart(const hob_fbx_tracker *k, const double *a, const double *b)
{
	if (k->path == HOB_PATH_ROTATION) {
		double dot = fabs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
		double chord = 0;
		double sign = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0 ? -1 : 1;
		for (int i = 0; i < 4; i++)
			chord += (a[i] - sign * b[i]) * (a[i] - sign * b[i]);
		return dot < 1 && 2 * asin(fmin(1, sqrt(chord) / 2)) * 2 > largest_turn;
	}
	for (uint32_t i = 0; i < k->width; i++)
		if (fabs(a[i] - b[i]) > k->tolerance)
			return true;
	return false;
}

static void half_way(const hob_fbx_tracker *k, const double *a, const double *b, double *out)
{
	double sign = 1, length = 0;
	if (k->path == HOB_PATH_ROTATION && a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0)
		sign = -1;
	for (uint32_t i = 0; i < k->width; i++)
		out[i] = (a[i] + sign * b[i]) / 2;
	for (uint32_t i = 0; i < 4 && k->path == HOB_PATH_ROTATION; i++)
		length += out[i] * out[i];
	for (uint32_t i = 0; i < 4 && k->path == HOB_PATH_ROTATION && length > 0; i++)
		out[i] /= sqrt(length);
}

/* A cubic may cross its chord in the middle, so a quarter point is tested, too. */
static bool bends_at_quarter(hob_fbx_tracker *k, double from, double to, const double *left,
							 const double *right)
{
	double *quarter = k->b, *guess = k->a;
	hob_fbx_sample(k, from + (to - from) / 4, 1, quarter);
	half_way(k, left, right, guess);
	half_way(k, left, guess, guess);
	return apart(k, quarter, guess);
}

/* Adds the keys needed strictly between `from` and `to`, where the values are `left` and `right`. */
static void refine(hob_fbx_tracker *k, double from, double to, const double *left, const double *right,
				   int depth)
{
	double time = from + (to - from) / 2;
	double *middle = k->middle + (size_t)depth * k->width, *guess = k->a;
	if (depth == PIECES || !(time > from && time < to) || to - from < 1e-6)
		return;
	hob_fbx_sample(k, time, 1, middle);
	half_way(k, left, right, guess);
	if (!apart(k, middle, guess) && (depth > 0 || !k->bends || !bends_at_quarter(k, from, to, left, right)))
		return;
	refine(k, from, time, left, middle, depth + 1);
	put_key(k, time, middle, k->width);
	refine(k, time, to, middle, right, depth + 1);
}

/* Merges frames between the first and the last key into the sorted times, except those at a key. Returns the
 * number of times. */
static uint32_t add_frames(hob_fbx_tracker *k, const hob_fbx_survey *s, uint32_t count)
{
	double begin = fmax(k->from->begin, s->first), end = fmin(k->from->end, s->last),
		   step = 1 / k->f->frame_rate;
	const double *keys = (const double *)(const void *)k->times.data;
	uint32_t key = 0;
	if (!(end > begin))
		return count;
	if ((end - begin) / step > FRAMES)
		step = (end - begin) / FRAMES;
	hob_buf_clear(&k->frames);
	for (uint32_t i = 1; i < FRAMES && begin + i * step < end; i++) {
		double time = begin + i * step;
		while (key < count && keys[key] <= time)
			key++;
		bool at_key =
			(key > 0 && time - keys[key - 1] < step / 256) || (key < count && keys[key] - time < step / 256);
		if (!at_key)
			hob_buf_put(&k->frames, &time, sizeof time);
	}
	uint32_t more = (uint32_t)(k->frames.size / sizeof(double)), at = count + more;
	hob_buf_grow(&k->times, more * sizeof(double));
	double *times = (double *)(void *)k->times.data;
	const double *frames = (const double *)(const void *)k->frames.data;
	while (more > 0)
		times[--at] = count > 0 && times[count - 1] > frames[more - 1] ? times[--count] : frames[--more];
	return (uint32_t)(k->times.size / sizeof(double));
}

/* Samples the track just before each time, [count][width]; derives the tolerance. */
static const double *sample_all(hob_fbx_tracker *k, uint32_t count)
{
	const double *times = (const double *)(const void *)k->times.data;
	double least = (double)INFINITY, most = -(double)INFINITY;
	hob_buf_clear(&k->samples);
	double *samples = (double *)(void *)hob_buf_grow(&k->samples, (size_t)count * k->width * sizeof *samples);
	for (uint32_t i = 0; i < count; i++)
		hob_fbx_sample(k, times[i], -1, samples + (size_t)i * k->width);
	for (size_t i = 0; i < (size_t)count * k->width; i++)
		least = fmin(least, samples[i]), most = fmax(most, samples[i]);
	k->tolerance = most > least ? fmax((most - least) * largest_part, 1e-9) : 1e-7;
	return samples;
}

/* Number of pieces between two keys, so that none rotates by more than `most` degrees about an axis: samples
 * at the two keys alone would miss whole revolutions. */
static uint32_t turn_pieces(hob_fbx_tracker *k, double from, double to, double most)
{
	enum { PARTS = 4, MOST_PIECES = 4096 };
	const double *rest = k->f->nodes[k->node].rotation;
	double last[3], now[3], way[3] = {0, 0, 0}, longest = 0;
	if (k->path != HOB_PATH_ROTATION)
		return 1;
	fbx_motion_vector(k->f, k->r, rest, false, from, 1, last);
	for (int i = 1; i <= PARTS; i++) {
		fbx_motion_vector(k->f, k->r, rest, false, i < PARTS ? from + (to - from) * i / PARTS : to, -1, now);
		for (int c = 0; c < 3; c++)
			way[c] += fabs(now[c] - last[c]), last[c] = now[c];
	}
	for (int c = 0; c < 3; c++)
		longest = fmax(longest, way[c]);
	return longest < most * MOST_PIECES ? (uint32_t)ceil(fmax(longest / most, 1)) : 1;
}

/* Adds keys strictly between two that may be several revolutions apart. */
static void join(hob_fbx_tracker *k, double from, double to, const double *left, const double *right,
				 double most)
{
	uint32_t pieces = turn_pieces(k, from, to, most);
	double *last = k->middle + (size_t)PIECES * k->width, *next = last + k->width, begin = from;
	memcpy(last, left, k->width * sizeof *last);
	for (uint32_t i = 1; i < pieces; i++) {
		double time = from + (to - from) * i / pieces;
		hob_fbx_sample(k, time, 1, next);
		refine(k, begin, time, last, next, 0);
		put_key(k, time, next, k->width);
		memcpy(last, next, k->width * sizeof *last);
		begin = time;
	}
	refine(k, begin, to, last, right, 0);
}

static void resample(hob_fbx_tracker *k, uint32_t count, bool jumps, double most_turn)
{
	const double *times = (const double *)(const void *)k->times.data;
	const double *samples = sample_all(k, count);
	double *left = k->ends;
	for (uint32_t i = 0; i < count; i++) {
		const double *before = samples + (size_t)i * k->width;
		if (i > 0)
			join(k, times[i - 1], times[i], left, before, most_turn);
		if (jumps)
			hob_fbx_sample(k, times[i], i + 1 < count, left);
		else
			memcpy(left, before, k->width * sizeof *left);
		/* The old value, just before the jump. */
		if (jumps && i > 0 && apart(k, before, left))
			put_key(k, (double)nextafterf((float)(times[i] - k->from->begin), -1) + k->from->begin, before,
					k->width);
		put_key(k, times[i], left, k->width);
	}
}

static void stepped(hob_fbx_tracker *k, uint32_t count)
{
	const double *times = (const double *)(const void *)k->times.data;
	for (uint32_t i = 0; i < count; i++) {
		double middle = i + 1 < count ? times[i] + (times[i + 1] - times[i]) / 2 : times[i];
		hob_fbx_sample(k, middle, i + 1 < count, k->a);
		put_key(k, times[i], k->a, k->width);
	}
}

/* Each component is a curve, or the constant in `rest` where `curves` is NULL. */
typedef struct lines {
	const hob_fbx_curve *curves[WIDTH];
	double rest[WIDTH];
} lines;

static void line_key(hob_fbx_tracker *k, const lines *l, double time, int side, double *values,
					 double *slopes)
{
	for (uint32_t i = 0; i < k->width; i++) {
		hob_fbx_reading r = l->curves[i] ? hob_fbx_curve_at(l->curves[i], time, side)
										 : (hob_fbx_reading){.value = l->rest[i]};
		values[i] = r.value;
		slopes[i] = r.slope;
	}
	if (k->path == HOB_PATH_WEIGHTS)
		for (uint32_t i = 0; i < k->width; i++)
			values[i] /= 100, slopes[i] /= 100;
	if (k->path != HOB_PATH_TRANSLATION)
		return;
	const hob_fbx_rig *rig = &k->f->nodes[k->node].rig;
	for (int i = 0; i < 3; i++)
		values[i] += rig->rotation_offset[i];
	if (k->f->mirrored)
		values[0] = -values[0], slopes[0] = -slopes[0];
	if (k->top && k->f->turned) {
		hob_fbx_quat_rotate(k->f->turn, values, values);
		hob_fbx_quat_rotate(k->f->turn, slopes, slopes);
	}
	for (int i = 0; i < 3; i++)
		values[i] *= k->f->unit, slopes[i] *= k->f->unit;
}

/* Writes the lines or cubics with keys at all times: subdividing one at another curve's key is exact. */
static void exact(hob_fbx_tracker *k, const lines *l, uint32_t count, bool cubic)
{
	const double *times = (const double *)(const void *)k->times.data;
	double *key = k->ends, *value = k->a, *slope = k->b, *late = k->middle;
	uint32_t w = k->width;
	for (uint32_t i = 0; i < count; i++) {
		line_key(k, l, times[i], -1, value, slope);
		line_key(k, l, times[i], i + 1 < count, late, late + w);
		bool jump = false;
		for (uint32_t c = 0; c < w; c++)
			jump = jump || fabs(value[c] - late[c]) > 1e-9 * fmax(1, fabs(late[c]));
		if (jump && i > 0) {
			double time = (double)nextafterf((float)(times[i] - k->from->begin), -1) + k->from->begin;
			memcpy(key, slope, w * sizeof *key);
			memcpy(key + w, value, w * sizeof *key);
			memset(key + 2 * (size_t)w, 0, w * sizeof *key);
			put_key(k, time, cubic ? key : value, cubic ? 3 * w : w);
			memset(slope, 0, w * sizeof *slope);
		}
		memcpy(key, slope, w * sizeof *key);
		memcpy(key + w, late, w * sizeof *key);
		memcpy(key + 2 * (size_t)w, late + w, w * sizeof *key);
		put_key(k, times[i], cubic ? key : late, cubic ? 3 * w : w);
	}
}

/* ---- a track */

static const float *rest_of(const hob_fbx_tracker *k, const hob_node *node)
{
	const hob_model *model = k->f->model;
	float *weights = (float *)(void *)k->ends;
	if (k->path != HOB_PATH_WEIGHTS)
		return k->path == HOB_PATH_TRANSLATION ? node->translation
			   : k->path == HOB_PATH_ROTATION  ? node->rotation
											   : node->scale;
	for (uint32_t i = 0; i < k->width; i++)
		weights[i] = model->meshes[model->mesh_refs[node->mesh_first]].targets[i].weight;
	return weights;
}

static void same_hemisphere(float *values, uint32_t keys)
{
	for (uint32_t i = 1; i < keys; i++) {
		float *q = values + (size_t)i * 4, *p = q - 4, dot = 0;
		for (int c = 0; c < 4; c++)
			dot += p[c] * q[c];
		for (int c = 0; c < 4 && dot < 0; c++)
			q[c] = -q[c];
	}
}

static void count_keys(hob_fbx *f, uint32_t keys)
{
	f->keys_made += keys;
	if (f->keys_made > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "more than %llu animation keys", HOB_LIMIT_KEYS);
}

static void put_track(hob_fbx_tracker *k, uint32_t id, hob_interpolation interpolation)
{
	hob_fbx *f = k->f;
	const double *times = (const double *)(const void *)k->out_times.data;
	float *values = (float *)(void *)k->out_values.data;
	uint32_t keys = (uint32_t)(k->out_times.size / sizeof *times), kept = 0;
	uint32_t stride = interpolation == HOB_CUBICSPLINE ? 3 * k->width : k->width;
	hob_track sampled = {interpolation, k->width, keys, NULL, values};
	if (keys == 0 ||
		hob_track_rests(&sampled, rest_of(k, &f->model->nodes[id]), k->path == HOB_PATH_ROTATION, 1e-5f))
		return;
	count_keys(f, keys);
	hob_track track = {interpolation, k->width, 0, HOB_NEW(f->result, float, keys),
					   HOB_NEW(f->result, float, (size_t)keys *stride)};
	for (uint32_t i = 0; i < keys; i++) {
		float time = (float)(times[i] - k->from->begin);
		if (!(time >= 0) || (kept > 0 && !(time > track.times[kept - 1])))
			continue;
		track.times[kept] = time;
		memcpy(track.values + (size_t)kept++ * stride, values + (size_t)i * stride, stride * sizeof(float));
	}
	track.key_count = kept;
	if (k->path == HOB_PATH_ROTATION)
		same_hemisphere(track.values, kept);
	hob_channel channel = {id, k->path, (uint32_t)(k->tracks.size / sizeof track)};
	hob_buf_put(&k->tracks, &track, sizeof track);
	hob_buf_put(&k->channels, &channel, sizeof channel);
}

/* Starts a track of `width` numbers: its survey, in which nothing is seen yet. */
static hob_fbx_survey begin_track(hob_fbx_tracker *k, hob_path path, uint32_t width)
{
	k->path = path;
	k->width = width;
	k->a = HOB_NEW(k->f->scratch, double, (size_t)width * 2);
	k->b = HOB_NEW(k->f->scratch, double, width);
	k->middle = HOB_NEW(k->f->scratch, double, (size_t)width *(PIECES + 2));
	k->ends = HOB_NEW(k->f->scratch, double, (size_t)width * 4);
	hob_buf_clear(&k->times);
	hob_buf_clear(&k->out_times);
	hob_buf_clear(&k->out_values);
	return (hob_fbx_survey){.first = (double)INFINITY, .last = -(double)INFINITY};
}

static void make_track(hob_fbx_tracker *k, uint32_t id, hob_fbx_survey *s, const lines *l)
{
	bool straight_turn =
		k->path == HOB_PATH_ROTATION && s->moving <= 1 && s->lines && !s->steps && !s->cubics;
	bool plain = !s->others && (l || straight_turn);
	bool all_steps = s->steps && !s->lines && !s->cubics && !s->others;
	uint32_t count = fbx_sort_times(k);
	if (count > 1 && s->moving == 0 && !s->beyond) {
		/* Constant: two keys, at the ends of the clip. */
		double *times = (double *)(void *)k->times.data;
		times[1] = times[count - 1];
		k->times.size = 2 * sizeof *times;
		count = 2;
	} else if (!plain && !all_steps) {
		count = add_frames(k, s, count);
	}
	hob_interpolation interpolation = HOB_LINEAR;
	if (all_steps) {
		stepped(k, count);
		interpolation = HOB_STEP;
	} else if (plain && l) {
		interpolation = s->cubics ? HOB_CUBICSPLINE : HOB_LINEAR;
		exact(k, l, count, s->cubics);
	} else {
		k->bends = s->cubics || s->others;
		resample(k, count, s->steps || s->beyond, s->moving <= 1 ? 170 : 80);
	}
	put_track(k, id, interpolation);
}

static bool moves(hob_fbx_motions motions)
{
	for (uint32_t m = 0; m < motions.count; m++)
		for (int i = 0; i < 3; i++)
			if (motions.first[m].curves[i] || isfinite(motions.first[m].otherwise[i]))
				return true;
	return false;
}

static void set_lines(const hob_fbx_motion *motion, const double rest[3], lines *out)
{
	for (int i = 0; i < 3; i++) {
		out->curves[i] = motion->curves[i];
		out->rest[i] = isfinite(motion->otherwise[i]) ? motion->otherwise[i] : rest[i];
	}
}

/* Surveys the scales whose product is the scale of `id`, except the first `skipped`. False when none is
 * animated; `out` may be NULL. */
static bool survey_scalers(hob_fbx_tracker *k, uint32_t id, int skipped, hob_fbx_survey *out)
{
	const hob_fbx *f = k->f;
	bool any = false;
	uint32_t at = id, from = id;
	for (int i = 0; i < SCALERS && from != HOB_NONE; i++, from = hob_fbx_next_scaler(f, &at)) {
		hob_fbx_motions motions = hob_fbx_motions_of(f, k->clip_id, f->nodes[from].object, hob_fbx_lcl[2]);
		if (i < skipped || !moves(motions))
			continue;
		any = true;
		if (out)
			fbx_survey_motions(k, motions, out);
	}
	return any;
}

static void node_tracks(hob_fbx_tracker *k, uint32_t id, lines *l)
{
	hob_fbx *f = k->f;
	const hob_fbx_node *node = &f->nodes[id];
	k->node = id;
	k->t = hob_fbx_motions_of(f, k->clip_id, node->object, hob_fbx_lcl[0]);
	k->r = hob_fbx_motions_of(f, k->clip_id, node->object, hob_fbx_lcl[1]);
	k->s = hob_fbx_motions_of(f, k->clip_id, node->object, hob_fbx_lcl[2]);
	const hob_fbx_node *parent = node->parent == HOB_NONE ? NULL : &f->nodes[node->parent];
	k->top = !parent;
	k->beside = parent && parent->scale_apart && node->inherit != 1;
	bool above_moves = k->beside && survey_scalers(k, node->parent, 0, NULL);
	bool rig_moves = false;
	for (size_t i = 0; i < HOB_FBX_RIG_PARTS && node->rig_moves; i++) {
		k->rig[i] = hob_fbx_motions_of(f, k->clip_id, node->object, hob_fbx_rig_parts[i]);
		rig_moves = rig_moves || moves(k->rig[i]);
	}
	bool pivots = (node->rig.pivoted || rig_moves) && (moves(k->r) || moves(k->s));
	hob_arena_mark mark = hob_arena_save(f->scratch);
	if (moves(k->t) || pivots || above_moves || rig_moves) {
		hob_fbx_survey s = begin_track(k, HOB_PATH_TRANSLATION, 3);
		fbx_survey_motions(k, k->t, &s);
		if (pivots) {
			fbx_survey_motions(k, k->r, &s);
			fbx_survey_motions(k, k->s, &s);
		}
		for (size_t i = 0; i < HOB_FBX_RIG_PARTS && rig_moves; i++)
			fbx_survey_motions(k, k->rig[i], &s);
		if (above_moves)
			(void)survey_scalers(k, node->parent, 0, &s);
		bool exactly = k->t.count == 1 && !pivots && !k->beside && !node->rig.pivoted && !rig_moves;
		if (exactly)
			set_lines(k->t.first, node->translation, l);
		make_track(k, node->id, &s, exactly ? l : NULL);
	}
	if (moves(k->r) || rig_moves) {
		hob_fbx_survey s = begin_track(k, HOB_PATH_ROTATION, 4);
		fbx_survey_motions(k, k->r, &s);
		for (size_t i = 4; i < HOB_FBX_RIG_PARTS && rig_moves; i++)
			fbx_survey_motions(k, k->rig[i], &s);
		make_track(k, node->id, &s, NULL);
	}
	bool scaled_above = k->beside && survey_scalers(k, id, 1, NULL);
	if (moves(k->s) || scaled_above) {
		hob_fbx_survey s = begin_track(k, HOB_PATH_SCALE, 3);
		fbx_survey_motions(k, k->s, &s);
		if (scaled_above)
			(void)survey_scalers(k, id, 1, &s);
		uint32_t at = id;
		bool exactly = k->s.count == 1 && hob_fbx_next_scaler(f, &at) == HOB_NONE;
		if (exactly)
			set_lines(k->s.first, node->scaling, l);
		make_track(k, node->scale_id, &s, exactly ? l : NULL);
	}
	hob_arena_restore(f->scratch, mark);
}

static void weight_track(hob_fbx_tracker *k, uint32_t id, lines *l)
{
	hob_fbx *f = k->f;
	const hob_fbx_node *node = &f->nodes[id];
	const hob_fbx_geometry *g = &f->geometries[node->geometry];
	bool any = false, exactly = true;
	hob_arena_mark mark = hob_arena_save(f->scratch);
	k->geometry = g;
	k->weights = HOB_NEW(f->scratch, hob_fbx_motions, g->channel_count);
	hob_fbx_survey s = begin_track(k, HOB_PATH_WEIGHTS, g->shape_count);
	for (uint32_t c = 0; c < g->channel_count; c++) {
		const hob_fbx_channel *channel = &g->channels[c];
		if (channel->object == HOB_NONE)
			continue;
		k->weights[c] = hob_fbx_motions_of(f, k->clip_id, channel->object, channel->property);
		any = any || moves(k->weights[c]);
		fbx_survey_motions(k, k->weights[c], &s);
		const hob_fbx_shape *shape = &g->shapes[channel->shape_first];
		exactly = exactly && channel->shape_count == 1 && fabs(shape->full_weight - 100) < 1e-9;
		for (uint32_t m = 0; m < k->weights[c].count && channel->shape_count > 1; m++)
			if (k->weights[c].first[m].curves[0])
				fbx_add_crossings(k, channel, k->weights[c].first[m].curves[0]);
		if (channel->shape_count != 1)
			continue;
		l->curves[c] = k->weights[c].count > 0 ? k->weights[c].first->curves[0] : NULL;
		double otherwise = k->weights[c].count > 0 ? k->weights[c].first->otherwise[0] : (double)NAN;
		l->rest[c] = isfinite(otherwise) ? otherwise : channel->percent;
	}
	if (any)
		make_track(k, node->mesh_id, &s, exactly ? l : NULL);
	hob_arena_restore(f->scratch, mark);
}

/* Makes the visibility track. A node is visible while its value is above 0; a segment that fades counts as
 * visible if either end is. */
static void visibility_track(hob_fbx_tracker *k, uint32_t id)
{
	hob_fbx *f = k->f;
	const hob_fbx_node *node = &f->nodes[id];
	hob_fbx_motions motions = hob_fbx_motions_of(f, k->clip_id, node->object, HOB_STR("Visibility"));
	if (!moves(motions) || node->hides_mesh)
		return;
	hob_arena_mark mark = hob_arena_save(f->scratch);
	hob_fbx_survey s = begin_track(k, k->path, 1);
	fbx_survey_motions(k, motions, &s);
	uint32_t count = fbx_sort_times(k);
	hob_track track = {HOB_STEP, 1, 0, HOB_NEW(f->result, float, count + 1),
					   HOB_NEW(f->result, float, count + 1)};
	const double *times = (const double *)(const void *)k->times.data;
	const double rest[3] = {hob_fbx_prop_real(f, node->object, HOB_STR("Visibility"), 1), 0, 0};
	for (uint32_t i = 0; i < count; i++) {
		double now[3], late[3] = {0, 0, 0};
		fbx_motion_vector(f, motions, rest, false, times[i], i + 1 < count, now);
		if (i + 1 < count)
			fbx_motion_vector(f, motions, rest, false, times[i + 1], -1, late);
		float shown = now[0] > 0 || late[0] > 0, time = (float)(times[i] - k->from->begin);
		bool same = track.key_count > 0 && fabsf(track.values[track.key_count - 1] - shown) < 0.5f;
		if (!(time >= 0) || same || (track.key_count > 0 && !(time > track.times[track.key_count - 1])))
			continue;
		track.times[track.key_count] = time;
		track.values[track.key_count++] = shown;
	}
	hob_arena_restore(f->scratch, mark);
	count_keys(f, track.key_count);
	if (track.key_count == 0 || (track.key_count == 1 && (track.values[0] > 0) != node->hidden))
		return;
	/* Without a key at the end, the last state would last no time in a looping clip. */
	float end = (float)(k->from->end - k->from->begin);
	if (track.times[track.key_count - 1] < end) {
		track.times[track.key_count] = end;
		track.values[track.key_count] = track.values[track.key_count - 1];
		track.key_count++;
	}
	hob_property_channel channel = {HOB_PROPERTY_NODE_VISIBLE, node->id, 0,
									(uint32_t)(k->tracks.size / sizeof track)};
	hob_buf_put(&k->tracks, &track, sizeof track);
	hob_buf_put(&k->properties, &channel, sizeof channel);
}

/* ---- clips */

static void fill_clip(hob_fbx_tracker *k, lines *l)
{
	hob_fbx *f = k->f;
	for (uint32_t id = 0; id < f->node_count; id++) {
		const hob_fbx_node *node = &f->nodes[id];
		if (node->id == HOB_NONE)
			continue;
		HOB_PLACE("node '@'", 0, f->objects[node->object].name);
		node_tracks(k, id, l);
		visibility_track(k, id);
		if (node->geometry != HOB_NONE && node->mesh_id != HOB_NONE &&
			f->geometries[node->geometry].shape_count > 0)
			weight_track(k, id, l);
	}
	hob_clip *clip = k->clip;
	clip->tracks = hob_lists_array(f->result, &k->tracks, sizeof(hob_track), &clip->track_count);
	clip->channels = hob_lists_array(f->result, &k->channels, sizeof(hob_channel), &clip->channel_count);
	clip->properties =
		hob_lists_array(f->result, &k->properties, sizeof(hob_property_channel), &clip->property_count);
	hob_buf_clear(&k->tracks);
	hob_buf_clear(&k->channels);
	hob_buf_clear(&k->properties);
}

static void make_clips(hob_fbx_tracker *k)
{
	hob_fbx *f = k->f;
	hob_model *model = f->model;
	uint32_t motion = 0; /* motions are ordered by clip */
	hob_name_map names;
	lines *l = HOB_NEW(f->scratch, lines, 1);
	hob_name_map_init(&names, f->scratch);
	model->clips = HOB_NEW(f->result, hob_clip, f->anim->clip_count);
	for (uint32_t c = 0; c < f->anim->clip_count; c++) {
		const hob_fbx_clip *from = k->from = &f->anim->clips[c];
		hob_clip *clip = k->clip = &model->clips[model->clip_count];
		hob_str name = hob_fbx_name(f, from->name);
		k->clip_id = c;
		*clip = (hob_clip){0};
		clip->name = hob_name_map_add_unique(&names, f->result, name.len > 0 ? name : HOB_STR("clip"), c);
		while (motion < f->anim->motion_count && f->anim->motions[motion].clip < c)
			motion++;
		HOB_PLACE("clip '@'", 0, clip->name);
		if (motion < f->anim->motion_count && f->anim->motions[motion].clip == c)
			fill_clip(k, l);
		if (clip->track_count == 0) {
			hob_fbx_info(f, "still", "clip '%.*s' moves nothing away from the rest pose and is left out",
						 HOB_FMT(clip->name));
			continue;
		}
		if (from->object != HOB_NONE)
			hob_fbx_extras(f, from->object, &clip->extras);
		if (from->begin > 0 || from->begin < 0)
			hob_fbx_info(f, "shifted", "clip '%.*s' begins at %.3f s in the file; it is moved to begin at 0",
						 HOB_FMT(clip->name), from->begin);
		model->clip_count++;
	}
}

void hob_fbx_read_clips(hob_fbx *f)
{
	hob_fbx_tracker k = {.f = f};
	if (f->anim->clip_count > HOB_LIMIT_CLIPS)
		hob_leave(LIMIT, "%u animation clips, at most %llu are allowed", f->anim->clip_count,
				  HOB_LIMIT_CLIPS);
	make_clips(&k);
}
