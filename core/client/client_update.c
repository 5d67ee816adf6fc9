#include "client_private.h"

#include <assert.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One turn: idle slots take requests, every connection moves what it can, answers become callbacks. */

enum {
	BACK_OFF_MS = 250,
	BACK_OFF_MAX_MS = 8000,
	SILENCE_MS = 35000,
	ERROR_BODY_MAX = 65536,
	BLIND_POLL_MS = 5,
	TURN_REQUESTS = 256
};

static int64_t now_of(hobc_client *client)
{
	return client->options.net.now_ms(client->options.net.user);
}

/* ---- the end of a request */

static void fail(hobc_client *client, hobc_request *r, hobc_result result, const char *message)
{
	r->fn(r->user, r->id, result, message ? message : hobc_result_text(result), NULL);
	hobc_request_free(client, r);
}

/* Passes `data` to the callback as a blob with the other fields of `about`. */
static void give(hobc_client *client, hobc_request *r, uint8_t *data, size_t size, hobc_blob about)
{
	hobc_blob *blob = (hobc_blob *)hobc_alloc(client, sizeof *blob);
	if (!blob) {
		hobc_free(client, data);
		fail(client, r, HOBC_MEMORY, NULL);
		return;
	}
	*blob = about;
	blob->data = data;
	blob->size = size;
	blob->fetched = r->fetched;
	r->fn(r->user, r->id, HOBC_OK, "", blob);
	hobc_request_free(client, r);
}

/* Cuts the requested part out of a whole blob; 0 if it is outside. */
static int cut(const hobc_request *r, uint8_t *data, size_t *size)
{
	uint64_t last = r->last < *size ? r->last : (uint64_t)*size - 1;
	if (!r->by_range || r->phase != DELTA_NONE)
		return 1;
	if (*size == 0 || r->first > last)
		return 0;
	*size = (size_t)(last - r->first) + 1;
	memmove(data, data + r->first, *size);
	return 1;
}

static int give_cached(hobc_client *client, hobc_request *r, const char *hash, int stale)
{
	hobc_blob about;
	uint8_t *data;
	size_t size;
	memset(&about, 0, sizeof about);
	if (!hobc_cache_read(client, hash, &data, &size))
		return 0;
	if (!cut(r, data, &size)) {
		hobc_free(client, data);
		return 0;
	}
	memcpy(about.hash, hash, 65);
	about.verified = about.from_cache = 1;
	about.stale = stale;
	give(client, r, data, size, about);
	return 1;
}

static void unreachable(hobc_client *client, hobc_request *r, hobc_result result)
{
	char hash[65];
	if (r->name[0] && hobc_cache_find_name(client, r->name, hash) && give_cached(client, r, hash, 1))
		return;
	fail(client, r, result, NULL);
}

/* Sets the time of the next try, and doubles the wait for the one after it. */
static void back_off(hobc_client *client, int64_t *retry_ms, int64_t *wait_ms)
{
	client->away = 1;
	*retry_ms = now_of(client) + *wait_ms;
	*wait_ms = *wait_ms * 2 > BACK_OFF_MAX_MS ? (int64_t)BACK_OFF_MAX_MS : *wait_ms * 2;
}

static void is_there(hobc_client *client)
{
	client->away = client->told_away = 0;
	client->wait_ms = BACK_OFF_MS;
}

static void again(hobc_client *client, hobc_request *r)
{
	r->used = 0;
	r->next = client->queue;
	if (!client->queue)
		client->queue_end = &r->next;
	client->queue = r;
}

/* Writes the daemon's own text, if the body is a problem document. */
static void message_of(const hobc_request *r, int status, char *out)
{
	char detail[MESSAGE_ROOM / 2 - 16], hint[MESSAGE_ROOM / 2 - 16];
	hobc_json body;
	body.at = (const char *)r->data;
	body.size = r->used;
	hobc_json_text_of(body, "detail", detail, sizeof detail);
	hobc_json_text_of(body, "hint", hint, sizeof hint);
	snprintf(out, MESSAGE_ROOM, "%d: %s%s%s", status, detail[0] ? detail : "refused", hint[0] ? "; " : "",
			 hint);
}

static hobc_result result_of(int status)
{
	switch (status) {
	case 404:
		return HOBC_NOT_FOUND;
	case 202:
	case 503:
		return HOBC_NOT_READY;
	case 422:
		return HOBC_FAILED;
	default:
		return HOBC_REFUSED;
	}
}

