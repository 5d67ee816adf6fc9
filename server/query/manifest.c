#include "question.h"

#include "../../core/base/json_write.h"
#include "../store/digest_map.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* The outputs of assets at one revision, for a renderer that switches a whole scene at once. Unchanged assets
 * come from the view; for the others, the change log is read from that revision on. */

enum { LOG_MAX = 20000 };

typedef struct wanted {
	char *full;
	cJSON *change; /* newest change with outputs, up to the revision */
	char *state;
	uint64_t rev;
	bool settled, existed;
} wanted;

typedef struct manifest {
	const question *q;
	hob_str root;
	uint64_t rev;
	wanted *items;
	uint32_t count, room, open, read;
	bool lost;
	hob_buf assets, hashes;
	uint64_t bytes;
	digest_map seen;
	hob_error error;
} manifest;

static bool chosen(const manifest *m, hob_str full)
{
	return m->root.len == 0 || hob_str_equal(full, m->root) ||
		   (full.len > m->root.len && hob_str_starts(full, m->root) && full.data[m->root.len] == '/');
}

/* ---- the log */

static void want(manifest *m, hob_str full)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (hob_str_equal(hob_str_of(m->items[i].full), full))
			return;
	if (!HOB_ROOM(m->items, m->room, m->count))
		abort();
	m->items[m->count++] = (wanted){.full = hob_must(strndup(full.data, full.len))};
	m->open++;
}

static hob_str text_of(const cJSON *object, const char *name)
{
	return hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name)));
}

/* Takes a row after the revision: an asset that was removed later existed at it. */
static bool take_later(void *user, const srv_change_row *row)
{
	manifest *m = user;
	m->read++;
	hob_own_json *change = cJSON_ParseWithLength(row->data.data, row->data.len);
	hob_str full = text_of(change, "asset");
	if (full.data && chosen(m, full))
		want(m, full);
	return m->read < LOG_MAX;
}

static bool take_earlier(void *user, const srv_change_row *row)
{
	manifest *m = user;
	m->read++;
	hob_own_json *change = cJSON_ParseWithLength(row->data.data, row->data.len);
	hob_str full = text_of(change, "asset");
	for (uint32_t i = 0; full.data && i < m->count; i++) {
		wanted *w = &m->items[i];
		if (w->settled || !hob_str_equal(hob_str_of(w->full), full))
			continue;
		bool removed = hob_str_equal(text_of(change, "kind"), HOB_STR("removed"));
		if (!w->existed && !removed) {
			hob_str state = text_of(change, "state");
			w->state = strndup(state.data ? state.data : "", state.len);
			w->rev = row->rev;
			w->existed = true;
		}
		if (removed || cJSON_HasObjectItem(change, "outputs")) {
			w->settled = true;
			m->open--;
			if (!removed) {
				w->change = change;
				change = NULL;
			}
		}
		break;
	}
	return m->open > 0 && m->read < LOG_MAX;
}

static bool read_log(manifest *m)
{
	uint64_t oldest = 0;
	if (!srv_store_each_change(m->q->reader, m->rev + 1, UINT64_MAX >> 1, false, take_later, m, &m->error))
		return false;
	m->lost = m->read >= LOG_MAX;
	m->read = 0;
	if (m->open > 0 && !m->lost) {
		if (!srv_store_each_change(m->q->reader, 0, m->rev, true, take_earlier, m, &m->error))
			return false;
		oldest = srv_store_first_rev(m->q->reader);
		/* An asset without an earlier row was added later, unless that row was trimmed. */
		m->lost = m->open > 0 && (m->read >= LOG_MAX || oldest > 1);
	}
	return true;
}

/* ---- the answer */

static bool add_hash(manifest *m, const hob_sha256 *digest, uint64_t size, hob_str full)
{
	hob_hex hex = hob_sha256_hex(digest);
	bool fresh = false;
	if (srv_digest_map_find(&m->seen, digest))
		return true;
	if (!srv_blob_exists(m->q->store, digest))
		return hob_fail(&m->error, NOT_FOUND, "blob %s of '%.*s' is no longer in the cache", hex.text,
						HOB_FMT(full));
	srv_digest_map_put(&m->seen, digest, &fresh);
	hob_json_str(&m->hashes, hob_str_of(hex.text));
	m->bytes += size;
	return true;
}

