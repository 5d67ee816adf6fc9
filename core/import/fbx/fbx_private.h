/* fbx_private.h - shared by the files of the FBX importer; otherwise only their tests include it.
 *
 * Order of work (fbx.c): container (fbx_binary.c or fbx_ascii.c) -> tree of records (fbx_tree.c) -> objects
 * and edges (fbx_objects.c, fbx_legacy.c) -> nodes (fbx_nodes.c, with the arithmetic of fbx_transform.c) ->
 * materials and pictures (fbx_material.c, fbx_texture.c) -> geometries (fbx_mesh.c, fbx_shape.c) -> model
 * nodes and skins (fbx_emit.c, fbx_skin.c, fbx_attribute.c) -> clips (fbx_anim.c, fbx_track.c).
 *
 * fbx_objects.c hides the file's version from later steps, except where a comment says so. Numbers keep the
 * file's unit and axes until they enter the model: hob_fbx.unit scales lengths, hob_fbx.turn rotates the top
 * nodes. `scratch` is freed after the import; everything that the model points to is in `result`. */
#ifndef HOB_FBX_PRIVATE_H
#define HOB_FBX_PRIVATE_H

#include "../../base/guard.h"
#include "../../base/limits.h"
#include "../lists.h"
#include "../matrix_double.h"
#include "../name_map.h"

/* ---- the tree of records ---- */

enum {
	HOB_FBX_DEPTH = 32, /* nesting of records; real files need nine */
	HOB_FBX_ROOT = 0,	/* the top-level record; it has no name and no values */
};

/* Offsets are into the file, which is below 2 GiB. Values are decoded on demand. */
typedef struct hob_fbx_record {
	uint32_t name, values, value_size;
	uint32_t value_count;
	uint32_t child, next; /* records; HOB_NONE: none */
	uint32_t name_len;
	/* hob_fbx_mark of the first value, 0 unless it is a text: lets a search skip records undecoded */
	uint32_t mark;
} hob_fbx_record;

typedef enum hob_fbx_type {
	HOB_FBX_NOTHING,
	HOB_FBX_INTEGER,
	HOB_FBX_REAL,
	HOB_FBX_TEXT,
	HOB_FBX_ARRAY
} hob_fbx_type;

/* Numbers set both integer and real. A letter of a binary file ('C') sets integer and text to its byte; a
 * bare word of an ASCII file is text, and integer 1 for Y and T. */
typedef struct hob_fbx_value {
	hob_fbx_type type;
	int64_t integer;
	double real;
	hob_str text; /* borrowed from the file; ASCII: without quotes, &quot; unresolved */
	char element; /* of an array: b c i l f d */
	uint32_t count, encoding;
	hob_bytes stored;
} hob_fbx_value;

typedef struct hob_fbx_cursor {
	uint32_t at, end; /* offsets in the file */
} hob_fbx_cursor;

/* ---- objects ---- */

/* Records of an object's class: CLASS(class, name of the records). Deformers are Skin, Cluster, BlendShape,
 * BlendShapeChannel and VertexCacheDeformer. */
#define HOB_FBX_CLASSES(CLASS)                                                                               \
	CLASS(MODEL, "Model")                                                                                    \
	CLASS(GEOMETRY, "Geometry")                                                                              \
	CLASS(ATTRIBUTE, "NodeAttribute")                                                                        \
	CLASS(MATERIAL, "Material")                                                                              \
	CLASS(TEXTURE, "Texture")                                                                                \
	CLASS(LAYERED_TEXTURE, "LayeredTexture")                                                                 \
	CLASS(VIDEO, "Video")                                                                                    \
	CLASS(DEFORMER, "Deformer")                                                                              \
	CLASS(STACK, "AnimationStack")                                                                           \
	CLASS(LAYER, "AnimationLayer")                                                                           \
	CLASS(CURVE_NODE, "AnimationCurveNode")                                                                  \
	CLASS(CURVE, "AnimationCurve")                                                                           \
	CLASS(IMPLEMENTATION, "Implementation")                                                                  \
	CLASS(BINDING_TABLE, "BindingTable")                                                                     \
	CLASS(CONSTRAINT, "Constraint")                                                                          \
	CLASS(CACHE, "Cache")

