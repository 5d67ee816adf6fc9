#include "pack_build.h"

_Static_assert(HOB_PK_SLOT_BUMP + 1 == (int)HOB_SLOT_COUNT, "tables and model.h disagree");
_Static_assert(HOB_PK_EXT_SPEC_GLOSS == 1 << (int)HOB_MATERIAL_SPEC_GLOSS, "tables and model.h disagree");
_Static_assert(HOB_PK_EXT_UNLIT == 1 << (int)HOB_MATERIAL_UNLIT, "tables and model.h disagree");
_Static_assert(HOB_PK_WRAP_MIRROR == (int)HOB_WRAP_MIRROR, "tables and model.h disagree");
_Static_assert(HOB_PK_FILTER_LINEAR_MIP_LINEAR == (int)HOB_FILTER_LINEAR_MIP_LINEAR,
			   "tables and model.h disagree");
_Static_assert(HOB_PK_IMAGE_ORM == (int)HOB_IMAGE_ORM, "tables and baked.h disagree");
_Static_assert(HOB_PK_IMAGE_PNG == (int)HOB_IMAGE_PNG, "tables and baked.h disagree");

/* Materials of less transparency are opaque, as in the reference converter. */
static const float opaque_threshold = 0.05f;

static void put_reference_fields(hob_pk_material *r, const hob_material *m)
{
	r->flags = HOB_PK_MATERIAL_CAST_SHADOW | HOB_PK_MATERIAL_RECEIVE_SHADOW;
	r->flags |= m->double_sided ? HOB_PK_MATERIAL_DOUBLE_SIDED : 0u;
	r->flags |= m->ext_mask & HOB_PK_EXT_UNLIT ? HOB_PK_MATERIAL_IS_UNLIT : 0u;
	r->aniso_roughness[0] = r->aniso_roughness[1] = m->roughness;
	if (m->alpha_mode == HOB_ALPHA_MASK) {
		r->flags |= HOB_PK_MATERIAL_MASK;
		r->alpha_test = m->alpha_cutoff;
	} else if (m->slots[HOB_SLOT_OPACITY].image != HOB_NONE) {
		r->alpha_test = 0.5f;
	}
	if (m->alpha_mode == HOB_ALPHA_BLEND) {
		float transparency = 1 - m->base_color[3];
		r->flags |= HOB_PK_MATERIAL_BLEND | HOB_PK_MATERIAL_TRANSPARENT;
		r->transparency = transparency > opaque_threshold ? transparency : 0;
		/* glTF ignores the cutoff of blended materials. One other than the default 0.5, from a name rule or
		 * the file, is kept for the alpha test of the reference renderer. */
		if (m->alpha_cutoff < 0.5f || m->alpha_cutoff > 0.5f)
			r->alpha_test = m->alpha_cutoff;
	}
}

static void put_material(pack_builder *b, hob_pk_material *r, const hob_material *m)
{
	*r = (hob_pk_material){
		.emissive_strength = m->emissive_strength,
		.metallic = m->metallic,
		.roughness = m->roughness,
		.normal_scale = m->normal_scale,
		.occlusion_strength = m->occlusion_strength,
		.alpha_cutoff = m->alpha_cutoff,
		.ior = m->ior,
		.dispersion = m->dispersion,
		.ext_mask = m->ext_mask,
		.name = hob_pack_add_string(b, m->name),
		.specular = m->specular,
		.clearcoat = m->clearcoat,
		.clearcoat_roughness = m->clearcoat_roughness,
		.clearcoat_normal_scale = m->clearcoat_normal_scale,
		.transmission = m->transmission,
		.sheen_roughness = m->sheen_roughness,
		.attenuation_distance = m->attenuation_distance,
		.thickness = m->thickness,
		.anisotropy = m->anisotropy,
		.anisotropy_rotation = m->anisotropy_rotation,
		.iridescence = m->iridescence,
		.iridescence_ior = m->iridescence_ior,
		.iridescence_min = m->iridescence_min,
		.iridescence_max = m->iridescence_max,
		.diffuse_transmission = m->diffuse_transmission,
	};
	memcpy(r->base_color, m->base_color, sizeof r->base_color);
	memcpy(r->emissive, m->emissive, sizeof r->emissive);
	memcpy(r->specular_color, m->specular_color, sizeof r->specular_color);
	memcpy(r->sheen_color, m->sheen_color, sizeof r->sheen_color);
	memcpy(r->attenuation_color, m->attenuation_color, sizeof r->attenuation_color);
	memcpy(r->diffuse_transmission_color, m->diffuse_transmission_color,
		   sizeof r->diffuse_transmission_color);
	put_reference_fields(r, m);
}

