#include "draw_model.h"

#include "draw_shaders.h"
#include "draw_textures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTURES = 5, MAX_LODS = 16, PALETTE_UNIT = TEXTURES, NORMALS_UNIT, CUBE_UNIT, SCATTER_UNIT };

static const uint8_t texture_slots[TEXTURES] = {HOB_PK_SLOT_BASE_COLOR, HOB_PK_SLOT_METAL_ROUGH,
												HOB_PK_SLOT_NORMAL, HOB_PK_SLOT_OCCLUSION,
												HOB_PK_SLOT_EMISSIVE};

typedef struct gpu_mesh {
	GLuint vao, streams[HOB_RT_STREAMS], indices[MAX_LODS], morph;
	hob_rt_clusters clusters; /* of a mesh with a hierarchy: room for the cut of one draw */
	uint8_t *good;
	uint32_t *chosen, *cluster_indices;
	GLuint cut;
	float *deltas; /* [vertex_count][6] positions and normals of the current weights */
	bool has_normals, has_tangents, octahedral[2], scaled[2]; /* scaled: by set of texture coordinates */
} gpu_mesh;

typedef struct gpu_material {
	hob_pk_material record;
	GLuint textures[TEXTURES], samplers[TEXTURES];
	float uv_matrices[TEXTURES][9];
	bool normal_map, normal_xy;
} gpu_material;

struct draw_model {
	const hob_rt_asset *asset;
	GLuint program, white, palette, normals;
	gpu_mesh *meshes;
	gpu_material *materials; /* the last is glTF's default material */
	GLuint *images;
	float *joints; /* room for the palette and normals of the largest skin, in whole rows of texels */
	uint32_t *visible;
	GLint view_projection, model, normal_matrix, position_scale, uv_scale, octahedral, influences, base_color,
		emissive, eye, factors, alpha, has, uv_matrices, irradiance, blurs, room;
	draw_environment light; /* all zero: a lamp and a sky */
	const unsigned char *only;
};

/* ---- shaders */

static GLuint compile(GLenum kind, const char *source)
{
	GLuint shader = glCreateShader(kind);
	GLint good;
	glShaderSource(shader, 1, &source, NULL);
	glCompileShader(shader);
	glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
	if (!good) {
		char log[2000];
		glGetShaderInfoLog(shader, sizeof log, NULL, log);
		fprintf(stderr, "draw: %s\n", log);
	}
	return shader;
}

static bool make_program(draw_model *m)
{
	GLint good;
	m->program = glCreateProgram();
	const GLuint shaders[2] = {compile(GL_VERTEX_SHADER, draw_vertex_shader),
							   compile(GL_FRAGMENT_SHADER, draw_fragment_shader)};
	for (int i = 0; i < 2; i++) {
		glAttachShader(m->program, shaders[i]);
		glDeleteShader(shaders[i]); /* deleted with the program */
	}
	glLinkProgram(m->program);
	glGetProgramiv(m->program, GL_LINK_STATUS, &good);
	glUseProgram(m->program);
	const struct {
		GLint *location;
		const char *name;
	} uniforms[] = {
		{&m->view_projection, "u_view_projection"},
		{&m->model, "u_model"},
		{&m->normal_matrix, "u_normal_matrix"},
		{&m->position_scale, "u_position_scale"},
		{&m->uv_scale, "u_uv_scale"},
		{&m->octahedral, "u_octahedral"},
		{&m->influences, "u_influences"},
		{&m->base_color, "u_base_color"},
		{&m->emissive, "u_emissive"},
		{&m->eye, "u_eye"},
		{&m->factors, "u_factors"},
		{&m->alpha, "u_alpha"},
		{&m->has, "u_has"},
		{&m->uv_matrices, "u_uv_matrices"},
		{&m->irradiance, "u_irradiance"},
		{&m->blurs, "u_blurs"},
		{&m->room, "u_room"},
	};
	for (size_t i = 0; i < sizeof uniforms / sizeof uniforms[0]; i++)
		*uniforms[i].location = glGetUniformLocation(m->program, uniforms[i].name);
	const GLint units[TEXTURES] = {0, 1, 2, 3, 4};
	glUniform1iv(glGetUniformLocation(m->program, "u_textures"), TEXTURES, units);
	glUniform1i(glGetUniformLocation(m->program, "u_palette"), PALETTE_UNIT);
	glUniform1i(glGetUniformLocation(m->program, "u_normals"), NORMALS_UNIT);
	glUniform1i(glGetUniformLocation(m->program, "u_surroundings"), CUBE_UNIT);
	glUniform1i(glGetUniformLocation(m->program, "u_scatter"), SCATTER_UNIT);
	return good != 0;
}

