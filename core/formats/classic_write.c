#include "pack_geometry.h"
#include "classic.h"
#include "../base/limits.h"
#include "../hash/hash.h"

#include <math.h>

/* Vertices with normals for a flat mesh: the layout requires normals. */
typedef struct hob_flat_vertices {
	uint32_t count;
	uint32_t *from;	   /* [count] the mesh vertex that each vertex comes from */
	float *normals;	   /* [count][3] unit length; +Y for triangles without area */
	uint32_t *indices; /* of the requested levels, one after the other */
} hob_flat_vertices;

enum { LATEST = 16 };

typedef struct maker {
	const hob_pack_geometry *geometry;
	hob_pack_attribute positions;
	hob_flat_vertices out;
	uint32_t *latest; /* [vertices of the mesh] the newest output vertex for it, HOB_NONE: none */
	uint32_t *before; /* [out.count] the previous output vertex of the same mesh vertex */
} maker;

static void plane_normal(const maker *m, const uint32_t corner[3], float out[3])
{
	float p[3][4];
	double u[3], v[3], n[3];
	for (int k = 0; k < 3; k++)
		hob_pack_attribute_get(&m->positions, corner[k], p[k]);
	for (int k = 0; k < 3; k++)
		u[k] = (double)p[1][k] - (double)p[0][k], v[k] = (double)p[2][k] - (double)p[0][k];
	for (int k = 0; k < 3; k++)
		n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
	double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	for (int k = 0; k < 3; k++)
		out[k] = length > 0 ? (float)(n[k] / length) : k == 1 ? 1.0f : 0.0f;
}

static uint32_t vertex_for(maker *m, uint32_t vertex, const float normal[3])
{
	uint32_t at = m->latest[vertex];
	for (int tries = 0; at != HOB_NONE && tries < LATEST; tries++, at = m->before[at])
		if (memcmp(m->out.normals + (size_t)at * 3, normal, 3 * sizeof *normal) == 0)
			return at;
	at = m->out.count++;
	m->out.from[at] = vertex;
	memcpy(m->out.normals + (size_t)at * 3, normal, 3 * sizeof *normal);
	m->before[at] = m->latest[vertex];
	m->latest[vertex] = at;
	return at;
}

/* Gives each triangle of the first `levels` levels of a triangle mesh the normal of its plane. Corners with
 * the same vertex and normal share a vertex, if a search among the vertex's latest few finds it: a cube gets
 * 24. Errors: LIMIT beyond 2^32 corners. Cost O(indices). */
static bool flat_vertices_make(const hob_pack_geometry *geometry, const hob_pk_mesh *mesh, uint32_t levels,
							   hob_arena *arena, hob_flat_vertices *out, hob_error *err)
{
	maker m = {.geometry = geometry};
	uint64_t corners = 0;
	for (uint32_t l = 0; l < levels; l++)
		corners += HOB_PACK_AT(hob_pk_lod, geometry->lods, mesh->lod_first + l)->index_count;
	if (corners >= HOB_NONE)
		return hob_fail(err, LIMIT, "%llu corners of a flat mesh are too many for vertices of their own",
						(unsigned long long)corners);
	m.out.from = HOB_NEW(arena, uint32_t, corners);
	m.out.normals = HOB_NEW(arena, float, 3 * corners);
	m.out.indices = HOB_NEW(arena, uint32_t, corners);
	m.before = HOB_NEW(arena, uint32_t, corners);
	m.latest = HOB_NEW(arena, uint32_t, mesh->vertex_count);
	memset(m.latest, 0xFF, mesh->vertex_count * sizeof *m.latest);
	if (corners > 0)
		hob_pack_attribute_find(geometry, mesh, HOB_PK_SEMANTIC_POSITION, 0, &m.positions);
	uint32_t *to = m.out.indices;
	for (uint32_t l = 0; l < levels; l++) {
		const hob_pk_lod *lod = HOB_PACK_AT(hob_pk_lod, geometry->lods, mesh->lod_first + l);
		for (uint32_t i = 0; i < lod->index_count; i += 3) {
			uint32_t corner[3];
			float normal[3];
			for (uint32_t k = 0; k < 3; k++)
				corner[k] = hob_pack_index(geometry, lod, i + k);
			plane_normal(&m, corner, normal);
			for (uint32_t k = 0; k < 3; k++)
				*to++ = vertex_for(&m, corner[k], normal);
		}
	}
	*out = m.out;
	return true;
}

