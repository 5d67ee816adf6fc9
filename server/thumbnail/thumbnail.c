#include "thumbnail.h"

#include "../fs/clock.h"
#include "../worker/process_state.h"
#include "../worker/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	FDS = 2 * (4 + SRV_THUMBNAIL_TEXTURES),
	CPU_MS = 30000,
	WALL_MS = 180000,
	PNG_MAX = 8 << 20,
	LOOK_MS = 100,
	END_MS = 5
};

static const srv_thumbnail_view views[] = {{"corner", 29, 18}, {"front", 0, 0},	 {"back", 180, 0},
										   {"left", -90, 0},   {"right", 90, 0}, {"top", 0, 89},
										   {"bottom", 0, -89}};

const srv_thumbnail_view *srv_thumbnail_view_at(uint32_t index)
{
	return &views[index < HOB_COUNT_OF(views) ? index : 0];
}

/* The input of a picture: one cook or two. */
typedef struct task {
	const srv_thumbnail_input *inputs;
	int count;
	const srv_thumbnail_view *view;
	const char *clip;
} task;

hob_sha256 srv_thumbnail_key(const srv_thumbnail_input *input)
{
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob thumbnail 3");
	hob_key_u64(&keyer, "size", input->size);
	hob_key_digest(&keyer, "meshes", &input->meshes);
	hob_key_digest(&keyer, "materials", &input->materials);
	hob_key_digest(&keyer, "scene", &input->scene);
	if (input->has_animations)
		hob_key_digest(&keyer, "animations", &input->animations);
	return hob_keyer_finish(&keyer);
}

typedef struct open_blobs {
	int fds[FDS];
	uint32_t count;
} open_blobs;

static bool add_blob(open_blobs *blobs, srv_store *store, const hob_sha256 *digest)
{
	uint64_t size;
	int fd = srv_blob_open(store, digest, &size);
	if (fd >= 0)
		blobs->fds[blobs->count++] = fd;
	return fd >= 0;
}

static bool open_all(open_blobs *blobs, srv_store *store, const srv_thumbnail_input *input)
{
	bool ok = add_blob(blobs, store, &input->meshes) && add_blob(blobs, store, &input->materials) &&
			  add_blob(blobs, store, &input->scene) &&
			  (!input->has_animations || add_blob(blobs, store, &input->animations));
	for (uint32_t i = 0; ok && i < input->texture_count; i++)
		ok = add_blob(blobs, store, &input->textures[i]);
	return ok;
}

static void close_all(open_blobs *blobs)
{
	while (blobs->count > 0)
		close(blobs->fds[--blobs->count]);
}

static int add_inputs(const srv_thumbnail_input *input, char (*names)[HOB_SHA256_TEXT + 1],
					  char (*numbers)[16], char **argv)
{
	snprintf(numbers[0], 16, "%d", input->has_animations);
	snprintf(numbers[1], 16, "%u", input->texture_count);
	argv[0] = numbers[0];
	argv[1] = numbers[1];
	for (uint32_t i = 0; i < input->texture_count; i++) {
		hob_sha256_text(&input->textures[i], names[i]);
		argv[2 + i] = names[i];
	}
	return 2 + (int)input->texture_count;
}

/* Starts the process; moves all descriptors above the child's numbers first, so that none overwrites
 * another. */
static bool spawn(const char *path, srv_sandbox_policy sandbox, const task *t, const open_blobs *blobs,
				  int out, pid_t *pid, hob_error *err)
{
	static const size_t words = 2 * (SRV_THUMBNAIL_TEXTURES + 2) + 7;
	char(*names)[HOB_SHA256_TEXT + 1] = calloc(2 * SRV_THUMBNAIL_TEXTURES, sizeof *names), numbers[8][16];
	char **argv = calloc(words, sizeof *argv);
	int fds[2 + FDS] = {out, -1}, count = 6;
	bool ok = names && argv;
	if (ok) {
		const int values[4] = {(int)sandbox, (int)t->inputs[0].size, t->view->yaw, t->view->pitch};
		argv[0] = (char *)(uintptr_t)path;
		for (int i = 0; i < 4; i++) {
			snprintf(numbers[i], sizeof numbers[i], "%d", values[i]);
			argv[1 + i] = numbers[i];
		}
		argv[5] = (char *)(uintptr_t)t->clip;
		for (int i = 0; i < t->count; i++)
			count += add_inputs(&t->inputs[i], names + i * SRV_THUMBNAIL_TEXTURES, numbers + 4 + 2 * i,
								argv + count);
		memcpy(fds + 2, blobs->fds, blobs->count * sizeof *fds);
		ok = srv_spawn(argv, fds, 2 + blobs->count, pid, err);
	} else {
		ok = hob_fail(err, MEMORY, "no memory left for a picture");
	}
	free(names);
	free(argv);
	return ok;
}

