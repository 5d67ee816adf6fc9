/* whole_path.h - absolute paths, also of files that do not exist. */
#ifndef SRV_WHOLE_PATH_H
#define SRV_WHOLE_PATH_H

/* Like realpath(3). If that fails, missing or unreadable parts are taken as written, and a link with a
 * missing target gives the target's path. So a folder keeps its path while its mount is gone. NULL with
 * errno; the caller frees. */
char *srv_whole_path(const char *path);
/* The part of `path` below the folder, without a slash in front; "" for the folder itself, NULL outside of
 * it. Both are absolute, without links and without a slash at the end. */
const char *srv_path_below(const char *folder, const char *path);

#endif
