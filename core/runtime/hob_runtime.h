/* hob_runtime.h - a library for renderers: cooked files in place, transforms, clips, skins, visibility.
 *
 * Plain C99 (also C++11) on libc and libm; nothing here draws. Three kinds of objects:
 *
 *     hob_rt_asset      the opened files of one model: read-only, shared by all instances and threads
 *     hob_rt_instance   one copy of it in the world: local and world transforms, morph weights
 *     hob_rt_pose       the values of clips at some time: input and output of sampling and blending
 *
 * Memory is allocated only when one of these (or a hob_rt_player) is opened, in one block. A call uses only
 * the objects that it is given, so different threads can use different instances.
 *
 *     hob_rt_files files = {{meshes, meshes_size}, {materials, materials_size}, {scene, scene_size}, {0, 0}};
 *     hob_rt_asset *asset;
 *     hob_rt_instance *instance;
 *     hob_rt_error error;
 *     if (!hob_rt_open(&files, NULL, &asset, &error) || !hob_rt_instance_open(asset, &instance, &error))
 *         puts(error.text);
 *     ... each frame:
 *     hob_rt_set_trs(instance, hob_rt_find_node(asset, "Turret"), NULL, rotation, NULL);
 *     hob_rt_update(instance);
 *     for (uint32_t i = 0; i < asset->draw_count; i++)
 *         draw(&asset->meshes[asset->draws[i].mesh], hob_rt_global(instance, asset->draws[i].node));
 *
 * Conventions: metres, seconds, radians; right-handed, Y up. Matrices are 16 floats, column-major, for column
 * vectors (m[12..14] is the translation). Quaternions are x y z w. Ids are u32; HOB_RT_NONE is no id. A
 * node's world transform ("global") is the product of the locals from its root down. Calls that may fail
 * return false and fill *error (which may be NULL); passing an id out of range or a NULL object is a bug and
 * asserts.
 *
 * The file formats are in FORMATS.md: share/doc/hob where Hob is installed, /usr/share/doc/hob-dev from
 * Debian packages, schema in the sources. */
#ifndef HOB_RUNTIME_H
#define HOB_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../formats/pack_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOB_RT_NONE 0xFFFFFFFFu

typedef enum hob_rt_code {
	HOB_RT_OK,
	HOB_RT_TRUNCATED,	/* shorter than stated */
	HOB_RT_CORRUPT,		/* contradicts itself or its format */
	HOB_RT_UNSUPPORTED, /* valid, but not readable here: encoded sections without options.decode */
	HOB_RT_NEWER,		/* a newer major version */
	HOB_RT_MISALIGNED,	/* the blob's address is not a multiple of 16 (classic: 4) */
	HOB_RT_MEMORY
} hob_rt_code;

typedef struct hob_rt_error {
	hob_rt_code code;
	char text[200]; /* message for people, with place and numbers */
} hob_rt_error;

/* ---- opening ---- */

typedef struct hob_rt_blob {
	const void *data;
	size_t size;
} hob_rt_blob;

/* The files of one model, as the daemon serves them: packed (.meshes .materials .scene .animations) or
 * classic (.meshes .materials .scene of the reference converter); their first bytes tell which. The scene is
 * required. The others may be {NULL, 0}; their contents are then empty. The bytes must stay in place,
 * unchanged, until the asset is closed: vertices, indices, keys and names are used in place. */
typedef struct hob_rt_files {
	hob_rt_blob meshes, materials, scene, animations;
} hob_rt_files;

typedef struct hob_rt_options {
	/* NULL: malloc and free. `allocate` returns memory aligned to 16 bytes, or NULL. */
	void *(*allocate)(void *user, size_t size);
	void (*release)(void *user, void *memory);
	/* Decodes a section that the cook compressed (setting encode = meshopt); NULL refuses such files. `codec`
	 * is HOB_PK_CODEC_*; `out` has room for count * stride bytes. Returns false if the bytes are invalid. */
	bool (*decode)(void *user, uint32_t codec, uint32_t count, uint32_t stride, const void *stored,
				   size_t stored_size, void *out);
	void *user;
	/* Skip the check of every index against its vertex count, for files that were checked by
	 * hob_pack_validate or by a digest. Everything else is always checked. */
	bool trust_indices;
} hob_rt_options;

