/* The steps from aiScene to hob_model, on scenes made by hand: what Assimp may hand over, good and bad. */
#include "tests/unit/import/reader_fixture.h"

#include "core/import/assimp_convert.h"

#include <assimp/material.h>

typedef struct made {
	hob_arena arena; /* of the aiScene */
	struct aiScene scene;
	const char *extension;
	hob_import_request request;
	memory_io io;
	hob_notes notes;
	hob_arena result, scratch;
	hob_model model;
	hob_error error;
} made;

static made *made_new(const char *extension)
{
	made *m = calloc(1, sizeof *m);
	m->extension = extension;
	hob_arena_init(&m->arena, (size_t)1 << 30);
	hob_arena_init(&m->result, (size_t)1 << 30);
	hob_arena_init(&m->scratch, (size_t)1 << 30);
	return m;
}

static void made_free(made *m)
{
	hob_arena_release(&m->arena);
	hob_arena_release(&m->result);
	hob_arena_release(&m->scratch);
	free(m);
}

#define MAKE(m, type, count) ((type *)hob_arena_array(&(m)->arena, (count), sizeof(type), _Alignof(type)))

static void set_name(struct aiString *to, const char *name)
{
	to->length = (ai_uint32)strlen(name);
	memcpy(to->data, name, to->length + 1);
}

static struct aiMatrix4x4 identity(void)
{
	struct aiMatrix4x4 m = {0};
	m.a1 = m.b2 = m.c3 = m.d4 = 1;
	return m;
}

static struct aiNode *make_node(made *m, const char *name, struct aiNode *parent, unsigned room)
{
	struct aiNode *node = MAKE(m, struct aiNode, 1);
	set_name(&node->mName, name);
	node->mTransformation = identity();
	node->mParent = parent;
	node->mChildren = MAKE(m, struct aiNode *, room);
	if (parent)
		parent->mChildren[parent->mNumChildren++] = node;
	return node;
}

static struct aiMesh *make_mesh(made *m, const float *positions, unsigned vertices, unsigned faces)
{
	struct aiMesh *mesh = MAKE(m, struct aiMesh, 1);
	mesh->mNumVertices = vertices;
	mesh->mVertices = MAKE(m, struct aiVector3D, vertices);
	for (unsigned i = 0; i < vertices; i++)
		mesh->mVertices[i] =
			(struct aiVector3D){positions[i * 3], positions[i * 3 + 1], positions[i * 3 + 2]};
	mesh->mFaces = MAKE(m, struct aiFace, faces);
	mesh->mMaterialIndex = 7;
	return mesh;
}

static void add_face(made *m, struct aiMesh *mesh, unsigned count, const unsigned *indices)
{
	struct aiFace *face = &mesh->mFaces[mesh->mNumFaces++];
	face->mNumIndices = count;
	face->mIndices = MAKE(m, unsigned, count);
	memcpy(face->mIndices, indices, count * sizeof *indices);
}

static const float square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};

static struct aiMesh *triangle_mesh(made *m)
{
	struct aiMesh *mesh = make_mesh(m, square, 4, 1);
	add_face(m, mesh, 3, (const unsigned[]){0, 1, 2});
	return mesh;
}

static void set_meshes(made *m, struct aiNode *node, unsigned count, struct aiMesh *const *meshes)
{
	m->scene.mMeshes = MAKE(m, struct aiMesh *, count);
	memcpy(m->scene.mMeshes, meshes, count * sizeof *meshes);
	m->scene.mNumMeshes = node->mNumMeshes = count;
	node->mMeshes = MAKE(m, unsigned, count);
	for (unsigned i = 0; i < count; i++)
		node->mMeshes[i] = i;
}

static bool convert(made *m)
{
	memset(&m->model, 0, sizeof m->model);
	memset(&m->error, 0, sizeof m->error);
	m->notes = (hob_notes){.arena = &m->result};
	memory_io_init(&m->io, NULL, 0);
	m->request = (hob_import_request){.io = &m->io.io,
									  .path = HOB_STR("dir/model.any"),
									  .result = &m->result,
									  .scratch = &m->scratch,
									  .notes = &m->notes};
	hob_assimp_scene scene = {.request = &m->request,
							  .format = hob_assimp_format_of(hob_str_of(m->extension)),
							  .source = &m->scene,
							  .model = &m->model,
							  .unit = 1};
	hob_assimp_space(&scene);
	return hob_assimp_materials(&scene, &m->error) && hob_assimp_meshes(&scene, &m->error) &&
		   hob_assimp_nodes(&scene, &m->error) && hob_assimp_skins(&scene, &m->error) &&
		   hob_assimp_clips(&scene, &m->error);
}

/* Converts and checks the rules. */
static const hob_model *model_of(made *m)
{
	if (!convert(m))
		fail_msg("%s", m->error.context);
	static hob_scene one = {{"", 0}, 0, 0};
	m->model.scenes = &one;
	m->model.scene_count = 1;
	if (!hob_model_check(&m->model, &m->error))
		fail_msg("%s", m->error.context);
	return &m->model;
}

static bool noted(const made *m, const char *code)
{
	for (uint32_t i = 0; i < m->notes.count; i++)
		if (hob_str_equal(m->notes.items[i].code, hob_str_of(code)))
			return true;
	return false;
}

/* ---- nodes */

static void nodes_stand_in_depth_first_order(void **state)
{
	(void)state;
	made *m = made_new("off");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "<made up>", NULL, 2);
	struct aiNode *a = make_node(m, "a", root, 1);
	make_node(m, "a1", a, 0);
	struct aiNode *b = make_node(m, "b", root, 1);
	make_node(m, "b1", b, 0);
	b->mTransformation.a4 = 5;
	const hob_model *model = model_of(m);
	static const char *const names[] = {"", "a", "a1", "b", "b1"};
	static const uint32_t parents[] = {HOB_NONE, 0, 1, 0, 3};
	assert_int_equal(model->node_count, 5);
	for (int i = 0; i < 5; i++) {
		assert_name(model->nodes[i].name, names[i]);
		assert_int_equal(model->nodes[i].parent, parents[i]);
	}
	assert_vector(model->nodes[3].translation, 5, 0, 0);
	made_free(m);
}

