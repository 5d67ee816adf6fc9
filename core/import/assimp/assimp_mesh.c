#include "assimp_convert.h"

#include "../../base/limits.h"
#include "../polygon.h"
#include "../shape.h"

#include <math.h>

_Static_assert((int)HOB_UV_SETS >= (int)AI_MAX_NUMBER_OF_TEXTURECOORDS, "every uv set has a place");

static float *copy3(hob_arena *arena, const struct aiVector3D *from, uint32_t count, float scale)
{
	float *to = HOB_NEW(arena, float, (size_t)count * 3);
	for (size_t i = 0; i < count; i++) {
		to[i * 3] = from[i].x * scale;
		to[i * 3 + 1] = from[i].y * scale;
		to[i * 3 + 2] = from[i].z * scale;
	}
	return to;
}

/* ---- streams */

static void copy_uvs(const hob_assimp_scene *scene, const struct aiMesh *from, hob_mesh *to)
{
	uint32_t sets = 0;
	for (uint32_t set = 0; set < AI_MAX_NUMBER_OF_TEXTURECOORDS; set++)
		if (from->mTextureCoords[set])
			sets = set + 1;
	bool flip = !(scene->format->flags & HOB_ASSIMP_V_DOWN);
	for (uint32_t set = 0; set < sets; set++) {
		float *uv = to->uv[set] = HOB_NEW(scene->request->result, float, (size_t)from->mNumVertices * 2);
		const struct aiVector3D *source = from->mTextureCoords[set];
		for (size_t i = 0; source && i < from->mNumVertices; i++) {
			uv[i * 2] = hob_assimp_finite(source[i].x, 0);
			uv[i * 2 + 1] = hob_assimp_finite(flip ? 1 - source[i].y : source[i].y, 0);
		}
	}
}

static void copy_colors(const hob_assimp_scene *scene, const struct aiMesh *from, hob_mesh *to)
{
	uint32_t sets = 0;
	for (uint32_t set = 0; set < AI_MAX_NUMBER_OF_COLOR_SETS; set++) {
		const struct aiColor4D *source = from->mColors[set];
		if (!source)
			continue;
		if (sets == HOB_COLOR_SETS) {
			hob_warn(scene->request->notes, "assimp.colors-ignored",
					 "mesh '%.*s' has more than %d sets of vertex colours; the rest is left out",
					 HOB_FMT(to->name), HOB_COLOR_SETS);
			return;
		}
		float *color = to->color[sets++] =
			HOB_NEW(scene->request->result, float, (size_t)from->mNumVertices * 4);
		for (size_t i = 0; i < from->mNumVertices; i++) {
			const float rgb[3] = {source[i].r, source[i].g, source[i].b};
			for (size_t c = 0; c < 3; c++)
				color[i * 4 + c] = hob_assimp_finite(rgb[c], 1);
			color[i * 4 + 3] = hob_assimp_finite(source[i].a, 1);
		}
	}
}

/* Assimp's V points up, so its bitangent has the sign of glTF's w. */
static void make_tangent(const float *n, const struct aiVector3D *t, const struct aiVector3D *b, float *out)
{
	float along = t->x * n[0] + t->y * n[1] + t->z * n[2];
	float v[3] = {t->x - n[0] * along, t->y - n[1] * along, t->z - n[2] * along};
	float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
	if (!(length > 1e-6f && length < 1e30f)) {
		bool x_axis = fabsf(n[0]) < 0.9f;
		float a[3] = {x_axis ? 1.0f : 0.0f, x_axis ? 0.0f : 1.0f, 0.0f};
		float dot = a[0] * n[0] + a[1] * n[1];
		for (int i = 0; i < 3; i++)
			v[i] = a[i] - n[i] * dot;
		length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
	}
	for (int i = 0; i < 3; i++)
		out[i] = v[i] / length;
	float cross[3] = {n[1] * out[2] - n[2] * out[1], n[2] * out[0] - n[0] * out[2],
					  n[0] * out[1] - n[1] * out[0]};
	out[3] = cross[0] * b->x + cross[1] * b->y + cross[2] * b->z < 0 ? -1 : 1;
}

