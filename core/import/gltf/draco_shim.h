/* draco_shim.h - a C interface to Google Draco; only draco_shim.cpp calls its C++.
 *
 * Built when CMake finds Draco (HOB_DRACO). The stream is untrusted: counts come from the decoder, and it may
 * allocate by the stream's claims, so run it where memory is limited. No exception leaves this file. */
#ifndef HOB_DRACO_SHIM_H
#define HOB_DRACO_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hob_draco hob_draco;

typedef enum hob_draco_type {
	HOB_DRACO_I8,
	HOB_DRACO_U8,
	HOB_DRACO_I16,
	HOB_DRACO_U16,
	HOB_DRACO_U32,
	HOB_DRACO_F32
} hob_draco_type;

/* Decodes a mesh. NULL on failure, with the decoder's message in why[0..room). Free with hob_draco_free. */
hob_draco *hob_draco_decode(const uint8_t *data, size_t size, char *why, size_t room);
void hob_draco_free(hob_draco *mesh); /* NULL is allowed */
uint32_t hob_draco_point_count(const hob_draco *mesh);
uint32_t hob_draco_face_count(const hob_draco *mesh);
/* out [face_count][3], each < point_count. */
void hob_draco_indices(const hob_draco *mesh, uint32_t *out);
/* Writes [point_count][width] values of `type`; missing components are 0. False when the mesh has no
 * attribute of this unique id, or its values do not fit the type. */
bool hob_draco_attribute(const hob_draco *mesh, uint32_t unique_id, hob_draco_type type, uint32_t width,
						 void *out);

#ifdef __cplusplus
}
#endif
#endif
