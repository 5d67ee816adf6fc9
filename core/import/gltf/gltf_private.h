/* gltf_private.h - shared by the files of the glTF importer; otherwise only their tests include it.
 *
 * Order of work (gltf.c): container and JSON text -> lists of JSON objects -> extensions -> images, samplers
 * and materials -> meshes -> cameras and lights -> nodes -> scenes -> skins -> clips -> external assets.
 * Buffers are read at first use. Errors leave the importer (base/guard.h), naming places from inside out:
 * "index 70000 >= vertex_count 3; accessor 12; primitive 1; meshes[2] 'hull'".
 *
 * Two arenas: `result` holds everything that the model points to; `scratch` is freed after the import and
 * holds the JSON tree: copy its strings into `result`. A cJSON array is a linked list: never index it in a
 * loop, make a hob_gltf_list of it or walk ->next. */
#ifndef HOB_GLTF_PRIVATE_H
#define HOB_GLTF_PRIVATE_H

#include "../../base/guard.h"
#include "../importer.h"
#include "../../base/json_text.h"
#include "../../base/limits.h"

typedef struct hob_gltf_list {
	const cJSON **items; /* [count], all objects */
	uint32_t count;
} hob_gltf_list;

typedef struct hob_gltf_source {
	hob_bytes bytes;
	bool loaded;
	bool borrowed; /* lives as long as the io, so the model may point into it */
} hob_gltf_source;

typedef enum hob_gltf_component {
	HOB_GLTF_I8 = 5120,
	HOB_GLTF_U8 = 5121,
	HOB_GLTF_I16 = 5122,
	HOB_GLTF_U16 = 5123,
	HOB_GLTF_U32 = 5125,
	HOB_GLTF_F32 = 5126
} hob_gltf_component;

typedef struct hob_gltf_unpacked {
	const void *data; /* NULL: the accessor is read from the file */
	hob_gltf_component component;
} hob_gltf_unpacked;

/* Redirects the uri `name` of an external asset to `bytes` or to the file at `path`. */
typedef struct hob_gltf_alias {
	hob_str name, path;
	hob_bytes bytes;
} hob_gltf_alias;

typedef struct hob_gltf {
	const hob_import_request *request;
	const struct hob_gltf *above;  /* the file that includes this one, or NULL */
	uint32_t *parts;			   /* external assets read so far, over all files */
	const hob_gltf_alias *aliases; /* [alias_count] */
	uint32_t alias_count;
	hob_arena *result, *scratch;
	hob_notes *notes;
	const cJSON *root;
	uint32_t glb_version; /* 0: not a GLB */
	hob_bytes *chunks;	  /* [chunk_count] of a GLB; no data if type or encoding is unknown */
	uint32_t chunk_count;
	hob_bytes glb_bin; /* buffer 0 when it has no uri; data == NULL: no BIN chunk */
	hob_gltf_list files, external_assets, accessors, views, buffers, images, textures, samplers, materials,
		meshes, nodes, scenes, skins, cameras, lights, animations, variants;
	hob_gltf_source *buffer_sources; /* [buffers.count] */
	hob_gltf_source *view_sources;	 /* [views.count] compressed views, once decoded */
	hob_gltf_unpacked *unpacked;	 /* [accessors.count] or NULL: accessors decoded by Draco */
	bool meshopt_required;			 /* if so, compressed views have no uncompressed copy */
	size_t unbacked;				 /* bytes allocated for accessors without data in the file */
	uint32_t *mesh_first;			 /* [meshes.count + 1] first model mesh of each source mesh */
	uint32_t *mesh_targets;			 /* [meshes.count] number of morph targets */
	uint32_t *mesh_joints;			 /* [meshes.count] 1 + largest joint index in use, 0: not skinned */
	uint32_t *skin_joints;			 /* [skins.count] length of each joint list */
	uint32_t *joint_of;				 /* [nodes.count] last skin that lists the node */
	uint32_t *node_ids;				 /* [nodes.count] source node -> model node */
	uint32_t *vertex_place;			 /* see gltf_mesh.c: all HOB_NONE between primitives */
	uint32_t vertex_place_count;
	size_t extras_bytes; /* total so far */
	hob_model model;
} hob_gltf;

#define hob_gltf_note(g, code, ...) hob_note_add((g)->notes, HOB_NOTE_WARNING, "gltf." code, __VA_ARGS__)
#define hob_gltf_info(g, code, ...) hob_note_add((g)->notes, HOB_NOTE_INFO, "gltf." code, __VA_ARGS__)

/* ---- gltf_json.c: typed access. `null` counts as absent; a value of another type is CORRUPT ---- */

