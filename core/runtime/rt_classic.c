#include "rt_private.h"

#include "rt_math.h"

#include <string.h>

/* The reference converter's records. */
typedef struct classic_mesh {
	uint32_t lod_count, stream_count, index_offset, vertex_offset, vertex_count;
	/* The converter may write eight levels; the end of the last is then in the field after the array. */
	uint32_t lod_offsets[9], unused[7], element_size, more[7];
} classic_mesh;

typedef struct classic_material {
	float emissive[4], base_color[4], roughness[4], transparency, alpha_test, metallic;
	uint32_t flags;
	uint64_t maps[5], unused;
} classic_material;

enum {
	MESH_HEADER = 20,
	MESH_SIZE = sizeof(classic_mesh),
	MESH_LODS = 8,
	BOX_SIZE = 24,
	VERTEX_SIZE = 32,
	MATERIAL_SIZE = sizeof(classic_material),
	NODE_SIZE = 64 + 64 + 20
};

/* The format stores no errors. This is the error that the converter allows its simplifier at each level,
 * relative to the mesh's size. */
static const float LOD_ERROR = 0.02f;

static uint32_t load_u32(const uint8_t *p)
{
	uint32_t value;
	memcpy(&value, p, sizeof value);
	return value;
}

static const classic_mesh *classic_mesh_at(const rt_classic *f, uint32_t index)
{
	return (const classic_mesh *)(const void *)(f->meshes + (size_t)index * MESH_SIZE);
}

/* ---- sizes */

static bool open_meshes(rt_classic *f, hob_rt_blob blob, hob_rt_error *error)
{
	const uint8_t *data = (const uint8_t *)blob.data;
	if (blob.size == 0)
		return true;
	if (blob.size < MESH_HEADER || load_u32(data) != 0x12345678)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "the meshes file is neither packed nor classic");
	uint64_t count = load_u32(data + 4), index_bytes = load_u32(data + 12),
			 vertex_bytes = load_u32(data + 16);
	uint64_t tables = MESH_HEADER + count * (MESH_SIZE + BOX_SIZE);
	if (tables + index_bytes + vertex_bytes != blob.size || index_bytes % 4 != 0 ||
		vertex_bytes % VERTEX_SIZE != 0)
		return hob_rt_fail(
			error, tables + index_bytes + vertex_bytes > blob.size ? HOB_RT_TRUNCATED : HOB_RT_CORRUPT,
			"the meshes file has %zu bytes for %u meshes, %llu bytes of indices, %llu of vertices", blob.size,
			(unsigned)count, (unsigned long long)index_bytes, (unsigned long long)vertex_bytes);
	f->mesh_count = (uint32_t)count;
	f->meshes = data + MESH_HEADER;
	f->boxes = f->meshes + count * MESH_SIZE;
	f->indices = data + tables;
	f->index_count = (uint32_t)(index_bytes / 4);
	f->vertices = f->indices + index_bytes;
	f->vertex_count = (uint32_t)(vertex_bytes / VERTEX_SIZE);
	return true;
}

/* Skips a list of strings; *at moves to its end. Each must have a NUL at its stated length. */
static bool skip_strings(hob_rt_blob blob, size_t *at, uint32_t *count, hob_rt_error *error)
{
	const uint8_t *data = (const uint8_t *)blob.data;
	if (blob.size - *at < 4)
		return hob_rt_fail(error, HOB_RT_TRUNCATED, "a list of strings is missing");
	*count = load_u32(data + *at);
	*at += 4;
	for (uint32_t i = 0; i < *count; i++) {
		uint32_t length = blob.size - *at < 4 ? HOB_RT_NONE : load_u32(data + *at);
		if (length == HOB_RT_NONE || length >= blob.size - *at - 4)
			return hob_rt_fail(error, HOB_RT_TRUNCATED, "string %u of %u is cut off", i, *count);
		if (data[*at + 4 + length] != 0)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "string %u of %u does not end with a NUL", i, *count);
		*at += 4 + (size_t)length + 1;
	}
	return true;
}

