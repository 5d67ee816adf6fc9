#include "rt_private.h"

#include "rt_math.h"

#include <assert.h>
#include <float.h>

/* ---- frustum */

void hob_rt_frustum_init(hob_rt_frustum *frustum, const float m[16])
{
	/* Gribb and Hartmann 2001: sums and differences of the last row with the others. */
	for (int i = 0; i < 6; i++) {
		float *plane = frustum->planes[i], sign = i % 2 ? -1.0f : 1.0f;
		for (int k = 0; k < 4; k++)
			plane[k] = m[k * 4 + 3] + sign * m[k * 4 + i / 2];
		float length = sqrtf(plane[0] * plane[0] + plane[1] * plane[1] + plane[2] * plane[2]);
		/* A far plane at infinity has no direction: everything is inside. */
		bool real = length > 1e-12f && length <= FLT_MAX;
		for (int k = 0; k < 4; k++)
			plane[k] = real ? plane[k] / length : (k == 3);
	}
}

hob_rt_side hob_rt_frustum_box(const hob_rt_frustum *frustum, const float min[3], const float max[3])
{
	hob_rt_side side = HOB_RT_INSIDE;
	for (int i = 0; i < 6; i++) {
		const float *plane = frustum->planes[i];
		float middle = plane[3], reach = 0;
		for (int k = 0; k < 3; k++) {
			middle += plane[k] * (min[k] + max[k]) * 0.5f;
			reach += fabsf(plane[k]) * (max[k] - min[k]) * 0.5f;
		}
		if (middle + reach < 0)
			return HOB_RT_OUTSIDE;
		if (!(middle - reach >= 0))
			side = HOB_RT_CROSSING;
	}
	return side;
}

hob_rt_side hob_rt_frustum_sphere(const hob_rt_frustum *frustum, const float sphere[4])
{
	hob_rt_side side = HOB_RT_INSIDE;
	for (int i = 0; i < 6; i++) {
		const float *plane = frustum->planes[i];
		float distance = plane[0] * sphere[0] + plane[1] * sphere[1] + plane[2] * sphere[2] + plane[3];
		if (distance < -sphere[3])
			return HOB_RT_OUTSIDE;
		if (!(distance >= sphere[3]))
			side = HOB_RT_CROSSING;
	}
	return side;
}

/* ---- bounds */

void hob_rt_transform_box(const float m[16], const float min[3], const float max[3], float out_min[3],
						  float out_max[3])
{
	float low[3], high[3];
	for (int row = 0; row < 3; row++) {
		low[row] = high[row] = m[12 + row];
		for (int column = 0; column < 3; column++) {
			float a = m[column * 4 + row] * min[column], b = m[column * 4 + row] * max[column];
			low[row] += a < b ? a : b;
			high[row] += a < b ? b : a;
		}
	}
	memcpy(out_min, low, sizeof low);
	memcpy(out_max, high, sizeof high);
}

typedef struct bounds {
	float min[3], max[3];
} bounds_t;

/* Largest displacement of any vertex of a draw by the current morph weights. */
static bounds_t morph_reach(const hob_rt_instance *in, const hob_rt_draw *draw)
{
	const rt_asset *a = in->asset;
	const hob_rt_mesh *mesh = &a->meshes[draw->mesh];
	bounds_t reach = {{0, 0, 0}, {0, 0, 0}};
	for (uint32_t t = 0; t < draw->weight_count; t++) {
		const hob_pk_morph *morph = RT_AT(hob_pk_morph, a->morphs, mesh->morph_first + t);
		float weight = in->weights[draw->weight_first + t];
		for (int i = 0; i < 3; i++) {
			float p = weight * morph->min[i], q = weight * morph->max[i];
			reach.min[i] += p < q ? p : q;
			reach.max[i] += p < q ? q : p;
		}
	}
	return reach;
}

