/* http_parts.c - two parts of the HTTP benchmark that a daemon does not offer.
 *
 *   http_parts blobs CACHE SIZE...        puts blobs of pseudo-random bytes into a cache; prints "SIZE
 *                                         SHA256" lines
 *   http_parts bare SIZE                  a minimal server: an epoll loop that treats every request alike and
 *                                         sends a prepared answer of SIZE bytes; prints its port
 *   http_parts listeners COUNT ROUNDS [THREADS]
 *                                         event streams on a real srv_http: memory per listener, and the time
 *                                         for a publication to reach the last of them, compared with a bare
 *                                         loop of send() over as many sockets with the same bytes; prints one
 *                                         JSON object */
#include "server/http/http.h"

#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what)
{
	fprintf(stderr, "http_parts: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- blobs */

static int put_blobs(int argc, char **argv)
{
	hob_error err = {0};
	srv_store *store;
	srv_store_options options = {0};
	if (!srv_store_open(argv[0], &options, &store, NULL, &err))
		return fprintf(stderr, "%s\n", err.context), 1;
	uint64_t x = 88172645463325252u;
	for (int i = 1; i < argc; i++) {
		size_t size = strtoull(argv[i], NULL, 10);
		uint8_t *bytes = malloc(size + 8);
		for (size_t at = 0; at < size; at += 8) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			memcpy(bytes + at, &x, 8);
		}
		hob_sha256 digest;
		char text[HOB_SHA256_TEXT + 1];
		if (!srv_blob_put(store, (hob_bytes){bytes, size}, &digest, &err))
			return fprintf(stderr, "%s\n", err.context), 1;
		hob_sha256_text(&digest, text);
		printf("%zu %s\n", size, text);
		free(bytes);
	}
	srv_store_close(store);
	return 0;
}

/* ---- the floor */

static int serve_bare(size_t size)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof address;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int listener = socket(AF_INET, SOCK_STREAM, 0), poll_fd = epoll_create1(0);
	if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1024) != 0 ||
		getsockname(listener, (struct sockaddr *)&address, &length) != 0)
		die("listen");
	printf("%u\n", ntohs(address.sin_port));
	fflush(stdout);
	char *answer = calloc(1, size + 1024), taken[4096];
	int head = sprintf(answer,
					   "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nContent-Type: application/octet-stream\r\n"
					   "Cache-Control: public, max-age=31536000, immutable\r\nETag: \"%064d\"\r\n\r\n",
					   size, 7);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
	epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		int ready = epoll_wait(poll_fd, events, 256, -1);
		for (int i = 0; i < ready; i++) {
			int fd = events[i].data.fd;
			if (fd == listener) {
				event.data.fd = accept(listener, NULL, NULL);
				epoll_ctl(poll_fd, EPOLL_CTL_ADD, event.data.fd, &event);
			} else if (recv(fd, taken, sizeof taken, 0) <= 0 ||
					   send(fd, answer, (size_t)head + size, MSG_NOSIGNAL) < 0) {
				close(fd);
			}
		}
	}
	return 0;
}

/* ---- listeners: a child connects and records when its last socket has received the announced event */

typedef struct shared {
	volatile int connected, round, arrived;
	volatile double first_ms, last_ms;
} shared;

enum { WARM_ROUNDS = 3 };
static const char request[] = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";

static int dial(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		if (errno != EINTR)
			die("connect");
	return fd;
}

static void listen_to(uint16_t port, int count, bool greeted, int rounds, shared *s)
{
	int poll_fd = epoll_create1(0);
	int *marks = calloc((size_t)count, sizeof *marks);
	for (int i = 0; i < count; i++) {
		int fd = dial(port);
		struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)i << 32 | (uint32_t)fd};
		if (greeted && send(fd, request, sizeof request - 1, 0) != (ssize_t)sizeof request - 1)
			die("send");
		/* Reads the greeting before the next one connects, so that nothing is in progress when the clock
		 * runs. */
		char bytes[4096];
		for (size_t got = 0; greeted && !memmem(bytes, got, "event: hello", 12);) {
			ssize_t more = recv(fd, bytes + got, sizeof bytes - got, 0);
			if (more <= 0)
				die("greeting");
			got += (size_t)more;
		}
		epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
		s->connected = i + 1;
	}
	for (int round = 1; round <= rounds; round++) {
		int arrived = 0;
		while (arrived < count) {
			struct epoll_event events[256];
			int ready = epoll_wait(poll_fd, events, 256, 20000);
			if (ready <= 0)
				die("an event did not come");
			for (int i = 0; i < ready; i++) {
				char bytes[4096];
				ssize_t got = recv((int)(uint32_t)events[i].data.u64, bytes, sizeof bytes, 0);
				if (got <= 0)
					die("stream");
				int *mark = &marks[events[i].data.u64 >> 32];
				/* Keep-alive comments are shorter than any event. */
				if (*mark == round || got < 40)
					continue;
				*mark = round;
				if (arrived++ == 0)
					s->first_ms = now_ms();
			}
		}
		s->last_ms = now_ms();
		s->arrived = round;
	}
	exit(0);
}

static void until(volatile int *value, int wanted)
{
	while (*value < wanted)
		usleep(200);
}

typedef struct figures {
	double first_ms, last_ms, kb_each;
} figures;

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static const char event_data[] =
	"{\"rev\":4182,\"kind\":\"cooked\",\"asset\":\"props/duck.glb\",\"state\":\"fresh\"}";

