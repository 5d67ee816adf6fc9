#include "agent.h"

#include "../../core/base/ignore_lines.h"
#include "../../core/base/pieces.h"
#include "../../core/base/portable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { READ_BYTES = 256 << 10, FIRST_SLOTS = 1024, RACY_MS = 2000, TRIES = 3 };

/* Names of temporary files of safe saves, of backups, and of folders of other programs. */
static const char *const always_ignored[] = {"~$*",	  "*.tmp", "*.blend@",	 "*.blend1",	"*.blend2",
											 "*.swp", "*~",	   "Thumbs.db",	 "desktop.ini", ".DS_Store",
											 ".git",  ".svn",  ".hob-mirror"};

/* ---- the table */

static uint64_t hash_path(hob_str path)
{
	uint64_t hash = 0xCBF29CE484222325u;
	for (size_t i = 0; i < path.len; i++)
		hash = (hash ^ (uint8_t)path.data[i]) * 0x100000001B3u;
	return hash ^ hash >> 29;
}

static agent_file **slot_of(const agent_tree *tree, hob_str path)
{
	uint32_t at = (uint32_t)hash_path(path) & (tree->capacity - 1);
	while (tree->slots[at] && !hob_str_equal(tree->slots[at]->path, path))
		at = (at + 1) & (tree->capacity - 1);
	return &tree->slots[at];
}

static bool grow(agent_tree *tree)
{
	agent_tree bigger = *tree;
	bigger.capacity = tree->capacity ? tree->capacity * 2 : FIRST_SLOTS;
	bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
	if (!bigger.slots)
		return false;
	for (uint32_t i = 0; i < tree->capacity; i++)
		if (tree->slots[i])
			*slot_of(&bigger, tree->slots[i]->path) = tree->slots[i];
	free(tree->slots);
	*tree = bigger;
	return true;
}

static agent_file *find(const agent_tree *tree, hob_str path)
{
	return tree->capacity ? *slot_of(tree, path) : NULL;
}

agent_file *agent_tree_place(agent_tree *tree, hob_str path)
{
	agent_file *file = find(tree, path);
	if (file)
		return file;
	if (tree->count * 4 >= tree->capacity * 3 && !grow(tree))
		return NULL;
	file = calloc(1, sizeof *file + path.len + 1);
	if (!file)
		return NULL;
	memcpy(file + 1, path.data, path.len);
	file->path = (hob_str){(const char *)(file + 1), path.len};
	*slot_of(tree, path) = file;
	tree->count++;
	return file;
}

/* ---- digests of the previous run, and patterns */

/* Takes a number off the line; a negative one wraps. */
static uint64_t take_number(hob_str *line)
{
	hob_str field = hob_str_next(line, ' ');
	return field.len > 0 ? strtoull(field.data, NULL, 10) : 0;
}

static void load_digests(agent *a)
{
	char path[AGENT_PATH + 16];
	hob_own_buf text = {0};
	snprintf(path, sizeof path, "%s/digests", a->state);
	if (sys_read_whole(path, &text))
		for (hob_str all = hob_buf_str(&text), line; hob_str_piece(&all, '\n', &line) && all.data;) {
			hob_sha256 digest;
			sys_stat stat;
			bool good = hob_sha256_parse(hob_str_next(&line, ' '), &digest);
			stat.size = take_number(&line);
			stat.id = take_number(&line);
			stat.mtime_ns = (int64_t)take_number(&line);
			stat.ctime_ns = (int64_t)take_number(&line);
			agent_file *file = good && line.len > 0 ? agent_tree_place(&a->tree, line) : NULL;
			if (file) {
				file->digest = digest;
				file->stat = stat;
				file->hashed = true;
			}
		}
}

void agent_tree_save(const agent *a)
{
	char path[AGENT_PATH + 16];
	hob_own_buf text = {0};
	for (uint32_t i = 0; i < a->tree.capacity; i++) {
		const agent_file *f = a->tree.slots[i];
		char digest[HOB_SHA256_TEXT + 1];
		if (!f || !f->on_disk || !f->hashed || f->racy)
			continue;
		hob_sha256_text(&f->digest, digest);
		hob_buf_printf(&text, "%s %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %s\n", digest, f->stat.size,
					   f->stat.id, f->stat.mtime_ns, f->stat.ctime_ns, f->path.data);
	}
	snprintf(path, sizeof path, "%s/digests", a->state);
	if (!text.failed)
		(void)!sys_replace(path, hob_buf_bytes(&text));
}

bool agent_tree_open(agent *a, hob_error *err)
{
	char path[AGENT_PATH + 16];
	hob_own_buf text = {0};
	hob_arena_init(&a->tree.arena, (size_t)1 << 20);
	snprintf(path, sizeof path, "%s/.hobignore", a->folder);
	bool there = sys_read_whole(path, &text);
	a->tree.ignore =
		hob_ignore_lines(&a->tree.arena, there ? hob_buf_str(&text) : (hob_str){0}, path, NULL, err);
	if (a->tree.ignore)
		load_digests(a);
	return a->tree.ignore != NULL;
}

