/* fuzz_git_pack.c - hob-git's answers about an object base whose pack, index and loose object hold any bytes.
 *
 * Links: PkgConfig::libgit2 PkgConfig::libdeflate srv_git_read
 * Run:   fuzz_git_pack -max_len=4096 -malloc_limit_mb=1000000 /tmp/found tests/fuzz/corpus/git_pack
 *
 * Input: a byte that selects the form. 0: a pack after its head; the next eight bytes are places of its four
 * objects. 1: an index. 2: a loose object. Digests of packs and indexes are not checked by libgit2 before it
 * unpacks, so that they need not fit. */
#include <sys/time.h>
#include <sys/wait.h>

int hob_git_main(int argc, char **argv);
static int limit_soon(__itimer_which_t which, const struct itimerval *limit, struct itimerval *before);
#define main	  hob_git_main
#define setitimer limit_soon
#include "server/git/child/git_main.c"
#undef main
#undef setitimer

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The program's; this process has none. */
bool srv_sandbox_enter(srv_sandbox_policy policy, uint64_t memory_limit, const int *root_fds,
					   uint32_t root_count, srv_sandbox_kind kind, void (*make_threads)(void *user),
					   void *user, srv_sandbox_layers *out, hob_error *err)
{
	(void)policy, (void)memory_limit, (void)root_fds, (void)root_count, (void)kind, (void)make_threads;
	(void)user, (void)out, (void)err;
	abort();
}

enum { OBJECTS = 4, FAN = 256, PLACES = 2 * OBJECTS };

static char base[] = "/dev/shm/fuzz_git_pack.XXXXXX";

static void remove_base(void)
{
	char command[96];
	snprintf(command, sizeof command, "rm -rf %s", base);
	(void)!system(command);
}

/* Sizes that a pack claims are refused by malloc here, and by RLIMIT_AS in hob-git. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=4096";
}

/* hob-git's timer ends its process at an object whose unpacking never ends: a delta
 * of a pack whose bases are a circle (libgit2 1.5). Here it does so after 50 ms, in a process that
 * tries each input first; what ends is repeated in this one, where the fuzzer sees the branches. */
static bool tries;

static int limit_soon(__itimer_which_t which, const struct itimerval *limit, struct itimerval *before)
{
	static const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
	(void)limit;
	return tries ? setitimer(which, &soon, before) : 0;
}

static void write_file(const char *name, const hob_buf *bytes)
{
	char path[160];
	snprintf(path, sizeof path, "%s/objects/%s", base, name);
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes->data, bytes->size) != (ssize_t)bytes->size)
		abort();
	close(fd);
}

static void put_u32(hob_buf *out, uint32_t value)
{
	uint8_t bytes[] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};
	hob_buf_put(out, bytes, sizeof bytes);
}

static srv_git_id id_of(uint32_t object)
{
	srv_git_id id;
	memset(id.bytes, (int)(0x11 * (object + 1)), sizeof id.bytes);
	return id;
}

/* Version 2: fan-out, names, checksums, places, and the digests of pack and index. */
static void put_index(hob_buf *out, const uint8_t *places, uint32_t pack_size)
{
	static const uint8_t head[] = {0xFF, 't', 'O', 'c', 0, 0, 0, 2}, zeros[40];
	hob_buf_put(out, head, sizeof head);
	for (uint32_t first = 0; first < FAN; first++) {
		uint32_t below = first / 0x11;
		put_u32(out, below < OBJECTS ? below : OBJECTS);
	}
	for (uint32_t i = 0; i < OBJECTS; i++) {
		srv_git_id id = id_of(i);
		hob_buf_put(out, id.bytes, sizeof id.bytes);
	}
	hob_buf_put(out, zeros, sizeof(uint32_t) * OBJECTS);
	for (uint32_t i = 0; i < OBJECTS; i++)
		put_u32(out, 12 + hob_load_u16(places + 2 * i) % pack_size);
	hob_buf_put(out, zeros, sizeof zeros);
}

static void put_pack(hob_buf *out, const uint8_t *data, size_t size)
{
	static const uint8_t zeros[20];
	hob_buf_put_str(out, HOB_STR("PACK"));
	put_u32(out, 2);
	put_u32(out, OBJECTS);
	hob_buf_put(out, data, size);
	hob_buf_put(out, zeros, sizeof zeros);
}

static void ask_all(void)
{
	for (uint32_t i = 0; i < OBJECTS; i++) {
		srv_git_id id = id_of(i), other = id_of((i + 1) % OBJECTS);
		srv_git_hex text = srv_git_id_text(&id);
		hob_buf out = {0};
		hob_error error = {0};
		git_odb_object_free(read_object(&id, GIT_OBJECT_BLOB, 1 << 20, &error));
		error = (hob_error){0};
		(void)!put_log(&id, 4, i % 2 ? HOB_STR("d/d/a.obj//a.obj") : (hob_str){0}, &out, &error);
		error = (hob_error){0};
		(void)!put_diff(hob_str_of(text.text), hob_str_of(srv_git_id_text(&other).text), (hob_str){0}, &out,
						&error);
		error = (hob_error){0};
		(void)!put_found(hob_str_of(text.text), &out, &error);
		hob_buf_release(&out);
	}
}

static void begin(void)
{
	static bool begun;
	char path[160];
	if (begun)
		return;
	begun = true;
	git_libgit2_init();
	/* Names of objects are no digests here: what is unpacked is also parsed. */
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	if (!mkdtemp(base))
		abort();
	atexit(remove_base);
	git_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static const char *const folders[] = {"", "/pack", "/11"};
	for (size_t i = 0; i < HOB_COUNT_OF(folders); i++) {
		snprintf(path, sizeof path, "%s/objects%s", base, folders[i]);
		if (mkdir(path, 0700) != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t usual[PLACES];
	static const char single[] = "11/11111111111111111111111111111111111111";
	hob_buf pack = {0}, index = {0}, object = {0};
	uint8_t form = size > 0 ? data[0] % 3 : 0;
	if (size <= 1 + PLACES)
		return 0;
	begin();
	data++;
	size--;
	if (form == 0) {
		put_pack(&pack, data + PLACES, size - PLACES);
		put_index(&index, data, (uint32_t)(size - PLACES));
	} else {
		put_pack(&pack, usual, sizeof usual);
		hob_buf_put(form == 1 ? &index : &object, data, size);
	}
	write_file("pack/pack-1111111111111111111111111111111111111111.pack", &pack);
	write_file("pack/pack-1111111111111111111111111111111111111111.idx", &index);
	if (form == 2)
		write_file(single, &object);
	pid_t child = fork();
	int status = 0;
	tries = child == 0;
	while (child != 0 && waitpid(child, &status, 0) != child)
		if (errno != EINTR) /* the fuzzer's own timer */
			abort();
	if ((!WIFSIGNALED(status) || WTERMSIG(status) != SIGPROF) && open_objects(base))
		ask_all();
	if (child == 0)
		_exit(0);
	git_odb_free(odb);
	hob_buf_release(&loose.data);
	odb = NULL;
	if (form == 2) {
		char path[160];
		snprintf(path, sizeof path, "%s/objects/%s", base, single);
		unlink(path);
	}
	hob_buf_release(&pack);
	hob_buf_release(&index);
	hob_buf_release(&object);
	return 0;
}
