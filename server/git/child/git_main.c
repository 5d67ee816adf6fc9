/* hob-git: reads the objects of one git repository for the daemon, from inside a sandbox.
 *
 *     hob-git SANDBOX REPOSITORY [ID...]     descriptor 1: a socket to the daemon; the objects are not read
 *
 * The object base is made of its loose and packed objects by path, and the repository is never opened: no
 * configuration, hook, alternate, replacement or attribute has an effect. A question is a line; the answer is
 * "ok SIZE" or "no TEXT" on a line, and SIZE bytes.
 *
 *     refs                     git_refs.h
 *     commit ID                "id|tree|parent|time|author|subject VALUE", a line each; follows tags
 *     log ID COUNT [PATHS]     the same of COUNT commits, newest first, each followed by an empty line; with
 *                              PATHS ("a/b//c"), of those that changed one of them
 *     find PREFIX              the only object whose name begins so
 *     reach ID...              a letter for each commit: y: a reference leads to it, n: none does
 *     reach-by GLOB ID...      the same of branches and tags that GLOB matches
 *     diff ID|- ID FOLDER      what changed below FOLDER, from one commit (or nothing) to another: records
 *                              of a letter, an id, two bytes of length and a path. P: a file is put; D: one
 *                              is gone; L: a link, M: a submodule, N: a name that no file can have: all three
 *                              are left out
 *     blob ID                  the bytes of a file, or those that its LFS pointer stands for ("ok SIZE
 *                              SHA256"); "ok SIZE pointer": the pointer itself, as the large file is not here
 *
 * An object that takes too long ends the process with "end ID" on a line: the daemon starts another, which
 * does not read it.
 *
 * Ends with 2 if it was not started by hob, and with 3 if the sandbox or the object base cannot be had. */
#include "../read/git_refs.h"

#include "../../../core/base/array.h"
#include "../../../core/base/pieces.h"
#include "../../fs/fd.h"
#include "../../worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <git2/sys/odb_backend.h>
#include <libdeflate.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	BAD_CALL = 2,
	NOT_READY = 3,
	SOCKET = 1,
	LINE_MAX_BYTES = 8192,
	FACTS_MAX = 1 << 20, /* of a commit or a tag */
	TREE_MAX = 64 << 20,
	ENTRIES_MAX = 1 << 20,
	DEPTH_MAX = 64,
	PATH_MAX_BYTES = 4000,
	TAGS_MAX = 8,
	LOG_MAX = 5000,
	REACH_MAX = 128,
	FIRST_SLOTS = 1 << 10,
	OBJECT_S = 5
};

static const uint64_t blob_max = (uint64_t)1 << 30, memory_max = (uint64_t)6 << 30;

static const srv_git_id none;
static git_odb *odb;
static int git_fd = -1;
static srv_git_id reading, slow[SRV_GIT_SLOW_MAX]; /* the object that is read; those that took too long */
static uint32_t slow_count;

/* ---- the socket */

static void send_all(const void *data, size_t size)
{
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL); /* what is sent is unpacked */
	for (const uint8_t *at = data; size > 0;) {
		struct iovec part = {(void *)(uintptr_t)at, size};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
		ssize_t sent = sendmsg(SOCKET, &message, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			_exit(0); /* the daemon is gone */
		at += sent;
		size -= (size_t)sent;
	}
}

static void answer(const void *data, size_t size, const char *more)
{
	char head[160];
	int len = snprintf(head, sizeof head, "ok %zu%s%s\n", size, more[0] ? " " : "", more);
	send_all(head, (size_t)len);
	send_all(data, size);
}

static void refuse(const hob_error *error)
{
	char head[sizeof error->context + 8];
	int len = snprintf(head, sizeof head, "no %s\n", error->context);
	for (int i = 0; i < len - 1; i++)
		if ((uint8_t)head[i] < 0x20)
			head[i] = '?';
	send_all(head, (size_t)len);
}

/* Reads a line without its end. False: the daemon is gone, or the line is too long. */
static bool read_line(char line[LINE_MAX_BYTES])
{
	for (size_t size = 0; size < LINE_MAX_BYTES; size++) {
		ssize_t got;
		do
			got = read(SOCKET, line + size, 1);
		while (got < 0 && errno == EINTR);
		if (got != 1)
			return false;
		if (line[size] == '\n') {
			line[size] = 0;
			return true;
		}
	}
	return false;
}