typedef enum hob_fbx_class {
	HOB_FBX_OTHER,
#define CLASS(class, record) HOB_FBX_##class,
	HOB_FBX_CLASSES(CLASS)
#undef CLASS
} hob_fbx_class;

typedef struct hob_fbx_object {
	int64_t id;
	hob_fbx_class class;
	hob_str name;	  /* as stored, without the class */
	hob_str subclass; /* "Mesh", "LimbNode" ... */
	uint32_t record;
	uint32_t props, template_props;	   /* records Properties70 or Properties60; HOB_NONE: none */
	uint32_t below_first, below_count; /* edges to this object, in the file's order: hob_fbx.edges */
	uint32_t above_first, above_count; /* edges from this object: hob_fbx.edges_up */
	uint32_t index; /* models: node; geometries: geometry; materials: in hob_model.materials; else HOB_NONE */
} hob_fbx_object;

typedef struct hob_fbx_edge {
	uint32_t child, parent;
	hob_str property; /* the parent's property that the child drives; empty for object to object */
} hob_fbx_edge;

/* ---- places ---- */

typedef struct hob_fbx_trs {
	double t[3], q[4], s[3];
} hob_fbx_trs;

/* The constant parts of a node's transform, in the file's unit. */
typedef struct hob_fbx_rig {
	double pre[4], post_inverse[4];
	double rotation_offset[3], rotation_pivot[3], scaling_offset[3], scaling_pivot[3];
	uint32_t order; /* 0 XYZ, 1 XZY, 2 YZX, 3 YXZ, 4 ZXY, 5 ZYX */
	bool pivoted;	/* the translation depends on rotation or scale */
	bool active;	/* order, pre- and post-rotation apply */
} hob_fbx_rig;

typedef struct hob_fbx_node {
	uint32_t object;
	uint32_t parent, first_child, last_child, next; /* nodes; HOB_NONE: none */
	hob_fbx_rig rig;
	double translation[3], rotation[3], scaling[3]; /* properties "Lcl ..."; rotation in degrees */
	hob_fbx_trs rest;
	uint32_t inherit; /* 0 RrSs, 1 RSrs, 2 Rrs */
	bool has_geometric;
	hob_fbx_trs geometric;
	bool scale_apart; /* its scale is on a leaf node of its own, see fbx_emit.c */
	bool scale_moves; /* animated in some clip */
	bool rig_moves;	  /* a pivot, an offset, the pre- or the post-rotation is animated in some clip */
	bool own_moves, inherited_moves; /* the node's own, inherited scale is animated in some clip */
	bool lod_group;					 /* its children are levels of detail */
	bool hidden, hides_mesh; /* `hidden`: with all below it; `hides_mesh`: alone, a descendant is visible */
	bool shows_alone;		 /* does not inherit its parent's visibility */
	bool level_dropped;		 /* below a dropped level of detail: keeps its transform and loses its mesh */
	uint32_t id, scale_id;	 /* in hob_model.nodes; `scale_id`: the scale leaf, or id */
	uint32_t mesh_id;		 /* the model node with its mesh; HOB_NONE: none */
	uint32_t geometry;		 /* its first geometry; HOB_NONE: none */
} hob_fbx_node;

/* ---- geometries ---- */

typedef struct hob_fbx_shape {
	hob_str name;
	double full_weight; /* percent */
	uint32_t count;
	uint32_t *points; /* [count] control points, each below the geometry's count */
	double *deltas;	  /* [count][3] file unit */
	double *normals;  /* [count][3] or NULL */
} hob_fbx_shape;

