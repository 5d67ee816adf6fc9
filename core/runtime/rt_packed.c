#include "rt_private.h"

/* ---- encoded sections */

static bool decode(rt_asset *asset, rt_pack *pack, rt_memory *memory, hob_rt_error *error)
{
	uint8_t **decoded = RT_TAKE(memory, uint8_t *, pack->section_count);
	for (uint32_t i = 0; i < pack->section_count; i++) {
		const hob_pk_section *s = hob_rt_pack_section(pack, i);
		if (s->codec == HOB_PK_CODEC_RAW)
			continue;
		if (!(s->flags & HOB_PK_SECTION_GPU) || !asset->options.decode)
			return hob_rt_fail(error, HOB_RT_UNSUPPORTED,
							   "section %u of the %s file is encoded (codec %u): give "
							   "options.decode, or cook with encode = raw",
							   i, pack->what, s->codec);
		uint8_t *room = RT_TAKE(memory, uint8_t, s->raw_bytes);
		if (!decoded)
			continue;
		decoded[i] = room;
		if (!asset->options.decode(asset->options.user, s->codec, s->count, s->stride, pack->file + s->offset,
								   (size_t)s->stored_bytes, room))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "section %u of the %s file cannot be decoded", i,
							   pack->what);
	}
	pack->decoded = decoded;
	return true;
}

/* ---- finding */

/* `exact`: returned as a plain C array, so its elements may not be longer. */
typedef struct wanted {
	const rt_pack *pack;
	uint32_t type;
	size_t size;
	rt_array *array;
	bool exact;
} wanted_t;

static bool find_all(rt_asset *a, hob_rt_error *error)
{
	const wanted_t wanted[] = {
		{&a->scene_pack, HOB_PK_HIER, sizeof(hob_pk_hierarchy), &a->hierarchy, false},
		{&a->scene_pack, HOB_PK_TRS_, sizeof(hob_pk_trs), &a->trs, false},
		{&a->scene_pack, HOB_PK_LOCL, sizeof(hob_pk_mat4), &a->local, false},
		{&a->scene_pack, HOB_PK_NAMS, sizeof(uint32_t), &a->node_names, false},
		{&a->scene_pack, HOB_PK_LMSH, sizeof(hob_pk_link), &a->mesh_links, false},
		{&a->scene_pack, HOB_PK_LMAT, sizeof(hob_pk_link), &a->material_links, false},
		{&a->scene_pack, HOB_PK_LCAM, sizeof(hob_pk_link), &a->camera_links, false},
		{&a->scene_pack, HOB_PK_LLGT, sizeof(hob_pk_link), &a->light_links, false},
		{&a->scene_pack, HOB_PK_LSKN, sizeof(hob_pk_link), &a->skin_links, false},
		{&a->scene_pack, HOB_PK_LWGT, sizeof(hob_pk_link), &a->weight_links, false},
		{&a->scene_pack, HOB_PK_WGTS, sizeof(float), &a->node_weights, false},
		{&a->scene_pack, HOB_PK_CAMS, sizeof(hob_pk_camera), &a->cameras, false},
		{&a->scene_pack, HOB_PK_LGTS, sizeof(hob_pk_light), &a->lights, false},
		{&a->scene_pack, HOB_PK_SCNS, sizeof(hob_pk_scene), &a->scenes, false},
		{&a->scene_pack, HOB_PK_ROOT, sizeof(uint32_t), &a->roots, true},
		{&a->scene_pack, HOB_PK_XTRA, sizeof(hob_pk_extra), &a->extras, false},
		{&a->material_pack, HOB_PK_MATL, sizeof(hob_pk_material), &a->materials, false},
		{&a->material_pack, HOB_PK_TEXR, sizeof(hob_pk_texref), &a->texrefs, false},
		{&a->material_pack, HOB_PK_IMGS, sizeof(hob_pk_image), &a->images, false},
		{&a->material_pack, HOB_PK_TSMP, sizeof(hob_pk_texture_sampler), &a->samplers, false},
		{&a->material_pack, HOB_PK_VARI, sizeof(uint32_t), &a->variants, false},
		{&a->mesh_pack, HOB_PK_MDSC, sizeof(hob_pk_mesh), &a->mesh_records, false},
		{&a->mesh_pack, HOB_PK_LODS, sizeof(hob_pk_lod), &a->lod_records, false},
		{&a->mesh_pack, HOB_PK_LODA, sizeof(hob_pk_lod_attributes), &a->lod_attributes, false},
		{&a->mesh_pack, HOB_PK_LODM, sizeof(float), &a->lod_means, false},
		{&a->mesh_pack, HOB_PK_LAYT, sizeof(hob_pk_layout), &a->layouts, false},
		{&a->mesh_pack, HOB_PK_ATTR, sizeof(hob_pk_attribute), &a->attribute_records, false},
		{&a->mesh_pack, HOB_PK_MRPH, sizeof(hob_pk_morph), &a->morphs, false},
		{&a->mesh_pack, HOB_PK_VMAP, sizeof(hob_pk_variant_map), &a->variant_maps, false},
		{&a->mesh_pack, HOB_PK_MLET, sizeof(hob_pk_meshlet), &a->meshlets, true},
		{&a->mesh_pack, HOB_PK_MLVT, sizeof(uint32_t), &a->meshlet_vertices, true},
		{&a->mesh_pack, HOB_PK_MLTR, sizeof(uint8_t), &a->meshlet_triangles, true},
		{&a->mesh_pack, HOB_PK_MDLT, sizeof(hob_pk_delta), &a->deltas, true},
		{&a->mesh_pack, HOB_PK_CLST, sizeof(hob_pk_cluster_set), &a->cluster_sets, false},
		{&a->mesh_pack, HOB_PK_CLGR, sizeof(hob_pk_cluster_group), &a->cluster_groups, true},
		{&a->mesh_pack, HOB_PK_CLUS, sizeof(uint32_t), &a->cluster_sources, true},
		{&a->clip_pack, HOB_PK_CLIP, sizeof(hob_pk_clip), &a->clip_records, false},
		{&a->clip_pack, HOB_PK_CHAN, sizeof(hob_pk_channel), &a->channels, false},
		{&a->clip_pack, HOB_PK_PROP, sizeof(hob_pk_property_channel), &a->properties, false},
		{&a->clip_pack, HOB_PK_SMPL, sizeof(hob_pk_sampler), &a->clip_samplers, false},
		{&a->clip_pack, HOB_PK_TIME, sizeof(float), &a->times, true},
		{&a->clip_pack, HOB_PK_VALS, sizeof(float), &a->values, true},
		{&a->clip_pack, HOB_PK_SKIN, sizeof(hob_pk_skin), &a->skin_records, false},
		{&a->clip_pack, HOB_PK_JNTS, sizeof(uint32_t), &a->joints, true},
		{&a->clip_pack, HOB_PK_IBMS, sizeof(hob_pk_mat4), &a->inverse_binds, false},
	};
	for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
		const wanted_t *w = &wanted[i];
		if (!hob_rt_pack_find(w->pack, w->type, w->size, w->array, error))
			return false;
		if (w->exact && w->array->count > 0 && w->array->stride != w->size)
			return hob_rt_fail(error, HOB_RT_UNSUPPORTED,
							   "elements of section type 0x%08x are longer than this runtime knows", w->type);
	}
	uint32_t count = a->hierarchy.count;
	if (a->trs.count != count || a->local.count != count ||
		(a->node_names.count != count && a->node_names.count != 0))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "%u nodes, %u transforms, %u matrices, %u names", count,
						   a->trs.count, a->local.count, a->node_names.count);
	return true;
}

