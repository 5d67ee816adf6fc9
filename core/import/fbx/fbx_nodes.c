#include "fbx_private.h"

#include <math.h>

/* ---- settings of the file */

static void quat_of_matrix(const double m[9], double q[4])
{
	/* All rotations are quarter turns: the largest of the four is never small. */
	const double squares[4] = {1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8], 1 - m[0] - m[4] + m[8],
							   1 + m[0] + m[4] + m[8]};
	int best = 3;
	for (int i = 0; i < 3; i++)
		best = squares[i] > squares[best] ? i : best;
	double s = sqrt(squares[best]) * 2;
	q[best] = s / 4;
	if (best == 3) {
		q[0] = (m[5] - m[7]) / s, q[1] = (m[6] - m[2]) / s, q[2] = (m[1] - m[3]) / s;
		return;
	}
	int j = (best + 1) % 3, k = (best + 2) % 3;
	q[j] = (m[best * 3 + j] + m[j * 3 + best]) / s;
	q[k] = (m[best * 3 + k] + m[k * 3 + best]) / s;
	q[3] = (m[j * 3 + k] - m[k * 3 + j]) / s;
}

static void read_axes(hob_fbx *f)
{
	static const struct {
		hob_str axis, sign;
		int64_t axis_default;
	} keys[3] = {
		{{"CoordAxis", 9}, {"CoordAxisSign", 13}, 0},
		{{"UpAxis", 6}, {"UpAxisSign", 10}, 1},
		{{"FrontAxis", 9}, {"FrontAxisSign", 13}, 2},
	};
	double m[9] = {0}; /* columns: directions of the file's axes */
	int seen = 0;
	for (int row = 0; row < 3; row++) {
		int64_t axis = hob_fbx_prop_integer(f, f->settings, keys[row].axis, keys[row].axis_default);
		int64_t sign = hob_fbx_prop_integer(f, f->settings, keys[row].sign, 1);
		if (axis < 0 || axis > 2)
			break;
		m[axis * 3 + row] = sign < 0 ? -1 : 1;
		seen |= 1 << axis;
	}
	f->turn[3] = 1;
	if (seen != 7) {
		hob_fbx_note(f, "axes", "the file's axes are not three directions; Y is used as up and Z as front");
		return;
	}
	double determinant = m[0] * (m[4] * m[8] - m[7] * m[5]) - m[3] * (m[1] * m[8] - m[7] * m[2]) +
						 m[6] * (m[1] * m[5] - m[4] * m[2]);
	f->mirrored = determinant < 0;
	for (int row = 0; f->mirrored && row < 3; row++)
		m[row] = -m[row];
	quat_of_matrix(m, f->turn);
	f->turned = fabs(f->turn[3]) < 1 - 1e-12;
	if (!f->turned)
		f->turn[0] = f->turn[1] = f->turn[2] = 0, f->turn[3] = 1;
}

static double rate_of(int64_t mode, double custom)
{
	static const double rates[] = {30, 120,			100,		 60,		  50,		   48,	 30,
								   30, 29.97002997, 29.97002997, 25,		  24,		   1000, 23.976023976,
								   30, 96,			72,			 59.94005994, 119.88011988};
	if (mode == 14)
		return custom > 0 && custom <= 1000 ? custom : 30;
	return mode >= 0 && mode < (int64_t)HOB_COUNT_OF(rates) ? rates[mode] : 30;
}

static void read_ticks(hob_fbx *f)
{
	f->ticks = 46186158000.0;
	uint32_t header = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("FBXHeaderExtension"));
	uint32_t other = hob_fbx_child(f, header, HOB_STR("OtherFlags"));
	int64_t definition = hob_fbx_child_integer(f, other, HOB_STR("TCDefinition"), 127);
	if (f->version >= 8000 ||
		(definition != 127 && hob_fbx_child_integer(f, header, HOB_STR("FBXHeaderVersion"), 0) >= 1004))
		f->ticks = 141120000.0;
}