/* ---- vertices: streams go to the GPU as they are in the file */

static const struct {
	uint16_t vk;
	uint8_t components, normalized;
	GLenum type;
} vertex_formats[] = {
	{16, 2, 1, GL_UNSIGNED_BYTE},  {17, 2, 1, GL_BYTE},			  {37, 4, 1, GL_UNSIGNED_BYTE},
	{38, 4, 1, GL_BYTE},		   {41, 4, 0, GL_UNSIGNED_BYTE},  {65, 4, 1, GL_INT_2_10_10_10_REV},
	{77, 2, 1, GL_UNSIGNED_SHORT}, {78, 2, 1, GL_SHORT},		  {83, 2, 0, GL_HALF_FLOAT},
	{84, 3, 1, GL_UNSIGNED_SHORT}, {91, 4, 1, GL_UNSIGNED_SHORT}, {92, 4, 1, GL_SHORT},
	{95, 4, 0, GL_UNSIGNED_SHORT}, {97, 4, 0, GL_HALF_FLOAT},	  {100, 1, 0, GL_FLOAT},
	{103, 2, 0, GL_FLOAT},		   {106, 3, 0, GL_FLOAT},		  {109, 4, 0, GL_FLOAT},
};

static GLint location_of(const hob_rt_attribute *a)
{
	switch (a->semantic) {
	case HOB_PK_SEMANTIC_POSITION:
		return 0;
	case HOB_PK_SEMANTIC_NORMAL:
		return 1;
	case HOB_PK_SEMANTIC_TANGENT:
		return 2;
	case HOB_PK_SEMANTIC_UV:
		return a->set < 2 ? 3 + a->set : -1;
	case HOB_PK_SEMANTIC_COLOR:
		return a->set == 0 ? 5 : -1;
	case HOB_PK_SEMANTIC_JOINTS:
		return a->set < 2 ? 6 + 2 * a->set : -1;
	case HOB_PK_SEMANTIC_WEIGHTS:
		return a->set < 2 ? 7 + 2 * a->set : -1;
	default:
		return -1;
	}
}

static void bind_attribute(const hob_rt_mesh *mesh, gpu_mesh *gpu, const hob_rt_attribute *a)
{
	GLint location = location_of(a);
	size_t format = 0;
	while (vertex_formats[format].vk != a->format)
		format++;
	if (location < 0)
		return;
	const void *offset = (const void *)(uintptr_t)a->offset;
	GLsizei stride = (GLsizei)mesh->streams[a->stream].stride;
	glBindBuffer(GL_ARRAY_BUFFER, gpu->streams[a->stream]);
	if (a->semantic == HOB_PK_SEMANTIC_JOINTS)
		glVertexAttribIPointer((GLuint)location, 4, vertex_formats[format].type, stride, offset);
	else
		glVertexAttribPointer((GLuint)location, vertex_formats[format].components,
							  vertex_formats[format].type, vertex_formats[format].normalized, stride, offset);
	glEnableVertexAttribArray((GLuint)location);
	gpu->has_normals = gpu->has_normals || a->semantic == HOB_PK_SEMANTIC_NORMAL;
	gpu->has_tangents = gpu->has_tangents || a->semantic == HOB_PK_SEMANTIC_TANGENT;
	if (a->encoding == HOB_PK_ENCODING_OCTAHEDRAL)
		gpu->octahedral[a->semantic == HOB_PK_SEMANTIC_TANGENT] = true;
	if (a->semantic == HOB_PK_SEMANTIC_UV && a->encoding == HOB_PK_ENCODING_SCALED)
		gpu->scaled[a->set] = true;
}

