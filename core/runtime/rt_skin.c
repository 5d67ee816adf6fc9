#include "rt_private.h"

#include "rt_math.h"

#include <assert.h>

/* ---- bounds of the vertices that each joint moves */

typedef struct reader {
	const rt_format *format;
	const uint8_t *data;
	uint32_t stride;
	float scale, offset[3];
} reader_t;

static bool find_reader(const hob_rt_mesh *mesh, uint32_t semantic, uint32_t set, reader_t *out)
{
	const hob_rt_attribute *attribute = hob_rt_find_attribute(mesh, semantic, set);
	if (!attribute || attribute->encoding == HOB_PK_ENCODING_OCTAHEDRAL)
		return false;
	bool scaled = attribute->encoding == HOB_PK_ENCODING_SCALED;
	out->format = hob_rt_find_format(attribute->format);
	out->data = mesh->streams[attribute->stream].data + attribute->offset;
	out->stride = mesh->streams[attribute->stream].stride;
	out->scale = scaled ? mesh->pos_scale : 1;
	for (int i = 0; i < 3; i++)
		out->offset[i] = scaled ? mesh->pos_offset[i] : 0;
	return true;
}

static void read_value(const reader_t *reader, uint32_t vertex, float out[4])
{
	hob_rt_read(reader->format, reader->data + (size_t)vertex * reader->stride, out);
}

static void grow(rt_joint_box *box, const float p[3])
{
	for (int i = 0; i < 3; i++) {
		box->min[i] = p[i] < box->min[i] ? p[i] : box->min[i];
		box->max[i] = p[i] > box->max[i] ? p[i] : box->max[i];
	}
}

/* The boxes of one mesh while they are gathered; places[joint] is the box's number plus one. */
typedef struct gathering {
	rt_joint_box *boxes;
	uint32_t count, limit, *places;
} gathering_t;

static void add_influence(gathering_t *g, uint32_t joint, const float p[3])
{
	if (joint >= g->limit)
		return;
	if (g->places[joint] == 0) {
		rt_joint_box *box = &g->boxes[g->count++];
		g->places[joint] = g->count;
		box->joint = joint;
		memcpy(box->min, p, sizeof box->min);
		memcpy(box->max, p, sizeof box->max);
	}
	grow(&g->boxes[g->places[joint] - 1], p);
}

static bool gather(rt_asset *a, uint32_t index, gathering_t *g, hob_rt_error *error)
{
	const hob_rt_mesh *mesh = &a->meshes[index];
	reader_t position, joints[2], weights[2];
	uint32_t sets = mesh->influence_count / 4, largest = 0;
	bool found = (mesh->influence_count == 4 || mesh->influence_count == 8) &&
				 find_reader(mesh, HOB_PK_SEMANTIC_POSITION, 0, &position);
	for (uint32_t s = 0; s < sets && found; s++)
		found = find_reader(mesh, HOB_PK_SEMANTIC_JOINTS, s, &joints[s]) &&
				find_reader(mesh, HOB_PK_SEMANTIC_WEIGHTS, s, &weights[s]);
	if (!found)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "%u joints a vertex, but not the attributes for them",
						   mesh->influence_count);
	for (uint32_t v = 0; v < mesh->vertex_count; v++) {
		float p[4], j[4], w[4];
		bool weighted = false;
		read_value(&position, v, p);
		for (int i = 0; i < 3; i++)
			p[i] = position.offset[i] + position.scale * p[i];
		if (!hob_rt_in_range(p, 3))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "the position of vertex %u is not finite", v);
		for (uint32_t s = 0; s < sets; s++) {
			read_value(&joints[s], v, j);
			read_value(&weights[s], v, w);
			for (int i = 0; i < 4; i++) {
				uint32_t joint = j[i] >= 0 && j[i] < 65536 ? (uint32_t)j[i] : 65535;
				largest = joint > largest ? joint : largest;
				if (!(w[i] > 0) && (weighted || s > 0 || i > 0))
					continue;
				weighted = weighted || w[i] > 0;
				add_influence(g, joint, p);
			}
		}
	}
	a->mesh_joint_count[index] = mesh->vertex_count > 0 ? largest + 1 : 0;
	return true;
}

