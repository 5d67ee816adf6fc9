/* check_report.h - compares the findings of `hob check` with a baseline and prints them. */
#ifndef CLI_CHECK_REPORT_H
#define CLI_CHECK_REPORT_H

#include "../../core/settings/rule_settings.h"

/* A model of this run or of the baseline. */
typedef struct check_asset {
	hob_str path, source, objects; /* beginning of its digest; hashes of its objects (model_check.h) */
	struct check_asset *was;	   /* the same model in the baseline, under this or another name */
	struct check_asset *like; /* best match by objects whose file is gone; `was`, too, if they share enough */
	uint32_t shared, of;	  /* objects in common with `like` or `was`, of how many */
	bool uncooked;
	/* in the baseline. `here`: its file exists; `taken`: a model of this run was renamed from it */
	bool here, taken;
} check_asset;

typedef struct check_row {
	hob_str asset, rule, kind, name, text;
	double value;
	hob_rule_level level;
	bool fails, is_note;
	bool known;			 /* in the baseline with at least this value, or allowed there */
	hob_str why, author; /* who allowed it in the baseline, and why; empty: nobody */
} check_row;

typedef struct check_report {
	hob_arena memory;
	check_asset *assets, *old_assets;
	check_row *rows, *old; /* old: the baseline; there, `known` means that this run found it, too */
	uint32_t asset_count, asset_capacity, count, capacity;
	uint32_t old_asset_count, old_asset_capacity, old_count, old_capacity;
	uint32_t unchecked[HOB_RULE_COUNT]; /* number of models in which the rule could not be checked */
	uint32_t uncooked, cached, fresh;	/* `fresh`: findings that fail the check */
	hob_str folder;						/* prefix that makes paths relative to the current folder */
	const char *baseline;
	bool strict, failed; /* `failed`: memory ran out */
} check_report;

typedef enum check_format {
	CHECK_TEXT,
	CHECK_JSON,
	CHECK_SARIF,
	CHECK_JUNIT,
	CHECK_GITHUB,
	CHECK_FORMATS
} check_format;
check_format srv_check_format_of(const char *name); /* CHECK_FORMATS: no such format */

/* Reads c->baseline; with `may_lack` the file need not exist. Errors: USAGE. */
bool srv_check_baseline_read(check_report *c, bool may_lack, hob_error *err) HOB_MUST_CHECK;
/* Sorts, compares with the baseline, prints to stdout and, with `update`, writes the baseline. */
bool srv_check_tell(check_report *c, check_format format, bool update, hob_error *err) HOB_MUST_CHECK;
void srv_check_release(check_report *c);

#endif
