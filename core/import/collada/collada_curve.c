#include "collada_private.h"

#include "../text.h"

#include <math.h>

typedef struct sampler {
	const hob_collada_source *input, *output, *in, *out;
	hob_collada_source held[4];
	hob_str modes;
} sampler;

static void read_inputs(hob_collada *c, hob_xml_ptr element, sampler *s)
{
	static const char *const names[] = {"INPUT", "OUTPUT", "IN_TANGENT", "OUT_TANGENT"};
	const hob_collada_source **places[] = {&s->input, &s->output, &s->in, &s->out};
	HOB_XML_EACH (e, element, "input") {
		hob_str semantic = hob_text_trim(hob_xml_attr(e, HOB_STR("semantic")));
		hob_xml_ptr source = hob_collada_target(c, e, "source", "source");
		if (hob_str_equal(semantic, HOB_STR("INTERPOLATION")))
			s->modes = hob_collada_names(source, NULL);
		for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
			if (!hob_str_equal(semantic, hob_str_of(names[i])))
				continue;
			const hob_collada_source *read = hob_collada_floats(c, source);
			if (read) {
				s->held[i] = *read;
				*places[i] = &s->held[i];
			}
		}
	}
}

/* Reads the tangent of component k, stored as a time and value per component, a value per component, or one
 * time for all before the values. False for another form. */
static bool control(const hob_collada_source *source, uint32_t key, uint32_t width, uint32_t k, bool *timed,
					float out[2])
{
	float item[32] = {0};
	if (!source || key >= source->count || width > 16)
		return false;
	hob_collada_item(source, key, item, 32);
	*timed = true;
	if (source->width == width * 2) {
		out[0] = item[k * 2], out[1] = item[k * 2 + 1];
	} else if (source->width == width + 1) {
		out[0] = item[0], out[1] = item[1 + k];
	} else if (source->width == width) {
		out[1] = item[k];
		*timed = false;
	} else {
		return false;
	}
	return true;
}

typedef struct word_list {
	hob_str rest, last;
} word_list;

/* A list that is too short repeats its last word. */
static hob_str next_mode(word_list *list)
{
	hob_str word = hob_text_word(&list->rest);
	if (word.len > 0)
		list->last = word;
	return list->last;
}

static float *tangent_at(float *list, const hob_collada_curve *curve, uint32_t key, uint32_t k)
{
	return list + ((size_t)key * curve->width + k) * 2;
}

/* Control points of a key: as stored for BEZIER, a third of the tangent for HERMITE. NaN, as for CARDINAL,
 * leaves them to close_segment. */
static void set_controls(const sampler *s, hob_collada_curve *curve, uint32_t key, uint32_t source_key,
						 hob_str mode)
{
	bool hermite = hob_str_equal(mode, HOB_STR("HERMITE")),
		 cardinal = hob_str_equal(mode, HOB_STR("CARDINAL"));
	float time = curve->times[key];
	for (uint32_t k = 0; k < curve->width; k++)
		for (int side = 0; side < 2; side++) {
			float *to = tangent_at(side ? curve->out : curve->in, curve, key, k), point[2];
			float value = curve->values[(size_t)key * curve->width + k];
			bool timed = false;
			to[0] = NAN; /* close_segment: at a third of the segment's length */
			to[1] = NAN; /* close_segment: on the straight line, or CARDINAL's */
			if (cardinal || !control(side ? s->out : s->in, source_key, curve->width, k, &timed, point))
				continue;
			if (hermite) {
				float sign = side ? 1.0f / 3 : -1.0f / 3;
				point[0] = time + point[0] * sign, point[1] = value + point[1] * sign;
			}
			to[1] = point[1];
			if (timed)
				to[0] = point[0];
		}
}

/* Sets the control points that set_controls left as NaN: on the segment's line, or for CARDINAL by a third of
 * the neighbours' chord. Clamps control times to the segment. */
