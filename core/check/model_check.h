/* model_check.h - checks a model against the rules that are on.
 *
 * hob_check_model checks the imported model (geometry, names, skins, clips) and its baked form;
 * hob_check_limits its cost, once that is known. A rule that the format cannot express, or that could not be
 * checked, is `unchecked`, which is not the same as satisfied. */
#ifndef HOB_MODEL_CHECK_H
#define HOB_MODEL_CHECK_H

#include "../model/baked.h"
#include "../settings/settings.h"

enum { HOB_FINDINGS_OF_RULE = 1024 };

typedef struct hob_finding {
	hob_rule rule;
	/* "node", "mesh", "material", "texture", "clip", "skin", or "model", which has no name */
	const char *kind;
	hob_str name; /* of a node: its path, "body/arm" */
	double value; /* measured or counted, see the table's `fault` */
	uint32_t place_count;
	float (*places)[3]; /* [place_count] in the mesh's space */
} hob_finding;

typedef struct hob_findings {
	hob_arena *arena; /* owns the texts and arrays */
	hob_finding *items;
	uint32_t count, capacity;
	/* number of findings. `items` has the first HOB_FINDINGS_OF_RULE of each rule; items[rest], without a
	 * name, sums up the others */
	uint32_t found[HOB_RULE_COUNT], rest[HOB_RULE_COUNT];
	/* the smallest hashes of the names of meshes and materials and of the paths of nodes, ascending
	 * (MinHash): how many two models share tells whether one is an edited copy of the other */
	uint32_t objects[HOB_RULE_OBJECTS], object_count;
	double sum[HOB_RULE_COUNT];
	bool unchecked[HOB_RULE_COUNT];
} hob_findings;

typedef struct hob_check_subject {
	const hob_settings *settings;
	hob_str extension; /* of the source */
	const hob_model *model;
	const hob_baked_mesh *meshes; /* as in `model` */
	const hob_baked_scene *scene;
	const hob_baked_animations *animations;
	const hob_baked_materials *materials;
	const uint8_t *pictures; /* hob_picture_fact bits by image of `model`; NULL: not known */
	bool licensed;			 /* a licence lies beside the model */
} hob_check_subject;

/* Whether at least one of the rules that hob_check_model and hob_check_limits check is on. */
bool hob_check_wanted(const hob_settings *settings);
/* If memory runs out, rules become unchecked and findings are missing from the list. O(model); a rule that is
 * off costs nothing. */
void hob_check_model(const hob_check_subject *subject, hob_arena *scratch, hob_findings *out);
/* `bytes` 0: not known yet. */
void hob_check_limits(const hob_check_subject *subject, uint64_t triangles, uint32_t draws, uint64_t bytes,
					  hob_findings *out);
/* Adds a note for each rule with findings: the value, the first objects and the remedy. The note's count is
 * the number of objects. */
void hob_check_notes(const hob_settings *settings, const hob_findings *findings, hob_notes *notes);
/* Appends ,"findings":[...],"unchecked":[...],"objects":"...", each only if it is not empty. */
void hob_check_print(const hob_findings *findings, hob_buf *out);

#endif
