#include "engine_move.h"

#include "../../core/base/array.h"
#include "../../core/base/json_write.h"
#include "../log/log.h"
#include "../settings/sidecar.h"
#include "../store/digest_map.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A source that is renamed or moved stays the same asset: it keeps its id, its past jobs and its settings
 * file. Removed and added files are compared for a while, in any order of the reports:
 *
 *   the same file     its inode, with its size and time, or with its file name in the same root
 *   the same bytes    if only one has them, or only one of those has the file name, too; never a copy that
 *                     clients know already
 *
 * Both must have the same profile. In another root, the same file has the same inode, size and time. */

enum { WINDOW_MS = 30000, SETTINGS_MS = 3000, TRACES_MAX = 200000, TRACES_FEW = 1024 };

typedef enum direction { GONE, CAME, DIRECTIONS } direction;

typedef struct trace {
	uint32_t asset, next_file, next_bytes; /* next trace in each chain: 1 + its number; 0: none */
	direction side;
	bool over, has_bytes;
	uint64_t at_ms;
	srv_stat stat;
	hob_sha256 bytes;
} trace;

typedef struct moved {
	uint64_t number;
	char id[SRV_ASSET_ID + 1];
	char *earlier, *name; /* owned */
	uint32_t before;	  /* 1 + the row that moved a model to `earlier`; 0: none */
} moved;

typedef struct left_settings {
	uint32_t asset;
	uint64_t at_ms; /* earliest time of the next step, on the loop's clock */
} left_settings;

struct engine_moves {
	moved *rows; /* oldest first */
	uint32_t count, room;
	digest_map newest; /* name -> 1 + its newest row */
	uint32_t shown;	   /* rows whose former names are in the view */
	trace *traces;
	uint32_t trace_count, trace_room;
	digest_map files[DIRECTIONS], bytes[DIRECTIONS]; /* key of the inode, digest -> 1 + the newest trace */
	left_settings *settings;
	uint32_t settings_count, settings_room;
};

/* ---- moves */

static hob_sha256 key_of(hob_str full)
{
	return hob_sha256_of((hob_bytes){(const uint8_t *)full.data, full.len});
}

static bool add_row(struct engine_moves *moves, uint64_t number, hob_str id, hob_str earlier, hob_str name)
{
	if (!HOB_ROOM(moves->rows, moves->room, moves->count))
		return false;
	hob_sha256 from = key_of(earlier);
	const uint32_t *before = srv_digest_map_find(&moves->newest, &from);
	moved row = {number, "", strndup(earlier.data, earlier.len), strndup(name.data, name.len),
				 before && hob_str_equal(hob_str_of(moves->rows[*before - 1].name), earlier) ? *before : 0};
	snprintf(row.id, sizeof row.id, "%.*s", HOB_FMT(id));
	if (!row.earlier || !row.name) {
		free(row.earlier);
		free(row.name);
		return false;
	}
	assert(row.before <= moves->count);
	moves->rows[moves->count++] = row;
	hob_str names[] = {earlier, name};
	for (int i = 0; i < 2; i++) {
		bool fresh;
		hob_sha256 key = key_of(names[i]);
		uint32_t *newest = srv_digest_map_put(&moves->newest, &key, &fresh);
		if (newest)
			*newest = moves->count;
	}
	return true;
}

uint32_t srv_engine_move_of(const srv_engine *engine, hob_str full)
{
	if (engine->moves->count == 0)
		return 0;
	hob_sha256 key = key_of(full);
	const uint32_t *row = srv_digest_map_find(&engine->moves->newest, &key);
	return row ? *row : 0;
}

static const moved *row_of(const srv_engine *engine, const asset *a)
{
	assert(a->move.row <= engine->moves->count);
	return a->move.row > 0 ? &engine->moves->rows[a->move.row - 1] : NULL;
}

static bool has_arrived(const moved *row, const asset *a)
{
	return row && strcmp(row->name, a->full) == 0;
}

void srv_engine_note_removal(const srv_engine *engine, asset *a)
{
	/* The move was recorded before this removal and its row is not published yet: the removal is part of
	 * it. */
	bool left = a->move.untold && !has_arrived(row_of(engine, a), a);
	a->move.row_before = left ? 0 : a->move.row;
}

