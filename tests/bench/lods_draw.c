/* lods_draw.c - a small software renderer. See lods_draw.h. */
#include "lods_draw.h"

#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 256, COLUMNS = 4, MARGIN = 4 };

typedef struct picture {
	uint32_t side;
	float *depth;  /* HUGE_VALF: empty */
	uint8_t *grey; /* 255: empty */
} picture;

typedef struct camera {
	double axis[3][3];		 /* right, down, away */
	double centre[3], scale; /* pixels per unit */
} camera;

static picture picture_new(uint32_t side)
{
	size_t count = (size_t)side * side;
	picture p = {side, malloc(count * sizeof(float)), malloc(count)};
	for (size_t i = 0; i < count; i++)
		p.depth[i] = HUGE_VALF;
	memset(p.grey, 255, count);
	return p;
}

static void picture_free(picture *p)
{
	free(p->depth);
	free(p->grey);
}

static camera camera_of(const hob_baked_mesh *mesh, double yaw, double pitch, double scale)
{
	double a = yaw * M_PI / 180, b = pitch * M_PI / 180;
	camera c = {.axis = {{cos(a), 0, -sin(a)},
						 {-sin(a) * sin(b), -cos(b), -cos(a) * sin(b)},
						 {-sin(a) * cos(b), sin(b), -cos(a) * cos(b)}},
				.scale = scale};
	for (int k = 0; k < 3; k++)
		c.centre[k] = ((double)mesh->aabb_min[k] + (double)mesh->aabb_max[k]) / 2;
	return c;
}

static double diagonal_of(const hob_baked_mesh *mesh)
{
	double square = 0;
	for (int k = 0; k < 3; k++)
		square += pow((double)mesh->aabb_max[k] - (double)mesh->aabb_min[k], 2);
	return sqrt(square);
}

static void project(const camera *c, const float *position, uint32_t side, double out[3])
{
	for (int k = 0; k < 3; k++) {
		out[k] = 0;
		for (int i = 0; i < 3; i++)
			out[k] += c->axis[k][i] * ((double)position[i] - c->centre[i]);
		out[k] = out[k] * c->scale + side / 2.0;
	}
}

