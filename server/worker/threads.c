#include "threads.h"

#include "../fs/lock.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { STACK_BYTES = 8 << 20 };

struct srv_threads {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	uint32_t extra, wanted, running; /* `wanted`: helpers that the current loop still needs */
	hob_task task;
	void *context;
	uint32_t count;
	atomic_uint next;
};

static void drain(srv_threads *threads, uint32_t id)
{
	for (;;) {
		uint32_t index = atomic_fetch_add_explicit(&threads->next, 1, memory_order_relaxed);
		if (index >= threads->count)
			return;
		threads->task(threads->context, index, id);
	}
}

static void *helper_main(void *arg)
{
	srv_threads *threads = arg;
	pthread_mutex_lock(&threads->lock);
	for (;;) {
		while (threads->wanted == 0)
			pthread_cond_wait(&threads->work, &threads->lock);
		uint32_t id = threads->wanted--;
		threads->running++;
		pthread_mutex_unlock(&threads->lock);
		drain(threads, id);
		pthread_mutex_lock(&threads->lock);
		if (--threads->running == 0)
			pthread_cond_signal(&threads->idle);
	}
	return NULL;
}

srv_threads *srv_threads_new(uint32_t extra)
{
	srv_threads *threads = calloc(1, sizeof *threads);
	if (!threads)
		return NULL;
	pthread_mutex_init(&threads->lock, NULL);
	pthread_cond_init(&threads->work, NULL);
	pthread_cond_init(&threads->idle, NULL);
	pthread_t helper;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	while (threads->extra < extra && pthread_create(&helper, &attributes, helper_main, threads) == 0)
		threads->extra++;
	pthread_attr_destroy(&attributes);
	return threads;
}

static void run(void *user, uint32_t count, hob_task task, void *context)
{
	srv_threads *threads = user;
	pthread_mutex_lock(&threads->lock);
	threads->task = task;
	threads->context = context;
	threads->count = count;
	atomic_store(&threads->next, 0);
	threads->wanted = threads->extra < count - 1 ? threads->extra : count - 1;
	pthread_cond_broadcast(&threads->work);
	pthread_mutex_unlock(&threads->lock);
	drain(threads, 0);
	SRV_LOCKED(&threads->lock);
	threads->wanted = 0; /* a helper that slept through the whole loop is no longer needed */
	while (threads->running > 0)
		pthread_cond_wait(&threads->idle, &threads->lock);
}

hob_parallel srv_threads_table(srv_threads *threads, uint32_t limit)
{
	uint32_t all = threads->extra + 1;
	/* A job gets all threads of the set, or runs in one. */
	return (hob_parallel){threads, limit > 1 ? all : 1, run};
}
