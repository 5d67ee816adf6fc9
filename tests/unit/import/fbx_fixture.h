/* fbx_fixture.h - small ASCII files: a square of one metre, extended by each test. */
#ifndef HOB_TEST_FBX_FIXTURE_H
#define HOB_TEST_FBX_FIXTURE_H

#include "tests/unit/import/reader_fixture.h"

static const char head[] = "; FBX 7.4.0 project file\nFBXHeaderExtension: {\n FBXVersion: 7400\n}\n";
static const char quad[] = " Geometry: 1, \"Geometry::g\", \"Mesh\" {\n"
						   "  Vertices: *12 {\n   a: 0,0,0,100,0,0,100,100,0,0,100,0\n  }\n"
						   "  PolygonVertexIndex: *4 {\n   a: 0,1,2,-4\n  }\n }\n";

static inline reader *read_text(const char *settings, const char *objects, const char *connections)
{
	static char text[16384];
	reader *r = reader_new(&hob_fbx_importer);
	snprintf(text, sizeof text, "%s%sObjects: {\n%s}\nConnections: {\n%s}\n", head, settings, objects,
			 connections);
	reader_add(r, "folder/model.fbx", text);
	reader_run_failing(r, 0, 0);
	return r;
}

static inline reader *read_quad(const char *settings, const char *model_props, const char *more,
								const char *connections)
{
	char objects[8192], all[4096];
	snprintf(objects, sizeof objects,
			 "%s Model: 2, \"Model::m\", \"Mesh\" {\n  Properties70: {\n%s  }\n }\n%s", quad, model_props,
			 more);
	snprintf(all, sizeof all, " C: \"OO\",1,2\n C: \"OO\",2,0\n%s", connections);
	reader *r = read_text(settings, objects, all);
	assert_true(r->ok);
	return r;
}

static inline void near(float a, double b)
{
	assert_true(fabs((double)a - b) < 1e-5);
}

#endif
