/* whole_path.h - the absolute path of something that may not be there. */
#ifndef SRV_WHOLE_PATH_H
#define SRV_WHOLE_PATH_H

/* As realpath(3), and where that fails what is not there, or cannot be looked into, is taken as it is written: a link whose target
 * is away gives the target's path. So a folder has the same path while its mount is gone. NULL with errno; the caller frees. */
char *srv_whole_path(const char *path);

#endif
