#include "compare_parts.h"

#include <stdio.h>

static const hob_str none;

static const hob_pk_image *image_of(const compare_files *f, uint32_t i)
{
	return HOB_PACK_AT(hob_pk_image, f->image, i);
}

static const hob_pk_material *material_of(const compare_files *f, uint32_t i)
{
	return HOB_PACK_AT(hob_pk_material, f->material, i);
}

static const hob_pk_texref *texref_of(const compare_files *f, uint32_t i)
{
	return i < f->texref.count ? HOB_PACK_AT(hob_pk_texref, f->texref, i) : NULL;
}

static hob_str image_name(const compare_files *f, uint32_t image)
{
	return image < f->image.count ? hob_pack_string(&f->materials, image_of(f, image)->name) : none;
}

hob_str hob_compare_material_name(const compare_files *f, uint32_t material)
{
	return material < f->material.count ? hob_pack_string(&f->materials, material_of(f, material)->name)
										: none;
}

/* "BASE_COLOR" -> "base colour": the name of a slot for people. */
static const char *slot_words(uint32_t slot, char out[48])
{
	const char *name = hob_format_name_of("slot", slot);
	size_t at = 0;
	for (name = name && strncmp(name, "SLOT_", 5) == 0 ? name + 5 : name; name && name[at] && at < 47; at++)
		out[at] = (char)(name[at] == '_'					  ? ' '
						 : name[at] >= 'A' && name[at] <= 'Z' ? name[at] + 32
															  : name[at]);
	out[at] = 0;
	return out;
}

/* ---- textures */

static bool same_picture(const comparison *c, uint32_t a, uint32_t b)
{
	return memcmp(image_of(&c->a, a)->cooked_sha256, image_of(&c->b, b)->cooked_sha256, 32) == 0;
}

/* The slots that use the image: " (normal, base color)". */
static const char *uses_of(const compare_files *f, uint32_t image, char out[96])
{
	uint32_t told = 0;
	size_t at = 0;
	out[0] = 0;
	for (uint32_t i = 0; i < f->texref.count && at < 60; i++) {
		const hob_pk_texref *ref = texref_of(f, i);
		char word[48];
		if (ref->image != image || (told >> ref->slot & 1))
			continue;
		told |= 1u << ref->slot;
		at += (size_t)snprintf(out + at, 96 - at, "%s%s", at > 0 ? ", " : " (", slot_words(ref->slot, word));
	}
	if (at > 0)
		snprintf(out + at, 96 - at, ")");
	return out;
}

static void changed_picture(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	const hob_pk_image *one = image_of(&c->a, a), *other = image_of(&c->b, b);
	char uses[96];
	bool lost = !(one->flags & HOB_PK_IMAGE_PLACEHOLDER) && (other->flags & HOB_PK_IMAGE_PLACEHOLDER);
	bool found = (one->flags & HOB_PK_IMAGE_PLACEHOLDER) && !(other->flags & HOB_PK_IMAGE_PLACEHOLDER);
	uses_of(&c->b, b, uses);
	if (lost)
		hob_compare_differs(c, TONE_BAD, "texture", name, "%s%s cannot be read: a checkerboard replaces it",
							called, uses);
	else if (found)
		hob_compare_differs(c, TONE_GOOD, "texture", name, "%s%s can be read again", called, uses);
	else if (one->width != other->width || one->height != other->height)
		hob_compare_differs(c, other->bytes > one->bytes ? TONE_WARN : TONE_NOTE, "texture", name,
							"%s%s has %u x %u pixels, was %u x %u", called, uses, other->width, other->height,
							one->width, one->height);
	else if (one->vk_format != other->vk_format || one->container != other->container ||
			 one->mips != other->mips)
		hob_compare_differs(c, TONE_NOTE, "texture", name,
							"%s%s is stored in another form: %llu bytes, was %llu", called, uses,
							(unsigned long long)other->bytes, (unsigned long long)one->bytes);
	else if (!same_picture(c, a, b))
		hob_compare_differs(c, TONE_NOTE, "texture", name, "%s%s shows another picture", called, uses);
}

/* ---- materials */

static bool same_looks(const comparison *c, uint32_t a, uint32_t b)
{
	uint32_t count;
	const format_field *fields = hob_format_record("material", &count);
	const uint8_t *one = (const uint8_t *)material_of(&c->a, a),
				  *other = (const uint8_t *)material_of(&c->b, b);
	for (uint32_t i = 0; i < count; i++)
		if (hob_compare_field_differs(&fields[i], one, other))
			return false;
	for (uint32_t slot = 0; slot < 24; slot++) {
		const hob_pk_texref *r = texref_of(&c->a, material_of(&c->a, a)->textures[slot]);
		const hob_pk_texref *s = texref_of(&c->b, material_of(&c->b, b)->textures[slot]);
		if (!r != !s || (r && !hob_str_equal(image_name(&c->a, r->image), image_name(&c->b, s->image))))
			return false;
	}
	return true;
}

static void changed_texture_uses(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	for (uint32_t slot = 0; slot < 24; slot++) {
		const hob_pk_texref *r = texref_of(&c->a, material_of(&c->a, a)->textures[slot]);
		const hob_pk_texref *s = texref_of(&c->b, material_of(&c->b, b)->textures[slot]);
		char word[48];
		hob_str was = r ? image_name(&c->a, r->image) : none;
		hob_str now = s ? image_name(&c->b, s->image) : none;
		slot_words(slot, word);
		if (r && !s)
			hob_compare_differs(c, TONE_BAD, "material", name, "%s has lost its %s texture '%.*s'", called,
								word, HOB_FMT(was));
		else if (s && !r)
			hob_compare_differs(c, TONE_NOTE, "material", name, "%s has a %s texture now: '%.*s'", called,
								word, HOB_FMT(now));
		else if (r && !hob_str_equal(was, now))
			hob_compare_differs(c, TONE_NOTE, "material", name, "%s: %s texture '%.*s', was '%.*s'", called,
								word, HOB_FMT(now), HOB_FMT(was));
		else if (r && (r->uv_set != s->uv_set || r->rotation != s->rotation ||
					   memcmp(r->offset, s->offset, 16) != 0))
			hob_compare_differs(c, TONE_NOTE, "material", name,
								"%s: its %s texture lies elsewhere on the surface", called, word);
	}
}

static void changed_material(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	hob_compare_fields(c, "material", (const uint8_t *)material_of(&c->a, a),
					   (const uint8_t *)material_of(&c->b, b), called, name);
	changed_texture_uses(c, a, b, called, name);
}

void hob_compare_looks(comparison *c)
{
	static const compare_kind kinds[] = {{COMPARE_KIND("texture", image, materials, hob_pk_image), TONE_WARN,
										  same_picture, changed_picture, offsetof(compare_tally, textures)},
										 {COMPARE_KIND("material", material, materials, hob_pk_material),
										  TONE_WARN, same_looks, changed_material,
										  offsetof(compare_tally, materials)},
										 {"variant", offsetof(compare_files, variants),
										  offsetof(compare_files, materials), 0, TONE_BAD, NULL, NULL, 0}};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		hob_compare_kind(c, &kinds[i]);
}
