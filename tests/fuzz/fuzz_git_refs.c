/* fuzz_git_refs.c - references and configuration of a git repository on any bytes.
 *
 * Links: srv_git_read
 * Run:   fuzz_git_refs -max_len=4096 /tmp/found tests/fuzz/corpus/git_refs
 *
 * Input: HEAD, packed-refs, config, refs/heads/a and refs/heads/a/b or refs/tags/b, separated by a byte 0xFF.
 * Each line of the answer is a name without control characters, in order and once. */
#include "server/git/read/git_refs.h"

#include "core/base/pieces.h"
#include "core/base/text_order.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = {"HEAD", "packed-refs", "config", "refs/heads/a", "refs/tags/b"};
static char folder[] = "/dev/shm/fuzz_git_refs.XXXXXX";

static void remove_folder(void)
{
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++) {
		char path[128];
		snprintf(path, sizeof path, "%s/%s", folder, files[i]);
		unlink(path);
	}
	static const char *const folders[] = {"/refs/heads", "/refs/tags", "/refs", ""};
	for (size_t i = 0; i < HOB_COUNT_OF(folders); i++) {
		char path[128];
		snprintf(path, sizeof path, "%s%s", folder, folders[i]);
		rmdir(path);
	}
}

static int open_folder(void)
{
	static int fd = -1;
	if (fd >= 0)
		return fd;
	if (!mkdtemp(folder) || (fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
		mkdirat(fd, "refs", 0700) != 0 || mkdirat(fd, "refs/heads", 0700) != 0 ||
		mkdirat(fd, "refs/tags", 0700) != 0)
		abort();
	atexit(remove_folder);
	return fd;
}

static void check(hob_str answer)
{
	hob_str rest = answer, before = {0};
	while (rest.len > 0) {
		hob_str line = hob_str_next(&rest, '\n');
		srv_git_id id;
		for (size_t i = 0; i < line.len; i++)
			assert((uint8_t)line.data[i] >= 0x20 && line.data[i] != 0x7F);
		if (hob_str_starts(line, HOB_STR("@ "))) {
			assert(line.data == answer.data);
			continue;
		}
		assert(srv_git_id_parse(hob_str_sub(line, 0, SRV_GIT_ID_TEXT), &id));
		hob_str name = hob_str_sub(line, SRV_GIT_ID_TEXT + 1, line.len);
		assert(name.len > 0 && (before.len == 0 || hob_str_compare(before, name) < 0));
		before = name;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = open_folder();
	hob_error error = {0};
	hob_buf answer = {0};
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++) {
		const uint8_t *end = size > 0 ? memchr(data, 0xFF, size) : NULL;
		size_t used = end ? (size_t)(end - data) : size;
		int file = openat(fd, files[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (file < 0 || write(file, data, used) != (ssize_t)used)
			abort();
		close(file);
		used += end != NULL;
		data += used;
		size -= used;
	}
	if (srv_git_can_read(fd, &error) && srv_git_refs(fd, &answer, &error))
		check(hob_buf_str(&answer));
	hob_buf_release(&answer);
	return 0;
}
