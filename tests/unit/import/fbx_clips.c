/* Curves and layers of FBX clips. Values of tangents and layers without a calculation in a comment are those
 * of Autodesk's SDK for the same file (FBX2glTF 0.9.7, baked at 60 frames a second). */
#include "tests/unit/import/reader_fixture.h"

#include "core/import/motion.h"
#include "core/model/properties.h"

enum { CONSTANT = 2, LINEAR = 4, CUBIC = 8 };
enum {
	AUTO = 0x100,
	TCB = 0x200,
	USER = 0x400,
	BROKEN = 0x800,
	CLAMP = 0x1000,
	TIME_INDEPENDENT = 0x2000,
	PROGRESSIVE = 0x4000,
	WEIGHTED = 0x3000000
};

typedef struct key {
	double time, value;
	uint32_t flags;
	float data[2];
	uint32_t bits;
} key;

/* One animated node in a clip of two seconds. */
typedef struct scene {
	hob_buf objects, connections;
	int next;
	uint32_t layer;
} scene;

static int32_t bits_of(float value)
{
	int32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static void begin(scene *s, const char *node_properties)
{
	*s = (scene){.next = 100};
	hob_buf_printf(&s->objects,
				   " Model: 2, \"Model::m\", \"Null\" {\n  Properties70: {\n%s  }\n }\n"
				   " AnimationStack: 10, \"AnimStack::clip\", \"\" {\n  Properties70: {\n"
				   "   P: \"LocalStop\", \"KTime\", \"Time\", \"\",92372316000\n  }\n }\n",
				   node_properties);
	hob_buf_printf(&s->connections, " C: \"OO\",2,0\n");
}

static void add_layer(scene *s, const char *properties)
{
	s->layer = (uint32_t)s->next++;
	hob_buf_printf(&s->objects,
				   " AnimationLayer: %u, \"AnimLayer::l\", \"\" {\n  Properties70: {\n%s  }\n }\n", s->layer,
				   properties);
	hob_buf_printf(&s->connections, " C: \"OO\",%u,10\n", s->layer);
}

static void put_list(hob_buf *out, const char *name, const key *keys, size_t count, int what)
{
	hob_buf_printf(out, "  %s: *%zu {\n   a: ", name, count);
	for (size_t i = 0; i < count; i++) {
		const key *k = &keys[i];
		const char *comma = i > 0 ? "," : "";
		if (what == 0)
			hob_buf_printf(out, "%s%lld", comma, (long long)(k->time * 46186158000.0));
		else if (what == 1)
			hob_buf_printf(out, "%s%.9g", comma, k->value);
		else if (what == 2)
			hob_buf_printf(out, "%s%u", comma, k->flags);
		else if (what == 3)
			hob_buf_printf(out, "%s%d,%d,%d,0", comma, bits_of(k->data[0]), bits_of(k->data[1]),
						   (int32_t)k->bits);
		else
			hob_buf_printf(out, "%s1", comma);
	}
	hob_buf_printf(out, "\n  }\n");
}

/* Adds a curve for the X of the node's property in the current layer. */
static void add_curve(scene *s, const char *property, const key *keys, size_t count, const char *more)
{
	static const char *const names[] = {"KeyTime", "KeyValueFloat", "KeyAttrFlags", "KeyAttrDataFloat",
										"KeyAttrRefCount"};
	int node = s->next++, curve = s->next++;
	hob_buf_printf(&s->objects,
				   " AnimationCurveNode: %d, \"AnimCurveNode::T\", \"\" {\n }\n"
				   " AnimationCurve: %d, \"AnimCurve::\", \"\" {\n  KeyVer: 4009\n",
				   node, curve);
	for (int what = 0; what < 5; what++)
		put_list(&s->objects, names[what], keys, count, what);
	hob_buf_printf(&s->objects, "%s }\n", more);
	hob_buf_printf(&s->connections, " C: \"OO\",%d,%u\n C: \"OP\",%d,2,\"%s\"\n C: \"OP\",%d,%d,\"d|X\"\n",
				   node, s->layer, node, property, curve, node);
}

static reader *run(scene *s)
{
	hob_buf text = {0};
	hob_buf_printf(
		&text,
		"; FBX 7.4.0 project file\nFBXHeaderExtension: {\n FBXVersion: 7400\n}\nObjects: {\n%.*s}\n"
		"Connections: {\n%.*s}\n",
		(int)s->objects.size, (const char *)s->objects.data, (int)s->connections.size,
		(const char *)s->connections.data);
	reader *r = reader_new(&hob_fbx_importer);
	reader_add_bytes(r, "model.fbx", text.data, text.size);
	reader_run_failing(r, 0, 0);
	assert_true(r->ok);
	hob_buf_release(&text);
	hob_buf_release(&s->objects);
	hob_buf_release(&s->connections);
	return r;
}

/* X of the only track. */
static double x_at(const reader *r, double time)
{
	assert_int_equal(r->model.clip_count, 1);
	assert_int_equal(r->model.clips[0].track_count, 1);
	const hob_track *track = &r->model.clips[0].tracks[0];
	bool cubic = track->interpolation == HOB_CUBICSPLINE;
	uint32_t stride = track->components * (cubic ? 3 : 1), i = 0;
	const float *values = track->values + (cubic ? track->components : 0);
	while (i + 1 < track->key_count && (double)track->times[i + 1] <= time)
		i++;
	if (i + 1 == track->key_count || time <= (double)track->times[0])
		return (double)values[(size_t)i * stride];
	double from = (double)track->times[i], span = (double)track->times[i + 1] - from,
		   u = (time - from) / span;
	double a = (double)values[(size_t)i * stride], b = (double)values[(size_t)(i + 1) * stride];
	if (track->interpolation == HOB_STEP)
		return a;
	if (!cubic)
		return a + (b - a) * u;
	double out = (double)values[(size_t)i * stride + track->components] * span;
	double in = (double)track->values[(size_t)(i + 1) * stride] * span;
	double c = 3 * (b - a) - 2 * out - in, d = out + in - 2 * (b - a);
	return a + u * (out + u * (c + u * d));
}

static void expect(const reader *r, const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double time = 2.0 * (double)i / (double)(count - 1), found = x_at(r, time);
		if (fabs(found - values[i]) > 2e-4)
			fail_msg("at %g s: %.6g, expected %.6g", time, found, values[i]);
	}
}

