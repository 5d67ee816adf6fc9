/* curl_transport.h - a transport of hob_client with libcurl, for TLS, which the client itself does not have.
 *
 * libcurl connects, shakes hands and checks the certificate; HTTP stays with the client. Nothing here waits.
 *
 *     hobc_options options = {0};
 *     curl_transport *tls = curl_transport_new(NULL);
 *     options.url = "https://hob.studio:7780";
 *     options.net = curl_transport_net(tls);
 *     ...
 *     hobc_close(client);
 *     curl_transport_free(tls);
 *
 * Call curl_global_init first if other threads use libcurl. */
#ifndef HOB_CURL_TRANSPORT_H
#define HOB_CURL_TRANSPORT_H

#include "../hob_client.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct curl_transport curl_transport;

/* ca_file: PEM certificates to trust instead of the system's; NULL: the system's. NULL without memory. */
curl_transport *curl_transport_new(const char *ca_file);
/* For the options of any number of clients of one thread. */
hobc_transport curl_transport_net(curl_transport *transport);
/* Call it after the clients are closed. NULL is allowed. */
void curl_transport_free(curl_transport *transport);
/* Why the last connection failed, as text; "" if none failed. */
const char *curl_transport_error(const curl_transport *transport);

#ifdef __cplusplus
}
#endif
#endif
