/* record_dictionary.h - the zstd dictionary of records: a typical record without digests. Never edit a
 * dictionary: stored records were compressed with it. A new dictionary needs a new kind of record
 * (PACK_RECORD in store_internal.h); it pays when settings have been added that the text lacks. */
#ifndef SRV_RECORD_DICTIONARY_H
#define SRV_RECORD_DICTIONARY_H

static const char old_record_dictionary[] =
	"{\"hob_result\":1,\"key\":\"\",\"lookup\":\"\",\"source\":\"\",\"file_name\":null,"
	"\"inputs\":{\"cook_version\":7,\"importer\":\"obj\",\"importer_version\":3,"
	"\"library\":\"textures 6, stb_image 2.27, libdeflate 1.14, zstd 1.5.4, libwebp,"
	" astcenc 4.2.0, meshoptimizer 180\",\"extension\":\"obj\",\"profile\":\"final\","
	"\"settings\":{\"scale\":1,\"units\":\"metres\",\"portability\":\"warn\",\"up_axis\":\"file\","
	"\"unit\":\"file\",\"colors\":\"format\",\"merge_instances\":false,\"merge_materials\":false,"
	"\"name_rules\":false,\"lods\":{\"max\":7,\"ratio\":0.5,\"error\":0.1,\"lock_border\":false},"
	"\"vertices\":\"float32\",\"normals\":\"flat\",\"normals_angle\":60,"
	"\"drop_unused_uvs\":false,\"meshlets\":false,\"encode\":\"raw\",\"influences\":4,"
	"\"animation\":{\"error\":0,\"short_names\":false},\"texture\":{\"encoding\":\"rgba8\","
	"\"quality\":\"good\",\"basis\":\"transcode\",\"max_size\":2048,\"mipmaps\":true,"
	"\"zstd\":true},\"subdivision\":0,\"usd\":{\"variants\":\"\"},"
	"\"blender\":{\"apply_modifiers\":true,\"actions\":\"all\",\"collection\":\"\","
	"\"beside\":\"export\"},\"budget\":{\"triangles\":0,\"draws\":0,\"texture_size\":0,\"bytes\":0,"
	"\"fail\":false}}},\"deps\":[{\"path\":\"look.mtl\",\"sha256\":\"\"}],"
	"\"outputs\":[{\"name\":\"materials\",\"sha256\":\"\",\"size\":784},{\"name\":\"meshes\","
	"\"sha256\":\"\",\"size\":1548},{\"name\":\"scene\",\"sha256\":\"\",\"size\":1828}],"
	"\"stats\":{\"meshes\":1,\"triangles\":2,\"vertices\":4,\"lods\":1,\"materials\":1,"
	"\"textures\":0,\"nodes\":2,\"skins\":0,\"animations\":0,\"cameras\":0,\"lights\":0,"
	"\"extras\":0,\"over_budget\":[]},\"warnings\":0,\"error\":null,\"result\":\"\","
	"\"run\":{\"cooked_at_ms\":17,\"cook_ns\":,\"peak_bytes\":,\"outputs\":[{\"name\":\"report\","
	"\"sha256\":\"\",\"size\":406}]},\"check\":\"\"}";

static const char record_dictionary[] =
	"{\"hob_result\":1,\"key\":\"\",\"lookup\":\"\",\"source\":\"\",\"file_name\":null,"
	"\"inputs\":{\"cook_version\":12,\"importer\":\"obj\",\"importer_version\":5,\"library\":\"textures "
	"13, stb_image 2.27, libdeflate 1.14, zstd 1.5.4, libwebp 1.2.4, libtiff 4.5.0, OpenEXR 3.1.5, "
	"libavif 0.11.1, astcenc 4.2.0, meshoptimizer 180\",\"extension\":\"obj\",\"profile\":\"final\","
	"\"settings\":{\"scale\":1,\"units\":\"metres\",\"portability\":\"warn\",\"up_axis\":\"file\","
	"\"unit\":\"file\",\"colors\":\"format\",\"merge_instances\":false,\"merge_materials\":false,"
	"\"name_rules\":false,\"lods\":{\"max\":7,\"ratio\":0.5,\"error\":0.1,\"lock_border\":false},"
	"\"vertices\":\"float32\",\"normals\":\"flat\",\"normals_angle\":60,\"drop_unused_uvs\":false,"
	"\"meshlets\":false,\"clusters\":false,\"encode\":\"raw\",\"influences\":4,"
	"\"animation\":{\"error\":0,\"short_names\":false},\"texture\":{\"encoding\":\"bc\","
	"\"quality\":\"fast\",\"basis\":\"transcode\",\"max_size\":2048,\"mipmaps\":true,\"zstd\":true},"
	"\"environment\":{\"cook\":false,\"size\":256},\"subdivision\":0,\"usd\":{\"variants\":\"\"},"
	"\"blender\":{\"apply_modifiers\":true,\"actions\":\"all\",\"collection\":\"\","
	"\"beside\":\"export\"},\"budget\":{\"triangles\":0,\"draws\":0,\"texture_size\":0,\"bytes\":0,"
	"\"fail\":false}}},\"deps\":[{\"path\":\"look.mtl\",\"sha256\":\"\"}],"
	"\"outputs\":[{\"name\":\"materials\",\"sha256\":\"\",\"size\":784},{\"name\":\"meshes\","
	"\"sha256\":\"\",\"size\":1554},{\"name\":\"scene\",\"sha256\":\"\",\"size\":1828}],"
	"\"stats\":{\"meshes\":1,\"triangles\":3,\"vertices\":5,\"lods\":1,\"materials\":1,\"textures\":0,"
	"\"nodes\":2,\"skins\":0,\"animations\":0,\"cameras\":0,\"lights\":0,\"extras\":0,"
	"\"over_budget\":[]},\"warnings\":0,\"error\":null,\"result\":\"\",\"run\":{\"cooked_at_ms\":179,"
	"\"cook_ns\":,\"peak_bytes\":,\"outputs\":[{\"name\":\"report\",\"sha256\":\"\",\"size\":406}]},"
	"\"check\":\"\"}";

#endif
