/* Locations and interpretation of version control's lock and index. */
#include "../../../server/fs/vcs.h"
#include "../support.h"
#include "../temp_folder.h"

#include <sys/stat.h>
#include <time.h>
#include <utime.h>

static temp_folder folder;

static int set_up(void **state)
{
	(void)state;
	folder_make(&folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	folder_remove(&folder);
	return 0;
}

static void put(const char *name, const char *text)
{
	folder_put(&folder, name, text);
}

static srv_vcs find(const char *name)
{
	char path[512];
	srv_vcs vcs;
	snprintf(path, sizeof path, "%s/%s", folder.path, name);
	mkdir(path, 0777);
	srv_vcs_find(path, &vcs);
	return vcs;
}

static void lock_and_index(const char *lock, const char *index, const char *root)
{
	char path[512];
	put(index, "1");
	srv_vcs vcs = find(root);
	assert_true(vcs.index[0]);
	assert_false(srv_vcs_locked(&vcs));
	assert_false(srv_vcs_moved(&vcs));
	put(lock, strstr(lock, ".svn") ? "journal" : "");
	assert_true(srv_vcs_locked(&vcs));
	put(index, "12");
	assert_true(srv_vcs_moved(&vcs));
	assert_false(srv_vcs_moved(&vcs));
	snprintf(path, sizeof path, "%s/%s", folder.path, lock);
	assert_int_equal(utime(path, &(struct utimbuf){1000, 1000}), 0);
	assert_false(srv_vcs_locked(&vcs)); /* stale */
	time_t later = time(NULL) + 86400;
	assert_int_equal(utime(path, &(struct utimbuf){later, later}), 0);
	assert_false(srv_vcs_locked(&vcs)); /* from a wrong clock */
}

static void git_in_the_folder(void **state)
{
	(void)state;
	lock_and_index(".git/index.lock", ".git/index", "");
}

static void git_above_the_folder(void **state)
{
	(void)state;
	lock_and_index(".git/index.lock", ".git/index", "art");
}

static void git_worktree_and_submodule(void **state)
{
	(void)state;
	char text[600];
	put("main/.git/worktrees/w/index", "1");
	snprintf(text, sizeof text, "gitdir: %s/main/.git/worktrees/w\n", folder.path);
	put("w/.git", text);
	lock_and_index("main/.git/worktrees/w/index.lock", "main/.git/worktrees/w/index", "w");
	put("main/sub/.git", "gitdir: ../.git/modules/sub\n");
	lock_and_index("main/.git/modules/sub/index.lock", "main/.git/modules/sub/index", "main/sub");
}

static void mercurial_and_subversion(void **state)
{
	(void)state;
	char path[512];
	put("hg/.hg/dirstate", "1");
	srv_vcs hg = find("hg");
	snprintf(path, sizeof path, "%s/hg/.hg/wlock", folder.path);
	assert_int_equal(symlink("host:4711", path), 0);
	assert_true(srv_vcs_locked(&hg));
	assert_int_equal(unlink(path), 0);
	put("svn/.svn/wc.db", "1");
	srv_vcs svn = find("svn");
	put("svn/.svn/wc.db-journal", ""); /* remains after each operation */
	assert_false(srv_vcs_locked(&svn));
	lock_and_index("hg/.hg/wlock", "hg/.hg/dirstate", "hg");
	lock_and_index("svn/.svn/wc.db-journal", "svn/.svn/wc.db", "svn");
}

static void git_below_the_folder(void **state)
{
	(void)state;
	srv_vcs vcs;
	put("a/town/.git/index", "1");
	put("a/town/props/x.obj", "");
	srv_vcs_find_below(folder.path, HOB_STR("a/town/props"), &vcs);
	assert_true(vcs.index[0]);
	put("a/town/.git/index.lock", "");
	assert_true(srv_vcs_locked(&vcs));
	srv_vcs_find_below(folder.path, HOB_STR("a"), &vcs);
	assert_false(vcs.index[0]);
}

static void no_working_copy(void **state)
{
	(void)state;
	srv_vcs vcs = find("plain");
	assert_false(vcs.index[0]);
	assert_false(srv_vcs_locked(&vcs));
	assert_false(srv_vcs_moved(&vcs));
	put("odd/.git", "something else\n");
	vcs = find("odd");
	assert_false(vcs.index[0]);
	put("empty/.git", "");
	vcs = find("empty");
	assert_false(vcs.index[0]);
	static char huge[9000];
	memset(huge, 'x', sizeof huge - 1);
	memcpy(huge, "gitdir: ", 8);
	put("huge/.git", huge);
	vcs = find("huge");
	assert_false(srv_vcs_locked(&vcs));
	srv_vcs_find("/no/such/folder", &vcs);
	assert_false(vcs.index[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(git_in_the_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(git_above_the_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(git_worktree_and_submodule, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mercurial_and_subversion, set_up, tear_down),
		cmocka_unit_test_setup_teardown(git_below_the_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_working_copy, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
