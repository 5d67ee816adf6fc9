#include "publish.h"

#include "../log/log.h"

#include <assert.h>
#include <stdlib.h>

static void send_all(srv_publish *p)
{
	const char *at = (const char *)p->text.data;
	for (uint32_t i = 0; i < p->count; i++) {
		const srv_publish_item *item = &p->items[i];
		srv_events_publish(p->events, item->kind, (hob_str){at, item->asset_size},
						   (hob_str){at + item->asset_size, item->size});
		at += item->asset_size + item->size;
	}
	assert(p->count == 0 || at == (const char *)p->text.data + p->text.size);
	p->count = 0;
	hob_buf_clear(&p->text);
}

static bool make_room(srv_publish *p)
{
	if (p->count < p->capacity)
		return true;
	uint32_t capacity = p->capacity ? p->capacity * 2 : 64;
	srv_publish_item *items = realloc(p->items, capacity * sizeof *items);
	if (!items)
		return false;
	p->items = items;
	p->capacity = capacity;
	return true;
}

void srv_publish_event(srv_publish *p, const char *kind, hob_str asset, hob_str data)
{
	assert(p->events && kind);
	size_t before = p->text.size;
	if (make_room(p)) {
		hob_buf_put_str(&p->text, asset);
		hob_buf_put_str(&p->text, data);
		if (!p->text.failed) {
			p->items[p->count++] = (srv_publish_item){kind, asset.len, data.len};
			return;
		}
		p->text.failed = false;
		p->text.size = before;
	}
	send_all(p);
	srv_events_publish(p->events, kind, asset, data);
}

bool srv_publish_turn(srv_publish *p, void (*show)(void *user), void *user)
{
	assert(!p->turning && "a turn ends once");
	p->turning = true;
	hob_error error = {0};
	bool showed = p->view;
	if (p->rows && !srv_store_commit(p->store, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	p->rows = false;
	if (p->view)
		show(user);
	p->view = false;
	send_all(p);
	p->turning = false;
	return showed;
}

void srv_publish_release(srv_publish *p)
{
	free(p->items);
	hob_buf_release(&p->text);
	*p = (srv_publish){0};
}
