#include "owner.h"
#include "preflight.h"
#include "query.h"
#include "serve_config.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../config/ignore.h"
#include "../fs/clock.h"
#include "../fs/whole_path.h"
#include "../git/git_sources.h"
#include "../live/live.h"
#include "../log/causes.h"
#include "../log/log.h"
#include "../mirror/mirror.h"
#include "../query/questions.h"
#include "../service/service.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Reports to the service manager: ready, status, watchdog. */
typedef struct serve_notify {
	srv_service *service;
	srv_engine *engine;
	srv_views *views;
	uv_timer_t timer;
	bool ready;
	bool failed;	  /* the last reload failed; the status says so */
	char status[160]; /* as last reported */
} serve_notify;

/* Progress of long work on the terminal of `hob serve`: one line that is updated, and a summary at the end.
 *
 *     cooking  1,204 of 5,000 (24 %)  2,460 a minute  about 92 s left  3 failed  props/duck.glb
 *
 * For a few models, or if stderr is not a terminal, every model has a line of its own instead. */
typedef struct serve_progress {
	uv_timer_t timer;
	srv_engine *engine;
	srv_views *views;
	int64_t run;		/* start of the current run; 0: none */
	uint64_t began_rev; /* the view's revision at that time */
	bool began;
} serve_progress;

/* ---- the browser of --open */

typedef struct browser {
	uv_process_t process;
	char page[300];
} browser;

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_browser_exit(uv_process_t *process, int64_t status, int number)
{
	browser *b = process->data;
	if (status != 0 || number != 0)
		srv_log(SRV_LOG_WARNING, "open", "no browser could be started (xdg-open: code %d); open %s yourself",
				(int)status, b->page);
	uv_close((uv_handle_t *)process, on_closed);
}

static void open_page(uv_loop_t *loop, const char *url)
{
	if (strncmp(url, "unix:", 5) == 0) {
		srv_log(SRV_LOG_INFO, "open", "browsers do not know Unix sockets; listen on a port, too");
		return;
	}
	browser *b = hob_must(calloc(1, sizeof *b));
	snprintf(b->page, sizeof b->page, "%.290s/", url);
	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) {
		srv_log(SRV_LOG_INFO, "open", "there is no display here; the page is %s", b->page);
		free(b);
		return;
	}
	/* The daemon's own tunables are for its workers. */
	char program[] = "env", unset[] = "--unset=GLIBC_TUNABLES", opener[] = "xdg-open";
	char *args[] = {program, unset, opener, b->page, NULL};
	uv_process_options_t options = {
		.exit_cb = on_browser_exit, .file = program, .args = args, .flags = UV_PROCESS_DETACHED};
	b->process.data = b;
	if (uv_spawn(loop, &b->process, &options) != 0)
		on_browser_exit(&b->process, 127, 0);
	else
		uv_unref((uv_handle_t *)&b->process);
}

/* ---- the service manager */

/* A slow start is not a hung one: each tick asks for this much more time. */
enum { TICK_MS = 1000, START_EXTENDED_US = 60 * 1000 * 1000 };

static void put_counts(const srv_view *view, srv_engine *engine, hob_buf *out)
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
	hob_own_buf counts = {0};
	const srv_view *view = srv_views_take(n->views);
	put_counts(view, n->engine, &counts);
	srv_view_drop(view);
	snprintf(text, sizeof text, "%s%.*s", n->ready ? "" : "Scanning: ", HOB_FMT(hob_buf_str(&counts)));
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

static void notify_begin(serve_notify *n, uv_loop_t *loop, srv_service *service, srv_engine *engine,
						 srv_views *views)
{
	uint64_t due_ms = service->watchdog_us / 2000, tick = due_ms > 0 && due_ms < TICK_MS ? due_ms : TICK_MS;
	*n = (serve_notify){.service = service, .engine = engine, .views = views};
	uv_timer_init(loop, &n->timer);
	n->timer.data = n;
	if (service->notify_fd >= 0)
		uv_timer_start(&n->timer, on_tick, 0, tick);
}

static void notify_ready(serve_notify *n)
{
	n->ready = true;
	srv_service_tell(n->service, "READY=1");
	tell_status(n);
}

static void notify_reloading(serve_notify *n)
{
	srv_service_tell(n->service, "RELOADING=1\nMONOTONIC_USEC=%lld",
					 (long long)srv_clock_ns(CLOCK_MONOTONIC) / 1000);
}

static void notify_reloaded(serve_notify *n, const char *error)
{
	n->failed = error != NULL;
	n->status[0] = 0;
	if (!error)
		srv_service_tell(n->service, "READY=1");
	else
		srv_service_tell(n->service, "READY=1\nSTATUS=The former configuration stays: %s", error);
}

static void notify_stop(serve_notify *n)
{
	if (!n->timer.data)
		return;
	n->timer.data = NULL;
	srv_service_tell(n->service, "STOPPING=1\nSTATUS=Stopping");
	uv_close((uv_handle_t *)&n->timer, NULL);
}

/* ---- progress on the terminal */

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