static bool open_materials(rt_classic *f, hob_rt_blob blob, hob_rt_error *error)
{
	const uint8_t *data = (const uint8_t *)blob.data;
	if (blob.size == 0)
		return true;
	uint64_t count = blob.size >= 4 ? load_u32(data) : 0;
	if (blob.size < 4 || count * MATERIAL_SIZE > blob.size - 4)
		return hob_rt_fail(error, HOB_RT_TRUNCATED, "the materials file has %zu bytes for %u materials",
						   blob.size, (unsigned)count);
	size_t at = 4 + (size_t)count * MATERIAL_SIZE;
	f->material_count = (uint32_t)count;
	f->materials = data + 4;
	f->images = data + at + 4;
	if (!skip_strings(blob, &at, &f->image_count, error))
		return false;
	return at == blob.size ||
		   hob_rt_fail(error, HOB_RT_CORRUPT, "the materials file has %zu bytes too many", blob.size - at);
}

static bool open_map(hob_rt_blob blob, size_t *at, uint32_t *count, const uint8_t **pairs,
					 hob_rt_error *error)
{
	const uint8_t *data = (const uint8_t *)blob.data;
	uint32_t words = blob.size - *at >= 4 ? load_u32(data + *at) : 0;
	if (blob.size - *at < 4 || words > (blob.size - *at - 4) / 4)
		return hob_rt_fail(error, HOB_RT_TRUNCATED, "a map of %u words is cut off", words);
	if (words % 2 != 0)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "a map has an odd number of words, %u", words);
	*count = words / 2;
	*pairs = data + *at + 4;
	*at += 4 + (size_t)words * 4;
	return true;
}

static bool open_scene(rt_classic *f, hob_rt_blob blob, hob_rt_error *error)
{
	const uint8_t *data = (const uint8_t *)blob.data;
	uint64_t count = blob.size >= 4 ? load_u32(data) : 0;
	if (blob.size < 4 || count * NODE_SIZE > blob.size - 4)
		return hob_rt_fail(error, HOB_RT_TRUNCATED, "the scene file has %zu bytes for %llu nodes", blob.size,
						   (unsigned long long)count);
	size_t at = 4 + (size_t)count * NODE_SIZE;
	f->node_count = (uint32_t)count;
	f->nodes = data + 4;
	if (!open_map(blob, &at, &f->material_link_count, &f->material_links, error) ||
		!open_map(blob, &at, &f->mesh_link_count, &f->mesh_links, error))
		return false;
	if (at == blob.size)
		return true; /* a scene without names ends here */
	if (!open_map(blob, &at, &f->name_link_count, &f->name_links, error))
		return false;
	f->names = data + at + 4;
	if (!skip_strings(blob, &at, &f->name_count, error))
		return false;
	f->material_names = data + at + 4;
	if (!skip_strings(blob, &at, &f->material_name_count, error))
		return false;
	return at == blob.size ||
		   hob_rt_fail(error, HOB_RT_CORRUPT, "the scene file has %zu bytes too many", blob.size - at);
}

static bool is_aligned(hob_rt_blob blob)
{
	return ((uintptr_t)blob.data & 3) == 0 && blob.size < HOB_RT_NONE;
}

bool hob_rt_classic_open(const hob_rt_files *files, rt_asset *a, hob_rt_error *error)
{
	if (!is_aligned(files->meshes) || !is_aligned(files->materials) || !is_aligned(files->scene))
		return hob_rt_fail(error, HOB_RT_MISALIGNED,
						   "classic files must begin at a multiple of 4 bytes and be smaller than 4 GiB");
	if (files->animations.size > 0)
		return hob_rt_fail(error, HOB_RT_CORRUPT,
						   "classic files have no animations: give the packed scene with them");
	a->pub.classic = true;
	a->node_text.base = a->material_text.base = a->scene_text.base = (const char *)files->scene.data;
	a->node_text.size = a->material_text.size = a->scene_text.size = (uint32_t)files->scene.size;
	a->image_text.base = (const char *)files->materials.data;
	a->image_text.size = (uint32_t)files->materials.size;
	return open_meshes(&a->files, files->meshes, error) &&
		   open_materials(&a->files, files->materials, error) && open_scene(&a->files, files->scene, error);
}