static void upload_mesh(const hob_rt_mesh *mesh, gpu_mesh *gpu)
{
	glGenVertexArrays(1, &gpu->vao);
	glBindVertexArray(gpu->vao);
	glGenBuffers((GLsizei)mesh->stream_count, gpu->streams);
	for (uint32_t i = 0; i < mesh->stream_count; i++) {
		glBindBuffer(GL_ARRAY_BUFFER, gpu->streams[i]);
		glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)mesh->vertex_count * mesh->streams[i].stride,
					 mesh->streams[i].data, GL_STATIC_DRAW);
	}
	for (uint32_t i = 0; i < mesh->attribute_count; i++)
		bind_attribute(mesh, gpu, &mesh->attributes[i]);
	if (mesh->morph_count > 0) {
		gpu->deltas = calloc((size_t)mesh->vertex_count * 6 + 1, sizeof *gpu->deltas);
		glGenBuffers(1, &gpu->morph);
		glBindBuffer(GL_ARRAY_BUFFER, gpu->morph);
		for (GLuint i = 0; i < 2; i++) {
			glVertexAttribPointer(10 + i, 3, GL_FLOAT, GL_FALSE, 24, (const void *)(uintptr_t)(i * 12));
			glEnableVertexAttribArray(10 + i);
		}
	}
	for (uint32_t l = 0; l < mesh->lod_count && l < MAX_LODS; l++) {
		glGenBuffers(1, &gpu->indices[l]);
		glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, gpu->indices[l]);
		glBufferData(GL_ELEMENT_ARRAY_BUFFER,
					 (GLsizeiptr)mesh->lods[l].index_count * mesh->lods[l].index_bytes, mesh->lods[l].indices,
					 GL_STATIC_DRAW);
	}
	glBindVertexArray(0);
}

/* ---- hierarchies of clusters: each draw computes a cut and uploads its indices, which is simplest. A
 * renderer with mesh shaders uploads the clusters once and makes the cut there. */

static bool open_clusters(const hob_rt_asset *asset, uint32_t mesh, gpu_mesh *gpu)
{
	size_t corners = 0;
	if (!hob_rt_mesh_clusters(asset, mesh, &gpu->clusters))
		return true;
	for (uint32_t i = 0; i < gpu->clusters.cluster_count; i++)
		corners += gpu->clusters.meshlets[i].triangle_count * 3u;
	gpu->good = malloc(gpu->clusters.group_count);
	gpu->chosen = malloc(gpu->clusters.cluster_count * sizeof *gpu->chosen);
	gpu->cluster_indices = malloc(corners * sizeof *gpu->cluster_indices);
	glGenBuffers(1, &gpu->cut);
	return gpu->good && gpu->chosen && gpu->cluster_indices;
}

/* Uploads the indices of a cut and leaves them bound; returns their number. */
static uint32_t upload_cut(const draw_model *m, gpu_mesh *gpu, const float *global, const draw_view *view)
{
	uint32_t count = hob_rt_choose_clusters(&gpu->clusters, global, view->eye, view->pixels_per_radian,
											view->pixels, gpu->good, gpu->chosen);
	uint32_t corners = 0;
	for (uint32_t i = 0; i < count; i++)
		corners +=
			hob_rt_cluster_indices(m->asset, &gpu->clusters, gpu->chosen[i], gpu->cluster_indices + corners);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, gpu->cut);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)corners * 4, gpu->cluster_indices, GL_STREAM_DRAW);
	return corners;
}

/* ---- materials */

