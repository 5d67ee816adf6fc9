#include "tree.h"
#include "../../core/hash/hex.h"

#include "../../core/base/array.h"
#include "../../core/base/pieces.h"
#include "../fs/fd.h"
#include "../fs/folder.h"
#include "../fs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEPTH_MAX = 128 };

/* ---- entries */

static srv_listed listed(const void *entries, uint32_t index)
{
	const tree_entry *entry = ((tree_entry *const *)entries)[index];
	return (srv_listed){entry->path, &entry->digest};
}

static srv_listing whole(const srv_tree *tree)
{
	return (srv_listing){.at = listed, .files = tree->entries, .end = tree->count};
}

uint32_t srv_tree_lower(const srv_tree *tree, hob_str path)
{
	srv_listing all = whole(tree);
	return srv_listing_lower(&all, path);
}

tree_entry *srv_tree_find(const srv_tree *tree, hob_str path)
{
	uint32_t at = srv_tree_lower(tree, path);
	return at < tree->count && hob_str_equal(tree->entries[at]->path, path) ? tree->entries[at] : NULL;
}

static tree_entry *place(srv_tree *tree, hob_str path)
{
	tree_entry *entry = srv_tree_find(tree, path);
	if (entry)
		return entry;
	entry = calloc(1, sizeof *entry + path.len + 1);
	if (!entry || !HOB_ROOM(tree->entries, tree->capacity, tree->count)) {
		free(entry);
		return NULL;
	}
	memcpy(entry + 1, path.data, path.len);
	entry->path = (hob_str){(const char *)(entry + 1), path.len};
	entry->agent = HOB_NONE;
	uint32_t at = srv_tree_lower(tree, path);
	memmove(&tree->entries[at + 1], &tree->entries[at], (tree->count - at) * sizeof *tree->entries);
	tree->entries[at] = entry;
	tree->count++;
	return entry;
}

static void remove_at(srv_tree *tree, uint32_t at)
{
	free(tree->entries[at]);
	tree->count--;
	memmove(&tree->entries[at], &tree->entries[at + 1], (tree->count - at) * sizeof *tree->entries);
}

static void log_entry(FILE *log, const tree_entry *entry)
{
	fprintf(log,
			"put\t%s\t%" PRId64 "\t%" PRId64 "\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\t%s\n",
			hob_sha256_hex(&entry->digest).text, entry->mtime_ms, entry->at_ms, entry->agent,
			entry->disk.size, entry->disk.inode, entry->disk.mtime_ns, entry->disk.ctime_ns,
			entry->path.data);
}

bool srv_tree_put(srv_tree *tree, const tree_entry *wanted)
{
	tree_entry copy = *wanted, *entry = place(tree, wanted->path);
	if (!entry)
		return false;
	copy.path = entry->path;
	if (!srv_stat_path(tree->fd, copy.path, &copy.disk))
		return false;
	*entry = copy;
	log_entry(tree->log, entry);
	return true;
}

void srv_tree_drop(srv_tree *tree, hob_str path)
{
	uint32_t at = srv_tree_lower(tree, path);
	if (at == tree->count || !hob_str_equal(tree->entries[at]->path, path))
		return;
	fprintf(tree->log, "del\t%s\n", tree->entries[at]->path.data);
	remove_at(tree, at);
}

static bool add_agent(srv_tree *tree, hob_str who, hob_str base)
{
	if (!HOB_ROOM(tree->agents, tree->agent_capacity, tree->agent_count))
		return false;
	tree_agent agent = {strndup(who.data, who.len), strndup(base.len > 0 ? base.data : "", base.len)};
	if (!agent.who || !agent.base) {
		free(agent.who);
		free(agent.base);
		return false;
	}
	tree->agents[tree->agent_count++] = agent;
	return true;
}

