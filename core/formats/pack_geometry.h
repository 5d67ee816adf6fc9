/* pack_geometry.h - vertices and indices of a packed meshes file as plain numbers, whatever their encoding.
 *
 * For files that hob_pack_validate() accepted: ranges are not checked again. */
#ifndef HOB_PACK_GEOMETRY_H
#define HOB_PACK_GEOMETRY_H

#include "pack_read.h"

typedef struct hob_pack_geometry {
	const hob_pack *pack;
	hob_pack_array *sections; /* [pack->section_count] decoded; CPU sections unchanged */
	hob_pack_array meshes, lods, layouts, attributes;
	hob_pack_array deltas; /* decoded */
} hob_pack_geometry;

/* Decodes all sections of *pack into the arena; raw ones are used in place. Errors as hob_pack_decode. */
bool hob_pack_geometry_open(const hob_pack *pack, hob_arena *arena, hob_pack_geometry *out,
							hob_error *err) HOB_MUST_CHECK;

/* A vertex format: kind 'f' float, 'h' half, 'u' unorm, 's' snorm, 'i' unsigned integer. */
typedef struct hob_vertex_format {
	uint16_t number;
	uint8_t bytes, components, component_bytes; /* component_bytes 0: packed into 32 bits */
	char kind;
	const char *name; /* without VK_FORMAT_ */
} hob_vertex_format;

/* The vertex format of this number; NULL if unknown. */
const hob_vertex_format *hob_vertex_format_of(uint16_t number);

/* One attribute of one mesh. */
typedef struct hob_pack_attribute {
	const uint8_t *data; /* of the mesh's first vertex */
	const hob_vertex_format *format;
	uint32_t stride, components;
	uint8_t semantic, set, encoding;
	const hob_pk_mesh *mesh;
} hob_pack_attribute;

/* Finds an attribute of a mesh. False if the mesh does not have it. */
bool hob_pack_attribute_find(const hob_pack_geometry *geometry, const hob_pk_mesh *mesh, uint32_t semantic,
							 uint32_t set, hob_pack_attribute *out);

/* The value of a vertex: dequantised, octahedral vectors unpacked to unit length (tangents with their sign in
 * out[3]), joints as integers. Missing components are 0, the fourth 1. */
void hob_pack_attribute_get(const hob_pack_attribute *attribute, uint32_t vertex, float out[4]);

/* Mean distance of a level (its index in LODS) from the full mesh; 0 if the file does not have it. */
float hob_pack_lod_mean(const hob_pack *pack, uint32_t level);

/* Index i of a level. */
uint32_t hob_pack_index(const hob_pack_geometry *geometry, const hob_pk_lod *lod, uint32_t i);

#endif
