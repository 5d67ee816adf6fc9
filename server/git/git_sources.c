#include "git_inside.h"

#include "../../core/base/json_write.h"
#include "../control/answer.h"
#include "../log/log.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { POLL_MS = 2000, SYNC_MS = 600000, WAITING_MAX = 256 };

/* ---- when everything of a commit is cooked or failed: the engine's SYNC tells */

static void on_settled(srv_control *control, int status, hob_str body)
{
	settling *s = control->user;
	(void)body;
	pthread_mutex_lock(&s->gits->lock);
	s->status = status;
	srv_wake(s->gits->wake);
	pthread_mutex_unlock(&s->gits->lock);
}

void srv_git_await(git_root *root, commit_state *state)
{
	if (!root->gits->engine.post)
		return;
	settling *s = hob_must(malloc(sizeof *s));
	*s = (settling){.gits = root->gits, .root = root, .id = state->id, .number = state->number};
	hob_buf_printf(&s->name, "%s%s", root->name, state == &root->tip ? "" : SRV_GIT_COMMITS);
	s->control = (srv_control){.kind = SRV_CONTROL_SYNC,
							   .text = hob_buf_str(&s->name),
							   .timeout_ms = SYNC_MS,
							   .user = s,
							   .answer = on_settled};
	s->next = root->gits->settling;
	root->gits->settling = s;
	root->gits->engine.post(root->gits->engine.user, &s->control);
}

static commit_state *awaited(const settling *s)
{
	git_root *root = s->root;
	if (root->tip.number == s->number)
		return &root->tip;
	for (uint32_t i = 0; i < root->commit_count; i++)
		if (root->commits[i].number == s->number)
			return &root->commits[i];
	return NULL; /* another one took its place */
}

static void tell_warm(const git_root *root, const commit_state *state)
{
	git_counts counts = srv_git_count(root, state);
	srv_log(counts.failed > 0 ? SRV_LOG_WARNING : SRV_LOG_INFO, "warm", "%s up to %.7s (%u of %u, %u broken)",
			root->name, srv_git_id_text(&state->id).text, counts.assets - counts.busy, counts.assets,
			counts.failed);
}

static void take_settled(srv_gits *g)
{
	for (settling **at = &g->settling; *at;) {
		settling *s = *at;
		pthread_mutex_lock(&g->lock);
		int status = s->status;
		pthread_mutex_unlock(&g->lock);
		if (status == 0) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		commit_state *state = awaited(s);
		git_root *root = s->root;
		hob_buf_release(&s->name);
		free(s);
		if (state && status == 200) {
			state->settled_ms = srv_clock_ms(CLOCK_REALTIME);
			tell_warm(root, state);
		} else if (state && status == 504) {
			srv_git_await(root, state);
		}
	}
}

/* ---- controls */

static git_root *find_root(srv_gits *g, hob_str name, hob_error *err)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (hob_str_equal(hob_str_of(g->roots[i].name), name) || (name.len == 0 && g->count == 1))
			return &g->roots[i];
	(void)!hob_fail(err, NOT_FOUND,
					name.len > 0 ? "no git repository is served as '%.*s'"
								 : "several repositories are served; name one with root=%.*s",
					HOB_FMT(name));
	return NULL;
}

