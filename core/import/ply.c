#include "importers.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "plain_census.h"
#include "ply_data.h"
#include "polygon.h"
#include "shape.h"
#include "texture_path.h"

typedef struct ply_build {
	const hob_import_request *request;
	hob_ply_data *data;
	hob_model *model;
	hob_polygon polygon;
	hob_buf cut; /* u32: triangles of one face */
} ply_build;

static const uint32_t *u32_of(const hob_buf *buf)
{
	return (const uint32_t *)(const void *)buf->data;
}

static const float *f32_of(const hob_buf *buf)
{
	return (const float *)(const void *)buf->data;
}

/* ---- faces */

typedef struct face {
	const uint32_t *corners;
	uint32_t first, count, index;
} face;

static bool is_usable(const ply_build *b, const face *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		if (f->corners[i] >= b->data->vertex_count)
			return false;
		if (!hob_shape_in_reach(b->data->position + (size_t)f->corners[i] * 3, 3))
			return false;
	}
	return true;
}

/* Corner numbers of the face's triangles, (count - 2) * 3 of them. */
static const uint32_t *cut_face(ply_build *b, const face *f)
{
	hob_buf_clear(&b->cut);
	uint32_t *cut = (uint32_t *)(void *)hob_buf_grow(&b->cut, (size_t)(f->count - 2) * 3 * sizeof(uint32_t));
	hob_polygon_triangulate(&b->polygon, b->data->position, f->corners, f->count, cut);
	return cut;
}

static uint32_t texture_of(const ply_build *b, uint32_t index)
{
	if (b->data->face_texture.size == 0)
		return 0;
	uint32_t texture = u32_of(&b->data->face_texture)[index];
	return texture < b->data->texture_count ? texture : 0;
}

/* Calls `put` for each valid face of a texture; returns how many others there are. */
static uint32_t for_faces(ply_build *b, uint32_t texture, void (*put)(ply_build *, hob_mesh *, const face *),
						  hob_mesh *to)
{
	const hob_ply_data *d = b->data;
	uint32_t count = (uint32_t)(d->sizes.size / sizeof(uint32_t)), first = 0, dropped = 0;
	for (uint32_t i = 0; i < count; i++) {
		face f = {u32_of(&d->corners) + first, first, u32_of(&d->sizes)[i], i};
		first += f.count;
		if (d->texture_count > 1 && texture_of(b, i) != texture)
			continue;
		if (!is_usable(b, &f))
			dropped++;
		else
			put(b, to, &f);
	}
	return dropped;
}

/* ---- a mesh that shares the file's vertices */

static void put_indices(ply_build *b, hob_mesh *to, const face *f)
{
	const uint32_t *cut = cut_face(b, f);
	for (uint32_t i = 0; i < (f->count - 2) * 3; i++)
		to->indices[to->index_count++] = f->corners[cut[i]];
}

/* ---- a mesh with its own vertices, for texture coordinates or colours per face */

static void put_vertices(ply_build *b, hob_mesh *to, const face *f)
{
	const hob_ply_data *d = b->data;
	const uint32_t *cut = cut_face(b, f);
	for (uint32_t i = 0; i < (f->count - 2) * 3; i++) {
		size_t at = to->vertex_count++, from = f->corners[cut[i]];
		memcpy(to->position + at * 3, d->position + from * 3, 3 * sizeof(float));
		if (to->normal)
			memcpy(to->normal + at * 3, d->normal + from * 3, 3 * sizeof(float));
		if (to->color[0])
			memcpy(to->color[0] + at * 4,
				   d->color ? d->color + from * 4 : f32_of(&d->face_colors) + (size_t)f->index * 4,
				   4 * sizeof(float));
		if (to->uv[0])
			memcpy(to->uv[0] + at * 2,
				   d->corner_uvs.size > 0 ? f32_of(&d->corner_uvs) + ((size_t)f->first + cut[i]) * 2
										  : d->uv + from * 2,
				   2 * sizeof(float));
		to->indices[to->index_count++] = (uint32_t)at;
	}
}

