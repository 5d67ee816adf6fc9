/* preflight.h - makes the event loop of a program, after it found that the system gives what cannot be asked for in words
 * later: libuv ends the process when its first descriptors or threads are refused. */
#ifndef CLI_PREFLIGHT_H
#define CLI_PREFLIGHT_H

#include "../../core/base/base.h"

#include <uv.h>

/* IO: too few descriptors or threads, with the limit's name. On success the threads of libuv's pool run. */
bool srv_cli_loop_init(uv_loop_t *loop, hob_error *err) HOB_MUST_CHECK;

#endif
