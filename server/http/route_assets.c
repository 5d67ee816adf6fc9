#include "inside.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "../../core/base/text_order.h"
#include "../../core/base/array.h"
#include "../../core/base/json_write.h"

/* GET /api/v1/assets: filters, sorts and pages. The cursor names the last item of the page, so every page
 * costs the same, and no item appears twice while assets are added and removed. */

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000, NEXT_LINK_MAX = 2048, FEW_ASSETS = 1024 };

typedef enum order {
	BY_PATH,
	BY_COOKED_AT,
	BY_COOK_MS,
	BY_BYTES,
	BY_TEXTURES,
	BY_TRIANGLES,
	BY_LODS,
	BY_STATE,
	BY_REV,
	BY_FINDINGS,
	BY_USERS, /* of what assets hold */
	BY_CUT,	  /* of textures: by how much they were scaled down */
	ORDER_COUNT
} order;
static const char *const order_names[ORDER_COUNT] = {"path",	 "cooked_at", "cook_ms", "bytes",
													 "textures", "triangles", "lods",	 "state",
													 "rev",		 "findings",  "users",	 "cut"};

/* Assets, or what they hold: a list is of one of these. */
typedef enum subject {
	TEXTURES = HOB_CONTENT_TEXTURE,
	MATERIALS = HOB_CONTENT_MATERIAL,
	CLIPS = HOB_CONTENT_CLIP,
	FEATURES = HOB_CONTENT_FEATURE,
	FOLDERS,
	SUBJECTS_HELD,
	ASSETS = SUBJECTS_HELD,
	SUBJECTS
} subject;

enum { ORDERS_HELD = 1 << BY_PATH | 1 << BY_USERS, ORDERS_SIZE = ORDERS_HELD | 1 << BY_BYTES };

static const struct {
	const char *plural, *number; /* `number`: name of the member with its measure; NULL: none */
	uint32_t orders;			 /* bits */
	const char *hint;
} subjects[SUBJECTS] = {
	[TEXTURES] = {"textures", NULL, ORDERS_SIZE | 1 << BY_CUT, "path, bytes, users or cut"},
	[MATERIALS] = {"materials", "textures", ORDERS_HELD, "path or users"},
	[CLIPS] = {"clips", "ms", ORDERS_HELD, "path or users"},
	[FEATURES] = {"features", NULL, ORDERS_HELD, "path or users"},
	[FOLDERS] = {"folders", "cook_ms", ORDERS_SIZE | 1 << BY_COOK_MS | 1 << BY_TRIANGLES,
				 "path, bytes, cook_ms, triangles or users"},
	[ASSETS] = {"assets", NULL, ~(1u << BY_USERS | 1u << BY_CUT),
				"path, cooked_at, cook_ms, bytes, textures, triangles, lods, state, rev or findings"},
};

typedef struct query {
	hob_str q, root, kind, path, uses, has; /* has: a name, within the quotes of JSON */
	uint32_t states, standings, levels;		/* bits; 0: any */
	hob_rule rule;							/* HOB_RULE_COUNT: any */
	subject subject, has_kind;
	bool has_content, has_problem, problem, warning, nondeterministic, count, ndjson, down, has_cursor,
		has_path;
	uint64_t changed_since, limit;
	uint32_t fields;
	order order;
	uint64_t after_key; /* position of the cursor */
	hob_str after;
	hob_buf plain; /* the cursor decoded; `after` is a part of it. Empty in a copy */
	size_t next;   /* the answer's body ends with so many bytes of the next page's cursor */
} query;

enum { QUERY_TEXTS = 7 };

static void texts_of(query *q, hob_str *texts[QUERY_TEXTS])
{
	hob_str *all[QUERY_TEXTS] = {&q->q, &q->root, &q->kind, &q->path, &q->uses, &q->has, &q->after};
	memcpy(texts, all, sizeof all);
}

/* A copy that owns its texts, in one allocation. */
static query *copy_query(query *q)
{
	hob_str *from[QUERY_TEXTS], *to[QUERY_TEXTS];
	size_t size = sizeof *q;
	texts_of(q, from);
	for (int i = 0; i < QUERY_TEXTS; i++)
		size += from[i]->len;
	query *copy = hob_must(malloc(size));
	*copy = *q;
	copy->plain = (hob_buf){0};
	texts_of(copy, to);
	char *at = (char *)(copy + 1);
	for (int i = 0; i < QUERY_TEXTS; at += to[i++]->len) {
		if (to[i]->len > 0)
			memcpy(at, from[i]->data, to[i]->len);
		to[i]->data = at;
	}
	return copy;
}

/* ---- cursors: "<key>:<full>" in the URL-safe alphabet of base 64 */

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void put_base64(hob_buf *out, hob_str s)
{
	for (size_t i = 0; i < s.len; i += 3) {
		uint32_t bits = 0;
		size_t given = s.len - i < 3 ? s.len - i : 3;
		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < given ? (uint8_t)s.data[i + k] : 0);
		for (size_t k = 0; k <= given; k++)
			hob_buf_put(out, &base64[bits >> (18 - 6 * k) & 63], 1);
	}
}

