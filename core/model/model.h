/* model.h - the neutral in-memory model: every importer produces it, every writer consumes it.
 *
 * Large items are arrays with u32 ids; HOB_NONE means "none". All memory belongs to the importer's arena.
 * Units: metres, seconds, radians; right-handed, Y up, front +Z (glTF's frame). Matrices are 16 floats,
 * column-major, column vectors (m[12..14] is the translation). Quaternions are x y z w. Texture coordinate
 * (0,0) is the upper left corner of the picture, as in glTF. Colours are linear unless a field says sRGB.
 * hob_model_check() states every rule and is run after each import. */
#ifndef HOB_MODEL_H
#define HOB_MODEL_H

#include "../base/base.h"

enum {
	HOB_UV_SETS = 8,
	HOB_COLOR_SETS = 4,
};

/* ---- extras: custom properties of the source ---- */

/* Custom properties as JSON text: glTF's `extras` and unknown `extensions`, FBX user properties, USD
 * customData. They reach the .scene, `hob inspect`, the API and the exported GLB unchanged; Hob does not
 * interpret them.
 *
 * values      one JSON value, an object unless copied from the source: {"health":10}. hob_buf_put_json and
 *             hob_buf_put_double (base.h) write its parts. Empty: there are none
 * extensions  a JSON object with one member for each glTF extension that Hob does not know. Empty: there are
 *             none
 *
 * Both are valid JSON and UTF-8, at most HOB_LIMIT_JSON_DEPTH deep. All extras of a model together have at
 * most HOB_LIMIT_EXTRAS_BYTES: an importer leaves out the rest, with one warning. */
typedef struct hob_extras {
	hob_str values, extensions;
} hob_extras;

/* ---- meshes: one draw each (glTF's "primitive"): one material, one topology ---- */

typedef enum hob_topology { HOB_TRIANGLES, HOB_LINES, HOB_POINTS } hob_topology;

typedef struct hob_morph_target {
	hob_str name;
	float weight;	 /* default weight */
	float *position; /* [vertex_count][3] deltas, or NULL */
	float *normal;	 /* [vertex_count][3] deltas, or NULL */
	float *tangent;	 /* [vertex_count][3] deltas, or NULL */
} hob_morph_target;

typedef struct hob_mesh {
	hob_str name;
	uint32_t material;		   /* into materials, HOB_NONE: default material */
	uint32_t source_mesh;	   /* mesh index in the source; meshes made from it are consecutive */
	uint32_t source_primitive; /* index of the primitive in the source mesh */
	hob_topology topology;	   /* strips, fans and loops are already turned into lists */
	uint32_t vertex_count, index_count;
	uint32_t *indices;			  /* [index_count], each < vertex_count; non-indexed sources get 0,1,2... */
	float *position;			  /* [vertex_count][3], finite */
	float *normal;				  /* [vertex_count][3] unit length, or NULL */
	float *tangent;				  /* [vertex_count][4] unit xyz, w = +1 or -1, or NULL */
	float *uv[HOB_UV_SETS];		  /* [vertex_count][2], or NULL; sets are contiguous from 0 */
	float *color[HOB_COLOR_SETS]; /* [vertex_count][4] linear, or NULL */
	uint32_t influence_count;	  /* joints per vertex: 0, 4, 8, 12 ... as in the source */
	uint16_t *joints;			  /* [vertex_count][influence_count], index into the skin's joint list */
	float *weights;				  /* [vertex_count][influence_count], not normalised by importers */
	uint32_t target_count;
	hob_morph_target *targets;
	struct hob_variant_mapping *mappings; /* KHR_materials_variants */
	uint32_t mapping_count;
	bool flat;		   /* without normals, the mesh is shaded flat (glTF, STL), not smooth */
	hob_extras extras; /* of the source mesh, on the first mesh made from it only */
} hob_mesh;

typedef struct hob_variant_mapping {
	uint32_t variant, material;
} hob_variant_mapping;

/* ---- materials ---- */

