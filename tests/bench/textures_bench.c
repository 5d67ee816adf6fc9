/* textures_bench.c - quality and speed of texture compression, filtering and decoding over a set of pictures,
 * compared with packaged libraries. Prints Markdown. See textures.sh. */
#define STB_DXT_STATIC
#define STB_DXT_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_dxt.h>
#include <stb/stb_image.h>

#include "core/texture/astc.h"
#include "core/texture/blocks.h"
#include "core/texture/mips.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* bc: 1, 3, 4 or 5. From textures_peers.cpp. */
void peer_squish(const uint8_t *rgba, int width, int height, int bc, int quality, uint8_t *out);
void peer_nvtt(const uint8_t *rgba, int width, int height, int bc, int quality, uint8_t *out);
void peer_astc(const uint8_t *rgba, int width, int height, int side, float quality, uint8_t *out,
			   size_t size);
extern const int peers_are_there;

enum { CROP = 256, PICTURES = 64 };

typedef enum kind { COLOR, ALPHA, NORMAL, MASK } kind;
static const char *const kind_names[] = {"color:", "alpha:", "normal:", "mask:"};

typedef struct image {
	kind kind;
	uint32_t width, height;
	uint8_t *pixels;
} image;

static image images[PICTURES];
static uint32_t image_count;
static uint8_t *blocks, *decoded;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double psnr(const image *im, uint32_t channels)
{
	double sum = 0, count = (double)im->width * im->height * channels;
	for (size_t i = 0; i < (size_t)im->width * im->height; i++)
		for (uint32_t k = 0; k < channels; k++) {
			double d = (double)im->pixels[4 * i + k] - decoded[4 * i + k];
			sum += d * d;
		}
	return sum > 0 ? 10 * log10(255 * 255 * count / sum) : 99.0;
}

/* ---- encoders: all write whole levels of blocks */

typedef struct encoder {
	const char *name;
	void (*encode)(const image *im, const struct encoder *e);
	uint32_t format;   /* format of the output */
	uint32_t kinds;	   /* bits of kind */
	uint32_t channels; /* number of compared channels */
	int quality;
	bool peer;
} encoder;

static int bc_of(uint32_t format)
{
	switch (format) {
	case HOB_VK_BC1_RGB_UNORM:
		return 1;
	case HOB_VK_BC3_UNORM:
		return 3;
	case HOB_VK_BC4_UNORM:
		return 4;
	default:
		return 5;
	}
}

static void ours(const image *im, const encoder *e)
{
	hob_bc_encode_rows(e->format, im->pixels, im->width, im->height, 0, im->height / 4,
					   (hob_bc_quality)e->quality, blocks);
}

static uint32_t astc_side(uint32_t format)
{
	return format == HOB_VK_ASTC_4X4_UNORM ? 4 : 6;
}

static size_t astc_size(const image *im, uint32_t side)
{
	return (size_t)((im->width + side - 1) / side) * ((im->height + side - 1) / side) * 16;
}

static void ours_astc(const image *im, const encoder *e)
{
	uint32_t side = astc_side(e->format);
	uint32_t channels = im->kind == NORMAL ? 3 : im->kind == ALPHA ? 15 : 7;
	hob_astc *astc = hob_astc_open(side, false, channels, (uint32_t)e->quality, 1);
	if (!astc || !hob_astc_encode(astc, im->pixels, im->width, im->height, NULL, blocks, astc_size(im, side)))
		exit(1);
	hob_astc_close(astc);
}

static void stb(const image *im, const encoder *e)
{
	uint8_t block[64], plane[32], *out = blocks;
	int bc = bc_of(e->format);
	for (uint32_t y = 0; y < im->height; y += 4)
		for (uint32_t x = 0; x < im->width; x += 4) {
			for (uint32_t r = 0; r < 4; r++)
				memcpy(block + 16 * r, im->pixels + 4 * ((size_t)(y + r) * im->width + x), 16);
			for (int i = 0; i < 16; i++) {
				plane[bc == 4 ? i : 2 * i] = block[4 * i];
				if (bc == 5)
					plane[2 * i + 1] = block[4 * i + 1];
			}
			if (bc == 1 || bc == 3)
				stb_compress_dxt_block(out, block, bc == 3, e->quality);
			else if (bc == 4)
				stb_compress_bc4_block(out, plane);
			else
				stb_compress_bc5_block(out, plane);
			out += bc == 1 || bc == 4 ? 8 : 16;
		}
}

static void squish(const image *im, const encoder *e)
{
	peer_squish(im->pixels, (int)im->width, (int)im->height, bc_of(e->format), e->quality, blocks);
}

static void nvtt(const image *im, const encoder *e)
{
	peer_nvtt(im->pixels, (int)im->width, (int)im->height, bc_of(e->format), e->quality, blocks);
}

