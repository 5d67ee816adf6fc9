/* usd_private.h - shared by the files of the USD reader; otherwise only their tests include it.
 *
 * Three steps. Layers (usd_file.c): a text file (usd_text.c), a crate (usd_crate.c, usd_crate_value.c), alone
 * or in a package, or a MaterialX document becomes a tree of specs: its opinions about each prim and
 * property. Composition (usd_compose.c, usd_stage.c): layers become the stage: prims in order, each with a
 * list of sites that have an opinion about it, strongest first. Schemas (usd_node.c, usd_mesh.c,
 * usd_material.c ...): the stage becomes a model.
 *
 * Everything except the model's own data lives in the scratch arena. Names are numbers ("tokens") in one
 * table per import; paths are text, "/World/Car.points". Limits and unreadable files leave the reader
 * (base/guard.h); missing parts of a stage are notes.
 *
 * Source of formats and rules: OpenUSD v24.08 (pxr/usd/sdf, pcp, usd, usdGeom, usdShade, usdSkel, usdLux). */
#ifndef HOB_USD_PRIVATE_H
#define HOB_USD_PRIVATE_H

#include "../../base/limits.h"
#include "../../base/guard.h"
#include "../importer.h"
#include "../name_map.h"
#include "../text.h"
#include "../zip.h"

enum {
#define USD_TOKEN(name, text) HOB_USD_T_##name,
#include "usd_token.def"
#undef USD_TOKEN
	HOB_USD_T_COUNT
};

/* ---- values ---- */

typedef enum hob_usd_kind {
	HOB_USD_EMPTY, /* no value, or a type that is not read */
	HOB_USD_BLOCK, /* None: blocks weaker opinions */
	HOB_USD_F32,
	HOB_USD_F64,
	HOB_USD_I32,
	HOB_USD_TEXT,		/* hob_str: strings, tokens, assets, paths */
	HOB_USD_LIST,		/* one hob_usd_list */
	HOB_USD_SAMPLES,	/* one hob_usd_samples */
	HOB_USD_DICTIONARY, /* hob_usd_entry */
} hob_usd_kind;

/* `count` elements of `width` numbers each; quaternions are x y z w, matrices 16 numbers in the file's order
 * (rows are bases). */
typedef struct hob_usd_value {
	hob_usd_kind kind;
	bool is_array;
	uint32_t width;
	size_t count;
	const void *data;
} hob_usd_value;

typedef struct hob_usd_entry {
	hob_str key;
	hob_usd_value value;
} hob_usd_entry;

typedef struct hob_usd_samples {
	size_t count;
	const double *times; /* as authored; rising */
	const hob_usd_value *values;
} hob_usd_samples;

/* An item of a list: a reference (asset and path, either may be empty), or a path or token (in `path`). */
typedef struct hob_usd_item {
	hob_str asset, path;
	double offset, scale;
	uint32_t from; /* of a composed list: the layer, in its stack, that authors the item */
} hob_usd_item;

typedef enum hob_usd_op {
	HOB_USD_EXPLICIT,
	HOB_USD_ADD,
	HOB_USD_DELETE,
	HOB_USD_ORDER,
	HOB_USD_PREPEND,
	HOB_USD_APPEND,
	HOB_USD_OPS
} hob_usd_op;

typedef struct hob_usd_list {
	bool is_explicit;
	uint32_t count[HOB_USD_OPS];
	hob_usd_item *items[HOB_USD_OPS];
} hob_usd_list;

/* ---- layers ---- */

typedef enum hob_usd_spec_kind { HOB_USD_PRIM, HOB_USD_PROPERTY, HOB_USD_VARIANT } hob_usd_spec_kind;
typedef enum hob_usd_specifier { HOB_USD_DEF, HOB_USD_OVER, HOB_USD_CLASS } hob_usd_specifier;

typedef struct hob_usd_spec {
	/* a variant is named "{set=choice}"; its parent is the enclosing prim or variant */
	uint32_t parent, name;
	hob_usd_spec_kind kind;
	hob_usd_specifier specifier;
	uint32_t next;						 /* next sibling of the same kind */
	uint32_t first[HOB_USD_VARIANT + 1]; /* first child by kind, or HOB_NONE */
	uint32_t last[HOB_USD_VARIANT + 1], first_field;
} hob_usd_spec;

typedef struct hob_usd_field {
	uint32_t name, next;
	hob_usd_value value;
} hob_usd_field;

/* Map from u64 to u32: open addressing, memory from an arena; key ~0 is not allowed. */
typedef struct hob_usd_map {
	uint64_t *keys;
	uint32_t *values, capacity, count;
} hob_usd_map;

