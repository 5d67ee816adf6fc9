#include "assimp_convert.h"

#include "../../base/limits.h"

#include <math.h>

/* ---- flatten */

typedef struct pending {
	const struct aiNode *node;
	uint32_t parent;
} pending;

static void push(hob_buf *stack, const struct aiNode *node, uint32_t parent)
{
	pending item = {node, parent};
	hob_buf_put(stack, &item, sizeof item);
}

static void flatten(hob_assimp_scene *scene)
{
	hob_own_buf stack = {0}, list = {0};
	push(&stack, scene->source->mRootNode, HOB_NONE);
	while (stack.size > 0 && scene->node_count < HOB_LIMIT_NODES) {
		stack.size -= sizeof(pending);
		pending next;
		memcpy(&next, stack.data + stack.size, sizeof next);
		hob_assimp_node node = {.source = next.node, .parent = next.parent, .id = HOB_NONE};
		hob_buf_put(&list, &node, sizeof node);
		for (unsigned i = next.node->mNumChildren; i > 0; i--)
			if (next.node->mChildren[i - 1])
				push(&stack, next.node->mChildren[i - 1], scene->node_count);
		scene->node_count++;
	}
	if (stack.size > 0)
		hob_leave(LIMIT, "more than %llu nodes; split the scene", HOB_LIMIT_NODES);
	scene->nodes = HOB_NEW(scene->request->scratch, hob_assimp_node, scene->node_count);
	memcpy(scene->nodes, list.data, list.size);
}

static void index_names(hob_assimp_scene *scene)
{
	hob_name_map_init(&scene->by_name, scene->request->scratch);
	for (uint32_t i = 0; i < scene->node_count; i++)
		hob_name_map_add(&scene->by_name, hob_assimp_str(&scene->nodes[i].source->mName), i);
}

static hob_assimp_node *find(hob_assimp_scene *scene, const struct aiString *name)
{
	uint32_t index = hob_name_map_get(&scene->by_name, hob_assimp_str(name));
	return index == HOB_NONE ? NULL : &scene->nodes[index];
}

static uint32_t parts_of(const hob_assimp_scene *scene, unsigned mesh)
{
	return mesh < scene->source->mNumMeshes ? scene->mesh_first[mesh + 1] - scene->mesh_first[mesh] : 0;
}

static void mark_used(hob_assimp_scene *scene)
{
	const struct aiScene *source = scene->source;
	for (unsigned a = 0; a < source->mNumAnimations; a++)
		for (unsigned c = 0; c < source->mAnimations[a]->mNumChannels; c++) {
			hob_assimp_node *node = find(scene, &source->mAnimations[a]->mChannels[c]->mNodeName);
			if (node)
				node->animated = true;
		}
}

/* ---- transforms */

static void set_locals(hob_assimp_scene *scene)
{
	float linear = scene->format->unit == HOB_ASSIMP_UNIT_ROOT ? 1 / scene->unit : 1;
	for (uint32_t i = 0; i < scene->node_count; i++) {
		hob_assimp_node *node = &scene->nodes[i];
		if (!hob_assimp_matrix(&node->source->mTransformation, scene->unit, node->local))
			hob_warn(scene->request->notes, "assimp.bad-matrix",
					 "a node's transform is not a number; it is taken as none");
		for (int k = 0; i == 0 && k < 12; k++)
			node->local[k] *= linear;
	}
}

/* ---- cameras and lights */

