/* ply_type.h - the scalar types of PLY: names, sizes, values. */
#ifndef HOB_PLY_TYPE_H
#define HOB_PLY_TYPE_H

#include "../base/base.h"

typedef enum hob_ply_type {
	HOB_PLY_I8,
	HOB_PLY_U8,
	HOB_PLY_I16,
	HOB_PLY_U16,
	HOB_PLY_I32,
	HOB_PLY_U32,
	HOB_PLY_F32,
	HOB_PLY_F64
} hob_ply_type;

extern const uint8_t hob_ply_sizes[]; /* bytes, by hob_ply_type */

/* "float", "FLOAT32" ...; false for a word that is no type. */
bool hob_ply_type_parse(hob_str word, hob_ply_type *out);
/* The value at `at`, which has hob_ply_sizes[type] bytes; `big` = big endian. */
double hob_ply_load(const char *at, hob_ply_type type, bool big);

#endif
