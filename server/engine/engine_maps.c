#include "engine_root.h"
#include "engine_sources.h"

#include "../../core/base/array.h"
#include "../fs/maps.h"
#include "../fs/transfer.h"
#include "../log/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* A look at the files that a process can write through a map, by their bytes.
 *
 *   look --> which are mapped --> read --> other bytes than known --> STEADY_MS --> read --> the same: taken
 *
 * Bytes that two readings agree on count as saved, although the file is open for writing. Maps of other
 * users' processes, and of other containers, are not known; so files that changed within RECENT_S and are
 * open for writing are read, too. They are cooked once they rest: nothing tells such a map from a save
 * that goes on. The first write through a new map changes the file's times, so a version that was found
 * closed is not asked again. */

enum { STEADY_MS = 250, RECENT_S = 600, AGAIN_MS = 10000, RECENT_MAX = 4096, TRIES = 4 };

typedef struct look_item {
	uint32_t file;
	bool mapped, open; /* open: perhaps for writing */
	bool closed;	   /* this version was not open for writing when it was asked, or that cannot be known */
	bool again, read, agrees;
	int root_fd;
	char *path;
	uint64_t changed, most; /* the graph's tick at the start; the largest size that is read */
	srv_stat stat;			/* known before, and then of the newest reading */
	hob_sha256 digest;
} look_item;

typedef struct file_version {
	uint64_t inode;
	int64_t ctime_ns;
} file_version;

struct engine_maps {
	engine_work work;
	uv_timer_t rest;
	uint64_t asked, begun; /* numbers of looks */
	uint64_t begun_at_ms;
	srv_maps found;
	look_item *items;
	uint32_t count, capacity;
	file_version *closed; /* by file */
	uint32_t closed_count;
	file_version *rested; /* mapped ones that the newest look found at rest */
	uint32_t rested_count, rested_capacity;
	uint32_t tries;	 /* of this look */
	uint32_t mapped; /* inputs that a process maps for writing, as of the newest look */
	bool under_way;
};

static void look(srv_engine *engine);
static void begin(srv_engine *engine);

static void drop_items(struct engine_maps *maps)
{
	for (uint32_t i = 0; i < maps->count; i++)
		free(maps->items[i].path);
	maps->count = 0;
}

static void keep_rested(struct engine_maps *maps)
{
	maps->rested_count = 0;
	for (uint32_t i = 0; i < maps->count; i++) {
		const look_item *item = &maps->items[i];
		bool rested = item->mapped && item->read && (item->agrees || !item->again);
		if (rested && HOB_ROOM(maps->rested, maps->rested_capacity, maps->rested_count))
			maps->rested[maps->rested_count++] = (file_version){item->stat.inode, item->stat.ctime_ns};
	}
}

static void end(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	maps->under_way = false;
	keep_rested(maps);
	assert(maps->rested_count <= maps->count && maps->begun <= maps->asked);
	if (maps->mapped > 0)
		srv_engine_retry_passing(engine, true);
	engine->sources->scan_rounds[engine->sources->root_count] = maps->begun;
	srv_engine_stir(engine);
	if (maps->asked > maps->begun && !engine->closing)
		begin(engine);
}

/* ---- reading, in the pool */

/* Equal stat data are the same file, also behind a link that leaves the root. */
static bool is_unchanged(const look_item *item)
{
	struct stat info;
	bool there = fstatat(item->root_fd, item->path, &info, 0) == 0;
	srv_stat now = there ? srv_stat_of(&info) : (srv_stat){0};
	return there && srv_stat_equal(&item->stat, &now);
}

static void read_item(look_item *item, const atomic_bool *stop)
{
	struct stat info;
	hob_sha256 before = item->digest;
	int64_t asked_ms = srv_clock_ms(CLOCK_REALTIME);
	item->read = item->open = item->agrees = false;
	if (item->closed && !item->again && is_unchanged(item))
		return;
	item->closed = false;
	int fd = srv_open_beneath(item->root_fd, item->path, O_RDONLY, true);
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size <= item->most) {
		srv_stat now = srv_stat_of(&info);
		srv_writers writers = srv_find_writers(fd);
		item->open = writers == SRV_WRITERS_SOME || (item->mapped && writers == SRV_WRITERS_UNKNOWN);
		item->closed = writers != SRV_WRITERS_SOME && !srv_engine_is_too_new(&now, asked_ms);
		item->read = (item->open || item->again || !srv_stat_equal(&item->stat, &now)) &&
					 srv_hash_rest(fd, stop, &item->digest, NULL);
		item->stat = now;
	}
	srv_stat now;
	if (fd < 0 && errno == EACCES && srv_stat_path(item->root_fd, hob_str_of(item->path), &now)) {
		item->read = item->again || !srv_stat_equal(&item->stat, &now); /* who may read it has changed */
		item->digest = (hob_sha256){0};
		item->stat = now;
	}
	item->agrees = item->read && hob_sha256_equal(&item->digest, &before);
	if (fd >= 0)
		close(fd);
}

