#include "threemf_private.h"

#include "../base/number.h"
#include "shape.h"

enum { SETTINGS_MAX = 1 << 24, FILAMENTS_MAX = 256 };

static const hob_str key = {"filament_colour", 15};

/* Offset of the key's values; other keys may end with the same name. */
static size_t find_key(hob_str text)
{
	for (size_t at = 0; (at = hob_str_find(text, key, at)) < text.len; at += key.len) {
		char before = at > 0 ? text.data[at - 1] : ' ';
		if (before == '"' || before == ' ' || before == '\n')
			return at + key.len;
	}
	return text.len;
}

/* Reads colours: "#FF0000", "#00FF00" in brackets, or #FF0000;#00FF00 up to the end of the line. */
static void read_colors(hob_threemf *t, hob_str text)
{
	size_t at = find_key(text), end = at;
	while (end < text.len && text.data[end] != '[' && text.data[end] != '\n')
		end++;
	char last = end < text.len && text.data[end] == '[' ? ']' : '\n';
	for (end = last == ']' ? end : at; end < text.len && text.data[end] != last;)
		end++;
	while (at < end && HOB_LISTS_COUNT(t->filaments, hob_threemf_filament_entry) < FILAMENTS_MAX) {
		size_t from = hob_str_find(text, HOB_STR("#"), at), to = from + 1;
		if (from >= end)
			break;
		while (to < end && (hob_is_digit(text.data[to]) || (text.data[to] >= 'A' && text.data[to] <= 'F') ||
							(text.data[to] >= 'a' && text.data[to] <= 'f')))
			to++;
		hob_threemf_filament_entry entry = {.material = HOB_NONE, .color = {1, 1, 1, 1}};
		hob_threemf_read_color(hob_str_sub(text, from, to), entry.color);
		hob_buf_put(&t->filaments, &entry, sizeof entry);
		at = to;
	}
}

void hob_threemf_filaments(hob_threemf *t)
{
	static const char *const names[] = {"Metadata/project_settings.config", "Metadata/Slic3r_PE.config"};
	for (size_t i = 0; i < HOB_COUNT_OF(names) && t->filaments.size == 0; i++) {
		hob_zip_member member;
		hob_bytes bytes;
		if (hob_zip_find(&t->archive, hob_str_of(names[i]), &member) &&
			hob_zip_unpack(t->request->scratch, &member, SETTINGS_MAX, &bytes))
			read_colors(t, (hob_str){(const char *)bytes.data, bytes.size});
	}
}

uint32_t hob_threemf_filament(hob_threemf *t, uint32_t extruder)
{
	if (extruder == 0 || extruder > HOB_LISTS_COUNT(t->filaments, hob_threemf_filament_entry))
		return HOB_NONE;
	hob_threemf_filament_entry *entry =
		HOB_THREEMF_AT(t->filaments, hob_threemf_filament_entry, extruder - 1);
	if (entry->material == HOB_NONE) {
		hob_material made;
		hob_shape_plain_material(&made, hob_arena_printf(t->request->result, "Filament %u", extruder));
		memcpy(made.base_color, entry->color, sizeof made.base_color);
		if (entry->color[3] < 1)
			made.alpha_mode = HOB_ALPHA_BLEND;
		entry->material = hob_lists_material(&t->lists, &made);
	}
	return entry->material;
}
