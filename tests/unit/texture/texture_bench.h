/* texture_bench.h - bakes a model of up to four materials over in-memory files. */
#ifndef TEXTURE_BENCH_H
#define TEXTURE_BENCH_H

#include "tests/unit/support.h"

#include "core/texture/ktx2.h"
#include "core/texture/png_write.h"
#include "core/texture/texture.h"

#include <stdio.h>
#include <stdlib.h>

enum { MATERIALS = 4, IMAGES = 8 };

typedef struct bench {
	hob_arena result, scratch, text;
	hob_notes notes;
	memory_file files[IMAGES];
	size_t file_count;
	memory_io memory;
	hob_material materials[MATERIALS];
	hob_image images[IMAGES];
	hob_sampler samplers[1];
	hob_texture_request request;
	hob_baked_texture *textures;
	uint32_t count;
	hob_baked_materials out;
	hob_error err;
} bench;

static inline void material_defaults(hob_material *m)
{
	*m = (hob_material){.base_color = {1, 1, 1, 1}, .metallic = 1, .roughness = 1, .alpha_cutoff = 0.5f};
	for (int i = 0; i < HOB_SLOT_COUNT; i++)
		m->slots[i] = (hob_texture_ref){.image = HOB_NONE, .sampler = HOB_NONE, .scale = {1, 1}};
}

static inline bench *open_bench(void)
{
	bench *b = calloc(1, sizeof *b);
	assert_non_null(b);
	hob_arena_init(&b->result, 1u << 30);
	hob_arena_init(&b->scratch, 1u << 30);
	hob_arena_init(&b->text, 1u << 20);
	b->notes.arena = &b->text;
	for (int i = 0; i < MATERIALS; i++)
		material_defaults(&b->materials[i]);
	b->request = (hob_texture_request){.folder = HOB_STR("props"),
									   .material_count = MATERIALS,
									   .sampler_count = 1,
									   .materials = b->materials,
									   .images = b->images,
									   .samplers = b->samplers};
	b->request.settings.texture_encoding = HOB_TEXTURE_RGBA8;
	b->request.settings.texture_quality = HOB_QUALITY_GOOD;
	b->request.settings.texture_max_size = 2048;
	b->request.settings.texture_mipmaps = 1;
	b->request.settings.texture_zstd = 1;
	return b;
}

static inline void close_bench(bench *b)
{
	for (size_t i = 0; i < b->file_count; i++)
		free((void *)(uintptr_t)b->files[i].bytes.data);
	hob_arena_release(&b->result);
	hob_arena_release(&b->scratch);
	hob_arena_release(&b->text);
	free(b);
}

static inline void add_file(bench *b, const char *path, const uint8_t *pixels, uint32_t width,
							uint32_t height, bool opaque)
{
	hob_buf buf = {0};
	hob_png_write(pixels, width, height, opaque, &buf);
	uint8_t *file = malloc(buf.size);
	assert_non_null(file);
	memcpy(file, buf.data, buf.size);
	b->files[b->file_count++] = (memory_file){path, {file, buf.size}};
	hob_buf_release(&buf);
}

static inline void add_flat(bench *b, const char *path, uint32_t side, const uint8_t color[4])
{
	uint8_t *pixels = malloc(4 * (size_t)side * side);
	for (size_t i = 0; i < (size_t)side * side; i++)
		memcpy(pixels + 4 * i, color, 4);
	add_file(b, path, pixels, side, side, color[3] == 255);
	free(pixels);
}

static inline uint32_t add_image(bench *b, const char *path)
{
	uint32_t i = b->request.image_count++;
	b->images[i] = (hob_image){.uri = hob_str_of(path), .path = hob_str_of(path)};
	return i;
}

static inline bool bake(bench *b)
{
	memory_io_init(&b->memory, b->files, b->file_count);
	b->request.io = &b->memory.io;
	return hob_textures_bake(&b->request, &b->result, &b->scratch, &b->notes, &b->textures, &b->count,
							 &b->out, &b->err);
}

static inline bool noted(const bench *b, const char *code, const char *part)
{
	for (uint32_t i = 0; i < b->notes.count; i++)
		if (hob_str_equal(b->notes.items[i].code, hob_str_of(code)) &&
			hob_str_find(b->notes.items[i].text, hob_str_of(part), 0) != SIZE_MAX)
			return true;
	return false;
}

/* Pixels of a level of texture i, in its own number of channels. */
static inline const uint8_t *level_of(bench *b, uint32_t i, uint32_t level, uint32_t *width, uint32_t *height)
{
	hob_gpu_texture t;
	hob_bytes raw;
	if (!hob_ktx2_check(b->textures[i].bytes, true, NULL, &b->err))
		fail_msg("%s", b->err.context);
	assert_true(hob_ktx2_open(b->textures[i].bytes, &t, &b->err));
	assert_true(level < t.level_count);
	assert_true(hob_gpu_level(&t, level, &b->scratch, &raw, &b->err));
	*width = hob_level_side(t.width, level);
	*height = hob_level_side(t.height, level);
	return raw.data;
}

static inline void add_data(bench *b, const char *path, const char *name)
{
	char full[512];
	snprintf(full, sizeof full, "%s/pictures/ktx2/%s", HOB_TEST_DATA, name);
	FILE *f = fopen(full, "rb");
	assert_non_null(f);
	uint8_t *data = malloc(65536);
	size_t size = fread(data, 1, 65536, f);
	fclose(f);
	b->files[b->file_count++] = (memory_file){path, {data, size}};
}

#endif
