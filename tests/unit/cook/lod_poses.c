/* The stated error of skinned meshes' levels of detail also holds in poses of their own clips. Poses and
 * distances are computed by independent code. Without a corpus (corpus_model.h) the models are skipped. */
#include "corpus_model.h"
#include "tests/surface_oracle.h"

#include "core/animation/skin_poses.h"
#include "core/mesh/bake.h"

static const struct model_of {
	const char *path;
	uint32_t levels; /* minimum number */
} models[] = {
	{"gltf/khronos/CesiumMan/glTF-Binary/CesiumMan.glb", 3},
	{"gltf/khronos/Fox/glTF-Binary/Fox.glb", 1},
	{"gltf/khronos/RiggedFigure/glTF-Binary/RiggedFigure.glb", 1},
	{"fbx/assimp/animation_with_skeleton.fbx", 1},
	{"iqm/assimp/mrfixit.iqm", 2},
};

/* ---- poses */

static void multiply(const double a[16], const double b[16], double out[16])
{
	for (int column = 0; column < 4; column++)
		for (int row = 0; row < 4; row++) {
			double sum = 0;
			for (int k = 0; k < 4; k++)
				sum += a[4 * k + row] * b[4 * column + k];
			out[4 * column + row] = sum;
		}
}

static void compose(const double t[3], const double q[4], const double s[3], double out[16])
{
	double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
	double x = q[0] / length, y = q[1] / length, z = q[2] / length, w = q[3] / length;
	const double m[16] = {(1 - 2 * (y * y + z * z)) * s[0],
						  2 * (x * y + z * w) * s[0],
						  2 * (x * z - y * w) * s[0],
						  0,
						  2 * (x * y - z * w) * s[1],
						  (1 - 2 * (x * x + z * z)) * s[1],
						  2 * (y * z + x * w) * s[1],
						  0,
						  2 * (x * z + y * w) * s[2],
						  2 * (y * z - x * w) * s[2],
						  (1 - 2 * (x * x + y * y)) * s[2],
						  0,
						  t[0],
						  t[1],
						  t[2],
						  1};
	memcpy(out, m, sizeof m);
}

/* Linear between keys, whatever the interpolation: exact at keys, and close enough between them. */
static void value_at(const hob_track *track, double time, double *out)
{
	uint32_t next = 0, width = track->components, stride = width, at = 0;
	if (track->interpolation == HOB_CUBICSPLINE)
		stride = 3 * width, at = width;
	while (next < track->key_count && (double)track->times[next] < time)
		next++;
	uint32_t before = next > 0 ? next - 1 : 0;
	next = next < track->key_count ? next : track->key_count - 1;
	double from = (double)track->times[before], to = (double)track->times[next];
	double part = to > from ? (time - from) / (to - from) : 0;
	part = part > 1 ? 1 : part < 0 || track->interpolation == HOB_STEP ? 0 : part;
	const float *a = track->values + (size_t)stride * before + at,
				*b = track->values + (size_t)stride * next + at;
	double dot = 0;
	for (uint32_t i = 0; i < width; i++)
		dot += (double)a[i] * (double)b[i];
	for (uint32_t i = 0; i < width; i++)
		out[i] = (double)a[i] * (1 - part) + (width == 4 && dot < 0 ? -1 : 1) * (double)b[i] * part;
}

static void node_matrix(const hob_model *model, const hob_clip *clip, double time, uint32_t id,
						double out[16])
{
	const hob_node *node = &model->nodes[id];
	double t[3], r[4], s[3], local[16], parent[16];
	bool matrix = node->has_matrix;
	for (int i = 0; i < 4; i++) {
		r[i] = (double)node->rotation[i];
		if (i < 3)
			t[i] = (double)node->translation[i], s[i] = (double)node->scale[i];
	}
	for (uint32_t c = 0; clip && c < clip->channel_count; c++) {
		const hob_channel *channel = &clip->channels[c];
		if (channel->node != id || channel->path == HOB_PATH_WEIGHTS)
			continue;
		value_at(&clip->tracks[channel->track], time,
				 channel->path == HOB_PATH_TRANSLATION ? t
				 : channel->path == HOB_PATH_ROTATION  ? r
													   : s);
		matrix = false;
	}
	compose(t, r, s, local);
	for (int i = 0; matrix && i < 16; i++)
		local[i] = (double)node->matrix[i];
	if (node->parent == HOB_NONE) {
		memcpy(out, local, sizeof local);
		return;
	}
	node_matrix(model, clip, time, node->parent, parent);
	multiply(parent, local, out);
}

