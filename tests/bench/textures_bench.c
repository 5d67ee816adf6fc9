/* textures_bench.c - quality and speed of texture compression and decoding, beside packaged peers. See textures.sh. */
#define STB_DXT_STATIC
#define STB_DXT_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_dxt.h>
#include <stb/stb_image.h>

#include "core/texture/blocks.h"
#include "core/texture/mips.h"
#include "core/texture/png_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void peer_squish(const uint8_t *rgba, int width, int height, int quality, uint8_t *out);
void peer_nvtt(const uint8_t *rgba, int width, int height, int bc, int quality, uint8_t *out);

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct image {
	uint32_t width, height;
	uint8_t *pixels, *decoded, *blocks;
} image;

static double psnr(const image *im, uint32_t first, uint32_t end)
{
	double sum = 0;
	for (size_t i = 0; i < (size_t)im->width * im->height; i++)
		for (uint32_t k = first; k < end; k++) {
			double d = (double)im->pixels[4 * i + k] - im->decoded[4 * i + k];
			sum += d * d;
		}
	double mean = sum / ((double)im->width * im->height * (end - first));
	return mean > 0 ? 10 * log10(255 * 255 / mean) : 99.0;
}

typedef void encode_fn(const image *im, int arg);

static void ours(const image *im, int arg)
{
	hob_bc_encode_rows((uint32_t)(arg & 255), im->pixels, im->width, im->height, 0, (im->height + 3) / 4,
					   (hob_bc_quality)(arg >> 8), im->blocks);
}

static void stb(const image *im, int arg)
{
	uint8_t block[64], plane[32], *out = im->blocks;
	for (uint32_t y = 0; y + 4 <= im->height; y += 4)
		for (uint32_t x = 0; x + 4 <= im->width; x += 4) {
			for (uint32_t r = 0; r < 4; r++)
				memcpy(block + 16 * r, im->pixels + 4 * ((size_t)(y + r) * im->width + x), 16);
			if ((arg & 255) == 1) {
				stb_compress_dxt_block(out, block, 0, arg >> 8);
				out += 8;
			} else if (arg == 4) {
				for (int i = 0; i < 16; i++)
					plane[i] = block[4 * i];
				stb_compress_bc4_block(out, plane);
				out += 8;
			} else {
				for (int i = 0; i < 16; i++)
					plane[2 * i] = block[4 * i], plane[2 * i + 1] = block[4 * i + 1];
				stb_compress_bc5_block(out, plane);
				out += 16;
			}
		}
}

static void squish_fit(const image *im, int arg)
{
	peer_squish(im->pixels, (int)im->width, (int)im->height, arg, im->blocks);
}

static void nvtt_fit(const image *im, int arg)
{
	peer_nvtt(im->pixels, (int)im->width, (int)im->height, arg & 255, arg >> 8, im->blocks);
}

static void row(const char *name, image *im, encode_fn *encode, int arg, uint32_t format, uint32_t channels)
{
	double best = 1e9, spent = 0;
	for (int i = 0; i < 3 && spent < 3; i++) {
		double start = now();
		encode(im, arg);
		double took = now() - start;
		best = took < best ? took : best;
		spent += took;
	}
	hob_bc_decode(format, im->blocks, im->width, im->height, im->decoded);
	printf("  %-24s %7.2f MP/s  %6.2f dB", name, im->width * im->height / best * 1e-6, psnr(im, 0, channels));
	if (channels == 4)
		printf("  (RGB %.2f, A %.2f)", psnr(im, 0, 3), psnr(im, 3, 4));
	printf("\n");
}

static void compare_blocks(image *im, bool alpha, bool peers)
{
	row("BC1 hob", im, ours, HOB_VK_BC1_RGB_UNORM, HOB_VK_BC1_RGB_UNORM, 3);
	row("BC1 stb_dxt", im, stb, 1, HOB_VK_BC1_RGB_UNORM, 3);
	row("BC1 stb_dxt high", im, stb, 1 | 2 << 8, HOB_VK_BC1_RGB_UNORM, 3);
	if (peers) {
		row("BC1 squish range", im, squish_fit, 0, HOB_VK_BC1_RGB_UNORM, 3);
		row("BC1 squish cluster", im, squish_fit, 1, HOB_VK_BC1_RGB_UNORM, 3);
		row("BC1 nvtt fastest", im, nvtt_fit, 1, HOB_VK_BC1_RGB_UNORM, 3);
		row("BC1 nvtt normal", im, nvtt_fit, 1 | 1 << 8, HOB_VK_BC1_RGB_UNORM, 3);
	}
	row("BC4 hob", im, ours, HOB_VK_BC4_UNORM, HOB_VK_BC4_UNORM, 1);
	row("BC4 stb_dxt", im, stb, 4, HOB_VK_BC4_UNORM, 1);
	if (peers)
		row("BC4 nvtt normal", im, nvtt_fit, 4 | 1 << 8, HOB_VK_BC4_UNORM, 1);
	row("BC5 hob", im, ours, HOB_VK_BC5_UNORM, HOB_VK_BC5_UNORM, 2);
	row("BC5 stb_dxt", im, stb, 5, HOB_VK_BC5_UNORM, 2);
	if (peers)
		row("BC5 nvtt normal", im, nvtt_fit, 5 | 1 << 8, HOB_VK_BC5_UNORM, 2);
	uint32_t channels = alpha ? 4 : 3;
	row("BC7 hob fast", im, ours, HOB_VK_BC7_UNORM | HOB_BC_FAST << 8, HOB_VK_BC7_UNORM, channels);
	row("BC7 hob good", im, ours, HOB_VK_BC7_UNORM | HOB_BC_GOOD << 8, HOB_VK_BC7_UNORM, channels);
	row("BC7 hob best", im, ours, HOB_VK_BC7_UNORM | HOB_BC_BEST << 8, HOB_VK_BC7_UNORM, channels);
}

