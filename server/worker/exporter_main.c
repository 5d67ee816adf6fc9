/* hob-exporter: runs an external editor (Blender) in a sandbox, to convert a file that only the editor
 * understands to binary glTF. exporter.h describes its arguments. It enters the sandbox and becomes the
 * editor; its own code reads no foreign bytes. Ends with 2 if it was not started by hob, with 3 if the editor
 * could not be started. 'hob-exporter mounts FOLDER' ends with 0 if the kernel allows own_mounts.h. */
#include "exporter.h"
#include "own_mounts.h"
#include "protocol.h"
#include "sandbox.h"

#include "blend_export_script.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BAD_CALL = 2, NOT_STARTED = 3, PLACES_MAX = 24, LOG_SIZE = 64 << 10 };

/* The folders of a program, its libraries and its scripts, and files that every process reads. */
static const struct {
	const char *path;
	srv_sandbox_access access;
} system_places[] = {
	{"/usr", SRV_SANDBOX_RUN},
	{"/lib", SRV_SANDBOX_RUN},
	{"/lib64", SRV_SANDBOX_RUN},
	{"/bin", SRV_SANDBOX_RUN},
	{"/etc/ld.so.cache", SRV_SANDBOX_READ},
	{"/etc/alternatives", SRV_SANDBOX_RUN},
	{"/etc/fonts", SRV_SANDBOX_READ},
	{"/etc/localtime", SRV_SANDBOX_READ},
	{"/etc/python3", SRV_SANDBOX_READ},
	{"/etc/python3.11", SRV_SANDBOX_READ},
	{"/var/cache/fontconfig", SRV_SANDBOX_READ},
	{"/proc/cpuinfo", SRV_SANDBOX_READ},
	{"/proc/meminfo", SRV_SANDBOX_READ},
	{"/proc/self", SRV_SANDBOX_READ},
	{"/sys/devices/system/cpu", SRV_SANDBOX_READ},
	{"/sys/devices/system/node", SRV_SANDBOX_READ},
	{"/dev/null", SRV_SANDBOX_WRITE},
	{"/dev/urandom", SRV_SANDBOX_READ},
};

static bool name_of(int fd, char path[PATH_MAX])
{
	char link[32];
	struct stat info;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t len = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) ? readlink(link, path, PATH_MAX - 1) : -1;
	if (len <= 0)
		return false;
	path[len] = 0;
	return true;
}

/* The folder and the log become those of a new file system, which the daemon gets. The log has its space, so
 * that the program can tell that there is no more. */
static bool mount_folder(const srv_exporter_ask *ask, const char *folder)
{
	srv_frame frame = {.type = SRV_FRAME_EXPORTED};
	hob_error error;
	srv_own_fd fd = srv_own_mounts_enter(folder, ask->memory_limit, SRV_OWN_MOUNTS_FILES);
	srv_own_fd log = fd < 0 ? -1 : openat(fd, "log", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return log >= 0 && fallocate(log, FALLOC_FL_KEEP_SIZE, 0, LOG_SIZE) == 0 &&
		   srv_frame_send(SRV_EXPORTER_ASK, &frame, NULL, fd, &error) && dup2(fd, SRV_EXPORTER_FOLDER) >= 0 &&
		   dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0;
}

static bool save_script(int folder)
{
	srv_own_fd fd = openat(folder, "export.py", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t size = sizeof blend_export_script - 1;
	return fd >= 0 && write(fd, blend_export_script, size) == (ssize_t)size;
}

static bool shut_in(const srv_exporter_ask *ask, const char *program, hob_error *err)
{
	srv_sandbox_place places[PLACES_MAX];
	uint32_t count = 0;
	char folder[PATH_MAX];
	for (size_t i = 0; i < HOB_COUNT_OF(system_places); i++)
		places[count++] =
			(srv_sandbox_place){open(system_places[i].path, O_PATH | O_CLOEXEC), system_places[i].access};
	if (realpath(program, folder)) {
		*strrchr(folder, '/') = 0;
		places[count++] =
			(srv_sandbox_place){folder[0] ? open(folder, O_PATH | O_CLOEXEC) : -1, SRV_SANDBOX_RUN};
	}
	places[count++] = (srv_sandbox_place){SRV_EXPORTER_ROOT, SRV_SANDBOX_READ};
	places[count++] = (srv_sandbox_place){SRV_EXPORTER_FOLDER, SRV_SANDBOX_WRITE};
	return srv_sandbox_enter_program((srv_sandbox_policy)ask->sandbox, ask->memory_limit, ask->cpu_seconds,
									 places, count, err);
}

static int become_blender(const char *program, const srv_exporter_ask *ask, const char *root,
						  const char *folder)
{
	static const char *const private_folders[] = {
		"HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "BLENDER_USER_RESOURCES"};
	char script[PATH_MAX + 16], source[PATH_MAX * 2];
	snprintf(script, sizeof script, "%s/export.py", folder);
	snprintf(source, sizeof source, "%s/%s", root, ask->path);
	clearenv();
	setenv("PATH", "/usr/bin:/bin", 1);
	setenv("LANG", "C.UTF-8", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	for (size_t i = 0; i < HOB_COUNT_OF(private_folders); i++)
		setenv(private_folders[i], folder, 1);
	const char *const arguments[] = {program,
									 "--background",
									 "-noaudio",
									 "--factory-startup",
									 "--disable-autoexec",
									 "--python-exit-code",
									 "4",
									 "--python",
									 script,
									 "--",
									 source,
									 root,
									 folder,
									 ask->apply_modifiers ? "1" : "0",
									 ask->actions,
									 ask->collection,
									 NULL};
	execv(program, (char **)(uintptr_t)arguments);
	fprintf(stderr, "'%s' could not be started: %s\n", program, strerror(errno));
	return NOT_STARTED;
}

int main(int argc, char **argv)
{
	srv_exporter_ask ask;
	char root[PATH_MAX], folder[PATH_MAX];
	if (argc == 3 && strcmp(argv[1], "mounts") == 0)
		return srv_own_mounts_enter(argv[2], LOG_SIZE, SRV_OWN_MOUNTS_FILES) >= 0 ? 0 : NOT_STARTED;
	if (argc != 2 || read(SRV_EXPORTER_ASK, &ask, sizeof ask) != sizeof ask ||
		!name_of(SRV_EXPORTER_ROOT, root) || !name_of(SRV_EXPORTER_FOLDER, folder)) {
		fprintf(stderr, "hob-exporter is started by hob; run 'hob cook' or 'hob serve' instead\n");
		return BAD_CALL;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, (int)ask.nice);
	umask(077);
	hob_error error = {0};
	if (ask.mounts && !mount_folder(&ask, folder)) {
		fprintf(stderr, "its mounts cannot be made: %s\n", strerror(errno));
		raise(SIGKILL); /* the machine lacks something now: the cook is interrupted, and tried again */
	}
	close(SRV_EXPORTER_ASK);
	const char *program = argv[1];
	if (!save_script(SRV_EXPORTER_FOLDER) || fchdir(SRV_EXPORTER_FOLDER) != 0 ||
		!shut_in(&ask, program, &error)) {
		fprintf(stderr, "%s\n", error.context[0] ? error.context : "the private folder cannot be used");
		return NOT_STARTED;
	}
	fcntl(SRV_EXPORTER_ROOT, F_SETFD, FD_CLOEXEC);
	fcntl(SRV_EXPORTER_FOLDER, F_SETFD, FD_CLOEXEC);
	return become_blender(program, &ask, root, folder);
}
