#include "format_tables.h"

/* The fields in file order, record by record: packed ones, then classic ones. */
static const format_field fields[] = {
#define FIELD(record, type, name, offset, doc)		  {#record, #name, FORMAT_##type, 0, offset, doc},
#define ARRAY(record, type, name, count, offset, doc) {#record, #name, FORMAT_##type, count, offset, doc},
#include "../../schema/formats/packed.def"
#define FIELD(record, type, name, offset, doc) {"classic_" #record, #name, FORMAT_##type, 0, offset, doc},
#define ARRAY(record, type, name, count, offset, doc)                                                        \
	{"classic_" #record, #name, FORMAT_##type, count, offset, doc},
#include "../../schema/formats/classic.def"
};

static const format_section sections[] = {
#define SECTION(kind, name, a, b, c, d, record, gpu, doc) {HOB_PK_##name, HOB_PK_KIND_##kind, #record, gpu},
#include "../../schema/formats/packed.def"
};

static const format_name names[] = {
#define ENUM(group, name, value, doc) {#group, #name, value},
#include "../../schema/formats/packed.def"
};

const format_field *hob_format_record(const char *record, uint32_t *count)
{
	uint32_t first = 0;
	while (first < HOB_COUNT_OF(fields) && strcmp(fields[first].record, record) != 0)
		first++;
	*count = 0;
	while (first + *count < HOB_COUNT_OF(fields) && strcmp(fields[first + *count].record, record) == 0)
		++*count;
	return *count ? &fields[first] : NULL;
}

const format_section *hob_format_section_of(uint32_t type)
{
	for (uint32_t i = 0; i < HOB_COUNT_OF(sections); i++)
		if (sections[i].type == type)
			return &sections[i];
	return NULL;
}

const char *hob_format_name_of(const char *group, uint32_t value)
{
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		if (names[i].value == value && strcmp(names[i].group, group) == 0)
			return names[i].name;
	return NULL;
}

bool hob_format_is_string(const format_field *field)
{
	return field->type == FORMAT_u32 && !field->count && strncmp(field->doc, "string", 6) == 0;
}

uint32_t hob_format_type_bytes(format_type type)
{
	static const uint8_t bytes[] = {1, 1, 2, 4, 4, 8, 4};
	return bytes[type];
}

int64_t hob_format_integer(format_type type, const uint8_t *at)
{
	switch (type) {
	case FORMAT_u8:
		return *at;
	case FORMAT_s8:
		return (int8_t)*at;
	case FORMAT_u16:
		return hob_load_u16(at);
	case FORMAT_s32:
		return (int32_t)hob_load_u32(at);
	case FORMAT_u64:
		return (int64_t)hob_load_u64(at);
	default:
		return hob_load_u32(at);
	}
}
