#include "changeset_rule.h"

#include <assert.h>

srv_changeset_step srv_changeset_decide(const srv_changeset_facts *f)
{
	assert(f->now_ms >= f->opened_at_ms && f->now_ms >= f->joined_at_ms);
	uint64_t quiet = f->now_ms - f->joined_at_ms;
	bool coming = f->collecting && quiet < SRV_CHANGESET_COMING_MS;
	bool locked = f->locked && quiet < SRV_CHANGESET_LOCKED_MS;
	if (f->all_over && !locked && !coming && quiet >= f->pause_ms)
		return SRV_CHANGESET_CLOSE;
	bool enough = f->now_ms - f->opened_at_ms >= SRV_CHANGESET_MOST_MS || f->held >= SRV_CHANGESET_MOST_HELD;
	return enough ? SRV_CHANGESET_RELIEVE : SRV_CHANGESET_WAIT;
}