/* out: [joint_count][16] */
static void joint_matrices(const hob_model *model, const hob_skin *skin, const hob_clip *clip, double time,
						   double *out)
{
	for (uint32_t j = 0; j < skin->joint_count; j++) {
		double node[16], bind[16];
		node_matrix(model, clip, time, skin->joints[j], node);
		for (int i = 0; i < 16; i++)
			bind[i] = (double)skin->inverse_bind[16 * (size_t)j + (size_t)i];
		multiply(node, bind, out + 16 * (size_t)j);
	}
}

/* Scale of the mesh under its joints in the rest pose. */
static double drawn_size(const hob_mesh *m, const double *rest, uint32_t joint_count)
{
	bool *used = calloc(joint_count, sizeof *used);
	double sum = 0;
	uint32_t count = 0;
	for (size_t i = 0; i < (size_t)m->influence_count * m->vertex_count; i++)
		if (m->weights[i] > 0)
			used[m->joints[i]] = true;
	for (uint32_t j = 0; j < joint_count; j++) {
		double square = 0;
		for (int k = 0; k < 12; k++)
			square += k % 4 < 3 ? rest[16 * (size_t)j + (size_t)k] * rest[16 * (size_t)j + (size_t)k] : 0;
		sum += used[j] ? sqrt(square / 3) : 0;
		count += used[j];
	}
	free(used);
	return sum / count;
}

static void move(const hob_mesh *m, const double *weights, const double *matrices, double size, float *out)
{
	for (size_t v = 0; v < m->vertex_count; v++) {
		double p[3], at[3] = {0, 0, 0};
		for (int i = 0; i < 3; i++) {
			p[i] = (double)m->position[3 * v + (size_t)i];
			for (uint32_t t = 0; t < m->target_count; t++)
				if (m->targets[t].position)
					p[i] += weights[t] * (double)m->targets[t].position[3 * v + (size_t)i];
		}
		for (uint32_t k = 0; k < m->influence_count; k++) {
			const double *j = matrices + 16 * (size_t)m->joints[m->influence_count * v + k];
			double weight = (double)m->weights[m->influence_count * v + k];
			for (int i = 0; i < 3; i++)
				at[i] += weight * (j[i] * p[0] + j[4 + i] * p[1] + j[8 + i] * p[2] + j[12 + i]);
		}
		for (size_t i = 0; i < 3; i++)
			out[3 * v + i] = (float)(at[i] / size);
	}
}

/* ---- comparing */

typedef struct totals {
	uint32_t levels, above;
	double most; /* measured distance divided by the stated one */
} totals_t;

static void check_pose(const char *name, const hob_baked_mesh *mesh, const float *position, double time,
					   bool print, totals_t *totals)
{
	soup *full = soup_new(position, mesh->indices, mesh->lods[0].index_count);
	for (uint32_t l = 1; l < mesh->lod_count; l++) {
		const hob_baked_lod *lod = &mesh->lods[l];
		soup *level = soup_new(position, mesh->indices + lod->index_first, lod->index_count);
		double distance = surface_distance(full, level, 5, 4000);
		if (distance > (double)lod->error) {
			if (print)
				print_message("%s, at %g s, level %u: states %g, but is %g from the full mesh\n", name, time,
							  l, (double)lod->error, distance);
			totals->above++;
		}
		totals->most =
			distance / (double)lod->error > totals->most ? distance / (double)lod->error : totals->most;
		soup_free(level);
	}
	soup_free(full);
}