static bool take_base64(hob_buf *out, hob_str s)
{
	uint32_t bits = 0, held = 0;
	for (size_t i = 0; i < s.len; i++) {
		const char *place = s.data[i] ? strchr(base64, s.data[i]) : NULL;
		if (!place)
			return false;
		bits = bits << 6 | (uint32_t)(place - base64);
		held += 6;
		if (held >= 8) {
			held -= 8;
			uint8_t byte = (uint8_t)(bits >> held);
			hob_buf_put(out, &byte, 1);
		}
	}
	return s.len % 4 != 1;
}

static void put_cursor(hob_buf *out, uint64_t key, hob_str full)
{
	hob_own_buf text = {0};
	hob_buf_printf(&text, "%llu:", (unsigned long long)key);
	hob_buf_put_str(&text, full);
	put_base64(out, hob_buf_str(&text));
}

static bool read_cursor(request *r, query *q)
{
	hob_str text;
	if (!srv_request_param(r, "cursor", &text) || text.len == 0)
		return true;
	q->has_cursor = true;
	bool fine = take_base64(&q->plain, text);
	hob_str cursor = hob_buf_str(&q->plain);
	size_t colon = hob_str_find(cursor, HOB_STR(":"), 0);
	if (!fine || colon == SIZE_MAX || !srv_parse_decimal(hob_str_sub(cursor, 0, colon), &q->after_key))
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "use the 'next' of the page before as it is",
						  "'%.*s' is not a cursor", HOB_FMT(text));
	q->after = hob_str_sub(cursor, colon + 1, cursor.len);
	return true;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* ---- parameters */

static const char *const states[] = {
#define JOB_STATE(name, text, meaning) text,
#include "../../schema/job_states.def"
#undef JOB_STATE
};
static const char *const standings[] = {
#define STANDING(name, text, tone, old, meaning) text,
#include "../../schema/standings.def"
#undef STANDING
};

/* Bits for a list of words; 0 if it is empty. */
static bool read_words(request *r, const char *name, const char *const *words, uint32_t count, uint32_t *bits)
{
	hob_str rest, word;
	bool some = srv_request_param(r, name, &rest) && rest.len > 0;
	while (some && hob_str_piece(&rest, ',', &word)) {
		uint32_t number = 0;
		while (number < count && !hob_str_equal(word, hob_str_of(words[number])))
			number++;
		if (number == count) {
			hob_own_buf hint = {0};
			hob_buf_printf(&hint, "%ss are:", name);
			for (uint32_t i = 0; i < count; i++)
				hob_buf_printf(&hint, " %s", words[i]);
			(void)srv_refuse_text(
				r, PROBLEM_BAD_REQUEST,
				&(problem_text){.detail = srv_print(r, "there is no %s '%.*s'", name, HOB_FMT(word)),
								.hint = hob_buf_str(&hint)});
			return false;
		}
		*bits |= 1u << number;
	}
	return true;
}

static bool read_order(request *r, query *q)
{
	hob_str sort;
	if (!srv_request_param(r, "sort", &sort) || sort.len == 0)
		return true;
	q->down = sort.data[0] == '-';
	hob_str name = hob_str_sub(sort, q->down, sort.len);
	for (int i = 0; i < ORDER_COUNT; i++)
		if (hob_str_equal(name, hob_str_of(order_names[i])) && subjects[q->subject].orders & 1u << i) {
			q->order = (order)i;
			return true;
		}
	return srv_refuse(
		r, PROBLEM_BAD_REQUEST,
		srv_print(r, "sort by %s; a leading '-' reverses the order", subjects[q->subject].hint).data,
		"there is no order '%.*s'", HOB_FMT(sort));
}

static bool read_rule(request *r, query *q)
{
	hob_str id;
	q->rule = HOB_RULE_COUNT;
	if (!srv_request_param(r, "rule", &id) || id.len == 0 || (q->rule = hob_rule_find(id)) < HOB_RULE_COUNT)
		return true;
	return srv_refuse(r, PROBLEM_BAD_REQUEST, "'hob check --explain all' lists the rules",
					  "there is no rule '%.*s'", HOB_FMT(id));
}

/* has=KIND:NAME */
static bool read_has(request *r, query *q)
{
	hob_str given;
	uint32_t kind = 0;
	if (!srv_request_param(r, "has", &given) || given.len == 0)
		return true;
	size_t colon = hob_str_find(given, HOB_STR(":"), 0);
	while (kind < HOB_CONTENT_KINDS &&
		   !hob_str_equal(hob_str_sub(given, 0, colon), hob_str_of(hob_content_words[kind])))
		kind++;
	if (colon == SIZE_MAX || kind == HOB_CONTENT_KINDS)
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "texture:HASH, material:NAME, clip:NAME or feature:NAME",
						  "'%.*s' names nothing that an asset has", HOB_FMT(given));
	hob_own_buf name = {0};
	hob_json_str(&name, hob_str_sub(given, colon + 1, given.len));
	hob_str quoted = srv_print(r, "%.*s", HOB_FMT(hob_buf_str(&name)));
	q->has_kind = (subject)kind;
	q->has = hob_str_sub(quoted, 1, quoted.len - 1);
	q->has_content = true;
	return true;
}

