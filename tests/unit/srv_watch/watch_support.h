/* watch_support.h - a watcher on a temporary folder with recorded callbacks; tests run the loop until an
 * expected record, or fail after two minutes. */
#ifndef TEST_WATCH_SUPPORT_H
#define TEST_WATCH_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "server/watch/watch_internal.h"
#include "tests/unit/temp_folder.h"

#define watch_test(name) cmocka_unit_test_setup_teardown(name, make_watched, remove_watched)

enum { DEADLINE_MS = 120000 };

typedef struct record {
	char kind; /* s: scanned, c: changed, r: reset, m: mode, g: gone, p: mark passed, P: without being seen */
	uint32_t root;
	char *text;	  /* changed: the path; reset, mode and gone: the reason */
	size_t batch; /* changed: number of the batch */
	srv_watch_mode mode;
} record;

typedef struct watched {
	temp_folder dir;
	uv_loop_t loop;
	uv_timer_t timer;
	srv_watch *watch;
	bool closed, late;
	record *records;
	size_t count, room, batches;
	srv_file_entry *files; /* of the last scan, of any root */
	size_t file_count, scans;
	uint32_t refusals; /* number of calls to refuse as incomplete */
} watched;

static inline void note(watched *w, record made, const char *text, size_t len)
{
	if (w->count == w->room) {
		w->room = w->room ? w->room * 2 : 64;
		w->records = realloc(w->records, w->room * sizeof *w->records);
	}
	made.text = strndup(text, len);
	w->records[w->count++] = made;
}

static inline bool takes_all(watched *w)
{
	bool all = w->refusals == 0;
	w->refusals -= !all;
	return all;
}

static inline void drop_files(watched *w)
{
	for (size_t i = 0; i < w->file_count; i++)
		free((void *)(uintptr_t)w->files[i].path.data);
	free(w->files);
	w->files = NULL;
	w->file_count = 0;
}

static inline bool on_scanned(void *user, uint32_t root, const srv_file_entry *files, size_t count)
{
	watched *w = user;
	drop_files(w);
	w->files = calloc(count + 1, sizeof *files);
	for (size_t i = 0; i < count; i++) {
		w->files[i] = files[i];
		w->files[i].path.data = strdup(files[i].path.data);
	}
	w->file_count = count;
	w->scans++;
	note(w, (record){.kind = 's', .root = root}, "", 0);
	return takes_all(w);
}

static inline bool on_changed(void *user, uint32_t root, const hob_str *paths, size_t count)
{
	watched *w = user;
	w->batches++;
	for (size_t i = 0; i < count; i++)
		note(w, (record){.kind = 'c', .root = root, .batch = w->batches}, paths[i].data, paths[i].len);
	return takes_all(w);
}

static inline void on_reset(void *user, uint32_t root, const char *why)
{
	note(user, (record){.kind = 'r', .root = root}, why, strlen(why));
}

static inline void on_mode(void *user, uint32_t root, srv_watch_mode mode, const char *why)
{
	note(user, (record){.kind = 'm', .root = root, .mode = mode}, why, strlen(why));
}

static inline void on_gone(void *user, uint32_t root, const char *why)
{
	note(user, (record){.kind = 'g', .root = root}, why, strlen(why));
}

static inline void on_passed(void *user, uint32_t root, uint64_t number, bool seen)
{
	(void)number;
	note(user, (record){.kind = seen ? 'p' : 'P', .root = root}, "", 0);
}

static inline int make_watched(void **state)
{
	watched *w = calloc(1, sizeof *w);
	folder_make(&w->dir);
	uv_loop_init(&w->loop);
	uv_timer_init(&w->loop, &w->timer);
	w->timer.data = w;
	*state = w;
	return 0;
}

static inline void on_late(uv_timer_t *timer)
{
	((watched *)timer->data)->late = true;
}

static inline void on_done(void *user)
{
	((watched *)user)->closed = true;
}

static inline void stop_watching(watched *w)
{
	if (!w->watch)
		return;
	srv_watch_close(w->watch, on_done, w);
	w->watch = NULL;
	while (!w->closed)
		uv_run(&w->loop, UV_RUN_ONCE);
}