static void whole_blob(hobc_client *client, hobc_request *r, const hobc_http *http)
{
	hobc_blob about;
	uint8_t *data = r->data;
	size_t size = r->used;
	const char *expected = r->hash[0] ? r->hash : http->etag;
	char message[MESSAGE_ROOM];
	memset(&about, 0, sizeof about);
	if (!data) {
		data = (uint8_t *)hobc_alloc(client, 1);
		if (!data) {
			fail(client, r, HOBC_MEMORY, NULL);
			return;
		}
	}
	r->data = NULL;
	hobc_sha256_text(data, size, about.hash);
	if (strcmp(about.hash, expected) != 0) {
		snprintf(message, sizeof message, "%lu bytes hash to %.12s..., not to %.12s...; thrown away",
				 (unsigned long)size, about.hash, expected[0] ? expected : "anything (no ETag)");
		hobc_free(client, data);
		fail(client, r, HOBC_HASH, message);
		return;
	}
	hobc_cache_write(client, about.hash, data, size);
	if (r->name[0])
		hobc_cache_keep_name(client, r->name, about.hash);
	if (!cut(r, data, &size)) {
		hobc_free(client, data);
		fail(client, r, HOBC_REFUSED, "the part asked for lies behind the end");
		return;
	}
	about.verified = 1;
	about.stale = http->stale;
	about.rev = http->rev;
	give(client, r, data, size, about);
}

static void part(hobc_client *client, hobc_request *r, const hobc_http *http)
{
	hobc_blob about;
	uint8_t *data = r->data;
	int step;
	if (!http->has_range || http->range_first != r->first || http->range_last > r->last ||
		r->used != http->range_last - http->range_first + 1 ||
		(http->etag[0] && strcmp(http->etag, r->hash) != 0)) {
		fail(client, r, HOBC_PROTOCOL, "the part sent is not the part asked for");
		return;
	}
	if (r->phase == DELTA_NONE) {
		memset(&about, 0, sizeof about);
		memcpy(about.hash, r->hash, 65);
		r->data = NULL;
		give(client, r, data, r->used, about);
		return;
	}
	step = hobc_delta_step(client, r, http->range_total);
	if (step > 0) {
		again(client, r);
		return;
	}
	if (step == 0) {
		hobc_free(client, r->data);
		r->data = r->whole;
		r->used = (size_t)r->whole_size;
		r->whole = NULL;
		whole_blob(client, r, http);
		return;
	}
	/* If either is not a packed file, fetches the whole blob. */
	r->phase = DELTA_NONE;
	r->by_range = 0;
	again(client, r);
}

static void answered(hobc_slot *slot)
{
	hobc_client *client = slot->client;
	hobc_request *r = slot->request;
	char message[MESSAGE_ROOM];
	hobc_http *http = &slot->http;
	slot->request = NULL;
	slot->answering = 0;
	if (!http->keep_alive)
		hobc_slot_hang_up(slot);
	is_there(client);
	if (http->status == 200) {
		whole_blob(client, r, http);
	} else if (http->status == 206 && r->by_range) {
		part(client, r, http);
	} else if (http->status == 304 && r->have[0]) {
		memcpy(r->hash, r->have, 65);
		r->have[0] = 0;
		if (!give_cached(client, r, r->hash, http->stale))
			fail(client, r, HOBC_NOT_READY, "the copy in the cache went while it was asked about");
	} else {
		message_of(r, http->status, message);
		fail(client, r, result_of(http->status), message);
	}
}

static void broken(hobc_slot *slot, hobc_result result, const char *message)
{
	hobc_client *client = slot->client;
	hobc_request *r = slot->request;
	int first_word = !slot->answering;
	slot->request = NULL;
	hobc_slot_hang_up(slot);
	/* A kept connection may have been closed just before it was used again. */
	if (result == HOBC_NET && first_word && !slot->fresh && !r->retried) {
		r->retried = 1;
		again(client, r);
		return;
	}
	if (result == HOBC_NET || result == HOBC_TIMEOUT) {
		back_off(client, &client->retry_ms, &client->wait_ms);
		unreachable(client, r, result);
		return;
	}
	fail(client, r, result, message);
}

/* ---- bodies */

