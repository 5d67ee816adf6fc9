#include "mounts.h"

#include "../../core/base/base.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

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

/* File systems whose changes cause events only on the machine that makes them. */
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

/* Decodes the octal escapes of /proc/self/mountinfo, in place. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at; to++) {
		bool escaped = at[0] == '\\' && at[1] && at[2] && at[3];
		*to = (char)(escaped ? (at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0') : *at);
		at += escaped ? 4 : 1;
	}
	*to = 0;
}

uint64_t srv_mounts_below(int fd)
{
	char self[32], folder[PATH_MAX];
	hob_own char *line = NULL;
	size_t room = 0;
	uint64_t sum = 1;
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	ssize_t len = readlink(self, folder, sizeof folder - 1);
	FILE *file = len > 0 ? fopen("/proc/self/mountinfo", "re") : NULL;
	if (!file)
		return 0;
	len -= len == 1; /* "/" becomes "" */
	while (getline(&line, &room, file) > 0) {
		char *words[5], *rest = line;
		int count = 0;
		while (count < 5 && (words[count] = strsep(&rest, " ")))
			count++;
		if (count < 5)
			continue;
		unescape(words[4]);
		char end = strncmp(words[4], folder, (size_t)len) == 0 ? words[4][len] : 'x';
		if (end && end != '/')
			continue;
		/* Hashes of number, parent, device, root and mount point are added: the order is irrelevant. */
		uint64_t hash = 1469598103934665603u;
		for (int i = 0; i < 5; i++)
			for (size_t c = 0; c <= strlen(words[i]); c++)
				hash = (hash ^ (uint8_t)words[i][c]) * 1099511628211u;
		sum += hash;
	}
	fclose(file);
	return sum;
}
