#include "serve_notify.h"

#include <stdio.h>
#include <time.h>

/* A slow start is not a hung one: each tick asks for this much more time. */
enum { TICK_MS = 1000, START_EXTENDED_US = 60 * 1000 * 1000 };

void srv_serve_counts(const srv_view *view, srv_engine *engine, hob_buf *out)
{
	uint32_t counts[SRV_STANDINGS_LISTED];
	memcpy(counts, view->standings, sizeof counts);
	counts[SRV_STANDING_WAITING] = 0; /* included in the number of assets to cook */
	for (uint32_t i = 0; counts[SRV_STANDING_UPDATING] > 0 && i < view->count; i++) {
		if (view->assets[i]->standing != SRV_STANDING_UPDATING)
			continue;
		counts[SRV_STANDING_UPDATING]--;
		counts[view->assets[i]->error.len > 0 ? SRV_STANDING_BROKEN : SRV_STANDING_FRESH]++;
	}
	for (uint32_t i = 0; i < SRV_STANDINGS_LISTED; i++)
		if (counts[i] > 0 || i == SRV_STANDING_FRESH)
			hob_buf_printf(out, "%u %s, ", counts[i], srv_standing_name((srv_standing)i));
	hob_buf_printf(out, "%llu to cook",
				   (unsigned long long)srv_engine_count(engine)->queue_length +
					   srv_engine_count(engine)->running);
}

static void tell_status(serve_notify *n)
{
	char text[sizeof n->status];
	hob_buf counts = {0};
	const srv_view *view = srv_views_take(n->views);
	srv_serve_counts(view, n->engine, &counts);
	srv_view_drop(view);
	snprintf(text, sizeof text, "%s%.*s", n->ready ? "" : "Scanning: ", HOB_FMT(hob_buf_str(&counts)));
	hob_buf_release(&counts);
	if (n->failed || strcmp(text, n->status) == 0)
		return;
	memcpy(n->status, text, sizeof text);
	srv_service_tell(n->service, "STATUS=%s", text);
}

/* Notifies the watchdog: the loop does all the work, so a running timer shows that the daemon is alive. */
static void on_tick(uv_timer_t *timer)
{
	serve_notify *n = timer->data;
	if (n->service->watchdog_us > 0)
		srv_service_tell(n->service, "WATCHDOG=1");
	if (!n->ready)
		srv_service_tell(n->service, "EXTEND_TIMEOUT_USEC=%d", START_EXTENDED_US);
	tell_status(n);
}

void srv_serve_notify_begin(serve_notify *n, uv_loop_t *loop, srv_service *service, srv_engine *engine,
							srv_views *views)
{
	uint64_t due_ms = service->watchdog_us / 2000, tick = due_ms > 0 && due_ms < TICK_MS ? due_ms : TICK_MS;
	*n = (serve_notify){.service = service, .engine = engine, .views = views};
	if (service->notify_fd < 0)
		return;
	n->active = true;
	uv_timer_init(loop, &n->timer);
	n->timer.data = n;
	uv_timer_start(&n->timer, on_tick, 0, tick);
}

void srv_serve_notify_ready(serve_notify *n)
{
	n->ready = true;
	if (!n->active)
		return;
	srv_service_tell(n->service, "READY=1");
	tell_status(n);
}

void srv_serve_notify_reloading(serve_notify *n)
{
	struct timespec now;
	if (!n->active)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	srv_service_tell(n->service, "RELOADING=1\nMONOTONIC_USEC=%llu",
					 (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
}

void srv_serve_notify_reloaded(serve_notify *n, const char *error)
{
	if (!n->active)
		return;
	n->failed = error != NULL;
	n->status[0] = 0;
	if (!error)
		srv_service_tell(n->service, "READY=1");
	else
		srv_service_tell(n->service, "READY=1\nSTATUS=The former configuration stays: %s", error);
}

void srv_serve_notify_stop(serve_notify *n)
{
	if (!n->active)
		return;
	n->active = false;
	srv_service_tell(n->service, "STOPPING=1\nSTATUS=Stopping");
	uv_close((uv_handle_t *)&n->timer, NULL);
}