static int append(hobc_client *client, hobc_request *r, const uint8_t *data, size_t size)
{
	if (size > r->room - r->used) {
		size_t room = r->room ? r->room * 2 : 65536;
		uint8_t *bigger;
		while (room < r->used + size)
			room *= 2;
		bigger = (uint8_t *)hobc_alloc(client, room);
		if (!bigger)
			return 0;
		if (r->used > 0)
			memcpy(bigger, r->data, r->used);
		hobc_free(client, r->data);
		r->data = bigger;
		r->room = room;
	}
	memcpy(r->data + r->used, data, size);
	r->used += size;
	return 1;
}

static int on_body(void *user, const uint8_t *data, size_t size)
{
	hobc_slot *slot = (hobc_slot *)user;
	hobc_request *r = slot->request;
	uint64_t max = slot->client->options.max_blob_bytes;
	if (slot->http.status != 200 && slot->http.status != 206)
		max = ERROR_BODY_MAX;
	else if (slot->http.status == 206 && r->last - r->first < max)
		max = r->last - r->first + 1;
	if ((slot->http.has_length && slot->http.length > max) || size > max || r->used > max - size ||
		!append(slot->client, r, data, size))
		return 0;
	r->fetched += size;
	return 1;
}

/* ---- the event stream */

static int matches(const char *glob, const char *asset)
{
	const char *path = strchr(asset, '/');
	return hobc_glob(glob, asset) || (path && hobc_glob(glob, path + 1));
}

int hobc_event_output(const hobc_event *event, const char *output, char hash[65], uint64_t *size)
{
	hobc_json json, outputs, item, value;
	char name[64], found[68];
	size_t position = 0;
	json.at = event->json;
	json.size = event->json_size;
	if (!hobc_json_member(json, "outputs", &outputs))
		return 0;
	while (hobc_json_item(outputs, &position, &item)) {
		hobc_json_text_of(item, "name", name, sizeof name);
		if (strcmp(name, output) != 0)
			continue;
		if (!hobc_json_member(item, "hash", &value) || value.size != 66 ||
			!hobc_json_text(value, found, sizeof found) || !hobc_is_hash(found, 64))
			return 0;
		memcpy(hash, found, 65);
		if (size && (!hobc_json_member(item, "size", &value) || !hobc_json_number(value, size)))
			*size = 0;
		return 1;
	}
	return 0;
}

static void on_event(void *user, const char *name, const char *data, size_t size)
{
	hobc_client *client = (hobc_client *)user;
	char asset[4200], change[32], state[32];
	hobc_event event;
	hobc_json json, value, item;
	size_t i, position = 0;
	memset(&event, 0, sizeof event);
	json.at = data;
	json.size = size;
	if (strcmp(name, "hello") == 0)
		event.kind = HOBC_EVENT_HELLO;
	else if (strcmp(name, "asset") == 0)
		event.kind = HOBC_EVENT_ASSET;
	else if (strcmp(name, "reset") == 0)
		event.kind = HOBC_EVENT_RESET;
	else
		return;
	hobc_json_text_of(json, "asset", asset, sizeof asset);
	hobc_json_text_of(json, "kind", change, sizeof change);
	hobc_json_text_of(json, "state", state, sizeof state);
	if (hobc_json_member(json, "rev", &value) && !hobc_json_number(value, &event.rev))
		event.rev = 0;
	if (hobc_json_member(json, "outputs", &value))
		event.bytes_changed = hobc_json_item(value, &position, &item);
	event.asset = asset;
	event.change = change;
	event.state = state;
	event.json = data;
	event.json_size = size;
	for (i = 0; i < client->watcher_count; i++)
		if (event.kind != HOBC_EVENT_ASSET || matches(client->watchers[i].glob, asset))
			client->watchers[i].fn(client->watchers[i].user, &event);
}

static int on_stream(void *user, const uint8_t *data, size_t size)
{
	hobc_slot *slot = (hobc_slot *)user;
	if (slot->http.status != 200 || !slot->http.is_events)
		return 0;
	is_there(slot->client);
	slot->client->stream_wait_ms =
		slot->client->sse.retry_ms > BACK_OFF_MS ? (int64_t)slot->client->sse.retry_ms : (int64_t)BACK_OFF_MS;
	return hobc_sse_feed(&slot->client->sse, data, size, on_event, slot->client);
}

