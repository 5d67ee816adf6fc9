#include "glb_writer.h"

#include <math.h>

/* Roots of scenes as glTF requires them: the joints of a skin have a common root and are in every scene that
 * shows the skin. Some sources break both rules, and packed files need neither. */
typedef struct glb_roots {
	glb_writer *w;
	hob_pack_array skin_links;
	uint32_t *top;		 /* [nodes] the root above, or the node itself */
	uint8_t *gathered;	 /* [nodes] 1: a root put below an extra node: a skin has joints under several */
	uint32_t gathering;	 /* number of that node in nodes, or HOB_NONE */
	uint32_t *joint_top; /* [skins] a root of its joints, or HOB_NONE */
	/* [nodes], [skin links]: for each root, a chain of skin links (+ 1) with joints under other roots */
	uint32_t *need_first, *need_next;
	uint32_t *shown, *queue; /* [nodes + 1] */
	uint32_t gathered_count, queued, stamp;
} glb_roots;

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
			r->gathering = r->w->lists[GLB_LIST_NODES].count;
			json = hob_glb_next(r->w, GLB_LIST_NODES);
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

/* Call it after all nodes are put; puts one more if joints must be gathered. */
static void glb_roots_find(glb_roots *r, glb_writer *w)
{
	uint32_t nodes = hob_pack_find(&w->scene, HOB_PK_HIER).count;
	*r = (glb_roots){.w = w, .skin_links = hob_pack_find(&w->scene, HOB_PK_LSKN), .gathering = HOB_NONE};
	uint32_t skins = w->has_animations ? hob_pack_find(&w->animations, HOB_PK_SKIN).count : 0;
	if (skins == 0)
		r->skin_links.count = 0;
	r->top = HOB_NEW(w->arena, uint32_t, nodes);
	r->gathered = HOB_NEW(w->arena, uint8_t, nodes);
	r->shown = HOB_NEW(w->arena, uint32_t, nodes + 1);
	r->queue = HOB_NEW(w->arena, uint32_t, nodes + 1);
	r->joint_top = HOB_NEW(w->arena, uint32_t, skins);
	r->need_first = HOB_NEW(w->arena, uint32_t, nodes);
	r->need_next = HOB_NEW(w->arena, uint32_t, r->skin_links.count);
	find_tops(r);
	if (skins > 0)
		find_joint_tops(r);
	find_needs(r);
	put_gathering_node(r, nodes);
}

static void enqueue(glb_roots *r, uint32_t root)
{
	if (r->shown[root] == r->stamp)
		return;
	r->shown[root] = r->stamp;
	r->queue[r->queued++] = root;
}

