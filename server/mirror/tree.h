/* tree.h - the files of a mirror root, and their senders.
 *
 * The disk is authoritative: the log only saves hashing and records the senders. srv_tree_check compares the
 * two and hashes differing files. Paths are relative to the root; the area .hob-mirror is not in the tree. */
#ifndef SRV_MIRROR_TREE_H
#define SRV_MIRROR_TREE_H

#include "../fs/beneath.h"
#include "../fs/listing.h"

#include <stdio.h>

#define SRV_MIRROR_AREA ".hob-mirror"

typedef struct tree_entry {
	hob_str path; /* NUL-terminated */
	hob_sha256 digest;
	int64_t mtime_ms, at_ms; /* mtime on the agent's machine, in the daemon's time; time of arrival */
	uint32_t agent;			 /* HOB_NONE: found on the disk */
	srv_stat disk;
	bool seen;
} tree_entry;

typedef struct tree_agent {
	char *who, *base;
} tree_agent;

typedef struct srv_tree {
	char *path;
	int fd; /* the folder; -1: never opened */
	FILE *log;
	tree_entry **entries; /* sorted bytewise by path */
	uint32_t count, capacity;
	tree_agent *agents;
	uint32_t agent_count, agent_capacity;
} srv_tree;

/* Opens the folder, makes its area and reads the log, the first time; later only checks that the folder still
 * exists. Errors: IO ("is missing", "is another folder than before"). */
bool srv_tree_open(srv_tree *tree, hob_error *err) HOB_MUST_CHECK;
void srv_tree_release(srv_tree *tree);
/* Updates the entries from the disk. Cost: a stat of each file, a read of each changed one. */
bool srv_tree_check(srv_tree *tree, hob_error *err) HOB_MUST_CHECK;
/* The index of the agent with this name and base; HOB_NONE without memory. */
uint32_t srv_tree_agent(srv_tree *tree, hob_str who, hob_str base);
tree_entry *srv_tree_find(const srv_tree *tree, hob_str path);
/* Sets or replaces an entry, and logs it. `disk` is read from the file. False: no memory, or no file. */
bool srv_tree_put(srv_tree *tree, const tree_entry *entry);
void srv_tree_drop(srv_tree *tree, hob_str path);
/* Index of the first entry at or after `path`. */
uint32_t srv_tree_lower(const srv_tree *tree, hob_str path);

/* Digest of a folder ("" = the root), and its items (listing.h); `index`: in the entries. */
hob_sha256 srv_tree_digest(const srv_tree *tree, hob_str folder, srv_listing_item *item, void *user);

#endif
