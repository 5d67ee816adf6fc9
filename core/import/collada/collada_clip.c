#include "collada_private.h"
#include "../../base/number.h"
#include "../motion.h"
#include "../text.h"
#include "../matrix_double.h"

#include <math.h>
#include <stdlib.h>

/* A function of time, which becomes tracks of the model: exactly where glTF can represent it, else resampled.
 *
 * STEP curves alone give a STEP track; polynomials of time (LINEAR, BEZIER with control points at the thirds)
 * give LINEAR or CUBICSPLINE; anything else gives LINEAR keys, as many as needed to stay within 0.01 degree,
 * or 1e-5 of the range of the values. A jump becomes two keys at adjacent times. */
typedef struct hob_collada_function {
	void *user;
	/* Value at time t: out [components]; slope [components] or NULL; `left`: the limit from before t. */
	void (*at)(void *user, double t, bool left, double *out, double *slope);
	uint32_t components;
	bool rotation; /* a unit quaternion */
	hob_collada_curve_kinds kinds;
	/* Degrees of rotation of the components between two times, including whole revolutions; NULL: none. */
	double (*turned)(void *user, double from, double to);
} hob_collada_function;

/* A channel bound to its target. */
typedef struct hob_collada_binding {
	hob_xml_ptr node;	   /* owner of the transform; for weights the controller */
	hob_xml_ptr transform; /* NULL for weights */
	uint32_t first; /* component of the transform, or morph target, that component 0 of the curve drives */
	uint32_t order; /* index of the channel in the file */
	hob_collada_curve curve;
} hob_collada_binding;

enum { DEPTH_MAX = 14, KEYS_MAX = 4 << 20 };

typedef struct track_builder {
	const hob_collada_function *f;
	double start;
	hob_buf times, values; /* float */
	double *room;		   /* scratch for 8 values */
	double tolerance;	   /* radians, or the unit of the values */
	uint32_t key_count;
} track_builder;

static void put_floats(track_builder *b, const double *values)
{
	for (uint32_t i = 0; i < b->f->components; i++) {
		float v = hob_number_to_float(values[i]);
		hob_buf_put(&b->values, &v, sizeof v);
	}
}

static void put_key(track_builder *b, double t, const double *value)
{
	float time = hob_number_to_float(t - b->start);
	if (b->key_count > 0) {
		float last;
		memcpy(&last, b->times.data + b->times.size - sizeof last, sizeof last);
		if (!(time > last)) {
			b->times.size -= sizeof last;
			b->values.size -= b->f->components * sizeof(float);
			b->key_count--;
			time = last;
		}
	}
	hob_buf_put(&b->times, &time, sizeof time);
	put_floats(b, value);
	b->key_count++;
}

/* ---- distance of two values */

static double distance(const track_builder *b, const double *x, const double *y)
{
	uint32_t n = b->f->components;
	double most = 0;
	if (b->f->rotation) {
		double dot = fabs(x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3]), square = 0;
		double side = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] < 0 ? -1 : 1;
		for (int i = 0; i < 4; i++)
			square += (x[i] - side * y[i]) * (x[i] - side * y[i]);
		return dot > 1 && square < 1e-30 ? 0 : 4 * asin(fmin(1, sqrt(square) / 2));
	}
	for (uint32_t i = 0; i < n; i++)
		most = fmax(most, fabs(x[i] - y[i]));
	return most;
}

static void mix(const track_builder *b, const double *x, const double *y, double s, double *out)
{
	if (!b->f->rotation) {
		for (uint32_t i = 0; i < b->f->components; i++)
			out[i] = x[i] + (y[i] - x[i]) * s;
		return;
	}
	double dot = x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3], side = dot < 0 ? -1 : 1;
	double angle = acos(fmin(1, fabs(dot))), p = 1 - s, q = s;
	if (angle > 1e-6) {
		p = sin(angle * (1 - s)) / sin(angle);
		q = sin(angle * s) / sin(angle);
	}
	for (int i = 0; i < 4; i++)
		out[i] = x[i] * p + side * y[i] * q;
}

/* ---- resampling */

static bool is_straight(track_builder *b, double from, const double *x, double to, const double *y)
{
	double *value = b->room + (size_t)b->f->components * 6, *guess = b->room + (size_t)b->f->components * 7;
	if (b->f->turned && fabs(b->f->turned(b->f->user, from, to)) > 90)
		return false;
	for (int i = 1; i < 4; i++) {
		b->f->at(b->f->user, from + (to - from) * i / 4, false, value, NULL);
		mix(b, x, y, i / 4.0, guess);
		if (!(distance(b, value, guess) <= b->tolerance))
			return false;
	}
	return true;
}

