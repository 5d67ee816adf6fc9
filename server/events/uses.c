#include "uses.h"

#include "../../core/base/array.h"
#include "../fs/lock.h"

#include <stdlib.h>

enum { SLOTS_FIRST = 16 };

typedef struct client {
	uint64_t id, heard;
	uint32_t streams;
	uint64_t *slots; /* open addressing; 0: free */
	uint32_t slot_count, name_count;
	char **globs; /* one entry for every open stream that has the pattern */
	uint32_t glob_count, glob_capacity;
} client;

struct srv_uses {
	pthread_mutex_t lock;
	client clients[SRV_USES_CLIENTS];
	uint32_t count;
	uint64_t turn, changes;
};

static const uint64_t FNV_BASIS = 0xcbf29ce484222325, FNV_PRIME = 0x100000001b3;

static uint64_t add_byte(uint64_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * FNV_PRIME;
}

static uint64_t hash_of(uint64_t hash, hob_str text)
{
	for (size_t i = 0; i < text.len; i++)
		hash = add_byte(hash, text.data[i]);
	return hash;
}

static uint64_t never_free(uint64_t hash)
{
	return hash ? hash : 1;
}

srv_uses *srv_uses_new(void)
{
	srv_uses *uses = calloc(1, sizeof *uses);
	if (uses)
		pthread_mutex_init(&uses->lock, NULL);
	return uses;
}

static void clear(client *c)
{
	for (uint32_t i = 0; i < c->glob_count; i++)
		free(c->globs[i]);
	free(c->globs);
	free(c->slots);
	*c = (client){0};
}

void srv_uses_free(srv_uses *uses)
{
	if (!uses)
		return;
	for (uint32_t i = 0; i < uses->count; i++)
		clear(&uses->clients[i]);
	pthread_mutex_destroy(&uses->lock);
	free(uses);
}

uint64_t srv_uses_client(hob_bytes address, hob_str agent)
{
	uint64_t hash = hash_of(FNV_BASIS, (hob_str){(const char *)address.data, address.size});
	return hash_of(add_byte(hash, 0), agent);
}

static client *find(srv_uses *uses, uint64_t id)
{
	for (uint32_t i = 0; i < uses->count; i++)
		if (uses->clients[i].id == id)
			return &uses->clients[i];
	return NULL;
}

/* NULL if all remembered clients are connected. */
static client *new_client(srv_uses *uses)
{
	if (uses->count < SRV_USES_CLIENTS)
		return &uses->clients[uses->count++];
	client *oldest = NULL;
	for (uint32_t i = 0; i < uses->count; i++) {
		client *c = &uses->clients[i];
		if (c->streams == 0 && (!oldest || c->heard < oldest->heard))
			oldest = c;
	}
	if (oldest)
		clear(oldest);
	return oldest;
}

static client *find_or_add(srv_uses *uses, uint64_t id)
{
	client *c = find(uses, id);
	if (!c)
		c = new_client(uses);
	if (c) {
		c->id = id;
		c->heard = ++uses->turn;
	}
	return c;
}

static uint64_t *slot_of(uint64_t *slots, uint32_t count, uint64_t hash)
{
	uint32_t at = (uint32_t)(hash & (count - 1));
	while (slots[at] && slots[at] != hash)
		at = (at + 1) & (count - 1);
	return &slots[at];
}

static bool make_room(client *c)
{
	if (c->name_count == SRV_USES_NAMES) {
		memset(c->slots, 0, c->slot_count * sizeof *c->slots);
		c->name_count = 0;
	}
	if (c->slots && c->name_count < c->slot_count / 2)
		return true;
	uint32_t count = c->slot_count ? c->slot_count * 2 : SLOTS_FIRST;
	uint64_t *slots = calloc(count, sizeof *slots);
	if (!slots)
		return false;
	for (uint32_t i = 0; i < c->slot_count; i++)
		if (c->slots[i])
			*slot_of(slots, count, c->slots[i]) = c->slots[i];
	free(c->slots);
	c->slots = slots;
	c->slot_count = count;
	return true;
}

void srv_uses_note(srv_uses *uses, uint64_t id, hob_str name)
{
	uint64_t hash = never_free(hash_of(FNV_BASIS, name));
	SRV_LOCKED(&uses->lock);
	client *c = name.len > 0 ? find_or_add(uses, id) : NULL;
	uint64_t *slot = c && make_room(c) ? slot_of(c->slots, c->slot_count, hash) : NULL;
	if (slot && !*slot) {
		*slot = hash;
		c->name_count++;
		uses->changes += c->streams > 0;
	}
}

static bool says_something(const char *glob)
{
	return glob[strspn(glob, "*/")] != 0;
}

static void add_glob(client *c, const char *glob)
{
	if (!HOB_ROOM(c->globs, c->glob_capacity, c->glob_count))
		return;
	char *copy = strdup(glob);
	if (copy)
		c->globs[c->glob_count++] = copy;
}

static void remove_glob(client *c, const char *glob)
{
	for (uint32_t i = 0; i < c->glob_count; i++)
		if (strcmp(c->globs[i], glob) == 0) {
			free(c->globs[i]);
			c->globs[i] = c->globs[--c->glob_count];
			return;
		}
}

void srv_uses_join(srv_uses *uses, uint64_t id, const char *const *globs, uint32_t count)
{
	SRV_LOCKED(&uses->lock);
	client *c = find_or_add(uses, id);
	if (c) {
		c->streams++;
		uses->changes++;
		for (uint32_t i = 0; i < count; i++)
			if (says_something(globs[i]))
				add_glob(c, globs[i]);
	}
}

void srv_uses_leave(srv_uses *uses, uint64_t id, const char *const *globs, uint32_t count)
{
	SRV_LOCKED(&uses->lock);
	client *c = find(uses, id);
	if (c && c->streams > 0) {
		c->streams--;
		for (uint32_t i = 0; i < count; i++)
			remove_glob(c, globs[i]);
	}
}

uint32_t srv_uses_count(srv_uses *uses, uint64_t id)
{
	SRV_LOCKED(&uses->lock);
	const client *c = find(uses, id);
	return c ? c->name_count : 0;
}

static bool asked_for(const client *c, hob_str asset)
{
	uint64_t hash = FNV_BASIS;
	for (size_t i = 0; c->name_count > 0 && i <= asset.len; i++) {
		bool end = i == asset.len || asset.data[i] == '/';
		if (end && *slot_of(c->slots, c->slot_count, never_free(hash)))
			return true;
		hash = i < asset.len ? add_byte(hash, asset.data[i]) : hash;
	}
	return false;
}

static bool follows(const client *c, hob_str asset)
{
	size_t slash = hob_str_find(asset, HOB_STR("/"), 0);
	hob_str path = slash == SIZE_MAX ? asset : hob_str_sub(asset, slash + 1, asset.len);
	for (uint32_t i = 0; i < c->glob_count; i++) {
		hob_str glob = hob_str_of(c->globs[i]);
		if (hob_glob_match(glob, asset) || hob_glob_match(glob, path))
			return true;
	}
	return false;
}

bool srv_uses_has(srv_uses *uses, hob_str asset)
{
	bool found = false;
	SRV_LOCKED(&uses->lock);
	for (uint32_t i = 0; !found && i < uses->count; i++) {
		const client *c = &uses->clients[i];
		found = c->streams > 0 && (asked_for(c, asset) || follows(c, asset));
	}
	return found;
}

uint64_t srv_uses_changes(srv_uses *uses)
{
	SRV_LOCKED(&uses->lock);
	return uses->changes;
}