typedef struct classic_writer {
	const hob_pack_set *set;
	hob_arena *arena;
	hob_pack meshes, materials, scene;
	hob_pack_geometry geometry;
	hob_notes *notes;
	hob_classic_files out;
	uint8_t *drawable;		 /* [meshes] 1: the mesh has triangles */
	hob_flat_vertices *flat; /* [meshes] vertices of flat meshes; count 0: the mesh's own vertices */
	uint32_t material_count;
	bool default_material; /* a mesh uses the default material: one more record */
	hob_error *err;
} classic_writer;

void hob_classic_files_release(hob_classic_files *files)
{
	hob_buf_release(&files->meshes);
	hob_buf_release(&files->materials);
	hob_buf_release(&files->scene);
}

static void put_u32(hob_buf *out, uint32_t value)
{
	uint8_t bytes[4];
	hob_store_u32(bytes, value);
	hob_buf_put(out, bytes, sizeof bytes);
}

static void put_string(hob_buf *out, hob_str s)
{
	put_u32(out, (uint32_t)s.len);
	hob_buf_put_str(out, s);
	hob_buf_put(out, "", 1);
}

/* ---- .meshes ---- */

static uint32_t level_count(const hob_pk_mesh *mesh)
{
	if (mesh->topology != HOB_PK_TOPOLOGY_TRIANGLES)
		return 0;
	return mesh->lod_count < HOB_CLASSIC_MAX_LODS ? mesh->lod_count : (uint32_t)HOB_CLASSIC_MAX_LODS;
}

static const hob_pk_lod *level_of(const classic_writer *w, const hob_pk_mesh *mesh, uint32_t level)
{
	return HOB_PACK_AT(hob_pk_lod, w->geometry.lods, mesh->lod_first + level);
}

static uint32_t vertex_count(const classic_writer *w, uint32_t mesh)
{
	return w->flat[mesh].count ? w->flat[mesh].count
							   : HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, mesh)->vertex_count;
}

bool hob_classic_fits(uint64_t meshes, uint64_t indices, uint64_t vertices)
{
	uint64_t table = sizeof(hob_classic_mesh) + sizeof(hob_classic_box);
	return meshes <= (UINT32_MAX - sizeof(hob_classic_meshes_header)) / table && indices <= UINT32_MAX / 4 &&
		   vertices <= UINT32_MAX / HOB_CLASSIC_VERTEX_BYTES;
}

static bool measure(classic_writer *w, uint64_t *indices, uint64_t *vertices)
{
	*indices = *vertices = 0;
	for (uint32_t m = 0; m < w->geometry.meshes.count; m++) {
		const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, m);
		uint64_t before = *indices;
		for (uint32_t l = 0; l < level_count(mesh); l++)
			*indices += level_of(w, mesh, l)->index_count;
		w->drawable[m] = *indices > before;
		if (mesh->flags & HOB_PK_MESH_FLAT && w->drawable[m] &&
			!flat_vertices_make(&w->geometry, mesh, level_count(mesh), w->arena, &w->flat[m], w->err))
			return false;
		*vertices += vertex_count(w, m);
	}
	if (!hob_classic_fits(w->geometry.meshes.count, *indices, *vertices))
		return hob_fail(w->err, LIMIT,
						"%llu indices and %llu vertices do not fit the classic layout's 32-bit "
						"sizes; use the packed files",
						(unsigned long long)*indices, (unsigned long long)*vertices);
	return true;
}

static void put_mesh_records(classic_writer *w)
{
	uint32_t index_offset = 0, vertex_offset = 0;
	for (uint32_t m = 0; m < w->geometry.meshes.count; m++) {
		const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, m);
		uint32_t levels = level_count(mesh);
		hob_classic_mesh record = {
			.lodCount = levels ? levels : 1,
			.streamCount = 1,
			.indexOffset = index_offset,
			.vertexOffset = vertex_offset,
			.vertexCount = vertex_count(w, m),
			.streamOffset = {vertex_offset * HOB_CLASSIC_VERTEX_BYTES},
			.streamElementSize = {HOB_CLASSIC_VERTEX_BYTES},
		};
		for (uint32_t l = 0; l < levels; l++)
			record.lodOffset[l + 1] = record.lodOffset[l] + level_of(w, mesh, l)->index_count;
		index_offset += record.lodOffset[levels];
		vertex_offset += vertex_count(w, m);
		hob_buf_put(&w->out.meshes, &record, sizeof record);
	}
}

