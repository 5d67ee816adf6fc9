#include "assimp_convert.h"

#include "../../base/limits.h"

enum { INFLUENCES_MAX = 16 };

/* ---- meshes that share a skin */

static uint32_t root_of(uint32_t *group, uint32_t mesh)
{
	while (group[mesh] != mesh)
		mesh = group[mesh] = group[group[mesh]];
	return mesh;
}

/* A node has one skin for all its meshes, so meshes on one node form a group. */
static uint32_t *group_meshes(hob_assimp_scene *scene)
{
	const struct aiScene *source = scene->source;
	uint32_t *group = HOB_NEW(scene->request->scratch, uint32_t, source->mNumMeshes);
	for (uint32_t m = 0; m < source->mNumMeshes; m++)
		group[m] = m;
	for (uint32_t n = 0; n < scene->node_count; n++) {
		const struct aiNode *node = scene->nodes[n].source;
		uint32_t first = HOB_NONE;
		for (unsigned i = 0; i < node->mNumMeshes; i++) {
			if (!hob_assimp_has_bones(scene, node->mMeshes[i]))
				continue;
			uint32_t root = root_of(group, node->mMeshes[i]);
			if (first == HOB_NONE)
				first = root;
			/* The lower number is the root, so that skins are in mesh order. */
			uint32_t low = root < first ? root : first, high = root < first ? first : root;
			group[high] = first = low;
		}
	}
	return group;
}

/* ---- the joints of a group */

typedef struct joint {
	uint32_t node, next; /* `next`: another joint of the same node with another matrix */
	float inverse_bind[16];
} joint;

typedef struct skin_builder {
	hob_assimp_scene *scene;
	uint32_t *first_of; /* per model node: its first joint in `joints`, valid if stamp_of matches */
	uint32_t *stamp_of, stamp;
	hob_buf joints;
	uint32_t *joint_of_bone; /* [maximum bones of a mesh] */
} skin_builder;

static uint32_t joint_for(skin_builder *b, uint32_t node, const float inverse_bind[16])
{
	joint *joints = (joint *)(void *)b->joints.data;
	uint32_t count = (uint32_t)(b->joints.size / sizeof(joint));
	uint32_t first = b->stamp_of[node] == b->stamp ? b->first_of[node] : HOB_NONE;
	for (uint32_t j = first; j != HOB_NONE; j = joints[j].next)
		if (memcmp(joints[j].inverse_bind, inverse_bind, sizeof joints[j].inverse_bind) == 0)
			return j;
	joint added = {.node = node, .next = first};
	memcpy(added.inverse_bind, inverse_bind, sizeof added.inverse_bind);
	hob_buf_put(&b->joints, &added, sizeof added);
	b->stamp_of[node] = b->stamp;
	b->first_of[node] = count;
	return count;
}

static void find_joints(skin_builder *b, const struct aiMesh *mesh)
{
	hob_assimp_scene *scene = b->scene;
	for (unsigned i = 0; i < mesh->mNumBones; i++) {
		const struct aiBone *bone = mesh->mBones[i];
		hob_str name = hob_assimp_str(&bone->mName);
		uint32_t index = hob_name_map_get(&scene->by_name, name);
		if (index == HOB_NONE || scene->nodes[index].id == HOB_NONE) {
			hob_warn(scene->request->notes, "skin.missing-joint",
					 "bone '%.*s' has no node; the root moves it", HOB_FMT(name));
			index = 0;
		}
		float inverse_bind[16];
		if (!hob_assimp_matrix(&bone->mOffsetMatrix, scene->unit, inverse_bind))
			hob_warn(scene->request->notes, "skin.bad-matrix",
					 "bone '%.*s': the bind matrix is not a number; none is used", HOB_FMT(name));
		b->joint_of_bone[i] = joint_for(b, scene->nodes[index].id, inverse_bind);
		if (b->joints.size / sizeof(joint) > HOB_LIMIT_JOINTS)
			hob_leave(LIMIT, "a skin of more than %llu joints", HOB_LIMIT_JOINTS);
	}
}

/* ---- weights of a mesh */

typedef struct influence {
	float weight;
	uint32_t joint;
} influence;

