#include "root_io.h"

#include "../../core/base/array.h"
#include "../../core/base/limits.h"
#include "../fs/lock.h"
#include "../fs/spelling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_ASIDE_BYTES = 1 << 20 };

typedef struct file_record {
	srv_dep dep;
	uint8_t *data;
	hob_error error; /* set if the file could not be read */
	bool failed;
	bool hashing; /* queued for the hasher */
	struct file_record *next;
} file_record;

struct srv_root_hasher {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	file_record *first; /* newest first */
	bool runs;
};

struct srv_root_io {
	bool left_root; /* the model refers to something above the root */
	bool reads_open;
	int root_fd;
	uint64_t source_limit;
	srv_root_hasher *hasher;
	void (*touched)(void *user, hob_str path);
	void *user;
	hob_arena arena;
	file_record **files;
	uint32_t count, capacity;
	uint64_t bytes;
	srv_dep *deps;
};

static void hash(file_record *file)
{
	file->dep.digest = hob_sha256_of((hob_bytes){file->data, file->dep.size});
}

static void *hasher_main(void *user)
{
	srv_root_hasher *hasher = user;
	pthread_mutex_lock(&hasher->lock);
	for (;;) {
		while (!hasher->first)
			pthread_cond_wait(&hasher->work, &hasher->lock);
		file_record *file = hasher->first;
		hasher->first = file->next;
		pthread_mutex_unlock(&hasher->lock);
		hash(file);
		pthread_mutex_lock(&hasher->lock);
		file->hashing = false;
		pthread_cond_broadcast(&hasher->done);
	}
	return NULL;
}

srv_root_hasher *srv_root_hasher_new(void)
{
	srv_root_hasher *hasher = calloc(1, sizeof *hasher);
	if (!hasher)
		return NULL;
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_mutex_init(&hasher->lock, NULL);
	pthread_cond_init(&hasher->work, NULL);
	pthread_cond_init(&hasher->done, NULL);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	hasher->runs = pthread_create(&thread, &attributes, hasher_main, hasher) == 0;
	pthread_attr_destroy(&attributes);
	return hasher;
}

static bool hash_aside(srv_root_hasher *hasher, file_record *file)
{
	if (!hasher->runs || file->dep.size < HASH_ASIDE_BYTES)
		return false;
	SRV_LOCKED(&hasher->lock);
	file->hashing = true;
	file->next = hasher->first;
	hasher->first = file;
	pthread_cond_signal(&hasher->work);
	return true;
}

srv_root_io *srv_root_io_new(int root_fd, uint64_t source_limit, srv_root_hasher *hasher,
							 void (*touched)(void *user, hob_str path), void *user)
{
	srv_root_io *io = calloc(1, sizeof *io);
	if (io) {
		io->root_fd = root_fd;
		io->source_limit = source_limit;
		io->hasher = hasher;
		io->touched = touched;
		io->user = user;
		hob_arena_init(&io->arena, 64 << 20);
	}
	return io;
}

void srv_root_io_read_open(srv_root_io *io)
{
	io->reads_open = true;
}

static void wait_for_hash(srv_root_hasher *hasher, const file_record *file)
{
	SRV_LOCKED(&hasher->lock);
	while (file->hashing)
		pthread_cond_wait(&hasher->done, &hasher->lock);
}

void srv_root_io_free(srv_root_io *io)
{
	if (!io)
		return;
	for (uint32_t i = 0; i < io->count; i++) {
		wait_for_hash(io->hasher, io->files[i]);
		free(io->files[i]->data);
	}
	free(io->files);
	free(io->deps);
	hob_arena_release(&io->arena);
	free(io);
}

/* ---- reading */

static bool fail_no_file(hob_str path, hob_error *err)
{
	return hob_fail(err, CORRUPT, "'%.*s' is not a regular file", HOB_FMT(path));
}