static void draw(const serve_progress *progress, const srv_activity_run *run, const srv_view *view)
{
	char done[32], all[32], rate[32], time[32];
	uint64_t total = run->all_done + run->left, expected = srv_engine_count(progress->engine)->expected_ns;
	if (expected == 0 && run->per_minute > 0)
		expected = (uint64_t)((double)run->left / run->per_minute * 60e9);
	hob_own_buf line = {0};
	hob_buf_printf(&line, "cooking  %s of %s (%u %%)  %s a minute", grouped(run->all_done, done),
				   grouped(total, all), (unsigned)(run->all_done * 100 / total),
				   grouped((uint64_t)run->per_minute, rate));
	if (expected > 0)
		hob_buf_printf(&line, "  about %s left",
					   srv_text_duration((expected / 1000000000 + 1) * 1000000000, time));
	if (run->done[SRV_ACTIVITY_FAILED] > 0)
		hob_buf_printf(&line, "  %s failed", grouped(run->done[SRV_ACTIVITY_FAILED], done));
	hob_str name = {0};
	for (uint32_t i = 0; view->states[SRV_COOKING] > 0 && i < view->count && name.len == 0; i++)
		name = view->assets[i]->state == SRV_COOKING ? view->assets[i]->full : name;
	hob_buf_printf(&line, "%s%.*s", name.len > 0 ? "  " : "", HOB_FMT(name));
	srv_log_status(srv_cli_ended(&line));
}

static void tell_failed(const serve_progress *progress, const srv_view *view)
{
	srv_causes causes = {0};
	uint32_t rest = 0;
	for (uint32_t i = 0; i < view->count; i++) {
		const srv_view_asset *a = view->assets[i];
		if (a->error.len == 0 || a->rev <= progress->began_rev)
			continue;
		hob_own_json *error = cJSON_ParseWithLength(a->error.data, a->error.len);
		const char *known = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));
		const char *message = known ? known : "no reason is known";
		if (causes.count < CAUSES_SHOWN || srv_causes_has(&causes, "failed", hob_str_of(message)))
			srv_causes_log(&causes, SRV_LOG_ERROR, "failed", hob_str_of(message), "%.*s  %s",
						   HOB_FMT(a->full), message);
		else
			rest++;
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

static void progress_begin(serve_progress *progress, uv_loop_t *loop, srv_engine *engine, srv_views *views)
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

static void progress_end(serve_progress *progress)
{
	if (!progress->began)
		return;
	progress->began = false;
	srv_log_status(NULL);
	uv_close((uv_handle_t *)&progress->timer, NULL);
}

/* ---- the daemon */

enum { ROOTS_MAX = 256, EVENTS_KEPT = 16384 };

/* One struct per module; `serve` only connects them. */
typedef struct daemon_state {
	uv_loop_t loop;
	srv_store *store;
	srv_events *events;
	srv_views *views;
	srv_engine *engine, *ended; /* `ended`: closed, but still readable by the HTTP thread */
	srv_query *query;
	srv_mirrors *mirrors; /* NULL: no root is a mirror */
	srv_gits *gits;		  /* NULL: no root is a git repository */
	srv_git_options git_options[ROOTS_MAX / 2];
	int git_sources[ROOTS_MAX / 2]; /* index in the configuration; -1: from the command line */
	uint32_t git_count, first_git;	/* first_git: its root; two roots each follow one another */
	srv_http *http;
	pthread_t loop_thread;
	uv_signal_t signals[4];
	uint64_t began_ns;
	bool stopping;
	serve_options options;
	/* as at the start, but cook settings and values that serve_reload applies are updated */
	srv_config config;
	serve_upstream upstream;
	srv_service service;
	serve_notify notify;
	bool has_terminal; /* started in the foreground of a terminal; once that closes, SIGHUP stops it */
	serve_progress progress;
	srv_engine_root roots[ROOTS_MAX];
	int sources[ROOTS_MAX]; /* index in the configuration, by root; -1: from the command line */
	uint32_t root_count;
	srv_live *live; /* NULL: live models are off */
	uv_timer_t live_timer;
} daemon_state;

/* ---- roots */

