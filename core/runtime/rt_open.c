#include "rt_private.h"

#include "rt_math.h"

#include <assert.h>

/* ---- the tree */

/* Subtree sizes; false if some subtree is not contiguous. In depth-first order, a node's parent is the
 * previous node or one of its ancestors. Every step up leaves a subtree for good, so all steps together are
 * O(nodes). */
static bool measure_subtrees(const uint32_t *parents, uint32_t *subtrees, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		subtrees[i] = 1;
		if (i == 0 || parents[i] == HOB_RT_NONE)
			continue;
		uint32_t open = i - 1;
		while (open != parents[i] && open != HOB_RT_NONE)
			open = parents[open];
		if (open == HOB_RT_NONE)
			return false;
	}
	for (uint32_t i = count; i-- > 0;)
		if (parents[i] != HOB_RT_NONE)
			subtrees[parents[i]] += subtrees[i];
	return true;
}

static void index_names(rt_asset *a, uint64_t *room)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < a->node_names.count; i++) {
		uint32_t name = *RT_AT(uint32_t, a->node_names, i);
		if (name != 0 && *hob_rt_string(a->node_text, name) != 0)
			a->by_name[count++] = (uint64_t)hob_rt_hash(hob_rt_string(a->node_text, name)) << 32 | i;
	}
	a->named_count = count;
	hob_rt_sort(a->by_name, room, count);
}

/* ---- draws and morph weights */

/* More weights than any model has: otherwise a few bytes of links could demand any number. */
enum { WEIGHT_LIMIT = 1 << 24 };

static bool take_draws(rt_asset *a, rt_memory *memory, hob_rt_error *error)
{
	uint64_t weights = 0;
	for (uint32_t i = 0; i < a->mesh_links.count && a->mesh_links.data && a->morphs.count > 0; i++) {
		uint32_t mesh = RT_AT(hob_pk_link, a->mesh_links, i)->value;
		if (mesh < a->mesh_records.count)
			weights += RT_AT(hob_pk_mesh, a->mesh_records, mesh)->morph_count;
	}
	if (weights > WEIGHT_LIMIT)
		return hob_rt_fail(error, HOB_RT_UNSUPPORTED, "%llu morph weights, of which an instance may have %d",
						   (unsigned long long)weights, WEIGHT_LIMIT);
	a->draws = RT_TAKE(memory, hob_rt_draw, a->mesh_links.count);
	a->weight_of = a->weights_at = NULL;
	a->weights = NULL;
	a->weight_animated = NULL;
	if (weights > 0) {
		a->weight_of = RT_TAKE(memory, uint32_t, a->pub.node_count);
		a->weights_at = RT_TAKE(memory, uint32_t, a->pub.node_count);
	}
	uint64_t values = weights + 4 * (uint64_t)a->properties.count;
	if (values > 0) {
		a->weights = RT_TAKE(memory, float, values);
		a->weight_animated = RT_TAKE(memory, uint8_t, values);
	}
	return true;
}

static uint32_t linked_here_or_above(const rt_asset *a, rt_array links, uint32_t node)
{
	uint32_t value = hob_rt_link(links, node);
	if (value == HOB_RT_NONE && a->parents[node] != HOB_RT_NONE)
		value = hob_rt_link(links, a->parents[node]);
	return value;
}

static bool fill_draws(rt_asset *a, hob_rt_error *error)
{
	uint32_t count = a->pub.mesh_count > 0 ? a->mesh_links.count : 0;
	for (uint32_t i = 0; i < count; i++) {
		const hob_pk_link *link = RT_AT(hob_pk_link, a->mesh_links, i);
		const hob_rt_mesh *mesh = &a->meshes[link->value];
		hob_rt_draw *draw = &a->draws[i];
		uint32_t material = hob_rt_link(a->material_links, link->node);
		uint32_t skin = linked_here_or_above(a, a->skin_links, link->node);
		draw->node = link->node;
		draw->mesh = link->value;
		draw->material = material != HOB_RT_NONE ? material : mesh->material;
		if (draw->material >= a->pub.material_count)
			draw->material = HOB_RT_NONE;
		draw->skin = mesh->influence_count > 0 && skin < a->pub.skin_count ? skin : HOB_RT_NONE;
		if (draw->skin != HOB_RT_NONE && a->mesh_joint_count[draw->mesh] > a->skins[draw->skin].joint_count)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "mesh %u names joint %u of the %u joints of skin %u",
							   draw->mesh, a->mesh_joint_count[draw->mesh] - 1,
							   a->skins[draw->skin].joint_count, draw->skin);
	}
	a->pub.draw_count = count;
	return true;
}