static void put_texrefs(pack_builder *b, const hob_baked_materials *from, hob_pk_material *records)
{
	size_t count = 0, at = 0;
	for (uint32_t m = 0; m < from->material_count; m++)
		for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++)
			count += from->materials[m].slots[s].image != HOB_NONE;
	hob_pk_texref *refs = PACK_TABLE(b, HOB_PK_TEXR, hob_pk_texref, count);
	for (uint32_t m = 0; m < from->material_count; m++) {
		memset(records[m].textures, 0xFF, sizeof records[m].textures);
		for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++) {
			const hob_texture_ref *ref = &from->materials[m].slots[s];
			if (ref->image == HOB_NONE)
				continue;
			records[m].textures[s] = (uint32_t)at;
			refs[at++] = (hob_pk_texref){
				.image = ref->image,
				.sampler = ref->sampler,
				.uv_set = (uint8_t)ref->uv_set,
				.slot = (uint8_t)s,
				.offset = {ref->offset[0], ref->offset[1]},
				.scale = {ref->scale[0], ref->scale[1]},
				.rotation = ref->rotation,
			};
		}
	}
}

static void put_images(pack_builder *b, const hob_baked_materials *from)
{
	hob_pk_image *images = PACK_TABLE(b, HOB_PK_IMGS, hob_pk_image, from->image_count);
	for (uint32_t i = 0; i < from->image_count; i++) {
		const hob_baked_image *image = &from->images[i];
		images[i] = (hob_pk_image){
			.name = hob_pack_add_string(b, image->name),
			.container = image->container,
			.width = image->width,
			.height = image->height,
			.mips = image->mips,
			.layers = 1,
			.vk_format = image->vk_format,
			.flags = image->flags,
			.bytes = image->bytes,
		};
		memcpy(images[i].cooked_sha256, image->cooked_sha256, sizeof images[i].cooked_sha256);
		memcpy(images[i].source_sha256, image->source_sha256, sizeof images[i].source_sha256);
	}
}

static void put_samplers(pack_builder *b, const hob_baked_materials *from)
{
	hob_pk_texture_sampler *samplers =
		PACK_TABLE(b, HOB_PK_TSMP, hob_pk_texture_sampler, from->sampler_count);
	for (uint32_t i = 0; i < from->sampler_count; i++)
		samplers[i] = (hob_pk_texture_sampler){
			.wrap_u = (uint8_t)from->samplers[i].wrap_u,
			.wrap_v = (uint8_t)from->samplers[i].wrap_v,
			.mag = (uint8_t)from->samplers[i].mag,
			.min = (uint8_t)from->samplers[i].min,
		};
}

static void put_file(pack_builder *b, const void *baked)
{
	const hob_baked_materials *from = baked;
	hob_pk_material *records = PACK_TABLE(b, HOB_PK_MATL, hob_pk_material, from->material_count);
	for (uint32_t m = 0; m < from->material_count; m++)
		put_material(b, &records[m], &from->materials[m]);
	put_texrefs(b, from, records);
	put_images(b, from);
	put_samplers(b, from);
	uint32_t *variants = PACK_TABLE(b, HOB_PK_VARI, uint32_t, from->variant_count);
	for (uint32_t v = 0; v < from->variant_count; v++)
		variants[v] = hob_pack_add_string(b, from->variants[v]);
}

bool hob_pack_materials(const hob_baked_materials *materials, const hob_pack_options *options, hob_buf *out,
						hob_error *err)
{
	return hob_pack_write(HOB_PK_KIND_MATL, put_file, materials, options, out, err);
}