typedef struct piece {
	double from, to;
	uint32_t depth;
} piece;

/* Adds keys strictly between `from` and `to` by bisection, in order, without recursion. */
static void refine(track_builder *b, double from, double to)
{
	piece stack[DEPTH_MAX + 2] = {{from, to, 0}};
	uint32_t top = 1, n = b->f->components;
	double *x = b->room, *y = b->room + n;
	while (top > 0) {
		piece p = stack[--top];
		b->f->at(b->f->user, p.from, false, x, NULL);
		b->f->at(b->f->user, p.to, true, y, NULL);
		if (p.depth < DEPTH_MAX && b->key_count < KEYS_MAX && !is_straight(b, p.from, x, p.to, y)) {
			double middle = (p.from + p.to) / 2;
			stack[top++] = (piece){middle, p.to, p.depth + 1};
			stack[top++] = (piece){p.from, middle, p.depth + 1};
		} else if (p.to < to) {
			put_key(b, p.to, y);
		}
	}
}

static void resample(track_builder *b, const double *times, uint32_t count)
{
	uint32_t n = b->f->components;
	double *left = b->room + (size_t)n * 2, *right = b->room + (size_t)n * 3;
	for (uint32_t i = 0; i < count; i++) {
		b->f->at(b->f->user, times[i], false, right, NULL);
		if (i > 0) {
			b->f->at(b->f->user, times[i], true, left, NULL);
			float here = hob_number_to_float(times[i] - b->start);
			float before = nextafterf(here, -INFINITY);
			if (distance(b, left, right) > b->tolerance)
				put_key(b, (double)before + b->start, left);
		}
		put_key(b, times[i], right);
		if (i + 1 < count)
			refine(b, times[i], times[i + 1]);
	}
}

static void find_tolerance(track_builder *b, const double *times, uint32_t count)
{
	uint32_t n = b->f->components;
	double *low = b->room, *high = b->room + n, *value = b->room + (size_t)n * 2, range = 0, size = 0;
	b->tolerance = 0.01 * 3.14159265358979 / 180;
	if (b->f->rotation)
		return;
	for (uint32_t i = 0; i < count; i++) {
		b->f->at(b->f->user, times[i], false, value, NULL);
		for (uint32_t k = 0; k < n; k++) {
			low[k] = i == 0 ? value[k] : fmin(low[k], value[k]);
			high[k] = i == 0 ? value[k] : fmax(high[k], value[k]);
		}
	}
	for (uint32_t k = 0; k < n; k++) {
		range = fmax(range, high[k] - low[k]);
		size = fmax(size, fmax(fabs(low[k]), fabs(high[k])));
	}
	b->tolerance = fmax(fmax(range * 1e-5, size * 2e-7), 1e-30);
}

/* ---- exact tracks */

static void put_plain(track_builder *b, const double *times, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		b->f->at(b->f->user, times[i], false, b->room, NULL);
		put_key(b, times[i], b->room);
	}
}

static void put_cubic(track_builder *b, const double *times, uint32_t count)
{
	size_t n = b->f->components;
	double *value = b->room, *in = b->room + n, *out = b->room + n * 2;
	float last = -INFINITY;
	for (uint32_t i = 0; i < count; i++) {
		float time = hob_number_to_float(times[i] - b->start);
		if (!(time > last))
			continue;
		last = time;
		b->f->at(b->f->user, times[i], true, value, in);
		b->f->at(b->f->user, times[i], false, value, out);
		hob_buf_put(&b->times, &time, sizeof time);
		put_floats(b, in);
		put_floats(b, value);
		put_floats(b, out);
		b->key_count++;
	}
}

/* ---- all */

static void take(hob_collada *c, track_builder *b, hob_interpolation interpolation, hob_track *out)
{
	hob_arena *arena = c->request->result;
	uint32_t values;
	*out = (hob_track){interpolation, b->f->components, b->key_count, NULL, NULL};
	out->times = hob_lists_array(arena, &b->times, sizeof(float), &out->key_count);
	out->values = hob_lists_array(arena, &b->values, sizeof(float), &values);
}

/* times  [count] rising, count > 0: keys, including the ends of the window
 * start  is subtracted from all times of the track */
