/* hob-thumbnail: draws one cooked model into a small picture; thumbnail.h describes its arguments. It opens
 * the graphics library first, then enters its sandbox, and only then reads the model. Ends with 0 and a PNG
 * on stdout, or with 2 (not started by hob), 3 (no OpenGL ES), 4 (nothing to draw, or no such clip). */
#include "../worker/sandbox.h"
#include "drawn.h"

#include "../../core/runtime/draw/draw_model.h"
#include "../../core/runtime/draw/draw_surface.h"

#include <GLES3/gl3.h>
#include <meshoptimizer.h>
#include <signal.h>
#include <stb/stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_FD = 3, FINER = 2, SIZE_MAX_PIXELS = 512, BAD_CALL = 2, NO_GRAPHICS = 3, NOTHING = 4 };
/* Values of draw_view.pixels. */
static const float FINEST = 1, COARSEST = 1e9f;

typedef struct textures {
	char **names;
	int count, first_fd;
} textures;

/* One model: its descriptors, and the objects to draw it. */
typedef struct given {
	int first_fd;
	bool has_animations;
	textures textures;
	hob_rt_asset *asset;
	hob_rt_instance *instance;
	draw_model *model;
} given;

typedef struct camera {
	int size;
	float yaw, pitch;
	const char *clip; /* empty: at rest */
} camera;

static hob_rt_blob map(int fd)
{
	struct stat info;
	if (fstat(fd, &info) != 0 || info.st_size <= 0)
		return (hob_rt_blob){NULL, 0};
	void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return at == MAP_FAILED ? (hob_rt_blob){NULL, 0} : (hob_rt_blob){at, (size_t)info.st_size};
}

static hob_rt_blob copy(int fd)
{
	hob_rt_blob mapped = map(fd), out = {NULL, 0};
	if (!mapped.data)
		return out;
	out.data = malloc(mapped.size);
	if (out.data) {
		memcpy((void *)(uintptr_t)out.data, mapped.data, mapped.size);
		out.size = mapped.size;
	}
	munmap((void *)(uintptr_t)mapped.data, mapped.size);
	return out;
}

static hob_rt_blob find(void *user, const hob_rt_asset *asset, uint32_t index)
{
	const textures *t = user;
	char name[65];
	for (int i = 0; i < 32; i++)
		snprintf(name + i * 2, 3, "%02x", hob_rt_image(asset, index)->cooked_sha256[i]);
	for (int i = 0; i < t->count; i++)
		if (strcmp(name, t->names[i]) == 0)
			return copy(t->first_fd + i);
	return (hob_rt_blob){NULL, 0};
}

static bool decode(void *user, uint32_t codec, uint32_t count, uint32_t stride, const void *stored,
				   size_t size, void *out)
{
	(void)user;
	if (codec == HOB_PK_CODEC_MESHOPT_VERTEX)
		return meshopt_decodeVertexBuffer(out, count, stride, stored, size) == 0;
	if (codec == HOB_PK_CODEC_MESHOPT_INDEX)
		return meshopt_decodeIndexBuffer(out, count, stride, stored, size) == 0;
	return codec == HOB_PK_CODEC_MESHOPT_SEQUENCE &&
		   meshopt_decodeIndexSequence(out, count, stride, stored, size) == 0;
}

/* Averages FINER x FINER pixels, with colours weighted by coverage. */
static void shrink(const unsigned char *from, int size, unsigned char *to)
{
	for (int y = 0; y < size; y++)
		for (int x = 0; x < size; x++) {
			unsigned sum[4] = {0, 0, 0, 0};
			for (int k = 0; k < FINER * FINER; k++) {
				const unsigned char *p =
					from + (((size_t)y * FINER + (size_t)(k / FINER)) * (size_t)size * FINER +
							(size_t)x * FINER + (size_t)(k % FINER)) *
							   4;
				for (int c = 0; c < 3; c++)
					sum[c] += (unsigned)p[c] * p[3];
				sum[3] += p[3];
			}
			unsigned char *q = to + ((size_t)y * (size_t)size + (size_t)x) * 4;
			for (int c = 0; c < 3; c++)
				q[c] = (unsigned char)(sum[3] ? (sum[c] + sum[3] / 2) / sum[3] : 0);
			q[3] = (unsigned char)(sum[3] / (FINER * FINER));
		}
}

