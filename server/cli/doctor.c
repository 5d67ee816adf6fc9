#include "preflight.h"
#include "query.h"
#include "serve_config.h"

#include "../../core/base/json_write.h"
#include "../fs/clock.h"
#include "../fs/fd.h"
#include "../fs/folder.h"
#include "../fs/mounts.h"
#include "../fs/whole_path.h"
#include "../http/http.h"
#include "../log/log.h"
#include "../settings/sidecar.h"
#include "../upstream/exchange.h"
#include "../worker/pool.h"
#include "../worker/spawn.h"

#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

/* hob doctor: checks the requirements of `hob serve`. */

typedef enum doctor_state { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL } doctor_state;

typedef struct doctor_item {
	doctor_state state;
	const char *name; /* static text */
	char text[512], remedy[320];
} doctor_item;

enum { DOCTOR_ITEMS_MAX = 128 };

typedef struct doctor {
	srv_config config;
	bool has_config;
	const char *url;
	bool daemon_runs;
	char daemon_version[32];
	doctor_item items[DOCTOR_ITEMS_MAX];
	uint32_t count;
	uint64_t folder_count, file_count; /* in the watched folders */
} doctor;

/* Adds a line and returns it; lines that do not fit are dropped. */
static HOB_PRINTF(5, 6) doctor_item *say(doctor *d, doctor_state state, const char *name, const char *remedy,
										 const char *fmt, ...)
{
	static doctor_item dropped;
	doctor_item *item = d->count < DOCTOR_ITEMS_MAX ? &d->items[d->count++] : &dropped;
	*item = (doctor_item){.state = state, .name = name};
	va_list args;
	va_start(args, fmt);
	vsnprintf(item->text, sizeof item->text, fmt, args);
	va_end(args);
	srv_plain_lines(item->text);
	snprintf(item->remedy, sizeof item->remedy, "%s", remedy ? remedy : "");
	return item;
}

static HOB_PRINTF(2, 3) void advise(doctor_item *item, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(item->remedy, sizeof item->remedy, fmt, args);
	va_end(args);
	srv_plain_lines(item->remedy);
}

static void look_at_config(doctor *d, const char *file)
{
	hob_error error = {0};
	d->has_config = srv_config_load(&d->config, file, &error);
	if (!d->has_config) {
		say(d, DOCTOR_FAIL, "config", "correct it; 'hob config --check FILE' checks it again", "%s",
			error.context);
		return;
	}
	say(d, DOCTOR_OK, "config", NULL, "%s",
		d->config.file ? d->config.file : "no hob.json; the defaults apply");
}

/* ---- watched folders, the limits of the kernel for them, the clock */

enum { WALK_MS = 5000, DEPTH_MAX = 128 };

typedef struct walk {
	uint64_t folders, files, unreadable, future;
	uint64_t strays;
	char first_unreadable[256], first_future[256], first_stray[256], stray_model[NAME_MAX + 1];
	int64_t now_s, deadline_ms;
	bool late;
} walk;

static void note_file(walk *w, int folder, const char *path, const char *name)
{
	enum { GRACE_S = 60 };
	struct stat info;
	char model[NAME_MAX + 1];
	w->files++;
	if (srv_sidecar_stray(folder, name, model) && w->strays++ == 0) {
		snprintf(w->first_stray, sizeof w->first_stray, "%.120s/%.120s", path, name);
		snprintf(w->stray_model, sizeof w->stray_model, "%s", model);
	}
	if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode) ||
		info.st_mtime <= w->now_s + GRACE_S)
		return;
	if (w->future++ == 0)
		snprintf(w->first_future, sizeof w->first_future, "%.120s/%.120s", path, name);
}

/* Counts files as the daemon does: skips hidden folders, does not follow links. */
static void walk_folder(walk *w, int parent, const char *name, const char *path, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth > 0 ? O_NOFOLLOW : 0));
	srv_own_folder *list = srv_folder_of(fd);
	if (!list) {
		if (w->unreadable++ == 0)
			snprintf(w->first_unreadable, sizeof w->first_unreadable, "%s", path);
		return;
	}
	w->folders++;
	for (struct dirent *entry; (entry = srv_folder_next(list));) {
		w->late = w->late || srv_clock_ms(CLOCK_MONOTONIC) > w->deadline_ms;
		if (entry->d_name[0] == '.' || w->late)
			continue;
		if (entry->d_type == DT_DIR && depth < DEPTH_MAX) {
			char below[512];
			snprintf(below, sizeof below, "%.250s/%.255s", path, entry->d_name);
			walk_folder(w, fd, entry->d_name, below, depth + 1);
		} else if (entry->d_type != DT_DIR) {
			note_file(w, fd, path, entry->d_name);
		}
	}
}

