#include "pack_check.h"

enum {
	SLOTS = HOB_PK_SLOT_BUMP + 1,
	KNOWN_FLAGS = 0x7F,
	KNOWN_EXTENSIONS = 0x1FFF,
	KNOWN_IMAGE_FLAGS = 0x1F
};

typedef struct material_checker {
	const check_file *file;
	check_section materials, refs, images, samplers, variants;
} material_checker;

static bool check_numbers(const material_checker *c, hob_pk_material m)
{
	CHECK(c->file, m.attenuation_distance > 0, "attenuation distance is not positive");
	m.attenuation_distance = 0;
	/* All of the record but these words are floats. */
	m.flags = m.ext_mask = m.name = 0;
	float numbers[208 / 4];
	memcpy(numbers, &m, sizeof numbers);
	for (size_t i = 0; i < HOB_COUNT_OF(numbers); i++)
		CHECK(c->file, hob_check_finite(&numbers[i], 1), "float at byte %zu is not finite", i * 4);
	return true;
}

static bool check_material(const material_checker *c, uint32_t id, uint32_t *ref)
{
	READ(material, m, c->materials, id);
	CHECK(c->file, !(m.flags & ~(uint32_t)KNOWN_FLAGS) && !(m.ext_mask & ~(uint32_t)KNOWN_EXTENSIONS),
		  "flags %x, extensions %x", m.flags, m.ext_mask);
	CHECK(c->file, (m.flags & 24) != 24, "both MASK and BLEND");
	CHECK(c->file, !(m.reserved0 | m.reserved[0] | m.reserved[1] | m.reserved[2] | m.reserved[3]),
		  "reserved fields are not zero");
	if (!hob_check_name(c->file, m.name) || !check_numbers(c, m))
		return false;
	for (uint32_t s = 0; s < HOB_COUNT_OF(m.textures); s++) {
		if (m.textures[s] == HOB_PK_NONE)
			continue;
		CHECK(c->file, s < SLOTS && m.textures[s] == *ref && *ref < c->refs.entry.count,
			  "texture reference %u in slot %u, want %u", m.textures[s], s, *ref);
		READ(texref, texref, c->refs, *ref);
		CHECK(c->file, texref.slot == s, "texture reference %u says slot %u", *ref, texref.slot);
		++*ref;
	}
	return true;
}

static bool check_ref(const material_checker *c, uint32_t id)
{
	READ(texref, r, c->refs, id);
	CHECK(c->file, r.image < c->images.entry.count, "image %u of %u", r.image, c->images.entry.count);
	CHECK(c->file, r.sampler == HOB_PK_NONE || r.sampler < c->samplers.entry.count, "sampler %u of %u",
		  r.sampler, c->samplers.entry.count);
	CHECK(c->file, r.uv_set < 8 && r.reserved == 0, "uv set %u", r.uv_set);
	CHECK(c->file,
		  hob_check_finite(r.offset, 2) && hob_check_finite(r.scale, 2) && hob_check_finite(&r.rotation, 1),
		  "transform is not finite");
	return true;
}

static bool check_image(const material_checker *c, uint32_t id)
{
	READ(image, image, c->images, id);
	CHECK(c->file, image.container <= HOB_PK_IMAGE_PNG && !(image.flags & ~(uint32_t)KNOWN_IMAGE_FLAGS),
		  "container %u, flags %x", image.container, image.flags);
	CHECK(c->file, image.container == HOB_PK_IMAGE_SOURCE_FILE || (image.width && image.height && image.mips),
		  "%ux%u pixels, %u levels", image.width, image.height, image.mips);
	CHECK(c->file, image.layers == 1 && image.mips <= 16, "%u layers, %u levels", image.layers, image.mips);
	return hob_check_name(c->file, image.name);
}

bool hob_check_materials(const check_file *file)
{
	material_checker c = {
		.file = file,
		.materials = hob_check_find(file, HOB_PK_MATL),
		.refs = hob_check_find(file, HOB_PK_TEXR),
		.images = hob_check_find(file, HOB_PK_IMGS),
		.samplers = hob_check_find(file, HOB_PK_TSMP),
		.variants = hob_check_find(file, HOB_PK_VARI),
	};
	uint32_t ref = 0;
	for (uint32_t i = 0; i < c.materials.entry.count; i++)
		if (!check_material(&c, i, &ref))
			return hob_fail_in(file->err, "material %u", i);
	CHECK(file, ref == c.refs.entry.count, "%u of %u texture references are used", ref, c.refs.entry.count);
	for (uint32_t i = 0; i < c.refs.entry.count; i++)
		if (!check_ref(&c, i))
			return hob_fail_in(file->err, "texture reference %u", i);
	for (uint32_t i = 0; i < c.images.entry.count; i++)
		if (!check_image(&c, i))
			return hob_fail_in(file->err, "image %u", i);
	for (uint32_t i = 0; i < c.samplers.entry.count; i++) {
		READ(texture_sampler, s, c.samplers, i);
		CHECK(file, s.wrap_u <= 2 && s.wrap_v <= 2 && s.mag <= 2 && s.min <= 6, "sampler %u: %u %u %u %u", i,
			  s.wrap_u, s.wrap_v, s.mag, s.min);
	}
	for (uint32_t i = 0; i < c.variants.entry.count; i++)
		if (!hob_check_name(file, hob_check_u32(&c.variants, i)))
			return hob_fail_in(file->err, "variant %u", i);
	return true;
}
