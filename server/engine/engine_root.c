#include "engine_root.h"

#include "../../core/base/json_write.h"
#include "../fs/fd.h"
#include "../log/log.h"
#include "engine_changeset.h"
#include "engine_publish.h"
#include "engine_sources.h"
#include "engine_turn.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A missing root is not a deletion: its assets are listed as missing and their outputs are still served,
 * until the folder is back and is compared as after any scan.
 *
 *             lose: it cannot be opened or read, or is another folder without a file
 *   THERE  ------------------------------------------------------------------------->  AWAY
 *          <-------------------------------------------------------------------------
 *             find: a scan listed it */

/* ---- published and stored state */

static void show(srv_engine *engine, uint32_t root)
{
	assert(root < engine->roots->count);
	const root_state *state = &engine->roots->states[root];
	bool away = srv_engine_root_is_away(engine, root);
	engine->roots->shown[root].mode = away ? "missing" : state->mode;
	engine->roots->shown[root].note = hob_str_of(away ? state->away : state->note ? state->note : "");
	engine->publish.view = true;
}

void srv_engine_set_root_mode(srv_engine *engine, uint32_t root, const char *mode, const char *note)
{
	root_state *state = &engine->roots->states[root];
	free(state->note);
	state->note = strdup(note ? note : "");
	state->mode = mode;
	show(engine, root);
}

void srv_engine_store_root(srv_engine *engine, uint32_t root)
{
	assert(root < engine->roots->count);
	const root_state *state = &engine->roots->states[root];
	srv_root_row row = {engine->roots->shown[root].name, engine->roots->shown[root].path, state->device,
						state->inode, engine->roots->shown[root].missing_since_ms};
	hob_error error;
	srv_engine_stored(engine, srv_store_put_root(engine->store, &row, &error), &error);
}

static void publish_root(srv_engine *engine, uint32_t root, const char *state)
{
	const srv_view_root *r = &engine->roots->shown[root];
	hob_own_buf data = {0};
	hob_json_put(&data, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("root", r->name), HOB_JSON("state", state),
				 HOB_JSON_TIME("missing_since", r->missing_since_ms),
				 HOB_JSON("reason", r->missing_since_ms ? r->note : (hob_str){0}), HOB_JSON_CLOSE('}'));
	srv_publish_event(&engine->publish, "root", (hob_str){0}, hob_buf_str(&data));
}

/* ---- existence and identity */

typedef enum look { LOOK_SAME, LOOK_OTHER, LOOK_GONE } look;

static look look_at(const srv_engine *engine, uint32_t root)
{
	struct stat open_one, there;
	char path[PATH_MAX];
	/* The dot also checks the right to enter the folder. */
	snprintf(path, sizeof path, "%s/.", engine->options.roots[root].path);
	if (stat(path, &there) != 0)
		return srv_is_passing(errno) ? LOOK_SAME : LOOK_GONE;
	bool same = fstat(engine->roots->fds[root], &open_one) != 0 ||
				(there.st_dev == open_one.st_dev && there.st_ino == open_one.st_ino);
	return same ? LOOK_SAME : LOOK_OTHER;
}

bool srv_engine_root_holds(const srv_engine *engine, uint32_t root)
{
	return look_at(engine, root) == LOOK_SAME;
}

/* Reopens a root that is another folder of the same name, after it was moved, deleted or mounted over. The
 * descriptor keeps its number, because jobs in libuv's pool use it. */
void srv_engine_check_root(srv_engine *engine, uint32_t root)
{
	assert(root < engine->roots->count);
	if (look_at(engine, root) == LOOK_SAME)
		return;
	srv_own_fd fd = open(engine->options.roots[root].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	dup3(fd, engine->roots->fds[root], O_CLOEXEC);
	srv_pool_set_root(engine->jobs->pool, root, fd);
	srv_settings_forget(engine->roots->caches[root]);
	if (!srv_engine_root_is_away(engine, root))
		srv_log(SRV_LOG_WARNING, "watching", "%.*s is another folder now",
				HOB_FMT(engine->roots->shown[root].name));
	for (uint32_t i = 0; i < engine->assets->count; i++)
		if (srv_asset_at(engine, i)->root == root && srv_asset_at(engine, i)->life.job)
			srv_asset_dirty(engine, i, SRV_PRIORITY_CHANGED, "changed",
							hob_str_of(srv_asset_at(engine, i)->path));
}

static bool has_assets(const srv_engine *engine, uint32_t root)
{
	for (uint32_t i = 0; i < engine->assets->count; i++)
		if (srv_asset_at(engine, i)->root == root && srv_asset_is_alive(&srv_asset_at(engine, i)->life))
			return true;
	return false;
}

bool srv_engine_root_is_doubtful(const srv_engine *engine, uint32_t root)
{
	const root_state *state = &engine->roots->states[root];
	struct stat there;
	bool same = fstat(engine->roots->fds[root], &there) == 0 && there.st_dev == state->device &&
				there.st_ino == state->inode;
	return !same && has_assets(engine, root);
}

/* ---- lost and found */

static void lose_assets(srv_engine *engine, uint32_t root, bool tell)
{
	hob_own uint32_t *lost = malloc((engine->assets->count + 1) * sizeof *lost);
	uint32_t count = 0;
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		asset *a = srv_asset_at(engine, i);
		if (!srv_asset_is_alive(&a->life) || a->root != root)
			continue;
		if (a->changeset.member)
			srv_engine_leave(engine, i);
		if (!srv_engine_apply(engine, i, (srv_asset_event){.kind = SRV_ASSET_LOST}).publish)
			continue;
		srv_publish_view_later(engine, i);
		if (lost)
			lost[count++] = i;
	}
	assert(count <= engine->assets->count);
	if (tell)
		srv_publish_states(engine, lost, count, "missing");
}

