/* pack_layout.h - the packed container's records as C structs, made from the tables of schema/formats.
 *
 * Includes nothing of Hob's code and compiles alone as C99 and C++11: a renderer needs this file and the
 * tables only. Every size and offset is asserted. Files are little-endian and so must the host be; records
 * may be read in place at their natural alignment. FORMATS.md in schema/ describes each field.
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

#define HOB_PK_TABLE "../../schema/formats/container.def"
#include "pack_layout_table.h"
#define HOB_PK_TABLE "../../schema/formats/mesh.def"
#include "pack_layout_table.h"
#define HOB_PK_TABLE "../../schema/formats/material.def"
#include "pack_layout_table.h"
#define HOB_PK_TABLE "../../schema/formats/scene.def"
#include "pack_layout_table.h"
#define HOB_PK_TABLE "../../schema/formats/animation.def"
#include "pack_layout_table.h"

#endif