void hob_fbx_read_settings(hob_fbx *f)
{
	double unit = hob_fbx_prop_real(f, f->settings, HOB_STR("UnitScaleFactor"), 1);
	f->unit = f->request->keep_units ? 1 : unit > 0 && unit < 1e9 ? unit / 100 : 0.01;
	read_axes(f);
	read_ticks(f);
	double custom = hob_fbx_prop_real(f, f->settings, HOB_STR("CustomFrameRate"), -1);
	f->frame_rate = rate_of(hob_fbx_prop_integer(f, f->settings, HOB_STR("TimeMode"), 0), custom);
}

/* ---- one node */

static bool any(const double v[3])
{
	return v[0] < 0 || v[0] > 0 || v[1] < 0 || v[1] > 0 || v[2] < 0 || v[2] > 0;
}

static void read_rig(hob_fbx *f, hob_fbx_node *node)
{
	hob_fbx_rig *rig = &node->rig;
	uint32_t o = node->object;
	double pre[3] = {0}, post[3] = {0};
	bool active = hob_fbx_prop_integer(f, o, HOB_STR("RotationActive"), 1) != 0 &&
				  hob_fbx_prop_integer(f, o, HOB_STR("RotationSpaceForLimitOnly"), 0) == 0;
	rig->active = active;
	if (active) {
		int64_t order = hob_fbx_prop_integer(f, o, HOB_STR("RotationOrder"), 0);
		if (order == 6)
			hob_fbx_note(f, "spheric", "node '%.*s' turns in spheric order, which is read as XYZ",
						 HOB_FMT(f->objects[o].name));
		rig->order = order > 0 && order < 6 ? (uint32_t)order : 0;
		hob_fbx_prop_vector(f, o, HOB_STR("PreRotation"), pre);
		hob_fbx_prop_vector(f, o, HOB_STR("PostRotation"), post);
	}
	hob_fbx_quat_of_euler(pre, 0, rig->pre);
	hob_fbx_quat_of_euler(post, 0, rig->post_inverse);
	for (int i = 0; i < 3; i++)
		rig->post_inverse[i] = -rig->post_inverse[i];
	hob_fbx_prop_vector(f, o, HOB_STR("RotationOffset"), rig->rotation_offset);
	hob_fbx_prop_vector(f, o, HOB_STR("RotationPivot"), rig->rotation_pivot);
	hob_fbx_prop_vector(f, o, HOB_STR("ScalingOffset"), rig->scaling_offset);
	hob_fbx_prop_vector(f, o, HOB_STR("ScalingPivot"), rig->scaling_pivot);
	rig->pivoted = any(rig->rotation_pivot) || any(rig->scaling_offset) || any(rig->scaling_pivot);
}

static void read_geometric(hob_fbx *f, hob_fbx_node *node)
{
	double r[3] = {0};
	hob_fbx_trs *g = &node->geometric;
	g->s[0] = g->s[1] = g->s[2] = 1;
	hob_fbx_prop_vector(f, node->object, HOB_STR("GeometricTranslation"), g->t);
	hob_fbx_prop_vector(f, node->object, HOB_STR("GeometricRotation"), r);
	hob_fbx_prop_vector(f, node->object, HOB_STR("GeometricScaling"), g->s);
	hob_fbx_quat_of_euler(r, 0, g->q);
	node->has_geometric = !hob_fbx_trs_is_identity(g);
}

static void read_node(hob_fbx *f, uint32_t object, hob_fbx_node *node)
{
	*node = (hob_fbx_node){.object = object,
						   .parent = HOB_NONE,
						   .first_child = HOB_NONE,
						   .last_child = HOB_NONE,
						   .next = HOB_NONE,
						   .scaling = {1, 1, 1},
						   .id = HOB_NONE,
						   .scale_id = HOB_NONE,
						   .mesh_id = HOB_NONE,
						   .geometry = HOB_NONE};
	read_rig(f, node);
	read_geometric(f, node);
	hob_fbx_prop_vector(f, object, HOB_STR("Lcl Translation"), node->translation);
	hob_fbx_prop_vector(f, object, HOB_STR("Lcl Rotation"), node->rotation);
	hob_fbx_prop_vector(f, object, HOB_STR("Lcl Scaling"), node->scaling);
	node->hidden = !(hob_fbx_prop_real(f, object, HOB_STR("Visibility"), 1) > 0);
	node->shows_alone = hob_fbx_prop_integer(f, object, HOB_STR("Visibility Inheritance"), 1) == 0;
	int64_t inherit = hob_fbx_prop_integer(f, object, HOB_STR("InheritType"), 1);
	node->inherit = inherit == 0 || inherit == 2 ? (uint32_t)inherit : 1;
	node->lod_group = hob_str_equal(f->objects[object].subclass, HOB_STR("LodGroup")) ||
					  hob_fbx_below(f, object, HOB_FBX_ATTRIBUTE, HOB_STR("LodGroup")) != HOB_NONE;
	hob_fbx_place(&node->rig, node->translation, node->rotation, node->scaling, &node->rest);
}

