#include "draw_view.h"

#include <math.h>
#include <string.h>

static void multiply(const float *a, const float *b, float *out)
{
	for (int c = 0; c < 4; c++)
		for (int r = 0; r < 4; r++)
			out[c * 4 + r] = a[r] * b[c * 4] + a[4 + r] * b[c * 4 + 1] + a[8 + r] * b[c * 4 + 2] +
							 a[12 + r] * b[c * 4 + 3];
}

static void set_projection(draw_view *view, const float *to_eye, float yfov, float aspect, float near,
						   float far, int height)
{
	float f = 1 / tanf(yfov / 2), projection[16] = {0};
	projection[0] = f / aspect;
	projection[5] = f;
	projection[10] = (far + near) / (near - far);
	projection[11] = -1;
	projection[14] = 2 * far * near / (near - far);
	multiply(projection, to_eye, view->view_projection);
	view->pixels_per_radian = (float)height / (2 * tanf(yfov / 2));
}

/* Makes the view matrix from the camera's, whose columns are right, up, back, position. */
static void invert_rigid(const float *m, float *out)
{
	for (int i = 0; i < 3; i++) {
		float length = sqrtf(m[i * 4] * m[i * 4] + m[i * 4 + 1] * m[i * 4 + 1] + m[i * 4 + 2] * m[i * 4 + 2]);
		out[12 + i] = out[i * 4 + 3] = 0;
		for (int k = 0; k < 3; k++)
			out[k * 4 + i] = m[i * 4 + k] / length;
	}
	out[15] = 1;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			out[12 + i] -= out[k * 4 + i] * m[12 + k];
}

/* Makes an upright camera that faces away from `back`: columns right, up, back, position. */
static void place_camera(const float eye[3], const float back[3], float *m)
{
	float along = sqrtf(back[0] * back[0] + back[1] * back[1] + back[2] * back[2]);
	float level = sqrtf(back[0] * back[0] + back[2] * back[2]);
	const float right[3] = {level > 0 ? back[2] / level : 1, 0, level > 0 ? -back[0] / level : 0};
	for (int k = 0; k < 3; k++) {
		m[k] = right[k];
		m[8 + k] = back[k] / along;
		m[12 + k] = eye[k];
	}
	m[4] = m[9] * m[2] - m[10] * m[1];
	m[5] = m[10] * m[0] - m[8] * m[2];
	m[6] = m[8] * m[1] - m[9] * m[0];
	m[3] = m[7] = m[11] = 0;
	m[15] = 1;
}

static float bounding_sphere(const hob_rt_instance *const *instances, int count, float center[3])
{
	float min[3] = {1e30f, 1e30f, 1e30f}, max[3] = {-1e30f, -1e30f, -1e30f}, radius = 0;
	memset(center, 0, 3 * sizeof *center);
	for (int n = 0; n < count; n++) {
		const hob_rt_asset *asset = hob_rt_instance_asset(instances[n]);
		for (uint32_t i = 0; i < asset->draw_count; i++) {
			float low[3], high[3];
			if (!hob_rt_is_visible(instances[n], asset->draws[i].node) ||
				!hob_rt_draw_bounds(instances[n], i, low, high))
				continue;
			for (int k = 0; k < 3; k++) {
				min[k] = fminf(min[k], low[k]);
				max[k] = fmaxf(max[k], high[k]);
			}
		}
	}
	for (int k = 0; k < 3 && min[0] <= max[0]; k++) {
		center[k] = (min[k] + max[k]) / 2;
		radius += (max[k] - min[k]) * (max[k] - min[k]) / 4;
	}
	return radius > 0 ? sqrtf(radius) : 1;
}

static const float field_of_view = 0.7f;

static void look(const float eye[3], const float back[3], const float center[3], float radius, int width,
				 int height, draw_view *view)
{
	float placed[16], to_eye[16], distance = 0;
	for (int k = 0; k < 3; k++) {
		view->eye[k] = eye[k];
		distance += (eye[k] - center[k]) * (eye[k] - center[k]);
	}
	distance = sqrtf(distance);
	place_camera(eye, back, placed);
	invert_rigid(placed, to_eye);
	set_projection(view, to_eye, field_of_view, (float)width / (float)height,
				   distance - radius * 1.01f > radius * 0.01f ? distance - radius * 1.01f : radius * 0.01f,
				   distance + radius * 1.01f, height);
}

void hob_draw_view_from(const hob_rt_instance *instance, const float eye[3], const float target[3], int width,
						int height, draw_view *view)
{
	const float back[3] = {eye[0] - target[0], eye[1] - target[1], eye[2] - target[2]};
	float center[3], radius = bounding_sphere(&instance, 1, center);
	look(eye, back, center, radius, width, height, view);
}

void hob_draw_view_outside(const hob_rt_instance *instance, float yaw_degrees, float pitch_degrees, int width,
						   int height, draw_view *view)
{
	hob_draw_view_around(&instance, 1, yaw_degrees, pitch_degrees, width, height, view);
}

void hob_draw_view_around(const hob_rt_instance *const *instances, int count, float yaw_degrees,
						  float pitch_degrees, int width, int height, draw_view *view)
{
	float yaw = yaw_degrees * 0.01745329f, pitch = pitch_degrees * 0.01745329f, center[3], eye[3];
	float radius = bounding_sphere(instances, count, center), aspect = (float)width / (float)height;
	float distance = 1.02f * radius / sinf(field_of_view / 2 * fminf(1, aspect));
	const float back[3] = {sinf(yaw) * cosf(pitch), sinf(pitch), cosf(yaw) * cosf(pitch)};
	for (int k = 0; k < 3; k++)
		eye[k] = center[k] + distance * back[k];
	look(eye, back, center, radius, width, height, view);
}

bool hob_draw_view_camera(const hob_rt_instance *instance, uint32_t index, int width, int height,
						  draw_view *view)
{
	const hob_rt_asset *asset = hob_rt_instance_asset(instance);
	for (uint32_t node = 0; node < asset->node_count; node++) {
		if (hob_rt_node_camera(asset, node) != index)
			continue;
		const hob_pk_camera *camera = hob_rt_camera(asset, index);
		const float *global = hob_rt_global(instance, node);
		float to_eye[16], far = camera->zfar < 1e9f ? camera->zfar : 1e5f * camera->znear;
		invert_rigid(global, to_eye);
		memcpy(view->eye, global + 12, sizeof view->eye);
		set_projection(view, to_eye, camera->type == HOB_PK_CAMERA_PERSPECTIVE ? camera->yfov_or_ymag : 0.7f,
					   (float)width / (float)height, camera->znear > 0 ? camera->znear : 0.01f, far, height);
		return true;
	}
	return false;
}
