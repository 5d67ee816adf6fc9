/* causes.h - one log line for a cause that many assets share: a broken cook.json fails 59 models, a lost
 * texture warns in 203, a renamed folder moves 205. The first asset is logged at once, and again each time it
 * comes. The others are counted, and logged in one line after a second without another, and every ten
 * seconds. One thread. */
#ifndef SRV_CAUSES_H
#define SRV_CAUSES_H

#include "log.h"

enum { SRV_CAUSES_MAX = 32 }; /* beyond this many causes at a time, each line is logged */

typedef struct srv_causes {
	void (*say)(const char *verb, const char *text); /* NULL: srv_log */
	struct srv_cause {
		char *cause, *first; /* owned; `first` is the logged line */
		char *line;			 /* owned: the newest line that was not logged, or NULL */
		const char *verb;
		srv_log_level level;
		uint32_t more, seconds;
		bool heard; /* there was a line in this second */
	} at[SRV_CAUSES_MAX];
	uint32_t count;
} srv_causes;

/* `verb` is a constant, `cause` the shared part of the lines. Equal causes have equal levels. */
void srv_causes_log(srv_causes *causes, srv_log_level level, const char *verb, hob_str cause, const char *fmt,
					...) HOB_PRINTF(5, 6);
bool srv_causes_has(const srv_causes *causes, const char *verb, hob_str cause);
void srv_causes_second(srv_causes *causes); /* call it every second */
void srv_causes_end(srv_causes *causes);	/* logs the counted lines, and frees */

#endif