typedef enum hob_wrap { HOB_WRAP_REPEAT, HOB_WRAP_CLAMP, HOB_WRAP_MIRROR } hob_wrap;
typedef enum hob_filter {
	HOB_FILTER_DEFAULT,
	HOB_FILTER_NEAREST,
	HOB_FILTER_LINEAR,
	HOB_FILTER_NEAREST_MIP_NEAREST,
	HOB_FILTER_LINEAR_MIP_NEAREST,
	HOB_FILTER_NEAREST_MIP_LINEAR,
	HOB_FILTER_LINEAR_MIP_LINEAR
} hob_filter;

typedef struct hob_sampler {
	hob_wrap wrap_u, wrap_v;
	hob_filter mag, min;
} hob_sampler;

/* A picture. `path` or `bytes` is set, never both; neither if the source's picture is not available (outside
 * the root, unsupported source), and then `uri` still has its name. */
typedef struct hob_image {
	hob_str name;
	hob_str uri;  /* as written in the source, for messages; empty for embedded */
	hob_str path; /* normalised path below the root, whether or not the file exists */
	/* Embedded: the encoded file (PNG, JPEG ...) or raw RGBA8 if raw_width > 0. It may point into a file that
	 * hob_io returned, because the io outlives the model. */
	hob_bytes bytes;
	uint32_t raw_width, raw_height; /* Assimp's uncompressed embedded textures: bytes are RGBA8 */
	hob_str mime;					/* as declared, may be empty or wrong: check the bytes */
	bool spare;						/* nothing in the source refers to it; also false if that is not known */
	/* The picture is computed from others, and neither path nor bytes is set. NULL: it is not computed. */
	const struct hob_made_image *made;
} hob_image;

/* The textures of KHR_materials_pbrSpecularGlossiness expressed as metal and roughness (spec_gloss.h), texel
 * by texel. One of two pictures: base colour (sRGB, a from the diffuse picture), or roughness in G and
 * metallic in B. Factors are linear and multiply the pictures' values; a missing picture counts as 1. */
typedef struct hob_made_image {
	bool is_metal_rough;
	bool has_diffuse, has_specular;
	hob_image diffuse, specular; /* sRGB; `specular`: a = glossiness. Neither is itself computed */
	float diffuse_factor[3], specular_factor[3], glossiness;
} hob_made_image;

/* Channel of a picture that is a scalar map (opacity, roughness, metallic). */
typedef enum hob_channel_choice {
	HOB_CHANNEL_OF_SLOT, /* the default of the slot */
	HOB_CHANNEL_R,
	HOB_CHANNEL_G,
	HOB_CHANNEL_B,
	HOB_CHANNEL_A,
	HOB_CHANNEL_LUMINANCE
} hob_channel_choice;

typedef struct hob_texture_ref {
	uint32_t image;	  /* HOB_NONE: no texture: importers must set an all-zero ref to HOB_NONE */
	uint32_t sampler; /* HOB_NONE: repeat, linear */
	uint32_t uv_set;
	float offset[2], scale[2], rotation; /* KHR_texture_transform: uv' = T R S uv, R = [c s; -s c]; scale 1 */
	hob_channel_choice channel;			 /* only OPACITY, ROUGHNESS and METALLIC use it */
} hob_texture_ref;

typedef enum hob_alpha_mode { HOB_ALPHA_OPAQUE, HOB_ALPHA_MASK, HOB_ALPHA_BLEND } hob_alpha_mode;