/* Adds a root. Its folder may be missing: the cache may know it from an earlier run. */
static bool add_root(daemon_state *d, const char *dir, const char *wanted, int source, hob_error *err)
{
	hob_own char *whole = srv_whole_path(dir);
	int code = errno;
	const char *path = whole ? hob_arena_str(&d->config.arena, hob_str_of(whole)).data : NULL;
	struct stat info;
	if (!path || (stat(path, &info) == 0 && !S_ISDIR(info.st_mode)))
		return hob_fail(err, USAGE, "'%s' is not a folder that can be opened: %s", dir,
						strerror(path ? ENOTDIR : code));
	if (strcmp(path, "/") == 0)
		return hob_fail(err, USAGE,
						"'%s' is the whole system with its devices and processes, and is not watched; "
						"name the folder that holds the models",
						dir);
	if (d->root_count == ROOTS_MAX)
		return hob_fail(err, USAGE, "at most %d folders can be watched", ROOTS_MAX);
	const char *slash = strrchr(path, '/');
	const char *base = wanted[0] ? wanted : slash && slash[1] ? slash + 1 : "root";
	char name[256];
	snprintf(name, sizeof name, "%s", base);
	for (uint32_t i = 0, twin = 2; i < d->root_count; i++) {
		if (strcmp(d->roots[i].path, path) == 0 && !srv_config_are_profiles(name, d->roots[i].name))
			return hob_fail(
				err, USAGE,
				"the folder '%s' is given twice; a profile with other options is a source called '%s@NAME'",
				dir, d->roots[i].name);
		if (strcmp(d->roots[i].name, name) == 0) {
			snprintf(name, sizeof name, "%.200s-%u", base, twin++);
			i = (uint32_t)-1;
		}
	}
	srv_engine_root *root = &d->roots[d->root_count];
	d->sources[d->root_count++] = source;
	*root = (srv_engine_root){.name = hob_arena_str(&d->config.arena, hob_str_of(name)).data,
							  .path = path,
							  .settings = d->config.defaults};
	if (source >= 0) {
		root->include = d->config.sources[source].include;
		root->exclude = d->config.sources[source].exclude;
		root->settings = d->config.sources[source].settings;
	}
	return srv_ignore_read(&d->config.arena, root->path, root->exclude, &root->exclude, err);
}

/* Notes a git repository: its roots are added once the cache is open. */
static bool add_git(daemon_state *d, const char *repository, const char *folder, const char *name, int source,
					hob_error *err)
{
	hob_own char *path = srv_whole_path(repository);
	if (!path || d->git_count == HOB_COUNT_OF(d->git_options))
		return hob_fail(err, USAGE, "'%s' cannot be one of at most %d git repositories", repository,
						ROOTS_MAX / 2);
	const char *base = strrchr(path, '/') + 1;
	hob_str shown = hob_str_of(name[0] ? name : base);
	if (!name[0] && hob_str_ends_nocase(shown, HOB_STR(".git")) && shown.len > 4)
		shown.len -= 4;
	hob_arena *arena = &d->config.arena;
	srv_git_options *git = &d->git_options[d->git_count];
	*git = (srv_git_options){.name = hob_arena_str(arena, shown).data,
							 .repository = hob_arena_str(arena, hob_str_of(path)).data,
							 .folder = hob_arena_str(arena, hob_str_of(folder ? folder : "")).data,
							 .refs = source < 0 ? NULL : d->config.sources[source].refs,
							 .lfs = source < 0 ? NULL : d->config.sources[source].lfs,
							 .token = source < 0 ? NULL : d->config.sources[source].lfs_token};
	if (!git->name || !git->repository || !git->folder)
		return hob_fail(err, MEMORY, "no memory left for a git repository");
	if (git->name[0] == '.' || git->name[0] == 0 || strcmp(git->name, "objects") == 0 ||
		strcmp(git->name, "incoming") == 0 || strlen(git->name) > 200)
		return hob_fail(err, USAGE, "a git repository cannot be called '%s'; give it a 'name' in hob.json",
						git->name);
	for (uint32_t i = 0; i < d->git_count; i++)
		if (strcmp(d->git_options[i].name, git->name) == 0)
			return hob_fail(err, USAGE, "two git repositories are called '%s'; give one a 'name' in hob.json",
							git->name);
	d->git_sources[d->git_count++] = source;
	return true;
}

/* DIR, or git:REPOSITORY#FOLDER. */
static bool add_operand(daemon_state *d, char *operand, hob_error *err)
{
	if (strncmp(operand, "git:", 4) != 0)
		return add_root(d, operand, "", -1, err);
	char *folder = strchr(operand, '#');
	if (folder)
		*folder++ = 0;
	return add_git(d, operand + 4, folder, "", -1, err);
}

static bool add_roots(daemon_state *d, char **operands, hob_error *err)
{
	bool ok = true;
	for (int i = 0; i < d->options.operands && ok; i++)
		ok = add_operand(d, operands[i], err);
	for (uint32_t i = 0; d->options.operands == 0 && i < d->config.source_count && ok; i++) {
		const srv_config_source *source = &d->config.sources[i];
		if (source->git) {
			ok = add_git(d, source->git, source->path, source->name, (int)i, err);
			continue;
		}
		if (d->config.sources[i].mirror)
			mkdir(d->config.sources[i].path, 0777); /* a failure is reported when the folder is opened */
		ok = add_root(d, d->config.sources[i].path, d->config.sources[i].name, (int)i, err);
	}
	return ok && (d->root_count + d->git_count > 0 || add_root(d, ".", "", -1, err));
}

/* ---- git repositories */

/* Globs of NAME~commits: each is below the folder of a commit. */
static bool move_globs(daemon_state *d, const char *const **globs, hob_error *err)
{
	uint32_t count = 0;
	while (*globs && (*globs)[count])
		count++;
	const char **moved = *globs ? HOB_NEW(&d->config.arena, const char *, count + 1) : NULL;
	bool ok = moved || !*globs;
	for (uint32_t i = 0; i < count && ok; i++) {
		moved[i] = hob_arena_printf(&d->config.arena, "*/%s", (*globs)[i]).data;
		ok = moved[i] != NULL;
	}
	*globs = moved;
	return ok || hob_fail(err, MEMORY, "no memory left for patterns");
}