static hob_str next_word(hob_str *rest)
{
	return hob_str_next(rest, ' ');
}

/* ---- objects */

static const char *name_of(git_object_t kind)
{
	return kind == GIT_OBJECT_COMMIT ? "commit" : kind == GIT_OBJECT_TREE ? "tree" : "file";
}

/* A repack may move an object between two looks: the second one lists the packs again. */
static int read_head(const git_oid *id, size_t *size, git_object_t *kind)
{
	int problem = git_odb_read_header(size, kind, odb, id);
	return problem != 0 && git_odb_refresh(odb) == 0 ? git_odb_read_header(size, kind, odb, id) : problem;
}

static void end_slow(int number)
{
	char line[] = "end 0123456789012345678901234567890123456789\n";
	(void)number;
	memcpy(line + 4, srv_git_id_text(&reading).text, SRV_GIT_ID_TEXT);
	send_all(line, sizeof line - 1);
	_exit(1);
}

/* Ends the process if the next object takes too long: libgit2 1.5 unpacks deltas whose bases are a circle
 * for ever. A repository with many of them gets less time for each. */
static void limit_time(size_t size)
{
	const struct itimerval limit = {
		.it_value = {.tv_sec = OBJECT_S / (1 + slow_count) + (time_t)(size >> 24), .tv_usec = 200000}};
	setitimer(ITIMER_PROF, &limit, NULL);
}

/* ---- loose objects, which libgit2 1.5 does not read safely: it writes beyond one that has more than it
 * says, and unpacks a truncated one for ever */

static struct {
	hob_buf data; /* unpacked, with its head; kept between the two questions of read_object */
	git_oid id;
	git_object_t kind;
	size_t head;
} loose;

static bool unpack(const void *packed, size_t size)
{
	struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor();
	enum libdeflate_result result = LIBDEFLATE_INSUFFICIENT_SPACE;
	for (size_t room = 4 * size + 64, got = 0;
		 inflate && result == LIBDEFLATE_INSUFFICIENT_SPACE && room <= 4 * blob_max; room *= 2) {
		hob_buf_release(&loose.data);
		uint8_t *out = hob_buf_grow(&loose.data, room);
		result =
			out ? libdeflate_zlib_decompress(inflate, packed, size, out, room, &got) : LIBDEFLATE_BAD_DATA;
		loose.data.size = out ? got : 0;
	}
	libdeflate_free_decompressor(inflate);
	return result == LIBDEFLATE_SUCCESS;
}

/* The head is "KIND SIZE" and a NUL. */
static bool parse_head(void)
{
	hob_str rest = hob_buf_str(&loose.data), head = hob_str_next(&rest, 0), kind = next_word(&head);
	char name[8], size[24];
	snprintf(name, sizeof name, "%.*s", HOB_FMT(kind));
	snprintf(size, sizeof size, "%zu", rest.len);
	loose.kind = git_object_string2type(name);
	loose.head = loose.data.size - rest.len;
	return hob_str_equal(head, hob_str_of(size));
}

