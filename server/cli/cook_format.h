/* cook_format.h - the report of `hob cook` in formats that build servers read. Both functions take the parsed
 * JSON report. */
#ifndef CLI_COOK_FORMAT_H
#define CLI_COOK_FORMAT_H

#include "../../core/base/base.h"

#include <cjson/cJSON.h>

#define COOK_JUNIT_BEGIN "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hob\""

/* JUnit's XML (https://github.com/testmoapp/junitxml): one test case per asset; a failed or over-budget asset
 * is a failure. */
void srv_cook_format_junit(const cJSON *report, hob_buf *out);
/* Workflow commands of GitHub (docs.github.com, "Workflow commands for GitHub Actions"): an error for each
 * asset that failed or is over a budget, a warning for each other warning, a notice for each skipped file.
 *
 * folder      prefix of the report's paths, ending in '/', or "" */
void srv_cook_format_github(const cJSON *report, const char *folder, hob_buf *out);

#endif
