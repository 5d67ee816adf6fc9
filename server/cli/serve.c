#include "cli.h"

#include "../engine/engine.h"
#include "../http/http.h"
#include "../http/json.h"
#include "../log/log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROOTS_MAX = 32, EVENTS_KEPT = 16384, DRAIN_MS = 10000, VALUES_MAX = 32 };

/* One struct a module; `serve` wires them and decides nothing. */
typedef struct daemon_state {
	uv_loop_t loop;
	srv_store *store;
	srv_events *events;
	srv_views *views;
	srv_engine *engine;
	srv_http *http;
	pthread_t loop_thread;
	uv_signal_t signals[2];
	uint64_t began_ns;
	bool stopping, quiet;
	srv_engine_root roots[ROOTS_MAX];
	uint32_t root_count;
	const char *cache;
	struct {
		const char *key, *origin;
		hob_buf json;
	} values[VALUES_MAX]; /* for /api/v1/config; fixed before the HTTP thread starts */
	uint32_t value_count;
} daemon_state;

/* ---- roots */

static bool add_root(daemon_state *d, const char *dir, hob_error *err)
{
	char *path = realpath(dir, NULL);
	struct stat info;
	if (!path || stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
		free(path);
		return hob_fail(err, USAGE, "'%s' is not a folder that can be opened: %s", dir,
						strerror(errno ? errno : ENOTDIR));
	}
	if (d->root_count == ROOTS_MAX) {
		free(path);
		return hob_fail(err, USAGE, "at most %d folders can be watched", ROOTS_MAX);
	}
	const char *slash = strrchr(path, '/');
	const char *base = slash && slash[1] ? slash + 1 : "root";
	char name[256];
	snprintf(name, sizeof name, "%s", base);
	for (uint32_t i = 0, twin = 2; i < d->root_count; i++) {
		if (strcmp(d->roots[i].path, path) == 0) {
			free(path);
			return hob_fail(err, USAGE, "the folder '%s' is given twice", dir);
		}
		if (strcmp(d->roots[i].name, name) == 0) {
			snprintf(name, sizeof name, "%.200s-%u", base, twin++);
			i = (uint32_t)-1;
		}
	}
	d->roots[d->root_count++] = (srv_engine_root){strdup(name), path};
	return true;
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

static void on_ready(void *user)
{
	daemon_state *d = user;
	const srv_view *view = srv_views_take(d->views);
	bool color = srv_color_wanted(1);
	const char *bold = color ? "\x1b[1m" : "", *dim = color ? "\x1b[2m" : "",
			   *accent = color ? "\x1b[36m" : "", *off = color ? "\x1b[0m" : "";
	char time[32], used[32];
	srv_store_usage usage;
	srv_store_measure(d->store, &usage);
	uint32_t known = view->states[SRV_FRESH] + view->states[SRV_STALE];
	uint32_t broken = view->states[SRV_FAILED] + view->states[SRV_QUARANTINED];
	unsigned long long waiting =
		srv_engine_count(d->engine)->queue_length + srv_engine_count(d->engine)->running;
	printf("\n  %shob %s%s   ready in %s   (%u fresh, %llu queued, %u failed)\n\n", bold, HOB_VERSION, off,
		   srv_text_duration(now_ns() - d->began_ns, time), known, waiting, broken);
	printf("  %s➜%s  Open      %s%s%s%s\n", accent, off, accent, srv_http_url(d->http),
		   strncmp(srv_http_url(d->http), "unix:", 5) == 0 ? "" : "/", off);
	for (uint32_t i = 0; i < view->root_count; i++)
		printf("  %s➜%s  Watching  %.*s  %s(%s, %llu files)%s\n", accent, off, HOB_FMT(view->roots[i].path),
			   dim, view->roots[i].mode, (unsigned long long)view->roots[i].files, off);
	printf("  %s➜%s  Cache     %s  %s(%s)%s\n", accent, off, d->cache, dim,
		   srv_text_bytes(usage.blob_bytes, used), off);
	printf("  %s➜%s  Sandbox   %s%s%s\n\n", accent, off, dim, srv_engine_sandbox(d->engine), off);
	fflush(stdout);
	srv_view_drop(view);
}

/* ---- stopping: drain, then engine, then everything that nobody uses any more */

static void on_engine_closed(void *user)
{
	daemon_state *d = user;
	d->engine = NULL;
	for (size_t i = 0; i < HOB_COUNT_OF(d->signals); i++)
		uv_close((uv_handle_t *)&d->signals[i], NULL);
}

static void on_signal(uv_signal_t *handle, int number)
{
	daemon_state *d = handle->data;
	if (d->stopping) {
		srv_log(SRV_LOG_WARNING, "stopping", "at once");
		_exit(EXIT_INTERRUPTED);
	}
	d->stopping = true;
	srv_log(SRV_LOG_INFO, "stopping:", "%s; press Ctrl-C again to stop at once",
			number == SIGINT ? "interrupted" : "asked to end");
	srv_http_drain(d->http);
	srv_engine_close(d->engine, on_engine_closed, d);
}

/* ---- what /api/v1/config tells */

static void put_value(hob_buf *out, const char *key, hob_str json, const char *origin)
{
	json_open(out, '{');
	json_put_str(out, "key", hob_str_of(key));
	json_key(out, "value");
	json_raw(out, json);
	json_put_str(out, "origin", hob_str_of(origin));
	json_close(out, '}');
}

static void put_config(void *user, hob_buf *out)
{
	const daemon_state *d = user;
	json_key(out, "values");
	json_open(out, '[');
	for (uint32_t i = 0; i < d->value_count; i++)
		put_value(out, d->values[i].key, hob_buf_str(&d->values[i].json), d->values[i].origin);
	json_close(out, ']');
}

/* Before the HTTP thread starts; `given` is the command line. */
static void keep_values(daemon_state *d, const cli_option *options, size_t count, char *const *given,
						int given_count)
{
	for (size_t i = 0; i < count && d->value_count < VALUES_MAX; i++) {
		const cli_option *option = &options[i];
		const char *origin = "default";
		for (int n = 1; n < given_count; n++)
			if (strncmp(given[n], option->name, strlen(option->name)) == 0 ||
				(option->letter && given[n][0] == '-' && given[n][1] == option->letter))
				origin = "flag";
		hob_buf *json = &d->values[d->value_count].json;
		if (option->kind == CLI_TEXT)
			json_str(json, hob_str_of(*(const char **)option->value));
		else if (option->kind == CLI_NUMBER)
			json_u64(json, *(uint32_t *)option->value);
		else
			json_bool(json, *(bool *)option->value);
		const char *variable = strcmp(option->name, "--listen") == 0  ? getenv("HOB_LISTEN")
							   : strcmp(option->name, "--cache") == 0 ? getenv("HOB_CACHE")
																	  : NULL;
		d->values[d->value_count].key = option->name + 2;
		d->values[d->value_count++].origin =
			variable && strcmp(origin, "default") == 0 ? "environment" : origin;
	}
}

/* ---- the log as events, for those who ask for them */

/* Only the loop thread may publish; the few lines of other threads stay in the terminal. */
static void publish_line(void *user, srv_log_level level, const char *verb, const char *text)
{
	daemon_state *d = user;
	if (!pthread_equal(pthread_self(), d->loop_thread))
		return;
	hob_buf data = {0};
	json_open(&data, '{');
	json_key(&data, "time");
	json_time(&data, (int64_t)(wall_ns() / 1000000));
	json_put_str(&data, "level", hob_str_of(srv_log_level_name(level)));
	json_put_str(&data, "event", hob_str_of(verb));
	json_put_str(&data, "message", hob_str_of(text));
	json_close(&data, '}');
	srv_events_publish(d->events, "log", (hob_str){0}, hob_buf_str(&data));
	hob_buf_release(&data);
}

/* ---- start */

/* Numbers of an earlier run must lie below this run's, also those of transient events, which are not stored. */
static uint64_t first_seq(srv_store *store)
{
	uint64_t ms = wall_ns() / 1000000, rev = srv_store_last_rev(store);
	return ms > rev ? ms : rev;
}

static bool start(daemon_state *d, const srv_http_options *http, uint64_t max_bytes,
				  const srv_engine_options *engine, hob_error *err)
{
	bool rebuilt = false;
	srv_store_options store = {.max_bytes = max_bytes};
	if (!srv_store_open(d->cache, &store, &d->store, &rebuilt, err))
		return false;
	if (rebuilt)
		srv_log(SRV_LOG_WARNING, "cache",
				"the index was damaged and was rebuilt; nothing has to be cooked again");
	d->events = srv_events_new(srv_store_epoch(d->store), first_seq(d->store), EVENTS_KEPT);
	d->views = srv_views_new();
	if (!d->events || !d->views)
		return hob_fail(err, MEMORY, "no memory left to start");
	d->loop_thread = pthread_self();
	srv_log_listen(publish_line, d);
	srv_engine_callbacks callbacks = {d, on_ready};
	if (!srv_engine_new(&d->loop, engine, d->store, d->events, d->views, &callbacks, &d->engine, err))
		return false;
	srv_http_sources sources = {.views = d->views,
								.events = d->events,
								.store = d->store,
								.control = srv_engine_port(d->engine),
								.metrics = srv_engine_metrics,
								.metrics_user = d->engine,
								.stats = srv_engine_stats,
								.stats_user = d->engine,
								.config = put_config,
								.config_user = d,
								.version = HOB_VERSION};
	return srv_http_start(http, &sources, &d->http, err);
}

/* Every listener and every watched connection is a descriptor; most systems give 1024 and allow far more. */
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
	srv_http_stop(d->http);
	srv_log_listen(NULL, NULL);
	srv_views_free(d->views);
	srv_events_free(d->events);
	srv_store_close(d->store);
	for (uint32_t i = 0; i < d->value_count; i++)
		hob_buf_release(&d->values[i].json);
	for (uint32_t i = 0; i < d->root_count; i++) {
		free((char *)(uintptr_t)d->roots[i].name);
		free((char *)(uintptr_t)d->roots[i].path);
	}
}

