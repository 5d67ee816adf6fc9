#include "curve.h"

#include <math.h>

size_t hob_track_stride(const hob_track *track)
{
	return (size_t)track->components * (track->interpolation == HOB_CUBICSPLINE ? 3 : 1);
}

const float *hob_track_value(const hob_track *track, uint32_t key)
{
	size_t skip = track->interpolation == HOB_CUBICSPLINE ? track->components : 0;
	return track->values + key * hob_track_stride(track) + skip;
}

static double dot4(const float a[4], const float b[4])
{
	return (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2] + (double)a[3] * b[3];
}

/* sin x for 0 <= x <= pi/2 by its series: 10 terms leave less than 1e-16. */
static double sine(double x)
{
	double term = x, sum = x;
	for (int n = 1; n < 10; n++) {
		term *= -x * x / (2 * n * (2 * n + 1));
		sum += term;
	}
	return sum;
}

/* asin y for 0 <= y <= sin(pi/4). Halving the angle twice brings y below 0.2, where 12 terms are exact. */
static double arcsine(double y)
{
	for (int i = 0; i < 2; i++)
		y = y / sqrt(2 * (1 + sqrt(1 - y * y)));
	double power = y, sum = y;
	for (int n = 1; n < 12; n++) {
		power *= y * y * (2 * n - 1) / (2 * n);
		sum += power / (2 * n + 1);
	}
	return 4 * sum;
}

/* Half of the angle between the quaternions as vectors, 0..pi/4, from half the chord: exact for tiny angles,
 * unlike the arc cosine of the dot product. */
static double half_arc(const float a[4], const float b[4], double sign)
{
	double square = 0;
	for (int i = 0; i < 4; i++) {
		double d = (double)a[i] - sign * b[i];
		square += d * d;
	}
	double chord = sqrt(square) / 2;
	return arcsine(chord < 0.70710678118654752 ? chord : 0.70710678118654752);
}

double hob_quat_angle(const float a[4], const float b[4])
{
	return 4 * half_arc(a, b, dot4(a, b) < 0 ? -1 : 1);
}

void hob_quat_normalise(float q[4])
{
	double length = sqrt(dot4(q, q));
	if (length > 0) {
		for (int i = 0; i < 4; i++)
			q[i] = (float)(q[i] / length);
	} else {
		q[0] = q[1] = q[2] = 0, q[3] = 1;
	}
}

void hob_quat_slerp(const float a[4], const float b[4], double t, float out[4])
{
	double sign = dot4(a, b) < 0 ? -1 : 1;
	double arc = 2 * half_arc(a, b, sign), from = 1 - t, to = t;
	if (arc > 1e-6) {
		double whole = sine(arc);
		from = sine((1 - t) * arc) / whole;
		to = sine(t * arc) / whole;
	}
	for (int i = 0; i < 4; i++)
		out[i] = (float)(from * a[i] + to * sign * b[i]);
	hob_quat_normalise(out);
}

/* Last key whose time is not after `time`; `time` is within the keys. */
static uint32_t find_key(const hob_track *track, float time)
{
	uint32_t low = 0, high = track->key_count - 1;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;
		if (track->times[middle] <= time)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static void hermite(const hob_track *track, uint32_t key, double t, double seconds, float *out)
{
	uint32_t n = track->components;
	const float *from = hob_track_value(track, key), *to = hob_track_value(track, key + 1);
	double t2 = t * t, t3 = t2 * t;
	for (uint32_t i = 0; i < n; i++)
		out[i] = (float)((2 * t3 - 3 * t2 + 1) * from[i] + seconds * (t3 - 2 * t2 + t) * from[n + i] +
						 (3 * t2 - 2 * t3) * to[i] + seconds * (t3 - t2) * *(to - n + i));
}

void hob_track_sample(const hob_track *track, bool rotation, float time, float *out)
{
	uint32_t last = track->key_count - 1, key = 0;
	if (time >= track->times[last])
		key = last;
	else if (time > track->times[0])
		key = find_key(track, time);
	const float *value = hob_track_value(track, key);
	bool on_key = key == last || time <= track->times[key] || track->interpolation == HOB_STEP;
	double begin = track->times[key], seconds = on_key ? 1 : track->times[key + 1] - begin;
	double t = on_key ? 0 : (time - begin) / seconds;
	if (on_key)
		memcpy(out, value, track->components * sizeof *out);
	else if (track->interpolation == HOB_CUBICSPLINE)
		hermite(track, key, t, seconds, out);
	else if (rotation)
		hob_quat_slerp(value, hob_track_value(track, key + 1), t, out);
	else
		for (uint32_t i = 0; i < track->components; i++)
			out[i] = (float)(value[i] + t * ((double)hob_track_value(track, key + 1)[i] - value[i]));
	if (rotation && track->interpolation == HOB_CUBICSPLINE)
		hob_quat_normalise(out);
}
