#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool srv_map_file(const char *path, hob_bytes *out, hob_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	if (fd < 0 || fstat(fd, &info) != 0) {
		hob_fail(err, NOT_FOUND, "'%s' cannot be opened: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	void *at = S_ISREG(info.st_mode) && info.st_size > 0
				   ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
				   : MAP_FAILED;
	close(fd);
	if (S_ISDIR(info.st_mode))
		return hob_fail(err, NOT_FOUND, "'%s' is a folder; name a file in it", path);
	if (at == MAP_FAILED)
		return hob_fail(err, CORRUPT, "'%s' is empty or not a file", path);
	*out = (hob_bytes){at, (size_t)info.st_size};
	return true;
}

void srv_unmap_file(hob_bytes *file)
{
	if (file->size > 0)
		munmap((void *)(uintptr_t)file->data, file->size);
	*file = (hob_bytes){0};
}

char *srv_file_text(const char *path, size_t most, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	char *text = NULL;
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (size_t)info.st_size <= most)
		text = malloc((size_t)info.st_size + 1);
	else if (fd >= 0)
		errno = S_ISDIR(info.st_mode) ? EISDIR : S_ISREG(info.st_mode) ? EFBIG : EINVAL;
	ssize_t got = text ? read(fd, text, (size_t)info.st_size) : -1;
	if (fd >= 0)
		close(fd);
	if (got < 0) {
		free(text);
		return NULL;
	}
	text[got] = 0;
	*size = (size_t)got;
	return text;
}
