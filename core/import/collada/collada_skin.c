#include "collada_private.h"

#include "../matrix_double.h"
#include "../text.h"

enum { INFLUENCES_MAX = 64, INPUTS_MAX = 16, OFFSETS_MAX = 256 };

/* ---- weights of the points of a skin */

typedef struct point_weights {
	uint32_t width; /* influences of each point, a multiple of 4 */
	uint16_t *joints;
	float *weights;
} point_weights;

typedef struct weight_list {
	hob_buf counts, pairs; /* u32 */
	uint32_t stride, joint_offset, weight_offset, joint_count;
	const hob_collada_source *weights;
} weight_list;

/* Adds an influence if it is among the strongest; the list is in descending order. */
static void keep(const point_weights *to, uint32_t point, uint32_t joint, float weight)
{
	uint16_t *joints = to->joints + (size_t)point * to->width;
	float *weights = to->weights + (size_t)point * to->width;
	uint32_t at = to->width;
	while (at > 0 && weights[at - 1] < weight)
		at--;
	if (at == to->width)
		return;
	memmove(joints + at + 1, joints + at, (to->width - at - 1) * sizeof *joints);
	memmove(weights + at + 1, weights + at, (to->width - at - 1) * sizeof *weights);
	joints[at] = (uint16_t)joint;
	weights[at] = weight;
}

static float weight_of(const weight_list *list, const uint32_t *pair)
{
	float weight = 0;
	hob_collada_item(list->weights, pair[list->weight_offset], &weight, 1);
	return weight > 0 ? weight : 0;
}

static void spread(hob_collada *c, const weight_list *list, hob_xml_ptr skin, uint32_t point_count,
				   point_weights *out)
{
	hob_arena *work = &c->work;
	const uint32_t *counts = (const uint32_t *)(const void *)list->counts.data;
	const uint32_t *pairs = (const uint32_t *)(const void *)list->pairs.data;
	uint32_t listed = HOB_LISTS_COUNT(list->counts, uint32_t), most = 0, lost = 0;
	uint64_t have = list->pairs.size / sizeof(uint32_t) / list->stride;
	for (uint32_t i = 0; i < listed; i++)
		most = counts[i] > most ? counts[i] : most;
	most = most < have ? most : (uint32_t)have;
	if (most > INFLUENCES_MAX) {
		hob_warn(c->request->notes, "skin.many-influences",
				 "line %u: a vertex is moved by %u joints; the %d strongest are kept", skin->line, most,
				 INFLUENCES_MAX);
		most = INFLUENCES_MAX;
	}
	out->width = most > 0 ? (most + 3) / 4 * 4 : 4;
	out->joints = HOB_NEW(work, uint16_t, (size_t)point_count * out->width);
	out->weights = HOB_NEW(work, float, (size_t)point_count * out->width);
	for (uint32_t i = 0; i < listed && i < point_count && have > 0; i++)
		for (uint32_t k = 0; k < counts[i] && have > 0; k++, have--, pairs += list->stride) {
			uint32_t joint = pairs[list->joint_offset];
			if (joint < list->joint_count)
				keep(out, i, joint, weight_of(list, pairs));
			else
				lost++;
		}
	if (lost > 0)
		hob_warn(
			c->request->notes, "skin.missing-joint",
			"line %u: %u weights belong to the bind shape or to joints that do not exist; they are left out",
			skin->line, lost);
}

