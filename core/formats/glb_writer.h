/* glb_writer.h - state of the GLB writer: its tables as JSON text, its binary chunk, and the packed source
 * files. */
#ifndef HOB_GLB_WRITER_H
#define HOB_GLB_WRITER_H

#include "glb.h"
#include "number_text.h"
#include "pack_geometry.h"

enum {
	GLB_BYTE = 5121,
	GLB_SHORT = 5123,
	GLB_INT = 5125,
	GLB_FLOAT = 5126,
	GLB_VERTICES = 34962,
	GLB_INDICES = 34963
};

/* A JSON array that grows. */
typedef struct glb_list {
	hob_buf text;
	uint32_t count;
} glb_list;

typedef enum glb_list_id {
	GLB_LIST_SCENES,
	GLB_LIST_NODES,
	GLB_LIST_MESHES,
	GLB_LIST_MATERIALS,
	GLB_LIST_TEXTURES,
	GLB_LIST_IMAGES,
	GLB_LIST_SAMPLERS,
	GLB_LIST_CAMERAS,
	GLB_LIST_SKINS,
	GLB_LIST_ANIMATIONS,
	GLB_LIST_ACCESSORS,
	GLB_LIST_VIEWS,
	GLB_LIST_LIGHTS,
	GLB_LIST_CLIP_SAMPLERS, /* of the clip that is being written */
	GLB_LIST_CLIP_CHANNELS,
	GLB_LIST_COUNT
} glb_list_id;

/* Everything is called within hob_guarded. */
typedef struct glb_writer {
	const hob_pack_set *set;
	hob_pack meshes, materials, scene, animations;
	bool has_animations;
	hob_pack_geometry geometry;
	const hob_glb_pictures *pictures;
	hob_notes *notes;
	hob_arena *arena;
	hob_error *err;
	hob_buf bin, file;
	glb_list lists[GLB_LIST_COUNT];
	uint32_t extensions;	   /* bits of glb_extension */
	uint64_t *driven;		   /* [packed materials] bits 1 << property that clips animate */
	uint32_t *moved_slots;	   /* [packed materials] bits 1 << slot whose placement clips animate */
	uint32_t *image_place;	   /* [packed images] in images, or HOB_NONE */
	uint32_t *texture_place;   /* [packed texture references] in textures, or HOB_NONE */
	uint32_t *node_place;	   /* [packed nodes] in nodes; HOB_NONE when folded into the parent */
	uint32_t *mesh_place;	   /* [packed meshes][2] 1 + glTF mesh of it alone; of it and those that follow */
	struct glb_shared *shared; /* [packed levels] the shared data of meshes that begin with this level */
	uint32_t *skin_place;	   /* [packed skins] in skins, or HOB_NONE */
} glb_writer;

typedef enum glb_extension {
	GLB_TEXTURE_TRANSFORM,
	GLB_LIGHTS,
	GLB_VARIANTS,
	GLB_UNLIT,
	GLB_SPECULAR,
	GLB_IOR,
	GLB_CLEARCOAT,
	GLB_SHEEN,
	GLB_TRANSMISSION,
	GLB_VOLUME,
	GLB_IRIDESCENCE,
	GLB_ANISOTROPY,
	GLB_DISPERSION,
	GLB_DIFFUSE_TRANSMISSION,
	GLB_EMISSIVE_STRENGTH,
	GLB_ANIMATION_POINTER,
	GLB_NODE_VISIBILITY,
	GLB_EXTENSION_COUNT
} glb_extension;

extern const char *const hob_glb_extension_names[GLB_EXTENSION_COUNT];

/* Starts the next element, with a comma if needed, and returns the text to append it to. */
hob_buf *hob_glb_next(glb_writer *w, glb_list_id list);
void hob_glb_floats(hob_buf *out, const char *key, const float *values, size_t count); /* ,"key":[...] */
void hob_glb_float(hob_buf *out, const char *key, float value);						   /* ,"key":value */
void hob_glb_name(hob_buf *out, hob_str name); /* ,"name":"..." unless empty */

/* Appends the member ,"extras":... of an object (kind: HOB_PK_EXTRA_*), if it has extras. Unknown extensions
 * are left out: they may contain indices of the source. */
void hob_glb_extras(glb_writer *w, hob_buf *out, uint32_t kind, uint32_t index);

/* Drops the leading comma of the first member of the object that begins at `start`. */
void hob_glb_drop_comma(hob_buf *out, size_t start);

/* Room for `size` bytes in the binary chunk, aligned to 4, with a buffer view: its number in *view. target 0
 * = none. */
uint8_t *hob_glb_view(glb_writer *w, size_t size, uint32_t target, uint32_t *view);

/* Adds an accessor of a whole view; `more` are further members. Returns its number. */
uint32_t hob_glb_accessor(glb_writer *w, uint32_t view, int component, uint32_t count, const char *type,
						  const char *more);

/* Adds an accessor of floats, copied to the binary chunk; `range` also writes min and max. Returns its
 * number. */
uint32_t hob_glb_float_accessor(glb_writer *w, const float *values, uint32_t count, uint32_t components,
								const char *type, uint32_t target, bool range);

/* ---- glb_property.c: animated properties other than nodes */
void hob_glb_find_driven(glb_writer *w); /* before the materials */
/* The pointer "/materials/3/emissiveFactor". NULL if the exported file has no target for it; in the writer's
 * arena. */
const char *hob_glb_pointer(const glb_writer *w, const hob_pk_property_channel *channel);

bool hob_glb_put_materials(glb_writer *w); /* false: pictures->get failed */
/* Number of the glTF mesh whose primitives are packed meshes `first` to first + count - 1; with count > 1
 * these are all meshes of their source mesh. HOB_NONE if none can be drawn. */
uint32_t hob_glb_mesh_of(glb_writer *w, uint32_t first, uint32_t count);
bool hob_glb_drawable(const glb_writer *w, uint32_t mesh);
void hob_glb_put_skins(glb_writer *w); /* numbers of nodes must be known */
void hob_glb_put_scene(glb_writer *w);
void hob_glb_put_animations(glb_writer *w);

#endif
