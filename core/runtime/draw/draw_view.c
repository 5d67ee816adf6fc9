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

/* From a rotation whose columns are the camera's right, up and back, and its place. */
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

void draw_view_outside(const hob_rt_instance *instance, float yaw_degrees, float pitch_degrees, int width,
					   int height, draw_view *view)
{
	const hob_rt_asset *asset = hob_rt_instance_asset(instance);
	float min[3] = {1e30f, 1e30f, 1e30f}, max[3] = {-1e30f, -1e30f, -1e30f}, center[3] = {0, 0, 0},
		  radius = 0;
	for (uint32_t i = 0; i < asset->draw_count; i++) {
		float low[3], high[3];
		if (!hob_rt_draw_bounds(instance, i, low, high))
			continue;
		for (int k = 0; k < 3; k++) {
			min[k] = fminf(min[k], low[k]);
			max[k] = fmaxf(max[k], high[k]);
		}
	}
	for (int k = 0; k < 3 && min[0] <= max[0]; k++) {
		center[k] = (min[k] + max[k]) / 2;
		radius += (max[k] - min[k]) * (max[k] - min[k]) / 4;
	}
	radius = radius > 0 ? sqrtf(radius) : 1;
	float yaw = yaw_degrees * 0.01745329f, pitch = pitch_degrees * 0.01745329f, yfov = 0.7f;
	float aspect = (float)width / (float)height,
		  distance = 1.02f * radius / sinf(yfov / 2 * fminf(1, aspect));
	const float camera[16] = {cosf(yaw),
							  0,
							  -sinf(yaw),
							  0,
							  -sinf(yaw) * sinf(pitch),
							  cosf(pitch),
							  -cosf(yaw) * sinf(pitch),
							  0,
							  sinf(yaw) * cosf(pitch),
							  sinf(pitch),
							  cosf(yaw) * cosf(pitch),
							  0,
							  0,
							  0,
							  0,
							  1};
	float placed[16], to_eye[16];
	memcpy(placed, camera, sizeof placed);
	for (int k = 0; k < 3; k++)
		placed[12 + k] = view->eye[k] = center[k] + distance * camera[8 + k];
	invert_rigid(placed, to_eye);
	set_projection(view, to_eye, yfov, aspect,
				   distance - radius * 1.01f > radius * 0.01f ? distance - radius * 1.01f : radius * 0.01f,
				   distance + radius * 1.01f, height);
}

bool draw_view_camera(const hob_rt_instance *instance, uint32_t index, int width, int height, draw_view *view)
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
