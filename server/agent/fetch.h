/* fetch.h - HTTP requests to the daemon. A handle is used by one thread at a time. */
#ifndef AGENT_FETCH_H
#define AGENT_FETCH_H

#include "sys.h"

typedef struct agent_fetch agent_fetch;

typedef struct fetch_request {
	const char *method, *target;
	hob_str body; /* JSON */
	/* Replaces `body`: the rest of the file, with the SHA-256 of the whole. */
	sys_file *file;
	uint64_t from, size; /* of the whole file */
	uint32_t silence_ms; /* 0 means 60000 */
} fetch_request;

/* `url`: http://HOST:PORT or https://HOST:PORT. ca_file: certificates that verify the server; NULL: those of
 * the system. */
agent_fetch *agent_fetch_open(const char *url, const char *token, const char *ca_file, hob_error *err);
void agent_fetch_close(agent_fetch *fetch); /* NULL is allowed */
/* Succeeds with any status. `answer` is cleared first, and limited to 64 MiB. Errors: IO, with the reason as
 * text (no answer, TLS). */
bool agent_fetch_send(agent_fetch *fetch, const fetch_request *request, int *status, hob_buf *answer,
					  hob_error *err) HOB_MUST_CHECK;

#endif
