/* compare_parts.h - shared by the files of core/compare. */
#ifndef HOB_COMPARE_PARTS_H
#define HOB_COMPARE_PARTS_H

#include "../formats/describe_value.h"
#include "compare.h"

typedef enum compare_tone { TONE_BAD, TONE_WARN, TONE_NOTE, TONE_GOOD, TONE_COUNT } compare_tone;

typedef struct compare_files {
	hob_pack meshes, materials, scene, animations; /* kind 0: not there */
	hob_pack_array mesh, lod, morph, material, texref, image, clip, channel, sampler, times, values, skin,
		joints, binds;
	hob_pack_array hier, trs, aabb, node_names, mesh_links, material_links, cameras, lights, variants;
} compare_files;

/* Numbers of matched parts whose content differs; `renamed` counts parts of all kinds. */
typedef struct compare_tally {
	uint32_t renamed, clips, skins, textures, materials, meshes, nodes, cameras, lights;
	uint32_t broken;	/* rules that more objects break than before */
	double findings[2]; /* objects that break rules */
	double move, turn;	/* largest change of a node relative to its parent: metres, degrees */
} compare_tally;

/* Everything is called within hob_guarded. */
typedef struct comparison {
	const hob_compare_side *before, *after;
	hob_buf *out;
	compare_files a, b;
	compare_tally tally;
	hob_arena arena;
	hob_buf changes[TONE_COUNT];
	uint32_t counts[TONE_COUNT], left_out;
} comparison;

/* Reports a change; `was` is empty unless the part was renamed. */
void hob_compare_say(comparison *c, compare_tone tone, const char *part, const char *change, hob_str name,
					 hob_str was, const char *fmt, ...) HOB_PRINTF(7, 8);
/* Reports that a part with a partner differs from it. */
#define hob_compare_differs(c, tone, part, name, ...)                                                        \
	hob_compare_say((c), (tone), (part), "changed", (name), (hob_str){0}, __VA_ARGS__)
/* Reports the fields of a record of the schema that differ, which has the name of the part. */
void hob_compare_fields(comparison *c, const char *part, const uint8_t *a, const uint8_t *b,
						const char *called, hob_str name);
/* Whether a field differs; false for those that are compared separately or not at all. */
bool hob_compare_field_differs(const format_field *field, const uint8_t *a, const uint8_t *b);
/* Reports that `counts` objects break a rule, before and after. */
void hob_compare_say_rule(comparison *c, compare_tone tone, const char *change, const char *rule,
						  const uint32_t counts[2], const char *text);
/* Number of calls of hob_compare_say, including changes that the output leaves out. */
uint32_t hob_compare_said(const comparison *c);
/* "'Walk'", or "clip 3" for a part without a name; in the arena. */
const char *hob_compare_called(comparison *c, const char *part, hob_str name, uint32_t index);

/* The parts of one kind on one side. */
typedef struct compare_list {
	uint32_t count;
	hob_str *names;
} compare_list;

typedef struct compare_pairs {
	uint32_t *b_of, *a_of; /* index of the partner on the other side; HOB_NONE: gone, or added */
} compare_pairs;

typedef bool (*compare_alike)(const comparison *c, uint32_t a, uint32_t b);
/* `alike` decides whether two unmatched parts have the same content: then the part was renamed. It may be
 * NULL. */
compare_pairs hob_compare_pair(comparison *c, const compare_list *a, const compare_list *b,
							   const uint32_t *a_ids, const uint32_t *b_ids, compare_alike alike);

/* A kind of part that both sides store as an array of records. */
typedef struct compare_kind {
	const char *part;
	size_t array, strings; /* offsets in compare_files of the records, and of the file with their names */
	size_t name_at;		   /* offset of the name's u32 in the record */
	compare_tone gone;
	compare_alike alike;
	void (*changed)(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name);
	size_t differing; /* offset in compare_tally: counts pairs for which `changed` reports a change */
} compare_kind;
#define COMPARE_KIND(part, array, file, record)                                                              \
	part, offsetof(compare_files, array), offsetof(compare_files, file), offsetof(record, name)

void hob_compare_kind(comparison *c, const compare_kind *kind);

void hob_compare_rules(comparison *c, hob_str was, hob_str now);
void hob_compare_clips(comparison *c);	/* clips and skins */
void hob_compare_looks(comparison *c);	/* textures, materials, variants */
void hob_compare_meshes(comparison *c); /* draws and their levels of detail */
void hob_compare_nodes(comparison *c);	/* nodes, cameras, lights */
void hob_compare_numbers(comparison *c, hob_buf *out);

hob_str hob_compare_material_name(const compare_files *f, uint32_t material); /* empty for none */

#endif