static inline int remove_watched(void **state)
{
	watched *w = *state;
	stop_watching(w);
	uv_close((uv_handle_t *)&w->timer, NULL);
	uv_run(&w->loop, UV_RUN_DEFAULT);
	int open = uv_loop_close(&w->loop);
	drop_files(w);
	for (size_t i = 0; i < w->count; i++)
		free(w->records[i].text);
	free(w->records);
	folder_remove(&w->dir);
	free(w);
	return open;
}

/* First record at or after `from` of this kind whose text is `text` (NULL: any, "*x": contains x); SIZE_MAX
 * when there is none. */
static inline size_t find_record(const watched *w, size_t from, char kind, const char *text)
{
	for (size_t i = from; i < w->count; i++) {
		const record *r = &w->records[i];
		if (r->kind == kind &&
			(!text || (text[0] == '*' ? strstr(r->text, text + 1) != NULL : strcmp(r->text, text) == 0)))
			return i;
	}
	return SIZE_MAX;
}

static inline void print_records(const watched *w, size_t from)
{
	for (size_t i = from; i < w->count && i < from + 100; i++)
		print_message("  %c root %u batch %zu '%s'\n", w->records[i].kind, w->records[i].root,
					  w->records[i].batch, w->records[i].text);
}

static inline size_t wait_record(watched *w, size_t from, char kind, const char *text)
{
	size_t found;
	w->late = false;
	uv_update_time(&w->loop); /* creating thousands of files takes long */
	uv_timer_start(&w->timer, on_late, DEADLINE_MS, 0);
	while ((found = find_record(w, from, kind, text)) == SIZE_MAX && !w->late)
		uv_run(&w->loop, UV_RUN_ONCE);
	uv_timer_stop(&w->timer);
	if (found == SIZE_MAX) {
		print_records(w, from);
		fail_msg("no '%c' record '%s' within %d ms", kind, text ? text : "", DEADLINE_MS);
	}
	return found;
}

static inline void start_watching(watched *w, const srv_watch_options *options)
{
	hob_error err;
	srv_watch_callbacks callbacks = {w, on_scanned, on_changed, on_reset, on_mode, on_gone, on_passed};
	if (!srv_watch_new(&w->loop, options, &callbacks, &w->watch, &err) ||
		!srv_watch_add_root(w->watch, 0, w->dir.path, &err))
		fail_msg("%s", err.context);
	wait_record(w, 0, 's', NULL);
}

static inline const char *at(watched *w, const char *name)
{
	return folder_at(&w->dir, "%s", name);
}

static inline void write_fd(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static inline void save(watched *w, const char *name, const char *text)
{
	int fd = open(at(w, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	write_fd(fd, text);
	close(fd);
}

static inline void make_folder(watched *w, const char *name)
{
	assert_int_equal(mkdir(at(w, name), 0755), 0);
}

static inline void rename_in(watched *w, const char *from, const char *to)
{
	char old[4096];
	strcpy(old, at(w, from));
	assert_int_equal(rename(old, at(w, to)), 0);
}

/* Writes a marker file and waits until it is reported: everything before it is then delivered, except files
 * with a writer. */
static inline void barrier_in(watched *w, const char *folder)
{
	static int number;
	char name[64], path[128];
	size_t from = w->count;
	snprintf(name, sizeof name, "barrier-%d", ++number);
	snprintf(path, sizeof path, "%s%s", folder, name);
	save(w, path, "x");
	wait_record(w, from, 'c', name);
}

static inline void barrier(watched *w)
{
	barrier_in(w, "");
}

/* Waits until that many folders are watched. */
static inline void wait_watches(watched *w, uint64_t expected)
{
	srv_watch_counters counters;
	int64_t deadline = srv_watch_now_ns() + (int64_t)DEADLINE_MS * 1000000;
	do {
		barrier(w);
		srv_watch_count(w->watch, &counters);
	} while (counters.watches != expected && srv_watch_now_ns() < deadline);
	assert_int_equal(counters.watches, expected);
}

static inline bool scan_has(const watched *w, const char *path)
{
	for (size_t i = 0; i < w->file_count; i++)
		if (strcmp(w->files[i].path.data, path) == 0)
			return true;
	return false;
}

#endif
