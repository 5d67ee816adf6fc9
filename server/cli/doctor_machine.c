#include "doctor.h"
#include "query.h"
#include "serve_config.h"
#include "preflight.h"

#include "../http/http.h"
#include "../log/log.h"
#include "../fs/mounts.h"
#include "../worker/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

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
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "clock", "it is the year %d", parts.tm_year + 1900),
						  "set the clock: timedatectl set-ntp true");
	else if (skew > SKEW_S || skew < -SKEW_S)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "clock",
										 "the cache's file system is %lld s off this machine's clock",
										 (long long)skew),
						  "set both machines' clocks: timedatectl set-ntp true");
	else
		srv_doctor_say(d, DOCTOR_OK, "clock", "%04d-%02d-%02d, as the cache's disk has it",
					   parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
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
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_FAIL, "disk", "%s free for '%s'", free_text, path),
						  "free some space, or keep the cache elsewhere: --cache DIR");
	else if (room < little)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "disk", "%s free for '%s'", free_text, path),
						  "free some space, or bound the cache: --max-size");
	else if (limit > room && limit > 0)
		srv_doctor_say(d, DOCTOR_OK, "disk", "%s free for '%s'; its limit of %s is more", free_text, path,
					   limit_text);
	else
		srv_doctor_say(d, DOCTOR_OK, "disk", "%s free for '%s'", free_text, path);
}

void srv_doctor_look_at_cache(doctor *d)
{
	char found[4096];
	const char *path = srv_config_text(&d->config, SRV_CONFIG_cache);
	int fd = open_nearest(path, found);
	if (fd < 0) {
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_FAIL, "cache", "'%s' cannot be opened: %s", found, strerror(errno)),
			"correct cache.dir, or let the user that runs hob read and write it");
		return;
	}
	const char *mount = srv_network_mount(fd);
	if (faccessat(fd, ".", W_OK, AT_EACCESS) != 0)
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_FAIL, "cache", "'%s' cannot be written: %s", found, strerror(errno)),
			"let the user that runs hob write there, or keep the cache elsewhere: --cache DIR");
	else if (mount)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "cache",
										 "'%s' is on %s, where the index is slow and locks may not hold",
										 path, mount),
						  "keep the cache on a disk of this machine: --cache DIR");
	else
		srv_doctor_say(d, DOCTOR_OK, "cache", "'%s'%s on %s", path,
					   strcmp(found, path) == 0 ? "" : " will be made", srv_file_system(fd));
	look_at_room(d, path, fd);
	look_at_clock(d, fd);
	close(fd);
}

/* ---- limits of this machine */

void srv_doctor_look_at_limits(doctor *d)
{
	enum { FEW_FILES = 4096 };
	struct rlimit files = {0};
	char each[32], all[32];
	srv_http_options http;
	uint32_t blobs;
	srv_serve_http_options(&d->config, &http);
	bool few = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < FEW_FILES;
	doctor_item *item = srv_doctor_say(
		d, few ? DOCTOR_WARN : DOCTOR_OK, "files", "%llu open files at most, for %u clients at once",
		(unsigned long long)files.rlim_max, srv_http_room(files.rlim_max, http.threads, &blobs));
	if (few)
		srv_doctor_advise(item, "each takes two: raise LimitNOFILE of the service, or 'ulimit -Hn'");
	srv_engine_options engine;
	srv_serve_engine_options(&d->config, &engine);
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t workers = engine.pool.workers ? engine.pool.workers : cores > 0 ? (uint64_t)cores : 1;
	srv_text_bytes(engine.pool.memory_limit, each);
	srv_text_bytes(memory, all);
	if (engine.pool.memory_limit > memory)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "memory",
										 "one cook may take %s, and the machine has %s", each, all),
						  "a large model could stop it: lower cook.memory_limit");
	else
		srv_doctor_say(d, DOCTOR_OK, "memory", "%s; %llu cook processes of at most %s each", all,
					   (unsigned long long)workers, each);
}

/* ---- a running daemon */

void srv_doctor_look_at_daemon(doctor *d)
{
	cli_response response;
	hob_error error = {0};
	int status;
	cJSON *about = srv_cli_try_json(d->url, "/api/v1", &status);
	if (status == 0) {
		srv_doctor_say(d, DOCTOR_OK, "daemon", "none runs at %s", d->url);
		return;
	}
	bool is_hob = strcmp(srv_cli_text(about, "name"), "hob") == 0;
	snprintf(d->daemon_version, sizeof d->daemon_version, "%s", srv_cli_text(about, "version"));
	d->daemon_runs = is_hob;
	if (status == 401 || status == 403)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "daemon", "%s asks for a token", d->url),
						  "set HOB_TOKEN");
	else if (!is_hob)
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_WARN, "daemon", "what answers at %s is no Hob daemon", d->url),
			"serve elsewhere: hob serve --listen 127.0.0.1:PORT");
	else if (strcmp(d->daemon_version, HOB_VERSION) != 0)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "daemon", "%s runs hob %s, and this is hob %s",
										 d->url, d->daemon_version, HOB_VERSION),
						  "start it again with the installed program");
	else
		srv_doctor_say(d, DOCTOR_OK, "daemon", "hob %s runs at %s", d->daemon_version, d->url);
	cJSON_Delete(about);
	if (!is_hob || !srv_cli_request(d->url, "GET", "/readyz", NULL, (hob_str){0}, &response, &error))
		return;
	hob_str why = hob_buf_str(&response.body);
	while (why.len > 0 && why.data[why.len - 1] == '\n')
		why.len--;
	if (response.status != 200)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_FAIL, "daemon", "it is not ready: %.*s", HOB_FMT(why)),
						  "its log tells more; 'hob status' shows what it does");
	srv_cli_response_release(&response);
}