const cJSON *hob_gltf_object(const cJSON *object, const char *key);
/* object.extensions[name], an object; NULL when absent. */
const cJSON *hob_gltf_extension(const cJSON *object, const char *name);
/* Array of objects; absent gives an empty list. LIMIT above `limit`. Items live in `arena`. */
hob_gltf_list hob_gltf_list_of(hob_arena *arena, const cJSON *object, const char *key, uint64_t limit);
/* Array of ids below `count`; absent gives an empty array. In `arena`. */
uint32_t *hob_gltf_ids(hob_arena *arena, const cJSON *object, const char *key, uint32_t count,
					   uint32_t *id_count);
/* Non-negative integer up to 2^53; `fallback` when absent. */
size_t hob_gltf_size(const cJSON *object, const char *key, size_t fallback);
/* Id below `count`; HOB_NONE when absent. */
uint32_t hob_gltf_id(const cJSON *object, const char *key, uint32_t count);
/* As hob_gltf_id, for a given value; `key` is for the message. */
uint32_t hob_gltf_id_of(const cJSON *value, const char *key, uint32_t count);
/* As hob_gltf_id, but absent is CORRUPT. */
uint32_t hob_gltf_need_id(const cJSON *object, const char *key, uint32_t count);
/* Numbers as floats, infinite above FLT_MAX, which the caller checks. If absent, *out is unchanged. */
void hob_gltf_float(const cJSON *object, const char *key, float *out);
/* An array of exactly `count` numbers. Whether it is present. */
bool hob_gltf_floats(const cJSON *object, const char *key, uint32_t count, float *out);
void hob_gltf_bool(const cJSON *object, const char *key, bool *out);
/* Borrowed from the tree; empty when absent. */
hob_str hob_gltf_string(const cJSON *object, const char *key);
/* Copies into `result` as valid UTF-8 of at most HOB_LIMIT_NAME_BYTES. Notes any change. */
hob_str hob_gltf_copy_text(hob_gltf *g, hob_str text);
/* object.name by hob_gltf_copy_text. */
hob_str hob_gltf_name(hob_gltf *g, const cJSON *object);
/* Calls the job with `g`, `id` and `to`. False, with *why, if it raises an error other than MEMORY. */
typedef void hob_gltf_job(hob_gltf *g, uint32_t id, void *to);
bool hob_gltf_try(hob_gltf *g, hob_gltf_job *job, uint32_t id, void *to, hob_error *why) HOB_MUST_CHECK;
/* Raises `why`, unless the part that failed with it can be left out: it is not `needed`, and the file is at
 * fault, not the disk. */
void hob_gltf_drop(const hob_error *why, bool needed);
/* For messages: object.name as stored, "" without one. */
const char *hob_gltf_label(const cJSON *object);
/* A place, "meshes[#] '@'", with the label of list.items[id]. */
#define HOB_GLTF_PLACE(text, id, list) HOB_PLACE(text, id, hob_str_of(hob_gltf_label((list).items[id])))

/* ---- gltf_buffers.c: containers, buffers, buffer views ---- */

/* Finds the JSON text and the BIN chunk. A GLB is recognised by its first bytes, "glTF". */
hob_str hob_gltf_container(hob_gltf *g);
hob_gltf_source hob_gltf_buffer(hob_gltf *g, uint32_t id);
/* Bytes of a view, decompressed if necessary; *stride is 0 when the view has none. */
hob_gltf_source hob_gltf_view(hob_gltf *g, uint32_t id, size_t *stride);
/* The view's bytes, which live as long as the model. */
hob_bytes hob_gltf_keep_view(hob_gltf *g, uint32_t id);
/* True for "data:..." URIs, which hob_gltf_data_uri decodes into `arena`; *mime (may be NULL) is borrowed. */
bool hob_gltf_is_data_uri(hob_str uri);
hob_bytes hob_gltf_data_uri(hob_arena *arena, hob_str uri, hob_str *mime);
/* Decodes a uri and joins it to the model's folder, in `arena`. */
hob_str hob_gltf_resolve(const hob_gltf *g, hob_arena *arena, hob_str uri);

/* ---- gltf.c ---- */

/* Whether the including file redirects this URI: to *bytes, or to *path when they are empty. */
bool hob_gltf_aliased(const hob_gltf *g, hob_str uri, hob_str *path, hob_bytes *bytes);
/* Reads container, JSON and document of g->request into g->model, including external assets. */
void hob_gltf_import_file(hob_gltf *g);

/* ---- gltf_meshopt.c: EXT_meshopt_compression ---- */

/* Decodes what `extension` of view `id` describes into scratch memory. */
hob_bytes hob_gltf_meshopt(hob_gltf *g, const cJSON *extension);

/* ---- gltf_accessor.c: typed, checked, dense reads ---- */

typedef struct hob_gltf_accessor {
	uint32_t id, count;
	hob_gltf_component component;
	uint32_t width; /* components per element: 1 SCALAR, 2, 3, 4, 16 for MAT4 ... */
	bool matrix;	/* MAT2 and VEC4 both have width 4 */
	bool normalized;
	size_t element_size; /* bytes */
	const uint8_t *data; /* NULL: zeros. data + (count - 1) * stride + element_size lies within the view */
	size_t stride;
	uint32_t sparse_count; /* indices and values lie within their views; indices rise and are < count */
	const uint32_t *sparse_indices;
	const uint8_t *sparse_values;
} hob_gltf_accessor;