static bool read_query(request *r, query *q)
{
	hob_str format = HOB_STR("json");
	if (srv_request_param(r, "q", &q->q))
		/* Converts to lower case in place: the parameter is in the request's own copy of the target. */
		for (char *c = (char *)(uintptr_t)q->q.data; c < q->q.data + q->q.len; c++)
			*c = lower(*c);
	hob_str flag;
	q->has_problem = srv_request_param(r, "problem", &flag) && flag.len > 0;
	srv_request_param(r, "root", &q->root);
	srv_request_param(r, "kind", &q->kind);
	srv_request_param(r, "uses", &q->uses);
	q->has_path = srv_request_param(r, "path", &q->path);
	srv_request_param(r, "format", &format);
	q->ndjson = hob_str_equal(format, HOB_STR("ndjson"));
	if (!q->ndjson && !hob_str_equal(format, HOB_STR("json")))
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "format is json or ndjson", "there is no format '%.*s'",
						  HOB_FMT(format));
	return read_words(r, "state", states, HOB_COUNT_OF(states), &q->states) &&
		   read_words(r, "standing", standings, HOB_COUNT_OF(standings), &q->standings) &&
		   read_words(r, "level", hob_rule_levels, HOB_COUNT_OF(hob_rule_levels), &q->levels) &&
		   read_rule(r, q) && read_order(r, q) && read_has(r, q) &&
		   srv_request_flag(r, "problem", false, &q->problem) &&
		   srv_request_flag(r, "warning", false, &q->warning) &&
		   srv_request_flag(r, "nondeterministic", false, &q->nondeterministic) &&
		   srv_request_flag(r, "count", false, &q->count) &&
		   srv_request_number(r, "changed_since", 0, UINT64_MAX, 0, &q->changed_since) &&
		   srv_request_number(r, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &q->limit) &&
		   srv_request_fields(r, FIELDS_LIST, &q->fields) && read_cursor(r, q);
}

/* ---- filter and order */

/* Whether `s` contains `what`, which is in lower case; ignores case. */
static bool contains_nocase(hob_str s, hob_str what)
{
	if (what.len == 0)
		return true;
	char small = what.data[0], large = small >= 'a' && small <= 'z' ? (char)(small - 32) : small;
	for (size_t i = 0; i + what.len <= s.len; i++) {
		if (s.data[i] != small && s.data[i] != large)
			continue;
		size_t same = 1;
		while (same < what.len && lower(s.data[i + same]) == what.data[same])
			same++;
		if (same == what.len)
			return true;
	}
	return false;
}

/* Whether `s` contains every word, in any order. */
static bool has_words(hob_str s, hob_str words)
{
	bool all = true;
	for (hob_str word; all && hob_str_piece(&words, ' ', &word);)
		all = contains_nocase(s, word);
	return all;
}

static bool is_asked(const query *q, const hob_rule_count *finding)
{
	return (q->rule == HOB_RULE_COUNT || q->rule == (hob_rule)finding->rule) &&
		   (q->levels == 0 || q->levels & 1u << finding->level);
}

static bool has_finding(const query *q, const srv_view_asset *a)
{
	bool found = q->rule == HOB_RULE_COUNT && q->levels == 0;
	for (uint32_t i = 0; i < a->finding_count && !found; i++)
		found = is_asked(q, &a->findings[i]);
	return found;
}

/* Whether a dependency of the asset is `file` ("root/path"). */
static bool is_made_of(const srv_view_asset *a, hob_str file)
{
	if (!hob_str_starts(file, a->root) || file.len == a->root.len || file.data[a->root.len] != '/')
		return false;
	hob_str path = hob_str_sub(file, a->root.len + 1, file.len);
	for (uint32_t i = 0; i < a->dep_count; i++)
		if (hob_str_equal(a->deps[i].path, path))
			return true;
	return false;
}

static bool holds(const query *q, const srv_view_asset *a)
{
	hob_str list = hob_str_find(a->content, q->has, 0) != SIZE_MAX ? a->content : (hob_str){0};
	hob_content item;
	bool found = false;
	while (!found && hob_content_next(&list, &item))
		found = (subject)item.kind == q->has_kind &&
				hob_str_equal(item.kind == HOB_CONTENT_TEXTURE ? item.hash : item.name, q->has);
	return found;
}

static bool passes(const query *q, const srv_view_asset *a)
{
	return (q->states == 0 || q->states & 1u << a->state) &&
		   (q->standings == 0 || q->standings & 1u << a->standing) && (!q->warning || a->warnings > 0) &&
		   !q->nondeterministic && (q->changed_since == 0 || a->rev > q->changed_since) &&
		   (q->root.len == 0 || hob_str_equal(a->root, q->root)) &&
		   (q->kind.len == 0 || hob_str_equal(a->kind, q->kind)) &&
		   (!q->has_path || hob_str_equal(a->path, q->path) || hob_str_equal(a->full, q->path)) &&
		   (q->uses.len == 0 || is_made_of(a, q->uses)) &&
		   (!q->has_problem || q->problem == srv_view_is_problem(a)) && has_words(a->full, q->q) &&
		   has_finding(q, a) && (!q->has_content || holds(q, a));
}

