#include "engine_root.h"
#include "engine_sources.h"

#include "../log/log.h"

#include <fcntl.h>
#include <unistd.h>

/* Some changes give no event: writes through a hard link in another place, or through a mapping whose
 * descriptor is closed. So all known files are checked in turn, a few at a time. */

enum { AT_LEAST = 32, AROUND_S = 60, MANY = 512, AROUND_MANY_S = 300 };

/* Whether an event will follow: a file that just changed, or is open for writing, causes one; a write through
 * a memory mapping causes none at its end. */
static bool event_may_come(const srv_engine *engine, const srv_file *f, const srv_stat *now)
{
	if (srv_engine_now_ms() - now->ctime_ns / 1000000 < 2000)
		return true;
	struct stat info;
	int fd = srv_open_beneath(engine->roots->fds[f->root], f->path.data, O_RDONLY, true);
	bool written = fd >= 0 && fstat(fd, &info) == 0 && srv_is_being_written(fd, &info);
	if (fd >= 0)
		close(fd);
	return written;
}

/* Number of files to check in this turn, limited so that the turn stays short. */
static uint32_t due_of(uint32_t count, uint32_t period_ms)
{
	uint32_t due = (uint32_t)((uint64_t)count * period_ms / (AROUND_S * 1000));
	uint32_t slow = (uint32_t)((uint64_t)count * period_ms / (AROUND_MANY_S * 1000));
	return AT_LEAST + (due < MANY ? due : slow > MANY ? slow : MANY);
}

void srv_engine_sweep(srv_engine *engine, uint32_t period_ms)
{
	uint32_t count = engine->sources->ready ? srv_graph_count(engine->graph) : 0;
	uint32_t due = due_of(count, period_ms);
	uint32_t found = HOB_NONE;
	srv_engine_keep_looking(engine);
	for (uint32_t i = 0; i < due && i < count; i++) {
		engine->sources->swept = (engine->sources->swept + 1) % count;
		const srv_file *f = srv_graph_at(engine->graph, engine->sources->swept);
		srv_stat now;
		if (!f->exists || engine->roots->shown[f->root].poll_ms > 0 ||
			!srv_stat_path(engine->roots->fds[f->root], f->path, &now) || srv_stat_equal(&now, &f->stat) ||
			event_may_come(engine, f, &now))
			continue;
		found = engine->sources->swept;
		srv_engine_file_appeared(engine, engine->sources->swept, &now, SRV_PRIORITY_CHANGED);
	}
	if (found == HOB_NONE)
		return;
	const srv_file *last = srv_graph_at(engine->graph, found);
	srv_log(SRV_LOG_INFO, "found", "%.*s/%.*s: no event reported this change",
			HOB_FMT(engine->roots->shown[last->root].name), HOB_FMT(last->path));
}
