/* rt_private.h - shared by the runtime's sources: the asset behind hob_rt_asset, and how it is opened.
 *
 * Opening has three steps. hob_rt_pack_open / hob_rt_classic_open check the files' tables; rt_*_lay_out finds
 * the sections and allocates, and runs twice (first to measure the size, then to allocate); rt_*_fill checks
 * and resolves the records. No number from a file is used before some step has checked it. */
#ifndef HOB_RT_PRIVATE_H
#define HOB_RT_PRIVATE_H

#include "hob_runtime.h"

/* Larger numbers are refused on opening: sums and products of a few smaller ones stay finite. */
#define RT_LARGEST 1e15f

/* Elements `stride` bytes apart, in place. */
typedef struct rt_array {
	const uint8_t *data;
	uint32_t count, stride;
} rt_array;

#define RT_AT(type, array, index)                                                                            \
	((const type *)(const void *)((array).data + (size_t)(index) * (array).stride))

static inline bool rt_within(uint64_t first, uint64_t count, uint64_t total)
{
	return first <= total && count <= total - first;
}

/* Strings as offsets from `base`, 0 = "". Offsets are checked on opening. */
typedef struct rt_text {
	const char *base;
	uint32_t size;
} rt_text;

typedef struct rt_memory {
	uint8_t *base; /* NULL while measuring */
	size_t used;
	bool failed; /* the size does not fit size_t */
} rt_memory;

/* Zeroed on the second run, aligned to 16; NULL while measuring. */
void *hob_rt_take(rt_memory *memory, uint64_t count, size_t size);
#define RT_TAKE(memory, type, count) ((type *)hob_rt_take((memory), (count), sizeof(type)))

void *hob_rt_allocate(const hob_rt_options *options, size_t size);
void hob_rt_release(const hob_rt_options *options, void *memory);

#if defined(__GNUC__)
#define RT_PRINTF __attribute__((format(printf, 3, 4)))
#else
#define RT_PRINTF
#endif
/* Fills *error (may be NULL) and returns false. */
bool hob_rt_fail(hob_rt_error *error, hob_rt_code code, const char *fmt, ...) RT_PRINTF;
/* Appends " (mesh 3)" and the like. Returns false. */
bool hob_rt_fail_in(hob_rt_error *error, const char *what, uint32_t index);

/* A packed file whose table is checked. */
typedef struct rt_pack {
	const char *what; /* "meshes": for messages */
	const uint8_t *file, *table;
	uint32_t section_count, entry_bytes;
	rt_text text;
	uint8_t **decoded; /* [section_count] where an encoded section was decoded to, or NULL */
} rt_pack;

/* Bounds of the vertices that a joint moves, in the mesh's space. */
typedef struct rt_joint_box {
	uint32_t joint;
	float min[3], max[3];
} rt_joint_box;

/* Classic files: counts and offsets, checked against their sizes. */
typedef struct rt_classic {
	uint32_t mesh_count, index_count, vertex_count, material_count, image_count, node_count, name_count;
	const uint8_t *meshes, *boxes, *indices, *vertices, *materials, *images, *nodes;
	uint32_t material_link_count, mesh_link_count, name_link_count, material_name_count;
	const uint8_t *material_links, *mesh_links, *name_links, *names, *material_names;
} rt_classic;