bool srv_engine_moved_away(const asset *a)
{
	assert(a->move.row_before <= a->move.row);
	return a->move.row > a->move.row_before;
}

void srv_engine_asset_id(const srv_engine *engine, const asset *a, char id[SRV_ASSET_ID + 1])
{
	const moved *row = row_of(engine, a);
	if (!row) {
		srv_asset_id(hob_str_of(a->full), id);
	} else if (has_arrived(row, a)) {
		memcpy(id, row->id, SRV_ASSET_ID + 1);
	} else { /* another asset now has the id that its name gave */
		hob_own_buf text = {0};
		hob_buf_printf(&text, "%s\n%llu", a->full, (unsigned long long)row->number);
		srv_asset_id(hob_buf_str(&text), id);
	}
}

hob_str srv_engine_moved_from(const srv_engine *engine, const asset *a)
{
	const moved *row = row_of(engine, a);
	return has_arrived(row, a) ? hob_str_of(row->earlier) : (hob_str){0};
}

void srv_engine_put_move(const srv_engine *engine, asset *a, hob_buf *out)
{
	char id[SRV_ASSET_ID + 1];
	const moved *row = row_of(engine, a);
	srv_engine_asset_id(engine, a, id);
	hob_json_put(out, HOB_JSON("id", id));
	if (!a->move.untold)
		return;
	a->move.untold = false;
	bool arrived = has_arrived(row, a);
	hob_json_put(out, HOB_JSON(arrived ? "moved_from" : "moved_to", arrived ? row->earlier : row->name));
}

bool srv_engine_many_former(const srv_engine *engine)
{
	enum { MANY = 1000 };
	assert(engine->moves->shown <= engine->moves->count);
	return engine->moves->count - engine->moves->shown >= MANY;
}

void srv_engine_show_former(srv_engine *engine)
{
	struct engine_moves *moves = engine->moves;
	uint32_t left = moves->count - moves->shown, count = 0;
	hob_own srv_view_former *names = left > 0 ? calloc(left, 2 * sizeof *names) : NULL;
	for (uint32_t number = moves->shown + 1; names && number <= moves->count; number++) {
		const moved *row = &moves->rows[number - 1];
		hob_str earlier = hob_str_of(row->earlier), name = hob_str_of(row->name);
		if (srv_engine_move_of(engine, earlier) == number) {
			names[count].full = earlier;
			memcpy(names[count++].id, row->id, sizeof row->id);
		}
		if (srv_engine_move_of(engine, name) == number && srv_views_is_former(engine->views, name))
			names[count++].full = name;
	}
	assert(count <= 2 * left && moves->shown + left == moves->count);
	if (count > 0)
		srv_views_add_former(engine->views, names, count);
	moves->shown += names ? left : 0;
}

/* ---- settings files */

/* Asks the disk: the watch may not have reported the file yet. */
static bool is_there(const srv_engine *engine, uint32_t root, hob_str model, const char *ending)
{
	char path[PATH_MAX];
	srv_stat stat;
	return snprintf(path, sizeof path, "%.*s%s", HOB_FMT(model), ending) < (int)sizeof path &&
		   srv_stat_path(engine->roots->fds[root], hob_str_of(path), &stat);
}

/* Asks the graph, not the disk. */
static bool has_settings(const srv_engine *engine, const asset *a)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s.cook.json", a->path) >= (int)sizeof path)
		return false;
	uint32_t file = srv_graph_find(engine->graph, a->root, hob_str_of(path));
	return file != HOB_NONE && srv_graph_at(engine->graph, file)->exists;
}

/* Finds the settings of a moved model: at its newest former place that has some, unless another model is
 * there. */
static hob_str find_settings(const srv_engine *engine, const asset *a, uint32_t *root)
{
	enum { PLACES_MAX = 64 };
	const moved *row = row_of(engine, a);
	*root = a->root;
	if (!has_arrived(row, a))
		return has_settings(engine, a) ? hob_str_of(a->path) : (hob_str){0};
	if (is_there(engine, a->root, hob_str_of(a->path), ".cook.json"))
		return hob_str_of(a->path);
	for (uint32_t i = 0; row && i < PLACES_MAX; i++) {
		hob_str full = hob_str_of(row->earlier);
		size_t slash = hob_str_find(full, HOB_STR("/"), 0);
		hob_str model = hob_str_sub(full, slash + 1, full.len);
		*root = srv_engine_root_by_name(engine, hob_str_sub(full, 0, slash));
		if (*root != HOB_NONE && !is_there(engine, *root, model, "") &&
			is_there(engine, *root, model, ".cook.json"))
			return model;
		row = row->before > 0 ? &engine->moves->rows[row->before - 1] : NULL;
	}
	*root = a->root;
	return (hob_str){0};
}

