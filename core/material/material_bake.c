#include "material_bake.h"
#include "material_slots.h"
#include "name_rules.h"
#include "unique.h"

#include "../model/properties.h"

typedef struct bake {
	hob_model *model;
	hob_material *materials;					   /* [material_count] copies under change */
	uint32_t *image_to, *sampler_to, *material_to; /* old id -> new id or HOB_NONE */
	uint32_t image_count, sampler_count, material_count;
	bool *driven;					/* [material_count] animated by a clip: not mergeable */
	hob_variant_mapping **mappings; /* [mesh_count] renumbered copies: meshes may share one array */
	hob_arena *arena, *scratch;
	hob_notes *notes;
} bake_t;

/* ---- equality */

static hob_bytes text_bytes(hob_str s)
{
	return (hob_bytes){(const uint8_t *)s.data, s.len};
}

static bool same_bytes(hob_bytes a, hob_bytes b)
{
	return a.size == b.size && (a.data == b.data || a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static uint64_t hash_image(const hob_image *image)
{
	uint64_t hash = hob_unique_hash(0, image->path.data, image->path.len);
	hash = hob_unique_hash(hash, image->bytes.data, image->bytes.size);
	/* An unavailable picture is identified by the text that requests it. */
	if (image->path.len == 0 && image->bytes.size == 0)
		hash = hob_unique_hash(hash, image->uri.data, image->uri.len);
	hash = hob_unique_hash(hash, &image->raw_width, sizeof image->raw_width);
	const hob_made_image *made = image->made;
	if (!made)
		return hash;
	float factors[7];
	memcpy(factors, made->diffuse_factor, 12);
	memcpy(factors + 3, made->specular_factor, 12);
	factors[6] = made->glossiness;
	uint64_t parts[2] = {hash_image(&made->diffuse), hash_image(&made->specular)};
	hash = hob_unique_hash(hash, factors, sizeof factors);
	hash = hob_unique_hash(hash, &made->is_metal_rough, sizeof made->is_metal_rough);
	return hob_unique_hash(hash, parts, sizeof parts);
}

static bool same_picture(const hob_image *x, const hob_image *y)
{
	if (!hob_str_equal(x->path, y->path) || !same_bytes(x->bytes, y->bytes) || x->raw_width != y->raw_width ||
		x->raw_height != y->raw_height)
		return false;
	return x->path.len > 0 || x->bytes.size > 0 || hob_str_equal(x->uri, y->uri);
}

static bool same_image(const void *context, uint32_t a, uint32_t b)
{
	const hob_image *x = (const hob_image *)context + a, *y = (const hob_image *)context + b;
	const hob_made_image *m = x->made, *n = y->made;
	if (!m || !n)
		return !m && !n && same_picture(x, y);
	return m->is_metal_rough == n->is_metal_rough && m->has_diffuse == n->has_diffuse &&
		   m->has_specular == n->has_specular && same_picture(&m->diffuse, &n->diffuse) &&
		   same_picture(&m->specular, &n->specular) &&
		   memcmp(m->diffuse_factor, n->diffuse_factor, sizeof m->diffuse_factor) == 0 &&
		   memcmp(m->specular_factor, n->specular_factor, sizeof m->specular_factor) == 0 &&
		   m->glossiness == n->glossiness;
}

static bool same_sampler(const void *context, uint32_t a, uint32_t b)
{
	const hob_sampler *x = (const hob_sampler *)context + a, *y = (const hob_sampler *)context + b;
	return x->wrap_u == y->wrap_u && x->wrap_v == y->wrap_v && x->mag == y->mag && x->min == y->min;
}

static uint64_t hash_sampler(const hob_sampler *sampler)
{
	uint32_t fields[4] = {(uint32_t)sampler->wrap_u, (uint32_t)sampler->wrap_v, (uint32_t)sampler->mag,
						  (uint32_t)sampler->min};
	return hob_unique_hash(0, fields, sizeof fields);
}

/* The material as bytes without padding; -0 becomes +0 by the addition. */
typedef struct material_key {
	uint32_t modes[3];
	float factors[(sizeof(hob_material) - sizeof(hob_str) - sizeof(hob_extras)) / sizeof(float)];
	uint32_t factor_count;
} material_key_t;

static void put_floats(material_key_t *key, const float *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		key->factors[key->factor_count++] = values[i] + 0.0f;
}

static void make_key(const hob_material *m, material_key_t *key)
{
	memset(key, 0, sizeof *key);
	key->modes[0] = (uint32_t)m->alpha_mode;
	key->modes[1] = m->double_sided;
	key->modes[2] = m->ext_mask;
	/* The factors are contiguous, base_color first and diffuse_transmission_color last, all floats. */
	put_floats(
		key, m->base_color,
		(uint32_t)((offsetof(hob_material, slots) - offsetof(hob_material, base_color)) / sizeof(float)));
	for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++) {
		const hob_texture_ref *ref = &m->slots[s];
		float transform[5] = {ref->offset[0], ref->offset[1], ref->scale[0], ref->scale[1], ref->rotation};
		uint32_t ids[4] = {ref->image, ref->sampler, ref->uv_set, (uint32_t)ref->channel};
		memcpy(&key->factors[key->factor_count], ids, sizeof ids);
		key->factor_count += 3;
		put_floats(key, transform, 5);
	}
}

static bool same_material(const void *context, uint32_t a, uint32_t b)
{
	const bake_t *bake = context;
	const hob_material *x = &bake->materials[a], *y = &bake->materials[b];
	material_key_t left, right;
	if (bake->driven[a] || bake->driven[b])
		return false;
	make_key(x, &left), make_key(y, &right);
	return hob_str_equal(x->name, y->name) && hob_str_equal(x->extras.values, y->extras.values) &&
		   hob_str_equal(x->extras.extensions, y->extras.extensions) &&
		   memcmp(&left, &right, sizeof left) == 0;
}

static uint64_t hash_material(const hob_material *material)
{
	material_key_t key;
	make_key(material, &key);
	hob_bytes name = text_bytes(material->name);
	return hob_unique_hash(hob_unique_hash(0, &key, sizeof key), name.data, name.size);
}

/* ---- numbering */

/* Replaces the index of the first equal item by consecutive numbers; unused items (`used` NULL: all are used)
 * get HOB_NONE. */
static uint32_t number(uint32_t *first, uint32_t count, const bool *used)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (first[i] != i)
			first[i] = first[first[i]];
		else
			first[i] = !used || used[i] ? kept++ : HOB_NONE;
	}
	return kept;
}