static void copy_tangents(const hob_assimp_scene *scene, const struct aiMesh *from, hob_mesh *to)
{
	if (!from->mTangents || !from->mBitangents || !to->normal)
		return;
	to->tangent = HOB_NEW(scene->request->result, float, (size_t)from->mNumVertices * 4);
	for (size_t i = 0; i < from->mNumVertices; i++)
		make_tangent(to->normal + i * 3, &from->mTangents[i], &from->mBitangents[i], to->tangent + i * 4);
}

/* ---- faces */

typedef struct face_sorter {
	hob_assimp_scene *scene;
	const struct aiMesh *from;
	uint64_t index_total[3]; /* by topology */
	uint64_t bad;
	const float *position;
	bool in_reach; /* all positions are within HOB_LIMIT_REACH */
	hob_polygon polygon;
	hob_buf cut;
} face_sorter;

static const uint32_t corners_of[3] = {[HOB_TRIANGLES] = 3, [HOB_LINES] = 2, [HOB_POINTS] = 1};

static hob_topology topology_of(const struct aiFace *face)
{
	return face->mNumIndices >= 3 ? HOB_TRIANGLES : face->mNumIndices == 2 ? HOB_LINES : HOB_POINTS;
}

static bool is_usable(const face_sorter *f, const struct aiFace *face)
{
	if (face->mNumIndices == 0 || !face->mIndices)
		return false;
	for (unsigned i = 0; i < face->mNumIndices; i++) {
		if (face->mIndices[i] >= f->from->mNumVertices)
			return false;
		if (!f->in_reach && !hob_shape_in_reach(f->position + (size_t)face->mIndices[i] * 3, 3))
			return false;
	}
	return true;
}

static void count_faces(face_sorter *f)
{
	for (unsigned i = 0; i < f->from->mNumFaces; i++) {
		const struct aiFace *face = &f->from->mFaces[i];
		if (!is_usable(f, face)) {
			f->bad++;
			continue;
		}
		hob_topology topology = topology_of(face);
		f->index_total[topology] +=
			topology == HOB_TRIANGLES ? (uint64_t)(face->mNumIndices - 2) * 3 : corners_of[topology];
	}
}

static void put_face(face_sorter *f, hob_mesh *to, const struct aiFace *face)
{
	if (face->mNumIndices <= 3) {
		for (uint32_t k = 0; k < face->mNumIndices; k++)
			to->indices[to->index_count++] = face->mIndices[k];
		return;
	}
	hob_buf_clear(&f->cut);
	uint32_t count = (face->mNumIndices - 2) * 3;
	uint32_t *cut = (uint32_t *)(void *)hob_buf_grow(&f->cut, count * sizeof *cut);
	hob_polygon_triangulate(&f->polygon, to->position, face->mIndices, face->mNumIndices, cut);
	for (uint32_t i = 0; i < count; i++)
		to->indices[to->index_count++] = face->mIndices[cut[i]];
}

static void put_faces(face_sorter *f, hob_mesh *to)
{
	hob_arena *arena = f->scene->request->result;
	uint64_t total = f->index_total[to->topology];
	if (total > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "%llu indices, at most %llu are allowed", (unsigned long long)total,
				  HOB_LIMIT_INDICES);
	to->indices = HOB_NEW(arena, uint32_t, total);
	for (unsigned i = 0; i < f->from->mNumFaces; i++) {
		const struct aiFace *face = &f->from->mFaces[i];
		if (is_usable(f, face) && topology_of(face) == to->topology)
			put_face(f, to, face);
	}
}

/* A mesh without faces is a point cloud. */
static void points_only(const hob_assimp_scene *scene, hob_mesh *to)
{
	to->topology = HOB_POINTS;
	to->indices = HOB_NEW(scene->request->result, uint32_t, to->vertex_count);
	for (uint32_t i = 0; i < to->vertex_count; i++)
		to->indices[i] = i;
	to->index_count = to->vertex_count;
	hob_shape_fix_positions(to, scene->request->notes);
}

/* ---- morph targets */

