#include "rt_private.h"

#include "rt_math.h"

#include <assert.h>

/* ---- poses */

hob_rt_pose *hob_rt_take_pose(rt_memory *memory, const rt_asset *a)
{
	hob_rt_pose *pose = RT_TAKE(memory, hob_rt_pose, 1);
	float *rows = RT_TAKE(memory, float, (uint64_t)a->slot_stride *RT_POSE_ROWS);
	float *weights = RT_TAKE(memory, float, a->value_count);
	if (!pose)
		return NULL;
	pose->asset = &a->pub;
	for (uint32_t i = 0; i < 3; i++) {
		pose->translation[i] = rows + (size_t)i * a->slot_stride;
		pose->scale[i] = rows + (size_t)(RT_ROW_SCALE + i) * a->slot_stride;
	}
	for (uint32_t i = 0; i < 4; i++)
		pose->rotation[i] = rows + (size_t)(RT_ROW_ROTATION + i) * a->slot_stride;
	pose->weights = weights;
	hob_rt_pose_rest(pose);
	return pose;
}

bool hob_rt_pose_open(const hob_rt_asset *asset, hob_rt_pose **out, hob_rt_error *error)
{
	const rt_asset *a = RT_ASSET(asset);
	rt_memory memory = {NULL, 0, false};
	hob_rt_take_pose(&memory, a);
	memory.base = memory.failed ? NULL : (uint8_t *)hob_rt_allocate(&a->options, memory.used);
	memory.used = 0;
	if (!memory.base)
		return hob_rt_fail(error, HOB_RT_MEMORY, "no memory for a pose of %u nodes", asset->animated_count);
	*out = hob_rt_take_pose(&memory, a);
	return true;
}

void hob_rt_pose_close(hob_rt_pose *pose)
{
	if (pose)
		hob_rt_release(&RT_ASSET(pose->asset)->options, pose);
}

static void copy_floats(float *to, const float *from, size_t count)
{
	if (count > 0)
		memcpy(to, from, count * sizeof *to);
}

void hob_rt_pose_rest(hob_rt_pose *pose)
{
	const rt_asset *a = RT_ASSET(pose->asset);
	copy_floats(rt_pose_rows(pose), a->rest, (size_t)a->slot_stride * RT_POSE_ROWS);
	copy_floats(pose->weights, a->weights, a->value_count);
}

void hob_rt_pose_copy(hob_rt_pose *to, const hob_rt_pose *from)
{
	const rt_asset *a = RT_ASSET(from->asset);
	assert(to->asset == from->asset);
	copy_floats(rt_pose_rows(to), rt_pose_rows(from), (size_t)a->slot_stride * RT_POSE_ROWS);
	copy_floats(to->weights, from->weights, a->value_count);
}

void hob_rt_apply(const hob_rt_pose *pose, hob_rt_instance *in)
{
	const rt_asset *a = RT_ASSET(pose->asset);
	assert(in->asset == a);
	for (uint32_t slot = 0; slot < a->pub.animated_count; slot++) {
		uint32_t node = a->animated[slot], paths = a->slot_paths[slot];
		float t[3], r[4], s[3];
		for (int i = 0; i < 3; i++) {
			t[i] = pose->translation[i][slot];
			s[i] = pose->scale[i][slot];
		}
		for (int i = 0; i < 4; i++)
			r[i] = pose->rotation[i][slot];
		bool moved = paths & 1u << HOB_PK_PATH_TRANSLATION &&
					 memcmp(t, in->translations + (size_t)node * 3, sizeof t) != 0;
		bool turned =
			paths & 1u << HOB_PK_PATH_ROTATION && memcmp(r, in->rotations + (size_t)node * 4, sizeof r) != 0;
		bool scaled =
			paths & 1u << HOB_PK_PATH_SCALE && memcmp(s, in->scales + (size_t)node * 3, sizeof s) != 0;
		if (moved || turned || scaled || in->flags[node] & RT_NODE_MATRIX)
			hob_rt_set_trs(in, node, moved ? t : NULL, turned ? r : NULL, scaled ? s : NULL);
	}
	for (uint32_t i = 0; i < a->value_count; i++)
		if (a->weight_animated[i])
			in->weights[i] = pose->weights[i];
}

/* ---- time */

double hob_rt_clip_time(const hob_rt_clip *clip, double time, bool loop)
{
	double start = clip->start, length = (double)clip->end - start;
	if (!(length > 0) || !(fabs(time) <= 1e300))
		return start;
	if (!loop)
		return time < start ? start : time > clip->end ? (double)clip->end : time;
	double rest = fmod(time - start, length);
	if (rest < 0)
		rest += length;
	return start + (rest < length ? rest : 0);
}

/* ---- one channel */

/* Position in a track: `fraction` of the way between keys `key` and `key + 1`; or exactly at `key`. */
typedef struct place {
	uint32_t key;
	bool on_key;
	float fraction, seconds; /* time between the keys */
} place_t;

