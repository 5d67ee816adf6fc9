#include "usd_skel.h"
#include "../../model/properties.h"

#include <math.h>

/* The samples of animated points that become morph targets. */
typedef struct cache {
	hob_usd_attribute points;
	uint32_t *kept; /* indices of samples, rising */
	uint32_t count, base;
} cache_t;

static bool deforms_otherwise(const hob_usd *u, const hob_usd_prim *prim)
{
	return hob_usd_below_skel_root(u, (uint32_t)(prim - u->prims)) &&
		   (hob_usd_still(u, prim, HOB_STR("primvars:skel:jointIndices")) ||
			hob_usd_still(u, prim, HOB_STR("skel:blendShapes")));
}

bool hob_usd_has_cache(const hob_usd *u, const hob_usd_prim *prim)
{
	static const char *const topology[] = {"faceVertexCounts", "faceVertexIndices",
										   "surfaceFaceVertexIndices"};
	hob_usd_attribute a;
	if (!hob_text_is_one_of(prim->type, HOB_WORDS("Mesh", "TetMesh")))
		return false;
	for (size_t i = 0; i < HOB_COUNT_OF(topology); i++)
		if (hob_usd_get(u, prim, hob_str_of(topology[i]), &a) && a.samples && a.samples->count > 1)
			return false;
	if (!hob_usd_get(u, prim, HOB_STR("points"), &a) || !a.samples || a.samples->count < 2 || a.scale == 0 ||
		deforms_otherwise(u, prim))
		return false;
	const hob_usd_value *first = &a.samples->values[0];
	for (size_t i = 0; i < a.samples->count; i++) {
		const hob_usd_value *v = &a.samples->values[i];
		if (v->kind != first->kind || v->width != 3 || v->count != first->count || v->count == 0)
			return false;
	}
	return first->kind == HOB_USD_F32 || first->kind == HOB_USD_F64;
}

/* Keeps all samples, or as many as the limit allows, evenly spread and including that of the rest pose. */
static void open_cache(hob_usd_build_t *b, const hob_usd_prim *prim, cache_t *c)
{
	hob_usd *u = b->u;
	if (!hob_usd_get(u, prim, HOB_STR("points"), &c->points))
		hob_leave(CORRUPT, "points without samples");
	const hob_usd_samples *s = c->points.samples;
	const hob_usd_value *rest = hob_usd_still(u, prim, HOB_STR("points"));
	uint64_t most = 1 + HOB_LIMIT_USD_CACHE / (s->values[0].count * 3);
	most = most < 2 ? 2 : most > HOB_LIMIT_USD_SHAPES ? HOB_LIMIT_USD_SHAPES : most;
	c->count = (uint32_t)(s->count < most ? s->count : most);
	c->kept = HOB_NEW(u->scratch, uint32_t, c->count);
	for (uint32_t i = 0; i < c->count; i++)
		c->kept[i] = (uint32_t)((uint64_t)i * (s->count - 1) / (c->count - 1));
	uint32_t at = (uint32_t)(rest - s->values), near = 0;
	for (uint32_t i = 0; i < c->count; i++)
		near = c->kept[i] <= at ? i : near;
	c->kept[near] = at;
	c->base = near;
}

static void put_moves(const hob_usd_value *from, const hob_usd_value *to, const uint32_t *points,
					  const hob_mesh *mesh, float *out)
{
	for (uint32_t v = 0; v < mesh->vertex_count; v++)
		for (size_t k = 0; k < 3; k++) {
			size_t at = (size_t)points[v] * 3 + k;
			double moved = hob_usd_component(to, at) - hob_usd_component(from, at);
			out[(size_t)v * 3 + k] = isfinite((float)moved) ? (float)moved : 0;
		}
}

void hob_usd_put_cache(hob_usd_build_t *b, uint32_t id, const uint32_t *points, hob_mesh *mesh)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	cache_t c;
	if (mesh->target_count > 0 || !hob_usd_has_cache(u, prim))
		return;
	open_cache(b, prim, &c);
	const hob_usd_value *values = c.points.samples->values;
	mesh->targets = HOB_NEW(u->result, hob_morph_target, c.count);
	for (uint32_t i = 0; i < c.count; i++) {
		if (i == c.base)
			continue;
		hob_morph_target *to = &mesh->targets[mesh->target_count++];
		to->name = hob_arena_printf(u->result, "points %g", c.points.samples->times[c.kept[i]]);
		to->position = HOB_NEW(u->result, float, (size_t)mesh->vertex_count * 3);
		put_moves(&values[c.kept[c.base]], &values[c.kept[i]], points, mesh, to->position);
	}
}