hob_str srv_engine_settings_owner(srv_engine *engine, asset *a, uint32_t *root)
{
	struct engine_moves *moves = engine->moves;
	hob_str model = find_settings(engine, a, root);
	bool elsewhere = model.len > 0 && model.data != a->path;
	if (elsewhere && !a->move.settling &&
		HOB_ROOM(moves->settings, moves->settings_room, moves->settings_count)) {
		moves->settings[moves->settings_count++] = (left_settings){a->id, uv_now(engine->loop) + SETTINGS_MS};
		a->move.settling = true;
	}
	return model;
}

void srv_engine_put_settings_of(const srv_engine *engine, const asset *a, hob_buf *out)
{
	uint32_t root;
	hob_str model = a->move.settling ? find_settings(engine, a, &root) : (hob_str){0};
	if (model.len > 0 && model.data != a->path)
		hob_buf_printf(out, "%.*s/%.*s%c", HOB_FMT(engine->roots->shown[root].name), HOB_FMT(model), 0);
}

uint32_t srv_engine_settings_heir(srv_engine *engine, uint32_t root, hob_str model)
{
	hob_own_buf full = {0};
	hob_buf_printf(&full, "%.*s/%.*s", HOB_FMT(engine->roots->shown[root].name), HOB_FMT(model));
	uint32_t number = srv_engine_move_of(engine, hob_buf_str(&full)), last = 0;
	for (hob_str name = hob_buf_str(&full); number > last;) {
		const moved *row = &engine->moves->rows[number - 1];
		if (!hob_str_equal(hob_str_of(row->earlier), name))
			break;
		name = hob_str_of(row->name);
		last = number;
		number = srv_engine_move_of(engine, name);
	}
	assert(last <= engine->moves->count);
	return last > 0 ? srv_engine_asset_by_name(engine, hob_str_of(engine->moves->rows[last - 1].name))
					: HOB_NONE;
}

/* Cooks a moved asset again: a cook that began before the move was known had other settings. */
static void cook_with_settings(srv_engine *engine, uint32_t id)
{
	uint32_t root;
	asset *a = srv_asset_at(engine, id);
	hob_str model = srv_engine_settings_owner(engine, a, &root);
	if (model.len > 0 && model.data != a->path && !srv_engine_root_is_away(engine, a->root))
		srv_engine_apply(engine, id,
						 (srv_asset_event){.kind = SRV_ASSET_MOVED,
										   .reason = "settings",
										   .path = model,
										   .priority = SRV_PRIORITY_CHANGED});
}

static void put_reason(hob_buf *reasons, hob_str earlier)
{
	hob_json_object(reasons, HOB_JSON("kind", "moved"), HOB_JSON("path", earlier));
}

/* Adds the origin of the source to the reasons of the next or current job. */
static void add_reason(srv_engine *engine, uint32_t id, hob_str earlier)
{
	asset *a = srv_asset_at(engine, id);
	if (a->life.state == SRV_ASSET_QUEUED) {
		srv_engine_apply(engine, id,
						 (srv_asset_event){.kind = SRV_ASSET_DIRTY,
										   .reason = "moved",
										   .path = earlier,
										   .priority = a->life.next.priority});
		return;
	}
	if (a->life.job)
		put_reason(&a->life.job->order.why, earlier);
	put_reason(&a->why, earlier);
}

/* Whether clients know the asset: then it is a copy, whose original may be deleted independently. */
static bool is_published(const asset *a)
{
	return a->shown.rev > 0 && a->shown.told != SRV_REMOVED;
}

