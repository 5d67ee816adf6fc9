#include "fbx_anim.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { CONSTANT = 0x2, LINEAR = 0x4, CUBIC = 0x8 };
enum {
	AUTO = 0x100,
	TCB = 0x200,
	USER = 0x400,
	CLAMP = 0x1000,
	TIME_INDEPENDENT = 0x2000,
	PROGRESSIVE = 0x4000,
	WEIGHTED_RIGHT = 0x1000000,
	WEIGHTED_NEXT_LEFT = 0x2000000,
};

/* A key as stored, before its tangents are computed. */
typedef struct raw_key {
	uint32_t flags;
	float data[2]; /* slopes; or biases of automatic tangents in percent; or tension and continuity */
	float bias;	   /* of a TCB (tension, continuity, bias) key */
	bool solve;	   /* tangents must be computed */
	bool first_zero;
} raw_key;

static const float third = 1.0f / 3;

/* ---- tangents */

static double secant(const hob_fbx_key *a, const hob_fbx_key *b)
{
	return b->time > a->time ? (b->value - a->value) / (b->time - a->time) : 0;
}

/* Leans an automatic slope by a bias in percent: 100 reaches the slope of the line on the right, -100 that on
 * the left; beyond 500 the slope grows without limit. */
static double lean(double slope, double left, double right, double bias)
{
	double share = fabs(bias) / 100, gap = (bias > 0 ? right : left) - slope, beyond = share - 5;
	if (share <= 1e-4)
		return slope;
	slope += gap * share;
	bool up = (fabs(gap) > 1e-5 ? gap : bias) > 0;
	return beyond > 0 ? slope + 40 * beyond * beyond * (up ? 1 : -1) : slope;
}

static bool level(const hob_fbx_key *a, const hob_fbx_key *b)
{
	return fabs(a->value - b->value) < 1e-9 * fmax(1, fabs(a->value));
}

/* Slope at the first or last key: along the only adjacent line. */
static double end_slope(const hob_fbx_key *a, const hob_fbx_key *b, uint32_t flags, double bias)
{
	if ((flags & PROGRESSIVE) || ((flags & CLAMP) && level(a, b)))
		return 0;
	double slope = secant(a, b);
	return (flags & TIME_INDEPENDENT) || fabs(bias) <= 500 ? slope : lean(slope, slope, slope, bias);
}

/* Automatic slope at a key from its neighbours. `flags` say whether the lines to both neighbours count in
 * addition to the line between them, and how overshoot is prevented: flat next to an equal key, or no steeper
 * than to reach a neighbour's value within the tangent's weight. */
static double auto_slope(const hob_fbx_key *before, const hob_fbx_key *key, const hob_fbx_key *behind,
						 uint32_t flags, double bias)
{
	if (!before && !behind)
		return 0;
	if (!before || !behind)
		return before ? end_slope(before, key, flags, bias) : end_slope(key, behind, flags, bias);
	if ((flags & CLAMP) && (level(key, before) || level(key, behind)))
		return 0;
	double left = secant(before, key), right = secant(key, behind), slope = secant(before, behind);
	if (!(flags & TIME_INDEPENDENT)) {
		double t = (key->time - before->time) / (behind->time - before->time);
		slope = lean((slope + left * (1 - t) + right * t) / 2, left, right, bias);
	}
	if (flags & PROGRESSIVE) {
		double sign = slope < 0 ? -1 : 1, weight_in = (double)before->weight_in,
			   weight_out = (double)key->weight_out;
		double most_left =
			sign * (key->value - before->value) / fmax(weight_in * (key->time - before->time), 1e-12);
		double most_right =
			sign * (behind->value - key->value) / fmax(weight_out * (behind->time - key->time), 1e-12);
		slope = sign * fmin(fabs(slope), fmax(0, fmin(most_left, most_right)));
	}
	return slope;
}

/* Source: Kochanek and Bartels 1984. At an end the single line has full weight. */
static void tcb_slopes(const hob_fbx_key *before, const hob_fbx_key *key, const hob_fbx_key *behind,
					   const raw_key *raw, double *in, double *out)
{
	double t = (double)raw->data[0], c = (double)raw->data[1], b = (double)raw->bias;
	double left = before ? secant(before, key) : 0, right = behind ? secant(key, behind) : 0;
	double share = (1 - t) * (before && behind ? 0.5 : 1);
	*in = share * ((1 + b) * (1 - c) * left + (1 - b) * (1 + c) * right);
	*out = share * ((1 + b) * (1 + c) * left + (1 - b) * (1 - c) * right);
}

static void solve_tangents(hob_fbx_key *keys, const raw_key *raw, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const hob_fbx_key *before = i > 0 ? &keys[i - 1] : NULL,
						  *behind = i + 1 < count ? &keys[i + 1] : NULL;
		double in, out;
		if (!raw[i].solve)
			continue;
		if (raw[i].flags & TCB) {
			tcb_slopes(before, &keys[i], behind, &raw[i], &in, &out);
		} else if (raw[i].first_zero && !before) {
			in = out = 0;
		} else {
			/* A key stores the bias of its right side and, with the sign reversed, that of the next key's
			 * left side. */
			bool leans = before && raw[i - 1].solve && !(raw[i - 1].flags & TCB);
			double bias_out = behind ? (double)raw[i].data[0] : 0,
				   bias_in = leans ? -(double)raw[i - 1].data[1] : bias_out;
			out = auto_slope(before, &keys[i], behind, raw[i].flags, behind ? bias_out : bias_in);
			in = fabs(bias_in - bias_out) <= 1e-4 || !behind
					 ? out
					 : auto_slope(before, &keys[i], behind, raw[i].flags, bias_in);
		}
		keys[i].slope_out = (float)out;
		if (before)
			keys[i - 1].slope_in = (float)in;
	}
}