static int run_serve(int argc, char **argv)
{
	static daemon_state d;
	const char *listen = getenv("HOB_LISTEN"), *log_format = "text", *sandbox = "best-effort";
	const char *cache = getenv("HOB_CACHE");
	uint32_t jobs = 0, timeout = 120, memory_mb = 4096, max_gb = 0;
	bool verbose = false, polling = false;
	cli_list hosts = {0}, origins = {0};
	srv_http_options http = {
		.token_file = getenv("HOB_TOKEN_FILE"), .allowed_hosts = hosts.texts, .cors_origins = origins.texts};
	cli_option options[] = {
		{"--listen", 0, CLI_TEXT, &listen, "ADDRESS",
		 "where to serve: HOST:PORT, unix:/path, or several with commas (127.0.0.1:7780)"},
		{"--cache", 0, CLI_TEXT, &cache, "DIR", "where results are kept (.hob)"},
		{"--max-size", 0, CLI_NUMBER, &max_gb, "GB",
		 "most disk space for results; the least recently used go (no limit)"},
		{"--jobs", 'j', CLI_NUMBER, &jobs, "N", "cook processes (number of cores)"},
		{"--timeout", 0, CLI_NUMBER, &timeout, "SECONDS", "longest time for one cook (120)"},
		{"--memory", 0, CLI_NUMBER, &memory_mb, "MIB", "most memory for one cook process (4096)"},
		{"--sandbox", 0, CLI_TEXT, &sandbox, "POLICY", "best-effort (default), require or off"},
		{"--token-file", 0, CLI_TEXT, &http.token_file, "FILE",
		 "ask for one of the tokens that 'hob token' keeps there; needed off loopback"},
		{"--trust-network", 0, CLI_FLAG, &http.trust_network, NULL,
		 "off loopback, let everybody read and write without a token"},
		{"--tls-cert", 0, CLI_TEXT, &http.tls_cert, "FILE", "speak TLS with this certificate chain (PEM)"},
		{"--tls-key", 0, CLI_TEXT, &http.tls_key, "FILE", "and its private key (PEM)"},
		{"--allowed-host", 0, CLI_LIST, &hosts, "NAME",
		 "answer also to this host name (localhost and addresses are); may be given again"},
		{"--cors-origin", 0, CLI_LIST, &origins, "ORIGIN",
		 "let this site's pages use everything (http://localhost:5173); may be given again"},
		{"--no-sources", 0, CLI_FLAG, &http.keep_sources, NULL,
		 "do not hand out the files that assets were cooked from"},
		{"--poll", 0, CLI_FLAG, &polling, NULL,
		 "look at the folders every 2 s instead of waiting for events"},
		{"--log", 0, CLI_TEXT, &log_format, "FORMAT", "text or json"},
		{"--web-root", 0, CLI_TEXT, &http.web_root, "DIR",
		 "read the dashboard's files from DIR (to develop it)"},
		{"--verbose", 'v', CLI_FLAG, &verbose, NULL, "say more"},
	};
	char **given = malloc(((size_t)argc + 1) * sizeof *given);
	memcpy(given, argv, (size_t)argc * sizeof *given);
	int operands = cli_parse(&cli_serve, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0) {
		free(given);
		return cli_parse_exit(operands);
	}
	if (strcmp(log_format, "text") != 0 && strcmp(log_format, "json") != 0)
		return cli_usage_error(&cli_serve, "--log is text or json, not '%s'", log_format);
	if (timeout == 0 || memory_mb < 64)
		return cli_usage_error(&cli_serve, "--timeout must be at least 1 and --memory at least 64");
	srv_engine_options engine = {.workers = jobs,
								 .timeout_ms = timeout * 1000,
								 .memory_limit = (uint64_t)memory_mb << 20,
								 .force_polling = polling};
	if (strcmp(sandbox, "require") == 0)
		engine.sandbox = SRV_SANDBOX_REQUIRE;
	else if (strcmp(sandbox, "off") == 0)
		engine.sandbox = SRV_SANDBOX_OFF;
	else if (strcmp(sandbox, "best-effort") != 0)
		return cli_usage_error(&cli_serve, "--sandbox is best-effort, require or off, not '%s'", sandbox);
	hob_settings_init(&engine.defaults);
	srv_log_init(verbose ? SRV_LOG_DEBUG : SRV_LOG_INFO, strcmp(log_format, "json") == 0);
	signal(SIGPIPE, SIG_IGN);

	hob_error error = {0};
	keep_values(&d, options, HOB_COUNT_OF(options), given, argc);
	free(given);
	d.cache = cache && cache[0] ? cache : ".hob";
	d.began_ns = now_ns();
	char here[] = ".";
	bool ok = operands > 0 || add_root(&d, here, &error);
	for (int i = 0; i < operands && ok; i++)
		ok = add_root(&d, argv[1 + i], &error);
	engine.roots = d.roots;
	engine.root_count = d.root_count;
	if (!ok) {
		release(&d);
		return cli_usage_error(&cli_serve, "%s", error.context);
	}
	uv_loop_init(&d.loop);
	static const int numbers[] = {SIGINT, SIGTERM};
	for (size_t i = 0; i < HOB_COUNT_OF(d.signals); i++) {
		uv_signal_init(&d.loop, &d.signals[i]);
		d.signals[i].data = &d;
	}
	http.listen = listen && listen[0] ? listen : "127.0.0.1:7780";
	if (http.token_file && !http.token_file[0])
		http.token_file = NULL;
	raise_file_limit();
	if (!start(&d, &http, (uint64_t)max_gb * 1000000000u, &engine, &error)) {
		cli_print_error("hob serve", &error);
		if (d.engine)
			srv_engine_close(d.engine, on_engine_closed, &d);
		else
			on_engine_closed(&d);
		uv_run(&d.loop, UV_RUN_DEFAULT);
		release(&d);
		return error.code == HOB_ERR_INTERNAL || error.code == HOB_ERR_MEMORY ? EXIT_INTERNAL : EXIT_USAGE;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(d.signals); i++)
		uv_signal_start(&d.signals[i], on_signal, numbers[i]);
	uv_run(&d.loop, UV_RUN_DEFAULT);
	release(&d);
	uv_loop_close(&d.loop);
	srv_log(SRV_LOG_INFO, "stopped;", "everything that was published is kept");
	return EXIT_GOOD;
}

const cli_command cli_serve = {
	"serve", "[DIR...]", "watch folders, cook on save, serve the results",
	"Watches each DIR (default: the current folder) for 3D models, cooks what is new or changed, and serves "
	"blobs and\n"
	"facts over HTTP. Nothing outside the folders is ever read. Results are kept in the cache and found "
	"again by the\n"
	"content of their inputs. Ctrl-C stops and loses nothing.\n"
	"\n"
	"Examples:\n"
	"  hob serve art/\n"
	"  hob serve props/ characters/ --listen 127.0.0.1:8000 --cache /var/cache/hob\n",
	run_serve};
