#include "serve_progress.h"

#include "../log/causes.h"

#include <cjson/cJSON.h>
#include <stdio.h>

enum { IDLE_MS = 250, DRAW_MS = 100, LEAST_JOBS = 20, CAUSES_SHOWN = 20 };

/* 1204 -> "1,204" */
static const char *grouped(uint64_t value, char out[32])
{
	char digits[24];
	int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value), at = 0;
	for (int i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = 0;
	return out;
}

static hob_str one_cooking(const srv_view *view)
{
	for (uint32_t i = 0; view->states[SRV_COOKING] > 0 && i < view->count; i++)
		if (view->assets[i]->state == SRV_COOKING)
			return view->assets[i]->full;
	return (hob_str){0};
}

static void draw(const serve_progress *progress, const srv_activity_run *run, const srv_view *view)
{
	char done[32], all[32], rate[32], time[32];
	uint64_t total = run->all_done + run->left, expected = srv_engine_count(progress->engine)->expected_ns;
	if (expected == 0 && run->per_minute > 0)
		expected = (uint64_t)((double)run->left / run->per_minute * 60e9);
	hob_buf line = {0};
	hob_buf_printf(&line, "cooking  %s of %s (%u %%)  %s a minute", grouped(run->all_done, done),
				   grouped(total, all), (unsigned)(run->all_done * 100 / total),
				   grouped((uint64_t)run->per_minute, rate));
	if (expected > 0)
		hob_buf_printf(&line, "  about %s left",
					   srv_text_duration((expected / 1000000000 + 1) * 1000000000, time));
	if (run->done[SRV_ACTIVITY_FAILED] > 0)
		hob_buf_printf(&line, "  %s failed", grouped(run->done[SRV_ACTIVITY_FAILED], done));
	hob_str name = one_cooking(view);
	hob_buf_printf(&line, "%s%.*s", name.len > 0 ? "  " : "", HOB_FMT(name));
	hob_buf_put(&line, "", 1);
	if (!line.failed)
		srv_log_status((const char *)line.data);
	hob_buf_release(&line);
}

static void tell_failed(const serve_progress *progress, const srv_view *view)
{
	srv_causes causes = {0};
	uint32_t rest = 0;
	for (uint32_t i = 0; i < view->count; i++) {
		const srv_view_asset *a = view->assets[i];
		if (a->error.len == 0 || a->rev <= progress->began_rev)
			continue;
		cJSON *error = cJSON_ParseWithLength(a->error.data, a->error.len);
		const char *known = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));
		const char *message = known ? known : "no reason is known";
		if (causes.count < CAUSES_SHOWN || srv_causes_has(&causes, "failed", hob_str_of(message)))
			srv_causes_log(&causes, SRV_LOG_ERROR, "failed", hob_str_of(message), "%.*s  %s",
						   HOB_FMT(a->full), message);
		else
			rest++;
		cJSON_Delete(error);
	}
	srv_causes_end(&causes);
	if (rest > 0)
		srv_log(SRV_LOG_ERROR, "failed", "and %u more: hob ls --state broken,blocked", rest);
}

static void summarize(const serve_progress *progress, const srv_activity_run *run, const srv_view *view)
{
	const srv_view_asset *slowest = NULL, *largest = NULL;
	char cooked[32], reused[32], failed[32], time[32], size[32];
	for (uint32_t i = 0; i < view->count; i++) {
		const srv_view_asset *a = view->assets[i];
		if (a->cooked_at_ms < run->began_at_ms)
			continue;
		if (!slowest || a->cook_ns > slowest->cook_ns)
			slowest = a;
		if (!largest || a->cooked_bytes > largest->cooked_bytes)
			largest = a;
	}
	int64_t took = run->ended_at_ms - run->began_at_ms;
	srv_log(SRV_LOG_INFO, "done", "%s cooked, %s from the cache, %s failed, in %s",
			grouped(run->done[SRV_ACTIVITY_COOKED], cooked), grouped(run->done[SRV_ACTIVITY_REUSED], reused),
			grouped(run->done[SRV_ACTIVITY_FAILED], failed),
			srv_text_duration(took > 0 ? (uint64_t)took * 1000000 : 0, time));
	if (slowest)
		srv_log(SRV_LOG_INFO, "slowest", "%.*s  %s", HOB_FMT(slowest->full),
				srv_text_duration(slowest->cook_ns, time));
	if (largest)
		srv_log(SRV_LOG_INFO, "largest", "%.*s  %s", HOB_FMT(largest->full),
				srv_text_bytes(largest->cooked_bytes, size));
	tell_failed(progress, view);
}

static void look(uv_timer_t *timer)
{
	serve_progress *progress = timer->data;
	srv_activity_run run = srv_engine_progress(progress->engine);
	bool over = run.ended_at_ms > 0 || run.began_at_ms == 0;
	if (progress->run == 0 && (over || run.all_done + run.left < LEAST_JOBS))
		return;
	const srv_view *view = srv_views_take(progress->views);
	if (progress->run == 0) {
		progress->run = run.began_at_ms;
		uv_timer_set_repeat(timer, DRAW_MS);
		progress->began_rev = view->rev > run.all_done ? view->rev - run.all_done : 0;
	}
	if (over || run.began_at_ms != progress->run) {
		srv_log_status(NULL);
		if (over && run.began_at_ms == progress->run)
			summarize(progress, &run, view);
		progress->run = 0;
		uv_timer_set_repeat(timer, IDLE_MS);
	} else {
		draw(progress, &run, view);
	}
	srv_view_drop(view);
}

void srv_serve_progress_begin(serve_progress *progress, uv_loop_t *loop, srv_engine *engine, srv_views *views)
{
	*progress = (serve_progress){.engine = engine, .views = views};
	if (!srv_log_has_screen())
		return;
	uv_timer_init(loop, &progress->timer);
	progress->timer.data = progress;
	uv_timer_start(&progress->timer, look, IDLE_MS, IDLE_MS);
	look(&progress->timer);
	progress->began = true;
}

void srv_serve_progress_end(serve_progress *progress)
{
	if (!progress->began)
		return;
	progress->began = false;
	srv_log_status(NULL);
	uv_close((uv_handle_t *)&progress->timer, NULL);
}
