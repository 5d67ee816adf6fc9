#include "spelling.h"
#include "lock.h"
#include "fd.h"

#include "../../core/base/array.h"
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utf8proc.h>

static const hob_str mark = {" (any spelling)", 15};

/* Canonical decomposition and case folding. If the name is not UTF-8, only ASCII letters are folded. */
static char *fold(hob_str name)
{
	utf8proc_uint8_t *out = NULL;
	utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD;
	if (utf8proc_map((const utf8proc_uint8_t *)name.data, (utf8proc_ssize_t)name.len, &out, how) >= 0)
		return (char *)out;
	char *copy = hob_must(strndup(name.data, name.len));
	for (char *c = copy; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
	return copy;
}

bool srv_spelling_is(hob_str path)
{
	return path.len > mark.len && memcmp(path.data + path.len - mark.len, mark.data, mark.len) == 0;
}

hob_str srv_spelling_of(hob_str path, char out[PATH_MAX])
{
	enum { LONGEST = 3 * NAME_MAX }; /* decomposed, a file name may be longer than on disk */
	hob_str name = hob_path_name(path);
	size_t before = path.len - name.len;
	hob_own char *folded = name.len > 0 && name.len <= LONGEST && !srv_spelling_is(path) ? fold(name) : NULL;
	size_t len = folded ? before + strlen(folded) + mark.len : PATH_MAX;
	if (len < PATH_MAX) {
		memcpy(out, path.data, before);
		strcpy(stpcpy(out + before, folded), mark.data);
	}
	return len < PATH_MAX ? (hob_str){out, len} : (hob_str){0};
}

/* Cache of the names in the last folder: for each the case-folded form, then the original. */
static struct {
	pthread_mutex_t lock;
	hob_buf text;
	uint32_t *pairs; /* positions of these pairs in `text`, sorted */
	uint32_t count, capacity;
	dev_t device;
	srv_stat folder;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int by_name(const void *a, const void *b)
{
	const char *text = (const char *)names.text.data;
	const char *x = text + *(const uint32_t *)a, *y = text + *(const uint32_t *)b;
	int order = strcmp(x, y);
	return order != 0 ? order : strcmp(x + strlen(x) + 1, y + strlen(y) + 1);
}

static void list(DIR *folder)
{
	hob_buf_clear(&names.text);
	names.count = 0;
	for (struct dirent *entry; (entry = readdir(folder));) {
		hob_own char *folded = fold(hob_str_of(entry->d_name));
		if (!HOB_ROOM(names.pairs, names.capacity, names.count))
			abort();
		names.pairs[names.count++] = (uint32_t)names.text.size;
		hob_buf_put(&names.text, folded, strlen(folded) + 1);
		hob_buf_put(&names.text, entry->d_name, strlen(entry->d_name) + 1);
	}
	if (names.count > 1 && !names.text.failed)
		qsort(names.pairs, names.count, sizeof *names.pairs, by_name);
}

/* A second change within one tick of the file system's clock would not change the folder's stat data, so a
 * recent change is not cached. */
static bool is_settled(const struct stat *info)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - info->st_mtim.tv_sec > 3 && now.tv_sec - info->st_ctim.tv_sec > 3;
}

/* Reads the names of a folder, unless they are cached. Lock held; takes the descriptor. */
static bool read_names(int fd)
{
	struct stat info;
	bool known = fstat(fd, &info) == 0;
	srv_stat now = known ? srv_stat_of(&info) : (srv_stat){0};
	if (known && names.device == info.st_dev && srv_stat_equal(&names.folder, &now)) {
		close(fd);
		return true;
	}
	names.folder = (srv_stat){0};
	DIR *folder = srv_folder_of(fd);
	if (!folder)
		return false;
	list(folder);
	bool all = !names.text.failed;
	if (all && known && is_settled(&info)) {
		names.device = info.st_dev;
		names.folder = now;
	}
	closedir(folder);
	if (!all)
		errno = ENOMEM;
	return all;
}

static uint32_t first_at_least(const char *folded)
{
	uint32_t low = 0, high = names.count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (strcmp((const char *)names.text.data + names.pairs[middle], folded) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether the root's entry is a file that can be read. It can change while the folder's names do not. */
static srv_kind kind_of(int root_fd, hob_str dir, const char *name)
{
	char path[PATH_MAX];
	struct stat info;
	snprintf(path, sizeof path, "%.*s%s%s", HOB_FMT(dir), dir.len > 0 ? "/" : "", name);
	int fd = srv_open_beneath(root_fd, path, O_PATH, true);
	bool there = fd >= 0 && fstat(fd, &info) == 0, regular = there && S_ISREG(info.st_mode);
	srv_close(fd);
	fd = regular ? srv_open_beneath(root_fd, path, O_RDONLY, true) : -1;
	srv_close(fd);
	return fd >= 0 ? SRV_KIND_FILE : there && !regular ? SRV_KIND_OTHER : srv_kind_of_error(errno);
}

/* Hashes each name, and its kind unless it is a file; takes the folder's descriptor. False, with errno: not
 * known at the moment. */
static bool hash_names(int root_fd, int fd, hob_str dir, const char *folded, hob_str except, char *found,
					   hob_hasher *hasher, uint64_t *size)
{
	bool known = read_names(fd);
	for (uint32_t i = known ? first_at_least(folded) : 0; known && i < names.count; i++) {
		const char *at = (const char *)names.text.data + names.pairs[i], *name = at + strlen(at) + 1;
		if (strcmp(at, folded) != 0)
			break;
		hob_hasher_put(hasher, name, strlen(name) + 1);
		*size += strlen(name) + 1;
		char kind = (char)kind_of(root_fd, dir, name);
		known = kind != SRV_KIND_UNKNOWN;
		hob_hasher_put(hasher, &kind, kind != SRV_KIND_FILE);
		if (!found[0] && !hob_str_equal(hob_str_of(name), except))
			strcpy(found, name);
	}
	return known;
}

bool srv_spelling_ask(int root_fd, hob_str question, hob_str except, char found[NAME_MAX + 1], srv_stat *stat,
					  hob_sha256 *digest)
{
	char path[PATH_MAX];
	hob_str dir = hob_path_dir(question);
	size_t len = question.len - mark.len;
	found[0] = 0;
	*stat = (srv_stat){0};
	errno = ENOENT;
	if (!srv_spelling_is(question) || question.len >= sizeof path)
		return false;
	memcpy(path, question.data, len);
	path[len] = 0;
	if (dir.len > 0)
		path[dir.len] = 0;
	int fd = srv_open_beneath(root_fd, dir.len > 0 ? path : "", O_RDONLY | O_DIRECTORY, true);
	/* A folder that cannot be asked: its kind is the answer, below an empty name. */
	const char folder[] = {0, fd < 0 ? (char)srv_kind_of_error(errno) : 0};
	if (fd < 0 && (folder[1] == SRV_KIND_NOTHING || folder[1] == SRV_KIND_UNKNOWN))
		return false;
	const char *folded = path + dir.len + (dir.len > 0);
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	bool known = true;
	if (fd < 0) {
		hob_hasher_put(&hasher, folder, sizeof folder);
		stat->size = sizeof folder;
	} else {
		SRV_LOCKED(&names.lock);
		known = hash_names(root_fd, fd, dir, folded, except, found, &hasher, &stat->size);
	}
	int why = known ? ENOENT : errno;
	*digest = hob_hasher_finish(&hasher);
	memcpy(&stat->inode, digest->bytes, sizeof stat->inode);
	errno = why;
	return known && stat->size > 0;
}

/* ---- stat data of files and of these dependencies */

bool srv_stat_path(int root_fd, hob_str path, srv_stat *out)
{
	char name[PATH_MAX];
	struct stat info;
	hob_sha256 ignored;
	char first[NAME_MAX + 1];
	if (srv_spelling_is(path))
		return srv_spelling_ask(root_fd, path, (hob_str){0}, first, out, &ignored);
	errno = ENOENT;
	if (path.len == 0 || path.len >= sizeof name || memchr(path.data, 0, path.len))
		return false;
	memcpy(name, path.data, path.len);
	name[path.len] = 0;
	int fd = srv_open_beneath(root_fd, name, O_PATH, true);
	if (fd < 0)
		return false;
	int why = fstat(fd, &info) != 0 ? errno : S_ISREG(info.st_mode) ? 0 : ENOENT;
	close(fd);
	errno = why;
	if (why == 0)
		*out = srv_stat_of(&info);
	return why == 0;
}
