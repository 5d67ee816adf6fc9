/* log.h - the daemon's log, for people at the terminal and for the journal: one line per event, on stderr.
 *
 * Text for people ("18:31:29 cooked props/duck.glb  183 ms 65 KB"), or one JSON object per line for programs.
 * Colours only on a terminal that supports them. Under systemd, lines are journal entries with fields
 * (journal.h). Any thread. */
#ifndef SRV_LOG_H
#define SRV_LOG_H

#include "../../core/base/base.h"

typedef enum srv_log_level { SRV_LOG_DEBUG, SRV_LOG_INFO, SRV_LOG_WARNING, SRV_LOG_ERROR } srv_log_level;

/* Call it before threads start; later calls may only change `least`. `json`: one object per line. Honours
 * NO_COLOR, CLICOLOR_FORCE, TERM=dumb and CI. */
void srv_log_init(srv_log_level least, bool json);
/* `verb` is a short fixed word at the start of the line ("cooked", "failed", "watching"). */
void srv_log(srv_log_level level, const char *verb, const char *fmt, ...) HOB_PRINTF(3, 4);
/* Whether lines on stderr can be overwritten: a terminal, no JSON, no CI, no TERM=dumb. */
bool srv_log_has_screen(void);
/* Shows `line` below all output, updated in place and cut to the width of the terminal. NULL or "" removes
 * it. While it is shown, lines about single assets that succeeded ("cooked", "reused", "preview") are not
 * written, but srv_log_listen still gets them. Requires srv_log_has_screen. */
void srv_log_status(const char *line);
const char *srv_log_level_name(srv_log_level level); /* "debug", "info", "warning", "error" */
/* From now on `take` also gets every line, in the thread that writes it; NULL ends that. `text` may be
 * invalid UTF-8, like names in it. `take` must not log. */
typedef void srv_log_take(void *user, srv_log_level level, const char *verb, const char *text);
void srv_log_listen(srv_log_take *take, void *user);
/* Replaces, in place, all control characters and characters that change the writing direction with '?'. Names
 * come from foreign disks and bundles and must not control a terminal. */
void srv_plain(char *text);
/* Like srv_plain, for text of this program: keeps colours and line ends. */
void srv_plain_lines(char *text);
/* Whether `stream_fd` (1 or 2) should get colours. */
bool srv_color_wanted(int stream_fd);

/* Writes text for people to `out`: "183 ms", "1.24 s", "2 min 5 s"; "65 KB", "1.2 MB". */
const char *srv_text_duration(uint64_t ns, char out[32]);
const char *srv_text_bytes(uint64_t bytes, char out[32]);

#endif
