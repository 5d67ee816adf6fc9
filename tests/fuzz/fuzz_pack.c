/* A pack of the cache. Each blob that the scan finds can be read at its offset, inside the file and in order;
 * the scan still finds it after the end is repaired and blobs are appended. A header whose 13th byte is 'F'
 * gets a correct checksum.
 *
 * Links: srv_store
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_pack
 *   build/fuzz/fuzz_pack -max_len=4096 /tmp/found tests/fuzz/corpus/pack */
#include "server/store/pack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS_MAX = 256, INPUT_MAX = 64 << 10, CHECKED = 48, DATA_MOST = 1 << 20 };
static const char file_name[] = "00000001.pack", next_name[] = "00000002.pack";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];
static int dir_fd = -1;

static void leave(void)
{
	unlinkat(dir_fd, file_name, 0);
	unlinkat(dir_fd, next_name, 0);
	close(dir_fd);
	rmdir(folder);
}

static void make_folder(void)
{
	snprintf(folder, sizeof folder, "%s/hob-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(folder) || (dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		abort();
	atexit(leave);
}

static void write_pack(const uint8_t *data, size_t size)
{
	static uint8_t bytes[INPUT_MAX];
	uint64_t hash[2];
	memcpy(bytes, data, size);
	for (size_t at = 0; at + SRV_PACK_HEAD <= size; at += 8)
		if (memcmp(bytes + at, "HobP", 4) == 0 && bytes[at + 12] == 'F') {
			bytes[at + 12] = 0;
			hob_fast_hash((hob_bytes){bytes + at, CHECKED}, hash);
			memcpy(bytes + at + CHECKED, &hash[0], sizeof hash[0]);
		}
	int fd = openat(dir_fd, file_name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
	unlinkat(dir_fd, next_name, 0);
}

typedef struct found {
	srv_pack_record items[RECORDS_MAX];
	uint32_t count, pack;
	uint64_t end;
} found;

static bool each(void *user, const srv_pack_record *record)
{
	found *f = user;
	if (record->place.pack != f->pack)
		f->end = 0;
	f->pack = record->place.pack;
	if (record->place.offset < f->end || record->place.offset % 8 != 0)
		abort();
	f->end = record->place.offset + srv_pack_room(record->size, record->place.frame);
	if (f->count < RECORDS_MAX)
		f->items[f->count++] = *record;
	return true;
}

static void scan(srv_packs *packs, bool mend, found *out)
{
	out->count = out->pack = 0;
	out->end = 0;
	if (!srv_packs_scan(packs, 0, mend, each, out))
		abort();
}

static void read_all(srv_packs *packs, const found *f, size_t most)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const srv_pack_record *r = &f->items[i];
		if ((r->place.frame > 0 ? r->place.frame : r->size) > most)
			abort();
		if (r->size > DATA_MOST)
			continue;
		uint8_t *bytes = malloc(r->size + 1);
		srv_pack_answer answer =
			bytes ? srv_packs_read(packs, r->place, r->kind, &r->name, bytes, r->size) : SRV_PACK_FAILED;
		if (answer != SRV_PACK_READ && !(r->place.frame > 0 && answer == SRV_PACK_GONE))
			abort();
		free(bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static found before, after;
	srv_packs packs;
	srv_pack_place place;
	hob_sha256 name = hob_sha256_of((hob_bytes){(const uint8_t *)"new", 3});
	if (size > INPUT_MAX)
		return 0;
	if (dir_fd < 0)
		make_folder();
	write_pack(data, size);
	srv_packs_init(&packs);
	if (!srv_packs_open(&packs, dir_fd, true))
		abort();
	scan(&packs, false, &before);
	read_all(&packs, &before, size);
	scan(&packs, true, &after);
	if (after.count != before.count ||
		!srv_packs_append(&packs, 7, &name, (hob_bytes){name.bytes, 5}, NULL, &place))
		abort();
	scan(&packs, false, &after);
	bool full = before.count == RECORDS_MAX;
	if (!full && (after.count != before.count + 1 ||
				  memcmp(after.items, before.items, before.count * sizeof before.items[0]) != 0 ||
				  memcmp(&after.items[before.count].place, &place, sizeof place) != 0))
		abort();
	read_all(&packs, &after, size + 64);
	srv_packs_release(&packs);
	return 0;
}
