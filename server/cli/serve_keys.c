#include "serve_keys.h"
#include "serve_child.h"

#include "../log/log.h"

#include <cjson/cJSON.h>
#include <stdio.h>

enum { FAILED_SHOWN = 20, LOOK_MS = 600000 };

static const struct {
	char key;
	const char *what;
} table[] = {{'h', "these keys"},
			 {'o', "open the dashboard in a browser"},
			 {'u', "say its address again"},
			 {'f', "list what failed"},
			 {'r', "rescan all files, and cook what changed"},
			 {'q', "stop, as Ctrl-C does"}};

static void show_help(void)
{
	bool color = srv_color_wanted(1);
	fputs("\n", stdout);
	for (size_t i = 0; i < HOB_COUNT_OF(table); i++)
		printf("  %s%c%s  %s\n", color ? "\x1b[1m" : "", table[i].key, color ? "\x1b[0m" : "", table[i].what);
	fputs("\n", stdout);
}

/* ---- f */

static void show_one(const srv_view_asset *asset)
{
	cJSON *error = cJSON_ParseWithLength(asset->error.data, asset->error.len);
	const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));
	hob_buf line = {0};
	hob_buf_printf(&line, "  %.*s: %s", HOB_FMT(asset->full), message ? message : "no reason is known");
	hob_buf_put(&line, "", 1);
	if (!line.failed) {
		srv_plain((char *)line.data);
		puts((const char *)line.data);
	}
	hob_buf_release(&line);
	cJSON_Delete(error);
}

static void show_failed(const serve_keys *keys)
{
	const srv_view *view = srv_views_take(keys->views);
	uint32_t count = 0;
	fputs("\n", stdout);
	for (uint32_t i = 0; i < view->count; i++)
		if (view->assets[i]->error.len > 0 && count++ < FAILED_SHOWN)
			show_one(view->assets[i]);
	if (count > FAILED_SHOWN)
		printf("  and %u more: hob ls --state failed,stale,blocked,interrupted,quarantined\n",
			   count - FAILED_SHOWN);
	puts(count > 0 ? "" : "  nothing failed\n");
	srv_view_drop(view);
}

/* ---- r */

static void on_looked(srv_control *control, int status, hob_str body)
{
	serve_keys *keys = control->user;
	char time[32];
	keys->looking = false;
	if (status != 200)
		return; /* it stops, or takes too long */
	cJSON *answer = cJSON_ParseWithLength(body.data, body.len);
	int failed = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(answer, "failed"));
	srv_text_duration(uv_hrtime() - keys->look_began_ns, time);
	if (failed > 0)
		srv_log(SRV_LOG_INFO, "rescan", "done in %s; %d failed: press f for the list", time, failed);
	else
		srv_log(SRV_LOG_INFO, "rescan", "done in %s; everything is up to date", time);
	cJSON_Delete(answer);
}

static void look_again(serve_keys *keys)
{
	if (keys->looking)
		return;
	srv_control_port port = srv_engine_port(keys->engine);
	keys->looking = true;
	keys->look_began_ns = uv_hrtime();
	keys->look =
		(srv_control){.kind = SRV_CONTROL_SYNC, .timeout_ms = LOOK_MS, .user = keys, .answer = on_looked};
	srv_log(SRV_LOG_INFO, "rescan", "looking at every file again");
	port.post(port.user, &keys->look);
}

/* ---- */

static void on_key(void *user, char key)
{
	serve_keys *keys = user;
	char page[300];
	srv_log_status(NULL); /* drawn again below what the key shows */
	switch (key) {
	case 0:
		keys->quit(keys->user, "the terminal is gone");
		return;
	case 'q':
		keys->quit(keys->user, "as asked");
		return;
	case 'h':
	case '?':
		show_help();
		break;
	case 'o':
		srv_serve_child_open(keys->loop, keys->url);
		break;
	case 'u':
		srv_serve_child_page(keys->url, page);
		printf("\n  %s\n\n", page);
		break;
	case 'f':
		show_failed(keys);
		break;
	case 'r':
		look_again(keys);
		break;
	case '\n':
	case '\r':
		puts(""); /* separates what was from what comes */
		break;
	default:
		break;
	}
	fflush(stdout);
}

bool srv_serve_keys_begin(serve_keys *keys, uv_loop_t *loop, srv_engine *engine, srv_views *views,
						  const char *url, void (*quit)(void *user, const char *why), void *user)
{
	*keys =
		(serve_keys){.loop = loop, .engine = engine, .views = views, .url = url, .quit = quit, .user = user};
	return srv_keyboard_begin(&keys->keyboard, loop, on_key, keys);
}

void srv_serve_keys_end(serve_keys *keys)
{
	srv_keyboard_end(&keys->keyboard);
}

void srv_serve_keys_dump(srv_engine *engine, srv_views *views, const char *url)
{
	const srv_view *view = srv_views_take(views);
	srv_engine_counters *count = srv_engine_count(engine);
	hob_buf states = {0};
	for (uint32_t i = 0; i < SRV_STATE_COUNT; i++)
		if (view->states[i] > 0)
			hob_buf_printf(&states, ", %u %s", view->states[i], srv_state_name((srv_state)i));
	srv_log(SRV_LOG_INFO, "state", "hob %s at %s, rev %llu; %u asset%s%.*s", HOB_VERSION, url,
			(unsigned long long)view->rev, view->count, HOB_PLURAL(view->count),
			HOB_FMT(hob_buf_str(&states)));
	for (uint32_t i = 0; i < view->root_count; i++)
		srv_log(SRV_LOG_INFO, "state", "watching %.*s as %.*s (%s, %llu file%s)",
				HOB_FMT(view->roots[i].path), HOB_FMT(view->roots[i].name), view->roots[i].mode,
				(unsigned long long)view->roots[i].files, HOB_PLURAL(view->roots[i].files));
	srv_log(SRV_LOG_INFO, "state",
			"jobs: %llu wait, %llu run; since the start %llu cooked, %llu failed, %llu from the cache",
			(unsigned long long)count->queue_length, (unsigned long long)count->running,
			(unsigned long long)count->cooked, (unsigned long long)count->failed,
			(unsigned long long)count->hits);
	for (uint32_t i = 0; i < view->count; i++)
		if (view->assets[i]->state == SRV_COOKING)
			srv_log(SRV_LOG_INFO, "state", "cooking %.*s", HOB_FMT(view->assets[i]->full));
	hob_buf_release(&states);
	srv_view_drop(view);
}
