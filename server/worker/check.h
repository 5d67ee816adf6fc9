/* check.h - checks outputs before they are stored or served: the independent validator of each format,
 * agreement between the packed files, and valid, unique output names. */
#ifndef SRV_CHECK_H
#define SRV_CHECK_H

#include "result.h"

/* Any thread. Errors: REJECTED, which names the output and the problem; MEMORY. */
bool srv_check_outputs(const srv_result *result, hob_error *err) HOB_MUST_CHECK;
/* The output of that name; empty if there is none. */
hob_bytes srv_find_output(const srv_result *result, const char *name);

#endif
