#include "tests/unit/support.h"

#include "core/base/limits.h"
#include "server/worker/result.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A worker's result, parsed as in the daemon. */
static hob_err_code code_read;

static bool survives(const srv_result *written)
{
	struct stat info;
	hob_error error;
	int fd = memfd_create("result", MFD_CLOEXEC);
	assert_true(fd >= 0 && srv_result_write(fd, NULL, written, &error) && fstat(fd, &info) == 0);
	uint8_t *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	hob_arena arena;
	hob_arena_init(&arena, 256 << 20);
	srv_result read;
	bool ok = srv_result_read((hob_bytes){at, (size_t)info.st_size}, &arena, &read, &error);
	code_read = ok ? read.code : HOB_ERR_COUNT;
	if (ok)
		assert_int_equal(read.dep_count + read.note_count + read.output_count,
						 written->dep_count + written->note_count + written->output_count);
	hob_arena_release(&arena);
	munmap(at, (size_t)info.st_size);
	close(fd);
	return ok;
}

static bool survives_counts(uint64_t deps, uint64_t notes, uint64_t outputs)
{
	srv_result result = {.ok = true,
						 .dep_count = (uint32_t)deps,
						 .note_count = (uint32_t)notes,
						 .output_count = (uint32_t)outputs};
	result.deps = calloc(deps + 1, sizeof *result.deps);
	result.notes = calloc(notes + 1, sizeof *result.notes);
	result.outputs = calloc(outputs + 1, sizeof *result.outputs);
	bool ok = survives(&result);
	free(result.deps);
	free(result.notes);
	free(result.outputs);
	return ok;
}

static void lists_have_limits(void **state)
{
	(void)state;
	assert_true(survives_counts(0, 0, 0));
	assert_true(survives_counts(HOB_LIMIT_SOURCE_FILES + 2, HOB_NOTE_LIMIT, HOB_LIMIT_OUTPUTS));
	assert_false(survives_counts(HOB_LIMIT_SOURCE_FILES + 3, 0, 0));
	assert_false(survives_counts(0, HOB_NOTE_LIMIT + 1, 0));
	assert_false(survives_counts(0, 0, HOB_LIMIT_OUTPUTS + 1));
	assert_false(survives_counts(1 << 20, 0, 0));
}

static bool survives_text(size_t size)
{
	char *text = malloc(size + 1);
	memset(text, 'x', size);
	hob_str said = {text, size};
	bool first = survives(&(srv_result){.message = said});
	bool dep = survives(&(srv_result){.dep_count = 1, .deps = &(srv_dep){.path = said}});
	bool note = survives(&(srv_result){.note_count = 1, .notes = &(hob_note){.text = said}});
	bool code = survives(&(srv_result){.note_count = 1, .notes = &(hob_note){.code = said}});
	bool name = survives(&(srv_result){.output_count = 1, .outputs = &(hob_cook_output){.name = said}});
	assert_true(first == dep && dep == note && note == code && code == name);
	free(text);
	return first;
}

static void texts_have_limits(void **state)
{
	(void)state;
	assert_true(survives_text(4096));
	assert_false(survives_text(4097));
	assert_false(survives_text(1 << 20));
}

static void every_prefix_is_refused(void **state)
{
	(void)state;
	srv_dep dep = {.path = HOB_STR("a.obj"), .size = 3};
	hob_note note = {HOB_NOTE_INFO, HOB_STR("code"), HOB_STR("text"), 1};
	hob_cook_output output = {HOB_STR("scene"), {(const uint8_t *)"12345", 5}};
	srv_result result = {true, false, HOB_ERR_OK, {0}, {0}, 1, 1, 1, &dep, &output, &note};
	hob_error error;
	struct stat info;
	int fd = memfd_create("result", MFD_CLOEXEC);
	assert_true(srv_result_write(fd, NULL, &result, &error) && fstat(fd, &info) == 0);
	uint8_t *whole = malloc((size_t)info.st_size);
	assert_int_equal(pread(fd, whole, (size_t)info.st_size, 0), info.st_size);
	for (size_t size = 0; size <= (size_t)info.st_size; size++) {
		uint8_t *cut = malloc(size + 1); /* so that a sanitizer detects reads past the end */
		memcpy(cut, whole, size);
		hob_arena arena;
		hob_arena_init(&arena, 1 << 20);
		srv_result read;
		assert_int_equal(srv_result_read((hob_bytes){cut, size}, &arena, &read, &error),
						 size == (size_t)info.st_size);
		hob_arena_release(&arena);
		free(cut);
	}
	free(whole);
	close(fd);
}

static void a_failure_has_a_code(void **state)
{
	(void)state;
	static const hob_err_code said[] = {HOB_ERR_OK, HOB_ERR_COUNT, (hob_err_code)9999};
	for (size_t i = 0; i < HOB_COUNT_OF(said); i++) {
		assert_true(survives(&(srv_result){.code = said[i], .message = HOB_STR("fine")}));
		assert_int_equal(code_read, HOB_ERR_INTERNAL);
	}
	assert_true(survives(&(srv_result){.code = HOB_ERR_CORRUPT}));
	assert_int_equal(code_read, HOB_ERR_CORRUPT);
	assert_true(survives(&(srv_result){.ok = true}));
	assert_int_equal(code_read, HOB_ERR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_have_limits),
		cmocka_unit_test(texts_have_limits),
		cmocka_unit_test(every_prefix_is_refused),
		cmocka_unit_test(a_failure_has_a_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
