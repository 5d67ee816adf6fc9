#include "engine_sources.h"

#include "../../core/base/json_write.h"
#include "../fs/fd.h"
#include "../fs/spelling.h"
#include "../log/log.h"
#include "engine_changeset.h"
#include "engine_move.h"
#include "engine_publish.h"
#include "engine_requests.h"
#include "engine_root.h"
#include "engine_turn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- files */

static void dirty_dependents(srv_engine *engine, uint32_t file, srv_priority priority, const char *kind)
{
	uint32_t count;
	const uint32_t *dependents = srv_graph_dependents(engine->graph, file, &count);
	srv_engine_dirty_all(engine, dependents, count, priority, kind, file);
}

static bool settings_reach(const srv_engine *engine, uint32_t root, hob_str path, uint32_t id)
{
	const asset *a = srv_asset_at(engine, id);
	return a->root == root && srv_settings_reaches(path, hob_str_of(a->path));
}

static bool is_settings(hob_str path)
{
	return hob_str_ends_nocase(path, HOB_STR("cook.json"));
}

static void dirty_by_settings(srv_engine *engine, uint32_t file, srv_priority priority)
{
	const srv_file *f = srv_graph_at(engine->graph, file);
	if (!is_settings(f->path))
		return;
	hob_str model = srv_settings_sidecar_of(f->path);
	if (model.len > 0) {
		uint32_t source = srv_graph_find(engine->graph, f->root, model);
		uint32_t id = source != HOB_NONE ? srv_graph_at(engine->graph, source)->asset : HOB_NONE;
		if (id == HOB_NONE || !srv_asset_is_alive(&srv_asset_at(engine, id)->life))
			id = srv_engine_settings_heir(engine, f->root, model);
		srv_engine_dirty_all(engine, &id, id != HOB_NONE, priority, "settings", file);
		return;
	}
	hob_own uint32_t *reached = malloc((engine->assets->count + 1) * sizeof *reached);
	uint32_t count = 0;
	for (uint32_t i = 0; i < engine->assets->count; i++)
		if (settings_reach(engine, f->root, f->path, i) && reached)
			reached[count++] = i;
		else if (settings_reach(engine, f->root, f->path, i))
			srv_asset_dirty(engine, i, priority, "settings", f->path);
	assert(count <= engine->assets->count);
	srv_engine_dirty_all(engine, reached, count, priority, "settings", file);
}

static bool is_asset(const srv_engine *engine, const srv_file *f)
{
	return f->asset != HOB_NONE && srv_asset_is_alive(&srv_asset_at(engine, f->asset)->life);
}

static bool is_wanted(const srv_engine *engine, uint32_t in, hob_str path)
{
	const srv_engine_root *root = &engine->options.roots[in];
	return srv_pool_importer_for(engine->jobs->pool, path) &&
		   (!root->include || hob_glob_match_any(root->include, path)) &&
		   !hob_glob_match_any(root->exclude, path);
}

static void remove_asset(srv_engine *engine, uint32_t id)
{
	asset *a = srv_asset_at(engine, id);
	if (!srv_asset_is_alive(&a->life))
		return;
	assert(srv_graph_at(engine->graph, a->file)->asset == id);
	srv_engine_join_or_leave(engine, id, true, true);
	if (!srv_engine_apply(engine, id, (srv_asset_event){.kind = SRV_ASSET_GONE}).publish)
		return;
	srv_publish_removed(engine, a);
	srv_graph_set_deps(engine->graph, id, NULL, 0);
	srv_engine_forget_inputs(a);
	hob_buf_clear(&a->error);
	hob_buf_clear(&a->why);
}

