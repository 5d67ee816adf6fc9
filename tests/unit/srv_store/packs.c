#include "server/store/compress.h"
#include "server/store/record.h"
#include "server/store/store_internal.h"
#include "store_support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ITEMS = 300, ITEM_BYTES = 3000 };

static uint64_t pack_bytes(const srv_packs *packs)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < packs->count; i++)
		bytes += packs->files[i].size;
	return bytes;
}

static void read_back(srv_store *store, const hob_sha256 *digest, const void *data, size_t size)
{
	uint64_t got = 0;
	uint8_t bytes[ITEM_BYTES + 1];
	int fd = srv_blob_open(store, digest, &got);
	assert_true(fd >= 0);
	assert_int_equal(got, size);
	assert_int_equal(read(fd, bytes, sizeof bytes), size);
	assert_memory_equal(bytes, data, size);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
}

static void reads(srv_store *store, const hob_sha256 *digest, const char *text)
{
	read_back(store, digest, text, strlen(text));
}

static const char *pack_path(void *dir, unsigned number)
{
	return folder_at(dir, "cache/packs/%08x.pack", number);
}

static void damage(const char *path, off_t at, const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, at), size);
	close(fd);
}

static void write_marker(void *dir, const char *boot)
{
	FILE *marker = fopen(folder_at(dir, "cache/running"), "w");
	assert_non_null(marker);
	fputs(boot, marker);
	fclose(marker);
}

/* Noise followed by `zeros` zeros, which determine the compressibility. */
static void make_item(uint32_t i, uint32_t zeros, uint8_t out[ITEM_BYTES])
{
	memset(out, 0, ITEM_BYTES);
	make_noise(i, out, ITEM_BYTES - zeros);
}

/* Checks the bytes of the head against pack.h. */
static void record_lies_as_written_down(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = put_blob(store, "abc");
	uint8_t bytes[128] = {0};
	FILE *file = fopen(pack_path(*state, 1), "rb");
	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, sizeof bytes, file), 64);
	fclose(file);
	assert_memory_equal(bytes, "HobP\1\0\0\0\3\0\0\0\0\0\0\0", 16);
	assert_memory_equal(bytes + 16, digest.bytes, 32);
	assert_memory_equal(bytes + 56, "abc\0\0\0\0\0", 8);
	srv_store_close(store);
}

/* The second is smaller as a frame, the first is not. */
static void a_blob_is_compressed_if_that_makes_it_smaller(void **state)
{
	uint8_t items[2][ITEM_BYTES], bytes[2 * ITEM_BYTES] = {0};
	hob_sha256 digests[2], told[2];
	size_t first = SRV_PACK_HEAD + ITEM_BYTES, frame;
	srv_store *store = open_store(*state, 0);
	for (int i = 0; i < 2; i++) {
		make_item((uint32_t)i, i == 0 ? 10 : 1000, items[i]);
		digests[i] = put_bytes_blob(store, items[i], ITEM_BYTES);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++) {
			read_back(store, &digests[i], items[i], ITEM_BYTES);
			assert_true(srv_blob_exists(store, &digests[i]) && srv_blob_verify(store, &digests[i]));
		}
		srv_store_close(store);
		if (round == 1) { /* only the pack is left */
			unlink(folder_at(*state, "cache/index.db"));
			unlink(folder_at(*state, "cache/index.start"));
			write_marker(*state, "another");
		}
		store = open_store(*state, 0);
	}
	srv_store_close(store);
	FILE *file = fopen(pack_path(*state, 1), "rb");
	assert_non_null(file);
	size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	assert_memory_equal(bytes, "HobP\1\0\0\0\xb8\x0b\0\0\0\0\0\0", 16);
	assert_memory_equal(bytes + first, "HobP\1\0\0\0\xb8\x0b\0\0", 12);
	frame = bytes[first + 12] | (size_t)bytes[first + 13] << 8;
	assert_memory_equal(bytes + first + SRV_PACK_HEAD, "\x28\xb5\x2f\xfd", 4);
	assert_in_range(frame, 2000, 2100);
	assert_int_equal(size, (first + SRV_PACK_HEAD + frame + 7) / 8 * 8);
	for (size_t at = 0; at < frame; at += 97) {
		char byte = (char)(bytes[first + SRV_PACK_HEAD + at] ^ 0x40);
		damage(pack_path(*state, 1), (off_t)(first + SRV_PACK_HEAD + at), &byte, 1);
		store = open_store(*state, 0);
		if (srv_blob_check(store, &digests[1], false)) { /* this bit does not change the decoded bytes */
			read_back(store, &digests[1], items[1], ITEM_BYTES);
		} else {
			assert_false(srv_blob_verify(store, &digests[1]));
			assert_int_equal(srv_store_take_damaged(store, told, 2), 1);
			assert_memory_equal(&told[0], &digests[1], sizeof told[0]);
		}
		put_bytes_blob(store, items[1], ITEM_BYTES);
		read_back(store, &digests[1], items[1], ITEM_BYTES);
		srv_store_close(store);
		file = fopen(pack_path(*state, 1), "wb");
		assert_int_equal(fwrite(bytes, 1, size, file), size);
		fclose(file);
		unlink(folder_at(*state, "cache/index.db"));
		unlink(folder_at(*state, "cache/index.start"));
		write_marker(*state, "another");
	}
}

