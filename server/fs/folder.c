#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

DIR *srv_folder_of(int fd)
{
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	int code = errno;
	if (!folder && fd >= 0)
		close(fd);
	errno = code;
	return folder;
}

DIR *srv_folder_open(int parent, const char *name)
{
	return srv_folder_of(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

struct dirent *srv_folder_next(DIR *folder)
{
	struct dirent *entry = NULL;
	do
		entry = folder ? readdir(folder) : NULL;
	while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}

void srv_folder_close_at(DIR **folder)
{
	srv_folder_close(*folder);
}

void srv_folder_close(DIR *folder)
{
	if (folder)
		closedir(folder);
}