typedef struct rt_asset {
	hob_rt_asset pub;
	hob_rt_options options;
	rt_pack mesh_pack, material_pack, scene_pack, clip_pack;
	rt_classic files;
	rt_text node_text, mesh_text, material_text, image_text, clip_text, scene_text;
	/* scene */
	rt_array hierarchy, trs, local, node_names; /* hob_pk_hierarchy, hob_pk_trs, hob_pk_mat4, u32 */
	rt_array mesh_links, material_links, camera_links, light_links, skin_links, weight_links;
	rt_array node_weights, cameras, lights, scenes, roots, extras;
	uint32_t *parents;	/* [node_count] */
	uint32_t *subtrees; /* [node_count]; NULL if subtrees are not contiguous (merged classic scenes) */
	uint64_t *by_name;	/* [named_count] hash << 32 | node, ascending */
	uint32_t named_count;
	hob_rt_draw *draws;
	uint32_t *weight_of;  /* [node_count] first weight of nodes that have some; NULL without morph targets */
	uint32_t *weights_at; /* [node_count] the number of its weights */
	/* [value_count] rest pose: morph weights, then the animated properties other than nodes */
	float *weights;
	/* meshes */
	rt_array mesh_records, lod_records, lod_attributes, lod_means, layouts, attribute_records, morphs,
		variant_maps, deltas;
	rt_array meshlets, meshlet_vertices, meshlet_triangles;
	rt_array cluster_sets, cluster_groups, cluster_sources;
	hob_rt_mesh *meshes;
	hob_rt_lod *lods;
	hob_rt_attribute *attributes;
	uint32_t *mesh_skins;		/* [mesh_count] the skin to which the boxes apply */
	uint32_t *mesh_joint_count; /* [mesh_count] largest joint that a vertex names, plus one */
	rt_joint_box *joint_boxes;
	uint32_t *joint_box_first; /* [mesh_count + 1] */
	/* materials */
	rt_array materials, texrefs, images, samplers, variants;
	/* animations */
	rt_array clip_records, channels, clip_samplers, skin_records, joints, inverse_binds, times, values;
	hob_rt_clip *clips;
	hob_rt_skin *skins;
	uint32_t *channel_slots; /* [channels.count] slot of the node, or first weight, or NONE: does nothing */
	uint8_t *unit_curves;	 /* [clip_samplers.count] 1 if every key is a unit quaternion */
	uint32_t *animated;
	uint8_t *slot_paths;	  /* [animated_count] bits 1 << path that some clip animates */
	uint8_t *weight_animated; /* [value_count] 1 if some clip animates the value */
	bool hides;				  /* some node is hidden, or some clip may hide one */
	rt_array properties;	  /* hob_pk_property_channel */
	uint32_t value_count;	  /* floats of a pose besides translations, rotations and scales */
	uint32_t property_count;  /* number of distinct properties; their keys ascend */
	uint64_t *property_keys, *property_room;
	uint32_t *property_values; /* [property_count] first in weights */
	uint32_t *property_slots;  /* [properties.count] index of the value by channel, NONE: does nothing */
	uint32_t slot_room, slot_stride;
	float *rest; /* 10 rows of slot_stride: translation, rotation, scale of the animated nodes */
} rt_asset;

#define RT_ASSET(asset) ((const rt_asset *)(const void *)(asset))

enum { RT_NODE_MATRIX = 1, RT_NODE_IDENTITY = 2 };

/* Dirty nodes are bits, with a second level of one bit per word: finding the next one skips 4096 clean nodes
 * at a time, and marking needs no list that could overflow. */
struct hob_rt_instance {
	const rt_asset *asset;
	float *translations, *rotations, *scales; /* [node_count][3], [4], [3] */
	float *locals, *globals;				  /* [node_count][16] */
	uint8_t *flags;							  /* [node_count] RT_NODE_* */
	uint64_t *dirty, *dirty_words;
	float *weights;
	hob_rt_range *ranges;
	uint32_t range_count;
	/* The matrix before the roots. */
	float base[16];
	bool placed; /* base is not the identity */
	struct hob_rt_instance *host, *first_child, *next_sibling;
	uint32_t host_node;
};

/* A pose: ten rows of slot_stride floats, then the weights, in one block. */
enum { RT_POSE_ROWS = 10, RT_ROW_ROTATION = 3, RT_ROW_SCALE = 7 };

/* All rows, one after the other. */
static inline float *rt_pose_rows(const hob_rt_pose *pose)
{
	return pose->translation[0];
}