static int open_loose(const git_oid *id)
{
	char path[64];
	struct stat info;
	srv_git_id name;
	if (loose.data.size > 0 && git_oid_equal(id, &loose.id))
		return 0;
	memcpy(name.bytes, id->id, sizeof name.bytes);
	srv_git_hex text = srv_git_id_text(&name);
	snprintf(path, sizeof path, "objects/%.2s/%s", text.text, text.text + 2);
	int fd = openat(git_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return GIT_ENOTFOUND;
	bool fits = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
				(uint64_t)info.st_size <= blob_max;
	void *packed = fits ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	loose.id = *id;
	limit_time(fits ? (size_t)info.st_size : 0);
	bool ok = packed != MAP_FAILED && unpack(packed, (size_t)info.st_size) && parse_head();
	if (packed != MAP_FAILED)
		munmap(packed, (size_t)info.st_size);
	if (ok)
		return 0;
	hob_buf_release(&loose.data);
	git_error_set_str(GIT_ERROR_ODB, "it is damaged");
	return GIT_ERROR;
}

static int read_loose_head(size_t *size, git_object_t *kind, git_odb_backend *backend, const git_oid *id)
{
	(void)backend;
	int problem = open_loose(id);
	*size = loose.data.size - loose.head;
	*kind = loose.kind;
	return problem;
}

static int read_loose(void **data, size_t *size, git_object_t *kind, git_odb_backend *backend,
					  const git_oid *id)
{
	int problem = read_loose_head(size, kind, backend, id);
	if (problem != 0)
		return problem;
	*data = git_odb_backend_data_alloc(backend, *size + 1);
	if (*data)
		memcpy(*data, loose.data.data + loose.head, *size);
	hob_buf_release(&loose.data);
	return *data ? 0 : GIT_ERROR;
}

static bool is_slow(const srv_git_id *id)
{
	bool found = false;
	for (uint32_t i = 0; i < slow_count && !found; i++)
		found = srv_git_id_equal(&slow[i], id);
	return found;
}

static const char *why(void)
{
	return git_error_last() ? git_error_last()->message : "it is damaged";
}

/* kind: GIT_OBJECT_ANY: a commit or a tag. */
static git_odb_object *read_object(const srv_git_id *wanted, git_object_t kind, uint64_t most, hob_error *err)
{
	git_oid id;
	git_odb_object *object = NULL;
	git_object_t found = GIT_OBJECT_INVALID;
	size_t size = 0;
	int problem = 0;
	srv_git_hex text = srv_git_id_text(wanted);
	memcpy(id.id, wanted->bytes, sizeof id.id);
	reading = *wanted;
	limit_time(0);
	if (is_slow(wanted))
		(void)!hob_fail(err, CORRUPT, SRV_GIT_SLOW, text.text);
	else if ((problem = read_head(&id, &size, &found)) == GIT_ENOTFOUND)
		(void)!hob_fail(err, NOT_FOUND,
						"the object %s is not in the repository; a shallow or partial clone lacks some, and "
						"alternates are not read",
						text.text);
	else if (problem != 0)
		(void)!hob_fail(err, CORRUPT, "the object %s cannot be read: %s", text.text, why());
	else if (kind == GIT_OBJECT_ANY ? found != GIT_OBJECT_COMMIT && found != GIT_OBJECT_TAG : found != kind)
		(void)!hob_fail(err, NOT_FOUND, "the object %s is no %s", text.text,
						kind == GIT_OBJECT_ANY ? "commit" : name_of(kind));
	else if (size > most)
		(void)!hob_fail(err, LIMIT, "the object %s has %zu bytes, more than %llu", text.text, size,
						(unsigned long long)most);
	else if (limit_time(size), git_odb_read(&object, odb, &id) != 0)
		(void)!hob_fail(err, CORRUPT, "the object %s cannot be read: %s", text.text, why());
	return object;
}

static hob_bytes bytes_of(git_odb_object *object)
{
	return (hob_bytes){git_odb_object_data(object), git_odb_object_size(object)};
}

/* The commit `id`, or the one that the tag `id` names. */
static git_odb_object *read_commit(srv_git_id *id, srv_git_commit *out, hob_error *err)
{
	for (int i = 0; i < TAGS_MAX; i++) {
		git_odb_object *object = read_object(id, GIT_OBJECT_ANY, FACTS_MAX, err);
		bool is_tag = object && git_odb_object_type(object) == GIT_OBJECT_TAG;
		bool ok = object && (is_tag ? srv_git_tag_parse(bytes_of(object), id, err)
									: srv_git_commit_parse(bytes_of(object), out, err));
		if (ok && !is_tag)
			return object;
		git_odb_object_free(object);
		if (!ok)
			return NULL;
	}
	(void)!hob_fail(err, LIMIT, "more than %d tags name each other", TAGS_MAX);
	return NULL;
}

static void put_line(hob_buf *out, const char *key, hob_str value)
{
	hob_buf_printf(out, "%s ", key);
	for (size_t i = 0; i < value.len; i++)
		hob_buf_put(out, (uint8_t)value.data[i] < 0x20 ? " " : value.data + i, 1);
	hob_buf_put(out, "\n", 1);
}

static void put_commit(hob_buf *out, const srv_git_id *id, const srv_git_commit *commit)
{
	put_line(out, "id", hob_str_of(srv_git_id_text(id).text));
	put_line(out, "tree", hob_str_of(srv_git_id_text(&commit->tree).text));
	for (uint32_t i = 0; i < commit->parent_count; i++)
		put_line(out, "parent", hob_str_of(srv_git_id_text(&commit->parents[i]).text));
	hob_buf_printf(out, "time %lld\n", (long long)commit->time_s);
	put_line(out, "author", hob_str_sub(commit->author, 0, 200));
	put_line(out, "subject", hob_str_sub(commit->subject, 0, 500));
}

/* ---- history: of the commits that are known and not visited yet, the newest comes next */

typedef struct known {
	srv_git_id id;
	int64_t time_s;
	uint32_t number; /* of commits of one time, the one that was known first */
} known;

typedef struct history {
	known *waiting;	  /* a heap: the newest is first */
	srv_git_id *seen; /* a hash table of `slots`; zeros: free */
	uint32_t count, room, slots, seen_count;
} history;

static bool insert(srv_git_id *seen, uint32_t slots, const srv_git_id *id)
{
	uint32_t at = hob_load_u32(id->bytes) % slots;
	for (; !srv_git_id_equal(&seen[at], &none); at = (at + 1) % slots)
		if (srv_git_id_equal(&seen[at], id))
			return false;
	seen[at] = *id;
	return true;
}

static void grow(history *h)
{
	uint32_t slots = h->slots > 0 ? 2 * h->slots : FIRST_SLOTS;
	srv_git_id *larger = hob_must(calloc(slots, sizeof *larger));
	for (uint32_t i = 0; i < h->slots; i++)
		if (!srv_git_id_equal(&h->seen[i], &none))
			insert(larger, slots, &h->seen[i]);
	free(h->seen);
	h->seen = larger;
	h->slots = slots;
}

static bool is_new(history *h, const srv_git_id *id)
{
	if (2 * h->seen_count >= h->slots)
		grow(h);
	bool fresh = insert(h->seen, h->slots, id);
	h->seen_count += fresh;
	return fresh;
}

static bool is_newer(const known *a, const known *b)
{
	return a->time_s != b->time_s ? a->time_s > b->time_s : a->number < b->number;
}

/* Adds a commit, unless it cannot be read: a shallow clone ends somewhere. */
static void add_known(history *h, const srv_git_id *wanted)
{
	srv_git_id id = *wanted;
	srv_git_commit commit;
	hob_error ignored;
	git_odb_object *object = is_new(h, &id) ? read_commit(&id, &commit, &ignored) : NULL;
	if (object && HOB_ROOM(h->waiting, h->room, h->count)) {
		known added = {id, commit.time_s, h->seen_count};
		uint32_t at = h->count++;
		for (; at > 0 && is_newer(&added, &h->waiting[(at - 1) / 2]); at = (at - 1) / 2)
			h->waiting[at] = h->waiting[(at - 1) / 2];
		h->waiting[at] = added;
	}
	git_odb_object_free(object);
}

static known take_newest(history *h)
{
	known taken = h->waiting[0], last = h->waiting[--h->count];
	uint32_t at = 0;
	for (uint32_t child; (child = 2 * at + 1) < h->count; at = child) {
		child += child + 1 < h->count && is_newer(&h->waiting[child + 1], &h->waiting[child]);
		if (!is_newer(&h->waiting[child], &last))
			break;
		h->waiting[at] = h->waiting[child];
	}
	h->waiting[at] = last;
	return taken;
}

static void add_parents(history *h, const srv_git_commit *commit)
{
	for (uint32_t i = 0; i < commit->parent_count; i++)
		add_known(h, &commit->parents[i]);
}

static void end_history(history *h)
{
	free(h->waiting);
	free(h->seen);
}

static void add_references(history *h, const hob_buf *refs, hob_str glob)
{
	srv_git_id id;
	for (hob_str rest = hob_buf_str(refs), line; hob_str_piece(&rest, '\n', &line);) {
		size_t from = hob_str_starts(line, HOB_STR("@ ")) ? 2 : 0;
		hob_str name = hob_str_sub(line, from + SRV_GIT_ID_TEXT + 1, line.len);
		if ((glob.len == 0 || hob_glob_match(glob, srv_git_short_name(name))) &&
			srv_git_id_parse(hob_str_sub(line, from, from + SRV_GIT_ID_TEXT), &id))
			add_known(h, &id);
	}
}

/* glob: empty: any reference. */
static bool put_reached(hob_str glob, hob_str ids, hob_buf *out, hob_error *err)
{
	srv_git_id wanted[REACH_MAX];
	char letters[REACH_MAX];
	uint32_t count = 0, missing = 0;
	history h = {0};
	hob_buf refs = {0};
	hob_error ignored;
	while (ids.len > 0 && count < REACH_MAX && srv_git_id_parse(next_word(&ids), &wanted[count]))
		letters[count++] = 'n';
	missing = count;
	bool ok = srv_git_refs(git_fd, &refs, err);
	if (ok)
		add_references(&h, &refs, glob);
	while (ok && missing > 0 && h.count > 0) {
		srv_git_id id = take_newest(&h).id;
		srv_git_commit commit;
		for (uint32_t i = 0; i < count; i++)
			if (letters[i] == 'n' && srv_git_id_equal(&wanted[i], &id)) {
				letters[i] = 'y';
				missing--;
			}
		git_odb_object *object = read_commit(&id, &commit, &ignored);
		if (object)
			add_parents(&h, &commit);
		git_odb_object_free(object);
	}
	hob_buf_put(out, letters, ok ? count : 0);
	end_history(&h);
	hob_buf_release(&refs);
	return ok;
}

/* ---- diff */

typedef struct differ {
	hob_buf *out, path;
	uint32_t entries;
	hob_error *err;
} differ;

static void put_record(differ *d, char letter, const srv_git_id *id)
{
	uint8_t size[2] = {(uint8_t)d->path.size, (uint8_t)(d->path.size >> 8)};
	hob_buf_put(d->out, &letter, 1);
	hob_buf_put(d->out, id->bytes, sizeof id->bytes);
	hob_buf_put(d->out, size, sizeof size);
	hob_buf_put_str(d->out, hob_buf_str(&d->path));
}

static bool walk(differ *d, const srv_git_id *before, const srv_git_id *after, uint32_t depth);

/* One entry that differs: `old` or `new` is NULL where there is none. */
static bool put_entry(differ *d, const srv_git_entry *old, const srv_git_entry *new, uint32_t depth)
{
	const srv_git_entry *entry = new ? new : old;
	if (old && new &&srv_git_id_equal(&old->id, &new->id) && old->kind == new->kind)
		return true;
	size_t above = d->path.size;
	hob_buf_printf(&d->path, "%s%.*s", above > 0 ? "/" : "", HOB_FMT(entry->name));
	bool fault = srv_git_name_fault(entry->name) != NULL || d->path.size > PATH_MAX_BYTES, ok = true;
	if (d->path.size > PATH_MAX_BYTES)
		d->path.size = PATH_MAX_BYTES;
	if (fault)
		put_record(d, new ? 'N' : 'D', &entry->id);
	else if (entry->kind == SRV_GIT_FOLDER)
		ok = walk(d, old ? &old->id : NULL, new ? &new->id : NULL, depth + 1);
	else if (!new)
		put_record(d, 'D', &entry->id);
	else
		put_record(d,
				   new->kind == SRV_GIT_FILE	 ? 'P'
				   : new->kind == SRV_GIT_LINK	 ? 'L'
				   : new->kind == SRV_GIT_MODULE ? 'M'
												 : 'N',
				   &entry->id);
	d->path.size = above;
	return ok;
}

static git_odb_object *open_tree(differ *d, const srv_git_id *id, srv_git_tree *out)
{
	git_odb_object *object = id ? read_object(id, GIT_OBJECT_TREE, TREE_MAX, d->err) : NULL;
	if (object)
		*out = (srv_git_tree){.rest = bytes_of(object)};
	return object;
}

/* Both trees are in git's order, in which a folder and a file of one name are two entries. */
static bool walk(differ *d, const srv_git_id *before, const srv_git_id *after, uint32_t depth)
{
	if (before && after && srv_git_id_equal(before, after))
		return true;
	if (depth > DEPTH_MAX)
		return hob_fail(d->err, LIMIT, "folders are nested more than %d deep", DEPTH_MAX);
	srv_git_tree old = {.any = false}, new = {.any = false};
	git_odb_object *old_data = open_tree(d, before, &old);
	git_odb_object *new_data = !before || old_data ? open_tree(d, after, &new) : NULL;
	bool ok = (!before || old_data) && (!after || new_data);
	bool has_old = ok && srv_git_tree_next(&old, d->err), has_new = false;
	ok = ok && d->err->code == HOB_ERR_OK;
	has_new = ok && srv_git_tree_next(&new, d->err);
	ok = ok && d->err->code == HOB_ERR_OK;
	while (ok && (has_old || has_new)) {
		int order = !has_old ? 1 : !has_new ? -1 : srv_git_compare(&old.entry, &new.entry);
		ok = (d->entries += 1) <= ENTRIES_MAX ||
			 hob_fail(d->err, LIMIT, "a commit has more than %d entries", ENTRIES_MAX);
		ok = ok && put_entry(d, order <= 0 ? &old.entry : NULL, order >= 0 ? &new.entry : NULL, depth);
		if (ok && order <= 0)
			has_old = srv_git_tree_next(&old, d->err);
		ok = ok && d->err->code == HOB_ERR_OK;
		if (ok && order >= 0)
			has_new = srv_git_tree_next(&new, d->err);
		ok = ok && d->err->code == HOB_ERR_OK;
	}
	git_odb_object_free(old_data);
	git_odb_object_free(new_data);
	return ok;
}

/* Goes from a tree to what `path` names: a folder, or (with `any`) anything. False with err->code OK: there
 * is none. */
static bool find_below(differ *d, srv_git_id *tree, hob_str path, bool any)
{
	while (path.len > 0) {
		hob_str name = hob_str_next(&path, '/');
		srv_git_tree listing;
		git_odb_object *data = open_tree(d, tree, &listing);
		bool found = false;
		while (data && !found && srv_git_tree_next(&listing, d->err))
			found = hob_str_equal(listing.entry.name, name) &&
					(listing.entry.kind == SRV_GIT_FOLDER || (any && path.len == 0));
		if (found)
			*tree = listing.entry.id;
		git_odb_object_free(data);
		if (!found)
			return false;
	}
	return true;
}

/* The tree of a commit's folder. False without an error: `commit` is "-", or lacks the folder. */
static bool find_tree(differ *d, hob_str commit, hob_str folder, srv_git_id *tree)
{
	srv_git_id id;
	srv_git_commit facts;
	if (hob_str_equal(commit, HOB_STR("-")))
		return false;
	if (!srv_git_id_parse(commit, &id))
		return hob_fail(d->err, BAD_REQUEST, "'%.*s' is no commit", HOB_FMT(commit));
	git_odb_object *object = read_commit(&id, &facts, d->err);
	if (!object)
		return false;
	*tree = facts.tree;
	git_odb_object_free(object);
	return find_below(d, tree, folder, false);
}

static bool put_diff(hob_str from, hob_str to, hob_str folder, hob_buf *out, hob_error *err)
{
	differ d = {.out = out, .err = err};
	srv_git_id before, after;
	bool has_before = find_tree(&d, from, folder, &before);
	bool has_after = err->code == HOB_ERR_OK && find_tree(&d, to, folder, &after);
	bool ok = err->code == HOB_ERR_OK;
	if (ok && !has_after)
		ok = hob_fail(err, NOT_FOUND, "the commit has no folder '%.*s'", HOB_FMT(folder));
	ok = ok && walk(&d, has_before ? &before : NULL, &after, 0);
	hob_buf_release(&d.path);
	return ok;
}

/* ---- log */

/* The object that a path names in a tree; zeros: none, or it cannot be read. */
static srv_git_id entry_at(srv_git_id tree, hob_str path)
{
	hob_error ignored = {0};
	differ d = {.err = &ignored};
	return find_below(&d, &tree, path, true) ? tree : none;
}

/* Whether one of the paths differs between two trees; before: NULL: there is none. */
static bool differs(const srv_git_id *before, const srv_git_id *after, hob_str paths)
{
	bool changed = false;
	while (!changed && paths.len > 0 && !(before && srv_git_id_equal(before, after))) {
		size_t end = hob_str_find(paths, HOB_STR("//"), 0);
		hob_str path = hob_str_sub(paths, 0, end);
		srv_git_id was = before ? entry_at(*before, path) : none, is = entry_at(*after, path);
		changed = !srv_git_id_equal(&was, &is);
		paths = end == SIZE_MAX ? (hob_str){0} : hob_str_sub(paths, end + 2, paths.len);
	}
	return changed;
}

/* Whether a commit differs from each of its parents. */
static bool touches(const srv_git_commit *commit, hob_str paths)
{
	bool changed = commit->parent_count > 0 || differs(NULL, &commit->tree, paths);
	for (uint32_t i = 0; changed && i < commit->parent_count; i++) {
		srv_git_id id = commit->parents[i];
		srv_git_commit parent;
		hob_error ignored = {0};
		git_odb_object *object = read_commit(&id, &parent, &ignored);
		changed = differs(object ? &parent.tree : NULL, &commit->tree, paths);
		git_odb_object_free(object);
	}
	return changed;
}

static bool put_log(const srv_git_id *from, uint32_t most, hob_str paths, hob_buf *out, hob_error *err)
{
	history h = {0};
	bool ok = true;
	add_known(&h, from);
	for (uint32_t listed = 0; ok && h.count > 0 && listed < most;) {
		srv_git_id id = take_newest(&h).id;
		srv_git_commit commit;
		git_odb_object *object = read_commit(&id, &commit, err);
		ok = object != NULL;
		if (ok && (paths.len == 0 || touches(&commit, paths))) {
			put_commit(out, &id, &commit);
			hob_buf_put(out, "\n", 1);
			listed++;
		}
		if (ok)
			add_parents(&h, &commit);
		git_odb_object_free(object);
	}
	end_history(&h);
	return ok;
}

/* ---- blobs */

/* Sends the large file of a pointer. False: it is not here in whole. */
static bool send_large(hob_str sha256, uint64_t size)
{
	char path[160];
	struct stat info;
	snprintf(path, sizeof path, "lfs/objects/%.2s/%.2s/%.64s", sha256.data, sha256.data + 2, sha256.data);
	int fd = openat(git_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool whole = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
				 (uint64_t)info.st_size == size && size <= blob_max;
	if (whole) {
		char head[160];
		int len = snprintf(head, sizeof head, "ok %llu %.64s\n", (unsigned long long)size, sha256.data);
		send_all(head, (size_t)len);
	}
	static uint8_t piece[1 << 16];
	for (uint64_t sent = 0; whole && sent < size;) {
		ssize_t got = read(fd, piece, size - sent < sizeof piece ? (size_t)(size - sent) : sizeof piece);
		if (got <= 0)
			_exit(1); /* its size was promised; the daemon starts another process */
		send_all(piece, (size_t)got);
		sent += (uint64_t)got;
	}
	srv_close(fd);
	return whole;
}

static bool send_blob(const srv_git_id *id, hob_error *err)
{
	git_odb_object *object = read_object(id, GIT_OBJECT_BLOB, blob_max, err);
	hob_str sha256;
	uint64_t size;
	if (!object)
		return false;
	hob_bytes data = bytes_of(object);
	bool points = srv_git_lfs_parse(data, &sha256, &size);
	if (!points || !send_large(sha256, size))
		answer(data.data, data.size, points ? "pointer" : "");
	git_odb_object_free(object);
	return true;
}

/* ---- questions */

static bool put_found(hob_str prefix, hob_buf *out, hob_error *err)
{
	git_oid part, id;
	int result = prefix.len >= 4 && prefix.len <= SRV_GIT_ID_TEXT &&
						 git_oid_fromstrn(&part, prefix.data, prefix.len) == 0
					 ? git_odb_exists_prefix(&id, odb, &part, prefix.len)
					 : GIT_ENOTFOUND;
	if (result != 0)
		return hob_fail(err, NOT_FOUND,
						result == GIT_EAMBIGUOUS ? "'%.*s' begins the names of several objects"
												 : "no branch, tag or commit is called '%.*s'",
						HOB_FMT(prefix));
	srv_git_id found;
	memcpy(found.bytes, id.id, sizeof found.bytes);
	hob_buf_printf(out, "%s", srv_git_id_text(&found).text);
	return true;
}

static bool put_answer(hob_str verb, hob_str rest, hob_buf *out, hob_error *err)
{
	srv_git_id id;
	srv_git_commit commit;
	if (hob_str_equal(verb, HOB_STR("refs")))
		return srv_git_refs(git_fd, out, err);
	if (hob_str_equal(verb, HOB_STR("reach")))
		return put_reached((hob_str){0}, rest, out, err);
	hob_str first = next_word(&rest);
	if (hob_str_equal(verb, HOB_STR("reach-by")))
		return put_reached(first, rest, out, err);
	if (hob_str_equal(verb, HOB_STR("find")))
		return put_found(first, out, err);
	if (hob_str_equal(verb, HOB_STR("diff"))) {
		hob_str to = next_word(&rest);
		return put_diff(first, to, rest, out, err);
	}
	if (!srv_git_id_parse(first, &id))
		return hob_fail(err, BAD_REQUEST, "'%.*s' names no object", HOB_FMT(first));
	if (hob_str_equal(verb, HOB_STR("log"))) {
		hob_str count = next_word(&rest);
		unsigned long most = count.len > 0 ? strtoul(count.data, NULL, 10) : 0;
		return put_log(&id, (uint32_t)(most < LOG_MAX ? most : LOG_MAX), rest, out, err);
	}
	git_odb_object *object = read_commit(&id, &commit, err);
	if (object)
		put_commit(out, &id, &commit);
	git_odb_object_free(object);
	return object != NULL;
}

static void serve(hob_str line)
{
	hob_str rest = line, verb = next_word(&rest);
	hob_error error = {0};
	hob_buf out = {0};
	srv_git_id id;
	if (hob_str_equal(verb, HOB_STR("blob"))) {
		bool good = srv_git_id_parse(rest, &id) || hob_fail(&error, BAD_REQUEST, "a blob has no name");
		if (!good || !send_blob(&id, &error))
			refuse(&error);
		return;
	}
	bool ok = put_answer(verb, rest, &out, &error);
	if (ok && out.failed)
		ok = hob_fail(&error, MEMORY, "no memory left for the answer");
	if (ok)
		answer(out.data, out.size, "");
	else
		refuse(&error);
	hob_buf_release(&out);
}

/* ---- start */

static bool open_objects(const char *repository)
{
	char folder[4096];
	git_odb_backend *single = NULL, *packed = NULL;
	if (snprintf(folder, sizeof folder, "%s/objects", repository) >= (int)sizeof folder)
		return false;
	git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, (size_t)32 << 20);
	git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, (size_t)1 << 30);
	git_libgit2_opts(GIT_OPT_SET_MWINDOW_FILE_LIMIT, (size_t)128);
	if (git_odb_backend_loose(&single, folder, -1, 0, 0, 0) != 0)
		return false;
	single->read = read_loose;
	single->read_header = read_loose_head;
	return git_odb_new(&odb) == 0 && git_odb_add_backend(odb, single, 1) == 0 &&
		   git_odb_backend_pack(&packed, folder) == 0 && git_odb_add_backend(odb, packed, 2) == 0;
}