static void deep_trees_need_no_stack(void **state)
{
	(void)state;
	enum { DEPTH = 50000 };
	made *m = made_new("off");
	struct aiNode *node = m->scene.mRootNode = make_node(m, "n", NULL, 1);
	for (int i = 1; i < DEPTH; i++)
		node = make_node(m, "n", node, 1);
	assert_int_equal(model_of(m)->node_count, DEPTH);
	made_free(m);
}

static void shear_and_nonsense_in_matrices(void **state)
{
	(void)state;
	made *m = made_new("off");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "r", NULL, 2);
	make_node(m, "shear", root, 0)->mTransformation.a2 = 1;
	make_node(m, "nan", root, 0)->mTransformation.b3 = NAN;
	const hob_model *model = model_of(m);
	assert_true(model->nodes[1].has_matrix);
	assert_near(model->nodes[1].matrix[4], 1);
	assert_false(model->nodes[2].has_matrix);
	assert_true(noted(m, "assimp.bad-matrix"));
	made_free(m);
}

static void cameras_look_along_minus_z(void **state)
{
	(void)state;
	made *m = made_new("dae");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 3);
	make_node(m, "plain", root, 0);
	make_node(m, "turned", root, 0);
	struct aiCamera *cameras = MAKE(m, struct aiCamera, 3);
	static const char *const names[] = {"plain", "turned", "nowhere"};
	m->scene.mCameras = MAKE(m, struct aiCamera *, 3);
	for (int i = 0; i < 3; i++) {
		m->scene.mCameras[i] = &cameras[i];
		set_name(&cameras[i].mName, names[i]);
		cameras[i].mUp = (struct aiVector3D){0, 1, 0};
		cameras[i].mLookAt = (struct aiVector3D){i == 1 ? 1 : 0, 0, i == 1 ? 0 : -1};
		cameras[i].mHorizontalFOV = 1;
		cameras[i].mAspect = 1;
		cameras[i].mClipPlaneNear = 0.5f;
	}
	m->scene.mNumCameras = 3;
	const hob_model *model = model_of(m);
	assert_int_equal(model->camera_count, 3);
	/* root (with the camera that has no node), plain, turned, and the child that turns to +X. */
	assert_int_equal(model->node_count, 4);
	assert_int_equal(model->nodes[0].camera, 0);
	assert_int_equal(model->nodes[1].camera, 1);
	assert_int_equal(model->nodes[2].camera, HOB_NONE);
	assert_int_equal(model->nodes[3].camera, 2);
	float turn[16];
	hob_node_local_matrix(&model->nodes[3], turn);
	assert_vector(turn + 8, -1, 0, 0);
	assert_vector(turn + 4, 0, 1, 0);
	assert_near(model->cameras[1].yfov_or_ymag, 1);
	assert_true(isinf(model->cameras[1].zfar));
	made_free(m);
}

static void lights_keep_colour_strength_and_half_angles(void **state)
{
	(void)state;
	made *m = made_new("dae");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 2);
	make_node(m, "spot", root, 0);
	make_node(m, "area", root, 0);
	struct aiLight *lights = MAKE(m, struct aiLight, 2);
	m->scene.mLights = MAKE(m, struct aiLight *, 2);
	m->scene.mLights[0] = &lights[0];
	m->scene.mLights[1] = &lights[1];
	m->scene.mNumLights = 2;
	set_name(&lights[0].mName, "spot");
	lights[0].mType = aiLightSource_SPOT;
	lights[0].mDirection = (struct aiVector3D){0, -1, 0};
	lights[0].mUp = (struct aiVector3D){0, 1, 0};
	lights[0].mColorDiffuse = (struct aiColor3D){4, 2, 0};
	lights[0].mAngleInnerCone = 0.5f;
	lights[0].mAngleOuterCone = 1;
	set_name(&lights[1].mName, "area");
	lights[1].mType = aiLightSource_AREA;
	const hob_model *model = model_of(m);
	assert_int_equal(model->light_count, 1);
	assert_vector(model->lights[0].color, 1, 0.5f, 0);
	assert_near(model->lights[0].intensity, 4);
	assert_near(model->lights[0].inner_cone, 0.25f);
	assert_near(model->lights[0].outer_cone, 0.5f);
	float turn[16];
	hob_node_local_matrix(&model->nodes[2], turn);
	assert_vector(turn + 8, 0, 1, 0);
	assert_true(noted(m, "assimp.light-ignored"));
	made_free(m);
}

/* ---- meshes */

static void mixed_faces_become_one_mesh_per_topology(void **state)
{
	(void)state;
	made *m = made_new("off");
	struct aiMesh *mesh = make_mesh(m, square, 4, 8);
	add_face(m, mesh, 1, (const unsigned[]){3});
	add_face(m, mesh, 4, (const unsigned[]){0, 1, 2, 3});
	add_face(m, mesh, 2, (const unsigned[]){0, 2});
	add_face(m, mesh, 3, (const unsigned[]){0, 1, 2});
	add_face(m, mesh, 0, (const unsigned[]){0});
	add_face(m, mesh, 3, (const unsigned[]){0, 1, 4});
	set_meshes(m, m->scene.mRootNode = make_node(m, "root", NULL, 0), 1, &mesh);
	const hob_model *model = model_of(m);
	assert_int_equal(model->mesh_count, 3);
	assert_int_equal(model->meshes[0].topology, HOB_TRIANGLES);
	assert_int_equal(model->meshes[0].index_count, 9);
	assert_int_equal(model->meshes[1].topology, HOB_LINES);
	assert_int_equal(model->meshes[2].topology, HOB_POINTS);
	assert_int_equal(model->meshes[2].indices[0], 3);
	assert_int_equal(model->nodes[0].mesh_count, 3);
	assert_int_equal(model->meshes[2].source_primitive, 2);
	assert_int_equal(model->meshes[0].material, HOB_NONE);
	assert_true(noted(m, "mesh.bad-faces"));
	made_free(m);
}

