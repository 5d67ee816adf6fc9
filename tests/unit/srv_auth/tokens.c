#include "tests/unit/support.h"
#include "tests/unit/temp_folder.h"

#include "server/auth/tokens.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct fixture {
	temp_folder folder;
	char path[512];
} fixture;

static int setup(void **state)
{
	fixture *f = calloc(1, sizeof *f);
	folder_make(&f->folder);
	snprintf(f->path, sizeof f->path, "%s/tokens", f->folder.path);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture *f = *state;
	folder_remove(&f->folder);
	free(f);
	return 0;
}

static void create(const fixture *f, const char *name, srv_scope scope, char text[SRV_TOKEN_TEXT + 1])
{
	hob_error err = {0};
	if (!srv_token_create(f->path, hob_str_of(name), scope, (hob_str){0}, text, &err))
		fail_msg("%s", err.context);
}

static srv_tokens read_all(const fixture *f)
{
	hob_error err = {0};
	srv_tokens tokens;
	if (!srv_tokens_read(f->path, &tokens, &err))
		fail_msg("%s", err.context);
	return tokens;
}

static srv_scope scope_of(const srv_tokens *tokens, hob_str text)
{
	hob_sha256 digest = hob_sha256_of((hob_bytes){(const uint8_t *)text.data, text.len});
	return srv_tokens_scope_of(tokens, &digest);
}

static void a_token_opens_what_it_was_made_for_until_it_is_revoked(void **state)
{
	const fixture *f = *state;
	char reader[SRV_TOKEN_TEXT + 1], writer[SRV_TOKEN_TEXT + 1];
	create(f, "viewer", SRV_SCOPE_READ, reader);
	create(f, "farm", SRV_SCOPE_WRITE, writer);
	assert_int_equal(strlen(reader), SRV_TOKEN_TEXT);
	assert_string_not_equal(reader, writer);
	srv_tokens tokens = read_all(f);
	assert_int_equal(tokens.count, 2);
	assert_int_equal(scope_of(&tokens, hob_str_of(reader)), SRV_SCOPE_READ);
	assert_int_equal(scope_of(&tokens, hob_str_of(writer)), SRV_SCOPE_WRITE);
	assert_int_equal(scope_of(&tokens, HOB_STR("")), SRV_SCOPE_NONE);
	writer[SRV_TOKEN_TEXT - 1] ^= 1;
	assert_int_equal(scope_of(&tokens, hob_str_of(writer)), SRV_SCOPE_NONE);
	writer[SRV_TOKEN_TEXT - 1] ^= 1;
	assert_int_equal(scope_of(&tokens, (hob_str){writer, SRV_TOKEN_TEXT - 1}), SRV_SCOPE_NONE);
	srv_tokens_release(&tokens);

	hob_error err = {0};
	assert_true(srv_token_revoke(f->path, HOB_STR("farm"), &err));
	assert_false(srv_token_revoke(f->path, HOB_STR("farm"), &err));
	assert_int_equal(err.code, HOB_ERR_NOT_FOUND);
	tokens = read_all(f);
	assert_int_equal(tokens.count, 1);
	assert_int_equal(scope_of(&tokens, hob_str_of(writer)), SRV_SCOPE_NONE);
	assert_int_equal(scope_of(&tokens, hob_str_of(reader)), SRV_SCOPE_READ);
	srv_tokens_release(&tokens);
}

