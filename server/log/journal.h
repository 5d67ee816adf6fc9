/* journal.h - writes log lines as entries of systemd's journal, with fields instead of text to parse.
 *
 * Protocol: one datagram per entry, lines "FIELD=value\n" (systemd, "Native Journal Protocol"). Fields:
 * MESSAGE, PRIORITY (syslog's numbers), SYSLOG_IDENTIFIER=hob, HOB_EVENT (the verb of the line: "cooked",
 * "failed"). */
#ifndef SRV_JOURNAL_H
#define SRV_JOURNAL_H

#include "log.h"

#define SRV_JOURNAL_SOCKET "/run/systemd/journal/socket"

/* Opens a socket to the journal at `path`, if JOURNAL_STREAM says that `stream_fd` is the journal; otherwise
 * -1. The caller closes it. */
int srv_journal_open(const char *path, int stream_fd);
/* False if the journal did not receive it: write the line to stderr instead. `text` has no control
 * characters. Any thread. */
bool srv_journal_send(int journal, srv_log_level level, const char *verb, const char *text);

#endif
