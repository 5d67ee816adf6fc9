/* diff_report.h - what changed between two revisions of a daemon, as a report for people: hob diff --from
 * REV. */
#ifndef CLI_DIFF_REPORT_H
#define CLI_DIFF_REPORT_H

#include "query.h"

typedef struct diff_report_options {
	const char *url;
	const char *from, *to; /* a rev, "latest" (to), "previous" (from; of one asset) */
	const char *only;	   /* an asset, or a folder of them; NULL: all */
	const char *format;	   /* "text", "md", "html", "json" */
	const char *pictures;  /* a folder for them, made if it does not exist; NULL: none */
	const char *view;	   /* of the pictures */
	const char *growth;	   /* --max-growth as it was given, or NULL */
	uint32_t rows;		   /* changes listed for each asset */
} diff_report_options;

/* Prints it on stdout. Returns the exit code: GOOD if nothing differs, ASSETS_FAILED if something does,
 * OVER_BUDGET if something grew more than --max-growth allows; or the code of what prevented the report. */
int srv_diff_report_run(const diff_report_options *options);

#endif
