/* The steps from aiScene to hob_model, on hand-made scenes: nodes, cameras, lights and meshes, valid and
 * invalid. */
#include "tests/unit/import/assimp_fixture.h"

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
	/* root (with the camera that has no node), plain, turned, and the child rotated to +X. */
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
	/* The first has no face left, the last is a point cloud. */
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
	made *m = made_new("dae");
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
	/* Set 0 exists, so that set numbers are preserved. */
	assert_non_null(to->uv[0]);
	assert_near(to->uv[1][0], 0.25f);
	assert_near(to->uv[1][1], 0.25f);
	assert_near(to->uv[1][7], 0);
	assert_vector(to->color[0], 0.5f, 1, 0);
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
	made *m = made_new("dae");
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
	assert_vector(to->targets[0].position + 3, 0, 0, 100);
	assert_null(to->targets[1].position);
	assert_true(noted(m, "mesh.bad-target"));
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
