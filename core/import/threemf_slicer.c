#include "threemf_private.h"
#include "text.h"

enum { SETTINGS_MAX = 1 << 24 };

typedef hob_threemf_setting setting;

static hob_str value_of(const hob_xml_element *of, hob_str key)
{
	HOB_XML_EACH (e, of, "metadata")
		if (hob_str_equal(hob_xml_attr(e, HOB_STR("key")), key))
			return hob_xml_attr(e, HOB_STR("value"));
	return (hob_str){0};
}

static uint32_t extruder_of(hob_threemf *t, const hob_xml_element *e)
{
	hob_str text = value_of(e, HOB_STR("extruder"));
	double value = 0;
	bool said = text.len > 0 && hob_xml_doubles(text, &value, 1) == 1 && value >= 1 && value <= 256;
	t->extruders = t->extruders || said;
	return said ? (uint32_t)value : 0;
}

static bool is_helper(const hob_xml_element *e)
{
	hob_str part = hob_xml_attr(e, HOB_STR("subtype")), volume = value_of(e, HOB_STR("volume_type"));
	return (part.len > 0 && !hob_str_equal(part, HOB_STR("normal_part"))) ||
		   (volume.len > 0 && !hob_str_equal(volume, HOB_STR("ModelPart"))) ||
		   hob_str_equal(value_of(e, HOB_STR("modifier")), HOB_STR("1"));
}

/* Adds the setting of a component, or with HOB_NONE of the object itself. */
static void put(hob_threemf *t, const hob_xml_element *e, uint32_t object, uint32_t component)
{
	setting s = {.next = HOB_NONE,
				 .name = value_of(e, HOB_STR("name")),
				 .helper = is_helper(e),
				 .extruder = extruder_of(t, e)};
	t->helpers += s.helper;
	hob_threemf_keep(t, &t->setting_ids, object, component, HOB_LISTS_COUNT(t->settings, setting));
	hob_buf_put(&t->settings, &s, sizeof s);
}

static void put_object(hob_threemf *t, const hob_xml_element *object)
{
	uint32_t id = hob_xml_attr_u32(object, HOB_STR("id"), HOB_NONE);
	uint32_t last = HOB_LISTS_COUNT(t->settings, setting);
	put(t, object, id, HOB_NONE);
	for (const hob_xml_element *e = object->first; e; e = e->next) {
		if (hob_xml_is(e, HOB_STR("part")))
			put(t, e, id, hob_xml_attr_u32(e, HOB_STR("id"), HOB_NONE));
		if (!hob_xml_is(e, HOB_STR("volume")))
			continue;
		setting s = {.first = hob_xml_attr_u32(e, HOB_STR("firstid"), HOB_NONE),
					 .last = hob_xml_attr_u32(e, HOB_STR("lastid"), 0),
					 .next = HOB_NONE,
					 .helper = is_helper(e)};
		t->helpers += s.helper;
		t->split = t->split || (!s.helper && extruder_of(t, e) > 0);
		uint32_t at = HOB_LISTS_COUNT(t->settings, setting);
		hob_buf_put(&t->settings, &s, sizeof s);
		HOB_THREEMF_AT(t->settings, setting, last)->next = at;
		last = at;
	}
}

static void read_settings(hob_threemf *t, hob_str path)
{
	hob_arena *scratch = t->request->scratch;
	hob_zip_member member;
	hob_bytes bytes;
	hob_xml xml;
	/* Optional metadata: an unreadable file is ignored. */
	if (!hob_zip_find(&t->archive, path, &member) ||
		!hob_zip_unpack(scratch, &member, SETTINGS_MAX, &bytes) ||
		!hob_xml_parse(scratch, bytes, NULL, &xml, NULL))
		return;
	HOB_XML_EACH (o, xml.root, "object")
		put_object(t, o);
}

void hob_threemf_settings(hob_threemf *t)
{
	hob_name_map_init(&t->setting_ids, t->request->scratch);
	read_settings(t, HOB_STR("Metadata/model_settings.config"));
	read_settings(t, HOB_STR("Metadata/Slic3r_PE_model.config"));
	if (t->helpers > 0)
		hob_info(t->request->notes, "3mf.helpers",
				 "%u parts are modifiers, supports or cuts of the slicer's own; they are left out",
				 t->helpers);
	hob_threemf_filaments(t);
	if ((t->extruders && t->filaments.size == 0) || t->split)
		hob_info(t->request->notes, "3mf.filaments", "parts are printed with several filaments; %s",
				 t->split ? "an object has the colour of its first"
						  : "no file in the package has their colours");
}

/* Source: Cura 5, ThreeMFWriter: settings of an object as metadata under their own names, booleans as Python
 * writes them. */
bool hob_threemf_steers(hob_threemf *t, const hob_xml_element *object)
{
	const char *const *kinds =
		HOB_WORDS("cura:infill_mesh", "cura:cutting_mesh", "cura:support_mesh", "cura:anti_overhang_mesh");
	const hob_xml_element *group = hob_xml_child(object, HOB_STR("metadatagroup"));
	HOB_XML_EACH (e, group, "metadata") {
		const char *kind = kinds[hob_text_index(hob_xml_attr(e, HOB_STR("name")), kinds)];
		if (!kind || !hob_str_equal_nocase(hob_xml_text(e), HOB_STR("true")))
			continue;
		hob_info(t->request->notes, "3mf.helpers",
				 "line %u: object '%.*s' is no shape but a %s; it is left out", object->line,
				 HOB_FMT(hob_xml_attr(object, HOB_STR("name"))), kind);
		return true;
	}
	return false;
}

const setting *hob_threemf_setting_of(const hob_threemf *t, uint32_t object, uint32_t component)
{
	uint32_t at = hob_threemf_kept(&t->setting_ids, object, component);
	return at == HOB_NONE ? NULL : HOB_THREEMF_AT(t->settings, setting, at);
}

uint32_t hob_threemf_extruder(const hob_threemf *t, uint32_t object, uint32_t component)
{
	const setting *s = hob_threemf_setting_of(t, object, component);
	const setting *whole = hob_threemf_setting_of(t, object, HOB_NONE);
	if (s && s->extruder > 0)
		return s->extruder;
	return whole && whole->extruder > 0 ? whole->extruder : whole != NULL;
}

void hob_threemf_helper_triangles(const hob_threemf *t, uint32_t object, uint32_t *bucket_of, uint32_t count)
{
	const setting *s = hob_threemf_setting_of(t, object, HOB_NONE);
	uint32_t at = 0; /* volumes are sorted and do not overlap */
	while (s && s->next != HOB_NONE) {
		s = HOB_THREEMF_AT(t->settings, setting, s->next);
		at = s->first > at ? s->first : at;
		for (; at <= s->last && at < count; at++)
			bucket_of[at] = s->helper ? HOB_NONE : 0;
	}
}