static void grow_box(hob_classic_box *box, const hob_pack_attribute *positions, uint32_t vertex, bool first)
{
	float p[4];
	hob_pack_attribute_get(positions, vertex, p);
	for (size_t i = 0; i < 3; i++) {
		box->min[i] = first || p[i] < box->min[i] ? p[i] : box->min[i];
		box->max[i] = first || p[i] > box->max[i] ? p[i] : box->max[i];
	}
}

static void put_boxes(classic_writer *w)
{
	for (uint32_t m = 0; m < w->geometry.meshes.count; m++) {
		const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, m);
		hob_pack_attribute positions;
		hob_classic_box box = {{0}, {0}};
		if (hob_pack_attribute_find(&w->geometry, mesh, HOB_PK_SEMANTIC_POSITION, 0, &positions)) {
			const hob_pk_lod *full = w->drawable[m] ? level_of(w, mesh, 0) : NULL;
			uint32_t count = full ? full->index_count : mesh->vertex_count;
			for (uint32_t i = 0; i < count; i++)
				grow_box(&box, &positions, full ? hob_pack_index(&w->geometry, full, i) : i, i == 0);
		}
		hob_buf_put(&w->out.meshes, &box, sizeof box);
	}
}

static void put_indices(classic_writer *w)
{
	for (uint32_t m = 0; m < w->geometry.meshes.count; m++) {
		const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, m);
		const uint32_t *flat = w->flat[m].indices;
		for (uint32_t l = 0; l < level_count(mesh); l++) {
			const hob_pk_lod *lod = level_of(w, mesh, l);
			uint8_t *at = hob_buf_grow(&w->out.meshes, (size_t)lod->index_count * 4);
			for (uint32_t i = 0; i < lod->index_count; i++)
				hob_store_u32(at + (size_t)i * 4, flat ? *flat++ : hob_pack_index(&w->geometry, lod, i));
		}
	}
}

static void put_vertices(classic_writer *w)
{
	for (uint32_t m = 0; m < w->geometry.meshes.count; m++) {
		const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, m);
		hob_pack_attribute positions, uvs, normals;
		hob_pack_attribute_find(&w->geometry, mesh, HOB_PK_SEMANTIC_POSITION, 0, &positions);
		bool has_uv = hob_pack_attribute_find(&w->geometry, mesh, HOB_PK_SEMANTIC_UV, 0, &uvs);
		bool has_normal = hob_pack_attribute_find(&w->geometry, mesh, HOB_PK_SEMANTIC_NORMAL, 0, &normals);
		const hob_flat_vertices *flat = &w->flat[m];
		uint32_t count = vertex_count(w, m);
		uint8_t *at = hob_buf_grow(&w->out.meshes, (size_t)count * HOB_CLASSIC_VERTEX_BYTES);
		for (uint32_t i = 0; i < count; i++, at += HOB_CLASSIC_VERTEX_BYTES) {
			uint32_t v = flat->count ? flat->from[i] : i;
			float p[4], uv[4] = {0}, n[4] = {0};
			hob_pack_attribute_get(&positions, v, p);
			if (has_uv)
				hob_pack_attribute_get(&uvs, v, uv);
			if (has_normal)
				hob_pack_attribute_get(&normals, v, n);
			else if (flat->count)
				memcpy(n, flat->normals + (size_t)i * 3, 3 * sizeof *n);
			float vertex[8] = {p[0], p[1], p[2], uv[0], uv[1], n[0], n[1], n[2]};
			memcpy(at, vertex, sizeof vertex);
		}
	}
}

static bool put_meshes(classic_writer *w)
{
	uint64_t indices, vertices;
	if (!measure(w, &indices, &vertices))
		return false;
	uint32_t count = w->geometry.meshes.count;
	hob_classic_meshes_header header = {
		.magicValue = HOB_CLASSIC_MAGIC,
		.meshCount = count,
		.dataBlockStartOffset = (uint32_t)(sizeof header + count * sizeof(hob_classic_mesh)),
		.indexDataSize = (uint32_t)(indices * 4),
		.vertexDataSize = (uint32_t)(vertices * HOB_CLASSIC_VERTEX_BYTES),
	};
	hob_buf_put(&w->out.meshes, &header, sizeof header);
	put_mesh_records(w);
	put_boxes(w);
	put_indices(w);
	put_vertices(w);
	return true;
}

