#include "space.h"

#include "../model/model_scale.h"
#include "shape.h"

#include <math.h>

/* ---- rotations */

static void multiply(const float a[4], const float b[4], float out[4])
{
	float q[4] = {a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
				  a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
				  a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
				  a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
	memcpy(out, q, sizeof q);
}

static void matrix_of(const float q[4], float out[16])
{
	hob_node node = {.rotation = {q[0], q[1], q[2], q[3]}, .scale = {1, 1, 1}};
	hob_node_local_matrix(&node, out);
	/* All rotations here are quarter turns: rounds nearly integral elements. */
	for (int i = 0; i < 16; i++)
		if (fabsf(out[i] - roundf(out[i])) < 1e-6f)
			out[i] = roundf(out[i]);
}

static void turn_vector(const float m[16], float v[3])
{
	float out[3];
	for (int i = 0; i < 3; i++)
		out[i] = m[i] * v[0] + m[4 + i] * v[1] + m[8 + i] * v[2];
	memcpy(v, out, sizeof out);
}

void hob_up_axis_turn(hob_up_axis up, float turn[4])
{
	static const float quarter = 0.70710678f;
	float q[4] = {up == HOB_UP_Z ? -quarter : 0, 0, up == HOB_UP_X ? quarter : 0, 1};
	if (up == HOB_UP_X || up == HOB_UP_Z)
		q[3] = quarter;
	memcpy(turn, q, sizeof q);
}

/* The rotation from the importer's up axis to the override's. */
static void turn_between(const float done[4], hob_up_axis up, float out[4])
{
	float back[4] = {-done[0], -done[1], -done[2], done[3]}, wanted[4];
	hob_up_axis_turn(up, wanted);
	if (done[0] * done[0] + done[1] * done[1] + done[2] * done[2] + done[3] * done[3] < 0.5f)
		memcpy(back, (float[4]){0, 0, 0, 1}, sizeof back);
	multiply(wanted, back, out);
}

/* ---- rotating a model: its roots and their tracks */

typedef struct turner {
	hob_model *model;
	hob_arena *arena;
	float q[4], m[16];
} turner_t;

static void turn_root(const turner_t *t, hob_node *node)
{
	turn_vector(t->m, node->translation);
	if (node->has_matrix) {
		float t_[3], scale[3];
		hob_matrix_multiply(t->m, node->matrix, node->matrix);
		(void)hob_matrix_decompose(node->matrix, t_, node->rotation, scale);
		memcpy(node->scale, scale, sizeof scale);
		return;
	}
	multiply(t->q, node->rotation, node->rotation);
}

static bool turns(const turner_t *t, const hob_channel *channel)
{
	return t->model->nodes[channel->node].parent == HOB_NONE &&
		   (channel->path == HOB_PATH_TRANSLATION || channel->path == HOB_PATH_ROTATION);
}

static void turn_track(const turner_t *t, const hob_track *from, hob_track *to)
{
	size_t width = from->components,
		   values = (size_t)from->key_count * (from->interpolation == HOB_CUBICSPLINE ? 3 : 1);
	*to = *from;
	to->values = HOB_NEW(t->arena, float, values *width);
	memcpy(to->values, from->values, values * width * sizeof(float));
	for (size_t i = 0; i < values; i++)
		if (width == 3)
			turn_vector(t->m, to->values + 3 * i);
		else
			multiply(t->q, to->values + 4 * i, to->values + 4 * i);
}

/* Tracks may be shared with nodes that do not rotate, so each rotated channel gets its own copy. */
static void turn_clip(const turner_t *t, hob_clip *clip)
{
	uint32_t extra = 0;
	for (uint32_t i = 0; i < clip->channel_count; i++)
		extra += turns(t, &clip->channels[i]);
	if (extra == 0)
		return;
	hob_track *tracks = HOB_NEW(t->arena, hob_track, (size_t)clip->track_count + extra);
	hob_channel *channels = HOB_NEW(t->arena, hob_channel, clip->channel_count);
	memcpy(tracks, clip->tracks, clip->track_count * sizeof *tracks);
	memcpy(channels, clip->channels, clip->channel_count * sizeof *channels);
	uint32_t count = clip->track_count;
	for (uint32_t i = 0; i < clip->channel_count; i++) {
		if (!turns(t, &channels[i]))
			continue;
		turn_track(t, &tracks[channels[i].track], &tracks[count]);
		channels[i].track = count++;
	}
	clip->tracks = tracks;
	clip->track_count = count;
	clip->channels = channels;
}

static void turn_model(hob_model *model, const float q[4], hob_arena *arena)
{
	turner_t t = {.model = model, .arena = arena};
	memcpy(t.q, q, sizeof t.q);
	matrix_of(q, t.m);
	for (uint32_t i = 0; i < model->node_count; i++)
		if (model->nodes[i].parent == HOB_NONE)
			turn_root(&t, &model->nodes[i]);
	for (uint32_t i = 0; i < model->clip_count; i++)
		turn_clip(&t, &model->clips[i]);
}

/* ---- colours */

static float display_of(float linear)
{
	if (linear <= 0.0031308f)
		return linear * 12.92f;
	return (float)(1.055 * pow((double)linear, 1 / 2.4) - 0.055);
}

/* Reinterprets linear as display values or the reverse. Values above 1 are strengths and stay. */
static void reread(float *rgb, bool was_display)
{
	for (int i = 0; i < 3; i++)
		if (rgb[i] > 0 && rgb[i] < 1)
			rgb[i] = was_display ? display_of(rgb[i]) : hob_shape_linear(rgb[i]);
}

static void reread_materials(hob_model *model, bool was_display)
{
	for (uint32_t i = 0; i < model->material_count; i++) {
		hob_material *m = &model->materials[i];
		float *const colors[] = {m->base_color, m->emissive, m->specular_color, m->sheen_color,
								 m->attenuation_color};
		for (size_t c = 0; c < HOB_COUNT_OF(colors); c++)
			reread(colors[c], was_display);
	}
	for (uint32_t i = 0; i < model->light_count; i++)
		reread(model->lights[i].color, was_display);
}

static void reread_vertices(hob_model *model, bool was_display, hob_arena *arena)
{
	for (uint32_t i = 0; i < model->mesh_count; i++) {
		hob_mesh *mesh = &model->meshes[i];
		for (int set = 0; set < HOB_COLOR_SETS; set++) {
			size_t values = 4 * (size_t)mesh->vertex_count;
			if (!mesh->color[set])
				continue;
			float *color = HOB_NEW(arena, float, values);
			memcpy(color, mesh->color[set], values * sizeof *color);
			for (size_t v = 0; v < values; v += 4)
				reread(color + v, was_display);
			mesh->color[set] = color;
		}
	}
}

static bool differs(hob_color_space taken, hob_color_space wanted)
{
	return taken != HOB_COLORS_STATED && wanted != HOB_COLORS_STATED && taken != wanted;
}

bool hob_model_override_space(hob_model *model, const hob_space_override *override, hob_arena *arena,
							  hob_error *err)
{
	hob_source_space *space = &model->space;
	if (!override || space->settled)
		return true;
	float turn[4] = {0, 0, 0, 1}, unit = model->unit > 0 ? model->unit : 1;
	if (override->up_axis != HOB_UP_FILE)
		turn_between(space->turn, override->up_axis, turn);
	if (fabsf(turn[3]) < 0.999999f)
		turn_model(model, turn, arena);
	if (override->unit > 0) {
		if (!hob_model_scale(model, override->unit / unit, arena, err))
			return hob_fail_in(err, "the setting 'unit'");
		model->unit = override->unit;
	}
	if (differs(space->material_colors, override->colors))
		reread_materials(model, space->material_colors == HOB_COLORS_SRGB);
	if (differs(space->vertex_colors, override->colors))
		reread_vertices(model, space->vertex_colors == HOB_COLORS_SRGB, arena);
	space->settled = true;
	return true;
}
