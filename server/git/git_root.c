#include "git_inside.h"
#include "read/git_refs.h"

#include "../fs/mounts.h"
#include "../log/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { KEPT = 20, ATTRIBUTES_MAX = 64 << 10, REF_FOLDERS = 4096, REF_DEPTH = 16 };

/* ---- notes */

void srv_git_drop_notes(commit_state *state)
{
	for (uint32_t i = 0; i < state->note_count; i++) {
		free(state->notes[i].path);
		free(state->notes[i].text);
	}
	free(state->notes);
	state->notes = NULL;
	state->note_count = state->note_room = 0;
}

static void add_note(commit_state *state, hob_str path, bool pointer, hob_str text)
{
	if (!HOB_ROOM(state->notes, state->note_room, state->note_count))
		return;
	git_note note = {strndup(path.data, path.len), strndup(text.data, text.len), pointer};
	if (note.path && note.text)
		state->notes[state->note_count++] = note;
}

static void forget_notes(commit_state *state, hob_str path)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < state->note_count; i++) {
		if (!hob_str_equal(hob_str_of(state->notes[i].path), path)) {
			state->notes[kept++] = state->notes[i];
			continue;
		}
		free(state->notes[i].path);
		free(state->notes[i].text);
	}
	state->note_count = kept;
}

static bool has_pointers(const commit_state *state)
{
	for (uint32_t i = 0; i < state->note_count; i++)
		if (state->notes[i].pointer)
			return true;
	return false;
}

/* Whether a checkout would change bytes by this attribute. */
static bool changes_bytes(hob_str word)
{
	return hob_str_equal(word, HOB_STR("eol=crlf")) || hob_str_equal(word, HOB_STR("ident")) ||
		   hob_str_starts(word, HOB_STR("working-tree-encoding=")) ||
		   (hob_str_starts(word, HOB_STR("filter=")) && !hob_str_equal(word, HOB_STR("filter=lfs")));
}

static void note_attributes(git_root *root, commit_state *state, const srv_git_change *c)
{
	hob_buf text = {0};
	srv_git_files_peek(&root->gits->files, &c->id, false, ATTRIBUTES_MAX, &text);
	for (hob_str rest = hob_buf_str(&text), line; hob_str_piece(&rest, '\n', &line);) {
		if (line.len == 0 || line.data[0] == '#')
			continue;
		for (size_t at = 0, to; at < line.len; at = to + 1) {
			for (to = at; to < line.len && (uint8_t)line.data[to] > ' ';)
				to++;
			if (!changes_bytes(hob_str_sub(line, at, to)))
				continue;
			hob_buf said = {0};
			hob_buf_printf(&said, "'%.*s' has no effect: files are cooked as they are stored", HOB_FMT(line));
			add_note(state, c->path, false, hob_buf_str(&said));
			hob_buf_release(&said);
			break;
		}
	}
	hob_buf_release(&text);
}

static void note_pointer(git_root *root, commit_state *state, const srv_git_change *c)
{
	const char *fault = srv_git_large_fault(root, &c->id);
	hob_buf text = {0};
	hob_buf_printf(&text, "its large file is not in lfs/objects of the repository%s%s", fault ? ", and " : "",
				   fault ? fault
						 : ": run 'git lfs fetch --all' there, or name a server as 'lfs' of the source");
	add_note(state, c->path, true, hob_buf_str(&text));
	hob_buf_release(&text);
}

static void note_changes(git_root *root, commit_state *state, const srv_git_changes *changes)
{
	for (uint32_t i = 0; i < changes->count; i++) {
		const srv_git_change *c = &changes->items[i];
		if (state->note_count > 0)
			forget_notes(state, c->path);
		hob_str why = {0};
		if (c->letter == 'L')
			why = HOB_STR("is a symbolic link, which is not followed");
		else if (c->letter == 'M')
			why = HOB_STR("is a submodule: its files are in another repository");
		else if (c->letter == 'N')
			why = HOB_STR("has a name that no file can have");
		else if (c->letter == 'P' && c->pointer)
			note_pointer(root, state, c);
		else if (c->letter == 'P' && c->fault)
			why = hob_str_of(c->fault);
		if (why.len > 0)
			add_note(state, c->path, false, why);
		else if (c->letter == 'P' && hob_str_equal(hob_path_name(c->path), HOB_STR(".gitattributes")))
			note_attributes(root, state, c);
	}
}

