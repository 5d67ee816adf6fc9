/* A client's change of settings, applied to any sidecar: the result is valid, and the same change again
 * changes nothing.
 *
 * Links: srv_settings
 * Run:   fuzz_patch tests/fuzz/corpus/patch
 *
 * Input: the sidecar, NUL, the patch. */
#include "core/settings/settings.h"
#include "server/fs/transfer.h"
#include "server/settings/sidecar.h"
#include "tests/unit/temp_folder.h"

#include <assert.h>
#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 64 << 10 };
static const char name[] = "a.obj.cook.json";
static temp_folder folder;
static int root = -1;

static void leave(void)
{
	folder_remove(&folder);
}

static size_t read_file(char *out)
{
	int fd = openat(root, name, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, out, 4 * TEXT_MAX) : 0;
	assert(size >= 0);
	if (fd >= 0)
		close(fd);
	return (size_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char once[4 * TEXT_MAX], twice[4 * TEXT_MAX];
	const uint8_t *cut = memchr(data, 0, size);
	if (!cut || size > TEXT_MAX)
		return 0;
	if (root < 0) {
		setenv("TMPDIR", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", 1);
		folder_make(&folder);
		atexit(leave);
		assert((root = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
	}
	size_t old = (size_t)(cut - data);
	unlinkat(root, name, 0);
	if (old > 0) {
		int fd = openat(root, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert(fd >= 0 && srv_write_all(fd, data, old) && close(fd) == 0);
	}
	char tag[SRV_SIDECAR_TAG];
	hob_error err = {0};
	hob_str file = hob_str_of(name), patch = {(const char *)cut + 1, size - old - 1};
	srv_sidecar_tag(old > 0, (hob_str){(const char *)data, old}, tag);
	srv_sidecar_result result = srv_sidecar_patch(root, file, hob_str_of(tag), patch, &err);
	assert(result != SRV_SIDECAR_CHANGED);
	size_t length = read_file(once);
	if (result != SRV_SIDECAR_DONE) {
		assert(err.context[0] && length == old && memcmp(once, data, old) == 0);
		return 0;
	}
	hob_settings settings;
	hob_settings_init(&settings);
	assert(hob_settings_overlay(&settings, (hob_str){once, length}, file, &err));
	assert(srv_sidecar_patch(root, file, HOB_STR("*"), patch, &err) == SRV_SIDECAR_DONE);
	assert(read_file(twice) == length && memcmp(once, twice, length) == 0);
	return 0;
}
