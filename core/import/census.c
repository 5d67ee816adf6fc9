#include "census.h"

static const char *const names[] = {
#define HOB_CENSUS_KIND(kind, what) what,
#define HOB_CENSUS_WHY(code, kinds)
#include "census.def"
#undef HOB_CENSUS_KIND
#undef HOB_CENSUS_WHY
};

static const struct {
	const char *code;
	unsigned kinds;
} reasons[] = {
#define HOB_CENSUS_KIND(kind, what)
#define HOB_CENSUS_WHY(code, kinds) {code, kinds},
#include "census.def"
#undef HOB_CENSUS_KIND
#undef HOB_CENSUS_WHY
};

/* Meshes of one source mesh are adjacent. */
static void count_meshes(const hob_model *model, hob_census *out)
{
	static const hob_census_kind kinds[] = {HOB_CENSUS_SURFACES, HOB_CENSUS_COLORED, HOB_CENSUS_MORPHED,
											HOB_CENSUS_SKINNED};
	uint32_t last = HOB_NONE;
	bool told[HOB_COUNT_OF(kinds)] = {false};
	for (uint32_t i = 0; i < model->mesh_count; i++) {
		const hob_mesh *mesh = &model->meshes[i];
		const bool has[] = {mesh->index_count > 0, mesh->color[0] != NULL, mesh->target_count > 0,
							mesh->influence_count > 0};
		if (i == 0 || mesh->source_mesh != last)
			memset(told, 0, sizeof told);
		last = mesh->source_mesh;
		for (size_t k = 0; k < HOB_COUNT_OF(kinds); k++)
			if (has[k] && !told[k]) {
				told[k] = true;
				out->count[kinds[k]]++;
			}
	}
}

static bool has_map(const hob_material *material, hob_slot slot)
{
	return material->slots[slot].image != HOB_NONE;
}

static void count_joints(const hob_model *model, hob_arena *scratch, hob_census *out)
{
	bool *seen = HOB_NEW(scratch, bool, model->node_count);
	for (uint32_t s = 0; s < model->skin_count; s++)
		for (uint32_t j = 0; j < model->skins[s].joint_count; j++)
			if (!seen[model->skins[s].joints[j]]) {
				seen[model->skins[s].joints[j]] = true;
				out->count[HOB_CENSUS_JOINTS]++;
			}
}

void hob_census_of_model(const hob_model *model, hob_arena *scratch, hob_census *out)
{
	*out = (hob_census){{0}};
	count_meshes(model, out);
	for (uint32_t i = 0; i < model->material_count; i++) {
		const hob_material *m = &model->materials[i];
		out->count[HOB_CENSUS_COLOR_MAPS] += has_map(m, HOB_SLOT_BASE_COLOR);
		out->count[HOB_CENSUS_NORMAL_MAPS] += has_map(m, HOB_SLOT_NORMAL) || has_map(m, HOB_SLOT_BUMP);
		out->count[HOB_CENSUS_EMISSIVE_MAPS] += has_map(m, HOB_SLOT_EMISSIVE);
	}
	out->count[HOB_CENSUS_CLIPS] = model->clip_count;
	out->count[HOB_CENSUS_CAMERAS] = model->camera_count;
	out->count[HOB_CENSUS_LIGHTS] = model->light_count;
	count_joints(model, scratch, out);
}

static bool is_explained(const hob_notes *notes, hob_census_kind kind)
{
	for (uint32_t i = 0; i < notes->count; i++)
		for (size_t k = 0; k < HOB_COUNT_OF(reasons); k++)
			if ((reasons[k].kinds & 1u << kind) &&
				hob_str_equal(notes->items[i].code, hob_str_of(reasons[k].code)))
				return true;
	return notes->dropped > 0;
}

void hob_census_compare(const hob_census *seen, const hob_census *held, hob_notes *notes)
{
	for (uint32_t kind = 0; notes && kind < HOB_CENSUS_KINDS; kind++)
		if (held->count[kind] < seen->count[kind] && !is_explained(notes, (hob_census_kind)kind))
			hob_warn(notes, "import.lost",
					 "the file has %u %s, of which %u were read, and Hob cannot say why; please report it "
					 "with the file",
					 seen->count[kind], names[kind], held->count[kind]);
}
