/* http_client.h - HTTP for the command line: one request to the daemon (client/connection.h), with
 * HOB_TOKEN. */
#ifndef CLI_HTTP_CLIENT_H
#define CLI_HTTP_CLIENT_H

#include "../../core/base/base.h"
#include "../client/tls_client.h"

#define CLI_CA_OPTION                                                                                        \
	{                                                                                                        \
		"--cacert", 0, CLI_TEXT, srv_tls_ca_file(), "FILE",                                                  \
			"trust the certificates in FILE for https://, not the system's ($HOB_CACERT)"                    \
	}

typedef struct cli_response {
	int status;
	hob_buf body;
	char type[96];	   /* Content-Type */
	char hash[80];	   /* ETag without quotes */
	char standing[16]; /* Cook-Standing */
} cli_response;

/* method "GET" or "POST" (body: JSON or empty); target begins with '/'. header: one more header line without
 * line end, or NULL. Errors: IO with a text that says how to start the daemon. Any status is a success. */
bool srv_cli_request(const char *url, const char *method, const char *target, const char *header,
					 hob_str body, cli_response *out, hob_error *err) HOB_MUST_CHECK;
/* Streams the body line by line (events). Returns when the server ends it, when nothing arrives for longer
 * than the heartbeat, or when `line` returns false. header: one more header line, or NULL. Errors: USAGE if
 * the daemon refuses; IO if it refuses temporarily (429, 5xx) or does not answer. */
bool srv_cli_stream(const char *url, const char *target, const char *header,
					bool (*line)(void *user, hob_str line), void *user, hob_error *err) HOB_MUST_CHECK;
void srv_cli_response_release(cli_response *response);

/* Appends text; all but unreserved characters and '/' is percent-encoded. */
void srv_cli_encode(hob_buf *out, hob_str text);
/* Appends a parameter of a target: "&q=", then the encoded value. NULL: nothing. */
void srv_cli_put_parameter(hob_buf *out, const char *name, const char *value);

#endif
