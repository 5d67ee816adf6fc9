/* owner.h - the daemon of a folder. `hob serve` notes in its cache where it answers (daemon.json); commands
 * that are run in or below the folder of that cache find it there. */
#ifndef CLI_OWNER_H
#define CLI_OWNER_H

#include "../../core/base/base.h"

#include <limits.h>

typedef struct cli_owner {
	long pid;
	char url[300];
	char unit[100]; /* of the service manager; empty: none */
	char cache[PATH_MAX];
} cli_owner;

/* This process serves the cache at `url`. A failure costs only that commands need --url. */
void srv_owner_note(const char *cache, const char *url);
void srv_owner_forget(const char *cache);
/* The daemon that uses the cache now, if this user or root runs it. */
bool srv_owner_of_cache(const char *cache, cli_owner *out);
/* The same of a folder: the configured cache, or `.hob` in it or in a parent. */
bool srv_owner_of_folder(const char *folder, cli_owner *out);

/* The address of a daemon for a client on this machine: of 0.0.0.0 and [::], that of the loopback. */
void srv_owner_local_url(const char *url, char out[300]);

/* Whether the daemon at `url`, which no folder and no user named, watches the current folder, a parent, or a
 * folder below. If not, says which folders it watches, once; not with who NULL. True if that is not known. */
bool srv_owner_is_here(const char *who, const char *url);
/* True, with a message and the exit code: `name` is a file here, and that daemon, which nobody named, watches
 * other folders. */
bool srv_owner_is_wrong(const char *who, const char *url, const char *name, int *code);

#endif
