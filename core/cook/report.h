/* report.h - the output `report`, as JSON: the contents of the source, the results, and the time of each
 * stage. */
#ifndef HOB_REPORT_H
#define HOB_REPORT_H

#include "cook.h"
#include "../check/model_check.h"
#include "../model/baked.h"

/* HOB_REPORT_EXTRAS: most bytes of custom properties that the report repeats; the scene has all. */
enum { HOB_REPORT_STAGES = 12, HOB_REPORT_EXTRAS = 65536 };

typedef struct hob_report {
	struct {
		const char *name;
		uint64_t began_ns;
	} stages[HOB_REPORT_STAGES]; /* each stage ends where the next begins; the last has an empty name */
	uint32_t stage_count;
	const char *importer;
	uint32_t importer_version;
	hob_str generator;
	const hob_baked_scene *scene; /* its extras are copied into the report; NULL: none */
	const hob_findings *findings; /* NULL: no rule was on */
	hob_str folder;				  /* of the model, below the root */
	const hob_model *model;		  /* with the two below, for the list `content` */
	const hob_baked_materials *materials;
	const hob_baked_animations *animations;
	bool no_uv, morphs; /* some triangles have no texture coordinates; some mesh has morph targets */
} hob_report;

void hob_report_stage(hob_report *report, const char *name, uint64_t now_ns);
void hob_report_importer(hob_report *report, const char *name, uint32_t version, hob_str generator);
/* Appends the report; timings only if there was a clock (now_ns not 0). False without memory. */
bool hob_report_print(const hob_report *report, const hob_cook_result *result, hob_buf *out);

#endif