static void read_items(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	for (uint32_t i = 0; i < maps->count; i++)
		read_item(&maps->items[i], &engine->closing);
}

/* ---- what the readings say */

/* False: it has changed since the first reading. */
static bool take(srv_engine *engine, const look_item *item)
{
	srv_file *f = srv_graph_at(engine->graph, item->file);
	if (!item->again || srv_engine_root_is_away(engine, f->root))
		return true;
	if (!item->agrees || f->changed != item->changed)
		return false;
	if (item->mapped)
		srv_log(SRV_LOG_INFO, "found", "%.*s/%.*s: saved through a memory map",
				HOB_FMT(engine->roots->shown[f->root].name), HOB_FMT(f->path));
	srv_engine_file_there(engine, item->file, &item->stat);
	f = srv_graph_at(engine->graph, item->file);
	if (!item->mapped || !item->open)
		return true;
	f->digest = item->digest;
	f->has_digest = true;
	srv_engine_store_file(engine, item->file, srv_clock_ms(CLOCK_REALTIME));
	return true;
}

static bool is_news(srv_engine *engine, const look_item *item)
{
	const srv_file *f = srv_graph_at(engine->graph, item->file);
	return item->read && !(f->exists && f->has_digest && hob_sha256_equal(&f->digest, &item->digest));
}

static void on_second(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	bool all = true;
	for (uint32_t i = 0; !engine->closing && i < maps->count; i++)
		all = take(engine, &maps->items[i]) && all;
	assert(maps->tries <= TRIES);
	if (all || maps->tries == TRIES)
		end(engine);
	else
		look(engine);
}

static void on_rest(uv_timer_t *timer)
{
	srv_engine *engine = timer->data;
	srv_engine_begin_work(engine, &engine->sources->maps->work, read_items, on_second);
}

static void keep_closed(struct engine_maps *maps, const look_item *item)
{
	if (item->file < maps->closed_count)
		maps->closed[item->file] =
			item->closed ? (file_version){item->stat.inode, item->stat.ctime_ns} : (file_version){0};
}

static void on_first(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	uint32_t news = 0;
	maps->mapped = 0;
	for (uint32_t i = 0; i < maps->count; i++) {
		look_item *item = &maps->items[i];
		keep_closed(maps, item);
		maps->mapped += item->mapped && item->open;
		item->again = is_news(engine, item);
		news += item->again;
	}
	assert(news <= maps->count && maps->mapped <= maps->count);
	if (news > 0 && !engine->closing)
		uv_timer_start(&maps->rest, on_rest, STEADY_MS, 0);
	else
		end(engine);
}

/* ---- which files */

static void add(srv_engine *engine, uint32_t file, bool mapped)
{
	struct engine_maps *maps = engine->sources->maps;
	const srv_file *f = srv_graph_at(engine->graph, file);
	assert(file < srv_graph_count(engine->graph) && f->root < engine->roots->count);
	char *path = strndup(f->path.data, f->path.len);
	if (!path || !HOB_ROOM(maps->items, maps->capacity, maps->count)) {
		free(path);
		return;
	}
	const file_version *closed = file < maps->closed_count ? &maps->closed[file] : &(file_version){0};
	maps->items[maps->count++] = (look_item){.file = file,
											 .mapped = mapped,
											 .closed = !mapped && closed->inode == f->stat.inode &&
													   closed->ctime_ns == f->stat.ctime_ns,
											 .root_fd = engine->roots->fds[f->root],
											 .path = path,
											 .changed = f->changed,
											 .most = engine->options.pool.source_limit,
											 .stat = f->stat};
}

