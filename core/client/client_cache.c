#include "client_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_of(const hobc_client *client, const char *name, const char *end, char *out)
{
	snprintf(out, PATH_ROOM, "%s/%s%s", client->cache_dir, name, end);
}

static int read_file(hobc_client *client, const char *path, uint8_t **data, size_t *size)
{
	struct stat about;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = 0;
	if (fd < 0)
		return 0;
	*data = NULL;
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
		(uint64_t)about.st_size <= client->options.max_blob_bytes) {
		*size = (size_t)about.st_size;
		*data = (uint8_t *)hobc_alloc(client, *size + 1);
	}
	while (*data && got < *size) {
		ssize_t step = read(fd, *data + got, *size - got);
		if (step <= 0) {
			hobc_free(client, *data);
			*data = NULL;
			break;
		}
		got += (size_t)step;
	}
	close(fd);
	return *data != NULL;
}

/* Writes to a temporary file and renames it, so that nobody reads an incomplete one. */
static void write_file(hobc_client *client, const char *path, const uint8_t *data, size_t size)
{
	char temp[PATH_ROOM + 64];
	size_t put = 0;
	int fd;
	snprintf(temp, sizeof temp, "%s.%ld-%llu.tmp", path, (long)getpid(),
			 (unsigned long long)++client->temp_count);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	while (put < size) {
		ssize_t step = write(fd, data + put, size - put);
		if (step <= 0)
			break;
		put += (size_t)step;
	}
	if (close(fd) != 0 || put < size || rename(temp, path) != 0)
		unlink(temp);
}

int hobc_cache_read(hobc_client *client, const char *hash, uint8_t **data, size_t *size)
{
	char path[PATH_ROOM], text[65];
	if (!client->cache_dir[0])
		return 0;
	path_of(client, hash, "", path);
	if (!read_file(client, path, data, size))
		return 0;
	hobc_sha256_text(*data, *size, text);
	if (strcmp(text, hash) == 0)
		return 1;
	unlink(path);
	hobc_free(client, *data);
	return 0;
}

void hobc_cache_write(hobc_client *client, const char *hash, const uint8_t *data, size_t size)
{
	char path[PATH_ROOM];
	if (!client->cache_dir[0])
		return;
	path_of(client, hash, "", path);
	if (access(path, F_OK) != 0)
		write_file(client, path, data, size);
}

int hobc_cache_find_name(hobc_client *client, const char *name, char hash[65])
{
	char path[PATH_ROOM];
	uint8_t *data;
	size_t size;
	int found;
	if (!client->cache_dir[0])
		return 0;
	path_of(client, name, ".name", path);
	if (!read_file(client, path, &data, &size))
		return 0;
	found = hobc_is_hash((const char *)data, size);
	if (found) {
		memcpy(hash, data, 64);
		hash[64] = 0;
	}
	hobc_free(client, data);
	return found;
}

void hobc_cache_keep_name(hobc_client *client, const char *name, const char *hash)
{
	char path[PATH_ROOM], before[65];
	if (!client->cache_dir[0] || (hobc_cache_find_name(client, name, before) && strcmp(before, hash) == 0))
		return;
	path_of(client, name, ".name", path);
	write_file(client, path, (const uint8_t *)hash, 64);
}