static bool read_whole(srv_root_io *io, file_record *file, int fd, hob_error *err)
{
	struct stat before, info;
	if (fstat(fd, &before) != 0)
		return hob_fail(err, IO, "'%.*s': stat failed: %s", HOB_FMT(file->dep.path), strerror(errno));
	if (!S_ISREG(before.st_mode))
		return fail_no_file(file->dep.path, err);
	if (!io->reads_open && srv_is_being_written(fd, &before))
		return hob_fail(err, CHANGED, "'%.*s' is still being written", HOB_FMT(file->dep.path));
	uint64_t size = (uint64_t)before.st_size;
	uint64_t all = io->source_limit > HOB_LIMIT_SOURCES_BYTES ? io->source_limit : HOB_LIMIT_SOURCES_BYTES;
	if (size > io->source_limit || io->bytes + size > all)
		return hob_fail(
			err, LIMIT,
			"'%.*s' has %llu bytes; a cook reads at most %llu per file (cook.source_limit) and %llu in all",
			HOB_FMT(file->dep.path), (unsigned long long)size, (unsigned long long)io->source_limit,
			(unsigned long long)all);
	uint8_t *data = malloc(size + 1);
	if (!data)
		return hob_fail(err, MEMORY, "no memory left to read '%.*s' (%llu bytes)", HOB_FMT(file->dep.path),
						(unsigned long long)size);
	file->data = data;
	uint64_t got = 0;
	while (got <= size) {
		ssize_t n = read(fd, data + got, size + 1 - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hob_fail(err, IO, "reading '%.*s' failed: %s", HOB_FMT(file->dep.path), strerror(errno));
		if (n == 0)
			break;
		got += (uint64_t)n;
	}
	srv_stat version = srv_stat_of(&before);
	srv_stat after = fstat(fd, &info) == 0 ? srv_stat_of(&info) : (srv_stat){0};
	if (got != size || !srv_stat_equal(&version, &after))
		return hob_fail(err, CHANGED, "'%.*s' changed while it was read", HOB_FMT(file->dep.path));
	io->bytes += size;
	file->dep.size = version.size;
	file->dep.inode = version.inode;
	file->dep.mtime_ns = version.mtime_ns;
	file->dep.ctime_ns = version.ctime_ns;
	return true;
}

static bool fail_too_long(hob_str path, hob_error *err)
{
	return hob_fail(err, CORRUPT, "the reference '%.60s...' is too long for a file name", path.data);
}

static bool open_and_read(srv_root_io *io, file_record *file, hob_error *err)
{
	int fd = srv_open_beneath(io->root_fd, file->dep.path.data, O_RDONLY, true);
	if (fd < 0) {
		file->dep.missing = true;
		switch (srv_kind_of_error(errno)) {
		case SRV_KIND_NOTHING:
			return hob_fail(err, MISSING_FILE, "file '%.*s' does not exist", HOB_FMT(file->dep.path));
		case SRV_KIND_OUTSIDE:
			return hob_fail(err, OUTSIDE,
							"'%.*s' is a link that leaves the watched root; copy the file below the root",
							HOB_FMT(file->dep.path));
		case SRV_KIND_DENIED:
			return hob_fail(err, IO, "'%.*s' may not be read: permission denied", HOB_FMT(file->dep.path));
		case SRV_KIND_LONG:
			return fail_too_long(file->dep.path, err);
		case SRV_KIND_OTHER:
			return fail_no_file(file->dep.path, err);
		default:
			return hob_fail(err, IO, "opening '%.*s' failed: %s", HOB_FMT(file->dep.path), strerror(errno));
		}
	}
	bool ok = read_whole(io, file, fd, err);
	close(fd);
	if (!ok)
		return false;
	if (!hash_aside(io->hasher, file))
		hash(file);
	return true;
}

static file_record *add_record(srv_root_io *io, hob_str path)
{
	if (!HOB_ROOM(io->files, io->capacity, io->count))
		return NULL;
	file_record *file = HOB_NEW(&io->arena, file_record, 1);
	if (!file)
		return NULL;
	file->dep.path = hob_arena_str(&io->arena, path);
	if (!file->dep.path.data)
		return NULL;
	io->files[io->count++] = file;
	return file;
}

static file_record *find_record(srv_root_io *io, hob_str path)
{
	for (uint32_t i = 0; i < io->count; i++)
		if (hob_str_equal(io->files[i]->dep.path, path))
			return io->files[i];
	return NULL;
}

static bool io_find_nocase(void *user, hob_str path, hob_str *found)
{
	srv_root_io *io = user;
	char question[PATH_MAX], name[NAME_MAX + 1] = "";
	hob_str dir = hob_path_dir(path), asked = srv_spelling_of(path, question);
	/* Beyond the limit the answer is the same in every folder, so the path is not a dependency. */
	if (asked.len == 0 || asked.len >= HOB_LIMIT_PATH_BYTES || io->count >= HOB_LIMIT_SOURCE_FILES)
		return false;
	file_record *known = find_record(io, asked), *file = known ? known : add_record(io, asked);
	if (!file)
		return false;
	if (!known && io->touched)
		io->touched(io->user, file->dep.path);
	srv_stat stat;
	hob_sha256 digest;
	bool there = srv_spelling_ask(io->root_fd, asked, hob_path_name(path), name, &stat, &digest);
	if (!known && there) {
		file->dep.size = stat.size;
		file->dep.inode = stat.inode;
		file->dep.digest = digest;
	}
	file->failed = known ? file->failed : !there;
	*found = dir.len > 0 ? hob_arena_printf(&io->arena, "%.*s/%s", HOB_FMT(dir), name)
						 : hob_arena_str(&io->arena, hob_str_of(name));
	return name[0] && found->data;
}

static bool io_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	srv_root_io *io = user;
	if (path.len >= HOB_LIMIT_PATH_BYTES) /* such a path cannot exist, so it is not a dependency */
		return fail_too_long(path, err);
	if (srv_spelling_is(path))
		return hob_fail(err, CORRUPT, "'%.*s': no file with such a name is read; rename it", HOB_FMT(path));
	file_record *file = find_record(io, path);
	if (!file) {
		if (io->count >= HOB_LIMIT_SOURCE_FILES)
			return hob_fail(err, LIMIT, "the model refers to more than %llu files", HOB_LIMIT_SOURCE_FILES);
		file = add_record(io, path);
		if (!file)
			return hob_fail(err, MEMORY, "no memory left for the list of files");
		if (io->touched)
			io->touched(io->user, file->dep.path);
		file->failed = !open_and_read(io, file, &file->error);
		/* Whatever cannot be read counts as missing, but the cook also depends on what it is. */
		hob_str ignored;
		if (file->failed)
			(void)io_find_nocase(io, path, &ignored);
	}
	if (file->failed) {
		if (err)
			*err = file->error;
		return false;
	}
	if (!file->data)
		return hob_fail(err, INTERNAL, "'%.*s' was read again", HOB_FMT(path));
	*out = (hob_bytes){file->data, file->dep.size};
	return true;
}