/* Maximum distance of the omitted samples from the interpolation between the kept ones. */
static double left_out_by(const cache_t *c)
{
	const hob_usd_samples *s = c->points.samples;
	double worst = 0;
	for (uint32_t k = 0; k + 1 < c->count; k++) {
		const hob_usd_value *a = &s->values[c->kept[k]], *b = &s->values[c->kept[k + 1]];
		double begin = s->times[c->kept[k]], length = s->times[c->kept[k + 1]] - begin;
		for (uint32_t i = c->kept[k] + 1; i < c->kept[k + 1]; i++)
			for (size_t n = 0; n < a->count * 3; n++) {
				double part = (s->times[i] - begin) / length, from = hob_usd_component(a, n);
				double at = from + (hob_usd_component(b, n) - from) * part;
				worst = fmax(worst, fabs(at - hob_usd_component(&s->values[i], n)));
			}
	}
	return worst;
}

static double stage_time(const cache_t *c, uint32_t i)
{
	return c->points.offset + c->points.scale * c->points.samples->times[c->kept[i]];
}

/* Makes the weights: a target has full weight at its sample; between two samples, their targets
 * cross-fade. */
static void weigh(hob_usd_build_t *b, const cache_t *c, uint32_t node)
{
	hob_usd *u = b->u;
	bool back = c->points.scale < 0;
	uint32_t shapes = c->count - 1;
	hob_usd_times t = {0};
	for (uint32_t i = 0; i < c->count; i++)
		hob_usd_add_time(u, &t, stage_time(c, back ? c->count - 1 - i : i));
	hob_usd_cut_range(u, &t);
	const double *times = t.items;
	hob_track *track = hob_usd_add_channel(b, node, HOB_PATH_WEIGHTS, shapes, t.count);
	for (uint32_t i = 0; i < t.count; i++) {
		float *row = track->values + (size_t)i * shapes;
		track->times[i] = hob_usd_seconds(u, times[i]);
		for (uint32_t k = 0; k < c->count; k++) {
			/* Sample k; `low` and `high` are its neighbours in time. */
			uint32_t low = back ? k + 1 : k - 1, high = back ? k - 1 : k + 1;
			double at = stage_time(c, k), weight = times[i] == at;
			if (times[i] < at)
				weight = low < c->count ? 1 - (at - times[i]) / (at - stage_time(c, low)) : 1;
			else if (times[i] > at)
				weight = high < c->count ? 1 - (times[i] - at) / (stage_time(c, high) - at) : 1;
			if (k != c->base)
				row[k - (k > c->base)] = (float)fmax(weight, 0);
		}
	}
	hob_usd_drop_still(b, NULL);
}

static void usd_cache_clips(hob_usd_build_t *b)
{
	hob_usd *u = b->u;
	for (uint32_t i = 0; i < b->cached_count; i++) {
		const hob_usd_prim *prim = &u->prims[b->cached[i].prim];
		const hob_node *node = &b->model.nodes[b->cached[i].node];
		cache_t c;
		if (node->mesh_count == 0)
			continue;
		HOB_PLACE("prim '@'", 0, prim->path);
		open_cache(b, prim, &c);
		weigh(b, &c, b->cached[i].node);
		if (c.count < c.points.samples->count)
			hob_usd_note(
				u, "samples",
				"'points' of prim '%.*s' have %zu samples; %u are kept as shapes, and no point is off by "
				"more than %g",
				HOB_FMT(prim->path), c.points.samples->count, c.count, left_out_by(&c));
	}
}

enum { HALVINGS = 7 };

/* ---- channels */

float hob_usd_seconds(const hob_usd *u, double time)
{
	double seconds = (time - u->start) / u->rate;
	return (float)(seconds > -1e6 ? seconds < 1e6 ? seconds : 1e6 : -1e6);
}