/* ---- room */

static rt_array take_array(rt_memory *memory, uint32_t count, size_t size)
{
	rt_array array;
	array.data = (const uint8_t *)hob_rt_take(memory, count, size);
	array.count = count;
	array.stride = (uint32_t)size;
	return array;
}

void hob_rt_classic_lay_out(rt_asset *a, rt_memory *memory)
{
	const rt_classic *f = &a->files;
	a->pub.node_count = f->node_count;
	a->pub.mesh_count = f->mesh_count;
	a->pub.material_count = f->material_count;
	a->pub.texref_count = f->material_count * 5;
	a->pub.image_count = f->image_count;
	a->trs = take_array(memory, f->node_count, sizeof(hob_pk_trs));
	a->local.data = f->nodes;
	a->local.count = f->node_count;
	a->local.stride = 64;
	a->hierarchy.data = f->nodes + (size_t)f->node_count * 128;
	a->hierarchy.count = f->node_count;
	a->hierarchy.stride = sizeof(hob_pk_hierarchy);
	a->node_names = take_array(memory, f->node_count, sizeof(uint32_t));
	a->mesh_links = take_array(memory, f->mesh_link_count, sizeof(hob_pk_link));
	a->material_links = take_array(memory, f->material_link_count, sizeof(hob_pk_link));
	a->materials = take_array(memory, f->material_count, sizeof(hob_pk_material));
	a->texrefs = take_array(memory, a->pub.texref_count, sizeof(hob_pk_texref));
	a->images = take_array(memory, f->image_count, sizeof(hob_pk_image));
	uint32_t roots = 0;
	for (uint32_t i = 0; i < f->node_count; i++)
		roots += RT_AT(hob_pk_hierarchy, a->hierarchy, i)->parent < 0;
	a->scenes = take_array(memory, 1, sizeof(hob_pk_scene));
	a->roots = take_array(memory, roots, sizeof(uint32_t));
	a->pub.scene_count = 1;
	uint64_t lods = 0;
	for (uint32_t i = 0; i < f->mesh_count; i++) {
		uint32_t count = classic_mesh_at(f, i)->lod_count;
		lods += count <= MESH_LODS ? count : 0;
	}
	a->meshes = RT_TAKE(memory, hob_rt_mesh, f->mesh_count);
	a->lods = RT_TAKE(memory, hob_rt_lod, lods);
	a->attributes = RT_TAKE(memory, hob_rt_attribute, 3);
	a->joint_box_first = RT_TAKE(memory, uint32_t, (uint64_t)f->mesh_count + 1);
}

/* ---- nodes */

#define WRITABLE(type, array) ((type *)(uintptr_t)(array).data)

static bool fill_nodes(rt_asset *a, hob_rt_error *error)
{
	hob_pk_trs *trs = WRITABLE(hob_pk_trs, a->trs);
	uint32_t *roots = WRITABLE(uint32_t, a->roots), root_count = 0;
	for (uint32_t i = 0; i < a->pub.node_count; i++) {
		int32_t parent = RT_AT(hob_pk_hierarchy, a->hierarchy, i)->parent;
		const float *local = RT_AT(hob_pk_mat4, a->local, i)->m;
		if (parent < -1 || (parent >= 0 && (uint32_t)parent >= i))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "node %u has parent %d", i, (int)parent);
		if (!hob_rt_in_range(local, 16))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "the matrix of node %u is not finite", i);
		a->parents[i] = parent < 0 ? HOB_RT_NONE : (uint32_t)parent;
		if (parent < 0)
			roots[root_count++] = i;
		rt_decompose(local, trs[i].t, trs[i].r, trs[i].s);
		/* Only the matrix is exact. */
		trs[i].flags = HOB_PK_NODE_FROM_MATRIX | HOB_PK_NODE_SHEAR;
	}
	hob_pk_scene *scene = WRITABLE(hob_pk_scene, a->scenes);
	scene->root_count = root_count;
	scene->flags = HOB_PK_SCENE_DEFAULT;
	return true;
}

