#include "static_nodes.h"
#include "../model/properties.h"

bool hob_node_is_rigid(const hob_node *node)
{
	return node->skin == HOB_NONE && node->weight_count == 0;
}

/* Nodes that are hidden, or that clips hide, count as moving. */
static void mark_movers(const hob_model *model, bool *moves)
{
	for (uint32_t n = 0; n < model->node_count; n++)
		moves[n] = model->nodes[n].hidden;
	for (uint32_t i = 0; i < model->clip_count; i++) {
		const hob_clip *clip = &model->clips[i];
		for (uint32_t c = 0; c < clip->channel_count; c++)
			moves[clip->channels[c].node] = true;
		for (uint32_t c = 0; c < clip->property_count; c++)
			if (clip->properties[c].property == HOB_PROPERTY_NODE_VISIBLE)
				moves[clip->properties[c].index] = true;
	}
	for (uint32_t i = 0; i < model->skin_count; i++) {
		const hob_skin *skin = &model->skins[i];
		for (uint32_t j = 0; j < skin->joint_count; j++)
			moves[skin->joints[j]] = true;
		if (skin->root != HOB_NONE)
			moves[skin->root] = true;
	}
}

/* A root's number is the sum of one hash per scene that lists it, so the order of scenes does not matter. */
static void mark_scenes(const hob_model *model, uint64_t *scenes)
{
	for (uint64_t s = 0; s < model->scene_count; s++)
		for (uint32_t r = 0; r < model->scenes[s].root_count; r++) {
			uint64_t term = (s + 1) * 0x9E3779B97F4A7C15ull;
			term ^= term >> 29;
			scenes[model->scene_roots[model->scenes[s].root_first + r]] += term * 0xBF58476D1CE4E5B9ull;
		}
}

hob_static_nodes hob_static_nodes_of(const hob_model *model, hob_arena *scratch)
{
	uint32_t count = model->node_count;
	bool *moves = HOB_NEW(scratch, bool, count);
	hob_static_nodes s = {.anchor = HOB_NEW(scratch, uint32_t, count),
						  .place = HOB_NEW(scratch, hob_affine, count),
						  .scenes = HOB_NEW(scratch, uint64_t, count),
						  .has_children = HOB_NEW(scratch, bool, count)};
	mark_movers(model, moves);
	mark_scenes(model, s.scenes);
	for (uint32_t n = 0; n < count; n++) {
		const hob_node *node = &model->nodes[n];
		float matrix[16];
		hob_affine local;
		hob_node_local_matrix(node, matrix);
		bool affine = hob_affine_from(matrix, &local);
		if (node->parent != HOB_NONE) {
			s.scenes[n] = s.scenes[node->parent];
			s.has_children[node->parent] = true;
		}
		if (moves[n] || !affine) {
			s.anchor[n] = n;
			s.place[n] = hob_affine_identity();
		} else if (node->parent == HOB_NONE) {
			s.anchor[n] = HOB_NONE;
			s.place[n] = local;
		} else {
			s.anchor[n] = s.anchor[node->parent];
			s.place[n] = hob_affine_multiply(&s.place[node->parent], &local);
		}
	}
	return s;
}