static void io_refused(void *user, hob_str reference, bool absolute)
{
	srv_root_io *io = user;
	(void)reference;
	io->left_root = io->left_root || !absolute;
}

static void io_done(void *user, hob_str path)
{
	srv_root_io *io = user;
	for (uint32_t i = 0; i < io->count; i++) {
		file_record *file = io->files[i];
		if (file->failed || !hob_str_equal(file->dep.path, path))
			continue;
		wait_for_hash(io->hasher, file);
		free(file->data);
		file->data = NULL;
	}
}

hob_io srv_root_io_table(srv_root_io *io)
{
	return (hob_io){io, io_read, io_find_nocase, io_refused, io_done};
}

const srv_dep *srv_root_io_deps(srv_root_io *io, uint32_t *count)
{
	*count = 0;
	free(io->deps);
	io->deps = calloc(io->count + 2, sizeof *io->deps);
	if (!io->deps)
		return NULL;
	for (uint32_t i = 0; i < io->count; i++) {
		wait_for_hash(io->hasher, io->files[i]);
		io->deps[i] = io->files[i]->dep;
		/* A file that exists but could not be used has no digest to compare. It counts as missing; the cook
		 * has failed anyway. */
		io->deps[i].missing = io->files[i]->failed;
	}
	*count = io->count;
	if (io->left_root)
		io->deps[(*count)++] = (srv_dep){.path = HOB_STR(".."), .missing = true};
	return io->deps;
}
