/* git_files.h - the folder `sources` of the cache: files of git repositories, and folders made of them.
 *
 *   sources/objects/ab/cd...    a file by git's name of it; mode 0444, never changed. "....pointer": an LFS
 *                               pointer whose large file was not there
 *   sources/NAME                the tip of the first reference of the source NAME, as an ordinary folder
 *   sources/NAME~commits/ID     other commits, whole: a folder appears and goes by one rename
 *   sources/incoming            unfinished work; emptied at the start
 *
 * The files of all folders are hard links to the objects, so that a commit costs no copy. Only the thread of
 * git_sources.h writes here. Objects that no folder uses are deleted at the start: git has them. */
#ifndef SRV_GIT_FILES_H
#define SRV_GIT_FILES_H

#include "git_reader.h"

#include "../fs/fd.h"

typedef struct srv_git_files {
	char *path;
	int fd;
} srv_git_files;

typedef struct srv_git_change {
	hob_str path; /* NUL-terminated */
	srv_git_id id;
	char letter;	   /* P, D, L, M, N of child/git_main.c */
	bool pointer;	   /* P: only an LFS pointer is here */
	const char *fault; /* P: why the file cannot be had; NULL: it is here */
} srv_git_change;

typedef struct srv_git_changes {
	hob_arena arena;
	srv_git_change *items;
	uint32_t count;
} srv_git_changes;

/* Reads the answer of "diff", which must outlive the changes. Errors: CORRUPT, MEMORY. */
bool srv_git_changes_read(srv_git_changes *changes, const hob_buf *answer, hob_error *err) HOB_MUST_CHECK;
void srv_git_changes_release(srv_git_changes *changes);

/* Makes the folders below `cache`. Errors: IO. */
bool srv_git_files_open(srv_git_files *files, const char *cache, hob_error *err) HOB_MUST_CHECK;
void srv_git_files_close(srv_git_files *files);
/* Opens a folder of `sources`, and makes it. -1 with errno. */
int srv_git_files_folder(const srv_git_files *files, const char *name);

/* Fetches the files to put that are not here, on the disk before any of them gets its name. One that cannot
 * be had gets a fault. Errors: IO, DISK_FULL, MEMORY: nothing is known of the others. */
bool srv_git_files_hold(const srv_git_files *files, srv_git_reader *reader, srv_git_changes *changes,
						hob_error *err) HOB_MUST_CHECK;
/* Changes the folder: first what goes, then what comes. `whole`: the changes are from nothing, and everything
 * else goes. What cannot be placed gets a fault. */
bool srv_git_files_apply(const srv_git_files *files, int folder, srv_git_changes *changes, bool whole,
						 hob_error *err) HOB_MUST_CHECK;
/* Makes `parent`/ID of all changes, from nothing; replaces none. */
bool srv_git_files_make(const srv_git_files *files, const char *parent, const char *id,
						srv_git_changes *changes, hob_error *err) HOB_MUST_CHECK;
/* Removes `parent`/ID, which is gone at once. */
void srv_git_files_remove(const srv_git_files *files, const char *parent, const char *id);
/* Appends up to `most` bytes of an object, or of a pointer. */
void srv_git_files_peek(const srv_git_files *files, const srv_git_id *id, bool pointer, size_t most,
						hob_buf *out);
enum { SRV_GIT_OBJECT_NAME = 80 };
/* objects/ab/cd... */
void srv_git_object_name(const srv_git_id *id, bool pointer, char out[SRV_GIT_OBJECT_NAME]);

#endif
