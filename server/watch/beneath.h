/* beneath.h - opening below a root folder without ever leaving it, and looking whether somebody writes. */
#ifndef SRV_BENEATH_H
#define SRV_BENEATH_H

#include "watch.h"

#include <sys/stat.h>

/* Opens `path` ("" = the root itself) below root_fd; symbolic links are refused unless `follow`, and then must
 * stay below the root. O_CLOEXEC, O_NONBLOCK and O_NOCTTY are added. -1 with errno. */
int srv_open_beneath(int root_fd, const char *path, int flags, bool follow);

typedef enum srv_writers { SRV_WRITERS_NONE, SRV_WRITERS_SOME, SRV_WRITERS_UNKNOWN } srv_writers;
/* Asks the kernel, by a read lease that is given back at once, whether `fd` (opened for reading) is open for writing
 * anywhere. UNKNOWN for files of other owners and file systems without leases. */
srv_writers srv_find_writers(int fd);

srv_stat srv_stat_of(const struct stat *info);
bool srv_stat_equal(const srv_stat *a, const srv_stat *b);

#endif
