#include "mirror.h"

#include "apply.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../../core/base/portable.h"
#include "../control/answer.h"
#include "../control/desk.h"
#include "../fs/clock.h"
#include "../log/log.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <sys/random.h>

enum {
	WAITING_MAX = 256,
	SESSIONS_MAX = 1024,
	ID_DIGITS = 32,
	TEXT_MAX = 256,
	CHANGES_MAX = 10000,
	FOLDERS_MAX = 10000,
	AWAY_MS = 150000, /* two missed heartbeats of an agent */
	SKEW_MS = 120000  /* smaller differences between clocks are ignored */
};

typedef struct session {
	char id[ID_DIGITS + 1];
	uint32_t root, agent;
	char *folder, *program, *last_path;
	int64_t since_ms, seen_ms, saved_ms, skew_ms; /* skew: the agent's clock minus the daemon's */
	uint64_t seq;
	hob_buf answer; /* answer to list `seq` */
} session;

struct srv_mirrors {
	srv_store *store;
	char **names;
	srv_tree *trees;
	uint32_t count;
	const char *version;
	session *sessions;
	uint32_t session_count, session_capacity;
	srv_desk *desk;
};

typedef struct question {
	srv_mirrors *mirrors;
	srv_control *control;
	uint32_t root;
	cJSON *json;
	hob_buf body;
} question;

static int refuse(question *q, int status, const char *code, const char *hint, const char *detail, ...)
	HOB_PRINTF(5, 6);
static int refuse(question *q, int status, const char *code, const char *hint, const char *detail, ...)
{
	char text[600];
	va_list args;
	va_start(args, detail);
	vsnprintf(text, sizeof text, detail, args);
	va_end(args);
	hob_buf_clear(&q->body);
	hob_json_object(&q->body, HOB_JSON("code", code), HOB_JSON("detail", text), HOB_JSON("hint", hint));
	return status;
}

static int refuse_error(question *q, const hob_error *error)
{
	bool full = error->code == HOB_ERR_DISK_FULL, bad = error->code == HOB_ERR_BAD_REQUEST;
	return refuse(q,
				  full	? 507
				  : bad ? 400
						: 503,
				  hob_err_name(error->code),
				  full	? "free space on the disk of the root; the agent tries again"
				  : bad ? "compare the request with GET /openapi.json"
						: "look at the folder of the root on the daemon's machine",
				  "%s", error->context);
}

static hob_str text_of(const cJSON *object, const char *name)
{
	return hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name)));
}

static int64_t number_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	double value = cJSON_IsNumber(item) ? item->valuedouble : 0;
	/* Limited to the years 1970 to 9999, in milliseconds. */
	return value >= 0 && value < 253402300800000.0 ? (int64_t)value : 0;
}

/* Whether the text is printable and short enough for a log line. */
static bool is_label(hob_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((uint8_t)text.data[i] < 0x20 || text.data[i] == 0x7F)
			return false;
	return text.len > 0 && text.len <= TEXT_MAX && hob_utf8_valid(text);
}

/* ---- sessions */

static void session_release(session *s)
{
	free(s->folder);
	free(s->program);
	free(s->last_path);
	hob_buf_release(&s->answer);
}

/* The session named by the request. NULL: it was refused with *status. */
static session *find_session(question *q, int *status)
{
	hob_str id = text_of(q->json, "session");
	srv_mirrors *m = q->mirrors;
	for (uint32_t i = 0; i < m->session_count; i++)
		if (m->sessions[i].root == q->root && hob_str_equal(hob_str_of(m->sessions[i].id), id)) {
			m->sessions[i].seen_ms = srv_clock_ms(CLOCK_REALTIME);
			return &m->sessions[i];
		}
	*status = refuse(q, 404, "mirror.session", "PUT /api/v1/mirrors/ROOT/session opens one",
					 "there is no such session: the daemon was restarted, or the same agent opened another");
	return NULL;
}

static const char *base_of(const question *q, const session *s)
{
	return q->mirrors->trees[q->root].agents[s->agent].base;
}

/* The slot of a new session: that of an earlier one of the same agent, or of the longest idle one. */
static session *make_room(srv_mirrors *m, uint32_t root, uint32_t agent)
{
	session *oldest = NULL;
	for (uint32_t i = 0; i < m->session_count; i++) {
		session *s = &m->sessions[i];
		if (s->root == root && s->agent == agent) {
			session_release(s);
			return s;
		}
		oldest = !oldest || s->seen_ms < oldest->seen_ms ? s : oldest;
	}
	if (m->session_count == SESSIONS_MAX) {
		session_release(oldest);
		return oldest;
	}
	return HOB_ROOM(m->sessions, m->session_capacity, m->session_count) ? &m->sessions[m->session_count++]
																		: NULL;
}