static void tangents_are_those_of_the_sdk(void **state)
{
	(void)state;
	static const struct {
		uint32_t flags;
		float data[2];
		float third;
		uint32_t weights;
		double values[9]; /* every quarter of a second, metres */
	} rows[] = {
		{AUTO, {0, 0}, 0, 0, {0, .65625, 1, .34146, .29336, .46499, .6, .60781, .6}},
		{AUTO | TIME_INDEPENDENT, {0, 0}, 0, 0, {0, .58929, 1, .38422, .40559, .51395, .6, .60962, .6}},
		{AUTO | TIME_INDEPENDENT | PROGRESSIVE, {0, 0}, 0, 0, {0, .5, 1, .40225, .46328, .55361, .6, .6, .6}},
		{AUTO | TIME_INDEPENDENT | CLAMP, {0, 0}, 0, 0, {0, .58929, 1, .38467, .41641, .53213, .6, .6, .6}},
		{AUTO, {50, -50}, 0, 0, {0, .73438, 1, .37734, .39297, .51602, .6, .60391, .6}},
		{AUTO, {-800, -400}, 0, 0, {0, 1.05625, 1, -.38657, -1.6168, -.36753, .6, .89531, .6}},
		{TCB, {-.7f, -.3f}, .6f, 0, {0, .43412, 1, .2803, .11046, .35392, .6, .61488, .6}},
	};
	static const double points[5][2] = {{0, 0}, {.5, 100}, {.7, 40}, {1.5, 60}, {2, 60}};
	for (size_t row = 0; row < HOB_COUNT_OF(rows); row++) {
		key keys[5];
		scene s;
		for (size_t i = 0; i < 5; i++)
			keys[i] = (key){points[i][0],
							points[i][1],
							CUBIC | rows[row].flags,
							{rows[row].data[0], rows[row].data[1]},
							(uint32_t)bits_of(rows[row].third)};
		begin(&s, "");
		add_layer(&s, "");
		add_curve(&s, "Lcl Translation", keys, 5, "");
		reader *r = run(&s);
		expect(r, rows[row].values, 9);
		reader_free(r);
	}
}

