/* describe_value.h - one record of a table as JSON or text, by the tables of the schema. */
#ifndef HOB_DESCRIBE_VALUE_H
#define HOB_DESCRIBE_VALUE_H

#include "format_tables.h"
#include "pack_read.h"

/* A field's value as JSON; `strings` resolves names and may be NULL. */
void hob_describe_field(hob_buf *out, const format_field *field, const uint8_t *record,
						const hob_pack *strings);
/* A record as {"field": value, ...}. */
void hob_describe_record(hob_buf *out, const char *name, const uint8_t *record, const hob_pack *strings);
void hob_describe_hex(hob_buf *out, const uint8_t *bytes, size_t count);
/* One element of a section: a record as an object; scalars and matrices unchanged; u32 that are names as
 * text. */
void hob_describe_element(hob_buf *out, const format_section *section, const uint8_t *at,
						  const hob_pack *strings);

/* Opens the file at an aligned address: *copy is a copy if one was needed; the caller releases it. */
bool hob_describe_open(hob_bytes file, hob_buf *copy, hob_pack *out, hob_error *err);

#endif