static float usable_weight(double weight)
{
	return weight >= 0 && weight <= 1 ? (float)weight : third;
}

/* ---- 7.x */

static hob_fbx_beyond read_beyond(const hob_fbx *f, uint32_t curve, hob_str name, hob_str old_name)
{
	uint32_t record = hob_fbx_child(f, curve, name);
	if (record == HOB_NONE)
		record = hob_fbx_child(f, curve, old_name);
	hob_fbx_beyond beyond = {'C', -1};
	hob_str type = hob_fbx_child_text(f, record, HOB_STR("Type"));
	if (type.len > 0)
		beyond.type = type.data[0];
	beyond.repetition = hob_fbx_child_integer(f, record, HOB_STR("Repetition"), -1);
	return beyond;
}

/* Returns the curve of `record`; NULL: it has no keys. */
static hob_fbx_curve *finish(const hob_fbx *f, uint32_t record, hob_fbx_curve *curve, const raw_key *raw)
{
	if (curve->count == 0)
		return NULL;
	solve_tangents(curve->keys, raw, curve->count);
	for (uint32_t i = 0; i < curve->count; i++) {
		hob_fbx_key *key = &curve->keys[i];
		bool usual = fabsf(key->weight_out - third) < 1e-4f && fabsf(key->weight_in - third) < 1e-4f;
		if (key->kind == HOB_FBX_CUBIC && !usual)
			key->kind = HOB_FBX_WEIGHTED;
		if (!isfinite(key->slope_out))
			key->slope_out = 0;
		if (!isfinite(key->slope_in))
			key->slope_in = 0;
	}
	curve->before = read_beyond(f, record, HOB_STR("Pre-Extrapolation"), HOB_STR("Pre_Extrapolation"));
	curve->behind = read_beyond(f, record, HOB_STR("Post-Extrapolation"), HOB_STR("Post_Extrapolation"));
	return curve;
}

static void set_flags(hob_fbx_key *key, raw_key *raw, uint32_t flags, const double *data)
{
	raw->flags = flags;
	key->weight_out = key->weight_in = third;
	key->kind = (flags & CONSTANT) ? HOB_FBX_STEPPED : (flags & CUBIC) ? HOB_FBX_CUBIC : HOB_FBX_LINEAR;
	key->to_next = (flags & CONSTANT) && (flags & AUTO);
	if (key->kind != HOB_FBX_CUBIC)
		return;
	/* A cubic key without a tangent type has an automatic tangent. */
	raw->solve = !(flags & USER) || (flags & TCB);
	if (!data)
		return;
	uint32_t bits = data[2] >= 0 && data[2] < 4294967296.0 ? (uint32_t)data[2] : 0;
	if (flags & WEIGHTED_RIGHT)
		key->weight_out = usable_weight((bits & 0xFFFF) * 0.0001);
	if (flags & WEIGHTED_NEXT_LEFT)
		key->weight_in = usable_weight((bits >> 16) * 0.0001);
	raw->data[0] = isfinite(data[0]) ? (float)data[0] : 0;
	raw->data[1] = isfinite(data[1]) ? (float)data[1] : 0;
	if (flags & TCB) {
		float bias;
		memcpy(&bias, &bits, sizeof bias);
		raw->bias = isfinite(bias) ? bias : 0;
		key->weight_out = key->weight_in = third;
	} else {
		key->slope_out = raw->data[0];
		key->slope_in = raw->data[1]; /* unless the next key computes its own */
	}
}

static bool whole_bits(double value, uint32_t *bits)
{
	bool whole = value >= INT32_MIN && value <= UINT32_MAX && value - floor(value) <= 0;
	*bits = whole ? value < 0 ? (uint32_t)(int32_t)value : (uint32_t)value : 0;
	return whole;
}

/* In ASCII files, slopes of KeyVer 4008 are numbers from some exporters and bit patterns from others. They
 * are read as bits if all non-zero ones are integers whose bits give plausible slopes; as numbers, such large
 * integers would be out of any scene's range. */
static bool slopes_are_bits(hob_fbx *f)
{
	bool any = false, all = true;
	for (uint32_t i = 0; i < f->object_count && all; i++) {
		uint32_t count, bits;
		hob_arena_mark mark = hob_arena_save(f->scratch);
		if (f->objects[i].class != HOB_FBX_CURVE)
			continue;
		const double *data =
			hob_fbx_doubles(f, hob_fbx_child(f, f->objects[i].record, HOB_STR("KeyAttrDataFloat")), &count);
		for (uint32_t d = 0; d < count && all; d++) {
			if (d % 4 > 1 || !(data[d] < 0 || data[d] > 0))
				continue;
			float slope = 0;
			all = whole_bits(data[d], &bits);
			memcpy(&slope, &bits, sizeof slope);
			all = all && (bits == 0x80000000u || (fabsf(slope) > 1e-12f && fabsf(slope) < 1e12f));
			any = true;
		}
		hob_arena_restore(f->scratch, mark);
	}
	return any && all;
}

/* Groups of four numbers: floats, the third being a bit field (returned as a number). ASCII files write the
 * bit field as an integer, and from KeyVer 4009 on the floats as bit patterns, too; older ones write it as
 * the float with its bits. */
static const double *read_attributes(hob_fbx *f, uint32_t record, bool as_bits, uint32_t *count)
{
	const float *floats = f->ascii ? NULL : hob_fbx_floats(f, record, count);
	double *out = f->ascii ? hob_fbx_doubles(f, record, count) : HOB_NEW(f->scratch, double, *count);
	for (uint32_t i = 0; i < *count; i++) {
		double value = floats ? (double)floats[i] : out[i];
		float number = floats ? floats[i] : fabs(value) <= (double)FLT_MAX ? (float)value : 0;
		uint32_t bits;
		memcpy(&bits, &number, sizeof bits);
		if (!floats && (as_bits || (i % 4 == 2 && fabs(value) >= 1)))
			(void)whole_bits(value, &bits);
		memcpy(&number, &bits, sizeof number);
		out[i] = i % 4 == 2 ? (double)bits : (double)number;
	}
	return out;
}