static void what_has_no_place_is_left_out(void **state)
{
	(void)state;
	made *m = made_new("off");
	struct aiMesh *meshes[4] = {make_mesh(m, square, 4, 2), make_mesh(m, square, 4, 1), NULL,
								make_mesh(m, square, 4, 0)};
	meshes[0]->mVertices[3].x = INFINITY;
	meshes[0]->mVertices[2].y = 1e30f;
	add_face(m, meshes[0], 3, (const unsigned[]){0, 1, 3});
	add_face(m, meshes[0], 3, (const unsigned[]){0, 1, 2});
	add_face(m, meshes[1], 3, (const unsigned[]){0, 1, 2});
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 0);
	set_meshes(m, root, 4, meshes);
	root->mMeshes[2] = 99;
	const hob_model *model = model_of(m);
	/* The first has no face left, the last is a cloud of points. */
	assert_int_equal(model->mesh_count, 2);
	assert_int_equal(model->meshes[0].source_mesh, 1);
	assert_int_equal(model->meshes[1].topology, HOB_POINTS);
	assert_int_equal(model->nodes[0].mesh_count, 2);
	assert_true(noted(m, "mesh.empty"));
	made_free(m);
}

static void streams_are_taken_over(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiMesh *mesh = triangle_mesh(m);
	mesh->mNormals = MAKE(m, struct aiVector3D, 4);
	mesh->mTangents = MAKE(m, struct aiVector3D, 4);
	mesh->mBitangents = MAKE(m, struct aiVector3D, 4);
	mesh->mTextureCoords[1] = MAKE(m, struct aiVector3D, 4);
	mesh->mColors[0] = MAKE(m, struct aiColor4D, 4);
	for (int i = 0; i < 4; i++) {
		mesh->mNormals[i] = (struct aiVector3D){0, 0, i == 2 ? NAN : 2};
		mesh->mTangents[i] = (struct aiVector3D){1, 0, i == 1 ? 5 : 0};
		mesh->mBitangents[i] = (struct aiVector3D){0, i == 0 ? -1 : 1, 0};
		mesh->mTextureCoords[1][i] = (struct aiVector3D){0.25f, i == 3 ? NAN : 0.75f, 9};
		mesh->mColors[0][i] = (struct aiColor4D){0.5f, 1, 0, 0.5f};
	}
	set_meshes(m, m->scene.mRootNode = make_node(m, "root", NULL, 0), 1, &mesh);
	const hob_mesh *to = &model_of(m)->meshes[0];
	for (int i = 0; i < 3; i++)
		assert_vector(to->normal + i * 3, 0, 0, 1);
	assert_vector(to->tangent, 1, 0, 0);
	assert_near(to->tangent[3], -1);
	assert_vector(to->tangent + 4, 1, 0, 0);
	assert_near(to->tangent[7], 1);
	/* Set 0 exists, so that numbers of sets stay what they were. */
	assert_non_null(to->uv[0]);
	assert_near(to->uv[1][0], 0.25f);
	assert_near(to->uv[1][1], 0.25f);
	assert_near(to->uv[1][7], 0);
	/* FBX stores display values. */
	assert_vector(to->color[0], 0.2140411f, 1, 0);
	assert_near(to->color[0][3], 0.5f);
	struct aiVector3D *tangents = mesh->mTangents;
	mesh->mTangents = NULL;
	assert_null(model_of(m)->meshes[0].tangent);
	mesh->mTangents = tangents;
	mesh->mBitangents = NULL;
	assert_null(model_of(m)->meshes[0].tangent);
	made_free(m);
}

static void morph_targets_become_differences(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiMesh *mesh = triangle_mesh(m);
	struct aiAnimMesh *shapes = MAKE(m, struct aiAnimMesh, 2);
	mesh->mAnimMeshes = MAKE(m, struct aiAnimMesh *, 2);
	mesh->mNumAnimMeshes = 2;
	for (int i = 0; i < 2; i++)
		mesh->mAnimMeshes[i] = &shapes[i];
	set_name(&shapes[0].mName, "smile");
	shapes[0].mNumVertices = 4;
	shapes[0].mWeight = 0.5f;
	shapes[0].mVertices = MAKE(m, struct aiVector3D, 4);
	for (int i = 0; i < 4; i++)
		shapes[0].mVertices[i] = (struct aiVector3D){mesh->mVertices[i].x, mesh->mVertices[i].y, 100};
	shapes[1].mNumVertices = 3;
	shapes[1].mVertices = MAKE(m, struct aiVector3D, 3);
	set_meshes(m, m->scene.mRootNode = make_node(m, "root", NULL, 0), 1, &mesh);
	const hob_mesh *to = &model_of(m)->meshes[0];
	assert_int_equal(to->target_count, 2);
	assert_name(to->targets[0].name, "smile");
	assert_near(to->targets[0].weight, 0.5f);
	/* FBX without a unit counts centimetres. */
	assert_vector(to->targets[0].position + 3, 0, 0, 1);
	assert_null(to->targets[1].position);
	assert_true(noted(m, "mesh.bad-target"));
	made_free(m);
}

/* ---- skins */