static bool list(git_root *root, srv_control *control, hob_buf *body, hob_error *err)
{
	hob_buf log = {0}, paths = {0};
	srv_git_id from;
	if (!srv_git_resolve(root, control->text, &from, err))
		return false;
	for (hob_str rest = control->file; rest.len > 0;) {
		size_t end = hob_str_find(rest, HOB_STR("//"), 0);
		hob_buf_printf(&paths, "%s%s%s%.*s", paths.size > 0 ? "//" : "", root->folder,
					   root->folder[0] ? "/" : "", HOB_FMT(hob_str_sub(rest, 0, end)));
		rest = end == SIZE_MAX ? (hob_str){0} : hob_str_sub(rest, end + 2, rest.len);
	}
	bool ok = srv_git_ask(&root->reader, &log, err, "log %s %llu %.*s", srv_git_id_text(&from).text,
						  (unsigned long long)control->number, HOB_FMT(hob_buf_str(&paths)));
	hob_buf_release(&paths);
	hob_json_put(body, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("root", root->name),
				 HOB_JSON("ref", control->text.len > 0 ? control->text : hob_str_of(root->tip_name)),
				 HOB_JSON_OPEN("items", '['));
	for (hob_str rest = hob_buf_str(&log); ok && rest.len > 0;) {
		size_t end = hob_str_find(rest, HOB_STR("\n\n"), 0);
		srv_git_put_commit(root, hob_str_sub(rest, 0, end), false, body);
		rest = end == SIZE_MAX ? (hob_str){0} : hob_str_sub(rest, end + 2, rest.len);
	}
	hob_json_put(body, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	hob_buf_release(&log);
	return ok;
}

/* Answers about one commit. *later: its state is not known yet, and the control waits. */
static bool tell(git_root *root, srv_control *control, bool make, bool *later, hob_buf *body, hob_error *err)
{
	hob_buf facts = {0};
	srv_git_id id;
	if (!srv_git_resolve(root, control->text, &id, err) || (make && !srv_git_make(root, &id, false, err)))
		return false;
	const commit_state *state = srv_git_state(root, &id);
	*later = *later && state && srv_git_is_cooking(root, state);
	bool ok = *later || srv_git_ask(&root->reader, &facts, err, "commit %s", srv_git_id_text(&id).text);
	if (ok && !*later)
		srv_git_put_commit(root, hob_buf_str(&facts), true, body);
	hob_buf_release(&facts);
	return ok;
}

static bool fetched(git_root *root, hob_buf *body, hob_error *err)
{
	srv_git_large_forget(root);
	bool ok = srv_git_refresh(root, true, err);
	hob_json_object(body, HOB_JSON("root", root->name), HOB_JSON("ref", root->tip_name),
					HOB_JSON("tip", srv_git_id_text(&root->tip.id).text));
	return ok;
}

/* A control has its answer. */
static bool let_go(srv_gits *g)
{
	pthread_mutex_lock(&g->lock);
	g->held--;
	pthread_mutex_unlock(&g->lock);
	return true;
}

/* False: the control waits on. */
static bool answer(srv_gits *g, srv_control *control, bool may_wait)
{
	hob_error error = {0};
	hob_buf body = {0};
	hob_str verb = control->tag;
	bool later = may_wait && control->timeout_ms > 0, ok = false;
	int status = 0;
	git_root *root = find_root(g, control->asset, &error);
	if (!root)
		later = false;
	else if (hob_str_equal(verb, HOB_STR("list")))
		later = false, ok = list(root, control, &body, &error);
	else if (control->file.len > 0 && !srv_git_permits(root, control->text, control->file, &error))
		later = false;
	else if (hob_str_equal(verb, HOB_STR("fetched")))
		later = false, ok = fetched(root, &body, &error);
	else if (hob_str_equal(verb, HOB_STR("at"))) {
		bool waits = false, made = srv_git_make_folder(root, control->text, &waits, &body, &error);
		status = waits ? 503 : 0;
		later = later && waits;
		ok = made && (later || !waits || hob_fail(&error, IO, "large files of this commit are fetched"));
	} else
		ok = tell(root, control, hob_str_equal(verb, HOB_STR("cook")), &later, &body, &error);
	if (later && ok) {
		hob_buf_release(&body);
		return false;
	}
	if (ok && body.failed)
		ok = hob_fail(&error, MEMORY, "no memory left for the answer");
	if (ok)
		control->answer(control, 200, hob_buf_str(&body));
	else
		srv_control_refuse(control, status, &error);
	hob_buf_release(&body);
	return let_go(g);
}

static void take_controls(srv_gits *g)
{
	pthread_mutex_lock(&g->lock);
	uint32_t count = g->waiting_count;
	srv_control **waiting = g->waiting;
	g->waiting = NULL;
	g->waiting_count = g->waiting_room = 0;
	pthread_mutex_unlock(&g->lock);
	for (uint32_t i = 0; i < count; i++) {
		if (waiting[i]->timeout_ms > 0)
			waiting[i]->since_ms = srv_clock_ms(CLOCK_REALTIME) + waiting[i]->timeout_ms;
		if (!answer(g, waiting[i], true)) {
			assert(g->patient_count < WAITING_MAX);
			g->patient[g->patient_count++] = waiting[i];
		}
	}
	free(waiting);
}

/* Answers those that wait for a commit, once it is settled or their time is over. */
static void serve_patient(srv_gits *g)
{
	int64_t now = srv_clock_ms(CLOCK_REALTIME);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < g->patient_count; i++)
		if (!answer(g, g->patient[i], g->patient[i]->since_ms > now))
			g->patient[kept++] = g->patient[i];
	g->patient_count = kept;
}

static void post(void *user, srv_control *control)
{
	srv_gits *g = user;
	pthread_mutex_lock(&g->lock);
	bool taken = !atomic_load(&g->stop) && g->held < WAITING_MAX &&
				 HOB_ROOM(g->waiting, g->waiting_room, g->waiting_count);
	if (taken) {
		g->held++;
		g->waiting[g->waiting_count++] = control;
		srv_wake(g->wake);
	}
	pthread_mutex_unlock(&g->lock);
	if (!taken)
		srv_control_answer(control, 503, "http.unavailable", "too many wait for commits");
}