/* Makes the folders of the repositories, and adds two roots for each. */
static bool open_gits(daemon_state *d, int sandbox, hob_error *err)
{
	d->first_git = d->root_count;
	for (uint32_t i = 0; i < d->git_count; i++)
		d->git_options[i].sandbox = sandbox;
	if (d->git_count > 0 && !srv_gits_open(srv_config_text(&d->config, SRV_CONFIG_cache), d->git_options,
										   d->git_count, &d->gits, err))
		return false;
	for (uint32_t i = 0; i < 2 * d->git_count; i++) {
		hob_own_buf name = {0};
		hob_buf_printf(&name, "%s%s", d->git_options[i / 2].name, i % 2 ? SRV_GIT_COMMITS : "");
		const char *wanted = srv_cli_ended(&name);
		bool ok = add_root(d, srv_gits_folder(d->gits, i / 2, i % 2), wanted, d->git_sources[i / 2], err);
		srv_engine_root *root = ok ? &d->roots[d->root_count - 1] : NULL;
		if (ok && strcmp(root->name, wanted) != 0)
			ok = hob_fail(err, USAGE, "a folder is called '%s', as a git repository is; give one a 'name'",
						  wanted);
		if (!ok)
			return false;
		/* A commit's own .hobignore is that of the tip: patterns belong to roots. */
		root->still = i % 2;
		if (root->still) {
			root->exclude = d->roots[d->root_count - 2].exclude;
			root->include = d->roots[d->root_count - 2].include;
		}
		if (root->still && (!move_globs(d, &root->include, err) || !move_globs(d, &root->exclude, err)))
			return false;
	}
	return true;
}

/* ---- mirror roots */

static bool open_mirrors(daemon_state *d, hob_error *err)
{
	static srv_mirror_folder folders[ROOTS_MAX];
	uint32_t count = 0;
	for (uint32_t i = 0; i < d->root_count; i++)
		if (d->sources[i] >= 0 && d->config.sources[d->sources[i]].mirror)
			folders[count++] = (srv_mirror_folder){d->roots[i].name, d->roots[i].path};
	return count == 0 || srv_mirrors_new(d->store, folders, count, HOB_VERSION, &d->mirrors, err);
}

/* ---- live models */

static void drop_idle(uv_timer_t *timer)
{
	daemon_state *d = timer->data;
	uint32_t dropped = srv_live_drop_idle(d->live, time(NULL), SRV_LIVE_IDLE_S);
	if (dropped > 0)
		srv_log(SRV_LOG_INFO, "live", "%u model%s dropped: nothing new came for an hour", dropped,
				HOB_PLURAL(dropped));
}

/* Opens the live models; called after the cache is locked and before the roots are watched. */
static bool open_live(daemon_state *d, hob_error *err)
{
	if (!srv_config_flag(&d->config, SRV_CONFIG_live))
		return true;
	for (uint32_t i = 0; i < d->root_count; i++)
		if (strcmp(d->roots[i].name, SRV_LIVE_ROOT) == 0)
			return hob_fail(err, USAGE,
							"the folder '%s' is called '" SRV_LIVE_ROOT
							"', as the models of --live are: give it another "
							"name in 'sources' of hob.json",
							d->roots[i].path);
	if (!srv_live_open(srv_config_text(&d->config, SRV_CONFIG_cache), &d->live, err) ||
		!add_root(d, srv_live_folder(d->live), SRV_LIVE_ROOT, -1, err))
		return false;
	uv_timer_init(&d->loop, &d->live_timer);
	d->live_timer.data = d;
	uv_timer_start(&d->live_timer, drop_idle, 60000, 60000);
	return true;
}

/* ---- SIGHUP: applies changes that are possible at run time, and names the others */

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_globs(const char *const *a, const char *const *b)
{
	uint32_t i = 0;
	while (a && b && a[i] && b[i] && strcmp(a[i], b[i]) == 0)
		i++;
	return (a ? a[i] : NULL) == (b ? b[i] : NULL);
}

static bool same_sources(const srv_config *a, const srv_config *b)
{
	bool same = a->source_count == b->source_count;
	for (uint32_t i = 0; same && i < a->source_count; i++)
		same = same_text(a->sources[i].path, b->sources[i].path) &&
			   same_text(a->sources[i].name, b->sources[i].name) &&
			   a->sources[i].mirror == b->sources[i].mirror &&
			   same_text(a->sources[i].git, b->sources[i].git) &&
			   same_text(a->sources[i].lfs, b->sources[i].lfs) &&
			   same_text(a->sources[i].lfs_token, b->sources[i].lfs_token) &&
			   same_globs(a->sources[i].refs, b->sources[i].refs) &&
			   same_globs(a->sources[i].include, b->sources[i].include) &&
			   same_globs(a->sources[i].exclude, b->sources[i].exclude);
	return same;
}

