#include "guard.h"

#include <stdatomic.h>

/* Tasks of a function within hob_guarded: a thread cannot leave a function of another one. */
typedef struct guarded {
	hob_task task;
	void *context;
	atomic_flag failed;
	atomic_bool stop;
	hob_error why;
} guarded_t;

typedef struct call {
	const guarded_t *tasks;
	uint32_t index, thread;
} call_t;

static bool run_body(void *context, hob_error *err)
{
	(void)err;
	const call_t *call = context;
	call->tasks->task(call->tasks->context, call->index, call->thread);
	return true;
}

static void run_guarded(void *context, uint32_t index, uint32_t thread)
{
	guarded_t *tasks = context;
	call_t call = {tasks, index, thread};
	hob_error why;
	if (atomic_load(&tasks->stop) || hob_guarded(run_body, &call, &why))
		return;
	atomic_store(&tasks->stop, true);
	if (!atomic_flag_test_and_set(&tasks->failed))
		tasks->why = why;
}

void hob_parallel_for(const hob_parallel *parallel, uint32_t count, hob_task task, void *context)
{
	if (!parallel || parallel->threads <= 1 || count <= 1) {
		for (uint32_t i = 0; i < count; i++)
			task(context, i, 0);
	} else if (!hob_guard_active()) {
		parallel->run(parallel->user, count, task, context);
	} else {
		guarded_t tasks = {.task = task, .context = context, .failed = ATOMIC_FLAG_INIT};
		parallel->run(parallel->user, count, run_guarded, &tasks);
		if (atomic_load(&tasks.stop))
			hob_guard_raise(&tasks.why);
	}
}