/* Sort key: assets that need attention come first. */
static uint64_t rank_of(const srv_view_asset *a)
{
	static const srv_standing ranks[] = {SRV_STANDING_BROKEN,	   SRV_STANDING_BLOCKED,
										 SRV_STANDING_INTERRUPTED, SRV_STANDING_MISSING,
										 SRV_STANDING_UPDATING,	   SRV_STANDING_WAITING};
	uint64_t rank = 0;
	while (rank < HOB_COUNT_OF(ranks) && ranks[rank] != a->standing)
		rank++;
	return 2 * rank + !srv_view_is_problem(a);
}

/* Sort key: errors, then warnings, then infos. */
static uint64_t findings_key(const srv_view_asset *a)
{
	uint64_t key = 0;
	for (uint32_t level = HOB_LEVEL_ERROR; level > HOB_LEVEL_OFF; level--) {
		uint64_t sum = 0;
		for (uint32_t i = 0; i < a->finding_count; i++)
			sum += a->findings[i].level == level ? a->findings[i].count : 0;
		key = key << 21 | (sum < (1u << 21) ? sum : (1u << 21) - 1);
	}
	return key;
}

static uint64_t key_of(const query *q, const srv_view_asset *a)
{
	switch (q->order) {
	case BY_COOKED_AT:
		return a->cooked_at_ms > 0 ? (uint64_t)a->cooked_at_ms : 0;
	case BY_COOK_MS:
		return a->cook_ns;
	case BY_BYTES:
		return a->cooked_bytes;
	case BY_TEXTURES:
		return srv_http_texture_bytes(a);
	case BY_TRIANGLES:
		return a->triangles;
	case BY_LODS:
		return a->lods;
	case BY_STATE:
		return rank_of(a);
	case BY_REV:
		return a->rev;
	case BY_FINDINGS:
		return findings_key(a);
	case BY_PATH:
	case BY_USERS:
	case BY_CUT:
	case ORDER_COUNT:
		break;
	}
	return 0;
}

/* Negative if (key a, name a) comes before (key b, name b) in the requested order. */
static int compare(const query *q, uint64_t key_a, hob_str a, uint64_t key_b, hob_str b)
{
	int way = key_a != key_b ? (key_a < key_b ? -1 : 1) : hob_str_compare(a, b);
	return q->down ? -way : way;
}

typedef struct page {
	const srv_view_asset **items; /* one more than the limit, to know whether there is a next page */
	uint32_t count, room;
	uint64_t total;
} page;

static int compare_assets(const query *q, const srv_view_asset *a, const srv_view_asset *b)
{
	return compare(q, key_of(q, a), a->full, key_of(q, b), b->full);
}