/* ---- the hierarchy */

static void find_parent(hob_fbx *f, uint32_t id)
{
	hob_fbx_node *node = &f->nodes[id];
	const hob_fbx_object *object = &f->objects[node->object];
	uint32_t parents = 0;
	HOB_FBX_EACH_ABOVE (edge, f, node->object, MODEL, "")
		if (edge->property.len == 0 && parents++ == 0)
			node->parent = f->objects[edge->parent].index;
	if (parents > 1)
		hob_fbx_note(f, "parents", "node '%.*s' has %u parents; the first one is taken",
					 HOB_FMT(object->name), parents);
}

static void link_child(hob_fbx *f, uint32_t id)
{
	hob_fbx_node *node = &f->nodes[id];
	uint32_t *first = node->parent == HOB_NONE ? &f->first_top : &f->nodes[node->parent].first_child;
	uint32_t *last = node->parent == HOB_NONE ? &f->last_top : &f->nodes[node->parent].last_child;
	if (*first == HOB_NONE)
		*first = id;
	else
		f->nodes[*last].next = id;
	*last = id;
}

/* Breadth first: parents before children. */
static void sort_nodes(hob_fbx *f)
{
	uint32_t count = 0;
	f->order = HOB_NEW(f->scratch, uint32_t, f->node_count);
	for (uint32_t id = f->first_top; id != HOB_NONE; id = f->nodes[id].next)
		f->order[count++] = id;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t id = f->nodes[f->order[i]].first_child; id != HOB_NONE; id = f->nodes[id].next)
			f->order[count++] = id;
	if (count != f->node_count)
		hob_leave(CORRUPT, "%u nodes are each other's parents in a ring", f->node_count - count);
}

/* A hidden node hides its descendants, except children that do not inherit; with such children, nodes are
 * hidden one by one. */
static void spread_visibility(hob_fbx *f)
{
	bool *unseen = HOB_NEW(f->scratch, bool, f->node_count),
		 *shows = HOB_NEW(f->scratch, bool, f->node_count);
	for (uint32_t i = 0; i < f->node_count; i++) {
		const hob_fbx_node *node = &f->nodes[f->order[i]];
		bool above = node->parent != HOB_NONE && unseen[node->parent] && !node->shows_alone;
		unseen[f->order[i]] = node->hidden || above;
	}
	for (uint32_t i = f->node_count; i-- > 0;) {
		uint32_t id = f->order[i], parent = f->nodes[id].parent;
		if (parent != HOB_NONE)
			shows[parent] = shows[parent] || shows[id] || !unseen[id];
	}
	for (uint32_t i = 0; i < f->node_count; i++) {
		hob_fbx_node *node = &f->nodes[f->order[i]];
		bool apart = node->parent != HOB_NONE && f->nodes[node->parent].hides_mesh && unseen[f->order[i]];
		node->hides_mesh = unseen[f->order[i]] && shows[f->order[i]];
		node->hidden = (node->hidden || apart) && !node->hides_mesh;
	}
}

void hob_fbx_read_nodes(hob_fbx *f)
{
	uint32_t count = 0;
	f->first_top = f->last_top = HOB_NONE;
	for (uint32_t i = 0; i < f->object_count; i++)
		count += f->objects[i].class == HOB_FBX_MODEL;
	f->nodes = HOB_NEW(f->scratch, hob_fbx_node, count);
	for (uint32_t i = 0; i < f->object_count; i++) {
		if (f->objects[i].class != HOB_FBX_MODEL)
			continue;
		f->objects[i].index = f->node_count;
		read_node(f, i, &f->nodes[f->node_count++]);
	}
	for (uint32_t id = 0; id < f->node_count; id++)
		find_parent(f, id);
	for (uint32_t id = 0; id < f->node_count; id++)
		link_child(f, id);
	sort_nodes(f);
	spread_visibility(f);
}

