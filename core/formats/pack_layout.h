/* pack_layout.h - the packed container's records as C structs, made from the tables of schema/formats.
 *
 * Includes nothing of Hob's code and compiles alone as C99 and C++11: a renderer needs only this file and the
 * tables. Every size and offset is asserted. Files are little-endian, and so must be the host; records can be
 * read in place at their natural alignment. schema/FORMATS.md describes each field.
 *
 *   hob_pk_<record>      a struct per RECORD: hob_pk_header, hob_pk_section, hob_pk_mesh, hob_pk_lod ...
 *   HOB_PK_<name>        a constant per ENUM: HOB_PK_MESH_SKINNED, HOB_PK_SLOT_NORMAL ...
 *   HOB_PK_KIND_<kind>   FourCC of a file's kind, as hob_pk_header.kind
 *   HOB_PK_<section>     FourCC of a section, as hob_pk_section.type: HOB_PK_MDSC, HOB_PK_VTX_ ... */
#ifndef HOB_PACK_LAYOUT_H
#define HOB_PACK_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packed files are read in place: the host must be little-endian"
#endif

#define HOB_PK_NONE				  0xFFFFFFFFu
#define HOB_PK_MAGIC			  "\x89HOB\r\n\x1a\n"
#define HOB_PK_FOURCC(a, b, c, d) ((a) | (b) << 8 | (c) << 16 | (d) << 24)

typedef uint8_t hob_pk_u8;
typedef int8_t hob_pk_s8;
typedef uint16_t hob_pk_u16;
typedef uint32_t hob_pk_u32;
typedef int32_t hob_pk_s32;
typedef uint64_t hob_pk_u64;
typedef float hob_pk_f32;

#define RECORD(record, size, doc)					  typedef struct hob_pk_##record {
#define FIELD(record, type, name, offset, doc)		  hob_pk_##type name;
#define ARRAY(record, type, name, count, offset, doc) hob_pk_##type name[count];
#define RECORD_END(record, size)                                                                             \
	}                                                                                                        \
	hob_pk_##record;
#include "../../schema/formats/packed.def"

#define FOURCC(name, a, b, c, d) HOB_PK_##name = HOB_PK_FOURCC(a, b, c, d),
enum {
#define ENUM(group, name, value, doc)										  HOB_PK_##name = value,
#define VERTEX_FORMAT(number, name, bytes, components, component_bytes, kind) HOB_PK_FORMAT_##name = number,
#define KIND(name, a, b, c, d, extension, doc)								  FOURCC(KIND_##name, a, b, c, d)
#define SECTION(kind, name, a, b, c, d, record, gpu, doc)					  FOURCC(name, a, b, c, d)
#include "../../schema/formats/packed.def"
	HOB_PK_KIND_ALL = 0 /* of sections that are in every file */
};
#undef FOURCC

#define FIELD(record, type, name, offset, doc)                                                               \
	typedef char hob_pk_assert_##record##_##name[offsetof(hob_pk_##record, name) == offset ? 1 : -1];
#define ARRAY(record, type, name, count, offset, doc) FIELD(record, type, name, offset, doc)
#define RECORD_END(record, size)                                                                             \
	typedef char hob_pk_assert_##record[sizeof(hob_pk_##record) == size ? 1 : -1];
#include "../../schema/formats/packed.def"

#endif