static uint32_t *table_and_hashes(bake_t *b, uint32_t count, uint64_t **hashes)
{
	*hashes = HOB_NEW(b->scratch, uint64_t, count);
	return HOB_NEW(b->scratch, uint32_t, hob_unique_table_size(count));
}

static void fold_images(bake_t *b)
{
	hob_model *m = b->model;
	uint64_t *hashes;
	uint32_t *table = table_and_hashes(b, m->image_count, &hashes);
	bool *used = HOB_NEW(b->scratch, bool, m->image_count);
	b->image_to = HOB_NEW(b->scratch, uint32_t, m->image_count);
	for (uint32_t i = 0; i < m->image_count; i++)
		hashes[i] = hash_image(&m->images[i]);
	hob_unique(m->image_count, hashes, same_image, m->images, b->image_to, table);
	for (uint32_t i = 0; i < m->material_count; i++)
		for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++) {
			uint32_t image = b->materials[i].slots[s].image;
			if (image != HOB_NONE)
				used[b->image_to[image]] = true;
		}
	b->image_count = number(b->image_to, m->image_count, used);
}

static void fold_samplers(bake_t *b)
{
	hob_model *m = b->model;
	uint64_t *hashes;
	uint32_t *table = table_and_hashes(b, m->sampler_count, &hashes);
	bool *used = HOB_NEW(b->scratch, bool, m->sampler_count);
	b->sampler_to = HOB_NEW(b->scratch, uint32_t, m->sampler_count);
	for (uint32_t i = 0; i < m->sampler_count; i++)
		hashes[i] = hash_sampler(&m->samplers[i]);
	hob_unique(m->sampler_count, hashes, same_sampler, m->samplers, b->sampler_to, table);
	for (uint32_t i = 0; i < m->material_count; i++)
		for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++) {
			uint32_t sampler = b->materials[i].slots[s].sampler;
			if (sampler != HOB_NONE)
				used[b->sampler_to[sampler]] = true;
		}
	b->sampler_count = number(b->sampler_to, m->sampler_count, used);
}

static void fold_materials(bake_t *b)
{
	uint32_t count = b->model->material_count;
	uint64_t *hashes;
	uint32_t *table = table_and_hashes(b, count, &hashes);
	b->material_to = HOB_NEW(b->scratch, uint32_t, count);
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++) {
			hob_texture_ref *ref = &b->materials[i].slots[s];
			ref->image = ref->image == HOB_NONE ? HOB_NONE : b->image_to[ref->image];
			ref->sampler = ref->sampler == HOB_NONE ? HOB_NONE : b->sampler_to[ref->sampler];
		}
		hashes[i] = hash_material(&b->materials[i]);
	}
	hob_unique(count, hashes, same_material, b, b->material_to, table);
	b->material_count = number(b->material_to, count, NULL);
}

static void renumber_mappings(bake_t *b)
{
	const hob_model *m = b->model;
	b->mappings = HOB_NEW(b->scratch, hob_variant_mapping *, m->mesh_count);
	for (uint32_t i = 0; i < m->mesh_count; i++) {
		uint32_t count = m->meshes[i].mapping_count;
		if (count == 0)
			continue;
		b->mappings[i] = HOB_NEW(b->arena, hob_variant_mapping, count);
		for (uint32_t k = 0; k < count; k++) {
			hob_variant_mapping from = m->meshes[i].mappings[k];
			from.material = from.material == HOB_NONE ? HOB_NONE : b->material_to[from.material];
			b->mappings[i][k] = from;
		}
	}
}

/* ---- the whole */

