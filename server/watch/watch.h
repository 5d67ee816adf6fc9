/* watch.h - lists the files of root folders, and reports those that may have changed.
 *
 *        srv_watch_new                     scan done                inotify record, poll difference
 *   (none) ----------> SCANNING (per root) ---------> LIVE  ------------------------------> changed()
 *                          ^                           |
 *                          +--- overflow, watch limit, root came back: reset() then scan again
 *                          |
 *                          +--- the root cannot be opened or read: gone(), tried again every poll_ms
 *
 * Events are hints, scans are authoritative: after every scan `scanned` receives the complete list of files
 * below the root with their stat data, and the caller compares. Between scans `changed` receives paths that
 * were created, written and closed, moved or removed; the caller stats them again.
 *
 * Threads: one thread reads inotify (CLOSE_WRITE, MODIFY, ATTRIB, MOVED_FROM, MOVED_TO, CREATE, DELETE,
 * DELETE_SELF, MOVE_SELF), others scan; all callbacks run on the loop's thread. A new folder is watched first
 * and then crawled, so that no file created inside it is missed.
 *
 * Settling: a lone CLOSE_WRITE or MOVED_TO is delivered at once. While further records for the same root
 * arrive within `window_us` (default 250; eight times that after the eighth file in a row) of each other they
 * are collected, for at most `window_max_ms` (250), and delivered as one batch; with removals among them the
 * window is at least 15 ms. IN_CREATE without a close (a file still being written) is delivered at its close;
 * a file that no program has open for writing (after link, mkfifo, truncate, chmod) is delivered after a stat
 * at the end of the window.
 *
 * Paths: relative to the root, '/'-separated, raw bytes from the kernel. Symbolic links to files are listed
 * when their target lies inside the root; links to folders are not followed: see srv_watch_add_file. Hidden
 * entries (leading dot) and those that `ignore` selects are skipped and not watched. Only regular files are
 * listed. A link is reported as changed with its target, and with each link and folder on the way to it.
 * Files inside a new folder (moved in, or filled before it was watched) are reported one by one, besides the
 * folder.
 *
 * Polling (network and FUSE mounts, a probe without an event, watch limit, force_polling): a changed file is
 * reported when two rounds saw the same state and no process has it open for writing. Each root has its own
 * inotify instance, so roots may overlap. A save that writes a temporary file and renames it counts as one
 * lone change, and repeated saves of one file are delivered each time at once. After an overflow the new scan
 * begins at once; during further overflows delays double from 250 ms to 30 s. */
#ifndef SRV_WATCH_H
#define SRV_WATCH_H

#include "../../core/base/base.h"
#include "../fs/beneath.h"
#include <uv.h>

typedef enum srv_watch_mode { SRV_WATCH_INOTIFY, SRV_WATCH_POLLING } srv_watch_mode;

typedef struct srv_file_entry {
	hob_str path; /* NUL-terminated */
	srv_stat stat;
} srv_file_entry;

typedef struct srv_watch_callbacks {
	void *user;
	/* Complete list, sorted by path bytes. False: only partly processed; the same call is repeated in the
	 * next turn of the loop, before any other callback. The memory is freed after the last call, unless the
	 * callee calls srv_watch_keep_list. */
	bool (*scanned)(void *user, uint32_t root, const srv_file_entry *files, size_t count);
	/* Paths that may have changed, without duplicates. A folder that was moved or removed is reported with a
	 * trailing '/', which means "everything below". False: as for `scanned`. */
	bool (*changed)(void *user, uint32_t root, const hob_str *paths, size_t count);
	/* Events were lost or are not available: a new scan follows automatically. `why` is a message for the
	 * user. */
	void (*reset)(void *user, uint32_t root, const char *why);
	/* The mode of a root is known or has changed ("polling every 2 s: network mount"). */
	void (*mode)(void *user, uint32_t root, srv_watch_mode mode, const char *why);
	/* Replaces `scanned`: the root does not exist or cannot be read, so the state of its files is unknown.
	 * `why` is a message that names the folder. Repeated after each requested rescan; `mode` and `scanned`
	 * follow when the root is back. */
	void (*gone)(void *user, uint32_t root, const char *why);
	/* srv_watch_mark: every mark of the root up to `number` has passed. May be NULL without marks. */
	void (*passed)(void *user, uint32_t root, uint64_t number, bool seen);
} srv_watch_callbacks;

