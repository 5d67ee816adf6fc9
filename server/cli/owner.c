#include "owner.h"

#include "query.h"

#include "../../core/base/json_write.h"
#include "../config/config.h"
#include "../fs/fd.h"
#include "../fs/transfer.h"
#include "../fs/whole_path.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char file_name[] = "daemon.json";

/* Refuses (-1) a file that neither this user nor root has written, as HOB_TOKEN is sent to its address. */
static ssize_t read_file(const char *path, char *out, size_t room)
{
	struct stat info;
	srv_own_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool trusted = fd >= 0 && fstat(fd, &info) == 0 && (info.st_uid == geteuid() || info.st_uid == 0);
	ssize_t got = trusted ? read(fd, out, room - 1) : -1;
	out[got > 0 ? got : 0] = 0;
	return got;
}

/* ---- used by the daemon */

/* "hob.service", if a service manager started this very process. */
static void find_unit(char out[100])
{
	char text[2048];
	const char *started = getenv("SYSTEMD_EXEC_PID");
	out[0] = 0;
	if (!started || atol(started) != (long)getpid() || read_file("/proc/self/cgroup", text, sizeof text) <= 0)
		return;
	text[strcspn(text, "\n")] = 0;
	const char *slash = strrchr(text, '/');
	if (slash && strstr(slash, ".service"))
		snprintf(out, 100, "%.99s", slash + 1);
}

void srv_owner_note(const char *cache, const char *url)
{
	char path[PATH_MAX], part[PATH_MAX], unit[100];
	hob_own_buf text = {0};
	find_unit(unit);
	hob_json_object(&text, HOB_JSON("pid", (uint64_t)getpid()), HOB_JSON("url", url), HOB_JSON("unit", unit));
	bool fits = snprintf(path, sizeof path, "%s/%s", cache, file_name) < (int)sizeof path &&
				snprintf(part, sizeof part, "%s/tmp/%s", cache, file_name) < (int)sizeof part;
	int fd = fits && !text.failed ? open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
	bool ok = fd >= 0 && srv_write_all(fd, text.data, text.size);
	if (fd >= 0)
		close(fd);
	if (!ok || rename(part, path) != 0)
		(void)unlink(part);
}

void srv_owner_forget(const char *cache)
{
	char path[PATH_MAX];
	cli_owner owner;
	if (srv_owner_of_cache(cache, &owner) && owner.pid == (long)getpid() &&
		snprintf(path, sizeof path, "%s/%s", cache, file_name) < (int)sizeof path)
		(void)unlink(path);
}

/* ---- used by commands */

/* Whether the daemon that wrote the file still runs: a killed one leaves the file behind. */
static bool is_running(const char *cache, long pid)
{
	char path[PATH_MAX], text[64];
	snprintf(path, sizeof path, "%.4000s/lock", cache);
	if (read_file(path, text, sizeof text) <= 0 || atol(text) != pid)
		return false;
	return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

bool srv_owner_of_cache(const char *cache, cli_owner *out)
{
	char text[2048];
	if (snprintf(out->cache, sizeof out->cache, "%s/%s", cache, file_name) >= (int)sizeof out->cache ||
		read_file(out->cache, text, sizeof text) <= 0)
		return false;
	snprintf(out->cache, sizeof out->cache, "%.4000s", cache);
	hob_own_json *json = cJSON_Parse(text);
	double pid = srv_cli_number(json, "pid");
	out->pid = pid > 1 && pid < INT_MAX ? (long)pid : 0;
	snprintf(out->url, sizeof out->url, "%s", srv_cli_text(json, "url"));
	snprintf(out->unit, sizeof out->unit, "%s", srv_cli_text(json, "unit"));
	return out->pid > 0 && out->url[0] && is_running(cache, out->pid);
}

static bool has_configured_cache(cli_owner *out)
{
	srv_config config;
	hob_error ignored;
	bool found = srv_config_load(&config, NULL, &ignored) &&
				 srv_owner_of_cache(srv_config_text(&config, SRV_CONFIG_cache), out);
	srv_config_release(&config);
	return found;
}

bool srv_owner_of_folder(const char *folder, cli_owner *out)
{
	char path[PATH_MAX], cache[PATH_MAX + 8];
	if (!realpath(folder, path))
		return false;
	for (char *end = path + strlen(path); end > path; end = strrchr(path, '/')) {
		*end = 0;
		snprintf(cache, sizeof cache, "%s/.hob", path);
		if (srv_owner_of_cache(cache, out))
			return true;
	}
	return strcmp(folder, ".") == 0 && has_configured_cache(out);
}

bool srv_owner_is_here(const char *who, const char *url)
{
	static enum { UNKNOWN, HERE, ELSEWHERE } known = UNKNOWN;
	char here[PATH_MAX];
	if (known != UNKNOWN || url != srv_cli_fallback_url || !getcwd(here, sizeof here))
		return known != ELSEWHERE;
	known = HERE;
	hob_own_json *roots = srv_cli_try_json(url, "/api/v1/roots", NULL);
	const cJSON *root, *items = srv_cli_member(roots, "items");
	bool found = cJSON_GetArraySize(items) == 0;
	hob_own_buf folders = {0};
	srv_cli_plain_json(roots);
	cJSON_ArrayForEach(root, items)
	{
		const char *path = srv_cli_text(root, "path");
		found = found || srv_path_below(path, here) || srv_path_below(here, path);
		hob_buf_printf(&folders, "%s%s", folders.size > 0 ? ", " : "", path);
	}
	if (!who) {
		known = UNKNOWN;
	} else if (!found) {
		known = ELSEWHERE;
		fprintf(stderr, "%s: no daemon watches this folder; the one at %s answers, which watches %.*s\n", who,
				url, HOB_FMT(hob_buf_str(&folders)));
	}
	return found;
}

bool srv_owner_is_wrong(const char *who, const char *url, const char *name, int *code)
{
	if (srv_owner_is_here(who, url) || access(name, F_OK) != 0)
		return false;
	fprintf(stderr,
			"%s: '%s' is a file that no daemon watches; 'hob serve' starts one here, --url names another\n",
			who, name);
	*code = EXIT_USAGE;
	return true;
}
