/* describe_text.h - pieces of the text description. */
#ifndef HOB_DESCRIBE_TEXT_H
#define HOB_DESCRIBE_TEXT_H

#include "describe_value.h"
#include "number_text.h"

#include <stdio.h>

typedef struct text_writer {
	hob_buf *out;
	uint32_t max_rows;
	bool color;
} text_writer;

void hob_text_heading(text_writer *t, const char *fmt, ...) HOB_PRINTF(2, 3);
uint32_t hob_text_rows(const text_writer *t, uint32_t count);
/* "... and n more" if rows were left out. */
void hob_text_more(text_writer *t, uint32_t count, const char *indent);
void hob_text_floats(text_writer *t, const float *values, size_t count);
void hob_text_name(text_writer *t, hob_str name);
/* " what {json}" on one line, cut if it is very long. */
void hob_text_json(text_writer *t, const char *what, hob_str json);
/* ", mesh 3" or ", no mesh". */
void hob_text_id(text_writer *t, const char *what, uint32_t id);
/* ", has tangents, lines": the names of the set bits. */
void hob_text_bits(text_writer *t, const char *group, uint32_t bits);
void hob_text_word(text_writer *t, const char *name);

/* The tables of one kind of a valid packed file. */
void hob_text_meshes(text_writer *t, const hob_pack *pack);
void hob_text_materials(text_writer *t, const hob_pack *pack);
void hob_text_scene(text_writer *t, const hob_pack *pack);
void hob_text_animations(text_writer *t, const hob_pack *pack);

#endif