static void close_segment(hob_collada_curve *curve, uint32_t key, bool cardinal)
{
	float t0 = curve->times[key], t1 = curve->times[key + 1], third = (t1 - t0) / 3;
	for (uint32_t k = 0; k < curve->width; k++) {
		float *out = tangent_at(curve->out, curve, key, k), *in = tangent_at(curve->in, curve, key + 1, k);
		const float *values = curve->values + k;
		size_t w = curve->width;
		float v0 = values[key * w], v1 = values[(key + 1) * w];
		float before = key > 0 ? values[(key - 1) * w] : v0;
		float after = key + 2 < curve->key_count ? values[(key + 2) * w] : v1;
		if (!(out[0] - out[0] == 0))
			out[0] = t0 + third;
		if (!(in[0] - in[0] == 0))
			in[0] = t1 - third;
		if (!(out[1] - out[1] == 0))
			out[1] = cardinal ? v0 + (v1 - before) / 6 : v0 + (v1 - v0) / 3;
		if (!(in[1] - in[1] == 0))
			in[1] = cardinal ? v1 - (after - v0) / 6 : v1 - (v1 - v0) / 3;
		out[0] = out[0] < t0 ? t0 : out[0] > t1 ? t1 : out[0];
		in[0] = in[0] < t0 ? t0 : in[0] > t1 ? t1 : in[0];
	}
}

static void make_room(hob_collada *c, const sampler *s, hob_collada_curve *out)
{
	hob_arena *scratch = c->request->scratch;
	size_t count = s->input->count, width = s->output->width;
	out->width = s->output->width;
	out->times = HOB_NEW(scratch, float, count);
	out->values = HOB_NEW(scratch, float, count *width);
	out->modes = HOB_NEW(scratch, uint8_t, count);
	bool bent = s->in || s->out || hob_str_find(s->modes, HOB_STR("CARDINAL"), 0) != SIZE_MAX;
	if (bent) {
		out->in = HOB_NEW(scratch, float, count *width * 2);
		out->out = HOB_NEW(scratch, float, count *width * 2);
	}
}

static void note_modes(hob_collada *c, hob_xml_ptr element, hob_str mode)
{
	if (mode.len > 0 &&
		!hob_text_is_one_of(mode, HOB_WORDS("LINEAR", "STEP", "BEZIER", "HERMITE", "CARDINAL")))
		hob_warn(c->request->notes, "collada.interpolation",
				 "line %u: interpolation '%.*s' is not read; its keys are joined by straight lines",
				 element->line, HOB_FMT(mode));
}

void hob_collada_read_curve(hob_collada *c, hob_xml_ptr element, hob_collada_curve *out)
{
	sampler s = {0};
	memset(out, 0, sizeof *out);
	read_inputs(c, element, &s);
	if (!s.input || !s.output || s.output->width == 0)
		return;
	if (s.input->count > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "line %u: %u keys, at most %llu are allowed", element->line, s.input->count,
				  HOB_LIMIT_KEYS);
	make_room(c, &s, out);
	word_list words = {s.modes, HOB_STR("LINEAR")};
	bool *cardinal = HOB_NEW(&c->work, bool, s.input->count);
	for (uint32_t i = 0; i < s.input->count && i < s.output->count; i++) {
		hob_str mode = next_mode(&words);
		float time = 0;
		hob_collada_item(s.input, i, &time, 1);
		uint32_t key = out->key_count;
		/* The later of two keys at the same time counts; a key that goes back in time is dropped. */
		if (key > 0 && time < out->times[key - 1])
			continue;
		if (key > 0 && !(time > out->times[key - 1]))
			key = --out->key_count;
		out->times[key] = time;
		hob_collada_item(s.output, i, out->values + (size_t)key * out->width, out->width);
		bool is_cardinal = hob_str_equal(mode, HOB_STR("CARDINAL"));
		bool bezier =
			(hob_str_equal(mode, HOB_STR("BEZIER")) || hob_str_equal(mode, HOB_STR("HERMITE"))) && out->in;
		out->modes[key] = bezier || is_cardinal					 ? HOB_COLLADA_BEZIER
						  : hob_str_equal(mode, HOB_STR("STEP")) ? HOB_COLLADA_STEP
																 : HOB_COLLADA_LINEAR;
		cardinal[key] = is_cardinal;
		note_modes(c, element, mode);
		if (out->in)
			set_controls(&s, out, key, i, mode);
		out->key_count++;
	}
	for (uint32_t key = 0; out->in && key + 1 < out->key_count; key++)
		if (out->modes[key] == HOB_COLLADA_BEZIER)
			close_segment(out, key, cardinal[key]);
}

