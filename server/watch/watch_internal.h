/* watch_internal.h - shared by the files of the watcher.
 *
 *   watch.c         the loop's side: queue of messages, start, close
 *   watch_root.c    one thread per root: scheduling of scans, polling, missing roots
 *   watch_extra.c   links, and used files that are not listed: behind links, in ignored folders
 *   watch_probe.c   tests whether events arrive in a folder
 *   watch_folder.c  the watches of folders
 *   watch_scan.c    the parallel crawl that makes a complete list
 *   watch_reader.c  one thread that reads the inotify descriptors of all roots
 *   watch_settle.c  decides when changed paths are delivered
 *   dir_tree.c      the watched folders;  path_set.c  paths without duplicates
 *
 * Each root has its own inotify instance, so that closing it drops all its watches, an overflow concerns one
 * root, and roots may overlap. root->lock guards everything of a root that both its thread and the reader
 * use; the reader holds it while it handles records. Messages use watch->queue_lock, a leaf. */
#ifndef SRV_WATCH_INTERNAL_H
#define SRV_WATCH_INTERNAL_H

#include "watch.h"
#include "dir_tree.h"
#include "path_set.h"

#include "../fs/fd.h"
#include "../fs/lock.h"

#include <stdatomic.h>

/* A complete scan. Shared by the message that carries it and by a polling root. */
struct srv_file_list {
	srv_file_entry *entries;
	size_t count;
	path_set unread; /* folders and files that could not be read: their absence from the list means nothing */
	path_set outside; /* symbolic links that lead out of the root */
	hob_arena *arenas;
	uint32_t arena_count;
	atomic_uint references;
};
srv_file_list *srv_file_list_keep(srv_file_list *list);
bool srv_file_list_is_unread(const srv_file_list *list, hob_str path);

typedef struct settle_state {
	path_set batch;	  /* paths to deliver */
	path_set created; /* created, not closed yet */
	size_t gone;	  /* number in `batch` that were removed, or moved to an unknown place */
	int64_t first_ns, last_ns, hot_until_ns, created_due_ns;
	path_set recent;		/* distinct files since the last pause, up to a few */
	char *alone;			/* path last delivered alone */
	uint32_t rename_cookie; /* cookie of the last MOVED_FROM of a file */
	char *rename_from;
} settle_state;

typedef struct extra_file {
	hob_buf ways;  /* see watch_extra.c */
	srv_stat seen; /* polling: the last state */
} extra_file;

typedef struct extra_way {
	const char *place;
	uint32_t file;
} extra_way;

typedef struct extra_found {
	uint32_t file;
	bool below; /* the file, or a link on the way to it, is below the path */
} extra_found;

typedef struct extra_folder {
	int wd;
	char *path;
} extra_folder;

typedef struct watch_extras {
	path_set names;	   /* never shrinks */
	extra_file *files; /* by index in `names` */
	extra_way *ways;   /* ways of all files; ordered if `sorted` */
	extra_found *found;
	uint32_t room, way_count, way_room, found_count, found_room;
	bool sorted;
	extra_folder *folders; /* watched for `files`; not in the tree */
	size_t folder_count;
} watch_extras;

typedef struct watch_root {
	struct srv_watch *watch;
	uint32_t index;
	char *path;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool want_scan, held;	   /* `held`: a scan is due or in progress, and changes are only collected */
	int64_t changing_until_ns; /* SRV_VCS_CHANGING: changes are only collected; 0: they are delivered */
	atomic_bool retry_inotify; /* request: try inotify again after the watch limit */
	int64_t scan_at_ns, overflow_at_ns, backoff_ns;
	/* wait before the next scan, set by a scan that could not read everything; 0: the last one could */
	int64_t unread_wait_ns;
	int dir_fd, inotify_fd; /* `dir_fd`: -1 when the root is missing; `inotify_fd`: -1 when not watching */
	uint32_t scan_number;
	uint64_t mounts, mounts_seen; /* srv_mounts_below; the reader's count at the last examined change */
	dir_tree tree;
	size_t counted; /* folders of this root in watch->watches */
	int moving_wd;	/* a renamed folder whose new place is still unknown; 0: none */
	int64_t moving_at_ns;
	settle_state settle;
	uint64_t marks_set, marks_passed;
	atomic_size_t collected; /* settle.batch.live, for the loop's thread */
	watch_extras extras;
	char limit[256]; /* reason why inotify is not available for this root, or empty */

	/* root's own thread only */
	uint64_t device, inode;
	watch_probed probed; /* for this device and inode */
	bool missing, announced;
	bool unreadable; /* missing although it can be opened: retried without a message */
	bool polling;
	char why[300];
	srv_file_list *known; /* polling: the newest list */
} watch_root;

enum { WATCH_ROOTS_MAX = 256 };

typedef enum message_kind {
	MESSAGE_SCANNED,
	MESSAGE_CHANGED,
	MESSAGE_RESET,
	MESSAGE_MODE,
	MESSAGE_GONE,
	MESSAGE_PASSED
} message_kind;

typedef struct watch_message {
	struct watch_message *next;
	message_kind kind;
	uint32_t root;
	srv_watch_mode mode;
	srv_file_list *files;
	path_set paths;
	char why[300];
	srv_watch_facts facts;
	uint64_t number; /* number of a mark */
	bool seen;
} watch_message;

struct srv_watch {
	uv_async_t async;
	srv_watch_options options;
	srv_watch_callbacks callbacks;
	void (*done)(void *user);
	void *done_user;
	bool closing;

	pthread_mutex_t queue_lock;
	watch_message *first, **last;
	watch_message *pending;	  /* messages removed from the queue; the loop's thread only */
	bool paused;			  /* the first message of `pending` was only partly processed */
	srv_file_list *delivered; /* while `scanned` is called */