static void the_file_holds_no_token_and_is_private(void **state)
{
	const fixture *f = *state;
	char text[SRV_TOKEN_TEXT + 1], line[1024];
	create(f, "one", SRV_SCOPE_READ, text);
	struct stat info;
	assert_int_equal(stat(f->path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	FILE *file = fopen(f->path, "r");
	while (fgets(line, sizeof line, file))
		assert_null(strstr(line, text + 4));
	fclose(file);
}

static void bad_and_taken_names_are_refused(void **state)
{
	const fixture *f = *state;
	static const char *const names[] = {
		"",	   "a b",  "-x",  ".x",
		"a/b", "a\nb", "one", "0123456789012345678901234567890123456789012345678901234567890123"};
	char text[SRV_TOKEN_TEXT + 1];
	create(f, "one", SRV_SCOPE_READ, text);
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++) {
		hob_error err = {0};
		assert_false(
			srv_token_create(f->path, hob_str_of(names[i]), SRV_SCOPE_READ, (hob_str){0}, text, &err));
		assert_int_equal(err.code, HOB_ERR_USAGE);
	}
}

static void expect_refused(const fixture *f, const char *text, mode_t mode, const char *why)
{
	FILE *file = fopen(f->path, "w");
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(f->path, mode), 0);
	hob_error err = {0};
	srv_tokens tokens;
	assert_false(srv_tokens_read(f->path, &tokens, &err));
	assert_int_equal(tokens.count, 0);
	if (!strstr(err.context, why))
		fail_msg("'%s' is not in '%s'", why, err.context);
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_file_that_is_not_right_lets_nobody_in(void **state)
{
	const fixture *f = *state;
	hob_error err = {0};
	srv_tokens tokens;
	assert_false(srv_tokens_read(f->path, &tokens, &err));
	assert_int_equal(err.code, HOB_ERR_IO);
	expect_refused(f, "a read " DIGEST " 7\nb admin " DIGEST " 7\n", 0600, "tokens:2");
	expect_refused(f, "a read 0123\n", 0600, "tokens:1");
	expect_refused(f, "a read " DIGEST " 7 more\n", 0600, "tokens:1");
	expect_refused(f, "a read " DIGEST " x\n", 0600, "tokens:1");
	expect_refused(f, "# fine\n\na read " DIGEST "\n", 0620, "chmod go-w");
	assert_int_equal(chmod(f->path, 0600), 0);
	tokens = read_all(f);
	assert_int_equal(tokens.count, 1);
	srv_tokens_release(&tokens);
}

/* ---- the number of steps of the check, single-stepped, does not depend on the guess */

static uint64_t steps_of(const srv_tokens *tokens, const hob_sha256 *digest, srv_scope expected)
{
	pid_t child = fork();
	if (child == 0) {
		/* One-time work, such as symbol binding, must not be counted. */
		if (srv_tokens_scope_of(tokens, digest) != expected || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(1);
		raise(SIGSTOP);
		srv_tokens_scope_of(tokens, digest);
		raise(SIGSTOP);
		_exit(0);
	}
	int status;
	uint64_t steps = 0;
	waitpid(child, &status, 0);
	if (!WIFSTOPPED(status))
		return 0;
	do {
		steps++;
		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
		waitpid(child, &status, 0);
	} while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return steps;
}

static void a_guess_tells_nothing_by_its_time(void **state)
{
	(void)state;
	srv_token items[3] = {{.scope = SRV_SCOPE_READ}, {.scope = SRV_SCOPE_WRITE}, {.scope = SRV_SCOPE_READ}};
	srv_tokens tokens = {items, 3};
	hob_sha256 digest = hob_sha256_of((hob_bytes){(const uint8_t *)"guess", 5});
	for (size_t i = 0; i < HOB_COUNT_OF(items); i++)
		items[i].digest = hob_sha256_of((hob_bytes){(const uint8_t *)&i, 1});
	uint64_t expected = steps_of(&tokens, &digest, SRV_SCOPE_NONE);
	if (expected == 0) {
		print_message("skipped: this system does not let a process trace its child\n");
		skip();
	}
	assert_true(expected > 100);
	/* Digests with a growing common prefix, as an attacker would try; finally equal ones. */
	for (size_t same = 0; same <= sizeof digest.bytes; same += 4) {
		items[1].digest = digest;
		for (size_t i = same; i < sizeof digest.bytes; i++)
			items[1].digest.bytes[i] ^= 0x55;
		bool right = same == sizeof digest.bytes;
		assert_int_equal(steps_of(&tokens, &digest, right ? SRV_SCOPE_WRITE : SRV_SCOPE_NONE), expected);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_token_opens_what_it_was_made_for_until_it_is_revoked),
		TEST(the_file_holds_no_token_and_is_private),
		TEST(bad_and_taken_names_are_refused),
		TEST(a_file_that_is_not_right_lets_nobody_in),
		cmocka_unit_test(a_guess_tells_nothing_by_its_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
