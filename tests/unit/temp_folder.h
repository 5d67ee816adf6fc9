/* temp_folder.h - a temporary folder for tests that need real files. */
#ifndef TEST_TEMP_FOLDER_H
#define TEST_TEMP_FOLDER_H

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct temp_folder {
	char path[128];
	char text[4096]; /* result of folder_at */
} temp_folder;

static inline void folder_make(temp_folder *folder)
{
	const char *base = getenv("TMPDIR");
	snprintf(folder->path, sizeof folder->path, "%s/hob-test-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(folder->path))
		abort();
}

static inline int folder_remove_entry(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
	(void)info, (void)ftw;
	return kind == FTW_DP || kind == FTW_D ? rmdir(path) : unlink(path);
}

static inline void folder_remove(temp_folder *folder)
{
	nftw(folder->path, folder_remove_entry, 32, FTW_DEPTH | FTW_PHYS);
}

/* The path of an entry inside; valid until the next call. */
__attribute__((format(printf, 2, 3))) static inline const char *folder_at(temp_folder *folder,
																		  const char *fmt, ...)
{
	size_t used = (size_t)snprintf(folder->text, sizeof folder->text, "%s/", folder->path);
	va_list args;
	va_start(args, fmt);
	vsnprintf(folder->text + used, sizeof folder->text - used, fmt, args);
	va_end(args);
	return folder->text;
}

/* Writes a file inside, creating its folders. */
static inline void folder_put(const temp_folder *folder, const char *name, const char *text)
{
	char path[8192];
	snprintf(path, sizeof path, "%s/%s", folder->path, name);
	for (char *slash = strchr(path + strlen(folder->path) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0777);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
}

#endif