/* The node whose weights a draw uses: its own node, if it has weights or a clip moves them; otherwise its
 * parent, the source node whose meshes became child nodes. */
static uint32_t weight_owner(const rt_asset *a, uint32_t node, const uint32_t *animated)
{
	uint32_t parent = a->parents[node];
	if (animated[node] || hob_rt_link(a->weight_links, node) != HOB_RT_NONE || parent == HOB_RT_NONE)
		return node;
	return parent;
}

static bool fill_weights(rt_asset *a, uint32_t *animated, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->channels.count; i++) {
		const hob_pk_channel *channel = RT_AT(hob_pk_channel, a->channels, i);
		if (channel->path == HOB_PK_PATH_WEIGHTS && channel->node < a->pub.node_count)
			animated[channel->node] = 1;
	}
	for (uint32_t i = 0; i < a->pub.draw_count; i++) {
		uint32_t owner = weight_owner(a, a->draws[i].node, animated),
				 count = a->meshes[a->draws[i].mesh].morph_count;
		a->weights_at[owner] = count > a->weights_at[owner] ? count : a->weights_at[owner];
		a->weight_of[owner] = HOB_RT_NONE;
	}
	for (uint32_t i = 0; i < a->pub.draw_count; i++) {
		hob_rt_draw *draw = &a->draws[i];
		const hob_rt_mesh *mesh = &a->meshes[draw->mesh];
		uint32_t owner = weight_owner(a, draw->node, animated), count = a->weights_at[owner];
		if (a->weight_of[owner] == HOB_RT_NONE) {
			uint32_t link = hob_rt_link(a->weight_links, owner), first = a->pub.weight_count;
			if (link != HOB_RT_NONE && count > a->node_weights.count - link)
				return hob_rt_fail(error, HOB_RT_CORRUPT, "node %u has %u morph weights from %u of %u", owner,
								   count, link, a->node_weights.count);
			for (uint32_t k = 0; k < count; k++) {
				float weight = 0;
				if (link != HOB_RT_NONE)
					weight = *RT_AT(float, a->node_weights, link + k);
				else if (k < mesh->morph_count)
					weight = RT_AT(hob_pk_morph, a->morphs, mesh->morph_first + k)->weight;
				if (!hob_rt_in_range(&weight, 1))
					return hob_rt_fail(error, HOB_RT_CORRUPT, "a morph weight of node %u is not finite",
									   owner);
				a->weights[first + k] = weight;
			}
			a->weight_of[owner] = first;
			a->pub.weight_count += count;
		}
		draw->weight_first = a->weight_of[owner];
		draw->weight_count = mesh->morph_count;
	}
	memset(animated, 0, a->pub.node_count * sizeof *animated);
	return true;
}

static void fill_rest(rt_asset *a)
{
	for (uint32_t slot = 0; slot < a->pub.animated_count; slot++) {
		const hob_pk_trs *trs = RT_AT(hob_pk_trs, a->trs, a->animated[slot]);
		float row[10];
		memcpy(row, trs->t, sizeof trs->t);
		memcpy(row + 3, trs->r, sizeof trs->r);
		memcpy(row + 7, trs->s, sizeof trs->s);
		rt_normalise(row + 3);
		for (uint32_t k = 0; k < 10; k++)
			a->rest[(size_t)k * a->slot_stride + slot] = row[k];
	}
}

/* ---- opening */

static bool lay_out(rt_asset *a, rt_memory *memory, hob_rt_error *error)
{
	RT_TAKE(memory, rt_asset, 1);
	if (a->pub.classic)
		hob_rt_classic_lay_out(a, memory);
	else if (!hob_rt_packed_lay_out(a, memory, error))
		return false;
	a->parents = RT_TAKE(memory, uint32_t, a->pub.node_count);
	a->subtrees = RT_TAKE(memory, uint32_t, a->pub.node_count);
	a->by_name = RT_TAKE(memory, uint64_t, a->node_names.count);
	if (!take_draws(a, memory, error))
		return false;
	hob_rt_clips_lay_out(a, memory);
	hob_rt_properties_lay_out(a, memory);
	return !memory->failed || hob_rt_fail(error, HOB_RT_MEMORY, "the model does not fit the address space");
}

