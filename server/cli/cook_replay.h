/* cook_replay.h - one cook, once, in its own process: for `hob replay`. */
#ifndef CLI_COOK_REPLAY_H
#define CLI_COOK_REPLAY_H

#include "cli.h"

#include "../../core/settings/settings.h"
#include "../../core/hash/hash.h"
#include "../worker/sandbox.h"

typedef struct cook_replay {
	int root_fd;
	const char *path; /* below it */
	hob_settings settings;
	bool preview;
	uint32_t timeout_ms;   /* 0 = the default */
	uint64_t memory_limit; /* 0 = the default */
	srv_sandbox_policy sandbox;
} cook_replay;

typedef struct cook_replay_output {
	char name[64];
	hob_sha256 digest;
} cook_replay_output;

typedef struct cook_replay_result {
	hob_error error; /* of the cook; OK if it succeeded */
	cook_replay_output *outputs;
	uint32_t count;
	uint64_t cook_ns;
	char library[256], sandbox[96];
} cook_replay_result;

/* False if it could not start: NO_WORKER, MEMORY, IO (no descriptors left), or the path has no known format
 * (UNSUPPORTED). */
bool srv_cook_replay_run(const cook_replay *task, cook_replay_result *out, hob_error *err) HOB_MUST_CHECK;
void srv_cook_replay_release(cook_replay_result *result);

#endif
