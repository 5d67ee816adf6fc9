/* maker.h - small packed and classic files for the runtime's tests, written without the cook's code, so that
 * no error is on both sides. Every test program includes it once. */
#ifndef HOB_TEST_MAKER_H
#define HOB_TEST_MAKER_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime/hob_runtime.h"

/* ---- bytes */

typedef struct maker_section {
	uint32_t type, count, stride, flags, part, owner;
	uint8_t *data;
} maker_section;

typedef struct maker {
	maker_section sections[32];
	uint32_t count;
	char text[1 << 20];
	uint32_t text_size;
} maker;

static inline maker *maker_new(void)
{
	maker *m = (maker *)calloc(1, sizeof *m);
	assert_non_null(m);
	m->text_size = 1;
	return m;
}

static inline uint32_t maker_text(maker *m, const char *text)
{
	uint32_t at = m->text_size;
	if (!text || !*text)
		return 0;
	assert_true(at + strlen(text) + 1 <= sizeof m->text);
	memcpy(m->text + at, text, strlen(text) + 1);
	m->text_size += (uint32_t)strlen(text) + 1;
	return at;
}

/* Returns the section's index in the table. */
static inline uint32_t maker_add(maker *m, uint32_t type, const void *data, uint32_t count, uint32_t stride)
{
	assert_true(m->count < 31);
	maker_section *s = &m->sections[m->count];
	*s = (maker_section){.type = type, .count = count, .stride = stride};
	s->data = (uint8_t *)malloc((size_t)count * stride + 1);
	if (count > 0)
		memcpy(s->data, data, (size_t)count * stride);
	return m->count++;
}

/* A file that ends exactly at the end of its allocation. */
static inline hob_rt_blob maker_finish(maker *m, uint32_t kind)
{
	maker_add(m, HOB_PK_STRS, m->text, m->text_size, 1);
	size_t size = 64 + (size_t)m->count * 64;
	for (uint32_t i = 0; i < m->count; i++)
		size = ((size + 15) & ~(size_t)15) + (size_t)m->sections[i].count * m->sections[i].stride;
	uint8_t *file = (uint8_t *)calloc(1, size);
	hob_pk_header *h = (hob_pk_header *)(void *)file;
	memcpy(h->magic, HOB_PK_MAGIC, 8);
	h->endian = HOB_PK_ENDIAN;
	h->ver_major = HOB_PK_VERSION_MAJOR;
	h->kind = kind;
	h->flags = HOB_PK_FILE_RAW;
	h->section_count = m->count;
	h->header_bytes = h->entry_bytes = 64;
	h->file_bytes = h->prefix_bytes = size;
	size_t at = 64 + (size_t)m->count * 64;
	for (uint32_t i = 0; i < m->count; i++) {
		hob_pk_section *s = (hob_pk_section *)(void *)(file + 64 + i * 64);
		at = (at + 15) & ~(size_t)15;
		s->type = m->sections[i].type;
		s->flags = m->sections[i].flags;
		s->offset = at;
		s->count = m->sections[i].count;
		s->stride = m->sections[i].stride;
		s->stored_bytes = s->raw_bytes = (uint64_t)s->count * s->stride;
		s->align_log2 = 4;
		memcpy(file + at, m->sections[i].data, (size_t)s->raw_bytes);
		at += (size_t)s->raw_bytes;
		free(m->sections[i].data);
	}
	free(m);
	return (hob_rt_blob){file, size};
}

static inline void free_blob(hob_rt_blob blob)
{
	free((void *)(uintptr_t)blob.data);
}

static inline void free_files(const hob_rt_files *files)
{
	free_blob(files->meshes);
	free_blob(files->materials);
	free_blob(files->scene);
	free_blob(files->animations);
}

static inline hob_rt_asset *open_good(const hob_rt_files *files)
{
	hob_rt_asset *asset = NULL;
	hob_rt_error error = {HOB_RT_OK, ""};
	if (!hob_rt_open(files, NULL, &asset, &error))
		fail_msg("%s", error.text);
	return asset;
}

/* ---- scenes */

static inline hob_pk_trs rest_trs(void)
{
	hob_pk_trs trs = {{0, 0, 0}, 0, {0, 0, 0, 1}, {1, 1, 1}, 0};
	return trs;
}

/* parents[i] < i in depth-first order, or HOB_RT_NONE. trs and names may be NULL. */
static inline void add_nodes(maker *m, const uint32_t *parents, uint32_t count, const hob_pk_trs *trs,
							 const char *const *names)
{
	hob_pk_hierarchy *hier = (hob_pk_hierarchy *)calloc(count + 1, sizeof *hier);
	hob_pk_trs *rest = (hob_pk_trs *)calloc(count + 1, sizeof *rest);
	hob_pk_mat4 *local = (hob_pk_mat4 *)calloc(count + 1, sizeof *local);
	uint32_t *text = (uint32_t *)calloc(count + 1, sizeof *text), roots = 0;
	for (uint32_t i = 0; i < count; i++) {
		hier[i].parent = parents[i] == HOB_RT_NONE ? -1 : (int32_t)parents[i];
		roots += parents[i] == HOB_RT_NONE;
		rest[i] = trs ? trs[i] : rest_trs();
		text[i] = names ? maker_text(m, names[i]) : 0;
		local[i].m[0] = local[i].m[5] = local[i].m[10] = local[i].m[15] = 1;
	}
	maker_add(m, HOB_PK_HIER, hier, count, sizeof *hier);
	maker_add(m, HOB_PK_TRS_, rest, count, sizeof *rest);
	maker_add(m, HOB_PK_LOCL, local, count, sizeof *local);
	maker_add(m, HOB_PK_NAMS, text, count, sizeof *text);
	uint32_t *root = (uint32_t *)calloc(roots + 1, sizeof *root), at = 0;
	for (uint32_t i = 0; i < count; i++)
		if (parents[i] == HOB_RT_NONE)
			root[at++] = i;
	hob_pk_scene scene = {0, 0, roots, HOB_PK_SCENE_DEFAULT};
	maker_add(m, HOB_PK_SCNS, &scene, 1, sizeof scene);
	maker_add(m, HOB_PK_ROOT, root, roots, sizeof *root);
	free(hier);
	free(rest);
	free(local);
	free(text);
	free(root);
}

