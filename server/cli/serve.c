#include "owner.h"
#include "query.h"
#include "serve_child.h"
#include "serve_config.h"
#include "serve_notify.h"
#include "serve_progress.h"
#include "preflight.h"

#include "../config/ignore.h"
#include "../fs/whole_path.h"
#include "../git/git_sources.h"
#include "../live/live.h"
#include "../mirror/mirror.h"
#include "../query/questions.h"
#include "../../core/base/json_write.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROOTS_MAX = 256, EVENTS_KEPT = 16384, DRAIN_MS = 10000 };

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
	char *path = srv_whole_path(dir);
	struct stat info;
	if (!path || (stat(path, &info) == 0 && !S_ISDIR(info.st_mode))) {
		int code = path ? ENOTDIR : errno;
		free(path);
		return hob_fail(err, USAGE, "'%s' is not a folder that can be opened: %s", dir, strerror(code));
	}
	if (strcmp(path, "/") == 0) {
		free(path);
		return hob_fail(err, USAGE,
						"'%s' is the whole system with its devices and processes, and is not watched; "
						"name the folder that holds the models",
						dir);
	}
	if (d->root_count == ROOTS_MAX) {
		free(path);
		return hob_fail(err, USAGE, "at most %d folders can be watched", ROOTS_MAX);
	}
	const char *slash = strrchr(path, '/');
	const char *base = wanted[0] ? wanted : slash && slash[1] ? slash + 1 : "root";
	char name[256];
	snprintf(name, sizeof name, "%s", base);
	for (uint32_t i = 0, twin = 2; i < d->root_count; i++) {
		if (strcmp(d->roots[i].path, path) == 0 && !srv_config_are_profiles(name, d->roots[i].name)) {
			free(path);
			return hob_fail(
				err, USAGE,
				"the folder '%s' is given twice; a profile with other options is a source called '%s@NAME'",
				dir, d->roots[i].name);
		}
		if (strcmp(d->roots[i].name, name) == 0) {
			snprintf(name, sizeof name, "%.200s-%u", base, twin++);
			i = (uint32_t)-1;
		}
	}
	srv_engine_root *root = &d->roots[d->root_count];
	d->sources[d->root_count++] = source;
	*root = (srv_engine_root){.name = strdup(name), .path = path, .settings = d->config.defaults};
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
	char *path = srv_whole_path(repository);
	if (!path || d->git_count == HOB_COUNT_OF(d->git_options)) {
		free(path);
		return hob_fail(err, USAGE, "'%s' cannot be one of at most %d git repositories", repository,
						ROOTS_MAX / 2);
	}
	const char *base = strrchr(path, '/') + 1;
	hob_str shown = hob_str_of(name[0] ? name : base);
	if (!name[0] && hob_str_ends_nocase(shown, HOB_STR(".git")) && shown.len > 4)
		shown.len -= 4;
	hob_arena *arena = &d->config.arena;
	srv_git_options *git = &d->git_options[d->git_count];
	*git = (srv_git_options){.name = hob_arena_str(arena, shown).data,
							 .repository = hob_arena_str(arena, hob_str_of(path)).data,
							 .folder = hob_arena_str(arena, hob_str_of(folder ? folder : "")).data,
							 .refs = source < 0 ? NULL : d->config.sources[source].refs};
	free(path);
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
		hob_buf name = {0};
		hob_buf_printf(&name, "%s%s", d->git_options[i / 2].name, i % 2 ? SRV_GIT_COMMITS : "");
		hob_buf_put(&name, "", 1);
		bool ok = !name.failed && add_root(d, srv_gits_folder(d->gits, i / 2, i % 2), (char *)name.data,
										   d->git_sources[i / 2], err);
		srv_engine_root *root = ok ? &d->roots[d->root_count - 1] : NULL;
		if (ok && strcmp(root->name, (char *)name.data) != 0)
			ok = hob_fail(err, USAGE, "a folder is called '%s', as a git repository is; give one a 'name'",
						  (char *)name.data);
		hob_buf_release(&name);
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
	srv_serve_notify_reloading(&d->notify);
	if (!srv_serve_options_load(&d->options, &fresh, &error)) {
		srv_log(SRV_LOG_ERROR, "configuration", "%s; the former one stays", error.context);
		srv_serve_notify_reloaded(&d->notify, error.context);
		return;
	}
	if (d->options.operands == 0 && !same_sources(&d->config, &fresh)) {
		srv_log(SRV_LOG_WARNING, "configuration", "other 'sources' take a restart; nothing was changed");
		srv_serve_notify_reloaded(&d->notify, "other 'sources' take a restart");
		srv_config_release(&fresh);
		return;
	}
	for (srv_config_key key = 0; key < SRV_CONFIG_COUNT; key++)
		if (key != SRV_CONFIG_max_size && key != SRV_CONFIG_log_level &&
			!same_text(d->config.value[key], fresh.value[key]))
			srv_log(SRV_LOG_WARNING, "configuration", "'%s' takes a restart", srv_config_table[key].path);
	apply(d, &fresh);
	srv_config_release(&fresh);
	srv_serve_notify_reloaded(&d->notify, NULL);
	srv_log(SRV_LOG_INFO, "configuration", "read again: %s",
			d->config.file ? d->config.file : "there is no hob.json");
}