static void take_key(hob_fbx_curve *curve, raw_key *raw, double time, double value, uint32_t flags,
					 const double *data)
{
	if (!isfinite(time) || !isfinite(value) ||
		(curve->count > 0 && !(time > curve->keys[curve->count - 1].time)))
		return;
	hob_fbx_key *key = &curve->keys[curve->count];
	key->time = time;
	key->value = value;
	set_flags(key, &raw[curve->count++], flags, data);
}

static hob_fbx_curve *new_curve(hob_fbx *f, uint32_t keys)
{
	hob_fbx_curve *curve = HOB_NEW(f->scratch, hob_fbx_curve, 1);
	curve->seen = HOB_NEW(f->scratch, uint32_t, 1);
	curve->keys = HOB_NEW(f->scratch, hob_fbx_key, keys);
	return curve;
}

/* An AnimationCurve object of 7.x; NULL when it has no keys. Lives in scratch memory. */
static hob_fbx_curve *fbx_read_curve(hob_fbx *f, uint32_t object)
{
	uint32_t record = f->objects[object].record, time_count, value_count, flag_count, data_count, ref_count;
	if (f->ascii && !f->slopes_known) {
		f->slopes_known = true;
		f->slopes_as_bits = slopes_are_bits(f);
	}
	bool as_bits = f->slopes_as_bits || hob_fbx_child_integer(f, record, HOB_STR("KeyVer"), 0) >= 4009;
	const int64_t *times = hob_fbx_longs(f, hob_fbx_child(f, record, HOB_STR("KeyTime")), &time_count);
	const double *values =
		hob_fbx_doubles(f, hob_fbx_child(f, record, HOB_STR("KeyValueFloat")), &value_count);
	const int32_t *flags = hob_fbx_ints(f, hob_fbx_child(f, record, HOB_STR("KeyAttrFlags")), &flag_count);
	const double *data =
		read_attributes(f, hob_fbx_child(f, record, HOB_STR("KeyAttrDataFloat")), as_bits, &data_count);
	const int32_t *refs = hob_fbx_ints(f, hob_fbx_child(f, record, HOB_STR("KeyAttrRefCount")), &ref_count);
	uint32_t count = time_count < value_count ? time_count : value_count;
	if (count == 0)
		return NULL;
	hob_fbx_curve *curve = new_curve(f, count);
	raw_key *raw = HOB_NEW(f->scratch, raw_key, count);
	uint32_t group = 0;
	int64_t left = ref_count > 0 ? refs[0] : INT64_MAX;
	for (uint32_t i = 0; i < count; i++) {
		while (left <= 0 && group + 1 < ref_count)
			left = refs[++group];
		uint32_t of = flag_count == 0 ? CUBIC : (uint32_t)flags[group < flag_count ? group : flag_count - 1];
		const double *given = (group + 1) * (uint64_t)4 <= data_count ? data + (size_t)group * 4 : NULL;
		take_key(curve, raw, (double)times[i] / f->ticks, values[i], of, given);
		left--;
	}
	return finish(f, record, curve, raw);
}

/* ---- Takes */

typedef struct take_reader {
	hob_fbx *f;
	hob_fbx_cursor cursor;
	int64_t version;
} take_reader;

static double take_number(take_reader *r)
{
	hob_fbx_value value;
	return hob_fbx_next(r->f, &r->cursor, &value) && isfinite(value.real) ? value.real : 0;
}

static char take_letter(take_reader *r)
{
	hob_fbx_value value;
	if (!hob_fbx_next(r->f, &r->cursor, &value))
		return 0;
	if (value.text.len > 0)
		return value.text.data[0];
	return value.integer > 0 && value.integer < 128 ? (char)value.integer : 0;
}

/* The letter and KeyVer decide how many numbers belong to a slope and how many weights follow. In modes p, q,
 * t and d the numbers are skipped and the tangent is computed from the neighbours. */
static bool take_cubic(take_reader *r, hob_fbx_key *key, raw_key *raw)
{
	int weights = 1, skip = 0;
	char mode = take_letter(r);
	raw->flags = CUBIC | PROGRESSIVE | TIME_INDEPENDENT;
	raw->solve = raw->first_zero = true;
	switch (mode) {
	case 's':
	case 'b':
		raw->solve = false;
		key->slope_out = (float)take_number(r);
		key->slope_in = (float)take_number(r);
		weights = r->version == 4003 ? 0 : 1;
		break;
	case 'a':
		weights = r->version <= 4004 ? 0 : 1;
		break;
	case 'p':
	case 'q':
		skip = 2;
		weights = r->version <= 4004 ? 1 : 2;
		break;
	case 't':
		skip = 3;
		weights = 0;
		break;
	case 'd':
		skip = 1;
		break;
	default:
		return false;
	}
	while (skip-- > 0)
		(void)take_number(r);
	while (weights-- > 0) {
		char weight = take_letter(r);
		if (weight == 'a' || weight == 'r')
			key->weight_out = usable_weight(take_number(r));
		if (weight == 'a' || weight == 'l')
			key->weight_in = usable_weight(take_number(r));
		if (weight == 0)
			return false;
	}
	return true;
}

static bool take_next(take_reader *r, hob_fbx_key *key, raw_key *raw)
{
	hob_fbx_value value;
	*key = (hob_fbx_key){.weight_out = third, .weight_in = third};
	*raw = (raw_key){0};
	if (!hob_fbx_next(r->f, &r->cursor, &value))
		return false;
	key->time = value.real / r->f->ticks;
	key->value = take_number(r);
	switch (take_letter(r)) {
	case 'L':
		key->kind = HOB_FBX_LINEAR;
		return true;
	case 'C':
		key->kind = HOB_FBX_STEPPED;
		key->to_next = r->version >= 4004 && take_letter(r) == 'n';
		return true;
	case 'U':
		key->kind = HOB_FBX_CUBIC;
		return take_cubic(r, key, raw);
	default:
		return false;
	}
}