static place_t find_place(const float *times, uint32_t count, double time, bool step, uint32_t *cursor)
{
	place_t place = {0, true, 0, 0};
	if (!(time > times[0]))
		return place;
	if (time >= times[count - 1]) {
		place.key = count - 1;
		return place;
	}
	uint32_t key = *cursor;
	if (key + 1 >= count || !(times[key] <= time) || !(time < times[key + 1])) {
		if (key + 2 < count && times[key + 1] <= time && time < times[key + 2]) {
			key++;
		} else {
			uint32_t low = 0, high = count - 1; /* times[low] <= time < times[high] */
			while (high - low > 1) {
				uint32_t middle = low + (high - low) / 2;
				if (times[middle] <= time)
					low = middle;
				else
					high = middle;
			}
			key = low;
		}
		*cursor = key;
	}
	place.key = key;
	if (step || time <= times[key])
		return place;
	double seconds = (double)times[key + 1] - times[key];
	place.on_key = false;
	place.fraction = (float)((time - times[key]) / seconds);
	place.seconds = (float)seconds;
	return place;
}

typedef struct curve {
	const float *values;
	uint32_t components;
	uint8_t interpolation;
	bool unit; /* every key is a unit quaternion */
} curve_t;

static const float *key_value(const curve_t *curve, uint32_t key)
{
	if (curve->interpolation == HOB_PK_CUBICSPLINE)
		return curve->values + ((size_t)key * 3 + 1) * curve->components;
	return curve->values + (size_t)key * curve->components;
}

static void hermite(const curve_t *curve, const place_t *place, uint32_t first, uint32_t count, float *out)
{
	size_t n = curve->components;
	const float *a = key_value(curve, place->key) + first, *b = key_value(curve, place->key + 1) + first;
	float t = place->fraction, t2 = t * t, t3 = t2 * t;
	float from = 2 * t3 - 3 * t2 + 1, to = 3 * t2 - 2 * t3;
	float leave = place->seconds * (t3 - 2 * t2 + t), arrive = place->seconds * (t3 - t2);
	for (uint32_t i = 0; i < count; i++)
		out[i] = from * a[i] + leave * a[n + i] + to * b[i] + arrive * *(b + i - n);
}

/* Components [first, first + count) of a curve that is not a LINEAR rotation. */
static void evaluate(const curve_t *curve, const place_t *place, uint32_t first, uint32_t count, float *out)
{
	const float *a = key_value(curve, place->key) + first;
	if (place->on_key)
		memcpy(out, a, count * sizeof *out);
	else if (curve->interpolation == HOB_PK_CUBICSPLINE)
		hermite(curve, place, first, count, out);
	else {
		const float *b = key_value(curve, place->key + 1) + first;
		for (uint32_t i = 0; i < count; i++)
			out[i] = a[i] + place->fraction * (b[i] - a[i]);
	}
}

/* ---- many rotations at once */

enum { BATCH = 16 };

typedef struct batch {
	float a[4][BATCH], b[4][BATCH], t[BATCH];
	uint32_t slots[BATCH], count;
} batch_t;

/* sin x for 0 <= x <= pi/2: the odd series up to x^11 leaves 6e-8. */
static inline float quarter_sine(float x)
{
	float s = x * x;
	return x * (1 + s * (-1.66666667e-1f +
						 s * (8.33333333e-3f +
							  s * (-1.98412698e-4f + s * (2.75573192e-6f + s * -2.50521084e-8f)))));
}

/* Spherical interpolation of BATCH pairs, without branches. The angle comes from a polynomial arc cosine
 * (Abramowitz and Stegun 4.4.46, error 2e-8). For nearly equal rotations the weights are linear, which is
 * their limit. */
static void slerp_batch(batch_t *batch, float out[4][BATCH])
{
	for (int i = 0; i < BATCH; i++) {
		float d = batch->a[0][i] * batch->b[0][i] + batch->a[1][i] * batch->b[1][i] +
				  batch->a[2][i] * batch->b[2][i] + batch->a[3][i] * batch->b[3][i];
		float sign = d < 0 ? -1.0f : 1.0f, x = d * sign, t = batch->t[i];
		x = x < 1 ? x : 1.0f;
		float poly = 1.5707963050f +
					 x * (-0.2145988016f +
						  x * (0.0889789874f +
							   x * (-0.0501743046f +
									x * (0.0308918810f +
										 x * (-0.0170881256f + x * (0.0066700901f + x * -0.0012624911f))))));
		float angle = sqrtf(1 - x) * poly, whole = quarter_sine(angle);
		bool near = whole < 1e-3f;
		float scale = 1 / (near ? 1.0f : whole);
		float from = near ? 1 - t : quarter_sine((1 - t) * angle) * scale;
		float to = (near ? t : quarter_sine(t * angle) * scale) * sign;
		float q0 = from * batch->a[0][i] + to * batch->b[0][i],
			  q1 = from * batch->a[1][i] + to * batch->b[1][i];
		float q2 = from * batch->a[2][i] + to * batch->b[2][i],
			  q3 = from * batch->a[3][i] + to * batch->b[3][i];
		float square = q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3;
		float inverse = 1 / sqrtf(square > 1e-30f ? square : 1.0f);
		out[0][i] = q0 * inverse;
		out[1][i] = q1 * inverse;
		out[2][i] = q2 * inverse;
		out[3][i] = square > 1e-30f ? q3 * inverse : 1.0f;
	}
}

