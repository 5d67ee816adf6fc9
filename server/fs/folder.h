/* folder.h - lists the names in a folder. */
#ifndef SRV_FOLDER_H
#define SRV_FOLDER_H

#include <dirent.h>

/* Takes over the descriptor of a folder, which may be -1. NULL with errno. */
DIR *srv_folder_of(int fd);
/* A folder in an open one ("." = itself), not through a link. NULL with errno. */
DIR *srv_folder_open(int parent, const char *name);
/* The next entry but "." and ".."; NULL: the end. The folder may be NULL in both. */
struct dirent *srv_folder_next(DIR *folder);
void srv_folder_close(DIR *folder);
/* A folder that is closed at the end of its block: `srv_own_folder *list`. */
#define srv_own_folder __attribute__((cleanup(srv_folder_close_at))) DIR
void srv_folder_close_at(DIR **folder);

#endif
