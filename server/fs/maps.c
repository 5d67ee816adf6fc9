#include "maps.h"

#include "../../core/base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int by_inode(const void *a, const void *b)
{
	const srv_mapped *x = a, *y = b;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void put(srv_maps *maps, uint64_t inode, const char *path)
{
	char *copy = strdup(path);
	if (copy && HOB_ROOM(maps->items, maps->capacity, maps->count))
		maps->items[maps->count++] = (srv_mapped){inode, copy};
	else
		free(copy);
}

/* "7f0-7f1 rw-s 00000000 fe:00 1234   /srv/art/a.glb": shared and of a file. */
static void read_line(srv_maps *maps, char *line)
{
	char how[8];
	unsigned long long inode;
	int at = 0;
	if (sscanf(line, "%*s %7s %*s %*s %llu %n", how, &inode, &at) != 2 || how[3] != 's' || line[at] != '/')
		return;
	line[at + (int)strcspn(line + at, "\n")] = 0;
	if (maps->count == 0 || maps->items[maps->count - 1].inode != inode)
		put(maps, inode, line + at);
}

/* procmap_query of linux/fs.h, from Linux 6.11 on: a hundredth of the time of the text. */
typedef struct map_query {
	uint64_t size, flags, address, start, end, how, page, offset, inode;
	uint32_t major, minor, name_size, id_size;
	uint64_t name, id;
} map_query;

enum { QUERY_SHARED = 0x08, QUERY_NEXT = 0x10, QUERY_FILE = 0x20 };

/* False: the kernel does not know the question. */
static bool ask_process(srv_maps *maps, int fd)
{
	char name[PATH_MAX];
	for (map_query q = {0};;) {
		q = (map_query){.size = sizeof q,
						.flags = QUERY_SHARED | QUERY_NEXT | QUERY_FILE,
						.address = q.end,
						.name_size = sizeof name,
						.name = (uintptr_t)name};
		if (ioctl(fd, _IOWR('f', 17, map_query), &q) != 0)
			return errno == ENOENT || errno == ESRCH;
		if (maps->count == 0 || maps->items[maps->count - 1].inode != q.inode)
			put(maps, q.inode, name);
	}
}

static void read_process(srv_maps *maps, int fd, char **line, size_t *room)
{
	if (ask_process(maps, fd))
		return;
	FILE *file = fdopen(dup(fd), "r");
	while (file && getline(line, room, file) > 0)
		read_line(maps, *line);
	if (file)
		fclose(file);
}

/* Kernel threads, most processes of a large machine, have no process group and no maps. */
static bool may_map(const char *id)
{
	return id[0] > '0' && id[0] <= '9' && getpgid(atoi(id)) != 0;
}

void srv_maps_find(srv_maps *out)
{
	DIR *processes = opendir("/proc");
	char *line = NULL;
	size_t room = 0;
	*out = (srv_maps){0};
	for (struct dirent *entry; processes && (entry = readdir(processes));) {
		char path[32];
		if (!may_map(entry->d_name))
			continue;
		snprintf(path, sizeof path, "%.20s/maps", entry->d_name);
		int fd = openat(dirfd(processes), path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		read_process(out, fd, &line, &room);
		close(fd);
	}
	free(line);
	if (processes)
		closedir(processes);
	if (out->count > 1)
		qsort(out->items, out->count, sizeof *out->items, by_inode);
}

const srv_mapped *srv_maps_at(const srv_maps *maps, uint64_t inode)
{
	const srv_mapped key = {inode, NULL};
	return maps->count > 0 ? bsearch(&key, maps->items, maps->count, sizeof key, by_inode) : NULL;
}

void srv_maps_release(srv_maps *maps)
{
	for (uint32_t i = 0; i < maps->count; i++)
		free(maps->items[i].path);
	free(maps->items);
	*maps = (srv_maps){0};
}
