/* fuzz_agent.c - hob-agent with a daemon that answers anything.
 *
 * Links: hob_hash hob_base
 * Run:   fuzz_agent tests/fuzz/corpus/agent
 *
 * Input: answers, each a byte that selects the status and a body up to a NUL; '@' and a digit in a body are
 * the digest of a file. The folder has five files, one of which changes. Nothing but the agent's own files is
 * written, and requests stay requests. */
#include <stdint.h>
#include <time.h>

int agent_program(int argc, char **argv);
static int64_t clock_ms_now;

static int fuzz_clock(clockid_t clock, struct timespec *now)
{
	int64_t ms = clock_ms_now + (clock == CLOCK_REALTIME ? 1700000000000 : 0);
	*now = (struct timespec){ms / 1000, ms % 1000 * 1000000};
	return 0;
}

static int fuzz_sleep(const struct timespec *span, struct timespec *rest)
{
	(void)rest;
	clock_ms_now += span->tv_sec * 1000 + span->tv_nsec / 1000000 + 1;
	return 0;
}

#define main agent_program
/* Time passes only while the agent sleeps. */
#define clock_gettime(clock, now) fuzz_clock(clock, now)
#define nanosleep(...)			  fuzz_sleep(__VA_ARGS__)
#include "server/agent/agent_main.c"
#undef main
#include "core/client/client_events.c"
#include "server/agent/agent_news.c"
#include "server/agent/agent_sync.c"
#include "server/agent/agent_tree.c"
#include "server/agent/watch_poll.c"
#include "server/fs/listing.c"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *path, *text;
} files[] = {{"a.obj", "one"},
			 {"d/b.obj", "two"},
			 {"d/e/c.bin", "three"},
			 {"\xC3\xB6.txt", ""},
			 {"d/same.obj", "one"}};

struct sys_file {
	size_t file, at;
};

static hob_str rest;
static uint32_t sent_lists, looks;

/* ---- the system */

static const char *text_of(size_t file)
{
	return file == 2 && looks % 3 == 0 ? "changed" : files[file].text;
}

sys_kind sys_look(const char *folder, hob_str path, sys_stat *out)
{
	assert(strcmp(folder, "/desk") == 0);
	looks++;
	if (path.len == 0 || hob_str_equal(path, HOB_STR("d")) || hob_str_equal(path, HOB_STR("d/e")))
		return SYS_FOLDER;
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++)
		if (hob_str_equal(path, hob_str_of(files[i].path))) {
			if (out)
				*out =
					(sys_stat){.size = strlen(text_of(i)), .id = i, .mtime_ns = (int64_t)strlen(text_of(i))};
			return SYS_FILE;
		}
	return SYS_NONE;
}

bool sys_list(const char *folder, hob_str path, sys_item *item, void *user)
{
	static const char *const folders[] = {"d", "d/e"};
	(void)folder;
	for (size_t i = 0; i < HOB_COUNT_OF(files) + HOB_COUNT_OF(folders); i++) {
		bool is_folder = i >= HOB_COUNT_OF(files);
		hob_str whole = hob_str_of(is_folder ? folders[i - HOB_COUNT_OF(files)] : files[i].path);
		hob_str name = hob_path_name(whole);
		size_t above = whole.len > name.len ? whole.len - name.len - 1 : 0;
		sys_stat stat = {0};
		if (!hob_str_equal(hob_str_sub(whole, 0, above), path))
			continue;
		sys_kind kind = sys_look("/desk", whole, &stat);
		item(user, name, kind, &stat, NULL);
	}
	return true;
}

sys_file *sys_open(const char *folder, hob_str path, bool *locked)
{
	(void)folder;
	*locked = false;
	for (size_t i = 0; i < HOB_COUNT_OF(files); i++)
		if (hob_str_equal(path, hob_str_of(files[i].path))) {
			sys_file *file = malloc(sizeof *file);
			if (file)
				*file = (sys_file){i, 0};
			return file;
		}
	return NULL;
}

bool sys_stat_open(sys_file *file, sys_stat *out)
{
	size_t size = strlen(text_of(file->file));
	*out = (sys_stat){.size = size, .id = file->file, .mtime_ns = (int64_t)size};
	return true;
}

bool sys_seek(sys_file *file, uint64_t to)
{
	file->at = (size_t)to;
	return to <= strlen(text_of(file->file));
}

