#include "doctor.h"
#include "query.h"

#include "../fs/mounts.h"
#include "../fs/whole_path.h"
#include "../settings/sidecar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WALK_MS = 5000, DEPTH_MAX = 128 };

typedef struct walk {
	uint64_t folders, files, unreadable, future;
	uint64_t strays;
	char first_unreadable[256], first_future[256], first_stray[256], stray_model[NAME_MAX + 1];
	int64_t now_s, deadline_ms;
	bool late;
} walk;

static int64_t clock_ms(clockid_t which)
{
	struct timespec now;
	clock_gettime(which, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	if (!list) {
		if (fd >= 0)
			close(fd);
		if (w->unreadable++ == 0)
			snprintf(w->first_unreadable, sizeof w->first_unreadable, "%s", path);
		return;
	}
	w->folders++;
	for (struct dirent *entry; (entry = readdir(list));) {
		w->late = w->late || clock_ms(CLOCK_MONOTONIC) > w->deadline_ms;
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
	closedir(list);
}

static void say_walk(doctor *d, const char *path, const walk *w)
{
	char files[48], folders[48];
	srv_cli_count((double)w->files, "file", files);
	srv_cli_count((double)w->folders, "folder", folders);
	if (w->late)
		srv_doctor_say(d, DOCTOR_OK, "folder", "%s: more than %s in %s (looked at for %d s)", path, files,
					   folders, WALK_MS / 1000);
	else
		srv_doctor_say(d, DOCTOR_OK, "folder", "%s: %s in %s", path, files, folders);
	if (w->unreadable > 0)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "folder", "%s cannot be read, first '%s'",
										 srv_cli_count((double)w->unreadable, "folder", folders),
										 w->first_unreadable),
						  "models there are not seen: chmod o+rx, or run hob as their owner");
	if (w->strays > 0)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "settings", "%s of no model, first '%s'",
										 srv_cli_count((double)w->strays, "settings file", files),
										 w->first_stray),
						  "name it as the model with its ending: %s.cook.json", w->stray_model);
	if (w->future > 0)
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_WARN, "clock", "%s from the future, first '%s'",
						   srv_cli_count((double)w->future, "file", files), w->first_future),
			"the clock here or where it was saved is wrong: timedatectl; it is cooked all the same");
}

static void look_at_folder(doctor *d, const char *path)
{
	struct stat info;
	if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_FAIL, "folder", "'%s' %s%s", path,
										 errno ? "cannot be opened: " : "is not a folder",
										 errno ? strerror(errno) : ""),
						  "mount or create it, or correct 'sources' in hob.json");
		return;
	}
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_FAIL, "folder", "'%s' cannot be read: %s", path, strerror(errno)),
			"let the user that runs hob read it: chmod o+rx '%s'", path);
		return;
	}
	const char *mount = srv_silent_mount(fd);
	walk w = {.now_s = clock_ms(CLOCK_REALTIME) / 1000, .deadline_ms = clock_ms(CLOCK_MONOTONIC) + WALK_MS};
	walk_folder(&w, fd, ".", path, 0);
	close(fd);
	say_walk(d, path, &w);
	d->folder_count += w.folders;
	d->file_count += w.files;
	if (mount)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "folder",
										 "%s is on %s, which brings no events of other machines", path,
										 mount),
						  "it is looked at every 2 s instead; run hob where the files are for less delay");
}

/* The name that `hob serve` gives the folder. */
static const char *source_name(const srv_config_source *source, const char *path)
{
	const char *slash = strrchr(path, '/');
	return source->name[0] ? source->name : slash && slash[1] ? slash + 1 : "root";
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
				srv_config_are_profiles(source_name(&sources[a], paths[a]),
										source_name(&sources[b], paths[b])))
				continue;
			if (a < b && same)
				srv_doctor_advise(srv_doctor_say(d, DOCTOR_FAIL, "folder", "'%s' is given twice", paths[a]),
								  "name each folder once");
			else if (!same && srv_path_below(paths[b], paths[a]))
				srv_doctor_advise(
					srv_doctor_say(d, DOCTOR_WARN, "folder", "'%s' lies in '%s'", paths[a], paths[b]),
					"its models are cooked under two names; leave it out of one with 'exclude'");
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
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "inotify", "the kernel tells no limit of watches"),
						  "without inotify folders are looked at every 2 s");
	else if ((uint64_t)watches < d->folder_count)
		srv_doctor_advise(
			srv_doctor_say(d, DOCTOR_WARN, "inotify", "%llu folders, and the kernel allows %ld watches",
						   folders, watches),
			"sudo sysctl fs.inotify.max_user_watches=%llu; until then folders are looked at every 2 s",
			folders * 2 > 524288 ? folders * 2 : 524288ull);
	else if ((uint64_t)watches < d->folder_count * 2)
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_WARN, "inotify",
										 "%llu folders of at most %ld watches, which all programs share",
										 folders, watches),
						  "sudo sysctl fs.inotify.max_user_watches=%llu", folders * 4);
	else
		srv_doctor_say(d, DOCTOR_OK, "inotify", "%s, %ld watches allowed, %ld events queued at most",
					   srv_cli_count((double)folders, "folder", count), watches, events);
}

void srv_doctor_look_at_folders(doctor *d, char **folders, int count)
{
	uint32_t used = 0, given = count > 0 ? (uint32_t)count : d->config.source_count;
	char **paths = calloc(given + 1, sizeof *paths);
	char here[] = ".";
	for (uint32_t i = 0; paths && (i < given || (given == 0 && i == 0)); i++) {
		const char *path = given == 0 ? here : count > 0 ? folders[i] : d->config.sources[i].path;
		paths[used] = realpath(path, NULL);
		errno = 0;
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