srv_control_port srv_gits_port(srv_gits *gits)
{
	return (srv_control_port){gits, post};
}

/* ---- the thread */

static int wait_ms(const srv_gits *g)
{
	int64_t now = srv_clock_ms(CLOCK_REALTIME), next = INT64_MAX;
	for (uint32_t i = 0; i < g->patient_count; i++)
		next = g->patient[i]->since_ms < next ? g->patient[i]->since_ms : next;
	int wait = next == INT64_MAX ? -1 : next <= now ? 0 : (int)(next - now < SYNC_MS ? next - now : SYNC_MS);
	for (uint32_t i = 0; i < g->count; i++)
		if (g->roots[i].inotify < 0 && (wait < 0 || wait > POLL_MS))
			wait = POLL_MS;
	return wait;
}

/* again: large files have come, or failed. */
static void look(git_root *root, bool again)
{
	hob_error error = {0};
	if (srv_git_refresh(root, again, &error)) {
		root->troubled = false;
		return;
	}
	if (!root->troubled && !atomic_load(&root->gits->stop))
		srv_log(SRV_LOG_ERROR, "git", "%s: %s; what is known stays served", root->name, error.context);
	root->troubled = true;
}

/* Makes what waited for large files. */
static void end_waiting(git_root *root)
{
	look(root, true);
	for (uint32_t i = 0; i < root->commit_count && srv_git_large_pending(root) == 0; i++) {
		hob_error error = {0};
		srv_git_id id = root->commits[i].id;
		if (root->commits[i].fetching && !srv_git_make(root, &id, true, &error))
			srv_log(SRV_LOG_ERROR, "git", "%s: %s", root->name, error.context);
	}
}

static void *run(void *user)
{
	srv_gits *g = user;
	struct pollfd *polled = hob_must(calloc(2 * g->count + 1, sizeof *polled));
	for (uint32_t i = 0; i < g->count; i++) {
		git_root *root = &g->roots[i];
		if (root->has_tip)
			srv_git_await(root, &root->tip);
		for (uint32_t c = 0; c < root->commit_count; c++)
			srv_git_await(root, &root->commits[c]);
		srv_git_watch(root);
		look(root, false);
	}
	while (!atomic_load(&g->stop)) {
		uint64_t count;
		polled[0] = (struct pollfd){.fd = g->wake, .events = POLLIN};
		for (uint32_t i = 0; i < g->count; i++)
			polled[i + 1] = (struct pollfd){.fd = g->roots[i].inotify, .events = POLLIN};
		for (uint32_t i = 0; i < g->count; i++) {
			git_root *root = &g->roots[i];
			srv_git_large_next(root);
			polled[g->count + i + 1] =
				(struct pollfd){.fd = root->large_fd >= 0 ? root->server.socket : -1, .events = POLLIN};
		}
		poll(polled, 2 * g->count + 1, wait_ms(g));
		(void)!read(g->wake, &count, sizeof count);
		for (uint32_t i = 0; i < g->count && !atomic_load(&g->stop); i++)
			if (g->roots[i].inotify < 0 || (polled[i + 1].revents && srv_git_watch_moved(&g->roots[i])))
				look(&g->roots[i], false);
		for (uint32_t i = 0; i < g->count && !atomic_load(&g->stop); i++)
			if (polled[g->count + i + 1].revents && srv_git_large_take(&g->roots[i]))
				end_waiting(&g->roots[i]);
		take_settled(g);
		take_controls(g);
		serve_patient(g);
	}
	free(polled);
	return NULL;
}

bool srv_gits_start(srv_gits *g, srv_control_port engine, srv_views *views, hob_error *err)
{
	g->engine = engine;
	g->views = views;
	g->runs = pthread_create(&g->thread, NULL, run, g) == 0;
	return g->runs || hob_fail(err, INTERNAL, "cannot start the thread of the git repositories");
}

/* ---- start and end */

const char *srv_gits_folder(const srv_gits *g, uint32_t at, bool commits)
{
	return commits ? g->roots[at].commits_path : g->roots[at].tip_path;
}

void srv_gits_describe(const srv_gits *g, uint32_t at, hob_buf *out)
{
	const git_root *root = &g->roots[at];
	hob_buf_printf(out, "%s%s%s", root->reader.repository, root->folder[0] ? "#" : "", root->folder);
	if (root->has_tip)
		hob_buf_printf(out, "  %s at %.7s", root->tip_name, srv_git_id_text(&root->tip.id).text);
	else
		hob_buf_printf(out, "  %s: %s", root->tip_name,
					   root->large_count > 0 ? "its large files come first" : "no commit yet");
}

