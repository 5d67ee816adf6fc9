#include "assimp_convert.h"

#include <assimp/material.h>

static bool has_texture(const struct aiMaterial *material, enum aiTextureType a, enum aiTextureType b)
{
	const enum aiTextureType types[] = {a, b};
	for (size_t i = 0; i < HOB_COUNT_OF(types); i++) {
		struct aiString path = {0};
		if (aiGetMaterialString(material, AI_MATKEY_TEXTURE(types[i], 0), &path) == aiReturn_SUCCESS &&
			path.length > 0)
			return true;
	}
	return false;
}

static bool count_joints(hob_census *seen, const struct aiMesh *mesh, hob_name_map *names)
{
	for (unsigned i = 0; i < mesh->mNumBones; i++) {
		uint32_t count = names->count;
		if (mesh->mBones[i] && !hob_name_map_add(names, hob_assimp_str(&mesh->mBones[i]->mName), 0, NULL))
			return false;
		hob_census_add(seen, HOB_CENSUS_JOINTS, names->count - count);
	}
	return true;
}

bool hob_assimp_census(hob_assimp_scene *scene, hob_error *err)
{
	hob_census *seen = scene->request->seen;
	const struct aiScene *source = scene->source;
	hob_name_map names;
	bool done = true;
	hob_name_map_init(&names, scene->request->scratch);
	for (unsigned i = 0; seen && i < source->mNumMeshes; i++) {
		const struct aiMesh *mesh = source->mMeshes[i];
		if (!mesh || mesh->mNumFaces == 0)
			continue;
		hob_census_add(seen, HOB_CENSUS_SURFACES, 1);
		hob_census_add(seen, HOB_CENSUS_COLORED, mesh->mColors[0] != NULL);
		hob_census_add(seen, HOB_CENSUS_MORPHED, mesh->mNumAnimMeshes > 0);
		hob_census_add(seen, HOB_CENSUS_SKINNED, mesh->mNumBones > 0);
		done = done && count_joints(seen, mesh, &names);
	}
	for (unsigned i = 0; seen && i < source->mNumMaterials; i++) {
		const struct aiMaterial *material = source->mMaterials[i];
		if (!material)
			continue;
		hob_census_add(seen, HOB_CENSUS_COLOR_MAPS,
					   has_texture(material, aiTextureType_DIFFUSE, aiTextureType_BASE_COLOR));
		hob_census_add(seen, HOB_CENSUS_NORMAL_MAPS,
					   has_texture(material, aiTextureType_NORMALS, aiTextureType_HEIGHT));
		hob_census_add(seen, HOB_CENSUS_EMISSIVE_MAPS,
					   has_texture(material, aiTextureType_EMISSIVE, aiTextureType_EMISSION_COLOR));
	}
	hob_census_add(seen, HOB_CENSUS_CLIPS, source->mNumAnimations);
	hob_census_add(seen, HOB_CENSUS_CAMERAS, source->mNumCameras);
	hob_census_add(seen, HOB_CENSUS_LIGHTS, source->mNumLights);
	return done || hob_fail_memory(err, scene->request->scratch, "the count of joints");
}