/* ---- .materials ---- */

typedef struct texture_list {
	hob_str *names;
	uint32_t count;
	uint32_t *place; /* [images] index in names, or HOB_NONE */
} texture_list;

/* The extension of a texture file; a kept source file keeps its own. */
static hob_str texture_ending(const classic_writer *w, const hob_pk_image *image)
{
	enum { LONGEST = 8 };
	if (image->container != HOB_PK_IMAGE_SOURCE_FILE)
		return image->container == HOB_PK_IMAGE_PNG ? HOB_STR("png") : HOB_STR("ktx2");
	hob_str ending = hob_path_extension(hob_pack_string(&w->materials, image->name));
	bool plain = ending.len > 0 && ending.len <= LONGEST;
	for (size_t i = 0; i < ending.len && plain; i++)
		plain = (ending.data[i] >= '0' && ending.data[i] <= '9') ||
				((ending.data[i] | 32) >= 'a' && (ending.data[i] | 32) <= 'z');
	return plain ? ending : HOB_STR("bin");
}

static hob_str texture_name(classic_writer *w, const hob_pk_image *image)
{
	hob_sha256 digest;
	char text[HOB_SHA256_TEXT + 1];
	memcpy(digest.bytes, image->cooked_sha256, sizeof digest.bytes);
	hob_sha256_text(&digest, text);
	return hob_arena_printf(w->arena, "out_textures/%s.%.*s", text, HOB_FMT(texture_ending(w, image)));
}

static uint64_t texture_of(classic_writer *w, texture_list *list, const hob_pk_material *material,
						   uint32_t slot)
{
	uint32_t ref = material->textures[slot];
	if (ref == HOB_PK_NONE)
		return HOB_CLASSIC_INVALID_TEXTURE;
	uint32_t image = HOB_PACK_AT(hob_pk_texref, hob_pack_find(&w->materials, HOB_PK_TEXR), ref)->image;
	if (list->place[image] == HOB_NONE) {
		hob_pack_array images = hob_pack_find(&w->materials, HOB_PK_IMGS);
		hob_str name = texture_name(w, HOB_PACK_AT(hob_pk_image, images, image));
		uint32_t at = 0;
		while (at < list->count && !hob_str_equal(list->names[at], name))
			at++;
		list->names[at] = name;
		list->count += at == list->count;
		list->place[image] = at;
	}
	return list->place[image];
}

static hob_classic_material material_record(classic_writer *w, texture_list *list, const hob_pk_material *m)
{
	hob_classic_material r = {
		.emissiveColor = {m->emissive[0] * m->emissive_strength, m->emissive[1] * m->emissive_strength,
						  m->emissive[2] * m->emissive_strength, 1},
		.transparencyFactor = m->transparency,
		.alphaTest = m->alpha_test,
		.metallicFactor = m->metallic,
		.flags = m->flags & (HOB_CLASSIC_MATERIAL_CAST_SHADOW | HOB_CLASSIC_MATERIAL_RECEIVE_SHADOW |
							 HOB_CLASSIC_MATERIAL_TRANSPARENT),
		.ambientOcclusionMap = texture_of(w, list, m, HOB_PK_SLOT_OCCLUSION),
		.emissiveMap = texture_of(w, list, m, HOB_PK_SLOT_EMISSIVE),
		.albedoMap = texture_of(w, list, m, HOB_PK_SLOT_BASE_COLOR),
		.metallicRoughnessMap = texture_of(w, list, m, HOB_PK_SLOT_METAL_ROUGH),
		.normalMap = texture_of(w, list, m, HOB_PK_SLOT_NORMAL),
		.opacityMap = texture_of(w, list, m, HOB_PK_SLOT_OPACITY),
	};
	if (r.normalMap == HOB_CLASSIC_INVALID_TEXTURE)
		r.normalMap = texture_of(w, list, m, HOB_PK_SLOT_BUMP);
	memcpy(r.albedoColor, m->base_color, sizeof r.albedoColor);
	memcpy(r.roughness, m->aniso_roughness, sizeof r.roughness);
	return r;
}

