#include "fbx_private.h"

#include <math.h>
#include <stdlib.h>

enum { INFLUENCES_MAX = 256 };

typedef struct influence {
	float weight;
	uint32_t joint;
} influence;

/* Influences of control point p: list[first[p] .. first[p + 1]). */
typedef struct influences {
	uint32_t *first;
	influence *list;
} influences;

typedef struct cluster {
	uint32_t joint, count;
	int32_t *points;
	double *weights;
} cluster;

/* ---- joints */

static uint32_t bone_of(const hob_fbx *f, uint32_t object)
{
	uint32_t model = hob_fbx_below(f, object, HOB_FBX_MODEL, (hob_str){0});
	return model == HOB_NONE ? HOB_NONE : f->objects[model].index;
}

/* False: the record holds no usable matrix. */
static bool read_matrix(hob_fbx *f, uint32_t record, double out[16])
{
	uint32_t count;
	const double *values = hob_fbx_doubles(f, record, &count);
	bool any = false;
	if (count < 16)
		return false;
	for (int i = 0; i < 16; i++) {
		if (!isfinite(values[i]) || fabs(values[i]) > 1e30)
			return false;
		any = any || fabs(values[i]) > 0;
	}
	memcpy(out, values, 16 * sizeof *out);
	return any;
}

/* Matrix from the mesh's node to the bone at bind time. The vertices already include the geometric transform,
 * unless its users disagree on it. */