/* ---- the cache's owner */

void srv_doctor_look_at_lock(doctor *d)
{
	const char *cache = srv_config_text(&d->config, SRV_CONFIG_cache);
	hob_buf path = {0};
	hob_buf_printf(&path, "%s/lock", cache);
	hob_buf_put(&path, "", 1);
	int fd = path.failed ? -1 : open((const char *)path.data, O_RDONLY | O_CLOEXEC);
	hob_buf_release(&path);
	if (fd < 0)
		return;
	bool taken = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	char pid[24] = {0};
	if (taken && pread(fd, pid, sizeof pid - 1, 0) <= 0)
		snprintf(pid, sizeof pid, "unknown");
	close(fd);
	pid[strcspn(pid, "\n")] = 0;
	if (taken && d->daemon_runs)
		srv_doctor_say(d, DOCTOR_OK, "cache",
					   "'%s' is used by a Hob that runs (pid %s); a second one would be refused", cache, pid);
	else if (taken)
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_FAIL, "cache", "another Hob (pid %s) uses '%s'", pid, cache),
			"stop it, or choose another folder with --cache");
}

/* ---- addresses */

static void say_taken(doctor *d, const char *address, int why)
{
	if (why == EADDRINUSE && d->daemon_runs)
		srv_doctor_say(d, DOCTOR_OK, "address", "%s is in use, by the daemon that runs", address);
	else if (why == EADDRINUSE)
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_FAIL, "address", "%s is in use by another program", address),
			"serve elsewhere: --listen 127.0.0.1:PORT; 'ss -ltnp' names the program");
	else
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_FAIL, "address", "%s cannot be served: %s", address, strerror(why)),
			"correct server.listen or --listen");
}

static void look_at_address(doctor *d, const char *address)
{
	char host[256];
	snprintf(host, sizeof host, "%s", address);
	char *colon = strrchr(host, ':');
	if (strncmp(address, "unix:", 5) == 0) {
		srv_doctor_say(d, DOCTOR_OK, "address", "%s", address);
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
		srv_doctor_say(d, DOCTOR_OK, "address", "%s is free", address);
	else
		say_taken(d, address, why);
}

void srv_doctor_look_at_addresses(doctor *d)
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
	srv_doctor_say(t->d, DOCTOR_OK, "programs",
				   "hob %s and its hob-worker, which reads %u kinds of model files", HOB_VERSION, formats);
	srv_doctor_say(t->d, DOCTOR_OK, "libraries", "%.*s", HOB_FMT(library));
	const char *sandbox = srv_pool_sandbox(t->pool);
	if (strstr(sandbox, "no "))
		srv_doctor_advise(
			srv_doctor_say(t->d, DOCTOR_WARN, "sandbox", "%s", sandbox),
			"a damaged model could reach more than it should: a kernel from 5.13 with landlock in "
			"lsm=, a container "
			"that allows both; --sandbox require refuses to cook without");
	else
		srv_doctor_say(t->d, DOCTOR_OK, "sandbox", "%s", sandbox);
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
	srv_doctor_advise(srv_doctor_say(t->d, DOCTOR_FAIL, "programs", "%s", why->context),
					  "put the hob-worker of hob %s beside hob, or install Hob again", HOB_VERSION);
	end_trial(t);
}

static void on_deadline(uv_timer_t *timer)
{
	trial *t = timer->data;
	srv_doctor_say(t->d, DOCTOR_FAIL, "programs", "hob-worker did not start in time");
	end_trial(t);
}

static void look_for_thumbnails(doctor *d)
{
	char self[3072];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 32);
	if (length <= 0)
		return;
	self[length] = 0;
	strcpy(strrchr(self, '/') + 1, "hob-thumbnail");
	if (access(self, X_OK) != 0)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "programs",
										 "hob-thumbnail is not beside hob: assets have no pictures"),
						  "it is built where OpenGL ES and EGL are installed; nothing else needs it");
}

void srv_doctor_look_at_worker(doctor *d)
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
		srv_doctor_say(d, DOCTOR_FAIL, "programs", "%s", error.context);
		return;
	}
	uv_timer_init(&t.loop, &t.deadline);
	t.deadline.data = &t;
	if (srv_pool_new(&t.loop, &options, &callbacks, &t.pool, &error)) {
		uv_timer_start(&t.deadline, on_deadline, START_MS, 0);
	} else {
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_FAIL, "programs", "%s", error.context),
						  "install Hob again");
		uv_close((uv_handle_t *)&t.deadline, NULL);
	}
	uv_run(&t.loop, UV_RUN_DEFAULT);
	uv_loop_close(&t.loop);
	look_for_thumbnails(d);
}
