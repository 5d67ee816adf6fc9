/* fuzz_peer.h - the server for targets that are clients: a thread that answers each connection with the next
 * piece of the input, whatever the request, and closes it. */
#ifndef FUZZ_PEER_H
#define FUZZ_PEER_H

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static const char peer_cut[] = "\n----\n"; /* separates the pieces of an input */

static struct {
	int server;
	uint16_t port;
	pthread_t thread;
	pthread_mutex_t lock;
	const uint8_t *data;
	size_t size;
} peer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void peer_answer(int fd)
{
	char asked[4096];
	pthread_mutex_lock(&peer.lock);
	const uint8_t *cut = peer.size > 0 ? memmem(peer.data, peer.size, peer_cut, strlen(peer_cut)) : NULL;
	size_t size = cut ? (size_t)(cut - peer.data) : peer.size, used = cut ? size + strlen(peer_cut) : size;
	for (size_t sent = 0; sent < size;) {
		ssize_t n = send(fd, peer.data + sent, size - sent, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	peer.data += used;
	peer.size -= used;
	pthread_mutex_unlock(&peer.lock);
	shutdown(fd, SHUT_WR);
	while (recv(fd, asked, sizeof asked, 0) > 0)
		;
	/* Makes close() reset the connection, so that thousands per second leave no ports in TIME_WAIT. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
	close(fd);
}

static void *peer_run(void *none)
{
	for (;;) {
		int fd = accept(peer.server, NULL, NULL);
		if (fd >= 0)
			peer_answer(fd);
	}
	return none;
}

/* Sets the input of this run; it must stay valid until peer_hush. */
static void peer_say(const uint8_t *data, size_t size)
{
	pthread_mutex_lock(&peer.lock);
	peer.data = data;
	peer.size = size;
	pthread_mutex_unlock(&peer.lock);
	if (peer.port > 0)
		return;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof at;
	peer.server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(peer.server >= 0 && bind(peer.server, (struct sockaddr *)&at, sizeof at) == 0 &&
		   listen(peer.server, 16) == 0 && getsockname(peer.server, (struct sockaddr *)&at, &length) == 0);
	peer.port = ntohs(at.sin_port);
	assert(pthread_create(&peer.thread, NULL, peer_run, NULL) == 0);
}

/* Ends the run. Connections are answered in order, so one more connection proves that none is left. */
static void peer_hush(void)
{
	char byte;
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(peer.port)};
	pthread_mutex_lock(&peer.lock);
	peer.size = 0;
	pthread_mutex_unlock(&peer.lock);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(fd >= 0);
	while (connect(fd, (struct sockaddr *)&at, sizeof at) != 0 && errno != EISCONN)
		assert(errno == EINTR || errno == EALREADY); /* by the fuzzer's timer */
	while (recv(fd, &byte, 1, 0) > 0)
		;
	close(fd);
}

#endif
