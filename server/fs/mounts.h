/* mounts.h - the kind of file system of an open file or folder. */
#ifndef SRV_MOUNTS_H
#define SRV_MOUNTS_H

#include <stdint.h>

/* "NFS", "SMB" ...; NULL if the file system is local or of an unknown kind. */
const char *srv_network_mount(int fd);
/* Like srv_network_mount, but also "FUSE": such files can change elsewhere without an event here. */
const char *srv_silent_mount(int fd);

/* A number that changes when something is mounted or unmounted at this open folder or below it. 0:
 * unknown. */
uint64_t srv_mounts_below(int fd);

/* The file system's name in messages: "ext4", "overlay", "NFS" ...; "unknown". Static text. */
const char *srv_file_system(int fd);

#endif
