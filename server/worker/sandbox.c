#include "sandbox.h"

#include "../../core/base/limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12's headers know landlock ABI 2; these are the kernel's numbers for later versions. */
#define ACCESS_TRUNCATE	 (1ull << 14)
#define ACCESS_IOCTL_DEV (1ull << 15)
#define NET_BIND_TCP	 (1ull << 0)
#define NET_CONNECT_TCP	 (1ull << 1)
#define SCOPE_ALL		 3ull

struct ruleset {
	uint64_t handled_fs, handled_net, scoped;
};

static uint64_t rights_of(srv_sandbox_access access, uint64_t handled, bool folder)
{
	enum { FIRST_OF_FOLDERS = 3, LAST_OF_FOLDERS = 13 };
	uint64_t rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	if (access == SRV_SANDBOX_RUN)
		rights |= LANDLOCK_ACCESS_FS_EXECUTE;
	if (access == SRV_SANDBOX_WRITE)
		rights = ~(uint64_t)(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
							 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK);
	for (int bit = FIRST_OF_FOLDERS; bit <= LAST_OF_FOLDERS && !folder; bit++)
		rights &= ~(1ull << bit);
	return rights & handled;
}

static bool is_folder(int fd)
{
	struct stat info;
	return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool enter_landlock(const srv_sandbox_place *places, uint32_t count, bool connects, int *abi)
{
	*abi = (int)syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
	const char *cap = getenv("HOB_LANDLOCK_ABI");
	if (cap && atoi(cap) < *abi)
		*abi = atoi(cap);
	if (*abi < 1)
		return false;
	struct ruleset rules = {.handled_fs = (1ull << 13) - 1};
	if (*abi >= 2)
		rules.handled_fs |= LANDLOCK_ACCESS_FS_REFER;
	if (*abi >= 3)
		rules.handled_fs |= ACCESS_TRUNCATE;
	if (*abi >= 5)
		rules.handled_fs |= ACCESS_IOCTL_DEV;
	if (*abi >= 4)
		rules.handled_net = NET_BIND_TCP | (connects ? 0 : NET_CONNECT_TCP);
	if (*abi >= 6)
		rules.scoped = SCOPE_ALL;
	size_t size = *abi >= 6 ? 24 : *abi >= 4 ? 16 : 8;
	int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
	if (fd < 0)
		return false;
	bool ok = true;
	for (uint32_t i = 0; i < count; i++) {
		struct landlock_path_beneath_attr rule = {
			.allowed_access = rights_of(places[i].access, rules.handled_fs, is_folder(places[i].fd)),
			.parent_fd = places[i].fd};
		ok = ok && (places[i].fd < 0 ||
					syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0);
	}
	ok = ok && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
	close(fd);
	return ok;
}

/* Drops capabilities; if the daemon runs as root, only reading remains, which its own hashing may also do. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {{0}};
	if (syscall(SYS_capget, &head, caps) != 0)
		return;
	uint32_t kept = caps[0].permitted & (CAP_TO_MASK(CAP_DAC_READ_SEARCH) | CAP_TO_MASK(CAP_LEASE));
	memset(caps, 0, sizeof caps);
	caps[0].effective = caps[0].permitted = kept;
	syscall(SYS_capset, &head, caps);
}

/* Adds a rule for each of the calls, whose names are separated by blanks. A call that an older libseccomp
 * does not know gets none. */
static bool add_rules(scmp_filter_ctx filter, uint32_t action, const char *names)
{
	bool ok = true;
	for (size_t size; ok && (size = strcspn(names, " ")) > 0; names += size + (names[size] == ' ')) {
		char name[32];
		snprintf(name, sizeof name, "%.*s", (int)size, names);
		int call = seccomp_syscall_resolve_name(name);
		ok = call == __NR_SCMP_ERROR || seccomp_rule_add(filter, action, call, 0) == 0;
	}
	return ok;
}

static const char allowed[] =
	"read write readv writev pread64 pwrite64 lseek close fstat newfstatat getdents64 munmap mremap "
	"madvise brk futex set_robust_list rseq rt_sigprocmask rt_sigaction rt_sigreturn sigaltstack exit "
	"exit_group sched_yield sched_getaffinity getrandom clock_gettime getrusage recvmsg gettid getpid "
	"restart_syscall";

#ifndef HOB_SANITIZED
/* Calls that fail instead of ending the process: libraries try them and can work without them. */
static const char refused[] =
	"openat open access faccessat faccessat2 readlink readlinkat getcwd ioctl prlimit64 prctl socket "
	"sysinfo uname stat lstat getuid geteuid getgid getegid mkdir unlink rename sched_setscheduler "
	"sched_setaffinity get_mempolicy mbind memfd_create";
#endif

/* Allows harmless fcntl commands. Others could misuse a descriptor shared with the daemon: F_SETOWN, F_SETSIG
 * and O_ASYNC send it a signal; F_SETPIPE_SZ and locks use up resources of the user; with a lease for
 * writing, every process that opens the file waits. F_SETSIG with SIGURG precedes a lease: see beneath.c. */
static bool allow_fcntl(scmp_filter_ctx filter)
{
	static const int commands[] = {F_DUPFD_CLOEXEC, F_GETFD,	 F_SETFD,	F_GETFL,
								   F_ADD_SEALS,		F_GET_SEALS, F_GETLEASE};
	static const int leases[] = {F_RDLCK, F_UNLCK};
	bool ok = true;
	for (size_t i = 0; i < HOB_COUNT_OF(commands); i++)
		ok = ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
									SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)commands[i], 0)) == 0;
	for (size_t i = 0; i < HOB_COUNT_OF(leases); i++)
		ok = ok &&
			 seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2, SCMP_A1(SCMP_CMP_EQ, F_SETLEASE, 0),
							  SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)leases[i], 0)) == 0;
	return ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2,
								  SCMP_A1(SCMP_CMP_EQ, F_SETSIG, 0), SCMP_A2(SCMP_CMP_EQ, SIGURG, 0)) == 0;
}