static struct aiBone *make_bone(made *m, const char *name, unsigned count, const unsigned *vertices,
								const float *weights)
{
	struct aiBone *bone = MAKE(m, struct aiBone, 1);
	set_name(&bone->mName, name);
	bone->mOffsetMatrix = identity();
	bone->mNumWeights = count;
	bone->mWeights = MAKE(m, struct aiVertexWeight, count);
	for (unsigned i = 0; i < count; i++)
		bone->mWeights[i] = (struct aiVertexWeight){vertices[i], weights[i]};
	return bone;
}

static void give_bones(made *m, struct aiMesh *mesh, unsigned count, struct aiBone *const *bones)
{
	mesh->mNumBones = count;
	mesh->mBones = MAKE(m, struct aiBone *, count);
	memcpy(mesh->mBones, bones, count * sizeof *bones);
}

static void meshes_of_one_node_share_a_skin(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 3);
	struct aiNode *hip = make_node(m, "hip", root, 1);
	make_node(m, "knee", hip, 0);
	struct aiNode *body = make_node(m, "body", root, 0);
	struct aiMesh *meshes[3] = {triangle_mesh(m), triangle_mesh(m), triangle_mesh(m)};
	static const unsigned v[] = {0, 1, 9};
	static const float w[] = {0.25f, 1, 1}, w2[] = {0.75f, 0, NAN};
	give_bones(m, meshes[0], 2,
			   (struct aiBone *[]){make_bone(m, "knee", 3, v, w), make_bone(m, "hip", 2, v, w2)});
	struct aiBone *lone = make_bone(m, "hip", 1, v, w);
	give_bones(m, meshes[1], 2, (struct aiBone *[]){lone, make_bone(m, "lost", 1, v, w)});
	lone->mOffsetMatrix.a4 = 100;
	set_meshes(m, body, 3, meshes);
	const hob_model *model = model_of(m);
	/* knee, hip, hip with another matrix, and the root for the bone that has no node. */
	assert_int_equal(model->skin_count, 1);
	const hob_skin *skin = &model->skins[0];
	assert_int_equal(skin->joint_count, 4);
	assert_name(model->nodes[skin->joints[0]].name, "knee");
	assert_name(model->nodes[skin->joints[1]].name, "hip");
	assert_name(model->nodes[skin->joints[2]].name, "hip");
	assert_name(model->nodes[skin->joints[3]].name, "root");
	assert_near(skin->inverse_bind[2 * 16 + 12], 1);
	assert_true(noted(m, "skin.missing-joint"));
	/* Strongest first; what is zero, NaN or out of range is no weight. */
	const hob_mesh *mesh = &model->meshes[0];
	assert_int_equal(mesh->influence_count, 4);
	assert_int_equal(mesh->joints[0], 1);
	assert_near(mesh->weights[0], 0.75f);
	assert_int_equal(mesh->joints[1], 0);
	assert_near(mesh->weights[1], 0.25f);
	assert_near(mesh->weights[2], 0);
	assert_near(mesh->weights[4], 1);
	assert_int_equal(model->meshes[1].joints[1], 3);
	/* The mesh without bones must not be moved by the skin: the others hang on a child. */
	uint32_t body_id = 3;
	assert_name(model->nodes[body_id].name, "body");
	assert_int_equal(model->nodes[body_id].skin, HOB_NONE);
	assert_int_equal(model->nodes[body_id].mesh_count, 1);
	assert_int_equal(model->nodes[body_id + 1].parent, body_id);
	assert_int_equal(model->nodes[body_id + 1].skin, 0);
	assert_int_equal(model->nodes[body_id + 1].mesh_count, 2);
	made_free(m);
}

static void the_strongest_influences_are_kept(void **state)
{
	(void)state;
	enum { BONES = 40 };
	made *m = made_new("fbx");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, BONES + 1);
	struct aiMesh *mesh = triangle_mesh(m);
	struct aiBone *bones[BONES];
	for (unsigned i = 0; i < BONES; i++) {
		char name[16];
		snprintf(name, sizeof name, "b%u", i);
		make_node(m, name, root, 0);
		bones[i] =
			make_bone(m, name, 1, (const unsigned[]){2}, (const float[]){(float)((i * 7) % BONES + 1)});
	}
	give_bones(m, mesh, BONES, bones);
	set_meshes(m, root, 1, &mesh);
	const hob_mesh *to = &model_of(m)->meshes[0];
	assert_int_equal(to->influence_count, 16);
	for (int k = 0; k < 16; k++)
		assert_near(to->weights[2 * 16 + k], (float)(BONES - k));
	assert_true(noted(m, "skin.many-influences"));
	made_free(m);
}

static void a_weight_of_zero_takes_no_place(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 5);
	struct aiMesh *mesh = triangle_mesh(m);
	struct aiBone *bones[5];
	for (unsigned i = 0; i < 5; i++) {
		char name[16];
		snprintf(name, sizeof name, "b%u", i);
		make_node(m, name, root, 0);
		bones[i] = make_bone(m, name, 1, (const unsigned[]){0}, (const float[]){i == 1 ? 0 : 0.25f});
	}
	give_bones(m, mesh, 5, bones);
	set_meshes(m, root, 1, &mesh);
	const hob_mesh *to = &model_of(m)->meshes[0];
	assert_int_equal(to->influence_count, 4);
	static const uint16_t joints[] = {0, 2, 3, 4};
	assert_memory_equal(to->joints, joints, sizeof joints);
	made_free(m);
}

/* ---- helpers of the FBX importer */

static struct aiMatrix4x4 turn_z(float angle)
{
	struct aiMatrix4x4 m = identity();
	m.a1 = m.b2 = cosf(angle);
	m.b1 = sinf(angle);
	m.a2 = -m.b1;
	return m;
}

