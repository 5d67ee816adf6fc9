/* preflight.h - makes a program's event loop, after checking what the system might refuse. libuv would end
 * the process if its first descriptors or threads were refused; this reports an error. */
#ifndef CLI_PREFLIGHT_H
#define CLI_PREFLIGHT_H

#include "../../core/base/base.h"

#include <uv.h>

/* IO: too few descriptors or threads, with the limit's name. On success the threads of libuv's pool run. */
bool srv_cli_loop_init(uv_loop_t *loop, hob_error *err) HOB_MUST_CHECK;

#endif
