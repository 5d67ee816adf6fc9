/* Skins and clips from aiScene to hob_model, on hand-made scenes. */
#include "tests/unit/import/assimp_fixture.h"

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
	made *m = made_new("dae");
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
	/* knee, hip, hip with another matrix, and the root for the bone without a node. */
	assert_int_equal(model->skin_count, 1);
	const hob_skin *skin = &model->skins[0];
	assert_int_equal(skin->joint_count, 4);
	assert_name(model->nodes[skin->joints[0]].name, "knee");
	assert_name(model->nodes[skin->joints[1]].name, "hip");
	assert_name(model->nodes[skin->joints[2]].name, "hip");
	assert_name(model->nodes[skin->joints[3]].name, "root");
	assert_near(skin->inverse_bind[2 * 16 + 12], 100);
	assert_true(noted(m, "skin.missing-joint"));
	/* Strongest first; zero, NaN and out-of-range values are not weights. */
	const hob_mesh *mesh = &model->meshes[0];
	assert_int_equal(mesh->influence_count, 4);
	assert_int_equal(mesh->joints[0], 1);
	assert_near(mesh->weights[0], 0.75f);
	assert_int_equal(mesh->joints[1], 0);
	assert_near(mesh->weights[1], 0.25f);
	assert_near(mesh->weights[2], 0);
	assert_near(mesh->weights[4], 1);
	assert_int_equal(model->meshes[1].joints[1], 3);
	/* The skin must not move the mesh without bones, so the others get a child node. */
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
	made *m = made_new("dae");
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
	made *m = made_new("dae");
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
	/* Without a rate, a second has 25 ticks. */
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
	made *m = made_new("dae");
	struct aiNode *root = m->scene.mRootNode = make_node(m, "root", NULL, 1);
	root->mTransformation.a1 = root->mTransformation.b2 = root->mTransformation.c3 = 0.01f; /* the unit */
	make_node(m, "n", root, 0);
	struct aiNodeAnim *channel = make_channel(m, "n", 1);
	channel->mRotationKeys[0].mValue = (struct aiQuaternion){0, 0, 3, 0};
	channel->mPositionKeys = MAKE(m, struct aiVectorKey, 1);
	channel->mPositionKeys[0].mValue = (struct aiVector3D){100, 200, -50};
	channel->mScalingKeys = MAKE(m, struct aiVectorKey, 1); /* zero is not a valid rest scale */
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
	made *m = made_new("dae");
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
	made *m = made_new("dae");
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
	/* Target 0 has keys at 0 and 2, target 1 only at 1. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meshes_of_one_node_share_a_skin),
		cmocka_unit_test(the_strongest_influences_are_kept),
		cmocka_unit_test(a_weight_of_zero_takes_no_place),
		cmocka_unit_test(times_rise_and_nonsense_is_dropped),
		cmocka_unit_test(clips_have_names_of_their_own),
		cmocka_unit_test(keys_are_metres_unit_turns_and_plain_factors),
		cmocka_unit_test(a_clip_that_moves_nothing_is_left_out_with_a_note),
		cmocka_unit_test(morph_keys_are_joined_over_targets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