/* Opens for reading only, and facts of files, which landlock limits to the roots; and a timer of its own. */
static bool allow_paths(scmp_filter_ctx filter)
{
	const scmp_datum_t writes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
							SCMP_A2(SCMP_CMP_MASKED_EQ, writes, O_RDONLY)) == 0 &&
		   seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
							SCMP_A1(SCMP_CMP_MASKED_EQ, writes, O_RDONLY)) == 0 &&
		   add_rules(filter, SCMP_ACT_ALLOW, "stat lstat access faccessat faccessat2 getcwd setitimer");
}

/* Calls of name lookups and TLS; sockets of IP only, which listen to nobody. */
static bool allow_connections(scmp_filter_ctx filter)
{
	static const int families[] = {AF_INET, AF_INET6};
	bool ok = add_rules(filter, SCMP_ACT_ALLOW,
						"connect sendto recvfrom sendmmsg poll ppoll getsockopt setsockopt getsockname "
						"getpeername shutdown uname gettimeofday nanosleep clock_nanosleep");
	for (size_t i = 0; i < HOB_COUNT_OF(families); i++)
		ok = ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
									SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0)) == 0;
	return ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
								  SCMP_A1(SCMP_CMP_EQ, F_SETFL, 0)) == 0;
}

static bool enter_seccomp(srv_sandbox_kind kind, bool all_threads)
{
	bool makes_code = kind == SRV_SANDBOX_DRAWS;
#ifdef HOB_SANITIZED
	/* A sanitizer's runtime needs more calls while it reports; with EPERM its report stays readable. */
	uint32_t other = SCMP_ACT_ERRNO(EPERM);
#else
	uint32_t other = kind == SRV_SANDBOX_COOKS ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(EPERM);
#endif
	scmp_filter_ctx filter = seccomp_init(other);
	if (!filter)
		return false;
	/* The flags of openat2 are in memory, where a filter cannot see them. */
	bool ok = add_rules(filter, SCMP_ACT_ALLOW, allowed) &&
			  add_rules(filter, SCMP_ACT_ALLOW, kind < SRV_SANDBOX_READS ? "openat2" : "");
#ifdef HOB_SANITIZED
	/* ThreadSanitizer has a thread that mostly sleeps; without sleep it spins. */
	ok = ok && add_rules(filter, SCMP_ACT_ALLOW, "nanosleep gettimeofday");
#else
	ok = ok && add_rules(filter, SCMP_ACT_ERRNO(EPERM), kind == SRV_SANDBOX_COOKS ? refused : "");
#endif
	/* Memory is never executable. No new processes, and no more threads, except where libraries start them to
	 * generate code. clone3's flags cannot be checked, so glibc is made to use clone. abort() may signal this
	 * process. */
	const struct scmp_arg_cmp own_process = {
		.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)getpid(), .datum_b = 0};
	const struct scmp_arg_cmp no_code = {
		.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0};
	/* Huge pages come from a pool shared with other processes. */
	const struct scmp_arg_cmp own_memory = {
		.arg = 3, .op = SCMP_CMP_MASKED_EQ, .datum_a = MAP_HUGETLB | MAP_LOCKED, .datum_b = 0};
	ok = ok &&
		 (makes_code ? seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, own_memory)
					 : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, no_code, own_memory)) == 0;
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), !makes_code, no_code) == 0;
	/* As srv_frame_send calls it: no urgent bytes (MSG_OOB). */
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1,
								SCMP_A2(SCMP_CMP_EQ, MSG_NOSIGNAL, 0)) == 0;
	ok = ok && seccomp_rule_add(filter, makes_code ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EAGAIN), SCMP_SYS(clone),
								1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)) == 0;
	ok = ok && (!all_threads || seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0);
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(statx), 0) == 0;
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, own_process) == 0;
	/* RLIMIT_AS does not cover memory files, so a worker asks the daemon for them. */
	ok = ok && (!makes_code ||
				(seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ftruncate), 0) == 0 &&
				 seccomp_rule_add(
					 filter, SCMP_ACT_ALLOW, SCMP_SYS(memfd_create), 1,
					 SCMP_A1(SCMP_CMP_MASKED_EQ, ~(scmp_datum_t)(MFD_CLOEXEC | MFD_ALLOW_SEALING), 0)) == 0));
	ok = ok && allow_fcntl(filter) && (kind < SRV_SANDBOX_READS || allow_paths(filter)) &&
		 (kind != SRV_SANDBOX_FETCHES || allow_connections(filter));
	ok = ok && seccomp_load(filter) == 0;
	seccomp_release(filter);
	return ok;
}

