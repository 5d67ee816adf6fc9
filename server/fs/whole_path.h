/* whole_path.h - absolute paths of files that may not exist. */
#ifndef SRV_WHOLE_PATH_H
#define SRV_WHOLE_PATH_H

/* Like realpath(3). If that fails, missing or unreadable parts are taken as written, and a link with a
 * missing target gives the target's path. So a folder keeps its path while its mount is gone. NULL with
 * errno; the caller frees. */
char *srv_whole_path(const char *path);

#endif