static void make_material(draw_model *m, gpu_material *out)
{
	for (int i = 0; i < TEXTURES; i++) {
		uint32_t texture = out->record.textures[texture_slots[i]];
		float *matrix = out->uv_matrices[i];
		out->textures[i] = m->white;
		memset(matrix, 0, sizeof out->uv_matrices[i]);
		matrix[0] = matrix[4] = 1;
		if (texture == HOB_RT_NONE)
			continue;
		const hob_pk_texref *ref = hob_rt_texref(m->asset, texture);
		float c = cosf(ref->rotation), s = sinf(ref->rotation);
		out->textures[i] = m->images[ref->image];
		out->samplers[i] = hob_draw_sampler_make(m->asset, ref->sampler);
		matrix[0] = c * ref->scale[0], matrix[1] = -s * ref->scale[0];
		matrix[3] = s * ref->scale[1], matrix[4] = c * ref->scale[1];
		matrix[6] = ref->offset[0], matrix[7] = ref->offset[1];
		matrix[8] = ref->uv_set;
		if (texture_slots[i] == HOB_PK_SLOT_NORMAL) {
			out->normal_map = true;
			out->normal_xy = hob_rt_image(m->asset, ref->image)->flags & HOB_PK_IMAGE_NORMAL_XY;
		}
	}
}

static void upload_materials(draw_model *m, draw_find find, void *user)
{
	const hob_rt_asset *asset = m->asset;
	for (uint32_t i = 0; i < asset->image_count; i++)
		m->images[i] = hob_draw_texture_load(asset, i, find, user);
	for (uint32_t i = 0; i < asset->material_count; i++)
		m->materials[i].record = *hob_rt_material(asset, i);
	hob_pk_material *plain = &m->materials[asset->material_count].record;
	memset(plain->textures, 0xFF, sizeof plain->textures);
	plain->base_color[0] = plain->base_color[1] = plain->base_color[2] = plain->base_color[3] = 1;
	plain->metallic = plain->roughness = plain->normal_scale = plain->occlusion_strength = 1;
	for (uint32_t i = 0; i <= asset->material_count; i++)
		make_material(m, &m->materials[i]);
}

/* ---- opening */

static GLuint make_joint_texture(void)
{
	GLuint texture;
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
	return texture;
}

draw_model *hob_draw_model_open(const hob_rt_asset *asset, draw_find find, void *user)
{
	draw_model *m = calloc(1, sizeof *m);
	uint32_t joints = 0;
	for (uint32_t i = 0; i < asset->skin_count; i++)
		joints = asset->skins[i].joint_count > joints ? asset->skins[i].joint_count : joints;
	size_t rows = (joints + 255) / 256;
	if (!m)
		return NULL;
	m->asset = asset;
	m->meshes = calloc(asset->mesh_count + 1, sizeof *m->meshes);
	m->materials = calloc(asset->material_count + 1, sizeof *m->materials);
	m->images = calloc(asset->image_count + 1, sizeof *m->images);
	m->visible = calloc(asset->draw_count + 1, sizeof *m->visible);
	m->joints = calloc(rows * 256 * 28 + 1, sizeof *m->joints);
	if (!m->meshes || !m->materials || !m->images || !m->visible || !m->joints || !make_program(m)) {
		hob_draw_model_close(m);
		return NULL;
	}
	m->white = hob_draw_texture_plain(255, 255, 255, 255);
	m->palette = make_joint_texture();
	m->normals = make_joint_texture();
	for (uint32_t i = 0; i < asset->mesh_count; i++) {
		upload_mesh(&asset->meshes[i], &m->meshes[i]);
		if (!open_clusters(asset, i, &m->meshes[i])) {
			hob_draw_model_close(m);
			return NULL;
		}
	}
	upload_materials(m, find, user);
	return m;
}