int64_t sys_read(sys_file *file, void *out, size_t room)
{
	const char *text = text_of(file->file);
	size_t left = file->at < strlen(text) ? strlen(text) - file->at : 0;
	left = left < room ? left : room;
	memcpy(out, text + (left ? file->at : 0), left);
	file->at += left;
	return (int64_t)left;
}

void sys_close(sys_file *file)
{
	free(file);
}

void sys_who(char *out, size_t room)
{
	snprintf(out, room, "anna@PC7");
}

bool sys_state_folder(char *out, size_t room)
{
	snprintf(out, room, "/state");
	return true;
}

bool sys_read_whole(const char *path, hob_buf *out)
{
	(void)path, (void)out;
	return false;
}

bool sys_replace(const char *path, hob_bytes bytes)
{
	(void)bytes;
	assert(strncmp(path, "/state/", 7) == 0);
	return true;
}

bool sys_lock(const char *path)
{
	(void)path;
	return true;
}

bool sys_whole_path(const char *path, char *out, size_t room)
{
	snprintf(out, room, "%s", path);
	return true;
}

void sys_begin(int *argc, char ***argv)
{
	(void)argc, (void)argv;
}

/* ---- the daemon */

agent_fetch *agent_fetch_open(const char *url, const char *token, const char *ca_file, hob_error *err)
{
	(void)url, (void)token, (void)ca_file, (void)err;
	return NULL;
}

void agent_fetch_close(agent_fetch *fetch)
{
	(void)fetch;
}

static void put_body(hob_buf *out, hob_str body)
{
	for (size_t i = 0; i < body.len; i++) {
		if (body.data[i] != '@' || i + 1 == body.len) {
			hob_buf_put(out, body.data + i, 1);
			continue;
		}
		char text[HOB_SHA256_TEXT + 1];
		hob_hasher hasher;
		const char *of = files[(uint8_t)body.data[++i] % HOB_COUNT_OF(files)].text;
		hob_hasher_init(&hasher);
		hob_hasher_put(&hasher, of, strlen(of));
		hob_sha256 digest = hob_hasher_finish(&hasher);
		hob_sha256_text(&digest, text);
		hob_buf_put(out, text, HOB_SHA256_TEXT);
	}
}

bool agent_fetch_send(agent_fetch *fetch, const fetch_request *request, int *status, hob_buf *answer,
					  hob_error *err)
{
	static const int statuses[] = {200, 201, 204, 400, 401, 403, 404, 409, 413, 429, 500, 503, 507};
	(void)fetch;
	for (const char *c = request->target; *c; c++)
		assert((uint8_t)*c > ' ' && (uint8_t)*c < 0x7F);
	assert(!request->file || request->from <= request->size);
	for (size_t i = 0; i < request->body.len; i++)
		assert((uint8_t)request->body.data[i] >= ' ');
	sent_lists += strstr(request->target, "/changes") != NULL;
	hob_buf_clear(answer);
	if (rest.len == 0)
		return hob_fail(err, IO, "no answer");
	uint8_t kind = (uint8_t)rest.data[0];
	size_t end = hob_str_find(rest, (hob_str){"", 1}, 1);
	end = end == SIZE_MAX ? rest.len : end;
	put_body(answer, hob_str_sub(rest, 1, end));
	rest = hob_str_sub(rest, end + 1, rest.len);
	if (kind % 16 == 15)
		return hob_fail(err, IO, "cut off");
	*status = statuses[kind % HOB_COUNT_OF(statuses)];
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool quiet;
	hob_error error;
	if (size < 2 || size > 65536)
		return 0;
	if (!quiet)
		quiet = freopen("/dev/null", "w", stdout) != NULL;
	agent a = {.folder = "/desk",
			   .state = "/state/0",
			   .who = "anna@PC7",
			   .options = {.root = "art",
						   .base = "",
						   .url = "http://daemon",
						   .once = true,
						   .yes = data[0] & 1,
						   .dry_run = data[0] & 2}};
	clock_ms_now = 0;
	looks = 0;
	rest = (hob_str){(const char *)data + 1, size - 1};
	if (agent_tree_open(&a, &error)) {
		agent_tree_touch(&a, (hob_str){0});
		(void)run_once(&a);
		hob_buf since = {0};
		for (int i = 0; i < 4 && rest.len > 0; i++)
			wait_for_events(&a, NULL, &since);
		hob_buf_release(&since);
		agent_tree_save(&a);
	}
	agent_tree_release(&a.tree);
	return 0;
}