static bool limit(unsigned resource, rlim_t value)
{
	struct rlimit bound = {value, value};
	return setrlimit(resource, &bound) == 0;
}

static bool limit_memory(uint64_t bytes)
{
#ifdef HOB_SANITIZED
	bytes = 0;
#endif
	return bytes == 0 || limit(RLIMIT_AS, bytes);
}

bool srv_sandbox_enter(srv_sandbox_policy policy, uint64_t memory_limit, const int *root_fds,
					   uint32_t root_count, srv_sandbox_kind kind, void (*make_threads)(void *user),
					   void *user, srv_sandbox_layers *out, hob_error *err)
{
	enum { ROOTS_MAX = 256, FILES_MAX = 256 };
	srv_sandbox_place places[ROOTS_MAX];
	assert(root_count <= ROOTS_MAX);
	for (uint32_t i = 0; i < root_count; i++)
		places[i] = (srv_sandbox_place){root_fds[i], SRV_SANDBOX_READ};
	*out = (srv_sandbox_layers){0};
	out->rlimits = limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, FILES_MAX + root_count) &&
				   limit(RLIMIT_FSIZE, HOB_LIMIT_OUTPUT_BYTES) && limit(RLIMIT_SIGPENDING, 0);
	out->rlimits = limit_memory(memory_limit) && out->rlimits;
	bool inside = policy != SRV_SANDBOX_OFF;
	if (inside) {
		prctl(PR_SET_DUMPABLE, 0);
		drop_capabilities();
	}
	bool bare = inside && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
	out->landlock =
		bare && enter_landlock(places, root_count, kind == SRV_SANDBOX_FETCHES, &out->landlock_abi);
	if (make_threads)
		make_threads(user);
	out->seccomp = bare && enter_seccomp(kind, make_threads != NULL);
	if (policy == SRV_SANDBOX_REQUIRE && !(out->landlock && out->seccomp && out->rlimits))
		return hob_fail(
			err, IO,
			"the sandbox is required, but this kernel refuses %s%s%s; allow it or set cook.sandbox "
			"to best-effort",
			out->landlock ? "" : "landlock ", out->seccomp ? "" : "seccomp ", out->rlimits ? "" : "rlimits");
	return true;
}

/* ---- external programs */

/* The calls of Debian's Blender when it exports the corpus, their equivalents in its C library and Python,
 * and those of other versions and processors. SECURITY.md explains why each is harmless. */
