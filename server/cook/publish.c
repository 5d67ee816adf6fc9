#include "publish.h"

#include "../../core/base/array.h"

#include "../log/log.h"

#include <assert.h>
#include <stdlib.h>

static void send_some(srv_publish *p, uint32_t most)
{
	for (uint32_t i = 0; i < most && p->sent < p->count; i++) {
		const srv_publish_item *item = &p->items[p->sent++];
		const char *at = (const char *)p->text.data + p->sent_size;
		srv_events_publish(p->events, item->kind, (hob_str){at, item->asset_size},
						   (hob_str){at + item->asset_size, item->size});
		p->sent_size += item->asset_size + item->size;
	}
	if (p->sent < p->count)
		return;
	assert(p->sent_size == p->text.size);
	p->count = p->sent = 0;
	p->sent_size = 0;
	hob_buf_clear(&p->text);
}

void srv_publish_event(srv_publish *p, const char *kind, hob_str asset, hob_str data)
{
	assert(p->events && kind);
	size_t before = p->text.size;
	if (HOB_ROOM(p->items, p->capacity, p->count)) {
		hob_buf_put_str(&p->text, asset);
		hob_buf_put_str(&p->text, data);
		if (!p->text.failed) {
			p->items[p->count++] = (srv_publish_item){kind, asset.len, data.len};
			return;
		}
		p->text.failed = false;
		p->text.size = before;
	}
	send_some(p, UINT32_MAX);
	srv_events_publish(p->events, kind, asset, data);
}

bool srv_publish_turn(srv_publish *p, void (*show)(void *user), void *user, uint32_t events)
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
	p->view = p->prompt = false;
	send_some(p, events);
	p->turning = false;
	return showed;
}

bool srv_publish_waits(const srv_publish *p)
{
	return p->count > 0;
}

void srv_publish_release(srv_publish *p)
{
	free(p->items);
	hob_buf_release(&p->text);
	*p = (srv_publish){0};
}
