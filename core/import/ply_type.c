#include "ply_type.h"

const uint8_t hob_ply_sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};

bool hob_ply_type_parse(hob_str word, hob_ply_type *out)
{
	static const struct {
		const char *name;
		hob_ply_type type;
	} names[] = {
		{"char", HOB_PLY_I8},	{"int8", HOB_PLY_I8},	  {"uchar", HOB_PLY_U8},   {"uint8", HOB_PLY_U8},
		{"short", HOB_PLY_I16}, {"int16", HOB_PLY_I16},	  {"ushort", HOB_PLY_U16}, {"uint16", HOB_PLY_U16},
		{"int", HOB_PLY_I32},	{"int32", HOB_PLY_I32},	  {"uint", HOB_PLY_U32},   {"uint32", HOB_PLY_U32},
		{"float", HOB_PLY_F32}, {"float32", HOB_PLY_F32}, {"double", HOB_PLY_F64}, {"float64", HOB_PLY_F64},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		if (hob_str_equal_nocase(word, hob_str_of(names[i].name))) {
			*out = names[i].type;
			return true;
		}
	return false;
}

double hob_ply_load(const char *at, hob_ply_type type, bool big)
{
	uint8_t bytes[8];
	size_t size = hob_ply_sizes[type];
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)at[big ? size - 1 - i : i];
	switch (type) {
	case HOB_PLY_I8:
		return (int8_t)bytes[0];
	case HOB_PLY_U8:
		return bytes[0];
	case HOB_PLY_I16:
		return (int16_t)hob_load_u16(bytes);
	case HOB_PLY_U16:
		return hob_load_u16(bytes);
	case HOB_PLY_I32:
		return (int32_t)hob_load_u32(bytes);
	case HOB_PLY_U32:
		return hob_load_u32(bytes);
	case HOB_PLY_F32:
		return (double)hob_load_f32(bytes);
	case HOB_PLY_F64:
	default: {
		uint64_t bits = hob_load_u64(bytes);
		double value;
		memcpy(&value, &bits, sizeof value);
		return value;
	}
	}
}
