/* row_dictionary.h - the zstd dictionary of the index's short texts: the counts of a cook and an event,
 * without digests. Never edit it: kept rows were compressed with it. */
#ifndef SRV_ROW_DICTIONARY_H
#define SRV_ROW_DICTIONARY_H

static const char row_dictionary[] =
	",\"moved_from\":\"\",\"moved_to\":\"\",\"kind\":\"removed\",\"state\":\"removed\","
	"\"quality\":\"preview\",\"state\":\"stale\",\"state\":\"failed\",\"state\":\"blocked\","
	"\"state\":\"quarantined\",\"error\":{\"code\":\"import.syntax\",\"stage\":\"import\","
	"\"message\":\"\",\"hint\":\"\",\"line\":,\"column\":,\"kind\":\"failed\",\"path\":\"},"
	"{\"name\":\"animations\",\"hash\":\"\2\",\"size\":{\"name\":\"skins\",\"hash\":\"\2\",\"size\":},"
	"{\"name\":\"textures/1\",\"hash\":\"\2\",\"size\":},{\"name\":\"textures/0\",\"hash\":\"\2\","
	"\"size\":\"cached\":true,\"cause\":[{\"kind\":\"dependency\",\"path\":\"\"},{\"kind\":\"settings\","
	"\"path\":\"cook.json\"}]}.glb\".gltf\".fbx\".blend\".png\"{\"meshes\":1,\"triangles\":2,"
	"\"vertices\":4,\"lods\":1,\"materials\":1,\"textures\":0,\"nodes\":2,\"skins\":0,\"animations\":0,"
	"\"cameras\":0,\"lights\":0,\"extras\":0,\"over_budget\":[]}{\"rev\":1,\"id\":\"\","
	"\"kind\":\"cooked\",\"asset\":\"models/.obj\",\"profile\":\"default\",\"quality\":\"final\","
	"\"state\":\"fresh\",\"key\":\"\2\",\"outputs\":[{\"name\":\"meshes\",\"hash\":\"\2\",\"size\":1548},"
	"{\"name\":\"materials\",\"hash\":\"\2\",\"size\":784},{\"name\":\"scene\",\"hash\":\"\2\","
	"\"size\":1828},{\"name\":\"report\",\"hash\":\"\2\",\"size\":405}],\"cook_ms\":0.416,"
	"\"cached\":false,\"cause\":[{\"kind\":\"source\",\"path\":\"models/.obj\"}]},"
	"\"cause\":[{\"kind\":\"added\",\"path\":\"models/.obj\"}]}";

#endif