static const hob_classic_material default_material = {
	.emissiveColor = {0, 0, 0, 1},
	.albedoColor = {1, 1, 1, 1},
	.roughness = {1, 1, 0, 0},
	.metallicFactor = 1,
	.flags = HOB_CLASSIC_MATERIAL_CAST_SHADOW | HOB_CLASSIC_MATERIAL_RECEIVE_SHADOW,
	.ambientOcclusionMap = HOB_CLASSIC_INVALID_TEXTURE,
	.emissiveMap = HOB_CLASSIC_INVALID_TEXTURE,
	.albedoMap = HOB_CLASSIC_INVALID_TEXTURE,
	.metallicRoughnessMap = HOB_CLASSIC_INVALID_TEXTURE,
	.normalMap = HOB_CLASSIC_INVALID_TEXTURE,
	.opacityMap = HOB_CLASSIC_INVALID_TEXTURE,
};

static void put_materials(classic_writer *w)
{
	hob_pack_array materials = hob_pack_find(&w->materials, HOB_PK_MATL);
	uint32_t images = hob_pack_find(&w->materials, HOB_PK_IMGS).count;
	texture_list list = {.names = HOB_NEW(w->arena, hob_str, (size_t)images + 1),
						 .place = HOB_NEW(w->arena, uint32_t, images)};
	memset(list.place, 0xFF, (size_t)images * sizeof *list.place);
	put_u32(&w->out.materials, w->material_count + w->default_material);
	for (uint32_t m = 0; m < materials.count; m++) {
		hob_classic_material record = material_record(w, &list, HOB_PACK_AT(hob_pk_material, materials, m));
		hob_buf_put(&w->out.materials, &record, sizeof record);
	}
	if (w->default_material)
		hob_buf_put(&w->out.materials, &default_material, sizeof default_material);
	put_u32(&w->out.materials, list.count);
	for (uint32_t i = 0; i < list.count; i++)
		put_string(&w->out.materials, list.names[i]);
}

/* ---- .scene ---- */

/* Whether the linked mesh is visible: the layout has no hidden nodes, so maps leave out their meshes. */
static bool is_drawn(const classic_writer *w, const hob_pk_link *link)
{
	hob_pack_array places = hob_pack_find(&w->scene, HOB_PK_TRS_),
				   nodes = hob_pack_find(&w->scene, HOB_PK_HIER);
	bool drawn = w->drawable[link->value];
	for (int32_t at = (int32_t)link->node; drawn && at >= 0;
		 at = HOB_PACK_AT(hob_pk_hierarchy, nodes, at)->parent)
		drawn = !(HOB_PACK_AT(hob_pk_trs, places, at)->flags & HOB_PK_NODE_HIDDEN);
	return drawn;
}

static void find_default_material(classic_writer *w)
{
	hob_pack_array links = hob_pack_find(&w->scene, HOB_PK_LMSH),
				   materials = hob_pack_find(&w->scene, HOB_PK_LMAT);
	for (uint32_t i = 0; i < links.count; i++) {
		const hob_pk_link *link = HOB_PACK_AT(hob_pk_link, links, i);
		if (is_drawn(w, link) && hob_pack_link(materials, link->node) == HOB_PK_NONE)
			w->default_material = true;
	}
}

/* Maps drawn nodes to their materials, or to their meshes. */
static void put_node_map(classic_writer *w, bool to_material)
{
	hob_pack_array links = hob_pack_find(&w->scene, HOB_PK_LMSH),
				   materials = hob_pack_find(&w->scene, HOB_PK_LMAT);
	uint32_t drawn = 0;
	for (uint32_t i = 0; i < links.count; i++)
		drawn += is_drawn(w, HOB_PACK_AT(hob_pk_link, links, i));
	put_u32(&w->out.scene, drawn * 2);
	for (uint32_t i = 0; i < links.count; i++) {
		const hob_pk_link *link = HOB_PACK_AT(hob_pk_link, links, i);
		uint32_t material = hob_pack_link(materials, link->node);
		if (!is_drawn(w, link))
			continue;
		put_u32(&w->out.scene, link->node);
		put_u32(&w->out.scene, !to_material				 ? link->value
							   : material == HOB_PK_NONE ? w->material_count
														 : material);
	}
}