typedef struct hob_usd_layer {
	hob_str id;			 /* "props/car.usda", or "car.usdz[geo/car.usdc]" */
	hob_str path;		 /* path of the file, or of the member within its package */
	uint32_t package;	 /* package that contains it, or HOB_NONE */
	hob_usd_spec *specs; /* [0] is the root of the namespace */
	hob_usd_field *fields;
	uint32_t spec_count, field_count;
	hob_usd_map children; /* spec and name -> spec */
} hob_usd_layer;

typedef struct hob_usd_package {
	hob_str id; /* "car.usdz", "a.usdz[b.usdz]" */
	hob_str path;
	uint32_t outer; /* enclosing package, or HOB_NONE */
	hob_zip zip;
} hob_usd_package;

/* ---- composition ---- */

/* A layer with its sublayers, strongest first. */
typedef struct hob_usd_stack {
	uint32_t layer_count;
	uint32_t *layers;
	double *offset, *scale; /* time in the stack = offset + scale * time in the layer */
	double rate;			/* time codes per second of the root layer */
	uint32_t variables;		/* expression variables, or HOB_NONE */
	uint32_t move_count;	/* relocates: a prim from an arc at move_from is at move_to (empty: dropped) */
	hob_str *move_from, *move_to;
} hob_usd_stack;

/* Expression variables of a stack's root layer; those of the referencing stack (`outer`) are stronger. */
typedef struct hob_usd_variables {
	const hob_usd_value *dictionary;
	uint32_t outer;
} hob_usd_variables;

/* Arcs in order of strength, strongest first. */
typedef enum hob_usd_arc {
	HOB_USD_ROOT,
	HOB_USD_CLIPS, /* value clips: only time samples */
	HOB_USD_INHERIT,
	HOB_USD_VARIANT_ARC,
	HOB_USD_RELOCATE, /* the path before relocation */
	HOB_USD_REFERENCE,
	HOB_USD_PAYLOAD,
	HOB_USD_SPECIALIZE
} hob_usd_arc;

enum { HOB_USD_VARIANT_SETS = 64 };

/* A site: a path in a stack that may have opinions about a prim; a node in the tree of arcs. */
typedef struct hob_usd_site {
	hob_usd_arc arc;
	uint32_t parent, first_child, next; /* sites of the same prim; siblings strongest first */
	uint32_t stack;
	uint32_t *specs;		  /* [stack's layers] HOB_NONE: no opinion in that layer */
	hob_str path;			  /* in the stack, without variant selections */
	uint32_t depth;			  /* depth of `path` */
	uint32_t from_depth;	  /* depth of the parent's path where the arc is authored */
	hob_str map_from, map_to; /* paths below map_from map to paths below map_to of the parent */
	bool map_identity;		  /* other paths map to themselves; otherwise to nothing */
	double offset, scale;	  /* time of the stage = offset + scale * time in the stack */
	bool arcs_done;
	uint64_t chosen; /* bits: variant sets with a selection */
} hob_usd_site;

typedef struct hob_usd_prim {
	hob_str path;
	uint32_t name, parent, first_child, last_child, next; /* prims */
	hob_str type;
	bool defined, abstract, instance;
	uint32_t site_count;
	hob_usd_site *sites; /* as a tree */
	uint32_t *order;	 /* [order_count] sites with specs, strongest first */
	uint32_t order_count;
	uint32_t node; /* in the model, or HOB_NONE */
} hob_usd_prim;

typedef struct hob_usd {
	const hob_import_request *request;
	hob_arena *result, *scratch;
	hob_arena passing; /* scratch for the composition or build of one prim */
	hob_notes *notes;
	hob_name_map token_map;
	hob_str *tokens;
	uint32_t token_count;
	hob_name_map layer_map, package_map, stack_map, tree_map, prim_map;
	hob_usd_layer *layers;
	uint32_t layer_count;
	hob_usd_package *packages;
	uint32_t package_count;
	hob_usd_stack *stacks;
	uint32_t stack_count;
	hob_usd_variables *variables;
	uint32_t variables_count;
	struct hob_usd_tree *trees;
	uint32_t tree_count, nesting;
	hob_usd_prim *prims; /* in stage order, parents first; [0] is the root of the namespace */
	uint32_t prim_count;
	double rate, start, end, meters;
	bool z_up, has_range;
	hob_model model;
} hob_usd;

#define hob_usd_note(u, code, ...) hob_note_add((u)->notes, HOB_NOTE_WARNING, "usd." code, __VA_ARGS__)
#define hob_usd_info(u, code, ...) hob_note_add((u)->notes, HOB_NOTE_INFO, "usd." code, __VA_ARGS__)

