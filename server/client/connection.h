/* connection.h - an HTTP connection to another Hob.
 *
 * Addresses: HOST:PORT, http://HOST:PORT, https://HOST:PORT (tls_client.h) and unix:/path. No redirects.
 * Answers are parsed by the renderers' client (client_parse.h): HTTP/1.1, with a length or in chunks.
 * Calls block their thread, at most as long as the limits allow, except for name lookups. One thread at a
 * time may use a connection; only srv_connection_cut may be called from another one. */
#ifndef SRV_CONNECTION_H
#define SRV_CONNECTION_H

#include "../../core/base/base.h"

typedef struct srv_connection srv_connection;

typedef struct srv_peer {
	const char *url;
	const char *kind;	 /* what is asked, for messages; NULL: a daemon */
	const char *token;	 /* sent as a bearer token; NULL or empty: none */
	const char *advice;	 /* appended to the message if nobody answers, for example "; start it"; NULL: none */
	uint32_t connect_ms; /* 0: until the system gives up */
	uint32_t silence_ms; /* longest wait for the next byte, in either direction; 0: for ever */
} srv_peer;

typedef struct srv_answer {
	int status;
	char type[96];	   /* Content-Type */
	char hash[80];	   /* ETag without quotes */
	char standing[16]; /* Cook-Standing, or Cook-State of 0.2 */
	char location[2048], retry_after[16];
	uint64_t length;
	bool has_length;
} srv_answer;

/* The texts of `peer` must live as long as the connection. Errors: USAGE (not a valid address), IO (nobody
 * answers, TLS). */
bool srv_connect(const srv_peer *peer, srv_connection **out, hob_error *err) HOB_MUST_CHECK;
void srv_disconnect(srv_connection *connection); /* NULL is allowed */
/* Called from another thread: every waiting call ends soon, and all later ones fail. */
void srv_connection_cut(srv_connection *connection);

typedef struct srv_ask {
	const char *method, *target;
	const char *headers; /* more header lines, each with CR LF; NULL */
	bool keep;			 /* keep the connection for another request */
	uint64_t body_size;	 /* bytes that srv_connection_put will send; ignored for GET and HEAD */
	const char *type;	 /* Content-Type of the body; NULL: application/json */
} srv_ask;

/* Sends the head and the body (in pieces), then waits for the head of the answer. Errors: IO. */
bool srv_connection_ask(srv_connection *connection, const srv_ask *ask, hob_error *err) HOB_MUST_CHECK;
bool srv_connection_put(srv_connection *connection, const void *data, size_t size,
						hob_error *err) HOB_MUST_CHECK;
bool srv_connection_answer(srv_connection *connection, srv_answer *out, hob_error *err) HOB_MUST_CHECK;
/* Reads at most `room` bytes of the body. 0 at its end, or if it is incomplete (see
 * srv_connection_is_whole). */
size_t srv_connection_read(srv_connection *connection, void *out, size_t room);
bool srv_connection_is_whole(const srv_connection *connection);
/* Whether the answer was read to its end and both sides keep the connection. */
bool srv_connection_is_reusable(const srv_connection *connection);
/* Changes silence_ms from now on. */
void srv_connection_limit_silence(srv_connection *connection, uint32_t ms);

#endif