static void apply(daemon_state *d, const srv_config *fresh)
{
	hob_settings settings[ROOTS_MAX];
	for (uint32_t i = 0; i < d->root_count; i++)
		settings[i] = d->sources[i] < 0 ? fresh->defaults : fresh->sources[d->sources[i]].settings;
	srv_engine_set_settings(d->engine, settings);
	srv_store_limit(d->store, srv_config_number(fresh, SRV_CONFIG_max_size));
	srv_log_init(srv_serve_log_level(fresh),
				 strcmp(srv_config_text(&d->config, SRV_CONFIG_log_format), "json") == 0);
}

static void reload(daemon_state *d)
{
	srv_config fresh;
	hob_error error = {0};
	notify_reloading(&d->notify);
	if (!srv_serve_options_load(&d->options, &fresh, &error)) {
		srv_log(SRV_LOG_ERROR, "configuration", "%s; the former one stays", error.context);
		notify_reloaded(&d->notify, error.context);
		return;
	}
	if (d->options.operands == 0 && !same_sources(&d->config, &fresh)) {
		srv_log(SRV_LOG_WARNING, "configuration", "other 'sources' take a restart; nothing was changed");
		notify_reloaded(&d->notify, "other 'sources' take a restart");
		srv_config_release(&fresh);
		return;
	}
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++)
		if (key != SRV_CONFIG_max_size && key != SRV_CONFIG_log_level &&
			!same_text(d->config.value[key], fresh.value[key]))
			srv_log(SRV_LOG_WARNING, "configuration", "'%s' takes a restart", srv_config_table[key].path);
	apply(d, &fresh);
	srv_config_release(&fresh);
	notify_reloaded(&d->notify, NULL);
	srv_log(SRV_LOG_INFO, "configuration", "read again: %s",
			d->config.file ? d->config.file : "there is no hob.json");
}

/* ---- the banner */

typedef struct paint {
	const char *bold, *dim, *accent, *bad, *off;
} paint;

static paint choose_paint(void)
{
	static const paint colors = {"\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[31m", "\x1b[0m"},
					   plain = {"", "", "", "", ""};
	return srv_color_wanted(1) ? colors : plain;
}

static void print_addresses(const srv_http *http, const paint *p)
{
	const char *chosen = srv_http_url(http), *url;
	const char *slash = strncmp(chosen, "unix:", 5) == 0 ? "" : "/";
	printf("  %s➜%s  Open      %s%s%s%s\n", p->accent, p->off, p->accent, chosen, slash, p->off);
	for (uint32_t i = 0; (url = srv_http_url_at(http, i)); i++)
		if (strcmp(url, chosen) != 0)
			printf("  %s➜%s  also at   %s\n", p->accent, p->off, url);
}

/* Prints the name of a root if it differs from its folder's: a profile, the second of two folders with one
 * name, a name in hob.json. */
static void print_roots(const daemon_state *d, const srv_view *view, const paint *p)
{
	for (uint32_t i = 0; i < d->git_count; i++) {
		hob_own_buf text = {0};
		const srv_view_root *root = &view->roots[d->first_git + 2 * i];
		srv_gits_describe(d->gits, i, &text);
		printf("  %s➜%s  Git       %.*s  as %.*s  %s(%llu file%s)%s\n", p->accent, p->off,
			   HOB_FMT(hob_buf_str(&text)), HOB_FMT(root->name), p->dim, (unsigned long long)root->files,
			   HOB_PLURAL(root->files), p->off);
	}
	for (uint32_t i = 0; i < view->root_count; i++) {
		const srv_view_root *root = &view->roots[i];
		if (i >= d->first_git && i < d->first_git + 2 * d->git_count)
			continue;
		if (root->missing_since_ms) {
			printf("  %s➜  Missing   %.*s%s  %s(%.*s; its last good versions are served)%s\n", p->bad,
				   HOB_FMT(root->path), p->off, p->dim, HOB_FMT(root->note), p->off);
			continue;
		}
		hob_own_buf ending = {0};
		hob_buf_printf(&ending, "/%.*s", HOB_FMT(root->name));
		bool plain = hob_str_ends_nocase(root->path, hob_buf_str(&ending));
		printf("  %s➜%s  Watching  %.*s%s%.*s  %s(%.*s, %llu file%s)%s\n", p->accent, p->off,
			   HOB_FMT(root->path), plain ? "" : "  as ", plain ? 0 : (int)root->name.len, root->name.data,
			   p->dim, HOB_FMT(root->poll_ms > 0 ? root->note : hob_str_of(root->mode)),
			   (unsigned long long)root->files, HOB_PLURAL(root->files), p->off);
	}
}

static void print_cache(const daemon_state *d, const paint *p)
{
	char used[32], most[32] = "";
	srv_store_usage usage;
	uint64_t limit = srv_config_number(&d->config, SRV_CONFIG_max_size);
	srv_store_measure(d->store, &usage);
	if (limit > 0)
		srv_text_bytes(limit, most);
	printf("  %s➜%s  Cache     %s  %s(%s%s%s)%s\n", p->accent, p->off,
		   srv_config_text(&d->config, SRV_CONFIG_cache), p->dim, srv_text_bytes(usage.blob_bytes, used),
		   limit > 0 ? " of " : ", no limit", most, p->off);
}

