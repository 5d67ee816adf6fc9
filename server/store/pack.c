#include "pack.h"

#include "../../core/base/array.h"
#include "../fs/fd.h"
#include "../fs/folder.h"
#include "../fs/transfer.h"
#include "compress.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 24, CHECKED = 48, COMPRESS_MIN = 128 };
static const char magic[4] = {'H', 'o', 'b', 'P'};

typedef struct pack_head {
	char magic[4];
	uint32_t kind, size, frame;
	hob_sha256 name;
	uint64_t check;
} pack_head;
static_assert(sizeof(pack_head) == SRV_PACK_HEAD, "the head is written as it lies in memory");

static uint64_t check_of(const pack_head *head)
{
	uint64_t hash[2];
	hob_fast_hash((hob_bytes){(const uint8_t *)head, CHECKED}, hash);
	return hash[0];
}

static bool is_head(const pack_head *head)
{
	return memcmp(head->magic, magic, sizeof magic) == 0 && head->check == check_of(head);
}

static uint64_t room_of(const pack_head *head)
{
	return srv_pack_room(head->size, head->frame);
}

static void name_of(uint32_t number, char out[NAME])
{
	snprintf(out, NAME, "%08x.pack", number);
}

/* ---- the list */

static srv_pack_file *find(srv_packs *packs, uint32_t number)
{
	uint32_t low = 0, high = packs->count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (packs->files[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < packs->count && packs->files[low].number == number ? &packs->files[low] : NULL;
}

static int by_number(const void *a, const void *b)
{
	const srv_pack_file *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

static void add_file(srv_packs *packs, uint32_t number, int fd, uint64_t size)
{
	packs->files = hob_must(realloc(packs->files, (packs->count + 1) * sizeof *packs->files));
	packs->files[packs->count++] = (srv_pack_file){.number = number, .fd = fd, .size = (size + 7) & ~7ull};
}

static void close_files(srv_packs *packs)
{
	for (uint32_t i = 0; i < packs->count; i++)
		close(packs->files[i].fd);
	free(packs->files);
	packs->files = NULL;
	packs->count = 0;
}

void srv_packs_init(srv_packs *packs)
{
	*packs = (srv_packs){.dir_fd = -1};
	pthread_rwlock_init(&packs->lock, NULL);
}

void srv_packs_release(srv_packs *packs)
{
	close_files(packs);
	pthread_rwlock_destroy(&packs->lock);
}

static uint32_t number_of(const char *name)
{
	unsigned number;
	char again[NAME];
	if (sscanf(name, "%8x.pack", &number) != 1)
		return 0;
	name_of(number, again);
	return strcmp(name, again) == 0 ? number : 0;
}

/* Renames a folder, a pipe or a link with the name of a pack. */
static void set_aside(srv_packs *packs, const char *name)
{
	char aside[NAME + 24];
	struct stat info;
	unsigned number = 0;
	do
		snprintf(aside, sizeof aside, "%s.wrong-%u", name, ++number);
	while (fstatat(packs->dir_fd, aside, &info, AT_SYMLINK_NOFOLLOW) == 0);
	packs->aside += renameat(packs->dir_fd, name, packs->dir_fd, aside) == 0;
}

static bool open_pack(srv_packs *packs, uint32_t number, bool mend)
{
	char name[NAME];
	struct stat info;
	name_of(number, name);
	int fd = openat(packs->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool wrong = fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO);
	if (fd < 0 && !wrong)
		return errno == ENOENT;
	if (fd >= 0) {
		bool known = fstat(fd, &info) == 0;
		if (known && S_ISREG(info.st_mode)) {
			add_file(packs, number, fd, (uint64_t)info.st_size);
			return true;
		}
		srv_close(fd);
		if (!known)
			return false;
	}
	if (mend)
		set_aside(packs, name);
	return true;
}

static bool list_packs(srv_packs *packs, bool mend)
{
	DIR *folder = srv_folder_open(packs->dir_fd, ".");
	bool ok = folder;
	for (struct dirent *entry; ok && (entry = srv_folder_next(folder));) {
		uint32_t number = number_of(entry->d_name);
		ok = number == 0 || open_pack(packs, number, mend);
	}
	srv_folder_close(folder);
	if (packs->count > 1)
		qsort(packs->files, packs->count, sizeof *packs->files, by_number);
	return ok;
}

bool srv_packs_open(srv_packs *packs, int dir_fd, bool mend)
{
	SRV_WRITES(&packs->lock);
	close_files(packs);
	packs->dir_fd = dir_fd;
	return list_packs(packs, mend);
}

/* ---- append */

static bool is_linked(const srv_pack_file *file, uint64_t *size)
{
	struct stat info;
	bool linked = fstat(file->fd, &info) == 0 && info.st_nlink > 0;
	*size = linked ? (uint64_t)info.st_size : 0;
	return linked;
}

static srv_pack_file *begin_pack(srv_packs *packs)
{
	char name[NAME];
	uint32_t number = packs->count > 0 ? packs->files[packs->count - 1].number + 1 : 1;
	int fd;
	/* Skips numbers whose name is taken. */
	for (uint32_t last = number + 1000;; number++) {
		name_of(number, name);
		fd = openat(packs->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (fd >= 0 || errno != EEXIST || number == last)
			break;
	}
	if (fd < 0)
		return NULL;
	add_file(packs, number, fd, 0);
	return &packs->files[packs->count - 1];
}

static srv_pack_file *pack_for(srv_packs *packs, uint64_t room)
{
	srv_pack_file *last = packs->count > 0 ? &packs->files[packs->count - 1] : NULL;
	uint64_t size;
	bool fits = last && !last->retired && (last->size == 0 || last->size + room <= SRV_PACK_BYTES_MAX);
	return fits && is_linked(last, &size) ? last : begin_pack(packs);
}

static bool write_at(int fd, const uint8_t *data, size_t size, uint64_t at)
{
	while (size > 0) {
		ssize_t wrote = pwrite(fd, data, size, (off_t)at);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		data += wrote;
		at += (uint64_t)wrote;
		size -= (size_t)wrote;
	}
	return true;
}

static bool append(srv_packs *packs, const pack_head *head, hob_bytes kept, srv_pack_place *out)
{
	uint64_t room = room_of(head);
	hob_own uint8_t *record = hob_must(malloc(room));
	srv_pack_file *file = pack_for(packs, room);
	memcpy(record, head, sizeof *head);
	if (kept.size > 0)
		memcpy(record + sizeof *head, kept.data, kept.size);
	memset(record + sizeof *head + kept.size, 0, room - sizeof *head - kept.size);
	bool ok = file && write_at(file->fd, record, room, file->size);
	int code = errno;
	if (file && !ok && ftruncate(file->fd, (off_t)file->size) != 0)
		file->size = SRV_PACK_BYTES_MAX; /* full: the half-written record could not be cut off */
	errno = code;
	if (!ok)
		return false;
	*out = (srv_pack_place){file->number, (uint32_t)file->size, head->frame};
	file->size += room;
	file->wanted += room;
	return true;
}

void srv_pack_compress(hob_bytes data, hob_buf *out)
{
	size_t before = out->size;
	if (data.size < COMPRESS_MIN || !srv_compress(data, SRV_NO_DICTIONARY, out) ||
		out->size - before > data.size - data.size / 8)
		out->size = before;
}

bool srv_packs_append(srv_packs *packs, uint32_t kind, const hob_sha256 *name, hob_bytes data,
					  const hob_buf *frame, srv_pack_place *out)
{
	assert(data.size <= SRV_PACK_DATA_MAX && packs->dir_fd >= 0);
	hob_bytes kept = frame && frame->size > 0 ? hob_buf_bytes(frame) : data;
	pack_head head = {.kind = kind,
					  .size = (uint32_t)data.size,
					  .frame = kept.data == data.data ? 0 : (uint32_t)kept.size,
					  .name = *name};
	memcpy(head.magic, magic, sizeof magic);
	head.check = check_of(&head);
	SRV_WRITES(&packs->lock);
	return append(packs, &head, kept, out);
}

/* ---- read */

static srv_pack_answer read_at(int fd, void *out, size_t size, uint64_t at)
{
	return srv_read_at(fd, out, size, at) ? SRV_PACK_READ : errno == 0 ? SRV_PACK_GONE : SRV_PACK_FAILED;
}

/* Lock held: the head at this place, if it belongs to the record and the record is complete. */
static srv_pack_answer find_record(srv_packs *packs, const srv_pack_record *record, pack_head *head, int *fd)
{
	uint64_t there;
	const srv_pack_file *file = find(packs, record->place.pack);
	if (!file || !is_linked(file, &there) || record->place.offset + SRV_PACK_HEAD > there)
		return SRV_PACK_GONE;
	*fd = file->fd;
	srv_pack_answer answer = read_at(*fd, head, sizeof *head, record->place.offset);
	bool right = answer == SRV_PACK_READ && is_head(head) && head->kind == record->kind &&
				 head->size == record->size && hob_sha256_equal(&head->name, &record->name) &&
				 record->place.offset + room_of(head) <= ((there + 7) & ~7ull);
	return answer == SRV_PACK_READ && !right ? SRV_PACK_GONE : answer;
}

static srv_pack_answer read_frame(int fd, const pack_head *head, uint64_t at, uint8_t *out)
{
	hob_own uint8_t *frame = hob_must(malloc(head->frame));
	srv_pack_answer answer = read_at(fd, frame, head->frame, at);
	if (answer == SRV_PACK_READ &&
		!srv_decompress((hob_bytes){frame, head->frame}, SRV_NO_DICTIONARY, out, head->size))
		answer = SRV_PACK_GONE;
	return answer;
}

srv_pack_answer srv_packs_read(srv_packs *packs, srv_pack_place place, uint32_t kind, const hob_sha256 *name,
							   uint8_t *out, size_t size)
{
	pack_head head;
	int fd;
	if (size > SRV_PACK_DATA_MAX)
		return SRV_PACK_GONE;
	pthread_rwlock_rdlock(&packs->lock);
	srv_pack_answer answer =
		find_record(packs, &(srv_pack_record){kind, (uint32_t)size, *name, place}, &head, &fd);
	if (out && answer == SRV_PACK_READ && size > 0)
		answer = head.frame > 0 ? read_frame(fd, &head, place.offset + sizeof head, out)
								: read_at(fd, out, size, place.offset + sizeof head);
	int code = errno;
	pthread_rwlock_unlock(&packs->lock);
	errno = code;
	return answer;
}

srv_pack_answer srv_packs_copy(srv_packs *packs, const srv_pack_record *record, srv_pack_place *out)
{
	pack_head head = {.frame = 0};
	int fd;
	pthread_rwlock_wrlock(&packs->lock);
	srv_pack_answer answer = find_record(packs, record, &head, &fd);
	hob_own_buf kept = {0};
	uint32_t size = head.frame > 0 ? head.frame : head.size;
	uint8_t *data = answer == SRV_PACK_READ ? hob_buf_grow(&kept, size) : NULL;
	if (answer == SRV_PACK_READ)
		answer = data ? read_at(fd, data, size, record->place.offset + sizeof head) : SRV_PACK_FAILED;
	if (answer == SRV_PACK_READ && !append(packs, &head, hob_buf_bytes(&kept), out))
		answer = SRV_PACK_FAILED;
	int code = errno;
	pthread_rwlock_unlock(&packs->lock);
	errno = code;
	return answer;
}

/* ---- scan */

/* The first head at or after `at`; `size` if there is none. */
static uint64_t next_head(const uint8_t *data, uint64_t size, uint64_t at, pack_head *out)
{
	for (; at + SRV_PACK_HEAD <= size; at += 8) {
		memcpy(out, data + at, sizeof *out);
		if (is_head(out))
			return at;
	}
	return size;
}

typedef struct scan_end {
	bool more;
	bool torn;	  /* an incomplete record is followed by a complete one */
	uint64_t end; /* after the last complete record */
} scan_end;

static scan_end scan_data(uint32_t number, const uint8_t *data, uint64_t size,
						  bool (*each)(void *user, const srv_pack_record *record), void *user)
{
	pack_head head;
	scan_end result = {true, false, 0};
	bool cut = false;
	for (uint64_t at = 0; result.more && (at = next_head(data, size, at, &head)) < size;) {
		if (room_of(&head) > size - at) {
			at += 8; /* its end is missing */
			cut = true;
			continue;
		}
		srv_pack_record record = {head.kind, head.size, head.name, {number, (uint32_t)at, head.frame}};
		result.more = each(user, &record);
		at += room_of(&head);
		result.end = at;
		result.torn = cut;
	}
	return result;
}

static bool scan_file(srv_pack_file *file, bool mend, bool *more,
					  bool (*each)(void *user, const srv_pack_record *record), void *user)
{
	uint64_t size;
	if (!is_linked(file, &size))
		return true;
	scan_end result = {true, false, 0};
	if (size > 0) {
		uint8_t *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file->fd, 0);
		if (data == MAP_FAILED)
			return false;
		result = scan_data(file->number, data, size, each, user);
		munmap(data, size);
	}
	*more = result.more;
	/* Appending after an incomplete record would complete it with wrong bytes and hide the records after
	 * it. */
	if (mend && result.more && result.end != size && ftruncate(file->fd, (off_t)result.end) != 0)
		result.torn = true;
	if (mend && result.more)
		file->size = result.torn ? SRV_PACK_BYTES_MAX : result.end;
	return true;
}

bool srv_packs_scan(srv_packs *packs, uint32_t only, bool mend,
					bool (*each)(void *user, const srv_pack_record *record), void *user)
{
	bool ok = true, more = true;
	SRV_WRITES(&packs->lock);
	for (uint32_t i = 0; i < packs->count && ok && more; i++) {
		srv_pack_file *file = &packs->files[i];
		if (!file->retired && (only == 0 || file->number == only))
			ok = scan_file(file, mend && i == packs->count - 1, &more, each, user);
	}
	return ok;
}

/* ---- space to reuse */

void srv_packs_want_none(srv_packs *packs)
{
	SRV_WRITES(&packs->lock);
	for (uint32_t i = 0; i < packs->count; i++)
		packs->files[i].wanted = 0;
}

void srv_packs_want(srv_packs *packs, srv_pack_place place, uint64_t size)
{
	SRV_WRITES(&packs->lock);
	srv_pack_file *file = find(packs, place.pack);
	if (file)
		file->wanted += srv_pack_room(size, place.frame);
}

static uint32_t find_sparse(srv_packs *packs)
{
	uint32_t number = 0;
	uint64_t least = UINT64_MAX;
	SRV_READS(&packs->lock);
	for (uint32_t i = 0; i + 1 < packs->count; i++) {
		const srv_pack_file *file = &packs->files[i];
		if (!file->retired && file->wanted * 2 < file->size && file->wanted < least) {
			least = file->wanted;
			number = file->number;
		}
	}
	return number;
}

typedef struct record_list {
	srv_pack_record *items;
	uint32_t count, room;
} record_list;

static bool list_record(void *user, const srv_pack_record *record)
{
	record_list *list = user;
	if (!HOB_ROOM(list->items, list->room, list->count))
		abort();
	list->items[list->count++] = *record;
	return true;
}

static void retire(srv_packs *packs, uint32_t pack)
{
	SRV_WRITES(&packs->lock);
	srv_pack_file *file = find(packs, pack);
	if (file)
		file->retired = true;
}

bool srv_packs_shrink(srv_packs *packs, bool (*move)(void *user, const srv_pack_record *record), void *user)
{
	record_list list = {0};
	uint32_t pack = find_sparse(packs);
	bool ok = pack > 0 && srv_packs_scan(packs, pack, false, list_record, &list);
	for (uint32_t i = 0; i < list.count && ok; i++)
		ok = move(user, &list.items[i]);
	if (ok)
		retire(packs, pack);
	free(list.items);
	return ok;
}

uint32_t srv_packs_retired(srv_packs *packs)
{
	uint32_t count = 0;
	SRV_READS(&packs->lock);
	for (uint32_t i = 0; i < packs->count; i++)
		count += packs->files[i].retired;
	return count;
}

void srv_packs_sweep(srv_packs *packs, uint32_t count)
{
	char name[NAME];
	uint32_t kept = 0;
	SRV_WRITES(&packs->lock);
	for (uint32_t i = 0; i < packs->count; i++) {
		srv_pack_file *file = &packs->files[i];
		if (!file->retired || count == 0) {
			packs->files[kept++] = *file;
			continue;
		}
		count--;
		name_of(file->number, name);
		unlinkat(packs->dir_fd, name, 0);
		close(file->fd);
	}
	packs->count = kept;
}