/* Texture slots of a material. */
typedef enum hob_slot {
	HOB_SLOT_BASE_COLOR,  /* sRGB, a = opacity */
	HOB_SLOT_METAL_ROUGH, /* G roughness, B metallic */
	HOB_SLOT_NORMAL,
	HOB_SLOT_OCCLUSION, /* R */
	HOB_SLOT_EMISSIVE,	/* sRGB */
	/* Separate opacity map (OBJ map_d ...): A if some alpha is below 1, otherwise the luminance of RGB. */
	HOB_SLOT_OPACITY,
	HOB_SLOT_SPECULAR,		  /* A */
	HOB_SLOT_SPECULAR_COLOR,  /* sRGB */
	HOB_SLOT_CLEARCOAT,		  /* R */
	HOB_SLOT_CLEARCOAT_ROUGH, /* G */
	HOB_SLOT_CLEARCOAT_NORMAL,
	HOB_SLOT_TRANSMISSION,				 /* R */
	HOB_SLOT_SHEEN_COLOR,				 /* sRGB */
	HOB_SLOT_SHEEN_ROUGH,				 /* A */
	HOB_SLOT_THICKNESS,					 /* G */
	HOB_SLOT_ANISOTROPY,				 /* RG direction, B strength */
	HOB_SLOT_IRIDESCENCE,				 /* R */
	HOB_SLOT_IRIDESCENCE_THICKNESS,		 /* G */
	HOB_SLOT_DIFFUSE_TRANSMISSION,		 /* A */
	HOB_SLOT_DIFFUSE_TRANSMISSION_COLOR, /* sRGB */
	HOB_SLOT_ROUGHNESS,					 /* separate maps, packed into METAL_ROUGH by the cook: R */
	HOB_SLOT_METALLIC,					 /* R */
	HOB_SLOT_BUMP,						 /* height map: cooked into a normal map */
	HOB_SLOT_COUNT
} hob_slot;

/* Extensions present, bit = 1 << value. */
typedef enum hob_material_ext {
	HOB_MATERIAL_UNLIT,
	HOB_MATERIAL_SPECULAR,
	HOB_MATERIAL_IOR,
	HOB_MATERIAL_CLEARCOAT,
	HOB_MATERIAL_SHEEN,
	HOB_MATERIAL_TRANSMISSION,
	HOB_MATERIAL_VOLUME,
	HOB_MATERIAL_IRIDESCENCE,
	HOB_MATERIAL_ANISOTROPY,
	HOB_MATERIAL_DISPERSION,
	HOB_MATERIAL_DIFFUSE_TRANSMISSION,
	HOB_MATERIAL_EMISSIVE_STRENGTH,
	HOB_MATERIAL_SPEC_GLOSS /* converted from KHR_materials_pbrSpecularGlossiness */
} hob_material_ext;

typedef struct hob_material {
	hob_str name;
	hob_alpha_mode alpha_mode;
	bool double_sided;
	uint32_t ext_mask;
	float base_color[4];
	float metallic, roughness;
	float emissive[3], emissive_strength;
	float normal_scale, occlusion_strength, alpha_cutoff;
	float ior, dispersion;
	float specular, specular_color[3];
	float clearcoat, clearcoat_roughness, clearcoat_normal_scale;
	float sheen_color[3], sheen_roughness;
	float transmission, thickness, attenuation_distance, attenuation_color[3]; /* distance +inf allowed */
	float anisotropy, anisotropy_rotation;
	float iridescence, iridescence_ior, iridescence_min, iridescence_max; /* thickness in nanometres */
	float diffuse_transmission, diffuse_transmission_color[3];
	hob_texture_ref slots[HOB_SLOT_COUNT];
	hob_extras extras;
} hob_material;

/* glTF's defaults: white, metallic 1, roughness 1, every slot HOB_NONE with scale 1. Importers of formats
 * with other defaults set them afterwards. */
void hob_material_init(hob_material *material);

/* ---- scene ---- */

/* Nodes are in depth-first pre-order: parent < node, and a node's descendants are the contiguous range after
 * it. Siblings keep the source's order; several roots are allowed. Either TRS or the matrix is authoritative:
 * has_matrix means that the source has a matrix that TRS cannot express exactly (shear). TRS then has the
 * closest decomposition. */