void agent_tree_release(agent_tree *tree)
{
	for (uint32_t i = 0; i < tree->capacity; i++)
		free(tree->slots[i]);
	free(tree->slots);
	hob_arena_release(&tree->arena);
	*tree = (agent_tree){0};
}

/* ---- files */

static bool same_stat(const sys_stat *a, const sys_stat *b)
{
	return a->size == b->size && a->id == b->id && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* Hashes a file. False unless it was read whole and did not change meanwhile. */
static bool hash_once(agent *a, agent_file *f, bool *gone)
{
	bool locked = false;
	sys_stat before, after;
	sys_file *file = sys_open(a->folder, f->path, &locked);
	*gone = !file && !locked;
	if (!file)
		return false;
	hob_own uint8_t *room = malloc(READ_BYTES);
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	bool ok = room && sys_stat_open(file, &before);
	int64_t got = -1;
	uint64_t size = 0;
	while (ok && (got = sys_read(file, room, READ_BYTES)) > 0) {
		hob_hasher_put(&hasher, room, (size_t)got);
		size += (uint64_t)got;
	}
	hob_sha256 digest = hob_hasher_finish(&hasher);
	ok = ok && got == 0 && sys_stat_open(file, &after) && same_stat(&before, &after) && size == after.size;
	sys_close(file);
	/* Somebody who writes since the first look may not have changed its stat yet. */
	file = ok ? sys_open(a->folder, f->path, &locked) : NULL;
	if (!file)
		return false;
	sys_close(file);
	f->digest = digest;
	f->stat = after;
	f->hashed = true;
	f->racy = agent_now_ms() - after.mtime_ns / 1000000 < RACY_MS;
	return true;
}

void agent_tree_vanish(agent_file *f)
{
	if (f->on_disk)
		f->gone_ms = agent_ticks_ms();
	f->on_disk = f->busy = false;
}

static void look_at_file(agent *a, agent_file *f, const sys_stat *stat)
{
	f->seen = true;
	if (f->on_disk && f->hashed && !f->busy && !f->racy && same_stat(&f->stat, stat))
		return;
	if (!f->on_disk && f->hashed && same_stat(&f->stat, stat)) {
		f->on_disk = true;
		return;
	}
	bool gone = false, whole = false;
	for (int i = 0; i < TRIES && !whole && !gone; i++)
		whole = hash_once(a, f, &gone);
	if (gone) {
		agent_tree_vanish(f);
		return;
	}
	if (!whole && !f->busy)
		agent_say("waiting for %s: another program writes or locks it", f->path.data);
	a->tree.busy += !whole;
	f->busy = !whole;
	/* An unreadable file keeps its version at the daemon. */
	f->on_disk = f->on_disk || whole;
}

typedef struct scan {
	agent *a;
	hob_str folder;
	hob_buf folders; /* names of its subfolders, each NUL-terminated */
} scan;

/* Whether a path is left out by a name in it that begins at or after byte `from`, or by .hobignore. */
static bool is_ignored(const agent *a, hob_str path, size_t from, bool is_folder)
{
	char inside[AGENT_PATH];
	for (size_t to; from < path.len; from = to + 1) {
		to = hob_str_find(path, HOB_STR("/"), from);
		to = to == SIZE_MAX ? path.len : to;
		for (size_t i = 0; i < HOB_COUNT_OF(always_ignored); i++)
			if (hob_glob_match(hob_str_of(always_ignored[i]), hob_str_sub(path, from, to)))
				return true;
	}
	if (!a->tree.ignore[0])
		return false;
	snprintf(inside, sizeof inside, "%.*s/x", HOB_FMT(path));
	return hob_glob_match_any(a->tree.ignore, path) ||
		   (is_folder && hob_glob_match_any(a->tree.ignore, hob_str_of(inside)));
}

/* Says it once; a folder may be listed every two seconds. */
static void say_skipped(agent *a, hob_str path, const char *what, const char *why)
{
	agent_file *f = agent_tree_place(&a->tree, path);
	if (f && !f->told)
		agent_say("skipped %.*s: %s%s", HOB_FMT(path), what, why);
	if (f)
		f->told = true;
}

static bool may_send(agent *a, hob_str path, const char *why, bool is_folder)
{
	if (is_ignored(a, path, path.len - hob_path_name(path).len, is_folder))
		return false;
	if (!why)
		why = hob_path_unportable(path);
	if (why)
		say_skipped(a, path, "the name ", why);
	return !why;
}

static void on_item(void *user, hob_str name, sys_kind kind, const sys_stat *stat, const char *why)
{
	scan *s = user;
	hob_own_buf path = {0};
	hob_buf_printf(&path, "%.*s%s%.*s", HOB_FMT(s->folder), s->folder.len > 0 ? "/" : "", HOB_FMT(name));
	hob_str text = hob_buf_str(&path);
	s->a->tree.failed = s->a->tree.failed || path.failed;
	agent_file *f = kind == SYS_FILE ? find(&s->a->tree, text) : NULL;
	if (f && f->on_disk) { /* known to be unchanged */
		look_at_file(s->a, f, stat);
	} else if (kind == SYS_LINK) {
		say_skipped(s->a, text, "links and junctions are not followed", "");
	} else if ((kind == SYS_FILE || kind == SYS_FOLDER) && may_send(s->a, text, why, kind == SYS_FOLDER)) {
		if (kind == SYS_FOLDER)
			hob_buf_printf(&s->folders, "%.*s%c", HOB_FMT(name), 0);
		else if ((f = agent_tree_place(&s->a->tree, text)))
			look_at_file(s->a, f, stat);
		else
			s->a->tree.failed = true;
	}
}

static void scan_folder(agent *a, hob_str folder)
{
	scan s = {a, folder, {0}};
	if (a->watch && !a->options.poll && !agent_watch_folder(a->watch, folder)) {
		agent_say("the system has no more watches (fs.inotify.max_user_watches): looking every two seconds");
		a->options.poll = true;
	}
	if (!sys_list(a->folder, folder, on_item, &s) && sys_look(a->folder, folder, NULL) != SYS_NONE)
		a->tree.failed = true;
	a->tree.failed = a->tree.failed || s.folders.failed;
	for (size_t at = 0; at < s.folders.size;) {
		hob_str name = hob_str_of((const char *)s.folders.data + at);
		hob_own_buf path = {0};
		hob_buf_printf(&path, "%.*s%s%.*s", HOB_FMT(folder), folder.len > 0 ? "/" : "", HOB_FMT(name));
		scan_folder(a, hob_buf_str(&path));
		at += name.len + 1;
	}
	hob_buf_release(&s.folders);
}

static bool is_below(hob_str path, hob_str folder)
{
	return folder.len == 0 ||
		   (path.len > folder.len && path.data[folder.len] == '/' && hob_str_starts(path, folder));
}

static void vanish_below(agent *a, hob_str folder, bool all)
{
	for (uint32_t i = 0; i < a->tree.capacity; i++) {
		agent_file *f = a->tree.slots[i];
		if (f && is_below(f->path, folder) && (all || !f->seen))
			agent_tree_vanish(f);
	}
}

static void touch_file(agent *a, hob_str path, agent_file *f, const sys_stat *stat)
{
	if (!f || !f->on_disk)
		vanish_below(a, path, true);
	if (!f && !may_send(a, path, NULL, false))
		return;
	f = agent_tree_place(&a->tree, path);
	if (f)
		look_at_file(a, f, stat);
	else
		a->tree.failed = true;
}

/* Says it once. */
static void fail(agent *a)
{
	if (!a->tree.failed)
		agent_say("not everything below %s can be listed: nothing is deleted meanwhile", a->folder);
	a->tree.failed = true;
}

/* A failure ends with the next look at everything: what a part shows says nothing of the rest. */
static void touch_folder(agent *a, hob_str path)
{
	bool failed_before = a->tree.failed;
	for (uint32_t i = 0; i < a->tree.capacity; i++)
		if (a->tree.slots[i])
			a->tree.slots[i]->seen = false;
	a->tree.failed = false;
	if (path.len == 0 || may_send(a, path, NULL, true))
		scan_folder(a, path);
	bool failed = a->tree.failed;
	a->tree.failed = failed_before;
	if (failed)
		fail(a);
	else
		vanish_below(a, path, false);
	a->tree.failed = failed || (failed_before && path.len > 0);
}

void agent_tree_touch(agent *a, hob_str path)
{
	sys_stat stat;
	if (is_ignored(a, path, 0, false))
		return;
	sys_kind kind = sys_look(a->folder, path, &stat);
	agent_file *f = find(&a->tree, path);
	if (kind == SYS_FILE) {
		touch_file(a, path, f, &stat);
		return;
	}
	if (kind == SYS_UNKNOWN) {
		fail(a);
		return;
	}
	if (f)
		agent_tree_vanish(f);
	if (kind == SYS_FOLDER) {
		a->looked_ms = path.len == 0 ? agent_ticks_ms() : a->looked_ms;
		a->look_again = a->look_again && path.len > 0;
		touch_folder(a, path);
	} else if (path.len > 0) {
		vanish_below(a, path, true);
	} else { /* such as an unplugged drive */
		if (!a->tree.failed)
			agent_say("%s is gone: nothing is deleted until it is back", a->folder);
		a->tree.failed = true;
	}
}

void agent_tree_retry(agent *a)
{
	a->tree.busy = 0;
	for (uint32_t i = 0; i < a->tree.capacity; i++) {
		agent_file *f = a->tree.slots[i];
		sys_stat stat;
		if (!f || !f->busy)
			continue;
		sys_kind kind = sys_look(a->folder, f->path, &stat);
		if (kind == SYS_FILE)
			look_at_file(a, f, &stat);
		else if (kind == SYS_UNKNOWN)
			a->tree.busy++;
		else
			agent_tree_vanish(f);
	}
}