static hob_bytes read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return (hob_bytes){0};
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	rewind(f);
	uint8_t *data = malloc((size_t)size);
	size_t got = fread(data, 1, (size_t)size, f);
	fclose(f);
	return (hob_bytes){data, got};
}

static void compare_decoding(hob_bytes file, image *im, bool *alpha)
{
	double best = 1e9, peer = 1e9;
	hob_error err = {0};
	for (int i = 0; i < 3; i++) {
		hob_arena arena;
		hob_arena_init(&arena, 1ull << 32);
		hob_picture picture;
		double start = now();
		if (!hob_picture_decode(file, &arena, &picture, &err)) {
			printf("  %s\n", err.context);
			exit(1);
		}
		double took = now() - start;
		best = took < best ? took : best;
		im->width = picture.width & ~3u;
		im->height = picture.height & ~3u;
		*alpha = picture.has_alpha;
		if (i == 0 && picture.depth == HOB_DEPTH_8) {
			im->pixels = malloc(4 * (size_t)picture.width * picture.height);
			for (uint32_t y = 0; y < im->height; y++)
				memcpy(im->pixels + 4 * (size_t)y * im->width,
					   (uint8_t *)picture.pixels + 4 * (size_t)y * picture.width, 4 * (size_t)im->width);
		}
		hob_arena_release(&arena);
		int w, h, c;
		start = now();
		uint8_t *pixels = stbi_load_from_memory(file.data, (int)file.size, &w, &h, &c, 4);
		took = now() - start;
		peer = took < peer ? took : peer;
		stbi_image_free(pixels);
	}
	printf("  %-24s %7.2f MP/s  (stb_image %.2f)\n", "decode", im->width * im->height / best * 1e-6,
		   im->width * im->height / peer * 1e-6);
}

static void measure_mips(image *im)
{
	hob_srgb *srgb = malloc(sizeof *srgb);
	hob_srgb_init(srgb);
	static const char *const names[] = {"mips colour", "mips normal", "mips data"};
	for (int use = HOB_USE_COLOR; use <= HOB_USE_DATA; use++) {
		double best = 1e9;
		for (int i = 0; i < 3; i++) {
			hob_arena arena;
			hob_arena_init(&arena, 1ull << 32);
			hob_picture picture = {im->width, im->height, 4, HOB_DEPTH_8, true, im->pixels};
			hob_mip_options options = {.use = (hob_use)use,
									   .width = im->width,
									   .height = im->height,
									   .level_count = hob_level_count(im->width, im->height),
									   .srgb = srgb};
			hob_mips mips;
			double start = now();
			if (!hob_mips_build(&picture, &options, &arena, &mips, NULL))
				exit(1);
			double took = now() - start;
			best = took < best ? took : best;
			hob_arena_release(&arena);
		}
		printf("  %-24s %7.2f MP/s  (%.1f ms)\n", names[use], im->width * im->height / best * 1e-6,
			   best * 1e3);
	}
	free(srgb);
}

int main(int argc, char **argv)
{
	bool peers = getenv("PEERS") != NULL;
	for (int i = 1; i < argc; i++) {
		hob_bytes file = read_file(argv[i]);
		image im = {0};
		bool alpha = false;
		printf("%s\n", argv[i]);
		compare_decoding(file, &im, &alpha);
		if (!im.pixels)
			continue;
		im.decoded = malloc(4 * (size_t)im.width * im.height);
		im.blocks = malloc((size_t)im.width * im.height);
		printf("  %u x %u%s\n", im.width, im.height, alpha ? " with alpha" : "");
		measure_mips(&im);
		compare_blocks(&im, alpha, peers);
		free(im.pixels);
		free(im.decoded);
		free(im.blocks);
		free((void *)(uintptr_t)file.data);
	}
	return 0;
}