/* Maps are in the converter's hash order. Sort by node; of duplicates, the last is used. */
static bool fill_links(const rt_asset *a, const uint8_t *pairs, rt_array *links, uint32_t limit,
					   const char *what, uint64_t *room, hob_rt_error *error)
{
	uint32_t count = links->count;
	hob_pk_link *out = WRITABLE(hob_pk_link, *links);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = load_u32(pairs + (size_t)i * 8), value = load_u32(pairs + (size_t)i * 8 + 4);
		if (node >= a->pub.node_count || value >= limit)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "node %u of %u has %s %u of %u", node,
							   a->pub.node_count, what, value, limit);
		room[i] = (uint64_t)node << 32 | i;
	}
	hob_rt_sort(room, room + count, count);
	links->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = (uint32_t)(room[i] >> 32);
		if (links->count > 0 && out[links->count - 1].node == node)
			links->count--;
		out[links->count].node = node;
		out[links->count++].value = load_u32(pairs + (size_t)(uint32_t)room[i] * 8 + 4);
	}
	return true;
}

/* Offsets of a checked list's strings from the start of their file, as far as there is room for them. */
static void list_strings(const char *base, const uint8_t *at, uint32_t count, uint64_t *offsets)
{
	for (uint32_t i = 0; i < count; i++) {
		offsets[i] = (uint64_t)((const char *)at + 4 - base);
		at += 4 + (size_t)load_u32(at) + 1;
	}
}

static bool fill_names(rt_asset *a, uint64_t *offsets, hob_rt_error *error)
{
	const rt_classic *f = &a->files;
	uint32_t *names = WRITABLE(uint32_t, a->node_names);
	list_strings(a->node_text.base, f->names, f->name_count, offsets);
	for (uint32_t i = 0; i < f->name_link_count; i++) {
		uint32_t node = load_u32(f->name_links + (size_t)i * 8),
				 name = load_u32(f->name_links + (size_t)i * 8 + 4);
		if (node >= f->node_count || name >= f->name_count)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "node %u of %u has name %u of %u", node, f->node_count,
							   name, f->name_count);
		names[node] = (uint32_t)offsets[name];
	}
	return true;
}

/* ---- materials */

static void fill_material(const rt_asset *a, uint32_t index, hob_pk_material *out)
{
	static const uint8_t slots[5] = {HOB_PK_SLOT_OCCLUSION, HOB_PK_SLOT_EMISSIVE, HOB_PK_SLOT_BASE_COLOR,
									 HOB_PK_SLOT_METAL_ROUGH, HOB_PK_SLOT_NORMAL};
	classic_material from;
	memcpy(&from, a->files.materials + (size_t)index * MATERIAL_SIZE, sizeof from);
	memcpy(out->base_color, from.base_color, sizeof out->base_color);
	memcpy(out->emissive, from.emissive, sizeof out->emissive);
	memcpy(out->aniso_roughness, from.roughness, sizeof out->aniso_roughness);
	out->transparency = from.transparency;
	out->alpha_test = out->alpha_cutoff = from.alpha_test;
	out->metallic = from.metallic;
	out->roughness = from.roughness[0];
	out->flags = from.flags &
				 (HOB_PK_MATERIAL_CAST_SHADOW | HOB_PK_MATERIAL_RECEIVE_SHADOW | HOB_PK_MATERIAL_TRANSPARENT);
	if (out->flags & HOB_PK_MATERIAL_TRANSPARENT)
		out->flags |= HOB_PK_MATERIAL_BLEND;
	else if (out->alpha_test > 0)
		out->flags |= HOB_PK_MATERIAL_MASK;
	out->emissive_strength = out->normal_scale = out->occlusion_strength = 1;
	out->ior = 1.5f;
	out->specular = out->specular_color[0] = out->specular_color[1] = out->specular_color[2] = 1;
	memset(out->textures, 0xFF, sizeof out->textures);
	for (uint32_t i = 0; i < 5; i++) {
		hob_pk_texref *ref = WRITABLE(hob_pk_texref, a->texrefs) + index * 5 + i;
		bool there = from.maps[i] < a->files.image_count;
		ref->image = there ? (uint32_t)from.maps[i] : HOB_PK_NONE;
		ref->sampler = HOB_PK_NONE;
		ref->slot = slots[i];
		ref->scale[0] = ref->scale[1] = 1;
		out->textures[slots[i]] = there ? index * 5 + i : HOB_PK_NONE;
	}
}