static void add_moved(bounds_t *all, const float *matrix, const float *min, const float *max,
					  const bounds_t *reach)
{
	float low[3], high[3];
	for (int i = 0; i < 3; i++) {
		low[i] = min[i] + reach->min[i];
		high[i] = max[i] + reach->max[i];
	}
	hob_rt_transform_box(matrix, low, high, low, high);
	for (int i = 0; i < 3; i++) {
		all->min[i] = low[i] < all->min[i] ? low[i] : all->min[i];
		all->max[i] = high[i] > all->max[i] ? high[i] : all->max[i];
	}
}

static void add_joint(bounds_t *all, const hob_rt_instance *in, uint32_t skin, uint32_t joint,
					  const float *min, const float *max, const bounds_t *reach)
{
	float matrix[16];
	uint32_t node = in->asset->skins[skin].joints[joint];
	rt_multiply(in->globals + (size_t)node * 16, hob_rt_inverse_bind(&in->asset->pub, skin, joint), matrix);
	add_moved(all, matrix, min, max, reach);
}

bool hob_rt_draw_bounds(const hob_rt_instance *in, uint32_t index, float min[3], float max[3])
{
	const rt_asset *a = in->asset;
	assert(index < a->pub.draw_count);
	const hob_rt_draw *draw = &a->draws[index];
	const hob_rt_mesh *mesh = &a->meshes[draw->mesh];
	bounds_t all = {{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}};
	bounds_t reach = morph_reach(in, draw);
	if (mesh->vertex_count == 0)
		return false;
	if (draw->skin == HOB_RT_NONE) {
		add_moved(&all, in->globals + (size_t)draw->node * 16, mesh->aabb_min, mesh->aabb_max, &reach);
	} else if (a->mesh_skins[draw->mesh] != HOB_RT_NONE) {
		for (uint32_t b = a->joint_box_first[draw->mesh]; b < a->joint_box_first[draw->mesh + 1]; b++)
			add_joint(&all, in, draw->skin, a->joint_boxes[b].joint, a->joint_boxes[b].min,
					  a->joint_boxes[b].max, &reach);
	} else {
		/* The file does not name the mesh's skin, so any joint might move all of it. */
		for (uint32_t j = 0; j < a->skins[draw->skin].joint_count; j++)
			add_joint(&all, in, draw->skin, j, mesh->aabb_min, mesh->aabb_max, &reach);
	}
	memcpy(min, all.min, sizeof all.min);
	memcpy(max, all.max, sizeof all.max);
	return all.min[0] <= all.max[0];
}

uint32_t hob_rt_cull(const hob_rt_instance *in, const hob_rt_frustum *frustum, uint32_t *draws)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < in->asset->pub.draw_count; i++) {
		float min[3], max[3];
		if (hob_rt_is_visible(in, in->asset->draws[i].node) && hob_rt_draw_bounds(in, i, min, max) &&
			hob_rt_frustum_box(frustum, min, max) != HOB_RT_OUTSIDE)
			draws[count++] = i;
	}
	return count;
}

/* ---- level of detail */

uint32_t hob_rt_choose_lod(const hob_rt_mesh *mesh, const float global[16], const float eye[3],
						   float pixels_per_radian, float pixels)
{
	float center[3], largest = 0, square = 0;
	for (int column = 0; column < 3; column++) {
		const float *c = global + column * 4;
		float length = sqrtf(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
		largest = length > largest ? length : largest;
	}
	for (int i = 0; i < 3; i++) {
		center[i] = global[i] * mesh->sphere[0] + global[4 + i] * mesh->sphere[1] +
					global[8 + i] * mesh->sphere[2] + global[12 + i];
		square += (center[i] - eye[i]) * (center[i] - eye[i]);
	}
	float distance = sqrtf(square) - mesh->sphere[3] * largest;
	uint32_t lod = 0;
	while (distance > 0 && lod + 1 < mesh->lod_count &&
		   mesh->lods[lod + 1].error * largest * pixels_per_radian <= pixels * distance)
		lod++;
	return lod;
}
