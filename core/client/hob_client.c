#include "client_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 15000, BACK_OFF_MS = 250 };

const char *hobc_result_text(hobc_result result)
{
	static const char *const texts[] = {"ok",
										"bad argument",
										"out of memory",
										"the daemon cannot be reached",
										"the daemon did not answer in time",
										"the answer breaks the protocol",
										"there is no such asset, output or blob",
										"not cooked yet",
										"the cook failed",
										"the bytes do not match their hash",
										"larger than max_blob_bytes",
										"refused",
										"cancelled"};
	return (size_t)result < sizeof texts / sizeof texts[0] ? texts[result] : "unknown result";
}

/* ---- memory and text */

void *hobc_alloc(hobc_client *client, size_t size)
{
	return client->options.memory.alloc(client->options.memory.user, size);
}

void hobc_free(hobc_client *client, void *memory)
{
	if (memory)
		client->options.memory.release(client->options.memory.user, memory);
}

static void *plain_alloc(void *user, size_t size)
{
	(void)user;
	return malloc(size);
}

static void plain_release(void *user, void *memory)
{
	(void)user;
	free(memory);
}

static int copy_text(char *out, size_t room, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	if (size >= room)
		return 0;
	if (size > 0)
		memcpy(out, text, size);
	out[size] = 0;
	return 1;
}

/* ---- open and close */

static int take_url(hobc_client *client, const char *url)
{
	const char *at = url, *end, *p;
	uint64_t port;
	if (strncmp(at, "unix:", 5) == 0) {
		size_t size = strlen(at + 5);
		if (at[5] != '/' || size >= sizeof client->host)
			return 0;
		memcpy(client->host, at + 5, size + 1);
		memcpy(client->authority, "localhost", sizeof "localhost");
		return 1;
	}
	if (strncmp(at, "http://", 7) == 0) {
		at += 7;
	} else if (strncmp(at, "https://", 8) == 0) {
		at += 8;
		client->tls = 1;
	} else if (strstr(at, "://")) {
		return 0;
	}
	port = client->tls ? 443 : 80;
	for (p = at; *p && *p != '/'; p++)
		if (*p <= ' ' || *p == '@' || *p == '?' || *p == '#' || *p == 127)
			return 0;
	if (*p == '/' && p[1])
		return 0;
	if (p == at || (size_t)(p - at) >= sizeof client->host)
		return 0;
	memcpy(client->authority, at, (size_t)(p - at));
	client->authority[p - at] = 0;
	end = *at == '[' ? strchr(client->authority, ']') : strchr(client->authority, ':');
	if (*at == '[' && !end)
		return 0;
	if (*at == '[') {
		memcpy(client->host, client->authority + 1, (size_t)(end - client->authority) - 1);
		end++;
	} else {
		memcpy(client->host, client->authority,
			   end ? (size_t)(end - client->authority) : strlen(client->authority));
	}
	if (!client->host[0] || (end && *end && *end != ':'))
		return 0;
	if (end && *end == ':') {
		hobc_json digits;
		digits.at = end + 1;
		digits.size = strlen(end + 1);
		if (!hobc_json_number(digits, &port))
			return 0;
	}
	client->port = (uint16_t)port;
	return port > 0 && port < 65536;
}

hobc_result hobc_open(const hobc_options *options, hobc_client **out)
{
	hobc_options o = *options;
	hobc_client *client;
	char here[300];
	size_t i;
	if (!o.memory.alloc != !o.memory.release || o.max_in_flight >= SLOTS_MAX)
		return HOBC_ARGUMENT;
	if (!o.memory.alloc) {
		o.memory.alloc = plain_alloc;
		o.memory.release = plain_release;
	}
	client = (hobc_client *)o.memory.alloc(o.memory.user, sizeof *client);
	if (!client)
		return HOBC_MEMORY;
	memset(client, 0, sizeof *client);
	o.max_in_flight = o.max_in_flight ? o.max_in_flight : 4;
	o.timeout_ms = o.timeout_ms ? o.timeout_ms : (uint32_t)TIMEOUT_MS;
	o.max_blob_bytes = o.max_blob_bytes ? o.max_blob_bytes : (uint64_t)1 << 30;
	client->options = o;
	client->queue_end = &client->queue;
	client->wait_ms = client->stream_wait_ms = BACK_OFF_MS;
	for (i = 0; i < SLOTS_MAX; i++)
		client->slots[i].client = client;
	if (!o.url)
		hobc_url_here(here, sizeof here);
	if (!take_url(client, o.url ? o.url : here) || (client->tls && !o.net.open) ||
		!copy_text(client->cache_dir, sizeof client->cache_dir, o.cache_dir) ||
		!copy_text(client->token, sizeof client->token, o.token) || strpbrk(client->token, "\r\n")) {
		hobc_free(client, client);
		return HOBC_ARGUMENT;
	}
	hobc_net_default(client, &client->options.net);
	client->recv_buffer = (uint8_t *)hobc_alloc(client, RECV_BYTES);
	if (!client->recv_buffer) {
		hobc_close(client);
		return HOBC_MEMORY;
	}
	*out = client;
	return HOBC_OK;
}

