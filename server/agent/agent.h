/* agent.h - mirrors a folder into a mirror root of the daemon.
 *
 *   watch --> tree: stat and hash what changed --> sync: differences to what the daemon holds --> one list
 *
 *            session opened, trees compared              a request failed
 *   AWAY ---------------------------------> IN STEP ---------------------------> AWAY (tries again)
 *
 * Changes queue as state, not as events: each file remembers what is on the disk and what the daemon holds,
 * so a week offline costs one comparison. */
#ifndef AGENT_H
#define AGENT_H

#include "fetch.h"
#include "sys.h"
#include "agent_watch.h"

#include "../../core/client/client_parse.h"
#include "../../core/hash/hash.h"

enum { AGENT_PROTOCOL = 1, AGENT_PATH = 4096 };

typedef struct agent_options {
	const char *folder, *url, *root, *base, *token_file, *ca_file, *who;
	bool once, dry_run, yes, poll, quiet;
} agent_options;

typedef struct agent_file {
	hob_str path; /* NUL behind it */
	sys_stat stat;
	hob_sha256 digest, sent; /* on the disk; at the daemon */
	bool on_disk, hashed, is_sent, seen, racy, busy;
	int64_t gone_ms; /* sys_ticks_ms when it vanished */
} agent_file;

typedef struct agent_tree {
	agent_file **slots; /* a hash table with open addressing */
	uint32_t capacity, count;
	hob_arena arena; /* of the ignore patterns */
	const char **ignore;
	uint32_t skipped, busy; /* names that cannot be sent; files to try again */
	bool failed;			/* a folder could not be listed, or memory was short: nothing may be deleted */
} agent_tree;

typedef struct agent {
	agent_options options;
	char folder[AGENT_PATH], state[AGENT_PATH], who[256], token[512];
	agent_tree tree;
	agent_watch *watch;
	agent_fetch *fetch;
	char session[64];
	uint64_t seq;
	bool in_step, offered_yes;
	bool stop;		  /* a refusal that only a person can change */
	uint64_t sent;	  /* bytes of all request bodies */
	uint32_t changes; /* since the start */
	int64_t next_ms;  /* sys_ticks_ms when something must be tried again; 0 = never */
	char problem[600];
} agent;

/* ---- agent_tree.c */

bool agent_tree_open(agent *a, hob_error *err) HOB_MUST_CHECK; /* patterns, and digests of the last run */
void agent_tree_release(agent_tree *tree);
agent_file *agent_tree_place(agent_tree *tree, hob_str path); /* NULL without memory */
/* The path may have changed; "" = everything. */
void agent_tree_touch(agent *a, hob_str path);
/* Again those that were busy. */
void agent_tree_retry(agent *a);
void agent_tree_save(const agent *a);
/* All files, in the order of their paths as bytes; *count of them. For free(). */
agent_file **agent_tree_sorted(const agent_tree *tree, uint32_t *count);
/* Digest of files[0, count), whose paths share a prefix of `skip` bytes: see openapi.json. */
hob_sha256 agent_tree_digest(agent_file *const *files, uint32_t count, size_t skip);
/* The number of files that are in the same folder as files[0] below `skip` bytes, which is *name; or 1 for a
 * file. */
uint32_t agent_tree_run(agent_file *const *files, uint32_t count, size_t skip, hob_str *name);

/* ---- agent_sync.c */

/* Sends what differs. Opens a session first, if there is none. False: try again at a->next_ms, or a->stop.
 * Says what happened. */
bool agent_sync(agent *a);

/* ---- agent_news.c */

/* Prints what the daemon says about the agent's assets, for ever; for a thread. */
void agent_news_run(void *user);
/* Waits until all is cooked and prints what failed. Returns an exit code. */
int agent_news_once(agent *a);

/* ---- agent_main.c */

/* One line for people, with the time; kept for `hob-agent status`. Any thread. */
void agent_say(agent *a, const char *fmt, ...) HOB_PRINTF(2, 3);
/* A member of an object in JSON; no bytes if there is none. */
hobc_json agent_member(hobc_json object, const char *key);
/* The text of a member; false if there is none, or if it is longer than `out`. */
bool agent_text(hobc_json object, const char *key, char *out, size_t room);
uint64_t agent_number(hobc_json value); /* 0 if it is none */
/* Request with a JSON body; the answer must be an object in JSON. On failure a->problem says why. */
bool agent_ask(agent *a, const fetch_request *request, int *status, hob_buf *answer);
hobc_json agent_json(const hob_buf *answer);
/* "HTTP 403: this token ... (hint)" */
void agent_problem(agent *a, int status, hobc_json answer);

#endif