	pthread_mutex_t roots_lock; /* guards the array; a root exists until close */
	watch_root **roots;
	uint32_t root_count;
	srv_watch_facts facts[WATCH_ROOTS_MAX]; /* loop's thread only */

	pthread_t reader;
	int reader_wake; /* eventfd */
	atomic_bool stop, reader_held;
	atomic_uint threads;
	atomic_uint_fast64_t events, batches, overflows, scans, watches;
};

int64_t srv_watch_now_ns(void);
static inline int64_t watch_ms(uint32_t value)
{
	return (int64_t)value * 1000000;
}
/* The root with this index, locked; NULL: there is none. */
watch_root *srv_watch_lock_root(struct srv_watch *watch, uint32_t index);
watch_message *srv_watch_message_new(watch_root *root, message_kind kind);
void srv_watch_post(struct srv_watch *watch, watch_message *message);
void srv_watch_wake_reader(struct srv_watch *watch);
void srv_watch_thread_ends(struct srv_watch *watch);
/* Path with a trailing '/' for folders. */
bool srv_watch_ignores(watch_root *root, hob_str path);

void *srv_watch_root_main(void *root);
/* With root->lock held: invalidates everything since the last scan; scans again after `delay_ns`. */
void srv_watch_root_doubt(watch_root *root, int64_t delay_ns, const char *why);
/* Schedules a new scan because something could not be read; events continue. With root->lock held. */
void srv_watch_root_look_again(watch_root *root, const char *why);
void srv_watch_root_free(watch_root *root);

/* watch_probe.c; takes at most a second, normally far less than a millisecond. Never returns WATCH_PROBE_OFF.
 * *inotify_fd: an inotify instance without watches, owned by the caller, because closing one takes the kernel
 * many milliseconds. Records of a removed watch may still arrive. -1: none. */
watch_probed srv_watch_probe(int dir_fd, int *inotify_fd);

/* watch_extra.c; with root->lock held. */
bool srv_watch_extra_add(watch_root *root,
						 hob_str path); /* false: not a link, so events report it; or already known */
void srv_watch_extra_learn(watch_root *root,
						   hob_str path);	   /* `path`, NUL-terminated, may have become a link */
void srv_watch_extra_renew(watch_root *root);  /* link targets and existing folders may have changed */
void srv_watch_extra_forget(watch_root *root); /* the inotify instance is gone */
void srv_watch_extra_release(watch_root *root);
/* Path of a folder that is watched only for files added here; false: it is not one (any more). */
bool srv_watch_extra_folder(watch_root *root, int wd, bool ignored, char *out, size_t room, size_t *len);
/* An event for `path`, which no list contains. Returns how many files it is about, in extras.found. */
uint32_t srv_watch_extra_event(watch_root *root, hob_str path, uint32_t mask);
/* Adds the files with a way in the batch, or below a folder of the batch. */
void srv_watch_extra_expand(watch_root *root, path_set *batch);

/* watch_folder.c */
void srv_watch_drop_folder(void *root, int wd); /* a dir_tree_gone */
void srv_watch_recount(watch_root *root);		/* call it after the tree changed */
long srv_watch_read_number(const char *path);	/* in a file of /proc; 0: none */
/* Adds an inotify watch. -1: none, with the reason in root->limit if a limit is reached. `here`: fd is also
 * the calling thread's current folder. With root->lock held. */
int srv_watch_add_raw(watch_root *root, int fd, bool here, hob_str path);

typedef enum folder_watch { FOLDER_WATCHED, FOLDER_GONE, FOLDER_LIMIT } folder_watch;
/* With root->lock NOT held: adds the watch and puts the folder into the tree. */
folder_watch srv_watch_add_folder(watch_root *root, int fd, bool here, hob_str path);
/* Like srv_watch_add_folder, with the lock held. */
folder_watch srv_watch_add_folder_locked(watch_root *root, int fd, bool here, hob_str path);

typedef struct scan_result {
	srv_file_list *files;
	path_set links;
	bool limit;			/* a watch could not be added; the reason is in root->limit */
	const char *silent; /* file system of a mount inside that gives no events */
	char unread[200];	/* first reason why something could not be read; empty: none */
	bool stopped;
	int failed; /* errno: the root itself could not be read; 0: it could */
} scan_result;
void srv_watch_scan(watch_root *root, bool add_watches, scan_result *out);

/* An entry of a folder; kind is a DT_ constant, never DT_UNKNOWN. False ends the walk. */
typedef bool folder_entry(void *user, int folder_fd, const char *name, unsigned char kind);
/* 0, or errno if the listing stopped early. */
int srv_watch_list_folder(int fd, uint8_t *buffer, folder_entry *each, void *user);
enum { WATCH_LIST_BUFFER = 32 << 10 };

void *srv_watch_reader_main(void *watch);

/* All with root->lock held. */
void srv_settle_complete(watch_root *root, hob_str path, uint32_t rename_cookie, int64_t now);
void srv_settle_gone(watch_root *root, hob_str path, uint32_t rename_cookie, int64_t now);
void srv_settle_created(watch_root *root, hob_str path, int64_t now);
void srv_settle_extra(watch_root *root, hob_str path, uint32_t mask,
					  int64_t now); /* see srv_watch_extra_event */
void srv_settle_clear(watch_root *root);
/* Makes all complete paths due. */
void srv_settle_hurry(watch_root *root, int64_t now);
/* Delivers due paths. Returns the time of the next check, INT64_MAX for never. */
int64_t srv_settle_tick(watch_root *root, int64_t now);

/* Tests: the reader does not read the kernel's queue while held. */
void srv_watch_hold_reader(struct srv_watch *watch, bool hold);

#endif