hob_track *hob_usd_add_channel(hob_usd_build_t *b, uint32_t node, hob_path path, uint32_t components,
							   size_t keys)
{
	hob_clip *clip = &b->clip;
	hob_arena *arena = b->u->scratch;
	if (keys > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "%zu keys, the limit is %llu", keys, HOB_LIMIT_KEYS);
	HOB_USD_ROOM(arena, clip->channels, clip->channel_count);
	HOB_USD_ROOM(arena, clip->tracks, clip->track_count);
	hob_track *track = &clip->tracks[clip->track_count];
	*track = (hob_track){.interpolation = HOB_LINEAR, .components = components, .key_count = (uint32_t)keys};
	track->times = HOB_NEW(b->u->result, float, keys);
	track->values = HOB_NEW(b->u->result, float, keys *components);
	clip->channels[clip->channel_count++] = (hob_channel){node, path, clip->track_count++};
	return track;
}

/* Removes keys whose times coincide after rounding to float; the last of them is kept. */
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

/* ---- animated transforms */

typedef struct pose {
	float t[3], r[4], s[3];
	float inner[4]; /* rotation of the inner node, for shear */
} pose_t;

/* `near`: the pose at a nearby time, for continuous rotations with shear; NULL without shear. */
static pose_t pose_at(const hob_usd *u, const hob_usd_prim *prim, double time, const pose_t *near)
{
	hob_node node = {0}, inner = {.rotation = {0, 0, 0, 1}};
	double local[16];
	bool resets, moves;
	pose_t pose;
	hob_usd_local(u, prim, time, local, &resets, &moves);
	if (near) {
		memcpy(node.rotation, near->r, sizeof near->r);
		memcpy(inner.rotation, near->inner, sizeof near->inner);
		hob_usd_place_two(&node, &inner, local);
	} else {
		hob_usd_place(&node, local);
	}
	memcpy(pose.t, node.translation, sizeof pose.t);
	memcpy(pose.r, node.rotation, sizeof pose.r);
	memcpy(pose.s, node.scale, sizeof pose.s);
	memcpy(pose.inner, inner.rotation, sizeof pose.inner);
	return pose;
}

static void mix_turns(const float a[4], const float b[4], float t, float out[4])
{
	float dot = 0;
	for (int k = 0; k < 4; k++)
		dot += a[k] * b[k];
	float angle = acosf(fminf(fabsf(dot), 1)), from = 1 - t, to = dot < 0 ? -t : t;
	if (angle > 1e-4f) {
		from = sinf((1 - t) * angle) / sinf(angle);
		to = (dot < 0 ? -1 : 1) * sinf(t * angle) / sinf(angle);
	}
	for (int k = 0; k < 4; k++)
		out[k] = a[k] * from + b[k] * to;
}

static void matrix_of(const pose_t *pose, float out[16])
{
	hob_node outer = {0}, inner = {.scale = {1, 1, 1}};
	float turn[16];
	memcpy(outer.translation, pose->t, sizeof pose->t);
	memcpy(outer.rotation, pose->r, sizeof pose->r);
	memcpy(outer.scale, pose->s, sizeof pose->s);
	memcpy(inner.rotation, pose->inner, sizeof pose->inner);
	hob_node_local_matrix(&outer, out);
	hob_node_local_matrix(&inner, turn);
	hob_matrix_multiply(out, turn, out);
}

/* As is_between, for the combined transform of both nodes. */
static bool is_between_sheared(const pose_t *a, const pose_t *b, const pose_t *at, float t)
{
	pose_t mixed;
	float made[16], wanted[16], size = 0;
	mix_turns(a->r, b->r, t, mixed.r);
	mix_turns(a->inner, b->inner, t, mixed.inner);
	for (int k = 0; k < 3; k++) {
		mixed.t[k] = a->t[k] + (b->t[k] - a->t[k]) * t;
		mixed.s[k] = a->s[k] + (b->s[k] - a->s[k]) * t;
		size = fmaxf(size, fabsf(at->s[k]));
	}
	matrix_of(&mixed, made);
	matrix_of(at, wanted);
	for (int k = 0; k < 16; k++)
		if (fabsf(made[k] - wanted[k]) > 1e-4f * (k < 12 ? size : 1 + fabsf(wanted[k])))
			return false;
	return true;
}

