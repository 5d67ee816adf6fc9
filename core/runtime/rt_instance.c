#include "rt_private.h"

#include "rt_math.h"

#include <assert.h>

/* ---- bits */

static uint32_t lowest_bit(uint64_t word)
{
#if defined(__GNUC__)
	return (uint32_t)__builtin_ctzll(word);
#else
	uint32_t bit = 0;
	while (!(word >> bit & 1))
		bit++;
	return bit;
#endif
}

static void mark(hob_rt_instance *in, uint32_t node)
{
	in->dirty[node >> 6] |= (uint64_t)1 << (node & 63);
	in->dirty_words[node >> 12] |= (uint64_t)1 << (node >> 6 & 63);
}

static bool is_marked(const hob_rt_instance *in, uint32_t node)
{
	return in->dirty[node >> 6] >> (node & 63) & 1;
}

static uint32_t next_marked(const hob_rt_instance *in, uint32_t from)
{
	uint32_t count = in->asset->pub.node_count;
	if (from >= count)
		return HOB_RT_NONE;
	uint64_t bits = in->dirty[from >> 6] >> (from & 63);
	if (bits)
		return from + lowest_bit(bits);
	uint32_t words = (count + 63) >> 6, word = (from >> 6) + 1;
	while (word < words) {
		uint64_t summary = in->dirty_words[word >> 6] >> (word & 63);
		if (summary) {
			word += lowest_bit(summary);
			return word * 64 + lowest_bit(in->dirty[word]);
		}
		word = (word | 63) + 1;
	}
	return HOB_RT_NONE;
}

static void unmark_all(hob_rt_instance *in)
{
	uint32_t words = (in->asset->pub.node_count + 63) >> 6;
	for (uint32_t top = 0; top * 64 < words; top++) {
		uint64_t summary = in->dirty_words[top];
		for (; summary; summary &= summary - 1)
			in->dirty[top * 64 + lowest_bit(summary)] = 0;
		in->dirty_words[top] = 0;
	}
}

/* ---- opening */

static void lay_out(hob_rt_instance *in, rt_memory *memory, const rt_asset *a)
{
	uint32_t nodes = a->pub.node_count, words = (nodes + 63) / 64;
	RT_TAKE(memory, hob_rt_instance, 1);
	in->asset = a;
	in->globals = RT_TAKE(memory, float, (uint64_t)nodes * 16);
	in->locals = RT_TAKE(memory, float, (uint64_t)nodes * 16);
	in->translations = RT_TAKE(memory, float, (uint64_t)nodes * 3);
	in->rotations = RT_TAKE(memory, float, (uint64_t)nodes * 4);
	in->scales = RT_TAKE(memory, float, (uint64_t)nodes * 3);
	in->flags = RT_TAKE(memory, uint8_t, nodes);
	in->dirty = RT_TAKE(memory, uint64_t, words);
	in->dirty_words = RT_TAKE(memory, uint64_t, (words + 63) / 64);
	in->weights = RT_TAKE(memory, float, a->value_count);
	in->ranges = RT_TAKE(memory, hob_rt_range, (uint64_t)nodes / 2 + 1);
}

bool hob_rt_instance_open(const hob_rt_asset *asset, hob_rt_instance **out, hob_rt_error *error)
{
	const rt_asset *a = RT_ASSET(asset);
	hob_rt_instance plan;
	rt_memory memory = {NULL, 0, false};
	memset(&plan, 0, sizeof plan);
	lay_out(&plan, &memory, a);
	uint8_t *block = memory.failed ? NULL : (uint8_t *)hob_rt_allocate(&a->options, memory.used);
	if (!block)
		return hob_rt_fail(error, HOB_RT_MEMORY, "no memory for an instance of %u nodes", asset->node_count);
	hob_rt_instance *in = (hob_rt_instance *)(void *)block;
	memory.base = block;
	memory.used = 0;
	lay_out(in, &memory, a);
	rt_identity(in->base);
	for (uint32_t i = 0; i < asset->node_count; i++)
		hob_rt_reset_node(in, i);
	if (a->value_count > 0)
		memcpy(in->weights, a->weights, a->value_count * sizeof *in->weights);
	hob_rt_update(in);
	*out = in;
	return true;
}