static void collada_make_track(hob_collada *c, const hob_collada_function *f, const double *times,
							   uint32_t count, double start, hob_track *out)
{
	track_builder b = {.f = f, .start = start};
	hob_interpolation interpolation = HOB_LINEAR;
	b.room = HOB_NEW(c->request->scratch, double, (size_t)f->components * 8);
	hob_collada_curve_kinds kinds = f->kinds;
	find_tolerance(&b, times, count);
	if (kinds.step && !kinds.linear && !kinds.cubic && !kinds.bent) {
		interpolation = HOB_STEP;
		put_plain(&b, times, count);
	} else if (!f->rotation && !kinds.step && !kinds.bent && kinds.cubic) {
		interpolation = HOB_CUBICSPLINE;
		put_cubic(&b, times, count);
	} else if (!f->rotation && !kinds.step && !kinds.bent) {
		put_plain(&b, times, count);
	} else {
		resample(&b, times, count);
	}
	take(c, &b, interpolation, out);
	HOB_LISTS_FREE(&b.times, &b.values);
}

/* ---- targets: "node/sid.X", "node/sid(0)(3)", "controller(2)" */

typedef struct target {
	hob_xml_ptr element;
	hob_str member; /* after the dot */
	uint32_t index[2], index_count;
} target;

static bool split_target(hob_collada *c, hob_xml_ptr channel, target *out)
{
	*out = (target){0};
	hob_str text = hob_text_trim(hob_xml_attr(channel, HOB_STR("target")));
	size_t end = text.len, point = SIZE_MAX, slash = 0;
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '/')
			slash = i;
	for (size_t i = slash; i < text.len; i++) {
		if (text.data[i] == '(') {
			int64_t number;
			if (out->index_count < 2 && hob_number_int(text.data + i + 1, text.data + text.len, &number) &&
				number >= 0 && number < HOB_NONE)
				out->index[out->index_count++] = (uint32_t)number;
			end = i < end ? i : end;
		} else if (text.data[i] == '.' && slash > 0 && point == SIZE_MAX) {
			point = i;
		}
	}
	if (point != SIZE_MAX && point < end) {
		out->member = hob_str_sub(text, point + 1, end);
		end = point;
	}
	hob_str path = hob_str_sub(text, 0, end);
	hob_xml_ptr at = NULL;
	for (size_t from = 0; from < path.len;) {
		size_t next = hob_str_find(path, HOB_STR("/"), from);
		next = next < path.len ? next : path.len;
		hob_str part = hob_str_sub(path, from, next);
		hob_xml_ptr found = from == 0 ? hob_collada_by_id(c, channel, "node", part) : NULL;
		if (from > 0)
			for (hob_xml_ptr e = at->first; e && !found; e = e->next)
				found = hob_str_equal(hob_xml_attr(e, HOB_STR("sid")), part) ? e : NULL;
		if (from > 0 && !found)
			found = hob_collada_by_sid(at, part);
		/* Some exporters write ids in place of sids. */
		if (from > 0 && !found)
			found = hob_collada_by_id(c, channel, "node", part);
		if (!found)
			return false;
		at = found;
		from = next + 1;
	}
	out->element = at;
	return at != NULL;
}

/* Component of the transform for the member or index; HOB_NONE for all. */
static uint32_t member_number(const target *t)
{
	static const struct {
		const char *name;
		uint32_t number;
	} members[] = {{"X", 0}, {"Y", 1}, {"Z", 2}, {"ANGLE", 3}, {"W", 3}, {"R", 0}, {"G", 1}, {"B", 2}};
	if (t->index_count == 2)
		return t->index[0] < 4 && t->index[1] < 4 ? t->index[0] * 4 + t->index[1] : HOB_NONE;
	if (t->index_count == 1)
		return t->index[0];
	for (size_t i = 0; i < HOB_COUNT_OF(members); i++)
		if (hob_str_equal(t->member, hob_str_of(members[i].name)))
			return members[i].number;
	return HOB_NONE;
}

/* The <morph> that owns a source of weights, or that belongs to a controller. */
static hob_xml_ptr morph_of(hob_xml_ptr e)
{
	if (hob_xml_is(e, HOB_STR("controller")))
		return hob_xml_child(e, HOB_STR("morph"));
	for (int up = 0; e && up < 3; up++, e = e->parent)
		if (hob_xml_is(e, HOB_STR("morph")))
			return e;
	return NULL;
}