void srv_engine_lose_root(srv_engine *engine, uint32_t root, const char *why)
{
	assert(root < engine->roots->count);
	assert(root < engine->roots->count);
	root_state *state = &engine->roots->states[root];
	srv_view_root *r = &engine->roots->shown[root];
	bool news = !r->missing_since_ms, same = state->away && strcmp(state->away, why) == 0;
	if (same && !news)
		return;
	char *copy = strdup(why);
	if (!copy)
		return;
	free(state->away);
	state->away = copy;
	/* After a restart: the time stored by the earlier run. */
	bool known = news && state->missing_since_ms != 0;
	if (news)
		r->missing_since_ms = known ? state->missing_since_ms : srv_clock_ms(CLOCK_REALTIME);
	state->missing_since_ms = r->missing_since_ms;
	show(engine, root);
	if (news)
		lose_assets(engine, root, !known);
	if (news && !known)
		srv_engine_store_root(engine, root);
	hob_own_buf since = {0};
	hob_buf_put_time(&since, r->missing_since_ms);
	srv_log(SRV_LOG_ERROR, "missing",
			"%.*s since %.*s: %s; its assets stay listed and what was cooked of them stays served",
			HOB_FMT(r->name), HOB_FMT(hob_buf_str(&since)), why);
	srv_engine_flush(engine); /* the view comes before the event */
	publish_root(engine, root, "missing");
}

void srv_engine_doubt_root(srv_engine *engine, uint32_t root)
{
	char why[400];
	if (look_at(engine, root) != LOOK_GONE)
		return;
	snprintf(why, sizeof why, "the folder %.200s cannot be opened", engine->options.roots[root].path);
	srv_engine_lose_root(engine, root, why);
	srv_watch_rescan(engine->sources->watch, root);
}

void srv_engine_lose_empty_root(srv_engine *engine, uint32_t root)
{
	char why[400];
	snprintf(why, sizeof why,
			 "the folder %.200s is empty and another one than before, as below a mount that is gone; if it "
			 "is meant to be "
			 "empty, put any file into it",
			 engine->options.roots[root].path);
	srv_engine_lose_root(engine, root, why);
}

bool srv_engine_find_root(srv_engine *engine, uint32_t root)
{
	root_state *state = &engine->roots->states[root];
	struct stat info;
	bool was_away = srv_engine_root_is_away(engine, root) || state->missing_since_ms != 0, news = was_away;
	if (fstat(engine->roots->fds[root], &info) == 0) {
		news = news || state->device != info.st_dev || state->inode != info.st_ino;
		state->device = info.st_dev;
		state->inode = info.st_ino;
	}
	free(state->away);
	state->away = NULL;
	state->missing_since_ms = engine->roots->shown[root].missing_since_ms = 0;
	show(engine, root);
	if (news)
		srv_engine_store_root(engine, root);
	return was_away;
}

