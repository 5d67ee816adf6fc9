/* describe_value.h - one record of a table as JSON or text, by the tables of the schema. */
#ifndef HOB_DESCRIBE_VALUE_H
#define HOB_DESCRIBE_VALUE_H

#include "classic.h"
#include "describe.h"
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

/* Calls body(context, err) within hob_guarded, for text that is appended to `out`: unchanged on failure. */
bool hob_describe_guarded(hob_body body, void *context, hob_buf *out, hob_error *err);

typedef struct hob_describer {
	hob_bytes file;
	const hob_describe_options *options;
	void (*packed)(const struct hob_describer *describer, hob_buf *out, const hob_pack *pack);
	void (*classic)(const struct hob_describer *describer, hob_buf *out, hob_classic_kind kind);
	hob_buf *out;
} hob_describer;

/* Describes the file by one of the functions, within hob_guarded. */
bool hob_describe_by(hob_describer *describer, hob_error *err);

#endif