/* ---- the banner */

static uint64_t wall_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
	return uv_hrtime();
}

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
		hob_buf text = {0};
		const srv_view_root *root = &view->roots[d->first_git + 2 * i];
		srv_gits_describe(d->gits, i, &text);
		printf("  %s➜%s  Git       %.*s  as %.*s  %s(%llu file%s)%s\n", p->accent, p->off,
			   HOB_FMT(hob_buf_str(&text)), HOB_FMT(root->name), p->dim, (unsigned long long)root->files,
			   HOB_PLURAL(root->files), p->off);
		hob_buf_release(&text);
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
		hob_buf ending = {0};
		hob_buf_printf(&ending, "/%.*s", HOB_FMT(root->name));
		bool plain = hob_str_ends_nocase(root->path, hob_buf_str(&ending));
		hob_buf_release(&ending);
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
	const char *url = srv_http_url(d->http);
	if (!logs_json(d))
		printf("\n");
	fflush(stdout);
	srv_serve_notify_ready(&d->notify);
	if (d->options.open)
		srv_serve_child_open(&d->loop, url);
	if (d->options.once_ready)
		srv_serve_child_run(&d->loop, d->options.once_ready, url);
}

static void print_banner(const daemon_state *d, const srv_view *view, const paint *p, const char *counts)
{
	char time[32];
	srv_text_duration(now_ns() - d->began_ns, time);
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
	hob_buf counts = {0};
	srv_serve_counts(view, d->engine, &counts);
	print_banner(d, view, &p, srv_cli_ended(&counts));
	hob_buf_release(&counts);
	srv_view_drop(view);
	if (d->stopping)
		return;
	begin_to_serve(d);
	srv_serve_progress_begin(&d->progress, &d->loop, d->engine, d->views);
}

/* ---- stopping: drain requests, close the engine, then the modules that it used */

static void on_engine_closed(void *user)
{
	daemon_state *d = user;
	d->ended = d->engine;
	d->engine = NULL;
	srv_serve_notify_stop(&d->notify);
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
	srv_serve_progress_end(&d->progress);
	srv_serve_notify_stop(&d->notify);
	srv_log(SRV_LOG_INFO, "stopping", "(%s); press Ctrl-C again to stop at once", why);
	srv_http_drain(d->http);
	srv_engine_close(d->engine, on_engine_closed, d);
}

/* Logs the state of the daemon: folders, queue, running cooks. */
static void log_state(const daemon_state *d)
{
	const srv_view *view = srv_views_take(d->views);
	srv_engine_counters *count = srv_engine_count(d->engine);
	hob_buf counts = {0};
	srv_serve_counts(view, d->engine, &counts);
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
	hob_buf_release(&counts);
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
	hob_buf data = {0};
	hob_json_object(&data, HOB_JSON_TIME("time", (int64_t)(wall_ns() / 1000000)),
					HOB_JSON("level", srv_log_level_name(level)), HOB_JSON("event", verb),
					HOB_JSON("message", text));
	srv_events_publish(d->events, "log", (hob_str){0}, hob_buf_str(&data));
	hob_buf_release(&data);
}

/* ---- start */

/* Numbers of this run must be above all numbers of earlier runs, including transient events, which are not
 * stored. */
static uint64_t first_seq(srv_store *store)
{
	uint64_t ms = wall_ns() / 1000000, rev = srv_store_last_rev(store);
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
	srv_serve_notify_begin(&d->notify, &d->loop, &d->service, d->engine, d->views);
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
								.metrics = srv_engine_metrics,
								.metrics_user = d->engine,
								.stats = srv_engine_stats,
								.farm = srv_engine_farm,
								.input_bytes = srv_engine_input_bytes,
								.stats_user = d->engine,
								.workers_error = srv_engine_workers_error,
								.health_user = d->engine,
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
	for (uint32_t i = 0; i < d->root_count; i++) {
		free((char *)(uintptr_t)d->roots[i].name);
		free((char *)(uintptr_t)d->roots[i].path);
	}
	srv_config_release(&d->config);
	srv_service_end(&d->service);
}

/* Prints the error that ends the daemon; with --log json this line is JSON, too. */
static void tell_failure(const daemon_state *d, const hob_error *error)
{
	if (logs_json(d))
		srv_log(SRV_LOG_ERROR, "failed", "%s", error->context);
	else
		srv_cli_print_error("hob serve", error);
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
	d.began_ns = now_ns();
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
	"  hob serve props/ characters/ --listen 127.0.0.1:8000 --cache /var/cache/hob\n"
	"  hob serve art/ --once-ready 'notify-send \"Hob serves at $HOB_URL\"'\n",
	run_serve};