/* A Take's channel: a record with the list "Key". */
static const hob_fbx_curve *fbx_read_take_curve(hob_fbx *f, uint32_t record)
{
	uint32_t list = hob_fbx_child(f, record, HOB_STR("Key"));
	int64_t promised = hob_fbx_child_integer(f, record, HOB_STR("KeyCount"), 0);
	int64_t version = hob_fbx_child_integer(f, record, HOB_STR("KeyVer"), 0);
	if (list == HOB_NONE || f->records[list].value_count < 3)
		return NULL;
	uint32_t most = f->records[list].value_count / 3;
	most = promised > 0 && promised < most ? (uint32_t)promised : most;
	hob_fbx_curve *curve = new_curve(f, most);
	raw_key *raw = HOB_NEW(f->scratch, raw_key, most);
	take_reader r = {f, hob_fbx_values(f, list),
					 version > 0		 ? version
					 : f->version < 5000 ? 4003
					 : f->version < 6000 ? 4004
										 : 4005};
	for (uint32_t i = 0; i < most; i++) {
		hob_fbx_key *key = &curve->keys[curve->count];
		if (!take_next(&r, key, &raw[curve->count]))
			break;
		bool rises = curve->count == 0 || key->time > key[-1].time;
		curve->count += rises && isfinite(key->time);
	}
	return finish(f, record, curve, raw);
}

/* ---- values */

/* The segment is a Bezier curve in time and value; solves x(s) = t by bisection with Newton steps. */
static hob_fbx_reading weighted(const hob_fbx_key *a, const hob_fbx_key *b, double u)
{
	double x1 = (double)a->weight_out, x2 = 1 - (double)a->weight_in, low = 0, high = 1, s = u,
		   length = b->time - a->time;
	for (int i = 0; i < 60; i++) {
		double x = 3 * (1 - s) * (1 - s) * s * x1 + 3 * (1 - s) * s * s * x2 + s * s * s;
		double d = 3 * (1 - s) * (1 - s) * x1 + 6 * (1 - s) * s * (x2 - x1) + 3 * s * s * (1 - x2);
		if (fabs(x - u) < 1e-13)
			break;
		if (x < u)
			low = s;
		else
			high = s;
		s = fabs(d) > 1e-9 ? s - (x - u) / d : (low + high) / 2;
		if (!(s > low && s < high))
			s = (low + high) / 2;
	}
	double y0 = a->value, y3 = b->value;
	double y1 = y0 + x1 * length * (double)a->slope_out,
		   y2 = y3 - (double)a->weight_in * length * (double)a->slope_in;
	double value = (1 - s) * (1 - s) * (1 - s) * y0 + 3 * (1 - s) * (1 - s) * s * y1 +
				   3 * (1 - s) * s * s * y2 + s * s * s * y3;
	return (hob_fbx_reading){value, 0, HOB_FBX_WEIGHTED, false};
}

static hob_fbx_reading on_segment(const hob_fbx_key *a, const hob_fbx_key *b, double time)
{
	double length = b->time - a->time, u = (time - a->time) / length;
	double change = b->value - a->value, m0 = (double)a->slope_out * length,
		   m1 = (double)a->slope_in * length;
	switch (a->kind) {
	case HOB_FBX_STEPPED:
		return (hob_fbx_reading){a->to_next ? b->value : a->value, 0, HOB_FBX_STEPPED, false};
	case HOB_FBX_LINEAR:
		return (hob_fbx_reading){a->value + change * u, change / length, HOB_FBX_LINEAR, false};
	case HOB_FBX_WEIGHTED:
		return weighted(a, b, u);
	default:
		break;
	}
	double c = 3 * change - 2 * m0 - m1, d = m0 + m1 - 2 * change;
	return (hob_fbx_reading){a->value + u * (m0 + u * (c + u * d)), (m0 + u * (2 * c + u * 3 * d)) / length,
							 HOB_FBX_CUBIC, false};
}

static bool is_behind(const hob_fbx_curve *curve, uint32_t key, double time, int side)
{
	return side < 0 ? curve->keys[key].time >= time : curve->keys[key].time > time;
}

/* Index of the first key after the time, or the key count; with side < 0, also a key at that time. */
static uint32_t key_behind(const hob_fbx_curve *curve, double time, int side)
{
	uint32_t low = 0, high = curve->count, seen = *curve->seen > 0 ? *curve->seen - 1 : 0;
	for (int step = 0; step < 3 && seen <= high; step++, seen++)
		if ((seen == 0 || !is_behind(curve, seen - 1, time, side)) &&
			(seen == high || is_behind(curve, seen, time, side)))
			return *curve->seen = seen;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (is_behind(curve, middle, time, side))
			high = middle;
		else
			low = middle + 1;
	}
	return *curve->seen = low;
}

static hob_fbx_reading inside(const hob_fbx_curve *curve, double time, int side)
{
	uint32_t low = key_behind(curve, time, side);
	if (low == 0)
		return (hob_fbx_reading){curve->keys[0].value, 0, HOB_FBX_FLAT, false};
	if (low == curve->count)
		return (hob_fbx_reading){curve->keys[low - 1].value, 0, HOB_FBX_FLAT, false};
	return on_segment(&curve->keys[low - 1], &curve->keys[low], time);
}