void hob_rt_instance_close(hob_rt_instance *in)
{
	if (!in)
		return;
	hob_rt_detach(in);
	while (in->first_child)
		hob_rt_detach(in->first_child);
	hob_rt_release(&in->asset->options, in);
}

const hob_rt_asset *hob_rt_instance_asset(const hob_rt_instance *in)
{
	return &in->asset->pub;
}

/* ---- setting */

void hob_rt_set_trs(hob_rt_instance *in, uint32_t node, const float translation[3], const float rotation[4],
					const float scale[3])
{
	assert(node < in->asset->pub.node_count);
	if (translation)
		memcpy(in->translations + (size_t)node * 3, translation, 3 * sizeof *translation);
	if (rotation) {
		float *own = in->rotations + (size_t)node * 4;
		memcpy(own, rotation, 4 * sizeof *rotation);
		rt_normalise(own);
	}
	if (scale)
		memcpy(in->scales + (size_t)node * 3, scale, 3 * sizeof *scale);
	in->flags[node] = 0;
	mark(in, node);
}

static bool is_identity(const float *m)
{
	static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	for (int i = 0; i < 16; i++)
		if (m[i] != identity[i])
			return false;
	return true;
}

void hob_rt_set_matrix(hob_rt_instance *in, uint32_t node, const float matrix[16])
{
	assert(node < in->asset->pub.node_count);
	memcpy(in->locals + (size_t)node * 16, matrix, 16 * sizeof *matrix);
	in->flags[node] = (uint8_t)(RT_NODE_MATRIX | (is_identity(matrix) ? RT_NODE_IDENTITY : 0));
	mark(in, node);
}

void hob_rt_get_trs(const hob_rt_instance *in, uint32_t node, float translation[3], float rotation[4],
					float scale[3])
{
	assert(node < in->asset->pub.node_count);
	if (translation)
		memcpy(translation, in->translations + (size_t)node * 3, 3 * sizeof *translation);
	if (rotation)
		memcpy(rotation, in->rotations + (size_t)node * 4, 4 * sizeof *rotation);
	if (scale)
		memcpy(scale, in->scales + (size_t)node * 3, 3 * sizeof *scale);
}

void hob_rt_reset_node(hob_rt_instance *in, uint32_t node)
{
	const hob_pk_trs *trs = RT_AT(hob_pk_trs, in->asset->trs, node);
	hob_rt_set_trs(in, node, trs->t, trs->r, trs->s);
	if (trs->flags & HOB_PK_NODE_SHEAR)
		hob_rt_set_matrix(in, node, RT_AT(hob_pk_mat4, in->asset->local, node)->m);
}

/* ---- updating */

static void compose_local(hob_rt_instance *in, uint32_t node)
{
	float *local = in->locals + (size_t)node * 16;
	if (in->flags[node] & RT_NODE_MATRIX)
		return;
	rt_compose(in->translations + (size_t)node * 3, in->rotations + (size_t)node * 4,
			   in->scales + (size_t)node * 3, local);
	in->flags[node] = is_identity(local) ? RT_NODE_IDENTITY : 0;
}

static void compute_global(hob_rt_instance *in, uint32_t node)
{
	uint32_t parent = in->asset->parents[node];
	const float *local = in->locals + (size_t)node * 16;
	float *global = in->globals + (size_t)node * 16;
	const float *above = parent != HOB_RT_NONE ? in->globals + (size_t)parent * 16 : in->base;
	if (parent == HOB_RT_NONE && !in->placed)
		memcpy(global, local, 16 * sizeof *global);
	else if (in->flags[node] & RT_NODE_IDENTITY)
		memcpy(global, above, 16 * sizeof *global);
	else
		rt_multiply(above, local, global);
}

static void add_range(hob_rt_instance *in, uint32_t first, uint32_t count)
{
	hob_rt_range *last = in->range_count > 0 ? &in->ranges[in->range_count - 1] : NULL;
	if (last && last->first + last->count == first) {
		last->count += count;
	} else {
		in->ranges[in->range_count].first = first;
		in->ranges[in->range_count++].count = count;
	}
}