static void put_names(classic_writer *w, uint32_t nodes)
{
	hob_pack_array names = hob_pack_find(&w->scene, HOB_PK_NAMS),
				   materials = hob_pack_find(&w->materials, HOB_PK_MATL);
	put_u32(&w->out.scene, nodes * 2);
	for (uint32_t n = 0; n < nodes; n++) {
		put_u32(&w->out.scene, n);
		put_u32(&w->out.scene, n);
	}
	put_u32(&w->out.scene, nodes);
	for (uint32_t n = 0; n < nodes; n++)
		put_string(&w->out.scene, hob_pack_string(&w->scene, *HOB_PACK_AT(uint32_t, names, n)));
	put_u32(&w->out.scene, w->material_count + w->default_material);
	for (uint32_t m = 0; m < w->material_count; m++)
		put_string(&w->out.scene,
				   hob_pack_string(&w->materials, HOB_PACK_AT(hob_pk_material, materials, m)->name));
	if (w->default_material)
		put_string(&w->out.scene, HOB_STR("default"));
}

static void put_scene(classic_writer *w)
{
	hob_pack_array nodes = hob_pack_find(&w->scene, HOB_PK_HIER);
	static const uint32_t matrices[] = {HOB_PK_LOCL, HOB_PK_GLOB};
	put_u32(&w->out.scene, nodes.count);
	for (size_t k = 0; k < HOB_COUNT_OF(matrices); k++) {
		hob_pack_array array = hob_pack_find(&w->scene, matrices[k]);
		for (uint32_t n = 0; n < nodes.count; n++)
			hob_buf_put(&w->out.scene, HOB_PACK_AT(uint8_t, array, n), sizeof(hob_pk_mat4));
	}
	for (uint32_t n = 0; n < nodes.count; n++)
		hob_buf_put(&w->out.scene, HOB_PACK_AT(uint8_t, nodes, n), sizeof(hob_classic_hierarchy));
	put_node_map(w, true);
	put_node_map(w, false);
	if (nodes.count)
		put_names(w, nodes.count);
}

/* ---- notes on dropped data ---- */

static void note(classic_writer *w, uint32_t count, const char *code, const char *what)
{
	if (count)
		hob_info(w->notes, code, "the classic files leave out %s (%u); the packed files have it", what,
				 count);
}

static void note_meshes(classic_writer *w)
{
	uint32_t levels = 0, no_triangles = 0, skins = 0, morphs = 0, attributes = 0;
	for (uint32_t m = 0; m < w->geometry.meshes.count; m++) {
		const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, w->geometry.meshes, m);
		levels += mesh->lod_count > HOB_CLASSIC_MAX_LODS;
		no_triangles += !w->drawable[m];
		skins += mesh->influence_count > 0;
		morphs += mesh->morph_count > 0;
		const uint32_t extra[][2] = {
			{HOB_PK_SEMANTIC_TANGENT, 0}, {HOB_PK_SEMANTIC_UV, 1}, {HOB_PK_SEMANTIC_COLOR, 0}};
		hob_pack_attribute found;
		bool has = false;
		for (size_t i = 0; i < HOB_COUNT_OF(extra); i++)
			has = has || hob_pack_attribute_find(&w->geometry, mesh, extra[i][0], extra[i][1], &found);
		attributes += has;
	}
	note(w, levels, "classic.levels-dropped", "levels of detail beyond the seventh, meshes");
	note(w, no_triangles, "classic.mesh-not-drawn", "lines, points and empty meshes from the nodes");
	note(w, skins, "classic.skinning-dropped", "joints and weights, meshes");
	note(w, morphs, "classic.morphs-dropped", "morph targets, meshes");
	note(w, attributes, "classic.attributes-dropped",
		 "tangents, colours and further texture coordinates, meshes");
	note(w, hob_pack_find(&w->meshes, HOB_PK_VMAP).count, "classic.variants-dropped", "material variants");
}

