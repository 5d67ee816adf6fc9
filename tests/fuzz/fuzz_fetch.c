/* fuzz_fetch.c - hob-agent's requests, also those with a file, to a server that answers anything.
 *
 * Links: srv_client hob_hash hob_base Threads::Threads
 * Run:   fuzz_fetch tests/fuzz/corpus/fetch
 *
 * Input: answers, separated as in fuzz_peer.h. An odd size: the file becomes shorter while it is sent. */
#include "fuzz_peer.h"

#include "server/agent/fetch.c"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sys_file {
	uint64_t at, size, read;
};

bool sys_seek(sys_file *file, uint64_t to)
{
	file->at = to;
	return true;
}

int64_t sys_read(sys_file *file, void *out, size_t room)
{
	size_t left = file->at < file->size ? (size_t)(file->size - file->at) : 0;
	left = left < room ? left : room;
	memset(out, 'x', left);
	file->at += left;
	file->read += left;
	return (int64_t)left;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { FILE_BYTES = 300000 };
	char url[64];
	hob_error error;
	hob_buf answer = {0};
	int status = 0;
	if (size > 65536)
		return 0;
	peer_say(data, size);
	snprintf(url, sizeof url, "http://127.0.0.1:%u", peer.port);
	agent_fetch *fetch = agent_fetch_open(url, "token", NULL, &error);
	for (int i = 0; fetch && i < 3; i++) {
		sys_file file = {.size = FILE_BYTES - (size % 2 ? 1 : 0)};
		fetch_request request = {
			.method = i == 1 ? "PUT" : "POST", .target = "/x", .body = HOB_STR("{}"), .silence_ms = 2000};
		if (i == 1)
			request = (fetch_request){.method = "PUT",
									  .target = "/x",
									  .file = &file,
									  .from = size % 1000,
									  .size = FILE_BYTES,
									  .silence_ms = 2000};
		bool ok = agent_fetch_send(fetch, &request, &status, &answer, &error);
		assert(file.read <= 2 * (uint64_t)FILE_BYTES); /* at most one repetition */
		assert(!ok || (status >= 0 && answer.size <= 64u << 20));
	}
	agent_fetch_close(fetch);
	hob_buf_release(&answer);
	peer_hush();
	return 0;
}
