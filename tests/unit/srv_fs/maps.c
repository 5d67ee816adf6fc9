/* Files that processes share through memory maps. */
#include "../../../server/fs/maps.h"
#include "../support.h"
#include "../temp_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static temp_folder folder;

static int set_up(void **state)
{
	(void)state;
	folder_make(&folder);
	folder_put(&folder, "shared model.glb", "shared");
	folder_put(&folder, "private.glb", "private");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	folder_remove(&folder);
	return 0;
}

static void *map(const char *name, int how, uint64_t *inode)
{
	struct stat info;
	int fd = open(folder_at(&folder, "%s", name), O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &info), 0);
	*inode = info.st_ino;
	void *memory = mmap(NULL, 4, PROT_READ | PROT_WRITE, how, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(fd);
	return memory;
}

static void shared_maps_are_found_by_inode_and_name(void **state)
{
	(void)state;
	uint64_t shared, private;
	void *a = map("shared model.glb", MAP_SHARED, &shared), *b = map("private.glb", MAP_PRIVATE, &private);
	srv_maps maps;
	srv_maps_find(&maps);
	const srv_mapped *found = srv_maps_at(&maps, shared);
	assert_non_null(found);
	assert_true(hob_str_ends_nocase(hob_str_of(found->path), HOB_STR("/shared model.glb")));
	assert_null(srv_maps_at(&maps, private));
	srv_maps_release(&maps);
	munmap(a, 4);
	munmap(b, 4);
	srv_maps_find(&maps);
	assert_null(srv_maps_at(&maps, shared));
	srv_maps_release(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shared_maps_are_found_by_inode_and_name, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
