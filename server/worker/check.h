/* check.h - what is asked of an output before anybody stores or serves it: the independent validator of its format. */
#ifndef SRV_CHECK_H
#define SRV_CHECK_H

#include "../../core/base/base.h"

/* Any thread. Errors: REJECTED, naming the output and what is wrong with it; MEMORY. */
bool srv_check_output(hob_str name, hob_bytes bytes, hob_error *err) HOB_MUST_CHECK;

#endif