static bool at_thirds(const hob_collada_curve *curve, uint32_t key)
{
	float t0 = curve->times[key], t1 = curve->times[key + 1], room = (t1 - t0) * 1e-3f;
	for (uint32_t k = 0; k < curve->width; k++)
		if (!(fabsf(tangent_at(curve->out, curve, key, k)[0] - (t0 + (t1 - t0) / 3)) <= room &&
			  fabsf(tangent_at(curve->in, curve, key + 1, k)[0] - (t1 - (t1 - t0) / 3)) <= room))
			return false;
	return true;
}

hob_collada_curve_kinds hob_collada_curve_kind(const hob_collada_curve *curve)
{
	hob_collada_curve_kinds kinds = {0};
	for (uint32_t key = 0; key + 1 < curve->key_count; key++) {
		bool bezier = curve->modes[key] == HOB_COLLADA_BEZIER, thirds = bezier && at_thirds(curve, key);
		kinds.step |= curve->modes[key] == HOB_COLLADA_STEP;
		kinds.linear |= curve->modes[key] == HOB_COLLADA_LINEAR;
		kinds.cubic |= thirds;
		kinds.bent |= bezier && !thirds;
	}
	return kinds;
}

static double bezier(double a, double b, double c, double d, double s)
{
	double r = 1 - s;
	return r * r * r * a + 3 * r * r * s * b + 3 * r * s * s * c + s * s * s * d;
}

static double bezier_slope(double a, double b, double c, double d, double s)
{
	double r = 1 - s;
	return 3 * (r * r * (b - a) + 2 * r * s * (c - b) + s * s * (d - c));
}

/* Solves for the parameter at time t: Newton steps, or bisection where they leave the segment. */
static double solve(double a, double b, double c, double d, double t)
{
	double low = 0, high = 1, s = d > a ? (t - a) / (d - a) : 0;
	for (int i = 0; i < 60; i++) {
		double off = bezier(a, b, c, d, s) - t;
		if (fabs(off) <= 1e-13 * (d - a))
			break;
		if (off > 0)
			high = s;
		else
			low = s;
		double slope = bezier_slope(a, b, c, d, s), next = slope > 0 ? s - off / slope : -1;
		s = next > low && next < high ? next : (low + high) / 2;
	}
	return s;
}

static double on_bezier(const hob_collada_curve *curve, uint32_t key, uint32_t k, double t, double *slope)
{
	const float *out = tangent_at(curve->out, curve, key, k), *in = tangent_at(curve->in, curve, key + 1, k);
	double t0 = (double)curve->times[key], t1 = (double)curve->times[key + 1], a = (double)out[0],
		   b = (double)in[0];
	double v0 = (double)curve->values[(size_t)key * curve->width + k];
	double v1 = (double)curve->values[(size_t)(key + 1) * curve->width + k];
	double s = at_thirds(curve, key) ? (t - t0) / (t1 - t0) : solve(t0, a, b, t1, t);
	if (slope) {
		double run = bezier_slope(t0, a, b, t1, s),
			   rise = bezier_slope(v0, (double)out[1], (double)in[1], v1, s);
		if (at_thirds(curve, key))
			run = t1 - t0;
		*slope = run > 0 ? rise / run : 0;
	}
	return bezier(v0, (double)out[1], (double)in[1], v1, s);
}

double hob_collada_curve_at(const hob_collada_curve *curve, uint32_t k, double t, bool left, double *slope)
{
	uint32_t low = 0, high = curve->key_count;
	const float *values = curve->values + k;
	size_t w = curve->width;
	if (slope)
		*slope = 0;
	/* The last key at or before t; strictly before t for the left side. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		double time = (double)curve->times[middle];
		if (left ? time < t : time <= t)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return (double)values[0];
	uint32_t key = low - 1;
	if (key + 1 >= curve->key_count)
		return (double)values[(size_t)key * w];
	double t0 = (double)curve->times[key], t1 = (double)curve->times[key + 1];
	double v0 = (double)values[key * w], v1 = (double)values[(key + 1) * w];
	if (curve->modes[key] == HOB_COLLADA_STEP)
		return v0;
	if (curve->modes[key] == HOB_COLLADA_BEZIER)
		return on_bezier(curve, key, k, t, slope);
	if (slope)
		*slope = (v1 - v0) / (t1 - t0);
	return v0 + (v1 - v0) * ((t - t0) / (t1 - t0));
}