void hobc_request_free(hobc_client *client, hobc_request *r)
{
	hobc_free(client, r->target);
	hobc_free(client, r->data);
	hobc_free(client, r->whole);
	hobc_free(client, r->needs);
	hobc_free(client, r);
}

void hobc_slot_hang_up(hobc_slot *slot)
{
	if (slot->connection)
		slot->client->options.net.close(slot->client->options.net.user, slot->connection);
	slot->connection = NULL;
	slot->answering = 0;
	slot->out_size = slot->out_sent = 0;
}

void hobc_close(hobc_client *client)
{
	size_t i;
	void (*release)(void *, void *);
	void *user;
	if (!client)
		return;
	for (i = 0; i < SLOTS_MAX; i++) {
		hobc_slot *slot = &client->slots[i];
		hobc_slot_hang_up(slot);
		if (slot->request) {
			slot->request->next = client->queue;
			client->queue = slot->request;
		}
		hobc_free(client, slot->out);
	}
	while (client->queue) {
		hobc_request *r = client->queue;
		client->queue = r->next;
		r->fn(r->user, r->id, HOBC_CANCELLED, "the client was closed", NULL);
		hobc_request_free(client, r);
	}
	hobc_free(client, client->sse.line);
	hobc_free(client, client->sse.data);
	hobc_free(client, client->recv_buffer);
	release = client->options.memory.release;
	user = client->options.memory.user;
	release(user, client);
}

/* ---- requests */

char *hobc_put_escaped(char *at, const char *end, const char *text, const char *kept)
{
	for (; *text; text++) {
		char c = *text;
		int plain =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr(kept, c);
		if (end - at < 4)
			return NULL;
		at += snprintf(at, 4, plain ? "%c" : "%%%02X", (uint8_t)c);
	}
	*at = 0;
	return at;
}

static hobc_result add_request(hobc_client *client, hobc_blob_fn fn, void *user, uint64_t *id,
							   hobc_request **out)
{
	hobc_request *r;
	if (!fn)
		return HOBC_ARGUMENT;
	r = (hobc_request *)hobc_alloc(client, sizeof *r);
	if (!r)
		return HOBC_MEMORY;
	memset(r, 0, sizeof *r);
	r->target = (char *)hobc_alloc(client, REQUEST_ROOM / 2);
	if (!r->target) {
		hobc_free(client, r);
		return HOBC_MEMORY;
	}
	r->id = ++client->last_id;
	r->fn = fn;
	r->user = user;
	if (id)
		*id = r->id;
	*out = r;
	return HOBC_OK;
}

static void enqueue(hobc_client *client, hobc_request *r)
{
	*client->queue_end = r;
	client->queue_end = &r->next;
	r->next = NULL;
}

hobc_result hobc_get(hobc_client *client, const char *asset, const char *output, hobc_blob_fn fn, void *user,
					 uint64_t *id)
{
	hobc_request *r;
	hobc_result result =
		asset && output && asset[0] && output[0] ? add_request(client, fn, user, id, &r) : HOBC_ARGUMENT;
	hobc_sha256 hash;
	char *at, *end;
	if (result != HOBC_OK)
		return result;
	end = r->target + REQUEST_ROOM / 2;
	memcpy(r->target, "/a/", 4);
	at = hobc_put_escaped(r->target + 3, end - 8, asset, "-._~/");
	if (at) {
		memcpy(at, "?output=", 9);
		at = hobc_put_escaped(at + 8, end, output, "-._~/");
	}
	if (!at) {
		hobc_request_free(client, r);
		return HOBC_ARGUMENT;
	}
	hobc_sha256_start(&hash);
	hobc_sha256_add(&hash, client->authority, strlen(client->authority) + 1);
	hobc_sha256_add(&hash, r->target, strlen(r->target));
	hobc_sha256_end(&hash, r->name);
	enqueue(client, r);
	return HOBC_OK;
}

static hobc_result by_hash(hobc_client *client, const char *hash, hobc_blob_fn fn, void *user, uint64_t *id,
						   hobc_request **out)
{
	hobc_result result =
		hash && hobc_is_hash(hash, strlen(hash)) ? add_request(client, fn, user, id, out) : HOBC_ARGUMENT;
	if (result != HOBC_OK)
		return result;
	memcpy((*out)->hash, hash, 65);
	memcpy((*out)->target, "/blobs/", 7);
	memcpy((*out)->target + 7, hash, 65);
	return HOBC_OK;
}

