/* mounts.h - what kind of file system a descriptor lies on. */
#ifndef SRV_MOUNTS_H
#define SRV_MOUNTS_H

#include <stdint.h>

/* "NFS", "SMB" ...; NULL when the file system is local, or of a kind that nobody can tell. */
const char *srv_network_mount(int fd);
/* The same, and "FUSE": such a mount may be shown here and changed elsewhere, without any event. */
const char *srv_silent_mount(int fd);

/* Another number when something was mounted or unmounted at this open folder or below it. 0: nobody can
 * tell. */
uint64_t srv_mounts_below(int fd);

/* Its name for people: "ext4", "overlay", "NFS" ...; "unknown". Static text. */
const char *srv_file_system(int fd);

#endif