typedef struct hob_fbx_channel {
	uint32_t object;				   /* object whose property animates the channel; HOB_NONE: none */
	hob_str property;				   /* that property: "DeformPercent", or the shape's name in 6.x files */
	double percent;					   /* at rest */
	uint32_t shape_first, shape_count; /* range in the geometry's shapes, by rising full weight */
} hob_fbx_channel;

/* Faces of one material slot. */
typedef struct hob_fbx_part {
	uint32_t slot;	  /* HOB_NONE, -1 in the file: no material */
	uint32_t *points; /* [mesh.vertex_count] control point of each vertex */
	hob_mesh mesh;
} hob_fbx_part;

typedef struct hob_fbx_joint {
	uint32_t node;	 /* in hob_fbx.nodes; HOB_NONE: the mesh's own node */
	double bind[16]; /* geometry -> joint, in the file's unit */
} hob_fbx_joint;

typedef struct hob_fbx_geometry {
	uint32_t object;
	uint32_t point_count;
	hob_fbx_part *parts;
	uint32_t part_count;
	hob_fbx_shape *shapes;
	uint32_t shape_count;
	hob_fbx_channel *channels;
	uint32_t channel_count;
	hob_fbx_joint *joints;
	uint32_t joint_count;
	bool skinned, has_loose; /* `has_loose`: one joint has no node: it holds the vertices without weights */
	bool used;
	bool has_geometric, geometric_differs; /* some user has a geometric transform; users disagree on it */
	hob_fbx_trs geometric;				   /* baked into the vertices unless users differ */
	uint32_t variant_first;				   /* chain of hob_fbx.variants */
	hob_str uv_names[HOB_UV_SETS];
} hob_fbx_geometry;

/* The parts of a geometry with the materials of one user. */
typedef struct hob_fbx_variant {
	uint32_t next;
	uint32_t mesh_first;
	uint32_t material_count;
	uint32_t *materials;
} hob_fbx_variant;

/* ---- the whole ---- */

typedef struct hob_fbx {
	const hob_import_request *request;
	hob_arena *result, *scratch;
	hob_notes *notes;
	hob_bytes file;
	bool ascii, big_endian;
	uint32_t version; /* 7400; 0 when the file does not say */
	hob_buf record_buf;
	hob_fbx_record *records; /* in record_buf */
	uint32_t record_count;
	hob_buf unpacked; /* the last decompressed array */

	hob_buf object_buf, edge_buf;
	hob_fbx_object *objects;
	uint32_t object_count;
	hob_fbx_edge *edges, *edges_up;
	uint32_t edge_count;
	uint32_t settings; /* object with the global settings, or HOB_NONE */
	uint32_t takes;	   /* record "Takes", or HOB_NONE */
	int64_t root_id;
	hob_name_map by_key;		   /* 6.x: "Class::name" as stored -> object */
	hob_name_map old_videos;	   /* before 6000: by name */
	struct hob_fbx_videos *videos; /* fbx_texture.c: embedded pictures; NULL until first use */
	hob_str application;
	bool is_blender, is_blender_new; /* new: FBX plug-in 4.12 or later */

	double unit;	/* metres per unit */
	double turn[4]; /* file's axes -> Y up, front Z */
	bool mirrored;	/* left-handed file: X is mirrored throughout */
	bool turned;
	double ticks; /* per second */
	double frame_rate;

	hob_fbx_node *nodes;
	uint32_t node_count;
	uint32_t first_top, last_top; /* nodes without parent */
	uint32_t *order;			  /* [node_count] nodes, parents first */
	double *own_scales;			  /* [node_count][3] at rest, applied by the scale leaf or the node itself */
	double *inherited_scales;	  /* [node_count][3] at rest, the part from ancestors with a scale leaf */
	double *worlds;				  /* [node_count][2][16] at rest: without and with the node's own scale */
	hob_fbx_geometry *geometries;
	uint32_t geometry_count;
	struct hob_fbx_anim *anim; /* fbx_anim.h */
	uint64_t keys_made;
	bool slopes_known, slopes_as_bits; /* of ASCII curves */
	size_t extras_bytes;			   /* total so far */
	bool extras_full;
	hob_buf variants; /* hob_fbx_variant */
	hob_lists lists;
	hob_model *model;
} hob_fbx;