static void read_weights(hob_collada *c, hob_xml_ptr skin, uint32_t point_count, point_weights *out)
{
	hob_xml_ptr element = hob_xml_child(skin, HOB_STR("vertex_weights"));
	hob_collada_input inputs[INPUTS_MAX];
	uint32_t count = hob_collada_inputs(c, element, inputs, INPUTS_MAX);
	const hob_collada_input *joint = hob_collada_input_of(inputs, count, HOB_STR("JOINT")),
							*weight = hob_collada_input_of(inputs, count, HOB_STR("WEIGHT"));
	weight_list list = {0};
	out->width = 0;
	if (!joint || !weight)
		return;
	if (joint->offset >= OFFSETS_MAX || weight->offset >= OFFSETS_MAX)
		hob_leave(CORRUPT, "line %u: an influence of more than %d indices", element->line, OFFSETS_MAX);
	list.weights = hob_collada_floats(c, weight->source);
	if (!list.weights)
		return;
	const hob_collada_source held = *list.weights;
	list.weights = &held;
	list.joint_offset = joint->offset;
	list.weight_offset = weight->offset;
	for (uint32_t i = 0; i < count; i++)
		list.stride = inputs[i].offset < OFFSETS_MAX && inputs[i].offset + 1 > list.stride
						  ? inputs[i].offset + 1
						  : list.stride;
	list.joint_count = hob_text_count_words(hob_collada_names(joint->source, NULL));
	hob_xml_ptr counts = hob_xml_child(element, HOB_STR("vcount")),
				pairs = hob_xml_child(element, HOB_STR("v"));
	if (counts)
		hob_collada_indices(counts->text, &list.counts);
	if (pairs)
		hob_collada_indices(pairs->text, &list.pairs);
	spread(c, &list, skin, point_count, out);
	HOB_LISTS_FREE(&list.counts, &list.pairs);
}

void hob_collada_weigh(hob_collada *c, hob_xml_ptr skin, hob_collada_part *parts, uint32_t part_count,
					   uint32_t point_count)
{
	point_weights from;
	hob_arena *arena = c->request->result;
	read_weights(c, skin, point_count, &from);
	for (uint32_t p = 0; p < part_count && from.width > 0; p++) {
		hob_mesh *mesh = &parts[p].mesh;
		size_t width = from.width, count = mesh->vertex_count;
		mesh->influence_count = from.width;
		mesh->joints = HOB_NEW(arena, uint16_t, count * width);
		mesh->weights = HOB_NEW(arena, float, count *width);
		for (size_t v = 0; v < count; v++)
			if (parts[p].point[v] < point_count) {
				memcpy(mesh->joints + v * width, from.joints + parts[p].point[v] * width,
					   width * sizeof *mesh->joints);
				memcpy(mesh->weights + v * width, from.weights + parts[p].point[v] * width,
					   width * sizeof *mesh->weights);
			}
	}
}

/* ---- skins: joints become nodes */

typedef struct skin_builder {
	hob_collada *c;
	const hob_collada_pending *pending;
	uint32_t end; /* end of the node range */
	hob_name_map sids, names;
	uint32_t first, last; /* indexed range of nodes */
} skin_builder;

static uint32_t subtree_end(const hob_collada *c, uint32_t node)
{
	uint32_t count = HOB_LISTS_COUNT(c->lists.nodes, hob_node), at = node + 1;
	while (at < count) {
		uint32_t parent = HOB_LISTS_AT(c->lists.nodes, hob_node, at)->parent;
		if (parent == HOB_NONE || parent < node)
			break;
		at++;
	}
	return at;
}

static void index_range(skin_builder *b, hob_xml_ptr *element_of, uint32_t first, uint32_t last)
{
	hob_arena *scratch = b->c->request->scratch;
	if (b->sids.arena && b->first == first && b->last == last)
		return;
	hob_name_map_init(&b->sids, scratch);
	hob_name_map_init(&b->names, scratch);
	b->first = first, b->last = last;
	for (uint32_t n = first; n < last; n++) {
		hob_str sid = element_of[n] ? hob_xml_attr(element_of[n], HOB_STR("sid")) : (hob_str){0};
		hob_str name = element_of[n] ? hob_xml_attr(element_of[n], HOB_STR("name")) : (hob_str){0};
		if (sid.len > 0)
			hob_name_map_add(&b->sids, sid, n);
		if (name.len > 0)
			hob_name_map_add(&b->names, name, n);
	}
}