static void weighted_tangents_are_sampled_closely(void **state)
{
	(void)state;
	static const double points[5][2] = {{0, 0}, {.5, 100}, {.7, 40}, {1.5, 60}, {2, 60}};
	static const double values[9] = {0, .50955, 1, .47941, .83936, .75056, .6, .92879, .6};
	key keys[5];
	scene s;
	for (size_t i = 0; i < 5; i++)
		keys[i] = (key){points[i][0],
						points[i][1],
						CUBIC | USER | BROKEN | WEIGHTED,
						{100 + 30 * (float)i, -50 + 20 * (float)i},
						8000u | 6000u << 16};
	begin(&s, "");
	add_layer(&s, "");
	add_curve(&s, "Lcl Translation", keys, 5, "");
	reader *r = run(&s);
	expect(r, values, 9);
	reader_free(r);
}

static void constant_keys_step_and_may_show_the_next_value(void **state)
{
	(void)state;
	for (int next = 0; next < 2; next++) {
		key keys[2] = {{0, 10, CONSTANT | (next ? AUTO : 0u), {0, 0}, 0}, {2, 30, CONSTANT, {0, 0}, 0}};
		scene s;
		begin(&s, "");
		add_layer(&s, "");
		add_curve(&s, "Lcl Translation", keys, 2, "");
		reader *r = run(&s);
		assert_int_equal(r->model.clips[0].tracks[0].interpolation, HOB_STEP);
		assert_true(fabs(x_at(r, 1) - (next ? .3 : .1)) < 1e-6);
		reader_free(r);
	}
}

/* 0, 10, 0 at 0, 1, 2 s. A cubic key without a tangent type has an automatic tangent: at an end along the
 * adjacent line, in the middle along the line between the neighbours, which is flat. With user tangents of 0
 * the first half would be 5 at 0.5 s. */
static void cubic_keys_without_a_mode_are_automatic(void **state)
{
	(void)state;
	key keys[3] = {{0, 0, CUBIC, {0, 0}, 0}, {1, 10, CUBIC, {0, 0}, 0}, {2, 0, CUBIC, {0, 0}, 0}};
	key named[3];
	memcpy(named, keys, sizeof keys);
	for (int k = 0; k < 3; k++)
		named[k].flags |= AUTO;
	double value[2];
	for (int with = 0; with < 2; with++) {
		scene s;
		begin(&s, "");
		add_layer(&s, "");
		add_curve(&s, "Lcl Translation", with ? named : keys, 3, "");
		reader *r = run(&s);
		value[with] = x_at(r, .5);
		reader_free(r);
	}
	/* Hermite of slopes 10 and 0: 10 * (0.125) + 5 = 6.25 cm. */
	assert_true(fabs(value[0] - .0625) < 1e-6);
	assert_true(fabs(value[1] - value[0]) < 1e-9);
}

/* X of a node in a file of version 6.1 whose take has these keys. */
static double take_at(const char *keys, int version, double time)
{
	static char text[4096];
	snprintf(text, sizeof text,
			 "; FBX 6.1.0 project file\nFBXHeaderExtension: {\n FBXVersion: 6100\n}\nObjects: {\n"
			 " Model: \"Model::m\", \"Null\" {\n }\n}\nConnections: {\n Connect: \"OO\", \"Model::m\", "
			 "\"Model::Scene\"\n}\n"
			 "Takes: {\n Take: \"clip\" {\n  LocalTime: 0,92372316000\n  Model: \"Model::m\" {\n"
			 "   Channel: \"Transform\" {\n    Channel: \"T\" {\n     Channel: \"X\" {\n      Default: 0\n"
			 "      KeyVer: %d\n      KeyCount: 3\n      Key: %s\n     }\n    }\n   }\n  }\n }\n}\n",
			 version, keys);
	reader *r = reader_new(&hob_fbx_importer);
	reader_add(r, "model.fbx", text);
	reader_model(r);
	assert_int_equal(r->model.clip_count, 1);
	double x = x_at(r, time);
	reader_free(r);
	return x;
}

