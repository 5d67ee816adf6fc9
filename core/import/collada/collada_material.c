#include "collada_private.h"

#include "../../base/number.h"
#include "../shape.h"

/* A material for one kind of part: UV sets of its textures differ between parts. */
typedef struct variant {
	uint32_t uv_set[HOB_SLOT_COUNT];
	uint32_t id, before; /* previous variant of the same material */
} variant;

/* State of a <material>. */
typedef struct known_effect {
	hob_collada_effect effect;
	uint32_t last; /* last variant */
} known_effect;

static hob_xml_ptr instance_of(hob_xml_ptr instance, hob_str symbol)
{
	hob_xml_ptr list = hob_xml_find(instance, "bind_material/technique_common");
	hob_xml_ptr first = hob_xml_child(list, HOB_STR("instance_material"));
	for (hob_xml_ptr e = first; e; e = hob_xml_next(e, HOB_STR("instance_material")))
		if (hob_str_equal(hob_xml_attr(e, HOB_STR("symbol")), symbol))
			return e;
	return NULL;
}

static uint32_t set_index(const hob_collada_part *part, uint32_t number)
{
	for (uint32_t i = 0; i < part->uv_count; i++)
		if (part->uv_set[i] == number)
			return i;
	return HOB_NONE;
}

static bool trailing_number(hob_str text, uint32_t *number)
{
	size_t from = text.len;
	while (from > 0 && hob_is_digit(text.data[from - 1]))
		from--;
	int64_t value;
	if (from == text.len || !hob_number_int(text.data + from, text.data + text.len, &value) ||
		value >= HOB_NONE)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* UV set for a texture's coordinate name: by <bind_vertex_input>, by <bind> (old files), else by the number
 * at its end, else the first. */
static uint32_t uv_index(hob_collada *c, hob_xml_ptr instance, const hob_collada_part *part, hob_str texcoord)
{
	uint32_t number, index;
	HOB_XML_EACH (e, instance, "bind_vertex_input")
		if (hob_str_equal(hob_xml_attr(e, HOB_STR("semantic")), texcoord)) {
			number = hob_xml_attr_u32(e, HOB_STR("input_set"), 0);
			index = set_index(part, number);
			if (index == HOB_NONE && part->uv_count > 1)
				hob_warn(
					c->request->notes, "collada.missing-set",
					"line %u: texture coordinates of set %u are asked for, which the mesh does not have; its "
					"first set is used",
					e->line, number);
			return index == HOB_NONE ? 0 : index;
		}
	index = trailing_number(texcoord, &number) ? set_index(part, number) : HOB_NONE;
	return index == HOB_NONE ? 0 : index;
}

static known_effect *effect_of(hob_collada *c, hob_xml_ptr material)
{
	uint32_t *slot = &c->slot[material->number];
	if (*slot == HOB_NONE) {
		known_effect *known = HOB_NEW(c->request->scratch, known_effect, 1);
		HOB_PLACE("line #, material '@'", material->line, hob_xml_attr(material, HOB_STR("id")));
		hob_collada_read_effect(c, material, &known->effect);
		known->last = HOB_NONE;
		*slot = HOB_LISTS_COUNT(c->effects, known_effect *);
		hob_buf_put(&c->effects, &known, sizeof known);
	}
	return *HOB_LISTS_AT(c->effects, known_effect *, *slot);
}

static hob_xml_ptr material_element(hob_collada *c, hob_xml_ptr instance, const hob_collada_part *part)
{
	if (instance)
		return hob_collada_target(c, instance, "material", "target");
	if (part->symbol.len == 0)
		return NULL;
	/* Without a binding, the symbol is often the id. */
	hob_xml_ptr found = hob_collada_by_id(c, part->primitive, "material", part->symbol);
	if (!found)
		hob_warn(c->request->notes, "collada.no-binding",
				 "line %u: no material is bound to the symbol '%.*s'; the default material is used",
				 part->primitive->line, HOB_FMT(part->symbol));
	return found;
}

uint32_t hob_collada_material_of(hob_collada *c, hob_xml_ptr instance, const hob_collada_part *part)
{
	hob_xml_ptr binding = instance_of(instance, part->symbol);
	hob_xml_ptr material = material_element(c, binding, part);
	variant wanted = {{0}, HOB_NONE, HOB_NONE};
	if (!material || !hob_xml_is(material, HOB_STR("material")))
		return HOB_NONE;
	known_effect *known = effect_of(c, material);
	for (int s = 0; s < HOB_SLOT_COUNT; s++)
		if (known->effect.material.slots[s].image != HOB_NONE)
			wanted.uv_set[s] = uv_index(c, binding, part, known->effect.texcoord[s]);
	for (uint32_t v = known->last; v != HOB_NONE; v = HOB_LISTS_AT(c->variants, variant, v)->before) {
		const variant *other = HOB_LISTS_AT(c->variants, variant, v);
		if (memcmp(other->uv_set, wanted.uv_set, sizeof wanted.uv_set) == 0)
			return other->id;
	}
	hob_material made = known->effect.material;
	for (int s = 0; s < HOB_SLOT_COUNT; s++)
		made.slots[s].uv_set = wanted.uv_set[s];
	wanted.id = hob_lists_material(&c->lists, &made);
	wanted.before = known->last;
	known->last = HOB_LISTS_COUNT(c->variants, variant);
	hob_buf_put(&c->variants, &wanted, sizeof wanted);
	return wanted.id;
}