static bool is_below(hob_str path, hob_str folder)
{
	return folder.len == 0 || hob_str_equal(path, folder) ||
		   (hob_str_starts(path, folder) && path.data[folder.len] == '/');
}

static int check_session(question *q, hob_str who, hob_str base, hob_str program)
{
	const cJSON *protocol = cJSON_GetObjectItemCaseSensitive(q->json, "protocol");
	if (!cJSON_IsNumber(protocol) || protocol->valueint != SRV_MIRROR_PROTOCOL)
		return refuse(q, 409, "mirror.protocol", "use the hob-agent that comes with this daemon",
					  "the agent speaks protocol %d, and Hob %s speaks %d",
					  cJSON_IsNumber(protocol) ? protocol->valueint : 0, q->mirrors->version,
					  SRV_MIRROR_PROTOCOL);
	if (!is_label(who) || !is_label(program))
		return refuse(q, 400, "http.bad-request", "send who (\"anna@PC7\") and program",
					  "'who' and 'program' must be printable texts of at most %d bytes", TEXT_MAX);
	const char *why = base.len > 0 ? hob_path_unportable(base) : NULL;
	if (why)
		return refuse(q, 400, "mirror.path", "choose another --base", "the base folder '%.*s' %s",
					  HOB_FMT(base), why);
	if (!is_below(base, q->control->file))
		return refuse(q, 403, "mirror.scope", "use --base, or ask for another token",
					  "the token is for the folder '%.*s' of this root, and not for '%.*s'",
					  HOB_FMT(q->control->file), HOB_FMT(base));
	return 0;
}

static int open_session(question *q)
{
	srv_mirrors *m = q->mirrors;
	srv_tree *tree = &m->trees[q->root];
	hob_error error;
	hob_str who = text_of(q->json, "who"), base = text_of(q->json, "base");
	hob_str program = text_of(q->json, "program"), folder = text_of(q->json, "folder");
	int status = check_session(q, who, base, program);
	if (status)
		return status;
	if (!srv_apply_pending(tree, &error) || !srv_tree_check(tree, &error))
		return refuse_error(q, &error);
	uint32_t agent = srv_tree_agent(tree, who, base);
	session *s = agent != HOB_NONE ? make_room(m, q->root, agent) : NULL;
	if (!s)
		return refuse(q, 503, "cook.out-of-memory", "try again later", "no memory left for a session");
	uint8_t random[ID_DIGITS / 2];
	(void)!getrandom(random, sizeof random, 0);
	*s = (session){.root = q->root, .agent = agent, .since_ms = srv_clock_ms(CLOCK_REALTIME)};
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(s->id + 2 * i, 3, "%02x", random[i]);
	s->seen_ms = s->since_ms;
	s->program = strndup(program.data, program.len);
	s->folder = is_label(folder) ? strndup(folder.data, folder.len) : NULL;
	int64_t clock = number_of(q->json, "clock_ms"), skew = clock ? clock - s->since_ms : 0;
	s->skew_ms = skew > SKEW_MS || skew < -SKEW_MS ? skew : 0;
	hob_sha256 digest = srv_tree_digest(tree, base, NULL, NULL);
	hob_json_put(&q->body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("session", s->id),
				 HOB_JSON("protocol", SRV_MIRROR_PROTOCOL), HOB_JSON("version", m->version),
				 HOB_JSON_DIGEST("tree", &digest), HOB_JSON_KEY("clock_ms"));
	hob_buf_printf(&q->body, "%lld", (long long)s->since_ms);
	hob_own_buf note = {0};
	if (s->skew_ms)
		hob_buf_printf(&note,
					   "the clock of this machine is %lld s %s the daemon's; times of files are corrected",
					   (long long)(s->skew_ms > 0 ? s->skew_ms : -s->skew_ms) / 1000,
					   s->skew_ms > 0 ? "ahead of" : "behind");
	hob_json_put_str(&q->body, "note", hob_buf_str(&note));
	hob_json_close(&q->body, '}');
	srv_log(SRV_LOG_INFO, "mirror", "%.*s feeds %s%s%.*s", HOB_FMT(who), m->names[q->root],
			base.len > 0 ? "/" : "", HOB_FMT(base));
	fflush(tree->log);
	return 200;
}

/* ---- lists of changes */

