/* root_io.h - hob_io for a root folder: limits the files that a cook may read, and records them.
 *
 * Every path is opened below the root's descriptor with openat2(RESOLVE_BENEATH | NO_MAGICLINKS), or by a
 * walk without links where the kernel has no openat2. Only regular files are read, whole, once: a second read
 * gives the same bytes. A file that changes while it is read is a CHANGED error, upon which the daemon cooks
 * again. The digest covers exactly the returned bytes; large files are hashed on a separate thread. A lookup
 * of another spelling of a name is recorded as the dependency of ../fs/spelling.h. */
#ifndef SRV_ROOT_IO_H
#define SRV_ROOT_IO_H

#include "result.h"

typedef struct srv_root_io srv_root_io;
typedef struct srv_root_hasher srv_root_hasher;

/* The thread for large files; it ends with the process. NULL without memory. If the thread
 * cannot be started, large files are hashed where they are read. */
srv_root_hasher *srv_root_hasher_new(void);

/* Makes the io of one job; borrows the descriptor and the hasher. source_limit: bytes of one file. `touched`
 * (may be NULL) is called with each path before it is opened for the first time. NULL without memory. */
srv_root_io *srv_root_io_new(int root_fd, uint64_t source_limit, srv_root_hasher *hasher,
							 void (*touched)(void *user, hob_str path), void *user);
void srv_root_io_free(srv_root_io *io);
/* From now on also reads files that are open for writing, which is otherwise a CHANGED error. */
void srv_root_io_read_open(srv_root_io *io);
hob_io srv_root_io_table(srv_root_io *io);
/* Waits for the digests. The list is valid until free, in order of first use. If the model refers to
 * something above the root, the missing ".." comes last: deeper in the tree it may exist for the same
 * bytes. */
const srv_dep *srv_root_io_deps(srv_root_io *io, uint32_t *count);

#endif