static hob_str base_color_file(const hob_model *model, const hob_material *material)
{
	uint32_t image = material->slots[HOB_SLOT_BASE_COLOR].image;
	if (image == HOB_NONE)
		return (hob_str){0};
	const hob_image *file = &model->images[image];
	return file->path.len > 0 ? file->path : file->uri.len > 0 ? file->uri : file->name;
}

static void note_missing_uvs(const bake_t *b, const hob_mesh *mesh, uint32_t id)
{
	for (uint32_t s = 0; id != HOB_NONE && s < HOB_SLOT_COUNT; s++) {
		const hob_texture_ref *ref = &b->materials[id].slots[s];
		if (ref->image != HOB_NONE && mesh->topology == HOB_TRIANGLES && mesh->vertex_count > 0 &&
			!mesh->uv[ref->uv_set])
			hob_note_add(
				b->notes, HOB_NOTE_WARNING, "material.missing-uv",
				"mesh '%.*s' has no texture coordinates %u, which the %s texture of material '%.*s' uses",
				HOB_FMT(mesh->name), ref->uv_set, hob_slot_name((hob_slot)s), HOB_FMT(b->materials[id].name));
	}
}

static void commit(bake_t *b, hob_material *materials, hob_image *images, hob_sampler *samplers)
{
	hob_model *m = b->model;
	for (uint32_t i = m->material_count; i-- > 0;)
		materials[b->material_to[i]] = b->materials[i];
	m->unused_images = images + b->image_count;
	for (uint32_t i = m->image_count; i-- > 0;)
		if (b->image_to[i] != HOB_NONE)
			images[b->image_to[i]] = m->images[i];
		else if (m->images[i].spare)
			m->unused_images[m->unused_image_count++] = m->images[i];
	for (uint32_t i = m->sampler_count; i-- > 0;)
		if (b->sampler_to[i] != HOB_NONE)
			samplers[b->sampler_to[i]] = m->samplers[i];
	for (uint32_t i = 0; i < m->mesh_count; i++) {
		hob_mesh *mesh = &m->meshes[i];
		mesh->material = mesh->material == HOB_NONE ? HOB_NONE : b->material_to[mesh->material];
		mesh->mappings = b->mappings[i];
	}
	for (uint32_t c = 0; c < m->clip_count; c++)
		for (uint32_t i = 0; i < m->clips[c].property_count; i++) {
			hob_property_channel *channel = &m->clips[c].properties[i];
			hob_driven driven = hob_property_of(channel->property)->driven;
			if (driven == HOB_DRIVEN_MATERIAL || driven == HOB_DRIVEN_TEXREF)
				channel->index = b->material_to[channel->index];
		}
	m->materials = materials, m->material_count = b->material_count;
	m->images = images, m->image_count = b->image_count;
	m->samplers = samplers, m->sampler_count = b->sampler_count;
}

/* Finds the materials, and their factors, that clips animate. */
static void find_driven(bake_t *b, hob_driven_factors *factors)
{
	const hob_model *m = b->model;
	b->driven = HOB_NEW(b->scratch, bool, m->material_count);
	for (uint32_t c = 0; c < m->clip_count; c++)
		for (uint32_t i = 0; i < m->clips[c].property_count; i++) {
			const hob_property_channel *channel = &m->clips[c].properties[i];
			const hob_property_info *info = hob_property_of(channel->property);
			if (info->driven != HOB_DRIVEN_MATERIAL && info->driven != HOB_DRIVEN_TEXREF)
				continue;
			b->driven[channel->index] = true;
			factors[channel->index] |= (hob_driven_factors)1 << channel->property;
		}
}

static void bake(bake_t *b, const hob_material_options *options)
{
	hob_model *m = b->model;
	b->materials = HOB_NEW(b->scratch, hob_material, m->material_count);
	hob_driven_factors *factors = HOB_NEW(b->scratch, hob_driven_factors, m->material_count);
	find_driven(b, factors);
	for (uint32_t i = 0; i < m->material_count; i++) {
		b->materials[i] = m->materials[i];
		if (options->name_rules)
			hob_name_rules_apply(&b->materials[i], base_color_file(m, &m->materials[i]));
		hob_material_clamp(&b->materials[i], b->notes);
		hob_material_clear_slots(&b->materials[i], factors[i], b->notes);
	}
	for (uint32_t i = 0; i < m->mesh_count; i++)
		note_missing_uvs(b, &m->meshes[i], m->meshes[i].material);
	fold_images(b);
	fold_samplers(b);
	fold_materials(b);
	renumber_mappings(b);
	hob_material *materials = HOB_NEW(b->arena, hob_material, b->material_count);
	hob_image *images = HOB_NEW(b->arena, hob_image, m->image_count);
	hob_sampler *samplers = HOB_NEW(b->arena, hob_sampler, b->sampler_count);
	commit(b, materials, images, samplers);
}

void hob_material_bake(hob_model *model, const hob_material_options *options, hob_arena *arena,
					   hob_arena *scratch, hob_notes *notes)
{
	bake_t b = {.model = model, .arena = arena, .scratch = scratch, .notes = notes};
	hob_arena_mark mark = hob_arena_save(scratch);
	bake(&b, options);
	hob_arena_restore(scratch, mark);
}