/* Earlier versions packed blobs uncompressed, and records with another dictionary. */
static void what_an_earlier_version_packed_is_read(void **state)
{
	static const uint8_t zeros[ITEM_BYTES];
	hob_bytes bytes = {zeros, sizeof zeros};
	srv_store *store = open_store(*state, 0);
	srv_record_output output = {HOB_STR("meshes"), hob_sha256_of(bytes), sizeof zeros};
	srv_record record = {.key = {{1}},
						 .lookup = {{2}},
						 .ingredients = HOB_STR("{\"a\":1}"),
						 .output_count = 1,
						 .outputs = &output};
	srv_record found;
	hob_buf text = {0}, packed = {0};
	hob_arena arena;
	hob_error err;
	srv_pack_place place;
	srv_record_print(&record, &text);
	assert_true(srv_compress(hob_buf_bytes(&text), SRV_OLD_RECORD_DICTIONARY, &packed));
	assert_true(srv_packs_append(&store->packs, PACK_BLOB, &output.digest, bytes, NULL, &place));
	assert_true(srv_packs_append(&store->records, PACK_OLD_RECORD, &record.key, hob_buf_bytes(&packed), NULL,
								 &place));
	srv_store_close(store);
	unlink(folder_at(*state, "cache/index.db"));
	unlink(folder_at(*state, "cache/index.start"));
	write_marker(*state, "another");
	store = open_store(*state, 0);
	read_back(store, &output.digest, zeros, sizeof zeros);
	hob_arena_init(&arena, 1 << 20);
	assert_ok(srv_store_record(store, &record.key, &arena, &found, &err), &err);
	assert_true(hob_str_equal(found.ingredients, record.ingredients) && found.output_count == 1);
	hob_arena_release(&arena);
	hob_buf_release(&text);
	hob_buf_release(&packed);
	srv_store_close(store);
}

static void small_blobs_share_a_file_and_large_ones_have_their_own(void **state)
{
	static uint8_t large[5000];
	srv_store *store = open_store(*state, 0);
	hob_sha256 small = put_blob(store, "small"), empty = put_blob(store, ""),
			   most = put_bytes_blob(store, large, 4096), more = put_bytes_blob(store, large, 4097);
	assert_int_equal(access(blob_path(*state, &small), F_OK), -1);
	assert_int_equal(access(blob_path(*state, &most), F_OK), -1);
	assert_int_equal(access(blob_path(*state, &more), F_OK), 0);
	for (int round = 0; round < 2; round++) {
		reads(store, &small, "small");
		reads(store, &empty, "");
		assert_true(srv_blob_exists(store, &most) && srv_blob_verify(store, &more));
		srv_store_usage usage;
		srv_store_measure(store, &usage);
		assert_int_equal(usage.blob_count, 4);
		assert_int_equal(usage.blob_bytes, 5 + 4096 + 4097);
		srv_store_close(store);
		store = open_store(*state, 0);
	}
	srv_store_close(store);
}