/* ---- commits */

/* The changes from one commit ("-": none) to another, with the files to put held. */
static bool read_changes(git_root *root, const char *from, const char *to, hob_buf *answer,
						 srv_git_changes *changes, hob_error *err)
{
	*changes = (srv_git_changes){.count = 0};
	return srv_git_ask(&root->reader, answer, err, "diff %s %s %s", from, to, root->folder) &&
		   srv_git_changes_read(changes, answer, err) &&
		   srv_git_files_hold(&root->gits->files, &root->reader, changes, err);
}

static void begin_state(git_root *root, commit_state *state, const srv_git_id *id)
{
	state->id = *id;
	state->number = ++root->gits->numbers;
	state->settled_ms = 0;
	state->fetching = false;
}

static commit_state *find_commit(git_root *root, const srv_git_id *id)
{
	for (uint32_t i = 0; i < root->commit_count; i++)
		if (srv_git_id_equal(&root->commits[i].id, id))
			return &root->commits[i];
	return NULL;
}

static void wait_for_large(git_root *root, const srv_git_id *id)
{
	commit_state *state = find_commit(root, id);
	if (root->has_tip && srv_git_id_equal(&root->tip.id, id))
		state = &root->tip;
	(state ? state : srv_git_add_commit(root, id))->fetching = true;
}

static void remove_commit(git_root *root, uint32_t at)
{
	srv_git_files_remove(&root->gits->files, root->commits_name, srv_git_id_text(&root->commits[at].id).text);
	srv_git_drop_notes(&root->commits[at]);
	root->commits[at] = root->commits[--root->commit_count];
}

static bool move_tip(git_root *root, const srv_git_id *id, bool whole, hob_error *err)
{
	hob_buf answer = {0};
	srv_git_changes changes;
	srv_git_hex to = srv_git_id_text(id);
	bool ok = read_changes(root, whole ? "-" : srv_git_id_text(&root->tip.id).text, to.text, &answer,
						   &changes, err);
	if (!ok && !whole &&
		err->code == HOB_ERR_NOT_FOUND) { /* the former tip may be gone since a forced push */
		srv_git_changes_release(&changes);
		hob_buf_clear(&answer);
		*err = (hob_error){0};
		whole = true;
		ok = read_changes(root, "-", to.text, &answer, &changes, err);
	}
	bool later = ok && srv_git_large_wanted(root, &changes);
	ok = ok && (later || srv_git_files_apply(&root->gits->files, root->fd, &changes, whole, err));
	if (later) {
		wait_for_large(root, id);
	} else if (ok) {
		for (uint32_t i = root->commit_count; i-- > 0;)
			if (root->commits[i].fetching && srv_git_id_equal(&root->commits[i].id, id))
				remove_commit(root, i);
		if (whole)
			srv_git_drop_notes(&root->tip);
		begin_state(root, &root->tip, id);
		root->has_tip = true;
		note_changes(root, &root->tip, &changes);
		srv_log(SRV_LOG_INFO, "git", "%s: %s is at %.7s, %u change%s", root->name, root->tip_name, to.text,
				changes.count, HOB_PLURAL(changes.count));
		srv_git_await(root, &root->tip);
	} else {
		root->has_tip = false; /* the folder may be half changed: the next look compares all of it */
	}
	srv_git_changes_release(&changes);
	hob_buf_release(&answer);
	return ok;
}

commit_state *srv_git_add_commit(git_root *root, const srv_git_id *id)
{
	if (!HOB_ROOM(root->commits, root->commit_room, root->commit_count))
		abort();
	commit_state *state = &root->commits[root->commit_count++];
	*state = (commit_state){.used = ++root->gits->numbers};
	begin_state(root, state, id);
	return state;
}

