/* classic.h - the reference converter's three files: made from packed files, opened, and validated.
 *
 * The layout is described in classic_layout.h and schema/FORMATS.md. Mesh, material and node ids are those of
 * the packed files. */
#ifndef HOB_CLASSIC_H
#define HOB_CLASSIC_H

#include "../base/base.h"
#include "classic_layout.h"
#include "pack_validate.h"

/* ---- writing ---- */

typedef struct hob_classic_files {
	hob_buf meshes, materials, scene;
} hob_classic_files;

void hob_classic_files_release(hob_classic_files *files);

/* Makes the classic files of an asset.
 *
 * set       packed meshes, materials and scene, all required; animations are optional, and only noted as
 *           dropped. Validated first
 * notes     one for each kind of data that is dropped because the classic layout cannot hold it, codes
 *           "classic.*"; may be NULL
 * out       three empty buffers; untouched on failure
 *
 * Positions, texture coordinates and normals are dequantised; normals are zero where there are none. Levels
 * beyond the seventh are dropped. Meshes without triangles keep their number but are linked to no node. If a
 * mesh uses the default material, it is added as the last one. World matrices are those of the scene file.
 * Maps are sorted. A texture file is "out_textures/<SHA-256 of its blob>.<ending>", a name relative to the
 * folder of the .materials file: ending ktx2, png, or for a kept source file its own. Errors: as
 * hob_pack_validate_set; LIMIT when a size does not fit 32 bits; MEMORY. */
bool hob_classic_from_packed(const hob_pack_set *set, hob_notes *notes, hob_classic_files *out,
							 hob_error *err) HOB_MUST_CHECK;

/* Whether tables, indices (of all levels) and vertices with these counts have 32-bit sizes and offsets. */
bool hob_classic_fits(uint64_t meshes, uint64_t indices, uint64_t vertices);

/* ---- reading: views of foreign files; sizes and ranges of tables are checked, ids in records are not
 * ---- */

typedef struct hob_classic_strings {
	const uint8_t *data; /* starts at the length of the first string */
	size_t size;
	uint32_t count;
} hob_classic_strings;

/* Takes the next string from the front: false at the end. For n strings call it n times: O(n). */
bool hob_classic_strings_next(hob_classic_strings *strings, hob_str *out);

typedef struct hob_classic_map {
	const uint8_t *pairs; /* key, value as u32 */
	uint32_t count;		  /* of pairs */
} hob_classic_map;

typedef struct hob_classic_meshes {
	hob_classic_meshes_header header;
	uint32_t mesh_count, index_count, vertex_count;
	const uint8_t *meshes, *boxes, *indices, *vertices;
} hob_classic_meshes;

typedef struct hob_classic_materials {
	uint32_t material_count;
	const uint8_t *materials;
	hob_classic_strings files;
} hob_classic_materials;

typedef struct hob_classic_scene {
	uint32_t node_count;
	const uint8_t *local, *global, *hierarchy;
	hob_classic_map materials, meshes, names;
	bool has_names;
	hob_classic_strings node_names, material_names;
} hob_classic_scene;

/* Errors: TRUNCATED, CORRUPT. Cost: O(strings). */
bool hob_classic_open_meshes(hob_bytes file, hob_classic_meshes *out, hob_error *err) HOB_MUST_CHECK;
bool hob_classic_open_materials(hob_bytes file, hob_classic_materials *out, hob_error *err) HOB_MUST_CHECK;
bool hob_classic_open_scene(hob_bytes file, hob_classic_scene *out, hob_error *err) HOB_MUST_CHECK;

hob_classic_mesh hob_classic_mesh_at(const hob_classic_meshes *meshes, uint32_t index);
hob_classic_material hob_classic_material_at(const hob_classic_materials *materials, uint32_t index);
hob_classic_hierarchy hob_classic_node_at(const hob_classic_scene *scene, uint32_t index);

typedef enum hob_classic_kind {
	HOB_CLASSIC_NOTHING,
	HOB_CLASSIC_MESHES,
	HOB_CLASSIC_MATERIALS,
	HOB_CLASSIC_SCENE
} hob_classic_kind;

/* Recognises which classic file the bytes are. Only .meshes has a magic number; the others are recognised
 * because everything fits, to the last byte. */
hob_classic_kind hob_classic_sniff(hob_bytes file);

/* ---- validation: every rule of classic.def, also in foreign files; shares no code with the above ---- */

bool hob_classic_validate(hob_bytes file, hob_classic_kind kind, hob_error *err) HOB_MUST_CHECK;
/* Checks the three files, and whether they agree with each other. */
bool hob_classic_validate_set(hob_bytes meshes, hob_bytes materials, hob_bytes scene,
							  hob_error *err) HOB_MUST_CHECK;

#endif
