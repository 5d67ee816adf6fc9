/* hob-thumbnail: draws one cooked model into a small picture. thumbnail.h says what it is given. It opens the graphics
 * library first, then shuts itself in, and only then looks at the model. Ends with 0 and a PNG on stdout, or with 2 (not
 * started by hob), 3 (no OpenGL ES), 4 (nothing to draw). */
#include "../worker/sandbox.h"

#include "../../core/runtime/draw/draw_model.h"
#include "../../core/runtime/draw/draw_surface.h"
#include "../../core/runtime/draw/draw_view.h"

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

typedef struct textures {
	char **names;
	int count, first_fd;
} textures;

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

/* Means of FINER x FINER pixels, colours weighted by what they cover. */
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

static bool save(draw_surface *surface, int size)
{
	unsigned char *pixels = malloc((size_t)size * (size_t)size * 4 * FINER * FINER);
	unsigned char *small = malloc((size_t)size * (size_t)size * 4);
	bool ok = pixels && small;
	if (ok) {
		hob_draw_surface_read(surface, pixels);
		shrink(pixels, size, small);
		ok = stbi_write_png_to_func(put, &ok, size, size, 4, small, size * 4) != 0 && ok;
	}
	free(pixels);
	free(small);
	return ok;
}

static bool draw(draw_surface *surface, int size, bool has_animations, textures *t)
{
	hob_rt_files files = {map(FIRST_FD), map(FIRST_FD + 1), map(FIRST_FD + 2), {NULL, 0}};
	hob_rt_options options = {.decode = decode, .trust_indices = true};
	hob_rt_asset *asset = NULL;
	hob_rt_instance *instance = NULL;
	if (has_animations)
		files.animations = map(FIRST_FD + 3);
	if (!hob_rt_open(&files, &options, &asset, NULL) || asset->draw_count == 0 ||
		!hob_rt_instance_open(asset, &instance, NULL))
		return false;
	draw_model *model = hob_draw_model_open(asset, find, t);
	if (!model)
		return false;
	draw_view view = {.pixels = 1};
	hob_rt_update(instance);
	hob_draw_view_outside(instance, 29, 18, size * FINER, size * FINER, &view);
	glClearColor(0, 0, 0, 0);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
	return hob_draw_model_draw(model, instance, &view).draws > 0 && save(surface, size);
}

int main(int argc, char **argv)
{
	int size = argc > 3 ? atoi(argv[2]) : 0;
	struct stat info;
	if (size < 1 || size > SIZE_MAX_PIXELS || fstat(FIRST_FD, &info) != 0) {
		fprintf(stderr, "hob-thumbnail is started by hob\n");
		return BAD_CALL;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, 19);
	/* Drawn in software wherever it runs: the same picture everywhere, and no driver of the kernel's behind the walls. */
	setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1);
	setenv("GALLIUM_DRIVER", "llvmpipe", 1);
	setenv("LP_NUM_THREADS", "0", 1);
	setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
	bool has_animations = atoi(argv[3]) != 0;
	textures t = {argv + 4, argc - 4, FIRST_FD + (has_animations ? 4 : 3)};
	draw_surface *surface = hob_draw_surface_open(size * FINER, size * FINER, false);
	if (!surface)
		return NO_GRAPHICS;
	srv_sandbox_layers layers;
	hob_error error;
	struct rlimit seconds = {20, 20};
	setrlimit(RLIMIT_CPU, &seconds);
	if (!srv_sandbox_enter((srv_sandbox_policy)atoi(argv[1]), 0, NULL, 0, true, &layers, &error))
		return NO_GRAPHICS;
	bool drawn = draw(surface, size, has_animations, &t);
	/* The libraries' own exit handlers would want files and threads that are out of reach now. */
	_exit(drawn ? 0 : NOTHING);
}
