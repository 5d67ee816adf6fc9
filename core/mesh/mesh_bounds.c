#include "mesh_bounds.h"
#include "vec3.h"

#include <float.h>

void hob_bounds_ranges(const float *values, uint32_t width, uint32_t count, float *min, float *max)
{
	for (uint32_t k = 0; k < width; k++)
		min[k] = max[k] = count > 0 ? values[k] : 0;
	for (size_t i = 1; i < count; i++)
		for (size_t k = 0; k < width; k++) {
			float value = values[width * i + k];
			min[k] = value < min[k] ? value : min[k];
			max[k] = value > max[k] ? value : max[k];
		}
}

typedef struct ball {
	hob_vec3 center;
	double radius;
} ball_t;

/* Grows the ball just enough for each point that is outside, moving it towards the point. */
static void grow(ball_t *ball, const float *points, uint32_t count)
{
	for (size_t i = 0; i < count; i++) {
		hob_vec3 offset = hob_vec3_sub(hob_vec3_load(points + 3 * i), ball->center);
		if (hob_vec3_dot(offset, offset) <= ball->radius * ball->radius)
			continue;
		double distance = hob_vec3_length(offset);
		double radius = (ball->radius + distance) / 2;
		ball->center = hob_vec3_add(ball->center, hob_vec3_scale(offset, (radius - ball->radius) / distance));
		ball->radius = radius;
	}
}

static ball_t from_extremes(const float *points, uint32_t count)
{
	static const hob_vec3 axes[7] = {{1, 0, 0},	 {0, 1, 0},	 {0, 0, 1}, {1, 1, 1},
									 {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}};
	size_t low[7] = {0}, high[7] = {0};
	double least[7] = {0}, most[7] = {0};
	for (size_t i = 0; i < count; i++) {
		hob_vec3 p = hob_vec3_load(points + 3 * i);
		for (int a = 0; a < 7; a++) {
			double t = hob_vec3_dot(p, axes[a]);
			if (i == 0 || t < least[a])
				least[a] = t, low[a] = i;
			if (i == 0 || t > most[a])
				most[a] = t, high[a] = i;
		}
	}
	ball_t best = {hob_vec3_load(points), 0};
	for (int a = 0; a < 7; a++) {
		hob_vec3 p = hob_vec3_load(points + 3 * low[a]), q = hob_vec3_load(points + 3 * high[a]);
		double radius = hob_vec3_length(hob_vec3_sub(q, p)) / 2;
		if (radius > best.radius)
			best = (ball_t){hob_vec3_scale(hob_vec3_add(p, q), 0.5), radius};
	}
	grow(&best, points, count);
	return best;
}

/* Radius about the float center, rounded up so that it holds for computations with the stored floats. */
static void store_ball(hob_vec3 center, const float *points, uint32_t count, float sphere[4])
{
	hob_vec3_store(sphere, center);
	hob_vec3 stored = hob_vec3_load(sphere);
	double square = 0;
	for (size_t i = 0; i < count; i++) {
		hob_vec3 offset = hob_vec3_sub(hob_vec3_load(points + 3 * i), stored);
		double distance = hob_vec3_dot(offset, offset);
		square = distance > square ? distance : square;
	}
	double radius = sqrt(square) * 1.000001;
	sphere[3] = radius < (double)FLT_MAX ? (float)radius : FLT_MAX;
}

void hob_bounds_sphere(const float *points, uint32_t count, float sphere[4])
{
	memset(sphere, 0, 4 * sizeof *sphere);
	if (count == 0)
		return;
	float min[3], max[3], boxed[4];
	hob_bounds_box(points, count, min, max);
	hob_vec3 middle = hob_vec3_scale(hob_vec3_add(hob_vec3_load(min), hob_vec3_load(max)), 0.5);
	store_ball(middle, points, count, boxed);
	store_ball(from_extremes(points, count).center, points, count, sphere);
	if (boxed[3] <= sphere[3])
		memcpy(sphere, boxed, sizeof boxed);
}

/* The value at index `place` if the values were sorted (Hoare's selection); reorders them. */
static float select_value(float *values, uint32_t count, uint32_t place)
{
	int64_t low = 0, high = (int64_t)count - 1;
	while (low < high) {
		float pivot = values[low + (high - low) / 2];
		int64_t i = low, j = high;
		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i <= j) {
				float kept = values[i];
				values[i++] = values[j];
				values[j--] = kept;
			}
		}
		if ((int64_t)place <= j)
			high = j;
		else if ((int64_t)place >= i)
			low = i;
		else
			break;
	}
	return values[place];
}

double hob_twice_area(const float *position, const float *uv, const uint32_t corner[3], double *mapped)
{
	hob_vec3 p = hob_vec3_load(position + 3 * (size_t)corner[0]);
	hob_vec3 e = hob_vec3_sub(hob_vec3_load(position + 3 * (size_t)corner[1]), p);
	hob_vec3 f = hob_vec3_sub(hob_vec3_load(position + 3 * (size_t)corner[2]), p);
	const float *a = uv + 2 * (size_t)corner[0], *b = uv + 2 * (size_t)corner[1];
	const float *c = uv + 2 * (size_t)corner[2];
	*mapped = fabs(((double)b[0] - (double)a[0]) * ((double)c[1] - (double)a[1]) -
				   ((double)b[1] - (double)a[1]) * ((double)c[0] - (double)a[0]));
	return hob_vec3_length(hob_vec3_cross(e, f));
}

float hob_uv_density(const float *position, const float *uv, const uint32_t *indices, uint32_t index_count,
					 float *scratch)
{
	uint32_t triangles = index_count / 3, count = 0;
	uint32_t step = (triangles + HOB_UV_DENSITY_SAMPLES - 1) / HOB_UV_DENSITY_SAMPLES;
	for (uint32_t t = 0; t < triangles; t += step) {
		const uint32_t *corner = indices + 3 * (size_t)t;
		double mapped, area = hob_twice_area(position, uv, corner, &mapped);
		double density = area > 0 ? sqrt(mapped / area) : HUGE_VAL;
		if (density < 3.0e38)
			scratch[count++] = (float)density;
	}
	if (count == 0)
		return 0;
	return select_value(scratch, count, count / 2);
}

void hob_bounds_sides(const float low[3], const float high[3], double sides[3])
{
	double longest = 0;
	for (int k = 0; k < 3; k++) {
		sides[k] = (double)high[k] - (double)low[k];
		longest = sides[k] > longest ? sides[k] : longest;
	}
	for (int k = 0; k < 3; k++)
		sides[k] = sides[k] * 16 > longest ? sides[k] : longest / 16;
}