static void put(void *user, void *bytes, int size)
{
	bool *ok = user;
	const char *at = bytes;
	while (*ok && size > 0) {
		ssize_t wrote = write(STDOUT_FILENO, at, (size_t)size);
		*ok = wrote > 0;
		at += wrote;
		size -= (int)wrote;
	}
}

static bool save(const unsigned char *pixels, int width, int height)
{
	bool ok = true;
	return stbi_write_png_to_func(put, &ok, width, height, 4, pixels, width * 4) != 0 && ok;
}

static bool open_given(given *g, const draw_environment *room)
{
	hob_rt_files files = {map(g->first_fd), map(g->first_fd + 1), map(g->first_fd + 2), {NULL, 0}};
	hob_rt_options options = {.decode = decode, .trust_indices = true};
	if (g->has_animations)
		files.animations = map(g->first_fd + 3);
	if (!hob_rt_open(&files, &options, &g->asset, NULL) ||
		!hob_rt_instance_open(g->asset, &g->instance, NULL))
		return false;
	g->model = hob_draw_model_open(g->asset, find, &g->textures);
	hob_rt_update(g->instance);
	if (g->model)
		hob_draw_model_light(g->model, room);
	return g->model != NULL;
}

/* Draws a picture, pixels [size][size][4]; NULL without memory. Adds to the number of draws. */
static unsigned char *draw_one(draw_surface *surface, const given *g, const draw_view *view, int size,
							   unsigned *draws)
{
	hob_own unsigned char *pixels = malloc((size_t)size * (size_t)size * 4 * FINER * FINER);
	unsigned char *small = malloc((size_t)size * (size_t)size * 4);
	glClearColor(0, 0, 0, 0);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
	*draws += g->asset->draw_count > 0 ? hob_draw_model_draw(g->model, g->instance, view).draws : 0;
	if (pixels && small) {
		hob_draw_surface_read(surface, pixels);
		shrink(pixels, size, small);
	}
	if (!pixels) {
		free(small);
		small = NULL;
	}
	return small;
}

/* Draws before, after and differences. Returns the share of differing pixels, below 0 without memory. */
static float draw_pair(draw_surface *surface, const given g[2], const draw_view *view, int size,
					   unsigned *draws, unsigned char *strip)
{
	hob_own unsigned char *before = draw_one(surface, &g[0], view, size, draws),
						  *after = draw_one(surface, &g[1], view, size, draws);
	return before && after ? srv_difference_strip(before, after, size, strip) : -1;
}

/* Compares the finest levels of detail; if they look the same and the coarsest do not, shows the coarsest. */
static bool compare(draw_surface *surface, const given g[2], draw_view *view, int size, unsigned *draws,
					unsigned char *strip)
{
	size_t bytes = (size_t)size * (size_t)size * 12;
	hob_own unsigned char *other = malloc(bytes);
	float share = draw_pair(surface, g, view, size, draws, strip);
	view->pixels = COARSEST;
	if (share == 0 && other && draw_pair(surface, g, view, size, draws, other) > 0)
		memcpy(strip, other, bytes);
	return share >= 0;
}

static void mark_renamed(draw_surface *surface, const given g[2], draw_view *view, int size,
						 unsigned char *strip)
{
	unsigned draws = 0;
	hob_own unsigned char *only = srv_renamed_draws(g[0].asset, g[1].asset), *picture = NULL;
	if (only) {
		view->pixels = FINEST;
		hob_draw_model_only(g[1].model, only);
		picture = draw_one(surface, &g[1], view, size, &draws);
		hob_draw_model_only(g[1].model, NULL);
	}
	if (picture)
		srv_difference_rename(picture, size, strip);
}