/* Removes the folders that were not used for longest. */
static void trim(git_root *root)
{
	for (;;) {
		uint32_t oldest = HOB_NONE, free_ones = 0;
		for (uint32_t i = 0; i < root->commit_count; i++) {
			if (root->commits[i].pinned)
				continue;
			free_ones++;
			if (oldest == HOB_NONE || root->commits[i].used < root->commits[oldest].used)
				oldest = i;
		}
		if (free_ones <= KEPT)
			return;
		remove_commit(root, oldest);
	}
}

bool srv_git_make(git_root *root, const srv_git_id *id, bool always, hob_error *err)
{
	hob_buf answer = {0};
	srv_git_changes changes;
	commit_state *state = find_commit(root, id);
	if (state)
		state->used = ++root->gits->numbers;
	if (state ? !state->fetching || srv_git_large_pending(root) > 0
			  : !always && root->has_tip && srv_git_id_equal(&root->tip.id, id))
		return true;
	srv_git_hex text = srv_git_id_text(id);
	bool ok = read_changes(root, "-", text.text, &answer, &changes, err);
	bool later = ok && srv_git_large_wanted(root, &changes);
	ok =
		ok && (later || srv_git_files_make(&root->gits->files, root->commits_name, text.text, &changes, err));
	if (later) {
		wait_for_large(root, id);
	} else if (ok) {
		state = state ? state : srv_git_add_commit(root, id);
		begin_state(root, state, id);
		note_changes(root, state, &changes);
		srv_git_await(root, state);
		trim(root);
	}
	srv_git_changes_release(&changes);
	hob_buf_release(&answer);
	return ok;
}

/* ---- references */

/* The next line "ID NAME" of the references. */
static bool next_ref(hob_str *rest, hob_str *name, srv_git_id *id)
{
	while (rest->len > 0) {
		hob_str line = hob_str_next(rest, '\n');
		*name = hob_str_sub(line, SRV_GIT_ID_TEXT + 1, line.len);
		if (line.len > SRV_GIT_ID_TEXT && srv_git_id_parse(hob_str_sub(line, 0, SRV_GIT_ID_TEXT), id))
			return true;
	}
	return false;
}

static bool find_ref(const git_root *root, const char *before, hob_str name, srv_git_id *out)
{
	hob_buf whole = {0};
	hob_str rest = hob_buf_str(&root->known_refs), found;
	hob_buf_printf(&whole, "%s%.*s", before, HOB_FMT(name));
	bool there = false;
	while (!there && next_ref(&rest, &found, out))
		there = hob_str_equal(found, hob_buf_str(&whole));
	hob_buf_release(&whole);
	return there;
}

/* The name or id that HEAD holds. */
static hob_str head_of(const git_root *root)
{
	hob_str text = hob_buf_str(&root->known_refs);
	return hob_str_starts(text, HOB_STR("@ ")) ? hob_str_sub(text, 2, hob_str_find(text, HOB_STR("\n"), 0))
											   : (hob_str){0};
}

/* The object that a reference names: a commit or a tag. */
static bool name_to_object(const git_root *root, hob_str name, srv_git_id *out)
{
	static const char *const places[] = {"refs/heads/", "refs/tags/", "refs/remotes/", ""};
	for (size_t i = 0; i < HOB_COUNT_OF(places); i++)
		if (find_ref(root, places[i], name, out))
			return true;
	if (!hob_str_equal(name, HOB_STR("HEAD")))
		return false;
	return srv_git_id_parse(head_of(root), out) || find_ref(root, "", head_of(root), out);
}

static bool read_id(const hob_buf *facts, srv_git_id *out, hob_error *err)
{
	return srv_git_id_parse(hob_str_sub(hob_buf_str(facts), 3, 3 + SRV_GIT_ID_TEXT), out) ||
		   hob_fail(err, NOT_FOUND, "hob-git named no commit");
}

