/* Requests of any client, from the socket to the answer: headers, bodies, uploads, sessions, several requests
 * on one connection.
 *
 * Links: srv_http
 * Run:   fuzz_request tests/fuzz/corpus/request
 *
 * Input: 'r' and the bytes to send; or another byte, a line "METHOD TARGET", and a body, for which the target
 * makes a matching header. */
#include "server/http/http.h"
#include "tests/unit/temp_folder.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 64 << 10, TIME_MS = 10 };

static temp_folder folder;
static srv_http *http;
static srv_store *store;
static srv_live *live;
static srv_views *views;
static srv_events *events;
static struct sockaddr_un place = {.sun_family = AF_UNIX};

/* Stands in for the loop and the query thread: answers at once, with one of a few statuses. */
static void post(void *user, srv_control *control)
{
	static const int answers[] = {200, 404, 409, 422, 503};
	(void)user;
	assert(control->kind < SRV_CONTROL_KINDS);
	control->answer(control, answers[control->asset.len % HOB_COUNT_OF(answers)], HOB_STR("{\"job\":1}"));
}

static void leave(void)
{
	srv_http_stop(http);
	srv_events_free(events);
	srv_views_free(views);
	srv_live_close(live);
	srv_store_close(store);
	folder_remove(&folder);
}

static void put_asset(const char *name, uint64_t rev)
{
	char path[64], full[80];
	hob_error err;
	hob_sha256 digest;
	assert(srv_blob_put(store, (hob_bytes){(const uint8_t *)"0123456789", 10}, &digest, &err));
	snprintf(path, sizeof path, "%s.glb", name);
	snprintf(full, sizeof full, "art/%s", path);
	srv_view_output output = {HOB_STR("meshes"), digest, 10};
	srv_view_asset a = {.root = HOB_STR("art"),
						.path = hob_str_of(path),
						.full = hob_str_of(full),
						.kind = HOB_STR("gltf"),
						.state = SRV_FRESH,
						.rev = rev,
						.stats = HOB_STR("{\"meshes\":1,\"triangles\":4212}"),
						.outputs = &output,
						.output_count = 1,
						.quality = "final"};
	srv_asset_id(a.full, a.id);
	srv_views_put(views, &a);
}

static void question(void *user, srv_control *control)
{
	if (control->kind != SRV_CONTROL_LIST) {
		post(user, control);
		return;
	}
	hob_buf body = {0};
	const srv_view *view = srv_views_take(views);
	control->list(control->query, view, &body);
	srv_view_drop(view);
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&body);
}

static void start(void)
{
	hob_error err;
	char cache[160], address[160];
	signal(SIGPIPE, SIG_IGN);
	setenv("TMPDIR", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", 1);
	folder_make(&folder);
	snprintf(cache, sizeof cache, "%s/cache", folder.path);
	snprintf(place.sun_path, sizeof place.sun_path, "%s/socket", folder.path);
	snprintf(address, sizeof address, "unix:%s", place.sun_path);
	assert(srv_store_open(cache, &(srv_store_options){.max_bytes = 1 << 20}, &store, NULL, &err) &&
		   srv_live_open(cache, &live, &err));
	views = srv_views_new();
	put_asset("duck", 1);
	put_asset("fox", 2);
	srv_views_publish(views, 2, true);
	events = srv_events_new("7c1e", 1000, 64);
	srv_events_publish(events, "asset", HOB_STR("art/duck.glb"), HOB_STR("{}"));
	const srv_http_options options = {
		.listen = address, .head_deadline_ms = 5 * TIME_MS, .idle_ms = 5 * TIME_MS};
	const srv_http_sources sources = {.views = views,
									  .events = events,
									  .store = store,
									  .live = live,
									  .control = {NULL, post},
									  .query = {NULL, question},
									  .version = "1"};
	assert(srv_http_start(&options, &sources, &http, &err));
	atexit(leave);
}

static void send_all(int fd, const void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = send(fd, (const char *)data + at, size - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char answer[256 << 10];
	char head[1024];
	if (size < 2 || size > INPUT_MAX)
		return 0;
	if (!http)
		start();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(fd >= 0 && connect(fd, (const struct sockaddr *)&place, sizeof place) == 0);
	const uint8_t *line = memchr(data, '\n', size);
	if (data[0] == 'r') {
		send_all(fd, data + 1, size - 1);
	} else if (line && line - data < 700) {
		size_t used = (size_t)(line - data) + 1;
		int length = snprintf(head, sizeof head,
							  "%.*s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nIf-Match: "
							  "*\r\nContent-Length: %zu\r\n\r\n",
							  (int)(line - data - 1), (const char *)data + 1,
							  data[0] == 'b' ? "application/octet-stream" : "application/json", size - used);
		send_all(fd, head, (size_t)length);
		send_all(fd, line + 1, size - used);
	}
	shutdown(fd, SHUT_WR);
	/* An event stream sends something, then nothing for a long time. */
	struct pollfd waits = {.fd = fd, .events = POLLIN};
	ssize_t got = 1;
	for (size_t at = 0; got > 0 && at < sizeof answer && poll(&waits, 1, TIME_MS) > 0; at += (size_t)got) {
		got = recv(fd, answer + at, sizeof answer - at, 0);
		if (at == 0 && got > 12)
			assert(memcmp(answer, "HTTP/1.", 7) == 0);
		got = got > 0 ? got : 0;
	}
	close(fd);
	return 0;
}