/* Room for sorting names and maps, and one number per node or joint. */
static size_t scratch_size(const rt_asset *a, size_t *numbers_at)
{
	const rt_classic *f = &a->files;
	size_t most = a->node_names.count;
	const size_t counts[] = {(size_t)f->mesh_link_count * 2, (size_t)f->material_link_count * 2,
							 f->name_count, f->material_name_count, f->image_count};
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		most = counts[i] > most ? counts[i] : most;
	*numbers_at = most * sizeof(uint64_t);
	size_t numbers = a->joints.count > a->pub.node_count ? a->joints.count : a->pub.node_count;
	return *numbers_at + numbers * sizeof(uint32_t);
}

static bool fill(rt_asset *a, uint64_t *room, uint32_t *numbers, hob_rt_error *error)
{
	bool read = a->pub.classic ? hob_rt_classic_fill(a, room, error) : hob_rt_packed_fill(a, error);
	if (!read)
		return false;
	if (!measure_subtrees(a->parents, a->subtrees, a->pub.node_count)) {
		if (!a->pub.classic)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "the nodes are not in depth-first order");
		a->subtrees = NULL;
	}
	index_names(a, room);
	a->pub.draws = a->draws;
	a->pub.meshes = a->meshes;
	a->pub.skins = a->skins;
	a->pub.clips = a->clips;
	a->pub.animated = a->animated;
	/* Skins before boxes and draws; weights before the channels that move them. */
	if (!hob_rt_skins_fill(a, error) || !hob_rt_joint_boxes_fill(a, numbers, error) || !fill_draws(a, error))
		return false;
	if (a->weight_of && !fill_weights(a, numbers, error))
		return false;
	if (!hob_rt_clips_fill(a, numbers, error) || !hob_rt_properties_fill(a, error))
		return false;
	fill_rest(a);
	return true;
}

static bool open_tables(const hob_rt_files *files, rt_asset *a, hob_rt_error *error)
{
	if (files->scene.size == 0 || !files->scene.data)
		return hob_rt_fail(error, HOB_RT_TRUNCATED, "no scene file was given");
	if (!hob_rt_is_packed(files->scene))
		return hob_rt_classic_open(files, a, error);
	return hob_rt_pack_open(files->meshes, HOB_PK_KIND_MESH, "meshes", &a->mesh_pack, error) &&
		   hob_rt_pack_open(files->materials, HOB_PK_KIND_MATL, "materials", &a->material_pack, error) &&
		   hob_rt_pack_open(files->scene, HOB_PK_KIND_SCNE, "scene", &a->scene_pack, error) &&
		   hob_rt_pack_open(files->animations, HOB_PK_KIND_ANIM, "animations", &a->clip_pack, error);
}

bool hob_rt_open(const hob_rt_files *files, const hob_rt_options *options, hob_rt_asset **out,
				 hob_rt_error *error)
{
	rt_asset plan;
	rt_memory memory = {NULL, 0, false};
	memset(&plan, 0, sizeof plan);
	if (options)
		plan.options = *options;
	assert(!plan.options.allocate == !plan.options.release);
	if (!open_tables(files, &plan, error) || !lay_out(&plan, &memory, error))
		return false;
	size_t numbers_at, scratch = scratch_size(&plan, &numbers_at);
	uint8_t *block = (uint8_t *)hob_rt_allocate(&plan.options, memory.used);
	uint8_t *room = block ? (uint8_t *)hob_rt_allocate(&plan.options, scratch) : NULL;
	bool done = false;
	if (!room)
		hob_rt_fail(error, HOB_RT_MEMORY, "no memory for the %zu bytes of a model", memory.used + scratch);
	else {
		rt_asset *asset = (rt_asset *)(void *)block;
		*asset = plan;
		memory.base = block;
		memory.used = 0;
		done = lay_out(asset, &memory, error) &&
			   fill(asset, (uint64_t *)(void *)room, (uint32_t *)(void *)(room + numbers_at), error);
	}
	hob_rt_release(&plan.options, room);
	if (done)
		*out = (hob_rt_asset *)(void *)block;
	else
		hob_rt_release(&plan.options, block);
	return done;
}

void hob_rt_close(hob_rt_asset *asset)
{
	if (asset) {
		hob_rt_options options = RT_ASSET(asset)->options;
		hob_rt_release(&options, asset);
	}
}