static void stream_broken(hobc_slot *slot)
{
	hobc_client *client = slot->client;
	hobc_slot_hang_up(slot);
	back_off(client, &client->stream_retry_ms, &client->stream_wait_ms);
	client->stream_wanted = 1;
}

/* ---- sending */

/* Appends; the target, the token and the patterns have limits that are checked when they are given. */
static void put(hobc_slot *slot, const char *format, ...)
{
	size_t room = REQUEST_ROOM - slot->out_size;
	va_list values;
	va_start(values, format);
	int size = vsnprintf(slot->out + slot->out_size, room, format, values);
	va_end(values);
	assert(size >= 0 && (size_t)size < room);
	slot->out_size += (size_t)size;
}

static void put_rest(hobc_slot *slot)
{
	put(slot, " HTTP/1.1\r\nHost: %s\r\n", slot->client->authority);
	if (slot->client->token[0])
		put(slot, "Authorization: Bearer %s\r\n", slot->client->token);
}

/* Opens a connection unless one is kept, and empties the text to send. */
static hobc_result prepare(hobc_slot *slot)
{
	hobc_client *client = slot->client;
	const hobc_transport *net = &client->options.net;
	slot->fresh = 0;
	slot->answering = 0;
	slot->out_size = slot->out_sent = 0;
	slot->moved_ms = now_of(client);
	hobc_http_start(&slot->http);
	if (!slot->out && !(slot->out = (char *)hobc_alloc(client, REQUEST_ROOM)))
		return HOBC_MEMORY;
	if (slot->connection)
		return HOBC_OK;
	slot->fresh = 1;
	return net->open(net->user, client->host, client->port, client->tls, &slot->connection);
}

static void start_stream(hobc_slot *slot)
{
	hobc_client *client = slot->client;
	size_t i;
	client->stream_wanted = 0;
	hobc_slot_hang_up(slot);
	if (prepare(slot) != HOBC_OK) {
		slot->connection = NULL;
		stream_broken(slot);
		return;
	}
	hobc_sse_start(&client->sse);
	put(slot, "GET /api/v1/events?kinds=asset");
	for (i = 0; i < client->watcher_count; i++) {
		char glob[3 * sizeof client->watchers[i].glob + 4];
		hobc_put_escaped(glob, glob + sizeof glob, client->watchers[i].glob, "-._~/*");
		put(slot, "&asset=%s", glob);
	}
	put_rest(slot);
	put(slot, "Accept: text/event-stream\r\n");
	if (client->sse.id[0])
		put(slot, "Last-Event-ID: %s\r\n", client->sse.id);
	put(slot, "\r\n");
}

static void start_request(hobc_slot *slot, hobc_request *r)
{
	hobc_client *client = slot->client;
	hobc_result result;
	if (!r->name[0] && give_cached(client, r, r->hash, 0))
		return;
	if (client->away && now_of(client) < client->retry_ms) {
		unreachable(client, r, HOBC_NET);
		return;
	}
	result = prepare(slot);
	if (result != HOBC_OK) {
		slot->connection = NULL;
		if (result == HOBC_NET)
			back_off(client, &client->retry_ms, &client->wait_ms);
		unreachable(client, r, result);
		return;
	}
	slot->request = r;
	put(slot, "GET %s", r->target);
	put_rest(slot);
	if (r->name[0] && hobc_cache_find_name(client, r->name, r->have)) {
		uint8_t *data;
		size_t size;
		if (hobc_cache_read(client, r->have, &data, &size)) {
			hobc_free(client, data);
			put(slot, "If-None-Match: \"%s\"\r\n", r->have);
		} else {
			r->have[0] = 0;
		}
	}
	if (r->name[0] && client->options.cook_wait_s > 0)
		put(slot, "Prefer: wait=%lu\r\n", (unsigned long)client->options.cook_wait_s);
	if (r->by_range && r->last == UINT64_MAX)
		put(slot, "Range: bytes=%llu-\r\n", (unsigned long long)r->first);
	else if (r->by_range)
		put(slot, "Range: bytes=%llu-%llu\r\n", (unsigned long long)r->first, (unsigned long long)r->last);
	put(slot, "\r\n");
}

/* ---- one turn */

static void lost(hobc_slot *slot, hobc_result result, const char *message)
{
	if (slot == slot->client->slots)
		stream_broken(slot);
	else if (slot->request)
		broken(slot, result, message);
	else
		hobc_slot_hang_up(slot);
}