/* Extrapolates along the tangent of the first or last key. */
static hob_fbx_reading along_end(const hob_fbx_curve *curve, double time, bool early)
{
	const hob_fbx_key *end = &curve->keys[early ? 0 : curve->count - 1];
	const hob_fbx_key *segment = &curve->keys[early || curve->count < 2 ? 0 : curve->count - 2];
	double slope = 0;
	if (curve->count > 1 && segment->kind == HOB_FBX_LINEAR)
		slope = secant(segment, segment + 1);
	else if (curve->count > 1 && segment->kind != HOB_FBX_STEPPED)
		slope = (double)(early ? segment->slope_out : segment->slope_in);
	return (hob_fbx_reading){end->value + slope * (time - end->time), slope, HOB_FBX_LINEAR, true};
}

/* Number, from 1, of the repetition `gap` lengths beyond the keys; at a border, the outer if `outwards`. */
static double repetition_at(double gap, bool outwards)
{
	double nearest = round(gap);
	return fabs(gap - nearest) < 1e-9 * fmax(1, gap) ? nearest + outwards : ceil(gap);
}

hob_fbx_reading hob_fbx_curve_at(const hob_fbx_curve *curve, double time, int side)
{
	const hob_fbx_key *first = &curve->keys[0], *last = &curve->keys[curve->count - 1];
	bool early = time < first->time || (side < 0 && time <= first->time);
	bool late = time > last->time || (side > 0 && time >= last->time);
	const hob_fbx_beyond *beyond = early ? &curve->before : &curve->behind;
	if ((!early && !late) || beyond->type == 'C' || beyond->repetition == 0)
		return inside(curve, time, side);
	if (beyond->type == 'K')
		return along_end(curve, time, early);
	double length = last->time - first->time, shift = 0;
	if (!(length > 0) || (beyond->type != 'R' && beyond->type != 'M' && beyond->type != 'A'))
		return inside(curve, time, side);
	double turns =
		repetition_at((early ? first->time - time : time - last->time) / length, early ? side < 0 : side > 0);
	bool over = beyond->repetition > 0 && turns > (double)beyond->repetition;
	if (over) {
		turns = (double)beyond->repetition;
		time = early ? first->time - turns * length : last->time + turns * length;
	}
	double within = early ? time + turns * length : time - turns * length;
	within = within < first->time ? first->time : within > last->time ? last->time : within;
	if (beyond->type == 'M' && fmod(turns, 2) > 0.5)
		within = first->time + last->time - within;
	if (beyond->type == 'A')
		shift = (early ? -turns : turns) * (last->value - first->value);
	hob_fbx_reading out = inside(curve, within, within <= first->time ? 1 : -1);
	if (over) /* past the last repetition: the value of its end key, whatever the segment's kind */
		out = (hob_fbx_reading){.value = within - first->time < length / 2 ? first->value : last->value};
	out.value += shift;
	out.beyond = true;
	return out;
}

enum { LAYERS = 64 };

const hob_str hob_fbx_lcl[3] = {{"Lcl Translation", 15}, {"Lcl Rotation", 12}, {"Lcl Scaling", 11}};
const hob_str hob_fbx_rig_parts[HOB_FBX_RIG_PARTS] = {{"RotationOffset", 14}, {"RotationPivot", 13},
													  {"ScalingOffset", 13},  {"ScalingPivot", 12},
													  {"PreRotation", 11},	  {"PostRotation", 12}};

typedef struct gather {
	hob_fbx *f;
	hob_buf clips, layers, motions;
	hob_fbx_curve **curve_of; /* [objects] 7.x curves, each read once */
	bool *curve_read;
	uint32_t left_out;	/* animated properties that are not imported */
	hob_name_map takes; /* records of 7.x files, by name */
} gather;

/* ---- AnimationStacks */

static const hob_fbx_curve *curve_of(gather *g, uint32_t object)
{
	if (!g->curve_read[object])
		g->curve_of[object] = fbx_read_curve(g->f, object);
	g->curve_read[object] = true;
	return g->curve_of[object];
}

/* Component of a channel: "d|X" or "X" -> 0, also for a single number ("d|DeformPercent"). */
static int component_of(hob_str property)
{
	bool named = property.len == 1 || (property.len > 2 && property.data[property.len - 2] == '|');
	char c = named ? property.data[property.len - 1] : 'X';
	return c == 'Y' ? 1 : c == 'Z' ? 2 : 0;
}

static bool is_moved(const hob_fbx *f, const hob_fbx_edge *edge)
{
	const hob_fbx_object *o = &f->objects[edge->parent];
	if (edge->property.len == 0)
		return false;
	return o->class == HOB_FBX_MODEL || o->class == HOB_FBX_GEOMETRY ||
		   (o->class == HOB_FBX_DEFORMER && hob_str_equal(o->subclass, HOB_STR("BlendShapeChannel")));
}

static bool changes(const hob_fbx_motion *motion)
{
	for (int k = 0; k < 3; k++) {
		const hob_fbx_curve *curve = motion->curves[k];
		for (uint32_t i = 1; curve && i < curve->count; i++)
			if (fabs(curve->keys[i].value - curve->keys[0].value) > 1e-9)
				return true;
	}
	return false;
}

/* Whether the property is imported: translation, rotation, scale and visibility of nodes, and shape weights;
 * a clip holds nothing else. */
static bool is_read(const hob_fbx *f, const hob_fbx_edge *edge)
{
	if (f->objects[edge->parent].class != HOB_FBX_MODEL || f->version < 7000)
		return is_moved(f, edge) || f->objects[edge->parent].class == HOB_FBX_LAYER;
	for (size_t i = 0; i < 3; i++)
		if (hob_str_equal(edge->property, hob_fbx_lcl[i]))
			return true;
	for (size_t i = 0; i < HOB_FBX_RIG_PARTS; i++)
		if (hob_str_equal(edge->property, hob_fbx_rig_parts[i]))
			return true;
	return hob_str_equal(edge->property, HOB_STR("Visibility"));
}

