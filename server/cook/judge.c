#include "judge.h"

#include <assert.h>

static bool is_transient(const srv_cook_facts *f)
{
	bool code = f->code == HOB_ERR_CHANGED || f->code == HOB_ERR_IO || f->code == HOB_ERR_DISK_FULL ||
				f->code == HOB_ERR_INTERNAL;
	/* A failure of the daemon itself is not the model's either. */
	return code && (f->has_result || f->code == HOB_ERR_IO);
}

static srv_verdict again(srv_tries *tries)
{
	tries->again++;
	return SRV_VERDICT_TRY_AGAIN;
}

/* Retries a crash once: it may be the machine's fault (memory); a second one is the file's. A process that
 * had not read any file died of something else. */
static srv_verdict of_crash(const srv_cook_facts *f, srv_tries *tries)
{
	bool begun = f->touched || tries->again >= SRV_TRIES_MAX, timeout = f->code == HOB_ERR_TIMEOUT;
	tries->crashes += begun;
	return !timeout && (!begun || tries->crashes == 1) ? again(tries) : SRV_VERDICT_KEEP_CRASH;
}

srv_verdict srv_judge(const srv_cook_facts *f, srv_tries *tries)
{
	assert(!f->other_source || f->code == HOB_ERR_CHANGED);
	bool first_stall = f->stalled && !tries->stalled;
	tries->stalled = f->stalled;
	if (f->ok && !f->other_source)
		return SRV_VERDICT_GOOD;
	if (f->code == HOB_ERR_CHANGED && f->writer)
		return SRV_VERDICT_WRITER;
	if (is_transient(f))
		return tries->again < SRV_TRIES_MAX ? again(tries) : SRV_VERDICT_PASSING;
	/* Retries at once after one kill; after a pause when kills repeat, or the machine has no time for it. */
	if (f->code == HOB_ERR_INTERRUPTED)
		return tries->again == 0 && !f->stalled ? again(tries) : SRV_VERDICT_PASSING;
	if (f->has_result)
		return SRV_VERDICT_KEEP_FAILURE;
	return first_stall ? again(tries) : of_crash(f, tries);
}
