/* format_tables.h - the tables of schema/formats as data, for code that handles files generically. */
#ifndef HOB_FORMAT_TABLES_H
#define HOB_FORMAT_TABLES_H

#include "../base/base.h"
#include "pack_layout.h"

typedef enum format_type {
	FORMAT_u8,
	FORMAT_s8,
	FORMAT_u16,
	FORMAT_u32,
	FORMAT_s32,
	FORMAT_u64,
	FORMAT_f32
} format_type;

typedef struct format_field {
	const char *record, *name;
	format_type type;
	uint32_t count; /* 0: one value, not an array */
	uint32_t offset;
	const char *doc;
} format_field;

typedef struct format_section {
	uint32_t type, kind; /* kind 0: in every file */
	const char *record;	 /* name of a record, or of a scalar type, or "vertex", "index" */
	bool gpu;
} format_section;

typedef struct format_name {
	const char *group, *name; /* name without HOB_PK_ */
	uint32_t value;
} format_name;

/* The first of the *count fields of a record; NULL if there is no such record. */
const format_field *hob_format_record(const char *record, uint32_t *count);
const format_section *hob_format_section_of(uint32_t type);
/* The name of a value of an enumeration; NULL if it has none. */
const char *hob_format_name_of(const char *group, uint32_t value);
/* Whether the field is an offset of a string in STRS. */
bool hob_format_is_string(const format_field *field);

uint32_t hob_format_type_bytes(format_type type);
/* The value of an integer field. */
int64_t hob_format_integer(format_type type, const uint8_t *at);

#endif