/* A file beyond the first `count` of the graph: no event has reported it, or no model has used it yet. */
static void add_new(srv_engine *engine, const srv_mapped *mapped, uint32_t count)
{
	for (uint32_t i = 0; i < engine->options.root_count; i++) {
		hob_str root = hob_str_of(engine->options.roots[i].path), path = hob_str_of(mapped->path);
		srv_stat stat;
		if (!hob_str_starts(path, root) || path.data[root.len] != '/')
			continue;
		path = hob_str_sub(path, root.len + 1, path.len);
		bool there = srv_stat_path(engine->roots->fds[i], path, &stat) && stat.inode == mapped->inode;
		uint32_t file = there ? srv_engine_file(engine, i, path) : HOB_NONE;
		if (file != HOB_NONE && (file >= count || !srv_graph_at(engine->graph, file)->exists))
			add(engine, file, true);
	}
}

static void choose(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	uint32_t count = srv_graph_count(engine->graph), recent = 0;
	int64_t since_ns = (srv_clock_ms(CLOCK_REALTIME) - RECENT_S * 1000ll) * 1000000;
	file_version *closed = count > maps->closed_count ? realloc(maps->closed, count * sizeof *closed) : NULL;
	if (closed) {
		memset(closed + maps->closed_count, 0, (count - maps->closed_count) * sizeof *closed);
		maps->closed = closed;
		maps->closed_count = count;
	}
	for (uint32_t i = 0; i < count; i++) {
		const srv_file *f = srv_graph_at(engine->graph, i);
		if (!f->exists)
			continue;
		bool mapped = srv_maps_at(&maps->found, f->stat.inode);
		bool asked = f->stat.ctime_ns > since_ns && recent < RECENT_MAX;
		recent += asked;
		if (mapped || asked)
			add(engine, i, mapped);
	}
	assert(recent <= RECENT_MAX && count <= srv_graph_count(engine->graph));
	for (uint32_t i = 0; i < maps->found.count; i++)
		add_new(engine, &maps->found.items[i], count);
}

static void find(srv_engine *engine)
{
	srv_maps_find(&engine->sources->maps->found);
}

static void on_found(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	if (engine->sources->ready && !engine->closing)
		choose(engine);
	srv_maps_release(&maps->found);
	srv_engine_begin_work(engine, &maps->work, read_items, on_first);
}

static void look(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	assert(maps->tries < TRIES && maps->begun <= maps->asked);
	drop_items(maps);
	maps->tries++;
	srv_engine_begin_work(engine, &maps->work, find, on_found);
}

static void begin(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	assert(!maps->under_way && maps->begun < maps->asked);
	maps->under_way = true;
	maps->tries = 0;
	maps->begun = maps->asked;
	maps->begun_at_ms = uv_now(engine->loop);
	look(engine);
}

uint64_t srv_engine_look_at_maps(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	maps->asked++;
	if (!maps->under_way && !engine->closing)
		begin(engine);
	return maps->asked;
}

bool srv_engine_has_maps(const srv_engine *engine)
{
	return engine->sources->maps->mapped > 0;
}

bool srv_engine_is_rested(const srv_engine *engine, const srv_file *f)
{
	const struct engine_maps *maps = engine->sources->maps;
	srv_stat now;
	bool there = maps->rested_count > 0 && srv_stat_path(engine->roots->fds[f->root], f->path, &now);
	for (uint32_t i = 0; there && i < maps->rested_count; i++)
		if (maps->rested[i].inode == now.inode && maps->rested[i].ctime_ns == now.ctime_ns)
			return true;
	return false;
}

void srv_engine_keep_looking(srv_engine *engine)
{
	const struct engine_maps *maps = engine->sources->maps;
	if (maps->mapped > 0 && !maps->under_way && uv_now(engine->loop) >= maps->begun_at_ms + AGAIN_MS)
		srv_engine_look_at_maps(engine);
}

struct engine_maps *srv_engine_maps_new(void)
{
	return calloc(1, sizeof(struct engine_maps));
}

void srv_engine_start_maps(srv_engine *engine)
{
	struct engine_maps *maps = engine->sources->maps;
	uv_timer_init(engine->loop, &maps->rest);
	srv_engine_add_handle(engine, (uv_handle_t *)&maps->rest);
}

void srv_engine_maps_free(struct engine_maps *maps)
{
	if (!maps)
		return;
	drop_items(maps);
	free(maps->items);
	free(maps->closed);
	free(maps->rested);
	free(maps);
}