static void add_curve_node(gather *g, uint32_t clip, uint32_t layer, uint32_t object)
{
	static const hob_str keys[3] = {{"d|X", 3}, {"d|Y", 3}, {"d|Z", 3}},
						 old_keys[3] = {{"X", 1}, {"Y", 1}, {"Z", 1}};
	const hob_fbx *f = g->f;
	hob_fbx_motion motion = {.clip = clip, .layer = layer};
	HOB_FBX_EACH_BELOW (edge, f, object, CURVE, "")
		motion.curves[component_of(edge->property)] = curve_of(g, edge->child);
	for (int k = 0; k < 3; k++)
		motion.otherwise[k] =
			hob_fbx_prop_real(f, object, keys[k], hob_fbx_prop_real(f, object, old_keys[k], (double)NAN));
	HOB_FBX_EACH_ABOVE (edge, f, object, OTHER, "") {
		g->left_out += edge->property.len > 0 && !is_read(f, edge) && changes(&motion);
		if (!is_moved(f, edge))
			continue;
		motion.object = edge->parent;
		motion.property = edge->property;
		hob_fbx_motion one = motion;
		for (int k = 0; k < 3; k++)
			if (!isfinite(one.otherwise[k]))
				one.otherwise[k] = hob_fbx_prop_real(f, object, edge->property, (double)NAN);
		hob_buf_put(&g->motions, &one, sizeof one);
	}
}

/* A layer's weight may be animated as well. */
static const hob_fbx_curve *weight_curve(gather *g, uint32_t layer)
{
	const hob_fbx_curve *last = NULL;
	HOB_FBX_EACH_BELOW (edge, g->f, layer, CURVE_NODE, "") {
		uint32_t curve = hob_fbx_below(g->f, edge->child, HOB_FBX_CURVE, (hob_str){0});
		if (curve != HOB_NONE && hob_str_equal(edge->property, HOB_STR("Weight")))
			last = curve_of(g, curve);
	}
	return last;
}

static void add_layer(gather *g, uint32_t clip, uint32_t object, uint32_t number)
{
	hob_fbx *f = g->f;
	uint32_t id = (uint32_t)(g->layers.size / sizeof(hob_fbx_layer_state));
	hob_fbx_layer_state layer = {
		.object = object,
		.weight = number == 0 ? 1 : hob_fbx_prop_real(f, object, HOB_STR("Weight"), 100) / 100,
		.mode = (uint32_t)hob_fbx_prop_integer(f, object, HOB_STR("BlendMode"), 0) & 3,
		.by_channel = hob_fbx_prop_integer(f, object, HOB_STR("RotationAccumulationMode"), 0) == 1,
		.scale_adds = hob_fbx_prop_integer(f, object, HOB_STR("ScaleAccumulationMode"), 0) == 1,
		.silent = hob_fbx_prop_integer(f, object, HOB_STR("Mute"), 0) != 0,
	};
	if (number == 0)
		layer.mode = 1;
	else
		layer.weight_curve = weight_curve(g, object);
	hob_buf_put(&g->layers, &layer, sizeof layer);
	HOB_FBX_EACH_BELOW (edge, f, object, CURVE_NODE, "")
		add_curve_node(g, clip, id, edge->child);
}

/* If any layer is solo, only solo layers play. */
static void respect_solo(gather *g, uint32_t first)
{
	hob_fbx_layer_state *layers = (hob_fbx_layer_state *)(void *)g->layers.data;
	uint32_t count = (uint32_t)(g->layers.size / sizeof *layers);
	bool any = false;
	for (uint32_t i = first; i < count; i++)
		any = any || hob_fbx_prop_integer(g->f, layers[i].object, HOB_STR("Solo"), 0) != 0;
	for (uint32_t i = first; i < count && any; i++)
		layers[i].silent = hob_fbx_prop_integer(g->f, layers[i].object, HOB_STR("Solo"), 0) == 0;
}

static void take_times(const hob_fbx *f, uint32_t take, double *begin, double *end)
{
	static const hob_str names[2] = {{"LocalTime", 9}, {"ReferenceTime", 13}};
	for (int i = 0; i < 2 && take != HOB_NONE; i++) {
		uint32_t record = hob_fbx_child(f, take, names[i]);
		hob_fbx_value first = hob_fbx_value_at(f, record, 0), last = hob_fbx_value_at(f, record, 1);
		if (last.type == HOB_FBX_NOTHING)
			continue;
		*begin = first.real / f->ticks;
		*end = last.real / f->ticks;
		return;
	}
}

static void index_takes(gather *g)
{
	const hob_fbx *f = g->f;
	hob_name_map_init(&g->takes, f->scratch);
	HOB_FBX_EACH_CHILD (take, f, f->takes, "Take")
		hob_name_map_add(&g->takes, hob_fbx_value_at(f, take, 0).text, take);
}

static void stack_times(const gather *g, uint32_t stack, hob_fbx_clip *clip)
{
	static const hob_str names[2][2] = {{{"LocalStart", 10}, {"LocalStop", 9}},
										{{"ReferenceStart", 14}, {"ReferenceStop", 13}}};
	const hob_fbx *f = g->f;
	hob_fbx_cursor cursor;
	for (int i = 0; i < 2; i++) {
		if (!hob_fbx_own_prop(f, stack, names[i][0], &cursor) &&
			!hob_fbx_own_prop(f, stack, names[i][1], &cursor))
			continue;
		clip->begin = (double)hob_fbx_prop_integer(f, stack, names[i][0], 0) / f->ticks;
		clip->end = (double)hob_fbx_prop_integer(f, stack, names[i][1], 0) / f->ticks;
		return;
	}
	take_times(f, hob_name_map_get(&g->takes, clip->name), &clip->begin, &clip->end);
}