int main(int argc, char **argv)
{
	struct stat info;
	if (argc < 3 || argc > 3 + SRV_GIT_SLOW_MAX || fstat(SOCKET, &info) != 0 || !S_ISSOCK(info.st_mode)) {
		fprintf(stderr, "hob-git is started by hob; run 'hob serve git:REPOSITORY' instead\n");
		return BAD_CALL;
	}
	signal(SIGINT, SIG_IGN); /* Ctrl-C is for the daemon */
	signal(SIGPROF, end_slow);
	for (int i = 3; i < argc; i++)
		slow_count += srv_git_id_parse(hob_str_of(argv[i]), &slow[slow_count]);
	static char line[LINE_MAX_BYTES];
	srv_sandbox_layers layers;
	hob_error error = {0};
	git_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (git_fd < 0 || git_libgit2_init() < 0)
		return NOT_READY;
	if (!srv_sandbox_enter((srv_sandbox_policy)atoi(argv[1]), memory_max, &git_fd, 1, SRV_SANDBOX_READS, NULL,
						   NULL, &layers, &error) ||
		!srv_git_can_read(git_fd, &error)) {
		refuse(&error);
		_exit(NOT_READY);
	}
	if (!open_objects(argv[2])) {
		(void)!hob_fail(&error, IO, "its objects cannot be read");
		refuse(&error);
		_exit(NOT_READY);
	}
	hob_buf hello = {0};
	hob_buf_printf(&hello, "landlock %d, seccomp %d", layers.landlock ? layers.landlock_abi : 0,
				   layers.seccomp);
	answer(hello.data, hello.size, "");
	hob_buf_release(&hello);
	while (read_line(line))
		serve(hob_str_of(line));
	_exit(0);
}