void hob_draw_model_close(draw_model *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->meshes && i < m->asset->mesh_count; i++) {
		gpu_mesh *gpu = &m->meshes[i];
		glDeleteVertexArrays(1, &gpu->vao);
		glDeleteBuffers(HOB_RT_STREAMS, gpu->streams);
		glDeleteBuffers(MAX_LODS, gpu->indices);
		glDeleteBuffers(1, &gpu->morph);
		glDeleteBuffers(1, &gpu->cut);
		free(gpu->good);
		free(gpu->chosen);
		free(gpu->cluster_indices);
		free(gpu->deltas);
	}
	for (uint32_t i = 0; m->materials && i <= m->asset->material_count; i++)
		glDeleteSamplers(TEXTURES, m->materials[i].samplers);
	if (m->images)
		glDeleteTextures((GLsizei)m->asset->image_count, m->images);
	const GLuint shared[] = {m->white, m->palette, m->normals};
	glDeleteTextures(3, shared);
	glDeleteProgram(m->program);
	free(m->meshes);
	free(m->materials);
	free(m->images);
	free(m->visible);
	free(m->joints);
	free(m);
}

/* ---- drawing */

static void upload_joints(draw_model *m, const hob_rt_instance *instance, uint32_t skin)
{
	GLsizei rows = (GLsizei)((m->asset->skins[skin].joint_count + 255) / 256);
	float *normals = m->joints + (size_t)rows * 256 * 16;
	hob_rt_palette(instance, skin, m->joints, normals);
	glActiveTexture(GL_TEXTURE0 + PALETTE_UNIT);
	glBindTexture(GL_TEXTURE_2D, m->palette);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA32F, 1024, rows, 0, GL_RGBA, GL_FLOAT, m->joints);
	glActiveTexture(GL_TEXTURE0 + NORMALS_UNIT);
	glBindTexture(GL_TEXTURE_2D, m->normals);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA32F, 768, rows, 0, GL_RGBA, GL_FLOAT, normals);
}

static void upload_morphs(draw_model *m, hob_rt_instance *instance, const hob_rt_draw *draw)
{
	const hob_rt_mesh *mesh = &m->asset->meshes[draw->mesh];
	gpu_mesh *gpu = &m->meshes[draw->mesh];
	memset(gpu->deltas, 0, (size_t)mesh->vertex_count * 6 * sizeof *gpu->deltas);
	for (uint32_t t = 0; t < draw->weight_count; t++) {
		float weight = hob_rt_weights(instance)[draw->weight_first + t];
		uint32_t count;
		const hob_pk_delta *deltas = hob_rt_deltas(m->asset, mesh->morph_first + t, &count);
		for (uint32_t i = 0; i < count && weight != 0; i++)
			for (int k = 0; k < 3; k++) {
				gpu->deltas[(size_t)deltas[i].vertex * 6 + (size_t)k] += weight * deltas[i].position[k];
				gpu->deltas[(size_t)deltas[i].vertex * 6 + 3 + (size_t)k] += weight * deltas[i].normal[k];
			}
	}
	glBindBuffer(GL_ARRAY_BUFFER, gpu->morph);
	glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)mesh->vertex_count * 24, gpu->deltas, GL_STREAM_DRAW);
}

/* Rows of cofactors: a multiple of the inverse transpose; its sign keeps mirrored normals outward. Whether m
 * mirrors. */
static bool normal_matrix(const float *m, float out[9])
{
	const float *columns[3] = {m, m + 4, m + 8};
	for (int i = 0; i < 3; i++) {
		const float *u = columns[(i + 1) % 3], *v = columns[(i + 2) % 3];
		out[i * 3] = u[1] * v[2] - u[2] * v[1];
		out[i * 3 + 1] = u[2] * v[0] - u[0] * v[2];
		out[i * 3 + 2] = u[0] * v[1] - u[1] * v[0];
	}
	bool mirrored = m[0] * out[0] + m[1] * out[1] + m[2] * out[2] < 0;
	for (int i = 0; i < 9; i++)
		out[i] *= mirrored ? -1.0f : 1.0f;
	return mirrored;
}