static bool has_own_vertices(const hob_ply_data *d)
{
	return d->corner_uvs.size > 0 || (d->face_colors.size > 0 && !d->color) || d->texture_count > 1;
}

/* ---- meshes */

static uint64_t triangle_corners(const ply_build *b, uint32_t texture)
{
	const hob_ply_data *d = b->data;
	uint64_t corners = 0;
	for (uint32_t i = 0; i < d->sizes.size / sizeof(uint32_t); i++)
		if (d->texture_count <= 1 || texture_of(b, i) == texture)
			corners += (uint64_t)(u32_of(&d->sizes)[i] - 2) * 3;
	return corners;
}

static void start_mesh(const ply_build *b, hob_mesh *to, hob_topology topology)
{
	const hob_ply_data *d = b->data;
	*to = (hob_mesh){.name = HOB_STR(""),
					 .material = 0,
					 .topology = topology,
					 .vertex_count = d->vertex_count,
					 .position = d->position,
					 .normal = d->normal};
	to->color[0] = d->color;
	to->uv[0] = d->uv;
}

static void finish_mesh(ply_build *b, hob_mesh *to)
{
	hob_shape_fix_positions(to, b->request->notes);
	hob_shape_fix_floats(to->normal, (size_t)to->vertex_count * 3, 0);
	hob_mesh_repair_directions(to);
	hob_shape_fix_floats(to->uv[0], (size_t)to->vertex_count * 2, 0);
	/* The file's V points up. */
	for (size_t i = 0; to->uv[0] && i < to->vertex_count; i++)
		to->uv[0][i * 2 + 1] = 1 - to->uv[0][i * 2 + 1];
}

static void triangle_mesh(ply_build *b, uint32_t texture)
{
	const hob_ply_data *d = b->data;
	hob_model *model = b->model;
	uint64_t corners = triangle_corners(b, texture);
	bool own = has_own_vertices(d);
	if (corners == 0)
		return;
	if (corners > (own ? HOB_LIMIT_VERTICES : HOB_LIMIT_INDICES))
		hob_leave(LIMIT, "%llu corners of triangles; split the mesh", (unsigned long long)corners);
	hob_mesh *to = &model->meshes[model->mesh_count];
	start_mesh(b, to, HOB_TRIANGLES);
	to->source_primitive = texture;
	to->indices = HOB_NEW(b->request->result, uint32_t, corners);
	if (own) {
		hob_shape_allocate(to, corners, d->normal, d->color || d->face_colors.size > 0,
						   d->uv || d->corner_uvs.size > 0, b->request->result);
		to->vertex_count = 0;
	}
	uint32_t dropped = for_faces(b, texture, own ? put_vertices : put_indices, to);
	if (dropped > 0)
		hob_warn(b->request->notes, "mesh.bad-faces",
				 "%u faces use a vertex that does not exist or lies nowhere; they are left out", dropped);
	if (to->index_count == 0)
		return;
	to->material = texture;
	finish_mesh(b, to);
	model->mesh_count++;
}

static void edge_mesh(ply_build *b)
{
	const hob_ply_data *d = b->data;
	uint64_t count = d->edges.size / sizeof(uint32_t);
	hob_mesh *to = &b->model->meshes[b->model->mesh_count];
	if (count > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "%llu ends of edges", (unsigned long long)count);
	start_mesh(b, to, HOB_LINES);
	to->index_count = (uint32_t)count;
	to->indices = HOB_NEW(b->request->result, uint32_t, count);
	memcpy(to->indices, d->edges.data, d->edges.size);
	finish_mesh(b, to);
	b->model->mesh_count += to->index_count > 0;
}

static void point_mesh(ply_build *b)
{
	hob_mesh *to = &b->model->meshes[b->model->mesh_count];
	start_mesh(b, to, HOB_POINTS);
	to->indices = HOB_NEW(b->request->result, uint32_t, to->vertex_count);
	to->index_count = to->vertex_count;
	for (uint32_t i = 0; i < to->vertex_count; i++)
		to->indices[i] = i;
	finish_mesh(b, to);
	b->model->mesh_count += to->index_count > 0;
}