static void fill_materials(rt_asset *a, uint64_t *offsets)
{
	const rt_classic *f = &a->files;
	hob_pk_material *materials = WRITABLE(hob_pk_material, a->materials);
	hob_pk_image *images = WRITABLE(hob_pk_image, a->images);
	list_strings(a->material_text.base, f->material_names, f->material_name_count, offsets);
	for (uint32_t i = 0; i < f->material_count; i++) {
		fill_material(a, i, &materials[i]);
		materials[i].name = i < f->material_name_count ? (uint32_t)offsets[i] : 0;
	}
	list_strings(a->image_text.base, f->images, f->image_count, offsets);
	for (uint32_t i = 0; i < f->image_count; i++)
		images[i].name = (uint32_t)offsets[i];
}

/* ---- meshes */

static bool check_indices(const rt_asset *a, hob_rt_lod *lod, uint32_t vertex_count, uint64_t *left,
						  hob_rt_error *error)
{
	if (lod->index_count > *left)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "levels of detail overlap");
	*left -= lod->index_count;
	lod->vertex_prefix = vertex_count;
	if (a->options.trust_indices)
		return true;
	const uint32_t *indices = (const uint32_t *)lod->indices;
	uint32_t largest = 0;
	for (uint32_t i = 0; i < lod->index_count; i++)
		largest = indices[i] > largest ? indices[i] : largest;
	if (lod->index_count > 0 && largest >= vertex_count)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "index %u of %u vertices", largest, vertex_count);
	lod->vertex_prefix = lod->index_count > 0 ? largest + 1 : 0;
	return true;
}

static void fill_box(const uint8_t *box, hob_rt_mesh *out)
{
	float bounds[6], square = 0;
	memcpy(bounds, box, sizeof bounds);
	/* The converter gives meshes without triangles an inverted box of the largest floats. */
	if (!hob_rt_in_range(bounds, 6) || bounds[0] > bounds[3] || bounds[1] > bounds[4] ||
		bounds[2] > bounds[5])
		return;
	memcpy(out->aabb_min, bounds, sizeof out->aabb_min);
	memcpy(out->aabb_max, bounds + 3, sizeof out->aabb_max);
	for (int i = 0; i < 3; i++) {
		float half = (bounds[3 + i] - bounds[i]) / 2;
		out->sphere[i] = bounds[i] + half;
		square += half * half;
	}
	out->sphere[3] = sqrtf(square);
}