static void file_appeared(srv_engine *engine, uint32_t file, const srv_stat *stat, srv_priority priority)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	bool existed = f->exists;
	f->exists = true;
	/* A model that no scan lists is only what other models use. */
	bool was_asset = is_asset(engine, f);
	bool model = (f->listed || was_asset) && is_wanted(engine, f->root, f->path);
	if (existed && srv_stat_equal(&f->stat, stat) && priority == SRV_PRIORITY_BACKGROUND &&
		(was_asset || !model))
		return;
	/* After an event the bytes may differ even if the stat data is the same. */
	if (!srv_stat_equal(&f->stat, stat) || priority != SRV_PRIORITY_BACKGROUND)
		f->has_digest = false;
	f->changed = srv_graph_tick(engine->graph);
	if (is_settings(f->path))
		srv_settings_forget(engine->roots->caches[f->root]);
	bool known_version = f->has_digest; /* known from an earlier run, and unchanged */
	f->stat = *stat;
	if (model) {
		uint32_t id = srv_engine_add_asset(engine, file);
		if (id == HOB_NONE)
			return;
		asset *a = srv_asset_at(engine, id);
		a->importer = srv_pool_importer_for(engine->jobs->pool, hob_str_of(a->path));
		if (!was_asset || !known_version || !a->last.known)
			srv_asset_found(engine, id, priority);
		if (!was_asset)
			srv_engine_move_came(engine, id, stat);
	} else if (f->asset != HOB_NONE) {
		remove_asset(engine, f->asset); /* an asset of an earlier configuration */
	}
	if (!known_version) {
		dirty_dependents(engine, file, priority, existed ? "changed" : "appeared");
		/* At the end of the first scan, each record is checked against the files and settings. */
		if (engine->sources->ready)
			dirty_by_settings(engine, file, priority);
	}
}

static void file_gone(srv_engine *engine, uint32_t file, srv_priority priority)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	bool existed = f->exists, known = f->has_digest;
	srv_stat was = f->stat;
	hob_sha256 bytes = f->digest;
	f->exists = f->has_digest = false;
	if (is_settings(f->path))
		srv_settings_forget(engine->roots->caches[f->root]);
	if (f->listed) {
		engine->roots->shown[f->root].files--;
		srv_engine_skip_file(engine, f->root, f->path, false);
		srv_engine_show_skipped(engine, f->root);
	}
	f->listed = false;
	f->mark = 0;
	engine->publish.view = true;
	f->stat = (srv_stat){0};
	f->changed = srv_graph_tick(engine->graph);
	uint32_t id = f->asset;
	hob_error error;
	if (existed && !srv_store_delete_file(engine->store, engine->roots->shown[f->root].name, f->path, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	engine->publish.rows = true;
	if (id != HOB_NONE) {
		asset *a = srv_asset_at(engine, id);
		bool skipped = srv_asset_is_skipped(a), alive = srv_asset_is_alive(&a->life);
		if (!known && a->last.known)
			bytes = a->last.source;
		known = known || a->last.known;
		remove_asset(engine, id);
		if (alive && !srv_asset_is_alive(&a->life))
			srv_engine_move_gone(engine, id, &was, known ? &bytes : NULL);
		if (skipped)
			srv_engine_show_skipped(engine, f->root);
	}
	if (existed) {
		dirty_dependents(engine, file, priority, "removed");
		dirty_by_settings(engine, file, priority);
	}
}

/* ---- watch callbacks */

/* Whether the file counts as existing: an asset does until the event, even if a cook missed its source. */
static bool is_known(const srv_engine *engine, const srv_file *f)
{
	return f->exists || is_asset(engine, f);
}

/* Ends a scan. A failed scan also counts for requests that wait for one. */
static void end_scan(srv_engine *engine, uint32_t root)
{
	assert(root < engine->sources->root_count);
	engine->sources->scan_rounds[root]++;
	srv_engine_scan_for_waiters(engine, root);
	engine->counters.sources.scans++;
	engine->publish.view = true;
	/* Workers start now: earlier they would have competed with the scan. */
	srv_pool_fill(engine->jobs->pool);
	srv_engine_stir(engine);
}

static void compare_listed(srv_engine *engine, uint32_t root, const srv_file_entry *entry)
{
	srv_engine_skip_file(engine, root, entry->path, true);
	bool wanted = is_wanted(engine, root, entry->path) || is_settings(entry->path);
	uint32_t file = wanted ? srv_graph_file(engine->graph, root, entry->path)
						   : srv_graph_find(engine->graph, root, entry->path);
	if (file == HOB_NONE)
		return;
	srv_file *f = srv_graph_at(engine->graph, file);
	assert(f->root == root && engine->sources->intake.mark == engine->sources->scan_mark);
	f->mark = engine->sources->intake.mark;
	f->listed = true;
	file_appeared(engine, file, &entry->stat, SRV_PRIORITY_BACKGROUND);
}

static void compare_known(srv_engine *engine, uint32_t root, uint32_t file)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	if (f->root != root || f->mark == engine->sources->intake.mark)
		return;
	if (srv_watch_is_unread(engine->sources->watch, f->path)) {
		engine->roots->shown[root].files += f->listed;
		return;
	}
	f->listed = false;
	/* Asks the disk for dependencies behind a link or in an ignored folder, which no scan lists. */
	uint32_t used;
	srv_graph_dependents(engine->graph, file, &used);
	srv_stat stat;
	if (used > 0)
		srv_watch_add_file(engine->sources->watch, root, f->path);
	bool unlisted = (f->exists || used > 0) && !is_asset(engine, f);
	if (unlisted && srv_stat_path(engine->roots->fds[root], f->path, &stat))
		file_appeared(engine, file, &stat, SRV_PRIORITY_BACKGROUND);
	else if (is_known(engine, f) && !(unlisted && srv_is_passing(errno)))
		file_gone(engine, file, SRV_PRIORITY_BACKGROUND);
}

