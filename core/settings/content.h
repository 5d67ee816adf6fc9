/* content.h - reads what an asset holds: the last member of its report (core/cook/report.c),
 * ,"content":[{"kind":"clip","name":"Walk","ms":708},..]
 * of which a record keeps the text behind its counts. Pure functions on memory. */
#ifndef HOB_CONTENT_H
#define HOB_CONTENT_H

#include "../base/base.h"

/* Most bytes of a list; its last item may pass it. */
enum { HOB_CONTENT_MAX = 65536 };

typedef enum hob_content_kind {
	HOB_CONTENT_TEXTURE,
	HOB_CONTENT_MATERIAL,
	HOB_CONTENT_CLIP,
	HOB_CONTENT_FEATURE,
	HOB_CONTENT_KINDS
} hob_content_kind;

typedef struct hob_content {
	hob_content_kind kind;
	hob_str name;				 /* within the quotes of JSON */
	hob_str hash, by;			 /* of a texture: within the model; which setting cut it. Or empty */
	uint64_t number;			 /* textures of a material, milliseconds of a clip */
	uint64_t source[2], size[2]; /* of a texture: sides in the source and as cooked */
} hob_content;

extern const char *const hob_content_words[HOB_CONTENT_KINDS];

/* Takes the next item of a list, "[{..},{..}]"; false at its end, where "]" is left. */
bool hob_content_next(hob_str *list, hob_content *out);
/* The member in a report, or in the counts of a record, with the comma before it; empty: it has none, or one
 * that no cook wrote. `end` is what follows it. */
hob_str hob_content_in(hob_str text, hob_str end);
/* Splits the counts of a record from the list, empty if there is none. */
hob_str hob_content_cut(hob_arena *arena, hob_str stats, hob_str *list);

#endif