static void set_material(draw_model *m, const gpu_material *material, const gpu_mesh *gpu,
						 const hob_rt_mesh *mesh)
{
	const hob_pk_material *r = &material->record;
	bool blend = r->flags & HOB_PK_MATERIAL_BLEND, mask = r->flags & HOB_PK_MATERIAL_MASK;
	bool lit = mesh->topology == HOB_PK_TOPOLOGY_TRIANGLES && !(r->flags & HOB_PK_MATERIAL_IS_UNLIT);
	for (int i = 0; i < TEXTURES; i++) {
		glActiveTexture(GL_TEXTURE0 + (GLenum)i);
		glBindTexture(GL_TEXTURE_2D, material->textures[i]);
		glBindSampler((GLuint)i, material->samplers[i]);
	}
	glUniformMatrix3fv(m->uv_matrices, TEXTURES, GL_FALSE, material->uv_matrices[0]);
	glUniform4fv(m->base_color, 1, r->base_color);
	glUniform3f(m->emissive, r->emissive[0] * r->emissive_strength, r->emissive[1] * r->emissive_strength,
				r->emissive[2] * r->emissive_strength);
	glUniform4f(m->factors, r->metallic, r->roughness, r->normal_scale, r->occlusion_strength);
	glUniform4f(m->alpha, mask ? r->alpha_cutoff : -1, blend, !lit, material->normal_xy);
	glUniform2i(m->has, gpu->has_normals, gpu->has_tangents == gpu->has_normals && material->normal_map);
	if (r->flags & HOB_PK_MATERIAL_DOUBLE_SIDED)
		glDisable(GL_CULL_FACE);
	else
		glEnable(GL_CULL_FACE);
}

static unsigned draw_one(draw_model *m, hob_rt_instance *instance, const draw_view *view, uint32_t index)
{
	static const GLenum topologies[] = {GL_TRIANGLES, GL_LINES, GL_POINTS};
	const hob_rt_draw *draw = &m->asset->draws[index];
	const hob_rt_mesh *mesh = &m->asset->meshes[draw->mesh];
	gpu_mesh *gpu = &m->meshes[draw->mesh];
	const float *global = hob_rt_global(instance, draw->node);
	uint32_t material = draw->material != HOB_RT_NONE ? draw->material : m->asset->material_count;
	uint32_t lod = hob_rt_choose_lod(mesh, global, view->eye, view->pixels_per_radian, view->pixels);
	float normals[9];
	if (mesh->lod_count == 0 || mesh->lods[lod].index_count == 0)
		return 0;
	lod = lod < MAX_LODS ? lod : MAX_LODS - 1;
	if (draw->skin != HOB_RT_NONE)
		upload_joints(m, instance, draw->skin);
	if (mesh->morph_count > 0)
		upload_morphs(m, instance, draw);
	set_material(m, &m->materials[material], gpu, mesh);
	bool mirrored = normal_matrix(global, normals);
	glFrontFace(draw->skin == HOB_RT_NONE && mirrored ? GL_CW : GL_CCW);
	glUniformMatrix4fv(m->model, 1, GL_FALSE, global);
	glUniformMatrix3fv(m->normal_matrix, 1, GL_FALSE, normals);
	glUniform4f(m->position_scale, mesh->pos_offset[0], mesh->pos_offset[1], mesh->pos_offset[2],
				mesh->pos_scale);
	float uv_scale[2][4] = {{0, 0, 1, 1}, {0, 0, 1, 1}};
	for (int set = 0; set < 2; set++)
		if (gpu->scaled[set])
			memcpy(uv_scale[set],
				   (float[4]){mesh->uv_offset[0], mesh->uv_offset[1], mesh->uv_scale[0], mesh->uv_scale[1]},
				   sizeof uv_scale[set]);
	glUniform4fv(m->uv_scale, 2, uv_scale[0]);
	glUniform2i(m->octahedral, gpu->octahedral[0], gpu->octahedral[1]);
	glUniform1i(m->influences, draw->skin != HOB_RT_NONE ? (GLint)mesh->influence_count : 0);
	/* Values of attributes that a mesh does not have. */
	glVertexAttrib4f(2, 1, 0, 0, 1);
	glVertexAttrib4f(5, 1, 1, 1, 1);
	for (GLuint i = 7; i <= 11; i++)
		if (i != 8)
			glVertexAttrib4f(i, 0, 0, 0, 0);
	glBindVertexArray(gpu->vao);
	if (gpu->clusters.group_count > 0) {
		uint32_t corners = upload_cut(m, gpu, global, view);
		glDrawElements(GL_TRIANGLES, (GLsizei)corners, GL_UNSIGNED_INT, NULL);
		return corners / 3;
	}
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, gpu->indices[lod]);
	glDrawElements(topologies[mesh->topology], (GLsizei)mesh->lods[lod].index_count,
				   mesh->lods[lod].index_bytes == 2 ? GL_UNSIGNED_SHORT : GL_UNSIGNED_INT, NULL);
	return mesh->topology == HOB_PK_TOPOLOGY_TRIANGLES ? mesh->lods[lod].index_count / 3 : 0;
}

