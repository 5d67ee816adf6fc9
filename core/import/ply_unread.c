#include "ply_unread.h"

enum { TEXT_MOST = 200, NAME_MOST = 40 };

static bool is_look(hob_str name)
{
	static const char *const parts[] = {"red", "green", "blue", "gray", "grey", "color", "material", "tex"};
	for (size_t k = 0; k < HOB_COUNT_OF(parts); k++)
		for (size_t i = 0, len = strlen(parts[k]); i + len <= name.len; i++)
			if (hob_str_equal_nocase(hob_str_sub(name, i, i + len), (hob_str){parts[k], len}))
				return true;
	return false;
}

void hob_ply_unread_add(hob_ply_unread *unread, const char *element, hob_str name)
{
	hob_buf *names = &unread->names;
	unread->matters = unread->matters || is_look(name);
	if (names->size < TEXT_MOST)
		hob_buf_printf(names, "%s%s '%.*s'", names->size > 0 ? ", " : "", element,
					   HOB_FMT(hob_str_sub(name, 0, NAME_MOST)));
	else if (names->data[names->size - 1] != '.')
		hob_buf_printf(names, " ...");
}

void hob_ply_unread_say(const hob_ply_unread *unread, hob_notes *notes)
{
	if (unread->names.size > 0 && !unread->names.failed)
		hob_note_add(notes, unread->matters ? HOB_NOTE_WARNING : HOB_NOTE_INFO, "ply.properties",
					 "properties that are not read: %.*s", (int)unread->names.size,
					 (const char *)unread->names.data);
	if (unread->splats)
		hob_warn(notes, "ply.splats",
				 "3D Gaussian splats are shown as coloured points; their shape, opacity and change of "
				 "colour with direction are left out");
}