static float *deltas(hob_assimp_scene *scene, const struct aiVector3D *to, const struct aiVector3D *from,
					 uint32_t count, float scale)
{
	float *out = HOB_NEW(scene->request->result, float, (size_t)count * 3);
	for (size_t i = 0; i < count; i++) {
		/* Scaled before the subtraction, as the base positions are. */
		out[i * 3] = to[i].x * scale - (from ? from[i].x * scale : 0);
		out[i * 3 + 1] = to[i].y * scale - (from ? from[i].y * scale : 0);
		out[i * 3 + 2] = to[i].z * scale - (from ? from[i].z * scale : 0);
	}
	hob_shape_fix_floats(out, (size_t)count * 3, 0);
	return out;
}

static void copy_targets(hob_assimp_scene *scene, const struct aiMesh *from, hob_mesh *to)
{
	if (from->mNumAnimMeshes > HOB_LIMIT_TARGETS)
		hob_leave(LIMIT, "mesh '%.*s' has %u morph targets, at most %llu are allowed", HOB_FMT(to->name),
				  from->mNumAnimMeshes, HOB_LIMIT_TARGETS);
	if (from->mNumAnimMeshes == 0)
		return;
	to->targets = HOB_NEW(scene->request->result, hob_morph_target, from->mNumAnimMeshes);
	/* Only COLLADA's RELATIVE method stores differences; Assimp's other targets are absolute. */
	bool relative =
		scene->format->unit == HOB_ASSIMP_UNIT_ROOT && from->mMethod == aiMorphingMethod_MORPH_RELATIVE;
	for (unsigned t = 0; t < from->mNumAnimMeshes; t++) {
		const struct aiAnimMesh *shape = from->mAnimMeshes[t];
		hob_morph_target *target = &to->targets[to->target_count++];
		target->name = hob_assimp_name(scene, &shape->mName);
		target->weight = hob_assimp_finite(shape->mWeight, 0);
		/* An empty target keeps its index: animations refer to targets by number. */
		if (shape->mNumVertices != from->mNumVertices) {
			hob_warn(scene->request->notes, "mesh.bad-target",
					 "mesh '%.*s': morph target %u has %u vertices, the mesh has %u; it is left empty",
					 HOB_FMT(to->name), t, shape->mNumVertices, from->mNumVertices);
			continue;
		}
		if (shape->mVertices)
			target->position = deltas(scene, shape->mVertices, relative ? NULL : from->mVertices,
									  from->mNumVertices, scene->unit);
		if (shape->mNormals && from->mNormals && to->normal)
			target->normal =
				deltas(scene, shape->mNormals, relative ? NULL : from->mNormals, from->mNumVertices, 1);
		if (shape->mTangents && to->tangent)
			target->tangent =
				deltas(scene, shape->mTangents, relative ? NULL : from->mTangents, from->mNumVertices, 1);
	}
}

/* ---- a mesh */

static void copy_streams(hob_assimp_scene *scene, const struct aiMesh *from, hob_mesh *to)
{
	hob_arena *arena = scene->request->result;
	to->vertex_count = from->mNumVertices;
	to->position = copy3(arena, from->mVertices, from->mNumVertices, scene->unit);
	to->normal = from->mNormals ? copy3(arena, from->mNormals, from->mNumVertices, 1) : NULL;
	copy_uvs(scene, from, to);
	copy_colors(scene, from, to);
	hob_shape_fix_floats(to->normal, (size_t)to->vertex_count * 3, 0);
}

/* Appends the mesh to the model; `first`: the first mesh with these arrays. */
static void add_mesh(hob_assimp_scene *scene, const struct aiMesh *from, uint32_t first)
{
	hob_model *model = scene->model;
	hob_mesh *to = &model->meshes[model->mesh_count];
	to->source_primitive = model->mesh_count - first;
	if (model->mesh_count++ == first) {
		hob_mesh_repair_directions(to);
		copy_tangents(scene, from, to);
		copy_targets(scene, from, to);
		return;
	}
	const hob_mesh *shared = &model->meshes[first];
	to->normal = shared->normal;
	to->tangent = shared->tangent;
	to->targets = shared->targets;
	to->target_count = shared->target_count;
}

