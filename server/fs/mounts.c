#include "mounts.h"

#include <stddef.h>
#include <sys/vfs.h>

enum { COUNT = 14 };

/* Numbers from linux/magic.h and the drivers of virtual machines. */
static const struct {
	unsigned magic;
	const char *name;
} networks[COUNT] = {
	{0x6969, "NFS"},
	{0x517B, "SMB"},
	{0xFF534D42, "SMB"},
	{0xFE534D42, "SMB"},
	{0x01021997, "9P"},
	{0x5346414F, "AFS"},
	{0x6B414653, "AFS"},
	{0x73757245, "Coda"},
	{0x00C36400, "Ceph"},
	{0x0BD00BD0, "Lustre"},
	{0x47504653, "GPFS"},
	{0x0000564C, "NCP"},
	{0x786F4256, "VirtualBox shared folder"},
	{0xBACBACBC, "VMware shared folder"},
};

/* File systems that report changes on the machine that makes them. */
static const struct {
	unsigned magic;
	const char *name;
} local[] = {
	{0xEF53, "ext4"},		  {0x58465342, "xfs"},	 {0x9123683E, "btrfs"}, {0xCA451A4E, "bcachefs"},
	{0x2FC12FC1, "zfs"},	  {0xF2F52010, "f2fs"},	 {0x01021994, "tmpfs"}, {0x858458F6, "ramfs"},
	{0x794C7630, "overlay"},  {0xF15F, "ecryptfs"},	 {0x2011BAB0, "exfat"}, {0x4D44, "vfat"},
	{0x7366746E, "ntfs"},	  {0x5346544E, "ntfs"},	 {0x482B, "hfsplus"},	{0x9660, "iso9660"},
	{0x73717368, "squashfs"}, {0xE0F5E1E2, "erofs"},
};

enum { FUSE_MAGIC = 0x65735546 };

const char *srv_network_mount(int fd)
{
	struct statfs info;
	if (fstatfs(fd, &info) != 0)
		return NULL;
	for (int i = 0; i < COUNT; i++)
		if (networks[i].magic == (unsigned)info.f_type)
			return networks[i].name;
	return NULL;
}

const char *srv_silent_mount(int fd)
{
	struct statfs info;
	if (fstatfs(fd, &info) == 0 && (unsigned)info.f_type == FUSE_MAGIC)
		return "FUSE";
	return srv_network_mount(fd);
}

const char *srv_file_system(int fd)
{
	struct statfs info;
	const char *silent = srv_silent_mount(fd);
	if (silent || fstatfs(fd, &info) != 0)
		return silent ? silent : "unknown";
	for (size_t i = 0; i < sizeof local / sizeof *local; i++)
		if (local[i].magic == (unsigned)info.f_type)
			return local[i].name;
	return "unknown";
}
