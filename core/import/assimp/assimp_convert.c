#include "assimp_convert.h"

#include "../text.h"

hob_str hob_assimp_str(const struct aiString *text)
{
	const size_t room = sizeof text->data;
	size_t len = text->length < room ? text->length : room - 1;
	return (hob_str){text->data, strnlen(text->data, len)};
}

hob_str hob_assimp_name(hob_assimp_scene *scene, const struct aiString *text)
{
	hob_str name = hob_assimp_str(text);
	bool bracketed = name.len > 1 && name.data[0] == '<' && name.data[name.len - 1] == '>';
	bool own = bracketed || hob_str_find(name, HOB_STR(HOB_ASSIMP_STEM), 0) != SIZE_MAX;
	return own ? HOB_STR("") : hob_text_name(scene->request->result, name);
}

bool hob_assimp_has_bones(const hob_assimp_scene *scene, unsigned mesh)
{
	return mesh < scene->source->mNumMeshes && scene->mesh_first[mesh] < scene->mesh_first[mesh + 1] &&
		   scene->source->mMeshes[mesh]->mNumBones > 0;
}

bool hob_assimp_matrix(const struct aiMatrix4x4 *from, float unit, float out[16])
{
	const float rows[4][4] = {
		{from->a1, from->a2, from->a3, from->a4 * unit},
		{from->b1, from->b2, from->b3, from->b4 * unit},
		{from->c1, from->c2, from->c3, from->c4 * unit},
		{0, 0, 0, 1},
	};
	bool finite = true;
	for (int column = 0; column < 4; column++)
		for (int row = 0; row < 4; row++) {
			out[column * 4 + row] = rows[row][column];
			finite = finite && rows[row][column] - rows[row][column] == 0;
		}
	if (finite)
		return true;
	for (int i = 0; i < 16; i++)
		out[i] = i % 5 == 0;
	return false;
}
