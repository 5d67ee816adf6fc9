#include "machine.h"

#include "../../core/base/pieces.h"
#include "../fs/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* File names in one version of control groups. */
typedef struct group_kind {
	const char *mount, *limit, *usage, *reclaimable, *events, *killed;
} group_kind;
static const group_kind kinds[] = {
	{"/sys/fs/cgroup", "memory.max", "memory.current", "\ninactive_file ", "memory.events", "oom_kill "},
	{"/sys/fs/cgroup/unified", "memory.max", "memory.current", "\ninactive_file ", "memory.events",
	 "oom_kill "},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "\ntotal_inactive_file ",
	 "memory.oom_control", "oom_kill "},
};
enum { V1 = 2, TEXT_MAX = 16384 };

static bool read_text(const char *root, const char *folder, const char *name, char out[TEXT_MAX])
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof path, "%s%s%s", root, folder, name);
	out[0] = 0;
	return length < (int)sizeof path && srv_read_text(AT_FDCWD, path, out, TEXT_MAX);
}

/* The number after `name`; `otherwise` if there is none, as for "max". */
static uint64_t number_after(const char *text, const char *name, uint64_t otherwise)
{
	const char *at = strstr(text, name);
	at = at ? at + strlen(name) : "";
	at += strspn(at, " \t");
	return *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : otherwise;
}

/* Finds a group in lines of /proc/self/cgroup: "4:memory:/a/b" of v1, "0::/a/b" of v2. */
static bool find_group(const char *text, bool v1, const char *controller, char *out, size_t room)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			return false;
		hob_str list = {names + 1, (size_t)(path - names - 1)}, name = {0};
		bool has = false;
		for (hob_str rest = list; !has && hob_str_piece(&rest, ',', &name);)
			has = hob_str_equal(name, hob_str_of(controller));
		if (v1 ? has : list.len == 0) {
			snprintf(out, room, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
			return true;
		}
	}
	return false;
}

static void narrow_memory(const char *root, const group_kind *kind, const char *folder, void *user)
{
	char text[TEXT_MAX];
	srv_memory *out = user;
	uint64_t limit =
		read_text(root, folder, kind->limit, text) ? number_after(text, "", UINT64_MAX) : UINT64_MAX;
	if (limit >= INT64_MAX / 2) /* in v1 such a value means no limit */
		return;
	uint64_t used = read_text(root, folder, kind->usage, text) ? number_after(text, "", 0) : 0;
	uint64_t cached =
		read_text(root, folder, "memory.stat", text) ? number_after(text, kind->reclaimable, 0) : 0;
	used -= cached < used ? cached : used;
	uint64_t left = limit > used ? limit - used : 0;
	if (limit < out->total) {
		out->total = limit;
		out->contained = true;
	}
	out->available = left < out->available ? left : out->available;
}

/* Applies the limits of each group from this process's own to the outermost. Groups outside this container's
 * view are missing. */
static void narrow_all(const char *root, const group_kind *kind, char *path,
					   void (*narrow)(const char *root, const group_kind *kind, const char *folder,
									  void *user),
					   void *user)
{
	char folder[PATH_MAX];
	for (;;) {
		while (*path && path[strlen(path) - 1] == '/')
			path[strlen(path) - 1] = 0;
		if (snprintf(folder, sizeof folder, "%s%s/", kind->mount, path) < (int)sizeof folder)
			narrow(root, kind, folder, user);
		char *slash = strrchr(path, '/');
		if (!slash)
			return;
		*slash = 0;
	}
}

void srv_machine_memory(const char *root, srv_memory *out)
{
	char text[TEXT_MAX], path[PATH_MAX];
	bool known = read_text(root, "/proc/", "meminfo", text);
	uint64_t total = known ? number_after(text, "MemTotal:", UINT64_MAX) : UINT64_MAX;
	uint64_t available = known ? number_after(text, "MemAvailable:", UINT64_MAX) : UINT64_MAX;
	*out = (srv_memory){.total = total < UINT64_MAX / 1024 ? total * 1024 : UINT64_MAX,
						.available = available < UINT64_MAX / 1024 ? available * 1024 : UINT64_MAX};
	if (!read_text(root, "/proc/self/", "cgroup", text))
		return;
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		if (find_group(text, i == V1, "memory", path, sizeof path))
			narrow_all(root, &kinds[i], path, narrow_memory, out);
}

/* "200000 100000" in cpu.max of v2: two processors. */
static void narrow_cpus(const char *root, const group_kind *kind, const char *folder, void *user)
{
	char text[TEXT_MAX], other[TEXT_MAX];
	uint32_t *cpus = user;
	bool v1 = !kind->limit;
	bool known = read_text(root, folder, v1 ? "cpu.cfs_quota_us" : "cpu.max", text) &&
				 (!v1 || read_text(root, folder, "cpu.cfs_period_us", other));
	uint64_t quota = known ? number_after(text, "", 0) : 0,
			 period = known ? number_after(v1 ? other : text, v1 ? "" : " ", 0) : 0;
	if (quota > 0 && period > 0 && quota / period < *cpus)
		*cpus = quota < period ? 1 : (uint32_t)(quota / period);
}

uint32_t srv_machine_cpus(const char *root, uint32_t cpus)
{
	static const group_kind v1 = {.mount = "/sys/fs/cgroup/cpu"};
	char text[TEXT_MAX], path[PATH_MAX];
	bool known = read_text(root, "/proc/self/", "cgroup", text);
	for (size_t i = 0; known && i < HOB_COUNT_OF(kinds); i++)
		if (find_group(text, i == V1, "cpu", path, sizeof path))
			narrow_all(root, i == V1 ? &v1 : &kinds[i], path, narrow_cpus, &cpus);
	return cpus;
}

uint64_t srv_machine_oom_kills(const char *root)
{
	char text[TEXT_MAX], groups[TEXT_MAX], path[PATH_MAX], folder[PATH_MAX];
	uint64_t none = UINT64_MAX, count;
	bool known = read_text(root, "/proc/self/", "cgroup", groups);
	for (size_t i = 0; known && i < HOB_COUNT_OF(kinds); i++) {
		if (!find_group(groups, i == V1, "memory", path, sizeof path))
			continue;
		/* A container may see its own group as the outermost one. */
		for (const char *own = path;; own = "") {
			int length = snprintf(folder, sizeof folder, "%s%s/", kinds[i].mount, own);
			if (length < (int)sizeof folder && read_text(root, folder, kinds[i].events, text) &&
				(count = number_after(text, kinds[i].killed, none)) != none)
				return count;
			if (*own == 0)
				break;
		}
	}
	return read_text(root, "/proc/", "vmstat", text) ? number_after(text, "\noom_kill ", 0) : 0;
}

void srv_machine_facts(const srv_memory *memory, char *out, size_t room)
{
	struct utsname name = {0};
	uname(&name);
	snprintf(out, room, "linux %.40s, %ld cpus, %llu MiB", name.release, sysconf(_SC_NPROCESSORS_ONLN),
			 (unsigned long long)(memory->total == UINT64_MAX ? 0 : memory->total >> 20));
}