static bool is_weight(const struct aiVertexWeight *weight, uint32_t vertex_count)
{
	return weight->mVertexId < vertex_count && weight->mWeight > 0 && weight->mWeight - weight->mWeight == 0;
}

/* Strongest first; ties by joint order, so that the result does not depend on the sort. */
static void sort_influences(influence *list, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		influence moved = list[i];
		uint32_t at = i;
		for (; at > 0 && (list[at - 1].weight < moved.weight ||
						  (!(list[at - 1].weight > moved.weight) && list[at - 1].joint > moved.joint));
			 at--)
			list[at] = list[at - 1];
		list[at] = moved;
	}
}

/* Keeps the INFLUENCES_MAX strongest of a vertex; `list` is sorted and at most that long. */
static uint32_t keep_influence(influence *list, uint32_t count, influence added)
{
	if (count < INFLUENCES_MAX) {
		list[count] = added;
		sort_influences(list, count + 1);
		return count + 1;
	}
	if (added.weight > list[count - 1].weight) {
		list[count - 1] = added;
		sort_influences(list, count);
	}
	return count;
}

static void fill_weights(skin_builder *b, const struct aiMesh *from, hob_mesh *to)
{
	hob_arena *scratch = b->scene->request->scratch, *result = b->scene->request->result;
	uint32_t *counts = HOB_NEW(scratch, uint32_t, (size_t)from->mNumVertices);
	uint32_t most = 0;
	for (unsigned i = 0; i < from->mNumBones; i++)
		for (unsigned w = 0; from->mBones[i]->mWeights && w < from->mBones[i]->mNumWeights; w++) {
			const struct aiVertexWeight *weight = &from->mBones[i]->mWeights[w];
			if (!is_weight(weight, from->mNumVertices))
				continue;
			uint32_t count = ++counts[weight->mVertexId];
			most = count > most ? count : most;
		}
	if (most > INFLUENCES_MAX) {
		hob_warn(b->scene->request->notes, "skin.many-influences",
				 "mesh '%.*s': a vertex is moved by %u joints; the %d strongest are kept", HOB_FMT(to->name),
				 most, INFLUENCES_MAX);
		most = INFLUENCES_MAX;
	}
	uint32_t width = to->influence_count = most > 0 ? (most + 3) / 4 * 4 : 4;
	influence *lists = HOB_NEW(scratch, influence, (size_t)from->mNumVertices * width);
	to->joints = HOB_NEW(result, uint16_t, (size_t)from->mNumVertices * width);
	to->weights = HOB_NEW(result, float, (size_t)from->mNumVertices *width);
	memset(counts, 0, from->mNumVertices * sizeof *counts);
	for (unsigned i = 0; i < from->mNumBones; i++)
		for (unsigned w = 0; from->mBones[i]->mWeights && w < from->mBones[i]->mNumWeights; w++) {
			const struct aiVertexWeight *weight = &from->mBones[i]->mWeights[w];
			if (!is_weight(weight, from->mNumVertices))
				continue;
			size_t vertex = weight->mVertexId;
			counts[vertex] = keep_influence(lists + vertex * width, counts[vertex],
											(influence){weight->mWeight, b->joint_of_bone[i]});
		}
	for (size_t v = 0; v < from->mNumVertices; v++)
		for (uint32_t k = 0; k < counts[v]; k++) {
			to->joints[v * width + k] = (uint16_t)lists[v * width + k].joint;
			to->weights[v * width + k] = lists[v * width + k].weight;
		}
}

/* ---- skins */

static void take_joints(skin_builder *b, hob_skin *skin)
{
	hob_arena *arena = b->scene->request->result;
	const joint *joints = (const joint *)(const void *)b->joints.data;
	*skin = (hob_skin){.name = HOB_STR(""), .root = HOB_NONE};
	skin->joint_count = (uint32_t)(b->joints.size / sizeof(joint));
	skin->joints = HOB_NEW(arena, uint32_t, skin->joint_count);
	skin->inverse_bind = HOB_NEW(arena, float, (size_t)skin->joint_count * 16);
	for (uint32_t j = 0; j < skin->joint_count; j++) {
		skin->joints[j] = joints[j].node;
		memcpy(skin->inverse_bind + (size_t)j * 16, joints[j].inverse_bind, sizeof joints[j].inverse_bind);
	}
}

