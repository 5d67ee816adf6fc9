#include "tests/unit/support.h"

#include "server/git/read/git_object.h"

#include <stdio.h>

static const char id_text[] = "0123456789abcdef0123456789abcdef01234567";

static void ids(void **state)
{
	(void)state;
	srv_git_id id;
	assert_true(srv_git_id_parse(hob_str_of(id_text), &id));
	assert_int_equal(id.bytes[0], 0x01);
	assert_int_equal(id.bytes[19], 0x67);
	assert_string_equal(srv_git_id_text(&id).text, id_text);
	assert_false(srv_git_id_parse(HOB_STR("0123"), &id));
	assert_false(srv_git_id_parse(HOB_STR("0123456789ABCDEF0123456789abcdef01234567"), &id));
}

/* Every prefix of a tree is read up to its last whole entry, and then refused. */
static void each_prefix_of_a_tree(void **state)
{
	(void)state;
	static const char data[] =
		"100644 a.obj\0aaaaaaaaaaaaaaaaaaaa40000 b\0bbbbbbbbbbbbbbbbbbbb120000 c\0cccccccccccccccccccc";
	static const size_t ends[] = {33, 61, 90};
	static const srv_git_kind kinds[] = {SRV_GIT_FILE, SRV_GIT_FOLDER, SRV_GIT_LINK};
	for (size_t size = 0; size < sizeof data; size++) {
		srv_git_tree tree = {.rest = {(const uint8_t *)data, size}};
		hob_error error = {0};
		size_t count = 0, whole = 0;
		while (srv_git_tree_next(&tree, &error)) {
			assert_true(count < HOB_COUNT_OF(kinds));
			assert_int_equal(tree.entry.kind, kinds[count++]);
		}
		while (whole < HOB_COUNT_OF(ends) && ends[whole] <= size)
			whole++;
		assert_int_equal(count, whole);
		bool at_end = size == 0 || (whole > 0 && size == ends[whole - 1]);
		assert_int_equal(error.code, at_end ? HOB_ERR_OK : HOB_ERR_CORRUPT);
	}
}

static void names(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", ".", "..", "a/b", "/", ".git", ".GiT"};
	static const char *const right[] = {"a", "...", ".gitattributes", "git", "\xff", "a b"};
	for (size_t i = 0; i < HOB_COUNT_OF(wrong); i++)
		assert_non_null(srv_git_name_fault(hob_str_of(wrong[i])));
	for (size_t i = 0; i < HOB_COUNT_OF(right); i++)
		assert_null(srv_git_name_fault(hob_str_of(right[i])));
}

static bool parse(const char *text, srv_git_commit *out)
{
	hob_error error;
	return srv_git_commit_parse((hob_bytes){(const uint8_t *)text, strlen(text)}, out, &error);
}

static void commits(void **state)
{
	(void)state;
	srv_git_commit commit;
	char text[4096];
	snprintf(
		text, sizeof text,
		"tree %s\nparent %s\nauthor Ann B. <ann@x> 7 +0100\ncommitter <> 1700000000 +0000\nencoding x\n\n"
		"\nThe subject\n\nmore",
		id_text, id_text);
	assert_true(parse(text, &commit));
	assert_int_equal(commit.parent_count, 1);
	assert_true(hob_str_equal(commit.author, HOB_STR("Ann B.")));
	assert_true(hob_str_equal(commit.subject, HOB_STR("The subject")));
	assert_int_equal(commit.time_s, 1700000000);
	for (size_t size = 0; text[size]; size++) {
		char kept = text[size];
		text[size] = 0;
		assert_int_equal(parse(text, &commit), size >= 45 && !(size >= 53 && size < 93));
		text[size] = kept;
	}
	snprintf(text, sizeof text, "tree %s\nauthor A > 99999999999999999999 x\ncommitter B\n", id_text);
	assert_true(parse(text, &commit));
	assert_int_equal(commit.time_s, 0);
}

static void large_files(void **state)
{
	(void)state;
	hob_str digest;
	uint64_t size;
	static const char good[] =
		"version https://git-lfs.github.com/spec/v1\noid sha256:"
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\nsize 12345\n";
	assert_true(srv_git_lfs_parse((hob_bytes){(const uint8_t *)good, sizeof good - 1}, &digest, &size));
	assert_int_equal(size, 12345);
	for (size_t end = 0; end < sizeof good - 8; end++)
		assert_false(srv_git_lfs_parse((hob_bytes){(const uint8_t *)good, end}, &digest, &size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ids), cmocka_unit_test(each_prefix_of_a_tree),
									   cmocka_unit_test(names), cmocka_unit_test(commits),
									   cmocka_unit_test(large_files)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