static const char program_calls[] =
	"read write readv writev pread64 pwrite64 lseek open openat close dup dup2 dup3 pipe pipe2 poll "
	"ppoll ftruncate fadvise64 stat lstat fstat newfstatat statx statfs fstatfs access faccessat "
	"faccessat2 readlink readlinkat getdents getdents64 getcwd chdir mkdir mkdirat rmdir unlink "
	"unlinkat rename renameat renameat2 munmap mremap mprotect madvise brk futex set_robust_list "
	"set_tid_address rseq gettid sched_yield sched_getaffinity arch_prctl rt_sigaction rt_sigprocmask "
	"rt_sigreturn sigaltstack restart_syscall clock_gettime clock_getres gettimeofday time times "
	"nanosleep clock_nanosleep getrandom getpid getppid getuid geteuid getgid getegid uname sysinfo "
	"getrusage getrlimit execve exit exit_group";

/* Calls that are allowed by one argument. */
static const struct {
	int call;
	struct scmp_arg_cmp arg;
} program_uses[] = {
	{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_DUPFD, 0}},
	{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_DUPFD_CLOEXEC, 0}},
	{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_GETFD, 0}},
	{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_SETFD, 0}},
	{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_GETFL, 0}},
	{SCMP_SYS(ioctl), {1, SCMP_CMP_EQ, TCGETS, 0}},
	{SCMP_SYS(ioctl), {1, SCMP_CMP_EQ, TIOCGWINSZ, 0}},
	{SCMP_SYS(ioctl), {1, SCMP_CMP_EQ, FIOCLEX, 0}},
	{SCMP_SYS(prctl), {0, SCMP_CMP_EQ, PR_SET_NAME, 0}},
	{SCMP_SYS(prctl), {0, SCMP_CMP_EQ, PR_CAPBSET_READ, 0}},
	/* Huge and locked pages come from pools shared with other processes. */
	{SCMP_SYS(mmap), {3, SCMP_CMP_MASKED_EQ, MAP_HUGETLB | MAP_LOCKED, 0}},
	{SCMP_SYS(clone), {0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD}},
};

static bool allow_program_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return false;
	bool ok = add_rules(filter, SCMP_ACT_ALLOW, program_calls);
	for (size_t i = 0; i < HOB_COUNT_OF(program_uses); i++)
		ok =
			ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, program_uses[i].call, 1, program_uses[i].arg) == 0;
	/* The process may signal itself and read its own limits. */
	const scmp_datum_t own = (scmp_datum_t)getpid();
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kill), 1, SCMP_A0(SCMP_CMP_EQ, own, 0)) == 0;
	ok = ok &&
		 seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, own, 0)) == 0;
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0, 0),
								SCMP_A2(SCMP_CMP_EQ, 0, 0)) == 0;
	/* The C library then uses clone, whose flags can be checked, and write instead of fallocate. */
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
	ok = ok && seccomp_rule_add(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), SCMP_SYS(fallocate), 0) == 0;
	ok = ok && seccomp_load(filter) == 0;
	seccomp_release(filter);
	return ok;
}

/* Drops all capabilities. Without SECBIT_NOROOT, an execve as root would restore the bounding set's. */
static void keep_no_capability(void)
{
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE, 0, 0, 0);
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	syscall(SYS_capset, &head, none);
}

bool srv_sandbox_enter_program(srv_sandbox_policy policy, uint64_t memory_limit, uint32_t cpu_seconds,
							   const srv_sandbox_place *places, uint32_t place_count, hob_error *err)
{
	/* SIGXCPU, caused by the process itself, precedes SIGKILL, which could have other causes. */
	const struct rlimit cpu = {cpu_seconds, (rlim_t)cpu_seconds + 5};
	bool limits = limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, 256) &&
				  limit(RLIMIT_FSIZE, HOB_LIMIT_SOURCE_BYTES) && setrlimit(RLIMIT_CPU, &cpu) == 0 &&
				  limit_memory(memory_limit);
	if (policy == SRV_SANDBOX_OFF)
		return true;
	int abi = 0;
	keep_no_capability();
	bool private = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
	bool landlock = private && enter_landlock(places, place_count, false, &abi);
	bool seccomp = private && allow_program_calls();
	return policy != SRV_SANDBOX_REQUIRE || (landlock && seccomp && limits) ||
		   hob_fail(err, IO, "the sandbox is required, but this kernel refuses %s%s%s",
					landlock ? "" : "landlock ", seccomp ? "" : "seccomp ", limits ? "" : "rlimits");
}