static void take(hobc_slot *slot, size_t size)
{
	hobc_client *client = slot->client;
	int stream = slot == client->slots;
	size_t used;
	if (!stream && !slot->request) {
		hobc_slot_hang_up(slot);
		return;
	}
	slot->answering = 1;
	used = hobc_http_feed(&slot->http, client->recv_buffer, size, stream ? on_stream : on_body, slot);
	if (slot->http.state == HOBC_HTTP_BAD || (slot->http.state == HOBC_HTTP_DONE && used < size)) {
		int large = !stream && slot->http.status == 200 && slot->http.has_length &&
					slot->http.length > client->options.max_blob_bytes;
		lost(slot, large ? HOBC_TOO_LARGE : HOBC_PROTOCOL, NULL);
	} else if (slot->http.state == HOBC_HTTP_DONE && stream) {
		stream_broken(slot);
	} else if (slot->http.state == HOBC_HTTP_DONE) {
		answered(slot);
	}
}

static void move(hobc_slot *slot)
{
	hobc_client *client = slot->client;
	const hobc_transport *net = &client->options.net;
	int64_t limit = slot == client->slots && slot->answering
						? (int64_t)SILENCE_MS
						: (int64_t)client->options.timeout_ms +
							  (slot->request ? (int64_t)client->options.cook_wait_s * 1000 : 0);
	int turns = 64;
	while (slot->connection && slot->out_sent < slot->out_size) {
		long sent = net->send(net->user, slot->connection, slot->out + slot->out_sent,
							  slot->out_size - slot->out_sent);
		if (sent < 0)
			lost(slot, HOBC_NET, NULL);
		if (sent <= 0)
			break;
		slot->out_sent += (size_t)sent;
		slot->moved_ms = now_of(client);
	}
	while (slot->connection && slot->out_sent == slot->out_size && turns-- > 0) {
		long got = net->recv(net->user, slot->connection, client->recv_buffer, RECV_BYTES);
		if (got < 0)
			lost(slot, HOBC_NET, NULL);
		if (got <= 0)
			break;
		slot->moved_ms = now_of(client);
		take(slot, (size_t)got);
	}
	if (slot->connection && (slot->request || slot == client->slots) &&
		now_of(client) - slot->moved_ms > limit)
		lost(slot, HOBC_TIMEOUT, NULL);
}

static void turn(hobc_client *client)
{
	size_t i, budget = TURN_REQUESTS;
	if (client->stream_wanted && now_of(client) >= client->stream_retry_ms)
		start_stream(&client->slots[0]);
	for (i = 1; i <= client->options.max_in_flight; i++) {
		while (client->queue && !client->slots[i].request && budget > 0) {
			budget--;
			hobc_request *r = client->queue;
			client->queue = r->next;
			if (!client->queue)
				client->queue_end = &client->queue;
			start_request(&client->slots[i], r);
		}
	}
	for (i = 0; i < SLOTS_MAX; i++)
		if (client->slots[i].connection)
			move(&client->slots[i]);
}

static void wait(hobc_client *client, int wait_ms)
{
	const hobc_transport *net = &client->options.net;
	struct pollfd entries[SLOTS_MAX];
	nfds_t count = 0;
	int blind = 0;
	size_t i;
	if (client->stream_wanted) {
		int64_t left = client->stream_retry_ms - now_of(client);
		wait_ms = left < 0 ? 0 : left < wait_ms ? (int)left : wait_ms;
	}
	for (i = 0; i < SLOTS_MAX; i++) {
		const hobc_slot *slot = &client->slots[i];
		int fd = slot->connection ? net->fd(net->user, slot->connection) : -1;
		blind |= slot->connection && fd < 0;
		if (fd < 0)
			continue;
		entries[count].fd = fd;
		entries[count].revents = 0;
		entries[count++].events = (short)(slot->out_sent < slot->out_size ? POLLOUT : POLLIN);
	}
	poll(entries, count, blind && wait_ms > BLIND_POLL_MS ? (int)BLIND_POLL_MS : wait_ms);
}

hobc_result hobc_update(hobc_client *client, int wait_ms)
{
	turn(client);
	if (wait_ms > 0 && !client->queue) {
		wait(client, wait_ms);
		turn(client);
	}
	if (client->away && !client->told_away) {
		client->told_away = 1;
		return HOBC_NET;
	}
	return HOBC_OK;
}