static inline hob_rt_blob make_scene(const uint32_t *parents, uint32_t count, const hob_pk_trs *trs,
									 const char *const *names)
{
	maker *m = maker_new();
	add_nodes(m, parents, count, trs, names);
	return maker_finish(m, HOB_PK_KIND_SCNE);
}

/* ---- clips: tracks by value, joined into one file */

typedef struct test_track {
	uint32_t node, path, interpolation, components, key_count;
	const float *times, *values;
} test_track;

typedef struct test_clip {
	const char *name;
	float start, end;
	const test_track *tracks;
	uint32_t track_count;
} test_clip;

static inline void add_clips(maker *m, const test_clip *clips, uint32_t count)
{
	hob_pk_clip records[8] = {{0}};
	hob_pk_channel channels[512];
	hob_pk_sampler samplers[512];
	static float times[1 << 16], values[1 << 18];
	uint32_t tracks = 0, time_count = 0, value_count = 0;
	for (uint32_t c = 0; c < count; c++) {
		records[c].name = maker_text(m, clips[c].name);
		records[c].channel_first = tracks;
		records[c].channel_count = clips[c].track_count;
		records[c].start = clips[c].start;
		records[c].end = clips[c].end;
		for (uint32_t t = 0; t < clips[c].track_count; t++) {
			const test_track *from = &clips[c].tracks[t];
			uint32_t n =
				from->key_count * from->components * (from->interpolation == HOB_PK_CUBICSPLINE ? 3 : 1);
			channels[tracks] = (hob_pk_channel){from->node, tracks, from->path};
			samplers[tracks] = (hob_pk_sampler){(uint8_t)from->interpolation,
												0,
												(uint16_t)from->components,
												from->key_count,
												time_count,
												value_count};
			memcpy(times + time_count, from->times, from->key_count * sizeof(float));
			memcpy(values + value_count, from->values, n * sizeof(float));
			time_count += from->key_count;
			value_count += n;
			tracks++;
		}
	}
	maker_add(m, HOB_PK_CLIP, records, count, sizeof records[0]);
	maker_add(m, HOB_PK_CHAN, channels, tracks, sizeof channels[0]);
	maker_add(m, HOB_PK_SMPL, samplers, tracks, sizeof samplers[0]);
	maker_add(m, HOB_PK_TIME, times, time_count, sizeof(float));
	maker_add(m, HOB_PK_VALS, values, value_count, sizeof(float));
}

static inline hob_rt_blob make_clips(const test_clip *clips, uint32_t count)
{
	maker *m = maker_new();
	add_clips(m, clips, count);
	return maker_finish(m, HOB_PK_KIND_ANIM);
}

/* ---- numbers */

static inline uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static inline float random_float(uint32_t *seed, float from, float to)
{
	return from + (to - from) * (float)next_random(seed) / 16777216.0f;
}

static inline void random_quat(uint32_t *seed, float q[4])
{
	double square = 0;
	for (int i = 0; i < 4; i++) {
		q[i] = random_float(seed, -1, 1);
		square += (double)q[i] * q[i];
	}
	for (int i = 0; i < 4; i++)
		q[i] = (float)(q[i] / sqrt(square + 1e-12));
}

/* T * R * S and products in double, by the textbook. */
static inline void exact_local(const float t[3], const float q[4], const float s[3], double out[16])
{
	double x = q[0], y = q[1], z = q[2], w = q[3];
	double n = sqrt(x * x + y * y + z * z + w * w);
	x /= n, y /= n, z /= n, w /= n;
	const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + z * w),	   2 * (x * z - y * w),
						 2 * (x * y - z * w),	  1 - 2 * (x * x + z * z), 2 * (y * z + x * w),
						 2 * (x * z + y * w),	  2 * (y * z - x * w),	   1 - 2 * (x * x + y * y)};
	for (int c = 0; c < 3; c++) {
		for (int k = 0; k < 3; k++)
			out[c * 4 + k] = r[c * 3 + k] * s[c];
		out[c * 4 + 3] = 0;
		out[12 + c] = t[c];
	}
	out[15] = 1;
}

static inline void exact_multiply(const double a[16], const double b[16], double out[16])
{
	for (int c = 0; c < 4; c++)
		for (int r = 0; r < 4; r++) {
			out[c * 4 + r] = 0;
			for (int k = 0; k < 4; k++)
				out[c * 4 + r] += a[k * 4 + r] * b[c * 4 + k];
		}
}

static inline void assert_matrix(const float got[16], const double expected[16], double tolerance)
{
	double largest = 1;
	for (int i = 0; i < 16; i++)
		largest = fabs(expected[i]) > largest ? fabs(expected[i]) : largest;
	for (int i = 0; i < 16; i++)
		if (!(fabs(got[i] - expected[i]) <= tolerance * largest))
			fail_msg("entry %d is %.9g, expected %.9g", i, (double)got[i], expected[i]);
}

#endif
