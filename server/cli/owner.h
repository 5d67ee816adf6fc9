/* owner.h - finds the daemon of a folder. `hob serve` writes its address into its cache (daemon.json), where
 * commands run in or below the folder of that cache find it. */
#ifndef CLI_OWNER_H
#define CLI_OWNER_H

#include "../../core/base/base.h"

#include <limits.h>

typedef struct cli_owner {
	long pid;
	char url[300];
	char unit[100]; /* the service manager's name for it; empty: none */
	char cache[PATH_MAX];
} cli_owner;

/* Notes that this process serves the cache at `url`, an address for clients on this machine. If that fails,
 * commands only need --url. */
void srv_owner_note(const char *cache, const char *url);
void srv_owner_forget(const char *cache);
/* The daemon that now uses the cache, if this user or root runs it. */
bool srv_owner_of_cache(const char *cache, cli_owner *out);
/* The daemon of a folder's cache: the configured cache, or `.hob` in the folder or a parent. */
bool srv_owner_of_folder(const char *folder, cli_owner *out);

/* Whether the daemon at `url`, which was not named explicitly, watches the current folder, a parent, or a
 * folder below. If not, prints once which folders it watches, unless `who` is NULL. True if unknown. */
bool srv_owner_is_here(const char *who, const char *url);
/* Whether `name` is a file here but the daemon, which was not named explicitly, watches other folders. If so,
 * prints a message and sets the exit code. */
bool srv_owner_is_wrong(const char *who, const char *url, const char *name, int *code);

#endif
