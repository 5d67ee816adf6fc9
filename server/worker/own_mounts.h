/* own_mounts.h - a mount namespace for an external program: in it every file system of the machine is
 * read-only, and the program's private folder is a file system in memory of a bounded size. */
#ifndef SRV_OWN_MOUNTS_H
#define SRV_OWN_MOUNTS_H

#include "../../core/base/base.h"

enum { SRV_OWN_MOUNTS_FILES = 4096 };

/* Call it with one thread, before the sandbox. Returns the new file system at `folder`, for `bytes` bytes and
 * `files` files; it lives as long as that descriptor, also outside. -1: the kernel refuses; exit then. */
int srv_own_mounts_enter(const char *folder, uint64_t bytes, uint32_t files);

#endif