static bool logs_json(const daemon_state *d)
{
	const char *format = srv_config_text(&d->config, SRV_CONFIG_log_format);
	if (!format)
		format = d->options.texts[SRV_CONFIG_log_format];
	return format && strcmp(format, "json") == 0;
}

static void begin_to_serve(daemon_state *d)
{
	if (!logs_json(d))
		printf("\n");
	fflush(stdout);
	notify_ready(&d->notify);
	if (d->options.open)
		open_page(&d->loop, srv_http_url(d->http));
}

static void print_banner(const daemon_state *d, const srv_view *view, const paint *p, const char *counts)
{
	char time[32];
	srv_text_duration(uv_hrtime() - d->began_ns, time);
	if (logs_json(d)) {
		srv_log(SRV_LOG_INFO, "ready", "%s  in %s (%s)", srv_http_url(d->http), time, counts);
		return;
	}
	printf("\n  %shob %s%s   ready in %s   (%s)\n\n", p->bold, HOB_VERSION, p->off, time, counts);
	print_addresses(d->http, p);
	print_roots(d, view, p);
	print_cache(d, p);
	printf("  %s➜%s  Sandbox   %s%s%s\n", p->accent, p->off, p->dim, srv_engine_sandbox(d->engine), p->off);
}

static void on_ready(void *user)
{
	daemon_state *d = user;
	const srv_view *view = srv_views_take(d->views);
	const paint p = choose_paint();
	hob_own_buf counts = {0};
	put_counts(view, d->engine, &counts);
	print_banner(d, view, &p, srv_cli_ended(&counts));
	srv_view_drop(view);
	if (d->stopping)
		return;
	begin_to_serve(d);
	progress_begin(&d->progress, &d->loop, d->engine, d->views);
}

/* ---- stopping: drain requests, close the engine, then the modules that it used */

static void on_engine_closed(void *user)
{
	daemon_state *d = user;
	d->ended = d->engine;
	d->engine = NULL;
	notify_stop(&d->notify);
	for (size_t i = 0; i < HOB_COUNT_OF(d->signals); i++)
		uv_close((uv_handle_t *)&d->signals[i], NULL);
	if (d->live_timer.data)
		uv_close((uv_handle_t *)&d->live_timer, NULL);
}

static void stop(void *user, const char *why)
{
	daemon_state *d = user;
	if (d->stopping)
		return;
	d->stopping = true;
	progress_end(&d->progress);
	notify_stop(&d->notify);
	srv_log(SRV_LOG_INFO, "stopping", "(%s); press Ctrl-C again to stop at once", why);
	srv_http_drain(d->http);
	srv_engine_close(d->engine, on_engine_closed, d);
}

/* Logs the state of the daemon: folders, queue, running cooks. */
static void log_state(const daemon_state *d)
{
	const srv_view *view = srv_views_take(d->views);
	srv_engine_counters *count = srv_engine_count(d->engine);
	hob_own_buf counts = {0};
	put_counts(view, d->engine, &counts);
	srv_log(SRV_LOG_INFO, "state", "hob %s at %s, rev %llu; %u asset%s, %.*s", HOB_VERSION,
			srv_http_url(d->http), (unsigned long long)view->rev, view->count, HOB_PLURAL(view->count),
			HOB_FMT(hob_buf_str(&counts)));
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
	srv_view_drop(view);
}

static void on_signal(uv_signal_t *handle, int number)
{
	daemon_state *d = handle->data;
	if (number == SIGUSR1 || (number == SIGHUP && !(d->has_terminal && tcgetpgrp(0) < 0))) {
		if (!d->stopping && number == SIGHUP)
			reload(d);
		else if (!d->stopping)
			log_state(d);
	} else if (d->stopping && number != SIGHUP) {
		srv_log(SRV_LOG_WARNING, "stopping", "at once");
		_exit(EXIT_INTERRUPTED);
	} else {
		stop(d, number == SIGINT ? "interrupted" : number == SIGHUP ? "the terminal is gone" : "SIGTERM");
	}
}

/* ---- the log as events, for clients that subscribe */

/* Publishes a log line. Only the loop thread may: lines of other threads appear only on the terminal. */
static void publish_line(void *user, srv_log_level level, const char *verb, const char *text)
{
	daemon_state *d = user;
	if (!pthread_equal(pthread_self(), d->loop_thread))
		return;
	hob_own_buf data = {0};
	hob_json_object(&data, HOB_JSON_TIME("time", srv_clock_ms(CLOCK_REALTIME)),
					HOB_JSON("level", srv_log_level_name(level)), HOB_JSON("event", verb),
					HOB_JSON("message", text));
	srv_events_publish(d->events, "log", (hob_str){0}, hob_buf_str(&data));
}

/* ---- start */

/* Numbers of this run must be above all numbers of earlier runs, including transient events, which are not
 * stored. */
