#include "base.h"

#include <stdio.h>

void hob_note_add(hob_notes *notes, hob_note_level level, const char *code, const char *fmt, ...)
{
	if (!notes)
		return;
	char text[512];
	va_list args;
	va_start(args, fmt);
	int length = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (length < 0)
		length = 0;
	hob_str said = {text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1};
	hob_str id = hob_str_of(code);
	for (uint32_t i = 0; i < notes->count; i++) {
		hob_note *known = &notes->items[i];
		if (hob_str_equal(known->code, id) && hob_str_equal(known->text, said)) {
			known->count++;
			return;
		}
	}
	hob_str kept = {0}, kept_id = {0};
	if (notes->count < HOB_NOTE_LIMIT) {
		kept = hob_arena_str(notes->arena, said);
		kept_id = hob_arena_str(notes->arena, id);
	}
	if (!kept.data || !kept_id.data) {
		notes->dropped++;
		return;
	}
	notes->items[notes->count++] = (hob_note){level, kept_id, kept, 1};
}
