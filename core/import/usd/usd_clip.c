#include "usd_skel.h"

#include "../text.h"

#include <math.h>

enum { HALVINGS = 7 };

/* ---- channels */

float hob_usd_seconds(const hob_usd *u, double time)
{
	double seconds = (time - u->start) / u->rate;
	return (float)(seconds > -1e6 ? seconds < 1e6 ? seconds : 1e6 : -1e6);
}

bool hob_usd_add_channel(hob_usd_build_t *b, uint32_t node, hob_path path, uint32_t components, size_t keys,
						 hob_track **out, hob_error *err)
{
	hob_clip *clip = &b->clip;
	hob_arena *arena = b->u->scratch;
	if (keys > HOB_LIMIT_KEYS)
		return hob_fail(err, LIMIT, "%zu keys, the limit is %llu", keys, HOB_LIMIT_KEYS);
	clip->channels = (hob_channel *)hob_usd_more(arena, clip->channels, clip->channel_count, &b->channel_room,
												 sizeof *clip->channels);
	clip->tracks = (hob_track *)hob_usd_more(arena, clip->tracks, clip->track_count, &b->track_room,
											 sizeof *clip->tracks);
	if (!clip->channels || !clip->tracks)
		return hob_fail_memory(err, arena, "animation");
	hob_track *track = &clip->tracks[clip->track_count];
	*track = (hob_track){.interpolation = HOB_LINEAR, .components = components, .key_count = (uint32_t)keys};
	track->times = HOB_NEW(b->u->result, float, keys);
	track->values = HOB_NEW(b->u->result, float, keys *components);
	if (!track->times || !track->values)
		return hob_fail_memory(err, b->u->result, "animation keys");
	clip->channels[clip->channel_count++] = (hob_channel){node, path, clip->track_count++};
	*out = track;
	return true;
}

/* Times in float may coincide: the later key stays. */
static void join_times(hob_track *track)
{
	uint32_t kept = 0, width = track->components;
	for (uint32_t i = 0; i < track->key_count; i++) {
		kept -= kept > 0 && track->times[i] <= track->times[kept - 1];
		track->times[kept] = track->times[i];
		memmove(track->values + (size_t)kept * width, track->values + (size_t)i * width,
				width * sizeof(float));
		kept++;
	}
	track->key_count = kept;
}

void hob_usd_drop_still(hob_usd_build_t *b, const float *rest)
{
	hob_track *track = &b->clip.tracks[b->clip.track_count - 1];
	bool still = true;
	join_times(track);
	for (uint32_t i = 0; still && i < track->key_count; i++)
		for (uint32_t k = 0; k < track->components; k++) {
			float value = track->values[(size_t)i * track->components + k];
			still = still && fabsf(value - (rest ? rest[k] : track->values[k])) <= 1e-6f * (1 + fabsf(value));
		}
	if (still || track->key_count == 0) {
		b->clip.track_count--;
		b->clip.channel_count--;
	}
}

/* ---- transforms that move */

typedef struct pose {
	float t[3], r[4], s[3];
} pose_t;

static pose_t pose_at(const hob_usd *u, const hob_usd_prim *prim, double time)
{
	hob_node node = {0};
	double local[16];
	bool resets, moves;
	pose_t pose;
	hob_usd_local(u, prim, time, local, &resets, &moves);
	hob_usd_place(&node, local);
	memcpy(pose.t, node.translation, sizeof pose.t);
	memcpy(pose.r, node.rotation, sizeof pose.r);
	memcpy(pose.s, node.scale, sizeof pose.s);
	return pose;
}

/* Whether the pose at a fraction between two keys is what a player makes of them. */
static bool is_between(const pose_t *a, const pose_t *b, const pose_t *at, float t)
{
	float dot = 0, near = 0, length = 0, mixed[4];
	for (int k = 0; k < 3; k++) {
		float moved = a->t[k] + (b->t[k] - a->t[k]) * t, scaled = a->s[k] + (b->s[k] - a->s[k]) * t;
		if (fabsf(moved - at->t[k]) > 1e-4f * (1 + fabsf(moved)) ||
			fabsf(scaled - at->s[k]) > 1e-4f * (1 + fabsf(scaled)))
			return false;
	}
	for (int k = 0; k < 4; k++)
		dot += a->r[k] * b->r[k];
	float angle = acosf(fminf(fabsf(dot), 1)), from = 1 - t, to = dot < 0 ? -t : t;
	if (angle > 1e-4f) {
		from = sinf((1 - t) * angle) / sinf(angle);
		to = (dot < 0 ? -1 : 1) * sinf(t * angle) / sinf(angle);
	}
	for (int k = 0; k < 4; k++) {
		mixed[k] = a->r[k] * from + b->r[k] * to;
		near += mixed[k] * at->r[k];
		length += mixed[k] * mixed[k];
	}
	return length > 0 && fabsf(near) / sqrtf(length) > 1 - 2e-6f;
}

typedef struct keys {
	hob_usd_build_t *b;
	const hob_usd_prim *prim;
	double *times;
	pose_t *poses;
	uint32_t count, time_room, pose_room;
	hob_error *err;
} keys_t;

static bool put_key(keys_t *k, double time)
{
	hob_arena *arena = k->b->u->scratch;
	k->times = (double *)hob_usd_more(arena, k->times, k->count, &k->time_room, sizeof *k->times);
	k->poses = (pose_t *)hob_usd_more(arena, k->poses, k->count, &k->pose_room, sizeof *k->poses);
	if (!k->times || !k->poses)
		return hob_fail_memory(k->err, arena, "animation keys");
	k->times[k->count] = time;
	k->poses[k->count++] = pose_at(k->b->u, k->prim, time);
	return true;
}

