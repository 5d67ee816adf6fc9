/* git_object.h - reads what git's object base and its folder of references hold. Everything here is foreign
 * bytes: each function checks what it returns, and none allocates by a count of the input.
 *
 * Texts point into the data. Errors: CORRUPT, and LIMIT for a commit of more than SRV_GIT_PARENTS parents. */
#ifndef SRV_GIT_OBJECT_H
#define SRV_GIT_OBJECT_H

#include "../../../core/base/base.h"

enum { SRV_GIT_ID = 20, SRV_GIT_ID_TEXT = 40, SRV_GIT_PARENTS = 32, SRV_GIT_SLOW_MAX = 16 };
#define SRV_GIT_SLOW "the object %s is damaged: unpacking it takes too long"

/* The name of an object: its SHA-1. */
typedef struct srv_git_id {
	uint8_t bytes[SRV_GIT_ID];
} srv_git_id;

bool srv_git_id_parse(hob_str text, srv_git_id *out); /* exactly 40 hex digits, in lower case */
typedef struct srv_git_hex {
	char text[SRV_GIT_ID_TEXT + 1];
} srv_git_hex;
srv_git_hex srv_git_id_text(const srv_git_id *id);
bool srv_git_id_equal(const srv_git_id *a, const srv_git_id *b);

typedef enum srv_git_kind {
	SRV_GIT_FILE,
	SRV_GIT_FOLDER,
	SRV_GIT_LINK,	/* symbolic */
	SRV_GIT_MODULE, /* a commit of another repository */
	SRV_GIT_ODD		/* none that git writes */
} srv_git_kind;

typedef struct srv_git_entry {
	hob_str name;
	srv_git_id id;
	srv_git_kind kind;
} srv_git_entry;

/* The rest of a tree, and its entry that was read last. */
typedef struct srv_git_tree {
	hob_bytes rest;
	srv_git_entry entry;
	bool any;
} srv_git_tree;

/* Reads the next entry into tree->entry; false with err->code OK at the end. A tree that is out of git's
 * order, or names an entry twice, is CORRUPT. */
bool srv_git_tree_next(srv_git_tree *tree, hob_error *err);
/* Git's order of entries: a folder's name ends in '/'. */
int srv_git_compare(const srv_git_entry *a, const srv_git_entry *b);
/* Why a file or folder cannot have this name ("is reserved for git"); NULL: it can. */
const char *srv_git_name_fault(hob_str name);

typedef struct srv_git_commit {
	srv_git_id tree, parents[SRV_GIT_PARENTS];
	uint32_t parent_count;
	int64_t time_s;			 /* of the committer; 0: none */
	hob_str author, subject; /* without the address; the first line */
} srv_git_commit;

bool srv_git_commit_parse(hob_bytes data, srv_git_commit *out, hob_error *err) HOB_MUST_CHECK;
/* The object that an annotated tag names. */
bool srv_git_tag_parse(hob_bytes data, srv_git_id *out, hob_error *err) HOB_MUST_CHECK;

/* The pointer that Git LFS stores instead of a large file: the SHA-256 in hex, and the size. False: it is
 * none. */
bool srv_git_lfs_parse(hob_bytes data, hob_str *sha256, uint64_t *size);

#endif