/* Inserts the asset if it is among the first in the requested order. */
static void keep_if_among_first(const query *q, page *p, const srv_view_asset *a)
{
	uint32_t low = 0, high = p->count;
	if (p->count == p->room && compare_assets(q, a, p->items[p->count - 1]) > 0)
		return;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (compare_assets(q, p->items[middle], a) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	p->count += p->count < p->room;
	memmove(&p->items[low + 1], &p->items[low], (p->count - 1 - low) * sizeof *p->items);
	p->items[low] = a;
}

static bool behind_cursor(const query *q, const srv_view_asset *a)
{
	return !q->has_cursor || compare(q, key_of(q, a), a->full, q->after_key, q->after) > 0;
}

/* Assets are already sorted by name: starts after the cursor and stops when the page is full. */
static void collect_by_path(const srv_view *view, const query *q, page *p)
{
	uint32_t skip = 0;
	if (q->has_cursor && !q->count) {
		uint32_t after = srv_view_after(view, q->after);
		skip = q->down ? view->count - after : after;
	}
	for (uint32_t i = skip; i < view->count && (q->count || p->count < p->room); i++) {
		const srv_view_asset *a = view->assets[q->down ? view->count - 1 - i : i];
		if (!passes(q, a))
			continue;
		p->total++;
		if (p->count < p->room && behind_cursor(q, a))
			p->items[p->count++] = a;
	}
}

static void collect(const srv_view *view, const query *q, page *p)
{
	if (q->order == BY_PATH) {
		collect_by_path(view, q, p);
		return;
	}
	for (uint32_t i = 0; i < view->count; i++) {
		const srv_view_asset *a = view->assets[i];
		if (!passes(q, a))
			continue;
		p->total++;
		if (behind_cursor(q, a))
			keep_if_among_first(q, p, a);
	}
}

/* ---- answer */

static void add_next_link(request *r, struct MHD_Response *response, hob_str cursor)
{
	hob_own_buf link = {0};
	hob_buf_printf(&link, "<%.*s?", HOB_FMT(r->path));
	for (uint32_t i = 0; i < r->param_count; i++) {
		if (hob_str_equal(r->params[i].name, HOB_STR("cursor")))
			continue;
		hob_buf_put_percent(&link, r->params[i].name);
		hob_buf_put_str(&link, HOB_STR("="));
		hob_buf_put_percent(&link, r->params[i].value);
		hob_buf_put_str(&link, HOB_STR("&"));
	}
	hob_buf_printf(&link, "cursor=%.*s>; rel=\"next\"", HOB_FMT(cursor));
	/* A header must fit the connection's pool; the body always has `next`. */
	if (link.size <= NEXT_LINK_MAX)
		srv_response_add(response, "Link", srv_print(r, "%.*s", HOB_FMT(hob_buf_str(&link))).data);
}

static const char *type_of(const query *q)
{
	return q->ndjson ? "application/x-ndjson" : "application/json";
}

/* Takes the body. */
static enum MHD_Result reply_page(request *r, const query *q, hob_buf *body)
{
	hob_str cursor = {0};
	if (q->next > 0 && !body->failed) {
		assert(q->next < body->size && "a page without a body");
		body->size -= q->next;
		cursor = (hob_str){(const char *)body->data + body->size, q->next};
	}
	size_t size = body->size;
	struct MHD_Response *response = srv_response_of(body, type_of(q));
	srv_response_add(response, "Cache-Control", "no-cache");
	if (cursor.len > 0)
		add_next_link(r, response, cursor);
	return srv_reply(r, MHD_HTTP_OK, response, size);
}

/* The list is made here if it is short work, else by the thread of questions. */
static enum MHD_Result make_list(request *r, query *q, void (*list)(void *, const srv_view *, hob_buf *))
{
	const srv_view *view = srv_request_view(r);
	hob_buf body = {0};
	if (view->count <= FEW_ASSETS) {
		list(q, view, &body);
		return reply_page(r, q, &body);
	}
	return srv_ask(r, SRV_CONTROL_LIST, (hob_str){0}, &(srv_control){.list = list, .query = copy_query(q)});
}

static enum MHD_Result answer_list(request *r, subject what,
								   void (*list)(void *, const srv_view *, hob_buf *))
{
	if (r->ask && r->ask->status != MHD_HTTP_OK)
		return srv_reply_answer(r, "application/json");
	if (r->ask)
		return reply_page(r, r->ask->control.query, &r->ask->body);
	query q = {.subject = what};
	if (read_query(r, &q) &&
		(srv_request_accepts(r, type_of(&q)) ||
		 srv_refuse(r, PROBLEM_ACCEPT, "send Accept: */*", "this resource is %s", type_of(&q))))
		r->result = make_list(r, &q, list);
	hob_buf_release(&q.plain);
	return r->result;
}

static void put_assets(void *user, const srv_view *view, hob_buf *out)
{
	query *q = user;
	page p = {.items = hob_must(malloc((q->limit + 1) * sizeof *p.items)), .room = (uint32_t)q->limit + 1};
	const srv_view_asset *named = q->has_path ? srv_view_find_moved(view, q->path) : NULL;
	if (named)
		q->path = named->full;
	collect(view, q, &p);
	uint32_t shown = p.count > q->limit ? (uint32_t)q->limit : p.count;
	hob_own_buf cursor = {0};
	if (p.count > shown)
		put_cursor(&cursor, key_of(q, p.items[shown - 1]), p.items[shown - 1]->full);
	if (!q->ndjson)
		hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("items", '['));
	for (uint32_t i = 0; i < shown; i++) {
		srv_put_asset(out, p.items[i], q->fields);
		if (q->ndjson)
			hob_buf_put(out, "\n", 1);
	}
	if (!q->ndjson) {
		hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_SOME("next", hob_buf_str(&cursor)),
					 q->count ? HOB_JSON("total", p.total) : HOB_JSON_NULL("total"),
					 HOB_JSON("rev", view->rev), HOB_JSON_CLOSE('}'));
		hob_buf_put(out, "\n", 1);
	}
	q->next = cursor.size;
	hob_buf_put_str(out, hob_buf_str(&cursor));
	free(p.items);
}

/* Notes that the client asks for the assets with this path, below any root. */
static void note_uses(request *r, hob_str path)
{
	const srv_view *view = srv_request_view(r);
	const srv_view_asset *named = srv_view_find_moved(view, path);
	if (named)
		srv_request_uses(r, named->full);
	for (uint32_t i = 0; i < view->root_count && !named; i++) {
		hob_str full = srv_print(r, "%.*s/%.*s", HOB_FMT(view->roots[i].name), HOB_FMT(path));
		if (srv_view_find(view, full))
			srv_request_uses(r, full);
	}
}

enum MHD_Result srv_route_assets(request *r)
{
	hob_str path;
	if (!r->ask && srv_request_param(r, "path", &path))
		note_uses(r, path);
	return answer_list(r, ASSETS, put_assets);
}

/* ---- findings */