static void say_walk(doctor *d, const char *path, const walk *w)
{
	char files[48], folders[48];
	srv_cli_count((double)w->files, "file", files);
	srv_cli_count((double)w->folders, "folder", folders);
	if (w->late)
		say(d, DOCTOR_OK, "folder", NULL, "%s: more than %s in %s (looked at for %d s)", path, files, folders,
			WALK_MS / 1000);
	else
		say(d, DOCTOR_OK, "folder", NULL, "%s: %s in %s", path, files, folders);
	if (w->unreadable > 0)
		say(d, DOCTOR_WARN, "folder", "models there are not seen: chmod o+rx, or run hob as their owner",
			"%s cannot be read, first '%s'", srv_cli_count((double)w->unreadable, "folder", folders),
			w->first_unreadable);
	if (w->strays > 0)
		advise(say(d, DOCTOR_WARN, "settings", NULL, "%s of no model, first '%s'",
				   srv_cli_count((double)w->strays, "settings file", files), w->first_stray),
			   "name it as the model with its ending: %s.cook.json", w->stray_model);
	if (w->future > 0)
		say(d, DOCTOR_WARN, "clock",
			"the clock here or where it was saved is wrong: timedatectl; it is cooked all the same",
			"%s from the future, first '%s'", srv_cli_count((double)w->future, "file", files),
			w->first_future);
}

static void look_at_folder(doctor *d, const char *path)
{
	struct stat info;
	if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
		say(d, DOCTOR_FAIL, "folder", "mount or create it, or correct 'sources' in hob.json", "'%s' %s%s",
			path, errno ? "cannot be opened: " : "is not a folder", errno ? strerror(errno) : "");
		return;
	}
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		advise(say(d, DOCTOR_FAIL, "folder", NULL, "'%s' cannot be read: %s", path, strerror(errno)),
			   "let the user that runs hob read it: chmod o+rx '%s'", path);
		return;
	}
	const char *mount = srv_silent_mount(fd);
	walk w = {.now_s = srv_clock_ms(CLOCK_REALTIME) / 1000,
			  .deadline_ms = srv_clock_ms(CLOCK_MONOTONIC) + WALK_MS};
	walk_folder(&w, fd, ".", path, 0);
	close(fd);
	say_walk(d, path, &w);
	d->folder_count += w.folders;
	d->file_count += w.files;
	if (mount)
		say(d, DOCTOR_WARN, "folder",
			"it is looked at every 2 s instead; run hob where the files are for less delay",
			"%s is on %s, which brings no events of other machines", path, mount);
}

/* Sources that no one edits in place: a git repository, and a folder that is made for an agent's files. */
static bool is_fed(const srv_config_source *source)
{
	return source && (source->git || (source->mirror && access(source->path, F_OK) != 0));
}

static void look_at_fed(doctor *d, const srv_config_source *source)
{
	const char *path = source->git ? source->git : source->path;
	if (!source->git)
		say(d, DOCTOR_OK, "folder", NULL, "%s: will be made, for agents", path);
	else if (access(path, R_OK | X_OK) == 0)
		say(d, DOCTOR_OK, "folder", NULL, "%s: a git repository", path);
	else
		say(d, DOCTOR_FAIL, "folder", "correct 'git' in hob.json, or let the user that runs hob read it",
			"'%s' cannot be opened: %s", path, strerror(errno));
}

