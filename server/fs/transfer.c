#include "transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool srv_write_all(int fd, const void *data, size_t size)
{
	const uint8_t *from = data;
	for (size_t done = 0; done < size;) {
		ssize_t wrote = write(fd, from + done, size - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		done += (size_t)wrote;
	}
	return true;
}

bool srv_read_at(int fd, void *out, size_t size, uint64_t at)
{
	uint8_t *to = out;
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(fd, to + done, size - done, (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			errno = 0;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

bool srv_read_all(int fd, void *out, size_t size)
{
	return srv_read_at(fd, out, size, 0);
}

bool srv_hash_rest(int fd, const _Atomic bool *stop, hob_sha256 *out, uint64_t *size)
{
	enum { PIECE = 256 << 10 };
	hob_own uint8_t *piece = malloc(PIECE);
	uint64_t done = 0;
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	ssize_t got = -1;
	while (piece && (got = read(fd, piece, PIECE)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got > 0 && stop && atomic_load(stop)) {
			got = -1;
			errno = ECANCELED;
		}
		if (got < 0)
			break;
		hob_hasher_put(&hasher, piece, (size_t)got);
		done += (size_t)got;
	}
	*out = hob_hasher_finish(&hasher);
	if (size)
		*size = done;
	int why = piece ? errno : ENOMEM;
	errno = why;
	return got == 0;
}

bool srv_copy(int from, int to, uint64_t size)
{
	uint8_t piece[64 << 10];
	if (lseek(from, 0, SEEK_SET) != 0)
		return false;
	while (size > 0) {
		ssize_t moved = copy_file_range(from, NULL, to, NULL, size, 0);
		if (moved <= 0) { /* the kernel cannot copy between the two kinds of file, or `from` has ended */
			moved = read(from, piece, size < sizeof piece ? size : sizeof piece);
			if (moved == 0)
				errno = EIO;
			if (moved <= 0 || !srv_write_all(to, piece, (size_t)moved))
				return false;
		}
		size -= (uint64_t)moved;
	}
	return true;
}

int srv_replace_begin(int folder, const char *temporary, mode_t mode)
{
	unlinkat(folder, temporary, 0);
	int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	errno = fd >= 0 ? 0 : errno;
	return fd;
}

bool srv_replace_end(int folder, const char *temporary, int fd, bool ok, const char *name)
{
	int code = ok ? 0 : errno != 0 ? errno : ENOSPC;
	if (fd >= 0 && close(fd) != 0 && ok) /* after the rename it would be a second change of the file */
		code = errno;
	if (code == 0 && renameat(folder, temporary, folder, name) != 0)
		code = errno;
	if (code != 0 && fd >= 0)
		unlinkat(folder, temporary, 0);
	errno = code;
	return code == 0;
}
