/* tls_client.h - TLS for Hob's HTTP clients, through OpenSSL. The server's name and certificate chain are
 * always checked.
 *
 * Any thread, one at a time for each srv_tls. */
#ifndef SRV_TLS_CLIENT_H
#define SRV_TLS_CLIENT_H

#include "../../core/base/base.h"

#include <sys/types.h>

typedef struct srv_tls srv_tls;

/* The value of `--cacert FILE`: PEM certificates to trust instead of the system's. Initially HOB_CACERT, or
 * NULL. Call it once, before other threads start. */
const char **srv_tls_ca_file(void);
/* Starts TLS on a connected socket, which the caller still owns. `host`: the name or address that the
 * certificate must be for. Errors: IO (the server does not use TLS, its chain is not trusted, or the name
 * differs; with the remedy), USAGE (an invalid file of certificates). */
bool srv_tls_open(int fd, const char *host, const char *url, srv_tls **out, hob_error *err) HOB_MUST_CHECK;
bool srv_tls_send(srv_tls *tls, const void *data, size_t size) HOB_MUST_CHECK;
ssize_t srv_tls_recv(srv_tls *tls, void *data, size_t size); /* like recv */
void srv_tls_close(srv_tls *tls);							 /* NULL is allowed */

#endif
