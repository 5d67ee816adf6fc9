/* fetch.h - HTTP requests to the daemon. One thread at a time for each. */
#ifndef AGENT_FETCH_H
#define AGENT_FETCH_H

#include "sys.h"

typedef struct agent_fetch agent_fetch;

typedef struct fetch_request {
	const char *method, *target;
	hob_str body; /* JSON */
	/* Instead: the file from here to its end, with the SHA-256 of the target. */
	sys_file *file;
	uint64_t from, size; /* of the whole file */
	uint32_t silence_ms; /* 0 = 60000 */
} fetch_request;

/* http://HOST:PORT or https://..., checked against the system's certificates or those of `ca_file` (NULL). */
agent_fetch *agent_fetch_open(const char *url, const char *token, const char *ca_file, hob_error *err);
void agent_fetch_close(agent_fetch *fetch); /* NULL is allowed */
/* Any status is success. `answer` is cleared first, and has at most 64 MiB. Counts all bytes of bodies in
 * *sent. Errors: IO, with the reason in words (nobody answers, TLS). */
bool agent_fetch_send(agent_fetch *fetch, const fetch_request *request, int *status, hob_buf *answer,
					  uint64_t *sent, hob_error *err) HOB_MUST_CHECK;

#endif