static void make_meshes(ply_build *b)
{
	const hob_ply_data *d = b->data;
	uint32_t textures = d->texture_count > 1 ? d->texture_count : 1;
	b->model->meshes = HOB_NEW(b->request->result, hob_mesh, (size_t)textures + 1);
	for (uint32_t texture = 0; texture < textures; texture++)
		triangle_mesh(b, texture);
	if (b->polygon.careless > 0)
		hob_warn(b->request->notes, "mesh.large-polygons",
				 "%llu large polygons that are not convex were cut without care; "
				 "triangulate them before export",
				 (unsigned long long)b->polygon.careless);
	bool empty = b->model->mesh_count == 0 && d->sizes.size == 0;
	if (empty && d->edges.size > 0) {
		edge_mesh(b);
		return;
	}
	if (empty && d->vertex_count > 0)
		point_mesh(b);
}

/* ---- materials and scene */

static void make_materials(ply_build *b)
{
	const hob_ply_data *d = b->data;
	hob_model *model = b->model;
	hob_arena *arena = b->request->result;
	uint32_t count = d->texture_count > 0 ? d->texture_count : 1;
	model->materials = HOB_NEW(arena, hob_material, count);
	model->images = HOB_NEW(arena, hob_image, d->texture_count);
	for (uint32_t i = 0; i < d->texture_count; i++) {
		hob_image *image = &model->images[i];
		hob_material *material = &model->materials[i];
		image->path = hob_import_texture_path(b->request, hob_path_dir(b->request->path), d->textures[i]);
		image->uri = image->name = hob_arena_str(arena, d->textures[i]);
		hob_shape_plain_material(material, HOB_STR(""));
		material->slots[HOB_SLOT_BASE_COLOR].image = i;
	}
	if (d->texture_count == 0)
		hob_shape_plain_material(&model->materials[0], HOB_STR(""));
	model->material_count = count;
	model->image_count = d->texture_count;
}

static void make_scene(ply_build *b)
{
	hob_model *model = b->model;
	hob_arena *arena = b->request->result;
	model->nodes = HOB_NEW(arena, hob_node, 1);
	model->mesh_refs = HOB_NEW(arena, uint32_t, model->mesh_count);
	for (uint32_t i = 0; i < model->mesh_count; i++)
		model->mesh_refs[i] = i;
	model->nodes[0] = hob_shape_plain_node(HOB_STR(""));
	model->nodes[0].mesh_count = model->mesh_count;
	model->mesh_ref_count = model->mesh_count;
	model->space.vertex_colors = HOB_COLORS_SRGB;
	model->node_count = 1;
	hob_model_one_scene(model, arena);
}

static void make_model(ply_build *b)
{
	if (b->data->small_faces > 0)
		hob_warn(b->request->notes, "mesh.bad-faces",
				 "%u faces have fewer than three corners; they are left out", b->data->small_faces);
	if (!b->data->position)
		hob_leave(EMPTY, "the PLY file has no vertices");
	if (b->data->color && b->data->face_colors.size > 0)
		hob_warn(b->request->notes, "ply.face-colors",
				 "vertices and faces have colours; those of the faces are left out");
	if (b->data->sizes.size > 0 && b->data->edges.size > 0)
		hob_info(b->request->notes, "ply.edges", "edges beside faces are left out");
	make_materials(b);
	make_meshes(b);
	if (b->model->mesh_count == 0)
		hob_leave(EMPTY, "the PLY file holds no usable face, edge or point");
	make_scene(b);
}

static bool ply_import(const hob_import_request *request, hob_model *out, hob_error *err)
{
	(void)err;
	hob_ply_data data = {0};
	hob_census_of_ply(request->seen, request->file);
	ply_build b = {.request = request, .data = &data, .model = out};
	hob_ply_data_read(request, &data);
	make_model(&b);
	return true;
}

static const char *const extensions[] = {"ply", NULL};

const hob_importer hob_ply_importer = {
	.name = "ply",
	.version = 4,
	.extensions = extensions,
	.import = ply_import,
	.copies = true,
};