/* Keeps a result of an earlier run only if each input still is as its record says. */
static void check(srv_engine *engine, uint32_t id)
{
	asset *a = srv_asset_at(engine, id);
	if (srv_asset_is_alive(&a->life) && !srv_engine_root_is_away(engine, a->root) &&
		!srv_queue_has(engine->jobs->queue, id) && !a->life.job && !srv_asset_is_current(engine, a))
		srv_asset_dirty(engine, id, SRV_PRIORITY_BACKGROUND, "check", (hob_str){0});
	else if (a->shown.unjudged)
		srv_publish_view_later(engine, id);
}

/* Like srv_engine_has_time, but reads the clock only once in many calls. */
static bool has_time_for_many(srv_engine *engine, uint32_t done)
{
	return done % 16 != 0 || srv_engine_has_time(engine, done);
}

/* Compares the scan's list with the known files. False: the next turn continues. */
static bool compare_some(srv_engine *engine, uint32_t root, const srv_file_entry *files, size_t count)
{
	engine_intake *intake = &engine->sources->intake;
	uint32_t done = 0;
	for (; intake->next < count; intake->next++) {
		if (!has_time_for_many(engine, done++))
			return false;
		compare_listed(engine, root, &files[intake->next]);
	}
	if (intake->file == 0)
		engine->roots->shown[root].files = count;
	/* Files that a job found after the scan are newer than the list. */
	for (; intake->file < intake->files; intake->file++) {
		if (!has_time_for_many(engine, done++))
			return false;
		compare_known(engine, root, intake->file);
	}
	return true;
}

static bool all_scanned(const srv_engine *engine)
{
	bool all = true;
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		all = all && engine->sources->scanned[i];
	return all;
}

/* Checks all assets after the last of the first scans. False: the next turn continues. */
static bool become_ready(srv_engine *engine)
{
	uint32_t done = 0, *checked = &engine->sources->intake.checked;
	if (engine->sources->ready || !all_scanned(engine))
		return true;
	for (; *checked < engine->assets->count; ++*checked) {
		if (!has_time_for_many(engine, done++))
			return false;
		check(engine, *checked);
	}
	if (!srv_engine_make_views(engine))
		return false;
	engine->sources->ready = true;
	srv_engine_count_waiting(engine);
	srv_engine_show(engine);
	srv_engine_tell_ready(engine);
	return true;
}

static void begin_scan(srv_engine *engine, uint32_t root, size_t count)
{
	engine_intake *intake = &engine->sources->intake;
	*intake = (engine_intake){.open = true, .checked = intake->checked};
	srv_engine_check_root(engine, root);
	if (count == 0 && !srv_watch_is_unread(engine->sources->watch, (hob_str){0}) &&
		srv_engine_root_is_doubtful(engine, root)) {
		srv_engine_lose_empty_root(engine, root);
		return;
	}
	intake->back = srv_engine_find_root(engine, root);
	srv_engine_changeset_find(engine, root);
	srv_engine_gather_scan(engine, root);
	intake->gathers = srv_engine_gathers(engine, root);
	intake->mark = ++engine->sources->scan_mark;
	intake->files = srv_graph_count(engine->graph);
	srv_engine_skip_none(engine, root);
	srv_engine_skip_links(engine, root);
}

static bool compare(srv_engine *engine, uint32_t root, const srv_file_entry *files, size_t count)
{
	if (engine->sources->intake.gathers)
		srv_engine_gather_more(engine, root);
	bool over = compare_some(engine, root, files, count);
	srv_engine_gathered(engine);
	if (!over)
		return false;
	srv_engine_take_list(engine, root, engine->sources->intake.mark);
	srv_engine_show_skipped(engine, root);
	if (engine->sources->intake.back)
		srv_engine_welcome_root(engine, root);
	return true;
}

