#include "kept.h"

#include "../cook/inputs.h"

srv_recipe_dep *srv_kept_deps(hob_arena *arena, hob_str model, const srv_result *result, uint32_t *count)
{
	hob_str dir = hob_path_dir(model);
	srv_recipe_dep *deps = HOB_NEW(arena, srv_recipe_dep, result->dep_count);
	*count = 0;
	for (uint32_t i = 0; deps && i < result->dep_count; i++) {
		const srv_dep *dep = &result->deps[i];
		if (!hob_str_equal(dep->path, model))
			deps[(*count)++] =
				(srv_recipe_dep){hob_path_relative(arena, dir, dep->path), dep->missing, dep->digest};
	}
	return deps;
}

void srv_kept_stats(const srv_result *result, hob_buf *out)
{
	const hob_cook_stats *s = &result->stats;
	hob_buf_printf(
		out,
		"{\"meshes\":%u,\"triangles\":%llu,\"vertices\":%llu,\"lods\":%u,\"materials\":%u,\"textures\":%u,"
		"\"nodes\":%u,\"skins\":%u,\"animations\":%u,\"cameras\":%u,\"lights\":%u,\"extras\":%u,\"over_"
		"budget\":[",
		s->meshes, (unsigned long long)s->triangles, (unsigned long long)s->vertices, s->lods, s->materials,
		s->textures, s->nodes, s->skins, s->animations, s->cameras, s->lights, s->extras);
	hob_str budget = HOB_STR("budget.");
	for (uint32_t i = 0, listed = 0; i < result->note_count; i++) {
		hob_str code = result->notes[i].code;
		if (!hob_str_starts(code, budget))
			continue;
		hob_buf_put_str(out, listed++ > 0 ? HOB_STR(",") : (hob_str){0});
		hob_buf_put_json(out, hob_str_sub(code, budget.len, code.len));
	}
	hob_buf_put_str(out, HOB_STR("]}"));
}

bool srv_kept_key(hob_arena *arena, const srv_recipe *recipe, hob_sha256 *key, hob_error *err)
{
	hob_dependency *deps = HOB_NEW(arena, hob_dependency, recipe->dep_count);
	if (!deps)
		return hob_fail_memory(err, arena, "the key of a cook");
	for (uint32_t i = 0; i < recipe->dep_count; i++)
		deps[i] = (hob_dependency){recipe->deps[i].path, recipe->deps[i].missing, recipe->deps[i].digest};
	*key = hob_recipe_key(&recipe->lookup, recipe->file_name, deps, recipe->dep_count);
	return true;
}

bool srv_kept_holds(const srv_recipe *recipe, hob_str model, srv_input_fn *look, void *user)
{
	if (!srv_name_holds(recipe->file_name, hob_path_name(model)))
		return false;
	for (uint32_t i = 0; i < recipe->dep_count; i++) {
		const srv_recipe_dep *dep = &recipe->deps[i];
		hob_sha256 digest;
		srv_input_state state = look(user, dep->path, &digest);
		bool present = state == SRV_INPUT_PRESENT;
		if (state == SRV_INPUT_UNKNOWN || !srv_input_holds((srv_input_then){dep->missing, &dep->digest},
														   (srv_input_now){present, present, &digest}))
			return false;
	}
	return true;
}
