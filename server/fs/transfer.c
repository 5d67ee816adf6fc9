#include "transfer.h"

#include <errno.h>
#include <stdatomic.h>
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
	uint8_t *piece = malloc(PIECE);
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
	free(piece);
	errno = why;
	return got == 0;
}
