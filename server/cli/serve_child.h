/* serve_child.h - programs that `hob serve` starts for the user: a browser, a command. */
#ifndef CLI_SERVE_CHILD_H
#define CLI_SERVE_CHILD_H

#include <uv.h>

/* Opens the page in the desktop's browser with xdg-open, which outlives the daemon. Without a display it logs
 * the address instead. Errors are logged. */
void srv_serve_child_open(uv_loop_t *loop, const char *url);
/* Runs `command` in a shell, with `url` in HOB_URL and the daemon's process id in HOB_PID. Logs a failure. */
void srv_serve_child_run(uv_loop_t *loop, const char *command, const char *url);

#endif