/* Checks a mesh at `count` instants of each of the first clips. */
static void check_clips(const char *name, const hob_model *model, const hob_node *node,
						const hob_baked_mesh *mesh, uint32_t clips, uint32_t count, bool print,
						totals_t *totals)
{
	const hob_mesh *m = &mesh->mesh;
	const hob_skin *skin = &model->skins[node->skin];
	double *matrices = malloc(skin->joint_count * 16 * sizeof *matrices), weights[8] = {0};
	float *position = malloc(m->vertex_count * 3 * sizeof *position);
	joint_matrices(model, skin, NULL, 0, matrices);
	double size = drawn_size(m, matrices, skin->joint_count);
	assert_true(m->target_count <= 8);
	for (uint32_t c = 0; c < clips && c < model->clip_count; c++) {
		const hob_clip *clip = &model->clips[c];
		double end = 0;
		for (uint32_t t = 0; t < clip->track_count; t++) {
			const hob_track *track = &clip->tracks[t];
			double last = (double)track->times[track->key_count - 1];
			end = last > end ? last : end;
		}
		for (uint32_t i = 0; i < count; i++) {
			double time = end * (i + 0.37) / count;
			for (uint32_t k = 0; k < clip->channel_count; k++)
				if (clip->channels[k].path == HOB_PATH_WEIGHTS &&
					&model->nodes[clip->channels[k].node] == node)
					value_at(&clip->tracks[clip->channels[k].track], time, weights);
			joint_matrices(model, skin, clip, time, matrices);
			move(m, weights, matrices, size, position);
			check_pose(name, mesh, position, time, print, totals);
		}
	}
	totals->levels += mesh->lod_count - 1;
	free(matrices), free(position);
}

/* Bakes each skinned mesh with or without poses, and checks it in its clips. */
static totals_t check_model(const char *name, const hob_model *model, bool with_poses, uint32_t clips,
							uint32_t count)
{
	hob_arena arena, scratch;
	totals_t totals = {0, 0, 0};
	hob_arena_init(&arena, (size_t)2 << 30);
	hob_arena_init(&scratch, (size_t)2 << 30);
	hob_skin_poses from = hob_skin_poses_of(model, &scratch);
	for (uint32_t i = 0; i < model->node_count; i++) {
		const hob_node *node = &model->nodes[i];
		for (uint32_t k = 0; node->skin != HOB_NONE && k < node->mesh_count; k++) {
			uint32_t id = model->mesh_refs[node->mesh_first + k];
			hob_mesh_poses poses = hob_skin_poses_choose(&from, id, &scratch);
			const hob_mesh_options options = {
				.lod_max = 7, .lod_error = 0.1f, .poses = with_poses ? &poses : NULL};
			hob_baked_mesh mesh = hob_mesh_bake(&model->meshes[id], &options, &arena, &scratch, NULL);
			check_clips(name, model, node, &mesh, clips, count, with_poses, &totals);
		}
	}
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
	return totals;
}

static void levels_of_models_hold_in_their_clips(void **state)
{
	(void)state;
	uint32_t above_without = 0;
	skip_without_corpus();
	for (size_t i = 0; i < HOB_COUNT_OF(models); i++) {
		hob_arena arena, scratch;
		hob_model model;
		corpus_import(models[i].path, &arena, &scratch, &model);
		totals_t without = check_model(models[i].path, &model, false, 3, 2);
		totals_t with = check_model(models[i].path, &model, true, 3, 5);
		print_message("%s: %u levels, %u without poses; distance over stated at most %.3f, %.3f without\n",
					  models[i].path, with.levels, without.levels, with.most, without.most);
		above_without += without.above;
		assert_true(with.levels >= models[i].levels);
		assert_int_equal(with.above, 0);
		hob_arena_release(&arena);
		hob_arena_release(&scratch);
	}
	assert_true(above_without > 0);
}

/* A renderer knows the scale of the model at rest, not during a clip. */
static void a_clip_that_enlarges_the_skeleton_counts(void **state)
{
	(void)state;
	skip_without_corpus();
	hob_arena arena, scratch;
	hob_model model;
	corpus_import("gltf/khronos/Fox/glTF-Binary/Fox.glb", &arena, &scratch, &model);
	float times[2] = {0, 1}, values[6] = {1, 1, 1, 3, 3, 3};
	hob_track track = {HOB_LINEAR, 3, 2, times, values};
	hob_channel channel = {model.skins[0].joints[0], HOB_PATH_SCALE, 0};
	hob_clip clip = {.channel_count = 1, .channels = &channel, .track_count = 1, .tracks = &track};
	model.clips = &clip;
	model.clip_count = 1;
	totals_t without = check_model("grown", &model, false, 1, 3);
	totals_t with = check_model("grown", &model, true, 1, 3);
	assert_true(without.above > 0 && without.most > 1.5);
	assert_true(with.levels > 0);
	assert_int_equal(with.above, 0);
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
}

static hob_node node_at(uint32_t parent, float y)
{
	return (hob_node){.parent = parent,
					  .translation = {0, y, 0},
					  .rotation = {0, 0, 0, 1},
					  .scale = {1, 1, 1},
					  .skin = HOB_NONE,
					  .camera = HOB_NONE,
					  .light = HOB_NONE};
}