/* Keys at 0 and 2 s. The numbers of a key depend on its letters and the version: a row is read to its end
 * only if all of its numbers were consumed. */
static void takes_have_letters_for_their_keys(void **state)
{
	(void)state;
#define END "92372316000,30"
	static const struct {
		const char *keys;
		int version;
		double middle; /* at 1 s, cm */
	} rows[] = {
		{"0,10,L," END ",L", 4005, 20},
		{"0,10,C,s," END ",C,s", 4005, 10},				 /* constant: keeps this key's value */
		{"0,10,C,n," END ",C,n", 4005, 30},				 /* constant: takes the next key's value */
		{"0,10,C,46186158000,25,L," END ",L", 4003, 25}, /* versions before 4005 write no s or n */
		{"0,10,U,s,0,0,n," END ",U,s,0,0,n", 4005, 20},
		{"0,10,U,s,40,0,n," END ",U,s,0,0,n", 4005, 30}, /* out-tangent of 40 cm/s: 20 + 40 * 2 / 8 */
		{"0,10,U,b,40,0,n," END ",U,s,0,0,n", 4005, 30},
		{"0,10,U,s,40,0," END ",U,s,0,0", 4003, 30}, /* no weight */
		{"0,10,U,a,n," END ",U,a,n", 4005, 20},
		{"0,10,U,a," END ",U,a", 4003, 20},
		{"0,10,U,t,0,0,0," END ",U,t,0,0,0", 4005, 20},
		{"0,10,U,d,0,n," END ",U,d,0,n", 4005, 20},
		{"0,10,U,p,0,0,n,n," END ",U,p,0,0,n,n", 4005, 20},
		{"0,10,U,p,0,0,n," END ",U,p,0,0,n", 4004, 20},
		{"0,10,U,s,0,0,a,0.3333333,0.3333333," END ",U,s,0,0,n", 4005, 20},
	};
#undef END
	for (size_t k = 0; k < HOB_COUNT_OF(rows); k++) {
		double x = take_at(rows[k].keys, rows[k].version, 1) * 100;
		if (fabs(x - rows[k].middle) > 1e-3)
			fail_msg("%s: %g, expected %g", rows[k].keys, x, rows[k].middle);
	}
}

/* Extrapolates linear keys of 0 at 0.5 s and 10 at 1 s. */
static void curves_go_on_beyond_their_keys(void **state)
{
	(void)state;
	static const struct {
		char type;
		int times;
		double at_0, at_1_25, at_1_75;
	} rows[] = {
		{'C', -1, 0, .1, .1},	 {'K', -1, -.1, .15, .25}, {'R', -1, 0, .05, .05},
		{'M', -1, .1, .05, .05}, {'A', -1, -.1, .15, .25}, {'A', 1, -.1, .15, .2},
	};
	for (size_t row = 0; row < HOB_COUNT_OF(rows); row++) {
		key keys[2] = {{.5, 0, LINEAR, {0, 0}, 0}, {1, 10, LINEAR, {0, 0}, 0}};
		char more[256];
		scene s;
		snprintf(more, sizeof more,
				 "  Pre-Extrapolation: {\n   Type: \"%c\"\n   Repetition: %d\n  }\n"
				 "  Post-Extrapolation: {\n   Type: \"%c\"\n   Repetition: %d\n  }\n",
				 rows[row].type, rows[row].times, rows[row].type, rows[row].times);
		begin(&s, "");
		add_layer(&s, "");
		add_curve(&s, "Lcl Translation", keys, 2, more);
		reader *r = run(&s);
		double found[3] = {x_at(r, 1e-6), x_at(r, 1.25), x_at(r, 1.75)},
			   wanted[3] = {rows[row].at_0, rows[row].at_1_25, rows[row].at_1_75};
		for (int i = 0; i < 3; i++)
			if (fabs(found[i] - wanted[i]) > 2e-3)
				fail_msg("type %c, number %d: %g, expected %g", rows[row].type, i, found[i], wanted[i]);
		reader_free(r);
	}
}