static struct aiNodeAnim *make_channel(made *m, const char *node, unsigned keys)
{
	struct aiNodeAnim *channel = MAKE(m, struct aiNodeAnim, 1);
	set_name(&channel->mNodeName, node);
	channel->mRotationKeys = MAKE(m, struct aiQuatKey, keys);
	channel->mNumRotationKeys = keys;
	for (unsigned i = 0; i < keys; i++)
		channel->mRotationKeys[i] = (struct aiQuatKey){i, {1, 0, 0, 0}};
	return channel;
}

static struct aiAnimation *make_clip(made *m, const char *name, unsigned count,
									 struct aiNodeAnim *const *channels)
{
	struct aiAnimation *clip = MAKE(m, struct aiAnimation, 1);
	set_name(&clip->mName, name);
	clip->mTicksPerSecond = 1;
	clip->mNumChannels = count;
	clip->mChannels = MAKE(m, struct aiNodeAnim *, count);
	for (unsigned i = 0; i < count; i++)
		clip->mChannels[i] = channels[i];
	m->scene.mAnimations = MAKE(m, struct aiAnimation *, 8);
	m->scene.mAnimations[m->scene.mNumAnimations++] = clip;
	return clip;
}

static void fbx_helpers_fold_into_the_joint_that_moves(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "RootNode", NULL, 2);
	struct aiNode *pre = make_node(m, "arm_$AssimpFbx$_PreRotation", root, 1);
	pre->mTransformation = turn_z(1);
	struct aiNode *post = make_node(m, "arm_$AssimpFbx$_PostRotation", pre, 1);
	post->mTransformation = turn_z(-0.25f); /* the importer has inverted it already */
	struct aiNode *arm = make_node(m, "arm", post, 1);
	make_node(m, "hand", arm, 0);
	struct aiNodeAnim *channel = make_channel(m, "arm", 2);
	channel->mRotationKeys[1].mValue = (struct aiQuaternion){0.8f, 0.6f, 0, 0};
	make_clip(m, "wave", 1, &channel);
	const hob_model *model = model_of(m);
	assert_int_equal(model->node_count, 3);
	assert_name(model->nodes[1].name, "arm");
	assert_near(model->nodes[1].rotation[2], sinf(0.375f));
	/* Keys hold q * post where q * post^-1 is meant: they are turned by -0.5. */
	assert_int_equal(model->clips[0].channels[0].node, 1);
	assert_near(model->clips[0].tracks[0].values[2], sinf(-0.25f));
	/* From behind: turning from before would give Y the other sign. */
	assert_near(model->clips[0].tracks[0].values[4 + 1], 0.6f * sinf(0.25f));
	made_free(m);
}

static void fbx_helpers_that_move_stay(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "RootNode", NULL, 2);
	struct aiNode *offset = make_node(m, "arm_$AssimpFbx$_RotationOffset", root, 1);
	offset->mTransformation.a4 = 100;
	struct aiNode *turn = make_node(m, "arm_$AssimpFbx$_Rotation", offset, 1);
	struct aiNode *pivot = make_node(m, "arm_$AssimpFbx$_RotationPivotInverse", turn, 1);
	pivot->mTransformation.a4 = -100;
	make_node(m, "arm", pivot, 0);
	struct aiNodeAnim *channel = make_channel(m, "arm_$AssimpFbx$_Rotation", 2);
	channel->mRotationKeys[1].mValue = (struct aiQuaternion){0, 0, 0, 1};
	make_clip(m, "wave", 1, &channel);
	const hob_model *model = model_of(m);
	/* The pivot behind the moving helper folds into the arm. */
	assert_int_equal(model->node_count, 4);
	assert_name(model->nodes[3].name, "arm");
	assert_vector(model->nodes[3].translation, -1, 0, 0);
	assert_vector(model->nodes[1].translation, 1, 0, 0);
	assert_int_equal(model->clips[0].channels[0].node, 2);
	made_free(m);
}

/* ---- clips */

static void times_rise_and_nonsense_is_dropped(void **state)
{
	(void)state;
	made *m = made_new("off");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 1);
	make_node(m, "n", root, 0);
	struct aiNodeAnim *channel = make_channel(m, "n", 0);
	static const double times[] = {0, 25, 25, 10, 50, NAN, 75};
	static const float values[] = {1, 2, 3, 4, 5, 6, NAN};
	channel->mNumPositionKeys = 7;
	channel->mPositionKeys = MAKE(m, struct aiVectorKey, 7);
	for (int i = 0; i < 7; i++)
		channel->mPositionKeys[i] = (struct aiVectorKey){times[i], {values[i], 0, 0}};
	struct aiNodeAnim *lost = make_channel(m, "nobody", 1);
	lost->mRotationKeys[0].mValue = (struct aiQuaternion){0, 1, 0, 0};
	/* No rate: 25 ticks are a second. */
	make_clip(m, "walk", 2, (struct aiNodeAnim *[]){channel, lost})->mTicksPerSecond = 0;
	const hob_model *model = model_of(m);
	assert_int_equal(model->clip_count, 1);
	assert_int_equal(model->clips[0].channel_count, 1);
	const hob_track *track = &model->clips[0].tracks[0];
	assert_int_equal(track->key_count, 3);
	static const float expected_times[] = {0, 1, 2}, expected[] = {1, 3, 5};
	for (int i = 0; i < 3; i++) {
		assert_near(track->times[i], expected_times[i]);
		assert_near(track->values[i * 3], expected[i]);
	}
	assert_true(noted(m, "animation.missing-node"));
	made_free(m);
}

