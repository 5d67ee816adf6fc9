#include "inside.h"

#include "../fs/clock.h"
#include "../log/log.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	READY_BATCH = 64,
	CONNECTIONS_MAX = 16384,
	LISTENERS = 10000,
	GONE_MS = 100 /* time to read bytes that a peer sent before it closed its side */
};

/* ---- connections: listed in the order in which they entered their phase */

static void list_remove(srv_http *http, request *r)
{
	*(r->older ? &r->older->newer : &http->oldest) = r->newer;
	*(r->newer ? &r->newer->older : &http->newest) = r->older;
	r->older = r->newer = NULL;
}

static void list_append(srv_http *http, request *r)
{
	r->older = http->newest;
	*(http->newest ? &http->newest->newer : &http->oldest) = r;
	http->newest = r;
}

static void enter(request *r, phase to)
{
	list_remove(r->http, r);
	list_append(r->http, r);
	r->phase = to;
	r->since_ms = r->http->now_ms;
}

static void cut(request *r)
{
	shutdown(r->hidden >= 0 ? r->hidden : r->fd, SHUT_RDWR);
	r->closing = true;
}

uint64_t srv_http_connections(const srv_http *http)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < http->shard_count; i++)
		sum += http->first[i].connection_count;
	return sum;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
						  enum MHD_ConnectionNotificationCode code)
{
	srv_http *http = cls;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		request *r = *context = hob_must(calloc(1, sizeof *r));
		r->http = http;
		r->connection = connection;
		r->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		r->hidden = -1;
		r->phase = WAITING;
		r->since_ms = http->now_ms;
		list_append(http, r);
		http->connection_count++;
		/* The library may miss that a peer closed right after its last byte, and sees nothing on a suspended
		 * connection, so this server watches for it itself. */
		struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = r};
		epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, r->fd, &event);
	} else if (*context) {
		hob_own request *r = *context;
		if (r->phase == BUSY)
			enter(r, WAITING);
		/* Closing the descriptor is not enough: a child process keeps a copy until its exec, so events for a
		 * freed request would still arrive. */
		epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, r->fd, NULL);
		list_remove(http, r);
		http->connection_count--;
		hob_buf_release(&r->body);
		free(r->target);
		*context = NULL;
	}
}

static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
	(void)cls;
	request *r = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	size_t size = strlen(target) + 1;
	if (size > r->target_capacity) {
		r->target = hob_must(realloc(r->target, size + 256));
		r->target_capacity = size + 256;
	}
	memcpy(r->target, target, size);
	/* Removes the query: the library would store each parameter in its pool, and when the pool is full close
	 * the connection without an answer. */
	char *query = strchr((char *)(uintptr_t)target, '?');
	if (query && query[1])
		query[1] = 0;
	enter(r, WAITING);
	r->has_head = true;
	return r;
}

static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
	(void)cls, (void)connection;
	return strlen(text);
}

/* Performs all checks that are possible before the body. False if the request was refused. */
static bool check(request *r)
{
	r->checked = true;
	if (!srv_request_check_head(r) || srv_answer_preflight(r) || !srv_request_route(r) ||
		!srv_access_check(r) || !srv_request_check_body(r))
		return false;
	bool health = r->route == ROUTE_livez || r->route == ROUTE_healthz || r->route == ROUTE_readyz ||
				  r->route == ROUTE_metrics;
	if (!atomic_load_explicit(&r->http->draining, memory_order_relaxed) || health)
		return true;
	return srv_refuse_text(r, PROBLEM_UNAVAILABLE,
						   &(problem_text){.detail = HOB_STR("the daemon is stopping"),
										   .hint = HOB_STR("try again; another daemon may take its place"),
										   .retry_after_s = 1});
}

