/* cook_forms.h - the report of `hob cook` in the forms that build servers read. Both take the JSON report, parsed. */
#ifndef CLI_COOK_FORMS_H
#define CLI_COOK_FORMS_H

#include "../../core/base/base.h"

#include <cjson/cJSON.h>

#define COOK_JUNIT_BEGIN "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hob\""

/* JUnit's XML (https://github.com/testmoapp/junitxml): a test case an asset; what failed or is over a budget is a failure. */
void srv_cook_form_junit(const cJSON *report, hob_buf *out);
/* Workflow commands of GitHub (docs.github.com, "Workflow commands for GitHub Actions"): an error for what failed or is over a
 * budget, a warning for each other warning, a notice for what was skipped.
 *
 * folder      what stands before the paths of the report, ending in '/', or "" */
void srv_cook_form_github(const cJSON *report, const char *folder, hob_buf *out);

#endif