bool hob_rt_packed_lay_out(rt_asset *a, rt_memory *memory, hob_rt_error *error)
{
	rt_pack *packs[] = {&a->mesh_pack, &a->material_pack, &a->scene_pack, &a->clip_pack};
	for (int i = 0; i < 4; i++)
		if (!decode(a, packs[i], memory, error))
			return false;
	if (!find_all(a, error))
		return false;
	a->node_text = a->scene_text = a->scene_pack.text;
	a->mesh_text = a->mesh_pack.text;
	a->material_text = a->image_text = a->material_pack.text;
	a->clip_text = a->clip_pack.text;
	a->pub.node_count = a->hierarchy.count;
	a->pub.material_count = a->materials.count;
	a->pub.texref_count = a->texrefs.count;
	a->pub.image_count = a->images.count;
	a->pub.sampler_count = a->samplers.count;
	a->pub.variant_count = a->variants.count;
	a->pub.camera_count = a->cameras.count;
	a->pub.light_count = a->lights.count;
	a->pub.scene_count = a->scenes.count;
	return hob_rt_packed_meshes_lay_out(a, memory, error);
}

/* ---- checks of the scene's and materials' records */

static bool check_name(rt_text text, uint32_t offset, hob_rt_error *error)
{
	if (offset == 0 || offset < text.size)
		return true;
	return hob_rt_fail(error, HOB_RT_CORRUPT, "a name at %u in %u bytes of strings", offset, text.size);
}

/* The u32 at `field` of each record is a name. */
static bool check_names(rt_text text, rt_array records, size_t field, const char *what, hob_rt_error *error)
{
	for (uint32_t i = 0; i < records.count; i++)
		if (!check_name(text, *(const uint32_t *)(const void *)&RT_AT(uint8_t, records, i)[field], error))
			return hob_rt_fail_in(error, what, i);
	return true;
}

