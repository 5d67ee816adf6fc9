#include "tests/unit/support.h"
#include "tests/unit/temp_folder.h"

#include "server/worker/machine.h"

#include <errno.h>
#include <limits.h>

static temp_folder folder;

/* Writes a file of the simulated machine, with its folders. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s%s", folder.path, name);
	for (char *at = path + strlen(folder.path) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int begin(void **state)
{
	(void)state;
	folder_make(&folder);
	put("/proc/meminfo", "MemTotal:        8000 kB\nMemFree:  10 kB\nMemAvailable:    6000 kB\n");
	put("/proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
	return 0;
}

static int end(void **state)
{
	(void)state;
	folder_remove(&folder);
	return 0;
}

static srv_memory memory(void)
{
	srv_memory out;
	srv_machine_memory(folder.path, &out);
	return out;
}

static void without_groups_the_machine_is_the_limit(void **state)
{
	(void)state;
	srv_memory m = memory();
	assert_int_equal(m.total, 8000 << 10);
	assert_int_equal(m.available, 6000 << 10);
	assert_false(m.contained);
	assert_int_equal(srv_machine_oom_kills(folder.path), 7);
}

static void v2_counts_every_level_without_what_can_be_reclaimed(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/outer/inner\n");
	put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
	put("/sys/fs/cgroup/outer/memory.max", "4096000\n");
	put("/sys/fs/cgroup/outer/memory.current", "3000000\n");
	put("/sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 1000000\n");
	put("/sys/fs/cgroup/outer/inner/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
	srv_memory m = memory();
	assert_int_equal(m.total, 4096000);
	assert_int_equal(m.available, 4096000 - 2000000);
	assert_true(m.contained);
	assert_int_equal(srv_machine_oom_kills(folder.path), 2);
}

static void a_container_that_sees_its_own_group_as_the_outermost(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/not/there\n");
	put("/sys/fs/cgroup/memory.max", "2048000\n");
	put("/sys/fs/cgroup/memory.current", "9999999\n");
	put("/sys/fs/cgroup/memory.events", "oom_kill 5\n");
	srv_memory m = memory();
	assert_int_equal(m.total, 2048000);
	assert_int_equal(m.available, 0);
	assert_int_equal(srv_machine_oom_kills(folder.path), 5);
}

static void v1_without_a_limit_says_a_large_number(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/box\n0::/\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "1024000\n");
	put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "24000\n");
	put("/sys/fs/cgroup/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	srv_memory m = memory();
	assert_int_equal(m.total, 1024000);
	assert_int_equal(m.available, 1000000);
	assert_int_equal(srv_machine_oom_kills(folder.path), 4);
}

static void processors_are_those_of_the_narrowest_group(void **state)
{
	(void)state;
	assert_int_equal(srv_machine_cpus(folder.path, 16), 16);
	put("/proc/self/cgroup", "0::/outer/inner\n");
	put("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
	assert_int_equal(srv_machine_cpus(folder.path, 16), 16);
	put("/sys/fs/cgroup/outer/cpu.max", "450000 100000\n");
	assert_int_equal(srv_machine_cpus(folder.path, 16), 4);
	assert_int_equal(srv_machine_cpus(folder.path, 2), 2);
	put("/sys/fs/cgroup/outer/inner/cpu.max", "5000 100000\n");
	assert_int_equal(srv_machine_cpus(folder.path, 16), 1);
	put("/proc/self/cgroup", "5:cpuset:/none\n4:cpu,cpuacct:/box\n");
	put("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
	assert_int_equal(srv_machine_cpus(folder.path, 16), 16);
	put("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "800000\n");
	assert_int_equal(srv_machine_cpus(folder.path, 16), 8);
}

static void facts_name_the_smaller_memory(void **state)
{
	(void)state;
	char text[96];
	srv_machine_facts(&(srv_memory){.total = 512 << 20}, text, sizeof text);
	assert_non_null(strstr(text, "512 MiB"));
	assert_non_null(strstr(text, "linux "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_groups_the_machine_is_the_limit, begin, end),
		cmocka_unit_test_setup_teardown(v2_counts_every_level_without_what_can_be_reclaimed, begin, end),
		cmocka_unit_test_setup_teardown(a_container_that_sees_its_own_group_as_the_outermost, begin, end),
		cmocka_unit_test_setup_teardown(v1_without_a_limit_says_a_large_number, begin, end),
		cmocka_unit_test_setup_teardown(processors_are_those_of_the_narrowest_group, begin, end),
		cmocka_unit_test(facts_name_the_smaller_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