static void clips_have_names_of_their_own(void **state)
{
	(void)state;
	made *m = made_new("off");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 1);
	make_node(m, "n", root, 0);
	struct aiNodeAnim *channel = make_channel(m, "n", 1);
	channel->mRotationKeys[0].mValue = (struct aiQuaternion){0, 1, 0, 0};
	struct aiAnimation *list[3];
	for (int i = 0; i < 3; i++)
		list[i] = make_clip(m, i == 2 ? "" : "rig|walk", 1, &channel);
	memcpy(m->scene.mAnimations, list, sizeof list);
	const hob_model *model = model_of(m);
	assert_int_equal(model->clip_count, 3);
	assert_name(model->clips[0].name, "rig|walk");
	assert_true(hob_str_starts(model->clips[1].name, HOB_STR("rig|walk.")));
	assert_name(model->clips[2].name, "clip");
	made_free(m);
}

static void keys_are_metres_unit_turns_and_plain_factors(void **state)
{
	(void)state;
	made *m = made_new("fbx"); /* centimetres */
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 1);
	make_node(m, "n", root, 0);
	struct aiNodeAnim *channel = make_channel(m, "n", 1);
	channel->mRotationKeys[0].mValue = (struct aiQuaternion){0, 0, 3, 0};
	channel->mPositionKeys = MAKE(m, struct aiVectorKey, 1);
	channel->mPositionKeys[0].mValue = (struct aiVector3D){100, 200, -50};
	channel->mScalingKeys = MAKE(m, struct aiVectorKey, 1); /* zero is no rest pose of a scale */
	channel->mNumPositionKeys = channel->mNumScalingKeys = 1;
	make_clip(m, "vanish", 1, &channel);
	const hob_clip *clip = &model_of(m)->clips[0];
	assert_int_equal(clip->channel_count, 3);
	assert_vector(clip->tracks[0].values, 1, 2, -0.5f);
	assert_vector(clip->tracks[1].values, 0, 1, 0);
	assert_int_equal(clip->channels[2].path, HOB_PATH_SCALE);
	assert_vector(clip->tracks[2].values, 0, 0, 0);
	channel->mScalingKeys[0].mValue = (struct aiVector3D){1, 1, 1};
	assert_int_equal(model_of(m)->clips[0].channel_count, 2);
	made_free(m);
}

static void a_clip_that_moves_nothing_is_left_out_with_a_note(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 1);
	make_node(m, "n", root, 0);
	struct aiNodeAnim *channel = make_channel(m, "n", 1);
	channel->mRotationKeys[0].mValue = (struct aiQuaternion){-1, 0, 0, 0};
	make_clip(m, "still", 1, &channel);
	assert_int_equal(model_of(m)->clip_count, 0);
	assert_true(noted(m, "animation.still"));
	made_free(m);
}

static void morph_keys_are_joined_over_targets(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 1);
	struct aiNode *face = make_node(m, "face", root, 0);
	struct aiMesh *mesh = triangle_mesh(m);
	struct aiAnimMesh *shapes = MAKE(m, struct aiAnimMesh, 2);
	mesh->mAnimMeshes = MAKE(m, struct aiAnimMesh *, 2);
	mesh->mNumAnimMeshes = 2;
	for (int i = 0; i < 2; i++) {
		mesh->mAnimMeshes[i] = &shapes[i];
		shapes[i].mNumVertices = 4;
	}
	set_meshes(m, face, 1, &mesh);
	struct aiMeshMorphAnim *channel = MAKE(m, struct aiMeshMorphAnim, 1);
	set_name(&channel->mName, "face*0");
	channel->mNumKeys = 3;
	channel->mKeys = MAKE(m, struct aiMeshMorphKey, 3);
	/* Target 0 has keys at 0 and 2, target 1 at 1 only. */
	static unsigned targets[] = {0, 1, 0};
	static double weights[] = {0, 0.5, 1};
	for (unsigned i = 0; i < 3; i++)
		channel->mKeys[i] = (struct aiMeshMorphKey){i, &targets[i], &weights[i], 1};
	struct aiAnimation *clip = make_clip(m, "talk", 0, NULL);
	clip->mNumMorphMeshChannels = 1;
	clip->mMorphMeshChannels = MAKE(m, struct aiMeshMorphAnim *, 1);
	clip->mMorphMeshChannels[0] = channel;
	const hob_model *model = model_of(m);
	const hob_track *track = &model->clips[0].tracks[0];
	assert_int_equal(model->clips[0].channels[0].path, HOB_PATH_WEIGHTS);
	assert_int_equal(track->components, 2);
	assert_int_equal(track->key_count, 3);
	static const float expected[] = {0, 0.5f, 0.5f, 0.5f, 1, 0.5f};
	for (int i = 0; i < 6; i++)
		assert_near(track->values[i], expected[i]);
	made_free(m);
}

/* ---- materials */

static void add_property(made *m, struct aiMaterial *material, const char *key, unsigned semantic,
						 enum aiPropertyTypeInfo type, const void *data, size_t size)
{
	struct aiMaterialProperty *property = MAKE(m, struct aiMaterialProperty, 1);
	set_name(&property->mKey, key);
	property->mSemantic = semantic;
	property->mType = type;
	property->mDataLength = (unsigned)size;
	property->mData = MAKE(m, char, size);
	memcpy(property->mData, data, size);
	if (!material->mProperties)
		material->mProperties = MAKE(m, struct aiMaterialProperty *, 32);
	material->mProperties[material->mNumProperties++] = property;
}

static void add_floats(made *m, struct aiMaterial *material, const char *key, unsigned count,
					   const float *values)
{
	add_property(m, material, key, 0, aiPTI_Float, values, count * sizeof *values);
}

static void add_string(made *m, struct aiMaterial *material, const char *key, unsigned semantic,
					   const char *text)
{
	char data[256];
	uint32_t length = (uint32_t)strlen(text);
	memcpy(data, &length, 4);
	memcpy(data + 4, text, length + 1);
	add_property(m, material, key, semantic, aiPTI_String, data, length + 5);
}

