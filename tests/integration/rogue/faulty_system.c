/* Preloaded into a program, makes chosen system calls fail. A test selects them at any time in the file
 * HOB_TEST_FAULTS, which both map as a struct page: it sets kinds, errno, first and times, then `armed`.
 * Child processes are not affected. faulty.py repeats the layout. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct page {
	atomic_uint armed;	   /* 0: every call succeeds */
	int error;			   /* errno of a call that fails */
	uint32_t first, times; /* number of the first failing call, from 1; how many fail, 0: all later ones */
	atomic_uint seen, failed;
	char kinds[128]; /* kinds of call, each between blanks */
	char part[256];	 /* only calls with a path that contains this; empty: all */
	char where[512]; /* path of the newest failed call */
} page;

static page *faults;
static pid_t owner;
static uintptr_t text_begin, text_end; /* of the program's own code */

static int find_text(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	(void)user;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			text_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			text_end = text_begin + info->dlpi_phdr[i].p_memsz;
		}
	return 1; /* the program comes first */
}

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("HOB_TEST_FAULTS");
	unsetenv("LD_PRELOAD");
	int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
	void *at = fd >= 0 ? mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (fd >= 0)
		close(fd);
	dl_iterate_phdr(find_text, NULL);
	owner = getpid();
	if (at != MAP_FAILED)
		faults = at;
}

static void place_of(int fd, const char *path, char out[PATH_MAX + 512])
{
	char self[32];
	size_t len = 0;
	out[0] = 0;
	if ((!path || path[0] != '/') && fd != AT_FDCWD) {
		snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
		ssize_t size = readlink(self, out, 511);
		len = size > 0 ? (size_t)size : 0;
		out[len] = 0;
	}
	if (path)
		snprintf(out + len, PATH_MAX, "%s%s", len ? "/" : "", path);
}

static bool fails(const char *kind, int fd, const char *path)
{
	page *f = faults;
	char place[PATH_MAX + 512] = "", word[32];
	if (!f || !atomic_load(&f->armed) || getpid() != owner)
		return false;
	snprintf(word, sizeof word, " %s ", kind);
	if (!strstr(f->kinds, word))
		return false;
	int before = errno;
	if (path || fd >= 0)
		place_of(fd, path, place);
	errno = before;
	if (f->part[0] && !strstr(place, f->part))
		return false;
	uint32_t number = atomic_fetch_add(&f->seen, 1) + 1;
	if (number < f->first || (f->times > 0 && number >= f->first + f->times))
		return false;
	snprintf(f->where, sizeof f->where, "%s %.480s", kind, place);
	atomic_fetch_add(&f->failed, 1);
	errno = f->error;
	return true;
}

#define REAL(name)                                                                                           \
	static __typeof__(&name) real;                                                                           \
	if (!real)                                                                                               \
	real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static mode_t mode_of(int flags, va_list args)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

static const char *opening(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? "create" : "open";
}

