#include "agent.h"

#include "../../core/base/json_write.h"
#include "../../core/base/text_order.h"
#include "../fs/listing.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	CHANGES_MAX = 2000,
	BODY_MAX = 900000,
	GRACE_MS = 400,	   /* wait for a missing file to reappear: programs save by rename and write */
	BUSY_MS = 300,	   /* wait before a busy file is retried */
	RETRY_MS = 2000,   /* wait before a silent daemon is asked again */
	LIST_MS = 10000,   /* wait before folders that could not be listed are tried again */
	ROUNDS_MAX = 4,	   /* attempts to send one list whose blobs are missing */
	ASK_BYTES = 16384, /* a single smaller file is sent without asking whether it is there */
	SHARE_OF_ALL = 5,  /* if 1/5 of the files vanish at once, the user must confirm */
	FEW = 3,
	UPLOAD_SILENCE_MS = 120000
};

static bool ask_mirror(agent *a, const char *method, const char *what, hob_buf *body, int *status,
					   hob_buf *answer)
{
	hob_own_buf target = {0};
	hob_buf_printf(&target, "/api/v1/mirrors/%s/%s%c", a->options.root, what, 0);
	bool ok = !target.failed && !body->failed &&
			  agent_ask(a,
						&(fetch_request){
							.method = method, .target = (const char *)target.data, .body = hob_buf_str(body)},
						status, answer);
	if (!ok || *status == 200)
		return ok;
	agent_problem(a, *status, agent_json(answer));
	/* 404 and 409 during a session: the trees are compared again. Other errors need the user, or time. */
	bool again = *status == 503 || *status == 507 || *status == 429 || *status >= 500;
	bool opening = strcmp(what, "session") == 0;
	a->in_step = a->in_step && (*status == 507 || *status == 503);
	a->stop = a->stop || (!again && (opening || (*status != 404 && *status != 409)));
	return false;
}

static bool parse_digest(hobc_json value, hob_sha256 *out)
{
	return value.size == HOB_SHA256_TEXT + 2 &&
		   hob_sha256_parse((hob_str){value.at + 1, HOB_SHA256_TEXT}, out);
}

/* ---- comparing trees */

typedef struct picture {
	agent_file **files; /* on the disk */
	srv_listing all;
} picture;

static int by_path(const void *a, const void *b)
{
	return hob_str_compare((*(agent_file *const *)a)->path, (*(agent_file *const *)b)->path);
}

static srv_listed listed(const void *files, uint32_t index)
{
	const agent_file *file = ((agent_file *const *)files)[index];
	return (srv_listed){file->path, &file->digest};
}

static bool take_picture(const agent *a, picture *out)
{
	uint32_t count = 0;
	out->files = malloc((a->tree.count + 1) * sizeof(agent_file *));
	for (uint32_t i = 0; out->files && i < a->tree.capacity; i++)
		if (a->tree.slots[i] && a->tree.slots[i]->on_disk && a->tree.slots[i]->hashed)
			out->files[count++] = a->tree.slots[i];
	if (out->files)
		qsort(out->files, count, sizeof(agent_file *), by_path);
	out->all = (srv_listing){.at = listed, .files = out->files, .end = count};
	return out->files != NULL;
}

static void mark_sent(agent_file *f)
{
	f->is_sent = true;
	f->sent = f->digest;
}

static void take_remote_file(agent *a, hob_str path, hobc_json item, const hob_sha256 *digest)
{
	agent_file *f = agent_tree_place(&a->tree, path);
	hobc_json mine = agent_member(item, "mine");
	if (!f)
		return;
	f->is_sent = true;
	f->sent = *digest;
	f->gone_ms = agent_ticks_ms();
	if ((mine.size == 4 && memcmp(mine.at, "true", 4) == 0) ||
		(f->on_disk && hob_sha256_equal(&f->digest, digest)))
		return;
	if (!f->on_disk) {
		f->is_sent = false; /* a file of another agent */
		return;
	}
	if ((int64_t)agent_number(agent_member(item, "mtime_ms")) > f->stat.mtime_ns / 1000000) {
		agent_say("%s: somebody else saved it later; the daemon keeps that version", f->path.data);
		mark_sent(f);
	}
}

