/* changeset_rule.h - when changes that belong together are published. Pure. */
#ifndef SRV_CHANGESET_RULE_H
#define SRV_CHANGESET_RULE_H

#include "../../core/base/base.h"

enum {
	SRV_CHANGESET_COMING_MS = 300,	/* for files that come and make nothing dirty */
	SRV_CHANGESET_LOCKED_MS = 5000, /* with a lock: it may stay while somebody writes a message */
	SRV_CHANGESET_MOST_MS = 30000,	/* then what is there is published */
	SRV_CHANGESET_MOST_HELD = 8192	/* as well */
};

typedef enum srv_changeset_step {
	SRV_CHANGESET_WAIT,
	SRV_CHANGESET_CLOSE,  /* publish all of it; it is over */
	SRV_CHANGESET_RELIEVE /* publish what is there; it goes on */
} srv_changeset_step;

typedef struct srv_changeset_facts {
	uint64_t now_ms, opened_at_ms, joined_at_ms; /* joined: the newest member */
	uint64_t pause_ms;							 /* so long nothing may have come */
	uint32_t held;								 /* changes */
	bool all_over;								 /* every member has its outcome */
	bool locked;								 /* version control is at work */
	bool collecting;							 /* the watch knows of more */
} srv_changeset_facts;

srv_changeset_step srv_changeset_decide(const srv_changeset_facts *facts);

#endif
