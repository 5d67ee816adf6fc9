/* log.h - what the daemon tells the person at the terminal and the journal: one line per fact, on stderr.
 *
 * Text for people ("18:31:29 cooked props/duck.glb  183 ms  65 KB"), or one JSON object per line for machines.
 * Colours only on a terminal that wants them. Under systemd, entries of the
 * journal with fields (journal.h). Any thread. */
#ifndef SRV_LOG_H
#define SRV_LOG_H

#include "../../core/base/base.h"

typedef enum srv_log_level { SRV_LOG_DEBUG, SRV_LOG_INFO, SRV_LOG_WARNING, SRV_LOG_ERROR } srv_log_level;

/* Before threads start; later calls may change `least` only. json: one object per line. Honours NO_COLOR, CLICOLOR_FORCE, TERM=dumb and CI. */
void srv_log_init(srv_log_level least, bool json);
/* `verb` is a short stable word that leads the line ("cooked", "failed", "watching"). */
void srv_log(srv_log_level level, const char *verb, const char *fmt, ...) HOB_PRINTF(3, 4);
/* Whether stderr is a screen on which a line can be drawn over: a terminal, no JSON, neither CI nor TERM=dumb. */
bool srv_log_has_screen(void);
/* Keeps `line` below everything that is written, drawn over in place; cut to the width of the terminal. NULL or "" takes it away.
 * While it is there, the lines of one asset each that went well ("cooked", "reused", "preview") are not written; srv_log_listen still
 * gets them. Only where srv_log_has_screen. */
void srv_log_status(const char *line);
const char *srv_log_level_name(srv_log_level level); /* "debug", "info", "warning", "error" */
/* Every line that is written from now on is given to `take` as well, in the thread that writes it; NULL ends that.
 * `text` is UTF-8 or not, as the names in it are. `take` must not log. */
typedef void srv_log_take(void *user, srv_log_level level, const char *verb, const char *text);
void srv_log_listen(srv_log_take *take, void *user);
/* In place: control characters of either set and those that turn the direction of writing become '?'. Names come from disks and
 * bundles of strangers and must not steer a terminal. */
void srv_plain(char *text);
/* True when `stream_fd` (1 or 2) should get colours. */
bool srv_color_wanted(int stream_fd);

/* "183 ms", "1.24 s", "2 min 5 s"; "65 KB", "1.2 MB": for people, in `out`. */
const char *srv_text_duration(uint64_t ns, char out[32]);
const char *srv_text_bytes(uint64_t bytes, char out[32]);

#endif