static void put_finding(hob_buf *out, const srv_view_asset *a, const hob_rule_count *finding)
{
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'),
				 HOB_JSON("rule", hob_str_of(hob_rule_table[finding->rule].id)),
				 HOB_JSON("level", hob_str_of(hob_rule_levels[finding->level])),
				 HOB_JSON("count", finding->count), HOB_JSON_KEY("asset"));
	srv_put_asset(out, a,
				  1u << FIELD_id | 1u << FIELD_name | 1u << FIELD_path | 1u << FIELD_root |
					  1u << FIELD_standing | 1u << FIELD_links);
	hob_json_close(out, '}');
}

typedef struct finding_sum {
	uint64_t assets, count;
} finding_sum;

/* One page of findings, with the sums over all pages. */
static void put_findings(void *user, const srv_view *view, hob_buf *out)
{
	const query *q = user;
	finding_sum sums[HOB_RULE_COUNT][HOB_LEVEL_ERROR + 1] = {0};
	hob_str after = q->after;
	hob_own_buf cursor = {0};
	uint64_t shown = 0;
	const srv_view_asset *last = NULL;
	uint64_t last_rule = 0;
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("items", '['));
	for (uint32_t i = 0; i < view->count; i++) {
		const srv_view_asset *a = view->assets[i];
		bool asked = a->finding_count > 0 && passes(q, a);
		for (uint32_t k = 0; asked && k < a->finding_count; k++) {
			const hob_rule_count *finding = &a->findings[k];
			if (!is_asked(q, finding))
				continue;
			sums[finding->rule][finding->level].assets++;
			sums[finding->rule][finding->level].count += finding->count;
			int way = q->has_cursor ? hob_str_compare(a->full, after) : 1;
			if (way < 0 || (way == 0 && finding->rule <= q->after_key))
				continue;
			if (shown++ < q->limit) {
				put_finding(out, a, finding);
				last = a;
				last_rule = finding->rule;
			}
		}
	}
	if (shown > q->limit)
		put_cursor(&cursor, last_rule, last->full);
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_OPEN("rules", '['));
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		for (uint32_t level = HOB_LEVEL_ERROR; level > HOB_LEVEL_OFF; level--)
			if (sums[i][level].assets > 0)
				hob_json_object(out, HOB_JSON("rule", hob_str_of(hob_rule_table[i].id)),
								HOB_JSON("level", hob_str_of(hob_rule_levels[level])),
								HOB_JSON("assets", sums[i][level].assets),
								HOB_JSON("count", sums[i][level].count),
								HOB_JSON("meaning", hob_str_of(hob_rule_table[i].meaning)),
								HOB_JSON("mend", hob_str_of(hob_rule_table[i].mend)));
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_SOME("next", hob_buf_str(&cursor)),
				 HOB_JSON("rev", view->rev), HOB_JSON_CLOSE('}'));
}

enum MHD_Result srv_route_findings(request *r)
{
	return answer_list(r, ASSETS, put_findings);
}

/* ---- the library: what assets hold, and how many hold each; made once of each view */

typedef struct entry {
	subject subject;
	const srv_view_asset *user; /* the last one that was counted */
	const srv_view_dep *file;	/* of a texture; NULL: it is within models */
	hob_str key, name, by;
	uint64_t source[2], size[2]; /* of a texture, where it was cut most */
	uint64_t users, bytes, number, triangles;
} entry;

typedef struct library {
	srv_view_kept kept;
	hob_arena arena;
	entry *entries; /* by subject, then by name */
	uint32_t count, room;
	uint32_t *slots; /* number of an entry + 1, by the hash of its key */
	size_t mask;
} library;

static bool is_picture(hob_str path)
{
	static const char *const endings[] = {"png", "jpg", "jpeg", "webp", "tga", "bmp", "gif", "psd",	 "pnm",
										  "ppm", "pgm", "tif",	"tiff", "hdr", "exr", "dds", "avif", "ktx2"};
	size_t dot = path.len;
	while (dot > 0 && path.data[dot - 1] != '.')
		dot--;
	hob_str ending = hob_str_sub(path, dot, path.len);
	for (size_t i = 0; i < HOB_COUNT_OF(endings); i++)
		if (hob_str_equal_nocase(ending, hob_str_of(endings[i])))
			return true;
	return false;
}

/* The entry of the key, below the user's root for a texture's file; counts the user. */
static entry *count_in(library *l, subject what, hob_str key, const srv_view_asset *user,
					   const srv_view_dep *file)
{
	uint64_t hash[2];
	hob_fast_hash((hob_bytes){(const uint8_t *)key.data, key.len}, hash);
	size_t at = (hash[0] + (uint64_t)what) & l->mask;
	entry *e = NULL;
	for (; l->slots[at] > 0; at = (at + 1) & l->mask) {
		e = &l->entries[l->slots[at] - 1];
		if (e->subject == what && hob_str_equal(e->key, key) && !e->file == !file &&
			(!file || hob_str_equal(e->user->root, user->root)))
			break;
	}
	if (l->slots[at] == 0) {
		if (!HOB_ROOM(l->entries, l->room, l->count))
			abort();
		e = &l->entries[l->count++];
		*e = (entry){.subject = what, .key = key};
		l->slots[at] = l->count;
	}
	e->users += e->user != user;
	e->user = user;
	e->file = file;
	return e;
}