hobc_result hobc_get_blob(hobc_client *client, const char *hash, uint64_t offset, uint64_t size,
						  hobc_blob_fn fn, void *user, uint64_t *id)
{
	hobc_request *r;
	hobc_result result = offset > UINT64_MAX - size ? HOBC_ARGUMENT : by_hash(client, hash, fn, user, id, &r);
	if (result != HOBC_OK)
		return result;
	r->by_range = offset > 0 || size > 0;
	r->first = offset;
	r->last = size > 0 ? offset + size - 1 : UINT64_MAX;
	enqueue(client, r);
	return HOBC_OK;
}

hobc_result hobc_get_delta_of(hobc_client *client, const char *hash, const hobc_blob *const *older,
							  size_t count, hobc_blob_fn fn, void *user, uint64_t *id)
{
	hobc_request *r;
	hobc_older known[HOBC_OLDER_MAX];
	size_t known_count = 0, i;
	for (i = 0; older && i < count && known_count < HOBC_OLDER_MAX; i++)
		if (older[i]) {
			known[known_count].data = (const uint8_t *)older[i]->data;
			known[known_count++].size = older[i]->size;
		}
	hobc_result result = known_count > 0 ? by_hash(client, hash, fn, user, id, &r) : HOBC_ARGUMENT;
	if (result != HOBC_OK)
		return result;
	r->phase = DELTA_TABLE;
	r->by_range = 1;
	r->last = 4095;
	memcpy(r->older, known, known_count * sizeof *known);
	r->older_count = known_count;
	enqueue(client, r);
	return HOBC_OK;
}

hobc_result hobc_get_delta(hobc_client *client, const char *hash, const hobc_blob *older, hobc_blob_fn fn,
						   void *user, uint64_t *id)
{
	return hobc_get_delta_of(client, hash, &older, 1, fn, user, id);
}

hobc_result hobc_watch(hobc_client *client, const char *glob, hobc_event_fn fn, void *user)
{
	hobc_watcher *w = &client->watchers[client->watcher_count];
	if (!glob || !glob[0] || !fn || client->watcher_count == WATCHES_MAX ||
		!copy_text(w->glob, sizeof w->glob, glob))
		return HOBC_ARGUMENT;
	if (!client->sse.line) {
		client->sse.room = 1 << 20;
		client->sse.line = (char *)hobc_alloc(client, client->sse.room);
		client->sse.data = (char *)hobc_alloc(client, client->sse.room);
		if (!client->sse.line || !client->sse.data) {
			hobc_free(client, client->sse.line);
			hobc_free(client, client->sse.data);
			client->sse.line = client->sse.data = NULL;
			return HOBC_MEMORY;
		}
	}
	w->fn = fn;
	w->user = user;
	client->watcher_count++;
	/* The stream is requested again with this pattern, too, and continues where it was. */
	client->stream_wanted = 1;
	return HOBC_OK;
}

void hobc_cancel(hobc_client *client, uint64_t id)
{
	hobc_request **at;
	size_t i;
	for (i = 1; i < SLOTS_MAX; i++)
		if (client->slots[i].request && client->slots[i].request->id == id) {
			hobc_request_free(client, client->slots[i].request);
			client->slots[i].request = NULL;
			hobc_slot_hang_up(&client->slots[i]);
			return;
		}
	for (at = &client->queue; *at; at = &(*at)->next)
		if ((*at)->id == id) {
			hobc_request *r = *at;
			*at = r->next;
			if (client->queue_end == &r->next)
				client->queue_end = at;
			hobc_request_free(client, r);
			return;
		}
}

void hobc_blob_release(hobc_client *client, hobc_blob *blob)
{
	if (!blob)
		return;
	hobc_free(client, (void *)(uintptr_t)blob->data);
	hobc_free(client, blob);
}

size_t hobc_pollfds(const hobc_client *client, int *fds, size_t max)
{
	const hobc_transport *net = &client->options.net;
	size_t count = 0, i;
	for (i = 0; i < SLOTS_MAX; i++) {
		int fd = client->slots[i].connection ? net->fd(net->user, client->slots[i].connection) : -1;
		if (fd < 0)
			continue;
		if (count < max)
			fds[count] = fd;
		count++;
	}
	return count;
}

typedef struct waiting {
	int done;
	hobc_result result;
	hobc_blob *blob;
} waiting;

static void on_sync(void *user, uint64_t id, hobc_result result, const char *message, hobc_blob *blob)
{
	waiting *w = (waiting *)user;
	(void)id;
	(void)message;
	w->done = 1;
	w->result = result;
	w->blob = blob;
}

hobc_result hobc_get_sync(hobc_client *client, const char *asset, const char *output, hobc_blob **out)
{
	waiting w;
	hobc_result result;
	memset(&w, 0, sizeof w);
	result = hobc_get(client, asset, output, on_sync, &w, NULL);
	if (result != HOBC_OK)
		return result;
	while (!w.done)
		hobc_update(client, 100);
	if (w.result == HOBC_OK)
		*out = w.blob;
	return w.result;
}