/* Groups the log lines of a renamed folder's models by the part in which both names differ. */
static void log_move(srv_engine *engine, hob_str from, hob_str to)
{
	size_t same = 0;
	for (size_t i = 1; i <= from.len && i <= to.len && from.data[from.len - i] == to.data[to.len - i]; i++)
		same = from.data[from.len - i] == '/' ? i : same;
	hob_own_buf cause = {0};
	hob_buf_printf(&cause, "%.*s is %.*s now", (int)(from.len - same), from.data, (int)(to.len - same),
				   to.data);
	srv_causes_log(&engine->publishing->causes, SRV_LOG_INFO, "moved", hob_buf_str(&cause),
				   "%.*s is %.*s now", HOB_FMT(from), HOB_FMT(to));
}

static void move(srv_engine *engine, uint32_t from, uint32_t to)
{
	assert(from != to);
	struct engine_moves *moves = engine->moves;
	asset *old = srv_asset_at(engine, from), *now = srv_asset_at(engine, to);
	bool late = is_published(now) && now->changeset.held == 0;
	char id[SRV_ASSET_ID + 1];
	srv_engine_asset_id(engine, old, id);
	srv_move_row row = {.number = moves->count > 0 ? moves->rows[moves->count - 1].number + 1 : 1,
						.rev = engine->publishing->rev,
						.id = hob_str_of(id),
						.earlier = hob_str_of(old->full),
						.name = hob_str_of(now->full)};
	hob_error error;
	if (!add_row(moves, row.number, row.id, row.earlier, row.name))
		return;
	old->move.row = now->move.row = moves->count;
	old->move.untold = now->move.untold = true;
	srv_engine_stored(engine, srv_store_put_move(engine->store, &row, &error), &error);
	log_move(engine, hob_str_of(old->full), hob_str_of(now->full));
	cook_with_settings(engine, to);
	add_reason(engine, to, row.earlier);
	srv_publish_view_later(engine, to);
	if (late)
		srv_publish_states(engine, &to, 1, "moved");
}

/* ---- removed and added files */

static hob_sha256 key_of_file(uint64_t inode)
{
	hob_sha256 key = {{0}};
	hob_store_u64(key.bytes, inode * 0x9e3779b97f4a7c15u);
	return key;
}

static void put_trace(digest_map *map, const hob_sha256 *key, uint32_t number, uint32_t *next)
{
	bool fresh;
	uint32_t *newest = srv_digest_map_put(map, key, &fresh);
	*next = newest ? *newest : 0;
	if (newest)
		*newest = number;
}

static bool is_open(const srv_engine *engine, const trace *t)
{
	return !t->over && srv_asset_is_alive(&srv_asset_at(engine, t->asset)->life) == (t->side == CAME);
}

static hob_str profile_of(const srv_engine *engine, const asset *a)
{
	const char *at = strchr(engine->options.roots[a->root].name, '@');
	return hob_str_of(at ? at : "");
}

static bool has_same_name(const asset *a, const asset *b)
{
	return hob_str_equal(hob_path_name(hob_str_of(a->path)), hob_path_name(hob_str_of(b->path)));
}

static bool may_match(const srv_engine *engine, const trace *t, const trace *other)
{
	const asset *a = srv_asset_at(engine, t->asset), *b = srv_asset_at(engine, other->asset);
	return t->asset != other->asset && is_open(engine, other) && !engine->options.roots[a->root].still &&
		   !engine->options.roots[b->root].still &&
		   hob_str_equal(profile_of(engine, a), profile_of(engine, b));
}

static trace *find_file(srv_engine *engine, const trace *t)
{
	struct engine_moves *moves = engine->moves;
	hob_sha256 key = key_of_file(t->stat.inode);
	assert(t->side < DIRECTIONS);
	const uint32_t *first = srv_digest_map_find(&moves->files[!t->side], &key);
	trace *found = NULL;
	for (uint32_t i = first ? *first : 0; i > 0; i = moves->traces[i - 1].next_file) {
		trace *other = &moves->traces[i - 1];
		const asset *a = srv_asset_at(engine, t->asset), *b = srv_asset_at(engine, other->asset);
		bool untouched = t->stat.size == other->stat.size && t->stat.mtime_ns == other->stat.mtime_ns;
		if (may_match(engine, t, other) && (untouched || (a->root == b->root && has_same_name(a, b))) &&
			(!found || a->root == b->root))
			found = other;
	}
	return found;
}