typedef struct source {
	srv_events *events; /* or, without one, */
	int *sockets;
	int count;
	char text[256];
	int size;
} source;

static void publish(const source *from)
{
	if (from->events) {
		srv_events_publish(from->events, "asset", HOB_STR("props/duck.glb"), hob_str_of(event_data));
		return;
	}
	for (int i = 0; i < from->count; i++)
		if (send(from->sockets[i], from->text, (size_t)from->size, 0) != from->size)
			die("send");
}

static figures measure(const source *from, int rounds, shared *s)
{
	double *first = calloc((size_t)rounds, sizeof *first), *last = calloc((size_t)rounds, sizeof *last);
	for (int i = 0; i < rounds + WARM_ROUNDS; i++) {
		usleep(20000);
		double began = now_ms();
		publish(from);
		until(&s->arrived, i + 1);
		if (i >= WARM_ROUNDS) {
			first[i - WARM_ROUNDS] = s->first_ms - began;
			last[i - WARM_ROUNDS] = s->last_ms - began;
		}
	}
	qsort(first, (size_t)rounds, sizeof *first, by_size);
	qsort(last, (size_t)rounds, sizeof *last, by_size);
	figures f = {first[rounds / 2], last[rounds / 2], 0};
	free(first);
	free(last);
	return f;
}

static shared *share(void)
{
	return mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static uint64_t resident(void)
{
	unsigned long long total, pages;
	FILE *file = fopen("/proc/self/statm", "r");
	if (fscanf(file, "%llu %llu", &total, &pages) != 2)
		die("statm");
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void no_post(void *user, srv_control *control)
{
	(void)user;
	control->answer(control, 503, (hob_str){0});
}

static figures measure_server(int count, int rounds, int threads)
{
	char folder[] = "/tmp/hob-bench-XXXXXX", command[64];
	hob_error err = {0};
	srv_store *store;
	srv_store_options store_options = {0};
	if (!mkdtemp(folder) || !srv_store_open(folder, &store_options, &store, NULL, &err))
		die(err.context);
	srv_events *events = srv_events_new("0123456789abcdef", 1, 16384);
	srv_views *views = srv_views_new();
	srv_http_options options = {.listen = "127.0.0.1:0", .threads = (uint32_t)threads, .max_events = 20000};
	srv_http_sources sources = {
		.views = views, .events = events, .store = store, .control = {NULL, no_post}, .version = "bench"};
	srv_http *http;
	if (!srv_http_start(&options, &sources, &http, &err))
		die(err.context);
	uint16_t port = (uint16_t)atoi(strchr(srv_http_address(http), ':') + 1);
	uint64_t before = resident();
	shared *s = share();
	pid_t child = fork();
	if (child == 0)
		listen_to(port, count, true, rounds + WARM_ROUNDS, s);
	until(&s->connected, count);
	uint64_t after = resident();
	figures f = measure(&(source){.events = events}, rounds, s);
	uint64_t worked = resident();
	f.kb_each = (double)(after > worked ? after - before : worked - before) / 1024 / count;
	waitpid(child, NULL, 0);
	srv_http_stop(http);
	srv_views_free(views);
	srv_events_free(events);
	srv_store_close(store);
	snprintf(command, sizeof command, "rm -r %s", folder);
	if (system(command) != 0)
		die("rm");
	return f;
}

static figures measure_bare(int count, int rounds)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1024) != 0 ||
		getsockname(listener, (struct sockaddr *)&address, &size) != 0)
		die("listen");
	shared *s = share();
	pid_t child = fork();
	if (child == 0)
		listen_to(ntohs(address.sin_port), count, false, rounds + WARM_ROUNDS, s);
	source from = {.sockets = calloc((size_t)count, sizeof(int)), .count = count};
	for (int i = 0; i < count; i++)
		from.sockets[i] = accept(listener, NULL, NULL);
	until(&s->connected, count);
	from.size = snprintf(from.text, sizeof from.text,
						 "8e\r\nid: 0123456789abcdef.2\nevent: asset\ndata: %s\n\n\r\n", event_data);
	figures f = measure(&from, rounds, s);
	waitpid(child, NULL, 0);
	for (int i = 0; i < count; i++)
		close(from.sockets[i]);
	close(listener);
	return f;
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "blobs") == 0)
		return put_blobs(argc - 2, argv + 2);
	if (argc == 3 && strcmp(argv[1], "bare") == 0)
		return serve_bare(strtoull(argv[2], NULL, 10));
	if (argc < 4 || argc > 5 || strcmp(argv[1], "listeners") != 0)
		return fprintf(
				   stderr,
				   "usage: http_parts blobs CACHE SIZE... | bare SIZE | listeners COUNT ROUNDS [THREADS]\n"),
			   2;
	signal(SIGPIPE, SIG_IGN);
	int count = atoi(argv[2]), rounds = atoi(argv[3]), threads = argc > 4 ? atoi(argv[4]) : 1;
	figures ours = measure_server(count, rounds, threads), bare = measure_bare(count, rounds);
	printf("{\"listeners\":%d,\"first_ms\":%.2f,\"last_ms\":%.2f,\"kb_each\":%.1f,\"bare_first_ms\":%.2f,"
		   "\"bare_last_ms\":%.2f}\n",
		   count, ours.first_ms, ours.last_ms, ours.kb_each, bare.first_ms, bare.last_ms);
	return 0;
}