/* Compares one folder of a manifest. Appends differing subfolders to `next`, as JSON strings. */
static bool take_folder(agent *a, const picture *p, hobc_json folder, hob_buf *next)
{
	char path[AGENT_PATH], name[AGENT_PATH];
	hob_own_buf item_path = {0};
	hobc_json items = agent_member(folder, "items"), item;
	size_t at = 0;
	bool ok = agent_text(folder, "path", path, sizeof path);
	while (ok && hobc_json_item(items, &at, &item)) {
		hob_sha256 digest;
		hobc_json tree = agent_member(item, "tree");
		ok = agent_text(item, "name", name, sizeof name) &&
			 parse_digest(tree.size > 0 ? tree : agent_member(item, "sha256"), &digest);
		hob_buf_clear(&item_path);
		hob_buf_printf(&item_path, "%s%s%s", path, path[0] ? "/" : "", name);
		if (ok && tree.size == 0)
			take_remote_file(a, hob_buf_str(&item_path), item, &digest);
		if (!ok || tree.size == 0)
			continue;
		srv_listing below = srv_listing_below(&p->all, hob_buf_str(&item_path));
		hob_sha256 mine = srv_listing_digest(&below, NULL, NULL);
		if (!hob_sha256_equal(&mine, &digest))
			hob_json_str(next, hob_buf_str(&item_path));
		else
			for (uint32_t i = below.first; i < below.end; i++)
				mark_sent(p->files[i]);
	}
	return ok && !item_path.failed;
}

static bool compare(agent *a, const picture *p)
{
	hob_own_buf next = {0}, body = {0}, answer = {0};
	int status;
	bool ok = true;
	hob_json_open(&next, '[');
	hob_json_str(&next, (hob_str){0});
	while (ok && next.size > 1) {
		hob_json_close(&next, ']');
		hob_buf_clear(&body);
		hob_buf_printf(&body, "{\"session\":\"%s\",\"folders\":%.*s}", a->session,
					   HOB_FMT(hob_buf_str(&next)));
		ok = !next.failed && ask_mirror(a, "POST", "manifest", &body, &status, &answer);
		hob_buf_clear(&next);
		hob_json_open(&next, '[');
		hobc_json folders = agent_member(agent_json(&answer), "folders"), folder;
		for (size_t at = 0; ok && hobc_json_item(folders, &at, &folder);)
			ok = take_folder(a, p, folder, &next);
	}
	return ok;
}

static bool open_session(agent *a)
{
	hob_own_buf body = {0}, answer = {0};
	char text[1024];
	picture p;
	int status;
	hob_json_open(&body, '{');
	hob_json_put_str(&body, "who", hob_str_of(a->who));
	hob_json_put_str(&body, "program", HOB_STR("hob-agent " HOB_VERSION));
	hob_json_put_u64(&body, "protocol", AGENT_PROTOCOL);
	hob_json_put_str(&body, "base", hob_str_of(a->options.base));
	hob_json_put_str(&body, "folder", hob_str_of(a->folder));
	hob_json_put_u64(&body, "clock_ms", (uint64_t)agent_now_ms());
	hob_json_close(&body, '}');
	bool ok = take_picture(a, &p) && ask_mirror(a, "PUT", "session", &body, &status, &answer);
	hob_sha256 theirs, mine = srv_listing_digest(&p.all, NULL, NULL);
	if (ok && (!agent_text(agent_json(&answer), "session", text, sizeof a->session) ||
			   text[strspn(text, "0123456789abcdef")] ||
			   !parse_digest(agent_member(agent_json(&answer), "tree"), &theirs)))
		ok = agent_strange(a, status);
	if (ok) {
		memcpy(a->session, text, sizeof a->session);
		a->seq = 0;
		a->in_step = true;
		if (agent_text(agent_json(&answer), "note", text, sizeof text) && text[0])
			agent_say("%s", text);
		bool equal = hob_sha256_equal(&mine, &theirs);
		for (uint32_t i = 0; i < a->tree.capacity; i++)
			if (a->tree.slots[i])
				a->tree.slots[i]->is_sent = false;
		for (uint32_t i = 0; equal && i < p.all.end; i++)
			mark_sent(p.files[i]);
		ok = equal || compare(a, &p);
		a->in_step = ok;
	}
	if (ok)
		agent_say("connected to %s as %s: %u files", a->options.url, a->who, p.all.end);
	free(p.files);
	return ok;
}

/* ---- differences */

typedef struct difference {
	agent_file *put, *gone; /* both: a move */
} difference;