static enum MHD_Result begin(request *r, const char *method, const char *version)
{
	r->begun = true;
	r->takes_interim = strcmp(version, "HTTP/1.1") == 0;
	r->method = method;
	r->route = ROUTE_NONE;
	enter(r, BUSY);
	srv_request_read_head(r, version);
	if (!srv_request_head_fits(r)) {
		srv_refuse_head(r);
		return MHD_NO;
	}
	/* srv_reply in the library's first call closes the connection, so only a request whose body is refused is
	 * answered there. */
	if (!srv_request_has_body(r))
		return MHD_YES;
	if (!check(r))
		return r->result;
	r->body_deadline_ms = r->http->now_ms + BODY_DEADLINE_MS;
	if (!srv_parse_decimal(r->head.content_length, &r->body_left))
		r->body_left = UINT64_MAX; /* chunked: the library tells its end */
	return r->route == ROUTE_blob_put && !srv_upload_begin(r) ? r->result : MHD_YES;
}

static enum MHD_Result take_body(request *r, const char *data, size_t size)
{
	if (!r->upload && r->body.size + size > BODY_MAX)
		return MHD_NO;
	if (r->upload) {
		r->body_deadline_ms += (int64_t)(size / UPLOAD_BYTES_PER_MS);
		srv_upload_put(r->upload, (hob_bytes){(const uint8_t *)data, size});
	} else {
		hob_buf_put(&r->body, data, size);
	}
	return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
								  const char *method, const char *version, const char *data, size_t *size,
								  void **context)
{
	(void)connection, (void)url;
	srv_http *http = cls;
	request *r = *context;
	if (r)
		srv_library_show_end(r);
	if (!r || http->stopping)
		return MHD_NO;
	size_t given = *size;
	enum MHD_Result result;
	if (!r->begun) {
		result = begin(r, method, version);
	} else {
		r->body_left -= given;
		r->whole = given == 0 || r->body_left == 0;
		*size = 0;
		r->body_deadline_ms = given > 0 ? r->body_deadline_ms : 0;
		result = given > 0				  ? take_body(r, data, given)
				 : r->checked || check(r) ? srv_route_handler_of(r->route)(r)
										  : r->result;
	}
	srv_request_return(http);
	return result;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
						 enum MHD_RequestTerminationCode code)
{
	(void)cls, (void)connection, (void)code;
	request *r = *context;
	if (!r)
		return;
	assert(!r->parked);
	srv_library_show_end(r);
	if (r->corked)
		srv_request_cork(r, 0);
	srv_ask_forget(r);
	srv_upload_free(r->upload);
	r->upload = NULL;
	hob_buf_release(&r->body);
	r->served_before = true;
	r->has_head = r->begun = r->checked = r->distrusted = r->whole = false;
	r->body_deadline_ms = r->deadline_ms = 0;
	r->param_count = r->arg_count = r->asked = 0;
	r->head = (head){0};
	enter(r, WAITING);
}

/* ---- parking */

void srv_request_park_for_event(request *r)
{
	r->polling = true;
	r->next_poller = r->http->pollers;
	r->http->pollers = r;
	srv_request_park(r);
}

static void wake_pollers(srv_http *http)
{
	uint64_t newest = http->pollers ? srv_events_newest(http->sources.events) : 0;
	for (request **at = &http->pollers; *at;) {
		request *r = *at;
		if (newest == r->poll_since && http->now_ms < r->deadline_ms && !http->stopping) {
			at = &r->next_poller;
			continue;
		}
		*at = r->next_poller;
		r->polling = false;
		srv_request_unpark(r);
	}
}

static void take_answers(srv_http *http)
{
	for (ask *a = srv_mailbox_take(http->box); a; a = a->next)
		if (a->owner->parked)
			srv_request_unpark(a->owner);
}

/* ---- deadlines */

static int64_t deadline_of(const request *r)
{
	const srv_http *http = r->http;
	if (r->phase == BUSY && (r->body_deadline_ms == 0 || (r->parked && r->upload)))
		return INT64_MAX;
	if (r->gone_ms > 0)
		return (r->phase == WAITING && r->since_ms > r->gone_ms ? r->since_ms : r->gone_ms) + GONE_MS;
	if (r->phase == BUSY)
		return r->body_deadline_ms;
	bool idle = r->served_before && !r->has_head;
	return r->since_ms + (idle ? http->idle_ms : http->head_deadline_ms);
}

