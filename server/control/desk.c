#include "desk.h"
#include "answer.h"

#include "../../core/base/array.h"

#include <pthread.h>
#include <stdio.h>

struct srv_desk {
	const char *what;
	void (*answer)(void *user, srv_control *control);
	void *user;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t posted;
	uint32_t first, count, most;
	bool closing;
	srv_control *waiting[]; /* ring buffer */
};

static srv_control *take(srv_desk *desk)
{
	srv_control *control = desk->waiting[desk->first];
	desk->first = (desk->first + 1) % desk->most;
	desk->count--;
	return control;
}

static void *run(void *user)
{
	srv_desk *desk = user;
	pthread_mutex_lock(&desk->lock);
	while (!desk->closing) {
		if (desk->count == 0) {
			pthread_cond_wait(&desk->posted, &desk->lock);
			continue;
		}
		srv_control *control = take(desk);
		pthread_mutex_unlock(&desk->lock);
		desk->answer(desk->user, control);
		pthread_mutex_lock(&desk->lock);
	}
	pthread_mutex_unlock(&desk->lock);
	return NULL;
}

static void post(void *user, srv_control *control)
{
	srv_desk *desk = user;
	char why[80];
	pthread_mutex_lock(&desk->lock);
	bool taken = desk->count < desk->most && !desk->closing;
	if (taken) {
		desk->waiting[(desk->first + desk->count++) % desk->most] = control;
		pthread_cond_signal(&desk->posted);
	}
	pthread_mutex_unlock(&desk->lock);
	snprintf(why, sizeof why, "too many %s wait for an answer", desk->what);
	if (!taken)
		srv_control_answer(control, 503, "http.unavailable", why);
}

srv_control_port srv_desk_port(srv_desk *desk)
{
	return (srv_control_port){desk, post};
}

bool srv_desk_new(const char *what, uint32_t most, void (*answer)(void *user, srv_control *control),
				  void *user, srv_desk **out, hob_error *err)
{
	srv_desk *desk = hob_must(calloc(1, sizeof *desk + most * sizeof(srv_control *)));
	desk->what = what;
	desk->most = most;
	desk->answer = answer;
	desk->user = user;
	pthread_mutex_init(&desk->lock, NULL);
	pthread_cond_init(&desk->posted, NULL);
	int code = pthread_create(&desk->thread, NULL, run, desk);
	if (code != 0) {
		free(desk);
		return hob_fail(err, INTERNAL, "no thread can be started to answer %s: %s", what, strerror(code));
	}
	*out = desk;
	return true;
}

void srv_desk_close(srv_desk *desk)
{
	if (!desk)
		return;
	pthread_mutex_lock(&desk->lock);
	desk->closing = true;
	pthread_cond_signal(&desk->posted);
	pthread_mutex_unlock(&desk->lock);
	pthread_join(desk->thread, NULL);
	while (desk->count > 0)
		srv_control_answer(take(desk), 503, "http.draining", "Hob is stopping");
	pthread_mutex_destroy(&desk->lock);
	pthread_cond_destroy(&desk->posted);
	free(desk);
}