static bool is_reached(git_root *root, const srv_git_id *id, hob_error *err)
{
	hob_buf answer = {0};
	srv_git_hex text = srv_git_id_text(id);
	bool ok = srv_git_ask(&root->reader, &answer, err, "reach %s", text.text) &&
			  (hob_str_equal(hob_buf_str(&answer), HOB_STR("y")) ||
			   hob_fail(err, NOT_FOUND, "no branch or tag leads to the commit %.7s", text.text));
	hob_buf_release(&answer);
	return ok;
}

bool srv_git_resolve(git_root *root, hob_str name, srv_git_id *out, hob_error *err)
{
	hob_buf answer = {0};
	bool ok = true;
	if (name.len == 0)
		name = hob_str_of(root->tip_name);
	bool named = name_to_object(root, name, out);
	if (!named) {
		ok = srv_git_ask(&root->reader, &answer, err, "find %.*s", HOB_FMT(name)) &&
			 (srv_git_id_parse(hob_buf_str(&answer), out) ||
			  hob_fail(err, NOT_FOUND, "hob-git named no object"));
		hob_buf_clear(&answer);
	}
	ok = ok && srv_git_ask(&root->reader, &answer, err, "commit %s", srv_git_id_text(out).text) &&
		 read_id(&answer, out, err) && (named || is_reached(root, out, err));
	hob_buf_release(&answer);
	return ok;
}

bool srv_git_permits(git_root *root, hob_str name, hob_str glob, hob_error *err)
{
	hob_buf answer = {0};
	hob_error ignored = {0}; /* what else there is, is not told */
	srv_git_id id;
	bool ok = srv_git_resolve(root, name, &id, &ignored) &&
			  srv_git_ask(&root->reader, &answer, &ignored, "reach-by %.*s %s", HOB_FMT(glob),
						  srv_git_id_text(&id).text) &&
			  hob_str_equal(hob_buf_str(&answer), HOB_STR("y"));
	hob_buf_release(&answer);
	return ok ||
		   hob_fail(err, NOT_FOUND, "no branch or tag '%.*s', which this token may read, leads to '%.*s'",
					HOB_FMT(glob), HOB_FMT(name));
}

/* Names the reference of the tip: the first one of the configuration, or HEAD's. */
static void name_tip(git_root *root)
{
	hob_str name = root->refs && root->refs[0] ? hob_str_of(root->refs[0]) : head_of(root);
	if (hob_str_starts(name, HOB_STR("refs/heads/")))
		name = hob_str_sub(name, 11, name.len);
	snprintf(root->tip_name, sizeof root->tip_name, "%.*s", HOB_FMT(name));
}

/* Keeps a folder for the commit of each other reference that the configuration names. */
static bool follow_others(git_root *root, hob_error *err)
{
	hob_buf refs = {0};
	srv_git_id id;
	bool ok = true;
	hob_buf_put_str(&refs, hob_buf_str(&root->known_refs));
	for (uint32_t i = 0; i < root->commit_count; i++)
		root->commits[i].pinned = false;
	hob_str rest = hob_buf_str(&refs), name;
	while (ok && root->refs && root->refs[0] && root->refs[1] && next_ref(&rest, &name, &id)) {
		hob_str shown = srv_git_short_name(name);
		if (shown.len == 0 || !hob_glob_match_any(root->refs + 1, shown))
			continue;
		ok = srv_git_resolve(root, name, &id, err) && srv_git_make(root, &id, false, err);
		commit_state *state = ok ? find_commit(root, &id) : NULL;
		if (state)
			state->pinned = true;
	}
	trim(root);
	hob_buf_release(&refs);
	return ok;
}