typedef struct differences {
	difference *items;
	uint32_t count;
	uint32_t gone; /* deletions, not counting moves */
} differences;

static void wait_at_most(int64_t *wait_ms, int64_t ms)
{
	*wait_ms = *wait_ms < 0 || *wait_ms > ms ? ms : *wait_ms;
}

static int by_digest(const void *a, const void *b)
{
	return memcmp((*(agent_file *const *)a)->digest.bytes, (*(agent_file *const *)b)->digest.bytes,
				  sizeof(hob_sha256));
}

/* The first file without a source among those that came, whose content is what `f` had. */
static agent_file *place_of(agent_file **came, uint32_t count, const agent_file *f)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (memcmp(came[middle]->digest.bytes, f->sent.bytes, sizeof f->sent) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && hob_sha256_equal(&came[low]->digest, &f->sent); low++)
		if (!came[low]->seen)
			return came[low];
	return NULL;
}

static bool differs(const agent_file *f)
{
	return f && f->on_disk && f->hashed && !f->busy &&
		   (!f->is_sent || !hob_sha256_equal(&f->sent, &f->digest));
}

/* Pairs files that came with files that went, as moves (`seen`), and lists the others that went. A file that
 * is renamed during a look may have been found at both places, so the old one is looked at again. */
static uint32_t find_moves(agent *a, agent_file **came, agent_file **gone, differences *out)
{
	agent_tree *tree = &a->tree;
	uint32_t came_count = 0, gone_count = 0;
	for (uint32_t i = 0; i < tree->capacity; i++) {
		agent_file *f = tree->slots[i];
		if (!differs(f))
			continue;
		f->seen = false;
		if (!f->is_sent)
			came[came_count++] = f;
	}
	qsort(came, came_count, sizeof(agent_file *), by_digest);
	for (uint32_t i = 0; i < tree->capacity && !tree->failed; i++) {
		agent_file *f = tree->slots[i], *to = f && f->is_sent ? place_of(came, came_count, f) : NULL;
		if (to && f->on_disk && f->stat.mtime_ns == to->stat.mtime_ns &&
			sys_look(a->folder, f->path, NULL) == SYS_NONE)
			agent_tree_vanish(f);
		if (!f || !f->is_sent || f->on_disk)
			continue;
		if (to)
			out->items[out->count++] = (difference){to, f};
		else
			gone[gone_count++] = f;
		if (to)
			to->seen = true;
	}
	return gone_count;
}

/* Moves first, then saves, then deletions that are old enough; otherwise *wait is the remaining time. */
static bool find_differences(agent *a, differences *out, int64_t *wait_ms)
{
	agent_tree *tree = &a->tree;
	agent_file **gone = calloc(tree->count + 1, sizeof(agent_file *));
	agent_file **came = calloc(tree->count + 1, sizeof(agent_file *));
	out->items = calloc(tree->count + 1, sizeof *out->items);
	bool ok = gone && came && out->items;
	uint32_t sent = 0;
	out->gone = ok ? find_moves(a, came, gone, out) : 0;
	for (uint32_t i = 0; ok && i < tree->capacity; i++) {
		agent_file *f = tree->slots[i];
		sent += f && f->is_sent;
		if (differs(f) && !f->seen)
			out->items[out->count++] = (difference){f, NULL};
	}
	int64_t now = agent_ticks_ms();
	/* Files of a folder that is itself gone, such as a renamed one, were not deleted. */
	if (out->gone > 0 && sys_look(a->folder, (hob_str){0}, NULL) != SYS_FOLDER) {
		agent_tree_touch(a, (hob_str){0});
		out->gone = 0;
	}
	bool many = out->gone >= FEW && (uint64_t)out->gone * SHARE_OF_ALL > sent && !a->options.yes;
	for (uint32_t i = 0; i < out->gone; i++) {
		int64_t left = a->options.dry_run ? 0 : gone[i]->gone_ms + GRACE_MS - now;
		bool looked = a->options.dry_run || (a->watch && !a->options.poll) || gone[i]->gone_ms < a->looked_ms;
		if (left > 0 || !looked)
			wait_at_most(wait_ms, left > 0 ? left : 0);
		else if (!many)
			out->items[out->count++] = (difference){NULL, gone[i]};
		a->look_again = a->look_again || (left <= 0 && !looked);
	}
	if (ok && many && *wait_ms < 0 && !a->offered_yes)
		agent_say("%u of %u files are gone, which is more than a fifth: nothing is deleted until you start "
				  "again with --yes",
				  out->gone, sent);
	a->offered_yes = many && *wait_ms < 0;
	free(gone);
	free(came);
	return ok;
}