/* Reports watched folders that are equal or nested. sources: of the paths; NULL: from the command line. */
static void look_at_nesting(doctor *d, char **paths, uint32_t count, const srv_config_source *sources)
{
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++) {
			if (a == b || !paths[a] || !paths[b])
				continue;
			bool same = strcmp(paths[a], paths[b]) == 0;
			if (same && sources &&
				srv_config_are_profiles(srv_config_source_name(&sources[a], paths[a]),
										srv_config_source_name(&sources[b], paths[b])))
				continue;
			if (a < b && same)
				say(d, DOCTOR_FAIL, "folder", "name each folder once", "'%s' is given twice", paths[a]);
			else if (!same && srv_path_below(paths[b], paths[a]))
				say(d, DOCTOR_WARN, "folder",
					"its models are cooked under two names; leave it out of one with 'exclude'",
					"'%s' lies in '%s'", paths[a], paths[b]);
		}
}

static long number_in(const char *path)
{
	char text[32] = "";
	FILE *file = fopen(path, "re");
	if (file && !fgets(text, sizeof text, file))
		text[0] = 0;
	if (file)
		fclose(file);
	return text[0] ? atol(text) : -1;
}

static void look_at_inotify(doctor *d)
{
	long watches = number_in("/proc/sys/fs/inotify/max_user_watches");
	long events = number_in("/proc/sys/fs/inotify/max_queued_events");
	unsigned long long folders = (unsigned long long)d->folder_count;
	char count[48];
	if (watches < 0)
		say(d, DOCTOR_WARN, "inotify", "without inotify folders are looked at every 2 s",
			"the kernel tells no limit of watches");
	else if ((uint64_t)watches < d->folder_count)
		advise(say(d, DOCTOR_WARN, "inotify", NULL, "%llu folders, and the kernel allows %ld watches",
				   folders, watches),
			   "sudo sysctl fs.inotify.max_user_watches=%llu; until then folders are looked at every 2 s",
			   folders * 2 > 524288 ? folders * 2 : 524288ull);
	else if ((uint64_t)watches < d->folder_count * 2)
		advise(say(d, DOCTOR_WARN, "inotify", NULL,
				   "%llu folders of at most %ld watches, which all programs share", folders, watches),
			   "sudo sysctl fs.inotify.max_user_watches=%llu", folders * 4);
	else
		say(d, DOCTOR_OK, "inotify", NULL, "%s, %ld watches allowed, %ld events queued at most",
			srv_cli_count((double)folders, "folder", count), watches, events);
}

static void look_at_folders(doctor *d, char **folders, int count)
{
	uint32_t used = 0, given = count > 0 ? (uint32_t)count : d->config.source_count;
	char **paths = calloc(given + 1, sizeof *paths);
	char here[] = ".";
	for (uint32_t i = 0; paths && (i < given || (given == 0 && i == 0)); i++) {
		const srv_config_source *source = count == 0 && given > 0 ? &d->config.sources[i] : NULL;
		const char *path = given == 0 ? here : count > 0 ? folders[i] : source->path;
		paths[used] = is_fed(source) ? NULL : realpath(path, NULL);
		errno = 0;
		if (is_fed(source))
			look_at_fed(d, source);
		else
			look_at_folder(d, paths[used] ? paths[used] : path);
		used++;
	}
	if (paths)
		look_at_nesting(d, paths, used, count > 0 || given == 0 ? NULL : d->config.sources);
	look_at_inotify(d);
	for (uint32_t i = 0; paths && i < used; i++)
		free(paths[i]);
	free(paths);
}

/* ---- the cache */

