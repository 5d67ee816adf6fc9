/* serve_child.h - programs that `hob serve` starts for its user: a browser, a command. */
#ifndef CLI_SERVE_CHILD_H
#define CLI_SERVE_CHILD_H

#include <uv.h>

/* Opens the page in the desktop's browser with xdg-open, which outlives the daemon. Without a display it
 * prints the address instead. Errors are logged. */
void srv_serve_child_open(uv_loop_t *loop, const char *url);
/* Runs `command` in a shell, with HOB_URL set to `url` and HOB_PID to the daemon's id. Logs if it fails. */
void srv_serve_child_run(uv_loop_t *loop, const char *command, const char *url);

#endif