static bool fill_mesh(rt_asset *a, uint32_t index, uint32_t *lod_count, uint64_t *left, hob_rt_error *error)
{
	const rt_classic *f = &a->files;
	const classic_mesh *from = classic_mesh_at(f, index);
	hob_rt_mesh *to = &a->meshes[index];
	uint32_t lods = from->lod_count, first = from->index_offset, vertex = from->vertex_offset;
	if (from->stream_count != 1 || from->element_size != VERTEX_SIZE)
		return hob_rt_fail(error, HOB_RT_UNSUPPORTED,
						   "%u streams with vertices of %u bytes; the first edition has 1 of 32",
						   from->stream_count, from->element_size);
	if (lods > MESH_LODS || first > f->index_count || vertex > f->vertex_count)
		return hob_rt_fail(error, HOB_RT_CORRUPT, "%u levels, indices from %u of %u, vertices from %u of %u",
						   lods, first, f->index_count, vertex, f->vertex_count);
	/* The converter version in the repository stores a count 1.5 times the real one. */
	uint32_t room = f->vertex_count - vertex;
	to->name = "";
	to->material = HOB_RT_NONE;
	to->vertex_count = from->vertex_count < room ? from->vertex_count : room;
	to->stream_count = 1;
	to->streams[0].data = f->vertices + (size_t)vertex * VERTEX_SIZE;
	to->streams[0].stride = VERTEX_SIZE;
	to->streams[0].first = vertex;
	to->attributes = a->attributes;
	to->attribute_count = 3;
	to->lods = a->lods + *lod_count;
	to->lod_count = lods;
	to->pos_scale = to->uv_scale[0] = 1;
	to->uv_scale[1] = -1;
	to->uv_offset[1] = 1;
	fill_box(f->boxes + (size_t)index * BOX_SIZE, to);
	for (uint32_t l = 0; l < lods; l++) {
		hob_rt_lod *lod = &a->lods[(*lod_count)++];
		uint32_t begin = from->lod_offsets[l], end = from->lod_offsets[l + 1];
		if (begin > end || end > f->index_count - first)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "level %u has indices %u to %u of %u", l, begin, end,
							   f->index_count - first);
		lod->indices = f->indices + ((size_t)first + begin) * 4;
		lod->index_bytes = 4;
		lod->index_count = end - begin;
		lod->error = to->sphere[3] * 2 * LOD_ERROR * (float)l;
		if (!check_indices(a, lod, room, left, error))
			return false;
		if (lod->vertex_prefix > to->vertex_count)
			to->vertex_count = lod->vertex_prefix;
	}
	return true;
}

static bool fill_meshes(rt_asset *a, hob_rt_error *error)
{
	static const struct {
		uint8_t semantic, components;
		uint16_t format, offset;
	} vertex[] = {
		{HOB_PK_SEMANTIC_POSITION, 3, 106, 0},
		{HOB_PK_SEMANTIC_UV, 2, 103, 12},
		{HOB_PK_SEMANTIC_NORMAL, 3, 106, 20},
	};
	for (int i = 0; i < 3; i++) {
		a->attributes[i].semantic = vertex[i].semantic;
		a->attributes[i].components = vertex[i].components;
		a->attributes[i].format = vertex[i].format;
		a->attributes[i].offset = vertex[i].offset;
	}
	a->attributes[1].encoding = HOB_PK_ENCODING_SCALED;
	uint32_t lod_count = 0;
	uint64_t left = a->files.index_count;
	for (uint32_t i = 0; i < a->files.mesh_count; i++)
		if (!fill_mesh(a, i, &lod_count, &left, error))
			return hob_rt_fail_in(error, "mesh", i);
	return true;
}

bool hob_rt_classic_fill(rt_asset *a, uint64_t *room, hob_rt_error *error)
{
	const rt_classic *f = &a->files;
	uint32_t meshes = f->meshes ? f->mesh_count : HOB_RT_NONE,
			 materials = f->materials ? f->material_count : HOB_RT_NONE;
	fill_materials(a, room);
	return fill_nodes(a, error) && fill_names(a, room, error) && fill_meshes(a, error) &&
		   fill_links(a, f->mesh_links, &a->mesh_links, meshes, "mesh", room, error) &&
		   fill_links(a, f->material_links, &a->material_links, materials, "material", room, error);
}
