/* fd.h - small calls on a descriptor. */
#ifndef SRV_FD_H
#define SRV_FD_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* It may be -1. Keeps errno. */
static inline void srv_close(int fd)
{
	int code = errno;
	if (fd >= 0)
		close(fd);
	errno = code;
}

/* A descriptor that is closed at the end of its block. */
#define srv_own_fd __attribute__((cleanup(srv_close_at))) int
static inline void srv_close_at(const int *fd)
{
	srv_close(*fd);
}

/* Adds one to an eventfd; one that is full is readable already. */
static inline void srv_wake(int fd)
{
	uint64_t one = 1;
	(void)!write(fd, &one, sizeof one);
}

/* The text of a small file, as in /proc, with a NUL at its end. False, with an empty text: there is none. */
static inline bool srv_read_text(int dir, const char *name, char *out, size_t room)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	for (ssize_t got; fd >= 0 && (got = read(fd, out + size, room - 1 - size)) > 0;)
		size += (size_t)got;
	srv_close(fd);
	out[size] = 0;
	return size > 0;
}

#endif