static bool fill_nodes(rt_asset *a, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->pub.node_count; i++) {
		int32_t parent = RT_AT(hob_pk_hierarchy, a->hierarchy, i)->parent;
		const hob_pk_trs *trs = RT_AT(hob_pk_trs, a->trs, i);
		if (parent < -1 || (parent >= 0 && (uint32_t)parent >= i))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "node %u has parent %d", i, (int)parent);
		if (!hob_rt_in_range(trs->t, 3) || !hob_rt_in_range(trs->r, 4) || !hob_rt_in_range(trs->s, 3) ||
			!hob_rt_in_range(RT_AT(hob_pk_mat4, a->local, i)->m, 16))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "the transform of node %u is not finite", i);
		a->parents[i] = parent < 0 ? HOB_RT_NONE : (uint32_t)parent;
	}
	return check_names(a->node_text, a->node_names, 0, "node", error);
}

static bool check_links(const rt_asset *a, rt_array links, uint32_t limit, const char *what,
						hob_rt_error *error)
{
	for (uint32_t i = 0; i < links.count; i++) {
		const hob_pk_link *link = RT_AT(hob_pk_link, links, i);
		if (link->node >= a->pub.node_count || link->value >= limit ||
			(i > 0 && RT_AT(hob_pk_link, links, i - 1)->node >= link->node))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "link %u from node %u of %u to %s %u of %u", i,
							   link->node, a->pub.node_count, what, link->value, limit);
	}
	return true;
}

static bool check_scene_links(const rt_asset *a, hob_rt_error *error)
{
	/* Ids into a file that was not given cannot be checked and are not followed. */
	uint32_t meshes = a->mesh_pack.file ? a->mesh_records.count : HOB_RT_NONE;
	uint32_t materials = a->material_pack.file ? a->materials.count : HOB_RT_NONE;
	uint32_t skins = a->clip_pack.file ? a->skin_records.count : HOB_RT_NONE;
	return check_links(a, a->mesh_links, meshes, "mesh", error) &&
		   check_links(a, a->material_links, materials, "material", error) &&
		   check_links(a, a->camera_links, a->cameras.count, "camera", error) &&
		   check_links(a, a->light_links, a->lights.count, "light", error) &&
		   check_links(a, a->skin_links, skins, "skin", error) &&
		   check_links(a, a->weight_links, a->node_weights.count, "morph weight", error);
}

static bool check_scenes(rt_asset *a, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->roots.count; i++)
		if (*RT_AT(uint32_t, a->roots, i) >= a->pub.node_count)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "scene root %u is node %u of %u", i,
							   *RT_AT(uint32_t, a->roots, i), a->pub.node_count);
	for (uint32_t i = 0; i < a->scenes.count; i++) {
		const hob_pk_scene *scene = RT_AT(hob_pk_scene, a->scenes, i);
		if (!rt_within(scene->root_first, scene->root_count, a->roots.count) ||
			!check_name(a->scene_text, scene->name, error))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "scene %u has roots %u+%u of %u", i, scene->root_first,
							   scene->root_count, a->roots.count);
		if (scene->flags & HOB_PK_SCENE_DEFAULT)
			a->pub.default_scene = i;
	}
	return check_names(a->scene_text, a->cameras, offsetof(hob_pk_camera, name), "camera", error) &&
		   check_names(a->scene_text, a->lights, offsetof(hob_pk_light, name), "light", error);
}

static bool check_extras(const rt_asset *a, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->extras.count; i++) {
		const hob_pk_extra *extra = RT_AT(hob_pk_extra, a->extras, i);
		if (!check_name(a->scene_text, extra->values, error) ||
			!check_name(a->scene_text, extra->extensions, error))
			return hob_rt_fail_in(error, "extra", i);
		if (i > 0 && rt_extra_key(extra) <= rt_extra_key(RT_AT(hob_pk_extra, a->extras, i - 1)))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "extra %u is out of order", i);
	}
	return true;
}

static bool check_materials(const rt_asset *a, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->materials.count; i++) {
		const hob_pk_material *material = RT_AT(hob_pk_material, a->materials, i);
		for (int slot = 0; slot < 24; slot++)
			if (material->textures[slot] != HOB_PK_NONE && material->textures[slot] >= a->texrefs.count)
				return hob_rt_fail(error, HOB_RT_CORRUPT, "material %u uses texture %u of %u", i,
								   material->textures[slot], a->texrefs.count);
	}
	for (uint32_t i = 0; i < a->texrefs.count; i++) {
		const hob_pk_texref *ref = RT_AT(hob_pk_texref, a->texrefs, i);
		if (ref->image >= a->images.count ||
			(ref->sampler != HOB_PK_NONE && ref->sampler >= a->samplers.count))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "texture %u uses image %u of %u, sampler %u of %u", i,
							   ref->image, a->images.count, ref->sampler, a->samplers.count);
	}
	return check_names(a->material_text, a->materials, offsetof(hob_pk_material, name), "material", error) &&
		   check_names(a->image_text, a->images, offsetof(hob_pk_image, name), "image", error) &&
		   check_names(a->material_text, a->variants, 0, "variant", error);
}

bool hob_rt_packed_fill(rt_asset *a, hob_rt_error *error)
{
	return fill_nodes(a, error) && check_scene_links(a, error) && check_scenes(a, error) &&
		   check_extras(a, error) && check_materials(a, error) && hob_rt_packed_meshes_fill(a, error);
}
