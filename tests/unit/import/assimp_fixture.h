/* assimp_fixture.h - hand-made Assimp scenes, and their import. */
#ifndef HOB_TEST_ASSIMP_FIXTURE_H
#define HOB_TEST_ASSIMP_FIXTURE_H

#include "tests/unit/import/reader_fixture.h"

#include "core/base/guard.h"
#include "core/import/assimp/assimp_convert.h"

typedef struct made {
	hob_arena arena; /* memory of the aiScene */
	struct aiScene scene;
	const char *extension;
	hob_import_request request;
	memory_io io;
	hob_notes notes;
	hob_arena result, scratch;
	hob_model model;
	hob_error error;
} made;

static inline made *made_new(const char *extension)
{
	made *m = calloc(1, sizeof *m);
	m->extension = extension;
	hob_arena_init(&m->arena, (size_t)1 << 30);
	hob_arena_init(&m->result, (size_t)1 << 30);
	hob_arena_init(&m->scratch, (size_t)1 << 30);
	return m;
}

static inline void made_free(made *m)
{
	hob_arena_release(&m->arena);
	hob_arena_release(&m->result);
	hob_arena_release(&m->scratch);
	free(m);
}

#define MAKE(m, type, count) ((type *)hob_arena_array(&(m)->arena, (count), sizeof(type), _Alignof(type)))

static inline void set_name(struct aiString *to, const char *name)
{
	to->length = (ai_uint32)strlen(name);
	memcpy(to->data, name, to->length + 1);
}

static inline struct aiMatrix4x4 identity(void)
{
	struct aiMatrix4x4 m = {0};
	m.a1 = m.b2 = m.c3 = m.d4 = 1;
	return m;
}

static inline struct aiNode *make_node(made *m, const char *name, struct aiNode *parent, unsigned room)
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

static inline struct aiMesh *make_mesh(made *m, const float *positions, unsigned vertices, unsigned faces)
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

static inline void add_face(made *m, struct aiMesh *mesh, unsigned count, const unsigned *indices)
{
	struct aiFace *face = &mesh->mFaces[mesh->mNumFaces++];
	face->mNumIndices = count;
	face->mIndices = MAKE(m, unsigned, count);
	memcpy(face->mIndices, indices, count * sizeof *indices);
}

static const float square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};

static inline struct aiMesh *triangle_mesh(made *m)
{
	struct aiMesh *mesh = make_mesh(m, square, 4, 1);
	add_face(m, mesh, 3, (const unsigned[]){0, 1, 2});
	return mesh;
}

static inline void set_meshes(made *m, struct aiNode *node, unsigned count, struct aiMesh *const *meshes)
{
	m->scene.mMeshes = MAKE(m, struct aiMesh *, count);
	memcpy(m->scene.mMeshes, meshes, count * sizeof *meshes);
	m->scene.mNumMeshes = node->mNumMeshes = count;
	node->mMeshes = MAKE(m, unsigned, count);
	for (unsigned i = 0; i < count; i++)
		node->mMeshes[i] = i;
}

static inline bool convert_scene(void *context, hob_error *err)
{
	hob_assimp_scene *scene = context;
	(void)err;
	hob_assimp_space(scene);
	hob_assimp_materials(scene);
	hob_assimp_meshes(scene);
	hob_assimp_nodes(scene);
	hob_assimp_skins(scene);
	hob_assimp_clips(scene);
	return true;
}

static inline bool convert(made *m)
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
	return hob_guarded_whole(convert_scene, &scene, &m->error);
}

/* Converts the scene and checks the model's rules. */
static inline const hob_model *model_of(made *m)
{
	if (!convert(m))
		fail_msg("%s", m->error.context);
	static hob_scene one;
	m->model.scenes = &one;
	m->model.scene_count = 1;
	if (!hob_model_check(&m->model, &m->error))
		fail_msg("%s", m->error.context);
	return &m->model;
}

static inline bool noted(const made *m, const char *code)
{
	for (uint32_t i = 0; i < m->notes.count; i++)
		if (hob_str_equal(m->notes.items[i].code, hob_str_of(code)))
			return true;
	return false;
}

#endif
