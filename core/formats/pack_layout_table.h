/* pack_layout_table.h - part of pack_layout.h: structs, constants and asserts of the table HOB_PK_TABLE. */

#define RECORD(record, size, doc)					  typedef struct hob_pk_##record {
#define FIELD(record, type, name, offset, doc)		  hob_pk_##type name;
#define ARRAY(record, type, name, count, offset, doc) hob_pk_##type name[count];
#define RECORD_END(record, size)                                                                             \
	}                                                                                                        \
	hob_pk_##record;
#include HOB_PK_TABLE

enum {
#define ENUM(group, name, value, doc)										  HOB_PK_##name = value,
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind) HOB_PK_FORMAT_##name = number,
#define KIND(name, a, b, c, d, extension, doc)								  HOB_PK_KIND_##name = HOB_PK_FOURCC(a, b, c, d),
#define SECTION(kind, name, a, b, c, d, record, gpu, doc)					  HOB_PK_##name = HOB_PK_FOURCC(a, b, c, d),
#include HOB_PK_TABLE
};

#define FIELD(record, type, name, offset, doc)                                                               \
	typedef char hob_pk_assert_##record##_##name[offsetof(hob_pk_##record, name) == offset ? 1 : -1];
#define ARRAY(record, type, name, count, offset, doc) FIELD(record, type, name, offset, doc)
#define RECORD_END(record, size)                                                                             \
	typedef char hob_pk_assert_##record[sizeof(hob_pk_##record) == size ? 1 : -1];
#include HOB_PK_TABLE

#undef HOB_PK_TABLE