typedef struct hob_rt_asset hob_rt_asset;
typedef struct hob_rt_instance hob_rt_instance;
typedef struct hob_rt_pose hob_rt_pose;
typedef struct hob_rt_player hob_rt_player;

/* Opens the files of a model. Foreign bytes are safe to open: sizes, counts, ids, order, strings and numbers
 * are checked, and after success no call of this header reads outside the blobs, whatever they contain.
 * Digests are not checked: that is the task of the code that fetches the files.
 *
 * options   NULL for the defaults
 * Cost      O(nodes + keys + vertices of skinned meshes + indices); no copy of vertices, indices or keys
 * Errors    all of hob_rt_code; *out is then unchanged */
bool hob_rt_open(const hob_rt_files *files, const hob_rt_options *options, hob_rt_asset **out,
				 hob_rt_error *error);
/* Close instances, poses and players of the asset first. NULL is allowed. */
void hob_rt_close(hob_rt_asset *asset);

/* ---- contents of a model ---- */

typedef struct hob_rt_attribute {
	uint8_t semantic, set, components, encoding; /* HOB_PK_SEMANTIC_*, HOB_PK_ENCODING_* */
	uint16_t format; /* VkFormat number, see VERTEX_FORMAT in schema/formats/mesh.def */
	uint16_t stream;
	uint32_t offset; /* offset in bytes in a vertex of that stream */
} hob_rt_attribute;

typedef struct hob_rt_stream {
	const uint8_t *data; /* the mesh's first vertex */
	uint32_t stride;	 /* bytes from one vertex to the next */
	uint32_t buffer;	 /* meshes with equal `buffer` share one vertex buffer ... */
	uint32_t first;		 /* ... in which the mesh begins at this vertex */
} hob_rt_stream;

typedef struct hob_rt_lod {
	const void *indices;			   /* values below vertex_prefix, relative to the mesh's first vertex */
	uint32_t index_bytes, index_count; /* 2 or 4 */
	uint32_t vertex_prefix; /* vertices [0, vertex_prefix) are enough for this and all coarser levels */
	float error;			/* absolute, in the mesh's space; 0 for level 0; estimated for classic files */
	uint32_t meshlet_first, meshlet_count;
	float mean_error; /* mean distance instead of the largest; 0: not known */
} hob_rt_lod;

enum { HOB_RT_STREAMS = 4 };

/* One draw: one material, one topology. Positions are pos_offset + pos_scale * stored, scaled texture
 * coordinates uv_offset + uv_scale * stored (0 and 1 for exact ones; for the classic format, which stores
 * 1 - v, they restore v). Coordinate (0,0) is the upper left corner of the picture. */
typedef struct hob_rt_mesh {
	const char *name;
	uint32_t material, flags, topology; /* HOB_PK_MESH_*, HOB_PK_TOPOLOGY_* */
	uint32_t vertex_count, influence_count;
	uint32_t stream_count, attribute_count, lod_count;
	hob_rt_stream streams[HOB_RT_STREAMS];
	const hob_rt_attribute *attributes;
	const hob_rt_lod *lods;			   /* finest first */
	uint32_t morph_first, morph_count; /* in hob_rt_morph() */
	float aabb_min[3], aabb_max[3], sphere[4];
	float pos_offset[3], pos_scale, uv_offset[2], uv_scale[2];
	float uv_density;
} hob_rt_mesh;

/* A mesh on a node. Skinned meshes follow only their joints; the node's own transform has no effect. */
typedef struct hob_rt_draw {
	/* `material` is the node's, otherwise the mesh's; HOB_RT_NONE = glTF's default */
	uint32_t node, mesh, material;
	uint32_t skin;						 /* HOB_RT_NONE = rigid */
	uint32_t weight_first, weight_count; /* in hob_rt_weights() */
} hob_rt_draw;