static bool is_blended(const draw_model *m, uint32_t index)
{
	uint32_t material = m->asset->draws[index].material;
	return material != HOB_RT_NONE && m->materials[material].record.flags & HOB_PK_MATERIAL_BLEND;
}

static float distance_to(const hob_rt_instance *instance, const draw_view *view, uint32_t draw)
{
	float min[3], max[3], square = 0;
	if (!hob_rt_draw_bounds(instance, draw, min, max))
		return 0;
	for (int i = 0; i < 3; i++) {
		float d = (min[i] + max[i]) / 2 - view->eye[i];
		square += d * d;
	}
	return square;
}

static void sort_far_first(const hob_rt_instance *instance, const draw_view *view, uint32_t *draws,
						   uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = i;
			 k > 0 && distance_to(instance, view, draws[k]) > distance_to(instance, view, draws[k - 1]);
			 k--) {
			uint32_t kept = draws[k];
			draws[k] = draws[k - 1];
			draws[k - 1] = kept;
		}
}

void hob_draw_model_light(draw_model *m, const draw_environment *environment)
{
	memset(&m->light, 0, sizeof m->light);
	if (environment)
		m->light = *environment;
}

void hob_draw_model_only(draw_model *m, const unsigned char *draws)
{
	m->only = draws;
}

static void bind_light(const draw_model *m)
{
	glActiveTexture(GL_TEXTURE0 + CUBE_UNIT);
	glBindTexture(GL_TEXTURE_CUBE_MAP, m->light.cube);
	glActiveTexture(GL_TEXTURE0 + SCATTER_UNIT);
	glBindTexture(GL_TEXTURE_2D, m->light.scatter);
	glUniform3fv(m->irradiance, 9, m->light.irradiance);
	glUniform2f(m->room, m->light.lamp, m->light.neutral);
	glUniform1f(m->blurs, m->light.cube ? (float)m->light.blurs : -1);
}

draw_counts hob_draw_model_draw(draw_model *m, hob_rt_instance *instance, const draw_view *view)
{
	hob_rt_frustum frustum;
	draw_counts counts = {0, 0, 0};
	hob_rt_frustum_init(&frustum, view->view_projection);
	uint32_t visible = hob_rt_cull(instance, &frustum, m->visible), blended = 0;
	counts.draws = visible;
	counts.culled = m->asset->draw_count - visible;
	glUseProgram(m->program);
	glUniformMatrix4fv(m->view_projection, 1, GL_FALSE, view->view_projection);
	glUniform3fv(m->eye, 1, view->eye);
	bind_light(m);
	glEnable(GL_DEPTH_TEST);
	glDepthMask(GL_TRUE);
	glDisable(GL_BLEND);
	for (uint32_t i = 0; i < visible; i++) {
		if (m->only && !m->only[m->visible[i]])
			continue;
		if (is_blended(m, m->visible[i]))
			m->visible[blended++] = m->visible[i];
		else
			counts.triangles += draw_one(m, instance, view, m->visible[i]);
	}
	sort_far_first(instance, view, m->visible, blended);
	glEnable(GL_BLEND);
	glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
	glDepthMask(GL_FALSE);
	for (uint32_t i = 0; i < blended; i++)
		counts.triangles += draw_one(m, instance, view, m->visible[i]);
	glDepthMask(GL_TRUE);
	return counts;
}
