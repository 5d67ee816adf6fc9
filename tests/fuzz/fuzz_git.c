/* Trees, commits, tags and pointers of git on any bytes: the first one chooses.
 *
 * Links: srv_git_read
 * Run:   fuzz_git -max_len=4096 /tmp/found tests/fuzz/corpus/git */
#include "server/git/read/git_object.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_inside(hob_str text, hob_bytes all)
{
	const uint8_t *from = (const uint8_t *)text.data;
	assert(text.len == 0 || (from >= all.data && from + text.len <= all.data + all.size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	hob_bytes rest = {data + 1, size - 1};
	hob_error error = {0};
	srv_git_commit commit;
	srv_git_id id;
	hob_str text;
	uint64_t bytes;
	switch (data[0] % 4) {
	case 0:
		for (srv_git_tree tree = {.rest = rest}; srv_git_tree_next(&tree, &error);) {
			is_inside(tree.entry.name, rest);
			(void)!srv_git_name_fault(tree.entry.name);
		}
		break;
	case 1:
		if (srv_git_commit_parse(rest, &commit, &error)) {
			is_inside(commit.author, rest);
			is_inside(commit.subject, rest);
		}
		break;
	case 2:
		(void)!srv_git_tag_parse(rest, &id, &error);
		break;
	default:
		if (srv_git_lfs_parse(rest, &text, &bytes))
			is_inside(text, rest);
	}
	return 0;
}