/* Frame with -Z along `forward` and +Y close to `up`. */
static void look_frame(const struct aiVector3D *position, const struct aiVector3D *forward,
					   const struct aiVector3D *up, float unit, float out[16])
{
	float z[3] = {-forward->x, -forward->y, -forward->z};
	float y[3] = {up->x, up->y, up->z}, x[3];
	float length = sqrtf(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
	if (!(length > 1e-12f && length < 1e30f))
		z[0] = z[1] = 0, z[2] = length = 1;
	for (int i = 0; i < 3; i++)
		z[i] /= length;
	for (int attempt = 0; attempt < 3; attempt++) {
		x[0] = y[1] * z[2] - y[2] * z[1], x[1] = y[2] * z[0] - y[0] * z[2], x[2] = y[0] * z[1] - y[1] * z[0];
		length = sqrtf(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
		if (length > 1e-6f && length < 1e30f)
			break;
		y[0] = 0, y[1] = attempt == 0, y[2] = attempt == 1;
	}
	for (int i = 0; i < 3; i++)
		x[i] /= length;
	y[0] = z[1] * x[2] - z[2] * x[1], y[1] = z[2] * x[0] - z[0] * x[2], y[2] = z[0] * x[1] - z[1] * x[0];
	const float p[3] = {position->x * unit, position->y * unit, position->z * unit};
	for (int i = 0; i < 3; i++) {
		out[i] = x[i], out[4 + i] = y[i], out[8 + i] = z[i];
		out[12 + i] = hob_assimp_finite(p[i], 0);
	}
	out[3] = out[7] = out[11] = 0;
	out[15] = 1;
}

static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

static bool is_identity(const float m[16])
{
	for (int i = 0; i < 16; i++)
		if (fabsf(m[i] - identity[i]) > 1e-6f)
			return false;
	return true;
}

static void convert_camera(const hob_assimp_scene *scene, const struct aiCamera *from, hob_camera *to)
{
	float aspect = from->mAspect > 0 && from->mAspect < 1000 ? from->mAspect : 0;
	to->znear = from->mClipPlaneNear > 0 ? hob_assimp_finite(from->mClipPlaneNear, 0.1f) : 0.1f;
	to->zfar = from->mClipPlaneFar > to->znear ? hob_assimp_finite(from->mClipPlaneFar, 1000) : INFINITY;
	to->znear *= scene->unit;
	to->zfar *= scene->unit;
	if (from->mOrthographicWidth > 0 && from->mOrthographicWidth < 1e9f) {
		to->type = HOB_CAMERA_ORTHOGRAPHIC;
		to->aspect_or_xmag = from->mOrthographicWidth * scene->unit;
		to->yfov_or_ymag = to->aspect_or_xmag / (aspect > 0 ? aspect : 1);
		return;
	}
	to->type = HOB_CAMERA_PERSPECTIVE;
	to->aspect_or_xmag = aspect;
	if (scene->format->flags & HOB_ASSIMP_TALL_FOV) {
		float yfov = from->mHorizontalFOV / (aspect > 0 ? aspect : 1);
		to->yfov_or_ymag = yfov > 1e-4f && yfov < 3.14f ? yfov : 0.8f;
		return;
	}
	/* Assimp's field of view is horizontal; the default aspect is that of a common screen. */
	float half = from->mHorizontalFOV / 2;
	if (!(half > 1e-4f && half < 1.57f))
		half = 0.4f;
	to->yfov_or_ymag = 2 * atanf(tanf(half) / (aspect > 0 ? aspect : 16.0f / 9));
}

static bool convert_light(const hob_assimp_scene *scene, const struct aiLight *from, hob_light *to)
{
	switch (from->mType) {
	case aiLightSource_DIRECTIONAL:
		to->type = HOB_LIGHT_DIRECTIONAL;
		break;
	case aiLightSource_POINT:
		to->type = HOB_LIGHT_POINT;
		break;
	case aiLightSource_SPOT:
		to->type = HOB_LIGHT_SPOT;
		break;
	default:
		hob_info(scene->request->notes, "assimp.light-ignored",
				 "an ambient or area light is left out: only directional, point and spot lights are kept");
		return false;
	}
	const float color[3] = {from->mColorDiffuse.r, from->mColorDiffuse.g, from->mColorDiffuse.b};
	float strongest = 0;
	for (int i = 0; i < 3; i++)
		strongest = color[i] > strongest ? hob_assimp_finite(color[i], 0) : strongest;
	for (int i = 0; i < 3; i++)
		to->color[i] = strongest > 0 && color[i] > 0 ? hob_assimp_finite(color[i] / strongest, 1) : 0;
	to->intensity = strongest;
	to->range = INFINITY;
	/* Assimp's cone angles are full opening angles. */
	const float right_angle = 1.57079633f;
	float outer = hob_assimp_finite(from->mAngleOuterCone, 0) / 2;
	float inner = hob_assimp_finite(from->mAngleInnerCone, 0) / 2;
	to->outer_cone = outer > 0 && outer <= right_angle ? outer : right_angle / 2;
	to->inner_cone = inner > 0 ? inner < to->outer_cone ? inner : to->outer_cone : 0;
	return true;
}

/* ---- emit */

typedef struct emitter {
	hob_assimp_scene *scene;
	uint32_t *first_of, *next; /* per source node: chain of camera and light numbers, cameras first */
} emitter;

static void set_transform(hob_node *node, const float local[16])
{
	node->has_matrix = !hob_matrix_decompose(local, node->translation, node->rotation, node->scale);
	memcpy(node->matrix, local, sizeof node->matrix);
}

static hob_node *add_node(hob_model *model, uint32_t parent, const float local[16])
{
	hob_node *node = &model->nodes[model->node_count++];
	*node = (hob_node){.parent = parent,
					   .source = HOB_NONE,
					   .skin = HOB_NONE,
					   .camera = HOB_NONE,
					   .light = HOB_NONE,
					   .mesh_first = model->mesh_ref_count};
	set_transform(node, local);
	return node;
}

/* Attaches camera or light `item` (cameras first) to the node itself if it looks along -Z from the origin and
 * the node has none yet; else to a child. */
static void attach(emitter *e, uint32_t item, uint32_t node_id, bool named)
{
	hob_assimp_scene *scene = e->scene;
	hob_model *model = scene->model;
	const struct aiScene *source = scene->source;
	float frame[16];
	bool is_camera = item < source->mNumCameras;
	hob_str name;
	/* 3DS files store the position twice, and the importer returns both. */
	static const struct aiVector3D origin = {0, 0, 0};
	bool placed = (scene->format->flags & HOB_ASSIMP_NODE_PLACES) && named;
	if (is_camera) {
		const struct aiCamera *camera = source->mCameras[item];
		look_frame(placed ? &origin : &camera->mPosition, &camera->mLookAt, &camera->mUp, scene->unit, frame);
		hob_camera *to = &model->cameras[model->camera_count];
		convert_camera(scene, camera, to);
		name = to->name = hob_assimp_name(scene, &camera->mName);
	} else {
		const struct aiLight *light = source->mLights[item - source->mNumCameras];
		hob_light *to = &model->lights[model->light_count];
		if (!convert_light(scene, light, to))
			return;
		struct aiVector3D forward = light->mDirection;
		if (light->mType == aiLightSource_POINT)
			forward = (struct aiVector3D){0, 0, -1};
		look_frame(placed ? &origin : &light->mPosition, &forward, &light->mUp, scene->unit, frame);
		name = to->name = hob_assimp_name(scene, &light->mName);
	}
	hob_node *node = &model->nodes[node_id];
	bool taken = is_camera ? node->camera != HOB_NONE : node->light != HOB_NONE;
	if (taken || !is_identity(frame)) {
		node = add_node(model, node_id, frame);
		node->name = name;
	}
	if (is_camera)
		node->camera = model->camera_count++;
	else
		node->light = model->light_count++;
}

static void chain_items(emitter *e)
{
	hob_assimp_scene *scene = e->scene;
	const struct aiScene *source = scene->source;
	uint32_t items = source->mNumCameras + source->mNumLights;
	hob_arena *scratch = scene->request->scratch, *result = scene->request->result;
	e->first_of = HOB_NEW(scratch, uint32_t, scene->node_count);
	e->next = HOB_NEW(scratch, uint32_t, items);
	scene->model->cameras = HOB_NEW(result, hob_camera, source->mNumCameras);
	scene->model->lights = HOB_NEW(result, hob_light, source->mNumLights);
	memset(e->first_of, 0xFF, scene->node_count * sizeof *e->first_of);
	for (uint32_t i = items; i > 0; i--) {
		uint32_t item = i - 1;
		const struct aiString *name = item < source->mNumCameras
										  ? &source->mCameras[item]->mName
										  : &source->mLights[item - source->mNumCameras]->mName;
		const hob_assimp_node *node = find(scene, name);
		uint32_t at = node ? (uint32_t)(node - scene->nodes) : 0;
		e->next[item] = e->first_of[at];
		e->first_of[at] = item;
	}
}

static void add_mesh_refs(hob_assimp_scene *scene, hob_node *to, const struct aiNode *from, bool with_bones)
{
	hob_model *model = scene->model;
	to->mesh_first = model->mesh_ref_count;
	for (unsigned i = 0; i < from->mNumMeshes; i++) {
		unsigned mesh = from->mMeshes[i];
		if (hob_assimp_has_bones(scene, mesh) != with_bones)
			continue;
		for (uint32_t part = 0; part < parts_of(scene, mesh); part++)
			model->mesh_refs[model->mesh_ref_count++] = scene->mesh_first[mesh] + part;
		to->mesh_count += parts_of(scene, mesh);
	}
}

/* Attaches a node's meshes. A node has one skin, so skinned meshes beside rigid ones get a child. */
static void attach_meshes(hob_assimp_scene *scene, uint32_t id, const struct aiNode *from)
{
	bool with = false, without = false;
	for (unsigned i = 0; i < from->mNumMeshes; i++)
		if (hob_assimp_has_bones(scene, from->mMeshes[i]))
			with = true;
		else if (parts_of(scene, from->mMeshes[i]) > 0)
			without = true;
	add_mesh_refs(scene, &scene->model->nodes[id], from, with && !without);
	if (with && without)
		add_mesh_refs(scene, add_node(scene->model, id, identity), from, true);
}

static void emit(emitter *e)
{
	hob_assimp_scene *scene = e->scene;
	hob_model *model = scene->model;
	uint32_t top = HOB_NONE;
	if (scene->turned && scene->nodes[0].animated) {
		add_node(model, HOB_NONE, scene->axes);
		top = 0;
	} else if (scene->turned) {
		hob_matrix_multiply(scene->axes, scene->nodes[0].local, scene->nodes[0].local);
	}
	for (uint32_t i = 0; i < scene->node_count; i++) {
		hob_assimp_node *node = &scene->nodes[i];
		uint32_t parent = node->parent == HOB_NONE ? top : scene->nodes[node->parent].id;
		node->id = model->node_count;
		for (int k = 0; k < 16; k++)
			if (node->local[k] - node->local[k] != 0)
				memcpy(node->local, identity, sizeof identity);
		hob_node *to = add_node(model, parent, node->local);
		to->source = i;
		to->name = hob_assimp_name(scene, &node->source->mName);
		attach_meshes(scene, node->id, node->source);
		for (uint32_t item = e->first_of[i]; item != HOB_NONE; item = e->next[item])
			attach(e, item, node->id, i > 0);
	}
}

void hob_assimp_nodes(hob_assimp_scene *scene)
{
	const struct aiScene *source = scene->source;
	emitter e = {.scene = scene};
	flatten(scene);
	index_names(scene);
	mark_used(scene);
	set_locals(scene);
	chain_items(&e);
	uint64_t references = 0;
	for (uint32_t i = 0; i < scene->node_count; i++)
		for (unsigned k = 0; k < scene->nodes[i].source->mNumMeshes; k++)
			references += parts_of(scene, scene->nodes[i].source->mMeshes[k]);
	if (references > HOB_LIMIT_NODES)
		hob_leave(LIMIT, "%llu uses of meshes, at most %llu are allowed", (unsigned long long)references,
				  HOB_LIMIT_NODES);
	size_t room = (size_t)scene->node_count * 2 + source->mNumCameras + source->mNumLights + 1;
	scene->model->nodes = HOB_NEW(scene->request->result, hob_node, room);
	scene->model->mesh_refs = HOB_NEW(scene->request->result, uint32_t, references);
	emit(&e);
}