static void flush(batch_t *batch, hob_rt_pose *pose)
{
	float out[4][BATCH];
	for (uint32_t i = batch->count; i < BATCH; i++) {
		for (int k = 0; k < 4; k++)
			batch->a[k][i] = batch->b[k][i] = k == 3;
		batch->t[i] = 0;
	}
	slerp_batch(batch, out);
	for (int k = 0; k < 4; k++)
		for (uint32_t i = 0; i < batch->count; i++)
			pose->rotation[k][batch->slots[i]] = out[k][i];
	batch->count = 0;
}

static void push_rotation(batch_t *batch, const curve_t *curve, const place_t *place, uint32_t slot,
						  hob_rt_pose *pose)
{
	const float *a = key_value(curve, place->key), *b = key_value(curve, place->key + 1);
	uint32_t i = batch->count++;
	float qa[4], qb[4];
	memcpy(qa, a, sizeof qa);
	memcpy(qb, b, sizeof qb);
	if (!curve->unit) {
		rt_normalise(qa);
		rt_normalise(qb);
	}
	for (int k = 0; k < 4; k++) {
		batch->a[k][i] = qa[k];
		batch->b[k][i] = qb[k];
	}
	batch->t[i] = place->fraction;
	batch->slots[i] = slot;
	if (batch->count == BATCH)
		flush(batch, pose);
}

/* ---- sampling */

static void sample_rotation(const curve_t *curve, const place_t *place, uint32_t slot, batch_t *batch,
							hob_rt_pose *pose)
{
	if (curve->interpolation == HOB_PK_LINEAR && !place->on_key) {
		push_rotation(batch, curve, place, slot, pose);
		return;
	}
	float q[4];
	evaluate(curve, place, 0, 4, q);
	rt_normalise(q);
	for (int i = 0; i < 4; i++)
		pose->rotation[i][slot] = q[i];
}

static place_t open_curve(const rt_asset *a, uint32_t index, double time, uint32_t *cursor, curve_t *out)
{
	const hob_pk_sampler *sampler = RT_AT(hob_pk_sampler, a->clip_samplers, index);
	out->values = RT_AT(float, a->values, sampler->value_first);
	out->components = sampler->components;
	out->interpolation = sampler->interpolation;
	out->unit = a->unit_curves[index] != 0;
	return find_place(RT_AT(float, a->times, sampler->time_first), sampler->key_count, time,
					  sampler->interpolation == HOB_PK_STEP, cursor);
}

void hob_rt_sample(const hob_rt_asset *asset, uint32_t clip_index, double time, uint32_t *cursors,
				   hob_rt_pose *pose)
{
	const rt_asset *a = RT_ASSET(asset);
	assert(clip_index < asset->clip_count && pose->asset == asset);
	const hob_rt_clip *clip = &asset->clips[clip_index];
	batch_t batch;
	batch.count = 0;
	if (!(fabs(time) <= 1e300))
		time = clip->start;
	hob_rt_pose_rest(pose);
	for (uint32_t i = 0; i < clip->channel_count; i++) {
		const hob_pk_channel *channel = RT_AT(hob_pk_channel, a->channels, clip->channel_first + i);
		uint32_t slot = a->channel_slots[clip->channel_first + i], none = 0;
		if (slot == HOB_RT_NONE)
			continue;
		curve_t curve;
		place_t place = open_curve(a, channel->sampler, time, cursors ? &cursors[i] : &none, &curve);
		if (channel->path == HOB_PK_PATH_ROTATION) {
			sample_rotation(&curve, &place, slot, &batch, pose);
		} else if (channel->path == HOB_PK_PATH_WEIGHTS) {
			evaluate(&curve, &place, 0, curve.components, pose->weights + slot);
		} else {
			float v[3], *const *rows = channel->path == HOB_PK_PATH_SCALE ? pose->scale : pose->translation;
			evaluate(&curve, &place, 0, 3, v);
			for (int k = 0; k < 3; k++)
				rows[k][slot] = v[k];
		}
	}
	for (uint32_t i = hob_rt_search(a->properties, offsetof(hob_pk_property_channel, clip), clip_index);
		 i < a->properties.count; i++) {
		const hob_pk_property_channel *channel = RT_AT(hob_pk_property_channel, a->properties, i);
		uint32_t none = 0;
		curve_t curve;
		if (channel->clip != clip_index)
			break;
		if (a->property_slots[i] == HOB_RT_NONE)
			continue;
		place_t place = open_curve(a, channel->sampler, time, &none, &curve);
		evaluate(&curve, &place, 0, curve.components, pose->weights + a->property_slots[i]);
	}
	if (batch.count > 0)
		flush(&batch, pose);
}