/* Two nodes share a mesh but have separate skins: the clip bends and enlarges only the second, with bones and
 * a morph target. */
static void what_bends_one_of_several_nodes_counts(void **state)
{
	(void)state;
	enum { AROUND = 24, RINGS = 40, VERTICES = AROUND * RINGS };
	static float position[3 * VERTICES], weights[4 * VERTICES], delta[3 * VERTICES];
	static uint16_t joints[4 * VERTICES];
	static uint32_t indices[6 * AROUND * (RINGS - 1)];
	uint32_t count = 0;
	for (uint32_t v = 0; v < VERTICES; v++) {
		double angle = 6.283185307179586 * (v % AROUND) / AROUND;
		double y = 2.0 * (v / AROUND) / (RINGS - 1), part = (y - 0.7) / 0.6;
		part = part < 0 ? 0 : part > 1 ? 1 : part;
		position[3 * v] = (float)(0.2 * cos(angle)), position[3 * v + 2] = (float)(0.2 * sin(angle));
		position[3 * v + 1] = (float)y;
		delta[3 * v] = position[3 * v] * (float)part, delta[3 * v + 2] = position[3 * v + 2] * (float)part;
		weights[4 * v] = (float)(1 - part), weights[4 * v + 1] = (float)part, joints[4 * v + 1] = 1;
		for (uint32_t k = 0; k < 6 && v / AROUND + 1 < RINGS; k++) {
			static const uint8_t right[6] = {0, 0, 1, 1, 0, 1}, up[6] = {0, 1, 0, 0, 1, 1};
			indices[count++] = (v / AROUND + up[k]) * AROUND + (v % AROUND + right[k]) % AROUND;
		}
	}
	hob_morph_target target = {.position = delta};
	hob_mesh mesh = {.material = HOB_NONE,
					 .topology = HOB_TRIANGLES,
					 .vertex_count = VERTICES,
					 .index_count = count,
					 .indices = indices,
					 .position = position,
					 .influence_count = 4,
					 .joints = joints,
					 .weights = weights,
					 .target_count = 1,
					 .targets = &target};
	float bind[2 * 16] = {0}, times[2] = {0, 1}, turn[8] = {0, 0, 0, 1, 0, 0, 0.70710678f, 0.70710678f};
	float fat[2] = {0, 1};
	for (int i = 0; i < 4; i++)
		bind[5 * i] = bind[16 + 5 * i] = 1;
	bind[16 + 13] = -1;
	hob_node nodes[6] = {node_at(HOB_NONE, 0), node_at(0, 1),		 node_at(HOB_NONE, 0),
						 node_at(2, 1),		   node_at(HOB_NONE, 0), node_at(HOB_NONE, 0)};
	uint32_t first[2] = {0, 1}, second[2] = {2, 3}, refs[2] = {0, 0};
	hob_skin skins[2] = {{.joint_count = 2, .joints = first, .inverse_bind = bind},
						 {.joint_count = 2, .joints = second, .inverse_bind = bind}};
	for (uint32_t i = 0; i < 2; i++)
		nodes[4 + i].skin = i, nodes[4 + i].mesh_first = i, nodes[4 + i].mesh_count = 1;
	hob_track tracks[2] = {{HOB_LINEAR, 4, 2, times, turn}, {HOB_LINEAR, 1, 2, times, fat}};
	hob_channel channels[2] = {{3, HOB_PATH_ROTATION, 0}, {5, HOB_PATH_WEIGHTS, 1}};
	hob_clip clip = {.channel_count = 2, .channels = channels, .track_count = 2, .tracks = tracks};
	hob_model model = {.mesh_count = 1,
					   .meshes = &mesh,
					   .node_count = 6,
					   .nodes = nodes,
					   .mesh_refs = refs,
					   .skin_count = 2,
					   .skins = skins,
					   .clip_count = 1,
					   .clips = &clip};
	totals_t without = check_model("arms", &model, false, 1, 9);
	totals_t with = check_model("arms", &model, true, 1, 9);
	print_message("arms: distance over stated at most %.3f, %.3f without poses\n", with.most, without.most);
	assert_true(without.above > 0);
	assert_true(with.levels > 0);
	assert_int_equal(with.above, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(levels_of_models_hold_in_their_clips),
									   cmocka_unit_test(a_clip_that_enlarges_the_skeleton_counts),
									   cmocka_unit_test(what_bends_one_of_several_nodes_counts)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
