#include "assimp_convert.h"
#include "../zip.h"

#include <math.h>

enum { MODEL_PART_MAX = 256 << 20 };

static float xml_unit(hob_str text)
{
	static const struct {
		const char *name;
		float metres;
	} units[] = {
		{"meter", 1},	   {"millimeters", 0.001f}, {"millimeter", 0.001f}, {"centimeter", 0.01f},
		{"inch", 0.0254f}, {"feet", 0.3048f},		{"foot", 0.3048f},		{"micron", 1e-6f},
	};
	hob_str attribute = HOB_STR("unit=");
	size_t at = hob_str_find(hob_str_sub(text, 0, 65536), attribute, 0);
	if (at == SIZE_MAX)
		return 0.001f;
	hob_str value = hob_str_sub(text, at + attribute.len + 1, at + attribute.len + 16);
	for (size_t i = 0; i < HOB_COUNT_OF(units); i++) {
		hob_str name = hob_str_of(units[i].name);
		if (hob_str_equal_nocase(hob_str_sub(value, 0, name.len), name))
			return units[i].metres;
	}
	return 0.001f;
}

static float zipped_unit(const hob_assimp_scene *scene)
{
	hob_bytes model;
	hob_arena_mark mark = hob_arena_save(scene->request->scratch);
	hob_zip zip;
	hob_zip_member part;
	bool found = hob_zip_open(scene->request->file, &zip) &&
				 hob_zip_find_suffix(&zip, HOB_STR("3dmodel.model"), &part) &&
				 hob_zip_unpack(scene->request->scratch, &part, MODEL_PART_MAX, &model);
	float unit = found ? xml_unit((hob_str){(const char *)model.data, model.size}) : 0.001f;
	hob_arena_restore(scene->request->scratch, mark);
	return unit;
}

/* Assimp's COLLADA importer applies the file's unit as a uniform scale of the root node. */
static float root_unit(const struct aiScene *source)
{
	const struct aiMatrix4x4 *m = &source->mRootNode->mTransformation;
	float columns[3] = {
		sqrtf(m->a1 * m->a1 + m->b1 * m->b1 + m->c1 * m->c1),
		sqrtf(m->a2 * m->a2 + m->b2 * m->b2 + m->c2 * m->c2),
		sqrtf(m->a3 * m->a3 + m->b3 * m->b3 + m->c3 * m->c3),
	};
	bool uniform = fabsf(columns[0] - columns[1]) <= columns[0] * 1e-5f &&
				   fabsf(columns[0] - columns[2]) <= columns[0] * 1e-5f;
	return uniform ? columns[0] : 1;
}

static float unit_of(const hob_assimp_scene *scene)
{
	switch (scene->format->unit) {
	case HOB_ASSIMP_UNIT_ROOT:
		return root_unit(scene->source);
	case HOB_ASSIMP_UNIT_3MF:
		return zipped_unit(scene);
	case HOB_ASSIMP_UNIT_NONE:
		break;
	}
	return 1;
}

void hob_assimp_space(hob_assimp_scene *scene)
{
	static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	static const float z_up[16] = {1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1};
	memcpy(scene->axes, identity, sizeof identity);
	if (scene->format->flags & HOB_ASSIMP_Z_UP)
		memcpy(scene->axes, z_up, sizeof z_up);
	scene->turned = memcmp(scene->axes, identity, sizeof identity) != 0;
	float unit = unit_of(scene);
	scene->unit = unit > 0 && unit < 1e6f && !scene->request->keep_units ? unit : 1;
	scene->model->unit = scene->unit;
	hob_source_space *space = &scene->model->space;
	float turned[16], translation[3], scale[3];
	memcpy(turned, scene->axes, sizeof turned);
	/* Assimp's COLLADA importer rotates the root node itself. */
	if (scene->format->unit == HOB_ASSIMP_UNIT_ROOT)
		(void)hob_assimp_matrix(&scene->source->mRootNode->mTransformation, 1, turned);
	(void)hob_matrix_decompose(turned, translation, space->turn, scale);
	space->material_colors = HOB_COLORS_LINEAR;
	space->vertex_colors = HOB_COLORS_LINEAR;
}