/* ---- sending */

static void put_change(hob_buf *out, const difference *d)
{
	hob_json_open(out, '{');
	hob_json_put_str(out, d->put ? d->gone ? "move" : "put" : "delete",
					 d->gone ? d->gone->path : d->put->path);
	if (d->put && d->gone)
		hob_json_put_str(out, "to", d->put->path);
	hob_json_put(out, HOB_JSON_DIGEST("sha256", d->gone ? &d->gone->sent : &d->put->digest));
	if (!d->gone) {
		if (d->put->is_sent)
			hob_json_put(out, HOB_JSON_DIGEST("seen", &d->put->sent));
		int64_t mtime = d->put->stat.mtime_ns / 1000000;
		hob_json_put_u64(out, "mtime_ms", mtime > 0 ? (uint64_t)mtime : 0);
	}
	hob_json_close(out, '}');
}

static bool upload(agent *a, agent_file *f, uint64_t from)
{
	char digest[HOB_SHA256_TEXT + 1], target[96];
	bool locked;
	sys_stat stat;
	sys_file *file = sys_open(a->folder, f->path, &locked);
	bool same = file && sys_stat_open(file, &stat) && stat.size == f->stat.size &&
				stat.mtime_ns == f->stat.mtime_ns && sys_seek(file, from);
	hob_own_buf answer = {0};
	int status = 0;
	bool in_step = a->in_step;
	hob_sha256_text(&f->digest, digest);
	snprintf(target, sizeof target, "/blobs/%s", digest);
	bool ok = same && agent_ask(a,
								&(fetch_request){.method = "PUT",
												 .target = target,
												 .file = file,
												 .from = from,
												 .size = stat.size,
												 .silence_ms = UPLOAD_SILENCE_MS},
								&status, &answer);
	if (ok && status != 201 && status != 204) {
		agent_problem(a, status, agent_json(&answer));
		a->stop = status == 401 || status == 403 || status == 413;
		/* 400: the file changed while it was sent. 409: the stored part is gone. */
		ok = status == 400 || status == 409;
		same = !ok;
	}
	sys_stat now;
	if (same && !ok && sys_stat_open(file, &now) && now.size < stat.size) {
		same = false;
		a->in_step = in_step;
		status = 0;
	}
	if (file)
		sys_close(file);
	if (!same) {
		hob_sha256 before = f->digest;
		f->hashed = false;
		agent_tree_touch(a, f->path);
		ok = status != 400 || !hob_sha256_equal(&before, &f->digest);
		a->stale = ok;
	}
	return ok;
}

/* Number of bytes that the daemon kept of an interrupted upload. */
static uint64_t held_of(hobc_json held, const hob_sha256 *digest)
{
	hobc_json item;
	for (size_t at = 0; hobc_json_item(held, &at, &item);) {
		hob_sha256 other;
		if (parse_digest(agent_member(item, "sha256"), &other) && hob_sha256_equal(&other, digest))
			return agent_number(agent_member(item, "bytes"));
	}
	return 0;
}

static bool upload_missing(agent *a, const difference *d, uint32_t count)
{
	hob_own_buf body = {0}, answer = {0};
	int status;
	hob_json_put(&body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("digests", '['));
	uint32_t puts = 0;
	agent_file *last = NULL;
	for (uint32_t i = 0; i < count; i++)
		if (d[i].put && !d[i].gone) {
			last = d[i].put;
			hob_json_digest(&body, &last->digest);
			puts++;
		}
	hob_json_close(&body, ']');
	hob_json_close(&body, '}');
	bool alone = puts == 1 && last->stat.size <= ASK_BYTES;
	bool ok =
		alone ? upload(a, last, 0) : puts == 0 || ask_mirror(a, "POST", "have", &body, &status, &answer);
	hobc_json missing = agent_member(agent_json(&answer), "missing"), item;
	hobc_json held = agent_member(agent_json(&answer), "held");
	size_t at = 0;
	/* The answer has the order of the request. */
	for (uint32_t i = 0; ok && !a->stale && hobc_json_item(missing, &at, &item);) {
		hob_sha256 digest;
		ok = parse_digest(item, &digest);
		while (ok && i < count && (!d[i].put || d[i].gone || !hob_sha256_equal(&d[i].put->digest, &digest)))
			i++;
		if (ok && i < count)
			ok = upload(a, d[i++].put, held_of(held, &digest));
	}
	return ok;
}