static void astcenc(const image *im, const encoder *e)
{
	uint32_t side = astc_side(e->format);
	peer_astc(im->pixels, (int)im->width, (int)im->height, (int)side, (float)e->quality, blocks,
			  astc_size(im, side));
}

enum { C = 1 << COLOR, A = 1 << ALPHA, N = 1 << NORMAL, M = 1 << MASK };
#define BC1	  HOB_VK_BC1_RGB_UNORM
#define BC3	  HOB_VK_BC3_UNORM
#define BC4	  HOB_VK_BC4_UNORM
#define BC5	  HOB_VK_BC5_UNORM
#define BC7	  HOB_VK_BC7_UNORM
#define ASTC4 HOB_VK_ASTC_4X4_UNORM
#define ASTC6 HOB_VK_ASTC_6X6_UNORM

static const encoder encoders[] = {
	{"**BC1 Hob** (`small`)", ours, BC1, C | M, 3, 0, false},
	{"BC1 stb_dxt", stb, BC1, C | M, 3, 0, false},
	{"BC1 stb_dxt, high quality", stb, BC1, C | M, 3, STB_DXT_HIGHQUAL, false},
	{"BC1 squish, range fit", squish, BC1, C | M, 3, 0, true},
	{"BC1 squish, cluster fit", squish, BC1, C | M, 3, 1, true},
	{"BC1 squish, iterated cluster fit", squish, BC1, C | M, 3, 2, true},
	{"BC1 nvtt, fastest", nvtt, BC1, C | M, 3, 0, true},
	{"BC1 nvtt, normal", nvtt, BC1, C | M, 3, 1, true},
	{"**BC3 Hob** (`small`)", ours, BC3, A, 4, 0, false},
	{"BC3 stb_dxt, high quality", stb, BC3, A, 4, STB_DXT_HIGHQUAL, false},
	{"BC3 squish, cluster fit", squish, BC3, A, 4, 1, true},
	{"BC3 nvtt, normal", nvtt, BC3, A, 4, 1, true},
	{"**BC4 Hob** `fast`", ours, BC4, M, 1, HOB_BC_FAST, false},
	{"**BC4 Hob** `good`", ours, BC4, M, 1, HOB_BC_GOOD, false},
	{"**BC4 Hob** `best`", ours, BC4, M, 1, HOB_BC_BEST, false},
	{"BC4 stb_dxt", stb, BC4, M, 1, 0, false},
	{"BC4 squish", squish, BC4, M, 1, 0, true},
	{"BC4 nvtt, fastest", nvtt, BC4, M, 1, 0, true},
	{"BC4 nvtt, normal", nvtt, BC4, M, 1, 1, true},
	{"**BC5 Hob** `fast`", ours, BC5, N, 2, HOB_BC_FAST, false},
	{"**BC5 Hob** `good`", ours, BC5, N, 2, HOB_BC_GOOD, false},
	{"**BC5 Hob** `best`", ours, BC5, N, 2, HOB_BC_BEST, false},
	{"BC5 stb_dxt", stb, BC5, N, 2, 0, false},
	{"BC5 squish", squish, BC5, N, 2, 0, true},
	{"BC5 nvtt, fastest", nvtt, BC5, N, 2, 0, true},
	{"BC5 nvtt, normal", nvtt, BC5, N, 2, 1, true},
	{"**BC7 Hob** `fast`", ours, BC7, C | M, 3, HOB_BC_FAST, false},
	{"**BC7 Hob** `good`", ours, BC7, C | M, 3, HOB_BC_GOOD, false},
	{"**BC7 Hob** `best`", ours, BC7, C | M, 3, HOB_BC_BEST, false},
	{"ASTC 4x4 astcenc 0 (fastest)", astcenc, ASTC4, C | M, 3, 0, true},
	{"ASTC 4x4 astcenc 10 (fast)", astcenc, ASTC4, C | M, 3, 10, true},
	{"ASTC 4x4 astcenc 60 (medium)", astcenc, ASTC4, C | M, 3, 60, true},
	{"**BC7 Hob** `good`, alpha", ours, BC7, A, 4, HOB_BC_GOOD, false},
	{"**BC7 Hob** `best`, alpha", ours, BC7, A, 4, HOB_BC_BEST, false},
	{"ASTC 4x4 astcenc 60 (medium), alpha", astcenc, ASTC4, A, 4, 60, true},
	{"**ASTC 6x6 Hob** `fast`", ours_astc, ASTC6, C | M, 3, 0, false},
	{"**ASTC 6x6 Hob** `good`", ours_astc, ASTC6, C | M, 3, 1, false},
	{"**ASTC 6x6 Hob** `best`", ours_astc, ASTC6, C | M, 3, 2, false},
	{"ASTC 6x6 astcenc 60 (medium)", astcenc, ASTC6, C | M, 3, 60, true},
	{"**ASTC 4x4 Hob** `good`, normals", ours_astc, ASTC4, N, 2, 1, false},
};