static void note_materials(classic_writer *w)
{
	hob_pack_array materials = hob_pack_find(&w->materials, HOB_PK_MATL),
				   refs = hob_pack_find(&w->materials, HOB_PK_TEXR);
	uint32_t extended = 0, sided = 0, transformed = 0;
	for (uint32_t m = 0; m < materials.count; m++) {
		const hob_pk_material *material = HOB_PACK_AT(hob_pk_material, materials, m);
		extended += (material->ext_mask & ~(uint32_t)HOB_PK_EXT_EMISSIVE_STRENGTH) != 0;
		sided += (material->flags & HOB_PK_MATERIAL_DOUBLE_SIDED) != 0;
	}
	for (uint32_t i = 0; i < refs.count; i++) {
		const hob_pk_texref *r = HOB_PACK_AT(hob_pk_texref, refs, i);
		bool plain = r->uv_set == 0 && !(r->offset[0] != 0 || r->offset[1] != 0 || r->scale[0] != 1 ||
										 r->scale[1] != 1 || r->rotation != 0);
		transformed += !plain;
	}
	note(w, extended, "classic.extensions-dropped", "parameters beyond metallic-roughness, materials");
	note(w, sided, "classic.double-sided-dropped", "the double-sided flag, materials");
	note(w, transformed, "classic.uv-transforms-dropped",
		 "texture transforms and choice of texture coordinates");
	note(w, hob_pack_find(&w->materials, HOB_PK_TSMP).count, "classic.samplers-dropped", "texture samplers");
}

static void note_scene(classic_writer *w, bool animated)
{
	hob_pack_array nodes = hob_pack_find(&w->scene, HOB_PK_HIER);
	uint32_t deep = 0;
	for (uint32_t n = 0; n < nodes.count; n++)
		deep += HOB_PACK_AT(hob_pk_hierarchy, nodes, n)->level >= HOB_CLASSIC_MAX_NODE_LEVEL;
	note(w, hob_pack_find(&w->scene, HOB_PK_LCAM).count, "classic.cameras-dropped", "cameras");
	note(w, hob_pack_find(&w->scene, HOB_PK_LLGT).count, "classic.lights-dropped", "lights");
	note(w, animated, "classic.animations-dropped", "clips and skins");
	uint32_t scenes = hob_pack_find(&w->scene, HOB_PK_SCNS).count;
	note(w, scenes > 1 ? scenes : 0, "classic.scenes-merged", "which node belongs to which scene");
	if (deep)
		hob_warn(w->notes, "classic.deep-nodes",
				 "%u nodes are deeper than %u levels, which the reference renderer overruns on", deep,
				 HOB_CLASSIC_MAX_NODE_LEVEL - 1);
}

/* ---- all ---- */

static bool write_all(void *context, hob_error *err)
{
	classic_writer *w = context;
	const hob_pack_set *set = w->set;
	w->err = err;
	if (!hob_pack_open_anywhere(set->meshes, w->arena, &w->meshes, err) ||
		!hob_pack_open_anywhere(set->materials, w->arena, &w->materials, err) ||
		!hob_pack_open_anywhere(set->scene, w->arena, &w->scene, err) ||
		!hob_pack_geometry_open(&w->meshes, w->arena, &w->geometry, err))
		return false;
	w->material_count = hob_pack_find(&w->materials, HOB_PK_MATL).count;
	w->drawable = HOB_NEW(w->arena, uint8_t, w->geometry.meshes.count);
	w->flat = HOB_NEW(w->arena, hob_flat_vertices, w->geometry.meshes.count);
	if (!put_meshes(w))
		return false;
	find_default_material(w);
	put_materials(w);
	put_scene(w);
	note_meshes(w);
	note_materials(w);
	note_scene(w, set->animations.size > 0);
	return true;
}

bool hob_classic_from_packed(const hob_pack_set *set, hob_notes *notes, hob_classic_files *out,
							 hob_error *err)
{
	if (!set->meshes.size || !set->materials.size || !set->scene.size)
		return hob_fail(err, EMPTY,
						"the classic files are made from the meshes, the materials and the scene file");
	if (!hob_pack_validate_set(set, err))
		return false;
	hob_own_arena arena;
	hob_arena_init(&arena, (size_t)HOB_LIMIT_COOK_ARENA_BYTES);
	classic_writer w = {.set = set, .arena = &arena, .notes = notes};
	/* It fails by itself only before it fills buffers. */
	bool ok = hob_guarded(write_all, &w, err);
	if (ok)
		*out = w.out;
	return ok;
}
