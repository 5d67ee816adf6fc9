#include "engine_private.h"

#include "../log/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A root that was moved away, deleted or mounted over and is there again is another folder under the same name. The
 * descriptor keeps its number, because jobs in libuv's pool hold it. */
void engine_check_root(srv_engine *engine, uint32_t root)
{
	struct stat open_one, there;
	int fd = open(engine->options.roots[root].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	bool known = fstat(fd, &there) == 0 && fstat(engine->root_fds[root], &open_one) == 0;
	if (known && (there.st_dev != open_one.st_dev || there.st_ino != open_one.st_ino)) {
		dup3(fd, engine->root_fds[root], O_CLOEXEC);
		srv_pool_set_root(engine->pool, root, fd);
		srv_log(SRV_LOG_WARNING, "watching", "%.*s is another folder now", HOB_FMT(engine->roots[root].name));
		for (uint32_t i = 0; i < engine->asset_count; i++)
			if (engine->assets[i].root == root && engine->assets[i].job)
				asset_dirty(engine, i, SRV_PRIORITY_CHANGED, "changed", hob_str_of(engine->assets[i].path));
	}
	close(fd);
}