static void read_bind(hob_fbx *f, const hob_fbx_geometry *g, uint32_t object, double out[16])
{
	static const double none[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
	uint32_t record = f->objects[object].record;
	const hob_fbx_edge *user = hob_fbx_next_edge(f, g->object, true, HOB_FBX_MODEL, (hob_str){0}, NULL);
	double link[16], inverse[16], world[16];
	bool has = read_matrix(f, hob_fbx_child(f, record, HOB_STR("Transform")), out);
	bool has_link = read_matrix(f, hob_fbx_child(f, record, HOB_STR("TransformLink")), link);
	if (has)
		return;
	memcpy(world, none, sizeof world);
	if (user)
		hob_fbx_world(f, f->objects[user->parent].index, world);
	uint32_t bone = bone_of(f, object);
	if (!has_link && bone != HOB_NONE)
		hob_fbx_world(f, bone, link);
	memcpy(out, none, sizeof none);
	if ((has_link || bone != HOB_NONE) && hob_fbx_matrix_invert(link, inverse))
		hob_matrix_multiply_double(inverse, world, out);
}

static void read_cluster(hob_fbx *f, hob_fbx_geometry *g, uint32_t object, hob_buf *clusters, hob_buf *joints)
{
	cluster c = {.joint = (uint32_t)(joints->size / sizeof(hob_fbx_joint))};
	hob_fbx_joint joint = {.node = bone_of(f, object)};
	uint32_t record = f->objects[object].record, weight_count;
	if (joint.node == HOB_NONE) {
		hob_fbx_note(f, "bone", "cluster '%.*s' names no bone; its vertices follow their mesh",
					 HOB_FMT(f->objects[object].name));
		return;
	}
	c.points = hob_fbx_ints(f, hob_fbx_child(f, record, HOB_STR("Indexes")), &c.count);
	c.weights = hob_fbx_doubles(f, hob_fbx_child(f, record, HOB_STR("Weights")), &weight_count);
	read_bind(f, g, object, joint.bind);
	c.count = c.count < weight_count ? c.count : weight_count;
	hob_str mode = hob_fbx_child_text(f, record, HOB_STR("Mode"));
	if (hob_str_equal(mode, HOB_STR("Additive")))
		hob_fbx_note(f, "additive", "additive skin weights are read as normal ones");
	hob_buf_put(clusters, &c, sizeof c);
	hob_buf_put(joints, &joint, sizeof joint);
}

/* ---- influences */

static bool counts(const hob_fbx_geometry *g, const cluster *c, uint32_t i)
{
	return c->points[i] >= 0 && (uint32_t)c->points[i] < g->point_count && c->weights[i] > 0 &&
		   c->weights[i] < 1e30;
}

static int heaviest_first(const void *a, const void *b)
{
	const influence *x = a, *y = b;
	if (x->weight < y->weight || x->weight > y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->joint > y->joint) - (x->joint < y->joint);
}

/* A vertex without weights follows joint `loose`. */
static void sort_influences(hob_fbx *f, hob_fbx_geometry *g, const cluster *clusters, uint32_t count,
							uint32_t loose, influences *out)
{
	uint64_t total = g->point_count;
	for (uint32_t c = 0; c < count; c++)
		total += clusters[c].count;
	if (total >= UINT32_MAX)
		hob_leave(LIMIT, "%llu skin weights, at most %u are allowed", (unsigned long long)total, UINT32_MAX);
	out->first = HOB_NEW(f->scratch, uint32_t, (size_t)g->point_count + 2);
	out->list = HOB_NEW(f->scratch, influence, total);
	for (uint32_t c = 0; c < count; c++)
		for (uint32_t i = 0; i < clusters[c].count; i++)
			if (counts(g, &clusters[c], i))
				out->first[(uint32_t)clusters[c].points[i] + 2]++;
	for (uint32_t p = 0; p < g->point_count; p++) {
		if (out->first[p + 2] == 0) {
			out->first[p + 2] = 1;
			g->has_loose = true;
		}
		out->first[p + 2] += out->first[p + 1];
	}
	uint32_t *end = out->first + 1;
	for (uint32_t c = 0; c < count; c++)
		for (uint32_t i = 0; i < clusters[c].count; i++)
			if (counts(g, &clusters[c], i))
				out->list[end[clusters[c].points[i]]++] =
					(influence){(float)clusters[c].weights[i], clusters[c].joint};
	for (uint32_t p = 0; p < g->point_count; p++) {
		if (end[p] == out->first[p])
			out->list[end[p]++] = (influence){1, loose};
		uint32_t held = out->first[p + 1] - out->first[p];
		if (held > 1)
			qsort(out->list + out->first[p], held, sizeof(influence), heaviest_first);
	}
}

/* Influences of each vertex of a part, heaviest first. */
static void fill_part(hob_fbx *f, const influences *all, hob_fbx_part *part)
{
	hob_mesh *mesh = &part->mesh;
	uint32_t most = 1;
	for (uint32_t v = 0; v < mesh->vertex_count; v++) {
		uint32_t p = part->points[v], held = all->first[p + 1] - all->first[p];
		most = held > most ? held : most;
	}
	if (most > INFLUENCES_MAX) {
		hob_fbx_note(f, "influences", "a vertex follows %u joints; the %d heaviest are kept", most,
					 INFLUENCES_MAX);
		most = INFLUENCES_MAX;
	}
	uint32_t width = mesh->influence_count = (most + 3) / 4 * 4;
	mesh->joints = HOB_NEW(f->result, uint16_t, (size_t)mesh->vertex_count * width);
	mesh->weights = HOB_NEW(f->result, float, (size_t)mesh->vertex_count *width);
	for (size_t v = 0; v < mesh->vertex_count; v++) {
		uint32_t p = part->points[v], held = all->first[p + 1] - all->first[p];
		held = held < width ? held : width;
		double sum = 0;
		for (uint32_t i = 0; i < held; i++)
			sum += (double)all->list[all->first[p] + i].weight;
		for (uint32_t i = 0; i < held; i++) {
			mesh->joints[v * width + i] = (uint16_t)all->list[all->first[p] + i].joint;
			mesh->weights[v * width + i] = (float)((double)all->list[all->first[p] + i].weight / sum);
		}
	}
}

/* ---- the skin of a geometry */

static void say_kind(hob_fbx *f, uint32_t skin)
{
	hob_str kind = hob_fbx_child_text(f, f->objects[skin].record, HOB_STR("SkinningType"));
	if (hob_str_equal(kind, HOB_STR("DualQuaternion")) || hob_str_equal(kind, HOB_STR("Blend")))
		hob_fbx_note(f, "dual-quaternion", "skin '%.*s' blends dual quaternions; it is skinned linearly",
					 HOB_FMT(f->objects[skin].name));
}

/* Returns the number of skins. */
static uint32_t read_clusters(hob_fbx *f, hob_fbx_geometry *g, hob_buf *clusters, hob_buf *joints)
{
	uint32_t skins = 0;
	HOB_FBX_EACH_BELOW (skin, f, g->object, DEFORMER, "Skin") {
		skins++;
		say_kind(f, skin->child);
		HOB_FBX_EACH_BELOW (part, f, skin->child, DEFORMER, "Cluster")
			read_cluster(f, g, part->child, clusters, joints);
	}
	return skins;
}

static void take_skin(hob_fbx *f, hob_fbx_geometry *g, const hob_buf *clusters, const hob_buf *joints)
{
	influences all;
	g->joint_count = (uint32_t)(joints->size / sizeof *g->joints);
	if (g->joint_count >= HOB_LIMIT_JOINTS)
		hob_leave(LIMIT, "%u joints, at most %llu are allowed", g->joint_count, HOB_LIMIT_JOINTS);
	g->joints = HOB_NEW(f->result, hob_fbx_joint, (size_t)g->joint_count + 1);
	memcpy(g->joints, joints->data, joints->size);
	sort_influences(f, g, (const cluster *)(const void *)clusters->data, g->joint_count, g->joint_count,
					&all);
	/* FBX binds a vertex without weights to the mesh's node, which becomes one more joint. */
	if (g->has_loose)
		g->joints[g->joint_count++] =
			(hob_fbx_joint){HOB_NONE, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
	for (uint32_t p = 0; p < g->part_count; p++)
		fill_part(f, &all, &g->parts[p]);
	g->skinned = true;
}

void hob_fbx_read_skin(hob_fbx *f, hob_fbx_geometry *g)
{
	hob_buf clusters = {0}, joints = {0};
	uint32_t skins = read_clusters(f, g, &clusters, &joints);
	if (skins > 1)
		hob_fbx_note(f, "skins", "geometry '%.*s' has %u skins; their weights are joined",
					 HOB_FMT(f->objects[g->object].name), skins);
	if (joints.size > 0)
		take_skin(f, g, &clusters, &joints);
	HOB_LISTS_FREE(&clusters, &joints);
}

/* ---- the model's skin */

static bool same_skin(const hob_skin *a, const hob_skin *b)
{
	return a->joint_count == b->joint_count &&
		   memcmp(a->joints, b->joints, a->joint_count * sizeof *a->joints) == 0 &&
		   memcmp(a->inverse_bind, b->inverse_bind, a->joint_count * 16 * sizeof *a->inverse_bind) == 0;
}

static void bind_matrix(const hob_fbx *f, const hob_fbx_geometry *g, const hob_fbx_node *user,
						const double bind[16], float out[16])
{
	double m[16];
	memcpy(m, bind, sizeof m);
	if (g->geometric_differs) {
		double geometric[16];
		hob_fbx_trs_matrix(&user->geometric, geometric);
		hob_matrix_multiply_double(m, geometric, m);
	}
	for (int i = 0; i < 16; i++) {
		double value = m[i] * (i >= 12 && i < 15 ? f->unit : 1);
		if (f->mirrored && (i % 4 == 0) != (i / 4 == 0))
			value = -value;
		out[i] = (float)value;
	}
	out[3] = out[7] = out[11] = 0;
	out[15] = 1;
}

uint32_t hob_fbx_make_skin(hob_fbx *f, const hob_fbx_geometry *g, uint32_t node)
{
	hob_skin made = {.root = HOB_NONE,
					 .joint_count = g->joint_count,
					 .joints = HOB_NEW(f->result, uint32_t, g->joint_count),
					 .inverse_bind = HOB_NEW(f->result, float, (size_t)g->joint_count * 16)};
	for (uint32_t i = 0; i < g->joint_count; i++) {
		uint32_t joint = g->joints[i].node == HOB_NONE ? node : g->joints[i].node;
		made.joints[i] = f->nodes[joint].scale_id;
		bind_matrix(f, g, &f->nodes[node], g->joints[i].bind, made.inverse_bind + (size_t)i * 16);
	}
	const hob_skin *skins = (const hob_skin *)(const void *)f->lists.skins.data;
	uint32_t count = (uint32_t)(f->lists.skins.size / sizeof made);
	/* Parts of one character mostly share joints; only the last few skins are compared. */
	for (uint32_t i = count; i > 0 && i + 8 > count; i--)
		if (same_skin(&skins[i - 1], &made))
			return i - 1;
	made.name = hob_fbx_name(f, f->objects[f->nodes[node].object].name);
	hob_buf_put(&f->lists.skins, &made, sizeof made);
	return count;
}
