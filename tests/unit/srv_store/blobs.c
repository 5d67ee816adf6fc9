#include "server/store/store_internal.h"
#include "store_support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>

static void damage(const char *path, off_t at, const char *bytes, size_t size)
{
	assert_int_equal(chmod(path, 0644), 0);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, at), size);
	close(fd);
	assert_int_equal(chmod(path, 0444), 0);
}

static void assert_reads(srv_store *store, const hob_sha256 *digest, const char *text)
{
	uint64_t size = 0;
	char bytes[256];
	int fd = srv_blob_open(store, digest, &size);
	assert_true(fd >= 0);
	assert_int_equal(size, strlen(text));
	assert_int_equal(read(fd, bytes, sizeof bytes), size);
	assert_memory_equal(bytes, text, size);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

/* The digest equals sha256sum's, the name follows from it, and the file is read-only. */
static void blob_is_named_by_its_sha256_and_read_only(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = put_blob(store, "abc"), known;
	struct stat info;
	assert_true(hob_sha256_parse(HOB_STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
								 &known));
	assert_memory_equal(&digest, &known, sizeof known);
	assert_int_equal(
		stat(folder_at(*state,
					   "cache/blobs/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
			 &info),
		0);
	assert_int_equal(info.st_size, 3);
	assert_int_equal(info.st_mode & 0777, 0444);
	assert_reads(store, &digest, "abc");
	assert_true(srv_blob_exists(store, &digest));
	assert_true(srv_blob_verify(store, &digest));
	srv_store_close(store);
}

static void unknown_blob_is_refused(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = {{1}};
	uint64_t size;
	assert_int_equal(srv_blob_open(store, &digest, &size), -1);
	assert_false(srv_blob_exists(store, &digest));
	assert_false(srv_blob_verify(store, &digest));
	assert_int_equal(srv_store_take_damaged(store, &digest, 1), 0);
	srv_store_close(store);
}

static void same_bytes_are_stored_once(void **state)
{
	srv_store *store = open_store(*state, 0);
	srv_store_usage usage;
	struct stat first, second;
	hob_sha256 digest = put_blob(store, "same");
	assert_int_equal(stat(blob_path(*state, &digest), &first), 0);
	put_blob(store, "same");
	put_blob(store, "");
	assert_int_equal(stat(blob_path(*state, &digest), &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	srv_store_measure(store, &usage);
	assert_int_equal(usage.blob_count, 2);
	assert_int_equal(usage.blob_bytes, 4);
	assert_true(usage.disk_free_bytes > 0);
	srv_store_close(store);
	store = open_store(*state, 0);
	srv_store_measure(store, &usage);
	assert_int_equal(usage.blob_count, 2);
	assert_int_equal(usage.blob_bytes, 4);
	assert_reads(store, &digest, "same");
	srv_store_close(store);
}

static void works_without_unnamed_files(void **state)
{
	srv_store *store = open_store(*state, 0);
	struct stat info;
	store->no_unnamed = true;
	hob_sha256 digest = put_blob(store, "named");
	assert_reads(store, &digest, "named");
	assert_int_equal(stat(blob_path(*state, &digest), &info), 0);
	assert_int_equal(info.st_mode & 0777, 0444);
	srv_store_close(store);
}

static void tmp_is_swept_at_open(void **state)
{
	srv_store_close(open_store(*state, 0));
	FILE *left = fopen(folder_at(*state, "cache/tmp/7"), "w");
	assert_non_null(left);
	fclose(left);
	srv_store_close(open_store(*state, 0));
	assert_int_equal(access(folder_at(*state, "cache/tmp/7"), F_OK), -1);
}

static void cut_or_missing_blob_is_dropped_and_reported(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 cut = put_blob(store, "will be cut"), gone = put_blob(store, "will be gone"), told[4];
	uint64_t size;
	assert_int_equal(chmod(blob_path(*state, &cut), 0644), 0);
	assert_int_equal(truncate(blob_path(*state, &cut), 3), 0);
	assert_int_equal(unlink(blob_path(*state, &gone)), 0);
	assert_false(srv_blob_exists(store, &cut));
	assert_int_equal(srv_blob_open(store, &cut, &size), -1);
	assert_int_equal(access(blob_path(*state, &cut), F_OK), -1);
	assert_int_equal(srv_blob_open(store, &gone, &size), -1);
	assert_int_equal(srv_store_take_damaged(store, told, 1), 1);
	assert_memory_equal(&told[0], &cut, sizeof cut);
	assert_int_equal(srv_store_take_damaged(store, told, 4), 1);
	assert_memory_equal(&told[0], &gone, sizeof gone);
	assert_int_equal(srv_store_take_damaged(store, told, 4), 0);
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	assert_int_equal(usage.damaged_blobs, 2);
	assert_int_equal(usage.blob_bytes, 0);
	/* Cooking again repairs it. */
	put_blob(store, "will be cut");
	assert_reads(store, &cut, "will be cut");
	srv_store_close(store);
}

static void flipped_bit_is_found_by_verify(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = put_blob(store, "precious"), told;
	damage(blob_path(*state, &digest), 2, "E", 1);
	assert_false(srv_blob_verify(store, &digest));
	assert_int_equal(srv_store_take_damaged(store, &told, 1), 1);
	assert_false(srv_blob_exists(store, &digest));
	srv_store_close(store);
}

static void write_marker(void *dir, const char *boot)
{
	FILE *marker = fopen(folder_at(dir, "cache/running"), "w");
	assert_non_null(marker);
	fputs(boot, marker);
	fclose(marker);
}

static void first_open_in_a_process_hashes_whatever_the_stop_was(void **state)
{
	const char *const markers[] = {NULL, "00000000-another-boot", ""};
	for (size_t i = 0; i < HOB_COUNT_OF(markers); i++) {
		srv_store *store = open_store(*state, 0);
		hob_sha256 torn = put_blob(store, "torn in half"), whole = put_blob(store, "whole"), met;
		uint64_t size;
		srv_store_close(store);
		damage(blob_path(*state, &torn), 5, "\0\0\0", 3);
		if (markers[i])
			write_marker(*state, markers[i]);
		store = open_store(*state, 0);
		assert_int_equal(srv_blob_open(store, &torn, &size), -1);
		assert_reads(store, &whole, "whole");
		assert_int_equal(srv_store_take_damaged(store, &met, 1), 1);
		assert_memory_equal(&met, &torn, sizeof met);
		put_blob(store, "torn in half");
		assert_reads(store, &torn, "torn in half");
		srv_store_close(store);
	}
}

static void later_opens_hash_only_what_changed(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = put_blob(store, "written here"), met;
	uint64_t size;
	assert_reads(store, &digest, "written here");
	damage(blob_path(*state, &digest), 3, "X", 1);
	assert_int_equal(srv_blob_open(store, &digest, &size), -1);
	assert_int_equal(srv_store_take_damaged(store, &met, 1), 1);
	put_blob(store, "written here");
	assert_reads(store, &digest, "written here");
	/* Touched but undamaged: read again and kept. */
	damage(blob_path(*state, &digest), 0, "w", 1);
	assert_reads(store, &digest, "written here");
	assert_int_equal(srv_store_take_damaged(store, &met, 1), 0);
	srv_store_close(store);
}

static void suspect_blob_is_replaced_by_a_put(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = put_blob(store, "cooked twice");
	srv_store_close(store);
	damage(blob_path(*state, &digest), 0, "X", 1);
	write_marker(*state, "another");
	store = open_store(*state, 0);
	put_blob(store, "cooked twice");
	assert_reads(store, &digest, "cooked twice");
	assert_int_equal(srv_store_take_damaged(store, &digest, 1), 0);
	srv_store_close(store);
}

/* A blob whose file disappears unnoticed. */
static hob_sha256 put_lost(void *dir)
{
	srv_store *store = open_store(dir, 0);
	hob_sha256 digest = put_blob(store, "lost and found wanting");
	srv_store_close(store);
	assert_int_equal(unlink(blob_path(dir, &digest)), 0);
	return digest;
}

static void orphan_files_are_taken_up_after_an_unclean_stop(void **state)
{
	srv_store *store = open_store(*state, 0);
	put_blob(store, "makes the folder ba? no, any");
	srv_store_close(store);
	mkdir(folder_at(*state, "cache/blobs/ba"), 0755);
	FILE *file = fopen(
		folder_at(*state, "cache/blobs/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
		"w");
	assert_non_null(file);
	fputs("abc", file);
	fclose(file);
	file = fopen(folder_at(*state, "cache/blobs/ba/not a digest"), "w");
	fclose(file);
	hob_sha256 lost = put_lost(*state), told;
	write_marker(*state, "another");
	store = open_store(*state, 0);
	assert_int_equal(srv_store_take_damaged(store, &told, 1), 1);
	assert_memory_equal(&told, &lost, sizeof lost);
	hob_sha256 abc;
	assert_true(
		hob_sha256_parse(HOB_STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), &abc));
	assert_reads(store, &abc, "abc");
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	assert_int_equal(usage.blob_count, 2);
	srv_store_close(store);
}

static void links_and_folders_in_place_of_blobs_are_not_followed(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_sha256 digest = put_blob(store, "0123456789");
	uint64_t size;
	char secret[4096];
	strcpy(secret, folder_at(*state, "secret"));
	FILE *file = fopen(secret, "w");
	fputs("0123456789", file);
	fclose(file);
	assert_int_equal(unlink(blob_path(*state, &digest)), 0);
	assert_int_equal(symlink(secret, blob_path(*state, &digest)), 0);
	assert_int_equal(srv_blob_open(store, &digest, &size), -1);
	assert_false(srv_blob_exists(store, &digest));
	assert_int_equal(access(secret, F_OK), 0);
	srv_store_close(store);
}

static void file_that_may_not_grow_is_disk_full(void **state)
{
	srv_store *store = open_store(*state, 0);
	hob_error err;
	hob_sha256 digest;
	struct rlimit before, small = {64 << 10, 0};
	static uint8_t big[200 << 10];
	make_noise(1, big, sizeof big);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	bool ok = srv_blob_put(store, (hob_bytes){big, sizeof big}, &digest, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_false(ok);
	assert_int_equal(err.code, HOB_ERR_DISK_FULL);
	assert_non_null(strstr(err.context, "--cache"));
	srv_store_usage usage;
	srv_store_measure(store, &usage);
	assert_int_equal(usage.blob_count, 0);
	digest = put_bytes_blob(store, big, sizeof big);
	assert_true(srv_blob_verify(store, &digest));
	srv_store_close(store);
}

/* ---- many threads */

enum { THREADS = 4, ROUNDS = 300, KINDS = 16 };

typedef struct job {
	pthread_t thread;
	srv_store *store;
	uint32_t seed;
	int wrong;
} job;

static size_t make_text(uint32_t kind, char *out)
{
	size_t size = 1000 + kind * 700;
	for (size_t i = 0; i < size; i++)
		out[i] = (char)('a' + (i * (kind + 3) + kind) % 26);
	return size;
}

static void *put_and_get(void *user)
{
	job *j = user;
	static _Thread_local char text[32768], found[32768];
	for (int i = 0; i < ROUNDS; i++) {
		hob_error err;
		hob_sha256 digest;
		uint64_t size = 0;
		j->seed = j->seed * 1664525u + 1013904223u;
		size_t len = make_text(j->seed >> 16 & (KINDS - 1), text);
		if (!srv_blob_put(j->store, (hob_bytes){(uint8_t *)text, len}, &digest, &err)) {
			j->wrong++;
			continue;
		}
		int fd = srv_blob_open(j->store, &digest, &size);
		/* The main thread's clock runs so fast that a blob may be evicted at once; it must then be missing,
		 * not wrong. */
		if (fd >= 0 &&
			(size != len || read(fd, found, sizeof found) != (ssize_t)len || memcmp(found, text, len) != 0))
			j->wrong++;
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

static void threads_put_and_get_while_the_loop_names_and_trims(void **state)
{
	srv_store *store = open_store(*state, 40000);
	job jobs[THREADS];
	char text[32768];
	hob_error err;
	for (uint32_t i = 0; i < THREADS; i++) {
		jobs[i] = (job){.store = store, .seed = i + 1};
		assert_int_equal(pthread_create(&jobs[i].thread, NULL, put_and_get, &jobs[i]), 0);
	}
	for (uint32_t i = 0; i < 200; i++) {
		hob_sha256 key = {{(uint8_t)i, (uint8_t)(i >> 8), 9}}, blob, found;
		blob = put_bytes_blob(store, text, make_text(i % KINDS, text));
		assert_ok(srv_store_put_part(store, &key, &blob, &err), &err);
		assert_true(srv_store_part(store, &key, &found));
		atomic_fetch_add(&store->time_shift_s, 10);
		srv_store_trim(store, NULL, NULL);
		assert_ok(srv_store_commit(store, &err), &err);
		if (i % 50 == 0)
			assert_true(srv_store_sync(store, NULL));
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(jobs[i].thread, NULL);
		assert_int_equal(jobs[i].wrong, 0);
	}
	srv_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(blob_is_named_by_its_sha256_and_read_only),
		store_test(unknown_blob_is_refused),
		store_test(same_bytes_are_stored_once),
		store_test(works_without_unnamed_files),
		store_test(tmp_is_swept_at_open),
		store_test(cut_or_missing_blob_is_dropped_and_reported),
		store_test(flipped_bit_is_found_by_verify),
		store_test(first_open_in_a_process_hashes_whatever_the_stop_was),
		store_test(later_opens_hash_only_what_changed),
		store_test(suspect_blob_is_replaced_by_a_put),
		store_test(orphan_files_are_taken_up_after_an_unclean_stop),
		store_test(links_and_folders_in_place_of_blobs_are_not_followed),
		store_test(file_that_may_not_grow_is_disk_full),
		store_test(threads_put_and_get_while_the_loop_names_and_trims),
	};
	/* Tests that need no blob in a file of its own, run with packs; packs.c has those about packs. */
	const struct CMUnitTest packed[] = {
		store_test(unknown_blob_is_refused),
		store_test(tmp_is_swept_at_open),
		store_test(file_that_may_not_grow_is_disk_full),
		store_test(threads_put_and_get_while_the_loop_names_and_trims),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	test_pack_max = 1 << 20;
	return failed + cmocka_run_group_tests(packed, NULL, NULL);
}
