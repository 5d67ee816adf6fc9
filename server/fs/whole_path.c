#include "whole_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a link leads: a relative target starts in the folder of the link. */
static char *behind_link(const char *path, const char *folder, int links)
{
	char target[PATH_MAX], full[PATH_MAX];
	ssize_t len = links > 0 ? readlink(path, target, sizeof target - 1) : -1;
	if (len <= 0)
		return NULL;
	target[len] = 0;
	if (snprintf(full, sizeof full, "%s%s%s", target[0] == '/' ? "" : folder, target[0] == '/' ? "" : "/",
				 target) >= (int)sizeof full)
		return NULL;
	return strdup(full);
}

static char *whole(const char *path, int links)
{
	char *real = realpath(path, NULL), folder[PATH_MAX];
	if (real)
		return real;
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len == 0 || len >= sizeof folder) {
		errno = len == 0 ? ENOENT : ENAMETOOLONG;
		return NULL;
	}
	char whole_name[PATH_MAX];
	memcpy(whole_name, path, len);
	whole_name[len] = 0;
	const char *slash = strrchr(whole_name, '/'), *name = slash ? slash + 1 : whole_name;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - whole_name) : 1, slash ? whole_name : ".");
	/* The folder of "/x" is "/"; ".." after a missing path removes its last part. */
	char *base = whole(folder[0] ? folder : "/", links);
	char *target = base && strcmp(name, "..") != 0 ? behind_link(whole_name, base, links) : NULL;
	char *found = target ? whole(target, links - 1) : NULL;
	free(target);
	if (!found && base && strcmp(name, ".") == 0) {
		found = strdup(base);
	} else if (!found && base && strcmp(name, "..") == 0) {
		char *up = strrchr(base, '/');
		found = strndup(base, up && up > base ? (size_t)(up - base) : 1);
	} else if (!found && base) {
		size_t room = strlen(base) + strlen(name) + 2;
		found = malloc(room);
		if (found)
			snprintf(found, room, "%s/%s", strcmp(base, "/") == 0 ? "" : base, name);
	}
	free(base);
	return found;
}

char *srv_whole_path(const char *path)
{
	enum { LINKS_MAX = 40 };
	return whole(path, LINKS_MAX);
}

const char *srv_path_below(const char *folder, const char *path)
{
	size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
	bool below = strncmp(folder, path, length) == 0 && (path[length] == '/' || path[length] == 0);
	return below ? path + length + (path[length] == '/') : NULL;
}