/* Adds the channel to `bindings`; a channel whose target the model does not have is noted and left out. */
static void collada_bind(hob_collada *c, hob_xml_ptr channel, hob_buf *bindings)
{
	hob_str text = hob_xml_attr(channel, HOB_STR("target"));
	hob_xml_ptr sampler = hob_collada_target(c, channel, "sampler", "source");
	target t;
	hob_collada_binding made = {.order = channel->number};
	if (!sampler || !hob_xml_is(sampler, HOB_STR("sampler")))
		return;
	if (!split_target(c, channel, &t)) {
		hob_warn(c->request->notes, "animation.missing-node",
				 "line %u: a channel moves '%.*s', which does not exist; it is left out", channel->line,
				 HOB_FMT(text));
		return;
	}
	uint32_t number = member_number(&t);
	hob_xml_ptr morph = morph_of(t.element);
	bool moves = hob_collada_is_transform(t.element) && t.element->parent &&
				 hob_xml_is(t.element->parent, HOB_STR("node"));
	if (!moves && !morph) {
		hob_warn(c->request->notes, "collada.channel",
				 "line %u: a channel animates '%.*s', which is neither a transform nor a morph weight; "
				 "it is left out",
				 channel->line, HOB_FMT(text));
		return;
	}
	hob_collada_pass(c);
	hob_collada_read_curve(c, sampler, &made.curve);
	hob_collada_passed(c);
	if (made.curve.key_count == 0)
		return;
	double numbers[16];
	uint32_t have = moves ? hob_collada_transform_numbers(t.element, numbers) : 0;
	made.node = moves ? t.element->parent : morph->parent;
	made.transform = moves ? t.element : NULL;
	made.first = number == HOB_NONE ? 0 : number;
	/* A curve of one number that targets a whole rotation is its angle. */
	if (moves && number == HOB_NONE && have == 4 && made.curve.width == 1)
		made.first = 3;
	if (number != HOB_NONE && made.curve.width > 1 && moves)
		made.curve.width = made.curve.width < have - (number < have ? number : have) ? made.curve.width : 1;
	if (moves && made.first + made.curve.width > have)
		return;
	hob_buf_put(bindings, &made, sizeof made);
}

/* A node's pose at a time. */
typedef struct pose {
	const hob_collada_binding *const *of;
	uint64_t time; /* bits of a double */
	bool left, sheared;
	float parts[3][4]; /* translation, rotation, scale */
} pose;

enum { POSES = 1 << 10 };

typedef struct clip_builder {
	hob_collada *c;
	pose *poses; /* [POSES] cache: three tracks evaluate the same times */
	hob_clip clip;
	hob_buf channels, tracks; /* hob_channel, hob_track */
	hob_buf bindings;		  /* hob_collada_binding, of this clip */
	hob_buf times;			  /* double, of the current track */
	double start, end;		  /* window; end = INFINITY without one */
} clip_builder;

/* ---- times */

static void put_time(clip_builder *b, double time)
{
	hob_buf_put(&b->times, &time, sizeof time);
}

/* All key times of the bindings within the window; its ends too, where keys lie beyond. */
static uint32_t collect_times(clip_builder *b, const hob_collada_binding *const *list, uint32_t count)
{
	hob_buf_clear(&b->times);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < list[i]->curve.key_count; k++) {
			double time = (double)list[i]->curve.times[k];
			put_time(b, time < b->start ? b->start : time > b->end ? b->end : time);
		}
	return hob_times_sort((double *)(void *)b->times.data, HOB_LISTS_COUNT(b->times, double));
}

/* ---- functions of time */

typedef struct animated {
	hob_collada *c;
	hob_xml_ptr node;
	const hob_collada_binding *const *list;
	uint32_t count;
	pose *poses;
	int part;			 /* for a whole matrix: 0 translation, 1 rotation, 2 scale */
	const char *element; /* for plain nodes: the element type that the track follows */
	const double *rest;	 /* weights: default values */
	uint32_t rest_count;
} animated;

/* Numbers of a transform element at a time. */
static uint32_t numbers_at(const animated *a, hob_xml_ptr element, double t, bool left, double out[16],
						   double *slope)
{
	uint32_t have = hob_collada_transform_numbers(element, out);
	for (uint32_t i = 0; slope && i < have; i++)
		slope[i] = 0;
	for (uint32_t i = 0; i < a->count; i++)
		for (uint32_t k = 0; a->list[i]->transform == element && k < a->list[i]->curve.width; k++)
			if (a->list[i]->first + k < have)
				out[a->list[i]->first + k] = hob_collada_curve_at(
					&a->list[i]->curve, k, t, left, slope ? &slope[a->list[i]->first + k] : NULL);
	return have;
}

static void vector_at(void *user, double t, bool left, double *out, double *slope)
{
	const animated *a = user;
	double n[16], s[16], unit = a->part == 0 ? (double)a->c->unit : 1;
	out[0] = out[1] = out[2] = a->part == 0 ? 0 : 1;
	for (int i = 0; slope && i < 3; i++)
		slope[i] = 0;
	for (hob_xml_ptr e = a->node->first; e; e = e->next) {
		if (!hob_xml_is(e, hob_str_of(a->element)))
			continue;
		numbers_at(a, e, t, left, n, slope ? s : NULL);
		for (int i = 0; i < 3; i++) {
			out[i] = n[i] * unit;
			if (slope)
				slope[i] = s[i] * unit;
		}
	}
}

