/* model_check.h - holds a model against the rules that are on.
 *
 * hob_check_model looks at the model as it was imported (geometry, names, skins, clips) and at what was baked
 * of it; hob_check_limits at what it costs, once that is known. A rule that the format cannot know, or that
 * could not be looked at, is `unchecked`, which is not the same as kept. */
#ifndef HOB_MODEL_CHECK_H
#define HOB_MODEL_CHECK_H

#include "../model/baked.h"
#include "../settings/settings.h"

enum { HOB_FINDINGS_OF_RULE = 64 };

typedef struct hob_finding {
	hob_rule rule;
	const char *kind; /* "node", "mesh", "material", "texture", "clip", "skin"; "model" itself has no name */
	hob_str name;	  /* of a node its path, "body/arm" */
	double value;	  /* measured or counted, see the table's `fault` */
	uint32_t place_count;
	float (*places)[3]; /* [place_count] in the space of the mesh */
} hob_finding;

typedef struct hob_findings {
	hob_arena *arena; /* owns all of it */
	hob_finding *items;
	uint32_t count, capacity;
	uint32_t found[HOB_RULE_COUNT]; /* of which the first HOB_FINDINGS_OF_RULE are listed */
	double sum[HOB_RULE_COUNT];
	bool unchecked[HOB_RULE_COUNT];
} hob_findings;

typedef struct hob_check_subject {
	const hob_settings *settings;
	hob_str extension; /* of the source */
	const hob_model *model;
	const hob_baked_scene *scene;
	const hob_baked_animations *animations;
	const hob_baked_materials *materials;
} hob_check_subject;

/* True if any rule that is measured here is on. */
bool hob_check_wanted(const hob_settings *settings);
/* Without memory, some rules are unchecked and findings are missing from the list. O(model), and nothing for
 * a rule that is off. */
void hob_check_model(const hob_check_subject *subject, hob_arena *scratch, hob_findings *out);
/* bytes: 0 = not known yet. */
void hob_check_limits(const hob_check_subject *subject, uint64_t triangles, uint32_t draws, uint64_t bytes,
					  hob_findings *out);
/* A note for each rule with findings: the value, the first objects and the remedy; it counts the objects. */
void hob_check_notes(const hob_settings *settings, const hob_findings *findings, hob_notes *notes);
/* Appends ,"findings":[...],"unchecked":[...]; nothing if there is neither. */
void hob_check_print(const hob_findings *findings, hob_buf *out);

#endif