bool hob_rt_joint_boxes_fill(rt_asset *a, uint32_t *places, hob_rt_error *error)
{
	uint64_t left = 0;
	uint32_t total = 0;
	for (uint32_t i = 0; i < a->mesh_pack.section_count; i++)
		if (hob_rt_pack_section(&a->mesh_pack, i)->type == HOB_PK_VTX_)
			left += hob_rt_pack_section(&a->mesh_pack, i)->count;
	for (uint32_t i = 0; i < a->pub.mesh_count; i++) {
		a->joint_box_first[i] = total;
		if (a->pub.classic || a->meshes[i].influence_count == 0 || a->meshes[i].vertex_count == 0)
			continue;
		/* Meshes that share vertices must not make opening slow: `left` bounds the total. */
		if (a->meshes[i].vertex_count > left)
			return hob_rt_fail(error, HOB_RT_CORRUPT,
							   "skinned meshes overlap in the vertex sections (mesh %u)", i);
		left -= a->meshes[i].vertex_count;
		gathering_t g = {a->joint_boxes + total, 0, 0, places};
		if (a->mesh_skins[i] != HOB_RT_NONE)
			g.limit = a->skins[a->mesh_skins[i]].joint_count;
		if (!gather(a, i, &g, error))
			return hob_rt_fail_in(error, "mesh", i);
		for (uint32_t k = 0; k < g.count; k++)
			places[g.boxes[k].joint] = 0;
		total += g.count;
	}
	a->joint_box_first[a->pub.mesh_count] = total;
	return true;
}

const float *hob_rt_inverse_bind(const hob_rt_asset *asset, uint32_t skin, uint32_t joint)
{
	const rt_asset *a = RT_ASSET(asset);
	assert(skin < asset->skin_count && joint < asset->skins[skin].joint_count);
	uint32_t first = RT_AT(hob_pk_skin, a->skin_records, skin)->joint_first;
	return RT_AT(hob_pk_mat4, a->inverse_binds, first + joint)->m;
}

static void inverse_transpose(const float *m, float *out)
{
	const float *a = m, *b = m + 4, *c = m + 8;
	const float *columns[3][2] = {{b, c}, {c, a}, {a, b}};
	for (int i = 0; i < 3; i++) {
		const float *u = columns[i][0], *v = columns[i][1];
		out[i * 4] = u[1] * v[2] - u[2] * v[1];
		out[i * 4 + 1] = u[2] * v[0] - u[0] * v[2];
		out[i * 4 + 2] = u[0] * v[1] - u[1] * v[0];
		out[i * 4 + 3] = 0;
	}
	float determinant = a[0] * out[0] + a[1] * out[1] + a[2] * out[2];
	if (!(fabsf(determinant) > 1e-30f))
		return;
	float scale = 1 / determinant;
	for (int i = 0; i < 12; i++)
		out[i] *= scale;
}

void hob_rt_palette(const hob_rt_instance *in, uint32_t skin, float *palette, float *normals)
{
	const rt_asset *a = in->asset;
	assert(skin < a->pub.skin_count);
	const hob_rt_skin *from = &a->skins[skin];
	uint32_t first = RT_AT(hob_pk_skin, a->skin_records, skin)->joint_first;
	for (uint32_t i = 0; i < from->joint_count; i++) {
		const float *bind = RT_AT(hob_pk_mat4, a->inverse_binds, first + i)->m;
		rt_multiply(in->globals + (size_t)from->joints[i] * 16, bind, palette + (size_t)i * 16);
		if (normals)
			inverse_transpose(palette + (size_t)i * 16, normals + (size_t)i * 12);
	}
}
