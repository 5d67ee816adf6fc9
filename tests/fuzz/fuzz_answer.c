/* The HTTP client's parser: answers of an upstream, or of a daemon that a command asks.
 *
 * Links: srv_client hob_hash
 * Run:   fuzz_answer tests/fuzz/corpus/answer */
#include "server/client/connection.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ANSWER_MAX = 64 << 10 };

static struct sockaddr_un place = {.sun_family = AF_UNIX};
static char url[sizeof place.sun_path + 8];

static void remove_place(void)
{
	unlink(place.sun_path);
}

static int listen_once(void)
{
	static int server = -1;
	if (server >= 0)
		return server;
	snprintf(place.sun_path, sizeof place.sun_path, "/tmp/hob-fuzz-answer-%d", (int)getpid());
	snprintf(url, sizeof url, "unix:%s", place.sun_path);
	server = socket(AF_UNIX, SOCK_STREAM, 0);
	assert(server >= 0 && bind(server, (struct sockaddr *)&place, sizeof place) == 0 &&
		   listen(server, 4) == 0);
	atexit(remove_place);
	return server;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char body[4096];
	srv_connection *connection;
	srv_answer answer = {0};
	hob_error err;
	int server = listen_once();
	const srv_peer peer = {.url = url, .silence_ms = 1000};
	if (size > ANSWER_MAX || !srv_connect(&peer, &connection, &err))
		return 0;
	int other = accept(server, NULL, NULL);
	assert(other >= 0);
	const srv_ask ask = {.method = "GET", .target = "/api/v1/stats", .keep = true};
	bool asked = srv_connection_ask(connection, &ask, &err);
	for (size_t sent = 0; sent < size;) {
		ssize_t got = send(other, data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (got <= 0)
			break;
		sent += (size_t)got;
	}
	shutdown(other, SHUT_WR);
	if (asked && srv_connection_answer(connection, &answer, &err)) {
		uint64_t whole = 0;
		for (size_t got; (got = srv_connection_read(connection, body, sizeof body)) > 0; whole += got)
			assert(got <= sizeof body && whole <= ANSWER_MAX);
		bool bare = answer.status == 204 || answer.status == 304;
		assert(bare || !answer.has_length || !srv_connection_is_whole(connection) || whole == answer.length);
		assert(memchr(answer.type, 0, sizeof answer.type) && memchr(answer.hash, 0, sizeof answer.hash) &&
			   memchr(answer.standing, 0, sizeof answer.standing));
	}
	srv_disconnect(connection);
	close(other);
	return 0;
}