static void slopes_of_weighted_ends_go_on(void **state)
{
	(void)state;
	const uint32_t flags = CUBIC | USER | BROKEN | WEIGHTED;
	key keys[2] = {{.5, 0, flags, {4, 8}, 2000 | 5000u << 16}, {1, 10, flags, {0, 0}, 0}};
	scene s;
	begin(&s, "");
	add_layer(&s, "");
	add_curve(&s, "Lcl Translation", keys, 2,
			  "  Pre-Extrapolation: {\n   Type: \"K\"\n  }\n  Post-Extrapolation: {\n   Type: \"K\"\n  }\n");
	reader *r = run(&s);
	assert_true(fabs(x_at(r, 0) + .02) < 1e-5);
	assert_true(fabs(x_at(r, 2) - .18) < 1e-5);
	reader_free(r);
}

/* Each repetition jumps back to the first value right after the last key, but not at the clip's end. */
static void repetitions_begin_at_once(void **state)
{
	(void)state;
	key keys[3] = {{0, 0, LINEAR, {0, 0}, 0}, {.3, 30, LINEAR, {0, 0}, 0}, {.5, 10, LINEAR, {0, 0}, 0}};
	const double times[] = {.4999, .5001, .8, 1.0001, 1.3, 1.9999, 2}, values[] = {.1, 0, .3, 0, .3, .1, .1};
	scene s;
	begin(&s, "");
	add_layer(&s, "");
	add_curve(&s, "Lcl Translation", keys, 3,
			  "  Post-Extrapolation: {\n   Type: \"R\"\n   Repetition: -1\n  }\n");
	reader *r = run(&s);
	for (size_t i = 0; i < HOB_COUNT_OF(times); i++)
		if (fabs(x_at(r, times[i]) - values[i]) > 2e-4)
			fail_msg("at %g s: %g, expected %g", times[i], x_at(r, times[i]), values[i]);
	reader_free(r);
}

/* A node with 90 degrees about Z and order ZYX, a quaternion layer of 0, and a layer that adds 40 degrees
 * about X, which applies last: Rx(40) * Rz(90). */
static void angles_may_be_added_behind_a_quaternion(void **state)
{
	(void)state;
	key still[1] = {{0, 0, LINEAR, {0, 0}, 0}}, more[1] = {{0, 40, LINEAR, {0, 0}, 0}};
	scene s;
	begin(&s, "   P: \"Lcl Rotation\", \"\", \"\", \"A\",0,0,90\n"
			  "   P: \"RotationOrder\", \"enum\", \"\", \"\",5\n");
	add_layer(&s, "");
	add_layer(&s, "");
	add_curve(&s, "Lcl Rotation", still, 1, "");
	add_layer(&s, "   P: \"RotationAccumulationMode\", \"enum\", \"\", \"\",1\n");
	add_curve(&s, "Lcl Rotation", more, 1, "");
	reader *r = run(&s);
	const float *q = r->model.clips[0].tracks[0].values;
	const double wanted[4] = {.2418448, -.2418448, .6644630, .6644630};
	for (int i = 0; i < 4; i++)
		assert_true(fabs((double)q[i] - wanted[i]) < 1e-5);
	reader_free(r);
}

