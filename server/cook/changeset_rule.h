/* changeset_rule.h - decides when changes that belong together are published. Pure. */
#ifndef SRV_CHANGESET_RULE_H
#define SRV_CHANGESET_RULE_H

#include "../../core/base/base.h"

enum {
	SRV_CHANGESET_COMING_MS = 300,	/* wait for further files that make nothing dirty */
	SRV_CHANGESET_LOCKED_MS = 5000, /* wait for a lock, which may stay while a user writes a commit message */
	SRV_CHANGESET_MOST_MS = 30000,	/* maximum; then the available changes are published */
	SRV_CHANGESET_MOST_HELD = 8192	/* maximum number of held changes */
};

typedef enum srv_changeset_step {
	SRV_CHANGESET_WAIT,
	SRV_CHANGESET_CLOSE,  /* publish all; the changeset ends */
	SRV_CHANGESET_RELIEVE /* publish the available changes; it continues */
} srv_changeset_step;

typedef struct srv_changeset_facts {
	uint64_t now_ms, opened_at_ms, joined_at_ms; /* joined: the newest member */
	uint64_t pause_ms;							 /* required pause without new changes */
	uint32_t held;								 /* number of held changes */
	bool all_over;								 /* every member has a result */
	bool locked;								 /* version control is at work */
	bool collecting;							 /* the watch has more changes */
} srv_changeset_facts;

srv_changeset_step srv_changeset_decide(const srv_changeset_facts *facts);

#endif
