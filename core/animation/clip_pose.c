#include "clip_pose.h"
#include "curve.h"

hob_clip_pose hob_clip_pose_of(const hob_skin_boxes *boxes, const hob_clip *clip, hob_arena *scratch)
{
	uint32_t targets = 1, components = 4;
	for (uint32_t i = 0; i < boxes->mesh_count; i++)
		targets =
			boxes->meshes[i].mesh->target_count > targets ? boxes->meshes[i].mesh->target_count : targets;
	for (uint32_t i = 0; clip && i < clip->track_count; i++)
		components = clip->tracks[i].components > components ? clip->tracks[i].components : components;
	hob_clip_pose pose = {.boxes = boxes,
						  .clip = clip,
						  .nodes = HOB_NEW(scratch, hob_node, boxes->node_count),
						  .global = HOB_NEW(scratch, float, (size_t)boxes->node_count * 16),
						  .weights = HOB_NEW(scratch, float, targets),
						  .values = HOB_NEW(scratch, float, components)};
	for (uint32_t i = 0; i < boxes->node_count; i++)
		pose.nodes[i] = boxes->model->nodes[boxes->nodes[i]];
	return pose;
}

void hob_clip_pose_at(hob_clip_pose *pose, float time)
{
	const hob_skin_boxes *boxes = pose->boxes;
	for (uint32_t c = 0; pose->clip && c < pose->clip->channel_count; c++) {
		const hob_channel *channel = &pose->clip->channels[c];
		uint32_t place = boxes->place[channel->node];
		if (place == HOB_NONE || channel->path == HOB_PATH_WEIGHTS)
			continue;
		hob_node *node = &pose->nodes[place];
		float *parts[] = {node->translation, node->rotation, node->scale};
		hob_track_sample(&pose->clip->tracks[channel->track], channel->path == HOB_PATH_ROTATION, time,
						 parts[channel->path]);
		node->has_matrix = false;
	}
	for (uint32_t i = 0; i < boxes->node_count; i++) {
		float local[16], *global = pose->global + (size_t)i * 16;
		hob_node_local_matrix(&pose->nodes[i], local);
		uint32_t parent = pose->nodes[i].parent;
		if (parent == HOB_NONE)
			memcpy(global, local, sizeof local);
		else
			hob_matrix_multiply(pose->global + (size_t)boxes->place[parent] * 16, local, global);
	}
}

void hob_clip_pose_weights(hob_clip_pose *pose, uint32_t at, const hob_mesh *mesh, float time)
{
	const hob_model *model = pose->boxes->model;
	const hob_node *node = &model->nodes[at];
	uint32_t count = mesh->target_count;
	for (uint32_t i = 0; i < count; i++)
		pose->weights[i] =
			i < node->weight_count ? model->weights[node->weight_first + i] : mesh->targets[i].weight;
	for (uint32_t c = 0; pose->clip && c < pose->clip->channel_count; c++) {
		const hob_channel *channel = &pose->clip->channels[c];
		const hob_track *track = &pose->clip->tracks[channel->track];
		if (channel->node != at || channel->path != HOB_PATH_WEIGHTS)
			continue;
		hob_track_sample(track, false, time, pose->values);
		for (uint32_t i = 0; i < count && i < track->components; i++)
			pose->weights[i] = pose->values[i];
	}
}