/* The cache's folder, or the nearest existing one above it. */
static int open_nearest(const char *path, char found[4096])
{
	snprintf(found, 4096, "%s", path);
	for (;;) {
		int fd = open(found, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		char *slash = strrchr(found, '/');
		if (fd >= 0 || errno != ENOENT)
			return fd;
		if (!slash)
			return open(strcpy(found, "."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		*(slash == found ? slash + 1 : slash) = 0;
	}
}

static void look_at_clock(doctor *d, int fd)
{
	enum { FIRST_YEAR = 2024, SKEW_S = 2 };
	struct timespec now;
	struct stat info;
	struct tm parts;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	int file = openat(fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	bool stamped = file >= 0 && write(file, "", 1) == 1 && fstat(file, &info) == 0;
	int64_t skew = stamped ? (int64_t)info.st_mtime - (int64_t)now.tv_sec : 0;
	if (file >= 0)
		close(file);
	if (parts.tm_year + 1900 < FIRST_YEAR)
		say(d, DOCTOR_WARN, "clock", "set the clock: timedatectl set-ntp true", "it is the year %d",
			parts.tm_year + 1900);
	else if (skew > SKEW_S || skew < -SKEW_S)
		say(d, DOCTOR_WARN, "clock", "set both machines' clocks: timedatectl set-ntp true",
			"the cache's file system is %lld s off this machine's clock", (long long)skew);
	else
		say(d, DOCTOR_OK, "clock", NULL, "%04d-%02d-%02d, as the cache's disk has it", parts.tm_year + 1900,
			parts.tm_mon + 1, parts.tm_mday);
}

static void look_at_room(doctor *d, const char *path, int fd)
{
	static const uint64_t little = 1ull << 30, least = 64 << 20;
	struct statvfs disk;
	char free_text[32], limit_text[32];
	if (fstatvfs(fd, &disk) != 0)
		return;
	uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize,
			 limit = srv_config_number(&d->config, SRV_CONFIG_max_size);
	srv_text_bytes(room, free_text);
	srv_text_bytes(limit, limit_text);
	if (room < least)
		say(d, DOCTOR_FAIL, "disk", "free some space, or keep the cache elsewhere: --cache DIR",
			"%s free for '%s'", free_text, path);
	else if (room < little)
		say(d, DOCTOR_WARN, "disk", "free some space, or bound the cache: --max-size", "%s free for '%s'",
			free_text, path);
	else if (limit > room && limit > 0)
		say(d, DOCTOR_OK, "disk", NULL, "%s free for '%s'; its limit of %s is more", free_text, path,
			limit_text);
	else
		say(d, DOCTOR_OK, "disk", NULL, "%s free for '%s'", free_text, path);
}

static void look_at_cache(doctor *d)
{
	char found[4096];
	const char *path = srv_config_text(&d->config, SRV_CONFIG_cache);
	srv_own_fd fd = open_nearest(path, found);
	if (fd < 0) {
		say(d, DOCTOR_FAIL, "cache", "correct cache.dir, or let the user that runs hob read and write it",
			"'%s' cannot be opened: %s", found, strerror(errno));
		return;
	}
	const char *mount = srv_network_mount(fd);
	if (faccessat(fd, ".", W_OK, AT_EACCESS) != 0)
		say(d, DOCTOR_FAIL, "cache",
			"let the user that runs hob write there, or keep the cache elsewhere: --cache DIR",
			"'%s' cannot be written: %s", found, strerror(errno));
	else if (mount)
		say(d, DOCTOR_WARN, "cache", "keep the cache on a disk of this machine: --cache DIR",
			"'%s' is on %s, where the index is slow and locks may not hold", path, mount);
	else
		say(d, DOCTOR_OK, "cache", NULL, "'%s'%s on %s", path,
			strcmp(found, path) == 0 ? "" : " will be made", srv_file_system(fd));
	look_at_room(d, path, fd);
	look_at_clock(d, fd);
}

/* ---- limits of this machine */

static void look_at_limits(doctor *d)
{
	enum { FEW_FILES = 4096 };
	struct rlimit files = {0};
	char each[32], all[32];
	srv_http_options http;
	uint32_t blobs;
	srv_serve_http_options(&d->config, &http);
	bool few = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < FEW_FILES;
	doctor_item *item = say(
		d, few ? DOCTOR_WARN : DOCTOR_OK, "files", NULL, "%llu open files at most, for %u clients at once",
		(unsigned long long)files.rlim_max, srv_http_room(files.rlim_max, http.threads, &blobs));
	if (few)
		advise(item, "each takes two: raise LimitNOFILE of the service, or 'ulimit -Hn'");
	srv_engine_options engine;
	srv_serve_engine_options(&d->config, &engine);
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t workers = engine.pool.workers ? engine.pool.workers : cores > 0 ? (uint64_t)cores : 1;
	srv_text_bytes(engine.pool.memory_limit, each);
	srv_text_bytes(memory, all);
	if (engine.pool.memory_limit > memory)
		say(d, DOCTOR_WARN, "memory", "a large model could stop it: lower cook.memory_limit",
			"one cook may take %s, and the machine has %s", each, all);
	else
		say(d, DOCTOR_OK, "memory", NULL, "%s; %llu cook processes of at most %s each", all,
			(unsigned long long)workers, each);
}

/* ---- a running daemon */

static void look_at_daemon(doctor *d)
{
	cli_response response;
	hob_error error = {0};
	int status;
	cJSON *about = srv_cli_try_json(d->url, "/api/v1", &status);
	if (status == 0) {
		say(d, DOCTOR_OK, "daemon", NULL, "none runs at %s", d->url);
		return;
	}
	bool is_hob = strcmp(srv_cli_text(about, "name"), "hob") == 0;
	snprintf(d->daemon_version, sizeof d->daemon_version, "%s", srv_cli_text(about, "version"));
	d->daemon_runs = is_hob;
	if (status == 401 || status == 403)
		say(d, DOCTOR_WARN, "daemon", "set HOB_TOKEN", "%s asks for a token", d->url);
	else if (!is_hob)
		say(d, DOCTOR_WARN, "daemon", "serve elsewhere: hob serve --listen 127.0.0.1:PORT",
			"what answers at %s is no Hob daemon", d->url);
	else if (strcmp(d->daemon_version, HOB_VERSION) != 0)
		say(d, DOCTOR_WARN, "daemon", "start it again with the installed program",
			"%s runs hob %s, and this is hob %s", d->url, d->daemon_version, HOB_VERSION);
	else
		say(d, DOCTOR_OK, "daemon", NULL, "hob %s runs at %s", d->daemon_version, d->url);
	cJSON_Delete(about);
	if (!is_hob || !srv_cli_request(d->url, "GET", "/readyz", NULL, (hob_str){0}, &response, &error))
		return;
	hob_str why = hob_buf_str(&response.body);
	while (why.len > 0 && why.data[why.len - 1] == '\n')
		why.len--;
	if (response.status != 200)
		say(d, DOCTOR_FAIL, "daemon", "its log tells more; 'hob status' shows what it does",
			"it is not ready: %.*s", HOB_FMT(why));
	srv_cli_response_release(&response);
}

/* ---- the cache's owner */

static void look_at_lock(doctor *d)
{
	const char *cache = srv_config_text(&d->config, SRV_CONFIG_cache);
	hob_own_buf path = {0};
	hob_buf_printf(&path, "%s/lock", cache);
	int fd = open(srv_cli_ended(&path), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	bool taken = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	char pid[24] = {0};
	if (taken && pread(fd, pid, sizeof pid - 1, 0) <= 0)
		snprintf(pid, sizeof pid, "unknown");
	close(fd);
	pid[strcspn(pid, "\n")] = 0;
	if (taken && d->daemon_runs)
		say(d, DOCTOR_OK, "cache", NULL,
			"'%s' is used by a Hob that runs (pid %s); a second one would be refused", cache, pid);
	else if (taken)
		say(d, DOCTOR_FAIL, "cache", "stop it, or choose another folder with --cache",
			"another Hob (pid %s) uses '%s'", pid, cache);
}

/* ---- addresses */

static void say_taken(doctor *d, const char *address, int why)
{
	if (why == EADDRINUSE && d->daemon_runs)
		say(d, DOCTOR_OK, "address", NULL, "%s is in use, by the daemon that runs", address);
	else if (why == EADDRINUSE)
		say(d, DOCTOR_FAIL, "address",
			"serve elsewhere: --listen 127.0.0.1:PORT; 'ss -ltnp' names the program",
			"%s is in use by another program", address);
	else
		say(d, DOCTOR_FAIL, "address", "correct server.listen or --listen", "%s cannot be served: %s",
			address, strerror(why));
}

static void look_at_address(doctor *d, const char *address)
{
	char host[256];
	snprintf(host, sizeof host, "%s", address);
	char *colon = strrchr(host, ':');
	if (strncmp(address, "unix:", 5) == 0) {
		say(d, DOCTOR_OK, "address", NULL, "%s", address);
		return;
	}
	if (!colon) {
		say_taken(d, address, EINVAL);
		return;
	}
	*colon = 0;
	char *node = host[0] == '[' ? host + 1 : host;
	node[strcspn(node, "]")] = 0;
	struct addrinfo wish = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
	int why = EADDRNOTAVAIL, yes = 1;
	if (getaddrinfo(node, colon + 1, &wish, &found) == 0 && found) {
		int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd >= 0)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
		why = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
		if (fd >= 0)
			close(fd);
		freeaddrinfo(found);
	}
	if (why == 0)
		say(d, DOCTOR_OK, "address", NULL, "%s is free", address);
	else
		say_taken(d, address, why);
}

static void look_at_addresses(doctor *d)
{
	char list[1024];
	const char *listen = srv_config_text(&d->config, SRV_CONFIG_listen);
	snprintf(list, sizeof list, "%s", listen ? listen : "");
	char *rest = NULL;
	for (char *address = strtok_r(list, ",", &rest); address; address = strtok_r(NULL, ",", &rest))
		look_at_address(d, address + strspn(address, " "));
}

/* ---- Hob's other programs: starts one cook process, as the daemon does */

typedef struct trial {
	uv_loop_t loop;
	uv_timer_t deadline;
	srv_pool *pool;
	doctor *d;
	bool over;
} trial;

static void on_closed(void *user)
{
	trial *t = user;
	uv_close((uv_handle_t *)&t->deadline, NULL);
}

static void end_trial(trial *t)
{
	if (t->over)
		return;
	t->over = true;
	srv_pool_close(t->pool, on_closed, t);
}

static void on_ready(void *user)
{
	trial *t = user;
	uint32_t count, formats = 0;
	const srv_pool_importer *importers = srv_pool_importers(t->pool, &count);
	hob_str library = {0};
	for (uint32_t i = 0; i < count; i++) {
		formats += importers[i].extension_count;
		library = importers[i].library.len > 0 ? importers[i].library : library;
	}
	say(t->d, DOCTOR_OK, "programs", NULL, "hob %s and its hob-worker, which reads %u kinds of model files",
		HOB_VERSION, formats);
	say(t->d, DOCTOR_OK, "libraries", NULL, "%.*s", HOB_FMT(library));
	const char *sandbox = srv_pool_sandbox(t->pool);
	if (strstr(sandbox, "no "))
		say(t->d, DOCTOR_WARN, "sandbox",
			"a damaged model could reach more than it should: a kernel from 5.13 with landlock in "
			"lsm=, a container "
			"that allows both; --sandbox require refuses to cook without",
			"%s", sandbox);
	else
		say(t->d, DOCTOR_OK, "sandbox", NULL, "%s", sandbox);
}

static void on_idle(void *user)
{
	end_trial(user);
}

static void on_done(void *user, void *job, srv_outcome *outcome)
{
	(void)user;
	(void)job;
	srv_outcome_free(outcome);
}

static void on_degraded(void *user, const hob_error *why)
{
	trial *t = user;
	if (!why || t->over)
		return;
	advise(say(t->d, DOCTOR_FAIL, "programs", NULL, "%s", why->context),
		   "put the hob-worker of hob %s beside hob, or install Hob again", HOB_VERSION);
	end_trial(t);
}

static void on_deadline(uv_timer_t *timer)
{
	trial *t = timer->data;
	say(t->d, DOCTOR_FAIL, "programs", NULL, "hob-worker did not start in time");
	end_trial(t);
}

static void look_for_thumbnails(doctor *d)
{
	char program[4096];
	if (!srv_find_program("hob-thumbnail", program))
		say(d, DOCTOR_WARN, "programs",
			"it is built where OpenGL ES and EGL are installed; nothing else needs it",
			"hob-thumbnail is not beside hob: assets have no pictures");
}

static void look_at_worker(doctor *d)
{
	enum { START_MS = 20000 };
	static trial t;
	hob_error error = {0};
	t = (trial){.d = d};
	srv_engine_options engine = {0};
	if (d->has_config)
		srv_serve_engine_options(&d->config, &engine);
	srv_pool_options options = {
		.workers = 1, .memory_limit = engine.pool.memory_limit, .sandbox = engine.pool.sandbox};
	srv_pool_callbacks callbacks = {
		.user = &t, .ready = on_ready, .idle = on_idle, .done = on_done, .degraded = on_degraded};
	if (!srv_cli_loop_init(&t.loop, &error)) {
		say(d, DOCTOR_FAIL, "programs", NULL, "%s", error.context);
		return;
	}
	uv_timer_init(&t.loop, &t.deadline);
	t.deadline.data = &t;
	if (srv_pool_new(&t.loop, &options, &callbacks, &t.pool, &error)) {
		uv_timer_start(&t.deadline, on_deadline, START_MS, 0);
	} else {
		say(d, DOCTOR_FAIL, "programs", "install Hob again", "%s", error.context);
		uv_close((uv_handle_t *)&t.deadline, NULL);
	}
	uv_run(&t.loop, UV_RUN_DEFAULT);
	uv_loop_close(&t.loop);
	look_for_thumbnails(d);
}

/* ---- folders, as a running daemon reports them */

static void say_root(doctor *d, const cJSON *root)
{
	const char *path = srv_cli_text(root, "path"), *since = srv_cli_text(root, "missing_since");
	if (since[0])
		say(d, DOCTOR_FAIL, "folder",
			"mount it or move it back; until then its assets are served as they were",
			"'%s' is missing since %s: %s", path, since, srv_cli_text(root, "note"));
	if (srv_cli_text(root, "skipped")[0])
		say(d, DOCTOR_WARN, "folder",
			"export such models to glTF or FBX; also serve the folder that a link points to", "'%s': %s",
			path, srv_cli_text(root, "skipped"));
}

static void look_at_roots(doctor *d)
{
	hob_own_json *roots = d->daemon_runs ? srv_cli_try_json(d->url, "/api/v1/roots", NULL) : NULL;
	const cJSON *root;
	cJSON_ArrayForEach(root, srv_cli_member(roots, "items")) say_root(d, root);
}

/* ---- the upstream */

static void look_at_farm(doctor *d, const serve_upstream *upstream)
{
	srv_farm *farm;
	srv_exchange exchange;
	hob_error error = {0};
	if (!srv_farm_open(&upstream->farm, "hob doctor", &farm, &error)) {
		say(d, DOCTOR_FAIL, "farm", NULL, "%s", error.context);
		return;
	}
	if (!srv_exchange_init_farm(&exchange, farm, NULL, &error)) {
		say(d, DOCTOR_FAIL, "farm", NULL, "%s", error.context);
	} else {
		srv_exchange_end end = srv_exchange_probe(&exchange);
		if (end == SRV_EXCHANGE_OK)
			say(d, DOCTOR_OK, "farm", NULL, "%s and %s answer", upstream->farm.metadata,
				upstream->farm.blobs);
		else
			say(d, DOCTOR_WARN, "farm",
				"until it answers, everything is cooked here; 'hob farm init' says what is missing", "%s",
				exchange.error.context);
		srv_exchange_release(&exchange);
	}
	srv_farm_close(farm);
}

/* Sends the upstream a daemon's usual question, with nothing to look for. */
static void look_at_upstream(doctor *d)
{
	serve_upstream upstream;
	hob_error error = {0};
	if (!srv_serve_upstream_options(&d->config, &upstream, &error)) {
		say(d, DOCTOR_FAIL, "upstream",
			"write the token into that file, or name another with cache.upstream_token_file", "%s",
			error.context);
		return;
	}
	if (!upstream.url)
		return;
	if (upstream.has_farm) {
		look_at_farm(d, &upstream);
		return;
	}
	srv_exchange exchange;
	hob_own_buf records = {0};
	srv_exchange_init(&exchange, upstream.url, upstream.token, NULL, "0");
	srv_exchange_end end = srv_exchange_find(&exchange, NULL, 0, (hob_str){0}, &records);
	srv_exchange_release(&exchange);
	if (end == SRV_EXCHANGE_OK) {
		say(d, DOCTOR_OK, "upstream", NULL, "%s answers; what is cooked here is %s", upstream.url,
			upstream.push ? "given to it, if the token may write" : "not given to it");
		return;
	}
	doctor_item *item = say(d, DOCTOR_WARN, "upstream", NULL, "%s", exchange.error.context);
	if (end == SRV_EXCHANGE_BARRED)
		advise(item,
			   "make a token there with 'hob token create NAME --token-file FILE', and name its file with "
			   "cache.upstream_token_file");
	else if (end == SRV_EXCHANGE_DOWN)
		advise(item, "start it, or correct cache.upstream; until it answers, everything is cooked here");
	else
		advise(item, "cache.upstream must be the address of a Hob of this version or a newer one");
}

/* ---- the command */

static const char *const state_names[] = {"ok", "warn", "fail"};

static void print_people(const doctor *d)
{
	static const char *const colors[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};
	enum { LEFT = 18 };
	bool color = srv_color_wanted(1);
	uint32_t counts[3] = {0};
	for (uint32_t i = 0; i < d->count; i++) {
		const doctor_item *item = &d->items[i];
		counts[item->state]++;
		srv_cli_print_field(LEFT, item->text, "  %s%-4s%s  %-9s ", color ? colors[item->state] : "",
							state_names[item->state], color ? "\x1b[0m" : "", item->name);
		if (item->remedy[0])
			srv_cli_print_field(LEFT + 3, item->remedy, "%*s-> ", LEFT, "");
	}
	printf("\n%u ok, %u warning%s, %u error%s\n", counts[DOCTOR_OK], counts[DOCTOR_WARN],
		   counts[DOCTOR_WARN] == 1 ? "" : "s", counts[DOCTOR_FAIL], counts[DOCTOR_FAIL] == 1 ? "" : "s");
}

static void print_json(const doctor *d, bool fails)
{
	hob_own_buf out = {0};
	hob_json_put(&out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("version", HOB_STR(HOB_VERSION)),
				 HOB_JSON_BOOL("ok", !fails), HOB_JSON_OPEN("checks", '['));
	for (uint32_t i = 0; i < d->count; i++) {
		const doctor_item *item = &d->items[i];
		hob_json_object(&out, HOB_JSON("name", item->name), HOB_JSON("state", state_names[item->state]),
						HOB_JSON("text", item->text), HOB_JSON("remedy", item->remedy));
	}
	hob_json_put(&out, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	printf("%.*s\n", HOB_FMT(hob_buf_str(&out)));
}

static int run_doctor(int argc, char **argv)
{
	static doctor d;
	const char *file = NULL, *cache = NULL;
	bool json = false;
	d = (doctor){.url = srv_cli_default_url()};
	cli_option options[] = {
		{"--config", 0, CLI_TEXT, &file, "FILE", "the configuration file (hob.json here or in a parent)"},
		{"--cache", 0, CLI_TEXT, &cache, "DIR", "the cache folder (from the configuration)"},
		{"--url", 0, CLI_TEXT, &d.url, "URL",
		 "a daemon that may run: HOST:PORT, https://HOST:PORT or unix:/path (127.0.0.1:7780, or $HOB_URL)"},
		CLI_CA_OPTION,
		{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"}};
	int operands = srv_cli_parse(&srv_cli_doctor, options, HOB_COUNT_OF(options), argc, argv);
	hob_error error = {0};
	look_at_config(&d, file);
	if (d.has_config && cache &&
		!srv_config_set(&d.config, SRV_CONFIG_cache, cache, SRV_CONFIG_OPTION, "--cache", &error))
		return srv_cli_usage_error(&srv_cli_doctor, "%s", error.context);
	look_at_worker(&d);
	if (d.has_config) {
		look_at_folders(&d, argv + 1, operands);
		look_at_cache(&d);
		look_at_upstream(&d);
		look_at_limits(&d);
	}
	look_at_daemon(&d);
	look_at_roots(&d);
	if (d.has_config) {
		look_at_lock(&d);
		look_at_addresses(&d);
	}
	bool fails = false;
	for (uint32_t i = 0; i < d.count; i++)
		fails = fails || d.items[i].state == DOCTOR_FAIL;
	if (json)
		print_json(&d, fails);
	else
		print_people(&d);
	if (d.has_config)
		srv_config_release(&d.config);
	return fails ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}

const cli_command srv_cli_doctor = {
	"doctor", "[DIR...]", "check folders, limits, disk, sandbox, versions and ports",
	"Checks everything that 'hob serve' needs with the same DIRs and configuration, and gives the remedy for "
	"each problem. Exit code 0: no problems, 1: at least one.\n"
	"\n"
	"Examples:\n"
	"  hob doctor\n"
	"  hob doctor art/ --json | jq '.checks[] | select(.state != \"ok\")'\n",
	run_doctor};