#define hob_fbx_note(f, code, ...) hob_note_add((f)->notes, HOB_NOTE_WARNING, "fbx." code, __VA_ARGS__)
#define hob_fbx_info(f, code, ...) hob_note_add((f)->notes, HOB_NOTE_INFO, "fbx." code, __VA_ARGS__)

/* ---- fbx_binary.c, fbx_ascii.c: bytes to records ---- */

bool hob_fbx_is_binary(hob_bytes file);
/* CORRUPT or TRUNCATED when the records are damaged. Source: code.blender.org's description of the format. */
void hob_fbx_read_binary(hob_fbx *f);
void hob_fbx_read_ascii(hob_fbx *f);
/* The next value of an ASCII file; see hob_fbx_next. */
bool hob_fbx_next_ascii(const hob_fbx *f, hob_fbx_cursor *cursor, hob_fbx_value *out);
bool hob_fbx_next_binary(const hob_fbx *f, hob_fbx_cursor *cursor, hob_fbx_value *out);

/* ---- fbx_tree.c: records and their values ---- */

/* Appends a record. `parent` and `before` (its sibling) may be HOB_NONE. */
uint32_t hob_fbx_add_record(hob_fbx *f, uint32_t parent, uint32_t before, const hob_fbx_record *record);
uint32_t hob_fbx_mark(hob_str text);
uint64_t hob_fbx_load(const uint8_t *bytes, size_t size, bool big_endian);
hob_str hob_fbx_record_name(const hob_fbx *f, uint32_t record);
bool hob_fbx_record_is(const hob_fbx *f, uint32_t record, hob_str name);
/* First child of that name, or the next sibling of that name after `record`; HOB_NONE: none. */
uint32_t hob_fbx_child(const hob_fbx *f, uint32_t record, hob_str name);
uint32_t hob_fbx_sibling(const hob_fbx *f, uint32_t record, hob_str name);
hob_fbx_cursor hob_fbx_values(const hob_fbx *f, uint32_t record);
/* The next value; false when there is none. */
bool hob_fbx_next(const hob_fbx *f, hob_fbx_cursor *cursor, hob_fbx_value *out);
/* Value `index` of a record; type HOB_FBX_NOTHING when it has fewer. */
hob_fbx_value hob_fbx_value_at(const hob_fbx *f, uint32_t record, uint32_t index);
/* First value of the child of that name, as a number; `otherwise` when there is none. */
#define HOB_FBX_EACH_CHILD(child, f, record, name)                                                           \
	for (uint32_t child = hob_fbx_child((f), (record), HOB_STR(name)); child != HOB_NONE;                    \
		 child = hob_fbx_sibling((f), child, HOB_STR(name)))
double hob_fbx_child_real(const hob_fbx *f, uint32_t record, hob_str name, double otherwise);
int64_t hob_fbx_child_integer(const hob_fbx *f, uint32_t record, hob_str name, int64_t otherwise);
hob_str hob_fbx_child_text(const hob_fbx *f, uint32_t record, hob_str name);
/* Numbers of a record in scratch memory, in any storage: packed, in a list, in the child "a" of ASCII files.
 * Integers saturate; doubles beyond the range of float are kept. record HOB_NONE gives count 0. Leaves for a
 * damaged array. */
double *hob_fbx_doubles(hob_fbx *f, uint32_t record, uint32_t *count);
float *hob_fbx_floats(hob_fbx *f, uint32_t record, uint32_t *count);
int32_t *hob_fbx_ints(hob_fbx *f, uint32_t record, uint32_t *count);
int64_t *hob_fbx_longs(hob_fbx *f, uint32_t record, uint32_t *count);
/* A name fit for the model, in `result`: ASCII escapes resolved. */
hob_str hob_fbx_name(const hob_fbx *f, hob_str raw);
/* A text with ASCII escapes resolved, otherwise unchanged; in scratch memory or borrowed. */
hob_str hob_fbx_plain(const hob_fbx *f, hob_str raw);