/* The element's place within the indexed range, else its first place. */
static uint32_t place_within(const skin_builder *b, hob_xml_ptr element)
{
	const hob_collada *c = b->c;
	if (!element || !hob_xml_is(element, HOB_STR("node")))
		return HOB_NONE;
	uint32_t slot = c->slot[element->number], first = hob_collada_place_of(c, element);
	for (; slot != HOB_NONE; slot = HOB_LISTS_AT(c->places, hob_collada_place, slot)->next) {
		uint32_t node = HOB_LISTS_AT(c->places, hob_collada_place, slot)->node;
		if (node >= b->first && node < b->last)
			return node;
	}
	return first;
}

static uint32_t find_joint(const skin_builder *b, hob_str name, bool is_id)
{
	hob_xml_ptr by_id = hob_collada_by_id(b->c, b->pending->instance, "node", name);
	uint32_t found = is_id ? place_within(b, by_id) : hob_name_map_get(&b->sids, name);
	if (found == HOB_NONE)
		found = is_id ? hob_name_map_get(&b->sids, name) : place_within(b, by_id);
	return found != HOB_NONE ? found : hob_name_map_get(&b->names, name);
}

static void read_matrix(hob_str text, double m[16])
{
	double n[16], identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	memcpy(m, identity, sizeof identity);
	if (hob_xml_doubles(text, n, 16) == 16)
		hob_collada_transform_matrix(HOB_STR("matrix"), n, 1, m);
}