static bool on_scanned(void *user, uint32_t root, const srv_file_entry *files, size_t count)
{
	srv_engine *engine = user;
	assert(root < engine->options.root_count);
	engine_intake *intake = &engine->sources->intake;
	if (engine->closing)
		return true;
	if (!intake->open)
		begin_scan(engine, root, count);
	/* The root may be lost during the comparison. */
	bool compares = !intake->compared && !srv_engine_root_is_away(engine, root);
	if (compares && !compare(engine, root, files, count))
		return false;
	intake->compared = engine->sources->scanned[root] = true;
	if (!become_ready(engine))
		return false;
	intake->open = false;
	end_scan(engine, root);
	return true;
}

static void on_gone(void *user, uint32_t root, const char *why)
{
	srv_engine *engine = user;
	assert(root < engine->options.root_count);
	if (engine->closing)
		return;
	srv_engine_lose_root(engine, root, why);
	engine->sources->scanned[root] = true;
	while (!become_ready(engine))
		;
	end_scan(engine, root);
}

/* True for paths that a scan lists: not hidden, and not behind a link to a folder. */
static bool is_listed(const srv_engine *engine, const srv_file *f)
{
	for (size_t i = 0; i < f->path.len; i++)
		if (f->path.data[i] == '.' && (i == 0 || f->path.data[i - 1] == '/'))
			return false;
	char dir[PATH_MAX];
	hob_str parent = hob_path_dir(f->path);
	snprintf(dir, sizeof dir, "%.*s", HOB_FMT(parent));
	srv_own_fd fd = srv_open_beneath(engine->roots->fds[f->root], dir, O_PATH | O_DIRECTORY, false);
	return fd >= 0;
}

void srv_engine_file_there(srv_engine *engine, uint32_t file, const srv_stat *stat)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	if (!f->listed && !srv_spelling_is(f->path) && is_listed(engine, f)) {
		f->listed = true;
		engine->roots->shown[f->root].files++;
		srv_engine_skip_file(engine, f->root, f->path, true);
		srv_engine_show_skipped(engine, f->root);
		engine->publish.view = true;
	}
	file_appeared(engine, file, stat, SRV_PRIORITY_CHANGED);
}

/* A name was added or removed: checks models that looked for another spelling of it. */
static void answer_spelling(srv_engine *engine, uint32_t root, hob_str path)
{
	char room[PATH_MAX];
	srv_stat stat;
	bool asked = srv_graph_spellings(engine->graph) > 0;
	hob_str question = asked ? srv_spelling_of(path, room) : (hob_str){0};
	uint32_t file = question.len > 0 ? srv_graph_find(engine->graph, root, question) : HOB_NONE;
	srv_file *f = file != HOB_NONE ? srv_graph_at(engine->graph, file) : NULL;
	if (!f)
		return;
	bool there = srv_stat_path(engine->roots->fds[root], question, &stat);
	if (there && !(f->exists && srv_stat_equal(&f->stat, &stat)))
		file_appeared(engine, file, &stat, SRV_PRIORITY_CHANGED);
	else if (!there && f->exists && !srv_is_passing(errno))
		file_gone(engine, file, SRV_PRIORITY_CHANGED);
}

/* Requests a scan, which compares all files with the known ones and repeats while it cannot read this one. */
static void look_again(srv_engine *engine, uint32_t root, hob_str path)
{
	srv_log(SRV_LOG_WARNING, "rescan", "%.*s/%.*s cannot be looked at: %s; everything there is scanned again",
			HOB_FMT(engine->roots->shown[root].name), HOB_FMT(path), strerror(errno));
	srv_watch_rescan(engine->sources->watch, root);
}

/* Checks the known files below a changed folder. False: the next turn continues. */
static bool folder_changed(srv_engine *engine, uint32_t root, hob_str folder, uint32_t *done)
{
	engine_intake *intake = &engine->sources->intake;
	if (intake->file == 0) {
		srv_engine_find_below(engine, root, folder);
		intake->files = srv_graph_count(engine->graph);
	}
	assert(intake->file <= intake->files && intake->files <= srv_graph_count(engine->graph));
	for (; intake->file < intake->files; intake->file++) {
		uint32_t file = intake->file;
		srv_file *f = srv_graph_at(engine->graph, file);
		srv_stat stat;
		if (f->root != root || !hob_str_starts(f->path, folder) ||
			(!is_known(engine, f) && !f->listed && !srv_spelling_is(f->path)))
			continue;
		if (!srv_engine_has_time(engine, (*done)++))
			return false;
		f->mark = 0;
		bool there = srv_stat_path(engine->roots->fds[root], f->path, &stat);
		if (there && (!is_asset(engine, f) || is_listed(engine, f)))
			srv_engine_file_there(engine, file, &stat);
		else if (!there && srv_is_passing(errno))
			look_again(engine, root, f->path);
		else
			file_gone(engine, file, SRV_PRIORITY_CHANGED);
	}
	intake->file = 0;
	return true;
}

