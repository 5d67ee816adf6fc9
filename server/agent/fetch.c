#include "fetch.h"

#include "../client/connection.h"
#include "../client/tls_client.h"

#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 128 << 10, ANSWER_MAX = 64 << 20, SILENCE_MS = 60000, CONNECT_MS = 10000 };

struct agent_fetch {
	srv_peer peer;
	srv_connection *connection; /* kept between requests; NULL: none */
};

agent_fetch *agent_fetch_open(const char *url, const char *token, const char *ca_file, hob_error *err)
{
	agent_fetch *fetch = calloc(1, sizeof *fetch);
	if (!fetch) {
		(void)!hob_fail(err, MEMORY, "no memory left to connect");
		return NULL;
	}
	if (ca_file)
		*srv_tls_ca_file() = ca_file;
	fetch->peer = (srv_peer){.url = url, .token = token, .connect_ms = CONNECT_MS};
	return fetch;
}

void agent_fetch_close(agent_fetch *fetch)
{
	if (!fetch)
		return;
	srv_disconnect(fetch->connection);
	free(fetch);
}

/* *cut: the file ends before what was announced, so there is no answer to wait for. */
static bool send_file(agent_fetch *fetch, const fetch_request *r, bool *cut, hob_error *err)
{
	hob_own char *room = malloc(PIECE);
	uint64_t left = r->size - r->from;
	bool ok = room || hob_fail(err, MEMORY, "no memory left to send a file");
	while (ok && left > 0) {
		int64_t got = sys_read(r->file, room, left < PIECE ? (size_t)left : PIECE);
		*cut = got <= 0;
		if (*cut)
			ok = hob_fail(err, IO, "the file became shorter while it was sent");
		else
			ok = srv_connection_put(fetch->connection, room, (size_t)got, err);
		left -= ok ? (uint64_t)got : 0;
	}
	return ok;
}

static bool send_once(agent_fetch *fetch, const fetch_request *r, int *status, hob_buf *answer,
					  hob_error *err)
{
	char range[96] = "";
	srv_answer head = {0};
	if (r->file && r->from > 0)
		snprintf(range, sizeof range, "Content-Range: bytes %llu-%llu/%llu\r\n", (unsigned long long)r->from,
				 (unsigned long long)r->size - 1, (unsigned long long)r->size);
	srv_ask ask = {.method = r->method,
				   .target = r->target,
				   .headers = range[0] ? range : NULL,
				   .keep = true,
				   .body_size = r->file ? r->size - r->from : r->body.len,
				   .type = r->file ? "application/octet-stream" : NULL};
	hob_buf_clear(answer);
	if (!fetch->connection && !srv_connect(&fetch->peer, &fetch->connection, err))
		return false;
	srv_connection_limit_silence(fetch->connection, r->silence_ms ? r->silence_ms : SILENCE_MS);
	bool ok = srv_connection_ask(fetch->connection, &ask, err);
	bool cut = false;
	bool all = ok && (r->file ? send_file(fetch, r, &cut, err)
							  : srv_connection_put(fetch->connection, r->body.data, r->body.len, err));
	/* A refusal may arrive before everything is sent. */
	ok = ok && !cut && srv_connection_answer(fetch->connection, &head, err);
	*status = head.status;
	char bytes[16384];
	for (size_t got; ok && (got = srv_connection_read(fetch->connection, bytes, sizeof bytes)) > 0;) {
		hob_buf_put(answer, bytes, got);
		if (answer->failed || answer->size > ANSWER_MAX)
			ok = hob_fail(err, IO, "the answer of %s is too large", fetch->peer.url);
	}
	if (ok && !srv_connection_is_whole(fetch->connection))
		ok = hob_fail(err, IO, "the answer of %s was cut off", fetch->peer.url);
	if (!ok || !all || !srv_connection_is_reusable(fetch->connection)) {
		srv_disconnect(fetch->connection);
		fetch->connection = NULL;
	}
	return ok;
}

bool agent_fetch_send(agent_fetch *fetch, const fetch_request *request, int *status, hob_buf *answer,
					  hob_error *err)
{
	bool kept = fetch->connection != NULL;
	if (send_once(fetch, request, status, answer, err))
		return true;
	/* The daemon may have closed an idle connection. Lists are numbered, so repeating is safe. */
	if (!kept || (request->file && !sys_seek(request->file, request->from)))
		return false;
	return send_once(fetch, request, status, answer, err);
}