/* Turns by angles do not run as turns of quaternions do: keys come between until they do. */
static bool put_between(keys_t *k, double from, double until, int halvings)
{
	const hob_usd *u = k->b->u;
	pose_t a = pose_at(u, k->prim, from), b = pose_at(u, k->prim, until);
	double middle = (from + until) / 2, off = from + (until - from) * 0.382;
	pose_t at = pose_at(u, k->prim, middle), beside = pose_at(u, k->prim, off);
	if (halvings == 0 || (is_between(&a, &b, &at, 0.5f) && is_between(&a, &b, &beside, 0.382f)))
		return true;
	return put_between(k, from, middle, halvings - 1) && put_key(k, middle) &&
		   put_between(k, middle, until, halvings - 1);
}

/* The stage says what part of its time counts. */
static void cut_range(const hob_usd *u, double *times, size_t *count)
{
	size_t kept = 0;
	if (!u->has_range || !(u->end > u->start))
		return;
	bool begins = *count > 0 && times[0]<u->start, ends = *count> 0 && times[*count - 1] > u->end;
	for (size_t i = 0; i < *count; i++) {
		bool next_inside = i + 1 < *count && times[i + 1] > u->start, before = times[i] < u->start;
		bool last_inside = i > 0 && times[i - 1]<u->end, behind = times[i]> u->end;
		if ((before && !next_inside) || (behind && !last_inside))
			continue;
		times[kept++] = before && begins ? u->start : behind && ends ? u->end : times[i];
	}
	*count = kept;
}

static bool move_node(hob_usd_build_t *b, const hob_usd_prim *prim, uint32_t node, hob_error *err)
{
	hob_usd *u = b->u;
	double *times;
	size_t count;
	keys_t keys = {.b = b, .prim = prim, .err = err};
	if (b->model.nodes[node].has_matrix) {
		hob_usd_note(u, "motion", "prim '%.*s' moves with shear; it stays at its first place",
					 HOB_FMT(prim->path));
		return true;
	}
	if (!hob_usd_xform_times(u, prim, &times, &count, err))
		return false;
	cut_range(u, times, &count);
	for (size_t i = 0; i < count; i++)
		if ((i > 0 && !put_between(&keys, times[i - 1], times[i], HALVINGS)) || !put_key(&keys, times[i]))
			return false;
	const hob_node rest = b->model.nodes[node];
	const float *const at_rest[] = {rest.translation, rest.rotation, rest.scale};
	for (uint32_t path = 0; path < 3; path++) {
		hob_track *track;
		uint32_t width = path == HOB_PATH_ROTATION ? 4 : 3;
		if (!hob_usd_add_channel(b, node, (hob_path)path, width, keys.count, &track, err))
			return false;
		for (uint32_t i = 0; i < keys.count; i++) {
			const pose_t *pose = &keys.poses[i];
			track->times[i] = hob_usd_seconds(u, keys.times[i]);
			memcpy(track->values + (size_t)i * width,
				   path == 0   ? pose->t
				   : path == 1 ? pose->r
							   : pose->s,
				   width * sizeof(float));
		}
		hob_usd_drop_still(b, at_rest[path]);
	}
	return true;
}

/* What moves otherwise than by transforms and skeletons. */
static void note_moving(hob_usd *u, const hob_usd_prim *prim)
{
	static const char *const names[] = {"points", "visibility", "focalLength", "primvars:displayColor"};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
		hob_usd_attribute a;
		if (hob_usd_get(u, prim, hob_str_of(names[i]), &a) && a.samples && a.samples->count > 1)
			hob_usd_note(u, "samples", "'%s' of prim '%.*s' changes in time; its first value is kept",
						 names[i], HOB_FMT(prim->path));
	}
}

bool hob_usd_build_clips(hob_usd_build_t *b, hob_error *err)
{
	hob_usd *u = b->u;
	for (uint32_t i = 1; i < u->prim_count; i++)
		if (u->prims[i].node != HOB_NONE)
			note_moving(u, &u->prims[i]);
	for (uint32_t i = 0; i < b->moving_count; i++) {
		const hob_usd_prim *prim = &u->prims[b->moving[i].prim];
		if (!move_node(b, prim, b->moving[i].node, err))
			return hob_fail_in(err, "prim '%.*s'", HOB_FMT(prim->path));
	}
	if (!hob_usd_skeleton_clips(b, err))
		return false;
	if (b->clip.channel_count == 0)
		return true;
	hob_str name = hob_usd_text(hob_usd_field_get(&u->layers[0], 0, HOB_USD_T_defaultPrim));
	b->clip.name = hob_text_name(u->result, name.len > 0 ? name : HOB_STR("animation"));
	b->model.clips = HOB_NEW(u->result, hob_clip, 1);
	hob_channel *channels = HOB_NEW(u->result, hob_channel, b->clip.channel_count);
	hob_track *tracks = HOB_NEW(u->result, hob_track, b->clip.track_count);
	if (!b->clip.name.data || !b->model.clips || !channels || !tracks)
		return hob_fail_memory(err, u->result, "animation");
	memcpy(channels, b->clip.channels, b->clip.channel_count * sizeof *channels);
	memcpy(tracks, b->clip.tracks, b->clip.track_count * sizeof *tracks);
	b->clip.channels = channels;
	b->clip.tracks = tracks;
	b->model.clips[b->model.clip_count++] = b->clip;
	return true;
}