static struct aiMaterial *one_material(made *m)
{
	struct aiMaterial *material = MAKE(m, struct aiMaterial, 1);
	m->scene.mRootNode = make_node(m, "root", NULL, 0);
	m->scene.mMaterials = MAKE(m, struct aiMaterial *, 1);
	m->scene.mMaterials[0] = material;
	m->scene.mNumMaterials = 1;
	return material;
}

static void colours_and_factors_are_taken_over(void **state)
{
	(void)state;
	made *m = made_new("x");
	struct aiMaterial *material = one_material(m);
	add_string(m, material, "?mat.name", 0, "paint");
	add_floats(m, material, "$clr.diffuse", 3, (const float[]){0.5f, -1, 2});
	add_floats(m, material, "$clr.emissive", 3, (const float[]){1, 0, 0});
	add_floats(m, material, "$clr.ambient", 3, (const float[]){9, 9, 9});
	add_floats(m, material, "$mat.shininess", 1, (const float[]){30});
	add_floats(m, material, "$mat.opacity", 1, (const float[]){0.25f});
	add_property(m, material, "$mat.twosided", 0, aiPTI_Integer, (const int[]){1}, sizeof(int));
	const hob_material *to = &model_of(m)->materials[0];
	assert_name(to->name, "paint");
	assert_vector(to->base_color, 0.5f, 0, 2);
	assert_near(to->base_color[3], 0.25f);
	assert_vector(to->emissive, 1, 0, 0);
	assert_near(to->roughness, 0.5f);
	assert_near(to->metallic, 0);
	assert_int_equal(to->alpha_mode, HOB_ALPHA_BLEND);
	assert_true(to->double_sided);
	made_free(m);
}

static void textures_fill_slots_and_samplers(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiMaterial *material = one_material(m);
	add_floats(m, material, "$clr.diffuse", 3, (const float[]){0.2f, 0.2f, 0.2f});
	add_string(m, material, "$tex.file", aiTextureType_DIFFUSE, "maps\\wood.png");
	add_string(m, material, "$tex.file", aiTextureType_NORMALS, "maps/bumps.png");
	add_string(m, material, "$tex.file", aiTextureType_OPACITY, "maps/wood.png");
	add_string(m, material, "$tex.file", aiTextureType_METALNESS, "metal.png");
	add_string(m, material, "$tex.file", aiTextureType_SHININESS, "gloss.png");
	add_property(m, material, "$tex.uvwsrc", aiTextureType_DIFFUSE, aiPTI_Integer, (const int[]){1}, 4);
	add_property(m, material, "$tex.mapmodeu", aiTextureType_DIFFUSE, aiPTI_Integer,
				 (const int[]){aiTextureMapMode_Clamp}, 4);
	add_property(m, material, "$tex.mapmodev", aiTextureType_DIFFUSE, aiPTI_Integer,
				 (const int[]){aiTextureMapMode_Mirror}, 4);
	const hob_model *model = model_of(m);
	const hob_material *to = &model->materials[0];
	const hob_texture_ref *color = &to->slots[HOB_SLOT_BASE_COLOR];
	assert_int_equal(model->image_count, 3);
	assert_name(model->images[color->image].path, "dir/maps/wood.png");
	assert_int_equal(color->uv_set, 1);
	assert_int_equal(model->samplers[color->sampler].wrap_u, HOB_WRAP_CLAMP);
	assert_int_equal(model->samplers[color->sampler].wrap_v, HOB_WRAP_MIRROR);
	assert_int_equal(to->slots[HOB_SLOT_OPACITY].image, color->image);
	assert_int_equal(to->slots[HOB_SLOT_NORMAL].sampler, HOB_NONE);
	assert_near(to->metallic, 1);
	assert_int_equal(to->alpha_mode, HOB_ALPHA_MASK);
	/* In FBX a map takes the place of the colour. */
	assert_vector(to->base_color, 1, 1, 1);
	assert_true(noted(m, "texture.ignored"));
	made_free(m);
}

/* What a texture transform does to a point of Assimp's, by Assimp's own definition, must be what ours does to
 * the flipped point. */
static void textures_of_one_type_go_by_their_index(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiMaterial *material = one_material(m);
	static const char *const files[] = {"coat.png", "coat_rough.png", "coat_normal.png"};
	for (unsigned i = 0; i < 3; i++) {
		add_string(m, material, "$tex.file", aiTextureType_CLEARCOAT, files[i]);
		material->mProperties[material->mNumProperties - 1]->mIndex = i;
	}
	const hob_model *model = model_of(m);
	const hob_texture_ref *slots = model->materials[0].slots;
	assert_name(model->images[slots[HOB_SLOT_CLEARCOAT].image].path, "dir/coat.png");
	assert_name(model->images[slots[HOB_SLOT_CLEARCOAT_ROUGH].image].path, "dir/coat_rough.png");
	assert_name(model->images[slots[HOB_SLOT_CLEARCOAT_NORMAL].image].path, "dir/coat_normal.png");
	made_free(m);
}