static void measure(const encoder *e)
{
	double took = 0, pixels = 0, quality = 0;
	uint32_t count = 0;
	hob_gpu_format format;
	hob_gpu_format_find(e->format, &format);
	for (uint32_t i = 0; i < image_count; i++) {
		const image *im = &images[i];
		if (!(e->kinds >> im->kind & 1))
			continue;
		double start = now();
		e->encode(im, e);
		took += now() - start;
		pixels += (double)im->width * im->height;
		if (format.codec == HOB_GPU_BC)
			hob_bc_decode(e->format, blocks, im->width, im->height, decoded);
		else if (!hob_astc_decode(blocks, astc_size(im, astc_side(e->format)), format.block_width,
								  format.block_height, false, im->width, im->height, decoded))
			exit(1);
		quality += psnr(im, e->channels);
		count++;
	}
	if (count == 0)
		return;
	printf("| %s | %u | %.2f | %.2f | %.2f |\n", e->name, count,
		   8.0 * format.block_bytes / format.block_width / format.block_height, quality / count,
		   pixels / took * 1e-6);
	fflush(stdout);
}

/* ---- pictures */

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

typedef struct times {
	double own, peer, pixels, mips[3];
} times;

static void take(kind kind, const hob_picture *p)
{
	image *im = &images[image_count++];
	im->kind = kind;
	im->width = (p->width < CROP ? p->width : CROP) & ~3u;
	im->height = (p->height < CROP ? p->height : CROP) & ~3u;
	im->pixels = malloc(4 * (size_t)im->width * im->height);
	uint32_t left = (p->width - im->width) / 2, top = (p->height - im->height) / 2;
	for (uint32_t y = 0; y < im->height; y++)
		memcpy(im->pixels + 4 * (size_t)y * im->width,
			   (uint8_t *)p->pixels + 4 * ((size_t)(top + y) * p->width + left), 4 * (size_t)im->width);
}

static void measure_mips(const hob_picture *picture, const hob_srgb *srgb, times *t)
{
	for (int use = HOB_USE_COLOR; use <= HOB_USE_DATA; use++) {
		hob_arena arena;
		hob_arena_init(&arena, 1ull << 32);
		hob_mip_options options = {.use = (hob_use)use,
								   .width = picture->width,
								   .height = picture->height,
								   .level_count = hob_level_count(picture->width, picture->height),
								   .srgb = srgb};
		double start = now();
		hob_mips_build(picture, &options, &arena);
		t->mips[use] += now() - start;
		hob_arena_release(&arena);
	}
}

static void open_picture(const char *argument, const hob_srgb *srgb, times *t)
{
	kind kind = COLOR;
	for (int k = 0; k < 4; k++)
		if (strncmp(argument, kind_names[k], strlen(kind_names[k])) == 0) {
			kind = (enum kind)k;
			argument += strlen(kind_names[k]);
			break;
		}
	hob_bytes file = read_file(argument);
	hob_arena arena;
	hob_picture picture;
	hob_error err = {0};
	hob_arena_init(&arena, 1ull << 32);
	double start = now();
	if (!hob_picture_decode(file, &arena, &picture, &err) || picture.depth != HOB_DEPTH_8 ||
		image_count == PICTURES) {
		fprintf(stderr, "%s: %s\n", argument, err.context);
		exit(1);
	}
	t->own += now() - start;
	int w, h, c;
	start = now();
	stbi_image_free(stbi_load_from_memory(file.data, (int)file.size, &w, &h, &c, 4));
	t->peer += now() - start;
	t->pixels += (double)picture.width * picture.height;
	measure_mips(&picture, srgb, t);
	take(kind, &picture);
	hob_arena_release(&arena);
	free((void *)(uintptr_t)file.data);
}

int main(int argc, char **argv)
{
	hob_srgb *srgb = malloc(sizeof *srgb);
	times t = {0};
	hob_srgb_init(srgb);
	blocks = malloc(CROP * CROP * 4);
	decoded = malloc(CROP * CROP * 4);
	for (int i = 1; i < argc; i++)
		open_picture(argv[i], srgb, &t);
	printf("| encoder | pictures | bits/pixel | dB | MP/s |\n|---|---:|---:|---:|---:|\n");
	const char *only = getenv("HOB_ENCODERS");
	for (size_t i = 0; i < HOB_COUNT_OF(encoders); i++)
		if ((!encoders[i].peer || peers_are_there) && (!only || strstr(encoders[i].name, only)))
			measure(&encoders[i]);
	printf("\ndecoding %d files: %.1f MP/s, stb_image %.1f MP/s\n", argc - 1, t.pixels / t.own * 1e-6,
		   t.pixels / t.peer * 1e-6);
	printf("mip chains: colour %.0f MP/s, normals %.0f MP/s, data %.0f MP/s\n", t.pixels / t.mips[0] * 1e-6,
		   t.pixels / t.mips[1] * 1e-6, t.pixels / t.mips[2] * 1e-6);
	return 0;
}