#define OPEN(name)                                                                                           \
	int name(const char *path, int flags, ...)                                                               \
	{                                                                                                        \
		REAL(name);                                                                                          \
		va_list args;                                                                                        \
		va_start(args, flags);                                                                               \
		mode_t mode = mode_of(flags, args);                                                                  \
		va_end(args);                                                                                        \
		return fails(opening(flags), AT_FDCWD, path) ? -1 : real(path, flags, mode);                         \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                         \
	int name(int dir, const char *path, int flags, ...)                                                      \
	{                                                                                                        \
		REAL(name);                                                                                          \
		va_list args;                                                                                        \
		va_start(args, flags);                                                                               \
		mode_t mode = mode_of(flags, args);                                                                  \
		va_end(args);                                                                                        \
		return fails(opening(flags), dir, path) ? -1 : real(dir, path, flags, mode);                         \
	}
OPENAT(openat)
OPENAT(openat64)

/* Intercepts openat2 and getdents64, which the program calls by number. */
long syscall(long number, ...)
{
	REAL(syscall);
	va_list args;
	long a[6];
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_openat2 && fails("open", (int)a[0], (const char *)a[1]))
		return -1;
	if (number == SYS_getdents64 && fails("list", (int)a[0], NULL))
		return -1;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Defines `name`, which returns `wrong` if a call of this kind is chosen, else makes the real call. */
#define CALL(type, wrong, kind, fd, path, name, parameters, arguments)                                       \
	type name parameters                                                                                     \
	{                                                                                                        \
		REAL(name);                                                                                          \
		return fails(kind, fd, path) ? wrong : real arguments;                                               \
	}

CALL(DIR *, NULL, "open", AT_FDCWD, path, opendir, (const char *path), (path))
CALL(DIR *, NULL, "list", fd, NULL, fdopendir, (int fd), (fd))
CALL(ssize_t, -1, "read", fd, NULL, read, (int fd, void *to, size_t size), (fd, to, size))
CALL(ssize_t, -1, "read", fd, NULL, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
CALL(ssize_t, -1, "read", fd, NULL, pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
CALL(ssize_t, -1, "write", fd, NULL, write, (int fd, const void *from, size_t size), (fd, from, size))
CALL(ssize_t, -1, "write", fd, NULL, pwrite, (int fd, const void *from, size_t size, off_t at),
	 (fd, from, size, at))
CALL(ssize_t, -1, "write", fd, NULL, pwrite64, (int fd, const void *from, size_t size, off64_t at),
	 (fd, from, size, at))
CALL(int, -1, "write", fd, NULL, ftruncate, (int fd, off_t size), (fd, size))
CALL(int, -1, "write", fd, NULL, ftruncate64, (int fd, off64_t size), (fd, size))
CALL(int, -1, "sync", fd, NULL, fsync, (int fd), (fd))
CALL(int, -1, "sync", fd, NULL, fdatasync, (int fd), (fd))
CALL(int, -1, "sync", fd, NULL, syncfs, (int fd), (fd))
CALL(int, -1, "name", AT_FDCWD, to, rename, (const char *from, const char *to), (from, to))
CALL(int, -1, "name", to_dir, to, renameat, (int from_dir, const char *from, int to_dir, const char *to),
	 (from_dir, from, to_dir, to))
CALL(int, -1, "name", to_dir, to, linkat,
	 (int from_dir, const char *from, int to_dir, const char *to, int flags),
	 (from_dir, from, to_dir, to, flags))
CALL(int, -1, "unlink", AT_FDCWD, path, unlink, (const char *path), (path))
CALL(int, -1, "unlink", dir, path, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
CALL(int, -1, "mkdir", AT_FDCWD, path, mkdir, (const char *path, mode_t mode), (path, mode))
CALL(int, -1, "mkdir", dir, path, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
CALL(void *, MAP_FAILED, "map", fd, NULL, mmap,
	 (void *at, size_t size, int protection, int flags, int fd, off_t offset),
	 (at, size, protection, flags, fd, offset))
CALL(void *, MAP_FAILED, "map", fd, NULL, mmap64,
	 (void *at, size_t size, int protection, int flags, int fd, off64_t offset),
	 (at, size, protection, flags, fd, offset))
CALL(int, -1, "stat", AT_FDCWD, path, stat, (const char *path, struct stat *out), (path, out))
CALL(int, -1, "stat", AT_FDCWD, path, lstat, (const char *path, struct stat *out), (path, out))
CALL(int, -1, "stat", fd, NULL, fstat, (int fd, struct stat *out), (fd, out))
CALL(int, -1, "stat", dir, path, fstatat, (int dir, const char *path, struct stat *out, int flags),
	 (dir, path, out, flags))
CALL(int, -1, "stat", AT_FDCWD, path, stat64, (const char *path, struct stat64 *out), (path, out))
CALL(int, -1, "stat", AT_FDCWD, path, lstat64, (const char *path, struct stat64 *out), (path, out))
CALL(int, -1, "stat", fd, NULL, fstat64, (int fd, struct stat64 *out), (fd, out))
CALL(int, -1, "watch", AT_FDCWD, path, inotify_add_watch, (int fd, const char *path, uint32_t mask),
	 (fd, path, mask))
CALL(int, -1, "watch", -1, NULL, inotify_init1, (int flags), (flags))
CALL(int, -1, "socket", -1, NULL, socketpair, (int family, int type, int protocol, int ends[2]),
	 (family, type, protocol, ends))
CALL(int, -1, "socket", -1, NULL, pipe2, (int ends[2], int flags), (ends, flags))
CALL(int, -1, "socket", -1, NULL, eventfd, (unsigned first, int flags), (first, flags))
CALL(int, -1, "socket", -1, NULL, dup, (int fd), (fd))
CALL(int, -1, "epoll", -1, NULL, epoll_ctl, (int epoll, int what, int fd, struct epoll_event *event),
	 (epoll, what, fd, event))
CALL(int, -1, "accept", -1, NULL, accept4, (int fd, struct sockaddr *from, socklen_t *size, int flags),
	 (fd, from, size, flags))
CALL(ssize_t, -1, "send", -1, NULL, sendmsg, (int fd, const struct msghdr *message, int flags),
	 (fd, message, flags))

/* close() never fails; a chosen one blocks until the page is disarmed. */
int close(int fd)
{
	REAL(close);
	while (fails("close", fd, NULL) && atomic_load(&faults->armed))
		usleep(1000);
	return real(fd);
}

/* These two return the error number and do not set errno. */
CALL(int, errno, "spawn", -1, NULL, posix_spawn,
	 (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
	  const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]),
	 (pid, path, actions, attributes, argv, environment))
CALL(int, errno, "thread", -1, NULL, pthread_create,
	 (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument),
	 (thread, attributes, body, argument))

/* ---- memory: only allocations by the program's own code */

static bool own_call(const void *from)
{
	return faults && (uintptr_t)from >= text_begin && (uintptr_t)from < text_end;
}

void *malloc(size_t size)
{
	REAL(malloc);
	return own_call(__builtin_return_address(0)) && fails("memory", -1, NULL) ? NULL : real(size);
}

void *calloc(size_t count, size_t size)
{
	REAL(calloc);
	return own_call(__builtin_return_address(0)) && fails("memory", -1, NULL) ? NULL : real(count, size);
}

void *realloc(void *old, size_t size)
{
	REAL(realloc);
	return own_call(__builtin_return_address(0)) && fails("memory", -1, NULL) ? NULL : real(old, size);
}
