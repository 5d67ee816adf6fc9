/* Configuration files of the daemon: hob.json, the tokens and .hobignore.
 *
 * Links: srv_config srv_auth
 * Run:   fuzz_config tests/fuzz/corpus/config
 *
 * Input: a byte that selects (hob.json, tokens, .hobignore), then the file. */
#include "server/auth/tokens.h"
#include "server/config/config.h"
#include "server/config/ignore.h"
#include "tests/unit/temp_folder.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_config(const char *path)
{
	srv_config config;
	hob_error err;
	if (!srv_config_load(&config, path, &err)) {
		assert(err.context[0]);
		return;
	}
	hob_buf text = {0};
	for (int key = 0; key < SRV_CONFIG_COUNT; key++)
		(void)srv_config_text(&config, (srv_config_key)key);
	srv_config_print(&config, &text);
	assert(text.failed || hob_utf8_valid(hob_buf_str(&text)));
	hob_buf_release(&text);
	srv_config_release(&config);
}

static void take_tokens(const char *path)
{
	srv_tokens tokens;
	hob_error err;
	if (!srv_tokens_read(path, &tokens, &err))
		return;
	for (uint32_t i = 0; i < tokens.count; i++)
		assert(memchr(tokens.items[i].name, 0, sizeof tokens.items[i].name));
	srv_tokens_release(&tokens);
}

static temp_folder folder;

static void leave(void)
{
	folder_remove(&folder);
}

static void take_ignore(const uint8_t *data, size_t size)
{
	static const char *const before[] = {"*.tmp", NULL};
	const char *const *globs;
	hob_arena arena;
	hob_error err;
	if (!folder.path[0]) {
		setenv("TMPDIR", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", 1);
		folder_make(&folder);
		atexit(leave);
	}
	FILE *file = fopen(folder_at(&folder, ".hobignore"), "w");
	assert(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
	hob_arena_init(&arena, 16 << 20);
	if (srv_ignore_read(&arena, folder.path, before, &globs, &err)) {
		assert(globs[0] == before[0]);
		for (size_t i = 0; globs[i]; i++)
			(void)hob_glob_match(hob_str_of(globs[i]), HOB_STR("props/old/duck.glb"));
	} else {
		assert(err.context[0]);
	}
	hob_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	if (size < 1)
		return 0;
	if (data[0] == 2) {
		take_ignore(data + 1, size - 1);
		return 0;
	}
	int fd = memfd_create("config", MFD_CLOEXEC);
	assert(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (data[0] % 2)
		take_tokens(path);
	else
		take_config(path);
	close(fd);
	return 0;
}
