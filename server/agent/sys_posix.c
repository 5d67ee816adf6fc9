#include "sys.h"

#ifdef __linux__
#include "../fs/beneath.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

struct sys_file {
	int fd;
};

static sys_stat stat_of(const struct stat *info)
{
	return (sys_stat){.size = (uint64_t)info->st_size,
					  .id = (uint64_t)info->st_ino,
					  .mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec,
					  .ctime_ns = (int64_t)info->st_ctim.tv_sec * 1000000000 + info->st_ctim.tv_nsec};
}

static sys_kind kind_of(const struct stat *info)
{
	return S_ISREG(info->st_mode)	? SYS_FILE
		   : S_ISDIR(info->st_mode) ? SYS_FOLDER
		   : S_ISLNK(info->st_mode) ? SYS_LINK
									: SYS_OTHER;
}

static bool whole(const char *folder, hob_str path, char out[PATH_MAX])
{
	int size = snprintf(out, PATH_MAX, "%s%s%.*s", folder, path.len > 0 ? "/" : "", HOB_FMT(path));
	return size > 0 && size < PATH_MAX;
}

static bool is_gone(int code)
{
	return code == ENOENT || code == ENOTDIR || code == ELOOP || code == ENAMETOOLONG;
}

sys_kind sys_look(const char *folder, hob_str path, sys_stat *out)
{
	char name[PATH_MAX];
	struct stat info;
	if (!whole(folder, path, name))
		return SYS_NONE;
	if ((path.len > 0 ? lstat(name, &info) : stat(name, &info)) != 0)
		return is_gone(errno) ? SYS_NONE : SYS_UNKNOWN;
	if (out)
		*out = stat_of(&info);
	return kind_of(&info);
}

bool sys_list(const char *folder, hob_str path, sys_item *item, void *user)
{
	char name[PATH_MAX];
	DIR *open_folder = whole(folder, path, name) ? opendir(name) : NULL;
	if (!open_folder)
		return false;
	struct dirent *entry;
	bool all = true;
	while (errno = 0, (entry = readdir(open_folder))) {
		struct stat info;
		hob_str text = hob_str_of(entry->d_name);
		if (hob_str_equal(text, HOB_STR(".")) || hob_str_equal(text, HOB_STR("..")))
			continue;
		if (fstatat(dirfd(open_folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
			all = all && is_gone(errno);
			continue;
		}
		sys_stat stat = stat_of(&info);
		item(user, text, kind_of(&info), &stat, NULL);
	}
	all = all && errno == 0;
	closedir(open_folder);
	return all;
}

sys_file *sys_open(const char *folder, hob_str path, bool *locked)
{
	char name[PATH_MAX];
	struct stat info;
	int fd = whole(folder, path, name) ? open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	bool known = fd >= 0 && fstat(fd, &info) == 0, good = known && S_ISREG(info.st_mode);
	*locked = fd < 0 ? !is_gone(errno) : !known;
#ifdef __linux__
	*locked = *locked || (good && srv_is_being_written(fd, &info));
#endif
	sys_file *file = good && !*locked ? malloc(sizeof *file) : NULL;
	if (file)
		file->fd = fd;
	else if (fd >= 0)
		close(fd);
	*locked = *locked || (good && !file);
	return file;
}

bool sys_stat_open(sys_file *file, sys_stat *out)
{
	struct stat info;
	bool ok = fstat(file->fd, &info) == 0;
	if (ok)
		*out = stat_of(&info);
	return ok;
}

bool sys_seek(sys_file *file, uint64_t to)
{
	return lseek(file->fd, (off_t)to, SEEK_SET) == (off_t)to;
}

int64_t sys_read(sys_file *file, void *out, size_t room)
{
	ssize_t got;
	do
		got = read(file->fd, out, room);
	while (got < 0 && errno == EINTR);
	return got;
}

void sys_close(sys_file *file)
{
	close(file->fd);
	free(file);
}

void sys_who(char *out, size_t room)
{
	char host[256] = "machine";
	const struct passwd *user = getpwuid(getuid());
	gethostname(host, sizeof host - 1);
	snprintf(out, room, "%.100s@%.100s", user ? user->pw_name : "user", host);
}

static bool make_folders(char *path)
{
	for (char *at = path + 1; *at; at++)
		if (*at == '/') {
			*at = 0;
			mkdir(path, 0700);
			*at = '/';
		}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool sys_state_folder(char *out, size_t room)
{
	const char *own = getenv("HOB_AGENT_STATE"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int size = own && own[0] == '/'		  ? snprintf(out, room, "%s", own)
			   : state && state[0] == '/' ? snprintf(out, room, "%s/hob-agent", state)
			   : home && home[0] == '/'	  ? snprintf(out, room, "%s/.local/state/hob-agent", home)
										  : -1;
	return size > 0 && (size_t)size < room && make_folders(out);
}

bool sys_read_whole(const char *path, hob_buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : 1;
	while (got > 0) {
		char bytes[16384];
		got = read(fd, bytes, sizeof bytes);
		if (got > 0)
			hob_buf_put(out, bytes, (size_t)got);
	}
	if (fd >= 0)
		close(fd);
	return got == 0 && !out->failed;
}

bool sys_replace(const char *path, hob_bytes bytes)
{
	char temporary[PATH_MAX];
	snprintf(temporary, sizeof temporary, "%s.new", path);
	FILE *file = fopen(temporary, "wb");
	bool ok = file && (bytes.size == 0 || fwrite(bytes.data, 1, bytes.size, file) == bytes.size);
	if (file)
		ok = fclose(file) == 0 && ok;
	return ok && rename(temporary, path) == 0;
}

bool sys_lock(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
	mkdir(folder, 0700);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return true; /* kept open until the process ends */
	if (fd >= 0)
		close(fd);
	return false;
}

bool sys_whole_path(const char *path, char *out, size_t room)
{
	char real[PATH_MAX];
	struct stat info;
	if (!realpath(path, real) || stat(real, &info) != 0 || !S_ISDIR(info.st_mode) || strlen(real) >= room)
		return false;
	memcpy(out, real, strlen(real) + 1);
	return true;
}

void sys_begin(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	signal(SIGPIPE, SIG_IGN);
}
