#include "fbx_track.h"

static void scale_at(const hob_fbx_tracker *k, uint32_t id, double time, int side, double out[3])
{
	const hob_fbx *f = k->f;
	uint32_t at = id, from = id;
	double factor[3];
	out[0] = out[1] = out[2] = 1;
	for (int i = 0; i < SCALERS && from != HOB_NONE; i++, from = hob_fbx_next_scaler(f, &at)) {
		const hob_fbx_node *node = &f->nodes[from];
		hob_fbx_motions motions = k->s;
		if (from != k->node)
			motions = hob_fbx_motions_of(f, k->clip_id, node->object, HOB_STR("Lcl Scaling"));
		hob_fbx_motion_vector(f, motions, node->scaling, true, time, side, factor);
		for (int c = 0; c < 3; c++)
			out[c] *= factor[c];
	}
}

static void move_rig(const hob_fbx_tracker *k, double time, int side, hob_fbx_rig *rig)
{
	const hob_fbx *f = k->f;
	uint32_t object = f->nodes[k->node].object;
	double *parts[4] = {rig->rotation_offset, rig->rotation_pivot, rig->scaling_offset, rig->scaling_pivot};
	for (int i = 0; i < 4; i++)
		hob_fbx_motion_vector(f, k->rig[i], parts[i], false, time, side, parts[i]);
	for (int i = 4; i < HOB_FBX_RIG_PARTS && rig->active; i++) {
		double turn[3] = {0, 0, 0}, *q = i == 4 ? rig->pre : rig->post_inverse;
		hob_fbx_prop_vector(f, object, hob_fbx_rig_parts[i], turn);
		hob_fbx_motion_vector(f, k->rig[i], turn, false, time, side, turn);
		hob_fbx_quat_of_euler(turn, 0, q);
		for (int c = 0; c < 3 && i == 5; c++)
			q[c] = -q[c];
	}
	rig->pivoted = true;
}

static void pose_at(hob_fbx_tracker *k, double time, int side, double *out)
{
	hob_fbx *f = k->f;
	const hob_fbx_node *node = &f->nodes[k->node];
	hob_fbx_trs place;
	double t[3], s[3], none[3] = {0, 0, 0}, q[4], above[3] = {1, 1, 1};
	if (k->path == HOB_PATH_SCALE) {
		scale_at(k, k->node, time, side, out);
		return;
	}
	bool turns = k->path == HOB_PATH_ROTATION;
	hob_fbx_rig rig = node->rig;
	if (node->rig_moves)
		move_rig(k, time, side, &rig);
	if (turns || rig.pivoted) {
		hob_fbx_motion_turn(f, k->r, node->rotation, rig.order, time, side, q);
		hob_fbx_quat_multiply(rig.pre, q, rig.pre);
		rig.order = 0;
	}
	/* Evaluates only the inputs of the path: a translation depends on rotation and scale only with pivots. */
	memcpy(t, node->translation, sizeof t);
	memcpy(s, node->scaling, sizeof s);
	if (!turns)
		hob_fbx_motion_vector(f, k->t, node->translation, false, time, side, t);
	if (!turns && rig.pivoted)
		hob_fbx_motion_vector(f, k->s, node->scaling, true, time, side, s);
	hob_fbx_place(&rig, t, none, s, &place);
	if (k->beside && !turns)
		scale_at(k, node->parent, time, side, above);
	for (int i = 0; i < 3; i++)
		place.t[i] *= above[i];
	if (f->mirrored) {
		place.t[0] = -place.t[0];
		place.q[1] = -place.q[1];
		place.q[2] = -place.q[2];
	}
	if (k->top && f->turned) {
		hob_fbx_quat_rotate(f->turn, place.t, place.t);
		hob_fbx_quat_multiply(f->turn, place.q, place.q);
	}
	for (uint32_t i = 0; i < k->width; i++)
		out[i] = turns ? place.q[i] : place.t[i] * f->unit;
}

static void weights_at(hob_fbx_tracker *k, double time, int side, double *out)
{
	const hob_fbx_geometry *g = k->geometry;
	float *shape = (float *)(void *)(k->ends + k->width);
	for (uint32_t c = 0; c < g->channel_count; c++) {
		const hob_fbx_channel *channel = &g->channels[c];
		double rest[3] = {channel->percent, 0, 0}, value[3];
		hob_fbx_motion_vector(k->f, k->weights[c], rest, false, time, side, value);
		hob_fbx_channel_weights(g, channel, value[0], shape);
		for (uint32_t i = 0; i < channel->shape_count; i++)
			out[channel->shape_first + i] = (double)shape[i];
	}
}

void hob_fbx_sample(hob_fbx_tracker *k, double time, int side, double *out)
{
	if (k->path == HOB_PATH_WEIGHTS)
		weights_at(k, time, side, out);
	else
		pose_at(k, time, side, out);
}