static uint64_t first_seq(srv_store *store)
{
	uint64_t ms = (uint64_t)srv_clock_ms(CLOCK_REALTIME), rev = srv_store_last_rev(store);
	return ms > rev ? ms : rev;
}

static void print_config(void *user, hob_buf *out)
{
	srv_config_print(user, out);
}

static void use_passed_sockets(daemon_state *d, srv_http_options *http)
{
	static int fds[SRV_SERVICE_SOCKETS_MAX];
	for (uint32_t i = 0; i < d->service.socket_count; i++) {
		const srv_service_socket *passed = &d->service.sockets[i];
		fds[i] = passed->fd;
		srv_log(SRV_LOG_INFO, "listening", "on a socket of the service manager%s%s, not on server.listen",
				passed->name[0] ? ": " : "", passed->name);
	}
	http->sockets = fds;
	http->socket_count = d->service.socket_count;
}

/* Adds the owner of the cache to the error. Always false. */
static bool name_owner(const daemon_state *d, hob_error *err)
{
	cli_owner owner;
	const char *cache = srv_config_text(&d->config, SRV_CONFIG_cache);
	return srv_owner_of_cache(cache, &owner) &&
		   hob_fail(
			   err, LOCKED,
			   "another Hob (process %ld) serves the cache %.200s at %.200s: 'hob open' shows its page, 'hob "
			   "stop' ends it; or choose another folder with --cache",
			   owner.pid, cache, owner.url);
}

/* If the user chose no address, tries others: 7780 is often taken by another folder's daemon. */
static bool start_http(daemon_state *d, srv_http_options *http, const srv_http_sources *sources,
					   hob_error *err)
{
	enum { FIRST = 7780, MOST = 20 };
	bool chosen = d->config.origin[SRV_CONFIG_listen] != SRV_CONFIG_DEFAULT || http->socket_count > 0;
	bool ok = srv_http_start(http, sources, &d->http, err);
	char address[32];
	for (int i = 1; !ok && !chosen && err->code == HOB_ERR_LOCKED && i < MOST; i++) {
		snprintf(address, sizeof address, "127.0.0.1:%d", FIRST + i);
		http->listen = address;
		ok = srv_http_start(http, sources, &d->http, err);
		if (ok)
			srv_log(SRV_LOG_INFO, "listening", "on port %d; %d is in use by another program", FIRST + i,
					FIRST);
	}
	if (ok)
		srv_owner_note(srv_config_text(&d->config, SRV_CONFIG_cache), srv_http_url(d->http));
	return ok;
}

static bool start(daemon_state *d, srv_engine_options *engine, hob_error *err)
{
	bool rebuilt = false;
	srv_http_options http;
	srv_serve_http_options(&d->config, &http);
	use_passed_sockets(d, &http);
	srv_store_options store = {.max_bytes = srv_config_number(&d->config, SRV_CONFIG_max_size),
							   .pack_max = srv_config_number(&d->config, SRV_CONFIG_pack_below)};
	if (!srv_store_open(srv_config_text(&d->config, SRV_CONFIG_cache), &store, &d->store, &rebuilt, err))
		return err->code == HOB_ERR_LOCKED && name_owner(d, err);
	if (rebuilt)
		srv_log(SRV_LOG_WARNING, "cache",
				"the index was damaged and was rebuilt; nothing has to be cooked again");
	if (srv_store_set_aside(d->store) > 0)
		srv_log(SRV_LOG_WARNING, "cache",
				"%u packs were no files and are called NAME.wrong-1 now; delete them",
				srv_store_set_aside(d->store));
	if (!open_gits(d, (int)engine->pool.sandbox, err) || !open_live(d, err))
		return false;
	engine->root_count = d->root_count;
	d->events = srv_events_new(srv_store_epoch(d->store), first_seq(d->store), EVENTS_KEPT);
	d->views = srv_views_new();
	if (!d->events || !d->views)
		return hob_fail(err, MEMORY, "no memory left to start");
	d->loop_thread = pthread_self();
	srv_log_listen(publish_line, d);
	srv_engine_callbacks callbacks = {d, on_ready};
	if (!srv_engine_new(&d->loop, engine, d->store, d->events, d->views, &callbacks, &d->engine, err))
		return false;
	notify_begin(&d->notify, &d->loop, &d->service, d->engine, d->views);
	if (!srv_query_new(d->store, d->views, &d->query, err) || !open_mirrors(d, err) ||
		(d->gits && !srv_gits_start(d->gits, srv_engine_port(d->engine), d->views, err)))
		return false;
	srv_http_sources sources = {.views = d->views,
								.events = d->events,
								.store = d->store,
								.live = d->live,
								.control = srv_engine_port(d->engine),
								.query = srv_query_port(d->query),
								.gits = d->gits ? srv_gits_port(d->gits) : (srv_control_port){0},
								.mirrors = d->mirrors ? srv_mirrors_port(d->mirrors) : (srv_control_port){0},
								.user = d->engine,
								.metrics = srv_engine_metrics,
								.stats = srv_engine_stats,
								.farm = srv_engine_farm,
								.input_bytes = srv_engine_input_bytes,
								.workers_error = srv_engine_workers_error,
								.index_error = srv_engine_index_error,
								.disk_error = srv_engine_disk_error,
								.notes = srv_engine_notes,
								.config = print_config,
								.config_user = &d->config,
								.schema = srv_config_schema,
								.pulls = engine->upstream != NULL,
								.version = HOB_VERSION};
	/* Started before HTTP: a signal then always stops cleanly, and clients get their answers. */
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
	for (size_t i = 0; i < HOB_COUNT_OF(d->signals); i++)
		uv_signal_start(&d->signals[i], on_signal, numbers[i]);
	return start_http(d, &http, &sources, err);
}

