/* sys.h - the agent's system interface: files, their changes, and the folder of its own files.
 *
 * Paths are UTF-8 with '/', relative to the watched folder ("" = itself). Links, junctions and mount points
 * are never followed. On Windows, names are NFC on this side, long paths work, and a path that differs in
 * case from the one on the disk does not exist. */
#ifndef AGENT_SYS_H
#define AGENT_SYS_H

#include "../../core/base/base.h"

typedef struct sys_stat {
	uint64_t size, id;
	int64_t mtime_ns, ctime_ns;
} sys_stat;

/* UNKNOWN: a failure says nothing of the entry, which may be there. */
typedef enum sys_kind { SYS_NONE, SYS_FILE, SYS_FOLDER, SYS_LINK, SYS_OTHER, SYS_UNKNOWN } sys_kind;

/* Kind of the named entry, and its stat if it is a file. */
sys_kind sys_look(const char *folder, hob_str path, sys_stat *out);
/* Calls `item` for each name in a folder. `why` is the reason if the name cannot be sent (not valid Unicode),
 * else NULL. False: not all of the folder could be listed. */
typedef void sys_item(void *user, hob_str name, sys_kind kind, const sys_stat *stat, const char *why);
bool sys_list(const char *folder, hob_str path, sys_item *item, void *user);

typedef struct sys_file sys_file;
/* NULL: it is gone (*locked false), or it cannot be read now, for instance while another program writes it
 * (*locked). */
sys_file *sys_open(const char *folder, hob_str path, bool *locked);
bool sys_stat_open(sys_file *file, sys_stat *out);
bool sys_seek(sys_file *file, uint64_t to);
int64_t sys_read(sys_file *file, void *out, size_t room); /* 0: end, -1: failed */
void sys_close(sys_file *file);

void sys_who(char *out, size_t room); /* "anna@PC7" */

/* The folder for the agent's own files, created if necessary. Never below the watched folder. */
bool sys_state_folder(char *out, size_t room);
bool sys_read_whole(const char *path, hob_buf *out);
bool sys_replace(const char *path, hob_bytes bytes); /* atomic */
/* Held until the process ends. False: another process holds it. */
bool sys_lock(const char *path);
/* Absolute, without a trailing '/'. False: not a folder. */
bool sys_whole_path(const char *path, char *out, size_t room);

/* Watches report paths below a folder that may have changed. Only hints: the files decide. */
typedef struct agent_watch agent_watch;

/* NULL: the system or the folder gives no events, for the reason *why. */
agent_watch *agent_watch_open(const char *folder, const char **why);
void agent_watch_close(agent_watch *watch); /* NULL is allowed */
/* Call it before listing a folder. False: the system has no more watches. */
bool agent_watch_folder(agent_watch *watch, hob_str path);
/* Waits up to `ms` for a change and calls `changed` for each path that may have changed; the empty path means
 * all. False: it gives no more events. */
typedef void agent_changed(void *user, hob_str path);
bool agent_watch_wait(agent_watch *watch, uint32_t ms, agent_changed *changed, void *user);

/* Sets up UTF-8 output and command line. */
void sys_begin(int *argc, char ***argv);

#endif