static bool full_path(const question *q, const session *s, hob_arena *arena, hob_str path, hob_str *out,
					  hob_error *err)
{
	const char *base = base_of(q, s);
	const char *why = hob_path_unportable(path);
	*out = hob_arena_printf(arena, "%s%s%.*s", base, base[0] ? "/" : "", HOB_FMT(path));
	if (!why && out->data)
		why = hob_path_unportable(*out);
	if (!out->data)
		return hob_fail(err, MEMORY, "no memory left for the list");
	if (!why && hob_str_starts(*out, HOB_STR(SRV_MIRROR_AREA)))
		why = "is reserved for the daemon";
	return !why || hob_fail(err, BAD_REQUEST, "the path '%.*s%s' %s", (int)(path.len < 200 ? path.len : 200),
							path.data, path.len < 200 ? "" : "...", why);
}

static bool read_digest(const cJSON *item, const char *name, bool needed, hob_sha256 *out, hob_error *err)
{
	hob_str text = text_of(item, name);
	if (hob_sha256_parse(text, out) || (!needed && text.len == 0))
		return true;
	return hob_fail(err, BAD_REQUEST, "'%s' of a change must be a SHA-256", name);
}

static bool read_change(const question *q, const session *s, hob_arena *arena, const cJSON *item, change *c,
						hob_error *err)
{
	static const char *const kinds[] = {"put", "move", "delete"};
	for (c->kind = CHANGE_PUT; c->kind <= CHANGE_DELETE; c->kind++) {
		hob_str path = text_of(item, kinds[c->kind]);
		if (path.len == 0)
			continue;
		c->mtime_ms = number_of(item, "mtime_ms") - s->skew_ms;
		if (c->mtime_ms < 0)
			c->mtime_ms = 0;
		if (!read_digest(item, "sha256", true, &c->digest, err) ||
			!read_digest(item, "seen", false, &c->seen, err))
			return false;
		if (c->kind == CHANGE_MOVE)
			return full_path(q, s, arena, path, &c->from, err) &&
				   full_path(q, s, arena, text_of(item, "to"), &c->path, err);
		return full_path(q, s, arena, path, &c->path, err);
	}
	return hob_fail(err, BAD_REQUEST, "a change has none of 'put', 'move' and 'delete'");
}

static void log_list(const question *q, session *s, const change_list *list)
{
	uint32_t counts[3] = {0}, done = 0;
	const char *last = NULL;
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->items[i].skip)
			continue;
		counts[list->items[i].kind]++;
		done++;
		last = list->items[i].path.data;
	}
	if (done == 0)
		return;
	free(s->last_path);
	s->last_path = strdup(last);
	s->saved_ms = list->at_ms;
	srv_log(SRV_LOG_INFO, "mirror", "%s: %u saved, %u moved, %u deleted, last %s",
			q->mirrors->trees[q->root].agents[s->agent].who, counts[CHANGE_PUT], counts[CHANGE_MOVE],
			counts[CHANGE_DELETE], last);
}

static int apply_list(question *q, session *s, change_list *list, uint64_t seq)
{
	hob_error error = {0};
	hob_own_buf missing = {0}, notes = {0};
	bool conflict;
	hob_json_open(&missing, '[');
	hob_json_open(&notes, '[');
	size_t none = missing.size;
	bool ok =
		srv_apply(&q->mirrors->trees[q->root], q->mirrors->store, list, &missing, &notes, &conflict, &error);
	bool applied = ok && missing.size == none;
	hob_json_close(&missing, ']');
	hob_json_close(&notes, ']');
	if (ok)
		hob_json_object(&q->body, HOB_JSON("seq", applied ? seq : s->seq),
						HOB_JSON("applied", applied ? list->count : 0),
						HOB_JSON_RAW("missing", hob_buf_str(&missing)),
						HOB_JSON_RAW("notes", applied ? hob_buf_str(&notes) : HOB_STR("[]")));
	if (applied) {
		s->seq = seq;
		hob_buf_clear(&s->answer);
		hob_buf_put_str(&s->answer, hob_buf_str(&q->body));
		log_list(q, s, list);
	}
	if (conflict)
		return refuse(q, 409, "mirror.out-of-step", "compare the trees again with POST .../manifest", "%s",
					  error.context);
	return ok ? 200 : refuse_error(q, &error);
}