void srv_engine_welcome_root(srv_engine *engine, uint32_t root)
{
	assert(root < engine->roots->count);
	assert(!srv_engine_root_is_away(engine, root));
	hob_own uint32_t *back = malloc((engine->assets->count + 1) * sizeof *back);
	uint32_t count = 0;
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		asset *a = srv_asset_at(engine, i);
		if (a->root != root || a->life.state != SRV_ASSET_AWAY)
			continue;
		/* The disk that was missing may have lost rows. */
		if (!srv_asset_is_current(engine, a) || srv_engine_has_lost_record(engine, a)) {
			srv_asset_dirty(engine, i, SRV_PRIORITY_BACKGROUND, "returned", hob_str_of(a->path));
			continue;
		}
		srv_engine_apply(engine, i, (srv_asset_event){.kind = SRV_ASSET_BACK});
		srv_publish_view_later(engine, i);
		if (back)
			back[count++] = i;
	}
	assert(count <= engine->assets->count);
	srv_publish_states(engine, back, count, "returned");
	srv_log(SRV_LOG_WARNING, "watching", "%.*s is there again, with %llu file%s",
			HOB_FMT(engine->roots->shown[root].name), (unsigned long long)engine->roots->shown[root].files,
			HOB_PLURAL(engine->roots->shown[root].files));
	srv_engine_flush(engine); /* the view comes before the event */
	publish_root(engine, root, "watched");
}

/* ---- start */

static void load_root(void *user, const srv_root_row *row)
{
	srv_engine *engine = user;
	for (uint32_t i = 0; i < engine->options.root_count; i++) {
		root_state *state = &engine->roots->states[i];
		if (!hob_str_equal(row->name, hob_str_of(engine->options.roots[i].name)) ||
			!hob_str_equal(row->path, hob_str_of(engine->options.roots[i].path)))
			continue;
		state->known = true;
		state->device = row->device;
		state->inode = row->inode;
		state->missing_since_ms = row->missing_since_ms;
	}
}

bool srv_engine_open_roots(srv_engine *engine, hob_error *err)
{
	/* A damaged index is rebuilt after everything is loaded. */
	if (!engine->options.batch && !srv_store_each_root(engine->store, load_root, engine, err) &&
		!srv_store_is_damaged(engine->store))
		return false;
	for (uint32_t i = 0; i < engine->options.root_count; i++) {
		const srv_engine_root *root = &engine->options.roots[i];
		engine->roots->fds[i] = open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int code = errno;
		if (engine->roots->fds[i] < 0 && !engine->roots->states[i].known)
			return hob_fail(err, IO,
							"the folder '%s' cannot be opened (%s), and Hob has not seen it before; mount or "
							"create it, or name another folder",
							root->path, strerror(code));
		if (engine->roots->fds[i] < 0)
			engine->roots->fds[i] = srv_store_open_nothing(engine->store);
		if (engine->roots->fds[i] < 0)
			return hob_fail(err, IO, "cannot stand in for the missing folder '%s': %s", root->path,
							strerror(errno));
		engine->roots->states[i].mode = "scanning";
		engine->roots->shown[i] = (srv_view_root){.name = hob_str_of(root->name),
												  .path = hob_str_of(root->path),
												  .mode = "scanning",
												  .file_system = "unknown",
												  .probe = "off",
												  .folder = engine->roots->fds[i],
												  .settings = engine->roots->settings[i]};
	}
	return true;
}

struct engine_roots *srv_engine_roots_new(const srv_engine_options *options)
{
	uint32_t count = options->root_count;
	struct engine_roots *roots = calloc(1, sizeof *roots);
	if (!roots)
		return NULL;
	roots->fds = malloc((count + 1) * sizeof *roots->fds);
	roots->settings = calloc(count + 1, sizeof *roots->settings);
	roots->caches = calloc(count + 1, sizeof *roots->caches);
	roots->shown = calloc(count + 1, sizeof *roots->shown);
	roots->states = calloc(count + 1, sizeof *roots->states);
	bool whole = roots->fds && roots->settings && roots->caches && roots->shown && roots->states;
	for (; whole && roots->count < count; roots->count++) {
		roots->fds[roots->count] = -1;
		roots->settings[roots->count] = options->roots[roots->count].settings;
		whole = (roots->caches[roots->count] = srv_settings_cache_new());
	}
	if (!whole)
		srv_engine_roots_free(roots);
	return whole ? roots : NULL;
}

void srv_engine_roots_free(struct engine_roots *roots)
{
	if (!roots)
		return;
	for (uint32_t i = 0; i < roots->count; i++) {
		if (roots->fds[i] >= 0)
			close(roots->fds[i]);
		srv_settings_cache_free(roots->caches[i]);
		free(roots->states[i].note);
		free(roots->states[i].away);
	}
	free(roots->fds);
	free(roots->settings);
	free(roots->caches);
	free(roots->shown);
	free(roots->states);
	free(roots);
}

void srv_engine_replace_settings(srv_engine *engine, const hob_settings *settings)
{
	struct engine_roots *roots = engine->roots;
	for (uint32_t i = 0; i < roots->count; i++) {
		roots->settings[i] = roots->shown[i].settings = settings[i];
		srv_settings_forget(roots->caches[i]);
	}
}
