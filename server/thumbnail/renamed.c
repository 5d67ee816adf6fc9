#include "drawn.h"

#include <stdlib.h>
#include <string.h>

static const char *mesh_name(const hob_rt_asset *asset, uint32_t mesh)
{
	return asset->meshes[mesh].name;
}

static bool is_new(const hob_rt_asset *before, uint32_t count,
				   const char *(*name_of)(const hob_rt_asset *, uint32_t), const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(name_of(before, i), name) == 0)
			return false;
	return name[0] != 0;
}

/* [count]: 1 for each name that `before` does not have. */
static unsigned char *new_names(const hob_rt_asset *before, uint32_t before_count, const hob_rt_asset *after,
								uint32_t count, const char *(*name_of)(const hob_rt_asset *, uint32_t))
{
	unsigned char *out = calloc((size_t)count + 1, 1);
	if (out && before_count <= SRV_RENAMED_NAMES)
		for (uint32_t i = 0; i < count && i < SRV_RENAMED_NAMES; i++)
			out[i] = is_new(before, before_count, name_of, name_of(after, i));
	return out;
}

/* Marks nodes that have a new name or a marked ancestor: parents come before their children. */
static unsigned char *new_nodes(const hob_rt_asset *before, const hob_rt_asset *after)
{
	unsigned char *out = calloc((size_t)after->node_count + 1, 1);
	for (uint32_t i = 0; out && i < after->node_count; i++) {
		const char *name = hob_rt_node_name(after, i);
		uint32_t parent = hob_rt_parent(after, i);
		out[i] = (parent < i && out[parent]) || (name[0] && hob_rt_find_node(before, name) == HOB_RT_NONE);
	}
	return out;
}

unsigned char *srv_renamed_draws(const hob_rt_asset *before, const hob_rt_asset *after)
{
	unsigned char *materials = new_names(before, before->material_count, after, after->material_count,
										 hob_rt_material_name),
				  *meshes = new_names(before, before->mesh_count, after, after->mesh_count, mesh_name),
				  *nodes = new_nodes(before, after), *out = calloc((size_t)after->draw_count + 1, 1);
	bool any = false;
	for (uint32_t i = 0; materials && meshes && nodes && out && i < after->draw_count; i++) {
		const hob_rt_draw *draw = &after->draws[i];
		out[i] = nodes[draw->node] || meshes[draw->mesh] ||
				 (draw->material != HOB_RT_NONE && materials[draw->material]);
		any = any || out[i];
	}
	free(materials);
	free(meshes);
	free(nodes);
	if (!any) {
		free(out);
		out = NULL;
	}
	return out;
}