/* Takes the paths that the watch reports. False: the next turn continues. */
static bool take_changes(srv_engine *engine, uint32_t root, const hob_str *paths, size_t count)
{
	engine_intake *intake = &engine->sources->intake;
	uint32_t done = 0, known;
	assert(intake->next <= count);
	for (; intake->next < count; intake->next++) {
		if (!srv_engine_has_time(engine, done++))
			return false;
		hob_str path = paths[intake->next];
		srv_stat stat;
		bool folder = path.len > 0 && path.data[path.len - 1] == '/';
		bool there = !folder && srv_stat_path(engine->roots->fds[root], path, &stat);
		int code = errno;
		if (!folder && !there && srv_is_passing(code)) {
			look_again(engine, root, path);
			continue;
		}
		if (!folder)
			srv_engine_skip_link(engine, root, path, !there && code == EXDEV);
		/* Files that vanished with their root were not deleted. */
		if (srv_engine_root_is_away(engine, root) || (!there && !srv_engine_root_holds(engine, root))) {
			srv_watch_rescan(engine->sources->watch, root);
			return true;
		}
		answer_spelling(engine, root, hob_str_sub(path, 0, path.len - folder));
		if (folder) {
			if (!folder_changed(engine, root, path, &done))
				return false;
		} else if (there) {
			uint32_t file = srv_engine_file(engine, root, path);
			if (file != HOB_NONE)
				srv_engine_file_there(engine, file, &stat);
		} else if ((known = srv_engine_find_file(engine, root, path)) != HOB_NONE) {
			file_gone(engine, known, SRV_PRIORITY_CHANGED);
		}
	}
	return true;
}

static bool on_changed(void *user, uint32_t root, const hob_str *paths, size_t count)
{
	srv_engine *engine = user;
	assert(root < engine->options.root_count);
	engine_intake *intake = &engine->sources->intake;
	if (engine->closing)
		return true;
	if (!intake->open) {
		*intake = (engine_intake){.open = true, .checked = intake->checked};
		srv_engine_gather(engine, root, paths, count);
		intake->gathers = srv_engine_gathers(engine, root);
	} else if (intake->gathers) {
		srv_engine_gather_more(engine, root);
	}
	bool over = take_changes(engine, root, paths, count);
	srv_engine_gathered(engine);
	srv_engine_stir(engine);
	intake->open = !over;
	return over;
}

static void on_reset(void *user, uint32_t root, const char *why)
{
	srv_engine *engine = user;
	assert(root < engine->options.root_count);
	engine->counters.sources.resets++;
	srv_log(SRV_LOG_WARNING, "rescan", "%.*s: %s", HOB_FMT(engine->roots->shown[root].name), why);
	hob_own_buf data = {0};
	hob_json_object(&data, HOB_JSON("root", engine->roots->shown[root].name), HOB_JSON("reason", why));
	srv_publish_event(&engine->publish, "reset", (hob_str){0}, hob_buf_str(&data));
}

static void on_passed(void *user, uint32_t root, uint64_t number, bool seen)
{
	srv_engine *engine = user;
	assert(root < engine->options.root_count);
	if (!engine->closing)
		srv_engine_pass_mark(engine, root, number, seen);
}

static void on_mode(void *user, uint32_t root, srv_watch_mode mode, const char *why)
{
	srv_engine *engine = user;
	assert(root < engine->options.root_count);
	static const char *const probes[] = {
		[WATCH_PROBE_OFF] = "off",
		[WATCH_PROBE_ARRIVES] = "passed",
		[WATCH_PROBE_SILENT] = "failed",
		[WATCH_PROBE_IMPOSSIBLE] = "not-possible",
	};
	srv_watch_facts facts;
	srv_engine_set_root_mode(engine, root, mode == SRV_WATCH_POLLING ? "polling" : "inotify", why);
	srv_watch_tell(engine->sources->watch, root, &facts);
	engine->roots->shown[root].file_system = facts.file_system;
	engine->roots->shown[root].probe = probes[facts.probed];
	engine->roots->shown[root].poll_ms = facts.poll_ms;
	if (mode == SRV_WATCH_POLLING)
		srv_log(SRV_LOG_WARNING, "watching", "%.*s by polling: %s", HOB_FMT(engine->roots->shown[root].name),
				why ? why : "");
}