uint32_t srv_tree_agent(srv_tree *tree, hob_str who, hob_str base)
{
	for (uint32_t i = 0; i < tree->agent_count; i++)
		if (hob_str_equal(hob_str_of(tree->agents[i].who), who) &&
			hob_str_equal(hob_str_of(tree->agents[i].base), base))
			return i;
	if (!add_agent(tree, who, base))
		return HOB_NONE;
	fprintf(tree->log, "agent\t%.*s\t%.*s\n", HOB_FMT(who), HOB_FMT(base));
	return tree->agent_count - 1;
}

/* ---- the log */

/* Takes a number off the line, which is NUL-terminated. */
static int64_t next_number(hob_str *line)
{
	hob_str field = hob_str_next(line, '\t');
	return field.len > 0 ? strtoll(field.data, NULL, 10) : 0;
}

static void read_line(srv_tree *tree, hob_str line)
{
	hob_str verb = hob_str_next(&line, '\t');
	if (hob_str_equal(verb, HOB_STR("agent"))) {
		hob_str who = hob_str_next(&line, '\t');
		(void)!add_agent(tree, who, line);
	} else if (hob_str_equal(verb, HOB_STR("del"))) {
		uint32_t at = srv_tree_lower(tree, line);
		if (at < tree->count && hob_str_equal(tree->entries[at]->path, line))
			remove_at(tree, at);
	} else if (hob_str_equal(verb, HOB_STR("put"))) {
		tree_entry entry = {0};
		bool good = hob_sha256_parse(hob_str_next(&line, '\t'), &entry.digest);
		entry.mtime_ms = next_number(&line);
		entry.at_ms = next_number(&line);
		entry.agent = (uint32_t)next_number(&line);
		entry.disk = (srv_stat){.size = (uint64_t)next_number(&line)};
		entry.disk.inode = (uint64_t)next_number(&line);
		entry.disk.mtime_ns = next_number(&line);
		entry.disk.ctime_ns = next_number(&line);
		tree_entry *kept = good && line.len > 0 ? place(tree, line) : NULL;
		if (!kept)
			return;
		entry.path = kept->path;
		*kept = entry;
	}
}