static trace *find_bytes(srv_engine *engine, const trace *t)
{
	struct engine_moves *moves = engine->moves;
	const uint32_t *first = srv_digest_map_find(&moves->bytes[!t->side], &t->bytes);
	trace *any = NULL, *named = NULL;
	uint32_t all = 0, with_name = 0;
	for (uint32_t i = first ? *first : 0; i > 0; i = moves->traces[i - 1].next_bytes) {
		trace *other = &moves->traces[i - 1];
		if (!may_match(engine, t, other) ||
			(other->side == CAME && is_published(srv_asset_at(engine, other->asset))))
			continue;
		any = other;
		all++;
		if (!has_same_name(srv_asset_at(engine, t->asset), srv_asset_at(engine, other->asset)))
			continue;
		named = other;
		with_name++;
	}
	assert(with_name <= all && all <= moves->trace_count);
	return with_name == 1 ? named : all == 1 ? any : NULL;
}

static void match(srv_engine *engine, trace *t)
{
	trace *other = t->stat.inode != 0 ? find_file(engine, t) : NULL;
	if (!other && t->has_bytes)
		other = find_bytes(engine, t);
	if (!other)
		return;
	assert(t->side != other->side && t->asset != other->asset);
	t->over = other->over = true;
	bool gone = t->side == GONE;
	move(engine, gone ? t->asset : other->asset, gone ? other->asset : t->asset);
}

static void put_in_maps(struct engine_moves *moves, uint32_t number)
{
	assert(number > 0 && number <= moves->trace_count);
	trace *t = &moves->traces[number - 1];
	hob_sha256 file = key_of_file(t->stat.inode);
	if (t->has_bytes)
		put_trace(&moves->bytes[t->side], &t->bytes, number, &t->next_bytes);
	if (t->stat.inode != 0)
		put_trace(&moves->files[t->side], &file, number, &t->next_file);
}

/* Drops the `count` oldest traces; the others get new numbers. */
static void forget_traces(srv_engine *engine, uint32_t count)
{
	struct engine_moves *moves = engine->moves;
	for (uint32_t i = 0; i < moves->trace_count; i++)
		srv_asset_at(engine, moves->traces[i].asset)->move.trace = 0;
	for (int i = 0; i < DIRECTIONS; i++) {
		srv_digest_map_release(&moves->files[i]);
		srv_digest_map_release(&moves->bytes[i]);
		srv_digest_map_init(&moves->files[i], sizeof(uint32_t));
		srv_digest_map_init(&moves->bytes[i], sizeof(uint32_t));
	}
	assert(count <= moves->trace_count);
	moves->trace_count -= count;
	if (moves->trace_count == 0) {
		free(moves->traces);
		moves->traces = NULL;
		moves->trace_room = 0;
		return;
	}
	memmove(moves->traces, moves->traces + count, moves->trace_count * sizeof *moves->traces);
	for (uint32_t number = 1; number <= moves->trace_count; number++) {
		trace *t = &moves->traces[number - 1];
		t->next_file = t->next_bytes = 0;
		srv_asset_at(engine, t->asset)->move.trace = number;
		put_in_maps(moves, number);
	}
}

static void add_trace(srv_engine *engine, direction side, uint32_t id, const srv_stat *stat,
					  const hob_sha256 *bytes)
{
	assert(side < DIRECTIONS && id < engine->assets->count);
	struct engine_moves *moves = engine->moves;
	if (moves->trace_count >= TRACES_MAX)
		forget_traces(engine, moves->trace_count);
	if (!HOB_ROOM(moves->traces, moves->trace_room, moves->trace_count))
		return;
	trace *t = &moves->traces[moves->trace_count++];
	*t = (trace){.asset = id, .side = side, .stat = *stat, .has_bytes = bytes, .at_ms = uv_now(engine->loop)};
	srv_asset_at(engine, id)->move.trace = moves->trace_count;
	if (bytes)
		t->bytes = *bytes;
	put_in_maps(moves, moves->trace_count);
	match(engine, t);
}

void srv_engine_move_gone(srv_engine *engine, uint32_t id, const srv_stat *stat, const hob_sha256 *bytes)
{
	if (!engine->closing)
		add_trace(engine, GONE, id, stat, bytes);
}

/* Does nothing at the first start, when every file is new and none was removed. */
void srv_engine_move_came(srv_engine *engine, uint32_t id, const srv_stat *stat)
{
	if (!engine->closing && (engine->sources->ready || engine->publishing->rev > 0))
		add_trace(engine, CAME, id, stat, NULL);
}

