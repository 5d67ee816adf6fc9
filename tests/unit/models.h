/* models.h - small models for the tests of scene and material. */
#ifndef HOB_TEST_MODELS_H
#define HOB_TEST_MODELS_H

#include "shapes.h"

enum { MODEL_ROOM = 64 };

/* A growing model with room for MODEL_ROOM of everything and one scene. */
static inline hob_model model_new(hob_arena *arena)
{
	hob_model m = {.scene_count = 1};
	m.meshes = shape_alloc(arena, MODEL_ROOM, sizeof *m.meshes);
	m.materials = shape_alloc(arena, MODEL_ROOM, sizeof *m.materials);
	m.images = shape_alloc(arena, MODEL_ROOM, sizeof *m.images);
	m.samplers = shape_alloc(arena, MODEL_ROOM, sizeof *m.samplers);
	m.nodes = shape_alloc(arena, MODEL_ROOM, sizeof *m.nodes);
	m.mesh_refs = shape_alloc(arena, MODEL_ROOM, sizeof *m.mesh_refs);
	m.weights = shape_alloc(arena, MODEL_ROOM, sizeof *m.weights);
	m.scenes = shape_alloc(arena, MODEL_ROOM, sizeof *m.scenes);
	m.scene_roots = shape_alloc(arena, MODEL_ROOM, sizeof *m.scene_roots);
	m.cameras = shape_alloc(arena, MODEL_ROOM, sizeof *m.cameras);
	m.lights = shape_alloc(arena, MODEL_ROOM, sizeof *m.lights);
	m.skins = shape_alloc(arena, MODEL_ROOM, sizeof *m.skins);
	m.clips = shape_alloc(arena, MODEL_ROOM, sizeof *m.clips);
	return m;
}

/* Roots join scene 0, which must be the last scene with roots. */
static inline uint32_t model_node(hob_model *m, const char *name, uint32_t parent)
{
	assert_true(m->node_count < MODEL_ROOM);
	m->nodes[m->node_count] = (hob_node){.name = hob_str_of(name),
										 .parent = parent,
										 .source = m->node_count,
										 .rotation = {0, 0, 0, 1},
										 .scale = {1, 1, 1},
										 .skin = HOB_NONE,
										 .camera = HOB_NONE,
										 .light = HOB_NONE};
	if (parent == HOB_NONE) {
		m->scene_roots[m->scene_root_count++] = m->node_count;
		m->scenes[0].root_count++;
	}
	return m->node_count++;
}

static inline hob_node *model_place(hob_model *m, uint32_t node, float x, float y, float z)
{
	float t[3] = {x, y, z};
	memcpy(m->nodes[node].translation, t, sizeof t);
	return &m->nodes[node];
}

/* Adds a reference to a mesh; add all references of a node consecutively. */
static inline void model_show(hob_model *m, uint32_t node, uint32_t mesh)
{
	if (m->nodes[node].mesh_count == 0)
		m->nodes[node].mesh_first = m->mesh_ref_count;
	m->nodes[node].mesh_count++;
	m->mesh_refs[m->mesh_ref_count++] = mesh;
}

static inline uint32_t model_mesh(hob_model *m, hob_mesh mesh, uint32_t material)
{
	mesh.material = material;
	m->meshes[m->mesh_count] = mesh;
	return m->mesh_count++;
}

static inline hob_material *model_material(hob_model *m, const char *name)
{
	hob_material *material = &m->materials[m->material_count++];
	hob_material_init(material);
	material->name = hob_str_of(name);
	return material;
}

static inline void model_animate(hob_model *m, hob_arena *arena, uint32_t node, hob_path path)
{
	hob_clip *clip = &m->clips[m->clip_count++];
	clip->name = hob_arena_printf(arena, "clip%u", m->clip_count);
	clip->channel_count = clip->track_count = 1;
	clip->channels = shape_alloc(arena, 1, sizeof *clip->channels);
	clip->tracks = shape_alloc(arena, 1, sizeof *clip->tracks);
	clip->channels[0] = (hob_channel){node, path, 0};
	hob_track *track = &clip->tracks[0];
	track->interpolation = HOB_LINEAR;
	track->components = path == HOB_PATH_ROTATION ? 4 : 3;
	track->key_count = 2;
	track->times = shape_alloc(arena, 2, sizeof(float));
	track->values = shape_alloc(arena, 8, sizeof(float));
	track->times[1] = 1;
	for (int i = 0; i < 8; i++)
		track->values[i] = 1;
}

static inline void model_check(const hob_model *m)
{
	hob_error err = {0};
	bool ok = hob_model_check(m, &err);
	if (!ok)
		print_error("%s\n", err.context);
	assert_true(ok);
}

/* Sum over all triangles of the scene of (area, centroid * area) in world space: an invariant of every
 * merge. */
static inline void model_moments(const hob_model *m, double out[4])
{
	float(*global)[16] = test_calloc(m->node_count, sizeof *global);
	memset(out, 0, 4 * sizeof *out);
	for (uint32_t n = 0; n < m->node_count; n++) {
		const hob_node *node = &m->nodes[n];
		hob_node_local_matrix(node, global[n]);
		if (node->parent != HOB_NONE)
			hob_matrix_multiply(global[node->parent], global[n], global[n]);
		for (uint32_t r = 0; r < node->mesh_count; r++) {
			const hob_mesh *mesh = &m->meshes[m->mesh_refs[node->mesh_first + r]];
			for (uint32_t i = 0; i + 2 < mesh->index_count; i += 3) {
				double p[3][3], e[3], f[3], c[3];
				for (uint32_t k = 0; k < 3; k++)
					for (uint32_t row = 0; row < 3; row++) {
						const float *v = mesh->position + 3 * (size_t)mesh->indices[i + k];
						p[k][row] = (double)global[n][12 + row];
						for (uint32_t col = 0; col < 3; col++)
							p[k][row] += (double)global[n][4 * col + row] * (double)v[col];
					}
				for (int k = 0; k < 3; k++)
					e[k] = p[1][k] - p[0][k], f[k] = p[2][k] - p[0][k];
				c[0] = e[1] * f[2] - e[2] * f[1], c[1] = e[2] * f[0] - e[0] * f[2];
				c[2] = e[0] * f[1] - e[1] * f[0];
				double area = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]) / 2;
				out[0] += area;
				for (int k = 0; k < 3; k++)
					out[1 + k] += area * (p[0][k] + p[1][k] + p[2][k]) / 3;
			}
		}
	}
	test_free(global);
}

#endif
