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

typedef struct wanted {
	uint32_t type;
	size_t size;
	rt_array *array;
} wanted_t;

static bool find_all(const rt_pack *pack, const wanted_t *wanted, size_t count, hob_rt_error *error)
{
	for (size_t i = 0; i < count; i++)
		if (!hob_rt_pack_find(pack, wanted[i].type, wanted[i].size, wanted[i].array, error))
			return false;
	return true;
}

static bool find_scene(rt_asset *a, hob_rt_error *error)
{
	const wanted_t wanted[] = {
		{HOB_PK_HIER, sizeof(hob_pk_hierarchy), &a->hierarchy},
		{HOB_PK_TRS_, sizeof(hob_pk_trs), &a->trs},
		{HOB_PK_LOCL, sizeof(hob_pk_mat4), &a->local},
		{HOB_PK_NAMS, sizeof(uint32_t), &a->node_names},
		{HOB_PK_LMSH, sizeof(hob_pk_link), &a->mesh_links},
		{HOB_PK_LMAT, sizeof(hob_pk_link), &a->material_links},
		{HOB_PK_LCAM, sizeof(hob_pk_link), &a->camera_links},
		{HOB_PK_LLGT, sizeof(hob_pk_link), &a->light_links},
		{HOB_PK_LSKN, sizeof(hob_pk_link), &a->skin_links},
		{HOB_PK_LWGT, sizeof(hob_pk_link), &a->weight_links},
		{HOB_PK_WGTS, sizeof(float), &a->node_weights},
		{HOB_PK_CAMS, sizeof(hob_pk_camera), &a->cameras},
		{HOB_PK_LGTS, sizeof(hob_pk_light), &a->lights},
		{HOB_PK_SCNS, sizeof(hob_pk_scene), &a->scenes},
		{HOB_PK_ROOT, sizeof(uint32_t), &a->roots},
		{HOB_PK_XTRA, sizeof(hob_pk_extra), &a->extras},
	};
	if (!find_all(&a->scene_pack, wanted, sizeof wanted / sizeof wanted[0], error))
		return false;
	uint32_t count = a->hierarchy.count;
	if (a->trs.count != count || a->local.count != count ||
		(a->node_names.count != count && a->node_names.count != 0))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "%u nodes, %u transforms, %u matrices, %u names", count,
						   a->trs.count, a->local.count, a->node_names.count);
	return true;
}

static bool find_materials(rt_asset *a, hob_rt_error *error)
{
	const wanted_t wanted[] = {
		{HOB_PK_MATL, sizeof(hob_pk_material), &a->materials},
		{HOB_PK_TEXR, sizeof(hob_pk_texref), &a->texrefs},
		{HOB_PK_IMGS, sizeof(hob_pk_image), &a->images},
		{HOB_PK_TSMP, sizeof(hob_pk_texture_sampler), &a->samplers},
		{HOB_PK_VARI, sizeof(uint32_t), &a->variants},
	};
	return find_all(&a->material_pack, wanted, sizeof wanted / sizeof wanted[0], error);
}

static bool find_meshes(rt_asset *a, hob_rt_error *error)
{
	const wanted_t wanted[] = {
		{HOB_PK_MDSC, sizeof(hob_pk_mesh), &a->mesh_records},
		{HOB_PK_LODS, sizeof(hob_pk_lod), &a->lod_records},
		{HOB_PK_LODA, sizeof(hob_pk_lod_attributes), &a->lod_attributes},
		{HOB_PK_LODM, sizeof(float), &a->lod_means},
		{HOB_PK_LAYT, sizeof(hob_pk_layout), &a->layouts},
		{HOB_PK_ATTR, sizeof(hob_pk_attribute), &a->attribute_records},
		{HOB_PK_MRPH, sizeof(hob_pk_morph), &a->morphs},
		{HOB_PK_VMAP, sizeof(hob_pk_variant_map), &a->variant_maps},
		{HOB_PK_MLET, sizeof(hob_pk_meshlet), &a->meshlets},
		{HOB_PK_MLVT, sizeof(uint32_t), &a->meshlet_vertices},
		{HOB_PK_MLTR, sizeof(uint8_t), &a->meshlet_triangles},
		{HOB_PK_MDLT, sizeof(hob_pk_delta), &a->deltas},
		{HOB_PK_CLST, sizeof(hob_pk_cluster_set), &a->cluster_sets},
		{HOB_PK_CLGR, sizeof(hob_pk_cluster_group), &a->cluster_groups},
		{HOB_PK_CLUS, sizeof(uint32_t), &a->cluster_sources},
	};
	if (!find_all(&a->mesh_pack, wanted, sizeof wanted / sizeof wanted[0], error))
		return false;
	/* These are returned as plain C arrays. */
	if ((a->meshlets.count > 0 && a->meshlets.stride != sizeof(hob_pk_meshlet)) ||
		(a->meshlet_vertices.count > 0 && a->meshlet_vertices.stride != sizeof(uint32_t)) ||
		(a->meshlet_triangles.count > 0 && a->meshlet_triangles.stride != 1) ||
		(a->deltas.count > 0 && a->deltas.stride != sizeof(hob_pk_delta)) ||
		(a->cluster_groups.count > 0 && a->cluster_groups.stride != sizeof(hob_pk_cluster_group)) ||
		(a->cluster_sources.count > 0 && a->cluster_sources.stride != sizeof(uint32_t)))
		return hob_rt_fail(error, HOB_RT_UNSUPPORTED,
						   "meshlets, clusters or morph deltas are longer than this runtime knows");
	return true;
}