static void open_asset(manifest *m, hob_str full, hob_str state, uint64_t rev, const hob_sha256 *record)
{
	char id[SRV_ASSET_ID + 1];
	const srv_view_asset *now = srv_view_find_moved(m->q->view, full);
	if (now)
		memcpy(id, now->id, sizeof id);
	else
		srv_asset_id(full, id);
	hob_json_put(&m->assets, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("asset", full), HOB_JSON("id", id),
				 HOB_JSON("state", state), HOB_JSON("rev", rev));
	if (record)
		hob_json_put(&m->assets, HOB_JSON_DIGEST("record", record));
	hob_json_put(&m->assets, HOB_JSON_OPEN("outputs", '['));
}

static void close_asset(manifest *m)
{
	hob_json_put(&m->assets, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
}

static bool put_output(manifest *m, hob_str full, hob_str name, const hob_sha256 *digest, uint64_t size)
{
	hob_json_object(&m->assets, HOB_JSON("name", name), HOB_JSON_DIGEST("hash", digest),
					HOB_JSON("size", size));
	return add_hash(m, digest, size, full);
}

static bool put_now(manifest *m, const srv_view_asset *a)
{
	bool ok = true;
	open_asset(m, a->full, hob_str_of(srv_state_name(a->state)), a->rev,
			   m->q->control->force ? &a->record : NULL);
	for (uint32_t i = 0; ok && i < a->output_count; i++)
		ok = put_output(m, a->full, a->outputs[i].name, &a->outputs[i].digest, a->outputs[i].size);
	close_asset(m);
	return ok;
}

static bool put_then(manifest *m, const wanted *w)
{
	const cJSON *output;
	bool ok = true;
	open_asset(m, hob_str_of(w->full), hob_str_of(w->state), w->rev, NULL);
	cJSON_ArrayForEach(output, cJSON_GetObjectItemCaseSensitive(w->change, "outputs"))
	{
		hob_sha256 digest;
		const cJSON *size = cJSON_GetObjectItemCaseSensitive(output, "size");
		if (ok && hob_sha256_parse(text_of(output, "hash"), &digest))
			ok = put_output(m, hob_str_of(w->full), text_of(output, "name"), &digest,
							cJSON_IsNumber(size) ? (uint64_t)size->valuedouble : 0);
	}
	close_asset(m);
	return ok;
}

static bool make(manifest *m, const srv_view *view, uint32_t *given)
{
	for (uint32_t i = 0; i < view->count; i++)
		if (view->assets[i]->rev > m->rev && chosen(m, view->assets[i]->full))
			want(m, view->assets[i]->full);
	bool ok = m->rev >= view->rev || read_log(m);
	if (m->lost)
		ok = hob_fail(&m->error, NOT_FOUND, "the change log no longer reaches back to rev %llu",
					  (unsigned long long)m->rev);
	for (uint32_t i = 0; ok && i < view->count; i++) {
		const srv_view_asset *a = view->assets[i];
		if (a->rev <= m->rev && a->rev > 0 && chosen(m, a->full)) {
			ok = put_now(m, a);
			++*given;
		}
	}
	for (uint32_t i = 0; ok && i < m->count; i++)
		if (m->items[i].existed) {
			ok = put_then(m, &m->items[i]);
			++*given;
		}
	return ok;
}

static void put_manifest(const manifest *m, hob_buf *body)
{
	hob_json_put(
		body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("rev", m->rev),
		HOB_JSON("epoch", srv_store_epoch(m->q->store)), HOB_JSON_LIST("assets", hob_buf_str(&m->assets)),
		HOB_JSON_LIST("hashes", hob_buf_str(&m->hashes)), HOB_JSON("bytes", m->bytes), HOB_JSON_CLOSE('}'));
}

static void release(manifest *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		free(m->items[i].full);
		free(m->items[i].state);
		cJSON_Delete(m->items[i].change);
	}
	free(m->items);
	srv_digest_map_release(&m->seen);
	hob_buf_release(&m->assets);
	hob_buf_release(&m->hashes);
}

int srv_query_manifest(question *q)
{
	uint64_t asked = q->control->number;
	manifest m = {.q = q, .root = q->control->asset, .rev = asked > 0 ? asked : q->view->rev};
	uint32_t given = 0;
	int status = 200;
	if (m.rev > q->view->rev)
		return srv_query_refuse(q, 404, "http.not-found", "there is no such rev yet");
	srv_digest_map_init(&m.seen, 0);
	if (!make(&m, q->view, &given))
		status = m.error.code == HOB_ERR_NOT_FOUND
					 ? srv_query_refuse(q, 410, "http.not-found", m.error.context)
					 : srv_query_cannot_read(q, &m.error);
	else if (given == 0 && m.root.len > 0)
		status = srv_query_refuse(q, 404, "http.not-found", "nothing of this name was cooked at that rev");
	else
		put_manifest(&m, &q->body);
	release(&m);
	return status;
}