static uint64_t cut_of(const uint64_t source[2], const uint64_t size[2])
{
	uint64_t from = source[0] > source[1] ? source[0] : source[1], to = size[0] > size[1] ? size[0] : size[1];
	return to > 0 ? from * 1000 / to : 0;
}

static void count_texture(library *l, const srv_view_asset *a, const hob_content *item)
{
	hob_arena_mark mark = hob_arena_save(&l->arena);
	hob_str path;
	entry *e = NULL;
	if (item->hash.len > 0) {
		e = count_in(l, TEXTURES, item->hash, a, NULL);
		e->name = item->name;
	} else if (hob_path_join(&l->arena, hob_path_dir(a->path), item->name, &path, NULL)) {
		for (uint32_t d = 0; d < a->dep_count && !e; d++)
			if (!a->deps[d].missing && hob_str_equal(a->deps[d].path, path))
				e = count_in(l, TEXTURES, a->deps[d].path, a, &a->deps[d]);
	}
	hob_arena_restore(&l->arena, mark);
	if (!e || cut_of(item->source, item->size) < cut_of(e->source, e->size))
		return;
	memcpy(e->source, item->source, sizeof e->source);
	memcpy(e->size, item->size, sizeof e->size);
	e->by = item->by;
}

static void count_asset(library *l, const srv_view_asset *a)
{
	hob_str list = a->content;
	hob_content item;
	for (size_t i = 0; i < a->full.len; i++) {
		if (a->full.data[i] != '/')
			continue;
		entry *e = count_in(l, FOLDERS, hob_str_sub(a->full, 0, i + 1), a, NULL);
		e->bytes += a->cooked_bytes;
		e->number += a->cook_ns / 1000000;
		e->triangles += a->triangles;
	}
	for (uint32_t d = 0; d < a->dep_count; d++)
		if (!a->deps[d].missing && is_picture(a->deps[d].path))
			count_in(l, TEXTURES, a->deps[d].path, a, &a->deps[d])->bytes = a->deps[d].size;
	while (hob_content_next(&list, &item)) {
		if (item.kind == HOB_CONTENT_TEXTURE) {
			count_texture(l, a, &item);
			continue;
		}
		entry *e = count_in(l, (subject)item.kind, item.name, a, NULL);
		e->number = item.number > e->number ? item.number : e->number;
	}
}

/* A text within the quotes of JSON, as it is. */
static hob_str unquoted(hob_arena *arena, hob_str text)
{
	if (text.len == 0 || !memchr(text.data, '\\', text.len))
		return text;
	hob_own_json *json = cJSON_Parse(hob_arena_printf(arena, "\"%.*s\"", HOB_FMT(text)).data);
	return hob_arena_str(arena, hob_str_of(cJSON_GetStringValue(json)));
}

static int compare_entries(const void *a, const void *b)
{
	const entry *x = a, *y = b;
	return x->subject != y->subject ? (x->subject < y->subject ? -1 : 1) : hob_str_compare(x->name, y->name);
}

static void drop_library(srv_view_kept *kept)
{
	hob_own library *l = (library *)kept;
	hob_arena_release(&l->arena);
	free(l->entries);
}

/* root: empty: all */
static library *make_library(const srv_view *view, hob_str root)
{
	enum { SHORTEST = 25 }; /* bytes of an item in a list */
	library *l = hob_must(calloc(1, sizeof *l));
	*l = (library){.kept = {drop_library}, .mask = 63};
	size_t most = 0;
	for (uint32_t i = 0; i < view->count; i++)
		most += view->assets[i]->dep_count + view->assets[i]->content.len / SHORTEST + 2;
	while (l->mask < 2 * most)
		l->mask = l->mask * 2 + 1;
	l->slots = hob_must(calloc(l->mask + 1, sizeof *l->slots));
	hob_arena_init(&l->arena, SIZE_MAX);
	for (uint32_t i = 0; i < view->count; i++)
		if (root.len == 0 || hob_str_equal(view->assets[i]->root, root))
			count_asset(l, view->assets[i]);
	free(l->slots);
	for (entry *e = l->entries; e < l->entries + l->count; e++) {
		hob_str name = unquoted(&l->arena, e->subject == TEXTURES && !e->file ? e->name : e->key);
		const srv_view_asset *a = e->user;
		e->name = e->subject != TEXTURES ? name
				  : e->file ? hob_arena_printf(&l->arena, "%.*s/%.*s", HOB_FMT(a->root), HOB_FMT(name))
							: hob_arena_printf(&l->arena, "%.*s#%.*s", HOB_FMT(a->full), HOB_FMT(name));
	}
	if (l->count > 0)
		qsort(l->entries, l->count, sizeof *l->entries, compare_entries);
	return l;
}

