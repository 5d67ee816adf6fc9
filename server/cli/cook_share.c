#include "cook_share.h"

#include "../fs/remove_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool srv_cook_share_folder(cook_share *share, hob_error *err)
{
	const char *base = getenv("TMPDIR");
	snprintf(share->folder, sizeof share->folder, "%.200s/hob-cook-XXXXXX", base && base[0] ? base : "/tmp");
	if (mkdtemp(share->folder))
		return true;
	share->folder[0] = 0;
	return hob_fail(err, IO, "no folder for what the upstream sends: %s", strerror(errno));
}

bool srv_cook_share_open(cook_share *share, uv_loop_t *loop, const serve_upstream *options,
						 const char *folder, cook_cache *cache, void (*changed)(void *user), void *user,
						 hob_error *err)
{
	srv_upstream_options upstream = {.url = options->url,
									 .token = options->token,
									 .farm = options->has_farm ? &options->farm : NULL,
									 .cache = folder,
									 .give = options->push,
									 .changed = changed,
									 .user = user};
	share->loop = loop;
	share->farm = options->has_farm;
	share->cache = cache;
	return srv_upstream_new(loop, &upstream, srv_cook_cache_store_of(cache), &share->upstream, err);
}

/* ---- one question: find -> compare (another thread) -> fetch -> adopt */

typedef struct question {
	cook_share *share;
	cook_look *look;
	uv_work_t work;
	void (*done)(void *user, bool there);
	void *user;
} question;

static void end(question *q, bool there)
{
	if (!there)
		q->look->kept_count = 0;
	q->done(q->user, there);
	free(q);
}

static void on_fetched(void *user, bool ok, const char *author)
{
	(void)author;
	question *q = user;
	hob_error ignored; /* it is cooked then */
	end(q, ok && srv_cook_look_adopt(q->share->cache, q->look, &ignored));
}

static void compare(uv_work_t *work)
{
	question *q = work->data;
	srv_cook_look_compare(q->share->cache, q->look);
}

static void compared(uv_work_t *work, int status)
{
	(void)status;
	question *q = work->data;
	const srv_record *match = q->look->match;
	q->look->elsewhere = match && q->share->elsewhere;
	if (!match || q->look->elsewhere || !srv_upstream_is_worth(q->share->upstream, match) ||
		!srv_upstream_fetch(q->share->upstream, match, on_fetched, q))
		end(q, false);
}

static void on_found(void *user, hob_arena *arena, srv_record *records, uint32_t count, bool reached)
{
	(void)reached;
	question *q = user;
	q->look->seen = count;
	if (count == 0) {
		end(q, false);
		return;
	}
	hob_arena_release(&q->look->found);
	q->look->found = *arena;
	hob_arena_init(arena, 1);
	q->look->kept = records;
	q->look->kept_count = count;
	uv_queue_work(q->share->loop, &q->work, compare, compared);
}

bool srv_cook_share_ask(cook_share *share, cook_look *look, void (*done)(void *user, bool there), void *user)
{
	if (!share->upstream || look->asked || look->force)
		return false;
	question *q = calloc(1, sizeof *q);
	hob_buf inputs = {0};
	hob_ingredients_print(&look->ingredients, &inputs);
	srv_upstream_wish wish = {.lookup = look->lookup, .source = look->source, .inputs = hob_buf_str(&inputs)};
	look->asked = true;
	if (q) {
		*q = (question){.share = share, .look = look, .done = done, .user = user};
		q->work.data = q;
	}
	bool asked = q && !inputs.failed && srv_upstream_find(share->upstream, &wish, on_found, q);
	hob_buf_release(&inputs);
	if (!asked)
		free(q);
	return asked;
}

/* ---- claims */

typedef struct cook_claim {
	struct cook_claim *next;
	cook_share *share;
	cook_look *look;
	void (*done)(void *user, bool again);
	void *user;
} cook_claim;

static void on_claimed(void *user, srv_upstream_verdict verdict)
{
	enum { CLAIMS_MAX = 3 };
	cook_claim *c = user;
	cook_claim **at = &c->share->claims;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	bool more = c->look->seen > c->look->claim_seen; /* something new to look at */
	bool again = verdict == SRV_UPSTREAM_AGAIN && (more || c->look->claims < CLAIMS_MAX);
	c->look->claim_seen = c->look->seen;
	c->look->claimed = !again;
	c->look->asked = !again;
	c->done(c->user, again);
	free(c);
}

bool srv_cook_share_claim(cook_share *share, cook_look *look, void (*done)(void *user, bool again),
						  void *user)
{
	if (!share->upstream || !share->farm || look->force || look->claimed)
		return false;
	cook_claim *c = calloc(1, sizeof *c);
	if (!c)
		return false;
	*c = (cook_claim){share->claims, share, look, done, user};
	look->claims++;
	if (!srv_upstream_claim(share->upstream, &look->lookup, look->seen, look->path, on_claimed, c)) {
		free(c);
		return false;
	}
	share->claims = c;
	return true;
}

void srv_cook_share_unclaim(cook_share *share)
{
	while (share->claims && srv_upstream_unclaim(share->upstream, share->claims))
		;
}

void srv_cook_share_leave(cook_share *share, cook_look *look)
{
	if (look->claimed && share->upstream)
		srv_upstream_leave(share->upstream, &look->lookup);
	look->claimed = false;
}

uint32_t srv_cook_share_waits(const cook_share *share)
{
	srv_upstream_facts facts = {0};
	if (share->farm)
		srv_upstream_look(share->upstream, &facts);
	return (uint32_t)facts.waits;
}

bool srv_cook_share_is_farm(const cook_share *share)
{
	return share->upstream && share->farm;
}

void srv_cook_share_give(cook_share *share, const hob_sha256 *key, const cook_look *look)
{
	if (share->upstream)
		srv_upstream_give(share->upstream, key, &look->lookup);
}

bool srv_cook_share_is_giving(const cook_share *share)
{
	srv_upstream_facts facts;
	if (!share->upstream)
		return false;
	srv_upstream_look(share->upstream, &facts);
	return facts.outbox > 0 && facts.state == SRV_UPSTREAM_UP && facts.gives && !facts.read_only &&
		   !facts.full;
}

void srv_cook_share_tell(const cook_share *share, hob_buf *out)
{
	srv_upstream_facts facts;
	if (!share->upstream)
		return;
	srv_upstream_look(share->upstream, &facts);
	if (facts.state != SRV_UPSTREAM_UP)
		hob_buf_printf(out, "the upstream was of no use: %s", facts.reason);
	if (facts.outbox > 0 && facts.gives)
		hob_buf_printf(out, "%s%llu result%s could not be given to it%s", out->size > 0 ? "; " : "",
					   (unsigned long long)facts.outbox, HOB_PLURAL(facts.outbox),
					   share->folder[0] ? "" : ", the next run tries again");
}

bool srv_cook_share_holds(void *share, const hob_sha256 *key)
{
	const cook_share *s = share;
	return s->upstream && srv_upstream_holds(s->upstream, key);
}

void srv_cook_share_release(cook_share *share)
{
	srv_upstream_free(share->upstream);
	if (share->folder[0])
		srv_remove_tree(share->folder);
}