typedef struct hob_node {
	hob_str name;
	uint32_t parent; /* HOB_NONE for a root */
	/* index in the source, for messages and for mapping; HOB_NONE if the importer added the node */
	uint32_t source;
	bool has_matrix;
	bool hidden; /* the node and its descendants are not drawn (KHR_node_visibility) */
	float translation[3], rotation[4], scale[3];
	float matrix[16];
	uint32_t mesh_first, mesh_count; /* range in hob_model.mesh_refs */
	uint32_t skin, camera, light;
	/* the node's own morph weights in hob_model.weights; none (count 0): the mesh's apply */
	uint32_t weight_first, weight_count;
	hob_extras extras;
} hob_node;

typedef struct hob_scene {
	hob_str name;
	uint32_t root_first, root_count; /* range in hob_model.scene_roots */
	hob_extras extras;
} hob_scene;

typedef enum hob_camera_type { HOB_CAMERA_PERSPECTIVE, HOB_CAMERA_ORTHOGRAPHIC } hob_camera_type;

typedef struct hob_camera {
	hob_str name;
	hob_camera_type type;
	float yfov_or_ymag;	  /* radians, or half height in metres */
	float aspect_or_xmag; /* 0: not given (perspective), or half width */
	float znear, zfar;	  /* zfar = +inf if absent */
	hob_extras extras;
} hob_camera;

typedef enum hob_light_type { HOB_LIGHT_DIRECTIONAL, HOB_LIGHT_POINT, HOB_LIGHT_SPOT } hob_light_type;

typedef struct hob_light {
	hob_str name;
	hob_light_type type;
	float color[3], intensity; /* lux (directional) or candela */
	float range;			   /* metres, +inf if absent */
	float inner_cone, outer_cone;
	hob_extras extras;
} hob_light;

typedef struct hob_skin {
	hob_str name;
	uint32_t root; /* skeleton root node or HOB_NONE */
	uint32_t joint_count;
	uint32_t *joints;	 /* [joint_count] node ids */
	float *inverse_bind; /* [joint_count][16]; never NULL: identity if the source has none */
	hob_extras extras;
} hob_skin;

/* ---- animation ---- */

typedef enum hob_interpolation { HOB_STEP, HOB_LINEAR, HOB_CUBICSPLINE } hob_interpolation;
typedef enum hob_path { HOB_PATH_TRANSLATION, HOB_PATH_ROTATION, HOB_PATH_SCALE, HOB_PATH_WEIGHTS } hob_path;

typedef struct hob_track {
	hob_interpolation interpolation;
	uint32_t components; /* 3, 4, or the number of morph targets */
	uint32_t key_count;
	float *times; /* [key_count] seconds, strictly increasing */
	/* [key_count][components]; CUBICSPLINE: [key_count][3][components] = in-tangent, value, out-tangent */
	float *values;
} hob_track;

typedef struct hob_channel {
	uint32_t node;
	hob_path path;
	uint32_t track; /* into hob_clip.tracks */
} hob_channel;

/* A channel that drives something other than a node (properties.h). */
typedef struct hob_property_channel {
	uint32_t property; /* hob_property */
	uint32_t index;	   /* material, camera, light or node */
	uint32_t slot;	   /* hob_slot of a texture's placement, otherwise 0 */
	uint32_t track;	   /* into hob_clip.tracks */
} hob_property_channel;

typedef struct hob_clip {
	hob_str name; /* unique within the model */
	uint32_t channel_count, property_count, track_count;
	hob_channel *channels;
	hob_property_channel *properties;
	hob_track *tracks;
	hob_extras extras;
} hob_clip;

/* ---- the space of the source ---- */

typedef enum hob_color_space {
	HOB_COLORS_STATED, /* stated by the format: no setting may change it */
	HOB_COLORS_LINEAR, /* the format does not say; the importer took them as linear */
	HOB_COLORS_SRGB	   /* the format does not say; the importer took them as sRGB and converted them */
} hob_color_space;

/* How the importer converted the source to Hob's space, so that the settings up_axis, unit (with
 * hob_model.unit) and colors can redo it differently (core/import/space.h). All zero: nothing was converted,
 * as in glTF. Importers only fill it in; they do not read these settings. */