/* Removes the folders of commits that no reference leads to, for example since a forced push. */
static bool drop_lost(git_root *root, hob_error *err)
{
	hob_buf ids = {0}, answer = {0};
	for (uint32_t i = 0; i < root->commit_count; i++) {
		if (!root->commits[i].pinned)
			hob_buf_printf(&ids, " %s", srv_git_id_text(&root->commits[i].id).text);
	}
	bool ok =
		ids.size == 0 || srv_git_ask(&root->reader, &answer, err, "reach%.*s", HOB_FMT(hob_buf_str(&ids)));
	for (uint32_t i = root->commit_count, at = (uint32_t)answer.size; ok && i-- > 0 && at > 0;)
		if (!root->commits[i].pinned && answer.data[--at] == 'n')
			remove_commit(root, i);
	hob_buf_release(&ids);
	hob_buf_release(&answer);
	return ok;
}

bool srv_git_refresh(git_root *root, bool again, hob_error *err)
{
	hob_buf refs = {0};
	srv_git_id id;
	if (!srv_git_ask(&root->reader, &refs, err, "refs")) {
		hob_buf_release(&refs);
		return false;
	}
	hob_buf_release(&root->known_refs);
	root->known_refs = refs;
	name_tip(root);
	hob_str tip = hob_str_of(root->tip_name); /* an id if HEAD is detached */
	if (!name_to_object(root, tip, &id) && !srv_git_id_parse(tip, &id)) {
		bool missing = root->refs && root->refs[0];
		return !missing || hob_fail(err, NOT_FOUND, "the repository '%s' has no branch or tag '%s'",
									root->reader.repository, root->tip_name);
	}
	bool ok = srv_git_resolve(root, tip, &id, err);
	if (ok && !srv_git_id_equal(&id, &root->tried))
		srv_git_large_forget(root);
	root->tried = ok ? id : root->tried;
	bool moved = ok && (!root->has_tip || !srv_git_id_equal(&id, &root->tip.id));
	bool lacks = ok && (again || moved) && has_pointers(&root->tip);
	if (ok && (moved || lacks))
		ok = move_tip(root, &id, !root->has_tip || lacks, err);
	return ok && follow_others(root, err) && drop_lost(root, err);
}

/* ---- watching the references */

enum { MASK = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_ONLYDIR };

static uint32_t watch_below(int inotify, const char *path, uint32_t depth, uint32_t count)
{
	DIR *folder = count < REF_FOLDERS && depth < REF_DEPTH && inotify_add_watch(inotify, path, MASK) >= 0
					  ? opendir(path)
					  : NULL;
	const struct dirent *item;
	count++;
	while (folder && (item = readdir(folder))) {
		char below[SRV_GIT_PATH + 300];
		if (item->d_type == DT_DIR && item->d_name[0] != '.' &&
			snprintf(below, sizeof below, "%s/%s", path, item->d_name) < SRV_GIT_PATH)
			count = watch_below(inotify, below, depth + 1, count);
	}
	if (folder)
		closedir(folder);
	return count;
}

void srv_git_watch(git_root *root)
{
	char refs[SRV_GIT_PATH + 8];
	int fd = open(root->reader.repository, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *silent = fd >= 0 ? srv_silent_mount(fd) : NULL;
	if (root->inotify < 0 && fd >= 0 && !silent)
		root->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (root->inotify >= 0) {
		snprintf(refs, sizeof refs, "%s/refs", root->reader.repository);
		inotify_add_watch(root->inotify, root->reader.repository, MASK);
		watch_below(root->inotify, refs, 0, 0);
	}
	srv_close(fd);
}

bool srv_git_watch_moved(git_root *root)
{
	_Alignas(struct inotify_event) char records[16384];
	bool moved = false, folders = false;
	for (ssize_t size; (size = read(root->inotify, records, sizeof records)) > 0;)
		for (const char *at = records; at < records + size;) {
			const struct inotify_event *event = (const void *)at;
			hob_str name = event->len > 0 ? hob_str_of(event->name) : (hob_str){0};
			at += sizeof *event + event->len;
			/* git writes NAME.lock and renames it; a working copy's index is no reference. */
			moved = moved ||
					!(hob_str_ends_nocase(name, HOB_STR(".lock")) || hob_str_equal(name, HOB_STR("index")));
			folders = folders || (event->mask & IN_ISDIR);
		}
	if (folders)
		srv_git_watch(root);
	return moved;
}