/* Whether the pose at a fraction between two keys equals the player's interpolation. */
static bool is_between(const pose_t *a, const pose_t *b, const pose_t *at, float t)
{
	float near = 0, length = 0, mixed[4];
	for (int k = 0; k < 3; k++) {
		float moved = a->t[k] + (b->t[k] - a->t[k]) * t, scaled = a->s[k] + (b->s[k] - a->s[k]) * t;
		if (fabsf(moved - at->t[k]) > 1e-4f * (1 + fabsf(moved)) ||
			fabsf(scaled - at->s[k]) > 1e-4f * (1 + fabsf(scaled)))
			return false;
	}
	mix_turns(a->r, b->r, t, mixed);
	for (int k = 0; k < 4; k++) {
		near += mixed[k] * at->r[k];
		length += mixed[k] * mixed[k];
	}
	return length > 0 && fabsf(near) / sqrtf(length) > 1 - 2e-6f;
}

typedef struct keys {
	hob_usd_build_t *b;
	const hob_usd_prim *prim;
	bool sheared;
	double *times;
	pose_t *poses;
	uint32_t count;
} keys_t;

static pose_t key_pose(const keys_t *k, double time, const pose_t *near)
{
	return pose_at(k->b->u, k->prim, time, k->sheared ? near : NULL);
}

static const pose_t still = {.r = {0, 0, 0, 1}, .inner = {0, 0, 0, 1}};

static void put_key(keys_t *k, double time)
{
	hob_arena *arena = k->b->u->scratch;
	HOB_USD_ROOM(arena, k->poses, k->count);
	k->poses[k->count] = key_pose(k, time, k->count > 0 ? &k->poses[k->count - 1] : &still);
	HOB_USD_PUT(arena, k->times, k->count, time);
}

/* Adds keys until quaternions between them agree with the file, whose Euler angles interpolate
 * differently. */
static void put_between(keys_t *k, double from, double until, int halvings)
{
	bool (*agrees)(const pose_t *, const pose_t *, const pose_t *, float) =
		k->sheared ? is_between_sheared : is_between;
	pose_t a = key_pose(k, from, &k->poses[k->count - 1]), b = key_pose(k, until, &a);
	double middle = (from + until) / 2, off = from + (until - from) * 0.382;
	pose_t at = key_pose(k, middle, &a), beside = key_pose(k, off, &a);
	if (halvings == 0 || (agrees(&a, &b, &at, 0.5f) && agrees(&a, &b, &beside, 0.382f)))
		return;
	put_between(k, from, middle, halvings - 1);
	put_key(k, middle);
	put_between(k, middle, until, halvings - 1);
}

void hob_usd_cut_range(const hob_usd *u, hob_usd_times *times)
{
	double *t = times->items;
	uint32_t count = times->count;
	if (!u->has_range || !(u->end > u->start))
		return;
	bool begins = count > 0 && t[0]<u->start, ends = count> 0 && t[count - 1] > u->end;
	times->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		bool next_inside = i + 1 < count && t[i + 1] > u->start, before = t[i] < u->start;
		bool last_inside = i > 0 && t[i - 1]<u->end, behind = t[i]> u->end;
		if ((before && !next_inside) || (behind && !last_inside))
			continue;
		t[times->count++] = before && begins ? u->start : behind && ends ? u->end : t[i];
	}
}

static void put_path(keys_t *keys, uint32_t node, hob_path path, size_t offset, const float *rest)
{
	hob_usd_build_t *b = keys->b;
	uint32_t width = path == HOB_PATH_ROTATION ? 4 : 3;
	hob_track *track = hob_usd_add_channel(b, node, path, width, keys->count);
	for (uint32_t i = 0; i < keys->count; i++) {
		track->times[i] = hob_usd_seconds(b->u, keys->times[i]);
		memcpy(track->values + (size_t)i * width, (const char *)&keys->poses[i] + offset,
			   width * sizeof(float));
	}
	hob_usd_drop_still(b, rest);
}

static void move_node(hob_usd_build_t *b, const hob_usd_moving *moving)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[moving->prim];
	keys_t keys = {.b = b, .prim = prim, .sheared = moving->inner != HOB_NONE};
	hob_usd_times t = hob_usd_xform_times(u, prim);
	hob_usd_cut_range(u, &t);
	for (uint32_t i = 0; i < t.count; i++) {
		if (i > 0)
			put_between(&keys, t.items[i - 1], t.items[i], HALVINGS);
		put_key(&keys, t.items[i]);
	}
	const hob_node rest = b->model.nodes[moving->node];
	put_path(&keys, moving->node, HOB_PATH_TRANSLATION, offsetof(pose_t, t), rest.translation);
	put_path(&keys, moving->node, HOB_PATH_ROTATION, offsetof(pose_t, r), rest.rotation);
	put_path(&keys, moving->node, HOB_PATH_SCALE, offsetof(pose_t, s), rest.scale);
	if (keys.sheared)
		put_path(&keys, moving->inner, HOB_PATH_ROTATION, offsetof(pose_t, inner),
				 b->model.nodes[moving->inner].rotation);
}