/* ---- fbx_objects.c: objects, edges, templates; one table for all versions ---- */

void hob_fbx_read_objects(hob_fbx *f);
/* Appends an object, for the readers of older files. */
uint32_t hob_fbx_add_object(hob_fbx *f, const hob_fbx_object *object);
void hob_fbx_add_edge(hob_fbx *f, uint32_t child, uint32_t parent, hob_str property);
/* Splits "name\0\1Class" or "Class::name". */
void hob_fbx_split_name(const hob_fbx *f, hob_str raw, hob_str *class_name, hob_str *name);
/* First object of the class (and subclass, unless empty) below `object`, or HOB_NONE. */
uint32_t hob_fbx_below(const hob_fbx *f, uint32_t object, hob_fbx_class class, hob_str subclass);
/* The edge after `after` (NULL: the first) that connects `object` to one of the class (OTHER: of any) and
 * subclass (empty: any) above or below it; NULL: none. */
const hob_fbx_edge *hob_fbx_next_edge(const hob_fbx *f, uint32_t object, bool above, hob_fbx_class class,
									  hob_str subclass, const hob_fbx_edge *after);
#define HOB_FBX_EACH(edge, f, object, above, class, subclass)                                                \
	for (const hob_fbx_edge *edge =                                                                          \
			 hob_fbx_next_edge((f), (object), (above), HOB_FBX_##class, HOB_STR(subclass), NULL);            \
		 edge; edge = hob_fbx_next_edge((f), (object), (above), HOB_FBX_##class, HOB_STR(subclass), edge))
#define HOB_FBX_EACH_BELOW(edge, f, object, class, subclass)                                                 \
	HOB_FBX_EACH (edge, f, object, false, class, subclass)
#define HOB_FBX_EACH_ABOVE(edge, f, object, class, subclass)                                                 \
	HOB_FBX_EACH (edge, f, object, true, class, subclass)
bool hob_fbx_is(const hob_fbx *f, uint32_t object, hob_fbx_class class, hob_str subclass);
/* ---- fbx_legacy.c: files before 7000 and before 6000 ---- */
void hob_fbx_read_legacy_objects(hob_fbx *f);

/* ---- fbx_props.c: Properties70 and Properties60, then the template ---- */

/* Cursor at the first value of the property; false when neither the object nor its template has it. */
bool hob_fbx_prop(const hob_fbx *f, uint32_t object, hob_str name, hob_fbx_cursor *out);
/* Like hob_fbx_prop, but ignores the template. */
bool hob_fbx_own_prop(const hob_fbx *f, uint32_t object, hob_str name, hob_fbx_cursor *out);
double hob_fbx_prop_real(const hob_fbx *f, uint32_t object, hob_str name, double otherwise);
int64_t hob_fbx_prop_integer(const hob_fbx *f, uint32_t object, hob_str name, int64_t otherwise);
hob_str hob_fbx_prop_text(const hob_fbx *f, uint32_t object, hob_str name);
/* Three numbers of a property. False, with `out` unchanged, when it is absent or not finite. */
bool hob_fbx_prop_vector(const hob_fbx *f, uint32_t object, hob_str name, double out[3]);

/* ---- fbx_transform.c ---- */

void hob_fbx_quat_of_euler(const double degrees[3], uint32_t order, double out[4]);
void hob_fbx_quat_multiply(const double a[4], const double b[4], double out[4]); /* out may alias */
void hob_fbx_quat_rotate(const double q[4], const double v[3], double out[3]);	 /* out may alias */
/* Source: help.autodesk.com, "Computing transformation matrices". S is diagonal and everything else rotates
 * or translates, so the product is exactly a TRS. */
void hob_fbx_place(const hob_fbx_rig *rig, const double t[3], const double r[3], const double s[3],
				   hob_fbx_trs *out);
void hob_fbx_trs_matrix(const hob_fbx_trs *trs, double out[16]);
bool hob_fbx_matrix_invert(const double m[16], double out[16]);
bool hob_fbx_trs_is_identity(const hob_fbx_trs *trs);

/* ---- fbx_nodes.c: settings of the file, hierarchy, rest poses ---- */

void hob_fbx_read_settings(hob_fbx *f);
/* CORRUPT when models form a ring. */
void hob_fbx_read_nodes(hob_fbx *f);
/* Finds the nodes whose scale must go to a leaf node of its own, because a child does not inherit that scale.
 * Call after hob_fbx_read_stacks. */
void hob_fbx_split_scales(hob_fbx *f);
/* Next ancestor whose Lcl Scaling is a factor of node's own scale, or HOB_NONE; start with *at = node. Below
 * a parent with a scale leaf, a node of type 0 inherits the parent's whole scale, a node of type 2 only the
 * scale that the parent inherits. */
uint32_t hob_fbx_next_scaler(const hob_fbx *f, uint32_t *at);
/* Node's world matrix at rest in the file's unit and axes, honouring inherit types. */
void hob_fbx_world(const hob_fbx *f, uint32_t node, double out[16]);

/* ---- geometries ---- */

void hob_fbx_read_geometries(hob_fbx *f); /* fbx_mesh.c */
/* fbx_shape.c: channels and shapes of geometry, from blend shape deformers or inline. */
void hob_fbx_read_shapes(hob_fbx *f, hob_fbx_geometry *geometry);
/* Fills a part's targets from the geometry's shapes. */
void hob_fbx_make_targets(hob_fbx *f, hob_fbx_geometry *geometry, hob_fbx_part *part);
/* Weight of each shape of a channel at `percent`: out[shape_count]. */
void hob_fbx_channel_weights(const hob_fbx_geometry *geometry, const hob_fbx_channel *channel, double percent,
							 float *out);
/* fbx_skin.c: joints of a geometry and influences of its parts. */
void hob_fbx_read_skin(hob_fbx *f, hob_fbx_geometry *geometry);
/* The skin for `node`, one of the nodes that use the geometry: new, or an equal earlier one. */
uint32_t hob_fbx_make_skin(hob_fbx *f, const hob_fbx_geometry *geometry, uint32_t node);

/* ---- materials and pictures ---- */

void hob_fbx_read_materials(hob_fbx *f); /* fbx_material.c */
/* fbx_texture.c: adds the picture of a texture or video that no material uses. */
void hob_fbx_list_unused(hob_fbx *f, uint32_t object);
/* fbx_texture.c: fills `ref` from the texture object; false when it names no picture. */
bool hob_fbx_read_texture(hob_fbx *f, uint32_t texture, hob_texture_ref *ref);

/* ---- fbx_emit.c, fbx_attribute.c: nodes of the model ---- */

void hob_fbx_emit(hob_fbx *f);
/* Camera or light of a node as child nodes. */
void hob_fbx_emit_attributes(hob_fbx *f, uint32_t node);
hob_node *hob_fbx_new_node(hob_fbx *f, uint32_t parent, hob_str name, const hob_fbx_trs *place);

/* fbx_extras.c: user properties of an object (flag U) as a JSON object; `out` stays empty without any. */
void hob_fbx_extras(hob_fbx *f, uint32_t object, hob_extras *out);
/* fbx_census.c: counts the objects into request->seen. */
void hob_fbx_census(hob_fbx *f);
/* fbx_unread.c: one note for each kind of unsupported object, with its count. */
void hob_fbx_say_unread(hob_fbx *f);

/* ---- clips ---- */

/* Reads the animation. Call before the nodes are emitted: sets their scale_moves and rig_moves. */
void hob_fbx_read_stacks(hob_fbx *f);
void hob_fbx_read_clips(hob_fbx *f);

#endif