/* Inverse bind matrix times bind shape matrix, in metres. */
static void bind_matrix(const hob_collada *c, const hob_collada_source *source, uint32_t joint,
						const double *shape, float out[16])
{
	float rows[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	double n[16], m[16];
	if (source)
		hob_collada_item(source, joint, rows, 16);
	for (int i = 0; i < 16; i++)
		n[i] = (double)rows[i];
	hob_collada_transform_matrix(HOB_STR("matrix"), n, 1, m);
	hob_matrix_multiply_double(m, shape, m);
	for (int i = 0; i < 16; i++) {
		out[i] = (float)(m[i] * (i >= 12 && i < 15 ? (double)c->unit : 1));
		if (out[i] - out[i] != 0)
			out[i] = (float)(i % 5 == 0);
	}
}

/* Indexes the nodes to search for joints: those of the first <skeleton>, or all. */
static void index_skeleton(skin_builder *b, hob_xml_ptr *element_of)
{
	hob_xml_ptr skeleton = hob_xml_child(b->pending->instance, HOB_STR("skeleton"));
	bool several = skeleton && hob_xml_next(skeleton, HOB_STR("skeleton"));
	hob_xml_ptr root = hob_collada_target(b->c, skeleton, "node", NULL);
	uint32_t node = root ? hob_collada_place_of(b->c, root) : HOB_NONE;
	if (node == HOB_NONE || several)
		index_range(b, element_of, 0, b->end);
	else
		index_range(b, element_of, node, subtree_end(b->c, node));
}

static void fill_skin(skin_builder *b, hob_xml_ptr *element_of, hob_skin *skin)
{
	hob_collada *c = b->c;
	hob_arena *arena = c->request->result;
	hob_xml_ptr element = b->pending->skin, joints = hob_xml_child(element, HOB_STR("joints"));
	hob_collada_input inputs[INPUTS_MAX];
	uint32_t count = hob_collada_inputs(c, joints, inputs, INPUTS_MAX);
	const hob_collada_input *names = hob_collada_input_of(inputs, count, HOB_STR("JOINT"));
	const hob_collada_input *matrices = hob_collada_input_of(inputs, count, HOB_STR("INV_BIND_MATRIX"));
	double shape[16];
	bool are_ids = false;
	hob_str list = hob_collada_names(names ? names->source : NULL, &are_ids), word, rest = list;
	uint32_t total = hob_text_count_words(list), missing = 0;
	if (total > HOB_LIMIT_JOINTS)
		hob_leave(LIMIT, "line %u: %u joints, at most %llu are allowed", element->line, total,
				  HOB_LIMIT_JOINTS);
	const hob_collada_source *source = matrices ? hob_collada_floats(c, matrices->source) : NULL;
	index_skeleton(b, element_of);
	hob_xml_ptr bind = hob_xml_child(element, HOB_STR("bind_shape_matrix"));
	read_matrix(bind ? bind->text : (hob_str){0}, shape);
	*skin = (hob_skin){.name = HOB_STR(""), .root = HOB_NONE};
	skin->joints = HOB_NEW(arena, uint32_t, total);
	skin->inverse_bind = HOB_NEW(arena, float, (size_t)total * 16);
	while ((word = hob_text_word(&rest)).len > 0) {
		uint32_t joint = skin->joint_count++;
		skin->joints[joint] = find_joint(b, word, are_ids);
		if (skin->joints[joint] == HOB_NONE && b->last - b->first < b->end) {
			/* Some exporters name a skeleton that does not contain all joints. */
			index_range(b, element_of, 0, b->end);
			skin->joints[joint] = find_joint(b, word, are_ids);
		}
		if (skin->joints[joint] == HOB_NONE) {
			missing++;
			skin->joints[joint] = b->pending->node;
		}
		bind_matrix(c, source, joint, shape, skin->inverse_bind + (size_t)joint * 16);
	}
	if (missing > 0)
		hob_warn(
			c->request->notes, "skin.missing-joint",
			"line %u: %u joints of the skin are not nodes of the scene; their vertices stay with the mesh",
			element->line, missing);
}

/* Two instances of a controller with one skeleton share a skin. */
static uint32_t same_skin(const hob_collada *c, const hob_collada_pending *all, uint32_t index,
						  const hob_skin *skin)
{
	for (uint32_t i = 0; i < index; i++) {
		uint32_t id = HOB_LISTS_AT(c->lists.nodes, hob_node, all[i].node)->skin;
		if (all[i].skin != all[index].skin || id == HOB_NONE)
			continue;
		const hob_skin *other = HOB_LISTS_AT(c->lists.skins, hob_skin, id);
		if (other->joint_count == skin->joint_count &&
			memcmp(other->joints, skin->joints, skin->joint_count * sizeof *skin->joints) == 0)
			return id;
	}
	return HOB_NONE;
}

/* The element of each node, or NULL. */
static hob_xml_ptr *find_elements(hob_collada *c, uint32_t node_count)
{
	hob_arena *scratch = c->request->scratch;
	hob_xml_ptr *by_number = HOB_NEW(scratch, hob_xml_ptr, c->xml.element_count);
	hob_xml_ptr *out = HOB_NEW(scratch, hob_xml_ptr, node_count);
	for (hob_xml_ptr e = c->xml.root; e; e = hob_xml_after(e, c->xml.root))
		by_number[e->number] = e;
	for (uint32_t n = 0; n < node_count; n++) {
		uint32_t source = HOB_LISTS_AT(c->lists.nodes, hob_node, n)->source;
		out[n] = source == HOB_NONE ? NULL : by_number[source];
	}
	return out;
}

void hob_collada_skins(hob_collada *c)
{
	uint32_t count = HOB_LISTS_COUNT(c->pending, hob_collada_pending);
	const hob_collada_pending *all = (const hob_collada_pending *)(const void *)c->pending.data;
	skin_builder b = {.c = c, .end = HOB_LISTS_COUNT(c->lists.nodes, hob_node)};
	if (count == 0)
		return;
	hob_xml_ptr *element_of = find_elements(c, b.end);
	for (uint32_t i = 0; i < count; i++) {
		hob_skin skin;
		b.pending = &all[i];
		if (!b.pending->skin)
			continue;
		fill_skin(&b, element_of, &skin);
		if (skin.joint_count == 0)
			continue;
		uint32_t id = same_skin(c, all, i, &skin);
		if (id == HOB_NONE) {
			id = HOB_LISTS_COUNT(c->lists.skins, hob_skin);
			hob_buf_put(&c->lists.skins, &skin, sizeof skin);
		}
		HOB_LISTS_AT(c->lists.nodes, hob_node, all[i].node)->skin = id;
	}
}