/* Elements to read: [first, first + count), or list[0..count). */
typedef struct hob_gltf_selection {
	uint32_t first, count;
	const uint32_t *list;
	const uint32_t *place; /* with list: element -> position in list, HOB_NONE if not listed */
} hob_gltf_selection;

/* Checks the accessor and its memory completely. `width` is the required one, 0: any. */
hob_gltf_accessor hob_gltf_accessor_open(hob_gltf *g, uint32_t id, uint32_t width);
/* Accounts for an accessor without a buffer view, which could claim any size at no cost in the file: call
 * this where such an accessor alone determines a size. LIMIT above HOB_LIMIT_UNBACKED_BYTES per file. */
void hob_gltf_claim(hob_gltf *g, const hob_gltf_accessor *accessor);
/* Writes element i of the selection to out[i * out_stride .. + width), integers as floats or normalised. */
void hob_gltf_read_floats(hob_gltf *g, const hob_gltf_accessor *accessor, const hob_gltf_selection *selection,
						  float *out, uint32_t out_stride);
/* Unsigned integer components only, asserted. */
void hob_gltf_read_u32(hob_gltf *g, const hob_gltf_accessor *accessor, const hob_gltf_selection *selection,
					   uint32_t *out);
void hob_gltf_read_u16(hob_gltf *g, const hob_gltf_accessor *accessor, const hob_gltf_selection *selection,
					   uint16_t *out, uint32_t out_stride);
/* Loads a whole accessor of floats into `arena`; `width` as above. */
float *hob_gltf_load_floats(hob_gltf *g, uint32_t id, uint32_t width, hob_arena *arena, uint32_t *count);

/* ---- gltf_extras.c: content kept as text ---- */

/* object.extras and the unknown extensions of object.extensions, as text. */
void hob_gltf_extras(hob_gltf *g, const cJSON *object, hob_extras *out);
bool hob_gltf_knows(const char *extension); /* gltf.c: whether Hob reads the extension */

/* ---- gltf_census.c: counts the JSON's content into request->seen ---- */
void hob_gltf_census(hob_gltf *g);

/* ---- the parts of the model ---- */

void hob_gltf_import_images(hob_gltf *g);	 /* gltf_image.c: images, samplers */
void hob_gltf_import_materials(hob_gltf *g); /* gltf_material.c */
void hob_gltf_import_meshes(hob_gltf *g);	 /* gltf_mesh.c */
void hob_gltf_import_nodes(hob_gltf *g);	 /* gltf_nodes.c */
void hob_gltf_import_scenes(hob_gltf *g);	 /* gltf_scene.c */
void hob_gltf_import_cameras(hob_gltf *g);	 /* gltf_scene.c */
void hob_gltf_import_lights(hob_gltf *g);	 /* gltf_scene.c */
void hob_gltf_import_skins(hob_gltf *g);	 /* gltf_scene.c */
/* ---- KHR_animation_pointer ---- */

typedef enum hob_gltf_pointed_kind {
	HOB_GLTF_AT_NODE,
	HOB_GLTF_AT_MESH,
	HOB_GLTF_AT_PROPERTY
} hob_gltf_pointed_kind;

typedef struct hob_gltf_pointed {
	hob_gltf_pointed_kind kind;
	uint32_t index;			 /* source node, source mesh, or the model's material, camera or light */
	hob_path path;			 /* of a node; for a mesh HOB_PATH_WEIGHTS */
	uint32_t property, slot; /* hob_property; hob_slot of a texture's placement */
	uint32_t weight;		 /* for HOB_PATH_WEIGHTS the index of a weight, or HOB_NONE for all */
} hob_gltf_pointed;

/* ---- morph weights with separate channels ---- */

typedef struct hob_gltf_weight {
	hob_gltf_pointed at; /* a node or a mesh, and the weight */
	uint32_t components; /* number of weights of the target */
	hob_track track;	 /* of one component */
} hob_gltf_weight;

void hob_gltf_import_clips(hob_gltf *g); /* gltf_animation.c */

/* Image and sampler of textures[id] (gltf_image.c); HOB_NONE when the texture has no picture. */
void hob_gltf_texture(hob_gltf *g, uint32_t id, hob_texture_ref *ref);

/* ---- one primitive's vertex arrays ---- */

typedef struct hob_gltf_attributes {
	uint32_t position, normal, tangent; /* accessor ids or HOB_NONE */
	uint32_t uv[HOB_UV_SETS], color[HOB_COLOR_SETS];
	uint32_t joints[16], weights[16];
} hob_gltf_attributes;

/* Replaces non-finite values by `with` and notes it. `owner` names the mesh or clip. */
void hob_gltf_make_finite(hob_gltf *g, float *values, size_t count, float with, const char *what,
						  hob_str owner);

#endif
