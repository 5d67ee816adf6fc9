#include "curl_transport.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct curl_transport {
	char *ca_file;
	char error[CURL_ERROR_SIZE];
};

/* A connection. Each has its own multi handle, because only a multi handle connects without waiting, and it
 * keeps its connections. */
typedef struct line {
	CURLM *multi;
	CURL *easy;
	int connected;
	char error[CURL_ERROR_SIZE];
} line;

static void line_close(void *user, void *connection)
{
	line *l = (line *)connection;
	(void)user;
	if (l->multi && l->easy)
		curl_multi_remove_handle(l->multi, l->easy);
	curl_easy_cleanup(l->easy);
	if (l->multi)
		curl_multi_cleanup(l->multi);
	free(l);
}

static hobc_result line_open(void *user, const char *host, uint16_t port, int tls, void **connection)
{
	const curl_transport *transport = (const curl_transport *)user;
	char url[320];
	int running;
	line *l = (line *)calloc(1, sizeof *l);
	if (!l)
		return HOBC_MEMORY;
	l->multi = curl_multi_init();
	l->easy = curl_easy_init();
	if (!l->multi || !l->easy) {
		line_close(user, l);
		return HOBC_MEMORY;
	}
	snprintf(url, sizeof url, strchr(host, ':') ? "%s://[%s]:%u/" : "%s://%s:%u/", tls ? "https" : "http",
			 host, (unsigned)port);
	curl_easy_setopt(l->easy, CURLOPT_URL, url);
	curl_easy_setopt(l->easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(l->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(l->easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(l->easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
	curl_easy_setopt(l->easy, CURLOPT_ERRORBUFFER, l->error);
	if (transport->ca_file)
		curl_easy_setopt(l->easy, CURLOPT_CAINFO, transport->ca_file);
	if (curl_multi_add_handle(l->multi, l->easy) != CURLM_OK) {
		line_close(user, l);
		return HOBC_NET;
	}
	curl_multi_perform(l->multi, &running);
	*connection = l;
	return HOBC_OK;
}

/* 1 if connected with a valid certificate, 0 if not yet, -1 if it fails. */
static int finish_connect(curl_transport *transport, line *l)
{
	CURLMsg *message;
	int running, left;
	if (l->connected)
		return 1;
	curl_multi_perform(l->multi, &running);
	while ((message = curl_multi_info_read(l->multi, &left)) != NULL) {
		if (message->msg != CURLMSG_DONE)
			continue;
		if (message->data.result != CURLE_OK) {
			snprintf(transport->error, sizeof transport->error, "%s",
					 l->error[0] ? l->error : curl_easy_strerror(message->data.result));
			return -1;
		}
		l->connected = 1;
	}
	return l->connected;
}

static long moved(CURLcode result, size_t count)
{
	if (result == CURLE_AGAIN)
		return 0;
	return result == CURLE_OK && count > 0 ? (long)count : -1;
}

static long line_send(void *user, void *connection, const void *data, size_t size)
{
	line *l = (line *)connection;
	size_t sent = 0;
	int ready = finish_connect((curl_transport *)user, l);
	CURLcode result = ready > 0 ? curl_easy_send(l->easy, data, size, &sent) : CURLE_AGAIN;
	return ready < 0 ? -1 : moved(result, sent);
}

static long line_recv(void *user, void *connection, void *data, size_t room)
{
	line *l = (line *)connection;
	size_t came = 0;
	int ready = finish_connect((curl_transport *)user, l);
	CURLcode result = ready > 0 ? curl_easy_recv(l->easy, data, room, &came) : CURLE_AGAIN;
	return ready < 0 ? -1 : moved(result, came);
}

/* No descriptor while it connects: libcurl may change sockets, so the client checks again every few ms. */
static int line_fd(void *user, void *connection)
{
	line *l = (line *)connection;
	curl_socket_t fd = CURL_SOCKET_BAD;
	(void)user;
	if (!l->connected || curl_easy_getinfo(l->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK)
		return -1;
	return fd == CURL_SOCKET_BAD ? -1 : (int)fd;
}

curl_transport *curl_transport_new(const char *ca_file)
{
	curl_transport *transport = (curl_transport *)calloc(1, sizeof *transport);
	size_t size = ca_file ? strlen(ca_file) + 1 : 0;
	if (!transport || !ca_file)
		return transport;
	transport->ca_file = (char *)malloc(size);
	if (!transport->ca_file) {
		free(transport);
		return NULL;
	}
	memcpy(transport->ca_file, ca_file, size);
	return transport;
}

hobc_transport curl_transport_net(curl_transport *transport)
{
	hobc_transport net;
	memset(&net, 0, sizeof net);
	net.user = transport;
	net.open = line_open;
	net.send = line_send;
	net.recv = line_recv;
	net.close = line_close;
	net.fd = line_fd;
	return net;
}

void curl_transport_free(curl_transport *transport)
{
	if (transport)
		free(transport->ca_file);
	free(transport);
}

const char *curl_transport_error(const curl_transport *transport)
{
	return transport->error;
}
