/* serve_child.h - programs that `hob serve` starts for the person who started it: a browser, a command. */
#ifndef CLI_SERVE_CHILD_H
#define CLI_SERVE_CHILD_H

#include <uv.h>

/* Opens the page in the desktop's browser with xdg-open, which outlives the daemon; where there is no display says the
 * address instead. What goes wrong is logged. */
void srv_serve_child_open(uv_loop_t *loop, const char *url);
/* Runs `command` in a shell, with HOB_URL set to `url` and HOB_PID to the daemon's id. Its end is logged when it failed. */
void srv_serve_child_run(uv_loop_t *loop, const char *command, const char *url);
/* A page's address: where the daemon listens everywhere ("0.0.0.0", "[::]"), loopback. */
void srv_serve_child_page(const char *url, char out[300]);

#endif