static void add_stack(gather *g, uint32_t object)
{
	hob_fbx *f = g->f;
	const hob_fbx_object *o = &f->objects[object];
	uint32_t id = (uint32_t)(g->clips.size / sizeof(hob_fbx_clip)), layers = 0;
	hob_fbx_clip clip = {.name = o->name,
						 .object = object,
						 .layer_first = (uint32_t)(g->layers.size / sizeof(hob_fbx_layer_state))};
	if (id >= HOB_LIMIT_CLIPS)
		hob_leave(LIMIT, "more than %llu animation clips", HOB_LIMIT_CLIPS);
	stack_times(g, object, &clip);
	HOB_PLACE("clip '@'", 0, o->name);
	HOB_FBX_EACH_BELOW (edge, f, object, LAYER, "") {
		if (layers == LAYERS)
			hob_fbx_note(f, "layers", "clip '%.*s' has more than %d layers; the rest is left out",
						 HOB_FMT(o->name), LAYERS);
		if (layers >= LAYERS)
			break;
		add_layer(g, id, edge->child, layers++);
	}
	clip.layer_count = layers;
	respect_solo(g, clip.layer_first);
	hob_buf_put(&g->clips, &clip, sizeof clip);
}

/* ---- Takes of 6.x */

static void add_take_motion(gather *g, uint32_t clip, uint32_t object, uint32_t record, hob_str property)
{
	hob_fbx *f = g->f;
	hob_fbx_motion motion = {.clip = clip,
							 .object = object,
							 .layer = (uint32_t)(g->layers.size / sizeof(hob_fbx_layer_state)) - 1,
							 .property = property};
	uint32_t channels[3] = {record, HOB_NONE, HOB_NONE};
	bool alone = hob_fbx_child(f, record, HOB_STR("Key")) != HOB_NONE ||
				 hob_fbx_child(f, record, HOB_STR("Default")) != HOB_NONE;
	if (!alone) {
		channels[0] = HOB_NONE;
		HOB_FBX_EACH_CHILD (child, f, record, "Channel") {
			hob_str letter = hob_fbx_value_at(f, child, 0).text;
			int k = letter.len == 1 ? letter.data[0] - 'X' : -1;
			if (k >= 0 && k < 3)
				channels[k] = child;
		}
	}
	for (int k = 0; k < 3; k++) {
		motion.otherwise[k] = (double)NAN;
		if (channels[k] == HOB_NONE)
			continue;
		motion.otherwise[k] = hob_fbx_child_real(f, channels[k], HOB_STR("Default"), (double)NAN);
		motion.curves[k] = fbx_read_take_curve(f, channels[k]);
	}
	hob_buf_put(&g->motions, &motion, sizeof motion);
}

static void add_take_channels(gather *g, uint32_t clip, uint32_t object, uint32_t record)
{
	hob_fbx *f = g->f;
	HOB_FBX_EACH_CHILD (channel, f, record, "Channel") {
		hob_str name = hob_fbx_value_at(f, channel, 0).text;
		if (!hob_str_equal(name, HOB_STR("Transform"))) {
			hob_str suffix = HOB_STR(" (Shape)");
			if (hob_str_ends_nocase(name, suffix))
				name.len -= suffix.len;
			add_take_motion(g, clip, object, channel, name);
			continue;
		}
		HOB_FBX_EACH_CHILD (part, f, channel, "Channel") {
			hob_str letter = hob_fbx_value_at(f, part, 0).text;
			for (int k = 0; k < 3; k++)
				if (letter.len == 1 && letter.data[0] == "TRS"[k])
					add_take_motion(g, clip, object, part, hob_fbx_lcl[k]);
		}
	}
}

/* Adds a clip of one layer without an object. */
static uint32_t add_plain_clip(gather *g, hob_fbx_clip clip)
{
	hob_fbx_layer_state layer = {.object = HOB_NONE, .weight = 1, .mode = 1};
	clip.object = HOB_NONE;
	clip.layer_first = (uint32_t)(g->layers.size / sizeof layer);
	clip.layer_count = 1;
	hob_buf_put(&g->layers, &layer, sizeof layer);
	hob_buf_put(&g->clips, &clip, sizeof clip);
	return (uint32_t)(g->clips.size / sizeof clip) - 1;
}

/* Before 6000 models may have channels outside any take; they become a clip of their own, the last one. */
static void add_inner_take(gather *g)
{
	hob_fbx *f = g->f;
	uint32_t id = HOB_NONE;
	for (uint32_t i = 0; i < f->object_count && f->version < 6000; i++) {
		uint32_t record = f->objects[i].record;
		if (f->objects[i].class != HOB_FBX_MODEL || hob_fbx_child(f, record, HOB_STR("Channel")) == HOB_NONE)
			continue;
		if (id == HOB_NONE)
			id = add_plain_clip(g, (hob_fbx_clip){.name = HOB_STR("(internal)")});
		add_take_channels(g, id, i, record);
	}
}

static void add_take(gather *g, uint32_t take)
{
	hob_fbx *f = g->f;
	hob_fbx_clip clip = {.name = hob_fbx_value_at(f, take, 0).text};
	take_times(f, take, &clip.begin, &clip.end);
	uint32_t id = add_plain_clip(g, clip);
	HOB_FBX_EACH_CHILD (record, f, take, "Model") {
		uint32_t object = hob_name_map_get(&f->by_key, hob_fbx_plain(f, hob_fbx_value_at(f, record, 0).text));
		if (object != HOB_NONE)
			add_take_channels(g, id, object, record);
	}
}

/* ---- all */

static int compare(const hob_fbx_motion *motion, uint32_t clip, uint32_t object, hob_str property)
{
	if (motion->clip != clip)
		return motion->clip < clip ? -1 : 1;
	if (motion->object != object)
		return motion->object < object ? -1 : 1;
	if (motion->property.len != property.len)
		return motion->property.len < property.len ? -1 : 1;
	return property.len > 0 ? memcmp(motion->property.data, property.data, property.len) : 0;
}

