#include "rt_private.h"

#include "rt_math.h"

#include <assert.h>

void hob_rt_blend_begin(hob_rt_pose *out)
{
	const rt_asset *a = RT_ASSET(out->asset);
	memset(rt_pose_rows(out), 0, (size_t)a->slot_stride * RT_POSE_ROWS * sizeof(float));
	if (a->value_count > 0)
		memset(out->weights, 0, a->value_count * sizeof(float));
	out->total = 0;
}

static void add_scaled(float *out, const float *in, float weight, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] += weight * in[i];
}

/* A rotation and its negative are the same rotation: add the one on the same side as the sum. */
static void add_rotations(float *out, const float *in, float weight, size_t stride)
{
	float *o0 = out, *o1 = out + stride, *o2 = out + 2 * stride, *o3 = out + 3 * stride;
	const float *i0 = in, *i1 = in + stride, *i2 = in + 2 * stride, *i3 = in + 3 * stride;
	for (size_t i = 0; i < stride; i++) {
		float side = o0[i] * i0[i] + o1[i] * i1[i] + o2[i] * i2[i] + o3[i] * i3[i];
		float w = side < 0 ? -weight : weight;
		o0[i] += w * i0[i];
		o1[i] += w * i1[i];
		o2[i] += w * i2[i];
		o3[i] += w * i3[i];
	}
}

static void normalise_rotations(float *out, size_t stride)
{
	float *o0 = out, *o1 = out + stride, *o2 = out + 2 * stride, *o3 = out + 3 * stride;
	for (size_t i = 0; i < stride; i++) {
		float square = o0[i] * o0[i] + o1[i] * o1[i] + o2[i] * o2[i] + o3[i] * o3[i];
		float scale = square > 1e-12f ? 1 / sqrtf(square) : 0.0f;
		o0[i] *= scale;
		o1[i] *= scale;
		o2[i] *= scale;
		o3[i] = square > 1e-12f ? o3[i] * scale : 1.0f;
	}
}

static void add_rows(hob_rt_pose *out, const float *rows, const float *weights, float weight)
{
	const rt_asset *a = RT_ASSET(out->asset);
	size_t stride = a->slot_stride;
	float *own = rt_pose_rows(out);
	add_scaled(own, rows, weight, stride * 3);
	add_rotations(own + stride * RT_ROW_ROTATION, rows + stride * RT_ROW_ROTATION, weight, stride);
	add_scaled(own + stride * RT_ROW_SCALE, rows + stride * RT_ROW_SCALE, weight, stride * 3);
	add_scaled(out->weights, weights, weight, a->value_count);
	out->total += weight;
}

void hob_rt_blend_add(hob_rt_pose *out, const hob_rt_pose *pose, float weight)
{
	assert(out != pose && out->asset == pose->asset);
	if (weight > 0 && weight <= RT_LARGEST)
		add_rows(out, rt_pose_rows(pose), pose->weights, weight);
}

static void divide(float *out, float by, size_t count)
{
	float scale = 1 / by;
	for (size_t i = 0; i < count; i++)
		out[i] *= scale;
}

void hob_rt_blend_end(hob_rt_pose *out)
{
	const rt_asset *a = RT_ASSET(out->asset);
	size_t stride = a->slot_stride;
	float *rows = rt_pose_rows(out);
	if (out->total < 1)
		add_rows(out, a->rest, a->weights, 1 - out->total);
	if (out->total > 1) {
		divide(rows, out->total, stride * 3);
		divide(rows + stride * RT_ROW_SCALE, out->total, stride * 3);
		divide(out->weights, out->total, a->value_count);
	}
	normalise_rotations(rows + stride * RT_ROW_ROTATION, stride);
}

/* base, rotated by `weight` times the difference from `reference` to `pose`, along the shorter arc. */
static void turn_further(hob_rt_pose *base, const hob_rt_pose *pose, const hob_rt_pose *reference,
						 float weight, uint32_t slot)
{
	float back[4], to[4], way[4], from[4], turned[4];
	for (int i = 0; i < 4; i++) {
		back[i] = i < 3 ? -reference->rotation[i][slot] : reference->rotation[i][slot];
		to[i] = pose->rotation[i][slot];
		from[i] = base->rotation[i][slot];
	}
	rt_quat_multiply(back, to, way);
	if (way[3] < 0)
		for (int i = 0; i < 4; i++)
			way[i] = -way[i];
	/* difference = (axis * sin h, cos h): its power has the same axis, and weight * h. */
	float sine = sqrtf(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
	float half = atan2f(sine, way[3]) * weight;
	float scale = sine > 1e-6f ? sinf(half) / sine : weight;
	for (int i = 0; i < 3; i++)
		way[i] *= scale;
	way[3] = cosf(half);
	rt_quat_multiply(from, way, turned);
	rt_normalise(turned);
	for (int i = 0; i < 4; i++)
		base->rotation[i][slot] = turned[i];
}

void hob_rt_blend_additive(hob_rt_pose *base, const hob_rt_pose *pose, const hob_rt_pose *reference,
						   float weight)
{
	assert(base->asset == pose->asset && base->asset == reference->asset);
	if (!(fabsf(weight) <= RT_LARGEST))
		return;
	for (uint32_t slot = 0; slot < base->asset->animated_count; slot++) {
		for (int i = 0; i < 3; i++) {
			float was = reference->scale[i][slot];
			float factor = was != 0 ? pose->scale[i][slot] / was : 1;
			base->translation[i][slot] +=
				weight * (pose->translation[i][slot] - reference->translation[i][slot]);
			if (fabsf(factor) <= RT_LARGEST)
				base->scale[i][slot] *= 1 + weight * (factor - 1);
		}
		turn_further(base, pose, reference, weight, slot);
	}
	for (uint32_t i = 0; i < RT_ASSET(base->asset)->value_count; i++)
		base->weights[i] += weight * (pose->weights[i] - reference->weights[i]);
}
