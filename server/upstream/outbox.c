#include "outbox.h"
#include "../../core/hash/hex.h"

#include "../fs/fd.h"
#include "../fs/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

bool srv_outbox_open(srv_outbox *outbox, const char *cache, hob_error *err)
{
	char path[4096];
	*outbox = (srv_outbox){.fd = -1};
	srv_digest_map_init(&outbox->keys, 1);
	snprintf(path, sizeof path, "%s/outbox", cache);
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		outbox->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	srv_own_folder *folder = outbox->fd >= 0 ? srv_folder_open(outbox->fd, ".") : NULL;
	if (!folder)
		return hob_fail(err, IO, "'%s' cannot be opened: %s", path, strerror(errno));
	for (struct dirent *file; (file = srv_folder_next(folder));) {
		hob_sha256 key;
		bool fresh;
		if (hob_sha256_parse(hob_str_of(file->d_name), &key))
			srv_digest_map_put(&outbox->keys, &key, &fresh);
	}
	return true;
}

void srv_outbox_release(srv_outbox *outbox)
{
	srv_close(outbox->fd);
	srv_digest_map_release(&outbox->keys);
}

void srv_outbox_add(srv_outbox *outbox, const hob_sha256 *key)
{
	bool fresh;
	srv_digest_map_put(&outbox->keys, key, &fresh);
	srv_close(openat(outbox->fd, hob_sha256_hex(key).text, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

void srv_outbox_remove(srv_outbox *outbox, const hob_sha256 *key)
{
	unlinkat(outbox->fd, hob_sha256_hex(key).text, 0);
	srv_digest_map_remove(&outbox->keys, key);
}

void srv_outbox_clear(srv_outbox *outbox)
{
	hob_sha256 key;
	for (size_t at = 0; srv_digest_map_next(&outbox->keys, &at, &key);)
		unlinkat(outbox->fd, hob_sha256_hex(&key).text, 0);
	srv_digest_map_clear(&outbox->keys);
}
