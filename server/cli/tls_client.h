/* tls_client.h - TLS for the command line's HTTP, through OpenSSL: the server's name and its chain are always checked. */
#ifndef CLI_TLS_CLIENT_H
#define CLI_TLS_CLIENT_H

#include "../../core/base/base.h"

#include <sys/types.h>

typedef struct cli_tls cli_tls;

/* Where `--cacert FILE` goes: PEM certificates to trust instead of the system's; at first what HOB_CACERT says, or NULL. */
const char **cli_ca_file(void);
#define CLI_CA_OPTION                                                                                        \
	{                                                                                                        \
		"--cacert", 0, CLI_TEXT, cli_ca_file(), "FILE",                                                      \
			"trust the certificates in FILE for https://, not the system's ($HOB_CACERT)"                    \
	}

/* Speaks TLS on a connected socket, which stays the caller's. host: the name or address that the certificate must be for.
 * Errors: IO (no TLS there, a chain that is not trusted, another name: with the remedy), USAGE (a bad file of certificates). */
bool cli_tls_open(int fd, const char *host, const char *url, cli_tls **out, hob_error *err) HOB_MUST_CHECK;
bool cli_tls_send(cli_tls *tls, const void *data, size_t size) HOB_MUST_CHECK;
ssize_t cli_tls_recv(cli_tls *tls, void *data, size_t size); /* as recv */
void cli_tls_close(cli_tls *tls);							 /* NULL is fine */

#endif
