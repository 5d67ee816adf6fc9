/* check.h - what is asked of outputs before anybody stores or serves them: each passes the independent
 * validator of its format, and the packed ones agree with each other. */
#ifndef SRV_CHECK_H
#define SRV_CHECK_H

#include "result.h"

/* Any thread. Errors: REJECTED, naming the output and what is wrong with it; MEMORY. */
bool srv_check_outputs(const srv_result *result, hob_error *err) HOB_MUST_CHECK;
/* The output of that name; empty when there is none. */
hob_bytes srv_find_output(const srv_result *result, const char *name);

#endif
