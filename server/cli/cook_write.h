/* cook_write.h - puts the results of `hob cook` where people asked for them: temp file, then rename. */
#ifndef CLI_COOK_WRITE_H
#define CLI_COOK_WRITE_H

#include "cook_plan.h"

typedef struct cook_write_options {
	const char *out;   /* folder; with glb also the one file, when its name ends in .glb */
	bool classic, glb; /* glb: one OUT/<path>.glb an entry and nothing else */
	bool nothing;	   /* results are reported, and no file is written */
} cook_write_options;

/* What the names of an entry's outputs end in; textures are named by their bytes. */
enum { SRV_COOK_ENDINGS = 8 };
extern const char *const srv_cook_endings[SRV_COOK_ENDINGS];

/* "out/props/duck.glb.meshes" of "props/duck.glb" and ".meshes". A file name without room for the ending keeps its beginning,
 * "~" and 16 digits of its SHA-256. Errors: IO, a path that is too long. */
bool srv_cook_name_output(const char *out, const char *entry, const char *ending, char *path,
						  hob_error *err) HOB_MUST_CHECK;

/* The size of what an entry becomes: what was written, and textures that were there already under the names of their bytes. */
typedef struct cook_bytes {
	uint64_t written, reused;
} cook_bytes;

/* Writes the files of one entry and adds to *bytes; notes hear what the classic layout or glTF could not hold. Any thread.
 * Errors: IO, DISK_FULL, MEMORY. */
bool srv_cook_write_entry(const cook_write_options *options, const cook_entry *entry,
						  const srv_result *result, hob_notes *notes, cook_bytes *bytes, hob_error *err);

/* Writes by way of a temp file beside it; makes the folders; adds to *total. Errors: IO, DISK_FULL. */
bool srv_cook_write_file(const char *path, hob_bytes bytes, uint64_t *total, hob_error *err) HOB_MUST_CHECK;

/* Collects the JSON report: one object an entry. */
void srv_cook_report_entry(hob_buf *report, const cook_entry *entry, const srv_outcome *outcome,
						   const hob_error *error, const cook_bytes *bytes);
/* The same of a file that no reader of Hob reads. */
void srv_cook_report_skipped(hob_buf *skipped, const char *file, const char *why);
/* Whether the report may be written there: not over a file that is no report, nor where an output goes. Errors: USAGE. */
bool srv_cook_report_place(const char *path, const cook_plan *plan, const cook_write_options *options,
						   hob_error *err) HOB_MUST_CHECK;

typedef enum cook_form { COOK_FORM_JSON, COOK_FORM_JUNIT, COOK_FORM_GITHUB } cook_form;

/* Of the whole run; bytes are those of all outputs, of which some were written and some were there already. */
typedef struct cook_totals {
	uint32_t cooked, cached, failed, skipped, over_budget;
	uint64_t triangles, bytes, written_bytes, reused_bytes, cook_ns, wall_ns;
} cook_totals;

/* path: NULL = nowhere. form: of the file; with GITHUB that is JSON, and annotations go to stdout. root: of the plan. */
bool srv_cook_report_write(const char *path, cook_form form, const char *root, const hob_buf *entries,
						   const hob_buf *skipped, const cook_totals *totals, hob_error *err) HOB_MUST_CHECK;

#endif