/* Reads the log. A line truncated by a kill costs one hash: the disk is authoritative. */
static bool read_log(srv_tree *tree, int area, hob_error *err)
{
	int fd = openat(area, "log", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *old = fd >= 0 ? fdopen(fd, "r") : NULL;
	hob_own char *line = NULL;
	size_t room = 0;
	ssize_t size;
	while (old && (size = getline(&line, &room, old)) > 0)
		if (line[size - 1] == '\n') {
			line[size - 1] = 0;
			read_line(tree, (hob_str){line, (size_t)size - 1});
		}
	if (old)
		fclose(old);
	fd = openat(area, "log.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	tree->log = fd >= 0 ? fdopen(fd, "w") : NULL;
	for (uint32_t i = 0; tree->log && i < tree->agent_count; i++)
		fprintf(tree->log, "agent\t%s\t%s\n", tree->agents[i].who, tree->agents[i].base);
	for (uint32_t i = 0; tree->log && i < tree->count; i++)
		log_entry(tree->log, tree->entries[i]);
	if (tree->log && fflush(tree->log) == 0 && renameat(area, "log.new", area, "log") == 0)
		return true;
	int code = errno;
	if (tree->log)
		fclose(tree->log);
	tree->log = NULL;
	return hob_fail(err, IO, "cannot write the log of the mirror root %s: %s", tree->path, strerror(code));
}

bool srv_tree_open(srv_tree *tree, hob_error *err)
{
	struct stat mine, there;
	if (stat(tree->path, &there) != 0)
		return hob_fail(err, IO, "the folder %s of the mirror root is missing: %s", tree->path,
						strerror(errno));
	if (tree->log) {
		if (fstat(tree->fd, &mine) == 0 && mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
			return true;
		return hob_fail(err, IO, "%s is another folder than before; restart the daemon if that is right",
						tree->path);
	}
	if (tree->fd < 0)
		tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree->fd >= 0)
		mkdirat(tree->fd, SRV_MIRROR_AREA, 0700);
	srv_own_fd area =
		tree->fd < 0 ? -1
					 : openat(tree->fd, SRV_MIRROR_AREA, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (area < 0)
		return hob_fail(err, IO, "cannot write to the mirror root %s: %s", tree->path, strerror(errno));
	return read_log(tree, area, err);
}

void srv_tree_release(srv_tree *tree)
{
	for (uint32_t i = 0; i < tree->count; i++)
		free(tree->entries[i]);
	for (uint32_t i = 0; i < tree->agent_count; i++) {
		free(tree->agents[i].who);
		free(tree->agents[i].base);
	}
	if (tree->log)
		fclose(tree->log);
	srv_close(tree->fd);
	free(tree->entries);
	free(tree->agents);
	free(tree->path);
}

/* ---- the disk */

static bool hash_file(int folder, const char *name, hob_sha256 *out)
{
	srv_own_fd fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && srv_hash_rest(fd, NULL, out, NULL);
}

static void check_file(srv_tree *tree, int folder, const char *name, hob_str path, const struct stat *info)
{
	srv_stat disk = srv_stat_of(info);
	tree_entry *entry = srv_tree_find(tree, path), fresh = {.path = path, .agent = HOB_NONE, .disk = disk};
	if (entry && srv_stat_equal(&entry->disk, &disk)) {
		entry->seen = true;
		return;
	}
	if (!hash_file(folder, name, &fresh.digest))
		return;
	if (entry && hob_sha256_equal(&entry->digest, &fresh.digest)) {
		fresh.agent = entry->agent;
		fresh.at_ms = entry->at_ms;
		fresh.mtime_ms = entry->mtime_ms;
	} else {
		fresh.mtime_ms = fresh.at_ms = disk.mtime_ns / 1000000;
	}
	fresh.seen = true;
	(void)!srv_tree_put(tree, &fresh);
}

static bool check_folder(srv_tree *tree, int fd, hob_buf *path, uint32_t depth)
{
	srv_own_folder *folder = srv_folder_of(fd);
	if (!folder)
		return false;
	bool ok = depth < DEPTH_MAX;
	struct dirent *item;
	while (ok && (item = srv_folder_next(folder))) {
		struct stat info;
		const char *name = item->d_name;
		size_t before = path->size;
		bool own = before == 0 && strcmp(name, SRV_MIRROR_AREA) == 0;
		if (own || fstatat(dirfd(folder), name, &info, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		hob_buf_printf(path, "%s%s", before > 0 ? "/" : "", name);
		if (S_ISREG(info.st_mode))
			check_file(tree, dirfd(folder), name, hob_buf_str(path), &info);
		int below = S_ISDIR(info.st_mode)
						? openat(dirfd(folder), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
						: -1;
		ok = !path->failed && (below < 0 || check_folder(tree, below, path, depth + 1));
		path->size = before;
	}
	return ok;
}

bool srv_tree_check(srv_tree *tree, hob_error *err)
{
	hob_own_buf path = {0};
	for (uint32_t i = 0; i < tree->count; i++)
		tree->entries[i]->seen = false;
	int fd = openat(tree->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && check_folder(tree, fd, &path, 0);
	if (!ok)
		return hob_fail(err, IO, "cannot list the mirror root %s: %s", tree->path, strerror(errno));
	uint32_t kept = 0;
	for (uint32_t i = 0; i < tree->count; i++) {
		if (tree->entries[i]->seen) {
			tree->entries[kept++] = tree->entries[i];
			continue;
		}
		fprintf(tree->log, "del\t%s\n", tree->entries[i]->path.data);
		free(tree->entries[i]);
	}
	tree->count = kept;
	return fflush(tree->log) == 0 ||
		   hob_fail(err, IO, "cannot write the log of %s: %s", tree->path, strerror(errno));
}

hob_sha256 srv_tree_digest(const srv_tree *tree, hob_str folder, srv_listing_item *item, void *user)
{
	srv_listing all = whole(tree), below = srv_listing_below(&all, folder);
	return srv_listing_digest(&below, item, user);
}