/* ---- scale that children do not inherit */

uint32_t hob_fbx_next_scaler(const hob_fbx *f, uint32_t *at)
{
	for (;;) {
		const hob_fbx_node *node = &f->nodes[*at];
		if (node->parent == HOB_NONE || !f->nodes[node->parent].scale_apart || node->inherit == 1)
			return HOB_NONE;
		*at = node->parent;
		if (node->inherit == 0)
			return node->parent;
	}
}

static bool uniform(const double s[3])
{
	return fabs(s[0] - s[1]) < 1e-6 * fabs(s[0]) && fabs(s[0] - s[2]) < 1e-6 * fabs(s[0]);
}

/* Computes the node's own and inherited scale, and whether the scale needs a leaf node of its own
 * (scale_apart): when a child of type 0 or 2 cannot inherit it as a plain product. */
static void split_scale(hob_fbx *f, uint32_t id)
{
	hob_fbx_node *node = &f->nodes[id];
	const hob_fbx_node *parent = node->parent == HOB_NONE ? NULL : &f->nodes[node->parent];
	bool beside = parent && parent->scale_apart && node->inherit != 1;
	double *own = f->own_scales + (size_t)id * 3, *inherited = f->inherited_scales + (size_t)id * 3;
	const double *from = node->inherit == 0 ? f->own_scales : f->inherited_scales;
	for (int k = 0; k < 3; k++) {
		inherited[k] = beside ? from[(size_t)node->parent * 3 + (size_t)k] : 1;
		own[k] = node->rest.s[k] * inherited[k];
	}
	node->inherited_moves = beside && (node->inherit == 0 ? parent->own_moves : parent->inherited_moves);
	node->own_moves = node->scale_moves || node->inherited_moves;
	bool one = fabs(node->rest.s[0] - 1) < 1e-6 && uniform(node->rest.s);
	for (uint32_t c = node->first_child; c != HOB_NONE && !node->scale_apart; c = f->nodes[c].next)
		node->scale_apart = f->nodes[c].inherit != 1 &&
							(node->own_moves || !uniform(own) || (f->nodes[c].inherit == 2 && !one));
}

void hob_fbx_split_scales(hob_fbx *f)
{
	f->own_scales = HOB_NEW(f->scratch, double, (size_t)f->node_count * 3);
	f->inherited_scales = HOB_NEW(f->scratch, double, (size_t)f->node_count * 3);
	f->worlds = HOB_NEW(f->scratch, double, (size_t)f->node_count * 32);
	for (uint32_t i = 0; i < f->node_count; i++) {
		uint32_t id = f->order[i];
		const hob_fbx_node *node = &f->nodes[id];
		double *unscaled = f->worlds + (size_t)id * 32, *whole = unscaled + 16;
		split_scale(f, id);
		hob_fbx_trs turned = {{node->rest.t[0], node->rest.t[1], node->rest.t[2]},
							  {node->rest.q[0], node->rest.q[1], node->rest.q[2], node->rest.q[3]},
							  {1, 1, 1}};
		bool beside = node->parent != HOB_NONE && f->nodes[node->parent].scale_apart && node->inherit != 1;
		for (int k = 0; beside && k < 3; k++)
			turned.t[k] *= f->own_scales[(size_t)node->parent * 3 + (size_t)k];
		hob_fbx_trs_matrix(&turned, unscaled);
		if (node->parent != HOB_NONE)
			hob_matrix_multiply_double(f->worlds + (size_t)node->parent * 32 + (beside ? 0 : 16), unscaled,
									   unscaled);
		for (int k = 0; k < 16; k++)
			whole[k] = unscaled[k] * (k < 12 ? f->own_scales[(size_t)id * 3 + (size_t)k / 4] : 1);
	}
}

void hob_fbx_world(const hob_fbx *f, uint32_t node, double out[16])
{
	memcpy(out, f->worlds + (size_t)node * 32 + 16, 16 * sizeof *out);
}
