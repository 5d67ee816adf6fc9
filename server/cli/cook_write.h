/* cook_write.h - writes the results of `hob cook` to their files: temp file, then rename. */
#ifndef CLI_COOK_WRITE_H
#define CLI_COOK_WRITE_H

#include "cook_plan.h"

#include "../derive/glb_make.h"

typedef struct cook_write_options {
	const char *out;   /* folder; with glb it may name the single file, ending in .glb */
	bool classic, glb; /* `glb`: one OUT/<path>.glb per entry and nothing else */
	bool nothing;	   /* results are reported, but no file is written */
} cook_write_options;

/* Number of file endings that an entry's outputs can have; textures are named by their bytes. */
enum { COOK_PARTS = 4, SRV_COOK_ENDINGS = 8 }; /* the parts of a model, the report, the classic files */
extern const char *const srv_cook_endings[SRV_COOK_ENDINGS];

/* Appends an ending: "out/props/duck.glb.meshes" for "props/duck.glb" and ".meshes". A name too long for the
 * ending is shortened to its beginning, "~" and 16 digits of its SHA-256. Errors: IO (too long). */
bool srv_cook_name_output(const char *out, const char *entry, const char *ending, char *path,
						  hob_error *err) HOB_MUST_CHECK;

/* Bytes of an entry's outputs: newly written, and already present with the same content. */
typedef struct cook_bytes {
	uint64_t written, reused;
} cook_bytes;

/* Writes the files of one entry and adds to *bytes. `notes` gets a note about content that the classic layout
 * or glTF cannot express. Any thread. Errors: IO, DISK_FULL, MEMORY. */
bool srv_cook_write_entry(const cook_write_options *options, const cook_entry *entry,
						  const srv_result *result, hob_notes *notes, cook_bytes *bytes, hob_error *err);

/* Makes the folder for the results. Errors: USAGE. */
bool srv_cook_make_out(const char *out, hob_error *err) HOB_MUST_CHECK;
/* Writes a temp file next to `path` and renames it; makes folders; adds to *total. Errors: IO, DISK_FULL. */
bool srv_cook_write_file(const char *path, hob_bytes bytes, uint64_t *total, hob_error *err) HOB_MUST_CHECK;

/* Collects the JSON report: one object per entry. */
void srv_cook_report_entry(hob_buf *report, const cook_entry *entry, const srv_outcome *outcome,
						   const hob_error *error, const cook_bytes *bytes);
/* Adds a file that no importer reads. */
void srv_cook_report_skipped(hob_buf *skipped, const char *file, const char *why);
/* Whether the report may be written to `path`: not over a file that is not a report, nor over an output.
 * Errors: USAGE. */
bool srv_cook_report_place(const char *path, const cook_plan *plan, const cook_write_options *options,
						   hob_error *err) HOB_MUST_CHECK;

/* The prefix that makes paths below the plan's root relative to the current folder; out: PATH_MAX bytes. */
void srv_cook_folder_from_here(const char *root, char *out);

typedef enum cook_format { COOK_FORMAT_JSON, COOK_FORMAT_JUNIT, COOK_FORMAT_GITHUB } cook_format;

/* Totals of the whole run; bytes include outputs that were already present. */
typedef struct cook_totals {
	uint32_t cooked, cached, failed, skipped, over_budget;
	uint64_t triangles, bytes, written_bytes, reused_bytes, cook_ns, wall_ns;
} cook_totals;

/* Writes no file if `path` is NULL. With the format GITHUB the file is JSON, and annotations go to stdout.
 * `root` is the plan's. */
bool srv_cook_report_write(const char *path, cook_format format, const char *root, const hob_buf *entries,
						   const hob_buf *skipped, const cook_totals *totals, hob_error *err) HOB_MUST_CHECK;

/* ---- GLB files ---- */

/* Whether `out` is one file: it ends in .glb, or is - for stdout. */
bool srv_export_is_one(const char *out);
/* The file for `source` (a path or an asset's name): `out` itself if it is one; otherwise out/source, with
 * .glb added if necessary. Errors: USAGE if it is too long. */
bool srv_export_name(const char *out, const char *source, char path[PATH_MAX], hob_error *err) HOB_MUST_CHECK;
/* Errors: those of srv_glb_make; IO, DISK_FULL. */
bool srv_export_write(const srv_glb_source *source, const char *path, hob_notes *notes, uint64_t *bytes,
					  hob_error *err) HOB_MUST_CHECK;

#endif