/* ---- tokens, growing arrays, the tree of specs ---- */

void hob_usd_start(hob_usd *u, const hob_import_request *request);
/* Id of a token, which is added if it is new. */
uint32_t hob_usd_token(hob_usd *u, hob_str text);
/* As hob_usd_token, but HOB_NONE for an unknown token. */
uint32_t hob_usd_known(const hob_usd *u, hob_str text);
/* Makes room for one more element after `count` in the array `items`, which grows in `arena`; NULL at first.
 */
#define HOB_USD_ROOM(arena, items, count) ((items) = hob_usd_more((arena), (items), (count), sizeof *(items)))
/* Appends an element; evaluates to its number. */
#define HOB_USD_PUT(arena, items, count, ...)                                                                \
	(HOB_USD_ROOM(arena, items, count), (items)[count] = (__VA_ARGS__), (count)++)
/* Returns `items` or a larger copy. An array knows its room: the number before its elements. */
void *hob_usd_more(hob_arena *arena, void *items, uint32_t count, size_t size);
uint32_t hob_usd_map_get(const hob_usd_map *map, uint64_t key);
void hob_usd_map_put(hob_arena *arena, hob_usd_map *map, uint64_t key, uint32_t value);

/* The child of that kind and name, created if necessary. */
uint32_t hob_usd_spec_add(hob_usd *u, hob_usd_layer *layer, uint32_t parent, hob_usd_spec_kind kind,
						  uint32_t name);
/* The child of that kind and name, or HOB_NONE; parent and name may be HOB_NONE. */
uint32_t hob_usd_spec_find(const hob_usd_layer *layer, uint32_t parent, hob_usd_spec_kind kind,
						   uint32_t name);
/* Sets or replaces a field. */
void hob_usd_field_set(hob_usd *u, hob_usd_layer *layer, uint32_t spec, uint32_t name, hob_usd_value value);
/* The value of the spec's field; NULL if there is none, or no spec (HOB_NONE). */
const hob_usd_value *hob_usd_field_get(const hob_usd_layer *layer, uint32_t spec, uint32_t name);
void hob_usd_layer_init(hob_usd *u, hob_usd_layer *layer);
/* Joins "/A/B" and "C" to "/A/B/C". */
hob_str hob_usd_path_child(hob_usd *u, hob_str parent, hob_str name);
/* Makes an authored `path` absolute; relative ones start at `prim`. */
hob_str hob_usd_path_absolute(hob_usd *u, hob_str prim, hob_str path);
/* True when `path` is `prefix` or lies below it. */
bool hob_usd_path_below(hob_str path, hob_str prefix);

/* ---- usd_file.c: asset paths, packages, files to layers ---- */

/* Opens the layer that `asset` names in layer `from` (HOB_NONE: the source itself); HOB_NONE, with a note,
 * when it cannot be opened. */
uint32_t hob_usd_layer_open(hob_usd *u, uint32_t from, hob_str asset);
/* An empty layer without a file; its asset paths are relative to `path`. */
uint32_t hob_usd_layer_new(hob_usd *u, hob_str id, hob_str path, uint32_t package);
/* The picture that `asset` names: bytes inside a package, or a path. */
hob_image hob_usd_picture(hob_usd *u, uint32_t from, hob_str asset);

/* ---- readers of layers: each fills the empty `layer` ---- */

void hob_usd_text_read(hob_usd *u, hob_str text, hob_usd_layer *layer);
void hob_usd_crate_read(hob_usd *u, hob_bytes file, hob_usd_layer *layer);

/* ---- stacks of layers ---- */

/* Opens the stack of a layer. `outer`: variables of the referencing stack, HOB_NONE for the stage. */
uint32_t hob_usd_stack_open(hob_usd *u, uint32_t layer, uint32_t outer);
/* Applies the operations of one list, of layer `from`, to the result of weaker ones. */
void hob_usd_list_apply(hob_usd *u, const hob_usd_list *list, uint32_t from, hob_usd_item **items,
						uint32_t *count);

/* ---- usd_expression.c ---- */

/* Value of `text`: itself, or that of an expression between backticks: `"car_${LOD}.usda"`, `if(eq(${SHOT},
 * "a"), "x", "y")`. Empty, with a note, if it cannot be evaluated. Source:
 * pxr/usd/sdf/variableExpressionImpl.cpp. */
hob_str hob_usd_expression(hob_usd *u, uint32_t variables, hob_str text);
/* Variables of a stack with that root layer, referenced by the stack with `outer`. */
uint32_t hob_usd_variables_open(hob_usd *u, uint32_t layer, uint32_t outer);

/* ---- usd_value_clip.c ---- */

