#include "watch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>

/* The inotify watches of folders. */

enum {
	MASK = IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE |
		   IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK
};

void srv_watch_recount(watch_root *root)
{
	atomic_fetch_add(&root->watch->watches, root->tree.count - root->counted);
	root->counted = root->tree.count;
}

void srv_watch_drop_folder(void *user, int wd)
{
	watch_root *root = user;
	inotify_rm_watch(root->inotify_fd, wd);
}

long srv_watch_read_number(const char *path)
{
	char text[32];
	return srv_read_text(AT_FDCWD, path, text, sizeof text) ? atol(text) : 0;
}

static int add_watch(watch_root *root, int fd, bool here, hob_str path)
{
	if (root->inotify_fd < 0) {
		errno = EBADF;
		return -1;
	}
	uint32_t most = root->watch->options.max_watches;
	if (most > 0 && atomic_load(&root->watch->watches) >= most) {
		errno = ENOSPC;
		return -1;
	}
	if (here)
		return inotify_add_watch(root->inotify_fd, ".", MASK);
	char self[32];
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	int wd = inotify_add_watch(root->inotify_fd, self, MASK);
	if (wd >= 0 || errno != ENOENT)
		return wd;
	/* Without /proc, by the full path, which a rename may have redirected. */
	char full[PATH_MAX];
	if (snprintf(full, sizeof full, "%s/%.*s", root->path, HOB_FMT(path)) >= (int)sizeof full) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return inotify_add_watch(root->inotify_fd, full, MASK);
}

int srv_watch_add_raw(watch_root *root, int fd, bool here, hob_str path)
{
	int wd = add_watch(root, fd, here, path);
	if (wd < 0 && (errno == ENOSPC || errno == ENOMEM))
		snprintf(root->limit, sizeof root->limit,
				 "the limit of watched folders is reached (fs.inotify.max_user_watches = %ld, shared by "
				 "all programs of this user); raise it with: sysctl fs.inotify.max_user_watches=1048576",
				 srv_watch_read_number("/proc/sys/fs/inotify/max_user_watches"));
	return wd;
}

folder_watch srv_watch_add_folder_locked(watch_root *root, int fd, bool here, hob_str path)
{
	if (root->inotify_fd < 0)
		return FOLDER_GONE;
	int wd = srv_watch_add_raw(root, fd, here, path);
	if (wd < 0)
		return root->limit[0] ? FOLDER_LIMIT : FOLDER_GONE;
	size_t slash = path.len;
	while (slash > 0 && path.data[slash - 1] != '/')
		slash--;
	dir_node *parent = NULL;
	if (path.len > 0)
		parent = srv_dir_tree_find(&root->tree, hob_str_sub(path, 0, slash > 0 ? slash - 1 : 0));
	if (path.len > 0 && !parent) {
		/* The parent was renamed during the scan. */
		root->want_scan = root->held = true;
		pthread_cond_signal(&root->wake);
		if (!srv_dir_tree_find_wd(&root->tree, wd))
			inotify_rm_watch(root->inotify_fd, wd);
		return FOLDER_GONE;
	}
	dir_node *node = srv_dir_tree_put(&root->tree, parent, hob_str_sub(path, slash, path.len), wd,
									  srv_watch_drop_folder, root);
	if (node)
		node->seen = root->scan_number;
	srv_watch_recount(root);
	return FOLDER_WATCHED;
}

folder_watch srv_watch_add_folder(watch_root *root, int fd, bool here, hob_str path)
{
	SRV_LOCKED(&root->lock);
	return srv_watch_add_folder_locked(root, fd, here, path);
}