typedef struct hob_rt_skin {
	const char *name;
	uint32_t root, joint_count;
	const uint32_t *joints; /* [joint_count] nodes */
} hob_rt_skin;

typedef struct hob_rt_clip {
	const char *name;
	float start, end; /* seconds of the first and last key */
	uint32_t channel_first, channel_count;
	/* of the skinned meshes over the clip, unattached; min > max if there are none */
	float bounds_min[3], bounds_max[3];
} hob_rt_clip;

/* The resolved contents. Read-only; arrays have the lengths of the counts. */
struct hob_rt_asset {
	uint32_t node_count, draw_count, mesh_count, material_count, texref_count, image_count, sampler_count;
	uint32_t morph_count, skin_count, clip_count, camera_count, light_count, scene_count, variant_count;
	uint32_t default_scene;
	uint32_t weight_count;	  /* morph weights of all nodes */
	uint32_t animated_count;  /* nodes that some clip animates */
	const hob_rt_draw *draws; /* in node order */
	const hob_rt_mesh *meshes;
	const hob_rt_skin *skins;
	const hob_rt_clip *clips;
	const uint32_t *animated; /* [animated_count] node ids, ascending */
	bool classic;
};

/* Names are UTF-8 and NUL-terminated, "" if there is none; they are valid as long as the asset. */
const char *hob_rt_node_name(const hob_rt_asset *asset, uint32_t node);
/* First node with this name, HOB_RT_NONE if there is none. O(log nodes). */
uint32_t hob_rt_find_node(const hob_rt_asset *asset, const char *name);
/* The next node with the same name as `node`. */
uint32_t hob_rt_find_next(const hob_rt_asset *asset, uint32_t node);
uint32_t hob_rt_find_clip(const hob_rt_asset *asset, const char *name); /* O(clips) */

uint32_t hob_rt_parent(const hob_rt_asset *asset, uint32_t node); /* HOB_RT_NONE for a root */
/* The nodes of a scene's roots. */
const uint32_t *hob_rt_scene_roots(const hob_rt_asset *asset, uint32_t scene, uint32_t *count);
const char *hob_rt_scene_name(const hob_rt_asset *asset, uint32_t scene);

/* Records of the packed format (FORMATS.md describes each field); a classic file's are made on opening. Their
 * `name` fields are offsets: the functions below give the text. */
const hob_pk_material *hob_rt_material(const hob_rt_asset *asset, uint32_t material);
const char *hob_rt_material_name(const hob_rt_asset *asset, uint32_t material);
const hob_pk_texref *hob_rt_texref(const hob_rt_asset *asset, uint32_t texref);
const hob_pk_image *hob_rt_image(const hob_rt_asset *asset, uint32_t image);
const char *hob_rt_image_name(const hob_rt_asset *asset, uint32_t image); /* classic: the file to load */
const hob_pk_texture_sampler *hob_rt_sampler(const hob_rt_asset *asset, uint32_t sampler);
const char *hob_rt_variant_name(const hob_rt_asset *asset, uint32_t variant);
/* The material of a mesh in a variant, HOB_RT_NONE if the variant does not set it. */
uint32_t hob_rt_variant_material(const hob_rt_asset *asset, uint32_t mesh, uint32_t variant);
const hob_pk_camera *hob_rt_camera(const hob_rt_asset *asset, uint32_t camera);
const hob_pk_light *hob_rt_light(const hob_rt_asset *asset, uint32_t light);
uint32_t hob_rt_node_camera(const hob_rt_asset *asset, uint32_t node); /* HOB_RT_NONE if it has none */
uint32_t hob_rt_node_light(const hob_rt_asset *asset, uint32_t node);

/* Custom properties of the file (index 0), a scene, node, material, mesh, camera, light, skin or clip: one
 * JSON value as text, "" if there are none. kind: HOB_PK_EXTRA_NODE ... `extensions` (may be NULL) becomes a
 * JSON object with the glTF extensions that Hob does not know, or "". O(log n). */
