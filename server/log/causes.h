/* causes.h - one line for what many assets have in common: a broken cook.json fails 59 models, a lost texture
 * warns in 203, a renamed folder moves 205. The first is logged at once, and each time it comes again. The
 * others are counted and logged in one line when a second passes without another, and every ten seconds. One
 * thread. */
#ifndef SRV_CAUSES_H
#define SRV_CAUSES_H

#include "log.h"

enum { SRV_CAUSES_MAX = 32 }; /* with more at a time, each line is logged */

typedef struct srv_causes {
	void (*say)(const char *verb, const char *text); /* NULL: srv_log */
	struct srv_cause {
		char *cause, *first; /* owned; `first` was logged */
		char *line;			 /* owned: the newest that was not logged, or NULL */
		const char *verb;
		srv_log_level level;
		uint32_t more, seconds;
		bool heard; /* in this second */
	} at[SRV_CAUSES_MAX];
	uint32_t count;
} srv_causes;

/* verb: a constant. cause: what the line shares with others; the same cause has the same level. */
void srv_causes_log(srv_causes *causes, srv_log_level level, const char *verb, hob_str cause, const char *fmt,
					...) HOB_PRINTF(5, 6);
bool srv_causes_has(const srv_causes *causes, const char *verb, hob_str cause);
void srv_causes_second(srv_causes *causes); /* to be called each second */
void srv_causes_end(srv_causes *causes);	/* logs what was counted, and frees */

#endif