static void tick(srv_http *http)
{
	http->next_tick_ms = http->now_ms + TICK_MS;
	for (request *r = http->oldest; r; r = r->newer)
		if (!r->closing && http->now_ms >= deadline_of(r)) {
			cut(r);
			srv_count(&http->closed_late, 1);
		}
	wake_pollers(http);
	srv_streams_tick(http);
	srv_blob_cache_tick(http->blobs, http->now_ms);
}

/* ---- accepting */

/* Closes a connection for a new one: the one that has waited longest for a request; if none waits, the one
 * served longest, if that is longer than a head may take. A request that waits for another thread's answer is
 * spared, since it will end soon. */
static bool make_room(srv_http *http)
{
	request *least = NULL;
	for (request *r = http->oldest; r && !(least && least->phase == WAITING); r = r->newer) {
		bool waits = r->phase == WAITING, late = http->now_ms - r->since_ms >= http->head_deadline_ms;
		bool asks = r->parked && !r->polling && !r->stream;
		if (!r->closing && (waits || (!least && late && !asks)))
			least = r;
	}
	if (!least)
		return false;
	cut(least);
	if (least->polling)
		least->deadline_ms = http->now_ms;
	srv_count(&http->closed_for_room, 1);
	return true;
}

static bool watch_fd(srv_http *http, int fd, uint32_t events, void *what)
{
	struct epoll_event event = {.events = events, .data.ptr = what};
	return epoll_ctl(http->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* An inherited socket that several daemons share wakes one of them for each connection. */
static bool watch_listener(srv_http *http, uint32_t at)
{
	return watch_fd(http, http->listeners[at], EPOLLIN | (http->inherited ? EPOLLEXCLUSIVE : 0),
					&http->listeners[at]);
}

static void turn_away(srv_http *http, int fd)
{
	static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
							   "Content-Length: 0\r\n\r\n";
	ssize_t sent = send(fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)sent;
	close(fd);
	srv_count(&http->refused_full, 1);
}

static void pause_accepting(srv_http *http, bool pause)
{
	http->accept_paused = pause;
	for (uint32_t i = 0; i < http->listener_count; i++)
		if (pause)
			epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, http->listeners[i], NULL);
		else
			(void)watch_listener(http, i);
}

/* Number of connections accepted at once: few, so that each is served before a later one can replace it. */
static uint32_t arrivals_at_once(const srv_http *http)
{
	uint32_t part = http->max_connections / 4 + 1;
	return part < ACCEPT_BATCH ? part : ACCEPT_BATCH;
}

static void take_in(srv_http *http, const arrival *new)
{
	struct MHD_Daemon *daemon = http->daemons[new->tls ? LIBRARY_TLS : LIBRARY_PLAIN];
	if (http->connection_count >= http->max_connections && !make_room(http))
		turn_away(http, new->fd);
	else
		/* The library closes a socket that it refuses. */
		MHD_add_connection(daemon, new->fd, (const struct sockaddr *)&new->address, new->length);
}

static void take_arrivals(srv_http *http)
{
	for (uint32_t i = 0; i < arrivals_at_once(http); i++) {
		pthread_mutex_lock(&http->lock);
		bool any = http->arrival_count > 0;
		arrival next = http->arrivals[any ? --http->arrival_count : 0];
		pthread_mutex_unlock(&http->lock);
		if (!any)
			return;
		take_in(http, &next);
	}
	srv_wake(http->wake_fd);
}

/* Gives the connection to the shard that has the fewest. */
static void hand_out(srv_http *http, const arrival *new)
{
	srv_http *to = http;
	for (uint32_t i = 1; i < http->shard_count; i++)
		if (http[i].connection_count + http[i].arrival_count < to->connection_count + to->arrival_count)
			to = &http[i];
	bool given = false;
	pthread_mutex_lock(&to->lock);
	if (to != http && to->arrival_count < ACCEPT_BATCH) {
		to->arrivals[to->arrival_count++] = *new;
		given = true;
	}
	pthread_mutex_unlock(&to->lock);
	if (given)
		srv_wake(to->wake_fd);
	else
		take_in(http, new);
}

static void accept_some(srv_http *http, const int *listener)
{
	uint32_t batch = arrivals_at_once(http);
	for (uint32_t i = 0; i < batch; i++) {
		arrival new = {.length = sizeof new.address};
		new.tls = http->daemons[LIBRARY_TLS] && !http->is_unix[listener - http->listeners];
		new.fd =
			accept4(*listener, (struct sockaddr *)&new.address, &new.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (new.fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
				pause_accepting(http, true);
			if (errno == EINVAL) /* a Unix socket that is shut, and has nobody left */
				epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, *listener, NULL);
			return;
		}
		hand_out(http, &new);
	}
}

/* ---- the thread */

static int timeout_ms(srv_http *http)
{
	int64_t library = srv_library_timeout_ms(http);
	if (library == 0)
		return 0;
	bool ticking = http->connection_count > 0 || http->accept_paused || srv_blob_cache_count(http->blobs) > 0;
	int64_t own = ticking ? http->next_tick_ms - http->now_ms : -1;
	if (ticking && own < 0)
		own = 0;
	if (library > 0 && (own < 0 || library < own))
		own = library;
	return (int)own;
}

static void end(srv_http *http)
{
	http->stopping = true;
	wake_pollers(http);
	for (request *r = http->oldest; r; r = r->newer)
		if (r->parked)
			srv_request_unpark(r);
	/* Suspended connections would make the library abort at the stop, so resume them all once. */
	srv_library_run(http);
	srv_library_stop(http);
	assert(http->connection_count == 0 && http->stream_count == 0);
}

/* The next event wakes this thread if a stream or a poller waits for it. True: it does from now on, and the
 * library has to run for those that came before. */
static bool await_event(srv_http *http)
{
	if (http->awaits_event || (!http->streams && !http->pollers))
		return false;
	http->awaits_event = true;
	srv_events_await(http->sources.events, http->wake_fd);
	srv_streams_wake(http);
	wake_pollers(http);
	return true;
}

static void on_wake(srv_http *http)
{
	uint64_t number;
	ssize_t got = read(http->wake_fd, &number, sizeof number);
	(void)got;
	take_arrivals(http);
	take_answers(http);
	srv_uploads_decoded(http);
	http->awaits_event = false;
	(void)await_event(http);
}

static void on_gone(request *r, bool whole)
{
	r->gone_ms = r->http->now_ms;
	if (r->stream)
		srv_stream_hang_up(r->stream);
	else if (r->parked)
		srv_ask_abandon(r, whole);
}

static void handle_events(srv_http *http, const struct epoll_event *events, int count)
{
	/* Handles connections first, which may close some before new ones are accepted. */
	for (int i = 0; i < count; i++) {
		void *what = events[i].data.ptr;
		int *listener = what;
		bool of_server = what == &http->wake_fd || what == &http->daemons ||
						 (listener >= http->listeners && listener < http->listeners + LISTENERS_MAX);
		if (!of_server)
			on_gone(what, events[i].events & (EPOLLHUP | EPOLLERR));
	}
	for (int i = 0; i < count; i++) {
		int *listener = events[i].data.ptr;
		if (listener == &http->wake_fd)
			on_wake(http);
		else if (listener >= http->listeners && listener < http->listeners + LISTENERS_MAX)
			accept_some(http, listener);
	}
}

/* Waits for what happens next, for `wait_ms` at the most, and handles it. False: nothing happened. */
static bool handle_next(srv_http *http, int wait_ms)
{
	struct epoll_event events[READY_BATCH];
	int own_ms = timeout_ms(http);
	int count = epoll_wait(http->epoll_fd, events, READY_BATCH,
						   wait_ms >= 0 && (own_ms < 0 || own_ms > wait_ms) ? wait_ms : own_ms);
	http->now_ms = srv_clock_ms(CLOCK_MONOTONIC);
	handle_events(http, events, count);
	if (http->now_ms >= http->next_tick_ms) {
		if (http->accept_paused)
			pause_accepting(http, false);
		/* Reads before it checks deadlines: a request is not late because this thread was busy. */
		srv_library_run(http);
		tick(http);
	}
	do
		srv_library_run(http);
	while (await_event(http));
	return count > 0;
}

/* Whether a connection waits for its first answer. */
static bool owes_answers(const srv_http *http)
{
	const request *r = http->oldest;
	while (r && (r->served_before || r->stream || r->polling))
		r = r->newer;
	return r || http->arrival_count > 0;
}

static void *run(void *arg)
{
	enum { REST_MS = 300, QUIET_MS = 20 };
	srv_http *http = arg;
	while (!atomic_load_explicit(&http->stop, memory_order_acquire))
		(void)handle_next(http, -1);
	/* Nobody new can connect. Who has, gets an answer. */
	int64_t until = srv_clock_ms(CLOCK_MONOTONIC) + REST_MS;
	while ((handle_next(http, QUIET_MS) || owes_answers(http)) && http->now_ms < until)
		continue;
	end(http);
	return NULL;
}

/* ---- start and stop */

static char **copy_texts(const char *const *texts)
{
	size_t count = 0;
	while (texts && texts[count])
		count++;
	char **copies = hob_must(calloc(count + 1, sizeof *copies));
	for (size_t i = 0; i < count; i++)
		copies[i] = hob_must(strdup(texts[i]));
	return copies;
}

static void free_texts(char **texts)
{
	for (char **text = texts; text && *text; text++)
		free(*text);
	free(texts);
}

static void release_shard(srv_http *http)
{
	for (uint32_t i = 0; i < http->arrival_count; i++)
		close(http->arrivals[i].fd);
	srv_library_stop(http);
	srv_blob_cache_free(http->blobs);
	hob_arena_release(&http->scratch);
	srv_close(http->epoll_fd);
	srv_close(http->silence);
	if (http->wake_fd >= 0)
		srv_events_remove_waker(http->sources.events, http->wake_fd);
	srv_mailbox_drop(http->box); /* closes wake_fd once every ask is answered */
	srv_access_free(http->access);
	pthread_mutex_destroy(&http->lock);
}

/* Ends the running threads, then frees all shards. */
static void release(srv_http *http)
{
	if (!http)
		return;
	srv_listeners_shut(http);
	/* The first may still give connections to the others. */
	for (uint32_t i = 0; i < http->shard_count; i++) {
		atomic_store_explicit(&http[i].stop, true, memory_order_release);
		if (http[i].started)
			srv_wake(http[i].wake_fd);
		if (http[i].started && i == 0)
			pthread_join(http->thread, NULL);
	}
	for (uint32_t i = 1; i < http->shard_count; i++)
		if (http[i].started)
			pthread_join(http[i].thread, NULL);
	srv_uploads_free(http->uploads);
	for (uint32_t i = 0; i < http->listener_count; i++)
		close(http->listeners[i]);
	if (http->unix_path)
		unlink(http->unix_path);
	free(http->unix_path);
	for (uint32_t i = http->shard_count; i-- > 0;)
		release_shard(&http[i]);
	free_texts(http->allowed_hosts);
	free_texts(http->cors_origins);
	free(http);
}

uint32_t srv_http_room(uint64_t files, uint32_t threads, uint32_t *blobs)
{
	uint64_t room = files > 256 ? files - 64 : 192;
	*blobs = room / 8 / threads < 1024 ? (uint32_t)(room / 8 / threads) + 1 : 1024;
	/* A request may have a file open (an upload, a range, a batch), so half of the rest is left for those. */
	room = (room - *blobs * threads) / 2;
	return room < CONNECTIONS_MAX ? (uint32_t)room : CONNECTIONS_MAX;
}

/* Sets *blobs and http->max_connections, both for one shard. */
static void choose_limits(srv_http *http, const srv_http_options *options, uint32_t *blobs)
{
	uint32_t shards = http->shard_count, wanted = options->max_connections;
	struct rlimit files = {1024, 1024};
	getrlimit(RLIMIT_NOFILE, &files);
	uint32_t room = srv_http_room(files.rlim_cur, shards, blobs);
	http->max_connections = ((wanted > 0 && wanted < room ? wanted : room) + shards - 1) / shards;
	http->head_deadline_ms = options->head_deadline_ms > 0 ? options->head_deadline_ms : 10000;
	http->idle_ms = options->idle_ms > 0 ? options->idle_ms : 60000;
	http->hide_sources = options->hide_sources;
	http->max_events = options->max_events > 0 ? options->max_events : LISTENERS;
	if (http->max_events > http->max_connections * shards)
		http->max_events = http->max_connections * shards;
	http->web_root = options->web_root;
}

static bool open_access(srv_http *http, const srv_http_options *options, hob_error *err)
{
	for (uint32_t i = 0; options->token_file && i < http->shard_count; i++) {
		http[i].access = srv_access_new(options->token_file, http->access, err);
		if (!http[i].access)
			return false;
	}
	return true;
}

/* Requires tokens for an address that other machines can reach, unless the owner states that the network is
 * trusted. */
static bool check_exposed(const srv_http *http, const srv_http_options *options, hob_error *err)
{
	if (!http->exposed[0] || options->trust_network || srv_access_count(http->access) > 0)
		return true;
	if (http->access)
		return hob_fail(
			err, CONFIG,
			"other machines can reach '%s' and '%s' has no token yet; make one: hob token create NAME "
			"--token-file %s",
			http->exposed, options->token_file, options->token_file);
	return hob_fail(
		err, CONFIG,
		"other machines can reach '%s', so it needs tokens: hob token create NAME --token-file FILE, "
		"then hob serve --token-file FILE ...; or listen on 127.0.0.1; or, where everybody on the network "
		"may read and write, --trust-network",
		http->exposed);
}

static void warn_exposed(const srv_http *http)
{
	if (http->exposed[0] && !http->access)
		srv_log(
			SRV_LOG_WARNING, "listening",
			"on %s without tokens: anybody who can reach this address can read and change everything here",
			http->exposed);
	else if (http->exposed[0] && !http->daemons[LIBRARY_TLS])
		srv_log(SRV_LOG_WARNING, "listening",
				"on %s without TLS: tokens can be read on the way; use --tls-cert and --tls-key, or a proxy "
				"that speaks TLS",
				http->exposed);
}

/* Sets the URL of every address. The one to open is the first TCP address; "all addresses" becomes this
 * machine's loopback. */
static void name_urls(srv_http *http)
{
	static const char four[] = "0.0.0.0:", six[] = "[::]:";
	const char *scheme = http->daemons[LIBRARY_TLS] ? "https://" : "http://";
	for (uint32_t i = 0; i < http->listener_count; i++) {
		const char *address = http->addresses[i];
		snprintf(http->urls[i], sizeof http->urls[i], "%s%s", http->is_unix[i] ? "" : scheme, address);
		if (http->is_unix[i] || http->url[0])
			continue;
		if (strncmp(address, four, sizeof four - 1) == 0)
			snprintf(http->url, sizeof http->url, "%s127.0.0.1:%s", scheme, address + sizeof four - 1);
		else if (strncmp(address, six, sizeof six - 1) == 0)
			snprintf(http->url, sizeof http->url, "%s[::1]:%s", scheme, address + sizeof six - 1);
		else
			memcpy(http->url, http->urls[i], sizeof http->url);
	}
	if (!http->url[0])
		memcpy(http->url, http->urls[0], sizeof http->url);
}

/* Opens the shard's own parts: wake-up descriptor, library, prepared responses. */
static bool open_shard(srv_http *http, const srv_http_options *options, uint32_t blobs, hob_error *err)
{
	static const library_callbacks callbacks = {on_request, on_target, keep_escapes, on_connection,
												on_completed};
	hob_arena_init(&http->scratch, SIZE_MAX);
	hob_arena_alloc(&http->scratch, 1, 1); /* the arena keeps its first block */
	http->scratch_empty = hob_arena_save(&http->scratch);
	http->now_ms = http->start_ms = srv_clock_ms(CLOCK_MONOTONIC);
	http->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int wake = http->epoll_fd < 0 ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (wake < 0)
		return hob_fail(err, IO, "cannot set up an HTTP thread: %s", strerror(errno));
	http->wake_fd = wake;
	http->silence = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	http->box = srv_mailbox_new(wake);
	srv_events_add_waker(http->sources.events, wake);
	if (!srv_library_start(http, &callbacks, options->tls_cert, options->tls_key, err))
		return false;
	http->blobs = srv_blob_cache_new(http->sources.store, blobs);
	bool watched = watch_fd(http, wake, EPOLLIN, &http->wake_fd) &&
				   watch_fd(http, srv_library_epoll_fd(http, LIBRARY_PLAIN), EPOLLIN, &http->daemons) &&
				   (!http->daemons[LIBRARY_TLS] ||
					watch_fd(http, srv_library_epoll_fd(http, LIBRARY_TLS), EPOLLIN, &http->daemons));
	for (uint32_t i = 0; i < http->listener_count; i++)
		watched = watched && watch_listener(http, i);
	return (watched && http->silence >= 0) ||
		   hob_fail(err, IO, "cannot set up an HTTP thread: %s", strerror(errno));
}

static srv_http *new_shards(const srv_http_options *options, const srv_http_sources *sources)
{
	uint32_t count = options->threads > 0 ? options->threads : 1;
	if (count > SHARDS_MAX)
		count = SHARDS_MAX;
	srv_http *http = hob_must(calloc(count, sizeof *http));
	for (uint32_t i = 0; i < count; i++) {
		http[i].first = http;
		http[i].shard_count = count;
		http[i].epoll_fd = http[i].wake_fd = http[i].silence = -1;
		http[i].sources = *sources;
		pthread_mutex_init(&http[i].lock, NULL);
	}
	return http;
}

static bool start(srv_http *http, const srv_http_options *options, hob_error *err)
{
	bool listening = options->socket_count > 0
						 ? srv_listeners_take(http, options->sockets, options->socket_count, err)
						 : srv_listeners_open(http, options->listen, err);
	if (!listening || !open_access(http, options, err) || !check_exposed(http, options, err))
		return false;
	http->allowed_hosts = copy_texts(options->allowed_hosts);
	http->cors_origins = copy_texts(options->cors_origins);
	http->uploads = srv_uploads_new();
	for (uint32_t i = 0; i < http->shard_count; i++) {
		uint32_t blobs;
		choose_limits(&http[i], options, &blobs);
		http[i].allowed_hosts = http->allowed_hosts;
		http[i].cors_origins = http->cors_origins;
		http[i].uploads = http->uploads;
		if (!open_shard(&http[i], options, blobs, err))
			return false;
	}
	name_urls(http);
	warn_exposed(http);
	for (uint32_t i = 0; i < http->shard_count; i++) {
		int code = pthread_create(&http[i].thread, NULL, run, &http[i]);
		http[i].started = code == 0;
		if (code != 0)
			return hob_fail(err, IO, "cannot start an HTTP thread: %s", strerror(code));
	}
	return true;
}

bool srv_http_start(const srv_http_options *options, const srv_http_sources *sources, srv_http **out,
					hob_error *err)
{
	srv_http *http = new_shards(options, sources);
	if (start(http, options, err)) {
		*out = http;
		return true;
	}
	release(http);
	return false;
}

const char *srv_http_address(const srv_http *http)
{
	return http->addresses[0];
}

const char *srv_http_url_at(const srv_http *http, uint32_t index)
{
	return index < http->listener_count ? http->urls[index] : NULL;
}

const char *srv_http_url(const srv_http *http)
{
	return http->url;
}

void srv_http_drain(srv_http *http)
{
	for (uint32_t i = 0; i < http->shard_count; i++)
		atomic_store(&http[i].draining, true);
	/* Connections to an inherited socket are for the next daemon now. */
	for (uint32_t i = 0; http->inherited && i < http->listener_count; i++)
		epoll_ctl(http->epoll_fd, EPOLL_CTL_DEL, http->listeners[i], NULL);
}

void srv_http_stop(srv_http *http)
{
	release(http);
}