/* Puts ,"nodes":[...] of a scene with these roots and returns their number; 0 puts nothing. */
static uint32_t glb_roots_put(glb_roots *r, hob_buf *json, const uint32_t *roots, uint32_t count,
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

typedef struct scene_writer {
	glb_writer *w;
	hob_pack_array hierarchy, trs, names;
	hob_pack_array mesh_links, skin_links, weight_links, camera_links, light_links;
	uint8_t *named; /* [nodes] 1: a channel or a skin refers to the node; 2: a clip shows and hides it */
	uint8_t *folds; /* [nodes] its mesh children are folded back into it */
	uint32_t *first, *count; /* [nodes] range of packed meshes: the folded children's, or the node's own */
} scene_writer;

static const hob_pk_hierarchy *node_at(const scene_writer *s, uint32_t node)
{
	return HOB_PACK_AT(hob_pk_hierarchy, s->hierarchy, node);
}

static const hob_pk_mesh *mesh_at(const scene_writer *s, uint32_t mesh)
{
	return HOB_PACK_AT(hob_pk_mesh, s->w->geometry.meshes, mesh);
}

/* ---- nodes to fold ---- */

static void find_named(scene_writer *s)
{
	if (!s->w->has_animations)
		return;
	hob_pack_array channels = hob_pack_find(&s->w->animations, HOB_PK_CHAN);
	hob_pack_array joints = hob_pack_find(&s->w->animations, HOB_PK_JNTS);
	for (uint32_t i = 0; i < channels.count; i++)
		s->named[HOB_PACK_AT(hob_pk_channel, channels, i)->node] = 1;
	for (uint32_t i = 0; i < joints.count; i++)
		s->named[*HOB_PACK_AT(uint32_t, joints, i)] = 1;
	hob_pack_array properties = hob_pack_find(&s->w->animations, HOB_PK_PROP);
	for (uint32_t i = 0; i < properties.count; i++) {
		const hob_pk_property_channel *channel = HOB_PACK_AT(hob_pk_property_channel, properties, i);
		if (channel->property == HOB_PK_PROPERTY_NODE_VISIBLE && channel->index < s->hierarchy.count)
			s->named[channel->index] = 2;
	}
}

/* Whether the node only carries a mesh: the cook adds such a node for each mesh of a source node. */
static bool is_mesh_child(const scene_writer *s, uint32_t node)
{
	const hob_pk_trs *t = HOB_PACK_AT(hob_pk_trs, s->trs, node);
	bool identity = !(t->t[0] != 0 || t->t[1] != 0 || t->t[2] != 0 || t->r[3] != 1 || t->s[0] != 1 ||
					  t->s[1] != 1 || t->s[2] != 1 || t->flags & (HOB_PK_NODE_SHEAR | HOB_PK_NODE_HIDDEN));
	return identity && node_at(s, node)->first_child < 0 && !s->named[node] &&
		   hob_pack_link(s->camera_links, node) == HOB_PK_NONE &&
		   hob_pack_link(s->light_links, node) == HOB_PK_NONE &&
		   hob_pack_link(s->skin_links, node) == HOB_PK_NONE &&
		   hob_pack_link(s->weight_links, node) == HOB_PK_NONE;
}

static bool is_whole_source(const scene_writer *s, uint32_t first, uint32_t count)
{
	uint32_t source = mesh_at(s, first)->source_mesh, total = s->w->geometry.meshes.count;
	if (count == 1)
		return true;
	if ((first > 0 && mesh_at(s, first - 1)->source_mesh == source) ||
		(first + count < total && mesh_at(s, first + count)->source_mesh == source))
		return false;
	for (uint32_t m = first; m < first + count; m++)
		if (mesh_at(s, m)->source_mesh != source ||
			mesh_at(s, m)->morph_count != mesh_at(s, first)->morph_count ||
			!mesh_at(s, m)->influence_count != !mesh_at(s, first)->influence_count)
			return false;
	return true;
}

static void find_fold(scene_writer *s, uint32_t node)
{
	uint32_t first = HOB_NONE, count = 0;
	for (int32_t child = node_at(s, node)->first_child; child >= 0;
		 child = node_at(s, (uint32_t)child)->next_sibling) {
		uint32_t mesh = hob_pack_link(s->mesh_links, (uint32_t)child);
		if (mesh == HOB_PK_NONE)
			continue;
		first = count ? first : mesh;
		if (mesh != first + count || !is_mesh_child(s, (uint32_t)child))
			return;
		count++;
	}
	if (!count || hob_pack_link(s->mesh_links, node) != HOB_PK_NONE || !is_whole_source(s, first, count))
		return;
	s->folds[node] = 1;
	s->first[node] = first;
	s->count[node] = count;
}

static void number_nodes(scene_writer *s)
{
	uint32_t next = 0;
	for (uint32_t node = 0; node < s->hierarchy.count; node++) {
		int32_t parent = node_at(s, node)->parent;
		uint32_t mesh = hob_pack_link(s->mesh_links, node);
		bool folded = mesh != HOB_PK_NONE && parent >= 0 && s->folds[parent];
		s->w->node_place[node] = folded ? HOB_NONE : next++;
		if (mesh != HOB_PK_NONE && !folded) {
			s->first[node] = mesh;
			s->count[node] = 1;
		}
	}
}

/* ---- nodes ---- */

static void put_transform(hob_buf *json, const hob_pk_trs *t)
{
	double length = sqrt((double)t->r[0] * (double)t->r[0] + (double)t->r[1] * (double)t->r[1] +
						 (double)t->r[2] * (double)t->r[2] + (double)t->r[3] * (double)t->r[3]);
	float r[4];
	for (size_t i = 0; i < 4; i++)
		r[i] = (float)((double)t->r[i] / length);
	if (t->t[0] != 0 || t->t[1] != 0 || t->t[2] != 0)
		hob_glb_floats(json, "translation", t->t, 3);
	if (r[0] != 0 || r[1] != 0 || r[2] != 0)
		hob_glb_floats(json, "rotation", r, 4);
	if (t->s[0] != 1 || t->s[1] != 1 || t->s[2] != 1)
		hob_glb_floats(json, "scale", t->s, 3);
}

/* Skin and weights belong to the source's node: a mesh child that did not fold takes them from its parent. */
static uint32_t own_or_parents(const scene_writer *s, hob_pack_array links, uint32_t node)
{
	uint32_t value = hob_pack_link(links, node);
	int32_t parent = node_at(s, node)->parent;
	bool is_child = hob_pack_link(s->mesh_links, node) != HOB_PK_NONE;
	return value == HOB_PK_NONE && is_child && parent >= 0 ? hob_pack_link(links, (uint32_t)parent) : value;
}

static void put_mesh(scene_writer *s, hob_buf *json, uint32_t node)
{
	uint32_t mesh = hob_glb_mesh_of(s->w, s->first[node], s->count[node]);
	if (mesh == HOB_NONE)
		return;
	const hob_pk_mesh *first = mesh_at(s, s->first[node]);
	hob_buf_printf(json, ",\"mesh\":%u", mesh);
	uint32_t skin = own_or_parents(s, s->skin_links, node);
	if (skin != HOB_PK_NONE && s->w->has_animations && s->w->skin_place[skin] != HOB_NONE &&
		first->influence_count)
		hob_buf_printf(json, ",\"skin\":%u", s->w->skin_place[skin]);
	uint32_t weights = own_or_parents(s, s->weight_links, node);
	hob_pack_array values = hob_pack_find(&s->w->scene, HOB_PK_WGTS);
	if (weights != HOB_PK_NONE && first->morph_count && first->morph_count <= values.count - weights)
		hob_glb_floats(json, "weights", HOB_PACK_AT(float, values, weights), first->morph_count);
}

static void put_children(scene_writer *s, hob_buf *json, uint32_t node)
{
	uint32_t count = 0;
	for (int32_t child = node_at(s, node)->first_child; child >= 0;
		 child = node_at(s, (uint32_t)child)->next_sibling)
		if (s->w->node_place[child] != HOB_NONE)
			hob_buf_printf(json, "%s%u", count++ ? "," : ",\"children\":[", s->w->node_place[child]);
	if (count)
		hob_buf_put(json, "]", 1);
}

static void put_node_extensions(scene_writer *s, hob_buf *json, uint32_t node, uint32_t light)
{
	bool hidden = HOB_PACK_AT(hob_pk_trs, s->trs, node)->flags & HOB_PK_NODE_HIDDEN;
	bool stated = hidden || s->named[node] == 2;
	if (light == HOB_PK_NONE && !stated)
		return;
	hob_buf_printf(json, ",\"extensions\":{");
	if (light != HOB_PK_NONE)
		hob_buf_printf(json, "\"%s\":{\"light\":%u}%s", hob_glb_extension_names[GLB_LIGHTS], light,
					   stated ? "," : "");
	if (stated)
		hob_buf_printf(json, "\"%s\":{\"visible\":%s}", hob_glb_extension_names[GLB_NODE_VISIBILITY],
					   hidden ? "false" : "true");
	hob_buf_put(json, "}", 1);
	s->w->extensions |= (uint32_t)stated << GLB_NODE_VISIBILITY;
}

static void put_node(scene_writer *s, uint32_t node)
{
	hob_buf *json = hob_glb_next(s->w, GLB_LIST_NODES);
	hob_buf_put(json, "{", 1);
	size_t start = json->size;
	hob_glb_name(json, hob_pack_string(&s->w->scene, *HOB_PACK_AT(uint32_t, s->names, node)));
	put_transform(json, HOB_PACK_AT(hob_pk_trs, s->trs, node));
	put_children(s, json, node);
	if (s->count[node])
		put_mesh(s, json, node);
	uint32_t camera = hob_pack_link(s->camera_links, node), light = hob_pack_link(s->light_links, node);
	if (camera != HOB_PK_NONE)
		hob_buf_printf(json, ",\"camera\":%u", camera);
	put_node_extensions(s, json, node, light);
	hob_glb_extras(s->w, json, HOB_PK_EXTRA_NODE, node);
	hob_glb_drop_comma(json, start);
	hob_buf_put(json, "}", 1);
	if (HOB_PACK_AT(hob_pk_trs, s->trs, node)->flags & HOB_PK_NODE_SHEAR)
		hob_warn(s->w->notes, "glb.shear-dropped",
				 "node %u '%.*s' is sheared, which glTF cannot express: the closest translation, rotation "
				 "and scale are used",
				 node, HOB_FMT(hob_pack_string(&s->w->scene, *HOB_PACK_AT(uint32_t, s->names, node))));
}

/* ---- cameras, lights, scenes ---- */

static float above(float value, float floor)
{
	return value > floor ? value : floor;
}

static void put_camera(glb_writer *w, const hob_pk_camera *c, uint32_t index)
{
	hob_buf *json = hob_glb_next(w, GLB_LIST_CAMERAS);
	if (c->type == HOB_PK_CAMERA_PERSPECTIVE) {
		hob_buf_printf(json, "{\"type\":\"perspective\",\"perspective\":{\"znear\":");
		hob_put_f32(json, above(c->znear, 1e-6f));
		hob_glb_float(json, "yfov", above(c->yfov_or_ymag, 1e-6f));
		if (c->aspect_or_xmag > 0)
			hob_glb_float(json, "aspectRatio", c->aspect_or_xmag);
		if (isfinite(c->zfar))
			hob_glb_float(json, "zfar", above(c->zfar, above(c->znear, 1e-6f) * 2));
	} else {
		hob_buf_printf(json, "{\"type\":\"orthographic\",\"orthographic\":{\"znear\":");
		hob_put_f32(json, above(c->znear, 0));
		hob_glb_float(json, "zfar", isfinite(c->zfar) ? c->zfar : above(c->znear, 0) + 1e6f);
		hob_glb_float(json, "xmag", c->aspect_or_xmag);
		hob_glb_float(json, "ymag", c->yfov_or_ymag);
	}
	hob_buf_put(json, "}", 1);
	hob_glb_name(json, hob_pack_string(&w->scene, c->name));
	hob_glb_extras(w, json, HOB_PK_EXTRA_CAMERA, index);
	hob_buf_put(json, "}", 1);
}

static void put_light(glb_writer *w, const hob_pk_light *l, uint32_t index)
{
	static const char *const types[] = {"directional", "point", "spot"};
	static const float quarter_turn = 1.57079637f;
	hob_buf *json = hob_glb_next(w, GLB_LIST_LIGHTS);
	float color[3];
	for (size_t i = 0; i < 3; i++)
		color[i] = l->color[i] < 0 ? 0 : l->color[i] > 1 ? 1 : l->color[i];
	hob_buf_printf(json, "{\"type\":\"%s\"", types[l->type]);
	hob_glb_name(json, hob_pack_string(&w->scene, l->name));
	hob_glb_floats(json, "color", color, 3);
	hob_glb_float(json, "intensity", above(l->intensity, 0));
	if (isfinite(l->range) && l->type != HOB_PK_LIGHT_DIRECTIONAL)
		hob_glb_float(json, "range", l->range);
	if (l->type == HOB_PK_LIGHT_SPOT) {
		float outer = l->outer_cone > quarter_turn ? quarter_turn : above(l->outer_cone, 1e-3f);
		float inner = l->inner_cone < outer ? above(l->inner_cone, 0) : outer * 0.999f;
		hob_buf_printf(json, ",\"spot\":{\"innerConeAngle\":");
		hob_put_f32(json, inner);
		hob_glb_float(json, "outerConeAngle", outer);
		hob_buf_put(json, "}", 1);
	}
	hob_glb_extras(w, json, HOB_PK_EXTRA_LIGHT, index);
	hob_buf_put(json, "}", 1);
}

static void put_scene(glb_roots *r, uint32_t index)
{
	const hob_pk_scene *scene = HOB_PACK_AT(hob_pk_scene, hob_pack_find(&r->w->scene, HOB_PK_SCNS), index);
	hob_pack_array roots = hob_pack_find(&r->w->scene, HOB_PK_ROOT);
	hob_buf *json = hob_glb_next(r->w, GLB_LIST_SCENES);
	hob_buf_put(json, "{", 1);
	size_t start = json->size;
	hob_glb_name(json, hob_pack_string(&r->w->scene, scene->name));
	if (scene->root_count)
		glb_roots_put(r, json, HOB_PACK_AT(uint32_t, roots, scene->root_first), scene->root_count,
					  roots.stride);
	hob_glb_extras(r->w, json, HOB_PK_EXTRA_SCENE, index);
	hob_glb_drop_comma(json, start);
	hob_buf_put(json, "}", 1);
}

static void init(scene_writer *s)
{
	const hob_pack *scene = &s->w->scene;
	s->hierarchy = hob_pack_find(scene, HOB_PK_HIER);
	s->trs = hob_pack_find(scene, HOB_PK_TRS_);
	s->names = hob_pack_find(scene, HOB_PK_NAMS);
	s->mesh_links = hob_pack_find(scene, HOB_PK_LMSH);
	s->skin_links = hob_pack_find(scene, HOB_PK_LSKN);
	s->weight_links = hob_pack_find(scene, HOB_PK_LWGT);
	s->camera_links = hob_pack_find(scene, HOB_PK_LCAM);
	s->light_links = hob_pack_find(scene, HOB_PK_LLGT);
	s->named = HOB_NEW(s->w->arena, uint8_t, s->hierarchy.count);
	s->folds = HOB_NEW(s->w->arena, uint8_t, s->hierarchy.count);
	s->first = HOB_NEW(s->w->arena, uint32_t, s->hierarchy.count);
	s->count = HOB_NEW(s->w->arena, uint32_t, s->hierarchy.count);
	s->w->node_place = HOB_NEW(s->w->arena, uint32_t, s->hierarchy.count);
}

void hob_glb_put_scene(glb_writer *w)
{
	scene_writer s = {.w = w};
	glb_roots roots;
	hob_pack_array cameras = hob_pack_find(&w->scene, HOB_PK_CAMS),
				   lights = hob_pack_find(&w->scene, HOB_PK_LGTS);
	hob_pack_array scenes = hob_pack_find(&w->scene, HOB_PK_SCNS);
	init(&s);
	find_named(&s);
	for (uint32_t node = 0; node < s.hierarchy.count; node++)
		find_fold(&s, node);
	number_nodes(&s);
	hob_glb_put_skins(w);
	for (uint32_t node = 0; node < s.hierarchy.count; node++)
		if (w->node_place[node] != HOB_NONE)
			put_node(&s, node);
	glb_roots_find(&roots, w);
	for (uint32_t i = 0; i < cameras.count; i++)
		put_camera(w, HOB_PACK_AT(hob_pk_camera, cameras, i), i);
	for (uint32_t i = 0; i < lights.count; i++)
		put_light(w, HOB_PACK_AT(hob_pk_light, lights, i), i);
	for (uint32_t i = 0; i < scenes.count; i++)
		put_scene(&roots, i);
}
