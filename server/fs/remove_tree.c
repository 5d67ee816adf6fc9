#include "remove_tree.h"

#include <ftw.h>
#include <stdio.h>

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	(void)remove(path);
	return 0;
}

void srv_remove_tree(const char *folder)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