/* Raises the limit of descriptors: each connection needs one, and most systems allow 1024 by default and far
 * more on request. */
static void raise_file_limit(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static void release(daemon_state *d)
{
	if (d->http)
		srv_owner_forget(srv_config_text(&d->config, SRV_CONFIG_cache));
	srv_http_stop(d->http);
	srv_log_listen(NULL, NULL);
	srv_query_close(d->query);
	srv_mirrors_close(d->mirrors);
	srv_gits_close(d->gits);
	srv_engine_free(d->ended);
	srv_views_free(d->views);
	srv_events_free(d->events);
	srv_live_close(d->live);
	srv_store_close(d->store);
	srv_config_release(&d->config);
	srv_service_end(&d->service);
}

/* Prints the error that ends the daemon; with --log json this line is JSON, too. */
static void tell_failure(const daemon_state *d, const hob_error *error)
{
	if (logs_json(d))
		srv_log(SRV_LOG_ERROR, "failed", "%s", error->context);
	else
		srv_cli_fail("hob serve", error, EXIT_USAGE);
}

static int run_serve(int argc, char **argv)
{
	static daemon_state d;
	hob_error error = {0};
	bool passed = srv_service_begin(&d.service, &error);
	srv_serve_options_parse(&d.options, &srv_cli_serve, argc, argv);
	if (!passed || !srv_serve_options_load(&d.options, &d.config, &error) ||
		!add_roots(&d, argv + 1, &error)) {
		bool json = logs_json(&d);
		srv_log_init(SRV_LOG_INFO, json);
		if (json)
			tell_failure(&d, &error);
		release(&d);
		return json ? EXIT_USAGE : srv_cli_usage_error(&srv_cli_serve, "%s", error.context);
	}
	srv_engine_options engine;
	srv_serve_engine_options(&d.config, &engine);
	if (!srv_serve_upstream_options(&d.config, &d.upstream, &error)) {
		release(&d);
		return srv_cli_usage_error(&srv_cli_serve, "%s", error.context);
	}
	engine.upstream = d.upstream.url;
	engine.upstream_token = d.upstream.token;
	engine.push = d.upstream.push;
	engine.farm = d.upstream.has_farm ? &d.upstream.farm : NULL;
	engine.cache = srv_config_text(&d.config, SRV_CONFIG_cache);
	engine.roots = d.roots;
	srv_log_init(srv_serve_log_level(&d.config), logs_json(&d));
	signal(SIGPIPE, SIG_IGN);
	d.has_terminal = tcgetpgrp(0) == getpgrp();
	d.began_ns = uv_hrtime();
	raise_file_limit();
	if (!srv_cli_loop_init(&d.loop, &error)) {
		tell_failure(&d, &error);
		release(&d);
		return EXIT_INTERNAL;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(d.signals); i++) {
		uv_signal_init(&d.loop, &d.signals[i]);
		d.signals[i].data = &d;
	}
	if (!start(&d, &engine, &error)) {
		tell_failure(&d, &error);
		if (d.engine)
			srv_engine_close(d.engine, on_engine_closed, &d);
		else
			on_engine_closed(&d);
		uv_run(&d.loop, UV_RUN_DEFAULT);
		release(&d);
		return error.code == HOB_ERR_INTERNAL || error.code == HOB_ERR_MEMORY ? EXIT_INTERNAL : EXIT_USAGE;
	}
	uv_run(&d.loop, UV_RUN_DEFAULT);
	release(&d);
	uv_loop_close(&d.loop);
	srv_log(SRV_LOG_INFO, "stopped", "cleanly; everything that was published is kept");
	return EXIT_GOOD;
}

const cli_command srv_cli_serve = {
	"serve", "[DIR...]", "watch folders, cook on save, serve the results",
	"Watches each DIR (default: the current folder) for 3D models, cooks new and changed ones, and serves "
	"the results over HTTP. Nothing outside these folders is ever read. The cache keeps results by the "
	"content of their inputs.\n"
	"\n"
	"Ctrl-C stops it; nothing is lost. SIGHUP reloads the configuration, SIGUSR1 logs what the daemon is "
	"doing.\n"
	"\n"
	"Examples:\n"
	"  hob serve art/ --open\n"
	"  hob serve props/ characters/ --listen 127.0.0.1:8000 --cache /var/cache/hob\n",
	run_serve};