hob_fbx_motions hob_fbx_motions_of(const hob_fbx *f, uint32_t clip, uint32_t object, hob_str property)
{
	const hob_fbx_anim *anim = f->anim;
	uint32_t low = 0, high = anim->motion_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (compare(&anim->motions[middle], clip, object, property) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	hob_fbx_motions out = {anim->motions + low, 0};
	while (low + out.count < anim->motion_count &&
		   compare(&anim->motions[low + out.count], clip, object, property) == 0)
		out.count++;
	return out;
}

static int compare_motions(const void *a, const void *b)
{
	const hob_fbx_motion *x = a, *y = b;
	int order = compare(x, y->clip, y->object, y->property);
	return order != 0 ? order : (x->layer > y->layer) - (x->layer < y->layer);
}

/* A clip without times spans its first to its last key. */
static void times_of_keys(hob_fbx_anim *anim)
{
	for (uint32_t c = 0; c < anim->clip_count; c++)
		if (!(anim->clips[c].end > anim->clips[c].begin))
			anim->clips[c].begin = (double)INFINITY, anim->clips[c].end = -(double)INFINITY;
	for (uint32_t m = 0; m < anim->motion_count; m++) {
		hob_fbx_clip *clip = &anim->clips[anim->motions[m].clip];
		if (isfinite(clip->begin) && isfinite(clip->end) && clip->end > clip->begin && !clip->from_keys)
			continue;
		for (int k = 0; k < 3; k++) {
			const hob_fbx_curve *curve = anim->motions[m].curves[k];
			if (!curve)
				continue;
			clip->from_keys = true;
			clip->begin = fmin(clip->begin, curve->keys[0].time);
			clip->end = fmax(clip->end, curve->keys[curve->count - 1].time);
		}
	}
	for (uint32_t c = 0; c < anim->clip_count; c++)
		if (!(anim->clips[c].end >= anim->clips[c].begin))
			anim->clips[c].begin = anim->clips[c].end = 0;
}

static void mark_nodes(hob_fbx *f)
{
	for (uint32_t m = 0; m < f->anim->motion_count; m++) {
		const hob_fbx_motion *motion = &f->anim->motions[m];
		const hob_fbx_object *o = &f->objects[motion->object];
		/* A motion without curves may still hold a value other than the rest pose. */
		bool says = false;
		for (int k = 0; k < 3; k++)
			says = says || motion->curves[k] || isfinite(motion->otherwise[k]);
		if (o->class != HOB_FBX_MODEL || !says)
			continue;
		hob_fbx_node *node = &f->nodes[o->index];
		node->scale_moves = node->scale_moves || hob_str_equal(motion->property, hob_fbx_lcl[2]);
		for (size_t i = 0; i < HOB_FBX_RIG_PARTS; i++)
			node->rig_moves = node->rig_moves || hob_str_equal(motion->property, hob_fbx_rig_parts[i]);
	}
}

static void gather_all(gather *g)
{
	hob_fbx *f = g->f;
	bool stacks = false;
	index_takes(g);
	for (uint32_t i = 0; i < f->object_count; i++)
		if (f->objects[i].class == HOB_FBX_STACK) {
			stacks = true;
			add_stack(g, i);
		}
	if (stacks)
		return;
	HOB_FBX_EACH_CHILD (take, f, f->takes, "Take")
		add_take(g, take);
	if (f->version > 0)
		add_inner_take(g);
}

/* Before 6000 the channels hold the rest pose: the models' own (the last clip), else the first take's. */
static void rest_from_take(hob_fbx *f)
{
	for (uint32_t id = 0; id < f->node_count && f->anim->clip_count > 0; id++) {
		hob_fbx_node *node = &f->nodes[id];
		double *parts[3] = {node->translation, node->rotation, node->scaling};
		for (int p = 0; p < 3; p++) {
			hob_fbx_motions motions =
				hob_fbx_motions_of(f, f->anim->clip_count - 1, node->object, hob_fbx_lcl[p]);
			if (motions.count == 0)
				motions = hob_fbx_motions_of(f, 0, node->object, hob_fbx_lcl[p]);
			for (int k = 0; k < 3 && motions.count > 0; k++) {
				if (isfinite(motions.first->otherwise[k]))
					parts[p][k] = motions.first->otherwise[k];
				else if (motions.first->curves[k])
					parts[p][k] = motions.first->curves[k]->keys[0].value;
			}
		}
		hob_fbx_place(&node->rig, node->translation, node->rotation, node->scaling, &node->rest);
	}
}

void hob_fbx_read_stacks(hob_fbx *f)
{
	gather g = {.f = f};
	hob_fbx_anim *anim = f->anim = HOB_NEW(f->scratch, hob_fbx_anim, 1);
	g.curve_of = HOB_NEW(f->scratch, hob_fbx_curve *, f->object_count);
	g.curve_read = HOB_NEW(f->scratch, bool, f->object_count);
	gather_all(&g);
	if (g.left_out > 0)
		hob_fbx_info(
			f, "curves",
			"%u animated properties are left out: only place, turn, size, visibility and shapes move",
			g.left_out);
	anim->clips = hob_lists_array(f->scratch, &g.clips, sizeof *anim->clips, &anim->clip_count);
	anim->layers = hob_lists_array(f->scratch, &g.layers, sizeof *anim->layers, &anim->layer_count);
	anim->motions = hob_lists_array(f->scratch, &g.motions, sizeof *anim->motions, &anim->motion_count);
	if (anim->motion_count > 1)
		qsort(anim->motions, anim->motion_count, sizeof *anim->motions, compare_motions);
	times_of_keys(anim);
	mark_nodes(f);
	if (f->version > 0 && f->version < 6000)
		rest_from_take(f);
}