/* The rest pose; NULL while measuring. */
hob_rt_pose *hob_rt_take_pose(rt_memory *memory, const rt_asset *asset);

/* ---- rt_asset.c */
const char *hob_rt_string(rt_text text, uint32_t offset);
/* The first of ascending records whose u32 at `field` is not below `key`. */
uint32_t hob_rt_search(rt_array records, size_t field, uint32_t key);
/* The first of ascending keys that is not below `key`. */
uint32_t hob_rt_search_key(const uint64_t *keys, uint32_t count, uint64_t key);
uint32_t hob_rt_link(rt_array links, uint32_t node); /* HOB_RT_NONE when there is none */
static inline uint64_t rt_extra_key(const hob_pk_extra *extra)
{
	return (uint64_t)extra->kind << 32 | extra->index;
}
uint32_t hob_rt_hash(const char *name);
/* Sorts ascending; `room` has space for as many. */
void hob_rt_sort(uint64_t *keys, uint64_t *room, size_t count);
bool hob_rt_in_range(const float *values, size_t count); /* all finite and within RT_LARGEST */
uint32_t hob_rt_format_size(uint32_t format);			 /* bytes of a vertex format, 0 when unknown */
typedef struct rt_format rt_format;
const rt_format *hob_rt_find_format(uint32_t number); /* NULL when unknown */
/* A value as floats; missing components are 0 0 0 1. */
void hob_rt_read(const rt_format *format, const uint8_t *at, float out[4]);

/* ---- rt_packed.c, rt_packed_mesh.c: packed files */
bool hob_rt_is_packed(hob_rt_blob blob);
bool hob_rt_pack_open(hob_rt_blob blob, uint32_t kind, const char *what, rt_pack *out, hob_rt_error *error);
const hob_pk_section *hob_rt_pack_section(const rt_pack *pack, uint32_t index);
const uint8_t *hob_rt_pack_data(const rt_pack *pack,
								uint32_t index); /* NULL until an encoded section is decoded */
/* The first section of a type, empty if there is none; its elements must be at least `size` bytes. */
bool hob_rt_pack_find(const rt_pack *pack, uint32_t type, size_t size, rt_array *out, hob_rt_error *error);
bool hob_rt_packed_lay_out(rt_asset *asset, rt_memory *memory, hob_rt_error *error);
bool hob_rt_packed_fill(rt_asset *asset, hob_rt_error *error);
bool hob_rt_packed_meshes_lay_out(rt_asset *asset, rt_memory *memory, hob_rt_error *error);
bool hob_rt_packed_meshes_fill(rt_asset *asset, hob_rt_error *error);

/* ---- rt_classic.c: classic files */
bool hob_rt_classic_open(const hob_rt_files *files, rt_asset *asset, hob_rt_error *error);
void hob_rt_classic_lay_out(rt_asset *asset, rt_memory *memory);
bool hob_rt_classic_fill(rt_asset *asset, uint64_t *room, hob_rt_error *error);

/* ---- rt_clip_open.c: skins and clips of a packed file */
void hob_rt_clips_lay_out(rt_asset *asset, rt_memory *memory);
bool hob_rt_skins_fill(rt_asset *asset, hob_rt_error *error);
bool hob_rt_clips_fill(rt_asset *asset, uint32_t *slot_of,
					   hob_rt_error *error); /* slot_of: [node_count] room */

/* ---- rt_property.c: animated properties other than nodes */
void hob_rt_properties_lay_out(rt_asset *asset, rt_memory *memory);
bool hob_rt_properties_fill(rt_asset *asset, hob_rt_error *error); /* after the morph weights */

/* ---- rt_skin.c */
/* `places`: [largest joint_count] zeros, zeros again on return. */
bool hob_rt_joint_boxes_fill(rt_asset *asset, uint32_t *places, hob_rt_error *error);

#endif
