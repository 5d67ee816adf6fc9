#include "model_scale.h"
#include "properties.h"

#include <math.h>

typedef struct scaler {
	float factor;
	hob_arena *arena;
	bool overflow;
} scaler_t;

static void scale(scaler_t *s, float *values, size_t count)
{
	bool finite = true;
	for (size_t i = 0; i < count; i++) {
		values[i] *= s->factor;
		finite = finite && isfinite(values[i]);
	}
	s->overflow = s->overflow || !finite;
}

static void replace(scaler_t *s, float **array, size_t count)
{
	if (!*array)
		return;
	float *copy = HOB_NEW(s->arena, float, count);
	memcpy(copy, *array, count * sizeof *copy);
	*array = copy;
}

static void scale_array(scaler_t *s, float **array, size_t count)
{
	replace(s, array, count);
	if (*array)
		scale(s, *array, count);
}

/* Infinity means "none" here and is not scaled. */
static void scale_distance(scaler_t *s, float *value)
{
	if (isfinite(*value))
		scale(s, value, 1);
}

static void scale_meshes(scaler_t *s, hob_model *model)
{
	for (uint32_t i = 0; i < model->mesh_count; i++) {
		hob_mesh *mesh = &model->meshes[i];
		scale_array(s, &mesh->position, 3 * (size_t)mesh->vertex_count);
		hob_morph_target *targets = HOB_NEW(s->arena, hob_morph_target, mesh->target_count);
		for (uint32_t t = 0; t < mesh->target_count; t++) {
			targets[t] = mesh->targets[t];
			scale_array(s, &targets[t].position, 3 * (size_t)mesh->vertex_count);
		}
		mesh->targets = targets;
	}
}

static void scale_scene(scaler_t *s, hob_model *model)
{
	for (uint32_t i = 0; i < model->node_count; i++) {
		scale(s, model->nodes[i].translation, 3);
		if (model->nodes[i].has_matrix)
			scale(s, model->nodes[i].matrix + 12, 3);
	}
	for (uint32_t i = 0; i < model->skin_count; i++) {
		hob_skin *skin = &model->skins[i];
		replace(s, &skin->inverse_bind, 16 * (size_t)skin->joint_count);
		for (size_t j = 0; j < skin->joint_count; j++)
			scale(s, skin->inverse_bind + 16 * j + 12, 3);
	}
	for (uint32_t i = 0; i < model->camera_count; i++) {
		hob_camera *camera = &model->cameras[i];
		scale_distance(s, &camera->znear);
		scale_distance(s, &camera->zfar);
		if (camera->type == HOB_CAMERA_ORTHOGRAPHIC) {
			scale(s, &camera->yfov_or_ymag, 1);
			scale(s, &camera->aspect_or_xmag, 1);
		}
	}
	for (uint32_t i = 0; i < model->light_count; i++)
		scale_distance(s, &model->lights[i].range);
	for (uint32_t i = 0; i < model->material_count; i++) {
		scale_distance(s, &model->materials[i].thickness);
		scale_distance(s, &model->materials[i].attenuation_distance);
	}
}

static size_t value_count(const hob_track *track)
{
	return (size_t)track->key_count * track->components * (track->interpolation == HOB_CUBICSPLINE ? 3 : 1);
}

/* Channels of lengths get scaled tracks; the old tracks stay for other channels that share them. */
static uint32_t scale_track(scaler_t *s, hob_clip *clip, uint32_t *scaled, uint32_t track)
{
	if (scaled[track] == HOB_NONE) {
		hob_track *to = &clip->tracks[clip->track_count];
		*to = clip->tracks[track];
		scale_array(s, &to->values, value_count(to));
		scaled[track] = clip->track_count++;
	}
	return scaled[track];
}

static void scale_clip(scaler_t *s, const hob_model *model, hob_clip *clip)
{
	uint32_t *scaled = HOB_NEW(s->arena, uint32_t, clip->track_count);
	hob_track *tracks = HOB_NEW(s->arena, hob_track, 2 * (size_t)clip->track_count);
	hob_channel *channels = HOB_NEW(s->arena, hob_channel, clip->channel_count);
	hob_property_channel *properties = HOB_NEW(s->arena, hob_property_channel, clip->property_count);
	for (uint32_t t = 0; t < clip->track_count; t++) {
		tracks[t] = clip->tracks[t];
		scaled[t] = HOB_NONE;
	}
	clip->tracks = tracks;
	for (uint32_t c = 0; c < clip->channel_count; c++) {
		channels[c] = clip->channels[c];
		if (channels[c].path == HOB_PATH_TRANSLATION)
			channels[c].track = scale_track(s, clip, scaled, channels[c].track);
	}
	for (uint32_t c = 0; c < clip->property_count; c++) {
		properties[c] = clip->properties[c];
		if (hob_property_is_length(model, &properties[c]))
			properties[c].track = scale_track(s, clip, scaled, properties[c].track);
	}
	clip->channels = channels;
	clip->properties = properties;
}

bool hob_model_scale(hob_model *model, float factor, hob_arena *arena, hob_error *err)
{
	if (!(factor > 0) || !isfinite(factor))
		return hob_fail(err, CONFIG, "scale must be a number above 0");
	if (factor == 1)
		return true;
	scaler_t s = {.factor = factor, .arena = arena};
	scale_meshes(&s, model);
	scale_scene(&s, model);
	for (uint32_t i = 0; i < model->clip_count; i++)
		scale_clip(&s, model, &model->clips[i]);
	if (s.overflow)
		return hob_fail(err, CONFIG,
						"scale makes a length of the model too large for a float; choose a smaller scale");
	return true;
}