static void writer_decides_by_what_came(void **state)
{
	static uint8_t bytes[6000];
	srv_store *store = open_store(*state, 0);
	const size_t sizes[] = {0, 1, 4096, 4097, 6000};
	for (size_t i = 0; i < HOB_COUNT_OF(sizes); i++) {
		hob_sha256 digest = hob_sha256_of((hob_bytes){bytes, sizes[i]});
		srv_blob_writer *writer;
		hob_error err;
		assert_ok(srv_blob_begin(store, &digest, &writer, &err), &err);
		for (size_t at = 0; at < sizes[i]; at += 1000)
			assert_ok(srv_blob_write(
						  writer, (hob_bytes){bytes + at, sizes[i] - at < 1000 ? sizes[i] - at : 1000}, &err),
					  &err);
		assert_ok(srv_blob_finish(writer, &err), &err);
		assert_true(srv_blob_verify(store, &digest));
		assert_int_equal(access(blob_path(*state, &digest), F_OK), sizes[i] > 4096 ? 0 : -1);
	}
	hob_sha256 other = {{7}};
	srv_blob_writer *writer;
	hob_error err;
	assert_ok(srv_blob_begin(store, &other, &writer, &err), &err);
	assert_ok(srv_blob_write(writer, (hob_bytes){bytes, 100}, &err), &err);
	assert_false(srv_blob_finish(writer, &err));
	assert_int_equal(err.code, HOB_ERR_CORRUPT);
	assert_false(srv_blob_known(store, &other));
	srv_store_close(store);
}

/* State after a kill: unwritten rows, and a truncated record. */
static void unclean_stop_finds_all_whole_records(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 first = put_blob(store, "first of all"), second = put_blob(store, "second of all"), told;
	srv_store_close(store);
	unlink(folder_at(*state, "cache/index.db"));
	char path[4096];
	strcpy(path, pack_path(*state, 1));
	struct stat info;
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(truncate(path, info.st_size - 8), 0);
	write_marker(*state, "another");
	store = open_store(*state, 0);
	reads(store, &first, "first of all");
	assert_false(srv_blob_known(store, &second));
	put_blob(store, "second of all");
	reads(store, &second, "second of all");
	assert_int_equal(srv_store_take_damaged(store, &told, 1), 0);
	srv_store_close(store);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_size, 2 * 72);
}

static void lost_record_is_reported(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 first = put_blob(store, "first of all"), second = put_blob(store, "second of all"), told;
	srv_store_close(store);
	assert_int_equal(truncate(pack_path(*state, 1), 72), 0);
	write_marker(*state, "another");
	store = open_store(*state, 0);
	reads(store, &first, "first of all");
	assert_int_equal(srv_store_take_damaged(store, &told, 1), 1);
	assert_memory_equal(&told, &second, sizeof told);
	srv_store_close(store);
}

/* Damages every byte of a pack of three, after each kind of stop: no wrong byte is read, undamaged records
 * are kept, a put repairs. */
static void damage_of_any_byte_costs_what_it_hits(void **state)
{
	static const char *const texts[] = {"one", "two, which is longer", "three"};
	static const char *const markers[] = {NULL, "another boot"};
	for (size_t m = 0; m < HOB_COUNT_OF(markers); m++)
		for (off_t at = 0; at < 64 + 80 + 64; at += 1 + (off_t)m) {
			srv_store *store = open_store(*state, 0);
			hob_sha256 digests[3], told[4];
			int good = 0;
			for (int i = 0; i < 3; i++)
				digests[i] = put_blob(store, texts[i]);
			srv_store_close(store);
			char byte;
			int fd = open(pack_path(*state, 1), O_RDWR | O_CLOEXEC);
			assert_int_equal(pread(fd, &byte, 1, at), 1);
			byte = (char)(byte ^ 0x20);
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
			close(fd);
			if (markers[m])
				write_marker(*state, markers[m]);
			store = open_store(*state, 0);
			for (int i = 0; i < 3; i++) {
				uint64_t size;
				int blob = srv_blob_open(store, &digests[i], &size);
				good += blob >= 0;
				if (blob >= 0) {
					close(blob);
					reads(store, &digests[i], texts[i]);
				}
			}
			assert_true(good >= 2);
			assert_int_equal(srv_store_take_damaged(store, told, 4), 3 - good);
			for (int i = 0; i < 3; i++) {
				put_blob(store, texts[i]);
				reads(store, &digests[i], texts[i]);
			}
			srv_store_close(store);
			assert_int_equal(unlink(pack_path(*state, 1)), 0);
			unlink(pack_path(*state, 2));
			unlink(folder_at(*state, "cache/index.db"));
			unlink(folder_at(*state, "cache/index.start"));
		}
}

