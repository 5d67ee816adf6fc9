/* preflight.h - makes a program's event loop, after checking the resources it needs. libuv would abort if its
 * first descriptors or threads were refused; this returns an error. */
#ifndef CLI_PREFLIGHT_H
#define CLI_PREFLIGHT_H

#include "../../core/base/base.h"

#include <uv.h>

/* IO: too few descriptors or threads; the message names the limit. On success libuv's pool is running. */
bool srv_cli_loop_init(uv_loop_t *loop, hob_error *err) HOB_MUST_CHECK;

#endif
