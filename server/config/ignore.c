#include "ignore.h"

#include "../../core/base/ignore_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 20 };

/* Opens .hobignore, without trust in its writers: a link could lead anywhere, and a pipe would block. NULL
 * without an error: there is none. */
static FILE *open_file(const char *path, hob_error *err)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	bool there = fd >= 0 && fstat(fd, &info) == 0;
	FILE *file = there && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
	if (file)
		return file;
	if ((there && !S_ISREG(info.st_mode)) || errno == ELOOP || errno == ENXIO)
		(void)!hob_fail(err, CONFIG, "'%s' is not a regular file; links and pipes are not read", path);
	else if (errno != ENOENT && errno != ENOTDIR)
		(void)!hob_fail(err, IO, "'%s' cannot be read: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return NULL;
}

bool srv_ignore_read(hob_arena *arena, const char *folder, const char *const *exclude,
					 const char *const **out, hob_error *err)
{
	char path[PATH_MAX + 16];
	snprintf(path, sizeof path, "%.4000s/.hobignore", folder);
	*out = exclude;
	hob_error refused = {0};
	FILE *file = open_file(path, &refused);
	if (!file && refused.code != HOB_ERR_OK)
		*err = refused;
	if (!file)
		return refused.code == HOB_ERR_OK;
	hob_own_buf text = {0};
	char bytes[4096];
	for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0 && text.size <= BYTES_MAX;)
		hob_buf_put(&text, bytes, got);
	bool ok = !ferror(file) || hob_fail(err, IO, "'%s' cannot be read: %s", path, strerror(errno));
	const char *const *globs = ok ? hob_ignore_lines(arena, hob_buf_str(&text), path, exclude, err) : NULL;
	fclose(file);
	if (globs)
		*out = globs;
	return globs != NULL;
}