static void removed_pack_is_missed_at_once(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = put_blob(store, "precious"), told;
	uint64_t size;
	assert_int_equal(unlink(pack_path(*state, 1)), 0);
	assert_false(srv_blob_exists(store, &digest));
	assert_int_equal(srv_blob_open(store, &digest, &size), -1);
	assert_int_equal(srv_store_take_damaged(store, &told, 1), 1);
	put_blob(store, "precious");
	reads(store, &digest, "precious");
	srv_store_close(store);
	store = open_store(*state, 0);
	reads(store, &digest, "precious");
	srv_store_close(store);
}

static void changed_byte_is_found_at_the_next_open(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = put_blob(store, "precious"), told;
	uint64_t size;
	reads(store, &digest, "precious");
	damage(pack_path(*state, 1), 58, "X", 1);
	assert_true(srv_blob_exists(store, &digest));
	assert_false(srv_blob_check(store, &digest, false));
	assert_int_equal(srv_blob_open(store, &digest, &size), -1);
	assert_int_equal(srv_store_take_damaged(store, &told, 1), 1);
	srv_store_close(store);
}

/* Full packs with mostly unused data shrink, and no needed data is lost, whatever stop follows. */
static void evicted_room_is_given_back(void **state)
{
	enum { MANY = 14000, ZEROS = 500 };
	static hob_sha256 digests[MANY];
	static uint8_t item[ITEM_BYTES];
	srv_store *store = open_store(*state, 0);
	hob_error err;
	for (uint32_t i = 0; i < MANY; i++) {
		make_item(i, ZEROS, item);
		digests[i] = put_bytes_blob(store, item, sizeof item);
	}
	uint64_t before = pack_bytes(&store->packs);
	assert_true(before > 2ull * SRV_PACK_BYTES_MAX);
	/* The parts name every eighth; the others are unreferenced. */
	for (uint32_t i = 0; i < MANY; i += 8)
		assert_ok(srv_store_put_part(store, &digests[i], &digests[i], &err), &err);
	assert_ok(srv_store_commit(store, &err), &err);
	atomic_fetch_add(&store->time_shift_s, 10000);
	for (int turn = 0; turn < 4; turn++) {
		srv_store_trim_soon(store);
		srv_store_trim(store, NULL, NULL);
		srv_store_packs_shrink(store);
		assert_ok(srv_store_sync(store, &err), &err);
	}
	assert_true(pack_bytes(&store->packs) < before / 2);
	for (int turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < MANY; i++) {
			make_item(i, ZEROS, item);
			if (i % 8 == 0)
				read_back(store, &digests[i], item, sizeof item);
			else
				assert_false(srv_blob_known(store, &digests[i]));
		}
		srv_store_close(store);
		store = open_store(*state, 0);
	}
	srv_store_close(store);
}