static void build_skin(skin_builder *b, const uint32_t *next_member, uint32_t leader)
{
	hob_assimp_scene *scene = b->scene;
	hob_buf_clear(&b->joints);
	b->stamp++;
	for (uint32_t m = leader; m != HOB_NONE; m = next_member[m]) {
		hob_arena_mark mark = hob_arena_save(scene->request->scratch);
		hob_mesh *to = &scene->model->meshes[scene->mesh_first[m]];
		HOB_PLACE("mesh '@'", 0, to->name);
		find_joints(b, scene->source->mMeshes[m]);
		fill_weights(b, scene->source->mMeshes[m], to);
		for (uint32_t part = scene->mesh_first[m] + 1; part < scene->mesh_first[m + 1]; part++) {
			hob_mesh *other = &scene->model->meshes[part];
			other->influence_count = to->influence_count;
			other->joints = to->joints;
			other->weights = to->weights;
		}
		hob_arena_restore(scene->request->scratch, mark);
	}
	take_joints(b, &scene->model->skins[scene->model->skin_count++]);
}

/* skin_of: [mNumMeshes] out; HOB_NONE: no skin. */
static void build_skins(skin_builder *b, uint32_t *group, uint32_t *skin_of)
{
	hob_assimp_scene *scene = b->scene;
	uint32_t count = scene->source->mNumMeshes;
	uint32_t *next_member = HOB_NEW(scene->request->scratch, uint32_t, count);
	uint32_t *last_member = HOB_NEW(scene->request->scratch, uint32_t, count);
	for (uint32_t m = 0; m < count; m++) {
		uint32_t leader = root_of(group, m);
		next_member[m] = HOB_NONE;
		last_member[m] = m;
		if (hob_assimp_has_bones(scene, m) && leader != m) {
			next_member[last_member[leader]] = m;
			last_member[leader] = m;
		}
	}
	for (uint32_t m = 0; m < count; m++) {
		uint32_t leader = root_of(group, m);
		skin_of[m] = HOB_NONE;
		if (!hob_assimp_has_bones(scene, m))
			continue;
		skin_of[m] = leader == m ? scene->model->skin_count : skin_of[leader];
		if (leader == m)
			build_skin(b, next_member, m);
	}
}

void hob_assimp_skins(hob_assimp_scene *scene)
{
	hob_arena *scratch = scene->request->scratch;
	hob_model *model = scene->model;
	uint32_t boned = 0, most_bones = 0;
	for (unsigned m = 0; m < scene->source->mNumMeshes; m++) {
		if (!hob_assimp_has_bones(scene, m))
			continue;
		uint32_t bones = scene->source->mMeshes[m]->mNumBones;
		boned++;
		most_bones = bones > most_bones ? bones : most_bones;
	}
	if (boned == 0)
		return;
	uint32_t *group = group_meshes(scene);
	uint32_t *skin_of = HOB_NEW(scratch, uint32_t, scene->source->mNumMeshes);
	uint32_t *skin_of_mesh = HOB_NEW(scratch, uint32_t, model->mesh_count);
	skin_builder b = {
		.scene = scene,
		.first_of = HOB_NEW(scratch, uint32_t, model->node_count),
		.stamp_of = HOB_NEW(scratch, uint32_t, model->node_count),
		.joint_of_bone = HOB_NEW(scratch, uint32_t, most_bones),
	};
	model->skins = HOB_NEW(scene->request->result, hob_skin, boned);
	memset(skin_of_mesh, 0xFF, model->mesh_count * sizeof *skin_of_mesh);
	build_skins(&b, group, skin_of);
	for (unsigned m = 0; m < scene->source->mNumMeshes; m++)
		for (uint32_t part = scene->mesh_first[m]; part < scene->mesh_first[m + 1]; part++)
			skin_of_mesh[part] = skin_of[m];
	for (uint32_t n = 0; n < model->node_count; n++)
		for (uint32_t i = 0; i < model->nodes[n].mesh_count && model->nodes[n].skin == HOB_NONE; i++)
			model->nodes[n].skin = skin_of_mesh[model->mesh_refs[model->nodes[n].mesh_first + i]];
}