static uint32_t update_subtrees(hob_rt_instance *in)
{
	uint32_t changed = 0, node = next_marked(in, 0);
	while (node != HOB_RT_NONE) {
		uint32_t count = in->asset->subtrees[node], end = node + count;
		for (uint32_t i = node; i < end; i++) {
			if (is_marked(in, i))
				compose_local(in, i);
			compute_global(in, i);
		}
		add_range(in, node, count);
		changed += count;
		node = next_marked(in, end);
	}
	return changed;
}

/* Updates an instance whose subtrees are not contiguous: marks spread from parents to later children. */
static uint32_t update_sweep(hob_rt_instance *in)
{
	uint32_t changed = 0;
	for (uint32_t i = next_marked(in, 0); i < in->asset->pub.node_count; i++) {
		uint32_t parent = in->asset->parents[i];
		bool own = is_marked(in, i);
		if (!own && (parent == HOB_RT_NONE || !is_marked(in, parent)))
			continue;
		if (own)
			compose_local(in, i);
		mark(in, i);
		compute_global(in, i);
		add_range(in, i, 1);
		changed++;
	}
	return changed;
}

static void set_base(hob_rt_instance *in, const float *base)
{
	if (memcmp(in->base, base, sizeof in->base) == 0)
		return;
	memcpy(in->base, base, sizeof in->base);
	in->placed = !is_identity(base);
	for (uint32_t i = 0; i < in->asset->pub.node_count; i += in->asset->subtrees ? in->asset->subtrees[i] : 1)
		if (in->asset->parents[i] == HOB_RT_NONE)
			mark(in, i);
}

static uint32_t update_one(hob_rt_instance *in)
{
	if (in->host)
		set_base(in, hob_rt_global(in->host, in->host_node));
	in->range_count = 0;
	uint32_t changed = in->asset->subtrees ? update_subtrees(in) : update_sweep(in);
	unmark_all(in);
	return changed;
}

uint32_t hob_rt_update(hob_rt_instance *in)
{
	uint32_t changed = update_one(in);
	/* Updates everything attached, hosts first, without recursion. */
	for (hob_rt_instance *at = in;;) {
		if (at->first_child) {
			at = at->first_child;
		} else {
			while (at != in && !at->next_sibling)
				at = at->host;
			if (at == in)
				return changed;
			at = at->next_sibling;
		}
		update_one(at);
	}
}

const float *hob_rt_globals(const hob_rt_instance *in)
{
	return in->globals;
}

const float *hob_rt_global(const hob_rt_instance *in, uint32_t node)
{
	assert(node < in->asset->pub.node_count);
	return in->globals + (size_t)node * 16;
}

const float *hob_rt_local(const hob_rt_instance *in, uint32_t node)
{
	assert(node < in->asset->pub.node_count);
	return in->locals + (size_t)node * 16;
}

const hob_rt_range *hob_rt_changed(const hob_rt_instance *in, uint32_t *count)
{
	*count = in->range_count;
	return in->ranges;
}

float *hob_rt_weights(hob_rt_instance *in)
{
	return in->weights;
}

/* ---- attaching */

bool hob_rt_attach(hob_rt_instance *child, hob_rt_instance *parent, uint32_t node)
{
	assert(node < parent->asset->pub.node_count);
	for (const hob_rt_instance *above = parent; above; above = above->host)
		if (above == child)
			return false;
	hob_rt_detach(child);
	child->host = parent;
	child->host_node = node;
	child->next_sibling = parent->first_child;
	parent->first_child = child;
	return true;
}

void hob_rt_detach(hob_rt_instance *child)
{
	if (!child->host)
		return;
	hob_rt_instance **link = &child->host->first_child;
	while (*link != child)
		link = &(*link)->next_sibling;
	*link = child->next_sibling;
	child->host = child->next_sibling = NULL;
}

void hob_rt_place(hob_rt_instance *in, const float matrix[16])
{
	assert(!in->host);
	set_base(in, matrix);
}