static void records_of_cooks_are_packed_and_shrink(void **state)
{
	enum { COOKS = 64, ROUNDS = 30 };
	srv_store *store = open_store(*state, 0);
	hob_error err;
	static char stats[20000];
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < COOKS; i++) {
			hob_sha256 key = {{(uint8_t)i, (uint8_t)round}};
			uint8_t noise[32];
			size_t at = (size_t)snprintf(stats, sizeof stats, "{\"noise\":\"");
			while (at < 9000) {
				hob_sha256 more = hob_sha256_of((hob_bytes){(uint8_t *)stats, at});
				memcpy(noise, more.bytes, sizeof noise);
				for (size_t n = 0; n < sizeof noise; n++)
					at += (size_t)snprintf(stats + at, sizeof stats - at, "%02x", noise[n]);
			}
			snprintf(stats + at, sizeof stats - at, "\"}");
			srv_record record = {
				.key = key, .lookup = key, .ingredients = HOB_STR("{}"), .stats = hob_str_of(stats)};
			assert_ok(srv_store_put_record(store, &record, &err), &err);
			if (round > 0) {
				hob_sha256 old = {{(uint8_t)i, (uint8_t)(round - 1)}};
				assert_ok(srv_store_delete_record(store, &old, &err), &err);
			}
		}
	assert_ok(srv_store_commit(store, &err), &err);
	uint64_t before = pack_bytes(&store->records);
	assert_true(before > SRV_PACK_BYTES_MAX / 2);
	srv_store_copies_shrink(store);
	assert_ok(srv_store_sync(store, &err), &err);
	for (uint32_t i = 0; i < COOKS; i++) {
		hob_sha256 key = {{(uint8_t)i, ROUNDS - 1}};
		hob_buf text = {0};
		srv_store_read_record(store, &key, &text);
		assert_true(text.size > 9000);
		hob_buf_release(&text);
	}
	srv_store_close(store);
}

static bool count_named(void *user, const srv_pack_record *record)
{
	uint32_t *found = user;
	found[record->name.bytes[0]]++;
	return true;
}

/* The head of a truncated record claims bytes of the next one. */
static void cut_record_swallows_no_later_one(void **state)
{
	enum { CUT = 1, GOOD, NEW, DATA = 88, HEAD = 64, WHOLE = 144 };
	const hob_sha256 names[] = {{{0}}, {{CUT}}, {{GOOD}}, {{NEW}}};
	uint8_t data[DATA] = {0}, bytes[2 * WHOLE] = {0};
	uint32_t found[4] = {0};
	srv_packs packs;
	srv_pack_place place;
	assert_int_equal(mkdir(folder_at(*state, "packs"), 0700), 0);
	int dir = open(folder_at(*state, "packs"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	srv_packs_init(&packs);
	assert_true(srv_packs_open(&packs, dir, true));
	assert_true(srv_packs_append(&packs, 0, &names[CUT], (hob_bytes){data, DATA}, NULL, &place));
	assert_true(srv_packs_append(&packs, 0, &names[GOOD], (hob_bytes){data, 1}, NULL, &place));
	int file = openat(dir, "00000001.pack", O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(file, bytes, sizeof bytes, 0), WHOLE + HEAD);
	assert_int_equal(pwrite(file, bytes + WHOLE, HEAD, HEAD), HEAD);
	assert_int_equal(ftruncate(file, 2 * HEAD), 0);
	close(file);
	assert_true(srv_packs_open(&packs, dir, true));
	assert_true(srv_packs_scan(&packs, 0, true, count_named, found));
	assert_true(srv_packs_append(&packs, 0, &names[NEW], (hob_bytes){data, DATA}, NULL, &place));
	assert_true(srv_packs_scan(&packs, 0, false, count_named, found));
	assert_int_equal(found[CUT], 0);
	assert_int_equal(found[GOOD], 2);
	assert_int_equal(found[NEW], 1);
	srv_packs_release(&packs);
	close(dir);
}

int main(void)
{
	test_pack_max = 4096;
	const struct CMUnitTest tests[] = {
		store_test(record_lies_as_written_down),
		store_test(a_blob_is_compressed_if_that_makes_it_smaller),
		store_test(what_an_earlier_version_packed_is_read),
		store_test(small_blobs_share_a_file_and_large_ones_have_their_own),
		store_test(writer_decides_by_what_came),
		store_test(unclean_stop_finds_all_whole_records),
		store_test(lost_record_is_reported),
		store_test(cut_record_swallows_no_later_one),
		store_test(damage_of_any_byte_costs_what_it_hits),
		store_test(removed_pack_is_missed_at_once),
		store_test(changed_byte_is_found_at_the_next_open),
		store_test(evicted_room_is_given_back),
		store_test(records_of_cooks_are_packed_and_shrink),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