void srv_engine_move_read(srv_engine *engine, uint32_t id, const hob_sha256 *bytes)
{
	uint32_t number = srv_asset_at(engine, id)->move.trace;
	assert(number <= engine->moves->trace_count);
	trace *t = number > 0 ? &engine->moves->traces[number - 1] : NULL;
	if (!t || t->side != CAME || t->over || t->has_bytes)
		return;
	t->has_bytes = true;
	t->bytes = *bytes;
	put_trace(&engine->moves->bytes[CAME], bytes, number, &t->next_bytes);
	match(engine, t);
}

/* ---- settings files move later: the user may have moved the model first */

static void move_settings(srv_engine *engine, uint32_t id)
{
	asset *a = srv_asset_at(engine, id);
	uint32_t root;
	hob_error error;
	bool done;
	assert(id == a->id && id < engine->assets->count);
	a->move.settling = false;
	hob_str model = find_settings(engine, a, &root);
	if (!srv_asset_is_alive(&a->life) || model.len == 0 || model.data == a->path)
		return;
	if (!srv_sidecar_move(engine->roots->fds[root], model, engine->roots->fds[a->root], hob_str_of(a->path),
						  &done, &error)) {
		a->move.settling = true; /* the settings file is used where it is; logged once */
		srv_log(SRV_LOG_WARNING, "settings", "of %s stay where it was: %s", a->full, error.context);
	} else if (done) {
		srv_log(SRV_LOG_INFO, "settings", "of %.*s went with it to %s.cook.json", HOB_FMT(model), a->full);
	}
}

void srv_engine_step_settings(srv_engine *engine)
{
	struct engine_moves *moves = engine->moves;
	uint64_t now = uv_now(engine->loop);
	uint32_t done = 0;
	while (done < moves->settings_count && moves->settings[done].at_ms <= now &&
		   srv_engine_has_time(engine, done))
		move_settings(engine, moves->settings[done++].asset);
	assert(done <= moves->settings_count);
	if (done > 0)
		memmove(moves->settings, moves->settings + done,
				(moves->settings_count -= done) * sizeof *moves->settings);
	if (moves->settings_count > 0 && moves->settings[0].at_ms <= now)
		srv_engine_go_on(engine);
}

void srv_engine_keep_moves(srv_engine *engine)
{
	struct engine_moves *moves = engine->moves;
	uint64_t now = uv_now(engine->loop);
	srv_engine_step_settings(engine);
	uint32_t all = moves->trace_count, half = all / 2;
	if (all > 0 && now - moves->traces[all - 1].at_ms >= WINDOW_MS)
		forget_traces(engine, all);
	else if (all > TRACES_FEW && now - moves->traces[half - 1].at_ms >= WINDOW_MS)
		forget_traces(engine, half);
}

/* ---- life */

static void load_row(void *user, const srv_move_row *row)
{
	add_row(user, row->number, row->id, row->earlier, row->name);
}

bool srv_engine_load_moves(srv_engine *engine, hob_error *err)
{
	return srv_store_each_move(engine->store, load_row, engine->moves, err);
}

struct engine_moves *srv_engine_moves_new(void)
{
	struct engine_moves *moves = calloc(1, sizeof *moves);
	if (!moves)
		return NULL;
	srv_digest_map_init(&moves->newest, sizeof(uint32_t));
	for (int i = 0; i < DIRECTIONS; i++) {
		srv_digest_map_init(&moves->files[i], sizeof(uint32_t));
		srv_digest_map_init(&moves->bytes[i], sizeof(uint32_t));
	}
	return moves;
}

void srv_engine_moves_free(struct engine_moves *moves)
{
	if (!moves)
		return;
	for (uint32_t i = 0; i < moves->count; i++) {
		free(moves->rows[i].earlier);
		free(moves->rows[i].name);
	}
	for (int i = 0; i < DIRECTIONS; i++) {
		srv_digest_map_release(&moves->files[i]);
		srv_digest_map_release(&moves->bytes[i]);
	}
	srv_digest_map_release(&moves->newest);
	free(moves->rows);
	free(moves->traces);
	free(moves->settings);
	free(moves);
}