const char *hob_rt_extras(const hob_rt_asset *asset, uint32_t kind, uint32_t index, const char **extensions);

/* Morph targets: mesh->morph_first .. + morph_count. Deltas are sorted by vertex; vertices without one
 * stay. */
const hob_pk_morph *hob_rt_morph(const hob_rt_asset *asset, uint32_t morph);
const char *hob_rt_morph_name(const hob_rt_asset *asset, uint32_t morph);
const hob_pk_delta *hob_rt_deltas(const hob_rt_asset *asset, uint32_t morph, uint32_t *count);

/* Meshlets of a level, and the two arrays that they index. NULL and 0 if the file has none. */
const hob_pk_meshlet *hob_rt_meshlets(const hob_rt_asset *asset, const hob_rt_lod *lod);
const uint32_t *hob_rt_meshlet_vertices(const hob_rt_asset *asset, uint32_t *count);
const uint8_t *hob_rt_meshlet_triangles(const hob_rt_asset *asset, uint32_t *size);

/* Deviation of a level's texture coordinates, colours and joint weights from the full mesh (FORMATS.md,
 * lod_attributes); `level` counts from 0, below mesh->lod_count. NULL if the file has none: they do not
 * differ, or the file is older. */
const hob_pk_lod_attributes *hob_rt_lod_attributes(const hob_rt_asset *asset, const hob_rt_mesh *mesh,
												   uint32_t level);

/* A hierarchy of clusters: the meshlets of a mesh at every detail. Each part of the mesh can be drawn at its
 * own detail, without cracks (FORMATS.md, cluster_set). */
typedef struct hob_rt_clusters {
	const hob_pk_cluster_group *groups; /* [group_count] coarsest first; cluster_first counts from 0 */
	const uint32_t *sources;			/* [cluster_count] group, or HOB_RT_NONE */
	const hob_pk_meshlet *meshlets;		/* [cluster_count] the clusters themselves */
	uint32_t group_count, cluster_count;
} hob_rt_clusters;

/* False if the mesh has none. O(log meshes). */
bool hob_rt_mesh_clusters(const hob_rt_asset *asset, uint32_t mesh, hob_rt_clusters *out);

/* Reads one attribute of one vertex as floats, decoded by its format and encoding (joints as numbers, missing
 * components 0 0 0 1; octahedral vectors unpacked). For tools, tests and software skinning; a GPU reads
 * streams. */
void hob_rt_read_vertex(const hob_rt_mesh *mesh, const hob_rt_attribute *attribute, uint32_t vertex,
						float out[4]);
/* NULL if the mesh has no such attribute. */
const hob_rt_attribute *hob_rt_find_attribute(const hob_rt_mesh *mesh, uint32_t semantic, uint32_t set);

/* ---- instances: transforms ---- */

/* A new instance is in the rest pose, with computed world transforms.
 * Cost  O(nodes); about 180 bytes per node.  Errors  MEMORY */
bool hob_rt_instance_open(const hob_rt_asset *asset, hob_rt_instance **out, hob_rt_error *error);
/* Detaches it, and everything attached to it. NULL is allowed. */
void hob_rt_instance_close(hob_rt_instance *instance);
const hob_rt_asset *hob_rt_instance_asset(const hob_rt_instance *instance);

/* Sets a node's local translation, rotation, scale; NULL leaves that part unchanged. The rotation is
 * normalised (zero becomes the identity). Takes effect at the next hob_rt_update. O(1). */
void hob_rt_set_trs(hob_rt_instance *instance, uint32_t node, const float translation[3],
					const float rotation[4], const float scale[3]);
/* Sets a node's local matrix, which is used until its translation, rotation or scale is set or animated. */
void hob_rt_set_matrix(hob_rt_instance *instance, uint32_t node, const float matrix[16]);
/* The node's current parts; for a node with a matrix, the parts before it was set. Any pointer may be
 * NULL. */
