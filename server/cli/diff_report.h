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

/* An asset that changed. */
typedef struct diff_entry {
	const char *asset; /* of a manifest */
	cJSON *comparison; /* GET .../compare */
	char *picture;	   /* path below the page, or NULL */
	char *over;		   /* what grew more than allowed, or NULL */
	double weight;
} diff_entry;

typedef struct diff_report {
	const diff_report_options *how;
	cJSON *before, *after; /* manifests; NULL for one asset against "previous" */
	char from[48], to[48]; /* "rev 4100", "rev 4182" */
	const char **added, **gone;
	uint32_t added_count, gone_count, entry_count, over_count;
	diff_entry *entries; /* the largest change first */
} diff_report;

/* Prints it on stdout. Returns the exit code: GOOD if nothing differs, ASSETS_FAILED if something does,
 * OVER_BUDGET if something grew more than --max-growth allows; or the code of what prevented the report. */
int srv_diff_report_run(const diff_report_options *options);

/* The formats; false for an unknown one. */
bool srv_diff_report_put(const diff_report *report, hob_buf *out);
/* "+5 %": the growth from one number of a comparison to the other; "" without a first number. */
const char *srv_diff_report_share(double from, double to, char out[32]);

#endif