static void hide_node(hob_usd_build_t *b, const hob_usd_follower *f)
{
	hob_usd *u = b->u;
	hob_clip *clip = &b->clip;
	const float rest = b->model.nodes[f->node].hidden ? 0 : 1;
	const uint32_t channels = clip->channel_count;
	const bool instance = !isnan(f->id);
	hob_usd_attribute a;
	if (!hob_usd_get(u, &u->prims[f->prim], instance ? HOB_STR("invisibleIds") : HOB_STR("visibility"), &a) ||
		!a.samples)
		return;
	hob_usd_times t = {0};
	hob_usd_add_times(u, &a, &t);
	hob_usd_sort_times(&t);
	hob_usd_cut_range(u, &t);
	/* Without a key at the end, a looping clip would not show the last state. */
	if (t.count > 0 && u->has_range && t.items[t.count - 1] < u->end)
		hob_usd_add_time(u, &t, u->end);
	const double *times = t.items;
	uint32_t count = t.count;
	hob_track *track = hob_usd_add_channel(b, f->node, HOB_PATH_SCALE, 1, count);
	track->interpolation = HOB_STEP;
	for (uint32_t i = 0; i < count; i++) {
		size_t at =
			hob_usd_time_before(a.samples->times, 1, a.samples->count, (times[i] - a.offset) / a.scale);
		const hob_usd_value *value = &a.samples->values[at];
		bool hidden =
			instance ? hob_usd_lists(value, f->id) : hob_str_equal(hob_usd_text(value), HOB_STR("invisible"));
		track->times[i] = hob_usd_seconds(u, times[i]);
		track->values[i] = hidden ? 0 : 1;
	}
	hob_usd_drop_still(b, &rest);
	if (clip->channel_count == channels)
		return;
	clip->channel_count--;
	HOB_USD_PUT(u->scratch, clip->properties, clip->property_count,
				(hob_property_channel){HOB_PROPERTY_NODE_VISIBLE, f->node, 0, clip->track_count - 1});
}

/* Notes animated attributes that are not imported, such as points that cannot become morph targets. */
static void note_moving(hob_usd *u, const hob_usd_prim *prim)
{
	static const char *const names[] = {"points", "focalLength", "primvars:displayColor"};
	for (size_t i = hob_usd_has_cache(u, prim); i < HOB_COUNT_OF(names); i++) {
		hob_usd_attribute a;
		if (hob_usd_get(u, prim, hob_str_of(names[i]), &a) && a.samples && a.samples->count > 1)
			hob_usd_note(u, "samples", "'%s' of prim '%.*s' changes in time; its first value is kept",
						 names[i], HOB_FMT(prim->path));
	}
}

void hob_usd_build_clips(hob_usd_build_t *b)
{
	hob_usd *u = b->u;
	for (uint32_t i = 1; i < u->prim_count; i++)
		if (u->prims[i].node != HOB_NONE)
			note_moving(u, &u->prims[i]);
	for (uint32_t i = 0; i < b->moving_count; i++) {
		HOB_PLACE("prim '@'", 0, u->prims[b->moving[i].prim].path);
		move_node(b, &b->moving[i]);
	}
	for (uint32_t i = 0; i < b->blinking_count; i++)
		hide_node(b, &b->blinking[i]);
	hob_usd_skeleton_clips(b);
	hob_usd_size_clips(b);
	usd_cache_clips(b);
	if (b->clip.channel_count + b->clip.property_count == 0)
		return;
	hob_str name = hob_usd_text(hob_usd_field_get(&u->layers[0], 0, HOB_USD_T_defaultPrim));
	b->clip.name = hob_text_name(u->result, name.len > 0 ? name : HOB_STR("animation"));
	b->model.clips = HOB_NEW(u->result, hob_clip, 1);
	HOB_USD_KEEP(u->result, b->clip.channels, b->clip.channel_count);
	HOB_USD_KEEP(u->result, b->clip.properties, b->clip.property_count);
	HOB_USD_KEEP(u->result, b->clip.tracks, b->clip.track_count);
	b->model.clips[b->model.clip_count++] = b->clip;
}