void hob_rt_get_trs(const hob_rt_instance *instance, uint32_t node, float translation[3], float rotation[4],
					float scale[3]);
/* Resets a node to its cooked transform. */
void hob_rt_reset_node(hob_rt_instance *instance, uint32_t node);

/* Recomputes the world transforms that changed since the last call: the subtrees of the nodes that were set,
 * and of everything attached to this instance, at any depth. An attached instance is updated through the one
 * that carries it. Returns the number of nodes recomputed in this instance.
 * Cost  O(nodes recomputed + nodes / 4096) */
uint32_t hob_rt_update(hob_rt_instance *instance);

/* World transforms after the last hob_rt_update: [node_count][16], which can be uploaded as a whole. */
const float *hob_rt_globals(const hob_rt_instance *instance);
const float *hob_rt_global(const hob_rt_instance *instance, uint32_t node);
const float *hob_rt_local(const hob_rt_instance *instance, uint32_t node);

/* The node ranges that the last hob_rt_update recomputed, ascending and disjoint: upload these. */
typedef struct hob_rt_range {
	uint32_t first, count;
} hob_rt_range;
const hob_rt_range *hob_rt_changed(const hob_rt_instance *instance, uint32_t *count);

/* Attaches `child` to a node of `parent` (a sword to a hand): the world transforms of its roots then begin
 * with that node's. Replaces an earlier attachment. False if `parent` is attached, at any depth, to
 * `child`. */
bool hob_rt_attach(hob_rt_instance *child, hob_rt_instance *parent, uint32_t node);
void hob_rt_detach(hob_rt_instance *child);
/* Places an instance that is not attached: a matrix before its roots. Initially the identity. */
void hob_rt_place(hob_rt_instance *instance, const float matrix[16]);

/* Morph weights, [asset->weight_count], read and written by the caller; those of a draw are [weight_first, +
 * weight_count). Initially the node's own, otherwise the defaults of its mesh. */
float *hob_rt_weights(hob_rt_instance *instance);

/* The records of hob_rt_material and so on, with the values that hob_rt_apply wrote to this instance
 * (KHR_animation_pointer). True if some clip of the asset drives one of their numbers; if false, the record
 * never changes. A texture reference is that of a material's slot, which must have one. Derived fields
 * (transparency, alpha_test) stay as cooked. O(log properties) for each number. */
bool hob_rt_driven_material(const hob_rt_instance *instance, uint32_t material, hob_pk_material *out);
bool hob_rt_driven_texref(const hob_rt_instance *instance, uint32_t material, uint32_t slot,
						  hob_pk_texref *out);
bool hob_rt_driven_camera(const hob_rt_instance *instance, uint32_t camera, hob_pk_camera *out);
bool hob_rt_driven_light(const hob_rt_instance *instance, uint32_t light, hob_pk_light *out);
/* False if the node or an ancestor is hidden by the file or by the clips that hob_rt_apply wrote, including
 * ancestors in the instances that carry this one. Lights and cameras follow it, too. O(depth) where the file
 * hides anything. */
bool hob_rt_is_visible(const hob_rt_instance *instance, uint32_t node);

/* ---- clips: sampling ---- */

/* A pose is a structure of arrays: translation, rotation and scale of every node that some clip of the asset
 * animates (asset->animated maps slots to nodes), all morph weights, and the animated numbers of materials,
 * texture placement, cameras, lights and visibility. It starts as the rest pose. */
struct hob_rt_pose {
	const hob_rt_asset *asset;
	float *translation[3]; /* [component][slot] */
	float *rotation[4];
	float *scale[3];
	float *weights; /* [asset->weight_count], then the animated properties other than nodes */
	float total;	/* used by blending */
};

bool hob_rt_pose_open(const hob_rt_asset *asset, hob_rt_pose **out, hob_rt_error *error);
void hob_rt_pose_close(hob_rt_pose *pose);
void hob_rt_pose_rest(hob_rt_pose *pose);
void hob_rt_pose_copy(hob_rt_pose *to, const hob_rt_pose *from);