static int take_changes(question *q)
{
	int status = 0;
	session *s = find_session(q, &status);
	if (!s)
		return status;
	const cJSON *changes = cJSON_GetObjectItemCaseSensitive(q->json, "changes");
	uint64_t seq = (uint64_t)number_of(q->json, "seq");
	int count = cJSON_GetArraySize(changes);
	if (!cJSON_IsArray(changes) || count > CHANGES_MAX)
		return refuse(q, 400, "http.bad-request", "split the list", "'changes' must be a list of at most %d",
					  CHANGES_MAX);
	if (seq == s->seq && seq > 0 && count > 0) {
		hob_buf_put_str(&q->body, hob_buf_str(&s->answer));
		return 200;
	}
	if (count == 0) {
		hob_buf_printf(&q->body, "{\"seq\":%llu,\"applied\":0,\"missing\":[],\"notes\":[]}",
					   (unsigned long long)s->seq);
		return 200;
	}
	if (seq != s->seq + 1)
		return refuse(q, 409, "mirror.sequence", "open a new session",
					  "the list has the number %llu, and the next one is %llu", (unsigned long long)seq,
					  (unsigned long long)s->seq + 1);
	hob_own_arena arena;
	hob_error error;
	hob_arena_init(&arena, (size_t)64 << 20);
	change_list list = {.items = hob_must(calloc((size_t)count + 1, sizeof(change))),
						.agent = s->agent,
						.at_ms = srv_clock_ms(CLOCK_REALTIME)};
	bool ok = true;
	for (const cJSON *item = changes->child; ok && item; item = item->next) {
		list.items[list.count].copy = list.count;
		ok = read_change(q, s, &arena, item, &list.items[list.count++], &error);
	}
	status = ok ? apply_list(q, s, &list, seq) : refuse_error(q, &error);
	free(list.items);
	return status;
}

/* ---- comparing trees */

typedef struct listing {
	hob_buf *out;
	const session *session;
	const srv_tree *tree;
} listing;

static void put_item(void *user, hob_str name, uint32_t index, const hob_sha256 *digest)
{
	const listing *l = user;
	const tree_entry *entry = index != HOB_NONE ? l->tree->entries[index] : NULL;
	hob_json_put(l->out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("name", name),
				 HOB_JSON_DIGEST(entry ? "sha256" : "tree", digest));
	if (entry) {
		hob_json_key(l->out, "mtime_ms");
		hob_buf_printf(l->out, "%lld", (long long)(entry->mtime_ms + l->session->skew_ms));
		hob_json_put(l->out, HOB_JSON_BOOL("mine", entry->agent == l->session->agent));
	}
	hob_json_close(l->out, '}');
}