bool srv_engine_start_watching(srv_engine *engine, hob_error *err)
{
	srv_watch_callbacks callbacks = {engine, on_scanned, on_changed, on_reset, on_mode, on_gone, on_passed};
	srv_watch_options options = {.force_polling = engine->options.watch_mode == SRV_ENGINE_POLL,
								 .trust_events = engine->options.watch_mode == SRV_ENGINE_EVENTS,
								 .probe = engine->options.watch_mode == SRV_ENGINE_AUTO &&
										  !engine->options.no_probe,
								 .poll_ms = engine->options.poll_ms,
								 .held = true};
	if (!srv_watch_new(engine->loop, &options, &callbacks, &engine->sources->watch, err))
		return false;
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		if (!srv_watch_add_root(engine->sources->watch, i, engine->options.roots[i].path, err))
			return false;
	return true;
}

/* ---- the sweep */

/* Some changes give no event: writes through a hard link in another place, or through a mapping whose
 * descriptor is closed. So all known files are checked in turn, a few at a time. */

enum { AT_LEAST = 32, AROUND_S = 60, MANY = 512, AROUND_MANY_S = 300 };

/* Whether an event will follow: a file that just changed, or is open for writing, causes one; a write through
 * a memory mapping causes none at its end. */
static bool event_may_come(const srv_engine *engine, const srv_file *f, const srv_stat *now)
{
	if (srv_clock_ms(CLOCK_REALTIME) - now->ctime_ns / 1000000 < 2000)
		return true;
	struct stat info;
	srv_own_fd fd = srv_open_beneath(engine->roots->fds[f->root], f->path.data, O_RDONLY, true);
	return fd >= 0 && fstat(fd, &info) == 0 && srv_is_being_written(fd, &info);
}

/* Number of files to check in this second, limited so that the turn stays short. */
static uint32_t due_of(uint32_t count)
{
	uint32_t due = count / AROUND_S, slow = count / AROUND_MANY_S;
	return AT_LEAST + (due < MANY ? due : slow > MANY ? slow : MANY);
}

void srv_engine_sweep(srv_engine *engine)
{
	uint32_t count = engine->sources->ready ? srv_graph_count(engine->graph) : 0;
	uint32_t due = due_of(count);
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
		file_appeared(engine, engine->sources->swept, &now, SRV_PRIORITY_CHANGED);
	}
	if (found == HOB_NONE)
		return;
	const srv_file *last = srv_graph_at(engine->graph, found);
	srv_log(SRV_LOG_INFO, "found", "%.*s/%.*s: no event reported this change",
			HOB_FMT(engine->roots->shown[last->root].name), HOB_FMT(last->path));
}

/* ---- life */

static void on_watch_closed(void *user)
{
	srv_engine *engine = user;
	engine->sources->watch = NULL;
	srv_engine_close_when_idle(engine);
}

void srv_engine_close_watch(srv_engine *engine)
{
	if (engine->sources->watch)
		srv_watch_close(engine->sources->watch, on_watch_closed, engine);
}

struct engine_sources *srv_engine_sources_new(uint32_t roots)
{
	struct engine_sources *sources = calloc(1, sizeof *sources);
	if (!sources)
		return NULL;
	sources->root_count = roots;
	sources->scanned = calloc(roots + 1, sizeof *sources->scanned);
	sources->scan_rounds = calloc(roots + 1, sizeof *sources->scan_rounds);
	sources->listed = calloc(roots + 1, sizeof *sources->listed);
	sources->skipped = srv_engine_skipped_new(roots);
	sources->maps = srv_engine_maps_new();
	if (sources->scanned && sources->scan_rounds && sources->listed && sources->skipped && sources->maps)
		return sources;
	srv_engine_sources_free(sources);
	return NULL;
}

void srv_engine_sources_free(struct engine_sources *sources)
{
	if (!sources)
		return;
	for (uint32_t i = 0; sources->listed && i < sources->root_count; i++)
		srv_file_list_drop(sources->listed[i].list);
	srv_engine_skipped_free(sources->skipped, sources->root_count);
	free(sources->scanned);
	free(sources->scan_rounds);
	free(sources->listed);
	free(sources->young);
	srv_engine_maps_free(sources->maps);
	free(sources);
}
