/* Temporary folders that are hard to remove. */
#include "../../../server/fs/remove_tree.h"
#include "../support.h"
#include "../temp_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static temp_folder folder;

static int set_up(void **state)
{
	(void)state;
	folder_make(&folder);
	folder_put(&folder, "outside/kept", "kept");
	folder_put(&folder, "temporary/file", "gone");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	folder_remove(&folder);
	return 0;
}

static bool there(const char *name)
{
	char path[512];
	struct stat info;
	snprintf(path, sizeof path, "%s/%s", folder.path, name);
	return lstat(path, &info) == 0;
}

static void remove_it(void)
{
	char path[512];
	snprintf(path, sizeof path, "%s/temporary", folder.path);
	srv_remove_tree(path);
	assert_false(there("temporary"));
	assert_true(there("outside/kept"));
}

static int open_temporary(void)
{
	char path[512];
	snprintf(path, sizeof path, "%s/temporary", folder.path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Deeper than PATH_MAX, and than the process's descriptors allow. */
static void a_deep_folder_goes(void **state)
{
	(void)state;
	char name[201];
	memset(name, 'd', sizeof name - 1);
	name[sizeof name - 1] = 0;
	int fd = open_temporary();
	for (int depth = 0; depth < 1500; depth++) {
		assert_int_equal(mkdirat(fd, name, 0700), 0);
		assert_int_equal(mkdirat(fd, "beside", 0700), 0);
		int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	close(fd);
	remove_it();
}

static void folders_that_nobody_may_open_go(void **state)
{
	(void)state;
	int fd = open_temporary();
	assert_int_equal(mkdirat(fd, "a", 0700), 0);
	assert_int_equal(mkdirat(fd, "a/b", 0700), 0);
	assert_int_equal(fchmodat(fd, "a/b", 0, 0), 0);
	assert_int_equal(fchmodat(fd, "a", 0500, 0), 0);
	assert_int_equal(fchmod(fd, 0), 0);
	close(fd);
	remove_it();
}

static void links_are_not_followed(void **state)
{
	(void)state;
	int fd = open_temporary();
	assert_int_equal(symlinkat("../outside", fd, "link"), 0);
	assert_int_equal(symlinkat("/", fd, "root"), 0);
	close(fd);
	remove_it();
	char path[512];
	snprintf(path, sizeof path, "%s/temporary", folder.path);
	assert_int_equal(symlink("outside", path), 0);
	srv_remove_tree(path);
	assert_true(there("outside/kept"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_deep_folder_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(folders_that_nobody_may_open_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_are_not_followed, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