/* Samples of one set of value clips, as a new layer in the stack *stack: its only prim *spec, and descendants
 * of that, hold them in the time of the authoring stack. `set` is an entry of the field "clips" of the prim
 * at `path` in `layer`. *stack is HOB_NONE when it gives no samples. Missing values are not filled in from
 * the manifest, and dictionaries of several layers are not merged. */
void hob_usd_value_clips(hob_usd *u, uint32_t layer, uint32_t variables, hob_str path,
						 const hob_usd_entry *set, uint32_t *stack, uint32_t *spec);

/* ---- usd_compose.c: the tree of sites of a prim ---- */

typedef struct hob_usd_tree {
	hob_usd_site *sites;
	uint32_t count;
	bool busy;
} hob_usd_tree;

/* Makes the tree of a child: the parent's sites, extended by the child's name, and the arcs authored there.
 * `local` false: a child of an instance, with only the opinions of the instance's own arcs. */
hob_usd_tree hob_usd_tree_child(hob_usd *u, const hob_usd_tree *parent, uint32_t name, bool local);
hob_usd_tree hob_usd_tree_root(hob_usd *u, uint32_t stack);
/* ---- order of sites ---- */

/* Whether an arc of this prim, not of an ancestor, adds the site. Below an instance only these count. */
bool hob_usd_is_direct(const hob_usd_site *sites, uint32_t site);
/* Sites with specs, strongest first; in `arena`. */
uint32_t *hob_usd_tree_order(hob_usd *u, const hob_usd_tree *tree, hob_arena *arena, uint32_t *count);

/* ---- mapping of paths between namespaces ---- */

/* Index of `text` in a list, or HOB_NONE. */
uint32_t hob_usd_index(const hob_str *texts, uint32_t count, hob_str text);
/* Maps a path from the namespace of a site to that of the stage; empty when it has no image there. */
hob_str hob_usd_path_map(hob_usd *u, const hob_usd_site *sites, uint32_t site, hob_str path);

/* ---- usd_stage.c: prims and queries ---- */

void hob_usd_stage_compose(hob_usd *u, uint32_t layer);
/* The prim at a path of the stage; HOB_NONE if there is none; the root is not a prim. */
uint32_t hob_usd_prim_at(const hob_usd *u, hob_str path);

/* An attribute's value: the strongest opinion. */
typedef struct hob_usd_attribute {
	const hob_usd_value *value;		/* at the default time, or NULL */
	const hob_usd_samples *samples; /* or NULL; from the same or a stronger site than `value` */
	double offset, scale;			/* of the samples' times */
	uint32_t layer;					/* layer with the opinion, for asset paths */
	const hob_usd_site *site;
} hob_usd_attribute;

/* Resolves an attribute; false when there is no opinion about it. */
bool hob_usd_get(const hob_usd *u, const hob_usd_prim *prim, hob_str name, hob_usd_attribute *out);
/* The value to draw: the sample at the stage's start, else the first, or a later one if that is empty; the
 * default when there are no samples. NULL: none. */
const hob_usd_value *hob_usd_still(const hob_usd *u, const hob_usd_prim *prim, hob_str name);
/* Metadata of a property, or with an empty name of the prim. NULL: none. */
const hob_usd_value *hob_usd_meta(const hob_usd *u, const hob_usd_prim *prim, hob_str property,
								  uint32_t field);
/* Names of a prim's properties that begin with `prefix`, over all sites, sorted; in scratch memory. */
hob_str *hob_usd_properties(hob_usd *u, const hob_usd_prim *prim, hob_str prefix, uint32_t *count);
/* Targets of a relationship, or connections of an attribute, as stage paths. */
hob_str *hob_usd_targets(hob_usd *u, const hob_usd_prim *prim, hob_str name, uint32_t field, uint32_t *count);

/* First number, text or boolean of a value; `fallback` for another type. */
double hob_usd_number(const hob_usd_value *value, double fallback);
hob_str hob_usd_text(const hob_usd_value *value);
/* The value of a key of a dictionary; NULL without it. */
const hob_usd_value *hob_usd_entry_of(const hob_usd_value *dictionary, hob_str key);
/* All numbers of a value as floats, `width` each; NULL with *count 0 for another shape. Borrowed if they are
 * floats already. */
const float *hob_usd_floats(hob_usd *u, const hob_usd_value *value, uint32_t width, size_t *count);
/* Index of the last of `count` rising times that is <= `time`, or 0; `stride` apart in memory. */
size_t hob_usd_time_before(const double *times, size_t stride, size_t count, double time);
/* Number `at` of a numeric value; NaN when there is none. */
double hob_usd_component(const hob_usd_value *value, size_t at);

#endif