/* Maps a running time into a clip: into [start, end] by wrapping around, in either direction, keeping the
 * remainder (loop), or to the nearer end. A clip without length, or a time that is not a number, gives
 * `start`. */
double hob_rt_clip_time(const hob_rt_clip *clip, double time, bool loop);

/* Samples a clip at a time into a pose. Nodes and components without a track, and nodes that only other clips
 * animate, take the rest pose. Before the first key of a track its first value holds, after the last its
 * last. LINEAR interpolates, rotations at constant speed the short way; STEP holds; CUBICSPLINE is the
 * Hermite curve with tangents times the distance of the keys. A key's own time gives its value bit for bit.
 *
 * time     seconds as in the file: see hob_rt_clip_time
 * cursors  [clip->channel_count] zeroed once by the caller, then left alone: last position in each track, so
 *          that playing on needs no search. NULL searches. Any values are safe.
 * Cost     O(channels), O(log keys) each where time jumped */
void hob_rt_sample(const hob_rt_asset *asset, uint32_t clip, double time, uint32_t *cursors,
				   hob_rt_pose *pose);

/* Writes a pose to an instance; only values that change become dirty. Call hob_rt_update afterwards. It
 * changes only components that some clip of the asset animates. */
void hob_rt_apply(const hob_rt_pose *pose, hob_rt_instance *instance);

/* ---- clips: blending ---- */

/* A weighted mean of poses: begin, add any number, end. Weights <= 0 are ignored. If the total is below 1,
 * the rest pose fills the rest; if it is above 1, the sum is divided by it. Rotations are summed on the
 * hemisphere of the first and normalised. `out` is unusable in between and must not be one of the added
 * poses. Cost O(slots) each, vectorised. */
void hob_rt_blend_begin(hob_rt_pose *out);
void hob_rt_blend_add(hob_rt_pose *out, const hob_rt_pose *pose, float weight);
void hob_rt_blend_end(hob_rt_pose *out);

/* Adds to `base` the difference from `reference` to `pose`, `weight` times: translations and morph weights by
 * difference, rotations by further rotation, scales by quotient (a reference scale of 0 adds nothing). */
void hob_rt_blend_additive(hob_rt_pose *base, const hob_rt_pose *pose, const hob_rt_pose *reference,
						   float weight);

/* ---- clips: a player that does the above ---- */

/* One clip being played. Fields may be written between calls. */
typedef struct hob_rt_layer {
	uint32_t clip; /* HOB_RT_NONE: the layer is free */
	double time;   /* seconds, within the clip */
	float speed;   /* 1 = as authored; negative plays backwards */
	float weight;
	/* weight approaches it by fade_rate per second; a layer that fades to 0 becomes free */
	float target_weight;
	float fade_rate;
	bool loop;
	bool additive; /* added to the mean of the others, relative to its own first frame */
} hob_rt_layer;

bool hob_rt_player_open(const hob_rt_asset *asset, uint32_t layer_count, hob_rt_player **out,
						hob_rt_error *error);
void hob_rt_player_close(hob_rt_player *player);
hob_rt_layer *hob_rt_player_layers(hob_rt_player *player, uint32_t *count);

/* Starts a clip on a free layer (or else on the one with the least weight), from its start, or from its end
 * if speed is negative. Its weight rises to 1 in `fade` seconds, while all other layers that are not additive
 * fall to 0: a cross-fade. fade <= 0 switches at once. Returns the layer. */
uint32_t hob_rt_player_play(hob_rt_player *player, uint32_t clip, float fade, float speed, bool loop);
/* Starts an additive clip without touching the other layers. */
uint32_t hob_rt_player_add(hob_rt_player *player, uint32_t clip, float weight, float fade, float speed,
						   bool loop);
/* Fades a layer out. */
void hob_rt_player_stop(hob_rt_player *player, uint32_t layer, float fade);
/* Advances all layers by `seconds` (any sign; a value that is not a number moves nothing) and applies the
 * result. Without layers the instance takes the rest pose. */