typedef struct hob_source_space {
	float turn[4]; /* rotation x y z w applied to the source's axes; all zero = none */
	hob_color_space material_colors, vertex_colors; /* of factors (not pictures) and lights; of vertices */
	bool settled;									/* the settings are already applied */
} hob_source_space;

/* ---- the model ---- */

typedef struct hob_model {
	hob_str generator; /* tool named in the source, may be empty */
	hob_str licence;   /* licence or copyright as the source states it, may be empty */
	hob_str uses; /* extensions that the source says it uses, each with a space behind it; may be empty */
	hob_extras extras; /* of the file as a whole */
	float unit;		   /* metres per source unit, which importers multiplied by; 0 means 1 */
	hob_source_space space;
	uint32_t mesh_count, material_count, image_count, sampler_count, unused_image_count;
	hob_image *unused_images; /* spare ones that core/material has dropped */
	hob_mesh *meshes;
	hob_material *materials;
	hob_image *images;
	hob_sampler *samplers;
	uint32_t node_count, mesh_ref_count, weight_count, scene_count, scene_root_count;
	hob_node *nodes;
	uint32_t *mesh_refs;
	float *weights;
	hob_scene *scenes; /* at least one; a source without scenes gets one with all roots */
	uint32_t *scene_roots;
	uint32_t default_scene;
	uint32_t camera_count, light_count, skin_count, clip_count, variant_count;
	hob_camera *cameras;
	hob_light *lights;
	hob_skin *skins;
	hob_clip *clips;
	hob_str *variants;
	/* the file of an equirectangular picture, and then nothing else is set; empty: a model */
	hob_bytes environment;
} hob_model;

/* Verifies every rule of this header: ids in range, pre-order, finite positions and matrices, arrays present
 * for their counts, at least one scene. CORRUPT: the importer has a bug or the file is bad. */
bool hob_model_check(const hob_model *model, hob_error *err) HOB_MUST_CHECK;

/* Makes one scene of all nodes without a parent, for formats without scenes; model->scene_count is 0. */
void hob_model_one_scene(hob_model *model, hob_arena *arena);

/* Cuts the name of each clip up to its last '|' (Blender and Assimp write "rig|Walk"). Names stay unique: a
 * later clip gets "Walk_2". A name that would become empty is not cut. O(clip_count squared). */
void hob_model_short_clip_names(hob_model *model, hob_arena *arena);
/* Gives clip `index` the name, or name_2, name_3 ... if an earlier clip has it. */
void hob_model_name_clip(hob_model *model, uint32_t index, hob_str name, hob_arena *arena);

/* Changes made by hob_mesh_repair_directions, for a note. */
typedef struct hob_direction_repair {
	uint32_t normals_scaled, tangents_scaled; /* vectors brought to unit length */
	uint32_t normals_filled, tangents_filled; /* zero vectors replaced */
	bool normals_dropped, tangents_dropped;
} hob_direction_repair;

/* Makes normals and tangents obey the rules above, for importers of files with bad ones: a length more than
 * 0.05 % off becomes 1, w becomes +1 or -1, a zero normal becomes that of a face at the vertex, a zero
 * tangent any direction perpendicular to the normal. An array with NaN or infinity, or with zeros only, is
 * set to NULL, so that a later stage generates it. Positions and indices must already be valid.
 * O(vertex_count + index_count). */
hob_direction_repair hob_mesh_repair_directions(hob_mesh *mesh);

/* Local matrix of a node: its matrix if has_matrix, otherwise T * R * S. */
void hob_node_local_matrix(const hob_node *node, float out[16]);
/* Splits a matrix into T, R, S: scale is the column lengths, the sign of a negative determinant goes to x.
 * Returns false if it has shear or a zero column, so that T * R * S differs from the matrix by more than 1e-5
 * of its largest entry; the closest T, R, S are written all the same. */
bool hob_matrix_decompose(const float matrix[16], float t[3], float r[4], float s[3]);
void hob_matrix_multiply(const float a[16], const float b[16], float out[16]); /* a * b; out may alias */

#endif