static void turn(const double *n, double q[4])
{
	double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), half = n[3] * 3.14159265358979323846 / 360;
	if (!(length > 0))
		return;
	double s = sin(half) / length;
	hob_quat_multiply_double(q, (double[4]){n[0] * s, n[1] * s, n[2] * s, cos(half)}, q);
}

static void rotation_at(void *user, double t, bool left, double *out, double *slope)
{
	const animated *a = user;
	double n[16];
	(void)slope;
	out[0] = out[1] = out[2] = 0, out[3] = 1;
	for (hob_xml_ptr e = a->node->first; e; e = e->next)
		if (hob_xml_is(e, HOB_STR("rotate"))) {
			numbers_at(a, e, t, left, n, NULL);
			turn(n, out);
		}
}

static double turned(void *user, double from, double to)
{
	const animated *a = user;
	double x[16], y[16], sum = 0;
	for (hob_xml_ptr e = a->node->first; e; e = e->next)
		if (hob_xml_is(e, HOB_STR("rotate"))) {
			numbers_at(a, e, from, false, x, NULL);
			numbers_at(a, e, to, true, y, NULL);
			sum += fabs(y[3] - x[3]);
		}
	return sum;
}

static void local_at(const animated *a, double t, bool left, hob_node *node)
{
	double all[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, n[16], m[16];
	for (hob_xml_ptr e = a->node->first; e; e = e->next)
		if (hob_collada_is_transform(e)) {
			numbers_at(a, e, t, left, n, NULL);
			hob_collada_transform_matrix(e->name, n, (double)a->c->unit, m);
			hob_matrix_multiply_double(all, m, all);
		}
	for (int i = 0; i < 16; i++)
		node->matrix[i] = isfinite((float)all[i]) ? (float)all[i] : (float)(i % 5 == 0);
	node->has_matrix = !hob_matrix_decompose(node->matrix, node->translation, node->rotation, node->scale);
}

static const pose *pose_at(const animated *a, double t, bool left)
{
	uint64_t bits;
	memcpy(&bits, &t, sizeof bits);
	pose *kept = &a->poses[((bits * 0x9E3779B97F4A7C15u) >> 54) ^ left];
	if (kept->of != a->list || kept->time != bits || kept->left != left) {
		hob_node node;
		local_at(a, t, left, &node);
		*kept = (pose){.of = a->list, .time = bits, .left = left, .sheared = node.has_matrix};
		memcpy(kept->parts[0], node.translation, sizeof node.translation);
		memcpy(kept->parts[1], node.rotation, sizeof node.rotation);
		memcpy(kept->parts[2], node.scale, sizeof node.scale);
	}
	return kept;
}

static void matrix_at(void *user, double t, bool left, double *out, double *slope)
{
	const animated *a = user;
	const float *from = pose_at(a, t, left)->parts[a->part];
	for (int i = 0; i < (a->part == 1 ? 4 : 3); i++)
		out[i] = (double)from[i];
	(void)slope;
}

static void weights_at(void *user, double t, bool left, double *out, double *slope)
{
	const animated *a = user;
	for (uint32_t i = 0; i < a->rest_count; i++) {
		out[i] = a->rest[i];
		if (slope)
			slope[i] = 0;
	}
	for (uint32_t i = 0; i < a->count; i++)
		for (uint32_t k = 0; k < a->list[i]->curve.width; k++) {
			uint32_t index = a->list[i]->first + k;
			if (index < a->rest_count)
				out[index] =
					hob_collada_curve_at(&a->list[i]->curve, k, t, left, slope ? &slope[index] : NULL);
		}
}

/* ---- tracks */

static hob_collada_curve_kinds kinds_of(const hob_collada_binding *const *list, uint32_t count)
{
	hob_collada_curve_kinds all = {0};
	for (uint32_t i = 0; i < count; i++) {
		hob_collada_curve_kinds one = hob_collada_curve_kind(&list[i]->curve);
		all.step |= one.step, all.linear |= one.linear, all.cubic |= one.cubic, all.bent |= one.bent;
	}
	return all;
}

/* False without keys, and for a track that stays at rest. */
static bool add_track(clip_builder *b, const hob_collada_function *f, const animated *a, uint32_t *track,
					  const float *rest)
{
	uint32_t count = collect_times(b, a->list, a->count);
	hob_track made;
	if (count == 0)
		return false;
	collada_make_track(b->c, f, (const double *)(const void *)b->times.data, count, b->start, &made);
	if (made.key_count == 0 || hob_track_rests(&made, rest, f->rotation, 1e-6f))
		return false;
	*track = HOB_LISTS_COUNT(b->tracks, hob_track);
	hob_buf_put(&b->tracks, &made, sizeof made);
	return true;
}

static void add_channels(clip_builder *b, hob_xml_ptr node, hob_path path, uint32_t track)
{
	const hob_collada *c = b->c;
	uint32_t slot = c->slot[node->number];
	for (; slot != HOB_NONE; slot = HOB_LISTS_AT(c->places, hob_collada_place, slot)->next) {
		hob_channel channel = {HOB_LISTS_AT(c->places, hob_collada_place, slot)->node, path, track};
		hob_buf_put(&b->channels, &channel, sizeof channel);
	}
}

/* Whether the node has at most one translate, rotate and scale, in this order. */
static bool is_plain(hob_xml_ptr node)
{
	int stage = 0;
	for (hob_xml_ptr e = node->first; e; e = e->next) {
		if (!hob_collada_is_transform(e))
			continue;
		int now = hob_xml_is(e, HOB_STR("translate")) ? 0
				  : hob_xml_is(e, HOB_STR("rotate"))  ? 1
				  : hob_xml_is(e, HOB_STR("scale"))	  ? 2
													  : 9;
		if (now == 9 || now < stage || (now == 0 && stage > 0))
			return false;
		stage = now == 1 ? 1 : now + 1;
		if (now == 2)
			stage = 3;
	}
	return true;
}

static const hob_path paths[] = {HOB_PATH_TRANSLATION, HOB_PATH_ROTATION, HOB_PATH_SCALE};

static void plain_tracks(clip_builder *b, animated *a, const hob_node *rest)
{
	static const char *const elements[] = {"translate", "rotate", "scale"};
	const float *rests[] = {rest->translation, rest->rotation, rest->scale};
	const hob_collada_binding *const *all = a->list;
	uint32_t all_count = a->count;
	const hob_collada_binding **some =
		HOB_NEW(b->c->request->scratch, const hob_collada_binding *, all_count);
	for (int part = 0; part < 3; part++) {
		uint32_t count = 0, track;
		for (uint32_t i = 0; i < all_count; i++)
			if (hob_xml_is(all[i]->transform, hob_str_of(elements[part])))
				some[count++] = all[i];
		if (count == 0)
			continue;
		a->list = some, a->count = count, a->part = part, a->element = elements[part];
		hob_collada_function f = {.user = a,
								  .at = part == 1 ? rotation_at : vector_at,
								  .components = part == 1 ? 4 : 3,
								  .rotation = part == 1,
								  .kinds = kinds_of(some, count),
								  .turned = part == 1 ? turned : NULL};
		if (add_track(b, &f, a, &track, rests[part]))
			add_channels(b, a->node, paths[part], track);
	}
}

/* Whether all curves are whole matrices. Their keys become keys of translation, rotation and scale:
 * interpolating matrices number by number is never intended. */
static bool is_matrix_only(const animated *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (!hob_xml_is(a->list[i]->transform, HOB_STR("matrix")) || a->list[i]->curve.width != 16)
			return false;
	return true;
}

static void note_shear(clip_builder *b, const animated *a, uint32_t count)
{
	const double *times = (const double *)(const void *)b->times.data;
	for (uint32_t i = 0; i < count; i++) {
		if (!pose_at(a, times[i], false)->sheared)
			continue;
		hob_warn(b->c->request->notes, "animation.shear",
				 "line %u: the animation of node '%.*s' shears it; the nearest rotation and scale are kept",
				 a->node->line, HOB_FMT(hob_xml_attr(a->node, HOB_STR("id"))));
		return;
	}
}

static void matrix_tracks(clip_builder *b, animated *a, const hob_node *rest)
{
	const float *rests[] = {rest->translation, rest->rotation, rest->scale};
	hob_collada_curve_kinds kinds = kinds_of(a->list, a->count);
	bool whole = is_matrix_only(a), steps = kinds.step && !kinds.linear && !kinds.cubic && !kinds.bent;
	note_shear(b, a, collect_times(b, a->list, a->count));
	for (int part = 0; part < 3; part++) {
		uint32_t track;
		a->part = part;
		hob_collada_function f = {
			.user = a, .at = matrix_at, .components = part == 1 ? 4 : 3, .rotation = part == 1};
		/* `rotation` off: the keys of whole matrices stay as they are, without more in between. */
		if (steps)
			f.kinds.step = true;
		else if (whole)
			f.kinds.linear = true, f.rotation = false;
		else
			f.kinds.bent = true;
		if (add_track(b, &f, a, &track, rests[part]))
			add_channels(b, a->node, paths[part], track);
	}
}

/* ---- morph weights */

static bool deforms_with(hob_collada *c, hob_xml_ptr instance, hob_xml_ptr controller)
{
	hob_xml_ptr at =
		hob_collada_by_id(c, instance, "controller",
						  hob_str_sub(hob_text_trim(hob_xml_attr(instance, HOB_STR("url"))), 1, SIZE_MAX));
	for (int depth = 0; at && depth < 8; depth++) {
		if (at == controller)
			return true;
		hob_xml_ptr deformer = hob_xml_child_of(at, HOB_WORDS("skin", "morph"));
		hob_str source = hob_text_trim(hob_xml_attr(deformer, HOB_STR("source")));
		at = source.len > 1 ? hob_collada_by_id(c, at, "geometry", hob_str_sub(source, 1, source.len)) : NULL;
	}
	return false;
}

static void weight_tracks(clip_builder *b, animated *a)
{
	hob_collada *c = b->c;
	uint32_t track = HOB_NONE;
	for (uint32_t p = 0; p < HOB_LISTS_COUNT(c->pending, hob_collada_pending); p++) {
		const hob_collada_pending *place = HOB_LISTS_AT(c->pending, hob_collada_pending, p);
		if (!deforms_with(c, place->instance, a->node))
			continue;
		const hob_node *node = &c->model->nodes[place->node];
		const hob_mesh *mesh =
			node->mesh_count > 0 ? &c->model->meshes[c->model->mesh_refs[node->mesh_first]] : NULL;
		if (!mesh || mesh->target_count == 0)
			continue;
		if (track == HOB_NONE) {
			double *rest = HOB_NEW(c->request->scratch, double, mesh->target_count);
			float *rest_floats = HOB_NEW(c->request->scratch, float, mesh->target_count);
			for (uint32_t i = 0; i < mesh->target_count; i++)
				rest[i] = (double)(rest_floats[i] = mesh->targets[i].weight);
			a->rest = rest;
			a->rest_count = mesh->target_count;
			hob_collada_function f = {.user = a,
									  .at = weights_at,
									  .components = mesh->target_count,
									  .kinds = kinds_of(a->list, a->count)};
			if (!add_track(b, &f, a, &track, rest_floats))
				return;
		}
		if (mesh->target_count != a->rest_count)
			continue;
		hob_channel channel = {place->node, HOB_PATH_WEIGHTS, track};
		hob_buf_put(&b->channels, &channel, sizeof channel);
	}
}

/* ---- clips */

static int by_node(const void *a, const void *b)
{
	const hob_collada_binding *x = a, *y = b;
	if (x->node->number != y->node->number)
		return x->node->number < y->node->number ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void node_tracks(clip_builder *b, const hob_collada_binding *const *list, uint32_t count)
{
	animated a = {.c = b->c, .poses = b->poses, .node = list[0]->node, .list = list, .count = count};
	if (!list[0]->transform) {
		weight_tracks(b, &a);
		return;
	}
	uint32_t place = hob_collada_place_of(b->c, a.node);
	if (place == HOB_NONE)
		return;
	hob_node rest = b->c->model->nodes[place];
	if (is_plain(a.node))
		plain_tracks(b, &a, &rest);
	else
		matrix_tracks(b, &a, &rest);
}

static void make_tracks(clip_builder *b)
{
	uint32_t count = HOB_LISTS_COUNT(b->bindings, hob_collada_binding);
	if (count == 0)
		return;
	hob_collada_binding *all = HOB_LISTS_AT(b->bindings, hob_collada_binding, 0);
	const hob_collada_binding **list = HOB_NEW(b->c->request->scratch, const hob_collada_binding *, count);
	b->poses = HOB_NEW(b->c->request->scratch, pose, POSES);
	memset(b->poses, 0, POSES * sizeof *b->poses);
	qsort(all, count, sizeof *all, by_node);
	for (uint32_t i = 0; i < count; i++)
		list[i] = &all[i];
	for (uint32_t first = 0, next; first < count; first = next) {
		next = first + 1;
		while (next < count && list[next]->node == list[first]->node)
			next++;
		node_tracks(b, list + first, next - first);
	}
}

static void take_clip(clip_builder *b, hob_str name, hob_name_map *names)
{
	hob_collada *c = b->c;
	hob_arena *arena = c->request->result;
	hob_clip clip = {.channel_count = HOB_LISTS_COUNT(b->channels, hob_channel)};
	hob_str clean = hob_text_name(arena, name);
	if (clip.channel_count == 0) {
		if (b->bindings.size > 0)
			hob_info(c->request->notes, "animation.still",
					 "clip '%.*s' moves nothing away from the rest pose and is left out", HOB_FMT(clean));
		return;
	}
	clip.name = hob_name_map_add_unique(names, arena, clean.len > 0 ? clean : HOB_STR("clip"), 0);
	clip.channels = hob_lists_array(arena, &b->channels, sizeof(hob_channel), &clip.channel_count);
	clip.tracks = hob_lists_array(arena, &b->tracks, sizeof(hob_track), &clip.track_count);
	if (HOB_LISTS_COUNT(c->clips, hob_clip) >= HOB_LIMIT_CLIPS)
		hob_leave(LIMIT, "more than %llu clips", HOB_LIMIT_CLIPS);
	hob_buf_put(&c->clips, &clip, sizeof clip);
}

static void finish_clip(clip_builder *b, hob_str name, hob_name_map *names)
{
	HOB_PLACE("clip '@'", 0, name);
	make_tracks(b);
	take_clip(b, name, names);
	hob_buf_clear(&b->bindings);
	hob_buf_clear(&b->channels);
	hob_buf_clear(&b->tracks);
}

/* Binds the channels of an <animation> and of nested ones, except those marked in `used` by other clips. */
static void bind_animation(clip_builder *b, hob_xml_ptr root, bool *used)
{
	for (hob_xml_ptr e = root; e; e = hob_xml_after(e, root)) {
		used[e->number] = true;
		if (hob_xml_is(e, HOB_STR("channel")))
			collada_bind(b->c, e, &b->bindings);
	}
}

static void named_clips(clip_builder *b, bool *used, hob_name_map *names)
{
	hob_collada *c = b->c;
	HOB_COLLADA_EACH (e, c, "library_animation_clips", "animation_clip") {
		hob_str name = hob_xml_attr(e, HOB_STR("name"));
		b->start = hob_xml_attr_double(e, HOB_STR("start"), 0);
		b->end = hob_xml_attr_double(e, HOB_STR("end"), INFINITY);
		if (!(b->start > -1e9 && b->start < 1e9))
			b->start = 0;
		if (!(b->end > b->start))
			b->end = INFINITY;
		HOB_XML_EACH (i, e, "instance_animation")
			bind_animation(b, hob_collada_target(c, i, "animation", "url"), used);
		finish_clip(b, name.len > 0 ? name : hob_xml_attr(e, HOB_STR("id")), names);
	}
}

/* Whether an animation has a target that one already in the clip has, too; it then starts another clip. With
 * `add`, adds its targets. */
static bool shares_target(hob_xml_ptr root, hob_name_map *moved, bool add)
{
	for (hob_xml_ptr e = root; e; e = hob_xml_after(e, root)) {
		hob_str text = hob_xml_is(e, HOB_STR("channel")) ? hob_xml_attr(e, HOB_STR("target")) : (hob_str){0};
		if (text.len > 0 && add)
			hob_name_map_add(moved, text, 0);
		else if (text.len > 0 && hob_name_map_get(moved, text) != HOB_NONE)
			return true;
	}
	return false;
}

static void other_clips(clip_builder *b, bool *used, hob_name_map *names)
{
	hob_collada *c = b->c;
	bool left = true;
	for (b->start = 0, b->end = INFINITY; left;) {
		hob_name_map moved;
		uint32_t taken = 0;
		hob_str name = {0};
		left = false;
		hob_name_map_init(&moved, c->request->scratch);
		HOB_COLLADA_EACH (e, c, "library_animations", "animation") {
			if (used[e->number])
				continue;
			if (shares_target(e, &moved, false)) {
				left = true;
				continue;
			}
			(void)shares_target(e, &moved, true);
			bind_animation(b, e, used);
			name = hob_xml_attr(e, HOB_STR("name"));
			name = name.len > 0 ? name : hob_xml_attr(e, HOB_STR("id"));
			taken++;
		}
		finish_clip(b, taken == 1 ? name : HOB_STR("clip"), names);
	}
}

void hob_collada_clips(hob_collada *c)
{
	hob_arena *scratch = c->request->scratch;
	clip_builder b = {.c = c};
	hob_name_map names;
	bool *used = HOB_NEW(scratch, bool, c->xml.element_count);
	hob_name_map_init(&names, scratch);
	named_clips(&b, used, &names);
	other_clips(&b, used, &names);
	c->model->clips = hob_lists_array(c->request->result, &c->clips, sizeof(hob_clip), &c->model->clip_count);
}