/* A base that goes from 0 to 50 (scale: 1 to 3) and a layer from 20 to -30 (scale: 2 to 1), at weight 40. */
static void layers_blend_by_weight_and_mode(void **state)
{
	(void)state;
	static const struct {
		const char *property, *layer;
		double at_0, at_2;
	} rows[] = {
		{"Lcl Translation", "\"BlendMode\", \"enum\", \"\", \"\",0", .08, .38},
		{"Lcl Translation", "\"BlendMode\", \"enum\", \"\", \"\",1", .2, -.3},
		{"Lcl Translation", "\"BlendMode\", \"enum\", \"\", \"\",2", .08, .18},
		{"Lcl Translation", "\"Mute\", \"bool\", \"\", \"\",1", 0, .5},
		{"Lcl Translation", "\"Solo\", \"bool\", \"\", \"\",1", .08, -.12},
		{"Lcl Scaling", "\"BlendMode\", \"enum\", \"\", \"\",0", 1.3195, 3},
		{"Lcl Scaling", "\"BlendMode\", \"enum\", \"\", \"\",2", 1.3195, 1.9332},
		{"Lcl Scaling", "\"ScaleAccumulationMode\", \"enum\", \"\", \"\",1", 1.8, 3.4},
	};
	for (size_t row = 0; row < HOB_COUNT_OF(rows); row++) {
		bool scale = strcmp(rows[row].property, "Lcl Scaling") == 0;
		key base[2] = {{0, scale ? 1 : 0, LINEAR, {0, 0}, 0}, {2, scale ? 3 : 50, LINEAR, {0, 0}, 0}};
		key more[2] = {{0, scale ? 2 : 20, LINEAR, {0, 0}, 0}, {2, scale ? 1 : -30, LINEAR, {0, 0}, 0}};
		char properties[256];
		scene s;
		snprintf(properties, sizeof properties, "   P: \"Weight\", \"Number\", \"\", \"A\",40\n   P: %s\n",
				 rows[row].layer);
		begin(&s, "");
		add_layer(&s, "");
		add_curve(&s, rows[row].property, base, 2, "");
		add_layer(&s, properties);
		add_curve(&s, rows[row].property, more, 2, "");
		reader *r = run(&s);
		if (fabs(x_at(r, 0) - rows[row].at_0) > 1e-4 || fabs(x_at(r, 2) - rows[row].at_2) > 1e-4)
			fail_msg("%s, %s: %g to %g", rows[row].property, rows[row].layer, x_at(r, 0), x_at(r, 2));
		reader_free(r);
	}
}

/* About X by 90 degrees in two seconds: at the middle 45, with the half-angle sine 0.3827. */
static void turns_about_one_axis_are_two_keys(void **state)
{
	(void)state;
	key keys[2] = {{0, 0, LINEAR, {0, 0}, 0}, {2, 90, LINEAR, {0, 0}, 0}};
	scene s;
	begin(&s, "");
	add_layer(&s, "");
	add_curve(&s, "Lcl Rotation", keys, 2, "");
	reader *r = run(&s);
	assert_int_equal(r->model.clips[0].tracks[0].key_count, 2);
	assert_true(fabs(x_at(r, 2) - 0.70710678) < 1e-6);
	reader_free(r);
}

/* 60 degrees from rest to rest within one frame: at the middle the cubic crosses its chord, at a quarter it
 * is 9.375. */
static void cubics_within_a_frame_are_sampled(void **state)
{
	(void)state;
	const uint32_t flags = CUBIC | USER | BROKEN;
	key keys[2] = {{0, 0, flags, {0, 0}, 0}, {1 / 30.0, 60, flags, {0, 0}, 0}};
	scene s;
	begin(&s, "");
	add_layer(&s, "");
	add_curve(&s, "Lcl Rotation", keys, 2, "");
	reader *r = run(&s);
	assert_true(fabs(x_at(r, 1 / 120.0) - .0817213) < 1e-4);
	assert_true(fabs(x_at(r, 1 / 60.0) - .2588190) < 1e-4);
	reader_free(r);
}

/* The pivot of a quarter turn moves from 0 to 1 m along X. */
static void pivots_may_move(void **state)
{
	(void)state;
	key keys[2] = {{0, 0, LINEAR, {0, 0}, 0}, {2, 100, LINEAR, {0, 0}, 0}};
	scene s;
	begin(&s, "   P: \"Lcl Rotation\", \"\", \"\", \"A\",0,0,90\n");
	add_layer(&s, "");
	add_curve(&s, "RotationPivot", keys, 2, "");
	reader *r = run(&s);
	expect(r, (double[]){0, .5, 1}, 3);
	assert_true(fabsf(r->model.clips[0].tracks[0].values[r->model.clips[0].tracks[0].key_count * 3 - 2] + 1) <
				1e-5f);
	reader_free(r);
}