static bool find_clips(rt_asset *a, hob_rt_error *error)
{
	const wanted_t wanted[] = {
		{HOB_PK_CLIP, sizeof(hob_pk_clip), &a->clip_records},
		{HOB_PK_CHAN, sizeof(hob_pk_channel), &a->channels},
		{HOB_PK_PROP, sizeof(hob_pk_property_channel), &a->properties},
		{HOB_PK_SMPL, sizeof(hob_pk_sampler), &a->clip_samplers},
		{HOB_PK_TIME, sizeof(float), &a->times},
		{HOB_PK_VALS, sizeof(float), &a->values},
		{HOB_PK_SKIN, sizeof(hob_pk_skin), &a->skin_records},
		{HOB_PK_JNTS, sizeof(uint32_t), &a->joints},
		{HOB_PK_IBMS, sizeof(hob_pk_mat4), &a->inverse_binds},
	};
	if (!find_all(&a->clip_pack, wanted, sizeof wanted / sizeof wanted[0], error))
		return false;
	if ((a->times.count > 0 && a->times.stride != sizeof(float)) ||
		(a->values.count > 0 && a->values.stride != sizeof(float)) ||
		(a->joints.count > 0 && a->joints.stride != sizeof(uint32_t)))
		return hob_rt_fail(error, HOB_RT_UNSUPPORTED, "keys or joints are longer than this runtime knows");
	return true;
}

bool hob_rt_packed_lay_out(rt_asset *a, rt_memory *memory, hob_rt_error *error)
{
	rt_pack *packs[] = {&a->mesh_pack, &a->material_pack, &a->scene_pack, &a->clip_pack};
	for (int i = 0; i < 4; i++)
		if (!decode(a, packs[i], memory, error))
			return false;
	if (!find_scene(a, error) || !find_materials(a, error) || !find_meshes(a, error) || !find_clips(a, error))
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
		if (a->node_names.count > 0 && !check_name(a->node_text, *RT_AT(uint32_t, a->node_names, i), error))
			return hob_rt_fail_in(error, "node", i);
		a->parents[i] = parent < 0 ? HOB_RT_NONE : (uint32_t)parent;
	}
	return true;
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
	if (a->roots.count > 0 && a->roots.stride != sizeof(uint32_t))
		return hob_rt_fail(error, HOB_RT_UNSUPPORTED, "scene roots are longer than this runtime knows");
	for (uint32_t i = 0; i < a->scenes.count; i++) {
		const hob_pk_scene *scene = RT_AT(hob_pk_scene, a->scenes, i);
		if (scene->root_first > a->roots.count || scene->root_count > a->roots.count - scene->root_first ||
			!check_name(a->scene_text, scene->name, error))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "scene %u has roots %u+%u of %u", i, scene->root_first,
							   scene->root_count, a->roots.count);
		if (scene->flags & HOB_PK_SCENE_DEFAULT)
			a->pub.default_scene = i;
	}
	for (uint32_t i = 0; i < a->cameras.count; i++)
		if (!check_name(a->scene_text, RT_AT(hob_pk_camera, a->cameras, i)->name, error))
			return hob_rt_fail_in(error, "camera", i);
	for (uint32_t i = 0; i < a->lights.count; i++)
		if (!check_name(a->scene_text, RT_AT(hob_pk_light, a->lights, i)->name, error))
			return hob_rt_fail_in(error, "light", i);
	return true;
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
		if (!check_name(a->material_text, material->name, error))
			return hob_rt_fail_in(error, "material", i);
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
	for (uint32_t i = 0; i < a->images.count; i++)
		if (!check_name(a->image_text, RT_AT(hob_pk_image, a->images, i)->name, error))
			return hob_rt_fail_in(error, "image", i);
	for (uint32_t i = 0; i < a->variants.count; i++)
		if (!check_name(a->material_text, *RT_AT(uint32_t, a->variants, i), error))
			return hob_rt_fail_in(error, "variant", i);
	return true;
}

bool hob_rt_packed_fill(rt_asset *a, hob_rt_error *error)
{
	return fill_nodes(a, error) && check_scene_links(a, error) && check_scenes(a, error) &&
		   check_extras(a, error) && check_materials(a, error) && hob_rt_packed_meshes_fill(a, error);
}