static srv_view_kept *make_whole(const srv_view *view)
{
	return &make_library(view, (hob_str){0})->kept;
}

static void put_sides(hob_buf *out, const char *name, const uint64_t sides[2])
{
	hob_json_put(out, HOB_JSON_OPEN(name, '['), HOB_JSON(NULL, sides[0]), HOB_JSON(NULL, sides[1]),
				 HOB_JSON_CLOSE(']'));
}

static void put_entry(hob_buf *out, const entry *e)
{
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("name", e->name), HOB_JSON("users", e->users),
				 HOB_JSON("asset", (const char *)e->user->id));
	if (e->file)
		hob_json_put(out, HOB_JSON_DIGEST("hash", &e->file->digest));
	else if (e->subject == TEXTURES)
		hob_json_put(out, HOB_JSON("hash", e->key));
	if (subjects[e->subject].orders & 1u << BY_BYTES)
		hob_json_put_u64(out, "bytes", e->bytes);
	if (e->subject == FOLDERS)
		hob_json_put_u64(out, "triangles", e->triangles);
	if (subjects[e->subject].number)
		hob_json_put_u64(out, subjects[e->subject].number, e->number);
	if (e->subject == TEXTURES) {
		put_sides(out, "source", e->source);
		put_sides(out, "size", e->size);
		hob_json_put(out, HOB_JSON_BOOL("embedded", !e->file), HOB_JSON_SOME("by", e->by));
	}
	hob_json_close(out, '}');
}

/* An entry that is asked for. */
typedef struct hit {
	uint64_t order;
	const entry *of;
} hit;

static int compare_hits(const void *a, const void *b, void *user)
{
	const hit *x = a, *y = b;
	return compare(user, x->order, x->of->name, y->order, y->of->name);
}

/* One page of a subject, or its first entries in a search. */
static void put_hits(const library *l, const query *q, hob_buf *out)
{
	hob_own hit *hits = hob_must(malloc((l->count + 1) * sizeof *hits));
	hob_own_buf cursor = {0};
	uint32_t count = 0, shown = 0;
	for (const entry *e = l->entries; e < l->entries + l->count; e++)
		if (e->subject == q->subject && has_words(e->name, q->q))
			hits[count++] = (hit){q->order == BY_BYTES		 ? e->bytes
								  : q->order == BY_USERS	 ? e->users
								  : q->order == BY_CUT		 ? cut_of(e->source, e->size)
								  : q->order == BY_COOK_MS	 ? e->number
								  : q->order == BY_TRIANGLES ? e->triangles
															 : 0,
								  e};
	if (q->order != BY_PATH || q->down)
		qsort_r(hits, count, sizeof *hits, compare_hits, (void *)(uintptr_t)q);
	hob_json_put(out, HOB_JSON_OPEN("items", '['));
	for (uint32_t i = 0; i < count && shown < q->limit; i++) {
		if (q->has_cursor && compare(q, hits[i].order, hits[i].of->name, q->after_key, q->after) <= 0)
			continue;
		put_entry(out, hits[i].of);
		if (++shown == q->limit && i + 1 < count)
			put_cursor(&cursor, hits[i].order, hits[i].of->name);
	}
	hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_SOME("next", hob_buf_str(&cursor)),
				 HOB_JSON("total", count));
}

static void put_library(void *user, const srv_view *view, hob_buf *out)
{
	query q = *(const query *)user;
	library *own = q.root.len > 0 ? make_library(view, q.root) : NULL;
	const library *l = own ? own : (const library *)srv_view_keep(view, make_whole);
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("rev", view->rev));
	if (q.subject != ASSETS) {
		put_hits(l, &q, out);
	} else {
		/* A search: assets with the words, and the most used of each subject. */
		page p = {.items = hob_must(malloc(q.limit * sizeof *p.items)), .room = (uint32_t)q.limit};
		q.count = true;
		collect(view, &q, &p);
		hob_json_put(out, HOB_JSON_OPEN("assets", '{'), HOB_JSON("total", p.total),
					 HOB_JSON_OPEN("items", '['));
		for (uint32_t i = 0; i < p.count; i++)
			srv_put_asset(out, p.items[i], q.fields);
		hob_json_put(out, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
		free(p.items);
		q.order = BY_USERS;
		q.down = true;
		for (q.subject = 0; q.subject < SUBJECTS_HELD; q.subject++) {
			hob_json_put(out, HOB_JSON_OPEN(subjects[q.subject].plural, '{'));
			put_hits(l, &q, out);
			hob_json_close(out, '}');
		}
	}
	hob_json_close(out, '}');
	if (own)
		drop_library(&own->kept);
}

#define LIBRARY(name, subject)                                                                               \
	enum MHD_Result srv_route_##name(request *r)                                                             \
	{                                                                                                        \
		return answer_list(r, subject, put_library);                                                         \
	}
LIBRARY(textures, TEXTURES)
LIBRARY(materials, MATERIALS)
LIBRARY(clips, CLIPS)
LIBRARY(features, FEATURES)
LIBRARY(folders, FOLDERS)
LIBRARY(search, ASSETS)