/* Compares the angle of the clip's first track about an axis with the curve: two keys that are several
 * revolutions apart. */
static void whole_turns_between_keys_are_kept(void **state)
{
	(void)state;
	static const struct {
		double to;
		uint32_t flags;
	} cases[] = {{720, LINEAR}, {600, LINEAR},	{-900, LINEAR},
				 {540, LINEAR}, {7200, LINEAR}, {1080, CUBIC | USER}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		key keys[2] = {{0, 0, cases[i].flags, {(float)cases[i].to / 2, (float)cases[i].to / 2}, 0},
					   {2, cases[i].to, cases[i].flags, {0, 0}, 0}};
		scene s;
		begin(&s, "");
		add_layer(&s, "");
		add_curve(&s, "Lcl Rotation", keys, 2, "");
		reader *r = run(&s);
		assert_int_equal(r->model.clip_count, 1);
		const hob_track *track = &r->model.clips[0].tracks[0];
		for (double time = 0; time < 2; time += 1.0 / 64) {
			uint32_t at = 0;
			while (at + 2 < track->key_count && (double)track->times[at + 1] < time)
				at++;
			const float *a = track->values + (size_t)at * 4, *b = a + 4;
			double u =
				(time - (double)track->times[at]) / ((double)track->times[at + 1] - (double)track->times[at]);
			double first = 2 * atan2((double)a[0], (double)a[3]),
				   last = 2 * atan2((double)b[0], (double)b[3]);
			double way = remainder(last - first, 4 * 3.14159265358979323846);
			double wanted = cases[i].to / 2 * time * 3.14159265358979323846 / 180;
			assert_true(fabs(way) < 3.1415);
			assert_true(fabs(remainder(first + way * u - wanted, 2 * 3.14159265358979323846)) < 0.001);
		}
		reader_free(r);
	}
}

/* x at 1 s of a motion from 0 to 1, for a text of KeyAttrDataFloat in a file of KeyVer 4008. */
static double x_with_slopes(const char *data, bool *warned)
{
	char text[1600];
	snprintf(
		text, sizeof text,
		" AnimationCurveNode: 20, \"AnimCurveNode::T\", \"\" {\n }\n AnimationCurve: 21, \"AnimCurve::\", "
		"\"\" {\n  KeyVer: 4008\n  KeyTime: *2 {\n   a: 0,92372316000\n  }\n"
		"  KeyValueFloat: *2 {\n   a: 0,100\n  }\n"
		"  KeyAttrFlags: *2 {\n   a: 50332680,16778248\n  }\n  KeyAttrDataFloat: *8 {\n   a: %s\n  }\n"
		"  KeyAttrRefCount: *2 {\n   a: 1,1\n  }\n }\n",
		data);
	scene s;
	begin(&s, "");
	add_layer(&s, "");
	hob_buf_printf(&s.objects, "%s", text);
	hob_buf_printf(&s.connections,
				   " C: \"OO\",20,%u\n C: \"OP\",20,2,\"Lcl Translation\"\n C: \"OP\",21,20,\"d|X\"\n",
				   s.layer);
	reader *r = run(&s);
	double x = x_at(r, 1);
	*warned = false;
	hob_notes notes = {.arena = &r->result};
	hob_check_motion(&r->model, &r->scratch, &notes);
	*warned = notes.count > 0;
	reader_free(r);
	return x;
}

