#include "fbx_anim.h"

#include <math.h>

static int compare(const hob_fbx_motion *motion, uint32_t clip, uint32_t object, hob_str property)
{
	if (motion->clip != clip)
		return motion->clip < clip ? -1 : 1;
	if (motion->object != object)
		return motion->object < object ? -1 : 1;
	if (motion->property.len != property.len)
		return motion->property.len < property.len ? -1 : 1;
	return property.len > 0 ? memcmp(motion->property.data, property.data, property.len) : 0;
}

hob_fbx_motions hob_fbx_motions_of(const hob_fbx *f, uint32_t clip, uint32_t object, hob_str property)
{
	const hob_fbx_anim *anim = f->anim;
	uint32_t low = 0, high = anim->motion_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (compare(&anim->motions[middle], clip, object, property) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	hob_fbx_motions out = {anim->motions + low, 0};
	while (low + out.count < anim->motion_count &&
		   compare(&anim->motions[low + out.count], clip, object, property) == 0)
		out.count++;
	return out;
}

bool hob_fbx_is_plain(const hob_fbx *f, hob_fbx_motions motions)
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

void hob_fbx_motion_vector(const hob_fbx *f, hob_fbx_motions motions, const double rest[3], bool scale,
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
	hob_fbx_quat_multiply(back, b, between);
	part_of_turn(between, weight, between);
	hob_fbx_quat_multiply(a, between, out);
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

void hob_fbx_motion_turn(const hob_fbx *f, hob_fbx_motions motions, const double rest[3], uint32_t order,
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
				hob_fbx_quat_multiply(q, other, q);
			}
		}
	}
	if (!turned)
		hob_fbx_quat_of_euler(euler, order, q);
	memcpy(out, q, sizeof q);
}