typedef struct srv_watch_options {
	uint32_t window_us, window_max_ms; /* 0 means 250, 250 */
	uint32_t poll_ms;				   /* interval of polling roots; 0 means 2000 */
	bool force_polling;
	/* Rely on events even on mounts that give none for changes by other machines; then only the watch limit
	 * leads to polling. */
	bool trust_events;
	/* Before the first scan, and whenever the root is another folder, creates and removes a dot file in the
	 * root. If that gives no event, the root is polled. If the file cannot be created, there is no
	 * conclusion. */
	bool probe;
	bool held;			  /* scan and watch, but make no callback before srv_watch_deliver */
	bool once;			  /* scan only, never watch (hob cook) */
	uint32_t max_watches; /* tests: simulated kernel limit; 0: none */
	/* True for a path (folders end in '/') that is neither listed nor watched. May be NULL. Called on scan
	 * threads, so it must only read. */
	bool (*ignore)(void *user, uint32_t root, hob_str path);
	void *ignore_user;
} srv_watch_options;

typedef struct srv_watch srv_watch;

/* Starts without any root. Fails with IO if inotify is not available and polling is not possible. */
bool srv_watch_new(uv_loop_t *loop, const srv_watch_options *options, const srv_watch_callbacks *callbacks,
				   srv_watch **out, hob_error *err) HOB_MUST_CHECK;
/* The caller numbers roots 0,1,2... `path` is absolute and NUL-terminated. A root that does not exist, or
 * cannot be read, is `gone`, and tried again every poll_ms. */
bool srv_watch_add_root(srv_watch *watch, uint32_t root, const char *path, hob_error *err) HOB_MUST_CHECK;
/* Ends the effect of the option `held`: everything found so far is delivered in the next turn of the loop. */
void srv_watch_deliver(srv_watch *watch);
/* Only in `scanned`: takes over the list, which the caller must drop (any thread). */
typedef struct srv_file_list srv_file_list;
srv_file_list *srv_watch_keep_list(srv_watch *watch);
void srv_file_list_drop(srv_file_list *list); /* NULL is allowed */
/* O(log n); NULL: not in the list. */
const srv_file_entry *srv_file_list_find(const srv_file_list *list, hob_str path);
/* The files whose path begins with `prefix`, in order. */
const srv_file_entry *srv_file_list_below(const srv_file_list *list, hob_str prefix, size_t *count);

/* Registers a used file that no scan lists, because it is in a hidden or ignored folder, behind a link to a
 * folder, or missing. From now on its changes are reported under this name, also if a folder or link on the
 * way to it changes. False: events report it anyway. True: changes before this call may have been missed, so
 * the caller must check the file. Loop thread. */
bool srv_watch_add_file(srv_watch *watch, uint32_t root, hob_str path);
/* srv_watch_is_unread, in `scanned`: whether the scan could not read this path, so that its absence is not a
 * removal. A new scan follows automatically, after 1 to 30 s. */
/* srv_watch_outside, in `scanned`: the symbolic links that lead out of the root, by index; {0} at the end. */
hob_str srv_watch_outside(const srv_watch *watch, size_t at);
bool srv_watch_is_unread(const srv_watch *watch, hob_str path);
/* Sets a mark and returns its number; `passed` follows when every change that was complete before this call
 * has been delivered. It needs no scan: the kernel queues an event before the call that caused it returns, so
 * reading the queue to its current end is enough. *seen false: there is no such queue, or part of it could
 * not be read (a polled root, a missing one), so only a scan can tell. A root that is being scanned passes
 * its mark afterwards. Loop thread. */
uint64_t srv_watch_mark(srv_watch *watch, uint32_t root);
/* Scans again now; `scanned` follows. */
void srv_watch_rescan(srv_watch *watch, uint32_t root);
/* Stops threads and handles. When the loop has closed them, the memory is freed and done(user) is called. */
void srv_watch_close(srv_watch *watch, void (*done)(void *user), void *user);

/* Result of the root's own probe. */
typedef enum watch_probed {
	WATCH_PROBE_OFF, /* not requested, or polling anyway */
	WATCH_PROBE_ARRIVES,
	WATCH_PROBE_SILENT,
	WATCH_PROBE_IMPOSSIBLE /* nothing can be written there */
} watch_probed;

typedef struct srv_watch_facts {
	const char *file_system; /* "ext4", "NFS" ...: static text */
	watch_probed probed;
	uint32_t poll_ms; /* 0: not polling */
} srv_watch_facts;
/* As of the last `mode`. Loop thread. */
void srv_watch_tell(const srv_watch *watch, uint32_t root, srv_watch_facts *out);

/* The approximate number of changes that are not delivered yet: paths that no callback got, and events that
 * nobody has read. Loop thread. */
size_t srv_watch_collecting(srv_watch *watch);

/* Counters for /metrics. */
typedef struct srv_watch_counters {
	uint64_t events, batches, overflows, scans, watches;
} srv_watch_counters;
void srv_watch_count(const srv_watch *watch, srv_watch_counters *out);

#endif
