/* cook_depfile.h - lists the files that outputs depend on, for the build system that runs `hob cook`. */
#ifndef CLI_COOK_DEPFILE_H
#define CLI_COOK_DEPFILE_H

#include "cook_write.h"

/* Appends one entry: outputs, source, dependencies, cook.json files and sidecar. In make's syntax, as ninja
 * reads it, the first output is the only target, and files that were looked for and not found are left out.
 * As JSON, an object with all outputs, and with those files as "missing". */
void srv_cook_depfile_add(hob_buf *out, bool json, const cook_write_options *write, const cook_plan *plan,
						  const cook_entry *entry, const srv_result *result);
/* Errors: those of srv_cook_write_file. */
bool srv_cook_depfile_write(const char *path, bool json, const hob_buf *entries,
							hob_error *err) HOB_MUST_CHECK;

#endif