/* Limits CPU time, since a busy machine delays the drawing; the wall clock has a looser limit. */
static bool is_late(clockid_t drawing, int64_t begun)
{
	return srv_clock_ms(drawing) > CPU_MS || srv_clock_ms(CLOCK_MONOTONIC) - begun > WALL_MS;
}

/* Reads the picture until the process closes its output and ends. One that does not end is late, too. */
static bool collect(int from, pid_t pid, const atomic_bool *stop, hob_buf *png, int *status, hob_error *err)
{
	int64_t begun = srv_clock_ms(CLOCK_MONOTONIC);
	clockid_t drawing = CLOCK_MONOTONIC;
	if (clock_getcpuclockid(pid, &drawing) != 0)
		return hob_fail(err, CRASHED, "the picture's process ended before it drew");
	uint8_t piece[16384];
	for (bool open = true;;) {
		struct pollfd wait = {.fd = open ? from : -1, .events = POLLIN};
		int ready = poll(&wait, 1, open ? LOOK_MS : END_MS);
		if (atomic_load(stop) || is_late(drawing, begun))
			return hob_fail(err, TIMEOUT, "the picture took longer than %d s", CPU_MS / 1000);
		if (!open && waitpid(pid, status, WNOHANG) == pid)
			return true;
		if (ready <= 0)
			continue;
		ssize_t got = read(from, piece, sizeof piece);
		if (got < 0 && errno == EINTR)
			continue;
		open = got > 0;
		if (!open)
			continue;
		if (png->size + (size_t)got > PNG_MAX)
			return hob_fail(err, REJECTED, "the picture is larger than %d bytes", PNG_MAX);
		hob_buf_put(png, piece, (size_t)got);
	}
}

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_picture(const hob_buf *png, uint32_t width, uint32_t size)
{
	static const uint8_t begin[16] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',
									  0,	0,	 0,	  13,  'I',	 'H',  'D',	 'R'};
	static const uint8_t end[12] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
	return !png->failed && png->size > 64 && memcmp(png->data, begin, sizeof begin) == 0 &&
		   big_endian(png->data + 16) == width && big_endian(png->data + 20) == size &&
		   memcmp(png->data + png->size - sizeof end, end, sizeof end) == 0;
}

static bool draw(const char *path, srv_sandbox_policy sandbox, srv_store *store, const task *t,
				 const atomic_bool *stop, hob_buf *png, hob_error *err)
{
	open_blobs blobs = {.count = 0};
	int ends[2] = {-1, -1}, status = 0;
	pid_t pid = 0;
	for (int i = 0; i < t->count; i++)
		if (!open_all(&blobs, store, &t->inputs[i])) {
			close_all(&blobs);
			return hob_fail(err, IO, "a blob of the model is not in the store");
		}
	bool ok = pipe2(ends, O_CLOEXEC) == 0 || hob_fail(err, IO, "no pipe for a picture: %s", strerror(errno));
	ok = ok && spawn(path, sandbox, t, &blobs, ends[1], &pid, err);
	if (ends[1] >= 0)
		close(ends[1]);
	close_all(&blobs);
	bool whole = ok && collect(ends[0], pid, stop, png, &status, err);
	if (ends[0] >= 0)
		close(ends[0]);
	if (!ok)
		return false;
	if (!whole) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
		return false;
	}
	if (WIFSIGNALED(status)) {
		hob_error death = {0};
		srv_describe_death(status, 0, UINT64_MAX, false, &death);
		return death.code == HOB_ERR_INTERRUPTED
				   ? hob_fail(err, INTERRUPTED, "drawing was ended from outside (signal %d)",
							  WTERMSIG(status))
				   : hob_fail(err, CRASHED, "drawing the model ended with signal %d", WTERMSIG(status));
	}
	if (WEXITSTATUS(status) != 0)
		return hob_fail(err, UNSUPPORTED, "the picture of this model failed (status %d)",
						WEXITSTATUS(status));
	uint32_t size = t->inputs[0].size, width = t->count > 1 ? 3 * size : size;
	return is_picture(png, width, size) ||
		   hob_fail(err, REJECTED, "the result is not a picture of %u pixels", size);
}

bool srv_thumbnail_draw(const char *path, srv_sandbox_policy sandbox, srv_store *store,
						const srv_thumbnail_input *input, const atomic_bool *stop, hob_buf *png,
						hob_error *err)
{
	return draw(path, sandbox, store, &(task){input, 1, views, ""}, stop, png, err);
}

bool srv_thumbnail_draw_pair(const char *path, srv_sandbox_policy sandbox, srv_store *store,
							 const srv_thumbnail_input pair[2], const srv_thumbnail_view *view,
							 const char *clip, const atomic_bool *stop, hob_buf *png, hob_error *err)
{
	return draw(path, sandbox, store, &(task){pair, 2, view, clip}, stop, png, err);
}