/* 1120403456 are the bits of 100, 1065353216 those of 1; slopes are per second and the motion takes two. */
static void slopes_of_4008_are_numbers_or_bits(void **state)
{
	(void)state;
	static const struct {
		const char *data;
		double x;
	} cases[] = {
		{"0,0,218434821,0,0,0,218434821,0", .5},
		{"0,-2147483648,218434821,0,0,0,218434821,0", .5},
		{"-2147483648,0,218434821,0,0,0,218434821,0", .5},
		{"1120403456,-2147483648,218434821,0,0,0,218434821,0", .75},
		{"-1027080192,0,218434821,0,0,0,218434821,0", .25},
		{"100,0,218434821,0,0,0,218434821,0", .75},
		{"-100,0,218434821,0,0,0,218434821,0", .25},
		{"1.5,0,218434821,0,0,0,218434821,0", .50375},
	};
	bool warned;
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		double x = x_with_slopes(cases[i].data, &warned);
		if (!(fabs(x - cases[i].x) < 1e-3))
			fail_msg("%s: %g", cases[i].data, x);
		assert_false(warned);
	}
	(void)x_with_slopes("1120403456,3,218434821,0,0,0,218434821,0", &warned);
	assert_true(warned);
}

static void visibility_shows_and_hides(void **state)
{
	(void)state;
	static const struct {
		key keys[3];
		uint32_t count;
		float times[4], values[4];
	} cases[] = {
		{{{0, 0, CONSTANT, {0, 0}, 0}, {1, 1, CONSTANT, {0, 0}, 0}, {2, 1, CONSTANT, {0, 0}, 0}},
		 3,
		 {0, 1, 2},
		 {0, 1, 1}},
		{{{0, 1, LINEAR, {0, 0}, 0}, {1, 0, LINEAR, {0, 0}, 0}, {2, 0, LINEAR, {0, 0}, 0}},
		 3,
		 {0, 1, 2},
		 {1, 0, 0}},
		{{{0, 1, CONSTANT, {0, 0}, 0}, {.5, 0, CONSTANT, {0, 0}, 0}, {1.5, 1, CONSTANT, {0, 0}, 0}},
		 4,
		 {0, .5f, 1.5f, 2},
		 {1, 0, 1, 1}},
		{{{0, 1, LINEAR, {0, 0}, 0}, {1, .5, LINEAR, {0, 0}, 0}, {2, 1, LINEAR, {0, 0}, 0}}, 0, {0}, {0}},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		scene s;
		begin(&s, "");
		add_layer(&s, "");
		add_curve(&s, "Visibility", cases[i].keys, 3, "");
		reader *r = run(&s);
		assert_int_equal(r->model.clip_count, cases[i].count > 0);
		if (cases[i].count > 0) {
			const hob_clip *clip = &r->model.clips[0];
			assert_int_equal(clip->channel_count, 0);
			assert_int_equal(clip->property_count, 1);
			assert_int_equal(clip->properties[0].property, HOB_PROPERTY_NODE_VISIBLE);
			assert_int_equal(clip->properties[0].index, 0);
			const hob_track *track = &clip->tracks[clip->properties[0].track];
			assert_int_equal(track->interpolation, HOB_STEP);
			assert_int_equal(track->key_count, cases[i].count);
			for (uint32_t k = 0; k < cases[i].count; k++) {
				assert_true(fabsf(track->times[k] - cases[i].times[k]) < 1e-6f);
				assert_true(fabsf(track->values[k] - cases[i].values[k]) < 1e-6f);
			}
		}
		reader_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tangents_are_those_of_the_sdk),
		cmocka_unit_test(weighted_tangents_are_sampled_closely),
		cmocka_unit_test(constant_keys_step_and_may_show_the_next_value),
		cmocka_unit_test(cubic_keys_without_a_mode_are_automatic),
		cmocka_unit_test(takes_have_letters_for_their_keys),
		cmocka_unit_test(curves_go_on_beyond_their_keys),
		cmocka_unit_test(slopes_of_weighted_ends_go_on),
		cmocka_unit_test(repetitions_begin_at_once),
		cmocka_unit_test(angles_may_be_added_behind_a_quaternion),
		cmocka_unit_test(layers_blend_by_weight_and_mode),
		cmocka_unit_test(turns_about_one_axis_are_two_keys),
		cmocka_unit_test(cubics_within_a_frame_are_sampled),
		cmocka_unit_test(pivots_may_move),
		cmocka_unit_test(whole_turns_between_keys_are_kept),
		cmocka_unit_test(slopes_of_4008_are_numbers_or_bits),
		cmocka_unit_test(visibility_shows_and_hides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
