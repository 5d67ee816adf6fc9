/* disk_recorder.c - preloaded into a program, records its writes below the folder HOB_TEST_TRACE_BELOW, in
 * order and with their bytes, in the file HOB_TEST_TRACE. From these records test_power.py generates the
 * disks that a power cut may leave. A record carries the number in the file HOB_TEST_TRACE_MARK at the
 * beginning of the call. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum operation {
	CREATE,
	WRITE,
	TRUNCATE,
	RENAME,
	LINK,
	UNLINK,
	MKDIR,
	SYNC,
	SYNC_ALL,
	MAP
} operation;

typedef struct record {
	uint32_t what, mark;
	uint64_t inode;
	int64_t offset;
	uint32_t from_size, to_size;
	uint64_t data_size;
} record;

static char below[PATH_MAX];
static size_t below_len;
static int trace = -1;
static const volatile uint32_t *mark;
static pid_t owner;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER; /* makes a call and its record atomic */

#define REAL(name)                                                                                           \
	static __typeof__(&name) real;                                                                           \
	if (!real)                                                                                               \
	real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static ssize_t plain_write(int fd, const void *data, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	if (!real)
		real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	return real(fd, data, size);
}

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("HOB_TEST_TRACE"), *folder = getenv("HOB_TEST_TRACE_BELOW"),
			   *number = getenv("HOB_TEST_TRACE_MARK");
	unsetenv("LD_PRELOAD");
	if (!file || !folder || !number)
		return;
	int fd = open(number, O_RDONLY | O_CLOEXEC);
	void *at = fd >= 0 ? mmap(NULL, sizeof *mark, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		abort();
	mark = at;
	owner = getpid();
	below_len = (size_t)snprintf(below, sizeof below, "%s/", folder);
	trace = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

/* Path below the recorded folder, "" for the folder itself, NULL for any other path. */
static const char *place_of(int fd, const char *path, char room[2 * PATH_MAX])
{
	char self[32];
	size_t len = 0;
	if (trace < 0 || getpid() != owner)
		return NULL;
	int before = errno;
	if (!path || path[0] != '/') {
		if (fd == AT_FDCWD)
			snprintf(self, sizeof self, "/proc/self/cwd");
		else
			snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
		ssize_t size = readlink(self, room, PATH_MAX - 2);
		len = size > 0 ? (size_t)size : 0;
		room[len++] = '/';
	}
	errno = before;
	snprintf(room + len, PATH_MAX, "%s", path ? path : "");
	if (strncmp(room, below, below_len) != 0)
		return NULL;
	size_t end = strlen(room);
	while (end > below_len && (room[end - 1] == '/' || (room[end - 1] == '.' && room[end - 2] == '/')))
		room[--end] = 0;
	return room + below_len;
}

static void put(operation what, uint32_t number, uint64_t inode, int64_t offset, const char *from,
				const char *to, const void *data, size_t size)
{
	record head = {what, number, inode, offset, (uint32_t)strlen(from), (uint32_t)strlen(to), size};
	int before = errno;
	size_t total = sizeof head + head.from_size + head.to_size + size;
	uint8_t *all = malloc(total);
	memcpy(all, &head, sizeof head);
	memcpy(all + sizeof head, from, head.from_size);
	memcpy(all + sizeof head + head.from_size, to, head.to_size);
	if (size > 0)
		memcpy(all + sizeof head + head.from_size + head.to_size, data, size);
	if (plain_write(trace, all, total) != (ssize_t)total)
		abort();
	free(all);
	errno = before;
}

static uint64_t inode_of(int fd)
{
	struct stat info;
	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? info.st_ino : 0;
}

static uint64_t inode_at(int dir, const char *path)
{
	struct stat info;
	int before = errno;
	uint64_t inode = fstatat(dir, path, &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_ino : 0;
	errno = before;
	return inode;
}

/* Locks, makes the call, and records it if `good` holds. */
#define STEP(type, call, good, ...)                                                                          \
	do {                                                                                                     \
		uint32_t number = *mark;                                                                             \
		pthread_mutex_lock(&order);                                                                          \
		type result = call;                                                                                  \
		if (good)                                                                                            \
			__VA_ARGS__;                                                                                     \
		pthread_mutex_unlock(&order);                                                                        \
		return result;                                                                                       \
	} while (0)

static void made(int fd, const char *place, int flags, bool was_there, uint32_t number)
{
	if ((flags & O_TMPFILE) == O_TMPFILE)
		put(CREATE, number, inode_of(fd), 0, "", "", NULL, 0);
	else if (flags & O_CREAT && !was_there)
		put(CREATE, number, inode_of(fd), 0, place, "", NULL, 0);
	else if (flags & O_TRUNC)
		put(TRUNCATE, number, inode_of(fd), 0, "", "", NULL, 0);
}

#define OPENS(flags) ((flags) & (O_CREAT | O_TRUNC) || ((flags)&O_TMPFILE) == O_TMPFILE)

#define OPEN(name, dir, parameters, arguments)                                                               \
	int name parameters                                                                                      \
	{                                                                                                        \
		REAL(name);                                                                                          \
		char room[2 * PATH_MAX];                                                                             \
		va_list args;                                                                                        \
		va_start(args, flags);                                                                               \
		mode_t mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;        \
		va_end(args);                                                                                        \
		const char *place = OPENS(flags) ? place_of(dir, path, room) : NULL;                                 \
		if (!place)                                                                                          \
			return real arguments;                                                                           \
		bool was_there = inode_at(dir, path) != 0;                                                           \
		STEP(int, real arguments, result >= 0, made(result, place, flags, was_there, number));               \
	}
OPEN(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
OPEN(openat64, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))

ssize_t write(int fd, const void *data, size_t size)
{
	char room[2 * PATH_MAX];
	if (!place_of(fd, NULL, room) || inode_of(fd) == 0)
		return plain_write(fd, data, size);
	STEP(ssize_t, plain_write(fd, data, size), result > 0,
		 put(WRITE, number, inode_of(fd), lseek(fd, 0, SEEK_CUR) - result, "", "", data, (size_t)result));
}

#define PWRITE(name, offset_type)                                                                            \
	ssize_t name(int fd, const void *data, size_t size, offset_type at)                                      \
	{                                                                                                        \
		REAL(name);                                                                                          \
		char room[2 * PATH_MAX];                                                                             \
		if (!place_of(fd, NULL, room))                                                                       \
			return real(fd, data, size, at);                                                                 \
		STEP(ssize_t, real(fd, data, size, at), result > 0,                                                  \
			 put(WRITE, number, inode_of(fd), at, "", "", data, (size_t)result));                            \
	}
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FTRUNCATE(name, offset_type)                                                                         \
	int name(int fd, offset_type size)                                                                       \
	{                                                                                                        \
		REAL(name);                                                                                          \
		char room[2 * PATH_MAX];                                                                             \
		if (!place_of(fd, NULL, room))                                                                       \
			return real(fd, size);                                                                           \
		STEP(int, real(fd, size), result == 0, put(TRUNCATE, number, inode_of(fd), size, "", "", NULL, 0));  \
	}
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

/* A folder: inode 0 and its place. */
#define FSYNC(name)                                                                                          \
	int name(int fd)                                                                                         \
	{                                                                                                        \
		REAL(name);                                                                                          \
		char room[2 * PATH_MAX];                                                                             \
		const char *place = place_of(fd, NULL, room);                                                        \
		if (!place)                                                                                          \
			return real(fd);                                                                                 \
		STEP(int, real(fd), result == 0, put(SYNC, number, inode_of(fd), 0, place, "", NULL, 0));            \
	}
FSYNC(fsync)
FSYNC(fdatasync)

int syncfs(int fd)
{
	REAL(syncfs);
	char room[2 * PATH_MAX];
	if (!place_of(fd, NULL, room))
		return real(fd);
	STEP(int, real(fd), result == 0, put(SYNC_ALL, number, 0, 0, "", "", NULL, 0));
}

#define RENAME_TO(name, from_dir, to_dir, parameters, arguments)                                             \
	int name parameters                                                                                      \
	{                                                                                                        \
		REAL(name);                                                                                          \
		char from_room[2 * PATH_MAX], to_room[2 * PATH_MAX];                                                 \
		const char *from_place = place_of(from_dir, from, from_room),                                        \
				   *to_place = place_of(to_dir, to, to_room);                                                \
		if (!from_place && !to_place)                                                                        \
			return real arguments;                                                                           \
		if (!from_place || !to_place)                                                                        \
			abort();                                                                                         \
		STEP(int, real arguments, result == 0,                                                               \
			 put(RENAME, number, inode_at(to_dir, to), 0, from_place, to_place, NULL, 0));                   \
	}
RENAME_TO(rename, AT_FDCWD, AT_FDCWD, (const char *from, const char *to), (from, to))
RENAME_TO(renameat, from_dir, to_dir, (int from_dir, const char *from, int to_dir, const char *to),
		  (from_dir, from, to_dir, to))

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	REAL(linkat);
	char room[2 * PATH_MAX];
	const char *place = place_of(to_dir, to, room);
	if (!place)
		return real(from_dir, from, to_dir, to, flags);
	STEP(int, real(from_dir, from, to_dir, to, flags), result == 0,
		 put(LINK, number, inode_at(to_dir, to), 0, place, "", NULL, 0));
}

#define REMOVE(name, dir, parameters, arguments)                                                             \
	int name parameters                                                                                      \
	{                                                                                                        \
		REAL(name);                                                                                          \
		char room[2 * PATH_MAX];                                                                             \
		const char *place = place_of(dir, path, room);                                                       \
		if (!place)                                                                                          \
			return real arguments;                                                                           \
		STEP(int, real arguments, result == 0, put(UNLINK, number, 0, 0, place, "", NULL, 0));               \
	}
REMOVE(unlink, AT_FDCWD, (const char *path), (path))
REMOVE(unlinkat, dir, (int dir, const char *path, int flags), (dir, path, flags))

#define MAKE(name, dir, parameters, arguments)                                                               \
	int name parameters                                                                                      \
	{                                                                                                        \
		REAL(name);                                                                                          \
		char room[2 * PATH_MAX];                                                                             \
		const char *place = place_of(dir, path, room);                                                       \
		if (!place)                                                                                          \
			return real arguments;                                                                           \
		STEP(int, real arguments, result == 0, put(MKDIR, number, 0, 0, place, "", NULL, 0));                \
	}
MAKE(mkdir, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
MAKE(mkdirat, dir, (int dir, const char *path, mode_t mode), (dir, path, mode))

/* Writes through a mapping are not seen: the reader of the trace decides whether that matters. */
#define MMAP(name, offset_type)                                                                              \
	void *name(void *at, size_t size, int protection, int flags, int fd, offset_type offset)                 \
	{                                                                                                        \
		REAL(name);                                                                                          \
		char room[2 * PATH_MAX];                                                                             \
		const char *place =                                                                                  \
			flags & MAP_SHARED && protection & PROT_WRITE && fd >= 0 ? place_of(fd, NULL, room) : NULL;      \
		if (!place)                                                                                          \
			return real(at, size, protection, flags, fd, offset);                                            \
		STEP(void *, real(at, size, protection, flags, fd, offset), result != MAP_FAILED,                    \
			 put(MAP, number, inode_of(fd), 0, place, "", NULL, 0));                                         \
	}
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)
