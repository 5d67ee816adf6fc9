/* agent.h - mirrors a folder into a mirror root of the daemon.
 *
 *   watch --> tree: stat and hash changed files --> sync: differences to the daemon's tree --> one list
 *
 *            session opened, trees compared              a request failed
 *   AWAY ---------------------------------> IN STEP ---------------------------> AWAY (tries again)
 *
 * Changes queue as state, not as events: each file has its version on the disk and its version at the daemon,
 * so a week offline costs one comparison. */
#ifndef AGENT_H
#define AGENT_H

#include "fetch.h"
#include "sys.h"

#include "../../core/client/client_parse.h"
#include "../../core/hash/hash.h"

enum { AGENT_PROTOCOL = 1, AGENT_PATH = 4096 };

typedef struct agent_options {
	const char *folder, *url, *root, *base, *token_file, *ca_file, *who;
	bool once, dry_run, yes, poll;
} agent_options;

typedef struct agent_file {
	hob_str path; /* NUL-terminated */
	sys_stat stat;
	hob_sha256 digest, sent; /* version on the disk; version at the daemon */
	bool on_disk, hashed, is_sent, seen, racy, busy;
	bool told;		 /* that it is skipped */
	int64_t gone_ms; /* agent_ticks_ms when it vanished */
} agent_file;

typedef struct agent_tree {
	agent_file **slots; /* hash table with open addressing */
	uint32_t capacity, count;
	hob_arena arena; /* memory of the ignore patterns */
	const char *const *ignore;
	uint32_t busy; /* files to retry */
	bool failed;   /* a folder could not be listed, or memory was short: nothing may be deleted */
} agent_tree;

typedef struct agent {
	agent_options options;
	char folder[AGENT_PATH], state[AGENT_PATH], who[256], token[512];
	agent_tree tree;
	agent_watch *watch; /* NULL: looks at everything every two seconds */
	agent_fetch *fetch;
	char session[64];
	uint64_t seq;
	bool in_step, offered_yes;
	bool stop;		   /* a refusal that only the user can resolve */
	bool look_again;   /* a deletion waits for a whole look that begins after the file went */
	bool stale;		   /* a file changed while it was sent: the differences are outdated */
	int64_t looked_ms; /* agent_ticks_ms when the last look at everything began */
	int64_t look_ms;   /* agent_ticks_ms of the next look at everything, without a watch */
	int64_t next_ms;   /* agent_ticks_ms of the next retry; 0: never */
	char problem[600];
} agent;

/* ---- agent_tree.c */

bool agent_tree_open(agent *a, hob_error *err) HOB_MUST_CHECK; /* patterns, and digests of the last run */
void agent_tree_release(agent_tree *tree);
agent_file *agent_tree_place(agent_tree *tree, hob_str path); /* NULL without memory */
/* Marks a path that may have changed; "": everything. */
void agent_tree_touch(agent *a, hob_str path);
/* Checks busy files again. */
void agent_tree_retry(agent *a);
void agent_tree_vanish(agent_file *f); /* it is gone */
void agent_tree_save(const agent *a);
/* ---- agent_sync.c */

/* Sends the differences, opening a session first if there is none, and prints the outcome. False: failed;
 * unless a->stop is set, call again at a->next_ms. After success, next_ms may be set for unfinished files. */
bool agent_sync(agent *a);
void agent_sync_beat(agent *a); /* tells the daemon that it is there */

/* ---- agent_news.c */

/* Thread: prints the daemon's events about the agent's assets, forever. */
void *agent_news_run(void *user);
/* Waits until everything is cooked and prints failures. Returns an exit code. */
int agent_news_once(agent *a);

/* ---- agent_main.c */

int64_t agent_now_ms(void);	  /* the wall clock, Unix time */
int64_t agent_ticks_ms(void); /* never set back */
void agent_sleep_ms(uint32_t ms);

/* Prints a line with the time; kept for `hob-agent status`. Any thread. */
void agent_say(const char *fmt, ...) HOB_PRINTF(1, 2);
/* A member of a JSON object; empty if there is none. */
hobc_json agent_member(hobc_json object, const char *key);
/* The text of a member; false if there is none, or if it is longer than `out`. */
bool agent_text(hobc_json object, const char *key, char *out, size_t room);
uint64_t agent_number(hobc_json value); /* 0 if it is not a number */
/* Sends a request with a JSON body; the answer must be a JSON object. On failure a->problem says why. */
bool agent_ask(agent *a, const fetch_request *request, int *status, hob_buf *answer);
hobc_json agent_json(const hob_buf *answer);
/* Sets a->problem and a->stop: this is no answer of a Hob daemon. False. */
bool agent_strange(agent *a, int status);
/* Sets a->problem: "the daemon refuses (403): this token ...; HINT". */
void agent_problem(agent *a, int status, hobc_json answer);

#endif
