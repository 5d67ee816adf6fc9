#include "transfer.h"

#include <errno.h>
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

bool srv_read_all(int fd, void *out, size_t size)
{
	uint8_t *to = out;
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(fd, to + done, size - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}