static double area(const double a[3], const double b[3], double x, double y)
{
	return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

static int clamp(double x, uint32_t side)
{
	return x < 0 ? 0 : x > side - 1.0 ? (int)side - 1 : (int)x;
}

/* Shaded as if lit from the viewer: two-sided, flat. */
static uint8_t shade(const double p[3][3])
{
	double e[3], f[3], n[3];
	for (int k = 0; k < 3; k++)
		e[k] = p[1][k] - p[0][k], f[k] = p[2][k] - p[0][k];
	for (int k = 0; k < 3; k++)
		n[k] = e[(k + 1) % 3] * f[(k + 2) % 3] - e[(k + 2) % 3] * f[(k + 1) % 3];
	double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	return (uint8_t)(30 + 190 * (length > 0 ? fabs(0.8 * n[2] + 0.4 * n[0] - 0.4 * n[1]) / length : 0));
}

static void fill(picture *to, const double p[3][3])
{
	double whole = area(p[0], p[1], p[2][0], p[2][1]);
	double low[2], high[2];
	for (int k = 0; k < 2; k++) {
		low[k] = fmin(p[0][k], fmin(p[1][k], p[2][k]));
		high[k] = fmax(p[0][k], fmax(p[1][k], p[2][k]));
	}
	if (!(fabs(whole) > 0))
		return;
	uint8_t grey = shade(p);
	for (int y = clamp(low[1] - 0.5, to->side); y <= clamp(high[1] + 0.5, to->side); y++)
		for (int x = clamp(low[0] - 0.5, to->side); x <= clamp(high[0] + 0.5, to->side); x++) {
			double at[2] = {x + 0.5, y + 0.5}, u = area(p[1], p[2], at[0], at[1]) / whole,
				   v = area(p[2], p[0], at[0], at[1]) / whole, w = 1 - u - v;
			size_t i = (size_t)y * to->side + (size_t)x;
			double depth = u * p[0][2] + v * p[1][2] + w * p[2][2];
			if (u < 0 || v < 0 || w < 0 || depth >= (double)to->depth[i])
				continue;
			to->depth[i] = (float)depth;
			to->grey[i] = grey;
		}
}

static picture draw(const hob_baked_mesh *mesh, uint32_t level, const camera *c, uint32_t side)
{
	picture out = picture_new(side);
	const uint32_t *index = mesh->indices + mesh->lods[level].index_first;
	for (uint32_t i = 0; i < mesh->lods[level].index_count; i += 3) {
		double p[3][3];
		for (int k = 0; k < 3; k++)
			project(c, mesh->mesh.position + 3 * (size_t)index[i + (uint32_t)k], side, p[k]);
		fill(&out, (const double(*)[3])p);
	}
	return out;
}

/* ---- comparing */

static bool is_covered(const picture *p, int x, int y)
{
	int side = (int)p->side;
	return x >= 0 && y >= 0 && x < side && y < side && p->depth[(size_t)y * p->side + (size_t)x] < HUGE_VALF;
}

static bool is_covered_around(const picture *p, int x, int y)
{
	for (int dy = -2; dy <= 2; dy++)
		for (int dx = -2; dx <= 2; dx++)
			if (is_covered(p, x + dx, y + dy))
				return true;
	return false;
}

static void compare(const picture *full, const picture *level, lods_draw_result *out)
{
	for (int y = 0; y < (int)full->side; y++)
		for (int x = 0; x < (int)full->side; x++) {
			bool a = is_covered(full, x, y), b = is_covered(level, x, y);
			out->covered += a;
			out->differ += a != b;
			out->stray += a != b && !is_covered_around(a ? level : full, x, y);
		}
}

/* Pixels per unit at which the error of a level is one pixel, or less if the picture would be too large. */
static double scale_of(const hob_baked_mesh *mesh, uint32_t level, uint32_t side)
{
	double most = (side - 2 * MARGIN) / diagonal_of(mesh), error = (double)mesh->lods[level].error;
	return error * most > 1 ? 1 / error : most;
}

static uint32_t side_of(const hob_baked_mesh *mesh, double scale)
{
	return (uint32_t)ceil(diagonal_of(mesh) * scale) + 2 * MARGIN;
}

void lods_draw_compare(const hob_baked_mesh *mesh, uint32_t l, lods_draw_result *out)
{
	static const double views[4][2] = {{30, 20}, {120, -15}, {210, 60}, {300, 5}};
	*out = (lods_draw_result){0};
	double scale = scale_of(mesh, l, LODS_DRAW_SIDE);
	out->pixels = scale * (double)mesh->lods[l].error;
	for (int i = 0; i < 4; i++) {
		camera c = camera_of(mesh, views[i][0], views[i][1], scale);
		uint32_t side = side_of(mesh, scale);
		picture full = draw(mesh, 0, &c, side), level = draw(mesh, l, &c, side);
		compare(&full, &level, out);
		picture_free(&full);
		picture_free(&level);
	}
}

/* ---- the sheet */

static uint8_t *sheet;
static uint32_t rows;

static void paste(const picture *p, uint32_t column)
{
	uint32_t from = (CELL - p->side) / 2;
	for (uint32_t y = 0; y < p->side; y++)
		memcpy(sheet + ((size_t)(rows * CELL + from + y) * COLUMNS + column) * CELL + from,
			   p->grey + (size_t)y * p->side, p->side);
}

void lods_draw_row(const hob_baked_mesh *mesh)
{
	sheet = realloc(sheet, (size_t)(rows + 1) * CELL * CELL * COLUMNS);
	memset(sheet + (size_t)rows * CELL * CELL * COLUMNS, 255, CELL * CELL * COLUMNS);
	for (uint32_t column = 0; column < COLUMNS; column++) {
		uint32_t last = mesh->lod_count - 1, level = column % 2 == 1 ? last : 0;
		double scale = column < 2 ? (CELL - 2 * MARGIN) / diagonal_of(mesh) : scale_of(mesh, last, CELL);
		camera c = camera_of(mesh, 30, 20, scale);
		uint32_t side = side_of(mesh, scale);
		picture p = draw(mesh, level, &c, side < CELL ? side : CELL);
		paste(&p, column);
		picture_free(&p);
	}
	rows++;
}

static void put_u32(uint8_t *at, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void put_chunk(FILE *file, const char *type, const uint8_t *data, size_t size)
{
	uint8_t length[4], sum[4];
	put_u32(length, (uint32_t)size);
	put_u32(sum, libdeflate_crc32(libdeflate_crc32(0, type, 4), data, size));
	fwrite(length, 1, 4, file);
	fwrite(type, 1, 4, file);
	fwrite(data, 1, size, file);
	fwrite(sum, 1, 4, file);
}

bool lods_draw_write(const char *path)
{
	uint32_t width = CELL * COLUMNS, height = rows * CELL;
	size_t raw_size = (size_t)height * (width + 1), room = raw_size + raw_size / 8 + 1024;
	uint8_t *raw = calloc(1, raw_size), *packed = malloc(room), head[13] = {[8] = 8};
	for (uint32_t y = 0; y < height; y++)
		memcpy(raw + (size_t)y * (width + 1) + 1, sheet + (size_t)y * width, width);
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(12);
	size_t size = libdeflate_zlib_compress(compressor, raw, raw_size, packed, room);
	libdeflate_free_compressor(compressor);
	put_u32(head, width);
	put_u32(head + 4, height);
	FILE *file = fopen(path, "wb");
	if (file) {
		fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);
		put_chunk(file, "IHDR", head, sizeof head);
		put_chunk(file, "IDAT", packed, size);
		put_chunk(file, "IEND", head, 0);
	}
	free(raw);
	free(packed);
	return file && fclose(file) == 0;
}
