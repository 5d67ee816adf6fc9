/* Value clips: files with a prim's animation. tests/oracle/usd_live.mjs compares the rules with OpenUSD. */
#include "tests/unit/import/reader_fixture.h"

static reader *stage(const char *clips)
{
	static char text[2048];
	reader *r = reader_new(&hob_usd_importer);
	snprintf(
		text, sizeof text,
		"#usda 1.0\n(metersPerUnit = 1\n timeCodesPerSecond = 10\n startTimeCode = 0\n endTimeCode = 2)\n"
		"def Cube \"M\" (clips = { dictionary default = { string primPath = \"/C\"\n%s } })\n"
		"{ double3 xformOp:translate\nuniform token[] xformOpOrder = [\"xformOp:translate\"] }\n",
		clips);
	reader_add(r, "stage.usda", text);
	return r;
}

static void add_clip(reader *r, const char *path, const char *samples)
{
	static char text[4][256];
	static int next;
	char *to = text[next++ % 4];
	snprintf(to, sizeof text[0], "#usda 1.0\ndef \"C\" { double3 xformOp:translate.timeSamples = { %s } }\n",
			 samples);
	reader_add(r, path, to);
}

static void expect_motion(reader *r, const float *times, const float *places, uint32_t count)
{
	const hob_model *m = reader_model(r);
	assert_int_equal(m->clip_count, 1);
	const hob_track *track = &m->clips[0].tracks[0];
	assert_int_equal(track->key_count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_near(track->times[i], times[i]);
		assert_near(track->values[(size_t)i * 3], places[i]);
	}
	reader_free(r);
}

static void one_clip_has_a_time_of_its_own(void **state)
{
	(void)state;
	reader *r = stage("asset[] assetPaths = [@c.usda@]\ndouble2[] active = [(0, 0)]\n"
					  "double2[] times = [(0, 10), (2, 14)]");
	add_clip(r, "c.usda", "10: (1, 0, 0), 12: (5, 0, 0), 14: (6, 0, 0)");
	expect_motion(r, (const float[]){0, 0.1f, 0.2f}, (const float[]){1, 5, 6}, 3);
}

static void files_come_by_a_pattern(void **state)
{
	(void)state;
	reader *r = stage("asset templateAssetPath = @c.##.usda@\ndouble templateStartTime = 0\n"
					  "double templateEndTime = 2\ndouble templateStride = 1");
	add_clip(r, "c.00.usda", "0: (1, 0, 0)");
	add_clip(r, "c.01.usda", "1: (4, 0, 0)");
	add_clip(r, "c.02.usda", "2: (9, 0, 0)");
	expect_motion(r, (const float[]){0, 0.1f, 0.2f}, (const float[]){1, 4, 9}, 3);
}

/* A missing file is a warning and a dependency, and so is the manifest; attributes outside it are ignored. */
static void the_manifest_says_what_counts(void **state)
{
	(void)state;
	reader *r = stage("asset[] assetPaths = [@c.usda@, @none.usda@]\nasset manifestAssetPath = @m.usda@\n"
					  "double2[] active = [(0, 0), (1, 1)]\ndouble2[] times = [(0, 0), (2, 2)]");
	add_clip(r, "c.usda", "0: (1, 0, 0), 2: (3, 0, 0)");
	reader_add(r, "m.usda", "#usda 1.0\ndef \"C\" { float other }\n");
	assert_int_equal(reader_model(r)->clip_count, 0);
	assert_true(reader_noted(r, "usd.layer-missing"));
	assert_true(memory_io_logged(&r->io, "?none.usda"));
	reader_free(r);
}

static void too_many_are_refused(void **state)
{
	(void)state;
	reader *r = stage("asset templateAssetPath = @c.#.usda@\ndouble templateStartTime = 0\n"
					  "double templateEndTime = 1e9\ndouble templateStride = 1");
	assert_false(reader_run(r));
	assert_int_equal(r->error.code, HOB_ERR_LIMIT);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_clip_has_a_time_of_its_own),
		cmocka_unit_test(files_come_by_a_pattern),
		cmocka_unit_test(the_manifest_says_what_counts),
		cmocka_unit_test(too_many_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