static bool draw(draw_surface *surface, const camera *from, given *g, int count)
{
	const hob_rt_instance *instances[2];
	unsigned draws = 0;
	draw_view view = {.pixels = FINEST};
	draw_environment room;
	int size = from->size;
	hob_draw_environment_room(&room);
	for (int i = 0; i < count; i++) {
		if (!open_given(&g[i], &room))
			return false;
		instances[i] = g[i].instance;
	}
	if (count == 2 && from->clip[0]) {
		const srv_posed both[2] = {{g[0].asset, g[0].instance, g[0].model},
								   {g[1].asset, g[1].instance, g[1].model}};
		if (!srv_posed_apart(both, from->clip, from->yaw, from->pitch, size * FINER))
			return false;
	}
	hob_draw_view_around(instances, count, from->yaw, from->pitch, size * FINER, size * FINER, &view);
	if (count == 2) {
		unsigned char *strip = malloc((size_t)size * (size_t)size * 12);
		if (!strip || !compare(surface, g, &view, size, &draws, strip) || draws == 0)
			return false;
		mark_renamed(surface, g, &view, size, strip);
		return save(strip, size * 3, size);
	}
	unsigned char *picture = draw_one(surface, &g[0], &view, size, &draws);
	return picture && draws > 0 && save(picture, size, size);
}

/* Reads {MOVES COUNT SHA256...} once or twice; returns how many, 0 if they are invalid. */
static int read_given(int argc, char **argv, given out[2])
{
	int count = 0, fd = FIRST_FD;
	for (int at = 0; at < argc; count++) {
		int textures_given = at + 1 < argc ? atoi(argv[at + 1]) : -1;
		if (count == 2 || textures_given < 0 || textures_given > argc - at - 2)
			return 0;
		given *g = &out[count];
		g->first_fd = fd;
		g->has_animations = atoi(argv[at]) != 0;
		fd += g->has_animations ? 4 : 3;
		g->textures = (textures){argv + at + 2, textures_given, fd};
		fd += textures_given;
		at += 2 + textures_given;
	}
	return count;
}

int main(int argc, char **argv)
{
	camera from = {0};
	given inputs[2] = {{0}};
	struct stat info;
	int count = argc > 6 ? read_given(argc - 6, argv + 6, inputs) : 0;
	if (argc > 5)
		from = (camera){atoi(argv[2]), (float)atoi(argv[3]), (float)atoi(argv[4]), argv[5]};
	if (count == 0 || from.size < 1 || from.size > SIZE_MAX_PIXELS || fstat(FIRST_FD, &info) != 0) {
		fprintf(stderr, "hob-thumbnail is started by hob\n");
		return BAD_CALL;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (count == 1) /* nobody waits for the picture of one model */
		setpriority(PRIO_PROCESS, 0, 19);
	/* Always drawn in software: the same picture everywhere, and no kernel driver in the sandbox. */
	setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1);
	setenv("GALLIUM_DRIVER", "llvmpipe", 1);
	setenv("LP_NUM_THREADS", "0", 1);
	setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
	draw_surface *surface = hob_draw_surface_open(from.size * FINER, from.size * FINER, false);
	if (!surface)
		return NO_GRAPHICS;
	srv_sandbox_layers layers;
	hob_error error;
	struct rlimit seconds = {20, 20};
	setrlimit(RLIMIT_CPU, &seconds);
	if (!srv_sandbox_enter((srv_sandbox_policy)atoi(argv[1]), 0, NULL, 0, SRV_SANDBOX_DRAWS, NULL, NULL,
						   &layers, &error))
		return NO_GRAPHICS;
	bool drawn = draw(surface, &from, inputs, count);
	/* The libraries' own exit handlers would need files and threads that the sandbox denies. */
	_exit(drawn ? 0 : NOTHING);
}
