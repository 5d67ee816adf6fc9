/* diff_report.h - hob diff --from REV: a report about the changes between two revisions of a daemon. */
#ifndef CLI_DIFF_REPORT_H
#define CLI_DIFF_REPORT_H

#include "query.h"

typedef struct diff_report_options {
	const char *url;
	const char *from, *to; /* a rev, "latest" (only `to`), "previous" (only `from`, with one asset) */
	bool commits;		   /* `from` and `to` are branches, tags or commits of a git repository */
	const char *only;	   /* an asset or folder; NULL: all */
	const char *format;	   /* "text", "md", "html", "json" */
	const char *pictures;  /* folder for pictures, created if needed; NULL: no pictures */
	const char *view;	   /* camera of the pictures */
	const char *growth;	   /* --max-growth as typed, or NULL */
	uint32_t rows;		   /* maximum number of changes listed per asset */
} diff_report_options;

/* Prints the report on stdout. Returns EXIT_GOOD if nothing differs, EXIT_ASSETS_FAILED if something does,
 * EXIT_OVER_BUDGET if something grew more than --max-growth allows; or the code of the error that prevented
 * the report. */
int srv_diff_report_run(const diff_report_options *options);
bool srv_diff_same_outputs(const cJSON *a, const cJSON *b); /* lists with name and hash */

#endif
