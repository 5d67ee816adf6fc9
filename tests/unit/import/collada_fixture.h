/* collada_fixture.h - builds COLLADA documents from small pieces. */
#ifndef HOB_TEST_COLLADA_FIXTURE_H
#define HOB_TEST_COLLADA_FIXTURE_H

#include "reader_fixture.h"

#define NUMBERS(id, count, width, list)                                                                      \
	"<source id='" id "'><float_array id='" id "-a' count='" count "'>" list                                 \
	"</float_array><technique_common><accessor source='#" id "-a' count='100' stride='" width "'/>"          \
	"</technique_common></source>"
#define NAMES(id, list) "<source id='" id "'><Name_array id='" id "-a'>" list "</Name_array></source>"
#define INPUT(semantic, source, offset, more)                                                                \
	"<input semantic='" semantic "' source='#" source "' offset='" offset "' " more "/>"
#define VERTICES "<vertices id='v'><input semantic='POSITION' source='#p'/></vertices>"
#define SQUARE	 NUMBERS("p", "12", "3", " 0 0 0 1 0 0 1 1 0 0 1 0")
#define PLAIN                                                                                                \
	"<library_geometries><geometry id='g' name='plate'><mesh>" SQUARE VERTICES                               \
	"<polylist count='1' material='m'>" INPUT(                                                               \
		"VERTEX", "v", "0",                                                                                  \
		"") "<vcount>4</vcount><p>0 1 2 3</p></polylist></mesh></geometry></library_geometries>"
#define SHOWN "<node id='n' name='shown'><instance_geometry url='#g'/></node>"
#define SCENE(nodes)                                                                                         \
	"<library_visual_scenes><visual_scene id='s'>" nodes "</visual_scene></library_visual_scenes>"           \
	"<scene><instance_visual_scene url='#s'/></scene>"

static inline reader *collada(const char *asset, const char *body)
{
	static char text[65536];
	snprintf(
		text, sizeof text,
		"<?xml version='1.0'?><COLLADA xmlns='http://www.collada.org/2005/11/COLLADASchema' version='1.4.1'>"
		"<asset>%s</asset>%s</COLLADA>",
		asset, body);
	reader *r = reader_new(&hob_collada_importer);
	reader_add(r, "props/model.dae", text);
	return r;
}

#endif
