#include "glb_roots.h"

static bool allocate(glb_roots *r, uint32_t nodes, uint32_t skins, uint32_t links)
{
	hob_arena *arena = r->w->arena;
	r->top = HOB_NEW(arena, uint32_t, nodes);
	r->gathered = HOB_NEW(arena, uint8_t, nodes);
	r->shown = HOB_NEW(arena, uint32_t, nodes + 1);
	r->queue = HOB_NEW(arena, uint32_t, nodes + 1);
	r->joint_top = HOB_NEW(arena, uint32_t, skins);
	r->need_first = HOB_NEW(arena, uint32_t, nodes);
	r->need_next = HOB_NEW(arena, uint32_t, links);
	return r->top && r->gathered && r->shown && r->queue && r->joint_top && r->need_first && r->need_next;
}

static void find_tops(glb_roots *r)
{
	hob_pack_array hierarchy = hob_pack_find(&r->w->scene, HOB_PK_HIER);
	for (uint32_t node = 0; node < hierarchy.count; node++) {
		int32_t parent = HOB_PACK_AT(hob_pk_hierarchy, hierarchy, node)->parent;
		r->top[node] = parent < 0 ? node : r->top[parent];
	}
}

static void find_joint_tops(glb_roots *r)
{
	hob_pack_array skins = hob_pack_find(&r->w->animations, HOB_PK_SKIN);
	hob_pack_array joints = hob_pack_find(&r->w->animations, HOB_PK_JNTS);
	for (uint32_t i = 0; i < skins.count; i++) {
		const hob_pk_skin *skin = HOB_PACK_AT(hob_pk_skin, skins, i);
		uint32_t one = HOB_NONE;
		bool several = false;
		for (uint32_t k = 0; k < skin->joint_count; k++) {
			uint32_t top = r->top[*HOB_PACK_AT(uint32_t, joints, skin->joint_first + k)];
			several = several || (one != HOB_NONE && top != one);
			one = top;
		}
		r->joint_top[i] = one;
		for (uint32_t k = 0; several && k < skin->joint_count; k++)
			r->gathered[r->top[*HOB_PACK_AT(uint32_t, joints, skin->joint_first + k)]] = 1;
	}
}

static void find_needs(glb_roots *r)
{
	for (uint32_t i = 0; i < r->skin_links.count; i++) {
		const hob_pk_link *link = HOB_PACK_AT(hob_pk_link, r->skin_links, i);
		uint32_t top = r->top[link->node];
		if (r->joint_top[link->value] == HOB_NONE || r->joint_top[link->value] == top)
			continue;
		r->need_next[i] = r->need_first[top];
		r->need_first[top] = i + 1;
	}
}

static void put_gathering_node(glb_roots *r, uint32_t nodes)
{
	hob_buf *json = NULL;
	for (uint32_t node = 0; node < nodes; node++) {
		if (!r->gathered[node])
			continue;
		if (!json) {
			r->gathering = r->w->nodes.count;
			json = hob_glb_next(&r->w->nodes);
		}
		hob_buf_printf(json, "%s%u", r->gathered_count++ ? "," : "{\"name\":\"joints\",\"children\":[",
					   r->w->node_place[node]);
	}
	if (!json)
		return;
	hob_buf_put_str(json, HOB_STR("]}"));
	hob_info(r->w->notes, "glb.joints-gathered",
			 "%u roots that share joints of a skin were put below a new node, because glTF requires one root",
			 r->gathered_count);
}

bool hob_glb_roots_find(glb_roots *r, glb_writer *w)
{
	uint32_t nodes = hob_pack_find(&w->scene, HOB_PK_HIER).count;
	*r = (glb_roots){.w = w, .skin_links = hob_pack_find(&w->scene, HOB_PK_LSKN), .gathering = HOB_NONE};
	uint32_t skins = w->has_animations ? hob_pack_find(&w->animations, HOB_PK_SKIN).count : 0;
	if (skins == 0)
		r->skin_links.count = 0;
	if (!allocate(r, nodes, skins, r->skin_links.count))
		return hob_fail_memory(w->err, w->arena, "roots");
	find_tops(r);
	if (skins > 0)
		find_joint_tops(r);
	find_needs(r);
	put_gathering_node(r, nodes);
	return true;
}

static void enqueue(glb_roots *r, uint32_t root)
{
	if (r->shown[root] == r->stamp)
		return;
	r->shown[root] = r->stamp;
	r->queue[r->queued++] = root;
}

uint32_t hob_glb_roots_put(glb_roots *r, hob_buf *json, const uint32_t *roots, uint32_t count,
						   uint32_t stride)
{
	uint32_t put = 0;
	bool gathering_put = false;
	r->stamp++;
	r->queued = 0;
	for (uint32_t i = 0; i < count; i++)
		enqueue(r, *(const uint32_t *)(const void *)((const uint8_t *)roots + (size_t)i * stride));
	for (uint32_t at = 0; at < r->queued; at++) {
		uint32_t root = r->queue[at];
		for (uint32_t need = r->need_first[root]; need; need = r->need_next[need - 1])
			enqueue(r, r->joint_top[HOB_PACK_AT(hob_pk_link, r->skin_links, need - 1)->value]);
		if (r->gathered[root] && gathering_put)
			continue;
		gathering_put = gathering_put || r->gathered[root];
		hob_buf_printf(json, "%s%u", put++ ? "," : ",\"nodes\":[",
					   r->gathered[root] ? r->gathering : r->w->node_place[root]);
	}
	if (put)
		hob_buf_put(json, "]", 1);
	return put;
}