static int put_manifest(question *q)
{
	int status = 0;
	session *s = find_session(q, &status);
	if (!s)
		return status;
	const cJSON *folders = cJSON_GetObjectItemCaseSensitive(q->json, "folders");
	if (!cJSON_IsArray(folders) || cJSON_GetArraySize(folders) > FOLDERS_MAX)
		return refuse(q, 400, "http.bad-request", "send {\"folders\":[\"\"]}",
					  "'folders' must be a list of at most %d", FOLDERS_MAX);
	hob_json_put(&q->body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("folders", '['));
	const char *base = base_of(q, s);
	const srv_tree *tree = &q->mirrors->trees[q->root];
	for (const cJSON *item = folders->child; item; item = item->next) {
		hob_str folder = hob_str_of(cJSON_GetStringValue(item));
		hob_own_buf path = {0};
		hob_buf_printf(&path, "%s%s%.*s", base, base[0] && folder.len > 0 ? "/" : "", HOB_FMT(folder));
		hob_json_put(&q->body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("path", folder),
					 HOB_JSON_OPEN("items", '['));
		srv_tree_digest(tree, hob_buf_str(&path), put_item, &(listing){&q->body, s, tree});
		hob_json_put(&q->body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	}
	hob_json_put(&q->body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	return 200;
}

/* ---- origins of files */

static int put_origin(question *q)
{
	const srv_tree *tree = &q->mirrors->trees[q->root];
	const tree_entry *entry = srv_tree_find(tree, q->control->file);
	if (!entry || entry->agent >= tree->agent_count)
		return refuse(q, 404, "http.not-found", "GET /api/v1/mirrors lists the agents",
					  "no agent has sent '%.*s'", HOB_FMT(q->control->file));
	hob_json_object(&q->body, HOB_JSON("path", entry->path), HOB_JSON("who", tree->agents[entry->agent].who),
					HOB_JSON_TIME("at", entry->at_ms), HOB_JSON_DIGEST("sha256", &entry->digest));
	return 200;
}

static void put_agent(hob_buf *out, const srv_mirrors *m, const session *s)
{
	const tree_agent *agent = &m->trees[s->root].agents[s->agent];
	hob_json_object(
		out, HOB_JSON("who", agent->who), HOB_JSON("base", agent->base), HOB_JSON("folder", s->folder),
		HOB_JSON("program", s->program),
		HOB_JSON("state", srv_clock_ms(CLOCK_REALTIME) - s->seen_ms < AWAY_MS ? "connected" : "away"),
		HOB_JSON_TIME("since", s->since_ms), HOB_JSON_TIME("seen_at", s->seen_ms),
		HOB_JSON_TIME("saved_at", s->saved_ms), HOB_JSON("last", s->last_path));
}

static int put_list(question *q)
{
	srv_mirrors *m = q->mirrors;
	hob_json_put(&q->body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_OPEN("items", '['));
	for (uint32_t i = 0; i < m->count; i++) {
		hob_json_put(&q->body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("root", m->names[i]),
					 HOB_JSON("files", m->trees[i].count), HOB_JSON_OPEN("agents", '['));
		for (uint32_t s = 0; s < m->session_count; s++)
			if (m->sessions[s].root == i)
				put_agent(&q->body, m, &m->sessions[s]);
		hob_json_put(&q->body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	}
	hob_json_put(&q->body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	return 200;
}

/* ---- the thread */

static int answer_for_root(question *q)
{
	static const struct {
		const char *tag;
		int (*answer)(question *q);
	} verbs[] = {{"session", open_session},
				 {"changes", take_changes},
				 {"manifest", put_manifest},
				 {"origin", put_origin}};
	srv_mirrors *m = q->mirrors;
	hob_error error;
	while (q->root < m->count && !hob_str_equal(hob_str_of(m->names[q->root]), q->control->asset))
		q->root++;
	if (q->root == m->count)
		return refuse(q, 404, "mirror.root",
					  "add {\"name\": NAME, \"path\": FOLDER, \"mirror\": true} to sources",
					  "there is no mirror root '%.*s'", HOB_FMT(q->control->asset));
	if (!srv_tree_open(&m->trees[q->root], &error))
		return refuse_error(q, &error);
	for (size_t i = 0; i < HOB_COUNT_OF(verbs); i++) {
		if (!hob_str_equal(q->control->tag, hob_str_of(verbs[i].tag)))
			continue;
		if (!q->json && verbs[i].answer != put_origin)
			return refuse(q, 400, "http.bad-request", "send a JSON object", "the body is not valid JSON");
		return verbs[i].answer(q);
	}
	assert(false && "a verb without an answer");
	return 500;
}

static void answer(void *user, srv_control *control)
{
	srv_mirrors *m = user;
	question q = {.mirrors = m, .control = control};
	q.json = cJSON_ParseWithLength(control->text.data, control->text.len);
	int status = control->asset.len == 0 ? put_list(&q) : answer_for_root(&q);
	if (q.body.failed)
		status = refuse(&q, 503, "cook.out-of-memory", "try again later", "no memory left for the answer");
	control->answer(control, status, hob_buf_str(&q.body));
	cJSON_Delete(q.json);
	hob_buf_release(&q.body);
}

srv_control_port srv_mirrors_port(srv_mirrors *mirrors)
{
	return srv_desk_port(mirrors->desk);
}

bool srv_mirrors_new(srv_store *store, const srv_mirror_folder *folders, uint32_t count, const char *version,
					 srv_mirrors **out, hob_error *err)
{
	srv_mirrors *m = hob_must(calloc(1, sizeof *m));
	m->store = store;
	m->version = version;
	m->names = hob_must(calloc(count + 1, sizeof *m->names));
	m->trees = hob_must(calloc(count + 1, sizeof *m->trees));
	for (; m->count < count; m->count++) {
		m->trees[m->count].fd = -1;
		m->names[m->count] = hob_must(strdup(folders[m->count].name));
		m->trees[m->count].path = hob_must(strdup(folders[m->count].path));
	}
	if (!srv_desk_new("agents", WAITING_MAX, answer, m, &m->desk, err)) {
		srv_mirrors_close(m);
		return false;
	}
	*out = m;
	return true;
}

void srv_mirrors_close(srv_mirrors *m)
{
	if (!m)
		return;
	srv_desk_close(m->desk);
	for (uint32_t i = 0; i < m->session_count; i++)
		session_release(&m->sessions[i]);
	for (uint32_t i = 0; i < m->count; i++) {
		srv_tree_release(&m->trees[i]);
		free(m->names[i]);
	}
	free(m->sessions);
	free(m->names);
	free(m->trees);
	free(m);
}
