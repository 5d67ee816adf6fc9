#include "importer.h"
#include "importers.h"

const hob_importer *const hob_importers[] = {
	&hob_gltf_importer, &hob_fbx_importer,	 &hob_obj_importer,		&hob_stl_importer,	  &hob_ply_importer,
	&hob_usd_importer,	&hob_merge_importer, &hob_collada_importer, &hob_assimp_importer,
};
const uint32_t hob_importer_count = HOB_COUNT_OF(hob_importers);

const hob_importer *hob_importer_for(hob_str path)
{
	hob_str extension = hob_path_extension(path);
	for (uint32_t i = 0; i < hob_importer_count; i++)
		for (const char *const *known = hob_importers[i]->extensions; *known; known++)
			if (hob_str_equal_nocase(extension, hob_str_of(*known)))
				return hob_importers[i];
	return NULL;
}

const hob_importer *hob_importer_for_old(const hob_importer *importer)
{
	return importer == &hob_gltf_importer ? &hob_assimp_importer : NULL;
}
