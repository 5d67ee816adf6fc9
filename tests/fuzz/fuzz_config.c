/* Files that people and programs write for the daemon: hob.json and the tokens.
 *
 * Links: srv_config srv_auth
 * Run:   fuzz_config tests/fuzz/corpus/config
 *
 * Input: a byte that chooses (hob.json, tokens), then the file. */
#include "server/auth/tokens.h"
#include "server/config/config.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	if (size < 1)
		return 0;
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