static void texture_transforms_are_equivalent(void **state)
{
	(void)state;
	static const float cases[][5] = {{0, 0, 1, 1, 0},		  {0.25f, 0.5f, 2, 4, 0},
									 {0, 0, 1, 1, 0.5f},	  {0.1f, 0.2f, 3, 3, 0.7f},
									 {0.1f, -0.2f, -1, 1, 0}, {-3, 2, 0.5f, 0.5f, -1.2f}};
	static const char *const extensions[] = {"fbx", "3ds"};
	for (size_t e = 0; e < 2; e++)
		for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
			made *m = made_new(extensions[e]);
			struct aiMaterial *material = one_material(m);
			add_string(m, material, "$tex.file", aiTextureType_DIFFUSE, "a.png");
			add_property(m, material, "$tex.uvtrafo", aiTextureType_DIFFUSE, aiPTI_Float, cases[i],
						 sizeof cases[i]);
			const hob_texture_ref *ref = &model_of(m)->materials[0].slots[HOB_SLOT_BASE_COLOR];
			for (int p = 0; p < 3; p++) {
				float u = (float)p * 0.3f, v = 0.9f - (float)p * 0.2f;
				float c = cosf(cases[i][4]), s = sinf(cases[i][4]), x, y;
				if (e == 1) {
					float tu = u + cases[i][0] - 0.5f, tv = v + cases[i][1] - 0.5f;
					x = cases[i][2] * (c * tu - s * tv) + 0.5f;
					y = cases[i][3] * (s * tu + c * tv) + 0.5f;
				} else {
					float su = u * cases[i][2], sv = v * cases[i][3];
					x = c * su - s * sv + cases[i][0];
					y = s * su + c * sv + cases[i][1];
				}
				float rc = cosf(ref->rotation), rs = sinf(ref->rotation);
				float mu = u * ref->scale[0], mv = (1 - v) * ref->scale[1];
				assert_near(rc * mu - rs * mv + ref->offset[0], x);
				assert_near(rs * mu + rc * mv + ref->offset[1], 1 - y);
			}
			made_free(m);
		}
}

static void embedded_pictures_are_copied(void **state)
{
	(void)state;
	made *m = made_new("fbx");
	struct aiMaterial *material = one_material(m);
	struct aiTexture *textures = MAKE(m, struct aiTexture, 2);
	m->scene.mTextures = MAKE(m, struct aiTexture *, 2);
	m->scene.mTextures[0] = &textures[0];
	m->scene.mTextures[1] = &textures[1];
	m->scene.mNumTextures = 2;
	static struct aiTexel texels[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
	textures[0].mWidth = 2;
	textures[0].mHeight = 1;
	textures[0].pcData = texels;
	static char png[] = "PNG data";
	textures[1].mWidth = sizeof png;
	textures[1].pcData = (struct aiTexel *)(void *)png;
	memcpy(textures[1].achFormatHint, "jpg", 3);
	set_name(&textures[1].mFilename, "C:\\art\\skin.jpg");
	add_string(m, material, "$tex.file", aiTextureType_DIFFUSE, "*0");
	add_string(m, material, "$tex.file", aiTextureType_NORMALS, "textures/skin.jpg");
	add_string(m, material, "$tex.file", aiTextureType_EMISSIVE, "*9");
	const hob_model *model = model_of(m);
	const hob_image *raw = &model->images[model->materials[0].slots[HOB_SLOT_BASE_COLOR].image];
	static const uint8_t expected[] = {3, 2, 1, 4, 7, 6, 5, 8};
	assert_int_equal(raw->raw_width, 2);
	assert_int_equal(raw->bytes.size, 8);
	assert_memory_equal(raw->bytes.data, expected, 8);
	const hob_image *file = &model->images[model->materials[0].slots[HOB_SLOT_NORMAL].image];
	assert_int_equal(file->bytes.size, sizeof png);
	assert_name(file->mime, "image/jpeg");
	/* A number without a picture is a file that nobody has. */
	const hob_image *none = &model->images[model->materials[0].slots[HOB_SLOT_EMISSIVE].image];
	assert_int_equal(none->bytes.size, 0);
	made_free(m);
}

static void materials_that_assimp_made_up_and_nobody_uses_are_dropped(void **state)
{
	(void)state;
	made *m = made_new("off");
	struct aiMaterial *material = one_material(m);
	add_string(m, material, "?mat.name", 0, AI_DEFAULT_MATERIAL_NAME);
	assert_int_equal(model_of(m)->material_count, 0);
	struct aiMesh *mesh = triangle_mesh(m);
	mesh->mMaterialIndex = 0;
	set_meshes(m, m->scene.mRootNode, 1, &mesh);
	assert_int_equal(model_of(m)->material_count, 1);
	assert_int_equal(m->model.meshes[0].material, 0);
	made_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_stand_in_depth_first_order),
		cmocka_unit_test(deep_trees_need_no_stack),
		cmocka_unit_test(shear_and_nonsense_in_matrices),
		cmocka_unit_test(cameras_look_along_minus_z),
		cmocka_unit_test(lights_keep_colour_strength_and_half_angles),
		cmocka_unit_test(mixed_faces_become_one_mesh_per_topology),
		cmocka_unit_test(what_has_no_place_is_left_out),
		cmocka_unit_test(streams_are_taken_over),
		cmocka_unit_test(morph_targets_become_differences),
		cmocka_unit_test(meshes_of_one_node_share_a_skin),
		cmocka_unit_test(the_strongest_influences_are_kept),
		cmocka_unit_test(a_weight_of_zero_takes_no_place),
		cmocka_unit_test(fbx_helpers_fold_into_the_joint_that_moves),
		cmocka_unit_test(fbx_helpers_that_move_stay),
		cmocka_unit_test(times_rise_and_nonsense_is_dropped),
		cmocka_unit_test(clips_have_names_of_their_own),
		cmocka_unit_test(keys_are_metres_unit_turns_and_plain_factors),
		cmocka_unit_test(a_clip_that_moves_nothing_is_left_out_with_a_note),
		cmocka_unit_test(morph_keys_are_joined_over_targets),
		cmocka_unit_test(colours_and_factors_are_taken_over),
		cmocka_unit_test(textures_fill_slots_and_samplers),
		cmocka_unit_test(textures_of_one_type_go_by_their_index),
		cmocka_unit_test(texture_transforms_are_equivalent),
		cmocka_unit_test(embedded_pictures_are_copied),
		cmocka_unit_test(materials_that_assimp_made_up_and_nobody_uses_are_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