static void say_notes(hobc_json notes)
{
	hobc_json note;
	char path[AGENT_PATH], text[1024];
	for (size_t at = 0; hobc_json_item(notes, &at, &note);)
		if (agent_text(note, "path", path, sizeof path) && agent_text(note, "text", text, sizeof text))
			agent_say("%s %s", path, text);
}

/* Sends one list, whose blobs the daemon should have. */
static bool send_changes(agent *a, const difference *d, uint32_t count, hob_buf *answer)
{
	hob_own_buf body = {0};
	int status;
	hob_buf_printf(&body, "{\"session\":\"%s\",\"seq\":%llu,\"changes\":[", a->session,
				   (unsigned long long)a->seq + 1);
	for (uint32_t i = 0; i < count; i++)
		put_change(&body, &d[i]);
	hob_buf_put_str(&body, HOB_STR("]}"));
	return ask_mirror(a, "POST", "changes", &body, &status, answer);
}

void agent_sync_beat(agent *a)
{
	hob_own_buf answer = {0};
	(void)send_changes(a, NULL, 0, &answer);
}

/* Sends one list and its blobs, unless a->stale. Blobs may be evicted between two requests, so it tries
 * several times. */
static bool send_list(agent *a, const difference *d, uint32_t count)
{
	hob_own_buf answer = {0};
	bool done = false, ok = true;
	for (int round = 0; ok && !done && round < ROUNDS_MAX; round++) {
		ok = upload_missing(a, d, count);
		if (!ok || a->stale)
			break;
		hobc_json item;
		ok = send_changes(a, d, count, &answer);
		done = ok && !hobc_json_item(agent_member(agent_json(&answer), "missing"), &(size_t){0}, &item);
	}
	if (done) {
		a->seq++;
		say_notes(agent_member(agent_json(&answer), "notes"));
		for (uint32_t i = 0; i < count; i++) {
			if (d[i].gone)
				d[i].gone->is_sent = false;
			if (d[i].put)
				mark_sent(d[i].put);
		}
	}
	a->stale = ok && !done;
	return ok;
}

static void say_change(agent *a, const difference *d)
{
	if (d->put && d->gone)
		agent_say("%s %s -> %s", a->options.dry_run ? "would move" : "moved", d->gone->path.data,
				  d->put->path.data);
	else
		agent_say("%s%s %s", a->options.dry_run ? "would " : "",
				  d->put			   ? a->options.dry_run ? "send" : "sent"
				  : a->options.dry_run ? "delete"
									   : "deleted",
				  d->put ? d->put->path.data : d->gone->path.data);
}

bool agent_sync(agent *a)
{
	differences d = {0};
	int64_t wait = -1;
	a->stale = false;
	if (a->look_again)
		agent_tree_touch(a, (hob_str){0});
	bool ok = (a->in_step || open_session(a)) && find_differences(a, &d, &wait);
	for (uint32_t first = 0, end; ok && !a->stale && first < d.count; first = end) {
		size_t bytes = 0;
		for (end = first; end < d.count && end - first < CHANGES_MAX && bytes < BODY_MAX; end++) {
			const difference *item = &d.items[end];
			bytes +=
				400 + 2 * (item->put ? item->put->path.len : 0) + 2 * (item->gone ? item->gone->path.len : 0);
		}
		if (!a->options.dry_run)
			ok = send_list(a, d.items + first, end - first);
		for (uint32_t i = first; ok && !a->stale && i < end && (a->options.dry_run || d.count <= 20); i++)
			say_change(a, &d.items[i]);
		if (ok && !a->stale && !a->options.dry_run && d.count > 20)
			agent_say("%u of %u changes sent", end, d.count);
	}
	free(d.items);
	if (a->tree.failed)
		wait_at_most(&wait, LIST_MS);
	if (!ok)
		wait_at_most(&wait, RETRY_MS);
	if (a->stale || a->tree.busy > 0)
		wait_at_most(&wait, BUSY_MS);
	a->next_ms = wait < 0 ? 0 : agent_ticks_ms() + wait;
	return ok;
}
