/* classic_layout.h - the classic records as C structs and constants, made from schema/formats/classic.def,
 * which also describes how they follow each other. Every size and offset is asserted. Files are unaligned:
 * copy records with memcpy. */
#ifndef HOB_CLASSIC_LAYOUT_H
#define HOB_CLASSIC_LAYOUT_H

#include "pack_layout.h"

#define HOB_CLASSIC_INVALID_TEXTURE 0xFFFFFFFFull

#define RECORD(record, size, doc)					  typedef struct hob_classic_##record {
#define FIELD(record, type, name, offset, doc)		  hob_pk_##type name;
#define ARRAY(record, type, name, count, offset, doc) hob_pk_##type name[count];
#define RECORD_END(record, size)                                                                             \
	}                                                                                                        \
	hob_classic_##record;
#include "../../schema/formats/classic.def"

enum {
#define ENUM(group, name, value, doc) HOB_CLASSIC_##name = value,
#include "../../schema/formats/classic.def"
};

#define FIELD(record, type, name, offset, doc)                                                               \
	typedef char                                                                                             \
		hob_classic_assert_##record##_##name[offsetof(hob_classic_##record, name) == offset ? 1 : -1];
#define ARRAY(record, type, name, count, offset, doc) FIELD(record, type, name, offset, doc)
#define RECORD_END(record, size)                                                                             \
	typedef char hob_classic_assert_##record[sizeof(hob_classic_##record) == size ? 1 : -1];
#include "../../schema/formats/classic.def"

#endif