void hob_rt_player_advance(hob_rt_player *player, double seconds, hob_rt_instance *instance);

/* ---- skins ---- */

/* Matrices that transform a skin's vertices from bind pose to world: global of the joint times inverse bind.
 *
 * palette  [joint_count][16] out
 * normals  [joint_count][12] out or NULL: inverse transpose of the upper 3x3, three columns padded to four
 *          floats; for a singular matrix its cofactors, which keep directions */
void hob_rt_palette(const hob_rt_instance *instance, uint32_t skin, float *palette, float *normals);
const float *hob_rt_inverse_bind(const hob_rt_asset *asset, uint32_t skin, uint32_t joint);

/* ---- culling and levels of detail ---- */

/* Six planes, inward: a*x + b*y + c*z + d >= 0 inside. From view * projection, for clip space z in -w..w;
 * correct (near plane a little generous) for 0..w and reversed or infinite depth too. */
typedef struct hob_rt_frustum {
	float planes[6][4];
} hob_rt_frustum;

typedef enum hob_rt_side { HOB_RT_OUTSIDE, HOB_RT_CROSSING, HOB_RT_INSIDE } hob_rt_side;

void hob_rt_frustum_init(hob_rt_frustum *frustum, const float view_projection[16]);
hob_rt_side hob_rt_frustum_box(const hob_rt_frustum *frustum, const float min[3], const float max[3]);
hob_rt_side hob_rt_frustum_sphere(const hob_rt_frustum *frustum, const float sphere[4]);
/* The axis-aligned box around a transformed box. out may be in. */
void hob_rt_transform_box(const float matrix[16], const float min[3], const float max[3], float out_min[3],
						  float out_max[3]);

/* World bounds of a draw after the last update: the mesh's box moved by its node; for skinned meshes the
 * joints' boxes moved by the joints, widened by the current morph weights. Returns false for a mesh without
 * vertices. */
bool hob_rt_draw_bounds(const hob_rt_instance *instance, uint32_t draw, float min[3], float max[3]);
/* Writes the visible draws whose bounds are not outside, at most [asset->draw_count]; returns how many. */
uint32_t hob_rt_cull(const hob_rt_instance *instance, const hob_rt_frustum *frustum, uint32_t *draws);

/* The coarsest level whose error, seen from `eye`, stays within `pixels`.
 *
 * global            the node's world transform; its largest scale counts
 * pixels_per_radian viewport height / (2 * tan(vertical field of view / 2))
 * Source            screen-space error of Cohen, Olano, Manocha 1998; distance to the bounding sphere, not
 *                   its centre. Packed files have measured errors, classic ones estimates. */
uint32_t hob_rt_choose_lod(const hob_rt_mesh *mesh, const float global[16], const float eye[3],
						   float pixels_per_radian, float pixels);

/* The coarsest cut of the clusters whose error, seen from `eye`, stays within `pixels`. Each part of the mesh
 * is in it once, and neighbours join without a crack.
 *
 * global, eye, pixels_per_radian, pixels  as for hob_rt_choose_lod; where the node scales its axes unequally,
 *                                         the cut is finer than necessary
 * good              [group_count] scratch
 * out               [cluster_count] out: clusters in ascending order
 * Returns           the number of clusters.
 * Cost              at most 1 ns per cluster, less where groups are good enough; no tree, no state. */
uint32_t hob_rt_choose_clusters(const hob_rt_clusters *clusters, const float global[16], const float eye[3],
								float pixels_per_radian, float pixels, uint8_t *good, uint32_t *out);
/* Writes a cluster's triangles as indices like those of a level, at most 3 * 255. Returns how many. */
uint32_t hob_rt_cluster_indices(const hob_rt_asset *asset, const hob_rt_clusters *clusters, uint32_t cluster,
								uint32_t *out);

#ifdef __cplusplus
}
#endif
#endif