static void sort_faces(face_sorter *f, const hob_mesh *base)
{
	hob_assimp_scene *scene = f->scene;
	hob_model *model = scene->model;
	uint32_t first = model->mesh_count;
	HOB_PLACE("mesh '@'", 0, base->name);
	f->position = base->position;
	f->in_reach = hob_shape_in_reach(base->position, (size_t)base->vertex_count * 3);
	count_faces(f);
	for (int topology = HOB_TRIANGLES; topology <= HOB_POINTS; topology++) {
		hob_mesh *to = &model->meshes[model->mesh_count];
		if (f->index_total[topology] == 0)
			continue;
		*to = *base;
		to->topology = (hob_topology)topology;
		put_faces(f, to);
		add_mesh(scene, f->from, first);
	}
	if (f->from->mNumFaces == 0) {
		hob_mesh *to = &model->meshes[model->mesh_count];
		*to = *base;
		points_only(scene, to);
		if (to->index_count > 0)
			add_mesh(scene, f->from, first);
	}
	/* Faces are checked against the original positions, so positions are repaired last. */
	hob_mesh arrays = *base;
	hob_shape_fix_positions(&arrays, NULL);
	if (f->bad > 0)
		hob_warn(
			scene->request->notes, "mesh.bad-faces",
			"mesh '%.*s': %llu faces use a vertex that does not exist or lies nowhere; they are left out",
			HOB_FMT(base->name), (unsigned long long)f->bad);
	if (f->polygon.careless > 0)
		hob_warn(scene->request->notes, "mesh.large-polygons",
				 "mesh '%.*s': large polygons that are not convex were cut without care; triangulate them "
				 "before export",
				 HOB_FMT(base->name));
	if (model->mesh_count == first)
		hob_warn(scene->request->notes, "mesh.empty", "mesh '%.*s' has no usable face; it is left out",
				 HOB_FMT(base->name));
}

static uint32_t material_of(const hob_assimp_scene *scene, const struct aiMesh *mesh)
{
	return mesh->mMaterialIndex < scene->source->mNumMaterials ? scene->material_ids[mesh->mMaterialIndex]
															   : HOB_NONE;
}

static void convert_mesh(face_sorter *f, uint32_t index)
{
	hob_assimp_scene *scene = f->scene;
	const struct aiMesh *from = f->from = scene->source->mMeshes[index];
	if (!from || from->mNumVertices == 0 || !from->mVertices || (from->mNumFaces > 0 && !from->mFaces))
		return;
	hob_mesh base = {.name = hob_assimp_name(scene, &from->mName),
					 .material = material_of(scene, from),
					 .source_mesh = index};
	if (from->mNumVertices > HOB_LIMIT_VERTICES)
		hob_leave(LIMIT, "mesh '%.*s' has %u vertices, at most %llu are allowed", HOB_FMT(base.name),
				  from->mNumVertices, HOB_LIMIT_VERTICES);
	memset(f->index_total, 0, sizeof f->index_total);
	f->bad = f->polygon.careless = 0;
	copy_streams(scene, from, &base);
	sort_faces(f, &base);
}

void hob_assimp_meshes(hob_assimp_scene *scene)
{
	const struct aiScene *source = scene->source;
	hob_model *model = scene->model;
	if (source->mNumMeshes > HOB_LIMIT_MESHES / 3)
		hob_leave(LIMIT, "%u meshes, at most %llu are allowed", source->mNumMeshes, HOB_LIMIT_MESHES / 3);
	model->meshes = HOB_NEW(scene->request->result, hob_mesh, (size_t)source->mNumMeshes * 3);
	scene->mesh_first = HOB_NEW(scene->request->scratch, uint32_t, (size_t)source->mNumMeshes + 1);
	face_sorter f = {.scene = scene};
	for (uint32_t m = 0; m < source->mNumMeshes; m++) {
		scene->mesh_first[m] = model->mesh_count;
		convert_mesh(&f, m);
	}
	scene->mesh_first[source->mNumMeshes] = model->mesh_count;
}