/* Finds the folders of commits that an earlier run has made. */
static void find_commits(git_root *root)
{
	DIR *folder = opendir(root->commits_path);
	const struct dirent *item;
	srv_git_id id;
	while (folder && (item = readdir(folder)))
		if (srv_git_id_parse(hob_str_of(item->d_name), &id))
			srv_git_add_commit(root, &id);
	if (folder)
		closedir(folder);
}

static bool open_root(srv_gits *g, const srv_git_options *options, git_root *root, hob_error *err)
{
	*root = (git_root){.gits = g, .inotify = -1, .fd = -1, .large_fd = -1};
	if (options->lfs)
		srv_git_server_open(&root->server, options->lfs, options->token, options->sandbox, &g->stop);
	root->name = hob_must(strdup(options->name));
	root->folder = hob_must(strdup(options->folder ? options->folder : ""));
	root->refs = options->refs;
	if (asprintf(&root->commits_name, "%s" SRV_GIT_COMMITS, options->name) < 0 ||
		asprintf(&root->tip_path, "%s/%s", g->files.path, root->name) < 0 ||
		asprintf(&root->commits_path, "%s/%s", g->files.path, root->commits_name) < 0)
		abort();
	bool known = faccessat(g->files.fd, root->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	int made = srv_git_files_folder(&g->files, root->commits_name);
	srv_close(made);
	find_commits(root);
	bool ok = srv_git_reader_open(&root->reader, options->repository, options->sandbox, &g->stop, err);
	hob_buf refs = {0};
	ok = ok && srv_git_ask(&root->reader, &refs, err, "refs"); /* before a folder is made of it */
	hob_buf_release(&refs);
	if (!ok && !known)
		return false;
	root->fd = srv_git_files_folder(&g->files, root->name);
	if (root->fd < 0)
		return hob_fail(err, IO, "'%s' cannot be made: %s", root->tip_path, strerror(errno));
	ok = ok && srv_git_refresh(root, false, err);
	if (!ok)
		srv_log(SRV_LOG_ERROR, "git", "%s: %s", root->name, err->context);
	return ok || known;
}

bool srv_gits_open(const char *cache, const srv_git_options *options, uint32_t count, srv_gits **out,
				   hob_error *err)
{
	srv_gits *g = *out = hob_must(calloc(1, sizeof *g));
	g->files.fd = -1;
	g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&g->lock, NULL);
	g->roots = hob_must(calloc(count + 1, sizeof *g->roots));
	g->patient = hob_must(calloc(WAITING_MAX, sizeof *g->patient));
	bool ok = g->wake >= 0 || hob_fail(err, IO, "cannot make an eventfd: %s", strerror(errno));
	ok = ok && srv_git_files_open(&g->files, cache, err);
	for (uint32_t i = 0; i < count && ok; i++)
		ok = open_root(g, &options[i], &g->roots[g->count++], err);
	return ok;
}

static void free_root(git_root *root)
{
	srv_git_reader_close(&root->reader);
	srv_git_large_end(root);
	srv_git_drop_notes(&root->tip);
	for (uint32_t i = 0; i < root->commit_count; i++)
		srv_git_drop_notes(&root->commits[i]);
	srv_close(root->inotify);
	srv_close(root->fd);
	hob_buf_release(&root->known_refs);
	free(root->commits);
	free(root->name);
	free(root->folder);
	free(root->commits_name);
	free(root->tip_path);
	free(root->commits_path);
}

void srv_gits_close(srv_gits *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	atomic_store(&g->stop, true);
	pthread_mutex_unlock(&g->lock);
	srv_wake(g->wake);
	if (g->runs)
		pthread_join(g->thread, NULL);
	for (uint32_t i = 0; i < g->patient_count; i++)
		srv_control_answer(g->patient[i], 503, "http.draining", "Hob is stopping");
	for (uint32_t i = 0; i < g->waiting_count; i++)
		srv_control_answer(g->waiting[i], 503, "http.draining", "Hob is stopping");
	for (settling *s; (s = g->settling);) {
		g->settling = s->next;
		hob_buf_release(&s->name);
		free(s);
	}
	for (uint32_t i = 0; i < g->count; i++)
		free_root(&g->roots[i]);
	srv_git_files_close(&g->files);
	pthread_mutex_destroy(&g->lock);
	srv_close(g->wake);
	free(g->waiting);
	free(g->patient);
	free(g->roots);
	free(g);
}
