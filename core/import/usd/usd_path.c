#include "usd_private.h"

uint32_t hob_usd_move_from(const hob_usd_stack *stack, hob_str path)
{
	for (uint32_t i = 0; i < stack->move_count; i++)
		if (hob_str_equal(stack->move_from[i], path))
			return i;
	return HOB_NONE;
}

uint32_t hob_usd_move_to(const hob_usd_stack *stack, hob_str path)
{
	for (uint32_t i = 0; i < stack->move_count; i++)
		if (hob_str_equal(stack->move_to[i], path))
			return i;
	return HOB_NONE;
}

bool hob_usd_path_step(hob_usd *u, const hob_usd_site *site, hob_str path, hob_str *out, hob_error *err)
{
	*out = HOB_STR("");
	if (site->arc == HOB_USD_VARIANT_ARC) {
		*out = path;
		return true;
	}
	if (!hob_usd_path_below(path, site->map_from) || site->map_from.len <= 1) {
		/* A name that the arc maps to hides the same name of the parent's namespace. */
		bool hidden = site->arc != HOB_USD_RELOCATE && hob_usd_path_below(path, site->map_to);
		if (site->map_identity && !hidden)
			*out = path;
		return true;
	}
	hob_str rest = hob_str_sub(path, site->map_from.len, path.len);
	*out = hob_arena_printf(u->scratch, "%.*s%.*s", HOB_FMT(site->map_to), HOB_FMT(rest));
	return out->data || hob_fail_memory(err, u->scratch, "a path");
}

/* Resolves a relocated path to its new location. */
static bool map_moved(hob_usd *u, const hob_usd_stack *stack, hob_str *path, hob_error *err)
{
	uint32_t best = HOB_NONE;
	for (uint32_t i = 0; i < stack->move_count; i++)
		if (hob_usd_path_below(*path, stack->move_from[i]) &&
			(best == HOB_NONE || stack->move_from[i].len > stack->move_from[best].len))
			best = i;
	if (best == HOB_NONE)
		return true;
	hob_str rest = hob_str_sub(*path, stack->move_from[best].len, path->len), to = stack->move_to[best];
	*path = to.len == 0 ? HOB_STR("") : hob_arena_printf(u->scratch, "%.*s%.*s", HOB_FMT(to), HOB_FMT(rest));
	return path->data || hob_fail_memory(err, u->scratch, "a path");
}

bool hob_usd_path_map(hob_usd *u, const hob_usd_site *sites, uint32_t site, hob_str path, hob_str *out,
					  hob_error *err)
{
	*out = path;
	for (uint32_t i = site; sites[i].parent != HOB_NONE && out->len > 0; i = sites[i].parent)
		if (!hob_usd_path_step(u, &sites[i], *out, out, err) ||
			!map_moved(u, &u->stacks[sites[sites[i].parent].stack], out, err))
			return false;
	return true;
}
